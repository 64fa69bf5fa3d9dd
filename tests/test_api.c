// test_api.c - the contract of llm.h, call by call: codes and sentences, all or nothing, the busy flag, cancelling, rewinding, the
// state machine of say/feed/next, hooks, routes, lifetimes. Models: tests/data (tokens only) and examples/tiny (text).
#define LLM__RESTS 0                            // as many threads as asked for, on whatever CPUs there are
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

static const char data_model[] = "tests/data/llama-dense.gguf";
static const char window_model[] = "tests/data/gemma3-dense.gguf";
static const char *tiny = "examples/tiny/tiny.gguf";
enum { VOCAB = 128, N_TOK = 48, ROW = VOCAB * (int)sizeof(float) };
static golden reference;                        // tokens and logits of data_model

static float nan_value(void) { uint32_t u = 0x7fc00000u; float f; memcpy(&f, &u, 4); return f; }
static float inf_value(void) { uint32_t u = 0x7f800000u; float f; memcpy(&f, &u, 4); return f; }

//------------------------------------------------------------------------------------------------------------------------------
// An allocator that counts, checks what it is told when memory comes back, and can refuse the k-th request.

typedef struct counter { long live, calls, fail_at, bytes; int bad; pthread_mutex_t lock; } counter;
typedef struct tag { size_t bytes; void *base; uint64_t magic; } tag;

static void counter_init(counter *c, long fail_at) {
    memset(c, 0, sizeof *c);
    c->fail_at = fail_at;
    pthread_mutex_init(&c->lock, NULL);
}
static void *count_alloc(void *user, size_t bytes, size_t align) {
    counter *c = (counter *)user;
    unsigned char *base, *p;
    tag t;
    int refuse;
    pthread_mutex_lock(&c->lock);
    refuse = ++c->calls == c->fail_at;
    if (!align || (align & (align - 1)) || align > 64 || !bytes) c->bad = 1;
    pthread_mutex_unlock(&c->lock);
    if (refuse || (uint64_t)bytes >> 40) return NULL;
    base = (unsigned char *)malloc(bytes + 64 + sizeof(tag) + 64);
    if (!base) return NULL;
    p = base + sizeof(tag);
    p += (align - ((uintptr_t)p & (align - 1))) & (align - 1);
    t.bytes = bytes;
    t.base = base;
    t.magic = 0x6c6c6d68u;
    memcpy(p - sizeof(tag), &t, sizeof t);
    pthread_mutex_lock(&c->lock);
    c->live++;
    c->bytes += (long)bytes;
    pthread_mutex_unlock(&c->lock);
    return p;
}
static void count_free(void *user, void *p, size_t bytes) {
    counter *c = (counter *)user;
    tag t;
    if (!p) { c->bad = 1; return; }
    memcpy(&t, (unsigned char *)p - sizeof(tag), sizeof t);
    pthread_mutex_lock(&c->lock);
    if (t.magic != 0x6c6c6d68u || t.bytes != bytes) c->bad = 1;
    c->live--;
    c->bytes -= (long)bytes;
    pthread_mutex_unlock(&c->lock);
    t.magic = 0;
    memcpy((unsigned char *)p - sizeof(tag), &t, sizeof t);
    free(t.base);
}
static llm_allocator count_hook(counter *c) {
    llm_allocator a;
    a.user = c;
    a.alloc_fn = count_alloc;
    a.free_fn = count_free;
    return a;
}

static unsigned entries(const char *folder) {       // open files, threads; 0 where there is no /proc
    DIR *d = opendir(folder);
    unsigned n = 0;
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}
// A joined thread leaves /proc a moment after pthread_join returns.
static unsigned settled_threads(unsigned expected) {
    unsigned n = 0, i;
    for (i = 0; i < 200; i++) {
        n = entries("/proc/self/task");
        if (n <= expected) break;
        usleep(5000);
    }
    return n;
}
static int map_lines(const char *needle) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[600];
    int n = 0;
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) n += strstr(line, needle) != NULL;
    fclose(f);
    return n;
}
static int valid_utf8(const char *s, size_t n) {
    size_t i = 0, k, more;
    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
        if (more == 9 || more >= n - i) return 0;
        for (k = 1; k <= more; k++) if (((unsigned char)s[i + k] & 0xc0) != 0x80) return 0;
        i += more + 1;
    }
    return 1;
}

static llm_model *load_data(const llm_model_desc *d) {
    llm_error e;
    llm_model *m = llm_load(data_model, d, &e);
    if (!m) printf("  %s\n", e.text);
    return m;
}
static llm_ctx *open_ctx(llm_model *m, const llm_ctx_desc *d) {
    llm_error e;
    llm_ctx *c = llm_open(m, d, &e);
    if (!c) printf("  %s\n", e.text);
    return c;
}
static llm_ctx *open_sized(llm_model *m, uint32_t n_ctx, uint32_t n_batch) {
    llm_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.n_ctx = n_ctx;
    d.n_batch = n_batch;
    return open_ctx(m, &d);
}
// Rows of a fresh context: what every other way of getting there must equal.
static float *fresh_logits(llm_model *m, const llm_token *t, size_t n) {
    llm_ctx *c = open_sized(m, (uint32_t)n, 0);
    float *l = (float *)malloc(n * ROW);
    if (!c || !l || llm_eval_all(c, t, n, l) != LLM_OK) { free(l); l = NULL; }
    llm_close(c);
    return l;
}

//------------------------------------------------------------------------------------------------------------------------------

static void null_model_calls(void) {
    llm_error e;
    llm_info info;
    llm_model_desc d;
    llm_reader r;
    char buf[8];
    SECTION("NULL for a model");
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    e.code = LLM_OK;
    CHECK(!llm_load(NULL, NULL, &e));                CHECK_EQ(e.code, LLM_BAD_ARG); CHECK(e.text[0]);
    CHECK(!llm_load(NULL, NULL, NULL));
    CHECK(!llm_load("", NULL, &e));                  CHECK(e.code == LLM_IO || e.code == LLM_BAD_ARG);
    CHECK(!llm_load("no/such/file.gguf", NULL, &e)); CHECK_EQ(e.code, LLM_IO); CHECK(strstr(e.text, "no/such/file.gguf") != NULL);
    CHECK(!llm_load("tests/data", NULL, &e));        CHECK(e.code == LLM_IO || e.code == LLM_BAD_FILE);
    CHECK(!llm_load_memory(NULL, 0, NULL, &e));      CHECK_EQ(e.code, LLM_BAD_ARG);
    CHECK(!llm_load_memory(NULL, 100, NULL, &e));    CHECK_EQ(e.code, LLM_BAD_ARG);
    CHECK(!llm_load_memory("GGUF", 0, NULL, &e));    CHECK(e.code == LLM_BAD_FILE || e.code == LLM_BAD_ARG);
    CHECK(!llm_load_memory("GGUF", 4, NULL, &e));    CHECK_EQ(e.code, LLM_BAD_FILE);
    CHECK(!llm_load_reader(NULL, NULL, &e));         CHECK_EQ(e.code, LLM_BAD_ARG);
    CHECK(!llm_load_reader(&r, NULL, &e));           CHECK_EQ(e.code, LLM_BAD_ARG);
    llm_unload(NULL);
    llm_model_info(NULL, NULL);
    memset(&info, 0, sizeof info);
    llm_model_info(NULL, &info);
    CHECK_EQ(llm_meta(NULL, "general.name", buf, sizeof buf), LLM_FAILED);
    CHECK_EQ(llm_tokenize(NULL, "a", 1, 0, NULL, 0), LLM_FAILED);
    CHECK_EQ(llm_detokenize(NULL, NULL, 0, 0, NULL, 0), LLM_FAILED);
    CHECK_EQ(llm_special_token(NULL, LLM_BOS), LLM_NO_TOKEN);
    CHECK_EQ(llm_is_eog(NULL, 0), 0);
    CHECK_EQ(llm_render_chat(NULL, NULL, NULL, 0, 0, NULL, 0, &e), LLM_FAILED);
    CHECK_EQ(e.code, LLM_BAD_ARG);
    CHECK_EQ(llm_render_chat(NULL, NULL, NULL, 0, 0, NULL, 0, NULL), LLM_FAILED);
}

static void null_context_calls(void) {
    llm_error e;
    llm_stats_info s;
    float f = 0;
    llm_token t = 0;
    size_t n = 9;
    SECTION("NULL for a context");
    e.code = LLM_BAD_FILE;                           // llm_open(NULL) keeps the reason of the load that failed
    strcpy(e.text, "the reason");
    CHECK(!llm_open(NULL, NULL, &e)); CHECK_EQ(e.code, LLM_BAD_FILE); CHECK_TEXT(e.text, "the reason");
    e.code = LLM_OK;
    CHECK(!llm_open(NULL, NULL, &e)); CHECK_EQ(e.code, LLM_BAD_ARG);
    e.code = LLM_AGAIN;
    CHECK(!llm_open(NULL, NULL, &e)); CHECK_EQ(e.code, LLM_BAD_ARG);
    CHECK(!llm_open(NULL, NULL, NULL));
    llm_close(NULL);
    CHECK_EQ(llm_set_sampling(NULL, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(NULL, NULL, 0), LLM_BAD_ARG);
    CHECK_EQ(llm_set_max_tokens(NULL, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_say(NULL, "user", "x"), LLM_BAD_ARG);
    CHECK_EQ(llm_feed(NULL, "x", 1), LLM_BAD_ARG);
    CHECK(!llm_next(NULL, &n));
    CHECK(!llm_next(NULL, NULL));
    CHECK(llm_why(NULL) == LLM_STOP_ERROR || llm_why(NULL) == LLM_STOP_NONE);
    llm_cancel(NULL);
    CHECK(llm_last_error(NULL) && llm_last_error(NULL)->code == LLM_BAD_ARG);
    CHECK_EQ(llm_eval(NULL, &t, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_eval_all(NULL, &t, 1, &f), LLM_BAD_ARG);
    CHECK(!llm_logits(NULL));
    CHECK_EQ(llm_sample(NULL), LLM_NO_TOKEN);
    CHECK_EQ(llm_past(NULL), 0);
    CHECK_EQ(llm_rewind(NULL, 0), LLM_BAD_ARG);
    CHECK_EQ(llm_probe(NULL, 1, NULL), LLM_BAD_ARG);
    llm_trim(NULL);
    llm_stats(NULL, NULL);
    memset(&s, 0, sizeof s);
    llm_stats(NULL, &s);
}

static void null_arguments(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 0);
    const char *const stops[2] = { "x", NULL };
    llm_sampling s;
    float l[VOCAB];
    char buf[4];
    SECTION("NULL for anything else");
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    memset(&s, 0, sizeof s);
    s.n_bias = 2;
    CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG);
    CHECK_EQ(llm_set_sampling(c, NULL), LLM_OK);
    CHECK_EQ(llm_set_stop(c, NULL, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, stops, 2), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, NULL, 0), LLM_OK);
    CHECK_EQ(llm_eval(c, NULL, 3), LLM_BAD_ARG);
    CHECK(llm_last_error(c)->code == LLM_BAD_ARG && llm_last_error(c)->text[0]);
    CHECK_EQ(llm_eval_all(c, reference.tokens, 2, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_eval_all(c, NULL, 2, l), LLM_BAD_ARG);
    CHECK_EQ(llm_past(c), 0);
    CHECK(llm_logits(c) == NULL);
    CHECK_EQ(llm_meta(m, NULL, buf, sizeof buf), LLM_FAILED);
    CHECK_EQ(llm_meta(m, "llama.block_count", NULL, 3), LLM_FAILED);
    llm_model_info(m, NULL);
    llm_stats(c, NULL);
    CHECK_EQ(llm_eval(c, NULL, 0), LLM_OK);          // nothing to do is done
    CHECK_EQ(llm_dequantize(2, NULL, l, 32), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, l, NULL, 32), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, l, l, 31), LLM_BAD_ARG);
    CHECK_EQ(llm_type_bytes(2, 33), LLM_FAILED);
    CHECK_EQ(llm_type_bytes(2, 64), 36);
    CHECK_EQ(llm_type_bytes(9999, 32), LLM_FAILED);
    CHECK_EQ(llm_type_bytes(0, (size_t)-1), LLM_FAILED);
    CHECK(llm_dequantize(9999, l, l, 32) < 0);
    llm_close(c);
    llm_unload(m);
}

static void words(void) {
    int i;
    SECTION("words about the library");
    CHECK_EQ(llm_version(), LLM_VERSION_MAJOR << 16 | LLM_VERSION_MINOR << 8 | LLM_VERSION_PATCH);
    for (i = -40; i < 40; i++) {
        const char *t = llm_result_text((llm_result)i);
        CHECK(t && *t);
        CHECK(i < -13 || i > 2 || i == 0 || strcmp(t, llm_result_text(LLM_OK)) != 0);
    }
    CHECK_TEXT(llm_isa_name(LLM_ISA_AVX2), "AVX2");
    CHECK_TEXT(llm_isa_name((llm_isa)99), "?");
    CHECK_EQ(llm_isa_usable(LLM_ISA_SCALAR), 1);
    CHECK_EQ(llm_isa_usable((llm_isa)99), 0);
#if defined(__x86_64__)
    CHECK_EQ(llm_isa_usable(LLM_ISA_NEON), 0);
#elif LLM__HAS_NEON
    CHECK_EQ(llm_isa_usable(LLM_ISA_NEON), 1);
    CHECK_EQ(llm_isa_usable(LLM_ISA_AVX2), 0);
#endif
#if LLM__HAS_WASM128
    CHECK_EQ(llm_isa_usable(LLM_ISA_WASM128), 1);
#else
    CHECK_EQ(llm_isa_usable(LLM_ISA_WASM128), 0);
#endif
}

//------------------------------------------------------------------------------------------------------------------------------
// Fields.

static void refuse_load(const llm_model_desc *d, llm_result want, llm_result or_this, const char *word) {
    llm_error e;
    llm_model *m = llm_load(data_model, d, &e);
    if (!CHECK(!m && (e.code == want || e.code == or_this) && e.text[0] && (!word || strstr(e.text, word))))
        printf("  %d \"%s\", expected %d about %s\n", (int)e.code, m ? "loaded" : e.text, (int)want, word ? word : "it");
    llm_unload(m);
}
static void refuse_open(llm_model *m, const llm_ctx_desc *d, llm_result want, llm_result or_this, const char *word) {
    llm_error e;
    llm_ctx *c = llm_open(m, d, &e);
    if (!CHECK(!c && (e.code == want || e.code == or_this) && e.text[0] && (!word || strstr(e.text, word))))
        printf("  %d \"%s\", expected %d about %s\n", (int)e.code, c ? "opened" : e.text, (int)want, word ? word : "it");
    llm_close(c);
}

static void model_fields(void) {
    llm_model_desc d;
    llm_model *m;
    counter k;
    SECTION("fields of llm_model_desc");
    counter_init(&k, 0);
    memset(&d, 0, sizeof d); d.cores = (llm_cores)2;              refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "cores");
    memset(&d, 0, sizeof d); d.cores = (llm_cores)7;              refuse_load(&d, LLM_BAD_ARG, LLM_UNSUPPORTED, NULL);
    memset(&d, 0, sizeof d); d.force = 2;                         refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "force");
    memset(&d, 0, sizeof d); d.cpu_share = 101;                   refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "cpu_share");
    memset(&d, 0, sizeof d); d.host_gb_s = 1e300;                 refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "host_gb_s");
    memset(&d, 0, sizeof d); d.host_gb_s = (double)nan_value();   refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "host_gb_s");
    memset(&d, 0, sizeof d); d.isa = (llm_isa)5;                  refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "isa: 5 is not");
    memset(&d, 0, sizeof d); d.isa = LLM_ISA_RVV;                 refuse_load(&d, LLM_UNSUPPORTED, LLM_UNSUPPORTED, llm_isa_name(LLM_ISA_RVV));
    memset(&d, 0, sizeof d); d.mapping = (llm_mapping)9;          refuse_load(&d, LLM_BAD_ARG, LLM_UNSUPPORTED, "mapping");
    memset(&d, 0, sizeof d); d.n_parts = 2;                       refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "parts");
    memset(&d, 0, sizeof d); d.allocator.user = &k; d.allocator.alloc_fn = count_alloc; refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "alloc");
    memset(&d, 0, sizeof d); d.allocator.user = &k; d.allocator.free_fn = count_free;   refuse_load(&d, LLM_BAD_ARG, LLM_BAD_ARG, "alloc");
    CHECK_EQ(k.calls, 0);
    memset(&d, 0, sizeof d); d.cpu_share = 100; d.mapping = LLM_MAP; d.isa = LLM_ISA_SCALAR; d.n_threads = 1;
    m = load_data(&d);
    CHECK(m != NULL);
    llm_unload(m);
}

