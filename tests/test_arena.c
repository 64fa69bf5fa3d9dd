// test_arena - everything in one buffer: llm_plan_info.arena_bytes is exact, and after llm_open nothing is asked for any more.
#include <stdlib.h>
static unsigned long mallocs;                                        // of the library
static void *count_malloc(size_t n) { mallocs++; return malloc(n); }
#define LLM_MALLOC(n) count_malloc(n)
#define LLM_FREE(p) free(p)
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "gguf_writer.h"

enum { FENCE = 64, ODD = 5, TOKENS = 4096 };

//------------------------------------------------------------------------------------------------------------------------------
// A buffer of just so many bytes at an odd address, with a fence on each side.

typedef struct field { unsigned char *all, *at; size_t bytes; } field;

static field field_make(size_t bytes) {
    field f;
    f.bytes = bytes;
    f.all = (unsigned char *)malloc(bytes + 2 * FENCE + ODD);
    f.at = f.all + FENCE + ODD;
    memset(f.all, 0xc5, bytes + 2 * FENCE + ODD);
    return f;
}
static int field_whole(const field *f) {
    size_t i;
    for (i = 0; i < FENCE + ODD; i++)
        if (f->all[i] != 0xc5) return 0;
    for (i = 0; i < FENCE; i++)
        if (f->at[f->bytes + i] != 0xc5) return 0;
    return 1;
}
static void field_free(field *f) {
    CHECK(field_whole(f));
    free(f->all);
}
static const llm__bump *bump_of(const llm_allocator *a) { return &((const llm__arena *)a->user)->bump; }

//------------------------------------------------------------------------------------------------------------------------------
// A model by one of three ways.

typedef enum way { MEMORY, READER, FILE_READ, FILE_MAPPED, WAYS } way;
typedef struct subject { const char *path; unsigned char *bytes; size_t n; llm_reader reader; } subject;

static size_t subject_read_at(void *user, uint64_t offset, void *dst, size_t n) {
    const subject *s = (const subject *)user;
    n = n < 1000 ? n : 1000;                                         // a reader may give less than it is asked for
    memcpy(dst, s->bytes + offset, n);
    return n;
}
static int subject_open(subject *s, const char *path) {
    s->path = path;
    s->bytes = test_read(path, &s->n);
    s->reader.user = s;
    s->reader.size = s->n;
    s->reader.read_at = subject_read_at;
    return CHECK(s->bytes != NULL);
}
static void wish_for(way w, llm_model_desc *d) { d->mapping = w == FILE_READ ? LLM_READ : w == FILE_MAPPED ? LLM_MAP : LLM_MAP_AUTO; }
static llm_result subject_plan(const subject *s, way w, llm_model_desc d, const llm_ctx_desc *c, llm_plan_info *p, llm_error *e) {
    memset(p, 0, sizeof *p);
    wish_for(w, &d);
    return w == MEMORY ? llm_plan_memory(s->bytes, s->n, &d, c, p, e) : w == READER ? llm_plan_reader(&s->reader, &d, c, p, e)
         : llm_plan(s->path, &d, c, p, e);
}
static llm_model *subject_load(const subject *s, way w, llm_model_desc d, llm_error *e) {
    wish_for(w, &d);
    return w == MEMORY ? llm_load_memory(s->bytes, s->n, &d, e) : w == READER ? llm_load_reader(&s->reader, &d, e)
         : llm_load(s->path, &d, e);
}

//------------------------------------------------------------------------------------------------------------------------------
// Long use. What it returns is written down, so that two of them can be compared.

typedef struct record { unsigned char *p; size_t n, cap; } record;

static void record_add(record *r, const void *p, size_t n) {
    if (r->n + n > r->cap) r->p = (unsigned char *)realloc(r->p, r->cap = 2 * (r->n + n));
    if (n) memcpy(r->p + r->n, p, n);
    r->n += n;
}
static void record_logits(record *r, const llm_ctx *c) {
    const float *l = llm_logits(c);
    if (l) record_add(r, l, c->model->net.n_vocab * sizeof *l);
}
static void answer(llm_ctx *c, record *r) {
    const char *piece;
    size_t n;
    while ((piece = llm_next(c, &n))) record_add(r, piece, n);
    CHECK(llm_why(c) != LLM_STOP_ERROR);
    if (llm_why(c) == LLM_STOP_ERROR) printf("%s\n", llm_last_error(c)->text);
    n = llm_past(c);
    record_add(r, &n, sizeof n);
    record_logits(r, c);
}
static void talk(llm_ctx *c, record *r) {
    static const char *const stop[] = { "the end of a long story.", " fox", "\n\n\n" };
    int i;
    for (i = 0; i < 5 && llm_past(c) + 120 < c->n_ctx; i++) {          // what is too much is told by other calls in an arena
        llm_set_max_tokens(c, i == 4 ? 0 : 11 + (uint32_t)i);
        CHECK_EQ(llm_set_stop(c, stop, (uint32_t)(i % 4)), LLM_OK);
        CHECK_EQ(llm_say(c, "user", "Say something."), LLM_OK);
        answer(c, r);
        if (llm_why(c) == LLM_STOP_LIMIT && i % 2) answer(c, r);      // goes on
    }
}
static void feed_to_the_end(llm_ctx *c, record *r) {
    int i;
    llm_set_max_tokens(c, 0);
    for (i = 0; i < 60 && llm_past(c) + 40 < c->n_ctx; i++) {
        CHECK_EQ(llm_feed(c, " and then again\n", 16), LLM_OK);
        answer(c, r);
    }
}
static void tokens_to_the_end(llm_ctx *c, record *r, size_t step) {
    static llm_token t[TOKENS];
    size_t i, past;
    for (i = 0; i < TOKENS; i++) t[i] = (llm_token)((i * i + 7 * i) % c->model->net.n_vocab);
    while ((past = llm_past(c)) < c->n_ctx) {
        const size_t n = step < c->n_ctx - past ? step : c->n_ctx - past;
        if (!CHECK_EQ(llm_eval(c, t, n), LLM_OK)) { printf("%s\n", llm_last_error(c)->text); return; }
    }
    CHECK_EQ(llm_eval(c, t, 1), LLM_CONTEXT_FULL);
    record_logits(r, c);
    t[0] = llm_sample(c);
    record_add(r, t, sizeof t[0]);
}
static void use(llm_ctx *c, record *r) {
    const int text = c->model->vocab.status == LLM_OK;
    const llm_token some[3] = { 1, 2, 3 };
    tokens_to_the_end(c, r, 100);
    CHECK_EQ(llm_rewind(c, c->n_ctx / 2), LLM_OK);
    tokens_to_the_end(c, r, 33);
    CHECK_EQ(llm_rewind(c, 5), LLM_OK);                               // a window has lost it: everything again
    llm_trim(c);
    tokens_to_the_end(c, r, 1000);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    if (text && c->chat_result == LLM_OK) talk(c, r);
    CHECK_EQ(llm_rewind(c, llm_past(c) / 2), LLM_OK);
    if (text && c->n_ctx <= 512) feed_to_the_end(c, r);
    CHECK_EQ(llm_rewind(c, llm_past(c) / 3), LLM_OK);
    if (text && c->chat_result == LLM_OK) talk(c, r);
    CHECK_EQ(llm_rewind(c, 0), LLM_OK);
    CHECK_EQ(llm_eval(c, some, 3), LLM_OK);
    record_logits(r, c);
    if (text) answer(c, r);
}

