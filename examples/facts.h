// facts.h - what is known of a run, as JSON: the file, the run and everything that llm_stats says. Numbers that are not known are 0 there
// and here, texts "".

//------------------------------------------------------------------------------------------------------------------------------
// >>facts   Three tables: the writer goes along them, and so does what a shared report may contain. Nothing in them names a person, a place
//           or a path; FREE is text that a model file chose, and is not shared.

typedef struct facts_run {
    const char *program, *cpu;
    const char *prefill_timing, *decode_timing;            // what the times include
    uint32_t n_ctx, n_batch, prompt, gen, depth, rounds;
} facts_run;

typedef enum fact_kind {
    FACT_FREE, FACT_TEXT, FACT_HEX, FACT_ISA, FACT_MAPPING, FACT_KV,         // texts
    FACT_U32, FACT_U64, FACT_REAL, FACT_YES
} fact_kind;

typedef struct fact { const char *name; fact_kind kind; size_t offset; } fact;

#define FACT(kind, field) { #field, FACT_##kind, offsetof(facts_run, field) }
static const fact run_facts[] = {
    FACT(TEXT, program), FACT(TEXT, cpu), FACT(TEXT, prefill_timing), FACT(TEXT, decode_timing),
    FACT(U32, n_ctx), FACT(U32, n_batch), FACT(U32, prompt), FACT(U32, gen), FACT(U32, depth), FACT(U32, rounds),
};
#undef FACT

#define FACT(kind, field) { #field, FACT_##kind, offsetof(llm_info, field) }
static const fact file_facts[] = {
    FACT(TEXT, arch), FACT(FREE, name), FACT(FREE, size_label),
    FACT(U64, n_params), FACT(U64, file_bytes), FACT(U64, weight_bytes), FACT(U64, bytes_per_token), FACT(REAL, bits_per_weight),
    FACT(U32, n_layer), FACT(U32, n_embd), FACT(U32, n_vocab), FACT(U32, n_expert), FACT(U32, n_expert_used), FACT(U32, n_ctx_train),
};
#undef FACT

#define FACT(kind, field) { #field, FACT_##kind, offsetof(llm_stats_info, field) }
static const fact stats_facts[] = {
    FACT(U32, n_threads_asked), FACT(U32, n_threads), FACT(ISA, isa), FACT(MAPPING, mapping), FACT(KV, kv_type),
    FACT(YES, bits_promise), FACT(TEXT, bits_reason),
    FACT(REAL, open_ms), FACT(REAL, parse_ms), FACT(REAL, vocab_ms), FACT(REAL, bind_ms), FACT(REAL, load_ms),
    FACT(REAL, prefill_ms), FACT(REAL, first_token_ms), FACT(REAL, decode_ms),
    FACT(U64, prefill_tokens), FACT(U64, decode_tokens), FACT(U64, reused_tokens), FACT(U64, reevaluated_tokens),
    FACT(U64, weight_bytes), FACT(U64, kv_bytes), FACT(U64, scratch_bytes), FACT(U64, bytes_per_token), FACT(U64, f16_saturated),
    FACT(REAL, for_calls_per_token), FACT(U32, n_tensors_scalar),
    FACT(REAL, probe_gb_s), FACT(REAL, decode_gb_s), FACT(REAL, roofline_pct),
    FACT(U64, pool_spins), FACT(U64, pool_sleeps), FACT(U64, n_allocs),
    FACT(TEXT, compiler), FACT(TEXT, isas_compiled), FACT(ISA, isa_asked), FACT(ISA, isa_best), FACT(YES, optimized),
    FACT(HEX, file_fingerprint), FACT(TEXT, file_system), FACT(TEXT, name_type), FACT(REAL, name_bits), FACT(REAL, bits_per_weight),
    FACT(TEXT, backend), FACT(TEXT, attention), FACT(REAL, scalar_pct),
    FACT(TEXT, mapping_reason), FACT(U64, kv_limit_bytes),
    FACT(U64, file_resident_bytes), FACT(U64, anonymous_bytes), FACT(U64, swapped_bytes), FACT(U64, peak_rss_bytes),
    FACT(U64, weights_resident_bytes), FACT(U64, mem_total), FACT(U64, mem_available), FACT(U64, swap_total), FACT(U64, swap_used),
    FACT(U64, mem_limit), FACT(TEXT, mem_limit_by), FACT(REAL, mem_pressure_pct), FACT(YES, swap_is_zram), FACT(YES, from_path),
    FACT(REAL, major_faults_per_token), FACT(REAL, minor_faults_per_token), FACT(REAL, cpu_busy_pct), FACT(REAL, cpu_user_pct),
    FACT(REAL, preempted_per_token), FACT(U32, cpus_online), FACT(U32, cpus_allowed_at_load), FACT(U32, cpus_allowed),
    FACT(U32, n_performance_cores), FACT(U32, cpu_quota), FACT(U32, n_threads_resting), FACT(U32, cores_asked), FACT(U32, cores),
    FACT(TEXT, cores_reason), FACT(HEX, pinned_cpus), FACT(U64, rows_most), FACT(U64, rows_least),
    FACT(REAL, map_ms), FACT(REAL, first_touch_ms), FACT(REAL, decode_p50_ms), FACT(REAL, decode_p90_ms), FACT(REAL, decode_p99_ms),
    FACT(REAL, burst_gb_s), FACT(REAL, recent_gb_s), FACT(U32, burst_mhz), FACT(U32, cpu_mhz), FACT(U32, cpu_mhz_max),
    FACT(REAL, temperature_c), FACT(TEXT, power_mode), FACT(YES, on_battery), FACT(YES, host_threads), FACT(REAL, quota_throttled_pct), FACT(U32, cpu_share),
};
#undef FACT

