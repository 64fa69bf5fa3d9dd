// refusing_heap.h - a heap that counts what is live, fills what it gives out, and can refuse one request. After llm.h's implementation.
#ifndef REFUSING_HEAP_H
#define REFUSING_HEAP_H

typedef struct memory { long live, calls, fail_at; } memory;      // fail_at: this call fails (0 = none)

static void *memory_alloc(void *user, size_t bytes, size_t align) {
    memory *m = (memory *)user;
    void *p;
    (void)align;
    if (++m->calls == m->fail_at) return NULL;
    p = malloc(bytes + 128);
    if (p) { m->live++; memset(p, 'z', bytes + 128); }              // what was not written must not matter
    return p;
}
static void memory_free(void *user, void *p, size_t bytes) {
    (void)bytes;
    ((memory *)user)->live--;
    free(p);
}
static llm__heap heap_of(memory *m) {
    llm__heap h;
    memset(&h, 0, sizeof h);
    memset(m, 0, sizeof *m);
    h.a.user = m;
    h.a.alloc_fn = memory_alloc;
    h.a.free_fn = memory_free;
    return h;
}

#endif