//------------------------------------------------------------------------------------------------------------------------------
// arena_bytes: enough, and no byte too many.

static void check_refused(const subject *s, way w, llm_model_desc d, const llm_ctx_desc *c, size_t bytes) {
    field f = field_make(bytes);
    llm_error e;
    llm_model *m;
    llm_ctx *ctx = NULL;
    d.allocator = llm_arena(f.at, bytes);
    m = subject_load(s, w, d, &e);
    if (m) ctx = llm_open(m, c, &e);
    CHECK(!ctx);
    CHECK_EQ(e.code, LLM_NO_MEMORY);
    CHECK(strlen(e.text) > 20);
    llm_close(ctx);
    llm_unload(m);
    if (d.allocator.user) CHECK(bump_of(&d.allocator)->n_live == 0 && bump_of(&d.allocator)->used == 0);
    field_free(&f);
}
// Loads and opens in exactly the planned bytes, twice in the same buffer, and uses it to the end; the record is what malloc gives as well.
static void check_exact(const subject *s, way w, llm_model_desc d, const llm_ctx_desc *c, const record *want) {
    llm_plan_info p;
    llm_error e;
    field f;
    int round;
    if (!CHECK_EQ(subject_plan(s, w, d, c, &p, &e), LLM_OK)) { printf("%s: %s\n", s->path, e.text); return; }
    check_refused(s, w, d, c, (size_t)p.arena_bytes - 1);
    f = field_make((size_t)p.arena_bytes);
    for (round = 0; round < 2; round++) {
        const unsigned long before = mallocs;
        record got = { NULL, 0, 0 };
        llm__arena state;
        llm_model *m;
        llm_ctx *ctx;
        uint64_t asked;
        d.allocator = llm_arena(f.at, f.bytes);
        m = subject_load(s, w, d, &e);
        ctx = llm_open(m, c, &e);
        if (!CHECK(ctx != NULL)) { printf("%s: %s\n", s->path, e.text); llm_unload(m); break; }
        CHECK_EQ(bump_of(&d.allocator)->most, bump_of(&d.allocator)->room);
        memcpy(&state, d.allocator.user, sizeof state);
        asked = ctx->n_allocs;
        if (want) {
            use(ctx, &got);
            CHECK(got.n == want->n && memcmp(got.p, want->p, got.n) == 0);
        }
        CHECK_EQ(ctx->n_allocs, asked);                               // nothing was asked for, in vain or not
        CHECK(memcmp(&state, d.allocator.user, sizeof state) == 0);
        free(got.p);
        llm_close(ctx);
        ctx = llm_open(m, c, &e);                                     // a second context after the first
        CHECK(ctx != NULL);
        llm_unload(m);
        llm_close(ctx);
        CHECK_EQ(mallocs, before);
        CHECK_EQ(bump_of(&d.allocator)->used, 0);
    }
    field_free(&f);
}
static record with_malloc(const subject *s, llm_model_desc d, const llm_ctx_desc *c) {
    record r = { NULL, 0, 0 };
    llm_error e;
    llm_model *m = subject_load(s, MEMORY, d, &e);
    llm_ctx *ctx = llm_open(m, c, &e);
    if (CHECK(ctx != NULL)) use(ctx, &r);
    llm_close(ctx);
    llm_unload(m);
    return r;
}
static llm_ctx_desc sizes(uint32_t n_ctx, uint32_t n_batch, llm_kv_type kv) {
    llm_ctx_desc c;
    memset(&c, 0, sizeof c);
    c.n_ctx = n_ctx; c.n_batch = n_batch; c.kv_type = kv;
    return c;
}
static void a_plain_loop(void *user, uint32_t n, void (*task)(void *arg, uint32_t index), void *arg) {
    uint32_t i;
    (void)user;
    for (i = 0; i < n; i++) task(arg, i);
}

