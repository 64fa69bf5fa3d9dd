// compare.h - llm compare: two reports of speed, what differs between them, and how much of the ratio known causes explain.
//
// Nothing is computed from what is left over. A factor comes from what both reports state about themselves, is printed with its
// formula, and is of one of two kinds: measured, which is multiplied into what is explained; or a bound, which says what a cause may be
// worth at most. What the measured ones leave is called unexplained.

//------------------------------------------------------------------------------------------------------------------------------
// >>reports   One side of a comparison, whichever program wrote it: conditions in words, quantities in numbers. What it does not say is ""
//             or 0, and never assumed.

enum condition {
    C_PROGRAM, C_ARCH, C_N_PARAMS, C_FINGERPRINT, C_TYPES, C_WEIGHT_BYTES, C_CTX, C_BATCH, C_PROMPT, C_PREFILL_START, C_GEN,
    C_DECODE_START, C_PREFILL_TIMING, C_DECODE_TIMING, C_THREADS, C_ISA, C_BUILD, C_BACKEND, C_MAPPING, C_KV, C_POWER, C_BATTERY, C_CPU,
    N_CONDITIONS
};
enum quantity {
    Q_PREFILL_TOK_S, Q_PREFILL_SPREAD, Q_DECODE_TOK_S, Q_DECODE_SPREAD, Q_N_THREADS, Q_TOKEN_BYTES, Q_READ_GB_S, Q_MHZ, Q_BURST_MHZ,
    Q_BUSY_PCT, Q_FAULTS, Q_PREEMPTED, Q_SCALAR_PCT, N_QUANTITIES
};

// Paths into a report of llm bench, tried in turn, and a member of llama-bench's entries. NULL: there is none, or code below reads it.
static const struct { const char *label, *path, *old_path, *llama; } condition_sources[N_CONDITIONS] = {
    { "program",                   "facts.run.program",            NULL,      NULL },
    { "architecture",              "facts.file.arch",              "arch",    NULL },
    { "weights",                   "facts.file.n_params",          NULL,      "model_n_params" },
    { "file (fingerprint)",        "facts.stats.file_fingerprint", NULL,      NULL },
    { "stored types",              NULL,                           NULL,      NULL },
    { "bytes of weights",          "facts.file.weight_bytes",      NULL,      "model_size" },
    { "context (n_ctx)",           "facts.run.n_ctx",              NULL,      NULL },
    { "tokens per prefill pass",   "facts.run.n_batch",            NULL,      "n_ubatch" },
    { "prompt, tokens",            "prompt",                       NULL,      NULL },
    { "prefill from position",     "depth",                        NULL,      NULL },
    { "generated, tokens",         "gen",                          NULL,      NULL },
    { "decode from position",      NULL,                           NULL,      NULL },
    { "prefill time includes",     "facts.run.prefill_timing",     NULL,      NULL },
    { "decode time includes",      "facts.run.decode_timing",      NULL,      NULL },
    { "threads",                   "facts.stats.n_threads",        "threads", "n_threads" },
    { "instruction set",           "facts.stats.isa",              "isa",     NULL },
    { "compiler",                  "facts.stats.compiler",         NULL,      NULL },
    { "computes on",               "facts.stats.backend",          NULL,      NULL },
    { "file is",                   "facts.stats.mapping",          NULL,      NULL },
    { "keys and values",           "facts.stats.kv_type",          "kv",      NULL },
    { "power mode",                "facts.stats.power_mode",       NULL,      NULL },
    { "on battery",                "facts.stats.on_battery",       NULL,      NULL },
    { "CPU",                       "facts.run.cpu",                "cpu",     "cpu_info" },
};
static const struct { const char *label, *path, *old_path; } quantity_sources[N_QUANTITIES] = {
    { "prefill speed",      "prefill_tok_s",                      NULL },
    { "prefill spread",     "prefill_spread_pct",                 NULL },
    { "decode speed",       "decode_tok_s",                       NULL },
    { "decode spread",      "decode_spread_pct",                  NULL },
    { "threads",            "facts.stats.n_threads",              "threads" },
    { "bytes per token",    "bytes_per_token",                    NULL },
    { "memory bandwidth",   "read_gb_s",                          "facts.stats.probe_gb_s" },
    { "clock",              "facts.stats.cpu_mhz",                NULL },
    { "clock at its best",  "facts.stats.burst_mhz",              NULL },
    { "busy time",          "facts.stats.cpu_busy_pct",           NULL },
    { "faults",             "facts.stats.major_faults_per_token", NULL },
    { "preemptions",        "facts.stats.preempted_per_token",    NULL },
    { "scalar share",       "facts.stats.scalar_pct",             NULL },
};

typedef struct side {
    json j;
    char words[N_CONDITIONS][160];
    double q[N_QUANTITIES];
    int optimized;               // 1 yes, 0 no, -1 not stated
} side;

// Words of a stranger's, for a terminal: control characters come out as '?'.
static void side_say(side *s, enum condition c, const char *said) {
    char *p = s->words[c];
    snprintf(p, sizeof s->words[c], "%s", said);
    for (; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127) *p = '?';
}
static void side_say_count(side *s, enum condition c, double n) { snprintf(s->words[c], sizeof s->words[c], "%.0f", n); }

