// test_explain.c - what the library says about itself and its machine: facts, plan, rules, report. The machine is a tree of text files
// made here (TREE), the clock is the test's (CLOCK), and what a plan promises is counted at the allocator.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
static const char *test_root = "";                                     // where /proc and /sys are
#define LLM__ROOT test_root

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include "gguf_writer.h"

#include <sys/stat.h>
#include <sys/types.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define UNOPTIMIZED (LLM__OPTIMIZED ? 0u : 1u)                          // findings that the build of this suite itself deserves

// ---- TREE

static char tree_dir[TEST_PATH];
static void tree_begin(const char *name) {
    char command[2 * TEST_PATH];
    strcpy(tree_dir, test_scratch(name));
    sprintf(command, "rm -rf '%s'", tree_dir);
    if (system(command) != 0) printf("cannot clear %s\n", tree_dir);
    mkdir(tree_dir, 0777);
    test_root = tree_dir;
}
static void tree_file(const char *path, const char *text) {
    char full[2 * TEST_PATH], *p;
    FILE *f;
    sprintf(full, "%s%s", tree_dir, path);
    for (p = full + strlen(tree_dir) + 1; *p; p++)
        if (*p == '/') { *p = 0; mkdir(full, 0777); *p = '/'; }
    f = fopen(full, "wb");
    if (f) { fputs(text, f); fclose(f); }
    CHECK(f != NULL);
}
static void tree_end(void) { test_root = ""; }

#define GB 1000000000.0
#define MEMINFO "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\nSwapTotal:       4000000 kB\nSwapFree:        1000000 kB\n"

static void test_memory(void) {
    const uint64_t space = llm__os_address_space();                    // UINT64_MAX: no bound that matters. 32 bits are one
    const int wide = space == UINT64_MAX;
    llm__memory m;
    SECTION("memory: a machine of text");
    tree_begin("explain.tree");
    llm__memory_look(&m);
    CHECK(m.total == 0 && (m.available == 0) == wide && m.swap_total == 0 && m.pressure_pct <= 0.0 && !m.swap_is_zram);
    tree_file("/proc/meminfo", MEMINFO);
    tree_file("/proc/self/status", "Name:\tx\nVmHWM:\t   70000 kB\nVmSize:\t  900000 kB\nRssAnon:\t   20000 kB\nRssFile:\t   50000 kB\nVmSwap:\t     300 kB\n");
    llm__memory_look(&m);
    CHECK(m.total == 16384000000u && m.available == (wide ? 8192000000u : space - 921600000u) && m.swap_total == 4096000000u && m.swap_used == 3072000000u);
    CHECK(m.limit == (wide ? m.total : space) && !strcmp(m.limit_by, wide ? "RAM" : "address space"));
    CHECK(m.file_resident == 51200000 && m.anonymous == 20480000 && m.swapped == 307200 && m.peak_rss == 71680000);

    SECTION("memory: control groups, version 2");
    tree_file("/proc/self/cgroup", "0::/app/worker\n");
    tree_file("/sys/fs/cgroup/app/worker/memory.max", "max\n");
    tree_file("/sys/fs/cgroup/app/memory.max", "2000000000\n");
    tree_file("/sys/fs/cgroup/app/memory.current", "1500000000\n");
    tree_file("/sys/fs/cgroup/app/memory.stat", "anon 700000000\nfile 800000000\nkernel 1\n");
    llm__memory_look(&m);
    CHECK(m.limit == 2000000000u && !strcmp(m.limit_by, "cgroup"));
    CHECK(m.available == 1300000000u);                                 // 2.0 - (1.5 - 0.8 of file pages, which can be dropped)
    tree_file("/sys/fs/cgroup/app/worker/memory.high", "1000000000\n");
    tree_file("/sys/fs/cgroup/app/worker/memory.current", "400000000\n");
    llm__memory_look(&m);
    CHECK(m.limit == 1000000000u && m.available == 600000000u);

    tree_file("/sys/fs/cgroup/app/worker/memory.current", "1000000000\n");
    llm__memory_look(&m);
    CHECK(m.limit == 1000000000u && m.available == 1);                // a full group is not an unknown one
    SECTION("memory: control groups, version 1, and a container that does not see its path");
    tree_file("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/x\n");
    tree_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000000\n");
    tree_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000000\n");
    tree_file("/sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_cache 250000000\n");
    llm__memory_look(&m);
    CHECK(m.limit == 3000000000u && m.available == 2250000000u);
    tree_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");      // none
    llm__memory_look(&m);
    CHECK(m.limit == (wide ? m.total : space));

    SECTION("memory: texts of any length");                           // what is looked for comes late, behind one long line among others
    {
        static char text[20000];
        size_t i, n = 0;
        for (i = 0; i < 60; i++) n += (size_t)sprintf(text + n, "%u:name=%u:/kubepods/burstable/pod%080u/%080u\n", (unsigned)i + 20, (unsigned)i, 7u, 9u);
        memset(text + n, 'x', 2100);
        n += 2100;
        memcpy(text + n, "4:memory:/none", 14);                        // in the middle of that line: no line of its own
        strcpy(text + n + 14, "\n9:cpu,memory:/late\n4:memory:/later\n");
        tree_file("/proc/self/cgroup", text);
        tree_file("/sys/fs/cgroup/memory/late/memory.limit_in_bytes", "2500000000\n");
        tree_file("/sys/fs/cgroup/memory/late/memory.usage_in_bytes", "2000000000\n");
        for (i = 0, n = 0; i < 300; i++) n += (size_t)sprintf(text + n, "hierarchical_value_%u %u\n", (unsigned)i, 1000u);
        strcpy(text + n, "total_cache 1900000000\ntotal_cache 5");
        tree_file("/sys/fs/cgroup/memory/late/memory.stat", text);
    }
    llm__memory_look(&m);
    CHECK_EQ(m.limit, 2500000000u);
    CHECK_EQ(m.available, 2400000000u);

    SECTION("memory: pressure and swap");
    tree_file("/proc/pressure/memory", "some avg10=23.75 avg60=1.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n");
    tree_file("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition 4000000 3000000 100\n");
    llm__memory_look(&m);
    CHECK(m.pressure_pct > 23.69 && m.pressure_pct < 23.76 && m.swap_is_zram);
    tree_end();
}

