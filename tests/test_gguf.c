// test_gguf.c - files: sound ones by every route, and broken ones that must be refused with a reason. The field reports that a case
// comes from are named FR-n.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What the operating system says can be replaced: mapping fails above a limit, a file system calls itself FUSE.
#if defined(__linux__) && defined(__GLIBC__)
#define SHIM 1
#include <errno.h>
#include <sys/mman.h>
#include <sys/vfs.h>
static size_t shim_map_limit = SIZE_MAX, shim_map_total = SIZE_MAX;
static int shim_map_error = ENOMEM, shim_fuse = 0, shim_maps = 0;
static uint64_t shim_us = 0;                                             // a clock by which a mapping takes 7 ms and nothing else any time
static void *shim_mmap(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset) {
    if (bytes > shim_map_limit || bytes > shim_map_total) { errno = shim_map_error; return MAP_FAILED; }
    if (shim_map_total != SIZE_MAX) shim_map_total -= bytes;
    shim_maps++;
    shim_us += 7000;
    return mmap64(at, bytes, prot, flags, fd, offset);
}
static int shim_munmap(void *at, size_t bytes) { shim_maps--; return munmap(at, bytes); }
static int shim_fstatfs(int fd, struct statfs *s) {
    int r = fstatfs(fd, s);
    if (shim_fuse) s->f_type = 0x65735546;
    return r;
}
#define mmap64 shim_mmap
#define munmap shim_munmap
#define fstatfs shim_fstatfs
#else
#define SHIM 0
#endif

#define LLM_IMPLEMENTATION
#include "llm.h"
#include "test.h"
#if SHIM
#include "far_map.h"
#endif
#include "gguf_writer.h"

#if defined(LLM_NO_MMAP)
#define CAN_MAP 0
#else
#define CAN_MAP 1
#endif

// ---- a heap that counts, refuses the k-th request, and has a budget

typedef struct counter { long live, requests, fail_at; uint64_t largest, total, budget; } counter;

static void *counter_alloc(void *user, size_t bytes, size_t align) {
    counter *c = (counter *)user;
    (void)align;
    c->requests++;
    c->total += bytes;
    if (bytes > c->largest) c->largest = bytes;
    if (c->requests == c->fail_at || (c->budget && c->total > c->budget)) return NULL;
    c->live++;
    return malloc(bytes);
}
static void counter_free(void *user, void *p, size_t bytes) {
    ((counter *)user)->live--;
    (void)bytes;
    free(p);
}
static llm__heap counted(counter *c) {
    llm__heap h;
    memset(&h, 0, sizeof h);
    memset(c, 0, sizeof *c);
    h.a.user = c;
    h.a.alloc_fn = counter_alloc;
    h.a.free_fn = counter_free;
    return h;
}

// ---- a reader with habits

typedef struct habit { const unsigned char *bytes; size_t n, most; uint64_t fail_from; int lie; } habit;

static size_t habit_read(void *user, uint64_t offset, void *dst, size_t n) {
    const habit *h = (const habit *)user;
    if (offset >= h->n || offset >= h->fail_from) return 0;
    if (n > h->n - offset) n = (size_t)(h->n - offset);
    if (h->most && n > h->most) n = h->most;
    if (n > h->fail_from - offset) n = (size_t)(h->fail_from - offset);
    memcpy(dst, h->bytes + offset, n);
    return h->lie ? n + 1 : n;
}
static llm_reader reader_of(habit *h, const unsigned char *bytes, size_t n) {
    llm_reader r;
    memset(h, 0, sizeof *h);
    h->bytes = bytes;
    h->n = n;
    h->fail_from = UINT64_MAX;
    r.user = h;
    r.size = n;
    r.read_at = habit_read;
    return r;
}

// ---- routes

enum { BY_MEMORY, BY_ODD_MEMORY, BY_READER, BY_BYTES, BY_MAP, BY_READ, ROUTES };
static const char *const route_names[ROUTES] = { "memory", "odd memory", "reader", "byte reader", "map", "read" };

typedef struct opened { llm__gguf g; llm_error e; llm_result r; habit habit; unsigned char *odd; } opened;

static void open_by(opened *o, int route, const unsigned char *bytes, size_t n, llm__gguf_options *opts) {
    const char *path = test_scratch("test_gguf.gguf");
    llm_reader r;
    o->odd = NULL;
    opts->mapping = route == BY_MAP && CAN_MAP ? LLM_MAP : route == BY_READ ? LLM_READ : LLM_MAP_AUTO;
    switch (route) {
    case BY_MEMORY: o->r = llm__gguf_open_memory(&o->g, bytes, n, opts, &o->e); break;
    case BY_ODD_MEMORY:
        o->odd = (unsigned char *)malloc(n + 1);
        if (!o->odd) abort();
        memcpy(o->odd + 1, bytes, n);
        o->r = llm__gguf_open_memory(&o->g, o->odd + 1, n, opts, &o->e);
        break;
    case BY_READER: case BY_BYTES:
        r = reader_of(&o->habit, bytes, n);
        if (route == BY_BYTES) o->habit.most = 1;
        o->r = llm__gguf_open_reader(&o->g, &r, opts, &o->e);
        break;
    default:
        CHECK(test_write(path, bytes, n));
        o->r = llm__gguf_open_path(&o->g, path, opts, &o->e);
    }
}
static void close_by(opened *o) {
    llm__gguf_close(&o->g);
    free(o->odd);
}

// ---- models to open

static const uint64_t dims_a[2] = { 64, 3 }, dims_b[1] = { 40 }, dims_c[3] = { 32, 2, 2 };
static unsigned char pattern[4096];

