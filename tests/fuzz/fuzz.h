// fuzz.h - what the fuzz targets share: the library itself, a stream of choices, a heap and a reader that watch the library, and a main
// for compilers without libFuzzer.
//
//     #include "fuzz.h"
//     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { ... MUST(what_must_hold); ... return 0; }
//
// A target is a pure function of its input: one thread, no clock in a decision, no file left behind. So every input that once failed can
// be replayed, by libFuzzer's program or by this main: `gguf_replay FILE...`.
#ifndef FUZZ_H
#define FUZZ_H

#define LLM_IMPLEMENTATION
#include "llm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define FUZZ_UNUSED __attribute__((unused))
#else
#define FUZZ_UNUSED
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
size_t __sanitizer_get_allocated_size(const volatile void *p);
#endif
#endif
#ifndef FUZZ_ASAN
#define FUZZ_ASAN 0
#endif

#if defined(__cplusplus)
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond) ((cond) ? (void)0 : fuzz_failed(#cond, __FILE__, __LINE__))
static FUZZ_UNUSED void fuzz_failed(const char *text, const char *file, int line) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}

// ---- choices: the input, taken from its front. Past its end everything is 0, so that a cut input still means something.

typedef struct choices { const uint8_t *p; size_t n; } choices;

static FUZZ_UNUSED uint32_t choose_byte(choices *c) {
    if (!c->n) return 0;
    c->n--;
    return *c->p++;
}
static FUZZ_UNUSED uint32_t choose_u32(choices *c) {
    uint32_t v = 0;
    int i;
    for (i = 0; i < 32; i += 8) v |= choose_byte(c) << i;
    return v;
}
static FUZZ_UNUSED uint32_t choose_below(choices *c, uint32_t n) { return n <= 1 ? 0 : (n <= 256 ? choose_byte(c) : choose_u32(c)) % n; }
// Every bit pattern of a float can come, and the ones that programs write come often.
static FUZZ_UNUSED float choose_float(choices *c) {
    static const float usual[] = { 0.0f, 1.0f, -1.0f, 0.5f, 0.95f, 1e-6f, 1e30f, -0.0f, 2.0f, 0.05f };
    uint32_t kind = choose_byte(c), bits;
    float v;
    if (kind < 160) return usual[kind % (sizeof usual / sizeof *usual)];
    if (kind < 200) return (float)choose_byte(c) / 128.0f;
    bits = kind < 210 ? 0x7f800000u : kind < 220 ? 0xff800000u : kind < 226 ? 0x7fc00000u : choose_u32(c);
    memcpy(&v, &bits, 4);
    return v;
}
// A text of at most `most` bytes in memory of its own and with a NUL behind it, so that what is read past its end is seen.
static FUZZ_UNUSED char *choose_text(choices *c, uint32_t most, size_t *n) {
    size_t length = choose_below(c, most + 1);
    char *text;
    if (length > c->n) length = c->n;
    text = (char *)malloc(length + 1);
    if (!text) abort();
    memcpy(text, c->p, length);
    text[length] = 0;
    c->p += length;
    c->n -= length;
    if (n) *n = length;
    return text;
}

// ---- a heap that counts what is live, can refuse one request or all from it on, fills what it gives, and is told the truth by free_fn

typedef struct fuzz_heap { uint64_t n_live, live, most_live, calls, fail_at, fail_for; } fuzz_heap;        // fail_at: 0 = none

static FUZZ_UNUSED void *fuzz_alloc(void *user, size_t bytes, size_t align) {
    fuzz_heap *h = (fuzz_heap *)user;
    void *p;
    MUST(align && align <= 64 && (align & (align - 1)) == 0 && bytes);
    h->calls++;
    if (h->fail_at && h->calls >= h->fail_at && h->calls - h->fail_at < h->fail_for) return NULL;
    h->live += bytes;
    if (h->live > h->most_live) h->most_live = h->live;
    if (h->live > (uint64_t)1 << 30) { h->live -= bytes; return NULL; }      // more than any input here may need; most_live tells
#if defined(_WIN32)
    p = malloc(bytes);
#else
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, bytes)) p = NULL;
#endif
    if (!p) abort();
    memset(p, 0xa5, bytes < 1 << 16 ? bytes : 1 << 16);               // what was not written must not matter
    h->n_live++;
    return p;
}
static FUZZ_UNUSED void fuzz_free(void *user, void *p, size_t bytes) {
    fuzz_heap *h = (fuzz_heap *)user;
    MUST(p && h->n_live && h->live >= bytes);
#if FUZZ_ASAN
    MUST(__sanitizer_get_allocated_size(p) == bytes);
#endif
    h->n_live--;
    h->live -= bytes;
    free(p);
}
static FUZZ_UNUSED llm_allocator fuzz_allocator(fuzz_heap *h) {
    llm_allocator a;
    memset(h, 0, sizeof *h);
    a.user = h;
    a.alloc_fn = fuzz_alloc;
    a.free_fn = fuzz_free;
    return a;
}

