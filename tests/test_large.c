// test_large.c - files beyond 4 GB, in 64-bit and 32-bit builds alike (FR-093): a small model whose weights, all or the last alone, stand
// behind a hole of 4.5 GB answers as it does without the hole, mapped and read; nothing of the hole takes room on the disk.
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#include "golden.h"
#include "far_map.h"

#if defined(__GLIBC__)
static FILE *create(const char *path) { return fopen64(path, "wb"); }
static int seek(FILE *f, uint64_t to) { return fseeko64(f, (__off64_t)to, SEEK_SET); }
#define SPARSE 1
#elif defined(_WIN32)
#define SPARSE 0                          // the file system must be told, or writes 4.5 GB of zeros
#else
static FILE *create(const char *path) { return fopen(path, "wb"); }
static int seek(FILE *f, uint64_t to) { return fseeko(f, (off_t)to, SEEK_SET); }
#define SPARSE 1
#endif

#if SPARSE
#define HOLE ((uint64_t)4500 << 20)
enum { N_TOK = 24 };
static const golden_shape shape = { 64, 96, 2, 4, 2, 64, 128 };

static float *evaluate(llm_model *m, llm_error *e) {
    llm_ctx *c = llm_open(m, NULL, e);
    float *logits = c ? (float *)malloc(N_TOK * shape.n_vocab * sizeof(float)) : NULL;
    llm_token tokens[N_TOK];
    int i;
    for (i = 0; i < N_TOK; i++) tokens[i] = i * 7 % (int)shape.n_vocab;
    if (logits && llm_eval_all(c, tokens, N_TOK, logits) != LLM_OK) { *e = *llm_last_error(c); free(logits); logits = NULL; }
    llm_close(c);
    llm_unload(m);
    return logits;
}

// Where the numbers are that say where the tensors stand; returns how many.
static size_t places(const golden_file *f, size_t *at, size_t cap) {
    llm__gguf g;
    llm__gguf_options o;
    llm__heap heap;
    llm_error e;
    size_t n;
    memset(&o, 0, sizeof o);
    memset(&heap, 0, sizeof heap);
    o.heap = &heap;
    if (!CHECK(llm__gguf_open_memory(&g, f->p, f->n, &o, &e) == LLM_OK)) return 0;
    for (n = 0; n < g.n_tensors && n < cap; n++) {              // the name, the number of dimensions, the dimensions, the type, the place
        const unsigned char *p = (const unsigned char *)g.tensors[n].name.p + g.tensors[n].name.n;
        at[n] = (size_t)(p - f->p) + 4 + 8 * (size_t)llm__le32(p) + 4;
    }
    llm__gguf_close(&g);
    return n;
}
static void put64(unsigned char *p, uint64_t v) { int i; for (i = 0; i < 8; i++) p[i] = (unsigned char)(v >> 8 * i); }

// The model with every tensor from the first-th on moved back by HOLE.
static int write_moved(const golden_file *f, const char *path, size_t first) {
    size_t at[GOLDEN_MAX_TENSORS], n = places(f, at, GOLDEN_MAX_TENSORS), i, data, cut;
    unsigned char *copy = (unsigned char *)malloc(f->n);
    FILE *out = create(path);
    int ok = copy && out && n > first;
    if (!ok) { free(copy); if (out) fclose(out); return 0; }
    memcpy(copy, f->p, f->n);
    data = (at[n - 1] + 8 + 31) & ~(size_t)31;                  // the last place ends the directory
    cut = data + (size_t)llm__le64(f->p + at[first]);
    for (i = first; i < n; i++) put64(copy + at[i], llm__le64(f->p + at[i]) + HOLE);
    ok = fwrite(copy, 1, cut, out) == cut && !seek(out, cut + HOLE) && fwrite(copy + cut, 1, f->n - cut, out) == f->n - cut;
    ok = fclose(out) == 0 && ok;
    free(copy);
    return ok;
}

static void same_answer(const char *path, llm_mapping mapping, const float *want, const char *what) {
    llm_model_desc d;
    llm_model *m;
    llm_error e;
    float *got;
    SECTION(what);
    memset(&d, 0, sizeof d);
    d.mapping = mapping;
    m = llm_load(path, &d, &e);
    got = evaluate(m, &e);
    if (!CHECK(got != NULL)) { printf("  %s\n", e.text); return; }
    CHECK(memcmp(got, want, N_TOK * shape.n_vocab * sizeof(float)) == 0);
    free(got);
}

// The same from memory, 2.3 GB of it: more than a difference of pointers can tell in 32 bits. A page that is never touched takes none.
static void test_memory(const golden_file *f, const float *want) {
#if defined(__GLIBC__)
    const size_t hole = (size_t)2300 << 20;
    size_t at[GOLDEN_MAX_TENSORS], n = places(f, at, GOLDEN_MAX_TENSORS), i, data;
    unsigned char *map;
    llm_error e;
    float *got;
    SECTION("2.3 GB of memory");
    if (!CHECK(n > 0)) return;
    map = (unsigned char *)mmap(NULL, hole + f->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) { test_lacks("2.3 GB of address space in one piece"); return; }
    data = (at[n - 1] + 8 + 31) & ~(size_t)31;
    memcpy(map, f->p, data);
    for (i = 0; i < n; i++) put64(map + at[i], llm__le64(f->p + at[i]) + hole);
    memcpy(map + data + hole, f->p + data, f->n - data);
    got = evaluate(llm_load_memory(map, hole + f->n, NULL, &e), &e);
    if (!CHECK(got != NULL)) printf("  %s\n", e.text);
    else CHECK(memcmp(got, want, N_TOK * shape.n_vocab * sizeof(float)) == 0);
    free(got);
    munmap(map, hole + f->n);
#else
    (void)f; (void)want;
#endif
}

static void test_holes(void) {
    const golden_type *types[2];
    const char *path = test_scratch("test_large.gguf");
    golden_file f;
    llm_error e;
    float *want;
    types[0] = &golden_types[7];
    types[1] = &golden_types[3];
    f = golden_llama(&shape, types, 2, 20260301u);
    want = evaluate(llm_load_memory(f.p, f.n, NULL, &e), &e);
    if (!CHECK(want != NULL)) { printf("  %s\n", e.text); return; }
    if (!write_moved(&f, path, 0)) {
        test_lacks("room for a sparse file of 4.5 GB");
    } else {
        const int honest = far_map_is_honest(path, HOLE, f.n);
        if (!honest) test_lacks(FAR_MAP_LACKS);
        if (honest) same_answer(path, LLM_MAP, want, "all weights beyond 4 GB, mapped");
        same_answer(path, LLM_READ, want, "all weights beyond 4 GB, read");
        if (honest && CHECK(write_moved(&f, path, 20))) same_answer(path, LLM_MAP, want, "the last tensor beyond 4 GB, mapped");
    }
    if (sizeof(size_t) == 4) printf("32 bits: the tensors were mapped one by one\n");
    test_memory(&f, want);
    remove(path);
    free(want);
    free(f.p);
}
#endif

int main(void) {
#if SPARSE
    test_holes();
#else
    test_lacks("sparse files");
#endif
    return test_done();
}