// What a value says as words; an absent one, null, or a fingerprint that was not taken says nothing.
static void side_say_value(side *s, enum condition c, json_at i) {
    const json_value *v = i == JSON_NONE ? NULL : &s->j.values[i];
    if (!v || *s->words[c]) return;
    if (v->kind == JSON_NUMBER && v->number >= 0 && v->number < 1e15) side_say_count(s, c, v->number);       // all of them are counts
    if (v->kind == JSON_TRUE || v->kind == JSON_FALSE) side_say(s, c, v->kind == JSON_TRUE ? "yes" : "no");
    if (v->kind == JSON_STRING && strcmp(v->text, "0000000000000000") != 0) side_say(s, c, v->text);
}

// "Q4_K 61 %, Q6_K 39 %": by bytes, those below half a percent left out.
static void side_say_types(side *s) {
    const json *j = &s->j;
    const json_at types = json_path(j, 0, "facts.file.types");
    double total = 0, share;
    char *to = s->words[C_TYPES];
    size_t room = sizeof s->words[C_TYPES];
    json_at i, first = types == JSON_NONE || j->values[types].kind != JSON_ARRAY ? JSON_NONE : j->values[types].first;
    for (i = first; i != JSON_NONE; i = j->values[i].next) total += json_number_of(j, json_member(j, i, "n_bytes"));
    for (i = first; i != JSON_NONE; i = j->values[i].next) {
        int n;
        share = total > 0 ? 100 * json_number_of(j, json_member(j, i, "n_bytes")) / total : 0;
        if (share < 0.5) continue;
        n = snprintf(to, room, "%s%s %.0f %%", to == s->words[C_TYPES] ? "" : ", ", json_text_of(j, json_member(j, i, "name")), share);
        if (n < 0 || (size_t)n >= room) return;
        to += n;
        room -= (size_t)n;
    }
}

static int side_read_own(side *s, const char *path) {
    const json *j = &s->j;
    const json_at depth = json_path(j, 0, "depth"), prompt = json_path(j, 0, "prompt");
    const json_at optimized = json_path(j, 0, "facts.stats.optimized");
    int k;
    for (k = 0; k < N_QUANTITIES; k++) {
        const double x = json_number_of(j, json_path(j, 0, quantity_sources[k].path));
        s->q[k] = x > 0 || !quantity_sources[k].old_path ? x : json_number_of(j, json_path(j, 0, quantity_sources[k].old_path));
        if (!(s->q[k] >= 0)) s->q[k] = 0;
    }
    if (s->q[Q_DECODE_TOK_S] <= 0 && s->q[Q_PREFILL_TOK_S] <= 0) {
        complain("'%s' is no report of speed: it has no decode_tok_s, and is not of llama-bench either", path);
        return 0;
    }
    for (k = 0; k < N_CONDITIONS; k++) {
        if (condition_sources[k].path) side_say_value(s, (enum condition)k, json_path(j, 0, condition_sources[k].path));
        if (condition_sources[k].old_path) side_say_value(s, (enum condition)k, json_path(j, 0, condition_sources[k].old_path));
    }
    if (depth != JSON_NONE && prompt != JSON_NONE)
        side_say_count(s, C_DECODE_START, json_number_of(j, depth) + json_number_of(j, prompt));
    side_say_types(s);
    s->optimized = optimized == JSON_NONE ? -1 : j->values[optimized].kind == JSON_TRUE;
    return 1;
}

// ---- llama-bench -o json: an array of tests, each a prompt (n_prompt) or a generation (n_gen), or both, which tells neither speed ----

