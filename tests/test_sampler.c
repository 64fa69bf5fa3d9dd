// The sampler against a plain transcription of its definition (sort everything, then cut) and against float64; the generator against
// the known answers of its authors; stop strings against brute force over every way of cutting a text into pieces.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "refusing_heap.h"

enum { MAX_N = 6000 };

// Not the library's generator, so that tests and tested cannot err alike.
static uint32_t dice_state = 12345;
static uint32_t dice(uint32_t n) {
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 17;
    dice_state ^= dice_state << 5;
    return (uint32_t)((uint64_t)(dice_state * 0x9e3779b1u) * n >> 32);
}
static float dice_float(void) { return (float)dice(1u << 24) / 16777216.0f; }
static float minus_infinity(void) { return llm__bits_f32(0xff800000u); }

// exp in double by halving the argument 2^12 times: good to about 1e-12, and no libm.
static double ref_exp(double x) {
    double y = x / 4096.0, e = 1.0 + y * (1.0 + y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0 * (1.0 + y / 5.0))));
    int i;
    if (x < -80.0) return 0.0;
    for (i = 0; i < 12; i++) e *= e;
    return e;
}

static const llm__vectors *vec;

#define PLAIN_MOST MAX_N
#include "plain_sampler.h"

// ---- tests ----------------------------------------------------------------------------------------------------------------------------

static void fill_logits(float *l, uint32_t n, uint32_t kind) {
    uint32_t i;
    for (i = 0; i < n; i++) {
        float a = dice_float(), b = dice_float(), c = dice_float();
        switch (kind) {
        case 0: l[i] = (a + b + c - 1.5f) * 12.0f; break;
        case 1: l[i] = (float)dice(12) * 0.5f - 3.0f; break;             // many ties
        case 2: l[i] = (a - 0.5f) * 400.0f; break;                       // mostly weightless
        case 3: l[i] = dice(3) ? minus_infinity() : a * 6.0f; break;     // masked
        case 4: l[i] = dice(2) ? 0.0f : -0.0f; break;                    // both zeros are one value
        case 5: l[i] = 7.25f; break;
        case 6: l[i] = a * 1e-20f; break;                                // differences far below an ulp of H
        default: l[i] = (a * b * c) * 40.0f - 45.0f; break;              // a long tail, all negative
        }
    }
    if (kind == 3) l[dice(n)] = 1.0f;
}
static llm_sampling some_settings(void) {
    static const float shares[] = { 0, 0, 0.5f, 0.95f, 0.999f, 1.0f, 1e-12f, 0.05f };
    static const float mins[] = { 0, 0, 0.05f, 0.01f, 0.5f, 1.0f, 3.0f, 1e-12f };
    static const float temperatures[] = { 0.7f, 1.0f, 0.1f, 2.5f, 1e-4f, 100.0f };
    llm_sampling c;
    memset(&c, 0, sizeof c);
    c.temperature = temperatures[dice(6)];
    c.top_k = dice(2) ? 0 : 1 + dice(dice(2) ? 50 : 3000);
    c.top_p = shares[dice(8)];
    c.min_p = mins[dice(8)];
    c.typical_p = dice(2) ? 0 : shares[dice(8)];
    c.seed = (uint64_t)dice(1u << 30) << 20;
    return c;
}

