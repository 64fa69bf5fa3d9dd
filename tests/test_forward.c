// test_forward.c - logits against references: small models of every architecture and stored type, computed by another engine,
// and long inputs against a forward pass in binary64 written here.
#define _FILE_OFFSET_BITS 64         // the fixtures' folder may have inode numbers of more than 32, and readdir gives up at them
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include <dirent.h>

static const char *const test_archs[] = { "llama", "qwen2", "qwen3", "qwen3moe", "gemma", "gemma2", "gemma3", "phi3" };

static int supported_arch(const char *arch) {
    size_t i;
    for (i = 0; i < sizeof test_archs / sizeof test_archs[0]; i++)
        if (strcmp(arch, test_archs[i]) == 0) return 1;
    return 0;
}

#define KV_GATE 1e-3
enum { REFERENCE_CTX = 512 };         // in which the references were made: phi3's long factors hold from 257 on

// Logits of all tokens at once. NULL, with the reason printed, when anything fails.
static float *evaluate_on(llm_isa isa, const char *path, const golden *g, llm_kv_type kv, uint32_t n_ctx) {
    llm_error e;
    llm_ctx_desc d;
    llm_model_desc md;
    llm_model *model;
    llm_ctx *ctx;
    float *logits = NULL;
    llm_info info;
    memset(&d, 0, sizeof d);
    memset(&md, 0, sizeof md);
    memset(&info, 0, sizeof info);
    md.isa = isa;
    model = llm_load(path, &md, &e);
    d.kv_type = kv;
    d.n_ctx = n_ctx;
    ctx = llm_open(model, &d, &e);
    if (!ctx) printf("%s: %s\n", path, e.text);
    if (ctx) {
        llm_model_info(model, &info);
        CHECK_EQ(info.n_vocab, g->n_vocab);
    }
    if (ctx && info.n_vocab == g->n_vocab) {
        logits = (float *)malloc(g->n_tok * g->n_vocab * sizeof(float));
        if (logits && llm_eval_all(ctx, g->tokens, g->n_tok, logits) != LLM_OK) {
            printf("%s: %s\n", path, llm_last_error(ctx)->text);
            free(logits);
            logits = NULL;
        }
    }
    if (logits) {
        const float *last = llm_logits(ctx);
        CHECK_EQ(llm_past(ctx), g->n_tok);
        CHECK(last && memcmp(last, logits + (g->n_tok - 1) * g->n_vocab, g->n_vocab * sizeof(float)) == 0);
    }
    llm_close(ctx);
    llm_unload(model);
    return logits;
}

static float *evaluate(const char *path, const golden *g, llm_kv_type kv, uint32_t n_ctx) {
    return evaluate_on(LLM_ISA_AUTO, path, g, kv, n_ctx);
}

// NMSE of one model against its golden, -1 when it could not be computed (and counted as a failure).
static double distance(const char *model, const char *logits, llm_kv_type kv) {
    golden g;
    float *ours;
    double nmse = -1;
    if (!CHECK(golden_read(&g, logits))) { printf("  %s\n", logits); return -1; }
    ours = evaluate(model, &g, kv, REFERENCE_CTX);
    if (CHECK(ours != NULL)) nmse = golden_nmse(ours, g.logits, g.n_tok * g.n_vocab);
    free(ours);
    golden_free(&g);
    return nmse;
}

// The gate for keys and values in 8 bits: teacher-forced, token by token of the golden, KL of the distribution from that with F16, mean
// over positions, on scalar kernels and on those in use. Weights here are random: logits of unit size, no certainty to lose.
static void kv_gate(const char *model, const char *name, const golden *g) {
    float *f16 = evaluate(model, g, LLM_KV_F16, REFERENCE_CTX), *f32 = evaluate(model, g, LLM_KV_F32, REFERENCE_CTX);
    float *scalar = evaluate_on(LLM_ISA_SCALAR, model, g, LLM_KV_Q8_0, REFERENCE_CTX), *fast = evaluate(model, g, LLM_KV_Q8_0, REFERENCE_CTX);
    double kl = 0, fast_kl = 0, floats = 0, worst = 0;
    size_t i;
    if (CHECK(f16 && f32 && scalar && fast)) {
        for (i = 0; i < g->n_tok; i++) {
            const size_t row = i * g->n_vocab;
            double x = golden_kl(f16 + row, scalar + row, g->n_vocab);
            kl += x;
            if (x > worst) worst = x;
            fast_kl += golden_kl(f16 + row, fast + row, g->n_vocab);
            floats += golden_kl(f16 + row, f32 + row, g->n_vocab);
        }
        kl /= (double)g->n_tok; fast_kl /= (double)g->n_tok; floats /= (double)g->n_tok;
        printf("  %-22s KL of Q8_0 KV %.2e, worst position %.2e (F32: %.1e)\n", name, kl, worst, floats);
        CHECK(kl <= KV_GATE && fast_kl <= KV_GATE && worst <= 10 * KV_GATE);
        CHECK(kl > floats);                                         // it was in use
    }
    free(f16); free(f32); free(scalar); free(fast);
}