// The test of a kind that `like` made too, else the first of the kind.
static json_at llama_test(const json *j, const char *kind, const char *other, const side *like, enum condition n_of, enum condition start) {
    const double n_like = like ? atof(like->words[n_of]) : 0, depth_like = like ? atof(like->words[start]) : 0;
    json_at i, first = JSON_NONE;
    for (i = j->values[0].first; i != JSON_NONE; i = j->values[i].next) {
        const double n = json_number_of(j, json_member(j, i, kind)), depth = json_number_of(j, json_member(j, i, "n_depth"));
        if (n <= 0 || json_number_of(j, json_member(j, i, other)) > 0 || json_number_of(j, json_member(j, i, "avg_ts")) <= 0) continue;
        if (first == JSON_NONE) first = i;
        if (n == n_like && depth == depth_like) return i;
    }
    return first;
}
// Its samples spread as ours do: between the extremes, in percent of the mean.
static double llama_spread(const json *j, json_at test, double mean) {
    const json_at samples = json_member(j, test, "samples_ts");
    double least = mean, most = mean, x;
    json_at i;
    if (samples == JSON_NONE || j->values[samples].kind != JSON_ARRAY) return 0;
    for (i = j->values[samples].first; i != JSON_NONE; i = j->values[i].next) {
        x = json_number_of(j, i);
        if (x < least) least = x;
        if (x > most) most = x;
    }
    return mean > 0 ? 100 * (most - least) / mean : 0;
}
static void llama_say_type(side *s, json_at test) {
    const char *k = json_text_of(&s->j, json_member(&s->j, test, "type_k")), *v = json_text_of(&s->j, json_member(&s->j, test, "type_v"));
    if (*k && strcmp(k, v) == 0) side_say(s, C_KV, k);
    else if (*k && *v) snprintf(s->words[C_KV], sizeof s->words[C_KV], "%.60s keys, %.60s values", k, v);
}
// use_mmap until 2026, load_mode since; "auto" is a wish, and what came of it is not stated.
static void llama_say_mapping(side *s, json_at test) {
    const json_at use = json_member(&s->j, test, "use_mmap");
    const char *mode = json_text_of(&s->j, json_member(&s->j, test, "load_mode"));
    if (use != JSON_NONE) side_say(s, C_MAPPING, s->j.values[use].kind == JSON_TRUE || s->j.values[use].number > 0 ? "map" : "read");
    else if (*mode && strcmp(mode, "auto") != 0) side_say(s, C_MAPPING, strncmp(mode, "mmap", 4) == 0 ? "map" : "read");
}
static void llama_say_backend(side *s, json_at test) {
    const char *backends = json_text_of(&s->j, json_member(&s->j, test, "backends"));
    const json_at layers = json_member(&s->j, test, "n_gpu_layers");
    if (!*backends || strcmp(backends, "CPU") == 0 || layers == JSON_NONE) side_say(s, C_BACKEND, backends);
    else if (json_number_of(&s->j, layers) < 0) snprintf(s->words[C_BACKEND], sizeof s->words[C_BACKEND], "%.100s", backends);
    else snprintf(s->words[C_BACKEND], sizeof s->words[C_BACKEND], "%.100s, %.0f layers", backends, json_number_of(&s->j, layers));
}
// What holds for a test of either kind. The model's description begins with its architecture.
static void llama_say_common(side *s, json_at test) {
    const json *j = &s->j;
    const char *type = json_text_of(j, json_member(j, test, "model_type"));
    int k;
    for (k = 0; k < N_CONDITIONS; k++)
        if (condition_sources[k].llama) side_say_value(s, (enum condition)k, json_member(j, test, condition_sources[k].llama));
    snprintf(s->words[C_ARCH], sizeof s->words[C_ARCH], "%.*s", (int)strcspn(type, " "), type);
    snprintf(s->words[C_PROGRAM], sizeof s->words[C_PROGRAM], "llama-bench %.40s", json_text_of(j, json_member(j, test, "build_commit")));
    s->q[Q_N_THREADS] = json_number_of(j, json_member(j, test, "n_threads"));
    llama_say_type(s, test);
    llama_say_mapping(s, test);
    llama_say_backend(s, test);
}
static int side_read_llama(side *s, const side *like, const char *path) {
    const json *j = &s->j;
    const json_at pp = llama_test(j, "n_prompt", "n_gen", like, C_PROMPT, C_PREFILL_START);
    const json_at tg = llama_test(j, "n_gen", "n_prompt", like, C_GEN, C_DECODE_START);
    memset(s->words, 0, sizeof s->words);
    memset(s->q, 0, sizeof s->q);
    if (pp == JSON_NONE && tg == JSON_NONE) {
        complain("'%s' is no report of speed: it has no test of llama-bench with n_prompt or n_gen, and avg_ts", path);
        return 0;
    }
    s->optimized = -1;
    llama_say_common(s, tg != JSON_NONE ? tg : pp);
    if (pp != JSON_NONE) {
        s->q[Q_PREFILL_TOK_S] = json_number_of(j, json_member(j, pp, "avg_ts"));
        s->q[Q_PREFILL_SPREAD] = llama_spread(j, pp, s->q[Q_PREFILL_TOK_S]);
        side_say_count(s, C_PROMPT, json_number_of(j, json_member(j, pp, "n_prompt")));
        side_say_value(s, C_PREFILL_START, json_member(j, pp, "n_depth"));
        side_say(s, C_PREFILL_TIMING, "evaluation");         // its README: neither tokenization nor sampling is in its times
    }
    if (tg != JSON_NONE) {
        s->q[Q_DECODE_TOK_S] = json_number_of(j, json_member(j, tg, "avg_ts"));
        s->q[Q_DECODE_SPREAD] = llama_spread(j, tg, s->q[Q_DECODE_TOK_S]);
        side_say_count(s, C_GEN, json_number_of(j, json_member(j, tg, "n_gen")));
        side_say_value(s, C_DECODE_START, json_member(j, tg, "n_depth"));
        side_say(s, C_DECODE_TIMING, "evaluation");
    }
    return 1;
}

static int side_is_llama(const side *s) { return s->j.values[0].kind == JSON_ARRAY; }

//------------------------------------------------------------------------------------------------------------------------------
// >>causes   From the conditions to the factors. Each says by how much THEIRS gains, so that their product is to be theirs / mine.
//
// Decode that reads near the roof of its memory has speed = bandwidth x nearness / bytes on both sides, so the path is: the bytes of a
// token, then the bandwidth that each side met. That bandwidth has the threads, the memory and the clock of its side in it, and
// none of them is counted again. Nearness is computed from the speed: it explains nothing, and is what remains. What may have cost
// nearness (clock lost since the probe's best pass, threads that waited, kernels) is bounded, in sum by the room below the roof.
// Decode far from its roof, or with an unknown one, computes: bytes and bandwidth are bounds then, threads and clock too, and of
// bandwidth and threads x clock only the larger counts, for more threads also read faster. Prefill always computes.