static void context_fields(void) {
    llm_model *m = load_data(NULL);
    llm_ctx_desc d;
    const char *const stops[2] = { "ab", NULL };
    llm_ctx *c;
    int k;
    SECTION("fields of llm_ctx_desc");
    memset(&d, 0, sizeof d); d.kv_type = (llm_kv_type)17;    refuse_open(m, &d, LLM_BAD_ARG, LLM_UNSUPPORTED, NULL);
    memset(&d, 0, sizeof d); d.template_json = "{}";         refuse_open(m, &d, LLM_UNSUPPORTED, LLM_UNSUPPORTED, "template_json");
    memset(&d, 0, sizeof d); d.grammar = "root ::= \"a\"";   refuse_open(m, &d, LLM_UNSUPPORTED, LLM_UNSUPPORTED, "grammar");
    memset(&d, 0, sizeof d); d.json_schema = "{}";           refuse_open(m, &d, LLM_UNSUPPORTED, LLM_UNSUPPORTED, "json_schema");
    memset(&d, 0, sizeof d); d.trust_content = 2;            refuse_open(m, &d, LLM_BAD_ARG, LLM_BAD_ARG, "trust_content");
    memset(&d, 0, sizeof d); d.n_stop = 1;                   refuse_open(m, &d, LLM_BAD_ARG, LLM_BAD_ARG, "stop");
    memset(&d, 0, sizeof d); d.stop = stops; d.n_stop = 2;   refuse_open(m, &d, LLM_BAD_ARG, LLM_BAD_ARG, "stop");
    memset(&d, 0, sizeof d); d.sampling.temperature = -1;    refuse_open(m, &d, LLM_BAD_ARG, LLM_BAD_ARG, "temperature");
    memset(&d, 0, sizeof d); d.sampling.n_bias = 1;          refuse_open(m, &d, LLM_BAD_ARG, LLM_BAD_ARG, "bias");
    for (k = 0; k < 2; k++) {                                // a limit is not a reservation, however high
        memset(&d, 0, sizeof d); d.n_ctx = k ? 0xffffffffu : 64; d.n_batch = k ? 0 : 0xffffffffu;
        c = open_ctx(m, &d);
        if (CHECK(c != NULL)) CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
        llm_close(c);
    }
    llm_unload(m);
}

static void sampling_fields(void) {
    static const size_t fields[] = { offsetof(llm_sampling, temperature), offsetof(llm_sampling, top_p), offsetof(llm_sampling, min_p),
                                     offsetof(llm_sampling, typical_p), offsetof(llm_sampling, repeat_penalty),
                                     offsetof(llm_sampling, frequency_penalty), offsetof(llm_sampling, presence_penalty) };
    float bad[3];
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 0);
    llm_bias bias = { 0, 0 };
    llm_sampling good = LLM_SAMPLING_DEFAULT, s;
    llm_token before, after;
    size_t i, k;
    SECTION("fields of llm_sampling");
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    bad[0] = nan_value(); bad[1] = inf_value(); bad[2] = -0.5f;
    good.temperature = 2;
    good.seed = 12345;
    CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
    CHECK_EQ(llm_set_sampling(c, &good), LLM_OK);
    before = llm_sample(c);
    CHECK(before >= 0 && before < VOCAB);
    for (i = 0; i < sizeof fields / sizeof fields[0]; i++)
        for (k = 0; k < (i < 5 ? 3u : 2u); k++) {            // the last two may be negative
            s = good;
            memcpy((char *)&s + fields[i], &bad[k], sizeof(float));
            if (!CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG)) printf("  field %u, value %u\n", (unsigned)i, (unsigned)k);
        }
    s = good;
    s.bias = &bias;
    s.n_bias = 1;
    bias.token = VOCAB;         CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG);
    bias.token = -1;            CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG);
    bias.token = 0;
    bias.bias = nan_value();    CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG);
    bias.bias = inf_value();    CHECK_EQ(llm_set_sampling(c, &s), LLM_BAD_ARG);
    after = llm_sample(c);                                   // what was refused left no trace; sampling twice draws the same token
    CHECK_EQ(after, before);
    bias.token = before;
    bias.bias = -inf_value();   CHECK_EQ(llm_set_sampling(c, &s), LLM_OK);
    for (k = 0; k < 50; k++) { s.seed = k; llm_set_sampling(c, &s); CHECK(llm_sample(c) != before); }
    llm_close(c);
    llm_unload(m);
}

//------------------------------------------------------------------------------------------------------------------------------
// Tokens in, logits out.

static void evaluating(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 16);
    float *want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    llm_token bad[N_TOK];
    static const llm_token wrong[] = { -1, VOCAB, 0x7fffffff, (llm_token)0x80000000u };
    size_t i;
    SECTION("evaluating");
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    CHECK(llm_logits(c) == NULL);
    CHECK_EQ(llm_sample(c), LLM_NO_TOKEN);
    CHECK_EQ(llm_last_error(c)->code, LLM_BAD_STATE);
    CHECK_EQ(llm_rewind(c, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens, 20), LLM_OK);
    CHECK_EQ(llm_past(c), 20);
    for (i = 0; i < 4; i++) {                                // one wrong token in the second pass of three: nothing happens
        memcpy(bad, reference.tokens, sizeof bad);
        bad[20] = wrong[i];
        CHECK_EQ(llm_eval(c, bad, N_TOK), LLM_BAD_ARG);
        CHECK(llm_last_error(c)->text[0] != 0);
        CHECK_EQ(llm_past(c), 20);
    }
    CHECK_EQ(llm_eval(c, reference.tokens + 20, N_TOK - 20), LLM_OK);
    CHECK_EQ(llm_last_error(c)->code, LLM_OK);
    CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    CHECK_EQ(llm_eval(c, reference.tokens, 0), LLM_OK);
    CHECK_EQ(llm_past(c), N_TOK);
    CHECK(llm_sample(c) >= 0);
    CHECK_EQ(llm_past(c), N_TOK);                            // sampling does not evaluate
    llm_close(c);
    llm_unload(m);
    free(want);
}

static void context_full(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 10, 4);
    float *want = m ? fresh_logits(m, reference.tokens, 10) : NULL;
    llm_token many[300];
    size_t i;
    SECTION("a full context");
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    CHECK_EQ(llm_eval(c, reference.tokens, 11), LLM_CONTEXT_FULL);
    CHECK_EQ(llm_past(c), 0);
    CHECK_EQ(llm_eval(c, reference.tokens, LLM_FAILED), LLM_CONTEXT_FULL);       // the "length" that a failed llm_tokenize gave
    CHECK_EQ(llm_eval(c, reference.tokens, 10), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_CONTEXT_FULL);
    CHECK(strstr(llm_last_error(c)->text, "needs 11 positions") != NULL);
    CHECK_EQ(llm_eval(c, reference.tokens, LLM_FAILED - 8), LLM_CONTEXT_FULL);   // no sum that wraps to "needs 1"
    CHECK(strstr(llm_last_error(c)->text, "needs 1 ") == NULL && strstr(llm_last_error(c)->text, "needs 0 ") == NULL);
    CHECK_EQ(llm_past(c), 10);
    CHECK(llm_logits(c) && memcmp(llm_logits(c), want + 9 * VOCAB, ROW) == 0);       // the refusal left the last logits alone
    CHECK(llm_sample(c) >= 0);
    CHECK_EQ(llm_rewind(c, 4), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens + 4, 7), LLM_CONTEXT_FULL);
    CHECK_EQ(llm_eval(c, reference.tokens + 4, 6), LLM_OK);
    CHECK(memcmp(llm_logits(c), want + 9 * VOCAB, ROW) == 0);
    llm_close(c);
    c = open_sized(m, 1, 0);
    if (CHECK(c != NULL)) {
        CHECK_EQ(llm_eval(c, reference.tokens, 2), LLM_CONTEXT_FULL);
        CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK);
        CHECK(memcmp(llm_logits(c), want, ROW) == 0);
        CHECK(llm_sample(c) >= 0);
        CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_CONTEXT_FULL);
    }
    llm_close(c);
    for (i = 0; i < 300; i++) many[i] = (llm_token)(i % VOCAB);
    c = open_sized(m, 0, 0);                                 // the default is at most what the model was trained for: 256
    if (CHECK(c != NULL)) {
        CHECK_EQ(llm_eval(c, many, 257), LLM_CONTEXT_FULL);
        CHECK_EQ(llm_eval(c, many, 256), LLM_OK);
    }
    llm_close(c);
    llm_unload(m);
    free(want);
}

static void rewinding(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 0);
    float *want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL, *got = (float *)malloc(N_TOK * ROW);
    size_t to;
    SECTION("rewinding");
    if (!CHECK(c && want && got)) { llm_close(c); llm_unload(m); free(want); free(got); return; }
    CHECK_EQ(llm_eval_all(c, reference.tokens, N_TOK, got), LLM_OK);
    CHECK(memcmp(got, want, N_TOK * ROW) == 0);
    for (to = 0; to <= N_TOK; to += to < 4 ? 1 : 11) {
        CHECK_EQ(llm_rewind(c, to), LLM_OK);
        CHECK_EQ(llm_past(c), to);
        CHECK_EQ(llm_rewind(c, to + 1), LLM_BAD_ARG);
        CHECK_EQ(llm_past(c), to);
        memset(got, 0, N_TOK * ROW);
        CHECK_EQ(llm_eval_all(c, reference.tokens + to, N_TOK - to, got + to * VOCAB), LLM_OK);
        CHECK(memcmp(got + to * VOCAB, want + to * VOCAB, (N_TOK - to) * ROW) == 0);
    }
    CHECK_EQ(llm_rewind(c, 5), LLM_OK);
    CHECK(llm_logits(c) == NULL);                            // none after the last token now: evaluated again when they are needed
    {
        llm_token best = llm_sample(c);
        for (to = 0; to < VOCAB; to++) CHECK(best >= 0 && !(want[4 * VOCAB + to] > want[4 * VOCAB + best]));
        CHECK(llm_logits(c) && memcmp(llm_logits(c), want + 4 * VOCAB, ROW) == 0);
        CHECK_EQ(llm_past(c), 5);
    }
    llm_close(c);
    llm_unload(m);
    free(want);
    free(got);
}

// A window layer keeps window + 1024 positions; what was given back must be evaluated again, with the same bits.
static void rewinding_windows(void) {
    enum { LONG = 1500 };
    llm_error e;
    llm_model *m = llm_load(window_model, NULL, &e);
    llm_ctx *c = open_sized(m, 2048, 0), *fresh;
    static llm_token t[LONG];
    float *want = (float *)malloc(LONG * ROW), last[VOCAB];
    static const size_t back[] = { 1400, 480, 460, 300, 1 };
    llm_stats_info s;
    size_t i;
    SECTION("rewinding past a window");
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    for (i = 0; i < LONG; i++) t[i] = (llm_token)((i * i + 7 * i) % VOCAB);
    CHECK_EQ(llm_eval_all(c, t, LONG, want), LLM_OK);
    for (i = 0; i < 5; i++) {
        CHECK_EQ(llm_rewind(c, back[i]), LLM_OK);
        CHECK_EQ(llm_past(c), back[i]);
        CHECK_EQ(llm_eval(c, t + back[i], 3), LLM_OK);
        CHECK(llm_logits(c) && memcmp(llm_logits(c), want + (back[i] + 2) * VOCAB, ROW) == 0);
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        printf("  from %d back to %d: %lu tokens evaluated again\n", (int)LONG, (int)back[i], (unsigned long)s.reevaluated_tokens);
        CHECK(i > 1 || s.reevaluated_tokens == 0);           // 1500 - 32 - 1024 = 444 and later are still there
        CHECK(i != 3 || s.reevaluated_tokens >= 32);         // the window before 300 is not
        if (i + 1 < 5) CHECK_EQ(llm_eval(c, t + back[i] + 3, LONG - back[i] - 3), LLM_OK);
    }
    // Another past after the rewind: nothing of the old one may shine through.
    for (i = 0; i < 40; i++) t[4 + i] = (llm_token)((i * 5 + 3) % VOCAB);
    CHECK_EQ(llm_eval(c, t + 4, 40), LLM_OK);
    memcpy(last, llm_logits(c), ROW);
    fresh = open_sized(m, 2048, 0);
    if (CHECK(fresh != NULL)) {
        CHECK_EQ(llm_eval(fresh, t, 44), LLM_OK);
        CHECK(memcmp(last, llm_logits(fresh), ROW) == 0);
    }
    llm_close(fresh);
    llm_close(c);
    llm_unload(m);
    free(want);
}

// Scratch and spare pages go back to the allocator, nothing else does, and what is computed afterwards has the same bits.
static void trimming(void) {
    counter k;
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    float *want;
    long opened, loaded, full, trimmed;
    size_t i;
    SECTION("trimming");
    counter_init(&k, 0);
    memset(&d, 0, sizeof d);
    d.allocator = count_hook(&k);
    d.n_threads = 2;
    m = load_data(&d);
    loaded = k.bytes;
    c = open_sized(m, 512, 0);
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    opened = k.bytes;
    llm_trim(c);                                             // at once: there is nothing
    llm_trim(c);
    CHECK_EQ(k.bytes, opened);
    CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    full = k.bytes;
    CHECK(full >= opened + (long)(s.scratch_bytes + s.kv_bytes));
    llm_trim(c);
    trimmed = k.bytes;
    CHECK(trimmed <= full - (long)s.scratch_bytes && trimmed >= opened + (long)s.kv_bytes);       // one page, and it holds the past
    llm_trim(c);                                             // twice: nothing more
    CHECK_EQ(k.bytes, trimmed);
    CHECK_EQ(llm_past(c), N_TOK);
    CHECK(llm_logits(c) == NULL);
    llm_stats(c, &s);
    CHECK_EQ(s.scratch_bytes, 0);
    CHECK(s.kv_bytes > 0);
    i = (size_t)llm_sample(c);                               // the last token again, on its own
    CHECK(llm_logits(c) && memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    CHECK(i < VOCAB);
    CHECK_EQ(k.bytes, full);
    for (i = 0; i < N_TOK; i++) {                            // a trim after each token
        CHECK_EQ(llm_rewind(c, i), LLM_OK);
        llm_trim(c);
        CHECK_EQ(llm_eval(c, &reference.tokens[i], 1), LLM_OK);
        CHECK(memcmp(llm_logits(c), want + i * VOCAB, ROW) == 0);
    }
    for (i = 0; i < 5; i++) CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);       // six pages ...
    llm_stats(c, &s);
    CHECK_EQ(llm_rewind(c, 64), LLM_OK);                     // ... of which one is needed
    full = k.bytes;
    llm_trim(c);
    CHECK_EQ(full - k.bytes >= (long)(s.scratch_bytes + s.kv_bytes / 5 * 4), 1);
    llm_stats(c, &s);
    CHECK_EQ(llm_rewind(c, N_TOK), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens + 5, 1), LLM_OK);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    llm_trim(c);
    llm_stats(c, &s);
    CHECK_EQ(s.kv_bytes, 0);
    CHECK(k.bytes <= opened + 16384);                        // the tokens' own lists
    CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
    CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    llm_close(c);
    CHECK_EQ(k.bytes, loaded);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
    free(want);
}

// After a failure: the sentence stays, and memory that was taken for the attempt can be had back.
static void trimming_after_a_failure(void) {
    counter k;
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    float *want;
    long before, fail;
    SECTION("trimming after a failure");
    counter_init(&k, 0);
    memset(&d, 0, sizeof d);
    d.allocator = count_hook(&k);
    m = load_data(&d);
    c = open_sized(m, 512, 0);
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    CHECK_EQ(llm_eval(c, reference.tokens, 4), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens + 4, N_TOK - 4), LLM_OK);
    llm_trim(c);
    before = k.bytes;
    for (fail = 1; fail < 9; fail++) {                       // the token list, the scratch, pages
        llm_token many[300];
        size_t i;
        llm_result r;
        for (i = 0; i < 300; i++) many[i] = reference.tokens[i % N_TOK];
        k.fail_at = k.calls + fail;
        r = llm_eval(c, many, 300);
        k.fail_at = 0;
        if (r == LLM_OK) break;
        CHECK_EQ(r, LLM_NO_MEMORY);
        llm_trim(c);
        CHECK_EQ(llm_last_error(c)->code, LLM_NO_MEMORY);
        CHECK(llm_last_error(c)->text[0]);
        CHECK_EQ(llm_past(c), N_TOK);
        CHECK(k.bytes <= before + 300 * 8 * (long)sizeof(llm_token));         // lists of tokens may have grown, no more
        CHECK(llm_sample(c) >= 0);
        CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
        llm_trim(c);
    }
    CHECK(fail >= 5 && fail < 9);
    llm_cancel(c);                                           // a trim computes nothing: the cancel waits for the call that does
    llm_trim(c);
    CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_CANCELLED);
    CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK);
    llm_close(c);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
    free(want);
}

