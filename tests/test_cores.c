// test_cores.c - which cores are chosen, on trees of real devices, and what becomes of the choice: pinned and checked, ignored by the system,
// taken away and given back while the model computes.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) && defined(__GLIBC__) && !defined(LLM_NO_STDIO)
#define SHIM 1
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
// The system may lie about affinity. SAYS_NO: refuses. IGNORES: says yes and does nothing, as stock Android does. PRETENDS: reads the mask back as
// it was asked for, too, and only the CPU that the thread runs on tells the truth.
enum { HONEST, SAYS_NO, IGNORES, PRETENDS };
static int system_is = HONEST;
static __thread unsigned char pretended[128];
static __thread int pretends, n_sets;
static long shim_syscall(long number, ...) {
    va_list args;
    const int n = number == SYS_futex ? 6 : number == SYS_rt_sigprocmask ? 4 : number == SYS_gettid || number == SYS_getpid ? 0 : 3;      // those the library makes
    long a[6] = { 0, 0, 0, 0, 0, 0 };
    int i;
    va_start(args, number);
    for (i = 0; i < n; i++) a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_sched_setaffinity && system_is != HONEST) {
        n_sets++;
        if (system_is == SAYS_NO) { errno = EPERM; return -1; }
        memcpy(pretended, (void *)(uintptr_t)a[2], sizeof pretended);
        pretends = system_is == PRETENDS;
        return 0;
    }
    if (number == SYS_sched_getaffinity && system_is == PRETENDS && pretends) {
        memset((void *)(uintptr_t)a[2], 0, (size_t)a[1]);
        memcpy((void *)(uintptr_t)a[2], pretended, sizeof pretended);
        return (long)sizeof pretended;
    }
    if (number == SYS_getcpu && system_is == PRETENDS && pretends) {
        *(unsigned *)(uintptr_t)a[0] = 777;
        return 0;
    }
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#define syscall shim_syscall
#else
#define SHIM 0
#endif

// Where the library finds /proc and /sys: "" is this machine.
static char root[512];
#define LLM__ROOT root
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

static const char data_model[] = "tests/data/llama-dense.gguf";
static llm__heap heap;

#if SHIM

//------------------------------------------------------------------------------------------------------------------------------
// Devices. Frequencies are cpuinfo_max_freq; capacity is 1024 * (capacity-dmips-mhz x frequency) / the largest of those, as the kernel computes
// it from the device tree (drivers/base/arch_topology.c); 1024 everywhere where the tree has none; 0 where the numbers are not public, and then
// the file is not there. What to expect is written from the facts of the chip: big and middle cores count, little ones and siblings do not.

enum { CAPACITY = 1, FREQ = 2, CPUINFO = 4, SIBLINGS = 8, CORE_ID = 16, LISTS = 32, ONLINE = 64 };
typedef struct group { uint32_t n, part, capacity, khz; } group;             // part: implementer << 12 | part
typedef struct device {
    const char *name;
    group groups[6];                   // CPUs in the order of their numbers; one group is one cluster
    uint32_t smt;                      // 1: siblings are 2k and 2k + 1 in the first group; n > 1: k and k + n
    const char *p_cores, *e_cores;
    uint32_t threads;
    const char *places;
    struct { uint32_t missing, threads; const char *places; } without[6];    // where something missing makes a difference
    const char *why;
} device;

#define ARM(part) (0x41u << 12 | (part))
#define QUALCOMM(part) (0x51u << 12 | (part))
#define FIRST_8 "0,1,2,3,4,5,6,7"
#define FIRST_32 FIRST_8 ",8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

