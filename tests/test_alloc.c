// test_alloc.c - memory is refused at the k-th request, for k = 1, 2, 3 ... until the call succeeds (ALLOC, FR-082): every function that
// may ask for memory, each for itself. A refused call says LLM_NO_MEMORY in one sentence, keeps nothing, leaves the object as it was, and
// the same call gives the same bits when memory is back. Then budgets of bytes, and memory that is gone for good.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include "gguf_writer.h"
#include "hostile.h"
#include "vocabulary_models.h"

static const char tiny[] = "examples/tiny/tiny.gguf";
static const char windows_path[] = "tests/data/gemma3-dense.gguf";
static const char question[] = "Tell me a story about a fox.";
static const char second[] = "Now one about a small boat.";
static unsigned char *tiny_bytes;
static size_t tiny_n;

// What one case works with. `digest` takes up all that the call puts out, so that two runs can be compared.
typedef struct state {
    ledger l;
    llm_model_desc md;
    llm_model *m;
    llm_ctx *c;
    llm_error e;
    uint64_t digest;
} state;

static void digest_anew(state *s) { s->digest = 0xcbf29ce484222325u; }
static void take_up(state *s, const void *bytes, size_t n) {             // FNV-1a
    const unsigned char *p = (const unsigned char *)bytes;
    while (n--) s->digest = (s->digest ^ *p++) * 0x100000001b3u;
}
static void take_up_pieces(state *s, int most) {
    const char *piece;
    size_t n;
    while (most-- > 0 && (piece = llm_next(s->c, &n)) != NULL) take_up(s, piece, n);
}
// The code of what llm_next left; LLM_OK unless it was an error.
static llm_result next_result(state *s) { return llm_why(s->c) == LLM_STOP_ERROR ? llm_last_error(s->c)->code : LLM_OK; }

//------------------------------------------------------------------------------------------------------------------------------
// Before the call: a model, a context, a conversation that is under way.

static void fresh(state *s) {
    memset(s, 0, sizeof *s);
    ledger_init(&s->l);
    s->md.allocator = ledger_hook(&s->l);
    s->md.n_threads = 1;
    digest_anew(s);
}
static int with_nothing(state *s) { fresh(s); return 1; }
static int with_threads(state *s) { fresh(s); s->md.n_threads = 3; return 1; }
static int with_model(state *s) {
    fresh(s);
    s->m = llm_load(tiny, &s->md, &s->e);
    return s->m != NULL;
}
static int with_context(state *s) {
    llm_ctx_desc d;
    if (!with_model(s)) return 0;
    memset(&d, 0, sizeof d);
    d.max_tokens = 12;
    d.n_ctx = 400;
    s->c = llm_open(s->m, &d, &s->e);
    return s->c != NULL;
}
static int with_tokens(state *s) {
    static const llm_token t[6] = { 5, 9, 30, 31, 7, 8 };
    return with_context(s) && llm_eval(s->c, t, 6) == LLM_OK;
}
static int with_answer_begun(state *s) { return with_context(s) && llm_say(s->c, "user", question) == LLM_OK && llm_next(s->c, NULL); }
static int with_answer(state *s) {
    if (!with_answer_begun(s)) return 0;
    while (llm_next(s->c, NULL)) { }
    return next_result(s) == LLM_OK;
}
static int with_windows(state *s) {
    fresh(s);
    s->m = llm_load(windows_path, &s->md, &s->e);
    s->c = llm_open(s->m, NULL, &s->e);
    return s->c != NULL;
}
static void close_state(state *s) {
    llm_close(s->c);
    llm_unload(s->m);
    s->c = NULL;
    s->m = NULL;
}

//------------------------------------------------------------------------------------------------------------------------------
// The calls.