// A window keeps what a rewind may want; the pages behind it have gone before.
static void trimming_windows(void) {
    enum { LONG = 1400 };
    llm_error e;
    llm_model *m = llm_load(window_model, NULL, &e);
    llm_ctx *c = open_sized(m, 2048, 0);
    static llm_token t[LONG];
    float *want = (float *)malloc(LONG * ROW);
    llm_stats_info s;
    size_t i;
    SECTION("trimming with windows");
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    for (i = 0; i < LONG; i++) t[i] = (llm_token)((i * i + 3 * i) % VOCAB);
    CHECK_EQ(llm_eval_all(c, t, LONG, want), LLM_OK);
    llm_trim(c);
    CHECK_EQ(llm_rewind(c, LONG - 200), LLM_OK);
    llm_trim(c);
    CHECK_EQ(llm_eval(c, t + LONG - 200, 200), LLM_OK);
    CHECK(memcmp(llm_logits(c), want + (LONG - 1) * VOCAB, ROW) == 0);
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    CHECK_EQ(s.reevaluated_tokens, 0);
    CHECK_EQ(llm_rewind(c, 200), LLM_OK);                    // before the oldest page that was kept
    llm_trim(c);
    llm_stats(c, &s);
    CHECK_EQ(s.kv_bytes, 0);                                 // all of it has to be evaluated again
    CHECK_EQ(llm_eval(c, t + 200, 3), LLM_OK);
    CHECK(memcmp(llm_logits(c), want + 202 * VOCAB, ROW) == 0);
    llm_close(c);
    llm_unload(m);
    free(want);
}

static void isolated(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *a = open_sized(m, 0, 0), *b = open_sized(m, 0, 0);
    float *want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    llm_token other[N_TOK];
    size_t i;
    SECTION("two contexts of one model");
    if (!CHECK(a && b && want)) { llm_close(a); llm_close(b); llm_unload(m); free(want); return; }
    for (i = 0; i < N_TOK; i++) other[i] = (llm_token)((i * 13 + 5) % VOCAB);
    for (i = 0; i < N_TOK; i++) {
        CHECK_EQ(llm_eval(a, &reference.tokens[i], 1), LLM_OK);
        CHECK_EQ(llm_eval(b, &other[i], 1), LLM_OK);
        if (i % 7 == 3) { CHECK_EQ(llm_rewind(b, i / 2), LLM_OK); CHECK_EQ(llm_eval(b, other, i + 1 - i / 2), LLM_OK); }
        CHECK(memcmp(llm_logits(a), want + i * VOCAB, ROW) == 0);
    }
    llm_unload(m);                                           // counted by its contexts: both still work
    CHECK_EQ(llm_rewind(a, 0), LLM_OK);
    CHECK_EQ(llm_eval(a, reference.tokens, N_TOK), LLM_OK);
    CHECK(memcmp(llm_logits(a), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    llm_close(a);
    CHECK_EQ(llm_eval(b, other, 1), LLM_OK);
    llm_close(b);
    free(want);
}

// Weights that make NaN, infinity, or nothing but -infinity: a code, and the past as it was.
static void bad_logits(void) {
    static const golden_shape shape = { 64, 96, 1, 4, 2, 50, 64 };
    const golden_type *f32 = &golden_types[0];
    golden_file f = golden_llama(&shape, &f32, 1, 7);
    static const uint32_t bits[] = { 0x7fc00000u, 0xffc00001u, 0x7f800000u };
    llm_token t[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    size_t k, i;
    SECTION("bad logits");
    for (k = 0; k < 3; k++) {
        llm_error e;
        llm_model *m;
        llm_ctx *c;
        float logits[8 * 50];
        for (i = 0; i < 64; i++) memcpy(f.p + f.n - 4 * (i + 1), &bits[k], 4);       // the last row of output.weight
        m = llm_load_memory(f.p, f.n, NULL, &e);
        if (!CHECK(m != NULL)) { printf("  %s\n", e.text); continue; }
        c = open_sized(m, 0, 0);
        if (CHECK(c != NULL)) {
            CHECK_EQ(llm_eval(c, t, 8), LLM_BAD_LOGITS);
            CHECK_EQ(llm_past(c), 0);
            CHECK(llm_last_error(c)->text[0]);
            CHECK_EQ(llm_eval_all(c, t, 8, logits), LLM_BAD_LOGITS);
            CHECK_EQ(llm_sample(c), LLM_NO_TOKEN);
        }
        llm_close(c);
        llm_unload(m);
    }
    free(f.p);
}

// A router that makes NaN must not send one token to the same expert twice: an expert's buffers hold one slot per token.
static void damaged_router(void) {
    llm_error e;
    size_t n = 0, i;
    unsigned char *file = test_read("tests/data/qwen3moe-moe.gguf", &n);
    llm_model *m = file ? llm_load_memory(file, n, NULL, &e) : NULL;
    llm_ctx *c = open_sized(m, 64, N_TOK);
    llm_token t[N_TOK];
    SECTION("a router of NaN");
    if (CHECK(c != NULL)) {
        const llm__gguf_tensor *router = llm__gguf_tensor_find(&m->gguf, llm__str_of("blk.0.ffn_gate_inp.weight"));
        const float nan = nan_value();
        if (CHECK(router != NULL))
            for (i = 0; i < router->n_weights; i++) memcpy(file + (router->data - file) + i * 4, &nan, 4);
        for (i = 0; i < N_TOK; i++) t[i] = (llm_token)(i % VOCAB);
        CHECK_EQ(llm_eval(c, t, N_TOK), LLM_BAD_LOGITS);
        for (i = 0; i < N_TOK; i++) CHECK(c->state.expert_id[i * 2] != c->state.expert_id[i * 2 + 1]);
    }
    llm_close(c);
    llm_unload(m);
    free(file);
}

// An answer whose input fails late, when a window has long moved on: the past is what it was, and can be used.
static void failure_behind_a_window(void) {
    enum { PAST = 100, INPUT = 1600 };
    static llm_token t[INPUT];
    llm_error e;
    llm_model_desc d;
    counter k;
    llm_model *m;
    llm_ctx *c, *fresh;
    llm_token next = 9;
    size_t i;
    SECTION("a failure behind a window");
    memset(&d, 0, sizeof d);
    counter_init(&k, 0);
    d.allocator = count_hook(&k);
    m = llm_load(window_model, &d, &e);
    c = open_sized(m, 2048, 64);
    fresh = open_sized(m, 2048, 64);
    if (CHECK(c && fresh)) {
        for (i = 0; i < INPUT; i++) t[i] = (llm_token)((i * i + 3 * i) % VOCAB);
        CHECK_EQ(llm_eval(c, t, PAST), LLM_OK);
        CHECK(llm__tokens_reserve(&m->heap, &c->base, INPUT));                      // what feeding text would have made
        t[PAST - 1] = (t[PAST - 1] + 1) % VOCAB;
        memcpy(c->base.v, t, sizeof t);
        t[PAST - 1] = (t[PAST - 1] + VOCAB - 1) % VOCAB;
        c->base.n = INPUT;
        c->fresh = true;
        k.fail_at = k.calls + 50;                                                   // two pages for each 64 tokens
        CHECK_EQ(llm__answer_input(c), LLM_NO_MEMORY);
        k.fail_at = 0;
        CHECK_EQ(llm_past(c), PAST);
        CHECK_EQ(llm_eval(c, &next, 1), LLM_OK);
        CHECK_EQ(llm_eval(fresh, t, PAST), LLM_OK);
        CHECK_EQ(llm_eval(fresh, &next, 1), LLM_OK);
        CHECK(memcmp(llm_logits(c), llm_logits(fresh), ROW) == 0);
    }
    llm_close(c);
    llm_close(fresh);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
}

//------------------------------------------------------------------------------------------------------------------------------
// What can be read back.

static void metadata(void) {
    llm_model *m = load_data(NULL);
    llm_info info;
    char buf[256];
    size_t n;
    uint64_t bytes = 0, weights = 0;
    uint32_t i;
    SECTION("metadata");
    if (!CHECK(m != NULL)) return;
    n = llm_meta(m, "llama.block_count", buf, sizeof buf);
    CHECK_EQ(n, 1); CHECK_TEXT(buf, "2");
    n = llm_meta(m, "general.architecture", buf, sizeof buf);
    CHECK_EQ(n, 5); CHECK_TEXT(buf, "llama");
    CHECK_EQ(llm_meta(m, "general.architecture", NULL, 0), 5);
    memset(buf, '#', sizeof buf);
    CHECK_EQ(llm_meta(m, "general.architecture", buf, 3), 5);
    CHECK(memcmp(buf, "ll\0#", 4) == 0);
    CHECK_EQ(llm_meta(m, "general.architecture", buf, 1), 5);
    CHECK(buf[0] == 0);
    CHECK_EQ(llm_meta(m, "no.such.key", buf, sizeof buf), LLM_FAILED);
    llm_meta(m, "llama.use_parallel_residual", buf, sizeof buf); CHECK_TEXT(buf, "false");
    llm_meta(m, "llama.rope.dimension_sections", buf, sizeof buf); CHECK_TEXT(buf, "[0, 0, 0, 0]");
    llm_meta(m, "llama.rope.freq_base", buf, sizeof buf); CHECK_TEXT(buf, "10000");
    n = llm_meta(m, "tokenizer.ggml.tokens", buf, sizeof buf);
    CHECK(n != LLM_FAILED && n > 40 && buf[0] == '[' && strstr(buf, "tok_15") && !strstr(buf, "tok_40"));
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    CHECK_TEXT(info.arch, "llama"); CHECK_TEXT(info.name, "n/a"); CHECK_TEXT(info.size_label, "");
    CHECK_EQ(info.n_vocab, 128); CHECK_EQ(info.n_ctx_train, 256); CHECK_EQ(info.n_embd, 32); CHECK_EQ(info.n_layer, 2);
    CHECK_EQ(info.n_head, 4); CHECK_EQ(info.n_head_kv, 2); CHECK_EQ(info.n_expert, 0);
    CHECK_EQ(info.file_bytes, 118304);
    CHECK_EQ(info.n_types, 1); CHECK_TEXT(info.types[0].name, "F32");
    for (i = 0; i < info.n_types; i++) { bytes += info.types[i].n_bytes; weights += info.types[i].n_weights; }
    CHECK_EQ(bytes, info.weight_bytes); CHECK_EQ(weights, info.n_params); CHECK_EQ(bytes, 4 * weights);
    CHECK(info.bits_per_weight > 31.99 && info.bits_per_weight < 32.01);
    CHECK(info.bytes_per_token < info.weight_bytes && info.bytes_per_token > info.weight_bytes / 2);      // one row of the embedding
    CHECK_EQ(info.text_status, LLM_UNSUPPORTED);             // vocabulary model "test"
    CHECK(info.text_reason && strstr(info.text_reason, "test"));
    CHECK_EQ(info.has_template, 0); CHECK_EQ(info.recurrent, 0);
    llm_unload(m);
}

// Names, shapes and places as gguf-py's reader lists them.
static void tensor_list(void) {
    static const struct { unsigned i; const char *name; uint32_t n_dims; uint64_t dims[2], offset, n_bytes; } known[] = {
        { 0, "token_embd.weight", 2, { 32, 128 }, 21632, 16384 }, { 1, "output_norm.weight", 1, { 32, 1 }, 38016, 128 },
        { 5, "blk.0.attn_k.weight", 2, { 32, 16 }, 58752, 2048 }, { 35, "blk.1.ffn_up.bias", 1, { 48, 1 }, 118112, 192 }
    };
    llm_model_desc d;
    llm_tensor_info t[36], few[2];
    unsigned char apart[36 * 96];
    llm_model *m;
    size_t i;
    SECTION("the list of tensors");
    memset(&d, 0, sizeof d);
    d.isa = LLM_ISA_SCALAR;
    m = load_data(&d);
    if (!CHECK(m != NULL)) return;
    memset(t, 0, sizeof t);
    CHECK_EQ(llm_tensors(m, NULL, 0), 36);
    CHECK_EQ(llm_tensors(m, t, 36), 36);
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        const llm_tensor_info *is = &t[known[i].i];
        CHECK_TEXT(is->name, known[i].name);
        CHECK_TEXT(is->kernel, "scalar");
        CHECK_EQ(is->struct_bytes, sizeof *is);
        CHECK(is->gguf_type == 0 && is->n_dims == known[i].n_dims && is->dims[2] == 1 && is->dims[3] == 1);
        CHECK(is->dims[0] == known[i].dims[0] && is->dims[1] == known[i].dims[1]);
        CHECK(is->offset == known[i].offset && is->n_bytes == known[i].n_bytes);
    }
    memset(few, 0, sizeof few);
    few[1].n_bytes = 5;
    CHECK(llm_tensors(m, few, 1) == 36 && few[0].name == t[0].name && few[1].n_bytes == 5);
    for (i = 24; i <= 96; i += 24) {                         // a binding that knows less, and one that knows more
        const uint32_t stride = (uint32_t)i;
        size_t k;
        memset(apart, 0xa5, sizeof apart);
        memcpy(apart, &stride, 4);
        CHECK_EQ(llm_tensors(m, (llm_tensor_info *)(void *)apart, 36), 36);
        for (k = 0; k < 36; k++) CHECK(memcmp(apart + k * i + 8, (unsigned char *)&t[k] + 8, (i < sizeof *t ? i : sizeof *t) - 8) == 0);
        CHECK(apart[36 * i - 1] == 0xa5 || i <= sizeof *t);
    }
    llm_unload(m);
    m = load_data(NULL);
    if (CHECK(m && llm_tensors(m, t, 36) == 36)) {
        llm_ctx *c = open_sized(m, 0, 0);
        llm_stats_info s;
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        CHECK_TEXT(t[0].kernel, llm_isa_name(s.isa));
        llm_close(c);
    }
    llm_unload(m);
}

static void fingerprints_of(llm_model *m, const char *quick, const char *whole) {
    char hex[65];
    if (!CHECK(m != NULL)) return;
    CHECK_EQ(llm_fingerprint(m, 0, hex), LLM_OK);
    CHECK_TEXT(hex, quick);
    CHECK_EQ(llm_fingerprint(m, 1, hex), whole ? LLM_OK : LLM_UNSUPPORTED);
    CHECK_TEXT(hex, whole ? whole : "");
    llm_unload(m);
}
static size_t fingerprint_read(void *user, uint64_t offset, void *dst, size_t n) {
    memcpy(dst, (unsigned char *)user + offset, n);
    return n;
}
// The sum of the whole is what sha256sum says.
static void fingerprints(void) {
    static const char whole[] = "1b7a55e042a52c5d6eaaafd4667dd1f90c3c737784c3f605b23e8499f0496189";
    char quick[65], hex[65];
    size_t n;
    unsigned char *bytes = test_read(data_model, &n);
    llm_model_desc d;
    llm_reader r;
    llm_model *m = load_data(NULL);
    SECTION("fingerprints");
    if (!CHECK(m && bytes && llm_fingerprint(m, 0, quick) == LLM_OK && strlen(quick) == 64)) { free(bytes); llm_unload(m); return; }
    fingerprints_of(m, quick, whole);
    fingerprints_of(llm_load_memory(bytes, n, NULL, NULL), quick, whole);
    memset(&d, 0, sizeof d);
    d.mapping = LLM_READ;
    fingerprints_of(load_data(&d), quick, NULL);
    r.user = bytes; r.size = n; r.read_at = fingerprint_read;
    fingerprints_of(llm_load_reader(&r, NULL, NULL), quick, NULL);
    bytes[n - 100] ^= 1;                                     // a weight of the last tensor
    m = llm_load_memory(bytes, n, NULL, NULL);
    CHECK(m && llm_fingerprint(m, 0, hex) == LLM_OK && strcmp(hex, quick) != 0);
    CHECK(m && llm_fingerprint(m, 1, hex) == LLM_OK && strcmp(hex, whole) != 0);
    llm_unload(m);
    bytes[n - 100] ^= 1;
    {
        unsigned char *at = bytes;
        while (memcmp(at, "general.name", 12) != 0) at++;
        at[12 + 4 + 8] ^= 1;                                 // a letter of its name
        m = llm_load_memory(bytes, n, NULL, NULL);
        CHECK(m && llm_fingerprint(m, 0, hex) == LLM_OK && strcmp(hex, quick) != 0);
        llm_unload(m);
    }
    free(bytes);
    // A file that changes under its mapping.
    bytes = test_read(data_model, &n);
    CHECK(bytes && test_write(test_scratch("test_api-changed.gguf"), bytes, n));
    m = llm_load(test_scratch("test_api-changed.gguf"), NULL, NULL);
#if defined(_WIN32)
    CHECK(m && !test_write(test_scratch("test_api-changed.gguf"), bytes, n - 64));      // nobody may write it while it is mapped
    CHECK(m && llm_fingerprint(m, 0, hex) == LLM_OK);
#else
    CHECK(m && test_write(test_scratch("test_api-changed.gguf"), bytes, n - 64));
    CHECK(m && llm_fingerprint(m, 0, hex) == LLM_IO && !hex[0] && llm_fingerprint(m, 1, hex) == LLM_IO);
    {
        llm_ctx *c = open_sized(m, 0, 0);
        CHECK(c && llm_probe(c, 1, NULL) == LLM_IO && strstr(llm_last_error(c)->text, "changed on disk"));
        llm_close(c);
    }
#endif
    llm_unload(m);
    free(bytes);
}

static void no_text(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 0);
    llm_error e;
    llm_message msg = { "user", "x" };
    llm_token t = 5;
    SECTION("a model without a vocabulary");
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    CHECK_EQ(llm_tokenize(m, "a", 1, 0, NULL, 0), LLM_FAILED);
    CHECK_EQ(llm_detokenize(m, &t, 1, 0, NULL, 0), LLM_FAILED);
    CHECK_EQ(llm_special_token(m, LLM_BOS), LLM_NO_TOKEN);
    CHECK(llm_render_chat(m, "chatml", &msg, 1, 0, NULL, 0, &e) > 10);                   // rendering needs no vocabulary
    CHECK_EQ(e.code, LLM_OK);
    CHECK_EQ(llm_say(c, "user", "x"), LLM_UNSUPPORTED);
    CHECK_EQ(llm_feed(c, "x", 1), LLM_UNSUPPORTED);
    CHECK(strstr(llm_last_error(c)->text, "test") != NULL);
    CHECK(llm_next(c, NULL) == NULL);
    CHECK_EQ(llm_eval(c, &t, 1), LLM_OK);
    CHECK_EQ(llm_past(c), 1);
    llm_close(c);
    llm_unload(m);
}

static void bindings(void) {
    llm_model *m = load_data(NULL);
    llm_ctx *c = open_sized(m, 0, 0);
    unsigned char bytes[sizeof(llm_info) + 64], *p = bytes;
    llm_info info;
    llm_stats_info stats;
    uint32_t n;
    size_t i;
    SECTION("struct_bytes");
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    CHECK_EQ(info.struct_bytes, sizeof info);
    memset(bytes, 0xa5, sizeof bytes);
    n = 24;                                                  // an older binding: the first three fields
    memcpy(p, &n, 4);
    llm_model_info(m, (llm_info *)(void *)p);
    for (i = n; i < sizeof bytes && bytes[i] == 0xa5; i++) { }
    CHECK_EQ(i, sizeof bytes);
    CHECK(memcmp(bytes + 8, (unsigned char *)&info + 8, 16) == 0);
    memset(bytes, 0xa5, sizeof bytes);
    n = sizeof bytes;                                        // a newer binding: no more than this library knows
    memcpy(p, &n, 4);
    llm_model_info(m, (llm_info *)(void *)p);
    for (i = sizeof info; i < sizeof bytes && bytes[i] == 0xa5; i++) { }
    CHECK_EQ(i, sizeof bytes);
    memset(&stats, 0, sizeof stats);
    llm_stats(c, &stats);
    CHECK_EQ(stats.struct_bytes, sizeof stats);
    memset(bytes, 0xa5, sizeof bytes);
    n = 16;
    memcpy(p, &n, 4);
    llm_stats(c, (llm_stats_info *)(void *)p);
    for (i = n; i < sizeof bytes && bytes[i] == 0xa5; i++) { }
    CHECK_EQ(i, sizeof bytes);
    CHECK(memcmp(bytes + 4, (unsigned char *)&stats + 4, 12) == 0);
    llm_close(c);
    llm_unload(m);
}

static void statistics(void) {
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    uint64_t waits;
    int i;
    SECTION("statistics");
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = load_data(&d);
    c = open_sized(m, 0, 0);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    CHECK_EQ(s.n_threads_asked, 2);
    CHECK(s.n_threads == 2 || s.n_threads == 1);
    CHECK(s.isa != LLM_ISA_AUTO && llm_isa_usable(s.isa));
    CHECK_EQ(s.mapping, LLM_MAP);
    CHECK_EQ(s.kv_type, LLM_KV_F16);
    CHECK_EQ(s.kv_bytes, 0);                                 // n_ctx is a limit, not a reservation
    CHECK_EQ(s.scratch_bytes, 0);                            // comes with the first evaluation
    CHECK(s.load_ms > 0 && s.load_ms < 60000 && s.open_ms >= 0 && s.parse_ms >= 0 && s.vocab_ms >= 0);
    CHECK(s.load_ms + 0.001 >= s.open_ms + s.parse_ms + s.vocab_ms);
    CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
    for (i = 0; i < 4; i++) CHECK_EQ(llm_eval(c, &reference.tokens[i], 1), LLM_OK);
    llm_stats(c, &s);
    CHECK_EQ(s.prefill_tokens, N_TOK);
    CHECK_EQ(s.decode_tokens, 4);
    CHECK(s.prefill_ms > 0 && s.decode_ms > 0);
    CHECK(s.kv_bytes >= 52 * 2 * 2 * 16 * 2 && s.kv_bytes <= 128 * 2 * 2 * 16 * 2 + 4096);       // layers, K and V, width, F16; whole pages
    CHECK(s.scratch_bytes > 0 && s.weight_bytes > 0);
    CHECK(s.bytes_per_token > s.weight_bytes / 2 && s.bytes_per_token < 2 * s.weight_bytes);
    CHECK(s.for_calls_per_token > 0 && s.for_calls_per_token < 100);
    CHECK((s.n_tensors_scalar == 0) == (s.isa != LLM_ISA_SCALAR));
    for (i = 0; s.n_threads == 2 && i < 20000 && s.pool_spins + s.pool_sleeps == 0; i++) {      // until the second thread got a CPU
        llm_rewind(c, N_TOK);
        llm_eval(c, reference.tokens, 1);
        llm_stats(c, &s);
    }
    CHECK((s.pool_spins + s.pool_sleeps > 0) == (s.n_threads == 2));
    waits = s.pool_spins + s.pool_sleeps;
    usleep(20000);                                           // between calls nobody waits by spinning, so nothing is counted
    llm_set_max_tokens(c, 1);
    llm_stats(c, &s);
    CHECK(s.pool_spins + s.pool_sleeps <= waits + 2);
    llm_close(c);
    llm_unload(m);
}

//------------------------------------------------------------------------------------------------------------------------------
// Hooks.

static void counted_allocator(void) {
    int order;
    SECTION("the host's allocator");
    for (order = 0; order < 3; order++) {
        counter k;
        llm_model_desc d;
        llm_model *m;
        llm_ctx *c;
        llm_stats_info s;
        long calls, loaded;
        int i;
        counter_init(&k, 0);
        memset(&d, 0, sizeof d);
        d.allocator = count_hook(&k);
        d.n_threads = 2;
        d.mapping = order == 2 ? LLM_READ : LLM_MAP;
        m = load_data(&d);
        loaded = k.calls;
        c = open_sized(m, 0, 0);
        if (!CHECK(c != NULL)) { llm_unload(m); return; }
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        CHECK_EQ(s.n_allocs, (uint64_t)(k.calls - loaded));
        CHECK_EQ(llm_eval(c, reference.tokens, 2), LLM_OK);
        calls = k.calls;
        llm_stats(c, &s);
        CHECK_EQ(s.n_allocs, (uint64_t)(calls - loaded));
        // Inside one page of 64 positions nothing is asked for: no allocation per token.
        for (i = 2; i < 40; i++) { CHECK_EQ(llm_eval(c, &reference.tokens[i], 1), LLM_OK); CHECK(llm_sample(c) >= 0); }
        CHECK_EQ(k.calls, calls);
        CHECK(order == 2 || k.bytes < 4 << 20);
        if (order == 1) { llm_close(c); llm_unload(m); }
        else { llm_unload(m); CHECK(k.live > 0); CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK); llm_close(c); }
        CHECK_EQ(k.live, 0);
        CHECK_EQ(k.bytes, 0);
        CHECK_EQ(k.bad, 0);
        CHECK(k.calls > 5);
    }
}

