// test_real.c - three public models (tests/get_models.sh fetches them) against what the stored weights say in exact arithmetic and
// what llama.cpp makes of them: fixtures/real. Tokens must be equal, distributions at most a quarter further from the exact ones than
// llama.cpp's, and the best token must be the exact one wherever its lead is above 1.0.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"

enum { MAX_PROMPTS = 8, MAX_TOKENS = 64, N_TOP = 16, MAX_TEXT = 2048 };

typedef struct position { double lse; llm_token best, ids[N_TOP]; double logits[N_TOP]; } position;
typedef struct answer { char prompt[MAX_TEXT], text[MAX_TEXT]; llm_token tokens[MAX_TOKENS], greedy[MAX_TOKENS]; position at[MAX_TOKENS];
                        size_t n_tokens, n_positions, n_greedy; } answer;
typedef struct run { answer answers[MAX_PROMPTS]; size_t n; } run;

//------------------------------------------------------------------------------------------------------------------------------
// As much JSON as these files need. The first thing that is not as expected sets `bad`, and everything after it reads as nothing.

typedef struct json { const char *p; int bad; } json;

static char json_peek(json *j) {
    while (*j->p == ' ' || *j->p == '\n' || *j->p == '\r' || *j->p == '\t') j->p++;
    return j->bad ? 0 : *j->p;
}
static int json_take(json *j, char c) {
    if (json_peek(j) != c) return 0;
    j->p++;
    return 1;
}
static void json_need(json *j, char c) { if (!json_take(j, c)) j->bad = 1; }
// for (first = 1; json_item(j, ']', &first); ) element
static int json_item(json *j, char close, int *first) {
    if (json_take(j, close)) return 0;
    if (!*first) json_need(j, ',');
    *first = 0;
    return !j->bad;
}
static double json_number(json *j) {
    char *end;
    double v;
    json_peek(j);
    v = strtod(j->p, &end);
    if (end == j->p) j->bad = 1;
    j->p = end;
    return v;
}
static unsigned json_hex4(json *j) {
    unsigned v = 0;
    int i;
    for (i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *d;
        char c = *j->p;
        if (c >= 'A' && c <= 'F') c = (char)(c + 32);
        d = c ? strchr(digits, c) : NULL;
        if (!d) { j->bad = 1; return 0; }
        v = v * 16 + (unsigned)(d - digits);
        j->p++;
    }
    return v;
}
static size_t json_utf8(char *out, unsigned c) {
    if (c < 0x80) { out[0] = (char)c; return 1; }
    if (c < 0x800) { out[0] = (char)(0xc0 | c >> 6); out[1] = (char)(0x80 | (c & 63)); return 2; }
    if (c < 0x10000) { out[0] = (char)(0xe0 | c >> 12); out[1] = (char)(0x80 | (c >> 6 & 63)); out[2] = (char)(0x80 | (c & 63)); return 3; }
    out[0] = (char)(0xf0 | c >> 18); out[1] = (char)(0x80 | (c >> 12 & 63)); out[2] = (char)(0x80 | (c >> 6 & 63)); out[3] = (char)(0x80 | (c & 63));
    return 4;
}
static void json_string(json *j, char *out, size_t cap) {
    size_t n = 0;
    json_need(j, '"');
    while (!j->bad && *j->p != '"') {
        unsigned char c = (unsigned char)*j->p++;
        char utf8[4];
        size_t k, length = 1;
        utf8[0] = (char)c;
        if (!c) { j->bad = 1; break; }
        if (c == '\\') {
            unsigned u;
            switch (c = (unsigned char)*j->p++) {
            case 'n': utf8[0] = '\n'; break;
            case 't': utf8[0] = '\t'; break;
            case 'r': utf8[0] = '\r'; break;
            case 'b': utf8[0] = '\b'; break;
            case 'f': utf8[0] = '\f'; break;
            case 'u':
                u = json_hex4(j);
                if (u >= 0xd800 && u < 0xdc00 && j->p[0] == '\\' && j->p[1] == 'u') {
                    j->p += 2;
                    u = 0x10000 + ((u - 0xd800) << 10) + (json_hex4(j) - 0xdc00);
                }
                length = json_utf8(utf8, u);
                break;
            default: utf8[0] = (char)c; break;
            }
        }
        for (k = 0; k < length; k++) if (n + 1 < cap) out[n++] = utf8[k]; else j->bad = 1;
    }
    json_need(j, '"');
    out[n] = 0;
}

