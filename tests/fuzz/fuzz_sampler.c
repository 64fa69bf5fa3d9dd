// fuzz_sampler.c - any logits, any settings, any history: the token that is picked against the definition written down plainly (sort
// everything, then cut), by scalar and by the best kernels; and stop strings against looking at the whole text.
#include "fuzz.h"

enum { MOST = 3000, MOST_HISTORY = 100 };

// ---- the definition, over whole arrays (NUMERICS, N10)

typedef struct plain { uint32_t m, ids[MOST]; float l[MOST]; uint64_t w[MOST]; } plain;

static const float *sort_by;
static const double *sort_distance;
static int by_logit(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (sort_by[i] != sort_by[j]) return sort_by[i] > sort_by[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}
static const uint32_t *sort_ids;
static int by_distance(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (sort_distance[i] != sort_distance[j]) return sort_distance[i] < sort_distance[j] ? -1 : 1;
    return sort_ids[i] < sort_ids[j] ? -1 : sort_ids[i] > sort_ids[j];
}
static uint64_t plain_weigh(plain *p, const llm__vectors *v) {
    uint64_t sum = 0;
    uint32_t i;
    v->exp_weights(p->w, p->l, p->l[0], p->m);
    for (i = 0; i < p->m; i++) sum += p->w[i];
    return sum;
}
static void plain_typical(plain *p, const llm__vectors *v, float share) {
    static double distance[MOST];
    static uint32_t order[MOST];
    static unsigned char keep[MOST];
    uint64_t total = plain_weigh(p, v), sum = 0, goal = (uint64_t)((double)share * (double)total);
    double h = 0;
    uint32_t i, k;
    for (i = 0; i < p->m; i++)
        if (p->w[i]) { volatile double part = (double)p->w[i] * (double)(p->l[0] - p->l[i]); h = h + part; }
    h /= (double)total;
    for (i = 0; i < p->m; i++) {
        double d = (double)(p->l[0] - p->l[i]) - h;
        distance[i] = d < 0 ? -d : d;
        order[i] = i;
        keep[i] = 0;
    }
    sort_distance = distance;
    sort_ids = p->ids;
    qsort(order, p->m, sizeof *order, by_distance);
    for (i = 0; i < p->m; i++) {
        keep[order[i]] = 1;
        if ((sum += p->w[order[i]]) >= goal && sum) break;
    }
    for (i = 0, k = 0; i < p->m; i++)
        if (keep[i]) { p->ids[k] = p->ids[i]; p->l[k++] = p->l[i]; }
    p->m = k;
}
static llm_token plain_pick(plain *p, const llm__vectors *v, const llm_sampling *c, const float *l, uint32_t n, uint64_t position) {
    uint64_t goal, sum = 0, least, u;
    uint32_t i;
    for (i = 0; i < n; i++) p->ids[i] = i;
    sort_by = l;
    qsort(p->ids, n, sizeof *p->ids, by_logit);
    for (i = 0; i < n; i++) p->l[i] = l[p->ids[i]];
    if (c->temperature == 0) return (llm_token)p->ids[0];
    p->m = c->top_k && c->top_k < n ? c->top_k : n;
    if (c->typical_p > 0 && c->typical_p < 1) plain_typical(p, v, c->typical_p);
    if (c->top_p > 0 && c->top_p < 1) {
        goal = (uint64_t)((double)c->top_p * (double)plain_weigh(p, v));
        for (i = 0; i + 1 < p->m && (sum += p->w[i]) < goal; i++) { }
        p->m = i + 1;
    }
    if (c->min_p > 0) {
        plain_weigh(p, v);
        least = c->min_p > 1000 ? (uint64_t)1000 << 32 : (uint64_t)((double)c->min_p * 4294967296.0);
        for (i = 1; i < p->m && p->w[i] >= least; i++) { }
        p->m = i;
    }
    for (i = 0; i < p->m; i++) p->l[i] = p->l[i] / c->temperature;
    if (!llm__f32_is_finite(p->l[0])) return (llm_token)p->ids[0];
    sum = plain_weigh(p, v);
    u = llm__sampler_mulhi(llm__sampler_random64(c->seed, position), sum);
    for (i = 0, sum = 0; i + 1 < p->m && (sum += p->w[i]) <= u; i++) { }
    return (llm_token)p->ids[i];
}
// Bias and penalties, in place. False: nothing can be picked from what is left.
static int plain_modify(float *l, uint32_t n, const llm_sampling *c, const llm_token *history, uint32_t n_history) {
    static uint32_t count[MOST];
    uint32_t i, window = c->penalty_window ? c->penalty_window : 64;
    int any = 0;
    for (i = 0; i < c->n_bias; i++) l[c->bias[i].token] += c->bias[i].bias;
    memset(count, 0, sizeof count);
    if (window > n_history) window = n_history;
    for (i = n_history - window; i < n_history; i++) count[history[i]]++;
    for (i = 0; i < n; i++) {
        volatile float frequency = (float)count[i] * c->frequency_penalty, x = l[i];
        if (count[i]) {
            if (c->repeat_penalty != 0) x = x > 0 ? x / c->repeat_penalty : x * c->repeat_penalty;
            x = x - frequency;
            l[i] = x - c->presence_penalty;
        }
        if (l[i] != l[i] || (llm__f32_bits(l[i]) == 0x7f800000u)) return 0;
        any |= llm__f32_bits(l[i]) != 0xff800000u;
    }
    return any;
}

// ---- one case

typedef struct wish { uint32_t n, n_history; float l[MOST]; llm_token history[MOST_HISTORY]; llm_sampling s; llm_bias bias[8]; } wish;

static void choose_logits(wish *w, choices *c) {
    uint32_t kind = choose_byte(c), i, raw = 1 + choose_below(c, 200);
    w->n = kind & 128 ? raw * 13 + 1 : raw;
    for (i = 0; i < w->n; i++) {
        uint32_t bits = choose_byte(c);
        if (i >= raw) w->l[i] = w->l[i - raw] - (kind & 64 ? 0.5f : 0.0f);                  // ties, or a long tail
        else switch (kind & 3) {
        case 0: w->l[i] = (float)(int)(bits - 128) * 0.25f; break;
        case 1: w->l[i] = (float)(int)(bits % 5) - 2.0f; break;
        case 2: w->l[i] = bits < 64 ? llm__bits_f32(0xff800000u) : (float)bits * 1e-20f; break;
        default: w->l[i] = choose_float(c); break;
        }
    }
}
static void choose_wish(wish *w, choices *c) {
    uint32_t i;
    memset(w, 0, sizeof *w);
    choose_logits(w, c);
    w->s.temperature = choose_float(c);
    w->s.top_k = choose_byte(c) & 1 ? choose_below(c, 300) : 0;
    w->s.top_p = choose_float(c);
    w->s.min_p = choose_float(c);
    w->s.typical_p = choose_float(c);
    if (choose_byte(c) & 1) {
        w->s.repeat_penalty = choose_float(c);
        w->s.frequency_penalty = choose_float(c);
        w->s.presence_penalty = choose_float(c);
        w->s.penalty_window = choose_byte(c) & 1 ? UINT32_MAX : choose_byte(c);
    }
    w->s.seed = choose_u32(c);
    w->s.n_bias = choose_below(c, 9);
    w->s.bias = w->bias;
    for (i = 0; i < w->s.n_bias; i++) {
        w->bias[i].token = (llm_token)choose_below(c, w->n + (choose_byte(c) == 255));
        w->bias[i].bias = choose_float(c);
    }
    w->n_history = choose_below(c, MOST_HISTORY);
    for (i = 0; i < w->n_history; i++) w->history[i] = (llm_token)choose_below(c, w->n);
}
static int is_share(float x) { return llm__f32_is_finite(x) && x >= 0; }
static int is_sound(const wish *w) {
    const llm_sampling *s = &w->s;
    uint32_t i;
    for (i = 0; i < s->n_bias; i++)
        if ((uint32_t)s->bias[i].token >= w->n || s->bias[i].bias != s->bias[i].bias || llm__f32_bits(s->bias[i].bias) == 0x7f800000u) return 0;
    return is_share(s->temperature) && is_share(s->top_p) && is_share(s->min_p) && is_share(s->typical_p) && is_share(s->repeat_penalty) &&
           llm__f32_is_finite(s->frequency_penalty) && llm__f32_is_finite(s->presence_penalty);
}
static void must_pick(const wish *w, llm__sampler *s, const llm__vectors *v) {
    static plain p;
    static float l[MOST];
    llm_token t = -5, again = -5;
    llm_error e;
    llm_result r;
    memcpy(l, w->l, sizeof l);
    r = llm__sampler_pick(s, v, w->l, w->n, w->history, w->n_history, &t, &e);
    must_be_error(&e, r < 0);
    if (!plain_modify(l, w->n, &w->s, w->history, w->n_history)) { MUST(r == LLM_BAD_LOGITS && t == -5); return; }
    MUST(r == LLM_OK && t >= 0 && (uint32_t)t < w->n && llm__f32_bits(l[t]) != 0xff800000u);
    MUST(t == plain_pick(&p, v, &w->s, l, w->n, w->n_history));
    MUST(llm__sampler_pick(s, v, w->l, w->n, w->history, w->n_history, &again, &e) == LLM_OK && again == t);
}

// ---- stop strings

enum { MOST_STOPS = 6 };
typedef struct stops { char *p[MOST_STOPS]; size_t n[MOST_STOPS]; uint32_t count; } stops;

// The stop string that ends the text of n bytes, the longest if several do; 0: none.
static size_t stop_at(const stops *s, const char *text, size_t n) {
    size_t longest = 0;
    uint32_t i;
    for (i = 0; i < s->count; i++)
        if (s->n[i] <= n && s->n[i] > longest && memcmp(text + n - s->n[i], s->p[i], s->n[i]) == 0) longest = s->n[i];
    return longest;
}
// The longest end of the text with which a stop string begins.
static size_t may_become(const stops *s, const char *text, size_t n) {
    size_t longest = 0, k;
    uint32_t i;
    for (i = 0; i < s->count; i++)
        for (k = 1; k < s->n[i] && k <= n; k++)
            if (k > longest && memcmp(text + n - k, s->p[i], k) == 0) longest = k;
    return longest;
}
static void must_stop(choices *c, const llm__heap *h) {
    stops mine;
    llm__stops s;
    llm_error e;
    const char *text;
    size_t at, n, used, k, found = 0;
    uint32_t i;
    int empty = 0;
    memset(&s, 0, sizeof s);
    mine.count = choose_below(c, MOST_STOPS + 1);
    for (i = 0; i < mine.count; i++) {
        mine.p[i] = choose_text(c, 9, NULL);
        mine.n[i] = strlen(mine.p[i]);
        empty |= mine.n[i] == 0;
    }
    MUST(llm__stops_set(&s, h, (const char *const *)mine.p, mine.count, &e) == (empty ? LLM_BAD_ARG : LLM_OK));
    must_be_error(&e, empty);
    text = (const char *)c->p;
    for (at = 0; at < c->n && !empty && !found; at += n) {
        n = 1 + (size_t)(uint8_t)text[at] % 5;
        if (n > c->n - at) n = c->n - at;
        found = llm__stops_feed(&s, text + at, n, &used, &k);
        MUST(used <= n);
        for (i = 1; i < used + !found; i++) MUST(!stop_at(&mine, text, at + i));
        MUST(k == (found ? stop_at(&mine, text, at + used) : may_become(&mine, text, at + n)));
        MUST(!found || k);
    }
    llm__stops_free(&s, h);
    for (i = 0; i < mine.count; i++) free(mine.p[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static llm__kernels best, scalar;
    static wish w;
    choices c;
    fuzz_heap counted;
    llm__heap h;
    llm__sampler s;
    llm_error e;
    llm_result r;
    if (!best.isa) MUST(llm__kernels_pick(&best, LLM_ISA_AUTO, &e) == LLM_OK && llm__kernels_pick(&scalar, LLM_ISA_SCALAR, &e) == LLM_OK);
    c.p = data;
    c.n = size;
    memset(&h, 0, sizeof h);
    h.a = fuzz_allocator(&counted);
    memset(&s, 0, sizeof s);
    if (choose_byte(&c) % 4 == 3) must_stop(&c, &h);
    else {
        choose_wish(&w, &c);
        r = llm__sampler_set(&s, &h, &w.s, w.n, &e);
        must_be_error(&e, r < 0);
        MUST(r == (is_sound(&w) ? LLM_OK : LLM_BAD_ARG));
        if (r == LLM_OK) {
            must_pick(&w, &s, &best.v);
            must_pick(&w, &s, &scalar.v);
        }
        llm__sampler_free(&s, &h);
    }
    MUST(counted.n_live == 0);
    return 0;
}
