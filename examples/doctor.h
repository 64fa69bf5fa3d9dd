// doctor.h - llm plan, llm report and llm doctor: the part of llm.c that says why.
//
// The doctor tries, it does not guess. An experiment is a set-up that differs from the present one in one thing, measured in a process of
// its own. What gains most when it alone is changed comes first; it is repaired, and everything else is tried again from there, because
// factors do not multiply: a model that is read from flash for every token hides that its kernels are slow.

//------------------------------------------------------------------------------------------------------------------------------
// >>plan   From the header alone.

static const char *mapping_name(llm_mapping m) { return m == LLM_READ ? "read" : "mapped"; }

static void plan_text(const llm_plan_info *p) {
    static const char *const verdicts[] = { "fits", "tight", "too big" };
    char a[32], b[32], c[32], d[32], e[32];
    printf("%-12s %s\n", verdicts[p->verdict], p->reason);
    bytes_text(a, sizeof a, p->file_bytes);
    printf("%-12s %s, %.2f bits per weight%s%s, %s\n", "file", a, p->bits_per_weight, *p->file_system ? ", on " : "", p->file_system,
           mapping_name(p->mapping));
    bytes_text(a, sizeof a, p->weight_bytes);
    bytes_text(b, sizeof b, p->model_bytes);
    bytes_text(c, sizeof c, p->kv_bytes);
    bytes_text(d, sizeof d, p->scratch_bytes);
    bytes_text(e, sizeof e, p->total_bytes);
    printf("%-12s weights %s + model %s + keys and values %s + scratch %s = %s\n", "memory", a, b, c, d, e);
    printf("%-12s %llu bytes of llm_arena hold all of it, but what is mapped\n", "", (unsigned long long)p->arena_bytes);
    bytes_text(a, sizeof a, p->mem_available);
    bytes_text(b, sizeof b, p->mem_limit);
    if (p->mem_limit) printf("%-12s %s are free now, %s at most (%s)\n", "", a, b, p->mem_limit_by);
    bytes_text(a, sizeof a, p->kv_bytes_per_token);
    printf("%-12s %u %s %u tokens, %s each as %s; ", "context", (unsigned)p->n_ctx,
           p->n_ctx > p->n_ctx_train ? "where the model was trained for" : "of", (unsigned)p->n_ctx_train, a, kv_name(p->kv_type));
    if (p->n_ctx_fits) printf("with up to %u it fits what is free\n", (unsigned)p->n_ctx_fits);
    else puts("none fits what is free");
    printf("%-12s %s, %u thread%s\n", "computes", llm_isa_name(p->isa), (unsigned)p->n_threads, p->n_threads == 1 ? "" : "s");
    bytes_text(a, sizeof a, p->bytes_per_token);
    if (p->tok_s_high > 0)
        printf("%-12s %.3g to %.3g tok/s: %s per token, of %.3g GB/s that this machine reads\n", "speed", p->tok_s_low, p->tok_s_high, a,
               p->gb_s);
}
static void plan_json(const llm_plan_info *p) {
    static const char *const verdicts[] = { "fits", "tight", "does not fit" };
    json_string(stdout, "{", "verdict", verdicts[p->verdict]);
    json_string(stdout, ", ", "reason", p->reason);
    json_count(stdout, "file_bytes", p->file_bytes);
    json_count(stdout, "weight_bytes", p->weight_bytes);
    json_string(stdout, ", ", "mapping", mapping_name(p->mapping));
    json_string(stdout, ", ", "kv", kv_name(p->kv_type));
    json_count(stdout, "weights_mapped", p->weights_mapped);
    json_count(stdout, "weights_read", p->weights_read);
    json_count(stdout, "model_bytes", p->model_bytes);
    json_count(stdout, "kv_bytes_per_token", p->kv_bytes_per_token);
    json_count(stdout, "kv_bytes", p->kv_bytes);
    json_count(stdout, "scratch_bytes", p->scratch_bytes);
    json_count(stdout, "total_bytes", p->total_bytes);
    json_count(stdout, "arena_bytes", p->arena_bytes);
    json_count(stdout, "mem_available", p->mem_available);
    json_count(stdout, "mem_limit", p->mem_limit);
    json_string(stdout, ", ", "mem_limit_by", p->mem_limit_by);
    json_count(stdout, "n_ctx", p->n_ctx);
    json_count(stdout, "n_batch", p->n_batch);
    json_count(stdout, "n_ctx_fits", p->n_ctx_fits);
    json_count(stdout, "n_ctx_train", p->n_ctx_train);
    json_count(stdout, "threads", p->n_threads);
    json_string(stdout, ", ", "isa", llm_isa_name(p->isa));
    json_count(stdout, "bytes_per_token", p->bytes_per_token);
    json_real(stdout, "bits_per_weight", p->bits_per_weight);
    json_real(stdout, "gb_s", p->gb_s);
    json_real(stdout, "tok_s_low", p->tok_s_low);
    json_real(stdout, "tok_s_high", p->tok_s_high);
    json_string(stdout, ", ", "file_system", p->file_system);
    puts("}");
}

