// fuzz_gguf.c - the input is a GGUF file. Its directory, its vocabulary, its network, the plan, a context and a few tokens; by memory with
// the best kernels and by reader with the scalar ones. Both must say the same, to the bit; neither may ask for more memory than the file
// can account for.
#include "fuzz.h"
#include "small_models.h"
#if !defined(FUZZ_REPLAY)
#include "gguf_mutator.h"
#endif

enum { MAX_LOGITS = 4096, N_EVAL = 3 };

typedef struct verdict { llm_error error; float logits[MAX_LOGITS]; size_t n_logits; llm_token sampled; } verdict;
static verdict by_memory, by_reader;

// What may be asked for: tables whose length is held against the bytes that declare them, the greediest being norms that are stored in one
// bit and used as floats (28 bytes for one); and what every model has.
static uint64_t allowed(size_t n) { return 32 * (uint64_t)n + 96 * 1024; }

static void use_info(const llm_model *m) {
    llm_info info;
    llm_token t[64];
    char text[64];
    size_t n, i;
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    MUST(info.arch && info.name && info.size_label && info.vocab_type && info.pre_tokenizer && info.text_reason);
    MUST(info.n_vocab && info.n_layer && info.n_types && info.n_types <= 48);
    MUST((info.text_status == LLM_OK) == !*info.text_reason);
    for (i = 0; i < m->gguf.n_kv; i++) {
        char key[80];
        size_t cap;
        if (m->gguf.kv[i].key.n >= sizeof key) continue;
        memcpy(key, m->gguf.kv[i].key.p, m->gguf.kv[i].key.n);
        key[m->gguf.kv[i].key.n] = 0;
        for (cap = 0; cap <= sizeof text; cap += sizeof text / 2) {
            memset(text, 'z', sizeof text);
            n = llm_meta(m, key, text, cap);
            MUST(n != LLM_FAILED && (cap == 0 || memchr(text, 0, cap)));
            for (n = cap; n < sizeof text; n++) MUST(text[n] == 'z');
        }
    }
    n = llm_tokenize(m, "Once upon a time <s> \xf0\x9f\x98\x80", 24, LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, t, 64);
    MUST((n == LLM_FAILED) == (info.text_status != LLM_OK));
    for (i = 0; n != LLM_FAILED && i < n && i < 64; i++) MUST(t[i] >= 0 && (uint32_t)t[i] < info.n_vocab);
    if (n != LLM_FAILED && n <= 64) MUST(llm_detokenize(m, t, n, LLM_SHOW_SPECIAL, text, sizeof text) != LLM_FAILED);
}

static void use_context(llm_model *m, verdict *v) {
    llm_ctx_desc d;
    llm_ctx *c;
    llm_token t[N_EVAL];
    llm_result r;
    memset(&d, 0, sizeof d);
    d.n_ctx = 8;
    d.n_batch = 2;
    c = llm_open(m, &d, &v->error);
    must_be_error(&v->error, !c);
    if (!c) return;
    t[0] = 0; t[1] = (llm_token)m->net.n_vocab - 1; t[2] = (llm_token)m->net.n_vocab / 2;
    r = llm_eval(c, t, N_EVAL);
    v->error = *llm_last_error(c);
    must_be_error(&v->error, r < 0);
    MUST(llm_past(c) == (r < 0 ? 0 : N_EVAL));
    if (r >= 0) {
        v->n_logits = m->net.n_vocab < MAX_LOGITS ? m->net.n_vocab : MAX_LOGITS;
        memcpy(v->logits, llm_logits(c), v->n_logits * sizeof(float));
        v->sampled = llm_sample(c);
        v->error = *llm_last_error(c);
        MUST(v->sampled == LLM_NO_TOKEN ? v->error.code < 0 : v->sampled >= 0 && (uint32_t)v->sampled < m->net.n_vocab);
    }
    llm_close(c);
}