// A layer with a large bias in its keys keeps them in F16, whatever the rest does: else the bias takes the 8 bits of its neighbours.
static double rough_kl(const unsigned char *file, size_t n, const golden *g, int keep, uint64_t *kv_bytes) {
    float *logits[2];
    double kl = -1;
    size_t i;
    int k;
    for (k = 0; k < 2; k++) {
        llm_ctx_desc d;
        llm_stats_info s;
        llm_error e;
        llm_model *m = llm_load_memory(file, n, NULL, &e);
        llm_ctx *c;
        memset(&d, 0, sizeof d);
        memset(&s, 0, sizeof s);
        d.kv_type = k ? LLM_KV_Q8_0 : LLM_KV_F16;
        for (i = 0; m && !keep && i < m->net.n_layer; i++) m->net.layers[i].rough_keys = false;
        c = llm_open(m, &d, &e);
        logits[k] = (float *)malloc(g->n_tok * g->n_vocab * sizeof(float));
        CHECK(c && logits[k] && llm_eval_all(c, g->tokens, g->n_tok, logits[k]) == LLM_OK);
        llm_stats(c, &s);
        *kv_bytes = s.kv_bytes;
        llm_close(c);
        llm_unload(m);
    }
    for (kl = 0, i = 0; i < g->n_tok; i++) kl += golden_kl(logits[0] + i * g->n_vocab, logits[1] + i * g->n_vocab, g->n_vocab);
    free(logits[0]);
    free(logits[1]);
    return kl / (double)g->n_tok;
}
static void rough_keys(void) {
    golden g;
    size_t n, at;
    unsigned char *file = test_read(test_data("llama-dense.gguf"), &n);
    llm_model *m = llm_load_memory(file, n, NULL, NULL);
    const llm__gguf_tensor *t = m ? llm__gguf_tensor_find(&m->gguf, llm__str_of("blk.1.attn_k.bias")) : NULL;
    const uint8_t large[4] = { 0x00, 0x00, 0x7a, 0x44 }, small[4] = { 0x00, 0x00, 0x40, 0x41 };      // 1000 and 12, as a file has them
    uint64_t smooth_bytes, rough_bytes, bytes;
    double kept, forced;
    SECTION("keys with large biases");
    if (!CHECK(t && t->n_bytes == 16 * 4) || !CHECK(golden_read(&g, test_data("llama-dense.logits")))) { llm_unload(m); free(file); return; }
    at = (size_t)(t->data - file) + 15 * 4;
    llm_unload(m);
    memcpy(file + at, small, 4);
    CHECK(rough_kl(file, n, &g, 1, &smooth_bytes) <= KV_GATE);
    memcpy(file + at, large, 4);
    kept = rough_kl(file, n, &g, 1, &rough_bytes);
    forced = rough_kl(file, n, &g, 0, &bytes);
    printf("  a bias of 1000 in one key: KL %.2e, with its keys in 8 bits %.2e\n", kept, forced);
    CHECK(kept <= KV_GATE && forced > 5 * KV_GATE);
    CHECK_EQ(bytes, smooth_bytes);
    CHECK_EQ(smooth_bytes, 2 * 2 * 2 * 64 * 34);                    // layers, heads, K and V: each head of 8 takes a block of 32
    CHECK_EQ(rough_bytes, smooth_bytes - 2 * 64 * (34 - 8 * 2));    // the keys of one layer in F16
    free(file);
    golden_free(&g);
}

static void one_arch(const char *folder, const char *name) {
    char model[TEST_PATH], logits[TEST_PATH];
    double f32, f16;
    golden g;
    if (strlen(folder) + strlen(name) + 10 > TEST_PATH) return;
    sprintf(model, "%s/%s.gguf", folder, name);
    sprintf(logits, "%s/%s.logits", folder, name);
    f32 = distance(model, logits, LLM_KV_F32);
    f16 = distance(model, logits, LLM_KV_F16);
    printf("  %-22s NMSE %.2e   with F16 KV %.2e\n", name, f32, f16);
    CHECK(f32 >= 0 && f32 <= 1e-9);
    // K and V rounded to 11 bits: an error of about 2^-24 of the variance each, of which attention passes on a part. Exactly the
    // F32 distance would mean that the KV type was not used.
    CHECK(f16 >= 0 && f16 <= 1e-5 && f16 > f32);
    if (CHECK(golden_read(&g, logits))) {
        kv_gate(model, name, &g);
        golden_free(&g);
    }
}

// A sound file of an architecture that is not there yet: its name in the sentence, and no talk of damage.
static void refused_arch(const char *path, const char *arch) {
    llm_error e;
    llm_model *model = llm_load(path, NULL, &e);
    CHECK(model == NULL);
    CHECK_EQ(e.code, LLM_UNSUPPORTED);
    if (!CHECK(strstr(e.text, arch) != NULL)) printf("  %s: \"%s\"\n", path, e.text);
    CHECK(!strstr(e.text, "damage") && !strstr(e.text, "truncat") && !strstr(e.text, "download"));
    llm_unload(model);
}

static void data_goldens(void) {
    static const char *const names[] = { "llama-dense", "llama-scale", "qwen3moe-moe", "gemma2-dense", "gemma3-dense", "phi3-longrope-long" };
    size_t i;
    SECTION("architectures in tests/data");
    for (i = 0; i < sizeof names / sizeof names[0]; i++) one_arch("tests/data", names[i]);
}

static void arch_goldens(void) {
    const char *any = test_fixture("archs/llama-dense.gguf");
    char folder[TEST_PATH], name[256], arch[64];
    struct dirent *entry;
    unsigned n_supported = 0, n_refused = 0;
    DIR *dir;
    SECTION("architectures in the fixtures");
    if (!any) { test_skip("archs: no fixtures"); return; }
    strcpy(folder, any);
    *strrchr(folder, '/') = 0;
    dir = opendir(folder);
    if (!CHECK(dir != NULL)) return;
    while ((entry = readdir(dir)) != NULL) {
        size_t n = strlen(entry->d_name), bytes;
        unsigned char *file;
        char path[TEST_PATH + 256];
        if (n < 6 || n >= sizeof name || strcmp(entry->d_name + n - 5, ".gguf") != 0) continue;
        sprintf(path, "%s/%s", folder, entry->d_name);
        memcpy(name, entry->d_name, n - 5);
        name[n - 5] = 0;
        file = test_read(path, &bytes);
        if (!CHECK(file != NULL)) continue;
        golden_arch(file, bytes, arch, sizeof arch);
        free(file);
        CHECK(arch[0] != 0);
        if (supported_arch(arch)) { one_arch(folder, name); n_supported++; }
        else { refused_arch(path, arch); n_refused++; }
    }
    closedir(dir);
    printf("  %u models evaluated, %u refused by name\n", n_supported, n_refused);
    CHECK(n_supported >= 14);
    CHECK(n_refused >= 10);
}

