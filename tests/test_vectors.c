// Vectors: every kernel against a plain transcription of its rule, then every instruction set against scalar, bit for bit; the
// functions (exp, tanh, sine, powers) against values computed elsewhere or in higher precision.
// `test_vectors --all` sweeps all 2^32 inputs of exp and tanh instead of every 1009th (about 20 minutes).
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#if defined(__linux__)
#include <sys/mman.h>
#include <sys/resource.h>
#endif

// What is computed here for comparison must be computed as it stands, whatever the command line says.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC optimize("no-fast-math", "fp-contract=off")
#endif

// Computed with mpmath at 60 digits: base, exponent, base^exponent; x, ln(x).
static const double pow_table[][3] = {
    {10000, -0, 1},
    {10000, -0.03125, 0.74989420933245587},
    {10000, -0.96875, 0.0001333521432163324},
    {10000, -0.265625, 0.086596432336006529},
    {10000, -0.984375, 0.00011547819846894582},
    {10000, -0.97499999999999998, 0.00012589254117941674},
    {10000, -0.10416666666666667, 0.38311868495572876},
    {1000000, -0.40625, 0.0036517412725483771},
    {1000000, -0.984375, 1.2409377607517195e-06},
    {1000000, -0.9921875, 1.1139738599948023e-06},
    {1000000, -1.5625, 4.2169650342858224e-10},
    {500000, -0.28125, 0.024955408670558694},
    {500000, -0.640625, 0.00022340729025955574},
    {500000, -0.96875, 3.0138581521391712e-06},
    {2, 0.5, 1.4142135623730951},
    {2, -10, 0.0009765625},
    {1, -0.69999999999999996, 1},
    {1.0000000000000001e-05, 0.29999999999999999, 0.031622776601683798},
    {3, 400, 7.0550791086553326e+190},
    {7.25, 0.33333333333333331, 1.9354383203138983},
    {1.0000001000000001, 1000, 1.0001000049952247},
    {0.99990000000000001, -12345, 3.4368719096844726},
    {2.4999999999999998e-308, 0.25, 1.2574334296829354e-77},
    {10, -300, 1e-300},
    {4, 0.5, 2},
};
static const double ln_table[][2] = {
    {1, 0},
    {2, 0.69314718055994529},
    {0.5, -0.69314718055994529},
    {10, 2.3025850929940459},
    {1.5, 0.40546510810816438},
    {0.75, -0.2876820724517809},
    {1.4142135623730951, 0.3465735902799727},
    {1.4142135623730949, 0.34657359027997259},
    {1e-300, -690.77552789821368},
    {1.0000000000000001e+300, 690.77552789821368},
    {4.9406564584124654e-324, -744.44007192138122},
    {3, 1.0986122886681098},
    {40, 3.6888794541139363},
    {131072, 11.78350206951907},
    {0.99999999999, -1.0000000827453711e-11},
    {1.0000000001, 1.000000082690371e-10},
};
// f, round(2^64 f / (2 pi)) mod 2^64
typedef struct turns_case { double f; uint64_t turns; } turns_case;
static const turns_case turns_table[] = {
    {1, 2935890503282001226ull},
    {0, 0ull},
    {0.5, 1467945251641000613ull},
    {6.2831853071795862, 18446744073709550897ull},
    {6.2831853071795871, 1889ull},
    {3, 8807671509846003679ull},
    {100, 16887889222556848410ull},
    {1.0000000000000001e-09, 2935890503ull},
    {9.9999999999999998e-20, 0ull},
    {9.9999999999999995e-21, 0ull},
    {3.5e-20, 0ull},
    {0.74989420933245587, 2201607287645322258ull},
    {123456.789, 13986830544575412078ull},
    {6.2831853071795853, 18446744073709548289ull},
    {12.566370614359172, 18446744073709550178ull},
    {0.74989420933245587, 2201607287645322258ull},
    {0.23713737056616552, 696209354218470105ull},
    {0.0074989420933245579, 22016072876453220ull},
    {0.0001333521432163324, 391507290861132ull},
    {0.5232991146814947, 1536348901169279162ull},
    {0.00017782794100389227, 522083363211519ull},
    {1.2409377607517195e-06, 3643257386955ull},
    {0.62290169488970193, 1828771170504938568ull},
    {0.74178698926072939, 2177805377228723248ull},
    {0.79519356556569665, 2334601237415282170ull},
    {0.94245028377705031, 2766930837956469118ull},
    {0.7398985747399307, 2172261198970850552ull},
    {0.92232499666541701, 2707845198649601241ull},
};
// turns, cosine, sine
typedef struct angle_case { uint64_t turns; double cosine, sine; } angle_case;
static const angle_case angle_table[] = {
    {0ull, 1, 0},
    {1ull, 1, 3.4061215800865545e-19},
    {2305843009213693951ull, 0.70710678118654757, 0.70710678118654757},
    {2305843009213693952ull, 0.70710678118654757, 0.70710678118654757},
    {2305843009213693953ull, 0.70710678118654757, 0.70710678118654757},
    {4611686018427387903ull, 3.4061215800865545e-19, 1},
    {4611686018427387904ull, 5.7099684971243493e-62, 1},
    {9223372036854775807ull, -1, 3.4061215800865545e-19},
    {9223372036854775808ull, -1, 1.1419936994248699e-61},
    {11529215046068469760ull, -0.70710678118654757, -0.70710678118654757},
    {13835058055282163712ull, -1.7129905491373045e-61, -1},
    {18446744073709551615ull, 1, -3.4061215800865545e-19},
    {16140901064495857664ull, 0.70710678118654757, -0.70710678118654757},
    {1152921504606846976ull, 0.92387953251128674, 0.38268343236508978},
    {3458764513820540928ull, 0.38268343236508978, 0.92387953251128674},
    {5764607523034234880ull, -0.38268343236508978, 0.92387953251128674},
    {8070450532247928832ull, -0.92387953251128674, 0.38268343236508978},
    {10376293541461622784ull, -0.92387953251128674, -0.38268343236508978},
    {12682136550675316736ull, -0.38268343236508978, -0.92387953251128674},
    {14987979559889010688ull, 0.38268343236508978, -0.92387953251128674},
    {17293822569102704640ull, 0.92387953251128674, -0.38268343236508978},
    {15501686781378355951ull, 0.53767233495075462, -0.84315387695758337},
    {14313909076419087323ull, 0.16238028753257902, -0.98672825145570697},
    {4594210616595436404ull, 0.0059522991812957383, 0.99998228491031593},
    {956523682424107605ull, 0.94739382530863681, 0.32007021068363778},
    {2893396244277848635ull, 0.55242478793314853, 0.83356274729441682},
    {6858376947525423350ull, -0.69271749973798524, 0.72120903041819606},
    {16019991071338850466ull, 0.67739437349687537, -0.73562005325764179},
    {7023743836218156456ull, -0.73222025075723873, 0.68106791466123739},
    {1881095652490078568ull, 0.80166314854399157, 0.59777604189741007},
    {4599339987076239173ull, 0.0042051959873733299, 0.99999115812426453},
    {13487958864562975641ull, -0.11795098028818528, -0.99301941886805822},
    {7529058068588108450ull, -0.8380462517225481, 0.5455991935237694},
    {3358703120032737309ull, 0.41394287716261297, 0.91030285863900151},
    {16001795929641688097ull, 0.67282239842358815, -0.73980404174317027},
    {7183850473961985349ull, -0.76825484683726963, 0.64014411682920547},
    {14055043351701082718ull, 0.074859571351030205, -0.9971940857110716},
    {1326906338224231255ull, 0.8995926524953175, 0.43672996184878238},
    {11398726226450727658ull, -0.73782624475476843, -0.67499069071438056},
    {8205770171119394379ull, -0.94053056286211856, 0.33970908189547472},
    {2439413297207794790ull, 0.67421590726462499, 0.73853429872372123},
    {17936457123788771632ull, 0.98493304081594812, -0.17293613014361628},
    {98010135235158442ull, 0.99944282459282185, 0.033377243294225922},
    {14270285075313520379ull, 0.14770123969872764, -0.9890320236430461},
    {17711218894991640089ull, 0.96878145447499509, -0.2479163033471436},
};

