// vocabulary_models.h - whole models of two layers with vocabularies, written on the spot: one for each way of telling a vocabulary, with
// experts, windows and scaled rotary frequencies among them. After llm.h, test.h, golden.h and gguf_writer.h. Free what comes back.
#ifndef VOCABULARY_MODELS_H
#define VOCABULARY_MODELS_H

enum { EMBD = 32, FF = 64, HEADS = 4, HEADS_KV = 2, HEAD = EMBD / HEADS, EXPERTS = 4, LAYERS = 2, SMALL_MOST = 70000 };

static uint64_t random_state;                    // the same files everywhere

static void put_tensor(gguf_writer *w, const char *name, const golden_type *type, uint64_t d0, uint64_t d1, uint64_t d2) {
    static unsigned char data[SMALL_MOST];
    uint64_t dims[3], n = d0 / type->weights * (d1 ? d1 : 1) * (d2 ? d2 : 1), i;
    dims[0] = d0; dims[1] = d1; dims[2] = d2;
    for (i = 0; i < n; i++) {
        if (d1) golden_block(type, data + i * type->bytes, &random_state);
        else { float one = 1.0f; memcpy(data + i * 4, &one, 4); }
    }
    gw_tensor(w, name, type->id, d2 ? 3 : d1 ? 2 : 1, dims, data, (size_t)n * type->bytes);
}
static void put_layer_tensor(gguf_writer *w, int layer, const char *name, const golden_type *type, uint64_t d0, uint64_t d1, uint64_t d2) {
    char full[64];
    sprintf(full, "blk.%d.%s.weight", layer, name);
    put_tensor(w, full, type, d0, d1, d2);
}

// SentencePiece style: <unk> <s> </s>, the bytes, five pieces.
static uint32_t put_pieces(gguf_writer *w) {
    static const char *const pieces[] = { "\xe2\x96\x81", "a", "b", "ab", "\xe2\x96\x81" "a" };
    enum { N = 3 + 256 + 5 };
    static const char *texts[N];
    static char bytes[256][8];
    float scores[N];
    int32_t types[N], i;
    texts[0] = "<unk>"; texts[1] = "<s>"; texts[2] = "</s>";
    for (i = 0; i < 256; i++) { sprintf(bytes[i], "<0x%02X>", (unsigned)i); texts[3 + i] = bytes[i]; }
    for (i = 0; i < 5; i++) texts[259 + i] = pieces[i];
    for (i = 0; i < N; i++) { scores[i] = i < 259 ? 0.0f : -(float)(i - 258); types[i] = i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1; }
    gw_text(w, "tokenizer.ggml.model", "llama");
    gw_texts(w, "tokenizer.ggml.tokens", texts, N);
    gw_f32s(w, "tokenizer.ggml.scores", scores, N);
    gw_i32s(w, "tokenizer.ggml.token_type", types, N);
    gw_u32(w, "tokenizer.ggml.bos_token_id", 1);
    gw_u32(w, "tokenizer.ggml.eos_token_id", 2);
    gw_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    gw_bool(w, "tokenizer.ggml.add_bos_token", 1);
    gw_bool(w, "tokenizer.ggml.add_space_prefix", 1);
    return N;
}
// Byte-level: each byte as the character that GPT-2 writes for it, two merges, the special tokens of ChatML.
static uint32_t put_bytes(gguf_writer *w) {
    static const char *const more[] = { "ab", "\xc4\xa0" "a", "<|endoftext|>", "<|im_start|>", "<|im_end|>" };
    static const char *const merges[] = { "a b", "\xc4\xa0 a" };
    enum { N = 256 + 5 };
    static const char *texts[N];
    static char bytes[256][4];
    int32_t types[N];
    unsigned i, c, beyond = 256;
    for (i = 0; i < 256; i++) {
        c = (i >= 33 && i <= 126) || (i >= 161 && i != 173) ? i : beyond++;
        if (c < 128) sprintf(bytes[i], "%c", (int)c);
        else { bytes[i][0] = (char)(0xc0 | c >> 6); bytes[i][1] = (char)(0x80 | (c & 63)); bytes[i][2] = 0; }
        texts[i] = bytes[i];
        types[i] = 1;
    }
    for (i = 0; i < 5; i++) { texts[256 + i] = more[i]; types[256 + i] = i < 2 ? 1 : 3; }
    gw_text(w, "tokenizer.ggml.model", "gpt2");
    gw_text(w, "tokenizer.ggml.pre", "qwen2");
    gw_texts(w, "tokenizer.ggml.tokens", texts, N);
    gw_i32s(w, "tokenizer.ggml.token_type", types, N);
    gw_texts(w, "tokenizer.ggml.merges", merges, 2);
    gw_u32(w, "tokenizer.ggml.eos_token_id", 260);
    gw_u32(w, "tokenizer.ggml.padding_token_id", 258);
    return N;
}