#define N_FACTS(table) (sizeof table / sizeof table[0])

static int fact_is_text(fact_kind kind) { return kind < FACT_U32; }

// JSON has no infinity and no NaN.
static void fact_real(FILE *f, double x) {
    if (x - x == 0) fprintf(f, "%.9g", x);
    else fputs("null", f);
}
static void fact_value(FILE *f, const fact *row, const void *base) {
    const char *at = (const char *)base + row->offset, *s;
    char hex[20];
    switch (row->kind) {
    case FACT_U32:  fprintf(f, "%lu", (unsigned long)*(const uint32_t *)(const void *)at); return;
    case FACT_U64:  fprintf(f, "%llu", (unsigned long long)*(const uint64_t *)(const void *)at); return;
    case FACT_YES:  fputs(*(const uint32_t *)(const void *)at ? "true" : "false", f); return;
    case FACT_REAL: fact_real(f, *(const double *)(const void *)at); return;
    case FACT_HEX:
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)*(const uint64_t *)(const void *)at);
        s = hex;
        break;
    case FACT_ISA:
        s = *(const llm_isa *)(const void *)at == LLM_ISA_AUTO ? "auto" : llm_isa_name(*(const llm_isa *)(const void *)at);
        break;
    case FACT_MAPPING: s = *(const llm_mapping *)(const void *)at == LLM_READ ? "read" : "map"; break;
    case FACT_KV:      s = kv_name(*(const llm_kv_type *)(const void *)at); break;
    default:           s = *(const char *const *)(const void *)at; break;
    }
    if (!s) s = "";
    json_text(f, s, strlen(s));
}
static void facts_group(FILE *f, const fact *rows, size_t n, const void *base) {
    size_t i;
    for (i = 0; i < n; i++) {
        fprintf(f, "%s\"%s\": ", i ? ", " : "", rows[i].name);
        fact_value(f, &rows[i], base);
    }
}

// One JSON object: {"run": {...}, "file": {..., "types": [...]}, "stats": {...}}.
static void facts_json(FILE *f, const llm_stats_info *stats, const llm_info *info, const facts_run *run) {
    uint32_t t;
    fputs("{\"run\": {", f);
    facts_group(f, run_facts, N_FACTS(run_facts), run);
    fputs("}, \"file\": {", f);
    facts_group(f, file_facts, N_FACTS(file_facts), info);
    fputs(", \"types\": [", f);
    for (t = 0; t < info->n_types; t++) {
        json_string(f, t ? ", {" : "{", "name", info->types[t].name);
        fprintf(f, ", \"n_weights\": %llu, \"n_bytes\": %llu}", (unsigned long long)info->types[t].n_weights,
                (unsigned long long)info->types[t].n_bytes);
    }
    fputs("]}, \"stats\": {", f);
    facts_group(f, stats_facts, N_FACTS(stats_facts), stats);
    fputs("}}", f);
}