static void plan_findings(const llm_plan_info *p) {
    llm_finding found[8];
    const size_t n = llm_findings_plan(p, found, 8);
    size_t i;
    for (i = 0; i < n && i < 8; i++) {
        if (found[i].factor > 1) printf("%-12s %s%.1f x %s: %s\n", i ? "" : "expect", found[i].kind == LLM_BOUND ? "<= " : "",
                                        found[i].factor, found[i].what, found[i].text);
        else printf("%-12s %s\n", i ? "" : "expect", found[i].text);
        printf("%-12s -> %s\n", "", found[i].advice);
    }
}
static int command_plan(session *s) {
    llm_model_desc desc;
    llm_ctx_desc ctx;
    llm_plan_info plan;
    llm_error e;
    memset(&ctx, 0, sizeof ctx);
    memset(&plan, 0, sizeof plan);
    if (!session_desc(s, &desc)) return EXIT_USAGE;
    desc.host_gb_s = -1;
    ctx.n_ctx = s->o.ctx;
    ctx.n_batch = s->o.batch;
    ctx.kv_type = s->kv_type;
    if (llm_plan(s->o.model, &desc, &ctx, &plan, &e) < 0) { complain("%s", e.text); return EXIT_FAILED; }
    if (s->o.json) plan_json(&plan);
    else {
        plan_text(&plan);
        plan_findings(&plan);
    }
    return written() == EXIT_OK && plan.verdict != LLM_DOES_NOT_FIT ? EXIT_OK : EXIT_FAILED;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>report   A short run, then what the library says about it.

enum { REPORT_PROMPT = 64, REPORT_ANSWER = 32, MAX_FINDINGS = 16 };

static const char *factor_kind(llm_factor kind) { return kind == LLM_BOUND ? "bound" : kind == LLM_PROBED ? "probed" : "measured"; }

static void findings_json(FILE *f, const llm_finding *v, size_t n) {
    size_t i;
    fputs(", \"findings\": [", f);
    for (i = 0; i < n; i++) {
        json_string(f, i ? ", {" : "{", "code", v[i].code);
        json_count(f, "layer", v[i].layer);
        json_string(f, ", ", "kind", factor_kind(v[i].kind));
        json_real(f, "factor", v[i].factor);
        json_string(f, ", ", "what", v[i].what);
        json_string(f, ", ", "text", v[i].text);
        json_string(f, ", ", "advice", v[i].advice);
        fputs("}", f);
    }
    fputs("]", f);
}
static size_t findings_of(const llm_ctx *ctx, llm_finding *out) {
    size_t n = llm_findings(ctx, out, MAX_FINDINGS);
    return n < (size_t)MAX_FINDINGS ? n : (size_t)MAX_FINDINGS;
}

static int report_run(session *s) {
    llm_token tokens[REPORT_PROMPT];
    llm_info info;
    uint32_t i;
    memset(&info, 0, sizeof info);
    llm_model_info(s->model, &info);
    bench_tokens(tokens, REPORT_PROMPT, info.n_vocab);
    if (llm_eval(s->ctx, tokens, REPORT_PROMPT) < 0) return bench_failed(s, s->ctx);
    for (i = 0; i < REPORT_ANSWER; i++) {
        llm_token token = llm_sample(s->ctx);
        if (token == LLM_NO_TOKEN || llm_eval(s->ctx, &token, 1) < 0) return bench_failed(s, s->ctx);
    }
    if (llm_probe(s->ctx, 0, NULL) < 0) return bench_failed(s, s->ctx);
    progress_erase(s);
    return 1;
}
static void report_facts(const session *s) {
    const llm_stats_info stats = stats_of(s->ctx);
    llm_info info;
    facts_run run;
    char cpu[128], program[32];
    memset(&info, 0, sizeof info);
    memset(&run, 0, sizeof run);
    llm_model_info(s->model, &info);
    cpu_name(cpu, sizeof cpu);
    snprintf(program, sizeof program, "llm %d.%d.%d", LLM_VERSION_MAJOR, LLM_VERSION_MINOR, LLM_VERSION_PATCH);
    run.program = program;
    run.cpu = cpu;
    run.prefill_timing = "evaluation";
    run.decode_timing = "evaluation";
    run.n_ctx = s->o.ctx ? s->o.ctx : info.n_ctx_train < 4096 ? info.n_ctx_train : 4096;
    run.n_batch = s->o.batch ? s->o.batch : 512;
    if (run.n_batch > run.n_ctx) run.n_batch = run.n_ctx;
    run.prompt = REPORT_PROMPT;
    run.gen = REPORT_ANSWER;
    run.rounds = 1;
    fputs(", \"facts\": ", stdout);
    facts_json(stdout, &stats, &info, &run);
}
static int command_report(session *s) {
    llm_finding findings[MAX_FINDINGS];
    size_t n;
    char *report;
    int code;
    memset(&s->sampling, 0, sizeof s->sampling);
    code = session_load(s, s->o.threads);
    if (code == EXIT_OK) code = session_open(s, s->o.ctx);
    if (code != EXIT_OK) return code;
    if (!report_run(s)) return EXIT_FAILED;
    n = llm_report(s->ctx, NULL, 0);
    report = (char *)room_for(n + 1, 1);
    llm_report(s->ctx, report, n + 1);
    if (s->o.json) {
        json_string(stdout, "{", "report", report);
        findings_json(stdout, findings, findings_of(s->ctx, findings));
        report_facts(s);
        puts("}");
    } else fputs(report, stdout);
    free(report);
    return written();
}

//------------------------------------------------------------------------------------------------------------------------------
// >>outcome   What one experiment measures, and its way from process to process: one line of JSON.

enum { PROBE_PROMPT = 1, PROBE_PREFILL = 64, MAX_NOTED = 4 };

#define OUTCOME_REALS(X) X(load_ms) X(prompt_ms) X(first_ms) X(prefill_tok_s) X(decode_tok_s) X(tokens) X(faults_per_token) \
    X(gb_s) X(roofline_pct) X(bytes_per_token) X(peak_rss_bytes) X(file_bytes) X(bits_per_weight) X(n_ctx) X(threads) \
    X(temperature_c) X(cpu_mhz) X(burst_tok_s) X(sustained_tok_s) X(optimized)
#define OUTCOME_TEXTS(X) X(isa) X(mapping) X(arch) X(error)

typedef struct noted { char code[48], text[252], advice[252]; double factor; } noted;
typedef struct outcome {
#define X(name) double name;
    OUTCOME_REALS(X)                     // tokens: decoded while the clock ran; prompt_ms: one token, first_ms: with the load
#undef X
#define X(name) char name[252];
    OUTCOME_TEXTS(X)                     // error: "" when it went well
#undef X
    noted notes[MAX_NOTED];
    uint32_t n_notes;
} outcome;

static void outcome_write(FILE *f, const outcome *r, const llm_finding *findings, size_t n) {
    const char *comma = "{";
#define X(name) fprintf(f, "%s\"" #name "\": %.6g", comma, r->name); comma = ", ";
    OUTCOME_REALS(X)
#undef X
#define X(name) json_string(f, comma, #name, r->name);
    OUTCOME_TEXTS(X)
#undef X
    findings_json(f, findings, n);
    fputs("}\n", f);
}

#if !defined(_WIN32)
// What outcome_write wrote, in another process. (On Windows there is none.)
static void outcome_read(outcome *r, const text *line) {
    json j;
    json_at i, all;
    memset(r, 0, sizeof *r);
    memset(&j, 0, sizeof j);
    text_add(&j.bytes, text_of(line), line->n);
    if (!json_parse(&j)) snprintf(r->error, sizeof r->error, "its answer is not JSON: %s", j.error);
    else {
#define X(name) r->name = json_number_of(&j, json_path(&j, 0, #name));
        OUTCOME_REALS(X)
#undef X
#define X(name) snprintf(r->name, sizeof r->name, "%s", json_text_of(&j, json_path(&j, 0, #name)));
        OUTCOME_TEXTS(X)
#undef X
        all = json_path(&j, 0, "findings");
        for (i = all == JSON_NONE ? JSON_NONE : j.values[all].first; i != JSON_NONE && r->n_notes < MAX_NOTED; i = j.values[i].next) {
            noted *n = &r->notes[r->n_notes++];
            snprintf(n->code, sizeof n->code, "%s", json_text_of(&j, json_member(&j, i, "code")));
            snprintf(n->text, sizeof n->text, "%s", json_text_of(&j, json_member(&j, i, "text")));
            snprintf(n->advice, sizeof n->advice, "%s", json_text_of(&j, json_member(&j, i, "advice")));
            n->factor = json_number_of(&j, json_member(&j, i, "factor"));
        }
    }
    json_free(&j);
}
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>probe-run   One experiment. Short where the machine is fast, and never more than it needs where a token takes seconds.

#if defined(_WIN32)
static double major_faults(void) { return 0; }
#else
static double major_faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_majflt : 0;
}
#endif

// Rates of whole seconds: the best of the first ten is the burst, the median of the last fifteen what is sustained.
enum { MAX_SECONDS = 600, BURST_SECONDS = 10, SUSTAINED_SECONDS = 15 };
typedef struct seconds { double rate[MAX_SECONDS], start; uint32_t n, tokens; } seconds;

static void seconds_count(seconds *w, double now) {
    w->tokens++;
    if (now - w->start < 1000 || w->n == MAX_SECONDS) return;
    w->rate[w->n++] = per_second(w->tokens, now - w->start);
    w->start = now;
    w->tokens = 0;
}
static void seconds_judge(seconds *w, outcome *r) {
    uint32_t i;
    if (w->n < BURST_SECONDS + SUSTAINED_SECONDS) return;
    for (i = 0; i < BURST_SECONDS; i++) if (w->rate[i] > r->burst_tok_s) r->burst_tok_s = w->rate[i];
    r->sustained_tok_s = median(w->rate + w->n - SUSTAINED_SECONDS, SUSTAINED_SECONDS, NULL);
}