static void small_begin(gguf_writer *w) {
    static const char *const tokens[4] = { "<unk>", "a", "", "caf\xc3\xa9" };
    static const float scores[3] = { 0.5f, -1.25f, 3e-7f };
    static const int32_t heads[3] = { 4, 0, 2 };
    size_t i;
    for (i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(i * 7 + i / 256);
    gw_begin(w);
    gw_text(w, "general.architecture", "llama");
    gw_u32(w, "llama.block_count", 2);
    gw_scalar(w, "k.u8", GW_U8, 200, 1);
    gw_scalar(w, "k.i8", GW_I8, (uint64_t)-5, 1);
    gw_scalar(w, "k.u16", GW_U16, 60000, 2);
    gw_scalar(w, "k.i16", GW_I16, (uint64_t)-300, 2);
    gw_scalar(w, "k.i32", GW_I32, 70000, 4);
    gw_scalar(w, "k.u64", GW_U64, 5000000000u, 8);
    gw_scalar(w, "k.i64", GW_I64, (uint64_t)-1, 8);
    gw_scalar(w, "k.max", GW_U64, UINT64_MAX, 8);
    gw_f32(w, "k.f32", 1e-5f);
    gw_f64(w, "k.f64", 10000.0);
    gw_bool(w, "k.yes", 1);
    gw_texts(w, "k.tokens", tokens, 4);
    gw_f32s(w, "k.scores", scores, 3);
    gw_i32s(w, "k.heads", heads, 3);
    gw_text_n(w, "k.nul", "a\0b\n", 4);
}
static unsigned char *small_model(size_t *n, gguf_writer *w) {
    small_begin(w);
    gw_tensor(w, "a.weight", 0, 2, dims_a, pattern, 64 * 3 * 4);
    gw_tensor(w, "b.bias", 0, 1, dims_b, pattern + 100, 40 * 4);
    gw_tensor(w, "c.weight", 8, 3, dims_c, pattern + 300, 34 * 4);
    return gw_end(w, n);
}

static void options(llm__gguf_options *o, const llm__heap *h) {
    memset(o, 0, sizeof *o);
    o->heap = h;
}

// ---- checks that several cases share

// Everything that a sound file offers is touched: under the sanitizers a pointer that is off by one shows.
static uint64_t touch_all(const llm__gguf *g) {
    uint64_t sum = 0, i, k;
    char text[64], key[64];
    for (i = 0; i < g->n_tensors; i++)
        for (k = 0; k < g->tensors[i].n_bytes; k++) sum = sum * 31 + g->tensors[i].data[k];
    for (i = 0; i < g->n_kv; i++) {
        llm__format(key, sizeof key, "%v", &g->kv[i].key);
        for (k = 0; k < g->kv[i].n_bytes; k++) sum = sum * 31 + g->kv[i].value[k];
        sum += llm__gguf_meta_text(g, key, text, sizeof text);
    }
    return sum;
}

// Broken bytes: the code, and what the sentence must hold; by memory and by reader; nothing left over, nothing large asked for.
static void expect_from(const unsigned char *bytes, size_t n, llm_result code, const char *one, const char *two, int line) {
    int route, ok = 1;
    for (route = 0; route < ROUTES; route++) {
        counter c;
        llm__heap h = counted(&c);
        llm__gguf_options opts;
        opened o;
        if (route == BY_BYTES || route == BY_ODD_MEMORY) continue;
        options(&opts, &h);
        open_by(&o, route, bytes, n, &opts);
        ok = o.r == code && (code == LLM_OK || (strstr(o.e.text, one) && (!two || strstr(o.e.text, two))));
        if (!ok) printf("line %d, %s: %d '%s'\n", line, route_names[route], (int)o.r, o.e.text);
        CHECK(ok);
        CHECK(o.r == LLM_OK || c.live == 0);
        CHECK(c.largest <= n + 4096);
        CHECK(o.e.code == o.r);
        close_by(&o);
        CHECK(c.live == 0);
    }
}
#define EXPECT(code, one, two) expect_from(bytes, n, code, one, two, __LINE__)

// ---- sound files

static void test_getters(const llm__gguf *g) {
    llm_error e;
    uint32_t u = 77;
    float f = 9;
    bool b = false;
    llm__str s = llm__str_of("none");
    const uint8_t *at;
    uint64_t n;
    char text[200];
    CHECK(llm__gguf_u32(g, "absent", &u, &e) == LLM_OK && u == 77);
    CHECK(llm__gguf_f32(g, "absent", &f, &e) == LLM_OK && f == 9);
    CHECK(llm__gguf_str(g, "absent", &s, &e) == LLM_OK && llm__str_is(s, "none"));
    CHECK(llm__gguf_u32(g, "llama.block_count", &u, &e) == LLM_OK && u == 2);
    CHECK(llm__gguf_u32(g, "k.u8", &u, &e) == LLM_OK && u == 200);
    CHECK(llm__gguf_u32(g, "k.u16", &u, &e) == LLM_OK && u == 60000);
    CHECK(llm__gguf_u32(g, "k.i32", &u, &e) == LLM_OK && u == 70000);
    CHECK(llm__gguf_u32(g, "k.u64", &u, &e) == LLM_BAD_FILE && strstr(e.text, "k.u64") && strstr(e.text, "5000000000") && u == 70000);
    CHECK(llm__gguf_u32(g, "k.max", &u, &e) == LLM_BAD_FILE);
    CHECK(llm__gguf_u32(g, "k.i8", &u, &e) == LLM_BAD_FILE && strstr(e.text, "negative"));
    CHECK(llm__gguf_u32(g, "k.i64", &u, &e) == LLM_BAD_FILE && strstr(e.text, "negative"));
    CHECK(llm__gguf_u32(g, "k.yes", &u, &e) == LLM_BAD_FILE && strstr(e.text, "BOOL"));
    CHECK(llm__gguf_u32(g, "k.heads", &u, &e) == LLM_BAD_FILE && strstr(e.text, "ARRAY of INT32"));
    CHECK(llm__gguf_f32(g, "k.f32", &f, &e) == LLM_OK && f == (float)1e-5f);      // the cast: s390x keeps constants as doubles
    CHECK(llm__gguf_f32(g, "k.f64", &f, &e) == LLM_OK && f == 10000.0f);
    CHECK(llm__gguf_f32(g, "k.u8", &f, &e) == LLM_BAD_FILE && strstr(e.text, "FLOAT32") && strstr(e.text, "UINT8"));
    CHECK(llm__gguf_bool(g, "k.yes", &b, &e) == LLM_OK && b);
    CHECK(llm__gguf_bool(g, "k.u8", &b, &e) == LLM_BAD_FILE);
    CHECK(llm__gguf_str(g, "general.architecture", &s, &e) == LLM_OK && llm__str_is(s, "llama"));
    CHECK(llm__gguf_str(g, "k.tokens", &s, &e) == LLM_BAD_FILE && strstr(e.text, "ARRAY of STRING"));
    CHECK(llm__gguf_array(g, "k.tokens", GW_STRING, &n, &at, &e) == LLM_OK && n == 4);
    CHECK(llm__str_is(llm__gguf_str_next(&at), "<unk>") && llm__str_is(llm__gguf_str_next(&at), "a"));
    CHECK(llm__str_is(llm__gguf_str_next(&at), "") && llm__str_is(llm__gguf_str_next(&at), "caf\xc3\xa9"));
    CHECK(llm__gguf_array(g, "absent", GW_STRING, &n, &at, &e) == LLM_OK && n == 0 && !at);
    CHECK(llm__gguf_u32_at(g, "k.heads", 0, 3, &u, &e) == LLM_OK && u == 4);
    CHECK(llm__gguf_u32_at(g, "k.heads", 1, 3, &u, &e) == LLM_OK && u == 0);
    CHECK(llm__gguf_u32_at(g, "k.heads", 2, 3, &u, &e) == LLM_OK && u == 2);
    CHECK(llm__gguf_u32_at(g, "k.heads", 0, 4, &u, &e) == LLM_BAD_FILE && strstr(e.text, "4") && strstr(e.text, "3"));
    CHECK(llm__gguf_u32_at(g, "llama.block_count", 1, 4, &u, &e) == LLM_OK && u == 2);
    CHECK(llm__gguf_u32_at(g, "k.yes", 1, 4, &u, &e) == LLM_OK && u == 1);
    CHECK(llm__gguf_meta_text(g, "absent", text, sizeof text) == LLM_FAILED);
    llm__gguf_meta_text(g, "k.tokens", text, sizeof text);
    CHECK_TEXT(text, "[<unk>, a, , caf\xc3\xa9]");
    llm__gguf_meta_text(g, "k.scores", text, sizeof text);
    CHECK_TEXT(text, "[0.5, -1.25, 3e-7]");
    CHECK_EQ(llm__gguf_meta_text(g, "k.nul", text, sizeof text), 5);
    CHECK_TEXT(text, "a\\0b\n");
    CHECK_EQ(llm__gguf_meta_text(g, "general.architecture", text, 3), 5);
    CHECK_TEXT(text, "ll");
    CHECK_EQ(llm__gguf_meta_text(g, "general.architecture", NULL, 0), 5);
    llm__gguf_meta_text(g, "k.i64", text, sizeof text); CHECK_TEXT(text, "-1");
    llm__gguf_meta_text(g, "k.max", text, sizeof text); CHECK_TEXT(text, "18446744073709551615");
    llm__gguf_meta_text(g, "k.i16", text, sizeof text); CHECK_TEXT(text, "-300");
    llm__gguf_meta_text(g, "k.yes", text, sizeof text); CHECK_TEXT(text, "true");
    llm__gguf_meta_text(g, "k.f64", text, sizeof text); CHECK_TEXT(text, "10000");
    llm__gguf_meta_text(g, "k.f32", text, sizeof text); CHECK_TEXT(text, "0.00001");
}

static void test_tensors(const llm__gguf *g) {
    const llm__gguf_tensor *a = llm__gguf_tensor_find(g, llm__str_of("a.weight")), *c = llm__gguf_tensor_find(g, llm__str_of("c.weight"));
    CHECK(g->n_tensors == 3 && g->n_kv == 17 && g->version == 3);
    CHECK(!llm__gguf_tensor_find(g, llm__str_of("a")) && !llm__gguf_tensor_find(g, llm__str_of("zzz")));
    if (!CHECK(a && c)) return;
    CHECK(a->type == LLM__F32 && a->n_dims == 2 && a->dims[0] == 64 && a->dims[1] == 3 && a->dims[2] == 1 && a->dims[3] == 1);
    CHECK(a->n_weights == 192 && a->n_bytes == 768 && memcmp(a->data, pattern, 768) == 0);
    CHECK(c->type == LLM__Q8_0 && c->n_weights == 128 && c->n_bytes == 136 && memcmp(c->data, pattern + 300, 136) == 0);
    CHECK(g->weight_bytes == 768 + 160 + 136);
}

static void test_routes(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = small_model(&n, &w);
    uint64_t first = 0;
    int route;
    SECTION("every route gives the same (FR-014, FR-015)");
    for (route = 0; route < ROUTES; route++) {
        counter c;
        llm__heap h = counted(&c);
        llm__gguf_options opts;
        opened o;
        options(&opts, &h);
        open_by(&o, route, bytes, n, &opts);
        CHECK_TEXT(o.e.text, "");
        if (!CHECK(o.r == LLM_OK)) { printf("route %s\n", route_names[route]); continue; }
        CHECK(o.g.file_bytes == n);
        test_getters(&o.g);
        test_tensors(&o.g);
        if (!route) first = touch_all(&o.g);
        CHECK(touch_all(&o.g) == first);
        CHECK(o.g.mapping == (route == BY_MEMORY || route == BY_ODD_MEMORY || (route == BY_MAP && CAN_MAP) ? LLM_MAP : LLM_READ));
        if (route == BY_MEMORY)                                          // FR-030: nothing is copied
            CHECK(o.g.tensors[0].data == bytes + w.data_at && c.largest < 4096);
        if ((route == BY_MAP && CAN_MAP) || route == BY_MEMORY) CHECK(c.total < 8192);
        close_by(&o);
        CHECK(c.live == 0);
        llm__gguf_close(&o.g);                                           // closed twice, and never opened
    }
    free(bytes);
    SECTION("version 2");
    small_begin(&w);
    w.version = 2;
    gw_tensor(&w, "a.weight", 0, 2, dims_a, pattern, 64 * 3 * 4);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_OK, "", NULL);
    free(bytes);
    SECTION("no tensors, no keys; alignment 4096");
    gw_begin(&w);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_OK, "", NULL);
    free(bytes);
    gw_begin(&w);
    w.alignment = 4096;
    gw_u32(&w, "general.alignment", 4096);
    gw_tensor(&w, "a", 0, 1, dims_b, pattern, 160);
    gw_tensor(&w, "b", 0, 1, dims_b, pattern, 160);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_OK, "", NULL);
    free(bytes);
}

