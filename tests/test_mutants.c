// test_mutants.c - one field of a sound file is changed at a time (MUT): every field of three small models, at every value that has
// broken a reader somewhere. A mutant either loads and works, and then it stands in the list of those that may, or is refused with one
// sentence that names the field. Under the sanitizers, between guard pages, with every byte counted. FR-001 to FR-015 by name.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "gguf_writer.h"
#include "golden.h"
#include "hostile.h"
#include "vocabulary_models.h"
#include <time.h>

enum { MAX_FIELDS = 400 };

// What a single request may exceed the size of the file by.
#define BUDGET 4096u

//------------------------------------------------------------------------------------------------------------------------------
// The fields of a sound file, by a walk of the test's own.

enum { MAGIC, VERSION, COUNT, LENGTH, TEXT, VALUE_TYPE, ELEM_TYPE, INTEGER, REAL, N_DIMS, DIM, STORED_TYPE, OFFSET, KINDS };
typedef struct field { int kind, is_tensor; size_t at, bytes; char owner[64]; const char *what; } field;
static field fields[MAX_FIELDS];
static size_t n_fields;
static char owner_now[64];
static int tensor_now;

static uint64_t number_at(const unsigned char *p, size_t bytes) {
    uint64_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}
static void note(int kind, const char *what, size_t at, size_t bytes) {
    field *f = &fields[n_fields];
    if (n_fields == MAX_FIELDS) { CHECK(!"more fields than there is room for"); return; }
    n_fields++;
    f->kind = kind; f->what = what; f->at = at; f->bytes = bytes; f->is_tensor = tensor_now;
    strcpy(f->owner, owner_now);
}
static size_t walk_name(const unsigned char *p, size_t at, int is_tensor) {
    size_t n = (size_t)number_at(p + at, 8);
    tensor_now = is_tensor;
    sprintf(owner_now, "%.*s", (int)n, (const char *)p + at + 8);
    note(LENGTH, "length of the name", at, 8);
    note(TEXT, "name", at + 8, n);
    return at + 8 + n;
}
static size_t walk_value(const unsigned char *p, size_t at, uint32_t type, int noted) {
    static const size_t bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    size_t n = bytes[type];
    if (type == GW_STRING) {
        n = (size_t)number_at(p + at, 8);
        if (noted) { note(LENGTH, "length", at, 8); note(TEXT, "text", at + 8, n); }
        return at + 8 + n;
    }
    if (noted) note(type == GW_F32 || type == GW_F64 ? REAL : INTEGER, "value", at, n);
    return at + n;
}
static size_t walk_kv(const unsigned char *p, size_t at) {
    uint32_t type;
    uint64_t n, i;
    at = walk_name(p, at, 0);
    type = (uint32_t)number_at(p + at, 4);
    note(VALUE_TYPE, "value type", at, 4);
    at += 4;
    if (type != GW_ARRAY) return walk_value(p, at, type, 1);
    note(ELEM_TYPE, "element type", at, 4);
    note(LENGTH, "number of elements", at + 4, 8);
    type = (uint32_t)number_at(p + at, 4);
    n = number_at(p + at + 4, 8);
    for (at += 12, i = 0; i < n; i++) at = walk_value(p, at, type, i == 0 || i == n / 2 || i == n - 1);
    return at;
}
static size_t walk_tensor(const unsigned char *p, size_t at) {
    uint32_t n, i;
    at = walk_name(p, at, 1);
    n = (uint32_t)number_at(p + at, 4);
    note(N_DIMS, "number of dimensions", at, 4);
    for (at += 4, i = 0; i < n; i++, at += 8) note(DIM, i == 0 ? "dimension 0" : i == 1 ? "dimension 1" : "dimension 2", at, 8);
    note(STORED_TYPE, "stored type", at, 4);
    note(OFFSET, "offset", at + 4, 8);
    return at + 12;
}
static size_t walk(const unsigned char *p) {
    size_t at = 24;
    uint64_t i, n_tensors = number_at(p + 8, 8), n_kv = number_at(p + 16, 8);
    n_fields = 0;
    tensor_now = 0;
    strcpy(owner_now, "header");
    note(MAGIC, "magic", 0, 4);
    note(VERSION, "version", 4, 4);
    note(COUNT, "number of tensors", 8, 8);
    note(COUNT, "number of keys", 16, 8);
    for (i = 0; i < n_kv; i++) at = walk_kv(p, at);
    for (i = 0; i < n_tensors; i++) at = walk_tensor(p, at);
    return at;
}

//------------------------------------------------------------------------------------------------------------------------------
// The values that a field gets.

enum { MAX_VALUES = 32 };