typedef struct random_state { uint64_t s; } random_state;

static uint32_t random32(random_state *r) {
    r->s = r->s * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(r->s >> 32) ^ (uint32_t)(r->s >> 13);
}
static float random_unit(random_state *r) { return (float)(int32_t)random32(r) * 4.6566129e-10f; }

// Numbers of ordinary size; with hostile set, now and then one that breaks careless code.
static float random_value(random_state *r, bool hostile) {
    static const uint32_t odd[] = { 0x80000000u, 0u, 1u, 0x80000001u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u,
                                    0xff800000u,
                                    0x7fc00000u, 0x7f800001u, 0x477fe000u, 0x477fefffu, 0x477ff000u, 0xc77ff000u, 0x33000000u, 0x33000001u,
                                    0x42b00000u, 0x42b00001u, 0xc2ae0000u, 0xc2ae0001u, 0x1f800000u, 0x1f7fffffu };
    uint32_t u = random32(r);
    if (!hostile || u % 8) return random_unit(r) * 3.0f;
    u = random32(r);
    return llm__bits_f32(u & 1 ? odd[u / 2 % (sizeof odd / sizeof *odd)] : random32(r));
}
static void random_fill(random_state *r, float *x, size_t n, bool hostile) {
    size_t i;
    for (i = 0; i < n; i++) x[i] = random_value(r, hostile);
}
// Zeros, subnormals and ordinary numbers only: products that vanish, signs of zero.
static void tiny_fill(random_state *r, float *x, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) x[i] = llm__bits_f32((random32(r) & 0x800000ffu) | (random32(r) & 3u ? 0u : (random32(r) & 0x20u) << 24));
}

// A NaN has no bits to promise: which operand's payload survives is the compiler's choice.
static bool same(const float *a, const float *b, size_t n) {
    size_t i;
    for (i = 0; i < n; i++)
        if (llm__f32_bits(a[i]) != llm__f32_bits(b[i]) && !(llm__f32_is_nan(a[i]) && llm__f32_is_nan(b[i]))) return false;
    return true;
}
static double magnitude(double x) { return x < 0 ? -x : x; }

//---- functions -----------------------------------------------------------------------------------------------------------------

static void test_pow(void) {
    size_t i;
    SECTION("powers and logarithms");
    for (i = 0; i < sizeof pow_table / sizeof *pow_table; i++) {
        double want = pow_table[i][2], got = llm__pow(pow_table[i][0], pow_table[i][1]);
        if (!CHECK(magnitude(got - want) <= 4.5e-16 * want))
            printf("  %.17g ^ %.17g: %.17g, not %.17g\n", pow_table[i][0], pow_table[i][1], got, want);
    }
    for (i = 0; i < sizeof ln_table / sizeof *ln_table; i++) {
        double want = ln_table[i][1], got = llm__ln(ln_table[i][0]);
        if (!CHECK(magnitude(got - want) <= 2.3e-16 * magnitude(want))) printf("  ln %.17g: %.17g, not %.17g\n", ln_table[i][0], got, want);
    }
    CHECK(llm__pow(10.0, 400.0) > 1e308 && llm__pow(10.0, -400.0) == 0.0);
}

static void test_turns(void) {
    size_t i;
    SECTION("turns");
    for (i = 0; i < sizeof turns_table / sizeof *turns_table; i++) {
        uint64_t got = llm__turns(turns_table[i].f);
        if (!CHECK(got == turns_table[i].turns))
            printf("  f %.17g: %llu, not %llu\n", turns_table[i].f, (unsigned long long)got, (unsigned long long)turns_table[i].turns);
    }
    CHECK_EQ(llm__turns(1e300), 0);
    CHECK_EQ(llm__turns(llm__bits_f64(0x7ff8000000000000ull)), 0);
}

static void test_cos_sin(void) {
    double worst = 0;
    random_state r = { 3 };
    size_t i;
    SECTION("cosine and sine");
    for (i = 0; i < sizeof angle_table / sizeof *angle_table; i++) {
        float c, s;
        double e;
        llm__cos_sin(angle_table[i].turns, &c, &s);
        e = magnitude((double)c - angle_table[i].cosine);
        if (e > worst) worst = e;
        e = magnitude((double)s - angle_table[i].sine);
        if (e > worst) worst = e;
    }
    if (!CHECK(worst < 1e-7)) printf("  worst error %g\n", worst);
    for (i = 0; i < 200000; i++) {                                  // the identities, at random angles
        uint64_t t = (uint64_t)random32(&r) << 32 | random32(&r);
        float c, s, c2, s2;
        llm__cos_sin(t, &c, &s);
        llm__cos_sin(t + (1ull << 62), &c2, &s2);
        if (s2 != c || c2 != -s || magnitude((double)c * c + (double)s * s - 1.0) > 1.5e-7) break;
    }
    CHECK_EQ(i, 200000);
}

static void test_sqrt(void) {
    uint64_t i;
    bool right = true, equal = true;
    SECTION("square root");
    for (i = 0; i < 0x7f800000u; i += 977) {
        float x = llm__bits_f32((uint32_t)i), r = llm__sqrt_exact(x);
        double below = ((double)llm__bits_f32(llm__f32_bits(r) - 1) + (double)r) / 2;
        double above = ((double)llm__bits_f32(llm__f32_bits(r) + 1) + (double)r) / 2;
        right = right && (i == 0 || (below * below < (double)x && (double)x < above * above));      // 25 bits squared: exact
        equal = equal && llm__f32_bits(llm__sqrt(x)) == llm__f32_bits(r);
    }
    CHECK(right);
    CHECK(equal);
    CHECK(llm__f32_bits(llm__sqrt_exact(-0.0f)) == 0x80000000u && llm__f32_bits(llm__sqrt(-0.0f)) == 0x80000000u);
    CHECK(llm__f32_is_nan(llm__sqrt_exact(-1.0f)) && llm__f32_is_nan(llm__sqrt(-1.0f)));
    CHECK(llm__f32_bits(llm__sqrt_exact(llm__bits_f32(0x7f800000u))) == 0x7f800000u);
    CHECK(llm__f32_is_nan(llm__sqrt_exact(llm__bits_f32(0x7fc00000u))));
}

static long double exact_exp(long double x) {
    long double r, sum = 1.0L, term = 1.0L, scale = 1.0L;
    int n = (int)(x * 1.4426950408889634L + (x < 0 ? -0.5L : 0.5L)), i;
    r = x - n * 0.693147180369123816490L - n * 1.90821492927058770002e-10L;    // 32 bits of ln 2, and the rest
    for (i = 1; i < 24; i++) { term *= r / i; sum += term; }
    for (i = n < 0 ? -n : n; i > 0; i--) scale *= n < 0 ? 0.5L : 2.0L;
    return sum * scale;
}
static long double exact_tanh(long double x) {
    long double a = x < 0 ? -x : x, t, z, c;
    int i;
    if (a > 20) return x < 0 ? -1.0L : 1.0L;
    if (a < 0.25L) {                                                // a continued fraction: no cancellation
        z = a * a;
        for (c = 25.0L, i = 23; i >= 1; i -= 2) c = i + z / c;
        t = a / c;
    } else {
        t = 1.0L - 2.0L / (exact_exp(2 * a) + 1.0L);
    }
    return x < 0 ? -t : t;
}
// Distance in units of the last place of the exact value.
static double ulps(float got, long double want) {
    long double a = want < 0 ? -want : want, d = (long double)got - want;
    uint32_t e = llm__f32_bits((float)a) >> 23 & 255u;
    float ulp = llm__bits_f32(e > 24 ? (e - 23) << 23 : 1u << (e > 1 ? e - 1 : 0));
    return (double)((d < 0 ? -d : d) / (long double)ulp);
}

