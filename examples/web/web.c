// web.c - the library behind a web page: what worker.js calls, over the public API alone. Bytes of the model come from the page when
// they are asked for, so a file of the visitor's own is never copied whole.
//
//     make web && python3 -m http.server -d build/web
#define LLM_IMPLEMENTATION
#define LLM_NO_STDIO
#include "llm.h"

#define FROM_PAGE(name) __attribute__((import_module("page"), import_name(#name))) name
#define TO_PAGE(name)   __attribute__((export_name(#name))) name

// 53 bits of offset are more than any file has, and what JavaScript calls a number.
extern size_t FROM_PAGE(read_at)(double offset, void *to, size_t n);
extern void   FROM_PAGE(progress)(int stage, double fraction);
extern double FROM_PAGE(now_us)(void);

typedef struct web { llm_model *model; llm_ctx *ctx; llm_error why; } web;
static web it;                         // a worker holds one model and one conversation

static size_t read_part(void *user, uint64_t offset, void *to, size_t n) {
    (void)user;
    return read_at((double)offset, to, n);
}
static int show_progress(void *user, int stage, float fraction) {
    (void)user;
    progress(stage, (double)fraction);
    return 1;
}
static uint64_t clock_us(void *user) {
    (void)user;
    return (uint64_t)now_us();
}
static int fails(llm_result r) {
    if (r < LLM_OK) it.why = *llm_last_error(it.ctx);
    return r < LLM_OK;
}

// Where the page writes text: n bytes, freed by give_back.
void *TO_PAGE(take)(size_t n) { return malloc(n); }
void  TO_PAGE(give_back)(void *p) { free(p); }

// The model that read_at reads instead of the one before. 0: `reason` says why not, and there is none.
int TO_PAGE(load)(double bytes) {
    llm_model_desc desc;
    llm_reader reader;
    llm_close(it.ctx);
    llm_unload(it.model);
    it.ctx = NULL;                     // not to be closed twice, should the page throw where it reads
    it.model = NULL;
    memset(&desc, 0, sizeof desc);
    desc.progress.progress_fn = show_progress;
    desc.clock.now_us = clock_us;
    reader.user = NULL; reader.size = (uint64_t)bytes; reader.read_at = read_part;
    it.model = llm_load_reader(&reader, &desc, &it.why);
    it.ctx = llm_open(it.model, NULL, &it.why);
    return it.ctx != NULL;
}

// A new conversation that begins with this question. The same seed repeats the same answer.
int TO_PAGE(ask)(const char *question, double seed) {
    llm_sampling sampling = LLM_SAMPLING_DEFAULT;
    sampling.seed = seed >= 0 && seed < 18446744073709551616.0 ? (uint64_t)seed : 0;        // a page may say anything
    return !fails(llm_rewind(it.ctx, 0)) && !fails(llm_set_sampling(it.ctx, &sampling)) && !fails(llm_say(it.ctx, "user", question));
}

// The next piece of the answer, or NULL: it is over, or `reason` says why it broke off.
const char *TO_PAGE(next)(void) {
    const char *piece = llm_next(it.ctx, NULL);
    it.why.code = LLM_OK;
    it.why.text[0] = 0;
    if (!piece && llm_why(it.ctx) == LLM_STOP_ERROR) it.why = *llm_last_error(it.ctx);
    return piece;
}
const char *TO_PAGE(reason)(void) { return it.why.text; }

// About the model, and about the answer so far.
static llm_stats_info stats(void) {
    llm_stats_info s;
    s.struct_bytes = 0;
    llm_stats(it.ctx, &s);
    return s;
}
static llm_info info(void) {
    llm_info i;
    i.struct_bytes = 0;
    llm_model_info(it.model, &i);
    return i;
}
const char *TO_PAGE(name)(void) { return info().name; }
double      TO_PAGE(parameters)(void) { return (double)info().n_params; }
const char *TO_PAGE(kernels)(void) { return llm_isa_name(stats().isa); }
int         TO_PAGE(same_bits)(void) { return (int)stats().bits_promise; }
double      TO_PAGE(tokens)(void) { return (double)stats().decode_tokens; }
double      TO_PAGE(decode_ms)(void) { return stats().decode_ms; }
double      TO_PAGE(first_ms)(void) { return stats().first_token_ms; }
double      TO_PAGE(memory_bytes)(void) { llm_stats_info s = stats(); return (double)(s.weight_bytes + s.kv_bytes + s.scratch_bytes); }