static void test_numbers_as_text(void) {
    static const struct { float v; const char *text; } cases[] = {
        { 0.0f, "0" }, { 1.0f, "1" }, { -1.0f, "-1" }, { 0.1f, "0.1" }, { 1000000.0f, "1000000" }, { 1e-6f, "1e-6" }, { 1e20f, "1e+20" },
        { 3.14159274f, "3.1415927" }, { 16777216.0f, "16777216" }, { 4194304.5f, "4194304.5" }, { 3.40282347e38f, "3.4028235e+38" },
        { 1.40129846e-45f, "1e-45" }, { 0.3f, "0.3" }, { 123456.789f, "123456.79" }, { 500000.0f, "500000" }, { 9.99999975e-6f, "0.00001" },
        { 0.088388346f, "0.088388346" }, { 2.5f, "2.5" }, { 99999.99f, "99999.99" }
    };
    static const struct { uint64_t bits; const char *text; } odd[] = {
        { 0x7ff8000000000000u, "nan" }, { 0xfff0000000000001u, "nan" }, { 0x7ff0000000000000u, "inf" }, { 0xfff0000000000000u, "-inf" },
        { 0x7fefffffffffffffu, "1.79769313486232e+308" }, { 0x8000000000000000u, "0" }
    };
    size_t i;
    uint32_t k, seed = 1, wrong = 0;
    SECTION("floats as text");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[40];
        llm__text t;
        t.p = buf; t.n = 0; t.cap = sizeof buf;
        llm__gguf_text_float(&t, (double)cases[i].v, true);
        llm__text_end(&t);
        CHECK_TEXT(buf, cases[i].text);
    }
    for (i = 0; i < sizeof odd / sizeof *odd; i++) {
        char buf[40];
        llm__text t;
        t.p = buf; t.n = 0; t.cap = sizeof buf;
        llm__gguf_text_float(&t, llm__bits_f64(odd[i].bits), false);
        llm__text_end(&t);
        CHECK_TEXT(buf, odd[i].text);
    }
    for (k = 0; k < 200000; k++) {                                       // strtof of the host is the reference
        char buf[40];
        llm__text t;
        float v, back;
        seed = seed * 1664525u + 1013904223u;
        v = llm__bits_f32(seed);
        if (!llm__f32_is_finite(v)) continue;
        t.p = buf; t.n = 0; t.cap = sizeof buf;
        llm__gguf_text_float(&t, (double)v, true);
        llm__text_end(&t);
        back = (float)strtod(buf, NULL);
        wrong += back != v || t.n > 20;
    }
    CHECK_EQ(wrong, 0);
}

// ---- broken files

static void test_sizes(void) {
    static const uint64_t wrap4m[3] = { 1024, 1024, ((uint64_t)1 << 42) + 1 }, wrap0[2] = { (uint64_t)1 << 32, (uint64_t)1 << 32 };
    static const uint64_t half[1] = { (uint64_t)1 << 61 }, wide[1] = { (uint64_t)1 << 63 }, five[5] = { 1, 1, 1, 1, 1 }, odd[1] = { 40 };
    gguf_writer w;
    unsigned char *bytes;
    size_t n;
    SECTION("FR-001 sizes that wrap");
    small_begin(&w); gw_tensor(&w, "big", 0, 3, wrap4m, pattern, 4096); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'big'", "counted"); free(bytes);
    small_begin(&w); gw_tensor(&w, "big", 0, 2, wrap0, pattern, 4096); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'big'", "counted"); free(bytes);
    small_begin(&w); gw_tensor(&w, "one", 0, 1, half, pattern, 64); gw_tensor(&w, "two", 0, 1, half, pattern, 64);
    bytes = gw_end(&w, &n);
    gw_patch(bytes, gw_value(bytes, n, "two") + 16, (uint64_t)1 << 63, 8);
    EXPECT(LLM_BAD_FILE, "'two'", "offset"); free(bytes);
    small_begin(&w); gw_tensor(&w, "wide", 0, 1, wide, pattern, 64); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'wide'", "its size is more than can be counted"); free(bytes);
    gw_begin(&w); gw_scalar(&w, "general.alignment", GW_U64, UINT64_MAX - 5, 8); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "general.alignment", "value 18446744073709551610 is out of range"); free(bytes);
    SECTION("FR-005 dimensions and types");
    small_begin(&w); gw_tensor(&w, "five", 0, 5, five, pattern, 64); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'five'", "5 dimensions"); free(bytes);
    small_begin(&w); gw_tensor(&w, "t", 999, 1, odd, pattern, 160); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'t'", "999"); free(bytes);
    small_begin(&w); gw_tensor(&w, "t", 26, 1, half, pattern, 160); bytes = gw_end(&w, &n);
    EXPECT(LLM_UNSUPPORTED, "'t'", "stored type 26 (I32) is not supported"); free(bytes);
    small_begin(&w); gw_tensor(&w, "t", 31, 1, half, pattern, 160); bytes = gw_end(&w, &n);
    EXPECT(LLM_UNSUPPORTED, "'t'", "Q4_0_4_4"); free(bytes);
    small_begin(&w); gw_tensor(&w, "t", 8, 1, odd, pattern, 160); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'t'", "whole blocks of Q8_0"); free(bytes);
    bytes = small_model(&n, &w);
    gw_patch(bytes, gw_value(bytes, n, "a.weight") + 4, 0, 8);
    EXPECT(LLM_BAD_FILE, "'a.weight'", "0"); free(bytes);
    SECTION("FR-006 alignment");
    gw_begin(&w); gw_u32(&w, "general.alignment", 0); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "general.alignment", "power of two"); free(bytes);
    gw_begin(&w); gw_u32(&w, "general.alignment", 3); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "general.alignment", "3"); free(bytes);
    gw_begin(&w); gw_text(&w, "general.alignment", "32"); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "general.alignment", "STRING"); free(bytes);
    gw_begin(&w); gw_u32(&w, "general.alignment", 0x80000000u); gw_tensor(&w, "t", 0, 1, odd, pattern, 160); bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'t'", "missing"); free(bytes);
}

static void test_counts(void) {
    static const uint64_t counts[] = { UINT64_MAX / 96 - 1, (uint64_t)1 << 63, (uint64_t)1 << 32, 1000, 4, UINT64_MAX };
    static const uint64_t lengths[] = { (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 40, 100000 };
    gguf_writer w;
    size_t n, i, at;
    unsigned char *bytes;
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        SECTION("FR-002 tensor count");
        bytes = small_model(&n, &w);
        gw_patch(bytes, 8, counts[i], 8);
        EXPECT(LLM_BAD_FILE, "tensor", NULL);
        free(bytes);
        SECTION("FR-003 key count");
        bytes = small_model(&n, &w);
        gw_patch(bytes, 16, counts[i] == 4 ? 18 : counts[i], 8);
        EXPECT(LLM_BAD_FILE, counts[i] == 4 ? "left" : "key", NULL);
        free(bytes);
    }
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        SECTION("FR-003 lengths of strings, arrays and names");
        bytes = small_model(&n, &w);
        at = gw_value(bytes, n, "general.architecture");
        gw_patch(bytes, at + 4, lengths[i], 8);
        EXPECT(LLM_BAD_FILE, "'general.architecture'", "left");
        gw_patch(bytes, at + 4, 5, 8);
        gw_patch(bytes, gw_value(bytes, n, "k.scores") + 8, lengths[i], 8);
        EXPECT(LLM_BAD_FILE, "'k.scores'", "left");
        gw_patch(bytes, gw_value(bytes, n, "k.scores") + 8, 3, 8);
        gw_patch(bytes, gw_value(bytes, n, "k.tokens") + 8, lengths[i], 8);
        EXPECT(LLM_BAD_FILE, "'k.tokens'", "left");
        gw_patch(bytes, gw_value(bytes, n, "k.tokens") + 8, 4, 8);
        gw_patch(bytes, gw_value(bytes, n, "k.tokens") + 16, lengths[i], 8);
        EXPECT(LLM_BAD_FILE, "'k.tokens'", "left");
        gw_patch(bytes, gw_value(bytes, n, "k.tokens") + 16, 5, 8);
        at = gw_value(bytes, n, "k.nul") - 5 - 8;
        gw_patch(bytes, at, lengths[i], 8);
        EXPECT(LLM_BAD_FILE, "keys", "left");
        gw_patch(bytes, at, 5, 8);
        EXPECT(LLM_OK, "", NULL);
        free(bytes);
    }
    SECTION("names");
    bytes = small_model(&n, &w);
    at = gw_value(bytes, n, "k.u16");
    bytes[at - 3] = 0;
    EXPECT(LLM_BAD_FILE, "key 4", "NUL");
    bytes[at - 3] = '.';
    {
        char *longest = (char *)malloc(65537);
        unsigned char *whole = bytes;
        const size_t n_whole = n;
        int more;
        if (!longest) abort();
        for (more = 0; more < 2; more++) {
            memset(longest, 'k', 65535 + (size_t)more);
            longest[65535 + more] = 0;
            small_begin(&w);
            gw_u32(&w, longest, 1);
            bytes = gw_end(&w, &n);
            if (more) EXPECT(LLM_BAD_FILE, "65536 bytes", "65535");
            else EXPECT(LLM_OK, "", NULL);
            free(bytes);
        }
        free(longest);
        bytes = whole;
        n = n_whole;
    }
    memcpy(bytes + at - 5, "k.i16", 5);
    EXPECT(LLM_BAD_FILE, "key 'k.i16'", "twice");
    free(bytes);
    bytes = small_model(&n, &w);
    at = gw_value(bytes, n, "a.weight");
    bytes[at - 1] = 0;
    EXPECT(LLM_BAD_FILE, "tensor 0", "NUL");
    memcpy(bytes + at - 8, "c.weight", 8);
    EXPECT(LLM_BAD_FILE, "tensor 'c.weight'", "twice");
    free(bytes);
    SECTION("value types");
    bytes = small_model(&n, &w);
    gw_patch(bytes, gw_value(bytes, n, "k.u8"), 13, 4);
    EXPECT(LLM_BAD_FILE, "'k.u8'", "13");
    gw_patch(bytes, gw_value(bytes, n, "k.u8"), 0, 4);
    gw_patch(bytes, gw_value(bytes, n, "k.heads") + 4, 99, 4);
    EXPECT(LLM_BAD_FILE, "'k.heads'", "99");
    gw_patch(bytes, gw_value(bytes, n, "k.heads") + 4, GW_ARRAY, 4);
    EXPECT(LLM_UNSUPPORTED, "'k.heads'", "array of arrays");
    free(bytes);
}