// Two tokens at least, or one that takes five seconds. After 64, or at the end of the context, it goes back, off the clock: a fast
// set-up must not get deeper than others.
static int probe_decode(session *s, uint32_t n_ctx, outcome *r) {
    const size_t from = llm_past(s->ctx), to = from + PROBE_PREFILL < n_ctx ? from + PROBE_PREFILL : n_ctx;
    double spent = 0, start, now, faults = 0, before;
    seconds w;
    llm_token token;
    memset(&w, 0, sizeof w);
    w.start = now_ms();
    while (spent < s->o.ms || r->tokens < (spent < 5000 ? 2 : 1)) {
        if (llm_past(s->ctx) >= to && llm_rewind(s->ctx, from) < 0) return 0;
        token = llm_sample(s->ctx);
        before = major_faults();
        start = now_ms();
        if (token == LLM_NO_TOKEN || llm_eval(s->ctx, &token, 1) < 0) return 0;
        now = now_ms();
        faults += major_faults() - before;
        spent += now - start;
        r->tokens++;
        seconds_count(&w, now);
    }
    seconds_judge(&w, r);
    r->decode_tok_s = r->tokens * 1e3 / spent;
    r->faults_per_token = faults / r->tokens;
    return 1;
}

// A first token, the decode, a longer prompt if that many tokens would take less than ten seconds, and what the memory gives if a pass
// over it is short.
static int probe_stages(session *s, const llm_info *info, uint32_t n_ctx, outcome *r) {
    const uint32_t depth = s->o.depth < n_ctx / 2 ? s->o.depth : n_ctx / 2;
    const uint32_t n = n_ctx - depth;
    const uint32_t longer = n / 2 < (uint32_t)PROBE_PREFILL ? n / 2 : (uint32_t)PROBE_PREFILL;
    llm_token *tokens = (llm_token *)room_for(depth + PROBE_PREFILL, sizeof *tokens);
    double start;
    int good;
    bench_tokens(tokens, depth + PROBE_PREFILL, info->n_vocab);
    good = depth == 0 || llm_eval(s->ctx, tokens, depth) >= 0;
    start = now_ms();
    good = good && llm_eval(s->ctx, tokens + depth, PROBE_PROMPT) >= 0;
    r->prompt_ms = now_ms() - start;
    r->first_ms = r->load_ms + r->prompt_ms;
    good = good && probe_decode(s, n_ctx, r);
    if (good) r->bytes_per_token = (double)stats_of(s->ctx).bytes_per_token;
    if (good && longer > PROBE_PROMPT && longer * 1e3 / r->decode_tok_s < 10000) {
        good = llm_rewind(s->ctx, depth) >= 0;
        start = now_ms();
        good = good && llm_eval(s->ctx, tokens + depth, longer) >= 0;
        r->prefill_tok_s = per_second(longer, now_ms() - start);
    }
    if (good && r->decode_tok_s > 5) good = llm_probe(s->ctx, PROBE_MS, &r->gb_s) >= 0;
    free(tokens);
    return good;
}

static void probe_facts(const session *s, const llm_info *info, uint32_t n_ctx, outcome *r) {
    const llm_stats_info i = stats_of(s->ctx);
    r->threads = i.n_threads;
    r->n_ctx = n_ctx;
    r->peak_rss_bytes = (double)peak_rss_bytes();
    r->file_bytes = (double)info->file_bytes;
    r->bits_per_weight = info->bits_per_weight;
    r->temperature_c = i.temperature_c;
    r->cpu_mhz = i.cpu_mhz;
    r->optimized = i.optimized;
    snprintf(r->isa, sizeof r->isa, "%s", llm_isa_name(i.isa));
    snprintf(r->mapping, sizeof r->mapping, "%s", mapping_name(i.mapping));
    snprintf(r->arch, sizeof r->arch, "%s", info->arch);
    if (r->gb_s * 1e9 < r->bytes_per_token * r->decode_tok_s) r->gb_s = r->bytes_per_token * r->decode_tok_s * 1e-9 * (r->gb_s > 0);
    if (r->gb_s > 0) r->roofline_pct = 100 * r->bytes_per_token * r->decode_tok_s / (r->gb_s * 1e9);
}

