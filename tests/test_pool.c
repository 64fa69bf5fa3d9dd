// test_pool.c - the fork-join: every part once, nobody waited for in vain, nobody awake between calls.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) && defined(__GLIBC__)
#define SHIM 1
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
static int shim_threads = 1 << 30;     // how many more may be started
static int shim_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    if (shim_threads <= 0) return EAGAIN;
    shim_threads--;
    return pthread_create(t, attr, fn, arg);
}
#define pthread_create shim_create
#else
#define SHIM 0
#endif

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"

static llm__heap heap;
static uint32_t seed = 1;
static uint32_t any(uint32_t n) { seed = seed * 1664525u + 1013904223u; return (seed >> 8) % n; }

static llm__pool *pool_of(uint32_t n, const llm_parallel *hook) {
    llm__pool *p = NULL;
    llm_error e;
    CHECK(llm__pool_new(&p, &heap, n, hook, &e) == LLM_OK && p);
    return p;
}

// ---- chunks

static void test_chunks(void) {
    static llm__worker workers[16];
    static uint8_t seen[100000];
    llm__pool pool;
    llm__team team;
    llm__chunks c;
    uint32_t round, begin, end, i, wrong = 0;
    SECTION("chunks");
    memset(&pool, 0, sizeof pool);
    pool.workers = workers;
    team.pool = &pool;
    for (round = 0; round < 5000; round++) {
        const uint32_t n = any(round % 100 ? 300 : 100000), step = 1 + any(40);
        uint32_t through = 0, largest;
        team.n = 2 + any(8);
        largest = (n / step / (8 * team.n) + 2) * step;
        memset(seen, 0, n);
        llm__chunks_init(&c, &team, n, step);
        while (through != (1u << team.n) - 1u) {                        // whoever comes, in any order, some of them often
            const uint32_t w = round % 3 ? any(team.n) : any(team.n) / 2;
            if (!llm__chunks_take(&c, w, &begin, &end)) { through |= 1u << w; if (round % 3 == 0) through = (1u << team.n) - 1u; continue; }
            wrong += end <= begin || end > n || begin % step || end - begin > largest;
            for (i = begin; i < end; i++) wrong += seen[i]++ != 0;
        }
        for (i = 0; i < n; i++) wrong += seen[i] != 1;
    }
    CHECK_EQ(wrong, 0);
    team.n = 9;
    llm__chunks_init(&c, &team, UINT32_MAX, 8);
    for (i = 0, begin = end = 0; llm__chunks_take(&c, 8, &begin, &end); i++) wrong += end == UINT32_MAX;
    CHECK(wrong == 1 && i < 60000);
    team.n = 1;
    llm__chunks_init(&c, &team, 5, 1);
    CHECK(llm__chunks_take(&c, 0, &begin, &end) && begin == 0 && end == 5 && !llm__chunks_take(&c, 0, &begin, &end));
    llm__chunks_init(&c, &team, 0, 8);
    CHECK(!llm__chunks_take(&c, 0, &begin, &end));
}

// ---- runs

enum { MOST = 5000 };
typedef struct job {
    uint32_t n_workers, begun[16], rows[16], wrong, n;
    uint8_t seen[MOST];
    llm__chunks chunks;
    llm__fpenv word;
} job;

static void part(void *arg, uint32_t worker) {
    job *j = (job *)arg;
    uint32_t begin, end;
    if (worker >= j->n_workers) { j->wrong++; return; }
    j->begun[worker]++;                // plain memory: each part runs once, so nobody else touches it
    while (llm__chunks_take(&j->chunks, worker, &begin, &end)) {
        j->rows[worker] += end - begin;
        for (; begin < end; begin++) j->seen[begin]++;
    }
}
static uint32_t run_once(llm__team *t, job *j, uint32_t n, uint32_t step) {
    uint32_t i, wrong = 0;
    memset(j, 0, sizeof *j);
    j->n_workers = t->n;
    j->n = n;
    llm__chunks_init(&j->chunks, t, n, step);
    llm__team_run(t, part, j);
    for (i = 0; i < t->n; i++) wrong += j->begun[i] != 1;
    for (i = 0; i < n; i++) wrong += j->seen[i] != 1;
    return wrong + j->wrong;
}