static void quant_goldens(void) {
    static const char *const integer[] = { "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K",
                                           "IQ4_NL", "IQ4_XS", "MXFP4_MOE", "TQ2_0" };
    static const char *const floats[] = { "F16", "BF16" };
    enum { N_INTEGER = sizeof integer / sizeof integer[0] };
    size_t i, n = 0;
    double log_sum = 0;
    SECTION("stored types");
    if (!test_fixture("quants/llama-Q8_0.gguf")) { test_skip("quants: no fixtures"); return; }
    for (i = 0; i < N_INTEGER + 2; i++) {
        const char *type = i < N_INTEGER ? integer[i] : floats[i - N_INTEGER];
        char model[64], logits[64];
        double nmse;
        sprintf(model, "quants/llama-%s.gguf", type);
        sprintf(logits, "quants/llama-%s.exact.logits", type);
        if (!CHECK(test_fixture(model) && test_fixture(logits))) { printf("  %s\n", model); continue; }
        nmse = distance(test_fixture(model), test_fixture(logits), LLM_KV_F32);
        printf("  %-9s NMSE %.2e\n", type, nmse);
        CHECK(nmse >= 0);
        if (i < N_INTEGER) {
            // 2.6e-4 in two digits: int8 activations alone, in binary64 with everything else exact, give 2.612e-4 for Q2_K.
            CHECK(nmse < 2.65e-4 && nmse > 0);
            if (nmse > 0) { log_sum += golden_log(nmse); n++; }
        } else {
            CHECK(nmse <= 1e-9);
        }
    }
    if (CHECK_EQ(n, N_INTEGER)) {
        double mean = golden_exp(log_sum / (double)n);
        printf("  geometric mean of the integer types %.3e\n", mean);
        CHECK(mean <= 2.2e-4);
    }
}

// The comparison itself must be able to fail: one wrong token early in the input moves everything after it.
static void goldens_can_fail(void) {
    golden g;
    float *ours;
    SECTION("a wrong input is seen");
    if (!CHECK(golden_read(&g, test_data("llama-dense.logits")))) return;
    g.tokens[1] = (g.tokens[1] + 1) % (llm_token)g.n_vocab;
    ours = evaluate(test_data("llama-dense.gguf"), &g, LLM_KV_F32, REFERENCE_CTX);
    if (CHECK(ours != NULL)) {
        CHECK(golden_nmse(ours, g.logits, g.n_vocab) <= 1e-9);      // the first position has not seen it
        CHECK(golden_nmse(ours + 2 * g.n_vocab, g.logits + 2 * g.n_vocab, (g.n_tok - 2) * g.n_vocab) > 1e-6);
    }
    free(ours);
    golden_free(&g);
}

//------------------------------------------------------------------------------------------------------------------------------
// Long inputs. The fixtures end at 64 tokens; pages, spans of attention and windows only begin there. So: the same models in binary64,
// written as plainly as possible, without any of the library's arithmetic (only its reader finds the tensors).

typedef struct plain { llm__gguf file; uint32_t n_embd, n_ff, n_head, n_head_kv, dim, n_layer, n_vocab, window; int gemma3; double eps, base, base_window; } plain;

static const float *weights(const plain *p, int layer, const char *suffix) {
    char name[96];
    const llm__gguf_tensor *t;
    if (layer < 0) sprintf(name, "%s", suffix);
    else sprintf(name, "blk.%d.%s", layer, suffix);
    t = llm__gguf_tensor_find(&p->file, llm__str_of(name));
    return t ? (const float *)(const void *)t->data : NULL;       // F32, aligned to 32
}
static void plain_sin_cos(double x, double *s, double *c) {
    const double two_pi = 6.283185307179586477;
    double r = x - two_pi * (double)(long)(x / two_pi), term = 1;
    int i;
    *c = 1;
    *s = 0;
    for (i = 1; i < 60; i++) {                                    // |r| < 2 pi
        term *= r / i;
        if (i & 1) *s += i & 2 ? -term : term;
        else *c += i & 2 ? -term : term;
    }
}
static void plain_norm(double *y, const double *x, const float *w, uint32_t n, double eps) {
    double sum = 0;
    uint32_t i;
    for (i = 0; i < n; i++) sum += x[i] * x[i];
    sum = golden_exp(-0.5 * golden_log(sum / n + eps));
    for (i = 0; i < n; i++) y[i] = x[i] * sum * (double)w[i];
}
static void plain_matmul(double *y, const float *w, const float *bias, const double *x, uint32_t rows, uint32_t cols) {
    uint32_t r, i;
    for (r = 0; r < rows; r++) {
        double sum = bias ? (double)bias[r] : 0;
        for (i = 0; i < cols; i++) sum += (double)w[(size_t)r * cols + i] * x[i];
        y[r] = sum;
    }
}
static void plain_rope(double *x, uint32_t dim, const double *turns, size_t at, int neighbours) {
    uint32_t i, half = dim / 2;
    for (i = 0; i < half; i++) {
        double s, c, *a = neighbours ? x + 2 * i : x + i, *b = neighbours ? x + 2 * i + 1 : x + i + half, a0 = *a;
        plain_sin_cos((double)at * turns[i], &s, &c);
        *a = a0 * c - *b * s;
        *b = a0 * s + *b * c;
    }
}
static double plain_act(double x, int gelu) {
    double t;
    if (!gelu) return x / (1 + golden_exp(-x));
    t = 0.7978845608028653559 * (x + 0.044715 * x * x * x);
    return 0.5 * x * (2 - 2 / (golden_exp(2 * t) + 1));
}

