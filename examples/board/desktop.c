// The board that every test can run: this machine.
#include <stdio.h>
#include "board.h"

void board_write(const char *text) { fputs(text, stdout); }
size_t board_stack_used(void) { return 0; }
