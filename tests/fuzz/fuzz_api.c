// fuzz_api.c - the input is a sequence of calls, sound and unsound, on small models: with an allocator and a reader that fail when told to,
// a job system that cancels in the middle of a computation, several contexts of two models. After every call the object must be as it was
// or as it was asked to be. The whole sequence is played twice, with the best kernels and with the scalar ones, tasks in opposite order:
// all results and all logits must be the same, to the bit. And logits must be those of a fresh context that evaluates the past at once.
#include "fuzz.h"
#include "small_models.h"

enum { MODELS = 2, CONTEXTS = 3, MOST_CALLS = 60, MOST_PAST = 512, MOST_MODEL = 100000 };

typedef struct player {
    choices c;
    int turn;                              // 0: best kernels, tasks forward; 1: scalar, backward
    uint64_t trace;                        // of everything that came back
    fuzz_heap heap;
    fuzz_file file[MODELS];
    llm_model *model[MODELS];
    llm_ctx *ctx[CONTEXTS];
    uint32_t home[CONTEXTS];               // the model of each
    uint32_t tasks, cancel_at, progress, stop_at;
    llm_ctx *busy;                         // the context of the call in progress
    int cut;                               // an evaluation has been cancelled
} player;

static void note(player *p, const void *bytes, size_t n) {
    const uint8_t *b = (const uint8_t *)bytes;
    size_t i;
    for (i = 0; i < n; i++) p->trace = (p->trace ^ b[i]) * 0x100000001b3u;
}
static void note_number(player *p, uint64_t v) { note(p, &v, sizeof v); }
static void note_floats(player *p, const float *f, size_t n) {
    const uint32_t nan = 0x7fc00000u;
    size_t i;
    for (i = 0; i < n; i++) note(p, f[i] != f[i] ? (const void *)&nan : (const void *)&f[i], 4);
}

// ---- hooks

static void run_tasks(void *user, uint32_t n, void (*task)(void *arg, uint32_t index), void *arg) {
    player *p = (player *)user;
    uint32_t i;
    for (i = 0; i < n; i++) {
        if (++p->tasks == p->cancel_at) llm_cancel(p->busy);
        task(arg, p->turn ? n - 1 - i : i);
    }
}
static int on_progress(void *user, int stage, float fraction) {
    player *p = (player *)user;
    MUST((stage == 0 || stage == 1) && fraction >= 0 && fraction <= 1);
    return ++p->progress != p->stop_at;
}
static uint64_t still(void *user) { (void)user; return 1; }

// ---- models: made once, kept

static const unsigned char *model_bytes(uint32_t number, size_t *n) {
    static unsigned char *bytes[256];
    static size_t length[256];
    if (!bytes[number]) bytes[number] = small_model(number, &length[number]);
    *n = length[number];
    return *n <= MOST_MODEL ? bytes[number] : NULL;
}
static void call_load(player *p) {
    const uint32_t at = choose_below(&p->c, MODELS), way = choose_byte(&p->c), number = choose_byte(&p->c);
    size_t n;
    const unsigned char *bytes = model_bytes(number, &n);
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_reader r;
    if (p->model[at] || !bytes) return;
    memset(&d, 0, sizeof d);
    d.allocator.user = &p->heap;
    d.allocator.alloc_fn = fuzz_alloc;
    d.allocator.free_fn = way % 64 == 63 ? NULL : fuzz_free;
    d.parallel.user = p;
    d.parallel.for_fn = run_tasks;
    d.progress.user = p;
    d.progress.progress_fn = on_progress;
    if (way & 1) d.clock.now_us = still;
    d.n_threads = 1 + way / 2 % 4;
    d.isa = p->turn ? LLM_ISA_SCALAR : LLM_ISA_AUTO;
    d.force = 1;
    if (way % 64 == 62) d.isa = (llm_isa)choose_byte(&p->c);
    if (way % 64 == 61) d.cores = (llm_cores)choose_byte(&p->c);
    if (way % 64 == 60) d.cpu_share = choose_byte(&p->c) + 101;
    r = fuzz_reader(&p->file[at], bytes, n);
    p->file[at].fail_at = way & 128 ? choose_byte(&p->c) : 0;
    m = way & 64 ? llm_load_reader(&r, &d, &e) : llm_load_memory(bytes, way % 64 == 59 ? n - choose_byte(&p->c) : n, &d, &e);
    must_be_error(&e, !m);
    p->model[at] = m;
    note_number(p, (uint64_t)e.code);
}
static void call_unload(player *p) {
    const uint32_t at = choose_below(&p->c, MODELS);
    llm_unload(p->model[at]);
    p->model[at] = NULL;                   // its contexts live on
}