static llm_result loaded(state *s) {
    llm_info info;
    if (!s->m) return s->e.code;
    memset(&info, 0, sizeof info);
    llm_model_info(s->m, &info);
    take_up(s, &info.n_params, sizeof info.n_params);
    llm_unload(s->m);
    s->m = NULL;
    return LLM_OK;
}
static llm_result load_mapped(state *s) { s->md.mapping = LLM_MAP; s->m = llm_load(tiny, &s->md, &s->e); return loaded(s); }
static llm_result load_read(state *s) { s->md.mapping = LLM_READ; s->m = llm_load(tiny, &s->md, &s->e); return loaded(s); }
static llm_result load_memory(state *s) { s->m = llm_load_memory(tiny_bytes, tiny_n, &s->md, &s->e); return loaded(s); }
static size_t read_tiny(void *user, uint64_t offset, void *dst, size_t n) {
    (void)user;
    memcpy(dst, tiny_bytes + offset, n);
    return n;
}
static llm_reader tiny_reader(void) {
    llm_reader r;
    r.user = NULL; r.size = tiny_n; r.read_at = read_tiny;
    return r;
}
static llm_result load_reader(state *s) {
    llm_reader r = tiny_reader();
    s->m = llm_load_reader(&r, &s->md, &s->e);
    return loaded(s);
}
static llm_result call_open(state *s) {
    static const char *const stops[2] = { "never in it", "nor this" };
    static const llm_bias bias[2] = { { 3, 1.0f }, { 4, -1.0f } };
    llm_sampling sampling = LLM_SAMPLING_DEFAULT;
    llm_ctx_desc d;
    llm_ctx *c;
    memset(&d, 0, sizeof d);
    sampling.bias = bias;
    sampling.n_bias = 2;
    d.sampling = sampling;
    d.stop = stops;
    d.n_stop = 2;
    d.chat_template = "chatml";
    d.kv_type = LLM_KV_Q8_0;
    c = llm_open(s->m, &d, &s->e);
    llm_close(c);
    return c ? LLM_OK : s->e.code;
}
static llm_result context_result(state *s, llm_result r) {               // the sentence goes to s->e
    s->e = *llm_last_error(s->c);
    return r;
}
static llm_result call_say(state *s) { return context_result(s, llm_say(s->c, "user", question)); }
static llm_result call_feed(state *s) { return context_result(s, llm_feed(s->c, question, strlen(question))); }
static llm_result call_answer(state *s) {
    llm_result r = llm_say(s->c, "user", question);
    if (r == LLM_OK) { take_up_pieces(s, 100); r = next_result(s); }
    return context_result(s, r);
}
static llm_result call_raw_answer(state *s) {
    llm_result r = llm_feed(s->c, question, strlen(question));
    if (r == LLM_OK) { take_up_pieces(s, 100); r = next_result(s); }
    return context_result(s, r);
}
static llm_result call_second_answer(state *s) {
    llm_result r = llm_say(s->c, "user", second);
    if (r == LLM_OK) { take_up_pieces(s, 100); r = next_result(s); }
    return context_result(s, r);
}
static llm_result call_go_on(state *s) {
    take_up_pieces(s, 100);
    return context_result(s, next_result(s));
}
static llm_result take_up_logits(state *s, llm_result r, uint32_t n_vocab) {
    if (r == LLM_OK) take_up(s, llm_logits(s->c), n_vocab * sizeof(float));
    return context_result(s, r);
}
static uint32_t vocabulary(const state *s) {
    llm_info info;
    memset(&info, 0, sizeof info);
    llm_model_info(s->m, &info);
    return info.n_vocab;
}
static llm_token many[200];
static llm_result call_eval(state *s) {
    llm_result r = llm_eval(s->c, many, 200);
    r = take_up_logits(s, r, vocabulary(s));
    if (r == LLM_OK) llm_rewind(s->c, 0);
    return r;
}
// What was said and answered becomes raw tokens first.
static llm_result call_eval_after_answer(state *s) {
    static const llm_token t[3] = { 5, 9, 30 };
    return take_up_logits(s, llm_eval(s->c, t, 3), vocabulary(s));
}
static llm_result call_eval_all(state *s) {
    static float logits[40 * 4096];
    llm_result r = vocabulary(s) <= 4096 ? llm_eval_all(s->c, many, 40, logits) : LLM_BAD_ARG;
    if (r == LLM_OK) take_up(s, logits, 40 * vocabulary(s) * sizeof(float));
    return context_result(s, r);
}
static llm_result call_sample(state *s) {
    llm_token t = llm_sample(s->c);
    take_up(s, &t, sizeof t);
    return context_result(s, t == LLM_NO_TOKEN ? llm_last_error(s->c)->code : LLM_OK);
}
static llm_result call_tokenize(state *s) {
    static llm_token t[300];
    size_t n = llm_tokenize(s->m, question, strlen(question), LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, t, 300);
    if (n == LLM_FAILED) return LLM_NO_MEMORY;
    take_up(s, t, n * sizeof *t);
    return LLM_OK;
}
static llm_result call_detokenize(state *s) {
    static char text[4000];
    size_t n = llm_detokenize(s->m, many, 200, LLM_SHOW_SPECIAL, text, sizeof text);
    if (n == LLM_FAILED) return LLM_NO_MEMORY;
    take_up(s, text, n < sizeof text ? n : sizeof text);
    return LLM_OK;
}
static llm_result call_render(state *s) {
    const llm_message talk[3] = { { "system", "Be brief." }, { "user", question }, { "assistant", "No." } };
    static char text[2000];
    size_t n = llm_render_chat(s->m, NULL, talk, 3, LLM_GENERATION_PROMPT, text, sizeof text, &s->e);
    if (n == LLM_FAILED) return s->e.code;
    take_up(s, text, n);
    return LLM_OK;
}
static llm_result call_meta(state *s) {
    static char text[4000];
    size_t n = llm_meta(s->m, "tokenizer.ggml.tokens", text, sizeof text);
    if (n == LLM_FAILED) return LLM_NO_MEMORY;
    take_up(s, text, strlen(text));
    return LLM_OK;
}
static llm_result call_set_stop(state *s) {
    static const char *const stops[3] = { "never in it", "nor this", "" "nor that" };
    return context_result(s, llm_set_stop(s->c, stops, 3));
}
static llm_result call_set_sampling(state *s) {
    static const llm_bias bias[3] = { { 3, 1.0f }, { 4, -1.0f }, { 5, 2.0f } };
    llm_sampling sampling = LLM_SAMPLING_DEFAULT;
    llm_result r;
    llm_token t;
    sampling.bias = bias;
    sampling.n_bias = 3;
    sampling.seed = 7;
    sampling.repeat_penalty = 1.1f;
    r = llm_set_sampling(s->c, &sampling);
    if (r == LLM_OK && (t = llm_sample(s->c)) >= 0) take_up(s, &t, sizeof t);
    else if (r == LLM_OK) r = llm_last_error(s->c)->code;
    return context_result(s, r);
}
static llm_result planned(state *s, llm_result r, const llm_plan_info *p) {
    if (r == LLM_OK) { take_up(s, &p->total_bytes, sizeof p->total_bytes); take_up(s, &p->kv_bytes, sizeof p->kv_bytes); }
    return r;
}
static llm_result call_plan(state *s) {
    llm_plan_info p;
    memset(&p, 0, sizeof p);
    return planned(s, llm_plan(tiny, &s->md, NULL, &p, &s->e), &p);
}
static llm_result call_plan_memory(state *s) {
    llm_plan_info p;
    memset(&p, 0, sizeof p);
    return planned(s, llm_plan_memory(tiny_bytes, tiny_n, &s->md, NULL, &p, &s->e), &p);
}
static llm_result call_plan_reader(state *s) {
    llm_reader r = tiny_reader();
    llm_plan_info p;
    llm_ctx_desc d;
    memset(&p, 0, sizeof p);
    memset(&d, 0, sizeof d);
    d.kv_type = LLM_KV_Q8_0;                                             // reads biases, if there are any
    return planned(s, llm_plan_reader(&r, &s->md, &d, &p, &s->e), &p);
}
static llm_result call_probe(state *s) {
    double rate = 0;
    return context_result(s, llm_probe(s->c, 1, &rate));
}
static llm_result call_report(state *s) {
    static char text[8000];
    static llm_finding findings[16];
    llm_stats_info stats;
    size_t n = llm_report(s->c, text, sizeof text);
    if (n == LLM_FAILED || llm_findings(s->c, findings, 16) == LLM_FAILED) return LLM_NO_MEMORY;
    memset(&stats, 0, sizeof stats);
    llm_stats(s->c, &stats);
    return stats.struct_bytes == sizeof stats && strlen(text) > 100 ? LLM_OK : LLM_BAD_STATE;
}
static llm_result call_rewind(state *s) {
    llm_result r = llm_rewind(s->c, 20);                                 // within the first message: it becomes raw text
    size_t past = llm_past(s->c);
    take_up(s, &past, sizeof past);
    return context_result(s, r);
}
static llm_result call_trim(state *s) {
    llm_trim(s->c);
    return LLM_OK;
}
// After a trim everything must be asked for again.
static llm_result call_after_trim(state *s) {
    llm_trim(s->c);
    return call_second_answer(s);
}