static void test_generator(void) {
    // Known answers that come with the generator (Random123, kat_vectors: philox4x32 10), counter and key as four and two words.
    SECTION("generator");
    CHECK(llm__sampler_random64(0, 0) == 0xe169c58d6627e8d5u);
    CHECK(llm__sampler_random64(0, 0) == llm__sampler_random64(0, 0));
    CHECK(llm__sampler_random64(0, 1) != llm__sampler_random64(0, 0));
    CHECK(llm__sampler_random64(1, 0) != llm__sampler_random64(0, 0));
    CHECK(llm__sampler_random64((uint64_t)1 << 32, 0) != llm__sampler_random64(0, 0));
    CHECK(llm__sampler_random64(0, (uint64_t)1 << 32) != llm__sampler_random64(0, 0));
    CHECK(llm__sampler_mulhi((uint64_t)1 << 63, 2) == 1);
    CHECK(llm__sampler_mulhi(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    CHECK(llm__sampler_mulhi(0x123456789abcdef0u, 0xfedcba9876543210u) == 0x121fa00ad77d7422u);
}

static void test_definition(void) {
    static float l[MAX_N];
    static plain p;
    unsigned i, wrong_token = 0, wrong_set = 0, wrong_weights = 0;
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s;
    SECTION("against the definition");
    memset(&s, 0, sizeof s);
    for (i = 0; i < 4000; i++) {
        uint32_t n = 1 + dice(i % 8 ? 400 : MAX_N);
        llm_sampling c = some_settings();
        llm_token token = -1;
        fill_logits(l, n, i % 9);
        if (!CHECK(llm__sampler_set(&s, &h, &c, n, NULL) == LLM_OK)) break;
        if (!CHECK(llm__sampler_pick(&s, vec, l, n, NULL, i, &token, NULL) == LLM_OK)) break;
        plain_cut(&p, &c, l, n);
        if (!llm__f32_is_finite(p.l[0])) { wrong_token += token != (llm_token)p.ids[0]; continue; }
        wrong_set += memcmp(p.ids, s.ids, p.m * sizeof *p.ids) != 0;
        wrong_weights += memcmp(p.w, s.weights, p.m * sizeof *p.w) != 0;
        wrong_token += token != plain_draw(&p, llm__sampler_random64(c.seed, i));
    }
    CHECK_EQ(wrong_set, 0);
    CHECK_EQ(wrong_weights, 0);
    CHECK_EQ(wrong_token, 0);
    llm__sampler_free(&s, &h);
    CHECK_EQ(m.live, 0);
}

// Probabilities in float64, with the cuts of the definition made there; a cut that falls within 1e-6 of a threshold is not compared.
typedef struct exact { uint32_t m, ids[MAX_N]; double p[MAX_N]; int close; } exact;

static void exact_normalise(exact *x, const float *l, double temperature) {
    double sum = 0;
    uint32_t i;
    for (i = 0; i < x->m; i++) sum += x->p[i] = ref_exp(((double)l[x->ids[i]] - (double)l[x->ids[0]]) / temperature);
    for (i = 0; i < x->m; i++) x->p[i] /= sum;
}
static void exact_cut(exact *x, const llm_sampling *c, const float *l, uint32_t n) {
    uint32_t i;
    double sum = 0;
    for (i = 0; i < n; i++) x->ids[i] = i;
    sort_logits = l;
    qsort(x->ids, n, sizeof *x->ids, by_logit);
    x->m = c->top_k && c->top_k < n ? c->top_k : n;
    x->close = 0;
    exact_normalise(x, l, 1.0);
    if (c->top_p > 0 && c->top_p < 1)
        for (i = 0; i < x->m; i++) {
            sum += x->p[i];
            if (sum - (double)c->top_p < 1e-6 && (double)c->top_p - sum < 1e-6) x->close = 1;
            if (sum >= (double)c->top_p) { x->m = i + 1; break; }
        }
    if (c->min_p > 0)
        for (i = 0; i < x->m; i++) {
            double r = x->p[i] / x->p[0] - (double)c->min_p;
            if (r < 1e-6 && r > -1e-6) x->close = 1;
            if (r < 0) { x->m = i ? i : 1; break; }
        }
    exact_normalise(x, l, (double)c->temperature);
}
static void test_probabilities(void) {
    static float l[MAX_N];
    static exact x;
    unsigned i, compared = 0;
    double worst = 0;
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s;
    SECTION("probabilities against float64");
    memset(&s, 0, sizeof s);
    for (i = 0; i < 600; i++) {
        uint32_t n = 2 + dice(2000), k;
        llm_sampling c = some_settings();
        llm_token token;
        double total = 0;
        c.typical_p = 0;
        c.temperature = 0.3f + dice_float() * 1.5f;
        if (c.min_p >= 1.0f) c.min_p = 0.1f;
        fill_logits(l, n, 0);
        exact_cut(&x, &c, l, n);
        if (x.close) continue;
        CHECK(llm__sampler_set(&s, &h, &c, n, NULL) == LLM_OK);
        CHECK(llm__sampler_pick(&s, vec, l, n, NULL, i, &token, NULL) == LLM_OK);
        compared++;
        if (!CHECK(memcmp(x.ids, s.ids, x.m * sizeof *x.ids) == 0)) break;
        for (k = 0; k < x.m; k++) total += (double)s.weights[k];
        for (k = 0; k < x.m; k++) {
            double d = (double)s.weights[k] / total - x.p[k];
            if (d < 0) d = -d;
            if (d > worst) worst = d;
        }
    }
    CHECK(compared > 400);
    CHECK(worst < 1e-6);
    llm__sampler_free(&s, &h);
}

static void test_frequencies(void) {
    // 200,000 positions drawn from 16 tokens: chi-square with 15 degrees of freedom exceeds 44.3 once in ten thousand times.
    enum { N = 16, DRAWS = 200000 };
    float l[N];
    double p[N], sum = 0, chi = 0;
    uint32_t count[N], i, moved = 0, stayed = 0;
    llm_sampling c;
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s;
    SECTION("frequencies");
    memset(&s, 0, sizeof s);
    memset(&c, 0, sizeof c);
    memset(count, 0, sizeof count);
    c.temperature = 1.3f;
    c.seed = 42;
    for (i = 0; i < N; i++) { l[i] = (float)i * 0.21f; sum += p[i] = ref_exp((double)l[i] / (double)c.temperature); }
    CHECK(llm__sampler_set(&s, &h, &c, N, NULL) == LLM_OK);
    m.calls = 0;
    for (i = 0; i < DRAWS; i++) {
        llm_token t = -1;
        if (llm__sampler_pick(&s, vec, l, N, NULL, i, &t, NULL) != LLM_OK || t < 0 || t >= N) { CHECK(!"picked"); return; }
        count[t]++;
    }
    CHECK_EQ(m.calls, 0);                                             // picking never allocates
    for (i = 0; i < N; i++) {
        double expected = p[i] / sum * DRAWS, d = (double)count[i] - expected;
        chi += d * d / expected;
    }
    CHECK(chi < 44.3);
    CHECK(chi > 2.0);                                                 // too regular would be as wrong
    s.weights[0] = 5; s.weights[1] = 0; s.weights[2] = 3; s.weights[3] = 1;
    for (i = 0; i < 9; i++) CHECK_EQ(llm__sampler_at(s.weights, 4, i), i < 5 ? 0 : i < 8 ? 2 : 3);
    for (i = 0; i < 1000; i++) {                                      // a function of seed and position, and of nothing else
        llm_token a = -1, b = -1, d = -1;
        s.cfg.seed = 42;
        llm__sampler_pick(&s, vec, l, N, NULL, i, &a, NULL);
        s.cfg.seed = 43;
        llm__sampler_pick(&s, vec, l, N, NULL, i, &b, NULL);
        s.cfg.seed = 42;
        llm__sampler_pick(&s, vec, l, N, NULL, i, &d, NULL);
        stayed += a == d;
        moved += a != b;
    }
    CHECK_EQ(stayed, 1000);
    CHECK(moved > 700);
    llm__sampler_free(&s, &h);
}

static void test_penalties(void) {
    enum { N = 300, HISTORY = 500 };
    static const uint32_t windows[] = { 0, 1, 7, 64, 65, 499, 500, 501, 100000, UINT32_MAX };
    static float l[N], want[N];
    static llm_token history[HISTORY];
    uint32_t w, i, k, wrong = 0;
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s;
    SECTION("penalties and bias");
    memset(&s, 0, sizeof s);
    for (w = 0; w < LLM__COUNT(windows); w++) {
        llm_bias bias[4];
        llm_sampling c;
        llm_token token = -1;
        uint32_t window = windows[w] == 0 ? 64 : windows[w], from, best = 0;
        memset(&c, 0, sizeof c);
        c.repeat_penalty = 1.3f;
        c.frequency_penalty = 0.25f;
        c.presence_penalty = w % 2 ? 0.5f : -0.5f;
        c.penalty_window = windows[w];
        for (i = 0; i < 4; i++) { bias[i].token = (llm_token)dice(N); bias[i].bias = i == 3 ? minus_infinity() : dice_float() * 4.0f; }
        c.bias = bias;
        c.n_bias = 4;
        fill_logits(l, N, 0);
        for (i = 0; i < HISTORY; i++) history[i] = (llm_token)dice(dice(2) ? N : 10);
        history[499] = LLM_NO_TOKEN;                                  // what is no token of this vocabulary penalises nothing
        history[498] = N;
        CHECK(llm__sampler_set(&s, &h, &c, N, NULL) == LLM_OK);
        memset(bias, 0, sizeof bias);                                 // it was copied
        CHECK(llm__sampler_pick(&s, vec, l, N, history, HISTORY, &token, NULL) == LLM_OK);
        memcpy(want, l, sizeof want);
        for (i = 0; i < 4; i++) want[s.cfg.bias[i].token] += s.cfg.bias[i].bias;
        from = window >= HISTORY ? 0 : HISTORY - window;
        for (k = 0; k < N; k++) {
            uint32_t count = 0;
            for (i = from; i < HISTORY; i++) count += history[i] == (llm_token)k;
            if (count) {
                double v = want[k] > 0 ? (double)want[k] / (double)c.repeat_penalty : (double)want[k] * (double)c.repeat_penalty;
                v = v - (double)count * (double)c.frequency_penalty - (double)c.presence_penalty;
                want[k] = (float)v;
            }
            if (want[k] != s.logits[k]) {
                double d = (double)want[k] - (double)s.logits[k];
                if (!(d < 1e-5 && d > -1e-5)) wrong++;
            }
            if (s.logits[k] > s.logits[best]) best = k;
            if (s.counts[k]) wrong++;
        }
        CHECK_EQ(token, best);                                        // greedy comes after penalties
    }
    CHECK_EQ(wrong, 0);
    llm__sampler_free(&s, &h);
    CHECK_EQ(m.live, 0);
}

static void test_hard_logits(void) {
    float l[5];
    llm_token t;
    llm_sampling c;
    llm_bias ban[5];
    llm_error e;
    int warm, i;
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s;
    SECTION("hard logits");
    memset(&s, 0, sizeof s);
    for (i = 0; i < 5; i++) { ban[i].token = i; ban[i].bias = minus_infinity(); }
    for (warm = 0; warm < 2; warm++) {
        memset(&c, 0, sizeof c);
        c.temperature = warm ? 0.8f : 0.0f;
        c.top_p = 0.9f;
        c.min_p = 0.02f;
        CHECK(llm__sampler_set(&s, &h, &c, 5, &e) == LLM_OK);
        for (i = 0; i < 5; i++) l[i] = 1.0f;
        t = -1;
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_OK && t >= 0 && t < 5 && (warm || t == 0));
        l[2] = llm__bits_f32(0x7fc00000u);
        t = 77;
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_BAD_LOGITS && t == 77 && e.code == LLM_BAD_LOGITS && e.text[0]);
        l[2] = llm__bits_f32(0x7f800000u);
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_BAD_LOGITS && t == 77);
        for (i = 0; i < 5; i++) l[i] = minus_infinity();
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_BAD_LOGITS && t == 77);
        l[3] = -1e30f;
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_OK && t == 3 && e.code == LLM_OK);
        for (i = 0; i < 5; i++) l[i] = i == 4 ? 3.402823e38f : -3.402823e38f;
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_OK && t == 4);
        CHECK(llm__sampler_pick(&s, vec, l, 4, NULL, 3, &t, &e) == LLM_BAD_STATE);
        c.bias = ban;
        c.n_bias = 5;
        CHECK(llm__sampler_set(&s, &h, &c, 5, &e) == LLM_OK);
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_BAD_LOGITS && strstr(e.text, "bias"));
        c.n_bias = 4;
        CHECK(llm__sampler_set(&s, &h, &c, 5, &e) == LLM_OK);
        CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 3, &t, &e) == LLM_OK && t == 4);
    }
    memset(&c, 0, sizeof c);
    c.temperature = 1e-44f;                                           // l / temperature overflows: greedy
    for (i = 0; i < 5; i++) l[i] = (float)(i % 3);
    CHECK(llm__sampler_set(&s, &h, &c, 5, &e) == LLM_OK);
    for (i = 0; i < 50; i++) CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, (size_t)i, &t, &e) == LLM_OK && t == 2);
    CHECK(llm__sampler_set(&s, &h, NULL, 5, &e) == LLM_OK && s.block == NULL);
    CHECK(llm__sampler_pick(&s, vec, l, 5, NULL, 0, &t, &e) == LLM_OK && t == 2);
    llm__sampler_free(&s, &h);
    CHECK_EQ(m.live, 0);
}