// Every way of loading, types of keys and values, sizes: exact. Long use where `long_use` says so.
static void one_model(const char *path, uint32_t n_ctx, int long_use) {
    static const llm_kv_type kv[] = { LLM_KV_F16, LLM_KV_Q8_0, LLM_KV_F32 };
    subject s;
    llm_model_desc d;
    llm_ctx_desc c;
    llm_sampling drawn = LLM_SAMPLING_DEFAULT;
    const char *const stop[] = { "a stop string that is rather long", "another" };
    int i, w;
    memset(&d, 0, sizeof d);
    if (!subject_open(&s, path)) return;
    d.n_threads = 1;
    for (i = 0; i < 3; i++) {
        record want = { NULL, 0, 0 };
        c = sizes(n_ctx, i == 1 ? 16 : 8, kv[i]);
        if (i == 1) { c.sampling = drawn; c.sampling.repeat_penalty = 1.1f; c.stop = stop; c.n_stop = 2; }
        c.chat_template = "chatml";
        if (long_use) want = with_malloc(&s, d, &c);
        check_exact(&s, MEMORY, d, &c, long_use ? &want : NULL);
        free(want.p);
    }
    for (w = 1; w < WAYS; w++) {
        c = sizes(100, 0, LLM_KV_F16);
        check_exact(&s, (way)w, d, &c, NULL);
    }
    for (i = 0; i < 6; i++) {
        static const uint32_t odd[6] = { 1, 63, 64, 65, 1025, 3000 };
        c = sizes(odd[i], odd[5 - i], kv[i % 3]);
        check_exact(&s, MEMORY, d, &c, NULL);
    }
    c = sizes(64, 64, LLM_KV_F16);
    d.n_threads = 3;
    check_exact(&s, MEMORY, d, &c, NULL);
    d.parallel.for_fn = a_plain_loop;
    check_exact(&s, READER, d, &c, NULL);
    memset(&d, 0, sizeof d);
    check_exact(&s, MEMORY, d, NULL, NULL);                           // all defaults
    free(s.bytes);
}
// A directory that is longer than the first piece of it that is read: where there is one arena it grows in its place.
static void test_long_directory(void) {
    static const char key[] = "general.comment";
    const char *path = test_scratch("test_arena.gguf");
    const size_t head = 8 + sizeof key - 1 + 4 + 8, more = 300000 / 32 * 32, text = more - head;       // the data stays aligned
    size_t n, i;
    unsigned char *bytes = test_read(test_data("llama-dense.gguf"), &n), *all = (unsigned char *)malloc(n + more), *at = all;
    if (!CHECK(bytes && all)) return;
    memcpy(at, bytes, 24);
    at[16]++;                                                         // one key more
    memset(at += 24, 0, 8);
    *at = (unsigned char)(sizeof key - 1);
    memcpy(at += 8, key, sizeof key - 1);
    memset(at += sizeof key - 1, 0, 12);
    at[0] = LLM__GGUF_STRING;
    for (i = 0; i < 8; i++) at[4 + i] = (unsigned char)((uint64_t)text >> 8 * i);
    memset(at += 12, 'c', text);
    memcpy(at + text, bytes + 24, n - 24);
    CHECK(test_write(path, all, n + more));
    one_model(path, 64, 0);
    remove(path);
    free(bytes);
    free(all);
}
// The ways, with a whole conversation.
static void test_ways(const char *path) {
    subject s;
    llm_model_desc d;
    llm_ctx_desc c = sizes(192, 16, LLM_KV_F16);
    record want;
    int w;
    memset(&d, 0, sizeof d);
    if (!subject_open(&s, path)) return;
    d.n_threads = 1;
    want = with_malloc(&s, d, &c);
    d.n_threads = 2;
    for (w = 0; w < WAYS; w++) {
        d.parallel.for_fn = w == READER ? a_plain_loop : NULL;
        check_exact(&s, (way)w, d, &c, &want);
    }
    free(want.p);
    free(s.bytes);
}
// Any smaller buffer is refused, whatever stage it gets to; none of it is written beyond its end.
static void test_too_small(const char *path) {
    subject s;
    llm_model_desc d;
    llm_ctx_desc c = sizes(64, 8, LLM_KV_F16);
    llm_plan_info p;
    llm_error e;
    size_t n;
    memset(&d, 0, sizeof d);
    if (!subject_open(&s, path)) return;
    d.n_threads = 1;
    if (!CHECK_EQ(subject_plan(&s, MEMORY, d, &c, &p, &e), LLM_OK)) return;
    for (n = 0; n < 300; n++) check_refused(&s, MEMORY, d, &c, n);
    for (; n < p.arena_bytes; n += n / 16 + 1) check_refused(&s, MEMORY, d, &c, n);
    for (n = 1; n < 200; n++) check_refused(&s, MEMORY, d, &c, (size_t)p.arena_bytes - n);
    d.allocator = llm_arena(NULL, 1000000);
    CHECK(!llm_load_memory(s.bytes, s.n, &d, &e));
    CHECK_EQ(e.code, LLM_NO_MEMORY);
    free(s.bytes);
}
// A plan may itself be made in the arena that it is for.
static void test_plan_inside(const char *path) {
    subject s;
    llm_model_desc d;
    llm_ctx_desc c = sizes(64, 8, LLM_KV_Q8_0);
    llm_plan_info outside, inside;
    llm_error e;
    field f;
    const unsigned long *count = &mallocs;
    unsigned long before;
    memset(&d, 0, sizeof d);
    if (!subject_open(&s, path)) return;
    CHECK_EQ(subject_plan(&s, MEMORY, d, &c, &outside, &e), LLM_OK);
    f = field_make((size_t)outside.arena_bytes);
    d.allocator = llm_arena(f.at, f.bytes);
    before = *count;
    CHECK_EQ(subject_plan(&s, MEMORY, d, &c, &inside, &e), LLM_OK);
    CHECK_EQ(*count, before);
    CHECK_EQ(inside.arena_bytes, outside.arena_bytes);
    CHECK_EQ(bump_of(&d.allocator)->used, 0);
    field_free(&f);
    free(s.bytes);
}

//------------------------------------------------------------------------------------------------------------------------------
// Limits of text: refused where it is said, with the object as it was.

typedef struct placed { subject s; field f; llm_model *m; llm_ctx *c; } placed;