// One layer over all tokens: x [n, n_embd] in place.
static void plain_layer(const plain *p, int layer, double *x, size_t n) {
    const uint32_t nq = p->n_head * p->dim, nk = p->n_head_kv * p->dim;
    const int windowed = p->gemma3 && layer % 2 == 0;
    const float *freqs = weights(p, -1, "rope_freqs.weight"), *post;
    double *q = (double *)malloc(n * nq * sizeof(double)), *k = (double *)malloc(n * nk * sizeof(double)), *v = (double *)malloc(n * nk * sizeof(double));
    double *score = (double *)malloc(n * sizeof(double)), h[512], o[512], y[512], up[512], turns[64];
    size_t t, j;
    uint32_t head, i;
    for (i = 0; i < p->dim / 2; i++) {
        turns[i] = golden_exp(-2.0 * i / p->dim * golden_log(windowed ? p->base_window : p->base));
        if (freqs) turns[i] /= (double)freqs[i];
    }
    for (t = 0; t < n; t++) {
        plain_norm(h, x + t * p->n_embd, weights(p, layer, "attn_norm.weight"), p->n_embd, p->eps);
        plain_matmul(q + t * nq, weights(p, layer, "attn_q.weight"), weights(p, layer, "attn_q.bias"), h, nq, p->n_embd);
        plain_matmul(k + t * nk, weights(p, layer, "attn_k.weight"), weights(p, layer, "attn_k.bias"), h, nk, p->n_embd);
        plain_matmul(v + t * nk, weights(p, layer, "attn_v.weight"), weights(p, layer, "attn_v.bias"), h, nk, p->n_embd);
        for (head = 0; head < p->n_head + p->n_head_kv; head++) {
            double *part = head < p->n_head ? q + t * nq + head * p->dim : k + t * nk + (head - p->n_head) * p->dim;
            const float *w = weights(p, layer, head < p->n_head ? "attn_q_norm.weight" : "attn_k_norm.weight");
            if (w) plain_norm(part, part, w, p->dim, p->eps);
            plain_rope(part, p->dim, turns, t, !p->gemma3);
        }
    }
    for (t = 0; t < n; t++) {
        double *row = x + t * p->n_embd;
        for (head = 0; head < p->n_head; head++) {
            const double *qh = q + t * nq + head * p->dim;
            const size_t kv = (size_t)(head / (p->n_head / p->n_head_kv)) * p->dim, first = windowed && t + 1 > p->window ? t + 1 - p->window : 0;
            double max = -1e300, sum = 0;
            for (j = first; j <= t; j++) {
                double s = 0;
                for (i = 0; i < p->dim; i++) s += qh[i] * k[j * nk + kv + i];
                score[j] = s * golden_exp(-0.5 * golden_log((double)p->dim));
                if (score[j] > max) max = score[j];
            }
            for (i = 0; i < p->dim; i++) o[head * p->dim + i] = 0;
            for (j = first; j <= t; j++) {
                double e = score[j] - max > -600 ? golden_exp(score[j] - max) : 0;
                sum += e;
                for (i = 0; i < p->dim; i++) o[head * p->dim + i] += e * v[j * nk + kv + i];
            }
            for (i = 0; i < p->dim; i++) o[head * p->dim + i] /= sum;
        }
        plain_matmul(y, weights(p, layer, "attn_output.weight"), weights(p, layer, "attn_output.bias"), o, p->n_embd, nq);
        post = weights(p, layer, "post_attention_norm.weight");
        if (post) plain_norm(y, y, post, p->n_embd, p->eps);
        for (i = 0; i < p->n_embd; i++) row[i] += y[i];
        plain_norm(h, row, weights(p, layer, "ffn_norm.weight"), p->n_embd, p->eps);
        plain_matmul(y, weights(p, layer, "ffn_gate.weight"), weights(p, layer, "ffn_gate.bias"), h, p->n_ff, p->n_embd);
        plain_matmul(up, weights(p, layer, "ffn_up.weight"), weights(p, layer, "ffn_up.bias"), h, p->n_ff, p->n_embd);
        for (i = 0; i < p->n_ff; i++) up[i] *= plain_act(y[i], p->gemma3);
        plain_matmul(y, weights(p, layer, "ffn_down.weight"), weights(p, layer, "ffn_down.bias"), up, p->n_embd, p->n_ff);
        post = weights(p, layer, "post_ffw_norm.weight");
        if (post) plain_norm(y, y, post, p->n_embd, p->eps);
        for (i = 0; i < p->n_embd; i++) row[i] += y[i];
    }
    free(q); free(k); free(v); free(score);
}

// Logits of all n tokens as floats; the caller frees.
static float *plain_logits(const plain *p, const llm_token *tokens, size_t n) {
    const float *embedding = weights(p, -1, "token_embd.weight"), *output = weights(p, -1, "output.weight");
    double *x = (double *)malloc(n * p->n_embd * sizeof(double)), h[512], y[512];
    float *logits = (float *)malloc(n * p->n_vocab * sizeof(float));
    size_t t;
    uint32_t i;
    int layer;
    for (t = 0; t < n; t++)
        for (i = 0; i < p->n_embd; i++)
            x[t * p->n_embd + i] = (double)embedding[(size_t)tokens[t] * p->n_embd + i] * (p->gemma3 ? golden_exp(0.5 * golden_log(p->n_embd)) : 1);
    for (layer = 0; layer < (int)p->n_layer; layer++) plain_layer(p, layer, x, n);
    for (t = 0; t < n; t++) {
        plain_norm(h, x + t * p->n_embd, weights(p, -1, "output_norm.weight"), p->n_embd, p->eps);
        plain_matmul(y, output ? output : embedding, NULL, h, p->n_vocab, p->n_embd);
        for (i = 0; i < p->n_vocab; i++) logits[t * p->n_vocab + i] = (float)y[i];
    }
    free(x);
    return logits;
}

