// test_process.c - what a process sees of the library: pages, faults, memory that stays, processor time (COUNT). Linux only; the system's
// own figures are read here, apart from the library.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

#if defined(__linux__)
#include <dirent.h>
#include <sys/resource.h>

// Sums every line of /proc/self/smaps that begins with `key`, in bytes.
static double smaps_sum(const char *key) {
    char line[512];
    FILE *f = fopen("/proc/self/smaps", "r");
    double sum = 0;
    unsigned long kb;
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), " %lu", &kb) == 1) sum += (double)kb * 1024;
    fclose(f);
    return sum;
}
static unsigned count_dir(const char *path) {
    DIR *d = opendir(path);
    unsigned n = 0;
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}
static unsigned count_maps(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned n = 0;
    int c;
    while (f && (c = getc(f)) != EOF) n += c == '\n';
    if (f) fclose(f);
    return n;
}
static llm_ctx *open_model(const char *path, const llm_model_desc *d, uint32_t n_ctx, llm_model **model) {
    llm_ctx_desc c;
    llm_error e;
    llm_ctx *ctx;
    memset(&c, 0, sizeof c);
    c.n_ctx = n_ctx;
    *model = llm_load(path, d, &e);
    ctx = llm_open(*model, &c, &e);
    if (!CHECK(ctx != NULL)) printf("%s\n", e.text);
    return ctx;
}
static void feed(llm_ctx *ctx, uint32_t n, int one_by_one) {
    static llm_token tokens[1024];
    uint32_t i;
    for (i = 0; i < n; i++) tokens[i] = (llm_token)(3 + i % 50);
    if (!one_by_one) CHECK_EQ(llm_eval(ctx, tokens, n), LLM_OK);
    for (i = 0; one_by_one && i < n; i++) CHECK_EQ(llm_eval(ctx, &tokens[i], 1), LLM_OK);
}

// The real models, and the tiny one, which is always there.
static void memory_of(const char *path) {
    llm_model *m;
    llm_stats_info s;
    double before = smaps_sum("Private_Dirty:"), mine, file;
    llm_ctx *ctx = open_model(path, NULL, 512, &m);
    if (!ctx) { llm_unload(m); return; }
    memset(&s, 0, sizeof s);
    feed(ctx, 100, 0);
    feed(ctx, 32, 1);
    llm_stats(ctx, &s);
    // FR-019: weights are clean file pages; what is dirty is the library's tables, keys and values, and scratch.
    mine = smaps_sum("Private_Dirty:") - before;
    CHECK(mine < (double)(s.kv_bytes + s.scratch_bytes) * 1.02 + 16e6);
    // FR-017: one copy. Resident pages of the file are no more than the file.
    file = (double)s.weight_bytes * 1.05 + 8e6;
    CHECK((double)s.file_resident_bytes < file);
    llm_close(ctx);
    llm_unload(m);
}
static void test_memory(void) {
    static const char *const models[] = { "smollm2.gguf", "gemma3-270m.gguf", "qwen25-coder.gguf" };
    size_t i;
    SECTION("FR-017, 019: one copy of the weights, in clean pages");
    if (SANITIZED) { test_lacks("memory that a sanitizer does not multiply"); return; }
    memory_of("examples/tiny/tiny.gguf");
    for (i = 0; i < sizeof models / sizeof models[0]; i++) {
        const char *path = test_model(models[i]);
        if (path) memory_of(path);
        else test_skip(models[i]);
    }
}
static void test_four_lines(void) {
    const double slack = 400e3;                                         // the system adds up its counters of resident pages now and then
    llm__memory m;
    double anonymous, file, swap;
    SECTION("FR-025: the four figures of memory agree with smaps within 2 %");
    if (SANITIZED) { test_lacks("memory that a sanitizer does not multiply"); return; }
    llm__memory_look(&m);
    anonymous = smaps_sum("Anonymous:");
    file = smaps_sum("Rss:") - anonymous;
    swap = smaps_sum("Swap:");
    CHECK((double)m.anonymous > anonymous * 0.98 - slack && (double)m.anonymous < anonymous * 1.02 + slack);
    CHECK((double)m.file_resident > file * 0.98 - slack && (double)m.file_resident < file * 1.02 + slack);
    CHECK((double)m.swapped >= swap * 0.98 - slack && (double)m.swapped <= swap * 1.02 + slack);
}
static void test_switching(void) {
    static const char *const paths[] = { "examples/tiny/tiny.gguf", "tests/data/llama-dense.gguf" };
    unsigned fds = 0, maps = 0, tasks = 0, i;
    SECTION("FR-023: 100 changes of the model leave nothing behind");
    for (i = 0; i < 100; i++) {
        llm_model *m;
        llm_ctx *ctx = open_model(paths[i % 2], NULL, 64, &m);
        if (ctx) feed(ctx, 5, 0);
        llm_close(ctx);
        llm_unload(m);
        if (i == 9) { fds = count_dir("/proc/self/fd"); maps = count_maps(); tasks = count_dir("/proc/self/task"); }
    }
    CHECK_EQ(count_dir("/proc/self/fd"), fds);
    CHECK_EQ(count_dir("/proc/self/task"), tasks);
    if (!SANITIZED) CHECK(count_maps() <= maps + 4);                   // a sanitizer keeps what is freed for a while
}
static void test_names_of_kernels(void) {
    static const llm_isa isas[] = { LLM_ISA_SCALAR, LLM_ISA_AVX2, LLM_ISA_AVX_VNNI, LLM_ISA_AVX512_VNNI, LLM_ISA_NEON, LLM_ISA_NEON_DOTPROD,
                                    LLM_ISA_NEON_I8MM };
    static char report[8192];
    size_t i;
    SECTION("FR-042, 048: the report names the kernels that ran, from the dispatch taken");
    for (i = 0; i < LLM__COUNT(isas); i++) {
        llm_model_desc d;
        llm_model *m;
        llm_ctx *ctx;
        char line[128];
        memset(&d, 0, sizeof d);
        d.isa = isas[i];
        if (!llm_isa_usable(isas[i])) { printf("not here: %s\n", llm_isa_name(isas[i])); continue; }
        ctx = open_model("examples/tiny/tiny.gguf", &d, 64, &m);
        if (ctx) {
            llm_report(ctx, report, sizeof report);
            sprintf(line, "backend    CPU, %s kernels", llm_isa_name(isas[i]));
            if (!CHECK(strstr(report, line) != NULL)) printf("%s\n", report);
        }
        llm_close(ctx);
        llm_unload(m);
    }
}

