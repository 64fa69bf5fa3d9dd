// One call of one matrix kernel between two marks, for bench/arm.sh:  arm ISA TYPE decode|prefill ROWS COLS TOKENS
// Prints the bytes of a row.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include <stdio.h>

LLM__NOINLINE void mark_begin(void) { __asm__ volatile("nop" ::: "memory"); }
LLM__NOINLINE void mark_end(void) { __asm__ volatile("nop; nop" ::: "memory"); }

int main(int argc, char **argv) {
    static const llm_isa isas[] = { LLM_ISA_SCALAR, LLM_ISA_NEON, LLM_ISA_NEON_DOTPROD, LLM_ISA_NEON_I8MM };
    uint32_t rows, cols, tokens, i;
    uint64_t bytes = 0;
    llm__kernels k;
    llm__acts x;
    llm__tile t;
    int type, pass;
    if (argc != 7) return 2;
    rows = (uint32_t)atoi(argv[4]); cols = (uint32_t)atoi(argv[5]); tokens = (uint32_t)atoi(argv[6]);
    for (i = 0; i < LLM__COUNT(isas) && strcmp(llm__isa_name(isas[i]), argv[1]) != 0; i++) { }
    if (i == LLM__COUNT(isas) || llm__kernels_pick(&k, isas[i], NULL) != LLM_OK) return 3;
    for (type = 0; type < LLM__TYPE_COUNT && strcmp(llm__types[type].name, argv[2]) != 0; type++) { }
    if (type == LLM__TYPE_COUNT || !llm__row_bytes(type, cols, &bytes)) return 4;
    x.f = NULL; x.n = cols; x.n_tokens = tokens;
    x.q = (int8_t *)calloc(tokens, cols);
    x.d = (float *)calloc(tokens, cols / 8);
    x.s16 = (int16_t *)calloc(tokens, cols / 8);
    x.side = (llm__side *)calloc((tokens + 7) / 8 * (cols / 32), sizeof(llm__side));
    t.w = (const uint8_t *)calloc(rows, bytes);
    t.row_bytes = bytes; t.n_rows = rows; t.x = &x; t.follows = false; t.n_tokens = tokens; t.ld = rows;
    t.out = (float *)calloc((size_t)rows * tokens, 4);
    t.panel = (uint8_t *)calloc(1, (size_t)llm__panel_bytes() + 64);
    t.panel = (uint8_t *)t.panel + (64 - (uintptr_t)t.panel % 64);
    for (pass = 0; pass < 2; pass++) {
        if (pass) mark_begin();
        if (strcmp(argv[3], "decode") == 0) k.decode[type](&t);
        else k.prefill[type](&t);
        if (pass) mark_end();
    }
    printf("%u\n", (unsigned)bytes);
    return 0;
}