// The floats of a file become this machine's.
static void in_host_order(const llm__gguf_tensor *t) {
    uint8_t *bytes = (uint8_t *)(uintptr_t)t->data;
    uint64_t i;
    for (i = 0; i < t->n_weights; i++) {
        const float f = llm__bits_f32(llm__le32(bytes + 4 * i));
        memcpy(bytes + 4 * i, &f, 4);
    }
}
static int plain_open(plain *p, const char *path, const char *arch) {
    static llm_allocator none;
    static llm__heap heap;
    llm__gguf_options o;
    llm_error e;
    char key[96];
    float f = 0;
    struct { const char *name; uint32_t *to; } counts[7];
    uint32_t k;
    int i;
    memset(p, 0, sizeof *p);
    memset(&o, 0, sizeof o);
    heap.a = none;
    o.heap = &heap;
    o.mapping = LLM_READ;                                         // into memory that can be written
    if (llm__gguf_open_path(&p->file, path, &o, &e) != LLM_OK) { printf("  %s\n", e.text); return 0; }
    for (k = 0; k < p->file.n_tensors; k++) in_host_order(&p->file.tensors[k]);
    counts[0].name = "embedding_length";         counts[0].to = &p->n_embd;
    counts[1].name = "feed_forward_length";      counts[1].to = &p->n_ff;
    counts[2].name = "attention.head_count";     counts[2].to = &p->n_head;
    counts[3].name = "attention.head_count_kv";  counts[3].to = &p->n_head_kv;
    counts[4].name = "attention.key_length";     counts[4].to = &p->dim;
    counts[5].name = "block_count";              counts[5].to = &p->n_layer;
    counts[6].name = "attention.sliding_window"; counts[6].to = &p->window;
    for (i = 0; i < 7; i++) { sprintf(key, "%s.%s", arch, counts[i].name); llm__gguf_u32(&p->file, key, counts[i].to, NULL); }
    sprintf(key, "%s.attention.layer_norm_rms_epsilon", arch); llm__gguf_f32(&p->file, key, &f, NULL); p->eps = (double)f;
    sprintf(key, "%s.rope.freq_base", arch);     llm__gguf_f32(&p->file, key, &f, NULL); p->base = (double)f;
    sprintf(key, "%s.rope.freq_base_swa", arch); llm__gguf_f32(&p->file, key, &f, NULL); p->base_window = (double)f;
    p->gemma3 = strcmp(arch, "gemma3") == 0;
    p->n_vocab = 128;
    return p->n_embd <= 512 && p->n_ff <= 512 && p->n_head * p->dim <= 512;
}

// The plain model itself is checked against the golden before it judges anything.
static void long_input(const char *name, const char *arch, size_t n, double bound) {
    char model[64], logits[64];
    golden g, lengthy;
    plain p;
    float *want, *got;
    size_t i, half = n / 2;
    sprintf(model, "%s.gguf", name);
    sprintf(logits, "%s.logits", name);
    if (!CHECK(golden_read(&g, test_data(logits)) && plain_open(&p, test_data(model), arch))) return;
    want = plain_logits(&p, g.tokens, g.n_tok);
    CHECK(golden_nmse(want, g.logits, g.n_tok * g.n_vocab) <= 1e-9);
    free(want);
    lengthy.n_tok = n;
    lengthy.n_vocab = g.n_vocab;
    lengthy.logits = NULL;
    lengthy.tokens = (llm_token *)malloc(n * sizeof(llm_token));
    for (i = 0; i < n; i++) lengthy.tokens[i] = (llm_token)((i * i / 3 + 11 * i + 5) % g.n_vocab);
    want = plain_logits(&p, lengthy.tokens, n);
    got = evaluate(test_data(model), &lengthy, LLM_KV_F32, (uint32_t)n);
    if (CHECK(got != NULL)) {
        double all = golden_nmse(got, want, n * g.n_vocab), late = golden_nmse(got + half * g.n_vocab, want + half * g.n_vocab, (n - half) * g.n_vocab);
        printf("  %-14s %u tokens against binary64: NMSE %.2e, second half %.2e\n", name, (unsigned)n, all, late);
        CHECK(all <= bound && late <= bound);
    }
    free(got);
    free(want);
    free(lengthy.tokens);
    golden_free(&g);
    llm__gguf_close(&p.file);
}
static void long_inputs(void) {
    SECTION("long inputs");
    long_input("llama-dense", "llama", 1300, 1e-9);
    long_input("gemma3-dense", "gemma3", 1300, 1e-9);
}

//------------------------------------------------------------------------------------------------------------------------------
// FR-013: real files are mixtures, and their names promise other ones.

