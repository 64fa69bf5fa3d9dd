// A QEMU plugin: prints the address of every instruction that is executed between two marks, one per line.
//
//     cc -shared -fPIC bench/qemu_trace.c -o build/qemu_trace.so
//     qemu-aarch64 -plugin build/qemu_trace.so,begin=0x401234,end=0x401240 -d plugin -D trace.txt program
//
// Debian's qemu-user is built with plugins but ships no header; these are the declarations of version 1 of the interface (QEMU 4.2 to 8).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*cb)(unsigned cpu, void *user), int flags, void *user);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
extern void qemu_plugin_outs(const char *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t begin, end;
static int tracing;

static void executed(unsigned cpu, void *address) {
    char line[32];
    const uint64_t at = (uint64_t)(uintptr_t)address;
    (void)cpu;
    if (at == end) tracing = 0;
    if (tracing) {
        snprintf(line, sizeof line, "%llx\n", (unsigned long long)at);
        qemu_plugin_outs(line);
    }
    if (at == begin) tracing = 1;
}
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    size_t i;
    (void)id;
    for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, 0, (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    }
}
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv) {
    int i;
    (void)info;
    for (i = 0; i < argc; i++) {
        if (strncmp(argv[i], "begin=", 6) == 0) begin = strtoull(argv[i] + 6, NULL, 0);
        if (strncmp(argv[i], "end=", 4) == 0) end = strtoull(argv[i] + 4, NULL, 0);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return begin && end ? 0 : 1;
}