//------------------------------------------------------------------------------------------------------------------------------
// A case: what stands before the call, the call, and what follows. FROM_START: pieces of an answer may be out already, so that it is
// repeated after llm_rewind(c, 0). THEN_ANSWER: a queue cannot be looked at, it is judged by the answer that it leads to.

enum { AGAIN, FROM_START, THEN_ANSWER, NEVER_FAILS };
typedef struct call { const char *name; int (*before)(state *s); llm_result (*run)(state *s); int how; } call;
static const call calls[] = {
    { "llm_load, mapped", with_nothing, load_mapped, AGAIN }, { "llm_load, read", with_nothing, load_read, AGAIN },
    { "llm_load with threads", with_threads, load_mapped, AGAIN },
    { "llm_load_memory", with_nothing, load_memory, AGAIN }, { "llm_load_reader", with_nothing, load_reader, AGAIN },
    { "llm_open", with_model, call_open, AGAIN }, { "llm_say", with_context, call_say, THEN_ANSWER }, { "llm_feed", with_context, call_feed, THEN_ANSWER },
    { "llm_say, llm_next", with_context, call_answer, FROM_START }, { "llm_feed, llm_next", with_context, call_raw_answer, FROM_START },
    { "llm_next in an answer", with_answer_begun, call_go_on, FROM_START }, { "a second answer", with_answer, call_second_answer, FROM_START },
    { "llm_eval", with_context, call_eval, AGAIN }, { "llm_eval_all", with_context, call_eval_all, AGAIN },
    { "llm_eval after an answer", with_answer, call_eval_after_answer, FROM_START },
    { "llm_eval with windows", with_windows, call_eval, AGAIN }, { "llm_sample", with_tokens, call_sample, AGAIN },
    { "llm_tokenize", with_model, call_tokenize, AGAIN }, { "llm_detokenize", with_model, call_detokenize, NEVER_FAILS },
    { "llm_render_chat", with_model, call_render, AGAIN }, { "llm_meta", with_model, call_meta, NEVER_FAILS },
    { "llm_set_stop", with_context, call_set_stop, AGAIN }, { "llm_set_sampling", with_tokens, call_set_sampling, AGAIN },
    { "llm_plan", with_nothing, call_plan, AGAIN }, { "llm_plan_memory", with_nothing, call_plan_memory, AGAIN },
    { "llm_plan_reader", with_nothing, call_plan_reader, AGAIN }, { "llm_probe", with_tokens, call_probe, AGAIN },
    { "llm_report, llm_findings, llm_stats", with_answer, call_report, NEVER_FAILS }, { "llm_rewind", with_answer, call_rewind, AGAIN },
    { "llm_trim", with_answer, call_trim, NEVER_FAILS }, { "an answer after llm_trim", with_answer, call_after_trim, FROM_START }
};

