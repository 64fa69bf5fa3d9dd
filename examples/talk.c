// talk.c - thirty lines: stop strings, Ctrl-C cancels an answer, "again" forgets the last exchange and asks once more with another seed.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
static llm_ctx *ctx;
static void stop(int signal_number) { signal(signal_number, stop); llm_cancel(ctx); }
int main(int argc, char **argv) {
    const char *stops[] = { "\nUser:" }, *piece;
    llm_sampling sampling = LLM_SAMPLING_DEFAULT;
    llm_error err;
    llm_model *model = llm_load(argc > 1 ? argv[1] : "examples/tiny/tiny.gguf", NULL, &err);
    char line[1000], asked[1000] = "";
    size_t before = 0;
    ctx = llm_open(model, NULL, &err);
    if (!ctx || llm_set_stop(ctx, stops, 1)) { fprintf(stderr, "%s\n", err.text); llm_unload(model); return 1; }
    signal(SIGINT, stop);
    while (fputs("> ", stdout), fflush(stdout), fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "again\n")) { strcpy(asked, line); before = llm_past(ctx); }
        else if (!llm_rewind(ctx, before)) sampling.seed++;
        llm_set_sampling(ctx, &sampling);
        llm_say(ctx, "user", asked);
        while ((piece = llm_next(ctx, NULL))) { fputs(piece, stdout); fflush(stdout); }
        printf("%s\n", llm_why(ctx) == LLM_STOP_CANCEL ? " ..." : llm_why(ctx) == LLM_STOP_ERROR ? llm_last_error(ctx)->text : "");
    }
    llm_close(ctx);
    llm_unload(model);
}