static void put_key(gguf_writer *w, const char *arch, const char *suffix, uint32_t v) {
    char key[96];
    sprintf(key, "%s.%s", arch, suffix);
    gw_u32(w, key, v);
}
static void put_key_f32(gguf_writer *w, const char *arch, const char *suffix, float v) {
    char key[96];
    sprintf(key, "%s.%s", arch, suffix);
    gw_f32(w, key, v);
}
static void put_sizes(gguf_writer *w, const char *arch) {
    random_state = 7;
    put_key(w, arch, "block_count", LAYERS);
    put_key(w, arch, "context_length", 128);
    put_key(w, arch, "embedding_length", EMBD);
    put_key(w, arch, "feed_forward_length", FF);
    put_key(w, arch, "attention.head_count", HEADS);
    put_key(w, arch, "attention.head_count_kv", HEADS_KV);
    put_key_f32(w, arch, "attention.layer_norm_rms_epsilon", 1e-5f);
    put_key_f32(w, arch, "rope.freq_base", 10000.0f);
    put_key(w, arch, "rope.dimension_count", HEAD);
}
static void begin_model(gguf_writer *w, const char *arch) {
    gw_begin(w);
    gw_text(w, "general.architecture", arch);
    put_sizes(w, arch);
}
static void put_ends(gguf_writer *w, const golden_type *type, uint32_t vocab) {
    put_tensor(w, "token_embd.weight", type, EMBD, vocab, 0);
    put_tensor(w, "output_norm.weight", &golden_types[0], EMBD, 0, 0);
}
static void put_attention(gguf_writer *w, int layer, const golden_type *type) {
    put_layer_tensor(w, layer, "attn_norm", &golden_types[0], EMBD, 0, 0);
    put_layer_tensor(w, layer, "attn_q", type, EMBD, EMBD, 0);
    put_layer_tensor(w, layer, "attn_k", type, EMBD, HEAD * HEADS_KV, 0);
    put_layer_tensor(w, layer, "attn_v", type, EMBD, HEAD * HEADS_KV, 0);
    put_layer_tensor(w, layer, "attn_output", type, EMBD, EMBD, 0);
    put_layer_tensor(w, layer, "ffn_norm", &golden_types[0], EMBD, 0, 0);
}
static void put_feed_forward(gguf_writer *w, int layer, const golden_type *type) {
    put_layer_tensor(w, layer, "ffn_gate", type, EMBD, FF, 0);
    put_layer_tensor(w, layer, "ffn_up", type, EMBD, FF, 0);
    put_layer_tensor(w, layer, "ffn_down", type, FF, EMBD, 0);
}
static void put_head_norms(gguf_writer *w, int layer) {
    put_layer_tensor(w, layer, "attn_q_norm", &golden_types[0], HEAD, 0, 0);
    put_layer_tensor(w, layer, "attn_k_norm", &golden_types[0], HEAD, 0, 0);
}