#define NEAR_ROOF 0.5            // of the roof: below, most of a token's time is not reading
#define SAME 0.005               // a factor that rounds to 1.00 is not named

enum role { READS, COMPUTES, WAITS, KERNELS, BYTES, N_ROLES };

typedef struct factor {
    const char *name;
    int measured;
    enum role role;
    double least, most;          // equal if measured; most 0: nothing bounds it
    char formula[240];
} factor;

typedef struct stage {
    const char *name;
    double mine, theirs, ratio;  // tokens per second, theirs / mine
    double mine_spread, theirs_spread;
    factor factors[8];
    uint32_t n;
    double unexplained;          // the ratio over what is measured
    double least, most;          // and over the bounds too; most 0: not known
} stage;

static factor *stage_add(stage *st, const char *name, int measured, enum role role, double least, double most) {
    factor *f;
    if (least > 1 - SAME && most < 1 + SAME && most > 0) return NULL;
    f = &st->factors[st->n++];
    f->name = name;
    f->measured = measured;
    f->role = role;
    f->least = least;
    f->most = most;
    f->formula[0] = 0;
    return f;
}
// A cause that may be worth nothing, or its whole.
static factor *stage_bound(stage *st, const char *name, enum role role, double whole) {
    return stage_add(st, name, 0, role, whole < 1 ? whole : 1, whole > 1 ? whole : 1);
}

// How fast a side reads: as its probe did or, where decode read faster than the probe, as decode did. 0: there was no probe.
static double roof(const side *s) {
    const double decode = s->q[Q_TOKEN_BYTES] * s->q[Q_DECODE_TOK_S] * 1e-9, probe = s->q[Q_READ_GB_S];
    return probe > 0 && decode > probe ? decode : probe;
}
static double nearness(const side *s) {
    return roof(s) > 0 ? s->q[Q_TOKEN_BYTES] * s->q[Q_DECODE_TOK_S] * 1e-9 / roof(s) : 0;
}

static void cause_bytes(stage *st, const side *m, const side *t, int reads) {
    const double a = m->q[Q_TOKEN_BYTES], b = t->q[Q_TOKEN_BYTES];
    factor *f;
    if (!(a > 0 && b > 0)) return;
    f = reads ? stage_add(st, "bytes per token", 1, BYTES, a / b, a / b) : stage_bound(st, "bytes per token", BYTES, a / b);
    if (f) snprintf(f->formula, sizeof f->formula, "%.6g MB / %.6g MB, mine over theirs", a * 1e-6, b * 1e-6);
}
static void cause_bandwidth(stage *st, const side *m, const side *t, int reads) {
    const double a = roof(m), b = roof(t);
    factor *f;
    if (!(a > 0 && b > 0)) return;
    f = reads ? stage_add(st, "memory bandwidth", 1, READS, b / a, b / a) : stage_bound(st, "memory bandwidth", READS, b / a);
    if (f) snprintf(f->formula, sizeof f->formula, "%.4g GB/s / %.4g GB/s, as each probe or decode read with its own threads", b, a);
}
static void cause_threads(stage *st, const side *m, const side *t) {
    const double a = m->q[Q_N_THREADS], b = t->q[Q_N_THREADS];
    factor *f = a > 0 && b > 0 ? stage_bound(st, "threads", COMPUTES, b / a) : NULL;
    if (f) snprintf(f->formula, sizeof f->formula, "%.0f / %.0f", b, a);
}
static void cause_clock(stage *st, const side *m, const side *t) {
    const double a = m->q[Q_MHZ], b = t->q[Q_MHZ];
    factor *f = a > 0 && b > 0 ? stage_bound(st, "clock", COMPUTES, b / a) : NULL;
    if (f) snprintf(f->formula, sizeof f->formula, "%.0f MHz / %.0f MHz", b, a);
}
// In bandwidth there is the clock of the fastest pass; what the clock has lost since is not in it.
static void cause_lost_clock(stage *st, const side *m, const side *t) {
    const double a = m->q[Q_MHZ], a_best = m->q[Q_BURST_MHZ], b = t->q[Q_MHZ], b_best = t->q[Q_BURST_MHZ];
    factor *f;
    if (!(a > 0 && b > 0 && a_best >= a && b_best >= b)) return;
    f = stage_bound(st, "clock lost since", COMPUTES, b / b_best / (a / a_best));
    if (f) snprintf(f->formula, sizeof f->formula, "(%.0f of %.0f MHz) / (%.0f of %.0f MHz)", b, b_best, a, a_best);
}
static void cause_waits(stage *st, const side *m, const side *t) {
    const double a = m->q[Q_BUSY_PCT], b = t->q[Q_BUSY_PCT];
    factor *f = a > 0 && b > 0 ? stage_bound(st, "threads that waited", WAITS, b / a) : NULL;
    if (f) snprintf(f->formula, sizeof f->formula, "busy %.1f %% / %.1f %% of the time; per token %.3g / %.3g faults from disk, "
                    "%.3g / %.3g times taken off the CPU", b, a, t->q[Q_FAULTS], m->q[Q_FAULTS], t->q[Q_PREEMPTED], m->q[Q_PREEMPTED]);
}