static int placed_open(placed *p, const char *path, const llm_ctx_desc *c) {
    llm_model_desc d;
    llm_plan_info plan;
    llm_error e;
    memset(&d, 0, sizeof d);
    memset(p, 0, sizeof *p);
    d.n_threads = 1;
    if (!subject_open(&p->s, path) || !CHECK_EQ(subject_plan(&p->s, MEMORY, d, c, &plan, &e), LLM_OK)) return 0;
    p->f = field_make((size_t)plan.arena_bytes);
    d.allocator = llm_arena(p->f.at, p->f.bytes);
    p->m = subject_load(&p->s, MEMORY, d, &e);
    p->c = llm_open(p->m, c, &e);
    return CHECK(p->c != NULL);
}
static void placed_close(placed *p) {
    llm_close(p->c);
    llm_unload(p->m);
    if (p->f.all) field_free(&p->f);
    free(p->s.bytes);
}
static char *repeated(const char *word, size_t n) {
    char *t = (char *)malloc(n + 1);
    size_t i, k = strlen(word);
    for (i = 0; i < n; i++) t[i] = word[i % k];
    t[n] = 0;
    return t;
}
static void test_limits(const char *path) {
    llm_ctx_desc c = sizes(128, 8, LLM_KV_F16);
    placed p;
    char *much = repeated("once upon a time ", 100000);
    size_t past, n;
    int i;
    if (placed_open(&p, path, &c)) {
        CHECK_EQ(llm_say(p.c, "user", much), LLM_CONTEXT_FULL);
        CHECK(strlen(llm_last_error(p.c)->text) > 20);
        CHECK_EQ(llm_feed(p.c, much, 100000), LLM_CONTEXT_FULL);
        CHECK(llm_next(p.c, NULL) == NULL);                           // nothing waits, and this is why
        CHECK(llm_why(p.c) == LLM_STOP_ERROR && llm_last_error(p.c)->code == LLM_CONTEXT_FULL);
        CHECK_EQ(llm_say(p.c, "user", "Hello."), LLM_OK);
        llm_set_max_tokens(p.c, 4);
        while (llm_next(p.c, NULL)) { }
        CHECK_EQ(llm_why(p.c), LLM_STOP_LIMIT);
        past = llm_past(p.c);
        CHECK_EQ(llm_say(p.c, "user", much), LLM_CONTEXT_FULL);       // in the middle of an answer, which goes on
        CHECK_EQ(llm_feed(p.c, much, 90000), LLM_CONTEXT_FULL);
        for (n = 600; n < 1500; n += 100) CHECK_EQ(llm_feed(p.c, much, n), LLM_CONTEXT_FULL);      // some fit as bytes and not as tokens
        while (llm_next(p.c, NULL)) { }
        CHECK_EQ(llm_why(p.c), LLM_STOP_LIMIT);
        CHECK_EQ(llm_past(p.c), past + 4);
        for (i = 0; i < 1000 && llm_say(p.c, "user", "") == LLM_OK; i++) { }
        CHECK(i > 1 && i < 128);
        CHECK_EQ(llm_last_error(p.c)->code, LLM_CONTEXT_FULL);
        while (llm_next(p.c, NULL)) { }
        CHECK(llm_why(p.c) != LLM_STOP_ERROR);
        CHECK_EQ(llm_rewind(p.c, 0), LLM_OK);
    }
    placed_close(&p);
    free(much);
}
// The bytes that llm.h promises, and one more: of fed text, and of messages with their roles and a NUL for each text. Special tokens are long,
// so that they are few.
static void test_last_byte(const char *path) {
    llm_ctx_desc c = sizes(128, 8, LLM_KV_F16);
    const size_t most = 8 * 128 + 256, own = sizeof "user";
    char *text = repeated("<|endoftext|>", 1300);
    placed p;
    size_t n;
    c.trust_content = 1;
    if (placed_open(&p, path, &c)) {
        for (n = most + 1; n >= most; n--) {
            CHECK_EQ(llm_feed(p.c, text, n), n > most ? LLM_CONTEXT_FULL : LLM_OK);
            if (n > most) CHECK(strstr(llm_last_error(p.c)->text, "1280 bytes of messages") != NULL);
        }
        CHECK_EQ(llm_rewind(p.c, 0), LLM_OK);
        for (n = most + 1 - own - 1; n >= most - own - 1; n--) {
            text[n] = 0;
            CHECK_EQ(llm_say(p.c, "user", text), n > most - own - 1 ? LLM_CONTEXT_FULL : LLM_OK);
        }
    }
    placed_close(&p);
    free(text);
}
// Ordinary text that fills the context to its last position is not refused for its length.
static void test_fills(const char *path) {
    llm_ctx_desc c = sizes(256, 16, LLM_KV_Q8_0);
    placed p;
    char *text = repeated("The fox and the old owl went down to the river to look for the lost red boat. ", 2000);
    size_t n = 0;
    if (placed_open(&p, path, &c)) {
        llm_token t[300];
        while (llm_tokenize(p.m, text, n + 1, 0, t, 300) != LLM_FAILED && n < 2000) n++;
        CHECK_EQ(n, 0);                                               // the model's own calls find no memory in an arena that is full
        for (n = 2000; n > 0 && llm_feed(p.c, text, n) != LLM_OK; n--) CHECK_EQ(llm_last_error(p.c)->code, LLM_CONTEXT_FULL);
        CHECK(n > 500);
        CHECK(llm_next(p.c, NULL) == NULL || llm_past(p.c) > 250);
        CHECK(llm_why(p.c) != LLM_STOP_ERROR && llm_past(p.c) >= 254);
    }
    placed_close(&p);
    free(text);
}
// What a call takes and gives back leaves no hole, in whatever order it comes back: the arena stays as it was, however many calls there are.
static void test_spare(const char *path) {
    const llm_message question = { "user", "What is in the box?" };
    const char text[] = "A   fox, an owl and 12 frogs <|im_end|> went down to the river.";
    llm_model_desc d = LLM__ZERO;
    llm_ctx_desc c = sizes(64, 8, LLM_KV_Q8_0);
    llm_plan_info plan;
    llm_error e;
    llm_model *m;
    llm_ctx *x;
    llm_token t[100];
    char out[200];
    subject s;
    field f;
    size_t n, i;
    uint64_t used;
    if (!subject_open(&s, path)) return;
    d.n_threads = 1;
    CHECK_EQ(subject_plan(&s, MEMORY, d, &c, &plan, &e), LLM_OK);
    f = field_make((size_t)plan.arena_bytes + 6000);
    d.allocator = llm_arena(f.at, f.bytes);
    m = subject_load(&s, MEMORY, d, &e);
    if (CHECK(m != NULL)) {
        used = bump_of(&d.allocator)->used;
        for (i = 0; i < 1000; i++) {
            n = llm_tokenize(m, text, sizeof text - 1, i % 2 ? (unsigned)LLM_PARSE_SPECIAL : 0u, t, 100);
            if (!CHECK(n != LLM_FAILED && bump_of(&d.allocator)->used == used)) break;
            n = llm_render_chat(m, NULL, &question, 1, LLM_GENERATION_PROMPT, out, sizeof out, &e);
            if (!CHECK(n != LLM_FAILED && bump_of(&d.allocator)->used == used)) break;
            if (i == 500) CHECK(subject_plan(&s, MEMORY, d, &c, &plan, &e) != LLM_OK || bump_of(&d.allocator)->used == used);
        }
        for (i = 0; i < 3; i++) {                                   // contexts come and go
            x = llm_open(m, &c, &e);
            CHECK(x != NULL);
            CHECK(llm_tokenize(m, text, sizeof text - 1, 0, t, 100) != LLM_FAILED);
            llm_close(x);
            CHECK(bump_of(&d.allocator)->used == used);
        }
    }
    llm_unload(m);
    CHECK_EQ(bump_of(&d.allocator)->used, 0);
    field_free(&f);
    free(s.bytes);
}
// A long conversation of short messages is rewound to every place as it is with malloc: no message is lost for want of room.
static size_t rewound(const subject *s, llm_model_desc d, const llm_ctx_desc *c, size_t back, record *r) {
    llm_error e;
    llm_model *m = subject_load(s, MEMORY, d, &e);
    llm_ctx *x = llm_open(m, c, &e);
    size_t notes = 0;
    int i;
    if (CHECK(x != NULL)) {
        for (i = 0; i < 40; i++) {
            CHECK_EQ(llm_say(x, "user", "Go on."), LLM_OK);
            CHECK_EQ(llm_say(x, "assistant", "Yes?"), LLM_OK);
        }
        CHECK_EQ(llm_say(x, "user", "And?"), LLM_OK);
        answer(x, r);
        CHECK_EQ(llm_rewind(x, llm_past(x) - LLM__MIN(back, llm_past(x) - 1)), LLM_OK);
        notes = x->n_notes;
        CHECK_EQ(llm_say(x, "user", "So?"), LLM_OK);
        answer(x, r);
    }
    llm_close(x);
    llm_unload(m);
    return notes;
}
static void test_rewinds(const char *path) {
    static const size_t backs[] = { 1, 30, 101, 250, 400 };
    llm_model_desc d = LLM__ZERO;
    llm_ctx_desc c = sizes(1024, 16, LLM_KV_Q8_0);
    llm_plan_info plan;
    llm_error e;
    subject s;
    size_t i, most = 0;
    if (!subject_open(&s, path)) return;
    c.max_tokens = 6;
    d.n_threads = 1;
    CHECK_EQ(subject_plan(&s, MEMORY, d, &c, &plan, &e), LLM_OK);
    for (i = 0; i < sizeof backs / sizeof *backs; i++) {
        field f = field_make((size_t)plan.arena_bytes);
        llm_model_desc in = d;
        record want = { NULL, 0, 0 }, got = { NULL, 0, 0 };
        size_t notes = rewound(&s, d, &c, backs[i], &want);
        in.allocator = llm_arena(f.at, f.bytes);
        CHECK_EQ(rewound(&s, in, &c, backs[i], &got), notes);
        CHECK(got.n == want.n && memcmp(got.p, want.p, got.n) == 0);
        if (notes > most) most = notes;
        free(want.p); free(got.p);
        field_free(&f);
    }
    CHECK(most > 40);                                                // messages were there to be kept
    free(s.bytes);
}
static void test_settings(const char *path) {
    static const char *const nine[] = { "0123456789abcdef0123456789abcdef", "b", "c", "d", "e", "0123456789abcdef0123456789abcdeg", "g", "h",
                                        "i" };
    llm_ctx_desc c = sizes(64, 8, LLM_KV_F16);
    llm_sampling drawn = LLM_SAMPLING_DEFAULT;
    llm_bias bias[3] = { { 1, 1.0f }, { 2, -1.0f }, { 3, 0.5f } };
    placed p;
    char *longer = repeated("x", 4000);
    const char *one = longer;
    if (placed_open(&p, path, &c)) {                                  // greedy: nothing is kept for anything else
        CHECK_EQ(llm_set_stop(p.c, nine, 6), LLM_OK);
        CHECK_EQ(llm_set_stop(p.c, nine, 9), LLM_NO_MEMORY);
        CHECK_EQ(p.c->stops.n, 6);                                    // as it was
        CHECK_EQ(llm_set_stop(p.c, &one, 1), LLM_NO_MEMORY);
        CHECK_EQ(llm_set_sampling(p.c, &drawn), LLM_NO_MEMORY);
        CHECK(strstr(llm_last_error(p.c)->text, "llm_open") != NULL);
        CHECK_EQ(llm_set_sampling(p.c, NULL), LLM_OK);
    }
    placed_close(&p);
    c.sampling = drawn;
    c.sampling.typical_p = 0.9f;
    c.sampling.frequency_penalty = 0.1f;
    c.sampling.bias = bias;
    c.sampling.n_bias = 3;
    c.stop = &one;
    c.n_stop = 1;
    if (placed_open(&p, path, &c)) {                                  // the settings that take most: all others fit
        CHECK_EQ(llm_set_sampling(p.c, NULL), LLM_OK);
        CHECK_EQ(llm_set_sampling(p.c, &drawn), LLM_OK);
        CHECK_EQ(llm_set_sampling(p.c, &c.sampling), LLM_OK);
        drawn.n_bias = 3;
        drawn.bias = bias;
        CHECK_EQ(llm_set_sampling(p.c, &drawn), LLM_OK);
        CHECK_EQ(llm_set_stop(p.c, nine, 9), LLM_OK);
        CHECK_EQ(llm_set_stop(p.c, NULL, 0), LLM_OK);
        CHECK_EQ(llm_set_stop(p.c, &one, 1), LLM_OK);
    }
    placed_close(&p);
    free(longer);
}
// Anything at random, for a long time: never LLM_NO_MEMORY, and nothing more is taken.
static void test_anything(const char *path, uint32_t n_ctx, unsigned steps, uint32_t seed) {
    static const char *const stop[] = { "e", " the", "ab\n", "\xf0\x9f\x98" };
    static const char *const roles[] = { "user", "assistant", "system", "tool" };
    llm_ctx_desc c = sizes(n_ctx, 1 + seed % 16, LLM_KV_F16);
    llm_token t[64];
    char text[800];
    placed p;
    unsigned i, k, refused = 0, taken = 0;
    c.sampling.temperature = 3.0f;
    c.max_tokens = 7;
    if (placed_open(&p, path, &c)) {
        llm__arena state;
        memcpy(&state, p.m->heap.a.user, sizeof state);
        for (i = 0; i < steps; i++) {
            const uint32_t x = seed = seed * 1664525u + 1013904223u, what = x >> 28, n = x >> 8 & 511;
            llm_result r = LLM_OK;
            for (k = 0; k < n; k++) text[k] = what & 1 ? "the fox, a boat. \n"[(x >> 5) * (k + 1) % 18] : (char)((x * (k + 3) >> 7) | 1);
            text[n] = 0;
            for (k = 0; k < 64; k++) t[k] = (llm_token)((x >> 3) * (k + 1) % p.m->net.n_vocab);
            if (what < 4) r = llm_say(p.c, roles[x >> 6 & 3], text + (x >> 20 & 1 ? n - n / 8 : 0));
            else if (what < 7) r = llm_feed(p.c, text, n / (1 + (x >> 18 & 7)));
            else if (what < 11) for (k = 0; k < n / 8 && llm_next(p.c, NULL); k++) { }
            else if (what == 11) r = llm_eval(p.c, t, n % 64);
            else if (what == 12) r = llm_rewind(p.c, n % (llm_past(p.c) + 1));
            else if (what == 13) r = llm_set_stop(p.c, stop, n % 5);
            else if (what == 14) llm_sample(p.c);
            else if (n < 64) r = llm_rewind(p.c, 0);
            if (what < 7 && r == LLM_OK) taken++;
            if (what < 7 && r == LLM_CONTEXT_FULL) refused++;
            if (!CHECK(r != LLM_NO_MEMORY && llm_last_error(p.c)->code != LLM_NO_MEMORY)) printf("%s\n", llm_last_error(p.c)->text);
            if (!CHECK(what == 12 || what == 15 ? r == LLM_OK : 1)) printf("%s\n", llm_last_error(p.c)->text);
        }
        CHECK(memcmp(&state, p.m->heap.a.user, sizeof state) == 0);
        if (p.m->vocab.status == LLM_OK) {
            CHECK(taken > steps / 50 && refused > steps / 200);
            CHECK_EQ(bump_of(&p.c->work.a)->n_live, 0);                // every call gives back what it worked with
        }
    }
    placed_close(&p);
}