static size_t json_tokens(json *j, llm_token *out) {
    size_t n = 0;
    int first;
    json_need(j, '[');
    for (first = 1; json_item(j, ']', &first); ) {
        if (n == MAX_TOKENS) { j->bad = 1; break; }
        out[n++] = (llm_token)json_number(j);
    }
    return n;
}
static void json_position(json *j, position *p) {
    char key[16];
    int first, inner, n;
    json_need(j, '{');
    for (first = 1; json_item(j, '}', &first); ) {
        json_string(j, key, sizeof key);
        json_need(j, ':');
        if (!strcmp(key, "lse")) p->lse = json_number(j);
        else if (!strcmp(key, "nll")) json_number(j);
        else if (!strcmp(key, "best")) p->best = (llm_token)json_number(j);
        else if (!strcmp(key, "top") || !strcmp(key, "at")) {
            json_need(j, '[');
            for (n = 0, inner = 1; json_item(j, ']', &inner); n++) {
                if (n == N_TOP) { j->bad = 1; break; }
                json_need(j, '[');
                p->ids[n] = (llm_token)json_number(j);
                json_need(j, ',');
                p->logits[n] = json_number(j);
                json_need(j, ']');
            }
            if (n != N_TOP) j->bad = 1;
            if (!strcmp(key, "top")) p->best = p->ids[0];
        }
        else j->bad = 1;
    }
}
static int read_run(run *r, const char *path) {
    size_t bytes;
    char *text = (char *)test_read(path, &bytes), key[16];
    json j;
    int first, inner, deep;
    memset(r, 0, sizeof *r);
    if (!text) return 0;
    j.p = text;
    j.bad = 0;
    json_need(&j, '[');
    for (first = 1; json_item(&j, ']', &first); ) {
        answer *a = &r->answers[r->n++];
        if (r->n > MAX_PROMPTS) { j.bad = 1; break; }
        json_need(&j, '{');
        for (inner = 1; json_item(&j, '}', &inner); ) {
            json_string(&j, key, sizeof key);
            json_need(&j, ':');
            if (!strcmp(key, "prompt")) json_string(&j, a->prompt, sizeof a->prompt);
            else if (!strcmp(key, "text")) json_string(&j, a->text, sizeof a->text);
            else if (!strcmp(key, "tokens")) a->n_tokens = json_tokens(&j, a->tokens);
            else if (!strcmp(key, "greedy")) a->n_greedy = json_tokens(&j, a->greedy);
            else if (!strcmp(key, "positions")) {
                json_need(&j, '[');
                for (deep = 1; json_item(&j, ']', &deep); ) {
                    if (a->n_positions == MAX_TOKENS) { j.bad = 1; break; }
                    json_position(&j, &a->at[a->n_positions++]);
                }
            }
            else j.bad = 1;
        }
    }
    free(text);
    return !j.bad && r->n > 0;
}

//------------------------------------------------------------------------------------------------------------------------------
// The yardstick: KL over 17 outcomes, the exact run's 16 best ids and the rest, p and q each from their own log-sum-exp.

static double divergence(const position *exact, double lse, const double *logits) {
    double p_left = 1, q_left = 1, sum = 0;
    int i;
    for (i = 0; i < N_TOP; i++) {
        double log_p = exact->logits[i] - exact->lse, log_q = logits[i] - lse, p = golden_exp(log_p);
        sum += p * (log_p - log_q);
        p_left -= p;
        q_left -= golden_exp(log_q);
    }
    if (p_left < 1e-12) p_left = 1e-12;                       // the files round to 5 digits
    if (q_left < 1e-12) q_left = 1e-12;
    return sum + p_left * (golden_log(p_left) - golden_log(q_left));
}
static double log_sum_exp(const float *l, size_t n) {
    double max = (double)l[0], sum = 0;
    size_t i;
    for (i = 1; i < n; i++) if ((double)l[i] > max) max = (double)l[i];
    for (i = 0; i < n; i++) if ((double)l[i] - max > -40) sum += golden_exp((double)l[i] - max);
    return max + golden_log(sum);
}
static llm_token best_of(const float *l, size_t n) {
    size_t i, best = 0;
    for (i = 1; i < n; i++) if (l[i] > l[best]) best = i;
    return (llm_token)best;
}