static void test_element_types(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    const uint8_t *at;
    uint64_t count;
    SECTION("FR-004 the right count of the wrong type");
    gw_begin(&w);
    gw_array(&w, "tokenizer.ggml.scores", GW_U8, 4); gw_number(&w.kv, 0, 4);
    gw_array(&w, "tokenizer.ggml.tokens", GW_I32, 2); gw_number(&w.kv, 0, 8);
    gw_array(&w, "tokenizer.ggml.merges", GW_BOOL, 3); gw_number(&w.kv, 0, 3);
    bytes = gw_end(&w, &n);
    options(&opts, &h);
    CHECK(llm__gguf_open_memory(&g, bytes, n, &opts, &e) == LLM_OK);
    CHECK(llm__gguf_array(&g, "tokenizer.ggml.scores", GW_F32, &count, &at, &e) == LLM_BAD_FILE && !count && !at);
    CHECK_TEXT(e.text, "key 'tokenizer.ggml.scores': expected ARRAY of FLOAT32, found ARRAY of UINT8");
    CHECK(llm__gguf_array(&g, "tokenizer.ggml.tokens", GW_STRING, &count, &at, &e) == LLM_BAD_FILE);
    CHECK_TEXT(e.text, "key 'tokenizer.ggml.tokens': expected ARRAY of STRING, found ARRAY of INT32");
    CHECK(llm__gguf_array(&g, "tokenizer.ggml.merges", GW_STRING, &count, &at, &e) == LLM_BAD_FILE);
    CHECK_TEXT(e.text, "key 'tokenizer.ggml.merges': expected ARRAY of STRING, found ARRAY of BOOL");
    llm__gguf_close(&g);
    CHECK(c.live == 0);
    free(bytes);
}

static void test_places(void) {
    gguf_writer w;
    size_t n, cut, step;
    unsigned char *bytes = small_model(&n, &w), *shorter;
    size_t a = gw_value(bytes, n, "a.weight"), b = gw_value(bytes, n, "b.bias"), c = gw_value(bytes, n, "c.weight");
    SECTION("FR-008 a shape larger than the file");
    gw_patch(bytes, c + 12, 4, 8);
    EXPECT(LLM_BAD_FILE, "'c.weight'", "136 bytes are missing");
    gw_patch(bytes, c + 12, 2, 8);
    gw_patch(bytes, c + 32, 4096, 8);
    EXPECT(LLM_BAD_FILE, "'c.weight'", "missing");
    gw_patch(bytes, c + 32, UINT64_MAX - 63, 8);
    EXPECT(LLM_BAD_FILE, "'c.weight'", "offset");
    gw_patch(bytes, c + 32, 768 + 160, 8);
    EXPECT(LLM_OK, "", NULL);
    SECTION("FR-009 overlap, odd offsets");
    gw_patch(bytes, b + 16, 736, 8);
    EXPECT(LLM_BAD_FILE, "'a.weight' and 'b.bias' overlap", NULL);
    gw_patch(bytes, b + 16, 0, 8);
    EXPECT(LLM_BAD_FILE, "overlap", NULL);
    gw_patch(bytes, b + 16, 769, 8);
    EXPECT(LLM_BAD_FILE, "'b.bias'", "769");
    gw_patch(bytes, b + 16, 768, 8);
    gw_patch(bytes, a + 24, 1, 8);
    EXPECT(LLM_BAD_FILE, "'a.weight'", "multiple of the alignment");
    gw_patch(bytes, a + 24, 0, 8);
    EXPECT(LLM_OK, "", NULL);
    SECTION("FR-009 cut at every per cent, at every section's edge and everywhere in the directory");
    for (step = 0; step < 100 + w.data_at + 16; step++) {
        size_t keep = n, full = n;
        unsigned char *whole = bytes;
        cut = step < 100 ? n * step / 100 : step - 100;
        if (step >= 100 && cut >= w.data_at + 8) cut = n - (step - 100 - w.data_at - 7);  // the last eight: 1 to 8 bytes are missing
        if (cut >= keep) continue;
        shorter = (unsigned char *)malloc(cut ? cut : 1);
        if (!shorter) abort();
        memcpy(shorter, bytes, cut);
        bytes = shorter;
        n = cut;
        if (cut < 24) expect_from(bytes, n, LLM_BAD_FILE, "", NULL, __LINE__);
        else if (cut < w.n_directory) expect_from(bytes, n, LLM_BAD_FILE, "", NULL, (int)cut + 100000);
        else EXPECT(LLM_BAD_FILE, "missing, from tensor '", NULL);
        if (cut >= w.data_at) {
            char missing[100];
            sprintf(missing, "%lu bytes are missing, from tensor '%s'", (unsigned long)(full - cut),
                    cut < w.data_at + 768 ? "a.weight" : cut < w.data_at + 768 + 160 ? "b.bias" : "c.weight");
            EXPECT(LLM_BAD_FILE, missing, NULL);
        }
        free(shorter);
        bytes = whole;
        n = full;
    }
    free(bytes);
}

static void test_wrong_files(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = small_model(&n, &w), *good = bytes;
    static const struct { const char *begin; llm_result r; const char *text; } others[] = {
        { "<!DOCTYPE html><html>", LLM_BAD_FILE, "web page" },
        { "version https://git-lfs.github.com/spec/v1\noid", LLM_BAD_FILE, "Git LFS" },
        { "PK\3\4abcdefgh", LLM_BAD_FILE, "zip" }, { "tjgg\3\0\0\0", LLM_UNSUPPORTED, "GGML" }, { "GG", LLM_BAD_FILE, "too short" },
        { "\x7f" "ELF\2\1\1", LLM_BAD_FILE, "7f 45 4c 46" }, { "GGUF", LLM_BAD_FILE, "header" },
        { "Access to this model is restricted\n", LLM_BAD_FILE, "'Access to this model is restricted'" },
        { "{\"error\":\"Repository not found\"}", LLM_BAD_FILE, "Repository not found" }
    };
    static const unsigned char tensors[] = { 0x40, 1, 0, 0, 0, 0, 0, 0, '{', '"', '_', '_' };
    size_t i;
    SECTION("FR-011 byte order");
    bytes[4] = bytes[5] = bytes[6] = 0; bytes[7] = 3;
    EXPECT(LLM_UNSUPPORTED, "big-endian", NULL);
    bytes[7] = 0; bytes[4] = 1;
    EXPECT(LLM_UNSUPPORTED, "version 1", NULL);
    bytes[4] = 4;
    EXPECT(LLM_UNSUPPORTED, "version 4", NULL);
    free(good);
    SECTION("what is not a model");
    for (i = 0; i < sizeof others / sizeof *others; i++) {
        n = strlen(others[i].begin);
        bytes = (unsigned char *)malloc(n);
        if (!bytes) abort();
        memcpy(bytes, others[i].begin, n);
        EXPECT(others[i].r, others[i].text, NULL);
        free(bytes);
    }
    bytes = (unsigned char *)malloc(n = sizeof tensors);
    if (!bytes) abort();
    memcpy(bytes, tensors, n);
    EXPECT(LLM_BAD_FILE, "safetensors", NULL);
    free(bytes);
}