// n: bytes of the file, n_copied: of those that had to be copied.
static void use(llm_model *m, const llm_error *e, const fuzz_heap *h, size_t n, size_t n_copied, verdict *v) {
    v->error = *e;
    v->n_logits = 0;
    v->sampled = LLM_NO_TOKEN;
    must_be_error(e, !m);
    MUST(h->most_live <= allowed(n) + n_copied);
    if (!m) { MUST(h->n_live == 0); return; }
    use_info(m);
    // The sum of what a token reads, and of what it computes in layers that share their bytes, is kept to what takes milliseconds.
    if (m->net.n_layer <= 64 && m->reads.weights <= 1 << 20) use_context(m, v);
    llm_unload(m);
    MUST(h->n_live == 0);
}

static llm_model_desc plain_desc(fuzz_heap *h, llm_isa isa, const llm_reader *parts) {
    llm_model_desc d;
    memset(&d, 0, sizeof d);
    d.allocator = fuzz_allocator(h);
    d.n_threads = 1;
    d.isa = isa;
    d.parts = parts;
    d.n_parts = parts ? 2 : 0;
    return d;
}

// A file that says it is the first of several gets itself as the others, with the number of each.
static llm_reader *others(const uint8_t *data, size_t size, fuzz_file *files, llm_reader *readers, uint8_t **copies) {
    static const char no[] = "\x08\0\0\0\0\0\0\0split.no\x02\0\0\0";
    size_t i, k;
    for (i = 0; i + sizeof no + 2 <= size && memcmp(data + i, no, sizeof no - 1) != 0; i++) { }
    if (i + sizeof no + 2 > size) return NULL;
    for (k = 0; k < 2; k++) {
        copies[k] = (uint8_t *)malloc(size);
        if (!copies[k]) abort();
        memcpy(copies[k], data, size);
        copies[k][i + sizeof no - 1] = (uint8_t)(k + 1);
        readers[k] = fuzz_reader(&files[k], copies[k], size);
    }
    return readers;
}

// `whole`: bytes of all parts.
static void by_both(const uint8_t *data, size_t size, const llm_reader *parts, size_t whole) {
    fuzz_heap heap;
    fuzz_file file;
    llm_reader reader = fuzz_reader(&file, data, size);
    llm_model_desc d = plain_desc(&heap, LLM_ISA_AUTO, parts);
    llm_error e;
    llm_model *m = llm_load_memory(data, size, &d, &e);
    use(m, &e, &heap, whole, whole - size, &by_memory);               // the other parts are read, the first is borrowed
    file.most = size > 4096 ? 0 : 7;
    d = plain_desc(&heap, LLM_ISA_SCALAR, parts);
    d.force = 1;                                                      // as by memory, where nothing is refused for its size
    m = llm_load_reader(&reader, &d, &e);
    use(m, &e, &heap, whole, whole, &by_reader);
    MUST(by_memory.error.code == by_reader.error.code && by_memory.n_logits == by_reader.n_logits);
    MUST(by_memory.sampled == by_reader.sampled);
    must_be_same_floats(by_memory.logits, by_reader.logits, by_memory.n_logits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_heap heap;
    fuzz_file other_files[2];
    llm_reader other_readers[2], *parts;
    uint8_t *copies[2] = { NULL, NULL };
    llm_model_desc d;
    llm_plan_info plan;
    llm_error e;
    llm_result r;
    if (!size) return 0;
    parts = others(data, size, other_files, other_readers, copies);
    by_both(data, size, parts, parts ? 3 * size : size);
    free(copies[0]);
    free(copies[1]);
    memset(&plan, 0, sizeof plan);
    d = plain_desc(&heap, LLM_ISA_AUTO, NULL);
    r = llm_plan_memory(data, size, &d, NULL, &plan, &e);
    must_be_error(&e, r < 0);
    MUST(heap.n_live == 0 && heap.most_live <= allowed(size));
    return 0;
}