// The scalar functions, for sixteen numbers or one.
#if defined(LLM_SMALL)
static float exp1(float x) { return llm__exp_scalar(x); }
static float tanh1(float x) { return llm__tanh_scalar(x); }
static void exp16(float *e, const float *x) { int i; for (i = 0; i < 16; i++) e[i] = exp1(x[i]); }
static void tanh16(float *t, const float *x) { int i; for (i = 0; i < 16; i++) t[i] = tanh1(x[i]); }
#else
static float exp1(float x) { return llm__v_exp_scalar(llm__v_set_scalar(x)).at[0]; }
static float tanh1(float x) { return llm__v_tanh_scalar(llm__v_set_scalar(x)).at[0]; }
static void exp16(float *e, const float *x) { llm__v_store_scalar(e, llm__v_exp_scalar(llm__v_load_scalar(x))); }
static void tanh16(float *t, const float *x) { llm__v_store_scalar(t, llm__v_tanh_scalar(llm__v_load_scalar(x))); }
#endif

static void sweep(uint32_t step) {
    double worst_exp = 0, worst_tanh = 0;
    uint64_t i;
    float x[16], e[16], t[16];
    size_t j;
    SECTION("exp and tanh over all floats");
    for (i = 0; i < 0x100000000ull; i += 16ull * step) {
        for (j = 0; j < 16; j++) x[j] = llm__bits_f32((uint32_t)(i + j * step));
        exp16(e, x);
        tanh16(t, x);
        for (j = 0; j < 16; j++) {
            double u;
            if (llm__f32_is_nan(x[j])) {
                if (!llm__f32_is_nan(e[j]) || !llm__f32_is_nan(t[j])) worst_exp = 1e9;
                continue;
            }
            if (x[j] < -87.0f || x[j] > 88.0f) u = llm__f32_bits(e[j]) == (x[j] < 0 ? 0u : 0x7f800000u) ? 0 : 1e9;
            else u = ulps(e[j], exact_exp((long double)x[j]));
            if (u > worst_exp) worst_exp = u;
            u = ulps(t[j], exact_tanh((long double)x[j]));
            if ((llm__f32_bits(t[j]) ^ llm__f32_bits(x[j])) >> 31) u = 1e9;
            if (u > worst_tanh) worst_tanh = u;
        }
    }
    for (i = 0; i < 2; i++) {                                       // around -87 and 88
        for (j = 0; j < 16; j++) x[j] = llm__bits_f32((i ? 0xc2adfff8u : 0x42affff8u) + (uint32_t)j);
        exp16(e, x);
        for (j = 0; j < 16; j++) {
            if (x[j] < -87.0f || x[j] > 88.0f) CHECK(llm__f32_bits(e[j]) == (i ? 0u : 0x7f800000u));
            else CHECK(ulps(e[j], exact_exp((long double)x[j])) <= 1.0);
        }
    }
    printf("largest error of exp: %.4f ulp, of tanh: %.4f ulp (every %u. float)\n", worst_exp, worst_tanh, step);
    CHECK(worst_exp <= 1.0);
    CHECK(worst_tanh <= 1.5);
    CHECK(magnitude((double)exact_tanh(0.125L) - 0.12435300177159621) < 1e-16);
    CHECK(magnitude((double)exact_tanh(0.75L) - 0.63514895238728730) < 3e-16);
    CHECK(magnitude((double)exact_exp(1.0L) - 2.7182818284590452) < 9e-16);
    CHECK(magnitude((double)exact_exp(-20.0L) - 2.0611536224385578e-9) < 4e-24);       // 1e-24 where long double has more than 53 bits
}

//---- the rules, written down once more ------------------------------------------------------------------------------------------

static float rule_tree(const float *lane) {
    float l[16];
    int i, step;
    memcpy(l, lane, sizeof l);
    for (step = 8; step; step /= 2)
        for (i = 0; i < step; i++) l[i] = l[i] + l[i + step];
    return l[0];
}
static float rule_dot(const float *a, const float *b, size_t n) {
    float lane[16] = { 0 };
    size_t i;
    for (i = 0; i < n; i++) lane[i % 16] = llm__fma(a[i], b[i], lane[i % 16]);
    return rule_tree(lane);
}
static float rule_sum(const float *x, size_t n) {
    float lane[16] = { 0 };
    size_t i;
    for (i = 0; i < n; i++) lane[i % 16] = lane[i % 16] + x[i];
    return rule_tree(lane);
}
static void rule_rmsnorm(float *y, const float *x, const float *w, size_t n, float eps) {
    float v = rule_dot(x, x, n) / (float)n, r;
    size_t i;
    v = v + eps;
    r = 1.0f / llm__sqrt_exact(v);
    for (i = 0; i < n; i++) {
        y[i] = x[i] * r;
        if (w) y[i] = y[i] * w[i];
    }
}
static void rule_glu(float *y, const float *gate, const float *up, size_t n, llm__act act) {
    size_t i;
    for (i = 0; i < n; i++) {
        float g = gate[i], t = -g, e;
        if (act == LLM__ACT_GELU) {
            t = g * g;
            t = llm__fma(t, -0.0713548139f, -1.59576917f);
            t = g * t;
        }
        e = exp1(t);
        e = 1.0f + e;
        g = g / e;
        y[i] = g * up[i];
    }
}
static void rule_softmax(float *x, size_t n) {
    float m = x[0], sum;
    size_t i;
    for (i = 1; i < n; i++) m = x[i] > m ? x[i] : m;
    for (i = 0; i < n; i++) { x[i] = x[i] - m; x[i] = exp1(x[i]); }
    sum = rule_sum(x, n);
    for (i = 0; i < n; i++) x[i] = x[i] / sum;
}
static void rule_rope(float *x, const float *cs, size_t n_pairs, bool neighbours) {
    size_t i;
    for (i = 0; i < n_pairs; i++) {
        float *p0 = neighbours ? x + 2 * i : x + i, *p1 = neighbours ? x + 2 * i + 1 : x + n_pairs + i;
        float c = cs[2 * i], s = cs[2 * i + 1], x0 = *p0, x1 = *p1, a = x1 * s, b = x1 * c;
        *p0 = llm__fma(x0, c, -a);
        *p1 = llm__fma(x0, s, b);
    }
}
// Half to even on the decimal value, not on bits.
static int rule_round(float x) {
    double a = (double)x, f = a - 0.5;
    int i = (int)f;
    while ((double)i < f) i++;                                      // smallest integer >= x - 0.5
    if ((double)i == f && i % 2) i++;
    return i;
}
static void rule_quantize(const float *x, size_t n, int8_t *q, float *d, int16_t *s16) {
    size_t b, i;
    for (b = 0; b < n / 32; b++, x += 32, q += 32) {
        float amax = 0, r;
        bool finite = true;
        for (i = 0; i < 32; i++) {
            finite = finite && llm__f32_is_finite(x[i]);
            if (x[i] > amax) amax = x[i];
            if (-x[i] > amax) amax = -x[i];
        }
        memset(q, 0, 32);
        s16[2 * b] = s16[2 * b + 1] = 0;
        d[b] = !finite ? llm__bits_f32(0x7fc00000u) : 0.0f;
        if (!finite || amax < 5.42101086e-20f) continue;            // 2^-64
        d[b] = amax / 127.0f;
        r = 127.0f / amax;
        for (i = 0; i < 32; i++) {
            float y = x[i] * r;
            q[i] = (int8_t)rule_round(y);
            s16[2 * b + i / 16] = (int16_t)(s16[2 * b + i / 16] + q[i]);
        }
    }
}

