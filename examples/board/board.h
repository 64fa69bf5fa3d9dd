// What main.c asks of a board: a way to show text, the model's bytes, and how deep the stack has been.
#ifndef BOARD_H
#define BOARD_H
#include <stddef.h>

void board_write(const char *text);
size_t board_stack_used(void);                 // bytes that were ever written below the top; 0 where nobody knows

// tiny.gguf, from model.S; aligned to 64.
extern const unsigned char board_model[], board_model_end[];

#endif