// The gate for keys and values in 8 bits: KL from F16 over the whole vocabulary, teacher-forced over the prompts, mean and worst position. F32
// in place of F16 moves these models by 3.5e-3, 3.5e-3 and 5.6e-4: int8 activations pass any nudge on.
#define KV_GATE       1e-2
#define KV_GATE_WORST 0.3

typedef struct score { double ours, theirs, kv, kv_worst; unsigned n, top, their_top, leads, lead_kept, texts; } score;

static void score_prompt(score *s, const answer *a, const answer *peer, const float *logits, size_t n_vocab) {
    size_t i;
    int k;
    for (i = 0; i < a->n_positions; i++) {
        const position *p = &a->at[i];
        const float *l = logits + i * n_vocab;
        double at[N_TOP];
        int kept = best_of(l, n_vocab) == p->best;
        for (k = 0; k < N_TOP; k++) at[k] = (double)l[p->ids[k]];
        s->ours += divergence(p, log_sum_exp(l, n_vocab), at);
        s->theirs += divergence(p, peer->at[i].lse, peer->at[i].logits);
        s->n++;
        s->top += (unsigned)kept;
        s->their_top += peer->at[i].best == p->best;
        if (p->logits[0] - p->logits[1] > 1.0) {
            s->leads++;
            s->lead_kept += (unsigned)kept;
            if (!kept) printf("  position %u: best is %d, exactly %d\n", (unsigned)i, (int)best_of(l, n_vocab), (int)p->best);
        }
    }
}

// Greedy continuation by text: whole pieces, no id known to the caller. Need not be the exact text; printed, and checked for form.
static int continue_text(llm_model *model, const answer *a, char *out, size_t cap) {
    llm_ctx_desc d;
    llm_error e;
    llm_ctx *ctx;
    const char *piece;
    size_t n, used = 0;
    memset(&d, 0, sizeof d);
    d.max_tokens = (uint32_t)a->n_greedy;
    ctx = llm_open(model, &d, &e);
    if (!ctx) return 0;
    if (llm_feed(ctx, a->prompt, strlen(a->prompt)) != LLM_OK) { llm_close(ctx); return 0; }
    out[0] = 0;
    while ((piece = llm_next(ctx, &n)) != NULL) {
        if (n == 0 || strlen(piece) != n || used + n + 1 > cap) { llm_close(ctx); return 0; }
        memcpy(out + used, piece, n + 1);
        used += n;
    }
    // The prompt was tokenised as the reference did: exactly its tokens are in the context, then at most those of the answer.
    n = llm_past(ctx);
    if (!(n >= a->n_tokens && n <= a->n_tokens + a->n_greedy + 1)) printf("  past %u, prompt %u\n", (unsigned)n, (unsigned)a->n_tokens);
    if (llm_why(ctx) != LLM_STOP_LIMIT && llm_why(ctx) != LLM_STOP_EOG) { llm_close(ctx); return 0; }
    llm_close(ctx);
    return n >= a->n_tokens && n <= a->n_tokens + a->n_greedy + 1;
}

static void score_kv(llm_model *model, const answer *a, const float *f16, size_t n_vocab, score *s) {
    llm_ctx_desc d;
    llm_error e;
    llm_ctx *ctx;
    float *logits = (float *)malloc(a->n_tokens * n_vocab * sizeof(float));
    size_t i;
    memset(&d, 0, sizeof d);
    d.kv_type = LLM_KV_Q8_0;
    ctx = llm_open(model, &d, &e);
    if (CHECK(ctx && logits) && CHECK_EQ(llm_eval_all(ctx, a->tokens, a->n_tokens, logits), LLM_OK))
        for (i = 0; i < a->n_tokens; i++) {
            double kl = golden_kl(f16 + i * n_vocab, logits + i * n_vocab, n_vocab);
            s->kv += kl;
            if (kl > s->kv_worst) s->kv_worst = kl;
        }
    llm_close(ctx);
    free(logits);
}