static llm_result run(const call *call, state *s) {
    llm_result r = call->run(s);
    if (r != LLM_OK || call->how != THEN_ANSWER) return r;
    s->l.fail_at = 0;
    take_up_pieces(s, 100);
    return next_result(s);
}
// One refusal at the k-th request. Returns whether there was one.
static int refuse_kth(const call *call, long k, uint64_t want, uint64_t want_from_start) {
    state s;
    llm_result r;
    long calls_before;
    uint64_t bytes_before;
    unsigned long failed = test_now.failed;
    int reached;
    if (!CHECK(call->before(&s))) { close_state(&s); return 0; }
    calls_before = s.l.calls;
    bytes_before = s.l.bytes;
    s.l.fail_at = calls_before + k;
    r = run(call, &s);
    reached = s.l.refused > 0;
    s.l.fail_at = 0;
    if (r == LLM_OK) CHECK(s.digest == want);                            // what was refused could be done without
    else {
        CHECK_EQ(r, LLM_NO_MEMORY);
        CHECK(reached && call->how != NEVER_FAILS);
        if (call->run != call_tokenize) CHECK(s.e.code == LLM_NO_MEMORY && one_sentence(&s.e));
        if (!s.c) CHECK_EQ(s.l.bytes, bytes_before);                     // a context may keep scratch that it got, and gives it back at its end
        if (call->how == FROM_START) CHECK_EQ(llm_rewind(s.c, 0), LLM_OK);
        digest_anew(&s);
        r = call->how == FROM_START ? call_answer(&s) : run(call, &s);
        CHECK_EQ(r, LLM_OK);
        CHECK(s.digest == (call->how == FROM_START ? want_from_start : want));
    }
    close_state(&s);
    CHECK(s.l.live == 0 && s.l.bytes == 0 && s.l.bad == 0);
    if (test_now.failed != failed) printf("  %s, request %ld: %d '%s'\n", call->name, k, (int)s.e.code, s.e.text);
    return reached;
}
static void every_call(void) {
    state s;
    size_t i;
    uint64_t want, from_start;
    SECTION("the answer that every recovery must give");
    CHECK(with_context(&s) && call_answer(&s) == LLM_OK);
    from_start = s.digest;
    close_state(&s);
    for (i = 0; i < sizeof calls / sizeof *calls; i++) {
        long k = 1;
        SECTION(calls[i].name);
        if (!CHECK(calls[i].before(&s))) { close_state(&s); continue; }
        CHECK_EQ(run(&calls[i], &s), LLM_OK);
        want = s.digest;
        close_state(&s);
        while (k < 4000 && refuse_kth(&calls[i], k, want, from_start)) k++;
        CHECK(k < 4000);
        if (calls[i].how != NEVER_FAILS) printf("  %-24s %ld requests refused in turn\n", calls[i].name, k - 1);
    }
}

