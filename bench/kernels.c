// Speed of the matrix kernels alone: one thread, every stored type, every instruction set that this CPU has.
//
//     cc -O2 -std=c99 -I. -Wno-unused-function bench/kernels.c -o build/kernels && build/kernels
//     build/kernels [--type Q4_0] [--cols 2048] [--mb 64] [--tokens 128] [--passes 9] [--isa AVX2]
//
// decode: one token times a matrix of --mb megabytes, in GB/s of stored bytes, against a read-only pass over the same bytes, taking
// turns; below the size of the cache (--mb 1) it shows what the kernel could do if memory were no limit. prefill: --tokens tokens times
// rows that fit the cache, in 1e9 products per second. The fastest pass counts: a busy machine only ever makes things slower.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include <stdio.h>

typedef struct options { const char *type, *isa; uint32_t cols, mb, tokens, passes; } options;

typedef struct matrix {
    int type;
    uint32_t rows, cols;
    size_t row_bytes;
    uint8_t *w;
    llm__acts x;
    float *out;
    uint8_t *floats_base, *panel_base, *panel;
} matrix;

static uint32_t random32(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static void *need(size_t bytes) {
    void *p = malloc(bytes);
    if (!p) { fprintf(stderr, "no memory for %lu bytes\n", (unsigned long)bytes); exit(1); }
    return p;
}

static uint8_t *aligned(uint8_t **base, size_t bytes) {
    *base = (uint8_t *)need(bytes + 64);
    return *base + (64 - (uintptr_t)*base % 64);
}

// Small numbers of every kind; 0xbf keeps the exponents of f16 scales away from infinity, where arithmetic might be slower.
static void matrix_make(matrix *m, int type, const options *o) {
    const llm__type_info *t = &llm__types[type];
    uint64_t bytes, state = 1;
    size_t i, n;
    float *floats;
    m->type = type;
    m->cols = o->cols / t->block_weights * t->block_weights;
    llm__row_bytes(type, m->cols, &bytes);
    m->row_bytes = (size_t)bytes;
    m->rows = (uint32_t)(((size_t)o->mb << 20) / m->row_bytes / 8 * 8);
    n = m->rows * m->row_bytes;
    m->w = (uint8_t *)need(n);
    for (i = 0; i < n; i++) m->w[i] = (uint8_t)(random32(&state) & 0xbf);
    for (i = 0; type == LLM__MXFP4 && i < n; i += t->block_bytes) m->w[i] = (uint8_t)(112 + m->w[i] % 16);       // no subnormal scales
    n = (size_t)m->cols * o->tokens;
    m->x.f = floats = (float *)(void *)aligned(&m->floats_base, n * sizeof(float));
    m->x.n = m->cols;
    m->x.n_tokens = o->tokens;
    m->x.q = (int8_t *)need(n);
    m->x.d = (float *)need(n / 8);
    m->x.s16 = (int16_t *)need(n / 8);
    for (i = 0; i < n; i++) floats[i] = (float)(m->x.q[i] = (int8_t)((int)(random32(&state) % 255) - 127)) * 0.01f;
    for (i = 0; i < n / 32; i++) m->x.d[i] = 0.01f;
    for (i = 0; i < n / 16; i++) m->x.s16[i] = (int16_t)(random32(&state) % 1000);
    m->x.side = (llm__side *)need(((size_t)o->tokens + 7) / 8 * (m->cols / 32) * sizeof(llm__side));
    for (i = 0; i < (o->tokens + 7) / 8; i++) llm__acts_side(&m->x, (uint32_t)i);
    m->out = (float *)need((size_t)m->rows * o->tokens * sizeof(float));
    m->panel = aligned(&m->panel_base, (size_t)llm__panel_bytes());
}
static void matrix_free(matrix *m) {
    free(m->w); free(m->floats_base); free(m->x.q); free(m->x.d); free(m->x.s16); free(m->x.side); free(m->out); free(m->panel_base);
}

static double seconds(void) { return (double)llm__os_now_us() * 1e-6; }

// One pass over all bytes; the sum is returned so that the loop is not dropped.
static uint64_t read_all(const uint8_t *p, size_t n) {
    uint64_t a = 0, b = 0, c = 0, d = 0, v[8];
    size_t i;
    for (i = 0; i + 64 <= n; i += 64) {
        memcpy(v, p + i, 64);
        a += v[0] ^ v[4]; b += v[1] ^ v[5]; c += v[2] ^ v[6]; d += v[3] ^ v[7];
    }
    return a + b + c + d;
}

static void tile_of(llm__tile *t, const matrix *m, uint32_t row, uint32_t n_rows, uint32_t n_tokens) {
    t->w = m->w + row * m->row_bytes;
    t->row_bytes = m->row_bytes;
    t->n_rows = n_rows;
    t->x = &m->x;
    t->n_tokens = n_tokens;
    t->out = m->out + row;
    t->ld = m->rows;
    t->panel = m->panel;
    t->follows = false;
}

static uint64_t measure(const llm__kernels *k, const matrix *m, const options *o) {
    const size_t bytes = m->rows * m->row_bytes;
    const uint32_t few = LLM__MIN(m->rows, 512u);
    const uint32_t again = bytes < (8u << 20) ? (uint32_t)((8u << 20) / bytes) : 1;        // a pass takes long enough for the clock
    double best_read = 1e9, best_decode = 1e9, best_prefill = 1e9;
    uint64_t sum = 0;
    uint32_t pass, i;
    llm__tile t;
    for (pass = 0; pass < o->passes; pass++) {
        double start = seconds(), now;
        for (i = 0; i < again; i++) sum += read_all(m->w, bytes);
        now = seconds();
        best_read = LLM__MIN(best_read, (now - start) / again);
        tile_of(&t, m, 0, m->rows, 1);
        start = now;
        for (i = 0; i < again; i++) k->decode[m->type](&t);
        now = seconds();
        best_decode = LLM__MIN(best_decode, (now - start) / again);
        start = now;
        for (i = 0; i < few; i += 32) {
            tile_of(&t, m, i, LLM__MIN(32u, few - i), o->tokens);
            k->prefill[m->type](&t);
        }
        best_prefill = LLM__MIN(best_prefill, seconds() - start);
    }
    printf("%-8s %-5s %6u cols  read %6.2f GB/s  decode %6.2f GB/s (%3.0f%%)  prefill %6.1f GMAC/s\n", llm__isa_name(k->isa),
           llm__types[m->type].name, m->cols, (double)bytes / best_read * 1e-9, (double)bytes / best_decode * 1e-9,
           100 * best_read / best_decode, (double)few * m->cols * o->tokens / best_prefill * 1e-9);
    fflush(stdout);
    return sum;
}

static options options_from(int argc, char **argv) {
    options o = { "", "", 2048, 64, 128, 9 };
    int i;
    for (i = 1; i + 1 < argc; i += 2) {
        uint32_t n = (uint32_t)atoi(argv[i + 1]);
        if (strcmp(argv[i], "--type") == 0) o.type = argv[i + 1];
        else if (strcmp(argv[i], "--isa") == 0) o.isa = argv[i + 1];
        else if (strcmp(argv[i], "--cols") == 0) o.cols = LLM__MAX(n, 256u);
        else if (strcmp(argv[i], "--mb") == 0) o.mb = LLM__MAX(n, 1u);
        else if (strcmp(argv[i], "--tokens") == 0) o.tokens = LLM__MAX(n, 1u);
        else if (strcmp(argv[i], "--passes") == 0) o.passes = LLM__MAX(n, 1u);
        else { fprintf(stderr, "unknown option %s\n", argv[i]); exit(2); }
    }
    return o;
}

int main(int argc, char **argv) {
#define X(id, name) id,
    static const llm_isa isas[] = { LLM__ISAS(X) };
#undef X
    const options o = options_from(argc, argv);
    uint64_t sum = 0;
    size_t i;
    int type;
    for (i = 0; i < LLM__COUNT(isas); i++)
        for (type = 0; type < LLM__TYPE_COUNT; type++) {
            llm__kernels k;
            matrix m;
            if (isas[i] == LLM_ISA_AUTO || llm__kernels_pick(&k, isas[i], NULL) != LLM_OK || (*o.isa && strcmp(o.isa, llm__isa_name(isas[i])) != 0)) continue;
            if ((!llm__types[type].unpack && !llm__types[type].load) || (*o.type && strcmp(o.type, llm__types[type].name) != 0)) continue;
            matrix_make(&m, type, &o);
            sum += measure(&k, &m, &o);
            matrix_free(&m);
        }
    return sum == 1;              // never in practice: the sum is used
}
