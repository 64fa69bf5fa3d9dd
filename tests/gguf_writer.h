// gguf_writer.h - writes GGUF files in memory, for tests. Sound files only: a test that wants a broken one changes the bytes afterwards
// (gw_value finds them). Values are written byte by byte, so the files are the same on every machine.
//
//     gguf_writer w;
//     size_t n;
//     gw_begin(&w);
//     gw_text(&w, "general.architecture", "llama");
//     gw_tensor(&w, "token_embd.weight", 0, 2, dims, data, n_bytes);
//     unsigned char *bytes = gw_end(&w, &n);        // to be freed by the caller
#ifndef GGUF_WRITER_H
#define GGUF_WRITER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define GW_FN static __attribute__((unused))
#else
#define GW_FN static
#endif

enum { GW_U8, GW_I8, GW_U16, GW_I16, GW_U32, GW_I32, GW_F32, GW_BOOL, GW_STRING, GW_ARRAY, GW_U64, GW_I64, GW_F64 };

typedef struct gw_buffer { unsigned char *p; size_t n, cap; } gw_buffer;
typedef struct gguf_writer {
    uint32_t version, alignment;       // set them after gw_begin if they are to differ from 3 and 32
    uint64_t n_kv, n_tensors;
    gw_buffer kv, infos, data;
    size_t n_directory, data_at;       // known after gw_end: where the lists end, where the data begins
} gguf_writer;

GW_FN void gw_bytes(gw_buffer *b, const void *p, size_t n) {
    if (b->cap - b->n < n) {
        b->cap = (b->n + n) * 2 + 256;
        b->p = (unsigned char *)realloc(b->p, b->cap);
        if (!b->p) abort();
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}
GW_FN void gw_number(gw_buffer *b, uint64_t v, int bytes) {
    unsigned char le[8];
    int i;
    for (i = 0; i < bytes; i++) le[i] = (unsigned char)(v >> 8 * i);
    gw_bytes(b, le, (size_t)bytes);
}
GW_FN void gw_string(gw_buffer *b, const char *s, size_t n) {
    gw_number(b, n, 8);
    gw_bytes(b, s, n);
}

GW_FN void gw_begin(gguf_writer *w) {
    memset(w, 0, sizeof *w);
    w->version = 3;
    w->alignment = 32;
}
GW_FN void gw_key(gguf_writer *w, const char *key, uint32_t type) {
    gw_string(&w->kv, key, strlen(key));
    gw_number(&w->kv, type, 4);
    w->n_kv++;
}
// Any fixed-size value by its bits: gw_scalar(w, key, GW_I16, (uint64_t)-5, 2).
GW_FN void gw_scalar(gguf_writer *w, const char *key, uint32_t type, uint64_t bits, int bytes) {
    gw_key(w, key, type);
    gw_number(&w->kv, bits, bytes);
}
GW_FN void gw_u32(gguf_writer *w, const char *key, uint32_t v) { gw_scalar(w, key, GW_U32, v, 4); }
GW_FN void gw_bool(gguf_writer *w, const char *key, int v) { gw_scalar(w, key, GW_BOOL, v != 0, 1); }
GW_FN void gw_f32(gguf_writer *w, const char *key, float v) {
    uint32_t bits;
    memcpy(&bits, &v, 4);
    gw_scalar(w, key, GW_F32, bits, 4);
}
GW_FN void gw_f64(gguf_writer *w, const char *key, double v) {
    uint64_t bits;
    memcpy(&bits, &v, 8);
    gw_scalar(w, key, GW_F64, bits, 8);
}
GW_FN void gw_text_n(gguf_writer *w, const char *key, const char *s, size_t n) {
    gw_key(w, key, GW_STRING);
    gw_string(&w->kv, s, n);
}
GW_FN void gw_text(gguf_writer *w, const char *key, const char *s) { gw_text_n(w, key, s, strlen(s)); }
// The head of an array; its elements follow by gw_number, gw_bytes or gw_string on w->kv.
GW_FN void gw_array(gguf_writer *w, const char *key, uint32_t elem_type, uint64_t n) {
    gw_key(w, key, GW_ARRAY);
    gw_number(&w->kv, elem_type, 4);
    gw_number(&w->kv, n, 8);
}
GW_FN void gw_texts(gguf_writer *w, const char *key, const char *const *s, uint64_t n) {
    uint64_t i;
    gw_array(w, key, GW_STRING, n);
    for (i = 0; i < n; i++) gw_string(&w->kv, s[i], strlen(s[i]));
}
GW_FN void gw_f32s(gguf_writer *w, const char *key, const float *v, uint64_t n) {
    uint64_t i;
    gw_array(w, key, GW_F32, n);
    for (i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], 4);
        gw_number(&w->kv, bits, 4);
    }
}
GW_FN void gw_i32s(gguf_writer *w, const char *key, const int32_t *v, uint64_t n) {
    uint64_t i;
    gw_array(w, key, GW_I32, n);
    for (i = 0; i < n; i++) gw_number(&w->kv, (uint32_t)v[i], 4);
}
// Data follows the tensor before, padded to the alignment.
GW_FN void gw_tensor(gguf_writer *w, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims, const void *data,
                     size_t n_bytes) {
    static const unsigned char zero[64] = { 0 };
    uint32_t i;
    while (w->data.n % w->alignment) gw_bytes(&w->data, zero, 1);
    gw_string(&w->infos, name, strlen(name));
    gw_number(&w->infos, n_dims, 4);
    for (i = 0; i < n_dims; i++) gw_number(&w->infos, dims[i], 8);
    gw_number(&w->infos, type, 4);
    gw_number(&w->infos, w->data.n, 8);
    gw_bytes(&w->data, data, n_bytes);
    w->n_tensors++;
}
// The file, of exactly *n bytes: what is read past its end is caught by the sanitizers.
GW_FN unsigned char *gw_end(gguf_writer *w, size_t *n) {
    gw_buffer f = { NULL, 0, 0 };
    unsigned char *exact;
    gw_bytes(&f, "GGUF", 4);
    gw_number(&f, w->version, 4);
    gw_number(&f, w->n_tensors, 8);
    gw_number(&f, w->n_kv, 8);
    gw_bytes(&f, w->kv.p, w->kv.n);
    gw_bytes(&f, w->infos.p, w->infos.n);
    w->n_directory = f.n;
    while (f.n % w->alignment) gw_bytes(&f, "", 1);
    w->data_at = f.n;
    gw_bytes(&f, w->data.p, w->data.n);
    exact = (unsigned char *)malloc(f.n ? f.n : 1);
    if (!exact) abort();
    memcpy(exact, f.p, f.n);
    *n = f.n;
    free(f.p);
    free(w->kv.p);
    free(w->infos.p);
    free(w->data.p);
    return exact;
}

// Where the bytes behind a key or a tensor name stand (a key's value type, a tensor's number of dimensions); 0: not found.
GW_FN size_t gw_value(const unsigned char *bytes, size_t n, const char *name) {
    size_t len = strlen(name), i;
    for (i = 24; i + 8 + len <= n; i++) {
        uint64_t stored = 0;
        int k;
        for (k = 7; k >= 0; k--) stored = stored << 8 | bytes[i + (size_t)k];
        if (stored == len && memcmp(bytes + i + 8, name, len) == 0) return i + 8 + len;
    }
    return 0;
}
GW_FN void gw_patch(unsigned char *bytes, size_t at, uint64_t v, int n_bytes) {
    int i;
    for (i = 0; i < n_bytes; i++) bytes[at + (size_t)i] = (unsigned char)(v >> 8 * i);
}

#endif
