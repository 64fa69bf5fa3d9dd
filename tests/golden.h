// golden.h - reference logits on disk, models made on the spot, distances, and SHA-256: what the suites over whole models share.
// Include after llm.h and test.h.
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdint.h>

//------------------------------------------------------------------------------------------------------------------------------
// Numbers without libm, so that the suites link as the library does. Good to 1e-15 relative; golden_self_test proves it.

static TEST_UNUSED double golden_exp(double x) {                     // |x| < 700
    const double ln2 = 0.693147180559945309;
    double k = (double)(long)(x / ln2 + (x < 0 ? -0.5 : 0.5)), r = x - k * ln2, term = 1, sum = 1, scale = 1;
    int i;
    for (i = 1; i < 24; i++) { term *= r / i; sum += term; }
    for (i = 0; i < (int)(k < 0 ? -k : k); i++) scale *= 2;
    return k < 0 ? sum / scale : sum * scale;
}
static TEST_UNUSED double golden_log(double x) {                     // x > 0; -1e30 for what underflowed to nothing
    const double ln2 = 0.693147180559945309;
    double k = 0, t, power, sum = 0;
    int i;
    if (!(x > 1e-300)) return -1e30;
    while (x > 1.5) { x /= 2; k += 1; }
    while (x < 0.75) { x *= 2; k -= 1; }
    t = (x - 1) / (x + 1);
    for (i = 1, power = t; i < 48; i += 2, power *= t * t) sum += power / i;
    return 2 * sum + k * ln2;
}
static TEST_UNUSED int golden_near(double a, double b, double relative) {
    double d = a - b, m = b < 0 ? -b : b;
    return (d < 0 ? -d : d) <= relative * m;
}
static TEST_UNUSED int golden_self_test(void) {
    return golden_near(golden_exp(1), 2.718281828459045235, 1e-14) && golden_near(golden_exp(-20), 2.061153622438557828e-9, 1e-13) &&
           golden_near(golden_log(10), 2.302585092994045684, 1e-14) && golden_near(golden_log(1e-9), -20.72326583694641116, 1e-14);
}

// NMSE = sum (a-b)^2 / sum b^2 in binary64, b the reference. NaN anywhere gives NaN, which is <= nothing.
static TEST_UNUSED double golden_nmse(const float *a, const float *b, size_t n) {
    double error = 0, power = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        error += d * d;
        power += (double)b[i] * (double)b[i];
    }
    return error / power;
}

//------------------------------------------------------------------------------------------------------------------------------
// NAME.logits: int32 n_tok, int32 n_vocab, int32 tokens[n_tok], float32 logits[n_tok][n_vocab], little-endian.

typedef struct golden { size_t n_tok, n_vocab; llm_token *tokens; float *logits; } golden;

