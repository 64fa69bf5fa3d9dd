// sha256.h - SHA-256 as FIPS 180-4 defines it, for files of any size.

//------------------------------------------------------------------------------------------------------------------------------
// >>sha256   Words are big-endian in the message and host words in the state; a block is 16 words.

typedef struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;            // taken so far
    unsigned char block[64];     // the bytes of the block that is not full yet
} sha256;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2).
static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t sha256_sum0(uint32_t x) { return sha256_rotate(x, 2) ^ sha256_rotate(x, 13) ^ sha256_rotate(x, 22); }
static uint32_t sha256_sum1(uint32_t x) { return sha256_rotate(x, 6) ^ sha256_rotate(x, 11) ^ sha256_rotate(x, 25); }
static uint32_t sha256_low0(uint32_t x) { return sha256_rotate(x, 7) ^ sha256_rotate(x, 18) ^ x >> 3; }
static uint32_t sha256_low1(uint32_t x) { return sha256_rotate(x, 17) ^ sha256_rotate(x, 19) ^ x >> 10; }

// One of the 64 rounds: word t of 16. Instead of moving eight variables along, the next round is given them in other places.
#define SHA256_ROUND(a, b, c, d, e, f, g, h, t) do { \
    uint32_t x = h + sha256_sum1(e) + (((f ^ g) & e) ^ g) + k[t] + w[t]; \
    d += x; \
    h = x + sha256_sum0(a) + ((a & b) | ((a | b) & c)); \
} while (0)
#define SHA256_8_ROUNDS(t) do { \
    SHA256_ROUND(a, b, c, d, e, f, g, h, t);     SHA256_ROUND(h, a, b, c, d, e, f, g, t + 1); \
    SHA256_ROUND(g, h, a, b, c, d, e, f, t + 2); SHA256_ROUND(f, g, h, a, b, c, d, e, t + 3); \
    SHA256_ROUND(e, f, g, h, a, b, c, d, t + 4); SHA256_ROUND(d, e, f, g, h, a, b, c, t + 5); \
    SHA256_ROUND(c, d, e, f, g, h, a, b, t + 6); SHA256_ROUND(b, c, d, e, f, g, h, a, t + 7); \
} while (0)

static void sha256_block(uint32_t *state, const unsigned char *p) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7], w[16];
    const uint32_t *k = sha256_k;
    int i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (;;) {
        SHA256_8_ROUNDS(0);
        SHA256_8_ROUNDS(8);
        k += 16;
        if (k == sha256_k + 64) break;
        for (i = 0; i < 16; i++)                           // the words of the next 16 rounds, over those of the last
            w[i] += sha256_low1(w[(i + 14) & 15]) + w[(i + 9) & 15] + sha256_low0(w[(i + 1) & 15]);
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

static void sha256_begin(sha256 *s) {
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(s->state, start, sizeof start);
    s->n_bytes = 0;
}
static void sha256_add(sha256 *s, const void *data, size_t n) {
    const unsigned char *p = (const unsigned char *)data;
    size_t have = (size_t)(s->n_bytes % 64), take;
    s->n_bytes += n;
    if (have) {
        take = n < 64 - have ? n : 64 - have;
        memcpy(s->block + have, p, take);
        if (have + take < 64) return;
        sha256_block(s->state, s->block);
        p += take;
        n -= take;
    }
    for (; n >= 64; p += 64, n -= 64) sha256_block(s->state, p);
    if (n) memcpy(s->block, p, n);
}
// A one bit, zeros, and the length in bits that ends the last block (5.1.1). hex: 64 digits and a NUL.
static void sha256_end(sha256 *s, char *hex) {
    static const unsigned char one[64] = { 0x80 };
    const uint64_t n_bits = s->n_bytes * 8;
    unsigned char length[8];
    int i;
    for (i = 0; i < 8; i++) length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    sha256_add(s, one, 1 + (size_t)((119 - s->n_bytes % 64) % 64));
    sha256_add(s, length, 8);
    for (i = 0; i < 8; i++) sprintf(hex + 8 * i, "%08lx", (unsigned long)s->state[i]);
}

// The sum of a whole file. Returns 0 after a complaint.
static int sha256_file(const char *path, char *hex) {
    enum { PIECE = 1 << 18 };
    FILE *f = fopen(path, "rb");
    char *piece = (char *)malloc(PIECE);
    sha256 s;
    size_t n;
    int good = f && piece;
    sha256_begin(&s);
    if (!piece) complain("out of memory");
    else if (!f) complain("cannot open '%s': %s", path, strerror(errno));
    while (good && (n = fread(piece, 1, PIECE, f)) > 0) sha256_add(&s, piece, n);
    if (good && ferror(f)) { complain("cannot read '%s': %s", path, strerror(errno)); good = 0; }
    sha256_end(&s, hex);
    if (f) fclose(f);
    free(piece);
    return good;
}