static size_t add_value(uint64_t *values, size_t n, uint64_t v, size_t bytes, uint64_t old) {
    size_t i;
    if (bytes < 8) v &= ((uint64_t)1 << 8 * bytes) - 1;
    for (i = 0; i < n; i++) if (values[i] == v) return n;
    if (v == old || n == MAX_VALUES) return n;
    values[n] = v;
    return n + 1;
}
static size_t integer_values(const field *f, uint64_t old, uint64_t *values) {
    static const uint64_t wraps[] = { 0, 1, 2, 3, UINT64_MAX, UINT64_MAX - 1, 0x7fffffffffffffffu, 0x8000000000000000u, 0x7fffffffu, 0x80000000u,
                                      0xffffffffu, 0x100000000u, 0x10000000000u, 0x1000000000000000u, 0x2000000000000000u, 0x4000000000000001u, 0xffff, 0x10000 };
    size_t i, n = 0;
    n = add_value(values, n, old - 1, f->bytes, old);
    n = add_value(values, n, old + 1, f->bytes, old);
    n = add_value(values, n, old * 2, f->bytes, old);
    n = add_value(values, n, old * 1000003u, f->bytes, old);
    n = add_value(values, n, 0 - old, f->bytes, old);
    if (f->bytes == 8) {
        n = add_value(values, n, old + ((uint64_t)1 << 32), f->bytes, old);              // what 32 bits would not see
        n = add_value(values, n, UINT64_MAX / 96, f->bytes, old);                        // what times the size of a record wraps
        n = add_value(values, n, UINT64_MAX / 13 + 1, f->bytes, old);
        n = add_value(values, n, UINT64_MAX - 63, f->bytes, old);
    }
    for (i = 0; i < sizeof wraps / sizeof *wraps; i++) n = add_value(values, n, wraps[i], f->bytes, old);
    return n;
}
static size_t type_values(const field *f, uint64_t old, uint64_t *values) {
    size_t n = 0;
    uint64_t v;
    for (v = 0; v < (f->kind == STORED_TYPE ? 20u : 14u); v++) n = add_value(values, n, v, f->bytes, old);
    n = add_value(values, n, 26, f->bytes, old);
    n = add_value(values, n, 31, f->bytes, old);
    n = add_value(values, n, 43, f->bytes, old);
    n = add_value(values, n, 255, f->bytes, old);
    n = add_value(values, n, 999, f->bytes, old);
    n = add_value(values, n, 0x7fffffff, f->bytes, old);
    return add_value(values, n, UINT32_MAX, f->bytes, old);
}
static size_t real_values(const field *f, uint64_t old, uint64_t *values) {
    static const uint32_t bits[] = { 0, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7fc00000u, 0x7f800000u, 0xff800000u, 0x7f7fffffu, 1, 0x49742400u };
    size_t i, n = 0;                             // 0, -0, 1, -1, NaN, inf, -inf, the largest, the smallest, a million
    for (i = 0; i < sizeof bits / sizeof *bits; i++) n = add_value(values, n, bits[i], f->bytes, old);
    return n;
}
// A text changes by its first or its last byte: to NUL, to what is no UTF-8, to another letter. The last names something absent.
static size_t text_values(const field *f, uint64_t *values) {
    size_t n = 0;
    if (!f->bytes) return 0;
    values[n++] = 0;
    values[n++] = 0xff;
    values[n++] = 'Z';
    if (f->bytes > 1) { values[n] = values[0] | 0x100; n++; values[n++] = 0x1ff; values[n++] = 0x100 | 'Z'; }
    return n;
}
static size_t values_of(const field *f, const unsigned char *p, uint64_t *values) {
    uint64_t old = f->kind == TEXT ? 0 : number_at(p + f->at, f->bytes);
    switch (f->kind) {
    case TEXT: return text_values(f, values);
    case REAL: return real_values(f, old, values);
    case VALUE_TYPE: case ELEM_TYPE: case STORED_TYPE: return type_values(f, old, values);
    default: return integer_values(f, old, values);
    }
}
static void mutate(unsigned char *p, const field *f, uint64_t v) {
    if (f->kind == TEXT) p[v & 0x100 ? f->at + f->bytes - 1 : f->at] = (unsigned char)v;
    else gw_patch(p, f->at, v, (int)f->bytes);
}

//------------------------------------------------------------------------------------------------------------------------------
// A mutant is tried.

typedef struct trial { llm_error e; int loaded; uint64_t largest; double ms; } trial;
typedef struct strict_reader { const unsigned char *p; size_t n; int outside; } strict_reader;
static guard file_room;