static void test_paths(void) {
    static const char *const pieces[] = { "t.gguf.part1of2", "t.gguf.part2of2", "t.gguf-split-a", "t-part3of12", "t.gguf-split-ab" };
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes = small_model(&n, &w);
    SECTION("paths");
    options(&opts, &h);
    CHECK(llm__gguf_open_path(&g, test_scratch("no/such/file.gguf"), &opts, &e) == LLM_IO);
    CHECK(strstr(e.text, "no such file") && strstr(e.text, "file.gguf"));
    CHECK(llm__gguf_open_path(&g, test_scratch(""), &opts, &e) == LLM_IO && c.live == 0);
    CHECK(test_write(test_scratch("test_gguf.empty"), "", 0));
    CHECK(llm__gguf_open_path(&g, test_scratch("test_gguf.empty"), &opts, &e) == LLM_BAD_FILE && strstr(e.text, "empty"));
    remove(test_scratch("test_gguf.empty"));
    SECTION("pieces of a file that was cut");
    for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const char *path = test_scratch(pieces[i]);
        CHECK(test_write(path, i % 2 ? bytes + 500 : bytes, i % 2 ? n - 500 : n - 100));
        CHECK(llm__gguf_open_path(&g, path, &opts, &e) == LLM_BAD_FILE && strstr(e.text, "join") && strstr(e.text, pieces[i]));
        remove(path);
    }
    CHECK(!llm__gguf_is_piece(llm__str_of("a.part1of2/model.gguf")) && !llm__gguf_is_piece(llm__str_of("model-partof2.gguf")));
    CHECK(!llm__gguf_is_piece(llm__str_of("part1of2.gguf")) && !llm__gguf_is_piece(llm__str_of(".part")) && !llm__gguf_is_piece(llm__str_of("")));
    // A word in the name is no piece, and a short file says what it lacks.
    CHECK(!llm__gguf_is_piece(llm__str_of("t-split-model.gguf")) && !llm__gguf_is_piece(llm__str_of("t-split-v1")) &&
          !llm__gguf_is_piece(llm__str_of("t-split-")) && !llm__gguf_is_piece(llm__str_of("t-split-abc")));
    CHECK(test_write(test_scratch("test_gguf-split-model.gguf"), bytes, n - 100));
    CHECK(llm__gguf_open_path(&g, test_scratch("test_gguf-split-model.gguf"), &opts, &e) == LLM_BAD_FILE && strstr(e.text, "100 bytes are missing"));
    remove(test_scratch("test_gguf-split-model.gguf"));
    CHECK(c.live == 0);
    free(bytes);
}

static void test_every_type(void) {
    const char *path = test_fixture("quants/blocks.gguf");
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    uint32_t i, foreign = 0;
    SECTION("every type");
    if (!path) { test_skip("fixtures/quants is not there"); return; }
    options(&opts, &h);
    if (CHECK(llm__gguf_open_path(&g, path, &opts, &e) == LLM_OK)) {
        CHECK(g.n_tensors == 83);
        // Block sizes are right if no tensor overlaps the next and none leaves more than the padding.
        for (i = 0; i < g.n_tensors; i++) foreign += g.tensors[i].type == LLM__TYPE_NONE;
        CHECK_EQ(foreign, 0);
        CHECK(g.weight_bytes + 32 * 83 >= g.shards[0].data_end);
        llm__gguf_close(&g);
    }
    CHECK(c.live == 0);
}

static void test_any_type(void) {
    static const uint64_t row[1] = { 256 };
    static const struct { uint32_t type; size_t bytes; } others[] = { { 9, 288 }, { 15, 292 }, { 24, 256 }, { 25, 512 }, { 26, 1024 },
                                                                      { 27, 2048 }, { 28, 2048 } };
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    gguf_writer w;
    uint8_t *bytes;
    opened o;
    size_t n, i;
    SECTION("types without a card");
    options(&opts, &h);
    for (i = 0; i < LLM__COUNT(others); i++) {
        small_begin(&w); gw_tensor(&w, "other", others[i].type, 1, row, pattern, others[i].bytes); bytes = gw_end(&w, &n);
        opts.any_type = false;
        open_by(&o, BY_MEMORY, bytes, n, &opts);
        CHECK(o.r == LLM_UNSUPPORTED && strstr(o.e.text, "'other'"));
        close_by(&o);
        opts.any_type = true;
        open_by(&o, BY_MEMORY, bytes, n, &opts);
        if (CHECK(o.r == LLM_OK)) CHECK(o.g.tensors[0].type == LLM__TYPE_NONE && o.g.tensors[0].n_bytes == others[i].bytes);
        close_by(&o);
        free(bytes);
    }
    CHECK(c.live == 0);
}

// ---- shards

static void shard_name(char *out, const char *stem, int i, int count) { sprintf(out, "%s-%05d-of-%05d.gguf", stem, i, count); }

// Shard i (from 0) of `count`, with one tensor of its own.
static unsigned char *shard(size_t *n, int i, int count, int total, const char *name) {
    gguf_writer w;
    if (i == 0) small_begin(&w);
    else gw_begin(&w);
    gw_scalar(&w, "split.no", GW_U16, (uint64_t)i, 2);
    gw_scalar(&w, "split.count", GW_U16, (uint64_t)count, 2);
    gw_scalar(&w, "split.tensors.count", GW_I32, (uint64_t)total, 4);
    gw_tensor(&w, name, 0, 1, dims_b, pattern + 200 * i, 160);
    return gw_end(&w, n);
}

#if SHIM && CAN_MAP
static uint64_t shim_now_us(void *user) { (void)user; return shim_us; }
#endif
static void test_shards(void) {
    static const char *const names[3] = { "first", "second", "third" };
    char paths[4][TEST_PATH], stem[TEST_PATH];
    unsigned char *bytes[3], *other;
    size_t n[3], n_other;
    habit habits[3];
    llm_reader readers[3];
    gguf_writer w;
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    int i, mode;
    SECTION("shards");
    strcpy(stem, test_scratch("test_gguf"));
    for (i = 0; i < 3; i++) {
        bytes[i] = shard(&n[i], i, 3, 3, names[i]);
        shard_name(paths[i], stem, i + 1, 3);
        CHECK(test_write(paths[i], bytes[i], n[i]));
        readers[i] = reader_of(&habits[i], bytes[i], n[i]);
        habits[i].most = 7;
    }
    for (mode = 0; mode < 4; mode++) {
        llm_result r;
        options(&opts, &h);
        opts.mapping = mode == 1 ? LLM_READ : LLM_MAP_AUTO;
        if (mode >= 2) { opts.parts = readers + 1; opts.n_parts = 2; }
        r = mode < 2 ? llm__gguf_open_path(&g, paths[0], &opts, &e)
          : mode == 2 ? llm__gguf_open_memory(&g, bytes[0], n[0], &opts, &e) : llm__gguf_open_reader(&g, &readers[0], &opts, &e);
        if (!CHECK(r == LLM_OK)) { printf("%s\n", e.text); continue; }
        CHECK(g.n_shards == 3 && g.n_tensors == 3 && g.file_bytes == n[0] + n[1] + n[2] && g.weight_bytes == 480);
        for (i = 0; i < 3; i++) {
            const llm__gguf_tensor *t = llm__gguf_tensor_find(&g, llm__str_of(names[i]));
            CHECK(t && t->shard == (uint32_t)i && memcmp(t->data, pattern + 200 * i, 160) == 0);
        }
        CHECK(llm__gguf_find(&g, llm__str_of("k.u8")) != NULL);
        CHECK(!llm__gguf_changed(&g));
        llm__gguf_close(&g);
        CHECK(c.live == 0);
    }
    for (mode = 0; mode < 2; mode++) {                                    // by path, from memory and readers
        long k;
        llm_result r = LLM_NO_MEMORY;
        for (k = 1; k < 100 && r != LLM_OK; k++) {
            h = counted(&c);
            c.fail_at = k;
            options(&opts, &h);
            if (mode) { opts.parts = readers + 1; opts.n_parts = 2; }
            r = mode ? llm__gguf_open_memory(&g, bytes[0], n[0], &opts, &e) : llm__gguf_open_path(&g, paths[0], &opts, &e);
            CHECK(r == LLM_OK ? c.live > 0 : r == LLM_NO_MEMORY && e.code == LLM_NO_MEMORY && c.live == 0);
            if (r == LLM_OK) llm__gguf_close(&g);
        }
        CHECK(r == LLM_OK && k > 15 && c.live == 0);
        h = counted(&c);
    }
#if SHIM && CAN_MAP
    {
        llm_clock clock;
        SECTION("the time of mapping shards is part of opening them");
        clock.user = NULL; clock.now_us = shim_now_us;
        options(&opts, &h);
        opts.clock = &clock;
        opts.mapping = LLM_MAP;
        CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_OK);
        CHECK(g.map_ms > 20.9 && g.map_ms < 21.1 && g.open_ms > 20.9 && g.open_ms < 21.1 && g.parse_ms > -0.1 && g.parse_ms < 0.1);
        llm__gguf_close(&g);
    }