// A model written anew: its directory in g, header and keys as they are in out, then an entry for each tensor.
static bool rewrite(const golden_file *f, llm__gguf *g, golden_file *out) {
    static const llm__heap heap = LLM__ZERO;
    llm__gguf_options o = LLM__ZERO;
    llm_error e;
    memset(out, 0, sizeof *out);
    o.heap = &heap;
    if (!CHECK(llm__gguf_open_memory(g, f->p, f->n, &o, &e) == LLM_OK)) return false;
    golden_put(out, f->p, (size_t)((const unsigned char *)g->tensors[0].name.p - 8 - f->p));
    return true;
}
static void put_entry(golden_file *out, const char *name, uint32_t n_dims, const uint64_t *dims, uint32_t type, uint64_t offset) {
    uint32_t d;
    golden_text(out, name);
    golden_u32(out, n_dims);
    for (d = 0; d < n_dims; d++) golden_u64(out, dims[d]);
    golden_u32(out, type);
    golden_u64(out, offset);
}
static void put_aligned(golden_file *out) { while (out->n % 32) golden_put(out, "", 1); }
// The data behind the entries, and the header's count of them.
static void put_data(golden_file *out, golden_file *data, uint32_t n) {
    out->p[8] = (unsigned char)n;
    out->p[9] = (unsigned char)(n >> 8);
    put_aligned(out);
    golden_put(out, data->p, data->n);
    free(data->p);
}

// The same model with all tensors as floats.
static golden_file in_floats(const golden_file *f) {
    llm__gguf g;
    golden_file out;
    uint64_t offset = 0, j;
    uint32_t i;
    if (!rewrite(f, &g, &out)) return out;
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i];
        char name[80];
        llm__format(name, sizeof name, "%v", &t->name);
        put_entry(&out, name, t->n_dims, t->dims, 0, offset);
        offset += (t->n_weights * 4 + 31) & ~(uint64_t)31;
    }
    put_aligned(&out);
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i];
        float *w = (float *)malloc((size_t)t->n_weights * 4);
        CHECK(w && llm_dequantize(t->gguf_type, t->data, w, (size_t)t->n_weights) == LLM_OK);
        for (j = 0; w && j < t->n_weights; j++) golden_f32(&out, w[j]);
        put_aligned(&out);
        free(w);
    }
    llm__gguf_close(&g);
    return out;
}
// What llm_info says of the types is what lies in the file: 16 matrices, 5 vectors of 256 floats.
static void histogram(const char *path, const golden_file *f, const golden_shape *s, const golden_type *const *types) {
    static const uint32_t rows[7] = { 256, 128, 128, 256, 256, 256, 256 };          // of q, k, v, o, gate, up, down
    llm_error e;
    llm_model *m = llm_load(path, NULL, &e);
    llm_info info;
    uint64_t sum = 0, weights = 0;
    uint32_t i, k, n;
    memset(&info, 0, sizeof info);
    llm_model_info(m, &info);
    for (i = 0; i < info.n_types; i++) {
        uint64_t bytes = info.types[i].gguf_type == 0 ? 5 * 256 * 4 : 0;
        for (k = 0; k < 16; k++) {
            n = k < 14 ? rows[k % 7] : s->n_vocab;
            if (types[k]->id == info.types[i].gguf_type) bytes += (uint64_t)n * 256 / types[k]->weights * types[k]->bytes;
        }
        CHECK_EQ(info.types[i].n_bytes, bytes);
        sum += info.types[i].n_bytes;
        weights += info.types[i].n_weights;
    }
    CHECK(sum == info.weight_bytes && sum < f->n && sum > f->n - 4096 && weights == info.n_params);
    llm_unload(m);
}
static void mixture(const char *name, const char *const *names, const char *promised) {
    static const golden_shape shape = { 256, 256, 2, 8, 4, 128, 256 };
    const golden_type *types[16];
    char path[TEST_PATH], floats[TEST_PATH];
    golden_file f, twin;
    golden g = LLM__ZERO;
    plain p;
    float *got, *want;
    llm_token tokens[48];
    int i, k;
    for (i = 0; i < 16; i++)
        for (k = 0, types[i] = NULL; k < GOLDEN_N_TYPES; k++)
            if (strcmp(golden_types[k].name, names[i]) == 0) types[i] = &golden_types[k];
    strcpy(path, test_scratch(name));
    strcpy(floats, test_scratch("mixture-floats.gguf"));
    f = golden_llama(&shape, types, 16, 13);
    twin = in_floats(&f);
    if (!CHECK(test_write(path, f.p, f.n) && test_write(floats, twin.p, twin.n) && plain_open(&p, floats, "llama"))) return;
    p.dim = 32; p.base = 10000.0;
    g.n_vocab = p.n_vocab = 128;
    g.n_tok = 48;
    g.tokens = tokens;
    for (i = 0; i < 48; i++) tokens[i] = (llm_token)((i * i + 5 * i + 3) % 128);
    want = plain_logits(&p, tokens, 48);
    got = evaluate(path, &g, LLM_KV_F32, 256);
    if (CHECK(got != NULL)) {
        const double nmse = golden_nmse(got, want, 48 * 128);
        printf("  %-24s embedding %s: NMSE %.2e from binary64\n", name, types[14]->name, nmse);
        CHECK(nmse > 0 && nmse < 1e-3);                             // activations in 8 bits, under random weights; a wrong type gives 1
    }
    histogram(path, &f, &shape, types);
    CHECK_TEXT(llm__name_type_of(path) ? llm__name_type_of(path)->name : "none", promised);
    free(got); free(want); free(f.p); free(twin.p);
    llm__gguf_close(&p.file);
}
static void mixtures(void) {
#define SEVEN(t) t, t, t, t, t, t, t
    static const char *const embedding_6[16] = { SEVEN("Q4_0"), SEVEN("Q4_0"), "Q6_K", "Q4_0" };
    static const char *const embedding_8[16] = { SEVEN("Q4_0"), SEVEN("Q4_0"), "Q8_0", "Q8_0" };
    static const char *const no_q2[16] = { "Q3_K", "Q3_K", "Q4_K", "Q3_K", "IQ4_NL", "Q3_K", "Q5_K", SEVEN("Q3_K"), "Q6_K", "Q6_K" };
    static const char *const no_k_m[16] = { "Q5_0", "Q5_0", "Q8_0", "Q5_0", "Q4_K", "Q5_0", "Q8_0", SEVEN("Q5_0"), "Q8_0", "Q8_0" };
    SECTION("FR-013: names and mixtures");
    mixture("mixture-Q4_0.gguf", embedding_6, "Q4_0");
    mixture("mixture-Q4_0.gguf", embedding_8, "Q4_0");
    mixture("mixture-Q2_K.gguf", no_q2, "Q2_K");
    mixture("mixture-Q4_K_M.gguf", no_k_m, "Q4_K_M");
}

