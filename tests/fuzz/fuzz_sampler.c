// fuzz_sampler.c - any logits, any settings, any history: the token that is picked against the definition written down plainly (sort
// everything, then cut), by scalar and by the best kernels; and stop strings against looking at the whole text.
#include "fuzz.h"

enum { MOST = 3000, MOST_HISTORY = 100 };

#define PLAIN_MOST MOST
#include "../plain_sampler.h"

static llm_token plain_pick(plain *p, const llm__vectors *v, const llm_sampling *c, const float *l, uint32_t n, uint64_t position) {
    plain_vec = v;
    if (c->temperature == 0) {
        const llm_sampling nothing_cut = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0 };
        plain_cut(p, &nothing_cut, l, n);
        return (llm_token)p->ids[0];
    }
    plain_cut(p, c, l, n);
    return llm__f32_is_finite(p->l[0]) ? plain_draw(p, llm__sampler_random64(c->seed, position)) : (llm_token)p->ids[0];
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