static void test_settings(void) {
    llm_sampling c;
    llm_bias bias;
    llm_error e;
    uint32_t i, k;
    float *field[7];
    memory m;
    llm__heap h = heap_of(&m);
    llm__sampler s, before;
    SECTION("settings");
    memset(&s, 0, sizeof s);
    memset(&c, 0, sizeof c);
    field[0] = &c.temperature; field[1] = &c.top_p; field[2] = &c.min_p; field[3] = &c.typical_p; field[4] = &c.repeat_penalty;
    field[5] = &c.frequency_penalty; field[6] = &c.presence_penalty;
    c.temperature = 0.5f;
    c.seed = 9;
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_OK);
    before = s;
    for (i = 0; i < 7; i++) {
        static const uint32_t bad[] = { 0x7fc00000u, 0x7f800000u, 0xff800000u, 0xbf800000u };      // NaN, +inf, -inf, -1
        float kept = *field[i];
        for (k = 0; k < 4; k++) {
            *field[i] = llm__bits_f32(bad[k]);
            if (k == 3 && i >= 5) continue;                           // negative frequency and presence penalties are rewards
            CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_BAD_ARG && e.text[0]);
            CHECK(memcmp(&s, &before, sizeof s) == 0);
        }
        *field[i] = kept;
    }
    bias.token = 100;
    bias.bias = 1.0f;
    c.bias = &bias;
    c.n_bias = 1;
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_BAD_ARG);
    bias.token = -1;
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_BAD_ARG);
    bias.token = 99;
    bias.bias = llm__bits_f32(0x7f800000u);
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_BAD_ARG);
    bias.bias = minus_infinity();
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_OK);
    c.bias = NULL;
    before = s;
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_BAD_ARG);
    c.n_bias = 0;
    m.fail_at = m.calls + 1;
    CHECK(llm__sampler_set(&s, &h, &c, 100, &e) == LLM_NO_MEMORY);
    CHECK(memcmp(&s, &before, sizeof s) == 0);
    llm__sampler_free(&s, &h);
    CHECK_EQ(m.live, 0);
}

