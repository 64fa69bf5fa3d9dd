// small_models.h - 256 small sound models, one for each byte: every architecture, vocabularies of three families and none, shapes and stored
// types by the dice. Include after fuzz.h.
#ifndef SMALL_MODELS_H
#define SMALL_MODELS_H

#include "test.h"
#include "golden.h"
#include "gguf_writer.h"

typedef struct small_shape {
    const char *arch;
    uint32_t flags;                                // of the architecture's row
    uint32_t n_embd, n_ff, n_layer, n_head, n_head_kv, dim, n_expert, n_vocab;
    int fused_qkv, biases, tied;
    uint64_t dice;
} small_shape;

static uint32_t small_dice(small_shape *s, uint32_t n) { return (uint32_t)(golden_random(&s->dice) >> 16) % n; }

// ---- vocabularies

static const char *const small_words[] = {
    "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|end|>", "<|assistant|>", "<|eot_id|>", "[INST]",
    "<|start_header_id|>", "<|end_header_id|>", "<|system|>", "[/INST]", "<think>", "user", "assistant", "system"
};
enum { SMALL_WORDS = sizeof small_words / sizeof *small_words, SMALL_MOST = 360 };

typedef struct small_vocab { char text[SMALL_MOST][24]; int32_t type[SMALL_MOST]; float score[SMALL_MOST]; uint32_t n; } small_vocab;

static void small_token(small_vocab *v, const char *text, int32_t type) {
    strcpy(v->text[v->n], text);
    v->type[v->n] = type;
    v->score[v->n] = -(float)v->n;
    v->n++;
}
// Byte b as byte-level vocabularies spell it (GPT-2's bytes_to_unicode).
static uint32_t small_spell(uint32_t b) {
    uint32_t k, n = 0;
    if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174) return b;
    for (k = 0; k < b; k++) n += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
    return 256 + n;
}
static void small_utf8(char *out, uint32_t c) {
    if (c < 0x80) { out[0] = (char)c; out[1] = 0; return; }
    out[0] = (char)(0xc0 | c >> 6); out[1] = (char)(0x80 | (c & 63)); out[2] = 0;
}
static const char *const small_pairs[] = { "h e", "l l", "he ll", "hell o", "t h", "th e", "i n", "a n", "an d", "e r", "o n" };
enum { SMALL_PAIRS = sizeof small_pairs / sizeof *small_pairs };