//------------------------------------------------------------------------------------------------------------------------------
// Queries, keys and values in one tensor, their rows one above the other, as Phi-3's files have them.

// The q of a layer's three, weights or biases, with k and v that follow it; NULL: t is no such tensor. *drop: it is the k or the v of one.
static int three_of(const llm__gguf *g, const llm__gguf_tensor *t, const llm__gguf_tensor **three, bool *drop) {
    char name[64], *at;
    int i;
    llm__format(name, sizeof name, "%v", &t->name);
    at = strstr(name, "attn_");
    *drop = at && (at[5] == 'k' || at[5] == 'v') && at[6] == '.';
    if (!at || at[5] != 'q' || at[6] != '.') return 0;
    for (i = 0; i < 3; i++) {
        at[5] = "qkv"[i];
        three[i] = llm__gguf_tensor_find(g, llm__str_of(name));
        if (!CHECK(three[i] != NULL)) return 0;
    }
    return 1;
}
static golden_file in_one_tensor(const golden_file *f) {
    llm__gguf g;
    golden_file out, data = { NULL, 0, 0 };
    uint32_t i, k, n = 0;
    if (!rewrite(f, &g, &out)) return out;
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i], *three[3];
        bool drop;
        const int fused = three_of(&g, t, three, &drop);
        uint64_t dims[4];
        char name[64];
        if (drop) continue;
        memcpy(dims, t->dims, sizeof dims);
        llm__format(name, sizeof name, "%v", &t->name);
        if (fused) {
            char *q = strstr(name, "attn_q.") + 6;
            memmove(q + 2, q, strlen(q) + 1);
            memcpy(q, "kv", 2);
            for (k = 1; k < 3; k++) dims[t->n_dims - 1] += three[k]->dims[t->n_dims - 1];
        }
        put_entry(&out, name, t->n_dims, dims, t->gguf_type, data.n);
        for (k = 0; k < (fused ? 3u : 1u); k++) golden_put(&data, fused ? three[k]->data : t->data, (size_t)(fused ? three[k] : t)->n_bytes);
        put_aligned(&data);
        n++;
    }
    put_data(&out, &data, n);
    llm__gguf_close(&g);
    return out;
}
// Where a number below 256 of the architecture's stands in the file.
static size_t number_at(const golden_file *f, const llm__gguf *g, const char *arch, const char *key) {
    char name[80];
    const llm__gguf_kv *kv;
    llm__format(name, sizeof name, "%s.%s", arch, key);
    kv = llm__gguf_find(g, llm__str_of(name));
    return CHECK(kv != NULL) ? (size_t)(kv->value - f->p) : 0;
}
// The dimension of heads in a tensor of attention's, -1 in all others.
static int heads_dimension(const llm__gguf_tensor *t) {
    char name[80];
    llm__format(name, sizeof name, "%v", &t->name);
    if (strstr(name, "attn_output.weight")) return 0;
    return strstr(name, "attn_q.") || strstr(name, "attn_k.") || strstr(name, "attn_v.") ? (int)t->n_dims - 1 : -1;
}
// Layers over and over, so that the model is as deep as the ones of 27 billion weights: Gemma 2 with 46 layers and Gemma 3 with 62 scale their
// scores by (n_embd / n_head)^-1/2 (query_pre_attn_scalar 144 and 168 in their configurations), all other sizes by head_dim^-1/2. Half of the
// heads are left out, or the two would be the same here.
static golden_file deepened(const golden_file *f, const char *arch, uint32_t layers) {
    llm__gguf g;
    golden_file out, data = { NULL, 0, 0 };
    uint32_t i, layer, n = 0, had;
    if (!rewrite(f, &g, &out)) return out;
    had = out.p[number_at(f, &g, arch, "block_count")];
    out.p[number_at(f, &g, arch, "block_count")] = (unsigned char)layers;
    out.p[number_at(f, &g, arch, "attention.head_count")] /= 2;
    out.p[number_at(f, &g, arch, "attention.head_count_kv")] /= 2;
    for (i = 0; i < g.n_kv; i++)                                    // which layers have a window: the architecture's own order instead
        if (llm__str_find(g.kv[i].key, "sliding_window_pattern") != LLM_FAILED) out.p[(const unsigned char *)g.kv[i].key.p - f->p] = '-';
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i];
        const bool in_layer = llm__str_starts(t->name, "blk.");
        const int heads = heads_dimension(t);
        uint64_t dims[4];
        memcpy(dims, t->dims, sizeof dims);
        if (heads >= 0) dims[heads] /= 2;
        for (layer = in_layer ? t->name.p[4] - '0' : 0; layer < (in_layer ? layers : 1); layer += had) {
            char name[80];
            const llm__str rest = in_layer ? llm__str_n(t->name.p + 5, t->name.n - 5) : t->name;
            if (in_layer) llm__format(name, sizeof name, "blk.%u%v", layer, &rest);
            else llm__format(name, sizeof name, "%v", &rest);
            put_entry(&out, name, t->n_dims, dims, t->gguf_type, data.n);
            golden_put(&data, t->data, (size_t)t->n_bytes / (heads < 0 ? 1 : 2));
            put_aligned(&data);
            n++;
        }
    }
    put_data(&out, &data, n);
    llm__gguf_close(&g);
    return out;
}
static void deep_scales(void) {
    static const struct { const char *file, *arch; uint32_t layers; bool wide; } cases[] = {
        { "gemma2-dense.gguf", "gemma2", 46, true }, { "gemma2-dense.gguf", "gemma2", 44, false },
        { "gemma3-dense.gguf", "gemma3", 62, true }, { "gemma3-dense.gguf", "gemma3", 60, false }
    };
    size_t i;
    SECTION("the scale of scores in models of 27 billion weights");
    for (i = 0; i < LLM__COUNT(cases); i++) {
        golden_file f = { NULL, 0, 0 }, deep;
        llm_error e;
        llm_model *m;
        f.p = test_read(test_data(cases[i].file), &f.n);
        if (!CHECK(f.p != NULL)) continue;
        deep = deepened(&f, cases[i].arch, cases[i].layers);
        m = llm_load_memory(deep.p, deep.n, NULL, &e);
        if (CHECK(m != NULL)) {
            const llm__net *net = &m->net;
            const double squared = 1.0 / ((double)net->score_scale * (double)net->score_scale);
            CHECK(net->n_layer == cases[i].layers && net->dim_k != net->n_embd / net->n_head);
            CHECK(golden_near(squared, cases[i].wide ? (double)(net->n_embd / net->n_head) : (double)net->dim_k, 1e-6));
        } else printf("  %s\n", e.text);
        llm_unload(m);
        free(f.p);
        free(deep.p);
    }
}
static void fused_projections(void) {
    golden_file apart, fused;
    golden g;
    const char *path = test_scratch("fused.gguf");
    float *got;
    SECTION("queries, keys and values in one tensor");
    memset(&apart, 0, sizeof apart);
    apart.p = test_read(test_data("llama-dense.gguf"), &apart.n);
    if (!CHECK(apart.p && golden_read(&g, test_data("llama-dense.logits")))) return;
    fused = in_one_tensor(&apart);
    CHECK(fused.n > 0 && test_write(path, fused.p, fused.n));
    got = evaluate(path, &g, LLM_KV_F32, 256);
    CHECK(got && golden_nmse(got, g.logits, g.n_tok * g.n_vocab) <= 1e-9);
    free(got);
    free(apart.p);
    free(fused.p);
    golden_free(&g);
    remove(path);
}