// A rewind that is refused within an answer leaves it as it was: it goes on, and what it says stands in the history all the same.
static void rewind_within_an_answer(void) {
    uint64_t want = 0;
    long k;
    int refused = 0;
    SECTION("a refused rewind within an answer");
    for (k = 0; k < 1000; k++) {                                         // 0: nobody tries to rewind
        state s;
        llm_result r = LLM_OK;
        if (!CHECK(with_answer(&s) && llm_why(s.c) == LLM_STOP_LIMIT)) { close_state(&s); return; }
        s.l.fail_at = s.l.calls + k;
        if (k) r = llm_rewind(s.c, llm_past(s.c) - 2);
        s.l.fail_at = 0;
        if (r == LLM_OK && k) { close_state(&s); break; }
        refused += r == LLM_NO_MEMORY;
        take_up_pieces(&s, 100);
        CHECK_EQ(llm_say(s.c, "user", "And then?"), LLM_OK);
        take_up_pieces(&s, 100);
        if (!k) want = s.digest;
        CHECK(s.digest == want);
        close_state(&s);
    }
    CHECK(refused > 2);
}

// An llm_next that is refused has taken nothing, wherever in it that happens: before its question is evaluated or after, when the first
// token's text wants room. The question is dropped, and asked again it gets the answer that it would have got. Within an answer the past
// ends where the last piece ended.
static int ask(state *s, int feed) {
    return (feed ? llm_feed(s->c, second, strlen(second)) : llm_say(s->c, "user", second)) == LLM_OK;
}
static void a_refused_next(int (*prepared)(state *s), int feed) {
    uint64_t want = 0;
    long k;
    int refused_first = 0;
    SECTION(feed ? "a refused llm_next after llm_feed" : "a refused llm_next after llm_say");
    for (k = 0; k < 1000; k++) {                                         // 0: nothing is refused
        const char *piece = "";
        int pieces = -1;
        size_t past = 0, n;
        state s;
        if (!CHECK(prepared(&s) && ask(&s, feed))) { close_state(&s); return; }
        digest_anew(&s);
        s.l.fail_at = k ? s.l.calls + k : 0;
        for (; piece; pieces++) {
            past = llm_past(s.c);
            piece = llm_next(s.c, &n);
            if (piece) take_up(&s, piece, n);
        }
        s.l.fail_at = 0;
        if (!k) want = s.digest;
        if (llm_why(s.c) != LLM_STOP_ERROR) CHECK(s.digest == want);
        else {
            CHECK(llm_last_error(s.c)->code == LLM_NO_MEMORY && llm_past(s.c) == past);
            if (pieces == 0) {
                refused_first++;
                digest_anew(&s);
                CHECK(ask(&s, feed));
                take_up_pieces(&s, 100);
                CHECK(s.digest == want);
            }
        }
        n = (size_t)s.l.refused;
        close_state(&s);
        CHECK(s.l.live == 0 && s.l.bad == 0);
        if (k && !n) break;
    }
    CHECK(refused_first > 3 && k < 1000);
}

