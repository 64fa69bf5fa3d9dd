// test_platform.c - files, mapping, clock, threads and the floating-point environment of this operating system.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads that come in small pieces and with interruptions, file systems of another kind.
#if defined(__linux__) && defined(__GLIBC__)
#define SHIM 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
static int shim_short = 0, shim_calls = 0;
static uint32_t shim_magic = 0;
static ssize_t shim_pread(int fd, void *dst, size_t n, off64_t offset) {
    shim_calls++;
    if (shim_short && shim_calls % 3 == 0) { errno = EINTR; return -1; }
    return pread64(fd, dst, shim_short && n > 3 ? 3 : n, offset);
}
static int shim_fstatfs(int fd, struct statfs *s) {
    int r = fstatfs(fd, s);
    if (shim_magic) s->f_type = (__typeof__(s->f_type))shim_magic;
    return r;
}
#define pread64 shim_pread
#define fstatfs shim_fstatfs
#else
#define SHIM 0
#endif

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

// ---- floating-point environment

#if LLM__X64
#define HOST_WORD 0xdfc1u              // FTZ, DAZ, round up, masked, and a sticky flag that must be given back
#elif LLM__ARM64
#define HOST_WORD 0x01400000u          // FZ, round up
#endif

static void test_fpenv(void) {
#if defined(HOST_WORD)
    volatile float tiny = 1.0e-38f, tenth = 0.1f, one = 1.0f, small = 1.0e-10f, three = 3.0f;
    volatile double third;
    llm__fpenv before = llm__fp_get(), host, inner;
    SECTION("floating-point environment (N0)");
    llm__fp_set(HOST_WORD);
    CHECK(tiny * tenth == 0.0f && one + small > 1.0f);                   // the host's word is really on
    llm__fp_set(HOST_WORD);
    host = llm__fp_enter();
    CHECK(host == HOST_WORD && llm__fp_get() == LLM__FP_PLAIN);
    CHECK(tiny * tenth > 0.0f && one + small == 1.0f && one - small == 1.0f);
    third = 1.0 / (double)three;
    CHECK(third == 0.33333333333333331);
    inner = llm__fp_enter();
    llm__fp_leave(inner);
    CHECK((llm__fp_get() & ~(uint64_t)0x3f) == LLM__FP_PLAIN);           // sticky flags of the divisions above may stand
    llm__fp_leave(host);
    CHECK(llm__fp_get() == HOST_WORD);
    llm__fp_set(before);
#else
    SECTION("floating-point environment (N0)");
    test_lacks("a control word that the test knows");
#endif
}

// An x87 keeps what it has raised apart from its word: 0/0 in between must not trap in a host that does not mask it, and the host's own
// flags come back.
static void test_x87(void) {
#if defined(__i386__) && LLM__GNUC
    const llm__fpenv before = llm__fp_get(), hosts = (uint64_t)0x20 << 48 | (uint64_t)0x0a72 << 32 | (uint32_t)before;
    llm__fpenv host, after;
    SECTION("floating-point environment (N0): the x87's flags");
    llm__fp_set(hosts);                    // upwards; invalid, division by zero and overflow trap; something was inexact
    host = llm__fp_enter();
    __asm__ volatile("fldz\n\tfldz\n\tfdivp\n\tfstp %%st(0)" : : : "memory");
    llm__fp_leave(host);
    __asm__ volatile("fwait" : : : "memory");
    after = llm__fp_get();
    llm__fp_set(before);
    CHECK(host == hosts && after == hosts);
#endif
}

// ---- clock and CPUs

static void test_clock(void) {
    uint64_t a = llm__os_now_us(), b = a;
    int i, backward = 0;
    SECTION("clock");
    for (i = 0; i < 100000; i++) {
        uint64_t now = llm__os_now_us();
        backward += now < b;
        b = now;
    }
    CHECK(!backward && b > a && b - a < 60000000);
#if SHIM
    {
        struct timespec t = { 0, 20000000 };
        a = llm__os_now_us();
        nanosleep(&t, NULL);
        b = llm__os_now_us() - a;
        CHECK(b >= 20000 && b < 5000000);
    }
#endif
}