static const device devices[] = {
    // rk3588-base.dtsi: A55 530, A76 1024, three clusters; Orange Pi 5 (FR-033). 530 * 1800 / 2304 = 414.
    { "rk3588", { { 4, ARM(0xd05), 414, 1800000 }, { 2, ARM(0xd0b), 1024, 2304000 }, { 2, ARM(0xd0b), 1024, 2304000 } }, 0, NULL, NULL,
      4, "4,5,6,7", { { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } }, "4 of 8 CPUs are performance cores (capacity 1024 against 414)" },
    // sm8550.dtsi: A510 1024, A715 and A710 1792, X3 1894.
    { "Snapdragon 8 Gen 2", { { 3, ARM(0xd46), 350, 2016000 }, { 2, ARM(0xd4d), 852, 2803200 }, { 2, ARM(0xd47), 852, 2803200 },
      { 1, ARM(0xd4e), 1024, 3187200 } }, 0, NULL, NULL, 5, "7,3,4,5,6", { { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } },
      "5 of 8 CPUs are performance cores (capacity 852 against 350)" },
    // sm8650.dtsi with the numbers of linux-arm-msm, 2026-01-28: A520 1024, A720 2909, X4 3591.
    { "Snapdragon 8 Gen 3", { { 2, ARM(0xd80), 200, 2265600 }, { 3, ARM(0xd81), 791, 3148800 }, { 2, ARM(0xd81), 743, 2956800 },
      { 1, ARM(0xd82), 1024, 3302400 } }, 0, NULL, NULL, 6, "7,2,3,4,5,6", { { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } },
      "6 of 8 CPUs are performance cores (capacity 743 against 200)" },
    // sm8750.dtsi: eight Oryon cores without capacities, 6 at 3.53 and 2 at 4.32 GHz (Qualcomm's product brief): none is little.
    { "Snapdragon 8 Elite", { { 6, QUALCOMM(0x001), 1024, 3532800 }, { 2, QUALCOMM(0x001), 1024, 4320000 } }, 0, NULL, NULL,
      8, "6,7,0,1,2,3,4,5", { { FREQ, 8, FIRST_8 }, { CAPACITY | FREQ, 8, FIRST_8 }, { FREQ | CPUINFO, 8, FIRST_8 },
      { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } }, "8 CPUs, none clearly slower" },
    // MediaTek's product page: 1 X2 3.05 GHz, 3 A710 2.85 GHz, 4 A510 1.8 GHz.
    { "Dimensity 9000", { { 4, ARM(0xd46), 0, 1800000 }, { 3, ARM(0xd47), 0, 2850000 }, { 1, ARM(0xd48), 0, 3050000 } }, 0, NULL, NULL,
      4, "7,4,5,6", { { FREQ | CPUINFO, 8, FIRST_8 }, { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } },
      "4 of 8 CPUs are performance cores (ARM part numbers, 2850 against 1800 MHz)" },
    // MediaTek's product page: 1 X925 3.73 GHz, 3 X4 3.3 GHz, 4 A720 2.4 GHz. llama.cpp #21763 (FR-031): best with 3 or 4 threads, 100 times
    // slower with 5.
    { "Dimensity 9500s", { { 4, ARM(0xd81), 0, 2400000 }, { 3, ARM(0xd82), 0, 3300000 }, { 1, ARM(0xd85), 0, 3730000 } }, 0, NULL, NULL,
      4, "7,4,5,6", { { FREQ, 4, "4,5,6,7" }, { CAPACITY | FREQ, 4, "4,5,6,7" }, { FREQ | CPUINFO, 8, FIRST_8 },
      { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } }, "4 of 8 CPUs are performance cores (ARM part numbers, 3300 against 2400 MHz)" },
    // MediaTek's product page: 1 C1-Ultra 4.21 GHz, 3 C1-Premium 3.5 GHz, 4 C1-Pro 2.7 GHz.
    { "Dimensity 9500", { { 4, ARM(0xd8b), 0, 2700000 }, { 3, ARM(0xd90), 0, 3500000 }, { 1, ARM(0xd8c), 0, 4210000 } }, 0, NULL, NULL,
      4, "7,4,5,6", { { FREQ, 4, "4,5,6,7" }, { CAPACITY | FREQ, 4, "4,5,6,7" }, { FREQ | CPUINFO, 8, FIRST_8 },
      { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } }, "4 of 8 CPUs are performance cores (ARM part numbers, 3500 against 2700 MHz)" },
    // gs101.dtsi: A55 250, A76 620, X1 1024: a middle core has less than half of a big one, and counts. The frequencies alone go down in
    // two equal steps (0.804, 0.800) and do not tell.
    { "Tensor G1", { { 4, ARM(0xd05), 160, 1803000 }, { 2, ARM(0xd0b), 498, 2253000 }, { 2, ARM(0xd44), 1024, 2802000 } }, 0, NULL, NULL,
      4, "6,7,4,5", { { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 }, { CAPACITY | CPUINFO, 8, "6,7,4,5,0,1,2,3" } },
      "4 of 8 CPUs are performance cores (capacity 498 against 160)" },
    // Pixel 7: 2 X1 2.85, 2 A78 2.35, 4 A55 1.8 GHz (Wikipedia, Google Tensor).
    { "Tensor G2", { { 4, ARM(0xd05), 0, 1803000 }, { 2, ARM(0xd41), 0, 2348000 }, { 2, ARM(0xd44), 0, 2850000 } }, 0, NULL, NULL,
      4, "6,7,4,5", { { FREQ | CPUINFO, 8, FIRST_8 }, { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } },
      "4 of 8 CPUs are performance cores (ARM part numbers, 2348 against 1803 MHz)" },
    // Pixel 4a, Snapdragon 730: 2 Kryo 470 Gold (A76) 2.2 GHz, 6 Silver (A55) 1.8 GHz. whisper.cpp #1248 (FR-034): best with 2 threads.
    // The frequencies alone are too near to each other to tell.
    { "Snapdragon 730", { { 6, QUALCOMM(0x805), 0, 1804800 }, { 2, QUALCOMM(0x804), 0, 2208000 } }, 0, NULL, NULL,
      2, "6,7", { { CPUINFO, 8, "6,7,0,1,2,3,4,5" }, { CAPACITY | CPUINFO, 8, "6,7,0,1,2,3,4,5" }, { FREQ | CPUINFO, 8, FIRST_8 },
      { CAPACITY | FREQ | CPUINFO, 8, FIRST_8 } }, "2 of 8 CPUs are performance cores (ARM part numbers, 2208 against 1804 MHz)" },
    // Raspberry Pi 4 and 5: four A72 at 1.8 GHz, four A76 at 2.4 GHz (raspberrypi.com).
    { "Pi 4", { { 4, ARM(0xd08), 1024, 1800000 } }, 0, NULL, NULL, 4, "0,1,2,3", { { 0, 0, NULL } }, "4 CPUs alike" },
    { "Pi 5", { { 4, ARM(0xd0b), 1024, 2400000 } }, 0, NULL, NULL, 4, "0,1,2,3", { { 0, 0, NULL } }, "4 CPUs alike" },
    // NVIDIA GB10 (DGX Spark): 10 X925 3.9 GHz on CPUs 5-9 and 15-19, 10 A725 2.81 GHz; nine threads are reported as best, twenty 1.4 times slower.
    { "GB10", { { 5, ARM(0xd87), 0, 2808000 }, { 5, ARM(0xd85), 0, 3900000 }, { 5, ARM(0xd87), 0, 2808000 }, { 5, ARM(0xd85), 0, 3900000 } },
      0, NULL, NULL, 10, "5,6,7,8,9,15,16,17,18,19", { { FREQ | CPUINFO, 20, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19" },
      { CAPACITY | FREQ | CPUINFO, 20, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19" } },
      "10 of 20 CPUs are performance cores (ARM part numbers, 3900 against 2808 MHz)" },
    // i9-13900HX (ark.intel.com): 8 P cores with two threads each, 5.4 GHz, 16 E cores, 3.9 GHz. FR-039.
    { "i9-13900HX", { { 16, 0, 0, 5400000 }, { 16, 0, 0, 3900000 } }, 1, "0-15", "16-31", 8, "0,2,4,6,8,10,12,14",
      { { LISTS | FREQ, 24, "0,2,4,6,8,10,12,14,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31" },
        { SIBLINGS | CORE_ID, 16, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15" } },
      "16 of 32 CPUs are performance cores (P cores, as the system lists them), 8 with SMT siblings counted once" },
    // EPYC 9354P (amd.com): 32 cores, 64 threads, 3.8 GHz; Linux numbers the second threads from 32.
    { "EPYC 9354P", { { 64, 0, 0, 3800000 } }, 32, NULL, NULL, 32, FIRST_32,
      { { SIBLINGS | CORE_ID, 64, NULL } }, "64 CPUs alike, 32 with SMT siblings counted once" },
    { "one CPU", { { 1, 0, 0, 2000000 } }, 0, NULL, NULL, 1, "0", { { 0, 0, NULL } }, "one CPU" }
};
enum { N_DEVICES = sizeof devices / sizeof *devices };

// ---- trees on disk

static char written[2048][320];
static unsigned n_written;

static void put(const char *path, const char *format, ...) {
    static char text[65536];
    char full[1024], *slash;
    va_list args;
    sprintf(full, "%s%s", root, path);
    for (slash = full + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(test_write(full, text, strlen(text)));
    if (n_written < sizeof written / sizeof *written && strlen(full) < sizeof *written) strcpy(written[n_written++], full);
}
static void plant(const char *name) {
    snprintf(root, sizeof root, "%s", test_scratch(name));
    mkdir(root, 0777);
    n_written = 0;
}
static void fell(void) {
    while (n_written) remove(written[--n_written]);
    root[0] = 0;
}

static uint32_t n_cpus_of(const device *d) {
    uint32_t n = 0, i;
    for (i = 0; i < 6; i++) n += d->groups[i].n;
    return n;
}
static void plant_cpu(const device *d, const group *g, uint32_t cpu, uint32_t cluster, uint32_t in_cluster, uint32_t without) {
    char at[64], path[128];
    uint32_t core = in_cluster, first = cpu, second = cpu;
    const int paired = d->smt && cluster == 0;
    if (paired && d->smt == 1) { core = in_cluster / 2; first = cpu & ~1u; second = first + 1; }
    if (paired && d->smt > 1) { core = in_cluster % d->smt; first = core; second = core + d->smt; }
    sprintf(at, "/sys/devices/system/cpu/cpu%u", (unsigned)cpu);
#define AT(name) (sprintf(path, "%s/%s", at, name), path)
    if (g->capacity && !(without & CAPACITY)) put(AT("cpu_capacity"), "%u\n", (unsigned)g->capacity);
    if (!(without & FREQ)) put(AT("cpufreq/cpuinfo_max_freq"), "%u\n", (unsigned)g->khz);
    if (!(without & CORE_ID)) {
        put(AT("topology/core_id"), "%u\n", (unsigned)core);                 // counted from 0 in every cluster
        put(AT("topology/physical_package_id"), "0\n");
        put(AT("topology/cluster_id"), "%u\n", (unsigned)cluster);
    }
    if (!(without & SIBLINGS)) {
        if (first == second) put(AT("topology/thread_siblings_list"), "%u\n", (unsigned)first);
        else put(AT("topology/thread_siblings_list"), d->smt == 1 ? "%u-%u\n" : "%u,%u\n", (unsigned)first, (unsigned)second);
    }
#undef AT
}
static void plant_device(const device *d, uint32_t without) {
    static char info[32768];
    uint32_t cluster, i, cpu = 0, n = n_cpus_of(d);
    size_t at = 0;
    info[0] = 0;
    for (cluster = 0; cluster < 6; cluster++)
        for (i = 0; i < d->groups[cluster].n; i++, cpu++) {
            const uint32_t part = d->groups[cluster].part;
            plant_cpu(d, &d->groups[cluster], cpu, cluster, i, without);
            at += (size_t)sprintf(info + at, "processor\t: %u\n", (unsigned)cpu);
            if (!part) { at += (size_t)sprintf(info + at, "vendor_id\t: GenuineIntel\ncpu family\t: 6\n\n"); continue; }
            at += (size_t)sprintf(info + at, "BogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp\n"
                                  "CPU implementer\t: 0x%02x\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0x%03x\nCPU revision\t: 0\n\n",
                                  (unsigned)(part >> 12), (unsigned)(part & 0xfffu));
        }
    if (!(without & CPUINFO)) put("/proc/cpuinfo", "%s", info);
    if (!(without & ONLINE)) put("/sys/devices/system/cpu/online", n == 1 ? "0\n" : "0-%u\n", (unsigned)(n - 1));
    put("/sys/devices/system/cpu/present", n == 1 ? "0\n" : "0-%u\n", (unsigned)(n - 1));
    put("/sys/devices/system/cpu/possible", n == 1 ? "0\n" : "0-%u\n", (unsigned)(n - 1));
    if (d->p_cores && !(without & LISTS)) {
        put("/sys/devices/cpu_core/cpus", "%s\n", d->p_cores);
        put("/sys/devices/cpu_atom/cpus", "%s\n", d->e_cores);
    }
}

static llm__cpus cpus_from(uint32_t first, uint32_t n) {
    llm__cpus c;
    memset(&c, 0, sizeof c);
    while (n--) llm__cpus_add(&c, first + n);
    return c;
}
static const char *places_of(const llm__cores *c, const llm__cpus *allowed) {
    static char text[2048];
    uint16_t order[LLM__MAX_WORKERS];
    uint32_t n = llm__cores_choose(c, allowed, order, LLM__MAX_WORKERS), i;
    size_t at = 0;
    text[0] = 0;
    for (i = 0; i < n && i < LLM__MAX_WORKERS; i++) at += (size_t)sprintf(text + at, i ? ",%u" : "%u", (unsigned)order[i]);
    return text;
}

static void one_device(const device *d, uint32_t without) {
    static llm__cores c;
    const llm__cpus all = cpus_from(0, n_cpus_of(d));
    uint32_t threads = d->threads, i;
    const char *places = d->places;
    char why[256];
    for (i = 0; i < 6 && without; i++)
        if (d->without[i].missing == without) { threads = d->without[i].threads; places = d->without[i].places; }
    plant("cores.tree");
    plant_device(d, without);
    llm__cores_read(&c, &all);
    if (!CHECK_EQ(llm__cores_choose(&c, &all, NULL, 0), threads) || (places && !CHECK_TEXT(places_of(&c, &all), places)))
        printf("  %s without %x: %s\n", d->name, (unsigned)without, c.why);
    CHECK_EQ(c.n_online, n_cpus_of(d));
    if (!without) {
        llm__cores_explain(&c, &all, why, sizeof why);
        CHECK_TEXT(why, d->why);
    }
    fell();
}
static void real_devices(void) {
    static const uint32_t without[] = { 0, CAPACITY, FREQ, CPUINFO, SIBLINGS, CORE_ID, LISTS, ONLINE, CAPACITY | FREQ, CAPACITY | CPUINFO,
                                        FREQ | CPUINFO, LISTS | FREQ, SIBLINGS | CORE_ID, CAPACITY | FREQ | CPUINFO };
    uint32_t i, k;
    SECTION("FR-033, 038, 039: real devices, whole and with files missing");
    for (i = 0; i < N_DEVICES; i++)
        for (k = 0; k < sizeof without / sizeof *without; k++)
            if (devices[i].p_cores || !(without[k] & LISTS)) one_device(&devices[i], without[k]);
}

// What llm_stats would say of cores on each device with the default number of threads, and otherwise of a healthy set-up: no finding.
static void healthy_devices(void) {
    static llm__cores c;
    uint32_t i, cpu;
    SECTION("no finding on a healthy device");
    for (i = 0; i < N_DEVICES; i++) {
        const llm__cpus all = cpus_from(0, n_cpus_of(&devices[i]));
        llm_stats_info f;
        llm_finding found[4];
        plant("cores.tree");
        plant_device(&devices[i], 0);
        llm__cores_read(&c, &all);
        memset(&f, 0, sizeof f);
        llm__facts_no_text(&f);
        f.compiler = "gcc"; f.optimized = 1; f.isas_compiled = "scalar"; f.isa = f.isa_best = LLM_ISA_SCALAR;
        f.from_path = 1; f.mapping = LLM_MAP; f.roofline_pct = 90; f.cpu_busy_pct = f.cpu_user_pct = 98;
        f.n_threads = llm__cores_choose(&c, &all, NULL, 0);
        f.cpus_online = f.cpus_allowed = f.cpus_allowed_at_load = c.n_online;
        for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) f.n_performance_cores += llm__cpus_has(&c.best, cpu) && c.core[cpu] == cpu;
        if (!CHECK_EQ(llm__findings_of(&f, found, 4), 0)) printf("  %s: %s\n", devices[i].name, found[0].text);
        f.n_threads = c.n_online;                                      // and all CPUs of a device with little cores are too many
        if (f.n_threads > f.n_performance_cores)
            CHECK(llm__findings_of(&f, found, 4) == 1 && !strcmp(found[0].code, "too_many_threads"));
        fell();
    }
}

static const device *named(const char *name) {
    uint32_t i;
    for (i = 0; i < N_DEVICES; i++) if (!strcmp(devices[i].name, name)) return &devices[i];
    return NULL;
}
static void masks(void) {
    static llm__cores c;
    llm__cpus some;
    char why[256];
    SECTION("some CPUs are not allowed, or off");
    plant("cores.tree");
    plant_device(named("rk3588"), 0);
    some = cpus_from(0, 8);
    llm__cores_read(&c, &some);
    some = cpus_from(0, 4);                                                // an app in the background: the little cores are all there is
    CHECK_TEXT(places_of(&c, &some), "0,1,2,3");
    llm__cores_explain(&c, &some, why, sizeof why);
    CHECK_TEXT(why, "4 of 8 CPUs are performance cores (capacity 1024 against 414), 4 others allowed here");
    some = cpus_from(0, 6);
    CHECK_TEXT(places_of(&c, &some), "4,5");
    llm__cores_explain(&c, &some, why, sizeof why);
    CHECK_TEXT(why, "4 of 8 CPUs are performance cores (capacity 1024 against 414), 2 of them allowed here");
    some = cpus_from(6, 1);
    CHECK_TEXT(places_of(&c, &some), "6");
    put("/sys/devices/system/cpu/online", "0-3\n");                        // hot-plugged off, and their files are gone
    some = cpus_from(0, 4);
    llm__cores_read(&c, &some);
    CHECK(c.n_online == 4);
    CHECK_TEXT(places_of(&c, &some), "0,1,2,3");
    put("/sys/devices/system/cpu/online", "0,4-5,7\n");
    some = cpus_from(0, 8);
    llm__cores_read(&c, &some);
    CHECK(c.n_online == 4 && c.n_best == 3);
    some = cpus_from(0, 0);                                                // nothing: never no thread at all
    CHECK_EQ(llm__cores_choose(&c, &some, NULL, 0), 1);
    fell();
    plant("cores.tree");
    plant_device(named("EPYC 9354P"), 0);
    some = cpus_from(0, 64);
    llm__cores_read(&c, &some);
    some = cpus_from(40, 4);                                               // second threads of four cores
    CHECK_TEXT(places_of(&c, &some), "40,41,42,43");
    some = cpus_from(30, 4);                                               // 30, 31 and the siblings of 0 and 1
    CHECK_TEXT(places_of(&c, &some), "30,31,32,33");
    llm__cpus_add(&some, 0);
    CHECK_TEXT(places_of(&c, &some), "0,30,31,33");
    fell();
    plant("cores.tree");                                                   // neither /proc nor /sys
    some = cpus_from(0, 3);
    llm__cores_read(&c, &some);
    CHECK_TEXT(places_of(&c, &some), "0,1,2");
    CHECK(c.n_online == 3 && c.n_best == 3 && c.quota == 0);
    fell();
}
static void hostile_texts(void) {
    static const char *const lists[] = { "", "\n", "x", "-", "9-3", "4294967295", "0-4294967295", "0-99999999999999999999", "1,,2", "0-" };
    static llm__cores c;
    const llm__cpus two = cpus_from(0, 2);
    uint32_t i;
    SECTION("texts that make no sense");
    plant("cores.tree");
    for (i = 0; i < sizeof lists / sizeof *lists; i++) {
        put("/sys/devices/system/cpu/online", "%s", lists[i]);
        put("/sys/devices/system/cpu/cpu0/cpu_capacity", "%s", lists[i]);
        put("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "%s", lists[i]);
        put("/sys/devices/cpu_core/cpus", "%s", lists[i]);
        put("/proc/self/cgroup", "%s", lists[i]);
        put("/proc/cpuinfo", "processor : %s\nCPU part : 0xzz\nCPU part", lists[i]);
        llm__cores_read(&c, &two);
        CHECK(llm__cores_choose(&c, &two, NULL, 0) >= 1 && c.n_online >= 1 && c.n_best >= 1 && c.n_best <= c.n_online);
    }
    fell();
}

// ---- quotas, as Docker writes them: --cpus=1.5 is "150000 100000"

static uint32_t quota_with(const char *cgroup, const char *path, const char *text, const char *path2, const char *text2) {
    static llm__cores c;
    const llm__cpus eight = cpus_from(0, 8);
    plant("cores.tree");
    if (cgroup) put("/proc/self/cgroup", "%s", cgroup);
    put(path, "%s", text);
    if (path2) put(path2, "%s", text2);
    llm__cores_read(&c, &eight);
    fell();
    return c.quota;
}
static void quotas(void) {
    SECTION("a cgroup's quota of CPU time");
    CHECK_EQ(quota_with("0::/\n", "/sys/fs/cgroup/cpu.max", "150000 100000\n", NULL, NULL), 2);
    CHECK_EQ(quota_with("0::/\n", "/sys/fs/cgroup/cpu.max", "max 100000\n", NULL, NULL), 0);
    CHECK_EQ(quota_with("0::/\n", "/sys/fs/cgroup/cpu.max", "100000 100000\n", NULL, NULL), 1);
    CHECK_EQ(quota_with("0::/\n", "/sys/fs/cgroup/cpu.max", "1000 100000\n", NULL, NULL), 1);
    CHECK_EQ(quota_with(NULL, "/sys/fs/cgroup/cpu.max", "300000 100000\n", NULL, NULL), 3);
    CHECK_EQ(quota_with("0::/a.slice/b.scope\n", "/sys/fs/cgroup/a.slice/cpu.max", "400000 100000\n", "/sys/fs/cgroup/a.slice/b.scope/cpu.max",
                        "max 100000\n"), 4);                               // the group around it counts
    CHECK_EQ(quota_with("0::/a.slice/b.scope\n", "/sys/fs/cgroup/a.slice/cpu.max", "400000 100000\n", "/sys/fs/cgroup/a.slice/b.scope/cpu.max",
                        "250000 100000\n"), 3);
    CHECK_EQ(quota_with("0::/docker/4f2a\n", "/sys/fs/cgroup/cpu.max", "200000 100000\n", NULL, NULL), 2);      // the host's path, not seen inside
    CHECK_EQ(quota_with("5:memory:/m\n4:cpu,cpuacct:/docker/4f2a\n", "/sys/fs/cgroup/cpu/docker/4f2a/cpu.cfs_quota_us", "350000\n",
                        "/sys/fs/cgroup/cpu/docker/4f2a/cpu.cfs_period_us", "100000\n"), 4);
    CHECK_EQ(quota_with("4:cpuacct,cpu:/x\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
                        "50000\n"), 1);
    CHECK_EQ(quota_with("4:cpu,cpuacct:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
                        "100000\n"), 0);
}
// ---- how often a quota ran out: llm_stats takes the difference of two looks

typedef struct tick { uint64_t periods, throttled; } tick;
static tick throttled_with(const char *cgroup, const char *path, const char *text, const char *path2, const char *text2) {
    tick t = { 0, 0 };
    plant("cores.tree");
    if (cgroup) put("/proc/self/cgroup", "%s", cgroup);
    if (path) put(path, "%s", text);
    if (path2) put(path2, "%s", text2);
    if (!llm__cores_throttled(&t.periods, &t.throttled)) t.periods = t.throttled = 0;
    fell();
    return t;
}
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3f1c9a52_7d0e_4b7e_9a41_0c5d2e8f6b13.slice/" \
            "cri-containerd-8c1f0e5a9b3d7e2461f0a9c8b7d6e5f4038291a7b6c5d4e3f20918a7b6c5d4e3.scope"
#define RAN_OUT(n, of, ...) do { const tick t = throttled_with(__VA_ARGS__); CHECK_EQ(t.throttled, n); CHECK_EQ(t.periods, of); } while (0)
static void quotas_run_out(void) {
    // As Linux writes them: version 2 with a quota and, as every group above the leaves has it, without; version 1.
    static const char stat[] = "usage_usec 90\nuser_usec 60\nsystem_usec 30\nnr_periods 400\nnr_throttled 300\nthrottled_usec 7\n";
    static const char none[] = "usage_usec 90\nuser_usec 60\nsystem_usec 30\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n";
    static const char root_stat[] = "usage_usec 90\nuser_usec 60\nsystem_usec 30\n", v1[] = "nr_periods 50\nnr_throttled 20\nthrottled_time 9\n";
    SECTION("how often a quota ran out");
    RAN_OUT(300, 400, "0::/\n", "/sys/fs/cgroup/cpu.stat", stat, NULL, NULL);
    RAN_OUT(300, 400, "0::/a.slice/b.scope\n", "/sys/fs/cgroup/a.slice/b.scope/cpu.stat", stat, "/sys/fs/cgroup/cpu.stat", root_stat);
    RAN_OUT(300, 400, "0::/a.slice/b.scope\n", "/sys/fs/cgroup/a.slice/b.scope/cpu.stat", none, "/sys/fs/cgroup/a.slice/cpu.stat", stat);
    RAN_OUT(300, 400, "0::/docker/4f2a\n", "/sys/fs/cgroup/cpu.stat", stat, NULL, NULL);      // the host's path, not seen inside
    RAN_OUT(300, 400, "0::" POD "\n", "/sys/fs/cgroup" POD "/cpu.stat", stat, NULL, NULL);      // Kubernetes: longer than a name in a sentence
    RAN_OUT(20, 50, "5:memory:/m\n4:cpu,cpuacct:/x\n", "/sys/fs/cgroup/cpu/x/cpu.stat", v1, NULL, NULL);
    RAN_OUT(20, 50, "4:cpu,cpuacct:/docker/4f2a\n0::/\n", "/sys/fs/cgroup/cpu/cpu.stat", v1, NULL, NULL);
    RAN_OUT(20, 50, "4:cpu,cpuacct:/pod/x\n", "/sys/fs/cgroup/cpu/pod/cpu.stat", v1, "/sys/fs/cgroup/cpu/pod/x/cpu.stat",
            "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    RAN_OUT(300, 400, NULL, "/sys/fs/cgroup/cpu.stat", stat, NULL, NULL);
    RAN_OUT(0, 0, "0::/a.slice\n", "/sys/fs/cgroup/a.slice/cpu.stat", none, "/sys/fs/cgroup/cpu.stat", root_stat);
    RAN_OUT(0, 0, "0::/\n", NULL, NULL, NULL, NULL);
}
static void quota_caps_the_default(void) {
    llm_parallel none;
    llm__pool *p = NULL;
    llm_error e;
    char why[256];
    const llm__cpus all = cpus_from(0, 64);
    static llm__cores c;
    SECTION("the default in a container");
    memset(&none, 0, sizeof none);
    plant("cores.tree");
    plant_device(named("EPYC 9354P"), 0);
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    llm__cores_read(&c, &all);
    llm__cores_explain(&c, &all, why, sizeof why);
    CHECK_TEXT(why, "64 CPUs alike, 32 with SMT siblings counted once, cut to 2 by the cgroup's CPU quota");
    if (CHECK(llm__pool_new(&p, &heap, 0, NULL, &e) == LLM_OK)) {
        CHECK(p->n_workers >= 1 && p->n_workers <= 2);
        llm__pool_free(p, &heap);
    }
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    if (CHECK(llm__pool_new(&p, &heap, 0, NULL, &e) == LLM_OK)) { CHECK_EQ(p->n_workers, 1); llm__pool_free(p, &heap); }
#if !defined(LLM_NO_THREADS)
    if (CHECK(llm__pool_new(&p, &heap, 3, NULL, &e) == LLM_OK)) { CHECK_EQ(p->n_workers, 3); llm__pool_free(p, &heap); }      // asked is asked
#endif
    fell();
}

//------------------------------------------------------------------------------------------------------------------------------
// The system's calls. What this machine cannot do is said: some sandboxes ignore affinity themselves.

static cpu_set_t home;                          // what this process may use
static int cpu_a = -1, cpu_b = -1;              // two of them
static int affinity_works;

static void nap(long us) {
    struct timespec t;
    t.tv_sec = us / 1000000;
    t.tv_nsec = us % 1000000 * 1000;
    nanosleep(&t, NULL);
}
// As `taskset -a -p`: every thread of the process.
static void move_all(const cpu_set_t *to) {
    DIR *d = opendir("/proc/self/task");
    struct dirent *entry;
    while (d && (entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.') sched_setaffinity((pid_t)atoi(entry->d_name), sizeof *to, to);
    if (d) closedir(d);
}
static cpu_set_t just(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return one;
}
static void look_at_machine(void) {
    cpu_set_t one;
    int cpu;
    if (sched_getaffinity(0, sizeof home, &home)) return;
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &home)) continue;
        if (cpu_a < 0) cpu_a = cpu;
        else if (cpu_b < 0) cpu_b = cpu;
    }
    if (cpu_b < 0) return;
    one = just(cpu_b);
    affinity_works = sched_setaffinity(0, sizeof one, &one) == 0 && sched_getcpu() == cpu_b;
    one = just(cpu_a);
    affinity_works = affinity_works && sched_setaffinity(0, sizeof one, &one) == 0 && sched_getcpu() == cpu_a;
    sched_setaffinity(0, sizeof home, &home);
}
static int mask_is(const cpu_set_t *want) {
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, want);
}

// ---- a model

enum { N_TOKENS = 24, VOCAB = 128 };
static float expected[N_TOKENS][VOCAB];         // after each token, with one thread

static llm_model *load(uint32_t n_threads, llm_cores cores, const llm_parallel *jobs, const llm_progress *progress) {
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    memset(&d, 0, sizeof d);
    d.n_threads = n_threads;
    d.cores = cores;
    if (jobs) d.parallel = *jobs;
    if (progress) d.progress = *progress;
    m = llm_load(data_model, &d, &e);
    if (!CHECK(m != NULL)) printf("  %s\n", e.text);
    return m;
}
static llm_stats_info stats_of(llm_ctx *c) {
    llm_stats_info s;
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    return s;
}
static llm_token token_at(int i) { return (llm_token)((i * 37 + 11) % VOCAB); }
// Tokens from..to-1, one at a time; returns how many had other logits than with one thread.
static int decode(llm_ctx *c, int from, int to) {
    int i, wrong = 0;
    for (i = from; i < to; i++) {
        const llm_token t = token_at(i);
        wrong += llm_eval(c, &t, 1) != LLM_OK || memcmp(llm_logits(c), expected[i], sizeof *expected) != 0;
    }
    return wrong;
}
static void expect(void) {
    llm_model *m = load(1, LLM_CORES_ANY, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    int i;
    for (i = 0; c && i < N_TOKENS; i++) {
        const llm_token t = token_at(i);
        CHECK(llm_eval(c, &t, 1) == LLM_OK);
        memcpy(expected[i], llm_logits(c), sizeof *expected);
    }
    llm_close(c);
    llm_unload(m);
}

static void defaults(void) {
    llm_model *m = load(0, LLM_CORES_ANY, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    llm_stats_info s;
    SECTION("what the stats say by default");
    if (!c) { llm_unload(m); return; }
    CHECK(decode(c, 0, N_TOKENS) == 0);
    s = stats_of(c);
    CHECK_EQ(s.cpus_allowed_at_load, CPU_COUNT(&home));
    CHECK_EQ(s.cpus_allowed, CPU_COUNT(&home));
    CHECK(s.cpus_online >= s.cpus_allowed && s.n_performance_cores >= 1 && s.n_performance_cores <= s.cpus_allowed);
    CHECK(s.n_threads_asked == 0 && s.n_threads >= 1 && s.n_threads <= s.n_performance_cores);
    CHECK(s.cores_asked == LLM_CORES_ANY && s.cores == LLM_CORES_ANY && s.pinned_cpus == 0 && s.n_threads_resting == 0);
    CHECK(s.cores_reason && *s.cores_reason);
    CHECK(s.rows_most >= s.rows_least && (s.n_threads == 1 || s.rows_most > 0));
    printf("this machine: %s; %u threads\n", s.cores_reason, (unsigned)s.n_threads);
    llm_close(c);
    llm_unload(m);
    CHECK(*stats_of(NULL).cores_reason == 0);
}

// ---- pinned

static int caller_pinned;                       // what the caller's mask was during the evaluation: the CPU, or -1
static int watch_caller(void *user, int stage, float fraction) {
    cpu_set_t now;
    (void)user; (void)fraction;
    if (stage == 1 && sched_getaffinity(0, sizeof now, &now) == 0) caller_pinned = CPU_COUNT(&now) == 1 ? sched_getcpu() : -1;
    return 1;
}
// A context with pinned threads whose progress calls `fn`, and the tokens of a whole call; NULL: it could not be had.
static llm_ctx *open_watched(uint32_t n_threads, int (*fn)(void *, int, float), llm_token tokens[N_TOKENS], llm_model **m) {
    llm_progress progress;
    int i;
    progress.user = NULL;
    progress.progress_fn = fn;
    for (i = 0; i < N_TOKENS; i++) tokens[i] = token_at(i);
    *m = load(n_threads, LLM_CORES_BIG, NULL, &progress);
    return llm_open(*m, NULL, NULL);
}
static int workers_pinned_to(llm_ctx *c, uint32_t n) {
    uint32_t i, good = 0;
    const llm__pool *p = c->model->pool;
    for (i = 1; i < n; i++)
        good += llm__atomic_load(&p->workers[i].on) == p->places[i] + 1u && llm__atomic_load(&p->workers[i].at) == p->places[i];
    return good == n - 1;
}
static void pinned(void) {
    llm_token tokens[N_TOKENS];
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    uint32_t n;
    int i;
    SECTION("LLM_CORES_BIG");
    c = open_watched(0, watch_caller, tokens, &m);
    if (!c) { llm_unload(m); return; }
    s = stats_of(c);
    n = s.n_threads;
    CHECK(s.cores_asked == LLM_CORES_BIG && s.cores == LLM_CORES_BIG && strstr(s.cores_reason, "; pinned to CPU"));
    CHECK(workers_pinned_to(c, n));
    for (i = 0; i < 64 && n; i++) n -= (uint32_t)(s.pinned_cpus >> i & 1u);
    CHECK_EQ(n, 0);                                                       // as many CPUs as threads, no two threads on one
    CHECK(mask_is(&home));
    caller_pinned = -1;
    CHECK(llm_eval(c, tokens, N_TOKENS) == LLM_OK && memcmp(llm_logits(c), expected[N_TOKENS - 1], sizeof *expected) == 0);
    CHECK_EQ(caller_pinned, c->model->pool->places[0]);                   // while it computes
    CHECK(mask_is(&home));                                                // and not afterwards
    CHECK(llm_rewind(c, 0) == LLM_OK && decode(c, 0, N_TOKENS) == 0 && mask_is(&home));
    CHECK(llm_probe(c, 5, NULL) == LLM_OK && mask_is(&home));
    CHECK(workers_pinned_to(c, s.n_threads));
    printf("pinned: %s\n", s.cores_reason);
    llm_close(c);
    llm_unload(m);
    m = load((uint32_t)CPU_COUNT(&home) + 2, LLM_CORES_BIG, NULL, NULL);
    c = llm_open(m, NULL, NULL);
    if (c) {                                                               // more than performance cores
        s = stats_of(c);
        CHECK(s.cores == LLM_CORES_BIG && strstr(s.cores_reason, "placed by the system"));
        CHECK(decode(c, 0, N_TOKENS) == 0);
        CHECK_EQ(stats_of(c).n_threads_resting, s.n_threads - (uint32_t)CPU_COUNT(&home));
    }
    llm_close(c);
    llm_unload(m);
}
// It goes where the system places it, as it would have from the start: not where it once was.
static void unpinned(void) {
    llm_model *m = load(2, LLM_CORES_BIG, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    SECTION("a worker that loses its place");
    if (c && CPU_COUNT(&home) > 1) {
        llm__pool *p = c->model->pool;
        const uint32_t id = llm__atomic_load(&p->workers[1].id);
        cpu_set_t now;
        int i;
        CHECK(workers_pinned_to(c, 2) && sched_getaffinity((pid_t)id, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1);
        p->n_places = 1;
        llm__pool_place(p);
        for (i = 0; i < 1000 && llm__atomic_load(&p->workers[1].on); i++) CHECK(llm_rewind(c, 0) == LLM_OK && decode(c, 0, N_TOKENS) == 0);
        CHECK(sched_getaffinity((pid_t)id, sizeof now, &now) == 0 && CPU_EQUAL(&now, &home));
    }
    llm_close(c);
    llm_unload(m);
}
// In a process that may use one CPU alone.
static void pinned_to_one(void) {
    const cpu_set_t one = just(cpu_b);
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    SECTION("FR-038: a mask of one CPU");
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    m = load(0, LLM_CORES_BIG, NULL, NULL);
    c = llm_open(m, NULL, NULL);
    if (c) {
        s = stats_of(c);
        CHECK(s.n_threads == 1 && s.cpus_allowed == 1 && s.n_performance_cores == 1 && s.cores == LLM_CORES_BIG);
        CHECK(cpu_b >= 64 || s.pinned_cpus == (uint64_t)1 << cpu_b);
        CHECK(decode(c, 0, N_TOKENS) == 0 && mask_is(&one));
    }
    llm_close(c);
    llm_unload(m);
    m = load(3, LLM_CORES_BIG, NULL, NULL);
    c = llm_open(m, NULL, NULL);
    if (c) {
        s = stats_of(c);
        CHECK(s.n_threads == 3 && s.n_threads_resting == 2);
        CHECK(decode(c, 0, N_TOKENS) == 0 && mask_is(&one));
    }
    llm_close(c);
    llm_unload(m);
    CHECK(sched_setaffinity(0, sizeof home, &home) == 0);
}

// ---- systems that do not do what they are asked

static void liars(void) {
    static const struct { int how; const char *says; } kinds[] = {
        { SAYS_NO, "nothing is pinned: the system refused CPU" }, { IGNORES, "nothing is pinned: the system ignored the wish" },
        { PRETENDS, "nothing is pinned: the system ignored the wish" } };
    uint32_t i;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    SECTION("FR-037: affinity that is refused, or accepted and ignored");
    for (i = 0; i < 3; i++) {
        system_is = kinds[i].how;
        m = load(2, LLM_CORES_BIG, NULL, NULL);
        c = llm_open(m, NULL, NULL);
        if (c) {
            s = stats_of(c);
            CHECK(s.cores_asked == LLM_CORES_BIG && s.cores == LLM_CORES_ANY && s.pinned_cpus == 0 && s.n_threads == 2);
            if (!CHECK(strstr(s.cores_reason, kinds[i].says) != NULL)) printf("  %s\n", s.cores_reason);
            n_sets = 0;
            CHECK(decode(c, 0, N_TOKENS) == 0 && n_sets == 0);              // and nobody asks again
        }
        llm_close(c);
        llm_unload(m);
        system_is = HONEST;
        pretends = 0;
    }
    CHECK(mask_is(&home));
}

// ---- the host's job system

static uint32_t host_tasks;
static void host_for(void *user, uint32_t n, void (*task)(void *, uint32_t), void *arg) {
    uint32_t i;
    (void)user;
    if (n > host_tasks) host_tasks = n;
    for (i = 0; i < n; i++) task(arg, i);
}
static void hooked(void) {
    llm_parallel jobs;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    SECTION("with the host's job system nothing is placed");
    jobs.user = NULL;
    jobs.for_fn = host_for;
    m = load(5, LLM_CORES_BIG, &jobs, NULL);
    c = llm_open(m, NULL, NULL);
    if (c) {
        host_tasks = 0;
        system_is = IGNORES;
        n_sets = 0;
        CHECK(decode(c, 0, N_TOKENS) == 0 && n_sets == 0);
        system_is = HONEST;
        s = stats_of(c);
        CHECK(s.cores_asked == LLM_CORES_BIG && s.cores == LLM_CORES_ANY && strstr(s.cores_reason, "the host's"));
        CHECK(s.n_threads == 5 && s.n_threads_resting == 0 && host_tasks == 5 && s.pinned_cpus == 0);
    }
    llm_close(c);
    llm_unload(m);
}

// ---- the mask changes

static uint32_t waits_of(llm_ctx *c, uint32_t worker) {
    const llm__worker *w = &c->model->pool->workers[worker];
    return llm__atomic_load(&w->spins) + llm__atomic_load(&w->sleeps);
}
static void moved(llm_cores cores) {
    llm_model *m = load(2, cores, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    cpu_set_t one = just(cpu_a), both = just(cpu_a);
    uint32_t before;
    int k, i;
    CPU_SET(cpu_b, &both);
    if (!c) { llm_unload(m); return; }
    move_all(&both);
    nap(110000);
    CHECK(decode(c, 0, 4) == 0 && stats_of(c).n_threads_resting == 0);
    move_all(&one);
    CHECK(decode(c, 4, 8) == 0);                                          // it has not looked yet, and computes all the same
    nap(110000);
    CHECK(decode(c, 8, 9) == 0);                                          // 100 ms and a token: documented in llm.h
    CHECK(stats_of(c).n_threads_resting == 1 && stats_of(c).cpus_allowed == 1 && stats_of(c).cpus_allowed_at_load == (uint32_t)CPU_COUNT(&home));
    nap(20000);                                                           // the worker has had time to lie down
    before = waits_of(c, 1);
    for (k = 0; k < 20; k++) {
        CHECK(llm_rewind(c, 9) == LLM_OK);
        for (i = 9; i < 12; i++) CHECK(decode(c, i, i + 1) == 0);
    }
    CHECK(waits_of(c, 1) <= before + 1);                                  // nobody wakes who rests
    CHECK(mask_is(&one));
    move_all(&both);
    nap(110000);
    CHECK(decode(c, 12, 13) == 0);
    CHECK(stats_of(c).n_threads_resting == 0 && stats_of(c).cpus_allowed == 2);
    for (k = 0; k < 20000 && (waits_of(c, 1) <= before + 1 || (cores == LLM_CORES_BIG && !workers_pinned_to(c, 2))); k++) {
        CHECK(llm_rewind(c, 12) == LLM_OK);                                // until it got a CPU
        if (!CHECK(decode(c, 12, N_TOKENS) == 0)) break;
    }
    CHECK(waits_of(c, 1) > before + 1);
    if (cores == LLM_CORES_BIG) {
        CHECK(workers_pinned_to(c, 2) && llm_rewind(c, 12) == LLM_OK);          // pinned anew: taskset had undone it
        if (cpu_b < 64) CHECK(stats_of(c).pinned_cpus == ((uint64_t)1 << cpu_a | (uint64_t)1 << cpu_b));
    }
    CHECK(mask_is(&both));
    llm_close(c);
    llm_unload(m);
    move_all(&home);
}
static void moves(void) {
    SECTION("FR-036: CPUs taken away in the middle of a generation, and given back");
    moved(LLM_CORES_ANY);
    SECTION("FR-036 with pinned threads");
    moved(LLM_CORES_BIG);
}
// A host that pins its own thread says nothing about the library's.
static void host_pins_itself(void) {
    llm_model *m = load(2, LLM_CORES_ANY, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    const cpu_set_t one = just(cpu_b);
    SECTION("the host pins the thread that calls");
    if (c) {
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        CHECK(decode(c, 0, 8) == 0);
        CHECK(stats_of(c).n_threads_resting == 0 && stats_of(c).cpus_allowed == (uint32_t)CPU_COUNT(&home) && mask_is(&one));
        CHECK(sched_setaffinity(0, sizeof home, &home) == 0);
    }
    llm_close(c);
    llm_unload(m);
}
// The thread that loaded is gone, and its number belongs to another process, which may use the other CPU.
static void loader_is_gone(void) {
    llm_model *m = load(2, LLM_CORES_BIG, NULL, NULL);
    llm_ctx *c = llm_open(m, NULL, NULL);
    const cpu_set_t a = just(cpu_a), b = just(cpu_b);
    pid_t other;
    SECTION("the loading thread's number belongs to another process");
    other = fork();
    if (other == 0) for (;;) pause();
    if (c && other > 0) {
        CHECK(sched_setaffinity(other, sizeof b, &b) == 0 && sched_setaffinity(0, sizeof a, &a) == 0);
        c->model->pool->loader = (uint32_t)other;
        c->model->pool->looked_us = 0;
        CHECK(decode(c, 0, 2) == 0);
        CHECK_EQ(stats_of(c).cpus_allowed, 1);
        CHECK(sched_setaffinity(0, sizeof home, &home) == 0);
    }
    if (other > 0) { kill(other, SIGKILL); waitpid(other, NULL, 0); }
    llm_close(c);
    llm_unload(m);
}
// Somebody else changes the caller's mask while the call pins it: that stays.
static int meddle(void *user, int stage, float fraction) {
    const cpu_set_t one = just(cpu_b);
    (void)user; (void)fraction;
    if (stage == 1) sched_setaffinity(0, sizeof one, &one);
    return 1;
}
static void meddled(void) {
    llm_token tokens[N_TOKENS];
    const cpu_set_t one = just(cpu_b);
    llm_model *m;
    llm_ctx *c;
    SECTION("the caller's mask is changed during a call");
    c = open_watched(2, meddle, tokens, &m);
    if (c && c->model->pool->places[0] != cpu_b) {
        CHECK(llm_eval(c, tokens, N_TOKENS) == LLM_OK);
        CHECK(mask_is(&one));
    }
    CHECK(sched_setaffinity(0, sizeof home, &home) == 0);
    llm_close(c);
    llm_unload(m);
}

// ---- slow cores do not hold the others up. They sleep: a busy one would take the fast one's CPU.

typedef struct slow { llm__chunks chunks; uint32_t rows[16], n_fast; } slow;
static void slow_part(void *arg, uint32_t worker) {
    slow *s = (slow *)arg;
    uint32_t begin, end;
    while (llm__chunks_take(&s->chunks, worker, &begin, &end)) {
        s->rows[worker] += end - begin;
        nap((long)(end - begin) * (worker < s->n_fast ? 100 : 2000));
    }
}
// The best of some tries, or the first that takes at most `enough`: what else this machine does comes and goes.
static uint64_t slow_us(uint32_t n, uint32_t n_fast, uint32_t rows, double enough, slow *best_of, llm__team *given) {
    llm__pool *p = NULL;
    uint64_t best = UINT64_MAX;
    llm_error e;
    int k;
    if (!CHECK(llm__pool_new(&p, &heap, n, NULL, &e) == LLM_OK && p->n_workers == n)) { llm__pool_free(p, &heap); return 0; }
    for (k = 0; k < 20 && (double)best > enough; k++) {
        llm__team t = llm__team_take(p);
        uint64_t us = llm__os_now_us();
        slow s;
        memset(&s, 0, sizeof s);
        s.n_fast = n_fast;
        llm__chunks_init(&s.chunks, &t, rows, 1);
        llm__team_run(&t, slow_part, &s);
        us = llm__os_now_us() - us;
        llm__team_give(&t);
        if (us < best) { best = us; *best_of = s; *given = t; }
    }
    llm__pool_free(p, &heap);
    return best;
}
static void slow_cores(void) {
    uint32_t n, i;
    slow s;
    llm__team t;
    // In lock-step it would be 10 times as long. Pieces are an eighth of a share at most, so it is 1.26 times on a quiet machine.
    SECTION("FR-031, 034, 040: as many slow cores again do not slow the fast ones down");
    for (n = 1; n <= 4; n++) {
        const uint64_t alone = slow_us(n, n, 1000 * n, 104000, &s, &t), with = slow_us(2 * n, n, 1000 * n, 1.3 * (double)alone, &s, &t);
        uint32_t fast = s.rows[0], all = 0;
        printf("%u fast workers: %lu us; with %u that are 20 times slower: %lu us\n", (unsigned)n, (unsigned long)alone, (unsigned)n,
               (unsigned long)with);
        CHECK((double)with <= 1.6 * (double)alone);
        for (i = 0; i < 2 * n; i++) {
            all += s.rows[i];
            if (i < n && s.rows[i] < fast) fast = s.rows[i];
        }
        CHECK_EQ(all, 1000 * n);
        for (i = n; i < 2 * n; i++) CHECK(fast >= 5 * s.rows[i]);
        CHECK(t.rows_most >= fast && t.rows_least <= s.rows[n] && t.rows_most >= 5 * t.rows_least);
    }
}

#endif

//------------------------------------------------------------------------------------------------------------------------------
// Apple: hw.nperflevels, hw.perflevelN.logicalcpu and .name, as `sysctl hw` prints them.

static void apple_case(const char *chip, llm__core_level a, llm__core_level b, uint32_t threads, const char *why) {
    static llm__cores c;
    llm__core_level levels[2];
    char text[256];
    levels[0] = a;
    levels[1] = b;
    memset(&c, 0, sizeof c);
    CHECK(llm__cores_by_level(&c, levels, b.n ? 2 : 1));
    c.n_online = llm__cpus_count(&c.online);
    if (!CHECK_EQ(llm__cores_choose(&c, &c.online, NULL, 0), threads)) printf("  %s\n", chip);
    llm__cores_explain(&c, &c.online, text, sizeof text);
    CHECK_TEXT(text, why);
}
static llm__core_level level(uint32_t n, const char *name) {
    llm__core_level l;
    memset(&l, 0, sizeof l);
    l.n = n;
    strcpy(l.name, name);
    return l;
}
static void apple(void) {
    SECTION("Apple's performance levels");
    apple_case("M1", level(4, "Performance"), level(4, "Efficiency"), 4, "4 of 8 CPUs are performance cores (performance level 'Performance')");
    apple_case("M1 Max", level(8, "Performance"), level(2, "Efficiency"), 8,
               "8 of 10 CPUs are performance cores (performance level 'Performance')");
    apple_case("M4 Pro", level(10, "Performance"), level(4, "Efficiency"), 10,
               "10 of 14 CPUs are performance cores (performance level 'Performance')");
    apple_case("names unknown", level(2, ""), level(4, ""), 2, "2 of 6 CPUs are performance cores (performance level '')");
    apple_case("a level above Performance", level(6, "Super"), level(12, "Performance"), 18,
               "18 CPUs, none clearly slower");
    apple_case("Intel Mac", level(8, "Standard"), level(0, ""), 8, "8 CPUs alike");
}

int main(void) {
    apple();
#if SHIM
    look_at_machine();
    real_devices();
    healthy_devices();
    masks();
    hostile_texts();
    quotas();
    quotas_run_out();
    quota_caps_the_default();
#if !defined(LLM_NO_THREADS)
    slow_cores();
    expect();
    defaults();
    hooked();
    liars();
    if (cpu_b < 0) test_lacks("two CPUs");
    else if (!affinity_works) test_lacks("affinity that has an effect");
    else {
        pinned();
        unpinned();
    pinned_to_one();
        moves();
        meddled();
        host_pins_itself();
        loader_is_gone();
    }
#endif
#else
    test_lacks("texts in /sys and the calls that place threads");
#endif
    return test_done();
}