#endif
    SECTION("shards that are wrong");
    options(&opts, &h);
    CHECK(llm__gguf_open_path(&g, paths[1], &opts, &e) == LLM_UNSUPPORTED);
    CHECK(strstr(e.text, "shard 2 of 3") && strstr(e.text, "-00001-of-00003.gguf"));
    CHECK(llm__gguf_open_memory(&g, bytes[2], n[2], &opts, &e) == LLM_UNSUPPORTED && strstr(e.text, "shard 3 of 3"));
    CHECK(llm__gguf_open_memory(&g, bytes[0], n[0], &opts, &e) == LLM_BAD_ARG && strstr(e.text, "parts"));
    opts.parts = readers + 1; opts.n_parts = 1;
    CHECK(llm__gguf_open_memory(&g, bytes[0], n[0], &opts, &e) == LLM_BAD_ARG);
    CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_BAD_ARG && strstr(e.text, "parts"));
    opts.n_parts = 2; opts.parts = readers;                              // shard 1 where 2 should be
    CHECK(llm__gguf_open_memory(&g, bytes[0], n[0], &opts, &e) == LLM_BAD_FILE);
    CHECK(strstr(e.text, "shard 2 of 3: it says that it is number 1"));
    other = small_model(&n_other, &w);
    opts.n_parts = 1; opts.parts = readers;
    CHECK(llm__gguf_open_memory(&g, other, n_other, &opts, &e) == LLM_BAD_ARG && strstr(e.text, "1 shards"));
    free(other);
    options(&opts, &h);
    strcpy(paths[3], test_scratch("test_gguf-renamed.gguf"));
    CHECK(test_write(paths[3], bytes[0], n[0]));
    CHECK(llm__gguf_open_path(&g, paths[3], &opts, &e) == LLM_UNSUPPORTED && strstr(e.text, "rename"));
    remove(paths[3]);
    for (i = 0; i < 3; i++) {
        static const char *const second[3] = { "first", "second", "second" };
        static const char *const reason[3] = { "tensor 'first' occurs twice", "", "number 2 of 4" };
        other = shard(&n_other, 1, i == 2 ? 4 : 3, 3, second[i]);
        CHECK(test_write(paths[1], other, n_other));
        if (i == 1) {
            free(other);
            other = shard(&n_other, 0, 3, 7, "first");
            CHECK(test_write(paths[0], other, n_other));
            CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_BAD_FILE && strstr(e.text, "hold 3 tensors, the first promises 7"));
            CHECK(test_write(paths[0], bytes[0], n[0]));
        } else {
            CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_BAD_FILE && strstr(e.text, reason[i]));
        }
        free(other);
        CHECK(c.live == 0);
    }
    CHECK(test_write(paths[1], bytes[1], n[1] - 20));
    CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_BAD_FILE);
    CHECK(strstr(e.text, "shard 2 of 3") && strstr(e.text, "20 bytes are missing"));
    remove(paths[1]);
    CHECK(llm__gguf_open_path(&g, paths[0], &opts, &e) == LLM_IO && strstr(e.text, "shard 2 of 3") && strstr(e.text, "no such file"));
    CHECK(c.live == 0);
    for (i = 0; i < 3; i++) { remove(paths[i]); free(bytes[i]); }
}

// ---- failures from outside

static void test_failures(void) {
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes = small_model(&n, &w);
    counter c;
    llm__heap h;
    llm__gguf_options opts;
    opened o;
    int route;
    long k;
    SECTION("no memory at the k-th request");
    for (route = 0; route < ROUTES; route++) {
        for (k = 1; k < 100; k++) {
            h = counted(&c);
            c.fail_at = k;
            options(&opts, &h);
            open_by(&o, route, bytes, n, &opts);
            close_by(&o);
            CHECK(c.live == 0);
            if (o.r == LLM_OK) break;
            CHECK(o.r == LLM_NO_MEMORY && o.e.code == LLM_NO_MEMORY && o.e.text[0]);
        }
        CHECK(o.r == LLM_OK && k > 4 && k < 20);
    }
    SECTION("a reader that fails from byte k on");
    for (i = 0; i < n; i += i < 64 ? 1 : 37) {
        llm_reader r = reader_of(&o.habit, bytes, n);
        llm_result result;
        h = counted(&c);
        options(&opts, &h);
        o.habit.fail_from = i;
        o.habit.most = 100;
        result = llm__gguf_open_reader(&o.g, &r, &opts, &o.e);
        CHECK(i < w.data_at + 768 + 160 + 136 ? result == LLM_IO && strstr(o.e.text, "reader failed") : result == LLM_OK);
        if (result == LLM_OK) llm__gguf_close(&o.g);
        CHECK(c.live == 0);
    }
    {
        llm_reader r = reader_of(&o.habit, bytes, n);
        h = counted(&c);
        options(&opts, &h);
        o.habit.lie = 1;
        o.habit.most = n / 3;
        o.habit.n = n;
        CHECK(llm__gguf_open_reader(&o.g, &r, &opts, &o.e) == LLM_OK || o.e.code < 0);
        llm__gguf_close(&o.g);
        r.read_at = NULL;
        CHECK(llm__gguf_open_reader(&o.g, &r, &opts, &o.e) == LLM_BAD_ARG && c.live == 0);
        r.read_at = habit_read; r.size = 0;
        CHECK(llm__gguf_open_reader(&o.g, &r, &opts, &o.e) == LLM_BAD_FILE && c.live == 0);
        o.habit.lie = 0;
        r.size = n + 1000;                                               // a reader that promises more than it has
        CHECK(llm__gguf_open_reader(&o.g, &r, &opts, &o.e) == LLM_IO && c.live == 0);
    }
    free(bytes);
}

typedef struct watcher { int calls, stop_at; float last; int bad; } watcher;
static int watch(void *user, int stage, float fraction) {
    watcher *v = (watcher *)user;
    v->calls++;
    if (stage != 0 || fraction < v->last || fraction > 1.0f) v->bad = 1;
    v->last = fraction;
    return v->calls != v->stop_at;
}
static void test_progress(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = small_model(&n, &w);
    int route, k, calls;
    SECTION("progress and cancel (FR-043)");
    for (route = 0; route < ROUTES; route++) {
        counter c;
        llm__heap h = counted(&c);
        llm__gguf_options opts;
        llm_progress p;
        watcher v;
        opened o;
        for (k = 0, calls = 1; k <= calls; k++) {
            h = counted(&c);
            options(&opts, &h);
            memset(&v, 0, sizeof v);
            v.stop_at = k;
            p.user = &v;
            p.progress_fn = watch;
            opts.progress = &p;
            open_by(&o, route, bytes, n, &opts);
            if (k == 0) { calls = v.calls; CHECK(calls >= 10 && v.last > 0.89f && v.last <= 0.9f); }
            CHECK(o.r == (k ? LLM_CANCELLED : LLM_OK) && !v.bad);
            close_by(&o);
            CHECK(c.live == 0);
        }
    }
    free(bytes);
}

static void test_changed(void) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes = small_model(&n, &w);
    const char *path = test_scratch("test_gguf-changed.gguf");
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    SECTION("a file that changes under its mapping");
    if (!CAN_MAP) {
        test_lacks("mapping in this build");
        free(bytes);
        return;
    }
    options(&opts, &h);
    opts.mapping = LLM_MAP;
    CHECK(test_write(path, bytes, n));
    CHECK(llm__gguf_open_path(&g, path, &opts, &e) == LLM_OK);
    CHECK(!llm__gguf_changed(&g));
    {
        FILE *f = fopen(path, "ab");
#if defined(_WIN32)
        CHECK(!f);                                                       // Windows keeps writers out while the model is open
#else
        CHECK(f && fputc('x', f) == 'x' && fclose(f) == 0);
        CHECK(llm__gguf_changed(&g));
#endif
    }
    llm__gguf_close(&g);
    opts.mapping = LLM_READ;                                             // what was read is immune
    CHECK(test_write(path, bytes, n));
    CHECK(llm__gguf_open_path(&g, path, &opts, &e) == LLM_OK);
    CHECK(test_write(path, "gone", 4));
    CHECK(!llm__gguf_changed(&g) && memcmp(g.tensors[0].data, pattern, 768) == 0);
    llm__gguf_close(&g);
    remove(path);
    free(bytes);
}

// ---- the operating system says no