//------------------------------------------------------------------------------------------------------------------------------
// The allocator hook: every byte through it, as it says.

typedef struct ledger { struct { void *p; size_t bytes; } v[4096]; size_t n, n_calls; int wrong; } ledger;

static void *ledger_alloc(void *user, size_t bytes, size_t align) {
    ledger *l = (ledger *)user;
    unsigned char *raw = (unsigned char *)malloc(bytes + 2 * align), *p;
    if (!raw || l->n == 4096 || !align || align > 64 || (align & (align - 1))) { l->wrong++; free(raw); return NULL; }
    p = raw + align - ((uintptr_t)raw & (align - 1));                 // aligned as asked, and no better than that
    if (((uintptr_t)p & (2 * align - 1)) == 0) p += align;
    p[-1] = (unsigned char)(p - raw);
    memset(p, 0xa7, bytes);
    l->v[l->n].p = p;
    l->v[l->n++].bytes = bytes;
    l->n_calls++;
    return p;
}
static void ledger_free(void *user, void *q, size_t bytes) {
    ledger *l = (ledger *)user;
    unsigned char *p = (unsigned char *)q;
    size_t i;
    for (i = 0; i < l->n && l->v[i].p != q; i++) { }
    if (i == l->n || l->v[i].bytes != bytes) { l->wrong++; return; }
    l->v[i] = l->v[--l->n];
    free(p - p[-1]);
}
static void test_hook(const char *path) {
    static ledger l;
    const unsigned long before = mallocs;
    subject s;
    llm_model_desc d;
    llm_ctx_desc c = sizes(192, 16, LLM_KV_F16);
    record r = { NULL, 0, 0 };
    llm_plan_info p;
    llm_error e;
    int w;
    memset(&l, 0, sizeof l);
    memset(&d, 0, sizeof d);
    if (!subject_open(&s, path)) return;
    d.allocator.user = &l;
    d.allocator.alloc_fn = ledger_alloc;
    d.allocator.free_fn = ledger_free;
    d.n_threads = 2;
    for (w = 0; w < WAYS; w++) {
        llm_model *m;
        llm_ctx *ctx;
        const size_t calls = l.n_calls;
        CHECK_EQ(subject_plan(&s, (way)w, d, &c, &p, &e), LLM_OK);
        CHECK_EQ(l.n, 0);
        m = subject_load(&s, (way)w, d, &e);
        ctx = llm_open(m, &c, &e);
        if (CHECK(ctx != NULL)) use(ctx, &r);
        llm_unload(m);
        llm_close(ctx);
        CHECK_EQ(l.n, 0);
        CHECK(l.n_calls > calls + 20);
    }
    CHECK_EQ(l.wrong, 0);
    CHECK_EQ(mallocs, before);
    free(r.p);
    free(s.bytes);
}