static double cpu_seconds(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}
// llama-bench's way of timing, from outside: a call per token, the clock before and after.
static void test_timing(void) {
    llm_model *m;
    llm_stats_info s;
    llm_ctx *ctx = open_model("examples/tiny/tiny.gguf", NULL, 1024, &m);
    double best = 1e9;
    int i;
    SECTION("decode_ms agrees with a stopwatch within 5 %");
    memset(&s, 0, sizeof s);
    for (i = 0; ctx && i < 10 && best > 1.05; i++) {
        double began, outside, before;
        CHECK_EQ(llm_rewind(ctx, 0), LLM_OK);
        llm_stats(ctx, &s);
        before = s.decode_ms;
        began = (double)llm__os_now_us() * 1e-3;
        feed(ctx, 300, 1);
        outside = (double)llm__os_now_us() * 1e-3 - began;
        llm_stats(ctx, &s);
        CHECK(s.decode_ms - before <= outside);
        if (outside / (s.decode_ms - before) < best) best = outside / (s.decode_ms - before);
    }
    printf("stopwatch: %.3f of decode_ms\n", best);
    CHECK(best <= 1.05);
    llm_close(ctx);
    llm_unload(m);
}
static void test_cap(void) {
    llm_model_desc d;
    llm_model *m, *free_model;
    llm_ctx *ctx, *free_ctx;
    double share = 1, cpu, wall;
    int round;
    SECTION("FR-050: a cap of 50 % of the time, and the same bits");
    memset(&d, 0, sizeof d);
    d.n_threads = 1;
    free_ctx = open_model("examples/tiny/tiny.gguf", &d, 1024, &free_model);
    d.cpu_share = 50;
    ctx = open_model("examples/tiny/tiny.gguf", &d, 1024, &m);
    for (round = 0; ctx && round < 3 && !(share > 0.40 && share < 0.55); round++) {      // a busy machine takes time away from both sides
        CHECK_EQ(llm_rewind(ctx, 0), LLM_OK);
        cpu = cpu_seconds();
        wall = (double)llm__os_now_us() * 1e-6;
        feed(ctx, 1000, 1);
        cpu = cpu_seconds() - cpu;
        wall = (double)llm__os_now_us() * 1e-6 - wall;
        share = cpu / wall;
        printf("share %.3f in %.2f s\n", share, wall);
    }
    CHECK(share < 0.55);
    if (ctx && free_ctx) {
        feed(free_ctx, 1000, 1);
        CHECK(memcmp(llm_logits(ctx), llm_logits(free_ctx), sizeof(float) * (size_t)m->net.n_vocab) == 0);
    }
    llm_close(ctx);
    llm_close(free_ctx);
    llm_unload(m);
    llm_unload(free_model);
}

int main(void) {
    test_memory();
    test_four_lines();
    test_switching();
    test_names_of_kernels();
    test_timing();
    test_cap();
    return test_done();
}
#else
int main(void) {
    test_lacks("/proc");
    return test_done();
}
#endif
