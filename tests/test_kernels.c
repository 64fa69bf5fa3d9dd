// Matrix kernels: every stored type on every instruction set against its scalar card by memcmp, the cards against reference products.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

enum { MAX_ROWS = 40, MAX_TOKENS = 9, GUARD = 3, LD = MAX_ROWS + GUARD };

#define X(id, name) id,
static const llm_isa isas[] = { LLM__ISAS(X) };
#undef X

// What a case is made of; hostile ones are legal bytes that no quantizer writes.
enum { ORDINARY, ALL_PLUS, ALL_MINUS, OPPOSED, ANY_SCALES, ODD_ACTIVATIONS, N_MOODS };

typedef struct problem {
    int type;
    uint32_t cols;
    size_t row_bytes;
    uint8_t *w;                    // at an odd address, exactly as long as the rows
    uint8_t *w_base;
    llm__acts x;
    float *want;                   // [MAX_TOKENS][LD]
} problem;

static uint32_t random32(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

// One byte of a block: anything, or mostly such that the integers are the largest there are.
static uint8_t random_byte(int mood, uint64_t *state) {
    const uint32_t r = random32(state);
    switch (mood) {
    case ALL_PLUS: case OPPOSED: return (uint8_t)(r % 8 ? 0xff : 0x7f);
    case ALL_MINUS: return (uint8_t)(r % 8 ? 0x80 : 0x00);
    default: return (uint8_t)r;
    }
}
// Where the largest integers are wanted the scales are not to be all ones: f16 become 1.25 and more, powers of two modest.
static void modest_scales(int type, uint8_t *block, uint64_t *state) {
    const llm__type_info *t = &llm__types[type];
    const uint8_t scale[2] = { (uint8_t)random32(state), 0x3d };
    const bool at_end = type == LLM__Q2_K || type == LLM__Q3_K || type == LLM__Q6_K || type == LLM__TQ1_0 || type == LLM__TQ2_0;
    uint32_t first = at_end ? t->block_bytes - (t->minima ? 4 : 2) : 0, i;
    if (type == LLM__MXFP4) { block[0] = (uint8_t)(128 - scale[0] % 16); return; }
    if (type == LLM__NVFP4) return;                                   // whatever the bits say is modest
    if (type == LLM__IQ1_M) {                                         // the upper halves of four bytes
        for (i = 0; i < 4; i++) block[49 + i * 2] = (uint8_t)((block[49 + i * 2] & 15) | (scale[i / 2] >> i % 2 * 4 & 15) << 4);
        return;
    }
    memcpy(block + first, scale, 2);
    if (t->minima) memcpy(block + first + 2, scale, 2);
}
// Bytes until every scale of the block is a modest number.
static void random_block(int type, uint8_t *block, int mood, uint64_t *state) {
    const llm__type_info *t = &llm__types[type];
    for (;;) {
        uint32_t i, j, fine = 0;
        for (i = 0; i < t->block_bytes; i++) block[i] = random_byte(mood, state);
        if (mood == ANY_SCALES) return;
        if (mood == ALL_PLUS || mood == ALL_MINUS || mood == OPPOSED) modest_scales(type, block, state);
        for (j = 0; j < t->block_weights / 32; j++) {
            llm__weights32 w;
            t->unpack(block, j, &w);
            fine += w.s[0] < 60000.0f && w.s[0] > -60000.0f && (!t->minima || (w.t < 60000.0f && w.t > -60000.0f));
        }
        if (fine == t->block_weights / 32) return;
    }
}
static void random_acts(llm__acts *x, int mood, uint64_t *state) {
    static const uint32_t odd[8] = { 0, 1, 0x7f800000u, 0x7fc00000u, 0x7f7fffffu, 0x00800000u, 0x3f800000u, 0x3f800001u };
    size_t i, n = (size_t)x->n * x->n_tokens;
    for (i = 0; i < n; i++) {
        x->q[i] = (int8_t)((int)(random32(state) % 255) - 127);
        if (mood == ALL_PLUS || mood == ALL_MINUS) x->q[i] = 127;
        if (mood == OPPOSED) x->q[i] = -127;
    }
    for (i = 0; i < n / 32; i++) {
        x->d[i] = (float)(random32(state) % 1000) * 0.001f;
        if (mood == ODD_ACTIVATIONS) x->d[i] = llm__bits_f32(odd[random32(state) % 8]);
    }
    for (i = 0; i < n / 16; i++) {
        int k, sum = 0;
        for (k = 0; k < 16; k++) sum += x->q[i * 16 + (size_t)k];
        x->s16[i] = (int16_t)sum;
    }
}
static void problem_make(problem *p, int type, uint32_t rows, uint32_t cols, int mood, uint64_t seed) {
    const llm__type_info *t = &llm__types[type];
    uint64_t bytes;
    size_t i, n;
    p->type = type;
    p->cols = cols;
    CHECK(llm__row_bytes(type, cols, &bytes));
    p->row_bytes = (size_t)bytes;
    n = p->row_bytes * rows;
    p->w_base = (uint8_t *)malloc(n + 1);
    p->w = p->w_base + 1;
    for (i = 0; i < n; i += t->block_bytes) random_block(type, p->w + i, mood, &seed);
    p->x.f = NULL;
    p->x.n = cols;
    p->x.n_tokens = MAX_TOKENS;
    p->x.q = (int8_t *)malloc((size_t)cols * MAX_TOKENS);
    p->x.d = (float *)malloc((size_t)cols / 32 * MAX_TOKENS * sizeof(float));
    p->x.s16 = (int16_t *)malloc((size_t)cols / 16 * MAX_TOKENS * sizeof(int16_t));
    p->x.side = (llm__side *)malloc((MAX_TOKENS + 7) / 8 * (cols / 32) * sizeof(llm__side));
    p->want = (float *)malloc(LD * MAX_TOKENS * sizeof(float));
    random_acts(&p->x, mood, &seed);
}
static void problem_free(problem *p) {
    free(p->w_base); free(p->x.q); free(p->x.d); free(p->x.s16); free(p->x.side); free(p->want);
}
// Some of the tokens: *x is what the tile reads of them. Where tokens are few nobody makes their sides: a kernel that reads them reads this.
static llm__tile tile_of(const problem *p, uint32_t row, uint32_t n_rows, uint32_t token, uint32_t n_tokens, float *out, void *panel,
                         llm__acts *x) {
    llm__tile t;
    uint32_t g;
    *x = p->x;
    x->n_tokens = n_tokens;
    x->q += (size_t)token * p->cols;
    x->d += (size_t)token * (p->cols / 32);
    x->s16 += (size_t)token * (p->cols / 16);
    memset(x->side, 0x42, (n_tokens + 7) / 8 * (p->cols / 32) * sizeof *x->side);
    for (g = 0; n_tokens > LLM__FEW && g < (n_tokens + 7) / 8; g++) llm__acts_side(x, g);
    t.w = p->w + row * p->row_bytes;
    t.row_bytes = p->row_bytes;
    t.n_rows = n_rows;
   
    t.x = x;
    t.n_tokens = n_tokens;
    t.out = out + token * LD + row;
    t.ld = LD;
    t.panel = panel;
    t.follows = token != 0;                                  // a hint: it must not matter
    return t;
}

// Equal bits; any NaN equals any other: a result that has one is refused, so its payload cannot be seen.
static bool same(float a, float b) { return llm__f32_bits(a) == llm__f32_bits(b) || (llm__f32_is_nan(a) && llm__f32_is_nan(b)); }

// The tile is right and nothing beside it is touched.
static bool tile_is(const problem *p, const float *out, uint32_t row, uint32_t n_rows, uint32_t token, uint32_t n_tokens) {
    uint32_t t, r;
    for (t = 0; t < MAX_TOKENS; t++)
        for (r = 0; r < LD; r++) {
            bool inside = t >= token && t - token < n_tokens && r >= row && r - row < n_rows;
            if (inside ? !same(out[t * LD + r], p->want[t * LD + r]) : llm__f32_bits(out[t * LD + r]) != 0xc3c3c3c3u) return false;
        }
    return true;
}
static bool run_tile(const problem *p, llm__matmul_fn fn, uint32_t row, uint32_t n_rows, uint32_t token, uint32_t n_tokens, float *out,
                     void *panel) {
    llm__acts x;
    llm__tile t = tile_of(p, row, n_rows, token, n_tokens, out, panel, &x);
    memset(out, 0xc3, LD * MAX_TOKENS * sizeof(float));
    fn(&t);
    return tile_is(p, out, row, n_rows, token, n_tokens);
}

// Tiles of 1, 1 + step, ... rows and any number of tokens, at either corner, against the card; returns the number that differ.
static unsigned shapes_that_differ(const problem *p, const llm__kernels *k, uint32_t step, float *out, void *panel) {
    uint32_t rows, tokens;
    unsigned bad = 0;
    for (rows = 1; rows <= MAX_ROWS; rows += step)
        for (tokens = 1; tokens <= MAX_TOKENS; tokens++) {
            const llm__matmul_fn fn = (tokens <= LLM__FEW ? k->decode : k->prefill)[p->type];
            bad += !run_tile(p, fn, 0, rows, 0, tokens, out, panel);
            bad += !run_tile(p, fn, MAX_ROWS - rows, rows, MAX_TOKENS - tokens, tokens, out, panel);
        }
    return bad;
}

static void test_type(const llm__kernels *k, const llm__kernels *scalar, int type, void *panel) {
    static const uint32_t blocks[4] = { 1, 3, 17, 35 };      // of 32: less than, and more than, what a panel holds; of 256: 1, 3, 5
    float *out = (float *)malloc(LD * MAX_TOKENS * sizeof(float));
    uint32_t i, n, step;
    int mood;
    for (i = 0; i < 4; i++)
        for (mood = 0; mood < N_MOODS; mood++) {
            problem p;
            llm__acts x;
            llm__tile t;
            if (k->isa == LLM_ISA_SCALAR && mood != ORDINARY) continue;        // the card against itself: only the shapes are in question
            n = llm__types[type].block_weights > 32 && blocks[i] > 3 ? 5 : blocks[i];
            problem_make(&p, type, MAX_ROWS, n * llm__types[type].block_weights, mood, 1000u * (unsigned)type + 10u * i + (unsigned)mood);
            t = tile_of(&p, 0, MAX_ROWS, 0, MAX_TOKENS, p.want, panel, &x);
            scalar->decode[type](&t);
            step = k->isa == LLM_ISA_SCALAR || mood != ORDINARY ? 13 : i < 2 ? 1 : 3;
            CHECK_EQ(shapes_that_differ(&p, k, step, out, panel), 0);
            problem_free(&p);
        }
    free(out);
}

// A matrix by the operation that the forward pass calls, over what quantizing its input leaves behind. 512 rows are a step of decode, so
// that what is left is a tile of its own: as in vocabularies of 49153 tokens, a base model's and one more.
static void multiply(const llm__kernels *k, const problem *p, uint32_t rows, const float *f, uint32_t n_tokens, float *out, void *panel) {
    llm__atomic32 cancel;
    llm__team team;
    llm__run run;
    llm__mat m;
    llm__acts x = p->x;
    memset(&cancel, 0, sizeof cancel); memset(&team, 0, sizeof team); memset(&run, 0, sizeof run); memset(&m, 0, sizeof m);
    team.n = 1;
    run.team = &team; run.k = k; run.cancel = &cancel; run.scratch = (uint8_t *)panel;
    m.type = p->type; m.rows = rows; m.cols = p->cols; m.row_bytes = p->row_bytes; m.data = p->w; m.scale = 1.0f;
    memset(x.side, 0x42, (MAX_TOKENS + 7) / 8 * (p->cols / 32) * sizeof *x.side);
    llm__op_input(&run, &x, f, p->cols, true, n_tokens);
    llm__op_matmul(&run, out, &m, &x);
}
static void test_operation(const llm__kernels *k, const llm__kernels *scalar, int type, void *panel) {
    enum { STEP = 512, MOST = STEP + 9 };
    const uint32_t cols = llm__types[type].block_weights > 32 ? 256 : 64;
    float *f = (float *)malloc(cols * MAX_TOKENS * sizeof *f), *out = (float *)malloc(MOST * MAX_TOKENS * sizeof *out);
    float *want = (float *)malloc(MOST * MAX_TOKENS * sizeof *want);
    uint64_t state = 7;
    uint32_t i, rows, tokens, bad = 0;
    problem p;
    problem_make(&p, type, MOST, cols, ORDINARY, 77u);
    for (i = 0; i < cols * MAX_TOKENS; i++) f[i] = (float)((int)(random32(&state) % 2001) - 1000) * 0.01f;
    for (rows = STEP + 1; rows <= MOST; rows++)
        for (tokens = 1; tokens <= MAX_TOKENS; tokens += tokens == 1 ? 2 : 6) {
            multiply(scalar, &p, rows, f, tokens, want, panel);
            multiply(k, &p, rows, f, tokens, out, panel);
            for (i = 0; i < rows * tokens; i++) bad += !same(out[i], want[i]);
        }
    CHECK_EQ(bad, 0);
    problem_free(&p);
    free(f); free(out); free(want);
}

static void test_against_scalar(void) {
    llm__kernels scalar;
    llm_error e;
    size_t i;
    int type;
    void *base = malloc((size_t)llm__panel_bytes() + 64);
    void *panel = (uint8_t *)base + (64 - (uintptr_t)base % 64);
    CHECK_EQ(llm__kernels_pick(&scalar, LLM_ISA_SCALAR, &e), LLM_OK);
    for (i = 0; i < LLM__COUNT(isas); i++) {
        llm__kernels k;
        if (isas[i] == LLM_ISA_AUTO) continue;
        SECTION(llm__isa_name(isas[i]));
        if (!llm__isa_compiled(isas[i]) || !llm__isa_on_cpu(isas[i])) {
            CHECK_EQ(llm__kernels_pick(&k, isas[i], &e), LLM_UNSUPPORTED);
            CHECK(strstr(e.text, llm__isa_name(isas[i])) == e.text);
            if (llm__isa_compiled(isas[i])) test_lacks(e.text);
            continue;
        }
        if (!CHECK_EQ(llm__kernels_pick(&k, isas[i], &e), LLM_OK)) continue;
        CHECK_EQ(k.isa, isas[i]);
        for (type = 0; type < LLM__TYPE_COUNT; type++) {
            CHECK(k.decode[type] != NULL && k.prefill[type] != NULL);
            if (!llm__types[type].unpack) continue;          // floats: the suite of the vectors
            CHECK_EQ(k.accelerated[type], k.decode[type] != scalar.decode[type]);
            CHECK_EQ(k.accelerated[type], k.prefill[type] != scalar.prefill[type]);
            SECTION(llm__types[type].name);
            test_type(&k, &scalar, type, panel);
            test_operation(&k, &scalar, type, panel);
        }
    }
    free(base);
}

static void test_pick(void) {
    llm__kernels k;
    llm_error e;
    SECTION("choice");
    CHECK_EQ(llm__kernels_pick(&k, LLM_ISA_AUTO, &e), LLM_OK);
    CHECK(k.isa != LLM_ISA_AUTO && llm__isa_compiled(k.isa) && llm__isa_on_cpu(k.isa));
    CHECK_EQ(e.code, LLM_OK);
    CHECK_EQ(llm__kernels_pick(&k, LLM_ISA_RVV, &e), LLM_UNSUPPORTED);
    CHECK_TEXT(e.text, "RISC-V vector is not part of this build");
    CHECK_EQ(llm__kernels_pick(&k, (llm_isa)99, NULL), LLM_BAD_ARG);
    CHECK_TEXT(llm__isa_name((llm_isa)99), "?");
    CHECK(llm__panel_bytes() > 0 && llm__panel_bytes() % 32 == 0);
}

// A dot that can be followed by hand: q8_0 with d = 0.5, weights 1..32, activations all 2 with d = 0.25: 528 * 2 * 0.125.
static void test_by_hand(void) {
    uint8_t row[34] = { 0x00, 0x38 };
    int8_t q[32];
    int16_t s16[2] = { 32, 32 };
    float d = 0.25f, out = -1;
    llm__acts x;
    llm__tile t;
    int i;
    SECTION("by hand");
    for (i = 0; i < 32; i++) { row[2 + i] = (uint8_t)(i + 1); q[i] = 2; }
    x.f = NULL; x.q = q; x.d = &d; x.s16 = s16; x.n = 32; x.n_tokens = 1;
    t.w = row; t.row_bytes = 34; t.n_rows = 1; t.x = &x; t.n_tokens = 1; t.out = &out; t.ld = 1; t.panel = NULL; t.follows = false;
    llm__matmul_card(&t, LLM__Q8_0);
    CHECK(out == 132.0f);
}

int main(void) {
    test_pick();
    test_by_hand();
    test_against_scalar();
    return test_done();
}
