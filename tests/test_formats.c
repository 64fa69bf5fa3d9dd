// Stored types: the table against independent sizes, cards against reference values (dequantized bits and dots), hand-made blocks.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

// ---- a reader for one file, independent of the library's --------------------------------------------------------------------

typedef struct tensor { const uint8_t *data; uint32_t type; uint64_t n, rows; } tensor;

static size_t value_bytes(const uint8_t *p, uint32_t type) {      // metadata of blocks.gguf: scalars and strings only
    static const uint8_t size[13] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    return type == 8 ? 8 + (size_t)llm__le64(p) : size[type];
}
static bool same_name(const uint8_t *text, uint64_t length, const char *name) {      // the file writes q4_K
    uint64_t i;
    if (length != strlen(name)) return false;
    for (i = 0; i < length; i++) {
        int a = text[i] | 32, b = name[i] | 32;
        if (text[i] != name[i] && (a != b || a < 'a' || a > 'z')) return false;
    }
    return true;
}
static bool find_tensor(const uint8_t *file, const char *name, tensor *out) {
    uint64_t n_tensors = llm__le64(file + 8), n_kv = llm__le64(file + 16), i, offset = 0;
    const uint8_t *p = file + 24;
    bool found = false;
    for (i = 0; i < n_kv; i++) {
        p += 8 + llm__le64(p);
        p += 4 + value_bytes(p + 4, llm__le32(p));
    }
    for (i = 0; i < n_tensors; i++) {
        uint64_t length = llm__le64(p), dims;
        const uint8_t *text = p + 8;
        p = text + length;
        dims = llm__le32(p);
        if (same_name(text, length, name)) {
            found = true;
            out->n = llm__le64(p + 4);
            out->rows = dims > 1 ? llm__le64(p + 12) : 1;
            out->type = llm__le32(p + 4 + 8 * dims);
            offset = llm__le64(p + 8 + 8 * dims);
        }
        p += 4 + 8 * dims + 12;
    }
    out->data = file + ((size_t)(p - file) + 31) / 32 * 32 + offset;      // general.alignment is the default
    return found;
}
// Floats of the file, in this machine's byte order.
static void floats_of(float *out, const uint8_t *data, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) out[i] = llm__f32_load(data + i * 4);
}
static bool same_floats(const float *got, const uint8_t *data, size_t n) {
    size_t i;
    for (i = 0; i < n && llm__f32_bits(got[i]) == llm__le32(data + i * 4); i++) { }
    return i == n;
}
static bool find_of(const uint8_t *file, const char *kind, int type, tensor *out) {
    char name[32];
    sprintf(name, "%s.%s", kind, llm__types[type].name);
    return find_tensor(file, name, out);
}

// ---- suites -----------------------------------------------------------------------------------------------------------------

// Bytes per 32 weights from the published bits per weight, not from our structs.
static void test_table(void) {
    static const struct { const char *name; uint32_t gguf; double bits; } known[] = {
        { "F32", 0, 32 }, { "F16", 1, 16 }, { "BF16", 30, 16 }, { "Q4_0", 2, 4.5 }, { "Q4_1", 3, 5 }, { "Q5_0", 6, 5.5 }, { "Q5_1", 7, 6 },
        { "Q8_0", 8, 8.5 }, { "Q2_K", 10, 2.625 }, { "Q3_K", 11, 3.4375 }, { "Q4_K", 12, 4.5 }, { "Q5_K", 13, 5.5 },
        { "Q6_K", 14, 6.5625 }, { "IQ2_XXS", 16, 2.0625 }, { "IQ2_XS", 17, 2.3125 }, { "IQ3_XXS", 18, 3.0625 }, { "IQ1_S", 19, 1.5625 },
        { "IQ4_NL", 20, 4.5 }, { "IQ3_S", 21, 3.4375 }, { "IQ2_S", 22, 2.5625 }, { "IQ4_XS", 23, 4.25 }, { "IQ1_M", 29, 1.75 },
        { "TQ1_0", 34, 1.6875 }, { "TQ2_0", 35, 2.0625 }, { "MXFP4", 39, 4.25 }, { "NVFP4", 40, 4.5 }, { "Q1_0", 41, 1.125 },
        { "Q2_0", 42, 2.25 } };
    size_t i, found = 0;
    uint64_t bytes = 0;
    SECTION("table");
    for (i = 0; i < LLM__COUNT(known); i++) {
        int type = llm__type_of_gguf(known[i].gguf);
        if (!CHECK(type != LLM__TYPE_NONE)) continue;
        found++;
        CHECK_TEXT(llm__types[type].name, known[i].name);
        CHECK(llm__row_bytes(type, 256 * 7, &bytes) && (double)bytes == 256 * 7 * known[i].bits / 8);
        CHECK((llm__types[type].load == NULL) != (llm__types[type].unpack == NULL));
        CHECK(llm__types[type].block_weights % 32 == 0 || llm__types[type].load != NULL);
    }
    CHECK_EQ(found, LLM__TYPE_COUNT);
    CHECK_EQ(llm__type_of_gguf(4), LLM__TYPE_NONE);
    CHECK_EQ(llm__type_of_gguf(0xffffffffu), LLM__TYPE_NONE);
    CHECK(!llm__row_bytes(LLM__Q4_0, 33, &bytes));
    CHECK(!llm__row_bytes(LLM__Q4_K, 128, &bytes));
    CHECK(!llm__row_bytes(LLM__F32, UINT64_MAX / 2, &bytes));
    CHECK(!llm__row_bytes(LLM__Q8_0, UINT64_MAX - 31, &bytes));
    CHECK(llm__row_bytes(LLM__Q8_0, 0, &bytes) && bytes == 0);
}