static void test_mapping(void) {
#if SHIM && CAN_MAP
    static unsigned char large[3 * 65536];
    static const uint64_t dims[1] = { 65536 / 4 };
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes;
    opened o;
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    char line[2048];
    int seen = 0;
    FILE *maps;
    for (i = 0; i < sizeof large; i++) large[i] = (unsigned char)(i * 13 + i / 1000);
    small_begin(&w);
    gw_tensor(&w, "one", 0, 1, dims, large, 65536);
    gw_tensor(&w, "two", 0, 1, dims, large + 65536, 65536);
    gw_tensor(&w, "three", 0, 1, dims, large + 131072, 65536);
    bytes = gw_end(&w, &n);
    SECTION("FR-027 mapped read-only");
    options(&opts, &h);
    open_by(&o, BY_MAP, bytes, n, &opts);
    maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "test_gguf.gguf")) { seen++; CHECK(strstr(line, " r--") != NULL); }
    if (maps) fclose(maps);
    CHECK(seen == 1);
    close_by(&o);
    CHECK(shim_maps == 0 && c.live == 0);
    SECTION("FR-028 the whole does not map: tensors do, one by one");
    shim_map_limit = 80000;
    open_by(&o, BY_MAP, bytes, n, &opts);
    CHECK(o.r == LLM_OK && shim_maps == 3 && o.g.mapping == LLM_MAP);
    CHECK(o.g.shards[0].map.base == NULL && o.g.shards[0].map.base_bytes == 0);      // what did not happen has no bytes to ask about
    for (i = 0; o.r == LLM_OK && i < 3; i++) CHECK(memcmp(o.g.tensors[i].data, large + i * 65536, 65536) == 0);
    CHECK(o.r == LLM_OK && llm__gguf_find(&o.g, llm__str_of("k.heads")) != NULL);
    close_by(&o);
    CHECK(shim_maps == 0 && c.live == 0);
    shim_map_total = 150000;
    open_by(&o, BY_MAP, bytes, n, &opts);
    CHECK(o.r == LLM_UNSUPPORTED && strstr(o.e.text, "'three'") && strstr(o.e.text, "131072") && strstr(o.e.text, "address space"));
    CHECK(shim_maps == 0 && c.live == 0);
    for (i = 1; i < 20; i++) {
        h = counted(&c);
        c.fail_at = (long)i;
        shim_map_total = SIZE_MAX;
        open_by(&o, BY_MAP, bytes, n, &opts);
        close_by(&o);
        CHECK(shim_maps == 0 && c.live == 0);
        if (o.r == LLM_OK) break;
        CHECK(o.r == LLM_NO_MEMORY);
    }
    SECTION("files that cannot be mapped at all");
    h = counted(&c);
    shim_map_limit = 0;
    shim_map_error = ENODEV;
    opts.mapping = LLM_MAP_AUTO;
    o.r = llm__gguf_open_path(&o.g, test_scratch("test_gguf.gguf"), &opts, &o.e);
    CHECK(o.r == LLM_OK && o.g.mapping == LLM_READ && memcmp(o.g.tensors[2].data, large + 131072, 65536) == 0);
    llm__gguf_close(&o.g);
    opts.directory_only = true;                                           // a plan knows it too
    o.r = llm__gguf_open_path(&o.g, test_scratch("test_gguf.gguf"), &opts, &o.e);
    CHECK(o.r == LLM_OK && o.g.mapping == LLM_READ && o.g.mapping_reason[0]);
    llm__gguf_close(&o.g);
    opts.mapping = LLM_MAP;
    CHECK(llm__gguf_open_path(&o.g, test_scratch("test_gguf.gguf"), &opts, &o.e) == LLM_UNSUPPORTED && c.live == 0);
    opts.mapping = LLM_MAP_AUTO;
    opts.directory_only = false;
    open_by(&o, BY_MAP, bytes, n, &opts);
    CHECK(o.r == LLM_UNSUPPORTED && c.live == 0);
    shim_map_limit = SIZE_MAX;
    shim_map_error = ENOMEM;
    SECTION("FR-044 FUSE is read unless mapping was asked for");
    shim_fuse = 1;
    opts.mapping = LLM_MAP_AUTO;
    o.r = llm__gguf_open_path(&o.g, test_scratch("test_gguf.gguf"), &opts, &o.e);
    CHECK(o.r == LLM_OK && o.g.mapping == LLM_READ && shim_maps == 0);
    llm__gguf_close(&o.g);
    open_by(&o, BY_MAP, bytes, n, &opts);
    CHECK(o.r == LLM_OK && o.g.mapping == LLM_MAP && shim_maps == 1);
    CHECK_TEXT(o.g.mapping_reason, "asked for");
    close_by(&o);
    shim_fuse = 0;
    CHECK(shim_maps == 0 && c.live == 0);
    free(bytes);
#else
    SECTION("the operating system says no");
    test_lacks("mapping that can be made to fail (glibc only, not with LLM_NO_MMAP)");
#endif
}

// Where a size_t has 32 bits and nothing is mapped: what lies beyond 4 GB of a file is read from there, not from 4 GB before.
static void test_far_read(void) {
#if defined(__EMSCRIPTEN__)
    const char *path = test_scratch("test_gguf-far.gguf");
    const uint64_t at = 5000000000u;
    llm__os_file file;
    llm_error e;
    FILE *f = fopen(path, "wb");
    SECTION("FR-093 reading beyond 4 GB");
    if (!f || fseeko(f, (off_t)at, SEEK_SET) || fwrite(pattern, 1, 160, f) != 160 || fclose(f)) {
        test_lacks("room for a sparse file of 5 GB");
    } else {
        memset(&file, 0, sizeof file);
        CHECK(llm__os_file_open(&file, path, &e) == LLM_OK && file.size == at + 160);
        CHECK(llm__os_file_read(&file, at, pattern + 2000, 160, &e) == LLM_OK && !memcmp(pattern, pattern + 2000, 160));
        CHECK(llm__os_file_read(&file, at - 8, pattern + 2000, 16, &e) == LLM_OK && !memcmp(pattern, pattern + 2008, 8));
        CHECK_EQ(llm__os_file_read(&file, at + 100, pattern + 2000, 61, &e), LLM_IO);
        llm__os_file_close(&file);
    }
    remove(path);
#endif
}

static void test_large_file(void) {
    static const uint64_t dims[2] = { 1 << 20, 1100 };                  // 4.3 GB of F32
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    const char *path = test_scratch("test_gguf-sparse.gguf");
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    llm_result r;
    llm__os_file file;
    llm__os_map map;
    FILE *f;
    uint64_t at;
    SECTION("FR-093 a tensor beyond 4 GB");
    gw_begin(&w);
    gw_tensor(&w, "hole", 0, 2, dims, pattern, 0);
    gw_tensor(&w, "last", 0, 1, dims_b, pattern, 160);
    bytes = gw_end(&w, &n);
    at = (uint64_t)w.data_at + dims[0] * dims[1] * 4;
    gw_patch(bytes, gw_value(bytes, n, "last") + 16, at - w.data_at, 8);
#if SHIM && CAN_MAP
    f = fopen64(path, "wb");
    if (!CHECK(f && fwrite(bytes, 1, w.data_at, f) == w.data_at)) { free(bytes); return; }
    if (fseeko64(f, (off64_t)at, SEEK_SET) || fwrite(pattern, 1, 160, f) != 160 || fclose(f)) {
        test_lacks("room for a sparse file of 4.3 GB");
    } else {
        options(&opts, &h);
        r = llm__gguf_open_path(&g, path, &opts, &e);
        if (sizeof(size_t) < 8) {                                        // no room for 4.3 GB; the places are right all the same
            CHECK(r == LLM_UNSUPPORTED && strstr(e.text, "'hole'") && strstr(e.text, "address space"));
        } else if (CHECK(r == LLM_OK)) {
            CHECK(memcmp(g.tensors[1].data, pattern, 160) == 0 && g.tensors[0].data[0] == 0);
            llm__gguf_close(&g);
        }
        memset(&file, 0, sizeof file);
        CHECK(llm__os_file_open(&file, path, &e) == LLM_OK && file.size == at + 160);
        CHECK(llm__os_file_read(&file, at, pattern + 2000, 160, &e) == LLM_OK && !memcmp(pattern, pattern + 2000, 160));
        if (far_map_is_honest(path, at & ~(uint64_t)65535, (size_t)(at & 65535) + 160)) {
            CHECK(llm__os_map_file(&map, &file, at + 1, 159, &e) == LLM_OK && !memcmp(pattern + 1, map.data, 159));
            llm__os_unmap(&map);
        } else test_lacks(FAR_MAP_LACKS);
        llm__os_file_close(&file);
        CHECK(c.live == 0);
    }
#else
    (void)opts; (void)g; (void)e; (void)r; (void)h; (void)at; (void)file; (void)map; (void)f;
    test_lacks("sparse files");
#endif
    remove(path);
    free(bytes);
}

// ---- at random

static void test_mutations(void) {
    gguf_writer w;
    size_t n, i;
    unsigned char *good = small_model(&n, &w), *bytes = (unsigned char *)malloc(n);
    uint32_t seed = 12345, round, loaded = 0;
    SECTION("random mutations: an error or a file that can be read whole");
    if (!bytes) abort();
    for (round = 0; round < 40000; round++) {
        counter c;
        llm__heap h = counted(&c);
        llm__gguf_options opts;
        opened o;
        int changes;
        memcpy(bytes, good, n);
        seed = seed * 1664525u + 1013904223u;
        for (changes = 1 + (int)(seed >> 28) % 4; changes > 0; changes--) {
            static const unsigned char often[6] = { 0, 1, 0x7f, 0x80, 0xff, 8 };
            seed = seed * 1664525u + 1013904223u;
            i = (seed >> 8) % (w.n_directory + 4);
            bytes[i] = seed & 128 ? often[(seed >> 1) % 6] : (unsigned char)(seed >> 24);
        }
        options(&opts, &h);
        open_by(&o, round % 8 == 7 ? BY_READER : BY_MEMORY, bytes, n, &opts);
        if (o.r == LLM_OK) { loaded++; touch_all(&o.g); }
        else if (!o.e.text[0] || o.e.code != o.r || o.r > 0) CHECK(!"an error without a reason");
        if (c.largest > n + 4096) CHECK(!"a request beyond the size of the file");
        close_by(&o);
        if (c.live) CHECK(!"a leak");
    }
    CHECK(loaded > 100 && loaded < 40000);
    free(good);
    free(bytes);
}