// ---- contexts

static void choose_sampling(player *p, llm_sampling *s, llm_bias *bias, uint32_t n_vocab) {
    memset(s, 0, sizeof *s);
    if (choose_byte(&p->c) < 64) return;
    s->temperature = choose_float(&p->c);
    s->top_k = choose_byte(&p->c);
    s->top_p = choose_float(&p->c);
    s->min_p = choose_float(&p->c);
    s->typical_p = choose_float(&p->c);
    s->repeat_penalty = choose_float(&p->c);
    s->seed = choose_byte(&p->c);
    if (choose_byte(&p->c) < 64) {
        s->bias = bias;
        s->n_bias = 1;
        bias->token = (llm_token)choose_below(&p->c, n_vocab + 1);
        bias->bias = choose_float(&p->c);
    }
}
static void call_open(player *p) {
    static const char *const templates[] = { "chatml", "llama2", "llama3", "gemma", "mistral", "phi3", "zephyr", "plain", "none such" };
    const uint32_t at = choose_below(&p->c, CONTEXTS), home = choose_below(&p->c, MODELS), way = choose_byte(&p->c);
    const char *stop[2];
    char *first = NULL;
    llm_ctx_desc d;
    llm_bias bias;
    llm_error e;
    if (p->ctx[at]) return;
    memset(&e, 0, sizeof e);               // a failing one would be kept if there is no model
    memset(&d, 0, sizeof d);
    d.n_ctx = way & 1 ? 1 + choose_below(&p->c, 250) : 0;
    d.n_batch = way & 2 ? 1 + choose_below(&p->c, 70) : 0;
    d.max_tokens = way & 4 ? 1 + choose_below(&p->c, 20) : 24;
    d.kv_type = (llm_kv_type)choose_below(&p->c, 3);
    if (way & 8 && p->model[home]) choose_sampling(p, &d.sampling, &bias, p->model[home]->net.n_vocab);
    if (way & 16) d.chat_template = templates[choose_below(&p->c, 9)];
    if (way & 32) { first = choose_text(&p->c, 4, NULL); stop[0] = first; stop[1] = "\n"; d.stop = stop; d.n_stop = 2; }
    d.trust_content = way >> 6 & 1;
    if (way % 128 == 127) { d.grammar = "root ::= x"; d.kv_type = (llm_kv_type)choose_byte(&p->c); }
    p->ctx[at] = llm_open(p->model[home], &d, &e);
    p->home[at] = home;
    must_be_error(&e, !p->ctx[at]);
    note_number(p, (uint64_t)e.code);
    free(first);
}
static void call_close(player *p) {
    const uint32_t at = choose_below(&p->c, CONTEXTS);
    llm_close(p->ctx[at]);
    p->ctx[at] = NULL;
}

// ---- what a context must keep

typedef struct before { llm_token past[MOST_PAST]; size_t n; } before;

static before past_of(const llm_ctx *c) {
    before b;
    b.n = llm_past(c);
    MUST(b.n <= MOST_PAST && b.n <= c->n_ctx);
    if (b.n) memcpy(b.past, c->past.v, b.n * sizeof *b.past);
    return b;
}
static void must_begin_with(const llm_ctx *c, const before *b, size_t n) {
    MUST(llm_past(c) >= n && (n == 0 || memcmp(c->past.v, b->past, n * sizeof *b->past) == 0));
}
static void must_be_consistent(player *p, const llm_ctx *c, llm_result r) {
    const llm_error *e = llm_last_error(c);
    llm_stats_info s;
    if (r < 0) { MUST(e->code == r); must_be_error(e, 1); }
    else if (r == LLM_OK) must_be_error(e, 0);
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    MUST(s.struct_bytes == sizeof s && s.kv_bytes <= s.kv_limit_bytes + 65536 && s.isa == c->model->kernels.isa);
    MUST(s.bits_reason && s.cores_reason && s.roofline_pct <= 100.0);
    MUST(c->n_cached <= llm_past(c));
    note_number(p, (uint64_t)r);
    note_number(p, llm_past(c));
    note_number(p, s.prefill_tokens << 32 | s.decode_tokens);
    if (r == LLM_CANCELLED) p->cut = 1;
    note_number(p, s.reused_tokens << 32 | s.reevaluated_tokens);
    note_number(p, s.kv_bytes);
    if (llm_logits(c)) note_floats(p, llm_logits(c), c->model->net.n_vocab);
}
// A fresh context that evaluates the past at once has the same logits.
static void must_be_as_fresh(const llm_ctx *c) {
    llm_ctx_desc d;
    llm_ctx *fresh;
    llm_error e;
    if (!llm_logits(c) || !llm_past(c)) return;
    memset(&d, 0, sizeof d);
    d.n_ctx = c->n_ctx;
    d.kv_type = c->state.kv.type;
    fresh = llm_open(c->model, &d, &e);
    MUST(fresh && llm_eval(fresh, c->past.v, llm_past(c)) == LLM_OK);
    must_be_same_floats(llm_logits(c), llm_logits(fresh), c->model->net.n_vocab);
    llm_close(fresh);
}