static size_t strict_read(void *user, uint64_t offset, void *dst, size_t n) {
    strict_reader *r = (strict_reader *)user;
    if (!n || offset > r->n || n > r->n - offset) { r->outside++; return 0; }
    memcpy(dst, r->p + offset, n);
    return n;
}
static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
// Everything that a loaded model offers, a little of each; what does not work must say so and go on.
static void use(llm_model *m, const llm__gguf_kv *kv, uint32_t n_kv) {
    static const llm_token tokens[4] = { 5, 100, 5, 7 };
    const llm_message hello = { "user", "ab a" };
    llm_ctx_desc d;
    llm_error e;
    llm_ctx *c;
    llm_info info;
    llm_token t[64];
    char text[256], key[128];
    uint32_t i;
    memset(&d, 0, sizeof d);
    memset(&info, 0, sizeof info);
    d.n_ctx = 32;
    d.n_batch = 3;
    d.max_tokens = 2;
    llm_model_info(m, &info);
    for (i = 0; i < n_kv; i++) { llm__format(key, sizeof key, "%v", &kv[i].key); llm_meta(m, key, text, sizeof text); }
    for (i = 0; i < 8; i++) llm_is_eog(m, llm_special_token(m, (llm_special)i));
    llm_tokenize(m, "ab \xff<|im_end|>\xc3\xa9", 16, LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, t, 64);
    llm_detokenize(m, tokens, 4, LLM_SHOW_SPECIAL, text, sizeof text);
    llm_render_chat(m, NULL, &hello, 1, LLM_GENERATION_PROMPT, text, sizeof text, &e);
    c = llm_open(m, &d, &e);
    if (!c) { CHECK(one_sentence(&e)); return; }
    if (llm_eval(c, tokens, 4) != LLM_OK || llm_sample(c) < 0) CHECK(one_sentence(llm_last_error(c)));
    if (llm_say(c, "user", "ab a") == LLM_OK && !llm_next(c, NULL) && llm_why(c) == LLM_STOP_ERROR) CHECK(one_sentence(llm_last_error(c)));
    llm_close(c);
}
static void try_once(trial *t, const unsigned char *bytes, size_t n, int route) {
    ledger l;
    llm_model_desc d;
    llm_model *m;
    strict_reader reader;
    llm_reader r;
    const unsigned char *placed = bytes;
    double begin;
    ledger_init(&l);
    memset(&d, 0, sizeof d);
    d.allocator = ledger_hook(&l);
    d.n_threads = 1;
    reader.p = bytes; reader.n = n; reader.outside = 0;
    r.user = &reader; r.size = n; r.read_at = strict_read;
    if (route == 0) placed = (const unsigned char *)memcpy(guard_end(&file_room, n), bytes, n);
    if (route == 1) placed = (const unsigned char *)memcpy(file_room.room, bytes, n);
    begin = now_ms();
    m = route < 2 ? llm_load_memory(placed, n, &d, &t->e) : llm_load_reader(&r, &d, &t->e);
    t->ms = now_ms() - begin;
    t->loaded = m != NULL;
    t->largest = l.largest;
    CHECK(m ? t->e.code == LLM_OK && !t->e.text[0] : one_sentence(&t->e));
    CHECK_EQ(reader.outside, 0);
    if (m) use(m, m->gguf.kv, m->gguf.n_kv);
    else CHECK_EQ(l.live, 0);
    llm_unload(m);
    CHECK_EQ(l.live, 0);
    CHECK_EQ(l.bad, 0);
}
// A plan reads the same directory: what it refuses does not load.
static void try_plan(const trial *t, const unsigned char *bytes, size_t n) {
    llm_plan_info plan;
    llm_error e;
    llm_result r;
    ledger l;
    llm_model_desc d;
    ledger_init(&l);
    memset(&d, 0, sizeof d);
    memset(&plan, 0, sizeof plan);
    d.allocator = ledger_hook(&l);
    r = llm_plan_memory(memcpy(guard_end(&file_room, n), bytes, n), n, &d, NULL, &plan, &e);
    CHECK(r == LLM_OK || (!t->loaded && one_sentence(&e)));
    CHECK(l.live == 0 && l.bad == 0);
}
static trial try_mutant(const unsigned char *bytes, size_t n, const char *name) {
    static unsigned turn;
    unsigned long failed = test_now.failed;
    trial t, other;
    int k;
    try_once(&t, bytes, n, (int)(turn++ % 2));
    try_once(&other, bytes, n, 2);
    CHECK_EQ(other.e.code, t.e.code);
    if (n) CHECK_TEXT(other.e.text, t.e.text);   // without any byte each route has its own words
    CHECK(t.largest <= n + BUDGET && other.largest <= n + BUDGET);
    for (k = 0; !SANITIZED && k < 5 && t.ms >= 50; k++) { other = t; try_once(&t, bytes, n, 0); }
    CHECK(SANITIZED || t.ms < 50);
    try_plan(&t, bytes, n);
    if (test_now.failed != failed) printf("  mutant: %s: %d '%s'\n", name, (int)t.e.code, t.e.text);
    return t;
}

//------------------------------------------------------------------------------------------------------------------------------
// Which mutants may load. Whatever is not in this list must be refused.

static int anything(uint64_t v) { (void)v; return 1; }
static int finite_bits(uint64_t v) { return (v & 0x7f800000u) != 0x7f800000u; }
static int above_one(uint64_t v) { return finite_bits(v) && v > 0x3f800000u && v < 0x80000000u; }
static int zero(uint64_t v) { return v == 0; }
static int zero_or_two(uint64_t v) { return v == 0 || v == 2; }
static int one_to_four(uint64_t v) { return v >= 1 && v <= 4; }
static int two(uint64_t v) { return v == 2; }
static int positive_31(uint64_t v) { return v >= 1 && v <= 0x7fffffffu; }
static int int32_type(uint64_t v) { return v == GW_I32; }
static int one_byte_type(uint64_t v) { return v == GW_U8 || v == GW_I8; }
static int four_byte_type(uint64_t v) { return v == GW_I32 || v == GW_F32; }
static int other_byte(uint64_t v) { return (v & 0xff) != 0; }