// After the first evaluation, decoding asks for pages of keys and values and nothing else: one for each group of layers every 64 positions.
// The two lists of tokens, what is in the cache and what was said, double together with a page, never on their own.
static void decode_pages(const char *path, long groups, llm_kv_type kv) {
    enum { FROM = 2, TO = 300 };
    counter k;
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    llm_info info;
    llm_stats_info s;
    long per_head;
    int at, wrong = 0;
    counter_init(&k, 0);
    memset(&d, 0, sizeof d); memset(&cd, 0, sizeof cd); memset(&s, 0, sizeof s); memset(&info, 0, sizeof info);
    d.allocator = count_hook(&k);
    d.n_threads = 2;
    cd.kv_type = kv;
    cd.n_ctx = 512;
    m = llm_load(path, &d, &e);
    c = llm_open(m, &cd, &e);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    llm_model_info(m, &info);
    per_head = (long)(info.n_embd / info.n_head);
    per_head = kv == LLM_KV_Q8_0 ? (per_head + 31) / 32 * 34 : per_head * (kv == LLM_KV_F32 ? 4 : 2);
    CHECK_EQ(llm_eval(c, reference.tokens, FROM), LLM_OK);
    for (at = FROM; at < TO; at++) {
        const int page = at % 64 == 0;
        const long lists = page && (at & (at - 1)) == 0 ? 2 : 0, header = 64, calls = k.calls, live = k.live, bytes = k.bytes;
        long kv_bytes;
        llm_stats(c, &s);
        kv_bytes = (long)s.kv_bytes;
        CHECK_EQ(llm_eval(c, &reference.tokens[at % N_TOK], 1), LLM_OK);
        llm_stats(c, &s);
        kv_bytes = (long)s.kv_bytes - kv_bytes;
        wrong += (kv_bytes > 0) != page || k.calls - calls != (page ? groups + lists : 0) || k.live - live != (page ? groups : 0) ||
                 k.bytes - bytes != kv_bytes + (page ? groups * header : 0) + lists * at * (long)sizeof(llm_token);
        if (page && groups == 1) wrong += kv_bytes != 64 * 2 * per_head * (long)(info.n_layer * info.n_head_kv);
        CHECK(llm_sample(c) >= 0);
    }
    if (!CHECK_EQ(wrong, 0)) printf("  %s, KV type %d\n", path, (int)kv);
    llm_close(c);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
}
static void decode_allocations(void) {
    int kv;
    SECTION("what decoding allocates");
    for (kv = LLM_KV_F16; kv <= LLM_KV_Q8_0; kv++) {
        decode_pages(data_model, 1, (llm_kv_type)kv);
        decode_pages(window_model, 2, (llm_kv_type)kv);
    }
}

typedef struct watcher { int stop_at, calls, stage, in_order; float last; pthread_t thread; int other_thread; } watcher;

static int watch_progress(void *user, int stage, float fraction) {
    watcher *w = (watcher *)user;
    w->calls++;
    if (!pthread_equal(w->thread, pthread_self())) w->other_thread = 1;
    if (stage != w->stage) { w->stage = stage; w->last = 0; }
    if (!(fraction >= w->last && fraction <= 1)) w->in_order = 0;
    w->last = fraction;
    return w->calls != w->stop_at;
}
static void watch(watcher *w, int stop_at) {
    memset(w, 0, sizeof *w);
    w->stop_at = stop_at;
    w->stage = -1;
    w->in_order = 1;
    w->thread = pthread_self();
}
static size_t read_file(void *user, uint64_t offset, void *dst, size_t n) {
    FILE *f = (FILE *)user;
    if (fseek(f, (long)offset, SEEK_SET) != 0) return 0;
    return fread(dst, 1, n, f);
}

// Progress that says stop: while loading, the load is undone; in a prefill, the past is as before.
static void cancelled_by_progress(void) {
    watcher w;
    llm_model_desc d;
    counter count;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    float *want;
    int k, loading;
    SECTION("progress and its refusal");
    memset(&d, 0, sizeof d);
    d.progress.user = &w;
    d.progress.progress_fn = watch_progress;
    d.mapping = LLM_READ;
    watch(&w, 0);
    m = load_data(&d);
    loading = w.calls;
    CHECK(m != NULL && loading >= 10 && w.in_order && w.stage == 0 && !w.other_thread);
    for (k = 1; k <= loading; k += k < 5 || k + 3 > loading ? 1 : 3) {
        llm_model *cut;
        counter_init(&count, 0);
        d.allocator = count_hook(&count);
        watch(&w, k);
        cut = llm_load(data_model, &d, &e);
        if (!CHECK(!cut && e.code == LLM_CANCELLED)) printf("  progress call %d of %d: %d\n", k, loading, cut ? 0 : (int)e.code);
        llm_unload(cut);
        CHECK_EQ(count.live, 0);
    }
    watch(&w, 0);
    c = open_sized(m, 0, 4);
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (CHECK(c && want)) {
        watch(&w, 0);
        CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
        CHECK(w.calls >= 10 && w.stage == 1 && w.in_order && !w.other_thread);
        CHECK_EQ(llm_rewind(c, 5), LLM_OK);
        for (k = 1; k < 10; k += 4) {
            watch(&w, k);
            CHECK_EQ(llm_eval(c, reference.tokens + 5, N_TOK - 5), LLM_CANCELLED);
            CHECK_EQ(llm_past(c), 5);
        }
        watch(&w, 0);
        CHECK_EQ(llm_eval(c, reference.tokens + 5, N_TOK - 5), LLM_OK);
        CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    }
    llm_close(c);
    llm_unload(m);
    free(want);
}

typedef struct job_log { unsigned long calls; uint32_t most; int mode; } job_log;
typedef struct one_job { void (*task)(void *, uint32_t); void *arg; uint32_t index; } one_job;

static void *run_job(void *p) {
    one_job *j = (one_job *)p;
    j->task(j->arg, j->index);
    return NULL;
}
// 0: a plain loop; 1: backwards; 2: a thread for every task, all at once, with 64 KB of stack.
static void job_system(void *user, uint32_t n, void (*task)(void *, uint32_t), void *arg) {
    job_log *log = (job_log *)user;
    uint32_t i;
    log->calls++;
    if (n > log->most) log->most = n;
    if (log->mode < 2 || n > 64) { for (i = 0; i < n; i++) task(arg, log->mode ? n - 1 - i : i); return; }
    {
        pthread_t threads[64];
        one_job jobs[64];
        int started[64];
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 65536);
        for (i = 0; i < n; i++) {
            jobs[i].task = task; jobs[i].arg = arg; jobs[i].index = i;
            started[i] = pthread_create(&threads[i], SANITIZED ? NULL : &a, run_job, &jobs[i]) == 0;
            if (!started[i]) run_job(&jobs[i]);
        }
        for (i = 0; i < n; i++) if (started[i]) pthread_join(threads[i], NULL);
        pthread_attr_destroy(&a);
    }
}
static void host_jobs(void) {
    llm_model *plain = load_data(NULL);
    float *want = plain ? fresh_logits(plain, reference.tokens, N_TOK) : NULL;
    unsigned threads;
    int mode;
    SECTION("the host's job system");
    llm_unload(plain);
    threads = settled_threads(3);
    for (mode = 0; mode < 3 && CHECK(want != NULL); mode++) {
        llm_model_desc d;
        llm_model *m;
        llm_ctx *c;
        job_log log;
        float *got = (float *)malloc(N_TOK * ROW);
        memset(&log, 0, sizeof log);
        log.mode = mode;
        memset(&d, 0, sizeof d);
        d.parallel.user = &log;
        d.parallel.for_fn = job_system;
        d.n_threads = 3;
        m = load_data(&d);
        c = open_sized(m, 0, 0);
        if (CHECK(c && got)) {
            llm_stats_info s;
            CHECK_EQ(llm_eval_all(c, reference.tokens, N_TOK - 4, got), LLM_OK);
            CHECK_EQ(llm_eval_all(c, reference.tokens + N_TOK - 4, 1, got + (N_TOK - 4) * VOCAB), LLM_OK);
            CHECK_EQ(llm_eval_all(c, reference.tokens + N_TOK - 3, 3, got + (N_TOK - 3) * VOCAB), LLM_OK);
            CHECK(memcmp(got, want, N_TOK * ROW) == 0);
            CHECK(log.calls > 0 && log.most >= 1 && log.most <= 12);
            memset(&s, 0, sizeof s);
            llm_stats(c, &s);
            CHECK_EQ(s.n_threads_asked, 3);
            if (threads) CHECK_EQ(settled_threads(threads), threads);                    // the library owns none
        }
        llm_close(c);
        llm_unload(m);
        free(got);
    }
    free(want);
}

