// test_shim.c - the operating system fails, comes short, is slow, or lies (SHIM): at every call that the library makes while it loads,
// opens, answers and closes. Either everything works with the same text, or one sentence says what went wrong; nothing is kept in either
// case. tests/test_headers.sh holds the list below against what the object really needs.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(LLM_NO_MMAP) && \
    !defined(LLM_NO_THREADS) && !defined(LLM_NO_STDIO)
#define SHIM 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

//------------------------------------------------------------------------------------------------------------------------------
// The entries. open is two, of models and of small texts in /proc and /sys, and syscall is one for each number.

enum { OPEN_MODEL, OPEN_TEXT, CLOSE, READ, PREAD, LSEEK, MMAP, MUNMAP, FSTAT, FSTATFS, SYSCONF, CLOCK, NANOSLEEP, GETRUSAGE, GETRLIMIT,
       ATTR_INIT, ATTR_DESTROY, ATTR_STACK, CREATE, JOIN, GETTID, GET_AFFINITY, SET_AFFINITY, GETCPU, MINCORE, SIGMASK, FUTEX_WAIT, FUTEX_WAKE,
       GETPID, TGKILL, OTHER_CALL, ENTRIES };
enum { HONEST, FAIL, SHORT, SLOW, LIE, BACKWARD };
enum { EVERY_CALL = -1 };

typedef struct shim_state {
    int entry, mode, error;            // what is done to which entry
    long at;                           // at its at-th call, from 1; EVERY_CALL
    long calls[ENTRIES], hits, others;
    long files, maps, threads;         // open now
    int fuse;
    pthread_mutex_t lock;
} shim_state;
static shim_state shim = { 0, HONEST, 0, 0, { 0 }, 0, 0, 0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER };

static int shim_hit(int entry) {
    int hit;
    pthread_mutex_lock(&shim.lock);
    shim.calls[entry]++;
    hit = shim.mode != HONEST && shim.entry == entry && (shim.at == EVERY_CALL || shim.calls[entry] == shim.at);
    shim.hits += hit;
    pthread_mutex_unlock(&shim.lock);
    if (hit && shim.mode == SLOW) { struct timespec t = { 0, 2000000 }; nanosleep(&t, NULL); }
    if (hit && shim.mode == FAIL) errno = shim.error;
    return hit && shim.mode != SLOW;
}
static void shim_count(long *what, long by) {
    pthread_mutex_lock(&shim.lock);
    *what += by;
    pthread_mutex_unlock(&shim.lock);
}
static int shim_open(const char *path, int flags) {
    int fd;
    if (shim_hit(strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5) ? OPEN_MODEL : OPEN_TEXT)) return -1;
    fd = open(path, flags);
    if (fd >= 0) shim_count(&shim.files, 1);
    return fd;
}
static int shim_close(int fd) {                                        // a failing close closes all the same, a lying one keeps the file
    int hit = shim_hit(CLOSE), r = close(fd);
    shim_count(&shim.files, -1);
    return hit && shim.mode == FAIL ? -1 : r;
}
static ssize_t shim_read(int fd, void *dst, size_t n) {
    if (!shim_hit(READ)) return read(fd, dst, n);
    return shim.mode == FAIL ? -1 : shim.mode == SHORT ? read(fd, dst, n > 1 ? 1 : n) : 0;
}
static ssize_t shim_pread(int fd, void *dst, size_t n, off64_t offset) {
    if (!shim_hit(PREAD)) return pread64(fd, dst, n, offset);
    if (shim.mode == FAIL) return -1;
    if (shim.mode == SHORT) return pread64(fd, dst, n / 3 + 1, offset);
    memset(dst, 0x33, n);                                              // a lie: says that all was read
    return (ssize_t)n;
}
static off64_t shim_lseek(int fd, off64_t offset, int whence) {
    if (!shim_hit(LSEEK)) return lseek64(fd, offset, whence);
    return shim.mode == FAIL ? -1 : 0;
}
static void *shim_mmap(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset) {
    void *p = shim_hit(MMAP) ? MAP_FAILED : mmap64(at, bytes, prot, flags, fd, offset);
    if (p != MAP_FAILED) shim_count(&shim.maps, 1);
    return p;
}
static int shim_munmap(void *at, size_t bytes) {
    int hit = shim_hit(MUNMAP), r = munmap(at, bytes);
    shim_count(&shim.maps, -1);
    return hit && shim.mode == FAIL ? -1 : r;
}
static int shim_fstat(int fd, struct stat *s) {
    if (shim.entry == LSEEK && shim.mode != HONEST) { errno = EOVERFLOW; return -1; }      // a large file in 32 bits: the size is sought
    if (!shim_hit(FSTAT)) return fstat(fd, s);
    memset(s, 0, sizeof *s);
    return shim.mode == FAIL ? -1 : 0;
}
static int shim_fstatfs(int fd, struct statfs *s) {
    int r = 0;
    if (shim_hit(FSTATFS)) { memset(s, 0, sizeof *s); r = shim.mode == FAIL ? -1 : 0; }
    else r = fstatfs(fd, s);
    if (shim.fuse) s->f_type = 0x65735546;
    return r;
}
static long shim_sysconf(int name) {
    if (!shim_hit(SYSCONF)) return sysconf(name);
    return shim.mode == FAIL ? -1 : 0;
}
static int shim_clock(clockid_t id, struct timespec *t) {
    static time_t back = 1000000;
    int hit = shim_hit(CLOCK);
    if (hit && shim.mode == FAIL) return -1;
    if (!hit) return clock_gettime(id, t);
    t->tv_nsec = 0;
    t->tv_sec = shim.mode == BACKWARD ? back-- : 0;                    // a lie: it stands still
    return 0;
}
static int shim_nanosleep(const struct timespec *wish, struct timespec *left) {
    if (!shim_hit(NANOSLEEP)) return nanosleep(wish, left);
    return shim.mode == FAIL ? -1 : 0;
}
static int shim_getrusage(int who, struct rusage *r) {
    if (!shim_hit(GETRUSAGE)) return getrusage((__rusage_who_t)who, r);
    memset(r, 0, sizeof *r);
    return shim.mode == FAIL ? -1 : 0;
}
static int shim_getrlimit(int what, struct rlimit *r) {
    if (!shim_hit(GETRLIMIT)) return getrlimit((__rlimit_resource_t)what, r);
    r->rlim_cur = r->rlim_max = RLIM_INFINITY;
    return shim.mode == FAIL ? -1 : 0;
}
static int shim_attr_init(pthread_attr_t *a) { return shim_hit(ATTR_INIT) ? ENOMEM : pthread_attr_init(a); }
static int shim_attr_destroy(pthread_attr_t *a) {
    int hit = shim_hit(ATTR_DESTROY), r = pthread_attr_destroy(a);
    return hit ? EINVAL : r;
}
static int shim_attr_stack(pthread_attr_t *a, size_t n) {
    if (!shim_hit(ATTR_STACK)) return pthread_attr_setstacksize(a, n);
    return shim.mode == FAIL ? EINVAL : 0;
}
static int shim_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg) {
    int r = shim_hit(CREATE) ? EAGAIN : pthread_create(t, a, fn, arg);
    if (!r) shim_count(&shim.threads, 1);
    return r;
}
static int shim_join(pthread_t t, void **out) {
    int hit = shim_hit(JOIN), r = pthread_join(t, out);
    shim_count(&shim.threads, -1);
    return hit ? EDEADLK : r;
}
static int shim_number(long number, int op) {
    switch (number) {
    case SYS_gettid: return GETTID;
    case SYS_sched_getaffinity: return GET_AFFINITY;
    case SYS_sched_setaffinity: return SET_AFFINITY;
    case SYS_getcpu: return GETCPU;
    case SYS_mincore: return MINCORE;
    case SYS_rt_sigprocmask: return SIGMASK;
    case SYS_futex: return (op & 127) == 0 ? FUTEX_WAIT : FUTEX_WAKE;
    case SYS_getpid: return GETPID;
    case SYS_tgkill: return TGKILL;
    default: shim_count(&shim.others, 1); return OTHER_CALL;
    }
}
static long shim_syscall(long number, ...) {
    va_list args;
    long a[6] = { 0 }, i;
    va_start(args, number);
    for (i = 0; i < (number == SYS_futex ? 6 : 5); i++) a[i] = va_arg(args, long);      // five lie in registers, given or not
    va_end(args);
    if (shim_hit(shim_number(number, (int)a[1]))) return shim.mode == FAIL ? -1 : 0;
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define open(path, flags)                shim_open(path, flags)
#define close(fd)                        shim_close(fd)
#define read(fd, dst, n)                 shim_read(fd, dst, n)
#define pread64(fd, dst, n, offset)      shim_pread(fd, dst, n, offset)
#define lseek64(fd, offset, whence)      shim_lseek(fd, offset, whence)
#define mmap64(at, n, prot, flags, fd, offset) shim_mmap(at, n, prot, flags, fd, offset)
#define munmap(at, n)                    shim_munmap(at, n)
#define fstat(fd, s)                     shim_fstat(fd, s)
#define fstatfs(fd, s)                   shim_fstatfs(fd, s)
#define sysconf(name)                    shim_sysconf(name)
#define clock_gettime(id, t)             shim_clock(id, t)
#define nanosleep(wish, left)            shim_nanosleep(wish, left)
#define getrusage(who, r)                shim_getrusage(who, r)
#define getrlimit(what, r)               shim_getrlimit(what, r)
#define pthread_attr_init(a)             shim_attr_init(a)
#define pthread_attr_destroy(a)          shim_attr_destroy(a)
#define pthread_attr_setstacksize(a, n)  shim_attr_stack(a, n)
#define pthread_create(t, a, fn, arg)    shim_create(t, a, fn, arg)
#define pthread_join(t, out)             shim_join(t, out)
#define syscall(...)                     shim_syscall(__VA_ARGS__)
#else
#define SHIM 0
#endif

#define LLM__RESTS 0
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

#if SHIM
#undef open
#undef close
#undef read
#undef munmap
#undef fstat
#undef sysconf
#undef clock_gettime
#undef pthread_create
#undef pthread_join
#undef syscall
#include "hostile.h"

//------------------------------------------------------------------------------------------------------------------------------
// One life: load, open, an answer, figures, close.

enum { TEXT = 4096 };
typedef struct life { llm_error e; char text[TEXT]; llm_mapping mapping; uint64_t ms; } life;
static life honest;
static const char tiny[] = "examples/tiny/tiny.gguf";
static const char *const entry_names[ENTRIES] = {
    "open (model)", "open (text)", "close", "read", "pread64", "lseek64", "mmap64", "munmap", "fstat", "fstatfs", "sysconf", "clock_gettime",
    "nanosleep", "getrusage", "getrlimit", "pthread_attr_init", "pthread_attr_destroy", "pthread_attr_setstacksize", "pthread_create",
    "pthread_join", "gettid", "sched_getaffinity", "sched_setaffinity", "getcpu", "mincore", "rt_sigprocmask", "futex wait", "futex wake",
    "getpid", "tgkill", "another system call"
};
static const char *const mode_names[] = { "honest", "fails", "comes short", "is slow", "lies", "runs backward" };

static void stuck(int signal) {
    static const char text[] = "a life hangs\n";
    ssize_t n = write(1, text, sizeof text - 1);
    (void)signal; (void)n;
    _exit(1);
}
static void live(life *out, llm_mapping mapping) {
    llm_model_desc d;
    llm_ctx_desc cd;
    llm_model *m;
    llm_ctx *c;
    ledger l;
    const char *piece;
    ledger_init(&l);
    memset(&d, 0, sizeof d);
    memset(&cd, 0, sizeof cd);
    memset(out, 0, sizeof *out);
    memset(shim.calls, 0, sizeof shim.calls);
    shim.hits = shim.files = shim.maps = shim.threads = 0;
    d.allocator = ledger_hook(&l);
    d.n_threads = 2;
    d.cores = LLM_CORES_BIG;
    d.mapping = mapping;
    d.cpu_share = shim.entry == NANOSLEEP ? 30 : shim.entry == CLOCK ? 99 : 0;
    cd.max_tokens = 6;
    alarm(60);                                                         // a busy machine needs a second
    m = llm_load(tiny, &d, &out->e);
    c = llm_open(m, &cd, &out->e);
    if (c) {
        static char report[4000];
        llm_stats_info s;
        if (llm_say(c, "user", "Tell me a story about a fox.") == LLM_OK)
            while ((piece = llm_next(c, NULL)) != NULL) if (strlen(out->text) + strlen(piece) < TEXT) strcat(out->text, piece);
        out->e = *llm_last_error(c);
        memset(&s, 0, sizeof s);
        llm_stats(c, &s);
        llm_report(c, report, sizeof report);
        out->mapping = s.mapping;
    }
    llm_close(c);
    llm_unload(m);
    alarm(0);
    CHECK(l.live == 0 && l.bad == 0);
    CHECK_EQ(shim.files, 0);
    CHECK_EQ(shim.maps, 0);
    CHECK_EQ(shim.threads, 0);
}
// What a life may have changed of the process: nothing.
static cpu_set_t home;
static sigset_t signals;
static void unchanged(void) {
    cpu_set_t now;
    sigset_t mask;
    sched_getaffinity(0, sizeof now, &now);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    // The call that gives the caller its CPUs back may be the one that fails: then nobody can.
    if (shim.entry != SET_AFFINITY && shim.entry != GET_AFFINITY) CHECK(CPU_EQUAL(&now, &home));
    // The mask of Linux is the first eight bytes; a call that fails once may be the one that gives it back.
    if (shim.entry != SIGMASK || shim.at == EVERY_CALL || shim.at % 2) CHECK(memcmp(&mask, &signals, 8) == 0);
    sched_setaffinity(0, sizeof home, &home);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

//------------------------------------------------------------------------------------------------------------------------------

enum { MUST_WORK, MAY_REFUSE, MAY_BABBLE };                            // babble: other weights, another text
typedef struct trouble { int entry, mode, errors, may; } trouble;      // errors: 1 = each of the five, 0 = one will do
static const trouble troubles[] = {
    { OPEN_MODEL, FAIL, 1, MAY_REFUSE }, { OPEN_TEXT, FAIL, 0, MUST_WORK }, { CLOSE, FAIL, 0, MUST_WORK }, { READ, FAIL, 0, MUST_WORK },
    { READ, SHORT, 0, MUST_WORK }, { READ, LIE, 0, MUST_WORK }, { PREAD, FAIL, 1, MAY_REFUSE }, { PREAD, SHORT, 0, MUST_WORK },
    { PREAD, LIE, 0, MAY_BABBLE }, { LSEEK, FAIL, 0, MAY_REFUSE }, { LSEEK, LIE, 0, MAY_REFUSE }, { MMAP, FAIL, 1, MAY_REFUSE },
    { MUNMAP, FAIL, 0, MUST_WORK }, { FSTAT, FAIL, 1, MAY_REFUSE }, { FSTAT, LIE, 0, MAY_REFUSE }, { FSTATFS, FAIL, 0, MUST_WORK },
    { FSTATFS, LIE, 0, MUST_WORK }, { SYSCONF, FAIL, 0, MUST_WORK }, { SYSCONF, LIE, 0, MUST_WORK }, { CLOCK, FAIL, 0, MUST_WORK },
    { CLOCK, LIE, 0, MUST_WORK }, { CLOCK, BACKWARD, 0, MUST_WORK }, { NANOSLEEP, FAIL, 0, MUST_WORK }, { NANOSLEEP, LIE, 0, MUST_WORK },
    { GETRUSAGE, FAIL, 0, MUST_WORK }, { GETRUSAGE, LIE, 0, MUST_WORK }, { GETRLIMIT, FAIL, 0, MUST_WORK }, { GETRLIMIT, LIE, 0, MUST_WORK },
    { ATTR_INIT, FAIL, 0, MUST_WORK }, { ATTR_DESTROY, FAIL, 0, MUST_WORK }, { ATTR_STACK, FAIL, 0, MUST_WORK }, { ATTR_STACK, LIE, 0, MUST_WORK },
    { CREATE, FAIL, 0, MUST_WORK }, { JOIN, FAIL, 0, MUST_WORK }, { GETTID, LIE, 0, MUST_WORK }, { GET_AFFINITY, FAIL, 0, MUST_WORK },
    { GET_AFFINITY, LIE, 0, MUST_WORK }, { SET_AFFINITY, FAIL, 0, MUST_WORK }, { SET_AFFINITY, LIE, 0, MUST_WORK },
    { GETCPU, FAIL, 0, MUST_WORK }, { GETCPU, LIE, 0, MUST_WORK }, { MINCORE, FAIL, 0, MUST_WORK }, { MINCORE, LIE, 0, MUST_WORK },
    { SIGMASK, FAIL, 0, MUST_WORK }, { FUTEX_WAIT, FAIL, 0, MUST_WORK }, { FUTEX_WAIT, LIE, 0, MUST_WORK },
    { GETPID, LIE, 0, MUST_WORK }, { TGKILL, FAIL, 1, MUST_WORK }, { TGKILL, LIE, 0, MUST_WORK }
};
// Not in the list, because no program can live with it: a wake that is lost, a thread that is said to run and does not, a join that does
// not wait, a mapping that is not there.

static int try_trouble(const trouble *t, long at, int error, llm_mapping mapping) {
    static life l;
    unsigned long failed = test_now.failed;
    int may = t->may != MUST_WORK;
    // An interrupted open or read is tried again, so it must work; only where every call is interrupted is there no end.
    if (error == EINTR && (t->entry == OPEN_MODEL || t->entry == PREAD)) may = 0;
    shim.entry = t->entry;
    shim.mode = t->mode;
    shim.at = at;
    shim.error = error;
    live(&l, mapping);
    unchanged();
    shim.mode = HONEST;
    if (l.e.code == LLM_OK) CHECK(t->may == MAY_BABBLE || strcmp(l.text, honest.text) == 0);
    else {
        CHECK(may && one_sentence(&l.e));
        CHECK(l.e.code == LLM_IO || l.e.code == LLM_NO_MEMORY || l.e.code == LLM_UNSUPPORTED || l.e.code == LLM_BAD_FILE);
    }
    if (test_now.failed != failed)
        printf("  %s %s at call %ld, errno %d, mapping %d: %d '%s' \"%s\"\n", entry_names[t->entry], mode_names[t->mode], at, error, (int)mapping,
               (int)l.e.code, l.e.text, l.text);
    return shim.hits > 0;
}
// Every call in turn up to the 40th, then those whose numbers are a tenth apart: the texts of /sys are read by one loop.
static void one_trouble(const trouble *t, llm_mapping mapping) {
    static const int errors[] = { EIO, EINTR, ENOMEM, EACCES, EMFILE };
    int i;
    long at, lives = 0;
    for (i = 0; i < (t->errors ? 5 : 1); i++) {
        for (at = 1; at < 100000; at += at < (SANITIZED ? 8 : 40) ? 1 : at / 10 + (SANITIZED ? 40 : 0)) {
            if (!try_trouble(t, at, errors[i], mapping)) break;
            lives++;
        }
        if (errors[i] != EINTR || t->entry > PREAD) try_trouble(t, EVERY_CALL, errors[i], mapping);
    }
    printf("  %-28s %-14s %4ld lives\n", entry_names[t->entry], mode_names[t->mode], lives);
    CHECK(lives > 0 || t->entry == FUTEX_WAIT);                          // a thread may never have had to wait
}
static void every_trouble(void) {
    size_t i;
    for (i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        SECTION(entry_names[troubles[i].entry]);
        one_trouble(&troubles[i], troubles[i].entry == PREAD ? LLM_READ : LLM_MAP);
    }
}

// Slow calls cost time and nothing else.
static void slow(void) {
    static life l;
    int entry;
    SECTION("every call is slow");
    for (entry = 0; entry < ENTRIES; entry++) {
        if (entry == CLOCK || entry == FUTEX_WAKE || entry == NANOSLEEP || entry == OTHER_CALL) continue;
        shim.entry = entry; shim.mode = SLOW; shim.at = EVERY_CALL;
        live(&l, entry == PREAD ? LLM_READ : LLM_MAP_AUTO);
        CHECK_TEXT(l.text, honest.text);
        unchanged();
    }
    shim.mode = HONEST;
}
// FUSE, the unit form: statfs says FUSE and each pread takes 2 ms. The file is read, unless mapping was asked for; progress is called all
// the same (FR-043), and the stats name the file system (FR-044).
static int count_progress(void *user, int stage, float fraction) {
    (void)fraction;
    if (stage == 0) ++*(int *)user;
    return 1;
}
static void fuse(void) {
    static life l;
    llm_model_desc d;
    llm_error e;
    llm_model *m;
    llm_ctx *c;
    llm_stats_info s;
    int calls = 0;
    SECTION("FUSE");
    shim.fuse = 1;
    shim.entry = PREAD; shim.mode = SLOW; shim.at = EVERY_CALL;
    live(&l, LLM_MAP_AUTO);
    CHECK(l.mapping == LLM_READ);
    CHECK_TEXT(l.text, honest.text);
    live(&l, LLM_MAP);
    CHECK(l.mapping == LLM_MAP);
    CHECK_TEXT(l.text, honest.text);
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.progress.user = &calls;
    d.progress.progress_fn = count_progress;
    m = llm_load(tiny, &d, &e);
    c = llm_open(m, NULL, &e);
    if (CHECK(c != NULL)) {
        llm_stats(c, &s);
        CHECK_TEXT(s.file_system, "FUSE");
        CHECK(s.mapping == LLM_READ && calls >= 10);
    }
    llm_close(c);
    llm_unload(m);
    shim.fuse = 0;
    shim.mode = HONEST;
}

int main(void) {
    static life again;
    int i;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, stuck);
    sched_getaffinity(0, sizeof home, &home);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);                                        // a mask that is not just zeros
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    SECTION("an honest system");
    live(&honest, LLM_MAP);
    CHECK(honest.e.code == LLM_OK && honest.text[0]);
    for (i = 0; i < ENTRIES; i++) printf("  %-28s %ld calls\n", entry_names[i], shim.calls[i]);
    CHECK_EQ(shim.others, 0);                                          // a system call that has no entry here
    live(&again, LLM_READ);
    CHECK_TEXT(again.text, honest.text);
    unchanged();
    every_trouble();
    slow();
    fuse();
    return test_done();
}
#else
int main(void) {
    test_lacks("the C library's calls cannot be replaced (glibc on x86-64 and AArch64 alone, with files, maps and threads)");
    CHECK(LLM_VERSION_MAJOR >= 0);
    return test_done();
}
#endif