typedef struct permit { int kind; const char *what, *owner; int (*fits)(uint64_t v); } permit;       // owner: how its name ends
static const permit permits[] = {
    { VERSION, "version", "header", two },
    { INTEGER, "value", ".context_length", positive_31 },                              // a context of any length is sound
    { INTEGER, "value", ".vocab_size", anything },                                     // not read: the embedding's rows count
    { INTEGER, "value", "qwen3moe.feed_forward_length", anything },                    // experts have their own
    { INTEGER, "value", ".original_context_length", anything },
    { INTEGER, "value", ".rope.dimension_count", zero_or_two }, { INTEGER, "value", ".key_length", zero },
    { INTEGER, "value", ".value_length", zero }, { INTEGER, "value", ".expert_used_count", one_to_four },
    { INTEGER, "value", ".sliding_window", anything }, { INTEGER, "value", ".sliding_window_pattern", anything },
    { INTEGER, "value", "_token_id", anything }, { INTEGER, "value", ".token_type", anything },
    { INTEGER, "value", ".add_bos_token", anything }, { INTEGER, "value", ".add_space_prefix", anything },
    { REAL, "value", ".layer_norm_rms_epsilon", finite_bits }, { REAL, "value", ".scores", anything },
    { REAL, "value", ".rope.freq_base", above_one }, { REAL, "value", ".freq_base_swa", above_one },
    { REAL, "value", ".expert_weights_scale", finite_bits }, { REAL, "value", ".rope.scaling.factor", finite_bits },
    { REAL, "value", ".yarn_beta_fast", finite_bits }, { REAL, "value", ".yarn_beta_slow", finite_bits },
    { REAL, "value", ".final_logit_softcapping", finite_bits },
    { VALUE_TYPE, "value type", "_length", int32_type }, { VALUE_TYPE, "value type", "_count", int32_type },
    { VALUE_TYPE, "value type", ".head_count_kv", int32_type }, { VALUE_TYPE, "value type", ".sliding_window", int32_type },
    { VALUE_TYPE, "value type", "_token_id", int32_type }, { VALUE_TYPE, "value type", ".alignment", int32_type },
    { VALUE_TYPE, "value type", ".vocab_size", four_byte_type },
    { ELEM_TYPE, "element type", ".scores", int32_type }, { ELEM_TYPE, "element type", ".sliding_window_pattern", one_byte_type },
    // texts that are data, or names of what the model is described by otherwise
    { TEXT, "text", "general.name", anything }, { TEXT, "text", ".chat_template", anything }, { TEXT, "text", ".tokens", anything },
    { TEXT, "text", ".merges", anything }, { TEXT, "text", ".ggml.model", anything }, { TEXT, "text", ".ggml.pre", anything },
    // keys and tensors that may be absent: an error of llm_load says which ones may not
    { TEXT, "name", "general.alignment", other_byte }, { TEXT, "name", "general.name", other_byte },
    { TEXT, "name", ".layer_norm_rms_epsilon", other_byte }, { TEXT, "name", ".rope.dimension_count", other_byte },
    { TEXT, "name", ".rope.freq_base", other_byte }, { TEXT, "name", ".freq_base_swa", other_byte },
    { TEXT, "name", ".vocab_size", other_byte }, { TEXT, "name", "qwen3moe.feed_forward_length", other_byte },
    { TEXT, "name", ".key_length", other_byte }, { TEXT, "name", ".value_length", other_byte },
    { TEXT, "name", ".expert_weights_scale", other_byte }, { TEXT, "name", ".rope.scaling.factor", other_byte },
    { TEXT, "name", ".rope.scaling.type", other_byte }, { TEXT, "name", ".original_context_length", other_byte },
    { TEXT, "name", ".yarn_beta_fast", other_byte }, { TEXT, "name", ".yarn_beta_slow", other_byte },
    { TEXT, "name", ".sliding_window", other_byte }, { TEXT, "name", ".sliding_window_pattern", other_byte },
    { TEXT, "name", ".final_logit_softcapping", other_byte }, { TEXT, "name", ".chat_template", other_byte },
    { TEXT, "name", ".ggml.model", other_byte }, { TEXT, "name", ".ggml.pre", other_byte }, { TEXT, "name", ".tokens", other_byte },
    { TEXT, "name", ".scores", other_byte }, { TEXT, "name", ".token_type", other_byte }, { TEXT, "name", ".merges", other_byte },
    { TEXT, "name", "_token_id", other_byte }, { TEXT, "name", ".add_bos_token", other_byte },
    { TEXT, "name", ".add_space_prefix", other_byte },
    { TEXT, "name", "output.weight", other_byte }, { TEXT, "name", "rope_freqs.weight", other_byte }
};
static int ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}
// A tensor may be of any type whose blocks fill its rows and that takes no more than the room it has.
static int type_fits(const field *f, const unsigned char *good, uint64_t v) {
    const golden_type *was = NULL, *is = NULL;
    uint64_t cols;
    size_t i, first = f->at - 8;                 // the dimensions stand before the type, and their number before them
    while (number_at(good + first - 4, 4) != (f->at - first) / 8) first -= 8;
    cols = number_at(good + first, 8);
    for (i = 0; i < GOLDEN_N_TYPES; i++) {
        if (golden_types[i].id == v) is = &golden_types[i];
        if (golden_types[i].id == number_at(good + f->at, 4)) was = &golden_types[i];
    }
    return was && is && cols % is->weights == 0 && cols / is->weights * is->bytes <= cols / was->weights * was->bytes;
}
static int may_load(const field *f, const unsigned char *good, uint64_t v) {
    size_t i;
    if (f->kind == STORED_TYPE) return !ends_with(f->owner, "rope_freqs.weight") && type_fits(f, good, v);
    for (i = 0; i < sizeof permits / sizeof *permits; i++) {
        const permit *p = &permits[i];
        if (p->kind == f->kind && strcmp(p->what, f->what) == 0 && ends_with(f->owner, p->owner) && p->fits(v)) return 1;
    }
    return 0;
}
// The sentence names the field's owner. Where the change moves everything behind it, it names the entry at which reading went wrong; where
// sizes disagree, the tensor that disagrees.
static int names_it(const field *f, const char *text) {
    const char *last = strrchr(f->owner, '.');
    if (strstr(text, f->owner) || (last && !f->is_tensor && strstr(text, last + 1))) return 1;
    switch (f->kind) {
    case MAGIC: return strstr(text, "not a GGUF file") != NULL;
    case VERSION: return strstr(text, "version") != NULL;
    case COUNT: case LENGTH: case VALUE_TYPE: case ELEM_TYPE: case N_DIMS: return strstr(text, "key") || strstr(text, "tensor");
    case TEXT: return strstr(text, "NUL") || strstr(text, "tensor '") || strstr(text, "architecture '") || strstr(text, "rotary scaling '");
    case DIM: return strstr(text, "tensor '") != NULL;
    case INTEGER: return strstr(text, "tensor '") || strstr(text, ".rope.dimension_count' is") || strstr(text, "_pattern");
    default: return 0;
    }
}
// A damaged file, or, where what is asked for is sound but not to be had here, an unsupported one.
static int right_code(const field *f, const trial *t) {
    if (t->e.code == LLM_BAD_FILE) return 1;
    if (t->e.code != LLM_UNSUPPORTED) return 0;
    return f->kind == VERSION || f->kind == STORED_TYPE || f->kind == N_DIMS || (f->kind == TEXT && strcmp(f->what, "text") == 0) ||
           strstr(t->e.text, "array of arrays") || strstr(t->e.text, "heads of");
}