typedef struct fake_clock { uint64_t now; unsigned long calls; } fake_clock;
static uint64_t tick(void *user) {
    fake_clock *k = (fake_clock *)user;
    k->calls++;
    return k->now += 3000;
}
typedef struct log_book { int lines, bad, other, nonsense; pthread_t thread; } log_book;
static void write_log(void *user, int level, const char *text) {
    log_book *b = (log_book *)user;
    b->lines++;
    if (level < 0 || level > 3 || !text || !*text) b->bad = 1;
    else if (strstr(text, "n_ctx is 257") && strstr(text, "trained for 256 positions")) b->nonsense++;
    if (!pthread_equal(b->thread, pthread_self())) b->other = 1;
}
static void clock_and_log(void) {
    fake_clock k = { 1000000, 0 };
    log_book b;
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    SECTION("clock and log");
    memset(&b, 0, sizeof b);
    b.thread = pthread_self();
    memset(&d, 0, sizeof d);
    d.clock.user = &k;
    d.clock.now_us = tick;
    d.logger.user = &b;
    d.logger.log_fn = write_log;
    m = load_data(&d);
    c = open_sized(m, 0, 0);
    if (CHECK(c != NULL)) {
        CHECK_EQ(llm_eval(c, reference.tokens, 8), LLM_OK);
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        CHECK(k.calls > 3);
        CHECK(s.load_ms >= 3 && s.prefill_ms >= 3);          // every reading is 3 ms after the one before
        CHECK(golden_near(s.prefill_ms / 3, (double)(long)(s.prefill_ms / 3 + 0.5), 1e-9));
        CHECK(b.lines > 0 && !b.bad && !b.other);            // the unusable vocabulary is worth a line
    }
    llm_close(c);
    llm_close(open_sized(m, 256, 0));
    CHECK_EQ(b.nonsense, 0);
    llm_close(open_sized(m, 257, 0));                        // one position more than it has learned
    CHECK_EQ(b.nonsense, 1);
    llm_unload(m);
}

//------------------------------------------------------------------------------------------------------------------------------
// The probe and the roofline.

static void probing(void) {
    counter k;
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    double gb_s = -1, second = -1;
    float *want;
    long fail, calls;
    int i;
    SECTION("the probe");
    counter_init(&k, 0);
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.allocator = count_hook(&k);
    d.n_threads = 2;
    m = load_data(&d);
    c = open_sized(m, 0, 0);
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (!CHECK(c && want)) { llm_close(c); llm_unload(m); free(want); return; }
    llm_stats(c, &s);
    CHECK(s.probe_gb_s == 0 && s.decode_gb_s == 0 && s.roofline_pct == 0);
    CHECK_EQ(llm_probe(c, 5, &gb_s), LLM_OK);                // before any token
    llm_stats(c, &s);
    CHECK(gb_s > 0 && gb_s < 10000 && s.probe_gb_s == gb_s && s.roofline_pct == 0);
    CHECK_EQ(llm_eval(c, reference.tokens, N_TOK - 4), LLM_OK);
    for (i = 0; i < 4; i++) {
        CHECK_EQ(llm_eval(c, &reference.tokens[N_TOK - 4 + i], 1), LLM_OK);
        CHECK_EQ(llm_probe(c, 1, i == 2 ? NULL : &second), LLM_OK);
        CHECK(llm_logits(c) && memcmp(llm_logits(c), want + (N_TOK - 4 + i) * VOCAB, ROW) == 0);       // nothing has changed
        llm_stats(c, &s);
        gb_s = gb_s > second ? gb_s : second;
        CHECK(s.probe_gb_s >= gb_s);
        CHECK(s.decode_gb_s > 0 && s.roofline_pct > 0 && s.roofline_pct <= 100);
        CHECK(golden_near(s.decode_gb_s, (double)s.bytes_per_token * (double)s.decode_tokens / (s.decode_ms * 1e6), 1e-9));
        CHECK(s.roofline_pct <= 100 * s.decode_gb_s / s.probe_gb_s * (1 + 1e-9));
    }
    llm_cancel(c);
    second = 7;
    CHECK_EQ(llm_probe(c, 1000, &second), LLM_CANCELLED);
    CHECK(second == 7.0);                                    // all or nothing
    CHECK_EQ(llm_past(c), N_TOK);
    CHECK_EQ(llm_probe(c, 1, &second), LLM_OK);
    calls = k.live;
    for (fail = 1; fail < 100; fail++) {
        k.fail_at = k.calls + fail;
        if (llm_probe(c, 1, NULL) == LLM_OK) break;
        CHECK_EQ(llm_last_error(c)->code, LLM_NO_MEMORY);
        CHECK_EQ(k.live, calls);
    }
    k.fail_at = 0;
    CHECK(fail > 3 && fail < 100);
    CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    llm_close(c);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
    free(want);
}

// With a clock that moves by 3 ms at each look one pass takes 3 ms, and the rate says how many bytes it has read: the directory's count of
// weights and, at depth, keys and values of every position in sight.
static void probed_bytes(void) {
    static const char *const models[] = { "llama-dense", "qwen3moe-moe", "gemma2-dense", "gemma3-dense", "phi3-longrope-long" };
    size_t i, n;
    SECTION("what the probe reads");
    for (i = 0; i < sizeof models / sizeof models[0]; i++) {
        fake_clock k = { 1000000, 0 };
        llm_model_desc d;
        llm_ctx_desc cd;
        llm_error e;
        llm_model *m;
        llm_ctx *c;
        llm_info info;
        char path[64];
        double gb_s = 0;
        memset(&d, 0, sizeof d);
        memset(&cd, 0, sizeof cd);
        memset(&info, 0, sizeof info);
        d.clock.user = &k;
        d.clock.now_us = tick;
        cd.n_ctx = 256;
        sprintf(path, "tests/data/%s.gguf", models[i]);
        m = llm_load(path, &d, &e);
        c = open_ctx(m, &cd);
        if (!CHECK(c != NULL)) { llm_unload(m); continue; }
        llm_model_info(m, &info);
        CHECK_EQ(llm_probe(c, 1, &gb_s), LLM_OK);
        CHECK_EQ((uint64_t)(gb_s * 3e6 + 0.5), info.bytes_per_token);
        for (n = 1; n <= 200; n += n < 70 ? 23 : 65) {
            llm_stats_info s;
            uint64_t kv = 0;
            uint32_t layer;
            CHECK_EQ(llm_rewind(c, 0), LLM_OK);
            while (llm_past(c) + 1 < n) CHECK_EQ(llm_eval(c, reference.tokens, LLM__MIN(n - 1 - llm_past(c), N_TOK)), LLM_OK);
            CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK);
            for (layer = 0; layer < info.n_layer; layer++) {  // heads and window of each layer from the network itself
                const llm__layer *L = &m->net.layers[layer];
                kv += (uint64_t)(L->window && n > L->window ? L->window : n) * L->n_head_kv * (m->net.dim_k + m->net.dim_v) * 2;
            }
            if (i == 0) CHECK_EQ(kv, n * 2 * (16 + 16) * 2);  // two layers, one head of 16
            CHECK_EQ(llm_probe(c, 1, &gb_s), LLM_OK);
            CHECK_EQ((uint64_t)(gb_s * 3e6 + 0.5), info.bytes_per_token + kv);
            memset(&s, 0, sizeof s);
            llm_stats(c, &s);                                 // and decode is said to read the same
            if (n > 1 && n < N_TOK) CHECK_EQ(s.bytes_per_token, info.bytes_per_token + kv);
        }
        llm_close(c);
        llm_unload(m);
    }
}

// Back to where the last position's window begins in a page that has been given back, and the next one's does not.
static void probed_after_rewind(void) {
    llm_ctx_desc cd;
    llm_error e;
    llm_model *m = llm_load("tests/data/gemma3-dense.gguf", NULL, &e);
    const llm__kv_group *g = NULL;
    llm_ctx *c;
    uint32_t i, most = 0;
    SECTION("the probe after a rewind to the edge of what a window keeps");
    memset(&cd, 0, sizeof cd);
    cd.n_ctx = 4096;
    c = open_ctx(m, &cd);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    for (i = 0; i < LLM__KV_GROUPS; i++)
        if (c->state.kv.groups[i].window) g = &c->state.kv.groups[i];
    if (CHECK(g != NULL)) most = g->window + LLM__SPAN + 200;
    while (llm_past(c) < most) CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
    if (g) {
        const size_t edge = (size_t)g->first * LLM__PAGE + g->window - 1;
        CHECK(g->first > 0 && !g->pages[g->first - 1] && edge < llm_past(c));
        CHECK_EQ(llm_rewind(c, edge), LLM_OK);
        CHECK_EQ(c->n_cached, edge);
    }
    CHECK_EQ(llm_probe(c, 1, NULL), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK);
    llm_close(c);
    llm_unload(m);
}

// Every byte of every matrix, once in a pass, each stream ascending; of an embedding table one row, of experts as many as are used.
enum { MOST_READ = 1 << 22 };
static struct { const unsigned char *file; size_t n; unsigned char count[MOST_READ]; uint64_t elsewhere; } touched;
static float note_read(const uint8_t *const *at, size_t step, size_t n_steps) {
    size_t i, k, b;
    for (i = 0; i < n_steps; i++)
        for (k = 0; k < 4; k++) {
            const unsigned char *p = at[k] + i * step;
            if (k && p == at[0] + i * step) continue;         // the end of a piece is read four times: one line counts
            for (b = 0; b < 64; b++)
                if (p + b >= touched.file && p + b < touched.file + touched.n) touched.count[p + b - touched.file]++;
                else touched.elsewhere++;
        }
    return 0;
}
static void probed_places(void) {
    static const char *const models[] = { "tests/data/llama-dense.gguf", "tests/data/qwen3moe-moe.gguf", "tests/data/gemma3-dense.gguf" };
    size_t i, t, b;
    SECTION("where the probe reads");
    for (i = 0; i < 3; i++) {
        fake_clock k = { 1000000, 0 };
        llm_model_desc d;
        llm_error e;
        unsigned char *file = test_read(models[i], &touched.n);
        llm_model *m;
        llm_ctx *c;
        llm_info info;
        int streams;
        memset(&d, 0, sizeof d);
        memset(&info, 0, sizeof info);
        d.n_threads = 1;
        d.clock.user = &k;
        d.clock.now_us = tick;
        if (!CHECK(file && touched.n <= MOST_READ)) { free(file); continue; }
        touched.file = file;
        m = llm_load_memory(file, touched.n, &d, &e);
        c = open_sized(m, 0, 0);
        if (!CHECK(c != NULL)) { llm_unload(m); free(file); continue; }
        llm_model_info(m, &info);
        m->kernels.v.sweep = note_read;
        for (streams = 0; streams < 3; streams++) {           // 1, 2, 4
            int tied = llm__gguf_tensor_find(&m->gguf, llm__str_of("output.weight")) == NULL;
            memset(touched.count, 0, sizeof touched.count);
            touched.elsewhere = 0;
            CHECK_EQ(llm_probe(c, 1, NULL), LLM_OK);
            CHECK_EQ(touched.elsewhere, 0);
            for (t = 0; t < m->gguf.n_tensors; t++) {
                const llm__gguf_tensor *tensor = &m->gguf.tensors[t];
                const size_t at = (size_t)(tensor->data - file);
                uint64_t once = 0, more = 0, expected = tensor->dims[1] > 1 || tensor->dims[2] > 1 ? tensor->n_bytes : 0;
                int is_embedding = llm__str_is(tensor->name, "token_embd.weight");
                if (is_embedding && !tied) expected = tensor->n_bytes / tensor->dims[1];
                if (tensor->dims[2] > 1) expected = tensor->n_bytes / tensor->dims[2] * info.n_expert_used;
                for (b = 0; b < tensor->n_bytes; b++) { once += touched.count[at + b] == 1; more += touched.count[at + b] > 1; }
                // A tied table is read whole as output matrix, and one row of it as embedding.
                if (is_embedding && tied) { CHECK_EQ(more, tensor->n_bytes / tensor->dims[1]); once += more; more = 0; }
                if (!CHECK(once == expected && more == 0))
                    printf("  %s, tensor %u: %u bytes once, %u more often, of %u\n", models[i], (unsigned)t, (unsigned)once, (unsigned)more,
                           (unsigned)expected);
            }
        }
        llm_close(c);
        llm_unload(m);
        free(file);
    }
}

static uint64_t no_tick(void *user) { (void)user; return 42; }
static void stopped_clock(void) {
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    SECTION("a clock that stands still");
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.clock.now_us = no_tick;
    m = load_data(&d);
    c = open_sized(m, 0, 0);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    CHECK_EQ(llm_eval(c, reference.tokens, 3), LLM_OK);
    CHECK_EQ(llm_eval(c, reference.tokens, 1), LLM_OK);
    CHECK_EQ(llm_probe(c, 1, NULL), LLM_UNSUPPORTED);
    CHECK(llm_last_error(c)->text[0]);
    llm_stats(c, &s);
    CHECK(s.probe_gb_s == 0 && s.decode_gb_s == 0 && s.roofline_pct == 0);
    llm_close(c);
    llm_unload(m);
}

//------------------------------------------------------------------------------------------------------------------------------
// Routes into memory.

typedef struct slow_reader { const unsigned char *p; size_t n, fail_from, most; unsigned long calls; } slow_reader;
static size_t read_slowly(void *user, uint64_t offset, void *dst, size_t n) {
    slow_reader *r = (slow_reader *)user;
    r->calls++;
    if (offset >= r->n || n == 0) return 0;
    if (n > r->n - (size_t)offset) n = r->n - (size_t)offset;
    if (r->most && n > r->most) n = r->most;
    if (offset + n > r->fail_from) { if (offset >= r->fail_from) return 0; n = r->fail_from - (size_t)offset; }
    memcpy(dst, r->p + offset, n);
    return n;
}
static void same_logits(llm_model *m, const float *want, const char *route) {
    float *got = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (!CHECK(got && memcmp(got, want, N_TOK * ROW) == 0)) printf("  by %s\n", route);
    free(got);
    llm_unload(m);
}
static void routes(void) {
    size_t n, at;
    unsigned char *file = test_read(data_model, &n), *odd;
    llm_model_desc d;
    llm_error e;
    llm_reader r;
    slow_reader slow;
    FILE *f;
    float *want;
    SECTION("routes: path, read, memory, reader");
    odd = (unsigned char *)malloc(n + 1);
    if (!CHECK(file && odd)) return;
    want = NULL;
    { llm_model *m = load_data(NULL); if (m) want = fresh_logits(m, reference.tokens, N_TOK); llm_unload(m); }
    if (!CHECK(want != NULL)) { free(file); free(odd); return; }
    memset(&d, 0, sizeof d);
    d.mapping = LLM_READ; same_logits(load_data(&d), want, "LLM_READ");
    d.mapping = LLM_MAP;  same_logits(load_data(&d), want, "LLM_MAP");
    same_logits(llm_load_memory(file, n, NULL, &e), want, "memory");
    memcpy(odd + 1, file, n);
    same_logits(llm_load_memory(odd + 1, n, NULL, &e), want, "memory at an odd address");
    f = fopen(data_model, "rb");
    r.user = f;
    r.size = n;
    r.read_at = read_file;
    same_logits(llm_load_reader(&r, NULL, &e), want, "a reader over stdio");
    if (f) fclose(f);
    memset(&slow, 0, sizeof slow);
    slow.p = file; slow.n = n; slow.fail_from = n; slow.most = 1;
    r.user = &slow;
    r.read_at = read_slowly;
    same_logits(llm_load_reader(&r, NULL, &e), want, "a reader that gives one byte at a time");
    slow.most = 0;
    for (at = 0; at < n; at += at < 64 ? 7 : n / 23) {       // a failure in every section: header, keys, directory, weights
        counter count;
        llm_model *m;
        counter_init(&count, 0);
        memset(&d, 0, sizeof d);
        d.allocator = count_hook(&count);
        slow.fail_from = at;
        m = llm_load_reader(&r, &d, &e);
        if (!CHECK(!m && e.code == LLM_IO && e.text[0])) printf("  failing from byte %lu: %d\n", (unsigned long)at, m ? 0 : (int)e.code);
        llm_unload(m);
        CHECK_EQ(count.live, 0);
    }
    for (at = 0; at < n; at += n / 37) {                     // the same cuts, called the whole file: a damaged file
        llm_model *m = llm_load_memory(file, at, NULL, &e);
        if (!CHECK(!m && (e.code == LLM_BAD_FILE || (at == 0 && e.code == LLM_BAD_ARG)))) printf("  cut at %lu: %d\n", (unsigned long)at, m ? 0 : (int)e.code);
        llm_unload(m);
    }
    free(want);
    free(odd);
    free(file);
}