// The bits of the reference, from an aligned and from an odd address.
static void test_dequantize(const uint8_t *file) {
    int type;
    SECTION("dequantize");
    for (type = 0; type < LLM__TYPE_COUNT; type++) {
        tensor q, f;
        size_t n, bytes;
        uint64_t row;
        uint8_t *odd;
        float *out;
        if (type == LLM__F32) continue;                               // the fixture's own currency
        if (!CHECK(find_of(file, "q", type, &q) && find_of(file, "f", type, &f))) continue;
        CHECK_EQ(q.type, llm__types[type].gguf_type);
        CHECK_EQ(f.n * f.rows, q.n * q.rows);
        n = (size_t)(q.n * q.rows);
        CHECK(llm__row_bytes(type, n, &row));
        bytes = (size_t)row;
        odd = (uint8_t *)malloc(bytes + 1);
        out = (float *)malloc(n * sizeof *out);
        llm__dequantize_row(type, q.data, out, n);
        CHECK(same_floats(out, f.data, n));
        memset(out, 0xcc, n * sizeof *out);
        memcpy(odd + 1, q.data, bytes);
        llm__dequantize_row(type, odd + 1, out, n);
        CHECK(same_floats(out, f.data, n));
        free(odd);
        free(out);
    }
}

// N3, written out once more: q = round half to even of x * (127 / amax).
static void quantize(const float *x, size_t n, int8_t *q, float *d) {
    size_t b, k;
    for (b = 0; b < n / 32; b++) {
        float amax = 0, r;
        for (k = 0; k < 32; k++) amax = LLM__MAX(amax, LLM__MAX(x[b * 32 + k], -x[b * 32 + k]));
        d[b] = amax / 127.0f;
        r = amax > 0 ? 127.0f / amax : 0.0f;
        for (k = 0; k < 32; k++) {
            float v = x[b * 32 + k] * r, up = v + 12582912.0f;         // stored, so rounded: some compilers go by way of doubles
            q[b * 32 + k] = (int8_t)(up - 12582912.0f);
        }
    }
}

// The integers of a card give the same dot as its floats, and both lie near the double-precision product of the reference.
static void test_dots(const uint8_t *file) {
    int type;
    tensor x;
    SECTION("dots of the cards");
    if (!CHECK(find_tensor(file, "x", &x))) return;
    for (type = 0; type < LLM__TYPE_COUNT; type++) {
        const llm__type_info *t = &llm__types[type];
        tensor q, y;
        uint64_t r, row_bytes;
        uint32_t g, k;
        float *xf = (float *)malloc((size_t)x.n * 4), *d = (float *)malloc((size_t)x.n / 8);
        int8_t *a = (int8_t *)malloc((size_t)x.n);
        if (!t->unpack || !CHECK(find_of(file, "q", type, &q) && find_of(file, "y", type, &y))) { free(xf); free(d); free(a); continue; }
        CHECK_EQ(q.n, x.n);
        llm__row_bytes(type, q.n, &row_bytes);
        floats_of(xf, x.data, (size_t)x.n);
        quantize(xf, (size_t)x.n, a, d);
        for (r = 0; r < q.rows; r++) {
            double sum = 0, from_floats = 0, ww = 0, xx = 0, want = (double)llm__f32_load(y.data + r * 4), far_off;
            for (g = 0; g < q.n / 32; g++) {
                const uint8_t *block = q.data + r * row_bytes + g / (t->block_weights / 32) * t->block_bytes;
                llm__weights32 w;
                float f[32];
                double dot = 0, least = 0;            // per half its own scale
                t->unpack(block, g % (t->block_weights / 32), &w);
                llm__dequantize32(&w, t->minima, f);
                for (k = 0; k < 32; k++) {
                    dot += (double)w.s[k / 16] * w.sub[k / 16] * w.q[k] * a[g * 32 + k];
                    least += (double)w.mn[k / 16] * a[g * 32 + k];
                    from_floats += (double)f[k] * (double)xf[g * 32 + k];
                    ww += (double)f[k] * (double)f[k];
                    xx += (double)xf[g * 32 + k] * (double)xf[g * 32 + k];
                }
                sum += (double)d[g] * (dot + (t->minima ? (double)w.t * least : 0.0));
            }
            far_off = (sum - want) * (sum - want);
            CHECK(far_off <= 1e-6 * ww * xx);
            far_off = (from_floats - want) * (from_floats - want);
            CHECK(far_off <= 1e-12 * ww * xx);
        }
        free(xf); free(d); free(a);
    }
}

