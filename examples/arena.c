// arena.c - a model inside one static buffer: nothing is allocated, and after llm_open nothing can run out of memory.
//
//     cc -O2 -std=c99 -I. examples/arena.c -o arena -pthread && ./arena [MODEL.gguf [BYTES]]
#define LLM_MALLOC(bytes) ((void)(bytes), (void *)0)               // the library has no malloc in this program
#define LLM_FREE(p)       ((void)(p))
#define LLM_IMPLEMENTATION
#include "llm.h"
#include <stdio.h>
#include <stdlib.h>

static char ram[1 << 20];              // all that there is

static int fail(const char *text) { fprintf(stderr, "%s\n", text); return 1; }

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "examples/tiny/tiny.gguf", *piece;
    size_t have = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : sizeof ram;
    static llm_model_desc machine;     // zeros: the defaults
    static llm_ctx_desc talk;
    static llm_plan_info plan;
    llm_error err;
    llm_model *model;
    llm_ctx *ctx;
    machine.n_threads = 1;
    talk.n_ctx = 256;                  // with an arena a reservation, so no more than is needed
    talk.n_batch = 8;                  // the scratch grows with it
    talk.kv_type = LLM_KV_Q8_0;

    machine.allocator = llm_arena(ram, sizeof ram);                 // the plan works in there, and gives all of it back
    if (llm_plan(path, &machine, &talk, &plan, &err) != LLM_OK) return fail(err.text);
    fprintf(stderr, "%lu bytes: %lu of tables, %lu of keys and values, %lu of scratch, the rest for text; %lu are there\n",
            (unsigned long)plan.arena_bytes, (unsigned long)plan.model_bytes, (unsigned long)plan.kv_bytes,
            (unsigned long)plan.scratch_bytes, (unsigned long)have);

    machine.allocator = llm_arena(ram, have < sizeof ram ? have : sizeof ram);
    model = llm_load(path, &machine, &err);
    ctx = llm_open(model, &talk, &err);
    if (!ctx) { llm_unload(model); return fail(err.text); }
    if (llm_say(ctx, "user", "Tell me a story about a fox.") != LLM_OK) return fail(llm_last_error(ctx)->text);
    while ((piece = llm_next(ctx, NULL)) != NULL) fputs(piece, stdout);
    if (llm_why(ctx) == LLM_STOP_ERROR) return fail(llm_last_error(ctx)->text);
    putchar('\n');
    llm_close(ctx);
    llm_unload(model);
    return 0;
}