// A mapped file that changes is noticed once per evaluation; one that was read is immune.
static void changed_file(void) {
    size_t n;
    unsigned char *file = test_read(data_model, &n);
    const char *copy = test_scratch("api_changed.gguf");
    llm_model_desc d;
    llm_error e;
    int read;
    SECTION("a file that changes");
    for (read = 0; read < 2 && CHECK(file && test_write(copy, file, n)); read++) {
        llm_model *m;
        llm_ctx *c;
        memset(&d, 0, sizeof d);
        d.mapping = read ? LLM_READ : LLM_MAP;
        m = llm_load(copy, &d, &e);
        c = open_sized(m, 0, 0);
        if (CHECK(c != NULL)) {
            FILE *f;
            llm_stats_info s;
            memset(&s, 0, sizeof s);
            llm_stats(c, &s);
            CHECK_EQ(s.mapping, read ? LLM_READ : LLM_MAP);
            CHECK_EQ(llm_eval(c, reference.tokens, 8), LLM_OK);
            f = fopen(copy, "ab");
            if (f) { fputs("more", f); fclose(f); }
#if defined(_WIN32)
            CHECK(read || !f);                                   // nobody may write it while it is mapped
            CHECK_EQ(llm_eval(c, reference.tokens, 8), LLM_OK);
#else
            CHECK_EQ(llm_eval(c, reference.tokens, 8), read ? LLM_OK : LLM_IO);
            CHECK_EQ(llm_past(c), read ? 16 : 8);
#endif
        }
        llm_close(c);
        llm_unload(m);
    }
    remove(copy);
    free(file);
}

static void *idle(void *p) { return p; }
static void nothing_stays(void) {
    unsigned files = entries("/proc/self/fd"), threads;
    pthread_t t;
    int k;
    SECTION("files, threads and maps come back");
    if (pthread_create(&t, NULL, idle, NULL) == 0) pthread_join(t, NULL);        // the C library's or a sanitizer's own thread comes with the first
    threads = settled_threads(1);
#if defined(_WIN32)
    files = 0;                                                                   // under Wine it is the /proc of another system
#endif
    if (!files) { test_lacks("no /proc: open files and threads are not counted"); return; }
    for (k = 0; k < 3; k++) {
        llm_model_desc d;
        llm_model *m;
        llm_ctx *c;
        memset(&d, 0, sizeof d);
        d.n_threads = 3;
        m = load_data(&d);
        c = open_sized(m, 0, 0);
        if (CHECK(c != NULL)) CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
        CHECK(map_lines("llama-dense.gguf") > 0);
        llm_close(c);
        llm_unload(m);
    }
    CHECK_EQ(entries("/proc/self/fd"), files);
    CHECK_EQ(settled_threads(threads), threads);
    CHECK_EQ(map_lines("llama-dense.gguf"), 0);
}

//------------------------------------------------------------------------------------------------------------------------------
// Threads.