// The same products by the kernels of every instruction set, from int8 activations: within 1e-3 of |row| * |x|.
static void test_products(const uint8_t *file) {
    static const llm_isa isas[] = { LLM_ISA_SCALAR, LLM_ISA_AVX2, LLM_ISA_AVX_VNNI, LLM_ISA_AVX512_VNNI, LLM_ISA_NEON, LLM_ISA_NEON_DOTPROD,
                                    LLM_ISA_NEON_I8MM, LLM_ISA_WASM128, LLM_ISA_RVV };
    void *base = malloc((size_t)llm__panel_bytes() + 64), *panel = (uint8_t *)base + (64 - (uintptr_t)base % 64);
    float xf[512], d[16], out[8], w[512];
    int8_t a[512];
    int16_t s16[32];
    llm__acts acts;
    llm__tile t;
    tensor x, q, y;
    size_t i, r, k;
    int type;
    SECTION("products");
    if (!CHECK(find_tensor(file, "x", &x) && x.n == 512)) { free(base); return; }
    floats_of(xf, x.data, LLM__COUNT(xf));
    quantize(xf, 512, a, d);
    for (i = 0; i < 32; i++) for (s16[i] = 0, k = 0; k < 16; k++) s16[i] = (int16_t)(s16[i] + a[i * 16 + k]);
    acts.f = xf; acts.q = a; acts.d = d; acts.s16 = s16; acts.n = 512; acts.n_tokens = 1;
    for (i = 0; i < LLM__COUNT(isas); i++)
        for (type = 0; type < LLM__TYPE_COUNT; type++) {
            llm__kernels kernels;
            uint64_t row_bytes;
            if (!llm__types[type].unpack || llm__kernels_pick(&kernels, isas[i], NULL) != LLM_OK) continue;
            if (!CHECK(find_of(file, "q", type, &q) && find_of(file, "y", type, &y) && q.n == 512 && q.rows == 8)) continue;
            CHECK(llm__row_bytes(type, 512, &row_bytes));
            t.w = q.data; t.row_bytes = (size_t)row_bytes; t.n_rows = 8; t.x = &acts; t.n_tokens = 1;
            t.out = out; t.ld = 8; t.panel = panel; t.follows = false;
            kernels.decode[type](&t);
            for (r = 0; r < 8; r++) {
                double ww = 0, xx = 0, off = (double)out[r] - (double)llm__f32_load(y.data + r * 4);
                llm__dequantize_row(type, q.data + r * t.row_bytes, w, 512);
                for (k = 0; k < 512; k++) { ww += (double)w[k] * (double)w[k]; xx += (double)xf[k] * (double)xf[k]; }
                CHECK(off * off <= 1e-6 * ww * xx);
            }
        }
    free(base);
}