//------------------------------------------------------------------------------------------------------------------------------
// Scales of experts, one for each, as NVFP4 files have them. Twice and half are exact: a file whose weights are that much larger has the
// same logits to the bit.

static float expert_scale(char kind, uint64_t expert) { return (expert % 2 ? 2.0f : 0.5f) * (kind == 'g' ? 4.0f : kind == 'u' ? 2.0f : 1.0f); }
// The model with its experts' scales beside the weights, or in them.
static golden_file with_expert_scales(const golden_file *f, bool beside) {
    llm__gguf g;
    golden_file out, data = { NULL, 0, 0 };
    uint32_t i, n = 0;
    uint64_t j;
    if (!rewrite(f, &g, &out)) return out;
    for (i = 0; i < g.n_tensors; i++) {
        const llm__gguf_tensor *t = &g.tensors[i];
        const uint64_t each = t->n_weights / t->dims[2];
        char name[80], *kind;
        llm__format(name, sizeof name, "%v", &t->name);
        put_entry(&out, name, t->n_dims, t->dims, t->gguf_type, data.n);
        n++;
        kind = strstr(name, "_exps.weight") ? strstr(name, "ffn_") + 4 : NULL;
        for (j = 0; j < t->n_weights; j++) {
            const float w = llm__bits_f32(llm__le32(t->data + 4 * j));
            golden_f32(&data, kind && !beside ? w * expert_scale(*kind, j / each) : w);
        }
        put_aligned(&data);
        if (!kind || !beside) continue;
        strcpy(strstr(name, ".weight"), ".scale");
        put_entry(&out, name, 1, &t->dims[2], 0, data.n);
        n++;
        for (j = 0; j < t->dims[2]; j++) golden_f32(&data, expert_scale(*kind, j));
        put_aligned(&data);
    }
    put_data(&out, &data, n);
    llm__gguf_close(&g);
    return out;
}
static void expert_scales(void) {
    golden_file f = { NULL, 0, 0 };
    golden g;
    float *got[2] = { NULL, NULL };
    int beside;
    SECTION("scales of experts");
    f.p = test_read(test_data("qwen3moe-moe.gguf"), &f.n);
    if (!CHECK(f.p && golden_read(&g, test_data("qwen3moe-moe.logits")))) return;
    for (beside = 0; beside < 2; beside++) {
        const char *path = test_scratch("expert-scales.gguf");
        golden_file scaled = with_expert_scales(&f, beside);
        CHECK(scaled.n > 0 && test_write(path, scaled.p, scaled.n));
        got[beside] = evaluate(path, &g, LLM_KV_F32, 256);
        free(scaled.p);
        remove(path);
    }
    if (CHECK(got[0] && got[1])) {
        const size_t n = (size_t)g.n_tok * g.n_vocab;
        CHECK(memcmp(got[0], got[1], n * sizeof(float)) == 0);
        CHECK(golden_nmse(got[1], g.logits, n) > 1e-3);                     // and they matter
    }
    free(got[0]);
    free(got[1]);
    free(f.p);
    golden_free(&g);
}

int main(void) {
    CHECK(golden_self_test());
    data_goldens();
    goldens_can_fail();
    rough_keys();
    arch_goldens();
    quant_goldens();
    long_inputs();
    mixtures();
    fused_projections();
    expert_scales();
    deep_scales();
    return test_done();
}