// What the library refuses is a result too: its sentence is in r->error.
static int probe_run(session *s, outcome *r) {
    llm_model_desc desc;
    llm_info info;
    llm_error e;
    llm_ctx_desc ctx;
    uint32_t n_ctx;
    double start = now_ms();
    memset(&info, 0, sizeof info);
    memset(&ctx, 0, sizeof ctx);
    if (!session_desc(s, &desc)) return EXIT_USAGE;
    s->model = llm_load(s->o.model, &desc, &e);
    r->load_ms = now_ms() - start;
    if (!s->model) { snprintf(r->error, sizeof r->error, "%s", e.text); return EXIT_FAILED; }
    llm_model_info(s->model, &info);
    n_ctx = s->o.ctx ? s->o.ctx : 4096;
    if (n_ctx > info.n_ctx_train && info.n_ctx_train) n_ctx = info.n_ctx_train;
    ctx.n_ctx = n_ctx;
    ctx.n_batch = s->o.batch;
    ctx.kv_type = s->kv_type;
    s->ctx = llm_open(s->model, &ctx, &e);
    if (!s->ctx) { snprintf(r->error, sizeof r->error, "%s", e.text); return EXIT_FAILED; }
    if (!probe_stages(s, &info, n_ctx, r)) {
        snprintf(r->error, sizeof r->error, "%s", llm_last_error(s->ctx)->text);
        r->decode_tok_s = 0;
        return EXIT_FAILED;
    }
    probe_facts(s, &info, n_ctx, r);
    return EXIT_OK;
}
static int command_probe_run(session *s) {
    llm_finding findings[MAX_FINDINGS];
    outcome r;
    int code;
    memset(&r, 0, sizeof r);
    if (!s->o.ms) s->o.ms = 400;
    code = probe_run(s, &r);
    if (code == EXIT_USAGE) return code;
    outcome_write(stdout, &r, findings, code == EXIT_OK ? findings_of(s->ctx, findings) : 0);
    return fflush(stdout) == 0 ? code : EXIT_FAILED;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>set-up   What is varied, one thing at a time.

typedef struct setup {
    const char *file;
    uint32_t threads, ctx, depth, batch;
    llm_isa isa;
    llm_kv_type kv;
    llm_mapping mapping;
    llm_cores cores;
    int force;
} setup;

//    id        key        what it is called
#define LEVERS(X)                               \
    X(FILE,     "file",    "the file")           \
    X(MAPPING,  "mapping", "mapped or read")     \
    X(KERNELS,  "kernels", "kernels")            \
    X(THREADS,  "threads", "threads")            \
    X(CORES,    "cores",   "cores")              \
    X(KV,       "kv",      "keys and values")    \
    X(CONTEXT,  "context", "size of the context")

typedef enum lever {
#define X(id, key, name) LEVER_##id,
    LEVERS(X)
#undef X
    N_LEVERS
} lever;
static const char *const lever_keys[] = {
#define X(id, key, name) key,
    LEVERS(X)
#undef X
};
static const char *const lever_names[] = {
#define X(id, key, name) name,
    LEVERS(X)
#undef X
};

static const char *file_name(const char *path) {
    const char *p, *name = path;
    for (p = path; *p; p++) if (*p == '/' || *p == '\\') name = p + 1;
    return name;
}

enum { MAX_WORDS = 32 };
typedef struct words { const char *v[MAX_WORDS]; char numbers[8][16]; int n, n_numbers; } words;

static void words_add(words *w, const char *word) {
    w->v[w->n++] = word;
    w->v[w->n] = NULL;
}
static void words_number(words *w, const char *name, uint32_t value) {
    char *room = w->numbers[w->n_numbers++];
    snprintf(room, sizeof w->numbers[0], "%u", (unsigned)value);
    words_add(w, name);
    words_add(w, room);
}
// The set-up as a command line has it: what equals the default is left out.
static void words_setup(words *w, const setup *u) {
    if (u->threads) words_number(w, "--threads", u->threads);
    if (u->isa != LLM_ISA_AUTO) { words_add(w, "--isa"); words_add(w, llm_isa_name(u->isa)); }
    if (u->mapping != LLM_MAP_AUTO) words_add(w, u->mapping == LLM_READ ? "--read" : "--map");
    if (u->cores == LLM_CORES_BIG) { words_add(w, "--cores"); words_add(w, "big"); }
    if (u->kv != LLM_KV_F16) { words_add(w, "--kv"); words_add(w, kv_name(u->kv)); }
    if (u->ctx) words_number(w, "--ctx", u->ctx);
    if (u->batch) words_number(w, "--batch", u->batch);
    if (u->force) words_add(w, "--force");
}
static void setup_text(const setup *u, char *out, size_t cap) {
    words w;
    int i;
    size_t n = (size_t)snprintf(out, cap, "%s", file_name(u->file));
    memset(&w, 0, sizeof w);
    words_setup(&w, u);
    for (i = 0; i < w.n && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, strchr(w.v[i], ' ') ? " '%s'" : " %s", w.v[i]);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>child   An experiment in a process of its own: memory, faults, caches of the library and a crash stay apart.

static int setup_equal(const setup *a, const setup *b) {
    return a->file == b->file && a->threads == b->threads && a->ctx == b->ctx && a->isa == b->isa && a->kv == b->kv &&
           a->mapping == b->mapping && a->cores == b->cores;
}

#if defined(_WIN32)
// Here experiments run in this process, one after the other; a time limit and a crash are not caught.
static void child_run(const char *program, const setup *u, uint32_t ms, double limit_ms, outcome *r) {
    session s;
    (void)program;
    (void)limit_ms;
    memset(&s, 0, sizeof s);
    memset(r, 0, sizeof *r);
    s.o.model = u->file;
    s.o.threads = u->threads;
    s.o.ctx = u->ctx;
    s.o.depth = u->depth;
    s.o.batch = u->batch;
    s.o.isa = llm_isa_name(u->isa);
    if (u->isa == LLM_ISA_AUTO) s.o.isa = NULL;
    s.o.kv = kv_name(u->kv);
    s.o.read = u->mapping == LLM_READ;
    s.o.map = u->mapping == LLM_MAP;
    s.o.cores = u->cores == LLM_CORES_BIG ? "big" : NULL;
    s.o.force = u->force;
    s.o.ms = ms;
    probe_run(&s, r);
    session_close(&s);
}
static double load_average(void) { return 0; }
static uint32_t cpus_online(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (uint32_t)info.dwNumberOfProcessors;
}
#else
// Programs that want to compute, mean of a minute; 0 where the system does not say.
static double load_average(void) {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : 0;
}
static uint32_t cpus_online(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

// Its own process group: Ctrl-C reaches the doctor, and the doctor ends the experiment.
static pid_t child_start(const char *program, words *w, int *from) {
    int ends[2];
    pid_t pid;
    if (pipe(ends) != 0) return -1;
    pid = fork();
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        setpgid(0, 0);
        dup2(nothing, 0);
        dup2(ends[1], 1);
        dup2(nothing, 2);
        close(ends[0]);
        close(ends[1]);
        execv("/proc/self/exe", (char *const *)(void *)w->v);
        execvp(program, (char *const *)(void *)w->v);
        _exit(127);
    }
    close(ends[1]);
    *from = ends[0];
    if (pid < 0) close(ends[0]);
    return pid;
}
// Reads to the end, the limit or Ctrl-C. Returns 0 in the last two.
static int child_listen(int from, double limit_ms, text *line) {
    const double start = now_ms();
    char bytes[4096];
    for (;;) {
        struct pollfd p;
        ssize_t n;
        p.fd = from;
        p.events = POLLIN;
        if (interrupted || now_ms() - start > limit_ms) return 0;
        if (poll(&p, 1, 50) <= 0) continue;
        n = read(from, bytes, sizeof bytes);
        if (n <= 0) return 1;
        text_add(line, bytes, (size_t)n);
    }
}
static void child_run(const char *program, const setup *u, uint32_t ms, double limit_ms, outcome *r) {
    text line = { NULL, 0, 0 };
    words w;
    int from, status = 0, done;
    pid_t pid;
    memset(&w, 0, sizeof w);
    memset(r, 0, sizeof *r);
    words_add(&w, program);
    words_add(&w, "probe-run");
    words_setup(&w, u);
    if (u->depth) words_number(&w, "--depth", u->depth);
    words_number(&w, "--ms", ms);
    words_add(&w, "--");
    words_add(&w, u->file);
    pid = child_start(program, &w, &from);
    if (pid < 0) { snprintf(r->error, sizeof r->error, "cannot start a process: %s", strerror(errno)); return; }
    done = child_listen(from, limit_ms, &line);
    if (!done) kill(pid, SIGKILL);
    close(from);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) { }
    if (done) outcome_read(r, &line);
    if (!done) snprintf(r->error, sizeof r->error, interrupted ? "interrupted" : "not done after %.0f s", limit_ms * 1e-3);
    else if (WIFSIGNALED(status))
        snprintf(r->error, sizeof r->error, "ended by signal %d%s", WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ": no memory" : "");
    else if (!*r->error && !(r->decode_tok_s > 0)) snprintf(r->error, sizeof r->error, "ended with code %d", WEXITSTATUS(status));
    text_free(&line);
}
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>rounds   Experiments of one step take turns, in a new order each round, so that heat and neighbours meet all of them alike. A gain is
//            the median of the ratios within the rounds.

enum { MAX_ROUNDS = 16, MAX_TRIALS = 24, MAX_STEPS = 7, MORE_ROUNDS = 4 };

#define MATTERS 1.10                      // a change that gains less is not worth a word
#define BEYOND_NOISE 1.03                 // in (nearly) every round, for a cause to be named
#define RUNS_AT_ALL 1e6                   // the gain of a set-up over one that does not run
#define NOT_RUN     (-1.0)

typedef struct trial {
    lever what;
    setup u;
    char says[288];                       // "2 threads instead of 8"
    double rate[MAX_ROUNDS];              // 0: it failed; NOT_RUN: it did not take part
    uint32_t n;                           // rounds that it took part in
    outcome last;                         // of those that went well, or the failure
    double tok_s, spread_pct, gain, low, high;
    int out, is_default;                  // out: no more rounds
} trial;

typedef struct step { trial base, tries[MAX_TRIALS]; uint32_t n, n_rounds; int chosen, first_counts; } step;

typedef struct doctor {
    session *s;
    const char *program;
    uint32_t ms, rounds, n_steps, n_run, default_threads;
    uint64_t random, seed;
    FILE *json_out, *html_out;
    double limit_ms, start, deadline, load;     // load: of the machine, before the first experiment
    char cpu[128];
    step steps[MAX_STEPS];
    double cold_first_ms, warm_first_ms;
    char cold_skipped[160];
    outcome sustained;
} doctor;

static int time_is_up(const doctor *d) { return interrupted || now_ms() > d->deadline; }

static uint32_t roll(doctor *d, uint32_t n) {
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((d->random >> 33) % n);
}

static void doctor_progress(const doctor *d, const trial *t) {
    if (!is_terminal(stderr)) return;
    fprintf(stderr, "\r%70s\r%3.0f s  step %u, experiment %u: %.50s", "", (now_ms() - d->start) * 1e-3, (unsigned)d->n_steps,
            (unsigned)d->n_run, t->says);
    fflush(stderr);
}
static void doctor_quiet(void) { if (is_terminal(stderr)) fprintf(stderr, "\r%79s\r", ""); }

static void trial_judge(trial *t, const trial *base, uint32_t n_rounds) {
    double v[MAX_ROUNDS], ratio[MAX_ROUNDS];
    uint32_t i, n = 0, n_ratios = 0, works = 0, base_works = 0;
    for (i = 0; i < n_rounds; i++) {
        if (t->rate[i] >= 0) v[n++] = t->rate[i];
        if (t->rate[i] < 0 || base->rate[i] < 0) continue;
        works += t->rate[i] > 0;
        base_works += base->rate[i] > 0;
        if (base->rate[i] > 0) ratio[n_ratios++] = t->rate[i] / base->rate[i];
    }
    t->n = n;
    t->tok_s = n ? median(v, n, &t->spread_pct) : 0;
    t->gain = t->low = t->high = works && !base_works ? RUNS_AT_ALL : 0;
    if (n_ratios == 0) return;
    t->gain = median(ratio, n_ratios, NULL);
    t->low = ratio[n_ratios >= 5];        // with five rounds and more, one may be an accident
    t->high = ratio[n_ratios - 1 - (n_ratios >= 5)];
}

// Runs one; a failure counts as standing still, an interruption not at all. What fails the first time is not tried again.
static void trial_run(doctor *d, trial *t, uint32_t round) {
    outcome r;
    d->n_run++;
    doctor_progress(d, t);
    child_run(d->program, &t->u, d->ms, d->limit_ms, &r);
    if (interrupted) return;
    t->rate[round] = *r.error ? 0 : r.decode_tok_s;
    if (!*r.error || !(t->last.decode_tok_s > 0)) t->last = r;
    if (*r.error && round == 0) t->out = 1;
}

static int step_round(doctor *d, step *st) {
    const int base_is_known = st->first_counts && st->n_rounds == 0;
    trial *order[MAX_TRIALS + 1];
    uint32_t i, k, n = 0, round = st->n_rounds;
    if (round == MAX_ROUNDS) return 0;
    st->n_rounds++;
    if (!base_is_known) {
        order[n++] = &st->base;
        st->base.rate[round] = NOT_RUN;
    }
    for (i = 0; i < st->n; i++) {
        st->tries[i].rate[round] = NOT_RUN;
        if (!st->tries[i].out) order[n++] = &st->tries[i];
    }
    for (i = n; i > 1; i--) {
        trial *swap = order[i - 1];
        k = roll(d, i);
        order[i - 1] = order[k];
        order[k] = swap;
    }
    for (i = 0; i < n && !interrupted && (round == 0 || !time_is_up(d)); i++) trial_run(d, order[i], round);
    trial_judge(&st->base, &st->base, st->n_rounds);
    for (i = 0; i < st->n; i++) trial_judge(&st->tries[i], &st->base, st->n_rounds);
    return n > 0 && !time_is_up(d);
}

// Who cannot be first any more waits for the next step, where he is tried again.
static void step_thin(step *st) {
    double best = 1, least;
    uint32_t i;
    for (i = 0; i < st->n; i++) if (st->tries[i].gain > best) best = st->tries[i].gain;
    least = best > 2 ? best / 2 : 0.9;
    for (i = 0; i < st->n; i++) if (st->tries[i].gain < least) st->tries[i].out = 1;
}

// One round is enough for a factor of two; less wants three.
static int trial_named(const trial *t) { return t->gain >= MATTERS && t->low > BEYOND_NOISE && t->n >= (t->gain > 2 ? 1 : 3); }

// The trial that gains most, -1 if none does. Where the library's own default is within 5 % of the best value of a thing, it is taken.
static int step_best(const step *st) {
    int best = -1, i;
    for (i = 0; i < (int)st->n; i++)
        if (trial_named(&st->tries[i]) && (best < 0 || st->tries[i].gain > st->tries[best].gain)) best = i;
    for (i = 0; best >= 0 && i < (int)st->n; i++)
        if (st->tries[i].is_default && st->tries[i].what == st->tries[best].what && trial_named(&st->tries[i]) &&
            st->tries[i].gain > 0.95 * st->tries[best].gain) return i;
    return best;
}

// A gain below two is measured again, against the present set-up alone: among many trials one looks better by accident.
static void step_confirm(doctor *d, step *st) {
    uint32_t i;
    int best;
    while ((best = step_best(st)) >= 0) {
        trial *t = &st->tries[best];
        if (t->gain > 2 || t->n > d->rounds || time_is_up(d)) break;
        for (i = 0; i < st->n; i++) st->tries[i].out = (int)i != best;
        for (i = 0; i < MORE_ROUNDS && step_round(d, st); i++) { }
        if (t->n <= d->rounds) break;
    }
    st->chosen = best;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>path   From yours to the best that was found, one repair at a time.

static trial *step_add(step *st, lever what, const setup *u) {
    trial *t;
    uint32_t i;
    for (i = 0; i < st->n; i++) if (setup_equal(&st->tries[i].u, u)) return &st->tries[i];
    if (st->n == MAX_TRIALS || setup_equal(&st->base.u, u)) return NULL;
    t = &st->tries[st->n++];
    memset(t, 0, sizeof *t);
    t->what = what;
    t->u = *u;
    return t;
}

// Counts worth trying: each up to 4, then ever fewer between a power of two and the next.
static int worth_trying(uint32_t n, uint32_t most) {
    return n <= 4 || n == most || (n & (n - 1)) == 0 || (n % 3 == 0 && (n / 3 & (n / 3 - 1)) == 0);
}
static void step_threads(const doctor *d, step *st) {
    const uint32_t asked = st->base.u.threads, now = asked ? asked : d->default_threads, most = cpus_online();
    setup u = st->base.u;
    trial *t;
    uint32_t n;
    u.threads = 0;
    if (asked && asked != d->default_threads && (t = step_add(st, LEVER_THREADS, &u)) != NULL) {
        t->is_default = 1;
        snprintf(t->says, sizeof t->says, "as many threads as the library chooses (%u), not %u", (unsigned)d->default_threads,
                 (unsigned)asked);
    }
    for (n = 1; n <= most; n++) {
        if (n == now || n == d->default_threads || !worth_trying(n, most) || (d->s->o.brief && n != most && n != (most + 1) / 2)) continue;
        u.threads = n;
        if ((t = step_add(st, LEVER_THREADS, &u)) != NULL)
            snprintf(t->says, sizeof t->says, "%u thread%s instead of %u", (unsigned)n, n == 1 ? "" : "s", (unsigned)now);
    }
}
static void step_mapping(step *st) {
    setup u = st->base.u;
    const int reads = u.mapping == LLM_READ || strcmp(st->base.last.mapping, "read") == 0;
    trial *t;
    u.mapping = u.mapping == LLM_READ ? LLM_MAP_AUTO : reads ? LLM_MAP : LLM_READ;
    if ((t = step_add(st, LEVER_MAPPING, &u)) != NULL)
        snprintf(t->says, sizeof t->says, reads ? "the file mapped, not read into memory" : "the file read into memory, not mapped");
}
// Scalar kernels are no repair: they show what the others are worth.
static void step_kernels(const doctor *d, step *st) {
    setup u = st->base.u;
    trial *t;
    const int forced = u.isa != LLM_ISA_AUTO;
    if (!forced && (d->s->o.brief || d->n_steps > 1 || st->base.last.decode_tok_s < 5)) return;
    u.isa = forced ? LLM_ISA_AUTO : LLM_ISA_SCALAR;
    if ((t = step_add(st, LEVER_KERNELS, &u)) == NULL) return;
    if (forced) snprintf(t->says, sizeof t->says, "the best kernels that this CPU has, not %s", llm_isa_name(st->base.u.isa));
    else snprintf(t->says, sizeof t->says, "scalar kernels, not %s", st->base.last.isa);
}
static void step_memory(step *st) {
    setup u = st->base.u;
    const uint32_t needed = (u.depth + 2 * PROBE_PREFILL + 255) / 256 * 256, now = u.ctx ? u.ctx : 4096;
    trial *t;
    u.kv = u.kv == LLM_KV_F16 ? LLM_KV_Q8_0 : LLM_KV_F16;
    if ((t = step_add(st, LEVER_KV, &u)) != NULL)
        snprintf(t->says, sizeof t->says, "keys and values as %s%s, not %s", kv_name(u.kv),
                 u.kv == LLM_KV_Q8_0 ? " (a little less exact)" : "", kv_name(st->base.u.kv));
    u = st->base.u;
    if (now <= needed || (st->base.last.n_ctx > 0 && st->base.last.n_ctx <= needed)) return;
    u.ctx = needed;
    if ((t = step_add(st, LEVER_CONTEXT, &u)) != NULL)
        snprintf(t->says, sizeof t->says, "a context of %u tokens, not %u", (unsigned)needed, (unsigned)now);
}
static void step_file(const doctor *d, step *st) {
    setup u = st->base.u;
    trial *t;
    if (!d->s->o.better || u.file == d->s->o.better) return;
    u.file = d->s->o.better;
    if ((t = step_add(st, LEVER_FILE, &u)) != NULL)
        snprintf(t->says, sizeof t->says, "%.80s instead of %.80s", file_name(u.file), file_name(st->base.u.file));
}
static void step_cores(step *st) {
    setup u = st->base.u;
    trial *t;
    u.cores = u.cores == LLM_CORES_BIG ? LLM_CORES_ANY : LLM_CORES_BIG;
    if ((t = step_add(st, LEVER_CORES, &u)) != NULL)
        snprintf(t->says, sizeof t->says, u.cores == LLM_CORES_BIG ? "on the big cores only" : "on cores that the system chooses");
}
// A factor that was repaired is not tried again: it would be the way back.
static void step_trials(const doctor *d, step *st) {
    int done[N_LEVERS];
    uint32_t i, n = 0;
    memset(done, 0, sizeof done);
    for (i = 0; i + 1 < d->n_steps; i++) done[d->steps[i].tries[d->steps[i].chosen].what] = 1;
    step_file(d, st);
    step_mapping(st);
    step_kernels(d, st);
    step_threads(d, st);
    step_cores(st);
    step_memory(st);
    for (i = 0; i < st->n; i++) if (!done[st->tries[i].what]) st->tries[n++] = st->tries[i];
    st->n = n;
}

static void step_run(doctor *d, step *st) {
    uint32_t i;
    st->chosen = -1;
    for (i = 0; i < d->rounds && step_round(d, st); i++) step_thin(st);
    step_confirm(d, st);
}

// The first run is not counted: pages of the file come in. Where it takes ten seconds, each token will be slow, and a run is dear: it is.
static void doctor_path(doctor *d, const setup *yours) {
    const double start = now_ms();
    step *st = &d->steps[0];
    st->base.u = *yours;
    snprintf(st->base.says, sizeof st->base.says, "as it is");
    d->n_steps = 1;
    trial_run(d, &st->base, 0);
    st->first_counts = now_ms() - start > 10e3;
    for (;;) {
        const trial *t;
        step_trials(d, st);
        step_run(d, st);
        if (st->chosen < 0 || d->n_steps == MAX_STEPS || time_is_up(d)) break;
        t = &st->tries[st->chosen];
        st++;
        d->n_steps++;
        memset(st, 0, sizeof *st);
        st->base.u = t->u;
        st->base.last = t->last;
        memcpy(st->base.says, t->says, sizeof t->says);
    }
    st = &d->steps[0];
    if (st->base.n == 0 && st->base.last.decode_tok_s > 0) {      // ended so early that the first run is all there is
        st->base.tok_s = st->base.last.decode_tok_s;
        st->base.n = 1;
    }
}
// The rows of the path: yours, and what it is after each repair. Where the last one was not measured again, the trial itself counts.
static uint32_t path_rows(const doctor *d) { return d->n_steps + (d->steps[d->n_steps - 1].chosen >= 0); }
static const trial *path_repair(const doctor *d, uint32_t row) { return &d->steps[row - 1].tries[d->steps[row - 1].chosen]; }
static const trial *path_row(const doctor *d, uint32_t row) {
    return row == 0 || (row < d->n_steps && d->steps[row].base.n) ? &d->steps[row].base : path_repair(d, row);
}
static const trial *path_end(const doctor *d) { return path_row(d, path_rows(d) - 1); }
// Nothing that was tried helps, and the library has nothing to say either.
static int doctor_is_healthy(const doctor *d) {
    return d->steps[0].chosen < 0 && d->steps[0].base.n >= 3 && path_end(d)->last.n_notes == 0;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>once   What is no set-up: a start with a cold page cache, and a minute of decoding.

// Drops the file's pages while nothing maps it, and looks whether they are gone. Returns 0 with the reason.
#if defined(_WIN32) || defined(__APPLE__)
static int cache_drop(const char *path, char *why, size_t cap) {
    (void)path;
    snprintf(why, cap, "this system drops no page of a file on request");
    return 0;
}
#else
#if defined(__linux__)
typedef unsigned char cache_page;
#else
typedef char cache_page;                           // mincore of the BSDs
#endif
static double cache_resident_pct(int file, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page;
    cache_page *in = (cache_page *)room_for(n, 1);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    size_t i, resident = n;
    if (map != MAP_FAILED && mincore(map, bytes, in) == 0)
        for (i = resident = 0; i < n; i++) resident += (size_t)(in[i] & 1);
    if (map != MAP_FAILED) munmap(map, bytes);
    free(in);
    return 100.0 * (double)resident / (double)n;
}
static int cache_drop(const char *path, char *why, size_t cap) {
    struct stat about;
    double pct = 100;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) != 0 || about.st_size <= 0) snprintf(why, cap, "cannot open the file: %s", strerror(errno));
    else if (posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) snprintf(why, cap, "the system refuses to drop the file's pages");
    else if ((pct = cache_resident_pct(file, (size_t)about.st_size)) > 2)
        snprintf(why, cap, "%.0f %% of the file stay in the page cache: another program uses it, or the file system keeps it", pct);
    if (file >= 0) close(file);
    return pct <= 2;
}
#endif

static void doctor_cold(doctor *d) {
    const setup *u = &path_end(d)->u;
    double cold[3], warm[3];
    trial t;
    uint32_t i;
    memset(&t, 0, sizeof t);
    t.u = *u;
    for (i = 0; i < 3 && !time_is_up(d); i++) {
        if (!cache_drop(u->file, d->cold_skipped, sizeof d->cold_skipped)) return;
        snprintf(t.says, sizeof t.says, "a cold start");
        trial_run(d, &t, 0);
        cold[i] = t.last.first_ms;
        snprintf(t.says, sizeof t.says, "a warm start");
        trial_run(d, &t, 0);
        warm[i] = t.last.first_ms;
    }
    if (i < 3) return;
    d->cold_first_ms = median(cold, 3, NULL);
    d->warm_first_ms = median(warm, 3, NULL);
}
static void doctor_sustained(doctor *d) {
    trial t;
    memset(&t, 0, sizeof t);
    t.u = path_end(d)->u;
    snprintf(t.says, sizeof t.says, "a minute of decoding");
    d->n_run++;
    doctor_progress(d, &t);
    child_run(d->program, &t.u, 60000, 120000, &d->sustained);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>words   What is printed: the path, the first change, and of the rest only what matters.

static const char *rate_text(double x, char *out, size_t cap) {
    snprintf(out, cap, x >= 99.95 ? "%.0f" : x >= 9.995 ? "%.1f" : "%.2f", x);
    return out;
}
static const char *gain_text(double x, char *out, size_t cap) {
    snprintf(out, cap, x >= RUNS_AT_ALL ? "runs" : x >= 9.95 ? "x%.0f" : x >= 1.995 ? "x%.1f" : "x%.2f", x);
    return out;
}

// Why a repair helps, as far as the counters of the two runs tell. "" if they do not.
static void trial_why(const trial *base, const trial *t, char *out, size_t cap) {
    const outcome *a = &base->last, *b = &t->last;
    char x[32], y[32];
    *out = 0;
    if (*a->error) snprintf(out, cap, "as it is: %.200s", a->error);
    else if (a->faults_per_token >= 10 && a->faults_per_token > 4 * b->faults_per_token)
        snprintf(out, cap, "it does not fit the memory: %.0f times per token the system waits for pages from storage, after that %.0f",
                 a->faults_per_token, b->faults_per_token);
    else if (t->what == LEVER_FILE) {
        bytes_text(x, sizeof x, (uint64_t)a->bytes_per_token);
        bytes_text(y, sizeof y, (uint64_t)b->bytes_per_token);
        snprintf(out, cap, "a token reads %s instead of %s", y, x);
    } else if (t->what == LEVER_THREADS && a->threads > cpus_online())
        snprintf(out, cap, "%.0f threads share %u CPUs", a->threads, (unsigned)cpus_online());
    else if (t->what == LEVER_KERNELS && base->tok_s > 0)
        snprintf(out, cap, "weights go by at %.2g GB/s, then at %.2g GB/s", a->bytes_per_token * base->tok_s * 1e-9,
                 b->bytes_per_token * t->tok_s * 1e-9);
}

static void print_head(const doctor *d) {
    const trial *yours = &d->steps[0].base;
    char size[32], line[400];
    bytes_text(size, sizeof size, (uint64_t)yours->last.file_bytes);
    setup_text(&yours->u, line, sizeof line);
    printf("yours        %s", line);
    if (yours->last.file_bytes > 0) printf(" (%s, %s)", yours->last.arch, size);
    printf("\nmachine      %s, %u CPUs", d->cpu, (unsigned)cpus_online());
    if (*yours->last.isa) printf(", %s, %.0f thread%s", yours->last.isa, yours->last.threads, yours->last.threads == 1 ? "" : "s");
    if (yours->last.temperature_c > 0) printf(", %.0f C at the start", yours->last.temperature_c);
    if (d->load > 0.5 * cpus_online())
        printf("\n%12s busy: load %.1f at the start, so other programs have their share of what follows", "", d->load);
    printf("\n\n");
}
static void print_path(const doctor *d) {
    char rate[32], gain[32], why[300];
    uint32_t i;
    printf("     tok/s\n");
    for (i = 0; i < path_rows(d); i++) {
        const trial *t = path_row(d, i);
        printf("%10s  ", rate_text(t->tok_s, rate, sizeof rate));
        if (i == 0) printf("%7s  as it is (%u round%s, +-%.0f %%)\n", "", (unsigned)t->n, t->n == 1 ? "" : "s", t->spread_pct / 2);
        else printf("%7s  %s\n", gain_text(path_repair(d, i)->gain, gain, sizeof gain), path_repair(d, i)->says);
        if (i == 0) continue;
        trial_why(&d->steps[i - 1].base, path_repair(d, i), why, sizeof why);
        if (*why) printf("%19s  %s\n", "", why);
    }
}

// The best trial of each factor, tried alone on the set-up as it was; NULL where there is none.
static const trial *alone(const doctor *d, int f) {
    const step *st = &d->steps[0];
    const trial *best = NULL;
    uint32_t i;
    for (i = 0; i < st->n; i++)
        if ((int)st->tries[i].what == f && st->tries[i].n && (!best || st->tries[i].gain > best->gain)) best = &st->tries[i];
    return st->chosen >= 0 && (int)st->tries[st->chosen].what == f ? &st->tries[st->chosen] : best;
}

static void print_first(const doctor *d) {
    const step *st = &d->steps[0];
    char gain[32], line[400];
    int f, any = 0;
    if (st->chosen >= 0) {
        const trial *t = &st->tries[st->chosen];
        printf("\nchange first %s\n", t->says);
        if (t->gain < RUNS_AT_ALL)
            printf("%12s alone it gives %s (%.2f to %.2f, %u round%s)\n", "", gain_text(t->gain, gain, sizeof gain), t->low, t->high,
                   (unsigned)t->n, t->n == 1 ? "" : "s");
        for (f = 0; f < N_LEVERS; f++) {
            const trial *other = alone(d, f);
            if (!other || other == t || !trial_named(other)) continue;
            printf("%s%s %s", any++ ? ", " : "             the others alone: ", lever_names[f], gain_text(other->gain, gain, sizeof gain));
        }
        if (any) printf("\n");
        setup_text(&path_end(d)->u, line, sizeof line);
        printf("best found   %s\n", line);
    } else if (st->base.n >= 3) {
        printf(doctor_is_healthy(d) ? "\nhealthy      nothing that was tried gains 10 %% beyond the noise\n"
                                    : "\nnot healthy  nothing that was tried gains 10 %% beyond the noise, but see what is left\n");
    }
}
static void print_rest(const doctor *d) {
    const step *st = &d->steps[0];
    const outcome *end = &path_end(d)->last;
    uint32_t i, any = 0;
    int f;
    if (end->roofline_pct > 0)
        printf("%-12s decode reads %.1f GB/s, %.0f %% of what this machine reads with these threads\n", "the roof",
               end->gb_s * end->roofline_pct / 100, end->roofline_pct);
    for (f = 0; f < N_LEVERS; f++) {
        const trial *t = alone(d, f);
        if (!t || t->last.decode_tok_s <= 0 || t->n < 3 || t->gain < 1 / MATTERS || trial_named(t)) continue;
        printf("%s%s", any++ ? ", " : "no matter    ", lever_names[f]);
    }
    if (any) printf("\n");
    for (i = 0; i < st->n; i++)
        if (*st->tries[i].last.error) printf("skipped      %s: %s\n", st->tries[i].says, st->tries[i].last.error);
    for (i = 0; i < end->n_notes; i++)                     // of the end of the path: what was repaired is not said twice
        printf("%-12s %s\n%12s %s\n", "what is left", end->notes[i].text, "", end->notes[i].advice);
    if (d->cold_first_ms > 0)
        printf("%-12s the first token comes after %.2f s when the file is not in the page cache, after %.2f s when it is\n", "cold start",
               d->cold_first_ms * 1e-3, d->warm_first_ms * 1e-3);
    else if (*d->cold_skipped) printf("skipped      a cold start: %s\n", d->cold_skipped);
    if (d->sustained.sustained_tok_s > 0)
        printf("%-12s %.3g tok/s after a minute, %.3g at its beginning\n", "sustained", d->sustained.sustained_tok_s,
               d->sustained.burst_tok_s);
    else if (d->s->o.full && *d->sustained.error) printf("skipped      a minute of decoding: %s\n", d->sustained.error);
    printf("%-12s %u experiments in %.0f s%s\n", "took", (unsigned)d->n_run, (now_ms() - d->start) * 1e-3,
           interrupted ? ", interrupted: this is what is known so far" : now_ms() > d->deadline ? ", which is all the time there was" : "");
}

//------------------------------------------------------------------------------------------------------------------------------
// >>json   All that was measured.

static void trial_json(FILE *f, const char *first, const trial *t) {
    char line[400];
    setup_text(&t->u, line, sizeof line);
    json_string(f, first, "says", t->says);
    json_string(f, ", ", "setup", line);
    json_real(f, "tok_s", t->tok_s);
    json_real(f, "spread_pct", t->spread_pct);
    json_count(f, "rounds", t->n);
    json_string(f, ", ", "kind", factor_kind(LLM_PROBED));
    json_real(f, "gain", t->gain);
    json_real(f, "gain_low", t->low);
    json_real(f, "gain_high", t->high);
#define X(name) fprintf(f, ", \"" #name "\": %.6g", t->last.name);
    OUTCOME_REALS(X)
#undef X
#define X(name) json_string(f, ", ", #name, t->last.name);
    OUTCOME_TEXTS(X)
#undef X
}
static void step_json(FILE *f, const char *first, const step *st) {
    uint32_t i;
    trial_json(f, first, &st->base);
    fputs(", \"tries\": [", f);
    for (i = 0; i < st->n; i++) {
        json_string(f, i ? ", {" : "{", "factor", lever_keys[st->tries[i].what]);
        trial_json(f, ", ", &st->tries[i]);
        fprintf(f, ", \"named\": %s}", trial_named(&st->tries[i]) ? "true" : "false");
    }
    fprintf(f, "], \"chosen\": %d}", st->chosen);
}
static void doctor_json(FILE *f, const doctor *d) {
    const step *first = &d->steps[0];
    uint32_t i;
    json_string(f, "{", "cpu", d->cpu);
    json_count(f, "cpus", cpus_online());
    json_count(f, "seed", d->seed);
    json_count(f, "experiments", d->n_run);
    json_real(f, "seconds", (now_ms() - d->start) * 1e-3);
    fprintf(f, ", \"complete\": %s", time_is_up(d) ? "false" : "true");
    json_real(f, "start_temperature_c", first->base.last.temperature_c);
    json_real(f, "start_load", d->load);
    fprintf(f, ", \"healthy\": %s", doctor_is_healthy(d) ? "true" : "false");
    json_string(f, ", ", "first", first->chosen < 0 ? "" : lever_keys[first->tries[first->chosen].what]);
    fputs(", \"path\": [", f);
    for (i = 0; i < path_rows(d); i++) {
        json_string(f, i ? ", {" : "{", "factor", i ? lever_keys[path_repair(d, i)->what] : "");
        json_string(f, ", ", "says", i ? path_repair(d, i)->says : "as it is");
        json_real(f, "tok_s", path_row(d, i)->tok_s);
        json_real(f, "gain", i ? path_repair(d, i)->gain : 1);
        fputs("}", f);
    }
    fputs("], \"steps\": [", f);
    for (i = 0; i < d->n_steps; i++) step_json(f, i ? ", {" : "{", &d->steps[i]);
    fputs("]", f);
    json_real(f, "cold_first_ms", d->cold_first_ms);
    json_real(f, "warm_first_ms", d->warm_first_ms);
    json_string(f, ", ", "cold_skipped", d->cold_skipped);
    json_real(f, "burst_tok_s", d->sustained.burst_tok_s);
    json_real(f, "sustained_tok_s", d->sustained.sustained_tok_s);
    fputs("}\n", f);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>table   Symptom, cause, check, fix: the rules of the library, as README.md has them.

// A fact that a sentence would fill in is shown by its name in llm_stats_info; a cause by its code, in words.
static void rules_cell(FILE *f, const char *s, int is_code) {
    fputs("| ", f);
    for (; *s; s++) fputc(is_code && *s == '_' ? ' ' : *s == '{' || *s == '}' ? '`' : *s, f);
    fputc(' ', f);
}
static void rules_table(FILE *f) {
    size_t i;
    fputs("| symptom | cause | check | fix |\n|---|---|---|---|\n", f);
    for (i = 0; i < sizeof llm__rules / sizeof llm__rules[0]; i++) {
        rules_cell(f, llm__rules[i].symptom, 0);
        rules_cell(f, llm__rules[i].code, 1);
        rules_cell(f, llm__rules[i].check, 0);
        rules_cell(f, llm__rules[i].advice, 0);
        fputs("|\n", f);
    }
}

#include "page.h"

//------------------------------------------------------------------------------------------------------------------------------
// >>doctor

static int doctor_open(const char *path, FILE **f) {
    *f = !path ? NULL : strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (path && !*f) complain("cannot write '%s': %s", path, strerror(errno));
    return !path || *f;
}
static void doctor_shut(FILE *f) { if (f && f != stdout) fclose(f); }
// What would be found out at the end is found out before minutes of experiments: a name of a file that was misspelt.
static int doctor_ready(doctor *d) {
    const options *o = &d->s->o;
    llm_plan_info plan;
    llm_error e;
    memset(&plan, 0, sizeof plan);
    if (llm_plan(o->model, NULL, NULL, &plan, &e) < 0) { complain("%s", e.text); return 0; }
    d->default_threads = plan.n_threads;
    if (o->better && llm_plan(o->better, NULL, NULL, &plan, &e) < 0) { complain("--better: %s", e.text); return 0; }
    if (!doctor_open(o->json_file, &d->json_out)) return 0;
    if (doctor_open(o->html, &d->html_out)) return 1;
    doctor_shut(d->json_out);
    return 0;
}
static int doctor_write(const doctor *d, const char *path, FILE *f, void (*write)(FILE *f, const doctor *d)) {
    int good;
    write(f, d);
    good = fflush(f) == 0 && !ferror(f);
    if (f != stdout && fclose(f) != 0) good = 0;
    if (!good) complain("cannot write '%s': %s", path, strerror(errno));
    return good ? EXIT_OK : EXIT_FAILED;
}
static int doctor_tell(const doctor *d) {
    const options *o = &d->s->o;
    const int quiet = o->json_file && strcmp(o->json_file, "-") == 0;
    int code = EXIT_OK;
    if (!quiet) {
        print_head(d);
        print_path(d);
        print_first(d);
        print_rest(d);
        code = written();
    }
    if (d->json_out && doctor_write(d, o->json_file, d->json_out, doctor_json) != EXIT_OK) code = EXIT_FAILED;
    if (d->html_out && doctor_write(d, o->html, d->html_out, page_write) != EXIT_OK) code = EXIT_FAILED;
    return code;
}

// Three gears: how long an experiment decodes, how often it is repeated, when enough is enough.
static void doctor_gear(doctor *d) {
    const options *o = &d->s->o;
    d->ms = o->brief ? 150 : o->full ? 800 : 400;
    d->rounds = o->full ? 5 : 3;
    d->limit_ms = o->brief ? 20e3 : o->full ? 180e3 : 60e3;
    d->start = now_ms();
    d->deadline = d->start + (o->brief ? 45e3 : o->full ? 3600e3 : 600e3);
    d->seed = d->random = (uint64_t)time(NULL) * 1000003u + (uint64_t)d->start;
}
static int doctor_setup(session *s, setup *u) {
    llm_model_desc desc;
    if (s->o.brief && s->o.full) { complain("--quick and --full exclude each other"); return 0; }
    if (!session_desc(s, &desc)) return 0;
    memset(u, 0, sizeof *u);
    u->file = s->o.model;
    u->threads = s->o.threads;
    u->ctx = s->o.ctx;
    u->depth = s->o.depth;
    u->batch = s->o.batch;
    u->isa = desc.isa;
    u->kv = s->kv_type;
    u->mapping = desc.mapping;
    u->cores = desc.cores;
    u->force = s->o.force;
    return 1;
}
static int command_doctor(session *s) {
    doctor *d;
    setup yours;
    int code;
    if (s->o.table) {
        rules_table(stdout);
        return written();
    }
    if (!doctor_setup(s, &yours)) return EXIT_USAGE;
    d = (doctor *)room_for(1, sizeof *d);
    memset(d, 0, sizeof *d);
    d->s = s;
    d->program = s->program;
    if (!doctor_ready(d)) { free(d); return EXIT_FAILED; }
    cpu_name(d->cpu, sizeof d->cpu);
    doctor_gear(d);
    d->load = load_average();
    catch_interrupts();
    doctor_path(d, &yours);
    if (s->o.full && path_end(d)->tok_s > 0 && !time_is_up(d)) doctor_cold(d);
    if (s->o.full && path_end(d)->tok_s > 0 && !time_is_up(d)) doctor_sustained(d);
    doctor_quiet();
    if (path_end(d)->tok_s > 0) code = doctor_tell(d);
    else {
        complain("%s", interrupted ? "interrupted before anything was measured" : *d->steps[0].base.last.error
                 ? d->steps[0].base.last.error : "nothing could be measured: did the file go away?");
        doctor_shut(d->json_out);
        doctor_shut(d->html_out);
        code = EXIT_FAILED;
    }
    free(d);
    return code;
}
