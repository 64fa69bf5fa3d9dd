// test_bits.c - the same bits everywhere. Without arguments: every subject in every configuration of this build, compared with
// memcmp, and the hashes of the committed fixtures with tests/bits.sha256. With --hashes: prints `SHA-256  name` of one
// configuration, for tests/bits.sh, which compares compilers, flags and CPUs.
#define LLM__RESTS 0             // as many threads as asked for, on whatever CPUs there are
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"

//------------------------------------------------------------------------------------------------------------------------------
// A hostile floating-point environment: subnormals flushed, rounding up and, on x86, every exception unmasked, as games, audio code
// and -ffast-math start-up files leave it.

#if defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#include <xmmintrin.h>
enum { FP_HOSTILE = 1, FP_CONTROL = 0xffc0 };
static unsigned fp_get(void) { return _mm_getcsr(); }
static void fp_set(unsigned word) { _mm_setcsr(word); }
static unsigned fp_hostile(unsigned word) { return (word & ~(unsigned)0xffff) | 0x8000u | 0x4000u | 0x0040u; }      // FTZ, up, DAZ; no mask bit
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
enum { FP_HOSTILE = 1, FP_CONTROL = 0x07c00000 };
static unsigned fp_get(void) { unsigned long w; __asm__ volatile("mrs %0, fpcr" : "=r"(w)); return (unsigned)w; }
static void fp_set(unsigned word) { unsigned long w = word; __asm__ volatile("msr fpcr, %0" : : "r"(w)); }
static unsigned fp_hostile(unsigned word) { return word | 1u << 24 | 1u << 22; }                                     // FZ, towards +inf
#elif defined(__arm__) && defined(__VFP_FP__) && !defined(__SOFTFP__) && defined(__GNUC__)
enum { FP_HOSTILE = 1, FP_CONTROL = 0x07c00000 };
static unsigned fp_get(void) { unsigned w; __asm__ volatile("vmrs %0, fpscr" : "=r"(w)); return w; }
static void fp_set(unsigned word) { __asm__ volatile("vmsr fpscr, %0" : : "r"(word)); }
static unsigned fp_hostile(unsigned word) { return word | 1u << 24 | 1u << 22; }                                     // FZ, towards +inf
#elif defined(__riscv_flen) && defined(__GNUC__)
enum { FP_HOSTILE = 1, FP_CONTROL = 0xe0 };
static unsigned fp_get(void) { unsigned long w; __asm__ volatile("frcsr %0" : "=r"(w)); return (unsigned)w; }
static void fp_set(unsigned word) { unsigned long w = word; __asm__ volatile("fscsr %0" : : "r"(w)); }
static unsigned fp_hostile(unsigned word) { return word | 3u << 5; }                                                 // towards +inf
#elif defined(__s390x__) && defined(__GNUC__)
enum { FP_HOSTILE = 1, FP_CONTROL = 7 };
static unsigned fp_get(void) { unsigned w; __asm__ volatile("efpc %0" : "=d"(w)); return w; }
static void fp_set(unsigned word) { __asm__ volatile("sfpc %0" : : "d"(word)); }
static unsigned fp_hostile(unsigned word) { return word | 2u; }                                                      // towards +inf
#else
enum { FP_HOSTILE = 0, FP_CONTROL = 0 };
static unsigned fp_get(void) { return 0; }
static void fp_set(unsigned word) { (void)word; }
static unsigned fp_hostile(unsigned word) { return word; }
#endif

typedef struct config {
    llm_isa isa;
    uint32_t threads, split, batch;           // tokens per call and per pass; 0 = all, default
    int rewind, hostile, for_fn;              // for_fn: 1 in order, -1 in reverse
    int route;                                // 0 path, 1 read into memory, 2 the host's bytes
} config;

// What goes through the library stands between these two; the second says whether the control word came back as it was.
static unsigned fp_begin(const config *c) {
    unsigned saved = fp_get();
    if (c->hostile) fp_set(fp_hostile(saved));
    return saved;
}
static int fp_end(const config *c, unsigned saved) {
    unsigned now = fp_get();
    fp_set(saved);
    return !c->hostile || (now & FP_CONTROL) == (fp_hostile(saved) & FP_CONTROL);
}