static void small_pair(small_vocab *v, const char *pair) {                    // "h e" -> the token "he"
    char both[24];
    size_t left = strcspn(pair, " ");
    memcpy(both, pair, left);
    strcpy(both + left, pair + left + 1);
    small_token(v, both, 1);
}
static void small_words_to(gguf_writer *w, small_vocab *v, const char *model, const char *pre) {
    uint32_t i;
    const char *texts[SMALL_MOST];
    for (i = 0; i < SMALL_WORDS; i++) small_token(v, small_words[i], i < 14 ? 3 : 4);
    for (i = 0; i < v->n; i++) texts[i] = v->text[i];
    gw_text(w, "tokenizer.ggml.model", model);
    if (pre) gw_text(w, "tokenizer.ggml.pre", pre);
    gw_texts(w, "tokenizer.ggml.tokens", texts, v->n);
    gw_i32s(w, "tokenizer.ggml.token_type", v->type, v->n);
}
static void small_sentencepiece(gguf_writer *w, small_vocab *v, int text_bpe) {
    uint32_t i;
    char text[24];
    small_token(v, "<unk>", 2);
    small_token(v, "<s>", 3);
    small_token(v, "</s>", 3);
    for (i = 0; i < 256; i++) { sprintf(text, "<0x%02X>", (unsigned)i); small_token(v, text, 6); }
    small_token(v, "\xe2\x96\x81", 1);
    small_token(v, "\xe2\x96\x81t", 1);
    small_token(v, "\n", 1);
    for (i = 'a'; i <= 'w'; i++) { text[0] = (char)i; text[1] = 0; small_token(v, text, 1); }
    for (i = 0; i < SMALL_PAIRS; i++) small_pair(v, small_pairs[i]);
    small_token(v, "\xc3\xa9", 1);
    small_token(v, "\xf0\x9f\x98\x80", 1);
    small_words_to(w, v, text_bpe ? "gemma4" : "llama", NULL);
    if (text_bpe) gw_texts(w, "tokenizer.ggml.merges", small_pairs, SMALL_PAIRS);
    else gw_f32s(w, "tokenizer.ggml.scores", v->score, v->n);
    gw_u32(w, "tokenizer.ggml.bos_token_id", 1);
    gw_u32(w, "tokenizer.ggml.eos_token_id", 2);
}
static void small_bytes(gguf_writer *w, small_vocab *v, const char *pre) {
    uint32_t i;
    char text[24];
    for (i = 0; i < 256; i++) { small_utf8(text, small_spell(i)); small_token(v, text, 1); }
    for (i = 0; i < SMALL_PAIRS; i++) small_pair(v, small_pairs[i]);
    small_token(v, "<|endoftext|>", 3);
    gw_texts(w, "tokenizer.ggml.merges", small_pairs, SMALL_PAIRS);
    gw_u32(w, "tokenizer.ggml.eos_token_id", v->n - 1);
    gw_u32(w, "tokenizer.ggml.bos_token_id", v->n - 1);
    small_words_to(w, v, "gpt2", pre);
}
// family 0: none, 1: SentencePiece, 2: byte-level, 3: BPE over text. Returns the number of tokens.
static uint32_t small_vocabulary(gguf_writer *w, uint32_t family, uint32_t dice) {
    static const char *const pres[] = { "gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "smollm", "glm4", "mpt", "starcoder" };
    static small_vocab v;
    v.n = 0;
    switch (family) {
    case 1: small_sentencepiece(w, &v, 0); break;
    case 2: small_bytes(w, &v, pres[dice % 8]); break;
    case 3: small_sentencepiece(w, &v, 1); break;
    default: return 40;
    }
    if (dice & 8) gw_bool(w, "tokenizer.ggml.add_space_prefix", 0);
    if (dice & 16) gw_bool(w, "tokenizer.ggml.add_eos_token", 1);
    if (dice & 32) gw_bool(w, "tokenizer.ggml.add_bos_token", dice & 64 ? 1 : 0);
    return v.n;
}

// ---- networks

static void small_tensor(gguf_writer *w, small_shape *s, int layer, const char *name, uint32_t cols, uint32_t rows, uint32_t third) {
    char full[64];
    uint64_t dims[3], n = (uint64_t)cols * (rows ? rows : 1) * (third ? third : 1), k;
    const golden_type *t = &golden_types[0];
    gw_buffer b = { NULL, 0, 0 };
    unsigned char block[320];
    if (layer < 0) sprintf(full, "%s.weight", name);
    else sprintf(full, "blk.%d.%s", layer, name);
    if (layer >= 0 && !strstr(name, ".bias") && !strstr(name, ".scale")) strcat(full, ".weight");
    if (rows) do t = &golden_types[small_dice(s, 3) ? small_dice(s, GOLDEN_N_TYPES) : 7]; while (cols % t->weights);
    for (k = 0; k < n / t->weights; k++) {                            // after 16 blocks they repeat, so that corpora can be compressed
        float v = 1.0f + golden_uniform(&s->dice) * 0.25f;
        if (k >= 16) memcpy(block, b.p + (k - 16) * t->bytes, t->bytes);
        else if (rows) golden_block(t, block, &s->dice);
        else memcpy(block, &v, 4);
        gw_bytes(&b, block, t->bytes);
    }
    dims[0] = cols; dims[1] = rows; dims[2] = third;
    gw_tensor(w, full, t->id, third ? 3 : rows ? 2 : 1, dims, b.p, b.n);
    free(b.p);
}
static void small_attention(gguf_writer *w, small_shape *s, int i) {
    const uint32_t q = s->n_head * s->dim, kv = s->n_head_kv * s->dim;
    small_tensor(w, s, i, "attn_norm", s->n_embd, 0, 0);
    if (s->fused_qkv) small_tensor(w, s, i, "attn_qkv", s->n_embd, q + 2 * kv, 0);
    else {
        small_tensor(w, s, i, "attn_q", s->n_embd, q, 0);
        small_tensor(w, s, i, "attn_k", s->n_embd, kv, 0);
        small_tensor(w, s, i, "attn_v", s->n_embd, kv, 0);
        if (s->biases) {
            small_tensor(w, s, i, "attn_q.bias", q, 0, 0);
            small_tensor(w, s, i, "attn_k.bias", kv, 0, 0);
            small_tensor(w, s, i, "attn_v.bias", kv, 0, 0);
            small_tensor(w, s, i, "attn_q.scale", 1, 0, 0);
        }
    }
    if (s->flags & LLM__QK_NORM) {
        small_tensor(w, s, i, "attn_q_norm", s->dim, 0, 0);
        small_tensor(w, s, i, "attn_k_norm", s->dim, 0, 0);
    }
    small_tensor(w, s, i, "attn_output", q, s->n_embd, 0);
    if (s->flags & LLM__POST_NORM) {
        small_tensor(w, s, i, "post_attention_norm", s->n_embd, 0, 0);
        small_tensor(w, s, i, "post_ffw_norm", s->n_embd, 0, 0);
    }
}
static void small_feed_forward(gguf_writer *w, small_shape *s, int i) {
    small_tensor(w, s, i, "ffn_norm", s->n_embd, 0, 0);
    if (s->n_expert) {
        small_tensor(w, s, i, "ffn_gate_inp", s->n_embd, s->n_expert, 0);
        small_tensor(w, s, i, "ffn_gate_exps", s->n_embd, s->n_ff, s->n_expert);
        small_tensor(w, s, i, "ffn_up_exps", s->n_embd, s->n_ff, s->n_expert);
        small_tensor(w, s, i, "ffn_down_exps", s->n_ff, s->n_embd, s->n_expert);
        return;
    }
    if (s->flags & LLM__FUSED_UP) small_tensor(w, s, i, "ffn_up", s->n_embd, 2 * s->n_ff, 0);
    else {
        small_tensor(w, s, i, "ffn_gate", s->n_embd, s->n_ff, 0);
        small_tensor(w, s, i, "ffn_up", s->n_embd, s->n_ff, 0);
    }
    small_tensor(w, s, i, "ffn_down", s->n_ff, s->n_embd, 0);
    if (s->biases) small_tensor(w, s, i, "ffn_down.bias", s->n_embd, 0, 0);
}
static void small_key(gguf_writer *w, const small_shape *s, const char *suffix, uint32_t v) {
    char key[96];
    sprintf(key, "%s.%s", s->arch, suffix);
    gw_u32(w, key, v);
}
static void small_keys(gguf_writer *w, small_shape *s) {
    static const char *const scalings[] = { "none", "linear", "yarn", "longrope" };
    char key[96];
    uint32_t scaling = small_dice(s, 8);
    gw_text(w, "general.architecture", s->arch);
    gw_text(w, "general.name", "small");
    small_key(w, s, "block_count", s->n_layer);
    small_key(w, s, "context_length", 32u << small_dice(s, 5));
    small_key(w, s, "embedding_length", s->n_embd);
    small_key(w, s, "feed_forward_length", s->n_ff);
    small_key(w, s, "attention.head_count", s->n_head);
    small_key(w, s, "attention.head_count_kv", s->n_head_kv);
    small_key(w, s, "attention.key_length", s->dim);
    small_key(w, s, "attention.value_length", s->dim);
    if (s->n_expert) {
        small_key(w, s, "expert_count", s->n_expert);
        small_key(w, s, "expert_used_count", 1 + small_dice(s, s->n_expert));
    }
    if (small_dice(s, 2)) small_key(w, s, "attention.sliding_window", 1 + small_dice(s, 70));
    if (small_dice(s, 4) == 0) small_key(w, s, "attention.sliding_window_pattern", 1 + small_dice(s, 3));
    if (scaling < 4) {
        sprintf(key, "%s.rope.scaling.type", s->arch);
        gw_text(w, key, scalings[scaling]);
        sprintf(key, "%s.rope.scaling.factor", s->arch);
        gw_f32(w, key, 4.0f);
        small_key(w, s, "rope.scaling.original_context_length", 16);
    }
}
static small_shape small_shape_of(uint32_t number) {
    static const uint32_t heads[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 4, 2 }, { 3, 1 } };
    static const uint32_t widths[] = { 32, 64, 32, 128, 256, 96 };
    small_shape s;
    uint32_t h;
    memset(&s, 0, sizeof s);
    s.dice = number * 0x9e3779b97f4a7c15u + 1;
    s.arch = llm__archs[number % LLM__COUNT(llm__archs)].name;
    s.flags = llm__archs[number % LLM__COUNT(llm__archs)].flags;
    s.n_embd = widths[small_dice(&s, 6)];
    s.n_ff = widths[small_dice(&s, 6)];
    s.n_layer = 1 + small_dice(&s, s.n_embd > 96 ? 1 : 3);
    h = small_dice(&s, 5);
    s.n_head = heads[h][0];
    s.n_head_kv = heads[h][1];
    s.dim = 8 << small_dice(&s, 4);
    if ((s.flags & LLM__EXPERTS) || ((s.flags & LLM__EXPERTS_OR) && small_dice(&s, 2))) s.n_expert = 1 + small_dice(&s, 5);
    s.fused_qkv = small_dice(&s, 4) == 0 || (s.flags & LLM__FUSED_UP);
    s.biases = small_dice(&s, 3) == 0;
    s.tied = (s.flags & LLM__TIED) || small_dice(&s, 2);
    return s;
}
// The model's bytes, to be freed by the caller.
static FUZZ_UNUSED unsigned char *small_model(uint32_t number, size_t *n) {
    static const char *const templates[] = { "chatml", "llama3", "gemma", "phi3" };
    small_shape s = small_shape_of(number);
    gguf_writer w;
    uint32_t i;
    gw_begin(&w);
    small_keys(&w, &s);
    s.n_vocab = small_vocabulary(&w, small_dice(&s, 5) % 4, small_dice(&s, 256));
    if (small_dice(&s, 3) == 0) gw_text(&w, "tokenizer.chat_template", templates[small_dice(&s, 4)]);
    small_tensor(&w, &s, -1, "token_embd", s.n_embd, s.n_vocab, 0);
    small_tensor(&w, &s, -1, "output_norm", s.n_embd, 0, 0);
    if (!s.tied) small_tensor(&w, &s, -1, "output", s.n_embd, s.n_vocab, 0);
    for (i = 0; i < s.n_layer; i++) {
        small_attention(&w, &s, (int)i);
        small_feed_forward(&w, &s, (int)i);
    }
    return gw_end(&w, n);
}

#endif
