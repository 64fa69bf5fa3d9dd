// plain_sampler.h - the definition of sampling written down plainly (N10): every stage over whole arrays, sort everything, then cut. What the
// library's sampler and its fuzzing are compared with. Include after llm.h; PLAIN_MOST is the largest vocabulary, and plain_vec the
// kernels whose exponentials count.
#ifndef PLAIN_SAMPLER_H
#define PLAIN_SAMPLER_H

static const llm__vectors *plain_vec;

typedef struct plain {
    uint32_t m, ids[PLAIN_MOST];
    float l[PLAIN_MOST];
    uint64_t w[PLAIN_MOST];
} plain;

static const float *sort_logits;
static int by_logit(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (sort_logits[i] != sort_logits[j]) return sort_logits[i] > sort_logits[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}
static const double *sort_distance;
static const uint32_t *sort_ids;
static int by_distance(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (sort_distance[i] != sort_distance[j]) return sort_distance[i] < sort_distance[j] ? -1 : 1;
    return sort_ids[i] < sort_ids[j] ? -1 : sort_ids[i] > sort_ids[j];
}
static void plain_weights(plain *p) { plain_vec->exp_weights(p->w, p->l, p->l[0], p->m); }
static uint64_t plain_total(const plain *p) {
    uint64_t sum = 0;
    uint32_t i;
    for (i = 0; i < p->m; i++) sum += p->w[i];
    return sum;
}
static void plain_typical(plain *p, float share) {
    static double distance[PLAIN_MOST];
    static uint32_t order[PLAIN_MOST];
    static unsigned char keep[PLAIN_MOST];
    uint64_t total, sum = 0, goal;
    double h = 0;
    uint32_t i, k;
    plain_weights(p);
    total = plain_total(p);
    goal = (uint64_t)((double)share * (double)total);
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
        sum += p->w[order[i]];
        if (sum >= goal && sum) break;                                // a goal that rounds to 0 wants something all the same
    }
    for (i = 0, k = 0; i < p->m; i++)
        if (keep[i]) { p->ids[k] = p->ids[i]; p->l[k++] = p->l[i]; }
    p->m = k;
}
static void plain_top_p(plain *p, float share) {
    uint64_t sum = 0, goal;
    uint32_t i;
    plain_weights(p);
    goal = (uint64_t)((double)share * (double)plain_total(p));
    for (i = 0; i < p->m; i++) {
        sum += p->w[i];
        if (sum >= goal) { p->m = i + 1; return; }
    }
}
static void plain_min_p(plain *p, float min_p) {
    uint64_t least = min_p > 1000.0f ? (uint64_t)1000 << 32 : (uint64_t)((double)min_p * 4294967296.0);
    uint32_t i, k = 0;
    plain_weights(p);
    for (i = 0; i < p->m; i++)
        if (p->w[i] >= least) k++;
    p->m = k ? k : 1;
}
// Survivors with their final weights.
static void plain_cut(plain *p, const llm_sampling *c, const float *l, uint32_t n) {
    uint32_t i;
    for (i = 0; i < n; i++) p->ids[i] = i;
    sort_logits = l;
    qsort(p->ids, n, sizeof *p->ids, by_logit);
    for (i = 0; i < n; i++) p->l[i] = l[p->ids[i]];
    p->m = n;
    if (c->top_k && c->top_k < n) p->m = c->top_k;
    if (c->typical_p > 0 && c->typical_p < 1) plain_typical(p, c->typical_p);
    if (c->top_p > 0 && c->top_p < 1) plain_top_p(p, c->top_p);
    if (c->min_p > 0) plain_min_p(p, c->min_p);
    for (i = 0; i < p->m; i++) p->l[i] = p->l[i] / c->temperature;
    plain_weights(p);
}
static llm_token plain_draw(const plain *p, uint64_t random) {
    uint64_t total = plain_total(p), sum = 0, high = 0, u;
    int bit;
    uint32_t i;
    for (bit = 0; bit < 64; bit++) {                                  // high 64 bits of random * total, one bit of random at a time
        uint64_t add = random >> bit & 1 ? total : 0, s = high + add;
        high = s >> 1 | (uint64_t)(s < add) << 63;
    }
    u = high;
    for (i = 0; i < p->m; i++) {
        sum += p->w[i];
        if (sum > u) return (llm_token)p->ids[i];
    }
    return -2;
}

#endif