static int stated_differ(const side *m, const side *t, enum condition c) {
    return *m->words[c] && *t->words[c] && strcmp(m->words[c], t->words[c]) != 0;
}
// Worse: scalar where the other is not, or without optimisation.
static int kernels_worse(const side *a, const side *b) {
    return a->q[Q_SCALAR_PCT] > b->q[Q_SCALAR_PCT] + 1 || (same_name(a->words[C_ISA], "scalar") && stated_differ(a, b, C_ISA)) ||
           (a->optimized == 0 && b->optimized == 1);
}
// Better kernels gain what is left below the roof, and no more; a side whose kernels are not worse gains nothing by the other's. The
// nearness is 0 where it is not known, or no bound.
static void cause_kernels(stage *st, const side *m, const side *t, double near_m, double near_t) {
    const int mine_worse = kernels_worse(m, t), theirs_worse = kernels_worse(t, m);
    double least = near_t, most = near_m > 0 ? 1 / near_m : 0;
    factor *f;
    if (!*m->words[C_ISA] || !*t->words[C_ISA] || (!mine_worse && !theirs_worse && !stated_differ(m, t, C_ISA))) return;
    if (mine_worse && !theirs_worse) least = 1;
    if (theirs_worse && !mine_worse) most = 1;
    f = stage_add(st, "kernels", 0, KERNELS, least, most);
    if (f) snprintf(f->formula, sizeof f->formula, "%.30s / %.30s, scalar for %.0f %% / %.0f %% of the bytes%s; %s", t->words[C_ISA],
                    m->words[C_ISA], t->q[Q_SCALAR_PCT], m->q[Q_SCALAR_PCT],
                    m->optimized == t->optimized || m->optimized * t->optimized < 0 ? "" :
                    m->optimized ? "; theirs built without optimisation" : "; mine built without optimisation",
                    near_m > 0 && near_t > 0 ? "at most what is left below the roof" : "nothing stated bounds what they are worth");
}

// Of bandwidth and threads x clock the larger; the rest multiplies. Near the roof, what is not measured fits below it.
static void stage_close(stage *st, double near_m, double near_t) {
    double measured = 1, least[N_ROLES], most[N_ROLES], low, high;
    int open_low = 0, open_high = 0;
    uint32_t i;
    for (i = 0; i < N_ROLES; i++) least[i] = most[i] = 1;
    for (i = 0; i < st->n; i++) {
        const factor *f = &st->factors[i];
        if (f->measured) { measured *= f->least; continue; }
        least[f->role] *= f->least;
        most[f->role] *= f->most;
        open_low |= f->least <= 0;
        open_high |= f->most <= 0;
    }
    low = (least[READS] < least[COMPUTES] ? least[READS] : least[COMPUTES]) * least[WAITS] * least[KERNELS] * least[BYTES];
    high = (most[READS] > most[COMPUTES] ? most[READS] : most[COMPUTES]) * most[WAITS] * most[KERNELS] * most[BYTES];
    if (near_m > 0 && high > 1 / near_m) high = 1 / near_m;
    if (near_t > 0 && low < near_t) low = near_t;
    st->unexplained = st->ratio / measured;
    st->least = open_high ? 0 : st->unexplained / high;
    st->most = open_low ? 0 : st->unexplained / low;
}