static TEST_UNUSED unsigned char *dense_model(size_t *n, gguf_writer *w) {
    uint32_t vocab;
    int i;
    gw_begin(w);
    gw_text(w, "general.architecture", "llama");
    gw_text(w, "general.name", "mutant");
    gw_u32(w, "general.alignment", 32);
    put_sizes(w, "llama");
    put_key(w, "llama", "vocab_size", 264);
    vocab = put_pieces(w);
    gw_text(w, "tokenizer.chat_template", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}");
    put_ends(w, &golden_types[0], vocab);
    put_tensor(w, "output.weight", &golden_types[7], EMBD, vocab, 0);
    put_tensor(w, "rope_freqs.weight", &golden_types[0], HEAD / 2, 0, 0);
    for (i = 0; i < LAYERS; i++) {
        put_attention(w, i, &golden_types[7]);
        put_feed_forward(w, i, &golden_types[3]);
    }
    return gw_end(w, n);
}
static unsigned char *expert_model(size_t *n, gguf_writer *w) {
    int i;
    begin_model(w, "qwen3moe");
    put_key(w, "qwen3moe", "attention.key_length", HEAD);
    put_key(w, "qwen3moe", "attention.value_length", HEAD);
    put_key(w, "qwen3moe", "expert_count", EXPERTS);
    put_key(w, "qwen3moe", "expert_used_count", 2);
    put_key(w, "qwen3moe", "expert_feed_forward_length", EMBD);
    put_key_f32(w, "qwen3moe", "expert_weights_scale", 1.0f);
    gw_text(w, "qwen3moe.rope.scaling.type", "yarn");
    put_key_f32(w, "qwen3moe", "rope.scaling.factor", 4.0f);
    put_key(w, "qwen3moe", "rope.scaling.original_context_length", 32);
    put_key_f32(w, "qwen3moe", "rope.scaling.yarn_beta_fast", 32.0f);
    put_key_f32(w, "qwen3moe", "rope.scaling.yarn_beta_slow", 1.0f);
    put_ends(w, &golden_types[1], put_bytes(w));
    for (i = 0; i < LAYERS; i++) {
        put_attention(w, i, &golden_types[4]);
        put_head_norms(w, i);
        put_layer_tensor(w, i, "ffn_gate_inp", &golden_types[0], EMBD, EXPERTS, 0);
        put_layer_tensor(w, i, "ffn_gate_exps", &golden_types[7], EMBD, EMBD, EXPERTS);
        put_layer_tensor(w, i, "ffn_up_exps", &golden_types[7], EMBD, EMBD, EXPERTS);
        put_layer_tensor(w, i, "ffn_down_exps", &golden_types[7], EMBD, EMBD, EXPERTS);
    }
    return gw_end(w, n);
}
static unsigned char *window_model(size_t *n, gguf_writer *w) {
    int i;
    begin_model(w, "gemma3");
    put_key(w, "gemma3", "attention.sliding_window", 8);
    gw_array(w, "gemma3.attention.sliding_window_pattern", GW_BOOL, LAYERS);
    gw_number(&w->kv, 1, 1); gw_number(&w->kv, 0, 1);
    put_key_f32(w, "gemma3", "rope.freq_base_swa", 10000.0f);
    put_key_f32(w, "gemma3", "final_logit_softcapping", 30.0f);
    put_ends(w, &golden_types[7], put_pieces(w));
    for (i = 0; i < LAYERS; i++) {
        put_attention(w, i, &golden_types[1]);
        put_head_norms(w, i);
        put_layer_tensor(w, i, "post_attention_norm", &golden_types[0], EMBD, 0, 0);
        put_layer_tensor(w, i, "post_ffw_norm", &golden_types[0], EMBD, 0, 0);
        put_feed_forward(w, i, &golden_types[17]);
    }
    return gw_end(w, n);
}
typedef struct small_base { const char *name; unsigned char *(*write)(size_t *n, gguf_writer *w); } small_base;
static const small_base small_bases[] = { { "dense", dense_model }, { "experts", expert_model }, { "windows", window_model } };
enum { SMALL_BASES = 3 };

#endif