static void test_cores(void) {
    llm__cpus now;
    SECTION("CPUs that may be used");
    memset(&now, 0, sizeof now);
    llm__os_allowed(0, &now);
    CHECK(llm__cpus_count(&now) >= 1);
#if SHIM
    {
        cpu_set_t all, one;
        int cpu;
        CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
        CHECK_EQ(llm__cpus_count(&now), CPU_COUNT(&all));
        for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++) { }
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        llm__os_allowed(0, &now);
        CHECK(llm__cpus_count(&now) == 1 && llm__cpus_has(&now, (uint32_t)cpu));
        CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    }
#endif
}

// ---- files

static void fill(unsigned char *p, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) p[i] = (unsigned char)(i * 31 + i / 251);
}

// The name is UTF-8 everywhere; the C library of Windows would take it for something else.
static int write_utf8(const char *path, const void *bytes, size_t n) {
#if defined(_WIN32)
    WCHAR wide[TEST_PATH];
    FILE *f;
    MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, TEST_PATH);
    f = _wfopen(wide, L"wb");
    return f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0;
#else
    return test_write(path, bytes, n);
#endif
}
static void remove_utf8(const char *path) {
#if defined(_WIN32)
    WCHAR wide[TEST_PATH];
    MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, TEST_PATH);
    DeleteFileW(wide);
#else
    remove(path);
#endif
}

static void test_files(void) {
    static unsigned char bytes[20000], back[20000];
    const char *path = test_scratch("test_platform-\xc3\xbc\xe7\x95\x8c.bin");
    llm__os_file f;
    llm_error e;
    char deep[700];
    memset(&f, 0, sizeof f);
    fill(bytes, sizeof bytes);
    SECTION("files");
    CHECK(write_utf8(path, bytes, sizeof bytes));
    if (!CHECK(llm__os_file_open(&f, path, &e) == LLM_OK)) return;
    CHECK(f.size == sizeof bytes);
    CHECK(llm__os_file_read(&f, 0, back, sizeof back, &e) == LLM_OK && memcmp(bytes, back, sizeof back) == 0);
    memset(back, 0, sizeof back);
    CHECK(llm__os_file_read(&f, 777, back, 4321, &e) == LLM_OK && memcmp(bytes + 777, back, 4321) == 0 && back[4321] == 0);
    CHECK(llm__os_file_read(&f, 19999, back, 2, &e) == LLM_IO && strstr(e.text, "20000"));
    CHECK(llm__os_file_read(&f, (uint64_t)1 << 40, back, 1, &e) == LLM_IO);
    CHECK(llm__os_file_read(&f, 5, back, 0, &e) == LLM_OK);
    CHECK(!llm__os_file_changed(&f) && !llm__os_file_system(&f)[0]);
#if SHIM
    shim_short = 1;
    memset(back, 0, sizeof back);
    CHECK(llm__os_file_read(&f, 100, back, 10000, &e) == LLM_OK && memcmp(bytes + 100, back, 10000) == 0 && shim_calls > 3000);
    shim_short = 0;
    shim_magic = 0x65735546; CHECK(llm__os_file_system(&f)[0]);
    shim_magic = 0xff534d42; CHECK(llm__os_file_system(&f)[0]);
    shim_magic = 0x6969;     CHECK(llm__os_file_system(&f)[0]);
    shim_magic = 0xef53;     CHECK(!llm__os_file_system(&f)[0]);
    shim_magic = 0;
    {
        struct timespec times[2] = { { 1000, 0 }, { 1000, 500 } };
        CHECK(utimensat(AT_FDCWD, path, times, 0) == 0 && llm__os_file_changed(&f));       // same size, another time
        llm__os_file_close(&f);
        CHECK(llm__os_file_open(&f, path, &e) == LLM_OK && !llm__os_file_changed(&f));
        times[1].tv_nsec = 501;
        CHECK(utimensat(AT_FDCWD, path, times, 0) == 0 && llm__os_file_changed(&f));       // by a nanosecond
    }
#endif
    llm__os_file_close(&f);
    llm__os_file_close(&f);
    remove_utf8(path);
    SECTION("files that are none");
    CHECK(llm__os_file_open(&f, path, &e) == LLM_IO && strstr(e.text, "no such file") && e.code == LLM_IO);
    CHECK(llm__os_file_open(&f, "/", &e) == LLM_IO && strstr(e.text, "directory"));
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    memcpy(deep + sizeof deep - 12, "/model.gguf", 11);
    CHECK(llm__os_file_open(&f, deep, &e) == LLM_IO && strstr(e.text, "/model.gguf': ") && strlen(e.text) < 250);
    CHECK(!f.opened);
#if SHIM
    {
        const char *fifo = test_scratch("test_platform.fifo");
        remove(fifo);
        if (mkfifo(fifo, 0600) == 0) {
            CHECK(llm__os_file_open(&f, fifo, &e) == LLM_IO && strstr(e.text, "regular file"));    // and does not wait for a writer
            remove(fifo);
        }
        CHECK(llm__os_file_open(&f, "/dev/zero", &e) == LLM_IO && strstr(e.text, "regular file"));
    }
#endif
}