static TEST_UNUSED uint32_t golden_le32(const unsigned char *b) {
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static TEST_UNUSED void golden_free(golden *g) {
    free(g->tokens);
    free(g->logits);
    memset(g, 0, sizeof *g);
}
static TEST_UNUSED int golden_read(golden *g, const char *path) {
    size_t bytes, i, n_floats = 0;
    unsigned char *b = test_read(path, &bytes);
    memset(g, 0, sizeof *g);
    if (!b || bytes < 8) { free(b); return 0; }
    g->n_tok = golden_le32(b);
    g->n_vocab = golden_le32(b + 4);
    if (g->n_tok && g->n_tok < 1u << 16 && g->n_vocab && g->n_vocab < 1u << 20) n_floats = g->n_tok * g->n_vocab;
    if (!n_floats || bytes != 8 + 4 * g->n_tok + 4 * n_floats) { free(b); return 0; }
    g->tokens = (llm_token *)malloc(g->n_tok * sizeof(llm_token));
    g->logits = (float *)malloc(n_floats * sizeof(float));
    if (!g->tokens || !g->logits) { free(b); golden_free(g); return 0; }
    for (i = 0; i < g->n_tok; i++) g->tokens[i] = (llm_token)golden_le32(b + 8 + 4 * i);
    for (i = 0; i < n_floats; i++) {
        uint32_t u = golden_le32(b + 8 + 4 * g->n_tok + 4 * i);
        memcpy(&g->logits[i], &u, 4);
    }
    free(b);
    return 1;
}

// Kullback-Leibler divergence of the distribution of logits q from that of p, natural logarithm.
static TEST_UNUSED double golden_kl(const float *p, const float *q, size_t n) {
    double p_max = (double)p[0], q_max = (double)q[0], p_sum = 0, q_sum = 0, kl = 0, x, y;
    size_t i;
    for (i = 1; i < n; i++) {
        if ((double)p[i] > p_max) p_max = (double)p[i];
        if ((double)q[i] > q_max) q_max = (double)q[i];
    }
    for (i = 0; i < n; i++) {
        if ((double)p[i] - p_max > -40) p_sum += golden_exp((double)p[i] - p_max);
        if ((double)q[i] - q_max > -40) q_sum += golden_exp((double)q[i] - q_max);
    }
    p_sum = p_max + golden_log(p_sum);
    q_sum = q_max + golden_log(q_sum);
    for (i = 0; i < n; i++) {
        x = (double)p[i] - p_sum;
        y = (double)q[i] - q_sum;
        if (x > -40) kl += golden_exp(x) * (x - y);
    }
    return kl;
}

// The value of general.architecture, read without the library. "" when it is not found.
static TEST_UNUSED void golden_arch(const unsigned char *file, size_t n, char *out, size_t cap) {
    static const char key[] = "general.architecture";
    size_t i, at, length;
    out[0] = 0;
    for (i = 0; i + sizeof key - 1 + 12 < n && i < 65536; i++) {
        if (memcmp(file + i, key, sizeof key - 1) != 0) continue;
        at = i + sizeof key - 1;
        length = golden_le32(file + at + 4);
        if (golden_le32(file + at) != 8 || length + 1 > cap || length > n - at - 12) return;
        memcpy(out, file + at + 12, length);
        out[length] = 0;
        return;
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// A GGUF file written into memory: models of any shape and mixture of types for tests that need what no fixture has.

typedef struct golden_file { unsigned char *p; size_t n, cap; } golden_file;

static TEST_UNUSED void golden_put(golden_file *f, const void *bytes, size_t n) {
    if (f->n + n > f->cap) {
        size_t cap = (f->n + n) * 2 + 4096;
        unsigned char *p = (unsigned char *)realloc(f->p, cap);
        if (!p) { printf("no memory for a test model\n"); exit(1); }
        f->p = p;
        f->cap = cap;
    }
    if (n) memcpy(f->p + f->n, bytes, n);
    f->n += n;
}
static TEST_UNUSED void golden_u32(golden_file *f, uint32_t v) {
    unsigned char b[4];
    b[0] = (unsigned char)v; b[1] = (unsigned char)(v >> 8); b[2] = (unsigned char)(v >> 16); b[3] = (unsigned char)(v >> 24);
    golden_put(f, b, 4);
}
static TEST_UNUSED void golden_u64(golden_file *f, uint64_t v) {
    golden_u32(f, (uint32_t)v);
    golden_u32(f, (uint32_t)(v >> 32));
}
static TEST_UNUSED void golden_f32(golden_file *f, float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    golden_u32(f, u);
}
static TEST_UNUSED void golden_text(golden_file *f, const char *s) {
    golden_u64(f, strlen(s));
    golden_put(f, s, strlen(s));
}
static TEST_UNUSED void golden_key_u32(golden_file *f, const char *key, uint32_t v) { golden_text(f, key); golden_u32(f, 4); golden_u32(f, v); }
static TEST_UNUSED void golden_key_f32(golden_file *f, const char *key, float v) { golden_text(f, key); golden_u32(f, 6); golden_f32(f, v); }
static TEST_UNUSED void golden_key_text(golden_file *f, const char *key, const char *v) { golden_text(f, key); golden_u32(f, 8); golden_text(f, v); }

// A float where it stands in the file.
static TEST_UNUSED void golden_set_f32(unsigned char *at, float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    at[0] = (unsigned char)u; at[1] = (unsigned char)(u >> 8); at[2] = (unsigned char)(u >> 16); at[3] = (unsigned char)(u >> 24);
}

// The stored types of the library: GGUF id, name, weights and bytes per block. From the GGUF documentation (ggml, MIT licence).
typedef struct golden_type { uint32_t id; const char *name; unsigned weights, bytes; } golden_type;
static const golden_type golden_types[] = {
    { 0, "F32", 1, 4 },       { 1, "F16", 1, 2 },       { 30, "BF16", 1, 2 },    { 2, "Q4_0", 32, 18 },   { 3, "Q4_1", 32, 20 },
    { 6, "Q5_0", 32, 22 },    { 7, "Q5_1", 32, 24 },    { 8, "Q8_0", 32, 34 },   { 10, "Q2_K", 256, 84 }, { 11, "Q3_K", 256, 110 },
    { 12, "Q4_K", 256, 144 }, { 13, "Q5_K", 256, 176 }, { 14, "Q6_K", 256, 210 },
    { 16, "IQ2_XXS", 256, 66 },  { 17, "IQ2_XS", 256, 74 }, { 18, "IQ3_XXS", 256, 98 }, { 19, "IQ1_S", 256, 50 }, { 20, "IQ4_NL", 32, 18 },
    { 21, "IQ3_S", 256, 110 },   { 22, "IQ2_S", 256, 82 },  { 23, "IQ4_XS", 256, 136 }, { 29, "IQ1_M", 256, 56 }, { 34, "TQ1_0", 256, 54 },
    { 35, "TQ2_0", 256, 66 },    { 39, "MXFP4", 32, 17 },   { 40, "NVFP4", 64, 36 },    { 41, "Q1_0", 128, 18 },  { 42, "Q2_0", 64, 18 },
};
enum { GOLDEN_N_TYPES = (int)(sizeof golden_types / sizeof golden_types[0]) };
enum { GOLDEN_FIRST_TYPES = 13 };             // up to Q6_K: a committed hash stands on just these

// splitmix64 (Sebastiano Vigna, public domain): every bit pattern of a block must be met sooner or later.
static TEST_UNUSED uint64_t golden_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static TEST_UNUSED float golden_uniform(uint64_t *state) { return (float)((double)(golden_random(state) >> 40) / 8388608.0 - 1.0); }      // -1 .. 1

// An F16 of moderate size: sign, exponent e-2 .. e+1, any mantissa.
static TEST_UNUSED void golden_f16(unsigned char *at, uint64_t r, unsigned e) {
    unsigned h = (unsigned)(r & 0x83ff) | (e - 2 + (unsigned)(r >> 16 & 3)) << 10;
    at[0] = (unsigned char)h;
    at[1] = (unsigned char)(h >> 8);
}
// One block of random integers under scales of the size that trained weights have.
static TEST_UNUSED void golden_block(const golden_type *t, unsigned char *b, uint64_t *state) {
    const float tenth = 0.1f;                  // rounded here; where floats are evaluated as doubles, the constant itself would not be
    unsigned i;
    for (i = 0; i < t->bytes; i++) b[i] = (unsigned char)(golden_random(state) >> 24);
    switch (t->id) {
    case 0: golden_set_f32(b, golden_uniform(state) * tenth); break;
    case 1: golden_f16(b, golden_random(state), 11); break;
    case 30: b[1] = (unsigned char)((b[1] & 0x80) | 0x3d); break;
    case 2: case 6: case 8: golden_f16(b, golden_random(state), t->id == 8 ? 4 : 7); break;
    case 3: case 7: golden_f16(b, golden_random(state), 7); golden_f16(b + 2, golden_random(state), 10); break;
    case 10: golden_f16(b + 80, golden_random(state), 5); golden_f16(b + 82, golden_random(state), 5); break;
    case 11: golden_f16(b + 108, golden_random(state), 4); break;
    case 12: case 13: golden_f16(b, golden_random(state), 3); golden_f16(b + 2, golden_random(state), 3); break;
    case 14: golden_f16(b + 208, golden_random(state), 2); break;
    case 16: case 17: case 20: case 22: golden_f16(b, golden_random(state), 5); break;
    case 18: case 21: golden_f16(b, golden_random(state), 4); break;
    case 19: golden_f16(b, golden_random(state), 8); break;
    case 23: golden_f16(b, golden_random(state), 2); break;
    case 29: {                                // F16 in the upper halves of four bytes
        unsigned char d[2];
        golden_f16(d, golden_random(state), 8);
        for (i = 0; i < 4; i++) b[49 + 2 * i] = (unsigned char)((b[49 + 2 * i] & 15) | (d[i / 2] >> i % 2 * 4 & 15) << 4);
        break;
    }
    case 34: case 35: golden_f16(b + t->bytes - 2, golden_random(state), 10); break;
    case 39: b[0] = (unsigned char)(121 + b[0] % 3); break;
    case 40: for (i = 0; i < 4; i++) b[i] = (unsigned char)(b[i] % 24); break;
    default: golden_f16(b, golden_random(state), 10); break;
    }
}

typedef struct golden_shape { uint32_t n_embd, n_ff, n_layer, n_head, n_head_kv, n_vocab, n_ctx; } golden_shape;
typedef struct golden_tensor { char name[64]; uint32_t cols, rows; const golden_type *type; } golden_tensor;
enum { GOLDEN_MAX_TENSORS = 160 };

// A llama whose k-th matrix is stored in types[k mod n]; norms F32. The same seed gives the same file everywhere: only integers and
// exact float products are involved. Free f.p.
static TEST_UNUSED golden_file golden_llama(const golden_shape *s, const golden_type *const *types, unsigned n_types, uint64_t seed) {
    static golden_tensor tensors[GOLDEN_MAX_TENSORS];
    static const char *const parts[9] = { "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down" };
    uint32_t kv = s->n_embd / s->n_head * s->n_head_kv, layer, part, n = 0, k = 0, i, j;
    uint64_t offset = 0;
    golden_file f = { NULL, 0, 0 };
    size_t start;
    for (layer = 0; layer <= s->n_layer; layer++) {
        for (part = 0; part < 9; part++) {
            golden_tensor *t = &tensors[n];
            if (layer == s->n_layer && part > 2) break;                                  // the three tensors outside the layers
            if (layer == s->n_layer) sprintf(t->name, "%s.weight", part == 0 ? "output_norm" : part == 1 ? "token_embd" : "output");
            else sprintf(t->name, "blk.%u.%s.weight", (unsigned)layer, parts[part]);
            t->cols = layer < s->n_layer && part == 8 ? s->n_ff : s->n_embd;
            t->rows = layer == s->n_layer ? s->n_vocab : part == 2 || part == 3 ? kv : part == 6 || part == 7 ? s->n_ff : s->n_embd;
            t->type = &golden_types[0];
            if (part == 0 || (part == 5 && layer < s->n_layer)) t->rows = 0;              // a vector
            else t->type = types[k++ % n_types];
            n++;
        }
    }
    golden_put(&f, "GGUF", 4);
    golden_u32(&f, 3);
    golden_u64(&f, n);
    golden_u64(&f, 9);
    golden_key_text(&f, "general.architecture", "llama");
    golden_key_u32(&f, "llama.context_length", s->n_ctx);
    golden_key_u32(&f, "llama.embedding_length", s->n_embd);
    golden_key_u32(&f, "llama.block_count", s->n_layer);
    golden_key_u32(&f, "llama.feed_forward_length", s->n_ff);
    golden_key_u32(&f, "llama.attention.head_count", s->n_head);
    golden_key_u32(&f, "llama.attention.head_count_kv", s->n_head_kv);
    golden_key_f32(&f, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    golden_key_u32(&f, "llama.vocab_size", s->n_vocab);
    for (i = 0; i < n; i++) {
        const golden_tensor *t = &tensors[i];
        golden_text(&f, t->name);
        golden_u32(&f, t->rows ? 2 : 1);
        golden_u64(&f, t->cols);
        if (t->rows) golden_u64(&f, t->rows);
        golden_u32(&f, t->type->id);
        golden_u64(&f, offset);
        offset += ((uint64_t)t->cols / t->type->weights * t->type->bytes * (t->rows ? t->rows : 1) + 31) & ~(uint64_t)31;
    }
    while (f.n % 32) golden_put(&f, "", 1);
    start = f.n;
    for (i = 0; i < n; i++) {
        const golden_tensor *t = &tensors[i];
        uint32_t blocks = t->cols / t->type->weights * (t->rows ? t->rows : 1);
        unsigned char b[256];
        for (j = 0; j < blocks; j++) {
            if (t->rows) golden_block(t->type, b, &seed);
            else golden_set_f32(b, 1.0f + golden_uniform(&seed) * 0.25f);
            golden_put(&f, b, t->type->bytes);
        }
        while ((f.n - start) % 32) golden_put(&f, "", 1);
    }
    return f;
}

//------------------------------------------------------------------------------------------------------------------------------
// SHA-256 (FIPS 180-4). Checked against the standard's own examples by golden_sha_self_test.

typedef struct golden_sha { uint32_t h[8]; uint64_t n; unsigned char block[64]; } golden_sha;

static const uint32_t golden_sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};
static TEST_UNUSED uint32_t golden_rotr(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static TEST_UNUSED void golden_sha_init(golden_sha *s) {
    static const uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(s->h, h, sizeof h);
    s->n = 0;
}
static TEST_UNUSED void golden_sha_block(golden_sha *s) {
    uint32_t w[64], v[8], t1, t2;
    unsigned i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 | (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (; i < 64; i++)
        w[i] = w[i - 16] + (golden_rotr(w[i - 15], 7) ^ golden_rotr(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (golden_rotr(w[i - 2], 17) ^ golden_rotr(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, s->h, sizeof v);
    for (i = 0; i < 64; i++) {
        t1 = v[7] + (golden_rotr(v[4], 6) ^ golden_rotr(v[4], 11) ^ golden_rotr(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + golden_sha_k[i] + w[i];
        t2 = (golden_rotr(v[0], 2) ^ golden_rotr(v[0], 13) ^ golden_rotr(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        v[7] = v[6]; v[6] = v[5]; v[5] = v[4]; v[4] = v[3] + t1; v[3] = v[2]; v[2] = v[1]; v[1] = v[0]; v[0] = t1 + t2;
    }
    for (i = 0; i < 8; i++) s->h[i] += v[i];
}
static TEST_UNUSED void golden_sha_add(golden_sha *s, const void *bytes, size_t n) {
    const unsigned char *p = (const unsigned char *)bytes;
    for (; n; n--) {
        s->block[s->n++ & 63] = *p++;
        if ((s->n & 63) == 0) golden_sha_block(s);
    }
}
static TEST_UNUSED void golden_sha_hex(golden_sha *s, char hex[65]) {
    uint64_t bits = s->n * 8;
    unsigned char byte = 0x80;
    int i;
    golden_sha_add(s, &byte, 1);
    for (byte = 0; (s->n & 63) != 56; ) golden_sha_add(s, &byte, 1);
    for (i = 56; i >= 0; i -= 8) { byte = (unsigned char)(bits >> i); golden_sha_add(s, &byte, 1); }
    for (i = 0; i < 64; i++) hex[i] = "0123456789abcdef"[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}
// Floats and tokens enter as little-endian bytes, so that every CPU prints the same hash.
static TEST_UNUSED void golden_sha_words(golden_sha *s, const void *words, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        uint32_t u;
        unsigned char b[4];
        memcpy(&u, (const unsigned char *)words + 4 * i, 4);
        b[0] = (unsigned char)u; b[1] = (unsigned char)(u >> 8); b[2] = (unsigned char)(u >> 16); b[3] = (unsigned char)(u >> 24);
        golden_sha_add(s, b, 4);
    }
}
static TEST_UNUSED int golden_sha_self_test(void) {
    char hex[65];
    golden_sha s;
    golden_sha_init(&s);
    golden_sha_add(&s, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    golden_sha_hex(&s, hex);
    return strcmp(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") == 0;
}

#endif