//------------------------------------------------------------------------------------------------------------------------------

static unsigned long all_mutants, all_loaded;
static uint64_t most_beyond;                     // the largest request, less the size of the file

static void judge(const field *f, const unsigned char *good, uint64_t v, const trial *t, size_t n, const char *name) {
    unsigned long failed = test_now.failed;
    all_mutants++;
    all_loaded += t->loaded ? 1 : 0;
    if (t->largest > n && t->largest - n > most_beyond) most_beyond = t->largest - n;
    if (t->loaded) CHECK(may_load(f, good, v));
    else {
        CHECK(right_code(f, t));
        CHECK(names_it(f, t->e.text));
    }
    if (test_now.failed != failed) printf("  mutant: %s: %d '%s'\n", name, (int)t->e.code, t->e.text);
}
static void mutants_of(const small_base *b) {
    gguf_writer w;
    size_t n, i, k, count;
    unsigned char *good = b->write(&n, &w), *bytes = (unsigned char *)malloc(n);
    uint64_t values[MAX_VALUES];
    char name[256];
    trial t;
    SECTION(b->name);
    if (!bytes) abort();
    CHECK_EQ(walk(good), w.n_directory);
    t = try_mutant(good, n, "none");
    if (!CHECK(t.loaded)) printf("  %s\n", t.e.text);
    for (i = 0; i < n_fields; i++) {
        count = values_of(&fields[i], good, values);
        for (k = 0; k < count; k++) {
            memcpy(bytes, good, n);
            mutate(bytes, &fields[i], values[k]);
            sprintf(name, "%s: %s of %s = %llx", b->name, fields[i].what, fields[i].owner, (unsigned long long)values[k]);
            t = try_mutant(bytes, n, name);
            judge(&fields[i], good, values[k], &t, n, name);
        }
    }
    free(good);
    free(bytes);
}

// FR-009 for a whole model: cut at every per cent, at every field and at every tensor's edge.
static void cut_at(const unsigned char *good, size_t n, const gguf_writer *w, size_t cut) {
    char name[64], missing[64];
    trial t;
    sprintf(name, "cut at byte %lu of %lu", (unsigned long)cut, (unsigned long)n);
    t = try_mutant(good, cut, name);
    all_mutants++;
    CHECK(!t.loaded && t.e.code == LLM_BAD_FILE);
    if (cut < 24) return;
    if (cut < w->n_directory) { CHECK(strstr(t.e.text, "key") || strstr(t.e.text, "tensor")); return; }
    sprintf(missing, "%lu bytes are missing, from tensor '", (unsigned long)(n - cut));
    if (cut < w->data_at) CHECK(strstr(t.e.text, "missing, from tensor '") != NULL);                 // the padding counts as well
    else if (!CHECK(strstr(t.e.text, missing) != NULL)) printf("  %s: %s\n", name, t.e.text);
}
static void cuts(const small_base *b) {
    gguf_writer w;
    size_t n, i;
    unsigned char *good = b->write(&n, &w);
    SECTION("FR-009 a model that was cut");
    walk(good);
    for (i = 0; i < 100; i++) cut_at(good, n, &w, n * i / 100);
    for (i = 0; i < n_fields; i++) cut_at(good, n, &w, fields[i].at);
    cut_at(good, n, &w, w.n_directory);
    for (i = 0; i < n_fields; i++)
        if (fields[i].kind == OFFSET) {
            const size_t edge = w.data_at + (size_t)number_at(good + fields[i].at, 8);
            cut_at(good, n, &w, edge);
            cut_at(good, n, &w, edge + 1);
        }
    cut_at(good, n, &w, n - 1);
    free(good);
}

//------------------------------------------------------------------------------------------------------------------------------
// Field reports whose case is more than one field.

