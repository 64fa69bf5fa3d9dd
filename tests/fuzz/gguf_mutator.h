// gguf_mutator.h - changes a GGUF file where it counts. Blind changes of a file of 50 KB hit weights, which may hold anything; these take
// the directory apart, change keys, names, counts, shapes and types one at a time, and put the file together again, so that what lies
// behind the change still stands where it says. Include after small_models.h.
#ifndef GGUF_MUTATOR_H
#define GGUF_MUTATOR_H

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

// One key with its value, or one tensor's description.
typedef struct piece { const uint8_t *p; size_t n; } piece;
enum { MAX_PIECES = 600, MAX_PIECE = 1 << 16 };
typedef struct parts { piece v[MAX_PIECES]; uint32_t n_kv, n_tensors; size_t data_at; } parts;

static uint64_t get_number(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}
static size_t string_end(const uint8_t *p, size_t at, size_t n) {                  // 0: there is no whole string
    uint64_t length;
    if (at + 8 > n) return 0;
    length = get_number(p + at, 8);
    return length > n - at - 8 ? 0 : at + 8 + (size_t)length;
}
static size_t value_end(const uint8_t *p, size_t at, size_t n, uint32_t type, uint64_t count) {
    if (type >= LLM__GGUF_TYPES || type == LLM__GGUF_ARRAY || count > n) return 0;
    if (type != LLM__GGUF_STRING) return at + count * llm__gguf_types[type].bytes <= n ? at + (size_t)count * llm__gguf_types[type].bytes : 0;
    while (count-- && at) at = string_end(p, at, n);
    return at;
}
static size_t kv_end(const uint8_t *p, size_t at, size_t n) {
    uint32_t type;
    at = string_end(p, at, n);
    if (!at || at + 4 > n) return 0;
    type = (uint32_t)get_number(p + at, 4);
    at += 4;
    if (type != LLM__GGUF_ARRAY) return value_end(p, at, n, type, 1);
    return at + 12 > n ? 0 : value_end(p, at + 12, n, (uint32_t)get_number(p + at, 4), get_number(p + at + 4, 8));
}
static size_t tensor_end(const uint8_t *p, size_t at, size_t n) {
    uint64_t dims;
    at = string_end(p, at, n);
    if (!at || at + 4 > n) return 0;
    dims = get_number(p + at, 4);
    return dims > 8 || at + 16 + dims * 8 > n ? 0 : at + 16 + (size_t)dims * 8;
}
// As far as it can be taken apart: what follows the last whole piece counts as data.
static void take_apart(parts *f, const uint8_t *p, size_t n) {
    uint64_t kv = get_number(p + 16, 8), tensors = get_number(p + 8, 8);
    size_t at = 24, end;
    f->n_kv = f->n_tensors = 0;
    while (f->n_kv < kv && f->n_kv < MAX_PIECES / 2 && (end = kv_end(p, at, n)) > 0) {
        f->v[f->n_kv].p = p + at;
        f->v[f->n_kv++].n = end - at;
        at = end;
    }
    while (f->n_tensors < tensors && f->n_kv + f->n_tensors < MAX_PIECES - 8 && (end = tensor_end(p, at, n)) > 0) {
        f->v[f->n_kv + f->n_tensors].p = p + at;
        f->v[f->n_kv + f->n_tensors++].n = end - at;
        at = end;
    }
    f->data_at = f->n_tensors == tensors ? (at + 31) & ~(size_t)31 : at;
    if (f->data_at > n) f->data_at = n;
}
static size_t put_together(const parts *f, const uint8_t *head, const uint8_t *data, size_t n_data, uint8_t *out, size_t cap) {
    size_t at = 24;
    uint32_t i;
    memcpy(out, head, 24);
    gw_patch(out, 8, f->n_tensors, 8);
    gw_patch(out, 16, f->n_kv, 8);
    for (i = 0; i < f->n_kv + f->n_tensors; i++) {
        if (f->v[i].n > cap - at) return at;
        memcpy(out + at, f->v[i].p, f->v[i].n);
        at += f->v[i].n;
    }
    while (at % 32 && at < cap) out[at++] = 0;
    if (n_data > cap - at) n_data = cap - at;
    memcpy(out + at, data, n_data);
    return at + n_data;
}