static void test_heat(void) {
    llm__heat h;
    SECTION("heat and power");
    tree_begin("explain.tree");
    llm__heat_look(&h);
    CHECK(h.mhz == 0 && h.mhz_max == 0 && h.celsius <= 0.0 && !h.mode[0] && !h.on_battery);
    tree_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000\n");
    tree_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "1800000\n");
    tree_file("/sys/devices/system/cpu/cpu6/cpufreq/scaling_cur_freq", "2200000\n");      // 1 to 5 are offline
    tree_file("/sys/devices/system/cpu/cpu6/cpufreq/cpuinfo_max_freq", "2400000\n");
    tree_file("/sys/class/thermal/thermal_zone0/temp", "41000\n");
    tree_file("/sys/class/thermal/thermal_zone1/temp", "-273000\n");
    tree_file("/sys/class/thermal/thermal_zone2/temp", "");                // as one that answers ENODATA; 3 is not there
    tree_file("/sys/class/thermal/thermal_zone4/temp", "83500\n");
    tree_file("/sys/class/thermal/thermal_zone5/temp", "4294967295\n");
    tree_file("/sys/firmware/acpi/platform_profile", "low-power\n");
    tree_file("/sys/class/power_supply/BAT0/status", "Discharging\n");
    llm__heat_look(&h);
    CHECK(h.mhz == 2200 && h.mhz_max == 2400);
    CHECK(h.celsius > 83.4 && h.celsius < 83.6);
    CHECK(!strcmp(h.mode, "low-power") && h.on_battery);
    tree_file("/sys/firmware/acpi/platform_profile", "balanced-performance\n");
    tree_file("/sys/class/power_supply/BAT0/status", "Charging\n");
    llm__heat_look(&h);
    CHECK(!strcmp(h.mode, "balanced-performance") && !h.on_battery);
    tree_end();
}

// ---- names

static void test_names(void) {
    static const struct { const char *path, *type; } cases[] = {
        { "models/Qwen2.5-1.5B-Instruct-Q4_0.gguf", "Q4_0" }, { "qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M" },
        { "/data/Q8_0/model-f16.gguf", "F16" }, { "/data/Q8_0/model.gguf", NULL }, { "gemma-3-270m-it.BF16.gguf", "BF16" },
        { "Llama-3.2-1B-IQ4_XS-00001-of-00002.gguf", "IQ4_XS" }, { "my4bit.gguf", NULL }, { "my-4bit.gguf", "4BIT" },
        { "xq4_0.gguf", NULL }, { "phi-Q4_K_Medium.gguf", NULL }, { "", NULL }, { "C:\\m\\tiny.Q6_K.gguf", "Q6_K" },
        { "f16-to-q8_0.gguf", "Q8_0" }
    };
    size_t i;
    SECTION("the type that a file's name promises");
    for (i = 0; i < LLM__COUNT(cases); i++) {
        const struct llm__name_type *t = llm__name_type_of(cases[i].path);
        if (cases[i].type) CHECK_TEXT(t ? t->name : "none", cases[i].type);
        else CHECK(t == NULL);
    }
}

// ---- percentiles

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
static void test_percentiles(void) {
    static llm__watch w;
    static uint64_t us[5000];
    static const uint32_t percent[] = { 50, 90, 99 };
    uint64_t state = 7;
    size_t i, n = LLM__COUNT(us);
    double got[3];
    SECTION("percentiles of token times are right within 5 %");
    llm__times_percentiles(&w, got);
    CHECK(got[0] <= 0.0);
    for (i = 0; i < n; i++) {
        us[i] = 20 + (golden_random(&state) & 0xffff) * (golden_random(&state) % 97 == 0 ? 1000 : 1);      // some are very slow
        llm__watch_end(&w, us[i], 1000);
    }
    qsort(us, n, sizeof us[0], by_size);
    llm__times_percentiles(&w, got);
    for (i = 0; i < LLM__COUNT(percent); i++) {
        const double want = (double)us[(n * percent[i] + 99) / 100 - 1] * 1e-3;
        CHECK(got[i] > want * 0.95 && got[i] < want * 1.05);
    }
    for (i = 0; i < 64; i++) CHECK(llm__times_slot((uint64_t)1 << i) < LLM__TIMES);
    CHECK(llm__times_slot(UINT64_MAX) == LLM__TIMES - 1);
}

// Microseconds of one token's bookkeeping, the least of many tries: of a token that is sampled and of one that is not.
static double watching_us(llm__watch *w, uint64_t token_us) {
    double best = 1e9;
    int try_, i;
    for (try_ = 0; try_ < 50; try_++) {
        const uint64_t began = llm__os_now_us();
        for (i = 0; i < 200; i++) {
            llm__watch_begin(w);
            llm__watch_end(w, token_us, 1000000);
        }
        if ((double)(llm__os_now_us() - began) / 200 < best) best = (double)(llm__os_now_us() - began) / 200;
    }
    return best;
}
static void test_cost(void) {
    static llm__watch w;
    double slow, fast;
    SECTION("watching costs less than 0.5 % of decode");
    slow = watching_us(&w, 1000);
    fast = watching_us(&w, 100);
    printf("bookkeeping: %.2f us of a token of 1 ms, %.3f us of one of 0.1 ms\n", slow, fast);
    if (SANITIZED) return;
    CHECK(slow < 5.0);
    CHECK(fast < 0.5);
}

// ---- rules: facts in, causes out

