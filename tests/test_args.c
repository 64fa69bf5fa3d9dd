// test_args.c - NULL, zero, huge and NaN for every parameter of every function and for every field of the desc structs; output buffers that
// end at a page nobody may touch (GUARD), with every cap. FR-082. That no function is missing here is read off llm.h.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "hostile.h"

static const char tiny[] = "examples/tiny/tiny.gguf";
static const char question[] = "Tell me a story about a fox.";
static llm_model *m;                             // what every row may use
static llm_ctx *c;
static llm_error e;
static unsigned char *file_bytes;
static size_t file_n;
static char answer[4096];

static float float_of(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static void answer_into(char *text, size_t cap) {
    const char *piece;
    text[0] = 0;
    llm_rewind(c, 0);
    llm_set_max_tokens(c, 6);
    llm_set_sampling(c, NULL);
    llm_set_stop(c, NULL, 0);
    if (llm_say(c, "user", question) != LLM_OK) return;
    while ((piece = llm_next(c, NULL)) != NULL) if (strlen(text) + strlen(piece) < cap) strcat(text, piece);
}
// An argument that makes no sense: a failing code and its sentence, or success.
static void sound(llm_result r, const llm_error *err) { CHECK(r >= LLM_OK ? err->code >= LLM_OK : err->code == r && one_sentence(err)); }

//------------------------------------------------------------------------------------------------------------------------------
// Rows: one for each function.

static size_t read_file(void *user, uint64_t offset, void *dst, size_t n) {
    (void)user;
    if (offset > file_n || n > file_n - offset) return 0;
    memcpy(dst, file_bytes + offset, n);
    return n;
}
static llm_reader reader(uint64_t size, int with_fn) {
    llm_reader r;
    r.user = NULL; r.size = size; r.read_at = with_fn ? read_file : NULL;
    return r;
}
static void no_model(llm_model *got) { CHECK(!got && one_sentence(&e)); llm_unload(got); }

static void args_load(void) {
    static char lengthy[9000];
    memset(lengthy, 'x', sizeof lengthy - 1);
    no_model(llm_load(NULL, NULL, &e));
    no_model(llm_load("", NULL, &e));
    no_model(llm_load(lengthy, NULL, &e));
    no_model(llm_load("\xff\xfe", NULL, &e));
    CHECK(!llm_load(NULL, NULL, NULL));
}
static void args_load_memory(void) {
    llm_model *got;
    no_model(llm_load_memory(NULL, 0, NULL, &e));
    no_model(llm_load_memory(NULL, SIZE_MAX, NULL, &e));
    no_model(llm_load_memory(file_bytes, 0, NULL, &e));
    no_model(llm_load_memory(file_bytes, 1, NULL, &e));
    no_model(llm_load_memory(file_bytes, SIZE_MAX, NULL, &e));       // would wrap
    CHECK_EQ(e.code, LLM_BAD_ARG);
    got = llm_load_memory(file_bytes, file_n, NULL, NULL);
    CHECK(got != NULL);
    llm_unload(got);
}
static void args_load_reader(void) {
    static const uint64_t sizes[] = { 0, 1, (uint64_t)1 << 62, UINT64_MAX };
    llm_reader r = reader(1000, 0);
    size_t i;
    no_model(llm_load_reader(NULL, NULL, &e));
    no_model(llm_load_reader(&r, NULL, &e));
    for (i = 0; i < 4; i++) {                                        // what stands behind the last tensor is never asked for
        llm_model *got;
        r = reader(sizes[i], 1);
        got = llm_load_reader(&r, NULL, &e);
        CHECK(i < 2 ? !got && one_sentence(&e) : got != NULL || one_sentence(&e));
        llm_unload(got);
    }
    CHECK(!llm_load_reader(NULL, NULL, NULL));
}
static void args_unload(void) { llm_unload(NULL); }
static void args_model_info(void) {
    llm_info info;
    memset(&info, 0, sizeof info);
    llm_model_info(NULL, NULL);
    llm_model_info(m, NULL);
    llm_model_info(NULL, &info);
    info.struct_bytes = UINT32_MAX;
    llm_model_info(m, &info);
    CHECK(info.n_layer > 0);
    info.struct_bytes = 1;
    llm_model_info(m, &info);
}
static void args_meta(void) {
    char buf[64];
    CHECK_EQ(llm_meta(NULL, "general.name", buf, 64), LLM_FAILED);
    CHECK_EQ(llm_meta(m, NULL, buf, 64), LLM_FAILED);
    CHECK_EQ(llm_meta(m, "", buf, 64), LLM_FAILED);
    llm_meta(m, "general.architecture", NULL, 0);
    llm_meta(m, "general.architecture", NULL, 64);
    CHECK(llm_meta(m, "general.architecture", buf, SIZE_MAX) < 64);
}
static void args_tensors(void) {
    llm_tensor_info t[2];
    const size_t n = llm_tensors(m, NULL, 0);
    memset(t, 0, sizeof t);
    CHECK(n > 2 && n != LLM_FAILED);
    CHECK_EQ(llm_tensors(NULL, t, 2), LLM_FAILED);
    CHECK_EQ(llm_tensors(NULL, NULL, 0), LLM_FAILED);
    CHECK_EQ(llm_tensors(m, NULL, 2), LLM_FAILED);
    CHECK(llm_tensors(m, t, 2) == n && t[1].struct_bytes == sizeof *t);
    t[0].struct_bytes = 1;                                           // one byte of each, behind one another
    CHECK_EQ(llm_tensors(m, t, 2), n);
    t[0].struct_bytes = UINT32_MAX;
    CHECK(llm_tensors(m, t, 1) == n && t[0].struct_bytes == sizeof *t);
}
static void args_fingerprint(void) {
    char hex[65] = "x";
    CHECK_EQ(llm_fingerprint(NULL, 0, hex), LLM_BAD_ARG);
    CHECK(!hex[0]);
    CHECK_EQ(llm_fingerprint(NULL, 1, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_fingerprint(m, 0, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_fingerprint(m, 1, NULL), LLM_BAD_ARG);
    CHECK(llm_fingerprint(m, INT32_MIN, hex) == LLM_OK && strlen(hex) == 64);
}
static void args_open(void) {
    CHECK(!llm_open(NULL, NULL, NULL));
    e.code = LLM_OK;
    CHECK(!llm_open(NULL, NULL, &e) && one_sentence(&e));
    llm_close(llm_open(m, NULL, NULL));
}
static void args_close(void) { llm_close(NULL); }
static void args_set_sampling(void) {
    CHECK_EQ(llm_set_sampling(NULL, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_set_sampling(c, NULL), LLM_OK);
}
static void args_set_stop(void) {
    static const char *const stops[] = { "a", "b" };
    static char lengthy[5000];
    const char *one = lengthy, *none = NULL;
    memset(lengthy, 'x', sizeof lengthy - 1);
    CHECK_EQ(llm_set_stop(NULL, stops, 2), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, NULL, 2), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, NULL, UINT32_MAX), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, stops, UINT32_MAX), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, &none, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, &one, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_set_stop(c, stops, 0), LLM_OK);
}
static void args_set_max_tokens(void) {
    CHECK_EQ(llm_set_max_tokens(NULL, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_set_max_tokens(c, UINT32_MAX), LLM_OK);
    CHECK_EQ(llm_set_max_tokens(c, 0), LLM_OK);
}
static void args_say(void) {
    CHECK_EQ(llm_say(NULL, "user", "x"), LLM_BAD_ARG);
    CHECK_EQ(llm_say(c, NULL, "x"), LLM_BAD_ARG);
    CHECK_EQ(llm_say(c, "user", NULL), LLM_BAD_ARG);
    sound(llm_say(c, "", ""), llm_last_error(c));
    sound(llm_say(c, "\xff", "\xff"), llm_last_error(c));
}
static void args_feed(void) {
    CHECK_EQ(llm_feed(NULL, "x", 1), LLM_BAD_ARG);
    CHECK_EQ(llm_feed(c, NULL, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_feed(c, NULL, SIZE_MAX), LLM_BAD_ARG);
    CHECK(llm_feed(c, "x", SIZE_MAX) < LLM_OK);                      // 512 MB at most: not a byte is read
    sound(llm_feed(c, NULL, 0), llm_last_error(c));
    sound(llm_feed(c, "", 0), llm_last_error(c));
}
static void args_next(void) {
    size_t n = 7;
    CHECK(!llm_next(NULL, NULL) && !llm_next(NULL, &n));
    llm_rewind(c, 0);
    CHECK(!llm_next(c, NULL) && llm_why(c) == LLM_STOP_ERROR && one_sentence(llm_last_error(c)));
}
static void args_why(void) { llm_why(NULL); }
static void args_cancel(void) { llm_cancel(NULL); }
static void args_last_error(void) { llm_last_error(NULL); }
static void args_eval(void) {
    static const llm_token bad[] = { -1, 0x7fffffff, -0x7fffffff - 1 };
    llm_token t = 5;
    int i;
    llm_rewind(c, 0);
    CHECK_EQ(llm_eval(NULL, &t, 1), LLM_BAD_ARG);
    CHECK_EQ(llm_eval(c, NULL, 1), LLM_BAD_ARG);
    CHECK(llm_eval(c, NULL, SIZE_MAX) < LLM_OK);
    CHECK(llm_eval(c, &t, SIZE_MAX) < LLM_OK);                       // more than the context holds: not read
    for (i = 0; i < 3; i++) CHECK_EQ(llm_eval(c, &bad[i], 1), LLM_BAD_ARG);
    sound(llm_eval(c, &t, 0), llm_last_error(c));
    sound(llm_eval(c, NULL, 0), llm_last_error(c));
    CHECK_EQ(llm_past(c), 0);
}
static void args_eval_all(void) {
    llm_token t = 5;
    float l[1];
    llm_rewind(c, 0);
    CHECK_EQ(llm_eval_all(NULL, &t, 1, l), LLM_BAD_ARG);
    CHECK_EQ(llm_eval_all(c, NULL, 1, l), LLM_BAD_ARG);
    CHECK_EQ(llm_eval_all(c, &t, 1, NULL), LLM_BAD_ARG);
    CHECK(llm_eval_all(c, &t, SIZE_MAX, l) < LLM_OK);
    CHECK(llm_eval_all(c, &t, SIZE_MAX / sizeof(float), l) < LLM_OK);
    sound(llm_eval_all(c, &t, 0, l), llm_last_error(c));
    CHECK_EQ(llm_past(c), 0);
}
static void args_logits(void) { CHECK(!llm_logits(NULL)); }
static void args_sample(void) {
    CHECK_EQ(llm_sample(NULL), LLM_NO_TOKEN);
    llm_rewind(c, 0);
    CHECK(llm_sample(c) == LLM_NO_TOKEN && llm_last_error(c)->code == LLM_BAD_STATE);
}
static void args_past(void) { llm_past(NULL); }
static void args_rewind(void) {
    CHECK_EQ(llm_rewind(NULL, 0), LLM_BAD_ARG);
    sound(llm_rewind(c, SIZE_MAX), llm_last_error(c));
    sound(llm_rewind(c, 1), llm_last_error(c));
}
static void args_trim(void) { llm_trim(NULL); }
static void args_tokenize(void) {
    llm_token t[64];
    CHECK_EQ(llm_tokenize(NULL, "x", 1, 0, t, 64), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, NULL, 1, 0, t, 64), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, NULL, SIZE_MAX, 0, t, 64), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, "x", SIZE_MAX, 0, t, 64), LLM_FAILED);
    CHECK_EQ(llm_tokenize(m, NULL, 0, 0, NULL, 0), 0);
    llm_tokenize(m, "x y", 3, 0, NULL, 64);
    llm_tokenize(m, "x y", 3, ~0u, t, 64);
    CHECK(llm_tokenize(m, "x y", 3, 0, t, SIZE_MAX) < 10);
}
static void args_detokenize(void) {
    static const llm_token bad[3] = { -1, 0x7fffffff, -0x7fffffff - 1 };
    const llm_token t[2] = { 5, 6 };
    char buf[64];
    int i;
    CHECK_EQ(llm_detokenize(NULL, t, 2, 0, buf, 64), LLM_FAILED);
    CHECK_EQ(llm_detokenize(m, NULL, 2, 0, buf, 64), LLM_FAILED);
    CHECK_EQ(llm_detokenize(m, NULL, SIZE_MAX, 0, buf, 64), LLM_FAILED);
    for (i = 0; i < 3; i++) llm_detokenize(m, &bad[i], 1, ~0u, buf, 64);
    CHECK_EQ(llm_detokenize(m, NULL, 0, 0, NULL, 0), 0);
    llm_detokenize(m, t, 2, 0, NULL, 64);
    CHECK(llm_detokenize(m, t, 2, ~0u, buf, SIZE_MAX) < 64);
}
static void args_special_token(void) {
    static const int which[] = { -1, 8, 99, 0x7fffffff, -0x7fffffff - 1 };
    size_t i;
    CHECK_EQ(llm_special_token(NULL, LLM_BOS), LLM_NO_TOKEN);
    for (i = 0; i < sizeof which / sizeof *which; i++) CHECK_EQ(llm_special_token(m, (llm_special)which[i]), LLM_NO_TOKEN);
}
static void args_is_eog(void) {
    CHECK(!llm_is_eog(NULL, 0) && !llm_is_eog(m, -1) && !llm_is_eog(m, 0x7fffffff) && !llm_is_eog(m, -0x7fffffff - 1));
}
static void args_render_chat(void) {
    llm_message msg = { "user", "x" }, no_role = { NULL, "x" }, no_content = { "user", NULL };
    char buf[256];
    CHECK_EQ(llm_render_chat(NULL, NULL, &msg, 1, 0, buf, 256, &e), LLM_FAILED);
    CHECK_EQ(llm_render_chat(m, "", &msg, 1, 0, buf, 256, NULL) != 0, 1);
    CHECK_EQ(llm_render_chat(m, "{% if %}", &msg, 1, 0, buf, 256, &e), LLM_FAILED);
    CHECK_EQ(e.code, LLM_BAD_TEMPLATE);
    CHECK_EQ(llm_render_chat(m, NULL, NULL, 1, 0, buf, 256, &e), LLM_FAILED);
    CHECK_EQ(llm_render_chat(m, NULL, NULL, SIZE_MAX, 0, buf, 256, &e), LLM_FAILED);
    CHECK_EQ(llm_render_chat(m, NULL, &no_role, 1, 0, buf, 256, &e), LLM_FAILED);
    CHECK_EQ(llm_render_chat(m, NULL, &no_content, 1, 0, buf, 256, &e), LLM_FAILED);
    llm_render_chat(m, NULL, NULL, 0, ~0u, buf, 256, &e);
    llm_render_chat(m, NULL, &msg, 1, ~0u, NULL, 0, &e);
    llm_render_chat(m, NULL, &msg, 1, ~0u, NULL, 256, NULL);
    CHECK(llm_render_chat(m, NULL, &msg, 1, 0, buf, SIZE_MAX, &e) < 256);
}
static void args_type_bytes(void) {
    uint32_t t;
    for (t = 0; t < 64; t++) {
        const size_t none = llm_type_bytes(t, 0), most = llm_type_bytes(t, SIZE_MAX), whole = llm_type_bytes(t, SIZE_MAX / 256 * 256);
        CHECK(none == 0 || none == LLM_FAILED);
        CHECK(most == LLM_FAILED || t == 0 || t == 24 || t == 1 || t == 30);         // no whole blocks, or no room for the product
        CHECK(whole == LLM_FAILED || whole < SIZE_MAX);
    }
    CHECK_EQ(llm_type_bytes(0, SIZE_MAX), LLM_FAILED);
    CHECK_EQ(llm_type_bytes(UINT32_MAX, 32), LLM_FAILED);
}
static void args_dequantize(void) {
    unsigned char block[512] = { 0 };
    float out[256];
    CHECK_EQ(llm_dequantize(UINT32_MAX, block, out, 256), LLM_UNSUPPORTED);
    CHECK_EQ(llm_dequantize(2, NULL, out, 32), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, block, NULL, 32), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, block, out, 33), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, block, out, SIZE_MAX), LLM_BAD_ARG);
    CHECK_EQ(llm_dequantize(2, block, out, SIZE_MAX / 32 * 32), LLM_BAD_ARG);          // more floats than memory has bytes
    CHECK(llm_dequantize(2, NULL, NULL, 0) <= LLM_OK);
}
static void args_stats(void) {
    llm_stats_info s;
    memset(&s, 0, sizeof s);
    llm_stats(NULL, NULL);
    llm_stats(c, NULL);
    llm_stats(NULL, &s);
    s.struct_bytes = UINT32_MAX;
    llm_stats(c, &s);
    CHECK_EQ(s.struct_bytes, sizeof s);
}
static void args_probe(void) {
    CHECK_EQ(llm_probe(NULL, 1, NULL), LLM_BAD_ARG);
    CHECK_EQ(llm_probe(c, 1, NULL), LLM_OK);
}
static void args_findings(void) {
    llm_finding f[2];
    size_t n = llm_findings(c, NULL, 0);
    CHECK(llm_findings(NULL, f, 2) == 0 || llm_findings(NULL, f, 2) == LLM_FAILED);
    llm_findings(c, NULL, 2);
    CHECK(n > 64 || llm_findings(c, f, n > 2 ? 2 : SIZE_MAX) == n);
}
static void args_findings_plan(void) {
    llm_finding f[2];
    llm_plan_info p;
    llm_findings_plan(NULL, f, 2);
    memset(&p, 0, sizeof p);
    llm_findings_plan(&p, NULL, 0);
    llm_findings_plan(&p, NULL, 2);
    llm_findings_plan(&p, f, 2);
    p.bits_per_weight = p.gb_s = p.tok_s_low = p.tok_s_high = p.name_bits = (double)float_of(0x7fc00000u);
    p.mem_available = p.mem_limit = p.total_bytes = p.weight_bytes = UINT64_MAX;
    p.n_ctx = p.n_batch = p.n_ctx_fits = p.n_ctx_train = p.n_threads = UINT32_MAX;
    p.verdict = (llm_verdict)99;
    llm_findings_plan(&p, f, 2);
}
static void args_report(void) {
    char buf[32];
    llm_report(NULL, buf, 32);
    llm_report(NULL, NULL, 0);
    llm_report(c, NULL, 32);
    CHECK(llm_report(c, NULL, 0) > 100);
}
static void args_plan(void) {
    llm_plan_info p;
    memset(&p, 0, sizeof p);
    CHECK_EQ(llm_plan(NULL, NULL, NULL, &p, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan(tiny, NULL, NULL, NULL, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan(tiny, NULL, NULL, NULL, NULL), LLM_BAD_ARG);
    sound(llm_plan("", NULL, NULL, &p, &e), &e);
    p.struct_bytes = UINT32_MAX;
    CHECK_EQ(llm_plan(tiny, NULL, NULL, &p, NULL), LLM_OK);
}
static void args_plan_memory(void) {
    llm_plan_info p;
    memset(&p, 0, sizeof p);
    CHECK_EQ(llm_plan_memory(NULL, 5, NULL, NULL, &p, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan_memory(file_bytes, file_n, NULL, NULL, NULL, &e), LLM_BAD_ARG);
    CHECK(llm_plan_memory(file_bytes, 0, NULL, NULL, &p, &e) < LLM_OK && llm_plan_memory(file_bytes, SIZE_MAX, NULL, NULL, &p, &e) < LLM_OK);
}
static void args_plan_reader(void) {
    llm_plan_info p;
    llm_reader r = reader(UINT64_MAX, 0);
    memset(&p, 0, sizeof p);
    CHECK_EQ(llm_plan_reader(NULL, NULL, NULL, &p, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan_reader(&r, NULL, NULL, &p, &e), LLM_BAD_ARG);
    r = reader(0, 1);
    CHECK(llm_plan_reader(&r, NULL, NULL, &p, &e) < LLM_OK);
    CHECK_EQ(llm_plan_reader(&r, NULL, NULL, NULL, NULL), LLM_BAD_ARG);
}
static void args_arena(void) {
    static unsigned char few[300];
    static const size_t sizes[] = { 0, 1, 63, 127, 128, 300 };
    size_t i;
    for (i = 0; i <= sizeof sizes / sizeof *sizes; i++) {
        llm_model_desc d;
        memset(&d, 0, sizeof d);
        d.n_threads = 1;
        d.allocator = i ? llm_arena(few, sizes[i - 1]) : llm_arena(NULL, SIZE_MAX);
        CHECK(d.allocator.alloc_fn && d.allocator.free_fn);
        CHECK(!d.allocator.alloc_fn(d.allocator.user, SIZE_MAX, 64) && !d.allocator.alloc_fn(d.allocator.user, SIZE_MAX - 63, 1));
        d.allocator.free_fn(d.allocator.user, NULL, 0);
        CHECK(!llm_load_memory(file_bytes, file_n, &d, &e) && e.code == LLM_NO_MEMORY && one_sentence(&e));
    }
}
static void args_version(void) { CHECK(llm_version() > 0); }
static void args_result_text(void) {
    static const int codes[] = { -99, 99, 0x7fffffff, -0x7fffffff - 1 };
    int i;
    for (i = 0; i < 4; i++) CHECK(llm_result_text((llm_result)codes[i]) && *llm_result_text((llm_result)codes[i]));
}
static void args_isa_name(void) { CHECK_TEXT(llm_isa_name((llm_isa)0x7fffffff), "?"); CHECK_TEXT(llm_isa_name((llm_isa)-1), "?"); }
static void args_isa_usable(void) { CHECK(!llm_isa_usable((llm_isa)0x7fffffff) && !llm_isa_usable((llm_isa)-1)); }

#define ROW(f) { "llm_" #f, args_##f }
static const struct { const char *function; void (*run)(void); } rows[] = {
    ROW(load), ROW(load_memory), ROW(load_reader), ROW(unload), ROW(model_info), ROW(meta), ROW(tensors), ROW(fingerprint), ROW(open),
    ROW(close), ROW(set_sampling), ROW(set_stop), ROW(set_max_tokens), ROW(say), ROW(feed), ROW(next), ROW(why), ROW(cancel),
    ROW(last_error), ROW(eval), ROW(eval_all), ROW(logits), ROW(sample), ROW(past), ROW(rewind), ROW(trim), ROW(tokenize), ROW(detokenize),
    ROW(special_token), ROW(is_eog), ROW(render_chat), ROW(type_bytes), ROW(dequantize), ROW(stats), ROW(probe), ROW(findings),
    ROW(findings_plan), ROW(report), ROW(plan), ROW(plan_memory), ROW(plan_reader), ROW(arena), ROW(version), ROW(result_text),
    ROW(isa_name), ROW(isa_usable)
};
static void every_function(void) {
    char text[4096];
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned long failed = test_now.failed;
        SECTION(rows[i].function);
        rows[i].run();
        answer_into(text, sizeof text);                                  // nothing of it has left a trace
        CHECK_TEXT(text, answer);
        if (test_now.failed != failed) printf("  in %s\n", rows[i].function);
    }
}
// Each function that llm.h declares has a row.
static void none_is_missing(void) {
    size_t n, i, found = 0;
    char *header = (char *)test_read("llm.h", &n), *at;
    SECTION("every function of llm.h");
    if (!CHECK(header != NULL)) return;
    for (at = header; (at = strstr(at, "\nLLM_API ")) != NULL; at++) {
        char name[64];
        const char *paren = strchr(at, '('), *begin;
        while (paren[-1] == ' ') paren--;
        for (begin = paren; (begin[-1] >= 'a' && begin[-1] <= 'z') || begin[-1] == '_' || (begin[-1] >= '0' && begin[-1] <= '9'); begin--) { }
        sprintf(name, "%.*s", (int)(paren - begin), begin);
        for (i = 0; i < sizeof rows / sizeof *rows && strcmp(rows[i].function, name); i++) { }
        if (!CHECK(i < sizeof rows / sizeof *rows)) printf("  %s has no row\n", name);
        found++;
    }
    CHECK_EQ(found, sizeof rows / sizeof *rows);
    free(header);
}

//------------------------------------------------------------------------------------------------------------------------------
// Fields of the desc structs: each at 0, 1, huge and NaN. The lists are whole: each field begins where the one before ends.

enum { NUMBER, REAL, POINTER };
typedef struct field { const char *name; size_t at, bytes; int kind; } field;
#define FIELD(type, name, kind) { #name, offsetof(type, name), sizeof ((type *)0)->name, kind }
static const field model_fields[] = {
    FIELD(llm_model_desc, allocator.user, POINTER), FIELD(llm_model_desc, allocator.alloc_fn, POINTER), FIELD(llm_model_desc, allocator.free_fn, POINTER),
    FIELD(llm_model_desc, logger.user, POINTER), FIELD(llm_model_desc, logger.log_fn, POINTER), FIELD(llm_model_desc, progress.user, POINTER),
    FIELD(llm_model_desc, progress.progress_fn, POINTER), FIELD(llm_model_desc, parallel.user, POINTER), FIELD(llm_model_desc, parallel.for_fn, POINTER),
    FIELD(llm_model_desc, clock.user, POINTER), FIELD(llm_model_desc, clock.now_us, POINTER), FIELD(llm_model_desc, n_threads, NUMBER),
    FIELD(llm_model_desc, isa, NUMBER), FIELD(llm_model_desc, cores, NUMBER), FIELD(llm_model_desc, mapping, NUMBER),
    FIELD(llm_model_desc, parts, POINTER), FIELD(llm_model_desc, n_parts, NUMBER), FIELD(llm_model_desc, force, NUMBER),
    FIELD(llm_model_desc, cpu_share, NUMBER), FIELD(llm_model_desc, host_gb_s, REAL)
};
static const field ctx_fields[] = {
    FIELD(llm_ctx_desc, n_ctx, NUMBER), FIELD(llm_ctx_desc, n_batch, NUMBER), FIELD(llm_ctx_desc, max_tokens, NUMBER), FIELD(llm_ctx_desc, kv_type, NUMBER),
    FIELD(llm_ctx_desc, sampling.temperature, REAL), FIELD(llm_ctx_desc, sampling.top_k, NUMBER), FIELD(llm_ctx_desc, sampling.top_p, REAL),
    FIELD(llm_ctx_desc, sampling.min_p, REAL), FIELD(llm_ctx_desc, sampling.typical_p, REAL), FIELD(llm_ctx_desc, sampling.repeat_penalty, REAL),
    FIELD(llm_ctx_desc, sampling.frequency_penalty, REAL), FIELD(llm_ctx_desc, sampling.presence_penalty, REAL),
    FIELD(llm_ctx_desc, sampling.penalty_window, NUMBER), FIELD(llm_ctx_desc, sampling.seed, NUMBER), FIELD(llm_ctx_desc, sampling.bias, POINTER),
    FIELD(llm_ctx_desc, sampling.n_bias, NUMBER), FIELD(llm_ctx_desc, stop, POINTER), FIELD(llm_ctx_desc, n_stop, NUMBER),
    FIELD(llm_ctx_desc, chat_template, POINTER), FIELD(llm_ctx_desc, template_json, POINTER), FIELD(llm_ctx_desc, grammar, POINTER),
    FIELD(llm_ctx_desc, json_schema, POINTER), FIELD(llm_ctx_desc, trust_content, NUMBER)
};
static void whole(const field *f, size_t n, size_t bytes) {
    size_t i, at = 0;
    for (i = 0; i < n; i++) {
        if (!CHECK(f[i].at >= at && f[i].at - at < 8)) printf("  a field before %s is missing\n", f[i].name);
        at = f[i].at + f[i].bytes;
    }
    CHECK(bytes - at < 8);
}
enum { N_VALUES = 8 };
static void set_field(void *desc, const field *f, int k) {
    static const uint64_t numbers[N_VALUES] = { 0, 1, 2, 0x7fffffffu, 0x80000000u, UINT64_MAX, 1000000, 7 };
    static const uint32_t reals[N_VALUES] = { 0, 0x7fc00000u, 0x7f800000u, 0xff800000u, 0x7f7fffffu, 0xbf800000u, 1, 0x3f800000u };
    static const char text[] = "";
    char *at = (char *)desc + f->at;
    const void *p = text;
    double d = (double)float_of(reals[k]);
    float s = float_of(reals[k]);
    if (f->kind == NUMBER && f->bytes == 4) { uint32_t v = (uint32_t)numbers[k]; memcpy(at, &v, 4); }
    else if (f->kind == NUMBER) memcpy(at, &numbers[k], f->bytes);
    else if (f->kind == REAL && f->bytes == 8) memcpy(at, &d, 8);
    else if (f->kind == REAL) memcpy(at, &s, 4);
    else if (k % 2 && !strstr(f->name, "_fn") && !strstr(f->name, "now_us")) memcpy(at, &p, sizeof p);   // hooks would be called
}
static int judge_field(const field *f, int k, int opened) {
    int ok = opened ? e.code == LLM_OK : (e.code == LLM_BAD_ARG || e.code == LLM_UNSUPPORTED || e.code == LLM_BAD_TEMPLATE) && one_sentence(&e);
    if (!CHECK(ok)) printf("  %s, value %d: %d '%s'\n", f->name, k, (int)e.code, e.text);
    return ok;
}
static void every_field(void) {
    const size_t n_model = sizeof model_fields / sizeof *model_fields, n_ctx = sizeof ctx_fields / sizeof *ctx_fields;
    size_t i;
    int k;
    SECTION("fields of llm_model_desc");
    whole(model_fields, n_model, sizeof(llm_model_desc));
    for (i = 0; i < n_model; i++)
        for (k = 0; k < N_VALUES; k++) {
            llm_model_desc d;
            llm_model *mine;
            llm_ctx *ctx;
            llm_token t = 5;
            memset(&d, 0, sizeof d);
            set_field(&d, &model_fields[i], k);
            mine = llm_load(tiny, &d, &e);
            judge_field(&model_fields[i], k, mine != NULL);
            ctx = mine ? llm_open(mine, NULL, &e) : NULL;
            if (mine) CHECK(ctx && llm_eval(ctx, &t, 1) == LLM_OK);
            llm_close(ctx);
            llm_unload(mine);
        }
    SECTION("fields of llm_ctx_desc and llm_sampling");
    whole(ctx_fields, n_ctx, sizeof(llm_ctx_desc));
    for (i = 0; i < n_ctx; i++)
        for (k = 0; k < N_VALUES; k++) {
            llm_ctx_desc d;
            llm_ctx *ctx;
            llm_token t = 5;
            llm_result r;
            memset(&d, 0, sizeof d);
            d.n_ctx = 64;
            set_field(&d, &ctx_fields[i], k);
            ctx = llm_open(m, &d, &e);
            judge_field(&ctx_fields[i], k, ctx != NULL);
            if (!ctx) continue;
            r = llm_eval(ctx, &t, 1);
            CHECK(r == LLM_OK && llm_sample(ctx) >= 0);
            CHECK(llm_set_sampling(ctx, &d.sampling) == LLM_OK);
            llm_close(ctx);
        }
}
// FR-082: the smallest and the largest wishes.
static void extremes(void) {
    static const uint32_t sizes[][3] = { { 1, 0, 0 }, { 1, 1, 1 }, { 0, UINT32_MAX, 0 }, { UINT32_MAX, UINT32_MAX, UINT32_MAX } };
    size_t i;
    SECTION("FR-082 extremes");
    for (i = 0; i < 4; i++) {
        const llm_token t[2] = { 5, 6 };
        llm_model_desc d;
        llm_ctx_desc cd;
        llm_model *mine;
        llm_ctx *ctx;
        ledger l;
        memset(&d, 0, sizeof d);
        memset(&cd, 0, sizeof cd);
        ledger_init(&l);
        l.budget = (uint64_t)1 << 30;
        d.allocator = ledger_hook(&l);
        cd.n_ctx = sizes[i][0];
        cd.n_batch = sizes[i][1];
        d.n_threads = sizes[i][2];
        mine = llm_load(tiny, &d, &e);
        ctx = llm_open(mine, &cd, &e);
        if (!CHECK(ctx != NULL)) printf("  %s\n", e.text);
        if (ctx) {
            const llm_result r = llm_eval(ctx, t, 2), want = cd.n_ctx == 1 ? LLM_CONTEXT_FULL : LLM_OK;
            CHECK(r == want || (r == LLM_NO_MEMORY && cd.n_ctx == UINT32_MAX && one_sentence(llm_last_error(ctx))));
            CHECK_EQ(llm_rewind(ctx, 0), LLM_OK);
            if (r != LLM_NO_MEMORY) CHECK(llm_eval(ctx, t, 1) == LLM_OK && llm_sample(ctx) >= 0);
        }
        llm_close(ctx);
        llm_unload(mine);
        CHECK(l.live == 0 && l.bad == 0);
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// GUARD.

static guard room;

static size_t put_meta(char *buf, size_t cap) { return llm_meta(m, "tokenizer.ggml.tokens", buf, cap); }
static size_t put_pieces(char *buf, size_t cap) {
    static const llm_token t[20] = { 1, 2, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47 };
    return llm_detokenize(m, t, 20, LLM_SHOW_SPECIAL, buf, cap);
}
static size_t put_chat(char *buf, size_t cap) {
    const llm_message talk[2] = { { "user", question }, { "assistant", "No." } };
    return llm_render_chat(m, NULL, talk, 2, LLM_GENERATION_PROMPT, buf, cap, &e);
}
static size_t put_report(char *buf, size_t cap) { return llm_report(c, buf, cap); }

// Every cap from 0 to two more than what is needed: what is written is the beginning of the whole, with a NUL where the function says so.
static void text_buffer(size_t (*put)(char *, size_t), int with_nul, int exact) {
    static char want[16384];
    const size_t n = put(want, sizeof want);
    size_t cap;
    if (!CHECK(n != LLM_FAILED && n > 10 && n < sizeof want)) return;
    for (cap = 0; cap <= n + 2; cap += cap < 80 || n - cap < 20 || n < 400 ? 1 : 13) {
        char *buf = (char *)guard_end(&room, cap);
        const size_t got = put(buf, cap), text = cap <= n ? (with_nul > 1 && cap ? cap - 1 : cap) : n;
        CHECK(guard_clean(&room, cap));
        if (!exact) continue;                                            // figures of a report move on
        CHECK_EQ(got, n);
        CHECK(memcmp(buf, want, text) == 0);
        if (with_nul && cap > n) CHECK(buf[n] == 0);
        if (with_nul > 1 && cap) CHECK(buf[text] == 0);
    }
}
static void text_buffers(void) {
    SECTION("buffers for text end at a guard page");
    text_buffer(put_meta, 2, 1);
    text_buffer(put_pieces, 0, 1);
    text_buffer(put_chat, 1, 1);
    text_buffer(put_report, 1, 0);
}
static void token_buffers(void) {
    llm_token want[64];
    size_t n = llm_tokenize(m, question, strlen(question), LLM_ADD_SPECIAL, want, 64), cap;
    SECTION("buffers for tokens, logits and findings end at a guard page");
    for (cap = 0; cap <= n + 2; cap++) {
        llm_token *t = (llm_token *)guard_end(&room, cap * sizeof *t);
        CHECK_EQ(llm_tokenize(m, question, strlen(question), LLM_ADD_SPECIAL, t, cap), n);
        CHECK(guard_clean(&room, cap * sizeof *t) && memcmp(t, want, (cap < n ? cap : n) * sizeof *t) == 0);
    }
}
static void logit_buffers(void) {
    static const llm_token t[5] = { 5, 9, 30, 31, 7 };
    llm_info info;
    size_t n;
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    for (n = 1; n <= 5; n++) {
        float *logits = (float *)guard_end(&room, n * info.n_vocab * sizeof *logits);
        llm_rewind(c, 0);
        CHECK_EQ(llm_eval_all(c, t, n, logits), LLM_OK);
        CHECK(guard_clean(&room, n * info.n_vocab * sizeof *logits));
        CHECK(memcmp(logits + (n - 1) * info.n_vocab, llm_logits(c), info.n_vocab * sizeof *logits) == 0);
    }
}
static void finding_buffers(void) {
    llm_finding want[16];
    llm_plan_info p;
    size_t n, cap;
    memset(&p, 0, sizeof p);
    p.verdict = LLM_DOES_NOT_FIT;
    p.mem_available = p.mem_limit = 1000;
    p.total_bytes = p.weight_bytes = 100000;
    p.mem_limit_by = p.file_system = p.name_type = "RAM";
    p.name_bits = 4.5;
    p.bits_per_weight = 16;
    p.isa = LLM_ISA_SCALAR;
    n = llm_findings_plan(&p, want, 16);
    CHECK(n > 0 && n <= 16);
    for (cap = 0; cap <= n + 1; cap++) {
        llm_finding *f = (llm_finding *)guard_end(&room, cap * sizeof *f);
        CHECK_EQ(llm_findings_plan(&p, f, cap), n);
        CHECK(guard_clean(&room, cap * sizeof *f));
        f = (llm_finding *)guard_end(&room, cap * sizeof *f);
        llm_findings(c, f, cap);
        CHECK(guard_clean(&room, cap * sizeof *f));
    }
}
// Structs of every size that a binding may know, in steps of 8: no byte behind it is touched.
static void struct_buffers(void) {
    static const size_t sizes[3] = { sizeof(llm_info), sizeof(llm_stats_info), sizeof(llm_plan_info) };
    size_t n, which;
    SECTION("structs end at a guard page");
    for (which = 0; which < 3; which++)
        for (n = 8; n <= sizes[which] + 16; n += 8) {
            void *p = guard_end(&room, n);
            uint32_t bytes = (uint32_t)n;
            memset(p, 0, n);
            memcpy(p, &bytes, 4);
            if (which == 0) llm_model_info(m, (llm_info *)p);
            else if (which == 1) llm_stats(c, (llm_stats_info *)p);
            else if (n % 64 == 0 || n > sizes[2] - 16) CHECK_EQ(llm_plan_memory(file_bytes, file_n, NULL, NULL, (llm_plan_info *)p, &e), LLM_OK);
            CHECK(guard_clean(&room, n));
        }
    for (n = 0; n <= 4; n++) {
        llm_tensor_info *t = (llm_tensor_info *)guard_end(&room, n * sizeof *t);
        memset(t, 0, n * sizeof *t);
        CHECK(llm_tensors(m, t, n) > n && guard_clean(&room, n * sizeof *t));
    }
    {
        char *hex = (char *)guard_end(&room, 65);
        CHECK(llm_fingerprint(m, 0, hex) == LLM_OK && guard_clean(&room, 65));
    }
    {
        llm_error *err = (llm_error *)guard_end(&room, sizeof *err);
        CHECK(!llm_load("no/such/file", NULL, err) && one_sentence(err) && guard_clean(&room, sizeof *err));
    }
}
// Source and target of llm_dequantize, each at a guard page of its own, for every stored type.
static void dequantize_buffers(void) {
    guard source;
    uint32_t type;
    int tried = 0;
    SECTION("llm_dequantize between guard pages");
    if (!CHECK(guard_init(&source, 4096))) return;
    for (type = 0; type < 64; type++) {
        const size_t n = 512, bytes = llm_type_bytes(type, n);
        float *dst = (float *)guard_end(&room, n * sizeof *dst);
        if (bytes == LLM_FAILED || bytes > 4096) continue;
        memset(guard_end(&source, bytes), 0x11, bytes);
        if (llm_dequantize(type, source.room + (source.most - bytes), dst, n) == LLM_OK) tried++;
        CHECK(guard_clean(&room, n * sizeof *dst));
    }
    CHECK(tried >= 28);
    guard_free(&source);
}

int main(void) {
    llm_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.n_ctx = 256;
    file_bytes = test_read(tiny, &file_n);
    m = llm_load(tiny, NULL, &e);
    c = llm_open(m, &d, &e);
    if (!CHECK(file_bytes && c && guard_init(&room, 1 << 18))) return test_done();
    answer_into(answer, sizeof answer);
    CHECK(answer[0]);
    none_is_missing();
    every_function();
    every_field();
    extremes();
    text_buffers();
    token_buffers();
    logit_buffers();
    finding_buffers();
    struct_buffers();
    dequantize_buffers();
    guard_free(&room);
    llm_close(c);
    llm_unload(m);
    free(file_bytes);
    return test_done();
}