static uint64_t odd_number(uint64_t *dice) {
    static const uint64_t numbers[] = { 0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 127, 128, 255, 256, 257, 513, 4095, 4097, 65535, 65536, 1u << 20,
        0x7fffffffu, 0x80000000u, 0xffffffffu, 0x100000000u, 0x7fffffffffffffffu, 0x8000000000000000u, UINT64_MAX, UINT64_MAX - 31 };
    uint64_t v = numbers[golden_random(dice) % (sizeof numbers / sizeof *numbers)];
    return golden_random(dice) % 4 ? v : v + golden_random(dice) % 5 - 2;
}
// A key that the library reads, with a number that is wrong or strange.
static size_t odd_key(uint8_t *out, const char *arch, uint64_t *dice) {
    static const char *const keys[] = { "general.alignment", "split.count", "split.no", "split.tensors.count", "*.block_count",
        "*.context_length", "*.embedding_length", "*.feed_forward_length", "*.attention.head_count", "*.attention.head_count_kv",
        "*.attention.key_length", "*.attention.value_length", "*.rope.dimension_count", "*.rope.freq_base", "*.rope.scaling.factor",
        "*.rope.scaling.original_context_length", "*.rope.scaling.attn_factor", "*.rope.scaling.yarn_beta_fast",
        "*.rope.scaling.yarn_beta_slow", "*.expert_count", "*.expert_used_count", "*.expert_feed_forward_length", "*.expert_weights_scale",
        "*.attention.sliding_window", "*.attention.sliding_window_pattern", "*.attn_logit_softcapping", "*.final_logit_softcapping",
        "*.attention.layer_norm_rms_epsilon", "*.rope.freq_base_swa", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eos_token_ids", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix" };
    static const uint32_t types[] = { LLM__GGUF_U32, LLM__GGUF_U32, LLM__GGUF_F32, LLM__GGUF_U64, LLM__GGUF_I32, LLM__GGUF_U16, LLM__GGUF_BOOL };
    static const float reals[] = { 0.0f, 1.0f, 1e-30f, 1e30f, -1.0f, 0.5f, 1.0000001f, 2.0f, 1e6f };
    const char *key = keys[golden_random(dice) % (sizeof keys / sizeof *keys)];
    uint32_t type = types[golden_random(dice) % 7];
    uint64_t v = odd_number(dice);
    char full[128];
    size_t n;
    if (*key == '*') sprintf(full, "%s%s", arch, key + 1);
    else strcpy(full, key);
    n = strlen(full);
    if (strstr(full, "split.")) { type = LLM__GGUF_U16; v = golden_random(dice) % 4; }
    if (type == LLM__GGUF_F32) memcpy(&v, &reals[golden_random(dice) % 9], 4);
    gw_patch(out, 0, n, 8);
    memcpy(out + 8, full, n);
    gw_patch(out, n + 8, type, 4);
    gw_patch(out, n + 12, v, llm__gguf_types[type].bytes);
    return n + 12 + llm__gguf_types[type].bytes;
}
// One number of a tensor's description: dimensions, a dimension, type or offset.
static void change_tensor(uint8_t *p, size_t n, uint64_t *dice) {
    size_t name = string_end(p, 0, n), dims = (size_t)get_number(p + name, 4);
    uint64_t what = golden_random(dice) % 8;
    if (what == 0) gw_patch(p, name, golden_random(dice) % 6, 4);
    else if (what < 4 && dims) gw_patch(p, name + 4 + golden_random(dice) % dims * 8, odd_number(dice), 8);
    else if (what < 7) gw_patch(p, n - 12, golden_random(dice) % 45, 4);
    else gw_patch(p, n - 8, odd_number(dice) & ~(uint64_t)31, 8);
}
// The text of a string value, by libFuzzer's own means (which know the dictionary); its length follows.
static size_t change_text(uint8_t *p, size_t n, size_t cap) {
    size_t key = string_end(p, 0, n), length;
    if (get_number(p + key, 4) != LLM__GGUF_STRING) return LLVMFuzzerMutate(p, n, cap);
    length = n - key - 12;
    length = LLVMFuzzerMutate(p + key + 12, length, cap - key - 12);
    gw_patch(p, key + 4, length, 8);
    return key + 12 + length;
}
// In the place of the key with that name, else behind the last one.
static void put_odd_key(parts *f, const char *arch, uint64_t *dice, uint8_t *room) {
    piece odd;
    size_t name;
    uint32_t i, k;
    odd.p = room;
    odd.n = odd_key(room, arch, dice);
    name = string_end(room, 0, odd.n);
    for (i = 0; i < f->n_kv && (f->v[i].n < name || memcmp(f->v[i].p, room, name) != 0); i++) { }
    if (i == f->n_kv) {
        for (k = f->n_kv++ + f->n_tensors; k > i; k--) f->v[k] = f->v[k - 1];
    }
    f->v[i] = odd;
}
static void change_parts(parts *f, const char *arch, uint64_t *dice, uint8_t *room) {
    const uint32_t n = f->n_kv + f->n_tensors, what = (uint32_t)(golden_random(dice) % 16);
    uint32_t i = (uint32_t)(golden_random(dice) % (n + !n)), k = (uint32_t)(golden_random(dice) % (n + !n));
    piece swap = f->v[i];
    if (what < 5 || !n) { put_odd_key(f, arch, dice, room); return; }
    if (swap.n >= MAX_PIECE / 2) return;
    memcpy(room, swap.p, swap.n);
    if (what == 5) {                                                  // one less
        if (i < f->n_kv) f->n_kv--;
        else f->n_tensors--;
        for (; i + 1 < n; i++) f->v[i] = f->v[i + 1];
    } else if (what == 6) {                                           // two change places
        if ((i < f->n_kv) == (k < f->n_kv)) { f->v[i] = f->v[k]; f->v[k] = swap; }
    } else if (i >= f->n_kv) {
        change_tensor(room, swap.n, dice);
        f->v[i].p = room;
    } else {
        f->v[i].n = what < 12 ? change_text(room, swap.n, MAX_PIECE) : LLVMFuzzerMutate(room, swap.n, MAX_PIECE);
        f->v[i].p = room;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    static parts f;
    static uint8_t room[MAX_PIECE];
    uint64_t dice = seed;
    char arch[32];
    uint8_t *whole;
    size_t n;
    if (size < 32 || memcmp(data, "GGUF", 4) != 0 || golden_random(&dice) % 256 == 0) {
        unsigned char *fresh = small_model((uint32_t)(golden_random(&dice) % 256), &n);
        if (n > max_size) n = max_size;
        memcpy(data, fresh, n);
        free(fresh);
        return n;
    }
    if (golden_random(&dice) % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
    whole = (uint8_t *)malloc(size);
    if (!whole) return size;
    memcpy(whole, data, size);
    memset(&f, 0, sizeof f);
    take_apart(&f, whole, size);
    golden_arch(whole, size, arch, sizeof arch);
    change_parts(&f, *arch ? arch : "llama", &dice, room);
    n = put_together(&f, whole, whole + f.data_at, size - f.data_at, data, max_size);
    free(whole);
    return n;
}

#endif