// ---- calls on a context

static void call_eval(player *p, llm_ctx *c) {
    const before b = past_of(c);
    const uint32_t n = choose_below(&p->c, 80), way = choose_byte(&p->c), n_vocab = c->model->net.n_vocab;
    llm_token t[80];
    float *all = NULL;
    llm_result r;
    uint32_t i;
    for (i = 0; i < n; i++) t[i] = (llm_token)choose_below(&p->c, n_vocab);
    if (n && way == 255) t[choose_below(&p->c, n)] = (llm_token)choose_u32(&p->c);
    if (way & 1 && n) {
        all = (float *)malloc((size_t)n * n_vocab * sizeof *all);
        if (!all) abort();
        r = llm_eval_all(c, way == 253 ? NULL : t, n, all);
        if (r == LLM_OK) {
            note_floats(p, all, (size_t)n * n_vocab);
            must_be_same_floats(all + (size_t)(n - 1) * n_vocab, llm_logits(c), n_vocab);
        }
        free(all);
    } else r = llm_eval(c, way == 254 ? NULL : t, n);
    must_begin_with(c, &b, b.n);
    MUST(llm_past(c) == b.n + (r == LLM_OK ? n : 0));
    if (r == LLM_OK && n) MUST(memcmp(c->past.v + b.n, t, n * sizeof *t) == 0 && llm_logits(c));
    must_be_consistent(p, c, r);
}
static void call_sample(player *p, llm_ctx *c) {
    const before b = past_of(c);
    const llm_token t = llm_sample(c);
    MUST(t == LLM_NO_TOKEN || (t >= 0 && (uint32_t)t < c->model->net.n_vocab));
    must_begin_with(c, &b, b.n);
    MUST(llm_past(c) == b.n);
    note_number(p, (uint64_t)t);
    must_be_consistent(p, c, t == LLM_NO_TOKEN ? llm_last_error(c)->code : LLM_OK);
    if (t == LLM_NO_TOKEN) must_be_error(llm_last_error(c), 1);
}
static void call_rewind(player *p, llm_ctx *c) {
    const before b = past_of(c);
    const size_t n = choose_below(&p->c, (uint32_t)b.n + 2);
    const llm_result r = llm_rewind(c, n);
    MUST(n == 0 ? r == LLM_OK : n <= b.n || r == LLM_BAD_ARG);
    must_begin_with(c, &b, r == LLM_OK ? n : b.n);
    MUST(llm_past(c) == (r == LLM_OK ? n : b.n));
    must_be_consistent(p, c, r);
}
static void call_say(player *p, llm_ctx *c) {
    static const char *const roles[] = { "user", "assistant", "system", "user", "tool", "", "user" };
    const before b = past_of(c);
    const uint32_t way = choose_byte(&p->c);
    size_t n;
    char *text = choose_text(&p->c, 40, &n);
    llm_result r;
    if (way & 128) r = llm_feed(c, way == 255 ? NULL : text, n);
    else r = llm_say(c, way == 127 ? NULL : roles[way % 7], way == 126 ? NULL : text);
    must_begin_with(c, &b, b.n);
    MUST(llm_past(c) == b.n);
    free(text);
    must_be_consistent(p, c, r);
}
static void call_next(player *p, llm_ctx *c) {
    uint32_t left = 1 + choose_below(&p->c, 12);
    while (left--) {
        const before b = past_of(c);
        const int fresh = c->fresh, again = !fresh && llm_why(c) == LLM_STOP_ERROR;      // then another call may have cleared the sentence
        size_t n = 77;
        const char *piece = llm_next(c, &n);
        const llm_stop why = llm_why(c);
        MUST(piece ? n && strlen(piece) <= n && !piece[n] && llm__utf8_clean(piece, n, NULL, 0) == n : n == 0 && why != LLM_STOP_NONE);
        if (piece) note(p, piece, n);
        note_number(p, (uint64_t)why);
        if (why == LLM_STOP_ERROR) MUST(llm_past(c) == b.n);
        if (why == LLM_STOP_ERROR || !fresh) must_begin_with(c, &b, b.n);
        if (why == LLM_STOP_ERROR && !again) must_be_error(llm_last_error(c), 1);
        must_be_consistent(p, c, piece ? LLM_OK : why == LLM_STOP_ERROR || why == LLM_STOP_CANCEL ? llm_last_error(c)->code : LLM_OK);
        if (!piece) break;
    }
}
static void call_set(player *p, llm_ctx *c) {
    const before b = past_of(c);
    const uint32_t way = choose_byte(&p->c);
    llm_sampling s;
    llm_bias bias;
    const char *stop[3];
    char *text;
    llm_result r;
    switch (way % 3) {
    case 0:
        choose_sampling(p, &s, &bias, c->model->net.n_vocab);
        r = llm_set_sampling(c, way == 255 ? NULL : &s);
        break;
    case 1:
        text = choose_text(&p->c, 6, NULL);
        stop[0] = text; stop[1] = "e"; stop[2] = way == 4 ? NULL : "th";
        r = llm_set_stop(c, way == 253 ? NULL : stop, way / 3 % 4);
        free(text);
        break;
    default:
        r = llm_set_max_tokens(c, choose_below(&p->c, 20) + 1);
        break;
    }
    must_begin_with(c, &b, b.n);
    MUST(llm_past(c) == b.n);
    must_be_consistent(p, c, r);
}
// What only looks, and writes no more than there is room for.
static void call_look(player *p, llm_ctx *c) {
    const before b = past_of(c);
    const size_t cap = choose_below(&p->c, 256) * 32;
    char *text = (char *)malloc(cap + 1);
    llm_finding found[3];
    llm_stats_info s[2];
    size_t n;
    if (!text) abort();
    memset(text, 'z', cap + 1);
    n = llm_report(c, text, cap);
    MUST(n != LLM_FAILED && text[cap] == 'z' && (n >= cap || text[n] == 0));
    free(text);
    n = llm_findings(c, found, 3);
    memset(s, 'z', sizeof s);
    s[0].struct_bytes = choose_below(&p->c, 256);
    n = s[0].struct_bytes ? s[0].struct_bytes : sizeof *s;
    if (n < sizeof s[0].struct_bytes) n = sizeof s[0].struct_bytes;
    llm_stats(c, s);
    for (; n < sizeof s; n++) MUST(((const char *)s)[n] == 'z');
    must_begin_with(c, &b, b.n);
}
static void call_text(player *p, llm_model *m) {
    llm_token t[24];
    llm_message messages[3];
    const char *roles[] = { "user", "assistant", "system", "other" };
    char *texts[3], buf[128];
    llm_error e;
    size_t n, length, i, count = choose_below(&p->c, 4);
    const uint32_t flags = choose_byte(&p->c);
    char *text = choose_text(&p->c, 30, &length);
    n = llm_tokenize(m, text, length, flags & 15, t, 24);
    MUST(n == LLM_FAILED || !m || m->vocab.status == LLM_OK);
    if (n != LLM_FAILED) note(p, t, (n < 24 ? n : 24) * sizeof *t);
    if (n <= 24) n = llm_detokenize(m, t, n, flags >> 4, buf, sizeof buf);
    free(text);
    for (i = 0; i < count; i++) {
        messages[i].role = roles[choose_below(&p->c, 4)];
        messages[i].content = texts[i] = choose_text(&p->c, 20, NULL);
    }
    memset(buf, 'z', sizeof buf);
    n = llm_render_chat(m, flags & 16 ? "chatml" : NULL, messages, count, flags >> 5 & 1, buf, 100, &e);
    must_be_error(&e, n == LLM_FAILED);
    for (i = 100; i < sizeof buf; i++) MUST(buf[i] == 'z');
    if (n != LLM_FAILED) note(p, buf, n < 100 ? n : 100);
    for (i = 0; i < count; i++) free(texts[i]);
}
// Nothing, and numbers that are none.
static void call_nothing(player *p) {
    llm_stats_info s;
    llm_info info;
    uint8_t block[512];
    float out[256];
    llm_token t = 0;
    size_t n;
    const uint32_t type = choose_byte(&p->c) % 48;
    memset(&s, 0, sizeof s);
    memset(&info, 0, sizeof info);
    MUST(llm_eval(NULL, &t, 1) == LLM_BAD_ARG && llm_say(NULL, "user", "x") == LLM_BAD_ARG && !llm_next(NULL, &n) && !n);
    MUST(llm_sample(NULL) == LLM_NO_TOKEN && llm_past(NULL) == 0 && !llm_logits(NULL) && llm_rewind(NULL, 0) == LLM_BAD_ARG);
    llm_stats(NULL, &s);
    llm_model_info(NULL, &info);
    llm_trim(NULL);
    llm_cancel(NULL);
    llm_close(NULL);
    llm_unload(NULL);
    must_be_error(llm_last_error(NULL), 1);
    n = llm_type_bytes(type, 256);
    for (n = n <= sizeof block ? n : 0; n; n--) block[n - 1] = (uint8_t)choose_byte(&p->c);
    n = llm_type_bytes(type, 256);
    if (n <= sizeof block && llm_dequantize(type, block, out, 256) == LLM_OK) note_floats(p, out, 256);
}