typedef struct gate { pthread_mutex_t lock; pthread_cond_t moved; int stage; } gate;
static void gate_init(gate *g) {
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->moved, NULL);
}
static void gate_to(gate *g, int stage) {
    pthread_mutex_lock(&g->lock);
    if (g->stage < stage) g->stage = stage;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->lock);
}
static void gate_wait(gate *g, int stage) {
    pthread_mutex_lock(&g->lock);
    while (g->stage < stage) pthread_cond_wait(&g->moved, &g->lock);
    pthread_mutex_unlock(&g->lock);
}
static int gate_at(gate *g, int stage) {
    int there;
    pthread_mutex_lock(&g->lock);
    there = g->stage >= stage;
    pthread_mutex_unlock(&g->lock);
    return there;
}
// The owner's progress callback stands still in the middle of a call until the other thread has tried everything.
static int hold(void *user, int stage, float fraction) {
    gate *g = (gate *)user;
    (void)fraction;
    if (stage == 1 && gate_at(g, 1) && !gate_at(g, 2)) { gate_to(g, 2); gate_wait(g, 3); }
    return 1;
}
typedef struct owner { llm_ctx *ctx; gate *g; llm_result result; } owner;
static void *own(void *p) {
    owner *o = (owner *)p;
    o->result = llm_eval(o->ctx, reference.tokens, N_TOK);
    return NULL;
}
static void busy(void) {
    gate g;
    owner o;
    pthread_t t;
    llm_model_desc d;
    llm_model *m;
    llm_sampling s = LLM_SAMPLING_DEFAULT;
    llm_stats_info stats;
    const char *const stops[1] = { "x" };
    float l[VOCAB], *want;
    SECTION("a second caller");
    gate_init(&g);
    memset(&d, 0, sizeof d);
    d.progress.user = &g;
    d.progress.progress_fn = hold;
    m = load_data(&d);
    o.ctx = open_sized(m, 0, 8);
    o.g = &g;
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    if (!CHECK(o.ctx && want)) return;
    gate_to(&g, 1);
    pthread_create(&t, NULL, own, &o);
    gate_wait(&g, 2);
    CHECK_EQ(llm_eval(o.ctx, reference.tokens, 1), LLM_BUSY);
    CHECK_EQ(llm_eval_all(o.ctx, reference.tokens, 1, l), LLM_BUSY);
    CHECK_EQ(llm_rewind(o.ctx, 0), LLM_BUSY);
    CHECK_EQ(llm_sample(o.ctx), LLM_NO_TOKEN);
    CHECK_EQ(llm_set_sampling(o.ctx, &s), LLM_BUSY);
    CHECK_EQ(llm_set_stop(o.ctx, stops, 1), LLM_BUSY);
    CHECK_EQ(llm_set_max_tokens(o.ctx, 1), LLM_BUSY);
    CHECK_EQ(llm_say(o.ctx, "user", "x"), LLM_BUSY);
    CHECK_EQ(llm_feed(o.ctx, "x", 1), LLM_BUSY);
    CHECK(llm_next(o.ctx, NULL) == NULL);
    CHECK_EQ(llm_probe(o.ctx, 1, NULL), LLM_BUSY);
    llm_trim(o.ctx);                                         // would pull the scratch from under the owner
    memset(&stats, 0, sizeof stats);
    llm_stats(o.ctx, &stats);                                // any thread, any time
    CHECK_EQ(stats.struct_bytes, sizeof stats);
    gate_to(&g, 3);
    pthread_join(t, NULL);
    CHECK_EQ(o.result, LLM_OK);
    CHECK_EQ(llm_last_error(o.ctx)->code, LLM_OK);           // the owner saw nothing of it
    CHECK_EQ(llm_past(o.ctx), N_TOK);
    CHECK(memcmp(llm_logits(o.ctx), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    CHECK_EQ(llm_sample(o.ctx) >= 0, 1);                     // and greedy sampling is still greedy
    llm_close(o.ctx);
    llm_unload(m);
    free(want);
}

typedef struct sibling { llm_model *m; const float *want; int rounds, ok; gate *stop; llm_ctx *peek; } sibling;
static void *compute(void *p) {
    sibling *s = (sibling *)p;
    int i;
    s->ok = 1;
    for (i = 0; i < s->rounds; i++) {
        float *got = fresh_logits(s->m, reference.tokens, N_TOK);
        if (!got || memcmp(got, s->want, N_TOK * ROW) != 0) s->ok = 0;
        free(got);
    }
    return NULL;
}
static void *peek(void *p) {                                 // llm_stats of a context that another thread works with
    sibling *s = (sibling *)p;
    uint64_t last = 0;
    s->ok = 1;
    while (!gate_at(s->stop, 1)) {
        llm_stats_info i;
        memset(&i, 0, sizeof i);
        llm_stats(s->peek, &i);
        if (i.struct_bytes != sizeof i || i.isa == LLM_ISA_AUTO || i.bits_promise > 1 || !i.bits_reason || i.prefill_tokens > 1000000) s->ok = 0;
        if (i.weight_bytes && last && i.weight_bytes != last) s->ok = 0;
        last = i.weight_bytes;
    }
    return NULL;
}
static void many_threads(void) {
    enum { N = 4 };
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    sibling s[N], watching;
    pthread_t t[N], w;
    gate stop;
    float *want;
    int i, k;
    SECTION("many threads, one model");
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = load_data(&d);
    want = m ? fresh_logits(m, reference.tokens, N_TOK) : NULL;
    c = open_sized(m, 0, 0);
    if (!CHECK(c && want)) return;
    gate_init(&stop);
    watching.peek = c;
    watching.stop = &stop;
    pthread_create(&w, NULL, peek, &watching);
    for (i = 0; i < N; i++) {
        s[i].m = m; s[i].want = want; s[i].rounds = SANITIZED ? 8 : 30;
        pthread_create(&t[i], NULL, compute, &s[i]);
    }
    for (k = 0; k < 20; k++) {
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        CHECK_EQ(llm_eval(c, reference.tokens, N_TOK), LLM_OK);
        CHECK(memcmp(llm_logits(c), want + (N_TOK - 1) * VOCAB, ROW) == 0);
    }
    for (i = 0; i < N; i++) { pthread_join(t[i], NULL); CHECK(s[i].ok); }
    gate_to(&stop, 1);
    pthread_join(w, NULL);
    CHECK(watching.ok);
    llm_close(c);
    llm_unload(m);
    free(want);
}

typedef struct canceller { llm_ctx *ctx; gate g; uint64_t after_us, at; } canceller;
static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
static void *cancel_later(void *p) {
    canceller *c = (canceller *)p;
    usleep((useconds_t)c->after_us);
    c->at = now_us();
    llm_cancel(c->ctx);
    return NULL;
}
// A model large enough that its prefill takes a second or so; the cancel comes in the middle of it.
static void cancelled_by_call(void) {
    static const golden_shape shape = { 256, 1024, 3, 4, 2, 512, 4096 };
    enum { LONG = 3000 };
    static llm_token t[LONG];
    const golden_type *q8 = &golden_types[7];
    golden_file f = golden_llama(&shape, &q8, 1, 5);
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    canceller k;
    pthread_t thread;
    uint64_t begin, whole, late, worst = 0;
    float first[512];
    int i;
    SECTION("llm_cancel");
    for (i = 0; i < LONG; i++) t[i] = (llm_token)((i * 31 + 7) % 512);
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = llm_load_memory(f.p, f.n, &d, &e);
    c = open_sized(m, 0, 0);
    if (!CHECK(c != NULL)) { llm_unload(m); free(f.p); return; }
    llm_cancel(c);                                           // nothing in progress: the next call that computes is it, once
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK_EQ(llm_eval(c, t, 5), LLM_CANCELLED);
    CHECK_EQ(llm_past(c), 0);
    CHECK_EQ(llm_eval(c, t, 5), LLM_OK);
    memcpy(first, llm_logits(c), sizeof first);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    begin = now_us();
    CHECK_EQ(llm_eval(c, t, LONG), LLM_OK);
    whole = now_us() - begin;
    for (i = 0; i < 5; i++) {
        llm_result r;
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        k.ctx = c;
        k.after_us = whole / 8 + (uint64_t)i * whole / 9;
        pthread_create(&thread, NULL, cancel_later, &k);
        r = llm_eval(c, t, LONG);
        begin = now_us();
        pthread_join(thread, NULL);
        if (r == LLM_OK) { CHECK_EQ(llm_eval(c, t, 1), LLM_CANCELLED); continue; }       // it came after the end: the next call is it
        CHECK_EQ(r, LLM_CANCELLED);
        late = begin > k.at ? begin - k.at : 0;
        if (late > worst) worst = late;
        CHECK_EQ(llm_past(c), 0);
        CHECK_EQ(llm_eval(c, t, 5), LLM_OK);
        CHECK(memcmp(first, llm_logits(c), sizeof first) == 0);
    }
    printf("  prefill of %d tokens: %.0f ms; longest from llm_cancel to the return: %.1f ms\n", LONG, (double)whole / 1000, (double)worst / 1000);
    CHECK(worst < (SANITIZED ? 400000u : 100000u));          // the promise is 5 ms of work; the box may be busy
    llm_close(c);
    llm_unload(m);
    free(f.p);
}

//------------------------------------------------------------------------------------------------------------------------------
// Text: say, feed, next. Everything greedy unless said otherwise, so that two ways to the same text can be compared.

enum { TEXT = 1 << 14 };
typedef struct reply { char text[TEXT]; size_t n, pieces; int sound; llm_stop why; } reply;

// Takes at most `most` pieces (0 = all). Each must be whole UTF-8, not empty, ended by a NUL.
static void take(llm_ctx *c, reply *r, size_t most) {
    const char *piece;
    size_t n;
    memset(r, 0, sizeof *r);
    r->sound = 1;
    while ((!most || r->pieces < most) && (n = 77, piece = llm_next(c, &n)) != NULL) {
        if (!n || strlen(piece) != n || !valid_utf8(piece, n)) r->sound = 0;
        if (llm_why(c) != LLM_STOP_NONE) r->sound = 0;
        if (r->n + n + 1 > TEXT) break;
        memcpy(r->text + r->n, piece, n + 1);
        r->n += n;
        r->pieces++;
    }
    r->why = llm_why(c);
}
static llm_model *load_tiny(const llm_model_desc *d) {
    llm_error e;
    llm_model *m = llm_load(tiny, d, &e);
    if (!CHECK(m != NULL)) printf("  %s: %s\n", tiny, e.text);
    return m;
}
static llm_ctx *open_text(llm_model *m, uint32_t max_tokens, uint32_t n_ctx) {
    llm_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.max_tokens = max_tokens;
    d.n_ctx = n_ctx;
    return open_ctx(m, &d);
}
static const char *const question = "Tell me a story about a fox.";
static const char *const second = "Now one about a small boat.";

// The reference answer: at most 60 tokens.
static int answer_to(llm_model *m, const char *user, uint32_t max_tokens, reply *r) {
    llm_ctx *c = open_text(m, max_tokens, 0);
    int ok = c && llm_say(c, "user", user) == LLM_OK;
    if (ok) take(c, r, 0);
    ok = ok && r->sound && r->n > 0 && (r->why == LLM_STOP_EOG || r->why == LLM_STOP_LIMIT);
    if (!ok && c) printf("  why %d, pieces %u, \"%s\", %s\n", (int)r->why, (unsigned)r->pieces, r->text, llm_last_error(c)->text);
    llm_close(c);
    return ok;
}

static void limits(llm_model *m) {
    static reply whole, part, more;
    llm_ctx *c = open_text(m, 7, 0);
    size_t past, n = 5;
    SECTION("max_tokens and going on");
    if (!CHECK(answer_to(m, question, 60, &whole)) || !CHECK(c != NULL)) { llm_close(c); return; }
    CHECK_EQ(llm_why(c), LLM_STOP_NONE);
    CHECK_EQ(llm_past(c), 0);
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    CHECK_EQ(llm_past(c), 0);                                // nothing is computed yet
    take(c, &part, 0);
    CHECK_EQ(part.why, LLM_STOP_LIMIT);
    CHECK(part.sound && part.n > 0 && part.n < whole.n);
    past = llm_past(c);
    CHECK(llm_next(c, &n) != NULL || llm_why(c) != LLM_STOP_LIMIT);      // a limit goes on when called again
    CHECK(llm_past(c) > past);
    llm_close(c);
    c = open_text(m, 7, 0);
    llm_say(c, "user", question);
    for (take(c, &part, 0); part.why == LLM_STOP_LIMIT && part.n < whole.n; ) {       // the limit counts anew each time
        take(c, &more, 0);
        if (!more.n || part.n + more.n + 1 > TEXT) break;
        memcpy(part.text + part.n, more.text, more.n + 1);
        part.n += more.n;
        part.why = more.why;
    }
    CHECK(part.n >= whole.n && memcmp(part.text, whole.text, whole.n) == 0);
    CHECK_EQ(llm_set_max_tokens(c, 1), LLM_OK);
    llm_close(c);
}

static void end_of_answer(llm_model *m) {
    static reply r, again;
    llm_ctx *c = open_text(m, 0, 0);
    SECTION("the end of an answer");
    if (!CHECK(c != NULL)) return;
    CHECK(llm_next(c, NULL) == NULL);                        // nothing was said
    CHECK(llm_why(c) == LLM_STOP_ERROR || llm_why(c) == LLM_STOP_NONE);
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    take(c, &r, 0);
    CHECK(r.sound && r.n > 20);
    CHECK_EQ(r.why, LLM_STOP_EOG);
    take(c, &again, 0);                                      // stays ended until there is new input
    CHECK_EQ(again.pieces, 0);
    CHECK_EQ(again.why, LLM_STOP_EOG);
    CHECK(strstr(r.text, "<|") == NULL);                     // control tokens are not text
    CHECK_EQ(llm_say(c, "user", second), LLM_OK);
    take(c, &again, 0);
    CHECK(again.n > 0 && again.why == LLM_STOP_EOG);
    llm_close(c);
}

// A second turn keeps what the cache holds and says what a fresh context with the same history says.
static void turns(llm_model *m) {
    static reply first, next, told, other;
    llm_ctx *c = open_text(m, 40, 0), *fresh = open_text(m, 40, 0);
    llm_stats_info s;
    size_t past;
    SECTION("turns and history");
    if (!CHECK(c && fresh)) { llm_close(c); llm_close(fresh); return; }
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    take(c, &first, 0);
    past = llm_past(c);
    CHECK_EQ(llm_say(c, "user", second), LLM_OK);
    take(c, &next, 0);
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    CHECK(s.reused_tokens + 4 >= past && s.prefill_tokens < past);
    CHECK_EQ(llm_say(fresh, "user", question), LLM_OK);
    CHECK_EQ(llm_say(fresh, "assistant", first.text), LLM_OK);
    CHECK_EQ(llm_say(fresh, "user", second), LLM_OK);
    take(fresh, &told, 0);
    CHECK_TEXT(next.text, told.text);
    // Back to the end of the first answer: the second turn is forgotten and another one may follow.
    CHECK_EQ(llm_rewind(c, past), LLM_OK);
    CHECK_EQ(llm_say(c, "user", second), LLM_OK);
    take(c, &other, 0);
    CHECK_TEXT(other.text, next.text);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);                      // everything is forgotten
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    take(c, &other, 0);
    CHECK_TEXT(other.text, first.text);
    llm_close(c);
    llm_close(fresh);
}

static void stop_strings(llm_model *m) {
    static reply whole, r;
    llm_ctx *c;
    char stop[12], late[12];
    const char *list[3];
    size_t at, cut;
    SECTION("stop strings");
    if (!CHECK(answer_to(m, question, 60, &whole)) || !CHECK(whole.n > 60)) return;
    for (at = 20; at + 12 < whole.n && at < 60; at += 9) {
        if (((unsigned char)whole.text[at] & 0xc0) == 0x80) continue;
        memcpy(stop, whole.text + at, 7);
        stop[7] = 0;
        memcpy(late, whole.text + whole.n - 8, 8);
        late[8] = 0;
        list[0] = "never in it \xf0\x9f\xa6\x8a"; list[1] = late; list[2] = stop;
        cut = (size_t)(strstr(whole.text, stop) - whole.text);
        if ((size_t)(strstr(whole.text, late) - whole.text) < cut) cut = (size_t)(strstr(whole.text, late) - whole.text);
        c = open_text(m, 60, 0);
        if (!CHECK(c && llm_set_stop(c, list, 3) == LLM_OK)) { llm_close(c); return; }
        memset((void *)stop, '#', 4);                        // copied: what happens to ours is of no concern
        llm_say(c, "user", question);
        take(c, &r, 0);
        CHECK_EQ(r.why, LLM_STOP_STRING);
        CHECK(r.sound);
        if (!CHECK(r.n == cut && memcmp(r.text, whole.text, cut) == 0)) printf("  \"%s\"\n", r.text);
        take(c, &r, 0);
        CHECK(r.pieces == 0 && r.why == LLM_STOP_STRING);
        llm_close(c);
    }
}

// Memory given back between any two pieces, and between two turns: the same words.
static void trimmed_answer(llm_model *m) {
    llm_ctx *plain = open_text(m, 30, 0), *c = open_text(m, 30, 0);
    int turn;
    SECTION("a trim within an answer");
    if (!CHECK(plain && c)) { llm_close(plain); llm_close(c); return; }
    for (turn = 0; turn < 2; turn++) {
        const char *piece, *other;
        int n = 0;
        CHECK_EQ(llm_say(plain, "user", turn ? second : question), LLM_OK);
        CHECK_EQ(llm_say(c, "user", turn ? second : question), LLM_OK);
        llm_trim(c);
        while ((piece = llm_next(plain, NULL)) != NULL) {
            other = llm_next(c, NULL);
            if (!CHECK(other && strcmp(piece, other) == 0)) break;
            n++;
            llm_trim(c);
        }
        CHECK(n > 10);
        CHECK(llm_next(c, NULL) == NULL);
        CHECK_EQ(llm_why(c), llm_why(plain));
        CHECK_EQ(llm_past(c), llm_past(plain));
        llm_trim(c);
    }
    llm_close(plain);
    llm_close(c);
}

static void raw_text(llm_model *m) {
    static const char *const text = "Once upon a time there was a";
    static reply fed, again;
    llm_token ids[256];
    llm_token bos = llm_special_token(m, LLM_BOS);
    llm_ctx *c = open_text(m, 12, 0);
    size_t n = llm_tokenize(m, text, strlen(text), LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, ids, 256), i, n_bos = 0;
    SECTION("raw text");
    if (!CHECK(c && n > 0 && n < 256)) { llm_close(c); return; }
    for (i = 0; i < n; i++) n_bos += ids[i] == bos;
    CHECK(bos == LLM_NO_TOKEN || n_bos <= 1);
    CHECK_EQ(llm_feed(c, text, strlen(text)), LLM_OK);
    take(c, &fed, 0);
    CHECK(fed.sound && fed.n > 0);
    CHECK(llm_past(c) >= n && llm_past(c) <= n + 12);
    // The same by tokens.
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK_EQ(llm_eval(c, ids, n), LLM_OK);
    for (i = 0, again.n = 0; i < 12; i++) {
        llm_token t = llm_sample(c);
        size_t k;
        if (t == LLM_NO_TOKEN || llm_is_eog(m, t)) break;
        k = llm_detokenize(m, &t, 1, 0, again.text + again.n, TEXT - 1 - again.n);
        if (k == LLM_FAILED) break;
        again.n += k;
        CHECK_EQ(llm_eval(c, &t, 1), LLM_OK);
    }
    again.text[again.n] = 0;
    CHECK(strncmp(again.text, fed.text, fed.n < again.n ? fed.n : again.n) == 0);
    // Fed in two halves cut at a space: BOS is not added a second time.
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK_EQ(llm_feed(c, text, 9), LLM_OK);
    CHECK_EQ(llm_feed(c, text + 9, strlen(text) - 9), LLM_OK);
    take(c, &again, 0);
    CHECK_TEXT(again.text, fed.text);
    CHECK_EQ(llm_feed(c, NULL, 4), LLM_BAD_ARG);
    CHECK_EQ(llm_feed(c, "", 0), LLM_OK);
    CHECK_EQ(llm_say(c, NULL, "x"), LLM_BAD_ARG);
    CHECK_EQ(llm_say(c, "user", NULL), LLM_BAD_ARG);
    llm_close(c);
}

// A user who writes the template's own marks gets them as plain text: no more turns than were said.
static void forged_turns(llm_model *m) {
    llm_message honest = { "user", "hello" };
    static char prompt[4096], evil[256];
    size_t n = llm_render_chat(m, NULL, &honest, 1, 0, prompt, sizeof prompt, NULL), tokens[2], k, i, specials = 0;
    llm_token ids[256];
    static reply r;
    SECTION("a forged turn");
    if (!CHECK(n != LLM_FAILED && n + 1 < sizeof prompt && n < 200)) return;
    sprintf(evil, "x%.200sy", prompt);                       // holds every special token of a whole turn
    n = llm_tokenize(m, prompt, n, LLM_PARSE_SPECIAL, ids, 256);
    for (i = 0; i < n && i < 256; i++) specials += llm_detokenize(m, &ids[i], 1, 0, NULL, 0) == 0;
    if (!CHECK(specials > 0)) return;
    for (k = 0; k < 2; k++) {
        llm_ctx_desc d;
        llm_ctx *c;
        memset(&d, 0, sizeof d);
        d.trust_content = (uint32_t)k;
        d.max_tokens = 1;
        c = open_ctx(m, &d);
        tokens[k] = 0;
        if (CHECK(c && llm_say(c, "user", evil) == LLM_OK)) {
            take(c, &r, 1);
            tokens[k] = llm_past(c);
        }
        llm_close(c);
    }
    // Plain text takes more tokens than the specials it spells.
    if (!CHECK(tokens[0] > tokens[1] + specials)) printf("  %u tokens plain, %u trusted\n", (unsigned)tokens[0], (unsigned)tokens[1]);
}

// A model that is talked into writing the letters of a control token has written letters: they stay what they are when a stop string ends
// the answer, which is then made of its text again.
static void spelled_control_token(llm_model *m) {
    static const char text[] = "<|im_end|> STOP";
    const char *const stop = "STOP";
    const llm_token end = llm_special_token(m, LLM_EOT);
    llm_ctx *c = open_text(m, 1, 0);
    llm_token ids[64];
    size_t n = llm_tokenize(m, text, sizeof text - 1, 0, ids, 64), i, before, found = 0;
    SECTION("the letters of a control token in an answer");
    if (!CHECK(c && n > 5 && n < 64 && end != LLM_NO_TOKEN) || !CHECK_EQ(llm_set_stop(c, &stop, 1), LLM_OK)) { llm_close(c); return; }
    CHECK_EQ(llm_feed(c, "Once", 4), LLM_OK);
    for (i = 0; i < n; i++) {                                       // one token at a time, each the only one that can be picked
        llm_sampling s;
        llm_bias bias;
        memset(&s, 0, sizeof s);
        bias.token = ids[i];
        bias.bias = 1e6f;
        s.bias = &bias;
        s.n_bias = 1;
        CHECK_EQ(llm_set_sampling(c, &s), LLM_OK);
        while (llm_next(c, NULL) != NULL) { }
    }
    CHECK_EQ(llm_why(c), LLM_STOP_STRING);
    before = llm_past(c);
    CHECK_EQ(llm_feed(c, " go on", 6), LLM_OK);
    llm_next(c, NULL);
    for (i = 0; i < c->past.n; i++) found += c->past.v[i] == end;
    CHECK_EQ(found, 0);
    CHECK(llm_past(c) + 4 > before);
    llm_close(c);
}

// An answer may hold a NUL, and no message can: the conversation keeps all of it as raw tokens, and a stop string behind it stays out.
static size_t count_text(const llm_ctx *c, const char *text, size_t n) {
    static char all[TEXT];
    const size_t length = llm_detokenize(c->model, c->past.v, c->past.n, LLM_SHOW_SPECIAL, all, sizeof all);
    size_t i, found = 0;
    for (i = 0; length <= sizeof all && i + n <= length; i++) found += memcmp(all + i, text, n) == 0;
    return found;
}
static void nul_in_an_answer(llm_model *m) {
    static const char text[] = "fox\0!";
    const char *const stop = "!";
    char said[64];
    size_t n, k, i, n_said;
    int messages, stopped;
    llm_token ids[16];
    const char *piece;
    SECTION("a NUL in an answer");
    for (messages = 0; messages < 2; messages++) for (stopped = 0; stopped < 2; stopped++) {
        llm_ctx *c = open_text(m, 1, 0);
        llm_stats_info s;
        if (!CHECK(c != NULL)) return;
        n = llm_tokenize(m, text, sizeof text - 1, 0, ids, 16);
        if (!CHECK(n > 3 && n <= 16)) { llm_close(c); return; }
        if (stopped) CHECK_EQ(llm_set_stop(c, &stop, 1), LLM_OK);
        CHECK_EQ(messages ? llm_say(c, "user", question) : llm_feed(c, "Once", 4), LLM_OK);
        for (i = n_said = 0; i < n; i++) {                          // one token at a time, each the only one that can be picked
            llm_sampling one;
            llm_bias bias;
            memset(&one, 0, sizeof one);
            bias.token = ids[i]; bias.bias = 1e6f;
            one.bias = &bias; one.n_bias = 1;
            CHECK_EQ(llm_set_sampling(c, &one), LLM_OK);
            while ((piece = llm_next(c, &k)) != NULL && n_said + k < sizeof said) { memcpy(said + n_said, piece, k); n_said += k; }
        }
        CHECK_EQ(n_said, stopped ? 4 : 5);
        CHECK(n_said >= 4 && memcmp(said, text, n_said < 5 ? n_said : 5) == 0);
        CHECK_EQ(llm_why(c), stopped ? LLM_STOP_STRING : LLM_STOP_LIMIT);
        CHECK_EQ(llm_set_sampling(c, NULL), LLM_OK);
        CHECK_EQ(messages ? llm_say(c, "user", "And then?") : llm_feed(c, " And then?", 10), LLM_OK);
        CHECK(llm_next(c, NULL) != NULL || llm_why(c) == LLM_STOP_EOG);
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        CHECK(s.reused_tokens > 0);
        CHECK_EQ(count_text(c, text, 4), 1);
        CHECK_EQ(count_text(c, stop, 1), stopped ? 0 : 1);
        CHECK_EQ(count_text(c, "And then?", 9), 1);
        llm_close(c);
    }
}

static void cancelled_answer(llm_model *m) {
    static reply whole, part, rest;
    llm_ctx *c = open_text(m, 60, 0);
    size_t k;
    SECTION("a cancelled answer goes on");
    if (!CHECK(answer_to(m, question, 60, &whole)) || !CHECK(c != NULL)) { llm_close(c); return; }
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    llm_cancel(c);
    take(c, &part, 0);
    CHECK(part.pieces == 0 && part.why == LLM_STOP_CANCEL);
    part.n = 0;
    part.text[0] = 0;
    for (k = 0; k < 8; k++) {
        take(c, &rest, 1 + k % 3);
        if (part.n + rest.n + 1 > TEXT) break;
        memcpy(part.text + part.n, rest.text, rest.n + 1);
        part.n += rest.n;
        llm_cancel(c);
        take(c, &rest, 0);
        CHECK(rest.pieces == 0 && rest.why == LLM_STOP_CANCEL);
    }
    CHECK(part.n > 0 && part.n < whole.n && memcmp(part.text, whole.text, part.n) == 0);
    take(c, &rest, 0);                                   // max_tokens counts anew, so the answer gets at least as far as the whole one
    memcpy(part.text + part.n, rest.text, rest.n + 1);
    CHECK(part.n + rest.n >= whole.n && memcmp(part.text, whole.text, whole.n) == 0);
    llm_close(c);
}

static void full_in_text(llm_model *m) {
    static reply r;
    llm_ctx *c = open_text(m, 0, 40);
    static char lengthy[4000];
    size_t past;
    SECTION("a context that fills up");
    if (!CHECK(c != NULL)) return;
    CHECK_EQ(llm_feed(c, "Once upon a time", 16), LLM_OK);
    take(c, &r, 0);
    if (r.why != LLM_STOP_EOG) {
        CHECK_EQ(r.why, LLM_STOP_CONTEXT);
        CHECK(llm_past(c) >= 39 && llm_past(c) <= 40);
    }
    take(c, &r, 0);
    CHECK(r.pieces == 0);
    memset(lengthy, 'a', sizeof lengthy - 1);
    for (past = 3; past < sizeof lengthy - 1; past += 4) lengthy[past] = ' ';
    past = llm_past(c);
    CHECK_EQ(llm_feed(c, lengthy, strlen(lengthy)), LLM_OK);
    take(c, &r, 0);
    CHECK(r.pieces == 0);
    CHECK(r.why == LLM_STOP_CONTEXT || (r.why == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_CONTEXT_FULL));
    CHECK_EQ(llm_past(c), past);                             // the input that does not fit is dropped, the past is as before
    CHECK_EQ(llm_rewind(c, 2), LLM_OK);
    CHECK_EQ(llm_feed(c, " time", 5), LLM_OK);
    take(c, &r, 2);
    CHECK(r.pieces > 0);
    llm_close(c);
}

static void templates(llm_model *m) {
    llm_error e;
    llm_ctx_desc d;
    llm_message talk[2] = { { "system", "Be brief." }, { "user", "Hi \"there\"" } };
    static char text[2000];
    char tight[8];
    size_t n;
    llm_ctx *c;
    SECTION("templates");
    n = llm_render_chat(m, "chatml", talk, 2, LLM_GENERATION_PROMPT, text, sizeof text, &e);
    CHECK_EQ(e.code, LLM_OK);
    CHECK_EQ(n, strlen(text));
    CHECK_TEXT(text, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi \"there\"<|im_end|>\n<|im_start|>assistant\n");
    memset(tight, '#', sizeof tight);
    CHECK_EQ(llm_render_chat(m, "chatml", talk, 2, LLM_GENERATION_PROMPT, tight, 4, &e), n);
    CHECK(memcmp(tight, "<|im####", 8) == 0);
    CHECK_EQ(llm_render_chat(m, "chatml", talk, 2, LLM_GENERATION_PROMPT, NULL, 0, &e), n);
    CHECK_EQ(llm_render_chat(m, "{{ something nobody has seen }}", talk, 2, 0, text, sizeof text, &e), LLM_FAILED);
    CHECK_EQ(e.code, LLM_BAD_TEMPLATE);
    CHECK(e.text[0] != 0);
    CHECK_EQ(llm_render_chat(m, NULL, NULL, 2, 0, text, sizeof text, &e), LLM_FAILED);
    CHECK_EQ(e.code, LLM_BAD_ARG);
    talk[0].role = NULL;
    CHECK_EQ(llm_render_chat(m, NULL, talk, 2, 0, text, sizeof text, &e), LLM_FAILED);
    CHECK_EQ(e.code, LLM_BAD_ARG);
    memset(&d, 0, sizeof d);
    d.chat_template = "{{ something nobody has seen }}";
    c = llm_open(m, &d, &e);
    if (c) {                                                 // then the first message is refused, and raw text works
        CHECK_EQ(llm_say(c, "user", "x"), LLM_BAD_TEMPLATE);
        CHECK_EQ(llm_feed(c, "x", 1), LLM_OK);
    } else CHECK_EQ(e.code, LLM_BAD_TEMPLATE);
    llm_close(c);
}

static void vocabulary(llm_model *m) {
    static const char *const text = "The fox said: \"Hello, w\xc3\xb6rld! 12345 \xf0\x9f\xa6\x8a\"\n";
    llm_token ids[200], guarded[200];
    char out[400];
    size_t n, k, bytes;
    llm_info info;
    SECTION("vocabulary calls");
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    CHECK_EQ(info.text_status, LLM_OK);
    CHECK(info.vocab_type[0] != 0);
    n = llm_tokenize(m, text, strlen(text), 0, NULL, 0);
    if (!CHECK(n > 5 && n < 200)) return;
    CHECK_EQ(llm_tokenize(m, text, strlen(text), 0, ids, 200), n);
    memset(guarded, 0x11, sizeof guarded);
    CHECK_EQ(llm_tokenize(m, text, strlen(text), 0, guarded, 3), n);
    CHECK(memcmp(guarded, ids, 3 * sizeof ids[0]) == 0 && guarded[3] == 0x11111111);
    CHECK_EQ(llm_tokenize(m, NULL, 3, 0, ids, 200), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, text, 5, 0, NULL, 5), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, "", 0, 0, ids, 200), 0);
    bytes = llm_detokenize(m, ids, n, 0, NULL, 0);
    memset(out, '#', sizeof out);
    CHECK_EQ(llm_detokenize(m, ids, n, 0, out, sizeof out), bytes);
    CHECK(bytes == strlen(text) && memcmp(out, text, bytes) == 0 && out[bytes] == '#');
    memset(out, '#', sizeof out);
    CHECK_EQ(llm_detokenize(m, ids, n, 0, out, 4), bytes);
    CHECK(memcmp(out, text, 4) == 0 && out[4] == '#');
    ids[0] = (llm_token)info.n_vocab;
    CHECK_EQ(llm_detokenize(m, ids, 1, 0, out, sizeof out), LLM_FAILED);
    ids[0] = -1;
    CHECK_EQ(llm_detokenize(m, ids, 1, 0, out, sizeof out), LLM_FAILED);
    CHECK_EQ(llm_detokenize(m, NULL, 2, 0, out, sizeof out), LLM_FAILED);
    CHECK_EQ(llm_is_eog(m, -1), 0);
    CHECK_EQ(llm_is_eog(m, (llm_token)info.n_vocab), 0);
    CHECK_EQ(llm_special_token(m, (llm_special)99), LLM_NO_TOKEN);
    for (k = 0, n = 0; k < info.n_vocab; k++) n += llm_is_eog(m, (llm_token)k) != 0;
    CHECK(n >= 1 && n < 8);
    CHECK(llm_is_eog(m, llm_special_token(m, LLM_EOS)));
}

