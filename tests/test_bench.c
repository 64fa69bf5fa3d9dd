// test_bench.c - a wrong kernel must not look fast: the program's bench with one function of its kernels exchanged for a broken one. The
// program is compiled in here, so that its loads can be tampered with; the scalar kernels that its check compares with stay right.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include <fcntl.h>
#include <unistd.h>

typedef enum fault { SOUND, LATE_KEYS, LOUD_VALUES, DOUBLED_SCALES, LOST_SIGNS, WRONG_ROWS, NO_NUMBERS } fault;

static fault planted;
static llm__vectors right;                      // what was there before
static llm__matmul_fn right_decode[LLM__TYPE_COUNT];

// One position too few for every query that sees more than one.
static void late_keys(const llm__attend *a, const llm__query *q, uint32_t n_q) {
    uint32_t i;
    for (i = 0; i < n_q; i++) {
        llm__query one = q[i];
        if (one.end - one.begin > 1) one.end--;
        right.attend_group(a, &one, 1);
    }
}
// The last digit of one sum: no token changes, but the bits do.
static void loud_values(const llm__attend *a, const llm__query *q, uint32_t n_q) {
    uint32_t i;
    right.attend_group(a, q, n_q);
    for (i = 0; i < n_q; i++) q[i].out->o[0] = q[i].out->o[0] * 1.000001f;
}
static void no_numbers(const llm__attend *a, const llm__query *q, uint32_t n_q) {
    uint32_t i, k;
    right.attend_group(a, q, n_q);
    for (i = 0; i < n_q; i++)
        for (k = 0; k < a->head_dim_v; k++) q[i].out->o[k] = 0;
}
static void doubled_scales(int8_t *q, uint16_t *d, const float *src, size_t n, uint64_t *saturated) {
    size_t i;
    right.to_q8(q, d, src, n, saturated);
    for (i = 0; i < (n + 31) / 32; i++) d[i * LLM__PAGE] = llm__f32_to_f16(2 * llm__f16_to_f32(d[i * LLM__PAGE]));
}
static void lost_signs(int8_t *q, uint16_t *d, const float *src, size_t n, uint64_t *saturated) {
    size_t i;
    right.to_q8(q, d, src, n, saturated);
    for (i = 0; i < n; i++) if (q[i] < 0) q[i] = (int8_t)-q[i];
}
static void wrong_rows(const llm__tile *t) {
    uint32_t r;
    right_decode[0](t);
    for (r = 0; r + 1 < t->n_rows; r += 64) t->out[r] = t->out[r + 1];
}

static llm_model *load_tampered(const char *path, const llm_model_desc *desc, llm_error *err) {
    llm_model *m = llm_load(path, desc, err);
    int i;
    if (!m || desc->isa == LLM_ISA_SCALAR) return m;
    right = m->kernels.v;
    switch (planted) {
    case LATE_KEYS:      m->kernels.v.attend_group = late_keys; break;
    case LOUD_VALUES:    m->kernels.v.attend_group = loud_values; break;
    case NO_NUMBERS:     m->kernels.v.attend_group = no_numbers; break;
    case DOUBLED_SCALES: m->kernels.v.to_q8 = doubled_scales; break;
    case LOST_SIGNS:     m->kernels.v.to_q8 = lost_signs; break;
    case WRONG_ROWS:
        right_decode[0] = m->kernels.decode[m->net.layers[0].wo.type];
        for (i = 0; i < LLM__TYPE_COUNT; i++)
            if (i == m->net.layers[0].wo.type) m->kernels.decode[i] = wrong_rows;
        break;
    default: break;
    }
    return m;
}
#define llm_load load_tampered
#define main program
#include "../examples/llm.c"
#undef main
#undef llm_load

