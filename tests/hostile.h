// hostile.h - a host that counts and refuses: an allocator that fails when told (ALLOC), memory that ends at a page nobody may touch
// (GUARD), and what the process holds of the system (COUNT). After llm.h and test.h.
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdint.h>
#if !defined(_WIN32)
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

//------------------------------------------------------------------------------------------------------------------------------
// ALLOC. Requests are counted, the fail_at-th is refused (with `from_then_on` all later ones too), and so is what would pass the budget.
// What is handed out is filled with rubbish; what comes back must be what was handed out, with its size. Thread-safe.

typedef struct ledger {
    long calls, live, fail_at, refused;
    int from_then_on, bad;
    uint64_t bytes, budget, largest;             // live bytes; the most that may live (0 = no limit); the largest single request
#if !defined(_WIN32)
    pthread_mutex_t lock;
#endif
} ledger;
typedef struct ledger_tag { size_t bytes; void *base; uint64_t magic; } ledger_tag;
#define LEDGER_MAGIC 0x6c65646765723634u

static TEST_UNUSED void ledger_init(ledger *l) {
    memset(l, 0, sizeof *l);
#if !defined(_WIN32)
    pthread_mutex_init(&l->lock, NULL);
#endif
}
static TEST_UNUSED void ledger_lock(ledger *l) {
#if !defined(_WIN32)
    pthread_mutex_lock(&l->lock);
#else
    (void)l;
#endif
}
static TEST_UNUSED void ledger_unlock(ledger *l) {
#if !defined(_WIN32)
    pthread_mutex_unlock(&l->lock);
#else
    (void)l;
#endif
}
static TEST_UNUSED void *ledger_alloc(void *user, size_t bytes, size_t align) {
    ledger *l = (ledger *)user;
    unsigned char *base, *p;
    ledger_tag tag;
    int refuse;
    ledger_lock(l);
    l->calls++;
    if (!bytes || !align || (align & (align - 1)) || align > 64) l->bad++;
    if (bytes > l->largest) l->largest = bytes;
    refuse = l->calls == l->fail_at || (l->from_then_on && l->fail_at && l->calls > l->fail_at);
    if (l->budget && (bytes > l->budget || l->bytes > l->budget - bytes)) refuse = 1;
    if (refuse) l->refused++;
    else { l->live++; l->bytes += bytes; }
    ledger_unlock(l);
    if (refuse) return NULL;
    base = (unsigned char *)malloc(bytes + sizeof tag + 64);
    if (!base) {
        ledger_lock(l);
        l->live--;
        l->bytes -= bytes;
        ledger_unlock(l);
        return NULL;
    }
    p = base + sizeof tag;
    p += (64 - ((uintptr_t)p & 63)) & 63;
    memset(p, 0xa5, bytes < 65536 ? bytes : 65536);
    tag.bytes = bytes; tag.base = base; tag.magic = LEDGER_MAGIC;
    memcpy(p - sizeof tag, &tag, sizeof tag);
    return p;
}
static TEST_UNUSED void ledger_free(void *user, void *p, size_t bytes) {
    ledger *l = (ledger *)user;
    ledger_tag tag;
    if (!p) { l->bad++; return; }
    memcpy(&tag, (unsigned char *)p - sizeof tag, sizeof tag);
    ledger_lock(l);
    if (tag.magic != LEDGER_MAGIC || tag.bytes != bytes) l->bad++;
    l->live--;
    l->bytes -= bytes;
    ledger_unlock(l);
    memset((unsigned char *)p - sizeof tag, 0, sizeof tag);
    free(tag.base);
}
static TEST_UNUSED llm_allocator ledger_hook(ledger *l) {
    llm_allocator a;
    a.user = l;
    a.alloc_fn = ledger_alloc;
    a.free_fn = ledger_free;
    return a;
}

// An error is one sentence on one line, with a code.
static TEST_UNUSED int one_sentence(const llm_error *e) {
    const char *t = e->text;
    size_t n = 0;
    if (e->code >= LLM_OK || !t[0] || t[0] == ' ') return 0;
    for (; *t; t++, n++) if (*t == '\n') return 0;
    return n > 8 && n < sizeof e->text && e->text[n - 1] != ' ';
}

//------------------------------------------------------------------------------------------------------------------------------
// GUARD. Room for `most` bytes between two pages that may not be touched.

typedef struct guard { unsigned char *base, *room; size_t page, most; } guard;

static TEST_UNUSED int guard_init(guard *g, size_t most) {
#if defined(_WIN32)
    g->page = 1;
    g->most = most;
    g->base = g->room = (unsigned char *)malloc(most + 1);
    return g->base != NULL;
#else
    g->page = (size_t)sysconf(_SC_PAGESIZE);
    g->most = (most / g->page + 1) * g->page;
    g->base = (unsigned char *)mmap(NULL, g->most + 2 * g->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->base == (unsigned char *)MAP_FAILED) { g->base = NULL; return 0; }
    g->room = g->base + g->page;
    return !mprotect(g->base, g->page, PROT_NONE) && !mprotect(g->room + g->most, g->page, PROT_NONE);
#endif
}
// n bytes that end at the guard page; the 256 before them hold a known byte, and guard_clean tells whether they still do.
static TEST_UNUSED void *guard_end(guard *g, size_t n) {
    unsigned char *p = g->room + (g->most - n);
    const size_t before = g->most - n < 256 ? g->most - n : 256;
    memset(p - before, 0x5a, before);
    return p;
}
static TEST_UNUSED int guard_clean(const guard *g, size_t n) {
    const unsigned char *p = g->room + (g->most - n);
    size_t i, before = g->most - n < 256 ? g->most - n : 256;
    for (i = 1; i <= before; i++) if (*(p - i) != 0x5a) return 0;
    return 1;
}
static TEST_UNUSED void guard_free(guard *g) {
#if defined(_WIN32)
    free(g->base);
#else
    if (g->base) munmap(g->base, g->most + 2 * g->page);
#endif
    g->base = NULL;
}

//------------------------------------------------------------------------------------------------------------------------------
// COUNT. Open files, threads, mappings and resident bytes of this process; 0 where there is no /proc.

#if !defined(_WIN32)
typedef struct holdings { unsigned files, threads, maps; unsigned long rss_kb; } holdings;

static TEST_UNUSED unsigned count_entries(const char *folder) {
    DIR *d = opendir(folder);
    unsigned n = 0;
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}
static TEST_UNUSED unsigned count_lines(const char *path, const char *needle) {
    FILE *f = fopen(path, "r");
    char line[1024];
    unsigned n = 0;
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) n += !needle || strstr(line, needle) != NULL;
    fclose(f);
    return n;
}
static TEST_UNUSED holdings count_holdings(void) {
    holdings h;
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    memset(&h, 0, sizeof h);
    while (f && fgets(line, sizeof line, f)) if (!strncmp(line, "VmRSS:", 6)) h.rss_kb = strtoul(line + 6, NULL, 10);
    if (f) fclose(f);
    h.files = count_entries("/proc/self/fd");
    h.threads = count_entries("/proc/self/task");
    h.maps = count_lines("/proc/self/maps", NULL);
    return h;
}
// A joined thread leaves /proc a moment after pthread_join returns.
static TEST_UNUSED unsigned settled_threads(unsigned expected) {
    unsigned n = 0, i;
    for (i = 0; i < 200; i++) {
        n = count_entries("/proc/self/task");
        if (n <= expected) break;
        usleep(5000);
    }
    return n;
}
#endif

#endif