static void test_runs(void) {
    static job j;
    uint32_t n_threads, wrong = 0, call, run;
    SECTION("every part once, every row once");
    for (n_threads = 1; n_threads <= 9; n_threads++) {
        llm__pool *p = pool_of(n_threads, NULL);
        if (!p) continue;
        for (call = 0; call < 40; call++) {
            llm__team t = llm__team_take(p);
            if (t.n != n_threads) test_lacks("as many threads as asked for");
            for (run = 0; run < 20; run++) wrong += run_once(&t, &j, any(run % 4 ? 40 : MOST), 1 + any(8));
            CHECK(t.n_runs == 20);
            llm__team_give(&t);
        }
        llm__pool_free(p, &heap);
    }
    CHECK_EQ(wrong, 0);
    llm__pool_free(NULL, &heap);
}

static void test_teams(void) {
    static job j;
    llm__pool *p = pool_of(3, NULL);
    llm__team a, b;
    SECTION("one team at a time");
    if (!p) return;
    a = llm__team_take(p);
    b = llm__team_take(p);
    CHECK(b.n == 1 && !b.pool);
    CHECK(run_once(&b, &j, 100, 8) == 0 && run_once(&a, &j, 100, 8) == 0);
    llm__team_give(&b);
    b = llm__team_take(p);
    CHECK(b.n == 1);                                                     // giving a team of one frees nothing
    llm__team_give(&a);
    b = llm__team_take(p);
    CHECK(b.n == p->n_workers);
    llm__team_give(&b);
    llm__team_give(&b);
    b = llm__team_take(NULL);
    CHECK(b.n == 1 && run_once(&b, &j, 50, 4) == 0);
    llm__team_give(&b);
    llm__pool_free(p, &heap);
}

typedef struct rival { llm__pool *pool; job j; uint32_t wrong, alone; } rival;
static void rival_main(void *arg) {
    rival *r = (rival *)arg;
    int i, k;
    for (i = 0; i < 300; i++) {
        llm__team t = llm__team_take(r->pool);
        r->alone += t.n == 1;
        for (k = 0; k < 5; k++) r->wrong += run_once(&t, &r->j, 200, 8);
        llm__team_give(&t);
    }
}
static void test_rivals(void) {
    static rival r[3];
    llm__os_thread t[3];
    llm__pool *p = pool_of(3, NULL);
    int i;
    SECTION("three callers of one pool");
    if (!p) return;
    for (i = 0; i < 3; i++) {
        memset(&r[i], 0, sizeof r[i]);
        r[i].pool = p;
        if (!llm__os_thread_start(&t[i], rival_main, &r[i])) { test_lacks("threads in this build"); break; }
    }
    while (i-- > 0) {
        llm__os_thread_join(&t[i]);
        CHECK_EQ(r[i].wrong, 0);
    }
    llm__pool_free(p, &heap);
}

// ---- the host's job system