// ---- a reader that can be slow and can fail

typedef struct fuzz_file { const uint8_t *bytes; size_t n, most; uint64_t calls, fail_at; } fuzz_file;      // most: bytes per call, 0 = all

static FUZZ_UNUSED size_t fuzz_read(void *user, uint64_t offset, void *dst, size_t n) {
    fuzz_file *f = (fuzz_file *)user;
    MUST(n && dst && offset <= f->n && n <= f->n - offset);           // the library knows the size: it must not ask beyond
    if (++f->calls == f->fail_at) return 0;
    if (f->most && n > f->most) n = f->most;
    memcpy(dst, f->bytes + offset, n);
    return n;
}
static FUZZ_UNUSED llm_reader fuzz_reader(fuzz_file *f, const uint8_t *bytes, size_t n) {
    llm_reader r;
    memset(f, 0, sizeof *f);
    f->bytes = bytes;
    f->n = n;
    r.user = f;
    r.size = n;
    r.read_at = fuzz_read;
    return r;
}

// ---- what must hold of every answer

// The code and the sentence agree, and the sentence is one that can be shown.
static FUZZ_UNUSED void must_be_error(const llm_error *e, int failed) {
    size_t n = 0, i;
    while (n < sizeof e->text && e->text[n]) n++;
    MUST(n < sizeof e->text);
    MUST(failed ? e->code < 0 && n : e->code >= 0 && !n);
    for (i = 0; i < n; i++) MUST((unsigned char)e->text[i] >= ' ');
    MUST(llm__utf8_clean(e->text, n, NULL, 0) == n);
}
// Same bits, and a NaN is a NaN.
static FUZZ_UNUSED void must_be_same_floats(const float *a, const float *b, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) MUST(memcmp(&a[i], &b[i], 4) == 0 || (a[i] != a[i] && b[i] != b[i]));
}

// ---- a main that replays files, for builds without libFuzzer

#if defined(FUZZ_REPLAY)
int main(int argc, char **argv) {
    int i, n_run = 0;
    for (i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        size_t n = 0, cap = 1 << 20, got;
        uint8_t *bytes = (uint8_t *)malloc(cap), *exact;
        if (!f || !bytes) { fprintf(stderr, "cannot read %s\n", argv[i]); return 2; }
        while ((got = fread(bytes + n, 1, cap - n, f)) > 0)
            if ((n += got) == cap) bytes = (uint8_t *)realloc(bytes, cap *= 2);
        fclose(f);
        exact = (uint8_t *)malloc(n ? n : 1);
        if (!exact) return 2;
        memcpy(exact, bytes, n);                                      // of its own size: what is read past its end is seen
        free(bytes);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        n_run++;
    }
    printf("%d inputs\n", n_run);
    return n_run ? 0 : 2;
}
#endif

#endif