static void stage_begin(stage *st, const char *name, const side *m, const side *t, enum quantity speed, enum quantity spread) {
    memset(st, 0, sizeof *st);
    st->name = name;
    st->mine = m->q[speed];
    st->theirs = t->q[speed];
    st->mine_spread = m->q[spread];
    st->theirs_spread = t->q[spread];
    st->ratio = st->mine > 0 && st->theirs > 0 ? st->theirs / st->mine : 0;
}
static void compare_decode(stage *st, const side *m, const side *t) {
    const double near_m = nearness(m), near_t = nearness(t);
    const int reads = near_m >= NEAR_ROOF && near_t >= NEAR_ROOF;
    stage_begin(st, "decode", m, t, Q_DECODE_TOK_S, Q_DECODE_SPREAD);
    if (st->ratio <= 0) return;
    cause_bytes(st, m, t, reads);
    cause_bandwidth(st, m, t, reads);
    if (reads) cause_lost_clock(st, m, t);
    else { cause_threads(st, m, t); cause_clock(st, m, t); }
    cause_waits(st, m, t);
    cause_kernels(st, m, t, near_m, near_t);
    stage_close(st, reads ? near_m : 0, reads ? near_t : 0);
}
static void compare_prefill(stage *st, const side *m, const side *t) {
    stage_begin(st, "prefill", m, t, Q_PREFILL_TOK_S, Q_PREFILL_SPREAD);
    if (st->ratio <= 0) return;
    cause_threads(st, m, t);
    cause_clock(st, m, t);
    cause_kernels(st, m, t, 0, 0);
    stage_close(st, 0, 0);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>compare   What differs, then the speeds.

typedef struct comparison {
    side mine, theirs;
    stage decode, prefill;
    char senseless[4][400];      // why speeds cannot be compared, a sentence each
    uint32_t n_senseless;
} comparison;

static const char *known(const side *s, int k) { return *s->words[k] ? s->words[k] : "not stated"; }
static char *senseless(comparison *c) { return c->senseless[c->n_senseless++]; }

static void compare_sense(comparison *c) {
    const side *m = &c->mine, *t = &c->theirs;
    const size_t cap = sizeof c->senseless[0];
    if (stated_differ(m, t, C_ARCH) || stated_differ(m, t, C_N_PARAMS))
        snprintf(senseless(c), cap, "These are different models (mine %.40s of %.24s weights, theirs %.40s of %.24s): their speeds do not "
                 "compare.", m->words[C_ARCH], known(m, C_N_PARAMS), t->words[C_ARCH], known(t, C_N_PARAMS));
    if (stated_differ(m, t, C_PROMPT) || stated_differ(m, t, C_PREFILL_START))
        snprintf(senseless(c), cap, "Prefill is not the same work (mine %.24s tokens from position %.24s, theirs %.24s from %.24s): "
                 "measure the same --prompt and --depth.", known(m, C_PROMPT), known(m, C_PREFILL_START), known(t, C_PROMPT),
                 known(t, C_PREFILL_START));
    if (stated_differ(m, t, C_GEN) || stated_differ(m, t, C_DECODE_START))
        snprintf(senseless(c), cap, "Decode is not the same work (mine %.24s tokens from position %.24s, theirs %.24s from %.24s): "
                 "measure the same --gen, --prompt and --depth; llm bench decodes after its prompt, llama-bench from its -d on.",
                 known(m, C_GEN), known(m, C_DECODE_START), known(t, C_GEN), known(t, C_DECODE_START));
}

// What files say must not play with the terminal, and is never long.
static void compare_show(const char *s, int width) {
    int n = (int)strlen(s);
    show(stdout, s, (size_t)n);
    if (n < width) printf("%*s", width - n, "");
}
static void compare_list(const comparison *c, const char *title, int differing) {
    int k, any = 0;
    for (k = 0; k < N_CONDITIONS; k++) {
        const char *m = c->mine.words[k], *t = c->theirs.words[k];
        if (differing ? !stated_differ(&c->mine, &c->theirs, (enum condition)k) : (!*m) == (!*t)) continue;
        if (!any++) printf("%-26s %-24s %s\n", title, "mine", "theirs");
        printf("  %-24s ", condition_sources[k].label);
        compare_show(known(&c->mine, k), 24);
        putchar(' ');
        compare_show(known(&c->theirs, k), 0);
        putchar('\n');
    }
    if (any) putchar('\n');
}
// Quantities from which factors would come; for zero faults, preemptions and scalar bytes the others must speak.
static int quantity_missing(const comparison *c, int k) {
    return k >= Q_TOKEN_BYTES && k <= Q_BUSY_PCT && !(c->mine.q[k] > 0 && c->theirs.q[k] > 0);
}
static const char *missing_from(const comparison *c, int k) {
    return c->mine.q[k] > 0 ? "theirs" : c->theirs.q[k] > 0 ? "mine" : "both";
}

static void factor_text(const factor *f) {
    const int bounded = f->most > 0 && f->least > 0;
    char amount[32];
    if (f->measured) snprintf(amount, sizeof amount, "%.2f", f->least);
    else if (!bounded) snprintf(amount, sizeof amount, "?");
    else if (f->least >= 1) snprintf(amount, sizeof amount, "<= %.2f", f->most);
    else if (f->most <= 1) snprintf(amount, sizeof amount, ">= %.2f", f->least);
    else snprintf(amount, sizeof amount, "%.2f .. %.2f", f->least, f->most);
    printf("  %-20s %12s  %-8s  ", f->name, amount, f->measured ? "measured" : bounded ? "bound" : "no bound");
    compare_show(f->formula, 0);
    putchar('\n');
}
static void unexplained_text(const stage *st) {
    const double u = st->unexplained, noise = 1 + (st->mine_spread + st->theirs_spread) / 200, end = u > 1 ? st->least : st->most;
    printf("  %-20s %12.2f  ", "unexplained", u);
    if (st->least > 0 && st->most > 0 && st->most < st->least * (1 + SAME)) printf("what the measured factors leave");
    else if (st->least <= 1 && (st->most >= 1 || st->most == 0)) printf("or nothing, if the bounds are taken to their ends");
    else if (end > u * (1 - SAME) && end < u * (1 + SAME)) printf("no less, for the bounds point the other way");
    else printf("or %.2f, if the bounds are taken to their ends", end);
    if (st->mine_spread > 0 && st->theirs_spread > 0)
        printf("; the rounds spread by %.1f %% and %.1f %%%s", st->mine_spread, st->theirs_spread, u < noise && u > 1 / noise ?
               ", which is enough for it" : "");
    puts("\n");
}
static void stage_text(const stage *st) {
    uint32_t i;
    if (st->ratio <= 0) {
        printf("%s: %s no speed\n\n", st->name, st->mine > 0 ? "theirs states" : st->theirs > 0 ? "mine states" : "both state");
        return;
    }
    printf("%s: mine %.4g tok/s, theirs %.4g tok/s, theirs / mine = %.2f\n", st->name, st->mine, st->theirs, st->ratio);
    for (i = 0; i < st->n; i++) factor_text(&st->factors[i]);
    unexplained_text(st);
}
static void compare_text(const comparison *c) {
    uint32_t i;
    int k, any = 0;
    for (i = 0; i < c->n_senseless; i++) { compare_show(c->senseless[i], 0); putchar('\n'); }
    if (c->n_senseless) putchar('\n');
    compare_list(c, "what differs", 1);
    compare_list(c, "stated by one", 0);
    for (k = 0; k < N_QUANTITIES; k++)
        if (quantity_missing(c, k))
            printf("%s%s (%s)", any++ ? ", " : "no factor, because not stated: ", quantity_sources[k].label, missing_from(c, k));
    if (any) puts("\n");
    stage_text(&c->decode);
    stage_text(&c->prefill);
}

static void json_words(const char *key, const char *said) {
    printf(", \"%s\": ", key);
    if (*said) json_text(stdout, said, strlen(said));
    else fputs("null", stdout);
}
static void json_known(const char *key, double x) {
    printf(", \"%s\": ", key);
    if (x > 0) fact_real(stdout, x);
    else fputs("null", stdout);
}
static void compare_json_list(const comparison *c, int differing) {
    const char *first = "{";
    int k;
    for (k = 0; k < N_CONDITIONS; k++) {
        const char *m = c->mine.words[k], *t = c->theirs.words[k];
        if (differing ? !stated_differ(&c->mine, &c->theirs, (enum condition)k) : (*m && *t)) continue;
        json_string(stdout, first, "what", condition_sources[k].label);
        json_words("mine", m);
        json_words("theirs", t);
        putchar('}');
        first = ", {";
    }
    for (k = 0; !differing && k < N_QUANTITIES; k++) {
        if (!quantity_missing(c, k)) continue;
        json_string(stdout, first, "what", quantity_sources[k].label);
        json_known("mine", c->mine.q[k]);
        json_known("theirs", c->theirs.q[k]);
        putchar('}');
        first = ", {";
    }
}
static void stage_json(const stage *st) {
    uint32_t i;
    printf(", \"%s\": {\"ratio\": ", st->name);
    if (st->ratio > 0) fact_real(stdout, st->ratio);
    else fputs("null", stdout);
    json_known("mine_tok_s", st->mine);
    json_known("theirs_tok_s", st->theirs);
    printf(", \"factors\": [");
    for (i = 0; i < st->n; i++) {
        const factor *f = &st->factors[i];
        json_string(stdout, i ? ", {" : "{", "name", f->name);
        json_string(stdout, ", ", "kind", f->measured ? "measured" : "bound");
        json_known("least", f->least);
        json_known("most", f->most);
        json_string(stdout, ", ", "formula", f->formula);
        putchar('}');
    }
    putchar(']');
    json_known("unexplained", st->unexplained);
    json_known("unexplained_least", st->least);
    json_known("unexplained_most", st->most);
    putchar('}');
}
static void compare_json(const comparison *c) {
    uint32_t i;
    printf("{\"comparable\": %s, \"because\": [", c->n_senseless ? "false" : "true");
    for (i = 0; i < c->n_senseless; i++) {
        fputs(i ? ", " : "", stdout);
        json_text(stdout, c->senseless[i], strlen(c->senseless[i]));
    }
    printf("], \"differs\": [");
    compare_json_list(c, 1);
    printf("], \"not_stated\": [");
    compare_json_list(c, 0);
    putchar(']');
    stage_json(&c->decode);
    stage_json(&c->prefill);
    puts("}");
}

// ---- a report for strangers: only what is on these lists, which hold nothing that tells who or where, and in texts no path ----

static const char *const share_texts[] = { "arch", "cpu", "isa", "kv" };
static const char *const share_numbers[] = {
    "threads", "prompt", "gen", "depth", "rounds", "load_ms", "first_token_ms", "prefill_tok_s", "prefill_spread_pct", "decode_tok_s",
    "decode_spread_pct", "decode_gb_s", "read_gb_s", "roofline_pct", "bytes_per_token", "file_bytes", "peak_rss_bytes", "check",
    "check_tokens", "check_distance", "bits_promise",
};
static const char *const share_llama_texts[] = {
    "build_commit", "cpu_info", "gpu_info", "backends", "model_type", "type_k", "type_v", "split_mode", "load_mode",
};
static const char *const share_llama_numbers[] = {
    "build_number", "model_size", "model_n_params", "n_batch", "n_ubatch", "n_threads", "cpu_strict", "poll", "n_gpu_layers", "n_cpu_moe",
    "no_kv_offload", "flash_attn", "use_mmap", "embeddings", "n_prompt", "n_gen", "n_depth", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts",
    "samples_ns", "samples_ts",
};

// A CPU may be called "A10 w/ Radeon Graphics"; any other text with a slash could be a path.
static int share_text_allowed(const char *key, const char *s) {
    const int chip = strcmp(key, "cpu") == 0 || strcmp(key, "cpu_info") == 0 || strcmp(key, "gpu_info") == 0;
    return strlen(s) < 160 && (chip || !strpbrk(s, "/\\"));
}
static int share_number(const json *j, json_at i) {
    const json_value *v = &j->values[i];
    if (v->kind > JSON_NUMBER) return 0;
    if (v->kind == JSON_NUMBER) printf("%.*s", (int)v->n_text, v->text);
    else fputs(v->kind == JSON_NULL ? "null" : v->kind == JSON_TRUE ? "true" : "false", stdout);
    return 1;
}
static void share_numbers_of(const json *j, json_at array) {
    const char *comma = "";
    json_at i;
    putchar('[');
    for (i = j->values[array].first; i != JSON_NONE; i = j->values[i].next) {
        if (j->values[i].kind != JSON_NUMBER) continue;
        fputs(comma, stdout);
        share_number(j, i);
        comma = ", ";
    }
    putchar(']');
}
// `first` is what goes before the member; it is a comma behind one that was written.
static void share_member(const json *j, json_at object, const char *key, int is_text, const char **first) {
    const json_at i = json_member(j, object, key);
    const json_value *v = i == JSON_NONE ? NULL : &j->values[i];
    if (!v || v->kind == JSON_OBJECT || is_text != (v->kind == JSON_STRING) || (is_text && !share_text_allowed(key, v->text))) return;
    printf("%s\"%s\": ", *first, key);
    if (is_text) json_text(stdout, v->text, v->n_text);
    else if (v->kind == JSON_ARRAY) share_numbers_of(j, i);
    else share_number(j, i);
    *first = ", ";
}
static void share_members(const json *j, json_at object, const char *const *keys, size_t n, int is_text, const char **first) {
    size_t i;
    for (i = 0; i < n; i++) share_member(j, object, keys[i], is_text, first);
}
static void share_facts(const json *j, const char *path, const fact *rows, size_t n, const char *first) {
    const json_at object = json_path(j, 0, path);
    size_t i;
    for (i = 0; i < n; i++)
        if (rows[i].kind != FACT_FREE) share_member(j, object, rows[i].name, fact_is_text(rows[i].kind), &first);
}
static void share_types(const json *j) {
    const json_at types = json_path(j, 0, "facts.file.types");
    int any = 0;
    json_at i;
    if (types == JSON_NONE || j->values[types].kind != JSON_ARRAY) return;
    for (i = j->values[types].first; i != JSON_NONE; i = j->values[i].next) {
        const char *const opens = any ? ", {" : "{", *first = opens;
        share_member(j, i, "name", 1, &first);
        share_member(j, i, "n_weights", 0, &first);
        share_member(j, i, "n_bytes", 0, &first);
        if (first == opens) continue;                                  // nothing of it may be shared
        putchar('}');
        any = 1;
    }
}
static void share_own(const json *j) {
    const char *first = "{";
    share_members(j, 0, share_texts, N_FACTS(share_texts), 1, &first);
    share_members(j, 0, share_numbers, N_FACTS(share_numbers), 0, &first);
    if (json_path(j, 0, "facts") != JSON_NONE) {
        printf("%s\"facts\": {\"run\": {", first);
        share_facts(j, "facts.run", run_facts, N_FACTS(run_facts), "");
        fputs("}, \"file\": {\"types\": [", stdout);
        share_types(j);
        putchar(']');
        share_facts(j, "facts.file", file_facts, N_FACTS(file_facts), ", ");
        fputs("}, \"stats\": {", stdout);
        share_facts(j, "facts.stats", stats_facts, N_FACTS(stats_facts), "");
        fputs("}}", stdout);
    }
    puts("}");
}
static void share_llama(const json *j) {
    const char *before = "[";
    json_at i;
    for (i = j->values[0].first; i != JSON_NONE; i = j->values[i].next) {
        const char *first = "{";
        fputs(before, stdout);
        share_members(j, i, share_llama_texts, N_FACTS(share_llama_texts), 1, &first);
        share_members(j, i, share_llama_numbers, N_FACTS(share_llama_numbers), 0, &first);
        puts(first[0] == ',' ? "}" : "{}");
        before = ", ";
    }
    puts("]");
}

// ---- the command ----

static int compare_read(side *s, const char *path, const side *like) {
    if (!json_load(path, &s->j)) return 0;
    return side_is_llama(s) ? side_read_llama(s, like, path) : side_read_own(s, path);
}

static int command_compare(session *s) {
    comparison *c = (comparison *)calloc(1, sizeof *c);
    int good;
    if (!c) { complain("out of memory"); return EXIT_FAILED; }
    if (s->o.share) {
        good = compare_read(&c->mine, s->o.model, NULL);
        if (good && side_is_llama(&c->mine)) share_llama(&c->mine.j);
        else if (good) share_own(&c->mine.j);
    } else {
        good = compare_read(&c->mine, s->o.model, NULL) && compare_read(&c->theirs, s->o.theirs, &c->mine);
        // Of several tests in MINE, those that THEIRS made too.
        if (good && side_is_llama(&c->mine)) good = side_read_llama(&c->mine, &c->theirs, s->o.model);
        if (good) {
            compare_sense(c);
            compare_decode(&c->decode, &c->mine, &c->theirs);
            compare_prefill(&c->prefill, &c->mine, &c->theirs);
            if (s->o.json) compare_json(c);
            else compare_text(c);
        }
    }
    json_free(&c->mine.j);
    json_free(&c->theirs.j);
    free(c);
    return good ? written() : EXIT_FAILED;
}