static void one_prompt(llm_model *model, const answer *a, const answer *peer, size_t n_vocab, score *s) {
    static llm_token ids[MAX_TOKENS];
    static char text[8 * MAX_TEXT];
    llm_error e;
    llm_ctx *ctx = llm_open(model, NULL, &e);
    float *logits = (float *)malloc(a->n_tokens * n_vocab * sizeof(float));
    size_t n = llm_tokenize(model, a->prompt, strlen(a->prompt), LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, ids, MAX_TOKENS);
    if (!CHECK(n == a->n_tokens && memcmp(ids, a->tokens, n * sizeof ids[0]) == 0)) printf("  prompt \"%.60s\": other tokens\n", a->prompt);
    CHECK(a->n_positions == a->n_tokens && peer->n_positions == a->n_tokens && strcmp(a->prompt, peer->prompt) == 0);
    if (!ctx || !logits || !CHECK_EQ(llm_eval_all(ctx, a->tokens, a->n_tokens, logits), LLM_OK)) { free(logits); llm_close(ctx); return; }
    score_prompt(s, a, peer, logits, n_vocab);
    score_kv(model, a, logits, n_vocab, s);
    if (CHECK(continue_text(model, a, text, sizeof text))) s->texts += strncmp(text, a->text, strlen(a->text)) == 0;
    n = llm_detokenize(model, a->greedy, a->n_greedy, 0, text, sizeof text - 1);
    if (CHECK(n < sizeof text)) {
        text[n] = 0;
        CHECK(strncmp(text + (text[0] == ' ' && a->text[0] != ' '), a->text, strlen(a->text)) == 0);
    }
    free(logits);
    llm_close(ctx);
}

static void one_model(const char *name) {
    static run exact, peer;
    char file[64], json_name[64];
    const char *path;
    llm_error e;
    llm_info info;
    llm_model *model;
    score s;
    size_t i;
    memset(&s, 0, sizeof s);
    memset(&info, 0, sizeof info);
    SECTION(name);
    sprintf(file, "%s.gguf", name);
    path = test_model(file);
    if (!path) { test_skip("real models: not fetched (tests/get_models.sh)"); return; }
    sprintf(json_name, "real/%s.exact.json", name);
    if (!test_fixture(json_name)) { test_skip("real models: no fixtures"); return; }
    if (!CHECK(read_run(&exact, test_fixture(json_name)))) return;
    sprintf(json_name, "real/%s.llamacpp.json", name);
    if (!CHECK(read_run(&peer, test_fixture(json_name))) || !CHECK_EQ(exact.n, peer.n)) return;
    model = llm_load(path, NULL, &e);
    if (!CHECK(model != NULL)) { printf("  %s\n", e.text); return; }
    llm_model_info(model, &info);
    CHECK_EQ(info.text_status, LLM_OK);
    for (i = 0; i < exact.n; i++) one_prompt(model, &exact.answers[i], &peer.answers[i], info.n_vocab, &s);
    llm_unload(model);
    if (!CHECK(s.n > 100)) return;
    printf("  %-13s KL %.2e (llama.cpp %.2e), best token %u/%u (%u), with a clear lead %u/%u, greedy texts equal to the exact ones %u/%u\n", name,
           s.ours / s.n, s.theirs / s.n, s.top, s.n, s.their_top, s.lead_kept, s.leads, s.texts, (unsigned)exact.n);
    printf("  %-13s Q8_0 KV against F16: KL %.2e, worst position %.2e\n", name, s.kv / s.n, s.kv_worst);
    CHECK(s.kv > 0 && s.kv / s.n <= KV_GATE && s.kv_worst <= KV_GATE_WORST);
    CHECK(s.ours <= 1.25 * s.theirs);
    CHECK(s.theirs > 1e-4 * s.n && s.theirs < 1e-2 * s.n);       // the yardstick itself reads as its README says
    CHECK(s.leads >= 40);
    CHECK_EQ(s.lead_kept, s.leads);
}

int main(void) {
    CHECK(golden_self_test());
    one_model("smollm2");
    one_model("gemma3-270m");
    one_model("qwen25-coder");
    return test_done();
}
