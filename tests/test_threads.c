// test_threads.c - threads of the host: many on one model, several after one context, cancels from outside, loads beside tokenizing.
// `make tsan` runs it under ThreadSanitizer, which sees what the answers do not show. FR-084, FR-085.
#define LLM__RESTS 0
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include "hostile.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#define SLOWED (UNDER_TSAN || SANITIZED)

static const char tiny[] = "examples/tiny/tiny.gguf";
static const char question[] = "Tell me a story about a fox.";
enum { N_THREADS = 4, TEXT = 4096 };
static char answer[TEXT];                        // to the question, 24 tokens, greedy

// A number that threads share; the suite's checks themselves belong to the main thread.
typedef struct shared { pthread_mutex_t lock; long v; } shared;
static void shared_init(shared *s) { pthread_mutex_init(&s->lock, NULL); s->v = 0; }
static long shared_add(shared *s, long by) {
    long v;
    pthread_mutex_lock(&s->lock);
    v = s->v += by;
    pthread_mutex_unlock(&s->lock);
    return v;
}
static long shared_get(shared *s) { return shared_add(s, 0); }
static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static llm_ctx *open_for(llm_model *m, uint32_t max_tokens) {
    llm_ctx_desc d;
    llm_error e;
    memset(&d, 0, sizeof d);
    d.max_tokens = max_tokens;
    d.n_ctx = 512;
    return llm_open(m, &d, &e);
}
static void take(llm_ctx *c, char *text) {
    const char *piece;
    while ((piece = llm_next(c, NULL)) != NULL) if (strlen(text) + strlen(piece) < TEXT) strcat(text, piece);
}
static int answers_well(llm_ctx *c) {
    char text[TEXT] = "";
    if (!c || llm_say(c, "user", question) != LLM_OK) return 0;
    take(c, text);
    return strcmp(text, answer) == 0;
}

//------------------------------------------------------------------------------------------------------------------------------
// Everything that a model allows at the same time: contexts that answer, tokenizing, rendering, metadata, loads and plans of the same
// file, and looks at the statistics of contexts that others work with.

typedef struct crowd { llm_model *m; llm_ctx *watched[N_THREADS]; shared wrong, done, begun; int rounds; } crowd;
typedef struct member { crowd *c; int index; } member;

