// test_hosts.c - what hosts need beyond the answer: small stacks (FR-060), closed streams (FR-088), nothing that grows over hundreds of
// models and contexts (COUNT), memory given back and a clock that jumps (FR-089), structs that bindings can trust (FR-086).
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "gguf_writer.h"
#include "golden.h"
#include "hostile.h"
#include "vocabulary_models.h"
#include "abi.h"
#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/wait.h>
#endif

static const char tiny[] = "examples/tiny/tiny.gguf";
static const char question[] = "Tell me a story about a fox.";
enum { TEXT = 4096 };
static char answer[TEXT];

// Loads, opens, asks, closes; nothing of it is checked here, because the caller may have no stream to complain to.
static int live(const char *path, uint32_t n_threads, char *text) {
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    const char *piece;
    memset(&d, 0, sizeof d);
    memset(&cd, 0, sizeof cd);
    d.n_threads = n_threads;
    cd.max_tokens = 6;
    text[0] = 0;
    m = llm_load(path, &d, &e);
    c = llm_open(m, &cd, &e);
    if (c && llm_say(c, "user", question) == LLM_OK)
        while ((piece = llm_next(c, NULL)) != NULL) if (strlen(text) + strlen(piece) < TEXT) strcat(text, piece);
    llm_close(c);
    llm_unload(m);
    return c != NULL;
}

#if !defined(_WIN32)
//------------------------------------------------------------------------------------------------------------------------------
// FR-060: a million times one character, on a stack of 64 KB, through every function that takes text. The whole life of a model fits
// such a stack as well.

enum { LONG_RUN = SANITIZED ? 100000 : 1000000, STACK = 64 << 10 };
typedef struct run_job { const llm_model *m; llm_model *owned; const char *text; size_t n, n_tokens, n_text; int ok; char *back; llm_token *tokens; } run_job;