// The sentence of llm_load_memory for these bytes; "" if they load.
static const char *sentence_of(const unsigned char *bytes, size_t n, llm_result *code) {
    static trial t;
    t = try_mutant(bytes, n, "field report");
    *code = t.loaded ? LLM_OK : t.e.code;
    return t.loaded ? "" : t.e.text;
}
static void expect(const unsigned char *bytes, size_t n, llm_result code, const char *one, const char *two, const char *three, int line) {
    llm_result got;
    const char *text = sentence_of(bytes, n, &got);
    int ok = got == code && strstr(text, one) && strstr(text, two) && strstr(text, three);
    if (!CHECK(ok)) printf("  line %d: %d '%s'\n", line, (int)got, text);
}
#define EXPECT(code, one, two, three) expect(bytes, n, code, one, two, three, __LINE__)
#define NO_DAMAGE(text) (!strstr(text, "damaged") && !strstr(text, "cut short") && !strstr(text, "download") && !strstr(text, "missing bytes"))

// Arrays of the right count and the wrong type: nothing behind them moves.
static void wrong_elements(void) {
    static const uint8_t bytes264[264] = { 0 };
    static const struct { const char *key; uint32_t type, n; const char *expected, *found; } cases[] = {
        { "tokenizer.ggml.scores", GW_U8, 264, "ARRAY of FLOAT32", "ARRAY of UINT8" },
        { "tokenizer.ggml.token_type", GW_U8, 264, "ARRAY of INT32", "ARRAY of UINT8" },
        { "tokenizer.ggml.merges", GW_BOOL, 2, "ARRAY of STRING", "ARRAY of BOOL" },
        { "tokenizer.ggml.tokens", GW_I32, 66, "ARRAY of STRING", "ARRAY of INT32" }
    };
    size_t i, k, n;
    SECTION("FR-004 the right count of the wrong type");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const texts[2] = { "a", "b" };
        static const uint64_t dims[1] = { EMBD };
        gguf_writer w;
        unsigned char *bytes;
        gw_begin(&w);
        gw_text(&w, "general.architecture", "llama");
        gw_text(&w, "tokenizer.ggml.model", i == 2 ? "gpt2" : "llama");
        if (i == 2) gw_text(&w, "tokenizer.ggml.pre", "qwen2");
        for (k = 0; k < sizeof cases / sizeof *cases; k++) {
            if (k == i) { gw_array(&w, cases[i].key, cases[i].type, cases[i].n); gw_bytes(&w.kv, bytes264, i == 2 ? 2 : 264); }
            else if (k == 3) gw_texts(&w, "tokenizer.ggml.tokens", texts, 2);
        }
        gw_tensor(&w, "output_norm.weight", 0, 1, dims, bytes264, 4 * EMBD);
        bytes = gw_end(&w, &n);
        EXPECT(LLM_BAD_FILE, cases[i].key, cases[i].expected, cases[i].found);
        free(bytes);
    }
}

static void hyper_parameters(void) {
    static const struct { const char *key; uint32_t v; } cases[] = {
        { "llama.block_count", 0 }, { "llama.block_count", 1 }, { "llama.block_count", UINT32_MAX }, { "llama.block_count", 4097 },
        { "llama.attention.head_count", 0 },
        { "llama.attention.head_count", UINT32_MAX }, { "llama.attention.head_count", 3 }, { "llama.attention.head_count_kv", 0 },
        { "llama.attention.head_count_kv", 3 }, { "llama.embedding_length", 0 }, { "llama.feed_forward_length", 0 },
        { "llama.context_length", 0 }, { "llama.rope.dimension_count", 7 }, { "llama.rope.dimension_count", 10 }
    };
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes = dense_model(&n, &w);
    SECTION("FR-007 divisors and loop bounds");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t at = gw_value(bytes, n, cases[i].key) + 4;
        const uint64_t was = number_at(bytes + at, 4);
        llm_result code;
        const char *text;
        gw_patch(bytes, at, cases[i].v, 4);
        text = sentence_of(bytes, n, &code);
        // 3 heads over 2 key/value heads: it is the head count's sentence that names both numbers.
        if (!CHECK(code == LLM_BAD_FILE && (strstr(text, cases[i].key) || strstr(text, "llama.attention.head_count"))))
            printf("  %s = %u: %d '%s'\n", cases[i].key, (unsigned)cases[i].v, (int)code, text);
        gw_patch(bytes, at, was, 4);
    }
    free(bytes);
}
// Zero is legal where the model means it: every fixture of an architecture that is known loads.
static void zeros_that_are_meant(void) {
    static const char *const archs[] = { "llama-dense", "llama-scale", "llama-moe", "qwen2-dense", "qwen3-dense", "qwen3moe-moe", "gemma-dense",
                                         "gemma2-dense", "gemma3-dense", "phi3-dense" };
    size_t i;
    SECTION("FR-007 every fixture loads");
    for (i = 0; i < sizeof archs / sizeof *archs; i++) {
        char name[64];
        const char *path;
        llm_error e;
        llm_model *m;
        sprintf(name, "archs/%s.gguf", archs[i]);
        path = test_fixture(name);
        if (!path) { test_skip(name); continue; }
        m = llm_load(path, NULL, &e);
        if (!CHECK(m != NULL)) printf("  %s: %s\n", name, e.text);
        llm_unload(m);
    }
}