// Pages of 4, 16 (Apple, newer Android) and 64 KB (some ARM servers; the steps of Windows): a mapping begins on one, at most a page before
// what is wanted, ends with it, and is refused where no address space has room.
static void test_map_span(void) {
#ifndef LLM_NO_MMAP
    static const uint64_t grains[] = { 4096, 16384, 65536 };
    static const uint64_t offsets[] = { 0, 1, 4095, 4096, 4097, 12288, 16383, 16384, 65535, 65536, 65537, 0xffffffffu, 0x100000000u, 5000000007u };
    static const uint64_t counts[] = { 1, 31, 4096, 65537, 500000000 };
    size_t g, i, k, length = 0;
    uint64_t at = 0;
    SECTION("mapping with pages of 4, 16 and 64 KB");
    for (g = 0; g < LLM__COUNT(grains); g++) {
        for (i = 0; i < LLM__COUNT(offsets); i++)
            for (k = 0; k < LLM__COUNT(counts); k++) {
                CHECK(llm__os_map_span(offsets[i], counts[k], grains[g], &at, &length));
                CHECK(at % grains[g] == 0 && at <= offsets[i] && offsets[i] - at < grains[g]);
                CHECK(at + length == offsets[i] + counts[k]);
            }
        CHECK(llm__os_map_span(grains[g] - 1, SIZE_MAX / 2 - (grains[g] - 1), grains[g], &at, &length) && length == SIZE_MAX / 2);
        CHECK(!llm__os_map_span(grains[g] - 1, SIZE_MAX / 2 - (grains[g] - 2), grains[g], &at, &length));
        CHECK(!llm__os_map_span(0, UINT64_MAX, grains[g], &at, &length));
    }
#endif
}

static void test_map(void) {
    static unsigned char bytes[200000];
    static const uint64_t offsets[] = { 0, 1, 4095, 4096, 4097, 65536, 70001, 199999 };
    const char *path = test_scratch("test_platform.map");
    llm__os_file f;
    llm__os_map m;
    llm_error e;
    size_t i;
    memset(&f, 0, sizeof f);
    fill(bytes, sizeof bytes);
    SECTION("mapping");
#if defined(LLM_NO_MMAP)
    (void)offsets; (void)i; (void)path; (void)m;
    CHECK(llm__os_map_file(&m, &f, 0, 1, &e) == LLM_UNSUPPORTED && strstr(e.text, "LLM_NO_MMAP"));
    return;
#endif
    CHECK(test_write(path, bytes, sizeof bytes) && llm__os_file_open(&f, path, &e) == LLM_OK);
    for (i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        uint64_t n = sizeof bytes - offsets[i];
        if (!CHECK(llm__os_map_file(&m, &f, offsets[i], n, &e) == LLM_OK)) { printf("%s\n", e.text); continue; }
        CHECK(m.base_bytes >= n && memcmp(m.data, bytes + offsets[i], (size_t)n) == 0);
        llm__os_unmap(&m);
        CHECK(!m.data);
        llm__os_unmap(&m);
        CHECK(llm__os_map_file(&m, &f, offsets[i], 1, &e) == LLM_OK && m.data[0] == bytes[offsets[i]]);
        llm__os_unmap(&m);
        CHECK(llm__os_map_file(&m, &f, offsets[i], n + 1, &e) == LLM_BAD_ARG);
    }
    CHECK(llm__os_map_file(&m, &f, sizeof bytes + 1, 1, &e) == LLM_BAD_ARG);
    CHECK(llm__os_map_file(&m, &f, UINT64_MAX, 2, &e) == LLM_BAD_ARG);
    CHECK(llm__os_map_file(&m, &f, 8, UINT64_MAX - 4, &e) == LLM_BAD_ARG);
    CHECK(llm__os_map_file(&m, &f, 0, 0, &e) == LLM_BAD_ARG);
    llm__os_file_close(&f);
    remove(path);
}