// ---- the game

static void call_on_context(player *p, uint32_t what) {
    llm_ctx *c = p->ctx[choose_below(&p->c, CONTEXTS)];
    if (!c) return;
    p->busy = c;
    switch (what) {
    case 0: case 1: call_eval(p, c); break;
    case 2: call_sample(p, c); break;
    case 3: call_rewind(p, c); break;
    case 4: case 5: call_say(p, c); break;
    case 6: case 7: case 8: call_next(p, c); break;
    case 9: call_set(p, c); break;
    case 10: llm_trim(c); must_be_consistent(p, c, LLM_DONE); break;
    case 11: call_look(p, c); break;
    case 12: llm_cancel(c); break;
    default: p->heap.fail_at = 0; p->cancel_at = 0; must_be_as_fresh(c); break;
    }
}
// One call, with what is to fail in it.
static void play_one(player *p) {
    const uint32_t what = choose_byte(&p->c), trouble = what >> 5;
    p->heap.fail_at = trouble == 7 ? p->heap.calls + 1 + choose_below(&p->c, 24) : 0;
    p->heap.fail_for = trouble == 7 && p->heap.fail_at & 1 ? 1 : UINT32_MAX;
    p->cancel_at = trouble == 6 ? p->tasks + 1 + choose_byte(&p->c) : 0;
    p->stop_at = trouble == 5 ? p->progress + 1 + choose_below(&p->c, 12) : 0;
    p->busy = NULL;
    switch (what & 31) {
    case 0: case 1: call_load(p); break;
    case 2: call_unload(p); break;
    case 3: case 4: call_open(p); break;
    case 5: call_close(p); break;
    case 6: call_text(p, p->model[choose_below(&p->c, MODELS)]); break;
    case 7: call_nothing(p); break;
    default: call_on_context(p, (what & 31) - 8 > 13 ? (what & 31) % 9 : (what & 31) - 8); break;
    }
    p->heap.fail_at = 0;
    p->cancel_at = p->stop_at = 0;
}
typedef struct outcome { uint64_t trace[MOST_CALLS + 1]; uint32_t n; } outcome;      // after so many calls; how many until one was cancelled

static void play(const uint8_t *data, size_t size, int turn, outcome *o) {
    static player p;
    uint32_t i;
    memset(&p, 0, sizeof p);
    memset(o, 0, sizeof *o);
    p.c.p = data;
    p.c.n = size;
    p.turn = turn;
    for (i = 0; i < MOST_CALLS && p.c.n; i++) {
        play_one(&p);
        o->trace[i + 1] = p.trace;
        if (!p.cut) o->n = i + 1;
    }
    for (i = 0; i < CONTEXTS; i++) if (p.ctx[i]) must_be_as_fresh(p.ctx[i]);
    for (i = 0; i < MODELS; i++) llm_unload(p.model[i]);
    for (i = 0; i < CONTEXTS; i++) llm_close(p.ctx[i]);
    MUST(p.heap.n_live == 0 && p.heap.live == 0);
}

// Into how many tasks an evaluation falls is each instruction set's own, and so whether the n-th is there to cancel it, how far it got, and
// which pages it leaves: until then all is the same.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static outcome best, scalar;
    uint32_t n;
    play(data, size, 0, &best);
    play(data, size, 1, &scalar);
    n = best.n < scalar.n ? best.n : scalar.n;
    MUST(best.trace[n] == scalar.trace[n]);
    return 0;
}