// ---- stop strings ---------------------------------------------------------------------------------------------------------------------

// Where a text stops, by trying every end: the first at which a stop string ends, and of those the longest.
static int brute_stop(const char *text, size_t n, const char *const *stop, uint32_t n_stop, size_t *begin, size_t *end) {
    size_t at;
    uint32_t i;
    for (at = 1; at <= n; at++) {
        int found = 0;
        for (i = 0; i < n_stop; i++) {
            size_t k = strlen(stop[i]);
            if (k > at || memcmp(text + at - k, stop[i], k) != 0) continue;
            if (!found || at - k < *begin) *begin = at - k;
            *end = at;
            found = 1;
        }
        if (found) return 1;
    }
    return 0;
}
// The longest end of a text that is a proper beginning of a stop string.
static size_t brute_held(const char *text, size_t n, const char *const *stop, uint32_t n_stop) {
    size_t longest = 0, k;
    uint32_t i;
    for (i = 0; i < n_stop; i++)
        for (k = 1; k < strlen(stop[i]) && k <= n; k++)
            if (k > longest && memcmp(text + n - k, stop[i], k) == 0) longest = k;
    return longest;
}
// Feeds text cut where the bits of `cuts` say (bit i: after byte i); every byte handed out must be final.
static void feed_pieces(llm__stops *s, const char *text, size_t n, uint32_t cuts, const char *const *stop, uint32_t n_stop) {
    size_t begin = n, end = n, at = 0, given = 0, used, held;
    int stops = brute_stop(text, n, stop, n_stop, &begin, &end);
    llm__stops_reset(s);
    while (at < n) {
        size_t piece = 1;
        while (at + piece < n && !(cuts >> (at + piece - 1) & 1)) piece++;
        if (llm__stops_feed(s, text + at, piece, &used, &held)) {
            int right = stops && at + used == end && end - held == begin && given <= begin;
            test_check(right, "stopped where brute force stops", __FILE__, __LINE__);
            return;
        }
        at += piece;
        if (used != piece || held != brute_held(text, at, stop, n_stop)) {
            CHECK(!"held back exactly what may become a stop string");
            return;
        }
        given = at - held;
    }
    test_check(!stops, "did not stop, nor does brute force", __FILE__, __LINE__);
}
static void test_stops(void) {
    static const char *const fox[] = { "own fox" };
    const char *quick = "brown fox";
    uint32_t cuts, round, i;
    memory m;
    llm__heap h = heap_of(&m);
    llm__stops s;
    SECTION("stop strings");
    memset(&s, 0, sizeof s);
    CHECK(llm__stops_set(&s, &h, fox, 1, NULL) == LLM_OK);
    for (cuts = 0; cuts < 1u << 13; cuts++) feed_pieces(&s, "ow brown fox ow", 15, cuts, fox, 1);
    for (cuts = 0; cuts < 1u << 8; cuts++) feed_pieces(&s, quick, 9, cuts, fox, 1);
    for (cuts = 0; cuts < 1u << 8; cuts++) feed_pieces(&s, "own own f", 9, cuts, fox, 1);
    for (round = 0; round < 3000; round++) {
        char texts[4][8], text[21];
        const char *stop[4];
        uint32_t n = 1 + dice(4), k;
        for (i = 0; i < n; i++) {
            uint32_t bytes = 1 + dice(7);
            for (k = 0; k < bytes; k++) texts[i][k] = (char)('a' + (int)dice(2));
            texts[i][bytes] = 0;
            stop[i] = texts[i];
        }
        for (k = 0; k < 20; k++) text[k] = (char)('a' + (int)dice(round % 2 ? 2 : 3));
        text[20] = 0;
        if (!CHECK(llm__stops_set(&s, &h, stop, n, NULL) == LLM_OK)) break;
        for (i = 0; i < 4; i++) feed_pieces(&s, text, 20, dice(1u << 20), stop, n);
    }
    llm__stops_free(&s, &h);
    CHECK_EQ(m.live, 0);
}
static void test_stop_limits(void) {
    static char longest[4098];
    const char *many[65], *one = longest;
    size_t used, held, i, at = 0;
    bool stopped = false;
    llm_error e;
    memory m;
    llm__heap h = heap_of(&m);
    llm__stops s, before;
    SECTION("stop string limits");
    memset(&s, 0, sizeof s);
    for (i = 0; i < 65; i++) many[i] = "\n\nUser:";
    CHECK(llm__stops_set(&s, &h, many, 64, &e) == LLM_OK);
    before = s;
    CHECK(llm__stops_set(&s, &h, many, 65, &e) == LLM_BAD_ARG && e.text[0]);
    many[3] = "";
    CHECK(llm__stops_set(&s, &h, many, 4, &e) == LLM_BAD_ARG);
    many[3] = NULL;
    CHECK(llm__stops_set(&s, &h, many, 4, &e) == LLM_BAD_ARG);
    CHECK(llm__stops_set(&s, &h, NULL, 1, &e) == LLM_BAD_ARG);
    memset(longest, 'z', 4097);
    CHECK(llm__stops_set(&s, &h, &one, 1, &e) == LLM_BAD_ARG);
    longest[4096] = 0;
    m.fail_at = m.calls + 1;
    CHECK(llm__stops_set(&s, &h, &one, 1, &e) == LLM_NO_MEMORY);
    CHECK(memcmp(&s, &before, sizeof s) == 0);
    m.fail_at = 0;
    CHECK(llm__stops_set(&s, &h, &one, 1, &e) == LLM_OK);
    memset(longest, 'y', 4096);                                       // it was copied
    for (i = 0; i < 4095; i++) {
        stopped = llm__stops_feed(&s, "z", 1, &used, &held);
        at += stopped || held != i + 1;
    }
    CHECK(at == 0);
    CHECK(llm__stops_feed(&s, "zz", 2, &used, &held) && used == 1 && held == 4096);
    many[0] = "zz";
    CHECK(llm__stops_set(&s, &h, many, 1, &e) == LLM_OK);
    CHECK(llm__stops_feed(&s, "zzz", 3, &used, &held) && used == 2 && held == 2);
    CHECK(llm__stops_feed(&s, "z", 1, &used, &held) && used == 1);    // going on after a match is sound too
    CHECK(llm__stops_set(&s, &h, NULL, 0, &e) == LLM_OK && s.block == NULL);
    CHECK(!llm__stops_feed(&s, "anything", 8, &used, &held) && used == 8 && held == 0);
    llm__stops_free(&s, &h);
    CHECK_EQ(m.live, 0);
}

int main(void) {
    llm__vectors scalar;
    memset(&scalar, 0, sizeof scalar);
    llm__vectors_scalar(&scalar);
    plain_vec = vec = &scalar;
    test_generator();
    test_definition();
    test_probabilities();
    test_frequencies();
    test_penalties();
    test_hard_logits();
    test_settings();
    test_stops();
    test_stop_limits();
    {
        llm__kernels best;
        CHECK_EQ(llm__kernels_pick(&best, LLM_ISA_AUTO, NULL), LLM_OK);
        vec = &best.v;
        test_definition();
        test_probabilities();
    }
    return test_done();
}