typedef struct host { int order; uint32_t calls, tasks; int leaves; } host;
typedef struct host_task { void (*task)(void *, uint32_t); void *arg; uint32_t index; } host_task;
static void host_thread(void *arg) {
    host_task *t = (host_task *)arg;
    t->task(t->arg, t->index);
}
static void host_for(void *user, uint32_t n, void (*task)(void *, uint32_t), void *arg) {
    host *h = (host *)user;
    uint32_t i;
    h->calls++;
    h->tasks = n;
    if (h->order == 0) for (i = 0; i < n; i++) task(arg, i);
    if (h->order == 1) for (i = n; i > 0; i--) task(arg, i - 1);
    if (h->order == 2) {
        llm__os_thread t[16];
        host_task at[16];
        bool started[16];
        for (i = 0; i < n; i++) {
            at[i].task = task; at[i].arg = arg; at[i].index = i;
            started[i] = llm__os_thread_start(&t[i], host_thread, &at[i]);
            if (!started[i]) task(arg, i);
        }
        for (i = 0; i < n; i++) if (started[i]) llm__os_thread_join(&t[i]);
    }
#if LLM__X64
    if (h->leaves) llm__fp_set(0xffc0);                                  // FTZ, DAZ and another rounding from now on
#endif
}
static void word_part(void *arg, uint32_t worker) {
    job *j = (job *)arg;
    if (llm__fp_get() != LLM__FP_PLAIN) j->wrong++;
    j->begun[worker]++;
}
static void test_hook(void) {
    static job j;
    host h;
    llm_parallel hook;
    llm__fpenv before = llm__fp_get();
    SECTION("the host's job system");
    if (!LLM__ATOMICS) {                                                 // words that the host's threads share cannot be had
        llm__pool *p = NULL;
        llm_error e;
        hook.user = &h;
        hook.for_fn = host_for;
        CHECK(llm__pool_new(&p, &heap, 4, &hook, &e) == LLM_UNSUPPORTED && !p && strstr(e.text, "atomics"));
        return;
    }
    for (h.order = 0; h.order < 3; h.order++) {
        llm__pool *p;
        llm__team t;
        h.calls = h.tasks = 0;
        hook.user = &h;
        hook.for_fn = host_for;
        p = pool_of(4, &hook);
        if (!p) continue;
        t = llm__team_take(p);
        CHECK(t.n == 4);
        CHECK(run_once(&t, &j, 1000, 8) == 0 && h.calls == 1 && h.tasks == 4);
        memset(&j, 0, sizeof j);
#if LLM__X64
        llm__fp_set(0xdf80);                                             // FTZ and another rounding on the host's thread
        llm__team_run(&t, word_part, &j);
        CHECK((llm__fp_get() & ~(uint64_t)0x3f) == 0xdf80);
        llm__fp_set(before);
        CHECK(!j.wrong && j.begun[0] == 1 && j.begun[3] == 1);
        h.leaves = 1;                                                    // a job system that sets it and does not give it back
        llm__team_run(&t, word_part, &j);
        CHECK(llm__fp_get() == before);
        llm__fp_set(before);
        h.leaves = 0;
#endif
        llm__team_give(&t);
        llm__pool_free(p, &heap);
    }
    (void)before;
}
static void test_words(void) {
    static job j;
    llm__pool *p = pool_of(3, NULL);
    llm__team t;
    llm__fpenv before = llm__fp_enter();                                 // as every public function does
    int i;
    SECTION("workers compute in the plain environment (N0)");
    if (!p) { llm__fp_leave(before); return; }
    t = llm__team_take(p);
    memset(&j, 0, sizeof j);
    for (i = 0; i < 200; i++) llm__team_run(&t, word_part, &j);
    CHECK(!j.wrong && j.begun[0] == 200);
    llm__team_give(&t);
    llm__pool_free(p, &heap);
    llm__fp_leave(before);
}

// ---- what goes wrong