static void three_errors(void) {
    gguf_writer w;
    size_t n, at;
    unsigned char *bytes = expert_model(&n, &w);
    llm_result code;
    const char *text;
    SECTION("FR-010 unsupported, missing and damaged are three errors");
    bytes[gw_value(bytes, n, "general.architecture") + 12] = 'Q';
    text = sentence_of(bytes, n, &code);
    CHECK(code == LLM_UNSUPPORTED && strstr(text, "Qwen3moe") && strstr(text, "not supported") && NO_DAMAGE(text));
    bytes[gw_value(bytes, n, "general.architecture") + 12] = 'q';
    at = gw_value(bytes, n, "blk.1.ffn_up_exps.weight") - 1;
    bytes[at] = 'T';
    text = sentence_of(bytes, n, &code);
    CHECK(code == LLM_BAD_FILE && strstr(text, "'blk.1.ffn_up_exps.weight' is missing") && NO_DAMAGE(text));
    bytes[at] = 't';
    text = sentence_of(bytes, n - 100, &code);
    CHECK(code == LLM_BAD_FILE && strstr(text, "100 bytes are missing, from tensor 'blk.1.ffn_down_exps.weight'"));
    free(bytes);
}

static void swapped_header(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = dense_model(&n, &w);
    SECTION("FR-011 a header of the other byte order");
    bytes[4] = bytes[5] = bytes[6] = 0; bytes[7] = 3;
    gw_patch(bytes, 8, (uint64_t)bytes[8] << 56, 8);
    gw_patch(bytes, 16, (uint64_t)bytes[16] << 56, 8);
    EXPECT(LLM_UNSUPPORTED, "big-endian", "GGUF", "");
    free(bytes);
}

// Shapes that disagree with the keys: name, expected, found. The second dimension shrinks, so that the file is not too short for it.
static void wrong_shapes(void) {
    static const struct { const char *tensor; uint64_t d0, d1, want0, want1; } cases[] = {
        { "blk.0.attn_k.weight", EMBD, 8, EMBD, 16 }, { "blk.1.attn_v.weight", EMBD, 8, EMBD, 16 }, { "blk.0.attn_q.weight", EMBD, 16, EMBD, EMBD },
        { "blk.1.attn_output.weight", EMBD, 16, EMBD, EMBD }, { "blk.0.ffn_gate.weight", EMBD, 32, EMBD, FF },
        { "blk.1.ffn_up.weight", EMBD, 63, EMBD, FF }, { "blk.0.ffn_down.weight", FF, 16, FF, EMBD },
        { "blk.0.ffn_down.weight", EMBD, EMBD, FF, EMBD }
    };
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes = dense_model(&n, &w);
    char found[64], expected[64];
    SECTION("FR-012 wrong shapes: name, expected, found");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t at = gw_value(bytes, n, cases[i].tensor) + 4;
        const uint64_t was0 = number_at(bytes + at, 8), was1 = number_at(bytes + at + 8, 8);
        gw_patch(bytes, at, cases[i].d0, 8);
        gw_patch(bytes, at + 8, cases[i].d1, 8);
        sprintf(found, "[%u, %u, 1]", (unsigned)cases[i].d0, (unsigned)cases[i].d1);
        sprintf(expected, "expected [%u, %u, 1]", (unsigned)cases[i].want0, (unsigned)cases[i].want1);
        EXPECT(LLM_BAD_FILE, cases[i].tensor, found, expected);
        gw_patch(bytes, at, was0, 8);
        gw_patch(bytes, at + 8, was1, 8);
    }
    gw_patch(bytes, gw_value(bytes, n, "token_embd.weight") + 12, 200, 8);             // fewer rows than the output has
    EXPECT(LLM_BAD_FILE, "'output.weight'", "264", "200");
    free(bytes);
}
// Four dimensions are sound in a file, and no tensor of a network has them.
static void fourth_dimension(void) {
    static const float zeros[2 * EMBD];
    static const uint64_t dims[4] = { EMBD, 1, 1, 2 };
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    uint32_t vocab;
    SECTION("a fourth dimension");
    begin_model(&w, "llama");
    vocab = put_pieces(&w);
    put_tensor(&w, "token_embd.weight", &golden_types[0], EMBD, vocab, 0);
    gw_tensor(&w, "output_norm.weight", 0, 4, dims, zeros, sizeof zeros);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'output_norm.weight'", "2 in its fourth dimension", "expected 1");
    free(bytes);
}
// A vocabulary of 264 tokens over a network that knows 200: the text functions must never hand the network a token that it lacks.
static void vocabulary_beyond_rows(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = window_model(&n, &w);
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    llm_token last = 263;
    SECTION("FR-012 more tokens than rows");
    gw_patch(bytes, gw_value(bytes, n, "token_embd.weight") + 12, 200, 8);
    m = llm_load_memory(bytes, n, NULL, &e);
    if (!m) CHECK(e.code == LLM_BAD_FILE && strstr(e.text, "200") && strstr(e.text, "264"));
    c = llm_open(m, NULL, &e);
    if (c) {
        CHECK_EQ(llm_eval(c, &last, 1), LLM_BAD_ARG);
        CHECK(strstr(llm_last_error(c)->text, "263") != NULL);
        if (llm_feed(c, "ab", 2) == LLM_OK) {
            CHECK(!llm_next(c, NULL) && llm_why(c) == LLM_STOP_ERROR && one_sentence(llm_last_error(c)));
            printf("  more tokens than rows: %s\n", llm_last_error(c)->text);
        }
    }
    llm_close(c);
    llm_unload(m);
    free(bytes);
}

