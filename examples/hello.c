#define LLM_IMPLEMENTATION
#include "llm.h"
#include <stdio.h>
int main(int argc, char **argv) {
    llm_error err;
    llm_model *model = llm_load(argc > 1 ? argv[1] : "examples/tiny/tiny.gguf", NULL, &err);
    llm_ctx *ctx = llm_open(model, NULL, &err);
    if (!ctx) { fprintf(stderr, "%s\n", err.text); llm_unload(model); return 1; }
    llm_say(ctx, "user", "Tell me a story about a fox.");
    for (const char *piece; (piece = llm_next(ctx, NULL)); ) fputs(piece, stdout);
    if (llm_why(ctx) == LLM_STOP_ERROR) fprintf(stderr, "%s\n", llm_last_error(ctx)->text);
    llm_close(ctx); llm_unload(model);
}