static void *talk(void *p) {
    member *me = (member *)p;
    llm_ctx *c = me->c->watched[me->index];
    int i;
    shared_add(&me->c->begun, 1);
    for (i = 0; i < me->c->rounds; i++) {
        if (!answers_well(c) || llm_rewind(c, 0) != LLM_OK) shared_add(&me->c->wrong, 1);
        if (i % 2) llm_trim(c);
    }
    shared_add(&me->c->done, 1);
    return NULL;
}
static void *come_and_go(void *p) {              // contexts opened and closed while others compute
    crowd *c = (crowd *)p;
    while (shared_get(&c->done) < N_THREADS) {
        llm_ctx *mine = open_for(c->m, 24);
        if (!answers_well(mine)) shared_add(&c->wrong, 1);
        llm_close(mine);
    }
    return NULL;
}
static void *tokenize(void *p) {
    crowd *c = (crowd *)p;
    llm_token first[64], t[64];
    char text[256], back[256];
    const llm_message talk[1] = { { "user", question } };
    llm_info info;
    llm_error e;
    size_t n, want = llm_tokenize(c->m, question, strlen(question), 0, first, 64);
    while (shared_get(&c->done) < N_THREADS) {
        n = llm_tokenize(c->m, question, strlen(question), 0, t, 64);
        if (n != want || memcmp(t, first, n * sizeof *t)) shared_add(&c->wrong, 1);
        n = llm_detokenize(c->m, t, n, 0, back, sizeof back);
        if (n != strlen(question) || memcmp(back, question, n)) shared_add(&c->wrong, 1);
        if (llm_render_chat(c->m, NULL, talk, 1, LLM_GENERATION_PROMPT, text, sizeof text, &e) == LLM_FAILED) shared_add(&c->wrong, 1);
        if (llm_meta(c->m, "general.architecture", text, sizeof text) == LLM_FAILED) shared_add(&c->wrong, 1);
        memset(&info, 0, sizeof info);
        llm_model_info(c->m, &info);
        if (!llm_is_eog(c->m, llm_special_token(c->m, LLM_EOS))) shared_add(&c->wrong, 1);
    }
    return NULL;
}
static void *load_and_plan(void *p) {
    crowd *c = (crowd *)p;
    while (shared_get(&c->done) < N_THREADS) {
        llm_error e;
        llm_plan_info plan;
        llm_model *m = llm_load(tiny, NULL, &e);
        llm_token t[64];
        memset(&plan, 0, sizeof plan);
        if (!m || llm_tokenize(m, question, strlen(question), 0, t, 64) == LLM_FAILED) shared_add(&c->wrong, 1);
        if (llm_plan(tiny, NULL, NULL, &plan, &e) != LLM_OK) shared_add(&c->wrong, 1);
        llm_unload(m);
    }
    return NULL;
}
static void *look(void *p) {
    crowd *c = (crowd *)p;
    static char report[8000];
    llm_finding findings[8];
    llm_stats_info s;
    int i;
    while (shared_get(&c->done) < N_THREADS) {
        for (i = 0; i < N_THREADS; i++) {
            memset(&s, 0, sizeof s);
            llm_stats(c->watched[i], &s);
            if (s.struct_bytes != sizeof s || s.n_threads < 1 || s.n_threads > 2) shared_add(&c->wrong, 1);
            if (llm_findings(c->watched[i], findings, 8) == LLM_FAILED) shared_add(&c->wrong, 1);
            if (llm_report(c->watched[i], report, sizeof report) == LLM_FAILED) shared_add(&c->wrong, 1);
        }
    }
    return NULL;
}
static void one_model(void) {
    static void *(*const others[])(void *) = { come_and_go, tokenize, load_and_plan, look };
    enum { N_OTHERS = 4 };
    pthread_t talkers[N_THREADS], rest[N_OTHERS];
    member members[N_THREADS];
    crowd c;
    llm_model_desc d;
    llm_error e;
    ledger l;
    int i;
    SECTION("FR-085 many threads, one model");
    ledger_init(&l);
    memset(&d, 0, sizeof d);
    d.allocator = ledger_hook(&l);
    d.n_threads = 2;
    c.m = llm_load(tiny, &d, &e);
    c.rounds = SLOWED ? 2 : 12;
    shared_init(&c.wrong);
    shared_init(&c.done);
    shared_init(&c.begun);
    for (i = 0; i < N_THREADS; i++) CHECK((c.watched[i] = open_for(c.m, 24)) != NULL);
    for (i = 0; i < N_THREADS; i++) {
        members[i].c = &c;
        members[i].index = i;
        pthread_create(&talkers[i], NULL, talk, &members[i]);
    }
    for (i = 0; i < N_OTHERS; i++) pthread_create(&rest[i], NULL, others[i], &c);
    for (i = 0; i < N_THREADS; i++) pthread_join(talkers[i], NULL);
    for (i = 0; i < N_OTHERS; i++) pthread_join(rest[i], NULL);
    CHECK_EQ(shared_get(&c.wrong), 0);
    for (i = 0; i < N_THREADS; i++) llm_close(c.watched[i]);
    llm_unload(c.m);
    CHECK(l.live == 0 && l.bad == 0);
}

//------------------------------------------------------------------------------------------------------------------------------
// One context and several threads: each call is served or turned away, and what the served ones made is whole.

typedef struct brawl { llm_ctx *ctx; shared served, busy, wrong, begun; } brawl;

static void judge_call(brawl *b, llm_result r) {
    if (r == LLM_BUSY) shared_add(&b->busy, 1);
    else if (r == LLM_OK || r == LLM_CONTEXT_FULL) shared_add(&b->served, 1);
    else shared_add(&b->wrong, 1);
}
static void *push(void *p) {
    brawl *b = (brawl *)p;
    const llm_token t[8] = { 9, 30, 31, 7, 8, 40, 41, 42 };
    llm_sampling greedy;
    llm_stats_info s;
    int i;
    memset(&greedy, 0, sizeof greedy);
    shared_add(&b->begun, 1);
    while (shared_get(&b->begun) < N_THREADS) { }
    for (i = 0; i < (SLOWED ? 60 : 400); i++) {
        switch (i % 6) {
        case 0: case 3: judge_call(b, llm_eval(b->ctx, t, 8)); break;
        case 1: judge_call(b, llm_set_sampling(b->ctx, &greedy)); break;
        case 2: judge_call(b, llm_set_max_tokens(b->ctx, 24)); break;
        case 4: judge_call(b, llm_rewind(b->ctx, 0)); break;
        default: llm_trim(b->ctx); memset(&s, 0, sizeof s); llm_stats(b->ctx, &s); break;
        }
    }
    return NULL;
}
static void one_context(void) {
    pthread_t t[N_THREADS];
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    brawl b;
    int i;
    SECTION("FR-085 several threads, one context");
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = llm_load(tiny, &d, &e);
    b.ctx = open_for(m, 24);
    shared_init(&b.served);
    shared_init(&b.busy);
    shared_init(&b.wrong);
    shared_init(&b.begun);
    if (!CHECK(b.ctx != NULL)) { llm_unload(m); return; }
    for (i = 0; i < N_THREADS; i++) pthread_create(&t[i], NULL, push, &b);
    for (i = 0; i < N_THREADS; i++) pthread_join(t[i], NULL);
    printf("  %ld calls served, %ld turned away\n", shared_get(&b.served), shared_get(&b.busy));
    CHECK_EQ(shared_get(&b.wrong), 0);
    CHECK(shared_get(&b.served) > 0 && shared_get(&b.busy) > 0);
    CHECK(llm_past(b.ctx) % 8 == 0);
    CHECK_EQ(llm_rewind(b.ctx, 0), LLM_OK);
    CHECK(answers_well(b.ctx));
    llm_close(b.ctx);
    llm_unload(m);
}