//------------------------------------------------------------------------------------------------------------------------------
// The small llama of tests/data with a vocabulary in SentencePiece style, in which a text merges as a whole where `joined` says that a
// token reaches over a space; and the same in two shards.

static unsigned char *spoken(int joined, uint32_t shard, uint32_t n_shards, size_t *n) {
    static const char *const words[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "\xe2\x96\x81t", "he", "\xe2\x96\x81the", "in", "ing", "\xe2\x96\x81" "a",
                                         "fo", "fox", "\xe2\x96\x81" "fox", "<0x0A>", "\xe2\x96\x81\xe2\x96\x81", "bo", "boat" };
    static char texts[128][16];
    const char *list[128];
    float scores[128];
    size_t bytes, i;
    unsigned char *whole = test_read(test_data("llama-dense.gguf"), &bytes), *made;
    llm__heap heap;
    llm__gguf_options o;
    llm__gguf g;
    gguf_writer w;
    memset(&heap, 0, sizeof heap);
    memset(&o, 0, sizeof o);
    o.heap = &heap;
    if (!CHECK(llm__gguf_open_memory(&g, whole, bytes, &o, NULL) == LLM_OK)) exit(1);
    for (i = 0; i < 128; i++) {
        if (i < LLM__COUNT(words)) strcpy(texts[i], words[i]);
        else sprintf(texts[i], "%c", (char)(i - LLM__COUNT(words) + '!'));
        if (joined && i == 127) strcpy(texts[i], "x\xe2\x96\x81y");
        list[i] = texts[i];
        scores[i] = -(float)i;
    }
    gw_begin(&w);
    for (i = 0; i < g.n_kv && shard == 0; i++) {
        char key[96];
        const llm__gguf_kv *kv = &g.kv[i];
        sprintf(key, "%.*s", (int)kv->key.n, kv->key.p);
        if (strncmp(key, "tokenizer.", 10) == 0) continue;
        if (kv->type == LLM__GGUF_STRING) gw_text_n(&w, key, (const char *)kv->value + 8, (size_t)kv->n_bytes - 8);
        if (kv->type == LLM__GGUF_U32) gw_u32(&w, key, llm__le32(kv->value));
        if (kv->type == LLM__GGUF_F32) gw_f32(&w, key, llm__bits_f32(llm__le32(kv->value)));
    }
    if (shard == 0) {
        gw_text(&w, "tokenizer.ggml.model", "llama");
        gw_texts(&w, "tokenizer.ggml.tokens", list, 128);
        gw_f32s(&w, "tokenizer.ggml.scores", scores, 128);
    }
    if (n_shards) { gw_u32(&w, "split.no", shard); gw_u32(&w, "split.count", n_shards); }
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i];
        char name[96];
        sprintf(name, "%.*s", (int)t->name.n, t->name.p);
        if (!n_shards || i * n_shards / g.n_tensors == shard)
            gw_tensor(&w, name, t->gguf_type, t->n_dims, t->dims, t->data, (size_t)t->n_bytes);
    }
    made = gw_end(&w, n);
    llm__gguf_close(&g);
    free(whole);
    return made;
}
// The first shard in memory, the second one through a reader: the arena must hold that one, and only that one.
static void test_parts(void) {
    static const llm_kv_type kv[] = { LLM_KV_F16, LLM_KV_Q8_0 };
    int i, less;
    subject s[2];
    memset(s, 0, sizeof s);
    for (i = 0; i < 2; i++) {
        s[i].bytes = spoken(0, (uint32_t)i, 2, &s[i].n);
        s[i].reader.user = &s[i];
        s[i].reader.size = s[i].n;
        s[i].reader.read_at = subject_read_at;
    }
    for (i = 0; i < 4; i++) {
        const way w = i % 2 ? READER : MEMORY;
        llm_model_desc d;
        llm_ctx_desc c = sizes(100, 8, kv[i / 2]);
        llm_plan_info p;
        llm_error e;
        uint64_t second = 0;
        memset(&d, 0, sizeof d);
        d.n_threads = 1;
        d.parts = &s[1].reader; d.n_parts = 1;
        if (!CHECK(subject_plan(&s[0], w, d, &c, &p, &e) == LLM_OK)) break;
        for (less = 0; less < 2; less++) {
            field f = field_make((size_t)p.arena_bytes - (size_t)less);
            llm_model *m;
            llm_ctx *ctx;
            d.allocator = llm_arena(f.at, f.bytes);
            m = subject_load(&s[0], w, d, &e);
            ctx = llm_open(m, &c, &e);
            if (!CHECK(less ? !ctx && e.code == LLM_NO_MEMORY : ctx != NULL)) printf("  way %d, %d less: %s\n", (int)w, less, e.text);
            if (ctx) {
                uint32_t t;
                for (t = 0; t < m->gguf.n_tensors; t++) second += m->gguf.tensors[t].shard ? m->gguf.tensors[t].n_bytes : 0;
            }
            llm_close(ctx);
            llm_unload(m);
            field_free(&f);
        }
        CHECK(p.weights_mapped == 0 && second > 0 && p.weights_read == (w == READER ? p.weight_bytes : second));
    }
    for (i = 0; i < 2; i++) free(s[i].bytes);
}
// One layer whose queries, keys and values are one matrix, with a bias that keeps the keys of Q8_0 in F16, or does not.
static void test_fused_biases(void) {
    enum { E = 32 };
    static float zeros[3 * E * E], bias[3 * E];
    static const char *const square[] = { "attn_output", "ffn_gate", "ffn_up", "ffn_down" }, *const norms[] = { "attn_norm", "ffn_norm" };
    const uint64_t qkv[2] = { E, 3 * E }, plain[2] = { E, E };
    int i, k;
    for (i = 0; i < 3; i++) {
        gguf_writer w;
        llm_model_desc d;
        llm_ctx_desc c = sizes(200, 8, LLM_KV_Q8_0);
        subject s;
        char name[64];
        memset(&d, 0, sizeof d);
        memset(&s, 0, sizeof s);
        memset(bias, 0, sizeof bias);
        if (i) bias[i == 1 ? E : 0] = -20.0f;                            // 1: a key's, 2: a query's
        gw_begin(&w);
        gw_text(&w, "general.architecture", "llama");
        gw_u32(&w, "llama.block_count", 1); gw_u32(&w, "llama.context_length", 200); gw_u32(&w, "llama.embedding_length", E);
        gw_u32(&w, "llama.feed_forward_length", E); gw_u32(&w, "llama.attention.head_count", 1);
        gw_tensor(&w, "token_embd.weight", 0, 2, plain, zeros, E * E * 4);
        gw_tensor(&w, "output_norm.weight", 0, 1, plain, zeros, E * 4);
        gw_tensor(&w, "blk.0.attn_qkv.weight", 0, 2, qkv, zeros, sizeof zeros);
        gw_tensor(&w, "blk.0.attn_qkv.bias", 0, 1, qkv + 1, bias, sizeof bias);
        for (k = 0; k < 4; k++) { sprintf(name, "blk.0.%s.weight", square[k]); gw_tensor(&w, name, 0, 2, plain, zeros, E * E * 4); }
        for (k = 0; k < 2; k++) { sprintf(name, "blk.0.%s.weight", norms[k]); gw_tensor(&w, name, 0, 1, plain, zeros, E * 4); }
        s.path = "a fused bias";
        s.bytes = gw_end(&w, &s.n);
        s.reader.user = &s; s.reader.size = s.n; s.reader.read_at = subject_read_at;
        check_exact(&s, MEMORY, d, &c, NULL);
        check_exact(&s, READER, d, &c, NULL);
        free(s.bytes);
    }
}
static void test_spoken(void) {
    char path[2][TEST_PATH], part[2][TEST_PATH];
    int joined, w;
    size_t n;
    for (joined = 0; joined < 2; joined++) {
        unsigned char *bytes = spoken(joined, 0, 0, &n);
        sprintf(path[joined], "%s", test_scratch(joined ? "arena-joined.gguf" : "arena-words.gguf"));
        if (CHECK(test_write(path[joined], bytes, n))) {
            one_model(path[joined], 256, 1);
            test_too_small(path[joined]);
            test_anything(path[joined], 150, 1500, 99 + (uint32_t)joined);
        }
        free(bytes);
    }
    for (w = 0; w < 2; w++) {
        unsigned char *bytes = spoken(0, (uint32_t)w, 2, &n);
        sprintf(part[w], "%s", test_scratch(w ? "arena-00002-of-00002.gguf" : "arena-00001-of-00002.gguf"));
        CHECK(test_write(part[w], bytes, n));
        free(bytes);
    }
    for (w = FILE_READ; w < WAYS; w++) {
        llm_model_desc d;
        llm_ctx_desc c = sizes(100, 8, LLM_KV_F16);
        subject s;
        memset(&d, 0, sizeof d);
        if (subject_open(&s, part[0])) check_exact(&s, (way)w, d, &c, NULL);
        free(s.bytes);
    }
}