// One llm_next evaluates many tokens where a stop string holds their text back. Refused in the middle of them, the past is what it was
// before the call, and what was waiting is dropped.
enum { SAY, FEED, TOKENS };
static unsigned char *held_bytes;
static size_t held_n;
static int with_held_text(state *s) {
    static const char *const stop[] = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" };
    static const llm_bias bias = { 260, 1e9f };                          // "a", whatever the model thinks
    llm_ctx_desc d;
    fresh(s);
    memset(&d, 0, sizeof d);
    d.n_ctx = 700;
    d.max_tokens = 60;
    d.chat_template = "plain";
    d.stop = stop; d.n_stop = 1;
    d.sampling.bias = &bias; d.sampling.n_bias = 1;
    s->m = llm_load_memory(held_bytes, held_n, &s->md, &s->e);
    s->c = llm_open(s->m, &d, &s->e);
    if (!s->c || llm_say(s->c, "user", "b a") != LLM_OK || !llm_next(s->c, NULL)) return 0;
    while (llm_next(s->c, NULL)) { }
    return next_result(s) == LLM_OK;
}
static llm_result more_input(state *s, int how) {
    static const llm_token t[40] = { 5, 9, 30 };
    llm_result r = how == SAY ? llm_say(s->c, "user", "b b b") : how == FEED ? llm_feed(s->c, " b b b", 6) : llm_eval(s->c, t, 40);
    size_t n = llm_past(s->c);
    take_up(s, &n, sizeof n);
    return r;
}
static void next_amid_tokens(void) {
    gguf_writer w;
    int how;
    SECTION("a refused llm_next");
    held_bytes = dense_model(&held_n, &w);
    for (how = SAY; how <= TOKENS; how++) {
        uint64_t want = 0;
        long k;
        int refused = 0;
        for (k = 0; k < 1000; k++) {                                     // 0: nothing is refused
            state s;
            size_t past;
            const char *piece;
            if (!CHECK(with_held_text(&s) && more_input(&s, how) == LLM_OK)) { close_state(&s); break; }
            past = llm_past(s.c);
            s.l.fail_at = k ? s.l.calls + k : 0;
            piece = llm_next(s.c, NULL);
            if (k && piece) { close_state(&s); break; }
            s.l.fail_at = 0;
            if (k) {
                refused++;
                CHECK_EQ(next_result(&s), LLM_NO_MEMORY);
                if (!CHECK(llm_past(s.c) == past))
                    printf("  %d, request %ld: %d tokens, %d before\n", how, k, (int)llm_past(s.c), (int)past);
                digest_anew(&s);
                if (how == TOKENS) CHECK(llm_rewind(s.c, past - 40) == LLM_OK);
                CHECK_EQ(more_input(&s, how), LLM_OK);
                piece = llm_next(s.c, NULL);
            }
            if (CHECK(piece != NULL)) take_up(&s, piece, strlen(piece));
            take_up_pieces(&s, 100);
            past = llm_past(s.c);
            take_up(&s, &past, sizeof past);
            if (!k) want = s.digest;
            if (!CHECK(s.digest == want)) printf("  %d, request %ld\n", how, k);
            close_state(&s);
        }
        CHECK(refused > (how == TOKENS ? 0 : 2));
    }
    free(held_bytes);
}