// ---- threads

enum { ADDERS = 4, ADDS = 50000 };
typedef struct shared {
    llm__atomic32 sum, ping, won;
    llm__os_event event;
    uint64_t signals;                  // blocked in the thread: signal n is bit n - 1
    size_t stack;
    llm__fpenv word;
} shared;

static void add_main(void *arg) {
    shared *s = (shared *)arg;
    uint32_t i;
    for (i = 0; i < ADDS; i++) {
        llm__atomic_add(&s->sum, 3);
        for (;;) {
            uint32_t v = llm__atomic_load(&s->won);
            if (llm__atomic_cas(&s->won, v, v + 1)) break;
        }
    }
}
// Odd numbers are this thread's turn.
static void ping_main(void *arg) {
    shared *s = (shared *)arg;
    for (;;) {
        uint32_t v = llm__atomic_load(&s->ping);
        if (v >= 4000) return;
        if (v & 1) {
            llm__atomic_store(&s->ping, v + 1);
            llm__os_wake_all(&s->event, &s->ping);
        } else {
            llm__os_wait(&s->event, &s->ping, v);
        }
    }
}
static void signal_main(void *arg) {
    shared *s = (shared *)arg;
#if SHIM
    pthread_attr_t attr;
    sigset_t set;
    int signal;
    s->signals = 0;
    if (!pthread_sigmask(SIG_BLOCK, NULL, &set))
        for (signal = 1; signal <= 64; signal++) s->signals |= (uint64_t)(sigismember(&set, signal) == 1) << (signal - 1);
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstacksize(&attr, &s->stack);
        pthread_attr_destroy(&attr);
    }
#endif
    s->word = llm__fp_get();
}
static uint64_t blocked_here(void) {
    shared s;
    memset(&s, 0, sizeof s);
    signal_main(&s);
    return s.signals;
}

static void test_threads(void) {
    llm__os_thread t[ADDERS];
    shared s;
    int i;
    SECTION("threads");
    memset(&s, 0, sizeof s);
    if (!llm__os_thread_start(&t[0], signal_main, &s)) { test_lacks("threads in this build"); return; }
    llm__os_thread_join(&t[0]);
#if SHIM
    // All but KILL and STOP, the C library's three, and the last two, which emulators keep for themselves.
    CHECK_EQ(s.signals | ((uint64_t)1 << 8 | (uint64_t)1 << 18 | (uint64_t)7 << 31 | (uint64_t)3 << 62), UINT64_MAX);
    CHECK(s.stack >= 16384 && s.stack <= 1 << 20);
    CHECK(blocked_here() == 0);
#endif
    for (i = 0; i < ADDERS; i++) CHECK(llm__os_thread_start(&t[i], add_main, &s));
    for (i = 0; i < ADDERS; i++) llm__os_thread_join(&t[i]);
    CHECK_EQ(llm__atomic_load(&s.sum), 3 * ADDERS * ADDS);
    CHECK_EQ(llm__atomic_load(&s.won), ADDERS * ADDS);
    CHECK(llm__atomic_exchange(&s.sum, 7) == 3 * ADDERS * ADDS && llm__atomic_load(&s.sum) == 7);
    CHECK(!llm__atomic_cas(&s.sum, 8, 9) && llm__atomic_load(&s.sum) == 7);
    CHECK(llm__atomic_cas(&s.sum, 7, 9) && llm__atomic_load(&s.sum) == 9);
    SECTION("waiting and waking");
    CHECK(llm__os_event_init(&s.event));
    CHECK(llm__os_thread_start(&t[0], ping_main, &s));
    for (;;) {
        uint32_t v = llm__atomic_load(&s.ping);
        if (v >= 4000) break;
        if (v & 1) { llm__os_wait(&s.event, &s.ping, v); continue; }
        llm__atomic_store(&s.ping, v + 1);
        llm__os_wake_all(&s.event, &s.ping);
    }
    llm__os_thread_join(&t[0]);
    CHECK_EQ(llm__atomic_load(&s.ping), 4000);
    llm__os_wait(&s.event, &s.ping, 1);                                  // the word is another already: no sleep
    llm__os_event_free(&s.event);
}

int main(void) {
    test_fpenv();
    test_x87();
    test_clock();
    test_cores();
    test_files();
    test_map_span();
    test_map();
    test_threads();
    return test_done();
}