static void seeds(llm_model *m) {
    static reply a, b, other;
    llm_sampling s = LLM_SAMPLING_DEFAULT;
    llm_ctx *c = open_text(m, 40, 0);
    uint64_t seed;
    int differs = 0;
    SECTION("seeds");
    if (!CHECK(c != NULL)) return;
    s.temperature = 1.2f;
    for (seed = 0; seed < 4; seed++) {
        s.seed = seed;
        CHECK_EQ(llm_set_sampling(c, &s), LLM_OK);
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        llm_say(c, "user", question);
        take(c, &b, 0);
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        llm_say(c, "user", question);
        take(c, &other, 0);
        CHECK_TEXT(other.text, b.text);                      // the same seed at the same positions
        if (seed && strcmp(a.text, b.text) != 0) differs++;
        a = b;
    }
    CHECK(differs >= 2);
    llm_close(c);
}

// An answer asks for pages and for room for its text; the same answer once more, with both at hand, for nothing after its first piece.
static void answer_allocations(void) {
    static reply first, again;
    int kv;
    SECTION("what an answer allocates");
    for (kv = LLM_KV_F16; kv <= LLM_KV_Q8_0; kv++) {
        counter k;
        llm_model_desc d;
        llm_ctx_desc cd;
        llm_stats_info s;
        llm_model *m;
        llm_ctx *c;
        long calls, bytes, kv_bytes;
        counter_init(&k, 0);
        memset(&d, 0, sizeof d); memset(&cd, 0, sizeof cd); memset(&s, 0, sizeof s);
        d.allocator = count_hook(&k);
        d.n_threads = 2;
        cd.kv_type = (llm_kv_type)kv;
        cd.max_tokens = 150;
        m = load_tiny(&d);
        c = open_ctx(m, &cd);
        if (!CHECK(c != NULL)) { llm_unload(m); return; }
        CHECK_EQ(llm_feed(c, question, strlen(question)), LLM_OK);
        take(c, &first, 1);
        llm_stats(c, &s);
        bytes = k.bytes; kv_bytes = (long)s.kv_bytes;
        take(c, &first, 0);
        llm_stats(c, &s);
        CHECK(llm_past(c) > 64 && (long)s.kv_bytes > kv_bytes);
        CHECK(k.bytes - bytes - ((long)s.kv_bytes - kv_bytes) < 4096);
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        CHECK_EQ(llm_feed(c, question, strlen(question)), LLM_OK);
        take(c, &again, 1);
        calls = k.calls;
        take(c, &again, 0);
        CHECK_EQ(k.calls, calls);
        CHECK_TEXT(again.text, first.text);
        llm_close(c);
        llm_unload(m);
        CHECK(k.live == 0 && !k.bad);
    }
}

// The ten lines of the manual, quietly: with both streams closed nothing may be written, and nothing may go wrong.
static void silence(void) {
    const char *path = test_scratch("api_silence.txt");
    static char line[TEXT];
    size_t n;
    unsigned char *seen;
    int out, err;
    FILE *f;
    SECTION("silence");
    fflush(stdout);
    fflush(stderr);
    out = dup(1);
    err = dup(2);
    f = fopen(path, "wb");
    if (!CHECK(out >= 0 && err >= 0 && f != NULL)) return;
    dup2(fileno(f), 1);
    dup2(fileno(f), 2);
    {
        llm_error e;
        llm_model *bad = llm_load("no/such/file.gguf", NULL, &e), *m = llm_load(tiny, NULL, &e);
        llm_ctx *c = llm_open(m, NULL, &e);
        const char *piece;
        llm_token wrong = -1;
        llm_unload(bad);
        line[0] = 0;
        if (c) {
            llm_eval(c, &wrong, 1);
            llm_set_max_tokens(c, 20);
            llm_say(c, "user", question);
            while ((piece = llm_next(c, NULL)) != NULL) if (strlen(line) + strlen(piece) < TEXT) strcat(line, piece);
        }
        llm_close(c);
        llm_unload(m);
    }
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    fclose(f);
    CHECK(line[0] != 0);
    seen = test_read(path, &n);
    CHECK(seen && n == 0);
    if (seen && n) printf("  the library printed: %.200s\n", (char *)seen);
    free(seen);
    remove(path);
}

// Asking again after an error must not make the reason disappear; and the way back to an empty context needs no memory.
static void errors_stay(llm_model *m) {
    llm_ctx *c = open_text(m, 20, 0);
    SECTION("the reason of an error stays");
    if (!CHECK(c != NULL)) return;
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_BAD_STATE);
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_BAD_STATE);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK(llm_why(c) == LLM_STOP_NONE && llm_last_error(c)->code == LLM_OK);
    llm_close(c);
}
// Who does not look at what llm_say returns asks llm_next, and learns from it what was wrong.
static void refused_input(llm_model *m) {
    const char *const none = "";
    llm_ctx_desc d;
    llm_ctx *c = open_text(m, 0, 0);
    char text[sizeof ((llm_error *)0)->text];
    SECTION("input that was refused, and nobody looked");
    if (!CHECK(c != NULL)) return;
    CHECK_EQ(llm_say(c, "user", NULL), LLM_BAD_ARG);                      // nothing was said before
    strcpy(text, llm_last_error(c)->text);
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_BAD_ARG);
    CHECK_TEXT(llm_last_error(c)->text, text);
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_BAD_ARG);
    CHECK_EQ(llm_say(c, "user", NULL), LLM_BAD_ARG);                      // the last that was refused is the one that is told
    CHECK_EQ(llm_set_stop(c, &none, 1), LLM_BAD_ARG);
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && strstr(llm_last_error(c)->text, "stop") != NULL);
    CHECK_EQ(llm_set_max_tokens(c, 3), LLM_OK);                           // another call succeeds: forgotten
    CHECK_EQ(llm_last_error(c)->code, LLM_OK);
    llm_close(c);

    memset(&d, 0, sizeof d);
    d.n_ctx = 20;
    c = open_ctx(m, &d);
    if (!CHECK(c != NULL)) return;
    CHECK_EQ(llm_feed(c, "a", 1), LLM_OK);
    while (llm_next(c, NULL)) {}
    CHECK(llm_why(c) == LLM_STOP_EOG || llm_why(c) == LLM_STOP_CONTEXT);
    CHECK_EQ(llm_feed(c, NULL, 1), LLM_BAD_ARG);                          // after an answer: not the old reason for a new question
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_BAD_ARG);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK(llm_next(c, NULL) == NULL && llm_last_error(c)->code == LLM_BAD_STATE);

    CHECK_EQ(llm_rewind(c, 0), LLM_OK);                                   // in the middle of one: it goes on
    CHECK_EQ(llm_feed(c, "a", 1), LLM_OK);
    if (CHECK(llm_next(c, NULL) != NULL)) {
        CHECK_EQ(llm_feed(c, NULL, 1), LLM_BAD_ARG);
        CHECK(llm_next(c, NULL) != NULL && llm_last_error(c)->code == LLM_OK);
    }
    llm_close(c);
}
// The last token of a prompt that n_batch leaves alone, and a message of which all but one token are in the cache, are no decode.
static void lonely_tokens(llm_model *m) {
    llm_ctx_desc d;
    llm_stats_info s;
    llm_ctx *c;
    size_t n;
    SECTION("a prefill that ends with one token");
    memset(&d, 0, sizeof d);
    d.max_tokens = 1;
    c = open_ctx(m, &d);
    if (!CHECK(c != NULL) || !CHECK_EQ(llm_say(c, "user", question), LLM_OK) || !CHECK(llm_next(c, NULL) || llm_why(c) == LLM_STOP_LIMIT)) return;
    n = llm_past(c) - 1;
    llm_close(c);
    d.n_batch = (uint32_t)n - 1;
    c = open_ctx(m, &d);
    if (CHECK(c != NULL) && CHECK_EQ(llm_say(c, "user", question), LLM_OK)) {
        llm_next(c, NULL);
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        CHECK_EQ(s.prefill_tokens, n);
        CHECK_EQ(s.decode_tokens, 0);
    }
    llm_close(c);
}
// An answer's prefill is cancelled by progress at its k-th pass: said again, and the answer is that of an untroubled context.
static void cancelled_prefills(void) {
    static reply want, got;
    watcher w;
    llm_model_desc d;
    llm_ctx_desc small;
    llm_model *m;
    llm_ctx *c;
    int k, cancelled = 0;
    SECTION("progress refuses in an answer's prefill");
    memset(&d, 0, sizeof d);
    memset(&small, 0, sizeof small);
    d.progress.user = &w;
    d.progress.progress_fn = watch_progress;
    small.n_batch = 4;
    small.max_tokens = 12;
    watch(&w, 0);
    m = load_tiny(&d);
    c = open_ctx(m, &small);
    if (CHECK(c != NULL) && CHECK_EQ(llm_say(c, "user", question), LLM_OK)) {
        take(c, &want, 99);
        for (k = 1; k < 4; k++) {
            llm_close(c);
            c = open_ctx(m, &small);
            CHECK_EQ(llm_say(c, "user", question), LLM_OK);
            watch(&w, k);
            CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_CANCEL);
            cancelled += llm_last_error(c)->code == LLM_CANCELLED;
            watch(&w, 0);
            take(c, &got, 99);
            CHECK(got.n == want.n && memcmp(got.text, want.text, want.n) == 0);
        }
    }
    CHECK_EQ(cancelled, 3);
    llm_close(c);
    llm_unload(m);
}
static void rewind_to_nothing(void) {
    llm_error e;
    llm_model_desc d;
    counter k;
    llm_model *m;
    llm_ctx *c;
    SECTION("rewinding to nothing needs no memory");
    memset(&d, 0, sizeof d);
    counter_init(&k, 0);
    d.allocator = count_hook(&k);
    m = llm_load(tiny, &d, &e);
    c = open_text(m, 20, 0);
    if (CHECK(c != NULL)) {
        CHECK_EQ(llm_say(c, "user", question), LLM_OK);
        CHECK(llm_next(c, NULL) != NULL);
        k.fail_at = k.calls + 1;
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        CHECK_EQ(k.calls + 1, k.fail_at);
        k.fail_at = 0;
        CHECK_EQ(llm_past(c), 0);
    }
    llm_close(c);
    llm_unload(m);
    CHECK(k.live == 0 && !k.bad);
}

// Text fed between messages takes them along as tokens; when the answer then fails, what had been said before is still there.
static void failure_after_feeding(llm_model *m) {
    static char lengthy[8000];
    static reply r;
    llm_ctx *c = open_text(m, 20, 300);
    size_t past;
    llm_stats_info s;
    SECTION("a failure after feeding between messages");
    if (!CHECK(c != NULL)) return;
    memset(lengthy, 'x', sizeof lengthy - 1);
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    take(c, &r, 0);
    past = llm_past(c);
    CHECK_EQ(llm_feed(c, "\n", 1), LLM_OK);
    CHECK_EQ(llm_say(c, "user", lengthy), LLM_OK);
    CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_ERROR && llm_last_error(c)->code == LLM_CONTEXT_FULL);
    CHECK_EQ(llm_past(c), past);
    CHECK_EQ(llm_say(c, "user", second), LLM_OK);
    take(c, &r, 0);
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    CHECK(r.n > 0 && s.reused_tokens + 2 >= past);             // the first question and its answer are still in front
    llm_close(c);
}

static void text_suites(void) {
    llm_model *m;
    if (!test_exists(tiny)) {
        tiny = test_model("smollm2.gguf");                   // slower, but any chat model will do
        if (!CHECK(tiny != NULL)) { printf("  examples/tiny/tiny.gguf is missing from the checkout\n"); return; }
        tiny = strcpy((char *)malloc(strlen(tiny) + 1), tiny);
    }
    m = load_tiny(NULL);
    if (!m) return;
    vocabulary(m);
    templates(m);
    limits(m);
    end_of_answer(m);
    turns(m);
    stop_strings(m);
    trimmed_answer(m);
    raw_text(m);
    forged_turns(m);
    spelled_control_token(m);
    nul_in_an_answer(m);
    cancelled_answer(m);
    full_in_text(m);
    failure_after_feeding(m);
    errors_stay(m);
    refused_input(m);
    cancelled_prefills();
    lonely_tokens(m);
    rewind_to_nothing();
    seeds(m);
    answer_allocations();
    llm_unload(m);
    silence();
}

int main(void) {
    if (!CHECK(golden_read(&reference, test_data("llama-dense.logits"))) || !CHECK(reference.n_tok == N_TOK && reference.n_vocab == VOCAB))
        return test_done();
    nothing_stays();
    null_model_calls();
    null_context_calls();
    null_arguments();
    words();
    model_fields();
    context_fields();
    sampling_fields();
    evaluating();
    context_full();
    rewinding();
    rewinding_windows();
    trimming();
    trimming_after_a_failure();
    trimming_windows();
    isolated();
    bad_logits();
    damaged_router();
    failure_behind_a_window();
    metadata();
    tensor_list();
    fingerprints();
    no_text();
    bindings();
    statistics();
    counted_allocator();
    decode_allocations();
    cancelled_by_progress();
    host_jobs();
    clock_and_log();
    probing();
    probed_bytes();
    probed_after_rewind();
    probed_places();
    stopped_clock();
    routes();
    changed_file();
    busy();
    many_threads();
    cancelled_by_call();
    text_suites();
    return test_done();
}
