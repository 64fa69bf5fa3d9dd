// fuzz_tokenizer.c - text to tokens and back, over sound small vocabularies and over ones that the input makes up.
#include "fuzz.h"
#include "small_models.h"

enum { N_SOUND = 24, MOST_TOKENS = 64, MOST_TEXT = 4096, ALL_FLAGS = 15 };

typedef struct subject { llm__gguf g; llm__vocab v; unsigned char *bytes; int sound; } subject;

static llm__heap heap_of(fuzz_heap *h) {
    llm__heap heap;
    memset(&heap, 0, sizeof heap);
    heap.a = fuzz_allocator(h);
    return heap;
}
static int subject_load(subject *s, gguf_writer *w, const llm__heap *h) {
    llm__gguf_options o;
    llm_error e;
    size_t n;
    memset(&o, 0, sizeof o);
    o.heap = h;
    s->bytes = gw_end(w, &n);
    if (llm__gguf_open_memory(&s->g, s->bytes, n, &o, &e) == LLM_OK) {
        if (llm__vocab_load(&s->v, h, &s->g, &e) == LLM_OK) {
            must_be_error(&e, 0);
            return 1;
        }
        llm__gguf_close(&s->g);
    }
    must_be_error(&e, 1);
    free(s->bytes);
    return 0;
}

// ---- vocabularies

