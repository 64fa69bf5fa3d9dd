// Start-up on the first hart of QEMU's `virt` machine, its UART, and the device that ends it.
#include <stdint.h>
#include "board.h"

extern unsigned long stack_low[], stack_top[], bss_begin[], bss_end[];
int main(void);
void board_start(void);

#define PAINT 0x5ac35ac3ul

void board_write(const char *text) {
    volatile uint8_t *uart = (volatile uint8_t *)0x10000000u;
    for (; *text; text++) *uart = (uint8_t)*text;
}
size_t board_stack_used(void) {
    const volatile unsigned long *p = stack_low;
    while (p < stack_top && *p == PAINT) p++;
    return (size_t)((const char *)stack_top - (const char *)p);
}
static void leave(uint32_t code) {
    volatile uint32_t *finisher = (volatile uint32_t *)0x100000u;
    for (;;) *finisher = code ? code << 16 | 0x3333u : 0x5555u;
}

void board_start(void) {
    volatile unsigned long *p;
    const unsigned long *here = (const unsigned long *)__builtin_frame_address(0);
#if defined(__riscv_flen)
    __asm__ volatile("csrs mstatus, %0" : : "r"(1 << 13));                            // FS: the floating-point unit
#endif
    for (p = bss_begin; p < bss_end; p++) *p = 0;
    for (p = stack_low; p < here - 32; p++) *p = PAINT;
    leave((uint32_t)main());
}

// The first instructions; a trap ends the program too.
__asm__(".option arch, +zicsr\n"
        ".section .vectors, \"ax\"\n"
        ".global board_entry\n"
        "board_entry:\n"
        "    la sp, stack_top\n"
        "    la t0, board_trap\n"
        "    csrw mtvec, t0\n"
        "    call board_start\n"
        ".balign 4\n"
        "board_trap:\n"
        "    li t0, 0x100000\n"
        "    li t1, 0x633333\n"
        "    sw t1, 0(t0)\n"
        "    j board_trap\n");