// CPU time, the least of nine: other programs do not count.
static double vocabulary_time(uint64_t n_tokens) {
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    char token[40];
    uint64_t i;
    double best = 1e30, t;
    int k;
    counter c;
    llm__heap h = counted(&c);
    llm__gguf_options opts;
    llm__gguf g;
    llm_error e;
    gw_begin(&w);
    gw_array(&w, "tokenizer.ggml.tokens", GW_STRING, n_tokens);
    for (i = 0; i < n_tokens; i++) gw_string(&w.kv, token, (size_t)sprintf(token, "token%lu", (unsigned long)i));
    bytes = gw_end(&w, &n);
    options(&opts, &h);
    for (k = 0; k < 9; k++) {
        t = (double)clock();
        CHECK(llm__gguf_open_memory(&g, bytes, n, &opts, &e) == LLM_OK);
        t = (double)clock() - t;
        llm__gguf_close(&g);
        if (t < best) best = t;
    }
    free(bytes);
    return best;
}
static void test_time(void) {
    double one, two;
    int linear;
    uint64_t i;
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    char name[24];
    SECTION("FR-003 the checks take linear time");
    // A busy neighbour can spoil one comparison by taking the cache; quadratic time spoils all of them.
    for (i = 0, linear = 0; i < 6 && !linear; i++) {
        one = vocabulary_time(150000);
        two = vocabulary_time(300000);
        linear = two <= one * 2.5 + 0.001 * CLOCKS_PER_SEC;
    }
    CHECK(linear);
    SECTION("60000 keys");
    gw_begin(&w);
    for (i = 0; i < 60000; i++) { sprintf(name, "k%lu", (unsigned long)(i * 7919 % 60000)); gw_u32(&w, name, (uint32_t)i); }
    bytes = gw_end(&w, &n);
    {
        counter c;
        llm__heap h = counted(&c);
        llm__gguf_options opts;
        llm__gguf g;
        llm_error e;
        uint32_t u = 0, wrong = 0;
        options(&opts, &h);
        CHECK(llm__gguf_open_memory(&g, bytes, n, &opts, &e) == LLM_OK);
        for (i = 0; i < 60000; i++) {
            sprintf(name, "k%lu", (unsigned long)(i * 7919 % 60000));
            wrong += llm__gguf_u32(&g, name, &u, &e) != LLM_OK || u != i;
        }
        CHECK_EQ(wrong, 0);
        llm__gguf_close(&g);
        gw_patch(bytes, 16, 70000, 8);
        CHECK(llm__gguf_open_memory(&g, bytes, n, &opts, &e) == LLM_UNSUPPORTED && strstr(e.text, "at most 65536") && c.live == 0);
    }
    free(bytes);
}

static void test_fixtures(void) {
    static const char *const names[] = {
        "archs/llama-dense.gguf", "archs/gemma3-dense.gguf", "archs/lfm2-dense.gguf", "archs/llama-moe.gguf",
        "quants/llama-Q4_K_S.gguf", "quants/llama-Q8_0.gguf", "vocab/gpt-2.gguf", "vocab/qwen2.gguf"
    };
    size_t i;
    SECTION("fixtures, by every route");
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = test_fixture(names[i]);
        unsigned char *bytes;
        size_t n;
        uint64_t first = 0;
        int route;
        if (!path) { test_skip(names[i]); continue; }
        bytes = test_read(path, &n);
        for (route = 0; bytes && route < ROUTES; route++) {
            counter c;
            llm__heap h = counted(&c);
            llm__gguf_options opts;
            opened o;
            options(&opts, &h);
            if (route == BY_BYTES && n > 2000000) continue;
            open_by(&o, route, bytes, n, &opts);
            if (CHECK(o.r == LLM_OK)) {
                if (!route) first = touch_all(&o.g);
                CHECK(touch_all(&o.g) == first);
            }
            close_by(&o);
            CHECK(c.live == 0);
        }
        free(bytes);
    }
}

// What a file says of itself stands in sentences, and a sentence goes to terminals, logs and JSON: it is UTF-8 without controls.
static void test_sentences(void) {
    static const char *const cases[][2] = {
        { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0 \xef\xbf\xbd", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0 \xef\xbf\xbd" },
        { "\x1b[2J\n\x7f", "?[2J??" }, { "\xc2\x9b" "2J", "?2J" }, { "\x9b" "2J", "?2J" }, { "a\xff\xfe", "a??" },
        { "\xc0\xaf", "??" }, { "\xe0\x9f\xbf", "???" }, { "\xed\xa0\x80", "???" }, { "\xf0\x8f\xbf\xbf", "????" },
        { "\xf4\x90\x80\x80", "????" }, { "\xc3", "?" }, { "\xe2\x82", "??" }, { "\xe2\x82z", "??z" }, { "\xc3\xa9\xa9", "\xc3\xa9?" }
    };
    gguf_writer w;
    size_t n, i;
    unsigned char *bytes;
    static const uint64_t five[5] = { 32, 1, 1, 1, 1 };
    char text[64], name[301], shown[128], other[301];
    SECTION("names that are no text");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        llm__str s = llm__str_of(cases[i][0]);
        llm__format(text, sizeof text, "%v", &s);
        CHECK_TEXT(text, cases[i][1]);
        llm__format(text, sizeof text, "%s", cases[i][0]);
        CHECK_TEXT(text, cases[i][1]);
    }
    // A long name is cut at a whole character, and the reason stands behind it; behind two of them, too.
    memset(name, 'a', 300);
    name[300] = 0;
    memcpy(name + 99, "\xc3\xa9", 2);
    sprintf(shown, "'%.99s...'", name);
    small_begin(&w);
    gw_tensor(&w, name, 0, 5, five, pattern, 160);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, shown, "5 dimensions");
    free(bytes);
    memcpy(other, name, sizeof other);
    other[0] = 'b';
    small_begin(&w);
    gw_tensor(&w, name, 0, 1, dims_b, pattern, 160);
    gw_tensor(&w, other, 0, 1, dims_b, pattern, 160);
    bytes = gw_end(&w, &n);
    gw_patch(bytes, gw_value(bytes, n, other) + 16, 0, 8);
    EXPECT(LLM_BAD_FILE, shown, "overlap");
    free(bytes);
    small_begin(&w);
    gw_tensor(&w, "a\xff\xc2\x9bz\xc3\xa9", 99, 2, dims_a, pattern, 64 * 3 * 4);
    bytes = gw_end(&w, &n);
    EXPECT(LLM_BAD_FILE, "'a??z\xc3\xa9'", NULL);
    free(bytes);
}
// 4096 layers are as many as there may be; a file with two tensors has none of them, and their table would be megabytes.
static void test_layers_without_tensors(void) {
    static const uint64_t embd[2] = { 32, 8 }, norm[1] = { 32 };
    gguf_writer w;
    size_t n;
    unsigned char *bytes;
    counter c;
    llm_model_desc d;
    llm_error e;
    SECTION("layers without tensors");
    gw_begin(&w);
    gw_text(&w, "general.architecture", "llama");
    gw_u32(&w, "llama.block_count", 4096);
    gw_u32(&w, "llama.context_length", 32);
    gw_u32(&w, "llama.embedding_length", 32);
    gw_u32(&w, "llama.feed_forward_length", 32);
    gw_u32(&w, "llama.attention.head_count", 2);
    gw_tensor(&w, "token_embd.weight", 0, 2, embd, pattern, 32 * 8 * 4);
    gw_tensor(&w, "output_norm.weight", 0, 1, norm, pattern, 32 * 4);
    bytes = gw_end(&w, &n);
    memset(&d, 0, sizeof d);
    d.allocator = counted(&c).a;
    CHECK(!llm_load_memory(bytes, n, &d, &e) && e.code == LLM_BAD_FILE && strstr(e.text, "block_count") && strstr(e.text, "4096"));
    CHECK(c.live == 0 && c.total < n + 64 * 1024);
    free(bytes);
}

int main(void) {
    test_routes();
    test_numbers_as_text();
    test_sizes();
    test_counts();
    test_element_types();
    test_places();
    test_wrong_files();
    test_paths();
    test_every_type();
    test_any_type();
    test_shards();
    test_failures();
    test_progress();
    test_changed();
    test_mapping();
    test_large_file();
    test_far_read();
    test_mutations();
    test_sentences();
    test_layers_without_tensors();
    test_time();
    test_fixtures();
    remove(test_scratch("test_gguf.gguf"));
    return test_done();
}