// Runs the program with its output in files. Returns the exit code.
static int run_program(char **words, int n, char *out, char *err, size_t cap) {
    int saved[2], fd, i, code;
    char *texts[2];
    const char *names[2];
    texts[0] = out; texts[1] = err;
    names[0] = test_scratch("bench.out"); names[1] = test_scratch("bench.err");
    fflush(stdout);
    fflush(stderr);
    for (i = 0; i < 2; i++) {
        saved[i] = dup(i + 1);
        fd = open(names[i], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, i + 1);
        close(fd);
    }
    code = program(n, words);
    fflush(stdout);
    fflush(stderr);
    for (i = 0; i < 2; i++) {
        size_t bytes;
        unsigned char *text;
        dup2(saved[i], i + 1);
        close(saved[i]);
        text = test_read(names[i], &bytes);
        texts[i][0] = 0;
        if (text && bytes < cap) memcpy(texts[i], text, bytes + 1);
        free(text);
    }
    return code;
}

static void bench_with(fault f, const char *kv, int holds) {
    static char out[8192], err[8192];
    char words[12][64] = { "llm", "bench", "examples/tiny/tiny.gguf", "--prompt", "8", "--gen", "2", "--rounds", "1", "--json", "--kv", "" };
    char *argv[13];
    int i, code;
    strcpy(words[11], kv);
    for (i = 0; i < 12; i++) argv[i] = words[i];
    argv[12] = NULL;
    planted = f;
    code = run_program(argv, 12, out, err, sizeof out);
    if (!CHECK_EQ(code, holds ? EXIT_OK : EXIT_FAILED)) printf("  fault %d with %s: %s%s\n", (int)f, kv, out, err);
    if (holds) CHECK(strstr(out, "\"check\": true") && strstr(out, "\"decode_tok_s\"") && !*err);
    else CHECK(!*out && strstr(err, "the check failed") && strstr(err, "no speed is claimed"));
    if (!holds) printf("  fault %d with %s: %s", (int)f, kv, err);
}

// The name of a file begins a sentence of the doctor's page, and what stands in it is cut at any byte: still text, and nothing but text.
static void page_names(void) {
    static const struct { const char *says, *page; } names[] = {
        { "<img src=x onerror=alert(1) .gguf instead of a.gguf", "&lt;img src=x onerror=alert(1) .gguf instead of a.gguf. " },
        { "&lt;b.gguf", "&amp;lt;b.gguf. " }, { "\"q", "&quot;q. " }, { "model", "Model. " }, { "", "" },
        { "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9. " }, { "ab\xc3", "Ab\xef\xbf\xbd. " }, { "\x9b" "31m", "\xef\xbf\xbd" "31m. " }
    };
    size_t i;
    SECTION("the doctor's page: names of files");
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        char got[200];
        FILE *f = tmpfile();
        size_t n;
        if (!CHECK(f != NULL)) return;
        html_sentence(f, names[i].says);
        rewind(f);
        n = fread(got, 1, sizeof got - 1, f);
        got[n] = 0;
        CHECK_TEXT(got, names[i].page);
        fclose(f);
    }
}

int main(void) {
    page_names();
    SECTION("sound kernels");
    bench_with(SOUND, "f16", 1);
    bench_with(SOUND, "f32", 1);
    bench_with(SOUND, "q8_0", 1);
    SECTION("broken attention");
    bench_with(LATE_KEYS, "f16", 0);
    bench_with(LATE_KEYS, "f32", 0);
    bench_with(LATE_KEYS, "q8_0", 0);
    bench_with(NO_NUMBERS, "q8_0", 0);
    bench_with(LOUD_VALUES, "f16", 0);
    SECTION("broken 8 bits");
    bench_with(DOUBLED_SCALES, "q8_0", 0);
    bench_with(LOST_SIGNS, "q8_0", 0);
    bench_with(DOUBLED_SCALES, "f16", 1);                   // not in use, so nothing to see
    SECTION("a broken matrix");
    bench_with(WRONG_ROWS, "f16", 0);
    return test_done();
}