// Blocks that quantizers do not write but files may contain: every code, negative and infinite scales.
static void test_hostile_blocks(void) {
    llm__q8_0 b;
    llm__q6_k k;
    float out[256];
    int i;
    SECTION("hostile blocks");
    b.d[0] = 0x00; b.d[1] = 0xbc;                                     // -1
    for (i = 0; i < 32; i++) b.q[i] = (uint8_t)(i * 8);
    b.q[0] = 0x80;
    llm__dequantize_row(LLM__Q8_0, &b, out, 32);
    CHECK(out[0] == 128.0f && out[1] == -8.0f && out[31] == 8.0f && out[16] == 128.0f);
    memset(&k, 0xff, sizeof k);
    k.d[0] = 0x00; k.d[1] = 0x40;                                     // 2
    for (i = 0; i < 16; i++) k.scales[i] = i % 2 ? 0x80 : 0x7f;
    llm__dequantize_row(LLM__Q6_K, &k, out, 256);
    CHECK(out[0] == 2.0f * 127 * 31 && out[16] == 2.0f * -128 * 31);
    b.d[0] = 0x00; b.d[1] = 0x7c;                                     // infinity
    llm__dequantize_row(LLM__Q8_0, &b, out, 32);
    CHECK(llm__f32_bits(out[1]) == 0x7f800000u && llm__f32_bits(out[31]) == 0xff800000u);
    b.d[0] = 0x01; b.d[1] = 0x00;                                     // the smallest subnormal
    llm__dequantize_row(LLM__Q8_0, &b, out, 32);
    CHECK(out[1] == 8.0f / 16777216.0f);
}

// What quantizers do not write and the fixture therefore lacks; the values are those of ggml's own code.
static void test_rare_codes(void) {
    llm__q2_0 q;
    llm__nvfp4 n;
    llm__mxfp4 m;
    llm__iq1_m i;
    float out[256];
    SECTION("codes that quantizers do not write");
    memset(&q, 0xff, sizeof q);                                       // code 3 of q2_0: one more than the largest written
    q.d[0] = 0x00; q.d[1] = 0x3e;                                     // 1.5
    llm__dequantize_row(LLM__Q2_0, &q, out, 64);
    CHECK(out[0] == 3.0f && out[63] == 3.0f);
    memset(&n, 0x22, sizeof n);                                       // e2m1: 1
    n.d[0] = 0x7f; n.d[1] = 0xff; n.d[2] = 0x80; n.d[3] = 0x7e;       // NaN read as 0; 480; 0 again; the largest, 448
    llm__dequantize_row(LLM__NVFP4, &n, out, 64);
    CHECK(llm__f32_bits(out[0]) == 0 && out[16] == 480.0f && llm__f32_bits(out[32]) == 0 && out[63] == 448.0f);
    n.d[0] = 0x00; n.d[1] = 0x01; n.d[2] = 0x08; n.d[3] = 0x38;       // 0, the smallest, the smallest normal one, 1
    llm__dequantize_row(LLM__NVFP4, &n, out, 64);
    CHECK(out[15] == 0.0f && out[31] == 1.0f / 512 && out[47] == 1.0f / 64 && out[48] == 1.0f);
    memset(&m, 0x91, sizeof m);                                       // 0.5 and -0.5
    m.e = 0;
    llm__dequantize_row(LLM__MXFP4, &m, out, 32);
    CHECK(llm__f32_bits(out[0]) == 0x00200000u && llm__f32_bits(out[16]) == 0x80200000u);          // 2^-128, subnormal
    m.e = 1;
    llm__dequantize_row(LLM__MXFP4, &m, out, 32);
    CHECK(llm__f32_bits(out[0]) == 0x00400000u);
    m.e = 128;
    llm__dequantize_row(LLM__MXFP4, &m, out, 32);
    CHECK(out[0] == 1.0f && out[31] == -1.0f);
    m.e = 255;
    llm__dequantize_row(LLM__MXFP4, &m, out, 32);
    CHECK(llm__f32_bits(out[0]) == 0x7f000000u);                      // 2^127
    memset(&i, 0, sizeof i);                                          // d = 0x4321 in four pieces; word 0 of the grid: eight times -1
    i.scales[1] = 0x10; i.scales[3] = 0x20; i.scales[5] = 0x30; i.scales[7] = 0x47;
    i.scales[6] = 0xff;                                               // 12 bits of ones: the last four scales are 15
    i.scales[7] |= 0x0f;
    i.qh[15] = 0x88;                                                  // minus for the last two words
    llm__dequantize_row(LLM__IQ1_M, &i, out, 256);
    CHECK(out[0] == llm__f16_to_f32(0x4321) * -0.875f && out[255] == llm__f16_to_f32(0x4321) * 15 * -1.125f);
}

int main(void) {
    const char *path = test_fixture("quants/blocks.gguf");
    size_t n = 0;
    uint8_t *file;
    test_table();
    test_hostile_blocks();
    test_rare_codes();
    if (!path) { test_skip("quants/blocks.gguf is not there"); return test_done(); }
    file = test_read(path, &n);
    if (CHECK(file != NULL && n > 24)) {
        test_dequantize(file);
        test_dots(file);
        test_products(file);
    }
    free(file);
    return test_done();
}
