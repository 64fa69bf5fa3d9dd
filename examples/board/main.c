// A language model on a board: no operating system, no C library, no malloc, one thread. The file tiny.gguf is linked into the program and
// its weights are read where they lie, in flash; what the model needs besides comes out of one array. The same program runs on a desktop
// (make run-desktop) and says the same there, to the bit: tests/test_board.sh compares them.

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "board.h"

#define PROMPT  "<|im_start|>user\nTell me a story about a fox.<|im_end|>\n<|im_start|>assistant\n"
enum { ANSWER = 40, CONTEXT = 64, BATCH = 8 };

// What llm_plan says for this model and the figures above, on a 32-bit board. BOARD_PLAN asks it, prints it, and takes just that.
#ifndef ARENA_BYTES
#define ARENA_BYTES (448 * 1024)
#endif

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

// Token by token, because the logits of each are wanted; llm_feed and llm_next would do for the text alone.
static int answer(const llm_model *model, llm_ctx *ctx, const llm_token *prompt, size_t n, uint32_t n_vocab, result *r) {
    r->n_ids = 0;
    r->hash = 2166136261u;
    if (llm_eval(ctx, prompt, n) < 0) return fail(llm_last_error(ctx)->text);
    while (r->n_ids < ANSWER) {
        char piece[64];
        const llm_token id = llm_sample(ctx);
        if (id == LLM_NO_TOKEN) return fail(llm_last_error(ctx)->text);
        r->hash = hash_logits(r->hash, llm_logits(ctx), n_vocab);
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
    static unsigned char ram[ARENA_BYTES];
    static llm_model_desc machine;                     // zeroed: defaults
    static llm_ctx_desc talk;
    static llm_info info;
    static llm_token prompt[CONTEXT];
    static result r;
    const size_t n_flash = (size_t)(board_model_end - board_model);
    size_t n_ram = sizeof ram, n_prompt;
    llm_error err;
    llm_model *model;
    llm_ctx *ctx;
    uint32_t i;
    int code;
    machine.allocator = llm_arena(ram, n_ram);
    talk.n_ctx = CONTEXT;
    talk.n_batch = BATCH;
    talk.sampling.temperature = 0.7f;
    talk.sampling.top_p = 0.95f;
    talk.sampling.seed = 5;
#ifdef BOARD_PLAN
    {
        static llm_plan_info plan;
        if (llm_plan_memory(board_model, n_flash, &machine, &talk, &plan, &err) < 0) return fail(err.text);
        if (plan.arena_bytes > sizeof ram) return fail("the arena is smaller than the plan");
        n_ram = (size_t)plan.arena_bytes - (BOARD_PLAN ? 0 : 1);                       // 0: a byte less, and it must say so
        machine.allocator = llm_arena(ram, n_ram);
        board_write("planned ");
        say_number((uint32_t)plan.arena_bytes);
        board_write("\n");
    }
#endif
    model = llm_load_memory(board_model, n_flash, &machine, &err);
    if (!model) return fail(err.text);
    llm_model_info(model, &info);
    // Before llm_open takes what is left: tokenizing wants some memory for the moment.
    n_prompt = llm_tokenize(model, PROMPT, sizeof PROMPT - 1, LLM_ADD_SPECIAL | LLM_PARSE_SPECIAL, prompt, CONTEXT);
    if (n_prompt > CONTEXT - ANSWER) return fail("the prompt is too long, or cannot be tokenized");
    ctx = llm_open(model, &talk, &err);
    if (!ctx) return fail(err.text);
    code = answer(model, ctx, prompt, n_prompt, info.n_vocab, &r);
    board_write("tokens");
    for (i = 0; i < r.n_ids; i++) { board_write(" "); say_number((uint32_t)r.ids[i]); }
    board_write("\nlogits ");
    say_hex(r.hash);
    board_write("\nstack ");
    say_number((uint32_t)board_stack_used());
    board_write("\n");
    llm_close(ctx);
    llm_unload(model);
    return code;
}