//---- elementwise kernels -------------------------------------------------------------------------------------------------------

enum { MOST = 1200 };
typedef struct buffers { float x[MOST], y[MOST], z[MOST], want[MOST], got[MOST], cs[2 * MOST]; } buffers;

#define GUARD 123456.0f

// got starts as y; what stands behind n must survive.
static void start(buffers *b, size_t n) {
    memcpy(b->got, b->y, n * sizeof(float));
    memcpy(b->want, b->y, n * sizeof(float));
    b->got[n] = GUARD;
}
static bool agrees(const buffers *b, size_t n) { return same(b->got, b->want, n) && b->got[n] == GUARD; }

static void check_elementwise(const llm__vectors *v, buffers *b, size_t n) {
    float s = b->z[0];
    size_t i;
    start(b, n); v->add(b->got, b->x, n);
    for (i = 0; i < n; i++) b->want[i] = b->want[i] + b->x[i];
    CHECK(agrees(b, n));
    start(b, n); v->add_scaled(b->got, b->x, s, n);
    for (i = 0; i < n; i++) b->want[i] = llm__fma(s, b->x[i], b->want[i]);
    CHECK(agrees(b, n));
    start(b, n); v->scale(b->got, s, n);
    for (i = 0; i < n; i++) b->want[i] = b->want[i] * s;
    CHECK(agrees(b, n));
    start(b, n); v->affine(b->got, s, b->x, n, false);
    for (i = 0; i < n; i++) { b->want[i] = b->want[i] * s; b->want[i] = b->want[i] + b->x[i]; }
    CHECK(agrees(b, n));
    start(b, n); v->affine(b->got, s, b->x, n, true);
    for (i = 0; i < n; i++) { b->want[i] = b->want[i] + b->x[i]; b->want[i] = b->want[i] * s; }
    CHECK(agrees(b, n));
    start(b, n); v->affine(b->got, s, NULL, n, true);
    for (i = 0; i < n; i++) b->want[i] = b->want[i] * s;
    CHECK(agrees(b, n));
    start(b, n); v->softcap(b->got, 30.0f, n);
    for (i = 0; i < n; i++) { b->want[i] = b->want[i] / 30.0f; b->want[i] = tanh1(b->want[i]); b->want[i] = 30.0f * b->want[i]; }
    CHECK(agrees(b, n));
    start(b, n); v->glu(b->got, b->y, b->x, n, LLM__ACT_SILU); rule_glu(b->want, b->y, b->x, n, LLM__ACT_SILU);
    CHECK(agrees(b, n));
    start(b, n); v->glu(b->got, b->y, b->x, n, LLM__ACT_GELU); rule_glu(b->want, b->y, b->x, n, LLM__ACT_GELU);
    CHECK(agrees(b, n));
    start(b, n); v->rmsnorm(b->got, b->y, b->x, n, 1e-6f); rule_rmsnorm(b->want, b->y, b->x, n, 1e-6f);
    CHECK(agrees(b, n));
    start(b, n); v->rmsnorm(b->got, b->got, NULL, n, 1e-5f); rule_rmsnorm(b->want, b->y, NULL, n, 1e-5f);
    CHECK(agrees(b, n));
}
static void check_softmax(const llm__vectors *v, buffers *b, size_t n) {
    start(b, n);
    v->softmax(b->got, n);
    rule_softmax(b->want, n);
    CHECK(agrees(b, n));
}
static void check_rope(const llm__vectors *v, buffers *b, size_t n) {
    int neighbours;
    for (neighbours = 0; neighbours < 2; neighbours++) {
        start(b, n);
        v->rope(b->got, b->cs, n / 2, neighbours != 0);
        rule_rope(b->want, b->cs, n / 2, neighbours != 0);
        CHECK(agrees(b, n));
    }
}
static void check_max(const llm__vectors *v, const float *x, size_t n) {
    bool bad = false, want_bad = false, any = false;
    float m = -llm__bits_f32(0x7f800000u), got = v->highest(x, n, &bad);
    size_t i;
    for (i = 0; i < n; i++) {
        uint32_t u = llm__f32_bits(x[i]);
        if (llm__f32_is_nan(x[i]) || u == 0x7f800000u) want_bad = true;
        if (u != 0xff800000u) any = true;
        m = x[i] > m ? x[i] : m;
    }
    CHECK_EQ(bad, want_bad || !any);
    if (!want_bad && any) CHECK(got == m);
}
static void check_exp_weights(const llm__vectors *v, const float *x, size_t n) {
    uint64_t w[MOST];
    bool right = true;
    float m = x[0], e;
    size_t i;
    for (i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
    w[n] = 99;
    v->exp_weights(w, x, m, n);
    for (i = 0; i < n; i++) {
        e = x[i] - m;
        e = exp1(e);
        right = right && w[i] == (uint64_t)((double)e * 4294967296.0);
    }
    CHECK(right && w[n] == 99);
}
static void check_quantize(const llm__vectors *v, const float *x, size_t n) {
    int8_t q[MOST], want_q[MOST];
    float d[MOST / 32 + 1], want_d[MOST / 32 + 1];
    int16_t s[MOST / 16 + 2], want_s[MOST / 16 + 2];
    memset(q, 77, sizeof q);
    v->quantize(x, n, q, d, s);
    rule_quantize(x, n, want_q, want_d, want_s);
    CHECK(memcmp(q, want_q, n) == 0 && (n == MOST || q[n] == 77));
    CHECK(same(d, want_d, n / 32));
    CHECK(memcmp(s, want_s, n / 16 * sizeof *s) == 0);
}

// silu and gelu are what their formulas say.
static void check_activations(const llm__vectors *v) {
    float x[512], one[512], silu[512], gelu[512];
    long double worst_silu = 0, worst_gelu = 0;
    size_t i;
    for (i = 0; i < 512; i++) { x[i] = ((float)i - 256.0f) * 0.0425f; one[i] = 1.0f; }
    v->glu(silu, x, one, 512, LLM__ACT_SILU);
    v->glu(gelu, x, one, 512, LLM__ACT_GELU);
    for (i = 0; i < 512; i++) {
        long double a = x[i], d = a / (1.0L + exact_exp(-a)) - silu[i];
        worst_silu = LLM__MAX(worst_silu, d < 0 ? -d : d);
        d = 0.5L * a * (1.0L + exact_tanh(0.797884560802865356L * (a + 0.044715L * a * a * a))) - gelu[i];
        worst_gelu = LLM__MAX(worst_gelu, d < 0 ? -d : d);
    }
    CHECK(worst_silu < 1e-6L);
    CHECK(worst_gelu < 1e-6L);
}

static void test_kernels(const llm__vectors *v) {
    buffers *b = (buffers *)malloc(sizeof *b);
    random_state r = { 11 };
    size_t n, i, round;
    SECTION("elementwise kernels");
    for (round = 0; round < 3; round++)                             // ordinary, hostile, vanishing
        for (n = 1; n <= MOST - 1; n += n < 70 ? 1 : 211) {
            random_fill(&r, b->x, n, round == 1);
            random_fill(&r, b->y, n, round == 1);
            random_fill(&r, b->z, 1, round == 1);
            random_fill(&r, b->cs, 2 * n, round == 1);
            if (round == 2) { tiny_fill(&r, b->x, n); tiny_fill(&r, b->y, n); }
            check_elementwise(v, b, n);
            check_rope(v, b, n / 2 * 2);
            check_max(v, b->x, n);
            if (round == 1) continue;
            check_softmax(v, b, n);
            check_exp_weights(v, b->x, n);
        }
    check_activations(v);
    SECTION("largest value");
    for (i = 0; i < 40; i++) b->x[i] = -llm__bits_f32(0x7f800000u);
    check_max(v, b->x, 40);
    for (n = 0; n < 40; n++) {
        b->x[n] = -5.0f; check_max(v, b->x, 40);
        b->x[n] = llm__bits_f32(0x7f800000u); check_max(v, b->x, 40);
        b->x[n] = llm__bits_f32(0xff800001u); check_max(v, b->x, 40);
        b->x[n] = llm__bits_f32(0x7fffffffu); check_max(v, b->x, 40);
        b->x[n] = -llm__bits_f32(0x7f800000u);
    }
    SECTION("activations to int8");
    for (round = 0; round < 300; round++) {
        static const uint32_t scales[] = { 0x3f800000u, 0x20000000u, 0x1f800000u, 0x1f000000u, 0x00800000u, 0x7f000000u, 0x3f800000u,
                                           0x42fe0000u };
        float scale = llm__bits_f32(scales[round % 8]);
        n = 32 * (1 + round % 9);
        random_fill(&r, b->x, n, round % 8 == 6 && round % 16 < 8);
        for (i = 0; i < n; i++) b->x[i] = round % 8 == 7 ? (float)(int)(b->x[i] * 42.0f) * 0.5f : b->x[i] * scale * 0.33f;
        if (round % 8 == 7) for (i = 0; i < n; i += 32) b->x[i] = 127.0f;       // r = 1: ties
        check_quantize(v, b->x, n);
    }
    free(b);
}

//---- halves --------------------------------------------------------------------------------------------------------------------

// x*y + z lies so near the middle between two floats that it is rounded onto it in double, and from there to the wrong side: next to
// normal numbers, to subnormal ones, and to infinity. The right bits were computed with exact fractions (Python). One lane in sixteen,
// at every place, among sums that round like any other.
static void test_one_rounding(const llm__vectors *v) {
    static const uint32_t cases[10][4] = {                          // x, y, z, x*y + z
        { 0x37810100u, 0x46fe0200u, 0x4b000000u, 0x4b000001u }, { 0x3efffe00u, 0x3f800100u, 0x4b000001u, 0x4b000001u },
        { 0xbefffe00u, 0x3f800100u, 0x4b000001u, 0x4b000001u }, { 0x3efffe00u, 0x3f800100u, 0x4b7fffffu, 0x4b7fffffu },
        { 0xbefffe00u, 0x3f800100u, 0x4b7fffffu, 0x4b7fffffu }, { 0x37810100u, 0x46fe0200u, 0x4b7ffffeu, 0x4b7fffffu },
        { 0xb7810100u, 0x46fe0200u, 0x4b7ffffeu, 0x4b7ffffdu }, { 0x19fffff0u, 0x1a000008u, 0x00080001u, 0x00080001u },
        { 0x99fffff0u, 0x1a000008u, 0x00080001u, 0x00080001u }, { 0x597ffe00u, 0x59000100u, 0x7f7fffffu, 0x7f7fffffu },
    };
    size_t c, at, i, sign;
    SECTION("one rounding");
    for (c = 0; c < LLM__COUNT(cases); c++)
        for (sign = 0; sign < 2; sign++)
            for (at = 0; at < 16; at++) {
                const uint32_t minus = sign ? 0x80000000u : 0u;
                const float s = llm__bits_f32(cases[c][0] ^ minus);
                float x[16], y[16];
                for (i = 0; i < 16; i++) { x[i] = 0.1f + (float)i; y[i] = 0.7f - (float)i; }
                x[at] = llm__bits_f32(cases[c][1]);
                y[at] = llm__bits_f32(cases[c][2] ^ minus);
                CHECK_EQ(llm__f32_bits(llm__fma(s, x[at], y[at])), cases[c][3] ^ minus);
                v->add_scaled(y, x, s, 16);
                CHECK_EQ(llm__f32_bits(y[at]), cases[c][3] ^ minus);
            }
}

static void test_halves(const llm__vectors *v) {
    uint16_t *h = (uint16_t *)malloc(65536 * sizeof *h);
    float *x = (float *)malloc(65536 * sizeof *x);
    uint64_t saturated = 5;
    size_t i;
    bool right = true;
    SECTION("to F16");
    for (i = 0; i < 65536; i++) x[i] = llm__f16_to_f32((uint16_t)i);
    CHECK(x[1] == 5.9604644775390625e-8f && x[0x3c00] == 1.0f && x[0xfbff] == -65504.0f);
    CHECK(x[0x0400] == 6.103515625e-05f && x[0x3555] == 0.333251953125f);
    v->to_f16(h, x, 65536, &saturated);
    for (i = 0; i < 65536; i++) right = right && (h[i] == i || (llm__f32_is_nan(x[i]) && h[i] == (i | 0x200)));
    CHECK(right);
    CHECK_EQ(saturated, 5);
    for (i = 0; i + 1 < 0x7c00; i++) {                              // half way to the next, and the floats beside it
        x[0] = (float)(((double)llm__f16_to_f32((uint16_t)i) + (double)llm__f16_to_f32((uint16_t)(i + 1))) / 2);
        x[1] = llm__bits_f32(llm__f32_bits(x[0]) - 1);
        x[2] = -llm__bits_f32(llm__f32_bits(x[0]) + 1);
        v->to_f16(h, x, 3, NULL);
        right = right && h[0] == (i & 1 ? i + 1 : i) && h[1] == i && h[2] == (0x8000 | (i + 1));
    }
    CHECK(right);
    for (i = 0; i < 37; i++) x[i] = i % 2 ? 65520.0f : -3e38f;
    x[3] = llm__bits_f32(0x7f800000u); x[4] = llm__bits_f32(0xff800000u); x[5] = llm__bits_f32(0x7fc00000u); x[6] = 65519.996f;
    saturated = 0;
    v->to_f16(h, x, 37, &saturated);
    CHECK_EQ(saturated, 33);
    CHECK(h[0] == 0xfbff && h[1] == 0x7bff && h[3] == 0x7c00 && h[4] == 0xfc00);
    CHECK((h[5] & 0x7fff) > 0x7c00 && h[6] == 0x7bff && h[36] == 0xfbff);
    free(h); free(x);
}

//---- matrices of floats ----------------------------------------------------------------------------------------------------------

// As a file has them: the low byte first, on every machine.
static void store(uint8_t *p, size_t i, int type, uint32_t bits) {
    int k;
    for (k = 0; k < (type ? 2 : 4); k++) p[i * (type ? 2u : 4u) + (size_t)k] = (uint8_t)(bits >> 8 * k);
}
static float stored(const uint8_t *p, size_t i, int type) {
    uint16_t h;
    if (type == 0) return llm__bits_f32(llm__le32(p + 4 * i));
    h = llm__le16(p + 2 * i);
    return type == 1 ? llm__f16_to_f32(h) : llm__bits_f32((uint32_t)h << 16);
}
static void check_matmul(llm__matmul_fn fn, int type, random_state *r, uint32_t rows, uint32_t cols, uint32_t tokens, int kind) {
    enum { LD = 50 };
    size_t bytes = cols * (type ? 2u : 4u), stride = bytes + 2, i, k;
    uint8_t *w = (uint8_t *)malloc(stride * rows + 1) + 1;         // nothing is aligned
    float *x = (float *)malloc((tokens + 1) * cols * sizeof *x), *row = (float *)malloc(cols * sizeof *row), out[9 * LD];
    llm__acts a;
    llm__tile t;
    bool right = true;
    memset(&a, 0, sizeof a);
    memset(&t, 0, sizeof t);
    if (kind == 3)      for (i = 0; i < (tokens + 1) * cols; i++) x[i] = llm__bits_f32(700);   // all products vanish: lanes of -0
    else if (kind == 2) tiny_fill(r, x, (tokens + 1) * cols);
    else                random_fill(r, x, (tokens + 1) * cols, kind == 1);
    for (i = 0; i < rows; i++)
        for (k = 0; k < cols; k++) {
            float f = kind == 3 ? -1e-7f : kind == 2 ? random_unit(r) : random_value(r, kind == 1);
            store(w + i * stride, k, type, type == 1 ? llm__f32_to_f16(f) : type == 2 ? llm__f32_bits(f) >> 16 : llm__f32_bits(f));
        }
    for (i = 0; i < 9 * LD; i++) out[i] = GUARD;
    a.f = x + cols; a.n = cols; a.n_tokens = tokens;
    t.w = w; t.row_bytes = stride; t.n_rows = rows; t.x = &a; t.n_tokens = tokens; t.out = out; t.ld = LD;
    fn(&t);
    for (i = 0; i < 9 * LD; i++) {
        float want = GUARD;
        if (i / LD < tokens && i % LD < rows) {
            for (k = 0; k < cols; k++) row[k] = stored(w + i % LD * stride, k, type);
            want = rule_dot(x + (i / LD + 1) * cols, row, cols);
        }
        right = right && same(&want, &out[i], 1);
    }
    if (!CHECK(right)) printf("  type %d, %u rows, %u columns, %u tokens, kind %d\n", type, rows, cols, tokens, kind);
    free(w - 1); free(x); free(row);
}
static void test_matmul(const llm__vectors *v) {
    llm__matmul_fn fns[3];
    random_state r = { 21 };
    uint32_t rows, cols, tokens;
    int type, kind;
    fns[0] = v->matmul_f32; fns[1] = v->matmul_f16; fns[2] = v->matmul_bf16;
    SECTION("matrices of floats");
    for (type = 0; type < 3; type++)
        for (kind = 0; kind < 4; kind++) {
            for (rows = 1; rows <= 40; rows += rows < 10 ? 1 : 7)
                for (tokens = 1; tokens <= 9; tokens++) check_matmul(fns[type], type, &r, rows, 48 + rows * tokens % 17, tokens, kind);
            for (cols = 1; cols <= 70; cols++) check_matmul(fns[type], type, &r, 3, cols, 1 + cols % 3, kind);
            check_matmul(fns[type], type, &r, 5, 1030, 2, kind);
        }
}

//---- attention -----------------------------------------------------------------------------------------------------------------

// The same keys and values in every type: plain, and in 8 bits as blocks [position][block] and as pages.
typedef struct blocks { int8_t q[512]; uint16_t d[16]; } blocks;
typedef struct cache { float *k, *v; uint16_t *k16, *v16; blocks *k8, *v8; uint8_t *k_pages, *v_pages; uint32_t n, dim_k, dim_v; } cache;
typedef enum kind { IN_F32, IN_F16, IN_Q8, IN_F16_Q8 } kind;            // the last: keys F16, values Q8

// N7's last sentence, from nothing of the library but its F16.
static void rule_q8(blocks *b, const float *x, uint32_t n) {
    uint32_t i, k;
    memset(b, 0, sizeof *b);
    for (i = 0; i < n; i += 32) {
        float amax = 0, r;
        bool finite = true;
        for (k = i; k < n && k < i + 32; k++) {
            uint32_t u = llm__f32_bits(x[k]) & 0x7fffffffu;
            finite = finite && u < 0x7f800000u;
            if (llm__bits_f32(u) > amax) amax = llm__bits_f32(u);
        }
        amax = amax / 127.0f;
        b->d[i / 32] = finite ? llm__f32_to_f16(amax) : 0x7e00u;
        if (!finite || b->d[i / 32] == 0) continue;
        r = 1.0f / llm__f16_to_f32(b->d[i / 32]);
        for (k = i; k < n && k < i + 32; k++) {
            float y = x[k] * r;
            b->q[k] = (int8_t)(y > 127.0f ? 127 : y < -127.0f ? -127 : rule_round(y));
        }
    }
}
static float rule_dot_q8(const float *q, const blocks *k, uint32_t n) {
    float whole[512], d[16], acc = 0;
    int8_t quant[512];
    int16_t sums[32];
    uint32_t b, i;
    memset(whole, 0, sizeof whole);
    memcpy(whole, q, n * sizeof *q);
    rule_quantize(whole, 512, quant, d, sums);
    for (b = 0; b < (n + 31) / 32; b++) {
        int32_t isum = 0;
        float s = llm__f16_to_f32(k->d[b]);
        for (i = 32 * b; i < 32 * b + 32; i++) isum += quant[i] * k->q[i];
        s = s * d[b];
        acc = llm__fma(s, (float)isum, acc);
    }
    return acc;
}

static float rule_score(const float *q, const cache *c, uint32_t j, kind in, float scale, float cap) {
    const bool f16 = in != IN_F32;
    float row[600], s;
    uint32_t i;
    for (i = 0; i < c->dim_k; i++) row[i] = f16 ? llm__f16_to_f32(c->k16[(size_t)j * c->dim_k + i]) : c->k[(size_t)j * c->dim_k + i];
    s = in == IN_Q8 ? rule_dot_q8(q, &c->k8[j], c->dim_k) : rule_dot(q, row, c->dim_k);
    s = s * scale;
    if (cap != 0.0f) { s = s / cap; s = tanh1(s); s = cap * s; }
    return s;
}
static float rule_value(const cache *c, uint32_t j, uint32_t i, kind in) {
    float d;
    if (in == IN_F32) return c->v[(size_t)j * c->dim_v + i];
    if (in == IN_F16) return llm__f16_to_f32(c->v16[(size_t)j * c->dim_v + i]);
    d = llm__f16_to_f32(c->v8[j].d[i / 32]);
    return (float)c->v8[j].q[i] * d;
}
static void rule_span(llm__attn_part *out, const float *q, const cache *c, kind in, float scale, float cap, uint32_t begin, uint32_t end) {
    float s[64], l[16], m, a, sum;
    uint32_t base, j, i, lo, hi;
    out->m = out->l = 0;
    for (i = 0; i < c->dim_v; i++) out->o[i] = 0;
    for (base = begin / 64 * 64; base < end; base += 64) {
        lo = base < begin ? begin : base;
        hi = base + 64 < end ? base + 64 : end;
        for (j = lo; j < hi; j++) s[j - base] = rule_score(q, c, j, in, scale, cap);
        m = lo == begin ? s[lo - base] : out->m;
        for (j = lo; j < hi; j++) m = s[j - base] > m ? s[j - base] : m;
        memset(l, 0, sizeof l);
        for (j = lo; j < hi; j++) {
            s[j - base] = s[j - base] - m;
            s[j - base] = exp1(s[j - base]);
            l[j % 16] = l[j % 16] + s[j - base];
        }
        sum = rule_tree(l);
        if (lo == begin) {
            out->l = sum;
        } else {
            a = out->m - m;
            a = exp1(a);
            out->l = llm__fma(out->l, a, sum);
            for (i = 0; i < c->dim_v; i++) out->o[i] = out->o[i] * a;
        }
        out->m = m;
        for (j = lo; j < hi; j++)
            for (i = 0; i < c->dim_v; i++) {
                float x = rule_value(c, j, i, in);
                out->o[i] = llm__fma(s[j - base], x, out->o[i]);
            }
    }
}
// Pages as attention reads them; what is in no position's place stays 0x7f: an F16 that is a NaN.
static void pages_fill(uint8_t *pages, const blocks *rows, uint32_t n, uint32_t dim) {
    const uint32_t n_blocks = (dim + 31) / 32;
    uint32_t j, b;
    memset(pages, 0x7f, (size_t)(n + 63) / 64 * 64 * n_blocks * 34);
    for (j = 0; j < n; j++) {
        uint8_t *page = pages + (size_t)(j / 64) * 64 * n_blocks * 34;
        for (b = 0; b < n_blocks; b++) memcpy(page + (b * 64 + j % 64) * 2, &rows[j].d[b], 2);
        memcpy(page + n_blocks * 128 + (size_t)(j % 64) * n_blocks * 32, rows[j].q, n_blocks * 32);
    }
}
static void cache_fill(cache *c, random_state *r, uint32_t n, uint32_t dim_k, uint32_t dim_v, int how) {
    size_t i;
    c->n = n; c->dim_k = dim_k; c->dim_v = dim_v;
    if (how == 2) { tiny_fill(r, c->k, (size_t)n * dim_k); tiny_fill(r, c->v, (size_t)n * dim_v); }
    else { random_fill(r, c->k, (size_t)n * dim_k, false); random_fill(r, c->v, (size_t)n * dim_v, how == 1); }
    for (i = 0; i < (size_t)n * dim_k; i++) c->k16[i] = llm__f32_to_f16(c->k[i]);
    for (i = 0; i < (size_t)n * dim_v; i++) c->v16[i] = llm__f32_to_f16(c->v[i]);
    for (i = 0; i < n; i++) { rule_q8(&c->k8[i], c->k + i * dim_k, dim_k); rule_q8(&c->v8[i], c->v + i * dim_v, dim_v); }
    pages_fill(c->k_pages, c->k8, n, dim_k);
    pages_fill(c->v_pages, c->v8, n, dim_v);
}
// One query by itself.
static void attend_one(const llm__vectors *v, llm__attn_part *out, const float *q, const llm__attend *a, uint32_t begin, uint32_t end) {
    llm__query one;
    one.q = q; one.begin = begin; one.end = end; one.out = out;
    v->attend_group(a, &one, 1);
}
static void attend_of(llm__attend *a, const cache *c, kind in, float scale, float cap, uint32_t page0, const void **k, const void **v) {
    static const llm__elem k_of[] = { LLM__HOST_F32, LLM__HOST_F16, LLM__HOST_Q8, LLM__HOST_F16 };
    static const llm__elem v_of[] = { LLM__HOST_F32, LLM__HOST_F16, LLM__HOST_Q8, LLM__HOST_Q8 };
    const uint32_t k_blocks = (c->dim_k + 31) / 32, v_blocks = (c->dim_v + 31) / 32;
    const bool f16 = in != IN_F32;
    static llm__attend_q8 room;
    uint32_t p;
    memset(a, 0, sizeof *a);
    memset(&room, 0xff, sizeof room);                                  // NaN: nothing is read that was not written
    a->q8 = &room;
    a->page0 = page0;
    for (p = page0; p * 64 < c->n; p++) {
        size_t at = (size_t)p * 64;
        k[p - page0] = f16 ? (const void *)(c->k16 + at * c->dim_k) : (const void *)(c->k + at * c->dim_k);
        v[p - page0] = f16 ? (const void *)(c->v16 + at * c->dim_v) : (const void *)(c->v + at * c->dim_v);
    }
    for (p = page0; p * 64 < c->n; p++) {
        if (in == IN_Q8) k[p - page0] = c->k_pages + (size_t)p * 64 * k_blocks * 34;
        if (in >= IN_Q8) v[p - page0] = c->v_pages + (size_t)p * 64 * v_blocks * 34;
    }
    a->k = k; a->v = v;
    a->head_dim_k = c->dim_k; a->head_dim_v = c->dim_v;
    a->k_stride = in == IN_Q8 ? k_blocks * 32 : c->dim_k * (f16 ? 2u : 4u);
    a->v_stride = in >= IN_Q8 ? v_blocks * 32 : c->dim_v * (f16 ? 2u : 4u);
    a->k_elem = k_of[in]; a->v_elem = v_of[in]; a->scale = scale; a->softcap = cap;
}
enum { QUERIES = 7, DIM = 520 };
typedef struct attention {
    float q[QUERIES][DIM], want[DIM], o[QUERIES][DIM], o1[DIM];
    llm__attn_part part[QUERIES];
    llm__query query[QUERIES];
} attention;

static void check_attention(const llm__vectors *v, attention *t, const cache *c, random_state *r, kind in, float cap, bool equal_ranges) {
    const void *k[40], *vv[40];
    llm__attend a;
    llm__attn_part want, one;
    uint32_t i, n_q = 1 + random32(r) % QUERIES, lowest = c->n;
    bool right = true;
    for (i = 0; i < n_q; i++) {
        llm__query *q = &t->query[i];
        random_fill(r, t->q[i], c->dim_k, false);
        t->q[i][0] = -0.0f;
        q->q = t->q[i]; q->out = &t->part[i]; t->part[i].o = t->o[i]; t->o[i][c->dim_v] = GUARD;
        q->begin = random32(r) % c->n;
        q->end = q->begin + 1 + random32(r) % (c->n - q->begin);
        if (i && (equal_ranges || random32(r) % 2)) { q->begin = q[-1].begin; q->end = q[-1].end; }
        lowest = LLM__MIN(lowest, q->begin);
    }
    attend_of(&a, c, in, 0.37f, cap, lowest / 64, k, vv);
    v->attend_group(&a, t->query, n_q);
    want.o = t->want; one.o = t->o1;
    for (i = 0; i < n_q; i++) {
        rule_span(&want, t->q[i], c, in, 0.37f, cap, t->query[i].begin, t->query[i].end);
        attend_one(v, &one, t->q[i], &a, t->query[i].begin, t->query[i].end);
        right = right && want.m == t->part[i].m && same(&want.l, &t->part[i].l, 1);
        right = right && same(t->want, t->o[i], c->dim_v) && t->o[i][c->dim_v] == GUARD;
        right = right && want.m == one.m && same(&want.l, &one.l, 1) && same(t->want, t->o1, c->dim_v);
    }
    if (!CHECK(right))
        printf("  %u positions, heads of %u and %u, kind %d, cap %g, %u queries\n", c->n, c->dim_k, c->dim_v, (int)in, (double)cap, n_q);
}
static void check_merge(const llm__vectors *v, random_state *r, size_t n) {
    float o[DIM], p[DIM], want[DIM], m, a, b, x, y;
    llm__attn_part into, next;
    size_t i;
    random_fill(r, o, n, true); random_fill(r, p, n, true);
    memcpy(want, o, sizeof want);
    into.m = random_unit(r) * 20; into.l = 3.5f; into.o = o;
    next.m = random_unit(r) * 20; next.l = 1.75f; next.o = p;
    m = into.m > next.m ? into.m : next.m;
    a = exp1(into.m - m); b = exp1(next.m - m);
    for (i = 0; i < n; i++) { x = want[i] * a; y = p[i] * b; want[i] = x + y; }
    x = into.l * a; y = next.l * b; x = x + y;
    v->attend_merge(&into, &next, n);
    CHECK(into.m == m && into.l == x && same(o, want, n));
    for (i = 0; i < n; i++) want[i] = want[i] / into.l;
    v->attend_finish(&into, n);
    CHECK(same(o, want, n));
}
// The rule itself is attention: against sums in long double.
static void check_meaning(const llm__vectors *v, attention *t, const cache *c, random_state *r) {
    const void *k[40], *vv[40];
    llm__attend a;
    long double worst = 0, sum = 0, s[600], o;
    uint32_t i, j;
    attend_of(&a, c, IN_F32, 0.125f, 0.0f, 0, k, vv);
    random_fill(r, t->q[0], c->dim_k, false);
    t->part[0].o = t->o[0];
    attend_one(v, &t->part[0], t->q[0], &a, 0, c->n);
    v->attend_finish(&t->part[0], c->dim_v);
    for (j = 0; j < c->n; j++) {
        for (s[j] = 0, i = 0; i < c->dim_k; i++) s[j] += (long double)t->q[0][i] * (long double)c->k[j * c->dim_k + i];
        s[j] = exact_exp(s[j] * 0.125L);
        sum += s[j];
    }
    for (i = 0; i < c->dim_v; i++) {
        for (o = 0, j = 0; j < c->n; j++) o += s[j] * (long double)c->v[j * c->dim_v + i];
        o = o / sum - (long double)t->o[0][i];
        worst = LLM__MAX(worst, o < 0 ? -o : o);
    }
    CHECK(worst < 2e-6L);
}
static void test_attention(const llm__vectors *v) {
    static const uint32_t dims[][2] = { {64, 64}, {128, 128}, {16, 16}, {80, 80}, {96, 40}, {1, 1}, {33, 7},
                                       {256, 256}, {20, 100}, {512, 512} };
    attention *t = (attention *)malloc(sizeof *t);
    random_state r = { 31 };
    cache c;
    size_t i, n;
    c.k = (float *)malloc(1024 * 512 * sizeof(float)); c.v = (float *)malloc(1024 * 512 * sizeof(float));
    c.k16 = (uint16_t *)malloc(1024 * 512 * 2); c.v16 = (uint16_t *)malloc(1024 * 512 * 2);
    c.k8 = (blocks *)malloc(1024 * sizeof(blocks)); c.v8 = (blocks *)malloc(1024 * sizeof(blocks));
    c.k_pages = (uint8_t *)malloc(1024 * 16 * 34); c.v_pages = (uint8_t *)malloc(1024 * 16 * 34);
    SECTION("attention");
    for (i = 0; i < sizeof dims / sizeof *dims; i++)
        for (n = 0; n < 36; n++) {
            uint32_t positions = n < 4 ? 1 + (uint32_t)n : 1 + random32(&r) % (n < 24 ? 200 : 600);
            cache_fill(&c, &r, positions, dims[i][0], dims[i][1], (int)n % 3);
            check_attention(v, t, &c, &r, n % 2 ? IN_F16 : IN_F32, n % 5 == 4 ? 5.0f : 0.0f, n % 4 == 3);
            check_attention(v, t, &c, &r, n % 4 == 1 ? IN_F16_Q8 : IN_Q8, n % 5 == 3 ? 5.0f : 0.0f, n % 3 == 1);
        }
    cache_fill(&c, &r, 500, 64, 64, 0);
    check_meaning(v, t, &c, &r);
    SECTION("merge, sink, finish");
    for (n = 1; n < 70; n++) check_merge(v, &r, n);
    check_merge(v, &r, 512);
    free(t); free(c.k); free(c.v); free(c.k16); free(c.v16);
    free(c.k8); free(c.v8); free(c.k_pages); free(c.v_pages);
}

// Rounding to 8 bits: the rule on numbers of every size, what it says at its ends, and nothing written beyond.
static void test_to_q8(const llm__vectors *v) {
    random_state r = { 77 };
    float x[520], inf = llm__bits_f32(0x7f800000u);
    int8_t q[544];
    uint16_t d[17 * 64];
    blocks want;
    uint64_t saturated = 0;
    uint32_t n, round, i;
    SECTION("to 8 bits");
    for (n = 1; n <= 512; n += n < 70 ? 1 : 37)
        for (round = 0; round < 6; round++) {
            bool right = true;
            if (round == 3) tiny_fill(&r, x, n);
            else random_fill(&r, x, n, round == 2);
            for (i = 0; round >= 4 && i < n; i++) x[i] *= round == 4 ? 1e-7f : 3e6f;
            memset(q, 99, sizeof q);
            memset(d, 0xab, sizeof d);
            v->to_q8(q, d + 5, x, n, NULL);
            rule_q8(&want, x, n);
            right = memcmp(q, want.q, (n + 31) / 32 * 32) == 0 && q[(n + 31) / 32 * 32] == 99;
            for (i = 0; i < 17 * 64; i++)
                right = right && d[i] == (i % 64 == 5 && i / 64 < (n + 31) / 32 ? want.d[i / 64] : 0xababu);
            if (!CHECK(right)) printf("  %u numbers, round %u\n", n, round);
        }
    for (i = 0; i < 64; i++) x[i] = i == 40 ? -1e7f : (float)i;      // 1e7 / 127 is beyond F16: 65504, and the block ends at 127 times that
    v->to_q8(q, d, x, 64, &saturated);
    CHECK(saturated == 1 && d[64] == 0x7bffu && q[40] == -127 && q[41] == 0 && d[0] != 0x7bffu && q[31] == 127);
    for (i = 0; i < 64; i++) x[i] = i == 3 ? 3.7e-6f : i == 35 ? 3.9e-6f : 0.0f;      // either side of 127 * 2^-25
    v->to_q8(q, d, x, 64, &saturated);
    CHECK(saturated == 1 && d[0] == 0 && q[3] == 0 && d[64] == 1 && q[35] == 65);
    for (i = 0; i < 3; i++) {                                       // what is no number is not lost: it meets whoever reads the block
        memset(x, 0, sizeof x);
        x[7] = i == 0 ? inf : i == 1 ? -inf : llm__bits_f32(0xffc00123u);
        x[8] = 5;
        v->to_q8(q, d, x, 64, &saturated);
        CHECK(d[0] == 0x7e00u && q[7] == 0 && q[8] == 0 && d[64] == 0 && saturated == 1);
    }
}

// The loads of `read` are wanted by nobody; they have to happen all the same. Each touches a page of its own, and the system counts.
static void test_read_happens(const llm__vectors *v) {
#if defined(__linux__)
    enum { PAGE = 4096, PER_STREAM = 64, BYTES = 4 * PER_STREAM * PAGE };
    struct rusage before, after;
    const uint8_t *at[4], *p = (const uint8_t *)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int i;
    SECTION("reading");
    if (!CHECK((const void *)p != MAP_FAILED)) return;
    madvise((void *)(uintptr_t)p, BYTES, MADV_NOHUGEPAGE);
    for (i = 0; i < 4; i++) at[i] = p + i * PER_STREAM * PAGE;
    getrusage(RUSAGE_SELF, &before);
    v->sweep(at, PAGE, PER_STREAM);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_minflt - before.ru_minflt >= 4 * PER_STREAM);
    getrusage(RUSAGE_SELF, &before);
    v->sweep(at, PAGE, PER_STREAM);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_minflt - before.ru_minflt < PER_STREAM);
    munmap((void *)(uintptr_t)p, BYTES);
#else
    (void)v;
    test_lacks("no count of page faults");
#endif
}

int main(int argc, char **argv) {
    const llm__fpenv env = llm__fp_enter();                         // a program linked with -ffast-math starts with FTZ set
    static const llm_isa isas[] = { LLM_ISA_SCALAR, LLM_ISA_AVX2, LLM_ISA_AVX512_VNNI, LLM_ISA_NEON, LLM_ISA_WASM128 };
    size_t i;
    test_pow();
    test_turns();
    test_cos_sin();
    test_sqrt();
    sweep(argc > 1 && strcmp(argv[1], "--all") == 0 ? 1 : 1009);
    for (i = 0; i < LLM__COUNT(isas); i++) {
        llm__kernels k;
        llm_error e;
        if (llm__kernels_pick(&k, isas[i], &e) != LLM_OK) {
            if (llm__isa_compiled(isas[i])) test_lacks(e.text);
            continue;
        }
        SECTION(llm__isa_name(isas[i]));
        test_kernels(&k.v); test_one_rounding(&k.v); test_halves(&k.v); test_matmul(&k.v); test_attention(&k.v); test_to_q8(&k.v);
        test_read_happens(&k.v);
    }
    llm__fp_leave(env);
    return test_done();
}