// The caller's reference and those of the contexts are given up by different threads: the last one frees.
static void *leave(void *p) { llm_close((llm_ctx *)p); return NULL; }
static void last_one_out(void) {
    int round, i;
    SECTION("closing in different threads");
    for (round = 0; round < (SLOWED ? 4 : 12); round++) {
        pthread_t t[N_THREADS];
        llm_ctx *c[N_THREADS];
        llm_model_desc d;
        llm_error e;
        llm_model *m;
        ledger l;
        ledger_init(&l);
        memset(&d, 0, sizeof d);
        d.allocator = ledger_hook(&l);
        d.n_threads = 2;
        m = llm_load(tiny, &d, &e);
        for (i = 0; i < N_THREADS; i++) CHECK((c[i] = open_for(m, 2)) != NULL);
        for (i = 0; i < N_THREADS; i++) pthread_create(&t[i], NULL, leave, c[i]);
        llm_unload(m);
        for (i = 0; i < N_THREADS; i++) pthread_join(t[i], NULL);
        CHECK(l.live == 0 && l.bad == 0);
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// FR-084: cancel from another thread, in load, prefill and decode. The limit is 20 ms; a busy machine is given five tries, of which the
// best counts. What is cancelled leaves a context whose next answer is that of a fresh one.

enum { TRIES = 5 };
static const double limit_ms = SLOWED ? 1000 : 20;
typedef struct cancel { llm_ctx *ctx; shared begun, ask; double after_ms, at; } cancel;

static void cancel_init(cancel *k, llm_ctx *ctx, double after_ms) {
    k->ctx = ctx;
    k->after_ms = after_ms;
    k->at = 0;
    shared_init(&k->begun);
    shared_init(&k->ask);
}
static void *cancel_soon(void *p) {
    cancel *k = (cancel *)p;
    while (!shared_get(&k->begun)) usleep(200);
    usleep((useconds_t)(k->after_ms * 1000));
    k->at = now_ms();
    if (k->ctx) llm_cancel(k->ctx);
    shared_add(&k->ask, 1);
    return NULL;
}
static size_t read_slowly(void *user, uint64_t offset, void *dst, size_t n) {
    const unsigned char *bytes = (const unsigned char *)user;
    usleep(3000);
    if (n > 65536) n = 65536;
    memcpy(dst, bytes + offset, n);
    return n;
}
static int unless_asked(void *user, int stage, float fraction) {
    cancel *k = (cancel *)user;
    (void)fraction;
    if (stage == 0 && !shared_get(&k->begun)) shared_add(&k->begun, 1);
    return !shared_get(&k->ask);
}
static void cancelled_load(void) {
    size_t n;
    unsigned char *bytes = test_read(tiny, &n);
    llm_reader r;
    double best = 1e9;
    int i;
    SECTION("FR-084 a cancelled load");
    if (!CHECK(bytes != NULL)) return;
    r.user = bytes; r.size = n; r.read_at = read_slowly;
    for (i = 0; i < TRIES; i++) {
        llm_model_desc d;
        llm_error e;
        llm_model *m;
        ledger l;
        cancel k;
        pthread_t t;
        double late;
        ledger_init(&l);
        cancel_init(&k, NULL, 10 + 5 * i);
        memset(&d, 0, sizeof d);
        d.allocator = ledger_hook(&l);
        d.progress.user = &k;
        d.progress.progress_fn = unless_asked;
        pthread_create(&t, NULL, cancel_soon, &k);
        m = llm_load_reader(&r, &d, &e);
        late = now_ms();
        pthread_join(t, NULL);
        if (m) { llm_unload(m); continue; }                            // it was done before the cancel came
        CHECK(e.code == LLM_CANCELLED && e.text[0]);
        CHECK(l.live == 0 && l.bad == 0);
        if (late - k.at < best) best = late - k.at;
    }
    printf("  load: %.1f ms from the wish to the return\n", best);
    CHECK(best < limit_ms);
    free(bytes);
}
static int note_prefill(void *user, int stage, float fraction) {
    cancel *k = (cancel *)user;
    (void)fraction;
    if (stage == 1 && !shared_get(&k->begun)) shared_add(&k->begun, 1);
    return 1;
}
static void cancelled_prefill(void) {
    static const golden_shape shape = { 256, 1024, 3, 4, 2, 512, 4096 };
    enum { LONG = SLOWED ? 300 : 3000, N_VOCAB = 512 };
    static llm_token t[LONG];
    const golden_type *q8 = &golden_types[7];
    golden_file f = golden_llama(&shape, &q8, 1, 5);
    float fresh[N_VOCAB];
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    llm_ctx_desc cd;
    cancel k;
    double best = 1e9;
    int i;
    SECTION("FR-084 a cancelled prefill");
    for (i = 0; i < LONG; i++) t[i] = (llm_token)((i * 31 + 7) % N_VOCAB);
    memset(&d, 0, sizeof d);
    memset(&cd, 0, sizeof cd);
    cd.n_batch = 64;
    d.n_threads = 2;
    d.progress.user = &k;
    d.progress.progress_fn = note_prefill;
    cancel_init(&k, NULL, 0);
    m = llm_load_memory(f.p, f.n, &d, &e);
    c = llm_open(m, &cd, &e);
    if (!CHECK(c && llm_eval(c, t, 40) == LLM_OK)) { llm_close(c); llm_unload(m); free(f.p); return; }
    memcpy(fresh, llm_logits(c), sizeof fresh);
    for (i = 0; i < TRIES; i++) {
        pthread_t thread;
        llm_result r;
        double late;
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        cancel_init(&k, c, 5 + 10 * i);
        pthread_create(&thread, NULL, cancel_soon, &k);
        r = llm_eval(c, t, LONG);
        late = now_ms();
        pthread_join(thread, NULL);
        if (r == LLM_OK) { CHECK_EQ(llm_eval(c, t, 1), LLM_CANCELLED); CHECK_EQ(llm_rewind(c, 0), LLM_OK); }
        else {
            CHECK_EQ(r, LLM_CANCELLED);
            if (late - k.at < best) best = late - k.at;
        }
        CHECK_EQ(llm_past(c), 0);
        CHECK_EQ(llm_eval(c, t, 40), LLM_OK);
        CHECK(memcmp(fresh, llm_logits(c), sizeof fresh) == 0);
    }
    printf("  prefill: %.1f ms from llm_cancel to the return\n", best);
    CHECK(best < limit_ms);
    llm_close(c);
    llm_unload(m);
    free(f.p);
}
static void cancelled_decode(void) {
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    double best = 1e9;
    int i, cancelled = 0;
    SECTION("FR-084 a cancelled answer");
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = llm_load(tiny, &d, &e);
    c = open_for(m, 24);
    if (!CHECK(c != NULL)) { llm_unload(m); return; }
    for (i = 0; i < 4 * TRIES; i++) {
        char text[TEXT] = "";
        pthread_t t;
        cancel k;
        double late;
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        CHECK_EQ(llm_say(c, "user", question), LLM_OK);
        cancel_init(&k, c, 0.3 * i);
        pthread_create(&t, NULL, cancel_soon, &k);
        shared_add(&k.begun, 1);
        take(c, text);
        late = now_ms();
        pthread_join(t, NULL);
        if (llm_why(c) == LLM_STOP_CANCEL) {
            if (late - k.at < best) best = late - k.at;
            cancelled++;
            take(c, text);                                             // goes on; max_tokens counts anew
            CHECK(strncmp(text, answer, strlen(answer)) == 0);
        } else {
            CHECK_TEXT(text, answer);
            CHECK(llm_next(c, NULL) == NULL && llm_why(c) == LLM_STOP_CANCEL);        // it came after the end: the next call is it
        }
        CHECK_EQ(llm_rewind(c, 0), LLM_OK);
        CHECK(answers_well(c));
    }
    printf("  decode: %d answers cancelled, %.1f ms from llm_cancel to the return\n", cancelled, best);
    CHECK(cancelled > 0 && best < limit_ms);
    llm_close(c);
    llm_unload(m);
}

int main(void) {
    llm_error e;
    llm_model *m = llm_load(tiny, NULL, &e);
    llm_ctx *c = open_for(m, 24);
    SECTION("the answer");
    if (!CHECK(c && llm_say(c, "user", question) == LLM_OK)) return test_done();
    take(c, answer);
    CHECK(answer[0]);
    llm_close(c);
    llm_unload(m);
    one_model();
    one_context();
    last_one_out();
    cancelled_load();
    cancelled_prefill();
    cancelled_decode();
    return test_done();
}