typedef struct counter { long live, fail_at; } counter;
static void *counter_alloc(void *user, size_t bytes, size_t align) {
    counter *c = (counter *)user;
    (void)align;
    if (--c->fail_at == 0) return NULL;
    c->live++;
    return malloc(bytes);
}
static void counter_free(void *user, void *p, size_t bytes) {
    ((counter *)user)->live--;
    (void)bytes;
    free(p);
}
static uint32_t n_tasks_now(void) {
    uint32_t n = 0;
#if SHIM
    DIR *d = opendir("/proc/self/task");
    struct dirent *entry;
    while (d && (entry = readdir(d)) != NULL) n += entry->d_name[0] != '.';
    if (d) closedir(d);
#endif
    return n;
}
static void test_failures(void) {
    llm__heap h;
    counter c;
    long k;
    uint32_t base;
    llm__pool *p;
    llm_error e;
    SECTION("no memory, no threads, too many threads");
    memset(&h, 0, sizeof h);
    h.a.user = &c;
    h.a.alloc_fn = counter_alloc;
    h.a.free_fn = counter_free;
    for (k = 1; k < 10; k++) {
        llm_result r;
        c.live = 0;
        c.fail_at = k;
        r = llm__pool_new(&p, &h, 3, NULL, &e);
        CHECK(r == LLM_OK || (r == LLM_NO_MEMORY && !p && c.live == 0));
        if (r != LLM_OK) continue;
        llm__pool_free(p, &h);
        CHECK(c.live == 0);
        break;
    }
    CHECK(k == 3);
#if SHIM && !defined(LLM_NO_THREADS)
    base = n_tasks_now();                                                // a sanitizer may have a thread of its own
    for (k = 0; k < 4; k++) {
        static job j;
        llm__team t;
        shim_threads = (int)k;
        p = pool_of(5, NULL);
        if (!p) continue;
        CHECK_EQ(p->n_workers, k + 1);
        CHECK_EQ(n_tasks_now(), base + k);
        t = llm__team_take(p);
        CHECK(t.n == k + 1 && run_once(&t, &j, 500, 8) == 0);
        llm__team_give(&t);
        llm__pool_free(p, &heap);
        CHECK_EQ(n_tasks_now(), base);
    }
    shim_threads = 20;
    p = pool_of(UINT32_MAX, NULL);
    if (p) { CHECK_EQ(p->n_workers, 21); llm__pool_free(p, &heap); }
    shim_threads = 1 << 30;
#endif
    p = pool_of(0, NULL);
    (void)base;
    if (p) { CHECK(p->n_workers >= 1 && p->n_workers <= p->n_home); llm__pool_free(p, &heap); }
}

// ---- time. Sleeping work, and the CPU time of the process: what other programs do at the moment does not count.

#if SHIM && !defined(LLM_NO_THREADS)
static void nap(long us) {
    struct timespec t;
    t.tv_sec = us / 1000000;
    t.tv_nsec = us % 1000000 * 1000;
    nanosleep(&t, NULL);
}
static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct slow { llm__chunks chunks; uint32_t rows[8], slow_worker; } slow;
static void slow_part(void *arg, uint32_t worker) {
    slow *s = (slow *)arg;
    uint32_t begin, end;
    while (llm__chunks_take(&s->chunks, worker, &begin, &end)) {
        s->rows[worker] += end - begin;
        nap((long)(end - begin) * (worker == s->slow_worker ? 2000 : 100));
    }
}
static void test_slow_core(void) {
    llm__pool *p = pool_of(2, NULL);
    llm__team t;
    slow s;
    uint64_t us, best[2] = { UINT64_MAX, UINT64_MAX };
    uint32_t k, round;
    SECTION("FR-040: a core that is twenty times slower takes fewer rows");
    if (!p) return;
    for (round = 0; round < 3; round++)
        for (k = 0; k < 2; k++) {
            t = llm__team_take(p);
            memset(&s, 0, sizeof s);
            s.slow_worker = k;
            llm__chunks_init(&s.chunks, &t, 1000, 8);
            us = llm__os_now_us();
            llm__team_run(&t, slow_part, &s);
            us = llm__os_now_us() - us;
            if (us < best[k]) best[k] = us;
            CHECK(s.rows[0] + s.rows[1] == 1000 && s.rows[1 - k] >= 5 * s.rows[k]);
            llm__team_give(&t);
        }
    // The fast one alone takes 100 ms and its sleeps' overhead.
    for (k = 0; k < 2; k++) CHECK(best[k] < 150000);
    printf("one worker 20x slower, 1000 rows: %lu and %lu us (100000 without it)\n", (unsigned long)best[0], (unsigned long)best[1]);
    llm__pool_free(p, &heap);
}