typedef struct host { const config *how; int fp_kept; unsigned long calls; uint32_t most_tasks; } host;

// The host's job system at its plainest: one task after the other on the caller's thread, which has its own floating-point state.
static void host_for(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t), void *arg) {
    host *h = (host *)user;
    uint32_t i;
    h->calls++;
    if (n_tasks > h->most_tasks) h->most_tasks = n_tasks;
    for (i = 0; i < n_tasks; i++) {
        unsigned saved = fp_begin(h->how);
        task(arg, h->how->for_fn < 0 ? n_tasks - 1 - i : i);
        if (!fp_end(h->how, saved)) h->fp_kept = 0;
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// Subjects: a model and an input; what one run gives.

enum { N_SAMPLED = 24, MAX_SUBJECTS = 64 };
enum { ALONE_F16 = 1 << LLM_KV_F16, FLOATS = 1 << LLM_KV_F16 | 1 << LLM_KV_F32, ALONE_Q8 = 1 << LLM_KV_Q8_0, EVERY = FLOATS | ALONE_Q8 };
typedef struct subject {
    char name[48], path[TEST_PATH];
    unsigned char *bytes;                     // a model made on the spot; else NULL
    size_t n_bytes, n_tok;
    llm_token *tokens;
    uint32_t n_vocab, n_ctx;
    int committed, heavy, every_split;
    unsigned kv;                              // bit k: with llm_kv_type k
} subject;
typedef struct outcome { float *logits; llm_token sampled[N_SAMPLED]; uint32_t promise; char reason[200]; llm_isa isa; uint64_t reevaluated; } outcome;

static const char *why_not = "";              // of the last run that failed, for the message of the check

static llm_model *load(const subject *s, const config *c, host *h, int *fp_kept, llm_error *e) {
    llm_model_desc d;
    llm_model *model;
    unsigned saved;
    memset(&d, 0, sizeof d);
    d.n_threads = c->threads;
    d.isa = c->isa;
    if (c->route == 1) d.mapping = LLM_READ;
    if (c->for_fn) { d.parallel.user = h; d.parallel.for_fn = host_for; }
    saved = fp_begin(c);
    model = s->bytes ? llm_load_memory(s->bytes, s->n_bytes, &d, e) : llm_load(s->path, &d, e);
    if (!fp_end(c, saved)) *fp_kept = 0;
    return model;
}

// tokens[from .. n) in pieces of c->split; their logits go to their rows.
static llm_result feed(llm_ctx *ctx, const subject *s, const config *c, size_t from, float *logits, int *fp_kept) {
    llm_result r = LLM_OK;
    size_t at = from, n;
    for (; at < s->n_tok && r == LLM_OK; at += n) {
        unsigned saved;
        n = c->split && c->split < s->n_tok - at ? c->split : s->n_tok - at;
        saved = fp_begin(c);
        r = llm_eval_all(ctx, s->tokens + at, n, logits + at * s->n_vocab);
        if (!fp_end(c, saved)) *fp_kept = 0;
    }
    return r;
}

// The answer of the sampler: greedy, then drawn, then drawn with every stage switched on; each token is evaluated in turn.
static llm_result draw(llm_ctx *ctx, const config *c, llm_token *sampled, int *fp_kept) {
    static const llm_sampling stages[3] = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, LLM_SAMPLING_DEFAULT,
                                            { 1.3f, 40, 0.97f, 0.01f, 0.9f, 1.1f, 0.1f, 0.05f, 32, 77, 0, 0 } };
    llm_result r = LLM_OK;
    int i;
    for (i = 0; i < N_SAMPLED && r == LLM_OK; i++) {
        unsigned saved = fp_begin(c);
        if (i % 8 == 0) r = llm_set_sampling(ctx, &stages[i / 8]);
        sampled[i] = r == LLM_OK ? llm_sample(ctx) : LLM_NO_TOKEN;
        if (sampled[i] == LLM_NO_TOKEN) r = llm_last_error(ctx)->code;
        else r = llm_eval(ctx, &sampled[i], 1);
        if (!fp_end(c, saved)) *fp_kept = 0;
    }
    return r;
}

static int run(const subject *s, const config *c, llm_kv_type kv, outcome *o) {
    static llm_error e;
    static const char *const fp = "the floating-point control word was not restored";
    host h;
    llm_ctx_desc d;
    llm_model *model;
    llm_ctx *ctx;
    llm_stats_info stats;
    unsigned saved;
    llm_result r;
    int fp_kept = 1;
    size_t back[5], i;
    h.how = c; h.fp_kept = 1; h.calls = 0; h.most_tasks = 0;
    memset(&d, 0, sizeof d);
    memset(&stats, 0, sizeof stats);
    d.kv_type = kv;
    d.n_batch = c->batch;
    d.n_ctx = s->n_ctx;
    model = load(s, c, &h, &fp_kept, &e);
    saved = fp_begin(c);
    ctx = llm_open(model, &d, &e);
    if (!fp_end(c, saved)) fp_kept = 0;
    if (!ctx) { llm_unload(model); why_not = e.text; return 0; }
    r = feed(ctx, s, c, 0, o->logits, &fp_kept);
    back[0] = s->n_tok - 1; back[1] = s->n_tok / 2 + 1; back[2] = 64; back[3] = 63; back[4] = 0;
    for (i = 0; c->rewind && r == LLM_OK && i < 5; i++) {
        size_t to = back[i] < s->n_tok ? back[i] : 0;
        memset(o->logits + to * s->n_vocab, 0, (s->n_tok - to) * s->n_vocab * sizeof(float));
        saved = fp_begin(c);
        r = llm_rewind(ctx, to);
        if (!fp_end(c, saved)) fp_kept = 0;
        if (r == LLM_OK) r = feed(ctx, s, c, to, o->logits, &fp_kept);
    }
    if (r == LLM_OK) r = draw(ctx, c, o->sampled, &fp_kept);
    if (r != LLM_OK) e = *llm_last_error(ctx);
    llm_stats(ctx, &stats);
    o->promise = stats.bits_promise;
    o->isa = stats.isa;
    o->reevaluated = stats.reevaluated_tokens;
    strncpy(o->reason, stats.bits_reason ? stats.bits_reason : "", sizeof o->reason - 1);
    o->reason[sizeof o->reason - 1] = 0;
    llm_close(ctx);
    llm_unload(model);
    why_not = r != LLM_OK ? e.text : !fp_kept || !h.fp_kept ? fp : c->for_fn && !h.calls ? "for_fn was never called" :
              c->for_fn && h.most_tasks > 4 * (c->threads ? c->threads : 64) ? "too many tasks in one for_fn" : "";
    return !*why_not;
}

//------------------------------------------------------------------------------------------------------------------------------
// The list of subjects.

static subject subjects[MAX_SUBJECTS];
static size_t n_subjects = 0;

static subject *add(const char *name, uint32_t n_vocab, size_t n_tok, uint32_t n_ctx) {
    subject *s = &subjects[n_subjects++];
    if (n_subjects > MAX_SUBJECTS || strlen(name) >= sizeof s->name) { printf("too many subjects\n"); exit(1); }
    memset(s, 0, sizeof *s);
    strcpy(s->name, name);
    s->n_vocab = n_vocab;
    s->n_tok = n_tok;
    s->n_ctx = n_ctx;
    s->kv = ALONE_F16;
    s->tokens = (llm_token *)malloc(n_tok * sizeof(llm_token));
    if (!s->tokens) exit(1);
    return s;
}
// A fixture with its own tokens, repeated and shifted until there are n_tok.
static subject *add_file(const char *name, const char *model, const char *logits, size_t n_tok, uint32_t n_ctx) {
    golden g;
    subject *s;
    size_t i;
    if (!model || !logits || !CHECK(golden_read(&g, logits))) return NULL;
    s = add(name, (uint32_t)g.n_vocab, n_tok, n_ctx);
    strcpy(s->path, model);
    for (i = 0; i < n_tok; i++) s->tokens[i] = (llm_token)(((size_t)g.tokens[i % g.n_tok] + i / g.n_tok * 37) % g.n_vocab);
    golden_free(&g);
    return s;
}
static subject *add_made(const char *name, const golden_shape *shape, const golden_type *const *types, unsigned n_types, size_t n_tok) {
    golden_file f = golden_llama(shape, types, n_types, 20260301u + n_tok);
    subject *s = add(name, shape->n_vocab, n_tok, shape->n_ctx);
    uint64_t state = n_tok;
    size_t i;
    s->bytes = f.p;
    s->n_bytes = f.n;
    for (i = 0; i < n_tok; i++) s->tokens[i] = (llm_token)(golden_random(&state) % shape->n_vocab);
    return s;
}

// The committed ones: they exist in every checkout, and their hashes are in tests/bits.sha256.
static void add_committed(void) {
    static const char *const files[] = { "llama-dense", "qwen3moe-moe", "gemma2-dense", "gemma3-dense", "phi3-longrope-long" };
    static const golden_shape mixed = { 256, 512, 2, 8, 2, 96, 512 }, lengthy = { 64, 96, 2, 4, 2, 64, 1400 };
    const golden_type *all[GOLDEN_N_TYPES], *few[3], *const *later = all + GOLDEN_FIRST_TYPES;
    subject *s;
    size_t i;
    unsigned q8;
    for (i = 0; i < GOLDEN_N_TYPES; i++) all[i] = &golden_types[i];
    few[0] = &golden_types[7]; few[1] = &golden_types[1]; few[2] = &golden_types[3];
    for (q8 = 0; q8 < 2; q8++) {                                     // a hash of floats and one of 8 bits each
        for (i = 0; i < 5; i++) {
            char model[64], logits[64], name[64];
            sprintf(model, "%s.gguf", files[i]);
            sprintf(logits, "%s.logits", files[i]);
            sprintf(name, "%s%s", files[i], q8 ? "-kv-q8_0" : "");
            s = add_file(name, test_data(model), test_data(logits), 200, 256);
            if (!s) continue;
            s->committed = 1;
            s->every_split = i == 0 || i == 3;                       // dense; with windows
            s->kv = q8 ? ALONE_Q8 : FLOATS;
        }
        s = add_made(q8 ? "made-every-type-kv-q8_0" : "made-every-type", &mixed, all, GOLDEN_FIRST_TYPES, 100);     // of the first hashes
        s->committed = s->heavy = 1;
        s->kv = q8 ? ALONE_Q8 : FLOATS;
        s = add_made(q8 ? "made-long-kv-q8_0" : "made-long", &lengthy, few, 3, 1100);      // two spans of attention, eighteen pages
        s->committed = s->heavy = 1;
        s->kv = q8 ? ALONE_Q8 : ALONE_F16;
    }
    s = add_made("made-later-types", &mixed, later, GOLDEN_N_TYPES - GOLDEN_FIRST_TYPES, 100);
    s->committed = s->heavy = 1;
    s->kv = FLOATS;
}
static void add_fixtures(void) {
    static const char *const archs[] = { "gemma-dense", "llama-freqs", "llama-linear", "llama-moe", "llama-scale", "llama-yarn", "phi3-dense",
                                         "qwen2-dense", "qwen3-dense" };
    static const char *const quants[] = { "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K",
                                          "IQ4_NL", "IQ4_XS", "MXFP4_MOE", "TQ2_0" };
    size_t i;
    if (!test_fixture("archs/llama-moe.gguf")) { test_skip("bits: no fixtures, only the subjects in tests/data and made ones"); return; }
    for (i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        char model[64], logits[64];
        subject *s;
        sprintf(model, "archs/%s.gguf", archs[i]);
        sprintf(logits, "archs/%s.logits", archs[i]);
        s = add_file(archs[i], test_fixture(model), test_fixture(logits), 160, 256);
        if (s) s->kv = EVERY;
    }
    for (i = 0; i < sizeof quants / sizeof quants[0]; i++) {
        char model[64], logits[64], name[64];
        subject *s;
        sprintf(model, "quants/llama-%s.gguf", quants[i]);
        sprintf(logits, "quants/llama-%s.exact.logits", quants[i]);
        sprintf(name, "quant-%s", quants[i]);
        s = add_file(name, test_fixture(model), test_fixture(logits), 80, 256);
        if (s) s->heavy = 1;
    }
}
static void free_subjects(void) {
    size_t i;
    for (i = 0; i < n_subjects; i++) { free(subjects[i].tokens); free(subjects[i].bytes); }
}

static size_t outcome_bytes(const subject *s) { return s->n_tok * s->n_vocab * sizeof(float); }
static outcome outcome_new(const subject *s) {
    outcome o;
    memset(&o, 0, sizeof o);
    o.logits = (float *)malloc(outcome_bytes(s));
    if (!o.logits) exit(1);
    return o;
}

//------------------------------------------------------------------------------------------------------------------------------
// Everything this build can do, against scalar kernels, one thread, all tokens at once.

static void say_config(const subject *s, const config *c, llm_kv_type kv) {
    printf("  %s: %s KV, isa %s, threads %u, split %u, batch %u%s%s%s, route %d: %s\n", s->name, kv == LLM_KV_F16 ? "F16" : kv == LLM_KV_F32 ? "F32" : "Q8_0",
           llm_isa_name(c->isa), (unsigned)c->threads, (unsigned)c->split, (unsigned)c->batch, c->rewind ? ", rewind" : "",
           c->hostile ? ", hostile fp" : "", c->for_fn ? c->for_fn < 0 ? ", for_fn in reverse" : ", for_fn" : "", c->route,
           *why_not ? why_not : "other bits");
}
static void same(const subject *s, const config *c, llm_kv_type kv, const outcome *want) {
    outcome got = outcome_new(s);
    int ok = run(s, c, kv, &got) && memcmp(got.logits, want->logits, outcome_bytes(s)) == 0 &&
             memcmp(got.sampled, want->sampled, sizeof got.sampled) == 0;
    if (!CHECK(ok)) say_config(s, c, kv);
    free(got.logits);
}

#define X(id, name) id,
static const llm_isa isas[] = { LLM__ISAS(X) };
#undef X

// What is varied beside the instruction set and the type of keys and values. Twelve rows, so that every second, third or fourth can stand
// for them all.
static const config plan[12] = {        // isa, threads, split, batch, rewind, hostile, for_fn, route
    { LLM_ISA_AUTO,  1,  0,  0, 0, 0,  0, 0 }, { LLM_ISA_AUTO,  3,  7,  0, 0, 0,  0, 0 }, { LLM_ISA_AUTO,  2,  0,  5, 0, 0,  0, 0 },
    { LLM_ISA_AUTO,  4, 64,  0, 1, 0,  0, 0 }, { LLM_ISA_AUTO,  2, 40, 33, 0, 0,  0, 1 }, { LLM_ISA_AUTO,  5,  0,  0, 0, 0, -1, 0 },
    { LLM_ISA_AUTO,  1,  1,  0, 0, 1,  0, 0 }, { LLM_ISA_AUTO,  8,  7,  0, 1, 0,  0, 0 }, { LLM_ISA_AUTO,  3,  0,  1, 0, 0,  0, 0 },
    { LLM_ISA_AUTO, 16,  0,  0, 0, 0,  0, 0 }, { LLM_ISA_AUTO,  2, 64,  0, 0, 1, -1, 0 }, { LLM_ISA_AUTO,  2,  1,  0, 0, 0,  1, 0 },
};
enum { N_PLAN = sizeof plan / sizeof plan[0] };

// Splits 1 to 64, and in turn with them 1 to 16 threads, four times each; every eighth is taken back and fed again. Scalar: every eighth.
static void every_split(const subject *s, llm_isa isa, llm_kv_type kv, const outcome *want) {
    config c = plan[0];
    c.isa = isa;
    for (c.split = 1; c.split <= 64; c.split += isa == LLM_ISA_SCALAR ? 8 : 1) {
        c.threads = (c.split + c.split / 16 * 5) % 16 + 1;
        c.rewind = c.split % 8 == 5;
        same(s, &c, kv, want);
    }
}
// turn: which rows of the plan they are, where not all are taken.
static void every_config(const subject *s, llm_kv_type kv, size_t turn) {
    config c = plan[0];
    outcome want = outcome_new(s);
    size_t i, k;
    c.isa = LLM_ISA_SCALAR;
    if (!CHECK(run(s, &c, kv, &want))) { say_config(s, &c, kv); free(want.logits); return; }
    CHECK_EQ(want.isa, LLM_ISA_SCALAR);
    for (i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        // Who computes which rows is decided above the kernels: a slow subject, and a slow instruction set, meet a part of the plan.
        const size_t each = (s->heavy ? 3 : 1) * (isas[i] == LLM_ISA_SCALAR ? 4 : 1) * (SANITIZED ? 4 : 1);
        if (isas[i] == LLM_ISA_AUTO || !llm_isa_usable(isas[i])) continue;
        for (k = (turn + i) % each; k < N_PLAN; k += each) {
            c = plan[k];
            c.isa = isas[i];
            if (FP_HOSTILE || !c.hostile) same(s, &c, kv, &want);
        }
        if (s->every_split && kv != LLM_KV_F32 && !SANITIZED) every_split(s, isas[i], kv, &want);
    }
    free(want.logits);
}

static void hash_of(const subject *s, const config *c, char hex[65], outcome *o, int *ok) {
    golden_sha sha;
    int kv;
    *ok = 1;
    golden_sha_init(&sha);
    for (kv = LLM_KV_F16; kv <= LLM_KV_Q8_0 && *ok; kv++) {
        if (!(s->kv >> kv & 1)) continue;
        *ok = run(s, c, (llm_kv_type)kv, o);
        golden_sha_words(&sha, o->logits, s->n_tok * s->n_vocab);
        golden_sha_words(&sha, o->sampled, N_SAMPLED);
    }
    golden_sha_hex(&sha, hex);
}

static void committed_hashes(void) {
    size_t bytes, i;
    char *text = (char *)test_read("tests/bits.sha256", &bytes);
    unsigned compared = 0;
    SECTION("committed hashes");
    if (!text) { test_skip("tests/bits.sha256 is not there yet: tests/bits.sh --write makes it"); return; }
    for (i = 0; i < n_subjects; i++) {
        config c;
        outcome o;
        char hex[65], line[160];
        int ok;
        if (!subjects[i].committed) continue;
        memset(&c, 0, sizeof c);
        o = outcome_new(&subjects[i]);
        hash_of(&subjects[i], &c, hex, &o, &ok);
        sprintf(line, "%s  %.47s\n", hex, subjects[i].name);
        if (!CHECK(ok && strstr(text, line))) printf("  now %s", line);
        compared++;
        free(o.logits);
    }
    CHECK(compared >= 5);
    free(text);
}

// The promise is taken back exactly by builds that cannot keep it; every other build must have it, with nothing to say against it.
static int promise_is_on(void) {
    config c;
    outcome o = outcome_new(&subjects[0]);
    int ok;
    memset(&c, 0, sizeof c);
    ok = CHECK(run(&subjects[0], &c, LLM_KV_F16, &o));
    CHECK(o.promise <= 1);
    CHECK((o.promise == 1) == (o.reason[0] == 0));
#if defined(__clang__) && defined(__FAST_MATH__)
    CHECK_EQ(o.promise, 0);
#elif !defined(__TINYC__)
    CHECK_EQ(o.promise, 1);
#endif
    if (ok && !o.promise) printf("not here: the same-bits promise is off in this build: %s\n", o.reason);
    free(o.logits);
    return ok && o.promise;
}

static int check_all(void) {
    size_t i;
    int kv;
    CHECK(golden_sha_self_test());
    add_committed();
    // Under a sanitizer this takes minutes, and every kernel, route and thread count is met by the committed subjects already.
    if (SANITIZED) test_lacks("a sanitized build: the committed subjects only, each in a few ways");
    else add_fixtures();
    SECTION("the promise");
    if (promise_is_on()) {
        if (!FP_HOSTILE) test_lacks("no way to set the floating-point control word on this CPU");
        if (!llm_isa_usable(LLM_ISA_AVX2) && !llm_isa_usable(LLM_ISA_NEON)) test_lacks("no vectors: scalar kernels are compared with themselves");
        for (i = 0; i < n_subjects; i++) {
            SECTION(subjects[i].name);
            for (kv = LLM_KV_F16; kv <= LLM_KV_Q8_0; kv++)
                if (subjects[i].kv >> kv & 1) every_config(&subjects[i], (llm_kv_type)kv, i + (size_t)kv);
        }
        committed_hashes();
    }
    free_subjects();
    return test_done();
}

//------------------------------------------------------------------------------------------------------------------------------
// test_bits --isas: the instruction sets that are usable here, a line each.
// test_bits --hashes [--set committed|all|NAME,...] [--isa NAME] [--threads N] [--split N] [--batch N] [--rewind] [--hostile-fp] [--for-fn]
//           [--for-fn-reverse] [--read]     --set NAME: committed subjects by name, for emulators; --isa NAME: as llm_isa_name has it

static int usage(const char *what) {
    fprintf(stderr, "test_bits: %s\nusage: test_bits [--isas | --hashes [--set committed|all|NAME,...] [--isa NAME] [--threads N] [--split N] [--batch N]\n"
                    "       [--rewind] [--hostile-fp] [--for-fn] [--for-fn-reverse] [--read]]\n", what);
    return 2;
}
static int print_isas(void) {
    size_t i;
    for (i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (isas[i] != LLM_ISA_AUTO && llm_isa_usable(isas[i])) puts(llm_isa_name(isas[i]));
    return 0;
}
static int isa_named(const char *name, llm_isa *isa) {
    size_t i;
    for (i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (strcmp(name, llm_isa_name(isas[i])) == 0) { *isa = isas[i]; return 1; }
    return 0;
}
// Is it in the list NAME,NAME,...?
static int listed(const char *list, const char *name) {
    size_t n = strlen(name);
    while (list) {
        if (strncmp(list, name, n) == 0 && (list[n] == ',' || !list[n])) return 1;
        list = strchr(list, ',');
        if (list) list++;
    }
    return 0;
}
static int print_hashes(const config *c, const char *set) {
    uint32_t promise = 1;
    char reason[200] = "";
    llm_isa isa = LLM_ISA_AUTO;
    size_t i;
    int whole = !strcmp(set, "committed") || !strcmp(set, "all"), printed = 0;
    add_committed();
    if (!strcmp(set, "all")) add_fixtures();
    for (i = 0; i < n_subjects; i++) {
        outcome o;
        char hex[65];
        int ok;
        if (!whole && !listed(set, subjects[i].name)) continue;
        o = outcome_new(&subjects[i]);
        hash_of(&subjects[i], c, hex, &o, &ok);
        if (!ok) { fprintf(stderr, "%s: %s\n", subjects[i].name, why_not); free(o.logits); free_subjects(); return 1; }
        printf("%s  %s\n", hex, subjects[i].name);
        printed++;
        isa = o.isa;
        if (!o.promise) { promise = 0; strcpy(reason, o.reason); }
        free(o.logits);
    }
    if (!printed) { fprintf(stderr, "no subject is named %s\n", set); free_subjects(); return 1; }
    printf("isa %s\n", llm_isa_name(isa));
    printf("bits_promise %u%s%s\n", (unsigned)promise, *reason ? ": " : "", reason);
    free_subjects();
    return test_now.failed ? 1 : 0;
}

int main(int argc, char **argv) {
    config c;
    const char *set = "committed";
    int i, hashes = 0;
    memset(&c, 0, sizeof c);
    if (argc == 2 && !strcmp(argv[1], "--isas")) return print_isas();
    for (i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--hashes")) hashes = 1;
        else if (!strcmp(a, "--rewind")) c.rewind = 1;
        else if (!strcmp(a, "--hostile-fp")) c.hostile = FP_HOSTILE;
        else if (!strcmp(a, "--for-fn")) c.for_fn = 1;
        else if (!strcmp(a, "--for-fn-reverse")) c.for_fn = -1;
        else if (!strcmp(a, "--read")) c.route = 1;
        else if (!v) return usage(a);
        else if (!strcmp(a, "--set")) { set = v; i++; }
        else if (!strcmp(a, "--isa")) { if (!isa_named(v, &c.isa)) return usage(v); i++; }
        else if (!strcmp(a, "--threads")) { c.threads = (uint32_t)atoi(v); i++; }
        else if (!strcmp(a, "--split")) { c.split = (uint32_t)atoi(v); i++; }
        else if (!strcmp(a, "--batch")) { c.batch = (uint32_t)atoi(v); i++; }
        else return usage(a);
    }
    if (argc > 1 && !hashes) return usage("--hashes is missing");
    return hashes ? print_hashes(&c, set) : check_all();
}
