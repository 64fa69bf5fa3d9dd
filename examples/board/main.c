// A language model on a board: no operating system, no C library, no malloc, one thread. The file tiny.gguf is linked into the program and
// its weights are read where they lie, in flash; what the model needs besides comes out of one array. The same program runs on a desktop
// (make desktop) and says the same there, to the bit: tests/test_board.sh compares them.

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "board.h"

#define PROMPT  "<|im_start|>user\nTell me a story about a fox.<|im_end|>\n<|im_start|>assistant\n"
enum { ANSWER = 40, CONTEXT = 64, BATCH = 8 };

// ---- memory: blocks one behind the other. The last one can be given back, which is enough for a program that loads once.

#ifndef ARENA_BYTES
#define ARENA_BYTES (448 * 1024)
#endif
typedef struct arena { unsigned char *bytes; size_t size, used, most; } arena;

static void *arena_alloc(void *user, size_t bytes, size_t align) {
    arena *a = (arena *)user;
    const size_t at = (a->used + align - 1) & ~(align - 1);
    if (at > a->size || bytes > a->size - at) return NULL;
    a->used = at + bytes;
    if (a->used > a->most) a->most = a->used;
    return a->bytes + at;
}
static void arena_free(void *user, void *p, size_t bytes) {
    arena *a = (arena *)user;
    if ((unsigned char *)p + bytes == a->bytes + a->used) a->used = (size_t)((unsigned char *)p - a->bytes);
}

// ---- words

static void say_number(uint32_t v) {
    char digits[11];
    int i = 10;
    digits[i] = 0;
    do { digits[--i] = (char)('0' + v % 10); v /= 10; } while (v);
    board_write(digits + i);
}
static void say_hex(uint32_t v) {
    char digits[9];
    int i;
    for (i = 0; i < 8; i++) digits[i] = "0123456789abcdef"[v >> (28 - 4 * i) & 15];
    digits[8] = 0;
    board_write(digits);
}
static int fail(const char *what) {
    board_write("\nfailed: ");
    board_write(what);
    board_write("\n");
    return 1;
}

// FNV-1a over the bits of all logits, word by word: one different bit anywhere makes another number.
static uint32_t hash_logits(uint32_t hash, const float *logits, uint32_t n) {
    for (; n; n--, logits++) {
        union { float f; uint32_t u; } bits;
        bits.f = *logits;
        hash = (hash ^ bits.u) * 16777619u;
    }
    return hash;
}

// ---- the program

typedef struct result { uint32_t n_ids, hash; llm_token ids[ANSWER]; } result;

static int answer(llm_model *model, llm_ctx *ctx, uint32_t n_vocab, result *r) {
    llm_token tokens[CONTEXT];
    size_t n = llm_tokenize(model, PROMPT, sizeof PROMPT - 1, LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, tokens, CONTEXT);
    if (n == LLM_FAILED || n > CONTEXT - ANSWER) return fail("the prompt");
    if (llm_eval(ctx, tokens, n) < 0) return fail(llm_last_error(ctx)->text);
    r->hash = 2166136261u;
    for (r->n_ids = 0; r->n_ids < ANSWER; ) {
        char piece[64];
        const llm_token id = llm_sample(ctx);
        r->hash = hash_logits(r->hash, llm_logits(ctx), n_vocab);
        if (id == LLM_NO_TOKEN) return fail(llm_last_error(ctx)->text);
        if (llm_is_eog(model, id)) break;
        r->ids[r->n_ids++] = id;
        n = llm_detokenize(model, &id, 1, 0, piece, sizeof piece - 1);
        piece[n < sizeof piece ? n : 0] = 0;
        board_write(piece);
        if (llm_eval(ctx, &id, 1) < 0) return fail(llm_last_error(ctx)->text);
    }
    board_write("\n");
    return 0;
}

int main(void) {
    static unsigned char bytes[ARENA_BYTES];
    static result r;
    static llm_model_desc model_desc;                  // zeroed: defaults
    static llm_ctx_desc desc;
    static llm_info info;
    llm_error err;
    llm_model *model;
    llm_ctx *ctx;
    arena a;
    uint32_t i;
    int code;
    a.bytes = bytes; a.size = sizeof bytes; a.used = a.most = 0;
    model_desc.allocator.user = &a;
    model_desc.allocator.alloc_fn = arena_alloc;
    model_desc.allocator.free_fn = arena_free;
    desc.n_ctx = CONTEXT;
    desc.n_batch = BATCH;
    desc.sampling.temperature = 0.7f;
    desc.sampling.top_p = 0.95f;
    desc.sampling.seed = 5;
    model = llm_load_memory(board_model, (size_t)(board_model_end - board_model), &model_desc, &err);
    ctx = llm_open(model, &desc, &err);
    if (!ctx) return fail(err.text);
    llm_model_info(model, &info);
    code = answer(model, ctx, info.n_vocab, &r);
    board_write("tokens");
    for (i = 0; i < r.n_ids; i++) { board_write(" "); say_number((uint32_t)r.ids[i]); }
    board_write("\nlogits ");
    say_hex(r.hash);
    board_write("\narena ");
    say_number((uint32_t)a.most);
    board_write("\nstack ");
    say_number((uint32_t)board_stack_used());
    board_write("\n");
    llm_close(ctx);
    llm_unload(model);
    return code;
}