typedef struct work { llm__chunks chunks; float x[1024]; volatile float sink; } work;
static void work_part(void *arg, uint32_t worker) {
    work *w = (work *)arg;
    uint32_t begin, end, k;
    float sum = 0;
    while (llm__chunks_take(&w->chunks, worker, &begin, &end))
        for (; begin < end; begin++)
            for (k = 0; k < 100; k++) sum += w->x[(begin * 7 + k) & 1023] * 1.01f;
    if (sum > 1e30f) w->sink = sum;
}
// CPU time and wall time for a few "tokens" of 120 fork-joins each.
static double work_ms(uint32_t n_threads, double *wall) {
    static work w;
    llm__pool *p = pool_of(n_threads, NULL);
    double best = 1e30, best_wall = 1e30;
    int round, token, run;
    for (round = 0; p && round < 5; round++) {
        double cpu = cpu_ms();
        uint64_t us = llm__os_now_us();
        for (token = 0; token < 4; token++) {
            llm__team t = llm__team_take(p);
            for (run = 0; run < 120; run++) {
                llm__chunks_init(&w.chunks, &t, 1000, 8);
                llm__team_run(&t, work_part, &w);
            }
            llm__team_give(&t);
        }
        cpu = cpu_ms() - cpu;
        us = llm__os_now_us() - us;
        if (cpu < best) best = cpu;
        if ((double)us * 1e-3 < best_wall) best_wall = (double)us * 1e-3;
    }
    if (p) llm__pool_free(p, &heap);
    *wall = best_wall;
    return best;
}
static void test_oversubscription(void) {
    cpu_set_t all, one;
    double alone, alone_wall, many, many_wall;
    uint32_t n;
    int cpu;
    SECTION("FR-035: more threads than CPUs do not collapse");
    if (sched_getaffinity(0, sizeof all, &all)) { test_lacks("affinity"); return; }
    for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++) { }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    alone = work_ms(1, &alone_wall);
    for (n = 2; n <= 8; n *= 2) {
        many = work_ms(n, &many_wall);
        printf("%u threads on one CPU: %.1f ms of CPU time, %.1f ms (alone %.1f, %.1f)\n", n, many, many_wall, alone, alone_wall);
        CHECK(many < alone * (n < 8 ? 2.5 : 5.0) + 2.0);          // FR-035: a barrier that only spins took 84 times as long
    }
    sched_setaffinity(0, sizeof all, &all);
}
static void test_sleep(void) {
    static job j;
    llm__pool *p = pool_of(4, NULL);
    llm__team t;
    double before, held;
    SECTION("nobody spins between calls, nor for long within one");
    if (!p) return;
    t = llm__team_take(p);
    run_once(&t, &j, 1000, 8);
    nap(20000);
    before = cpu_ms();
    nap(200000);
    held = cpu_ms() - before;
    CHECK(held < 10.0);
    run_once(&t, &j, 1000, 8);
    llm__team_give(&t);
    nap(20000);
    before = cpu_ms();
    nap(200000);
    CHECK(cpu_ms() - before < 10.0);
    llm__pool_free(p, &heap);
}
#endif

// The thread that loads may have less than its process: on Windows nobody can ask for it, and it must be back all the same.
static void test_loader_keeps_its_mask(void) {
    llm__cpus all, one, now;
    llm__pool *p;
    uint32_t cpu;
    SECTION("the thread that loads keeps its own mask");
    memset(&one, 0, sizeof one);
    memset(&now, 0, sizeof now);
    llm__os_allowed(0, &all);
    for (cpu = LLM__MAX_CPUS; cpu-- > 0 && !llm__cpus_has(&all, cpu);) { }
    llm__cpus_add(&one, cpu);
    if (llm__cpus_count(&all) < 2 || !llm__os_pin(&one, NULL)) { test_lacks("two CPUs, and a call that pins"); return; }
    p = pool_of(2, NULL);
    if (p) {
        llm__pool_watch(p, LLM_CORES_BIG);
        CHECK(llm__os_pin(&one, &now) && llm__cpus_same(&now, &one));
        printf("%s\n", p->why);
        llm__pool_free(p, &heap);
    }
    CHECK(llm__os_pin(&all, NULL));
}

int main(void) {
    test_chunks();
    test_runs();
    test_teams();
    test_rivals();
    test_hook();
    test_words();
    test_failures();
    test_loader_keeps_its_mask();
#if SHIM && !defined(LLM_NO_THREADS)
    test_slow_core();
    test_oversubscription();
    test_sleep();
#else
    test_lacks("the threads, clocks and affinity that the timing checks need");
#endif
    return test_done();
}