static llm_stats_info healthy(void) {
    llm_stats_info f;
    memset(&f, 0, sizeof f);
    llm__facts_no_text(&f);
    f.compiler = "gcc 12.2.0"; f.optimized = 1; f.isas_compiled = "scalar, AVX2, AVX-VNNI, AVX-512 VNNI"; f.backend = "CPU";
    f.isa = f.isa_best = LLM_ISA_AVX2;
    f.n_threads = f.n_performance_cores = 4; f.cpus_online = f.cpus_allowed = f.cpus_allowed_at_load = 8;
    f.cores_reason = "4 of 8 CPUs are performance cores";
    f.mapping = LLM_MAP; f.from_path = 1;
    f.weight_bytes = 4000000000u; f.kv_bytes = 100000000u; f.kv_limit_bytes = 500000000u; f.scratch_bytes = 100000000u;
    f.bits_per_weight = 4.9; f.name_type = "Q4_K_M"; f.name_bits = 4.9;
    f.mem_total = f.mem_limit = 16000000000u; f.mem_available = 9000000000u; f.mem_limit_by = "RAM";
    f.anonymous_bytes = 250000000u; f.file_resident_bytes = 4000000000u;
    f.swap_total = 4000000000u; f.swap_used = 3000000000u; f.swap_is_zram = 1;      // with no pressure it does not matter (FR-026)
    f.load_ms = 300; f.map_ms = 1; f.first_token_ms = 900; f.first_touch_ms = 200;
    f.roofline_pct = 85; f.probe_gb_s = 40; f.decode_gb_s = 34; f.cpu_busy_pct = 97; f.cpu_user_pct = 95;
    f.burst_gb_s = 35; f.recent_gb_s = 34; f.burst_mhz = 3000; f.cpu_mhz = 2950; f.cpu_mhz_max = 3000; f.temperature_c = 60;
    f.power_mode = "balanced";
    return f;
}
// The first finding of these facts.
static llm_finding first_of(const llm_stats_info *f) {
    llm_finding out[16];
    const size_t n = llm__findings_of(f, out, 16);
    if (!n) { memset(out, 0, sizeof out); out[0].code = "none"; }
    return out[0];
}
static void expect(const llm_stats_info *f, const char *code, double factor, llm_factor kind, const char *in_text) {
    const llm_finding x = first_of(f);
    CHECK_TEXT(x.code, code);
    CHECK(x.factor > factor * 0.999 && x.factor < factor * 1.001);
    CHECK(x.kind == kind);
    if (in_text && !CHECK(strstr(x.text, in_text) != NULL)) printf("  the text is: %s\n", x.text);
}
static void test_rules(void) {
    llm_stats_info f = healthy();
    llm_finding two[2];
    SECTION("rules: a healthy set-up has no finding");
    CHECK(llm__findings_of(&f, NULL, 0) == 0);
    SECTION("rules: each cause is named with its factor");
    f = healthy(); f.optimized = 0; f.roofline_pct = 5;
    expect(&f, "unoptimized_build", 20.0, LLM_BOUND, "gcc 12.2.0");
    f.roofline_pct = 0;
    expect(&f, "unoptimized_build", 50.0, LLM_BOUND, NULL);
    f = healthy(); f.isas_compiled = "scalar"; f.isa = LLM_ISA_SCALAR; f.roofline_pct = 10;
    expect(&f, "isa_not_compiled", 10.0, LLM_BOUND, "this CPU has AVX2, but the build has only scalar");
    f = healthy(); f.bits_per_weight = 16; f.name_type = "F16"; f.name_bits = 16;
    expect(&f, "wide_weights", 16 / 4.9, LLM_BOUND, "16.0 bits");
    f = healthy(); f.bits_per_weight = 8.5;
    expect(&f, "name_promises_less", 8.5 / 4.9, LLM_BOUND, "the name says Q4_K_M (4.9 bits), but a token reads 8.5");
    f = healthy(); f.file_system = "FUSE"; f.first_touch_ms = 60000; f.first_token_ms = 62000;
    expect(&f, "slow_storage", 62300.0 / 2300.0, LLM_MEASURED, "FUSE");
    f = healthy(); f.file_system = "NFS"; f.mapping = LLM_READ; f.load_ms = 90000; f.map_ms = 89000;
    expect(&f, "slow_load", 90.0, LLM_MEASURED, "89000.0 of 90000.0 ms");
    f.file_system = ""; f.from_path = 0;                               // a reader of the program's
    expect(&f, "slow_load", 90.0, LLM_MEASURED, "89000.0 of 90000.0 ms");
    f = healthy(); f.isa = LLM_ISA_SCALAR; f.scalar_pct = 100; f.roofline_pct = 6.25;                     // FR-049
    expect(&f, "scalar_kernels", 16.0, LLM_BOUND, "the CPU has AVX2: 6.3 % of what memory allows");
    f = healthy(); f.isa_best = LLM_ISA_AVX512_VNNI;
    expect(&f, "weaker_kernels", 2.5, LLM_BOUND, "AVX2 kernels compute although the CPU has AVX-512 VNNI");
    f = healthy(); f.scalar_pct = 50; f.roofline_pct = 10;
    expect(&f, "scalar_types", 5.5, LLM_BOUND, "50.0 %");
    f = healthy(); f.major_faults_per_token = 900; f.cpu_user_pct = 4;                                    // FR-016
    expect(&f, "paging", 25.0, LLM_MEASURED, "900.0 times per token");
    f = healthy(); f.mem_pressure_pct = 60;                                                               // FR-026
    expect(&f, "memory_pressure", 2.5, LLM_BOUND, "3.00 GB of 4.00 GB of swap");
    f = healthy(); f.weight_bytes = 40000000000u;
    expect(&f, "does_not_fit", 1.0, LLM_BOUND, "16.0 GB");
    f = healthy(); f.kv_limit_bytes = 9500000000u;
    expect(&f, "context_too_large", 1.0, LLM_BOUND, "9.50 GB of keys and values, and 9.00 GB is free");
    f = healthy(); f.mapping = LLM_READ; f.load_ms = 4000; f.map_ms = 3900; f.mapping_reason = "asked for";
    expect(&f, "weights_copied", 40.0, LLM_MEASURED, "asked for");
    f = healthy(); f.anonymous_bytes = 4300000000u;
    expect(&f, "second_copy", 1.0, LLM_BOUND, "4.30 GB");
    f = healthy(); f.cpus_allowed = 1; f.n_threads_resting = 3;                                           // FR-036
    expect(&f, "fewer_cpus", 4.0, LLM_BOUND, "shrank from 8 to 1: 3 of 4 threads rest");
    f = healthy(); f.n_threads = 8;                                                                       // FR-031, 033
    expect(&f, "too_many_threads", 2.0, LLM_BOUND, "8 threads, and performance cores for 4");
    f.n_threads_resting = 4;
    CHECK_TEXT(first_of(&f).code, "none");                             // those that rest do no harm
    f = healthy(); f.n_threads_asked = 8;
    expect(&f, "threads_missing", 2.0, LLM_BOUND, "8 threads were asked for and 4 could be had");
    f = healthy(); f.decode_tokens = 10; f.decode_ms = 1000; f.preempted_per_token = 20; f.cpu_busy_pct = 49.99; f.cpu_user_pct = 49;
    expect(&f, "busy_neighbour", 2.0, LLM_MEASURED, "only 50.0 % of the time");                           // FR-035
    f.preempted_per_token = 2;                                         // 200 ms of waiting are more than two lost CPUs
    CHECK_TEXT(first_of(&f).code, "none");
    f.host_threads = 1;
    expect(&f, "host_threads_wait", 100.0 / 50, LLM_MEASURED, "job system computed only 50.0 %");
    f.quota_throttled_pct = 90;
    expect(&f, "cpu_quota", 2.0, LLM_MEASURED, "ran out in 90.0 % of its periods");
    f = healthy(); f.cores_asked = LLM_CORES_BIG; f.cores_reason = "the system says yes and does nothing";      // FR-037
    expect(&f, "not_pinned", 1.0, LLM_BOUND, "the system says yes and does nothing");
    f = healthy(); f.power_mode = "low-power"; f.cpu_mhz = f.burst_mhz = 1500;
    expect(&f, "power_saving", 2.0, LLM_BOUND, "clock 1500 MHz of 3000 MHz");
    f = healthy(); f.cpu_share = 50;
    expect(&f, "capped", 2.0, LLM_BOUND, "50 %");
    SECTION("rules: heat is a falling clock, not a falling rate (FR-047)");
    f = healthy(); f.recent_gb_s = f.burst_gb_s * 0.55; f.cpu_mhz = 1700;
    expect(&f, "throttled", 1.0 / 0.55, LLM_MEASURED, "from 3000 to 1700 MHz");
    f.cpu_mhz = 3000;
    CHECK_TEXT(first_of(&f).code, "none");
    SECTION("rules: what is not known is no 0");
    f = healthy(); f.recent_gb_s = f.burst_gb_s * 0.55; f.cpu_mhz = 1700; f.temperature_c = 0;
    expect(&f, "throttled", 1.0 / 0.55, LLM_MEASURED, "(temperature unknown)");
    f.temperature_c = 71;
    expect(&f, "throttled", 1.0 / 0.55, LLM_MEASURED, "from 3000 to 1700 MHz, and decode with it (71.0 C)");
    f = healthy(); f.power_mode = "low-power"; f.cpu_mhz = f.cpu_mhz_max = f.burst_mhz = 0;
    expect(&f, "power_saving", 1.0, LLM_BOUND, "clock unknown of unknown)");
    f = healthy(); f.major_faults_per_token = 900; f.cpu_user_pct = 4; f.mem_available = 0;
    expect(&f, "paging", 25.0, LLM_MEASURED, "while an unknown amount of memory is free");
    SECTION("rules: several causes, the greatest first; repaired one by one the others stay (FR-032)");
    f = healthy(); f.optimized = 0; f.roofline_pct = 10; f.file_system = "FUSE"; f.first_touch_ms = 60000; f.first_token_ms = 62000;
    CHECK_EQ(llm__findings_of(&f, two, 2), 2);
    CHECK_TEXT(two[0].code, "slow_storage");
    CHECK_TEXT(two[1].code, "unoptimized_build");
    f.file_system = "";
    CHECK_EQ(llm__findings_of(&f, two, 1), 1);
    CHECK_TEXT(two[0].code, "unoptimized_build");
}
// Where a name is missing, a finding says so; where one is too many, the finding is another one, whose advice does not help.
static void test_compiled(void) {
    const char *list = llm__isas_compiled();
    SECTION("the instruction sets that are compiled in are those that are named");
#define LLM__X(id, name) CHECK(llm__has(list, name) == llm__isa_compiled(id) || id == LLM_ISA_AUTO);
    LLM__ISAS(LLM__X)
#undef LLM__X
}
static void test_texts(void) {
    llm_stats_info f = healthy();
    char buf[252];
    size_t i;
    SECTION("rules: no text names a fact that does not exist, and all fit");
    for (i = 0; i < LLM__COUNT(llm__rules); i++) {
        const llm__rule *r = &llm__rules[i];
        llm__facts_into(buf, sizeof buf, r->text, &f);
        CHECK(strlen(buf) < sizeof buf - 40 && !strchr(buf, '?') && !strchr(buf, '{') && !strchr(buf, '}'));
        llm__facts_into(buf, sizeof buf, r->advice, &f);
        CHECK(strlen(buf) < sizeof buf - 20 && !strchr(buf, '?') && !strchr(buf, '{') && !strchr(buf, '}'));
        CHECK(r->layer <= 5 && r->symptom[0] && r->check[0]);
        CHECK(i == 0 || r->layer >= r[-1].layer);                      // the order of suspicion
    }
}