// FR-013: files whose name promises one type and which hold others. Each tensor's own type counts: the logits are those of a model of plain
// floats that holds the same weights, but for the rounding of activations to 8 bits; a tensor read as another type is off by the whole.
// The histogram adds up, and the name is held against it.
enum { Q4_0 = 3, Q5_0 = 5, Q8_0 = 7, Q3_K = 9, Q4_K = 10, Q6_K = 12, MATRICES = 16 };                // in golden_types
typedef struct mixture { const char *name; int layers[3], ends; const char *promised; int promises_less; } mixture;
static const mixture mixtures[] = {
    { "mix-a-Q4_0.gguf", { Q4_0, Q4_0, Q4_0 }, Q6_K, "Q4_0", 0 }, { "mix-b-Q4_0.gguf", { Q4_0, Q4_0, Q4_0 }, Q8_0, "Q4_0", 0 },
    { "mix-c-Q2_K.gguf", { Q3_K, Q4_K, Q6_K }, Q6_K, "Q2_K", 1 }, { "mix-d-Q4_K_M.gguf", { Q8_0, Q5_0, Q4_K }, Q8_0, "Q4_K_M", 1 }
};
static double against_floats(llm_model *m, const golden_shape *shape) {
    enum { N = 12, VOCAB = 256 };
    static float got[N * VOCAB], want[N * VOCAB];
    static const llm_token tokens[N] = { 3, 50, 7, 200, 99, 3, 3, 120, 255, 0, 17, 8 };
    const golden_type *plain = &golden_types[0];
    golden_file f = golden_llama(shape, &plain, 1, 1);
    llm_error e;
    llm_model *floats = llm_load_memory(f.p, f.n, NULL, &e);
    llm_ctx *a = llm_open(m, NULL, &e), *b;
    uint32_t i;
    double nmse = 1e9;
    for (i = 0; floats && i < m->gguf.n_tensors; i++) {                  // norms are copied at the load, so they are put in place before the next
        const llm__gguf_tensor *from = &m->gguf.tensors[i], *to = llm__gguf_tensor_find(&floats->gguf, from->name);
        if (to) llm_dequantize(from->gguf_type, from->data, (float *)(void *)(f.p + (to->data - f.p)), (size_t)from->n_weights);
    }
    llm_unload(floats);
    floats = llm_load_memory(f.p, f.n, NULL, &e);
    b = llm_open(floats, NULL, &e);
    if (a && b && llm_eval_all(a, tokens, N, got) == LLM_OK && llm_eval_all(b, tokens, N, want) == LLM_OK) nmse = golden_nmse(got, want, N * VOCAB);
    llm_close(a);
    llm_close(b);
    llm_unload(floats);
    free(f.p);
    return nmse;
}
static void other_than_the_name(void) {
    static const golden_shape shape = { 256, 512, 2, 4, 2, 256, 128 };
    size_t i, k;
    SECTION("FR-013 the name is not the content");
    for (i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
        const mixture *x = &mixtures[i];
        const golden_type *types[MATRICES];
        const char *path = test_scratch(x->name);
        static char report[8000];
        golden_file f;
        llm_error e;
        llm_model *m;
        llm_ctx *c;
        llm_info info;
        llm_stats_info s;
        uint64_t bytes = 0, weights = 0;
        double nmse;
        for (k = 0; k < MATRICES; k++) types[k] = &golden_types[k < MATRICES - 2 ? x->layers[k % 3] : x->ends];
        f = golden_llama(&shape, types, MATRICES, 77 + i);
        CHECK(test_write(path, f.p, f.n));
        free(f.p);
        m = llm_load(path, NULL, &e);
        c = llm_open(m, NULL, &e);
        if (!CHECK(c != NULL)) { printf("  %s\n", e.text); continue; }
        nmse = against_floats(m, &shape);
        CHECK(nmse < 2e-3);
        printf("  %s: NMSE %.1e against plain floats\n", x->name, nmse);
        memset(&info, 0, sizeof info);
        memset(&s, 0, sizeof s);
        llm_model_info(m, &info);
        llm_stats(c, &s);
        for (k = 0; k < info.n_types; k++) { bytes += info.types[k].n_bytes; weights += info.types[k].n_weights; }
        CHECK(bytes == info.weight_bytes && weights == info.n_params);
        CHECK(golden_near(info.bits_per_weight, 8.0 * (double)bytes / (double)weights, 1e-9));
        for (k = 0; k < info.n_types; k++) CHECK(x->promises_less == 0 || strcmp(info.types[k].name, "Q2_K"));
        CHECK_TEXT(s.name_type, x->promised);
        CHECK(llm_report(c, report, sizeof report) != LLM_FAILED);
        CHECK(!x->promises_less || strstr(report, x->promised));         // said in so many words where it costs speed
        llm_close(c);
        llm_unload(m);
        remove(path);
    }
}

int main(void) {
    int i;
    if (!CHECK(guard_init(&file_room, SMALL_MOST))) return test_done();
    for (i = 0; i < SMALL_BASES; i++) mutants_of(&small_bases[i]);
    printf("  %lu mutants, of which %lu load; the largest request is %lu bytes beyond the file\n", all_mutants, all_loaded,
           (unsigned long)most_beyond);
    CHECK(all_mutants >= 15000 && all_loaded < all_mutants / 4);
    for (i = 0; i < SMALL_BASES; i++) cuts(&small_bases[i]);
    wrong_elements();
    hyper_parameters();
    zeros_that_are_meant();
    three_errors();
    swapped_header();
    wrong_shapes();
    fourth_dimension();
    vocabulary_beyond_rows();
    other_than_the_name();
    guard_free(&file_room);
    return test_done();
}
