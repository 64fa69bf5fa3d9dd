// Start-up of a Cortex-M and two calls of semihosting, which QEMU and debug probes answer. The linker script places what is declared here.
#include <stdint.h>
#include "board.h"

extern uint32_t stack_low[], stack_top[], bss_begin[], bss_end[];
int main(void);
void board_reset(void);
void board_fault(void);

#define PAINT 0x5ac35ac3u

static int semihost(int call, const void *arg) {
    register int r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = arg;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
void board_write(const char *text) { semihost(4, text); }                              // SYS_WRITE0
static void leave(uint32_t code) {
    const uint32_t why[2] = { 0x20026, code };                                        // ADP_Stopped_ApplicationExit
    for (;;) semihost(0x20, why);                                                     // SYS_EXIT_EXTENDED
}
size_t board_stack_used(void) {
    const volatile uint32_t *p = stack_low;
    while (p < stack_top && *p == PAINT) p++;
    return (size_t)((const char *)stack_top - (const char *)p);
}

void board_reset(void) {
    volatile uint32_t *p;
    const uint32_t *here = (const uint32_t *)__builtin_frame_address(0);
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;                                  // CPACR: the floating-point unit
    __asm__ volatile("dsb\n\tisb");
#endif
    for (p = bss_begin; p < bss_end; p++) *p = 0;
    for (p = stack_low; p < here - 16; p++) *p = PAINT;
    leave((uint32_t)main());
}
void board_fault(void) {
    board_write("\nfault\n");
    leave(99);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top, board_reset, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault
};