static subject *sound_vocabulary(uint32_t i) {
    static subject all[N_SOUND];
    static llm__heap plain;                        // malloc: these live as long as the program
    gguf_writer w;
    if (all[i].bytes) return &all[i];
    gw_begin(&w);
    small_vocabulary(&w, 1 + i % 3, i / 3 * 37);
    all[i].sound = 1;
    MUST(subject_load(&all[i], &w, &plain) && all[i].v.status == LLM_OK);
    return &all[i];
}
// Texts, types, scores, merges and special tokens as the input says; half of them over a sound one's bytes.
static int odd_vocabulary(subject *s, choices *c, const llm__heap *h) {
    static const char *const models[] = { "llama", "gpt2", "gemma4" }, *const pres[] = { "gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "smollm" };
    static const char *const ids[] = { "bos", "eos", "eot", "unknown", "padding" };
    static small_vocab v;
    const char *texts[SMALL_MOST];
    gguf_writer w;
    uint32_t i, n, model = choose_below(c, 3), way = choose_byte(c);
    v.n = 0;
    gw_begin(&w);
    for (i = 0; i < 256 && (way & 1); i++) {
        char text[24];
        if (model == 1) small_utf8(text, small_spell(i));
        else sprintf(text, "<0x%02X>", (unsigned)i);
        small_token(&v, text, model == 1 ? 1 : 6);
    }
    for (n = 1 + choose_below(c, MOST_TOKENS), i = 0; i < n; i++) {
        size_t length;
        char *text = choose_text(c, 12, &length);
        small_token(&v, text, (int32_t)choose_below(c, 8));
        v.score[v.n - 1] = choose_float(c);
        free(text);
    }
    for (i = 0; i < v.n; i++) texts[i] = v.text[i];
    gw_text(&w, "tokenizer.ggml.model", models[model]);
    if (model == 1) gw_text(&w, "tokenizer.ggml.pre", pres[choose_below(c, 5)]);
    gw_texts(&w, "tokenizer.ggml.tokens", texts, v.n);
    if (way & 2) gw_i32s(&w, "tokenizer.ggml.token_type", v.type, v.n);
    if (model == 0) gw_f32s(&w, "tokenizer.ggml.scores", v.score, v.n);
    else {
        n = choose_below(c, MOST_TOKENS);
        gw_array(&w, "tokenizer.ggml.merges", GW_STRING, n);
        for (i = 0; i < n; i++) {
            char pair[64];
            sprintf(pair, "%s %s", v.text[choose_below(c, v.n)], v.text[choose_below(c, v.n)]);
            gw_string(&w.kv, pair, strlen(pair));
        }
    }
    for (i = 0; i < 5 && (way & 4); i++) {
        char key[64];
        sprintf(key, "tokenizer.ggml.%s_token_id", ids[i]);
        gw_u32(&w, key, choose_below(c, v.n + 2));
    }
    if (way & 8) gw_bool(&w, "tokenizer.ggml.add_space_prefix", way & 16);
    if (way & 32) gw_bool(&w, "tokenizer.ggml.add_bos_token", way & 64);
    if (way & 128) gw_text(&w, "general.name", "Phi-3 mini");
    s->sound = 0;
    return subject_load(s, &w, h);
}

// ---- what must hold

// The text of tokens: measured as written, whatever the room, and nothing beyond the room.
static size_t must_decode(const subject *s, const llm_token *t, size_t n, unsigned flags, size_t cap, char **text) {
    size_t length = llm__tok_decode(&s->v, t, n, flags, NULL, 0), i;
    char *part = (char *)malloc(cap + 1), *whole;
    if (!part) abort();
    memset(part, 'z', cap + 1);
    MUST(llm__tok_decode(&s->v, t, n, flags, part, cap) == length);
    *text = NULL;
    if (length != LLM_FAILED) {
        whole = *text = (char *)malloc(length + !length);
        if (!whole) abort();
        MUST(llm__tok_decode(&s->v, t, n, flags, whole, length) == length);
        MUST(memcmp(part, whole, cap < length ? cap : length) == 0);
        for (i = length; i < cap; i++) MUST(part[i] == 'z');
    }
    MUST(part[cap] == 'z');
    free(part);
    return length;
}
// Pieces one by one are the text in one go, where no space in front is left out.
static void must_be_pieces(const subject *s, const llm_token *t, size_t n, unsigned flags, const char *text, size_t length) {
    size_t i, at = 0, k;
    char piece[64];
    for (i = 0; i < n; i++) {
        k = llm__tok_piece(&s->v, t[i], flags, piece, sizeof piece);
        MUST(k != LLM_FAILED && k <= length - at);
        if (k <= sizeof piece) MUST(memcmp(piece, text + at, k) == 0);
        at += k;
    }
    MUST(at == length);
}
// The text comes back from a vocabulary that has all bytes: as valid UTF-8 where pieces are cut, with spaces for U+2581, and as long as
// the space in front of the text is the only one that was put in (there is one behind special tokens too).
static void must_come_back(const subject *s, const llm_token *t, size_t n, const char *text, size_t length, unsigned flags) {
    const int spaces = s->v.family != LLM__TOK_BYTES, prefix = s->v.space_prefix && !(flags & LLM_NO_SPACE_PREFIX);
    size_t i, clean = s->v.pre ? llm__utf8_clean(text, length, NULL, 0) : length;
    char *want, *back;
    if (!s->sound || (flags & LLM_ADD_SPECIAL)) return;
    for (i = 0; i + 3 <= length && spaces; i++)
        if (memcmp(text + i, "\xe2\x96\x81", 3) == 0) return;
    for (i = 0; i < n && prefix; i++)
        if (s->v.attr[t[i]] & (LLM__TOK_CONTROL | LLM__TOK_USER)) return;
    want = (char *)malloc(clean + 1);
    if (!want) abort();
    if (s->v.pre) llm__utf8_clean(text, length, want, clean);
    else memcpy(want, text, length);
    MUST(must_decode(s, t, n, flags | LLM_SHOW_SPECIAL, clean, &back) == clean && memcmp(back, want, clean) == 0);
    free(back);
    free(want);
}
// With all of the text as content of a message no token may come that only special parsing makes, but for what stands for unknown bytes.
static void must_not_forge(const subject *s, const llm__heap *h, llm__str text, llm_token *t, size_t cap) {
    llm__span all;
    size_t n, i;
    all.begin = 0;
    all.end = text.n;
    MUST(llm__tok_encode(&s->v, h, text, LLM_PARSE_SPECIAL, &all, 1, t, cap, &n) == LLM_OK);
    for (i = 0; i < n && i < cap; i++) MUST(!(s->v.attr[t[i]] & LLM__TOK_CONTROL) || t[i] == s->v.special[LLM_UNK]);
}
static void must_hold(const subject *s, const llm__heap *h, choices *c) {
    const unsigned flags = choose_byte(c) & ALL_FLAGS;
    const size_t cap = choose_below(c, 64);
    size_t n, length, i, again;
    char *text = (char *)malloc(c->n + 1), *back;
    llm_token *t, some[64];
    llm__str str = llm__str_n(text, c->n);
    if (!text) abort();
    memcpy(text, c->p, c->n);
    MUST(llm__tok_encode(&s->v, h, str, flags, NULL, 0, NULL, 0, &n) == LLM_OK);
    MUST(n <= 5 * c->n + 8);                                          // a byte may become three, and a space two more in front
    t = (llm_token *)malloc((n + !n) * sizeof *t);
    if (!t) abort();
    MUST(llm__tok_encode(&s->v, h, str, flags, NULL, 0, t, n, &again) == LLM_OK && again == n);
    for (i = 0; i < n; i++) MUST(t[i] >= 0 && (uint32_t)t[i] < s->v.n_tokens);
    for (i = 0; i < 64; i++) some[i] = -77;
    MUST(llm__tok_encode(&s->v, h, str, flags, NULL, 0, some, cap, &again) == LLM_OK && again == n);
    MUST(memcmp(some, t, (cap < n ? cap : n) * sizeof *t) == 0);
    for (i = cap < n ? cap : n; i < 64; i++) MUST(some[i] == -77);

    length = must_decode(s, t, n, flags | LLM_SHOW_SPECIAL, 3 * cap, &back);
    MUST(length != LLM_FAILED);
    free(back);
    must_come_back(s, t, n, text, c->n, flags);
    length = must_decode(s, t, n, (flags & LLM_SHOW_SPECIAL) | LLM_NO_SPACE_PREFIX, cap, &back);
    must_be_pieces(s, t, n, flags & LLM_SHOW_SPECIAL, back, length);
    free(back);
    must_not_forge(s, h, str, t, n);
    free(t);
    free(text);
}
// Ids that nobody made: refused as a whole if one of them is none, else some text.
static void must_decode_anything(const subject *s, choices *c) {
    llm_token t[16];
    size_t n = choose_below(c, 17), i, length;
    int sound = 1;
    char *text;
    for (i = 0; i < n; i++) {
        uint32_t kind = choose_byte(c);
        t[i] = kind < 240 ? (llm_token)((kind << 8 | choose_byte(c)) % s->v.n_tokens) : (llm_token)choose_u32(c);
        sound &= t[i] >= 0 && (uint32_t)t[i] < s->v.n_tokens;
    }
    length = must_decode(s, t, n, choose_byte(c) & ALL_FLAGS, choose_below(c, 64), &text);
    MUST((length != LLM_FAILED) == sound);
    free(text);
}
// A request that is refused ends the call, and nothing is left over.
static void must_survive(const subject *s, choices *c) {
    fuzz_heap counted;
    llm__heap h = heap_of(&counted);
    llm_token t[8];
    size_t n = 99;
    llm_result r;
    counted.fail_at = 1 + choose_below(c, 16);
    counted.fail_for = 1;
    r = llm__tok_encode(&s->v, &h, llm__str_n((const char *)c->p, c->n), LLM_PARSE_SPECIAL, NULL, 0, t, 8, &n);
    MUST(r == (counted.calls >= counted.fail_at ? LLM_NO_MEMORY : LLM_OK) && counted.n_live == 0);
    MUST(r == LLM_OK || n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    choices c;
    fuzz_heap counted;
    llm__heap heap = heap_of(&counted);
    subject made, *s = &made;
    uint32_t which;
    c.p = data;
    c.n = size < MOST_TEXT ? size : MOST_TEXT;
    which = choose_byte(&c);
    if (which < 160) s = sound_vocabulary(which % N_SOUND);
    else if (!odd_vocabulary(&made, &c, &heap)) { MUST(counted.n_live == 0); return 0; }
    if (s->v.status == LLM_OK) {
        must_decode_anything(s, &c);
        must_survive(s, &c);
        must_hold(s, &heap, &c);
    }
    if (s == &made) {
        llm__vocab_free(&made.v, &heap);
        llm__gguf_close(&made.g);
        free(made.bytes);
    }
    MUST(counted.n_live == 0);
    return 0;
}