static int on_small_stack(void *(*fn)(void *), void *arg) {
    pthread_attr_t a;
    pthread_t t;
    int ok = !pthread_attr_init(&a) && !pthread_attr_setstacksize(&a, SANITIZED ? 1 << 20 : STACK) && !pthread_create(&t, &a, fn, arg);
    if (ok) pthread_join(t, NULL);
    pthread_attr_destroy(&a);
    return ok;
}
static void *run_text(void *p) {
    run_job *j = (run_job *)p;
    const llm_message one = { "user", j->text };
    llm_ctx_desc d;
    llm_error e;
    llm_ctx *c;
    size_t rendered;
    j->ok = 0;
    j->n_tokens = llm_tokenize(j->m, j->text, j->n, LLM_PARSE_SPECIAL | LLM_NO_SPACE_PREFIX, j->tokens, 4 * (size_t)LONG_RUN);
    if (j->n_tokens == LLM_FAILED || j->n_tokens > 4 * (size_t)LONG_RUN) return NULL;
    j->n_text = llm_detokenize(j->m, j->tokens, j->n_tokens, LLM_SHOW_SPECIAL | LLM_NO_SPACE_PREFIX, j->back, 4 * (size_t)LONG_RUN);
    rendered = llm_render_chat(j->m, "chatml", &one, 1, LLM_GENERATION_PROMPT, NULL, 0, &e);
    if (rendered == LLM_FAILED || rendered < j->n) return NULL;
    memset(&d, 0, sizeof d);
    d.n_ctx = 64;
    c = llm_open(j->owned, &d, &e);
    // More than the context holds, so that it is tokenized and then refused, with the two numbers.
    if (c && llm_feed(c, j->text, j->n) == LLM_OK && !llm_next(c, NULL) && llm_last_error(c)->code == LLM_CONTEXT_FULL &&
        strstr(llm_last_error(c)->text, "64")) j->ok = 1;
    llm_close(c);
    return NULL;
}
static void long_runs_of(const char *name, llm_model *m) {
    static const char *const units[] = { "A", "\xe7\x95\x8c", " ", ".", "\n", "1", "\xf0\x9f\xa6\x8a", "\xff" };
    char *text = (char *)malloc(4 * (size_t)LONG_RUN + 1);
    run_job j;
    size_t u, k;
    memset(&j, 0, sizeof j);
    j.m = j.owned = m;
    j.text = text;
    j.back = (char *)malloc(4 * (size_t)LONG_RUN);
    j.tokens = (llm_token *)malloc(4 * (size_t)LONG_RUN * sizeof(llm_token));
    SECTION(name);
    for (u = 0; text && j.back && j.tokens && u < sizeof units / sizeof *units; u++) {
        const size_t length = strlen(units[u]);
        for (k = 0; k < LONG_RUN; k++) memcpy(text + k * length, units[u], length);
        j.n = LONG_RUN * length;
        text[j.n] = 0;
        CHECK(on_small_stack(run_text, &j));
        if (!CHECK(j.ok)) printf("  %s, unit %u\n", name, (unsigned)u);
        if (u < 7) CHECK(j.n_text == j.n && memcmp(j.back, text, j.n) == 0);           // nothing is lost; the last is no UTF-8
    }
    free(text);
    free(j.back);
    free(j.tokens);
}
static void *whole_life(void *p) {
    run_job *j = (run_job *)p;
    char *text = (char *)malloc(TEXT);
    j->ok = text && live(tiny, 2, text) && strcmp(text, answer) == 0;
    free(text);
    return NULL;
}
static void small_stacks(void) {
    llm_error e;
    llm_model *m = llm_load(tiny, NULL, &e);
    run_job j;
    size_t i, n;
    SECTION("FR-060 a whole life on a small stack");
    memset(&j, 0, sizeof j);
    CHECK(on_small_stack(whole_life, &j) && j.ok);
    if (CHECK(m != NULL)) long_runs_of("FR-060 tiny", m);
    llm_unload(m);
    for (i = 0; i < 2; i++) {                                            // SentencePiece style, byte-level
        gguf_writer w;
        unsigned char *bytes = small_bases[i].write(&n, &w);
        m = llm_load_memory(bytes, n, NULL, &e);
        if (CHECK(m != NULL)) long_runs_of(i ? "FR-060 byte-level" : "FR-060 pieces", m);
        llm_unload(m);
        free(bytes);
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// FR-088: a host that has closed its streams. The next file that is opened gets the number 0, 1 or 2: whoever writes to a stream writes
// into it. The child reports by its exit code, the parent sees that the model's file is as it was.

static int without_streams(void) {
    char text[TEXT];
    llm_error e;
    llm_model *bad;
    int fd;
    close(0);
    close(1);
    close(2);
    bad = llm_load("no/such/file.gguf", NULL, &e);
    if (bad || e.code != LLM_IO) return 2;
    if (llm_load("Makefile", NULL, &e) || e.code != LLM_BAD_FILE) return 3;
    if (!live(tiny, 2, text) || strcmp(text, answer)) return 4;
    fd = open("/dev/null", O_RDONLY);                                    // everything is closed again: the smallest number is free
    return fd == 0 ? 0 : 5;
}
static void closed_streams(void) {
    size_t n, again;
    unsigned char *before = test_read(tiny, &n), *after;
    pid_t child;
    int status = -1;
    SECTION("FR-088 closed streams");
    fflush(stdout);
    child = fork();
    if (!child) _exit(without_streams());
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) printf("  the child ended with %d\n", status);
    after = test_read(tiny, &again);
    CHECK(before && after && n == again && memcmp(before, after, n) == 0);
    free(before);
    free(after);
}

//------------------------------------------------------------------------------------------------------------------------------
// COUNT: 200 models and contexts, and loads that fail, leave nothing.

static void cycles(void) {
    enum { WARM = 20, ROUNDS = SANITIZED ? 60 : 200 };
    const char *cut = test_scratch("test_hosts-cut.gguf");
    char text[TEXT];
    holdings before, after;
    llm_error e;
    unsigned char *bytes;
    size_t n;
    int i;
    memset(&before, 0, sizeof before);
    SECTION("200 cycles");
    bytes = test_read(tiny, &n);
    CHECK(bytes && test_write(cut, bytes, n - 1000));
    free(bytes);
    for (i = 0; i < WARM + ROUNDS; i++) {
        if (i == WARM) { settled_threads(1); before = count_holdings(); }
        if (!live(tiny, 1 + (uint32_t)i % 3, text) || strcmp(text, answer)) CHECK(!"another answer");
        if (llm_load(cut, NULL, &e) || llm_load("no/such/file", NULL, &e)) CHECK(!"loads what is not there");
    }
    settled_threads(before.threads);
    after = count_holdings();
    remove(cut);
    if (!before.files) { test_lacks("no /proc: files, threads and maps are not counted"); return; }
    CHECK_EQ(after.files, before.files);
    CHECK_EQ(after.threads, before.threads);
    // A C library may keep an arena for each thread that ever was; a mapping that is forgotten each time would be 200.
    CHECK(after.maps <= before.maps + 8);
    CHECK_EQ(count_lines("/proc/self/maps", "tiny.gguf"), 0);
    if (!SANITIZED) CHECK(after.rss_kb <= before.rss_kb + 2048);         // 10 KB each would be 2 MB
    printf("  after %d cycles: files %u -> %u, threads %u -> %u, maps %u -> %u, resident %lu -> %lu KB\n", ROUNDS, before.files, after.files,
           before.threads, after.threads, before.maps, after.maps, before.rss_kb, after.rss_kb);
}
#endif

//------------------------------------------------------------------------------------------------------------------------------
// FR-089: trim gives keys, values and scratch back, and the same answer comes out afterwards; a clock that jumps by an hour between two
// pieces, or stands still, changes nothing.

typedef struct jumpy { uint64_t now; int jump; } jumpy;
static uint64_t jumpy_now(void *user) {
    jumpy *j = (jumpy *)user;
    j->now += 50;
    if (j->jump) { j->now += 3600000000u; j->jump = 0; }
    return j->now;
}
static void background(void) {
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    ledger l;
    jumpy clock;
    char text[TEXT] = "";
    const char *piece;
    uint64_t open_bytes, busy_bytes;
    int k = 0;
    SECTION("FR-089 trimmed and woken");
    ledger_init(&l);
    memset(&d, 0, sizeof d);
    memset(&cd, 0, sizeof cd);
    memset(&clock, 0, sizeof clock);
    d.allocator = ledger_hook(&l);
    d.clock.user = &clock;
    d.clock.now_us = jumpy_now;
    d.cpu_share = 90;
    cd.max_tokens = 6;
    m = llm_load(tiny, &d, &e);
    c = llm_open(m, &cd, &e);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    open_bytes = l.bytes;
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    while ((piece = llm_next(c, NULL)) != NULL) {
        strcat(text, piece);
        clock.jump = 1;
        if (k++ % 2) llm_trim(c);
    }
    CHECK_TEXT(text, answer);
    busy_bytes = l.bytes;
    llm_rewind(c, 0);
    llm_trim(c);
    CHECK(l.bytes <= open_bytes + 4096 && l.bytes < busy_bytes);
    text[0] = 0;
    CHECK_EQ(llm_say(c, "user", question), LLM_OK);
    while ((piece = llm_next(c, NULL)) != NULL) strcat(text, piece);
    CHECK_TEXT(text, answer);
    llm_close(c);
    llm_unload(m);
    CHECK(l.live == 0 && l.bad == 0);
}

//------------------------------------------------------------------------------------------------------------------------------
// A vocabulary's scores may be integers, which become floats, or subnormal: the host's rounding and its DAZ must not choose the tokens of
// llm_tokenize, and where the host traps inexact results there is nothing to trap. Scores that only rounding upwards tells apart, then
// ones that DAZ makes equal.

static void scores_of_pieces(const int32_t *scores, uint32_t type, llm_token *got) {
    static const uint64_t envs[] = { LLM__FP_PLAIN, 0x5f80, 0x9fc0, 0x4000 };        // x86: plain, upwards, FTZ and DAZ, nothing masked
    const char key[] = "tokenizer.ggml.scores";
    gguf_writer w;
    llm_error e;
    llm_model *m;
    size_t n, at, i;
    unsigned char *bytes = small_bases[0].write(&n, &w);
    for (at = 0; at + 64 < n && memcmp(bytes + at, key, strlen(key)); at++) { }
    at += strlen(key) + 4;                                               // past the key and what says "array"
    memcpy(bytes + at, &type, 4);
    memcpy(bytes + at + 12 + 259 * 4, scores, 5 * sizeof *scores);
    m = llm_load_memory(bytes, n, NULL, &e);
    for (i = 0; CHECK(m != NULL) && i < (LLM__X64 ? LLM__COUNT(envs) : 1); i++) {
        const llm__fpenv before = llm__fp_get();
        size_t n_tokens;
        llm__fp_set(envs[i]);
        n_tokens = llm_tokenize(m, "ab", 2, 0, got + 4 * i, 4);
        llm__fp_set(before);
        CHECK_EQ(n_tokens, 2);
        if (!CHECK(got[4 * i] == got[0] && got[4 * i + 1] == got[1])) printf("  environment %x\n", (unsigned)envs[i]);
    }
    llm_unload(m);
    free(bytes);
}
// Callbacks that leave rounding, FTZ and DAZ behind, in the load as in a prefill: the same logits.
static int spoils;
static void spoil(void) { if (spoils && LLM__X64) llm__fp_set(0xffc0); }
static int spoiling_progress(void *user, int stage, float fraction) { (void)user; (void)stage; (void)fraction; spoil(); return 1; }
static uint64_t spoiling_clock(void *user) { spoil(); return *(uint64_t *)user += 10; }
static size_t spoiling_read(void *user, uint64_t offset, void *dst, size_t n) {
    memcpy(dst, (unsigned char *)user + offset, n);
    spoil();
    return n;
}
static void spoiling_callbacks(void) {
    static const llm_token some[9] = { 5, 6, 7, 8, 9, 10, 11, 12, 13 };
    static float want[512], got[512];
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_reader r;
    gguf_writer w;
    uint64_t now = 0;
    size_t n, which;
    SECTION("callbacks that leave another floating-point environment");
    memset(&d, 0, sizeof d);
    memset(&cd, 0, sizeof cd);
    d.progress.progress_fn = spoiling_progress;
    d.clock.now_us = spoiling_clock;
    d.clock.user = &now;
    cd.n_batch = 2;
    for (which = 0; which < SMALL_BASES; which++) {
        r.user = small_bases[which].write(&n, &w);
        r.size = n;
        r.read_at = spoiling_read;
        for (spoils = 0; spoils < 2; spoils++) {
            const llm__fpenv before = llm__fp_get();
            llm_model *m = llm_load_reader(&r, &d, NULL);
            llm_ctx *c = llm_open(m, &cd, NULL);
            CHECK(c && llm_eval(c, some, 9) == LLM_OK && llm__fp_get() == before);
            if (c && CHECK(m->net.n_vocab <= 512)) memcpy(spoils ? got : want, llm_logits(c), m->net.n_vocab * sizeof(float));
            if (c && spoils) CHECK(memcmp(got, want, m->net.n_vocab * sizeof(float)) == 0);
            llm_close(c);
            llm_unload(m);
            llm__fp_set(before);
        }
        spoils = 0;
        free(r.user);
    }
}
// Every hook, at every call from the load to the last llm_unload, finds the library's floating-point environment and not the host's.
static struct { uint64_t calls[6], outside[6]; } heard;
static void hear(int hook) {
    heard.calls[hook]++;
    if ((llm__fp_get() & ~(uint64_t)0x3f) != LLM__FP_PLAIN) heard.outside[hook]++;       // less sticky flags
}
static void *hearing_alloc(void *user, size_t n, size_t align) { (void)user; (void)align; hear(0); return malloc(n); }
static void hearing_free(void *user, void *p, size_t n) { (void)user; (void)n; hear(1); free(p); }
static void hearing_log(void *user, int level, const char *text) { (void)user; (void)level; (void)text; hear(2); }
static int hearing_progress(void *user, int stage, float fraction) { (void)user; (void)stage; (void)fraction; hear(3); return 1; }
static uint64_t hearing_clock(void *user) { hear(4); return *(uint64_t *)user += 10; }
static size_t hearing_read(void *user, uint64_t offset, void *dst, size_t n) {
    memcpy(dst, (unsigned char *)user + offset, n);
    hear(5);
    return n;
}
static void hearing_hooks(void) {
    static const char *const names[6] = { "alloc_fn", "free_fn", "log_fn", "progress_fn", "now_us", "read_at" };
    const llm_token some[3] = { 5, 6, 7 };
    const llm_message said = { "user", "a" };
    const llm__fpenv before = llm__fp_get();
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_plan_info plan;
    llm_reader r;
    llm_model *m;
    llm_ctx *c;
    gguf_writer w;
    uint64_t now = 0;
    char text[64];
    size_t n;
    int i;
    SECTION("the floating-point environment that hooks find");
    memset(&d, 0, sizeof d); memset(&cd, 0, sizeof cd); memset(&plan, 0, sizeof plan);
    d.allocator.alloc_fn = hearing_alloc; d.allocator.free_fn = hearing_free;
    d.logger.log_fn = hearing_log;
    d.progress.progress_fn = hearing_progress;
    d.clock.now_us = hearing_clock; d.clock.user = &now;
    cd.n_ctx = 1000;                                                     // beyond the training: there is a warning
    r.user = small_bases[1].write(&n, &w); r.size = n; r.read_at = hearing_read;
    if (LLM__X64) llm__fp_set(0xffc0);
    m = llm_load_reader(&r, &d, NULL);
    c = llm_open(m, &cd, NULL);
    if (c) { llm_eval(c, some, 3); llm_sample(c); llm_next(c, NULL); llm_say(c, "user", "a"); llm_trim(c); llm_rewind(c, 1); }
    llm_tokenize(m, "ab", 2, 0, NULL, 0);
    llm_render_chat(m, "chatml", &said, 1, 0, text, sizeof text, NULL);
    llm_plan_reader(&r, &d, &cd, &plan, NULL);
    llm_close(c);
    llm_unload(m);
    r.size = n / 2;
    CHECK(llm_load_reader(&r, &d, NULL) == NULL);                        // an error is logged, and what there was is given back
    llm__fp_set(before);
    CHECK(m && c);
    for (i = 0; i < 6; i++)
        if (!CHECK(heard.calls[i] && !heard.outside[i]))
            printf("  %s: %lu of %lu calls\n", names[i], (unsigned long)heard.outside[i], (unsigned long)heard.calls[i]);
    free(r.user);
}
// An answer of six tokens whose text is three, ended by a stop string: back in the middle of it, what was cut off must stay away.
static void rewind_behind_a_stop(void) {
    static const char *const stop[] = { "!" };
    llm_ctx_desc d;
    llm_model *m;
    llm_ctx *c;
    gguf_writer w;
    llm_token was[8];
    size_t n, i, begin = 0;
    unsigned char *bytes = dense_model(&n, &w);
    SECTION("a rewind into an answer that a stop string ended");
    memset(&d, 0, sizeof d);
    d.max_tokens = 1;
    m = llm_load_memory(bytes, n, NULL, NULL);
    c = llm_open(m, &d, NULL);
    CHECK_EQ(llm_feed(c, "b", 1), LLM_OK);
    for (i = 0; c && i < 7; i++) {
        const llm_bias bias = { i == 6 ? 3 + '!' : i % 2 ? 261 : 260, 1e9f };        // a b a b a b !
        llm_sampling forced;
        memset(&forced, 0, sizeof forced);
        forced.bias = &bias; forced.n_bias = 1;
        CHECK_EQ(llm_set_sampling(c, &forced), LLM_OK);
        if (i == 6) CHECK_EQ(llm_set_stop(c, stop, 1), LLM_OK);
        CHECK((llm_next(c, NULL) != NULL) == (i < 6));
        if (i < 6) CHECK(!llm_next(c, NULL) && llm_why(c) == LLM_STOP_LIMIT);
        if (!i) begin = llm_past(c) - 1;
    }
    if (CHECK(c && llm_why(c) == LLM_STOP_STRING && begin + 3 <= 8)) {
        CHECK_EQ(llm_rewind(c, begin + 3), LLM_OK);
        memcpy(was, c->past.v, (begin + 3) * sizeof *was);
        CHECK_EQ(llm_feed(c, " b", 2), LLM_OK);
        llm_next(c, NULL);
        CHECK(llm_past(c) > begin + 3 && memcmp(was, c->past.v, (begin + 3) * sizeof *was) == 0);
    }
    llm_close(c);
    llm_unload(m);
    free(bytes);
}
// What the host's DAZ makes equal to 0 when a context is opened: its sizes must be those that sampling needs.
static void tiny_sampling(void) {
    static const uint64_t envs[] = { LLM__FP_PLAIN, 0x9fc0 };
    llm_token got[2][4];
    size_t n, i, k;
    unsigned char *bytes;
    gguf_writer w;
    SECTION("subnormal settings, DAZ on");
    if (!LLM__X64) return;
    bytes = small_bases[0].write(&n, &w);
    for (k = 0; k < 4; k++) {
        llm_ctx_desc d;
        memset(&d, 0, sizeof d);
        d.sampling.temperature = k ? 0.7f : 1e-40f;
        if (k == 1) d.sampling.typical_p = 1e-40f;
        if (k == 2) d.sampling.frequency_penalty = 1e-40f;
        if (k == 3) d.sampling.min_p = 1e-40f;
        for (i = 0; i < 2; i++) {
            const llm__fpenv before = llm__fp_get();
            const llm_token some[3] = { 5, 6, 7 };
            llm_model *m = llm_load_memory(bytes, n, NULL, NULL);
            llm_ctx *c;
            llm__fp_set(envs[i]);
            c = llm_open(m, &d, NULL);
            got[i][k] = c && llm_eval(c, some, 3) == LLM_OK ? llm_sample(c) : -1;
            llm__fp_set(before);
            llm_close(c);
            llm_unload(m);
        }
        CHECK(got[0][k] >= 0 && got[1][k] == got[0][k]);
    }
    free(bytes);
}
static void tokens_and_rounding(void) {
    static const int32_t integers[5] = { 0, 0, 0, 16777217, 16777216 }, subnormals[5] = { 0, 0, 0, 2, 1 };       // of "ab" and " a"
    llm_token got[16] = { 0 };
    SECTION("the host's rounding and llm_tokenize");
    scores_of_pieces(integers, LLM__GGUF_I32, got);
    CHECK(got[0] == 263 && got[1] == 261);                               // equal: leftmost first, " a" "b"
    scores_of_pieces(subnormals, LLM__GGUF_F32, got);
    CHECK(got[0] == 259 && got[1] == 262);                               // "ab" is the better one: " " "ab"
}

//------------------------------------------------------------------------------------------------------------------------------
// FR-086: sizes and places of the public structs against the record in abi.h, and that the record knows every struct of llm.h.

static size_t abi_column(size_t on_64, size_t on_x86, size_t on_32) {
#if defined(__i386__) && !defined(_WIN32)           // there 8 bytes are aligned to 8
    (void)on_64; (void)on_32;
    return on_x86;
#else
    (void)on_x86;
    return sizeof(void *) == 8 ? on_64 : on_32;
#endif
}
static void structs(void) {
#define NAME(s, on_64, on_x86, on_32) { #s, sizeof(s), on_64, on_x86, on_32 },
#define PLACE(s, f, on_64, on_x86, on_32) { #s "." #f, offsetof(s, f), on_64, on_x86, on_32 },
    static const struct { const char *name; size_t is, on_64, on_x86, on_32; } sizes[] = { ABI_STRUCTS(NAME) }, places[] = { ABI_FIELDS(PLACE) };
    const size_t n_sizes = sizeof sizes / sizeof *sizes, n_places = sizeof places / sizeof *places;
    size_t i, n, found = 0;
    char *header = (char *)test_read("llm.h", &n), *at;
    SECTION("FR-086 the structs that bindings know");
    for (i = 0; i < n_sizes; i++) {
        const size_t want = abi_column(sizes[i].on_64, sizes[i].on_x86, sizes[i].on_32);
        const int grows = !strcmp(sizes[i].name, "llm_stats_info") || !strcmp(sizes[i].name, "llm_plan_info");
        if (!CHECK(grows ? sizes[i].is >= want : sizes[i].is == want)) printf("  sizeof(%s) is %lu\n", sizes[i].name, (unsigned long)sizes[i].is);
    }
    for (i = 0; i < n_places; i++)
        if (!CHECK(places[i].is == abi_column(places[i].on_64, places[i].on_x86, places[i].on_32)))
            printf("  %s is at %lu\n", places[i].name, (unsigned long)places[i].is);
    for (at = header; at && (at = strstr(at, "\ntypedef struct ")) != NULL; at++) {
        const char *name = at + strlen("\ntypedef struct "), *end = strchr(name, ' ');
        if (end[1] != '{') continue;                                     // opaque
        for (i = 0; i < n_sizes && (strncmp(sizes[i].name, name, (size_t)(end - name)) || sizes[i].name[end - name]); i++) { }
        if (!CHECK(i < n_sizes)) printf("  no record of %.*s\n", (int)(end - name), name);
        found++;
    }
    CHECK_EQ(found, n_sizes);
    free(header);
    CHECK_EQ(llm_version(), LLM_VERSION_MAJOR << 16 | LLM_VERSION_MINOR << 8 | LLM_VERSION_PATCH);
}

int main(void) {
    SECTION("the answer");
    if (!CHECK(live(tiny, 1, answer) && answer[0])) return test_done();
#if !defined(_WIN32)
    closed_streams();
    small_stacks();
    cycles();
#else
    test_lacks("small stacks, closed streams and /proc");
#endif
    background();
    tokens_and_rounding();
    tiny_sampling();
    spoiling_callbacks();
    hearing_hooks();
    rewind_behind_a_stop();
    structs();
    return test_done();
}