int main(void) {
    static const char *const data[] = { "gemma2-dense.gguf", "gemma3-dense.gguf", "llama-dense.gguf", "llama-scale.gguf",
                                        "phi3-longrope-long.gguf", "qwen3moe-moe.gguf" };
    static const char *const archs[] = { "archs/gemma-dense.gguf", "archs/llama-freqs.gguf", "archs/llama-linear.gguf",
                                         "archs/llama-moe.gguf", "archs/llama-yarn.gguf", "archs/phi3-dense.gguf",
                                         "archs/qwen2-dense.gguf", "archs/qwen3-dense.gguf" };
    const char *tiny = "examples/tiny/tiny.gguf";
    size_t i;
    SECTION("exact");
    one_model(tiny, 256, 1);
    test_ways(tiny);
    for (i = 0; i < LLM__COUNT(data); i++) one_model(test_data(data[i]), i < 2 && !SANITIZED ? 2300 : 200, 1);
    test_long_directory();
    SECTION("SentencePiece, shards");
    test_spoken();
    test_parts();
    test_fused_biases();
    SECTION("exact, architectures");
    for (i = 0; i < LLM__COUNT(archs); i++) {
        const char *path = test_fixture(archs[i]);
        if (!path) { test_skip("arena: no fixtures, only the models in tests/data"); break; }
        one_model(path, 128, 1);
    }
    SECTION("too small");
    test_too_small(tiny);
    test_too_small(test_data("qwen3moe-moe.gguf"));
    test_plan_inside(tiny);
    SECTION("limits");
    test_limits(tiny);
    test_last_byte(tiny);
    test_fills(tiny);
    test_settings(tiny);
    test_spare(tiny);
    test_rewinds(tiny);
    SECTION("anything");
    for (i = 0; i < 6; i++) test_anything(tiny, 70 + 37 * (uint32_t)i, SANITIZED ? 300 : 1500, 1 + (uint32_t)i);
    test_anything(test_data("gemma3-dense.gguf"), 200, 1500, 77);
    test_anything(test_data("phi3-longrope-long.gguf"), 130, 1500, 78);
    SECTION("allocator");
    test_hook(tiny);
    test_hook(test_data("gemma2-dense.gguf"));
    return test_done();
}