//------------------------------------------------------------------------------------------------------------------------------
// Memory that stays away from the k-th request on: what is open can be closed, and works again when memory is back.

static void gone_for_good(void) {
    long k;
    state s;
    uint64_t want;
    SECTION("no memory from the k-th request on");
    CHECK(with_answer(&s) && call_second_answer(&s) == LLM_OK);
    want = s.digest;
    close_state(&s);
    for (k = 1; k < 4000; k++) {
        llm_result r;
        int tries;
        if (!CHECK(with_answer(&s))) { close_state(&s); return; }
        s.l.fail_at = s.l.calls + k;
        s.l.from_then_on = 1;
        for (tries = 0; tries < 3; tries++) {                            // and it stays an error, however often one asks
            digest_anew(&s);
            r = call_second_answer(&s);
            CHECK(r == LLM_OK || (r == LLM_NO_MEMORY && one_sentence(&s.e)));
        }
        CHECK_EQ(llm_rewind(s.c, 0), LLM_OK);                            // needs none
        if (!s.l.refused) { close_state(&s); break; }
        s.l.fail_at = 0;
        digest_anew(&s);
        CHECK(call_answer(&s) == LLM_OK);
        digest_anew(&s);
        CHECK(call_second_answer(&s) == LLM_OK && s.digest == want);
        if (k % 2) { llm_unload(s.m); s.m = NULL; }                      // in any order
        close_state(&s);
        CHECK(s.l.live == 0 && s.l.bad == 0);
    }
    CHECK(k > 3 && k < 4000);
}

// Budgets from nothing to enough: below some size everything is refused, above it everything works, with the same answer.
static void budgets(void) {
    enum { STEPS = 60 };
    state s;
    uint64_t want, most;
    int i, worked = 0, refused = 0;
    SECTION("budgets of bytes");
    CHECK(with_context(&s) && call_answer(&s) == LLM_OK);
    want = s.digest;
    most = s.l.bytes;
    close_state(&s);
    for (i = 1; i <= STEPS; i++) {
        llm_result r = LLM_NO_MEMORY;
        llm_ctx_desc d;
        fresh(&s);
        memset(&d, 0, sizeof d);
        d.max_tokens = 12;
        d.n_ctx = 400;
        s.l.budget = most * (uint64_t)i / (STEPS / 2);                   // up to twice of what is held at the end: what is asked for a while
        s.m = llm_load(tiny, &s.md, &s.e);
        s.c = llm_open(s.m, &d, &s.e);
        if (s.c) r = call_answer(&s);
        CHECK(r == LLM_OK ? s.digest == want : r == LLM_NO_MEMORY && s.e.code == LLM_NO_MEMORY && one_sentence(&s.e));
        CHECK(r == LLM_OK || !worked);                                   // more is never worse
        if (r == LLM_OK) worked++; else refused++;
        close_state(&s);
        CHECK(s.l.live == 0 && s.l.bad == 0);
    }
    CHECK(worked > 0 && refused > 0);
    printf("  %llu bytes are held at the end of an answer; %d of %d budgets up to twice that were too small\n", (unsigned long long)most, refused,
           STEPS);
}

int main(void) {
    size_t i;
    tiny_bytes = test_read(tiny, &tiny_n);
    if (!CHECK(tiny_bytes != NULL)) return test_done();
    for (i = 0; i < 200; i++) many[i] = (llm_token)(i * 7 % 100 + 3);
    every_call();
    rewind_within_an_answer();
    a_refused_next(with_context, 0);
    a_refused_next(with_context, 1);
    a_refused_next(with_answer, 0);
    a_refused_next(with_answer, 1);
    next_amid_tokens();
    gone_for_good();
    budgets();
    free(tiny_bytes);
    return test_done();
}