// ---- plan

typedef struct counted { size_t now, most; } counted;
static void *counted_alloc(void *user, size_t bytes, size_t align) {
    counted *c = (counted *)user;
    void *p = malloc(bytes + 64);
    (void)align;
    if (!p) return NULL;
    c->now += bytes;
    if (c->now > c->most) c->most = c->now;
    return p;
}
static void counted_free(void *user, void *p, size_t bytes) { ((counted *)user)->now -= bytes; free(p); }

// Opens a context, fills it, and compares what the allocator counted with what the plan had said.
static void plan_against_count(const char *path, uint32_t n_ctx, llm_kv_type kv) {
    llm_model_desc d;
    llm_ctx_desc c;
    llm_plan_info plan;
    llm_error e;
    llm_model *m;
    llm_ctx *ctx;
    llm_token *tokens = (llm_token *)calloc(n_ctx, sizeof *tokens);
    counted count = { 0, 0 };
    double ratio;
    memset(&d, 0, sizeof d);
    memset(&c, 0, sizeof c);
    memset(&plan, 0, sizeof plan);
    c.n_ctx = n_ctx; c.kv_type = kv;
    d.n_threads = 2;
    d.allocator.user = &count; d.allocator.alloc_fn = counted_alloc; d.allocator.free_fn = counted_free;
    if (!CHECK_EQ(llm_plan(path, &d, &c, &plan, &e), LLM_OK)) { printf("%s\n", e.text); free(tokens); return; }
    CHECK_EQ(count.now, 0);                                            // nothing stays
    m = llm_load(path, &d, &e);
    ctx = llm_open(m, &c, &e);
    if (CHECK(ctx != NULL) && CHECK_EQ(llm_eval(ctx, tokens, n_ctx), LLM_OK)) {
        const uint64_t anonymous = plan.total_bytes - plan.weights_mapped;
        ratio = (double)anonymous / (double)count.now;
        if (!CHECK(ratio > 0.95 && ratio < 1.05)) printf("  %s, n_ctx %u, kv %d: plan %llu, counted %zu\n", path, n_ctx, (int)kv,
                                                         (unsigned long long)anonymous, count.now);
        CHECK_EQ(plan.n_ctx, n_ctx);
        CHECK(plan.verdict == LLM_FITS && plan.n_ctx_fits == plan.n_ctx_train);
    }
    llm_close(ctx);
    llm_unload(m);
    CHECK_EQ(count.now, 0);
    free(tokens);
}
// A limit of the address space (ulimit -v) is what the process may have. In a child, because it is not taken back.
static void test_address_space(void) {
#if LLM__LINUX
    const uint64_t gb = (uint64_t)1 << 30;
    int status = -1;
    pid_t child;
    SECTION("ulimit -v");
    if (SANITIZED) { test_lacks("a limit of the address space, under a sanitizer that takes terabytes of it"); return; }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct rlimit r;
        llm__memory m;
        r.rlim_cur = r.rlim_max = (rlim_t)gb;
        if (setrlimit(RLIMIT_AS, &r) != 0) _exit(2);
        llm__memory_look(&m);
        _exit(m.limit == gb && m.limit_by && strcmp(m.limit_by, sizeof(void *) > 4 ? "ulimit -v" : "address space") == 0
              && m.available < gb && m.physical != gb ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
#endif
}
// What passes 64 bits is told as all of them, and fits nowhere.
static void test_vast_contexts(void) {
    static llm__kv kv;
    static llm__net net;
    static llm__state s;
    llm_plan_info p;
    SECTION("contexts that nobody can count");
    memset(&kv, 0, sizeof kv);
    kv.groups[0].page_bytes = (uint64_t)1 << 39;
    CHECK(llm__kv_bytes_for(&kv, 64, 1) == (uint64_t)1 << 39);
    CHECK(llm__kv_bytes_for(&kv, 0x7fffffff, 1) == UINT64_MAX);           // 2^25 pages: the product is 2^64
    kv.groups[0].page_bytes = kv.groups[1].page_bytes = (uint64_t)1 << 38;
    CHECK(llm__kv_bytes_for(&kv, 0x7fffffff, 1) == UINT64_MAX);           // the sum
    memset(&p, 0, sizeof p);
    p.kv_bytes = UINT64_MAX;
    p.scratch_bytes = 1000;
    p.mem_limit = p.mem_available = 1u << 30;
    p.mem_limit_by = "a wall";
    llm__plan_verdict(&p);
    CHECK(p.total_bytes == UINT64_MAX && p.verdict == LLM_DOES_NOT_FIT);
    memset(&net, 0, sizeof net);
    memset(&s, 0, sizeof s);
    net.n_embd = net.n_head = net.n_head_kv = net.dim_k = net.dim_v = net.n_rot = net.n_vocab = net.n_ff = 1;
    s.net = &net;
    s.n_workers = s.n_batch = 1;
    s.n_ctx = 0x7fffffff;
    s.kv.groups[0].page_bytes = (uint64_t)1 << 40;                        // 2^24 pages are too many already
    p.n_ctx_train = p.n_ctx = s.n_ctx;
    p.n_batch = 1;
    p.mem_available = p.mem_limit = ((uint64_t)1 << 42) + (1u << 20);
    p.gb_s = 1;
    p.bytes_per_token = 1000;
    CHECK_EQ(llm__plan_sizes(&p, 1, &s, NULL), LLM_OK);
    CHECK(p.kv_bytes == UINT64_MAX && p.verdict == LLM_DOES_NOT_FIT);
    CHECK_EQ(p.n_ctx_fits, 4 * LLM__PAGE);
    CHECK(p.tok_s_high == 1e6 && p.tok_s_low < 1e-9);
}
// Verdicts from figures: the limits as they are told, at the edge and a byte beyond it.
static void test_plan_verdicts(void) {
    static const struct { uint64_t total, available, limit; llm_verdict verdict; const char *word; } cases[] = {
        { 1000, 2000, 3000, LLM_FITS, "fits: " }, { 2000, 2000, 3000, LLM_FITS, "fits: " },
        { 2001, 2000, 3000, LLM_FITS_TIGHTLY, "fits tightly: " }, { 3000, 2000, 3000, LLM_FITS_TIGHTLY, "(a wall)" },
        { 3001, 2000, 3000, LLM_DOES_NOT_FIT, "does not fit: " }, { 1000, 0, 0, LLM_FITS, "is not known" }
    };
    size_t i;
    SECTION("a plan's verdicts");
    for (i = 0; i < LLM__COUNT(cases); i++) {
        llm_plan_info p;
        memset(&p, 0, sizeof p);
        p.weights_read = cases[i].total;
        p.mem_available = cases[i].available;
        p.mem_limit = cases[i].limit;
        p.mem_limit_by = "a wall";
        llm__plan_verdict(&p);
        CHECK_EQ((int)p.verdict, (int)cases[i].verdict);
        CHECK(strstr(p.reason, cases[i].word) != NULL);
    }
}
static void test_plan_counts(void) {
    static const char *const names[] = { "archs/llama-dense.gguf", "archs/qwen2-dense.gguf", "archs/gemma3-dense.gguf", "archs/llama-moe.gguf",
                                         "archs/phi3-dense.gguf" };
    static const uint32_t n_ctx[] = { 64, 300, 1100 };
    static const llm_kv_type kv[] = { LLM_KV_F16, LLM_KV_F32, LLM_KV_Q8_0 };
    size_t i, j, k;
    SECTION("the plan is within 5 % of what is allocated (FR-053)");
    for (i = 0; i <= LLM__COUNT(names); i++) {
        const char *path = i < LLM__COUNT(names) ? test_fixture(names[i]) : "examples/tiny/tiny.gguf";
        if (!path) { test_skip(names[i]); continue; }
        for (j = 0; j < LLM__COUNT(n_ctx); j++)
            for (k = 0; k < LLM__COUNT(kv); k++) plan_against_count(path, n_ctx[j], kv[k]);
    }
}

// What a context takes for its wishes is a part of the tables: it grows by as much as the allocator counts.
static void test_plan_wishes(void) {
    const char *path = "examples/tiny/tiny.gguf";
    uint64_t planned[2], counts[2];
    int wish;
    SECTION("a plan counts the sampler and the template of its context");
    for (wish = 0; wish < 2; wish++) {
        static char jinja[4096];
        counted count = { 0, 0 };
        llm_model_desc d;
        llm_ctx_desc c;
        llm_plan_info plan;
        llm_error e;
        llm_model *m;
        llm_ctx *ctx;
        memset(&d, 0, sizeof d); memset(&c, 0, sizeof c); memset(&plan, 0, sizeof plan);
        d.n_threads = 1;
        d.allocator.user = &count; d.allocator.alloc_fn = counted_alloc; d.allocator.free_fn = counted_free;
        if (wish) { c.sampling.temperature = 1.0f; c.sampling.typical_p = 0.5f; c.sampling.repeat_penalty = 1.1f; c.chat_template = jinja; }
        CHECK_EQ(llm_plan(path, &d, &c, &plan, &e), LLM_OK);
        m = llm_load(path, &d, &e);
        if (!wish) CHECK(llm_meta(m, "tokenizer.chat_template", jinja, sizeof jinja) < sizeof jinja);
        ctx = llm_open(m, &c, &e);
        if (!CHECK(ctx != NULL)) printf("  %s\n", e.text);
        planned[wish] = plan.model_bytes;
        counts[wish] = count.now;
        llm_close(ctx);
        llm_unload(m);
    }
    CHECK(counts[1] > counts[0] + 1000);
    CHECK_EQ(planned[1] - planned[0], counts[1] - counts[0]);
}

typedef struct spy { const unsigned char *bytes; uint64_t n_read, furthest; } spy;
static size_t spy_read(void *user, uint64_t offset, void *dst, size_t n) {
    spy *s = (spy *)user;
    memcpy(dst, s->bytes + offset, n);
    s->n_read += n;
    if (offset + n > s->furthest) s->furthest = offset + n;
    return n;
}
static void test_plan_routes(void) {
    size_t n;
    unsigned char *bytes = test_read("examples/tiny/tiny.gguf", &n);
    llm_plan_info by_path, by_memory, by_reader;
    llm_reader reader;
    llm_error e;
    spy s = { NULL, 0, 0 };
    SECTION("plans from a path, memory and a reader agree; a reader's weights are not read (FR-021)");
    if (!CHECK(bytes != NULL)) return;
    memset(&by_path, 0, sizeof by_path); memset(&by_memory, 0, sizeof by_memory); memset(&by_reader, 0, sizeof by_reader);
    s.bytes = bytes;
    reader.user = &s; reader.size = n; reader.read_at = spy_read;
    CHECK_EQ(llm_plan("examples/tiny/tiny.gguf", NULL, NULL, &by_path, &e), LLM_OK);
    CHECK_EQ(llm_plan_memory(bytes, n, NULL, NULL, &by_memory, &e), LLM_OK);
    CHECK_EQ(llm_plan_reader(&reader, NULL, NULL, &by_reader, &e), LLM_OK);
    CHECK(by_path.weight_bytes == by_memory.weight_bytes && by_path.weight_bytes == by_reader.weight_bytes);
    CHECK(by_path.kv_bytes == by_reader.kv_bytes && by_path.scratch_bytes == by_reader.scratch_bytes);
    CHECK(by_path.file_fingerprint == by_memory.file_fingerprint && by_path.file_fingerprint == by_reader.file_fingerprint);
    CHECK(by_path.weights_read == 0 && by_reader.weights_mapped == 0 && by_reader.weights_read == by_path.weights_mapped);
    CHECK(s.furthest <= n / 2 && s.furthest < n - by_path.weight_bytes / 2);
    CHECK_EQ(llm_plan(NULL, NULL, NULL, &by_path, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan("examples/tiny/tiny.gguf", NULL, NULL, NULL, &e), LLM_BAD_ARG);
    CHECK_EQ(llm_plan("no/such.gguf", NULL, NULL, &by_path, &e), LLM_IO);
    {
        volatile size_t known = 300;                                   // of a caller that knows only the beginning
        llm_plan_info *less = (llm_plan_info *)malloc(known);
        llm_finding f[2];
        less->struct_bytes = 300;
        CHECK_EQ(llm_plan("examples/tiny/tiny.gguf", NULL, NULL, less, &e), LLM_OK);
        CHECK(less->struct_bytes == 300 && llm_findings_plan(less, f, 2) == UNOPTIMIZED);
        free(less);
    }
    CHECK_EQ(llm_plan_memory(bytes, 100, NULL, NULL, &by_path, &e), LLM_BAD_FILE);
    free(bytes);
}

// A tensor without data: the file is sparse.
static void sparse_tensor(gguf_writer *w, uint64_t *at, const char *name, uint64_t cols, uint64_t rows, uint32_t type) {
    const uint64_t bytes = type == 0 ? cols * rows * 4 : cols * rows / 32 * 18;
    gw_string(&w->infos, name, strlen(name));
    gw_number(&w->infos, rows > 1 ? 2 : 1, 4);
    gw_number(&w->infos, cols, 8);
    if (rows > 1) gw_number(&w->infos, rows, 8);
    gw_number(&w->infos, type, 4);
    gw_number(&w->infos, *at, 8);
    *at = (*at + bytes + 31) / 32 * 32;
    w->n_tensors++;
}
// 80 layers of the shape of Llama 2 70B in Q4_0, 38.8 GB, of which the disk holds some kilobytes.
static int sparse_model(const char *path, uint64_t *size) {
    gguf_writer w;
    char name[64];
    uint64_t at = 0;
    size_t n;
    unsigned char *bytes;
    FILE *f;
    int i, ok;
    gw_begin(&w);
    gw_text(&w, "general.architecture", "llama");
    gw_u32(&w, "llama.block_count", 80);
    gw_u32(&w, "llama.context_length", 1048576);                       // FR-051
    gw_u32(&w, "llama.embedding_length", 8192);
    gw_u32(&w, "llama.feed_forward_length", 28672);
    gw_u32(&w, "llama.attention.head_count", 64);
    gw_u32(&w, "llama.attention.head_count_kv", 8);
    gw_f32(&w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    sparse_tensor(&w, &at, "token_embd.weight", 8192, 32000, 2);
    sparse_tensor(&w, &at, "output_norm.weight", 8192, 1, 0);
    sparse_tensor(&w, &at, "output.weight", 8192, 32000, 2);
    for (i = 0; i < 80; i++) {
#define T(suffix, cols, rows, type) sprintf(name, "blk.%d." suffix ".weight", i); sparse_tensor(&w, &at, name, cols, rows, type)
        T("attn_norm", 8192, 1, 0); T("attn_q", 8192, 8192, 2); T("attn_k", 8192, 1024, 2); T("attn_v", 8192, 1024, 2);
        T("attn_output", 8192, 8192, 2); T("ffn_norm", 8192, 1, 0); T("ffn_gate", 8192, 28672, 2); T("ffn_up", 8192, 28672, 2);
        T("ffn_down", 28672, 8192, 2);
#undef T
    }
    bytes = gw_end(&w, &n);
    f = fopen(path, "wb");
    ok = f && fwrite(bytes, 1, n, f) == n;
    *size = w.data_at + at;
    if (f) {
        fflush(f);
        ok = ok && ftruncate(fileno(f), (off_t)*size) == 0;
        fclose(f);
    }
    free(bytes);
    return ok;
}
static void test_sparse(void) {
    const char *path = test_scratch("explain.sparse-Q4_0.gguf");
    llm_model_desc d;
    llm_plan_info plan;
    llm_error e;
    llm_model *m;
    llm_finding found[4];
    struct stat st;
    uint64_t size = 0, big;
    SECTION("a file of 38.8 GB (FR-020): planned, refused, and loaded by force, without a weight being read");
    if (sizeof(void *) < 8 || !sparse_model(path, &size)) { test_lacks("a file system with sparse files of 38.8 GB"); remove(path); return; }
    memset(&d, 0, sizeof d);
    memset(&plan, 0, sizeof plan);
    tree_begin("explain.tree");
    tree_file("/proc/meminfo", MEMINFO);
    CHECK_EQ(llm_plan(path, &d, NULL, &plan, &e), LLM_OK);
    CHECK_EQ(plan.file_bytes, size);
    CHECK(plan.verdict == LLM_DOES_NOT_FIT && strstr(plan.reason, "38.8 GB of weights") && strstr(plan.reason, "16.4 GB (RAM)"));
    CHECK_EQ(plan.kv_bytes_per_token, 80 * 8 * 128 * 2 * 2);
    CHECK(plan.n_ctx == 4096 && plan.n_ctx_train == 1048576 && plan.n_ctx_fits == 0);
    CHECK(llm_findings_plan(&plan, found, 4) == 1 + UNOPTIMIZED && !strcmp(found[UNOPTIMIZED].code, "does_not_fit"));
    CHECK(llm_load(path, &d, &e) == NULL && e.code == LLM_TOO_BIG && strstr(e.text, "38.8 GB") && strstr(e.text, "16.4 GB"));
    d.mapping = LLM_READ;
    CHECK(llm_load(path, &d, &e) == NULL && e.code == LLM_TOO_BIG);      // before anything is allocated
    d.mapping = LLM_MAP_AUTO;
    d.force = 2;
    CHECK(llm_load(path, &d, &e) == NULL && e.code == LLM_BAD_ARG);
    d.force = 1;
    m = llm_load(path, &d, &e);
    if (!m && e.code == LLM_UNSUPPORTED) test_lacks("an address space for 38.8 GB");
    else if (CHECK(m != NULL)) {
        CHECK(stat(path, &st) == 0 && (uint64_t)st.st_blocks * 512 < 8000000);
        llm_unload(m);
    }
    SECTION("the speed that a host's bandwidth makes of it");
    d.host_gb_s = 50.0;
    tree_file("/proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\n");
    CHECK_EQ(llm_plan(path, &d, NULL, &plan, &e), LLM_OK);
    big = plan.bytes_per_token;
    CHECK(plan.verdict == LLM_FITS && big > 38000000000u && big < 39000000000u);
    CHECK(plan.tok_s_high > 50e9 / (double)big * 0.999 && plan.tok_s_high < 50e9 / (double)big * 1.001 && plan.tok_s_low < plan.tok_s_high / 2);
    CHECK(plan.n_ctx_fits > 60000 && plan.n_ctx_fits < 70000);         // (61.4 - 38.8 - scratch) GB by 327,680 bytes
    CHECK(plan.bits_per_weight > 4.49 && plan.bits_per_weight < 4.51);
    tree_end();
    remove(path);
}

// ---- a conversation: stages, report, refusals

static void test_stages(void) {
    llm_model_desc d;
    llm_stats_info s;
    llm_error e;
    llm_model *m;
    llm_ctx *ctx;
    llm_token token = 3;
    static char report[8192], part[64];
    size_t n, i;
    double sum;
    SECTION("stages add up, and the first touch is one of them");
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    m = llm_load("examples/tiny/tiny.gguf", &d, &e);
    ctx = llm_open(m, NULL, &e);
    if (!CHECK(ctx != NULL)) return;
    for (i = 0; i < 40; i++) CHECK_EQ(llm_eval(ctx, &token, 1), LLM_OK);
    llm_stats(ctx, &s);
    sum = s.open_ms + s.parse_ms + s.vocab_ms + s.bind_ms;
    CHECK(sum > s.load_ms * 0.95 && sum < s.load_ms * 1.05 && s.map_ms <= s.open_ms + 0.001);
    CHECK(s.first_touch_ms > 0.0);
    CHECK(s.decode_p50_ms > 0.0 && s.decode_p50_ms <= s.decode_p90_ms && s.decode_p90_ms <= s.decode_p99_ms);
    CHECK(s.burst_gb_s >= s.recent_gb_s && s.recent_gb_s > 0.0);
    CHECK(s.compiler[0] && s.isas_compiled[0] && s.isa_best == s.isa && !strcmp(s.backend, "CPU") && s.from_path == 1);
    CHECK(s.bits_per_weight > 4.0 && s.bits_per_weight < 9.0 && s.file_fingerprint != 0);
    CHECK(s.kv_limit_bytes >= s.kv_bytes);
    SECTION("the report is one screen without a path, and its length is told");
    n = llm_report(ctx, report, sizeof report);
    CHECK(n == strlen(report) && n > 500 && n < 4000 && !strstr(report, "tiny.gguf") && !strstr(report, "examples"));
    CHECK(strstr(report, "findings") && strstr(report, "roofline") && strstr(report, "backend    CPU"));
    CHECK_EQ(llm_report(ctx, NULL, 0), n);
    CHECK_EQ(llm_report(ctx, part, sizeof part), n);
    CHECK(!memcmp(part, report, sizeof part));
    CHECK(llm_report(NULL, report, sizeof report) == LLM_FAILED && llm_report(ctx, NULL, 5) == LLM_FAILED);
    CHECK(llm_findings(NULL, NULL, 0) == 0 && llm_findings(ctx, NULL, 3) == 0);
    llm_close(ctx);
    llm_unload(m);
    SECTION("forced scalar kernels are named (FR-049)");
    d.isa = LLM_ISA_SCALAR;
    m = llm_load("examples/tiny/tiny.gguf", &d, &e);
    ctx = llm_open(m, NULL, &e);
    if (CHECK(ctx != NULL)) {
        llm_finding f[8];
        const size_t found = llm_findings(ctx, f, 8);
        for (i = 0; i < found; i++) if (!strcmp(f[i].code, "scalar_kernels")) break;
        if (s.isa_best != LLM_ISA_SCALAR) CHECK(i < found && f[i].layer == 2 && f[i].factor > 1.0);
    }
    llm_close(ctx);
    llm_unload(m);
}

// ---- CLOCK: a clock of the test's, and a tree whose clock frequency falls

typedef struct fake_clock { uint64_t us, step; } fake_clock;
static uint64_t fake_now(void *user) {
    fake_clock *c = (fake_clock *)user;
    return c->us += c->step;
}
static const char *run_hot(int falls) {
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_ctx *ctx;
    llm_token token = 3;
    fake_clock clock = { 1000000, 2000 };
    llm_finding f[8];
    const char *code = "none";
    size_t n, i;
    tree_begin("explain.tree");
    tree_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
    tree_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000\n");
    memset(&d, 0, sizeof d);
    d.clock.user = &clock; d.clock.now_us = fake_now;
    d.n_threads = 1;
    m = llm_load("examples/tiny/tiny.gguf", &d, &e);
    ctx = llm_open(m, NULL, &e);
    for (i = 0; i < 200 && ctx; i++) {
        if (i == 100) {
            clock.step = 3600;                                         // 1.8 times as long, for more keys and values
            if (falls) tree_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1650000\n");
        }
        CHECK_EQ(llm_eval(ctx, &token, 1), LLM_OK);
    }
    n = llm_findings(ctx, f, 8);
    for (i = 0; i < n; i++) if (f[i].layer == 5) { code = f[i].code; CHECK(f[i].factor > 1.4 && f[i].factor < 1.8); }
    llm_close(ctx);
    llm_unload(m);
    tree_end();
    return code;
}
static void test_hot(void) {
    SECTION("CLOCK: slower tokens under a falling clock are heat, under a steady one they are not (FR-047)");
    CHECK_TEXT(run_hot(1), "throttled");
    CHECK_TEXT(run_hot(0), "none");
}

// A host may trap every rounding: nothing here may compute in its floating-point environment.
static void hear_figures(void *user, int level, const char *text) {
    (void)level;
    *(int *)user += strstr(text, "of memory is free") != NULL;
}
static void test_hostile_fp(void) {
#if LLM__X64 && LLM__GNUC
    static char report[8192];
    llm_plan_info plan;
    llm_model_desc d;
    llm_finding found[4];
    llm_error e;
    llm_model *m;
    llm_ctx *ctx;
    size_t n, k;
    int figures = 0;
    llm__fpenv before = llm__fp_get();
    SECTION("plan, findings and report under a host that traps inexact results");
    memset(&plan, 0, sizeof plan);
    tree_begin("explain.tree");
    tree_file("/proc/meminfo", MEMINFO);
    tree_file("/proc/pressure/memory", "some avg10=23.75 avg60=1.00 avg300=0.00 total=1\n");
    tree_file("/sys/class/thermal/thermal_zone0/temp", "41003\n");
    llm__fp_set(0);
    m = llm_load("examples/tiny/tiny.gguf", NULL, &e);
    ctx = llm_open(m, NULL, &e);
    llm_plan("examples/tiny/tiny.gguf", NULL, NULL, &plan, &e);
    n = llm_findings_plan(&plan, found, 4);
    k = llm_findings(ctx, found, 4);
    llm_report(ctx, report, sizeof report);
    llm__fp_set(before);
    CHECK(ctx != NULL && plan.verdict == LLM_FITS && n == UNOPTIMIZED && k < 4 && strstr(report, "23.7 %"));
    llm_close(ctx);
    llm_unload(m);
    memset(&d, 0, sizeof d);                                           // too little is free: the log says how much
    d.force = 1;
    d.logger.log_fn = hear_figures; d.logger.user = &figures;
    tree_file("/proc/meminfo", "MemTotal: 16000 kB\nMemFree: 17 kB\nMemAvailable: 17 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    llm__fp_set(0);
    m = llm_load("examples/tiny/tiny.gguf", &d, &e);
    llm_unload(m);
    llm__fp_set(before);
    CHECK(m && figures == 1);
    tree_end();
#endif
}
// Only what is mapped can be dropped and read again: where it was read, or is the host's, too little free memory is no news.
static void test_what_is_read_again(void) {
    size_t n;
    unsigned char *bytes = test_read("examples/tiny/tiny.gguf", &n);
    int way;
    SECTION("the warning that weights will be read again and again");
    if (!CHECK(bytes != NULL)) return;
    tree_begin("explain.tree");
    tree_file("/proc/meminfo", "MemTotal: 16000 kB\nMemFree: 17 kB\nMemAvailable: 17 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    for (way = 0; way < 3; way++) {
        int warned = 0;
        llm_model_desc d;
        llm_error e;
        llm_model *m;
        memset(&d, 0, sizeof d);
        d.force = 1;
        d.mapping = way == 1 ? LLM_READ : LLM_MAP_AUTO;
        d.logger.log_fn = hear_figures; d.logger.user = &warned;
        m = way == 2 ? llm_load_memory(bytes, n, &d, &e) : llm_load("examples/tiny/tiny.gguf", &d, &e);
        if (CHECK(m != NULL)) CHECK_EQ(warned, way == 0 && m->gguf.mapping == LLM_MAP);
        llm_unload(m);
    }
    tree_end();
    free(bytes);
}
// CLOCK, TREE: each reading of this clock is 2 ms after the one before, so counting the pages of the weights takes 2 ms, and every token
// comes with a page from storage.
static void test_looks(void) {
    fake_clock clock = { 1000000, 2000 };
    llm_model_desc d;
    llm_stats_info s;
    llm_error e;
    llm_model *m;
    llm_ctx *ctx;
    uint64_t began;
    unsigned looks = 0, counts = 0, i;
    SECTION("CLOCK: counting the pages of the weights takes a thousandth of the time, and no other fact waits for it");
    tree_begin("explain.tree");
    tree_file("/proc/meminfo", MEMINFO);
    tree_file("/proc/self/cgroup", "0::/app\n");
    tree_file("/sys/fs/cgroup/app/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 5\n");
    memset(&d, 0, sizeof d); memset(&s, 0, sizeof s);
    d.clock.user = &clock; d.clock.now_us = fake_now;
    d.n_threads = 1;
    m = llm_load("examples/tiny/tiny.gguf", &d, &e);
    ctx = llm_open(m, NULL, &e);
    if (!CHECK(ctx != NULL)) return;
    for (began = clock.us; clock.us - began < 60000000; ) {
        ctx->major_seen--;
        ctx->stats.weights_resident_bytes = ctx->stats.mem_total = 77;
        llm_set_max_tokens(ctx, 0);                                    // every call may look
        looks += ctx->stats.mem_total != 77;
        counts += ctx->stats.weights_resident_bytes != 77;
    }
    CHECK(looks >= 80 && looks <= 240);                                // two readings: 4 ms, 300 times that
    CHECK(counts >= 10 && counts <= 31);
    SECTION("the quota of another control group");
    tree_file("/sys/fs/cgroup/app/cpu.stat", "usage_usec 5\nnr_periods 20\nnr_throttled 8\n");
    for (i = 0; i < 2; i++) {
        ctx->watch.next_look = 0;
        llm_set_max_tokens(ctx, 0);
        llm_stats(ctx, &s);
        CHECK(LLM__SYSTEM ? s.quota_throttled_pct > 29.9 && s.quota_throttled_pct < 30.1 : s.quota_throttled_pct <= 0.0);
        tree_file("/sys/fs/cgroup/app/cpu.stat", "usage_usec 5\nnr_periods 30\nnr_throttled 2\n");      // the process was moved
    }
    llm_close(ctx);
    llm_unload(m);
    tree_end();
}

int main(void) {
    test_memory();
    test_heat();
    test_names();
    test_percentiles();
    test_cost();
    test_rules();
    test_compiled();
    test_texts();
    test_address_space();
    test_vast_contexts();
    test_plan_verdicts();
    test_plan_counts();
    test_plan_wishes();
    test_plan_routes();
    test_sparse();
    test_stages();
    test_hot();
    test_hostile_fp();
    test_what_is_read_again();
    test_looks();
    return test_done();
}
