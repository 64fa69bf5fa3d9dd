// llm_impl.h - the implementation of llm.h. Read it from top to bottom: a section calls only sections above it, so there are no
// forward declarations. `grep -n '>>' llm_impl.h` lists the spine.
//
//   config     compilers, CPUs, byte order
//   types      strings, byte and UTF-8 access, checked arithmetic, fused multiply-add
//   error      results, sentences, the log
//   memory     the allocator, counted; arenas; arrays that grow; layouts
//   platform   files, mapping, clock, threads, floating-point environment: the only operating system
//   machine    what the system tells about cores, memory, heat and power
//   pool       worker threads and the fork-join
//   formats    stored types: one card each
//   gguf       files: cursor, directory, shards
//   vectors    float kernels, written once over sixteen lanes and compiled per instruction set
//   kernels    matrix kernels (scalar, x86, neon, wasm), CPU detection, dispatch
//   ops        what the forward pass is made of: matmul, norm, rounding to int8, gating, sums on [T, n] arrays
//   kv         keys and values of past tokens, in pages
//   arch       an architecture is a row of data: keys, tensors, flags
//   forward    tokens -> logits: heads, attention, feed-forward, experts; one path for prefill and decode
//   unicode    categories of characters; where UTF-8 may be cut
//   tokenizer  text <-> tokens
//   template   messages -> prompt text
//   sampler    logits -> token
//   identity   which file is this: SHA-256
//   diagnosis  whether the promise of bits holds; the roofline; the first touch
//   facts      what llm_stats tells about build, machine and time
//   rules      causes of slowness in those facts
//   plan       what a model would take; the report
//   public     the functions of llm.h, thin
//
// N and a number is a rule for roundings; together they make every CPU and compiler give the same bits:
//   N0  the floating-point environment is ours for a call's length     N6   norms, activation functions, bias and scale, experts
//   N1  no product goes into a sum but by llm__fma                     N7   attention: keys and values rounded, spans, their merging
//   N2  fma and sqrt, rounded once, without libm                       N8   rope: angles in turns, as integers
//   N3  activations to int8, with a scale per 32                       N9   NaN and infinity end in a code
//   N4  dots of stored types: terms of 32, in one order                N10  sampling: integers where order could matter
//   N5  float dots and sums: sixteen lanes, folded in halves
//
// To add a stored type: a row and a card in formats; it is then right on every CPU. To make it fast: an unpack in the instruction
// set's block of kernels and a row in its list of formats. To add an instruction set: its LLM__HAS_ in config, its sixteen-lane
// primitives and a pass in vectors, its block in kernels, and a line in each function of `which of them`. To add an architecture: a
// row in arch; code in forward only if the mathematics is new.
// To port: platform; or LLM_NO_STDLIB, with memory and a clock from the host, where there is no system.

#if !defined(LLM__IMPL_H) && !defined(LLM__PASS)
#define LLM__IMPL_H
#define LLM__WHOLE                // this reading takes the whole file; a pass (see vectors) only the part that is marked
#ifndef LLM_H
#error "include llm.h with LLM_IMPLEMENTATION defined, not llm_impl.h"
#endif
#endif
#if defined(LLM__WHOLE) && !defined(LLM__PASS)

//------------------------------------------------------------------------------------------------------------------------------
// >>config   What the compiler and the CPU are, as far as more than one section needs it. Apart from it, platform asks where instructions
//            or system calls differ between CPUs (the word that controls floats, a pause, a barrier, the set of signals), kernels for
//            CPUID, and the end of the file gives back what is changed here.

#if defined(__GNUC__) || defined(__clang__)
#define LLM__GNUC 1
#else
#define LLM__GNUC 0
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#define LLM__MSVC 1
#else
#define LLM__MSVC 0
#endif
#if defined(__clang__)
#define LLM__COMPILER "clang " __clang_version__
#elif defined(__TINYC__)
#define LLM__COMPILER "tcc"
#elif defined(__GNUC__)
#define LLM__COMPILER "gcc " __VERSION__
#elif defined(_MSC_VER)
#define LLM__COMPILER "MSVC"
#else
#define LLM__COMPILER "an unknown compiler"
#endif

#if defined(__x86_64__) || defined(_M_X64)
#define LLM__X64 1
#else
#define LLM__X64 0
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define LLM__ARM64 1
#else
#define LLM__ARM64 0
#endif

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LLM__BIG_ENDIAN 1
#endif
#endif
#ifndef LLM__BIG_ENDIAN
#define LLM__BIG_ENDIAN 0
#endif

#if defined(__TINYC__) && !defined(LLM_NO_THREADS)
#define LLM_NO_THREADS            // no atomics
#endif
#if defined(LLM_SMALL) && !defined(LLM_NO_SIMD)
#define LLM_NO_SIMD
#endif
// No C library, so nothing of a system either: its calls come through that library.
#if defined(LLM_NO_STDLIB)
#ifndef LLM_NO_STDIO
#define LLM_NO_STDIO
#endif
#ifndef LLM_NO_MMAP
#define LLM_NO_MMAP
#endif
#ifndef LLM_NO_THREADS
#define LLM_NO_THREADS
#endif
#endif
// What is left out is guarded by constants in one place each, and the compiler drops what nothing reaches: no function knows two shapes.
#if defined(LLM_NO_STDIO)
#define LLM__FILES 0
#else
#define LLM__FILES 1
#endif
#if defined(LLM_NO_DIAGNOSIS)
#define LLM__DIAGNOSIS 0
#else
#define LLM__DIAGNOSIS 1
#endif
#if defined(LLM_NO_BPE)
#define LLM__BPE 0
#else
#define LLM__BPE 1
#endif
#if defined(LLM_NO_SPM)
#define LLM__SPM 0
#else
#define LLM__SPM 1
#endif
#if defined(LLM_NO_UNICODE)
#define LLM__UNICODE 0
#else
#define LLM__UNICODE 1
#endif
#if defined(LLM_NO_SENTENCES)
#define LLM__SENTENCES 0
#else
#define LLM__SENTENCES 1
#endif
#define LLM__FIGURES (LLM__SENTENCES || LLM__DIAGNOSIS)       // nothing else has numbers with a point
#if defined(LLM_NO_SPLIT)
#define LLM__SHARDS 0
#else
#define LLM__SHARDS 1
#endif
#if defined(LLM_NO_EXPERTS)
#define LLM__MOE 0
#else
#define LLM__MOE 1
#endif
#if (defined(LLM_MALLOC) && !defined(LLM_FREE)) || (!defined(LLM_MALLOC) && defined(LLM_FREE))
#error "define both LLM_MALLOC and LLM_FREE, or neither"
#endif

// Per-function instruction sets let one plain build carry every kernel; MSVC accepts the intrinsics anywhere.
#if LLM__X64 && !defined(LLM_NO_SIMD) && !defined(__TINYC__) && (LLM__GNUC || LLM__MSVC)
#define LLM__HAS_AVX2 1
#else
#define LLM__HAS_AVX2 0
#endif
#if LLM__HAS_AVX2 && (LLM__MSVC || (defined(__clang__) ? __clang_major__ >= 8 : __GNUC__ >= 9))
#define LLM__HAS_AVX512 1
#else
#define LLM__HAS_AVX512 0
#endif
#if LLM__HAS_AVX2 && (LLM__MSVC || (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11))
#define LLM__HAS_AVX_VNNI 1
#else
#define LLM__HAS_AVX_VNNI 0
#endif
// MSVC has other names for vector types and no assembler inside functions: there ARM64 runs the scalar code.
#if LLM__ARM64 && !LLM__BIG_ENDIAN && !defined(LLM_NO_SIMD) && !defined(__TINYC__) && LLM__GNUC
#define LLM__HAS_NEON 1
#else
#define LLM__HAS_NEON 0
#endif
// A WebAssembly module either has them everywhere (-msimd128) or an engine without them refuses it whole: nothing to ask at run time.
#if defined(__wasm_simd128__) && !defined(LLM_NO_SIMD)
#define LLM__HAS_WASM128 1
#else
#define LLM__HAS_WASM128 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LLM__SANITIZED 1          // every inlined load would carry its checks along: minutes of compiling
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define LLM__SANITIZED 1
#endif
#endif
#ifndef LLM__SANITIZED
#define LLM__SANITIZED 0
#endif
#if defined(__FP_FAST_FMAF) && LLM__GNUC
#define LLM__HW_FMA 1             // fmaf is one instruction everywhere
#else
#define LLM__HW_FMA 0
#endif
// GCC can optimise functions of a build that does not optimise: in a debug build of the host's the library is then 17 times as fast as it
// would be, and half as fast as at -O2 (SmolLM2 on Zen 4). LLM_DEBUG leaves it alone, for stepping through it.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__) && !defined(__OPTIMIZE__) && !defined(LLM_DEBUG) && !LLM__SANITIZED
#define LLM__RAISED 1
#else
#define LLM__RAISED 0
#endif
#if defined(__OPTIMIZE__) || (defined(_MSC_VER) && !defined(__clang__) && !defined(_DEBUG))
#define LLM__OPTIMIZED 1u         // told here, because the pragma that raises defines __OPTIMIZE__
#else
#define LLM__OPTIMIZED 0u
#endif
#if LLM__GNUC && !defined(__OPTIMIZE__) && !LLM__RAISED
#if !defined(LLM_QUIET) && !defined(LLM_DEBUG) && !LLM__SANITIZED
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic warning "-W#pragma-messages"                  // seen, but no error under -Werror
#endif
#pragma message("llm.h: compiled without optimisation, everything is 10 to 50 times slower; use -O2 (LLM_QUIET silences this)")
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif
#define LLM__UNOPTIMIZED 1
#else
#define LLM__UNOPTIMIZED 0
#endif
#if LLM__GNUC && !defined(__TINYC__)
#define LLM__TARGET(isa)  __attribute__((target(isa)))
#if LLM__SANITIZED
#define LLM__INLINE       static inline
#else
#define LLM__INLINE       static inline __attribute__((always_inline))
#endif
#define LLM__NOINLINE     __attribute__((noinline))
#define LLM__UNUSED       __attribute__((unused))
#define LLM__PREFETCH(p)  __builtin_prefetch(p)
#define LLM__PREFETCH_L2(p)  __builtin_prefetch((p), 0, 2)      // read, not worth the first cache
#elif LLM__MSVC
#define LLM__TARGET(isa)
#define LLM__INLINE       static __forceinline
#define LLM__NOINLINE     __declspec(noinline)
#define LLM__UNUSED
#define LLM__PREFETCH(p)  ((void)(p))
#define LLM__PREFETCH_L2(p)  ((void)(p))
#else
#define LLM__TARGET(isa)
#define LLM__INLINE       static inline
#define LLM__NOINLINE
#define LLM__UNUSED
#define LLM__PREFETCH(p)  ((void)(p))
#define LLM__PREFETCH_L2(p)  ((void)(p))
#endif

// The root of a float, in its place, by the one instruction of 32-bit ARM and RISC-V cores with floating point: correctly rounded.
#if LLM__GNUC && !defined(__TINYC__) && defined(__ARM_PCS_VFP)
#define LLM__ROOT_OF(x)   __asm__("vsqrt.f32 %0, %1" : "=t"(x) : "t"(x))
#elif LLM__GNUC && !defined(__TINYC__) && defined(__riscv_flen)
#define LLM__ROOT_OF(x)   __asm__("fsqrt.s %0, %1" : "=f"(x) : "f"(x))
#endif

// Dots of bytes on ARM: to each of four sums four products (SDOT; of one lane of a), or eight products to each of 2 x 2 (SMMLA). Clang
// wants a function to have the feature. GNU as 2.40 refuses them below ARMv8.2, and what GCC raises to that can no longer inline what
// -mcpu was raised otherwise; so there they are put together from the numbers of their registers. Volatile: all as written, or GCC
// makes one long chain per sum of them.
#if LLM__HAS_NEON
#if defined(__clang__)
#define LLM__DOTPROD      LLM__TARGET("dotprod")
#define LLM__I8MM         LLM__TARGET("dotprod,i8mm")
#define LLM__SDOT(sum, w, a)             __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(a))
#define LLM__SDOT_LANE(sum, w, a, lane)  __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(sum) : "w"(w), "w"(a))
#define LLM__SMMLA(sum, w, a)            __asm__ volatile("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(w), "w"(a))
#else
#define LLM__DOTPROD
#define LLM__I8MM
#define LLM__INST(code, sum, w, a)                                                                                \
    (".ifndef .Lllm_v0\n"                                                                                         \
     ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"             \
     ".equ .Lllm_v\\i,\\i\n.endr\n.endif\n"                                                                      \
     ".inst " code " | .Lllm_%2 << 16 | .Lllm_%1 << 5 | .Lllm_%0" : "+w"(sum) : "w"(w), "w"(a))
#define LLM__SDOT(sum, w, a)             __asm__ LLM__INST("0x4e809400", sum, w, a)
#define LLM__SDOT_LANE(sum, w, a, lane)  \
    __asm__ volatile LLM__INST("0x4f80e000 | (" #lane " & 1) << 21 | (" #lane " >> 1) << 11", sum, w, a)
#define LLM__SMMLA(sum, w, a)            __asm__ volatile LLM__INST("0x4e80a400", sum, w, a)
#endif
#endif
#if defined(__ARM_FEATURE_DOTPROD)
#define LLM__ASSUMES_DOTPROD 1    // the compiler was told that every CPU has it
#else
#define LLM__ASSUMES_DOTPROD 0
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define LLM__ASSUMES_I8MM 1
#else
#define LLM__ASSUMES_I8MM 0
#endif

// The meaning of every number is fixed, so the compiler may neither fuse nor reorder: off for the whole implementation, whatever
// the command line says (GCC: below, after the includes). Clang hears float_control for what is parsed after it, intrinsics included, but
// not everywhere: under -ffast-math the answers stay right to the last digits but not to the last bit, and diagnosis says so.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#pragma clang diagnostic ignored "-Wignored-pragmas"            // clang 14 has no float_control for ARM
#pragma float_control(precise, on, push)
#pragma STDC FP_CONTRACT OFF
#if defined(__FAST_MATH__)
#define LLM__CLANG_FAST_MATH 1
#ifndef LLM_QUIET
#warning "llm.h: clang's -ffast-math changes results: the same-bits promise is off in this build (LLM_QUIET silences this)"
#endif
#endif
#endif
#ifndef LLM__CLANG_FAST_MATH
#define LLM__CLANG_FAST_MATH 0
#endif

// The x87 computes with more digits than the operands have, and no pragma makes it round where it must. An i386 that has SSE2 is as good as
// any other CPU.
#if (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2) || (defined(__TINYC__) && defined(__i386__)) || \
    (defined(_M_IX86_FP) && _M_IX86_FP < 2)
#define LLM__X87 1
#else
#define LLM__X87 0
#endif

#include <stdarg.h>
#include <stdbool.h>
#if !defined(LLM_NO_STDLIB)
#include <string.h>
#if !defined(LLM_MALLOC)
#include <stdlib.h>
#endif
#endif
#if LLM__X64 && (LLM__GNUC || LLM__MSVC) && !defined(__TINYC__)
#define LLM__HAS_CPUID 1          // asked even if no kernels are compiled in: what the build lacks is a finding
#if LLM__MSVC
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#else
#define LLM__HAS_CPUID 0
#endif
#if LLM__HAS_AVX2
#include <immintrin.h>
#if defined(_MSC_VER) && defined(__clang__)
// clang-cl's immintrin.h leaves out what the command line does not allow to every function.
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
#if LLM__HAS_AVX512
#include <avx512fintrin.h>
#include <avx512vlintrin.h>
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vlbwintrin.h>
#include <avx512vldqintrin.h>
#include <avx512vnniintrin.h>
#include <avx512vlvnniintrin.h>
#endif
#if LLM__HAS_AVX_VNNI
#include <avxvnniintrin.h>
#endif
#endif
#elif LLM__X64 && !defined(__TINYC__) && !defined(LLM_NO_STDLIB)      // it includes <stdlib.h>
#include <xmmintrin.h>            // the square root
#endif
#if LLM__ARM64 && !defined(LLM_NO_SIMD) && !defined(__TINYC__)
#include <arm_neon.h>
#endif
#if LLM__HAS_WASM128
#include <wasm_simd128.h>
#endif

#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__)
#pragma GCC push_options
#pragma GCC optimize("no-fast-math", "fp-contract=off")
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 1
#pragma GCC optimize("excess-precision=fast")               // s390x under -std=c99: floats are computed as floats, not as doubles
#endif
#if LLM__RAISED
#pragma GCC optimize("O2")
#endif
#pragma GCC diagnostic push                                 // GCC's own headers: the register that AVX-512 intrinsics leave undefined
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#ifdef __cplusplus
#define LLM__ZERO {}
#else
#define LLM__ZERO {0}
#endif
#ifdef LLM_STATIC
#define LLM__PUBLIC static
#else
#define LLM__PUBLIC
#endif
#define LLM__STATIC_ASSERT(cond, name) typedef char llm__assert_##name[(cond) ? 1 : -1] LLM__UNUSED
#define LLM__COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LLM__MIN(a, b) ((a) < (b) ? (a) : (b))
#define LLM__MAX(a, b) ((a) > (b) ? (a) : (b))
// A double that no float is, where digits count: GCC's -fsingle-precision-constant, usual on boards, cuts 0.1 to a float, but not 0.1L.
#define LLM__F64(x)    ((double)x##L)

// With LLM_NO_STDLIB the five functions of <string.h> that are called here are our own. Compilers call four of them by themselves, for
// structs that are copied or cleared, whatever they are told about the C library: so our own carry those names in the assembler, where
// local symbols disturb nobody, and another name in the source, where a host's <string.h> may stand. LLM__STEP in a loop keeps a compiler
// from recognising it as the very function that it is part of.
#if defined(LLM_NO_STDLIB)
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#if LLM__GNUC && !defined(__TINYC__)
#define LLM__SYMBOL2(prefix, name) #prefix #name
#define LLM__SYMBOL1(prefix, name) LLM__SYMBOL2(prefix, name)
#define LLM__OWN(type, name, args)                                                                                              \
    static type llm__##name args __asm__(LLM__SYMBOL1(__USER_LABEL_PREFIX__, name));                                            \
    static __attribute__((used)) LLM__NOINLINE type llm__##name args
#define LLM__STEP() __asm__ volatile("")
#define LLM__OWN_OR_INLINE(name) __builtin_##name
typedef size_t __attribute__((may_alias)) llm__word;
#else
#define LLM__OWN(type, name, args) static type llm__##name args
#define LLM__STEP() ((void)0)
#define LLM__OWN_OR_INLINE(name) llm__##name
typedef uint8_t llm__word;
#endif
#endif

// Where /proc and /sys are: the tests put trees of real phones here.
#ifndef LLM__ROOT
#define LLM__ROOT ""
#endif
// Threads for which there is no CPU rest. Tests that want to see more threads than CPUs say 0.
#ifndef LLM__RESTS
#define LLM__RESTS 1
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>types   Strings with a length, bytes as numbers and as UTF-8, arithmetic that cannot wrap unseen.

#if defined(LLM_NO_STDLIB)
// Words where both sides are aligned: most of what is copied are floats.
LLM__OWN(void *, memcpy, (void *to, const void *from, size_t n)) {
    uint8_t *d = (uint8_t *)to;
    const uint8_t *s = (const uint8_t *)from;
    if ((((uintptr_t)d | (uintptr_t)s) & (sizeof(llm__word) - 1)) == 0)
        for (; n >= sizeof(llm__word); n -= sizeof(llm__word), d += sizeof(llm__word), s += sizeof(llm__word)) {
            *(llm__word *)(void *)d = *(const llm__word *)(const void *)s;
            LLM__STEP();
        }
    for (; n; n--) { *d++ = *s++; LLM__STEP(); }
    return to;
}
LLM__OWN(void *, memmove, (void *to, const void *from, size_t n)) {
    uint8_t *d = (uint8_t *)to;
    const uint8_t *s = (const uint8_t *)from;
    if (d <= s) for (; n; n--) { *d++ = *s++; LLM__STEP(); }
    for (; n; n--) { d[n - 1] = s[n - 1]; LLM__STEP(); }
    return to;
}
LLM__OWN(void *, memset, (void *to, int value, size_t n)) {
    uint8_t *d = (uint8_t *)to;
    for (; n; n--) { *d++ = (uint8_t)value; LLM__STEP(); }
    return to;
}
LLM__OWN(int, memcmp, (const void *a, const void *b, size_t n)) {
    const uint8_t *p = (const uint8_t *)a, *q = (const uint8_t *)b;
    for (; n && *p == *q; n--) { p++; q++; LLM__STEP(); }
    return n ? (int)*p - (int)*q : 0;
}
#if defined(__clang__)                              // makes it of a memcmp that is compared with 0
LLM__OWN(int, bcmp, (const void *a, const void *b, size_t n)) { return llm__memcmp(a, b, n); }
#endif
LLM__OWN(size_t, strlen, (const char *s)) {
    size_t n = 0;
    while (s[n]) { n++; LLM__STEP(); }
    return n;
}
#define memcpy  LLM__OWN_OR_INLINE(memcpy)          // a few bytes are a load and a store
#define memmove LLM__OWN_OR_INLINE(memmove)
#define memset  LLM__OWN_OR_INLINE(memset)
#define memcmp  LLM__OWN_OR_INLINE(memcmp)
#define strlen  LLM__OWN_OR_INLINE(strlen)
#endif

typedef struct llm__str { const char *p; size_t n; } llm__str;        // not NUL-terminated; p may point into the file

static llm__str llm__str_of(const char *s) {
    llm__str r; r.p = s ? s : ""; r.n = strlen(r.p); return r;
}
static llm__str llm__str_n(const char *s, size_t n) {
    llm__str r; r.p = s; r.n = n; return r;
}
static bool llm__str_eq(llm__str a, llm__str b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }
static bool llm__str_is(llm__str a, const char *b) { return llm__str_eq(a, llm__str_of(b)); }
static bool llm__str_starts(llm__str a, const char *b) {
    size_t n = strlen(b);
    return a.n >= n && memcmp(a.p, b, n) == 0;
}
// Offset of needle in a, or LLM_FAILED.
static size_t llm__str_find(llm__str a, const char *needle) {
    size_t n = strlen(needle), i;
    for (i = 0; n <= a.n && i <= a.n - n; i++)
        if (memcmp(a.p + i, needle, n) == 0) return i;
    return LLM_FAILED;
}
static bool llm__str_ascii(llm__str a) {
    size_t i = 0;
    while (i < a.n && (uint8_t)a.p[i] < 0x80) i++;
    return i == a.n;
}
static bool llm__has(const char *text, const char *part) { return llm__str_find(llm__str_of(text), part) != LLM_FAILED; }
// How far to the first c, or to the end.
static size_t llm__until(const char *s, char c) {
    size_t n = 0;
    while (s[n] && s[n] != c) n++;
    return n;
}

// GGUF is little-endian and nothing in it need be aligned: no typed pointer is ever formed on file data.
static uint16_t llm__le16(const void *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint16_t)(b[0] | b[1] << 8);
}
static uint32_t llm__le32(const void *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static uint64_t llm__le64(const void *p) {
    return (uint64_t)llm__le32(p) | (uint64_t)llm__le32((const uint8_t *)p + 4) << 32;
}

static uint32_t llm__f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static float    llm__bits_f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static uint64_t llm__f64_bits(double f) { uint64_t u; memcpy(&u, &f, 8); return u; }
static double   llm__bits_f64(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }
// on the bits: fast-math cannot fold it
static bool     llm__f32_is_nan(float f) { return (llm__f32_bits(f) & 0x7fffffffu) > 0x7f800000u; }
static bool     llm__f32_is_finite(float f) { return (llm__f32_bits(f) & 0x7f800000u) != 0x7f800000u; }

// Refuse before multiplying, so that nothing can wrap first.
static bool llm__mul(uint64_t a, uint64_t b, uint64_t *out) {
    if (b && a > UINT64_MAX / b) return false;
    *out = a * b;
    return true;
}
static bool llm__add(uint64_t a, uint64_t b, uint64_t *out) {
    if (a > UINT64_MAX - b) return false;
    *out = a + b;
    return true;
}

// F16 -> F32 is exact; subnormals, infinities and NaN payloads included.
static float llm__f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 1023u;
    if (exponent == 0) {
        float f = (float)mantissa * 5.9604644775390625e-8f;                    // 2^-24
        return llm__bits_f32(llm__f32_bits(f) | sign);
    }
    if (exponent == 31) return llm__bits_f32(sign | 0x7f800000u | mantissa << 13);
    return llm__bits_f32(sign | (exponent + 112) << 23 | mantissa << 13);
}

// F32 -> F16, half to even, subnormals kept; finite values that would round to infinity saturate (N7). NaN and infinity stay.
static uint16_t llm__f32_to_f16(float f) {
    uint32_t u = llm__f32_bits(f), a = u & 0x7fffffffu;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);
    if (a >= 0x7f800000u) return (uint16_t)(sign | 0x7c00u | (a > 0x7f800000u ? 0x200u | (a >> 13 & 0x3ffu) : 0u));
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7bffu);                    // 65520 and above would round to infinity
    if (a < 0x33000001u) return sign;                                           // at most half of the smallest subnormal
    if (a < 0x38800000u) {                                                      // subnormal: the value in units of 2^-24
        uint32_t shift = 126u - (a >> 23), m = (a & 0x7fffffu) | 0x800000u;
        uint32_t q = m >> shift, rest = m & ((1u << shift) - 1u), half = 1u << (shift - 1u);
        return (uint16_t)(sign | (q + (rest > half || (rest == half && (q & 1u)))));
    }
    return (uint16_t)(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13));
}
static float llm__bf16_to_f32(uint16_t h) { return llm__bits_f32((uint32_t)h << 16); }

#define LLM__UTF8_BAD 0xffffffffu

// How many bytes the sequence that begins with b wants; 0 if none begins with it.
static uint32_t llm__utf8_wants(uint8_t b) {
    return b < 0x80 ? 1 : b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
}
// Whether second may follow first: here overlong forms, surrogates and what lies beyond U+10FFFF fall away.
static bool llm__utf8_pair(uint8_t first, uint8_t second) {
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80, high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}
// The code point at p[0..n), n > 0, and its length; LLM__UTF8_BAD and 1 where none is whole.
static uint32_t llm__utf8_get(const char *p, size_t n, uint32_t *length) {
    const uint8_t *b = (const uint8_t *)p;
    uint32_t wants = llm__utf8_wants(b[0]), c, i;
    *length = 1;
    if (wants == 1) return b[0];
    if (!wants || n < wants || !llm__utf8_pair(b[0], b[1])) return LLM__UTF8_BAD;
    c = b[0] & (0x7fu >> wants);
    for (i = 1; i < wants; i++) {
        if ((b[i] & 0xc0) != 0x80) return LLM__UTF8_BAD;
        c = c << 6 | (b[i] & 0x3fu);
    }
    *length = wants;
    return c;
}

// a*b + c rounded once. Without the instruction: the product is exact in double; the sum is rounded to odd there, which leaves
// enough behind the point for the one rounding to float to come out right (Boldo & Melquiond, "Emulation of FMA and
// correctly rounded sums", 2008).
#if LLM__HW_FMA
static inline float llm__fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
static float llm__fma(float a, float b, float c) {
    double p = (double)a * (double)b, q = (double)c;
    double r = p + q, t = r - p;
    double e = (p - (r - t)) + (q - t);                                         // TwoSum: r + e == p + q exactly
    uint64_t u = llm__f64_bits(r);
    if (e != 0.0 && !(u & 1) && (u & 0x7ff0000000000000u) != 0x7ff0000000000000u) {
        bool away = (e > 0.0) == (u >> 63 == 0);                                // e points away from zero
        r = llm__bits_f64(away ? u + 1 : u - 1);
    }
    return (float)r;
}
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>error   One sentence and a code, written where the reason is known. Nothing is printed.

#define LLM__RESULTS(X)                                                                        \
    X(LLM_OK,           "success")                                                             \
    X(LLM_DONE,         "the answer is complete")                                              \
    X(LLM_AGAIN,        "the budget is used up; call again")                                   \
    X(LLM_BAD_ARG,      "an argument is missing or out of range")                              \
    X(LLM_NO_MEMORY,    "the allocation failed; lower n_ctx or n_batch, or give more memory")  \
    X(LLM_IO,           "the file could not be read, or changed while in use")                 \
    X(LLM_BAD_FILE,     "not a usable GGUF file")                                              \
    X(LLM_UNSUPPORTED,  "this version of llm.h cannot do that")                                \
    X(LLM_CONTEXT_FULL, "the context is full; rewind, shorten the input or raise n_ctx")       \
    X(LLM_CANCELLED,    "cancelled")                                                           \
    X(LLM_BAD_LOGITS,   "the model produced NaN or infinite logits; its weights are damaged")  \
    X(LLM_BUSY,         "the context is in use by another thread")                             \
    X(LLM_BAD_STATE,    "the call does not fit the state of the context")                      \
    X(LLM_BAD_TEMPLATE, "the chat template is missing or not understood")                      \
    X(LLM_TOO_BIG,      "it does not fit the memory there is")                                 \
    X(LLM_BAD_GRAMMAR,  "the grammar is not understood")

// Formatting for sentences: %s char*, %v llm__str* that a file names (not in builds without sentences), %u uint32_t, %U uint64_t, %d int,
// %x uint32_t, %X uint64_t in 16 hexadecimal digits, %f double with one decimal, %B uint64_t bytes as a size, %K likewise where 0 is
// unknown, %%. Controls and bytes that are no UTF-8 come out as '?', so that a hostile name cannot play with a terminal and a sentence is
// text in any program.
typedef struct llm__text { char *p; size_t n, cap; } llm__text;        // n may exceed cap: the length needed
#define LLM__NAME_SHOWN 100u

static void llm__text_byte(llm__text *t, char c) {
    if (t->n < t->cap) t->p[t->n] = c;
    t->n++;
}
static void llm__text_bytes(llm__text *t, const char *s, size_t n) {
    if (t->n < t->cap) memcpy(t->p + t->n, s, LLM__MIN(n, t->cap - t->n));
    t->n += n;
}
// Controls from U+0080 on are none either: some terminals obey them.
static bool llm__text_is_visible(uint32_t c) { return c != LLM__UTF8_BAD && c >= 32 && (c < 127 || c > 0x9f); }
static void llm__text_visible(llm__text *t, llm__str s) {
    uint32_t length;
    size_t i;
    for (i = 0; i < s.n; i += length)
        if (llm__text_is_visible(llm__utf8_get(s.p + i, s.n - i, &length))) llm__text_bytes(t, s.p + i, length);
        else llm__text_byte(t, '?');
}
// A name may have 65535 bytes, and the reason must fit behind two of them.
static void llm__text_name(llm__text *t, llm__str s) {
    size_t n = LLM__MIN(s.n, LLM__NAME_SHOWN);
    while (n && n < s.n && ((uint8_t)s.p[n] & 0xc0) == 0x80) n--;
    llm__text_visible(t, llm__str_n(s.p, n));
    if (n < s.n) llm__text_bytes(t, "...", 3);
}
static void llm__text_u64(llm__text *t, uint64_t v, unsigned base) {
    char digits[20];
    unsigned n = 0;
    do digits[n++] = "0123456789abcdef"[v % base]; while (v /= base);
    while (n) llm__text_byte(t, digits[--n]);
}
static void llm__text_real(llm__text *t, double v, int decimals) {
    uint64_t unit = 1, n;
    if (!(v < 1e15 && v > -1e15)) { llm__text_byte(t, '?'); return; }
    if (v < 0.0) { llm__text_byte(t, '-'); v = -v; }
    for (; decimals > 0; decimals--) unit *= 10;
    n = (uint64_t)(v * (double)unit + 0.5);
    llm__text_u64(t, n / unit, 10);
    for (n %= unit; unit > 1; n %= unit) {
        if (decimals++ == 0) llm__text_byte(t, '.');
        unit /= 10;
        llm__text_byte(t, (char)('0' + n / unit));
    }
}
// "640 MB": three digits, powers of 1000.
static void llm__text_size(llm__text *t, uint64_t bytes) {
    static const char *const units[] = { " B", " kB", " MB", " GB", " TB" };
    double v = (double)bytes;
    size_t i = 0;
    for (; v >= 999.5 && i + 1 < LLM__COUNT(units); i++) v /= 1000.0;
    llm__text_real(t, v, i == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2);
    llm__text_bytes(t, units[i], strlen(units[i]));
}
static void llm__text_known(llm__text *t, uint64_t bytes) {
    if (bytes) llm__text_size(t, bytes);
    else llm__text_bytes(t, "unknown", 7);
}
static void llm__text_hex64(llm__text *t, uint64_t v) {
    int shift;
    for (shift = 60; shift >= 0; shift -= 4) llm__text_byte(t, "0123456789abcdef"[v >> shift & 15u]);
}
static void llm__text_args(llm__text *t, const char *format, va_list args) {
    const char *f;
    llm__str name;
    double real;
    uint64_t bytes;
    for (f = format; *f; f++) {
        if (*f != '%') { llm__text_byte(t, *f); continue; }
        switch (*++f) {
        case 's': llm__text_visible(t, llm__str_of(va_arg(args, const char *))); break;
        case 'v': name = *va_arg(args, const llm__str *); if (LLM__SENTENCES) llm__text_name(t, name); break;
        case 'u': llm__text_u64(t, va_arg(args, uint32_t), 10); break;
        case 'U': llm__text_u64(t, va_arg(args, uint64_t), 10); break;
        case 'x': llm__text_u64(t, va_arg(args, uint32_t), 16); break;
        case 'X': llm__text_hex64(t, va_arg(args, uint64_t)); break;
        case 'f': real = va_arg(args, double); if (LLM__FIGURES) llm__text_real(t, real, 1); break;
        case 'B': bytes = va_arg(args, uint64_t); if (LLM__FIGURES) llm__text_size(t, bytes); break;
        case 'K': bytes = va_arg(args, uint64_t); if (LLM__FIGURES) llm__text_known(t, bytes); break;
        case 'd': {
            int64_t v = va_arg(args, int);
            if (v < 0) llm__text_byte(t, '-');
            llm__text_u64(t, (uint64_t)(v < 0 ? -v : v), 10);
            break; }
        default:  llm__text_byte(t, *f); break;
        }
    }
}
// Ends with a NUL inside cap; what does not fit is cut at a whole UTF-8 character.
static void llm__text_end(llm__text *t) {
    size_t n = t->n, i;
    if (!t->cap) return;
    if (n >= t->cap) {
        n = t->cap - 1;
        for (i = n; i > 0 && n - i < 4 && ((uint8_t)t->p[i] & 0xc0) == 0x80; i--) { }
        n = ((uint8_t)t->p[n] & 0xc0) == 0x80 ? i : n;
    }
    t->p[n] = 0;
}
static void llm__text_add(llm__text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    llm__text_args(t, format, args);
    va_end(args);
}
static void llm__format_args(char *buf, size_t cap, const char *format, va_list args) {
    llm__text t;
    t.p = buf; t.n = 0; t.cap = cap;
    llm__text_args(&t, format, args);
    llm__text_end(&t);
}
static void llm__format(char *buf, size_t cap, const char *format, ...) {
    va_list args;
    va_start(args, format);
    llm__format_args(buf, cap, format, args);
    va_end(args);
}

static llm_result llm__ok(llm_error *e) {
    if (e) { e->code = LLM_OK; e->text[0] = 0; }
    return LLM_OK;
}
static const char *llm__result_text(llm_result result) {
#define LLM__X(code, text) if (result == code) return text;
    LLM__RESULTS(LLM__X)
#undef LLM__X
    return "unknown result";
}
#if defined(LLM_NO_SENTENCES)
// Each code has one sentence; those that name the case are not in the build. The branch that is never taken keeps their parts in use.
static llm_result llm__unsaid(const char *format, ...) { (void)format; return LLM_OK; }
static llm_result llm__fail_code(llm_error *e, llm_result code) {
    if (e) { e->code = code; llm__format(e->text, sizeof e->text, "%s", llm__result_text(code)); }
    return code;
}
#define llm__fail(e, code, ...) (0 ? llm__unsaid(__VA_ARGS__) : llm__fail_code((e), (code)))
#else
// return llm__fail(e, LLM_BAD_FILE, "tensor '%v': %u dimensions", &name, n_dims);
static llm_result llm__fail(llm_error *e, llm_result code, const char *format, ...) {
    va_list args;
    if (!e) return code;
    e->code = code;
    va_start(args, format);
    llm__format_args(e->text, sizeof e->text, format, args);
    va_end(args);
    return code;
}
#endif

enum { LLM__LOG_ERROR, LLM__LOG_WARNING, LLM__LOG_INFO };

#if defined(LLM_NO_SENTENCES)
#define llm__log(log, level, ...) ((void)(0 ? llm__unsaid(__VA_ARGS__) : LLM_OK), (void)(log), (void)(level))
#else
static void llm__log(const llm_logger *log, int level, const char *format, ...) {
    char buf[512];
    va_list args;
    if (!log->log_fn) return;
    va_start(args, format);
    llm__format_args(buf, sizeof buf, format, args);
    va_end(args);
    log->log_fn(log->user, level, buf);
}
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>memory   Every byte comes through here. A block knows its size: 64 bytes before it, so that the host's free_fn hears the truth
//            and every block is aligned to a cache line.

// What lies where in one buffer: blocks in lines of 64 bytes, one behind the other. A block that is given back makes room if it is the last
// one, and when none is left all is room again. llm_arena lays out its buffer so; a plan does the same sums without a buffer, while it
// goes through the allocations of a load, and therefore knows to the byte what an arena must have.
typedef struct llm__bump { uint64_t room, used, most, n_live; } llm__bump;

#define LLM__NOWHERE UINT64_MAX

static uint64_t llm__lines(uint64_t bytes) { return bytes ? (bytes + 63) & ~(uint64_t)63 : 64; }
static uint64_t llm__bump_take(llm__bump *b, uint64_t bytes) {
    const uint64_t at = b->used;
    if (bytes > b->room - at || llm__lines(bytes) > b->room - at) return LLM__NOWHERE;
    b->used += llm__lines(bytes);
    b->most = LLM__MAX(b->most, b->used);
    b->n_live++;
    return at;
}
static bool llm__bump_is_last(const llm__bump *b, uint64_t at, uint64_t bytes) { return at + llm__lines(bytes) == b->used; }
static void llm__bump_give(llm__bump *b, uint64_t at, uint64_t bytes) {
    if (llm__bump_is_last(b, at, bytes)) b->used = at;
    if (--b->n_live == 0) b->used = 0;
}

// The last block becomes longer.
static bool llm__bump_stretch(llm__bump *b, uint64_t had, uint64_t bytes) {
    const uint64_t at = b->used - llm__lines(had);
    if (bytes > b->room - at || llm__lines(bytes) > b->room - at) return false;
    b->used = at + llm__lines(bytes);
    b->most = LLM__MAX(b->most, b->used);
    return true;
}

typedef struct llm__arena { uint8_t *base; llm__bump bump; } llm__arena;

static void *llm__arena_alloc(void *user, size_t bytes, size_t align) {
    llm__arena *b = (llm__arena *)user;
    const uint64_t at = b ? llm__bump_take(&b->bump, bytes) : LLM__NOWHERE;
    (void)align;                                                    // 64 at most
    return at == LLM__NOWHERE ? NULL : b->base + (size_t)at;
}
static void llm__arena_free(void *user, void *p, size_t bytes) {
    llm__arena *b = (llm__arena *)user;
    if (p) llm__bump_give(&b->bump, (uint64_t)((uint8_t *)p - b->base), bytes);
}
// Always says no.
static llm_allocator llm__arena_none(void) {
    llm_allocator a;
    a.user = NULL;
    a.alloc_fn = llm__arena_alloc;
    a.free_fn = llm__arena_free;
    return a;
}
static llm_allocator llm__arena_on(llm__arena *b, uint8_t *base, uint64_t room) {          // base: aligned to 64
    llm_allocator a = llm__arena_none();
    a.user = b;
    memset(b, 0, sizeof *b);
    b->base = base;
    b->bump.room = room;
    return a;
}

// The program's arena has its state at the beginning of the buffer and its blocks from the next line on.
#define LLM__ARENA_HEAD 64
#define LLM__ARENA_OWN (63 + LLM__ARENA_HEAD)        // taken off, whatever the address: the room does not depend on where it lies

static llm_allocator llm__arena_in(void *buf, size_t bytes) {
    uint8_t *p;
    if (!buf || bytes <= LLM__ARENA_OWN) return llm__arena_none();
    p = (uint8_t *)buf + ((64 - ((uintptr_t)buf & 63)) & 63);
    return llm__arena_on((llm__arena *)(void *)p, p + LLM__ARENA_HEAD, bytes - LLM__ARENA_OWN);
}

typedef struct llm__heap {
    llm_allocator a;                   // a.alloc_fn NULL = the built-in one
    llm__bump *plan;                   // where in an arena every block would lie. NULL = nobody asks
    uint64_t *n_allocs;                // counts requests; its owner is the only thread that asks here. NULL = nobody counts
    uint64_t *n_bytes;                 // likewise what is allocated now
} llm__heap;

#define LLM__HEAD 64

#if defined(LLM_MALLOC)
static void *llm__sys_alloc(size_t bytes) { return LLM_MALLOC(bytes); }
static void  llm__sys_free(void *p) { LLM_FREE(p); }
#elif !defined(LLM_NO_STDLIB)
static void *llm__sys_alloc(size_t bytes) { return malloc(bytes); }
static void  llm__sys_free(void *p) { free(p); }
#else
static void *llm__sys_alloc(size_t bytes) { (void)bytes; return NULL; }
static void  llm__sys_free(void *p) { (void)p; }
#endif

// What lies before the pointer that is handed out. planned: bytes in the arena of a plan, at plan_at; 0 = not in it.
typedef struct llm__block { void *base; size_t bytes; uint64_t plan_at, planned; } llm__block;

static bool llm__heap_in_arena(const llm__heap *h) { return h->a.alloc_fn == llm__arena_alloc; }
// Where its blocks lie; NULL: nowhere of that kind, or the one that always says no.
static llm__arena *llm__heap_arena(const llm__heap *h) { return llm__heap_in_arena(h) ? (llm__arena *)h->a.user : NULL; }
// Whether all that may ever be needed must be taken at once: from an arena, or where a plan is made for one.
static bool llm__heap_reserves(const llm__heap *h) { return h->plan || llm__heap_in_arena(h); }

// malloc promises only 8 or 16: the block is moved up to the next cache line and remembers where it began.
static void *llm__alloc_bytes(const llm__heap *h, uint64_t bytes) {
    llm__block b = LLM__ZERO;
    uint8_t *p;
    if (bytes > SIZE_MAX - 2 * LLM__HEAD) return NULL;
    if (h->n_allocs) ++*h->n_allocs;
    if (h->a.alloc_fn) {
        b.bytes = (size_t)bytes + LLM__HEAD;
        b.base = h->a.alloc_fn(h->a.user, b.bytes, 64);
        if (!b.base) return NULL;
        p = (uint8_t *)b.base + LLM__HEAD;
    } else {
        b.bytes = (size_t)bytes + 2 * LLM__HEAD;
        b.base = llm__sys_alloc(b.bytes);
        if (!b.base) return NULL;
        p = (uint8_t *)b.base + LLM__HEAD;
        p += (64 - ((uintptr_t)p & 63)) & 63;
    }
    if (h->plan) {
        b.planned = bytes + LLM__HEAD;
        b.plan_at = llm__bump_take(h->plan, b.planned);
    }
    memcpy(p - LLM__HEAD, &b, sizeof b);
    if (h->n_bytes) *h->n_bytes += b.bytes;
    return p;
}
static void llm__free(const llm__heap *h, void *p) {
    llm__block b;
    if (!p) return;
    memcpy(&b, (uint8_t *)p - LLM__HEAD, sizeof b);
    if (h->n_bytes) *h->n_bytes -= b.bytes;
    if (h->plan && b.planned) llm__bump_give(h->plan, b.plan_at, b.planned);
    if (h->a.free_fn) h->a.free_fn(h->a.user, b.base, b.bytes);
    else llm__sys_free(b.base);
}
// n elements of `each` bytes, not cleared. NULL if it would wrap or there is no memory.
static void *llm__alloc_n(const llm__heap *h, uint64_t n, uint64_t each) {
    uint64_t bytes;
    return llm__mul(n, each, &bytes) ? llm__alloc_bytes(h, bytes) : NULL;
}
static void *llm__alloc_zero(const llm__heap *h, uint64_t n, uint64_t each) {
    void *p = llm__alloc_n(h, n, each);
    if (p) memset(p, 0, (size_t)(n * each));
    return p;
}
#define LLM__NEW(h, type, n) ((type *)llm__alloc_n((h), (n), sizeof(type)))

// A block that a load takes and a plan does without.
static void llm__plan_block(const llm__heap *h, uint64_t bytes) {
    if (h->plan && (bytes > SIZE_MAX || llm__bump_take(h->plan, bytes + LLM__HEAD) == LLM__NOWHERE)) h->plan->most = LLM__NOWHERE;
}
// What one call takes and gives back before it returns lies behind this mark: all of that is room again, in whatever order it came back.
static uint64_t llm__heap_mark(const llm__heap *h) {
    const llm__arena *b = llm__heap_arena(h);
    return b ? b->bump.used : 0;
}
static void llm__heap_back_to(const llm__heap *h, uint64_t mark) {
    llm__arena *b = llm__heap_arena(h);
    if (b) b->bump.used = LLM__MIN(b->bump.used, mark);
}

// The last block of an arena grows where it is.
static bool llm__stretch_here(const llm__heap *h, llm__arena *arena, void *p, llm__block *b, uint64_t bytes) {
    if (!llm__bump_is_last(&arena->bump, (uint64_t)((uint8_t *)b->base - arena->base), b->bytes)) return false;
    if (!llm__bump_stretch(&arena->bump, b->bytes, bytes + LLM__HEAD)) return false;
    if (h->n_allocs) ++*h->n_allocs;
    if (h->n_bytes) *h->n_bytes += bytes + LLM__HEAD - b->bytes;
    b->bytes = (size_t)bytes + LLM__HEAD;
    memcpy((uint8_t *)p - LLM__HEAD, b, sizeof *b);
    return true;
}
// A longer block that begins with the first `had` bytes of p, in its place. NULL: no memory, and p is as it was.
static void *llm__lengthen(const llm__heap *h, void *p, uint64_t had, uint64_t bytes) {
    llm__arena *arena = llm__heap_arena(h);
    llm__heap off_plan = *h;
    llm__block b = LLM__ZERO, c;
    bool in_sums;
    void *q;
    off_plan.plan = NULL;
    if (!p || (llm__heap_in_arena(h) && !arena)) return llm__alloc_bytes(h, bytes);       // that one says no; p may be a part of a block
    if (bytes > SIZE_MAX - 2 * LLM__HEAD) return NULL;
    memcpy(&b, (uint8_t *)p - LLM__HEAD, sizeof b);
    if (arena && !h->plan && llm__stretch_here(h, arena, p, &b, bytes)) return p;
    in_sums = h->plan && b.planned && llm__bump_is_last(h->plan, b.plan_at, b.planned);              // there it would grow where it is
    q = llm__alloc_bytes(in_sums ? &off_plan : h, bytes);
    if (!q) return NULL;
    memcpy(q, p, (size_t)had);
    if (in_sums) {
        memcpy(&c, (uint8_t *)q - LLM__HEAD, sizeof c);
        llm__bump_stretch(h->plan, b.planned, bytes + LLM__HEAD);
        c.plan_at = b.plan_at;
        c.planned = bytes + LLM__HEAD;
        memcpy((uint8_t *)q - LLM__HEAD, &c, sizeof c);
    }
    llm__free(in_sums ? &off_plan : h, p);
    return q;
}

// An array that doubles. *cap and *p change only on success.
static bool llm__grow(const llm__heap *h, void **p, size_t *cap, size_t need, size_t each) {
    size_t bigger = *cap ? *cap : 16;
    uint64_t bytes;
    void *q;
    if (need <= *cap) return true;
    while (bigger < need) bigger = bigger > SIZE_MAX / 2 ? need : bigger * 2;
    q = llm__mul(bigger, each, &bytes) ? llm__lengthen(h, *p, *cap * each, bytes) : NULL;
    if (!q && bigger > need && llm__heap_reserves(h)) {
        bigger = need;
        q = llm__mul(bigger, each, &bytes) ? llm__lengthen(h, *p, *cap * each, bytes) : NULL;
    }
    if (!q) return false;
    *p = q;
    *cap = bigger;
    return true;
}

// Text that grows; NUL-terminated whenever p is not NULL.
typedef struct llm__string { char *p; size_t n, cap; } llm__string;

// Room for n more bytes and the NUL.
static bool llm__string_room(const llm__heap *h, llm__string *s, size_t n) {
    void *v = s->p;
    if (n > SIZE_MAX - s->n - 1 || !llm__grow(h, &v, &s->cap, s->n + n + 1, 1)) return false;
    s->p = (char *)v;
    return true;
}
static bool llm__string_add(const llm__heap *h, llm__string *s, const char *p, size_t n) {
    if (!llm__string_room(h, s, n)) return false;
    if (n) memcpy(s->p + s->n, p, n);
    s->n += n;
    s->p[s->n] = 0;
    return true;
}
static char *llm__copy_text(const llm__heap *h, llm__str s) {
    char *p = s.n < SIZE_MAX ? (char *)llm__alloc_bytes(h, s.n + 1) : NULL;
    if (!p) return NULL;
    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return p;
}

// One list of carves measures (base NULL) and then lays out one allocation: it cannot disagree with itself.
typedef struct llm__layout { uint8_t *base; uint64_t used; bool overflow; } llm__layout;

static void *llm__carve_bytes(llm__layout *a, uint64_t n, uint64_t each) {
    uint64_t bytes = 0, at = a->used;
    if (!llm__mul(n, each, &bytes) || bytes > SIZE_MAX / 2 || at > SIZE_MAX / 2 - bytes - 64) { a->overflow = true; return NULL; }
    a->used = (at + bytes + 63) & ~(uint64_t)63;
    return a->base ? a->base + at : NULL;
}
#define LLM__CARVE(a, type, n) ((type *)llm__carve_bytes((a), (n), sizeof(type)))

//------------------------------------------------------------------------------------------------------------------------------
// >>platform   Files, mapping, clock, threads, floating-point environment: the only section that knows an operating system.
//              Without files, mapping or threads (LLM_NO_STDIO, LLM_NO_MMAP, LLM_NO_THREADS, or a system that lacks them) the
//              same functions exist and say no, so nothing below asks what the system is.

#if defined(LLM_NO_STDLIB)
#define LLM__WIN32 0
#define LLM__POSIX 0
#elif defined(_WIN32)
#define LLM__WIN32 1
#define LLM__POSIX 0
#elif defined(__linux__) || defined(__APPLE__) || defined(__unix__) || defined(__wasi__)
#define LLM__WIN32 0
#define LLM__POSIX 1
#else
#define LLM__WIN32 0
#define LLM__POSIX 0
#endif

#define LLM__SYSTEM (LLM__POSIX || LLM__WIN32)          // 0: there is nobody to ask for cores, memory or heat
#if LLM__POSIX && defined(__linux__)
#define LLM__LINUX 1
#else
#define LLM__LINUX 0
#endif
#if LLM__POSIX && defined(__APPLE__)
#define LLM__APPLE 1
#else
#define LLM__APPLE 0
#endif

// Words that threads share need the compiler's help; a chip without such instructions (value 1: by a library) counts as without.
#if (LLM__GNUC && defined(__GCC_ATOMIC_INT_LOCK_FREE) && __GCC_ATOMIC_INT_LOCK_FREE == 2) || LLM__MSVC
#define LLM__ATOMICS 1
#else
#define LLM__ATOMICS 0
#endif
#if !defined(LLM_NO_THREADS) && (!LLM__ATOMICS || (!LLM__POSIX && !LLM__WIN32) || defined(__wasi__) || \
    (defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)))
#define LLM_NO_THREADS
#endif
#if !defined(LLM_NO_MMAP) && (defined(LLM_NO_STDIO) || (!LLM__POSIX && !LLM__WIN32) || defined(__wasi__) || defined(__EMSCRIPTEN__))
#define LLM_NO_MMAP
#endif

#if LLM__WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#elif LLM__POSIX
#include <errno.h>
#if !defined(__wasi__)
#include <sys/resource.h>
#include <sys/time.h>
#endif
#include <time.h>
#include <unistd.h>
#ifndef LLM_NO_STDIO
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#if LLM__LINUX
#include <sys/vfs.h>
#elif LLM__APPLE
#include <sys/mount.h>
#include <sys/param.h>
#endif
#endif
#ifndef LLM_NO_MMAP
#include <sys/mman.h>
#endif
#ifndef LLM_NO_THREADS
#include <pthread.h>
#include <signal.h>
#endif
#if LLM__LINUX
#include <sys/syscall.h>
#endif
#if LLM__HAS_NEON && LLM__LINUX
#include <sys/auxv.h>
#elif LLM__APPLE
#include <sys/sysctl.h>
#endif
#elif !defined(LLM_NO_STDIO)
#include <stdio.h>
#endif

// With -std=c99 and a system header included before llm.h, the feature macros come too late and glibc hides these; its library
// has them all the same. (C++ compilers always define _GNU_SOURCE.) The 64-bit names are right whatever _FILE_OFFSET_BITS says.
#if LLM__POSIX && defined(__GLIBC__) && !defined(__cplusplus)
#ifndef __USE_MISC
extern long syscall(long number, ...);
#endif
#ifndef __USE_POSIX199309
#include <sched.h>                // struct timespec, without conditions
#if defined(__USE_TIME_BITS64) && __TIMESIZE == 32
#define LLM__WITH_TIME64(name) __asm__(name)      // of 64 bits where the system began with 32: the plain names would fill half of it
#else
#define LLM__WITH_TIME64(name)
#endif
extern int clock_gettime(int clock, struct timespec *ts) LLM__WITH_TIME64("__clock_gettime64");
extern int nanosleep(const struct timespec *wish, struct timespec *left) LLM__WITH_TIME64("__nanosleep64");
#endif
#if !defined(__USE_LARGEFILE64) || !(defined(__USE_UNIX98) || defined(__USE_XOPEN2K8))      // -D_LARGEFILE64_SOURCE alone: the second
extern ssize_t pread64(int fd, void *dst, size_t n, __off64_t offset);
#endif
#ifndef __USE_LARGEFILE64
extern __off64_t lseek64(int fd, __off64_t offset, int whence);
#ifndef LLM_NO_MMAP
extern void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, __off64_t offset);
#endif
#endif
#endif

// ---- words that threads share

#if !LLM__ATOMICS
typedef struct llm__atomic32 { volatile uint32_t v; } llm__atomic32;      // volatile: a signal handler may store
static uint32_t llm__atomic_load(const llm__atomic32 *a) { return a->v; }
static void     llm__atomic_store(llm__atomic32 *a, uint32_t v) { a->v = v; }
static uint32_t llm__atomic_add(llm__atomic32 *a, uint32_t n) { uint32_t old = a->v; a->v = old + n; return old; }
static uint32_t llm__atomic_exchange(llm__atomic32 *a, uint32_t v) { uint32_t old = a->v; a->v = v; return old; }
static bool     llm__atomic_cas(llm__atomic32 *a, uint32_t expected, uint32_t v) {
    if (a->v != expected) return false;
    a->v = v;
    return true;
}
#elif LLM__GNUC
typedef struct llm__atomic32 { uint32_t v; } llm__atomic32;               // a struct, so that plain access does not compile by accident
static uint32_t llm__atomic_load(const llm__atomic32 *a) { return __atomic_load_n(&a->v, __ATOMIC_SEQ_CST); }
static void     llm__atomic_store(llm__atomic32 *a, uint32_t v) { __atomic_store_n(&a->v, v, __ATOMIC_SEQ_CST); }
static uint32_t llm__atomic_add(llm__atomic32 *a, uint32_t n) { return __atomic_fetch_add(&a->v, n, __ATOMIC_SEQ_CST); }
static uint32_t llm__atomic_exchange(llm__atomic32 *a, uint32_t v) { return __atomic_exchange_n(&a->v, v, __ATOMIC_SEQ_CST); }
static bool     llm__atomic_cas(llm__atomic32 *a, uint32_t expected, uint32_t v) {
    return __atomic_compare_exchange_n(&a->v, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#else
#include <intrin.h>
typedef struct llm__atomic32 { volatile long v; } llm__atomic32;
static uint32_t llm__atomic_load(const llm__atomic32 *a) {
    uint32_t v = (uint32_t)a->v;
#if LLM__ARM64
    __dmb(_ARM64_BARRIER_ISH);
#else
    _ReadWriteBarrier();                                                  // x86 loads do not pass each other
#endif
    return v;
}
static void     llm__atomic_store(llm__atomic32 *a, uint32_t v) { _InterlockedExchange(&a->v, (long)v); }
static uint32_t llm__atomic_add(llm__atomic32 *a, uint32_t n) { return (uint32_t)_InterlockedExchangeAdd(&a->v, (long)n); }
static uint32_t llm__atomic_exchange(llm__atomic32 *a, uint32_t v) { return (uint32_t)_InterlockedExchange(&a->v, (long)v); }
static bool     llm__atomic_cas(llm__atomic32 *a, uint32_t expected, uint32_t v) {
    return (uint32_t)_InterlockedCompareExchange(&a->v, (long)v, (long)expected) == expected;
}
#endif

// ---- floating-point environment: nearest, subnormals kept, exceptions masked, whatever the host has set

typedef uint64_t llm__fpenv;

#if LLM__GNUC || defined(__TINYC__)
#define LLM__BARRIER() __asm__ volatile("" ::: "memory")                  // stores of the host's numbers stay outside
#elif LLM__MSVC
#define LLM__BARRIER() _ReadWriteBarrier()
#else
#define LLM__BARRIER() ((void)0)
#endif

#if LLM__MSVC && LLM__ARM64
static uint64_t llm__fp_get(void) { return (uint64_t)_ReadStatusReg(ARM64_FPCR); }
static void     llm__fp_set(uint64_t v) { _WriteStatusReg(ARM64_FPCR, (__int64)v); }
#define LLM__FP_PLAIN 0u
#elif LLM__MSVC
#include <xmmintrin.h>
static uint64_t llm__fp_get(void) { return _mm_getcsr(); }
static void     llm__fp_set(uint64_t v) { _mm_setcsr((unsigned)v); }
#define LLM__FP_PLAIN 0x1f80u
#elif LLM__X64 && defined(__TINYC__)
// Its assembler lacks the two instructions: stmxcsr (%rax) and ldmxcsr (%rax) in bytes.
static uint64_t llm__fp_get(void) { uint32_t v = 0; __asm__ volatile(".byte 0x0f, 0xae, 0x18" : : "a"(&v) : "memory"); return v; }
static void     llm__fp_set(uint64_t v) { uint32_t w = (uint32_t)v; __asm__ volatile(".byte 0x0f, 0xae, 0x10" : : "a"(&w) : "memory"); }
#define LLM__FP_PLAIN 0x1f80u
#elif LLM__X64 && LLM__GNUC
static uint64_t llm__fp_get(void) { uint32_t v; __asm__ volatile("stmxcsr %0" : "=m"(v)); return v; }
static void     llm__fp_set(uint64_t v) { uint32_t w = (uint32_t)v; __asm__ volatile("ldmxcsr %0" : : "m"(w)); }
#define LLM__FP_PLAIN 0x1f80u
#elif defined(__i386__) && LLM__GNUC
// The x87 word stands in the upper half: nearest, 53 bits, masked; above it the sticky flags. SSE, where there is one, in the lower. An x87
// keeps its flags apart from its word, and one that we have raised would trap at the host's next instruction if the host's word does not
// mask it, so the flags change together with the word: as a part of the environment, which is the only way to set them.
static uint64_t llm__fp_get(void) {
    uint32_t csr = 0;
    uint16_t word, status;
#if defined(__SSE__)
    __asm__ volatile("stmxcsr %0" : "=m"(csr));
#endif
    __asm__ volatile("fnstcw %0" : "=m"(word));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return (uint64_t)(status & 0x3fu) << 48 | (uint64_t)word << 32 | csr;
}
static void llm__fp_set(uint64_t v) {
    uint32_t csr = (uint32_t)v, env[7];
#if defined(__SSE__)
    __asm__ volatile("ldmxcsr %0" : : "m"(csr));
#endif
    (void)csr;
    __asm__ volatile("fnstenv %0" : "=m"(env));
    env[0] = (env[0] & 0xffff0000u) | (uint32_t)(v >> 32 & 0xffffu);
    env[1] = (env[1] & ~0xffu) | (uint32_t)(v >> 48 & 0x3fu);             // with the stack's fault and the summary cleared
    __asm__ volatile("fldenv %0" : : "m"(env));
}
#if defined(__SSE__)
#define LLM__FP_PLAIN 0x027f00001f80u
#else
#define LLM__FP_PLAIN 0x027f00000000u
#endif
#elif LLM__ARM64 && LLM__GNUC
static uint64_t llm__fp_get(void) { uint64_t v; __asm__ volatile("mrs %0, fpcr" : "=r"(v)); return v; }
static void     llm__fp_set(uint64_t v) { __asm__ volatile("msr fpcr, %0" : : "r"(v)); }
#define LLM__FP_PLAIN 0u
#elif defined(__arm__) && defined(__VFP_FP__) && !defined(__SOFTFP__) && LLM__GNUC
static uint64_t llm__fp_get(void) { uint32_t v; __asm__ volatile("vmrs %0, fpscr" : "=r"(v)); return v; }
static void     llm__fp_set(uint64_t v) { uint32_t w = (uint32_t)v; __asm__ volatile("vmsr fpscr, %0" : : "r"(w)); }
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define LLM__FP_PLAIN (llm__fp_get() & 0x70000u)                        // LTPSIZE: with another value a Cortex-M55 refuses its loops (LE)
#else
#define LLM__FP_PLAIN 0u
#endif
#elif defined(__s390x__) && LLM__GNUC
static uint64_t llm__fp_get(void) { uint32_t v; __asm__ volatile("efpc %0" : "=d"(v)); return v; }
static void     llm__fp_set(uint64_t v) { uint32_t w = (uint32_t)v; __asm__ volatile("sfpc %0" : : "d"(w)); }
#define LLM__FP_PLAIN 0u
#elif defined(__riscv_flen) && LLM__GNUC
static uint64_t llm__fp_get(void) { unsigned long v; __asm__ volatile("frcsr %0" : "=r"(v)); return v; }
static void     llm__fp_set(uint64_t v) { unsigned long w = (unsigned long)v; __asm__ volatile("fscsr %0" : : "r"(w)); }
#define LLM__FP_PLAIN 0u
#else
static uint64_t llm__fp_get(void) { return 0; }
static void     llm__fp_set(uint64_t v) { (void)v; }
#define LLM__FP_PLAIN 0u
#endif

static llm__fpenv llm__fp_enter(void) {
    llm__fpenv host = llm__fp_get();
    LLM__BARRIER();
    if (host != LLM__FP_PLAIN) llm__fp_set(LLM__FP_PLAIN);
    LLM__BARRIER();
    return host;
}
// Gives back the host's word, its sticky flags included.
static void llm__fp_leave(llm__fpenv host) {
    LLM__BARRIER();
    if (llm__fp_get() != host) llm__fp_set(host);
    LLM__BARRIER();
}

// ---- clock and CPUs

static uint64_t llm__os_now_us(void) {
#if LLM__WIN32
    LARGE_INTEGER count, rate;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&rate);
    return (uint64_t)(count.QuadPart / rate.QuadPart) * 1000000u +
           (uint64_t)(count.QuadPart % rate.QuadPart) * 1000000u / (uint64_t)rate.QuadPart;
#elif LLM__POSIX
    struct timespec t;
#if defined(CLOCK_MONOTONIC)
    if (clock_gettime(CLOCK_MONOTONIC, &t)) return 0;
#else
    if (clock_gettime(1, &t)) return 0;                                   // its number on Linux, where strict C99 hides the name
#endif
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
#else
    return 0;
#endif
}
static void llm__os_sleep_us(uint32_t us) {
#if LLM__WIN32
    Sleep((us + 999) / 1000);
#elif LLM__POSIX
    struct timespec t;
    t.tv_sec = (time_t)(us / 1000000u);
    t.tv_nsec = (long)(us % 1000000u) * 1000;
    nanosleep(&t, NULL);
#else
    (void)us;
#endif
}
// Hooks that are called in the middle of arithmetic: whatever they leave in the floating-point environment, ours is back behind them.
// llm__now_us: by the host's clock where there is one.
static uint64_t llm__now_us(const llm_clock *host) {
    llm__fpenv own;
    uint64_t us;
    if (!host || !host->now_us) return llm__os_now_us();
    own = llm__fp_get();
    us = host->now_us(host->user);
    llm__fp_leave(own);
    return us;
}
static bool llm__go_on(const llm_progress *p, int stage, float fraction) {
    llm__fpenv own;
    bool yes;
    if (!p || !p->progress_fn) return true;
    own = llm__fp_get();
    yes = p->progress_fn(p->user, stage, fraction) != 0;
    llm__fp_leave(own);
    return yes;
}

// A set of CPUs by the numbers that the system gives them: a bit each, in words as Linux has them. Higher numbers are not looked at.
#define LLM__MAX_CPUS 1024u
#define LLM__CPU_WORD (8u * (uint32_t)sizeof(unsigned long))
typedef struct llm__cpus { unsigned long bits[LLM__MAX_CPUS / 8 / sizeof(unsigned long)]; } llm__cpus;

static bool llm__cpus_has(const llm__cpus *c, uint32_t cpu) {
    return cpu < LLM__MAX_CPUS && (c->bits[cpu / LLM__CPU_WORD] >> cpu % LLM__CPU_WORD & 1u);
}
static void llm__cpus_add(llm__cpus *c, uint32_t cpu) {
    if (cpu < LLM__MAX_CPUS) c->bits[cpu / LLM__CPU_WORD] |= 1ul << cpu % LLM__CPU_WORD;
}
static llm__cpus llm__cpus_one(uint32_t cpu) {
    llm__cpus c;
    memset(&c, 0, sizeof c);
    llm__cpus_add(&c, cpu);
    return c;
}
static bool llm__cpus_same(const llm__cpus *a, const llm__cpus *b) { return memcmp(a, b, sizeof *a) == 0; }
static uint32_t llm__cpus_count(const llm__cpus *c) {
    uint32_t i, n = 0;
    unsigned long w;
    for (i = 0; i < LLM__COUNT(c->bits); i++)
        for (w = c->bits[i]; w; w &= w - 1) n++;
    return n;
}

#if !LLM__WIN32
static void llm__os_first_cpus(llm__cpus *out) {
    long n = 1, i;
    memset(out, 0, sizeof *out);
#if LLM__POSIX
    n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    for (i = 0; i < LLM__MAX(n, 1); i++) llm__cpus_add(out, (uint32_t)i);
}
#endif

// llm__os_allowed: the CPUs that a thread may use. 0 is the calling thread, and it has one at least; a thread that has ended has none.
// llm__os_thread_id: the calling thread's number for others.
// llm__os_pin: from now on the calling thread may use those of *to alone; what it might use before goes to *before, unless that is NULL.
// false: the system says no, or has no such call (LLM__PINS 0). llm__os_cpu_now: the CPU that it runs on, UINT32_MAX where nobody knows.
#if LLM__WIN32

#define LLM__PINS 1
static void llm__os_mask_cpus(DWORD_PTR mask, llm__cpus *out) {
    uint32_t i;
    memset(out, 0, sizeof *out);
    for (i = 0; mask; i++, mask >>= 1) if (mask & 1u) llm__cpus_add(out, i);
}
static uint32_t llm__os_thread_id(void) { return (uint32_t)GetCurrentThreadId(); }
// Of the process: threads cannot be asked. Numbers and masks are those of its group of 64 CPUs.
static void llm__os_allowed(uint32_t thread, llm__cpus *out) {
    DWORD_PTR mine = 0, all = 0;
    (void)thread;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) || !mine) mine = 1;
    llm__os_mask_cpus(mine, out);
}
static bool llm__os_pin(const llm__cpus *to, llm__cpus *before) {
    DWORD_PTR mask = 0, old;
    uint32_t i;
    for (i = 0; i < 8 * sizeof mask; i++) if (llm__cpus_has(to, i)) mask |= (DWORD_PTR)1 << i;
    old = SetThreadAffinityMask(GetCurrentThread(), mask);
    if (old && before) llm__os_mask_cpus(old, before);
    return old != 0;
}
static uint32_t llm__os_cpu_now(void) { return GetCurrentProcessorNumber(); }

#elif LLM__LINUX && defined(SYS_sched_getaffinity) && defined(SYS_sched_setaffinity) && defined(SYS_getcpu) && defined(SYS_tgkill)

#define LLM__PINS 1
// By system call: it needs no macro of the C library, and the mask must be as wide as the kernel's, which may be for 8192 CPUs.
static uint32_t llm__os_thread_id(void) { return (uint32_t)syscall(SYS_gettid); }
// The number of a thread that has ended goes to another one, of any process.
static bool llm__os_is_ours(uint32_t thread) {
    return syscall(SYS_tgkill, (int)syscall(SYS_getpid), (int)thread, 0) == 0 || errno != ESRCH;
}
static void llm__os_allowed(uint32_t thread, llm__cpus *out) {
    unsigned long mask[8192 / 8 / sizeof(unsigned long)];
    const bool asks = !thread || llm__os_is_ours(thread);
    memset(mask, 0, sizeof mask);
    if ((asks && syscall(SYS_sched_getaffinity, (int)thread, sizeof mask, mask) > 0) || thread) memcpy(out, mask, sizeof *out);
    else llm__os_first_cpus(out);
    if (!thread && !llm__cpus_count(out)) llm__cpus_add(out, 0);
}
static bool llm__os_pin(const llm__cpus *to, llm__cpus *before) {
    if (before) llm__os_allowed(0, before);
    return syscall(SYS_sched_setaffinity, 0, sizeof to->bits, to->bits) == 0;
}
static uint32_t llm__os_cpu_now(void) {
    unsigned cpu = 0;
    return syscall(SYS_getcpu, &cpu, (void *)0, (void *)0) == 0 ? (uint32_t)cpu : UINT32_MAX;
}

#else

#define LLM__PINS 0
static uint32_t llm__os_thread_id(void) { return 0; }
static void llm__os_allowed(uint32_t thread, llm__cpus *out) { (void)thread; llm__os_first_cpus(out); }
static bool llm__os_pin(const llm__cpus *to, llm__cpus *before) { (void)to; (void)before; return false; }
static uint32_t llm__os_cpu_now(void) { return UINT32_MAX; }

#endif

// Somebody waits for what the calling thread computes: said to systems that let a program say it without further rights.
#if LLM__APPLE && !defined(LLM_NO_THREADS)
#define LLM__URGENT ", the user-interactive class was asked for instead"
static void llm__os_urgent(void) { pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0); }
#elif LLM__WIN32
// Windows 10: out of EcoQoS, which puts threads of programs in the background on slow cores. Looked up, because older systems lack it.
#define LLM__URGENT ""
static void llm__os_urgent(void) {
    typedef BOOL (WINAPI *set_fn)(HANDLE, int, void *, DWORD);
    struct { ULONG version, control, state; } power = { 1, 1, 0 };        // PROCESS_POWER_THROTTLING_EXECUTION_SPEED: controlled, off
    HMODULE kernel = GetModuleHandleA("kernel32.dll");
    FARPROC found = kernel ? GetProcAddress(kernel, "SetThreadInformation") : NULL;
    set_fn set = NULL;
    if (found) memcpy(&set, &found, sizeof set);
    if (set) set(GetCurrentThread(), 3 /* ThreadPowerThrottling */, &power, sizeof power);
}
#else
#define LLM__URGENT ""
static void llm__os_urgent(void) { }
#endif

// What systems without texts say of their cores. Windows: the efficiency class of each CPU, the higher the faster, and the first CPU of its
// core. Apple: how many CPUs a level has, the fastest level is 0, and its name.
#if LLM__WIN32
typedef SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX llm__os_cores_info;
#endif
static bool llm__os_cpu_classes(uint32_t *rank, uint16_t *core) {
#if LLM__WIN32
    uint64_t buf[4096];
    DWORD n = sizeof buf, at;
    PROCESSOR_NUMBER here;
    GetCurrentProcessorNumberEx(&here);
    if (!GetLogicalProcessorInformationEx(RelationProcessorCore, (llm__os_cores_info *)(void *)buf, &n)) return false;
    for (at = 0; at < n;) {
        const llm__os_cores_info *info = (const llm__os_cores_info *)(const void *)((uint8_t *)buf + at);
        const GROUP_AFFINITY *cpus = &info->Processor.GroupMask[0];
        uint32_t cpu, first = 64;
        for (cpu = 0; cpu < 64 && cpus->Group == here.Group; cpu++) {
            if (cpu >= 8 * sizeof cpus->Mask || !(cpus->Mask >> cpu & 1u)) continue;
            first = LLM__MIN(first, cpu);
            rank[cpu] = ((const uint8_t *)&info->Processor)[1] + 1u;       // EfficiencyClass: older headers lack its name
            core[cpu] = (uint16_t)first;
        }
        at += info->Size;
    }
    return true;
#else
    (void)rank; (void)core;
    return false;
#endif
}
static bool llm__os_core_level(uint32_t level, uint32_t *n, char *name, size_t cap) {
#if LLM__APPLE
    char key[40];
    int v = 0;
    size_t bytes = sizeof v;
    llm__format(key, sizeof key, "hw.perflevel%u.logicalcpu", level);
    if (sysctlbyname(key, &v, &bytes, NULL, 0) != 0 || v <= 0) return false;
    *n = (uint32_t)v;
    llm__format(key, sizeof key, "hw.perflevel%u.name", level);
    bytes = cap - 1;
    memset(name, 0, cap);
    if (sysctlbyname(key, name, &bytes, NULL, 0) != 0) name[0] = 0;
    return true;
#else
    (void)level; (void)n; (void)name; (void)cap;
    return false;
#endif
}

#if LLM__HAS_NEON
// Programs may not ask an ARM CPU what it has; the system says it. Numbers for names that an older system's headers lack.
#if LLM__APPLE
static bool llm__os_has(const char *name) {
    int v = 0;
    size_t n = sizeof v;
    return sysctlbyname(name, &v, &n, NULL, 0) == 0 && v;
}
#endif
static bool llm__os_arm_dotprod(void) {
#if LLM__LINUX
    if (getauxval(16) >> 20 & 1) return true;                              // AT_HWCAP: HWCAP_ASIMDDP
#elif LLM__APPLE
    if (llm__os_has("hw.optional.arm.FEAT_DotProd")) return true;
#elif LLM__WIN32
    if (IsProcessorFeaturePresent(43)) return true;                        // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
#endif
    return LLM__ASSUMES_DOTPROD;
}
static bool llm__os_arm_i8mm(void) {
#if LLM__LINUX
    if (getauxval(26) >> 13 & 1) return true;                              // AT_HWCAP2: HWCAP2_I8MM
#elif LLM__APPLE
    if (llm__os_has("hw.optional.arm.FEAT_I8MM")) return true;
#endif
    return LLM__ASSUMES_I8MM;
}
#endif

static void llm__os_pause(void) {
#if LLM__GNUC && (LLM__X64 || defined(__i386__))
    __asm__ volatile("pause");
#elif LLM__GNUC && LLM__ARM64
    __asm__ volatile("isb");                                              // `yield` is a no-op on most cores
#elif LLM__WIN32
    YieldProcessor();
#endif
}

// ---- files

// The end of a path tells more than its beginning.
static llm__str llm__os_path_tail(const char *path) {
    llm__str s = llm__str_of(path);
    if (s.n > LLM__NAME_SHOWN) {
        s.p += s.n - LLM__NAME_SHOWN;
        s.n = LLM__NAME_SHOWN;
        while (s.n && ((uint8_t)*s.p & 0xc0) == 0x80) { s.p++; s.n--; }
    }
    return s;
}

#if defined(LLM_NO_STDIO)

typedef struct llm__os_file { uint64_t size; } llm__os_file;

static llm_result llm__os_file_open(llm__os_file *f, const char *path_utf8, llm_error *e) {
    (void)f; (void)path_utf8;
    return llm__fail(e, LLM_UNSUPPORTED, "this build has no file access (LLM_NO_STDIO)");
}
static llm_result llm__os_file_read(const llm__os_file *f, uint64_t offset, void *dst, size_t n, llm_error *e) {
    (void)f; (void)offset; (void)dst; (void)n;
    return llm__fail(e, LLM_UNSUPPORTED, "this build has no file access (LLM_NO_STDIO)");
}
static bool llm__os_file_changed(const llm__os_file *f) { (void)f; return false; }
static const char *llm__os_file_system(const llm__os_file *f) { (void)f; return ""; }
static void llm__os_file_close(llm__os_file *f) { (void)f; }

#elif LLM__WIN32

typedef struct llm__os_file { HANDLE handle; uint64_t size, stamp; bool opened; } llm__os_file;

static llm_result llm__os_file_fail(llm_error *e, const char *what, const char *path, DWORD code) {
    llm__str tail = llm__os_path_tail(path);
    const char *why = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND ? "no such file"
                    : code == ERROR_ACCESS_DENIED ? "permission denied, or a directory"
                    : code == ERROR_SHARING_VIOLATION ? "another program is writing it" : NULL;
    if (why) return llm__fail(e, LLM_IO, "%s '%v': %s", what, &tail, why);
    return llm__fail(e, LLM_IO, "%s '%v': Windows error %u", what, &tail, (uint32_t)code);
}
static bool llm__os_file_stat(HANDLE handle, uint64_t *size, uint64_t *stamp) {
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(handle, &info)) return false;
    *size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    *stamp = (uint64_t)info.ftLastWriteTime.dwHighDateTime << 32 | info.ftLastWriteTime.dwLowDateTime;
    return true;
}
static llm_result llm__os_file_open(llm__os_file *f, const char *path_utf8, llm_error *e) {
    WCHAR wide[900];
    llm__str tail;
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path_utf8, -1, wide, 900))
        return llm__fail(e, LLM_BAD_ARG, "the path is not valid UTF-8, or longer than 899 characters");
    // Nobody may write while the model is in use; deleting and renaming stay possible.
    f->handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (f->handle == INVALID_HANDLE_VALUE) return llm__os_file_fail(e, "cannot open", path_utf8, GetLastError());
    if (GetFileType(f->handle) != FILE_TYPE_DISK || !llm__os_file_stat(f->handle, &f->size, &f->stamp)) {
        CloseHandle(f->handle);
        tail = llm__os_path_tail(path_utf8);
        return llm__fail(e, LLM_IO, "cannot open '%v': it is not a regular file", &tail);
    }
    f->opened = true;
    return llm__ok(e);
}
static llm_result llm__os_file_read(const llm__os_file *f, uint64_t offset, void *dst, size_t n, llm_error *e) {
    uint8_t *to = (uint8_t *)dst;
    while (n) {
        OVERLAPPED at;
        DWORD wish = n > (1u << 30) ? 1u << 30 : (DWORD)n, got = 0;
        memset(&at, 0, sizeof at);
        at.Offset = (DWORD)offset;
        at.OffsetHigh = (DWORD)(offset >> 32);
        if (!ReadFile(f->handle, to, wish, &got, &at)) got = 0;
        if (!got || got > wish)
            return llm__fail(e, LLM_IO, "reading at byte %U failed (Windows error %u)", offset, (uint32_t)GetLastError());
        to += got; offset += got; n -= got;
    }
    return llm__ok(e);
}
static bool llm__os_file_changed(const llm__os_file *f) {
    uint64_t size, stamp;
    return !llm__os_file_stat(f->handle, &size, &stamp) || size != f->size || stamp != f->stamp;
}
static const char *llm__os_file_system(const llm__os_file *f) {
    uint64_t info[64];                                                    // FILE_REMOTE_PROTOCOL_INFO; the query fails for local files
    return GetFileInformationByHandleEx(f->handle, (FILE_INFO_BY_HANDLE_CLASS)13, info, sizeof info) ? "network" : "";
}
static void llm__os_file_close(llm__os_file *f) {
    if (f->opened) CloseHandle(f->handle);
    f->opened = false;
}

#elif LLM__POSIX

typedef struct llm__os_file { int fd; uint64_t size, stamp; bool opened; } llm__os_file;

#if defined(__GLIBC__) || defined(__BIONIC__)
#define LLM__PREAD  pread64
#define LLM__LSEEK  lseek64
#define LLM__MMAP   mmap64
#else
#define LLM__PREAD  pread
#define LLM__LSEEK  (lseek)           // brackets, because WASI's library has a macro of that name, with statements in it
#define LLM__MMAP   mmap
#endif
#if LLM__APPLE
#define LLM__STAT_NS(s) ((s).st_mtimespec.tv_nsec)
#elif defined(__GLIBC__) && !defined(__USE_XOPEN2K8)
#define LLM__STAT_NS(s) ((s).st_mtimensec)
#else
#define LLM__STAT_NS(s) ((s).st_mtim.tv_nsec)
#endif
#if defined(O_CLOEXEC)
#define LLM__O_CLOEXEC O_CLOEXEC
#elif defined(__O_CLOEXEC)
#define LLM__O_CLOEXEC __O_CLOEXEC
#else
#define LLM__O_CLOEXEC 0
#endif
#if defined(__O_LARGEFILE)
#define LLM__O_LARGEFILE __O_LARGEFILE
#else
#define LLM__O_LARGEFILE 0
#endif

static llm_result llm__os_file_fail(llm_error *e, const char *what, const char *path, int code) {
    llm__str tail = llm__os_path_tail(path);
    const char *why = code == ENOENT ? "no such file" : code == EACCES || code == EPERM ? "permission denied"
                    : code == EISDIR ? "it is a directory" : code == ENOTDIR ? "a part of the path is not a directory"
                    : code == EMFILE || code == ENFILE ? "too many open files" : code == ENAMETOOLONG ? "the name is too long"
                    : code == ELOOP ? "its symbolic links lead in a circle"
                    : code == EIO ? "the disk reports an error" : NULL;
    if (why) return llm__fail(e, LLM_IO, "%s '%v': %s", what, &tail, why);
    return llm__fail(e, LLM_IO, "%s '%v': system error %d", what, &tail, code);
}
// Beyond 2 GB fstat may refuse in a 32-bit build. Seeking tells the size there, too; then there is no time stamp.
static bool llm__os_file_stat(int fd, uint64_t *size, uint64_t *stamp, int *why) {
    struct stat s;
    int64_t end;
    if (fstat(fd, &s) == 0) {
        *why = S_ISDIR(s.st_mode) ? EISDIR : 0;
        *size = (uint64_t)s.st_size;
        *stamp = (uint64_t)s.st_mtime * 1000000000u + (uint64_t)LLM__STAT_NS(s);
        return S_ISREG(s.st_mode);
    }
    *why = errno;
    if (*why != EOVERFLOW) return false;
    end = LLM__LSEEK(fd, 0, SEEK_END);
    *size = (uint64_t)end;
    *stamp = 0;
    *why = end < 0 ? errno : 0;
    return end >= 0;
}
// O_NONBLOCK: a FIFO must be refused, not waited for. It means nothing for regular files.
static llm_result llm__os_file_open(llm__os_file *f, const char *path_utf8, llm_error *e) {
    int why;
    do f->fd = open(path_utf8, O_RDONLY | O_NONBLOCK | LLM__O_CLOEXEC | LLM__O_LARGEFILE); while (f->fd < 0 && errno == EINTR);
    if (f->fd < 0) return llm__os_file_fail(e, "cannot open", path_utf8, errno);
    if (!llm__os_file_stat(f->fd, &f->size, &f->stamp, &why)) {
        llm__str tail = llm__os_path_tail(path_utf8);
        close(f->fd);
        if (why) return llm__os_file_fail(e, "cannot open", path_utf8, why);
        return llm__fail(e, LLM_IO, "cannot open '%v': it is not a regular file", &tail);
    }
    f->opened = true;
    return llm__ok(e);
}
#if defined(__EMSCRIPTEN__)
// Its pread (3.1.6) drops what an offset has above 32 bits, and says nothing. A file is read by one thread, the one that loads it.
static ssize_t llm__os_pread(int fd, void *to, size_t n, int64_t offset) {
    return LLM__LSEEK(fd, offset, SEEK_SET) < 0 ? -1 : read(fd, to, n);
}
#else
static ssize_t llm__os_pread(int fd, void *to, size_t n, int64_t offset) { return LLM__PREAD(fd, to, n, offset); }
#endif
static llm_result llm__os_file_read(const llm__os_file *f, uint64_t offset, void *dst, size_t n, llm_error *e) {
    uint8_t *to = (uint8_t *)dst;
    while (n) {
        ssize_t got = llm__os_pread(f->fd, to, n > (1u << 30) ? 1u << 30 : n, (int64_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return llm__fail(e, LLM_IO, "reading at byte %U failed (system error %d)", offset, errno);
        if (got == 0) return llm__fail(e, LLM_IO, "the file ended at byte %U while it was read", offset);
        to += got; offset += (uint64_t)got; n -= (size_t)got;
    }
    return llm__ok(e);
}
static bool llm__os_file_changed(const llm__os_file *f) {
    uint64_t size, stamp;
    int why;
    return !llm__os_file_stat(f->fd, &size, &stamp, &why) || size != f->size || stamp != f->stamp;
}
// The name of a file system on which touching a mapped page costs a message to another process or machine; "" on others.
static const char *llm__os_file_system(const llm__os_file *f) {
#if LLM__LINUX
    static const struct { uint32_t magic; const char *name; } remote[] = {
        { 0x65735546u, "FUSE" }, { 0x5dca2df5u, "sdcardfs" }, { 0x6969u, "NFS" }, { 0xff534d42u, "CIFS" }, { 0xfe534d42u, "SMB2" },
        { 0x517bu, "SMB" }, { 0x01021997u, "9P" }, { 0x5346414fu, "AFS" }, { 0x00c36400u, "Ceph" }, { 0x73757245u, "Coda" },
        { 0x786f4256u, "vboxsf" }, { 0x0bd00bd0u, "Lustre" }
    };
    struct statfs s;
    size_t i;
    if (fstatfs(f->fd, &s)) return "";
    for (i = 0; i < LLM__COUNT(remote); i++)
        if ((uint32_t)s.f_type == remote[i].magic) return remote[i].name;
    return "";
#elif LLM__APPLE
    struct statfs s;
    return fstatfs(f->fd, &s) == 0 && !(s.f_flags & MNT_LOCAL) ? "network" : "";
#else
    (void)f;
    return "";
#endif
}
static void llm__os_file_close(llm__os_file *f) {
    if (f->opened) close(f->fd);
    f->opened = false;
}

#else      // any other system: standard C

typedef struct llm__os_file { FILE *handle; uint64_t size; } llm__os_file;

static llm_result llm__os_file_open(llm__os_file *f, const char *path_utf8, llm_error *e) {
    llm__str tail = llm__os_path_tail(path_utf8);
    long end = -1;
    f->handle = fopen(path_utf8, "rb");
    if (!f->handle) return llm__fail(e, LLM_IO, "cannot open '%v'", &tail);
    if (!fseek(f->handle, 0, SEEK_END)) end = ftell(f->handle);
    if (end < 0) {
        fclose(f->handle);
        f->handle = NULL;
        return llm__fail(e, LLM_IO, "cannot tell the size of '%v'", &tail);
    }
    f->size = (uint64_t)end;
    return llm__ok(e);
}
static llm_result llm__os_file_read(const llm__os_file *f, uint64_t offset, void *dst, size_t n, llm_error *e) {
    if (fseek(f->handle, (long)offset, SEEK_SET) || fread(dst, 1, n, f->handle) != n)
        return llm__fail(e, LLM_IO, "reading at byte %U failed", offset);
    return llm__ok(e);
}
static bool llm__os_file_changed(const llm__os_file *f) { (void)f; return false; }
static const char *llm__os_file_system(const llm__os_file *f) { (void)f; return ""; }
static void llm__os_file_close(llm__os_file *f) {
    if (f->handle) fclose(f->handle);
    f->handle = NULL;
}

#endif

// ---- what the process has used so far

typedef struct llm__os_usage {
    uint64_t cpu_us, user_us;          // of all its threads; user: without what the system did for them, such as reading pages
    uint64_t major_faults, minor_faults;
    uint64_t preempted;                // times that a thread lost its CPU before it wanted to wait
    uint64_t peak_rss;
} llm__os_usage;

static void llm__os_usage_now(llm__os_usage *u) {
    memset(u, 0, sizeof *u);
#if LLM__WIN32
    {
        FILETIME created, ended, kernel, user;
        if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user)) return;
        u->user_us = ((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime) / 10;
        u->cpu_us = u->user_us + ((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) / 10;
    }
#elif LLM__POSIX && !defined(__wasi__)
    {
        struct rusage r;
        if (getrusage(RUSAGE_SELF, &r)) return;
        u->user_us = (uint64_t)r.ru_utime.tv_sec * 1000000u + (uint64_t)r.ru_utime.tv_usec;
        u->cpu_us = u->user_us + (uint64_t)r.ru_stime.tv_sec * 1000000u + (uint64_t)r.ru_stime.tv_usec;
        u->major_faults = (uint64_t)r.ru_majflt;
        u->minor_faults = (uint64_t)r.ru_minflt;
        u->preempted = (uint64_t)r.ru_nivcsw;
#if LLM__APPLE
        u->peak_rss = (uint64_t)r.ru_maxrss;
#else
        u->peak_rss = (uint64_t)r.ru_maxrss * 1024u;
#endif
    }
#endif
}
// The memory of the machine, for systems without /proc; 0 = unknown.
static void llm__os_memory(uint64_t *total, uint64_t *available) {
#if LLM__WIN32
    MEMORYSTATUSEX m;
    m.dwLength = sizeof m;
    if (!GlobalMemoryStatusEx(&m)) return;
    *total = m.ullTotalPhys;
    *available = m.ullAvailPhys;
#elif LLM__APPLE
    uint64_t v = 0;
    size_t n = sizeof v;
    if (sysctlbyname("hw.memsize", &v, &n, NULL, 0) == 0) *total = v;
    (void)available;
#else
    (void)total; (void)available;
#endif
}
// A power-saving mode and running from a battery, where a call tells it.
static void llm__os_power(const char **mode, bool *on_battery) {
#if LLM__WIN32
    SYSTEM_POWER_STATUS s;
    if (!GetSystemPowerStatus(&s)) return;
    *on_battery = s.ACLineStatus == 0;
    if (((const BYTE *)&s)[3] == 1) *mode = "low-power";                  // SystemStatusFlag, Reserved1 in older headers: battery saver
#else
    (void)mode; (void)on_battery;
#endif
}
// The address space that the process may take, or UINT64_MAX.
static uint64_t llm__os_address_space(void) {
#if LLM__POSIX && !defined(__wasi__) && defined(RLIMIT_AS)
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return (uint64_t)limit.rlim_cur;
#endif
    return sizeof(void *) > 4 ? UINT64_MAX : LLM__WIN32 ? 0x80000000u : 0xc0000000u;
}

// ---- small texts of the system, such as /proc/meminfo

#if LLM__LINUX && !defined(LLM_NO_STDIO)
static int llm__os_text_open(const char *path) {
    char full[512];
    int fd;
    llm__format(full, sizeof full, "%s%s", LLM__ROOT, path);
    do fd = open(full, O_RDONLY | LLM__O_CLOEXEC); while (fd < 0 && errno == EINTR);
    return fd;
}
// Less than cap only at the end of the text.
static size_t llm__os_text_read(int fd, char *buf, size_t cap) {
    size_t n = 0;
    while (fd >= 0 && n < cap) {
        const ssize_t got = read(fd, buf + n, cap - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    return n;
}
static void llm__os_text_close(int fd) { if (fd >= 0) close(fd); }
#else
static int llm__os_text_open(const char *path) { (void)path; return -1; }
static size_t llm__os_text_read(int fd, char *buf, size_t cap) { (void)fd; (void)buf; (void)cap; return 0; }
static void llm__os_text_close(int fd) { (void)fd; }
#endif

// The beginning of the file at LLM__ROOT + path, NUL-terminated. Its length; 0, and "" in buf, where there is no such text.
static size_t llm__os_text(const char *path, char *buf, size_t cap) {
    const int fd = llm__os_text_open(path);
    const size_t n = llm__os_text_read(fd, buf, cap - 1);
    llm__os_text_close(fd);
    buf[n] = 0;
    return n;
}
// All of it, line by line, in the order of the text; of a line beyond 1 kB its beginning. Returns how many lines were told.
typedef void (*llm__line_fn)(void *arg, llm__str line);
static LLM__NOINLINE size_t llm__os_lines(const char *path, llm__line_fn fn, void *arg) {
    char buf[1024];
    const int fd = llm__os_text_open(path);
    size_t kept = 0, told = 0;
    bool more = fd >= 0, middle = false;                                  // middle: the beginning of this line has been told
    while (more) {
        const size_t n = kept + llm__os_text_read(fd, buf + kept, sizeof buf - kept);
        size_t at = 0, end;
        more = n == sizeof buf;
        for (;;) {
            for (end = at; end < n && buf[end] != '\n'; end++) { }
            if (end == n && more && at) break;                            // the rest comes with the next piece
            if (end > at && !middle) { fn(arg, llm__str_n(buf + at, end - at)); told++; }
            middle = end == n;
            at = LLM__MIN(end + 1, n);
            if (middle) break;
        }
        kept = n - at;
        memmove(buf, buf + at, kept);
    }
    llm__os_text_close(fd);
    return told;
}

// ---- mapping: read-only and shared. data points at the offset that was asked for, rounding to pages stays inside.
// LLM_NO_MEMORY: no room in the address space; LLM_UNSUPPORTED: this file cannot be mapped at all.

typedef struct llm__os_map { const uint8_t *data; void *base; size_t base_bytes; } llm__os_map;

#if defined(LLM_NO_MMAP)
static llm_result llm__os_map_file(llm__os_map *m, const llm__os_file *f, uint64_t offset, uint64_t bytes, llm_error *e) {
    (void)m; (void)f; (void)offset; (void)bytes;
    return llm__fail(e, LLM_UNSUPPORTED, "this build cannot map files (LLM_NO_MMAP)");
}
static void llm__os_unmap(llm__os_map *m) { (void)m; }
#else
static size_t llm__os_map_grain(void) {
#if LLM__WIN32
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwAllocationGranularity;
#else
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? (size_t)page : 65536;
#endif
}
// Where a mapping of n bytes from offset on begins, and how long it is, when the system maps in steps of grain: 4, 16 or 64 KB, a power of
// two. false: more than fits an address space.
static bool llm__os_map_span(uint64_t offset, uint64_t n, uint64_t grain, uint64_t *at, size_t *length) {
    const uint64_t skip = offset & (grain - 1);
    *at = offset - skip;
    if (n > SIZE_MAX / 2 - skip) return false;
    *length = (size_t)(n + skip);
    return true;
}
static llm_result llm__os_map_no_room(llm_error *e, uint64_t bytes) {
#if LLM__APPLE
    return llm__fail(e, LLM_NO_MEMORY, "no address space to map %U bytes; on iOS add the entitlements extended-virtual-addressing and "
                     "increased-memory-limit (com.apple.developer.kernel.*)", bytes);
#else
    return llm__fail(e, LLM_NO_MEMORY, "no address space to map %U bytes (a 32-bit program, or a limit such as ulimit -v)", bytes);
#endif
}
// A file that could not be mapped leaves *m empty.
static llm_result llm__os_map_file(llm__os_map *m, const llm__os_file *f, uint64_t offset, uint64_t bytes, llm_error *e) {
    uint64_t at;
    size_t length;
    void *base;
    memset(m, 0, sizeof *m);
    if (offset > f->size || bytes > f->size - offset || !bytes)
        return llm__fail(e, LLM_BAD_ARG, "bytes %U to %U are not in the file", offset, offset + bytes);
    if (!llm__os_map_span(offset, bytes, llm__os_map_grain(), &at, &length)) return llm__os_map_no_room(e, bytes);
#if LLM__WIN32
    {
        HANDLE section = CreateFileMappingW(f->handle, NULL, PAGE_READONLY, 0, 0, NULL);
        if (!section) return llm__fail(e, LLM_UNSUPPORTED, "the file cannot be mapped (Windows error %u)", (uint32_t)GetLastError());
        base = MapViewOfFile(section, FILE_MAP_READ, (DWORD)(at >> 32), (DWORD)at, length);
        CloseHandle(section);                                             // the view keeps it alive
        if (!base) return llm__os_map_no_room(e, bytes);
    }
#else
    base = LLM__MMAP(NULL, length, PROT_READ, MAP_SHARED, f->fd, (int64_t)at);
    if (base == MAP_FAILED) {
        const int code = errno;
        if (code == ENOMEM || code == EAGAIN || code == EOVERFLOW) return llm__os_map_no_room(e, bytes);
        return llm__fail(e, LLM_UNSUPPORTED, "the file cannot be mapped (system error %d)", code);
    }
#endif
    m->base = base;
    m->base_bytes = length;
    m->data = (const uint8_t *)base + (size_t)(offset - at);
    return llm__ok(e);
}
static void llm__os_unmap(llm__os_map *m) {
    if (!m->base) return;
#if LLM__WIN32
    UnmapViewOfFile(m->base);
#else
    munmap(m->base, m->base_bytes);
#endif
    memset(m, 0, sizeof *m);
}
#endif
// Bytes of the mapping that are in memory, as the system tells it.
static uint64_t llm__os_map_resident(const llm__os_map *m) {
#if !defined(LLM_NO_MMAP) && LLM__LINUX && defined(SYS_mincore)
    const size_t page = llm__os_map_grain();
    uint8_t in[1024];
    uint64_t n = 0;
    size_t at, i;
    for (at = 0; at < m->base_bytes; at += page * sizeof in) {
        const size_t bytes = LLM__MIN(m->base_bytes - at, page * sizeof in);
        if (syscall(SYS_mincore, (uint8_t *)m->base + at, bytes, in)) return 0;
        for (i = 0; i < (bytes + page - 1) / page; i++) n += in[i] & 1;
    }
    return LLM__MIN(n * page, (uint64_t)m->base_bytes);
#else
    (void)m;
    return 0;
#endif
}

// ---- threads, and sleeping until a word changes

#if defined(LLM_NO_THREADS)

typedef struct llm__os_thread { char none; } llm__os_thread;
typedef struct llm__os_event { char none; } llm__os_event;

static bool llm__os_thread_start(llm__os_thread *t, void (*fn)(void *), void *arg) { (void)t; (void)fn; (void)arg; return false; }
static void llm__os_thread_join(llm__os_thread *t) { (void)t; }
static bool llm__os_event_init(llm__os_event *ev) { (void)ev; return true; }
static void llm__os_event_free(llm__os_event *ev) { (void)ev; }
static void llm__os_wait(llm__os_event *ev, llm__atomic32 *word, uint32_t expected) { (void)ev; (void)word; (void)expected; }
static void llm__os_wake_all(llm__os_event *ev, llm__atomic32 *word) { (void)ev; (void)word; }

#else

typedef struct llm__os_thread {
    void (*fn)(void *);
    void *arg;
#if LLM__WIN32
    HANDLE handle;
#else
    pthread_t handle;
#endif
} llm__os_thread;

#define LLM__STACK_BYTES (256u * 1024u)                                   // nothing here needs more than a few KB; hosts' wrappers might

#if LLM__WIN32

static DWORD WINAPI llm__os_thread_main(void *arg) {
    llm__os_thread *t = (llm__os_thread *)arg;
    t->fn(t->arg);
    return 0;
}
static bool llm__os_thread_start(llm__os_thread *t, void (*fn)(void *), void *arg) {
    t->fn = fn;
    t->arg = arg;
    t->handle = CreateThread(NULL, LLM__STACK_BYTES, llm__os_thread_main, t, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return t->handle != NULL;
}
static void llm__os_thread_join(llm__os_thread *t) {
    WaitForSingleObject(t->handle, INFINITE);
    CloseHandle(t->handle);
}

#else

// A new thread inherits the signal mask, so it is set around the start: no signal of the host's is ever delivered to a worker.
#if LLM__LINUX
// By the system call, because strict C99 hides sigset_t. The C library's own three signals stay open: setuid() relies on them.
#if defined(__mips__)
#define LLM__SIG_SETMASK 3
#define LLM__SIGSET_WORDS 2
#else
#define LLM__SIG_SETMASK 2
#define LLM__SIGSET_WORDS 1
#endif
// Words as the kernel has them, which may be of 32 bits.
enum { LLM__LONG = 8 * (int)sizeof(unsigned long), LLM__SIGSET_LONGS = LLM__SIGSET_WORDS * 8 / (int)sizeof(unsigned long) };
typedef struct llm__os_signals { unsigned long bits[LLM__SIGSET_LONGS]; bool blocked; } llm__os_signals;
static void llm__os_signals_block(llm__os_signals *host) {
    unsigned long all[LLM__SIGSET_LONGS];
    int bit;
    memset(all, 0xff, sizeof all);
    for (bit = 31; bit < 34; bit++) all[bit / LLM__LONG] &= ~(1ul << bit % LLM__LONG);              // signal n is bit n - 1: 32, 33, 34
    host->blocked = syscall(SYS_rt_sigprocmask, LLM__SIG_SETMASK, all, host->bits, LLM__SIGSET_WORDS * 8) == 0;
}
static void llm__os_signals_restore(llm__os_signals *host) {
    if (host->blocked) syscall(SYS_rt_sigprocmask, LLM__SIG_SETMASK, host->bits, (void *)0, LLM__SIGSET_WORDS * 8);
}
#else
typedef struct llm__os_signals { sigset_t set; } llm__os_signals;
static void llm__os_signals_block(llm__os_signals *host) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &host->set);
}
static void llm__os_signals_restore(llm__os_signals *host) { pthread_sigmask(SIG_SETMASK, &host->set, NULL); }
#endif

static void *llm__os_thread_main(void *arg) {
    llm__os_thread *t = (llm__os_thread *)arg;
    t->fn(t->arg);
    return NULL;
}
static bool llm__os_thread_start(llm__os_thread *t, void (*fn)(void *), void *arg) {
    pthread_attr_t attr;
    llm__os_signals host;
    int failed = 1;
    t->fn = fn;
    t->arg = arg;
    llm__os_signals_block(&host);
    if (!pthread_attr_init(&attr)) {
        pthread_attr_setstacksize(&attr, LLM__STACK_BYTES);
        failed = pthread_create(&t->handle, &attr, llm__os_thread_main, t);
        pthread_attr_destroy(&attr);
    }
    if (failed) failed = pthread_create(&t->handle, NULL, llm__os_thread_main, t);      // the host's thread-locals may need a larger stack
    llm__os_signals_restore(&host);
    return failed == 0;
}
static void llm__os_thread_join(llm__os_thread *t) { pthread_join(t->handle, NULL); }

#endif

// llm__os_wait sleeps while *word is `expected`; it may also return for no reason. Whoever changes the word then wakes all.

#if LLM__WIN32

typedef struct llm__os_event { SRWLOCK lock; CONDITION_VARIABLE changed; } llm__os_event;

static bool llm__os_event_init(llm__os_event *ev) {
    InitializeSRWLock(&ev->lock);
    InitializeConditionVariable(&ev->changed);
    return true;
}
static void llm__os_event_free(llm__os_event *ev) { (void)ev; }
static void llm__os_wait(llm__os_event *ev, llm__atomic32 *word, uint32_t expected) {
    AcquireSRWLockExclusive(&ev->lock);
    if (llm__atomic_load(word) == expected) SleepConditionVariableSRW(&ev->changed, &ev->lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&ev->lock);
}
static void llm__os_wake_all(llm__os_event *ev, llm__atomic32 *word) {
    (void)word;
    AcquireSRWLockExclusive(&ev->lock);                                   // nobody is between the test and the sleep
    ReleaseSRWLockExclusive(&ev->lock);
    WakeAllConditionVariable(&ev->changed);
}

#elif LLM__LINUX && (defined(SYS_futex) || defined(SYS_futex_time64))

typedef struct llm__os_event { char none; } llm__os_event;

#if defined(SYS_futex)
#define LLM__SYS_FUTEX SYS_futex
#else
#define LLM__SYS_FUTEX SYS_futex_time64
#endif
static bool llm__os_event_init(llm__os_event *ev) { (void)ev; return true; }
static void llm__os_event_free(llm__os_event *ev) { (void)ev; }
static void llm__os_wait(llm__os_event *ev, llm__atomic32 *word, uint32_t expected) {
    (void)ev;
    syscall(LLM__SYS_FUTEX, &word->v, 128 /* FUTEX_WAIT_PRIVATE */, expected, (void *)0, (void *)0, 0);
}
static void llm__os_wake_all(llm__os_event *ev, llm__atomic32 *word) {
    (void)ev;
    syscall(LLM__SYS_FUTEX, &word->v, 129 /* FUTEX_WAKE_PRIVATE */, 0x7fffffff, (void *)0, (void *)0, 0);
}

#else

typedef struct llm__os_event { pthread_mutex_t lock; pthread_cond_t changed; } llm__os_event;

static bool llm__os_event_init(llm__os_event *ev) {
    if (pthread_mutex_init(&ev->lock, NULL)) return false;
    if (!pthread_cond_init(&ev->changed, NULL)) return true;
    pthread_mutex_destroy(&ev->lock);
    return false;
}
static void llm__os_event_free(llm__os_event *ev) {
    pthread_cond_destroy(&ev->changed);
    pthread_mutex_destroy(&ev->lock);
}
static void llm__os_wait(llm__os_event *ev, llm__atomic32 *word, uint32_t expected) {
    pthread_mutex_lock(&ev->lock);
    if (llm__atomic_load(word) == expected) pthread_cond_wait(&ev->changed, &ev->lock);
    pthread_mutex_unlock(&ev->lock);
}
static void llm__os_wake_all(llm__os_event *ev, llm__atomic32 *word) {
    (void)word;
    pthread_mutex_lock(&ev->lock);
    pthread_cond_broadcast(&ev->changed);
    pthread_mutex_unlock(&ev->lock);
}

#endif
#endif

//------------------------------------------------------------------------------------------------------------------------------
// >>machine  What the system tells about this machine: cores and their rank, memory and its limits, heat and power. On Linux and Android
//            it is text under one root, so that the tests can feed it trees of real devices; elsewhere a few calls of platform's. Each
//            fact may be missing, and a missing one is 0, never a guess.

static uint64_t llm__machine_number(const char *p) {
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9' && v < UINT64_MAX / 10 - 9; p++) v = v * 10 + (uint64_t)(*p - '0');
    return v;
}
// The number that a text of its own begins with, such as cpufreq/cpuinfo_max_freq.
static bool llm__machine_u64(const char *path, uint64_t *out) {
    char buf[32];
    if (!llm__os_text(path, buf, sizeof buf) || buf[0] < '0' || buf[0] > '9') return false;
    *out = llm__machine_number(buf);
    return true;
}
// What follows `key` where a line begins with it, past blanks; NULL: no line does.
static const char *llm__machine_line(const char *text, const char *key) {
    const size_t n = strlen(key);
    llm__str rest = llm__str_of(text);
    while (rest.n) {
        size_t line = 0;
        if (llm__str_starts(rest, key)) {
            for (text = rest.p + n; *text == ' ' || *text == '\t'; text++) { }
            return text;
        }
        while (line < rest.n && rest.p[line++] != '\n') { }
        rest = llm__str_n(rest.p + line, rest.n - line);
    }
    return NULL;
}
// The number behind `key` and blanks, where the line begins with it: "VmSwap:   300 kB", "CPU part : 0xd0b". *out stays as it is elsewhere.
static bool llm__line_number(llm__str line, const char *key, uint64_t *out) {
    uint64_t base = 10;
    size_t i;
    if (!llm__str_starts(line, key)) return false;
    for (i = strlen(key); i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == ':'); i++) { }
    if (i + 1 < line.n && line.p[i] == '0' && line.p[i + 1] == 'x') { base = 16; i += 2; }
    for (*out = 0; i < line.n && *out < UINT64_MAX / 16 - 15; i++) {
        const char ch = line.p[i];
        const uint32_t digit = ch >= '0' && ch <= '9' ? (uint32_t)(ch - '0') : ch >= 'a' && ch <= 'f' ? (uint32_t)(ch - 'a' + 10) : 16;
        if (digit >= base) break;
        *out = *out * base + digit;
    }
    return true;
}
// Likewise, in bytes.
static bool llm__line_kb(llm__str line, const char *key, uint64_t *out) {
    if (!llm__line_number(line, key, out)) return false;
    *out *= 1024u;
    return true;
}

// ---- cores ----
//
// Which CPUs are worth a thread. In a fork-join a core that is clearly slower than the others makes heat and takes memory bandwidth for
// little work: the default is one thread for each performance core.

typedef struct llm__cores {
    llm__cpus online, best;            // best: the performance cores
    uint32_t rank[LLM__MAX_CPUS];      // of CPUs that are online: the higher the faster; what it counts differs between machines
    uint16_t core[LLM__MAX_CPUS];      // the first CPU of its core: CPUs with the same number are SMT siblings
    uint32_t spare[2][LLM__MAX_CPUS];  // numbers of each CPU while they are compared; here, because 8 kB are too much for a stack
    uint32_t n_online, n_best;
    uint32_t quota;                    // CPUs that the cgroup's quota of CPU time is worth, rounded up (0: no quota)
    char why[112];                     // what told the performance cores from the others
} llm__cores;

// A list of CPUs such as "0-3,6".
static bool llm__cores_list(const char *path, llm__cpus *out) {
    char buf[1024];
    const char *p = buf;
    memset(out, 0, sizeof *out);
    if (!llm__os_text(path, buf, sizeof buf)) return false;
    while (*p >= '0' && *p <= '9') {
        uint32_t first = 0, last;
        for (; *p >= '0' && *p <= '9'; p++) first = LLM__MIN(first, LLM__MAX_CPUS) * 10 + (uint32_t)(*p - '0');
        last = first;
        if (*p == '-')
            for (last = 0, p++; *p >= '0' && *p <= '9'; p++) last = LLM__MIN(last, LLM__MAX_CPUS) * 10 + (uint32_t)(*p - '0');
        for (; first <= last && first < LLM__MAX_CPUS; first++) llm__cpus_add(out, first);
        if (*p == ',') p++;
    }
    return llm__cpus_count(out) > 0;
}
// One number of every CPU that is online. false: some CPU lacks it, so the kind is of no use for comparing.
static bool llm__cores_each(const llm__cores *c, const char *name, uint32_t *out) {
    char path[96];
    uint32_t cpu;
    uint64_t v;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(&c->online, cpu)) continue;
        llm__format(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", cpu, name);
        if (!llm__machine_u64(path, &v)) return false;
        out[cpu] = (uint32_t)LLM__MIN(v, (uint64_t)UINT32_MAX);
    }
    return true;
}
static bool llm__cores_alike(const llm__cores *c, const uint32_t *v) {
    uint32_t cpu, first = LLM__MAX_CPUS;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(&c->online, cpu)) continue;
        if (first == LLM__MAX_CPUS) first = cpu;
        if (v[cpu] != v[first]) return false;
    }
    return true;
}

// What a core does per clock, roughly, in quarters of an A53: cores that work in order, wide ones, and the X line. The part numbers are
// those of Linux (arch/arm64/include/asm/cputype.h) and util-linux (lscpu-arm.c). The weights are coarser than measurements (A720 against
// A520: 2.8, X4 against A720: 1.26, linux-arm-msm 2026-01-28): only the order and the wide gaps matter. One part of a machine that is not
// here, and none of its parts counts.
typedef struct llm__arm_part { uint8_t maker; uint16_t part; uint8_t weight; } llm__arm_part;
static const llm__arm_part llm__arm_parts[] = {
    { 0x41, 0xc07, 4 } /* A7 */, { 0x41, 0xd03, 4 } /* A53 */, { 0x41, 0xd04, 4 } /* A35 */, { 0x41, 0xd05, 4 } /* A55 */,
    { 0x41, 0xd46, 4 } /* A510 */, { 0x41, 0xd80, 4 } /* A520 */, { 0x51, 0x801, 4 } /* A53 */, { 0x51, 0x803, 4 } /* A55 */,
    { 0x51, 0x805, 4 } /* A55 */, { 0x41, 0xc0d, 8 } /* A12 */, { 0x41, 0xc0e, 8 } /* A17 */, { 0x41, 0xc0f, 8 } /* A15 */,
    { 0x41, 0xd07, 8 } /* A57 */, { 0x41, 0xd08, 8 } /* A72 */, { 0x41, 0xd09, 8 } /* A73 */, { 0x41, 0xd0a, 8 } /* A75 */,
    { 0x41, 0xd0b, 8 } /* A76 */, { 0x41, 0xd0d, 8 } /* A77 */, { 0x41, 0xd0e, 8 } /* A76AE */, { 0x41, 0xd41, 8 } /* A78 */,
    { 0x41, 0xd42, 8 } /* A78AE */, { 0x41, 0xd4b, 8 } /* A78C */, { 0x41, 0xd47, 8 } /* A710 */, { 0x41, 0xd4d, 8 } /* A715 */,
    { 0x41, 0xd81, 8 } /* A720 */, { 0x41, 0xd87, 8 } /* A725 */, { 0x41, 0xd8b, 8 } /* C1-Pro */, { 0x51, 0x800, 8 } /* A73 */,
    { 0x51, 0x802, 8 } /* A75 */, { 0x51, 0x804, 8 } /* A76 */, { 0x48, 0xd40, 8 } /* A76 */, { 0x41, 0xd44, 12 } /* X1 */,
    { 0x41, 0xd4c, 12 } /* X1C */, { 0x41, 0xd48, 12 } /* X2 */, { 0x41, 0xd4e, 12 } /* X3 */, { 0x41, 0xd82, 12 } /* X4 */,
    { 0x41, 0xd85, 12 } /* X925 */, { 0x41, 0xd8c, 12 } /* C1-Ultra */, { 0x41, 0xd90, 12 } /* C1-Premium */, { 0x53, 0x002, 12 } /* M3 */,
    { 0x53, 0x003, 12 } /* M4 */, { 0x53, 0x004, 12 } /* M5 */, { 0x51, 0x001, 12 } /* Oryon */, { 0x51, 0x002, 12 } /* Oryon */
};
static uint32_t llm__arm_weight(uint64_t maker, uint64_t part) {
    uint32_t i;
    for (i = 0; i < LLM__COUNT(llm__arm_parts); i++)
        if (llm__arm_parts[i].maker == maker && llm__arm_parts[i].part == part) return llm__arm_parts[i].weight;
    return 0;
}
// The weight of every CPU that is online. false: not an ARM machine, or a part that is not in the table.
typedef struct llm__cpuinfo { uint32_t *weight; uint64_t cpu, maker; } llm__cpuinfo;
static void llm__cpuinfo_line(void *arg, llm__str line) {
    llm__cpuinfo *info = (llm__cpuinfo *)arg;
    uint64_t part;
    if (llm__line_number(line, "processor", &info->cpu)) info->maker = 0;
    llm__line_number(line, "CPU implementer", &info->maker);
    if (llm__line_number(line, "CPU part", &part) && info->cpu < LLM__MAX_CPUS)
        info->weight[info->cpu] = llm__arm_weight(info->maker, part);
}
static bool llm__cores_parts(const llm__cores *c, uint32_t *weight) {
    llm__cpuinfo info;
    uint32_t cpu;
    info.weight = weight; info.cpu = LLM__MAX_CPUS; info.maker = 0;
    memset(weight, 0, LLM__MAX_CPUS * sizeof *weight);
    llm__os_lines("/proc/cpuinfo", llm__cpuinfo_line, &info);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) if (llm__cpus_has(&c->online, cpu) && !weight[cpu]) return false;
    return true;
}

// The first CPU of each CPU's core. Without the list of siblings: the first with the same numbers, of which the cluster's is one, because
// ARM counts the cores of every cluster from 0.
static void llm__cores_siblings(llm__cores *c) {
    uint32_t *first = c->spare[0], *more = c->spare[1], cpu, other;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) c->core[cpu] = (uint16_t)cpu;
    if (llm__cores_each(c, "topology/thread_siblings_list", first)) {
        for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++)
            if (llm__cpus_has(&c->online, cpu)) c->core[cpu] = (uint16_t)LLM__MIN(first[cpu], cpu);
        return;
    }
    if (!llm__cores_each(c, "topology/core_id", first) || !llm__cores_each(c, "topology/physical_package_id", more)) return;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) first[cpu] = first[cpu] << 16 | (more[cpu] & 0xffffu);
    if (!llm__cores_each(c, "topology/cluster_id", more)) memset(more, 0, sizeof c->spare[1]);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(&c->online, cpu)) continue;
        for (other = 0; other < cpu; other++)
            if (llm__cpus_has(&c->online, other) && first[other] == first[cpu] && more[other] == more[cpu]) break;
        c->core[cpu] = (uint16_t)other;
    }
}

// The next lower rank than `below` of a CPU that is online; 0: there is none. *n counts the CPUs that have it.
static uint32_t llm__cores_next_rank(const llm__cores *c, uint32_t below, uint32_t *n) {
    uint32_t cpu, best = 0;
    for (cpu = 0, *n = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(&c->online, cpu) || c->rank[cpu] >= below || c->rank[cpu] < best) continue;
        *n = c->rank[cpu] == best ? *n + 1 : 1;
        best = c->rank[cpu];
    }
    return best;
}
// A performance core is one that is clearly not little. All ranks in a row, from the highest to the lowest: where the step from one to the
// next is widest as a ratio, and leaves at most `tenths` of the rank above it, the little cores begin; without such a step there are none.
// So of prime + big + little (1+3+4, 2+2+4, 1+2+2+3) the big ones count, a prime core that is only somewhat faster makes no difference,
// and phones with big and middle cores alone (Snapdragon 8 Elite) have no little ones. A single core is no team: a step right below it is
// none.
// Returns the lowest rank of a performance core.
static uint32_t llm__cores_cut(const llm__cores *c, uint32_t tenths) {
    uint32_t n, above = llm__cores_next_rank(c, UINT32_MAX, &n), total = n, next, lowest = 0;
    uint32_t upper = 1, lower = 1;                                        // the widest step so far
    while ((next = llm__cores_next_rank(c, above, &n)) != 0) {
        const bool clear = (uint64_t)next * 10 <= (uint64_t)above * tenths, widest = (uint64_t)next * upper <= (uint64_t)above * lower;
        if (total > 1 && clear && widest) {
            lowest = upper = above;
            lower = next;
        }
        total += n;
        above = next;
    }
    return lowest ? lowest : above;
}
static void llm__cores_best(llm__cores *c, uint32_t lowest) {
    uint32_t cpu;
    memset(&c->best, 0, sizeof c->best);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++)
        if (llm__cpus_has(&c->online, cpu) && c->rank[cpu] >= lowest) llm__cpus_add(&c->best, cpu);
    c->n_best = llm__cpus_count(&c->best);
}
// The two CPUs at the edge: the weakest performance core and the strongest of the others.
static bool llm__cores_edge(const llm__cores *c, uint32_t *in, uint32_t *out) {
    uint32_t cpu;
    *in = *out = LLM__MAX_CPUS;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        uint32_t *edge = llm__cpus_has(&c->best, cpu) ? in : out;
        if (!llm__cpus_has(&c->online, cpu)) continue;
        if (*edge == LLM__MAX_CPUS || (edge == in ? c->rank[cpu] < c->rank[*edge] : c->rank[cpu] > c->rank[*edge])) *edge = cpu;
    }
    return *in < LLM__MAX_CPUS && *out < LLM__MAX_CPUS;
}

// The system's own classes: hybrid Intel chips list their P cores, and frequencies order those; Windows has efficiency classes; Apple has
// levels, of which the last one is for efficiency, unless its name says otherwise.
static bool llm__cores_by_list(llm__cores *c) {
    llm__cpus p;
    uint32_t cpu;
    if (!llm__cores_list("/sys/devices/cpu_core/cpus", &p)) return false;
    if (!llm__cores_each(c, "cpufreq/cpuinfo_max_freq", c->rank)) for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) c->rank[cpu] = 1;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(&c->online, cpu)) continue;
        c->rank[cpu] = llm__cpus_has(&p, cpu) ? c->rank[cpu] | 0x80000000u : c->rank[cpu] & 0x7fffffffu;
    }
    llm__cores_best(c, 0x80000000u);
    if (!c->n_best) return false;
    llm__format(c->why, sizeof c->why, "P cores, as the system lists them");
    return true;
}
static bool llm__cores_by_class(llm__cores *c) {
    uint32_t n;
    if (!llm__os_cpu_classes(c->rank, c->core)) return false;
    llm__cores_best(c, llm__cores_next_rank(c, UINT32_MAX, &n));
    llm__format(c->why, sizeof c->why, "the highest efficiency class");
    return c->n_best > 0;
}
typedef struct llm__core_level { uint32_t n; char name[24]; } llm__core_level;
static bool llm__cores_by_level(llm__cores *c, const llm__core_level *levels, uint32_t n) {
    uint32_t i, k, cpu = 0;
    for (i = 0; i < n; i++)
        for (k = 0; k < levels[i].n && cpu < LLM__MAX_CPUS; k++, cpu++) {
            llm__cpus_add(&c->online, cpu);
            c->core[cpu] = (uint16_t)cpu;
            c->rank[cpu] = i > 0 && i + 1 == n && !llm__str_is(llm__str_of(levels[i].name), "Performance") ? 1 : 100 - i;
        }
    llm__cores_best(c, 2);
    if (n) llm__format(c->why, sizeof c->why, "performance level '%s'", levels[0].name);
    return n > 0;
}
static bool llm__cores_by_levels(llm__cores *c) {
    llm__core_level levels[4];
    uint32_t n = 0;
    memset(levels, 0, sizeof levels);
    while (n < LLM__COUNT(levels) && llm__os_core_level(n, &levels[n].n, levels[n].name, sizeof levels[n].name)) n++;
    return llm__cores_by_level(c, levels, n);
}

// The kernel's own measure of a CPU at its highest frequency. Without one in the device tree it says 1024 for all, which is no answer.
static bool llm__cores_by_capacity(llm__cores *c) {
    uint32_t in, out;
    if (!llm__cores_each(c, "cpu_capacity", c->rank) || llm__cores_alike(c, c->rank)) return false;
    llm__cores_best(c, llm__cores_cut(c, 7));
    if (llm__cores_edge(c, &in, &out)) llm__format(c->why, sizeof c->why, "capacity %u against %u", c->rank[in], c->rank[out]);
    return true;
}
// What the kernel computes, from what is there: weight of the part x highest frequency. A frequency alone hides what a core does per clock,
// so that a smaller step tells as much.
static bool llm__cores_by_estimate(llm__cores *c) {
    uint32_t *mhz = c->spare[0], cpu, in, out;
    const bool parts = llm__cores_parts(c, c->rank), clocks = llm__cores_each(c, "cpufreq/cpuinfo_max_freq", mhz);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        mhz[cpu] = clocks && llm__cpus_has(&c->online, cpu) ? mhz[cpu] / 1000 : 1;
        c->rank[cpu] = parts ? c->rank[cpu] * mhz[cpu] : mhz[cpu];
    }
    llm__cores_best(c, llm__cores_cut(c, parts ? 7 : 8));
    if (!llm__cores_edge(c, &in, &out)) return parts || clocks;
    if (parts && clocks) llm__format(c->why, sizeof c->why, "ARM part numbers, %u against %u MHz", mhz[in], mhz[out]);
    else if (parts) llm__format(c->why, sizeof c->why, "ARM part numbers");
    else llm__format(c->why, sizeof c->why, "%u against %u MHz", mhz[in], mhz[out]);
    return true;
}

// The path of this process's group for a controller, "" for version 2, from lines such as "4:cpu,cpuacct:/docker/1f2e" and "0::/user":
// the first that fits.
typedef struct llm__cgroup { const char *controller; char *path; size_t cap; bool found; } llm__cgroup;
static void llm__cgroup_line(void *arg, llm__str line) {
    llm__cgroup *g = (llm__cgroup *)arg;
    const size_t want = strlen(g->controller);
    size_t name = 0, stop;
    while (name < line.n && line.p[name] != ':') name++;
    for (;;) {
        for (stop = ++name; stop < line.n && line.p[stop] != ':' && line.p[stop] != ','; stop++) { }
        if (stop >= line.n) return;
        if (stop - name == want && memcmp(line.p + name, g->controller, want) == 0) break;
        if (line.p[stop] == ':') return;
        name = stop;
    }
    while (stop < line.n && line.p[stop] != ':') stop++;
    if (g->found || stop >= line.n || line.n - stop > g->cap) return;
    memcpy(g->path, line.p + stop + 1, line.n - stop - 1);
    g->path[line.n - stop - 1] = 0;
    g->found = true;
}
// Without a slash at its end, so that the root is "", as where no line fits. In a container the path may be the host's and lead nowhere:
// its own group is then the root. So whoever asks goes up until there is an answer.
static bool llm__machine_cgroup(const char *controller, char *path, size_t cap) {
    llm__cgroup g;
    size_t n;
    g.controller = controller; g.path = path; g.cap = cap; g.found = false;
    path[0] = 0;
    llm__os_lines("/proc/self/cgroup", llm__cgroup_line, &g);
    for (n = strlen(path); n && path[n - 1] == '/'; n--) path[n - 1] = 0;
    return g.found;
}
// To the group around it. false: it is the root.
static bool llm__cgroup_up(char *path) {
    size_t n = strlen(path);
    if (!n) return false;
    while (n && path[--n] != '/') { }
    path[n] = 0;
    return true;
}
// "150000 100000": 150 ms of CPU time in each 100 ms are two CPUs, the second one half of the time. "max" is no limit.
static uint32_t llm__quota_cpus(const char *quota, const char *period) {
    const uint64_t most = llm__machine_number(quota), each = llm__machine_number(period);
    if (!most || !each) return 0;
    return (uint32_t)LLM__MIN((most - 1) / each + 1, (uint64_t)LLM__MAX_CPUS);
}
static uint32_t llm__quota_at(bool v2, const char *path) {
    char full[400], quota[64], period[64];
    size_t i = 0;
    llm__format(full, sizeof full, v2 ? "/sys/fs/cgroup%s/cpu.max" : "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", path);
    if (!llm__os_text(full, quota, sizeof quota)) return 0;
    if (!v2) {
        llm__format(full, sizeof full, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", path);
        if (!llm__os_text(full, period, sizeof period)) return 0;
        return llm__quota_cpus(quota, period);
    }
    while (quota[i] && quota[i] != ' ') i++;
    return quota[i] ? llm__quota_cpus(quota, quota + i + 1) : 0;
}
// The least of the group's quota and those of the groups around it.
static uint32_t llm__cores_quota(void) {
    char path[320];
    uint32_t v2, least = 0;
    for (v2 = 0; v2 < 2; v2++) {
        llm__machine_cgroup(v2 ? "" : "cpu", path, sizeof path);
        do {
            const uint32_t q = llm__quota_at(v2 != 0, path);
            if (q && (!least || q < least)) least = q;
        } while (llm__cgroup_up(path));
    }
    return least;
}

// How many periods of the quota a group has had so far, and in how many of them its time ran out. A group without a quota has none.
static bool llm__throttled_at(bool v2, const char *path, uint64_t *periods, uint64_t *throttled) {
    char full[400], text[512];
    const char *p, *t;
    llm__format(full, sizeof full, v2 ? "/sys/fs/cgroup%s/cpu.stat" : "/sys/fs/cgroup/cpu%s/cpu.stat", path);
    llm__os_text(full, text, sizeof text);
    p = llm__machine_line(text, "nr_periods");
    t = llm__machine_line(text, "nr_throttled");
    if (!p || !t) return false;
    *periods = llm__machine_number(p);
    *throttled = llm__machine_number(t);
    return *periods > 0;
}
// Of this process's group, or of the next one around it that has a quota.
static bool llm__cores_throttled(uint64_t *periods, uint64_t *throttled) {
    char path[320];
    uint32_t v2;
    if (!LLM__SYSTEM || !LLM__DIAGNOSIS) return false;
    for (v2 = 0; v2 < 2; v2++) {
        llm__machine_cgroup(v2 ? "" : "cpu", path, sizeof path);
        do {
            if (llm__throttled_at(v2 != 0, path, periods, throttled)) return true;
        } while (llm__cgroup_up(path));
    }
    return false;
}

// *allowed counts only where the system does not say what is online.
static void llm__cores_read(llm__cores *c, const llm__cpus *allowed) {
    uint32_t cpu;
    memset(c, 0, sizeof *c);
    if (!LLM__SYSTEM) {
        c->online = c->best = *allowed;
        c->n_online = c->n_best = 1;
        return;
    }
    if (!llm__cores_list("/sys/devices/system/cpu/online", &c->online) && !llm__cores_list("/sys/devices/system/cpu/present", &c->online) &&
        !llm__cores_list("/sys/devices/system/cpu/possible", &c->online)) c->online = *allowed;
    llm__cores_siblings(c);
    if (!llm__cores_by_list(c) && !llm__cores_by_capacity(c) && !llm__cores_by_class(c) && !llm__cores_by_levels(c) &&
        !llm__cores_by_estimate(c)) {
        for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) c->rank[cpu] = 1;
        llm__cores_best(c, 1);
    }
    c->n_online = llm__cpus_count(&c->online);
    c->quota = llm__cores_quota();
}

// The CPUs to compute on among those that are allowed: the performance cores, one CPU of each core, the fastest first. Where no performance
// core is allowed, all cores that are: a phone's background has the little ones alone. Returns how many; the first `cap` go to order.
static uint32_t llm__cores_choose(const llm__cores *c, const llm__cpus *allowed, uint16_t *order, uint32_t cap) {
    llm__cpus seen;
    uint32_t cpu, n = 0, kept = 0, i;
    bool any = false;
    memset(&seen, 0, sizeof seen);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) any |= llm__cpus_has(allowed, cpu) && llm__cpus_has(&c->best, cpu);
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        if (!llm__cpus_has(allowed, cpu) || (any && !llm__cpus_has(&c->best, cpu)) || llm__cpus_has(&seen, c->core[cpu])) continue;
        llm__cpus_add(&seen, c->core[cpu]);
        n++;
        for (i = kept; i > 0 && c->rank[order[i - 1]] < c->rank[cpu]; i--) if (i < cap) order[i] = order[i - 1];
        if (i < cap) order[i] = (uint16_t)cpu;
        kept = LLM__MIN(kept + 1, cap);
    }
    return LLM__MAX(n, 1u);
}
// One sentence: why the default is what it is.
static void llm__cores_explain(const llm__cores *c, const llm__cpus *allowed, char *buf, size_t cap) {
    const uint32_t n = llm__cores_choose(c, allowed, NULL, 0);
    llm__text t;
    uint32_t cpu, n_cores = 0, may = 0, best = 0;
    for (cpu = 0; cpu < LLM__MAX_CPUS; cpu++) {
        n_cores += llm__cpus_has(&c->best, cpu) && c->core[cpu] == cpu;
        may += llm__cpus_has(allowed, cpu);
        best += llm__cpus_has(allowed, cpu) && llm__cpus_has(&c->best, cpu);
    }
    t.p = buf; t.n = 0; t.cap = cap;
    if (c->n_best < c->n_online) llm__text_add(&t, "%u of %u CPUs are performance cores (%s)", c->n_best, c->n_online, c->why);
    else llm__text_add(&t, c->n_online == 1 ? "one CPU" : llm__cores_alike(c, c->rank) ? "%u CPUs alike" : "%u CPUs, none clearly slower",
                       c->n_online);
    if (n_cores && n_cores < c->n_best) llm__text_add(&t, ", %u with SMT siblings counted once", n_cores);
    if (may < c->n_online) llm__text_add(&t, ", %u %sallowed here", best ? best : may, best ? "of them " : "others ");
    if (c->quota && c->quota < n) llm__text_add(&t, ", cut to %u by the cgroup's CPU quota", c->quota);
    llm__text_end(&t);
}

// ---- memory ----

typedef struct llm__memory {           // bytes; 0 = unknown
    uint64_t total, available;         // of the machine
    uint64_t limit;                    // what this process may have at most, by whatever is narrowest
    const char *limit_by;
    uint64_t physical;                 // likewise without limits of the address space: what weights may come to
    const char *physical_by;
    uint64_t swap_total, swap_used;
    bool swap_is_zram;
    double pressure_pct;               // PSI: the time of the last ten seconds in which some task waited for memory
    uint64_t file_resident, anonymous, swapped, peak_rss, address_space, major_faults;      // of this process
} llm__memory;

static void llm__memory_narrow(llm__memory *m, uint64_t limit, uint64_t used, const char *by) {
    const uint64_t left = limit > used ? limit - used : 1;                // nothing left is a byte: 0 would be unknown
    if (!m->limit || limit < m->limit) { m->limit = limit; m->limit_by = by; }
    m->available = m->available ? LLM__MIN(m->available, left) : left;
}
typedef struct llm__stat_line { const char *key; uint64_t value; bool found; } llm__stat_line;
static void llm__stat_take(void *arg, llm__str line) {
    llm__stat_line *s = (llm__stat_line *)arg;
    if (!s->found) s->found = llm__line_number(line, s->key, &s->value);
}
// One control group: `most` may say "max". Pages of files that it has in memory can be dropped for others.
static void llm__memory_group(llm__memory *m, const char *dir, const char *path, const char *most, const char *used, const char *file_key) {
    char name[400];
    uint64_t limit, now = 0;
    llm__stat_line files;
    llm__format(name, sizeof name, "%s%s/%s", dir, path, most);
    if (!llm__machine_u64(name, &limit) || limit >> 60) return;
    llm__format(name, sizeof name, "%s%s/%s", dir, path, used);
    llm__machine_u64(name, &now);
    llm__format(name, sizeof name, "%s%s/memory.stat", dir, path);
    files.key = file_key; files.value = 0; files.found = false;
    llm__os_lines(name, llm__stat_take, &files);
    now -= LLM__MIN(now, files.value);
    llm__memory_narrow(m, limit, now, "cgroup");
}
// The group of this process and those above it; version 2 has one tree, version 1 one for memory.
static void llm__memory_groups(llm__memory *m) {
    char path[320];
    const bool one = llm__machine_cgroup("memory", path, sizeof path);
    if (!one && !llm__machine_cgroup("", path, sizeof path)) return;
    do {
        if (one) {
            llm__memory_group(m, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ");
        } else {
            llm__memory_group(m, "/sys/fs/cgroup", path, "memory.max", "memory.current", "file ");
            llm__memory_group(m, "/sys/fs/cgroup", path, "memory.high", "memory.current", "file ");
        }
    } while (llm__cgroup_up(path));
}
static void llm__memory_pressure(llm__memory *m) {
    char text[256];
    const char *p = llm__os_text("/proc/pressure/memory", text, sizeof text) ? llm__machine_line(text, "some avg10=") : NULL;
    if (!p) return;
    m->pressure_pct = (double)llm__machine_number(p);
    p += llm__until(p, '.');
    if (p[0] == '.' && p[1] >= '0' && p[1] <= '9') m->pressure_pct += (p[1] - '0') * 0.1;
}
static void llm__meminfo_line(void *arg, llm__str line) {
    llm__memory *m = (llm__memory *)arg;
    uint64_t left;
    if (llm__line_kb(line, "MemTotal:", &m->total) || llm__line_kb(line, "MemAvailable:", &m->available)) return;
    if (llm__line_kb(line, "SwapTotal:", &m->swap_total)) m->swap_used = m->swap_total;
    if (llm__line_kb(line, "SwapFree:", &left)) m->swap_used = m->swap_total - LLM__MIN(m->swap_total, left);      // after SwapTotal
}
static void llm__status_line(void *arg, llm__str line) {
    llm__memory *m = (llm__memory *)arg;
    llm__line_kb(line, "RssFile:", &m->file_resident);
    llm__line_kb(line, "RssAnon:", &m->anonymous);
    llm__line_kb(line, "VmSwap:", &m->swapped);
    llm__line_kb(line, "VmSize:", &m->address_space);
    llm__line_kb(line, "VmHWM:", &m->peak_rss);
}
static void llm__swaps_line(void *arg, llm__str line) {
    if (llm__str_find(line, "zram") != LLM_FAILED) *(bool *)arg = true;
}
static void llm__memory_look(llm__memory *m) {
    llm__os_usage usage;
    const uint64_t space = llm__os_address_space();
    memset(m, 0, sizeof *m);
    m->limit_by = m->physical_by = "";
    if (!LLM__SYSTEM || !LLM__DIAGNOSIS) return;
    llm__os_usage_now(&usage);
    m->peak_rss = usage.peak_rss;
    m->major_faults = usage.major_faults;
    if (!llm__os_lines("/proc/meminfo", llm__meminfo_line, m)) llm__os_memory(&m->total, &m->available);
    llm__os_lines("/proc/self/status", llm__status_line, m);
    llm__os_lines("/proc/swaps", llm__swaps_line, &m->swap_is_zram);
    llm__memory_pressure(m);
    m->limit = m->total;
    m->limit_by = m->total ? "RAM" : "";
    llm__memory_groups(m);
    m->physical = m->limit;
    m->physical_by = m->limit_by;
    if (space != UINT64_MAX && (!m->limit || space < m->limit))
        llm__memory_narrow(m, space, m->address_space, sizeof(void *) > 4 ? "ulimit -v" : "address space");
}

// ---- heat and power ----

typedef struct llm__heat {
    uint32_t mhz, mhz_max;             // of the fastest core: now, and at most; 0 = unknown
    double celsius;                    // of the hottest zone
    const char *mode;                  // "" = unknown
    bool on_battery;
} llm__heat;

static void llm__heat_clock(llm__heat *h) {
    char path[96];
    uint64_t khz;
    uint32_t cpu, missing = 0;
    for (cpu = 0; cpu < 64 && missing < 8; cpu++) {                       // some may be offline; many machines have no cpufreq at all
        llm__format(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
        if (!llm__machine_u64(path, &khz)) { missing++; continue; }
        missing = 0;
        h->mhz = LLM__MAX(h->mhz, (uint32_t)(khz / 1000));
        llm__format(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq", cpu);
        if (llm__machine_u64(path, &khz)) h->mhz_max = LLM__MAX(h->mhz_max, (uint32_t)(khz / 1000));
    }
}
static void llm__heat_zones(llm__heat *h) {
    char path[64], text[32];
    uint32_t zone, missing = 0;
    for (zone = 0; zone < 64 && missing < 8; zone++) {                    // a sensor whose device sleeps answers with an error
        uint64_t milli;
        llm__format(path, sizeof path, "/sys/class/thermal/thermal_zone%u/temp", zone);
        if (!llm__os_text(path, text, sizeof text)) { missing++; continue; }
        missing = 0;
        milli = llm__machine_number(text);
        if (milli < 150000) h->celsius = LLM__MAX(h->celsius, (double)milli * 0.001);      // some sensors show nonsense
    }
}
static void llm__heat_power(llm__heat *h) {
    static const char *const modes[] = { "low-power", "quiet", "cool", "balanced-performance", "balanced", "performance" };
    static const char *const batteries[] = { "BAT0", "BAT1", "battery", "BATT", "CMB0", "macsmc-battery" };
    char path[64], text[32];
    size_t i;
    if (llm__os_text("/sys/firmware/acpi/platform_profile", text, sizeof text))
        for (i = 0; i < LLM__COUNT(modes); i++)
            if (llm__str_is(llm__str_n(text, llm__until(text, '\n')), modes[i])) h->mode = modes[i];
    for (i = 0; i < LLM__COUNT(batteries); i++) {
        llm__format(path, sizeof path, "/sys/class/power_supply/%s/status", batteries[i]);
        if (llm__os_text(path, text, sizeof text) && llm__has(text, "Discharging")) h->on_battery = true;
    }
}
static void llm__heat_look(llm__heat *h) {
    memset(h, 0, sizeof *h);
    h->mode = "";
    if (!LLM__SYSTEM || !LLM__DIAGNOSIS) return;
    llm__heat_clock(h);
    llm__heat_zones(h);
    llm__heat_power(h);
    llm__os_power(&h->mode, &h->on_battery);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>pool     Worker threads and the fork-join. The caller never waits for a worker that has not begun: it takes over the parts of those
//            that are late, so too many threads on too few CPUs cost little more than the threads that fit. Waiting is a bounded
//            spin, then sleep; between calls everybody sleeps. A pool that is watched keeps no more threads awake than there are CPUs to
//            run them, and looks again while it runs. A host with a job system replaces all of it (llm_parallel).

typedef void (*llm__job_fn)(void *arg, uint32_t worker);

#define LLM__MAX_WORKERS 256u
#define LLM__SPIN_US     50u           // longer than the serial parts between two fork-joins, shorter than falling asleep and waking twice
#define LLM__LOOK_US     100000u       // a watched pool looks at most so often where it may run: a few microseconds then, nothing otherwise
#define LLM__WHY_BYTES   288
#define LLM__ANYWHERE    0xffffu

// One worker. Others poll and change some of its words, so each worker has cache lines of its own.
typedef struct llm__worker {
    llm__atomic32 turn;                // 2 * run: worker's part of this run is free; + 1: somebody has it
    llm__atomic32 share;               // what is left of its share of the work: llm__chunks
    struct llm__pool *pool;
    llm__os_thread thread;
    uint32_t index;
    llm__atomic32 spins, sleeps;       // its waits that ended while it span, and after it slept; only it adds, before it takes its turn
    uint64_t rows;                     // numbers of llm__chunks that this team's runs gave it
    uint32_t settled;                  // the last wish it has heard
    llm__atomic32 id;                  // its number for the system
    llm__atomic32 wish;                // CPU + 1, or LLM__ANYWHERE, + 65536 * how many times the pool was placed; 0: it was never placed
    llm__atomic32 on;                  // CPU + 1 that it is known to be pinned to, or 0
    llm__atomic32 at;                  // the CPU it was last asked and found on
    char pad[128];
} llm__worker;

typedef struct llm__pool {
    llm__atomic32 taken;               // a team exists
    uint32_t n_workers;                // threads that run, the caller's included
    llm_parallel hook;
    llm__worker *workers;              // [n_workers], the first is the caller
    llm__job_fn fn;                    // the run in progress
    void *arg;
    uint32_t started;                  // runs so far, as only the caller counts them
    char pad0[64];
    llm__atomic32 run;                 // workers wait for this to change
    char pad1[64];
    llm__atomic32 done;                // parts that workers have finished
    llm__atomic32 waiting;             // the caller sleeps until done changes
    char pad2[64];
    llm__atomic32 asleep, active, quit;  // workers asleep; a team is taken, so spinning is welcome; the end
    llm__os_event wake, finished;

    // Where it runs. Only who has the team changes these.
    llm__cores cores;
    llm__cpus home;                    // what the loading thread might use
    llm__cpus allowed;                 // what the team might use at the last look
    llm__cpus host;                    // the caller's own, while it is pinned
    bool watched, by_default;          // look at the mask while running; n_threads was 0
    llm_cores asked, obtained;         // obtained is decided once, by llm__pool_watch
    uint64_t looked_us;
    uint32_t loader;                   // the loading thread
    uint32_t n_home, n_best;           // CPUs in home; performance cores among them
    uint32_t n_places, placed;         // in places; how many times the pool was placed
    uint16_t places[LLM__MAX_WORKERS]; // the CPU of each worker, the caller's first
    llm__atomic32 n_allowed, awake;    // CPUs in allowed; members of a team: the other workers rest
    llm__atomic32 first_place;         // places[0] + 1
    llm__atomic32 heard;               // workers that have heard a wish
    llm__os_event rest;
    char why[LLM__WHY_BYTES];
} llm__pool;

typedef struct llm__team {
    llm__pool *pool;
    uint32_t n;                        // 1: the caller alone
    uint64_t n_runs, rows_most, rows_least;      // rows: when it has been given back, of the busiest and the idlest of its members
} llm__team;

// Spins until *word differs from `seen`, for a bounded time; false: it still does not. The clock is read every few hundred cycles.
static bool llm__pool_spin(const llm__atomic32 *word, uint32_t seen, const llm__atomic32 *welcome) {
    uint64_t end = 0;
    uint32_t i;
    for (i = 0; ; i++) {
        if (llm__atomic_load(word) != seen) return true;
        if (welcome && !llm__atomic_load(welcome)) return false;
        llm__os_pause();
        if (i % 16 != 15) continue;
        if (!end) end = llm__os_now_us() + LLM__SPIN_US;
        else if (llm__os_now_us() >= end) return false;
    }
}

static void llm__worker_part(llm__worker *w, uint32_t run) {
    llm__pool *p = w->pool;
    // Winning the turn proves that the run is still on: fn and arg are those of this run until `done` says that all have finished.
    if (!llm__atomic_cas(&w->turn, run * 2, run * 2 + 1)) return;
    p->fn(p->arg, w->index);
    llm__atomic_add(&p->done, 1);
    if (llm__atomic_load(&p->waiting)) llm__os_wake_all(&p->finished, &p->done);
}

// Asking is not having: some systems say yes and do nothing. So the mask is read back, by asking once more, and the thread looks
// where it runs.
static bool llm__pool_pin(uint32_t cpu, uint32_t *found) {
    const llm__cpus one = llm__cpus_one(cpu);
    llm__cpus back;
    bool said;
    memset(&back, 0, sizeof back);
    said = llm__os_pin(&one, NULL) && llm__os_pin(&one, &back);
    *found = said ? llm__os_cpu_now() : UINT32_MAX;
    return said && llm__cpus_same(&one, &back) && *found == cpu;
}
// On the worker's own thread.
static void llm__worker_settle(llm__worker *w) {
    const uint32_t wish = llm__atomic_load(&w->wish), place = wish & 0xffffu;              // the CPU + 1; 0: there is none for it
    uint32_t found = UINT32_MAX, on = 0;
    if (wish == w->settled) return;
    w->settled = wish;
    if (place && place != LLM__ANYWHERE) {
        llm__os_urgent();
        if (llm__pool_pin(place - 1, &found)) on = place;
    } else if (place || llm__atomic_load(&w->on)) {
        llm__os_pin(&w->pool->home, NULL);
    }
    llm__atomic_store(&w->at, found);
    llm__atomic_store(&w->on, on);
    llm__atomic_add(&w->pool->heard, 1);
    llm__os_wake_all(&w->pool->finished, &w->pool->heard);
}
static void llm__worker_rest(llm__worker *w) {
    llm__pool *p = w->pool;
    uint32_t awake;
    while ((awake = llm__atomic_load(&p->awake)) <= w->index) llm__os_wait(&p->rest, &p->awake, awake);
}
static void llm__worker_main(void *arg) {
    llm__worker *w = (llm__worker *)arg;
    llm__pool *p = w->pool;
    uint32_t seen = 0, now;
    llm__fp_enter();
    llm__atomic_store(&w->id, llm__os_thread_id());
    for (;;) {
        llm__worker_rest(w);
        if (llm__pool_spin(&p->run, seen, &p->active)) {
            llm__atomic_add(&w->spins, 1);
        } else {
            llm__atomic_add(&p->asleep, 1);
            while (llm__atomic_load(&p->run) == seen && !llm__atomic_load(&p->quit)) llm__os_wait(&p->wake, &p->run, seen);
            llm__atomic_add(&p->asleep, (uint32_t)-1);
            llm__atomic_add(&w->sleeps, 1);
        }
        if (llm__atomic_load(&p->quit)) return;
        llm__worker_settle(w);
        now = llm__atomic_load(&p->run);
        if (now != seen) llm__worker_part(w, now);
        seen = now;
    }
}

static void llm__pool_events_free(llm__pool *p, uint32_t n) {
    if (n > 2) llm__os_event_free(&p->rest);
    if (n > 1) llm__os_event_free(&p->finished);
    if (n > 0) llm__os_event_free(&p->wake);
}
static bool llm__pool_events(llm__pool *p) {
    const uint32_t n = !llm__os_event_init(&p->wake) ? 0 : !llm__os_event_init(&p->finished) ? 1 : !llm__os_event_init(&p->rest) ? 2 : 3;
    if (n < 3) llm__pool_events_free(p, n);
    return n == 3;
}

static void llm__pool_unmake(llm__pool *p, const llm__heap *h) {
    if (!p) return;
    llm__free(h, p->workers);
    llm__free(h, p);
}
static void llm__pool_free(llm__pool *p, const llm__heap *h) {
    uint32_t i;
    if (!p) return;
    if (!p->hook.for_fn) {
        llm__atomic_store(&p->quit, 1);
        llm__atomic_add(&p->run, 1);
        llm__atomic_store(&p->awake, UINT32_MAX);
        llm__os_wake_all(&p->wake, &p->run);
        llm__os_wake_all(&p->rest, &p->awake);
        for (i = 1; i < p->n_workers; i++) llm__os_thread_join(&p->workers[i].thread);
        llm__pool_events_free(p, 3);
    }
    llm__pool_unmake(p, h);
}

// The threads for a wish of n_threads; 0: one for each performance core that the calling thread may use, capped by the cgroup's quota.
static uint32_t llm__pool_choose(const llm__cores *cores, const llm__cpus *home, uint32_t n_threads) {
    uint32_t n = n_threads ? n_threads : llm__cores_choose(cores, home, NULL, 0);
    if (!n_threads && cores->quota) n = LLM__MIN(n, cores->quota);
    return LLM__MIN(n, LLM__MAX_WORKERS);
}
// The memory of a pool and the number of its threads, none of which runs yet. NULL: no memory.
static llm__pool *llm__pool_make(const llm__heap *h, uint32_t n_threads) {
    llm__pool *p = (llm__pool *)llm__alloc_zero(h, 1, sizeof *p);
    if (!p) return NULL;
    llm__os_allowed(0, &p->home);
    p->loader = llm__os_thread_id();
    llm__cores_read(&p->cores, &p->home);
    p->n_workers = llm__pool_choose(&p->cores, &p->home, n_threads);
    p->workers = (llm__worker *)llm__alloc_zero(h, p->n_workers, sizeof *p->workers);
    if (p->workers) return p;
    llm__free(h, p);
    return NULL;
}
// Threads that cannot be started are left out: n_workers tells.
static llm_result llm__pool_new(llm__pool **out, const llm__heap *h, uint32_t n_threads, const llm_parallel *hook, llm_error *e) {
    llm__pool *p;
    uint32_t i, n;
    bool locks = true;
    *out = NULL;
    if (!LLM__ATOMICS && hook && hook->for_fn)
        return llm__fail(e, LLM_UNSUPPORTED, "this build has no atomics: the host's threads cannot be used (parallel)");
    p = llm__pool_make(h, n_threads);
    if (!p) return llm__fail(e, LLM_NO_MEMORY, "no memory for the worker threads");
    n = p->n_workers;
    p->n_workers = 1;
    p->by_default = n_threads == 0;
    p->allowed = p->home;
    p->n_home = llm__cpus_count(&p->home);
    llm__atomic_store(&p->n_allowed, p->n_home);
    llm__atomic_store(&p->awake, n);
    if (hook && hook->for_fn) {
        p->hook = *hook;
        p->n_workers = n;
    } else {
        locks = llm__pool_events(p);
    }
    if (!locks) {
        llm__pool_unmake(p, h);
        return llm__fail(e, LLM_NO_MEMORY, "the system has no locks left for the worker threads");
    }
    for (i = p->n_workers; i < n; i++) {
        llm__worker *w = &p->workers[i];
        w->pool = p;
        w->index = i;
        if (!llm__os_thread_start(&w->thread, llm__worker_main, w)) break;
        p->n_workers = i + 1;
    }
    llm__atomic_store(&p->awake, p->n_workers);
    *out = p;
    return LLM_OK;
}

// ---- where it runs ----

// Which CPU each worker is for. They hear of it when they wake for the next run.
static void llm__pool_place(llm__pool *p) {
    uint32_t i;
    p->placed++;
    for (i = 1; i < p->n_workers; i++)
        llm__atomic_store(&p->workers[i].wish, (p->placed & 0xffffu) << 16 | (i < p->n_places ? p->places[i] + 1u : 0u));
}
// No more threads are awake than there are CPUs for them.
static void llm__pool_rest(llm__pool *p) {
    const uint32_t n = p->by_default ? p->n_places : LLM__MAX(llm__cpus_count(&p->allowed), 1u);
    llm__atomic_store(&p->awake, LLM__RESTS && !p->hook.for_fn ? LLM__MIN(n, p->n_workers) : p->n_workers);
    if (!p->hook.for_fn) llm__os_wake_all(&p->rest, &p->awake);
}
static void llm__pool_allow(llm__pool *p, const llm__cpus *allowed) {
    p->allowed = *allowed;
    llm__atomic_store(&p->n_allowed, llm__cpus_count(allowed));
    p->n_places = LLM__MIN(llm__cores_choose(&p->cores, allowed, p->places, LLM__MAX_WORKERS), LLM__MAX_WORKERS);
    llm__atomic_store(&p->first_place, p->places[0] + 1u);
}
// Where the team may run: the caller, and one thread that nobody is likely to have pinned, a worker or else the thread that loaded the
// model. A host may pin the thread that calls, which says nothing about the others; a system that moves a process moves all its threads.
static void llm__pool_look(llm__pool *p) {
    const uint64_t now = llm__os_now_us();
    const uint32_t worker = p->n_workers > 1 && p->obtained == LLM_CORES_ANY ? llm__atomic_load(&p->workers[1].id) : 0;
    llm__cpus allowed, other;
    uint32_t i;
    if (p->looked_us && now - p->looked_us < LLM__LOOK_US) return;
    p->looked_us = now;
    memset(&allowed, 0, sizeof allowed);
    memset(&other, 0, sizeof other);
    llm__os_allowed(0, &allowed);
    if (p->n_workers > 1 && p->obtained == LLM_CORES_ANY && !worker) other = p->home;      // the worker has not even begun
    else if (p->n_workers > 1) llm__os_allowed(worker ? worker : p->loader, &other);
    for (i = 0; i < LLM__COUNT(other.bits); i++) allowed.bits[i] |= other.bits[i];
    if (llm__cpus_same(&allowed, &p->allowed)) return;
    llm__pool_allow(p, &allowed);
    if (p->obtained == LLM_CORES_BIG) llm__pool_place(p);
    llm__pool_rest(p);
}

// The caller is one of the team, so it has a place too until the call ends. Then its own mask is as it was, unless somebody has changed it.
// Four system calls for each evaluation: 20 us on a virtual machine, little against the milliseconds of a token.
static void llm__pool_pin_caller(llm__pool *p) {
    const llm__cpus one = llm__cpus_one(p->places[0]);
    llm__os_pin(&one, &p->host);
}
static void llm__pool_unpin_caller(llm__pool *p) {
    const llm__cpus one = llm__cpus_one(p->places[0]);
    llm__cpus now;
    memset(&now, 0, sizeof now);
    if (llm__os_pin(&p->host, &now) && !llm__cpus_same(&one, &now)) llm__os_pin(&now, NULL);
}

// All workers hear their wish before this returns.
static void llm__pool_place_now(llm__pool *p) {
    uint32_t heard;
    llm__atomic_store(&p->heard, 0);
    llm__pool_place(p);
    p->started++;
    llm__atomic_store(&p->run, p->started);
    llm__os_wake_all(&p->wake, &p->run);
    while ((heard = llm__atomic_load(&p->heard)) + 1 < p->n_workers) llm__os_wait(&p->finished, &p->heard, heard);
}
// Tries to have the caller and the workers on their places. Returns n_workers, or the first worker that is somewhere else, with the CPU it
// was found on; then everybody may run anywhere again. The caller has its own mask back in either case, which may be less than home.
static uint32_t llm__pool_try(llm__pool *p, uint32_t *found) {
    const uint32_t n = LLM__MIN(p->n_places, p->n_workers);
    uint32_t i = 0, k;
    bool caller;
    llm__pool_pin_caller(p);
    caller = llm__pool_pin(p->places[0], found);
    llm__pool_unpin_caller(p);
    llm__pool_place_now(p);
    if (caller) for (i = 1; i < n && llm__atomic_load(&p->workers[i].on) == p->places[i] + 1u; i++) { }
    if (i == n) return p->n_workers;
    if (i) *found = llm__atomic_load(&p->workers[i].at);
    for (k = 1; k < p->n_workers && LLM__PINS; k++)
        llm__atomic_store(&p->workers[k].wish, llm__atomic_load(&p->workers[k].wish) | LLM__ANYWHERE);
    return i;
}
static void llm__pool_say_places(const llm__pool *p, llm__text *t) {
    const uint32_t n = LLM__MIN(p->n_places, p->n_workers), shown = LLM__MIN(n, 12u);
    uint32_t i;
    llm__text_add(t, n == 1 ? "; pinned to CPU " : "; pinned to CPUs ");
    for (i = 0; i < shown; i++) llm__text_add(t, i ? ", %u" : "%u", (uint32_t)p->places[i]);
    if (shown < n) llm__text_add(t, " ... (%u in all)", n);
    if (n < p->n_workers) llm__text_add(t, "; %u threads more than performance cores are placed by the system", p->n_workers - n);
}
// Pins, and adds to t what became of it. All must hear, also those that will rest.
static llm_cores llm__pool_pin_all(llm__pool *p, llm__text *t) {
    uint32_t found = UINT32_MAX, astray;
    if (p->hook.for_fn) {
        llm__text_add(t, "; nothing is pinned: the threads are the host's (parallel)");
        return LLM_CORES_ANY;
    }
    astray = llm__pool_try(p, &found);
    if (astray == p->n_workers) {
        llm__pool_say_places(p, t);
        return LLM_CORES_BIG;
    }
    if (!LLM__PINS) llm__text_add(t, "; nothing is pinned: the system has no call for it" LLM__URGENT);
    else if (found == UINT32_MAX) llm__text_add(t, "; nothing is pinned: the system refused CPU %u", (uint32_t)p->places[astray]);
    else llm__text_add(t, "; nothing is pinned: the system ignored the wish, a thread that was sent to CPU %u was on CPU %u",
                       (uint32_t)p->places[astray], found);
    return LLM_CORES_ANY;
}
// From now on the pool minds where it runs: threads without a CPU rest, and, if that is asked for and can be had, each has its CPU.
static void llm__pool_watch(llm__pool *p, llm_cores asked) {
    llm__text t;
    p->asked = asked;
    p->n_best = 1;
    if (!LLM__SYSTEM) {
        if (LLM__DIAGNOSIS) llm__format(p->why, sizeof p->why, "there is no system to ask");
        return;
    }
    p->watched = true;
    llm__pool_allow(p, &p->home);
    p->n_best = p->n_places;
    llm__cores_explain(&p->cores, &p->home, p->why, sizeof p->why);
    t.p = p->why; t.n = strlen(p->why); t.cap = sizeof p->why;
    if (asked == LLM_CORES_BIG) p->obtained = llm__pool_pin_all(p, &t);
    llm__text_end(&t);
    llm__pool_rest(p);
}
// CPUs below 64 that threads of the pool are pinned to now, the caller's included.
static uint64_t llm__pool_pinned(const llm__pool *p) {
    uint64_t pinned = 0;
    uint32_t i, on;
    if (p->obtained != LLM_CORES_BIG) return 0;
    for (i = 0; i < p->n_workers; i++) {
        on = i ? llm__atomic_load(&p->workers[i].on) : llm__atomic_load(&p->first_place);
        if (on && on <= 64) pinned |= (uint64_t)1 << (on - 1);
    }
    return pinned;
}

// The pool for one caller at a time; who comes second computes alone, and nobody waits.
static llm__team llm__team_take(llm__pool *p) {
    llm__team t;
    uint32_t i;
    memset(&t, 0, sizeof t);
    t.n = 1;
    if (!p || (p->n_workers == 1 && !p->watched) || llm__atomic_exchange(&p->taken, 1)) return t;
    if (LLM__SYSTEM && p->watched) llm__pool_look(p);
    if (p->obtained == LLM_CORES_BIG) llm__pool_pin_caller(p);
    t.pool = p;
    t.n = llm__atomic_load(&p->awake);
    for (i = 0; i < t.n; i++) p->workers[i].rows = 0;
    llm__atomic_store(&p->active, 1);
    return t;
}
static void llm__team_give(llm__team *t) {
    llm__pool *p = t->pool;
    uint32_t i;
    if (!p) return;
    t->rows_most = t->rows_least = p->workers[0].rows;
    for (i = 1; i < t->n; i++) {
        t->rows_most = LLM__MAX(t->rows_most, p->workers[i].rows);
        t->rows_least = LLM__MIN(t->rows_least, p->workers[i].rows);
    }
    if (p->obtained == LLM_CORES_BIG) llm__pool_unpin_caller(p);
    llm__atomic_store(&p->active, 0);
    llm__atomic_store(&p->taken, 0);
    t->pool = NULL;
    t->n = 1;
}

typedef struct llm__hooked { llm__job_fn fn; void *arg; } llm__hooked;

static void llm__hooked_task(void *arg, uint32_t index) {
    const llm__hooked *j = (const llm__hooked *)arg;
    llm__fpenv host = llm__fp_enter();                                    // the host's threads have their own rounding mode
    j->fn(j->arg, index);
    llm__fp_leave(host);
}

static void llm__team_join(llm__pool *p, uint32_t expected) {
    uint32_t done;
    while ((done = llm__atomic_load(&p->done)) != expected) {
        if (llm__pool_spin(&p->done, done, NULL)) {
            llm__atomic_add(&p->workers[0].spins, 1);
            continue;
        }
        llm__atomic_store(&p->waiting, 1);
        if (llm__atomic_load(&p->done) == done) llm__os_wait(&p->finished, &p->done, done);
        llm__atomic_store(&p->waiting, 0);
        llm__atomic_add(&p->workers[0].sleeps, 1);
    }
}

// fn(arg, 0 .. n-1), each once, and back when all have returned. Part 0 runs on the caller, and so do the parts of workers that
// have not begun when the caller is through with its own.
static void llm__team_run(llm__team *t, llm__job_fn fn, void *arg) {
    llm__pool *p = t->pool;
    uint32_t i, run, expected = 0;
    t->n_runs++;
    if (t->n == 1) { fn(arg, 0); return; }
    if (p->hook.for_fn) {
        const llm__fpenv own = llm__fp_get();
        llm__hooked j;
        j.fn = fn; j.arg = arg;
        p->hook.for_fn(p->hook.user, t->n, llm__hooked_task, &j);
        llm__fp_leave(own);                                               // engines flush subnormals on every thread that takes their jobs
        return;
    }
    p->fn = fn;
    p->arg = arg;
    run = ++p->started;
    llm__atomic_store(&p->done, 0);
    for (i = 1; i < t->n; i++) llm__atomic_store(&p->workers[i].turn, run * 2);
    llm__atomic_store(&p->run, run);
    if (llm__atomic_load(&p->asleep)) llm__os_wake_all(&p->wake, &p->run);
    fn(arg, 0);
    for (i = 1; i < t->n; i++) {
        if (llm__atomic_cas(&p->workers[i].turn, run * 2, run * 2 + 1)) fn(arg, i);
        else expected++;
    }
    llm__team_join(p, expected);
}

// How the waits of all workers have ended so far, modulo 2^32.
static void llm__pool_waits(const llm__pool *p, uint32_t *spins, uint32_t *sleeps) {
    uint32_t i;
    *spins = *sleeps = 0;
    for (i = 0; i < p->n_workers; i++) {
        *spins += llm__atomic_load(&p->workers[i].spins);
        *sleeps += llm__atomic_load(&p->workers[i].sleeps);
    }
}

// Numbers 0 .. n-1 shared out among a team. Each worker has a share of them and takes it from the front in pieces, so that what it reads is
// one stream of memory; who is through takes the later half of what the one with most has left. The pieces are small and shrink towards
// the end: a worker twenty times slower than the others must not hold them up by the piece that it has (an eighth of a share).
// Shares instead of one common queue: 49 instead of 43 tok/s (Qwen2.5 0.5B, Zen 4, two threads).
typedef struct llm__chunks {
    llm__worker *workers;              // [n_workers] with a share each; NULL: the caller takes all
    uint32_t n_workers, n;
    uint32_t unit, most;               // numbers in one count of a share; counts in a piece
    bool taken;                        // by the caller
} llm__chunks;

static uint32_t llm__share_of(uint32_t begin, uint32_t end) { return begin << 16 | end; }

// Pieces are multiples of step, which is not 0, but for the last one.
static void llm__chunks_init(llm__chunks *c, const llm__team *t, uint32_t n, uint32_t step) {
    uint32_t i, counts;
    c->workers = t->n > 1 ? t->pool->workers : NULL;
    c->n_workers = t->n;
    c->n = n;
    c->taken = false;
    if (!c->workers) return;
    c->unit = step * ((n - 1) / step / 0xffffu + 1);
    counts = n ? (n - 1) / c->unit + 1 : 0;
    c->most = counts / (8 * c->n_workers) + 1;
    for (i = 0; i < c->n_workers; i++)
        llm__atomic_store(&c->workers[i].share, llm__share_of(counts * i / c->n_workers, counts * (i + 1) / c->n_workers));
}
// Half of what is left of the largest share becomes the worker's own. No share is ever the same twice, so one that has not changed is still
// all there.
static bool llm__chunks_steal(llm__chunks *c, uint32_t worker) {
    for (;;) {
        uint32_t i, most = 0, victim = 0, share = 0, end;
        for (i = 0; i < c->n_workers; i++) {
            const uint32_t r = llm__atomic_load(&c->workers[i].share), left = (r & 0xffffu) - (r >> 16);
            if (left > most) { most = left; victim = i; share = r; }
        }
        if (!most) return false;
        end = share & 0xffffu;
        if (!llm__atomic_cas(&c->workers[victim].share, share, llm__share_of(share >> 16, end - (most + 1) / 2))) continue;
        llm__atomic_store(&c->workers[worker].share, llm__share_of(end - (most + 1) / 2, end));
        return true;
    }
}
static bool llm__chunks_take(llm__chunks *c, uint32_t worker, uint32_t *begin, uint32_t *end) {
    if (!c->workers) {
        *begin = 0;
        *end = c->n;
        return c->n && !c->taken && (c->taken = true);
    }
    for (;;) {
        const uint32_t share = llm__atomic_load(&c->workers[worker].share), first = share >> 16, left = (share & 0xffffu) - first;
        const uint32_t n = LLM__MIN(c->most, (left + 1) / 2);
        if (!left) {
            if (!llm__chunks_steal(c, worker)) return false;
            continue;
        }
        if (!llm__atomic_cas(&c->workers[worker].share, share, llm__share_of(first + n, share & 0xffffu))) continue;
        *begin = first * c->unit;
        *end = (uint32_t)LLM__MIN((uint64_t)(first + n) * c->unit, (uint64_t)c->n);
        c->workers[worker].rows += *end - *begin;                          // whoever runs the worker's part: one thread in any run
        return true;
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// >>formats  Stored types: one card each. A card is the layout of a block, the proof of its size, and a scalar unpack of 32 weights
//            into integers, scales and minima; sizes, dequantizing, the scalar dot and the tests all derive from it. Nothing here
//            is fast: kernels may be, and are held to these bits.

// The layouts are those of ggml (MIT licence, Copyright (c) 2023-2026 The ggml authors); they are what GGUF files contain.
// All fields are bytes, so that a block may lie at any address and on any byte order; f16 fields are read by llm__half.

// 32 weights, as every block type can say them. Weight k of half h = k / 16 is  s[h]*sub[h]*q[k] + t*mn[h]  (t only for types with
// minima). q has the type's integer zero subtracted already. The two s differ only where a type has a float scale per half.
typedef struct llm__weights32 {
    int8_t  q[32];
    int32_t sub[2], mn[2];
    float   s[2], t;
} llm__weights32;

// src is a block, j counts its groups of 32.
typedef void  (*llm__unpack_fn)(const void *src, uint32_t j, llm__weights32 *w);
typedef float (*llm__load_fn)(const void *src);

static float llm__half(const uint8_t *p) { return llm__f16_to_f32(llm__le16(p)); }

// Every dot of 32 with activations of at most 127 must be exact as a float: below 2^24.
#define LLM__CARD(name, bytes, largest_q, largest_sub)                                                 \
    LLM__STATIC_ASSERT(sizeof(llm__##name) == (bytes), name##_has_##bytes##_bytes);                    \
    LLM__STATIC_ASSERT(32 * (largest_q) * (largest_sub) * 127 < (1 << 24), name##_dots_are_exact)

static void llm__plain32(llm__weights32 *w, float s, float t) {
    w->s[0] = w->s[1] = s;
    w->t = t;
    w->sub[0] = w->sub[1] = w->mn[0] = w->mn[1] = 1;
}

// ---- floats: one weight is a block -----------------------------------------------------------------------------------------

typedef struct llm__f32  { uint8_t v[4]; } llm__f32;
typedef struct llm__f16  { uint8_t v[2]; } llm__f16;
typedef struct llm__bf16 { uint8_t v[2]; } llm__bf16;
LLM__STATIC_ASSERT(sizeof(llm__f32) == 4 && sizeof(llm__f16) == 2 && sizeof(llm__bf16) == 2, floats_have_their_bytes);

static float llm__f32_load(const void *src) { return llm__bits_f32(llm__le32(src)); }
static float llm__f16_load(const void *src) { return llm__f16_to_f32(llm__le16(src)); }
static float llm__bf16_load(const void *src) { return llm__bf16_to_f32(llm__le16(src)); }

// ---- blocks of 32: one scale, perhaps one minimum --------------------------------------------------------------------------

// Byte i of q holds weight i in its low half and weight i + 16 in its high half. plus: an offset for all.
static void llm__nibbles32(llm__weights32 *w, const uint8_t *q, int plus) {
    int i;
    for (i = 0; i < 16; i++) {
        w->q[i] = (int8_t)((q[i] & 15) + plus);
        w->q[i + 16] = (int8_t)((q[i] >> 4) + plus);
    }
}
// Adds 16 where bit k of the four bytes is set.
static void llm__fifth_bits(llm__weights32 *w, const uint8_t *qh) {
    uint32_t bits = llm__le32(qh);
    int k;
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)(w->q[k] + (int)(bits >> k & 1u) * 16);
}

// q4_0: w = d * (q - 8)
typedef struct llm__q4_0 { uint8_t d[2], q[16]; } llm__q4_0;
LLM__CARD(q4_0, 18, 8, 1);
static void llm__q4_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q4_0 *b = (const llm__q4_0 *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), 0.0f);
    llm__nibbles32(w, b->q, -8);
}

// q4_1: w = d * q + m
typedef struct llm__q4_1 { uint8_t d[2], m[2], q[16]; } llm__q4_1;
LLM__CARD(q4_1, 20, 15, 1);
static void llm__q4_1_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q4_1 *b = (const llm__q4_1 *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), llm__half(b->m));
    llm__nibbles32(w, b->q, 0);
}

// q5_0: w = d * (q - 16); bit k of qh is the fifth bit of weight k
typedef struct llm__q5_0 { uint8_t d[2], qh[4], q[16]; } llm__q5_0;
LLM__CARD(q5_0, 22, 16, 1);
static void llm__q5_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q5_0 *b = (const llm__q5_0 *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), 0.0f);
    llm__nibbles32(w, b->q, -16);
    llm__fifth_bits(w, b->qh);
}

// q5_1: w = d * q + m
typedef struct llm__q5_1 { uint8_t d[2], m[2], qh[4], q[16]; } llm__q5_1;
LLM__CARD(q5_1, 24, 31, 1);
static void llm__q5_1_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q5_1 *b = (const llm__q5_1 *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), llm__half(b->m));
    llm__nibbles32(w, b->q, 0);
    llm__fifth_bits(w, b->qh);
}

// q8_0: w = d * q, q signed. Quantizers stop at -127, a file need not.
typedef struct llm__q8_0 { uint8_t d[2], q[32]; } llm__q8_0;
LLM__CARD(q8_0, 34, 128, 1);
static void llm__q8_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q8_0 *b = (const llm__q8_0 *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), 0.0f);
    memcpy(w->q, b->q, 32);
}

// ---- blocks of 256: groups of 32 or 16 with small integer scales of their own ----------------------------------------------

// The eight 6-bit scales and minima of q4_k and q5_k in 12 bytes: for j < 4 the low six bits of bytes j and j + 4; for the others the
// halves of byte j + 4, topped with the two bits left over above.
static void llm__scale_min_k4(const uint8_t *p, uint32_t j, uint32_t *scale, uint32_t *min) {
    if (j < 4) {
        *scale = p[j] & 63u;
        *min = p[j + 4] & 63u;
    } else {
        *scale = (p[j + 4] & 15u) | (uint32_t)p[j - 4] >> 6 << 4;
        *min = (uint32_t)p[j + 4] >> 4 | (uint32_t)p[j] >> 6 << 4;
    }
}

// q2_k: w = d * sc * q - dmin * mn; per 16 weights a byte with sc low and mn high. Byte l of 32 holds four weights, 32 apart.
typedef struct llm__q2_k { uint8_t scales[16], q[64], d[2], dmin[2]; } llm__q2_k;
LLM__CARD(q2_k, 84, 3, 15);
static void llm__q2_k_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q2_k *b = (const llm__q2_k *)src;
    const uint8_t *q = b->q + j / 4 * 32, *sc = b->scales + j * 2;
    int k;
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)(q[k] >> j % 4 * 2 & 3);
    for (k = 0; k < 2; k++) {
        w->sub[k] = sc[k] & 15;
        w->mn[k] = sc[k] >> 4;
    }
    w->s[0] = w->s[1] = llm__half(b->d);
    w->t = -llm__half(b->dmin);
}

// q3_k: w = d * (sc - 32) * (q - 4); the third bits in hmask, bit j of byte k for weight k of group j. Sixteen 6-bit scales in 12
// bytes: four low bits in the halves of the first eight, two high bits in the quarters of the last four.
typedef struct llm__q3_k { uint8_t hmask[32], q[64], scales[12], d[2]; } llm__q3_k;
LLM__CARD(q3_k, 110, 4, 32);
static int32_t llm__q3_k_scale(const uint8_t *p, uint32_t i) {
    uint32_t low = (uint32_t)p[i % 8] >> i / 8 * 4 & 15u, high = (uint32_t)p[8 + i % 4] >> i / 4 * 2 & 3u;
    return (int32_t)(low | high << 4) - 32;
}
static void llm__q3_k_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q3_k *b = (const llm__q3_k *)src;
    const uint8_t *q = b->q + j / 4 * 32;
    int k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)((q[k] >> j % 4 * 2 & 3) + (b->hmask[k] >> j & 1) * 4 - 4);
    for (k = 0; k < 2; k++) w->sub[k] = llm__q3_k_scale(b->scales, j * 2 + (uint32_t)k);
}

// q4_k: w = d * sc * q - dmin * mn per 32. Byte k of 32 holds weight k of an even group low and of the next group high.
typedef struct llm__q4_k { uint8_t d[2], dmin[2], scales[12], q[128]; } llm__q4_k;
LLM__CARD(q4_k, 144, 15, 1);
static void llm__q4_k_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q4_k *b = (const llm__q4_k *)src;
    const uint8_t *q = b->q + j / 2 * 32;
    uint32_t scale, min;
    int k;
    llm__scale_min_k4(b->scales, j, &scale, &min);
    llm__plain32(w, llm__half(b->d) * (float)scale, -(llm__half(b->dmin) * (float)min));
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)(q[k] >> j % 2 * 4 & 15);
}

// q5_k: q4_k with a fifth bit: bit j of qh[k] for weight k of group j
typedef struct llm__q5_k { uint8_t d[2], dmin[2], scales[12], qh[32], q[128]; } llm__q5_k;
LLM__CARD(q5_k, 176, 31, 1);
static void llm__q5_k_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q5_k *b = (const llm__q5_k *)src;
    const uint8_t *q = b->q + j / 2 * 32;
    uint32_t scale, min;
    int k;
    llm__scale_min_k4(b->scales, j, &scale, &min);
    llm__plain32(w, llm__half(b->d) * (float)scale, -(llm__half(b->dmin) * (float)min));
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)((q[k] >> j % 2 * 4 & 15) + (b->qh[k] >> j & 1) * 16);
}

// q6_k: w = d * sc * (q - 32), sc signed, per 16. Groups 0..3 share 64 bytes of low halves and 32 bytes of upper bit pairs; 4..7 the rest.
typedef struct llm__q6_k { uint8_t ql[128], qh[64], scales[16], d[2]; } llm__q6_k;
LLM__CARD(q6_k, 210, 32, 128);
static void llm__q6_k_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q6_k *b = (const llm__q6_k *)src;
    const uint8_t *ql = b->ql + j / 4 * 64 + j % 2 * 32, *qh = b->qh + j / 4 * 32;
    int k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) {
        int low = ql[k] >> j % 4 / 2 * 4 & 15, high = qh[k] >> j % 4 * 2 & 3;
        w->q[k] = (int8_t)((low | high << 4) - 32);
    }
    for (k = 0; k < 2; k++) w->sub[k] = b->scales[j * 2 + (uint32_t)k] - (b->scales[j * 2 + (uint32_t)k] >> 7 << 8);
}

// ---- four bits that choose from a table ------------------------------------------------------------------------------------

// Sixteen levels, denser around zero (ggml's numbers).
static const int8_t llm__iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };
// Twice the numbers of FP4 (e2m1, OCP Microscaling Formats 1.0), which makes them integers; the scales are halved.
static const int8_t llm__e2m1_values[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

// n bytes: byte i chooses weight i of n with its low half and weight i + n with its high half.
static void llm__chosen(int8_t *w, const uint8_t *q, int n, const int8_t *values) {
    int i;
    for (i = 0; i < n; i++) {
        w[i] = values[q[i] & 15];
        w[i + n] = values[q[i] >> 4];
    }
}

// iq4_nl: w = d * value[q]
typedef struct llm__iq4_nl { uint8_t d[2], q[16]; } llm__iq4_nl;
LLM__CARD(iq4_nl, 18, 127, 1);
static void llm__iq4_nl_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq4_nl *b = (const llm__iq4_nl *)src;
    (void)j;
    llm__plain32(w, llm__half(b->d), 0.0f);
    llm__chosen(w->q, b->q, 16, llm__iq4_values);
}

// iq4_xs: 256 weights, w = d * (sc - 32) * value[q], sc per 32: four bits in a half of scales_l, two above in scales_h
typedef struct llm__iq4_xs { uint8_t d[2], scales_h[2], scales_l[4], q[128]; } llm__iq4_xs;
LLM__CARD(iq4_xs, 136, 127, 1);
static void llm__iq4_xs_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq4_xs *b = (const llm__iq4_xs *)src;
    int low = b->scales_l[j / 2] >> j % 2 * 4 & 15, high = llm__le16(b->scales_h) >> j * 2 & 3;
    llm__plain32(w, llm__half(b->d) * (float)((low | high << 4) - 32), 0.0f);
    llm__chosen(w->q, b->q + j * 16, 16, llm__iq4_values);
}

// mxfp4: w = 2^(e - 128) * value[q], which is subnormal for e < 2. The standard's NaN, 255, is one more power of two in ggml and here.
typedef struct llm__mxfp4 { uint8_t e, q[16]; } llm__mxfp4;
LLM__CARD(mxfp4, 17, 12, 1);
static float llm__half_e8m0(uint32_t e) { return llm__bits_f32(e < 2 ? 0x00200000u << e : (e - 1) << 23); }
static void llm__mxfp4_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__mxfp4 *b = (const llm__mxfp4 *)src;
    (void)j;
    llm__plain32(w, llm__half_e8m0(b->e), 0.0f);
    llm__chosen(w->q, b->q, 16, llm__e2m1_values);
}

// nvfp4: 64 weights, w = d / 2 * value[q], d per 16 as an unsigned e4m3: 4 bits of exponent (bias 7), 3 of mantissa. Its NaN, 0x7f, is 0
// and the top bit is not looked at, so that 0xff is 480: ggml's reading.
typedef struct llm__nvfp4 { uint8_t d[4], q[32]; } llm__nvfp4;
LLM__CARD(nvfp4, 36, 12, 1);
static float llm__half_ue4m3(uint32_t d) {
    uint32_t exponent = d >> 3 & 15u, mantissa = d & 7u;
    if (d == 0x7f) return 0.0f;
    if (!exponent) return (float)mantissa * (1.0f / 1024.0f);
    return llm__bits_f32((exponent + 119u) << 23 | mantissa << 20);
}
static void llm__nvfp4_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__nvfp4 *b = (const llm__nvfp4 *)src;
    uint32_t h;
    llm__plain32(w, 0.0f, 0.0f);
    for (h = 0; h < 2; h++) {
        w->s[h] = llm__half_ue4m3(b->d[j * 2 + h]);
        llm__chosen(w->q + h * 16, b->q + (j * 2 + h) * 8, 8, llm__e2m1_values);
    }
}

// ---- one and two bits ------------------------------------------------------------------------------------------------------

// q1_0: 128 weights, w = d or -d by bit k of the bytes
typedef struct llm__q1_0 { uint8_t d[2], q[16]; } llm__q1_0;
LLM__CARD(q1_0, 18, 1, 1);
static void llm__q1_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q1_0 *b = (const llm__q1_0 *)src;
    uint32_t bits = llm__le32(b->q + j * 4);
    int k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)((int)(bits >> k & 1u) * 2 - 1);
}

// q2_0: 64 weights, w = d * (q - 1), four neighbours to a byte
typedef struct llm__q2_0 { uint8_t d[2], q[16]; } llm__q2_0;
LLM__CARD(q2_0, 18, 2, 1);
static void llm__q2_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__q2_0 *b = (const llm__q2_0 *)src;
    int k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)((b->q[j * 8 + (uint32_t)k / 4] >> k % 4 * 2 & 3) - 1);
}

// tq2_0: 256 weights, w = d * (q - 1). Byte l of 32 holds four weights, 32 apart.
typedef struct llm__tq2_0 { uint8_t q[64], d[2]; } llm__tq2_0;
LLM__CARD(tq2_0, 66, 2, 1);
static void llm__tq2_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__tq2_0 *b = (const llm__tq2_0 *)src;
    const uint8_t *q = b->q + j / 4 * 32;
    int k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) w->q[k] = (int8_t)((q[k] >> j % 4 * 2 & 3) - 1);
}

// tq1_0: 256 weights, w = d * (q - 1), q a digit to base 3. A byte is five digits as a fraction of 256, the first one leading; times 3^n
// it begins with digit n. 32 bytes hold weights 0..159, digit by digit; 16 bytes 160..239; four bytes with four digits the rest.
typedef struct llm__tq1_0 { uint8_t q[48], qh[4], d[2]; } llm__tq1_0;
LLM__CARD(tq1_0, 54, 1, 1);
static const uint8_t llm__power_of_3[5] = { 1, 3, 9, 27, 81 };
static int8_t llm__trit(uint32_t byte, uint32_t n) { return (int8_t)((int)((byte * llm__power_of_3[n] & 255u) * 3u >> 8) - 1); }
static void llm__tq1_0_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__tq1_0 *b = (const llm__tq1_0 *)src;
    uint32_t k;
    llm__plain32(w, llm__half(b->d), 0.0f);
    for (k = 0; k < 32; k++) {
        uint32_t half = j * 2 - 10 + k / 16;                     // from group 5 on: 16 weights are one digit of 16 bytes
        w->q[k] = j < 5 ? llm__trit(b->q[k], j) : half < 5 ? llm__trit(b->q[32 + k % 16], half) : llm__trit(b->qh[k % 4], k % 16 / 4);
    }
}

// ---- grids: the lists of the iq types --------------------------------------------------------------------------------------

// These types choose eight weights (iq1, iq2) or four (iq3) at once from a list. The numbers are ggml's (MIT licence, Copyright (c)
// 2023-2026 The ggml authors), packed: bits 2k of a word number the magnitude of weight k of eight, bits 4k that of weight k of four.
static const uint16_t llm__grid_iq2_xxs[256] = {
    0x0000,0x0002,0x0005,0x0008,0x000a,0x0011,0x0014,0x0020,0x0022,0x0028,0x002a,0x0041,0x0044,0x0050,0x0058,0x0061,0x0064,0x0080,0x0082,
    0x008a,0x00a2,0x0101,0x0104,0x0110,0x0115,0x0140,0x0184,0x0198,0x0200,0x0202,0x0222,0x0282,0x0401,0x0404,0x0410,0x0421,0x0424,0x0440,
    0x0442,0x0448,0x0460,0x0481,0x0484,0x0490,0x04a4,0x0500,0x0502,0x0508,0x0520,0x0546,0x0569,0x0580,0x0591,0x0609,0x0610,0x0640,0x0684,
    0x06a4,0x0800,0x0805,0x0808,0x0814,0x0828,0x0841,0x0844,0x0850,0x0852,0x0888,0x0904,0x0940,0x0a02,0x0a14,0x1001,0x1004,0x1010,0x1021,
    0x1040,0x1060,0x1084,0x1090,0x1095,0x1100,0x1108,0x1120,0x1150,0x115a,0x1180,0x1224,0x1245,0x1400,0x1408,0x1420,0x1425,0x1449,0x1480,
    0x1518,0x1562,0x1600,0x1616,0x1801,0x1804,0x1810,0x1840,0x1881,0x1900,0x1905,0x19a0,0x1a51,0x2000,0x2002,0x200a,0x2044,0x2061,0x2080,
    0x2082,0x2129,0x2148,0x2200,0x2202,0x2401,0x2404,0x2410,0x2440,0x2456,0x2500,0x2541,0x2564,0x2690,0x2808,0x2820,0x2894,0x2a44,0x4001,
    0x4004,0x4010,0x4018,0x4021,0x4024,0x4040,0x4048,0x4056,0x4060,0x4081,0x4084,0x4090,0x4100,0x4120,0x4161,0x4180,0x4185,0x4201,0x4210,
    0x4248,0x4256,0x4268,0x4400,0x4408,0x4420,0x4480,0x4499,0x4512,0x4524,0x4600,0x4801,0x4804,0x4810,0x4840,0x4845,0x4900,0x4958,0x4961,
    0x4982,0x4a45,0x4a90,0x5000,0x5008,0x5011,0x5019,0x5020,0x5080,0x5088,0x5104,0x5142,0x51a4,0x5291,0x5490,0x5492,0x550a,0x5601,0x5654,
    0x5800,0x5811,0x5819,0x5864,0x5940,0x5a08,0x6004,0x6010,0x6040,0x6068,0x6100,0x6155,0x6218,0x6260,0x6400,0x6405,0x6510,0x6512,0x6584,
    0x6842,0x8000,0x8002,0x800a,0x8041,0x8082,0x8104,0x8118,0x8140,0x8211,0x8401,0x8404,0x8410,0x8415,0x8440,0x8460,0x8500,0x8546,0x8594,
    0x8609,0x8640,0x8660,0x8802,0x8904,0x8a11,0x9004,0x9010,0x9024,0x9040,0x90a1,0x9116,0x9180,0x9245,0x9400,0x9422,0x9444,0x9551,0x9881,
    0x9920,0xa002,0xa050,0xa085,0xa109,0xa200,0xa418,0xa850,0xa904
};
static const uint16_t llm__grid_iq2_xs[512] = {
    0x0000,0x0002,0x0005,0x0008,0x000a,0x0011,0x0014,0x0016,0x0019,0x0020,0x0022,0x0025,0x0028,0x0041,0x0044,0x0046,0x0049,0x0050,0x0052,
    0x0055,0x0058,0x0061,0x0064,0x0080,0x0082,0x0085,0x0088,0x0091,0x0094,0x0099,0x00a0,0x0101,0x0104,0x0106,0x0109,0x0110,0x0112,0x0115,
    0x0118,0x011a,0x0121,0x0124,0x0140,0x0142,0x0145,0x0148,0x0151,0x0154,0x0160,0x0168,0x0181,0x0184,0x0190,0x0200,0x0202,0x0205,0x0208,
    0x0211,0x0214,0x0220,0x0241,0x0244,0x0250,0x0255,0x0280,0x028a,0x0401,0x0404,0x0406,0x0409,0x0410,0x0412,0x0415,0x0418,0x0421,0x0424,
    0x0440,0x0442,0x0445,0x0448,0x0451,0x0454,0x0456,0x0460,0x0481,0x0484,0x0490,0x0500,0x0502,0x0505,0x0508,0x0511,0x0514,0x0520,0x0541,
    0x0544,0x0550,0x0561,0x0580,0x0601,0x0604,0x0610,0x0626,0x0640,0x0642,0x0684,0x0800,0x0802,0x0805,0x0808,0x080a,0x0811,0x0814,0x0820,
    0x0825,0x0841,0x0844,0x0850,0x0858,0x0880,0x08a0,0x08aa,0x0901,0x0904,0x0910,0x0940,0x0981,0x0989,0x0a00,0x0a20,0x0a28,0x0a96,0x0aa0,
    0x1001,0x1004,0x1006,0x1009,0x1010,0x1012,0x1015,0x1018,0x1021,0x1024,0x1040,0x1042,0x1045,0x1048,0x1051,0x1054,0x1060,0x106a,0x1081,
    0x1084,0x1090,0x1100,0x1102,0x1105,0x1108,0x1111,0x1114,0x1120,0x1141,0x1144,0x1150,0x1180,0x1194,0x1196,0x1201,0x1204,0x1206,0x1210,
    0x1240,0x1260,0x1400,0x1402,0x1405,0x1408,0x1411,0x1414,0x1420,0x1441,0x1444,0x1449,0x1450,0x1464,0x1480,0x1501,0x1504,0x1510,0x1540,
    0x1600,0x1614,0x1649,0x1801,0x1804,0x1810,0x1812,0x1840,0x1854,0x1886,0x1900,0x1905,0x1966,0x1a51,0x1aa9,0x2000,0x2002,0x2005,0x2008,
    0x200a,0x2011,0x2014,0x2020,0x2041,0x2044,0x2050,0x2080,0x20a0,0x2101,0x2104,0x2110,0x2140,0x2148,0x2165,0x2200,0x2222,0x2280,0x22a8,
    0x2401,0x2404,0x2410,0x2429,0x2440,0x2500,0x2541,0x2552,0x2599,0x2601,0x261a,0x26a6,0x2800,0x2808,0x280a,0x2820,0x2855,0x2888,0x28a2,
    0x2968,0x2990,0x2a08,0x2a20,0x2a82,0x2a88,0x2a8a,0x4001,0x4004,0x4006,0x4009,0x4010,0x4012,0x4015,0x4018,0x4021,0x4024,0x4040,0x4042,
    0x4045,0x4048,0x404a,0x4051,0x4054,0x4060,0x4065,0x4081,0x4084,0x4090,0x4100,0x4102,0x4105,0x4108,0x4111,0x4114,0x4120,0x4141,0x4144,
    0x4150,0x4180,0x4185,0x41a2,0x4201,0x4204,0x4210,0x4212,0x4229,0x4240,0x4400,0x4402,0x4405,0x4408,0x4411,0x4414,0x4419,0x4420,0x4441,
    0x4444,0x4450,0x4480,0x4494,0x4501,0x4504,0x4510,0x4524,0x4540,0x459a,0x4600,0x460a,0x4644,0x4650,0x4801,0x4804,0x4810,0x4840,0x4845,
    0x4854,0x4862,0x4900,0x4911,0x4944,0x4950,0x4969,0x4a04,0x5000,0x5002,0x5005,0x5008,0x5011,0x5014,0x5020,0x5028,0x5041,0x5044,0x5050,
    0x5080,0x5101,0x5104,0x5110,0x5115,0x5140,0x5142,0x5200,0x5244,0x52aa,0x5401,0x5404,0x5410,0x5421,0x5440,0x5460,0x5481,0x54a1,0x5500,
    0x5508,0x5580,0x5588,0x5621,0x5668,0x56a1,0x5800,0x5814,0x5841,0x5850,0x5899,0x591a,0x5940,0x5942,0x5a85,0x6001,0x6004,0x6010,0x6040,
    0x6054,0x6062,0x6086,0x60a9,0x6100,0x6224,0x624a,0x6292,0x6400,0x6416,0x6510,0x6540,0x6545,0x65a4,0x6801,0x686a,0x6925,0x6a06,0x6a54,
    0x6a62,0x8000,0x8002,0x8005,0x8008,0x8011,0x8014,0x8020,0x802a,0x8041,0x8044,0x8050,0x8080,0x8082,0x80a8,0x80aa,0x8101,0x8104,0x8106,
    0x8110,0x8140,0x8151,0x8159,0x8200,0x8220,0x8280,0x8282,0x82a0,0x82a8,0x8401,0x8404,0x8410,0x8412,0x8415,0x8440,0x8460,0x8489,0x8500,
    0x8544,0x85a5,0x8618,0x866a,0x8800,0x8808,0x8825,0x885a,0x8880,0x8882,0x88a8,0x8906,0x8a22,0x8a80,0x8a88,0x8a96,0x8aa8,0x9001,0x9004,
    0x9010,0x9040,0x9056,0x9084,0x9100,0x9122,0x9164,0x9256,0x9289,0x9400,0x9405,0x9444,0x9450,0x9458,0x9529,0x9590,0x9592,0x9641,0x9851,
    0x98a6,0x9949,0x9a15,0x9a60,0xa000,0xa002,0xa008,0xa00a,0xa020,0xa02a,0xa0a0,0xa151,0xa159,0xa1a6,0xa200,0xa202,0xa208,0xa22a,0xa280,
    0xa2a0,0xa440,0xa495,0xa665,0xa698,0xa80a,0xa820,0xa822,0xa828,0xa8a0,0xa8a8,0xa904,0xa984,0xa986,0xaa28,0xaa2a,0xaa91,0xaaaa
};
static const uint16_t llm__grid_iq2_s[1024] = {
    0x0000,0x0002,0x0005,0x0008,0x000a,0x0011,0x0014,0x0016,0x0019,0x0020,0x0022,0x0025,0x0028,0x0041,0x0044,0x0046,0x0049,0x0050,0x0052,
    0x0055,0x0058,0x0061,0x0064,0x0066,0x0069,0x0080,0x0082,0x0085,0x0088,0x0091,0x0094,0x00a0,0x00a5,0x00aa,0x0101,0x0104,0x0106,0x0109,
    0x0110,0x0112,0x0115,0x0118,0x0121,0x0124,0x0140,0x0142,0x0145,0x0148,0x0151,0x0154,0x0156,0x0159,0x0160,0x0165,0x0168,0x0181,0x0184,
    0x0190,0x0192,0x0195,0x01a1,0x01a4,0x0200,0x0202,0x0205,0x0208,0x0211,0x0214,0x0220,0x022a,0x0241,0x0244,0x0246,0x0249,0x0250,0x0255,
    0x0280,0x0285,0x028a,0x0294,0x02a2,0x0401,0x0404,0x0406,0x0409,0x0410,0x0412,0x0415,0x0418,0x0421,0x0424,0x0426,0x0429,0x0440,0x0442,
    0x0445,0x0448,0x044a,0x0451,0x0454,0x0456,0x0459,0x0460,0x0462,0x0465,0x0481,0x0484,0x0486,0x0489,0x0490,0x0495,0x0498,0x04a1,0x04a4,
    0x0500,0x0502,0x0505,0x0508,0x050a,0x0511,0x0514,0x0516,0x0519,0x0520,0x0525,0x0528,0x0541,0x0544,0x0546,0x0549,0x0550,0x0552,0x0555,
    0x0558,0x0561,0x0564,0x0580,0x0582,0x0585,0x0588,0x0591,0x0594,0x05a0,0x0601,0x0604,0x0606,0x0609,0x0610,0x0615,0x0640,0x0645,0x0648,
    0x0651,0x0654,0x0660,0x0681,0x0684,0x0690,0x0800,0x0802,0x0805,0x0808,0x0811,0x0814,0x0816,0x0819,0x0820,0x0825,0x082a,0x0841,0x0844,
    0x0846,0x0849,0x0850,0x0852,0x0855,0x0858,0x0861,0x0864,0x0880,0x0885,0x0894,0x08aa,0x0901,0x0904,0x0910,0x0912,0x0915,0x0918,0x0921,
    0x0940,0x0945,0x0948,0x0951,0x0954,0x0960,0x0981,0x0990,0x0a00,0x0a11,0x0a14,0x0a22,0x0a28,0x0a2a,0x0a50,0x0a99,0x1001,0x1004,0x1006,
    0x1009,0x1010,0x1012,0x1015,0x1018,0x1021,0x1024,0x1026,0x1040,0x1042,0x1045,0x1048,0x1051,0x1054,0x1056,0x1059,0x1060,0x1062,0x1065,
    0x1068,0x1081,0x1084,0x1086,0x1090,0x1095,0x1098,0x10a1,0x10a4,0x1100,0x1102,0x1105,0x1108,0x110a,0x1111,0x1114,0x1116,0x1119,0x1120,
    0x1122,0x1125,0x1128,0x1141,0x1144,0x1146,0x1149,0x1150,0x1152,0x1155,0x1158,0x1161,0x1164,0x1180,0x1182,0x1185,0x1188,0x1191,0x1194,
    0x1201,0x1204,0x1209,0x1210,0x1215,0x1221,0x1224,0x1240,0x1245,0x1251,0x1254,0x1281,0x1284,0x1290,0x1400,0x1402,0x1405,0x1408,0x1411,
    0x1414,0x1416,0x1419,0x1420,0x1425,0x1428,0x1441,0x1444,0x1446,0x1449,0x1450,0x1452,0x1455,0x1458,0x1461,0x1464,0x1480,0x1482,0x1485,
    0x1488,0x1491,0x1494,0x14a0,0x1501,0x1504,0x1506,0x1509,0x1510,0x1512,0x1515,0x1518,0x1521,0x1524,0x1540,0x1542,0x1545,0x1548,0x1551,
    0x1554,0x1560,0x1581,0x1584,0x1590,0x1600,0x1605,0x1608,0x1611,0x1614,0x1620,0x1641,0x1644,0x1650,0x1680,0x16aa,0x1801,0x1804,0x1806,
    0x1809,0x1810,0x1815,0x1818,0x1821,0x1840,0x1842,0x1845,0x1848,0x1851,0x1854,0x1860,0x1881,0x1884,0x1900,0x1902,0x1905,0x1908,0x1911,
    0x1914,0x1920,0x1941,0x1944,0x1950,0x1969,0x19a2,0x1a04,0x1a10,0x1a40,0x1a56,0x2000,0x2002,0x2005,0x2008,0x2011,0x2014,0x2016,0x2019,
    0x2020,0x2025,0x202a,0x2041,0x2044,0x2050,0x2052,0x2055,0x2064,0x2080,0x208a,0x2094,0x20aa,0x2101,0x2104,0x2110,0x2112,0x2115,0x2121,
    0x2140,0x2142,0x2145,0x2151,0x2154,0x2160,0x2181,0x2184,0x2190,0x2200,0x220a,0x2222,0x2228,0x222a,0x2244,0x2250,0x2288,0x228a,0x22a8,
    0x2401,0x2404,0x2406,0x2409,0x2410,0x2415,0x2418,0x2421,0x2424,0x2440,0x2442,0x2445,0x2448,0x2451,0x2454,0x2460,0x2481,0x2484,0x2490,
    0x2500,0x2505,0x2508,0x2511,0x2514,0x2520,0x2541,0x2544,0x2550,0x2566,0x2580,0x2601,0x2604,0x2610,0x2640,0x2659,0x2800,0x2805,0x2811,
    0x2814,0x2841,0x2844,0x2850,0x288a,0x28aa,0x2901,0x2904,0x2910,0x2995,0x2a0a,0x2a22,0x2a64,0x2a88,0x2a8a,0x4001,0x4004,0x4006,0x4009,
    0x4010,0x4012,0x4015,0x4018,0x401a,0x4021,0x4024,0x4026,0x4040,0x4042,0x4045,0x4048,0x404a,0x4051,0x4054,0x4056,0x4059,0x4060,0x4062,
    0x4065,0x4081,0x4084,0x4090,0x4095,0x4098,0x40a1,0x40a4,0x4100,0x4102,0x4105,0x4108,0x4111,0x4114,0x4116,0x4119,0x4120,0x4122,0x4125,
    0x4141,0x4144,0x4146,0x4149,0x4150,0x4152,0x4155,0x4158,0x4161,0x4164,0x4180,0x4182,0x4185,0x4188,0x4191,0x4194,0x41a0,0x4201,0x4204,
    0x4210,0x4212,0x4215,0x4218,0x4224,0x4240,0x4245,0x4248,0x4251,0x4254,0x4260,0x4281,0x4284,0x4400,0x4402,0x4405,0x4408,0x440a,0x4411,
    0x4414,0x4416,0x4419,0x4420,0x4422,0x4425,0x4428,0x4441,0x4444,0x4446,0x4449,0x4450,0x4452,0x4455,0x4458,0x4461,0x4464,0x4480,0x4482,
    0x4485,0x4488,0x4491,0x4494,0x44a0,0x4501,0x4504,0x4506,0x4509,0x4510,0x4512,0x4515,0x4518,0x4521,0x4524,0x4540,0x4542,0x4545,0x4548,
    0x4551,0x4554,0x4560,0x456a,0x4581,0x4584,0x4590,0x4600,0x4602,0x4605,0x4608,0x4611,0x4614,0x4620,0x4641,0x4644,0x4650,0x4680,0x46a5,
    0x4801,0x4804,0x4809,0x4810,0x4812,0x4815,0x4818,0x4821,0x4824,0x4840,0x4842,0x4845,0x4848,0x4851,0x4854,0x4860,0x4884,0x4890,0x4900,
    0x4902,0x4905,0x4908,0x4911,0x4914,0x4920,0x4941,0x4944,0x4950,0x4980,0x4996,0x4a01,0x4a04,0x4a10,0x4a40,0x5000,0x5002,0x5005,0x5008,
    0x5011,0x5014,0x5016,0x5019,0x5020,0x5022,0x5025,0x5028,0x5041,0x5044,0x5046,0x5049,0x5050,0x5052,0x5055,0x5058,0x5061,0x5064,0x5080,
    0x5082,0x5085,0x5088,0x5091,0x5094,0x5101,0x5104,0x5106,0x5109,0x5110,0x5112,0x5115,0x5118,0x5121,0x5124,0x5140,0x5142,0x5145,0x5148,
    0x5151,0x5154,0x5160,0x5181,0x5184,0x5190,0x5200,0x5205,0x5208,0x5211,0x5214,0x5220,0x5241,0x5244,0x5250,0x5269,0x5280,0x5401,0x5404,
    0x5406,0x5409,0x5410,0x5412,0x5415,0x5418,0x5421,0x5424,0x5440,0x5442,0x5445,0x5448,0x5451,0x5454,0x5460,0x5481,0x5484,0x5490,0x5500,
    0x5502,0x5505,0x5508,0x5511,0x5514,0x5520,0x5541,0x5544,0x5550,0x5580,0x5601,0x5604,0x5610,0x5626,0x5640,0x5800,0x5802,0x5805,0x5808,
    0x5811,0x5814,0x5820,0x5841,0x5844,0x5850,0x585a,0x5880,0x5901,0x5904,0x5910,0x5940,0x5a00,0x5a19,0x5a85,0x5aa8,0x6001,0x6004,0x6006,
    0x6010,0x6012,0x6015,0x6018,0x6021,0x6024,0x6040,0x6045,0x6048,0x6051,0x6054,0x6060,0x6084,0x6090,0x6100,0x6102,0x6105,0x6108,0x6111,
    0x6114,0x6120,0x6141,0x6144,0x6150,0x6180,0x6199,0x6204,0x6210,0x6240,0x6256,0x62a1,0x6400,0x6405,0x6408,0x6411,0x6414,0x6420,0x6441,
    0x6444,0x6450,0x6480,0x6501,0x6504,0x6510,0x6540,0x654a,0x6568,0x6592,0x6600,0x6694,0x6801,0x6804,0x6810,0x6865,0x6898,0x6900,0x692a,
    0x6a42,0x6aa1,0x8000,0x8002,0x8005,0x8008,0x8011,0x8014,0x8019,0x8020,0x8025,0x8041,0x8044,0x8050,0x8052,0x8055,0x8058,0x8061,0x8080,
    0x8085,0x8091,0x8094,0x8101,0x8104,0x8109,0x8110,0x8112,0x8115,0x8118,0x8121,0x8124,0x8140,0x8142,0x8145,0x8148,0x8151,0x8154,0x8181,
    0x8184,0x8190,0x81a9,0x8200,0x8205,0x820a,0x8211,0x8214,0x8241,0x8244,0x8250,0x8401,0x8404,0x8406,0x8409,0x8410,0x8412,0x8415,0x8418,
    0x8421,0x8440,0x8442,0x8445,0x8448,0x8451,0x8454,0x8460,0x8481,0x8484,0x8490,0x8500,0x8502,0x8505,0x8508,0x8511,0x8514,0x8520,0x8541,
    0x8544,0x8550,0x8580,0x858a,0x8601,0x8604,0x8610,0x8629,0x8640,0x8800,0x8805,0x8811,0x8814,0x8841,0x8844,0x8850,0x88a2,0x8901,0x8904,
    0x8940,0x8965,0x8a22,0x8a58,0x8a5a,0x8a82,0x8aa2,0x9001,0x9004,0x9009,0x9010,0x9012,0x9015,0x9018,0x9024,0x9040,0x9042,0x9045,0x9048,
    0x9051,0x9054,0x9060,0x9081,0x9084,0x9090,0x9100,0x9105,0x9111,0x9114,0x9141,0x9144,0x9150,0x915a,0x9201,0x9204,0x9210,0x9240,0x92a6,
    0x9400,0x9402,0x9405,0x9408,0x9411,0x9414,0x9420,0x9441,0x9444,0x9450,0x9480,0x9496,0x9501,0x9504,0x9510,0x9540,0x9598,0x95a1,0x9600,
    0x9646,0x9664,0x9801,0x9804,0x9810,0x9826,0x9840,0x98a9,0x9900,0x9949,0x9952,0x9a90,0xa000,0xa005,0xa00a,0xa014,0xa022,0xa02a,0xa041,
    0xa044,0xa050,0xa0a2,0xa0aa,0xa140,0xa165,0xa202,0xa20a,0xa222,0xa228,0xa22a,0xa282,0xa288,0xa28a,0xa2a8,0xa401,0xa404,0xa410,0xa440,
    0xa489,0xa4a4,0xa500,0xa519,0xa651,0xa80a,0xa828,0xa8a2,0xa954,0xa986,0xaa08,0xaa0a,0xaa20,0xaa22,0xaa28,0xaa88,0xaaaa
};
static const uint16_t llm__grid_iq1[2048] = {
    0x0000,0x0002,0x0005,0x0008,0x000a,0x0011,0x0015,0x0020,0x0022,0x0028,0x002a,0x0045,0x0051,0x0054,0x0056,0x0065,0x0080,0x0082,0x0088,
    0x008a,0x0095,0x00a0,0x00a2,0x00a8,0x00aa,0x0104,0x0105,0x0111,0x0114,0x0116,0x0119,0x011a,0x0125,0x0141,0x0146,0x0149,0x0152,0x0155,
    0x015a,0x0161,0x0164,0x0166,0x0168,0x0185,0x0191,0x0194,0x0196,0x01a5,0x0200,0x0202,0x0208,0x020a,0x0215,0x0220,0x0222,0x0228,0x022a,
    0x0245,0x0251,0x0259,0x0264,0x0269,0x0280,0x0282,0x0288,0x028a,0x0291,0x0295,0x0299,0x02a0,0x02a2,0x02a8,0x02aa,0x0411,0x0414,0x0416,
    0x0425,0x0441,0x0449,0x0455,0x045a,0x0464,0x0465,0x0491,0x0499,0x04a5,0x0501,0x0504,0x0505,0x0506,0x0515,0x0518,0x051a,0x0529,0x0540,
    0x0545,0x054a,0x0550,0x0551,0x0554,0x0555,0x0556,0x0559,0x0560,0x0562,0x0565,0x0568,0x056a,0x0581,0x0591,0x0595,0x0598,0x059a,0x05a1,
    0x05a4,0x05a5,0x05a6,0x05a9,0x0614,0x0619,0x0641,0x0644,0x0650,0x0652,0x0655,0x0658,0x0660,0x0661,0x0666,0x0669,0x0685,0x0691,0x0694,
    0x0699,0x0800,0x0802,0x0808,0x080a,0x0815,0x0820,0x0822,0x0828,0x082a,0x0845,0x0851,0x0856,0x0865,0x0880,0x0882,0x0888,0x088a,0x0895,
    0x08a0,0x08a2,0x08a8,0x08aa,0x0905,0x0911,0x0914,0x0919,0x0924,0x0925,0x0941,0x0950,0x0951,0x0955,0x0961,0x0964,0x0969,0x0991,0x0994,
    0x0996,0x0999,0x09a5,0x0a00,0x0a02,0x0a08,0x0a0a,0x0a15,0x0a20,0x0a22,0x0a28,0x0a2a,0x0a45,0x0a51,0x0a59,0x0a61,0x0a65,0x0a80,0x0a82,
    0x0a85,0x0a88,0x0a8a,0x0a95,0x0aa0,0x0aa2,0x0aa8,0x0aaa,0x1010,0x1011,0x1014,0x1019,0x1024,0x1025,0x1041,0x1044,0x1050,0x1055,0x1058,
    0x1061,0x1064,0x1065,0x1069,0x1091,0x1094,0x1096,0x10a1,0x10a5,0x1101,0x1104,0x1106,0x1109,0x1110,0x1112,0x1115,0x1118,0x1121,0x1124,
    0x1129,0x1145,0x114a,0x1150,0x1151,0x1152,0x1154,0x1155,0x1156,0x1159,0x1160,0x1165,0x1184,0x1192,0x1195,0x11a1,0x11a4,0x1211,0x1214,
    0x1216,0x1225,0x1240,0x1246,0x1249,0x1252,0x1255,0x1258,0x125a,0x1264,0x1266,0x1285,0x1291,0x1294,0x1296,0x12a5,0x1401,0x1406,0x1409,
    0x1414,0x1415,0x1418,0x1419,0x1421,0x1426,0x1441,0x1445,0x1446,0x1448,0x144a,0x1451,0x1454,0x1455,0x1456,0x1459,0x1462,0x1465,0x1468,
    0x1484,0x1489,0x1490,0x1494,0x1495,0x1498,0x1499,0x149a,0x14a1,0x14a4,0x14a5,0x14a9,0x1502,0x1505,0x150a,0x1511,0x1514,0x1515,0x1516,
    0x1519,0x1520,0x1522,0x1525,0x1528,0x152a,0x1541,0x1544,0x1545,0x1546,0x1551,0x1552,0x1554,0x1555,0x1556,0x1559,0x155a,0x1561,0x1564,
    0x1565,0x1566,0x1569,0x1580,0x1582,0x1584,0x1585,0x1588,0x158a,0x1590,0x1591,0x1594,0x1595,0x1596,0x1599,0x159a,0x15a0,0x15a2,0x15a5,
    0x1601,0x1604,0x1605,0x1606,0x1615,0x1616,0x1618,0x161a,0x1621,0x1626,0x1640,0x1642,0x1644,0x1645,0x1648,0x164a,0x1651,0x1655,0x1656,
    0x1658,0x1659,0x1661,0x1664,0x1665,0x1668,0x1669,0x166a,0x1686,0x168a,0x1692,0x1695,0x16a4,0x16a9,0x1811,0x1816,0x1825,0x1841,0x1844,
    0x1846,0x1849,0x1850,0x1855,0x1858,0x185a,0x1860,0x1861,0x1864,0x1866,0x1869,0x1885,0x1891,0x1894,0x18a5,0x1910,0x1912,0x1915,0x191a,
    0x1921,0x1925,0x1942,0x1944,0x1945,0x1948,0x1951,0x1954,0x1955,0x1956,0x1959,0x195a,0x1960,0x1965,0x196a,0x1989,0x1991,0x1992,0x1995,
    0x1998,0x19a1,0x19a6,0x19a9,0x1a09,0x1a16,0x1a24,0x1a26,0x1a44,0x1a46,0x1a49,0x1a50,0x1a52,0x1a55,0x1a58,0x1a61,0x1a66,0x1a69,0x1a85,
    0x1a91,0x1a96,0x1a9a,0x2000,0x2002,0x2008,0x200a,0x2015,0x2020,0x2022,0x2025,0x2028,0x202a,0x2045,0x2051,0x2059,0x2061,0x2065,0x2080,
    0x2082,0x2088,0x208a,0x2095,0x20a0,0x20a2,0x20a5,0x20a8,0x20aa,0x2105,0x2111,0x2114,0x2119,0x2125,0x2142,0x2144,0x2149,0x2155,0x2158,
    0x215a,0x2161,0x2164,0x2165,0x2166,0x2185,0x2190,0x2196,0x2199,0x21a5,0x2201,0x2208,0x220a,0x2211,0x2215,0x2220,0x2222,0x2228,0x222a,
    0x2245,0x2251,0x2256,0x2259,0x2265,0x2281,0x2288,0x228a,0x2291,0x2295,0x22a0,0x22a2,0x22a8,0x22aa,0x2405,0x2414,0x2416,0x2419,0x2425,
    0x2444,0x2445,0x2446,0x2449,0x2452,0x2455,0x2458,0x245a,0x2466,0x2485,0x2491,0x2494,0x2499,0x24a1,0x24a5,0x2509,0x2515,0x2521,0x2529,
    0x2540,0x2545,0x2548,0x2551,0x2554,0x2555,0x2559,0x2562,0x2565,0x2568,0x2589,0x2590,0x2594,0x2595,0x2598,0x259a,0x25a1,0x25a4,0x25a6,
    0x25a9,0x2605,0x2610,0x2612,0x2619,0x2625,0x2641,0x2649,0x2655,0x2660,0x2661,0x2669,0x2684,0x2686,0x2690,0x269a,0x2800,0x2802,0x2808,
    0x280a,0x2815,0x2820,0x2822,0x2828,0x282a,0x2845,0x2851,0x2854,0x2865,0x2880,0x2882,0x2888,0x288a,0x28a0,0x28a2,0x28a8,0x28aa,0x2909,
    0x2911,0x2914,0x2919,0x2925,0x2946,0x2949,0x2952,0x2955,0x2961,0x2964,0x2966,0x2969,0x2985,0x2990,0x2996,0x2999,0x29a4,0x29a5,0x2a00,
    0x2a02,0x2a08,0x2a0a,0x2a20,0x2a22,0x2a28,0x2a2a,0x2a45,0x2a51,0x2a56,0x2a59,0x2a65,0x2a80,0x2a82,0x2a88,0x2a8a,0x2a95,0x2aa0,0x2aa2,
    0x2aa8,0x2aaa,0x4005,0x4011,0x4016,0x4025,0x4049,0x4052,0x4055,0x4058,0x405a,0x4061,0x4064,0x4066,0x4094,0x4099,0x40a1,0x40a6,0x4100,
    0x4101,0x4104,0x4106,0x4109,0x4112,0x4115,0x4116,0x4118,0x411a,0x4121,0x4126,0x4129,0x4145,0x4148,0x414a,0x4151,0x4154,0x4155,0x4156,
    0x4159,0x415a,0x4165,0x4168,0x416a,0x4181,0x4184,0x4186,0x4190,0x4192,0x4195,0x41a0,0x41a1,0x41a2,0x4205,0x4211,0x4214,0x4216,0x4225,
    0x4241,0x4252,0x4255,0x425a,0x4264,0x4269,0x4289,0x4294,0x42a5,0x4401,0x4415,0x4419,0x4429,0x4445,0x4448,0x444a,0x4451,0x4454,0x4455,
    0x4456,0x4461,0x4462,0x4465,0x4468,0x446a,0x4481,0x4486,0x4489,0x4490,0x4492,0x4495,0x44a0,0x44a1,0x44a9,0x4501,0x4502,0x4505,0x450a,
    0x4511,0x4514,0x4515,0x4516,0x4519,0x4520,0x4525,0x452a,0x4541,0x4544,0x4545,0x4546,0x4549,0x4550,0x4551,0x4554,0x4555,0x4556,0x4558,
    0x4559,0x4561,0x4564,0x4565,0x4566,0x4569,0x4582,0x4584,0x4585,0x4588,0x4591,0x4594,0x4595,0x4596,0x4599,0x459a,0x45a5,0x45a8,0x45aa,
    0x4601,0x4605,0x4609,0x4614,0x4615,0x4618,0x461a,0x4621,0x4624,0x4629,0x4640,0x4642,0x4645,0x4648,0x4650,0x4651,0x4652,0x4655,0x4656,
    0x4659,0x4662,0x4665,0x4668,0x4681,0x4685,0x468a,0x4694,0x4695,0x46a1,0x46a4,0x46a6,0x4805,0x4811,0x4815,0x481a,0x4825,0x4842,0x4849,
    0x4850,0x4855,0x4858,0x4861,0x4864,0x4866,0x4869,0x4885,0x4891,0x4894,0x4896,0x4899,0x48a5,0x4901,0x4905,0x4906,0x490a,0x4910,0x4914,
    0x4915,0x4918,0x4921,0x4924,0x4926,0x4940,0x4945,0x494a,0x4951,0x4952,0x4954,0x4955,0x4956,0x4959,0x4960,0x4962,0x4965,0x4966,0x496a,
    0x4986,0x4989,0x4992,0x4995,0x4996,0x4998,0x49a1,0x49a4,0x49a6,0x49a9,0x4a16,0x4a44,0x4a46,0x4a49,0x4a55,0x4a58,0x4a5a,0x4a64,0x4a69,
    0x4a94,0x4aa5,0x5001,0x5004,0x5005,0x5006,0x5009,0x5012,0x5015,0x501a,0x5021,0x5024,0x5029,0x5040,0x5045,0x5048,0x5051,0x5054,0x5055,
    0x5056,0x5059,0x5065,0x5068,0x5086,0x5089,0x5095,0x5098,0x50a0,0x50a1,0x50a6,0x50a9,0x5105,0x5108,0x5109,0x510a,0x5111,0x5114,0x5115,
    0x5116,0x5118,0x5119,0x5120,0x5125,0x5126,0x5128,0x512a,0x5141,0x5144,0x5145,0x5146,0x5149,0x5150,0x5151,0x5152,0x5154,0x5155,0x5156,
    0x5158,0x5159,0x515a,0x5161,0x5164,0x5165,0x5166,0x5169,0x5182,0x5185,0x5191,0x5194,0x5195,0x5196,0x5199,0x51a0,0x51a5,0x51aa,0x5201,
    0x5206,0x5212,0x5215,0x521a,0x5221,0x5224,0x5242,0x5245,0x524a,0x5251,0x5254,0x5255,0x5256,0x5259,0x5262,0x5265,0x5285,0x5290,0x5292,
    0x5295,0x5299,0x529a,0x52a4,0x5404,0x5405,0x5411,0x5414,0x5415,0x5416,0x5418,0x5419,0x5421,0x5425,0x5428,0x542a,0x5441,0x5444,0x5445,
    0x5446,0x5449,0x544a,0x5450,0x5451,0x5454,0x5455,0x5456,0x5458,0x5459,0x545a,0x5461,0x5462,0x5464,0x5465,0x5466,0x5469,0x5480,0x5488,
    0x548a,0x5491,0x5494,0x5495,0x5496,0x5499,0x54a1,0x54a4,0x54a5,0x54aa,0x5501,0x5502,0x5504,0x5505,0x5506,0x5509,0x5510,0x5511,0x5512,
    0x5514,0x5515,0x5516,0x5519,0x551a,0x5521,0x5524,0x5525,0x5526,0x5529,0x5540,0x5541,0x5542,0x5544,0x5545,0x5546,0x5548,0x5549,0x5550,
    0x5551,0x5552,0x5554,0x5555,0x5556,0x5558,0x5559,0x555a,0x5560,0x5561,0x5564,0x5565,0x5566,0x5568,0x5569,0x556a,0x5581,0x5584,0x5585,
    0x5589,0x558a,0x5590,0x5591,0x5594,0x5595,0x5596,0x5598,0x5599,0x55a1,0x55a4,0x55a5,0x55a6,0x55a9,0x5600,0x5601,0x5602,0x5604,0x5606,
    0x5608,0x5609,0x5611,0x5614,0x5615,0x5618,0x5619,0x5620,0x5621,0x5622,0x5624,0x5625,0x5626,0x5628,0x5629,0x5641,0x5645,0x5646,0x5648,
    0x5649,0x564a,0x5650,0x5651,0x5652,0x5654,0x5655,0x5656,0x5658,0x5659,0x565a,0x5661,0x5664,0x5665,0x5669,0x5682,0x5685,0x5686,0x5688,
    0x5689,0x568a,0x5691,0x5695,0x569a,0x56a2,0x56a5,0x56a6,0x56a8,0x56a9,0x5804,0x5805,0x5806,0x5809,0x5810,0x5815,0x5818,0x5821,0x582a,
    0x5845,0x5848,0x584a,0x5851,0x5854,0x5855,0x5856,0x5858,0x5859,0x5860,0x5862,0x5864,0x5865,0x5882,0x5889,0x5890,0x5892,0x5895,0x5898,
    0x58a1,0x58a9,0x5901,0x5902,0x5905,0x590a,0x5911,0x5914,0x5915,0x5916,0x5919,0x5925,0x5941,0x5944,0x5945,0x5946,0x5949,0x5950,0x5951,
    0x5952,0x5954,0x5955,0x5956,0x5958,0x5959,0x595a,0x5961,0x5964,0x5965,0x5966,0x5969,0x5981,0x5985,0x5989,0x5991,0x5994,0x5995,0x5996,
    0x5998,0x5999,0x59a5,0x5a04,0x5a08,0x5a15,0x5a1a,0x5a20,0x5a25,0x5a26,0x5a29,0x5a45,0x5a48,0x5a49,0x5a51,0x5a55,0x5a56,0x5a58,0x5a59,
    0x5a62,0x5a65,0x5a68,0x5a6a,0x5a81,0x5a8a,0x5a92,0x5a95,0x5a96,0x5a98,0x5a9a,0x5aa1,0x6005,0x6014,0x6016,0x6019,0x6025,0x6044,0x6050,
    0x6055,0x6056,0x6058,0x605a,0x6061,0x6064,0x6066,0x6069,0x6081,0x6096,0x60a5,0x6101,0x6104,0x6106,0x6109,0x6112,0x6115,0x6121,0x6122,
    0x6126,0x6129,0x6145,0x6149,0x6151,0x6155,0x6156,0x6159,0x6165,0x6166,0x616a,0x6184,0x618a,0x6192,0x6195,0x61a1,0x61a6,0x61a9,0x6211,
    0x6216,0x6219,0x6240,0x6241,0x6246,0x6255,0x6256,0x6258,0x6260,0x6285,0x6291,0x6296,0x62a5,0x6411,0x6412,0x6415,0x6416,0x641a,0x6421,
    0x6426,0x6429,0x6440,0x6442,0x6445,0x6448,0x644a,0x6451,0x6454,0x6455,0x6456,0x6459,0x645a,0x6460,0x6462,0x6465,0x6484,0x6485,0x6489,
    0x6490,0x6492,0x6494,0x6495,0x6496,0x6498,0x649a,0x64a1,0x64a4,0x64a9,0x6505,0x6508,0x650a,0x6511,0x6515,0x6516,0x6519,0x6544,0x6545,
    0x6546,0x6549,0x6550,0x6551,0x6554,0x6555,0x6556,0x6559,0x6561,0x6564,0x6565,0x6566,0x6569,0x6586,0x6589,0x658a,0x6591,0x6595,0x6596,
    0x6599,0x659a,0x65a2,0x65a5,0x65a6,0x65a8,0x6602,0x6609,0x6615,0x6620,0x6626,0x6628,0x6629,0x6640,0x6645,0x6648,0x664a,0x6651,0x6654,
    0x6655,0x6656,0x6658,0x665a,0x6660,0x6665,0x6668,0x6680,0x6682,0x6685,0x668a,0x6694,0x6696,0x6698,0x6699,0x66a0,0x66a4,0x66a6,0x66aa,
    0x6816,0x6819,0x6825,0x6841,0x6852,0x6855,0x685a,0x6861,0x6869,0x6885,0x6891,0x6898,0x68a6,0x6901,0x6904,0x6910,0x6915,0x6921,0x6924,
    0x6926,0x6929,0x6940,0x6941,0x6945,0x6946,0x6948,0x6951,0x6954,0x6955,0x6956,0x6959,0x6960,0x6965,0x696a,0x6982,0x6984,0x698a,0x6995,
    0x69a1,0x69a4,0x69a5,0x69a9,0x6a11,0x6a16,0x6a18,0x6a41,0x6a44,0x6a49,0x6a50,0x6a55,0x6a58,0x6a5a,0x6a64,0x6a65,0x6a69,0x6a86,0x6a94,
    0x6a98,0x6a9a,0x6aa6,0x8000,0x8002,0x8008,0x800a,0x8020,0x8022,0x8028,0x802a,0x8045,0x8050,0x8051,0x8054,0x8056,0x8059,0x8065,0x8080,
    0x8082,0x8088,0x808a,0x8095,0x80a0,0x80a2,0x80a8,0x80aa,0x8105,0x8111,0x8114,0x8116,0x8119,0x8125,0x8141,0x8144,0x8149,0x8150,0x8152,
    0x8155,0x8156,0x8158,0x8159,0x8164,0x8166,0x8169,0x8185,0x8189,0x8194,0x8196,0x8199,0x81a5,0x8200,0x8202,0x8208,0x820a,0x8215,0x8220,
    0x8222,0x8228,0x822a,0x8251,0x8254,0x8259,0x8265,0x8280,0x8282,0x8288,0x828a,0x8295,0x82a0,0x82a2,0x82a8,0x82aa,0x8414,0x8419,0x8441,
    0x8444,0x8451,0x8455,0x845a,0x8461,0x8464,0x8469,0x8494,0x8499,0x8501,0x8509,0x8512,0x8515,0x851a,0x8526,0x8529,0x8540,0x8541,0x8545,
    0x8548,0x8551,0x8554,0x8555,0x8556,0x8559,0x855a,0x8565,0x8566,0x8568,0x856a,0x8581,0x8584,0x8586,0x8589,0x8590,0x8592,0x8595,0x8598,
    0x85a6,0x8611,0x8616,0x8619,0x8625,0x8641,0x8644,0x8649,0x864a,0x8650,0x8655,0x8659,0x865a,0x8661,0x8666,0x866a,0x8685,0x8691,0x869a,
    0x86a4,0x8800,0x8802,0x8808,0x880a,0x8815,0x8820,0x8822,0x8828,0x882a,0x8841,0x8845,0x8851,0x8854,0x8859,0x8865,0x8869,0x8880,0x8882,
    0x8888,0x888a,0x8895,0x88a0,0x88a2,0x88a8,0x88aa,0x8905,0x8906,0x8911,0x8914,0x8916,0x8925,0x8941,0x8944,0x8946,0x8949,0x8950,0x8952,
    0x8955,0x895a,0x8961,0x8964,0x8985,0x8996,0x8999,0x89a5,0x8a00,0x8a02,0x8a08,0x8a0a,0x8a15,0x8a20,0x8a22,0x8a28,0x8a2a,0x8a45,0x8a51,
    0x8a54,0x8a56,0x8a80,0x8a82,0x8a88,0x8a8a,0x8a95,0x8aa0,0x8aa2,0x8aa8,0x8aaa,0x9005,0x9011,0x9016,0x9018,0x9019,0x9025,0x9041,0x9046,
    0x9049,0x9055,0x9058,0x905a,0x9069,0x906a,0x9085,0x9091,0x9094,0x9096,0x9099,0x90a5,0x9101,0x9104,0x9106,0x9109,0x9110,0x9115,0x9118,
    0x911a,0x9121,0x9124,0x9126,0x9129,0x9140,0x9145,0x9150,0x9151,0x9154,0x9155,0x9156,0x9159,0x9162,0x9165,0x9184,0x9186,0x9192,0x9195,
    0x9198,0x91a1,0x91a4,0x91a6,0x91a9,0x9205,0x9211,0x9214,0x9219,0x9225,0x9244,0x9246,0x9249,0x9250,0x9252,0x9255,0x9258,0x9266,0x9269,
    0x9285,0x9294,0x9296,0x92a9,0x9401,0x9404,0x9406,0x9410,0x9415,0x9418,0x9426,0x9440,0x944a,0x9451,0x9454,0x9455,0x9456,0x9458,0x9459,
    0x9460,0x9461,0x9462,0x9465,0x9484,0x9486,0x9492,0x9494,0x9495,0x9498,0x94a1,0x94a9,0x9500,0x9505,0x9508,0x950a,0x9510,0x9511,0x9514,
    0x9515,0x9516,0x9519,0x9521,0x9525,0x9529,0x952a,0x9541,0x9544,0x9545,0x9546,0x9549,0x9550,0x9551,0x9552,0x9554,0x9555,0x9556,0x9558,
    0x9559,0x955a,0x9561,0x9564,0x9565,0x9566,0x9569,0x9581,0x9585,0x9588,0x9591,0x9592,0x9594,0x9595,0x9596,0x9599,0x959a,0x95a0,0x95a2,
    0x95a5,0x95a8,0x95aa,0x9601,0x9604,0x9610,0x9615,0x9619,0x9620,0x9626,0x9629,0x9645,0x9648,0x9649,0x9651,0x9652,0x9655,0x9656,0x9659,
    0x9665,0x9668,0x9682,0x9684,0x9689,0x968a,0x9692,0x9694,0x9695,0x96a4,0x96a6,0x96a9,0x9805,0x9816,0x9819,0x9825,0x9841,0x9846,0x9850,
    0x9852,0x9855,0x9856,0x985a,0x9864,0x9865,0x9885,0x9891,0x9896,0x9899,0x98a5,0x9904,0x9906,0x9909,0x9910,0x9912,0x9915,0x9918,0x991a,
    0x9920,0x9921,0x9924,0x9926,0x9940,0x9942,0x9945,0x9948,0x994a,0x9951,0x9954,0x9955,0x9956,0x9959,0x9962,0x9965,0x9966,0x996a,0x9981,
    0x9984,0x9990,0x9992,0x9995,0x999a,0x99a1,0x99a6,0x9a05,0x9a15,0x9a25,0x9a44,0x9a46,0x9a49,0x9a50,0x9a55,0x9a58,0x9a61,0x9a85,0x9a91,
    0x9a94,0x9a95,0x9a96,0xa000,0xa002,0xa008,0xa00a,0xa015,0xa020,0xa022,0xa028,0xa02a,0xa045,0xa051,0xa054,0xa056,0xa059,0xa080,0xa082,
    0xa088,0xa08a,0xa095,0xa0a0,0xa0a2,0xa0a8,0xa0aa,0xa105,0xa109,0xa111,0xa114,0xa116,0xa119,0xa11a,0xa146,0xa149,0xa151,0xa155,0xa158,
    0xa15a,0xa161,0xa164,0xa185,0xa190,0xa192,0xa196,0xa199,0xa202,0xa208,0xa20a,0xa210,0xa219,0xa222,0xa228,0xa22a,0xa245,0xa251,0xa256,
    0xa259,0xa265,0xa280,0xa282,0xa288,0xa28a,0xa295,0xa2a0,0xa2a2,0xa2a8,0xa2aa,0xa419,0xa425,0xa441,0xa444,0xa450,0xa454,0xa455,0xa458,
    0xa45a,0xa461,0xa465,0xa466,0xa468,0xa469,0xa485,0xa506,0xa509,0xa510,0xa512,0xa515,0xa518,0xa526,0xa529,0xa542,0xa545,0xa551,0xa554,
    0xa555,0xa556,0xa559,0xa565,0xa56a,0xa581,0xa584,0xa585,0xa586,0xa589,0xa592,0xa595,0xa598,0xa605,0xa611,0xa616,0xa61a,0xa621,0xa625,
    0xa644,0xa646,0xa64a,0xa652,0xa655,0xa656,0xa658,0xa660,0xa662,0xa686,0xa690,0xa695,0xa696,0xa699,0xa6a1,0xa6a4,0xa6a6,0xa800,0xa802,
    0xa808,0xa80a,0xa820,0xa822,0xa828,0xa82a,0xa851,0xa854,0xa856,0xa859,0xa880,0xa882,0xa888,0xa88a,0xa895,0xa8a0,0xa8a2,0xa8a8,0xa8aa,
    0xa905,0xa914,0xa919,0xa921,0xa925,0xa941,0xa950,0xa955,0xa95a,0xa961,0xa966,0xa969,0xa990,0xa996,0xaa00,0xaa02,0xaa08,0xaa0a,0xaa20,
    0xaa22,0xaa28,0xaa2a,0xaa51,0xaa54,0xaa56,0xaa80,0xaa82,0xaa88,0xaa8a,0xaa95,0xaaa0,0xaaa2,0xaaa8,0xaaaa
};
static const uint16_t llm__grid_iq3_xxs[256] = {
    0x0000,0x0002,0x0004,0x0011,0x0013,0x0017,0x0020,0x0022,0x0031,0x0042,0x0073,0x0075,0x0101,0x0103,0x0110,0x0112,0x0121,0x0125,0x0130,
    0x0132,0x0141,0x0154,0x0170,0x0200,0x0202,0x0204,0x0211,0x0220,0x0222,0x0231,0x0233,0x0237,0x0251,0x0257,0x0275,0x0301,0x0307,0x0310,
    0x0312,0x0325,0x0370,0x0413,0x0437,0x0444,0x0457,0x0473,0x0475,0x0501,0x0507,0x0532,0x0552,0x0635,0x0664,0x0710,0x0714,0x0716,0x0743,
    0x0761,0x1001,0x1003,0x1010,0x1012,0x1021,0x1023,0x1030,0x1032,0x1034,0x1047,0x1050,0x1100,0x1102,0x1111,0x1120,0x1122,0x1201,0x1203,
    0x1210,0x1212,0x1221,0x1230,0x1272,0x1300,0x1302,0x1320,0x1331,0x1346,0x1366,0x1401,0x1405,0x1450,0x1520,0x1524,0x1546,0x1571,0x1605,
    0x1722,0x1740,0x2000,0x2002,0x2011,0x2013,0x2020,0x2022,0x2026,0x2031,0x2042,0x2101,0x2103,0x2105,0x2110,0x2112,0x2121,0x2130,0x2163,
    0x2167,0x2170,0x2200,0x2202,0x2211,0x2217,0x2220,0x2222,0x2237,0x2240,0x2255,0x2301,0x2310,0x2314,0x2370,0x2374,0x2435,0x2453,0x2503,
    0x2527,0x2541,0x2574,0x2701,0x2703,0x2716,0x2745,0x3001,0x3010,0x3012,0x3021,0x3023,0x3050,0x3065,0x3072,0x3100,0x3102,0x3120,0x3131,
    0x3144,0x3146,0x3201,0x3203,0x3210,0x3225,0x3252,0x3272,0x3311,0x3333,0x3430,0x3447,0x3472,0x3500,0x3506,0x3522,0x3555,0x3614,0x3636,
    0x3663,0x3733,0x3760,0x4004,0x4017,0x4035,0x4037,0x4053,0x4057,0x4174,0x4220,0x4237,0x4240,0x4260,0x4266,0x4307,0x4345,0x4404,0x4451,
    0x4464,0x4525,0x4543,0x4570,0x4705,0x4710,0x4712,0x4730,0x5012,0x5041,0x5070,0x5100,0x5106,0x5126,0x5155,0x5214,0x5232,0x5272,0x5302,
    0x5353,0x5410,0x5423,0x5427,0x5472,0x5502,0x5531,0x5650,0x5724,0x5742,0x6024,0x6044,0x6046,0x6064,0x6121,0x6161,0x6217,0x6264,0x6330,
    0x6336,0x6444,0x6505,0x6552,0x6633,0x6703,0x6721,0x7003,0x7005,0x7007,0x7010,0x7032,0x7052,0x7126,0x7140,0x7212,0x7245,0x7252,0x7300,
    0x7315,0x7333,0x7360,0x7421,0x7441,0x7500,0x7502,0x7524,0x7630
};
static const uint16_t llm__grid_iq3_s[512] = {
    0x0000,0x0001,0x0002,0x0005,0x0007,0x0010,0x0011,0x0012,0x0014,0x0016,0x0020,0x0021,0x0025,0x0033,0x0040,0x0042,0x0045,0x0047,0x0051,
    0x0053,0x0060,0x0062,0x0071,0x0074,0x0077,0x0100,0x0101,0x0102,0x0104,0x0110,0x0111,0x0115,0x0120,0x0123,0x0127,0x0131,0x0135,0x0144,
    0x0161,0x0165,0x0172,0x0200,0x0201,0x0205,0x0207,0x0210,0x0213,0x0216,0x0221,0x0225,0x0230,0x0234,0x0242,0x0245,0x0247,0x0251,0x0253,
    0x0270,0x0273,0x0303,0x0311,0x0315,0x0320,0x0322,0x0331,0x0333,0x0336,0x0344,0x0350,0x0352,0x0367,0x0371,0x0375,0x0400,0x0413,0x0417,
    0x0421,0x0424,0x0432,0x0440,0x0443,0x0451,0x0470,0x0502,0x0504,0x0520,0x0522,0x0526,0x0533,0x0541,0x0545,0x0547,0x0566,0x0573,0x0606,
    0x0611,0x0613,0x0631,0x0652,0x0671,0x0700,0x0702,0x0704,0x0720,0x0722,0x0726,0x0733,0x0750,0x0754,0x1000,0x1001,0x1002,0x1004,0x1010,
    0x1011,0x1013,0x1015,0x1017,0x1020,0x1022,0x1031,0x1034,0x1036,0x1054,0x1056,0x1061,0x1072,0x1100,0x1101,0x1103,0x1106,0x1110,0x1114,
    0x1121,0x1130,0x1133,0x1141,0x1150,0x1152,0x1170,0x1176,0x1200,0x1212,0x1215,0x1217,0x1220,0x1224,0x1232,0x1240,0x1243,0x1255,0x1260,
    0x1272,0x1301,0x1304,0x1307,0x1310,0x1313,0x1321,0x1327,0x1330,0x1334,0x1341,0x1362,0x1370,0x1403,0x1405,0x1412,0x1414,0x1431,0x1433,
    0x1442,0x1446,0x1450,0x1454,0x1501,0x1510,0x1513,0x1521,0x1530,0x1532,0x1551,0x1620,0x1624,0x1627,0x1644,0x1646,0x1701,0x1703,0x1710,
    0x1712,0x1721,0x1735,0x1741,0x1762,0x1770,0x2000,0x2001,0x2003,0x2005,0x2007,0x2010,0x2012,0x2014,0x2016,0x2021,0x2023,0x2027,0x2030,
    0x2032,0x2041,0x2043,0x2045,0x2050,0x2052,0x2067,0x2070,0x2073,0x2075,0x2100,0x2102,0x2110,0x2113,0x2117,0x2122,0x2125,0x2131,0x2134,
    0x2142,0x2151,0x2201,0x2204,0x2207,0x2221,0x2223,0x2230,0x2237,0x2241,0x2253,0x2257,0x2271,0x2274,0x2300,0x2302,0x2305,0x2311,0x2322,
    0x2324,0x2331,0x2333,0x2342,0x2350,0x2366,0x2401,0x2407,0x2420,0x2423,0x2432,0x2435,0x2441,0x2472,0x2475,0x2504,0x2511,0x2522,0x2537,
    0x2540,0x2553,0x2570,0x2600,0x2602,0x2607,0x2621,0x2655,0x2661,0x2705,0x2711,0x2726,0x2730,0x2743,0x2750,0x3002,0x3011,0x3013,0x3015,
    0x3017,0x3022,0x3031,0x3033,0x3035,0x3042,0x3044,0x3047,0x3051,0x3063,0x3071,0x3101,0x3103,0x3105,0x3114,0x3121,0x3123,0x3140,0x3160,
    0x3172,0x3176,0x3200,0x3212,0x3220,0x3232,0x3234,0x3250,0x3301,0x3310,0x3314,0x3321,0x3323,0x3327,0x3330,0x3341,0x3343,0x3347,0x3355,
    0x3373,0x3403,0x3411,0x3416,0x3422,0x3431,0x3452,0x3460,0x3464,0x3501,0x3510,0x3512,0x3525,0x3532,0x3544,0x3556,0x3573,0x3616,0x3641,
    0x3701,0x3703,0x3720,0x3722,0x3735,0x4000,0x4004,0x4012,0x4020,0x4024,0x4027,0x4032,0x4041,0x4050,0x4070,0x4102,0x4107,0x4111,0x4113,
    0x4122,0x4130,0x4135,0x4143,0x4151,0x4155,0x4201,0x4203,0x4210,0x4215,0x4221,0x4233,0x4240,0x4257,0x4262,0x4270,0x4304,0x4311,0x4313,
    0x4320,0x4322,0x4331,0x4335,0x4400,0x4402,0x4424,0x4437,0x4440,0x4471,0x4505,0x4507,0x4521,0x4562,0x4613,0x4634,0x4660,0x4710,0x4715,
    0x4730,0x4743,0x4751,0x5002,0x5010,0x5014,0x5022,0x5040,0x5044,0x5047,0x5052,0x5066,0x5074,0x5101,0x5103,0x5105,0x5112,0x5121,0x5132,
    0x5172,0x5200,0x5211,0x5223,0x5230,0x5236,0x5253,0x5302,0x5307,0x5310,0x5327,0x5344,0x5351,0x5365,0x5373,0x5401,0x5404,0x5420,0x5432,
    0x5446,0x5512,0x5526,0x5551,0x5553,0x5642,0x5702,0x5704,0x5722,0x6011,0x6013,0x6015,0x6031,0x6033,0x6060,0x6100,0x6120,0x6127,0x6164,
    0x6212,0x6234,0x6242,0x6255,0x6262,0x6270,0x6300,0x6314,0x6321,0x6340,0x6425,0x6443,0x6462,0x6500,0x6503,0x6534,0x6560,0x6605,0x6640,
    0x6711,0x6713,0x7000,0x7004,0x7007,0x7020,0x7022,0x7036,0x7040,0x7054,0x7062,0x7102,0x7111,0x7124,0x7143,0x7145,0x7201,0x7204,0x7210,
    0x7216,0x7221,0x7230,0x7251,0x7302,0x7332,0x7335,0x7353,0x7401,0x7405,0x7413,0x7420,0x7450,0x7522,0x7542,0x7602,0x7631,0x7700
};
static const int8_t llm__iq2_values[4] = { 8, 25, 43, 0 };
static const int8_t llm__iq1_values[2][4] = { { -7, 1, 9, 0 }, { -9, -1, 7, 0 } };                // 8 * (-1, 0, 1) plus or minus 1
static const int8_t llm__iq3_xxs_values[8] = { 4, 12, 20, 28, 36, 44, 52, 62 };
static const int8_t llm__iq3_s_values[8] = { 1, 3, 5, 7, 9, 11, 13, 15 };

// Eight weights of a word with two bits, four of a word with four bits for each; bit k of signs turns weight k.
static void llm__grid8(int8_t *q, uint32_t word, const int8_t *values, uint32_t signs) {
    int k;
    for (k = 0; k < 8; k++) q[k] = (int8_t)(values[word >> k * 2 & 3u] * (1 - (int)(signs >> k & 1u) * 2));
}
static void llm__grid4(int8_t *q, uint32_t word, const int8_t *values, uint32_t signs) {
    int k;
    for (k = 0; k < 4; k++) q[k] = (int8_t)(values[word >> k * 4 & 7u] * (1 - (int)(signs >> k & 1u) * 2));
}
// Seven signs are stored, and the eighth makes the number of minuses even.
static uint32_t llm__even_signs(uint32_t seven) {
    uint32_t odd = seven & 127u;
    odd ^= odd >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return (seven & 127u) | (odd & 1u) << 7;
}

// ---- blocks of 256 by grids; 8*g is the first weight of a word -------------------------------------------------------------

// iq2_xxs: w = d * (2*sc + 1) / 8 * value. Per 32: four numbers of words, then four times seven signs, and sc above them.
typedef struct llm__iq2_xxs { uint8_t d[2], q[64]; } llm__iq2_xxs;
LLM__CARD(iq2_xxs, 66, 43, 1);
static void llm__iq2_xxs_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq2_xxs *b = (const llm__iq2_xxs *)src;
    const uint8_t *q = b->q + j * 8;
    uint32_t signs = llm__le32(q + 4), g;
    llm__plain32(w, llm__half(b->d) * (float)((signs >> 28) * 2 + 1) * 0.125f, 0.0f);
    for (g = 0; g < 4; g++) llm__grid8(w->q + g * 8, llm__grid_iq2_xxs[q[g]], llm__iq2_values, llm__even_signs(signs >> g * 7));
}

// The sub-scales 2*sc + 1 of two halves, sc in four bits each.
static void llm__odd_scales(llm__weights32 *w, uint32_t sc) {
    w->sub[0] = (int32_t)(sc & 15u) * 2 + 1;
    w->sub[1] = (int32_t)(sc >> 4) * 2 + 1;
}

// iq2_xs: w = d / 8 * (2*sc + 1) * value, sc per 16. Per eight weights 9 bits of number and seven signs.
typedef struct llm__iq2_xs { uint8_t d[2], q[64], scales[8]; } llm__iq2_xs;
LLM__CARD(iq2_xs, 74, 43, 31);
static void llm__iq2_xs_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq2_xs *b = (const llm__iq2_xs *)src;
    uint32_t g;
    llm__plain32(w, llm__half(b->d) * 0.125f, 0.0f);
    llm__odd_scales(w, b->scales[j]);
    for (g = 0; g < 4; g++) {
        uint32_t q = llm__le16(b->q + (j * 4 + g) * 2);
        llm__grid8(w->q + g * 8, llm__grid_iq2_xs[q & 511u], llm__iq2_values, llm__even_signs(q >> 9));
    }
}

// iq2_s: the same with 10 bits of number, the upper two in qh, and all eight signs
typedef struct llm__iq2_s { uint8_t d[2], q[32], signs[32], qh[8], scales[8]; } llm__iq2_s;
LLM__CARD(iq2_s, 82, 43, 31);
static void llm__iq2_s_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq2_s *b = (const llm__iq2_s *)src;
    uint32_t g;
    llm__plain32(w, llm__half(b->d) * 0.125f, 0.0f);
    llm__odd_scales(w, b->scales[j]);
    for (g = 0; g < 4; g++) {
        uint32_t q = b->q[j * 4 + g] | ((uint32_t)b->qh[j] >> g * 2 & 3u) << 8;
        llm__grid8(w->q + g * 8, llm__grid_iq2_s[q], llm__iq2_values, b->signs[j * 4 + g]);
    }
}

// iq3_xxs: w = d * (2*sc + 1) / 4 * value. Eight numbers per 32; in signs four times seven of them, and sc above.
typedef struct llm__iq3_xxs { uint8_t d[2], q[64], signs[32]; } llm__iq3_xxs;
LLM__CARD(iq3_xxs, 98, 62, 1);
static void llm__iq3_xxs_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq3_xxs *b = (const llm__iq3_xxs *)src;
    const uint8_t *q = b->q + j * 8;
    uint32_t word = llm__le32(b->signs + j * 4), g;
    llm__plain32(w, llm__half(b->d) * (float)((word >> 28) * 2 + 1) * 0.25f, 0.0f);
    for (g = 0; g < 4; g++) {
        uint32_t signs = llm__even_signs(word >> g * 7);
        llm__grid4(w->q + g * 8, llm__grid_iq3_xxs[q[g * 2]], llm__iq3_xxs_values, signs);
        llm__grid4(w->q + g * 8 + 4, llm__grid_iq3_xxs[q[g * 2 + 1]], llm__iq3_xxs_values, signs >> 4);
    }
}

// iq3_s: w = d * (2*sc + 1) * value. Eight numbers of 9 bits per 32, the ninths in qh; all signs; sc in four bits per 32.
typedef struct llm__iq3_s { uint8_t d[2], q[64], qh[8], signs[32], scales[4]; } llm__iq3_s;
LLM__CARD(iq3_s, 110, 15, 1);
static void llm__iq3_s_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq3_s *b = (const llm__iq3_s *)src;
    uint32_t sc = (uint32_t)b->scales[j / 2] >> j % 2 * 4 & 15u, i;
    llm__plain32(w, llm__half(b->d) * (float)(sc * 2 + 1), 0.0f);
    for (i = 0; i < 8; i++) {
        uint32_t q = b->q[j * 8 + i] | ((uint32_t)b->qh[j] >> i & 1u) << 8;
        llm__grid4(w->q + i * 4, llm__grid_iq3_s[q], llm__iq3_s_values, (uint32_t)b->signs[j * 4 + i / 2] >> i % 2 * 4);
    }
}

// iq1_s: w = d * (2*sc + 1) / 8 * (8*v + 1) or (8*v - 1), v of -1, 0, 1. Per 32 four low bytes of numbers of 11 bits, and in a word of
// qh their upper bits, three each, then sc in three bits, then minus.
typedef struct llm__iq1_s { uint8_t d[2], q[32], qh[16]; } llm__iq1_s;
LLM__CARD(iq1_s, 50, 9, 1);
static void llm__iq1_s_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq1_s *b = (const llm__iq1_s *)src;
    uint32_t h = llm__le16(b->qh + j * 2), g;
    llm__plain32(w, llm__half(b->d) * (float)((h >> 12 & 7u) * 2 + 1) * 0.125f, 0.0f);
    for (g = 0; g < 4; g++)
        llm__grid8(w->q + g * 8, llm__grid_iq1[b->q[j * 4 + g] | (h >> g * 3 & 7u) << 8], llm__iq1_values[h >> 15], 0);
}

// iq1_m: w = d / 8 * (2*sc + 1) * (8*v + 1) or (8*v - 1), minus per eight weights, sc per 16. In a half of qh three bits of number, then
// minus. Four words of scales: 12 bits are four sc, the upper four of each together are d.
typedef struct llm__iq1_m { uint8_t q[32], qh[16], scales[8]; } llm__iq1_m;
LLM__CARD(iq1_m, 56, 9, 15);
static uint16_t llm__iq1_m_d(const uint8_t *p) {
    return (uint16_t)(p[1] >> 4 | (p[3] & 0xf0) | (p[5] & 0xf0) << 4 | (p[7] & 0xf0) << 8);
}
static void llm__iq1_m_unpack(const void *src, uint32_t j, llm__weights32 *w) {
    const llm__iq1_m *b = (const llm__iq1_m *)src;
    uint32_t sc = (uint32_t)llm__le16(b->scales + j / 2 * 2) >> j % 2 * 6, g;
    llm__plain32(w, llm__f16_to_f32(llm__iq1_m_d(b->scales)) * 0.125f, 0.0f);
    w->sub[0] = (int32_t)(sc & 7u) * 2 + 1;
    w->sub[1] = (int32_t)(sc >> 3 & 7u) * 2 + 1;
    for (g = 0; g < 4; g++) {
        uint32_t h = (uint32_t)b->qh[j * 2 + g / 2] >> g % 2 * 4;
        llm__grid8(w->q + g * 8, llm__grid_iq1[b->q[j * 4 + g] | (h & 7u) << 8], llm__iq1_values[h >> 3 & 1u], 0);
    }
}

// ---- the table -------------------------------------------------------------------------------------------------------------

// The terms of a dot of 32 (N4): one; a second one of minima; or one per half, each with its own scale.
typedef enum llm__terms { LLM__ONE, LLM__MINIMA, LLM__HALVES } llm__terms;

//    name     gguf  weights  block         terms
#define LLM__FLOAT_FORMATS(X)                             \
    X(F32,     0,    1,       llm__f32,     ONE)          \
    X(F16,     1,    1,       llm__f16,     ONE)          \
    X(BF16,    30,   1,       llm__bf16,    ONE)
#define LLM__PLAIN_FORMATS(X)                             \
    X(Q4_0,    2,    32,      llm__q4_0,    ONE)          \
    X(Q4_1,    3,    32,      llm__q4_1,    MINIMA)       \
    X(Q5_0,    6,    32,      llm__q5_0,    ONE)          \
    X(Q5_1,    7,    32,      llm__q5_1,    MINIMA)       \
    X(Q8_0,    8,    32,      llm__q8_0,    ONE)
#define LLM__K_FORMATS(X)                                 \
    X(Q2_K,    10,   256,     llm__q2_k,    MINIMA)       \
    X(Q3_K,    11,   256,     llm__q3_k,    ONE)          \
    X(Q4_K,    12,   256,     llm__q4_k,    MINIMA)       \
    X(Q5_K,    13,   256,     llm__q5_k,    MINIMA)       \
    X(Q6_K,    14,   256,     llm__q6_k,    ONE)
#define LLM__RARE_FORMATS(X)                              \
    X(IQ2_XXS, 16,   256,     llm__iq2_xxs, ONE)          \
    X(IQ2_XS,  17,   256,     llm__iq2_xs,  ONE)          \
    X(IQ3_XXS, 18,   256,     llm__iq3_xxs, ONE)          \
    X(IQ1_S,   19,   256,     llm__iq1_s,   ONE)          \
    X(IQ4_NL,  20,   32,      llm__iq4_nl,  ONE)          \
    X(IQ3_S,   21,   256,     llm__iq3_s,   ONE)          \
    X(IQ2_S,   22,   256,     llm__iq2_s,   ONE)          \
    X(IQ4_XS,  23,   256,     llm__iq4_xs,  ONE)          \
    X(IQ1_M,   29,   256,     llm__iq1_m,   ONE)          \
    X(TQ1_0,   34,   256,     llm__tq1_0,   ONE)          \
    X(TQ2_0,   35,   256,     llm__tq2_0,   ONE)          \
    X(MXFP4,   39,   32,      llm__mxfp4,   ONE)          \
    X(NVFP4,   40,   64,      llm__nvfp4,   HALVES)       \
    X(Q1_0,    41,   128,     llm__q1_0,    ONE)          \
    X(Q2_0,    42,   64,      llm__q2_0,    ONE)
#define LLM__BLOCK_FORMATS(X) LLM__PLAIN_FORMATS(X) LLM__K_FORMATS(X) LLM__RARE_FORMATS(X)
#define LLM__FORMATS(X) LLM__FLOAT_FORMATS(X) LLM__BLOCK_FORMATS(X)

#define LLM__X(name, gguf, weights, block, terms) LLM__##name,
enum llm__type { LLM__TYPE_NONE = -1, LLM__FORMATS(LLM__X) LLM__TYPE_COUNT };
#undef LLM__X

typedef struct llm__type_info {
    const char *name;
    uint32_t gguf_type, block_weights, block_bytes;
    bool minima, two_scales;
    llm__load_fn load;            // floats, else NULL
    llm__unpack_fn unpack;        // blocks, else NULL
    const char *left_out;         // the macro that leaves this type out of the build, else NULL: it can be named and measured, not read
} llm__type_info;

#define LLM__TERMS(terms) LLM__##terms == LLM__MINIMA, LLM__##terms == LLM__HALVES
#define LLM__FLOAT(name, gguf, weights, block, terms) \
    { #name, gguf, weights, sizeof(block), LLM__TERMS(terms), block##_load, NULL, NULL },
#define LLM__BLOCK(name, gguf, weights, block, terms) \
    { #name, gguf, weights, sizeof(block), LLM__TERMS(terms), NULL, block##_unpack, NULL },
// The unpack is named, and so no unused function, but nothing refers to it.
#define LLM__ABSENT(macro, name, gguf, weights, block, terms) \
    { #name, gguf, weights, sizeof(block), LLM__TERMS(terms), NULL, 0 ? block##_unpack : NULL, macro },
#if defined(LLM_NO_K_QUANTS)
#define LLM__K_ROW(name, gguf, weights, block, terms) LLM__ABSENT("LLM_NO_K_QUANTS", name, gguf, weights, block, terms)
#else
#define LLM__K_ROW LLM__BLOCK
#endif
#if defined(LLM_NO_RARE_QUANTS)
#define LLM__RARE_ROW(name, gguf, weights, block, terms) LLM__ABSENT("LLM_NO_RARE_QUANTS", name, gguf, weights, block, terms)
#else
#define LLM__RARE_ROW LLM__BLOCK
#endif
static const llm__type_info llm__types[LLM__TYPE_COUNT] = {
    LLM__FLOAT_FORMATS(LLM__FLOAT) LLM__PLAIN_FORMATS(LLM__BLOCK) LLM__K_FORMATS(LLM__K_ROW) LLM__RARE_FORMATS(LLM__RARE_ROW)
};
#undef LLM__ABSENT
#undef LLM__K_ROW
#undef LLM__RARE_ROW
#undef LLM__FLOAT
#undef LLM__BLOCK
#undef LLM__TERMS

// LLM__TYPE_NONE: not one of ours.
static int llm__type_of_gguf(uint32_t gguf_type) {
    int type;
    for (type = 0; type < LLM__TYPE_COUNT; type++)
        if (llm__types[type].gguf_type == gguf_type) return type;
    return LLM__TYPE_NONE;
}

// false: not whole blocks, or more bytes than can be counted.
static bool llm__row_bytes(int type, uint64_t n_weights, uint64_t *bytes) {
    const llm__type_info *t = &llm__types[type];
    return n_weights % t->block_weights == 0 && llm__mul(n_weights / t->block_weights, t->block_bytes, bytes);
}

// Scale times sub-scale is exact, so the order is: one rounding for the product with q, one for the sum. These are ggml's bits.
static void llm__dequantize32(const llm__weights32 *w, bool minima, float *dst) {
    int h, k;
    for (h = 0; h < 2; h++) {
        float s = w->s[h] * (float)w->sub[h], t = w->t * (float)w->mn[h];
        for (k = h * 16; k < h * 16 + 16; k++) {
            float v = s * (float)w->q[k];
            dst[k] = minima ? v + t : v;
        }
    }
}

// n weights, whole blocks of them; src at any alignment.
static void llm__dequantize_row(int type, const void *src, float *dst, size_t n) {
    const llm__type_info *t = &llm__types[type];
    const uint8_t *p = (const uint8_t *)src;
    size_t i;
    uint32_t j;
    for (i = 0; i < n; i += t->block_weights, p += t->block_bytes) {
        if (t->load) { dst[i] = t->load(p); continue; }
        for (j = 0; j < t->block_weights / 32; j++) {
            llm__weights32 w;
            t->unpack(p, j, &w);
            llm__dequantize32(&w, t->minima, dst + i + j * 32);
        }
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// >>gguf     Files. A directory (keys, tensor names, places) is walked once to prove that it is sound, once to note where everything is;
//            nothing is copied: keys, strings and weights point into the mapping, the host's memory or what was read. Every count
//            is held against the bytes that could contain it before anything is allocated, and sizes are compared by subtraction.

enum {
    LLM__GGUF_U8, LLM__GGUF_I8, LLM__GGUF_U16, LLM__GGUF_I16, LLM__GGUF_U32, LLM__GGUF_I32, LLM__GGUF_F32, LLM__GGUF_BOOL,
    LLM__GGUF_STRING, LLM__GGUF_ARRAY, LLM__GGUF_U64, LLM__GGUF_I64, LLM__GGUF_F64, LLM__GGUF_TYPES
};

static const struct llm__gguf_type { const char *name; uint8_t bytes; } llm__gguf_types[LLM__GGUF_TYPES] = {
    { "UINT8", 1 }, { "INT8", 1 }, { "UINT16", 2 }, { "INT16", 2 }, { "UINT32", 4 }, { "INT32", 4 }, { "FLOAT32", 4 }, { "BOOL", 1 },
    { "STRING", 0 }, { "ARRAY", 0 }, { "UINT64", 8 }, { "INT64", 8 }, { "FLOAT64", 8 }
};

// Stored types that exist in files; where a type has a card, the card counts. Ids, names and block sizes as in ggml (MIT licence,
// Copyright (c) 2023-2026 The ggml authors). No size: the type was withdrawn from the format.
typedef struct llm__gguf_other { uint8_t id; const char *name; uint16_t weights, bytes; } llm__gguf_other;
static const llm__gguf_other llm__gguf_others[] = {
    { 4, "Q4_2", 0, 0 }, { 5, "Q4_3", 0, 0 }, { 9, "Q8_1", 32, 36 }, { 15, "Q8_K", 256, 292 }, { 24, "I8", 1, 1 }, { 25, "I16", 1, 2 },
    { 26, "I32", 1, 4 }, { 27, "I64", 1, 8 }, { 28, "F64", 1, 8 }, { 31, "Q4_0_4_4", 0, 0 }, { 32, "Q4_0_4_8", 0, 0 },
    { 33, "Q4_0_8_8", 0, 0 }, { 36, "IQ4_NL_4_4", 0, 0 }, { 37, "IQ4_NL_4_8", 0, 0 }, { 38, "IQ4_NL_8_8", 0, 0 }
};

typedef struct llm__gguf_kv {
    llm__str key;
    uint32_t type, elem_type;          // elem_type: of an array, else the type itself
    uint64_t n;                        // elements; 1 for scalars
    const uint8_t *value;              // first byte of the value or of the first element; a string begins with its 8-byte length
    uint64_t n_bytes;
} llm__gguf_kv;

typedef struct llm__gguf_tensor {
    llm__str name;
    int type;                          // compact id; LLM__TYPE_NONE only when any_type was asked for
    uint32_t gguf_type, n_dims, shard;
    uint64_t dims[4];                  // unused ones are 1
    uint64_t n_weights, n_bytes;
    uint64_t offset;                   // in its shard's data section
    const uint8_t *data;               // any alignment
} llm__gguf_tensor;

typedef struct llm__gguf_shard {
    llm__os_file file;
    bool has_file, singly;             // singly: the whole did not map, its tensors are mapped one by one
    bool copied;                       // into memory of the allocator, directory and weights
    llm_reader reader;                 // read_at NULL: there is none
    uint64_t size, directory_bytes;    // of the file; of keys and tensor entries, from its first byte on
    uint64_t data_at;                  // where the data section begins
    uint64_t data_begin, data_end;     // where tensors begin and end in it
    uint64_t first_tensor, n_tensors, n_maps;
    const uint8_t *base;               // the whole file, if it lies in memory
    llm__os_map map, *maps;
    uint8_t *head, *data;              // copies of the directory and of the data section, if it does not
    uint64_t head_bytes;
} llm__gguf_shard;

typedef struct llm__gguf {
    const llm__heap *heap;             // outlives this
    llm__gguf_kv *kv;                  // of the first shard
    llm__gguf_tensor *tensors;         // of all shards
    uint32_t n_kv, n_tensors;
    uint32_t *by_key, *by_name;        // their indices in order of the names
    llm__gguf_shard *shards;
    uint32_t n_shards, version;
    uint64_t alignment, file_bytes, weight_bytes;
    llm_mapping mapping;               // obtained. Bytes of the host's count as mapped: nothing was copied
    const char *mapping_reason, *file_system;      // why so; as llm__os_file_system
    uint64_t fingerprint;              // of the directories and sizes of all shards
    double open_ms, map_ms, parse_ms;  // open: opening, mapping, reading; map: what of it was mapping or reading
} llm__gguf;

typedef struct llm__gguf_options {     // heap is required, the other pointers may be NULL
    const llm__heap *heap;
    const llm_logger *log;
    const llm_progress *progress;      // hears fractions up to 0.9 in at least ten calls; the last tenth is the caller's
    const llm_clock *clock;
    llm_mapping mapping;
    const llm_reader *parts;
    uint32_t n_parts;
    bool any_type;                     // list tensors whose stored type has no card, too
    bool directory_only;               // no tensor gets its data, and the file is not mapped
    uint64_t most_bytes;               // of weights; LLM_TOO_BIG if there are more                              (0 = no limit)
    const char *most_by;               // who limits them
} llm__gguf_options;

#define LLM__GGUF_MAX_NAME    65535u           // bytes of a key or a tensor name
#define LLM__GGUF_MAX_KV      65536u           // the directory in memory stays a small multiple of the directory in the file
#define LLM__GGUF_MAX_TENSORS 262144u
#define LLM__GGUF_MAX_SHARDS  999u
#define LLM__GGUF_MIN_KV      13u              // length, no letter, type, one byte
#define LLM__GGUF_MIN_TENSOR  24u              // length, no letter, no dimension, type, offset

// ---- cursor: bytes of a file, of which the first ones are here. The first failure sticks; callers look once, at the end.

typedef struct llm__cursor {
    const uint8_t *at, *end;
    uint64_t beyond;                   // bytes of the file behind `end`
    bool failed, starved;              // starved: not a fault of the file, the bytes are merely not here yet
    uint64_t wanted, left;             // at the failure
} llm__cursor;

static uint64_t llm__cursor_left(const llm__cursor *c) { return (uint64_t)(c->end - c->at) + c->beyond; }

static bool llm__cursor_fail(llm__cursor *c, uint64_t wanted) {
    if (c->failed) return false;
    c->failed = true;
    c->wanted = wanted;
    c->left = llm__cursor_left(c);
    c->starved = wanted <= c->left;
    return false;
}
static const uint8_t *llm__cursor_take(llm__cursor *c, uint64_t n) {
    const uint8_t *p = c->at;
    if (c->failed || n > (uint64_t)(c->end - c->at)) { llm__cursor_fail(c, n); return NULL; }
    c->at += (size_t)n;
    return p;
}
static uint32_t llm__cursor_u32(llm__cursor *c) { const uint8_t *p = llm__cursor_take(c, 4); return p ? llm__le32(p) : 0; }
static uint64_t llm__cursor_u64(llm__cursor *c) { const uint8_t *p = llm__cursor_take(c, 8); return p ? llm__le64(p) : 0; }
static llm__str llm__cursor_str(llm__cursor *c) {
    uint64_t n = llm__cursor_u64(c);
    const uint8_t *p = llm__cursor_take(c, n);
    return p ? llm__str_n((const char *)p, (size_t)n) : llm__str_n("", 0);
}
// Can n things of at least `each` bytes follow at all?
static bool llm__cursor_holds(llm__cursor *c, uint64_t n, uint64_t each) {
    uint64_t bytes;
    if (c->failed) return false;
    if (!llm__mul(n, each, &bytes)) bytes = UINT64_MAX;
    return bytes <= llm__cursor_left(c) || llm__cursor_fail(c, bytes);
}

// LLM_AGAIN: come back with more bytes.
static llm_result llm__gguf_short(const llm__cursor *c, llm_error *e, const char *what, const llm__str *name) {
    if (c->starved) return LLM_AGAIN;
    return llm__fail(e, LLM_BAD_FILE, "%s '%v' needs %U bytes where the file has %U left: it was cut short, or is damaged",
                     what, name, c->wanted, c->left);
}

// ---- order by name or place: heap sort, because a file chooses the input and must not choose the time

typedef bool (*llm__gguf_less)(const void *table, uint32_t a, uint32_t b);

static int llm__gguf_compare(llm__str a, llm__str b) {
    size_t n = LLM__MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : a.n < b.n ? -1 : a.n > b.n;
}
static bool llm__gguf_less_key(const void *table, uint32_t a, uint32_t b) {
    const llm__gguf_kv *kv = (const llm__gguf_kv *)table;
    return llm__gguf_compare(kv[a].key, kv[b].key) < 0;
}
static bool llm__gguf_less_name(const void *table, uint32_t a, uint32_t b) {
    const llm__gguf_tensor *t = (const llm__gguf_tensor *)table;
    return llm__gguf_compare(t[a].name, t[b].name) < 0;
}
static bool llm__gguf_less_place(const void *table, uint32_t a, uint32_t b) {
    const llm__gguf_tensor *t = (const llm__gguf_tensor *)table;
    return t[a].offset < t[b].offset;
}
static void llm__gguf_sift(uint32_t *order, uint32_t root, uint32_t n, llm__gguf_less less, const void *table) {
    uint32_t moved = order[root], child;
    while ((child = root * 2 + 1) < n) {
        if (child + 1 < n && less(table, order[child], order[child + 1])) child++;
        if (!less(table, moved, order[child])) break;
        order[root] = order[child];
        root = child;
    }
    order[root] = moved;
}
static void llm__gguf_sort(uint32_t *order, uint32_t n, llm__gguf_less less, const void *table) {
    uint32_t i, last;
    for (i = 0; i < n; i++) order[i] = i;
    for (i = n / 2; i > 0; i--) llm__gguf_sift(order, i - 1, n, less, table);
    for (i = n; i > 1; i--) {
        last = order[i - 1];
        order[i - 1] = order[0];
        order[0] = last;
        llm__gguf_sift(order, 0, i - 1, less, table);
    }
}

// ---- the directory

static llm_result llm__gguf_name_check(llm__str s, const char *what, uint64_t index, llm_error *e) {
    size_t i;
    for (i = 0; i < s.n && s.p[i]; i++) { }
    if (s.n && i == s.n && s.n <= LLM__GGUF_MAX_NAME) return LLM_OK;
    if (!s.n) return llm__fail(e, LLM_BAD_FILE, "%s %U has an empty name", what, index);
    if (s.n > LLM__GGUF_MAX_NAME)
        return llm__fail(e, LLM_BAD_FILE, "%s %U has a name of %U bytes; the format allows 65535", what, index, (uint64_t)s.n);
    return llm__fail(e, LLM_BAD_FILE, "%s %U: there is a NUL byte in its name '%v'", what, index, &s);
}

// The bytes of one value or of all elements of an array are taken, strings one by one.
static void llm__gguf_walk_values(llm__cursor *c, llm__gguf_kv *kv) {
    uint64_t i, each = llm__gguf_types[kv->elem_type].bytes;
    kv->value = c->at;
    if (kv->elem_type != LLM__GGUF_STRING) {
        if (llm__cursor_holds(c, kv->n, each)) llm__cursor_take(c, kv->n * each);
    } else if (llm__cursor_holds(c, kv->n, 8)) {
        for (i = 0; i < kv->n && !c->failed; i++) llm__cursor_take(c, llm__cursor_u64(c));
    }
    kv->n_bytes = (uint64_t)(c->at - kv->value);
}
static llm_result llm__gguf_walk_kv(llm__cursor *c, llm__gguf_kv *kv, uint64_t index, llm_error *e) {
    llm__str place = llm__str_of("keys");
    llm_result r;
    kv->key = llm__cursor_str(c);
    kv->elem_type = kv->type = llm__cursor_u32(c);
    if (c->failed) return llm__gguf_short(c, e, "the list of", &place);
    r = llm__gguf_name_check(kv->key, "key", index, e);
    if (r != LLM_OK) return r;
    kv->n = 1;
    if (kv->type == LLM__GGUF_ARRAY) {
        kv->elem_type = llm__cursor_u32(c);
        kv->n = llm__cursor_u64(c);
        if (!c->failed && kv->elem_type == LLM__GGUF_ARRAY)
            return llm__fail(e, LLM_UNSUPPORTED, "key '%v': an array of arrays is not supported", &kv->key);
    }
    if (kv->elem_type >= LLM__GGUF_TYPES)
        return llm__fail(e, LLM_BAD_FILE, "key '%v': value type %u does not exist", &kv->key, kv->elem_type);
    if (!c->failed) llm__gguf_walk_values(c, kv);
    return c->failed ? llm__gguf_short(c, e, "key", &kv->key) : LLM_OK;
}
static llm_result llm__gguf_walk_tensor(llm__cursor *c, llm__gguf_tensor *t, uint64_t index, llm_error *e) {
    llm__str place = llm__str_of("tensors");
    uint32_t i;
    llm_result r;
    memset(t, 0, sizeof *t);
    t->name = llm__cursor_str(c);
    t->n_dims = llm__cursor_u32(c);
    if (c->failed) return llm__gguf_short(c, e, "the list of", &place);
    r = llm__gguf_name_check(t->name, "tensor", index, e);
    if (r != LLM_OK) return r;
    if (t->n_dims > 4) return llm__fail(e, LLM_BAD_FILE, "tensor '%v' has %u dimensions; at most 4 are possible", &t->name, t->n_dims);
    for (i = 0; i < 4; i++) t->dims[i] = i < t->n_dims ? llm__cursor_u64(c) : 1;
    t->gguf_type = llm__cursor_u32(c);
    t->offset = llm__cursor_u64(c);
    return c->failed ? llm__gguf_short(c, e, "the entry of tensor", &t->name) : LLM_OK;
}

// What people load instead of a model.
static llm_result llm__gguf_not_gguf(const uint8_t *p, size_t n, llm_error *e) {
    llm__str s = llm__str_n((const char *)p, n);
    size_t text = 0;
    if (llm__str_starts(s, "version https://git-lfs"))
        return llm__fail(e, LLM_BAD_FILE, "this is a Git LFS pointer, not the model: fetch the file itself (git lfs pull)");
    if (n && (p[0] == '<' || llm__str_starts(s, "\n<")))
        return llm__fail(e, LLM_BAD_FILE, "this is a web page, not a model: the download was answered with HTML");
    if (llm__str_starts(s, "lmgg") || llm__str_starts(s, "tjgg") || llm__str_starts(s, "fmgg") || llm__str_starts(s, "algg"))
        return llm__fail(e, LLM_UNSUPPORTED, "this is a GGML file from before GGUF: convert it to GGUF");
    if (llm__str_starts(s, "PK")) return llm__fail(e, LLM_BAD_FILE, "this is a zip or PyTorch archive, not a GGUF file");
    if (n > 9 && p[6] == 0 && p[7] == 0 && p[8] == '{' && p[9] == '"')              // 64 bits of length, then JSON
        return llm__fail(e, LLM_BAD_FILE, "this is a safetensors file, not a GGUF file: convert it to GGUF");
    if (n < 4) return llm__fail(e, LLM_BAD_FILE, "this file of %U bytes is too short to be GGUF", (uint64_t)n);
    while (text < LLM__MIN(n, 60) && p[text] >= ' ' && p[text] < 127) text++;
    s.n = text;
    if (text >= 16) return llm__fail(e, LLM_BAD_FILE, "this is not a GGUF file but a text: '%v'", &s);        // often says what went wrong
    return llm__fail(e, LLM_BAD_FILE, "this is not a GGUF file: it begins with the bytes %x %x %x %x",
                     (uint32_t)p[0], (uint32_t)p[1], (uint32_t)p[2], (uint32_t)p[3]);
}
static llm_result llm__gguf_header(llm__cursor *c, llm__gguf *g, uint64_t *n_tensors, uint64_t *n_kv, llm_error *e) {
    llm__str place = llm__str_of("GGUF header");
    if (c->end - c->at < 4 || memcmp(c->at, "GGUF", 4)) return llm__gguf_not_gguf(c->at, (size_t)(c->end - c->at), e);
    llm__cursor_take(c, 4);
    g->version = llm__cursor_u32(c);
    if (c->failed) return llm__gguf_short(c, e, "the", &place);
    if (g->version > 0xffff && !(g->version & 0xffff))
        return llm__fail(e, LLM_UNSUPPORTED, "this is a big-endian GGUF file (version word %x): take the little-endian one", g->version);
    if (g->version != 2 && g->version != 3)
        return llm__fail(e, LLM_UNSUPPORTED, "GGUF version %u is not supported; 2 and 3 are", g->version);
    *n_tensors = llm__cursor_u64(c);
    *n_kv = llm__cursor_u64(c);
    if (c->failed) return llm__gguf_short(c, e, "the", &place);
    if (*n_kv > llm__cursor_left(c) / LLM__GGUF_MIN_KV)
        return llm__fail(e, LLM_BAD_FILE, "the header promises %U keys in the %U bytes that follow: damaged", *n_kv,
                         llm__cursor_left(c));
    if (*n_tensors > llm__cursor_left(c) / LLM__GGUF_MIN_TENSOR)
        return llm__fail(e, LLM_BAD_FILE, "the header promises %U tensors in the %U bytes that follow: damaged", *n_tensors,
                         llm__cursor_left(c));
    if (*n_kv > LLM__GGUF_MAX_KV || *n_tensors > LLM__GGUF_MAX_TENSORS)
        return llm__fail(e, LLM_UNSUPPORTED, "the header promises %U keys and %U tensors; at most %u and %u are supported", *n_kv,
                         *n_tensors, LLM__GGUF_MAX_KV, LLM__GGUF_MAX_TENSORS);
    return LLM_OK;
}
// Run twice: first without arrays, to learn that there are as many entries as promised; then with arrays of just that many.
static llm_result llm__gguf_walk(llm__cursor *c, llm__gguf *g, uint64_t n_tensors, uint64_t n_kv, llm_error *e) {
    llm__gguf_kv kv;
    llm__gguf_tensor t;
    uint64_t i;
    llm_result r;
    for (i = 0; i < n_kv; i++) {
        r = llm__gguf_walk_kv(c, g->kv ? &g->kv[i] : &kv, i, e);
        if (r != LLM_OK) return r;
    }
    for (i = 0; i < n_tensors; i++) {
        r = llm__gguf_walk_tensor(c, g->tensors ? &g->tensors[i] : &t, i, e);
        if (r != LLM_OK) return r;
    }
    return LLM_OK;
}
static llm_result llm__gguf_no_memory(llm_error *e, uint64_t bytes, const char *what) {
    return llm__fail(e, LLM_NO_MEMORY, "no memory for the %U bytes of %s", bytes, what);
}
// Tells files apart, not forgers: two multiplications for every 16 bytes, 5 GB/s, so that a vocabulary of megabytes costs a millisecond.
static uint64_t llm__gguf_fingerprint(const uint8_t *p, size_t n, uint64_t h) {
    uint64_t a = h ^ 0x9e3779b97f4a7c15u, b = n;
    for (; n >= 16; p += 16, n -= 16) {
        a = (a ^ llm__le64(p)) * 0xff51afd7ed558ccdu;
        b = (b ^ llm__le64(p + 8)) * 0xc4ceb9fe1a85ec53u;
        a ^= a >> 32;
        b ^= b >> 32;
    }
    for (; n; p++, n--) a = (a ^ *p) * 0xff51afd7ed558ccdu;
    a = (a ^ a >> 33 ^ b) * 0xc4ceb9fe1a85ec53u;
    return a ^ a >> 33;
}
// The first `here` of `size` bytes. LLM_AGAIN: *need bytes are needed at least.
static llm_result llm__gguf_parse(llm__gguf *g, llm__gguf_shard *s, const uint8_t *bytes, uint64_t here, uint64_t *need, llm_error *e) {
    llm__cursor c = LLM__ZERO;
    uint64_t n_tensors = 0, n_kv = 0;
    const uint64_t seen = LLM__MIN(here, SIZE_MAX / 2);                  // what a difference of pointers can tell, in 32 bits
    const uint8_t *lists;
    llm_result r;
    c.at = bytes;
    c.end = bytes + (size_t)seen;
    c.beyond = s->size - seen;
    r = llm__gguf_header(&c, g, &n_tensors, &n_kv, e);
    lists = c.at;
    if (r == LLM_OK) r = llm__gguf_walk(&c, g, n_tensors, n_kv, e);
    if (r == LLM_AGAIN && seen < here) return llm__fail(e, LLM_UNSUPPORTED, "the directory is longer than half an address space");
    if (r == LLM_AGAIN) llm__add((uint64_t)(c.at - bytes), c.wanted, need);
    if (r != LLM_OK) return r;
    g->n_kv = (uint32_t)n_kv;
    g->n_tensors = (uint32_t)n_tensors;
    g->kv = LLM__NEW(g->heap, llm__gguf_kv, n_kv);
    g->tensors = LLM__NEW(g->heap, llm__gguf_tensor, n_tensors);
    g->by_key = LLM__NEW(g->heap, uint32_t, n_kv);
    g->by_name = LLM__NEW(g->heap, uint32_t, n_tensors);
    if (!g->kv || !g->tensors || !g->by_key || !g->by_name) 
        return llm__gguf_no_memory(e, n_kv * (sizeof *g->kv + 4) + n_tensors * (sizeof *g->tensors + 4), "the directory");
    c.at = lists;
    r = llm__gguf_walk(&c, g, n_tensors, n_kv, e);
    s->n_tensors = n_tensors;
    s->data_at = s->directory_bytes = (uint64_t)(c.at - bytes);         // data_at: to be aligned once the alignment is known
    g->fingerprint = llm__gguf_fingerprint(bytes, (size_t)s->data_at, s->size);
    return r;
}

// ---- values by key

static const llm__gguf_kv *llm__gguf_find(const llm__gguf *g, llm__str key) {
    uint32_t low = 0, high = g->n_kv;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = llm__gguf_compare(key, g->kv[g->by_key[middle]].key);
        if (!c) return &g->kv[g->by_key[middle]];
        if (c < 0) high = middle; else low = middle + 1;
    }
    return NULL;
}
static const llm__gguf_tensor *llm__gguf_tensor_find(const llm__gguf *g, llm__str name) {
    uint32_t low = 0, high = g->n_tensors;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = llm__gguf_compare(name, g->tensors[g->by_name[middle]].name);
        if (!c) return &g->tensors[g->by_name[middle]];
        if (c < 0) high = middle; else low = middle + 1;
    }
    return NULL;
}

static llm_result llm__gguf_mismatch(const llm__gguf_kv *kv, const char *expected, llm_error *e) {
    const char *of = kv->type == LLM__GGUF_ARRAY ? "ARRAY of " : "";
    return llm__fail(e, LLM_BAD_FILE, "key '%v': expected %s, found %s%s", &kv->key, expected, of, llm__gguf_types[kv->elem_type].name);
}
// Element i as an integer, sign-extended where the type has one. false: not an integer type. BOOL counts only where asked for.
static bool llm__gguf_integer(const llm__gguf_kv *kv, uint64_t i, bool or_bool, int64_t *v, bool *huge) {
    const uint8_t *p = kv->value + (size_t)(i * llm__gguf_types[kv->elem_type].bytes);
    *huge = false;
    switch (kv->elem_type) {
    case LLM__GGUF_U8:   *v = p[0]; return true;
    case LLM__GGUF_I8:   *v = (int64_t)p[0] - (p[0] >> 7 << 8); return true;
    case LLM__GGUF_U16:  *v = llm__le16(p); return true;
    case LLM__GGUF_I16:  *v = (int64_t)llm__le16(p) - (llm__le16(p) >> 15 << 16); return true;
    case LLM__GGUF_U32:  *v = llm__le32(p); return true;
    case LLM__GGUF_I32:  *v = (int64_t)llm__le32(p) - ((int64_t)(llm__le32(p) >> 31) << 32); return true;
    case LLM__GGUF_BOOL: *v = p[0] != 0; return or_bool;
    case LLM__GGUF_U64:  *huge = llm__le64(p) > INT64_MAX; *v = *huge ? INT64_MAX : (int64_t)llm__le64(p); return true;
    case LLM__GGUF_I64:  {
        uint64_t u = llm__le64(p);
        *v = u > INT64_MAX ? -(int64_t)(UINT64_MAX - u) - 1 : (int64_t)u;
        return true; }
    default: return false;
    }
}
static llm_result llm__gguf_u32_value(const llm__gguf_kv *kv, uint64_t i, bool or_bool, uint32_t *out, llm_error *e) {
    int64_t v = 0;
    bool huge;
    if (!llm__gguf_integer(kv, i, or_bool, &v, &huge)) return llm__gguf_mismatch(kv, "an integer", e);
    if (v < 0) return llm__fail(e, LLM_BAD_FILE, "key '%v': its value is negative", &kv->key);
    if (huge || v > UINT32_MAX)
        return llm__fail(e, LLM_BAD_FILE, "key '%v': its value %U is out of range", &kv->key,
                         huge ? llm__le64(kv->value + (size_t)i * 8) : (uint64_t)v);
    *out = (uint32_t)v;
    return LLM_OK;
}

// The typed getters: an absent key leaves *out as it is; one of another type is an error that names both.
static llm_result llm__gguf_u32(const llm__gguf *g, const char *key, uint32_t *out, llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    if (!kv) return LLM_OK;
    if (kv->type == LLM__GGUF_ARRAY) return llm__gguf_mismatch(kv, "an integer", e);
    return llm__gguf_u32_value(kv, 0, false, out, e);
}
static llm_result llm__gguf_f32(const llm__gguf *g, const char *key, float *out, llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    if (!kv) return LLM_OK;
    if (kv->type == LLM__GGUF_F32) *out = llm__bits_f32(llm__le32(kv->value));
    else if (kv->type == LLM__GGUF_F64) *out = (float)llm__bits_f64(llm__le64(kv->value));
    else return llm__gguf_mismatch(kv, "FLOAT32", e);
    return LLM_OK;
}
static llm_result llm__gguf_bool(const llm__gguf *g, const char *key, bool *out, llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    if (!kv) return LLM_OK;
    if (kv->type != LLM__GGUF_BOOL) return llm__gguf_mismatch(kv, "BOOL", e);
    *out = kv->value[0] != 0;
    return LLM_OK;
}
// The next string of a checked array, or the one of a scalar.
static llm__str llm__gguf_str_next(const uint8_t **at) {
    uint64_t n = llm__le64(*at);
    llm__str s = llm__str_n((const char *)*at + 8, (size_t)n);
    *at += 8 + (size_t)n;
    return s;
}
static llm_result llm__gguf_str(const llm__gguf *g, const char *key, llm__str *out, llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    const uint8_t *at;
    if (!kv) return LLM_OK;
    if (kv->type != LLM__GGUF_STRING) return llm__gguf_mismatch(kv, "STRING", e);
    at = kv->value;
    *out = llm__gguf_str_next(&at);
    return LLM_OK;
}
// Absent: *n = 0 and *first = NULL.
static llm_result llm__gguf_array(const llm__gguf *g, const char *key, uint32_t elem_type, uint64_t *n, const uint8_t **first,
                                  llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    char expected[32];
    *n = 0;
    *first = NULL;
    if (!kv) return LLM_OK;
    if (kv->type != LLM__GGUF_ARRAY || kv->elem_type != elem_type) {
        llm__format(expected, sizeof expected, "ARRAY of %s", llm__gguf_types[elem_type].name);
        return llm__gguf_mismatch(kv, expected, e);
    }
    *n = kv->n;
    *first = kv->value;
    return LLM_OK;
}
// A value for all layers, or element i of an array that has one for each.
static llm_result llm__gguf_u32_at(const llm__gguf *g, const char *key, uint32_t i, uint32_t n_expected, uint32_t *out, llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    if (!kv) return LLM_OK;
    if (kv->type != LLM__GGUF_ARRAY) return llm__gguf_u32_value(kv, 0, true, out, e);
    if (kv->n != n_expected || i >= n_expected)
        return llm__fail(e, LLM_BAD_FILE, "key '%v': expected an array of %u, found %U elements", &kv->key, n_expected, kv->n);
    return llm__gguf_u32_value(kv, i, true, out, e);
}

// ---- checks on the directory

static llm_result llm__gguf_check_keys(llm__gguf *g, llm_error *e) {
    uint32_t i;
    llm__gguf_sort(g->by_key, g->n_kv, llm__gguf_less_key, g->kv);
    for (i = 1; i < g->n_kv; i++)
        if (llm__str_eq(g->kv[g->by_key[i - 1]].key, g->kv[g->by_key[i]].key))
            return llm__fail(e, LLM_BAD_FILE, "key '%v' occurs twice", &g->kv[g->by_key[i]].key);
    return LLM_OK;
}
static llm_result llm__gguf_check_names(llm__gguf *g, llm_error *e) {
    uint32_t i;
    llm__gguf_sort(g->by_name, g->n_tensors, llm__gguf_less_name, g->tensors);
    for (i = 1; i < g->n_tensors; i++)
        if (llm__str_eq(g->tensors[g->by_name[i - 1]].name, g->tensors[g->by_name[i]].name))
            return llm__fail(e, LLM_BAD_FILE, "tensor '%v' occurs twice", &g->tensors[g->by_name[i]].name);
    return LLM_OK;
}
static llm_result llm__gguf_check_alignment(llm__gguf *g, llm__gguf_shard *s, llm_error *e) {
    uint32_t alignment = 32;
    llm_result r = llm__gguf_u32(g, "general.alignment", &alignment, e);
    if (r != LLM_OK) return r;
    if (!alignment || (alignment & (alignment - 1)))
        return llm__fail(e, LLM_BAD_FILE, "key 'general.alignment': %u is not a power of two", alignment);
    g->alignment = alignment;
    s->data_at = (s->data_at + alignment - 1) & ~(uint64_t)(alignment - 1);
    return LLM_OK;
}
static llm_result llm__gguf_uncounted(const llm__gguf_tensor *t, llm_error *e) {
    return llm__fail(e, LLM_BAD_FILE, "tensor '%v': its size is more than can be counted", &t->name);
}
// A row that has no number of bytes.
static llm_result llm__gguf_ragged(const llm__gguf_tensor *t, const char *type, uint32_t block, llm_error *e) {
    if (t->dims[0] % block == 0) return llm__gguf_uncounted(t, e);
    return llm__fail(e, LLM_BAD_FILE, "tensor '%v': %U weights in a row are not whole blocks of %s", &t->name, t->dims[0], type);
}
// Bytes of one row of a type without a card.
static llm_result llm__gguf_other_row(const llm__gguf_tensor *t, bool any_type, uint64_t *row, llm_error *e) {
    const llm__gguf_other *o = llm__gguf_others, *end = o + LLM__COUNT(llm__gguf_others);
    while (o < end && o->id != t->gguf_type) o++;
    if (o == end) return llm__fail(e, LLM_BAD_FILE, "tensor '%v': stored type %u does not exist", &t->name, t->gguf_type);
    if (!any_type || !o->bytes)
        return llm__fail(e, LLM_UNSUPPORTED, "tensor '%v': stored type %u (%s) is not supported", &t->name, t->gguf_type, o->name);
    if (t->dims[0] % o->weights || !llm__mul(t->dims[0] / o->weights, o->bytes, row)) return llm__gguf_ragged(t, o->name, o->weights, e);
    return LLM_OK;
}
static llm_result llm__gguf_check_tensor(llm__gguf_tensor *t, const llm__gguf *g, bool any_type, llm_error *e) {
    uint64_t row = 0;
    llm_result r;
    int i;
    bool fits = true;
    t->n_weights = 1;
    for (i = 0; i < 4; i++) {
        if (!t->dims[i]) return llm__fail(e, LLM_BAD_FILE, "tensor '%v': dimension %d is 0", &t->name, i);
        fits = fits && llm__mul(t->n_weights, t->dims[i], &t->n_weights);
    }
    if (!fits) return llm__fail(e, LLM_BAD_FILE, "tensor '%v': its dimensions multiply to more than can be counted", &t->name);
    t->type = llm__type_of_gguf(t->gguf_type);
    if (t->type < 0) {
        r = llm__gguf_other_row(t, any_type, &row, e);
        if (r != LLM_OK) return r;
    } else if (!llm__row_bytes(t->type, t->dims[0], &row)) {
        return llm__gguf_ragged(t, llm__types[t->type].name, llm__types[t->type].block_weights, e);
    }
    if (!llm__mul(row, t->n_weights / t->dims[0], &t->n_bytes)) return llm__gguf_uncounted(t, e);
    if (t->offset % g->alignment)
        return llm__fail(e, LLM_BAD_FILE, "tensor '%v': its offset %U is not a multiple of the alignment %U", &t->name, t->offset,
                         g->alignment);
    return LLM_OK;
}
// In the order of the file, every tensor must end before the next begins, and within the file.
static llm_result llm__gguf_check_places(llm__gguf *g, llm__gguf_shard *s, llm_error *e) {
    uint32_t i, *order = g->by_name;                                    // borrowed until the names are sorted
    uint64_t have = s->size > s->data_at ? s->size - s->data_at : 0, end = 0;
    const llm__gguf_tensor *first = NULL;
    llm__gguf_sort(order, g->n_tensors, llm__gguf_less_place, g->tensors);
    for (i = 0; i < g->n_tensors; i++) {
        const llm__gguf_tensor *t = &g->tensors[order[i]];
        if (i && t->offset < end)
            return llm__fail(e, LLM_BAD_FILE, "tensors '%v' and '%v' overlap", &g->tensors[order[i - 1]].name, &t->name);
        if (!llm__add(t->offset, t->n_bytes, &end))
            return llm__fail(e, LLM_BAD_FILE, "tensor '%v': its offset %U lies far beyond the file", &t->name, t->offset);
        if (!first && end > have) first = t;
    }
    s->data_begin = g->n_tensors ? g->tensors[order[0]].offset : 0;
    s->data_end = end;
    if (first)
        return llm__fail(e, LLM_BAD_FILE, "%U bytes are missing, from tensor '%v' on: the file has %U of data where %U are needed; it was "
                         "cut short, or is damaged", end - have, &first->name, have, end);
    return LLM_OK;
}
static llm_result llm__gguf_check(llm__gguf *g, llm__gguf_shard *s, bool any_type, llm_error *e) {
    llm_result r = llm__gguf_check_keys(g, e);
    uint32_t i;
    if (r == LLM_OK) r = llm__gguf_check_alignment(g, s, e);
    for (i = 0; i < g->n_tensors && r == LLM_OK; i++) r = llm__gguf_check_tensor(&g->tensors[i], g, any_type, e);
    if (r == LLM_OK) r = llm__gguf_check_places(g, s, e);
    return r;
}

// ---- bytes: from a file or a reader, in pieces small enough to show progress and to be cancelled

typedef struct llm__gguf_work { const llm__gguf_options *o; uint64_t done, total; } llm__gguf_work;

static bool llm__gguf_tick(llm__gguf_work *w, uint64_t done) {
    w->done += done;
    return llm__go_on(w->o->progress, 0, w->total ? 0.9f * (float)((double)w->done / (double)w->total) : 0.0f);
}
static llm_result llm__gguf_cancelled(llm_error *e) {
    return llm__fail(e, LLM_CANCELLED, "the load was cancelled by the progress callback");
}

static llm_result llm__gguf_reader_read(const llm_reader *r, uint64_t offset, uint8_t *dst, size_t n, llm_error *e) {
    while (n) {
        const llm__fpenv own = llm__fp_get();
        const size_t got = r->read_at(r->user, offset, dst, n);
        llm__fp_leave(own);
        if (!got || got > n) return llm__fail(e, LLM_IO, "the reader failed at byte %U of %U", offset, r->size);
        dst += got; offset += got; n -= got;
    }
    return LLM_OK;
}
// counted: these bytes are part of w->total.
static llm_result llm__gguf_fetch(const llm__gguf_shard *s, uint64_t offset, uint8_t *dst, uint64_t n, llm__gguf_work *w, bool counted,
                                  llm_error *e) {
    uint64_t piece = counted ? w->total / 16 + 1 : 1u << 20;
    if (piece > 8u << 20) piece = 8u << 20;
    while (n) {
        size_t part = (size_t)LLM__MIN(n, piece);
        llm_result r = s->has_file ? llm__os_file_read(&s->file, offset, dst, part, e)
                                   : llm__gguf_reader_read(&s->reader, offset, dst, part, e);
        if (r != LLM_OK) return r;
        if (!llm__gguf_tick(w, counted ? part : 0)) return llm__gguf_cancelled(e);
        dst += part; offset += part; n -= part;
    }
    return LLM_OK;
}

// The directory of a shard that does not lie in memory as a whole: its beginning is read, and more if that was not enough.
static llm_result llm__gguf_read_directory(llm__gguf *g, llm__gguf_shard *s, llm__gguf_work *w, llm_error *e) {
    llm__heap heap = *g->heap;
    uint64_t here = 0, need = LLM__MIN(s->size, 65536u);
    if (!s->copied && w->o->directory_only) heap.plan = NULL;                     // what will be mapped takes none
    for (;;) {
        uint8_t *more = (uint8_t *)llm__lengthen(&heap, s->head, here, need);
        llm_result r;
        if (!more) return llm__gguf_no_memory(e, need, "the directory");
        s->head = more;
        s->head_bytes = need;
        r = llm__gguf_fetch(s, here, more + here, need - here, w, false, e);
        if (r != LLM_OK) return r;
        here = need;
        r = llm__gguf_parse(g, s, s->head, here, &need, e);
        if (r != LLM_AGAIN) return r;
        // Doubling keeps the repeated walks linear; a length that a damaged file claims is bounded by the file.
        need = LLM__MAX(need, LLM__MIN(here, s->size / 2) * 2);
        need = LLM__MIN(need, s->size);
    }
}
static llm_result llm__gguf_directory(llm__gguf *g, llm__gguf_shard *s, llm__gguf_work *w, llm_error *e) {
    uint64_t need;
    llm_result r = s->base ? llm__gguf_parse(g, s, s->base, s->size, &need, e) : llm__gguf_read_directory(g, s, w, e);
    return r == LLM_OK ? llm__gguf_check(g, s, w->o->any_type, e) : r;
}

// ---- shards

// "-00001-of-00003.gguf", what the name of a shard ends in.
#define LLM__SHARD_TAIL 20
static void llm__gguf_shard_tail(char tail[LLM__SHARD_TAIL + 1], uint32_t number, uint32_t count) {
    int k;
    memcpy(tail, "-00000-of-00000.gguf", LLM__SHARD_TAIL + 1);
    for (k = 5; k >= 1; k--, number /= 10) tail[k] = (char)('0' + number % 10);
    for (k = 14; k >= 10; k--, count /= 10) tail[k] = (char)('0' + count % 10);
}
static bool llm__gguf_all_of(llm__str s, char first, char last) {
    size_t i;
    for (i = 0; i < s.n; i++)
        if (s.p[i] < first || s.p[i] > last) return false;
    return s.n != 0;
}
// "model.gguf.part1of2", "model.gguf-split-a" (or -aa): pieces that were cut at some byte, not shards.
static bool llm__gguf_is_piece(llm__str path) {
    size_t i, of;
    for (i = path.n; i-- > 0 && path.p[i] != '/' && path.p[i] != '\\';) {
        llm__str rest = llm__str_n(path.p + i, path.n - i);
        if (llm__str_starts(rest, "-split-") && rest.n <= 9 && llm__gguf_all_of(llm__str_n(rest.p + 7, rest.n - 7), 'a', 'z')) return true;
        if (!llm__str_starts(rest, ".part") && !llm__str_starts(rest, "-part")) continue;
        rest = llm__str_n(rest.p + 5, rest.n - 5);
        of = llm__str_find(rest, "of");
        if (of == LLM_FAILED) continue;
        if (llm__gguf_all_of(llm__str_n(rest.p, of), '0', '9') && llm__gguf_all_of(llm__str_n(rest.p + of + 2, rest.n - of - 2), '0', '9'))
            return true;
    }
    return false;
}

// Maps the file; for a plan, as little of it as shows that it can be mapped.
static llm_result llm__gguf_shard_map(llm__gguf *g, llm__gguf_shard *s, const llm__gguf_options *o, llm_error *e) {
    const uint64_t began = llm__now_us(o->clock);
    const llm_result r = llm__os_map_file(&s->map, &s->file, 0, o->directory_only ? 1 : s->size, e);
    g->map_ms += (double)(llm__now_us(o->clock) - began) * 0.001;
    if (r == LLM_UNSUPPORTED && o->mapping == LLM_MAP_AUTO) {
        g->mapping = LLM_READ;
        g->mapping_reason = "the system cannot map it";
        s->copied = true;
        return LLM_OK;
    }
    if (o->directory_only) {
        llm__os_unmap(&s->map);
        return r == LLM_NO_MEMORY ? LLM_OK : r;
    }
    s->base = s->map.data;
    s->singly = r == LLM_NO_MEMORY;
    if (s->singly) g->mapping_reason = "tensor by tensor: the whole file has no room in the address space";
    return s->singly ? LLM_OK : r;
}
static llm_result llm__gguf_shard_open_file(llm__gguf *g, llm__gguf_shard *s, const char *path, const llm__gguf_options *o,
                                            llm_error *e) {
    const char *file_system;
    bool remote;
    llm_result r = llm__os_file_open(&s->file, path, e);
    if (r != LLM_OK) return r;
    s->has_file = true;
    s->size = s->file.size;
    if (!s->size) return llm__fail(e, LLM_BAD_FILE, "the file is empty");
    file_system = llm__os_file_system(&s->file);
    remote = file_system[0] != 0;
    if (remote) g->file_system = file_system;                                     // of any shard
    if (o->mapping != LLM_MAP_AUTO) g->mapping_reason = "asked for";
    else if (remote) g->mapping_reason = "each page of this file system costs a message";
    if (o->mapping == LLM_READ || (o->mapping == LLM_MAP_AUTO && remote)) {
        if (remote && o->log) llm__log(o->log, LLM__LOG_INFO, "the file lies on a FUSE or network file system: it is read, not mapped");
        g->mapping = LLM_READ;
        s->copied = true;
        return LLM_OK;
    }
    if (remote && o->log) llm__log(o->log, LLM__LOG_WARNING, "mapped from a FUSE or network file system, as asked for: this can be slow");
    return llm__gguf_shard_map(g, s, o, e);
}
static llm_result llm__gguf_shard_open_reader(llm__gguf_shard *s, const llm_reader *r, llm_error *e) {
    if (!r->read_at) return llm__fail(e, LLM_BAD_ARG, "the reader has no read_at");
    s->reader = *r;
    s->copied = true;
    s->size = r->size;
    if (!s->size) return llm__fail(e, LLM_BAD_FILE, "the reader's file is empty");
    return LLM_OK;
}

static void llm__gguf_close(llm__gguf *g) {
    uint32_t i;
    uint64_t k;
    for (i = 0; i < g->n_shards; i++) {
        llm__gguf_shard *s = &g->shards[i];
        for (k = 0; k < s->n_maps; k++) llm__os_unmap(&s->maps[k]);
        llm__os_unmap(&s->map);
        llm__free(g->heap, s->maps);
        llm__free(g->heap, s->head);
        llm__free(g->heap, s->data);
        if (s->has_file) llm__os_file_close(&s->file);
    }
    if (g->heap) {
        llm__free(g->heap, g->shards);
        llm__free(g->heap, g->kv);
        llm__free(g->heap, g->tensors);
        llm__free(g->heap, g->by_key);
        llm__free(g->heap, g->by_name);
    }
    memset(g, 0, sizeof *g);
}

// What a shard says about itself.
static llm_result llm__gguf_split_keys(const llm__gguf *g, uint32_t *number, uint32_t *count, llm_error *e) {
    llm_result r = llm__gguf_u32(g, "split.count", count, e);
    return r == LLM_OK ? llm__gguf_u32(g, "split.no", number, e) : r;
}
// Appends the tensors of shard i.
static llm_result llm__gguf_append(llm__gguf *g, const llm__gguf *part, uint32_t i, llm_error *e) {
    uint32_t n = g->n_tensors + part->n_tensors, k;
    llm__gguf_tensor *all = LLM__NEW(g->heap, llm__gguf_tensor, n);
    uint32_t *names = LLM__NEW(g->heap, uint32_t, n);
    if (!all || !names) {
        llm__free(g->heap, all);
        llm__free(g->heap, names);
        return llm__gguf_no_memory(e, (uint64_t)n * sizeof *all, "the directory");
    }
    memcpy(all, g->tensors, g->n_tensors * sizeof *all);
    memcpy(all + g->n_tensors, part->tensors, part->n_tensors * sizeof *all);
    for (k = g->n_tensors; k < n; k++) all[k].shard = i;
    llm__free(g->heap, g->tensors);
    llm__free(g->heap, g->by_name);
    g->shards[i].first_tensor = g->n_tensors;
    g->tensors = all;
    g->by_name = names;
    g->n_tensors = n;
    return LLM_OK;
}
static llm_result llm__gguf_add_shard(llm__gguf *g, uint32_t i, llm__gguf_work *w, llm_error *e) {
    llm__gguf part = LLM__ZERO;
    uint32_t number = UINT32_MAX, count = 0;
    llm_result r;
    part.heap = g->heap;
    part.mapping = g->mapping;
    r = llm__gguf_directory(&part, &g->shards[i], w, e);
    if (r == LLM_OK) r = llm__gguf_split_keys(&part, &number, &count, e);
    if (r == LLM_OK && (number != i || count != g->n_shards))
        r = llm__fail(e, LLM_BAD_FILE, "it says that it is number %u of %u: from another model, or renamed", number + 1, count);
    if (r == LLM_OK && part.n_tensors > LLM__GGUF_MAX_TENSORS - g->n_tensors)
        r = llm__fail(e, LLM_UNSUPPORTED, "more than %u tensors in all", LLM__GGUF_MAX_TENSORS);
    if (r == LLM_OK) r = llm__gguf_append(g, &part, i, e);
    g->fingerprint = (g->fingerprint ^ part.fingerprint) * 0x9e3779b97f4a7c15u;
    llm__gguf_close(&part);
    return r;
}
static llm_result llm__gguf_open_shard(llm__gguf *g, uint32_t i, char *path, llm__gguf_work *w, llm_error *e) {
    llm__gguf_shard *s = &g->shards[i];
    llm_result r;
    if (path) {
        char tail[LLM__SHARD_TAIL + 1];
        llm__gguf_shard_tail(tail, i + 1, g->n_shards);
        memcpy(path + strlen(path) - LLM__SHARD_TAIL, tail, LLM__SHARD_TAIL);
        r = llm__gguf_shard_open_file(g, s, path, w->o, e);
    } else {
        r = llm__gguf_shard_open_reader(s, &w->o->parts[i - 1], e);
    }
    return r == LLM_OK ? llm__gguf_add_shard(g, i, w, e) : r;
}
static llm_result llm__gguf_more_room(llm__gguf *g, uint32_t count, llm_error *e) {
    llm__gguf_shard *shards = (llm__gguf_shard *)llm__alloc_zero(g->heap, count, sizeof *shards);
    if (!shards) return llm__gguf_no_memory(e, (uint64_t)count * sizeof *shards, "the list of shards");
    shards[0] = g->shards[0];
    llm__free(g->heap, g->shards);
    g->shards = shards;
    g->n_shards = count;
    return LLM_OK;
}
// After the first directory: is it the first shard, and can the others be had?
static llm_result llm__gguf_check_split(const llm__gguf *g, const char *path, const llm__gguf_options *o, uint32_t *count, llm_error *e) {
    uint32_t number = 0;
    char tail[LLM__SHARD_TAIL + 1];
    llm__str name = llm__str_of(path);
    llm_result r = llm__gguf_split_keys(g, &number, count, e);
    if (r != LLM_OK) return r;
    if (!LLM__SHARDS && *count > 1)
        return llm__fail(e, LLM_UNSUPPORTED, "models in several files are left out of this build (LLM_NO_SPLIT)");
    if (*count > LLM__GGUF_MAX_SHARDS) return llm__fail(e, LLM_BAD_FILE, "key 'split.count': %u shards; at most 999 are possible", *count);
    llm__gguf_shard_tail(tail, 1, *count);
    if (*count > 1 && number)
        return llm__fail(e, LLM_UNSUPPORTED, "this is shard %u of %u of a split model: give the first one, '...%s'", number + 1, *count,
                         tail);
    if (*count > 1 && path && (name.n < LLM__SHARD_TAIL || memcmp(name.p + name.n - LLM__SHARD_TAIL, tail, LLM__SHARD_TAIL)))
        return llm__fail(e, LLM_UNSUPPORTED, "this is shard 1 of %u, but its name does not end in %s: rename the shards, so that they "
                         "can be found", *count, tail);
    if (path && o->n_parts)
        return llm__fail(e, LLM_BAD_ARG, "parts are for models from memory or a reader; a path finds its shards by name");
    if (!path && o->n_parts != (*count > 1 ? *count - 1 : 0))
        return llm__fail(e, LLM_BAD_ARG, "the model has %u shards: give the %u after the first as parts (%u were given)",
                         *count > 1 ? *count : 1u, *count > 1 ? *count - 1 : 0u, o->n_parts);
    return LLM_OK;
}
static llm_result llm__gguf_open_others(llm__gguf *g, const char *path, uint32_t count, llm__gguf_work *w, llm_error *e) {
    char *name = path ? llm__copy_text(g->heap, llm__str_of(path)) : NULL;
    llm_error inner = LLM__ZERO;
    uint32_t i, expected = 0;
    llm_result r = path && !name ? llm__gguf_no_memory(e, strlen(path), "a path") : llm__gguf_more_room(g, count, e);
    for (i = 1; i < count && r == LLM_OK; i++) {
        r = llm__gguf_open_shard(g, i, name, w, &inner);
        if (r != LLM_OK) llm__fail(e, r, "shard %u of %u: %s", i + 1, count, inner.text);
    }
    llm__free(g->heap, name);
    if (r == LLM_OK) r = llm__gguf_u32(g, "split.tensors.count", &expected, e);
    if (r == LLM_OK && expected && expected != g->n_tensors)
        r = llm__fail(e, LLM_BAD_FILE, "the shards hold %u tensors, the first promises %u", g->n_tensors, expected);
    return r;
}

// ---- weights: from here on every tensor has its data

static llm_result llm__gguf_map_singly(llm__gguf *g, llm__gguf_shard *s, llm_error *e) {
    uint64_t i, mapped = 0;
    s->maps = (llm__os_map *)llm__alloc_zero(g->heap, s->n_tensors, sizeof *s->maps);
    if (!s->maps) return llm__gguf_no_memory(e, s->n_tensors * sizeof *s->maps, "the list of mappings");
    for (i = 0; i < s->n_tensors; i++) {
        llm__gguf_tensor *t = &g->tensors[s->first_tensor + i];
        llm_error inner;
        if (llm__os_map_file(&s->maps[i], &s->file, s->data_at + t->offset, t->n_bytes, &inner) != LLM_OK)
            return llm__fail(e, LLM_UNSUPPORTED, "neither the file (%U bytes) nor all its tensors can be mapped (%U bytes are, then '%v' "
                             "failed): %s", s->size, mapped, &t->name, inner.text);
        s->n_maps = i + 1;
        t->data = s->maps[i].data;
        mapped += t->n_bytes;
    }
    return LLM_OK;
}
// One block for all tensors of a shard: what lies between them is little.
static llm_result llm__gguf_read_weights(llm__gguf *g, llm__gguf_shard *s, llm__gguf_work *w, llm_error *e) {
    uint64_t i, bytes = s->data_end - s->data_begin;
    llm_result r;
    s->data = (uint8_t *)llm__alloc_bytes(g->heap, bytes);
    if (!s->data) return llm__gguf_no_memory(e, bytes, "the weights");
    r = llm__gguf_fetch(s, s->data_at + s->data_begin, s->data, bytes, w, true, e);
    if (r != LLM_OK) return r;
    for (i = 0; i < s->n_tensors; i++) {
        llm__gguf_tensor *t = &g->tensors[s->first_tensor + i];
        t->data = s->data + (size_t)(t->offset - s->data_begin);
    }
    if (!s->has_file) return LLM_OK;
    if (llm__os_file_changed(&s->file)) return llm__fail(e, LLM_IO, "the file changed while it was read");
    llm__os_file_close(&s->file);
    s->has_file = false;
    return LLM_OK;
}
// The bytes of one tensor of a directory, wherever they are.
static llm_result llm__gguf_tensor_bytes(const llm__gguf *g, const llm__gguf_tensor *t, uint8_t *dst, llm_error *e) {
    const llm__gguf_shard *s = &g->shards[t->shard];
    llm__gguf_options o = LLM__ZERO;
    llm__gguf_work w = LLM__ZERO;
    w.o = &o;
    if (!s->base) return llm__gguf_fetch(s, s->data_at + t->offset, dst, t->n_bytes, &w, false, e);
    memcpy(dst, s->base + (size_t)(s->data_at + t->offset), (size_t)t->n_bytes);
    return LLM_OK;
}
// Of all tensors, what the allocator holds.
static uint64_t llm__gguf_bytes_read(const llm__gguf *g) {
    uint64_t bytes = 0;
    uint32_t i;
    for (i = 0; i < g->n_tensors; i++)
        if (g->shards[g->tensors[i].shard].copied) bytes += g->tensors[i].n_bytes;
    return bytes;
}

static llm_result llm__gguf_place_shard(llm__gguf *g, llm__gguf_shard *s, llm__gguf_work *w, llm_error *e) {
    uint64_t i;
    if (w->o->directory_only) {
        if (s->copied) llm__plan_block(g->heap, s->data_end - s->data_begin);
        return LLM_OK;
    }
    if (s->copied) return llm__gguf_read_weights(g, s, w, e);
    if (s->singly) return llm__gguf_map_singly(g, s, e);
    for (i = 0; i < s->n_tensors; i++) {
        llm__gguf_tensor *t = &g->tensors[s->first_tensor + i];
        t->data = s->base + (size_t)(s->data_at + t->offset);
    }
    return LLM_OK;
}
static llm_result llm__gguf_place(llm__gguf *g, llm__gguf_work *w, llm_error *e) {
    uint32_t i;
    bool go_on = !w->o->directory_only;
    llm_result r = LLM_OK;
    for (i = 0; i < g->n_shards && go_on; i++)
        if (g->shards[i].copied) w->total += g->shards[i].data_end - g->shards[i].data_begin;
    for (i = 0; i < g->n_shards && r == LLM_OK; i++) r = llm__gguf_place_shard(g, &g->shards[i], w, e);
    if (r != LLM_OK || w->total || w->o->directory_only) return r;
    w->total = 10;                                                      // nothing was read: the ten calls take no time, and can cancel
    for (i = 0; i < 10 && go_on; i++) go_on = llm__gguf_tick(w, 1);
    return go_on ? LLM_OK : llm__gguf_cancelled(e);
}

// ---- opening

// The first shard stands in g->shards[0], opened: everything else.
static llm_result llm__gguf_finish(llm__gguf *g, const char *path, const llm__gguf_options *o, uint64_t began, llm_error *e) {
    llm__gguf_work w = LLM__ZERO;
    uint64_t opened = llm__now_us(o->clock), parsed;
    double mapped = g->map_ms;
    uint32_t count = 0, i;
    llm_result r;
    w.o = o;
    r = llm__gguf_directory(g, &g->shards[0], &w, e);
    if (r == LLM_OK) r = llm__gguf_check_split(g, path, o, &count, e);
    if (r == LLM_OK && LLM__SHARDS && count > 1) r = llm__gguf_open_others(g, path, count, &w, e);
    if (r == LLM_OK) r = llm__gguf_check_names(g, e);
    for (i = 0; r == LLM_OK && i < g->n_tensors; i++) g->weight_bytes += g->tensors[i].n_bytes;
    if (r == LLM_OK && o->most_bytes && g->weight_bytes > o->most_bytes)
        r = llm__fail(e, LLM_TOO_BIG, "the weights take %B, and this process may have at most %B (%s): take a smaller file or fewer bits; "
                      "llm_model_desc.force = 1 loads it all the same", g->weight_bytes, o->most_bytes, o->most_by);
    parsed = llm__now_us(o->clock);
    if (r == LLM_OK) r = llm__gguf_place(g, &w, e);
    if (r != LLM_OK) return r;
    mapped = g->map_ms - mapped;                                          // of the other shards, between their directories
    g->map_ms += (double)(llm__now_us(o->clock) - parsed) * 0.001;
    for (i = 0; i < g->n_shards; i++) g->file_bytes += g->shards[i].size;
    g->parse_ms = (double)(parsed - opened) * 0.001 - mapped;
    g->open_ms = (double)(opened - began + llm__now_us(o->clock) - parsed) * 0.001 + mapped;
    return r;
}
static llm_result llm__gguf_begin(llm__gguf *g, const llm__gguf_options *o, llm_error *e) {
    memset(g, 0, sizeof *g);
    llm__ok(e);
    g->heap = o->heap;
    g->mapping = LLM_MAP;
    g->mapping_reason = g->file_system = "";
    g->shards = (llm__gguf_shard *)llm__alloc_zero(g->heap, 1, sizeof *g->shards);
    if (!g->shards) return llm__gguf_no_memory(e, sizeof *g->shards, "the file's state");
    g->n_shards = 1;
    return LLM_OK;
}
static llm_result llm__gguf_end(llm__gguf *g, llm_result r, llm_error *e) {
    if (r != LLM_OK) llm__gguf_close(g);
    else llm__ok(e);
    return r;
}

static llm_result llm__gguf_open_path(llm__gguf *g, const char *path, const llm__gguf_options *o, llm_error *e) {
    uint64_t began = llm__now_us(o->clock);
    llm_result r = llm__gguf_begin(g, o, e);
    llm__str name = llm__str_of(path);
    if (r == LLM_OK) r = llm__gguf_shard_open_file(g, &g->shards[0], path, o, e);
    if (r == LLM_OK) r = llm__gguf_finish(g, path, o, began, e);
    if (r == LLM_BAD_FILE && llm__gguf_is_piece(name)) {
        name = llm__os_path_tail(path);
        llm__fail(e, r, "'%v' is one piece of a file that was cut up: join all pieces in order (cat model.gguf.* > model.gguf)", &name);
    }
    return llm__gguf_end(g, r, e);
}
static llm_result llm__gguf_open_memory(llm__gguf *g, const void *data, size_t bytes, const llm__gguf_options *o, llm_error *e) {
    uint64_t began = llm__now_us(o->clock);
    llm_result r = llm__gguf_begin(g, o, e);
    if (r == LLM_OK && !bytes) r = llm__fail(e, LLM_BAD_FILE, "there are no bytes");
    if (r == LLM_OK && bytes > UINTPTR_MAX - (uintptr_t)data)
        r = llm__fail(e, LLM_BAD_ARG, "%U bytes cannot lie behind one another in memory from that address on", (uint64_t)bytes);
    if (r == LLM_OK) {
        g->shards[0].base = (const uint8_t *)data;
        g->shards[0].size = bytes;
        r = llm__gguf_finish(g, NULL, o, began, e);
    }
    return llm__gguf_end(g, r, e);
}
static llm_result llm__gguf_open_reader(llm__gguf *g, const llm_reader *reader, const llm__gguf_options *o, llm_error *e) {
    uint64_t began = llm__now_us(o->clock);
    llm_result r = llm__gguf_begin(g, o, e);
    g->mapping = LLM_READ;
    g->mapping_reason = "through the program's reader";
    if (r == LLM_OK) r = llm__gguf_shard_open_reader(&g->shards[0], reader, e);
    if (r == LLM_OK) r = llm__gguf_finish(g, NULL, o, began, e);
    return llm__gguf_end(g, r, e);
}

// Has a file changed on disk under its mapping? One system call for each shard.
static bool llm__gguf_changed(const llm__gguf *g) {
    uint32_t i;
    for (i = 0; i < g->n_shards; i++)
        if (g->shards[i].has_file && llm__os_file_changed(&g->shards[i].file)) return true;
    return false;
}

// ---- values as text

// v times ten to the power of n, in steps that neither overflow nor lose what `digits` digits need.
static double llm__gguf_scale10(double v, int n) {
    for (; n >= 16; n -= 16) v *= LLM__F64(1e16);
    for (; n > 0; n--) v *= 10.0;
    for (; n <= -16; n += 16) v /= LLM__F64(1e16);
    for (; n < 0; n++) v /= 10.0;
    return v;
}
// v > 0 as `digits` decimal digits and an exponent: v is about n * 10^exponent. The exponent of the first digit is returned.
static int llm__gguf_decimal(double v, int digits, uint64_t *n) {
    int e10 = 0, i;
    double low = 1.0;
    while (v >= LLM__F64(1e16)) { v /= LLM__F64(1e16); e10 += 16; }
    while (v < LLM__F64(1e-15)) { v *= LLM__F64(1e16); e10 -= 16; }
    while (v >= 10.0) { v /= 10.0; e10++; }
    while (v < 1.0) { v *= 10.0; e10--; }
    for (i = 1; i < digits; i++) low *= 10.0;
    *n = (uint64_t)(v * low + 0.5);
    if ((double)*n < low * 10.0) return e10;
    *n /= 10;
    return e10 + 1;
}
// The fewest digits that give the number back; 15 at most, which is enough for people.
static void llm__gguf_text_float(llm__text *t, double v, bool single) {
    const uint64_t bits = llm__f64_bits(v), infinite = 0xffe0000000000000u;        // without its sign
    char all[24];
    uint64_t n = 0, rest;
    int digits, e10 = 0, i, count = 0;
    // By bits: under -ffast-math clang takes every number for finite on ARM64, whatever the pragmas say, and folds comparisons away.
    if (bits << 1 > infinite) { llm__text_bytes(t, "nan", 3); return; }
    if (v < 0) { llm__text_byte(t, '-'); v = -v; }
    if (bits << 1 == infinite) { llm__text_bytes(t, "inf", 3); return; }
    if (v == 0) { llm__text_byte(t, '0'); return; }
    for (digits = 1; digits <= (single ? 9 : 15); digits++) {
        double back;
        e10 = llm__gguf_decimal(v, digits, &n);
        back = llm__gguf_scale10((double)n, e10 - digits + 1);
        if (single ? (float)back == (float)v : back == v) break;
    }
    while (n && n % 10 == 0) n /= 10;
    for (rest = n; rest; rest /= 10) count++;
    for (i = count; i > 0; i--, n /= 10) all[i - 1] = (char)('0' + n % 10);
    if (e10 < -5 || e10 > 15) {
        llm__text_byte(t, all[0]);
        if (count > 1) { llm__text_byte(t, '.'); llm__text_bytes(t, all + 1, (size_t)count - 1); }
        llm__text_byte(t, 'e');
        llm__text_byte(t, e10 < 0 ? '-' : '+');
        llm__text_u64(t, (uint64_t)(e10 < 0 ? -e10 : e10), 10);
        return;
    }
    if (e10 < 0) {
        llm__text_bytes(t, "0.", 2);
        for (i = -1; i > e10; i--) llm__text_byte(t, '0');
        llm__text_bytes(t, all, (size_t)count);
        return;
    }
    for (i = 0; i <= e10 || i < count; i++) {
        if (i == e10 + 1) llm__text_byte(t, '.');
        llm__text_byte(t, i < count ? all[i] : '0');
    }
}
static void llm__gguf_text_string(llm__text *t, llm__str s) {
    size_t i;
    for (i = 0; i < s.n; i++) {
        if (s.p[i]) llm__text_byte(t, s.p[i]);
        else llm__text_bytes(t, "\\0", 2);
    }
}
static void llm__gguf_text_value(llm__text *t, const llm__gguf_kv *kv, uint64_t i, const uint8_t **at) {
    int64_t v = 0;
    bool huge;
    switch (kv->elem_type) {
    case LLM__GGUF_STRING: llm__gguf_text_string(t, llm__gguf_str_next(at)); return;
    case LLM__GGUF_F32: llm__gguf_text_float(t, (double)llm__bits_f32(llm__le32(kv->value + (size_t)i * 4)), true); return;
    case LLM__GGUF_F64: llm__gguf_text_float(t, llm__bits_f64(llm__le64(kv->value + (size_t)i * 8)), false); return;
    case LLM__GGUF_U64: llm__text_u64(t, llm__le64(kv->value + (size_t)i * 8), 10); return;
    case LLM__GGUF_BOOL:
        if (kv->value[(size_t)i]) llm__text_bytes(t, "true", 4);
        else llm__text_bytes(t, "false", 5);
        return;
    default:
        llm__gguf_integer(kv, i, true, &v, &huge);
        if (v < 0) llm__text_byte(t, '-');
        llm__text_u64(t, v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v, 10);
    }
}
// As llm_meta promises: the length without the NUL, or LLM_FAILED.
static size_t llm__gguf_meta_text(const llm__gguf *g, const char *key, char *buf, size_t cap) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    const uint8_t *at;
    llm__text t;
    uint64_t i;
    if (!kv) return LLM_FAILED;
    t.p = buf; t.n = 0; t.cap = cap;
    at = kv->value;
    if (kv->type != LLM__GGUF_ARRAY) {
        llm__gguf_text_value(&t, kv, 0, &at);
    } else {
        llm__text_byte(&t, '[');
        for (i = 0; i < kv->n && i < 16; i++) {
            if (i) llm__text_bytes(&t, ", ", 2);
            llm__gguf_text_value(&t, kv, i, &at);
        }
        if (kv->n > 16) llm__text_bytes(&t, ", ...", 5);
        llm__text_byte(&t, ']');
    }
    llm__text_end(&t);
    return t.n;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>vectors  Everything done on floats. A kernel is written once, over sixteen lanes, and compiled once per instruction set: this
//            file includes itself for that, and such a pass reads only the part between `begin pass` and `end pass`. So every
//            instruction set adds in the same order, and gives the same bits, by construction. Never here: dots of stored
//            weights (kernels), shapes of a model (forward).
//
//            In order: the shared types; square root, powers, angles; the lanes of each instruction set; the kernels; the passes.
//            To add an instruction set: the primitives `llm__v_*_isa` and one pass.

#define LLM__PASS_VECTORS 1
#define LLM__PASS_ROWS    2
#ifndef LLM__SELF
#define LLM__SELF "llm_impl.h"
#endif

#define LLM__FEW 3u              // tokens at once that are decode: weights are streamed; more go through panels, and have sides

// Eight tokens and 32 columns: scales and sums side by side, as prefill wants them.
enum { LLM__TOKENS = 8 };
typedef struct llm__side {
    float d[LLM__TOKENS], m[LLM__TOKENS];          // m: the sum of 32
    int16_t s16[LLM__TOKENS][2];
} llm__side;

// One input of a matmul. Rows follow one another without gaps.
typedef struct llm__acts {
    const float *f;              // [n_tokens][n]
    int8_t *q;                   // [n_tokens][n], by N3; n is then a multiple of 32
    float *d;                    // [n_tokens][n / 32]
    int16_t *s16;                // [n_tokens][n / 16], sums of q
    llm__side *side;             // [(n_tokens + 7) / 8][n / 32], more than LLM__FEW tokens and a kernel that reads it: llm__acts_side
    uint32_t n, n_tokens;
} llm__acts;

// The same scales and sums once more for token group g. Where there are fewer than eight tokens the last one stands for the others.
static void llm__acts_side(const llm__acts *x, uint32_t g) {
    const uint32_t n_groups = x->n / 32;
    llm__side *side = x->side + (size_t)g * n_groups;
    uint32_t c, b;
    for (c = 0; c < LLM__TOKENS; c++) {
        const size_t at = (size_t)LLM__MIN(g * LLM__TOKENS + c, x->n_tokens - 1) * n_groups;
        for (b = 0; b < n_groups; b++) {
            const int16_t *s16 = x->s16 + (at + b) * 2;
            side[b].d[c] = x->d[at + b];
            side[b].m[c] = (float)(s16[0] + s16[1]);
            side[b].s16[c][0] = s16[0];
            side[b].s16[c][1] = s16[1];
        }
    }
}

// out[t * ld + r] = row r of w . token t, for r < n_rows and t < n_tokens. Rows may lie at any address.
typedef struct llm__tile {
    const uint8_t *w;
    size_t row_bytes;
    uint32_t n_rows;
    const llm__acts *x;          // a row is x->n long
    uint32_t n_tokens;
    float *out;
    size_t ld;
    void *panel;                 // scratch of this worker: llm__panel_bytes(), aligned to 64
    bool follows;                // the rows before these have just been done here, so the first of these are fetched already
} llm__tile;

typedef void (*llm__matmul_fn)(const llm__tile *);

typedef enum llm__act { LLM__ACT_SILU, LLM__ACT_GELU } llm__act;

// How an element is stored: in memory of ours, or in a file (little-endian). HOST_Q8: an integer that its block's scale belongs to.
typedef enum llm__elem { LLM__HOST_F32, LLM__HOST_F16, LLM__HOST_Q8, LLM__FILE_F32, LLM__FILE_F16, LLM__FILE_BF16 } llm__elem;

#define LLM__ELEM_BYTES(elem) ((size_t)((elem) == LLM__HOST_Q8 ? 1 : (elem) == LLM__HOST_F32 || (elem) == LLM__FILE_F32 ? 4 : 2))

#define LLM__PAGE     64u        // positions: page of the KV cache, chunk of attention
#define LLM__MAX_HEAD 512u       // elements

// One head's part of a page is [64][dim]. With HOST_Q8 the scales come first, so that those of neighbouring positions stand side by side:
// F16 [blocks][64], then int8 [64][blocks * 32].
#define LLM__Q8_BLOCKS(dim)       (((dim) + 31u) / 32u)
#define LLM__Q8_SCALE_BYTES(dim)  (LLM__Q8_BLOCKS(dim) * LLM__PAGE * 2u)

typedef struct llm__query_q8 { int8_t q[LLM__MAX_HEAD]; float d[LLM__MAX_HEAD / 32]; } llm__query_q8;        // by N3, to meet integer keys

// What integers need besides. A worker's own scratch, because it is too much for a stack.
typedef struct llm__attend_q8 {
    llm__query_q8 query[4];                        // for keys
    float d[LLM__MAX_HEAD / 32 * LLM__PAGE];       // the scales of a page's values
    float whole[LLM__MAX_HEAD];                    // a query, its last block filled up
    int16_t sums[LLM__MAX_HEAD / 16];
} llm__attend_q8;

typedef struct llm__attend {
    const void *const *k;        // k[p - page0]: page p, this KV head
    const void *const *v;
    uint32_t page0, n_pages;
    uint32_t head_dim_k, head_dim_v;
    size_t k_stride, v_stride;   // bytes from one position to the next
    llm__elem k_elem, v_elem;    // HOST_F32, HOST_F16 or HOST_Q8, in pairs that are alike, and F16 keys with Q8 values
    float scale, softcap;        // softcap 0 = none
    llm__attend_q8 *q8;          // with HOST_Q8
} llm__attend;

typedef struct llm__attn_part { float m, l; float *o; } llm__attn_part;         // o [head_dim_v], not yet divided by l

// One query head at one position: it sees positions begin..end-1, begin < end, all inside one span.
typedef struct llm__query { const float *q; uint32_t begin, end; llm__attn_part *out; } llm__query;

typedef struct llm__vectors {
    void (*quantize)(const float *x, size_t n, int8_t *q, float *d, int16_t *s16);        // N3; n a multiple of 32
    void (*rmsnorm)(float *y, const float *x, const float *w, size_t n, float eps);       // w may be NULL, y may be x
    void (*add)(float *y, const float *x, size_t n);                                      // y + x
    void (*add_scaled)(float *y, const float *x, float s, size_t n);                      // fma(s, x, y)
    void (*scale)(float *y, float s, size_t n);                                           // y * s
    void (*affine)(float *y, float s, const float *bias, size_t n, bool bias_first);      // y*s, + b; or (y + b)*s; bias may be NULL
    void (*glu)(float *y, const float *gate, const float *up, size_t n, llm__act act);    // act(gate) * up
    void (*softcap)(float *x, float cap, size_t n);                                       // cap * tanh(x / cap)
    void (*softmax)(float *x, size_t n);
    void (*rope)(float *x, const float *cos_sin, size_t n_pairs, bool neighbours);        // N8; cos_sin [n_pairs][2]
    void (*to_f16)(uint16_t *dst, const float *src, size_t n, uint64_t *n_saturated);     // adds to *n_saturated (may be NULL)
    void (*to_q8)(int8_t *q, uint16_t *d, const float *src, size_t n, uint64_t *n_saturated);     // N7; scale b goes to d[b * 64]
    void (*exp_weights)(uint64_t *w, const float *x, float max, size_t n);                // N10: exp(x - max) in units of 2^-32
    float (*highest)(const float *x, size_t n, bool *bad);   // bad: a NaN, a +inf, or nothing but -inf
    void (*attend_group)(const llm__attend *a, const llm__query *q, uint32_t n_q);        // one by one or together: the same bits; K and
                                                                                          // V are read once per 4
    void (*attend_merge)(llm__attn_part *into, const llm__attn_part *next, size_t n);
    void (*attend_finish)(llm__attn_part *p, size_t n);                                   // o = o / l
    llm__matmul_fn matmul_f32, matmul_f16, matmul_bf16;
    float (*sweep)(const uint8_t *const *at, size_t step, size_t n_steps);                 // 64 bytes at each of at[0..3] + i * step
} llm__vectors;

// All kernels of an instruction set, by name.
#define LLM__VECTORS(X) \
    X(quantize) X(rmsnorm) X(add) X(add_scaled) X(scale) X(affine) X(glu) X(softcap) X(softmax) X(rope) X(to_f16) \
    X(to_q8) X(exp_weights) X(highest) X(attend_group) X(attend_merge) X(attend_finish) \
    X(matmul_f32) X(matmul_f16) X(matmul_bf16) X(sweep)

// Coefficients, chosen once: minimax polynomials (Remez, relative error), rounded to F32 one after the other, each time refitting
// the rest. The bits of all results hang on them.
#define LLM__LOG2E        1.44269502f
#define LLM__LN2_HIGH     0.693145752f            // 15 bits: n * LN2_HIGH is exact
#define LLM__LN2_LOW      1.42860677e-06f
#define LLM__ROUND_MAGIC  12582912.0f             // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits
#define LLM__EXP_2        0.49999994f             // exp(r) = 1 + r + r^2 (EXP_2 + r (EXP_3 ...)), 3.2e-9 on |r| <= ln(2)/2
#define LLM__EXP_3        0.166665167f
#define LLM__EXP_4        0.0416681021f
#define LLM__EXP_5        0.00836919341f
#define LLM__EXP_6        0.00138389354f
#define LLM__TANH_SMALL   0.625f                  // below: x + x^3 (TANH_3 + x^2 (TANH_5 ...)), 4.6e-9; above: from exp
#define LLM__TANH_3       -0.333332807f
#define LLM__TANH_5       0.133314058f
#define LLM__TANH_7       -0.0537365153f
#define LLM__TANH_9       0.0206282325f
#define LLM__TANH_11      -0.00569248479f
#define LLM__SIN_3        -0.166666672f           // sin(x) = x + x^3 (SIN_3 + x^2 (SIN_5 ...)), 1.6e-10 on [0, pi/4]
#define LLM__SIN_5        0.00833338033f
#define LLM__SIN_7        -0.000198535126f
#define LLM__SIN_9        2.83754275e-06f
#define LLM__COS_4        0.0416666456f           // cos(x) = 1 - x^2/2 + x^4 (COS_4 + x^2 (COS_6 ...)), 1.2e-10
#define LLM__COS_6        -0.00138873095f
#define LLM__COS_8        2.44323273e-05f
#define LLM__GELU_1       -1.59576917f            // -2 sqrt(2/pi)
#define LLM__GELU_3       -0.0713548139f          // times 0.044715
#define LLM__F32_INF      llm__bits_f32(0x7f800000u)
#define LLM__F32_NAN      llm__bits_f32(0x7fc00000u)

// Correctly rounded without an instruction: the root of a 50 bit integer has 25 bits, and a float's root is never half way.
LLM__UNUSED static float llm__sqrt_exact(float x) {
    uint32_t u = llm__f32_bits(x), m = u & 0x7fffffu, bit;
    int e = (int)(u >> 23 & 255u) - 150;                                        // x = m * 2^e
    uint64_t n, root = 0;
    if ((u & 0x7fffffffu) == 0 || u == 0x7f800000u || llm__f32_is_nan(x)) return x;
    if (u >> 31) return LLM__F32_NAN;
    if (e > -150) m |= 0x800000u;
    else for (e = -149; m < 0x800000u; m <<= 1) e--;
    if (e % 2 == 0) { m <<= 1; e--; }
    n = (uint64_t)m << 25;                                                      // sqrt(x) = sqrt(n) * 2^((e - 25) / 2), e - 25 even
    for (bit = 1u << 24; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= n) root += bit;
    root = (root + 1) >> 1;                                                     // its leading bit adds 1 to the exponent
    return llm__bits_f32(((uint32_t)((e - 25) / 2 + 150) << 23) + (uint32_t)root);
}
static float llm__sqrt(float x) {
#if LLM__X64 && !defined(__TINYC__) && (LLM__HAS_AVX2 || !defined(LLM_NO_STDLIB))
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#elif LLM__ARM64 && !defined(LLM_NO_SIMD) && !defined(__TINYC__)
    return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
#elif LLM__HAS_WASM128
    return wasm_f32x4_extract_lane(wasm_f32x4_sqrt(wasm_f32x4_splat(x)), 0);
#elif defined(LLM__ROOT_OF)
    LLM__ROOT_OF(x);
    return x;
#else
    return llm__sqrt_exact(x);
#endif
}

// Numbers of about 106 bits as unevaluated sums, for what is computed once per model: frequencies must not depend on a libm.
// (Dekker, "A floating-point technique for extending the available precision", 1971.)
typedef struct llm__dd { double hi, lo; } llm__dd;

static llm__dd llm__dd_sum(double a, double b) {
    llm__dd r;
    double t;
    r.hi = a + b;
    t = r.hi - a;
    r.lo = (a - (r.hi - t)) + (b - t);
    return r;
}
static llm__dd llm__dd_product(double a, double b) {
    double at = a * LLM__F64(134217729.0), bt = b * LLM__F64(134217729.0);      // 2^27 + 1: splits into halves of 26 bits
    double ah = at - (at - a), bh = bt - (bt - b), al = a - ah, bl = b - bh;
    double hh, hl, lh, ll;
    llm__dd r;
    r.hi = a * b;
    hh = ah * bh; hl = ah * bl; lh = al * bh; ll = al * bl;
    r.lo = (((hh - r.hi) + hl) + lh) + ll;
    return r;
}
static llm__dd llm__dd_add(llm__dd a, llm__dd b) {
    llm__dd s = llm__dd_sum(a.hi, b.hi), t = llm__dd_sum(a.lo, b.lo);
    s = llm__dd_sum(s.hi, s.lo + t.hi);
    return llm__dd_sum(s.hi, s.lo + t.lo);
}
static llm__dd llm__dd_mul(llm__dd a, llm__dd b) {
    llm__dd p = llm__dd_product(a.hi, b.hi);
    double x = a.hi * b.lo, y = a.lo * b.hi;
    return llm__dd_sum(p.hi, p.lo + (x + y));
}
static llm__dd llm__dd_of(double a) {
    llm__dd r;
    r.hi = a; r.lo = 0.0;
    return r;
}
static llm__dd llm__dd_div(llm__dd a, llm__dd b) {
    double q = a.hi / b.hi;
    llm__dd rest = llm__dd_add(a, llm__dd_mul(llm__dd_of(-q), b));
    return llm__dd_sum(q, rest.hi / b.hi);
}
static llm__dd llm__dd_ln2(void) {
    llm__dd r;
    r.hi = LLM__F64(0.69314718055994529); r.lo = LLM__F64(2.3190468138462996e-17);
    return r;
}

// log(x) for finite x > 0: x = m 2^k, m within a factor sqrt(2) of 1; log(m) = 2 atanh((m - 1)/(m + 1)).
static llm__dd llm__dd_log(double x) {
    int k = 0, i;
    uint64_t u;
    double m;
    llm__dd s, z, p;
    if (x < LLM__F64(2.2250738585072014e-308)) { x *= 18014398509481984.0; k = -54; } // subnormal: times 2^54
    u = llm__f64_bits(x);
    k += (int)(u >> 52 & 2047u) - 1023;
    m = llm__bits_f64((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    if (m > LLM__F64(1.4142135623730951)) { m *= 0.5; k++; }
    s = llm__dd_div(llm__dd_of(m - 1.0), llm__dd_sum(m, 1.0));                  // |s| < 0.1716: s^2 < 0.0295, 18 terms leave 2^-96
    z = llm__dd_mul(s, s);
    p = llm__dd_of(0.0);
    for (i = 18; i >= 0; i--)
        p = llm__dd_add(llm__dd_mul(p, z), llm__dd_div(llm__dd_of(2.0), llm__dd_of(2.0 * i + 1.0)));
    return llm__dd_add(llm__dd_mul(p, s), llm__dd_mul(llm__dd_of((double)k), llm__dd_ln2()));
}
static double llm__ln(double x) { return llm__dd_log(x).hi; }

// base^exponent for finite base > 0, to 3e-16.
static double llm__pow(double base, double exponent) {
    llm__dd t = llm__dd_mul(llm__dd_log(base), llm__dd_of(exponent)), r;
    double n, e = 0.0, by_high, by_low;
    int i, k;
    if (!(t.hi < 709.0)) return t.hi > 0.0 ? llm__bits_f64(0x7ff0000000000000ull) : t.hi;      // infinity, or NaN as it came
    if (t.hi < -708.0) return 0.0;
    n = t.hi * LLM__F64(1.4426950408889634);
    n = (n + 6755399441055744.0) - 6755399441055744.0;                          // to the nearest integer
    r = llm__dd_add(t, llm__dd_mul(llm__dd_of(-n), llm__dd_ln2()));             // |r| <= 0.3466
    for (i = 15; i >= 2; i--) {                                                 // e = (r^2/2! + r^3/3! ...) / r, by Horner
        double up = e + 1.0;
        e = up * r.hi / (double)i;
    }
    by_high = e * r.hi;
    by_low = r.lo * (1.0 + r.hi);
    e = 1.0 + (r.hi + (by_high + by_low));
    k = (int)n;
    return e * llm__bits_f64((uint64_t)(k + 1023) << 52);
}

// N8: a frequency of f radians per position in turns, as a 64 bit fraction: round(2^64 f / (2 pi)), modulo whole turns. f >= 0.
static uint64_t llm__turns(double f) {
    llm__dd inverse, t;
    double high, low;
    uint64_t turns, below;
    inverse.hi = LLM__F64(0.15915494309189535); inverse.lo = -LLM__F64(9.8393383375912429e-18); // 1 / (2 pi)
    t = llm__dd_mul(llm__dd_of(f), inverse);
    if (!(t.hi < 9007199254740992.0)) return 0;                                 // 2^53 turns per position, or NaN: no fraction is left
    high = (t.hi - (double)(uint64_t)t.hi) * 18446744073709551616.0;
    turns = (uint64_t)high;
    low = (high - (double)turns) + t.lo * 18446744073709551616.0 + 0.5;         // to be added: its floor, of either sign
    if (!(low > -9223372036854775808.0 && low < 9223372036854775808.0)) return 0;
    if (low >= 0.0) return turns + (uint64_t)low;
    below = (uint64_t)-low;
    return turns - below - (uint64_t)((double)below != -low);
}
// The angle position * F, modulo a turn, in 64 bits -> cosine and sine. Odd octants are mirrored into [0, pi/4].
static void llm__cos_sin(uint64_t turns, float *cosine, float *sine) {
    uint32_t octant = (uint32_t)(turns >> 61), v = (uint32_t)(turns >> 29);
    float x = (float)(octant & 1u ? ~v : v) * 1.82864765e-10f;                  // pi/4 * 2^-32
    float z = x * x, zz = z * z, xz = x * z, s, c, t;
    s = llm__fma(LLM__SIN_9, z, LLM__SIN_7);
    s = llm__fma(s, z, LLM__SIN_5);
    s = llm__fma(s, z, LLM__SIN_3);
    s = llm__fma(s, xz, x);
    c = llm__fma(LLM__COS_8, z, LLM__COS_6);
    c = llm__fma(c, z, LLM__COS_4);
    c = llm__fma(c, zz, llm__fma(-0.5f, z, 1.0f));
    if ((octant + 1u) & 2u) { t = s; s = c; c = t; }
    *cosine = octant >= 2u && octant < 6u ? -c : c;
    *sine = octant >= 4u ? -s : s;
}

#if !defined(LLM_SMALL)                   // down to the next instruction set
// Asks for n bytes from p + offset on, into the second cache. They may lie behind the end of the tensor: nothing is
// read there. Into the first cache it was 63-78 % of the rate of reading alone, into the second 81-98 % (Zen 4): its own 24 places for
// lines under way stay free for the loads.
LLM__INLINE void llm__prefetch(const uint8_t *p, size_t offset, size_t n) {
    uintptr_t at = (uintptr_t)p + offset;
    size_t i;
    for (i = 0; i < n; i += 64) LLM__PREFETCH_L2((const char *)(at + i));
}

// How many rows of float weights to keep in cache while tokens pass by: 28 KB of L1 with two tokens, or 192 KB of L2.
static size_t llm__block_rows(const llm__tile *t) {
    const size_t tokens = 2 * sizeof(float) * t->x->n, l1 = 28672, l2 = 196608;
    size_t n = tokens < l1 ? (l1 - tokens) / t->row_bytes : 0;
    if (n < 4) n = l2 / t->row_bytes;
    return n < 4 ? 4 : n & ~(size_t)3;
}

//---- scalar lanes: what each primitive means. The other instruction sets give the same bits. ------------------------------------

#if LLM__UNOPTIMIZED
#define LLM__LANE static inline LLM__UNUSED      // forced inlining without optimisation makes frames of 30 KB, of 216 KB in matrix kernels
#else
#define LLM__LANE LLM__INLINE
#endif

typedef struct llm__v16 { float at[16]; } llm__v16;

#define LLM__LANES(expression) \
    do { int i; for (i = 0; i < 16; i++) r.at[i] = (expression); } while (0)

LLM__LANE llm__v16 llm__v_load_scalar(const float *p) { llm__v16 r; memcpy(&r, p, 64); return r; }
LLM__LANE void     llm__v_store_scalar(float *p, llm__v16 a) { memcpy(p, &a, 64); }
LLM__LANE llm__v16 llm__v_set_scalar(float x) { llm__v16 r; LLM__LANES(x); return r; }
LLM__LANE llm__v16 llm__v_add_scalar(llm__v16 a, llm__v16 b) { llm__v16 r; LLM__LANES(a.at[i] + b.at[i]); return r; }
LLM__LANE llm__v16 llm__v_sub_scalar(llm__v16 a, llm__v16 b) { llm__v16 r; LLM__LANES(a.at[i] - b.at[i]); return r; }
LLM__LANE llm__v16 llm__v_mul_scalar(llm__v16 a, llm__v16 b) { llm__v16 r; LLM__LANES(a.at[i] * b.at[i]); return r; }
LLM__LANE llm__v16 llm__v_div_scalar(llm__v16 a, llm__v16 b) { llm__v16 r; LLM__LANES(a.at[i] / b.at[i]); return r; }
LLM__LANE llm__v16 llm__v_fma_scalar(llm__v16 a, llm__v16 b, llm__v16 c) {
    llm__v16 r;
    LLM__LANES(llm__fma(a.at[i], b.at[i], c.at[i]));
    return r;
}
LLM__LANE llm__v16 llm__v_max_scalar(llm__v16 a, llm__v16 b) { llm__v16 r; LLM__LANES(a.at[i] > b.at[i] ? a.at[i] : b.at[i]); return r; }
LLM__LANE llm__v16 llm__v_abs_scalar(llm__v16 a) {
    llm__v16 r;
    LLM__LANES(llm__bits_f32(llm__f32_bits(a.at[i]) & 0x7fffffffu));
    return r;
}
LLM__LANE llm__v16 llm__v_negate_scalar(llm__v16 a) {
    llm__v16 r;
    LLM__LANES(llm__bits_f32(llm__f32_bits(a.at[i]) ^ 0x80000000u));
    return r;
}
// The magnitude a with the sign of b.
LLM__LANE llm__v16 llm__v_sign_of_scalar(llm__v16 a, llm__v16 b) {
    llm__v16 r;
    LLM__LANES(llm__bits_f32((llm__f32_bits(a.at[i]) & 0x7fffffffu) | (llm__f32_bits(b.at[i]) & 0x80000000u)));
    return r;
}
// x < limit ? yes : no; a NaN says no.
LLM__LANE llm__v16 llm__v_below_scalar(llm__v16 x, llm__v16 limit, llm__v16 yes, llm__v16 no) {
    llm__v16 r;
    LLM__LANES(x.at[i] < limit.at[i] ? yes.at[i] : no.at[i]);
    return r;
}
// a * 2^n, where n stands in the low bits of t and the result is a normal number.
LLM__LANE llm__v16 llm__v_times_2_to_scalar(llm__v16 a, llm__v16 t) {
    llm__v16 r;
    LLM__LANES(llm__bits_f32(llm__f32_bits(a.at[i]) + (llm__f32_bits(t.at[i]) << 23)));
    return r;
}
// The first n lanes of a, the others of b.
LLM__LANE llm__v16 llm__v_first_of_scalar(size_t n, llm__v16 a, llm__v16 b) {
    llm__v16 r;
    LLM__LANES((size_t)i < n ? a.at[i] : b.at[i]);
    return r;
}
LLM__LANE float    llm__v_first_scalar(llm__v16 a) { return a.at[0]; }
// N5: halves onto halves.
LLM__LANE float llm__v_sum_scalar(llm__v16 a) {
    int i, step;
    for (step = 8; step; step /= 2)
        for (i = 0; i < step; i++) a.at[i] += a.at[i + step];
    return a.at[0];
}
LLM__LANE void llm__v_sum4_scalar(float *out, llm__v16 a, llm__v16 b, llm__v16 c, llm__v16 d) {
    out[0] = llm__v_sum_scalar(a); out[1] = llm__v_sum_scalar(b); out[2] = llm__v_sum_scalar(c); out[3] = llm__v_sum_scalar(d);
}
LLM__LANE float llm__v_highest_scalar(llm__v16 a) {
    int i, step;
    for (step = 8; step; step /= 2)
        for (i = 0; i < step; i++) a.at[i] = a.at[i + step] > a.at[i] ? a.at[i + step] : a.at[i];
    return a.at[0];
}
// Sixteen stored elements as floats, exactly.
LLM__LANE llm__v16 llm__v_load_elems_scalar(const uint8_t *p, llm__elem elem) {
    llm__v16 r;
    uint16_t host[16];
    switch (elem) {
    case LLM__HOST_F32: memcpy(&r, p, 64); break;
    case LLM__HOST_F16: memcpy(host, p, 32); LLM__LANES(llm__f16_to_f32(host[i])); break;
    case LLM__HOST_Q8:  LLM__LANES((float)(int8_t)p[i]); break;
    case LLM__FILE_F32: LLM__LANES(llm__bits_f32(llm__le32(p + 4 * i))); break;
    case LLM__FILE_F16: LLM__LANES(llm__f16_to_f32(llm__le16(p + 2 * i))); break;
    default:            LLM__LANES(llm__bf16_to_f32(llm__le16(p + 2 * i))); break;
    }
    return r;
}
// N7; returns how many finite lanes were too large.
LLM__LANE uint32_t llm__v_store_f16_scalar(uint16_t *p, llm__v16 a) {
    uint32_t i, n = 0, u;
    for (i = 0; i < 16; i++) {
        u = llm__f32_bits(a.at[i]) & 0x7fffffffu;
        n += u >= 0x477ff000u && u < 0x7f800000u;                               // 65520
        p[i] = llm__f32_to_f16(a.at[i]);
    }
    return n;
}
// The largest |bits| of 32 lanes.
LLM__LANE uint32_t llm__v_highest_bits_scalar(llm__v16 a, llm__v16 b) {
    uint32_t m = 0, u, i;
    for (i = 0; i < 32; i++) {
        u = llm__f32_bits(i < 16 ? a.at[i] : b.at[i - 16]) & 0x7fffffffu;
        m = u > m ? u : m;
    }
    return m;
}
// Lanes within +-127, rounded half to even, as bytes, and their sum.
LLM__LANE int16_t llm__v_store_q8_scalar(int8_t *q, llm__v16 a) {
    int32_t i, v, sum = 0;
    for (i = 0; i < 16; i++) {
        v = (int32_t)(llm__f32_bits(a.at[i] + LLM__ROUND_MAGIC) - 0x4b400000u);
        q[i] = (int8_t)v;
        sum += v;
    }
    return (int16_t)sum;
}
// The dots of 32 integers with the rows k, k + stride .. k + 15 * stride. Within +-127, so a sum is exact as a float.
LLM__LANE llm__v16 llm__v_dots32_scalar(const int8_t *q, const int8_t *k, size_t stride) {
    llm__v16 r;
    int32_t i, j, sum;
    for (i = 0; i < 16; i++, k += stride) {
        for (j = 0, sum = 0; j < 32; j++) sum += q[j] * k[j];
        r.at[i] = (float)sum;
    }
    return r;
}
LLM__LANE bool llm__v_any_nan_or_inf_scalar(llm__v16 a) {                     // +inf only
    uint32_t i, u, bad = 0;
    for (i = 0; i < 16; i++) {
        u = llm__f32_bits(a.at[i]);
        bad |= (u & 0x7fffffffu) > 0x7f800000u || u == 0x7f800000u;
    }
    return bad != 0;
}
// 32 floats: those at even places, those at odd places; and back.
LLM__LANE void llm__v_load_pairs_scalar(const float *p, llm__v16 *even, llm__v16 *odd) {
    int i;
    for (i = 0; i < 16; i++) { even->at[i] = p[2 * i]; odd->at[i] = p[2 * i + 1]; }
}
LLM__LANE void llm__v_store_pairs_scalar(float *p, llm__v16 even, llm__v16 odd) {
    int i;
    for (i = 0; i < 16; i++) { p[2 * i] = even.at[i]; p[2 * i + 1] = odd.at[i]; }
}

#endif
//---- AVX2 + FMA + F16C: two registers ------------------------------------------------------------------------------------------

#if LLM__HAS_AVX2
#define LLM__VT_AVX2 LLM__TARGET("avx2,fma,f16c")
#define LLM__VI_AVX2 LLM__LANE LLM__VT_AVX2

typedef struct llm__v16_avx2 { __m256 lo, hi; } llm__v16_avx2;

// Pins a value to its register. GCC reassociates sums of vectors into trees, which keeps every term alive at once and spills; and what it
// needs three times it loads three times.
#if LLM__GNUC
#define LLM__KEEP(v) __asm__ ("" : "+v"(v))
#else
#define LLM__KEEP(v) ((void)0)
#endif

#define LLM__OF_TWO(lo_value, hi_value) \
    llm__v16_avx2 r; r.lo = (lo_value); r.hi = (hi_value); return r

LLM__VI_AVX2 llm__v16_avx2 llm__v_load_avx2(const float *p) { LLM__OF_TWO(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)); }
LLM__VI_AVX2 void llm__v_store_avx2(float *p, llm__v16_avx2 a) { _mm256_storeu_ps(p, a.lo); _mm256_storeu_ps(p + 8, a.hi); }
LLM__VI_AVX2 llm__v16_avx2 llm__v_set_avx2(float x) { LLM__OF_TWO(_mm256_set1_ps(x), r.lo); }
LLM__VI_AVX2 llm__v16_avx2 llm__v_add_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    LLM__OF_TWO(_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_sub_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    LLM__OF_TWO(_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_mul_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    LLM__OF_TWO(_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_div_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    LLM__OF_TWO(_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_fma_avx2(llm__v16_avx2 a, llm__v16_avx2 b, llm__v16_avx2 c) {
    LLM__OF_TWO(_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_max_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    LLM__OF_TWO(_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_abs_avx2(llm__v16_avx2 a) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    LLM__OF_TWO(_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_negate_avx2(llm__v16_avx2 a) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    LLM__OF_TWO(_mm256_xor_ps(sign, a.lo), _mm256_xor_ps(sign, a.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_sign_of_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    LLM__OF_TWO(_mm256_or_ps(_mm256_andnot_ps(sign, a.lo), _mm256_and_ps(sign, b.lo)),
                _mm256_or_ps(_mm256_andnot_ps(sign, a.hi), _mm256_and_ps(sign, b.hi)));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_below_avx2(llm__v16_avx2 x, llm__v16_avx2 limit, llm__v16_avx2 yes, llm__v16_avx2 no) {
    LLM__OF_TWO(_mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(x.lo, limit.lo, _CMP_LT_OQ)),
                _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(x.hi, limit.hi, _CMP_LT_OQ)));
}
LLM__VI_AVX2 __m256 llm__v8_times_2_to_avx2(__m256 a, __m256 t) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_slli_epi32(_mm256_castps_si256(t), 23)));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_times_2_to_avx2(llm__v16_avx2 a, llm__v16_avx2 t) {
    LLM__OF_TWO(llm__v8_times_2_to_avx2(a.lo, t.lo), llm__v8_times_2_to_avx2(a.hi, t.hi));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_first_of_avx2(size_t n, llm__v16_avx2 a, llm__v16_avx2 b) {
    __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), count = _mm256_set1_epi32((int)n);
    __m256i lo = _mm256_cmpgt_epi32(count, at), hi = _mm256_cmpgt_epi32(count, _mm256_add_epi32(at, _mm256_set1_epi32(8)));
    LLM__OF_TWO(_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(lo)), _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(hi)));
}
LLM__VI_AVX2 float llm__v_first_avx2(llm__v16_avx2 a) { return _mm256_cvtss_f32(a.lo); }
LLM__VI_AVX2 float llm__v_sum_avx2(llm__v16_avx2 a) {
    __m256 t = _mm256_add_ps(a.lo, a.hi);
    __m128 u = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    u = _mm_add_ps(u, _mm_movehl_ps(u, u));
    return _mm_cvtss_f32(_mm_add_ss(u, _mm_shuffle_ps(u, u, 1)));
}
// Four trees at a time: the same additions, in lanes of the same register.
LLM__VI_AVX2 void llm__v_sum4_avx2(float *out, llm__v16_avx2 a, llm__v16_avx2 b, llm__v16_avx2 c, llm__v16_avx2 d) {
    __m256 ta = _mm256_add_ps(a.lo, a.hi), tb = _mm256_add_ps(b.lo, b.hi), tc = _mm256_add_ps(c.lo, c.hi), td = _mm256_add_ps(d.lo, d.hi);
    __m256 ac = _mm256_add_ps(_mm256_permute2f128_ps(ta, tc, 0x20), _mm256_permute2f128_ps(ta, tc, 0x31));      // a 0..3 | c 0..3
    __m256 bd = _mm256_add_ps(_mm256_permute2f128_ps(tb, td, 0x20), _mm256_permute2f128_ps(tb, td, 0x31));
    __m256 u = _mm256_add_ps(_mm256_shuffle_ps(ac, bd, 0x44), _mm256_shuffle_ps(ac, bd, 0xee));                 // a a b b | c c d d
    u = _mm256_add_ps(_mm256_shuffle_ps(u, u, 0x88), _mm256_shuffle_ps(u, u, 0xdd));                            // a b .. | c d ..
    _mm_storeu_ps(out, _mm_movelh_ps(_mm256_castps256_ps128(u), _mm256_extractf128_ps(u, 1)));
}
LLM__VI_AVX2 float llm__v_highest_avx2(llm__v16_avx2 a) {
    __m256 t = _mm256_max_ps(a.hi, a.lo);
    __m128 u = _mm_max_ps(_mm256_extractf128_ps(t, 1), _mm256_castps256_ps128(t));
    u = _mm_max_ps(_mm_movehl_ps(u, u), u);
    return _mm_cvtss_f32(_mm_max_ss(_mm_shuffle_ps(u, u, 1), u));
}
LLM__VI_AVX2 __m256 llm__v8_bf16_avx2(const uint8_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}
LLM__VI_AVX2 __m256 llm__v8_f16_avx2(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
LLM__VI_AVX2 __m256 llm__v8_f32_avx2(const uint8_t *p) { return _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
LLM__VI_AVX2 __m256 llm__v8_i8_avx2(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_load_elems_avx2(const uint8_t *p, llm__elem elem) {
    if (elem == LLM__HOST_F32 || elem == LLM__FILE_F32) { LLM__OF_TWO(llm__v8_f32_avx2(p), llm__v8_f32_avx2(p + 32)); }
    if (elem == LLM__FILE_BF16) { LLM__OF_TWO(llm__v8_bf16_avx2(p), llm__v8_bf16_avx2(p + 16)); }
    if (elem == LLM__HOST_Q8) { LLM__OF_TWO(llm__v8_i8_avx2(p), llm__v8_i8_avx2(p + 8)); }
    { LLM__OF_TWO(llm__v8_f16_avx2(p), llm__v8_f16_avx2(p + 16)); }
}
// The conversion would round 65520 and more to infinity.
LLM__VI_AVX2 uint32_t llm__v8_store_f16_avx2(uint16_t *p, __m256 a) {
    __m256 sign = _mm256_set1_ps(-0.0f), size = _mm256_andnot_ps(sign, a);
    __m256 large = _mm256_and_ps(_mm256_cmp_ps(size, _mm256_set1_ps(65520.0f), _CMP_GE_OQ),
                                 _mm256_cmp_ps(size, _mm256_set1_ps(LLM__F32_INF), _CMP_LT_OQ));
    uint32_t n = 0, bits = (uint32_t)_mm256_movemask_ps(large);
    if (bits) a = _mm256_blendv_ps(a, _mm256_or_ps(_mm256_and_ps(sign, a), _mm256_set1_ps(65504.0f)), large);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    for (; bits; bits &= bits - 1) n++;
    return n;
}
LLM__VI_AVX2 uint32_t llm__v_store_f16_avx2(uint16_t *p, llm__v16_avx2 a) {
    uint32_t n = llm__v8_store_f16_avx2(p, a.lo);
    return n + llm__v8_store_f16_avx2(p + 8, a.hi);
}
LLM__VI_AVX2 uint32_t llm__v_highest_bits_avx2(llm__v16_avx2 a, llm__v16_avx2 b) {
    __m256i size = _mm256_set1_epi32(0x7fffffff);
    __m256i x = _mm256_max_epi32(_mm256_and_si256(size, _mm256_castps_si256(a.lo)), _mm256_and_si256(size, _mm256_castps_si256(a.hi)));
    __m256i y = _mm256_max_epi32(_mm256_and_si256(size, _mm256_castps_si256(b.lo)), _mm256_and_si256(size, _mm256_castps_si256(b.hi)));
    __m128i m;
    x = _mm256_max_epi32(x, y);
    m = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}
LLM__VI_AVX2 int16_t llm__v_store_q8_avx2(int8_t *q, llm__v16_avx2 a) {
    __m256i i16 = _mm256_packs_epi32(_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi));
    __m128i s, i8;
    i16 = _mm256_permute4x64_epi64(i16, 0xd8);
    i8 = _mm_packs_epi16(_mm256_castsi256_si128(i16), _mm256_extracti128_si256(i16, 1));
    _mm_storeu_si128((__m128i *)(void *)q, i8);
    s = _mm_add_epi16(_mm256_castsi256_si128(i16), _mm256_extracti128_si256(i16, 1));
    s = _mm_madd_epi16(s, _mm_set1_epi16(1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return (int16_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
// Bytes are multiplied as unsigned by signed, so the sign of q moves to k: two products stay within 2 * 127^2 < 2^15.
LLM__VI_AVX2 __m256i llm__v8_products_avx2(__m256i q, __m256i size, const int8_t *k) {
    __m256i row = _mm256_sign_epi8(_mm256_loadu_si256((const __m256i *)(const void *)k), q);
    return _mm256_madd_epi16(_mm256_maddubs_epi16(size, row), _mm256_set1_epi16(1));
}
LLM__VI_AVX2 __m256i llm__v8_products4_avx2(__m256i q, __m256i size, const int8_t *k, size_t stride) {      // rows 0 1 2 3 | 0 1 2 3
    __m256i a = llm__v8_products_avx2(q, size, k), b = llm__v8_products_avx2(q, size, k + stride);
    __m256i c = llm__v8_products_avx2(q, size, k + 2 * stride), d = llm__v8_products_avx2(q, size, k + 3 * stride);
    return _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
}
LLM__VI_AVX2 __m256 llm__v8_dots32_avx2(__m256i q, __m256i size, const int8_t *k, size_t stride) {
    __m256i a = llm__v8_products4_avx2(q, size, k, stride), b = llm__v8_products4_avx2(q, size, k + 4 * stride, stride);
    return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)));
}
LLM__VI_AVX2 llm__v16_avx2 llm__v_dots32_avx2(const int8_t *q, const int8_t *k, size_t stride) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)q), size = _mm256_abs_epi8(v);
    LLM__OF_TWO(llm__v8_dots32_avx2(v, size, k, stride), llm__v8_dots32_avx2(v, size, k + 8 * stride, stride));
}
LLM__VI_AVX2 __m256i llm__v8_nan_or_inf_avx2(__m256 a) {
    __m256i u = _mm256_castps_si256(a), inf = _mm256_set1_epi32(0x7f800000);
    return _mm256_or_si256(_mm256_cmpeq_epi32(u, inf), _mm256_cmpgt_epi32(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff)), inf));
}
LLM__VI_AVX2 bool llm__v_any_nan_or_inf_avx2(llm__v16_avx2 a) {
    return _mm256_movemask_epi8(_mm256_or_si256(llm__v8_nan_or_inf_avx2(a.lo), llm__v8_nan_or_inf_avx2(a.hi))) != 0;
}
LLM__VI_AVX2 __m256 llm__v8_in_order_avx2(__m256 a) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8)); }
LLM__VI_AVX2 void llm__v_load_pairs_avx2(const float *p, llm__v16_avx2 *even, llm__v16_avx2 *odd) {
    __m256 a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + 8), c = _mm256_loadu_ps(p + 16), d = _mm256_loadu_ps(p + 24);
    even->lo = llm__v8_in_order_avx2(_mm256_shuffle_ps(a, b, 0x88)); odd->lo = llm__v8_in_order_avx2(_mm256_shuffle_ps(a, b, 0xdd));
    even->hi = llm__v8_in_order_avx2(_mm256_shuffle_ps(c, d, 0x88)); odd->hi = llm__v8_in_order_avx2(_mm256_shuffle_ps(c, d, 0xdd));
}
LLM__VI_AVX2 void llm__v8_store_pairs_avx2(float *p, __m256 even, __m256 odd) {
    __m256 a = _mm256_unpacklo_ps(even, odd), b = _mm256_unpackhi_ps(even, odd);       // pairs 0 1 4 5, 2 3 6 7
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(a, b, 0x20));
    _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(a, b, 0x31));
}
LLM__VI_AVX2 void llm__v_store_pairs_avx2(float *p, llm__v16_avx2 even, llm__v16_avx2 odd) {
    llm__v8_store_pairs_avx2(p, even.lo, odd.lo);
    llm__v8_store_pairs_avx2(p + 16, even.hi, odd.hi);
}
#endif

//---- AVX-512: one register; what is not worth its own code goes through the halves ------------------------------------------------

#if LLM__HAS_AVX512
#define LLM__VT_AVX512 LLM__TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#define LLM__VI_AVX512 LLM__LANE LLM__VT_AVX512

typedef __m512 llm__v16_avx512;

LLM__VI_AVX512 llm__v16_avx2 llm__v_halves_avx512(__m512 a) { LLM__OF_TWO(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1)); }
LLM__VI_AVX512 __m512 llm__v_whole_avx512(llm__v16_avx2 a) { return _mm512_insertf32x8(_mm512_castps256_ps512(a.lo), a.hi, 1); }
LLM__VI_AVX512 __m512 llm__v_of_bits_avx512(__m512i a) { return _mm512_castsi512_ps(a); }
LLM__VI_AVX512 __m512i llm__v_bits_avx512(__m512 a) { return _mm512_castps_si512(a); }

LLM__VI_AVX512 __m512 llm__v_load_avx512(const float *p) { return _mm512_loadu_ps(p); }
LLM__VI_AVX512 void llm__v_store_avx512(float *p, __m512 a) { _mm512_storeu_ps(p, a); }
LLM__VI_AVX512 __m512 llm__v_set_avx512(float x) { return _mm512_set1_ps(x); }
LLM__VI_AVX512 __m512 llm__v_add_avx512(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
LLM__VI_AVX512 __m512 llm__v_sub_avx512(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
LLM__VI_AVX512 __m512 llm__v_mul_avx512(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
LLM__VI_AVX512 __m512 llm__v_div_avx512(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
LLM__VI_AVX512 __m512 llm__v_fma_avx512(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
LLM__VI_AVX512 __m512 llm__v_max_avx512(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
LLM__VI_AVX512 __m512 llm__v_abs_avx512(__m512 a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
LLM__VI_AVX512 __m512 llm__v_negate_avx512(__m512 a) { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), a); }
LLM__VI_AVX512 __m512 llm__v_sign_of_avx512(__m512 a, __m512 b) {
    const __m512 sign = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(sign, a), _mm512_and_ps(sign, b));
}
LLM__VI_AVX512 __m512 llm__v_below_avx512(__m512 x, __m512 limit, __m512 yes, __m512 no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, limit, _CMP_LT_OQ), no, yes);
}
LLM__VI_AVX512 __m512 llm__v_times_2_to_avx512(__m512 a, __m512 t) {
    return llm__v_of_bits_avx512(_mm512_add_epi32(llm__v_bits_avx512(a), _mm512_slli_epi32(llm__v_bits_avx512(t), 23)));
}
LLM__VI_AVX512 __m512 llm__v_first_of_avx512(size_t n, __m512 a, __m512 b) {
    return _mm512_mask_blend_ps((__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1u), b, a);
}
LLM__VI_AVX512 float llm__v_first_avx512(__m512 a) { return _mm_cvtss_f32(_mm512_castps512_ps128(a)); }
LLM__VI_AVX512 float llm__v_sum_avx512(__m512 a) { return llm__v_sum_avx2(llm__v_halves_avx512(a)); }
LLM__VI_AVX512 void llm__v_sum4_avx512(float *out, __m512 a, __m512 b, __m512 c, __m512 d) {
    llm__v_sum4_avx2(out, llm__v_halves_avx512(a), llm__v_halves_avx512(b), llm__v_halves_avx512(c), llm__v_halves_avx512(d));
}
LLM__VI_AVX512 float llm__v_highest_avx512(__m512 a) { return llm__v_highest_avx2(llm__v_halves_avx512(a)); }
LLM__VI_AVX512 __m512 llm__v_load_elems_avx512(const uint8_t *p, llm__elem elem) {
    if (elem == LLM__HOST_F32 || elem == LLM__FILE_F32) {
        __m512i a = _mm512_loadu_si512(p);
        LLM__KEEP(a);
        return llm__v_of_bits_avx512(a);
    }
    if (elem == LLM__HOST_Q8) return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
    if (elem == LLM__FILE_BF16)
        return llm__v_of_bits_avx512(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16));
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
LLM__VI_AVX512 uint32_t llm__v_store_f16_avx512(uint16_t *p, __m512 a) { return llm__v_store_f16_avx2(p, llm__v_halves_avx512(a)); }
LLM__VI_AVX512 uint32_t llm__v_highest_bits_avx512(__m512 a, __m512 b) {
    return llm__v_highest_bits_avx2(llm__v_halves_avx512(a), llm__v_halves_avx512(b));
}
LLM__VI_AVX512 int16_t llm__v_store_q8_avx512(int8_t *q, __m512 a) { return llm__v_store_q8_avx2(q, llm__v_halves_avx512(a)); }
LLM__VI_AVX512 __m512 llm__v_dots32_avx512(const int8_t *q, const int8_t *k, size_t stride) {
    return llm__v_whole_avx512(llm__v_dots32_avx2(q, k, stride));
}
LLM__VI_AVX512 bool llm__v_any_nan_or_inf_avx512(__m512 a) { return llm__v_any_nan_or_inf_avx2(llm__v_halves_avx512(a)); }
LLM__VI_AVX512 void llm__v_load_pairs_avx512(const float *p, __m512 *even, __m512 *odd) {
    llm__v16_avx2 e, o;
    llm__v_load_pairs_avx2(p, &e, &o);
    *even = llm__v_whole_avx512(e);
    *odd = llm__v_whole_avx512(o);
}
LLM__VI_AVX512 void llm__v_store_pairs_avx512(float *p, __m512 even, __m512 odd) {
    llm__v_store_pairs_avx2(p, llm__v_halves_avx512(even), llm__v_halves_avx512(odd));
}
#endif

//---- NEON: four registers ------------------------------------------------------------------------------------------------------

#if LLM__HAS_NEON
typedef struct llm__v16_neon { float32x4_t a, b, c, d; } llm__v16_neon;

#define LLM__QUARTERS(a_value, b_value, c_value, d_value) \
    llm__v16_neon r; r.a = (a_value); r.b = (b_value); r.c = (c_value); r.d = (d_value); return r

LLM__LANE float32x4_t llm__v4_f32_neon(const uint8_t *p) { return vreinterpretq_f32_u8(vld1q_u8(p)); }      // at any address
LLM__LANE uint32x4_t  llm__v4_bits_neon(float32x4_t a) { return vreinterpretq_u32_f32(a); }
LLM__LANE llm__v16_neon llm__v_load_neon(const float *p) {
    LLM__QUARTERS(vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12));
}
LLM__LANE void llm__v_store_neon(float *p, llm__v16_neon x) {
    vst1q_f32(p, x.a); vst1q_f32(p + 4, x.b); vst1q_f32(p + 8, x.c); vst1q_f32(p + 12, x.d);
}
LLM__LANE llm__v16_neon llm__v_set_neon(float x) { LLM__QUARTERS(vdupq_n_f32(x), r.a, r.a, r.a); }
LLM__LANE llm__v16_neon llm__v_add_neon(llm__v16_neon x, llm__v16_neon y) {
    LLM__QUARTERS(vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d));
}
LLM__LANE llm__v16_neon llm__v_sub_neon(llm__v16_neon x, llm__v16_neon y) {
    LLM__QUARTERS(vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d));
}
LLM__LANE llm__v16_neon llm__v_mul_neon(llm__v16_neon x, llm__v16_neon y) {
    LLM__QUARTERS(vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d));
}
LLM__LANE llm__v16_neon llm__v_div_neon(llm__v16_neon x, llm__v16_neon y) {
    LLM__QUARTERS(vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d));
}
LLM__LANE llm__v16_neon llm__v_fma_neon(llm__v16_neon x, llm__v16_neon y, llm__v16_neon z) {
    LLM__QUARTERS(vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c), vfmaq_f32(z.d, x.d, y.d));
}
// Not FMAX, which makes a NaN of any NaN.
LLM__LANE float32x4_t llm__v4_max_neon(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
LLM__LANE llm__v16_neon llm__v_max_neon(llm__v16_neon x, llm__v16_neon y) {
    LLM__QUARTERS(llm__v4_max_neon(x.a, y.a), llm__v4_max_neon(x.b, y.b), llm__v4_max_neon(x.c, y.c), llm__v4_max_neon(x.d, y.d));
}
LLM__LANE llm__v16_neon llm__v_abs_neon(llm__v16_neon x) {
    LLM__QUARTERS(vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d));
}
LLM__LANE llm__v16_neon llm__v_negate_neon(llm__v16_neon x) {
    LLM__QUARTERS(vnegq_f32(x.a), vnegq_f32(x.b), vnegq_f32(x.c), vnegq_f32(x.d));
}
LLM__LANE llm__v16_neon llm__v_sign_of_neon(llm__v16_neon x, llm__v16_neon y) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    LLM__QUARTERS(vbslq_f32(sign, y.a, x.a), vbslq_f32(sign, y.b, x.b), vbslq_f32(sign, y.c, x.c), vbslq_f32(sign, y.d, x.d));
}
LLM__LANE llm__v16_neon llm__v_below_neon(llm__v16_neon x, llm__v16_neon limit, llm__v16_neon yes, llm__v16_neon no) {
    LLM__QUARTERS(vbslq_f32(vcltq_f32(x.a, limit.a), yes.a, no.a), vbslq_f32(vcltq_f32(x.b, limit.b), yes.b, no.b),
                  vbslq_f32(vcltq_f32(x.c, limit.c), yes.c, no.c), vbslq_f32(vcltq_f32(x.d, limit.d), yes.d, no.d));
}
LLM__LANE float32x4_t llm__v4_times_2_to_neon(float32x4_t a, float32x4_t t) {
    return vreinterpretq_f32_u32(vaddq_u32(llm__v4_bits_neon(a), vshlq_n_u32(llm__v4_bits_neon(t), 23)));
}
LLM__LANE llm__v16_neon llm__v_times_2_to_neon(llm__v16_neon x, llm__v16_neon t) {
    LLM__QUARTERS(llm__v4_times_2_to_neon(x.a, t.a), llm__v4_times_2_to_neon(x.b, t.b),
                  llm__v4_times_2_to_neon(x.c, t.c), llm__v4_times_2_to_neon(x.d, t.d));
}
LLM__LANE float32x4_t llm__v4_first_of_neon(uint32x4_t n, uint32_t base, float32x4_t a, float32x4_t b) {
    static const uint32_t at[4] = { 0, 1, 2, 3 };
    return vbslq_f32(vcltq_u32(vaddq_u32(vld1q_u32(at), vdupq_n_u32(base)), n), a, b);
}
LLM__LANE llm__v16_neon llm__v_first_of_neon(size_t n, llm__v16_neon x, llm__v16_neon y) {
    const uint32x4_t count = vdupq_n_u32((uint32_t)n);
    LLM__QUARTERS(llm__v4_first_of_neon(count, 0, x.a, y.a), llm__v4_first_of_neon(count, 4, x.b, y.b),
                  llm__v4_first_of_neon(count, 8, x.c, y.c), llm__v4_first_of_neon(count, 12, x.d, y.d));
}
LLM__LANE float llm__v_first_neon(llm__v16_neon x) { return vgetq_lane_f32(x.a, 0); }
LLM__LANE float32x4_t llm__v4_sums_neon(llm__v16_neon x) { return vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d)); }
LLM__LANE float llm__v_sum_neon(llm__v16_neon x) {
    const float32x4_t t = llm__v4_sums_neon(x);
    return vaddv_f32(vadd_f32(vget_low_f32(t), vget_high_f32(t)));
}
// Four trees at a time.
LLM__LANE float32x4_t llm__v4_two_trees_neon(float32x4_t a, float32x4_t b) {
    const float64x2_t x = vreinterpretq_f64_f32(a), y = vreinterpretq_f64_f32(b);
    return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(x, y)), vreinterpretq_f32_f64(vzip2q_f64(x, y)));
}
LLM__LANE void llm__v_sum4_neon(float *out, llm__v16_neon x, llm__v16_neon y, llm__v16_neon z, llm__v16_neon w) {
    vst1q_f32(out, vpaddq_f32(llm__v4_two_trees_neon(llm__v4_sums_neon(x), llm__v4_sums_neon(y)),
                              llm__v4_two_trees_neon(llm__v4_sums_neon(z), llm__v4_sums_neon(w))));
}
LLM__LANE float llm__v_highest_neon(llm__v16_neon x) {
    float32x4_t t = llm__v4_max_neon(llm__v4_max_neon(x.d, x.b), llm__v4_max_neon(x.c, x.a));
    t = llm__v4_max_neon(vextq_f32(t, t, 2), t);
    return vgetq_lane_f32(llm__v4_max_neon(vextq_f32(t, t, 1), t), 0);
}
LLM__LANE llm__v16_neon llm__v_load_elems_neon(const uint8_t *p, llm__elem elem) {
    if (elem == LLM__HOST_Q8) {
        const int8x16_t v = vld1q_s8((const int8_t *)p);
        const int16x8_t x = vmovl_s8(vget_low_s8(v)), y = vmovl_high_s8(v);
        LLM__QUARTERS(vcvtq_f32_s32(vmovl_s16(vget_low_s16(x))), vcvtq_f32_s32(vmovl_high_s16(x)),
                      vcvtq_f32_s32(vmovl_s16(vget_low_s16(y))), vcvtq_f32_s32(vmovl_high_s16(y)));
    } else if (elem == LLM__HOST_F32 || elem == LLM__FILE_F32) {
        LLM__QUARTERS(llm__v4_f32_neon(p), llm__v4_f32_neon(p + 16), llm__v4_f32_neon(p + 32), llm__v4_f32_neon(p + 48));
    } else if (elem == LLM__FILE_BF16) {
        const uint16x8_t x = vreinterpretq_u16_u8(vld1q_u8(p)), y = vreinterpretq_u16_u8(vld1q_u8(p + 16)), zero = vdupq_n_u16(0);
        LLM__QUARTERS(vreinterpretq_f32_u16(vzip1q_u16(zero, x)), vreinterpretq_f32_u16(vzip2q_u16(zero, x)),
                      vreinterpretq_f32_u16(vzip1q_u16(zero, y)), vreinterpretq_f32_u16(vzip2q_u16(zero, y)));
    } else {
        const float16x8_t x = vreinterpretq_f16_u8(vld1q_u8(p)), y = vreinterpretq_f16_u8(vld1q_u8(p + 16));
        LLM__QUARTERS(vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x), vcvt_f32_f16(vget_low_f16(y)), vcvt_high_f32_f16(y));
    }
}
// Two products stay within 2 * 127^2 < 2^15.
LLM__LANE int32x4_t llm__v4_products_neon(const int8_t *q, const int8_t *k) {
    const int8x16_t q0 = vld1q_s8(q), q1 = vld1q_s8(q + 16), k0 = vld1q_s8(k), k1 = vld1q_s8(k + 16);
    const int16x8_t a = vmlal_high_s8(vmull_s8(vget_low_s8(q0), vget_low_s8(k0)), q0, k0);
    const int16x8_t b = vmlal_high_s8(vmull_s8(vget_low_s8(q1), vget_low_s8(k1)), q1, k1);
    return vpadalq_s16(vpaddlq_s16(a), b);
}
LLM__LANE float32x4_t llm__v4_dots32_neon(const int8_t *q, const int8_t *k, size_t stride) {
    const int32x4_t ab = vpaddq_s32(llm__v4_products_neon(q, k), llm__v4_products_neon(q, k + stride));
    const int32x4_t cd = vpaddq_s32(llm__v4_products_neon(q, k + 2 * stride), llm__v4_products_neon(q, k + 3 * stride));
    return vcvtq_f32_s32(vpaddq_s32(ab, cd));
}
LLM__LANE llm__v16_neon llm__v_dots32_neon(const int8_t *q, const int8_t *k, size_t stride) {
    LLM__QUARTERS(llm__v4_dots32_neon(q, k, stride), llm__v4_dots32_neon(q, k + 4 * stride, stride),
                  llm__v4_dots32_neon(q, k + 8 * stride, stride), llm__v4_dots32_neon(q, k + 12 * stride, stride));
}
// The conversion would round 65520 and more to infinity. `large` counts down by one per lane.
LLM__LANE float16x4_t llm__v4_f16_neon(float32x4_t a, uint32x4_t *large) {
    const uint32x4_t size = vandq_u32(llm__v4_bits_neon(a), vdupq_n_u32(0x7fffffffu));
    const uint32x4_t over = vandq_u32(vcgeq_u32(size, vdupq_n_u32(0x477ff000u)), vcltq_u32(size, vdupq_n_u32(0x7f800000u)));
    *large = vaddq_u32(*large, over);
    return vcvt_f16_f32(vbslq_f32(vandq_u32(over, vdupq_n_u32(0x7fffffffu)), vdupq_n_f32(65504.0f), a));
}
LLM__LANE uint32_t llm__v_store_f16_neon(uint16_t *p, llm__v16_neon x) {
    uint32x4_t large = vdupq_n_u32(0);
    vst1_u16(p, vreinterpret_u16_f16(llm__v4_f16_neon(x.a, &large)));
    vst1_u16(p + 4, vreinterpret_u16_f16(llm__v4_f16_neon(x.b, &large)));
    vst1_u16(p + 8, vreinterpret_u16_f16(llm__v4_f16_neon(x.c, &large)));
    vst1_u16(p + 12, vreinterpret_u16_f16(llm__v4_f16_neon(x.d, &large)));
    return 0u - vaddvq_u32(large);
}
LLM__LANE uint32x4_t llm__v4_highest_bits_neon(llm__v16_neon x) {
    const uint32x4_t size = vdupq_n_u32(0x7fffffffu);
    return vmaxq_u32(vmaxq_u32(vandq_u32(size, llm__v4_bits_neon(x.a)), vandq_u32(size, llm__v4_bits_neon(x.b))),
                     vmaxq_u32(vandq_u32(size, llm__v4_bits_neon(x.c)), vandq_u32(size, llm__v4_bits_neon(x.d))));
}
LLM__LANE uint32_t llm__v_highest_bits_neon(llm__v16_neon x, llm__v16_neon y) {
    return vmaxvq_u32(vmaxq_u32(llm__v4_highest_bits_neon(x), llm__v4_highest_bits_neon(y)));
}
LLM__LANE int16_t llm__v_store_q8_neon(int8_t *q, llm__v16_neon x) {
    const int16x8_t lo = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(x.a)), vmovn_s32(vcvtnq_s32_f32(x.b)));
    const int16x8_t hi = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(x.c)), vmovn_s32(vcvtnq_s32_f32(x.d)));
    vst1q_s8(q, vcombine_s8(vmovn_s16(lo), vmovn_s16(hi)));
    return vaddvq_s16(vaddq_s16(lo, hi));
}
LLM__LANE uint32x4_t llm__v4_nan_or_inf_neon(float32x4_t a) {
    const uint32x4_t u = llm__v4_bits_neon(a), inf = vdupq_n_u32(0x7f800000u);
    return vorrq_u32(vceqq_u32(u, inf), vcgtq_u32(vandq_u32(u, vdupq_n_u32(0x7fffffffu)), inf));
}
LLM__LANE bool llm__v_any_nan_or_inf_neon(llm__v16_neon x) {
    return vmaxvq_u32(vorrq_u32(vorrq_u32(llm__v4_nan_or_inf_neon(x.a), llm__v4_nan_or_inf_neon(x.b)),
                                vorrq_u32(llm__v4_nan_or_inf_neon(x.c), llm__v4_nan_or_inf_neon(x.d)))) != 0;
}
LLM__LANE void llm__v_load_pairs_neon(const float *p, llm__v16_neon *even, llm__v16_neon *odd) {
    float32x4x2_t t;
    t = vld2q_f32(p);      even->a = t.val[0]; odd->a = t.val[1];
    t = vld2q_f32(p + 8);  even->b = t.val[0]; odd->b = t.val[1];
    t = vld2q_f32(p + 16); even->c = t.val[0]; odd->c = t.val[1];
    t = vld2q_f32(p + 24); even->d = t.val[0]; odd->d = t.val[1];
}
LLM__LANE void llm__v_store_pairs_neon(float *p, llm__v16_neon even, llm__v16_neon odd) {
    float32x4x2_t t;
    t.val[0] = even.a; t.val[1] = odd.a; vst2q_f32(p, t);
    t.val[0] = even.b; t.val[1] = odd.b; vst2q_f32(p + 8, t);
    t.val[0] = even.c; t.val[1] = odd.c; vst2q_f32(p + 16, t);
    t.val[0] = even.d; t.val[1] = odd.d; vst2q_f32(p + 24, t);
}
#endif

//---- WASM SIMD128: four registers, and no fused multiply-add -------------------------------------------------------------------

#if LLM__HAS_WASM128
typedef struct llm__v16_wasm { v128_t a, b, c, d; } llm__v16_wasm;

#define LLM__WASM_QUARTERS(a_value, b_value, c_value, d_value) \
    llm__v16_wasm r; r.a = (a_value); r.b = (b_value); r.c = (c_value); r.d = (d_value); return r

LLM__LANE llm__v16_wasm llm__v_load_wasm(const float *p) {
    LLM__WASM_QUARTERS(wasm_v128_load(p), wasm_v128_load(p + 4), wasm_v128_load(p + 8), wasm_v128_load(p + 12));
}
LLM__LANE void llm__v_store_wasm(float *p, llm__v16_wasm x) {
    wasm_v128_store(p, x.a); wasm_v128_store(p + 4, x.b); wasm_v128_store(p + 8, x.c); wasm_v128_store(p + 12, x.d);
}
LLM__LANE llm__v16_wasm llm__v_set_wasm(float x) { LLM__WASM_QUARTERS(wasm_f32x4_splat(x), r.a, r.a, r.a); }
LLM__LANE llm__v16_wasm llm__v_add_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    LLM__WASM_QUARTERS(wasm_f32x4_add(x.a, y.a), wasm_f32x4_add(x.b, y.b), wasm_f32x4_add(x.c, y.c), wasm_f32x4_add(x.d, y.d));
}
LLM__LANE llm__v16_wasm llm__v_sub_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    LLM__WASM_QUARTERS(wasm_f32x4_sub(x.a, y.a), wasm_f32x4_sub(x.b, y.b), wasm_f32x4_sub(x.c, y.c), wasm_f32x4_sub(x.d, y.d));
}
LLM__LANE llm__v16_wasm llm__v_mul_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    LLM__WASM_QUARTERS(wasm_f32x4_mul(x.a, y.a), wasm_f32x4_mul(x.b, y.b), wasm_f32x4_mul(x.c, y.c), wasm_f32x4_mul(x.d, y.d));
}
LLM__LANE llm__v16_wasm llm__v_div_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    LLM__WASM_QUARTERS(wasm_f32x4_div(x.a, y.a), wasm_f32x4_div(x.b, y.b), wasm_f32x4_div(x.c, y.c), wasm_f32x4_div(x.d, y.d));
}

// llm__fma in doubles: the product is exact, the sum is rounded, and rounding it once more to float is wrong only where it has come to lie
// half way between two floats. Such numbers end in 28 zeros; where any lane does (zeros do too), all of them are rounded to odd as
// llm__fma says. RELAXED: two roundings or one, as the engine likes, so never here.
typedef struct llm__v4_sums_wasm { v128_t lo, hi; } llm__v4_sums_wasm;         // lanes 0 1, lanes 2 3

LLM__LANE v128_t llm__v2_low_wasm(v128_t x) { return wasm_f64x2_promote_low_f32x4(x); }
LLM__LANE v128_t llm__v2_high_wasm(v128_t x) { return wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(x, x, 1, 1)); }
LLM__LANE llm__v4_sums_wasm llm__v4_fma_sums_wasm(v128_t x, v128_t y, v128_t z) {
    llm__v4_sums_wasm r;
    r.lo = wasm_f64x2_add(wasm_f64x2_mul(llm__v2_low_wasm(x), llm__v2_low_wasm(y)), llm__v2_low_wasm(z));
    r.hi = wasm_f64x2_add(wasm_f64x2_mul(llm__v2_high_wasm(x), llm__v2_high_wasm(y)), llm__v2_high_wasm(z));
    return r;
}
LLM__LANE v128_t llm__v4_doubtful_wasm(llm__v4_sums_wasm r) {
    return wasm_i32x4_eq(wasm_i32x4_shl(wasm_i32x4_shuffle(r.lo, r.hi, 0, 2, 4, 6), 4), wasm_i32x4_const_splat(0));
}
LLM__LANE v128_t llm__v4_rounded_wasm(llm__v4_sums_wasm r) {
    return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(r.lo), wasm_f32x4_demote_f64x2_zero(r.hi), 0, 2);
}
// To odd: towards zero, and then the last bit is set, unless nothing is lost. The sign of e * r tells on which side the rest lies; it can
// neither overflow nor vanish, and is no number where r is none or infinite.
LLM__LANE v128_t llm__v2_sum_to_odd_wasm(v128_t p, v128_t q) {
    const v128_t r = wasm_f64x2_add(p, q), t = wasm_f64x2_sub(r, p), zero = wasm_f64x2_const_splat(0.0);
    const v128_t e = wasm_f64x2_add(wasm_f64x2_sub(p, wasm_f64x2_sub(r, t)), wasm_f64x2_sub(q, t));
    const v128_t side = wasm_f64x2_mul(e, r), above = wasm_f64x2_lt(side, zero), lost = wasm_v128_or(above, wasm_f64x2_gt(side, zero));
    return wasm_v128_or(wasm_i64x2_add(r, above), wasm_v128_and(lost, wasm_i64x2_const_splat(1)));
}
LLM__NOINLINE static v128_t llm__v4_fma_exact_wasm(v128_t x, v128_t y, v128_t z) {
    llm__v4_sums_wasm r;
    r.lo = llm__v2_sum_to_odd_wasm(wasm_f64x2_mul(llm__v2_low_wasm(x), llm__v2_low_wasm(y)), llm__v2_low_wasm(z));
    r.hi = llm__v2_sum_to_odd_wasm(wasm_f64x2_mul(llm__v2_high_wasm(x), llm__v2_high_wasm(y)), llm__v2_high_wasm(z));
    return llm__v4_rounded_wasm(r);
}
LLM__LANE v128_t llm__v4_fma_wasm(v128_t x, v128_t y, v128_t z) {
    const llm__v4_sums_wasm r = llm__v4_fma_sums_wasm(x, y, z);
    return wasm_v128_any_true(llm__v4_doubtful_wasm(r)) ? llm__v4_fma_exact_wasm(x, y, z) : llm__v4_rounded_wasm(r);
}
LLM__LANE llm__v16_wasm llm__v_fma_wasm(llm__v16_wasm x, llm__v16_wasm y, llm__v16_wasm z) {
    const llm__v4_sums_wasm a = llm__v4_fma_sums_wasm(x.a, y.a, z.a), b = llm__v4_fma_sums_wasm(x.b, y.b, z.b);
    const llm__v4_sums_wasm c = llm__v4_fma_sums_wasm(x.c, y.c, z.c), d = llm__v4_fma_sums_wasm(x.d, y.d, z.d);
    if (wasm_v128_any_true(wasm_v128_or(wasm_v128_or(llm__v4_doubtful_wasm(a), llm__v4_doubtful_wasm(b)),
                                        wasm_v128_or(llm__v4_doubtful_wasm(c), llm__v4_doubtful_wasm(d))))) {
        LLM__WASM_QUARTERS(llm__v4_fma_exact_wasm(x.a, y.a, z.a), llm__v4_fma_exact_wasm(x.b, y.b, z.b),
                           llm__v4_fma_exact_wasm(x.c, y.c, z.c), llm__v4_fma_exact_wasm(x.d, y.d, z.d));
    }
    {
        LLM__WASM_QUARTERS(llm__v4_rounded_wasm(a), llm__v4_rounded_wasm(b), llm__v4_rounded_wasm(c), llm__v4_rounded_wasm(d));
    }
}

LLM__LANE v128_t llm__v4_max_wasm(v128_t a, v128_t b) { return wasm_f32x4_pmax(b, a); }        // a > b ? a : b
LLM__LANE llm__v16_wasm llm__v_max_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    LLM__WASM_QUARTERS(llm__v4_max_wasm(x.a, y.a), llm__v4_max_wasm(x.b, y.b), llm__v4_max_wasm(x.c, y.c), llm__v4_max_wasm(x.d, y.d));
}
LLM__LANE llm__v16_wasm llm__v_abs_wasm(llm__v16_wasm x) {
    LLM__WASM_QUARTERS(wasm_f32x4_abs(x.a), wasm_f32x4_abs(x.b), wasm_f32x4_abs(x.c), wasm_f32x4_abs(x.d));
}
LLM__LANE llm__v16_wasm llm__v_negate_wasm(llm__v16_wasm x) {
    LLM__WASM_QUARTERS(wasm_f32x4_neg(x.a), wasm_f32x4_neg(x.b), wasm_f32x4_neg(x.c), wasm_f32x4_neg(x.d));
}
LLM__LANE llm__v16_wasm llm__v_sign_of_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    const v128_t sign = wasm_u32x4_const_splat(0x80000000u);
    LLM__WASM_QUARTERS(wasm_v128_bitselect(y.a, x.a, sign), wasm_v128_bitselect(y.b, x.b, sign),
                       wasm_v128_bitselect(y.c, x.c, sign), wasm_v128_bitselect(y.d, x.d, sign));
}
LLM__LANE llm__v16_wasm llm__v_below_wasm(llm__v16_wasm x, llm__v16_wasm limit, llm__v16_wasm yes, llm__v16_wasm no) {
    const v128_t a = wasm_f32x4_lt(x.a, limit.a), b = wasm_f32x4_lt(x.b, limit.b);
    const v128_t c = wasm_f32x4_lt(x.c, limit.c), d = wasm_f32x4_lt(x.d, limit.d);
    LLM__WASM_QUARTERS(wasm_v128_bitselect(yes.a, no.a, a), wasm_v128_bitselect(yes.b, no.b, b),
                       wasm_v128_bitselect(yes.c, no.c, c), wasm_v128_bitselect(yes.d, no.d, d));
}
LLM__LANE v128_t llm__v4_times_2_to_wasm(v128_t a, v128_t t) { return wasm_i32x4_add(a, wasm_i32x4_shl(t, 23)); }
LLM__LANE llm__v16_wasm llm__v_times_2_to_wasm(llm__v16_wasm x, llm__v16_wasm t) {
    LLM__WASM_QUARTERS(llm__v4_times_2_to_wasm(x.a, t.a), llm__v4_times_2_to_wasm(x.b, t.b),
                       llm__v4_times_2_to_wasm(x.c, t.c), llm__v4_times_2_to_wasm(x.d, t.d));
}
LLM__LANE v128_t llm__v4_first_of_wasm(v128_t n, int32_t base, v128_t a, v128_t b) {
    return wasm_v128_bitselect(a, b, wasm_i32x4_lt(wasm_i32x4_make(base, base + 1, base + 2, base + 3), n));
}
LLM__LANE llm__v16_wasm llm__v_first_of_wasm(size_t n, llm__v16_wasm x, llm__v16_wasm y) {
    const v128_t count = wasm_i32x4_splat((int32_t)LLM__MIN(n, (size_t)16));
    LLM__WASM_QUARTERS(llm__v4_first_of_wasm(count, 0, x.a, y.a), llm__v4_first_of_wasm(count, 4, x.b, y.b),
                       llm__v4_first_of_wasm(count, 8, x.c, y.c), llm__v4_first_of_wasm(count, 12, x.d, y.d));
}
LLM__LANE float llm__v_first_wasm(llm__v16_wasm x) { return wasm_f32x4_extract_lane(x.a, 0); }
LLM__LANE v128_t llm__v4_tree_wasm(llm__v16_wasm x) {
    return wasm_f32x4_add(wasm_f32x4_add(x.a, x.c), wasm_f32x4_add(x.b, x.d));
}
LLM__LANE float llm__v_sum_wasm(llm__v16_wasm x) {
    v128_t t = llm__v4_tree_wasm(x);
    t = wasm_f32x4_add(t, wasm_i64x2_shuffle(t, t, 1, 1));
    return wasm_f32x4_extract_lane(t, 0) + wasm_f32x4_extract_lane(t, 1);
}
// Four trees at a time.
LLM__LANE v128_t llm__v4_two_trees_wasm(v128_t a, v128_t b) {
    return wasm_f32x4_add(wasm_i64x2_shuffle(a, b, 0, 2), wasm_i64x2_shuffle(a, b, 1, 3));
}
LLM__LANE void llm__v_sum4_wasm(float *out, llm__v16_wasm x, llm__v16_wasm y, llm__v16_wasm z, llm__v16_wasm w) {
    const v128_t xy = llm__v4_two_trees_wasm(llm__v4_tree_wasm(x), llm__v4_tree_wasm(y));
    const v128_t zw = llm__v4_two_trees_wasm(llm__v4_tree_wasm(z), llm__v4_tree_wasm(w));
    wasm_v128_store(out, wasm_f32x4_add(wasm_i32x4_shuffle(xy, zw, 0, 2, 4, 6), wasm_i32x4_shuffle(xy, zw, 1, 3, 5, 7)));
}
LLM__LANE float llm__v_highest_wasm(llm__v16_wasm x) {
    v128_t t = llm__v4_max_wasm(llm__v4_max_wasm(x.d, x.b), llm__v4_max_wasm(x.c, x.a));
    t = llm__v4_max_wasm(wasm_i64x2_shuffle(t, t, 1, 1), t);
    return wasm_f32x4_extract_lane(llm__v4_max_wasm(wasm_i32x4_shuffle(t, t, 1, 1, 1, 1), t), 0);
}
// F16 in the low half of each lane -> F32. Exponent and fraction, moved up, are a number 2^112 times too small; subnormals come out normal.
LLM__LANE v128_t llm__v4_of_f16_wasm(v128_t h) {
    const v128_t size = wasm_v128_and(h, wasm_i32x4_const_splat(0x7fff));
    const v128_t f = wasm_f32x4_mul(wasm_i32x4_shl(size, 13), wasm_i32x4_const_splat(0x77800000));
    const v128_t huge = wasm_v128_and(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x7bff)), wasm_i32x4_const_splat(0x7f800000));
    return wasm_v128_or(wasm_v128_or(f, huge), wasm_i32x4_shl(wasm_v128_xor(h, size), 16));
}
LLM__LANE v128_t llm__v4_of_i8_wasm(v128_t i16, bool upper) {
    return wasm_f32x4_convert_i32x4(upper ? wasm_i32x4_extend_high_i16x8(i16) : wasm_i32x4_extend_low_i16x8(i16));
}
LLM__LANE llm__v16_wasm llm__v_load_elems_wasm(const uint8_t *p, llm__elem elem) {
    if (elem == LLM__HOST_Q8) {
        const v128_t v = wasm_v128_load(p), x = wasm_i16x8_extend_low_i8x16(v), y = wasm_i16x8_extend_high_i8x16(v);
        LLM__WASM_QUARTERS(llm__v4_of_i8_wasm(x, false), llm__v4_of_i8_wasm(x, true),
                           llm__v4_of_i8_wasm(y, false), llm__v4_of_i8_wasm(y, true));
    } else if (elem == LLM__HOST_F32 || elem == LLM__FILE_F32) {
        LLM__WASM_QUARTERS(wasm_v128_load(p), wasm_v128_load(p + 16), wasm_v128_load(p + 32), wasm_v128_load(p + 48));
    } else {
        const v128_t x = wasm_v128_load(p), y = wasm_v128_load(p + 16);
        const v128_t a = wasm_u32x4_extend_low_u16x8(x), b = wasm_u32x4_extend_high_u16x8(x);
        const v128_t c = wasm_u32x4_extend_low_u16x8(y), d = wasm_u32x4_extend_high_u16x8(y);
        if (elem == LLM__FILE_BF16) {
            LLM__WASM_QUARTERS(wasm_i32x4_shl(a, 16), wasm_i32x4_shl(b, 16), wasm_i32x4_shl(c, 16), wasm_i32x4_shl(d, 16));
        } else {
            LLM__WASM_QUARTERS(llm__v4_of_f16_wasm(a), llm__v4_of_f16_wasm(b), llm__v4_of_f16_wasm(c), llm__v4_of_f16_wasm(d));
        }
    }
}
// 32 integers, eight in a register.
typedef struct llm__wasm_row { v128_t k0, k8, k16, k24; } llm__wasm_row;

LLM__LANE llm__wasm_row llm__wasm_row_at(const int8_t *q) {
    llm__wasm_row r;
    r.k0 = wasm_i16x8_load8x8(q);       r.k8 = wasm_i16x8_load8x8(q + 8);
    r.k16 = wasm_i16x8_load8x8(q + 16); r.k24 = wasm_i16x8_load8x8(q + 24);
    return r;
}
// Sums of products of the first sixteen, of the last sixteen, and of all: in four lanes, still to be folded.
LLM__LANE v128_t llm__wasm_first(llm__wasm_row w, llm__wasm_row x) {
    return wasm_i32x4_add(wasm_i32x4_dot_i16x8(w.k0, x.k0), wasm_i32x4_dot_i16x8(w.k8, x.k8));
}
LLM__LANE v128_t llm__wasm_second(llm__wasm_row w, llm__wasm_row x) {
    return wasm_i32x4_add(wasm_i32x4_dot_i16x8(w.k16, x.k16), wasm_i32x4_dot_i16x8(w.k24, x.k24));
}
LLM__LANE v128_t llm__wasm_both(llm__wasm_row w, llm__wasm_row x) {
    return wasm_i32x4_add(llm__wasm_first(w, x), llm__wasm_second(w, x));
}
LLM__LANE v128_t llm__wasm_fold(v128_t a, v128_t b, v128_t c, v128_t d) {
    const v128_t ab = wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
    const v128_t cd = wasm_i32x4_add(wasm_i32x4_shuffle(c, d, 0, 2, 4, 6), wasm_i32x4_shuffle(c, d, 1, 3, 5, 7));
    return wasm_i32x4_add(wasm_i32x4_shuffle(ab, cd, 0, 2, 4, 6), wasm_i32x4_shuffle(ab, cd, 1, 3, 5, 7));
}
LLM__LANE v128_t llm__v4_dots32_wasm(llm__wasm_row q, const int8_t *k, size_t stride) {
    return wasm_f32x4_convert_i32x4(llm__wasm_fold(
        llm__wasm_both(q, llm__wasm_row_at(k)), llm__wasm_both(q, llm__wasm_row_at(k + stride)),
        llm__wasm_both(q, llm__wasm_row_at(k + 2 * stride)), llm__wasm_both(q, llm__wasm_row_at(k + 3 * stride))));
}
LLM__LANE llm__v16_wasm llm__v_dots32_wasm(const int8_t *q, const int8_t *k, size_t stride) {
    const llm__wasm_row x = llm__wasm_row_at(q);
    LLM__WASM_QUARTERS(llm__v4_dots32_wasm(x, k, stride), llm__v4_dots32_wasm(x, k + 4 * stride, stride),
                       llm__v4_dots32_wasm(x, k + 8 * stride, stride), llm__v4_dots32_wasm(x, k + 12 * stride, stride));
}
// N7 without an instruction: below the normal range 0.5 is added, whose last bit is worth a subnormal's; above, the fraction is rounded as
// an integer. `large` counts down by one per lane that saturates.
LLM__LANE v128_t llm__v4_f16_wasm(v128_t a, v128_t *large) {
    const v128_t every = wasm_i32x4_const_splat(0x7fffffff), infinity = wasm_i32x4_const_splat(0x7f800000);
    const v128_t u = wasm_v128_and(a, every), size = wasm_i32x4_min(u, wasm_i32x4_const_splat(0x477fe000));
    const v128_t half = wasm_i32x4_const_splat(0x3f000000), odd = wasm_v128_and(wasm_i32x4_shr(size, 13), wasm_i32x4_const_splat(1));
    const v128_t subnormal = wasm_i32x4_sub(wasm_f32x4_add(size, half), half);
    const v128_t normal = wasm_i32x4_shr(wasm_i32x4_add(wasm_i32x4_add(size, odd), wasm_i32x4_const_splat(0xfff - 0x38000000)), 13);
    const v128_t h = wasm_v128_bitselect(subnormal, normal, wasm_i32x4_lt(size, wasm_i32x4_const_splat(0x38800000)));
    const v128_t nan = wasm_v128_or(wasm_i32x4_const_splat(0x200), wasm_v128_and(wasm_i32x4_shr(u, 13), wasm_i32x4_const_splat(0x3ff)));
    const v128_t special = wasm_v128_or(wasm_i32x4_const_splat(0x7c00), wasm_v128_and(nan, wasm_i32x4_gt(u, infinity)));
    const v128_t finite = wasm_i32x4_lt(u, infinity);
    *large = wasm_i32x4_add(*large, wasm_v128_and(finite, wasm_i32x4_gt(u, wasm_i32x4_const_splat(0x477fefff))));
    return wasm_v128_or(wasm_v128_bitselect(h, special, finite), wasm_u32x4_shr(wasm_v128_andnot(a, every), 16));
}
LLM__LANE uint32_t llm__v_store_f16_wasm(uint16_t *p, llm__v16_wasm x) {
    v128_t large = wasm_i32x4_const_splat(0);
    const v128_t a = llm__v4_f16_wasm(x.a, &large), b = llm__v4_f16_wasm(x.b, &large);
    const v128_t c = llm__v4_f16_wasm(x.c, &large), d = llm__v4_f16_wasm(x.d, &large);
    wasm_v128_store(p, wasm_u16x8_narrow_i32x4(a, b));
    wasm_v128_store(p + 8, wasm_u16x8_narrow_i32x4(c, d));
    large = wasm_i32x4_add(large, wasm_i64x2_shuffle(large, large, 1, 1));
    return 0u - (uint32_t)(wasm_i32x4_extract_lane(large, 0) + wasm_i32x4_extract_lane(large, 1));
}
LLM__LANE v128_t llm__v4_highest_bits_wasm(llm__v16_wasm x) {
    const v128_t size = wasm_i32x4_const_splat(0x7fffffff);
    return wasm_i32x4_max(wasm_i32x4_max(wasm_v128_and(size, x.a), wasm_v128_and(size, x.b)),
                          wasm_i32x4_max(wasm_v128_and(size, x.c), wasm_v128_and(size, x.d)));
}
LLM__LANE uint32_t llm__v_highest_bits_wasm(llm__v16_wasm x, llm__v16_wasm y) {
    v128_t m = wasm_i32x4_max(llm__v4_highest_bits_wasm(x), llm__v4_highest_bits_wasm(y));
    m = wasm_i32x4_max(m, wasm_i64x2_shuffle(m, m, 1, 1));
    return (uint32_t)wasm_i32x4_extract_lane(wasm_i32x4_max(m, wasm_i32x4_shuffle(m, m, 1, 1, 1, 1)), 0);
}
LLM__LANE v128_t llm__v4_nearest_wasm(v128_t a) {
    return wasm_i32x4_sub(wasm_f32x4_add(a, wasm_f32x4_const_splat(LLM__ROUND_MAGIC)), wasm_i32x4_const_splat(0x4b400000));
}
LLM__LANE int16_t llm__v_store_q8_wasm(int8_t *q, llm__v16_wasm x) {
    const v128_t lo = wasm_i16x8_narrow_i32x4(llm__v4_nearest_wasm(x.a), llm__v4_nearest_wasm(x.b));
    const v128_t hi = wasm_i16x8_narrow_i32x4(llm__v4_nearest_wasm(x.c), llm__v4_nearest_wasm(x.d));
    v128_t s = wasm_i32x4_dot_i16x8(wasm_i16x8_add(lo, hi), wasm_i16x8_const_splat(1));
    wasm_v128_store(q, wasm_i8x16_narrow_i16x8(lo, hi));
    s = wasm_i32x4_add(s, wasm_i64x2_shuffle(s, s, 1, 1));
    return (int16_t)(wasm_i32x4_extract_lane(s, 0) + wasm_i32x4_extract_lane(s, 1));
}
LLM__LANE v128_t llm__v4_nan_or_inf_wasm(v128_t a) {
    const v128_t inf = wasm_i32x4_const_splat(0x7f800000);
    return wasm_v128_or(wasm_i32x4_eq(a, inf), wasm_i32x4_gt(wasm_v128_and(a, wasm_i32x4_const_splat(0x7fffffff)), inf));
}
LLM__LANE bool llm__v_any_nan_or_inf_wasm(llm__v16_wasm x) {
    return wasm_v128_any_true(wasm_v128_or(wasm_v128_or(llm__v4_nan_or_inf_wasm(x.a), llm__v4_nan_or_inf_wasm(x.b)),
                                           wasm_v128_or(llm__v4_nan_or_inf_wasm(x.c), llm__v4_nan_or_inf_wasm(x.d)))) != 0;
}
LLM__LANE void llm__v4_load_pairs_wasm(const float *p, v128_t *even, v128_t *odd) {
    const v128_t a = wasm_v128_load(p), b = wasm_v128_load(p + 4);
    *even = wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
    *odd = wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
}
LLM__LANE void llm__v_load_pairs_wasm(const float *p, llm__v16_wasm *even, llm__v16_wasm *odd) {
    llm__v4_load_pairs_wasm(p, &even->a, &odd->a);
    llm__v4_load_pairs_wasm(p + 8, &even->b, &odd->b);
    llm__v4_load_pairs_wasm(p + 16, &even->c, &odd->c);
    llm__v4_load_pairs_wasm(p + 24, &even->d, &odd->d);
}
LLM__LANE void llm__v4_store_pairs_wasm(float *p, v128_t even, v128_t odd) {
    wasm_v128_store(p, wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5));
    wasm_v128_store(p + 4, wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7));
}
LLM__LANE void llm__v_store_pairs_wasm(float *p, llm__v16_wasm even, llm__v16_wasm odd) {
    llm__v4_store_pairs_wasm(p, even.a, odd.a);
    llm__v4_store_pairs_wasm(p + 8, even.b, odd.b);
    llm__v4_store_pairs_wasm(p + 16, even.c, odd.c);
    llm__v4_store_pairs_wasm(p + 24, even.d, odd.d);
}
#endif
#endif // whole

//---- begin pass ----------------------------------------------------------------------------------------------------------------
// Read once per instruction set. LLM__V(name) is that set's name, LLM__V16 its sixteen lanes, LLM__VT what a function needs in front,
// LLM__VI the same for one that is part of a kernel, LLM__V_WIDE says that 32 registers hold sixteen lanes each.
#if defined(LLM__PASS) && LLM__PASS == LLM__PASS_VECTORS

LLM__VI LLM__V16 LLM__V(v_load_n)(const float *p, size_t n) {       // the other lanes are +0
    float part[16];
    if (n >= 16) return LLM__V(v_load)(p);
    memset(part, 0, sizeof part);
    memcpy(part, p, n * sizeof *p);
    return LLM__V(v_load)(part);
}
LLM__VI void LLM__V(v_store_n)(float *p, LLM__V16 a, size_t n) {
    float part[16];
    if (n >= 16) { LLM__V(v_store)(p, a); return; }
    LLM__V(v_store)(part, a);
    memcpy(p, part, n * sizeof *p);
}
LLM__VI LLM__V16 LLM__V(v_load_elems_n)(const uint8_t *p, llm__elem elem, size_t n) {
    uint8_t part[64];
    memset(part, 0, sizeof part);
    memcpy(part, p, n * LLM__ELEM_BYTES(elem));
    return LLM__V(v_load_elems)(part, elem);
}
// Lanes from n on stay untouched: adding +0 to them would change -0.
LLM__VI LLM__V16 LLM__V(v_fma_n)(LLM__V16 a, LLM__V16 b, LLM__V16 c, size_t n) {
    LLM__V16 r = LLM__V(v_fma)(a, b, c);
    return n >= 16 ? r : LLM__V(v_first_of)(n, r, c);
}

// N6. At most 0.90 ulp from -87 to 88; below it is 0 and above infinity, and x + inf keeps a NaN: the two selections at the end.
LLM__VI LLM__V16 LLM__V(v_exp)(LLM__V16 x) {
    LLM__V16 one = LLM__V(v_set)(1.0f), magic = LLM__V(v_set)(LLM__ROUND_MAGIC);
    LLM__V16 t = LLM__V(v_fma)(x, LLM__V(v_set)(LLM__LOG2E), magic);
    LLM__V16 n = LLM__V(v_sub)(t, magic), r, p;
    r = LLM__V(v_fma)(n, LLM__V(v_set)(-LLM__LN2_HIGH), x);
    r = LLM__V(v_fma)(n, LLM__V(v_set)(-LLM__LN2_LOW), r);
    p = LLM__V(v_set)(LLM__EXP_6);
    p = LLM__V(v_fma)(p, r, LLM__V(v_set)(LLM__EXP_5));
    p = LLM__V(v_fma)(p, r, LLM__V(v_set)(LLM__EXP_4));
    p = LLM__V(v_fma)(p, r, LLM__V(v_set)(LLM__EXP_3));
    p = LLM__V(v_fma)(p, r, LLM__V(v_set)(LLM__EXP_2));
    p = LLM__V(v_fma)(p, r, one);
    p = LLM__V(v_fma)(p, r, one);
    p = LLM__V(v_times_2_to)(p, t);                                             // -126 <= n <= 127, and p * 2^n is normal
    p = LLM__V(v_below)(x, LLM__V(v_set)(88.0000076f), p, LLM__V(v_add)(x, LLM__V(v_set)(LLM__F32_INF)));       // next after 88
    return LLM__V(v_below)(x, LLM__V(v_set)(-87.0f), LLM__V(v_set)(0.0f), p);
}
// At most 1.37 ulp over all floats.
LLM__VI LLM__V16 LLM__V(v_tanh)(LLM__V16 x) {
    LLM__V16 a = LLM__V(v_abs)(x), z = LLM__V(v_mul)(a, a), one = LLM__V(v_set)(1.0f), two = LLM__V(v_set)(2.0f), p, e;
    p = LLM__V(v_set)(LLM__TANH_11);
    p = LLM__V(v_fma)(p, z, LLM__V(v_set)(LLM__TANH_9));
    p = LLM__V(v_fma)(p, z, LLM__V(v_set)(LLM__TANH_7));
    p = LLM__V(v_fma)(p, z, LLM__V(v_set)(LLM__TANH_5));
    p = LLM__V(v_fma)(p, z, LLM__V(v_set)(LLM__TANH_3));
    p = LLM__V(v_fma)(p, LLM__V(v_mul)(z, a), a);
    e = LLM__V(v_exp)(LLM__V(v_add)(a, a));
    e = LLM__V(v_sub)(one, LLM__V(v_div)(two, LLM__V(v_add)(e, one)));
    return LLM__V(v_sign_of)(LLM__V(v_below)(a, LLM__V(v_set)(LLM__TANH_SMALL), p, e), x);
}

static LLM__VT void LLM__V(vec_quantize)(const float *x, size_t n, int8_t *q, float *d, int16_t *s16) {
    size_t i;
    for (i = 0; i < n / 32; i++, x += 32, q += 32) {
        LLM__V16 a = LLM__V(v_load)(x), b = LLM__V(v_load)(x + 16), r;
        uint32_t m = LLM__V(v_highest_bits)(a, b);
        if (m < 0x1f800000u || m >= 0x7f800000u) {                              // below 2^-64, or not finite
            memset(q, 0, 32);
            s16[2 * i] = s16[2 * i + 1] = 0;
            d[i] = m < 0x1f800000u ? 0.0f : LLM__F32_NAN;
            continue;
        }
        d[i] = llm__bits_f32(m) / 127.0f;
        r = LLM__V(v_set)(127.0f / llm__bits_f32(m));
        s16[2 * i] = LLM__V(v_store_q8)(q, LLM__V(v_mul)(a, r));
        s16[2 * i + 1] = LLM__V(v_store_q8)(q + 16, LLM__V(v_mul)(b, r));
    }
}

static LLM__VT void LLM__V(vec_rmsnorm)(float *y, const float *x, const float *w, size_t n, float eps) {
    LLM__V16 acc = LLM__V(v_set)(0.0f), a, r;
    float mean;
    size_t i;
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_load_n)(x + i, n - i);
        acc = LLM__V(v_fma_n)(a, a, acc, n - i);
    }
    mean = LLM__V(v_sum)(acc) / (float)n;
    r = LLM__V(v_set)(1.0f / llm__sqrt(mean + eps));
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_mul)(LLM__V(v_load_n)(x + i, n - i), r);
        if (w) a = LLM__V(v_mul)(a, LLM__V(v_load_n)(w + i, n - i));
        LLM__V(v_store_n)(y + i, a, n - i);
    }
}

static LLM__VT void LLM__V(vec_add)(float *y, const float *x, size_t n) {
    size_t i;
    for (i = 0; i < n; i += 16)
        LLM__V(v_store_n)(y + i, LLM__V(v_add)(LLM__V(v_load_n)(y + i, n - i), LLM__V(v_load_n)(x + i, n - i)), n - i);
}
static LLM__VT void LLM__V(vec_add_scaled)(float *y, const float *x, float s, size_t n) {
    LLM__V16 scale = LLM__V(v_set)(s);
    size_t i;
    for (i = 0; i < n; i += 16)
        LLM__V(v_store_n)(y + i, LLM__V(v_fma)(scale, LLM__V(v_load_n)(x + i, n - i), LLM__V(v_load_n)(y + i, n - i)), n - i);
}
static LLM__VT void LLM__V(vec_scale)(float *y, float s, size_t n) {
    LLM__V16 scale = LLM__V(v_set)(s);
    size_t i;
    for (i = 0; i < n; i += 16)
        LLM__V(v_store_n)(y + i, LLM__V(v_mul)(LLM__V(v_load_n)(y + i, n - i), scale), n - i);
}
static LLM__VT void LLM__V(vec_affine)(float *y, float s, const float *bias, size_t n, bool bias_first) {
    LLM__V16 scale = LLM__V(v_set)(s), a;
    size_t i;
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_load_n)(y + i, n - i);
        if (bias && bias_first) a = LLM__V(v_add)(a, LLM__V(v_load_n)(bias + i, n - i));
        a = LLM__V(v_mul)(a, scale);
        if (bias && !bias_first) a = LLM__V(v_add)(a, LLM__V(v_load_n)(bias + i, n - i));
        LLM__V(v_store_n)(y + i, a, n - i);
    }
}

// silu(x) = x / (1 + exp(-x)). gelu in its tanh form is x / (1 + exp(-2 sqrt(2/pi) (x + 0.044715 x^3))): the same function, since
// (1 + tanh(t)) / 2 = 1 / (1 + exp(-2t)), but it does not cancel for negative x and needs no tanh. silu: 2.4 ulp down to -88, where
// it becomes -0; gelu: 1e-7 (1 + |y|), 2e-5 of y in the far tail.
static LLM__VT void LLM__V(vec_glu)(float *y, const float *gate, const float *up, size_t n, llm__act act) {
    LLM__V16 one = LLM__V(v_set)(1.0f), a, t;
    size_t i;
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_load_n)(gate + i, n - i);
        if (act == LLM__ACT_SILU) {
            t = LLM__V(v_negate)(a);
        } else {
            t = LLM__V(v_fma)(LLM__V(v_mul)(a, a), LLM__V(v_set)(LLM__GELU_3), LLM__V(v_set)(LLM__GELU_1));
            t = LLM__V(v_mul)(a, t);
        }
        a = LLM__V(v_div)(a, LLM__V(v_add)(one, LLM__V(v_exp)(t)));
        LLM__V(v_store_n)(y + i, LLM__V(v_mul)(a, LLM__V(v_load_n)(up + i, n - i)), n - i);
    }
}

LLM__VI LLM__V16 LLM__V(v_softcap)(LLM__V16 x, LLM__V16 cap) {
    return LLM__V(v_mul)(cap, LLM__V(v_tanh)(LLM__V(v_div)(x, cap)));
}
static LLM__VT void LLM__V(vec_softcap)(float *x, float cap, size_t n) {
    LLM__V16 c = LLM__V(v_set)(cap);
    size_t i;
    for (i = 0; i < n; i += 16) LLM__V(v_store_n)(x + i, LLM__V(v_softcap)(LLM__V(v_load_n)(x + i, n - i), c), n - i);
}

LLM__VI float LLM__V(highest)(const float *x, size_t n) {
    LLM__V16 lowest = LLM__V(v_set)(-LLM__F32_INF), m = lowest, a;
    size_t i;
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_load_n)(x + i, n - i);
        if (n - i < 16) a = LLM__V(v_first_of)(n - i, a, lowest);
        m = LLM__V(v_max)(a, m);
    }
    return LLM__V(v_highest)(m);
}
static LLM__VT void LLM__V(vec_softmax)(float *x, size_t n) {
    LLM__V16 zero = LLM__V(v_set)(0.0f), m = LLM__V(v_set)(LLM__V(highest)(x, n)), acc = zero, a;
    size_t i;
    for (i = 0; i < n; i += 16) {
        a = LLM__V(v_exp)(LLM__V(v_sub)(LLM__V(v_load_n)(x + i, n - i), m));
        LLM__V(v_store_n)(x + i, a, n - i);
        if (n - i < 16) a = LLM__V(v_first_of)(n - i, a, zero);                 // + 0 to a lane that is never -0
        acc = LLM__V(v_add)(acc, a);
    }
    acc = LLM__V(v_set)(LLM__V(v_sum)(acc));
    for (i = 0; i < n; i += 16) LLM__V(v_store_n)(x + i, LLM__V(v_div)(LLM__V(v_load_n)(x + i, n - i), acc), n - i);
}

static LLM__VT float LLM__V(vec_highest)(const float *x, size_t n, bool *bad) {
    float m = LLM__V(highest)(x, n);
    bool found = false;
    size_t i;
    for (i = 0; i < n; i += 16) found |= LLM__V(v_any_nan_or_inf)(LLM__V(v_load_n)(x + i, n - i));
    *bad = found || llm__f32_bits(m) == 0xff800000u;
    return m;
}
static LLM__VT void LLM__V(vec_exp_weights)(uint64_t *w, const float *x, float max, size_t n) {
    LLM__V16 m = LLM__V(v_set)(max);
    float e[16];
    size_t i, j;
    for (i = 0; i < n; i += 16) {
        LLM__V(v_store)(e, LLM__V(v_exp)(LLM__V(v_sub)(LLM__V(v_load_n)(x + i, n - i), m)));
        for (j = 0; j < 16 && j < n - i; j++)
            w[i + j] = llm__f32_bits(e[j]) <= 0x3f800000u ? (uint64_t)(e[j] * 4294967296.0f) : 0;       // x <= max, so e <= 1, unless NaN
    }
}

static LLM__VT void LLM__V(vec_to_f16)(uint16_t *dst, const float *src, size_t n, uint64_t *n_saturated) {
    uint16_t part[16];
    uint64_t saturated = 0;
    size_t i;
    for (i = 0; i + 16 <= n; i += 16) saturated += LLM__V(v_store_f16)(dst + i, LLM__V(v_load)(src + i));
    if (i < n) {
        saturated += LLM__V(v_store_f16)(part, LLM__V(v_load_n)(src + i, n - i));
        memcpy(dst + i, part, (n - i) * sizeof *dst);
    }
    if (n_saturated) *n_saturated += saturated;
}

// N7. A scale beyond F16 saturates, and its block with it: q ends at 127. A scale below F16 is 0. NaN or infinity anywhere in a block makes
// its scale NaN: the logits will show it.
static LLM__VT void LLM__V(vec_to_q8)(int8_t *q, uint16_t *d, const float *src, size_t n, uint64_t *n_saturated) {
    LLM__V16 most = LLM__V(v_set)(127.0f), least = LLM__V(v_set)(-127.0f), zero = LLM__V(v_set)(0.0f);
    size_t i, k;
    for (i = 0; i < n; i += 32, q += 32, d += LLM__PAGE) {
        LLM__V16 x[2];
        uint32_t m;
        float scale;
        x[0] = LLM__V(v_load_n)(src + i, n - i);
        x[1] = n - i > 16 ? LLM__V(v_load_n)(src + i + 16, n - i - 16) : zero;
        m = LLM__V(v_highest_bits)(x[0], x[1]);
        scale = llm__bits_f32(m) / 127.0f;
        *d = m < 0x7f800000u ? llm__f32_to_f16(scale) : 0x7e00u;
        if (n_saturated) *n_saturated += scale >= 65520.0f && m < 0x7f800000u;
        if (*d == 0 || m >= 0x7f800000u) { memset(q, 0, 32); continue; }
        scale = 1.0f / llm__f16_to_f32(*d);
        for (k = 0; k < 2; k++) {
            x[k] = LLM__V(v_mul)(x[k], LLM__V(v_set)(scale));
            x[k] = LLM__V(v_below)(x[k], most, x[k], most);
            LLM__V(v_store_q8)(q + 16 * k, LLM__V(v_below)(least, x[k], x[k], least));
        }
    }
}

// N8: y0 = fma(x0, c, -(x1 s)), y1 = fma(x0, s, x1 c).
LLM__VI void LLM__V(v_rotate)(LLM__V16 *x0, LLM__V16 *x1, LLM__V16 c, LLM__V16 s) {
    LLM__V16 y0 = LLM__V(v_fma)(*x0, c, LLM__V(v_negate)(LLM__V(v_mul)(*x1, s)));
    *x1 = LLM__V(v_fma)(*x0, s, LLM__V(v_mul)(*x1, c));
    *x0 = y0;
}
static LLM__VT void LLM__V(vec_rope)(float *x, const float *cos_sin, size_t n_pairs, bool neighbours) {
    LLM__V16 a, b, c, s;
    float angles[32], pairs[32];
    size_t i, n;
    for (i = 0; i < n_pairs; i += 16) {
        const float *cs = cos_sin + 2 * i;
        n = n_pairs - i;
        if (n < 16) {
            memset(angles, 0, sizeof angles);
            memcpy(angles, cs, 2 * n * sizeof *cs);
            cs = angles;
        }
        LLM__V(v_load_pairs)(cs, &c, &s);
        if (!neighbours) {
            a = LLM__V(v_load_n)(x + i, n);
            b = LLM__V(v_load_n)(x + n_pairs + i, n);
            LLM__V(v_rotate)(&a, &b, c, s);
            LLM__V(v_store_n)(x + i, a, n);
            LLM__V(v_store_n)(x + n_pairs + i, b, n);
        } else {
            float *at = x + 2 * i;
            if (n < 16) {
                memset(pairs, 0, sizeof pairs);
                memcpy(pairs, at, 2 * n * sizeof *at);
                at = pairs;
            }
            LLM__V(v_load_pairs)(at, &a, &b);
            LLM__V(v_rotate)(&a, &b, c, s);
            LLM__V(v_store_pairs)(at, a, b);
            if (n < 16) memcpy(x + 2 * i, pairs, 2 * n * sizeof *x);
        }
    }
}

// N5 dots of weights that are floats. Four rows and one token, or two rows and two tokens, go side by side: eight registers with AVX2.
// Rows or tokens that are not there repeat the last one and are not stored.
LLM__VI void LLM__V(dots4x1)(const llm__tile *t, const float *x, uint32_t row, float *out, llm__elem elem) {
    const uint32_t last = t->n_rows - 1, n = t->x->n;
    const uint8_t *p0 = t->w + t->row_bytes * row, *p1 = t->w + t->row_bytes * LLM__MIN(row + 1, last);
    const uint8_t *p2 = t->w + t->row_bytes * LLM__MIN(row + 2, last), *p3 = t->w + t->row_bytes * LLM__MIN(row + 3, last);
    LLM__V16 a0 = LLM__V(v_set)(0.0f), a1 = a0, a2 = a0, a3 = a0, v;
    const size_t ahead = 4 * t->row_bytes + 4096;                               // the next four rows, as one stream
    float sums[4];
    uint32_t i;
    for (i = 0; i + 16 <= n; i += 16) {
        size_t at = i * LLM__ELEM_BYTES(elem);
        llm__prefetch(p0, ahead + 4 * at, 64 * LLM__ELEM_BYTES(elem));
        v = LLM__V(v_load)(x + i);
        a0 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p0 + at, elem), a0);
        a1 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p1 + at, elem), a1);
        a2 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p2 + at, elem), a2);
        a3 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p3 + at, elem), a3);
    }
    if (i < n) {
        size_t at = i * LLM__ELEM_BYTES(elem);
        v = LLM__V(v_load_n)(x + i, n - i);
        a0 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p0 + at, elem, n - i), a0, n - i);
        a1 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p1 + at, elem, n - i), a1, n - i);
        a2 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p2 + at, elem, n - i), a2, n - i);
        a3 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p3 + at, elem, n - i), a3, n - i);
    }
    LLM__V(v_sum4)(sums, a0, a1, a2, a3);
    memcpy(out + row, sums, LLM__MIN(t->n_rows - row, 4u) * sizeof *out);
}
LLM__VI void LLM__V(dots2x2)(const llm__tile *t, const float *x0, const float *x1, uint32_t row, float *sums, llm__elem elem) {
    const uint32_t n = t->x->n;
    const uint8_t *p0 = t->w + t->row_bytes * row, *p1 = t->w + t->row_bytes * LLM__MIN(row + 1, t->n_rows - 1);
    LLM__V16 a00 = LLM__V(v_set)(0.0f), a01 = a00, a10 = a00, a11 = a00, w0, w1, v;
    uint32_t i;
    for (i = 0; i + 16 <= n; i += 16) {
        w0 = LLM__V(v_load_elems)(p0 + i * LLM__ELEM_BYTES(elem), elem);
        w1 = LLM__V(v_load_elems)(p1 + i * LLM__ELEM_BYTES(elem), elem);
        v = LLM__V(v_load)(x0 + i);
        a00 = LLM__V(v_fma)(v, w0, a00);
        a01 = LLM__V(v_fma)(v, w1, a01);
        v = LLM__V(v_load)(x1 + i);
        a10 = LLM__V(v_fma)(v, w0, a10);
        a11 = LLM__V(v_fma)(v, w1, a11);
    }
    if (i < n) {
        w0 = LLM__V(v_load_elems_n)(p0 + i * LLM__ELEM_BYTES(elem), elem, n - i);
        w1 = LLM__V(v_load_elems_n)(p1 + i * LLM__ELEM_BYTES(elem), elem, n - i);
        v = LLM__V(v_load_n)(x0 + i, n - i);
        a00 = LLM__V(v_fma_n)(v, w0, a00, n - i);
        a01 = LLM__V(v_fma_n)(v, w1, a01, n - i);
        v = LLM__V(v_load_n)(x1 + i, n - i);
        a10 = LLM__V(v_fma_n)(v, w0, a10, n - i);
        a11 = LLM__V(v_fma_n)(v, w1, a11, n - i);
    }
    LLM__V(v_sum4)(sums, a00, a01, a10, a11);
}
#if LLM__V_WIDE
// Four rows and three tokens, where there are registers for it: rows too long for the first cache come from the second, and each load
// serves three or four products.
typedef struct LLM__V(three) { LLM__V16 t0, t1, t2; } LLM__V(three);            // one per token

LLM__VI LLM__V(three) LLM__V(three_fma)(LLM__V16 w, LLM__V(three) x, LLM__V(three) a) {
    a.t0 = LLM__V(v_fma)(x.t0, w, a.t0);
    a.t1 = LLM__V(v_fma)(x.t1, w, a.t1);
    a.t2 = LLM__V(v_fma)(x.t2, w, a.t2);
    return a;
}
LLM__VI LLM__V(three) LLM__V(three_fma_n)(LLM__V16 w, LLM__V(three) x, LLM__V(three) a, size_t n) {
    a.t0 = LLM__V(v_fma_n)(x.t0, w, a.t0, n);
    a.t1 = LLM__V(v_fma_n)(x.t1, w, a.t1, n);
    a.t2 = LLM__V(v_fma_n)(x.t2, w, a.t2, n);
    return a;
}
LLM__VI void LLM__V(dots4x3)(const llm__tile *t, const float *x, uint32_t row, float (*sums)[4], llm__elem elem) {
    const uint32_t last = t->n_rows - 1, n = t->x->n;
    const uint8_t *p0 = t->w + t->row_bytes * row, *p1 = t->w + t->row_bytes * LLM__MIN(row + 1, last);
    const uint8_t *p2 = t->w + t->row_bytes * LLM__MIN(row + 2, last), *p3 = t->w + t->row_bytes * LLM__MIN(row + 3, last);
    const float *x1 = x + t->x->n, *x2 = x1 + t->x->n;
    LLM__V(three) a, b, c, d, v;
    uint32_t i;
    a.t0 = a.t1 = a.t2 = LLM__V(v_set)(0.0f);
    b = c = d = a;
    for (i = 0; i + 16 <= n; i += 16) {
        const size_t at = i * LLM__ELEM_BYTES(elem);
        v.t0 = LLM__V(v_load)(x + i); v.t1 = LLM__V(v_load)(x1 + i); v.t2 = LLM__V(v_load)(x2 + i);
        a = LLM__V(three_fma)(LLM__V(v_load_elems)(p0 + at, elem), v, a);
        b = LLM__V(three_fma)(LLM__V(v_load_elems)(p1 + at, elem), v, b);
        c = LLM__V(three_fma)(LLM__V(v_load_elems)(p2 + at, elem), v, c);
        d = LLM__V(three_fma)(LLM__V(v_load_elems)(p3 + at, elem), v, d);
    }
    if (i < n) {
        const size_t at = i * LLM__ELEM_BYTES(elem);
        v.t0 = LLM__V(v_load_n)(x + i, n - i); v.t1 = LLM__V(v_load_n)(x1 + i, n - i); v.t2 = LLM__V(v_load_n)(x2 + i, n - i);
        a = LLM__V(three_fma_n)(LLM__V(v_load_elems_n)(p0 + at, elem, n - i), v, a, n - i);
        b = LLM__V(three_fma_n)(LLM__V(v_load_elems_n)(p1 + at, elem, n - i), v, b, n - i);
        c = LLM__V(three_fma_n)(LLM__V(v_load_elems_n)(p2 + at, elem, n - i), v, c, n - i);
        d = LLM__V(three_fma_n)(LLM__V(v_load_elems_n)(p3 + at, elem, n - i), v, d, n - i);
    }
    LLM__V(v_sum4)(sums[0], a.t0, b.t0, c.t0, d.t0);
    LLM__V(v_sum4)(sums[1], a.t1, b.t1, c.t1, d.t1);
    LLM__V(v_sum4)(sums[2], a.t2, b.t2, c.t2, d.t2);
}
#endif
// A block of rows meets all tokens before the next one is touched: it stays in the first cache with two tokens, else in the second. Panels
// of F32, as integers have them, gained less than wider tiles: the lanes of the sums pass through the second cache too.
LLM__VI void LLM__V(matmul)(const llm__tile *t, llm__elem elem) {
    const float *x = t->x->f;
    const size_t step = t->x->n, n_block = llm__block_rows(t);
    float sums[4];
    uint32_t row, i, begin, end, n;
    for (begin = 0; begin < t->n_rows; begin = end) {
        end = t->n_rows - begin <= n_block ? t->n_rows : begin + (uint32_t)n_block;
        i = 0;
#if LLM__V_WIDE
        for (; i + 3 <= t->n_tokens; i += 3)
            for (row = begin; row < end; row += 4) {
                float three[3][4];
                LLM__V(dots4x3)(t, x + step * i, row, three, elem);
                n = LLM__MIN(end - row, 4u);
                memcpy(t->out + t->ld * i + row, three[0], n * sizeof(float));
                memcpy(t->out + t->ld * (i + 1) + row, three[1], n * sizeof(float));
                memcpy(t->out + t->ld * (i + 2) + row, three[2], n * sizeof(float));
            }
#endif
        for (; i + 2 <= t->n_tokens; i += 2)
            for (row = begin; row < end; row += 2) {
                LLM__V(dots2x2)(t, x + step * i, x + step * (i + 1), row, sums, elem);
                n = LLM__MIN(end - row, 2u);
                memcpy(t->out + t->ld * i + row, sums, n * sizeof *sums);
                memcpy(t->out + t->ld * (i + 1) + row, sums + 2, n * sizeof *sums);
            }
        if (i < t->n_tokens)
            for (row = begin; row < end; row += 4) LLM__V(dots4x1)(t, x + step * i, row, t->out + t->ld * i, elem);
    }
}
static LLM__VT void LLM__V(vec_matmul_f32)(const llm__tile *t) { LLM__V(matmul)(t, LLM__FILE_F32); }
static LLM__VT void LLM__V(vec_matmul_f16)(const llm__tile *t) { LLM__V(matmul)(t, LLM__FILE_F16); }
static LLM__VT void LLM__V(vec_matmul_bf16)(const llm__tile *t) { LLM__V(matmul)(t, LLM__FILE_BF16); }

// Attention, N7. A chunk's scores of one query lie at s[position in the chunk]; lo..hi-1 are those it sees. Keys and values come from
// memory when the conversation is long, in runs too short for the CPU's own prefetcher: while scores are computed the values of the same
// positions are fetched, while values are summed the keys of the next chunk.
LLM__VI void LLM__V(scores1)(float *s, const float *q, const uint8_t *k, size_t stride, uint32_t n,
                                   uint32_t lo, uint32_t hi, llm__elem elem, const uint8_t *ahead) {
    uint32_t j, i;
    for (j = lo & ~3u; j < hi; j += 4) {                                        // four positions; outside lo..hi-1 the nearest inside
        const uint8_t *p0 = k + stride * LLM__MAX(j, lo), *p1 = k + stride * LLM__MIN(LLM__MAX(j + 1, lo), hi - 1);
        const uint8_t *p2 = k + stride * LLM__MIN(LLM__MAX(j + 2, lo), hi - 1), *p3 = k + stride * LLM__MIN(j + 3, hi - 1);
        LLM__V16 a0 = LLM__V(v_set)(0.0f), a1 = a0, a2 = a0, a3 = a0, v;
        if (ahead) llm__prefetch(ahead, stride * j, stride * 4);
        for (i = 0; i + 16 <= n; i += 16) {
            size_t at = i * LLM__ELEM_BYTES(elem);
            v = LLM__V(v_load)(q + i);
            a0 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p0 + at, elem), a0);
            a1 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p1 + at, elem), a1);
            a2 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p2 + at, elem), a2);
            a3 = LLM__V(v_fma)(v, LLM__V(v_load_elems)(p3 + at, elem), a3);
        }
        if (i < n) {
            size_t at = i * LLM__ELEM_BYTES(elem);
            v = LLM__V(v_load_n)(q + i, n - i);
            a0 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p0 + at, elem, n - i), a0, n - i);
            a1 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p1 + at, elem, n - i), a1, n - i);
            a2 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p2 + at, elem, n - i), a2, n - i);
            a3 = LLM__V(v_fma_n)(v, LLM__V(v_load_elems_n)(p3 + at, elem, n - i), a3, n - i);
        }
        LLM__V(v_sum4)(s + j, a0, a1, a2, a3);
    }
}
// Two queries that see the same positions.
LLM__VI void LLM__V(scores2)(float *s0, float *s1, const float *q0, const float *q1, const uint8_t *k, size_t stride, uint32_t n,
                                         uint32_t lo, uint32_t hi, llm__elem elem, const uint8_t *ahead) {
    float sums[4];
    uint32_t j, i;
    for (j = lo & ~1u; j < hi; j += 2) {
        const uint8_t *p0 = k + stride * LLM__MAX(j, lo), *p1 = k + stride * LLM__MIN(j + 1, hi - 1);
        LLM__V16 a00 = LLM__V(v_set)(0.0f), a01 = a00, a10 = a00, a11 = a00, k0, k1, v;
        if (ahead) llm__prefetch(ahead, stride * j, stride * 2);
        for (i = 0; i + 16 <= n; i += 16) {
            k0 = LLM__V(v_load_elems)(p0 + i * LLM__ELEM_BYTES(elem), elem);
            k1 = LLM__V(v_load_elems)(p1 + i * LLM__ELEM_BYTES(elem), elem);
            v = LLM__V(v_load)(q0 + i);
            a00 = LLM__V(v_fma)(v, k0, a00);
            a01 = LLM__V(v_fma)(v, k1, a01);
            v = LLM__V(v_load)(q1 + i);
            a10 = LLM__V(v_fma)(v, k0, a10);
            a11 = LLM__V(v_fma)(v, k1, a11);
        }
        if (i < n) {
            k0 = LLM__V(v_load_elems_n)(p0 + i * LLM__ELEM_BYTES(elem), elem, n - i);
            k1 = LLM__V(v_load_elems_n)(p1 + i * LLM__ELEM_BYTES(elem), elem, n - i);
            v = LLM__V(v_load_n)(q0 + i, n - i);
            a00 = LLM__V(v_fma_n)(v, k0, a00, n - i);
            a01 = LLM__V(v_fma_n)(v, k1, a01, n - i);
            v = LLM__V(v_load_n)(q1 + i, n - i);
            a10 = LLM__V(v_fma_n)(v, k0, a10, n - i);
            a11 = LLM__V(v_fma_n)(v, k1, a11, n - i);
        }
        LLM__V(v_sum4)(sums, a00, a01, a10, a11);
        s0[j] = sums[0]; s0[j + 1] = sums[1];
        s1[j] = sums[2]; s1[j + 1] = sums[3];
    }
}
#if LLM__V_WIDE
// Four positions instead of two, where there are registers for it: each load then serves two or four products. n is a multiple of 16.
LLM__VI void LLM__V(scores2x4)(float *s0, float *s1, const float *q0, const float *q1, const uint8_t *k, size_t stride, uint32_t n,
                               uint32_t lo, uint32_t hi, llm__elem elem, const uint8_t *ahead) {
    uint32_t j, i;
    for (j = lo & ~3u; j < hi; j += 4) {
        const uint8_t *p0 = k + stride * LLM__MAX(j, lo), *p1 = k + stride * LLM__MIN(LLM__MAX(j + 1, lo), hi - 1);
        const uint8_t *p2 = k + stride * LLM__MIN(LLM__MAX(j + 2, lo), hi - 1), *p3 = k + stride * LLM__MIN(j + 3, hi - 1);
        LLM__V16 a0 = LLM__V(v_set)(0.0f), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0, v, w, x;
        if (ahead) llm__prefetch(ahead, stride * j, stride * 4);
        for (i = 0; i < n; i += 16) {
            const size_t at = i * LLM__ELEM_BYTES(elem);
            v = LLM__V(v_load)(q0 + i);
            w = LLM__V(v_load)(q1 + i);
            x = LLM__V(v_load_elems)(p0 + at, elem); a0 = LLM__V(v_fma)(v, x, a0); b0 = LLM__V(v_fma)(w, x, b0);
            x = LLM__V(v_load_elems)(p1 + at, elem); a1 = LLM__V(v_fma)(v, x, a1); b1 = LLM__V(v_fma)(w, x, b1);
            x = LLM__V(v_load_elems)(p2 + at, elem); a2 = LLM__V(v_fma)(v, x, a2); b2 = LLM__V(v_fma)(w, x, b2);
            x = LLM__V(v_load_elems)(p3 + at, elem); a3 = LLM__V(v_fma)(v, x, a3); b3 = LLM__V(v_fma)(w, x, b3);
        }
        LLM__V(v_sum4)(s0 + j, a0, a1, a2, a3);
        LLM__V(v_sum4)(s1 + j, b0, b1, b2, b3);
    }
}
#endif
// Keys that are integers: sixteen positions in the lanes, block by block (N4). Positions that are not seen come along; soften drops them.
LLM__VI void LLM__V(scores_q8)(float *s, const llm__query_q8 *q, const uint8_t *k, size_t stride, uint32_t n, uint32_t lo, uint32_t hi) {
    const int8_t *rows = (const int8_t *)k + LLM__Q8_SCALE_BYTES(n);
    uint32_t j, b;
    for (j = lo & ~15u; j < hi; j += 16) {
        LLM__V16 acc = LLM__V(v_set)(0.0f), scale;
        for (b = 0; b < LLM__Q8_BLOCKS(n); b++) {
            scale = LLM__V(v_load_elems)(k + (b * LLM__PAGE + j) * 2, LLM__HOST_F16);
            scale = LLM__V(v_mul)(scale, LLM__V(v_set)(q->d[b]));
            acc = LLM__V(v_fma)(scale, LLM__V(v_dots32)(q->q + 32 * b, rows + stride * j + 32 * b, stride), acc);
        }
        LLM__V(v_store)(s + j, acc);
    }
}
LLM__VI void LLM__V(query_q8)(llm__attend_q8 *room, uint32_t i, const float *q, uint32_t n) {
    llm__query_q8 *to = &room->query[i];
    memset(room->whole, 0, sizeof room->whole);
    memcpy(room->whole, q, n * sizeof *q);
    LLM__V(vec_quantize)(room->whole, LLM__Q8_BLOCKS(n) * 32, to->q, to->d, room->sums);
}
// Scores -> weights b = exp(s - m). Returns what o has to be multiplied with. What is not seen becomes exp(-inf) = +0, and +0 changes
// no lane of the sum.
LLM__NOINLINE static LLM__VT float LLM__V(soften)(float *s, uint32_t lo, uint32_t hi, const llm__attend *a, llm__attn_part *part,
                                                    bool first) {
    LLM__V16 scale = LLM__V(v_set)(a->scale), cap = LLM__V(v_set)(a->softcap), acc = LLM__V(v_set)(0.0f), x, m;
    uint32_t begin = lo & ~15u, end = (hi + 15u) & ~15u, i;
    float highest, before = part->m;
    for (i = begin; i < end; i += 16) {
        x = LLM__V(v_mul)(LLM__V(v_load)(s + i), scale);
        if (a->softcap != 0.0f) x = LLM__V(v_softcap)(x, cap);
        LLM__V(v_store)(s + i, x);
    }
    for (i = begin; i < lo; i++) s[i] = -LLM__F32_INF;
    for (i = hi; i < end; i++) s[i] = -LLM__F32_INF;
    highest = LLM__V(highest)(s + begin, end - begin);
    part->m = first || highest > before ? highest : before;
    m = LLM__V(v_set)(part->m);
    for (i = begin; i < end; i += 16) {
        x = LLM__V(v_exp)(LLM__V(v_sub)(LLM__V(v_load)(s + i), m));
        LLM__V(v_store)(s + i, x);
        acc = LLM__V(v_add)(acc, x);
    }
    acc = LLM__V(v_set)(LLM__V(v_sum)(acc));
    if (first) {
        part->l = LLM__V(v_first)(acc);
        return 1.0f;
    }
    x = LLM__V(v_exp)(LLM__V(v_sub)(LLM__V(v_set)(before), m));
    part->l = LLM__V(v_first)(LLM__V(v_fma)(LLM__V(v_set)(part->l), x, acc));
    return LLM__V(v_first)(x);
}
// Sixteen elements of V at one position. An integer times its scale is exact: 7 and 11 bits. d [blocks][64] is for integers only.
LLM__VI LLM__V16 LLM__V(v_value)(const uint8_t *v, llm__elem elem, const float *d, uint32_t j) {
    LLM__V16 a = LLM__V(v_load_elems)(v, elem);
    return elem == LLM__HOST_Q8 ? LLM__V(v_mul)(a, LLM__V(v_set)(d[j])) : a;
}
// o = o * rescale, then fma(b[j], v[j], o) for j ascending: 64, 16 or fewer elements of one query, 32 of two.
LLM__VI void LLM__V(values64)(float *o, float rescale, const float *b, const uint8_t *v, size_t stride, uint32_t lo,
                                    uint32_t hi, llm__elem elem, const float *d, const uint8_t *ahead) {
    LLM__V16 r = LLM__V(v_set)(rescale), w;
    LLM__V16 a0 = LLM__V(v_mul)(LLM__V(v_load)(o), r), a1 = LLM__V(v_mul)(LLM__V(v_load)(o + 16), r);
    LLM__V16 a2 = LLM__V(v_mul)(LLM__V(v_load)(o + 32), r), a3 = LLM__V(v_mul)(LLM__V(v_load)(o + 48), r);
    size_t step = 16 * LLM__ELEM_BYTES(elem);
    uint32_t j;
    for (j = lo, v += stride * lo; j < hi; j++, v += stride) {
        w = LLM__V(v_set)(b[j]);
        if (ahead) llm__prefetch(ahead, stride * j, stride);
        a0 = LLM__V(v_fma)(w, LLM__V(v_value)(v, elem, d, j), a0);
        a1 = LLM__V(v_fma)(w, LLM__V(v_value)(v + step, elem, d, j), a1);
        a2 = LLM__V(v_fma)(w, LLM__V(v_value)(v + 2 * step, elem, d, j + LLM__PAGE), a2);
        a3 = LLM__V(v_fma)(w, LLM__V(v_value)(v + 3 * step, elem, d, j + LLM__PAGE), a3);
    }
    LLM__V(v_store)(o, a0); LLM__V(v_store)(o + 16, a1); LLM__V(v_store)(o + 32, a2); LLM__V(v_store)(o + 48, a3);
}
LLM__VI void LLM__V(values16)(float *o, float rescale, const float *b, const uint8_t *v, size_t stride, uint32_t lo,
                                    uint32_t hi, llm__elem elem, const float *d, size_t n) {
    LLM__V16 a = LLM__V(v_mul)(LLM__V(v_load_n)(o, n), LLM__V(v_set)(rescale)), w;
    uint32_t j;
    for (j = lo, v += stride * lo; j < hi; j++, v += stride) {
        w = n < 16 && elem != LLM__HOST_Q8 ? LLM__V(v_load_elems_n)(v, elem, n) : LLM__V(v_value)(v, elem, d, j);      // whole blocks
        a = LLM__V(v_fma)(LLM__V(v_set)(b[j]), w, a);
    }
    LLM__V(v_store_n)(o, a, n);
}
LLM__VI void LLM__V(values32x2)(float *o0, float *o1, float rescale0, float rescale1, const float *b0, const float *b1, const uint8_t *v,
                                            size_t stride, uint32_t lo, uint32_t hi, llm__elem elem, const float *d,
                                            const uint8_t *ahead) {
    LLM__V16 r = LLM__V(v_set)(rescale0), v0, v1;
    LLM__V16 a00 = LLM__V(v_mul)(LLM__V(v_load)(o0), r), a01 = LLM__V(v_mul)(LLM__V(v_load)(o0 + 16), r), a10, a11;
    size_t step = 16 * LLM__ELEM_BYTES(elem);
    uint32_t j;
    r = LLM__V(v_set)(rescale1);
    a10 = LLM__V(v_mul)(LLM__V(v_load)(o1), r); a11 = LLM__V(v_mul)(LLM__V(v_load)(o1 + 16), r);
    for (j = lo, v += stride * lo; j < hi; j++, v += stride) {
        if (ahead) llm__prefetch(ahead, stride * j, stride);
        v0 = LLM__V(v_value)(v, elem, d, j);
        v1 = LLM__V(v_value)(v + step, elem, d, j);
        r = LLM__V(v_set)(b0[j]);
        a00 = LLM__V(v_fma)(r, v0, a00);
        a01 = LLM__V(v_fma)(r, v1, a01);
        r = LLM__V(v_set)(b1[j]);
        a10 = LLM__V(v_fma)(r, v0, a10);
        a11 = LLM__V(v_fma)(r, v1, a11);
    }
    LLM__V(v_store)(o0, a00); LLM__V(v_store)(o0 + 16, a01);
    LLM__V(v_store)(o1, a10); LLM__V(v_store)(o1 + 16, a11);
}
#if LLM__V_WIDE
LLM__VI void LLM__V(values64x2)(float *o0, float *o1, float rescale0, float rescale1, const float *b0, const float *b1, const uint8_t *v,
                                size_t stride, uint32_t lo, uint32_t hi, llm__elem elem, const float *d, const uint8_t *ahead) {
    LLM__V16 r = LLM__V(v_set)(rescale0), p, x, y;
    LLM__V16 a0 = LLM__V(v_mul)(LLM__V(v_load)(o0), r), a1 = LLM__V(v_mul)(LLM__V(v_load)(o0 + 16), r);
    LLM__V16 a2 = LLM__V(v_mul)(LLM__V(v_load)(o0 + 32), r), a3 = LLM__V(v_mul)(LLM__V(v_load)(o0 + 48), r), c0, c1, c2, c3;
    const size_t step = 16 * LLM__ELEM_BYTES(elem);
    uint32_t j;
    r = LLM__V(v_set)(rescale1);
    c0 = LLM__V(v_mul)(LLM__V(v_load)(o1), r); c1 = LLM__V(v_mul)(LLM__V(v_load)(o1 + 16), r);
    c2 = LLM__V(v_mul)(LLM__V(v_load)(o1 + 32), r); c3 = LLM__V(v_mul)(LLM__V(v_load)(o1 + 48), r);
    for (j = lo, v += stride * lo; j < hi; j++, v += stride) {
        if (ahead) llm__prefetch(ahead, stride * j, stride);
        x = LLM__V(v_set)(b0[j]);
        y = LLM__V(v_set)(b1[j]);
        p = LLM__V(v_value)(v, elem, d, j);                            a0 = LLM__V(v_fma)(x, p, a0); c0 = LLM__V(v_fma)(y, p, c0);
        p = LLM__V(v_value)(v + step, elem, d, j);                     a1 = LLM__V(v_fma)(x, p, a1); c1 = LLM__V(v_fma)(y, p, c1);
        p = LLM__V(v_value)(v + 2 * step, elem, d, j + LLM__PAGE);     a2 = LLM__V(v_fma)(x, p, a2); c2 = LLM__V(v_fma)(y, p, c2);
        p = LLM__V(v_value)(v + 3 * step, elem, d, j + LLM__PAGE);     a3 = LLM__V(v_fma)(x, p, a3); c3 = LLM__V(v_fma)(y, p, c3);
    }
    LLM__V(v_store)(o0, a0); LLM__V(v_store)(o0 + 16, a1); LLM__V(v_store)(o0 + 32, a2); LLM__V(v_store)(o0 + 48, a3);
    LLM__V(v_store)(o1, c0); LLM__V(v_store)(o1 + 16, c1); LLM__V(v_store)(o1 + 32, c2); LLM__V(v_store)(o1 + 48, c3);
}
#endif
#define LLM__SCALES(i) (elem == LLM__HOST_Q8 ? d + (i) / 32 * LLM__PAGE : d)      // of the block that element i is in
LLM__VI void LLM__V(values1)(float *o, float rescale, const float *b, const uint8_t *v, size_t stride, uint32_t n, uint32_t lo, uint32_t hi,
                                         llm__elem elem, const float *d, const uint8_t *ahead) {
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64)
        LLM__V(values64)(o + i, rescale, b, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem, LLM__SCALES(i), i ? NULL : ahead);
    for (; i < n; i += 16)
        LLM__V(values16)(o + i, rescale, b, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem, LLM__SCALES(i), n - i);
}
LLM__VI void LLM__V(values2)(float *o0, float *o1, const float *rescale, const float *b0, const float *b1, const uint8_t *v, size_t stride,
                                         uint32_t n, uint32_t lo, uint32_t hi, llm__elem elem, const float *d, const uint8_t *ahead) {
    uint32_t i = 0;
#if LLM__V_WIDE
    for (; i + 64 <= n; i += 64)
        LLM__V(values64x2)(o0 + i, o1 + i, rescale[0], rescale[1], b0, b1, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem,
                           LLM__SCALES(i), i ? NULL : ahead);
#endif
    for (; i + 32 <= n; i += 32)
        LLM__V(values32x2)(o0 + i, o1 + i, rescale[0], rescale[1], b0, b1, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem,
                           LLM__SCALES(i), i ? NULL : ahead);
    for (; i < n; i += 16) {
        LLM__V(values16)(o0 + i, rescale[0], b0, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem, LLM__SCALES(i), n - i);
        LLM__V(values16)(o1 + i, rescale[1], b1, v + i * LLM__ELEM_BYTES(elem), stride, lo, hi, elem, LLM__SCALES(i), n - i);
    }
}
#undef LLM__SCALES
// The scores of a chunk, then the sums of values. Neighbours that see the same positions share the reads; pair[i]: i goes with i + 1.
LLM__VI void LLM__V(chunk_scores)(const llm__attend *a, const llm__query *q, uint32_t n_q, const uint8_t *k, float (*s)[LLM__PAGE],
                                  const uint32_t *lo, const uint32_t *hi, const bool *pair, llm__elem elem, const uint8_t *ahead) {
    uint32_t i;
    for (i = 0; i < n_q; i++) {
        if (lo[i] >= hi[i]) continue;
        if (!pair[i]) {
            LLM__V(scores1)(s[i], q[i].q, k, a->k_stride, a->head_dim_k, lo[i], hi[i], elem, ahead);
#if LLM__V_WIDE
        } else if (a->head_dim_k % 16 == 0) {
            LLM__V(scores2x4)(s[i], s[i + 1], q[i].q, q[i + 1].q, k, a->k_stride, a->head_dim_k, lo[i], hi[i], elem, ahead);
            i++;
#endif
        } else {
            LLM__V(scores2)(s[i], s[i + 1], q[i].q, q[i + 1].q, k, a->k_stride, a->head_dim_k, lo[i], hi[i], elem, ahead);
            i++;
        }
        ahead = NULL;
    }
}
LLM__VI void LLM__V(chunk_values)(const llm__attend *a, const llm__query *q, uint32_t n_q, const uint8_t *v, float (*s)[LLM__PAGE],
                                  const float *rescale, const uint32_t *lo, const uint32_t *hi, const bool *pair, llm__elem elem,
                                  const float *d, const uint8_t *ahead) {
    uint32_t i;
    for (i = 0; i < n_q; i++) {
        if (lo[i] >= hi[i]) continue;
        if (!pair[i]) {
            LLM__V(values1)(q[i].out->o, rescale[i], s[i], v, a->v_stride, a->head_dim_v, lo[i], hi[i], elem, d, ahead);
        } else {
            LLM__V(values2)(q[i].out->o, q[i + 1].out->o, rescale + i, s[i], s[i + 1], v, a->v_stride, a->head_dim_v, lo[i], hi[i], elem,
                            d, ahead);
            i++;
        }
        ahead = NULL;
    }
}
// Once per kind of element, so that the loops know it; functions, because a chunk is any pair of kinds.
#define LLM__X(name, elem)                                                                                                          \
    static LLM__NOINLINE LLM__VT void LLM__V(chunk_scores_##name)(const llm__attend *a, const llm__query *q, uint32_t n_q,          \
            const uint8_t *k, float (*s)[LLM__PAGE], const uint32_t *lo, const uint32_t *hi, const bool *pair, const uint8_t *ahead) {\
        LLM__V(chunk_scores)(a, q, n_q, k, s, lo, hi, pair, elem, ahead);                                                           \
    }
LLM__X(f32, LLM__HOST_F32)
LLM__X(f16, LLM__HOST_F16)
#undef LLM__X
#define LLM__X(name, elem)                                                                                                          \
    static LLM__NOINLINE LLM__VT void LLM__V(chunk_values_##name)(const llm__attend *a, const llm__query *q, uint32_t n_q,          \
            const uint8_t *v, float (*s)[LLM__PAGE], const float *rescale, const uint32_t *lo, const uint32_t *hi, const bool *pair,\
            const float *d, const uint8_t *ahead) {                                                                                 \
        LLM__V(chunk_values)(a, q, n_q, v, s, rescale, lo, hi, pair, elem, d, ahead);                                               \
    }
LLM__X(f32, LLM__HOST_F32)
LLM__X(f16, LLM__HOST_F16)
LLM__X(q8,  LLM__HOST_Q8)
#undef LLM__X
// One chunk of 64 positions for up to four queries.
static LLM__VT void LLM__V(chunk)(const llm__attend *a, const llm__query *q, uint32_t n_q, uint32_t base) {
    const uint8_t *k = (const uint8_t *)a->k[base / LLM__PAGE - a->page0];
    const uint8_t *v = (const uint8_t *)a->v[base / LLM__PAGE - a->page0];
    const uint8_t *next_k = base / LLM__PAGE - a->page0 + 1 < a->n_pages ? (const uint8_t *)a->k[base / LLM__PAGE - a->page0 + 1] : NULL;
    float s[4][LLM__PAGE], rescale[4];
    uint32_t lo[4], hi[4], i;
    bool pair[4];
    memset(s, 0, sizeof s);
    for (i = 0; i < n_q; i++) {
        lo[i] = LLM__MAX(q[i].begin, base) - base;
        hi[i] = LLM__MIN(LLM__MAX(q[i].end, base) - base, LLM__PAGE);
    }
    for (i = 0; i < n_q; i++)
        pair[i] = !(i && pair[i - 1]) && i + 1 < n_q && lo[i] < hi[i] && lo[i] == lo[i + 1] && hi[i] == hi[i + 1];
    if (a->k_elem == LLM__HOST_F32) LLM__V(chunk_scores_f32)(a, q, n_q, k, s, lo, hi, pair, v);
    if (a->k_elem == LLM__HOST_F16) LLM__V(chunk_scores_f16)(a, q, n_q, k, s, lo, hi, pair, v);
    for (i = 0; a->k_elem == LLM__HOST_Q8 && i < n_q; i++)
        if (lo[i] < hi[i]) LLM__V(scores_q8)(s[i], &a->q8->query[i], k, a->k_stride, a->head_dim_k, lo[i], hi[i]);
    for (i = 0; i < n_q; i++) {
        bool first = q[i].begin >= base;
        if (lo[i] >= hi[i]) continue;
        if (first) memset(q[i].out->o, 0, a->head_dim_v * sizeof(float));
        rescale[i] = LLM__V(soften)(s[i], lo[i], hi[i], a, q[i].out, first);
    }
    if (a->v_elem == LLM__HOST_F32) LLM__V(chunk_values_f32)(a, q, n_q, v, s, rescale, lo, hi, pair, NULL, next_k);
    if (a->v_elem == LLM__HOST_F16) LLM__V(chunk_values_f16)(a, q, n_q, v, s, rescale, lo, hi, pair, NULL, next_k);
    if (a->v_elem == LLM__HOST_Q8) {
        for (i = 0; i < LLM__Q8_BLOCKS(a->head_dim_v) * LLM__PAGE; i += 16)
            LLM__V(v_store)(a->q8->d + i, LLM__V(v_load_elems)(v + i * 2, LLM__HOST_F16));
        v += LLM__Q8_SCALE_BYTES(a->head_dim_v);
        LLM__V(chunk_values_q8)(a, q, n_q, v, s, rescale, lo, hi, pair, a->q8->d, next_k);
    }
}
static LLM__VT void LLM__V(vec_attend_group)(const llm__attend *a, const llm__query *q, uint32_t n_q) {
    uint32_t i, n, base, begin, end;
    for (; n_q; q += n, n_q -= n) {
        n = LLM__MIN(n_q, 4u);
        begin = q[0].begin; end = q[0].end;
        for (i = 1; i < n; i++) { begin = LLM__MIN(begin, q[i].begin); end = LLM__MAX(end, q[i].end); }
        begin &= ~(LLM__PAGE - 1u);
        for (i = 0; a->k_elem == LLM__HOST_Q8 && i < n; i++) LLM__V(query_q8)(a->q8, i, q[i].q, a->head_dim_k);
        for (base = begin; base < end; base += LLM__PAGE) LLM__V(chunk)(a, q, n, base);
    }
}

// y = y a + x b, both products rounded.
LLM__VI void LLM__V(blend)(float *y, float a, const float *x, float b, size_t n) {
    const LLM__V16 va = LLM__V(v_set)(a), vb = LLM__V(v_set)(b);
    size_t i;
    for (i = 0; i < n; i += 16)
        LLM__V(v_store_n)(y + i, LLM__V(v_add)(LLM__V(v_mul)(LLM__V(v_load_n)(y + i, n - i), va),
                                               LLM__V(v_mul)(LLM__V(v_load_n)(x + i, n - i), vb)), n - i);
}
static LLM__VT void LLM__V(vec_attend_merge)(llm__attn_part *into, const llm__attn_part *next, size_t n) {
    float m = next->m > into->m ? next->m : into->m;
    float a = LLM__V(v_first)(LLM__V(v_exp)(LLM__V(v_set)(into->m - m))), b = LLM__V(v_first)(LLM__V(v_exp)(LLM__V(v_set)(next->m - m)));
    float la = into->l * a, lb = next->l * b;
    into->m = m;
    into->l = la + lb;
    LLM__V(blend)(into->o, a, next->o, b, n);
}
static LLM__VT void LLM__V(vec_attend_finish)(llm__attn_part *p, size_t n) {
    LLM__V16 l = LLM__V(v_set)(p->l);
    size_t i;
    for (i = 0; i < n; i += 16) LLM__V(v_store_n)(p->o + i, LLM__V(v_div)(LLM__V(v_load_n)(p->o + i, n - i), l), n - i);
}

// What reading costs at the least: the widest loads, one bitwise operation each, whatever the bytes mean.
static LLM__VT float LLM__V(vec_sweep)(const uint8_t *const *at, size_t step, size_t n_steps) {
    const uint8_t *p0 = at[0], *p1 = at[1], *p2 = at[2], *p3 = at[3];
    LLM__V16 a0 = LLM__V(v_set)(1.0f), a1 = a0, a2 = a0, a3 = a0;
    size_t i;
    for (i = 0; i < n_steps; i++, p0 += step, p1 += step, p2 += step, p3 += step) {
        a0 = LLM__V(v_sign_of)(a0, LLM__V(v_load_elems)(p0, LLM__HOST_F32));
        a1 = LLM__V(v_sign_of)(a1, LLM__V(v_load_elems)(p1, LLM__HOST_F32));
        a2 = LLM__V(v_sign_of)(a2, LLM__V(v_load_elems)(p2, LLM__HOST_F32));
        a3 = LLM__V(v_sign_of)(a3, LLM__V(v_load_elems)(p3, LLM__HOST_F32));
    }
    return LLM__V(v_sum)(LLM__V(v_add)(LLM__V(v_add)(a0, a1), LLM__V(v_add)(a2, a3)));
}

static void LLM__V(vectors)(llm__vectors *v) {
#define LLM__X(name) v->name = LLM__V(vec_##name);
    LLM__VECTORS(LLM__X)
#undef LLM__X
}
#endif // LLM__PASS
//---- end pass ------------------------------------------------------------------------------------------------------------------

#if defined(LLM__WHOLE) && !defined(LLM__PASS)
#if defined(LLM_SMALL)
//---- one number after the other ---------------------------------------------------------------------------------------------------
// The kernels of boards, where code counts and no register holds sixteen lanes: a sixth of the code, and no slower there. Sums have
// sixteen places, and element i goes to place i % 16, so the bits are those of the passes.

static float llm__sum16(float *at) {                                            // N5: halves onto halves
    int i, step;
    for (step = 8; step; step /= 2)
        for (i = 0; i < step; i++) at[i] += at[i + step];
    return at[0];
}
static float llm__elem_scalar(const uint8_t *p, llm__elem elem, size_t i) {
    uint16_t half;
    float f;
    switch (elem) {
    case LLM__HOST_F32: memcpy(&f, p + 4 * i, 4); return f;
    case LLM__HOST_F16: memcpy(&half, p + 2 * i, 2); return llm__f16_to_f32(half);
    case LLM__HOST_Q8:  return (float)(int8_t)p[i];
    case LLM__FILE_F32: return llm__bits_f32(llm__le32(p + 4 * i));
    case LLM__FILE_F16: return llm__f16_to_f32(llm__le16(p + 2 * i));
    default:            return llm__bf16_to_f32(llm__le16(p + 2 * i));
    }
}
static float llm__dot_scalar(const float *x, const uint8_t *w, llm__elem elem, size_t n) {
    float acc[16];
    size_t i;
    memset(acc, 0, sizeof acc);
    for (i = 0; i < n; i++) acc[i % 16] = llm__fma(x[i], llm__elem_scalar(w, elem, i), acc[i % 16]);
    return llm__sum16(acc);
}
// N6, as v_exp and v_tanh have it.
static float llm__exp_scalar(float x) {
    static const float c[] = { LLM__EXP_5, LLM__EXP_4, LLM__EXP_3, LLM__EXP_2, 1.0f, 1.0f };
    const float t = llm__fma(x, LLM__LOG2E, LLM__ROUND_MAGIC), n = t - LLM__ROUND_MAGIC;
    const float r = llm__fma(n, -LLM__LN2_LOW, llm__fma(n, -LLM__LN2_HIGH, x));
    float p = LLM__EXP_6;
    size_t i;
    for (i = 0; i < LLM__COUNT(c); i++) p = llm__fma(p, r, c[i]);
    if (x < -87.0f) return 0.0f;
    if (!(x < 88.0000076f)) return x + LLM__F32_INF;
    return llm__bits_f32(llm__f32_bits(p) + (llm__f32_bits(t) << 23));
}
static float llm__tanh_scalar(float x) {
    static const float c[] = { LLM__TANH_9, LLM__TANH_7, LLM__TANH_5, LLM__TANH_3 };
    const float a = llm__bits_f32(llm__f32_bits(x) & 0x7fffffffu), z = a * a;
    float p = LLM__TANH_11;
    size_t i;
    for (i = 0; i < LLM__COUNT(c); i++) p = llm__fma(p, z, c[i]);
    p = a < LLM__TANH_SMALL ? llm__fma(p, z * a, a) : 1.0f - 2.0f / (llm__exp_scalar(a + a) + 1.0f);
    return llm__bits_f32((llm__f32_bits(p) & 0x7fffffffu) | (llm__f32_bits(x) & 0x80000000u));
}
static int32_t llm__round_scalar(float x) { return (int32_t)(llm__f32_bits(x + LLM__ROUND_MAGIC) - 0x4b400000u); }
static uint32_t llm__highest_bits_scalar(const float *x, size_t n) {
    uint32_t m = 0, u;
    for (; n; n--, x++) {
        u = llm__f32_bits(*x) & 0x7fffffffu;
        m = u > m ? u : m;
    }
    return m;
}

static void llm__vec_quantize_scalar(const float *x, size_t n, int8_t *q, float *d, int16_t *s16) {
    for (; n >= 32; n -= 32, d++) {
        const uint32_t m = llm__highest_bits_scalar(x, 32);
        const bool plain = m >= 0x1f800000u && m < 0x7f800000u;
        const float r = plain ? 127.0f / llm__bits_f32(m) : 0.0f;
        int32_t i, sum = 0;
        *d = plain ? llm__bits_f32(m) / 127.0f : m < 0x1f800000u ? 0.0f : LLM__F32_NAN;
        for (i = 0; i < 32; i++, x++, q++) {
            *q = (int8_t)(plain ? llm__round_scalar(*x * r) : 0);
            sum += *q;
            if (i % 16 == 15) { *s16++ = (int16_t)sum; sum = 0; }
        }
    }
}
static void llm__vec_rmsnorm_scalar(float *y, const float *x, const float *w, size_t n, float eps) {
    float acc[16], mean, r;
    size_t i;
    memset(acc, 0, sizeof acc);
    for (i = 0; i < n; i++) acc[i % 16] = llm__fma(x[i], x[i], acc[i % 16]);
    mean = llm__sum16(acc) / (float)n;
    r = 1.0f / llm__sqrt(mean + eps);
    for (i = 0; i < n; i++) y[i] = w ? x[i] * r * w[i] : x[i] * r;
}
static void llm__vec_add_scalar(float *y, const float *x, size_t n) { for (; n; n--, y++) *y = *y + *x++; }
static void llm__vec_add_scaled_scalar(float *y, const float *x, float s, size_t n) { for (; n; n--, y++) *y = llm__fma(s, *x++, *y); }
static void llm__vec_scale_scalar(float *y, float s, size_t n) { for (; n; n--, y++) *y = *y * s; }
static void llm__vec_affine_scalar(float *y, float s, const float *bias, size_t n, bool bias_first) {
    size_t i;
    for (i = 0; i < n; i++) {
        const float before = bias && bias_first ? y[i] + bias[i] : y[i], scaled = before * s;
        y[i] = bias && !bias_first ? scaled + bias[i] : scaled;
    }
}
static void llm__vec_glu_scalar(float *y, const float *gate, const float *up, size_t n, llm__act act) {
    size_t i;
    for (i = 0; i < n; i++) {
        const float a = gate[i], t = act == LLM__ACT_SILU ? -a : a * llm__fma(a * a, LLM__GELU_3, LLM__GELU_1);
        y[i] = a / (1.0f + llm__exp_scalar(t)) * up[i];
    }
}
static float llm__softcap_scalar(float x, float cap) { return cap * llm__tanh_scalar(x / cap); }
static void llm__vec_softcap_scalar(float *x, float cap, size_t n) { for (; n; n--, x++) *x = llm__softcap_scalar(*x, cap); }

// In places too: which zero wins hangs on the order.
static float llm__highest_scalar(const float *x, size_t n) {
    float m[16];
    size_t i, step;
    for (i = 0; i < 16; i++) m[i] = -LLM__F32_INF;
    for (i = 0; i < n; i++) m[i % 16] = x[i] > m[i % 16] ? x[i] : m[i % 16];
    for (step = 8; step; step /= 2)
        for (i = 0; i < step; i++) m[i] = m[i + step] > m[i] ? m[i + step] : m[i];
    return m[0];
}
// x = exp(x - max); returns their sum.
static float llm__exp_sum_scalar(float *x, float max, size_t n) {
    float acc[16];
    size_t i;
    memset(acc, 0, sizeof acc);
    for (i = 0; i < n; i++) {
        x[i] = llm__exp_scalar(x[i] - max);
        acc[i % 16] = acc[i % 16] + x[i];
    }
    return llm__sum16(acc);
}
static void llm__vec_softmax_scalar(float *x, size_t n) {
    const float l = llm__exp_sum_scalar(x, llm__highest_scalar(x, n), n);
    for (; n; n--, x++) *x = *x / l;
}
static float llm__vec_highest_scalar(const float *x, size_t n, bool *bad) {
    const float m = llm__highest_scalar(x, n);
    size_t i;
    *bad = llm__f32_bits(m) == 0xff800000u;
    for (i = 0; i < n; i++) *bad |= llm__f32_bits(x[i]) == 0x7f800000u || llm__f32_is_nan(x[i]);
    return m;
}
static void llm__vec_exp_weights_scalar(uint64_t *w, const float *x, float max, size_t n) {
    for (; n; n--) {
        const float e = llm__exp_scalar(*x++ - max);
        *w++ = llm__f32_bits(e) <= 0x3f800000u ? (uint64_t)(e * 4294967296.0f) : 0;             // x <= max, so e <= 1, unless NaN
    }
}
static void llm__vec_to_f16_scalar(uint16_t *dst, const float *src, size_t n, uint64_t *n_saturated) {
    uint64_t saturated = 0;
    for (; n; n--, src++) {
        const uint32_t u = llm__f32_bits(*src) & 0x7fffffffu;
        saturated += u >= 0x477ff000u && u < 0x7f800000u;                       // 65520
        *dst++ = llm__f32_to_f16(*src);
    }
    if (n_saturated) *n_saturated += saturated;
}
// N7: see vec_to_q8.
static void llm__vec_to_q8_scalar(int8_t *q, uint16_t *d, const float *src, size_t n, uint64_t *n_saturated) {
    size_t i, k;
    for (i = 0; i < n; i += 32, q += 32, d += LLM__PAGE) {
        const uint32_t m = llm__highest_bits_scalar(src + i, LLM__MIN(n - i, (size_t)32));
        float scale = llm__bits_f32(m) / 127.0f;
        *d = m < 0x7f800000u ? llm__f32_to_f16(scale) : 0x7e00u;
        if (n_saturated) *n_saturated += scale >= 65520.0f && m < 0x7f800000u;
        memset(q, 0, 32);
        if (*d == 0 || m >= 0x7f800000u) continue;
        scale = 1.0f / llm__f16_to_f32(*d);
        for (k = 0; k < 32 && i + k < n; k++) {
            const float x = src[i + k] * scale, y = x < 127.0f ? x : 127.0f;
            q[k] = (int8_t)llm__round_scalar(-127.0f < y ? y : -127.0f);
        }
    }
}
static void llm__vec_rope_scalar(float *x, const float *cos_sin, size_t n_pairs, bool neighbours) {
    const size_t next = neighbours ? 2 : 1, other = neighbours ? 1 : n_pairs;
    size_t i;
    for (i = 0; i < n_pairs; i++, x += next, cos_sin += 2) {
        const float x0 = x[0], x1 = x[other], c = cos_sin[0], s = cos_sin[1];
        x[0] = llm__fma(x0, c, -(x1 * s));
        x[other] = llm__fma(x0, s, x1 * c);
    }
}
static void llm__matmul_scalar(const llm__tile *t, llm__elem elem) {
    uint32_t row, i;
    for (row = 0; row < t->n_rows; row++)
        for (i = 0; i < t->n_tokens; i++)
            t->out[t->ld * i + row] = llm__dot_scalar(t->x->f + (size_t)t->x->n * i, t->w + t->row_bytes * row, elem, t->x->n);
}
static void llm__vec_matmul_f32_scalar(const llm__tile *t) { llm__matmul_scalar(t, LLM__FILE_F32); }
static void llm__vec_matmul_f16_scalar(const llm__tile *t) { llm__matmul_scalar(t, LLM__FILE_F16); }
static void llm__vec_matmul_bf16_scalar(const llm__tile *t) { llm__matmul_scalar(t, LLM__FILE_BF16); }

// Attention, N7: one query and one chunk of 64 positions. Scores of position lo..hi-1 of the page, as soften wants them.
static void llm__scores_scalar(float *s, const llm__attend *a, const float *q, const uint8_t *k, uint32_t lo, uint32_t hi) {
    const uint8_t *rows = k + LLM__Q8_SCALE_BYTES(a->head_dim_k);
    const llm__query_q8 *query = a->q8 ? &a->q8->query[0] : NULL;
    uint32_t j, b, i;
    for (j = lo; j < hi; j++) {
        if (a->k_elem != LLM__HOST_Q8) { s[j] = llm__dot_scalar(q, k + a->k_stride * j, a->k_elem, a->head_dim_k); continue; }
        for (b = 0, s[j] = 0.0f; b < LLM__Q8_BLOCKS(a->head_dim_k); b++) {      // N4
            const int8_t *row = (const int8_t *)rows + a->k_stride * j + 32 * b;
            const float scale = llm__elem_scalar(k + b * LLM__PAGE * 2, LLM__HOST_F16, j) * query->d[b];
            int32_t sum = 0;
            for (i = 0; i < 32; i++) sum += query->q[32 * b + i] * row[i];
            s[j] = llm__fma(scale, (float)sum, s[j]);
        }
    }
}
// Scores -> weights b = exp(s - m). Returns what o has to be multiplied with. s begins at a multiple of sixteen; the places before lo hold
// -infinity, whose exp is +0.
static float llm__soften_scalar(float *s, uint32_t lo, uint32_t hi, const llm__attend *a, llm__attn_part *part, bool first) {
    const float before = part->m;
    float highest, l, x;
    uint32_t i;
    for (i = 0; i < lo; i++) s[i] = -LLM__F32_INF;
    for (i = lo; i < hi; i++) {
        s[i] = s[i] * a->scale;
        if (a->softcap != 0.0f) s[i] = llm__softcap_scalar(s[i], a->softcap);
    }
    highest = llm__highest_scalar(s, hi);
    part->m = first || highest > before ? highest : before;
    l = llm__exp_sum_scalar(s, part->m, hi);
    x = first ? 1.0f : llm__exp_scalar(before - part->m);
    part->l = first ? l : llm__fma(part->l, x, l);
    return x;
}
// o = o * rescale, then fma(b[j], v[j], o) for j ascending. An integer times its scale is exact: 7 and 11 bits.
static void llm__values_scalar(float *o, float rescale, const float *b, const llm__attend *a, const uint8_t *v, uint32_t lo, uint32_t hi) {
    const uint8_t *rows = a->v_elem == LLM__HOST_Q8 ? v + LLM__Q8_SCALE_BYTES(a->head_dim_v) : v;
    uint32_t j, i;
    for (i = 0; i < a->head_dim_v; i++) o[i] = o[i] * rescale;
    for (j = lo; j < hi; j++)
        for (i = 0; i < a->head_dim_v; i++) {
            float x = llm__elem_scalar(rows + a->v_stride * j, a->v_elem, i);
            if (a->v_elem == LLM__HOST_Q8) x = x * llm__elem_scalar(v + i / 32 * LLM__PAGE * 2, LLM__HOST_F16, j);
            o[i] = llm__fma(b[j], x, o[i]);
        }
}
static void llm__vec_attend_group_scalar(const llm__attend *a, const llm__query *q, uint32_t n_q) {
    float s[LLM__PAGE];
    for (; n_q; n_q--, q++) {
        uint32_t base = q->begin & ~(LLM__PAGE - 1u);
        if (a->k_elem == LLM__HOST_Q8) {
            memset(a->q8->whole, 0, sizeof a->q8->whole);
            memcpy(a->q8->whole, q->q, a->head_dim_k * sizeof(float));
            llm__vec_quantize_scalar(a->q8->whole, LLM__Q8_BLOCKS(a->head_dim_k) * 32, a->q8->query[0].q, a->q8->query[0].d, a->q8->sums);
        }
        for (; base < q->end; base += LLM__PAGE) {
            const uint32_t page = base / LLM__PAGE - a->page0, lo = LLM__MAX(q->begin, base) - base;
            const uint32_t hi = LLM__MIN(q->end - base, LLM__PAGE);
            const bool first = q->begin >= base;
            if (first) memset(q->out->o, 0, a->head_dim_v * sizeof(float));
            llm__scores_scalar(s, a, q->q, (const uint8_t *)a->k[page], lo, hi);
            llm__values_scalar(q->out->o, llm__soften_scalar(s, lo, hi, a, q->out, first), s, a, (const uint8_t *)a->v[page], lo, hi);
        }
    }
}
static void llm__vec_attend_merge_scalar(llm__attn_part *into, const llm__attn_part *next, size_t n) {
    const float m = next->m > into->m ? next->m : into->m;
    const float a = llm__exp_scalar(into->m - m), b = llm__exp_scalar(next->m - m), la = into->l * a, lb = next->l * b;
    size_t i;
    into->m = m;
    into->l = la + lb;
    for (i = 0; i < n; i++) {
        const float old = into->o[i] * a, more = next->o[i] * b;
        into->o[i] = old + more;
    }
}
static void llm__vec_attend_finish_scalar(llm__attn_part *p, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) p->o[i] = p->o[i] / p->l;
}
static float llm__vec_sweep_scalar(const uint8_t *const *at, size_t step, size_t n_steps) {
    float a[64], sum = 0.0f;
    size_t i, lane;
    for (lane = 0; lane < 64; lane++) a[lane] = 1.0f;
    for (i = 0; i < n_steps; i++)
        for (lane = 0; lane < 64; lane++) {
            const float v = llm__elem_scalar(at[lane / 16] + i * step, LLM__HOST_F32, lane % 16);
            a[lane] = llm__bits_f32(0x3f800000u | (llm__f32_bits(v) & 0x80000000u));
        }
    for (lane = 0; lane < 64; lane++) sum += a[lane];                            // ones: exact in any order
    return sum;
}
static void llm__vectors_scalar(llm__vectors *v) {
#define LLM__X(name) v->name = llm__vec_##name##_scalar;
    LLM__VECTORS(LLM__X)
#undef LLM__X
}
#endif

//---- the passes -------------------------------------------------------------------------------------------------------------------

#define LLM__PASS LLM__PASS_VECTORS
#if !defined(LLM_SMALL)
#define LLM__VT
#define LLM__VI       LLM__NOINLINE static                // sixteen floats are no register: inlined, they fill the stack
#define LLM__V16      llm__v16
#define LLM__V(name)  llm__##name##_scalar
#define LLM__V_WIDE   0
#include LLM__SELF
#undef LLM__VT
#undef LLM__VI
#undef LLM__V16
#undef LLM__V
#undef LLM__V_WIDE
#endif

#if LLM__HAS_AVX2
#define LLM__VT       LLM__VT_AVX2
#define LLM__VI       LLM__VI_AVX2
#define LLM__V16      llm__v16_avx2
#define LLM__V(name)  llm__##name##_avx2
#define LLM__V_WIDE   0
#include LLM__SELF
#undef LLM__VT
#undef LLM__VI
#undef LLM__V16
#undef LLM__V
#undef LLM__V_WIDE
#endif

#if LLM__HAS_AVX512
#define LLM__VT       LLM__VT_AVX512
#define LLM__VI       LLM__VI_AVX512
#define LLM__V16      llm__v16_avx512
#define LLM__V(name)  llm__##name##_avx512
#define LLM__V_WIDE   1
#include LLM__SELF
#undef LLM__VT
#undef LLM__VI
#undef LLM__V16
#undef LLM__V
#undef LLM__V_WIDE
#endif

#if LLM__HAS_NEON
#define LLM__VT
#define LLM__VI       LLM__LANE
#define LLM__V16      llm__v16_neon
#define LLM__V(name)  llm__##name##_neon
#define LLM__V_WIDE   0
#include LLM__SELF
#undef LLM__VT
#undef LLM__VI
#undef LLM__V16
#undef LLM__V
#undef LLM__V_WIDE
#endif

#if LLM__HAS_WASM128
#define LLM__VT
#define LLM__VI       LLM__LANE
#define LLM__V16      llm__v16_wasm
#define LLM__V(name)  llm__##name##_wasm
#define LLM__V_WIDE   0
#include LLM__SELF
#undef LLM__VT
#undef LLM__VI
#undef LLM__V16
#undef LLM__V
#undef LLM__V_WIDE
#endif
#undef LLM__PASS

//------------------------------------------------------------------------------------------------------------------------------
// >>kernels  Matrix kernels. First the scalar meaning of every stored type (N4), then a block per instruction set that is laid over
//            it where it is faster, then the choice at run time. Rows lie side by side in lanes, each with its own sum: blocks
//            ascending, an exact integer sum and one fma each, so that lanes, tiles and threads cannot show in the result.

// ---- scalar ----------------------------------------------------------------------------------------------------------------

// The sums of 32 products by halves, weighted by their sub-scales: exact, and so is their sum (LLM__CARD).
typedef struct llm__dots { int32_t half[2]; } llm__dots;
static llm__dots llm__dot32(const llm__weights32 *w, const int8_t *a) {
    llm__dots r;
    int32_t lo = 0, hi = 0;
    int k;
    for (k = 0; k < 16; k++) {
        lo += (int32_t)w->q[k] * a[k];
        hi += (int32_t)w->q[k + 16] * a[k + 16];
    }
    r.half[0] = w->sub[0] * lo;
    r.half[1] = w->sub[1] * hi;
    return r;
}

// N4: acc + s*da * sum, and for types with minima then + t*da * the weighted sum of activations; or a term for each half.
static float llm__add_block(float acc, const llm__weights32 *w, const llm__type_info *type, const int8_t *a, float da, const int16_t *s16) {
    const llm__dots dot = llm__dot32(w, a);
    float s = w->s[0] * da, t;
    if (type->two_scales) {
        acc = llm__fma(s, (float)dot.half[0], acc);
        s = w->s[1] * da;
        return llm__fma(s, (float)dot.half[1], acc);
    }
    acc = llm__fma(s, (float)(dot.half[0] + dot.half[1]), acc);
    if (!type->minima) return acc;
    t = w->t * da;
    return llm__fma(t, (float)(w->mn[0] * s16[0] + w->mn[1] * s16[1]), acc);
}

// A block is unpacked once for all tokens; the running sums wait in out.
static void llm__matmul_card(const llm__tile *t, int type) {
    const llm__type_info *info = &llm__types[type];
    const llm__acts *x = t->x;
    const size_t n_blocks = x->n / 32, per_block = info->block_weights / 32;
    uint32_t r, i;
    size_t b;
    for (r = 0; r < t->n_rows; r++) {
        const uint8_t *row = t->w + (size_t)r * t->row_bytes;
        for (i = 0; i < t->n_tokens; i++) t->out[i * t->ld + r] = 0.0f;
        for (b = 0; b < n_blocks; b++) {
            llm__weights32 w;
            info->unpack(row + b / per_block * info->block_bytes, (uint32_t)(b % per_block), &w);
            for (i = 0; i < t->n_tokens; i++) {
                size_t at = (size_t)i * n_blocks + b;
                float *out = &t->out[i * t->ld + r];
                *out = llm__add_block(*out, &w, info, x->q + at * 32, x->d[at], x->s16 + at * 2);
            }
        }
    }
}

#define LLM__X(name, gguf, weights, block, terms) static void block##_matmul(const llm__tile *t) { llm__matmul_card(t, LLM__##name); }
LLM__BLOCK_FORMATS(LLM__X)
#undef LLM__X

// ---- the table -------------------------------------------------------------------------------------------------------------

// Of any number of rows. decode: up to LLM__FEW tokens, streams the stored layout. prefill: more, through panels.
typedef struct llm__kernels {
    llm_isa isa;
    llm__vectors v;
    llm__matmul_fn decode[LLM__TYPE_COUNT], prefill[LLM__TYPE_COUNT];
    bool accelerated[LLM__TYPE_COUNT];
    uint32_t rows_at_once;        // rows a kernel takes side by side: tiles of a multiple lose nothing
    bool sides;                   // prefill reads llm__acts.side
} llm__kernels;

// One token while it is multiplied.
typedef struct llm__input { const int8_t *q; const float *d; const int16_t *s16; } llm__input;

static void llm__kernels_scalar(llm__kernels *k) {
    int type;
    k->rows_at_once = 8;
    llm__vectors_scalar(&k->v);
#define LLM__X(name, gguf, weights, block, terms) k->decode[LLM__##name] = k->prefill[LLM__##name] = block##_matmul;
    LLM__BLOCK_FORMATS(LLM__X)
#undef LLM__X
    for (type = 0; type < LLM__TYPE_COUNT; type++) k->accelerated[type] = false;
}

// Float matrices are the business of the vectors, whatever the instruction set.
static void llm__kernels_floats(llm__kernels *k) {
    k->decode[LLM__F32] = k->prefill[LLM__F32] = k->v.matmul_f32;
    k->decode[LLM__F16] = k->prefill[LLM__F16] = k->v.matmul_f16;
    k->decode[LLM__BF16] = k->prefill[LLM__BF16] = k->v.matmul_bf16;
}

// ---- x86: eight rows side by side ------------------------------------------------------------------------------------------
//
// Decode, and the unpacking of panels, in 256-bit registers. The part between `begin pass` and `end pass` is written once and compiled
// as AVX2, as AVX-VNNI (VEX encoding), and as AVX-512 (EVEX encoding, masks; 512 bits would only halve the clock's worth on the CPUs
// that split them). Prefill follows: panels for all three, and micro-kernels for each.

#if LLM__HAS_AVX2
#define LLM__AVX2      LLM__TARGET("avx2,fma,f16c")
#define LLM__AVX_VNNI  LLM__TARGET("avx2,fma,f16c,avxvnni")
#define LLM__AVX512    LLM__VT_AVX512
#define LLM__AVX2_INLINE LLM__LANE LLM__AVX2

// Eight rows as four pairs (r, r + 4): a register holds 16 bytes of row r in its low half and of row r + 4 in its high half, so that
// neither folding sums nor building panels ever crosses the halves, and the rows come out in order.
typedef struct llm__avx2_pair { __m256i lo, hi; } llm__avx2_pair;           // weights 0..15 and 16..31 as bytes, zero not subtracted
typedef struct llm__avx2_rows { __m256i v[4]; } llm__avx2_rows;             // 16 bytes of eight rows; or word i of eight rows in v[i]

// What 32 columns of eight rows share. Pairs of int16 per row: (first half, second half), or one of them twice.
typedef struct llm__avx2_group { __m256 s, t; __m256i sub0, sub1, zero, mn; } llm__avx2_group;

// What one stored block of eight rows has besides its integers: d, m, the small scales as bytes, four per row and register; fifth bits.
typedef struct llm__avx2_scales { __m256 d, m; llm__avx2_rows sub, mn; llm__avx2_pair fifth; } llm__avx2_scales;

// Rows r and r + 4, group i*run + c of a block: in decode r and c are constants, so that shifts and shuffles are; panels are packed by
// loops, which is a quarter of the code.
typedef llm__avx2_pair (*llm__avx2_pair_fn)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c);
typedef void (*llm__avx2_scales_fn)(const uint8_t *w, size_t row_bytes, llm__avx2_scales *s);
typedef llm__avx2_group (*llm__avx2_group_fn)(const llm__avx2_scales *s, uint32_t i, int c);

// How far sums of products with |activation| <= 127 can go in int16 before AVX2 must widen them (VNNI sums in int32):
//   NIBBLE  q <= 15:  all 32 columns of a row: two lanes of 15*127*2*8 = 30480
//   FIVE    q <= 31:  half of them, 31*127*2*4 = 31496
//   BYTE    signed:   |q| times signed a, 128*127*2 = 32512; in panels as two nibbles of q + 128
//   SMALL   q <= 31:  a half with its own sub-scale, as FIVE
//   SIX     q <= 63:  63*127*2*2 = 32004
//   SEVEN   q <= 127: 127*127*2 = 32258
// From SMALL on the two halves of 32 columns have sub-scales of their own (`halved` below), which are integers and keep it one term; a
// type with `two_scales` has two terms.
enum { LLM__AVX2_NIBBLE, LLM__AVX2_FIVE, LLM__AVX2_BYTE, LLM__AVX2_SMALL, LLM__AVX2_SIX, LLM__AVX2_SEVEN };

// What a type is made of; every field is a constant where the kernels are instantiated.
typedef struct llm__avx2_type {
    int kind, zero;
    bool minima, two_scales;
    uint32_t block_bytes, groups, run;          // groups of 32 in a block; a run of them shares bytes, and decode unrolls it
    llm__avx2_pair_fn pair;
    llm__avx2_scales_fn scales;
    llm__avx2_group_fn group;
} llm__avx2_type;

//    name              kind    zero groups, run  scales of a block  of a group
#define LLM__X86_COMMON_FORMATS(X)                                            \
    X(Q4_0,    q4_0,    NIBBLE, 8,   1, 1, head,          whole)              \
    X(Q4_1,    q4_1,    NIBBLE, 0,   1, 1, head,          whole)              \
    X(Q5_0,    q5_0,    FIVE,   16,  1, 1, fives,         whole)              \
    X(Q5_1,    q5_1,    FIVE,   0,   1, 1, fives_min,     whole)              \
    X(Q8_0,    q8_0,    BYTE,   128, 1, 1, head,          whole)              \
    X(Q2_K,    q2_k,    SMALL,  0,   8, 4, super_q2_k,    halved)             \
    X(Q3_K,    q3_k,    SMALL,  4,   8, 4, super_q3_k,    halved)             \
    X(Q4_K,    q4_k,    NIBBLE, 0,   8, 2, super_k4,      scaled)             \
    X(Q5_K,    q5_k,    FIVE,   0,   8, 2, super_k4,      scaled)             \
    X(Q6_K,    q6_k,    SIX,    32,  8, 4, super_q6_k,    halved)
// Decode of these is AVX2 everywhere: looking weights up takes the time, and every kernel is compiled by everybody who includes this file.
// For the same reason the longest unpacks are functions (LLM__RN), compiled once for decode and panels.
#define LLM__X86_RARE_FORMATS(X)                                              \
    X(IQ2_XXS, iq2_xxs, SEVEN,  43,  8, 1, super_iq2_xxs, odd)                \
    X(IQ2_XS,  iq2_xs,  SEVEN,  43,  8, 2, super_iq2_xs,  two_odd)            \
    X(IQ3_XXS, iq3_xxs, SEVEN,  62,  8, 1, super_iq3_xxs, odd)                \
    X(IQ1_S,   iq1_s,   FIVE,   9,   8, 1, super_iq1_s,   odd)                \
    X(IQ4_NL,  iq4_nl,  BYTE,   128, 1, 1, head,          whole)              \
    X(IQ3_S,   iq3_s,   FIVE,   15,  8, 1, super_iq3_s,   odd)                \
    X(IQ2_S,   iq2_s,   SEVEN,  43,  8, 2, super_iq2_s,   two_odd)            \
    X(IQ4_XS,  iq4_xs,  BYTE,   128, 8, 1, super_iq4_xs,  six_bits)           \
    X(IQ1_M,   iq1_m,   SMALL,  9,   8, 2, super_iq1_m,   two_odd)            \
    X(TQ1_0,   tq1_0,   NIBBLE, 1,   8, 1, super_tq1_0,   whole)              \
    X(TQ2_0,   tq2_0,   NIBBLE, 1,   8, 4, super_tq2_0,   whole)              \
    X(MXFP4,   mxfp4,   FIVE,   12,  1, 1, powers,        whole)              \
    X(NVFP4,   nvfp4,   SMALL,  12,  2, 1, four_d,        scale_each)         \
    X(Q1_0,    q1_0,    NIBBLE, 1,   4, 1, head,          whole)              \
    X(Q2_0,    q2_0,    NIBBLE, 1,   2, 1, head,          whole)
#define LLM__X86_FORMATS(X) LLM__X86_COMMON_FORMATS(X) LLM__X86_RARE_FORMATS(X)

// The stored bytes are fetched this far ahead as one linear stream, because eight streams of a few bytes each defeat the CPU's own
// prefetcher. Into L2: L1 cannot hold two groups of eight rows. Zen 4, two threads that read 27..32 GB/s, percent of that with
// Q4_0 of 2048 columns: nothing 36, 12 KB 75..87, 20 KB 90..99, 32 KB 70..85, 96 KB 62.
#define LLM__AHEAD 20480u

LLM__AVX2_INLINE __m256i llm__avx2_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
LLM__AVX2_INLINE __m128i llm__avx2_load16(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
LLM__AVX2_INLINE __m256i llm__avx2_both(const void *p) { return _mm256_broadcastsi128_si256(llm__avx2_load16(p)); }
LLM__AVX2_INLINE __m256i llm__avx2_four_bytes(const void *p) {         // the same four bytes everywhere
    int32_t v;
    memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
}
// yes where the mask is all ones, no where it is 0. GCC before 12.4 and 13.3 never chooses yes under -funsigned-char (its bug 110108).
LLM__AVX2_INLINE __m256i llm__avx2_choose(__m256i no, __m256i yes, __m256i mask) {
#if defined(__CHAR_UNSIGNED__)
    return _mm256_or_si256(_mm256_and_si256(mask, yes), _mm256_andnot_si256(mask, no));
#else
    return _mm256_blendv_epi8(no, yes, mask);
#endif
}
LLM__AVX2_INLINE __m256i llm__avx2_low(__m256i v, int mask) { return _mm256_and_si256(v, _mm256_set1_epi8((char)mask)); }
// Bits n.. of each byte, or with n < 0 the byte moved up; what crosses from a neighbour must be masked.
LLM__AVX2_INLINE __m256i llm__avx2_shift(__m256i v, int n) {
    return n > 0 ? _mm256_srli_epi16(v, n) : n < 0 ? _mm256_slli_epi16(v, -n) : v;
}
// `value` in each byte where v has the bit.
LLM__AVX2_INLINE __m256i llm__avx2_bit(__m256i v, __m256i bit, int value) {
    return llm__avx2_low(_mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit), value);
}

#define LLM__AVX2_FOLD(type, width, a, b) \
    _mm256_add_##type(_mm256_unpacklo_##width(a, b), _mm256_unpackhi_##width(a, b))

// Four pairs with four sums of int32 each -> one sum per row, rows in order.
LLM__AVX2_INLINE __m256i llm__avx2_fold32(__m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i ab = LLM__AVX2_FOLD(epi32, epi32, a, b), cd = LLM__AVX2_FOLD(epi32, epi32, c, d);
    return LLM__AVX2_FOLD(epi32, epi64, ab, cd);
}
// Four pairs with eight sums of int16 each -> two sums per row.
LLM__AVX2_INLINE __m256i llm__avx2_fold16(__m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i ab = LLM__AVX2_FOLD(epi16, epi32, a, b), cd = LLM__AVX2_FOLD(epi16, epi32, c, d);
    return LLM__AVX2_FOLD(epi16, epi64, ab, cd);
}
LLM__AVX2_INLINE __m256i llm__avx2_widened(__m256i v) { return _mm256_madd_epi16(v, _mm256_set1_epi16(1)); }
LLM__AVX2_INLINE __m256i llm__avx2_signed(__m256i w, __m256i a) {
    return llm__avx2_widened(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w)));
}

// ---- panels ----
//
// Prefill unpacks a panel, 32 columns of 32 rows at a time, runs it over all tokens and forgets it. Unpacking is AVX2 whatever the
// micro-kernels are: it is done once for all tokens.

enum { LLM__PANEL_COLS = 16 };          // so many panels side by side: 512 columns of 32 rows stay in L2, a group of tokens in L1

// Ready for the micro-kernels.
typedef struct llm__panel {
    uint8_t q[8][128];                  // [k / 4][row][k % 4]
    uint8_t high[8][128];               // BYTE under AVX2: upper nibbles
    float s[32], t[32];
    int16_t sub[2][64], zero[64], mn[64];      // per row (sc0, sc0), (sc1, sc1), (-z*sc0, -z*sc1), (mn0, mn1)
} llm__panel;

// Up to eight tokens and what a micro-kernel needs of them, from a panel's first column on.
typedef struct llm__token_group {
    uint32_t n;                         // so many of them are wanted; the others repeat the last
    uint32_t n_groups;                  // of 32 columns, in the panel
    bool begin;                         // nothing has been summed before
    int zero;                           // of the type at work
    const int8_t *q[LLM__TOKENS];
    float *out[LLM__TOKENS];
    const llm__side *side;
} llm__token_group;

typedef struct llm__x86_scratch {
    llm__panel panel[LLM__PANEL_COLS];
    uint8_t rows[8][LLM__PANEL_COLS * 36];    // stored bytes of the last, incomplete rows; no type takes more than 36 for 32 columns
} llm__x86_scratch;

// A panel's n_rows rows x its tokens; the sums so far come from out + row and go back there.
typedef void (*llm__x86_tile_fn)(const llm__panel *p, const llm__token_group *k, uint32_t row, uint32_t n_rows);
typedef void (*llm__x86_pack_fn)(llm__panel *p, uint32_t h, const uint8_t *w, size_t rb, uint32_t n_groups, bool nibbles);

typedef struct llm__avx2_four { __m256i v0, v1, v2, v3; } llm__avx2_four;   // one per token
typedef llm__avx2_four (*llm__avx2_isums_fn)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros);

// One step of 4 columns of eight rows x four tokens, in sums of int16, where bytes cannot be multiplied as signed ones.
LLM__AVX2_INLINE llm__avx2_four llm__avx2_step(const uint8_t *w, const int8_t *const *x, uint32_t at) {
    const __m256i v = llm__avx2_load(w);
    llm__avx2_four r;
    r.v0 = _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[0] + at));
    r.v1 = _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[1] + at));
    r.v2 = _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[2] + at));
    r.v3 = _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[3] + at));
    return r;
}
// One more step of 4 columns on int16 sums.
LLM__AVX2_INLINE llm__avx2_four llm__avx2_more(llm__avx2_four a, const uint8_t *w, const int8_t *const *x, uint32_t at) {
    const __m256i v = llm__avx2_load(w);
    a.v0 = _mm256_add_epi16(a.v0, _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[0] + at)));
    a.v1 = _mm256_add_epi16(a.v1, _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[1] + at)));
    a.v2 = _mm256_add_epi16(a.v2, _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[2] + at)));
    a.v3 = _mm256_add_epi16(a.v3, _mm256_maddubs_epi16(v, llm__avx2_four_bytes(x[3] + at)));
    LLM__KEEP(a.v0); LLM__KEEP(a.v1); LLM__KEEP(a.v2); LLM__KEEP(a.v3);
    return a;
}
LLM__AVX2_INLINE llm__avx2_four llm__avx2_add32(llm__avx2_four a, llm__avx2_four b) {
    a.v0 = _mm256_add_epi32(a.v0, b.v0); a.v1 = _mm256_add_epi32(a.v1, b.v1);
    a.v2 = _mm256_add_epi32(a.v2, b.v2); a.v3 = _mm256_add_epi32(a.v3, b.v3);
    LLM__KEEP(a.v0); LLM__KEEP(a.v1); LLM__KEEP(a.v2); LLM__KEEP(a.v3);
    return a;
}
LLM__AVX2_INLINE llm__avx2_four llm__avx2_widen(llm__avx2_four a, __m256i by) {
    a.v0 = _mm256_madd_epi16(a.v0, by); a.v1 = _mm256_madd_epi16(a.v1, by);
    a.v2 = _mm256_madd_epi16(a.v2, by); a.v3 = _mm256_madd_epi16(a.v3, by);
    return a;
}
// Columns 4*g .. 4*g + 7, .. 4*g + 15, and all 32.
LLM__AVX2_INLINE llm__avx2_four llm__avx2_2steps(const uint8_t *w, const int8_t *const *x, uint32_t at, uint32_t g) {
    return llm__avx2_more(llm__avx2_step(w + g * 128, x, at + g * 4), w + (g + 1) * 128, x, at + g * 4 + 4);
}
LLM__AVX2_INLINE llm__avx2_four llm__avx2_4steps(const uint8_t *w, const int8_t *const *x, uint32_t at, uint32_t g) {
    llm__avx2_four r = llm__avx2_2steps(w, x, at, g);
    r = llm__avx2_more(r, w + (g + 2) * 128, x, at + g * 4 + 8);
    return llm__avx2_more(r, w + (g + 3) * 128, x, at + g * 4 + 12);
}
LLM__AVX2_INLINE llm__avx2_four llm__avx2_8steps(const uint8_t *w, const int8_t *const *x, uint32_t at) {
    llm__avx2_four r = llm__avx2_4steps(w, x, at, 0);
    r = llm__avx2_more(r, w + 4 * 128, x, at + 16);
    r = llm__avx2_more(r, w + 5 * 128, x, at + 20);
    r = llm__avx2_more(r, w + 6 * 128, x, at + 24);
    return llm__avx2_more(r, w + 7 * 128, x, at + 28);
}

// One more step on sums of low and of high nibbles; the activations are loaded once for both.
typedef struct llm__avx2_eight { llm__avx2_four low, high; } llm__avx2_eight;

LLM__AVX2_INLINE llm__avx2_eight llm__avx2_more_bytes(llm__avx2_eight e, const uint8_t *q, const uint8_t *high, uint32_t g,
                                                      const int8_t *const *x, uint32_t at) {
    const __m256i l = llm__avx2_load(q + g * 128), h = llm__avx2_load(high + g * 128);
    __m256i a = llm__avx2_four_bytes(x[0] + at + g * 4);
    e.low.v0 = _mm256_add_epi16(e.low.v0, _mm256_maddubs_epi16(l, a));
    e.high.v0 = _mm256_add_epi16(e.high.v0, _mm256_maddubs_epi16(h, a));
    LLM__KEEP(e.low.v0); LLM__KEEP(e.high.v0);
    a = llm__avx2_four_bytes(x[1] + at + g * 4);
    e.low.v1 = _mm256_add_epi16(e.low.v1, _mm256_maddubs_epi16(l, a));
    e.high.v1 = _mm256_add_epi16(e.high.v1, _mm256_maddubs_epi16(h, a));
    LLM__KEEP(e.low.v1); LLM__KEEP(e.high.v1);
    a = llm__avx2_four_bytes(x[2] + at + g * 4);
    e.low.v2 = _mm256_add_epi16(e.low.v2, _mm256_maddubs_epi16(l, a));
    e.high.v2 = _mm256_add_epi16(e.high.v2, _mm256_maddubs_epi16(h, a));
    LLM__KEEP(e.low.v2); LLM__KEEP(e.high.v2);
    a = llm__avx2_four_bytes(x[3] + at + g * 4);
    e.low.v3 = _mm256_add_epi16(e.low.v3, _mm256_maddubs_epi16(l, a));
    e.high.v3 = _mm256_add_epi16(e.high.v3, _mm256_maddubs_epi16(h, a));
    LLM__KEEP(e.low.v3); LLM__KEEP(e.high.v3);
    return e;
}
LLM__AVX2_INLINE llm__avx2_four llm__avx2_bytes(const uint8_t *q, const uint8_t *high, const int8_t *const *x, uint32_t at) {
    llm__avx2_eight e;
    e.low = llm__avx2_step(q, x, at);
    e.high = llm__avx2_step(high, x, at);
    e = llm__avx2_more_bytes(e, q, high, 1, x, at); e = llm__avx2_more_bytes(e, q, high, 2, x, at);
    e = llm__avx2_more_bytes(e, q, high, 3, x, at); e = llm__avx2_more_bytes(e, q, high, 4, x, at);
    e = llm__avx2_more_bytes(e, q, high, 5, x, at); e = llm__avx2_more_bytes(e, q, high, 6, x, at);
    e = llm__avx2_more_bytes(e, q, high, 7, x, at);
    return llm__avx2_add32(llm__avx2_widen(e.low, _mm256_set1_epi16(1)), llm__avx2_widen(e.high, _mm256_set1_epi16(16)));
}

// One term of N4 for quarter h and token c. Whole groups: isum has its zero already.
LLM__AVX2_INLINE __m256 llm__avx2_term(bool halved, bool minima, __m256 acc, __m256i isum, const llm__panel *p, uint32_t h,
                                       const llm__side *side, uint32_t c) {
    const __m256 da = _mm256_set1_ps(side->d[c]);
    const __m256i z = llm__avx2_four_bytes(side->s16[c]);
    if (halved && !minima) isum = _mm256_add_epi32(isum, _mm256_madd_epi16(z, llm__avx2_load(p->zero + h * 16)));
    acc = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_loadu_ps(p->s + h * 8), da), _mm256_cvtepi32_ps(isum), acc);
    if (!minima) return acc;
    return _mm256_fmadd_ps(_mm256_mul_ps(_mm256_loadu_ps(p->t + h * 8), da), halved ?
                           _mm256_cvtepi32_ps(_mm256_madd_epi16(z, llm__avx2_load(p->mn + h * 16))) : _mm256_set1_ps(side->m[c]), acc);
}
typedef struct llm__avx2_sums { __m256 f0, f1, f2, f3; } llm__avx2_sums;          // one per token

LLM__AVX2_INLINE llm__avx2_sums llm__avx2_terms(bool halved, bool minima, llm__avx2_sums f, llm__avx2_four i, const llm__panel *p,
                                                uint32_t h, const llm__side *side, uint32_t c) {
    f.f0 = llm__avx2_term(halved, minima, f.f0, i.v0, p, h, side, c);
    f.f1 = llm__avx2_term(halved, minima, f.f1, i.v1, p, h, side, c + 1);
    f.f2 = llm__avx2_term(halved, minima, f.f2, i.v2, p, h, side, c + 2);
    f.f3 = llm__avx2_term(halved, minima, f.f3, i.v3, p, h, side, c + 3);
    return f;
}
LLM__AVX2_INLINE __m256i llm__avx2_live(uint32_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
LLM__AVX2_INLINE llm__avx2_sums llm__avx2_sums_from(const llm__token_group *k, uint32_t c, uint32_t row, uint32_t n_rows) {
    float *const *out = k->out + c;
    const __m256i live = llm__avx2_live(n_rows);
    llm__avx2_sums f;
    f.f0 = f.f1 = f.f2 = f.f3 = _mm256_setzero_ps();
    if (k->begin) return f;
    f.f0 = _mm256_maskload_ps(out[0] + row, live); f.f1 = _mm256_maskload_ps(out[1] + row, live);
    f.f2 = _mm256_maskload_ps(out[2] + row, live); f.f3 = _mm256_maskload_ps(out[3] + row, live);
    return f;
}
LLM__AVX2_INLINE void llm__avx2_sums_to(const llm__token_group *k, uint32_t c, uint32_t row, uint32_t n_rows, llm__avx2_sums f) {
    float *const *out = k->out + c;
    const __m256i live = llm__avx2_live(n_rows);
    if (n_rows >= 8) {                                                              // masked stores are slow on some CPUs
        _mm256_storeu_ps(out[0] + row, f.f0); _mm256_storeu_ps(out[1] + row, f.f1);
        _mm256_storeu_ps(out[2] + row, f.f2); _mm256_storeu_ps(out[3] + row, f.f3);
    } else {
        _mm256_maskstore_ps(out[0] + row, live, f.f0); _mm256_maskstore_ps(out[1] + row, live, f.f1);
        _mm256_maskstore_ps(out[2] + row, live, f.f2); _mm256_maskstore_ps(out[3] + row, live, f.f3);
    }
}
#endif
#endif // whole

//---- begin pass ----------------------------------------------------------------------------------------------------------------
// Read once per encoding. LLM__R(name) is its name, LLM__RT what a function needs in front, LLM__RI the same for a part of a kernel,
// LLM__RN for a part that stays a function; LLM__R_DOT(acc, u8, s8) adds four products to each word where there is such an instruction,
// LLM__R_EVEX says that there are masks, LLM__R_FORMATS are the types that decode.
#if defined(LLM__PASS) && LLM__PASS == LLM__PASS_ROWS

// 16 bytes of two rows.
LLM__RI __m256i LLM__R(two)(const uint8_t *a, const uint8_t *b) {
#if LLM__R_EVEX
    return _mm256_mask_broadcast_i32x4(_mm256_castsi128_si256(llm__avx2_load16(a)), 0xf0, llm__avx2_load16(b));     // no shuffle
#else
    return _mm256_inserti128_si256(_mm256_castsi128_si256(llm__avx2_load16(a)), llm__avx2_load16(b), 1);
#endif
}

// ---- unpacking: the integers of 32 columns of two rows ----

LLM__RI llm__avx2_pair LLM__R(nibbles)(const uint8_t *a, const uint8_t *b) {
    __m256i v = LLM__R(two)(a, b);
    llm__avx2_pair p;
    p.lo = llm__avx2_low(v, 15);
    p.hi = llm__avx2_low(_mm256_srli_epi16(v, 4), 15);
    return p;
}
// Fifth bits of rows r and r + 4: byte k / 4 of a row's word has the bit of weight k at 4 + k % 4 (LLM__R(fifths)).
LLM__RI __m256i LLM__R(fifth16)(__m256i words, int r) {
    const __m256i row = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    const __m256i v = _mm256_shuffle_epi8(words, _mm256_add_epi8(row, _mm256_set1_epi8((char)(4 * r))));
    return _mm256_min_epu8(_mm256_and_si256(v, _mm256_set1_epi32((int)0x80402010u)), _mm256_set1_epi8(16));
}
LLM__RI llm__avx2_pair LLM__R(fifth)(llm__avx2_pair p, const llm__avx2_scales *s, int r) {
    p.lo = _mm256_or_si256(p.lo, LLM__R(fifth16)(s->fifth.lo, r));
    p.hi = _mm256_or_si256(p.hi, LLM__R(fifth16)(s->fifth.hi, r));
    return p;
}
LLM__RI llm__avx2_pair LLM__R(q4_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r; (void)i; (void)c;
    return LLM__R(nibbles)(a + 2, b + 2);
}
LLM__RI llm__avx2_pair LLM__R(q4_1)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r; (void)i; (void)c;
    return LLM__R(nibbles)(a + 4, b + 4);
}
LLM__RI llm__avx2_pair LLM__R(q5_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)i; (void)c;
    return LLM__R(fifth)(LLM__R(nibbles)(a + 6, b + 6), s, r);
}
LLM__RI llm__avx2_pair LLM__R(q5_1)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)i; (void)c;
    return LLM__R(fifth)(LLM__R(nibbles)(a + 8, b + 8), s, r);
}
LLM__RI llm__avx2_pair LLM__R(q8_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    llm__avx2_pair p;
    (void)s; (void)r; (void)i; (void)c;
    p.lo = LLM__R(two)(a + 2, b + 2);
    p.hi = LLM__R(two)(a + 18, b + 18);
    return p;
}
// Of 32 bytes at `at`: shifted, under a mask.
LLM__RI llm__avx2_pair LLM__R(field)(const uint8_t *a, const uint8_t *b, size_t at, int shift, int mask) {
    llm__avx2_pair p;
    p.lo = llm__avx2_low(llm__avx2_shift(LLM__R(two)(a + at, b + at), shift), mask);
    p.hi = llm__avx2_low(llm__avx2_shift(LLM__R(two)(a + at + 16, b + at + 16), shift), mask);
    return p;
}
LLM__RI llm__avx2_pair LLM__R(or)(llm__avx2_pair p, llm__avx2_pair q) {
    p.lo = _mm256_or_si256(p.lo, q.lo);
    p.hi = _mm256_or_si256(p.hi, q.hi);
    return p;
}
// Bit j of 32 bytes at `at`, worth `value`.
LLM__RI llm__avx2_pair LLM__R(bits)(const uint8_t *a, const uint8_t *b, size_t at, uint32_t j, int value) {
    const __m256i bit = _mm256_set1_epi8((char)(1 << j));
    llm__avx2_pair p;
    p.lo = llm__avx2_bit(LLM__R(two)(a + at, b + at), bit, value);
    p.hi = llm__avx2_bit(LLM__R(two)(a + at + 16, b + at + 16), bit, value);
    return p;
}
LLM__RI llm__avx2_pair LLM__R(q2_k)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(field)(a, b, 16 + i * 32, c * 2, 3);
}
LLM__RI llm__avx2_pair LLM__R(q3_k)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(or)(LLM__R(field)(a, b, 32 + i * 32, c * 2, 3), LLM__R(bits)(a, b, 0, i * 4 + (uint32_t)c, 4));
}
LLM__RI llm__avx2_pair LLM__R(q4_k)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(field)(a, b, 16 + i * 32, c * 4, 15);
}
LLM__RI llm__avx2_pair LLM__R(q5_k)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(or)(LLM__R(field)(a, b, 48 + i * 32, c * 4, 15), LLM__R(bits)(a, b, 16, i * 2 + (uint32_t)c, 16));
}
LLM__RI llm__avx2_pair LLM__R(q6_k)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(or)(LLM__R(field)(a, b, i * 64 + (c & 1 ? 32 : 0), c / 2 * 4, 15),
                        LLM__R(field)(a, b, 128 + i * 32, c * 2 - 4, 48));
}

// ---- scales of eight rows ----

LLM__RI llm__avx2_rows LLM__R(rows_at)(const uint8_t *w, size_t rb) {
    llm__avx2_rows r;
    r.v[0] = LLM__R(two)(w, w + 4 * rb);
    r.v[1] = LLM__R(two)(w + rb, w + 5 * rb);
    r.v[2] = LLM__R(two)(w + 2 * rb, w + 6 * rb);
    r.v[3] = LLM__R(two)(w + 3 * rb, w + 7 * rb);
    return r;
}
// [row][word] -> [word][row]: a 4 x 4 transpose of 32-bit words in each half.
LLM__RI llm__avx2_rows LLM__R(transpose)(llm__avx2_rows r) {
    const __m256i ab0 = _mm256_unpacklo_epi32(r.v[0], r.v[1]), ab1 = _mm256_unpackhi_epi32(r.v[0], r.v[1]);
    const __m256i cd0 = _mm256_unpacklo_epi32(r.v[2], r.v[3]), cd1 = _mm256_unpackhi_epi32(r.v[2], r.v[3]);
    r.v[0] = _mm256_unpacklo_epi64(ab0, cd0);
    r.v[1] = _mm256_unpackhi_epi64(ab0, cd0);
    r.v[2] = _mm256_unpacklo_epi64(ab1, cd1);
    r.v[3] = _mm256_unpackhi_epi64(ab1, cd1);
    return r;
}
// The first, and the last, four of 16 bytes of each row.
#if LLM__R_EVEX
LLM__RI __m256i LLM__R(word)(__m256i v, __mmask8 from, const uint8_t *p) {
    int32_t word;
    memcpy(&word, p, 4);
    return _mm256_mask_set1_epi32(v, from, word);
}
LLM__RI __m256i LLM__R(words)(const uint8_t *w, size_t rb) {
    __m256i v = llm__avx2_four_bytes(w);
    v = LLM__R(word)(v, 0xfe, w + rb);     v = LLM__R(word)(v, 0xfc, w + 2 * rb); v = LLM__R(word)(v, 0xf8, w + 3 * rb);
    v = LLM__R(word)(v, 0xf0, w + 4 * rb); v = LLM__R(word)(v, 0xe0, w + 5 * rb); v = LLM__R(word)(v, 0xc0, w + 6 * rb);
    return LLM__R(word)(v, 0x80, w + 7 * rb);
}
LLM__RI __m256i LLM__R(last_words)(const uint8_t *w, size_t rb) { return LLM__R(words)(w + 12, rb); }
#else
LLM__RI __m256i LLM__R(words)(const uint8_t *w, size_t rb) { return LLM__R(transpose)(LLM__R(rows_at)(w, rb)).v[0]; }
LLM__RI __m256i LLM__R(last_words)(const uint8_t *w, size_t rb) { return LLM__R(transpose)(LLM__R(rows_at)(w, rb)).v[3]; }
#endif

// Two f16 in each word.
LLM__RI void LLM__R(two_f16)(__m256i words, __m256 *low, __m256 *high) {
#if LLM__R_EVEX
    *low = _mm256_cvtph_ps(_mm256_cvtepi32_epi16(words));
    *high = _mm256_cvtph_ps(_mm256_cvtepi32_epi16(_mm256_srli_epi32(words, 16)));
#else
    const __m256i apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m256i v = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, apart), 0xd8);
    *low = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
    *high = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
#endif
}
LLM__RI __m256 LLM__R(minus)(__m256 v) { return _mm256_xor_ps(v, _mm256_set1_ps(-0.0f)); }

// Fifth bits, one word per row: weight k's bit comes to 4 + k % 4 of byte k / 4, for k below 16 and from 16 on.
LLM__RI llm__avx2_pair LLM__R(fifths)(__m256i words) {
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13));
    const __m256i lo = _mm256_shuffle_epi8(words, twice), hi = _mm256_shuffle_epi8(_mm256_srli_epi32(words, 16), twice);
    const __m256i odd = _mm256_set1_epi16((short)0xff00);
    llm__avx2_pair p;
    p.lo = llm__avx2_choose(_mm256_slli_epi16(lo, 4), lo, odd);
    p.hi = llm__avx2_choose(_mm256_slli_epi16(hi, 4), hi, odd);
    return p;
}
// d, and m where the type has one: else it is two bytes of weights, and nobody looks.
LLM__RI void LLM__R(head)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(two_f16)(LLM__R(words)(w, rb), &s->d, &s->m);
}
LLM__RI void LLM__R(fives)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w, rb));
    LLM__R(two_f16)(r.v[0], &s->d, &s->m);
    s->fifth = LLM__R(fifths)(_mm256_or_si256(_mm256_srli_epi32(r.v[0], 16), _mm256_slli_epi32(r.v[1], 16)));
}
LLM__RI void LLM__R(fives_min)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w, rb));
    LLM__R(two_f16)(r.v[0], &s->d, &s->m);
    s->fifth = LLM__R(fifths)(r.v[1]);
}
// d, dmin and the twelve bytes of llm__scale_min_k4 are the first 16; the six-bit fields come apart four at a time.
LLM__RI void LLM__R(super_k4)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w, rb));
    LLM__R(two_f16)(r.v[0], &s->d, &s->m);
    s->m = LLM__R(minus)(s->m);
    s->sub.v[0] = llm__avx2_low(r.v[1], 63);
    s->mn.v[0] = llm__avx2_low(r.v[2], 63);
    s->sub.v[1] = _mm256_or_si256(llm__avx2_low(r.v[3], 15), llm__avx2_low(llm__avx2_shift(r.v[1], 2), 48));
    s->mn.v[1] = _mm256_or_si256(llm__avx2_low(llm__avx2_shift(r.v[3], 4), 15), llm__avx2_low(llm__avx2_shift(r.v[2], 2), 48));
}
LLM__RI void LLM__R(super_q2_k)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w, rb));
    int i;
    LLM__R(two_f16)(LLM__R(last_words)(w + 68, rb), &s->d, &s->m);
    s->m = LLM__R(minus)(s->m);
    for (i = 0; i < 4; i++) {
        s->sub.v[i] = llm__avx2_low(r.v[i], 15);
        s->mn.v[i] = llm__avx2_low(llm__avx2_shift(r.v[i], 4), 15);
    }
}
// The twelve bytes of llm__q3_k_scale, then d: the last 14 of the block.
LLM__RI void LLM__R(super_q3_k)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, (char)-1, (char)-1, 14, 15));
    llm__avx2_rows r = LLM__R(rows_at)(w + 94, rb);
    int i;
    for (i = 0; i < 4; i++) r.v[i] = _mm256_shuffle_epi8(r.v[i], order);
    r = LLM__R(transpose)(r);
    LLM__R(two_f16)(r.v[3], &s->m, &s->d);
    s->sub.v[0] = _mm256_or_si256(llm__avx2_low(r.v[0], 15), llm__avx2_low(llm__avx2_shift(r.v[2], -4), 48));
    s->sub.v[1] = _mm256_or_si256(llm__avx2_low(r.v[1], 15), llm__avx2_low(llm__avx2_shift(r.v[2], -2), 48));
    s->sub.v[2] = _mm256_or_si256(llm__avx2_low(llm__avx2_shift(r.v[0], 4), 15), llm__avx2_low(r.v[2], 48));
    s->sub.v[3] = _mm256_or_si256(llm__avx2_low(llm__avx2_shift(r.v[1], 4), 15), llm__avx2_low(llm__avx2_shift(r.v[2], 2), 48));
    for (i = 0; i < 4; i++) s->sub.v[i] = _mm256_sub_epi8(s->sub.v[i], _mm256_set1_epi8(32));
    s->mn = s->sub;                                                         // no minima: defined, not used
}
LLM__RI void LLM__R(super_q6_k)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    s->sub = LLM__R(transpose)(LLM__R(rows_at)(w + 192, rb));
    s->mn = s->sub;                                                         // no minima: defined, not used
    LLM__R(two_f16)(LLM__R(last_words)(w + 194, rb), &s->m, &s->d);
}

// Bytes j and k of each word as the two signed halves of the word.
LLM__RI __m256i LLM__R(bytes_of)(__m256i words, int j, int k) {
    const int order = (int)(0x00800080u | (unsigned)j << 8 | (unsigned)k << 24);
    const __m256i row = _mm256_setr_epi32(0, 0x04000400, 0x08000800, 0x0c000c00, 0, 0x04000400, 0x08000800, 0x0c000c00);
    return _mm256_srai_epi16(_mm256_shuffle_epi8(words, _mm256_add_epi32(row, _mm256_set1_epi32(order))), 8);
}

LLM__RI llm__avx2_group LLM__R(whole)(const llm__avx2_scales *s, uint32_t i, int c) {     // the block is the group
    llm__avx2_group g;
    (void)i; (void)c;
    g.s = s->d; g.t = s->m;
    g.sub0 = g.sub1 = g.zero = g.mn = _mm256_set1_epi16(1);
    return g;
}
LLM__RI llm__avx2_group LLM__R(scaled)(const llm__avx2_scales *s, uint32_t i, int c) {    // scale and minimum times six bits
    const int from = (int)(i & 1) * 16 + c * 8;
    const __m256i sc = _mm256_and_si256(_mm256_srl_epi32(s->sub.v[i / 2], _mm_cvtsi32_si128(from)), _mm256_set1_epi32(255));
    const __m256i mn = _mm256_and_si256(_mm256_srl_epi32(s->mn.v[i / 2], _mm_cvtsi32_si128(from)), _mm256_set1_epi32(255));
    llm__avx2_group g;
    g.s = _mm256_mul_ps(s->d, _mm256_cvtepi32_ps(sc));
    g.t = _mm256_mul_ps(s->m, _mm256_cvtepi32_ps(mn));
    g.sub0 = g.sub1 = g.zero = g.mn = _mm256_set1_epi16(1);
    return g;
}
// Two sub-scales; sub-minima where the type has them.
LLM__RI llm__avx2_group LLM__R(halved)(const llm__avx2_scales *s, uint32_t i, int c) {
    const __m256i words = s->sub.v[i * 2 + (uint32_t)c / 2];
    const int j = c % 2 * 2;
    llm__avx2_group g;
    g.s = s->d; g.t = s->m;
    g.sub0 = LLM__R(bytes_of)(words, j, j);
    g.sub1 = LLM__R(bytes_of)(words, j + 1, j + 1);
    g.zero = LLM__R(bytes_of)(words, j, j + 1);
    g.mn = LLM__R(bytes_of)(s->mn.v[i * 2 + (uint32_t)c / 2], j, j + 1);
    return g;
}

// ---- the types that look their weights up, and the smallest ones ----

// Bits of each word from `from` on.
LLM__RI __m256i LLM__R(bits_at)(__m256i words, uint32_t from, int mask) {
    return _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128((int)from)), _mm256_set1_epi32(mask));
}
LLM__RI llm__avx2_pair LLM__R(lookup)(llm__avx2_pair p, __m256i table) {
    p.lo = _mm256_shuffle_epi8(table, p.lo);
    p.hi = _mm256_shuffle_epi8(table, p.hi);
    return p;
}
LLM__RI llm__avx2_pair LLM__R(iq4_nl)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r; (void)i; (void)c;
    return LLM__R(lookup)(LLM__R(nibbles)(a + 2, b + 2), llm__avx2_both(llm__iq4_values));
}
LLM__RI llm__avx2_pair LLM__R(iq4_xs)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 8 + i * 16;
    (void)s; (void)r; (void)c;
    return LLM__R(lookup)(LLM__R(nibbles)(a + at, b + at), llm__avx2_both(llm__iq4_values));
}
LLM__RI __m256i LLM__R(e2m1)(void) {                             // 12 added: 0..24
    return _mm256_add_epi8(llm__avx2_both(llm__e2m1_values), _mm256_set1_epi8(12));
}
LLM__RI llm__avx2_pair LLM__R(mxfp4)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r; (void)i; (void)c;
    return LLM__R(lookup)(LLM__R(nibbles)(a + 1, b + 1), LLM__R(e2m1)());
}
LLM__RI llm__avx2_pair LLM__R(nvfp4)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 4 + i * 16;
    const llm__avx2_pair v = LLM__R(nibbles)(a + at, b + at);
    llm__avx2_pair p;
    (void)s; (void)r; (void)c;
    p.lo = _mm256_unpacklo_epi64(v.lo, v.hi);                               // eight bytes are a half
    p.hi = _mm256_unpackhi_epi64(v.lo, v.hi);
    return LLM__R(lookup)(p, LLM__R(e2m1)());
}
LLM__RI void LLM__R(four_d)(const uint8_t *w, size_t rb, llm__avx2_scales *s) { s->sub.v[0] = LLM__R(words)(w, rb); }
// llm__half_ue4m3 of byte j: four bits of integer times a power of two. (Shifted into place it would be F32 but for a factor, and one
// multiplication shorter; exponent 0 is then subnormal, which halves the speed on Zen 4 where such scales are.)
LLM__RI __m256 LLM__R(ue4m3)(__m256i words, uint32_t j) {
    const __m256i d = LLM__R(bits_at)(words, j * 8, 255), one = _mm256_set1_epi32(1), eight = _mm256_set1_epi32(8);
    const __m256i exponent = LLM__R(bits_at)(d, 3, 15), mantissa = _mm256_and_si256(d, _mm256_set1_epi32(7));
    const __m256i integer = _mm256_or_si256(mantissa, _mm256_and_si256(_mm256_cmpgt_epi32(exponent, _mm256_setzero_si256()), eight));
    const __m256i finite = _mm256_andnot_si256(_mm256_cmpeq_epi32(d, _mm256_set1_epi32(0x7f)), integer);
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_max_epi32(exponent, one), _mm256_set1_epi32(116)), 23);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(finite), _mm256_castsi256_ps(power));
}
LLM__RI llm__avx2_group LLM__R(scale_each)(const llm__avx2_scales *s, uint32_t i, int c) {       // s and t of the two halves
    llm__avx2_group g;
    (void)c;
    g.s = LLM__R(ue4m3)(s->sub.v[0], i * 2);
    g.t = LLM__R(ue4m3)(s->sub.v[0], i * 2 + 1);
    g.sub0 = g.sub1 = g.zero = g.mn = _mm256_set1_epi16(1);
    return g;
}
LLM__RI void LLM__R(powers)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {           // llm__half_e8m0
    const __m256i e = _mm256_and_si256(LLM__R(words)(w, rb), _mm256_set1_epi32(255));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    s->d = _mm256_castsi256_ps(llm__avx2_choose(normal, subnormal, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
    s->m = s->d;
}
LLM__RI void LLM__R(super_iq4_xs)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w, rb));
    LLM__R(two_f16)(r.v[0], &s->d, &s->m);
    s->sub.v[0] = r.v[1];
    s->sub.v[1] = _mm256_srli_epi32(r.v[0], 16);
}
LLM__RI llm__avx2_group LLM__R(six_bits)(const llm__avx2_scales *s, uint32_t i, int c) {  // iq4_xs: d * (sc - 32)
    const __m256i low = LLM__R(bits_at)(s->sub.v[0], i * 4, 15), high = LLM__R(bits_at)(s->sub.v[1], i * 2, 3);
    const __m256i sc = _mm256_sub_epi32(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)), _mm256_set1_epi32(32));
    llm__avx2_group g = LLM__R(whole)(s, i, c);
    g.s = _mm256_mul_ps(s->d, _mm256_cvtepi32_ps(sc));
    return g;
}

LLM__RI llm__avx2_pair LLM__R(tq2_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    (void)s; (void)r;
    return LLM__R(field)(a, b, i * 32, c * 2, 3);
}
LLM__RI void LLM__R(super_tq2_0)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(two_f16)(LLM__R(last_words)(w + 50, rb), &s->m, &s->d);
}
// llm__trit, plus 1, for all bytes; a power of three for two of them. Products modulo 256 stand in the upper byte: the even bytes come
// there times 256 * power, which drops the odd ones.
LLM__RI __m256i LLM__R(trits)(__m256i v, __m256i power) {
    const __m256i three = _mm256_set1_epi16(3), odd = _mm256_and_si256(v, _mm256_set1_epi16((short)0xff00));
    const __m256i even = _mm256_mulhi_epu16(_mm256_mullo_epi16(v, _mm256_slli_epi16(power, 8)), three);
    return _mm256_or_si256(even, _mm256_slli_epi16(_mm256_mulhi_epu16(_mm256_mullo_epi16(odd, power), three), 8));
}
LLM__RI __m256i LLM__R(each)(const void *a, const void *b) {     // the same four bytes in each half
    int32_t x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi32(x)), _mm_set1_epi32(y), 1);
}
LLM__RN llm__avx2_pair LLM__R(tq1_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    llm__avx2_pair p;
    (void)s; (void)r; (void)c;
    if (i < 5) {
        const __m256i power = _mm256_set1_epi16(llm__power_of_3[i]);
        p.lo = LLM__R(trits)(LLM__R(two)(a, b), power);
        p.hi = LLM__R(trits)(LLM__R(two)(a + 16, b + 16), power);
    } else {
        const __m256i v = LLM__R(two)(a + 32, b + 32);
        p.lo = LLM__R(trits)(v, _mm256_set1_epi16(llm__power_of_3[i * 2 - 10]));
        p.hi = i < 7 ? LLM__R(trits)(v, _mm256_set1_epi16(llm__power_of_3[i * 2 - 9])) :
               LLM__R(trits)(LLM__R(each)(a + 48, b + 48), _mm256_broadcastsi128_si256(_mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27)));
    }
    return p;
}
LLM__RI void LLM__R(super_tq1_0)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(two_f16)(LLM__R(last_words)(w + 38, rb), &s->m, &s->d);
}

// Four bytes of each row, each in a word of its own: what eight weights share.
LLM__RI __m256i LLM__R(apart)(const uint8_t *a, const uint8_t *b) {
    int32_t x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return _mm256_cvtepu8_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(x), y, 1));
}
LLM__RI __m256i LLM__R(eightfold)(__m256i words, int first) {    // bytes first and first + 4 of each half, eight times each
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4));
    return _mm256_shuffle_epi8(words, _mm256_add_epi8(order, _mm256_set1_epi8((char)first)));
}
LLM__RI __m256i LLM__R(bit16)(__m256i words, int first, int value) {      // `value` where bit k of the byte for weight k is set
    return llm__avx2_bit(LLM__R(eightfold)(words, first), _mm256_set1_epi64x((long long)0x8040201008040201u), value);
}
LLM__RI llm__avx2_pair LLM__R(q1_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const __m256i v = LLM__R(apart)(a + 2 + i * 4, b + 2 + i * 4);
    llm__avx2_pair p;
    (void)s; (void)r; (void)c;
    p.lo = LLM__R(bit16)(v, 0, 2);
    p.hi = LLM__R(bit16)(v, 8, 2);
    return p;
}
// Two bits a weight, eight bytes of each row, through a table of four. Half of the codes are shifted down so that each stands in a lower
// nibble, as itself or times four.
LLM__RI llm__avx2_pair LLM__R(quads)(__m128i ab, int v0, int v1, int v2, int v3) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8((char)v0, (char)v1, (char)v2, (char)v3, (char)v1, 0, 0, 0,
                                                                    (char)v2, 0, 0, 0, (char)v3, 0, 0, 0));
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 8, 8, 1, 1, 9, 9, 2, 2, 10, 10, 3, 3, 11, 11));
    const __m256i twice = _mm256_permute4x64_epi64(_mm256_castsi128_si256(ab), 0x50), code = _mm256_set1_epi16(0x0c03);
    const __m256i v = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4));
    llm__avx2_pair p;
    p.lo = _mm256_and_si256(_mm256_shuffle_epi8(v, order), code);
    p.hi = _mm256_and_si256(_mm256_shuffle_epi8(v, _mm256_add_epi8(order, _mm256_set1_epi8(4))), code);
    return LLM__R(lookup)(p, table);
}
LLM__RI __m128i LLM__R(eights)(const uint8_t *a, const uint8_t *b) {
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)a), _mm_loadl_epi64((const __m128i *)b));
}
LLM__RI llm__avx2_pair LLM__R(q2_0)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 2 + i * 8;
    (void)s; (void)r; (void)c;
    return LLM__R(quads)(LLM__R(eights)(a + at, b + at), 0, 1, 2, 3);
}

// ---- the types of the grids ----

// Four entries of a list for each of two rows. (Arrays of numbers would be loops to GCC.)
LLM__RI __m128i LLM__R(grid4)(const uint16_t *grid, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                         uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3) {
    __m128i v = _mm_cvtsi32_si128(grid[a0]);
    v = _mm_insert_epi16(v, (short)grid[a1], 1); v = _mm_insert_epi16(v, (short)grid[a2], 2); v = _mm_insert_epi16(v, (short)grid[a3], 3);
    v = _mm_insert_epi16(v, (short)grid[b0], 4); v = _mm_insert_epi16(v, (short)grid[b1], 5); v = _mm_insert_epi16(v, (short)grid[b2], 6);
    return _mm_insert_epi16(v, (short)grid[b3], 7);
}
// Their numbers have upper bits, `step` apart in x for row a and in y for row b.
LLM__RI __m128i LLM__R(entries)(const uint16_t *grid, const uint8_t *a, const uint8_t *b, uint32_t x, uint32_t y, int step,
                                           uint32_t mask) {
    x <<= 8; y <<= 8; mask <<= 8;
    return LLM__R(grid4)(grid, a[0] | (x & mask), a[1] | (x >> step & mask), a[2] | (x >> step * 2 & mask), a[3] | (x >> step * 3 & mask),
                           b[0] | (y & mask), b[1] | (y >> step & mask), b[2] | (y >> step * 2 & mask), b[3] | (y >> step * 3 & mask));
}
// Eight entries; the ninth bits of their numbers are those of `high`.
LLM__RI __m128i LLM__R(grid8)(const uint16_t *grid, const uint8_t *q, uint32_t high) {
    __m128i v = _mm_cvtsi32_si128(grid[q[0] | (high << 8 & 256u)]);
    v = _mm_insert_epi16(v, (short)grid[q[1] | (high << 7 & 256u)], 1); v = _mm_insert_epi16(v, (short)grid[q[2] | (high << 6 & 256u)], 2);
    v = _mm_insert_epi16(v, (short)grid[q[3] | (high << 5 & 256u)], 3); v = _mm_insert_epi16(v, (short)grid[q[4] | (high << 4 & 256u)], 4);
    v = _mm_insert_epi16(v, (short)grid[q[5] | (high << 3 & 256u)], 5); v = _mm_insert_epi16(v, (short)grid[q[6] | (high << 2 & 256u)], 6);
    return _mm_insert_epi16(v, (short)grid[q[7] | (high << 1 & 256u)], 7);
}
// Four bits a weight, in order, through a table of eight.
LLM__RI llm__avx2_pair LLM__R(eighths)(__m128i a, __m128i b, const int8_t *values) {
    const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1), even = llm__avx2_low(v, 15);
    const __m256i odd = llm__avx2_low(_mm256_srli_epi16(v, 4), 15);
    llm__avx2_pair p;
    p.lo = _mm256_unpacklo_epi8(even, odd);
    p.hi = _mm256_unpackhi_epi8(even, odd);
    return LLM__R(lookup)(p, _mm256_broadcastsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)values)));
}
// Minus where bit k of the word for eight weights is set.
LLM__RI llm__avx2_pair LLM__R(turn)(llm__avx2_pair p, __m256i signs) {
    const __m256i lo = LLM__R(bit16)(signs, 0, 255), hi = LLM__R(bit16)(signs, 8, 255);
    p.lo = _mm256_sub_epi8(_mm256_xor_si256(p.lo, lo), lo);
    p.hi = _mm256_sub_epi8(_mm256_xor_si256(p.hi, hi), hi);
    return p;
}
LLM__RI llm__avx2_pair LLM__R(raise)(llm__avx2_pair p, int zero) {
    p.lo = _mm256_add_epi8(p.lo, _mm256_set1_epi8((char)zero));
    p.hi = _mm256_add_epi8(p.hi, _mm256_set1_epi8((char)zero));
    return p;
}
// llm__even_signs of the low seven bits of each word.
LLM__RI __m256i LLM__R(even_signs)(__m256i words) {
    const char o = (char)0x80;
    const __m256i eighth = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, o, o, 0, o, 0, 0, o, o, 0, 0, o, 0, o, o, 0));     // by four bits
    const __m256i seven = _mm256_and_si256(words, _mm256_set1_epi32(127));
    return _mm256_or_si256(seven, _mm256_shuffle_epi8(eighth, _mm256_xor_si256(seven, _mm256_srli_epi32(seven, 4))));
}
LLM__RI __m256i LLM__R(signs28)(const uint8_t *a, const uint8_t *b) {         // four times seven bits of each row
    return LLM__R(even_signs)(_mm256_srlv_epi32(LLM__R(each)(a, b), _mm256_setr_epi32(0, 7, 14, 21, 0, 7, 14, 21)));
}

LLM__RN llm__avx2_pair LLM__R(iq2_xxs)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 2 + i * 8;
    const __m128i entries = LLM__R(entries)(llm__grid_iq2_xxs, a + at, b + at, 0, 0, 0, 0);
    (void)s; (void)r; (void)c;
    return LLM__R(raise)(LLM__R(turn)(LLM__R(quads)(entries, 8, 25, 43, 0), LLM__R(signs28)(a + at + 4, b + at + 4)), 43);
}
LLM__RN llm__avx2_pair LLM__R(iq2_xs)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const uint8_t *x = a + 2 + i * 16 + c * 8, *y = b + 2 + i * 16 + c * 8;
    const __m256i signs = LLM__R(even_signs)(_mm256_srli_epi32(_mm256_cvtepu16_epi32(LLM__R(eights)(x, y)), 9));
    const __m128i entries = LLM__R(grid4)(llm__grid_iq2_xs, llm__le16(x) & 511u, llm__le16(x + 2) & 511u, llm__le16(x + 4) & 511u,
                                            llm__le16(x + 6) & 511u, llm__le16(y) & 511u, llm__le16(y + 2) & 511u, llm__le16(y + 4) & 511u,
                                            llm__le16(y + 6) & 511u);
    (void)s; (void)r;
    return LLM__R(raise)(LLM__R(turn)(LLM__R(quads)(entries, 8, 25, 43, 0), signs), 43);
}
LLM__RN llm__avx2_pair LLM__R(iq2_s)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t j = i * 2 + (size_t)c, at = 2 + j * 4;
    const __m128i entries = LLM__R(entries)(llm__grid_iq2_s, a + at, b + at, a[66 + j], b[66 + j], 2, 3);
    (void)s; (void)r;
    return LLM__R(raise)(LLM__R(turn)(LLM__R(quads)(entries, 8, 25, 43, 0), LLM__R(apart)(a + at + 32, b + at + 32)), 43);
}
LLM__RN llm__avx2_pair LLM__R(iq3_xxs)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 2 + i * 8, signs = 66 + i * 4;
    const __m128i x = LLM__R(grid8)(llm__grid_iq3_xxs, a + at, 0), y = LLM__R(grid8)(llm__grid_iq3_xxs, b + at, 0);
    (void)s; (void)r; (void)c;
    return LLM__R(raise)(LLM__R(turn)(LLM__R(eighths)(x, y, llm__iq3_xxs_values), LLM__R(signs28)(a + signs, b + signs)), 62);
}
LLM__RN llm__avx2_pair LLM__R(iq3_s)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 2 + i * 8, signs = 74 + i * 4;
    const __m128i x = LLM__R(grid8)(llm__grid_iq3_s, a + at, a[66 + i]), y = LLM__R(grid8)(llm__grid_iq3_s, b + at, b[66 + i]);
    (void)s; (void)r; (void)c;
    return LLM__R(raise)(LLM__R(turn)(LLM__R(eighths)(x, y, llm__iq3_s_values), LLM__R(apart)(a + signs, b + signs)), 15);
}
// iq1: 8 * (v + 1) + 2, or without the 2 where the bit for minus is set, which `to_bit_1` brings there for each eight weights.
LLM__RI llm__avx2_pair LLM__R(thirds)(__m128i entries, __m256i high, __m256i to_bit_1) {
    const __m256i plus = _mm256_andnot_si256(_mm256_srlv_epi32(high, to_bit_1), _mm256_set1_epi32(2));
    llm__avx2_pair p = LLM__R(quads)(entries, 0, 8, 16, 0), q;
    q.lo = LLM__R(eightfold)(plus, 0);
    q.hi = LLM__R(eightfold)(plus, 8);
    return LLM__R(or)(p, q);
}
LLM__RI __m256i LLM__R(each16)(uint32_t a, uint32_t b) { return LLM__R(each)(&a, &b); }
LLM__RN llm__avx2_pair LLM__R(iq1_s)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t at = 2 + i * 4;
    const uint32_t x = llm__le16(a + 34 + i * 2), y = llm__le16(b + 34 + i * 2);
    (void)s; (void)r; (void)c;
    return LLM__R(thirds)(LLM__R(entries)(llm__grid_iq1, a + at, b + at, x, y, 3, 7), LLM__R(each16)(x, y), _mm256_set1_epi32(14));
}
LLM__RN llm__avx2_pair LLM__R(iq1_m)(const uint8_t *a, const uint8_t *b, const llm__avx2_scales *s, int r, uint32_t i, int c) {
    const size_t j = i * 2 + (size_t)c, at = j * 4;
    const uint32_t x = llm__le16(a + 32 + j * 2), y = llm__le16(b + 32 + j * 2);
    (void)s; (void)r;
    return LLM__R(thirds)(LLM__R(entries)(llm__grid_iq1, a + at, b + at, x, y, 4, 7), LLM__R(each16)(x, y),
                            _mm256_setr_epi32(2, 6, 10, 14, 2, 6, 10, 14));
}

// d times `part`; four bits of scale per group of 32 are put together in s->sub.v[0], those of group j at bit 4*j.
LLM__RI void LLM__R(super_d)(const uint8_t *w, size_t rb, llm__avx2_scales *s, float part) {
    LLM__R(head)(w, rb, s);
    s->d = _mm256_mul_ps(s->d, _mm256_set1_ps(part));
}
LLM__RI __m256i LLM__R(top)(__m256i words, int j) { return _mm256_slli_epi32(_mm256_srli_epi32(words, 28), j * 4); }
// The scales are above the signs: in words 1 and 3 of four times 16 bytes; in eight words.
LLM__RN void LLM__R(super_iq2_xxs)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    int i;
    LLM__R(super_d)(w, rb, s, 0.125f);
    s->sub.v[0] = _mm256_setzero_si256();
    for (i = 0; i < 4; i++) {
        const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w + 2 + i * 16, rb));
        const __m256i both = _mm256_or_si256(LLM__R(top)(r.v[1], i * 2), LLM__R(top)(r.v[3], i * 2 + 1));
        s->sub.v[0] = _mm256_or_si256(s->sub.v[0], both);
    }
}
LLM__RN void LLM__R(super_iq3_xxs)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w + 66, rb)), q = LLM__R(transpose)(LLM__R(rows_at)(w + 82, rb));
    int i;
    LLM__R(super_d)(w, rb, s, 0.25f);
    s->sub.v[0] = _mm256_setzero_si256();
    for (i = 0; i < 4; i++)
        s->sub.v[0] = _mm256_or_si256(s->sub.v[0], _mm256_or_si256(LLM__R(top)(r.v[i], i), LLM__R(top)(q.v[i], i + 4)));
}
LLM__RN void LLM__R(super_iq3_s)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(head)(w, rb, s);
    s->sub.v[0] = LLM__R(last_words)(w + 94, rb);
}
LLM__RN void LLM__R(super_iq1_s)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w + 34, rb));
    int i;
    LLM__R(super_d)(w, rb, s, 0.125f);
    s->sub.v[0] = _mm256_setzero_si256();
    for (i = 0; i < 4; i++) {
        const __m256i v = _mm256_and_si256(r.v[i], _mm256_set1_epi32(0x70007000));
        const __m256i both = _mm256_or_si256(LLM__R(top)(_mm256_slli_epi32(v, 16), i * 2), LLM__R(top)(v, i * 2 + 1));
        s->sub.v[0] = _mm256_or_si256(s->sub.v[0], both);
    }
}
LLM__RI llm__avx2_group LLM__R(odd)(const llm__avx2_scales *s, uint32_t i, int c) {       // d * (2*sc + 1)
    const __m256i sc = LLM__R(bits_at)(s->sub.v[0], i * 4, 15);
    llm__avx2_group g = LLM__R(whole)(s, i, c);
    g.s = _mm256_mul_ps(s->d, _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_add_epi32(sc, sc), _mm256_set1_epi32(1))));
    return g;
}
LLM__RI llm__avx2_group LLM__R(two_odd)(const llm__avx2_scales *s, uint32_t i, int c) {   // as LLM__R(halved), run of two
    const __m256i words = s->sub.v[i];
    llm__avx2_group g;
    g.s = g.t = s->d;
    g.sub0 = LLM__R(bytes_of)(words, c * 2, c * 2);
    g.sub1 = LLM__R(bytes_of)(words, c * 2 + 1, c * 2 + 1);
    g.zero = g.mn = LLM__R(bytes_of)(words, c * 2, c * 2 + 1);
    return g;
}
LLM__RI __m256i LLM__R(odd_bytes)(__m256i v) { return _mm256_add_epi8(_mm256_add_epi8(v, v), _mm256_set1_epi8(1)); }
// Sub-scales of halves in four bits each: the upper eight of 16 bytes.
LLM__RI void LLM__R(odd_halves)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    llm__avx2_rows r = LLM__R(rows_at)(w, rb);
    int i;
    for (i = 0; i < 4; i++)
        r.v[i] = LLM__R(odd_bytes)(_mm256_unpackhi_epi8(llm__avx2_low(r.v[i], 15), llm__avx2_low(_mm256_srli_epi16(r.v[i], 4), 15)));
    s->sub = LLM__R(transpose)(r);
}
LLM__RN void LLM__R(super_iq2_xs)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(super_d)(w, rb, s, 0.125f);
    LLM__R(odd_halves)(w + 58, rb, s);
}
LLM__RN void LLM__R(super_iq2_s)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    LLM__R(super_d)(w, rb, s, 0.125f);
    LLM__R(odd_halves)(w + 66, rb, s);
}
// Sixteen times three bits, and d in what is left above each twelve of them.
LLM__RI __m256i LLM__R(four_threes)(__m256i v) {
    const __m256i r01 = _mm256_or_si256(_mm256_and_si256(v, _mm256_set1_epi32(7)),
                                        _mm256_and_si256(_mm256_slli_epi32(v, 5), _mm256_set1_epi32(0x700)));
    const __m256i r23 = _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(v, 10), _mm256_set1_epi32(0x70000)),
                                        _mm256_and_si256(_mm256_slli_epi32(v, 15), _mm256_set1_epi32(0x7000000)));
    return LLM__R(odd_bytes)(_mm256_or_si256(r01, r23));
}
LLM__RN void LLM__R(super_iq1_m)(const uint8_t *w, size_t rb, llm__avx2_scales *s) {
    const llm__avx2_rows r = LLM__R(transpose)(LLM__R(rows_at)(w + 40, rb));
    const __m256i d01 = _mm256_or_si256(LLM__R(bits_at)(r.v[2], 12, 0xf), LLM__R(bits_at)(r.v[2], 24, 0xf0));
    const __m256i d23 = _mm256_or_si256(LLM__R(bits_at)(r.v[3], 4, 0xf00), LLM__R(bits_at)(r.v[3], 16, 0xf000));
    LLM__R(two_f16)(_mm256_or_si256(d01, d23), &s->d, &s->m);
    s->d = _mm256_mul_ps(s->d, _mm256_set1_ps(0.125f));
    s->sub.v[0] = LLM__R(four_threes)(r.v[2]);
    s->sub.v[1] = LLM__R(four_threes)(_mm256_srli_epi32(r.v[2], 16));
    s->sub.v[2] = LLM__R(four_threes)(r.v[3]);
    s->sub.v[3] = LLM__R(four_threes)(_mm256_srli_epi32(r.v[3], 16));
}

// ---- decode ----

// Partial sums of one pair of rows: of all 32 columns in lo, or of its two halves apart. One exact sum per row from four of them, rows in
// order, halves weighted by their sub-scales.
#ifdef LLM__R_DOT
LLM__RI llm__avx2_pair LLM__R(partial)(int kind, llm__avx2_pair p, __m256i lo, __m256i hi) {
    const __m256i none = _mm256_setzero_si256(), sign = _mm256_set1_epi8((char)0x80);
    if (kind == LLM__AVX2_BYTE) { p.lo = _mm256_xor_si256(p.lo, sign); p.hi = _mm256_xor_si256(p.hi, sign); }
    p.lo = LLM__R_DOT(none, p.lo, lo);
    if (kind < LLM__AVX2_SMALL) p.lo = LLM__R_DOT(p.lo, p.hi, hi);
    else p.hi = LLM__R_DOT(none, p.hi, hi);
    return p;
}
LLM__RI __m256i LLM__R(total)(int kind, llm__avx2_pair a, llm__avx2_pair b, llm__avx2_pair c, llm__avx2_pair d, llm__avx2_group g) {
    const __m256i lo = llm__avx2_fold32(a.lo, b.lo, c.lo, d.lo);
    if (kind < LLM__AVX2_SMALL) return lo;
    return _mm256_add_epi32(_mm256_mullo_epi32(lo, _mm256_srai_epi32(g.sub0, 16)),
                            _mm256_mullo_epi32(llm__avx2_fold32(a.hi, b.hi, c.hi, d.hi), _mm256_srai_epi32(g.sub1, 16)));
}
#else
LLM__RI llm__avx2_pair LLM__R(partial)(int kind, llm__avx2_pair p, __m256i lo, __m256i hi) {
    if (kind == LLM__AVX2_BYTE) {
        p.lo = _mm256_add_epi32(llm__avx2_signed(p.lo, lo), llm__avx2_signed(p.hi, hi));
        return p;
    }
    p.lo = _mm256_maddubs_epi16(p.lo, lo);
    p.hi = _mm256_maddubs_epi16(p.hi, hi);
    if (kind == LLM__AVX2_NIBBLE || kind == LLM__AVX2_FIVE) p.lo = _mm256_add_epi16(p.lo, p.hi);
    if (kind >= LLM__AVX2_SIX) {
        p.lo = llm__avx2_widened(p.lo);
        p.hi = llm__avx2_widened(p.hi);
    }
    return p;
}
LLM__RI __m256i LLM__R(total)(int kind, llm__avx2_pair a, llm__avx2_pair b, llm__avx2_pair c, llm__avx2_pair d, llm__avx2_group g) {
    if (kind == LLM__AVX2_NIBBLE) return llm__avx2_widened(llm__avx2_fold16(a.lo, b.lo, c.lo, d.lo));
    if (kind == LLM__AVX2_BYTE) return llm__avx2_fold32(a.lo, b.lo, c.lo, d.lo);
    if (kind == LLM__AVX2_FIVE) {
        const __m256i ab = llm__avx2_widened(LLM__AVX2_FOLD(epi16, epi32, a.lo, b.lo));
        const __m256i cd = llm__avx2_widened(LLM__AVX2_FOLD(epi16, epi32, c.lo, d.lo));
        return LLM__AVX2_FOLD(epi32, epi64, ab, cd);
    }
    if (kind == LLM__AVX2_SMALL)
        return _mm256_add_epi32(_mm256_madd_epi16(llm__avx2_fold16(a.lo, b.lo, c.lo, d.lo), g.sub0),
                                _mm256_madd_epi16(llm__avx2_fold16(a.hi, b.hi, c.hi, d.hi), g.sub1));
    return _mm256_add_epi32(_mm256_mullo_epi32(llm__avx2_fold32(a.lo, b.lo, c.lo, d.lo), _mm256_srai_epi32(g.sub0, 16)),
                            _mm256_mullo_epi32(llm__avx2_fold32(a.hi, b.hi, c.hi, d.hi), _mm256_srai_epi32(g.sub1, 16)));
}
#endif

// The term of one half, where each has its own scale: isum exact, z the pair of sums of 16 activations.
LLM__RI __m256 LLM__R(half_term)(int zero, __m256 acc, __m256i isum, __m256i z, __m256 s, __m256 da, int half) {
    const __m256i minus = _mm256_set1_epi32(half ? (int)((uint32_t)-zero << 16) : -zero & 0xffff);
    isum = _mm256_add_epi32(isum, _mm256_madd_epi16(z, minus));
    return _mm256_fmadd_ps(_mm256_mul_ps(s, da), _mm256_cvtepi32_ps(isum), acc);
}

// One group of eight rows times one token: acc goes on.
LLM__RI __m256 LLM__R(decode_group)(const llm__avx2_type y, __m256 acc, const uint8_t *w, size_t rb, const llm__avx2_scales *scales,
                                    uint32_t i, int c, const llm__input *x) {
    const llm__avx2_group g = y.group(scales, i, c);
    const __m256i lo = llm__avx2_both(x->q + c * 32), hi = llm__avx2_both(x->q + c * 32 + 16), sums = llm__avx2_four_bytes(x->s16 + c * 2);
    const __m256i zero = _mm256_set1_epi16((short)-y.zero);
    const __m256 da = _mm256_set1_ps(x->d[c]);
    const llm__avx2_pair a = LLM__R(partial)(y.kind, y.pair(w, w + 4 * rb, scales, 0, i, c), lo, hi);
    const llm__avx2_pair b = LLM__R(partial)(y.kind, y.pair(w + rb, w + 5 * rb, scales, 1, i, c), lo, hi);
    const llm__avx2_pair e = LLM__R(partial)(y.kind, y.pair(w + 2 * rb, w + 6 * rb, scales, 2, i, c), lo, hi);
    const llm__avx2_pair f = LLM__R(partial)(y.kind, y.pair(w + 3 * rb, w + 7 * rb, scales, 3, i, c), lo, hi);
    __m256i isum;
    if (y.two_scales) {
        acc = LLM__R(half_term)(y.zero, acc, llm__avx2_widened(llm__avx2_fold16(a.lo, b.lo, e.lo, f.lo)), sums, g.s, da, 0);
        return LLM__R(half_term)(y.zero, acc, llm__avx2_widened(llm__avx2_fold16(a.hi, b.hi, e.hi, f.hi)), sums, g.t, da, 1);
    }
    isum = LLM__R(total)(y.kind, a, b, e, f, g);
    if (y.zero && y.kind < LLM__AVX2_SMALL) isum = _mm256_add_epi32(isum, _mm256_madd_epi16(sums, zero));
    if (y.zero && y.kind >= LLM__AVX2_SMALL) isum = _mm256_add_epi32(isum, _mm256_madd_epi16(sums, _mm256_mullo_epi16(g.zero, zero)));
    acc = _mm256_fmadd_ps(_mm256_mul_ps(g.s, da), _mm256_cvtepi32_ps(isum), acc);
    if (!y.minima) return acc;
    return _mm256_fmadd_ps(_mm256_mul_ps(g.t, da), _mm256_cvtepi32_ps(_mm256_madd_epi16(sums, g.mn)), acc);
}

// One stored block; and one that is a single group, where nothing else needs to be inlined and thrown away again.
LLM__RI __m256 LLM__R(decode_block)(const llm__avx2_type y, __m256 acc, const uint8_t *w, size_t rb, llm__input x) {
    llm__avx2_scales scales;
    uint32_t i;
    y.scales(w, rb, &scales);
    for (i = 0; i < y.groups / y.run; i++) {
        acc = LLM__R(decode_group)(y, acc, w, rb, &scales, i, 0, &x);
        if (y.run > 1) acc = LLM__R(decode_group)(y, acc, w, rb, &scales, i, 1, &x);
        if (y.run > 2) acc = LLM__R(decode_group)(y, acc, w, rb, &scales, i, 2, &x);
        if (y.run > 2) acc = LLM__R(decode_group)(y, acc, w, rb, &scales, i, 3, &x);
        x.q += 32 * y.run; x.d += y.run; x.s16 += 2 * y.run;
    }
    return acc;
}
LLM__RI __m256 LLM__R(decode_short)(const llm__avx2_type y, __m256 acc, const uint8_t *w, size_t rb, const llm__input *x) {
    llm__avx2_scales scales;
    y.scales(w, rb, &scales);
    return LLM__R(decode_group)(y, acc, w, rb, &scales, 0, 0, x);
}

// Eight rows times one token. Short blocks go two at a time: half the pointers to move.
LLM__RI void LLM__R(decode8)(const llm__avx2_type y, const uint8_t *w, size_t rb, const llm__acts *acts, uint32_t token, float *out) {
    const uint32_t n_groups = acts->n / 32;
    const uint8_t *first = w;
    size_t ahead = LLM__AHEAD;
    __m256 acc = _mm256_setzero_ps();
    llm__input x;
    uint32_t b = 0;
    x.q = acts->q + (size_t)token * acts->n;
    x.d = acts->d + (size_t)token * n_groups;
    x.s16 = acts->s16 + (size_t)token * n_groups * 2;
    for (; y.groups == 1 && b + 2 <= n_groups; b += 2, w += 2 * y.block_bytes) {
        llm__input next = x;
        next.q += 32; next.d += 1; next.s16 += 2;
        llm__prefetch(first, ahead, y.block_bytes * 16);
        ahead += y.block_bytes * 16;
        acc = LLM__R(decode_short)(y, acc, w, rb, &x);
        acc = LLM__R(decode_short)(y, acc, w + y.block_bytes, rb, &next);
        x.q += 64; x.d += 2; x.s16 += 4;
    }
    for (; b < n_groups; b += y.groups, w += y.block_bytes) {
        llm__prefetch(first, ahead, y.block_bytes * 8);
        ahead += y.block_bytes * 8;
        acc = LLM__R(decode_block)(y, acc, w, rb, x);
        x.q += 32 * y.groups; x.d += y.groups; x.s16 += 2 * y.groups;
    }
    _mm256_storeu_ps(out, acc);
}

// The last rows are done with the seven before them once more: the same bits are written twice. What is fetched beyond the tile is the
// next one's, more often than not.
LLM__RI void LLM__R(decode)(const llm__avx2_type y, const llm__tile *t) {
    const size_t rb = t->row_bytes;
    uint32_t r = 0, next, i;
    if (!t->follows) llm__prefetch(t->w, 0, LLM__MIN(t->n_rows * rb, (size_t)LLM__AHEAD));
    for (;;) {
        next = LLM__MIN(r + 8, t->n_rows - 8);
        for (i = 0; i < t->n_tokens; i++) LLM__R(decode8)(y, t->w + (size_t)r * rb, rb, t->x, i, t->out + i * t->ld + r);
        if (next == r) return;
        r = next;
    }
}

// Where bytes can be multiplied as signed ones, they are: then there is no zero. Fewer than eight rows are not worth a kernel.
#ifdef LLM__R_DOT
#define LLM__R_ZERO(kind, zero) (zero)
#else
#define LLM__R_ZERO(kind, zero) ((kind) == LLM__AVX2_BYTE ? 0 : (zero))
#endif
#define LLM__X(NAME, name, kind_, zero_, groups_, run_, scales_, group_)                                     \
    LLM__RI llm__avx2_type LLM__R(type_##name)(void) {                                                       \
        llm__avx2_type y;                                                                                    \
        y.kind = LLM__AVX2_##kind_; y.zero = LLM__R_ZERO(LLM__AVX2_##kind_, zero_);                          \
        y.minima = llm__types[LLM__##NAME].minima; y.two_scales = llm__types[LLM__##NAME].two_scales;        \
        y.block_bytes = sizeof(llm__##name); y.groups = groups_; y.run = run_;                               \
        y.pair = LLM__R(name); y.scales = LLM__R(scales_); y.group = LLM__R(group_);                         \
        return y;                                                                                            \
    }                                                                                                        \
    static LLM__RT void LLM__R(decode_##name)(const llm__tile *t) {                                          \
        if (t->n_rows < 8) llm__##name##_matmul(t);                                                          \
        else LLM__R(decode)(LLM__R(type_##name)(), t);                                                       \
    }
LLM__R_FORMATS(LLM__X)
#undef LLM__X
#undef LLM__R_ZERO

// ---- prefill: eight rows x four tokens ----

#ifdef LLM__R_DOT
// One more step of 4 columns; and four of them.
LLM__RI llm__avx2_four LLM__R(step)(llm__avx2_four a, const uint8_t *w, const int8_t *const *x, uint32_t at) {
    const __m256i v = llm__avx2_load(w);
    a.v0 = LLM__R_DOT(a.v0, v, llm__avx2_four_bytes(x[0] + at));
    a.v1 = LLM__R_DOT(a.v1, v, llm__avx2_four_bytes(x[1] + at));
    a.v2 = LLM__R_DOT(a.v2, v, llm__avx2_four_bytes(x[2] + at));
    a.v3 = LLM__R_DOT(a.v3, v, llm__avx2_four_bytes(x[3] + at));
    return a;
}
LLM__RI llm__avx2_four LLM__R(4steps)(llm__avx2_four a, const uint8_t *w, const int8_t *const *x, uint32_t at) {
    a = LLM__R(step)(a, w, x, at);
    a = LLM__R(step)(a, w + 128, x, at + 4);
    a = LLM__R(step)(a, w + 256, x, at + 8);
    return LLM__R(step)(a, w + 384, x, at + 12);
}
LLM__RI __m256i LLM__R(scaled_sum)(__m256i a, __m256i sub0, __m256i b, __m256i sub1) {
    return _mm256_add_epi32(_mm256_mullo_epi32(a, sub0), _mm256_mullo_epi32(b, sub1));
}
LLM__RI llm__avx2_four LLM__R(isums_whole)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    zeros = LLM__R(4steps)(zeros, p->q[0] + h * 32, x, at);
    return LLM__R(4steps)(zeros, p->q[4] + h * 32, x, at + 16);
}
LLM__RI llm__avx2_four LLM__R(isums_halved)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    const __m256i sub0 = _mm256_srai_epi32(llm__avx2_load(p->sub[0] + h * 16), 16);
    const __m256i sub1 = _mm256_srai_epi32(llm__avx2_load(p->sub[1] + h * 16), 16);
    llm__avx2_four a, b;
    (void)zeros;
    a.v0 = a.v1 = a.v2 = a.v3 = _mm256_setzero_si256();
    b = LLM__R(4steps)(a, p->q[4] + h * 32, x, at + 16);
    a = LLM__R(4steps)(a, p->q[0] + h * 32, x, at);
    a.v0 = LLM__R(scaled_sum)(a.v0, sub0, b.v0, sub1); a.v1 = LLM__R(scaled_sum)(a.v1, sub0, b.v1, sub1);
    a.v2 = LLM__R(scaled_sum)(a.v2, sub0, b.v2, sub1); a.v3 = LLM__R(scaled_sum)(a.v3, sub0, b.v3, sub1);
    return a;
}
#else
// Four columns at once to int32, times their sub-scale.
LLM__RI llm__avx2_four LLM__R(1step)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, uint32_t g) {
    return llm__avx2_widen(llm__avx2_step(p->q[g] + h * 32, x, at + g * 4), llm__avx2_load(p->sub[g / 4] + h * 16));
}

// 32 columns of eight rows (quarter h of a panel) x 4 tokens, exact; from `zeros` on, for whole groups. Halves do not need them.
LLM__RI llm__avx2_four LLM__R(isums_nibble)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    return llm__avx2_add32(llm__avx2_widen(llm__avx2_8steps(p->q[0] + h * 32, x, at), _mm256_set1_epi16(1)), zeros);
}
LLM__RI llm__avx2_four LLM__R(isums_five)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    const __m256i ones = _mm256_set1_epi16(1);
    const uint8_t *q = p->q[0] + h * 32;
    const llm__avx2_four r = llm__avx2_widen(llm__avx2_4steps(q, x, at, 0), ones);
    return llm__avx2_add32(llm__avx2_add32(r, llm__avx2_widen(llm__avx2_4steps(q, x, at, 4), ones)), zeros);
}
LLM__RI llm__avx2_four LLM__R(isums_byte)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    return llm__avx2_add32(llm__avx2_bytes(p->q[0] + h * 32, p->high[0] + h * 32, x, at), zeros);
}
LLM__RI llm__avx2_four LLM__R(isums_small)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    const uint8_t *q = p->q[0] + h * 32;
    const llm__avx2_four r = llm__avx2_widen(llm__avx2_4steps(q, x, at, 0), llm__avx2_load(p->sub[0] + h * 16));
    (void)zeros;
    return llm__avx2_add32(r, llm__avx2_widen(llm__avx2_4steps(q, x, at, 4), llm__avx2_load(p->sub[1] + h * 16)));
}
LLM__RI llm__avx2_four LLM__R(isums_six)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    const __m256i sub0 = llm__avx2_load(p->sub[0] + h * 16), sub1 = llm__avx2_load(p->sub[1] + h * 16);
    const uint8_t *q = p->q[0] + h * 32;
    llm__avx2_four r = llm__avx2_widen(llm__avx2_2steps(q, x, at, 0), sub0);
    (void)zeros;
    r = llm__avx2_add32(r, llm__avx2_widen(llm__avx2_2steps(q, x, at, 2), sub0));
    r = llm__avx2_add32(r, llm__avx2_widen(llm__avx2_2steps(q, x, at, 4), sub1));
    return llm__avx2_add32(r, llm__avx2_widen(llm__avx2_2steps(q, x, at, 6), sub1));
}
LLM__RI llm__avx2_four LLM__R(isums_seven)(const llm__panel *p, uint32_t h, const int8_t *const *x, uint32_t at, llm__avx2_four zeros) {
    llm__avx2_four r = llm__avx2_add32(LLM__R(1step)(p, h, x, at, 0), LLM__R(1step)(p, h, x, at, 1));
    (void)zeros;
    r = llm__avx2_add32(r, LLM__R(1step)(p, h, x, at, 2)); r = llm__avx2_add32(r, LLM__R(1step)(p, h, x, at, 3));
    r = llm__avx2_add32(r, LLM__R(1step)(p, h, x, at, 4)); r = llm__avx2_add32(r, LLM__R(1step)(p, h, x, at, 5));
    return llm__avx2_add32(llm__avx2_add32(r, LLM__R(1step)(p, h, x, at, 6)), LLM__R(1step)(p, h, x, at, 7));
}
#endif

// What the zero of whole groups takes from the sums of tokens c .. c + 3.
LLM__RI llm__avx2_four LLM__R(zeros)(bool any, const llm__side *side, uint32_t c, __m256i minus_zero) {
    llm__avx2_four z;
    z.v0 = z.v1 = z.v2 = z.v3 = _mm256_setzero_si256();
    if (!any) return z;
    z.v0 = _mm256_madd_epi16(llm__avx2_four_bytes(side->s16[c]), minus_zero);
    z.v1 = _mm256_madd_epi16(llm__avx2_four_bytes(side->s16[c + 1]), minus_zero);
    z.v2 = _mm256_madd_epi16(llm__avx2_four_bytes(side->s16[c + 2]), minus_zero);
    z.v3 = _mm256_madd_epi16(llm__avx2_four_bytes(side->s16[c + 3]), minus_zero);
    return z;
}
LLM__RI void LLM__R(tile)(llm__avx2_isums_fn isums, bool halved, bool minima, const llm__panel *p, const llm__token_group *k,
                          uint32_t row, uint32_t n_rows) {
    const __m256i minus_zero = _mm256_set1_epi16((short)-k->zero);
    uint32_t c, h, b;
    for (c = 0; c < k->n; c += 4)
        for (h = 0; h * 8 < n_rows; h++) {
            llm__avx2_sums f = llm__avx2_sums_from(k, c, row + h * 8, n_rows - h * 8);
            for (b = 0; b < k->n_groups; b++) {
                const llm__avx2_four z = LLM__R(zeros)(!halved && !minima, &k->side[b], c, minus_zero);
                const llm__avx2_four i = isums(p + b, h, k->q + c, b * 32, z);
                f = llm__avx2_terms(halved, minima, f, i, p + b, h, &k->side[b], c);
            }
            llm__avx2_sums_to(k, c, row + h * 8, n_rows - h * 8, f);
        }
}
#define LLM__R_TILE(name, isums, halved, minima)                                                                           \
    static LLM__RT void LLM__R(name)(const llm__panel *p, const llm__token_group *k, uint32_t row, uint32_t n_rows) {      \
        LLM__R(tile)(LLM__R(isums), halved, minima, p, k, row, n_rows);                                                    \
    }
#ifdef LLM__R_DOT
LLM__R_TILE(tile_whole, isums_whole, false, false)
LLM__R_TILE(tile_whole_min, isums_whole, false, true)
LLM__R_TILE(tile_halved, isums_halved, true, false)
LLM__R_TILE(tile_halved_min, isums_halved, true, true)
static llm__x86_tile_fn LLM__R(tile_of)(int kind, bool minima) {
    if (kind < LLM__AVX2_SMALL) return minima ? LLM__R(tile_whole_min) : LLM__R(tile_whole);
    return minima ? LLM__R(tile_halved_min) : LLM__R(tile_halved);
}
#else
LLM__R_TILE(tile_nibble, isums_nibble, false, false)
LLM__R_TILE(tile_nibble_min, isums_nibble, false, true)
LLM__R_TILE(tile_five, isums_five, false, false)
LLM__R_TILE(tile_five_min, isums_five, false, true)
LLM__R_TILE(tile_byte, isums_byte, false, false)
LLM__R_TILE(tile_small, isums_small, true, false)
LLM__R_TILE(tile_small_min, isums_small, true, true)
LLM__R_TILE(tile_six, isums_six, true, false)
LLM__R_TILE(tile_seven, isums_seven, true, false)
// Where each half has its own scale there are two terms for 32 columns. Rare enough to be AVX2 for all.
LLM__RI __m256 LLM__R(own_term)(__m256 acc, __m256i isum, const llm__panel *p, uint32_t h, const llm__side *side, uint32_t c, int half,
                                int zero) {
    const __m256 s = _mm256_loadu_ps((half ? p->t : p->s) + h * 8), da = _mm256_set1_ps(side->d[c]);
    return LLM__R(half_term)(zero, acc, isum, llm__avx2_four_bytes(side->s16[c]), s, da, half);
}
static LLM__RT void LLM__R(tile_own)(const llm__panel *p, const llm__token_group *k, uint32_t row, uint32_t n_rows) {
    const __m256i ones = _mm256_set1_epi16(1);
    uint32_t c, h, b;
    int half;
    for (c = 0; c < k->n; c += 4)
        for (h = 0; h * 8 < n_rows; h++) {
            llm__avx2_sums f = llm__avx2_sums_from(k, c, row + h * 8, n_rows - h * 8);
            for (b = 0; b < k->n_groups; b++)
                for (half = 0; half < 2; half++) {
                    const uint8_t *q = p[b].q[0] + h * 32;
                    const llm__avx2_four i = llm__avx2_widen(llm__avx2_4steps(q, k->q + c, b * 32, (uint32_t)half * 4), ones);
                    f.f0 = LLM__R(own_term)(f.f0, i.v0, p + b, h, &k->side[b], c, half, k->zero);
                    f.f1 = LLM__R(own_term)(f.f1, i.v1, p + b, h, &k->side[b], c + 1, half, k->zero);
                    f.f2 = LLM__R(own_term)(f.f2, i.v2, p + b, h, &k->side[b], c + 2, half, k->zero);
                    f.f3 = LLM__R(own_term)(f.f3, i.v3, p + b, h, &k->side[b], c + 3, half, k->zero);
                }
            llm__avx2_sums_to(k, c, row + h * 8, n_rows - h * 8, f);
        }
}
static llm__x86_tile_fn LLM__R(tile_of)(int kind, bool minima) {
    switch (kind) {
    case LLM__AVX2_NIBBLE: return minima ? LLM__R(tile_nibble_min) : LLM__R(tile_nibble);
    case LLM__AVX2_FIVE:   return minima ? LLM__R(tile_five_min) : LLM__R(tile_five);
    case LLM__AVX2_BYTE:   return LLM__R(tile_byte);
    case LLM__AVX2_SMALL:  return minima ? LLM__R(tile_small_min) : LLM__R(tile_small);
    case LLM__AVX2_SIX:    return LLM__R(tile_six);
    default:               return LLM__R(tile_seven);
    }
}
#endif
#undef LLM__R_TILE
#endif
//---- end pass ------------------------------------------------------------------------------------------------------------------

#if defined(LLM__WHOLE) && !defined(LLM__PASS)
#if LLM__HAS_AVX2
#define LLM__PASS LLM__PASS_ROWS
#define LLM__RT       LLM__AVX2
#define LLM__RI       LLM__LANE LLM__RT
#define LLM__RN       static LLM__NOINLINE LLM__UNUSED LLM__RT
#define LLM__R(name)  llm__r_##name##_avx2
#define LLM__R_EVEX   0
#define LLM__R_FORMATS  LLM__X86_FORMATS
#include LLM__SELF
#undef LLM__RT
#undef LLM__R
#undef LLM__R_EVEX
#undef LLM__R_FORMATS

#if LLM__HAS_AVX_VNNI
#define LLM__RT       LLM__AVX_VNNI
#define LLM__R(name)  llm__r_##name##_avx_vnni
#define LLM__R_EVEX   0
#define LLM__R_FORMATS  LLM__X86_COMMON_FORMATS
#define LLM__R_DOT    _mm256_dpbusd_avx_epi32
#include LLM__SELF
#undef LLM__RT
#undef LLM__R
#undef LLM__R_EVEX
#undef LLM__R_FORMATS
#undef LLM__R_DOT
#endif

#if LLM__HAS_AVX512
#define LLM__RT       LLM__AVX512
#define LLM__R(name)  llm__r_##name##_evex
#define LLM__R_EVEX   1
#define LLM__R_FORMATS  LLM__X86_COMMON_FORMATS
#define LLM__R_DOT    _mm256_dpbusd_epi32
#include LLM__SELF
#undef LLM__RT
#undef LLM__R
#undef LLM__R_EVEX
#undef LLM__R_FORMATS
#undef LLM__R_DOT
#endif
#undef LLM__RI
#undef LLM__RN
#undef LLM__PASS

// ---- packing a panel: AVX2, for all of them ----

LLM__AVX2_INLINE void llm__avx2_store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
// 16 columns: [row][k / 4] -> [k / 4][row]
LLM__AVX2_INLINE void llm__avx2_pack_half(uint8_t *out, llm__avx2_rows r) {
    r = llm__r_transpose_avx2(r);
    llm__avx2_store(out, r.v[0]);       llm__avx2_store(out + 128, r.v[1]);
    llm__avx2_store(out + 256, r.v[2]); llm__avx2_store(out + 384, r.v[3]);
}
// Signed bytes become byte + 128, whole or as two nibbles.
LLM__AVX2_INLINE void llm__avx2_unsign(uint8_t *low, uint8_t *high, bool nibbles) {
    const __m256i v = _mm256_xor_si256(llm__avx2_load(low), _mm256_set1_epi8((char)0x80));
    llm__avx2_store(low, nibbles ? llm__avx2_low(v, 15) : v);
    if (nibbles) llm__avx2_store(high, llm__avx2_low(_mm256_srli_epi16(v, 4), 15));
}
// One group of eight rows becomes quarter h of a panel.
LLM__AVX2_INLINE void llm__avx2_pack_group(const llm__avx2_type y, llm__panel *p, uint32_t h, const uint8_t *w, size_t rb,
                                           const llm__avx2_scales *scales, uint32_t i, int c, bool nibbles) {
    const llm__avx2_group g = y.group(scales, i, c);
    llm__avx2_rows lo, hi;
    int r, k;
    for (r = 0; r < 4; r++, w += rb) {
        const llm__avx2_pair v = y.pair(w, w + 4 * rb, scales, r, i, c);
        lo.v[r] = v.lo;
        hi.v[r] = v.hi;
    }
    llm__avx2_pack_half(p->q[0] + h * 32, lo);
    llm__avx2_pack_half(p->q[4] + h * 32, hi);
    if (y.kind == LLM__AVX2_BYTE) for (k = 0; k < 8; k++) llm__avx2_unsign(p->q[k] + h * 32, p->high[k] + h * 32, nibbles);
    _mm256_storeu_ps(p->s + h * 8, g.s);
    _mm256_storeu_ps(p->t + h * 8, g.t);
    if (y.kind < LLM__AVX2_SMALL) return;
    llm__avx2_store(p->sub[0] + h * 16, g.sub0);
    llm__avx2_store(p->sub[1] + h * 16, g.sub1);
    llm__avx2_store(p->zero + h * 16, _mm256_mullo_epi16(g.zero, _mm256_set1_epi16((short)-y.zero)));
    llm__avx2_store(p->mn + h * 16, g.mn);
}
LLM__AVX2_INLINE void llm__avx2_pack(const llm__avx2_type y, llm__panel *p, uint32_t h, const uint8_t *w, size_t rb, uint32_t n_groups,
                                     bool nibbles) {
    uint32_t b, i;
    for (b = 0; b < n_groups; b += y.groups, w += y.block_bytes) {
        llm__avx2_scales scales;
        y.scales(w, rb, &scales);
        for (i = 0; i < y.groups; i++)
            llm__avx2_pack_group(y, p++, h, w, rb, &scales, i / y.run, (int)(i % y.run), nibbles);
    }
}

// ---- avx-512: 32 rows x four tokens ----
#if LLM__HAS_AVX512
#define LLM__AVX512_INLINE LLM__LANE LLM__AVX512

// Rows 0..15 and 16..31 of four tokens.
typedef struct llm__avx512_eight { __m512i l0, h0, l1, h1, l2, h2, l3, h3; } llm__avx512_eight;
typedef struct llm__avx512_sums { __m512 l0, h0, l1, h1, l2, h2, l3, h3; } llm__avx512_sums;
#define LLM__FOUR(X) X(0) X(1) X(2) X(3)

// One more step of 4 columns; and four of them. The activations of a token are loaded once for both registers of rows.
LLM__AVX512_INLINE __m512i llm__avx512_four_bytes(const void *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
}
LLM__AVX512_INLINE llm__avx512_eight llm__avx512_step(llm__avx512_eight a, const uint8_t *w, const int8_t *const *x, uint32_t at) {
    const __m512i low = _mm512_loadu_si512(w), high = _mm512_loadu_si512(w + 64);
#define LLM__X(c) {                                                    \
        const __m512i v = llm__avx512_four_bytes(x[c] + at);           \
        a.l##c = _mm512_dpbusd_epi32(a.l##c, low, v);                  \
        a.h##c = _mm512_dpbusd_epi32(a.h##c, high, v);                 \
    }
    LLM__FOUR(LLM__X)
#undef LLM__X
    return a;
}
LLM__AVX512_INLINE llm__avx512_eight llm__avx512_4steps(llm__avx512_eight a, const uint8_t *w, const int8_t *const *x, uint32_t at) {
    a = llm__avx512_step(a, w, x, at);
    a = llm__avx512_step(a, w + 128, x, at + 4);
    a = llm__avx512_step(a, w + 256, x, at + 8);
    return llm__avx512_step(a, w + 384, x, at + 12);
}
// From what the zero of whole groups takes from the sums.
LLM__AVX512_INLINE llm__avx512_eight llm__avx512_dot32(const llm__panel *p, const int8_t *const *x, uint32_t at, const int16_t (*s16)[2],
                                                       __m512i minus_zero, bool minima) {
    llm__avx512_eight a;
#define LLM__X(c) \
    a.l##c = a.h##c = minima ? _mm512_setzero_si512() : _mm512_madd_epi16(llm__avx512_four_bytes(s16[c]), minus_zero);
    LLM__FOUR(LLM__X)
#undef LLM__X
    a = llm__avx512_4steps(a, p->q[0], x, at);
    return llm__avx512_4steps(a, p->q[4], x, at + 16);
}
LLM__AVX512_INLINE __m512i llm__avx512_sub(const int16_t *pairs) { return _mm512_srai_epi32(_mm512_loadu_si512(pairs), 16); }
LLM__AVX512_INLINE llm__avx512_eight llm__avx512_dot16x2(const llm__panel *p, const int8_t *const *x, uint32_t at) {
    const __m512i l0 = llm__avx512_sub(p->sub[0]), h0 = llm__avx512_sub(p->sub[0] + 32);
    const __m512i l1 = llm__avx512_sub(p->sub[1]), h1 = llm__avx512_sub(p->sub[1] + 32);
    llm__avx512_eight a, b;
#define LLM__X(c) a.l##c = a.h##c = _mm512_setzero_si512();
    LLM__FOUR(LLM__X)
#undef LLM__X
    b = llm__avx512_4steps(a, p->q[4], x, at + 16);
    a = llm__avx512_4steps(a, p->q[0], x, at);
#define LLM__X(c)                                                                                                     \
    a.l##c = _mm512_add_epi32(_mm512_mullo_epi32(a.l##c, l0), _mm512_mullo_epi32(b.l##c, l1));                        \
    a.h##c = _mm512_add_epi32(_mm512_mullo_epi32(a.h##c, h0), _mm512_mullo_epi32(b.h##c, h1));
    LLM__FOUR(LLM__X)
#undef LLM__X
    return a;
}
// One term of N4 for rows 16*h .. 16*h + 15 and token c.
LLM__AVX512_INLINE __m512 llm__avx512_term(bool halved, bool minima, __m512 acc, __m512i isum, const llm__panel *p, uint32_t h,
                                           const llm__side *side, uint32_t c) {
    const __m512 da = _mm512_set1_ps(side->d[c]);
    const __m512i z = llm__avx512_four_bytes(side->s16[c]);
    if (halved && !minima) isum = _mm512_add_epi32(isum, _mm512_madd_epi16(z, _mm512_loadu_si512(p->zero + h * 32)));
    acc = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_loadu_ps(p->s + h * 16), da), _mm512_cvtepi32_ps(isum), acc);
    if (!minima) return acc;
    return _mm512_fmadd_ps(_mm512_mul_ps(_mm512_loadu_ps(p->t + h * 16), da), halved ?
                           _mm512_cvtepi32_ps(_mm512_madd_epi16(z, _mm512_loadu_si512(p->mn + h * 32))) : _mm512_set1_ps(side->m[c]), acc);
}
LLM__AVX512_INLINE void llm__avx512_tile4(bool halved, bool minima, const llm__panel *p, const llm__token_group *k, uint32_t c0,
                                          uint32_t row, uint32_t n_rows) {
    const uint32_t live = n_rows >= 32 ? 0xffffffffu : (1u << n_rows) - 1u, old = k->begin ? 0 : live;
    const __m512i minus_zero = _mm512_set1_epi16((short)-k->zero);
    const int8_t *const *x = k->q + c0;
    float *const *out = k->out + c0;
    llm__avx512_sums f;
    uint32_t b;
#define LLM__X(c)                                                                 \
    f.l##c = _mm512_maskz_loadu_ps((__mmask16)old, out[c] + row);                 \
    f.h##c = _mm512_maskz_loadu_ps((__mmask16)(old >> 16), out[c] + row + 16);
    LLM__FOUR(LLM__X)
#undef LLM__X
    for (b = 0; b < k->n_groups; b++, p++) {
        const llm__side *side = &k->side[b];
        const llm__avx512_eight i = halved ? llm__avx512_dot16x2(p, x, b * 32) :
                                             llm__avx512_dot32(p, x, b * 32, side->s16 + c0, minus_zero, minima);
#define LLM__X(c)                                                                           \
        f.l##c = llm__avx512_term(halved, minima, f.l##c, i.l##c, p, 0, side, c0 + c);       \
        f.h##c = llm__avx512_term(halved, minima, f.h##c, i.h##c, p, 1, side, c0 + c);
        LLM__FOUR(LLM__X)
#undef LLM__X
    }
#define LLM__X(c)                                                                 \
    _mm512_mask_storeu_ps(out[c] + row, (__mmask16)live, f.l##c);                 \
    _mm512_mask_storeu_ps(out[c] + row + 16, (__mmask16)(live >> 16), f.h##c);
    LLM__FOUR(LLM__X)
#undef LLM__X
}
#define LLM__X(name, halved, minima)                                                                                            \
    static LLM__AVX512 void llm__avx512_##name(const llm__panel *p, const llm__token_group *k, uint32_t row, uint32_t n_rows) { \
        uint32_t c;                                                                                                             \
        for (c = 0; c < k->n; c += 4) llm__avx512_tile4(halved, minima, p, k, c, row, n_rows);                                  \
    }
LLM__X(tile_whole, false, false)
LLM__X(tile_whole_min, false, true)
LLM__X(tile_halved, true, false)
LLM__X(tile_halved_min, true, true)
#undef LLM__X
static llm__x86_tile_fn llm__avx512_tile_of(int kind, bool minima) {
    if (kind < LLM__AVX2_SMALL) return minima ? llm__avx512_tile_whole_min : llm__avx512_tile_whole;
    return minima ? llm__avx512_tile_halved_min : llm__avx512_tile_halved;
}
#endif

// ---- prefill ----

// How a type gets into panels and out of them, for one instruction set.
typedef struct llm__x86_recipe {
    llm__x86_pack_fn pack;
    llm__x86_tile_fn tile;
    bool nibbles;
    int zero;
    uint32_t groups, block_bytes;
} llm__x86_recipe;

// Tokens from `first` on, columns from group on.
static void llm__gather_tokens(llm__token_group *k, const llm__tile *t, uint32_t first, uint32_t group, uint32_t n_groups, int zero) {
    const llm__acts *x = t->x;
    uint32_t c;
    k->n = LLM__MIN(t->n_tokens - first, (uint32_t)LLM__TOKENS);
    k->n_groups = n_groups;
    k->begin = group == 0;
    k->zero = zero;
    k->side = x->side + (size_t)(first / LLM__TOKENS) * (x->n / 32) + group;
    for (c = 0; c < LLM__TOKENS; c++) {
        const size_t token = LLM__MIN(first + c, t->n_tokens - 1);
        k->q[c] = x->q + token * x->n + (size_t)group * 32;
        k->out[c] = t->out + token * t->ld;
    }
}

// Quarter h of the panels from the tile's row on, columns from group on. Fewer than eight rows are first copied, the last one repeated.
static void llm__pack_rows(const llm__x86_recipe *y, llm__x86_scratch *s, llm__panel *p, uint32_t h, const llm__tile *t, uint32_t row,
                           uint32_t group, uint32_t n) {
    const uint8_t *w = t->w + group / y->groups * y->block_bytes;
    uint32_t r;
    if (row + 8 <= t->n_rows) {
        y->pack(p, h, w + (size_t)row * t->row_bytes, t->row_bytes, n, y->nibbles);
        return;
    }
    for (r = 0; r < 8; r++) memcpy(s->rows[r], w + LLM__MIN(row + r, t->n_rows - 1) * t->row_bytes, n / y->groups * y->block_bytes);
    y->pack(p, h, s->rows[0], sizeof s->rows[0], n, y->nibbles);
}

// The stored bytes of the next panels come into L2 while these are at work: share `part` of n_parts.
static void llm__fetch_rows(const uint8_t *w, size_t rb, uint32_t n_rows, size_t bytes, uint32_t part, uint32_t n_parts) {
    uint32_t r;
    for (r = n_rows * part / n_parts; r < n_rows * (part + 1) / n_parts; r++) llm__prefetch(w, r * rb, bytes);
}

static void llm__x86_prefill(const llm__tile *t, const llm__x86_recipe *y) {
    llm__x86_scratch *s = (llm__x86_scratch *)t->panel;
    const uint32_t n_groups = t->x->n / 32, n_strips = (t->n_tokens + LLM__TOKENS - 1) / LLM__TOKENS;
    uint32_t row, group, strip, i, n, n_rows;
    llm__token_group k;
    for (row = 0; row < t->n_rows; row += 32) {
        n_rows = LLM__MIN(t->n_rows - row, 32u);
        for (group = 0; group < n_groups; group += n) {
            const uint8_t *next = t->w + row * t->row_bytes;
            n = LLM__MIN(n_groups - group, (uint32_t)LLM__PANEL_COLS);
            next += group + n < n_groups ? (group + n) / y->groups * y->block_bytes : n_rows * t->row_bytes;
            for (i = 0; i < n_rows; i += 8) llm__pack_rows(y, s, s->panel, i / 8, t, row + i, group, n);
            for (strip = 0; strip < n_strips; strip++) {
                llm__gather_tokens(&k, t, strip * LLM__TOKENS, group, n, y->zero);
                llm__fetch_rows(next, t->row_bytes, n_rows, n / y->groups * y->block_bytes, strip, n_strips);
                y->tile(s->panel, &k, row, n_rows);
            }
        }
    }
}

// ---- the overlays ----

#define LLM__X(NAME, name, kind_, zero_, groups_, run_, scales_, group_)                                                            \
    static LLM__AVX2 void llm__pack_##name##_avx2(llm__panel *p, uint32_t h, const uint8_t *w, size_t rb, uint32_t n, bool nibbles) { \
        llm__avx2_pack(llm__r_type_##name##_avx2(), p, h, w, rb, n, nibbles);                                                       \
    }                                                                                                                               \
    static llm__x86_recipe llm__recipe_##name(llm__x86_tile_fn (*tile_of)(int, bool), bool nibbles) {                               \
        llm__x86_recipe y;                                                                                                          \
        y.pack = llm__pack_##name##_avx2;                                                                                           \
        y.tile = llm__types[LLM__##NAME].two_scales ? llm__r_tile_own_avx2 : tile_of(LLM__AVX2_##kind_, llm__types[LLM__##NAME].minima); \
        y.nibbles = nibbles; y.zero = zero_;                                                                                        \
        y.groups = groups_; y.block_bytes = sizeof(llm__##name);                                                                    \
        return y;                                                                                                                   \
    }
LLM__X86_FORMATS(LLM__X)
#undef LLM__X

#define LLM__X86_PREFILL(isa, name, tile_of, nibbles)                            \
    static void llm__prefill_##name##_##isa(const llm__tile *t) {                \
        const llm__x86_recipe y = llm__recipe_##name(tile_of, nibbles);          \
        llm__x86_prefill(t, &y);                                                 \
    }

#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) LLM__X86_PREFILL(avx2, name, llm__r_tile_of_avx2, true)
LLM__X86_FORMATS(LLM__X)
#undef LLM__X
static void llm__kernels_avx2(llm__kernels *k) {
    llm__vectors_avx2(&k->v);
    k->rows_at_once = 8;
    k->accelerated[LLM__F32] = k->accelerated[LLM__F16] = k->accelerated[LLM__BF16] = true;
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group)          \
    k->decode[LLM__##NAME] = llm__r_decode_##name##_avx2;                   \
    k->prefill[LLM__##NAME] = llm__prefill_##name##_avx2;                   \
    k->accelerated[LLM__##NAME] = true;
    LLM__X86_FORMATS(LLM__X)
#undef LLM__X
}

// Laid over AVX2, whose decode the rare types keep.
#if LLM__HAS_AVX_VNNI
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) LLM__X86_PREFILL(avx_vnni, name, llm__r_tile_of_avx_vnni, false)
LLM__X86_FORMATS(LLM__X)
#undef LLM__X
static void llm__kernels_avx_vnni(llm__kernels *k) {
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) k->prefill[LLM__##NAME] = llm__prefill_##name##_avx_vnni;
    LLM__X86_FORMATS(LLM__X)
#undef LLM__X
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) k->decode[LLM__##NAME] = llm__r_decode_##name##_avx_vnni;
    LLM__X86_COMMON_FORMATS(LLM__X)
#undef LLM__X
}
#endif

#if LLM__HAS_AVX512
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group)           \
    LLM__X86_PREFILL(evex, name, llm__r_tile_of_evex, false)                 \
    LLM__X86_PREFILL(avx512, name, llm__avx512_tile_of, false)
LLM__X86_FORMATS(LLM__X)
#undef LLM__X
static void llm__kernels_evex(llm__kernels *k) {
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) k->prefill[LLM__##NAME] = llm__prefill_##name##_evex;
    LLM__X86_FORMATS(LLM__X)
#undef LLM__X
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) k->decode[LLM__##NAME] = llm__r_decode_##name##_evex;
    LLM__X86_COMMON_FORMATS(LLM__X)
#undef LLM__X
}
static void llm__kernels_avx512(llm__kernels *k) {
    llm__kernels_evex(k);
    llm__vectors_avx512(&k->v);
#define LLM__X(NAME, name, kind, zero, groups, run, scales, group) k->prefill[LLM__##NAME] = llm__prefill_##name##_avx512;
    LLM__X86_FORMATS(LLM__X)
#undef LLM__X
}
#endif
#undef LLM__X86_PREFILL
#endif

// ---- neon ------------------------------------------------------------------------------------------------------------------
#if LLM__HAS_NEON
#define LLM__NEON_INLINE LLM__LANE
// GCC loads everything first, and what two groups or tokens both read only once: more than there are registers, so it comes from the
// stack. Loads from p do not move up across FORGET, and v is ready before what follows KEEP.
#define LLM__NEON_FORGET(p) __asm__ volatile("" : "+r"(p))
#define LLM__NEON_KEEP(v) __asm__ volatile("" : "+w"(v))

// Three instruction sets in one block: NEON, dotprod and i8mm share everything but the dots of a few rows (four_*, half_*). A register
// is 16 columns of one row, or one number of each of four rows. Products are signed, so zeros are subtracted where bytes are unpacked.
typedef struct llm__neon_pair { int8x16_t lo, hi; } llm__neon_pair;         // columns 0..15 and 16..31
typedef struct llm__neon_rows { llm__neon_pair r0, r1, r2, r3; } llm__neon_rows;
typedef struct llm__neon_f8 { float32x4_t lo, hi; } llm__neon_f8;           // rows 0..3 and 4..7
typedef struct llm__neon_i8 { int32x4_t lo, hi; } llm__neon_i8;
typedef struct llm__neon_bytes { uint8x16_t v[8]; } llm__neon_bytes;

// What one stored block of eight rows has besides its integers, and what 32 columns of it have. sub, mn: [small scale][row], one or two
// per 32 columns.
typedef struct llm__neon_scales { llm__neon_f8 d, m; uint8_t sub[16][8], mn[16][8]; } llm__neon_scales;
typedef struct llm__neon_group { llm__neon_f8 s, t; llm__neon_i8 sub0, sub1, mn0, mn1; } llm__neon_group;

// Group i*run + c of a block: c is a constant wherever this is called, so that shifts are.
typedef llm__neon_pair (*llm__neon_pair_fn)(const uint8_t *w, uint32_t i, int c);
typedef void (*llm__neon_scales_fn)(const uint8_t *w, size_t row_bytes, llm__neon_scales *s);
typedef llm__neon_group (*llm__neon_group_fn)(const llm__neon_scales *s, uint32_t j);

// What a type is made of; every field is a constant where the kernels are instantiated.
typedef struct llm__neon_type {
    int most;                                   // no |q| is larger: how long products can be added up in int16
    bool minima, halved;                        // halved: each 16 columns have their own small scale
    uint32_t block_bytes, groups, run;          // groups of 32 in a block; so many of them unrolled: those that share bytes
    llm__neon_pair_fn pair;
    llm__neon_scales_fn scales;
    llm__neon_group_fn group;
} llm__neon_type;

LLM__NEON_INLINE uint16_t llm__neon_u16(const void *p) { uint16_t v; memcpy(&v, p, 2); return v; }
LLM__NEON_INLINE uint32_t llm__neon_u32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
// Four words from anywhere.
LLM__NEON_INLINE uint32x4_t llm__neon_words(const void *a, const void *b, const void *c, const void *d) {
    uint32x4_t v = vdupq_n_u32(llm__neon_u32(a));
    v = vsetq_lane_u32(llm__neon_u32(b), v, 1);
    v = vsetq_lane_u32(llm__neon_u32(c), v, 2);
    return vsetq_lane_u32(llm__neon_u32(d), v, 3);
}

// ---- unpacking: the integers of 32 columns of one row ----

LLM__NEON_INLINE llm__neon_pair llm__neon_pair_of(uint8x16_t lo, uint8x16_t hi) {
    llm__neon_pair p;
    p.lo = vreinterpretq_s8_u8(lo);
    p.hi = vreinterpretq_s8_u8(hi);
    return p;
}
LLM__NEON_INLINE llm__neon_pair llm__neon_minus(llm__neon_pair p, int zero) {
    p.lo = vsubq_s8(p.lo, vdupq_n_s8((int8_t)zero));
    p.hi = vsubq_s8(p.hi, vdupq_n_s8((int8_t)zero));
    return p;
}
// 16 fields, `shift` bits up in their bytes.
LLM__NEON_INLINE uint8x16_t llm__neon_field(const uint8_t *p, int shift, int mask) {
    uint8x16_t v = vld1q_u8(p);
    v = shift == 2 ? vshrq_n_u8(v, 2) : shift == 4 ? vshrq_n_u8(v, 4) : shift == 6 ? vshrq_n_u8(v, 6) : v;
    return mask << shift & 0x80 ? v : vandq_u8(v, vdupq_n_u8((uint8_t)mask));
}
LLM__NEON_INLINE llm__neon_pair llm__neon_fields(const uint8_t *p, int shift, int mask) {
    return llm__neon_pair_of(llm__neon_field(p, shift, mask), llm__neon_field(p + 16, shift, mask));
}
LLM__NEON_INLINE llm__neon_pair llm__neon_nibbles(const uint8_t *p) {
    return llm__neon_pair_of(llm__neon_field(p, 0, 15), llm__neon_field(p, 4, 15));
}
// All ones where the type's topmost bit, which has bytes of its own, is set; or where it is missing. Bit k of four bytes belongs to
// column k; or bit j of byte k of 32.
LLM__NEON_INLINE llm__neon_pair llm__neon_tops(const uint8_t *bits, bool missing) {
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
    const uint8x16_t word = vreinterpretq_u8_u32(vdupq_n_u32(llm__neon_u32(bits)));
    const uint8x16_t first = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1)), last = vcombine_u8(vdup_n_u8(2), vdup_n_u8(3));
    const uint8x16_t v = missing ? vmvnq_u8(word) : word;
    return llm__neon_pair_of(vtstq_u8(vqtbl1q_u8(v, first), bit), vtstq_u8(vqtbl1q_u8(v, last), bit));
}
LLM__NEON_INLINE llm__neon_pair llm__neon_tops_k(const uint8_t *bits, uint32_t j, bool missing) {
    const uint8x16_t bit = vdupq_n_u8((uint8_t)(1u << j)), lo = vld1q_u8(bits), hi = vld1q_u8(bits + 16);
    if (!missing) return llm__neon_pair_of(vtstq_u8(lo, bit), vtstq_u8(hi, bit));
    return llm__neon_pair_of(vceqzq_u8(vandq_u8(lo, bit)), vceqzq_u8(vandq_u8(hi, bit)));
}
// `value` is added where a mask is all ones: bits that are still free.
LLM__NEON_INLINE llm__neon_pair llm__neon_with(llm__neon_pair p, llm__neon_pair mask, int value) {
    p.lo = vorrq_s8(p.lo, vandq_s8(mask.lo, vdupq_n_s8((int8_t)value)));
    p.hi = vorrq_s8(p.hi, vandq_s8(mask.hi, vdupq_n_s8((int8_t)value)));
    return p;
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q4_0(const uint8_t *w, uint32_t i, int c) {
    (void)i; (void)c;
    return llm__neon_minus(llm__neon_nibbles(w + 2), 8);
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q4_1(const uint8_t *w, uint32_t i, int c) {
    (void)i; (void)c;
    return llm__neon_nibbles(w + 4);
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q5_0(const uint8_t *w, uint32_t i, int c) {
    llm__neon_pair p = llm__neon_pair_of(vld1q_u8(w + 6), llm__neon_field(w + 6, 4, 15)), missing = llm__neon_tops(w + 2, true);
    (void)i; (void)c;
    p.lo = vsliq_n_s8(p.lo, missing.lo, 4);                                 // all upper bits, whatever was there: 16 less, or nothing
    p.hi = vsliq_n_s8(p.hi, missing.hi, 4);
    return p;
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q5_1(const uint8_t *w, uint32_t i, int c) {
    (void)i; (void)c;
    return llm__neon_with(llm__neon_nibbles(w + 8), llm__neon_tops(w + 4, false), 16);
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q8_0(const uint8_t *w, uint32_t i, int c) {
    (void)i; (void)c;
    return llm__neon_pair_of(vld1q_u8(w + 2), vld1q_u8(w + 18));
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q2_k(const uint8_t *w, uint32_t i, int c) { return llm__neon_fields(w + 16 + i * 32, c * 2, 3); }
LLM__NEON_INLINE llm__neon_pair llm__neon_q3_k(const uint8_t *w, uint32_t i, int c) {
    llm__neon_pair p = llm__neon_fields(w + 32 + i * 32, c * 2, 255), missing = llm__neon_tops_k(w, i * 4 + (uint32_t)c, true);
    p.lo = vsliq_n_s8(p.lo, missing.lo, 2);                                 // 4 less, or nothing
    p.hi = vsliq_n_s8(p.hi, missing.hi, 2);
    return p;
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q4_k(const uint8_t *w, uint32_t i, int c) { return llm__neon_fields(w + 16 + i * 32, c * 4, 15); }
LLM__NEON_INLINE llm__neon_pair llm__neon_q5_k(const uint8_t *w, uint32_t i, int c) {
    return llm__neon_with(llm__neon_fields(w + 48 + i * 32, c * 4, 15), llm__neon_tops_k(w + 16, i * 2 + (uint32_t)c, false), 16);
}
LLM__NEON_INLINE llm__neon_pair llm__neon_q6_k(const uint8_t *w, uint32_t i, int c) {
    const uint8_t *low = w + i * 64 + (c & 1) * 32, *high = w + 128 + i * 32;
    const uint8x16_t lo = vsliq_n_u8(llm__neon_field(low, c / 2 * 4, 255), llm__neon_field(high, c * 2, 3), 4);      // over the upper half
    const uint8x16_t hi = vsliq_n_u8(llm__neon_field(low + 16, c / 2 * 4, 255), llm__neon_field(high + 16, c * 2, 3), 4);
    return llm__neon_minus(llm__neon_pair_of(lo, hi), 32);
}

// ---- scales of eight rows ----

LLM__NEON_INLINE llm__neon_f8 llm__neon_f16x8(uint16x8_t v) {
    const float16x8_t h = vreinterpretq_f16_u16(v);
    llm__neon_f8 f;
    f.lo = vcvt_f32_f16(vget_low_f16(h));
    f.hi = vcvt_high_f32_f16(h);
    return f;
}
// An f16 of each row, at w.
LLM__NEON_INLINE llm__neon_f8 llm__neon_halves(const uint8_t *w, size_t rb) {
    uint16x8_t v = vdupq_n_u16(llm__neon_u16(w));
    v = vsetq_lane_u16(llm__neon_u16(w + rb), v, 1);
    v = vsetq_lane_u16(llm__neon_u16(w + 2 * rb), v, 2);
    v = vsetq_lane_u16(llm__neon_u16(w + 3 * rb), v, 3);
    v = vsetq_lane_u16(llm__neon_u16(w + 4 * rb), v, 4);
    v = vsetq_lane_u16(llm__neon_u16(w + 5 * rb), v, 5);
    v = vsetq_lane_u16(llm__neon_u16(w + 6 * rb), v, 6);
    return llm__neon_f16x8(vsetq_lane_u16(llm__neon_u16(w + 7 * rb), v, 7));
}
LLM__NEON_INLINE void llm__neon_head(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    s->d = llm__neon_halves(w, rb);
    s->m = s->d;                                                            // no minima: defined, not used
}
LLM__NEON_INLINE void llm__neon_head_min(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    const uint16x8_t lo = vreinterpretq_u16_u32(llm__neon_words(w, w + rb, w + 2 * rb, w + 3 * rb));
    const uint16x8_t hi = vreinterpretq_u16_u32(llm__neon_words(w + 4 * rb, w + 5 * rb, w + 6 * rb, w + 7 * rb));
    s->d = llm__neon_f16x8(vuzp1q_u16(lo, hi));
    s->m = llm__neon_f16x8(vuzp2q_u16(lo, hi));
}
// Row i zipped with row i + 4, for all four: three times turns eight rows of 16 bytes.
LLM__NEON_INLINE llm__neon_bytes llm__neon_zipped(llm__neon_bytes t) {
    llm__neon_bytes r;
    r.v[0] = vzip1q_u8(t.v[0], t.v[4]); r.v[1] = vzip2q_u8(t.v[0], t.v[4]);
    r.v[2] = vzip1q_u8(t.v[1], t.v[5]); r.v[3] = vzip2q_u8(t.v[1], t.v[5]);
    r.v[4] = vzip1q_u8(t.v[2], t.v[6]); r.v[5] = vzip2q_u8(t.v[2], t.v[6]);
    r.v[6] = vzip1q_u8(t.v[3], t.v[7]); r.v[7] = vzip2q_u8(t.v[3], t.v[7]);
    return r;
}
// v[i] is byte 2*i of all rows, then byte 2*i + 1.
LLM__NEON_INLINE llm__neon_bytes llm__neon_turned(const uint8_t *w, size_t rb) {
    llm__neon_bytes t;
    t.v[0] = vld1q_u8(w);          t.v[1] = vld1q_u8(w + rb);     t.v[2] = vld1q_u8(w + 2 * rb); t.v[3] = vld1q_u8(w + 3 * rb);
    t.v[4] = vld1q_u8(w + 4 * rb); t.v[5] = vld1q_u8(w + 5 * rb); t.v[6] = vld1q_u8(w + 6 * rb); t.v[7] = vld1q_u8(w + 7 * rb);
    return llm__neon_zipped(llm__neon_zipped(llm__neon_zipped(t)));
}
LLM__NEON_INLINE void llm__neon_put(uint8_t (*to)[8], uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    vst1q_u8(to[0], a); vst1q_u8(to[2], b); vst1q_u8(to[4], c); vst1q_u8(to[6], d);
}
LLM__NEON_INLINE llm__neon_f8 llm__neon_turned_f16(uint8x16_t v) {         // low bytes, then high bytes
    return llm__neon_f16x8(vreinterpretq_u16_u8(vzip1q_u8(v, vextq_u8(v, v, 8))));
}
LLM__NEON_INLINE void llm__neon_negate(llm__neon_f8 *f) {
    f->lo = vnegq_f32(f->lo);
    f->hi = vnegq_f32(f->hi);
}
LLM__NEON_INLINE uint8x16_t llm__neon_low(uint8x16_t v, int mask) { return vandq_u8(v, vdupq_n_u8((uint8_t)mask)); }
// d, dmin and the twelve bytes of llm__scale_min_k4 are the first 16.
LLM__NEON_INLINE void llm__neon_super_k4(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    const llm__neon_bytes t = llm__neon_turned(w, rb);
    s->d = llm__neon_turned_f16(t.v[0]);
    s->m = llm__neon_turned_f16(t.v[1]);
    llm__neon_negate(&s->m);
    llm__neon_put(s->sub, llm__neon_low(t.v[2], 63), llm__neon_low(t.v[3], 63),
                  vsliq_n_u8(llm__neon_low(t.v[6], 15), vshrq_n_u8(t.v[2], 6), 4),
                  vsliq_n_u8(llm__neon_low(t.v[7], 15), vshrq_n_u8(t.v[3], 6), 4));
    llm__neon_put(s->mn, llm__neon_low(t.v[4], 63), llm__neon_low(t.v[5], 63),
                  vsliq_n_u8(vshrq_n_u8(t.v[6], 4), vshrq_n_u8(t.v[4], 6), 4),
                  vsliq_n_u8(vshrq_n_u8(t.v[7], 4), vshrq_n_u8(t.v[5], 6), 4));
}
LLM__NEON_INLINE void llm__neon_super_q2_k(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    const llm__neon_bytes t = llm__neon_turned(w, rb);
    llm__neon_head_min(w + 80, rb, s);
    llm__neon_negate(&s->m);
    llm__neon_put(s->sub, llm__neon_low(t.v[0], 15), llm__neon_low(t.v[1], 15), llm__neon_low(t.v[2], 15), llm__neon_low(t.v[3], 15));
    llm__neon_put(s->sub + 8, llm__neon_low(t.v[4], 15), llm__neon_low(t.v[5], 15), llm__neon_low(t.v[6], 15), llm__neon_low(t.v[7], 15));
    llm__neon_put(s->mn, vshrq_n_u8(t.v[0], 4), vshrq_n_u8(t.v[1], 4), vshrq_n_u8(t.v[2], 4), vshrq_n_u8(t.v[3], 4));
    llm__neon_put(s->mn + 8, vshrq_n_u8(t.v[4], 4), vshrq_n_u8(t.v[5], 4), vshrq_n_u8(t.v[6], 4), vshrq_n_u8(t.v[7], 4));
}
// Four bits at the bottom, two above them, minus 32.
LLM__NEON_INLINE uint8x16_t llm__neon_six(uint8x16_t low, uint8x16_t high) {
    return vsubq_u8(vsliq_n_u8(llm__neon_low(low, 15), llm__neon_low(high, 3), 4), vdupq_n_u8(32));
}
// The twelve bytes of llm__q3_k_scale, then d: the last 14 of the block.
LLM__NEON_INLINE void llm__neon_super_q3_k(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    const llm__neon_bytes t = llm__neon_turned(w + 94, rb);
    const uint8x16_t a = t.v[5], b = t.v[6];
    s->d = llm__neon_turned_f16(t.v[7]);
    s->m = s->d;                                                            // no minima: defined, not used
    llm__neon_put(s->sub, llm__neon_six(t.v[1], a), llm__neon_six(t.v[2], b),
                  llm__neon_six(t.v[3], vshrq_n_u8(a, 2)), llm__neon_six(t.v[4], vshrq_n_u8(b, 2)));
    llm__neon_put(s->sub + 8,
                  llm__neon_six(vshrq_n_u8(t.v[1], 4), vshrq_n_u8(a, 4)), llm__neon_six(vshrq_n_u8(t.v[2], 4), vshrq_n_u8(b, 4)),
                  llm__neon_six(vshrq_n_u8(t.v[3], 4), vshrq_n_u8(a, 6)), llm__neon_six(vshrq_n_u8(t.v[4], 4), vshrq_n_u8(b, 6)));
}
LLM__NEON_INLINE void llm__neon_super_q6_k(const uint8_t *w, size_t rb, llm__neon_scales *s) {
    const llm__neon_bytes t = llm__neon_turned(w + 192, rb);
    llm__neon_head(w + 208, rb, s);
    llm__neon_put(s->sub, t.v[0], t.v[1], t.v[2], t.v[3]);
    llm__neon_put(s->sub + 8, t.v[4], t.v[5], t.v[6], t.v[7]);
}

LLM__NEON_INLINE llm__neon_i8 llm__neon_widen(const uint8_t *p) {          // one small scale of eight rows
    const int16x8_t v = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p)));
    llm__neon_i8 r;
    r.lo = vmovl_s16(vget_low_s16(v));
    r.hi = vmovl_high_s16(v);
    return r;
}
LLM__NEON_INLINE llm__neon_f8 llm__neon_times(llm__neon_f8 f, llm__neon_i8 i) {
    f.lo = vmulq_f32(f.lo, vcvtq_f32_s32(i.lo));
    f.hi = vmulq_f32(f.hi, vcvtq_f32_s32(i.hi));
    return f;
}
LLM__NEON_INLINE llm__neon_group llm__neon_whole(const llm__neon_scales *s, uint32_t j) {            // the block is the group
    llm__neon_group g;
    (void)j;
    g.s = s->d; g.t = s->m;
    g.sub0.lo = g.sub0.hi = vdupq_n_s32(1);
    g.sub1 = g.mn0 = g.mn1 = g.sub0;
    return g;
}
LLM__NEON_INLINE llm__neon_group llm__neon_scaled(const llm__neon_scales *s, uint32_t j) {           // scale and minimum times six bits
    llm__neon_group g = llm__neon_whole(s, j);
    g.s = llm__neon_times(s->d, llm__neon_widen(s->sub[j]));
    g.t = llm__neon_times(s->m, llm__neon_widen(s->mn[j]));
    return g;
}
LLM__NEON_INLINE llm__neon_group llm__neon_halved(const llm__neon_scales *s, uint32_t j) {
    llm__neon_group g = llm__neon_whole(s, j);
    g.sub0 = llm__neon_widen(s->sub[2 * j]);
    g.sub1 = llm__neon_widen(s->sub[2 * j + 1]);
    return g;
}
LLM__NEON_INLINE llm__neon_group llm__neon_halved_min(const llm__neon_scales *s, uint32_t j) {       // sub-minima, too
    llm__neon_group g = llm__neon_halved(s, j);
    g.mn0 = llm__neon_widen(s->mn[2 * j]);
    g.mn1 = llm__neon_widen(s->mn[2 * j + 1]);
    return g;
}

// ---- decode ----

enum { LLM__NEON_FIRST, LLM__NEON_SECOND, LLM__NEON_BOTH };                 // which 16 columns

// One exact sum for each of four rows.
typedef int32x4_t (*llm__neon_four_fn)(int most, int which, llm__neon_rows w, llm__neon_pair x);

LLM__NEON_INLINE int32x4_t llm__neon_fold(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}
// n products in one lane of int16.
#define LLM__NEON_FITS(n, most) ((n) * 127 * (most) <= 32767)

LLM__NEON_INLINE int16x8_t llm__neon_mul(int8x16_t w, int8x16_t x) {
    return vmlal_high_s8(vmull_s8(vget_low_s8(w), vget_low_s8(x)), w, x);
}
LLM__NEON_INLINE int16x8_t llm__neon_mul_row(int which, llm__neon_pair w, llm__neon_pair x) {
    if (which == LLM__NEON_FIRST) return llm__neon_mul(w.lo, x.lo);
    if (which == LLM__NEON_SECOND) return llm__neon_mul(w.hi, x.hi);
    return vmlal_high_s8(vmlal_s8(llm__neon_mul(w.lo, x.lo), vget_low_s8(w.hi), vget_low_s8(x.hi)), w.hi, x.hi);
}
LLM__NEON_INLINE int32x4_t llm__neon_mul_wide(int which, llm__neon_pair w, llm__neon_pair x) {
    if (which != LLM__NEON_BOTH) return vpaddlq_s16(llm__neon_mul_row(which, w, x));
    return vpadalq_s16(vpaddlq_s16(llm__neon_mul(w.lo, x.lo)), llm__neon_mul(w.hi, x.hi));
}
LLM__NEON_INLINE int32x4_t llm__neon_four_mul(int most, int which, llm__neon_rows w, llm__neon_pair x) {
    const int n = which == LLM__NEON_BOTH ? 4 : 2;
    if (LLM__NEON_FITS(2 * n, most)) {
        const int16x8_t ab = vpaddq_s16(llm__neon_mul_row(which, w.r0, x), llm__neon_mul_row(which, w.r1, x));
        const int16x8_t cd = vpaddq_s16(llm__neon_mul_row(which, w.r2, x), llm__neon_mul_row(which, w.r3, x));
        if (LLM__NEON_FITS(4 * n, most)) return vpaddlq_s16(vpaddq_s16(ab, cd));
        return vpaddq_s32(vpaddlq_s16(ab), vpaddlq_s16(cd));
    }
    return llm__neon_fold(llm__neon_mul_wide(which, w.r0, x), llm__neon_mul_wide(which, w.r1, x),
                          llm__neon_mul_wide(which, w.r2, x), llm__neon_mul_wide(which, w.r3, x));
}
LLM__NEON_INLINE LLM__DOTPROD int32x4_t llm__neon_four_dot(int most, int which, llm__neon_rows w, llm__neon_pair x) {
    int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a;
    (void)most;
    if (which != LLM__NEON_SECOND) {
        LLM__SDOT(a, w.r0.lo, x.lo); LLM__SDOT(b, w.r1.lo, x.lo); LLM__SDOT(c, w.r2.lo, x.lo); LLM__SDOT(d, w.r3.lo, x.lo);
    }
    if (which != LLM__NEON_FIRST) {
        LLM__SDOT(a, w.r0.hi, x.hi); LLM__SDOT(b, w.r1.hi, x.hi); LLM__SDOT(c, w.r2.hi, x.hi); LLM__SDOT(d, w.r3.hi, x.hi);
    }
    return llm__neon_fold(a, b, c, d);
}

LLM__NEON_INLINE llm__neon_rows llm__neon_four_rows(const llm__neon_type y, const uint8_t *w, size_t rb, uint32_t i, int c) {
    llm__neon_rows r;
    r.r0 = y.pair(w, i, c);
    r.r1 = y.pair(w + rb, i, c);
    r.r2 = y.pair(w + 2 * rb, i, c);
    r.r3 = y.pair(w + 3 * rb, i, c);
    return r;
}
// One term of N4 for four rows.
LLM__NEON_INLINE float32x4_t llm__neon_four(const llm__neon_type y, llm__neon_four_fn four, float32x4_t acc, llm__neon_rows w,
                                            float32x4_t s, float32x4_t t, int32x4_t sub0, int32x4_t sub1, int32x4_t mn0, int32x4_t mn1,
                                            int c, const llm__input *x) {
    const float da = x->d[c];
    const int16_t first = x->s16[2 * c], second = x->s16[2 * c + 1];
    llm__neon_pair a;
    int32x4_t sum;
    a.lo = vld1q_s8(x->q + c * 32);
    a.hi = vld1q_s8(x->q + c * 32 + 16);
    if (y.halved) sum = vmlaq_s32(vmulq_s32(four(y.most, LLM__NEON_FIRST, w, a), sub0), four(y.most, LLM__NEON_SECOND, w, a), sub1);
    else          sum = four(y.most, LLM__NEON_BOTH, w, a);
    acc = vfmaq_f32(acc, vmulq_n_f32(s, da), vcvtq_f32_s32(sum));
    if (!y.minima) return acc;
    if (!y.halved) return vfmaq_n_f32(acc, vmulq_n_f32(t, da), (float)(first + second));
    return vfmaq_f32(acc, vmulq_n_f32(t, da), vcvtq_f32_s32(vmlaq_n_s32(vmulq_n_s32(mn0, first), mn1, second)));
}
LLM__NEON_INLINE llm__neon_f8 llm__neon_decode_group(const llm__neon_type y, llm__neon_four_fn four, llm__neon_f8 acc, const uint8_t *w,
                                                     size_t rb, const llm__neon_scales *scales, uint32_t i, int c,
                                                     const llm__input *x) {
    const llm__neon_group g = y.group(scales, i * y.run + (uint32_t)c);
    LLM__NEON_FORGET(w);
    acc.lo = llm__neon_four(y, four, acc.lo, llm__neon_four_rows(y, w, rb, i, c),
                            g.s.lo, g.t.lo, g.sub0.lo, g.sub1.lo, g.mn0.lo, g.mn1.lo, c, x);
    LLM__NEON_KEEP(acc.lo); LLM__NEON_FORGET(w);
    acc.hi = llm__neon_four(y, four, acc.hi, llm__neon_four_rows(y, w + 4 * rb, rb, i, c),
                            g.s.hi, g.t.hi, g.sub0.hi, g.sub1.hi, g.mn0.hi, g.mn1.hi, c, x);
    LLM__NEON_KEEP(acc.hi);
    return acc;
}
// Two lines at a time: one loop instruction each, and no more than one line too many.
LLM__NEON_INLINE void llm__neon_fetch(const uint8_t *p, size_t ahead, uint32_t n) {
    uintptr_t at = (uintptr_t)p + ahead;
    uint32_t i;
    for (i = 0; i < n; i += 128) {
        LLM__PREFETCH_L2((const char *)at + i);
        LLM__PREFETCH_L2((const char *)at + i + 64);
    }
}
// Eight rows times one token. What lies `ahead` bytes on is fetched meanwhile, as one linear stream; 0: it is there already.
LLM__NEON_INLINE void llm__neon_decode8(const llm__neon_type y, llm__neon_four_fn four, const uint8_t *w, size_t rb, const llm__acts *acts,
                                        uint32_t token, size_t ahead, float *out) {
    const uint32_t n_groups = acts->n / 32;
    const uint8_t *stream = w;
    llm__neon_f8 acc;
    llm__input x;
    uint32_t b, i;
    acc.lo = acc.hi = vdupq_n_f32(0.0f);
    x.q = acts->q + (size_t)token * acts->n;
    x.d = acts->d + (size_t)token * n_groups;
    x.s16 = acts->s16 + (size_t)token * n_groups * 2;
    for (b = 0; b < n_groups; b += y.groups, w += y.block_bytes) {
        llm__neon_scales scales;
        y.scales(w, rb, &scales);
        for (i = 0; i < y.groups / y.run; i++) {
            if (ahead) llm__neon_fetch(stream, ahead, y.block_bytes * 8 / y.groups * y.run);
            stream += y.block_bytes * 8 / y.groups * y.run;
            acc = llm__neon_decode_group(y, four, acc, w, rb, &scales, i, 0, &x);
            if (y.run > 1) acc = llm__neon_decode_group(y, four, acc, w, rb, &scales, i, 1, &x);
            if (y.run > 2) acc = llm__neon_decode_group(y, four, acc, w, rb, &scales, i, 2, &x);
            if (y.run > 2) acc = llm__neon_decode_group(y, four, acc, w, rb, &scales, i, 3, &x);
            x.q += 32 * y.run; x.d += y.run; x.s16 += 2 * y.run;
        }
    }
    vst1q_f32(out, acc.lo);
    vst1q_f32(out + 4, acc.hi);
}
// The last rows are done with the seven before them once more: the same bits are written twice.
LLM__NEON_INLINE void llm__neon_decode(const llm__neon_type y, llm__neon_four_fn four, const llm__tile *t) {
    const size_t ahead = LLM__MAX(8 * t->row_bytes, (size_t)8192);
    uint32_t r = 0, next, i;
    for (;;) {
        next = LLM__MIN(r + 8, t->n_rows - 8);
        for (i = 0; i < t->n_tokens; i++)
            llm__neon_decode8(y, four, t->w + (size_t)r * t->row_bytes, t->row_bytes, t->x, i, i ? 0 : ahead,
                              t->out + i * t->ld + r);
        if (next == r) return;
        r = next;
    }
}

// ---- prefill ----

enum { LLM__NEON_BLOCKS = 8, LLM__NEON_PANELS = 4 };        // 256 columns of 32 rows at a time: 14 KB that are read again and again

// 32 columns of eight rows, ready for the micro-kernels. Each 16 columns of four rows are [k / 4][row][k % 4], or for SMMLA two rows
// together: [row / 2][k / 8][row % 2][k % 8].
typedef struct llm__neon_panel {
    int32_t q[2][32];
    float s[8], t[8];
    int32_t sub[2][8], mn[2][8];
} llm__neon_panel;

// Four tokens from a panel's first column on: integers of 32 columns ([token][k], or for SMMLA like the panel's), and where scales and
// sums are: at places at .. at + 3 of each side.
typedef struct llm__neon_tokens { float *out[4]; const llm__side *side; uint32_t at; int32_t q[LLM__NEON_BLOCKS][2][16]; } llm__neon_tokens;

typedef struct llm__neon_scratch {
    llm__neon_panel panel[LLM__NEON_PANELS][LLM__NEON_BLOCKS];
    llm__neon_tokens tokens;
    uint8_t rows[8][LLM__NEON_BLOCKS * 36];    // stored bytes of the last, incomplete rows; no type takes more than 36 for 32 columns
} llm__neon_scratch;

typedef void (*llm__neon_pack_fn)(llm__neon_panel *p, const uint8_t *w, size_t row_bytes, uint32_t n_groups, bool pairs);
typedef void (*llm__neon_tile_fn)(const llm__neon_panel *p, const llm__neon_tokens *k, uint32_t n, uint32_t row, uint32_t n_rows,
                                  bool begin, bool minima);

LLM__NEON_INLINE void llm__neon_store_pair(int32_t *p, int64x2_t a, int64x2_t b) {
    vst1q_s32(p, vreinterpretq_s32_s64(vzip1q_s64(a, b)));
    vst1q_s32(p + 4, vreinterpretq_s32_s64(vzip2q_s64(a, b)));
}
// Not ST4: it wants four registers in a row, for which GCC goes over the stack, and small cores take it apart into as many steps.
LLM__NEON_INLINE void llm__neon_store_four(int32_t *p, bool pairs, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d) {
    const int32x4_t wa = vreinterpretq_s32_s8(a), wb = vreinterpretq_s32_s8(b), wc = vreinterpretq_s32_s8(c), wd = vreinterpretq_s32_s8(d);
    if (pairs) {
        llm__neon_store_pair(p, vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b));
        llm__neon_store_pair(p + 8, vreinterpretq_s64_s8(c), vreinterpretq_s64_s8(d));
    } else {
        llm__neon_store_pair(p, vreinterpretq_s64_s32(vzip1q_s32(wa, wb)), vreinterpretq_s64_s32(vzip1q_s32(wc, wd)));
        llm__neon_store_pair(p + 8, vreinterpretq_s64_s32(vzip2q_s32(wa, wb)), vreinterpretq_s64_s32(vzip2q_s32(wc, wd)));
    }
}
LLM__NEON_INLINE void llm__neon_store_i8(int32_t *p, llm__neon_i8 v) { vst1q_s32(p, v.lo); vst1q_s32(p + 4, v.hi); }
LLM__NEON_INLINE void llm__neon_store_f8(float *p, llm__neon_f8 v) { vst1q_f32(p, v.lo); vst1q_f32(p + 4, v.hi); }
LLM__NEON_INLINE void llm__neon_pack_group(const llm__neon_type y, llm__neon_panel *p, const uint8_t *w, size_t rb,
                                           const llm__neon_scales *scales, uint32_t i, int c, bool pairs) {
    const llm__neon_group g = y.group(scales, i * y.run + (uint32_t)c);
    llm__neon_rows r;
    LLM__NEON_FORGET(w);
    r = llm__neon_four_rows(y, w, rb, i, c);
    llm__neon_store_four(p->q[0], pairs, r.r0.lo, r.r1.lo, r.r2.lo, r.r3.lo);
    llm__neon_store_four(p->q[1], pairs, r.r0.hi, r.r1.hi, r.r2.hi, r.r3.hi);
    LLM__NEON_FORGET(w);
    r = llm__neon_four_rows(y, w + 4 * rb, rb, i, c);
    llm__neon_store_four(p->q[0] + 16, pairs, r.r0.lo, r.r1.lo, r.r2.lo, r.r3.lo);
    llm__neon_store_four(p->q[1] + 16, pairs, r.r0.hi, r.r1.hi, r.r2.hi, r.r3.hi);
    llm__neon_store_f8(p->s, g.s);
    llm__neon_store_f8(p->t, g.t);
    if (!y.halved) return;
    llm__neon_store_i8(p->sub[0], g.sub0);
    llm__neon_store_i8(p->sub[1], g.sub1);
    llm__neon_store_i8(p->mn[0], g.mn0);
    llm__neon_store_i8(p->mn[1], g.mn1);
}
LLM__NEON_INLINE void llm__neon_pack(const llm__neon_type y, llm__neon_panel *p, const uint8_t *w, size_t rb, uint32_t n_groups,
                                     bool pairs) {
    uint32_t b, i;
    for (b = 0; b < n_groups; b += y.groups, w += y.block_bytes) {
        llm__neon_scales scales;
        y.scales(w, rb, &scales);
        for (i = 0; i < y.groups / y.run; i++) {
            llm__neon_pack_group(y, p++, w, rb, &scales, i, 0, pairs);
            if (y.run > 1) llm__neon_pack_group(y, p++, w, rb, &scales, i, 1, pairs);
            if (y.run > 2) llm__neon_pack_group(y, p++, w, rb, &scales, i, 2, pairs);
            if (y.run > 2) llm__neon_pack_group(y, p++, w, rb, &scales, i, 3, pairs);
        }
    }
}
LLM__NEON_INLINE void llm__neon_gather16(int32_t *q, bool pairs, const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d) {
    if (pairs) {
        llm__neon_store_four(q, true, vld1q_s8(a), vld1q_s8(b), vld1q_s8(c), vld1q_s8(d));
    } else {
        vst1q_s32(q, vreinterpretq_s32_s8(vld1q_s8(a))); vst1q_s32(q + 4, vreinterpretq_s32_s8(vld1q_s8(b)));
        vst1q_s32(q + 8, vreinterpretq_s32_s8(vld1q_s8(c))); vst1q_s32(q + 12, vreinterpretq_s32_s8(vld1q_s8(d)));
    }
}
// A short tile repeats its last token.
static void llm__neon_gather(llm__neon_tokens *k, const llm__tile *t, uint32_t first, uint32_t group, uint32_t n, bool pairs) {
    const llm__acts *x = t->x;
    const int8_t *q[4];
    uint32_t c, b;
    k->side = x->side + (size_t)(first / LLM__TOKENS) * (x->n / 32) + group;
    k->at = first % LLM__TOKENS;
    for (c = 0; c < 4; c++) {
        const size_t token = LLM__MIN(first + c, t->n_tokens - 1);
        q[c] = x->q + token * x->n + (size_t)group * 32;
        k->out[c] = t->out + token * t->ld;
    }
    for (b = 0; b < n; b++) {
        const size_t at = b * 32;
        llm__neon_gather16(k->q[b][0], pairs, q[0] + at, q[1] + at, q[2] + at, q[3] + at);
        llm__neon_gather16(k->q[b][1], pairs, q[0] + at + 16, q[1] + at + 16, q[2] + at + 16, q[3] + at + 16);
    }
}

// Eight rows x four tokens.
typedef struct llm__neon_sums { llm__neon_i8 t0, t1, t2, t3; } llm__neon_sums;
// The sums go on over 16 columns of the panel and the tokens; then they are brought into the order above. Each step loads what the next
// one needs: cores that work in order would wait for it.
typedef llm__neon_sums (*llm__neon_half_fn)(llm__neon_sums s, const int32_t *w, const int32_t *x);
typedef llm__neon_sums (*llm__neon_order_fn)(llm__neon_sums s);

LLM__NEON_INLINE llm__neon_sums llm__neon_as_is(llm__neon_sums s) { return s; }
LLM__NEON_INLINE int8x16_t llm__neon_at(const int32_t *p) { return vreinterpretq_s8_s32(vld1q_s32(p)); }

// Four columns of all rows times those of one token. The products of a row stand in four neighbouring lanes; four of them are added up.
typedef struct llm__neon_products { int16x8_t r01, r23, r45, r67; } llm__neon_products;

LLM__NEON_INLINE int8x16_t llm__neon_repeat(const int32_t *p) { return vreinterpretq_s8_s32(vld1q_dup_s32(p)); }
LLM__NEON_INLINE llm__neon_products llm__neon_first(int8x16_t lo, int8x16_t hi, int8x16_t x) {
    llm__neon_products p;
    p.r01 = vmull_s8(vget_low_s8(lo), vget_low_s8(x)); p.r23 = vmull_high_s8(lo, x);
    p.r45 = vmull_s8(vget_low_s8(hi), vget_low_s8(x)); p.r67 = vmull_high_s8(hi, x);
    return p;
}
LLM__NEON_INLINE llm__neon_products llm__neon_more(llm__neon_products p, int8x16_t lo, int8x16_t hi, int8x16_t x) {
    p.r01 = vmlal_s8(p.r01, vget_low_s8(lo), vget_low_s8(x)); p.r23 = vmlal_high_s8(p.r23, lo, x);
    p.r45 = vmlal_s8(p.r45, vget_low_s8(hi), vget_low_s8(x)); p.r67 = vmlal_high_s8(p.r67, hi, x);
    return p;
}
#define LLM__NEON_KEEP4(p) \
    LLM__NEON_KEEP((p).r01); LLM__NEON_KEEP((p).r23); LLM__NEON_KEEP((p).r45); LLM__NEON_KEEP((p).r67)

// Two tokens, so that a weight is loaded once for both and all sums stay in registers. |q| <= 32.
LLM__NEON_INLINE void llm__neon_two_mul(llm__neon_i8 *s, llm__neon_i8 *u, const int32_t *w, const int32_t *x) {
    int8x16_t lo = llm__neon_at(w), hi = llm__neon_at(w + 16), a = llm__neon_repeat(x), b = llm__neon_repeat(x + 4);
    int8x16_t lo1 = llm__neon_at(w + 4), hi1 = llm__neon_at(w + 20), a1 = llm__neon_repeat(x + 1), b1 = llm__neon_repeat(x + 5);
    llm__neon_products p = llm__neon_first(lo, hi, a), q = llm__neon_first(lo, hi, b);
    LLM__NEON_KEEP4(p); LLM__NEON_KEEP4(q);
    lo = llm__neon_at(w + 8); hi = llm__neon_at(w + 24); a = llm__neon_repeat(x + 2); b = llm__neon_repeat(x + 6);
    p = llm__neon_more(p, lo1, hi1, a1); q = llm__neon_more(q, lo1, hi1, b1);
    LLM__NEON_KEEP4(p); LLM__NEON_KEEP4(q);
    lo1 = llm__neon_at(w + 12); hi1 = llm__neon_at(w + 28); a1 = llm__neon_repeat(x + 3); b1 = llm__neon_repeat(x + 7);
    p = llm__neon_more(p, lo, hi, a); q = llm__neon_more(q, lo, hi, b);
    LLM__NEON_KEEP4(p); LLM__NEON_KEEP4(q);
    p = llm__neon_more(p, lo1, hi1, a1); q = llm__neon_more(q, lo1, hi1, b1);
    s->lo = vpadalq_s16(s->lo, vpaddq_s16(p.r01, p.r23)); s->hi = vpadalq_s16(s->hi, vpaddq_s16(p.r45, p.r67));
    u->lo = vpadalq_s16(u->lo, vpaddq_s16(q.r01, q.r23)); u->hi = vpadalq_s16(u->hi, vpaddq_s16(q.r45, q.r67));
    LLM__NEON_KEEP(s->lo); LLM__NEON_KEEP(s->hi); LLM__NEON_KEEP(u->lo); LLM__NEON_KEEP(u->hi);
}
// Bytes of any size: two products fill an int16.
LLM__NEON_INLINE void llm__neon_one_wide(llm__neon_i8 *s, const int32_t *w, const int32_t *x) {
    const int8x16_t l0 = llm__neon_at(w), h0 = llm__neon_at(w + 16), l1 = llm__neon_at(w + 4), h1 = llm__neon_at(w + 20);
    const int8x16_t l2 = llm__neon_at(w + 8), h2 = llm__neon_at(w + 24), l3 = llm__neon_at(w + 12), h3 = llm__neon_at(w + 28);
    llm__neon_products p = llm__neon_more(llm__neon_first(l0, h0, llm__neon_repeat(x)), l1, h1, llm__neon_repeat(x + 1));
    llm__neon_products q = llm__neon_first(l2, h2, llm__neon_repeat(x + 2));
    int32x4_t r01, r23, r45, r67;
    LLM__NEON_KEEP4(p); LLM__NEON_KEEP4(q);
    q = llm__neon_more(q, l3, h3, llm__neon_repeat(x + 3));
    r01 = vpadalq_s16(vpaddlq_s16(p.r01), q.r01); r23 = vpadalq_s16(vpaddlq_s16(p.r23), q.r23);
    r45 = vpadalq_s16(vpaddlq_s16(p.r45), q.r45); r67 = vpadalq_s16(vpaddlq_s16(p.r67), q.r67);
    s->lo = vaddq_s32(s->lo, vpaddq_s32(r01, r23));
    s->hi = vaddq_s32(s->hi, vpaddq_s32(r45, r67));
    LLM__NEON_KEEP(s->lo); LLM__NEON_KEEP(s->hi);
}
LLM__NEON_INLINE llm__neon_sums llm__neon_half_mul(llm__neon_sums s, const int32_t *w, const int32_t *x) {
    llm__neon_two_mul(&s.t0, &s.t1, w, x);
    LLM__NEON_FORGET(w);
    llm__neon_two_mul(&s.t2, &s.t3, w, x + 8);
    return s;
}
LLM__NEON_INLINE llm__neon_sums llm__neon_half_wide(llm__neon_sums s, const int32_t *w, const int32_t *x) {
    llm__neon_one_wide(&s.t0, w, x);
    LLM__NEON_FORGET(w);
    llm__neon_one_wide(&s.t1, w, x + 4);
    LLM__NEON_FORGET(w);
    llm__neon_one_wide(&s.t2, w, x + 8);
    LLM__NEON_FORGET(w);
    llm__neon_one_wide(&s.t3, w, x + 12);
    return s;
}

// Columns 4*k .. 4*k + 3 of eight rows and four tokens.
#define LLM__NEON_STEP(a, b, k)                                                           \
    LLM__SDOT_LANE(s.t0.lo, a, x0, k); LLM__SDOT_LANE(s.t1.lo, a, x1, k);                 \
    LLM__SDOT_LANE(s.t2.lo, a, x2, k); LLM__SDOT_LANE(s.t3.lo, a, x3, k);                 \
    LLM__SDOT_LANE(s.t0.hi, b, x0, k); LLM__SDOT_LANE(s.t1.hi, b, x1, k);                 \
    LLM__SDOT_LANE(s.t2.hi, b, x2, k); LLM__SDOT_LANE(s.t3.hi, b, x3, k)
LLM__NEON_INLINE LLM__DOTPROD llm__neon_sums llm__neon_half_dot(llm__neon_sums s, const int32_t *w, const int32_t *x) {
    const int8x16_t x0 = llm__neon_at(x), x1 = llm__neon_at(x + 4), x2 = llm__neon_at(x + 8), x3 = llm__neon_at(x + 12);
    int8x16_t a = llm__neon_at(w), b = llm__neon_at(w + 16), c = llm__neon_at(w + 4), d = llm__neon_at(w + 20);
    LLM__NEON_STEP(a, b, 0);
    a = llm__neon_at(w + 8); b = llm__neon_at(w + 24);
    LLM__NEON_STEP(c, d, 1);
    c = llm__neon_at(w + 12); d = llm__neon_at(w + 28);
    LLM__NEON_STEP(a, b, 2);
    LLM__NEON_STEP(c, d, 3);
    return s;
}

// Two rows and two tokens in a register: rows 0 1 and tokens 0 1 in t0.lo, rows 2 3 in t1.lo, 4 5 in t0.hi, 6 7 in t1.hi; tokens 2 3 in
// t2 and t3.
LLM__NEON_INLINE LLM__I8MM llm__neon_sums llm__neon_half_mmla(llm__neon_sums s, const int32_t *w, const int32_t *x) {
    const int8x16_t x0 = llm__neon_at(x), x1 = llm__neon_at(x + 4), x2 = llm__neon_at(x + 8), x3 = llm__neon_at(x + 12);
    const int8x16_t a = llm__neon_at(w), b = llm__neon_at(w + 8), c = llm__neon_at(w + 16), d = llm__neon_at(w + 24);
    const int8x16_t a1 = llm__neon_at(w + 4), b1 = llm__neon_at(w + 12), c1 = llm__neon_at(w + 20), d1 = llm__neon_at(w + 28);
    LLM__SMMLA(s.t0.lo, a, x0);  LLM__SMMLA(s.t2.lo, a, x2);  LLM__SMMLA(s.t1.lo, b, x0);  LLM__SMMLA(s.t3.lo, b, x2);
    LLM__SMMLA(s.t0.hi, c, x0);  LLM__SMMLA(s.t2.hi, c, x2);  LLM__SMMLA(s.t1.hi, d, x0);  LLM__SMMLA(s.t3.hi, d, x2);
    LLM__SMMLA(s.t0.lo, a1, x1); LLM__SMMLA(s.t2.lo, a1, x3); LLM__SMMLA(s.t1.lo, b1, x1); LLM__SMMLA(s.t3.lo, b1, x3);
    LLM__SMMLA(s.t0.hi, c1, x1); LLM__SMMLA(s.t2.hi, c1, x3); LLM__SMMLA(s.t1.hi, d1, x1); LLM__SMMLA(s.t3.hi, d1, x3);
    return s;
}
LLM__NEON_INLINE void llm__neon_two_by_rows(llm__neon_i8 *a, llm__neon_i8 *b) {
    const llm__neon_i8 t = *a;
    a->lo = vuzp1q_s32(t.lo, b->lo); a->hi = vuzp1q_s32(t.hi, b->hi);
    b->lo = vuzp2q_s32(t.lo, b->lo); b->hi = vuzp2q_s32(t.hi, b->hi);
}
LLM__NEON_INLINE llm__neon_sums llm__neon_by_rows(llm__neon_sums s) {
    llm__neon_two_by_rows(&s.t0, &s.t1);
    llm__neon_two_by_rows(&s.t2, &s.t3);
    return s;
}

LLM__NEON_INLINE llm__neon_i8 llm__neon_i8_at(const int32_t *p) { llm__neon_i8 r; r.lo = vld1q_s32(p); r.hi = vld1q_s32(p + 4); return r; }
LLM__NEON_INLINE llm__neon_f8 llm__neon_f8_at(const float *p) { llm__neon_f8 r; r.lo = vld1q_f32(p); r.hi = vld1q_f32(p + 4); return r; }
LLM__NEON_INLINE llm__neon_i8 llm__neon_weighted(llm__neon_i8 a, llm__neon_i8 a_by, llm__neon_i8 b, llm__neon_i8 b_by) {
    a.lo = vmlaq_s32(vmulq_s32(a.lo, a_by.lo), b.lo, b_by.lo);
    a.hi = vmlaq_s32(vmulq_s32(a.hi, a_by.hi), b.hi, b_by.hi);
    return a;
}
// 32 columns, exact: under one scale, or halves weighted by small ones.
LLM__NEON_INLINE llm__neon_sums llm__neon_block(llm__neon_half_fn half, llm__neon_order_fn order, bool halved, const llm__neon_panel *p,
                                                const int32_t (*x)[16]) {
    llm__neon_sums zero, a, b;
    llm__neon_i8 first, second;
    zero.t0.lo = zero.t0.hi = vdupq_n_s32(0);
    zero.t1 = zero.t2 = zero.t3 = zero.t0;
    a = half(zero, p->q[0], x[0]);
    if (!halved) return order(half(a, p->q[1], x[1]));
    a = order(a);
    b = order(half(zero, p->q[1], x[1]));
    first = llm__neon_i8_at(p->sub[0]);
    second = llm__neon_i8_at(p->sub[1]);
    a.t0 = llm__neon_weighted(a.t0, first, b.t0, second);
    a.t1 = llm__neon_weighted(a.t1, first, b.t1, second);
    a.t2 = llm__neon_weighted(a.t2, first, b.t2, second);
    a.t3 = llm__neon_weighted(a.t3, first, b.t3, second);
    return a;
}

typedef struct llm__neon_out { llm__neon_f8 t0, t1, t2, t3; } llm__neon_out;

// The terms of N4 for eight rows and token c, a literal: with the scale, and with the minimum.
#define LLM__NEON_TERM(c)                                                                                        \
    f.t##c.lo = vfmaq_f32(f.t##c.lo, vmulq_laneq_f32(s.lo, d, c), vcvtq_f32_s32(i.t##c.lo));                     \
    f.t##c.hi = vfmaq_f32(f.t##c.hi, vmulq_laneq_f32(s.hi, d, c), vcvtq_f32_s32(i.t##c.hi))
#define LLM__NEON_MINIMUM(c)                                                                                     \
    f.t##c.lo = vfmaq_laneq_f32(f.t##c.lo, vmulq_laneq_f32(s.lo, d, c), m, c);                                   \
    f.t##c.hi = vfmaq_laneq_f32(f.t##c.hi, vmulq_laneq_f32(s.hi, d, c), m, c)
#define LLM__NEON_MINIMA(c)                                                                                      \
    f.t##c.lo = vfmaq_f32(f.t##c.lo, vmulq_laneq_f32(s.lo, d, c),                                                \
                          vcvtq_f32_s32(vmlaq_laneq_s32(vmulq_laneq_s32(mn0.lo, z0, c), mn1.lo, z1, c)));        \
    f.t##c.hi = vfmaq_f32(f.t##c.hi, vmulq_laneq_f32(s.hi, d, c),                                                \
                          vcvtq_f32_s32(vmlaq_laneq_s32(vmulq_laneq_s32(mn0.hi, z0, c), mn1.hi, z1, c)))

LLM__NEON_INLINE llm__neon_out llm__neon_add_block(llm__neon_out f, llm__neon_sums i, const llm__neon_panel *p, const llm__side *x,
                                                 uint32_t at) {
    const llm__neon_f8 s = llm__neon_f8_at(p->s);
    const float32x4_t d = vld1q_f32(x->d + at);
    LLM__NEON_TERM(0); LLM__NEON_TERM(1); LLM__NEON_TERM(2); LLM__NEON_TERM(3);
    return f;
}
LLM__NEON_INLINE llm__neon_out llm__neon_add_minima(llm__neon_out f, bool halved, const llm__neon_panel *p, const llm__side *x,
                                                    uint32_t at) {
    const llm__neon_f8 s = llm__neon_f8_at(p->t);
    const float32x4_t d = vld1q_f32(x->d + at);
    if (!halved) {
        const float32x4_t m = vld1q_f32(x->m + at);
        LLM__NEON_MINIMUM(0); LLM__NEON_MINIMUM(1); LLM__NEON_MINIMUM(2); LLM__NEON_MINIMUM(3);
    } else {
        const int32x4_t z = vreinterpretq_s32_s16(vld1q_s16(x->s16[at])), z0 = vshrq_n_s32(vshlq_n_s32(z, 16), 16), z1 = vshrq_n_s32(z, 16);
        const llm__neon_i8 mn0 = llm__neon_i8_at(p->mn[0]), mn1 = llm__neon_i8_at(p->mn[1]);
        LLM__NEON_MINIMA(0); LLM__NEON_MINIMA(1); LLM__NEON_MINIMA(2); LLM__NEON_MINIMA(3);
    }
    return f;
}
// n groups of eight rows x four tokens; the sums so far come from out and go back there. Fewer rows take the way over `part`.
LLM__NEON_INLINE void llm__neon_tile(llm__neon_half_fn half, llm__neon_order_fn order, bool halved, const llm__neon_panel *p,
                                     const llm__neon_tokens *k, uint32_t n, uint32_t row, uint32_t n_rows, bool begin, bool minima) {
    const llm__side *side = k->side;
    float part[4][8], *o[4];
    llm__neon_out f;
    uint32_t c, b;
    for (c = 0; c < 4; c++) {
        o[c] = n_rows < 8 ? part[c] : k->out[c] + row;
        if (begin) memset(o[c], 0, sizeof part[c]);
        else if (n_rows < 8) memcpy(part[c], k->out[c] + row, n_rows * sizeof(float));
    }
    f.t0 = llm__neon_f8_at(o[0]); f.t1 = llm__neon_f8_at(o[1]); f.t2 = llm__neon_f8_at(o[2]); f.t3 = llm__neon_f8_at(o[3]);
    for (b = 0; b < n; b++, p++, side++) {
        f = llm__neon_add_block(f, llm__neon_block(half, order, halved, p, k->q[b]), p, side, k->at);
        if (minima) {
            LLM__NEON_FORGET(side);
            f = llm__neon_add_minima(f, halved, p, side, k->at);
        }
    }
    llm__neon_store_f8(o[0], f.t0); llm__neon_store_f8(o[1], f.t1); llm__neon_store_f8(o[2], f.t2); llm__neon_store_f8(o[3], f.t3);
    for (c = 0; n_rows < 8 && c < 4; c++) memcpy(k->out[c] + row, part[c], n_rows * sizeof(float));
}
#define LLM__NEON_TILES(isa, target, order)                                                                                         \
    static target void llm__neon_dot32_##isa(const llm__neon_panel *p, const llm__neon_tokens *k, uint32_t n, uint32_t row,         \
                                             uint32_t n_rows, bool begin, bool minima) {                                            \
        llm__neon_tile(llm__neon_half_##isa, order, false, p, k, n, row, n_rows, begin, minima);                                    \
    }                                                                                                                               \
    static target void llm__neon_dot16x2_##isa(const llm__neon_panel *p, const llm__neon_tokens *k, uint32_t n, uint32_t row,       \
                                               uint32_t n_rows, bool begin, bool minima) {                                          \
        llm__neon_tile(llm__neon_half_##isa, order, true, p, k, n, row, n_rows, begin, minima);                                     \
    }
LLM__NEON_TILES(mul, , llm__neon_as_is)
LLM__NEON_TILES(wide, , llm__neon_as_is)
LLM__NEON_TILES(dot, LLM__DOTPROD, llm__neon_as_is)
LLM__NEON_TILES(mmla, LLM__I8MM, llm__neon_by_rows)

// Eight rows from the tile's row on, columns from group on, into a panel. Fewer than eight are first copied, the last one repeated.
static void llm__neon_pack_rows(const llm__neon_type *y, llm__neon_pack_fn pack, bool pairs, llm__neon_scratch *s, llm__neon_panel *p,
                                const llm__tile *t, uint32_t row, uint32_t group, uint32_t n) {
    const uint8_t *w = t->w + (size_t)row * t->row_bytes + group / y->groups * y->block_bytes;
    const size_t bytes = n / y->groups * y->block_bytes;
    uint32_t r;
    if (t->n_rows - row >= 8) {
        pack(p, w, t->row_bytes, n, pairs);
        return;
    }
    for (r = 0; r < 8; r++) memcpy(s->rows[r], w + LLM__MIN(r, t->n_rows - 1 - row) * t->row_bytes, bytes);
    pack(p, s->rows[0], sizeof s->rows[0], n, pairs);
}
static void llm__neon_prefill(const llm__neon_type y, llm__neon_pack_fn pack, llm__neon_tile_fn tile, bool pairs, const llm__tile *t) {
    llm__neon_scratch *s = (llm__neon_scratch *)t->panel;
    const uint32_t n_groups = t->x->n / 32;
    uint32_t row, group, token, i, n, n_panels;
    for (row = 0; row < t->n_rows; row += LLM__NEON_PANELS * 8) {
        n_panels = LLM__MIN((t->n_rows - row + 7) / 8, (uint32_t)LLM__NEON_PANELS);
        for (group = 0; group < n_groups; group += n) {
            n = LLM__MIN(n_groups - group, (uint32_t)LLM__NEON_BLOCKS);
            for (i = 0; i < n_panels; i++) llm__neon_pack_rows(&y, pack, pairs, s, s->panel[i], t, row + i * 8, group, n);
            for (token = 0; token < t->n_tokens; token += 4) {
                llm__neon_gather(&s->tokens, t, token, group, n, pairs);
                for (i = 0; i < n_panels; i++)
                    tile(s->panel[i], &s->tokens, n, row + i * 8, LLM__MIN(t->n_rows - row - i * 8, 8u), group == 0, y.minima);
            }
        }
    }
}

// ---- the overlay ----

//    name         |q|  groups, unrolled  micro-kernel  scales of a block  of a group
#define LLM__NEON_FORMATS(X)                                             \
    X(Q4_0, q4_0,  8,   1, 1,  dot32,    head,        whole)             \
    X(Q4_1, q4_1,  15,  1, 1,  dot32,    head_min,    whole)             \
    X(Q5_0, q5_0,  16,  1, 1,  dot32,    head,        whole)             \
    X(Q5_1, q5_1,  31,  1, 1,  dot32,    head_min,    whole)             \
    X(Q8_0, q8_0,  128, 1, 1,  dot32,    head,        whole)             \
    X(Q2_K, q2_k,  3,   8, 4,  dot16x2,  super_q2_k,  halved_min)        \
    X(Q3_K, q3_k,  4,   8, 4,  dot16x2,  super_q3_k,  halved)            \
    X(Q4_K, q4_k,  15,  8, 2,  dot32,    super_k4,    scaled)            \
    X(Q5_K, q5_k,  31,  8, 2,  dot32,    super_k4,    scaled)            \
    X(Q6_K, q6_k,  32,  8, 4,  dot16x2,  super_q6_k,  halved)

enum { LLM__NEON_dot32, LLM__NEON_dot16x2 };

#define LLM__X(NAME, name, most_, groups_, run_, kernel_, scales_, group_)                                                              \
    LLM__NEON_INLINE llm__neon_type llm__neon_type_##name(void) {                                                                       \
        llm__neon_type y;                                                                                                               \
        y.most = most_; y.minima = llm__types[LLM__##NAME].minima; y.halved = LLM__NEON_##kernel_ == LLM__NEON_dot16x2;                 \
        y.block_bytes = sizeof(llm__##name); y.groups = groups_; y.run = run_;                                                          \
        y.pair = llm__neon_##name; y.scales = llm__neon_##scales_; y.group = llm__neon_##group_;                                        \
        return y;                                                                                                                       \
    }                                                                                                                                   \
    static void llm__neon_pack_##name(llm__neon_panel *p, const uint8_t *w, size_t row_bytes, uint32_t n_groups, bool pairs) {          \
        llm__neon_pack(llm__neon_type_##name(), p, w, row_bytes, n_groups, pairs);                                                      \
    }                                                                                                                                   \
    static void llm__prefill_##name##_neon(const llm__tile *t) {                                                                        \
        llm__neon_prefill(llm__neon_type_##name(), llm__neon_pack_##name,                                                               \
                          LLM__NEON_FITS(8, most_) ? llm__neon_##kernel_##_mul : llm__neon_##kernel_##_wide, false, t);                 \
    }                                                                                                                                   \
    static void llm__prefill_##name##_dotprod(const llm__tile *t) {                                                                     \
        llm__neon_prefill(llm__neon_type_##name(), llm__neon_pack_##name, llm__neon_##kernel_##_dot, false, t);                         \
    }                                                                                                                                   \
    static void llm__prefill_##name##_i8mm(const llm__tile *t) {                                                                        \
        llm__neon_prefill(llm__neon_type_##name(), llm__neon_pack_##name, llm__neon_##kernel_##_mmla, true, t);                         \
    }                                                                                                                                   \
    static void llm__decode_##name##_neon(const llm__tile *t) {                                                                         \
        if (t->n_rows < 8) llm__##name##_matmul(t);                                                                                     \
        else llm__neon_decode(llm__neon_type_##name(), llm__neon_four_mul, t);                                                          \
    }                                                                                                                                   \
    static LLM__DOTPROD void llm__decode_##name##_dotprod(const llm__tile *t) {                                                         \
        if (t->n_rows < 8) llm__##name##_matmul(t);                                                                                     \
        else llm__neon_decode(llm__neon_type_##name(), llm__neon_four_dot, t);                                                          \
    }
LLM__NEON_FORMATS(LLM__X)
#undef LLM__X

static void llm__kernels_neon(llm__kernels *k) {
    llm__vectors_neon(&k->v);
    k->rows_at_once = 8;
    k->accelerated[LLM__F32] = k->accelerated[LLM__F16] = k->accelerated[LLM__BF16] = true;
#define LLM__X(NAME, name, most, groups, run, kernel, scales, group)  \
    k->decode[LLM__##NAME] = llm__decode_##name##_neon;               \
    k->prefill[LLM__##NAME] = llm__prefill_##name##_neon;             \
    k->accelerated[LLM__##NAME] = true;
    LLM__NEON_FORMATS(LLM__X)
#undef LLM__X
}
static void llm__kernels_neon_dotprod(llm__kernels *k) {
    llm__kernels_neon(k);
#define LLM__X(NAME, name, most, groups, run, kernel, scales, group)  \
    k->decode[LLM__##NAME] = llm__decode_##name##_dotprod;            \
    k->prefill[LLM__##NAME] = llm__prefill_##name##_dotprod;
    LLM__NEON_FORMATS(LLM__X)
#undef LLM__X
}
// Two tokens are two columns of SMMLA: with one there is nothing to gain.
static void llm__kernels_neon_i8mm(llm__kernels *k) {
    llm__kernels_neon_dotprod(k);
#define LLM__X(NAME, name, most, groups, run, kernel, scales, group)  k->prefill[LLM__##NAME] = llm__prefill_##name##_i8mm;
    LLM__NEON_FORMATS(LLM__X)
#undef LLM__X
}
#endif

// ---- wasm ------------------------------------------------------------------------------------------------------------------
#if LLM__HAS_WASM128
#define LLM__WASM_INLINE LLM__LANE

// Four rows side by side, and no panels: 32 columns of them are unpacked to int16, meet up to eight tokens, and are forgotten. A register
// is eight or sixteen columns of one row, or one number of each row. Where a tile has fewer rows the last one stands for the others.
enum { LLM__WASM_ROWS = 4 };
typedef struct llm__wasm_rows { const uint8_t *at[LLM__WASM_ROWS]; } llm__wasm_rows;
typedef struct llm__wasm_pair { v128_t lo, hi; } llm__wasm_pair;             // columns 0..15 and 16..31 as bytes, zero subtracted

// What one stored block of four rows has besides its integers, and what 32 columns of it have. sub, mn: byte k of lane r of word i is small
// scale 4 * i + k of row r.
typedef struct llm__wasm_scales { v128_t d, m, sub[4], mn[4]; } llm__wasm_scales;
typedef struct llm__wasm_group { v128_t s, t, sub0, sub1, mn0, mn1; } llm__wasm_group;

typedef llm__wasm_pair (*llm__wasm_pair_fn)(const uint8_t *w, uint32_t j);
typedef void (*llm__wasm_scales_fn)(const llm__wasm_rows *w, llm__wasm_scales *s);
typedef llm__wasm_group (*llm__wasm_group_fn)(const llm__wasm_scales *s, uint32_t j);

// What a type is made of; every field is a constant where the kernels are instantiated.
typedef struct llm__wasm_type {
    bool minima, halved;                        // halved: each 16 columns have their own small scale
    uint32_t block_bytes, groups;               // groups of 32 in a block
    llm__wasm_pair_fn pair;
    llm__wasm_scales_fn scales;
    llm__wasm_group_fn group;
} llm__wasm_type;

// ---- unpacking: the integers of 32 columns of one row ----

LLM__WASM_INLINE v128_t llm__wasm_bytes(int value) { return wasm_i8x16_splat((int8_t)value); }
LLM__WASM_INLINE llm__wasm_pair llm__wasm_minus(llm__wasm_pair p, int zero) {
    p.lo = wasm_i8x16_sub(p.lo, llm__wasm_bytes(zero));
    p.hi = wasm_i8x16_sub(p.hi, llm__wasm_bytes(zero));
    return p;
}
// 16 fields, `shift` bits up in their bytes; what comes in from the neighbour falls to the mask.
LLM__WASM_INLINE v128_t llm__wasm_field(const uint8_t *p, uint32_t shift, int mask) {
    return wasm_v128_and(wasm_u16x8_shr(wasm_v128_load(p), shift), llm__wasm_bytes(mask));
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_fields(const uint8_t *p, uint32_t shift, int mask) {
    llm__wasm_pair r;
    r.lo = llm__wasm_field(p, shift, mask);
    r.hi = llm__wasm_field(p + 16, shift, mask);
    return r;
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_nibbles(const uint8_t *p) {
    llm__wasm_pair r;
    r.lo = llm__wasm_field(p, 0, 15);
    r.hi = llm__wasm_field(p, 4, 15);
    return r;
}
// Upper bits, `shift` bits further up: they do not reach the next byte.
LLM__WASM_INLINE llm__wasm_pair llm__wasm_with(llm__wasm_pair p, llm__wasm_pair upper, uint32_t shift) {
    p.lo = wasm_v128_or(p.lo, wasm_i16x8_shl(upper.lo, shift));
    p.hi = wasm_v128_or(p.hi, wasm_i16x8_shl(upper.hi, shift));
    return p;
}
// Bit k of four bytes belongs to column k; it is worth 16.
LLM__WASM_INLINE llm__wasm_pair llm__wasm_fifths(llm__wasm_pair p, const uint8_t *bits) {
    const v128_t bit = wasm_u64x2_const_splat(0x8040201008040201ull), sixteen = llm__wasm_bytes(16);
    const v128_t word = wasm_v128_load32_splat(bits);
    const v128_t lo = wasm_i8x16_shuffle(word, word, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const v128_t hi = wasm_i8x16_shuffle(word, word, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    p.lo = wasm_v128_or(p.lo, wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(lo, bit), bit), sixteen));
    p.hi = wasm_v128_or(p.hi, wasm_v128_and(wasm_i8x16_eq(wasm_v128_and(hi, bit), bit), sixteen));
    return p;
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q4_0(const uint8_t *w, uint32_t j) {
    (void)j;
    return llm__wasm_minus(llm__wasm_nibbles(w + 2), 8);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q4_1(const uint8_t *w, uint32_t j) {
    (void)j;
    return llm__wasm_nibbles(w + 4);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q5_0(const uint8_t *w, uint32_t j) {
    (void)j;
    return llm__wasm_minus(llm__wasm_fifths(llm__wasm_nibbles(w + 6), w + 2), 16);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q5_1(const uint8_t *w, uint32_t j) {
    (void)j;
    return llm__wasm_fifths(llm__wasm_nibbles(w + 8), w + 4);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q8_0(const uint8_t *w, uint32_t j) {
    llm__wasm_pair p;
    (void)j;
    p.lo = wasm_v128_load(w + 2);
    p.hi = wasm_v128_load(w + 18);
    return p;
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q2_k(const uint8_t *w, uint32_t j) { return llm__wasm_fields(w + 16 + j / 4 * 32, j % 4 * 2, 3); }
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q3_k(const uint8_t *w, uint32_t j) {
    return llm__wasm_minus(llm__wasm_with(llm__wasm_fields(w + 32 + j / 4 * 32, j % 4 * 2, 3), llm__wasm_fields(w, j, 1), 2), 4);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q4_k(const uint8_t *w, uint32_t j) {
    return llm__wasm_fields(w + 16 + j / 2 * 32, j % 2 * 4, 15);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q5_k(const uint8_t *w, uint32_t j) {
    return llm__wasm_with(llm__wasm_fields(w + 48 + j / 2 * 32, j % 2 * 4, 15), llm__wasm_fields(w + 16, j, 1), 4);
}
LLM__WASM_INLINE llm__wasm_pair llm__wasm_q6_k(const uint8_t *w, uint32_t j) {
    const llm__wasm_pair low = llm__wasm_fields(w + j / 4 * 64 + j % 2 * 32, j % 4 / 2 * 4, 15);
    return llm__wasm_minus(llm__wasm_with(low, llm__wasm_fields(w + 128 + j / 4 * 32, j % 4 * 2, 3), 4), 32);
}

// ---- scales of four rows ----

LLM__WASM_INLINE v128_t llm__wasm_words(const llm__wasm_rows *w, size_t at) {
    return wasm_u32x4_make(llm__le32(w->at[0] + at), llm__le32(w->at[1] + at), llm__le32(w->at[2] + at), llm__le32(w->at[3] + at));
}
LLM__WASM_INLINE v128_t llm__wasm_halves(const llm__wasm_rows *w, size_t at) {
    return llm__v4_of_f16_wasm(wasm_u32x4_make(llm__le16(w->at[0] + at), llm__le16(w->at[1] + at),
                                               llm__le16(w->at[2] + at), llm__le16(w->at[3] + at)));
}
LLM__WASM_INLINE void llm__wasm_head(const llm__wasm_rows *w, llm__wasm_scales *s) {
    s->d = s->m = llm__wasm_halves(w, 0);                                   // no minima: defined, not used
}
LLM__WASM_INLINE void llm__wasm_two_f16(v128_t words, llm__wasm_scales *s) {
    s->d = llm__v4_of_f16_wasm(wasm_v128_and(words, wasm_i32x4_const_splat(0xffff)));
    s->m = llm__v4_of_f16_wasm(wasm_u32x4_shr(words, 16));
}
LLM__WASM_INLINE void llm__wasm_head_min(const llm__wasm_rows *w, llm__wasm_scales *s) { llm__wasm_two_f16(llm__wasm_words(w, 0), s); }
// 16 bytes of each row -> four words of which each lane is a row.
LLM__WASM_INLINE void llm__wasm_turned(const llm__wasm_rows *w, size_t at, v128_t to[4]) {
    const v128_t a = wasm_v128_load(w->at[0] + at), b = wasm_v128_load(w->at[1] + at);
    const v128_t c = wasm_v128_load(w->at[2] + at), d = wasm_v128_load(w->at[3] + at);
    const v128_t ab0 = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), ab2 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
    const v128_t cd0 = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), cd2 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
    to[0] = wasm_i64x2_shuffle(ab0, cd0, 0, 2); to[1] = wasm_i64x2_shuffle(ab0, cd0, 1, 3);
    to[2] = wasm_i64x2_shuffle(ab2, cd2, 0, 2); to[3] = wasm_i64x2_shuffle(ab2, cd2, 1, 3);
}
// Bits of each byte, moved down and kept where the mask is.
LLM__WASM_INLINE v128_t llm__wasm_low(v128_t v, uint32_t shift, int mask) {
    return wasm_v128_and(wasm_u32x4_shr(v, shift), llm__wasm_bytes(mask));
}
// Four bits at the bottom of each byte, two above them.
LLM__WASM_INLINE v128_t llm__wasm_six(v128_t low, v128_t high) { return wasm_v128_or(low, wasm_i32x4_shl(high, 4)); }

// d, dmin and the twelve bytes of llm__scale_min_k4 are the first 16.
LLM__WASM_INLINE void llm__wasm_super_k4(const llm__wasm_rows *w, llm__wasm_scales *s) {
    v128_t v[4];
    llm__wasm_turned(w, 0, v);
    llm__wasm_two_f16(v[0], s);
    s->m = wasm_f32x4_neg(s->m);
    s->sub[0] = llm__wasm_low(v[1], 0, 63);
    s->mn[0] = llm__wasm_low(v[2], 0, 63);
    s->sub[1] = llm__wasm_six(llm__wasm_low(v[3], 0, 15), llm__wasm_low(v[1], 6, 3));
    s->mn[1] = llm__wasm_six(llm__wasm_low(v[3], 4, 15), llm__wasm_low(v[2], 6, 3));
}
LLM__WASM_INLINE void llm__wasm_super_q2_k(const llm__wasm_rows *w, llm__wasm_scales *s) {
    v128_t v[4];
    uint32_t i;
    llm__wasm_turned(w, 0, v);
    llm__wasm_two_f16(llm__wasm_words(w, 80), s);
    s->m = wasm_f32x4_neg(s->m);
    for (i = 0; i < 4; i++) {
        s->sub[i] = llm__wasm_low(v[i], 0, 15);
        s->mn[i] = llm__wasm_low(v[i], 4, 15);
    }
}
// The twelve bytes of llm__q3_k_scale, then d: the last 14 of the block.
LLM__WASM_INLINE void llm__wasm_super_q3_k(const llm__wasm_rows *w, llm__wasm_scales *s) {
    const v128_t a = llm__wasm_words(w, 96), b = llm__wasm_words(w, 100), c = llm__wasm_words(w, 104);
    uint32_t i;
    s->d = s->m = llm__wasm_halves(w, 108);
    s->sub[0] = llm__wasm_six(llm__wasm_low(a, 0, 15), llm__wasm_low(c, 0, 3));
    s->sub[1] = llm__wasm_six(llm__wasm_low(b, 0, 15), llm__wasm_low(c, 2, 3));
    s->sub[2] = llm__wasm_six(llm__wasm_low(a, 4, 15), llm__wasm_low(c, 4, 3));
    s->sub[3] = llm__wasm_six(llm__wasm_low(b, 4, 15), llm__wasm_low(c, 6, 3));
    for (i = 0; i < 4; i++) s->sub[i] = wasm_i8x16_sub(s->sub[i], llm__wasm_bytes(32));
}
LLM__WASM_INLINE void llm__wasm_super_q6_k(const llm__wasm_rows *w, llm__wasm_scales *s) {
    llm__wasm_turned(w, 192, s->sub);
    s->d = s->m = llm__wasm_halves(w, 208);
}

// Small scale i of four rows.
LLM__WASM_INLINE v128_t llm__wasm_small(const v128_t *words, uint32_t i) {
    return wasm_i32x4_shr(wasm_i32x4_shl(words[i / 4], 24 - i % 4 * 8), 24);
}
LLM__WASM_INLINE llm__wasm_group llm__wasm_whole(const llm__wasm_scales *s, uint32_t j) {            // the block is the group
    llm__wasm_group g;
    (void)j;
    g.s = s->d; g.t = s->m;
    g.sub0 = g.sub1 = g.mn0 = g.mn1 = wasm_i32x4_const_splat(1);
    return g;
}
LLM__WASM_INLINE llm__wasm_group llm__wasm_scaled(const llm__wasm_scales *s, uint32_t j) {           // scale and minimum times six bits
    llm__wasm_group g = llm__wasm_whole(s, j);
    g.s = wasm_f32x4_mul(s->d, wasm_f32x4_convert_i32x4(llm__wasm_small(s->sub, j)));
    g.t = wasm_f32x4_mul(s->m, wasm_f32x4_convert_i32x4(llm__wasm_small(s->mn, j)));
    return g;
}
LLM__WASM_INLINE llm__wasm_group llm__wasm_halved(const llm__wasm_scales *s, uint32_t j) {
    llm__wasm_group g = llm__wasm_whole(s, j);
    g.sub0 = llm__wasm_small(s->sub, 2 * j);
    g.sub1 = llm__wasm_small(s->sub, 2 * j + 1);
    return g;
}
LLM__WASM_INLINE llm__wasm_group llm__wasm_halved_min(const llm__wasm_scales *s, uint32_t j) {       // sub-minima, too
    llm__wasm_group g = llm__wasm_halved(s, j);
    g.mn0 = llm__wasm_small(s->mn, 2 * j);
    g.mn1 = llm__wasm_small(s->mn, 2 * j + 1);
    return g;
}

// ---- the dots ----

LLM__WASM_INLINE llm__wasm_row llm__wasm_widen(llm__wasm_pair p) {
    llm__wasm_row r;
    r.k0 = wasm_i16x8_extend_low_i8x16(p.lo);  r.k8 = wasm_i16x8_extend_high_i8x16(p.lo);
    r.k16 = wasm_i16x8_extend_low_i8x16(p.hi); r.k24 = wasm_i16x8_extend_high_i8x16(p.hi);
    return r;
}
typedef struct llm__wasm_four { llm__wasm_row r0, r1, r2, r3; } llm__wasm_four;

LLM__WASM_INLINE v128_t llm__wasm_firsts(const llm__wasm_four *w, llm__wasm_row x) {
    return llm__wasm_fold(llm__wasm_first(w->r0, x), llm__wasm_first(w->r1, x), llm__wasm_first(w->r2, x), llm__wasm_first(w->r3, x));
}
LLM__WASM_INLINE v128_t llm__wasm_seconds(const llm__wasm_four *w, llm__wasm_row x) {
    return llm__wasm_fold(llm__wasm_second(w->r0, x), llm__wasm_second(w->r1, x), llm__wasm_second(w->r2, x), llm__wasm_second(w->r3, x));
}
LLM__WASM_INLINE v128_t llm__wasm_boths(const llm__wasm_four *w, llm__wasm_row x) {
    return llm__wasm_fold(llm__wasm_both(w->r0, x), llm__wasm_both(w->r1, x), llm__wasm_both(w->r2, x), llm__wasm_both(w->r3, x));
}
LLM__WASM_INLINE v128_t llm__wasm_add_term(v128_t acc, v128_t s, float da, v128_t sum) {
    return llm__v4_fma_wasm(wasm_f32x4_mul(s, wasm_f32x4_splat(da)), wasm_f32x4_convert_i32x4(sum), acc);
}
// One term of N4 for four rows and group b of a token.
LLM__WASM_INLINE v128_t llm__wasm_add_block(bool minima, bool halved, v128_t acc, const llm__wasm_four *w, const llm__wasm_group *g,
                                            const llm__acts *x, size_t b) {
    const int16_t first = x->s16[2 * b], second = x->s16[2 * b + 1];
    const llm__wasm_row a = llm__wasm_row_at(x->q + b * 32);
    acc = llm__wasm_add_term(acc, g->s, x->d[b], !halved ? llm__wasm_boths(w, a) :
                             wasm_i32x4_add(wasm_i32x4_mul(llm__wasm_firsts(w, a), g->sub0),
                                            wasm_i32x4_mul(llm__wasm_seconds(w, a), g->sub1)));
    if (!minima) return acc;
    return llm__wasm_add_term(acc, g->t, x->d[b], !halved ? wasm_i32x4_splat(first + second) :
                              wasm_i32x4_add(wasm_i32x4_mul(g->mn0, wasm_i32x4_splat(first)),
                                             wasm_i32x4_mul(g->mn1, wasm_i32x4_splat(second))));
}

// A term for each half, whose scales are s and t.
LLM__WASM_INLINE v128_t llm__wasm_add_halves(v128_t acc, const llm__wasm_four *w, const llm__wasm_group *g, const llm__acts *x, size_t b) {
    const llm__wasm_row a = llm__wasm_row_at(x->q + b * 32);
    acc = llm__wasm_add_term(acc, g->s, x->d[b], wasm_i32x4_mul(llm__wasm_firsts(w, a), g->sub0));
    return llm__wasm_add_term(acc, g->t, x->d[b], wasm_i32x4_mul(llm__wasm_seconds(w, a), g->sub1));
}

// ---- four rows x up to eight tokens ----

LLM__WASM_INLINE llm__wasm_rows llm__wasm_rows_at(const llm__tile *t, uint32_t row) {
    llm__wasm_rows w;
    uint32_t r;
    for (r = 0; r < LLM__WASM_ROWS; r++) w.at[r] = t->w + (size_t)LLM__MIN(row + r, t->n_rows - 1) * t->row_bytes;
    return w;
}
LLM__WASM_INLINE void llm__wasm_store(const llm__tile *t, uint32_t token, uint32_t row, v128_t acc) {
    float *out = t->out + (size_t)token * t->ld + row, part[LLM__WASM_ROWS];
    if (t->n_rows - row >= LLM__WASM_ROWS) {
        wasm_v128_store(out, acc);
        return;
    }
    wasm_v128_store(part, acc);
    memcpy(out, part, (t->n_rows - row) * sizeof *out);
}
LLM__WASM_INLINE void llm__wasm_tile4(const llm__wasm_type y, const llm__tile *t, uint32_t row, uint32_t token, uint32_t n) {
    const uint32_t n_groups = t->x->n / 32;
    llm__wasm_rows w = llm__wasm_rows_at(t, row);
    v128_t acc[LLM__TOKENS];
    uint32_t b, i, j;
    for (i = 0; i < n; i++) acc[i] = wasm_f32x4_const_splat(0.0f);
    for (b = 0; b < n_groups; b += y.groups) {
        llm__wasm_scales scales;
        y.scales(&w, &scales);
        for (j = 0; j < y.groups; j++) {
            const llm__wasm_group g = y.group(&scales, j);
            llm__wasm_four four;
            four.r0 = llm__wasm_widen(y.pair(w.at[0], j)); four.r1 = llm__wasm_widen(y.pair(w.at[1], j));
            four.r2 = llm__wasm_widen(y.pair(w.at[2], j)); four.r3 = llm__wasm_widen(y.pair(w.at[3], j));
            for (i = 0; i < n; i++)
                acc[i] = llm__wasm_add_block(y.minima, y.halved, acc[i], &four, &g, t->x, (size_t)(token + i) * n_groups + b + j);
        }
        for (i = 0; i < LLM__WASM_ROWS; i++) w.at[i] += y.block_bytes;
    }
    for (i = 0; i < n; i++) llm__wasm_store(t, token + i, row, acc[i]);
}
// One token by itself stays in registers.
LLM__WASM_INLINE void llm__wasm_matmul(const llm__wasm_type y, const llm__tile *t) {
    uint32_t row, token, n;
    for (token = 0; token < t->n_tokens; token += n) {
        n = LLM__MIN(t->n_tokens - token, (uint32_t)LLM__TOKENS);
        for (row = 0; row < t->n_rows; row += LLM__WASM_ROWS) {
            if (n == 1) llm__wasm_tile4(y, t, row, token, 1);
            else        llm__wasm_tile4(y, t, row, token, n);
        }
    }
}

// ---- any type: unpacked by its card, once for up to eight tokens ----

#define LLM__WASM_OF_FOUR(make, field) make(c[0].field, c[1].field, c[2].field, c[3].field)
LLM__WASM_INLINE llm__wasm_group llm__wasm_card_group(const llm__weights32 *c, bool two_scales) {
    llm__wasm_group g;
    g.s = LLM__WASM_OF_FOUR(wasm_f32x4_make, s[0]);
    g.t = two_scales ? LLM__WASM_OF_FOUR(wasm_f32x4_make, s[1]) : LLM__WASM_OF_FOUR(wasm_f32x4_make, t);
    g.sub0 = LLM__WASM_OF_FOUR(wasm_i32x4_make, sub[0]); g.sub1 = LLM__WASM_OF_FOUR(wasm_i32x4_make, sub[1]);
    g.mn0 = LLM__WASM_OF_FOUR(wasm_i32x4_make, mn[0]);   g.mn1 = LLM__WASM_OF_FOUR(wasm_i32x4_make, mn[1]);
    return g;
}
static void llm__wasm_card4(const llm__type_info *type, const llm__tile *t, uint32_t row, uint32_t token, uint32_t n) {
    const uint32_t n_groups = t->x->n / 32, per_block = type->block_weights / 32;
    const llm__wasm_rows w = llm__wasm_rows_at(t, row);
    v128_t acc[LLM__TOKENS];
    uint32_t b, i;
    for (i = 0; i < n; i++) acc[i] = wasm_f32x4_const_splat(0.0f);
    for (b = 0; b < n_groups; b++) {
        llm__weights32 c[LLM__WASM_ROWS];
        llm__wasm_four four;
        llm__wasm_group g;
        for (i = 0; i < LLM__WASM_ROWS; i++) type->unpack(w.at[i] + (size_t)(b / per_block) * type->block_bytes, b % per_block, &c[i]);
        four.r0 = llm__wasm_row_at(c[0].q); four.r1 = llm__wasm_row_at(c[1].q);
        four.r2 = llm__wasm_row_at(c[2].q); four.r3 = llm__wasm_row_at(c[3].q);
        g = llm__wasm_card_group(c, type->two_scales);
        for (i = 0; i < n; i++) {
            const size_t at = (size_t)(token + i) * n_groups + b;
            acc[i] = type->two_scales ? llm__wasm_add_halves(acc[i], &four, &g, t->x, at)
                                  : llm__wasm_add_block(type->minima, true, acc[i], &four, &g, t->x, at);
        }
    }
    for (i = 0; i < n; i++) llm__wasm_store(t, token + i, row, acc[i]);
}
static void llm__wasm_card(const llm__tile *t, int type) {
    uint32_t row, token;
    for (token = 0; token < t->n_tokens; token += LLM__TOKENS)
        for (row = 0; row < t->n_rows; row += LLM__WASM_ROWS)
            llm__wasm_card4(&llm__types[type], t, row, token, LLM__MIN(t->n_tokens - token, (uint32_t)LLM__TOKENS));
}

// ---- the overlay ----

#define LLM__X(name, gguf, weights, block, terms) static void block##_card_wasm(const llm__tile *t) { llm__wasm_card(t, LLM__##name); }
LLM__BLOCK_FORMATS(LLM__X)
#undef LLM__X

//    name         groups   scales of a block  of a group
#define LLM__WASM_FORMATS(X)                             \
    X(Q4_0, q4_0,  1, ONE,  head,        whole)          \
    X(Q4_1, q4_1,  1, ONE,  head_min,    whole)          \
    X(Q5_0, q5_0,  1, ONE,  head,        whole)          \
    X(Q5_1, q5_1,  1, ONE,  head_min,    whole)          \
    X(Q8_0, q8_0,  1, ONE,  head,        whole)          \
    X(Q2_K, q2_k,  8, TWO,  super_q2_k,  halved_min)     \
    X(Q3_K, q3_k,  8, TWO,  super_q3_k,  halved)         \
    X(Q4_K, q4_k,  8, ONE,  super_k4,    scaled)         \
    X(Q5_K, q5_k,  8, ONE,  super_k4,    scaled)         \
    X(Q6_K, q6_k,  8, TWO,  super_q6_k,  halved)

enum { LLM__WASM_ONE, LLM__WASM_TWO };           // sums of 32 columns, or of each half of them

#define LLM__X(NAME, name, groups_, sums, scales_, group_)                                                   \
    static void llm__matmul_##name##_wasm(const llm__tile *t) {                                              \
        llm__wasm_type y;                                                                                    \
        y.minima = llm__types[LLM__##NAME].minima; y.halved = LLM__WASM_##sums == LLM__WASM_TWO;             \
        y.block_bytes = sizeof(llm__##name); y.groups = groups_;                                             \
        y.pair = llm__wasm_##name; y.scales = llm__wasm_##scales_; y.group = llm__wasm_##group_;             \
        llm__wasm_matmul(y, t);                                                                              \
    }
LLM__WASM_FORMATS(LLM__X)
#undef LLM__X

static void llm__kernels_wasm(llm__kernels *k) {
    int type;
    llm__vectors_wasm(&k->v);
    k->rows_at_once = LLM__WASM_ROWS;
    for (type = 0; type < LLM__TYPE_COUNT; type++) k->accelerated[type] = true;
#define LLM__X(name, gguf, weights, block, terms) k->decode[LLM__##name] = k->prefill[LLM__##name] = block##_card_wasm;
    LLM__BLOCK_FORMATS(LLM__X)
#undef LLM__X
#define LLM__X(NAME, name, groups, sums, scales, group) k->decode[LLM__##NAME] = k->prefill[LLM__##NAME] = llm__matmul_##name##_wasm;
    LLM__WASM_FORMATS(LLM__X)
#undef LLM__X
}
#endif

// ---- which of them ---------------------------------------------------------------------------------------------------------

// Scratch per worker for any matrix, enough for every instruction set; 64-byte aligned.
static uint64_t llm__panel_bytes(void) {
#if LLM__HAS_AVX2
    return (sizeof(llm__x86_scratch) + 63u) & ~(size_t)63;
#elif LLM__HAS_NEON
    return (sizeof(llm__neon_scratch) + 63u) & ~(size_t)63;
#else
    return 64;
#endif
}

#define LLM__ISAS(X)                             \
    X(LLM_ISA_AUTO,         "automatic")         \
    X(LLM_ISA_SCALAR,       "scalar")            \
    X(LLM_ISA_AVX2,         "AVX2")              \
    X(LLM_ISA_AVX_VNNI,     "AVX-VNNI")          \
    X(LLM_ISA_AVX512_VNNI,  "AVX-512 VNNI")      \
    X(LLM_ISA_NEON,         "NEON")              \
    X(LLM_ISA_NEON_DOTPROD, "NEON dotprod")      \
    X(LLM_ISA_NEON_I8MM,    "NEON i8mm")         \
    X(LLM_ISA_WASM128,      "WASM SIMD128")      \
    X(LLM_ISA_RVV,          "RISC-V vector")

static const char *llm__isa_name(llm_isa isa) {
#define LLM__X(id, name) if (isa == id) return name;
    LLM__ISAS(LLM__X)
#undef LLM__X
    return "?";
}

static bool llm__isa_compiled(llm_isa isa) {
    switch (isa) {
    case LLM_ISA_SCALAR:       return true;
    case LLM_ISA_AVX2:         return LLM__HAS_AVX2;
    case LLM_ISA_AVX_VNNI:     return LLM__HAS_AVX_VNNI;
    case LLM_ISA_AVX512_VNNI:  return LLM__HAS_AVX512;
    case LLM_ISA_NEON: case LLM_ISA_NEON_DOTPROD: case LLM_ISA_NEON_I8MM: return LLM__HAS_NEON;
    case LLM_ISA_WASM128:      return LLM__HAS_WASM128;
    default:                   return false;
    }
}

// What of the instruction sets we use this CPU and system have beyond what the compiler may take for granted.
typedef struct llm__cpu { bool avx2, avx_vnni, avx512_vnni, dotprod, i8mm; } llm__cpu;

#if LLM__HAS_CPUID
static void llm__x86_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4]) {
#if LLM__MSVC
    __cpuidex((int *)r, (int)leaf, (int)sub);
#else
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
#endif
}
static uint32_t llm__x86_saved(void) {                                 // XCR0: the registers that the system saves
#if LLM__MSVC
    return (uint32_t)_xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile ("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
#endif
}
// Leaf 0 says which leaves exist (a limited virtual CPU may stop before 7); a
// system that does not save the upper halves of the registers (XGETBV) makes the instructions fault although the CPU has them.
static llm__cpu llm__cpu_detect(void) {
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29, leaf1 = fma | osxsave | avx | f16c;
    const uint32_t avx2 = 1u << 5, f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, avx512 = f | dq | bw | vl, vnni = 1u << 11;
    llm__cpu has = LLM__ZERO;
    uint32_t r[4], s[4], max, saved;
    llm__x86_cpuid(0, 0, r);
    max = r[0];
    if (max < 7) return has;
    llm__x86_cpuid(1, 0, r);
    if ((r[2] & leaf1) != leaf1) return has;
    saved = llm__x86_saved();
    llm__x86_cpuid(7, 0, r);
    has.avx2 = (saved & 0x06u) == 0x06u && (r[1] & avx2) != 0;
    has.avx512_vnni = has.avx2 && (saved & 0xe6u) == 0xe6u && (r[1] & avx512) == avx512 && (r[2] & vnni) != 0;
    if (r[0] < 1) return has;
    llm__x86_cpuid(7, 1, s);
    has.avx_vnni = has.avx2 && (s[0] & 1u << 4) != 0;
    return has;
}
#else
static llm__cpu llm__cpu_detect(void) {
    llm__cpu has = LLM__ZERO;
#if LLM__HAS_NEON
    has.dotprod = llm__os_arm_dotprod();
    has.i8mm = has.dotprod && llm__os_arm_i8mm();
#endif
    return has;
}
#endif

// AVX-VNNI also runs, in the other encoding, where only AVX-512 has the instruction.
static bool llm__isa_on(const llm__cpu *cpu, llm_isa isa) {
    switch (isa) {
    case LLM_ISA_SCALAR:       return true;
    case LLM_ISA_AVX2:         return cpu->avx2;
    case LLM_ISA_AVX_VNNI:     return cpu->avx_vnni || (LLM__HAS_AVX512 && cpu->avx512_vnni);
    case LLM_ISA_AVX512_VNNI:  return cpu->avx512_vnni;
    case LLM_ISA_NEON:         return LLM__ARM64;
    case LLM_ISA_NEON_DOTPROD: return cpu->dotprod;
    case LLM_ISA_NEON_I8MM:    return cpu->i8mm;
    case LLM_ISA_WASM128:      return LLM__HAS_WASM128;
    default:                   return false;
    }
}
static bool llm__isa_on_cpu(llm_isa isa) {
    const llm__cpu cpu = llm__cpu_detect();
    return llm__isa_on(&cpu, isa);
}

// The best first.
static llm_isa llm__isa_best(const llm__cpu *cpu, bool compiled) {
    static const llm_isa order[] = { LLM_ISA_AVX512_VNNI, LLM_ISA_AVX_VNNI, LLM_ISA_AVX2, LLM_ISA_NEON_I8MM, LLM_ISA_NEON_DOTPROD,
                                     LLM_ISA_NEON, LLM_ISA_WASM128 };
    size_t i;
    for (i = 0; i < LLM__COUNT(order); i++)
        if ((!compiled || llm__isa_compiled(order[i])) && llm__isa_on(cpu, order[i])) return order[i];
    return LLM_ISA_SCALAR;
}

// The probe of the memory reads with the widest loads of this CPU, whichever kernels are wished for: it measures the memory, not them.
static void llm__kernels_read_widest(llm__kernels *k, const llm__cpu *cpu) {
    llm__vectors v = k->v;
    const llm_isa best = llm__isa_best(cpu, true);
    (void)best;
#if LLM__HAS_AVX2
    if (best == LLM_ISA_AVX2 || best == LLM_ISA_AVX_VNNI) llm__vectors_avx2(&v);
#endif
#if LLM__HAS_AVX512
    if (best == LLM_ISA_AVX512_VNNI) llm__vectors_avx512(&v);
#endif
#if LLM__HAS_NEON
    llm__vectors_neon(&v);
#endif
#if LLM__HAS_WASM128
    llm__vectors_wasm(&v);
#endif
    k->v.sweep = v.sweep;
}

// Scalar everywhere, then what this CPU does better is laid over it.
static llm_result llm__kernels_pick(llm__kernels *k, llm_isa wanted, llm_error *e) {
    const llm__cpu cpu = llm__cpu_detect();
    const llm_isa isa = wanted == LLM_ISA_AUTO ? llm__isa_best(&cpu, true) : wanted;
    if (*llm__isa_name(isa) == '?') return llm__fail(e, LLM_BAD_ARG, "isa: %d is not a value of llm_isa", (int)isa);
    if (!llm__isa_compiled(isa)) return llm__fail(e, LLM_UNSUPPORTED, "%s is not part of this build", llm__isa_name(isa));
    if (!llm__isa_on(&cpu, isa)) return llm__fail(e, LLM_UNSUPPORTED, "%s is not available on this CPU or system", llm__isa_name(isa));
    k->isa = isa;
    k->sides = isa != LLM_ISA_SCALAR && isa != LLM_ISA_WASM128;
    llm__kernels_scalar(k);
#if LLM__HAS_AVX2
    if (isa != LLM_ISA_SCALAR) llm__kernels_avx2(k);
#endif
#if LLM__HAS_AVX512
    if (isa == LLM_ISA_AVX_VNNI) llm__kernels_evex(k);
    if (isa == LLM_ISA_AVX512_VNNI) llm__kernels_avx512(k);
#endif
#if LLM__HAS_AVX_VNNI
    if (isa == LLM_ISA_AVX_VNNI && cpu.avx_vnni) llm__kernels_avx_vnni(k);
#endif
#if LLM__HAS_NEON
    if (isa == LLM_ISA_NEON) llm__kernels_neon(k);
    if (isa == LLM_ISA_NEON_DOTPROD) llm__kernels_neon_dotprod(k);
    if (isa == LLM_ISA_NEON_I8MM) llm__kernels_neon_i8mm(k);
#endif
#if LLM__HAS_WASM128
    if (isa == LLM_ISA_WASM128) llm__kernels_wasm(k);
#endif
    llm__kernels_floats(k);
    llm__kernels_read_widest(k, &cpu);
    return llm__ok(e);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>ops      What the forward pass is made of: op(run, dst, src, weights, T) on arrays [T, n]. Work is shared out by rows of a matrix or
//            by tokens, never by parts of a sum, so the number of workers cannot show in a result. Knows nothing of architectures.

// One matrix of the model as the kernels see it, with what follows the product: scale and bias, or bias and scale (N6).
typedef struct llm__mat {
    int type;                          // compact id; LLM__TYPE_NONE: the tensor is absent
    uint32_t rows, cols;               // outputs, inputs
    size_t row_bytes;
    const uint8_t *data;
    const float *bias;                 // [rows] or NULL
    float scale;                       // 1 = none
    bool bias_first;                   // (W x + b) * s instead of (W x) * s + b
} llm__mat;

// One evaluation: who computes, with which kernels, and the flag that ends it early. Once *cancel is set every op returns soon with
// its output unfinished; the caller looks at the flag and drops everything.
typedef struct llm__run {
    llm__team *team;
    const llm__kernels *k;
    llm__atomic32 *cancel;
    uint8_t *scratch;                  // one part of scratch_bytes for each worker, 64-byte aligned
    size_t scratch_bytes;
} llm__run;

static bool llm__run_cancelled(const llm__run *r) { return llm__atomic_load(r->cancel) != 0; }
static void *llm__run_scratch(const llm__run *r, uint32_t worker) { return r->scratch + worker * r->scratch_bytes; }

// ---- by tokens ----

typedef void (*llm__token_fn)(const void *args, uint32_t token);
typedef struct llm__each { const llm__run *run; llm__token_fn fn; const void *args; llm__chunks chunks; } llm__each;

static void llm__each_job(void *arg, uint32_t worker) {
    llm__each *e = (llm__each *)arg;
    uint32_t begin, end;
    while (llm__chunks_take(&e->chunks, worker, &begin, &end) && !llm__run_cancelled(e->run))
        for (; begin < end; begin++) e->fn(e->args, begin);
}
// fn(args, 0 .. T-1). A few tokens are not worth waking anybody: a fork-join costs about as much as normalising one row.
static void llm__each_token(const llm__run *r, uint32_t T, llm__token_fn fn, const void *args) {
    llm__each e;
    uint32_t t;
    if (T < 4 || r->team->n == 1) {
        for (t = 0; t < T && !llm__run_cancelled(r); t++) fn(args, t);
        return;
    }
    e.run = r; e.fn = fn; e.args = args;
    llm__chunks_init(&e.chunks, r->team, T, 1);
    llm__team_run(r->team, llm__each_job, &e);
}

typedef struct llm__op_args {          // what the ops by token need, one struct for all
    const llm__vectors *v;
    float *y;
    const float *a, *b, *w;
    size_t n;
    float eps;
    llm__act act;
    llm__acts *acts;
} llm__op_args;

static void llm__rmsnorm_token(const void *p, uint32_t t) {
    const llm__op_args *o = (const llm__op_args *)p;
    o->v->rmsnorm(o->y + t * o->n, o->a + t * o->n, o->w, o->n, o->eps);
}
static void llm__op_rmsnorm(const llm__run *r, float *y, const float *x, const float *w, uint32_t n, float eps, uint32_t T) {
    llm__op_args o = LLM__ZERO;
    o.v = &r->k->v; o.y = y; o.a = x; o.w = w; o.n = n; o.eps = eps;
    llm__each_token(r, T, llm__rmsnorm_token, &o);
}

// One rounding of each value to int8 with a scale per 32 (N3), for matrices stored as integers; float matrices read x itself.
static void llm__quantize_token(const void *p, uint32_t t) {
    const llm__op_args *o = (const llm__op_args *)p;
    llm__acts *x = o->acts;
    o->v->quantize(x->f + t * o->n, o->n, x->q + t * o->n, x->d + t * (o->n / 32), x->s16 + t * (o->n / 16));
}
static void llm__side_group(const void *p, uint32_t g) { llm__acts_side((const llm__acts *)p, g); }
static void llm__op_input(const llm__run *r, llm__acts *acts, const float *x, uint32_t n, bool quantize, uint32_t T) {
    llm__op_args o = LLM__ZERO;
    acts->f = x; acts->n = n; acts->n_tokens = T;
    o.v = &r->k->v; o.n = n; o.acts = acts;
    if (!quantize) return;
    llm__each_token(r, T, llm__quantize_token, &o);
    if (T > LLM__FEW && r->k->sides) llm__each_token(r, (T + LLM__TOKENS - 1) / LLM__TOKENS, llm__side_group, acts);
}

static void llm__add_token(const void *p, uint32_t t) {
    const llm__op_args *o = (const llm__op_args *)p;
    o->v->add(o->y + t * o->n, o->a + t * o->n, o->n);
}
static void llm__op_add(const llm__run *r, float *y, const float *x, uint32_t n, uint32_t T) {
    llm__op_args o = LLM__ZERO;
    o.v = &r->k->v; o.y = y; o.a = x; o.n = n;
    llm__each_token(r, T, llm__add_token, &o);
}

static void llm__glu_token(const void *p, uint32_t t) {
    const llm__op_args *o = (const llm__op_args *)p;
    o->v->glu(o->y + t * o->n, o->a + t * o->n, o->b + t * o->n, o->n, o->act);
}
static void llm__op_glu(const llm__run *r, float *y, const float *gate, const float *up, uint32_t n, llm__act act, uint32_t T) {
    llm__op_args o = LLM__ZERO;
    o.v = &r->k->v; o.y = y; o.a = gate; o.b = up; o.n = n; o.act = act;
    llm__each_token(r, T, llm__glu_token, &o);
}

// ---- by rows ----

#define LLM__MAX_PRODUCTS 3            // q, k and v read the same input: one fork-join

typedef struct llm__product { const llm__mat *w; float *out; } llm__product;       // out [T, rows]

typedef struct llm__matmul_job {
    const llm__run *run;
    llm__product p[LLM__MAX_PRODUCTS];
    uint32_t last[LLM__MAX_PRODUCTS];             // last[i]: row groups of products 0 .. i
    uint32_t group;                               // rows that a kernel takes side by side
    const llm__acts *x;
    llm__chunks chunks;
} llm__matmul_job;

// Rows row .. row + n_rows - 1 of one product, for all tokens.
static void llm__matmul_rows(const llm__matmul_job *job, const llm__product *p, uint32_t row, uint32_t n_rows, uint32_t worker,
                             bool follows) {
    const llm__mat *w = p->w;
    const llm__kernels *k = job->run->k;
    uint32_t t;
    llm__tile tile;
    tile.w = w->data + (size_t)row * w->row_bytes;
    tile.row_bytes = w->row_bytes;
    tile.n_rows = n_rows;
    tile.x = job->x;
    tile.n_tokens = job->x->n_tokens;
    tile.out = p->out + row;
    tile.ld = w->rows;
    tile.panel = llm__run_scratch(job->run, worker);
    tile.follows = follows;
    (tile.n_tokens <= LLM__FEW ? k->decode : k->prefill)[w->type](&tile);
    if (w->scale == 1.0f && !w->bias) return;
    for (t = 0; t < tile.n_tokens; t++)
        k->v.affine(tile.out + t * tile.ld, w->scale, w->bias ? w->bias + row : NULL, n_rows, w->bias_first);
}

// A piece goes to the kernel in steps, between which a cancel is heard: 32 rows of 11008 columns for 512 tokens are 0.18 GMAC, 2 ms with
// AVX2 and 0.2 s with scalar kernels. A larger n_batch takes in proportion.
static void llm__matmul_work(void *arg, uint32_t worker) {
    llm__matmul_job *job = (llm__matmul_job *)arg;
    uint32_t begin, end, i, done = UINT32_MAX;
    const uint32_t step = (job->x->n_tokens <= LLM__FEW ? 512 : 32) / job->group;         // group <= 32
    while (llm__chunks_take(&job->chunks, worker, &begin, &end)) {
        while (begin < end) {
            uint32_t first, row, n_rows, rows_left, groups;
            if (llm__run_cancelled(job->run)) return;
            for (i = 0; begin >= job->last[i]; i++) { }
            first = i ? job->last[i - 1] : 0;
            row = (begin - first) * job->group;
            rows_left = job->p[i].w->rows - row;
            groups = LLM__MIN(LLM__MIN(end, job->last[i]) - begin, step);
            n_rows = LLM__MIN(rows_left, groups * job->group);
            llm__matmul_rows(job, &job->p[i], row, n_rows, worker, begin == done && begin != first);
            begin += groups;
            done = begin;
        }
    }
}

// out_i = W_i x for up to three matrices over one input; x holds the T tokens.
static void llm__op_matmul_n(const llm__run *r, const llm__product *p, uint32_t n, const llm__acts *x) {
    llm__matmul_job job;
    uint32_t i, groups = 0;
    job.run = r; job.x = x;
    job.group = r->k->rows_at_once;
    for (i = 0; i < n; i++) {
        job.p[i] = p[i];
        groups += (p[i].w->rows + job.group - 1) / job.group;
        job.last[i] = groups;
    }
    llm__chunks_init(&job.chunks, r->team, groups, 4);          // 32 rows where a group is 8: what a prefill kernel takes at a time
    llm__team_run(r->team, llm__matmul_work, &job);
}
static void llm__op_matmul(const llm__run *r, float *out, const llm__mat *w, const llm__acts *x) {
    llm__product p;
    p.w = w; p.out = out;
    llm__op_matmul_n(r, &p, 1, x);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>kv       Keys and values of past tokens, in pages of 64 positions that are allocated as the conversation grows: n_ctx is a limit,
//            never a reservation. Layers that see everything form one group, layers with a window another; a window group gives old
//            pages back. Knows layout and precision; knows nothing about attention maths.

#define LLM__SPAN      1024u         // positions: the unit in which attention is summed (N7)
#define LLM__KV_GROUPS 2

typedef struct llm__kv_group {
    uint32_t window;                   // positions a query may see, itself included; 0 = all
    uint64_t page_bytes;               // K and V of 64 positions of every layer in the group
    uint8_t **pages;                   // [cap]; NULL = not allocated yet, or given back
    size_t cap;
    uint32_t first;                    // pages before this one have been given back
    uint8_t *spare;                    // of reserved pages, those that hold nothing now: each begins with the address of the next
} llm__kv_group;

// Where one layer's keys and values lie inside its group's pages: K of all heads, then V; within a head as llm__attend wants it.
typedef struct llm__kv_layer {
    uint32_t group, n_heads;
    llm_kv_type k_type, v_type;
    size_t k_bytes, v_bytes;           // of one position of one head
    uint64_t k_at, v_at;               // byte offsets in the page
} llm__kv_layer;

typedef struct llm__kv {
    const llm__heap *heap;
    llm_kv_type type;
    llm__kv_group groups[LLM__KV_GROUPS];
    uint64_t bytes;                    // allocated now
    bool reserved;                     // all pages were taken at once, and stay
} llm__kv;

static void llm__kv_init(llm__kv *kv, const llm__heap *heap, llm_kv_type type) {
    memset(kv, 0, sizeof *kv);
    kv->heap = heap;
    kv->type = type;
}
// Bytes of one position of a head of n elements, scales included; and from one position to the next.
static size_t llm__kv_row_bytes(llm_kv_type type, uint32_t n) {
    return type == LLM_KV_Q8_0 ? (size_t)LLM__Q8_BLOCKS(n) * 34 : (size_t)n * (type == LLM_KV_F32 ? 4 : 2);
}
static size_t llm__kv_stride(llm_kv_type type, uint32_t n) {
    return type == LLM_KV_Q8_0 ? (size_t)LLM__Q8_BLOCKS(n) * 32 : llm__kv_row_bytes(type, n);
}
static llm__elem llm__kv_elem(llm_kv_type type) {
    return type == LLM_KV_F32 ? LLM__HOST_F32 : type == LLM_KV_F16 ? LLM__HOST_F16 : LLM__HOST_Q8;
}
static void llm__kv_spare(llm__kv_group *g, uint8_t *page) {
    memcpy(page, &g->spare, sizeof g->spare);
    g->spare = page;
}
static uint8_t *llm__kv_page(llm__kv *kv, llm__kv_group *g) {
    uint8_t *page = g->spare;
    if (page) { memcpy(&g->spare, page, sizeof g->spare); return page; }
    if (kv->reserved) return NULL;
    page = (uint8_t *)llm__alloc_bytes(kv->heap, g->page_bytes);
    if (page) kv->bytes += g->page_bytes;
    return page;
}
static void llm__kv_drop_page(llm__kv *kv, llm__kv_group *g, size_t p) {
    uint8_t *page = g->pages[p];
    if (!page) return;
    g->pages[p] = NULL;
    if (kv->reserved) { llm__kv_spare(g, page); return; }
    llm__free(kv->heap, page);
    kv->bytes -= g->page_bytes;
}
// Gives back the pages that hold none of the first n positions: what a rewind or a failure has left behind. n 0: the lists too.
static void llm__kv_trim(llm__kv *kv, size_t n) {
    uint32_t i;
    size_t p;
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        llm__kv_group *g = &kv->groups[i];
        for (p = (n + LLM__PAGE - 1) / LLM__PAGE; p < g->cap; p++) llm__kv_drop_page(kv, g, p);
        if (n) continue;
        llm__free(kv->heap, g->pages);
        g->pages = NULL;
        g->cap = 0;
    }
}
// Adds a layer to the group of its window and says where it lies. False: a third window size. rough: its keys do not bear 8 bits.
static bool llm__kv_add_layer(llm__kv *kv, llm__kv_layer *layer, uint32_t window, uint32_t n_heads, uint32_t dim_k, uint32_t dim_v,
                              bool rough) {
    llm__kv_group *g;
    uint32_t i;
    for (i = 0; i < LLM__KV_GROUPS; i++)
        if (kv->groups[i].page_bytes == 0 || kv->groups[i].window == window) break;
    if (i == LLM__KV_GROUPS) return false;
    g = &kv->groups[i];
    g->window = window;
    layer->group = i; layer->n_heads = n_heads;
    layer->v_type = kv->type;
    layer->k_type = kv->type == LLM_KV_Q8_0 && rough ? LLM_KV_F16 : kv->type;
    layer->k_bytes = llm__kv_row_bytes(layer->k_type, dim_k);
    layer->v_bytes = llm__kv_row_bytes(layer->v_type, dim_v);
    layer->k_at = g->page_bytes;
    layer->v_at = layer->k_at + (uint64_t)n_heads * LLM__PAGE * layer->k_bytes;
    g->page_bytes = layer->v_at + (uint64_t)n_heads * LLM__PAGE * layer->v_bytes;
    return true;
}

// Pages for positions begin .. end-1 in every group. On failure what was there before is still there. Reserved pages are as many as can
// be in use at a time, so those behind the end, which a rewind has left, are taken back first.
static bool llm__kv_reserve(llm__kv *kv, size_t begin, size_t end) {
    uint32_t i;
    size_t p, n_pages = (end + LLM__PAGE - 1) / LLM__PAGE;
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        llm__kv_group *g = &kv->groups[i];
        size_t old = g->cap;
        void *v = g->pages;
        if (!g->page_bytes) continue;
        if (!llm__grow(kv->heap, &v, &g->cap, n_pages, sizeof *g->pages)) return false;
        g->pages = (uint8_t **)v;
        if (g->cap > old) memset(g->pages + old, 0, (g->cap - old) * sizeof *g->pages);
        for (p = n_pages; kv->reserved && p < g->cap; p++) llm__kv_drop_page(kv, g, p);
        for (p = begin / LLM__PAGE; p < n_pages; p++) {
            if (g->pages[p]) continue;
            g->pages[p] = llm__kv_page(kv, g);
            if (!g->pages[p]) return false;
            // Sixteen positions are read together, whether all of them are there or not: let them be numbers.
            if (kv->type == LLM_KV_Q8_0) memset(g->pages[p], 0, (size_t)g->page_bytes);
        }
    }
    return true;
}

// Gives back the pages that no query from position n on can see, less 1024 positions so that a rewind is usually free.
static void llm__kv_retire(llm__kv *kv, size_t n) {
    uint32_t i;
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        llm__kv_group *g = &kv->groups[i];
        size_t keep = (size_t)g->window + LLM__SPAN;
        if (!g->window || n <= keep) continue;
        for (; (size_t)(g->first + 1) * LLM__PAGE <= n - keep; g->first++) llm__kv_drop_page(kv, g, g->first);
    }
}

// Where to go on after the first n positions: at n, or at 0 when pages that position n sees have been given back. Position 0 needs none,
// so the windows begin anew.
static size_t llm__kv_resume_at(llm__kv *kv, size_t n) {
    uint32_t i;
    bool lost = false;
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        const llm__kv_group *g = &kv->groups[i];
        size_t oldest = g->window && n >= g->window ? n - g->window + 1 : 0;       // first position that position n sees
        if (g->window && oldest < (size_t)g->first * LLM__PAGE) lost = true;
    }
    if (!lost) return n;
    for (i = 0; i < LLM__KV_GROUPS; i++) kv->groups[i].first = 0;
    return 0;
}

// Pages that n positions take, evaluated n_batch at a time: of a window, those that a batch and 1024 positions of rewinding keep alive.
static uint64_t llm__kv_pages_for(const llm__kv_group *g, uint64_t n, uint32_t n_batch) {
    const uint64_t pages = (n + LLM__PAGE - 1) / LLM__PAGE;
    const uint64_t window = ((uint64_t)g->window + LLM__SPAN + n_batch) / LLM__PAGE + 2;
    return !g->page_bytes ? 0 : g->window ? LLM__MIN(pages, window) : pages;
}
static uint64_t llm__kv_bytes_for(const llm__kv *kv, uint64_t n, uint32_t n_batch) {
    uint64_t bytes = 0;
    uint32_t i;
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        uint64_t group;
        if (!llm__mul(llm__kv_pages_for(&kv->groups[i], n, n_batch), kv->groups[i].page_bytes, &group) || !llm__add(bytes, group, &bytes))
            return UINT64_MAX;
    }
    return bytes;
}
// All of it at once, for n positions: measures with a base of NULL, then lays out.
static void llm__kv_layout(llm__kv *kv, llm__layout *a, size_t n, uint32_t n_batch) {
    uint32_t i;
    kv->reserved = true;
    kv->bytes = llm__kv_bytes_for(kv, n, n_batch);
    for (i = 0; i < LLM__KV_GROUPS; i++) {
        llm__kv_group *g = &kv->groups[i];
        const size_t n_pages = (size_t)llm__kv_pages_for(g, n, n_batch);
        uint8_t *all;
        size_t p;
        if (!g->page_bytes) continue;
        g->cap = (n + LLM__PAGE - 1) / LLM__PAGE;
        g->pages = LLM__CARVE(a, uint8_t *, g->cap);
        all = (uint8_t *)llm__carve_bytes(a, n_pages, g->page_bytes);
        if (!all) continue;
        memset(g->pages, 0, g->cap * sizeof *g->pages);
        for (p = n_pages; p-- > 0; ) llm__kv_spare(g, all + p * (size_t)g->page_bytes);
    }
}

// Head h's keys (values) in a page.
static uint8_t *llm__kv_keys(const llm__kv *kv, const llm__kv_layer *l, uint32_t h, size_t page) {
    return kv->groups[l->group].pages[page] + l->k_at + (uint64_t)h * LLM__PAGE * l->k_bytes;
}
static uint8_t *llm__kv_values(const llm__kv *kv, const llm__kv_layer *l, uint32_t h, size_t page) {
    return kv->groups[l->group].pages[page] + l->v_at + (uint64_t)h * LLM__PAGE * l->v_bytes;
}
// The n elements of position i of the page, rounded to the type (N7).
static void llm__kv_store(llm_kv_type type, const llm__vectors *v, uint8_t *head, size_t i, const float *src, uint32_t n,
                          uint64_t *saturated) {
    uint8_t *row = head + i * llm__kv_stride(type, n);
    if (type == LLM_KV_F32) memcpy(row, src, n * sizeof(float));
    else if (type == LLM_KV_F16) v->to_f16((uint16_t *)(void *)row, src, n, saturated);
    else v->to_q8((int8_t *)row + LLM__Q8_SCALE_BYTES(n), (uint16_t *)(void *)head + i, src, n, saturated);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>arch     An architecture is a row of data. Binding turns a directory of tensors into a network of named, shape-checked fields, so
//            that forward can trust every pointer. The names of architectures appear nowhere else.

enum {                                 // what an architecture has
    LLM__HALF_SPLIT = 1,               // rotary pairs (i, i + n/2) instead of (2i, 2i + 1)
    LLM__QK_NORM    = 2,               // RMS norm on each head of q and k
    LLM__POST_NORM  = 4,               // RMS norm on what attention and feed-forward return
    LLM__EMBD_SCALE = 8,               // embeddings times sqrt(n_embd)
    LLM__EXPERTS    = 16,              // feed-forward by experts: always
    LLM__EXPERTS_OR = 32,              //                          where the file has them
    LLM__FUSED_UP   = 64,              // ffn_up holds gate and up, one above the other
    LLM__TIED       = 128,             // no output matrix of its own
    LLM__SCORE_CAP  = 256,             // scores of attention go through cap * tanh(s / cap)
    LLM__LOGIT_CAP  = 512              // logits likewise; the row has the default, 0: only where the file has the key
};

typedef struct llm__arch {
    const char *name;
    uint32_t flags;
    llm__act act;
    uint32_t window, period;           // defaults: sliding window; every period-th layer sees everything (window 0: all do)
    float window_rope_base;            // rotary base of the window layers (0: as the others)
    float score_cap, logit_cap;        // default soft caps (0: none)
    uint32_t wide_scale_layers;        // the size with so many layers scales scores by (n_embd / n_head)^-1/2, not head_dim^-1/2
} llm__arch;

static const llm__arch llm__archs[] = {
    { "llama",    LLM__EXPERTS_OR,                                                          LLM__ACT_SILU, 0, 0, 0, 0, 0, 0 },
    { "qwen2",    LLM__HALF_SPLIT,                                                          LLM__ACT_SILU, 0, 0, 0, 0, 0, 0 },
    { "qwen3",    LLM__HALF_SPLIT | LLM__QK_NORM,                                           LLM__ACT_SILU, 0, 0, 0, 0, 0, 0 },
    { "qwen3moe", LLM__HALF_SPLIT | LLM__QK_NORM | LLM__EXPERTS,                            LLM__ACT_SILU, 0, 0, 0, 0, 0, 0 },
    { "phi3",     LLM__HALF_SPLIT | LLM__FUSED_UP,                                          LLM__ACT_SILU, 0, 0, 0, 0, 0, 0 },
    { "gemma",    LLM__HALF_SPLIT | LLM__EMBD_SCALE | LLM__TIED,                            LLM__ACT_GELU, 0, 0, 0, 0, 0, 0 },
    { "gemma2",   LLM__HALF_SPLIT | LLM__EMBD_SCALE | LLM__TIED | LLM__POST_NORM | LLM__SCORE_CAP | LLM__LOGIT_CAP,
                                                                                            LLM__ACT_GELU, 4096, 2, 0, 50.0f, 30.0f, 46 },
    { "gemma3",   LLM__HALF_SPLIT | LLM__EMBD_SCALE | LLM__QK_NORM | LLM__POST_NORM | LLM__LOGIT_CAP,
                                                                                            LLM__ACT_GELU, 1024, 6, 10000.0f, 0, 0, 62 },
};

typedef struct llm__rope {             // one set of rotary frequencies
    uint64_t *turns;                   // [n_pairs] 2^64 * frequency / (2 pi): the angle of position p is p * turns, wrapped (N8)
    float factor;                      // on cos and sin (1 = none)
} llm__rope;

typedef struct llm__layer {            // shapes: [rows, cols] of y = W x
    uint32_t n_head, n_head_kv, n_ff;
    uint32_t window;                   // 0 = sees everything
    uint32_t rope;                     // index of its frequencies
    float *attn_norm;                  // [n_embd]
    llm__mat wq, wk, wv;               // [n_head * dim_k, n_embd], [n_head_kv * dim_k, n_embd], [n_head_kv * dim_v, n_embd]
    bool rough_keys;                   // some have large biases
    float *q_norm, *k_norm;            // [dim_k] or NULL
    llm__mat wo;                       // [n_embd, n_head * dim_v]
    float *attn_post_norm;             // [n_embd] or NULL
    float *ffn_norm;                   // [n_embd]
    llm__mat gate, up, down;           // [n_ff, n_embd], [n_ff, n_embd], [n_embd, n_ff]; with experts: those of expert 0
    llm__mat router;                   // [n_expert, n_embd] or absent
    size_t gate_step, up_step, down_step;         // bytes from one expert's matrix to the next
    const float *gate_scales, *up_scales, *down_scales;   // [n_expert], or NULL where no expert has a scale
    float *ffn_post_norm;              // [n_embd] or NULL
} llm__layer;

typedef struct llm__net {
    const llm__arch *arch;
    uint32_t n_vocab, n_ctx_train, n_embd, n_layer, n_head, n_head_kv, n_ff;      // heads, n_ff: the largest of all layers
    uint32_t n_expert, n_expert_used, n_ff_expert;                               // 0: no experts; n_ff_expert 0: as n_ff
    uint32_t dim_k, dim_v, n_rot;      // head sizes; rotated part of each head
    uint32_t max_cols;                 // longest input of any matrix
    float eps, score_scale, score_cap, logit_cap, embd_scale, expert_scale;
    bool integers;                     // some matrix is stored as integers
    llm__rope rope[2], rope_long;      // all layers, window layers; long: for contexts beyond n_ctx_orig (longrope)
    uint32_t n_ctx_orig;
    llm__mat embd, output;             // [n_vocab, n_embd]
    float *output_norm;                // [n_embd]
    llm__layer *layers;
    float **vectors;                   // every norm and bias, to be freed
    size_t n_vectors, cap_vectors;
    uint64_t bytes_per_token;          // weights read to decode one token
} llm__net;

// ---- binding ----

typedef struct llm__binder {           // sticky: after the first failure nothing more happens
    const llm__gguf *g;
    const llm__heap *heap;
    llm__net *net;
    llm_error *err;
    llm_result result;
} llm__binder;

// The first failure counts; its sentence stays.
#if defined(LLM_NO_SENTENCES)
static void llm__bind_fail_code(llm__binder *b, llm_result code) { if (b->result == LLM_OK) b->result = llm__fail_code(b->err, code); }
#define llm__bind_fail(b, code, ...) (0 ? (void)llm__unsaid(__VA_ARGS__) : llm__bind_fail_code((b), (code)))
#else
static void llm__bind_fail(llm__binder *b, llm_result code, const char *format, ...) {
    va_list args;
    if (b->result != LLM_OK) return;
    b->result = code;
    if (!b->err) return;
    b->err->code = code;
    va_start(args, format);
    llm__format_args(b->err->text, sizeof b->err->text, format, args);
    va_end(args);
}
#endif

// "ARCH.suffix" in buf.
static const char *llm__bind_key(const llm__binder *b, char buf[96], const char *suffix) {
    llm__format(buf, 96, "%s.%s", b->net->arch->name, suffix);
    return buf;
}
static uint32_t llm__bind_u32(llm__binder *b, const char *suffix, uint32_t otherwise) {
    char key[96];
    if (b->result == LLM_OK) b->result = llm__gguf_u32(b->g, llm__bind_key(b, key, suffix), &otherwise, b->err);
    return otherwise;
}
static float llm__bind_f32(llm__binder *b, const char *suffix, float otherwise) {
    char key[96];
    float f = otherwise;
    if (b->result == LLM_OK) b->result = llm__gguf_f32(b->g, llm__bind_key(b, key, suffix), &f, b->err);
    if (b->result == LLM_OK && !llm__f32_is_finite(f)) llm__bind_fail(b, LLM_BAD_FILE, "key '%s' is not a finite number", key);
    return f;
}
// A count that divides or bounds a loop: present, and within 1 .. most.
static uint32_t llm__bind_count(llm__binder *b, const char *suffix, uint32_t most) {
    char key[96];
    uint32_t n = llm__bind_u32(b, suffix, 0);
    if (b->result == LLM_OK && (n == 0 || n > most))
        llm__bind_fail(b, LLM_BAD_FILE, "key '%s' is %u; it must be present and between 1 and %u", llm__bind_key(b, key, suffix), n, most);
    return n;
}
static uint32_t llm__bind_u32_at(llm__binder *b, const char *suffix, uint32_t layer, uint32_t otherwise) {
    char key[96];
    if (b->result == LLM_OK)
        b->result = llm__gguf_u32_at(b->g, llm__bind_key(b, key, suffix), layer, b->net->n_layer, &otherwise, b->err);
    return otherwise;
}

static const llm__gguf_tensor *llm__bind_find(const llm__binder *b, char name[96], int layer, const char *suffix) {
    if (layer < 0) llm__format(name, 96, "%s", suffix);
    else llm__format(name, 96, "blk.%d.%s", layer, suffix);
    return llm__gguf_tensor_find(b->g, llm__str_of(name));
}
// The tensor with exactly this shape ([d0] innermost), or NULL: absent and optional, or failed.
static const llm__gguf_tensor *llm__bind_tensor(llm__binder *b, int layer, const char *suffix, uint64_t d0, uint64_t d1,
                                                uint64_t d2, bool required) {
    char name[96];
    const llm__gguf_tensor *t;
    if (b->result != LLM_OK) return NULL;
    t = llm__bind_find(b, name, layer, suffix);
    if (!t) {
        if (required) llm__bind_fail(b, LLM_BAD_FILE, "tensor '%s' is missing, which architecture '%s' needs", name, b->net->arch->name);
        return NULL;
    }
    if (t->dims[3] != 1) {
        llm__bind_fail(b, LLM_BAD_FILE, "tensor '%s' is %U in its fourth dimension, expected 1", name, t->dims[3]);
        return NULL;
    }
    if (t->dims[0] != d0 || t->dims[1] != d1 || t->dims[2] != d2) {
        llm__bind_fail(b, LLM_BAD_FILE, "tensor '%s' has shape [%U, %U, %U], expected [%U, %U, %U]", name,
                       t->dims[0], t->dims[1], t->dims[2], d0, d1, d2);
        return NULL;
    }
    if (llm__types[t->type].left_out) {
        llm__bind_fail(b, LLM_UNSUPPORTED, "tensor '%s' is %s, which this build leaves out (%s)", name, llm__types[t->type].name,
                       llm__types[t->type].left_out);
        return NULL;
    }
    return t;
}
// Memory that lives as long as the network.
static float *llm__bind_floats(llm__binder *b, uint64_t n) {
    llm__net *net = b->net;
    void *list = net->vectors;
    float *p = NULL;
    if (llm__grow(b->heap, &list, &net->cap_vectors, net->n_vectors + 1, sizeof *net->vectors)) {
        net->vectors = (float **)list;
        p = LLM__NEW(b->heap, float, n);
    }
    if (p) net->vectors[net->n_vectors++] = p;
    else llm__bind_fail(b, LLM_NO_MEMORY, "no memory for a tensor of %U numbers", n);
    return p;
}
// A vector as aligned floats: norms and biases are small and used with every token, so they are copied. A directory alone (for a plan) has
// no data; ones pass every check.
static float *llm__bind_vector(llm__binder *b, int layer, const char *suffix, uint64_t n, bool required) {
    const llm__gguf_tensor *t = llm__bind_tensor(b, layer, suffix, n, 1, 1, required);
    float *p;
    uint64_t i;
    if (!t) return NULL;
    p = llm__bind_floats(b, n);
    if (p && t->data) llm__dequantize_row(t->type, t->data, p, (size_t)n);
    for (i = 0; p && !t->data && i < n; i++) p[i] = 1.0f;
    return p;
}
static void llm__bind_rows(llm__binder *b, llm__mat *m, const llm__gguf_tensor *t, uint64_t row, uint64_t rows) {
    uint64_t row_bytes = 0;
    llm__row_bytes(t->type, t->dims[0], &row_bytes);
    m->type = t->type;
    m->cols = (uint32_t)t->dims[0];
    m->rows = (uint32_t)rows;
    m->row_bytes = (size_t)row_bytes;
    m->data = t->data ? t->data + row * row_bytes : NULL;
    if (m->cols > b->net->max_cols) b->net->max_cols = m->cols;
    if (!llm__types[t->type].load) b->net->integers = true;
}
static void llm__bind_matrix(llm__binder *b, llm__mat *m, int layer, const char *suffix, uint64_t cols, uint64_t rows, bool required) {
    const llm__gguf_tensor *t = llm__bind_tensor(b, layer, suffix, cols, rows, 1, required);
    m->type = LLM__TYPE_NONE;
    if (!t) return;
    m->scale = 1.0f;
    llm__bind_rows(b, m, t, 0, rows);
    b->net->bytes_per_token += t->n_bytes;
}
// What may follow a product: "NAME.bias" [rows] and "NAME.scale" [1].
static void llm__bind_extras(llm__binder *b, llm__mat *m, int layer, const char *name, bool bias_first) {
    char suffix[64];
    const float *scale;
    if (b->result != LLM_OK || m->type == LLM__TYPE_NONE) return;
    llm__format(suffix, sizeof suffix, "%s.bias", name);
    m->bias = llm__bind_vector(b, layer, suffix, m->rows, false);
    llm__format(suffix, sizeof suffix, "%s.scale", name);
    scale = llm__bind_vector(b, layer, suffix, 1, false);
    if (scale) m->scale = *scale;
    m->bias_first = bias_first;
}

// ---- rotary frequencies ----

typedef struct llm__rope_scaling {
    bool yarn;
    double factor;                     // positions are divided by it (1 = none)
    double beta_fast, beta_slow;
    float attn_factor;
} llm__rope_scaling;

// YaRN (Peng et al. 2023, section 3.2): frequencies that turn more than beta_fast times within the original context are kept, those that
// turn fewer than beta_slow times are interpolated, with a ramp over the pair index between.
static double llm__yarn_index(const llm__net *net, double base, double turns) {
    return net->n_rot * llm__ln(net->n_ctx_orig / (turns * LLM__F64(6.283185307179586))) / (2.0 * llm__ln(base));
}
static double llm__floor(double x) { double n = (double)(int64_t)x; return n > x ? n - 1.0 : n; }

static double llm__yarn_frequency(const llm__net *net, const llm__rope_scaling *s, double base, uint32_t i, double f) {
    double low = llm__floor(llm__yarn_index(net, base, s->beta_fast));
    double high = -llm__floor(-llm__yarn_index(net, base, s->beta_slow));
    double span, ramp, between, kept;
    low = LLM__MAX(low, 0.0);
    high = LLM__MIN(high, net->n_rot - 1.0);
    span = LLM__MAX(high - low, LLM__F64(0.001));
    ramp = ((double)i - low) / span;
    ramp = 1.0 - LLM__MIN(1.0, LLM__MAX(0.0, ramp));
    between = f / s->factor * (1.0 - ramp);
    kept = f * ramp;
    return between + kept;
}

// divisors: one per pair (llama3's bands, longrope's factors), or NULL.
static void llm__bind_rope(llm__binder *b, llm__rope *rope, double base, const llm__rope_scaling *s, const float *divisors) {
    const llm__net *net = b->net;
    uint32_t i;
    if (b->result != LLM_OK) return;
    rope->turns = LLM__NEW(b->heap, uint64_t, net->n_rot / 2);
    if (!rope->turns) { llm__bind_fail(b, LLM_NO_MEMORY, "no memory for the rotary frequencies"); return; }
    for (i = 0; i < net->n_rot / 2; i++) {
        double f = llm__pow(base, -2.0 * i / net->n_rot);
        if (divisors) f /= (double)divisors[i];
        f = s->yarn ? llm__yarn_frequency(net, s, base, i, f) : f / s->factor;
        rope->turns[i] = f < 0.0 ? 0 - llm__turns(-f) : llm__turns(f);
    }
    rope->factor = s->attn_factor;
    if (s->yarn && s->factor > 1.0) {
        const double more = LLM__F64(0.1) * llm__ln(s->factor);
        rope->factor *= (float)(1.0 + more);
    }
}

// Factors that frequencies are divided by; NULL: the file has none of that name.
static const float *llm__bind_divisors(llm__binder *b, const char *name) {
    const float *d = llm__bind_vector(b, -1, name, b->net->n_rot / 2, false);
    uint32_t i;
    for (i = 0; d && i < b->net->n_rot / 2; i++)
        if (d[i] == 0.0f || !llm__f32_is_finite(d[i])) {
            llm__bind_fail(b, LLM_BAD_FILE, "tensor '%s' holds a zero or something that is not a number", name);
            break;
        }
    return d;
}

static void llm__bind_ropes(llm__binder *b) {
    llm__net *net = b->net;
    llm__rope_scaling s = LLM__ZERO, plain = LLM__ZERO;
    llm__str type = LLM__ZERO;
    char key[96];
    double base = (double)llm__bind_f32(b, "rope.freq_base", 10000.0f), window_base;
    float factor = llm__bind_f32(b, "rope.scaling.factor", 0.0f);
    const float *freqs, *near_, *far_;
    if (b->result == LLM_OK) b->result = llm__gguf_str(b->g, llm__bind_key(b, key, "rope.scaling.type"), &type, b->err);
    net->n_ctx_orig = llm__bind_u32(b, "rope.scaling.original_context_length", net->n_ctx_train);
    if (!net->n_ctx_orig) net->n_ctx_orig = net->n_ctx_train;
    if (b->result == LLM_OK && type.n && !llm__str_is(type, "none") && !llm__str_is(type, "linear") && !llm__str_is(type, "yarn")
        && !llm__str_is(type, "longrope"))
        llm__bind_fail(b, LLM_UNSUPPORTED, "rotary scaling '%v' is not supported", &type);
    s.yarn = llm__str_is(type, "yarn");
    s.factor = factor > 0.0f && (s.yarn || type.n == 0 || llm__str_is(type, "linear")) ? (double)factor : 1.0;
    s.beta_fast = (double)llm__bind_f32(b, "rope.scaling.yarn_beta_fast", 32.0f);
    s.beta_slow = (double)llm__bind_f32(b, "rope.scaling.yarn_beta_slow", 1.0f);
    s.attn_factor = llm__bind_f32(b, "rope.scaling.attn_factor", 1.0f);
    if (s.attn_factor == 0.0f) s.attn_factor = 1.0f;
    plain.factor = 1.0; plain.attn_factor = s.attn_factor;
    if (b->result == LLM_OK && !(base > 1.0))
        llm__bind_fail(b, LLM_BAD_FILE, "key '%s' must be above 1", llm__bind_key(b, key, "rope.freq_base"));

    freqs = llm__bind_divisors(b, "rope_freqs.weight");
    near_ = llm__bind_divisors(b, "rope_factors_short.weight");
    far_  = llm__bind_divisors(b, "rope_factors_long.weight");
    if (b->result == LLM_OK) {
        llm__bind_rope(b, &net->rope[0], base, &s, freqs ? freqs : near_);
        if (far_ && !freqs) llm__bind_rope(b, &net->rope_long, base, &s, far_);
        window_base = (double)llm__bind_f32(b, "rope.freq_base_swa", net->arch->window_rope_base);
        if (net->arch->window_rope_base > 0.0f) {
            if (!(window_base > 1.0))
                llm__bind_fail(b, LLM_BAD_FILE, "key '%s' must be above 1", llm__bind_key(b, key, "rope.freq_base_swa"));
            llm__bind_rope(b, &net->rope[1], window_base, &plain, NULL);
        }
    }
}

// ---- layers ----

// One tensor that holds up to three matrices, their rows one above the other; bias and scale belong to the whole.
static void llm__bind_stack(llm__binder *b, int i, const char *name, uint64_t cols, llm__mat *const *m, const uint64_t *rows,
                            uint32_t n, bool bias_first) {
    const llm__gguf_tensor *t;
    llm__mat whole = LLM__ZERO;
    char suffix[64];
    uint64_t at = 0, total = 0;
    uint32_t k;
    for (k = 0; k < n; k++) total += rows[k];
    llm__format(suffix, sizeof suffix, "%s.weight", name);
    t = llm__bind_tensor(b, i, suffix, cols, total, 1, true);
    if (!t) return;
    whole.scale = 1.0f;
    llm__bind_rows(b, &whole, t, 0, total);
    llm__bind_extras(b, &whole, i, name, bias_first);
    for (k = 0; k < n; at += rows[k++]) {
        *m[k] = whole;
        llm__bind_rows(b, m[k], t, at, rows[k]);
        if (whole.bias) m[k]->bias = whole.bias + at;
    }
    b->net->bytes_per_token += t->n_bytes;
}
static void llm__bind_qkv(llm__binder *b, llm__layer *l, int i) {
    const llm__net *net = b->net;
    llm__mat *m[3];
    uint64_t rows[3];
    char name[96];
    m[0] = &l->wq; m[1] = &l->wk; m[2] = &l->wv;
    rows[0] = (uint64_t)l->n_head * net->dim_k;
    rows[1] = (uint64_t)l->n_head_kv * net->dim_k;
    rows[2] = (uint64_t)l->n_head_kv * net->dim_v;
    if (llm__bind_find(b, name, i, "attn_qkv.weight")) {
        llm__bind_stack(b, i, "attn_qkv", net->n_embd, m, rows, 3, false);
        return;
    }
    llm__bind_matrix(b, m[0], i, "attn_q.weight", net->n_embd, rows[0], true);
    llm__bind_matrix(b, m[1], i, "attn_k.weight", net->n_embd, rows[1], true);
    llm__bind_matrix(b, m[2], i, "attn_v.weight", net->n_embd, rows[2], true);
    llm__bind_extras(b, m[0], i, "attn_q", false);
    llm__bind_extras(b, m[1], i, "attn_k", false);
    llm__bind_extras(b, m[2], i, "attn_v", false);
}

static void llm__bind_ffn(llm__binder *b, llm__layer *l, int i) {
    const llm__net *net = b->net;
    if (net->arch->flags & LLM__FUSED_UP) {
        llm__mat *m[2];
        uint64_t rows[2];
        m[0] = &l->gate; m[1] = &l->up;
        rows[0] = rows[1] = l->n_ff;
        llm__bind_stack(b, i, "ffn_up", net->n_embd, m, rows, 2, true);
    } else {
        llm__bind_matrix(b, &l->gate, i, "ffn_gate.weight", net->n_embd, l->n_ff, true);
        llm__bind_matrix(b, &l->up, i, "ffn_up.weight", net->n_embd, l->n_ff, true);
        llm__bind_extras(b, &l->gate, i, "ffn_gate", true);
        llm__bind_extras(b, &l->up, i, "ffn_up", true);
    }
    llm__bind_matrix(b, &l->down, i, "ffn_down.weight", l->n_ff, net->n_embd, true);
    llm__bind_extras(b, &l->down, i, "ffn_down", true);
}

// All experts of one kind: "NAME.weight" [cols, rows, n_expert], and "NAME.scale" [n_expert] if the file has it, as files of NVFP4 do.
static size_t llm__bind_experts_of(llm__binder *b, llm__mat *m, const float **scales, int i, const char *name, uint64_t cols,
                                   uint64_t rows) {
    const llm__net *net = b->net;
    const llm__gguf_tensor *t;
    char suffix[64];
    llm__format(suffix, sizeof suffix, "%s.weight", name);
    t = llm__bind_tensor(b, i, suffix, cols, rows, net->n_expert, true);
    if (!t) return 0;
    m->scale = 1.0f;
    llm__bind_rows(b, m, t, 0, rows);
    b->net->bytes_per_token += t->n_bytes / net->n_expert * net->n_expert_used;
    llm__format(suffix, sizeof suffix, "%s.scale", name);
    *scales = llm__bind_vector(b, i, suffix, net->n_expert, false);
    return m->row_bytes * (size_t)rows;
}
static void llm__bind_experts(llm__binder *b, llm__layer *l, int i) {
    const llm__net *net = b->net;
    llm__bind_matrix(b, &l->router, i, "ffn_gate_inp.weight", net->n_embd, net->n_expert, true);
    l->gate_step = llm__bind_experts_of(b, &l->gate, &l->gate_scales, i, "ffn_gate_exps", net->n_embd, l->n_ff);
    l->up_step   = llm__bind_experts_of(b, &l->up,   &l->up_scales,   i, "ffn_up_exps",   net->n_embd, l->n_ff);
    l->down_step = llm__bind_experts_of(b, &l->down, &l->down_scales, i, "ffn_down_exps", l->n_ff, net->n_embd);
}

// Whether layer i has a window: from the file's list or period, else from the architecture's.
static bool llm__bind_has_window(llm__binder *b, uint32_t i) {
    const llm__net *net = b->net;
    char key[96];
    uint32_t period = net->arch->period, flag;
    const llm__gguf_kv *kv = llm__gguf_find(b->g, llm__str_of(llm__bind_key(b, key, "attention.sliding_window_pattern")));
    if (kv && kv->type == LLM__GGUF_ARRAY) {
        flag = llm__bind_u32_at(b, "attention.sliding_window_pattern", i, 0);
        return flag != 0;
    }
    period = llm__bind_u32(b, "attention.sliding_window_pattern", period);
    return period == 0 || i % period < period - 1;
}

// Keys with a bias of 100 in one element leave the other 31 of its block nothing finer than 0.8 when they go to 8 bits. Qwen2.5 Coder 0.5B
// has biases of 20 to 211 in six of its 24 layers, below 10 in the others. Its distributions move by 8e-2 (KL against F16) with all keys in
// 8 bits, by 7e-4 with those of the six left in F16; 6e-4 is what F32 moves them.
#define LLM__ROUGH_BIAS 16.0f

static bool llm__has_rough_keys(const llm__mat *wk) {
    uint32_t i;
    for (i = 0; wk->bias && i < wk->rows; i++)
        if (wk->bias[i] > LLM__ROUGH_BIAS || wk->bias[i] < -LLM__ROUGH_BIAS) return true;
    return false;
}
static void llm__bind_layer(llm__binder *b, uint32_t i, uint32_t window) {
    llm__net *net = b->net;
    llm__layer *l = &net->layers[i];
    const uint32_t flags = net->arch->flags;
    char key[96];
    l->n_head = llm__bind_u32_at(b, "attention.head_count", i, 0);
    l->n_head_kv = llm__bind_u32_at(b, "attention.head_count_kv", i, l->n_head);
    l->n_ff = llm__bind_u32_at(b, "feed_forward_length", i, 0);
    if (b->result != LLM_OK) return;
    if (net->n_expert && net->n_ff_expert) l->n_ff = net->n_ff_expert;
    if (!l->n_head || !l->n_head_kv || l->n_head % l->n_head_kv || l->n_head > 65536) {
        llm__bind_fail(b, LLM_BAD_FILE, "keys '%s' and head_count_kv: %u heads over %u key/value heads in layer %u is not possible",
                                    llm__bind_key(b, key, "attention.head_count"), l->n_head, l->n_head_kv, i);
        return;
    }
    if (!l->n_ff || l->n_ff > 1u << 24) {
        llm__bind_fail(b, LLM_BAD_FILE, "key '%s' is %u", llm__bind_key(b, key, net->n_expert && net->n_ff_expert
                                    ? "expert_feed_forward_length" : "feed_forward_length"), l->n_ff);
        return;
    }
    l->window = window && llm__bind_has_window(b, i) ? window : 0;
    l->rope = l->window && net->rope[1].turns ? 1 : 0;

    l->attn_norm = llm__bind_vector(b, (int)i, "attn_norm.weight", net->n_embd, true);
    llm__bind_qkv(b, l, (int)i);
    l->rough_keys = b->result == LLM_OK && llm__has_rough_keys(&l->wk);
    if (flags & LLM__QK_NORM) {
        l->q_norm = llm__bind_vector(b, (int)i, "attn_q_norm.weight", net->dim_k, true);
        l->k_norm = llm__bind_vector(b, (int)i, "attn_k_norm.weight", net->dim_k, true);
    }
    llm__bind_matrix(b, &l->wo, (int)i, "attn_output.weight", (uint64_t)l->n_head * net->dim_v, net->n_embd, true);
    llm__bind_extras(b, &l->wo, (int)i, "attn_output", false);
    if (flags & LLM__POST_NORM) {
        l->attn_post_norm = llm__bind_vector(b, (int)i, "post_attention_norm.weight", net->n_embd, true);
        l->ffn_post_norm  = llm__bind_vector(b, (int)i, "post_ffw_norm.weight", net->n_embd, true);
    }
    l->ffn_norm = llm__bind_vector(b, (int)i, "ffn_norm.weight", net->n_embd, true);
    l->router.type = LLM__TYPE_NONE;
    if (LLM__MOE && net->n_expert) llm__bind_experts(b, l, (int)i);
    else llm__bind_ffn(b, l, (int)i);
}

// ---- the network ----

static void llm__bind_sizes(llm__binder *b) {
    llm__net *net = b->net;
    const uint32_t flags = net->arch->flags;
    uint32_t heads0;
    char key[96];
    net->n_layer     = llm__bind_count(b, "block_count", 4096);
    net->n_ctx_train = llm__bind_count(b, "context_length", 0x7fffffff);
    net->n_embd      = llm__bind_count(b, "embedding_length", 1u << 20);
    net->eps         = llm__bind_f32(b, "attention.layer_norm_rms_epsilon", 1e-5f);
    heads0           = llm__bind_u32_at(b, "attention.head_count", 0, 0);
    if (b->result == LLM_OK && (heads0 == 0 || heads0 > 65536))
        llm__bind_fail(b, LLM_BAD_FILE, "key '%s' is %u", llm__bind_key(b, key, "attention.head_count"), heads0);
    if (b->result != LLM_OK) return;
    net->dim_k = llm__bind_u32(b, "attention.key_length", 0);
    net->dim_v = llm__bind_u32(b, "attention.value_length", 0);
    if (!net->dim_k) net->dim_k = net->n_embd / heads0;
    if (!net->dim_v) net->dim_v = net->n_embd / heads0;
    net->n_rot = llm__bind_u32(b, "rope.dimension_count", net->dim_k);
    if (!net->n_rot) net->n_rot = net->dim_k;
    if (b->result == LLM_OK && (!net->dim_k || net->dim_k > LLM__MAX_HEAD || !net->dim_v || net->dim_v > LLM__MAX_HEAD))
        llm__bind_fail(b, LLM_UNSUPPORTED, "keys '%s.attention.key_length' and value_length, or else embedding_length / head_count: heads "
                       "of %u and %u elements, where 1 to 512 are supported", net->arch->name, net->dim_k, net->dim_v);
    if (b->result == LLM_OK && (net->n_rot > net->dim_k || net->n_rot % 2))
        llm__bind_fail(b, LLM_BAD_FILE, "key '%s' is %u for heads of %u elements", llm__bind_key(b, key, "rope.dimension_count"),
                       net->n_rot, net->dim_k);
    if (flags & (LLM__EXPERTS | LLM__EXPERTS_OR)) {
        net->n_expert      = llm__bind_u32(b, "expert_count", 0);
        net->n_expert_used = llm__bind_u32(b, "expert_used_count", 0);
        net->expert_scale  = llm__bind_f32(b, "expert_weights_scale", 0.0f);
        net->n_ff_expert   = llm__bind_u32(b, "expert_feed_forward_length", 0);
        if (b->result == LLM_OK && (net->n_expert || (flags & LLM__EXPERTS))
            && (net->n_expert == 0 || net->n_expert > 4096 || net->n_expert_used == 0 || net->n_expert_used > net->n_expert
                || net->n_expert_used > 64))
            llm__bind_fail(b, LLM_BAD_FILE, "keys '%s.expert_count' and expert_used_count: %u experts of which %u are used is not possible",
                           net->arch->name, net->n_expert, net->n_expert_used);
        if (b->result == LLM_OK && net->n_expert && !LLM__MOE)
            llm__bind_fail(b, LLM_UNSUPPORTED, "the model has experts, which this build leaves out (LLM_NO_EXPERTS)");
    }
    if (flags & LLM__SCORE_CAP) net->score_cap = llm__bind_f32(b, "attn_logit_softcapping", net->arch->score_cap);
    if (flags & LLM__LOGIT_CAP) net->logit_cap = llm__bind_f32(b, "final_logit_softcapping", net->arch->logit_cap);
    net->score_scale = net->n_layer == net->arch->wide_scale_layers ? 1.0f / llm__sqrt((float)(net->n_embd / heads0))
                                                                    : 1.0f / llm__sqrt((float)net->dim_k);
    net->embd_scale = flags & LLM__EMBD_SCALE ? llm__sqrt((float)net->n_embd) : 1.0f;
}

static void llm__bind_ends(llm__binder *b) {
    llm__net *net = b->net;
    char name[96];
    const llm__gguf_tensor *embd = llm__bind_find(b, name, -1, "token_embd.weight");
    if (b->result != LLM_OK) return;
    if (embd && (embd->dims[1] == 0 || embd->dims[1] > 1u << 24)) {
        llm__bind_fail(b, LLM_BAD_FILE, "tensor 'token_embd.weight' has %U rows", embd->dims[1]);
        return;
    }
    net->n_vocab = embd ? (uint32_t)embd->dims[1] : 0;
    llm__bind_matrix(b, &net->embd, -1, "token_embd.weight", net->n_embd, net->n_vocab, true);
    net->output_norm = llm__bind_vector(b, -1, "output_norm.weight", net->n_embd, true);
    if (b->result != LLM_OK) return;
    net->output.type = LLM__TYPE_NONE;
    if (!(net->arch->flags & LLM__TIED)) llm__bind_matrix(b, &net->output, -1, "output.weight", net->n_embd, net->n_vocab, false);
    if (net->output.type == LLM__TYPE_NONE) {
        net->output = net->embd;
        net->bytes_per_token += net->embd.row_bytes;
    } else {
        net->bytes_per_token -= embd->n_bytes - net->embd.row_bytes;              // one row of the embedding, not the table
    }
    llm__bind_extras(b, &net->output, -1, "output", false);
}

static void llm__net_free(llm__net *net, const llm__heap *heap) {
    size_t i;
    for (i = 0; i < net->n_vectors; i++) llm__free(heap, net->vectors[i]);
    for (i = 0; i < 2; i++) llm__free(heap, net->rope[i].turns);
    llm__free(heap, net->rope_long.turns);
    llm__free(heap, net->vectors);
    llm__free(heap, net->layers);
    memset(net, 0, sizeof *net);
}

static llm_result llm__net_bind(llm__net *net, const llm__heap *heap, const llm__gguf *g, llm_error *err) {
    llm__binder b;
    llm__str name = LLM__ZERO;
    char tensor[96];
    uint32_t i, window;
    memset(net, 0, sizeof *net);
    memset(&b, 0, sizeof b);
    b.g = g; b.heap = heap; b.net = net; b.err = err;
    b.result = llm__gguf_str(g, "general.architecture", &name, err);
    if (b.result != LLM_OK) return b.result;
    if (!name.n) return llm__fail(err, LLM_BAD_FILE, "key 'general.architecture' is missing");
    for (i = 0; i < LLM__COUNT(llm__archs); i++)
        if (llm__str_is(name, llm__archs[i].name)) net->arch = &llm__archs[i];
    if (!net->arch) return llm__fail(err, LLM_UNSUPPORTED, "architecture '%v' is not supported", &name);

    llm__bind_sizes(&b);
    llm__bind_ends(&b);
    llm__bind_ropes(&b);
    window = net->arch->period ? llm__bind_u32(&b, "attention.sliding_window", net->arch->window) : 0;
    window = LLM__MIN(window, 0x7fffffffu);
    // Every layer has tensors, so a count beyond theirs asks for no memory; and a count below would answer nonsense.
    if (b.result == LLM_OK && llm__bind_find(&b, tensor, (int)net->n_layer, "attn_norm.weight"))
        llm__bind_fail(&b, LLM_BAD_FILE, "key '%s.block_count' is %u, and the file has tensor '%s'", net->arch->name, net->n_layer, tensor);
    if (b.result == LLM_OK && net->n_layer > g->n_tensors)
        llm__bind_fail(&b, LLM_BAD_FILE, "key '%s.block_count' is %u, and the file has %u tensors", net->arch->name, net->n_layer,
                       g->n_tensors);
    if (b.result == LLM_OK) {
        net->layers = (llm__layer *)llm__alloc_zero(heap, net->n_layer, sizeof(llm__layer));
        if (!net->layers) b.result = llm__fail(err, LLM_NO_MEMORY, "no memory for %u layers", net->n_layer);
    }
    for (i = 0; b.result == LLM_OK && i < net->n_layer; i++) {
        llm__bind_layer(&b, i, window);
        net->n_head    = LLM__MAX(net->n_head, net->layers[i].n_head);
        net->n_head_kv = LLM__MAX(net->n_head_kv, net->layers[i].n_head_kv);
        net->n_ff      = LLM__MAX(net->n_ff, net->layers[i].n_ff);
    }
    if (b.result != LLM_OK) llm__net_free(net, heap);
    return b.result;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>forward  Tokens in, logits out. One path for prefill and decode: decode is T == 1. Knows the order of the ops and nothing about
//            stored types, instruction sets or names of architectures; what differs between models is an optional tensor or a number.

typedef struct llm__state {            // what one context computes with
    const llm__net *net;
    const llm__kernels *k;
    const llm__heap *heap;
    uint32_t n_batch, n_workers, n_ctx;
    llm__kv kv;
    llm__kv_layer *kv_layers;          // [n_layer]
    const llm__rope *ropes[2];
    llm__atomic32 f16_saturated;

    void *scratch;                     // one allocation, laid out by llm__state_layout
    uint64_t scratch_bytes;
    uint64_t least;                    // bytes before the logits at least: what else is done there between two evaluations takes so many
    float *x, *xn;                     // [n_batch, n_embd] the residual stream; its normed copy and what a block adds to it
    float *q, *key, *value, *att;      // [n_batch, heads * head size]
    float *gate, *up;                  // [n_batch, n_ff], in the place of q .. att: never needed together
    llm__acts in;                      // the input of the next matrix, as integers
    float *cos_sin[2];                 // [n_batch, n_rot / 2, 2]
    uint32_t n_split;                  // spans that are shared out at a time: LLM__SPLIT, or all that n_ctx has
    llm__attn_part *parts;             // [n_head, n_split] of one token, when its spans are shared out, and their o
    float *parts_o;
    llm__attn_part *sums;              // [n_head] what they are merged into
    float *router, *expert_out;        // [n_batch, n_expert], [n_batch * n_expert_used, n_embd]
    uint32_t *expert_id;               // [n_batch, n_expert_used], by rank
    float *expert_weight;              //      likewise
    uint32_t *expert_slots;            // [n_batch] slots (token * n_expert_used + rank) of the expert at work: one per token at most
    llm__acts expert_x, expert_in;     // the layer's input; the rows of it that one expert reads
    float *expert_y;                   // [n_batch, n_embd] what it returns
    uint8_t *workers;
    size_t worker_bytes;
    float *logits[2];                  // [n_vocab] twice: a failed evaluation leaves the last good one alone
    uint32_t good;                     // which one
} llm__state;

#define LLM__QUERY_TILE 16u                  // queries that read keys and values together

#define LLM__SPLIT 16u                 // spans that are shared out at a time

static void llm__carve_acts(llm__layout *a, llm__acts *x, uint64_t T, uint64_t n, bool floats) {
    if (floats) x->f = LLM__CARVE(a, float, T * n);
    x->q = LLM__CARVE(a, int8_t, T * n);
    x->d = LLM__CARVE(a, float, T * (n / 32 + 1));
    x->s16 = LLM__CARVE(a, int16_t, T * (n / 16 + 1));
    x->side = LLM__CARVE(a, llm__side, (T + LLM__TOKENS - 1) / LLM__TOKENS * (n / 32));
}

static bool llm__takes_integers(const llm__mat *w) { return llm__types[w->type].load == NULL; }

// A worker's scratch for attention: a part of every query of a tile, then what integer keys and values need.
static uint64_t llm__attend_bytes(const llm__state *s) {
    return (uint64_t)LLM__QUERY_TILE * s->net->dim_v * sizeof(float) + (s->kv.type == LLM_KV_Q8_0 ? sizeof(llm__attend_q8) : 0);
}

// The list of all scratch: measures with base NULL, then lays out.
static bool llm__state_layout(llm__state *s, uint8_t *base) {
    const llm__net *net = s->net;
    const uint64_t T = s->n_batch, heads = net->n_head, kv_heads = net->n_head_kv;
    const uint64_t spans = s->n_ctx > LLM__SPAN ? LLM__MIN(LLM__SPLIT, (s->n_ctx - 1) / LLM__SPAN + 1) : 0;   // one is never shared out
    const uint64_t nq = heads * net->dim_k, nk = kv_heads * net->dim_k, nv = kv_heads * net->dim_v, no = heads * net->dim_v;
    llm__layout a = LLM__ZERO;
    float *shared;
    uint32_t i;
    s->n_split = (uint32_t)spans;
    a.base = base;
    s->x  = LLM__CARVE(&a, float, T * net->n_embd);
    s->xn = LLM__CARVE(&a, float, T * net->n_embd);
    shared = LLM__CARVE(&a, float, T * LLM__MAX(nq + nk + nv + no, 2ull * net->n_ff));
    if (base) {
        s->q = shared; s->key = s->q + T * nq; s->value = s->key + T * nk; s->att = s->value + T * nv;
        s->gate = shared; s->up = s->gate + T * net->n_ff;
    }
    llm__carve_acts(&a, &s->in, T, net->integers ? net->max_cols : 0, false);
    for (i = 0; i < 2; i++)
        if (s->ropes[i]) s->cos_sin[i] = LLM__CARVE(&a, float, T * net->n_rot);
    s->parts   = LLM__CARVE(&a, llm__attn_part, heads * spans);
    s->parts_o = LLM__CARVE(&a, float, heads * spans * net->dim_v);
    s->sums    = LLM__CARVE(&a, llm__attn_part, heads);
    if (LLM__MOE && net->n_expert) {
        s->router        = LLM__CARVE(&a, float, T * net->n_expert);
        s->expert_out    = LLM__CARVE(&a, float, T * net->n_expert_used * net->n_embd);
        s->expert_id     = LLM__CARVE(&a, uint32_t, T * net->n_expert_used);
        s->expert_weight = LLM__CARVE(&a, float, T * net->n_expert_used);
        s->expert_slots  = LLM__CARVE(&a, uint32_t, T);
        s->expert_y      = LLM__CARVE(&a, float, T * net->n_embd);
        llm__carve_acts(&a, &s->expert_x, T, net->n_embd, false);
        llm__carve_acts(&a, &s->expert_in, T, net->n_embd, true);
    }
    s->worker_bytes = (size_t)((LLM__MAX(llm__panel_bytes(), llm__attend_bytes(s)) + 63) & ~63ull);
    s->workers = LLM__CARVE(&a, uint8_t, (uint64_t)s->worker_bytes * s->n_workers);
    a.used = LLM__MAX(a.used, s->least);
    for (i = 0; i < 2; i++) s->logits[i] = LLM__CARVE(&a, float, net->n_vocab);
    s->scratch_bytes = a.used;
    return !a.overflow;
}

// Back to what the first n positions need between two evaluations. The logits go with the scratch. What was reserved stays.
static void llm__state_trim(llm__state *s, size_t n) {
    if (s->kv.reserved) return;
    llm__kv_trim(&s->kv, n);
    llm__free(s->heap, s->scratch);
    s->scratch = NULL;
}
static void llm__state_free(llm__state *s) {
    llm__state_trim(s, 0);
    llm__free(s->heap, s->kv_layers);
    s->kv_layers = NULL;
}

// Nothing large is allocated here: scratch comes with the first evaluation, pages as they are needed.
static llm_result llm__state_init(llm__state *s, const llm__net *net, const llm__kernels *k, const llm__heap *heap, uint32_t n_ctx,
                                  uint32_t n_batch, uint32_t n_workers, llm_kv_type kv_type, llm_error *e) {
    uint32_t i;
    memset(s, 0, sizeof *s);
    s->net = net; s->k = k; s->heap = heap;
    s->n_ctx = n_ctx; s->n_batch = n_batch; s->n_workers = n_workers;
    s->ropes[0] = net->rope_long.turns && n_ctx > net->n_ctx_orig ? &net->rope_long : &net->rope[0];
    s->ropes[1] = net->rope[1].turns ? &net->rope[1] : NULL;
    llm__kv_init(&s->kv, heap, kv_type);
    s->kv_layers = LLM__NEW(heap, llm__kv_layer, net->n_layer);
    if (!s->kv_layers) return llm__fail(e, LLM_NO_MEMORY, "no memory for %u layers", net->n_layer);
    for (i = 0; i < net->n_layer; i++)
        if (!llm__kv_add_layer(&s->kv, &s->kv_layers[i], net->layers[i].window, net->layers[i].n_head_kv, net->dim_k, net->dim_v,
                               net->layers[i].rough_keys)) {
            llm__state_free(s);
            return llm__fail(e, LLM_UNSUPPORTED, "more than two different attention windows in one model");
        }
    return LLM_OK;
}

static llm_result llm__state_scratch(llm__state *s, llm_error *e) {
    uint8_t *p;
    if (s->scratch) return LLM_OK;
    if (!llm__state_layout(s, NULL))
        return llm__fail(e, LLM_NO_MEMORY, "the scratch for n_batch %u passes the address space; lower n_batch", s->n_batch);
    p = (uint8_t *)llm__alloc_bytes(s->heap, s->scratch_bytes);
    if (!p) return llm__fail(e, LLM_NO_MEMORY, "no memory for %U bytes of scratch; lower n_batch", s->scratch_bytes);
    s->scratch = p;
    llm__state_layout(s, p);
    return LLM_OK;
}

// ---- one pass over the layers ----
//
// An eval is one call's wish, any number of tokens; a pass takes at most n_batch of them through all layers; a run is who computes, with
// which kernels; the state is what lives from one eval to the next.

typedef struct llm__pass {
    llm__state *s;
    llm__run run;
    const llm_token *tokens;           // [T]
    uint32_t T;
    uint32_t n_out;                    // the last so many tokens are wanted after the last layer
    size_t position;                   // of tokens[0]
    const llm__layer *layer;           // at work
    const llm__kv_layer *kv;
    uint32_t first;                    // first token that this layer's second half is wanted for
} llm__pass;

static void llm__embed_token(const void *p, uint32_t t) {
    const llm__pass *pass = (const llm__pass *)p;
    const llm__state *s = pass->s;
    const llm__mat *w = &s->net->embd;
    float *x = s->x + (size_t)t * s->net->n_embd;
    llm__dequantize_row(w->type, w->data + (size_t)pass->tokens[t] * w->row_bytes, x, s->net->n_embd);
    if (s->net->embd_scale != 1.0f) s->k->v.scale(x, s->net->embd_scale, s->net->n_embd);
}

// cos and sin of every pair at every position, once per pass for all layers (N8).
static void llm__angles_token(const void *p, uint32_t t) {
    const llm__pass *pass = (const llm__pass *)p;
    const llm__state *s = pass->s;
    uint32_t i, set, n = s->net->n_rot / 2;
    for (set = 0; set < 2; set++) {
        const llm__rope *rope = s->ropes[set];
        float *cs;
        if (!rope) continue;
        cs = s->cos_sin[set] + (size_t)t * n * 2;
        for (i = 0; i < n; i++, cs += 2) {
            llm__cos_sin((uint64_t)(pass->position + t) * rope->turns[i], &cs[0], &cs[1]);
            if (rope->factor != 1.0f) { cs[0] *= rope->factor; cs[1] *= rope->factor; }
        }
    }
}

static void llm__rotate_heads(const llm__pass *pass, float *x, const float *norm, uint32_t n_heads, const float *cos_sin) {
    const llm__net *net = pass->s->net;
    const llm__vectors *v = &pass->s->k->v;
    for (; n_heads; n_heads--, x += net->dim_k) {
        if (norm) v->rmsnorm(x, x, norm, net->dim_k, net->eps);
        v->rope(x, cos_sin, net->n_rot / 2, !(net->arch->flags & LLM__HALF_SPLIT));
    }
}
// Rotates one token's queries and keys and puts its keys and values into the cache.
static void llm__heads_token(const void *p, uint32_t t) {
    const llm__pass *pass = (const llm__pass *)p;
    const llm__state *s = pass->s;
    const llm__net *net = s->net;
    const llm__layer *L = pass->layer;
    const float *cs = s->cos_sin[L->rope] + (size_t)t * net->n_rot;
    float *key = s->key + (size_t)t * L->n_head_kv * net->dim_k;
    const float *value = s->value + (size_t)t * L->n_head_kv * net->dim_v;
    const size_t page = (pass->position + t) / LLM__PAGE, at = (pass->position + t) % LLM__PAGE;
    uint64_t saturated = 0;
    uint32_t h;
    llm__rotate_heads(pass, s->q + (size_t)t * L->n_head * net->dim_k, L->q_norm, L->n_head, cs);
    llm__rotate_heads(pass, key, L->k_norm, L->n_head_kv, cs);
    for (h = 0; h < L->n_head_kv; h++, key += net->dim_k, value += net->dim_v) {
        llm__kv_store(pass->kv->k_type, &s->k->v, llm__kv_keys(&s->kv, pass->kv, h, page), at, key, net->dim_k, &saturated);
        llm__kv_store(pass->kv->v_type, &s->k->v, llm__kv_values(&s->kv, pass->kv, h, page), at, value, net->dim_v, &saturated);
    }
    if (saturated) llm__atomic_add(&pass->s->f16_saturated, (uint32_t)saturated);
}

// ---- attention ----

// The queries of one kv head, over all tokens: query i is head i % group of the group, at token first + i / group. A tile of them reads
// keys and values together. The unit of work is (kv head, tile) or (kv head, tile, span).
typedef struct llm__attend_job {
    const llm__pass *pass;
    uint32_t group, n_tiles;           // heads per kv head; tiles per kv head
    uint32_t span, n_spans;            // spans shared out, from which on; n_spans 0: each unit does all spans of its queries
    llm__chunks chunks;
} llm__attend_job;

typedef struct llm__attend_query { uint32_t token, head, begin, end; bool started; llm__attn_part sum, next; } llm__attend_query;

// Positions that the query of token t sees: *begin .. *end - 1.
static void llm__visible(const llm__pass *pass, uint32_t t, uint32_t *begin, uint32_t *end) {
    *end = (uint32_t)(pass->position + t) + 1;
    *begin = pass->layer->window && *end > pass->layer->window ? *end - pass->layer->window : 0;
}

// One span for every query of the tile that sees some of it; a query's later spans are merged ascending (N7).
static void llm__attend_tile_span(const llm__pass *pass, uint32_t kv_head, uint32_t span, llm__attend_query *tile, uint32_t n,
                                  float *scratch) {
    const llm__state *s = pass->s;
    const llm__net *net = s->net;
    const void *k[LLM__SPAN / LLM__PAGE], *v[LLM__SPAN / LLM__PAGE];
    llm__query q[LLM__QUERY_TILE];
    llm__attend_query *seeing[LLM__QUERY_TILE];
    uint32_t i, page, n_q = 0, low = (span + 1) * LLM__SPAN, high = span * LLM__SPAN;
    llm__attend a = LLM__ZERO;
    for (i = 0; i < n; i++) {
        llm__attend_query *t = &tile[i];
        const uint32_t begin = LLM__MAX(t->begin, span * LLM__SPAN), end = LLM__MIN(t->end, (span + 1) * LLM__SPAN);
        if (begin >= end) continue;
        q[n_q].q = s->q + ((size_t)t->token * pass->layer->n_head + t->head) * net->dim_k;
        q[n_q].begin = begin;
        q[n_q].end = end;
        q[n_q].out = t->started ? &t->next : &t->sum;
        seeing[n_q++] = t;
        low = LLM__MIN(low, begin);
        high = LLM__MAX(high, end);
    }
    if (!n_q) return;
    a.page0 = low / LLM__PAGE;
    for (page = a.page0; page * LLM__PAGE < high; page++) {
        k[page - a.page0] = llm__kv_keys(&s->kv, pass->kv, kv_head, page);
        v[page - a.page0] = llm__kv_values(&s->kv, pass->kv, kv_head, page);
    }
    a.k = k; a.v = v;
    a.n_pages = page - a.page0;
    a.head_dim_k = net->dim_k; a.head_dim_v = net->dim_v;
    a.k_stride = llm__kv_stride(pass->kv->k_type, net->dim_k);
    a.v_stride = llm__kv_stride(pass->kv->v_type, net->dim_v);
    a.k_elem = llm__kv_elem(pass->kv->k_type);
    a.v_elem = llm__kv_elem(pass->kv->v_type);
    a.scale = net->score_scale;
    a.softcap = net->score_cap;
    a.q8 = (llm__attend_q8 *)(void *)(scratch + LLM__QUERY_TILE * net->dim_v);
    s->k->v.attend_group(&a, q, n_q);
    for (i = 0; i < n_q; i++) {
        if (seeing[i]->started) s->k->v.attend_merge(&seeing[i]->sum, &seeing[i]->next, net->dim_v);
        seeing[i]->started = true;
    }
}

// Queries first .. of one kv head: who they are, what they see, where their sums go.
static uint32_t llm__attend_tile(const llm__attend_job *job, uint32_t kv_head, uint32_t first, llm__attend_query *tile, float *scratch) {
    const llm__pass *pass = job->pass;
    const uint32_t dim = pass->s->net->dim_v, n = LLM__MIN(LLM__QUERY_TILE, (pass->T - pass->first) * job->group - first);
    uint32_t i;
    for (i = 0; i < n; i++) {
        llm__attend_query *t = &tile[i];
        t->token = pass->first + (first + i) / job->group;
        t->head = kv_head * job->group + (first + i) % job->group;
        t->started = false;
        llm__visible(pass, t->token, &t->begin, &t->end);
        t->sum.o = pass->s->att + ((size_t)(t->token - pass->first) * pass->layer->n_head + t->head) * dim;
        t->next.o = scratch + i * dim;
    }
    return n;
}

// One tile over all the spans that it sees.
static void llm__attend_whole(const llm__attend_job *job, uint32_t unit, float *scratch) {
    const llm__pass *pass = job->pass;
    const uint32_t kv_head = unit / job->n_tiles;
    llm__attend_query tile[LLM__QUERY_TILE];
    uint32_t i, low = UINT32_MAX, high = 0, span, n = llm__attend_tile(job, kv_head, unit % job->n_tiles * LLM__QUERY_TILE, tile, scratch);
    for (i = 0; i < n; i++) {
        low = LLM__MIN(low, tile[i].begin / LLM__SPAN);
        high = LLM__MAX(high, (tile[i].end - 1) / LLM__SPAN);
    }
    for (span = low; span <= high && !llm__run_cancelled(&pass->run); span++) llm__attend_tile_span(pass, kv_head, span, tile, n, scratch);
    if (llm__run_cancelled(&pass->run)) return;
    for (i = 0; i < n; i++) pass->s->k->v.attend_finish(&tile[i].sum, pass->s->net->dim_v);
}

// One tile over one span: a part that is merged later.
static void llm__attend_split(const llm__attend_job *job, uint32_t unit, float *scratch) {
    const llm__pass *pass = job->pass;
    const llm__state *s = pass->s;
    const uint32_t split = unit % job->n_spans, kv_head = unit / job->n_spans / job->n_tiles;
    llm__attend_query tile[LLM__QUERY_TILE];
    uint32_t i, n = llm__attend_tile(job, kv_head, unit / job->n_spans % job->n_tiles * LLM__QUERY_TILE, tile, scratch);
    for (i = 0; i < n; i++) tile[i].sum.o = s->parts_o + (size_t)(tile[i].head * s->n_split + split) * s->net->dim_v;
    llm__attend_tile_span(pass, kv_head, job->span + split, tile, n, scratch);
    for (i = 0; i < n; i++) s->parts[tile[i].head * s->n_split + split] = tile[i].sum;
}

static void llm__attend_work(void *arg, uint32_t worker) {
    llm__attend_job *job = (llm__attend_job *)arg;
    float *scratch = (float *)llm__run_scratch(&job->pass->run, worker);
    uint32_t unit, end;
    while (llm__chunks_take(&job->chunks, worker, &unit, &end))
        for (; unit < end && !llm__run_cancelled(&job->pass->run); unit++)
            if (job->n_spans) llm__attend_split(job, unit, scratch);
            else llm__attend_whole(job, unit, scratch);
}

// Merges the spans of this round, ascending, into what the rounds before have left.
static void llm__merge_spans(const llm__pass *pass, uint32_t n_spans, bool first) {
    const llm__state *s = pass->s;
    const uint32_t dim = s->net->dim_v;
    uint32_t head, i;
    for (head = 0; head < pass->layer->n_head; head++) {
        llm__attn_part *sum = &s->sums[head], *part = &s->parts[head * s->n_split];
        if (first) {
            *sum = part[0];
            sum->o = s->att + (size_t)head * dim;
            memcpy(sum->o, part[0].o, dim * sizeof(float));
        }
        for (i = first ? 1 : 0; i < n_spans; i++) s->k->v.attend_merge(sum, &part[i], dim);
    }
}

// att = attention of tokens first .. T-1 over the cache. One token at depth has few heads and many spans: then the spans are shared
// out as well, some at a time so that scratch does not grow with n_ctx.                            [T - first, n_head * dim_v]
static void llm__op_attend(const llm__pass *pass) {
    const uint32_t rest = pass->T - pass->first;
    const llm__state *s = pass->s;
    llm__attend_job job = LLM__ZERO;
    uint32_t begin, end, i, units;
    llm__visible(pass, pass->first, &begin, &end);
    job.pass = pass;
    job.group = pass->layer->n_head / pass->layer->n_head_kv;
    job.n_tiles = (rest * job.group + LLM__QUERY_TILE - 1) / LLM__QUERY_TILE;
    units = pass->layer->n_head_kv * job.n_tiles;
    begin /= LLM__SPAN;
    end = (end - 1) / LLM__SPAN + 1;
    if (rest > 1 || end - begin == 1) {
        llm__chunks_init(&job.chunks, pass->run.team, units, 1);
        llm__team_run(pass->run.team, llm__attend_work, &job);
        return;
    }
    for (job.span = begin; job.span < end && !llm__run_cancelled(&pass->run); job.span += job.n_spans) {
        job.n_spans = LLM__MIN(end - job.span, s->n_split);
        llm__chunks_init(&job.chunks, pass->run.team, units * job.n_spans, 1);
        llm__team_run(pass->run.team, llm__attend_work, &job);
        if (!llm__run_cancelled(&pass->run)) llm__merge_spans(pass, job.n_spans, job.span == begin);
    }
    for (i = 0; i < pass->layer->n_head && !llm__run_cancelled(&pass->run); i++) s->k->v.attend_finish(&s->sums[i], s->net->dim_v);
}

// ---- feed-forward ----

// out = down(act(gate(x)) * up(x))                                                                       [T, n_embd]
static void llm__ffn(const llm__pass *pass, const llm__mat *gate, const llm__mat *up, const llm__mat *down, const llm__acts *x,
                     float *out) {
    llm__state *s = pass->s;
    const llm__run *r = &pass->run;
    const uint32_t T = x->n_tokens;
    llm__product p[2];
    p[0].w = gate; p[0].out = s->gate;
    p[1].w = up;   p[1].out = s->up;
    llm__op_matmul_n(r, p, 2, x);                                                                                  // [T, n_ff] twice
    llm__op_glu(r, s->gate, s->gate, s->up, gate->rows, s->net->arch->act, T);
    llm__op_input(r, &s->in, s->gate, gate->rows, llm__takes_integers(down), T);
    llm__op_matmul(r, out, down, &s->in);                                                                          // [T, n_embd]
}

// Ranks the experts of one token: probability descending, ties to the lower id; weights sum to 1 (N6).
static void llm__route_token(const void *p, uint32_t t) {
    const llm__pass *pass = (const llm__pass *)p;
    const llm__state *s = pass->s;
    const llm__net *net = s->net;
    float *prob = s->router + (size_t)t * net->n_expert, sum = 0.0f;
    uint32_t *id = s->expert_id + (size_t)t * net->n_expert_used, i, r;
    float *weight = s->expert_weight + (size_t)t * net->n_expert_used;
    s->k->v.softmax(prob, net->n_expert);
    for (r = 0; r < net->n_expert_used; r++) {
        uint32_t best = net->n_expert;
        for (i = 0; i < net->n_expert; i++)                         // -1: taken. NaN compares with nothing: then the lowest id left
            if (prob[i] != -1.0f && (best == net->n_expert || prob[i] > prob[best])) best = i;
        id[r] = best;
        weight[r] = prob[best];
        sum += prob[best];
        prob[best] = -1.0f;
    }
    for (r = 0; r < net->n_expert_used; r++) {
        weight[r] = weight[r] / sum;
        if (net->expert_scale != 0.0f && net->expert_scale != 1.0f) weight[r] = weight[r] * net->expert_scale;
    }
}
// y = sum of the experts' outputs in rank order.
static void llm__combine_token(const void *p, uint32_t t) {
    const llm__pass *pass = (const llm__pass *)p;
    const llm__state *s = pass->s;
    const uint32_t n = s->net->n_embd, used = s->net->n_expert_used;
    float *y = s->xn + (size_t)t * n;
    uint32_t r;
    memset(y, 0, n * sizeof(float));
    for (r = 0; r < used; r++)
        s->k->v.add_scaled(y, s->expert_out + ((size_t)t * used + r) * n, s->expert_weight[(size_t)t * used + r], n);
}
// Copies the rows of tokens slots[i] / used out of x, so that one expert reads its tokens side by side.
static void llm__gather(llm__acts *to, const llm__acts *x, const uint32_t *slots, uint32_t n_slots, uint32_t used, bool integers,
                        bool sides) {
    const size_t n = x->n;
    float *f = (float *)(uintptr_t)to->f;
    uint32_t i;
    to->n = x->n;
    to->n_tokens = n_slots;
    for (i = 0; i < n_slots; i++) {
        const size_t t = slots[i] / used;
        memcpy(f + i * n, x->f + t * n, n * sizeof(float));
        if (!integers) continue;
        memcpy(to->q + i * n, x->q + t * n, n);
        memcpy(to->d + i * (n / 32), x->d + t * (n / 32), n / 32 * sizeof(float));
        memcpy(to->s16 + i * (n / 16), x->s16 + t * (n / 16), n / 16 * sizeof(int16_t));
    }
    for (i = 0; integers && sides && n_slots > LLM__FEW && i < n_slots; i += LLM__TOKENS) llm__acts_side(to, i / LLM__TOKENS);
}
// One expert over the tokens that chose it; its outputs go to their slots.
static void llm__expert(const llm__pass *pass, uint32_t e, bool integers) {
    llm__state *s = pass->s;
    const llm__layer *L = pass->layer;
    const uint32_t used = s->net->n_expert_used, n = s->net->n_embd;
    llm__mat gate = L->gate, up = L->up, down = L->down;
    uint32_t i, n_slots = 0;
    for (i = 0; i < s->expert_x.n_tokens * used; i++)
        if (s->expert_id[i] == e) s->expert_slots[n_slots++] = i;
    if (!n_slots) return;
    gate.data += e * L->gate_step; up.data += e * L->up_step; down.data += e * L->down_step;
    if (L->gate_scales) gate.scale = L->gate_scales[e];
    if (L->up_scales) up.scale = L->up_scales[e];
    if (L->down_scales) down.scale = L->down_scales[e];
    llm__gather(&s->expert_in, &s->expert_x, s->expert_slots, n_slots, used, integers, s->k->sides);
    llm__ffn(pass, &gate, &up, &down, &s->expert_in, s->expert_y);
    for (i = 0; i < n_slots; i++) memcpy(s->expert_out + (size_t)s->expert_slots[i] * n, s->expert_y + (size_t)i * n, n * sizeof(float));
}
// xn = the chosen experts' outputs, weighted and summed                                                          [T, n_embd]
static void llm__experts(const llm__pass *pass, uint32_t T) {
    llm__state *s = pass->s;
    const bool integers = llm__takes_integers(&pass->layer->gate) || llm__takes_integers(&pass->layer->up);
    uint32_t e;
    llm__op_input(&pass->run, &s->expert_x, s->xn, s->net->n_embd, integers || llm__takes_integers(&pass->layer->router), T);
    llm__op_matmul(&pass->run, s->router, &pass->layer->router, &s->expert_x);                                     // [T, n_expert]
    llm__each_token(&pass->run, T, llm__route_token, pass);
    for (e = 0; e < s->net->n_expert && !llm__run_cancelled(&pass->run); e++) llm__expert(pass, e, integers);
    llm__each_token(&pass->run, T, llm__combine_token, pass);
}

// ---- the layers ----

static void llm__fwd_layer(llm__pass *pass, uint32_t il) {
    llm__state *s = pass->s;
    const llm__net *net = s->net;
    const llm__run *r = &pass->run;
    const llm__layer *L = &net->layers[il];
    const uint32_t n = net->n_embd, T = pass->T;
    uint32_t rest;                                                  // tokens that go on after the keys and values are stored
    float *x;                                                       // their residual stream
    llm__product qkv[3];
    pass->layer = L;
    pass->kv = &s->kv_layers[il];
    pass->first = il + 1 == net->n_layer ? T - pass->n_out : 0;
    rest = T - pass->first;
    x = s->x + (size_t)pass->first * n;

    llm__op_rmsnorm(r, s->xn, s->x, L->attn_norm, n, net->eps, T);                                      // [T, n_embd]
    llm__op_input(r, &s->in, s->xn, n, llm__takes_integers(&L->wq) || llm__takes_integers(&L->wk) || llm__takes_integers(&L->wv), T);
    qkv[0].w = &L->wq; qkv[0].out = s->q;
    qkv[1].w = &L->wk; qkv[1].out = s->key;
    qkv[2].w = &L->wv; qkv[2].out = s->value;
    llm__op_matmul_n(r, qkv, 3, &s->in);                                                                // [T, heads * head size]
    llm__each_token(r, T, llm__heads_token, pass);                                                      // norms, rope, cache
    if (!rest) return;

    llm__op_attend(pass);                                                                               // [rest, n_head * dim_v]
    llm__op_input(r, &s->in, s->att, L->n_head * net->dim_v, llm__takes_integers(&L->wo), rest);
    llm__op_matmul(r, s->xn, &L->wo, &s->in);                                                           // [rest, n_embd]
    if (L->attn_post_norm) llm__op_rmsnorm(r, s->xn, s->xn, L->attn_post_norm, n, net->eps, rest);
    llm__op_add(r, x, s->xn, n, rest);

    llm__op_rmsnorm(r, s->xn, x, L->ffn_norm, n, net->eps, rest);
    if (LLM__MOE && net->n_expert) {
        llm__experts(pass, rest);
    } else {
        llm__op_input(r, &s->in, s->xn, n, llm__takes_integers(&L->gate) || llm__takes_integers(&L->up), rest);
        llm__ffn(pass, &L->gate, &L->up, &L->down, &s->in, s->xn);
    }
    if (L->ffn_post_norm) llm__op_rmsnorm(r, s->xn, s->xn, L->ffn_post_norm, n, net->eps, rest);
    llm__op_add(r, x, s->xn, n, rest);
}

typedef struct llm__cap_args { const llm__vectors *v; float *logits; size_t n; float cap; } llm__cap_args;

static void llm__cap_token(const void *p, uint32_t t) {
    const llm__cap_args *a = (const llm__cap_args *)p;
    a->v->softcap(a->logits + t * a->n, a->cap, a->n);
}
// logits of the last n_out tokens                                                                      [n_out, n_vocab]
static void llm__head(const llm__pass *pass, float *logits) {
    llm__state *s = pass->s;
    const llm__net *net = s->net;
    const llm__run *r = &pass->run;
    const float *x = s->x + (size_t)(pass->T - pass->n_out) * net->n_embd;
    llm__cap_args cap;
    llm__op_rmsnorm(r, s->xn, x, net->output_norm, net->n_embd, net->eps, pass->n_out);
    llm__op_input(r, &s->in, s->xn, net->n_embd, llm__takes_integers(&net->output), pass->n_out);
    llm__op_matmul(r, logits, &net->output, &s->in);
    if (net->logit_cap == 0.0f) return;
    cap.v = &s->k->v; cap.logits = logits; cap.n = net->n_vocab; cap.cap = net->logit_cap;
    llm__each_token(r, pass->n_out, llm__cap_token, &cap);
}

// Bytes of K and V that one token at this position reads.
static uint64_t llm__kv_bytes_at(const llm__state *s, size_t position) {
    uint64_t bytes = 0;
    uint32_t i;
    for (i = 0; i < s->net->n_layer; i++) {
        const llm__kv_layer *l = &s->kv_layers[i];
        const uint64_t window = s->net->layers[i].window, seen = position + 1;
        bytes += (window && seen > window ? window : seen) * l->n_heads * (l->k_bytes + l->v_bytes);
    }
    return bytes;
}

// A cap on the time that is spent computing (llm_model_desc.cpu_share): after each pass a rest, in steps that hear a cancel.
typedef struct llm__share { uint32_t percent; int64_t debt_us; uint64_t rested_us; } llm__share;

#define LLM__LONGEST_PASS_US 60000000u                             // what a clock that jumped takes for more must not become hours of rest

static void llm__rest(llm__share *s, uint64_t worked_us, llm__atomic32 *cancel) {
    if (s->percent == 0 || s->percent >= 100) return;
    s->debt_us += (int64_t)(LLM__MIN(worked_us, LLM__LONGEST_PASS_US) * (100 - s->percent) / s->percent);
    while (s->debt_us > 500 && !llm__atomic_load(cancel)) {
        const uint64_t began = llm__os_now_us();
        uint64_t took;
        llm__os_sleep_us((uint32_t)LLM__MIN(s->debt_us, (int64_t)4000));
        took = llm__os_now_us() - began;
        if (!took || took > INT64_MAX) return;                      // no clock, or one that runs backward: no cap
        s->debt_us -= (int64_t)took;
        s->rested_us += took;
    }
    s->debt_us = LLM__MAX(s->debt_us, (int64_t)-4000);              // a frozen program does not earn time without a cap
}

typedef struct llm__eval {             // one call's wish
    llm__team *team;
    llm__share *share;
    llm__atomic32 *cancel;
    const llm_progress *progress;      // stage 1; may refuse to go on
    const llm_token *tokens;
    size_t n, position;
    size_t n_want;                     // logits of the last so many tokens ...
    float *logits;                     // ... go here: [n_want, n_vocab]
} llm__eval;

static llm_result llm__fwd_batch(llm__state *s, const llm__eval *ev, size_t at, uint32_t T, llm_error *e) {
    llm__pass pass = LLM__ZERO;
    const size_t done = at + T, first_wanted = ev->n - ev->n_want;
    float *logits;
    uint32_t il, t;
    bool bad = false;
    pass.s = s;
    pass.run.team = ev->team; pass.run.k = s->k; pass.run.cancel = ev->cancel;
    pass.run.scratch = s->workers; pass.run.scratch_bytes = s->worker_bytes;
    pass.tokens = ev->tokens + at; pass.T = T; pass.position = ev->position + at;
    pass.n_out = done > first_wanted ? (uint32_t)LLM__MIN((size_t)T, done - first_wanted) : 0;
    logits = pass.n_out ? ev->logits + (done - pass.n_out - first_wanted) * s->net->n_vocab : NULL;
    if (!llm__kv_reserve(&s->kv, pass.position, pass.position + T))
        return llm__fail(e, LLM_NO_MEMORY, "no memory for keys and values beyond %U bytes; lower n_ctx", s->kv.bytes);
    llm__each_token(&pass.run, T, llm__embed_token, &pass);
    llm__each_token(&pass.run, T, llm__angles_token, &pass);
    for (il = 0; il < s->net->n_layer && !llm__run_cancelled(&pass.run); il++) llm__fwd_layer(&pass, il);
    if (pass.n_out && !llm__run_cancelled(&pass.run)) llm__head(&pass, logits);
    if (llm__run_cancelled(&pass.run)) return llm__fail(e, LLM_CANCELLED, "cancelled");
    for (t = 0; t < pass.n_out && !bad; t++) s->k->v.highest(logits + (size_t)t * s->net->n_vocab, s->net->n_vocab, &bad);
    if (bad)
        return llm__fail(e, LLM_BAD_LOGITS, "the logits at position %U hold NaN or infinity; the model's weights are damaged",
                         (uint64_t)(pass.position + T - pass.n_out + t - 1));
    llm__kv_retire(&s->kv, pass.position + T);
    return LLM_OK;
}

// After each pass of a prefill: `at` of n tokens are done. Who says no to the last one says it too late.
static llm_result llm__passed(const llm_progress *p, size_t at, size_t n, llm_error *e) {
    if (llm__go_on(p, 1, (float)at / (float)n) || at == n) return LLM_OK;
    return llm__fail(e, LLM_CANCELLED, "cancelled by the progress callback");
}
// Evaluates tokens[n] at `position`, n_batch at a time. The caller has checked ids and room, and the scratch is there. On failure the
// caller forgets what was stored.
static llm_result llm__fwd_eval(llm__state *s, const llm__eval *ev, llm_error *e) {
    llm_result result = LLM_OK;
    size_t at;
    for (at = 0; result == LLM_OK && at < ev->n; ) {
        const uint32_t T = (uint32_t)LLM__MIN(ev->n - at, (size_t)s->n_batch);
        const uint64_t began = llm__os_now_us();
        result = llm__fwd_batch(s, ev, at, T, e);
        llm__rest(ev->share, llm__os_now_us() - began, ev->cancel);
        at += T;
        if (result == LLM_OK && ev->n > 1) result = llm__passed(ev->progress, at, ev->n, e);
    }
    return result;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>unicode   What kind of character a code point is, and where UTF-8 may be cut.

typedef enum llm__uc {                 // the general category's first letter; whitespace is a class of its own
    LLM__UC_OTHER = 0, LLM__UC_LETTER, LLM__UC_NUMBER, LLM__UC_MARK, LLM__UC_PUNCT, LLM__UC_SYMBOL, LLM__UC_SPACE,
    LLM__UC_END                        // no character: the text ends here
} llm__uc;

// Runs of equal class from U+0000 on, as length * 8 + class, in blocks of 32; llm__uc_block tells where a block begins. What comes
// after the last run is LLM__UC_OTHER.
// Derived from the Unicode Character Database 15.1.0. Copyright (c) 1991-2023 Unicode, Inc. All rights reserved. Unicode and the
// Unicode Logo are registered trademarks of Unicode, Inc. Terms of use and licence: https://www.unicode.org/terms_of_use.html
static const uint32_t llm__uc_block[] = {
    0, 171, 888, 1471, 1757, 2046, 2384, 2520, 2621, 2746, 2868, 2969, 3114, 3241, 3389, 3531, 3749, 3897, 4190, 4704,
    5118, 6068, 6448, 6823, 7245, 8016, 8191, 8450, 8968, 11506, 11735, 12347, 12881, 42738, 43136, 43486, 43714, 44032,
    64451, 65284, 65519, 66045, 66730, 67456, 67840, 68176, 68681, 69510, 69927, 70188, 70450, 70751, 71360, 71999,
    72346, 73015, 73476, 82944, 93048, 110581, 118608, 119894, 120138, 121461, 123198, 125184, 126521, 126567, 127185,
    129096, 130042, 279463, 541575, 803687,
};
static const uint16_t llm__uc_run[] = {
    72, 46, 144, 14, 28, 13, 52, 13, 36, 82, 20, 29, 20, 209, 28, 13, 12, 13, 209, 12, 13, 12, 13, 48, 14, 208, 14, 12,
    45, 12, 21, 9, 12, 13, 8, 37, 18, 13, 9, 20, 13, 10, 9, 12, 26, 12, 185, 13, 249, 13, 3665, 37, 97, 117, 41, 61, 9,
    13, 9, 141, 899, 41, 13, 17, 16, 33, 12, 9, 32, 21, 9, 12, 25, 8, 9, 8, 161, 8, 665, 13, 1113, 13, 59, 1329, 8, 305,
    16, 9, 52, 329, 20, 16, 29, 8, 363, 12, 11, 12, 19, 12, 19, 12, 11, 64, 217, 32, 33, 20, 136, 29, 20, 13, 20, 21,
    91, 12, 8, 28, 345, 171, 82, 36, 17, 11, 793, 12, 9, 59, 8, 13, 51, 17, 19, 13, 35, 17, 82, 25, 21, 9, 116, 16, 9,
    11, 241, 219, 16, 713, 91, 9, 112, 82, 265, 75, 17, 13, 28, 9, 16, 11, 21, 177, 35, 9, 75, 9, 27, 9, 43, 16, 124, 8,
    201, 27, 16, 12, 8, 89, 40, 193, 13, 49, 72, 67, 337, 195, 8, 267, 433, 27, 9, 147, 9, 59, 81, 19, 20, 82, 12, 129,
    27, 8, 65, 16, 17, 16, 177, 8, 57, 8, 9, 24, 33, 16, 11, 9, 59, 16, 19, 16, 27, 9, 64, 11, 32, 17, 8, 25, 19, 16,
    82, 17, 21, 50, 21, 9, 12, 11, 16, 27, 8, 49, 32, 17, 16, 177, 8, 57, 8, 17, 8, 17, 8, 17, 16, 11, 8, 43, 32, 19,
    16, 27, 24, 11, 56, 33, 8, 9, 56, 82, 19, 25, 11, 12, 80, 27, 8, 73, 8, 25, 8, 177, 8, 57, 8, 17, 8, 41, 16, 11, 9,
    67, 8, 27, 8, 27, 16, 9, 120, 17, 19, 16, 82, 12, 13, 56, 9, 51, 8, 27, 8, 65, 16, 17, 16, 177, 8, 57, 8, 17, 8, 41,
    16, 11, 9, 59, 16, 19, 16, 27, 56, 27, 32, 17, 8, 25, 19, 16, 82, 13, 9, 50, 80, 11, 9, 8, 49, 24, 25, 8, 33, 24,
    17, 8, 9, 8, 17, 24, 17, 24, 25, 24, 97, 32, 43, 24, 27, 8, 35, 16, 9, 48, 11, 112, 106, 69, 40, 43, 65, 8, 25, 8,
    185, 8, 129, 16, 11, 9, 59, 8, 27, 8, 35, 56, 19, 8, 25, 16, 9, 16, 17, 19, 16, 82, 56, 12, 58, 13, 9, 27, 12, 65,
    8, 25, 8, 185, 8, 81, 8, 41, 16, 11, 9, 59, 8, 27, 8, 35, 56, 19, 48, 17, 8, 17, 19, 16, 82, 8, 17, 11, 96, 35, 73,
    8, 25, 8, 329, 19, 9, 59, 8, 27, 8, 35, 9, 13, 32, 25, 11, 58, 25, 19, 16, 154, 13, 49, 8, 27, 8, 145, 24, 193, 8,
    73, 8, 9, 16, 57, 24, 11, 32, 51, 8, 11, 8, 67, 48, 82, 16, 19, 12, 96, 385, 11, 17, 59, 32, 13, 57, 67, 12, 82, 20,
    296, 17, 8, 9, 8, 41, 8, 193, 8, 9, 8, 81, 11, 17, 75, 9, 16, 41, 8, 9, 8, 59, 8, 82, 16, 33, 256, 9, 29, 124, 13,
    12, 29, 19, 53, 162, 13, 11, 13, 11, 13, 11, 36, 19, 65, 8, 289, 32, 163, 12, 19, 41, 91, 8, 291, 8, 69, 11, 53, 8,
    21, 44, 37, 20, 296, 345, 163, 9, 82, 52, 49, 35, 33, 27, 9, 27, 17, 59, 25, 35, 105, 99, 9, 11, 82, 35, 21, 305, 8,
    9, 40, 9, 16, 345, 12, 2665, 8, 33, 16, 57, 8, 9, 8, 33, 16, 329, 8, 33, 16, 265, 8, 33, 16, 57, 8, 9, 8, 33, 16,
    121, 8, 457, 8, 33, 16, 537, 16, 27, 76, 162, 24, 129, 85, 48, 689, 16, 49, 16, 12, 4961, 13, 12, 137, 14, 209, 20,
    24, 601, 28, 26, 65, 56, 145, 35, 72, 153, 27, 20, 72, 145, 19, 96, 105, 8, 25, 8, 19, 96, 417, 259, 28, 9, 28, 13,
    9, 11, 16, 82, 48, 82, 48, 92, 27, 8, 11, 82, 48, 713, 56, 41, 19, 273, 11, 9, 40, 561, 80, 249, 8, 99, 32, 99, 32,
    13, 24, 20, 82, 241, 16, 41, 88, 353, 32, 209, 48, 90, 24, 277, 185, 43, 16, 20, 425, 83, 8, 235, 16, 11, 82, 48,
    82, 48, 60, 9, 52, 16, 251, 392, 43, 377, 139, 65, 24, 82, 60, 85, 75, 77, 20, 8, 27, 241, 107, 17, 82, 353, 115,
    64, 36, 289, 163, 24, 44, 82, 24, 25, 82, 289, 20, 73, 56, 345, 16, 25, 68, 64, 27, 12, 171, 33, 11, 49, 11, 17, 27,
    9, 40, 1537, 515, 2225, 16, 49, 16, 305, 16, 49, 16, 65, 8, 9, 8, 9, 8, 9, 8, 249, 16, 425, 8, 57, 13, 9, 29, 25, 8,
    57, 29, 33, 16, 49, 8, 29, 105, 29, 16, 25, 8, 57, 21, 8, 94, 40, 196, 22, 40, 14, 164, 13, 108, 13, 100, 14, 128,
    10, 9, 16, 50, 29, 20, 9, 82, 29, 20, 8, 105, 24, 269, 120, 267, 120, 21, 9, 37, 9, 21, 81, 13, 9, 29, 41, 53, 9,
    13, 9, 13, 9, 13, 33, 13, 89, 21, 33, 45, 41, 37, 9, 13, 410, 17, 42, 21, 32, 3013, 36, 237, 20, 2021, 200, 93, 168,
    482, 629, 178, 4933, 116, 242, 397, 20, 253, 84, 3229, 180, 509, 36, 261, 20, 2997, 16, 261, 8, 845, 1833, 53, 33,
    27, 17, 40, 36, 10, 20, 305, 8, 9, 40, 9, 16, 449, 56, 9, 12, 112, 11, 185, 72, 57, 8, 57, 8, 57, 8, 57, 8, 57, 8,
    57, 8, 57, 8, 57, 8, 259, 380, 9, 260, 21, 100, 272, 213, 8, 717, 96, 1717, 208, 133, 14, 28, 13, 17, 10, 84, 21,
    100, 13, 74, 51, 12, 41, 21, 26, 17, 12, 21, 8, 689, 16, 19, 21, 25, 12, 721, 12, 33, 40, 345, 8, 753, 8, 21, 34,
    85, 257, 293, 88, 13, 129, 253, 8, 82, 245, 66, 13, 122, 261, 82, 317, 122, 2565, 52737, 517, 65529, 65529, 46201,
    24, 445, 72, 369, 20, 2153, 28, 129, 82, 17, 160, 377, 35, 12, 83, 12, 249, 19, 561, 82, 19, 52, 64, 189, 73, 21,
    825, 21, 513, 40, 17, 8, 9, 8, 41, 192, 129, 11, 25, 11, 33, 11, 185, 43, 37, 11, 24, 50, 37, 48, 417, 36, 64, 19,
    401, 147, 64, 20, 82, 48, 147, 49, 28, 9, 12, 17, 11, 82, 225, 67, 20, 185, 107, 88, 12, 233, 24, 35, 377, 115, 108,
    8, 9, 82, 32, 20, 41, 11, 81, 82, 41, 8, 329, 115, 72, 25, 11, 65, 19, 16, 82, 16, 36, 185, 29, 9, 27, 401, 11, 9,
    27, 17, 19, 41, 19, 9, 11, 9, 192, 25, 20, 89, 43, 20, 25, 19, 80, 49, 16, 49, 16, 49, 72, 57, 8, 57, 8, 345, 13,
    113, 21, 32, 921, 67, 12, 19, 16, 82, 48, 65529, 23849, 96, 185, 32, 393, 65528, 2088, 2929, 16, 849, 304, 57, 96,
    41, 40, 9, 11, 81, 13, 105, 8, 41, 8, 9, 8, 17, 8, 17, 8, 865, 141, 128, 2905, 20, 133, 513, 16, 433, 56, 13, 256,
    97, 37, 131, 84, 48, 131, 284, 8, 116, 13, 12, 29, 8, 12, 13, 20, 32, 41, 8, 1081, 32, 28, 13, 52, 13, 36, 82, 20,
    29, 20, 209, 28, 13, 12, 13, 209, 12, 13, 12, 13, 60, 713, 24, 49, 16, 49, 16, 49, 16, 25, 24, 61, 8, 61, 104, 21,
    16, 97, 8, 209, 8, 153, 8, 17, 8, 121, 16, 113, 272, 985, 40, 28, 32, 362, 24, 77, 458, 141, 18, 29, 8, 109, 24, 13,
    376, 365, 11, 1040, 233, 24, 393, 120, 11, 218, 32, 257, 34, 72, 161, 10, 65, 10, 40, 305, 43, 40, 241, 8, 12, 289,
    32, 65, 12, 42, 336, 1265, 16, 82, 48, 289, 32, 289, 32, 321, 64, 417, 88, 12, 89, 8, 121, 8, 57, 8, 17, 8, 89, 8,
    121, 8, 57, 8, 17, 536, 2489, 72, 177, 80, 65, 192, 49, 8, 337, 8, 73, 552, 49, 16, 9, 8, 353, 8, 17, 24, 9, 16,
    185, 8, 12, 66, 185, 21, 58, 249, 64, 74, 384, 153, 8, 17, 40, 42, 177, 50, 24, 12, 209, 40, 12, 512, 449, 32, 18,
    17, 130, 16, 370, 9, 27, 8, 19, 40, 35, 33, 8, 25, 8, 233, 16, 27, 32, 11, 74, 56, 76, 56, 233, 18, 12, 233, 26,
    256, 65, 13, 225, 19, 32, 42, 60, 72, 433, 24, 60, 177, 16, 66, 153, 40, 66, 145, 56, 36, 96, 58, 640, 585, 440,
    409, 104, 409, 56, 50, 289, 35, 64, 82, 2352, 250, 8, 337, 8, 19, 12, 16, 17, 600, 27, 233, 82, 9, 64, 177, 91, 34,
    44, 176, 145, 35, 36, 304, 169, 58, 160, 185, 72, 27, 425, 123, 60, 32, 242, 11, 17, 19, 9, 72, 35, 361, 91, 20, 8,
    36, 11, 104, 201, 56, 82, 48, 27, 289, 115, 8, 82, 36, 9, 19, 9, 64, 281, 11, 20, 9, 72, 27, 385, 115, 33, 36, 35,
    12, 19, 82, 9, 12, 9, 28, 8, 162, 88, 145, 8, 201, 99, 52, 11, 17, 11, 496, 57, 8, 9, 8, 33, 8, 121, 8, 81, 12, 48,
    377, 99, 40, 82, 48, 35, 8, 65, 16, 17, 16, 177, 8, 57, 8, 17, 8, 41, 8, 19, 9, 59, 16, 19, 16, 27, 16, 9, 48, 11,
    40, 41, 19, 16, 59, 24, 43, 1112, 425, 147, 33, 44, 82, 20, 8, 12, 11, 25, 240, 385, 163, 17, 12, 9, 64, 82, 1328,
    377, 59, 16, 75, 188, 33, 19, 272, 385, 139, 28, 9, 88, 82, 48, 108, 152, 345, 107, 9, 12, 48, 82, 432, 217, 16,
    123, 32, 98, 28, 13, 57, 1480, 353, 123, 12, 800, 513, 154, 96, 65, 16, 9, 16, 65, 8, 17, 8, 193, 51, 8, 19, 16, 35,
    9, 11, 9, 19, 28, 72, 82, 560, 65, 16, 313, 59, 16, 59, 9, 12, 9, 11, 216, 9, 83, 321, 59, 9, 35, 68, 11, 64, 9, 91,
    369, 131, 28, 9, 44, 104, 585, 56, 84, 1968, 73, 8, 297, 67, 8, 67, 9, 44, 80, 234, 24, 20, 241, 16, 179, 8, 115,
    584, 57, 8, 17, 8, 305, 51, 24, 11, 8, 19, 8, 59, 9, 11, 64, 82, 48, 49, 8, 17, 8, 257, 43, 8, 19, 8, 43, 9, 56, 82,
    2480, 153, 35, 20, 56, 19, 9, 11, 105, 8, 273, 59, 24, 43, 108, 82, 688, 9, 120, 170, 237, 104, 12, 7377, 816, 890,
    8, 44, 88, 1569, 21088, 777, 20, 104, 8577, 128, 11, 49, 123, 32080, 4665, 65528, 3536, 4553, 56, 249, 8, 82, 32,
    20, 633, 8, 82, 48, 241, 16, 43, 12, 80, 385, 59, 44, 37, 33, 12, 13, 80, 82, 8, 58, 8, 169, 40, 153, 5504, 513,
    186, 36, 808, 601, 32, 11, 9, 443, 56, 35, 105, 512, 17, 12, 9, 11, 88, 19, 112, 49089, 64, 9905, 336, 73, 65528,
    5952, 33, 8, 57, 8, 17, 8, 2329, 120, 9, 232, 25, 16, 9, 112, 33, 64, 3169, 18464, 857, 40, 105, 24, 73, 56, 81, 16,
    13, 19, 12, 37632, 371, 16, 187, 72, 933, 480, 1973, 80, 317, 16, 485, 43, 29, 51, 64, 67, 21, 59, 245, 35, 493,
    168, 533, 27, 13, 976, 162, 96, 162, 96, 701, 72, 202, 1080, 681, 8, 569, 8, 17, 16, 9, 16, 17, 16, 33, 8, 97, 8, 9,
    8, 57, 8, 521, 8, 33, 16, 65, 8, 57, 8, 225, 8, 33, 8, 41, 8, 9, 24, 57, 8, 2721, 16, 201, 13, 201, 13, 249, 13,
    201, 13, 249, 13, 201, 13, 249, 13, 201, 13, 249, 13, 201, 13, 65, 16, 402, 4101, 443, 37, 403, 69, 11, 117, 11, 21,
    44, 120, 43, 8, 123, 8832, 249, 48, 49, 1704, 59, 8, 139, 16, 59, 8, 19, 8, 43, 40, 497, 264, 11, 896, 361, 24, 59,
    57, 16, 82, 32, 9, 13, 2560, 241, 11, 136, 353, 35, 82, 40, 13, 3712, 225, 35, 82, 5936, 57, 8, 33, 8, 17, 8, 121,
    8, 1577, 16, 74, 59, 328, 545, 59, 9, 32, 82, 32, 20, 6280, 474, 13, 26, 13, 34, 608, 362, 13, 122, 1552, 33, 8,
    217, 8, 17, 8, 9, 16, 9, 8, 81, 8, 33, 8, 9, 8, 9, 48, 9, 32, 9, 8, 9, 8, 9, 8, 25, 8, 17, 8, 9, 16, 9, 8, 9, 8, 9,
    8, 9, 8, 9, 8, 17, 8, 9, 16, 33, 8, 57, 8, 33, 8, 33, 8, 9, 8, 81, 8, 137, 40, 25, 8, 41, 8, 137, 416, 21, 2160,
    357, 32, 805, 96, 125, 16, 125, 8, 125, 8, 301, 80, 106, 1293, 448, 237, 104, 357, 32, 77, 56, 21, 112, 53, 1232,
    7877, 32, 141, 24, 109, 24, 957, 32, 765, 48, 101, 32, 13, 120, 101, 32, 453, 64, 85, 48, 325, 64, 245, 16, 21, 624,
    2725, 96, 117, 16, 109, 24, 77, 56, 373, 8, 61, 64, 117, 32, 77, 56, 77, 56, 1181, 8, 445, 296, 82, 8240, 65529,
    65529, 65529, 65529, 65529, 14121, 256, 33233, 48, 1777, 16, 46097, 112, 59785, 120, 4977, 19728, 4337, 12048,
    39513, 40, 33537, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528,
    65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528,
    65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528,
    65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528,
    65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528,
    65528, 65528, 65528, 65528, 65528, 65528, 65528, 65528, 60720, 1923, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0,
};

static const char llm__uc_ascii[] =
    "00000000066666000000000000000000644454444445444422222222224455544"
    "111111111111111111111111114445451111111111111111111111111145450";

static llm__uc llm__uc_class(uint32_t c) {
    size_t lo = 0, hi = LLM__COUNT(llm__uc_block), i;
    uint32_t at;
    if (c < 128) return (llm__uc)(llm__uc_ascii[c] - '0');
    if (!LLM__UNICODE) return LLM__UC_OTHER;               // no text with such characters gets this far
    while (hi - lo > 1) {
        size_t middle = (lo + hi) / 2;
        if (llm__uc_block[middle] <= c) lo = middle;
        else hi = middle;
    }
    at = llm__uc_block[lo];
    for (i = lo * 32; i < lo * 32 + 32; i++) {
        at += (uint32_t)llm__uc_run[i] >> 3;
        if (c < at) return (llm__uc)(llm__uc_run[i] & 7);
    }
    return LLM__UC_OTHER;
}

// Length of the longest prefix that does not end inside a sequence which is valid as far as it goes.
static size_t llm__utf8_whole(const char *p, size_t n) {
    const uint8_t *b = (const uint8_t *)p;
    size_t back;
    for (back = 1; back <= 3 && back <= n; back++) {
        const uint8_t *lead = b + n - back;
        if ((*lead & 0xc0) == 0x80) continue;
        if (llm__utf8_wants(*lead) <= back || (back > 1 && !llm__utf8_pair(lead[0], lead[1]))) return n;
        return n - back;
    }
    return n;
}
// Copies, replacing every byte that is not part of a valid sequence by U+FFFD. Returns the length needed; p is valid if and only if
// that is n. At most cap bytes are written; out NULL with cap 0 measures.
static size_t llm__utf8_clean(const char *p, size_t n, char *out, size_t cap) {
    llm__text t;
    size_t at;
    uint32_t length;
    t.p = out; t.n = 0; t.cap = cap;
    for (at = 0; at < n; at += length) {
        bool bad = llm__utf8_get(p + at, n - at, &length) == LLM__UTF8_BAD;
        llm__text_bytes(&t, bad ? "\xef\xbf\xbd" : p + at, bad ? 3 : length);
    }
    return t.n;
}

// Class and length of the character at `at` in valid UTF-8 that ends at `end`.
static llm__uc llm__uc_at(const char *p, size_t at, size_t end, uint32_t *length) {
    *length = 0;
    if (at >= end) return LLM__UC_END;
    if ((uint8_t)p[at] < 128) { *length = 1; return (llm__uc)(llm__uc_ascii[(uint8_t)p[at]] - '0'); }
    return llm__uc_class(llm__utf8_get(p + at, end - at, length));
}
static bool llm__uc_in(llm__uc c, unsigned classes) { return (classes >> c & 1u) != 0; }      // classes: a set of 1 << llm__uc
// The end of the run of such characters that begins at `at`.
static size_t llm__uc_skip(const char *p, size_t at, size_t end, unsigned classes) {
    uint32_t length;
    while (llm__uc_in(llm__uc_at(p, at, end, &length), classes)) at += length;
    return at;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>tokenizer   Text <-> tokens. Three families: SentencePiece style (merges by score over text in which a space is U+2581),
//               byte-level BPE (merges by rank over bytes, inside the pieces that a pre-tokenizer cuts) and BPE over text (merges by
//               rank, U+2581 for spaces). Token texts stay in the file. Nothing recurses; time is n log n whatever the text is. Ids
//               are those of llama.cpp; where it is careless with bytes that are no UTF-8, ours come back as they were.

// ---- pre-tokenizers: each stage cuts the pieces of the stage before it. A stage gets valid UTF-8 and the end of the piece that it
//      may look at, and returns where the part that begins at `at` ends; what its pattern does not match is a part of its own.
//      Every stage is the pattern above it, scanned by hand.

typedef size_t (*llm__pre_fn)(const char *p, size_t at, size_t end);

#define LLM__IS(name) (1u << LLM__UC_##name)
#define LLM__ANY 0x7fu                       // every class but LLM__UC_END

// Of `s`, `t`, `m`, `d`, `re`, `ve`, `ll` behind an apostrophe: the bytes with the apostrophe, 0 if it is none.
static size_t llm__pre_contraction(const char *p, size_t at, size_t end, bool any_case) {
    char fold = any_case ? 0x20 : 0, a, b;
    if (end - at < 2 || p[at] != '\'') return 0;
    a = (char)(p[at + 1] | fold);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (end - at < 3) return 0;
    b = (char)(p[at + 2] | fold);
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}
// \s+(?!\S)|\s+ : a run of whitespace leaves its last character to the word behind it.
static size_t llm__pre_spaces(const char *p, size_t at, size_t end) {
    size_t last = at, e = at;
    uint32_t length;
    while (llm__uc_at(p, e, end, &length) == LLM__UC_SPACE) { last = e; e += length; }
    return e < end && last > at ? last : e;
}
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
static size_t llm__pre_gpt2(const char *p, size_t at, size_t end) {
    size_t n = llm__pre_contraction(p, at, end, false), word = at + (p[at] == ' ');
    uint32_t length;
    llm__uc c = llm__uc_at(p, word, end, &length);
    if (n) return at + n;
    if (c == LLM__UC_LETTER || c == LLM__UC_NUMBER) return llm__uc_skip(p, word, end, 1u << c);
    if (c != LLM__UC_SPACE && c != LLM__UC_END)
        return llm__uc_skip(p, word, end, LLM__ANY & ~(LLM__IS(SPACE) | LLM__IS(LETTER) | LLM__IS(NUMBER)));
    return llm__pre_spaces(p, at, end);
}
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
static size_t llm__pre_words(const char *p, size_t at, size_t end, unsigned digits) {
    const unsigned others = LLM__ANY & ~(LLM__IS(SPACE) | LLM__IS(LETTER) | LLM__IS(NUMBER));
    size_t n = llm__pre_contraction(p, at, end, true), word = at + (p[at] == ' '), e, line = 0;
    uint32_t length, next;
    llm__uc c = llm__uc_at(p, at, end, &length);
    if (n) return at + n;
    if (c == LLM__UC_LETTER) return llm__uc_skip(p, at, end, LLM__IS(LETTER));
    if (c != LLM__UC_NUMBER && p[at] != '\r' && p[at] != '\n' && llm__uc_at(p, at + length, end, &next) == LLM__UC_LETTER)
        return llm__uc_skip(p, at + length, end, LLM__IS(LETTER));
    if (c == LLM__UC_NUMBER) {
        for (e = at; digits && llm__uc_at(p, e, end, &length) == LLM__UC_NUMBER; digits--) e += length;
        return e;
    }
    if (llm__uc_in(llm__uc_at(p, word, end, &length), others)) {
        e = llm__uc_skip(p, word, end, others);
        while (e < end && (p[e] == '\r' || p[e] == '\n')) e++;
        return e;
    }
    for (e = at; llm__uc_at(p, e, end, &length) == LLM__UC_SPACE; e += length)
        if (p[e] == '\r' || p[e] == '\n') line = e + 1;
    return line ? line : llm__pre_spaces(p, at, end);
}
static size_t llm__pre_llama3(const char *p, size_t at, size_t end) { return llm__pre_words(p, at, end, 3); }
static size_t llm__pre_qwen2(const char *p, size_t at, size_t end) { return llm__pre_words(p, at, end, 1); }

// [^\n]+|[\n]+
static size_t llm__pre_lines(const char *p, size_t at, size_t end) {
    bool newline = p[at] == '\n';
    while (at < end && (p[at] == '\n') == newline) at++;
    return at;
}
// [\r\n], one at a time
static size_t llm__pre_line_ends(const char *p, size_t at, size_t end) {
    if (p[at] == '\r' || p[at] == '\n') return at + 1;
    while (at < end && p[at] != '\r' && p[at] != '\n') at++;
    return at;
}
// \p{N}, one at a time
static size_t llm__pre_digit(const char *p, size_t at, size_t end) {
    uint32_t length;
    if (llm__uc_at(p, at, end, &length) == LLM__UC_NUMBER) return at + length;
    return llm__uc_skip(p, at, end, LLM__ANY & ~LLM__IS(NUMBER));
}
// \p{N}+
static size_t llm__pre_digits(const char *p, size_t at, size_t end) {
    size_t e = llm__uc_skip(p, at, end, LLM__IS(NUMBER));
    return e > at ? e : llm__uc_skip(p, at, end, LLM__ANY & ~LLM__IS(NUMBER));
}
// \s+$
static size_t llm__pre_tail(const char *p, size_t at, size_t end) {
    size_t e = at, tail = at;
    uint32_t length;
    while (e < end) {
        bool space = llm__uc_at(p, e, end, &length) == LLM__UC_SPACE;
        e += length;
        if (!space) tail = e;
    }
    return tail > at ? tail : end;
}

// Code points by their own ranges, as DeepSeek's first vocabulary has them: {first, last}, ascending.
static const uint32_t llm__ds_letters[][2] = {
    {0x41,0x5a}, {0x61,0x7a}, {0xb5,0xb5}, {0xc0,0xd6}, {0xd8,0xf6}, {0xf8,0x1ba}, {0x1bc,0x1bf}, {0x1c4,0x293},
    {0x295,0x2af}, {0x370,0x373}, {0x376,0x377}, {0x37b,0x37d}, {0x37f,0x37f}, {0x386,0x386}, {0x388,0x38a}, {0x38c,0x38c},
    {0x38e,0x3a1}, {0x3a3,0x3f5}, {0x3f7,0x481}, {0x48a,0x52f}, {0x531,0x556}, {0x10a0,0x10c5}, {0x13a0,0x13f5},
    {0x13f8,0x13fd}, {0x1c90,0x1cba}, {0x1cbd,0x1cbf}, {0x1d00,0x1d2b}, {0x1d6b,0x1d77}, {0x1d79,0x1d9a}, {0x1e00,0x1f15},
    {0x1f18,0x1f1d}, {0x1f20,0x1f45}, {0x1f48,0x1f4d}, {0x1f50,0x1f57}, {0x1f59,0x1f59}, {0x1f5b,0x1f5b}, {0x1f5d,0x1f5d},
    {0x1f5f,0x1f7d}, {0x1f80,0x1fb4}, {0x1fb6,0x1fbc}, {0x1fbe,0x1fbe}, {0x1fc2,0x1fc4}, {0x1fc6,0x1fcc}, {0x1fd0,0x1fd3},
    {0x1fd6,0x1fdb}, {0x1fe0,0x1fec}, {0x1ff2,0x1ff4}, {0x1ff6,0x1ffc}, {0x2102,0x2102}, {0x2107,0x2107}, {0x210a,0x2113},
    {0x2115,0x2115}, {0x2119,0x211d}, {0x2124,0x2124}, {0x2126,0x2126}, {0x2128,0x2128}, {0x212a,0x212d}, {0x212f,0x2134},
    {0x2139,0x2139}, {0x213c,0x213f}, {0x2145,0x2149}, {0x214e,0x214e}, {0x2183,0x2184}, {0x2c00,0x2c7b}, {0x2c7e,0x2ce4},
    {0x2ceb,0x2cee}, {0x2cf2,0x2cf3}, {0xa640,0xa66d}, {0xa680,0xa69b}, {0xa722,0xa76f}, {0xa771,0xa787}, {0xa78b,0xa78e},
    {0xab70,0xabbf}, {0xfb00,0xfb06}, {0xfb13,0xfb17}, {0xff21,0xff3a}, {0xff41,0xff5a}, {0x10400,0x1044f},
    {0x104b0,0x104d3}, {0x104d8,0x104fb}, {0x10c80,0x10cb2}, {0x10cc0,0x10cf2}, {0x118a0,0x118df}, {0x1e900,0x1e943},
};
static const uint32_t llm__ds_ascii_letters[][2] = { {0x41,0x5a}, {0x61,0x7a} };        // enough where no other text gets this far
static const uint32_t llm__ds_marks[][2] = {
    {0x21,0x2f}, {0x3a,0x7e}, {0x2018,0x201f}, {0x3000,0x3002}, {0xff01,0xff0f}, {0xff1a,0xff5e},
};
static const uint32_t llm__ds_cjk[][2] = { {0x800,0x9fa5}, {0xac00,0xd7ff} };

static bool llm__pre_in(uint32_t c, const uint32_t (*ranges)[2], size_t n) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (ranges[middle][1] < c) lo = middle + 1;
        else hi = middle;
    }
    return lo < n && ranges[lo][0] <= c;
}
// The end of the run of such characters at `at`. Whitespace beyond ASCII is never one of them: the reference folds it away first.
static size_t llm__pre_run(const char *p, size_t at, size_t end, const uint32_t (*ranges)[2], size_t n) {
    uint32_t length, c;
    for (; at < end; at += length) {
        c = llm__utf8_get(p + at, end - at, &length);
        if (!llm__pre_in(c, ranges, n) || llm__uc_class(c) == LLM__UC_SPACE) break;
    }
    return at;
}
// [ranges]+, with \s? before it if `space`
static size_t llm__pre_ranges(const char *p, size_t at, size_t end, const uint32_t (*ranges)[2], size_t n, bool space) {
    size_t e, word, match;
    uint32_t length;
    for (e = at; e < end; e += length) {
        llm__uc c = llm__uc_at(p, e, end, &length);
        word = e + (space && c == LLM__UC_SPACE ? length : 0);
        match = llm__pre_run(p, word, end, ranges, n);
        if (match > word) return e > at ? e : match;
    }
    return end;
}
static size_t llm__pre_ds_letters(const char *p, size_t at, size_t end) {
    if (!LLM__UNICODE) return llm__pre_ranges(p, at, end, llm__ds_ascii_letters, LLM__COUNT(llm__ds_ascii_letters), true);
    return llm__pre_ranges(p, at, end, llm__ds_letters, LLM__COUNT(llm__ds_letters), true);
}
static size_t llm__pre_ds_marks(const char *p, size_t at, size_t end) {
    return llm__pre_ranges(p, at, end, llm__ds_marks, LLM__COUNT(llm__ds_marks), true);
}
static size_t llm__pre_ds_cjk(const char *p, size_t at, size_t end) {
    return llm__pre_ranges(p, at, end, llm__ds_cjk, LLM__COUNT(llm__ds_cjk), false);
}

enum { LLM__PRE_STAGES = 6, LLM__PRE_WHOLE_WORDS = 1, LLM__PRE_BOS = 2 };

typedef struct llm__pre {
    const char *names;                       // values of tokenizer.ggml.pre, with a space between them
    unsigned flags;                          // WHOLE_WORDS: a piece that is a token is that token, merges or not. BOS: it is added
    llm__pre_fn stages[LLM__PRE_STAGES];
} llm__pre;

static const llm__pre llm__pres[] = {
    {"gpt-2 phi-2 mpt olmo exaone4 trillion granite-docling", 0, {llm__pre_gpt2}},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b", 0, {llm__pre_digit, llm__pre_gpt2}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral lfm2", LLM__PRE_WHOLE_WORDS | LLM__PRE_BOS, {llm__pre_llama3}},
    {"glm4", LLM__PRE_WHOLE_WORDS, {llm__pre_llama3}},
    {"chatglm-bpe dbrx smaug-bpe", 0, {llm__pre_llama3}},
    {"qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan solar-open", 0, {llm__pre_qwen2}},
    {"deepseek-llm", 0, {llm__pre_line_ends, llm__pre_ds_letters, llm__pre_ds_marks, llm__pre_tail, llm__pre_ds_cjk, llm__pre_digits}},
};
static const llm__pre llm__pre_gemma4 = {"gemma4", LLM__PRE_BOS, {llm__pre_lines}};

static const llm__pre *llm__pre_find(llm__str name) {
    size_t i, n;
    for (i = 0; i < LLM__COUNT(llm__pres); i++) {
        const char *at = llm__pres[i].names;
        for (n = llm__until(at, ' '); n; n = llm__until(at, ' ')) {
            if (llm__str_eq(name, llm__str_n(at, n))) return &llm__pres[i];
            at += n + (at[n] == ' ');
        }
    }
    return NULL;
}

// ---- the vocabulary: immutable once loaded, shared by threads.

enum { LLM__TOK_NONE = 0, LLM__TOK_SCORES, LLM__TOK_BYTES, LLM__TOK_TEXT };           // the three families

// What a token is. The low six mirror the file's types 2, 5, 1, 3, 4, 6.
enum {
    LLM__TOK_UNKNOWN = 1, LLM__TOK_UNUSED = 2, LLM__TOK_NORMAL = 4, LLM__TOK_CONTROL = 8, LLM__TOK_USER = 16, LLM__TOK_BYTE = 32,
    LLM__TOK_STRIPS = 64,                    // swallows the whitespace behind it
    LLM__TOK_EOG = 128                       // ends an answer
};

typedef struct llm__tok_slot { uint64_t hash; uint32_t token, unused; } llm__tok_slot;  // token: + 1, 0 in an empty slot
typedef struct llm__tok_merge { uint32_t left, right, rank, merged; } llm__tok_merge;   // merged: token + 1, 0 in an empty slot

typedef struct llm__vocab {
    llm_result status;                       // LLM_OK, or why there is no text
    char reason[200];
    uint32_t n_tokens;
    llm_token special[8];                    // by llm_special
    bool add_bos, add_eos;
    int family;
    const llm__pre *pre;                     // NULL: text is not cut into pieces
    bool space_prefix;                       // a space before the first word and after every special token
    const uint8_t *text;                     // in the file: u64 length, bytes, u64 length, bytes ...
    uint32_t *at;                            // [n_tokens] where in text a token's length stands
    uint8_t *attr;                           // [n_tokens]
    const uint8_t *scores;                   // in the file, or NULL; four bytes each, int32 if int_scores
    bool int_scores;
    llm__tok_slot *slots;                    // text -> token
    uint32_t slot_mask;
    llm__tok_merge *merges;                  // (left, right) -> rank, merged
    uint32_t merge_mask;
    bool crowded;                            // while loading: a place in one of the two tables was too far away
    uint32_t longest;                        // bytes of the longest token
    uint8_t joints[32];                      // bit b: some token has byte b before a space inside it (SentencePiece style only)
    llm_token byte_token[256];
    uint32_t *specials, n_specials;          // tokens that are looked for in the text, ascending by text, from first[0] on
    uint32_t first[257];                     // where in specials a first byte begins
} llm__vocab;
// Merges by rank, after a pre-tokenizer; else by score. One family alone in the build is not asked for.
static bool llm__by_merges(const llm__vocab *v) { return LLM__BPE && (!LLM__SPM || v->family != LLM__TOK_SCORES); }

static llm__str llm__tok_text(const llm__vocab *v, uint32_t t) {
    const uint8_t *p = v->text + v->at[t];
    return llm__str_n((const char *)p + 8, (size_t)llm__le64(p));
}
#define LLM__FNV_BASIS 0xcbf29ce484222325u
#define LLM__FNV_PRIME 0x100000001b3u

// FNV-1a, goes on over a second part.
static uint64_t llm__tok_hash(uint64_t h, llm__str s) {
    size_t i;
    for (i = 0; i < s.n; i++) h = (h ^ (uint8_t)s.p[i]) * LLM__FNV_PRIME;
    return h;
}

static uint64_t llm__tok_mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}
// How many places from its own an entry of the tables may lie. Chance puts none of 16 million farther away than some 150; a file whose
// texts were chosen to meet at one place would have loading take hours, and is refused. Nothing is looked for beyond it, either.
#define LLM__TOK_REACH 512u

// The token with this text; -1 if there is none.
static llm_token llm__tok_find(const llm__vocab *v, llm__str s) {
    uint64_t h;
    uint32_t k;
    if (!v->slots || s.n > v->longest) return -1;
    h = llm__tok_mix(llm__tok_hash(LLM__FNV_BASIS, s));
    for (k = 0; k < LLM__TOK_REACH; k++) {
        const llm__tok_slot *slot = &v->slots[((uint32_t)h + k) & v->slot_mask];
        if (!slot->token) break;
        if (slot->hash == h && llm__str_eq(llm__tok_text(v, slot->token - 1), s)) return (llm_token)(slot->token - 1);
    }
    return -1;
}

static uint32_t llm__tok_merge_slot(const llm__vocab *v, uint32_t left, uint32_t right) {
    return (uint32_t)llm__tok_mix((uint64_t)left << 32 | right) & v->merge_mask;
}
// The token that left and right make; its rank through *rank. -1 if they do not merge.
static llm_token llm__tok_merged(const llm__vocab *v, uint32_t left, uint32_t right, uint32_t *rank) {
    uint32_t i = llm__tok_merge_slot(v, left, right), k = 0;
    while (v->merges[i].merged && (v->merges[i].left != left || v->merges[i].right != right)) {
        if (++k == LLM__TOK_REACH) return -1;
        i = (i + 1) & v->merge_mask;
    }
    *rank = v->merges[i].rank;
    return (llm_token)v->merges[i].merged - 1;
}

// Byte-level vocabularies write a byte as one printable character: itself, or U+0100.. for the 68 that would not print.
static uint32_t llm__tok_byte_char(uint8_t b) {
    return b <= 0x20 ? 0x100u + b : b >= 0x7f && b <= 0xa0 ? 0x121u + b - 0x7f : b == 0xad ? 0x143u : b;
}
static int llm__tok_char_byte(uint32_t c) {                // -1: stands for no byte
    if (c >= 0x100 && c <= 0x120) return (int)(c - 0x100);
    if (c >= 0x121 && c <= 0x142) return (int)(c - 0x121 + 0x7f);
    if (c == 0x143) return 0xad;
    return c < 0x100 && c > 0x20 && !(c >= 0x7f && c <= 0xa0) && c != 0xad ? (int)c : -1;
}
static uint32_t llm__tok_put_byte(char *buf, uint8_t b) {  // its character in UTF-8, at most two bytes
    uint32_t c = llm__tok_byte_char(b);
    buf[0] = (char)(c < 0x80 ? c : 0xc0 | c >> 6);
    buf[1] = (char)(0x80 | (c & 0x3f));
    return c < 0x80 ? 1 : 2;
}
static int llm__tok_hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// ---- loading

static uint32_t llm__tok_table_size(uint64_t n) {          // a power of two at which n entries fill at most 60 %
    uint64_t size = 16;
    while (size * 3 < n * 5) size *= 2;
    return (uint32_t)size;
}
// The tables are larger than the caches, so they are filled and read a batch at a time: while one is hashed its slots are fetched.
// Measured: 17 ms instead of 36 for 152 thousand tokens and 151 thousand merges, 20 instead of 53 for 128 and 280 thousand.
#define LLM__VOCAB_BATCH 16

// Two tokens of one text: the later is the one that is found.
static void llm__vocab_add(llm__vocab *v, uint32_t t, uint64_t h) {
    uint32_t i = (uint32_t)h & v->slot_mask, k = 0;
    for (; v->slots[i].token; i = (i + 1) & v->slot_mask) {
        if (v->slots[i].hash == h && llm__str_eq(llm__tok_text(v, v->slots[i].token - 1), llm__tok_text(v, t))) break;
        if (++k == LLM__TOK_REACH) { v->crowded = true; return; }
    }
    v->slots[i].hash = h;
    v->slots[i].token = t + 1;
}
// Notes the bytes behind which a token goes on with a space.
static void llm__vocab_joints(llm__vocab *v, llm__str s) {
    size_t i;
    for (i = 1; i + 3 <= s.n; i++)
        if (memcmp(s.p + i, "\xe2\x96\x81", 3) == 0) v->joints[(uint8_t)s.p[i - 1] / 8] |= (uint8_t)(1 << (uint8_t)s.p[i - 1] % 8);
}
static void llm__vocab_add_batch(llm__vocab *v, uint32_t first, uint32_t n, const uint8_t **next) {
    uint64_t hash[LLM__VOCAB_BATCH];
    uint32_t i;
    for (i = 0; i < n; i++) {
        llm__str s;
        v->at[first + i] = (uint32_t)(*next - v->text);
        s = llm__gguf_str_next(next);
        hash[i] = s.n && s.n <= UINT32_MAX / 4 ? llm__tok_mix(llm__tok_hash(LLM__FNV_BASIS, s)) : 0;
        if (hash[i]) v->longest = LLM__MAX(v->longest, (uint32_t)s.n);
        if (!llm__by_merges(v)) llm__vocab_joints(v, s);
        LLM__PREFETCH(&v->slots[(uint32_t)hash[i] & v->slot_mask]);
    }
    for (i = 0; i < n; i++)
        if (hash[i]) llm__vocab_add(v, first + i, hash[i]);                      // an empty text is never found
}
static llm_result llm__vocab_crowded(llm_error *e, const char *key) {
    return llm__fail(e, LLM_BAD_FILE, "key '%s': its texts were chosen so that looking one up takes as long as reading all of them", key);
}
static llm_result llm__vocab_tokens(llm__vocab *v, const llm__heap *h, const llm__gguf_kv *kv, llm_error *e) {
    const uint8_t *next = kv->value;
    uint32_t t, size = llm__tok_table_size(kv->n);
    v->n_tokens = (uint32_t)kv->n;
    v->text = kv->value;
    v->at = LLM__NEW(h, uint32_t, v->n_tokens);
    v->slots = (llm__tok_slot *)llm__alloc_zero(h, size, sizeof(llm__tok_slot));
    v->slot_mask = size - 1;
    if (!v->at || !v->slots) return llm__fail(e, LLM_NO_MEMORY, "no memory for the table of %u tokens", v->n_tokens);
    for (t = 0; t < v->n_tokens && !v->crowded; t += LLM__VOCAB_BATCH)
        llm__vocab_add_batch(v, t, LLM__MIN(LLM__VOCAB_BATCH, v->n_tokens - t), &next);
    return v->crowded ? llm__vocab_crowded(e, "tokenizer.ggml.tokens") : LLM_OK;
}
static llm_result llm__vocab_short(llm_error *e, const char *key, uint64_t n, uint32_t n_tokens) {
    return llm__fail(e, LLM_BAD_FILE, "key '%s': %U elements for %u tokens", key, n, n_tokens);
}
static llm_result llm__vocab_types(llm__vocab *v, const llm__heap *h, const llm__gguf *g, llm_error *e) {
    static const uint8_t attr[] = {
        0, LLM__TOK_NORMAL, LLM__TOK_UNKNOWN, LLM__TOK_CONTROL, LLM__TOK_USER, LLM__TOK_UNUSED, LLM__TOK_BYTE
    };
    const char *key = "tokenizer.ggml.token_type";
    const uint8_t *types = NULL;
    uint64_t n = 0;
    uint32_t t;
    llm_result r = llm__gguf_array(g, key, LLM__GGUF_I32, &n, &types, e);
    if (r != LLM_OK) return r;
    if (llm__gguf_find(g, llm__str_of(key)) && n < v->n_tokens) return llm__vocab_short(e, key, n, v->n_tokens);
    v->attr = (uint8_t *)llm__alloc_bytes(h, (uint64_t)v->n_tokens + 1);
    if (!v->attr) return llm__fail(e, LLM_NO_MEMORY, "no memory for the types of %u tokens", v->n_tokens);
    for (t = 0; t < v->n_tokens; t++) {
        uint32_t type = n ? llm__le32(types + (size_t)t * 4) : 1;
        v->attr[t] = type < sizeof attr ? attr[type] : 0;
    }
    return LLM_OK;
}
static llm_result llm__vocab_scores(llm__vocab *v, const llm__gguf *g, llm_error *e) {
    const char *key = "tokenizer.ggml.scores";
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    uint64_t n = 0;
    llm_result r;
    v->int_scores = kv && kv->type == LLM__GGUF_ARRAY && kv->elem_type == LLM__GGUF_I32;
    r = llm__gguf_array(g, key, v->int_scores ? LLM__GGUF_I32 : LLM__GGUF_F32, &n, &v->scores, e);
    if (r != LLM_OK) return r;
    return kv && n < v->n_tokens ? llm__vocab_short(e, key, n, v->n_tokens) : LLM_OK;
}
// By hash alone: 64 bits hold a few hundred thousand texts apart, and a file made to collide only spoils its own merges.
static uint32_t llm__vocab_hashed(const llm__vocab *v, uint64_t h) {                 // token + 1, 0 if there is none
    uint32_t i = (uint32_t)h & v->slot_mask, k = 0;
    while (v->slots[i].token && v->slots[i].hash != h) {
        if (++k == LLM__TOK_REACH) return 0;
        i = (i + 1) & v->slot_mask;
    }
    return v->slots[i].token;
}
// Of two merges of one pair the earlier counts.
static void llm__vocab_add_merge(llm__vocab *v, const llm__tok_merge *m) {
    uint32_t i = llm__tok_merge_slot(v, m->left, m->right), k = 0;
    for (; v->merges[i].merged; i = (i + 1) & v->merge_mask) {
        if (v->merges[i].left == m->left && v->merges[i].right == m->right) return;
        if (++k == LLM__TOK_REACH) { v->crowded = true; return; }
    }
    v->merges[i] = *m;
}
// "left right": the first space that is not the first byte parts them. A merge of what is no token, or into what is none, cannot
// happen.
static void llm__vocab_merge_batch(llm__vocab *v, uint32_t first, uint32_t n, const uint8_t **next) {
    uint64_t hash[LLM__VOCAB_BATCH][3];
    llm__tok_merge m[LLM__VOCAB_BATCH];
    uint32_t i, k;
    for (i = 0; i < n; i++) {
        llm__str s = llm__gguf_str_next(next), a = s, b = s;
        for (a.n = 1; a.n < s.n && s.p[a.n] != ' '; a.n++) { }
        if (a.n >= s.n) a.n = b.n = 0;
        else b = llm__str_n(s.p + a.n + 1, s.n - a.n - 1);
        hash[i][0] = llm__tok_hash(LLM__FNV_BASIS, a);
        hash[i][1] = llm__tok_mix(llm__tok_hash(LLM__FNV_BASIS, b));
        hash[i][2] = llm__tok_mix(llm__tok_hash(hash[i][0], b));
        hash[i][0] = llm__tok_mix(hash[i][0]);
        for (k = 0; k < 3; k++) LLM__PREFETCH(&v->slots[(uint32_t)hash[i][k] & v->slot_mask]);
    }
    for (i = 0; i < n; i++) {
        m[i].left = llm__vocab_hashed(v, hash[i][0]);
        m[i].right = llm__vocab_hashed(v, hash[i][1]);
        m[i].merged = llm__vocab_hashed(v, hash[i][2]);
        if (!m[i].left || !m[i].right) m[i].merged = 0;
        m[i].rank = first + i;
        m[i].left--;
        m[i].right--;
        LLM__PREFETCH(&v->merges[llm__tok_merge_slot(v, m[i].left, m[i].right)]);
    }
    for (i = 0; i < n; i++)
        if (m[i].merged) llm__vocab_add_merge(v, &m[i]);
}
static llm_result llm__vocab_merges(llm__vocab *v, const llm__heap *h, const llm__gguf *g, llm_error *e) {
    const uint8_t *next = NULL;
    uint64_t n = 0;
    uint32_t i, size;
    llm_result r = llm__gguf_array(g, "tokenizer.ggml.merges", LLM__GGUF_STRING, &n, &next, e);
    if (r != LLM_OK) return r;
    if (n > UINT32_MAX / 8) return llm__fail(e, LLM_BAD_FILE, "key 'tokenizer.ggml.merges': %U elements", n);
    size = llm__tok_table_size(n);
    v->merges = (llm__tok_merge *)llm__alloc_zero(h, size, sizeof(llm__tok_merge));
    v->merge_mask = size - 1;
    if (!v->merges) return llm__fail(e, LLM_NO_MEMORY, "no memory for the table of %U merges", n);
    for (i = 0; i < n && !v->crowded; i += LLM__VOCAB_BATCH)
        llm__vocab_merge_batch(v, i, LLM__MIN(LLM__VOCAB_BATCH, (uint32_t)n - i), &next);
    return v->crowded ? llm__vocab_crowded(e, "tokenizer.ggml.merges") : LLM_OK;
}
static llm_token llm__vocab_byte(const llm__vocab *v, const char *p, size_t n) {
    const llm_token t = llm__tok_find(v, llm__str_n(p, n));
    return t >= 0 && (v->attr[t] & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN)) ? -1 : t;        // no text makes those, however short
}
// The token of each single byte: "<0xAB>", in byte-level vocabularies the character that stands for it.
static void llm__vocab_bytes(llm__vocab *v) {
    unsigned b;
    for (b = 0; b < 256; b++) {
        char name[8] = "<0x00>", c = (char)b;
        if (v->family == LLM__TOK_BYTES) {
            v->byte_token[b] = llm__vocab_byte(v, name, llm__tok_put_byte(name, (uint8_t)b));
            continue;
        }
        name[3] = "0123456789ABCDEF"[b >> 4];
        name[4] = "0123456789ABCDEF"[b & 15];
        v->byte_token[b] = llm__vocab_byte(v, name, 6);
        if (v->byte_token[b] < 0 && !llm__by_merges(v)) {
            v->byte_token[b] = llm__vocab_byte(v, &c, 1);
            if (v->byte_token[b] < 0) v->byte_token[b] = v->special[LLM_UNK];
        }
    }
}

// ---- special tokens: what the file says, else the names that are known. The lists of names follow llama.cpp (MIT).

// Takes the next of a list of names separated by spaces; the token it is, -1 if it is none.
static llm_token llm__vocab_next_name(const llm__vocab *v, const char **names) {
    const char *name = *names;
    const size_t n = llm__until(name, ' ');
    *names = name + n + (name[n] == ' ');
    return llm__tok_find(v, llm__str_n(name, n));
}
// The first of the names that is a token; -1 if none is.
static llm_token llm__vocab_named(const llm__vocab *v, const char *names) {
    llm_token t = -1;
    while (*names && t < 0) t = llm__vocab_next_name(v, &names);
    return t;
}
// The token that a key names, else `otherwise`. An id out of range counts as absent: -1 says "none" in some files.
static llm_result llm__vocab_id(const llm__vocab *v, const llm__gguf *g, const char *key, llm_token otherwise, llm_token *out,
                                llm_error *e) {
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    int64_t id = -1;
    bool huge = false;
    if (kv && (kv->type == LLM__GGUF_ARRAY || !llm__gguf_integer(kv, 0, false, &id, &huge)))
        return llm__gguf_mismatch(kv, "an integer", e);
    if (id < 0 || id >= (int64_t)v->n_tokens) id = otherwise;
    *out = id < (int64_t)v->n_tokens ? (llm_token)id : LLM_NO_TOKEN;
    return LLM_OK;
}
static void llm__vocab_ends(llm__vocab *v, llm_token t) {
    if (t >= 0) v->attr[t] |= LLM__TOK_EOG;
}
// Every one of the names that is a token ends an answer, and is a control token whatever the file calls it.
static void llm__vocab_end_names(llm__vocab *v, const char *names) {
    while (*names) {
        llm_token t = llm__vocab_next_name(v, &names);
        if (t >= 0) v->attr[t] |= LLM__TOK_EOG | LLM__TOK_CONTROL;
    }
}

#define LLM__BAR "\xef\xbd\x9c"              // the full-width bar and the low line of DeepSeek's names
#define LLM__LOW "\xe2\x96\x81"

typedef struct llm__vocab_row { const char *key, *old_key, *names; } llm__vocab_row;

enum { LLM__VOCAB_EOM = 8, LLM__VOCAB_FIM_PAD, LLM__VOCAB_FIM_REPO, LLM__VOCAB_FIM_FILE, LLM__VOCAB_ROWS };    // llm_special goes on

static const llm__vocab_row llm__vocab_rows[LLM__VOCAB_ROWS] = {
    {"tokenizer.ggml.bos_token_id", NULL,
        "<|begin_of_text|> <bos> <s> <" LLM__BAR "begin" LLM__LOW "of" LLM__LOW "sentence" LLM__BAR "> <|startoftext|>"},
    {"tokenizer.ggml.eos_token_id", NULL,
        "<|end_of_text|> <eos> </s> <" LLM__BAR "end" LLM__LOW "of" LLM__LOW "sentence" LLM__BAR "> <|endoftext|> <|im_end|>"},
    {"tokenizer.ggml.eot_token_id", NULL,
        "<|eot_id|> <|im_end|> <|end|> <end_of_turn> <turn|> <EOT> _<EOT> [EOT] <end_of_utterance> <|endoftext|> <|end_of_text|> "
        "<" LLM__BAR "end" LLM__LOW "of" LLM__LOW "sentence" LLM__BAR ">"},
    {"tokenizer.ggml.padding_token_id", NULL, ""},
    {"tokenizer.ggml.unknown_token_id", NULL, ""},
    {"tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id",
        "<|fim_prefix|> <fim-prefix> <fim_prefix> <" LLM__BAR "fim" LLM__LOW "begin" LLM__BAR "> <PRE> " LLM__LOW "<PRE> "
        "<|code_prefix|> <|prefix|>"},
    {"tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id",
        "<|fim_suffix|> <fim-suffix> <fim_suffix> <" LLM__BAR "fim" LLM__LOW "hole" LLM__BAR "> <SUF> " LLM__LOW "<SUF> "
        "<|code_suffix|> <|suffix|>"},
    {"tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id",
        "<|fim_middle|> <fim-middle> <fim_middle> <" LLM__BAR "fim" LLM__LOW "end" LLM__BAR "> <MID> " LLM__LOW "<MID> "
        "<|code_middle|> <|middle|>"},
    {"tokenizer.ggml.eom_token_id", NULL, "<|eom_id|>"},
    {"tokenizer.ggml.fim_pad_token_id", NULL, "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]"},
    {"tokenizer.ggml.fim_rep_token_id", NULL, "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>"},
    {"tokenizer.ggml.fim_sep_token_id", NULL, "<|file_sep|>"},
};
static const char llm__vocab_ends_all[] =
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> <EOT> _<EOT> "
    "[EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> [e~[ "
    "<" LLM__BAR "end" LLM__LOW "of" LLM__LOW "sentence" LLM__BAR ">";

// Names that part the channels of an answer (gpt-oss): they are shown, or nobody could tell its thoughts from its words. And names that
// end an answer in most vocabularies and are ordinary in a few.
static void llm__vocab_exceptions(llm__vocab *v) {
    static const char *const shown[] = { "<|channel|>", "<|message|>", "<|start|>", "<|constrain|>" };
    llm_token end = llm__vocab_named(v, "<|end|>"), s = llm__vocab_named(v, "</s>");
    bool call = llm__vocab_named(v, "<|call|> <|calls|>") >= 0;
    size_t i;
    for (i = 0; i < LLM__COUNT(shown); i++) {
        llm_token t = llm__vocab_named(v, shown[i]);
        if (t >= 0) v->attr[t] = LLM__TOK_USER;
    }
    if (end >= 0 && call && llm__vocab_named(v, "<|return|> <|flush|>") >= 0) v->attr[end] = LLM__TOK_USER;
    if (s >= 0 && llm__vocab_named(v, "<|tool_response>") >= 0) v->attr[s] = LLM__TOK_NORMAL;
}
// "tokenizer.ggml.eos_token_ids": all that end an answer, for files that say so.
static llm_result llm__vocab_end_list(llm__vocab *v, const llm__gguf *g, llm_error *e) {
    const char *key = "tokenizer.ggml.eos_token_ids";
    const llm__gguf_kv *kv = llm__gguf_find(g, llm__str_of(key));
    const uint8_t *ids = NULL;
    uint64_t n = 0, i;
    llm_result r;
    if (!kv) return LLM_OK;
    r = llm__gguf_array(g, key, kv->elem_type == LLM__GGUF_U32 ? LLM__GGUF_U32 : LLM__GGUF_I32, &n, &ids, e);
    for (i = 0; r == LLM_OK && i < n; i++) {
        uint32_t id = llm__le32(ids + (size_t)i * 4);
        if (id < v->n_tokens) llm__vocab_ends(v, (llm_token)id);
    }
    return r;
}
static llm_result llm__vocab_specials(llm__vocab *v, const llm__gguf *g, llm_error *e) {
    llm_token ids[LLM__VOCAB_ROWS], fixed[LLM__VOCAB_ROWS];
    llm_result r = LLM_OK;
    size_t i;
    for (i = 0; i < LLM__VOCAB_ROWS; i++) fixed[i] = ids[i] = LLM_NO_TOKEN;
    if (!llm__by_merges(v)) { fixed[LLM_UNK] = 0; fixed[LLM_BOS] = 1; fixed[LLM_EOS] = 2; }       // SentencePiece's order
    for (i = 0; i < LLM__VOCAB_ROWS && r == LLM_OK; i++) {
        const llm__vocab_row *row = &llm__vocab_rows[i];
        r = llm__vocab_id(v, g, row->key, fixed[i], &ids[i], e);
        if (r == LLM_OK && row->old_key) r = llm__vocab_id(v, g, row->old_key, ids[i], &ids[i], e);
        if (ids[i] < 0 && *row->names) {
            ids[i] = llm__vocab_named(v, row->names);
            if (ids[i] >= 0 && i > LLM_EOS) v->attr[ids[i]] |= LLM__TOK_CONTROL;
        }
    }
    if (r != LLM_OK) return r;
    memcpy(v->special, ids, sizeof v->special);
    llm__vocab_end_names(v, llm__vocab_ends_all);
    for (i = LLM__VOCAB_EOM; i < LLM__VOCAB_ROWS; i++) llm__vocab_ends(v, ids[i]);
    llm__vocab_ends(v, ids[LLM_EOS]);
    llm__vocab_ends(v, ids[LLM_EOT]);
    llm__vocab_exceptions(v);
    r = llm__vocab_end_list(v, g, e);
    if (r == LLM_OK) r = llm__gguf_bool(g, "tokenizer.ggml.add_bos_token", &v->add_bos, e);
    if (r == LLM_OK) r = llm__gguf_bool(g, "tokenizer.ggml.add_eos_token", &v->add_eos, e);
    if (v->family == LLM__TOK_TEXT) v->add_bos = true;     // Gemma 4 needs it; some of its files say otherwise
    return r;
}

// ---- the tokens that are looked for in the text, sorted by their text

static bool llm__tok_before(const llm__vocab *v, uint32_t a, uint32_t b) {
    llm__str s = llm__tok_text(v, a), t = llm__tok_text(v, b);
    int order = memcmp(s.p, t.p, LLM__MIN(s.n, t.n));
    return order ? order < 0 : s.n != t.n ? s.n < t.n : a < b;
}
// Merge sort, bottom up; `other` has room for as many.
static void llm__tok_sort(const llm__vocab *v, uint32_t *ids, uint32_t *other, uint32_t n) {
    uint64_t width, from;
    for (width = 1; width < n; width *= 2) {
        for (from = 0; from < n; from += 2 * width) {
            uint64_t middle = LLM__MIN(from + width, n), end = LLM__MIN(from + 2 * width, n), a = from, b = middle, i;
            for (i = from; i < end; i++) {
                bool left = b >= end || (a < middle && llm__tok_before(v, ids[a], ids[b]));
                other[i] = left ? ids[a++] : ids[b++];
            }
        }
        memcpy(ids, other, (size_t)n * sizeof *ids);
    }
}
// Of those with one text the last is found and, where control tokens do not count, the last that is none. The others go: a file may give
// a million tokens one name, and a text would be compared with all of them wherever it has it. Returns where those that stay begin.
static uint32_t llm__vocab_thin(llm__vocab *v) {
    uint32_t *ids = v->specials, i = v->n_specials, to = i;
    llm__str behind = llm__str_n("", 0);     // none of them is empty
    unsigned seen = 0;                       // of the text of the one behind: 1 a control token, 2 another
    while (i--) {
        const llm__str text = llm__tok_text(v, ids[i]);
        const unsigned kind = v->attr[ids[i]] & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN) ? 1u : 2u;
        if (!llm__str_eq(text, behind)) seen = 0;
        if (!(seen & kind)) ids[--to] = ids[i];
        seen |= kind;
        behind = text;
    }
    return to;
}
static llm_result llm__vocab_index(llm__vocab *v, const llm__heap *h, llm_error *e) {
    const unsigned kinds = LLM__TOK_CONTROL | LLM__TOK_USER | LLM__TOK_UNKNOWN;
    uint32_t t, n = 0, i, *other;
    for (t = 0; t < v->n_tokens; t++) n += (v->attr[t] & kinds) != 0;
    v->specials = LLM__NEW(h, uint32_t, (uint64_t)n + 1);
    other = LLM__NEW(h, uint32_t, (uint64_t)n + 1);
    if (!v->specials || !other) {
        llm__free(h, other);
        return llm__fail(e, LLM_NO_MEMORY, "no memory for %u special tokens", n);
    }
    for (t = 0; t < v->n_tokens; t++)
        if ((v->attr[t] & kinds) && llm__tok_text(v, t).n) v->specials[v->n_specials++] = t;
    n = v->n_specials;                                     // those that are empty are none
    llm__tok_sort(v, v->specials, other, n);
    llm__free(h, other);
    for (i = llm__vocab_thin(v), t = 0; t < 257; t++) {
        while (i < n && (uint8_t)llm__tok_text(v, v->specials[i]).p[0] < t) i++;
        v->first[t] = i;
    }
    return LLM_OK;
}
// Phi-3's special tokens swallow the whitespace behind them. The file does not say so: its name does.
static void llm__vocab_strips(llm__vocab *v, llm__str name) {
    static const char *const keep[] = { "<unk>", "<s>", "<|endoftext|>" };
    bool phi3 = false;
    llm_token s = llm__vocab_named(v, "</s>");
    size_t i;
    for (i = 0; i + 4 <= name.n && !phi3; i++) {
        const char *p = name.p + i;
        size_t digit = p[3] == '-' && i + 5 <= name.n ? 4 : 3;
        phi3 = (p[0] | 0x20) == 'p' && (p[1] | 0x20) == 'h' && (p[2] | 0x20) == 'i' && p[digit] == '3';
    }
    if (!phi3) return;
    for (i = 0; i < v->n_specials; i++) v->attr[v->specials[i]] |= LLM__TOK_STRIPS;
    if (s >= 0) v->attr[s] |= LLM__TOK_STRIPS;
    for (i = 0; i < LLM__COUNT(keep); i++) {
        llm_token t = llm__vocab_named(v, keep[i]);
        if (t >= 0) v->attr[t] &= (uint8_t)~LLM__TOK_STRIPS;
    }
}

// ---- which family, which pre-tokenizer

// Files from before tokenizer.ggml.pre are known by the texts of their first n tokens: every 64th of them, hashed.
typedef struct llm__pre_print { uint32_t n; uint64_t hash; const char *name; } llm__pre_print;
static const llm__pre_print llm__pre_prints[] = {
    {151643, 0x022c54f6bcb9aa47u, "qwen2"},
    {128000, 0x62b88d6e5fa1f8bcu, "llama-bpe"},
    {100000, 0x5ff928218d172ca9u, "deepseek-llm"},
    {50256,  0x6f958ae75224a4d8u, "gpt-2"},
    {49152,  0x8ff81c487847af00u, "smollm"},
};
static uint64_t llm__pre_hash(const llm__gguf_kv *tokens, uint32_t n) {
    const uint8_t *next = tokens->value;
    uint64_t h = LLM__FNV_BASIS;
    uint32_t t;
    for (t = 0; t < n; t++) {
        llm__str s = llm__gguf_str_next(&next);
        if (t % 64 == 63) h = llm__tok_mix(llm__tok_hash(h, s));
    }
    return h;
}
static const char *llm__pre_recognise(const llm__gguf_kv *tokens) {
    size_t i;
    for (i = 0; i < LLM__COUNT(llm__pre_prints); i++) {
        const llm__pre_print *print = &llm__pre_prints[i];
        if (tokens->n >= print->n && llm__pre_hash(tokens, print->n) == print->hash) return print->name;
    }
    return NULL;
}
static llm_result llm__vocab_unusable(llm__vocab *v, const char *format, llm__str what) {
    v->status = LLM_UNSUPPORTED;
    llm__format(v->reason, sizeof v->reason, format, &what);
    return LLM_OK;
}
#if !LLM__SENTENCES
#define llm__vocab_unusable(v, format, what) llm__vocab_unusable((v), llm__result_text(LLM_UNSUPPORTED), (what))
#endif
// Leaves the reason in v when there is no text to be had from this file. SentencePiece style needs no pre-tokenizer.
static llm_result llm__vocab_pre(llm__vocab *v, const llm__gguf *g, const llm__gguf_kv *tokens, llm_error *e) {
    llm__str pre = llm__str_n("", 0);
    const char *known;
    llm_result r = llm__gguf_str(g, "tokenizer.ggml.pre", &pre, e);
    if (r != LLM_OK) return r;
    if (v->family == LLM__TOK_TEXT) v->pre = &llm__pre_gemma4;
    else if (!pre.n || llm__str_is(pre, "default")) {
        known = llm__pre_recognise(tokens);
        if (!known)
            return llm__vocab_unusable(v, "the file does not say how its vocabulary cuts text (tokenizer.ggml.pre is '%v'), and its "
                                          "tokens are not those of a known vocabulary", pre);
        pre = llm__str_of(known);
    }
    if (!v->pre) v->pre = llm__pre_find(pre);
    if (!v->pre) return llm__vocab_unusable(v, "the pre-tokenizer '%v' is not supported", pre);
    v->add_bos = (v->pre->flags & LLM__PRE_BOS) != 0;
    return LLM_OK;
}
static llm_result llm__vocab_family(llm__vocab *v, const llm__gguf *g, llm_error *e) {
    static const struct { const char *model; int family; } families[] = {
        {"llama", LLM__TOK_SCORES}, {"gpt2", LLM__TOK_BYTES}, {"gemma4", LLM__TOK_TEXT}
    };
    llm__str model = llm__str_n("", 0);
    const llm__gguf_kv *tokens = llm__gguf_find(g, llm__str_of("tokenizer.ggml.tokens")), *merges;
    const uint8_t *first = NULL;
    uint64_t n = 0;
    size_t i;
    llm_result r = llm__gguf_str(g, "tokenizer.ggml.model", &model, e);
    if (r == LLM_OK) r = llm__gguf_array(g, "tokenizer.ggml.tokens", LLM__GGUF_STRING, &n, &first, e);
    if (r != LLM_OK) return r;
    for (i = 0; i < LLM__COUNT(families); i++)
        if (llm__str_is(model, families[i].model)) v->family = families[i].family;
    v->add_bos = v->space_prefix = v->family == LLM__TOK_SCORES;
    merges = llm__gguf_find(g, llm__str_of("tokenizer.ggml.merges"));
    if (!model.n) return llm__vocab_unusable(v, "the file carries no vocabulary", model);
    if (!v->family) return llm__vocab_unusable(v, "the file carries no vocabulary that can be used (model '%v')", model);
    if (!LLM__SPM && v->family == LLM__TOK_SCORES)
        return llm__vocab_unusable(v, "vocabularies of the kind '%v' are left out of this build (LLM_NO_SPM)", model);
    if (!LLM__BPE && v->family != LLM__TOK_SCORES)
        return llm__vocab_unusable(v, "vocabularies of the kind '%v' are left out of this build (LLM_NO_BPE)", model);
    if (!n) return llm__vocab_unusable(v, "the vocabulary (model '%v') has no tokens", model);
    if (n > INT32_MAX || tokens->n_bytes > UINT32_MAX)
        return llm__vocab_unusable(v, "the vocabulary (model '%v') is larger than 4 GB", model);
    if (v->family != LLM__TOK_SCORES && !merges) return llm__vocab_unusable(v, "the vocabulary (model '%v') has no merges", model);
    return !llm__by_merges(v) ? LLM_OK : llm__vocab_pre(v, g, tokens, e);
}
static void llm__vocab_free(llm__vocab *v, const llm__heap *h) {
    llm__free(h, v->at);
    llm__free(h, v->attr);
    llm__free(h, v->slots);
    llm__free(h, v->merges);
    llm__free(h, v->specials);
    memset(v, 0, sizeof *v);
    v->status = LLM_UNSUPPORTED;
}
// LLM_OK with v->status telling whether there is text; failure only for want of memory and for a damaged file, and then v is empty.
static llm_result llm__vocab_load(llm__vocab *v, const llm__heap *h, const llm__gguf *g, llm_error *e) {
    llm__str name = llm__str_n("", 0);
    llm_result r;
    size_t i;
    memset(v, 0, sizeof *v);
    for (i = 0; i < LLM__COUNT(v->special); i++) v->special[i] = LLM_NO_TOKEN;
    r = llm__vocab_family(v, g, e);
    if (r == LLM_OK && v->status != LLM_OK) return llm__ok(e);
    if (r == LLM_OK) r = llm__vocab_tokens(v, h, llm__gguf_find(g, llm__str_of("tokenizer.ggml.tokens")), e);
    if (r == LLM_OK) r = llm__vocab_types(v, h, g, e);
    if (r == LLM_OK && !llm__by_merges(v)) r = llm__vocab_scores(v, g, e);
    if (r == LLM_OK && llm__by_merges(v)) r = llm__vocab_merges(v, h, g, e);
    if (r == LLM_OK && !llm__by_merges(v)) r = llm__gguf_bool(g, "tokenizer.ggml.add_space_prefix", &v->space_prefix, e);
    if (r == LLM_OK) r = llm__vocab_specials(v, g, e);
    if (r == LLM_OK) r = llm__vocab_index(v, h, e);
    if (r == LLM_OK) r = llm__gguf_str(g, "general.name", &name, e);
    if (r != LLM_OK) { llm__vocab_free(v, h); return r; }
    llm__vocab_bytes(v);
    llm__vocab_strips(v, name);
    return llm__ok(e);
}

// ---- text -> tokens

typedef struct llm__span { size_t begin, end; } llm__span;

typedef struct llm__tok_sym { uint32_t at, n, prev, next; llm_token token; } llm__tok_sym;     // n = 0: merged into the one before it
typedef struct llm__tok_pair { uint64_t key; uint32_t n; llm_token token; } llm__tok_pair;      // smallest key first

#define LLM__TOK_LAST UINT32_MAX

typedef struct llm__tok_queue { llm__tok_pair *p; size_t n, cap; } llm__tok_queue;

// What one call of encode works with; nothing of it outlives the call.
typedef struct llm__tok_work {
    const llm__vocab *v;
    const llm__heap *h;
    unsigned flags;
    const llm__span *plain;
    size_t n_plain;
    llm_token *out;
    size_t cap, n;
    char *buf; size_t cap_buf;               // the text with its spaces escaped and its bad bytes replaced
    char *spelled; size_t cap_spelled;       // one piece as a byte-level vocabulary spells it
    llm__tok_sym *sym; size_t cap_sym;
    llm__tok_queue pairs;                     // merges that are possible now, stale ones among them
    llm__tok_queue found, cuts;               // special tokens: candidates, then those that hold
    uint8_t *taken;                          // [text] covered by a cut
    bool failed, foreign;                    // no memory; or (foreign) a text that this build cannot cut
} llm__tok_work;

static void llm__tok_push(llm__tok_work *w, llm__tok_queue *q, uint64_t key, uint32_t n, llm_token token) {
    void *p = q->p;
    size_t i = q->n;
    if (w->failed || !llm__grow(w->h, &p, &q->cap, q->n + 1, sizeof(llm__tok_pair))) { w->failed = true; return; }
    q->p = (llm__tok_pair *)p;
    q->n++;
    for (; i > 0 && q->p[(i - 1) / 2].key > key; i = (i - 1) / 2) q->p[i] = q->p[(i - 1) / 2];
    q->p[i].key = key;
    q->p[i].n = n;
    q->p[i].token = token;
}
static llm__tok_pair llm__tok_pop(llm__tok_queue *q) {
    llm__tok_pair top = q->p[0], last = q->p[--q->n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < q->n) {
        if (child + 1 < q->n && q->p[child + 1].key < q->p[child].key) child++;
        if (q->p[child].key >= last.key) break;
        q->p[i] = q->p[child];
        i = child;
    }
    q->p[i] = last;
    return top;
}
static void llm__tok_emit(llm__tok_work *w, llm_token t) {
    if (w->n < w->cap) w->out[w->n] = t;
    w->n++;
}
// A control token is never made out of text that merely spells it.
static bool llm__tok_forbidden(const llm__vocab *v, llm_token t) {
    return (v->attr[t] & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN)) != 0;
}
// Higher scores first, NaN last: the bits of a float put in order.
static uint32_t llm__tok_score_key(const llm__vocab *v, llm_token t) {
    uint32_t u;
    float f;
    if (!v->scores) return 0;
    u = llm__le32(v->scores + (size_t)t * 4);
    f = v->int_scores ? (float)(int32_t)u : llm__bits_f32(u);
    if (llm__f32_is_nan(f)) return UINT32_MAX;
    u = llm__f32_bits(f == 0.0f ? 0.0f : f);
    return u >> 31 ? u : ~(u | 0x80000000u);
}
// Queues the merge of the symbol with the one behind it, if there is such a merge.
static void llm__tok_try(llm__tok_work *w, const char *text, uint32_t left) {
    const llm__vocab *v = w->v;
    const llm__tok_sym *a, *b;
    llm_token merged = -1;
    uint32_t rank = 0;
    if (left == LLM__TOK_LAST || w->sym[left].next == LLM__TOK_LAST) return;
    a = &w->sym[left];
    b = &w->sym[a->next];
    if (!llm__by_merges(v)) {
        merged = llm__tok_find(v, llm__str_n(text + a->at, (size_t)a->n + b->n));
        if (merged >= 0) rank = llm__tok_score_key(v, merged);
    } else if (a->token >= 0 && b->token >= 0) {
        merged = llm__tok_merged(v, (uint32_t)a->token, (uint32_t)b->token, &rank);
    }
    if (merged < 0 || llm__tok_forbidden(v, merged)) return;
    llm__tok_push(w, &w->pairs, (uint64_t)rank << 32 | left, a->n + b->n, merged);
}
// Merges the symbols, best first, leftmost first among equals. A queued pair is stale when one of its halves has been merged since:
// then the left one is gone, or the two no longer have the length they had.
static void llm__tok_merge_all(llm__tok_work *w, const char *text, uint32_t n) {
    uint32_t i;
    w->pairs.n = 0;
    for (i = 0; i < n && !w->failed; i++) llm__tok_try(w, text, i);
    while (w->pairs.n && !w->failed) {
        llm__tok_pair pair = llm__tok_pop(&w->pairs);
        uint32_t left = (uint32_t)pair.key, right = w->sym[left].next;
        if (!w->sym[left].n || right == LLM__TOK_LAST || w->sym[left].n + w->sym[right].n != pair.n) continue;
        w->sym[left].n = pair.n;
        w->sym[left].token = pair.token;
        w->sym[left].next = w->sym[right].next;
        w->sym[right].n = 0;
        if (w->sym[left].next != LLM__TOK_LAST) w->sym[w->sym[left].next].prev = left;
        llm__tok_try(w, text, w->sym[left].prev);
        llm__tok_try(w, text, left);
    }
}
// One piece: symbols, merges, tokens. What is no token comes out as its bytes.
static void llm__tok_word(llm__tok_work *w, const char *text, uint32_t bytes) {
    const llm__vocab *v = w->v;
    void *p = w->sym;
    uint32_t n = 0, at = 0, i, j;
    if (!bytes || w->failed) return;
    if (!llm__grow(w->h, &p, &w->cap_sym, bytes, sizeof(llm__tok_sym))) { w->failed = true; return; }
    w->sym = (llm__tok_sym *)p;
    for (; at < bytes; at += w->sym[n++].n) {
        llm__tok_sym *s = &w->sym[n];
        uint8_t b = (uint8_t)text[at];
        s->at = at;
        s->n = 1;
        if (v->family != LLM__TOK_BYTES) llm__utf8_get(text + at, bytes - at, &s->n);
        s->prev = n ? n - 1 : LLM__TOK_LAST;
        s->next = at + s->n < bytes ? n + 1 : LLM__TOK_LAST;
        s->token = v->family == LLM__TOK_BYTES ? v->byte_token[b] : llm__tok_find(v, llm__str_n(text + at, s->n));
        if (s->token >= 0 && v->family != LLM__TOK_BYTES && llm__tok_forbidden(v, s->token)) s->token = -1;
    }
    llm__tok_merge_all(w, text, n);
    for (i = 0; i != LLM__TOK_LAST && !w->failed; i = w->sym[i].next) {
        const llm__tok_sym *s = &w->sym[i];
        if (s->token >= 0) { llm__tok_emit(w, s->token); continue; }
        for (j = 0; j < s->n; j++) {
            llm_token t = v->byte_token[(uint8_t)text[s->at + j]];
            if (t >= 0) llm__tok_emit(w, t);
        }
    }
}
// A text without a pre-tokenizer merges as a whole. But no merge reaches over a place where no token goes on, and in the vocabularies there
// are no token has a space behind anything but a space: there the words one by one come to the same, in the memory of the longest.
static void llm__tok_words(llm__tok_work *w, llm__str s) {
    const uint8_t *joints = w->v->joints;
    size_t at = 0, end;
    for (; at < s.n && !w->failed; at = end) {
        for (end = at + 1; end < s.n; end++)
            if (s.n - end >= 3 && memcmp(s.p + end, "\xe2\x96\x81", 3) == 0
                && !(joints[(uint8_t)s.p[end - 1] / 8] >> (uint8_t)s.p[end - 1] % 8 & 1)) break;
        llm__tok_word(w, s.p + at, (uint32_t)(end - at));
    }
}
// The token that is the whole piece, where such tokens go before merges; -1 if none.
static llm_token llm__tok_whole_word(llm__tok_work *w, const char *text, size_t bytes) {
    const llm__vocab *v = w->v;
    void *p = w->spelled;
    llm_token t;
    size_t i, n = 0;
    if (v->family == LLM__TOK_TEXT) t = text[0] == '\n' ? llm__tok_find(v, llm__str_n(text, bytes)) : -1;
    else if (!(v->pre->flags & LLM__PRE_WHOLE_WORDS) || bytes > v->longest) return -1;
    else {
        if (!llm__grow(w->h, &p, &w->cap_spelled, 2 * bytes, 1)) { w->failed = true; return -1; }
        w->spelled = (char *)p;
        for (i = 0; i < bytes; i++) n += llm__tok_put_byte(w->spelled + n, (uint8_t)text[i]);
        t = llm__tok_find(v, llm__str_n(w->spelled, n));
    }
    return t >= 0 && !llm__tok_forbidden(v, t) ? t : -1;
}
// The text as the family wants it: spaces as U+2581 with one more in front if `prefix`, and valid UTF-8 where pieces are cut.
static llm__str llm__tok_prepare(llm__tok_work *w, llm__str s, bool prefix) {
    bool escape = w->v->family != LLM__TOK_BYTES, clean = llm__by_merges(w->v);
    void *p = w->buf;
    size_t i, n = 0, length = clean ? llm__utf8_clean(s.p, s.n, NULL, 0) : s.n, room = length + 3;
    if (!escape && length == s.n) return s;
    for (i = 0; escape && i < s.n; i++) room += s.p[i] == ' ' ? 2 : 0;
    if (!llm__grow(w->h, &p, &w->cap_buf, room, 1)) { w->failed = true; return llm__str_n("", 0); }
    w->buf = (char *)p;
    if (!escape) return llm__str_n(w->buf, llm__utf8_clean(s.p, s.n, w->buf, length));
    if (prefix) { memcpy(w->buf, "\xe2\x96\x81", 3); n = 3; }
    for (i = 0; i < s.n; ) {
        uint32_t one = 1, width;
        bool bad = clean && llm__utf8_get(s.p + i, s.n - i, &one) == LLM__UTF8_BAD, space = s.p[i] == ' ';
        width = bad || space ? 3 : one;
        memcpy(w->buf + n, space ? "\xe2\x96\x81" : bad ? "\xef\xbf\xbd" : s.p + i, width);
        n += width;
        i += one;
    }
    return llm__str_n(w->buf, n);
}
// Text without special tokens in it.
static void llm__tok_raw(llm__tok_work *w, llm__str s, bool prefix) {
    const llm__pre *pre = w->v->pre;
    size_t ends[LLM__PRE_STAGES] = { 0 }, at = 0, parent;
    unsigned stage;
    llm_token t;
    s = llm__tok_prepare(w, s, prefix);
    if (!llm__by_merges(w->v)) { llm__tok_words(w, s); return; }
    if (!LLM__UNICODE && w->v->family == LLM__TOK_BYTES && !llm__str_ascii(s)) { w->foreign = w->failed = true; return; }
    while (at < s.n && !w->failed) {
        for (stage = 0, parent = s.n; stage < LLM__PRE_STAGES && pre->stages[stage]; stage++) {
            if (ends[stage] == at) ends[stage] = pre->stages[stage](s.p, at, parent);
            parent = ends[stage];
        }
        t = llm__tok_whole_word(w, s.p + at, parent - at);
        if (t >= 0) llm__tok_emit(w, t);
        else llm__tok_word(w, s.p + at, (uint32_t)(parent - at));
        at = parent;
    }
}

// ---- special tokens in the text

// Looks like markup: what a message could forge a turn with.
static bool llm__tok_is_markup(llm__str s) {
    char a = s.p[0], b = s.p[s.n - 1];
    return (a == '<' && b == '>') || (a == '[' && b == ']');
}
static bool llm__tok_touches_plain(const llm__tok_work *w, size_t begin, size_t end) {
    size_t lo = 0, hi = w->n_plain;
    while (lo < hi) {                                      // the first range that ends behind begin
        size_t middle = (lo + hi) / 2;
        if (w->plain[middle].end <= begin) lo = middle + 1;
        else hi = middle;
    }
    return lo < w->n_plain && w->plain[lo].begin < end;
}
// Control tokens only on request and never in a message; tokens that the file's author added to ordinary text always, except in a
// message where they look like markup.
static bool llm__tok_may_cut(const llm__tok_work *w, uint32_t t, size_t begin, size_t end) {
    bool control = (w->v->attr[t] & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN)) != 0;
    if (control && !(w->flags & LLM_PARSE_SPECIAL)) return false;
    if (!w->n_plain || (!control && !llm__tok_is_markup(llm__tok_text(w->v, t)))) return true;
    return !llm__tok_touches_plain(w, begin, end);
}
static uint8_t llm__tok_special_byte(const llm__vocab *v, uint32_t i, uint32_t depth) {
    return (uint8_t)llm__tok_text(v, v->specials[i]).p[depth];
}
// Of specials[from .. to), which are in the order of their bytes at depth: the first with least or more.
static uint32_t llm__tok_specials_bound(const llm__vocab *v, uint32_t from, uint32_t to, uint32_t depth, uint32_t least) {
    while (from < to) {
        const uint32_t at = from + (to - from) / 2;
        if (llm__tok_special_byte(v, at, depth) < least) from = at + 1;
        else to = at;
    }
    return from;
}
// The first with c or more, and the first with more than c. Each is looked for from the end where it is if all of them go on with c: so a
// token costs a text that spells it little, however many it begins.
static uint32_t llm__tok_specials_from(const llm__vocab *v, uint32_t from, uint32_t to, uint32_t depth, uint8_t c) {
    uint32_t step, at;
    for (step = 1; from < to; step *= 2) {
        at = from + LLM__MIN(step, to - from) - 1;
        if (llm__tok_special_byte(v, at, depth) >= c) { to = at; break; }
        from = at + 1;
    }
    return llm__tok_specials_bound(v, from, to, depth, c);
}
static uint32_t llm__tok_specials_behind(const llm__vocab *v, uint32_t from, uint32_t to, uint32_t depth, uint8_t c) {
    uint32_t step, at;
    for (step = 1; from < to; step *= 2) {
        at = to - LLM__MIN(step, to - from);
        if (llm__tok_special_byte(v, at, depth) <= c) { from = at + 1; break; }
        to = at;
    }
    return llm__tok_specials_bound(v, from, to, depth, c + 1u);
}
// The longest special token at `at` of at most `limit` bytes; -1 if there is none. Narrows the sorted list byte by byte.
static llm_token llm__tok_special_at(const llm__tok_work *w, llm__str text, size_t at, size_t limit, uint32_t *n) {
    const llm__vocab *v = w->v;
    uint8_t c = (uint8_t)text.p[at];
    uint32_t lo = v->first[c], hi = v->first[c + 1], depth = 1;
    llm_token best = -1;
    limit = LLM__MIN(limit, text.n - at);
    for (; lo < hi; depth++) {
        for (; lo < hi && llm__tok_text(v, v->specials[lo]).n == depth; lo++)
            if (llm__tok_may_cut(w, v->specials[lo], at, at + depth)) { best = (llm_token)v->specials[lo]; *n = depth; }
        if (depth >= limit) break;
        c = (uint8_t)text.p[at + depth];
        lo = llm__tok_specials_from(v, lo, hi, depth, c);
        hi = llm__tok_specials_behind(v, lo, hi, depth, c);
    }
    return best;
}
// Longest first, leftmost first among equals: what a longer one has taken is closed to the shorter.
static void llm__tok_cut(llm__tok_work *w, llm__str text) {
    const llm__vocab *v = w->v;
    uint32_t n = 0, i;
    size_t at, end;
    for (at = 0; at < text.n && !w->failed; at++) {
        llm_token t = llm__tok_special_at(w, text, at, text.n, &n);
        if (t >= 0) llm__tok_push(w, &w->found, (uint64_t)(UINT32_MAX - n) << 32 | at, n, t);
    }
    if (!w->found.n || w->failed) return;
    w->taken = (uint8_t *)llm__alloc_zero(w->h, text.n, 1);
    if (!w->taken) { w->failed = true; return; }
    while (w->found.n && !w->failed) {
        llm__tok_pair p = llm__tok_pop(&w->found);
        at = (uint32_t)p.key;
        for (i = 0; i < p.n && !w->taken[at + i]; i++) { }
        if (i < p.n) {                                     // a longer one begins inside: is there a shorter one before it?
            llm_token t = i ? llm__tok_special_at(w, text, at, i, &n) : -1;
            if (t >= 0) llm__tok_push(w, &w->found, (uint64_t)(UINT32_MAX - n) << 32 | at, n, t);
            continue;
        }
        end = at + p.n;
        if (v->attr[p.token] & LLM__TOK_STRIPS)
            while (end < text.n && !w->taken[end] && llm__uc_class((uint8_t)text.p[end]) == LLM__UC_SPACE && (uint8_t)text.p[end] < 128)
                end++;
        memset(w->taken + at, 1, end - at);
        llm__tok_push(w, &w->cuts, at, (uint32_t)(end - at), p.token);
    }
}
#define LLM__TOK_GOES_ON 256u                      // beside the public flags: no space before the first word, which goes on a text
static void llm__tok_all(llm__tok_work *w, llm__str text) {
    const bool spaces = w->v->space_prefix && !(w->flags & LLM_NO_SPACE_PREFIX);
    size_t at = 0, end;
    llm__tok_cut(w, text);
    while (!w->failed && (at < text.n || w->cuts.n)) {
        end = w->cuts.n ? (size_t)w->cuts.p[0].key : text.n;
        if (at < end) llm__tok_raw(w, llm__str_n(text.p + at, end - at), spaces && (at > 0 || !(w->flags & LLM__TOK_GOES_ON)));
        at = end;
        if (w->cuts.n && !w->failed) {
            llm__tok_pair cut = llm__tok_pop(&w->cuts);
            llm__tok_emit(w, cut.token);
            at += cut.n;
        }
    }
}
// plain: ascending byte ranges of message content: no control token that overlaps one is recognised, nor one of the author's that looks
// like markup. *n: the tokens needed; at most cap are written.
static llm_result llm__tok_encode(const llm__vocab *v, const llm__heap *h, llm__str text, unsigned flags, const llm__span *plain,
                                  size_t n_plain, llm_token *out, size_t cap, size_t *n) {
    const uint64_t mark = llm__heap_mark(h);
    llm__tok_work w;
    *n = 0;
    if (v->status != LLM_OK) return v->status;
    if (text.n > UINT32_MAX / 8) return LLM_BAD_ARG;       // positions are 32 bits, and a byte may become three
    memset(&w, 0, sizeof w);
    w.v = v; w.h = h; w.flags = flags;
    w.plain = plain; w.n_plain = n_plain;
    w.out = out; w.cap = cap;
    if ((flags & LLM_ADD_SPECIAL) && v->add_bos && v->special[LLM_BOS] >= 0) llm__tok_emit(&w, v->special[LLM_BOS]);
    llm__tok_all(&w, text);
    if ((flags & LLM_ADD_SPECIAL) && v->add_eos && v->special[LLM_EOS] >= 0) llm__tok_emit(&w, v->special[LLM_EOS]);
    llm__free(h, w.buf);
    llm__free(h, w.spelled);
    llm__free(h, w.sym);
    llm__free(h, w.pairs.p);
    llm__free(h, w.found.p);
    llm__free(h, w.cuts.p);
    llm__free(h, w.taken);
    llm__heap_back_to(h, mark);
    if (w.failed) return w.foreign ? LLM_UNSUPPORTED : LLM_NO_MEMORY;
    *n = w.n;
    return LLM_OK;
}

// ---- tokens -> text

static bool llm__tok_is_eog(const llm__vocab *v, llm_token t) {
    return v->status == LLM_OK && t >= 0 && (uint32_t)t < v->n_tokens && (v->attr[t] & LLM__TOK_EOG);
}
typedef struct llm__tok_out { llm__text text; size_t skip; } llm__tok_out;       // skip: bytes to leave out first

static void llm__tok_put(llm__tok_out *o, const char *p, size_t n) {
    size_t left_out = LLM__MIN(n, o->skip);
    o->skip -= left_out;
    llm__text_bytes(&o->text, p + left_out, n - left_out);
}
// An ordinary token's text: U+2581 as a space, or characters as the bytes they stand for.
static void llm__tok_unspell(const llm__vocab *v, llm__str s, llm__tok_out *o) {
    size_t i;
    uint32_t length;
    for (i = 0; i < s.n; i += length) {
        uint32_t c = llm__utf8_get(s.p + i, s.n - i, &length);
        int b = v->family == LLM__TOK_BYTES ? llm__tok_char_byte(c) : c == 0x2581 ? ' ' : -1;
        char byte = (char)b;
        if (b >= 0) llm__tok_put(o, &byte, 1);
        else llm__tok_put(o, s.p + i, length);
    }
}
static void llm__tok_write(const llm__vocab *v, uint32_t t, unsigned flags, llm__tok_out *o) {
    llm__str s = llm__tok_text(v, t);
    unsigned attr = v->attr[t];
    if ((attr & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN)) && !(flags & LLM_SHOW_SPECIAL)) return;
    if (attr & (LLM__TOK_CONTROL | LLM__TOK_UNKNOWN | LLM__TOK_USER)) llm__tok_put(o, s.p, s.n);
    else if (attr & LLM__TOK_NORMAL) llm__tok_unspell(v, s, o);
    else if ((attr & LLM__TOK_BYTE) && s.n >= 5 && llm__tok_hex(s.p[3]) >= 0 && llm__tok_hex(s.p[4]) >= 0) {
        char byte = (char)(llm__tok_hex(s.p[3]) << 4 | llm__tok_hex(s.p[4]));
        llm__tok_put(o, &byte, 1);
    }
}
// The bytes of one token inside running text, half characters included. Returns how many there are, LLM_FAILED for no token.
static size_t llm__tok_piece(const llm__vocab *v, llm_token t, unsigned flags, char *buf, size_t cap) {
    llm__tok_out o;
    o.text.p = buf; o.text.n = 0; o.text.cap = cap; o.skip = 0;
    if (v->status != LLM_OK || t < 0 || (uint32_t)t >= v->n_tokens) return LLM_FAILED;
    llm__tok_write(v, (uint32_t)t, flags, &o);
    return o.text.n;
}
// The text of n tokens. A space that begins the first token is the one that encode put there.
static size_t llm__tok_decode(const llm__vocab *v, const llm_token *t, size_t n, unsigned flags, char *buf, size_t cap) {
    llm__tok_out o;
    char first = 0;
    size_t i;
    if (v->status != LLM_OK) return LLM_FAILED;
    for (i = 0; i < n; i++)
        if (t[i] < 0 || (uint32_t)t[i] >= v->n_tokens) return LLM_FAILED;
    if (n && v->space_prefix && !(flags & LLM_NO_SPACE_PREFIX)) llm__tok_piece(v, t[0], flags, &first, 1);
    o.text.p = buf; o.text.n = 0; o.text.cap = cap;
    o.skip = first == ' ';
    for (i = 0; i < n; i++) llm__tok_write(v, (uint32_t)t[i], flags, &o);
    return o.text.n;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>template   Messages -> prompt text, by built-in renderings. A rendering is a row of data. A model's Jinja text is never run: it
//              is reduced to a canonical form (blanks, quotes, tool sections and the default system prompt taken out) whose hash
//              either stands in the table of texts that one row renders exactly, or the text is refused. Better no answer than one
//              to a prompt that the model was not trained on.

#ifndef LLM_NO_CHAT

// plain: the bytes that came from messages, in which no special token may be recognised; ascending.
typedef struct llm__prompt { llm__string text; llm__span *plain; size_t n_plain, cap_plain; } llm__prompt;

static void llm__prompt_free(llm__prompt *p, const llm__heap *h) {
    llm__free(h, p->text.p);
    llm__free(h, p->plain);
    memset(p, 0, sizeof *p);
}

enum {
    LLM__FORM_ANY_ROLE = 1,          // roles beyond the three are a turn of their own under their own name
    LLM__FORM_TRIM_SYSTEM = 2,
    LLM__FORM_TRIM_USER = 4,
    LLM__FORM_TRIM_ASSISTANT = 8,
    LLM__FORM_TRIM_FOLDED = 16,      // the user's turn is trimmed together with the system message folded into it
    LLM__FORM_ALTERNATE = 32,        // user, assistant, user, ... or an error
    LLM__FORM_SYSTEM_FIRST = 64,     // a system message only as the first message
    LLM__FORM_SYSTEM_NEVER = 128,
    LLM__FORM_SYSTEM_ALWAYS = 256,   // an empty system turn when there is no system message
    LLM__FORM_FOLD_FIRST = 512,      // the system message stands inside the first user turn
    LLM__FORM_FOLD_LAST = 1024,      // ... inside the last message, if that is the user's, else nowhere
    LLM__FORM_DROP_EMPTY = 2048,     // empty system messages leave no trace
    LLM__FORM_DROP_EMPTY_FIRST = 4096,
    LLM__FORM_ANSWER_ALWAYS = 8192,  // the prompt for an answer comes whether asked for or not
    LLM__FORM_THINK = 16384          // <think> sections of past answers are dropped, of the answer under way kept (Qwen3)
};

// What stands before and after each message. %B: text of BOS, %E: of EOS, %R: the role's name.
typedef struct llm__form {
    int         id;                  // its place in llm__forms
    const char *name;                // in llm_ctx_desc.chat_template; "" = only ever recognised
    unsigned    flags;
    const char *begin, *system[2], *user[2], *assistant[2];
    const char *answer, *no_answer;  // after the last message, with and without the prompt for an answer
} llm__form;

enum {
    LLM__FORM_CHATML, LLM__FORM_CHATML_BOS, LLM__FORM_CHATML_QWEN2, LLM__FORM_CHATML_QWEN3, LLM__FORM_CHATML_LFM2, LLM__FORM_PHI4,
    LLM__FORM_PHI4_GEN, LLM__FORM_PHI4_MINI,
    LLM__FORM_LLAMA2, LLM__FORM_LLAMA3, LLM__FORM_LLAMA3_ALWAYS, LLM__FORM_LLAMA31, LLM__FORM_GEMMA, LLM__FORM_GEMMA2,
    LLM__FORM_GEMMA1, LLM__FORM_MISTRAL, LLM__FORM_MISTRAL_V01, LLM__FORM_MISTRAL_V02, LLM__FORM_MISTRAL_V1, LLM__FORM_MISTRAL_V3,
    LLM__FORM_MISTRAL_NEMO, LLM__FORM_MISTRAL_V7, LLM__FORM_PHI3, LLM__FORM_PHI35, LLM__FORM_PHI3_SMALL, LLM__FORM_PHI3_OLD,
    LLM__FORM_PHI3_OLD_BOS, LLM__FORM_ZEPHYR, LLM__FORM_ZEPHYR_TIGHT, LLM__FORM_PLAIN, LLM__FORM_COUNT
};

#define LLM__IM(role)  "<|im_start|>" role "\n"
#define LLM__HDR(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
#define LLM__CHATML_TURNS { LLM__IM("system"), "<|im_end|>\n" }, { LLM__IM("%R"), "<|im_end|>\n" }, \
                          { LLM__IM("assistant"), "<|im_end|>\n" }, LLM__IM("assistant"), ""

static const llm__form llm__forms[LLM__FORM_COUNT] = {
    { LLM__FORM_CHATML, "chatml", LLM__FORM_ANY_ROLE, "", LLM__CHATML_TURNS },
    { LLM__FORM_CHATML_BOS, "", LLM__FORM_ANY_ROLE, "%B", LLM__CHATML_TURNS },
    { LLM__FORM_CHATML_QWEN2, "", 0, "", LLM__CHATML_TURNS },
    { LLM__FORM_CHATML_QWEN3, "", LLM__FORM_THINK, "", LLM__CHATML_TURNS },
    { LLM__FORM_CHATML_LFM2, "", LLM__FORM_DROP_EMPTY_FIRST, "%B", LLM__CHATML_TURNS },
    { LLM__FORM_PHI4, "", 0, "", { "<|im_start|>system<|im_sep|>", "<|im_end|>" },
      { "<|im_start|>user<|im_sep|>", "<|im_end|><|im_start|>assistant<|im_sep|>" }, { "", "<|im_end|>" }, "", "" },
    { LLM__FORM_PHI4_GEN, "", 0, "", { "<|im_start|>system<|im_sep|>", "<|im_end|>" }, { "<|im_start|>user<|im_sep|>", "<|im_end|>" },
      { "<|im_start|>assistant<|im_sep|>", "<|im_end|>" }, "<|im_start|>assistant<|im_sep|>", "" },
    { LLM__FORM_PHI4_MINI, "", LLM__FORM_ANY_ROLE, "", { "<|system|>", "<|end|>" }, { "<|%R|>", "<|end|>" }, { "<|assistant|>", "<|end|>" },
      "<|assistant|>", "%E" },

    { LLM__FORM_LLAMA2, "llama2",
      LLM__FORM_ALTERNATE | LLM__FORM_FOLD_FIRST | LLM__FORM_TRIM_FOLDED | LLM__FORM_TRIM_USER | LLM__FORM_TRIM_ASSISTANT, "",
      { "<<SYS>>\n", "\n<</SYS>>\n\n" }, { "%B[INST] ", " [/INST]" }, { " ", " %E" }, "", "" },

#define LLM__TRIM_ALL (LLM__FORM_TRIM_SYSTEM | LLM__FORM_TRIM_USER | LLM__FORM_TRIM_ASSISTANT)
#define LLM__LLAMA3_TURNS { LLM__HDR("%R"), "<|eot_id|>" }, { LLM__HDR("assistant"), "<|eot_id|>" }, LLM__HDR("assistant"), ""
    { LLM__FORM_LLAMA3, "llama3", LLM__TRIM_ALL | LLM__FORM_ANY_ROLE, "%B", { LLM__HDR("system"), "<|eot_id|>" }, LLM__LLAMA3_TURNS },
    { LLM__FORM_LLAMA3_ALWAYS, "", LLM__TRIM_ALL | LLM__FORM_ANY_ROLE | LLM__FORM_ANSWER_ALWAYS, "%B",
      { LLM__HDR("system"), "<|eot_id|>" }, LLM__LLAMA3_TURNS },
    // The date is the template's own default: a library without a calendar has no better one.
    { LLM__FORM_LLAMA31, "", LLM__TRIM_ALL | LLM__FORM_SYSTEM_FIRST | LLM__FORM_SYSTEM_ALWAYS, "%B",
      { LLM__HDR("system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n", "<|eot_id|>" }, LLM__LLAMA3_TURNS },

#define LLM__GEMMA_TURNS { "<start_of_turn>user\n", "<end_of_turn>\n" }, { "<start_of_turn>model\n", "<end_of_turn>\n" }, \
                         "<start_of_turn>model\n", ""
#define LLM__GEMMA_FLAGS (LLM__FORM_ALTERNATE | LLM__FORM_TRIM_USER | LLM__FORM_TRIM_ASSISTANT)
    { LLM__FORM_GEMMA, "gemma", LLM__GEMMA_FLAGS | LLM__FORM_FOLD_FIRST, "%B", { "", "\n\n" }, LLM__GEMMA_TURNS },
    { LLM__FORM_GEMMA2, "", LLM__GEMMA_FLAGS | LLM__FORM_SYSTEM_NEVER, "%B", { "", "" }, LLM__GEMMA_TURNS },
    { LLM__FORM_GEMMA1, "", LLM__GEMMA_FLAGS | LLM__FORM_SYSTEM_NEVER, "", { "", "" }, LLM__GEMMA_TURNS },

    // By name: the spacing of 7B v0.3, but with the system message where it stays put while the conversation grows.
    { LLM__FORM_MISTRAL, "mistral", LLM__FORM_ALTERNATE | LLM__FORM_FOLD_FIRST | LLM__FORM_TRIM_ASSISTANT, "%B",
      { "", "\n\n" }, { "[INST] ", "[/INST]" }, { " ", "%E" }, "", "" },
    { LLM__FORM_MISTRAL_V01, "", LLM__FORM_ALTERNATE | LLM__FORM_SYSTEM_NEVER, "%B",
      { "", "" }, { "[INST] ", " [/INST]" }, { "", "%E " }, "", "" },
    { LLM__FORM_MISTRAL_V02, "", LLM__FORM_ALTERNATE | LLM__FORM_SYSTEM_NEVER, "%B",
      { "", "" }, { "[INST] ", " [/INST]" }, { "", "%E" }, "", "" },
    { LLM__FORM_MISTRAL_V1, "", LLM__FORM_ALTERNATE | LLM__FORM_FOLD_FIRST, "%B",
      { "", "\n\n" }, { " [INST] ", " [/INST]" }, { " ", "%E" }, "", "" },
    { LLM__FORM_MISTRAL_V3, "", LLM__FORM_ALTERNATE | LLM__FORM_FOLD_LAST | LLM__FORM_TRIM_ASSISTANT, "%B",
      { "", "\n\n" }, { "[INST] ", "[/INST]" }, { " ", "%E" }, "", "" },
    { LLM__FORM_MISTRAL_NEMO, "", LLM__FORM_ALTERNATE | LLM__FORM_FOLD_LAST, "%B",
      { "", "\n\n" }, { "[INST]", "[/INST]" }, { "", "%E" }, "", "" },
    { LLM__FORM_MISTRAL_V7, "", 0, "%B", { "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]" }, { "[INST] ", "[/INST]" }, { " ", "%E" }, "", "" },

#define LLM__PHI3_TURNS { "<|system|>\n", "<|end|>\n" }, { "<|user|>\n", "<|end|>\n" }, { "<|assistant|>\n", "<|end|>\n" }, \
                        "<|assistant|>\n", "%E"
    { LLM__FORM_PHI3, "phi3", 0, "", LLM__PHI3_TURNS },
    { LLM__FORM_PHI35, "", LLM__FORM_DROP_EMPTY, "", LLM__PHI3_TURNS },
    { LLM__FORM_PHI3_SMALL, "", LLM__FORM_ANY_ROLE, "%B",
      { "<|system|>\n", "<|end|>\n" }, { "<|%R|>\n", "<|end|>\n" }, { "<|assistant|>\n", "<|end|>\n" }, "<|assistant|>\n", "%E" },
    // These two pass over a system message in silence; refusing it is kinder.
    { LLM__FORM_PHI3_OLD, "", LLM__FORM_SYSTEM_NEVER, "",
      { "", "" }, { "<|user|>\n", "<|end|>\n<|assistant|>\n" }, { "", "<|end|>\n" }, "", "" },
    { LLM__FORM_PHI3_OLD_BOS, "", LLM__FORM_SYSTEM_NEVER, "%B",
      { "", "" }, { "<|user|>\n", "<|end|>\n<|assistant|>\n" }, { "", "<|end|>\n" }, "", "" },

    { LLM__FORM_ZEPHYR, "zephyr", 0, "",
      { "<|system|>\n", "%E\n" }, { "<|user|>\n", "%E\n" }, { "<|assistant|>\n", "%E\n" }, "<|assistant|>\n", "" },
    { LLM__FORM_ZEPHYR_TIGHT, "", 0, "",
      { "<|system|>\n", "%E" }, { "<|user|>\n", "%E" }, { "<|assistant|>\n", "%E" }, "<|assistant|>", "" },

    // For models that were never taught turns. "\nUser:" makes a good stop string.
    { LLM__FORM_PLAIN, "plain", LLM__TRIM_ALL, "", { "", "\n\n" }, { "User: ", "\n" }, { "Assistant: ", "\n" }, "Assistant:", "" }
};
#define LLM__FORM_NAMES "chatml, llama2, llama3, gemma, mistral, phi3, zephyr, plain"

// A rendering, ready for use: valid while the template text it came from is.
typedef struct llm__chat {
    const llm__form *form;           // NULL = none
    bool has_system;
    llm__str system;                 // default system prompt: inside of a string literal of the template, escapes and all
} llm__chat;

// Canonical form. Hashed are units: bytes of output text + 256 (adjacent texts thereby run together), bytes of other tokens, and these:
enum { LLM__JINJA_OUT = 1, LLM__JINJA_OUT_END, LLM__JINJA_TAG, LLM__JINJA_TAG_END, LLM__JINJA_SYSTEM, LLM__JINJA_STRING, LLM__JINJA_BAD };

typedef struct llm__jinja {
    llm__str  source;
    size_t    at;
    uint64_t  hash;                  // FNV-1a over units, 64 bits
    unsigned  depth, skip_at;        // open ifs; skip_at: nothing counts until the else or endif of that one (0 = everything counts)
    uint64_t  dropped;               // bit d: the if at depth d is `if tools`, which does not count either
    bool      has_system;
    llm__str  system;
} llm__jinja;

// kind: 's' string (text: its inside), 'n' name or number, 'o' operator, 0 end of the tag
typedef struct llm__jinja_token { char kind; llm__str text; } llm__jinja_token;

static void llm__jinja_unit(llm__jinja *j, unsigned unit) {
    if (!j->skip_at) j->hash = (j->hash ^ unit) * LLM__FNV_PRIME;
}
// The next character of a string literal's inside, escapes resolved; 512 + c for an escape that is not understood.
static unsigned llm__jinja_char(llm__str s, size_t *i) {
    unsigned c = (uint8_t)s.p[(*i)++];
    if (c != '\\' || *i >= s.n) return c;
    c = (uint8_t)s.p[(*i)++];
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\': case '\'': case '"': return c;
    default: return 512 + c;
    }
}
static void llm__jinja_literal(llm__jinja *j, llm__str s) {
    size_t i = 0;
    while (i < s.n) llm__jinja_unit(j, 256 + llm__jinja_char(s, &i));
}
static void llm__jinja_text(llm__jinja *j, llm__str s) {
    size_t i;
    for (i = 0; i < s.n; i++) llm__jinja_unit(j, 256u + (uint8_t)s.p[i]);
}
// What is not hashed must be understood: not an escape that Jinja resolves and we do not, nor a carriage return, which it makes a newline.
static bool llm__jinja_is_plain_text(llm__str s) {
    size_t i = 0;
    while (i < s.n)
        if (s.p[i] == '\r' || llm__jinja_char(s, &i) >= 512) return false;
    return true;
}
// A literal that is put out. A whole ChatML system turn in it is the default prompt: kept, and not part of the hash.
static void llm__jinja_literal_out(llm__jinja *j, llm__str s) {
    const char *opening = LLM__IM("system");
    size_t i = 0, n = 0, end;
    while (i < s.n && opening[n] && llm__jinja_char(s, &i) == (uint8_t)opening[n]) n++;
    end = llm__str_find(llm__str_n(s.p + i, s.n - i), "<|im_end|>");
    if (opening[n] || end == LLM_FAILED || end == 0 || j->has_system || j->skip_at
        || !llm__jinja_is_plain_text(llm__str_n(s.p + i, end))) {
        llm__jinja_literal(j, s);
        return;
    }
    j->has_system = true;
    j->system = llm__str_n(s.p + i, end);
    llm__jinja_literal(j, llm__str_n(s.p, i));
    llm__jinja_unit(j, LLM__JINJA_SYSTEM);
    llm__jinja_literal(j, llm__str_n(s.p + i + end, s.n - i - end));
}

static bool llm__jinja_is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
static bool llm__jinja_is_blank(char c) { return c == ' ' || (c >= 9 && c <= 13); }
static char llm__jinja_peek(const llm__jinja *j, size_t ahead) {
    return ahead < j->source.n - j->at ? j->source.p[j->at + ahead] : (char)0;
}
// Reads one token of a tag closed by `close` and '}'. The end of the tag (or of the text) is left standing.
static llm__jinja_token llm__jinja_next(llm__jinja *j, char close) {
    llm__jinja_token t;
    size_t from;
    char c, d;
    while (llm__jinja_is_blank(llm__jinja_peek(j, 0))) j->at++;
    from = j->at;
    c = llm__jinja_peek(j, 0);
    d = llm__jinja_peek(j, 1);
    t.kind = 0;
    t.text = llm__str_n(j->source.p + from, 0);
    if (from >= j->source.n || (c == close && d == '}') || ((c == '-' || c == '+') && d == close && llm__jinja_peek(j, 2) == '}')) return t;
    if (c == '\'' || c == '"') {
        for (j->at++; j->at < j->source.n && j->source.p[j->at] != c; j->at++)
            if (j->source.p[j->at] == '\\' && j->source.n - j->at > 1) j->at++;
        t.kind = 's';
        t.text = llm__str_n(j->source.p + from + 1, LLM__MIN(j->at, j->source.n) - from - 1);
        if (j->at < j->source.n) j->at++;
        return t;
    }
    if (llm__jinja_is_name(c)) {
        while (llm__jinja_is_name(llm__jinja_peek(j, 0))) j->at++;
        t.kind = 'n';
    } else {
        j->at += (d == '=' && (c == '=' || c == '!' || c == '<' || c == '>')) || (c == d && (c == '*' || c == '/')) ? 2u : 1u;
        t.kind = 'o';
    }
    t.text.n = j->at - from;
    return t;
}
static bool llm__jinja_is(llm__jinja_token t, char kind, const char *text) { return t.kind == kind && llm__str_is(t.text, text); }
static bool llm__jinja_is_joint(llm__jinja_token t) { return llm__jinja_is(t, 'o', "+") || llm__jinja_is(t, 'o', "~"); }

// Hashes one token that is not output text. x['name'] counts as x.name; quotes and escapes do not count.
static void llm__jinja_hash_token(llm__jinja *j, llm__jinja_token t, char close) {
    size_t i, at = j->at;
    if (llm__jinja_is(t, 'o', "[")) {
        llm__jinja_token name = llm__jinja_next(j, close);
        bool simple = name.kind == 's' && name.text.n > 0;
        for (i = 0; simple && i < name.text.n; i++) simple = llm__jinja_is_name(name.text.p[i]);
        if (simple && llm__jinja_is(llm__jinja_next(j, close), 'o', "]")) {
            llm__jinja_unit(j, '.');
            llm__jinja_unit(j, 0);
            t = name;
            t.kind = 'n';
        } else {
            j->at = at;
        }
    }
    if (t.kind == 's') {
        llm__jinja_unit(j, LLM__JINJA_STRING);
        llm__jinja_literal(j, t.text);
    } else {
        for (i = 0; i < t.text.n; i++) llm__jinja_unit(j, (uint8_t)t.text.p[i]);
    }
    llm__jinja_unit(j, 0);
}
// Whether {{ ... }} from here on is a plain sum of strings, names, subscripts, calls and filters, and so may be cut at its pluses.
static bool llm__jinja_is_sum(const llm__jinja *from) {
    llm__jinja j = *from;
    llm__jinja_token t, last = LLM__ZERO;
    unsigned depth = 0;
    while ((t = llm__jinja_next(&j, '}')).kind) {
        char c = t.text.n == 1 ? t.text.p[0] : (char)0;
        if (t.kind == 'o' && (c == '(' || c == '[')) depth++;
        else if (t.kind == 'o' && (c == ')' || c == ']')) { if (!depth--) return false; }
        else if (!depth && t.kind == 'o' && c != '+' && c != '~' && c != '.' && c != '|') return false;
        else if (!depth && t.kind != 'o' && last.kind && last.kind != 'o') return false;      // two words in a row: `a if b`, `a is b`
        last = t;
    }
    return depth == 0;
}
static void llm__jinja_output(llm__jinja *j) {
    bool sum = llm__jinja_is_sum(j), inside = false;
    unsigned depth = 0;
    llm__jinja_token t;
    while ((t = llm__jinja_next(j, '}')).kind) {
        if (sum && depth == 0 && llm__jinja_is_joint(t)) {
            if (inside) llm__jinja_unit(j, LLM__JINJA_OUT_END);
            inside = false;
            continue;
        }
        if (sum && !inside && t.kind == 's') {
            size_t at = j->at;
            llm__jinja_token after = llm__jinja_next(j, '}');
            j->at = at;
            if (!after.kind || llm__jinja_is_joint(after)) { llm__jinja_literal_out(j, t.text); continue; }
        }
        if (!inside) llm__jinja_unit(j, LLM__JINJA_OUT);
        inside = true;
        if (llm__jinja_is(t, 'o', "(")) depth++;
        if (llm__jinja_is(t, 'o', ")") && depth) depth--;
        llm__jinja_hash_token(j, t, '}');
    }
    if (inside) llm__jinja_unit(j, LLM__JINJA_OUT_END);
}
// `if tools` is never true here: that branch falls out, and so do the if, else and endif around it.
static void llm__jinja_statement(llm__jinja *j) {
    size_t at = j->at;
    llm__jinja_token t = llm__jinja_next(j, '%');
    bool counts = true;
    if (llm__jinja_is(t, 'n', "if")) {
        llm__jinja_token condition = llm__jinja_next(j, '%');
        bool tools = llm__jinja_is(condition, 'n', "tools") && !llm__jinja_next(j, '%').kind;
        if (++j->depth >= 64) llm__jinja_unit(j, LLM__JINJA_BAD);
        else if (tools && !j->skip_at) {
            j->dropped |= (uint64_t)1 << j->depth;
            j->skip_at = j->depth;
        }
    } else if (llm__jinja_is(t, 'n', "else") && j->depth && j->depth < 64 && j->dropped >> j->depth & 1) {
        if (j->skip_at == j->depth) { j->skip_at = 0; counts = false; }
    } else if (llm__jinja_is(t, 'n', "elif") && j->skip_at && j->skip_at == j->depth) {
        j->skip_at = 0;                                                             // the elif stays, without an if: matches nothing
    } else if (llm__jinja_is(t, 'n', "endif") && j->depth) {
        if (j->skip_at == j->depth) j->skip_at = 0;
        if (j->depth < 64 && j->dropped >> j->depth & 1) {
            j->dropped &= ~((uint64_t)1 << j->depth);
            counts = false;
        }
        j->depth--;
    }
    j->at = at;
    if (counts) llm__jinja_unit(j, LLM__JINJA_TAG);
    while ((t = llm__jinja_next(j, '%')).kind)
        if (counts) llm__jinja_hash_token(j, t, '%');
    if (counts) llm__jinja_unit(j, LLM__JINJA_TAG_END);
}

static bool llm__jinja_opens(char c) { return c == '{' || c == '%' || c == '#'; }
// Text between tags, with Jinja's blank rules as chat templates use them: '-' strips all blanks on its side; else, but for a '+', a
// statement or comment takes the newline after it and the indentation before it.
static void llm__jinja_plain(llm__jinja *j, bool strip_left, bool eat_newline) {
    const char *p = j->source.p;
    size_t begin, end, line;
    if (strip_left) while (llm__jinja_is_blank(llm__jinja_peek(j, 0))) j->at++;
    else if (eat_newline && llm__jinja_peek(j, 0) == '\n') j->at++;
    begin = end = j->at;
    while (end < j->source.n && !(p[end] == '{' && llm__jinja_opens(llm__jinja_peek(j, end + 1 - begin)))) end++;
    j->at = end;
    if (end + 2 < j->source.n && p[end + 2] == '-') {
        while (end > begin && llm__jinja_is_blank(p[end - 1])) end--;
    } else if (end + 1 < j->source.n && p[end + 1] != '{' && !(end + 2 < j->source.n && p[end + 2] == '+')) {
        for (line = end; line > begin && (p[line - 1] == ' ' || p[line - 1] == '\t'); line--) { }
        if (line == 0 || p[line - 1] == '\n') end = line;
    }
    llm__jinja_text(j, llm__str_n(p + begin, end - begin));
}
// Reduces a Jinja text. The default system prompt found on the way is in *j.
static void llm__jinja_reduce(llm__jinja *j, llm__str source) {
    bool strip_left = false, eat_newline = false;
    memset(j, 0, sizeof *j);
    if (source.n && source.p[source.n - 1] == '\n') source.n--;                     // Jinja drops one newline at the very end
    j->source = source;
    j->hash = LLM__FNV_BASIS;
    for (;;) {
        char kind, close, sign = 0;
        size_t inside;
        llm__jinja_plain(j, strip_left, eat_newline);
        if (j->at >= source.n) break;
        kind = source.p[j->at + 1];
        close = kind == '{' ? '}' : kind;
        j->at += 2;
        if (llm__jinja_peek(j, 0) == '-' || llm__jinja_peek(j, 0) == '+') j->at++;
        inside = j->at;
        if (kind == '{') llm__jinja_output(j);
        else if (kind == '%') llm__jinja_statement(j);
        else while (j->at < source.n && !(llm__jinja_peek(j, 0) == '#' && llm__jinja_peek(j, 1) == '}')) j->at++;
        if (kind == '#') {
            if (j->at > inside) sign = source.p[j->at - 1];
        } else {
            while (llm__jinja_is_blank(llm__jinja_peek(j, 0))) j->at++;
            sign = llm__jinja_peek(j, 0);
            if (sign == '-' || sign == '+') j->at++;
        }
        strip_left = sign == '-';
        if (llm__jinja_peek(j, 0) != close || llm__jinja_peek(j, 1) != '}') { llm__jinja_unit(j, LLM__JINJA_BAD); break; }
        j->at += 2;
        eat_newline = kind != '{' && sign != '+';
    }
    if (j->depth) { j->skip_at = 0; llm__jinja_unit(j, LLM__JINJA_BAD); }           // an if without its end, and what is broken inside
}

// Texts that a row renders exactly. Each was compared with Jinja itself on conversations of every shape that the row accepts.
typedef struct llm__chat_known { uint64_t hash; uint8_t form; } llm__chat_known;

static const llm__chat_known llm__chat_known_texts[] = {
    { 0xe90e427372a91c25u, LLM__FORM_CHATML },                 // ChatML, as most fine-tunes have it
    { 0x9781db2e11d11631u, LLM__FORM_CHATML },                 // OpenHermes
    { 0x38e154765f1f5e7fu, LLM__FORM_CHATML },                 // with a default system prompt: SmolLM2, Qwen 1.5 and 2
    { 0x69ceac00f325e34au, LLM__FORM_CHATML_BOS },             // ChatML behind a BOS
    { 0xa1c4b38b09bb95fau, LLM__FORM_CHATML_QWEN2 },           // each role spelt out
    { 0x065e8cc8818b6013u, LLM__FORM_CHATML_QWEN2 },           // Qwen2.5, MiMo-VL
    { 0xcfdbecda52812f1eu, LLM__FORM_CHATML_QWEN2 },           // the same without a default system prompt
    { 0x0121b3c625acb5feu, LLM__FORM_CHATML_QWEN2 },           // Qwen3-Coder
    { 0x569822414dfd476du, LLM__FORM_CHATML_QWEN3 },           // Qwen3
    { 0xc7893ba02416e977u, LLM__FORM_CHATML_LFM2 },            // LFM2
    { 0xafbba0e809ff77a8u, LLM__FORM_PHI4 },                   // Phi-4, first form
    { 0x128a465e62cf243cu, LLM__FORM_PHI4_GEN },               // Phi-4
    { 0xa1dfe548bb548d9du, LLM__FORM_PHI4_MINI },              // Phi-4 mini
    { 0x4d16a078c91682bbu, LLM__FORM_LLAMA2 },                 // Llama 2
    { 0xb487e57aa0dbdcc0u, LLM__FORM_LLAMA2 },                 // Llama 2, first form
    { 0xc3bc9471dbeaa91au, LLM__FORM_LLAMA3 },                 // Llama 3
    { 0x8d0d3538454e0a00u, LLM__FORM_LLAMA3_ALWAYS },          // Llama 3, first form
    { 0xe4b589e3bb76d91au, LLM__FORM_LLAMA31 },                // Llama 3.2
    { 0x41f421a24dcc9752u, LLM__FORM_LLAMA31 },                // Llama 3.1 and 3.3
    { 0x7952ddb42dd4e838u, LLM__FORM_GEMMA1 },                 // Gemma
    { 0xa0c3bee7a943b58fu, LLM__FORM_GEMMA2 },                 // Gemma 2
    { 0xf6803a09b801e620u, LLM__FORM_GEMMA },                  // Gemma 3
    { 0x90458a778cfce5b8u, LLM__FORM_MISTRAL_V01 },            // Mistral 7B v0.1
    { 0xd75ed67866b242b4u, LLM__FORM_MISTRAL_V02 },            // Mistral 7B v0.2
    { 0x25d8857661932eddu, LLM__FORM_MISTRAL_V1 },             // Mistral 7B v0.2, later form; Mixtral
    { 0x03e53bc125a47704u, LLM__FORM_MISTRAL_V3 },             // Mistral 7B v0.3, Mistral Large
    { 0x1c0706671dd7b771u, LLM__FORM_MISTRAL_NEMO },           // Mistral Nemo
    { 0x1abb9c4dc9233d75u, LLM__FORM_MISTRAL_V7 },             // Mistral Large 2411
    { 0x82718a8c1ac5ab40u, LLM__FORM_PHI3 },                   // Phi-3
    { 0x9530eb1d29b350bdu, LLM__FORM_PHI35 },                  // Phi-3.5
    { 0xa4c7ee61077572ddu, LLM__FORM_PHI3_SMALL },             // Phi-3 small
    { 0x937320d142e7753cu, LLM__FORM_PHI3_OLD },               // Phi-3 medium, first form
    { 0x435d86a16ed12993u, LLM__FORM_PHI3_OLD_BOS },           // Phi-3 mini, first form
    { 0xfdf870e6cffbd27eu, LLM__FORM_ZEPHYR },                 // Zephyr, TinyLlama
    { 0x937bf67b45696f5eu, LLM__FORM_ZEPHYR_TIGHT }            // the same on one line
};

static llm_result llm__chat_recognise(llm__chat *out, llm__str jinja, llm_error *e) {
    llm__jinja j;
    size_t i;
    llm__jinja_reduce(&j, jinja);
    for (i = 0; i < LLM__COUNT(llm__chat_known_texts); i++) {
        if (llm__chat_known_texts[i].hash != j.hash) continue;
        out->form = &llm__forms[llm__chat_known_texts[i].form];
        out->has_system = j.has_system;
        out->system = j.system;
        return llm__ok(e);
    }
    return llm__fail(e, LLM_BAD_TEMPLATE, "this chat template is not one of the built-in renderings (%s); pass one of these names as "
                     "chat_template, or use llm_feed", LLM__FORM_NAMES);
}
static bool llm__chat_by_name(llm__chat *out, llm__str name) {
    size_t i;
    for (i = 0; i < LLM__FORM_COUNT; i++)
        if (name.n && llm__str_is(name, llm__forms[i].name)) { out->form = &llm__forms[i]; return true; }
    return false;
}

// A file without a template is judged by the turn tokens of its vocabulary. The first row whose token is there wins.
static const struct { const char *token; uint8_t form; } llm__chat_marks[] = {
    { "<|im_sep|>", LLM__FORM_PHI4_GEN },
    { "<|im_start|>", LLM__FORM_CHATML },
    { "<|start_header_id|>", LLM__FORM_LLAMA3 },
    { "<start_of_turn>", LLM__FORM_GEMMA },
    { "[INST]", LLM__FORM_MISTRAL },
    { "<|end|>", LLM__FORM_PHI3 },
    { "<|assistant|>", LLM__FORM_ZEPHYR }
};
static llm_result llm__chat_by_tokens(llm__chat *out, const llm__gguf *g, llm_error *e) {
    size_t best = LLM__COUNT(llm__chat_marks), k;
    const uint8_t *at = NULL;
    uint64_t n = 0, i;
    llm_result r = llm__gguf_array(g, "tokenizer.ggml.tokens", LLM__GGUF_STRING, &n, &at, e);
    if (r < 0) return r;
    for (i = 0; i < n; i++) {
        llm__str t = llm__gguf_str_next(&at);
        if (t.n < 6 || (t.p[0] != '<' && t.p[0] != '[')) continue;
        for (k = 0; k < best; k++)
            if (llm__str_is(t, llm__chat_marks[k].token)) best = k;
    }
    out->form = &llm__forms[best < LLM__COUNT(llm__chat_marks) ? llm__chat_marks[best].form : (uint8_t)LLM__FORM_PLAIN];
    return llm__ok(e);
}
// text: Jinja text or the name of a rendering, which must outlive *out; NULL = the model's template, else its special tokens.
static llm_result llm__chat_pick(llm__chat *out, const char *text, const llm__gguf *g, llm_error *e) {
    llm__str s = llm__str_of(text);
    llm_result r;
    memset(out, 0, sizeof *out);
    if (!text) {
        r = llm__gguf_str(g, "tokenizer.chat_template", &s, e);
        if (r < 0) return r;
        if (s.n == 0) return llm__chat_by_tokens(out, g, e);
    } else if (llm__chat_by_name(out, s)) {
        return llm__ok(e);
    } else if (llm__str_find(s, "{%") == LLM_FAILED && llm__str_find(s, "{{") == LLM_FAILED) {
        return llm__fail(e, LLM_BAD_TEMPLATE, "chat_template is neither Jinja text nor the name of a built-in rendering (%s)",
                         LLM__FORM_NAMES);
    }
    return llm__chat_recognise(out, s, e);
}

enum { LLM__ROLE_SYSTEM, LLM__ROLE_USER, LLM__ROLE_ASSISTANT, LLM__ROLE_OTHER };

static int llm__chat_role(const llm_message *m) {
    llm__str role = llm__str_of(m->role);
    return llm__str_is(role, "system") ? LLM__ROLE_SYSTEM : llm__str_is(role, "user") ? LLM__ROLE_USER
         : llm__str_is(role, "assistant") ? LLM__ROLE_ASSISTANT : LLM__ROLE_OTHER;
}
// Whatever the template itself would refuse, and what its rendering would get wrong, is refused before a byte is written.
static llm_result llm__chat_check(const llm__form *f, const llm_message *m, size_t n, llm_error *e) {
    size_t i, turn = 0;
    if (!n || !m) return llm__fail(e, LLM_BAD_ARG, "there are no messages");
    for (i = 0; i < n; i++) {
        int role;
        if (!m[i].role || !m[i].content) return llm__fail(e, LLM_BAD_ARG, "message %U has no role or no content", (uint64_t)i);
        role = llm__chat_role(&m[i]);
        if (role == LLM__ROLE_OTHER && !(f->flags & LLM__FORM_ANY_ROLE))
            return llm__fail(e, LLM_BAD_TEMPLATE, "this chat template knows no role '%s'", m[i].role);
        if (role == LLM__ROLE_SYSTEM && (f->flags & LLM__FORM_SYSTEM_NEVER))
            return llm__fail(e, LLM_BAD_TEMPLATE, "this chat template has no place for a system message");
        if (role == LLM__ROLE_SYSTEM && i && (f->flags & (LLM__FORM_SYSTEM_FIRST | LLM__FORM_FOLD_FIRST | LLM__FORM_FOLD_LAST)))
            return llm__fail(e, LLM_BAD_TEMPLATE, "this chat template takes a system message only as the first message");
        if (role == LLM__ROLE_SYSTEM && n == 1 && (f->flags & (LLM__FORM_FOLD_FIRST | LLM__FORM_FOLD_LAST)))
            return llm__fail(e, LLM_BAD_TEMPLATE, "this chat template needs a user message after the system message");
        if (role != LLM__ROLE_SYSTEM && (f->flags & LLM__FORM_ALTERNATE) && (role == LLM__ROLE_USER) != (turn++ % 2 == 0))
            return llm__fail(e, LLM_BAD_TEMPLATE, "in this chat template user and assistant must take turns, the user first");
    }
    return llm__ok(e);
}

// Output with a sticky failure: the renderer checks once, at its end.
typedef struct llm__chat_out { const llm__heap *heap; llm__prompt *p; llm__str bos, eos; bool failed; } llm__chat_out;

static void llm__chat_add(llm__chat_out *o, llm__str s, bool plain) {
    size_t begin = o->p->text.n;
    void *spans = o->p->plain;
    if (o->failed || !s.n) return;
    if (!llm__string_add(o->heap, &o->p->text, s.p, s.n)) { o->failed = true; return; }
    if (!plain) return;
    if (o->p->n_plain && o->p->plain[o->p->n_plain - 1].end == begin) { o->p->plain[o->p->n_plain - 1].end = o->p->text.n; return; }
    if (!llm__grow(o->heap, &spans, &o->p->cap_plain, o->p->n_plain + 1, sizeof(llm__span))) { o->failed = true; return; }
    o->p->plain = (llm__span *)spans;
    o->p->plain[o->p->n_plain].begin = begin;
    o->p->plain[o->p->n_plain++].end = o->p->text.n;
}
// A text of a row, with what %B, %E and %R in it stand for. A role that the caller made up must not pass for template text.
static void llm__chat_add_frame(llm__chat_out *o, const char *frame, const llm_message *m) {
    while (*frame) {
        const size_t n = llm__until(frame, '%');
        llm__chat_add(o, llm__str_n(frame, n), false);
        frame += n;
        if (!*frame) return;
        if (frame[1] == 'B') llm__chat_add(o, o->bos, false);
        if (frame[1] == 'E') llm__chat_add(o, o->eos, false);
        if (frame[1] == 'R' && m) llm__chat_add(o, llm__str_of(m->role), llm__chat_role(m) == LLM__ROLE_OTHER);
        frame += 2;
    }
}
// Bytes of the white space at p, 0 if there is none: what Python's str.strip takes, which is what templates mean by trim.
static size_t llm__chat_blank(const char *p, size_t n) {
    const uint8_t *b = (const uint8_t *)p;
    if (n >= 1 && (b[0] == 32 || (b[0] >= 9 && b[0] <= 13) || (b[0] >= 28 && b[0] <= 31))) return 1;
    if (n >= 2 && b[0] == 0xc2 && (b[1] == 0x85 || b[1] == 0xa0)) return 2;
    if (n < 3) return 0;
    if (b[0] == 0xe1 && b[1] == 0x9a && b[2] == 0x80) return 3;                                                  // U+1680
    if (b[0] == 0xe2 && b[1] == 0x80 && ((b[2] >= 0x80 && b[2] <= 0x8a) || b[2] == 0xa8 || b[2] == 0xa9 || b[2] == 0xaf)) return 3;
    if (b[0] == 0xe2 && b[1] == 0x81 && b[2] == 0x9f) return 3;                                                  // U+205F
    return b[0] == 0xe3 && b[1] == 0x80 && b[2] == 0x80 ? 3 : 0;                                                 // U+3000
}
static size_t llm__chat_trimmed(const char *p, size_t n) {
    size_t k;
    for (k = 1; k <= 3 && k <= n; k++)
        if (llm__chat_blank(p + n - k, k) == k) { n -= k; k = 0; }
    return n;
}
static llm__str llm__chat_trim(llm__str s) {
    size_t k;
    while ((k = llm__chat_blank(s.p, s.n)) != 0) { s.p += k; s.n -= k; }
    s.n = llm__chat_trimmed(s.p, s.n);
    return s;
}
static llm__str llm__chat_content(const llm__form *f, const llm_message *m) {
    static const unsigned trims[] = { LLM__FORM_TRIM_SYSTEM, LLM__FORM_TRIM_USER, LLM__FORM_TRIM_ASSISTANT, LLM__FORM_TRIM_USER };
    llm__str s = llm__str_of(m->content);
    return f->flags & trims[llm__chat_role(m)] ? llm__chat_trim(s) : s;
}
// Takes the white space off the end again, down to `begin`.
static void llm__chat_trim_end(llm__chat_out *o, size_t begin) {
    llm__prompt *p = o->p;
    if (o->failed || p->text.n <= begin) return;
    p->text.n = begin + llm__chat_trimmed(p->text.p + begin, p->text.n - begin);
    p->text.p[p->text.n] = 0;
    while (p->n_plain && p->plain[p->n_plain - 1].end > p->text.n) {
        if (p->plain[p->n_plain - 1].begin < p->text.n) { p->plain[p->n_plain - 1].end = p->text.n; break; }
        p->n_plain--;
    }
}
static void llm__chat_add_folded(llm__chat_out *o, const llm__form *f, const llm_message *system, const llm_message *m) {
    size_t begin = o->p->text.n;
    llm__chat_add_frame(o, f->system[0], system);
    llm__chat_add(o, llm__chat_content(f, system), true);
    llm__chat_add_frame(o, f->system[1], system);
    llm__chat_add(o, f->flags & LLM__FORM_TRIM_FOLDED ? llm__str_of(m->content) : llm__chat_content(f, m), true);
    if (f->flags & LLM__FORM_TRIM_FOLDED) llm__chat_trim_end(o, begin);
}

static llm__str llm__chat_strip_newlines(llm__str s, bool left, bool right) {
    while (left && s.n && s.p[0] == '\n') { s.p++; s.n--; }
    while (right && s.n && s.p[s.n - 1] == '\n') s.n--;
    return s;
}
static size_t llm__chat_find_last(llm__str s, const char *needle) {
    size_t found = LLM_FAILED, from = 0, i;
    while ((i = llm__str_find(llm__str_n(s.p + from, s.n - from), needle)) != LLM_FAILED) { found = from + i; from = found + 1; }
    return found;
}
// Qwen3: the thoughts of an answer are kept only after the last question, and there an empty thought is put in where there is none.
static void llm__chat_add_thinking(llm__chat_out *o, llm__str s, bool after_question, bool last) {
    llm__str thought = llm__str_n(s.p, 0), rest = s;
    size_t end = llm__str_find(s, "</think>"), begin;
    if (end != LLM_FAILED) {
        size_t tail = llm__chat_find_last(s, "</think>") + 8;
        rest = llm__chat_strip_newlines(llm__str_n(s.p + tail, s.n - tail), true, false);
        thought = llm__chat_strip_newlines(llm__str_n(s.p, end), false, true);
        begin = llm__chat_find_last(thought, "<think>");
        if (begin != LLM_FAILED) thought = llm__str_n(thought.p + begin + 7, thought.n - begin - 7);
        thought = llm__chat_strip_newlines(thought, true, false);
    }
    if (after_question && (last || thought.n)) {
        llm__chat_add(o, llm__str_of("<think>\n"), false);
        llm__chat_add(o, llm__chat_strip_newlines(thought, true, true), true);
        llm__chat_add(o, llm__str_of("\n</think>\n\n"), false);
        rest = llm__chat_strip_newlines(rest, true, false);
    }
    llm__chat_add(o, rest, true);
}
// The last message that asks something: a user's, unless it is a tool's reply in disguise. n if there is none.
static size_t llm__chat_last_question(const llm_message *m, size_t n) {
    const char *closing = "</tool_response>";
    size_t i = n;
    while (i--) {
        llm__str s = llm__str_of(m[i].content);
        if (llm__chat_role(&m[i]) != LLM__ROLE_USER) continue;
        if (!llm__str_starts(s, "<tool_response>") || s.n < 16 || memcmp(s.p + s.n - 16, closing, 16) != 0) return i;
    }
    return n;
}
static void llm__chat_add_default_system(llm__chat_out *o, const llm__chat *chat) {
    size_t i = 0;
    llm__chat_add_frame(o, chat->form->system[0], NULL);
    while (i < chat->system.n) {
        char c = (char)llm__jinja_char(chat->system, &i);
        llm__chat_add(o, llm__str_n(&c, 1), false);
    }
    llm__chat_add_frame(o, chat->form->system[1], NULL);
}
static void llm__chat_add_message(llm__chat_out *o, const llm__form *f, const llm_message *m, size_t n, size_t i, size_t question) {
    const llm_message *folded = NULL;
    int role = llm__chat_role(&m[i]);
    const char *const *frame = role == LLM__ROLE_SYSTEM ? f->system : role == LLM__ROLE_ASSISTANT ? f->assistant : f->user;
    if (role == LLM__ROLE_SYSTEM) {
        if (f->flags & (LLM__FORM_FOLD_FIRST | LLM__FORM_FOLD_LAST)) return;
        if (!m[i].content[0] && ((f->flags & LLM__FORM_DROP_EMPTY) || (i == 0 && (f->flags & LLM__FORM_DROP_EMPTY_FIRST)))) return;
    }
    if (role == LLM__ROLE_USER && llm__chat_role(&m[0]) == LLM__ROLE_SYSTEM)
        if (((f->flags & LLM__FORM_FOLD_FIRST) && i == 1) || ((f->flags & LLM__FORM_FOLD_LAST) && i == n - 1)) folded = &m[0];
    llm__chat_add_frame(o, frame[0], &m[i]);
    if (folded) llm__chat_add_folded(o, f, folded, &m[i]);
    else if (role == LLM__ROLE_ASSISTANT && (f->flags & LLM__FORM_THINK))
        llm__chat_add_thinking(o, llm__str_of(m[i].content), i > question, i == n - 1);
    else llm__chat_add(o, llm__chat_content(f, &m[i]), true);
    llm__chat_add_frame(o, frame[1], &m[i]);
}
// The prompt for messages[n] with the given texts of BOS and EOS. *out must be zeroed or empty; it is freed on failure.
static llm_result llm__chat_render_with(const llm__chat *chat, llm__str bos, llm__str eos, const llm_message *m, size_t n, unsigned flags,
                                        const llm__heap *h, llm__prompt *out, llm_error *e) {
    const llm__form *f = chat->form;
    llm__chat_out o;
    size_t i, question;
    llm_result r;
    if (!f) return llm__fail(e, LLM_BAD_TEMPLATE, "there is no chat template");
    r = llm__chat_check(f, m, n, e);
    if (r < 0) return r;
    o.heap = h; o.p = out; o.bos = bos; o.eos = eos; o.failed = false;
    question = f->flags & LLM__FORM_THINK ? llm__chat_last_question(m, n) : 0;
    llm__chat_add_frame(&o, f->begin, NULL);
    if ((chat->has_system || (f->flags & LLM__FORM_SYSTEM_ALWAYS)) && llm__chat_role(&m[0]) != LLM__ROLE_SYSTEM)
        llm__chat_add_default_system(&o, chat);
    for (i = 0; i < n; i++) llm__chat_add_message(&o, f, m, n, i, question);
    llm__chat_add_frame(&o, (flags & LLM_GENERATION_PROMPT) || (f->flags & LLM__FORM_ANSWER_ALWAYS) ? f->answer : f->no_answer, NULL);
    if (!o.failed) return llm__ok(e);
    llm__prompt_free(out, h);
    return llm__fail(e, LLM_NO_MEMORY, "no memory for the text of %U messages", (uint64_t)n);
}
// Text of a special token; "" if the vocabulary has none.
static llm__str llm__chat_special(const llm__vocab *v, llm_special which, char *buf, size_t cap) {
    size_t n = v->special[which] == LLM_NO_TOKEN ? 0 : llm__tok_piece(v, v->special[which], LLM_SHOW_SPECIAL, buf, cap);
    return llm__str_n(buf, n <= cap ? n : 0);
}
static llm_result llm__chat_render(llm__chat chat, const llm__vocab *v, const llm_message *m, size_t n, unsigned flags, const llm__heap *h,
                                   llm__prompt *out, llm_error *e) {
    char bos[128], eos[128];
    memset(out, 0, sizeof *out);
    return llm__chat_render_with(&chat, llm__chat_special(v, LLM_BOS, bos, sizeof bos), llm__chat_special(v, LLM_EOS, eos, sizeof eos),
                                 m, n, flags, h, out, e);
}

#endif // LLM_NO_CHAT

//------------------------------------------------------------------------------------------------------------------------------
// >>sampler   Logits -> token, and where an answer stops. Integers wherever order could matter, so that every CPU picks the same token.
//             Picking never allocates and keeps no state: it is a function of (settings, logits, tokens so far). Knows no text.

// Philox4x32-10, a counter-based generator: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), whose
// constants these are. Key: the seed. Counter: the position. Hence rewinding repeats, forks agree and saving needs no state.
static uint64_t llm__sampler_random64(uint64_t seed, uint64_t position) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)position, c1 = (uint32_t)(position >> 32), c2 = 0, c3 = 0;
    int round;
    for (round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return (uint64_t)c1 << 32 | c0;
}
// High 64 bits of a * b.
static uint64_t llm__sampler_mulhi(uint64_t a, uint64_t b) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (uint32_t)middle;
    return ah * bh + (middle >> 32) + (other >> 32);
}

enum { LLM__BUCKETS = 2048, LLM__PENALTY_WINDOW = 64 };
#define LLM__WEIGHT_ONE ((uint64_t)1 << 32)                              // the weight of the best token: exp(0) in 32.32

typedef struct llm__sampler {
    llm_sampling cfg;                // bias is ours, in `block`
    uint32_t n_vocab;
    void *block;                     // the one allocation that everything below lies in
    uint64_t block_bytes;
    float    *logits;                // [n_vocab] after bias and penalties; NULL when there are none
    uint32_t *counts;                // [n_vocab] zero between calls
    float    *x;                     // [n_vocab] logits of the candidates, best first
    uint32_t *ids;                   // [n_vocab] candidates, best first
    uint64_t *keys, *weights;        // [n_vocab]
    uint64_t *distance;              // [n_vocab] these three for typical only
    uint32_t *nearest, *spare;
    uint64_t *bucket_weight;         // [LLM__BUCKETS]
    uint32_t *bucket_count;
} llm__sampler;

static bool llm__sampler_off(float p) { return p <= 0.0f || p >= 1.0f; }          // of top_p and typical_p
static bool llm__sampler_penalizes(const llm_sampling *s) {
    return (s->repeat_penalty != 0.0f && s->repeat_penalty != 1.0f) || s->frequency_penalty != 0.0f || s->presence_penalty != 0.0f;
}

static llm_result llm__sampling_check(const llm_sampling *s, uint32_t n_vocab, llm_error *e) {
    const struct { const char *name; float v; bool negative; } fields[] = {
        { "temperature", s->temperature, false }, { "top_p", s->top_p, false }, { "min_p", s->min_p, false },
        { "typical_p", s->typical_p, false }, { "repeat_penalty", s->repeat_penalty, false },
        { "frequency_penalty", s->frequency_penalty, true }, { "presence_penalty", s->presence_penalty, true }
    };
    uint32_t i;
    for (i = 0; i < LLM__COUNT(fields); i++) {
        if (!llm__f32_is_finite(fields[i].v)) return llm__fail(e, LLM_BAD_ARG, "sampling: %s is not a finite number", fields[i].name);
        if (fields[i].v < 0.0f && !fields[i].negative) return llm__fail(e, LLM_BAD_ARG, "sampling: %s is negative", fields[i].name);
    }
    if (s->n_bias && !s->bias) return llm__fail(e, LLM_BAD_ARG, "sampling: n_bias is %u but bias is NULL", s->n_bias);
    for (i = 0; i < s->n_bias; i++) {
        if (s->bias[i].token < 0 || (uint32_t)s->bias[i].token >= n_vocab)
            return llm__fail(e, LLM_BAD_ARG, "sampling: bias %u is for token %d, but the vocabulary has %u", i, (int)s->bias[i].token,
                             n_vocab);
        if (!llm__f32_is_finite(s->bias[i].bias) && llm__f32_bits(s->bias[i].bias) != 0xff800000u)
            return llm__fail(e, LLM_BAD_ARG, "sampling: the bias of token %d is neither a finite number nor -infinity",
                             (int)s->bias[i].token);
    }
    return llm__ok(e);
}

static void llm__sampler_free(llm__sampler *s, const llm__heap *h) {
    llm__free(h, s->block);
    memset(s, 0, sizeof *s);
}
// Only what these settings can need: plain greedy takes nothing.
static void llm__sampler_layout(llm__sampler *s, llm__layout *a, llm_bias **bias) {
    uint64_t n = s->n_vocab, if_modified = s->cfg.n_bias || llm__sampler_penalizes(&s->cfg) ? n : 0;
    uint64_t if_drawn = s->cfg.temperature > 0.0f ? n : 0, if_typical = llm__sampler_off(s->cfg.typical_p) ? 0 : if_drawn;
    uint64_t if_buckets = if_drawn ? (uint64_t)LLM__BUCKETS : 0;
    *bias = LLM__CARVE(a, llm_bias, s->cfg.n_bias);
    s->logits = LLM__CARVE(a, float, if_modified);
    s->counts = LLM__CARVE(a, uint32_t, llm__sampler_penalizes(&s->cfg) ? n : 0);
    s->x = LLM__CARVE(a, float, if_drawn);
    s->ids = LLM__CARVE(a, uint32_t, if_drawn);
    s->keys = LLM__CARVE(a, uint64_t, if_drawn);
    s->weights = LLM__CARVE(a, uint64_t, if_drawn);
    s->distance = LLM__CARVE(a, uint64_t, if_typical);
    s->nearest = LLM__CARVE(a, uint32_t, if_typical);
    s->spare = LLM__CARVE(a, uint32_t, if_typical);
    s->bucket_weight = LLM__CARVE(a, uint64_t, if_buckets);
    s->bucket_count = LLM__CARVE(a, uint32_t, if_buckets);
}
// All or nothing. settings NULL = greedy.
static llm_result llm__sampler_set(llm__sampler *s, const llm__heap *h, const llm_sampling *settings, uint32_t n_vocab, llm_error *e) {
    llm__sampler next;
    llm__layout a;
    llm_bias *bias;
    bool keep;
    memset(&next, 0, sizeof next);
    if (settings) {
        llm_result r = llm__sampling_check(settings, n_vocab, e);
        if (r < 0) return r;
        next.cfg = *settings;
    }
    next.n_vocab = n_vocab;
    memset(&a, 0, sizeof a);
    llm__sampler_layout(&next, &a, &bias);
    if (a.overflow) return llm__fail(e, LLM_NO_MEMORY, "no memory for sampling from %u tokens", n_vocab);
    keep = s->block && llm__heap_reserves(h) && a.used <= s->block_bytes;        // an arena has no other
    next.block_bytes = keep ? s->block_bytes : a.used;
    next.block = keep ? s->block : NULL;
    if (a.used) {
        if (!keep) next.block = llm__alloc_bytes(h, a.used);
        if (!next.block)
            return llm__fail(e, LLM_NO_MEMORY, llm__heap_reserves(h) ? "no memory for sampling: %U bytes for %u tokens; give llm_open the "
                             "settings that take most" : "no memory for sampling: %U bytes for %u tokens", a.used, n_vocab);
        a.base = (uint8_t *)next.block;
        a.used = 0;
        llm__sampler_layout(&next, &a, &bias);
        if (next.cfg.n_bias) memcpy(bias, settings->bias, next.cfg.n_bias * sizeof *bias);
        if (llm__sampler_penalizes(&next.cfg)) memset(next.counts, 0, n_vocab * sizeof *next.counts);
    }
    next.cfg.bias = next.cfg.n_bias ? bias : NULL;
    if (!keep) llm__sampler_free(s, h);
    *s = next;
    return llm__ok(e);
}

// Each distinct token of the window is penalised once, with its count; the prompt counts as well as the answer.
static void llm__sampler_penalize(llm__sampler *s, const llm_token *history, size_t n_history) {
    const llm_sampling *c = &s->cfg;
    size_t window = c->penalty_window ? c->penalty_window : (size_t)LLM__PENALTY_WINDOW, i;
    if (c->penalty_window == UINT32_MAX || window > n_history) window = n_history;
    history += n_history - window;
    for (i = 0; i < window; i++)
        if ((uint32_t)history[i] < s->n_vocab) s->counts[history[i]]++;
    for (i = 0; i < window; i++) {
        uint32_t t = (uint32_t)history[i];
        float l, frequency;
        if (t >= s->n_vocab || !s->counts[t]) continue;
        l = s->logits[t];
        if (c->repeat_penalty != 0.0f) l = l > 0.0f ? l / c->repeat_penalty : l * c->repeat_penalty;
        frequency = (float)s->counts[t] * c->frequency_penalty;
        l = l - frequency;
        s->logits[t] = l - c->presence_penalty;
        s->counts[t] = 0;
    }
}
static const float *llm__sampler_modify(llm__sampler *s, const float *logits, const llm_token *history, size_t n_history) {
    uint32_t i;
    if (!s->cfg.n_bias && !llm__sampler_penalizes(&s->cfg)) return logits;
    memcpy(s->logits, logits, s->n_vocab * sizeof *logits);
    for (i = 0; i < s->cfg.n_bias; i++) s->logits[s->cfg.bias[i].token] += s->cfg.bias[i].bias;
    if (llm__sampler_penalizes(&s->cfg)) llm__sampler_penalize(s, history, n_history);
    return s->logits;
}

// Sorts keys by their upper 32 bits, ascending: three passes over 11 bits each. Stable, and linear in n whatever the keys are.
static void llm__sampler_sort(llm__sampler *s, uint32_t n) {
    uint64_t *from = s->keys, *to = s->weights, *swap;
    uint32_t *start = s->bucket_count, i, sum;
    unsigned shift;
    for (shift = 32; shift < 64; shift += 11) {
        memset(start, 0, LLM__BUCKETS * sizeof *start);
        for (i = 0; i < n; i++) start[from[i] >> shift & (LLM__BUCKETS - 1)]++;
        for (i = 0, sum = 0; i < LLM__BUCKETS; i++) { uint32_t c = start[i]; start[i] = sum; sum += c; }
        for (i = 0; i < n; i++) to[start[from[i] >> shift & (LLM__BUCKETS - 1)]++] = from[i];
        swap = from; from = to; to = swap;
    }
    if (from != s->keys) memcpy(s->keys, from, n * sizeof *from);
}
// Sorts positions p[0..n) by key[p] in full. Stable and linear too, but by way of memory: for the few.
static void llm__sampler_sort_positions(uint32_t *p, uint32_t *spare, const uint64_t *key, uint32_t n) {
    uint32_t start[256], i, sum, *from = p, *to = spare, *swap;
    unsigned shift;
    for (shift = 0; shift < 64; shift += 8) {
        memset(start, 0, sizeof start);
        for (i = 0; i < n; i++) start[key[from[i]] >> shift & 255]++;
        if (n == 0 || start[key[from[0]] >> shift & 255] == n) continue;           // all alike: nothing moves
        for (i = 0, sum = 0; i < 256; i++) { uint32_t c = start[i]; start[i] = sum; sum += c; }
        for (i = 0; i < n; i++) to[start[key[from[i]] >> shift & 255]++] = from[i];
        swap = from; from = to; to = swap;
    }
    if (from != p) memcpy(p, from, n * sizeof *p);
}
// Ascending keys = descending logits, then ascending ids. Both zeros are one value.
static uint64_t llm__sampler_key(float l, uint32_t id) {
    uint32_t u = llm__f32_bits(l);
    if (u == 0x80000000u) u = 0;
    u = u >> 31 ? u : ~u & 0x7fffffffu;
    return (uint64_t)u << 32 | id;
}
static uint64_t llm__sampler_sum(const uint64_t *w, size_t n) {
    uint64_t sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += w[i];
    return sum;
}
// What a prefix must reach to hold the share p of the total.
static uint64_t llm__sampler_goal(float p, uint64_t total) {
    double goal = (double)p * (double)total;
    return (uint64_t)goal;
}
static uint64_t llm__sampler_min_weight(float min_p) {
    return min_p >= 2.0f ? 2 * LLM__WEIGHT_ONE : (uint64_t)((double)min_p * 4294967296.0);
}
static uint32_t llm__sampler_bucket(float max, float l) {
    float below = max - l;
    return below < 32.0f ? (uint32_t)(below * 64.0f) : (uint32_t)LLM__BUCKETS - 1;
}

// The last bucket that can hold a survivor of top_k or, if it is the first to cut, of top_p. Exact, because buckets are in the order
// of the logits and their counts and weights are integers.
static uint32_t llm__sampler_last_bucket(llm__sampler *s, const float *l, float max, uint64_t total) {
    uint32_t n = s->n_vocab, i, b;
    uint64_t sum = 0, goal;
    if (s->cfg.top_k && s->cfg.top_k < n) {
        memset(s->bucket_count, 0, LLM__BUCKETS * sizeof *s->bucket_count);
        for (i = 0; i < n; i++) s->bucket_count[llm__sampler_bucket(max, l[i])]++;
        for (b = 0; b < LLM__BUCKETS - 1 && (sum += s->bucket_count[b]) < s->cfg.top_k; b++) { }
        return b;
    }
    if (llm__sampler_off(s->cfg.top_p) || !llm__sampler_off(s->cfg.typical_p)) return LLM__BUCKETS - 1;
    goal = llm__sampler_goal(s->cfg.top_p, total);
    memset(s->bucket_weight, 0, LLM__BUCKETS * sizeof *s->bucket_weight);
    for (i = 0; i < n; i++) s->bucket_weight[llm__sampler_bucket(max, l[i])] += s->weights[i];
    for (b = 0; b < LLM__BUCKETS - 1 && (sum += s->bucket_weight[b]) < goal; b++) { }
    return b;
}
// Gathers, sorted, every token that the stages below could keep, and as few others as is cheap to know. Returns how many; *total is
// the weight of the whole vocabulary where a stage asks for it. The result is that of sorting everything; the time is not.
static uint32_t llm__sampler_gather(llm__sampler *s, const llm__vectors *vec, const float *l, float max, uint64_t *total) {
    const llm_sampling *c = &s->cfg;
    bool top_k = c->top_k && c->top_k < s->n_vocab, typical = !llm__sampler_off(c->typical_p), top_p = !llm__sampler_off(c->top_p);
    uint64_t least = 0;              // weights below it cannot survive
    uint32_t n = s->n_vocab, m = 0, last = LLM__BUCKETS - 1, i;
    *total = 0;
    if (!top_k && (typical || top_p || c->min_p > 0.0f)) {
        vec->exp_weights(s->weights, l, max, n);
        if (top_p || typical) *total = llm__sampler_sum(s->weights, n);
        // Typical: with at most 2^20 tokens H < 10.6, so that whatever weighs nothing (22.1 or more below the best) is farther from H
        // than every token with a weight, and comes too late. top_p: the goal is reached before the weightless.
        if (typical) least = n <= 1u << 20 ? 1 : 0;
        else if (top_p) least = 1;
        if (!typical && c->min_p > 0.0f) least = LLM__MAX(least, LLM__MIN(llm__sampler_min_weight(c->min_p), LLM__WEIGHT_ONE));
    }
    // A minimum weight of 1/64 leaves at most some hundreds: not worth a pass over the buckets.
    if (least < LLM__WEIGHT_ONE / 64) last = llm__sampler_last_bucket(s, l, max, *total);
    for (i = 0; i < n; i++) {
        if (least && s->weights[i] < least) continue;
        if (last < LLM__BUCKETS - 1 && llm__sampler_bucket(max, l[i]) > last) continue;
        s->keys[m++] = llm__sampler_key(l[i], i);
    }
    llm__sampler_sort(s, m);                                            // gathered by id, and the sort is stable
    for (i = 0; i < m; i++) {
        s->ids[i] = (uint32_t)s->keys[i];
        s->x[i] = l[s->ids[i]];
    }
    return m;
}

static double llm__sampler_expected_surprise(const llm__sampler *s, uint32_t m, uint64_t total) {
    double h = 0.0;
    uint32_t i;
    for (i = 0; i < m; i++) {
        double part = s->weights[i] ? (double)s->weights[i] * (double)(s->x[0] - s->x[i]) : 0.0;      // 0 * infinity is 0 here
        h += part;
    }
    return h / (double)total;
}
// Of the n positions in s->nearest keeps the nearest, ties by id, until the weights reach the goal.
static void llm__sampler_keep_nearest(llm__sampler *s, uint32_t n, uint64_t sum, uint64_t goal) {
    uint32_t i;
    for (i = 0; i < n; i++) s->keys[s->nearest[i]] = s->ids[s->nearest[i]];
    llm__sampler_sort_positions(s->nearest, s->spare, s->keys, n);
    llm__sampler_sort_positions(s->nearest, s->spare, s->distance, n);
    for (i = 0; i < n; i++) {
        s->keys[s->nearest[i]] = sum < goal;
        sum += s->weights[s->nearest[i]];
    }
}
// Keeps the tokens whose surprise is nearest to the expected one, until their weights reach the goal. Only the bucket in which that
// happens has to be put in order.
static uint32_t llm__sampler_typical(llm__sampler *s, uint32_t m, uint64_t total) {
    uint64_t sum = 0, goal = LLM__MAX(llm__sampler_goal(s->cfg.typical_p, total), 1);      // at least one token
    double h = llm__sampler_expected_surprise(s, m, total);
    uint32_t i, n = 0, last = 0, kept = 0;
    memset(s->bucket_weight, 0, LLM__BUCKETS * sizeof *s->bucket_weight);
    for (i = 0; i < m; i++) {
        double d = (double)(s->x[0] - s->x[i]) - h;
        d = d < 0.0 ? -d : d;
        s->distance[i] = llm__f64_bits(d) & 0x7fffffffffffffffu;        // bits of doubles >= 0 are in their order
        s->keys[i] = d < 32.0 ? (uint64_t)(d * 64.0) : (uint64_t)LLM__BUCKETS - 1;
        s->bucket_weight[s->keys[i]] += s->weights[i];
    }
    while (last < LLM__BUCKETS - 1 && sum + s->bucket_weight[last] < goal) sum += s->bucket_weight[last++];
    for (i = 0; i < m; i++) {
        if (s->keys[i] == last) s->nearest[n++] = i;
        s->keys[i] = s->keys[i] < last;                                 // from here on: kept or not
    }
    llm__sampler_keep_nearest(s, n, sum, goal);
    for (i = 0; i < m; i++) {
        if (!s->keys[i]) continue;
        s->ids[kept] = s->ids[i];
        s->x[kept++] = s->x[i];
    }
    return kept;
}
static uint32_t llm__sampler_top_p(const llm__sampler *s, uint32_t m, uint64_t total) {
    uint64_t sum = 0, goal = llm__sampler_goal(s->cfg.top_p, total);
    uint32_t i;
    for (i = 0; i < m; i++)
        if ((sum += s->weights[i]) >= goal) return i + 1;
    return m;
}
static uint32_t llm__sampler_min_p(const llm__sampler *s, uint32_t m) {
    uint64_t least = llm__sampler_min_weight(s->cfg.min_p);
    while (m > 1 && s->weights[m - 1] < least) m--;
    return m;
}
// The first index whose running sum exceeds u.
static uint32_t llm__sampler_at(const uint64_t *w, uint32_t m, uint64_t u) {
    uint64_t sum = 0;
    uint32_t i;
    for (i = 0; i + 1 < m; i++)
        if ((sum += w[i]) > u) break;
    return i;
}
static llm_token llm__sampler_draw(llm__sampler *s, const llm__vectors *vec, uint32_t m, uint64_t position) {
    uint64_t u;
    uint32_t i;
    for (i = 0; i < m; i++) s->x[i] /= s->cfg.temperature;
    if (!llm__f32_is_finite(s->x[0])) return (llm_token)s->ids[0];      // so cold that the quotient overflows: greedy
    vec->exp_weights(s->weights, s->x, s->x[0], m);
    u = llm__sampler_mulhi(llm__sampler_random64(s->cfg.seed, position), llm__sampler_sum(s->weights, m));
    return (llm_token)s->ids[llm__sampler_at(s->weights, m, u)];
}
// history: all tokens of the context; the token is picked for position n_history.
static llm_result llm__sampler_pick(llm__sampler *s, const llm__vectors *vec, const float *logits, uint32_t n_vocab,
                                    const llm_token *history, size_t n_history, llm_token *out, llm_error *e) {
    const llm_sampling *c = &s->cfg;
    const float *l;
    bool bad = false, cut = false;
    uint64_t total;
    uint32_t m, i;
    float max;
    if (!n_vocab || n_vocab != s->n_vocab)
        return llm__fail(e, LLM_BAD_STATE, "the sampler was set up for %u tokens, not for %u", s->n_vocab, n_vocab);
    l = llm__sampler_modify(s, logits, history, n_history);
    max = vec->highest(l, n_vocab, &bad);
    if (bad && l != logits) {
        (void)vec->highest(logits, n_vocab, &bad);
        if (!bad) return llm__fail(e, LLM_BAD_LOGITS, "bias and penalties leave no token that can be picked, or make a logit infinite");
    }
    if (bad) return llm__fail(e, LLM_BAD_LOGITS, "the model produced NaN, infinite or only -infinite logits; its weights are damaged");
    if (c->temperature == 0.0f) {
        for (i = 0; i + 1 < n_vocab && l[i] != max; i++) { }            // ties: the lowest id
        *out = (llm_token)i;
        return llm__ok(e);
    }
    m = llm__sampler_gather(s, vec, l, max, &total);
    if (c->top_k && c->top_k < n_vocab) { m = LLM__MIN(m, c->top_k); cut = true; }
    vec->exp_weights(s->weights, s->x, s->x[0], m);
    if (!llm__sampler_off(c->typical_p)) {
        m = llm__sampler_typical(s, m, cut ? llm__sampler_sum(s->weights, m) : total);
        vec->exp_weights(s->weights, s->x, s->x[0], m);                 // the best may be gone: weights are those of what is left
        cut = true;
    }
    if (!llm__sampler_off(c->top_p)) m = llm__sampler_top_p(s, m, cut ? llm__sampler_sum(s->weights, m) : total);
    if (c->min_p > 0.0f) m = llm__sampler_min_p(s, m);
    *out = llm__sampler_draw(s, vec, m, n_history);
    return llm__ok(e);
}

// Stop strings: one Knuth-Morris-Pratt automaton each, fed with the answer's bytes as they come. The match that ends first wins, of
// those that end together the longest: so the result is the same however the text is cut into pieces.
enum { LLM__MAX_STOPS = 64, LLM__MAX_STOP_BYTES = 4096 };

typedef struct llm__stop_one {
    const char *p;
    uint32_t n, matched;             // matched: the longest prefix of it that the text so far ends with
    uint16_t *fallback;              // [n] after k matched bytes and a mismatch, go on with fallback[k - 1] matched
} llm__stop_one;
typedef struct llm__stops { llm__stop_one *v; uint32_t n; void *block; uint64_t block_bytes; } llm__stops;

// What an arena keeps for stop strings that come later, unless llm_open's take more: six strings of up to 32 bytes.
#define LLM__STOP_ROOM 1024u

static void llm__stops_free(llm__stops *s, const llm__heap *h) {
    llm__free(h, s->block);
    memset(s, 0, sizeof *s);
}
// Forgets the text so far; called where an answer begins.
static void llm__stops_reset(llm__stops *s) {
    uint32_t i;
    for (i = 0; i < s->n; i++) s->v[i].matched = 0;
}
static uint32_t llm__stops_step(const llm__stop_one *s, uint32_t matched, char c) {
    while (matched && (matched == s->n || s->p[matched] != c)) matched = s->fallback[matched - 1];
    return s->p[matched] == c ? matched + 1 : 0;
}
static void llm__stops_layout(llm__stops *s, llm__layout *a, const char *const *stop) {
    uint32_t i, n = s->n;
    llm__stop_one *v = LLM__CARVE(a, llm__stop_one, n);
    for (i = 0; i < n; i++) {
        uint32_t bytes = (uint32_t)strlen(stop[i]), k, matched = 0;
        char *p = LLM__CARVE(a, char, bytes);
        uint16_t *fallback = LLM__CARVE(a, uint16_t, bytes);
        if (!a->base) continue;
        memcpy(p, stop[i], bytes);
        v[i].p = p;
        v[i].n = bytes;
        v[i].matched = 0;
        v[i].fallback = fallback;
        fallback[0] = 0;
        for (k = 1; k < bytes; k++) fallback[k] = (uint16_t)(matched = llm__stops_step(&v[i], matched, p[k]));
    }
    s->v = v;
}
// All or nothing; copies.
static llm_result llm__stops_set(llm__stops *s, const llm__heap *h, const char *const *stop, uint32_t n, llm_error *e) {
    llm__stops next;
    llm__layout a;
    const bool arena = llm__heap_reserves(h), keep = arena && s->block;          // an arena has one block for them, from llm_open on
    uint32_t i;
    memset(&next, 0, sizeof next);
    memset(&a, 0, sizeof a);
    if (n > LLM__MAX_STOPS) return llm__fail(e, LLM_BAD_ARG, "%u stop strings; at most %u are possible", n, (uint32_t)LLM__MAX_STOPS);
    if (n && !stop) return llm__fail(e, LLM_BAD_ARG, "n_stop is %u but stop is NULL", n);
    for (i = 0; i < n; i++) {
        if (!stop[i] || !stop[i][0]) return llm__fail(e, LLM_BAD_ARG, "stop string %u is empty", i);
        if (strlen(stop[i]) > LLM__MAX_STOP_BYTES)
            return llm__fail(e, LLM_BAD_ARG, "stop string %u is longer than %u bytes", i, (uint32_t)LLM__MAX_STOP_BYTES);
    }
    next.n = n;
    if (n || arena) {
        llm__stops_layout(&next, &a, stop);
        next.block_bytes = keep ? s->block_bytes : arena ? LLM__MAX(a.used, (uint64_t)LLM__STOP_ROOM) : a.used;
        if (keep && a.used > s->block_bytes)
            return llm__fail(e, LLM_NO_MEMORY, "%u stop strings take %U bytes, and the arena keeps %U: give llm_open the longest", n,
                             a.used, s->block_bytes);
        next.block = keep ? s->block : llm__alloc_bytes(h, next.block_bytes);
        if (!next.block) return llm__fail(e, LLM_NO_MEMORY, "no memory for %u stop strings", n);
        a.base = (uint8_t *)next.block;
        a.used = 0;
        llm__stops_layout(&next, &a, stop);
    }
    if (!keep) llm__stops_free(s, h);
    *s = next;
    return llm__ok(e);
}
// Takes the next bytes of the answer. True: a stop string is complete after the first *used of them, and is *n bytes long (it may
// have begun in earlier pieces); the rest is not looked at. False: the last *n bytes of the text so far may become one and must be
// held back; what lies before them never will.
static bool llm__stops_feed(llm__stops *s, const char *p, size_t n_bytes, size_t *used, size_t *n) {
    size_t at;
    uint32_t i;
    *n = 0;
    for (at = 0; at < n_bytes; at++) {
        bool found = false;
        for (i = 0; i < s->n; i++) {
            llm__stop_one *one = &s->v[i];
            one->matched = llm__stops_step(one, one->matched, p[at]);
            if (one->matched != one->n) continue;
            found = true;
            *n = LLM__MAX(*n, one->n);
        }
        if (found) { *used = at + 1; return true; }
    }
    for (i = 0; i < s->n; i++) *n = LLM__MAX(*n, s->v[i].matched);
    *used = n_bytes;
    return false;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>identity   Which file is this? SHA-256 as FIPS 180-4 defines it: words are big-endian in the message and host words in the state.

typedef struct llm__sha256 {
    uint32_t state[8];
    uint64_t n_bytes;                  // taken so far
    uint8_t block[64];                 // the bytes of the block that is not full yet
} llm__sha256;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2).
static const uint32_t llm__sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t llm__sha256_rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t llm__sha256_sum0(uint32_t x) { return llm__sha256_rotate(x, 2) ^ llm__sha256_rotate(x, 13) ^ llm__sha256_rotate(x, 22); }
static uint32_t llm__sha256_sum1(uint32_t x) { return llm__sha256_rotate(x, 6) ^ llm__sha256_rotate(x, 11) ^ llm__sha256_rotate(x, 25); }
static uint32_t llm__sha256_low0(uint32_t x) { return llm__sha256_rotate(x, 7) ^ llm__sha256_rotate(x, 18) ^ x >> 3; }
static uint32_t llm__sha256_low1(uint32_t x) { return llm__sha256_rotate(x, 17) ^ llm__sha256_rotate(x, 19) ^ x >> 10; }

// One of the 64 rounds: word t of 16. Instead of moving eight variables along, the next round is given them in other places.
#define LLM__SHA256_ROUND(a, b, c, d, e, f, g, h, t) do { \
    uint32_t x = h + llm__sha256_sum1(e) + (((f ^ g) & e) ^ g) + k[t] + w[t]; \
    d += x; \
    h = x + llm__sha256_sum0(a) + ((a & b) | ((a | b) & c)); \
} while (0)
#define LLM__SHA256_8_ROUNDS(t) do { \
    LLM__SHA256_ROUND(a, b, c, d, e, f, g, h, t);     LLM__SHA256_ROUND(h, a, b, c, d, e, f, g, t + 1); \
    LLM__SHA256_ROUND(g, h, a, b, c, d, e, f, t + 2); LLM__SHA256_ROUND(f, g, h, a, b, c, d, e, t + 3); \
    LLM__SHA256_ROUND(e, f, g, h, a, b, c, d, t + 4); LLM__SHA256_ROUND(d, e, f, g, h, a, b, c, t + 5); \
    LLM__SHA256_ROUND(c, d, e, f, g, h, a, b, t + 6); LLM__SHA256_ROUND(b, c, d, e, f, g, h, a, t + 7); \
} while (0)

static void llm__sha256_block(uint32_t *state, const uint8_t *p) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7], w[16];
    const uint32_t *k = llm__sha256_k;
    int i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (;;) {
        LLM__SHA256_8_ROUNDS(0);
        LLM__SHA256_8_ROUNDS(8);
        k += 16;
        if (k == llm__sha256_k + 64) break;
        for (i = 0; i < 16; i++)                           // the words of the next 16 rounds, over those of the last
            w[i] += llm__sha256_low1(w[(i + 14) & 15]) + w[(i + 9) & 15] + llm__sha256_low0(w[(i + 1) & 15]);
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

static void llm__sha256_begin(llm__sha256 *s) {
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(s->state, start, sizeof start);
    s->n_bytes = 0;
}
static void llm__sha256_add(llm__sha256 *s, const void *data, size_t n) {
    const uint8_t *p = (const uint8_t *)data;
    size_t have = (size_t)(s->n_bytes % 64), take;
    s->n_bytes += n;
    if (have) {
        take = n < 64 - have ? n : 64 - have;
        memcpy(s->block + have, p, take);
        if (have + take < 64) return;
        llm__sha256_block(s->state, s->block);
        p += take;
        n -= take;
    }
    for (; n >= 64; p += 64, n -= 64) llm__sha256_block(s->state, p);
    if (n) memcpy(s->block, p, n);
}
// A one bit, zeros, and the length in bits that ends the last block (5.1.1). hex: 64 digits and a NUL.
static void llm__sha256_end(llm__sha256 *s, char *hex) {
    static const uint8_t one[64] = { 0x80 };
    const uint64_t n_bits = s->n_bytes * 8;
    uint8_t length[8];
    int i;
    for (i = 0; i < 8; i++) length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    llm__sha256_add(s, one, 1 + (size_t)((119 - s->n_bytes % 64) % 64));
    llm__sha256_add(s, length, 8);
    for (i = 0; i < 64; i++) hex[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - i % 8 * 4) & 15];
    hex[64] = 0;
}

// All bytes of all shards. false: they are not in memory as they stand in the file.
static bool llm__sha256_of_files(const llm__gguf *g, llm__sha256 *s) {
    uint32_t i;
    for (i = 0; i < g->n_shards; i++)
        if (!g->shards[i].base) return false;
    for (i = 0; i < g->n_shards; i++) llm__sha256_add(s, g->shards[i].base, (size_t)g->shards[i].size);
    return true;
}
// The directories, and the beginnings of 64 tensors spread over the model: a page of the file each.
#define LLM__SAMPLED_TENSORS 64u
#define LLM__SAMPLED_BYTES   1024u
static void llm__sha256_of_samples(const llm__gguf *g, llm__sha256 *s) {
    const uint32_t n = LLM__MIN(g->n_tensors, LLM__SAMPLED_TENSORS);
    uint32_t i;
    for (i = 0; i < g->n_shards; i++) {
        const llm__gguf_shard *f = &g->shards[i];
        llm__sha256_add(s, f->base ? f->base : f->head, (size_t)f->directory_bytes);
    }
    for (i = 0; i < n; i++) {
        const llm__gguf_tensor *t = &g->tensors[(uint64_t)i * g->n_tensors / n];
        llm__sha256_add(s, t->data, (size_t)LLM__MIN(t->n_bytes, LLM__SAMPLED_BYTES));
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// >>diagnosis  What was obtained: whether the promise of bits holds in this build, which stored types a file is made of, how fast the
//              bytes of a token can be read at all, and what bringing them in for the first time takes.

// A compiler under -ffast-math may fuse a product into a sum, turn a division into a multiplication, a square root into an estimate, or
// reorder a sum: each line below has one right result (computed with exact rational arithmetic) and another one under such a freedom.
static const char *llm__bits_check_scalar(void) {
    // opaque
    volatile float in[10] = { 1.00000012f, 0.99999988f, -1.0f, 9.0f, 127.0f, 3.0f, 1.17549435e-38f, 0.5f, 16777216.0f, 1.0f };
    const float a = in[0], b = in[1], c = in[2], nine = in[3], d = in[4], three = in[5], tiny = in[6], half = in[7];
    const float big = in[8], one = in[9];
    const float nan = llm__bits_f32(0x7fc00000u | (uint32_t)(one == 2.0f));
    float r = a * b;
    r = r + c;
    if (llm__f32_bits(r) != 0x00000000u) return "the compiler fuses products into sums";
    if (llm__f32_bits(llm__fma(a, b, c)) != 0xa8800000u) return "fused multiply-add is not exact";
    r = nine / d;
    if (llm__f32_bits(r) != 0x3d912245u) return "the compiler divides by multiplying";
    r = one / llm__sqrt(three);
    if (llm__f32_bits(r) != 0x3f13cd3au) return "the square root is an estimate";
    r = tiny * half;
    if (llm__f32_bits(r) != 0x00400000u) return "subnormal numbers are flushed to zero";
    r = big + one;
    r = r - big;
    if (llm__f32_bits(r) != 0x00000000u) return "the compiler reorders sums";
    r = nan > one ? 1.0f : 2.0f;
    if (llm__f32_bits(r) != 0x40000000u) return "the compiler assumes that there is no NaN";
    return NULL;
}

// The same numbers through the kernels in use: sixteen lanes against one, on values that separate the roundings.
static const char *llm__bits_check_kernels(const llm__kernels *k) {
    llm__vectors scalar;
    float x[48], y[48], z[48];
    uint32_t i;
    llm__vectors_scalar(&scalar);
    for (i = 0; i < 48; i++) x[i] = ((float)(int32_t)(i * 2654435761u)) * 4.6566129e-10f * (i % 7 == 0 ? 1e-3f : 3.0f);
    scalar.rmsnorm(y, x, x, 48, 1e-5f);
    k->v.rmsnorm(z, x, x, 48, 1e-5f);
    if (memcmp(y, z, sizeof y) != 0) return "vector kernels differ from the scalar ones in this build";
    scalar.glu(y, x, x, 48, LLM__ACT_GELU);
    k->v.glu(z, x, x, 48, LLM__ACT_GELU);
    if (memcmp(y, z, sizeof y) != 0) return "vector kernels differ from the scalar ones in this build";
    return NULL;
}

// NULL: same bits as everywhere; else the reason why not.
static const char *llm__bits_check(const llm__kernels *k) {
    const char *reason = LLM__DIAGNOSIS ? llm__bits_check_scalar() : "not checked in this build (LLM_NO_DIAGNOSIS)";
    if (LLM__X87) reason = "floats are computed by the x87: compile with -msse2 -mfpmath=sse";
    if (!reason && LLM__CLANG_FAST_MATH) reason = "compiled by clang with -ffast-math";
    return reason ? reason : llm__bits_check_kernels(k);
}

static void llm__sort_type_use(llm_type_use *u, uint32_t n) {
    uint32_t i, j;
    for (i = 1; i < n; i++)
        for (j = i; j > 0 && u[j].n_bytes > u[j - 1].n_bytes; j--) {
            llm_type_use t = u[j];
            u[j] = u[j - 1];
            u[j - 1] = t;
        }
}
// Bytes and weights of each stored type, by bytes descending.
static LLM__NOINLINE uint32_t llm__type_histogram(const llm__gguf *g, llm_type_use *out, uint32_t cap) {
    uint32_t type, i, n = 0;
    for (type = 0; type < LLM__TYPE_COUNT && n < cap; type++) {
        llm_type_use *u = &out[n];
        u->gguf_type = llm__types[type].gguf_type;
        u->name = llm__types[type].name;
        u->n_weights = u->n_bytes = 0;
        u->accelerated = u->reserved = 0;
        for (i = 0; i < g->n_tensors; i++)
            if (g->tensors[i].type == (int)type) { u->n_weights += g->tensors[i].n_weights; u->n_bytes += g->tensors[i].n_bytes; }
        if (u->n_bytes) n++;
    }
    llm__sort_type_use(out, n);
    return n;
}

// ---- the roofline: how fast the bytes of one decoded token can be read at all ----
//
// Decode reads every weight once and computes on it while it waits, so nothing can decode faster than this machine reads. The bytes are
// those that a token touches, where they lie, in the order of the file; the threads are those that compute; only the arithmetic is gone.

typedef struct llm__range { const uint8_t *p; uint64_t n; } llm__range;
typedef struct llm__ranges {           // sticky: after the first failure nothing more is added
    const llm__heap *heap;
    llm__range *v;
    size_t n, cap;
    uint64_t bytes;                    // of all
    bool failed;
} llm__ranges;

#define LLM__RANGE 32768u              // bytes of one stream at a time: small against a tensor, large against a fork-join's end

static void llm__ranges_add(llm__ranges *l, const uint8_t *p, uint64_t n, uint64_t most) {
    while (n && !l->failed) {
        const uint64_t take = LLM__MIN(n, most);
        void *v = l->v;
        if (!llm__grow(l->heap, &v, &l->cap, l->n + 1, sizeof *l->v)) { l->failed = true; return; }
        l->v = (llm__range *)v;
        l->v[l->n].p = p;
        l->v[l->n++].n = take;
        l->bytes += take;
        p += take;
        n -= take;
    }
}
// By address, which is their order in the file. They come nearly sorted, and a file chooses how nearly: Shell's sort, with the steps of
// Gonnet and Baeza-Yates.
static void llm__ranges_sort(llm__ranges *l) {
    size_t step, i, j;
    for (step = l->n; step > 1; ) {
        step = step > 2 ? step * 5 / 11 : 1;
        for (i = step; i < l->n; i++) {
            const llm__range x = l->v[i];
            for (j = i; j >= step && (uintptr_t)l->v[j - step].p > (uintptr_t)x.p; j -= step) l->v[j] = l->v[j - step];
            l->v[j] = x;
        }
    }
}

// Every matrix that decoding one token reads, and how many experts of it. Which ones a token picks does not matter here.
typedef void (*llm__mat_fn)(void *user, const llm__mat *m, uint32_t n_experts);
static void llm__each_matrix(const llm__net *net, llm__mat_fn fn, void *user) {
    uint32_t i, k;
    fn(user, &net->output, 1);
    for (i = 0; i < net->n_layer; i++) {
        const llm__layer *l = &net->layers[i];
        const llm__mat *m[8];
        m[0] = &l->wq; m[1] = &l->wk; m[2] = &l->wv; m[3] = &l->wo;
        m[4] = &l->router; m[5] = &l->gate; m[6] = &l->up; m[7] = &l->down;
        for (k = 0; k < 8; k++)
            if (m[k]->type != LLM__TYPE_NONE) fn(user, m[k], k > 4 && net->n_expert ? net->n_expert_used : 1u);
    }
}
static void llm__ranges_add_matrix(void *ranges, const llm__mat *m, uint32_t n_experts) {
    llm__ranges_add((llm__ranges *)ranges, m->data, (uint64_t)m->rows * m->row_bytes * n_experts, UINT64_MAX);
}
// With the row of the embedding: as llm__net.bytes_per_token counts them.
static void llm__weights_of_token(const llm__net *net, llm__ranges *l) {
    llm__ranges_add(l, net->embd.data, net->embd.row_bytes, UINT64_MAX);
    llm__each_matrix(net, llm__ranges_add_matrix, l);
}

// Keys and values of positions first .. end-1 of one page, in every layer of its group.
static void llm__kv_of_page(const llm__state *s, uint32_t group, size_t page, uint32_t first, uint32_t end, llm__ranges *l) {
    const llm__kv_group *g = &s->kv.groups[group];
    const uint8_t *p = g->pages[page];
    uint32_t i, h;
    if (first == 0 && end == LLM__PAGE) { llm__ranges_add(l, p, g->page_bytes, LLM__RANGE); return; }
    for (i = 0; i < s->net->n_layer; i++) {
        const llm__kv_layer *kv = &s->kv_layers[i];
        if (kv->group != group) continue;
        for (h = 0; h < kv->n_heads; h++) {
            llm__ranges_add(l, p + kv->k_at + ((uint64_t)h * LLM__PAGE + first) * kv->k_bytes, (end - first) * kv->k_bytes, LLM__RANGE);
            llm__ranges_add(l, p + kv->v_at + ((uint64_t)h * LLM__PAGE + first) * kv->v_bytes, (end - first) * kv->v_bytes, LLM__RANGE);
        }
    }
}
// What the last of the n positions in the cache reads there. A rewind may end where its window begins in a page that has been given back,
// because the next position, which begins one later, needs it no more.
static void llm__kv_of_token(const llm__state *s, size_t n, llm__ranges *l) {
    uint32_t i;
    for (i = 0; i < LLM__KV_GROUPS && n; i++) {
        const llm__kv_group *g = &s->kv.groups[i];
        const size_t seen = g->window && n > g->window ? n - g->window : 0, begin = LLM__MAX(seen, (size_t)g->first * LLM__PAGE);
        size_t page;
        for (page = begin / LLM__PAGE; g->page_bytes && page * LLM__PAGE < n; page++)
            llm__kv_of_page(s, i, page, (uint32_t)(LLM__MAX(begin, page * LLM__PAGE) - page * LLM__PAGE),
                            (uint32_t)LLM__MIN(n - page * LLM__PAGE, (size_t)LLM__PAGE), l);
    }
}
static llm_result llm__bytes_of_token(const llm__state *s, size_t n, llm__ranges *all, llm_error *e) {
    llm__ranges weights = LLM__ZERO;
    size_t i;
    memset(all, 0, sizeof *all);
    weights.heap = all->heap = s->heap;
    llm__weights_of_token(s->net, &weights);
    llm__ranges_sort(&weights);
    for (i = 0; i < weights.n; i++) llm__ranges_add(all, weights.v[i].p, weights.v[i].n, LLM__RANGE);
    llm__kv_of_token(s, n, all);
    llm__free(s->heap, weights.v);
    if (!weights.failed && !all->failed) return LLM_OK;
    llm__free(s->heap, all->v);
    return llm__fail(e, LLM_NO_MEMORY, "no memory for the list of what one token reads");
}

typedef struct llm__probe_job { const llm__run *run; const llm__ranges *all; uint32_t n_streams; llm__chunks chunks; } llm__probe_job;

// n bytes at each of n_streams places, in steps of four cache lines that the streams share evenly.
static void llm__read_streams(const llm__vectors *v, const llm__range *const *from, uint32_t n_streams, size_t n) {
    const uint32_t lines = 4 / n_streams;
    const uint8_t *at[4];
    uint32_t i;
    for (i = 0; i < 4; i++) at[i] = from[i / lines]->p + i % lines * 64;
    v->sweep(at, lines * 64, n / (lines * 64));
}
// What a range has beyond its first `from` bytes: less than four lines, or the part that is longer than its neighbours'.
static void llm__read_rest(const llm__vectors *v, const llm__range *range, size_t from) {
    uint8_t last[64];
    const uint8_t *at[4];
    llm__range rest;
    const llm__range *one = &rest;
    rest.p = range->p + from;
    rest.n = range->n - from;
    llm__read_streams(v, &one, 1, (size_t)rest.n);
    for (from = (size_t)rest.n & ~(size_t)255; from < rest.n; from += 64) {
        const size_t n = LLM__MIN((size_t)rest.n - from, sizeof last);
        at[0] = at[1] = at[2] = at[3] = rest.p + from;
        if (n < sizeof last) {
            memset(last, 0, sizeof last);
            memcpy(last, rest.p + from, n);
            at[0] = at[1] = at[2] = at[3] = last;
        }
        v->sweep(at, 0, 1);
    }
}
// The call goes through a pointer, so the compiler cannot know that nobody wants the answer.
static void llm__probe_work(void *arg, uint32_t worker) {
    llm__probe_job *job = (llm__probe_job *)arg;
    const llm__vectors *v = &job->run->k->v;
    uint32_t begin, end, i, k, apart;
    while (llm__chunks_take(&job->chunks, worker, &begin, &end) && !llm__run_cancelled(job->run)) {
        apart = (end - begin) / job->n_streams;                     // the streams of a chunk are this many ranges away from each other
        for (i = 0; i < apart && !llm__run_cancelled(job->run); i++) {
            const llm__range *from[4];
            size_t common = SIZE_MAX;
            for (k = 0; k < job->n_streams; k++) {
                from[k] = &job->all->v[begin + k * apart + i];
                common = (size_t)LLM__MIN(from[k]->n, (uint64_t)common);
            }
            common &= ~(size_t)255;
            llm__read_streams(v, from, job->n_streams, common);
            for (k = 0; k < job->n_streams; k++) if (from[k]->n > common) llm__read_rest(v, from[k], common);
        }
        for (i = begin + apart * job->n_streams; i < end && !llm__run_cancelled(job->run); i++) llm__read_rest(v, &job->all->v[i], 0);
    }
}

typedef struct llm__probe {
    llm__run run;
    const llm_clock *clock;
    uint32_t turn;                     // passes go with 1, 2 and 4 streams in turn
    double best;                       // GB/s of the fastest
} llm__probe;

// One pass of a small model is shorter than a clock can tell: there are as many as fill a millisecond, or 10 GB, which no machine reads
// in less than a clock's tick.
static bool llm__probe_pass(llm__probe *p, const llm__ranges *all) {
    const uint64_t began = llm__now_us(p->clock);
    uint64_t took = 0, bytes = 0;
    llm__probe_job job;
    job.run = &p->run; job.all = all; job.n_streams = 1u << p->turn++ % 3;
    do {
        llm__chunks_init(&job.chunks, p->run.team, (uint32_t)all->n, 4);
        llm__team_run(p->run.team, llm__probe_work, &job);
        bytes += all->bytes;
        took = llm__now_us(p->clock) - began;
    } while (took < 1000 && bytes < 10000000000u && !llm__run_cancelled(&p->run));
    if (took && !llm__run_cancelled(&p->run)) p->best = LLM__MAX(p->best, (double)bytes * 1e-3 / (double)took);
    return took != 0;
}
// Reads what the last of the n positions in the cache reads, until max_us are over, once at least.
static llm_result llm__probe_run(llm__probe *p, const llm__state *s, size_t n, uint64_t max_us, llm_error *e) {
    const uint64_t began = llm__now_us(p->clock);
    llm__ranges all;
    bool ticks;
    llm_result r = llm__bytes_of_token(s, n, &all, e);
    if (r != LLM_OK) return r;
    do {
        ticks = llm__probe_pass(p, &all);
    } while (ticks && !llm__run_cancelled(&p->run) && llm__now_us(p->clock) - began < max_us);
    llm__free(s->heap, all.v);
    if (llm__run_cancelled(&p->run)) return llm__fail(e, LLM_CANCELLED, "cancelled");
    return ticks ? LLM_OK : llm__fail(e, LLM_UNSUPPORTED, "the clock stands still, so nothing can be measured");
}

// ---- the first touch: one byte of every page that a token reads, in chunks, so that a cancel is heard ----

#define LLM__TOUCH_BYTES  4096u        // the smallest page of any system here
#define LLM__TOUCH_BLOCK  (64u << 20)  // between two looks at the cancel flag by the caller

typedef struct llm__touch_job { const llm__range *range; llm__chunks chunks; llm__atomic32 *cancel, seen; } llm__touch_job;

static void llm__touch_work(void *arg, uint32_t worker) {
    llm__touch_job *job = (llm__touch_job *)arg;
    uint32_t begin, end, sum = 0;
    while (llm__chunks_take(&job->chunks, worker, &begin, &end) && !llm__atomic_load(job->cancel)) {
        const volatile uint8_t *p = job->range->p + (uint64_t)begin * LLM__TOUCH_BYTES;
        const volatile uint8_t *last = job->range->p + LLM__MIN((uint64_t)end * LLM__TOUCH_BYTES, job->range->n);
        for (; p < last; p += LLM__TOUCH_BYTES) sum += *p;
    }
    llm__atomic_add(&job->seen, sum);
}
static void llm__touch(const llm__ranges *all, llm__team *team, llm__atomic32 *cancel) {
    llm__touch_job job = LLM__ZERO;
    size_t i;
    job.cancel = cancel;
    for (i = 0; i < all->n && !llm__atomic_load(cancel); i++) {
        llm__range rest = all->v[i];
        job.range = &rest;
        while (rest.n && !llm__atomic_load(cancel)) {
            const uint64_t n = LLM__MIN(rest.n, (uint64_t)LLM__TOUCH_BLOCK), left = rest.n - n;
            rest.n = n;
            llm__chunks_init(&job.chunks, team, (uint32_t)((n + LLM__TOUCH_BYTES - 1) / LLM__TOUCH_BYTES), 256);
            llm__team_run(team, llm__touch_work, &job);
            rest.p += n;
            rest.n = left;
        }
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// >>facts    What the rules judge is llm_stats_info. Here stand the parts of it that come from the build, the file's name, the machine and
//            the clock; the rest is filled in where the conversation is (public).

static const char *llm__isas_compiled(void) {
    return LLM__HAS_AVX_VNNI ? "scalar, AVX2, AVX-VNNI, AVX-512 VNNI"             // compilers that know the third know the fourth
         : LLM__HAS_AVX512 ? "scalar, AVX2, AVX-512 VNNI"
         : LLM__HAS_AVX2 ? "scalar, AVX2" : LLM__HAS_NEON ? "scalar, NEON, NEON dotprod, NEON i8mm"
         : LLM__HAS_WASM128 ? "scalar, WASM SIMD128" : "scalar";
}
static void llm__facts_build(llm_stats_info *f) {
    const llm__cpu cpu = llm__cpu_detect();
    f->compiler = LLM__COMPILER;
    f->optimized = LLM__OPTIMIZED;
    f->isas_compiled = llm__isas_compiled();
    f->isa_best = llm__isa_best(&cpu, false);
    f->backend = "CPU";
}
// Every text that nobody has set.
static void llm__facts_no_text(llm_stats_info *f) {
    f->bits_reason = f->compiler = f->isas_compiled = f->file_system = f->name_type = f->backend = f->attention = "";
    f->mapping_reason = f->mem_limit_by = f->power_mode = f->cores_reason = "";
}

// Bits per weight that a name stands for. Mixtures: of an 8B model, as llama.cpp's README of quantize lists them.
static const struct llm__name_type { const char *name; float bits; } llm__name_types[] = {
    { "IQ1_S", 2.0f }, { "IQ1_M", 2.2f }, { "IQ2_XXS", 2.4f }, { "IQ2_XS", 2.6f }, { "IQ2_S", 2.7f }, { "IQ2_M", 2.9f }, { "Q2_K_S", 3.0f },
    { "Q2_K", 3.2f }, { "IQ3_XXS", 3.3f }, { "IQ3_XS", 3.5f }, { "IQ3_S", 3.7f }, { "IQ3_M", 3.8f }, { "Q3_K_S", 3.6f }, { "Q3_K_M", 4.0f },
    { "Q3_K_L", 4.3f }, { "Q3_K", 4.0f }, { "IQ4_XS", 4.5f }, { "IQ4_NL", 4.7f }, { "Q4_K_S", 4.7f }, { "Q4_K_M", 4.9f },
    { "Q4_K_L", 5.1f }, { "Q4_K", 4.9f }, { "Q4_0", 4.7f }, { "Q4_1", 5.1f }, { "MXFP4", 4.5f }, { "NVFP4", 4.8f }, { "INT4", 4.9f },
    { "4BIT", 4.9f },
    { "Q5_K_S", 5.6f }, { "Q5_K_M", 5.7f }, { "Q5_K_L", 5.9f }, { "Q5_K", 5.7f }, { "Q5_0", 5.6f }, { "Q5_1", 6.1f }, { "Q6_K", 6.6f },
    { "Q8_0", 8.5f }, { "INT8", 8.5f }, { "8BIT", 8.5f }, { "BF16", 16.0f }, { "FP16", 16.0f }, { "F16", 16.0f }, { "FP32", 32.0f },
    { "F32", 32.0f }
};
static char llm__upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }
static bool llm__is_word_char(char c) { return (c >= '0' && c <= '9') || (llm__upper(c) >= 'A' && llm__upper(c) <= 'Z') || c == '_'; }

static bool llm__str_begins_name(llm__str s, const char *name) {
    size_t i;
    for (i = 0; name[i]; i++)
        if (i == s.n || llm__upper(s.p[i]) != name[i]) return false;
    return i == s.n || !llm__is_word_char(s.p[i]);
}
// The last stored type that stands in a file's name as a word of its own; NULL: none does.
static const struct llm__name_type *llm__name_type_of(const char *path) {
    const struct llm__name_type *found = NULL;
    llm__str s = llm__str_of(path);
    size_t i, k;
    for (i = 0; i < s.n; i++) {
        if (s.p[i] == '/' || s.p[i] == '\\') found = NULL;
        if (i > 0 && llm__is_word_char(s.p[i - 1])) continue;
        for (k = 0; k < LLM__COUNT(llm__name_types); k++)
            if (llm__str_begins_name(llm__str_n(s.p + i, s.n - i), llm__name_types[k].name)) found = &llm__name_types[k];
    }
    return found;
}

// ---- watching decode: times and counters that the owner of a context notes while it computes ----

#define LLM__TIMES  544u               // 34 octaves of microseconds in 16 steps each: a percentile is right within 3 %
#define LLM__RECENT 16u                // tokens in a row that make a rate

typedef struct llm__watch {
    uint32_t times[LLM__TIMES];        // histogram of single tokens
    uint64_t us[LLM__RECENT], bytes[LLM__RECENT];
    uint32_t n;                        // single tokens so far, modulo 2^32
    double burst, recent;              // GB/s
    llm__os_usage begin;               // at the beginning of the token, if it is sampled
    bool sampled;
    uint64_t wall_us, cpu_us, user_us, major, minor, preempted;        // of the sampled tokens of this answer
    uint32_t n_sampled;
    uint64_t last_us, next_look, next_count;       // time of the last token; when to look at the machine again, and at the pages of weights
} llm__watch;

static uint32_t llm__times_slot(uint64_t us) {
    uint32_t octave = 0;
    while (us >> octave > 31) octave++;
    return us < 16 ? (uint32_t)us : LLM__MIN(octave * 16 + (uint32_t)(us >> octave), LLM__TIMES - 1);
}
static double llm__times_middle(uint32_t slot) {
    return slot < 16 ? slot + 0.5 : ((double)(slot % 16 + 16) + 0.5) * (double)((uint64_t)1 << (slot / 16 - 1));
}
// p50, p90 and p99 in milliseconds, in one pass over the histogram; 0 without tokens.
static void llm__times_percentiles(const llm__watch *w, double out[3]) {
    static const uint32_t percent[3] = { 50, 90, 99 };
    uint64_t below = 0;
    uint32_t i, k = 0;
    out[0] = out[1] = out[2] = 0.0;
    for (i = 0; i < LLM__TIMES && k < 3 && w->n; i++) {
        below += w->times[i];
        while (k < 3 && below * 100 >= (uint64_t)w->n * percent[k]) out[k++] = llm__times_middle(i) * 0.001;
    }
}
// Asking the system twice costs some microseconds: of tokens that take less than a millisecond every 64th is asked for.
static void llm__watch_begin(llm__watch *w) {
    w->sampled = w->last_us >= 1000 || w->n % 64 == 0;
    if (w->sampled) llm__os_usage_now(&w->begin);
}
static void llm__watch_rate(llm__watch *w) {
    uint64_t us = 0, bytes = 0;
    uint32_t i;
    if (w->n < LLM__RECENT) return;
    for (i = 0; i < LLM__RECENT; i++) { us += w->us[i]; bytes += w->bytes[i]; }
    w->recent = us ? (double)bytes * 1e-3 / (double)us : 0.0;
    w->burst = LLM__MAX(w->burst, w->recent);
}
static void llm__watch_end(llm__watch *w, uint64_t us, uint64_t bytes) {
    llm__os_usage now;
    w->times[llm__times_slot(us)]++;
    w->us[w->n % LLM__RECENT] = us;
    w->bytes[w->n % LLM__RECENT] = bytes;
    w->last_us = us;
    w->n++;
    llm__watch_rate(w);
    if (!w->sampled) return;
    llm__os_usage_now(&now);
    w->wall_us += us;
    w->cpu_us += now.cpu_us - w->begin.cpu_us;
    w->user_us += now.user_us - w->begin.user_us;
    w->major += now.major_faults - w->begin.major_faults;
    w->minor += now.minor_faults - w->begin.minor_faults;
    w->preempted += now.preempted - w->begin.preempted;
    w->n_sampled++;
}
static void llm__watch_answer(llm__watch *w) {
    w->wall_us = w->cpu_us = w->user_us = w->major = w->minor = w->preempted = 0;
    w->n_sampled = 0;
}
static void llm__watch_facts(const llm__watch *w, uint32_t n_cpus, llm_stats_info *f) {
    const double n = w->n_sampled ? (double)w->n_sampled : 1.0;
    double ms[3];
    f->major_faults_per_token = (double)w->major / n;
    f->minor_faults_per_token = (double)w->minor / n;
    f->preempted_per_token = (double)w->preempted / n;
    if (!w->wall_us) {
        f->cpu_busy_pct = f->cpu_user_pct = 0.0;
    } else {
        const double all = (double)w->wall_us * (double)LLM__MAX(n_cpus, 1u) * 0.01;
        f->cpu_busy_pct = LLM__MIN(100.0, (double)w->cpu_us / all);
        f->cpu_user_pct = LLM__MIN(f->cpu_busy_pct, (double)w->user_us / all);
    }
    llm__times_percentiles(w, ms);
    f->decode_p50_ms = ms[0];
    f->decode_p90_ms = ms[1];
    f->decode_p99_ms = ms[2];
    f->burst_gb_s = w->burst;
    f->recent_gb_s = w->recent;
}

static void llm__facts_memory(const llm__memory *m, llm_stats_info *f) {
    f->file_resident_bytes = m->file_resident;
    f->anonymous_bytes = m->anonymous;
    f->swapped_bytes = m->swapped;
    f->peak_rss_bytes = m->peak_rss;
    f->mem_total = m->total;
    f->mem_available = m->available;
    f->mem_limit = m->limit;
    f->mem_limit_by = m->limit_by;
    f->swap_total = m->swap_total;
    f->swap_used = m->swap_used;
    f->swap_is_zram = m->swap_is_zram;
    f->mem_pressure_pct = m->pressure_pct;
}
static void llm__facts_heat(const llm__heat *h, bool is_burst, llm_stats_info *f) {
    f->cpu_mhz = h->mhz;
    f->cpu_mhz_max = h->mhz_max;
    if (is_burst || !f->burst_mhz) f->burst_mhz = h->mhz;
    f->temperature_c = h->celsius;
    f->power_mode = h->mode;
    f->on_battery = h->on_battery;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>rules    Facts in, causes out: one table, pure, so that tests feed it facts. A cause has a factor, of one of three kinds, and a piece
//            of advice. Order of suspicion: the binary, the file, kernels, memory, cores, heat.

// The most that a repair of the kernels can gain: what the roofline leaves, where it is known.
static double llm__room(const llm_stats_info *f, double most) {
    return f->roofline_pct > 0.0 ? LLM__MIN(most, 100.0 / f->roofline_pct) : most;
}
static double llm__by_share(double pct) { return pct > 0.0 ? LLM__MAX(1.0, 100.0 / pct) : 1.0; }
static double llm__ratio(double a, double b) { return b > 0.0 ? LLM__MAX(1.0, a / b) : 1.0; }
static bool llm__isa_is_missing(const llm_stats_info *f) {
    return f->isa_best != LLM_ISA_SCALAR && !llm__has(f->isas_compiled, llm__isa_name(f->isa_best));
}
// Others can have had the CPUs for the time that is missing: a thread that loses its CPU gets it back within some ten milliseconds.
static bool llm__neighbours_explain(const llm_stats_info *f) {
    const double ms = f->decode_tokens ? f->decode_ms / (double)f->decode_tokens : f->decode_p50_ms;
    const uint32_t n_cpus = LLM__MIN(LLM__MAX(f->n_threads, 1u), LLM__MAX(f->cpus_allowed, 1u));
    const double missing = ms * (1.0 - f->cpu_busy_pct * 0.01) * (double)n_cpus;
    return f->preempted_per_token >= 1.0 && f->cpu_busy_pct < 75.0 && f->major_faults_per_token < 1.0 && f->quota_throttled_pct < 20.0
        && missing <= f->preempted_per_token * 12.0;
}
static uint64_t llm__needed(const llm_stats_info *f) { return f->weight_bytes + f->kv_limit_bytes + f->scratch_bytes; }

// One row is one cause, from the binary up to heat, the order of suspicion. {name} in a text is the fact of that name in llm_stats_info.
// code, layer, kind, which time; condition; factor; symptom; check; text; advice
#define LLM__RULES(X) \
    X(unoptimized_build, 0, LLM_BOUND, "decode", \
      f->compiler[0] && !f->optimized, llm__room(f, 50.0), \
      "ten to fifty times slower than the same phone elsewhere, from the first token on", "llm report: optimisation", \
      "the library was compiled without optimisation ({compiler})", \
      "compile llm_impl.h with -O2; the release variant on Android, CMAKE_BUILD_TYPE=Release, not Debug") \
    X(isa_not_compiled, 0, LLM_BOUND, "decode", \
      llm__isa_is_missing(f), llm__room(f, 20.0), \
      "several times slower than another program on the same machine", "llm report: kernels compiled in", \
      "this CPU has {isa_best}, but the build has only {isas_compiled}", \
      "compile for the 64-bit target without LLM_NO_SIMD, with gcc or clang") \
    X(wide_weights, 1, LLM_BOUND, "decode", \
      f->bits_per_weight >= 12.0 && !(f->name_bits > 0.0 && f->bits_per_weight > 1.25 * f->name_bits), f->bits_per_weight / 4.9, \
      "every token is slow although the threads are busy", "llm info: bits per weight", \
      "the file stores {bits_per_weight} bits per weight, and decode reads all of them for every token", \
      "take a 4-bit file of the same model (Q4_K_M or Q4_0)") \
    X(name_promises_less, 1, LLM_BOUND, "decode", \
      f->name_bits > 0.0 && f->bits_per_weight > 1.25 * f->name_bits, f->bits_per_weight / f->name_bits, \
      "a 4-bit file is as slow as one of 8 or 16 bits", "llm info: stored types", \
      "the name says {name_type} ({name_bits} bits), but a token reads {bits_per_weight} bits per weight", \
      "take a file that is what its name says; where rows are no multiple of 256 long, Q4_0 stays 4-bit and Q4_K does not") \
    X(slow_storage, 1, LLM_MEASURED, "first token", \
      f->file_system[0] && f->mapping == LLM_MAP && f->load_ms + f->first_token_ms > 0.0, \
      llm__ratio(f->load_ms + f->first_token_ms, f->load_ms + f->first_token_ms - f->first_touch_ms), \
      "the first answer takes minutes, the next ones do not", "llm report: file system", \
      "the file is mapped from {file_system}, where every page costs a message; bringing them in took {first_touch_ms} ms", \
      "move the file to local storage, such as the app's own folder, or leave the mapping to the library (it reads such files)") \
    X(slow_load, 1, LLM_MEASURED, "load", \
      f->mapping == LLM_READ && (f->file_system[0] || !f->from_path) && f->map_ms > 1000.0, \
      llm__ratio(f->load_ms, f->load_ms - f->map_ms), \
      "loading takes a minute or more", "llm report: load", \
      "the weights were read instead of mapped, {map_ms} of {load_ms} ms ({mapping_reason})", \
      "give llm_load a path on local storage, such as the app's own folder") \
    X(scalar_kernels, 2, LLM_BOUND, "decode", \
      f->isa == LLM_ISA_SCALAR && f->isa_best != LLM_ISA_SCALAR && !llm__isa_is_missing(f), llm__room(f, 20.0), \
      "ten times slower than another program on the same machine", "llm report: kernels", \
      "scalar kernels compute although the CPU has {isa_best}: {roofline_pct} of what memory allows", \
      "leave llm_model_desc.isa at 0") \
    X(weaker_kernels, 2, LLM_BOUND, "prefill", \
      f->isa != f->isa_best && f->isa != LLM_ISA_SCALAR && f->isa != LLM_ISA_AUTO && !llm__isa_is_missing(f), 2.5, \
      "long prompts are slow, answers are not", "llm report: kernels", \
      "{isa} kernels compute although the CPU has {isa_best}", \
      "leave llm_model_desc.isa at 0") \
    X(scalar_types, 2, LLM_BOUND, "decode", \
      f->isa != LLM_ISA_SCALAR && f->scalar_pct > 2.0, llm__room(f, 1.0 + f->scalar_pct * 0.09), \
      "one file is slower than another one of the same size", "llm report: matrices on scalar kernels", \
      "{scalar_pct} % of the weights have a stored type without kernels for {isa}", \
      "take a file of Q4_0, Q4_K_M, Q5_K_M, Q6_K or Q8_0") \
    X(paging, 3, LLM_MEASURED, "decode", \
      f->major_faults_per_token >= 1.0 && f->cpu_user_pct < 70.0, llm__by_share(f->cpu_user_pct), \
      "seconds per token, storage is busy, the CPU is idle", "llm report: major faults per token", \
      "weights come from storage again and again: {major_faults_per_token} times per token, while {mem_available} of memory is free", \
      "take a smaller file or fewer bits, close other programs, lift the memory limit if there is one") \
    X(memory_pressure, 3, LLM_BOUND, "decode", \
      f->mem_pressure_pct >= 10.0 && (f->swap_used || f->swapped_bytes || f->major_faults_per_token >= 0.1), \
      100.0 / (100.0 - LLM__MIN(f->mem_pressure_pct, 99.0)), \
      "fast after a restart, slow with other apps open", "llm report: memory pressure", \
      "tasks wait for memory {mem_pressure_pct} % of the time; {swap_used} of {swap_total} of swap is in use, {swapped_bytes} by us", \
      "close other programs, take a smaller file or n_ctx, switch \"RAM expansion\" (zram, swap) off") \
    X(does_not_fit, 3, LLM_BOUND, "decode", \
      f->mem_limit && llm__needed(f) > f->mem_limit, 1.0, \
      "the app is killed, or seconds per token", "llm plan", \
      "weights, a full context and scratch need more than the {mem_limit} that this process may have ({mem_limit_by})", \
      "take a smaller file or fewer bits, or a smaller n_ctx") \
    X(context_too_large, 3, LLM_BOUND, "decode", \
      f->mem_available && f->kv_limit_bytes - LLM__MIN(f->kv_bytes, f->kv_limit_bytes) > f->mem_available, 1.0, \
      "fast at first, slow or killed in long conversations", "llm plan: keys and values", \
      "a full context would take {kv_limit_bytes} of keys and values, and {mem_available} is free", \
      "set a smaller n_ctx, or kv_type Q8_0") \
    X(weights_copied, 3, LLM_MEASURED, "load", \
      f->mapping == LLM_READ && f->from_path && !f->file_system[0] && f->map_ms > 300.0, llm__ratio(f->load_ms, f->load_ms - f->map_ms), \
      "loading takes seconds to minutes, at every start", "llm report: mapped or read", \
      "the weights are copied into memory at load, {map_ms} of {load_ms} ms ({mapping_reason}); that memory cannot be dropped", \
      "leave llm_model_desc.mapping at 0: a mapping takes milliseconds and is shared") \
    X(second_copy, 3, LLM_BOUND, "load", \
      f->mapping == LLM_MAP && f->from_path && f->weight_bytes > 64000000u \
          && f->anonymous_bytes > f->weight_bytes / 10 * 9 + f->kv_bytes + f->scratch_bytes, 1.0, \
      "twice the memory of the file is in use", "llm report: anonymous memory", \
      "this process holds {anonymous_bytes} beside the mapped weights of {weight_bytes}: it may have read the file as well", \
      "give the path to llm_load and do not keep the file's bytes, or give the bytes to llm_load_memory") \
    X(fewer_cpus, 4, LLM_BOUND, "decode", \
      f->n_threads_resting && f->cpus_allowed < f->cpus_allowed_at_load, \
      llm__ratio(f->n_threads, (double)f->n_threads - (double)f->n_threads_resting), \
      "slow in the background, fast in front", "llm report: cores", \
      "the CPUs of this process shrank from {cpus_allowed_at_load} to {cpus_allowed}: {n_threads_resting} of {n_threads} threads rest", \
      "let the app answer while it is in front, or ask the system for more CPUs") \
    X(too_many_threads, 4, LLM_BOUND, "decode", \
      f->n_performance_cores && f->n_threads > f->n_performance_cores + f->n_threads_resting \
          && f->cpus_allowed >= f->cpus_allowed_at_load, \
      llm__ratio((double)f->n_threads - (double)f->n_threads_resting, f->n_performance_cores), \
      "more threads, less speed", "llm report: threads and cores", \
      "{n_threads} threads, and performance cores for {n_performance_cores}: the surplus runs on slow cores, or on one core with others", \
      "leave llm_model_desc.n_threads at 0") \
    X(threads_missing, 4, LLM_BOUND, "decode", \
      f->n_threads < f->n_threads_asked, llm__ratio(f->n_threads_asked, f->n_threads), \
      "one core computes, the others rest", "llm report: threads", \
      "{n_threads_asked} threads were asked for and {n_threads} could be had", \
      "compile without LLM_NO_THREADS (tcc has no atomics), or lift the limit of threads") \
    X(cpu_quota, 4, LLM_MEASURED, "decode", \
      f->quota_throttled_pct >= 20.0, llm__by_share(f->cpu_busy_pct), \
      "steady for some tokens, then a pause, in a container", "llm report: quota", \
      "the control group's quota of CPU time ran out in {quota_throttled_pct} % of its periods; the threads computed {cpu_busy_pct} %", \
      "raise the quota (cpu.max, --cpus), or set llm_model_desc.n_threads to what it is worth") \
    X(busy_neighbour, 4, LLM_MEASURED, "decode", \
      llm__neighbours_explain(f), llm__by_share(f->cpu_busy_pct), \
      "sometimes fast, sometimes slow", "llm report: busy", \
      "the threads had a CPU only {cpu_busy_pct} % of the time and lost it {preempted_per_token} times per token: others compute there", \
      "stop what else computes, in this program too, or give llm_model_desc.n_threads as many as there are CPUs left") \
    X(host_threads_wait, 4, LLM_MEASURED, "decode", \
      f->host_threads && f->cpu_busy_pct > 0.0 && f->cpu_busy_pct < 50.0 && f->major_faults_per_token < 1.0 \
          && f->quota_throttled_pct < 20.0 && !llm__neighbours_explain(f), \
      llm__by_share(f->cpu_busy_pct), \
      "the CPUs are idle, and it is slow, with a job system of the program's own", "llm report: busy", \
      "the program's job system computed only {cpu_busy_pct} % of the time: it waits, but for no page and no other program", \
      "for_fn is called some hundred times per token: it must neither sleep nor make threads") \
    X(not_pinned, 4, LLM_BOUND, "decode", \
      f->cores_asked == LLM_CORES_BIG && f->cores == LLM_CORES_ANY, 1.0, \
      "pinned threads wander", "llm report: cores", \
      "pinning was asked for and did not happen: {cores_reason}", \
      "leave llm_model_desc.cores at 0 here; the number of threads stays right") \
    X(capped, 5, LLM_BOUND, "decode", \
      f->cpu_share && f->cpu_share < 100, llm__ratio(100.0, f->cpu_share), \
      "half the speed, and a cool device", "llm report: share", \
      "the program caps the library at {cpu_share} % of the time (cpu_share)", \
      "set llm_model_desc.cpu_share to 0 where heat does not matter") \
    X(throttled, 5, LLM_MEASURED, "decode", \
      f->recent_gb_s > 0.0 && f->recent_gb_s < 0.8 * f->burst_gb_s && f->cpu_mhz && f->cpu_mhz * 10 < f->burst_mhz * 9, \
      llm__ratio(f->burst_gb_s, f->recent_gb_s), \
      "fast in the first minute, then slower and slower", "llm report: clock", \
      "the clock fell from {burst_mhz} to {cpu_mhz}, and decode with it ({temperature_c}): not a slow model, but a hot machine", \
      "let it cool, use fewer threads, do not pin them; expect this rate when it runs for long") \
    X(power_saving, 5, LLM_BOUND, "decode", \
      llm__str_is(llm__str_of(f->power_mode), "low-power"), llm__ratio(f->cpu_mhz_max, f->cpu_mhz), \
      "slower on battery than on mains", "llm report: power mode", \
      "the system saves power (mode {power_mode}, clock {cpu_mhz} of {cpu_mhz_max})", \
      "switch the power-saving mode off, or plug it in")

typedef struct llm__rule {
    const char *code;
    uint32_t layer;
    llm_factor kind;
    const char *what, *symptom, *check, *text, *advice;
} llm__rule;

static const llm__rule llm__rules[] = {
#define LLM__X(code, layer, kind, what, condition, factor, symptom, check, text, advice) \
    { #code, layer, kind, what, symptom, check, text, advice },
    LLM__RULES(LLM__X)
#undef LLM__X
};

// The factors of all rules; 0 where the condition does not hold.
static void llm__judge(const llm_stats_info *f, double factors[LLM__COUNT(llm__rules)]) {
    uint32_t i = 0;
#define LLM__X(code, layer, kind, what, condition, factor, symptom, check, text, advice) \
    factors[i++] = !(condition) ? 0.0 : (double)(factor) > 1.0 ? (double)(factor) : 1.0;            // NaN too is a factor of 1
    LLM__RULES(LLM__X)
#undef LLM__X
}

// The facts that texts name, and how they are written.
enum { LLM__FACT_U32, LLM__FACT_REAL, LLM__FACT_BYTES, LLM__FACT_TEXT, LLM__FACT_ISA, LLM__FACT_SHARE, LLM__FACT_MHZ, LLM__FACT_HEAT,
       LLM__FACT_FREE };                     // of the last four 0 is unknown, and no 0 of anything
#define LLM__FACTS(X) \
    X(U32, n_threads) X(U32, n_threads_asked) X(REAL, quota_throttled_pct) X(U32, cpu_share) X(U32, n_threads_resting) \
    X(U32, cpus_allowed) X(U32, cpus_allowed_at_load) \
    X(U32, n_performance_cores) \
    X(TEXT, cores_reason) X(ISA, isa) X(ISA, isa_best) X(TEXT, compiler) X(TEXT, isas_compiled) X(TEXT, file_system) X(TEXT, name_type) \
    X(REAL, name_bits) X(REAL, bits_per_weight) X(REAL, load_ms) X(REAL, map_ms) X(REAL, first_touch_ms) X(SHARE, roofline_pct) \
    X(REAL, scalar_pct) X(TEXT, mapping_reason) X(BYTES, weight_bytes) X(BYTES, kv_limit_bytes) X(BYTES, anonymous_bytes) \
    X(BYTES, swapped_bytes) X(FREE, mem_available) X(BYTES, mem_limit) X(TEXT, mem_limit_by) X(BYTES, swap_total) X(BYTES, swap_used) \
    X(REAL, mem_pressure_pct) X(REAL, major_faults_per_token) X(REAL, cpu_busy_pct) X(REAL, preempted_per_token) X(U32, burst_mhz) \
    X(MHZ, cpu_mhz) X(MHZ, cpu_mhz_max) X(HEAT, temperature_c) X(TEXT, power_mode)

static const struct llm__fact { const char *name; int kind; size_t at; } llm__facts[] = {
#define LLM__X(kind, name) { #name, LLM__FACT_##kind, offsetof(llm_stats_info, name) },
    LLM__FACTS(LLM__X)
#undef LLM__X
};

static void llm__fact_real(llm__text *t, double v, const char *known, const char *unknown) {
    llm__text_add(t, v > 0.0 ? known : unknown, v);
}
static void llm__fact_text(llm__text *t, const llm_stats_info *f, llm__str name) {
    const uint8_t *base = (const uint8_t *)f;
    size_t i;
    for (i = 0; i < LLM__COUNT(llm__facts); i++) {
        const void *at = base + llm__facts[i].at;
        if (!llm__str_is(name, llm__facts[i].name)) continue;
        switch (llm__facts[i].kind) {
        case LLM__FACT_U32:   llm__text_u64(t, *(const uint32_t *)at, 10); return;
        case LLM__FACT_REAL:  llm__text_real(t, *(const double *)at, 1); return;
        case LLM__FACT_SHARE: llm__fact_real(t, *(const double *)at, "%f %%", "an unknown share"); return;
        case LLM__FACT_HEAT:  llm__fact_real(t, *(const double *)at, "%f C", "temperature unknown"); return;
        case LLM__FACT_MHZ:   llm__text_add(t, *(const uint32_t *)at ? "%u MHz" : "unknown", *(const uint32_t *)at); return;
        case LLM__FACT_FREE:  llm__text_add(t, *(const uint64_t *)at ? "%B" : "an unknown amount", *(const uint64_t *)at); return;
        case LLM__FACT_BYTES: llm__text_size(t, *(const uint64_t *)at); return;
        case LLM__FACT_ISA:   llm__text_visible(t, llm__str_of(llm__isa_name(*(const llm_isa *)at))); return;
        default:              llm__text_visible(t, llm__str_of(*(const char *const *)at)); return;
        }
    }
    llm__text_byte(t, '?');
}
static void llm__facts_into(char *buf, size_t cap, const char *text, const llm_stats_info *f) {
    llm__text t;
    t.p = buf; t.n = 0; t.cap = cap;
    while (*text) {
        const size_t plain = llm__until(text, '{'), name = llm__until(text + plain, '}');
        llm__text_bytes(&t, text, plain);
        text += plain;
        if (*text != '{') break;
        llm__fact_text(&t, f, llm__str_n(text + 1, name - 1));
        text += name + (text[name] == '}');
    }
    llm__text_end(&t);
}

// The greatest factor that is left becomes a finding and is taken away. false: none is left.
static bool llm__finding_take(const llm_stats_info *f, double factors[LLM__COUNT(llm__rules)], llm_finding *out) {
    const llm__rule *r;
    size_t i, best = 0;
    for (i = 1; i < LLM__COUNT(llm__rules); i++) if (factors[i] > factors[best]) best = i;
    if (!(factors[best] > 0.0)) return false;
    r = &llm__rules[best];
    out->code = r->code; out->layer = r->layer; out->kind = r->kind; out->what = r->what;
    out->factor = factors[best];
    llm__facts_into(out->text, sizeof out->text, r->text, f);
    llm__facts_into(out->advice, sizeof out->advice, r->advice, f);
    factors[best] = 0.0;
    return true;
}
// By factor; equal factors in the order of suspicion.
static size_t llm__findings_of(const llm_stats_info *f, llm_finding *out, size_t cap) {
    double factors[LLM__COUNT(llm__rules)];
    size_t n = 0, i;
    if (!LLM__DIAGNOSIS) return 0;
    llm__judge(f, factors);
    for (i = 0; i < LLM__COUNT(llm__rules); i++) n += factors[i] > 0.0;
    for (i = 0; i < cap && llm__finding_take(f, factors, &out[i]); i++) { }
    return n;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>plan     What a model and one context would take, from the directory alone; and the report, one screen of facts and findings.

// What one decoded token reads by the kernels k; scalar, n_scalar: the bytes and the matrices on scalar ones.
typedef struct llm__reads { const llm__kernels *k; double weights, bytes, scalar; uint32_t n_scalar; } llm__reads;

static void llm__reads_add(void *reads, const llm__mat *m, uint32_t n_experts) {
    llm__reads *r = (llm__reads *)reads;
    const double rows = (double)m->rows * n_experts, bytes = rows * (double)m->row_bytes;
    r->weights += rows * (double)m->cols;
    r->bytes += bytes;
    if (r->k->accelerated[m->type]) return;
    r->scalar += bytes;
    r->n_scalar++;
}
static llm__reads llm__reads_of(const llm__net *net, const llm__kernels *k) {
    llm__reads r = LLM__ZERO;
    r.k = k;
    llm__each_matrix(net, llm__reads_add, &r);
    return r;
}
static double llm__bits_of_reads(const llm__reads *r) { return r->weights > 0.0 ? 8.0 * r->bytes / r->weights : 0.0; }

static uint32_t llm__wished_batch(const llm_ctx_desc *d) { return d->n_batch ? d->n_batch : 512u; }
// Defaults of a context, resolved in one place.
static void llm__ctx_sizes(const llm__net *net, const llm_ctx_desc *d, uint32_t *n_ctx, uint32_t *n_batch) {
    *n_ctx = LLM__MIN(d->n_ctx ? d->n_ctx : LLM__MIN(4096u, net->n_ctx_train), 0x7fffffffu);
    *n_batch = LLM__MIN(llm__wished_batch(d), *n_ctx);
}

// Which keys bear 8 bits is told by their biases: some kilobytes, read only if it matters.
static llm_result llm__plan_read_key_biases(llm__net *net, const llm__gguf *g, const llm__heap *heap, llm_error *e) {
    char name[96];
    uint32_t i;
    llm_result r = LLM_OK;
    for (i = 0; i < net->n_layer && r == LLM_OK; i++) {
        const llm__gguf_tensor *t;
        llm__mat wk = net->layers[i].wk;
        size_t at = 0;
        uint8_t *bytes;
        float *floats;
        if (!wk.bias) continue;
        llm__format(name, sizeof name, "blk.%u.attn_qkv.weight", i);
        if (llm__gguf_tensor_find(g, llm__str_of(name))) at = net->layers[i].wq.rows;                // one bias for all three
        llm__format(name, sizeof name, at ? "blk.%u.attn_qkv.bias" : "blk.%u.attn_k.bias", i);
        t = llm__gguf_tensor_find(g, llm__str_of(name));
        if (!t) continue;
        bytes = (uint8_t *)llm__alloc_bytes(heap, t->n_bytes);
        floats = LLM__NEW(heap, float, t->n_weights);
        r = bytes && floats ? llm__gguf_tensor_bytes(g, t, bytes, e) : llm__fail(e, LLM_NO_MEMORY, "no memory for a bias");
        if (r == LLM_OK) {
            llm__dequantize_row(t->type, bytes, floats, (size_t)t->n_weights);
            wk.bias = floats + at;
            net->layers[i].rough_keys = llm__has_rough_keys(&wk);
        }
        llm__free(heap, bytes);
        llm__free(heap, floats);
    }
    return r;
}

// Reads memory of its own for 50 ms with the plan's threads, room / 4 bytes of it at most; 0 where it cannot.
static double llm__plan_probe(const llm__kernels *k, const llm__heap *heap, uint32_t n_threads, uint64_t room, const llm_parallel *parallel,
                              const llm_clock *clock) {
    const size_t bytes = (size_t)LLM__MIN((uint64_t)64 << 20, room / 4);      // beyond the caches, within what is free
    llm__atomic32 cancel = LLM__ZERO;
    llm__ranges all = LLM__ZERO;
    llm__probe p = LLM__ZERO;
    llm__pool *pool = NULL;
    llm__team team;
    uint64_t began;
    uint8_t *memory = bytes < 1u << 24 ? NULL : (uint8_t *)llm__alloc_bytes(heap, bytes);
    if (!memory || llm__pool_new(&pool, heap, n_threads, parallel, NULL) != LLM_OK) { llm__free(heap, memory); return 0.0; }
    memset(memory, 1, bytes);
    all.heap = heap;
    llm__ranges_add(&all, memory, bytes, LLM__RANGE);
    team = llm__team_take(pool);
    p.run.k = k; p.run.team = &team; p.run.cancel = &cancel;
    p.clock = clock;
    began = llm__now_us(clock);
    while (!all.failed && llm__probe_pass(&p, &all) && llm__now_us(clock) - began < 50000) { }
    llm__team_give(&team);
    llm__pool_free(pool, heap);
    llm__free(heap, all.v);
    llm__free(heap, memory);
    return p.best;
}

static void llm__plan_verdict(llm_plan_info *p) {
    const char *by = p->mem_limit_by;
    if (!llm__add(p->weights_mapped + p->weights_read + p->model_bytes + p->scratch_bytes, p->kv_bytes, &p->total_bytes))
        p->total_bytes = UINT64_MAX;                                // llm__kv_bytes_for does not wrap either
    if (p->mem_limit && p->total_bytes > p->mem_limit) {
        p->verdict = LLM_DOES_NOT_FIT;
        llm__format(p->reason, sizeof p->reason, !LLM__FIGURES ? "does not fit" : "does not fit: %B of weights, %B for %u tokens of "
                    "context, %B of scratch and %B of tables, and this process may have at most %B (%s)", p->weight_bytes, p->kv_bytes,
                    p->n_ctx, p->scratch_bytes, p->model_bytes, p->mem_limit, by);
    } else if (p->mem_available && p->total_bytes > p->mem_available) {
        p->verdict = LLM_FITS_TIGHTLY;
        llm__format(p->reason, sizeof p->reason, !LLM__FIGURES ? "fits tightly" : "fits tightly: %B in all, and only %B of at most %B (%s) "
                    "is free now", p->total_bytes, p->mem_available, p->mem_limit, by);
    } else {
        const char *fits = LLM__FIGURES ? "fits: %B in all, %B is free" : "fits";
        const char *unknown = LLM__FIGURES ? "%B in all; how much is free is not known" : "how much is free is not known";
        p->verdict = LLM_FITS;
        llm__format(p->reason, sizeof p->reason, p->mem_available ? fits : unknown, p->total_bytes, p->mem_available);
    }
}
// The largest context that fits what is free. A short one has smaller scratch as well.
static uint32_t llm__plan_n_ctx(const llm_plan_info *p, llm__state *s, uint32_t n_batch) {
    const uint64_t rest = p->weights_mapped + p->weights_read + p->model_bytes;
    uint64_t all;
    uint32_t low = 0, high = p->n_ctx_train;
    if (!p->mem_available) return high;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        s->n_batch = LLM__MIN(n_batch, middle);
        s->n_ctx = middle;
        if (llm__state_layout(s, NULL) && llm__add(rest + s->scratch_bytes, llm__kv_bytes_for(&s->kv, middle, s->n_batch), &all)
            && all <= p->mem_available)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
// What both kinds of wishes come to, once the network and the context's sizes are known.
static llm_result llm__plan_sizes(llm_plan_info *p, uint32_t n_batch, llm__state *s, llm_error *e) {
    s->least = 0;                                                   // an arena's
    if (!llm__state_layout(s, NULL))
        return llm__fail(e, LLM_NO_MEMORY, "the scratch for n_batch %u passes the address space", p->n_batch);
    p->scratch_bytes = s->scratch_bytes;
    p->kv_bytes_per_token = llm__kv_bytes_for(&s->kv, 1, p->n_batch) / LLM__PAGE;
    p->kv_bytes = llm__kv_bytes_for(&s->kv, p->n_ctx, p->n_batch);
    llm__plan_verdict(p);
    p->n_ctx_fits = llm__plan_n_ctx(p, s, n_batch);
    if (p->gb_s > 0.0 && p->bytes_per_token) {
        p->tok_s_high = p->gb_s * 1e9 / (double)p->bytes_per_token;
        p->tok_s_low = p->gb_s * 0.5e9 / ((double)p->bytes_per_token + (double)p->kv_bytes);      // the sum may wrap
    }
    return LLM_OK;
}
static void llm__facts_of_plan(const llm_plan_info *p, llm_stats_info *f) {
    memset(f, 0, sizeof *f);
    llm__facts_no_text(f);
    llm__facts_build(f);
    f->isa = p->isa;
    f->n_threads = p->n_threads;
    f->mapping = p->mapping;
    f->kv_type = p->kv_type;
    f->weight_bytes = p->weight_bytes;
    f->kv_limit_bytes = p->kv_bytes;
    f->scratch_bytes = p->scratch_bytes + p->model_bytes;           // what the rules call needed, all of it
    f->mem_available = p->mem_available;
    f->mem_limit = p->mem_limit;
    if (p->mem_limit_by) f->mem_limit_by = p->mem_limit_by;
    f->bits_per_weight = p->bits_per_weight;
    if (p->file_system) f->file_system = p->file_system;
    if (p->name_type) f->name_type = p->name_type;
    f->name_bits = p->name_bits;
}

// ---- the report ----

static const char *llm__kv_name(llm_kv_type type) { return type == LLM_KV_F32 ? "F32" : type == LLM_KV_Q8_0 ? "Q8_0" : "F16"; }

static void llm__line(llm__text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    llm__text_args(t, format, args);
    va_end(args);
    llm__text_byte(t, '\n');
}
static void llm__report_file(llm__text *t, const llm_stats_info *f, const char *arch, const char *name, uint64_t bytes,
                             const llm_type_use *types, uint32_t n_types) {
    uint32_t k;
    llm__line(t, "model      %s, %s: %B, %f bits per weight, file %X", arch, name[0] ? name : "no name", bytes,
              f->bits_per_weight, f->file_fingerprint);
    llm__text_bytes(t, "types     ", 10);
    for (k = 0; k < n_types && k < 6; k++) {
        llm__text_byte(t, k ? ',' : ' ');
        if (k) llm__text_byte(t, ' ');
        llm__text_bytes(t, types[k].name, strlen(types[k].name));
        llm__text_byte(t, ' ');
        llm__text_size(t, types[k].n_bytes);
        if (!types[k].accelerated && f->isa != LLM_ISA_SCALAR) llm__text_bytes(t, " (scalar)", 9);
    }
    llm__text_byte(t, '\n');
}
static void llm__report_memory(llm__text *t, const llm_stats_info *f) {
    llm__line(t, "memory     file pages %K, anonymous %K, swapped %B, peak %K", f->file_resident_bytes, f->anonymous_bytes,
              f->swapped_bytes, f->peak_rss_bytes);
    llm__line(t, "           %K free of %K (%s), pressure %f %%, swap %B of %B%s", f->mem_available, f->mem_limit, f->mem_limit_by,
              f->mem_pressure_pct, f->swap_used, f->swap_total, f->swap_is_zram ? " (zram)" : "");
    llm__line(t, "weights    %B, %s%s%s, %K in memory; %f major and %f minor faults per token", f->weight_bytes,
              f->mapping == LLM_MAP ? "mapped" : "read", f->mapping_reason[0] ? ": " : "", f->mapping_reason, f->weights_resident_bytes,
              f->major_faults_per_token, f->minor_faults_per_token);
    llm__line(t, "context    %s keys and values, %B of at most %B; scratch %B", llm__kv_name(f->kv_type), f->kv_bytes, f->kv_limit_bytes,
              f->scratch_bytes);
}
static void llm__report_speed(llm__text *t, const llm_stats_info *f) {
    const double prefill = f->prefill_ms > 0.0 ? (double)f->prefill_tokens * 1000.0 / f->prefill_ms : 0.0;
    const double decode = f->decode_ms > 0.0 ? (double)f->decode_tokens * 1000.0 / f->decode_ms : 0.0;
    llm__line(t, "load       %f ms: open %f (of it mapping or reading %f), parse %f, vocabulary %f, rest %f", f->load_ms, f->open_ms,
              f->map_ms, f->parse_ms, f->vocab_ms, f->bind_ms);
    llm__line(t, f->first_token_ms > 0.0 ? "first      touch of the weights %f ms; first token after %f ms, %U tokens known before"
                                         : "first      touch of the weights %f ms", f->first_touch_ms, f->first_token_ms, f->reused_tokens);
    llm__line(t, "speed      prefill %f tok/s of %U tokens, decode %f tok/s of %U (p50 %f, p90 %f, p99 %f ms)", prefill, f->prefill_tokens,
              decode, f->decode_tokens, f->decode_p50_ms, f->decode_p90_ms, f->decode_p99_ms);
    llm__line(t, f->probe_gb_s > 0.0 ? "roofline   %B per token, %f GB/s; reading alone %f GB/s: %f %%"
                                     : "roofline   %B per token, %f GB/s; reading alone was not measured (llm_probe)",
              f->bytes_per_token, f->decode_gb_s, f->probe_gb_s, f->roofline_pct);
}
static LLM__NOINLINE void llm__report_findings(llm__text *t, const llm_stats_info *f) {
    double factors[LLM__COUNT(llm__rules)];
    llm_finding x;
    const size_t all = llm__findings_of(f, NULL, 0);
    size_t i;
    llm__line(t, !all ? "findings   none" : all > 8 ? "findings   %u, the first eight" : "findings   %u", (uint32_t)all);
    llm__judge(f, factors);
    for (i = 0; i < 8 && llm__finding_take(f, factors, &x); i++) {
        if (x.factor > 1.0) llm__line(t, "%s%f x   %s: %s", x.kind == LLM_BOUND ? "<= " : "   ", x.factor, x.what, x.text);
        else llm__line(t, "           %s: %s", x.what, x.text);
        llm__line(t, "           -> %s", x.advice);
    }
}
static void llm__report_build(llm__text *t, const llm_stats_info *f) {
    llm__line(t, "llm.h %u.%u.%u, %s, %s; same bits: %s", (uint32_t)LLM_VERSION_MAJOR, (uint32_t)LLM_VERSION_MINOR,
              (uint32_t)LLM_VERSION_PATCH, f->compiler, f->optimized ? "optimised" : "NOT optimised",
              f->bits_promise ? "yes" : f->bits_reason);
}
static void llm__report_run(llm__text *t, const llm_stats_info *f) {
    llm__line(t, "backend    %s, %s kernels (of %s); attention %s; %f %% on scalar kernels", f->backend, llm__isa_name(f->isa),
              f->isas_compiled, f->attention, f->scalar_pct);
    llm__report_memory(t, f);
    llm__line(t, "threads    %u (asked %u, resting %u); busy %f %%, preempted %f times per token, %U spins, %U sleeps", f->n_threads,
              f->n_threads_asked, f->n_threads_resting, f->cpu_busy_pct, f->preempted_per_token, f->pool_spins, f->pool_sleeps);
    llm__line(t, "cores      %u CPUs, %u allowed now, %u at load; %s%s", f->cpus_online, f->cpus_allowed, f->cpus_allowed_at_load,
              f->cores_reason, f->host_threads ? "; the host's job system" : "");
    if (f->cpu_quota) llm__line(t, "quota      %u CPUs at most; ran out in %f %% of its periods", f->cpu_quota, f->quota_throttled_pct);
    llm__line(t, f->cpu_mhz ? "clock      share %u %%; %u of %u MHz" : "clock      share %u %%; frequency unknown", f->cpu_share,
              f->cpu_mhz, f->cpu_mhz_max);
    llm__line(t, f->temperature_c > 0.0 ? "power      %s%s, %f C" : "power      %s%s", f->power_mode[0] ? f->power_mode : "mode unknown",
              f->on_battery ? ", on battery" : "", f->temperature_c);
    llm__report_speed(t, f);
    llm__report_findings(t, f);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>public   The functions of llm.h: arguments, the busy flag, the floating-point environment, and the conversation. What computes
//            stands above.

struct llm_model {
    llm__heap heap;
    llm_logger log;
    llm_progress progress;
    llm_parallel parallel;
    llm_clock clock;
    llm__atomic32 refs;                // the caller's, and one for each context
    llm__gguf gguf;
    llm__vocab vocab;
    llm__net net;
    llm__kernels kernels;
    llm__pool *pool;
    uint32_t n_threads_asked, cpu_share;
    llm_isa isa_asked;
    const char *bits_reason;           // NULL: the promise holds
    double vocab_ms, bind_ms, load_ms;
    llm__reads reads;                  // of one token
    bool from_path;
    const struct llm__name_type *name_type;      // what the file's name promises, or NULL
    uint64_t free_bytes;               // memory that was available at the load; 0 = unknown
    llm__atomic32 touched;             // the first evaluation has begun
    char *arch, *name, *size_label, *vocab_type, *pre_tokenizer;
    char *tensor_names;                // of all tensors, each with its NUL, which it has not in the file
};

typedef struct llm__tokens { llm_token *v; size_t n, cap; } llm__tokens;
typedef struct llm__note { size_t role, content; } llm__note;        // one message of the conversation: where its texts begin in `said`

struct llm_ctx {
    llm_model *model;
    llm__heap heap;                    // for what stays: the model's, and counted; with an arena one that refuses, once all is reserved
    llm__heap work;                    // for what is given back before anything is evaluated: the same, or an arena in the place of scratch
    llm__heap aside;                   // for what is given back before the call returns: the same, or an arena inside the reserve
    llm__arena work_buffer, aside_buffer;
    void *reserve;                     // with an arena: all that the context may come to need
    bool reserved;
    uint64_t text_room;                // bytes that were reserved: for the messages, for what was fed, for an answer; each with a last NUL
    llm__state state;
    llm__atomic32 busy, cancel;
    llm_error error;
    uint32_t n_ctx, max_tokens;
    bool trust_content;

    llm__tokens past;                  // every token of the context
    size_t n_cached;                   // of them in the KV cache. Fewer: the last one was just sampled, or a window lost the rest;
                                       // the next evaluation begins here
    size_t n_seen;                     // of them ever evaluated: what is evaluated twice is counted
    bool has_logits;                   // state.logits belongs to the last token
    llm__sampler sampler;
    llm__stops stops;

    // What the conversation should be: raw tokens, then messages through the template, then text fed since. The past is
    //   from an answer's first piece on     base, notes as the template writes them, the prompt for an answer, its tokens; no raw
    //   after calls with tokens             base; no notes, no raw
    //   while input waits                   what one of these left: it stays as far as it is what llm__target makes of all three
    llm__tokens base;
    llm__note *notes;
    size_t n_notes, cap_notes;
    llm__string said;                  // their texts, each with its NUL
    llm__string raw;
    size_t base_settled, notes_settled;           // how much of it has been answered; the rest is dropped if that fails
    char *template_text;
    llm_result chat_result;            // LLM_OK, or why there is no template
    char *chat_reason;
#ifndef LLM_NO_CHAT
    llm__chat chat;
#endif

    // The answer in progress. The first of these that holds tells what llm_next does:
    //   fresh                               the input is evaluated and an answer begun
    //   neither answering nor a why         an answer to the past as it is; an error if there is none
    //   why is LIMIT or CANCEL              the answer goes on, n_answer from 0
    //   another why                         NULL until there is input; an error is told again
    //   answering                           it goes on; once `ended` is set, what is held is returned, then NULL with that for a why
    bool fresh;                        // new input has not been evaluated yet
    bool answering;                    // an answer has begun and its text is not yet a note or part of base
    bool refused;                      // error is that of an llm_say or llm_feed: the caller may not have looked, and asks for the answer
    llm_stop why;                      // NULL was returned because ...
    llm_stop ended;                    // the answer is over because ...; what is held is returned first
    uint32_t n_answer;                 // tokens since the last start or limit
    llm__string answer;                // all its text so far
    llm__string held;                  // its tail that has not been returned yet
    size_t n_hold;                     // the end of that which may become a stop string
    llm__string piece;                 // what llm_next returned last
    size_t answer_begin;               // in past
    bool overlong;                     // more text than is reserved: the answer is known by its tokens alone

    uint64_t call_us;                  // when the call in progress began
    llm_stats_info stats;              // the owner's
    uint64_t kv_bytes_read, runs_in_decode;
    uint64_t n_allocs;
    uint32_t spins_seen, sleeps_seen;  // the pool's counts at the last look
    uint32_t probe_turn;
    double fastest_decode;             // GB/s of the fastest single token
    llm__watch watch;
    llm__share share;
    uint64_t major_seen;               // faults of the process at the last look
    bool pages_due;                    // the weights have just been touched
    uint64_t periods, throttled;       // of the CPU quota, at llm_open
    llm__atomic32 stats_lock;
    llm_stats_info published;          // what llm_stats copies
};

static uint64_t llm__now(const llm_model *m) { return llm__now_us(&m->clock); }
static double llm__ms_since(const llm_model *m, uint64_t start) { return (double)(llm__now(m) - start) / 1000.0; }

// Out-structs say how much of them the caller knows.
static void llm__give_struct(void *out, const void *full, uint32_t asked, uint32_t size) {
    const uint32_t n = asked == 0 || asked > size ? size : asked;
    memcpy(out, full, n);
    if (n >= 4) memcpy(out, &n, 4);
}

// Never fewer than a page of the cache, so that later growth falls together with a new page.
static bool llm__tokens_reserve(const llm__heap *h, llm__tokens *t, size_t n) {
    void *p = t->v;
    if (!llm__grow(h, &p, &t->cap, LLM__MAX(n, (size_t)LLM__PAGE), sizeof *t->v)) return false;
    t->v = (llm_token *)p;
    return true;
}
static bool llm__tokens_add(const llm__heap *h, llm__tokens *t, const llm_token *v, size_t n) {
    if (n > SIZE_MAX - t->n || !llm__tokens_reserve(h, t, t->n + n)) return false;
    if (n) memcpy(t->v + t->n, v, n * sizeof *v);
    t->n += n;
    return true;
}

// Just so many.
static bool llm__tokens_copy(const llm__heap *h, llm__tokens *t, const llm__tokens *from) {
    t->v = LLM__NEW(h, llm_token, from->n);
    if (!t->v) return false;
    if (from->n) memcpy(t->v, from->v, from->n * sizeof *t->v);
    t->n = t->cap = from->n;
    return true;
}

static size_t llm__common_prefix(const llm__tokens *a, const llm__tokens *b) {
    size_t n = 0;
    while (n < a->n && n < b->n && a->v[n] == b->v[n]) n++;
    return n;
}

// ---- about the library, and memory ----

LLM__PUBLIC llm_allocator llm_arena(void *buf, size_t bytes) { return llm__arena_in(buf, bytes); }

LLM__PUBLIC uint32_t llm_version(void) { return LLM_VERSION_MAJOR << 16 | LLM_VERSION_MINOR << 8 | LLM_VERSION_PATCH; }

LLM__PUBLIC const char *llm_result_text(llm_result result) { return llm__result_text(result); }
LLM__PUBLIC const char *llm_isa_name(llm_isa isa) { return llm__isa_name(isa); }
LLM__PUBLIC int llm_isa_usable(llm_isa isa) { return llm__isa_compiled(isa) && llm__isa_on_cpu(isa); }

LLM__PUBLIC size_t llm_type_bytes(uint32_t gguf_type, size_t n_weights) {
    const int type = llm__type_of_gguf(gguf_type);
    uint64_t bytes;
    return type < 0 || !llm__row_bytes(type, n_weights, &bytes) || bytes >= LLM_FAILED ? LLM_FAILED : (size_t)bytes;
}
LLM__PUBLIC llm_result llm_dequantize(uint32_t gguf_type, const void *src, float *dst, size_t n) {
    llm__fpenv fp;
    if (n && (!src || !dst)) return LLM_BAD_ARG;
    if (llm__type_of_gguf(gguf_type) < 0 || llm__types[llm__type_of_gguf(gguf_type)].left_out) return LLM_UNSUPPORTED;
    if (llm_type_bytes(gguf_type, n) == LLM_FAILED || n > SIZE_MAX / sizeof *dst) return LLM_BAD_ARG;
    fp = llm__fp_enter();
    llm__dequantize_row(llm__type_of_gguf(gguf_type), src, dst, n);
    llm__fp_leave(fp);
    return LLM_OK;
}

// ---- model ----

static void llm__model_free(llm_model *m) {
    const llm__heap heap = m->heap;
    if (heap.plan) llm__pool_unmake(m->pool, &heap);
    else llm__pool_free(m->pool, &heap);
    llm__net_free(&m->net, &heap);
    llm__vocab_free(&m->vocab, &heap);
    llm__gguf_close(&m->gguf);
    llm__free(&heap, m->arch);
    llm__free(&heap, m->name);
    llm__free(&heap, m->size_label);
    llm__free(&heap, m->vocab_type);
    llm__free(&heap, m->pre_tokenizer);
    llm__free(&heap, m->tensor_names);
    llm__free(&heap, m);
}
static void llm__model_release(llm_model *m) {
    if (llm__atomic_add(&m->refs, (uint32_t)-1) == 1) llm__model_free(m);
}
// Here as everywhere: the allocator, the log and the clock are hooks too, and are called in the library's environment.
LLM__PUBLIC void llm_unload(llm_model *model) {
    llm__fpenv fp;
    if (!model) return;
    fp = llm__fp_enter();
    llm__model_release(model);
    llm__fp_leave(fp);
}

static llm_result llm__check_desc(const llm_model_desc *d, llm_error *e) {
    if (!d->allocator.alloc_fn != !d->allocator.free_fn)
        return llm__fail(e, LLM_BAD_ARG, "allocator: give both alloc_fn and free_fn, or neither");
#if defined(LLM_NO_STDLIB) && !defined(LLM_MALLOC)
    if (!d->allocator.alloc_fn)
        return llm__fail(e, LLM_BAD_ARG, "allocator: this build has no malloc (LLM_NO_STDLIB); give one, that of llm_arena for instance");
#endif
    if (d->cores != LLM_CORES_ANY && d->cores != LLM_CORES_BIG)
        return llm__fail(e, LLM_BAD_ARG, "cores: %d is not a value of llm_cores", (int)d->cores);
    if (d->force > 1) return llm__fail(e, LLM_BAD_ARG, "force: %u is neither 0 nor 1", d->force);
    if (d->cpu_share > 100) return llm__fail(e, LLM_BAD_ARG, "cpu_share: %u is no percentage", d->cpu_share);
    if (d->cpu_share && !LLM__SYSTEM) return llm__fail(e, LLM_UNSUPPORTED, "cpu_share needs a system that can put a thread to sleep");
    if ((llm__f64_bits(d->host_gb_s) << 1 >> 53) >= 1023 + 30) return llm__fail(e, LLM_BAD_ARG, "host_gb_s is not a rate");
    if (d->mapping != LLM_MAP_AUTO && d->mapping != LLM_MAP && d->mapping != LLM_READ)
        return llm__fail(e, LLM_BAD_ARG, "mapping: %d is not a value of llm_mapping", (int)d->mapping);
    if (d->n_parts && !d->parts) return llm__fail(e, LLM_BAD_ARG, "n_parts is %u but parts is NULL", d->n_parts);
    return LLM_OK;
}

static llm_result llm__check_ctx_desc(const llm_ctx_desc *d, llm_error *e) {
    if (d->kv_type != LLM_KV_F16 && d->kv_type != LLM_KV_F32 && d->kv_type != LLM_KV_Q8_0)
        return llm__fail(e, LLM_BAD_ARG, "kv_type: %d is not a value of llm_kv_type", (int)d->kv_type);
    if (d->template_json) return llm__fail(e, LLM_UNSUPPORTED, "template_json is not available in this version");
    if (d->grammar || d->json_schema) return llm__fail(e, LLM_UNSUPPORTED, "grammar and json_schema are not available in this version");
    if (d->trust_content > 1) return llm__fail(e, LLM_BAD_ARG, "trust_content: %u is neither 0 nor 1", d->trust_content);
    return LLM_OK;
}

typedef struct llm__source { const char *path; const void *data; size_t bytes; const llm_reader *reader; } llm__source;

static char *llm__meta_copy(const llm_model *m, const char *key) {
    llm__str s = LLM__ZERO;
    if (llm__gguf_str(&m->gguf, key, &s, NULL) != LLM_OK || !s.p) s = llm__str_of("");
    return llm__copy_text(&m->heap, s);
}

// In the order of the directory.
static char *llm__tensor_names(const llm__gguf *g, const llm__heap *h) {
    uint64_t bytes = 0;
    uint32_t i;
    char *names, *at;
    for (i = 0; i < g->n_tensors; i++) bytes += g->tensors[i].name.n + 1;
    names = at = (char *)llm__alloc_bytes(h, bytes);
    for (i = 0; at && i < g->n_tensors; i++) {
        const llm__str name = g->tensors[i].name;
        memcpy(at, name.p, name.n);
        at[name.n] = 0;
        at += name.n + 1;
    }
    return names;
}

static llm_result llm__check_vocab(const llm__vocab *v, const llm__net *net, llm_error *e) {
    if (!v->n_tokens || v->n_tokens == net->n_vocab) return LLM_OK;
    return llm__fail(e, LLM_BAD_FILE, "tensor 'token_embd.weight' has %u rows, but the vocabulary has %u tokens", net->n_vocab,
                     v->n_tokens);
}

// With the wishes of the description; *o may say more.
static llm_result llm__source_open(const llm__source *src, const llm_model_desc *d, llm__gguf *g, llm__gguf_options *o, llm_error *e) {
    o->log = &d->logger; o->clock = &d->clock;
    o->mapping = d->mapping; o->parts = d->parts; o->n_parts = d->n_parts;
    if (!LLM__FILES && src->path)
        return llm__fail(e, LLM_UNSUPPORTED, "this build has no file access (LLM_NO_STDIO): load from memory or through a reader");
    return LLM__FILES && src->path ? llm__gguf_open_path(g, src->path, o, e)
         : src->reader ? llm__gguf_open_reader(g, src->reader, o, e) : llm__gguf_open_memory(g, src->data, src->bytes, o, e);
}

// The model itself, empty. NULL: no memory.
static llm_model *llm__model_make(const llm__heap *heap, const llm_model_desc *d, llm_error *e) {
    llm_model *m = (llm_model *)llm__alloc_zero(heap, 1, sizeof *m);
    if (!m) { llm__fail(e, LLM_NO_MEMORY, "no memory for the model (%U bytes)", (uint64_t)sizeof *m); return NULL; }
    m->heap = *heap; m->log = d->logger; m->progress = d->progress; m->parallel = d->parallel; m->clock = d->clock;
    m->n_threads_asked = d->n_threads;
    m->isa_asked = d->isa;
    m->cpu_share = d->cpu_share ? d->cpu_share : 100;
    llm__atomic_store(&m->refs, 1);
    return m;
}
static llm_result llm__model_pool(llm_model *m, const llm_model_desc *d, llm_error *e) {
    llm_result r;
    if (m->heap.plan) {                                             // a plan starts no thread
        m->pool = llm__pool_make(&m->heap, d->n_threads);
        return m->pool ? LLM_OK : llm__fail(e, LLM_NO_MEMORY, "no memory for the worker threads");
    }
    r = llm__pool_new(&m->pool, &m->heap, d->n_threads, &m->parallel, e);
    if (r != LLM_OK) return r;
    llm__pool_watch(m->pool, d->cores);
    if (m->pool->obtained != d->cores) llm__log(&m->log, LLM__LOG_WARNING, "cores: %s", m->pool->why);
    return LLM_OK;
}
// What remains once the file's directory is open. A plan goes the same way, so that it meets the same blocks.
static llm_result llm__model_build(llm_model *m, const llm_model_desc *d, llm_error *e) {
    const uint64_t start = llm__now(m);
    llm_result r = llm__vocab_load(&m->vocab, &m->heap, &m->gguf, e);
    m->vocab_ms = llm__ms_since(m, start);
    if (r == LLM_OK) r = llm__net_bind(&m->net, &m->heap, &m->gguf, e);
    if (r == LLM_OK) r = llm__check_vocab(&m->vocab, &m->net, e);
    if (r == LLM_OK) r = llm__kernels_pick(&m->kernels, d->isa, e);
    if (r == LLM_OK) r = llm__model_pool(m, d, e);
    if (r != LLM_OK) return r;
    m->arch = llm__meta_copy(m, "general.architecture");
    m->name = llm__meta_copy(m, "general.name");
    m->size_label = llm__meta_copy(m, "general.size_label");
    m->vocab_type = llm__meta_copy(m, "tokenizer.ggml.model");
    m->pre_tokenizer = llm__meta_copy(m, "tokenizer.ggml.pre");
    if (LLM__DIAGNOSIS) m->tensor_names = llm__tensor_names(&m->gguf, &m->heap);
    if (!m->arch || !m->name || !m->size_label || !m->vocab_type || !m->pre_tokenizer || (LLM__DIAGNOSIS && !m->tensor_names))
        return llm__fail(e, LLM_NO_MEMORY, "no memory for the model's names");
    if (!m->heap.plan) m->bits_reason = llm__bits_check(&m->kernels);
    if (LLM__DIAGNOSIS) m->reads = llm__reads_of(&m->net, &m->kernels);
    return LLM_OK;
}

// Whether the weights come from a file, page by page, as they are touched; and whether they pass what was free at the load.
static bool llm__pages_come_in(const llm_model *m) { return m->from_path && m->gguf.mapping == LLM_MAP; }
static bool llm__outgrows_memory(const llm_model *m) { return m->free_bytes && m->gguf.weight_bytes > m->free_bytes; }

static llm_model *llm__load_by(const llm__source *src, const llm_model_desc *desc, llm_error *err) {
    llm_model_desc d = LLM__ZERO;
    llm__heap heap = LLM__ZERO;
    llm_model *m;
    llm__gguf_options o = LLM__ZERO;
    llm__memory memory;
    llm_result r;
    uint64_t start;
    if (desc) d = *desc;
    llm__ok(err);
    if (llm__check_desc(&d, err) != LLM_OK) return NULL;
    heap.a = d.allocator;
    m = llm__model_make(&heap, &d, err);
    if (!m) return NULL;
    o.heap = &m->heap; o.progress = &m->progress;
    start = llm__now(m);
    llm__memory_look(&memory);
    m->free_bytes = memory.available;
    m->from_path = src->path != NULL;
    if (LLM__DIAGNOSIS && src->path) m->name_type = llm__name_type_of(src->path);
    if (!d.force && !src->data) { o.most_bytes = memory.physical; o.most_by = memory.physical_by; }
    r = llm__source_open(src, &d, &m->gguf, &o, err);
    if (r == LLM_OK) r = llm__model_build(m, &d, err);
    if (r == LLM_OK && !llm__go_on(&m->progress, 0, 1.0f))
        r = llm__fail(err, LLM_CANCELLED, "the load was cancelled by the progress callback");
    m->load_ms = llm__ms_since(m, start);
    m->bind_ms = m->load_ms - m->gguf.open_ms - m->gguf.parse_ms - m->vocab_ms;
    if (r != LLM_OK) {
        llm__log(&m->log, LLM__LOG_ERROR, "load failed: %s", err ? err->text : llm_result_text(r));
        llm__model_free(m);
        return NULL;
    }
    if (m->bits_reason) llm__log(&m->log, LLM__LOG_WARNING, "the same-bits promise is off: %s", m->bits_reason);
    if (llm__pages_come_in(m) && llm__outgrows_memory(m))
        llm__log(&m->log, LLM__LOG_WARNING, "the weights take %B and only %B of memory is free: they will be read from storage again and "
                 "again", m->gguf.weight_bytes, m->free_bytes);
    llm__log(&m->log, LLM__LOG_INFO, "loaded %s '%s': %u layers, %s kernels", m->arch, m->name, m->net.n_layer,
             llm__isa_name(m->kernels.isa));
    llm__ok(err);
    return m;
}
static llm_model *llm__load(const llm__source *src, const llm_model_desc *desc, llm_error *err) {
    const llm__fpenv fp = llm__fp_enter();                          // its sentences have figures in them, too
    llm_model *m = llm__load_by(src, desc, err);
    llm__fp_leave(fp);
    return m;
}
LLM__PUBLIC llm_model *llm_load(const char *path_utf8, const llm_model_desc *desc, llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!path_utf8) { llm__fail(err, LLM_BAD_ARG, "the path is NULL"); return NULL; }
    src.path = path_utf8;
    return llm__load(&src, desc, err);
}
LLM__PUBLIC llm_model *llm_load_memory(const void *data, size_t bytes, const llm_model_desc *desc, llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!data) { llm__fail(err, LLM_BAD_ARG, "the data is NULL"); return NULL; }
    src.data = data;
    src.bytes = bytes;
    return llm__load(&src, desc, err);
}
LLM__PUBLIC llm_model *llm_load_reader(const llm_reader *reader, const llm_model_desc *desc, llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!reader || !reader->read_at) { llm__fail(err, LLM_BAD_ARG, "the reader is NULL or has no read_at"); return NULL; }
    src.reader = reader;
    return llm__load(&src, desc, err);
}

static uint32_t llm__model_types(const llm_model *m, llm_type_use *out, uint32_t cap) {
    const uint32_t n = llm__type_histogram(&m->gguf, out, cap);
    uint32_t t;
    for (t = 0; t < n; t++) out[t].accelerated = m->kernels.accelerated[llm__type_of_gguf(out[t].gguf_type)];
    return n;
}
// Straight into the caller's struct, because an llm_info is more than a stack frame may be: the fields that it has whole.
#define LLM__HAS(field)         (offsetof(llm_info, field) + sizeof out->field <= n)
#define LLM__TELL(field, value) do { if (LLM__HAS(field)) out->field = (value); } while (0)
static void llm__info_of(const llm_model *m, llm_info *out, uint32_t n) {
    uint64_t n_params = 0;
    uint32_t t;
    llm__str s = LLM__ZERO;
    for (t = 0; t < m->gguf.n_tensors; t++) n_params += m->gguf.tensors[t].n_weights;
    LLM__TELL(arch, m->arch);
    LLM__TELL(name, m->name);
    LLM__TELL(size_label, m->size_label);
    LLM__TELL(vocab_type, m->vocab_type);
    LLM__TELL(pre_tokenizer, m->pre_tokenizer);
    LLM__TELL(text_status, m->vocab.status);
    LLM__TELL(text_reason, m->vocab.reason);
    LLM__TELL(n_vocab, m->net.n_vocab);
    LLM__TELL(n_ctx_train, m->net.n_ctx_train);
    LLM__TELL(n_embd, m->net.n_embd);
    LLM__TELL(n_layer, m->net.n_layer);
    LLM__TELL(n_head, m->net.n_head);
    LLM__TELL(n_head_kv, m->net.n_head_kv);
    LLM__TELL(n_expert, m->net.n_expert);
    LLM__TELL(n_expert_used, m->net.n_expert_used);
    LLM__TELL(n_params, n_params);
    LLM__TELL(file_bytes, m->gguf.file_bytes);
    LLM__TELL(weight_bytes, m->gguf.weight_bytes);
    LLM__TELL(bytes_per_token, m->net.bytes_per_token);
    LLM__TELL(bits_per_weight, n_params ? 8.0 * (double)m->gguf.weight_bytes / (double)n_params : 0.0);
    if (LLM__HAS(types)) t = llm__model_types(m, out->types, LLM__COUNT(out->types));
    LLM__TELL(n_types, t);
    LLM__TELL(has_template, llm__gguf_str(&m->gguf, "tokenizer.chat_template", &s, NULL) == LLM_OK && s.n > 0);
}
LLM__PUBLIC void llm_model_info(const llm_model *m, llm_info *out) {
    uint32_t n;
    llm__fpenv fp;
    if (!out) return;
    fp = llm__fp_enter();
    n = out->struct_bytes == 0 || out->struct_bytes > sizeof *out ? (uint32_t)sizeof *out : out->struct_bytes;
    if (n >= sizeof out->struct_bytes) {
        memset(out, 0, n);
        out->struct_bytes = n;
    }
    LLM__TELL(arch, ""); LLM__TELL(name, ""); LLM__TELL(size_label, ""); LLM__TELL(vocab_type, ""); LLM__TELL(pre_tokenizer, "");
    LLM__TELL(text_reason, "");
    LLM__TELL(text_status, LLM_BAD_ARG);
    if (m) llm__info_of(m, out, n);
    llm__fp_leave(fp);
}
#undef LLM__HAS
#undef LLM__TELL
LLM__PUBLIC size_t llm_meta(const llm_model *m, const char *key, char *buf, size_t cap) {
    llm__fpenv fp;
    size_t n;
    if (!m || !key || (cap && !buf)) return LLM_FAILED;
    fp = llm__fp_enter();                                          // numbers are written by arithmetic
    n = llm__gguf_meta_text(&m->gguf, key, buf, cap);
    llm__fp_leave(fp);
    return n;
}

static void llm__tensor_info_of(const llm_model *m, const llm__gguf_tensor *t, llm_tensor_info *out) {
    memset(out, 0, sizeof *out);
    out->kernel = t->type < 0 ? "" : m->kernels.accelerated[t->type] ? llm__isa_name(m->kernels.isa) : llm__isa_name(LLM_ISA_SCALAR);
    out->gguf_type = t->gguf_type;
    out->n_dims = t->n_dims;
    memcpy(out->dims, t->dims, sizeof out->dims);
    out->offset = m->gguf.shards[t->shard].data_at + t->offset;
    out->n_bytes = t->n_bytes;
}
LLM__PUBLIC size_t llm_tensors(const llm_model *m, llm_tensor_info *out, size_t cap) {
    const char *name;
    llm_tensor_info full;
    uint32_t i, stride;
    if (!m || (cap && !out) || !m->tensor_names) return LLM_FAILED;
    name = m->tensor_names;
    stride = cap && out->struct_bytes ? out->struct_bytes : (uint32_t)sizeof full;
    for (i = 0; i < m->gguf.n_tensors && i < cap; i++) {
        llm__tensor_info_of(m, &m->gguf.tensors[i], &full);
        full.name = name;
        name += m->gguf.tensors[i].name.n + 1;
        llm__give_struct((uint8_t *)out + (size_t)i * stride, &full, stride, sizeof full);
    }
    return m->gguf.n_tensors;
}
LLM__PUBLIC llm_result llm_fingerprint(const llm_model *m, int full, char hex[65]) {
    llm__sha256 s;
    if (hex) hex[0] = 0;
    if (!m || !hex) return LLM_BAD_ARG;
    if (!LLM__DIAGNOSIS) return LLM_UNSUPPORTED;
    if (llm__gguf_changed(&m->gguf)) return LLM_IO;
    llm__sha256_begin(&s);
    if (!full) llm__sha256_of_samples(&m->gguf, &s);
    else if (!llm__sha256_of_files(&m->gguf, &s)) return LLM_UNSUPPORTED;
    llm__sha256_end(&s, hex);
    return LLM_OK;
}

// ---- vocabulary ----

LLM__PUBLIC size_t llm_tokenize(const llm_model *m, const char *text, size_t n, unsigned flags, llm_token *out, size_t cap) {
    size_t needed = 0;
    llm__fpenv fp;
    llm_result r;
    if (!m || (n && !text) || (cap && !out) || m->vocab.status != LLM_OK) return LLM_FAILED;
    fp = llm__fp_enter();                                          // scores are floats, and some come from integers
    r = llm__tok_encode(&m->vocab, &m->heap, llm__str_n(text, n), flags, NULL, 0, out, cap, &needed);
    llm__fp_leave(fp);
    return r == LLM_OK ? needed : LLM_FAILED;
}
LLM__PUBLIC size_t llm_detokenize(const llm_model *m, const llm_token *tokens, size_t n, unsigned flags, char *buf, size_t cap) {
    if (!m || (n && !tokens) || (cap && !buf) || m->vocab.status != LLM_OK) return LLM_FAILED;
    return llm__tok_decode(&m->vocab, tokens, n, flags, buf, cap);
}
LLM__PUBLIC llm_token llm_special_token(const llm_model *m, llm_special which) {
    if (!m || (uint32_t)which >= LLM__COUNT(m->vocab.special) || m->vocab.status != LLM_OK) return LLM_NO_TOKEN;
    return m->vocab.special[which];
}
LLM__PUBLIC int llm_is_eog(const llm_model *m, llm_token token) {
    return m && m->vocab.status == LLM_OK && llm__tok_is_eog(&m->vocab, token);
}

#ifndef LLM_NO_CHAT
LLM__PUBLIC size_t llm_render_chat(const llm_model *m, const char *jinja, const llm_message *messages, size_t n, unsigned flags,
                                   char *buf, size_t cap, llm_error *err) {
    llm__chat chat;
    llm__fpenv fp;
    uint64_t mark;
    llm__prompt p;
    size_t length = LLM_FAILED;
    llm__ok(err);
    if (!m || (n && !messages) || (cap && !buf)) {
        llm__fail(err, LLM_BAD_ARG, "llm_render_chat: the model, the messages or the buffer is NULL");
        return LLM_FAILED;
    }
    fp = llm__fp_enter();
    mark = llm__heap_mark(&m->heap);
    memset(&p, 0, sizeof p);
    if (llm__chat_pick(&chat, jinja, &m->gguf, err) == LLM_OK
        && llm__chat_render(chat, &m->vocab, messages, n, flags, &m->heap, &p, err) == LLM_OK) {
        length = p.text.n;
        if (length && cap) memcpy(buf, p.text.p, LLM__MIN(length, cap));
        if (length < cap) buf[length] = 0;
    }
    llm__prompt_free(&p, &m->heap);
    llm__heap_back_to(&m->heap, mark);
    llm__fp_leave(fp);
    return length;
}
#else
#define LLM__CHAT_LEFT_OUT "chat templates were left out of this build (LLM_NO_CHAT)"
LLM__PUBLIC size_t llm_render_chat(const llm_model *m, const char *jinja, const llm_message *messages, size_t n, unsigned flags,
                                   char *buf, size_t cap, llm_error *err) {
    (void)m; (void)jinja; (void)messages; (void)n; (void)flags; (void)buf; (void)cap;
    llm__fail(err, LLM_UNSUPPORTED, LLM__CHAT_LEFT_OUT);
    return LLM_FAILED;
}
#endif

// ---- context: what it tells ----

// The pool counts in 32 bits and for all contexts; here the differences add up.
static void llm__publish_waits(llm_ctx *c) {
    uint32_t spins, sleeps;
    llm__pool_waits(c->model->pool, &spins, &sleeps);
    c->stats.pool_spins += (uint32_t)(spins - c->spins_seen);
    c->stats.pool_sleeps += (uint32_t)(sleeps - c->sleeps_seen);
    c->spins_seen = spins;
    c->sleeps_seen = sleeps;
}
static void llm__publish_cores(llm_stats_info *s, const llm__pool *p) {
    const uint32_t awake = llm__atomic_load(&p->awake);
    s->cpus_online = p->cores.n_online;
    s->cpus_allowed_at_load = p->n_home;
    s->cpus_allowed = llm__atomic_load(&p->n_allowed);
    s->n_performance_cores = p->n_best;
    s->cpu_quota = p->cores.quota;
    s->n_threads_resting = awake < p->n_workers ? p->n_workers - awake : 0;
    s->cores_asked = p->asked;
    s->cores = p->obtained;
    s->cores_reason = p->why;
    s->pinned_cpus = llm__pool_pinned(p);
}
// The denominator is whatever was fastest, a token included: no answer is above 100 %.
static void llm__publish_roofline(llm_ctx *c) {
    llm_stats_info *s = &c->stats;
    const double bytes = (double)s->bytes_per_token * (double)s->decode_tokens, most = LLM__MAX(s->probe_gb_s, c->fastest_decode);
    s->decode_gb_s = s->decode_ms > 0.0 ? bytes * 1e-6 / s->decode_ms : 0.0;
    s->roofline_pct = s->probe_gb_s > 0.0 ? LLM__MIN(100.0 * s->decode_gb_s / most, 100.0) : 0.0;
}
// The weights that are in memory, counted again if pages came. Asking for each page takes 20 ms per GB: there is a thousandth of the time
// for it, and the other facts do not wait.
static void llm__look_at_pages(llm_ctx *c, uint64_t major_faults) {
    const llm_model *m = c->model;
    const uint64_t begin = llm__now(m);
    uint64_t resident = 0, k, end;
    uint32_t i;
    if (!c->pages_due && (begin < c->watch.next_count || major_faults == c->major_seen)) return;
    for (i = 0; i < m->gguf.n_shards; i++) {
        const llm__gguf_shard *s = &m->gguf.shards[i];
        resident += llm__os_map_resident(&s->map);
        for (k = 0; k < s->n_maps; k++) resident += llm__os_map_resident(&s->maps[k]);
    }
    c->stats.weights_resident_bytes = resident;
    c->pages_due = false;
    c->major_seen = major_faults;
    end = llm__now(m);
    c->watch.next_count = end + (end - begin) * 1000;
}
// The machine's facts are read again four times a second, or less often where reading them is slow: three thousandths of the time at most.
static void llm__look(llm_ctx *c) {
    const llm_model *m = c->model;
    const uint64_t begin = llm__now(m);
    llm__memory memory;
    llm__heat heat;
    uint64_t spent, periods, throttled;
    if (begin < c->watch.next_look) return;
    llm__memory_look(&memory);
    llm__facts_memory(&memory, &c->stats);
    if (llm__cores_throttled(&periods, &throttled) && periods > c->periods && throttled >= c->throttled)      // less: of another group
        c->stats.quota_throttled_pct = 100.0 * (double)(throttled - c->throttled) / (double)(periods - c->periods);
    llm__heat_look(&heat);
    llm__facts_heat(&heat, c->watch.recent >= c->watch.burst, &c->stats);
    spent = llm__now(m) - begin;
    c->watch.next_look = begin + spent + LLM__MAX((uint64_t)250000, spent * 300);
    llm__look_at_pages(c, memory.major_faults);
}
// What neither tokens nor time change.
static void llm__facts_of_ctx(llm_ctx *c) {
    llm_stats_info *s = &c->stats;
    const llm_model *m = c->model;
    llm__facts_no_text(s);
    s->n_threads_asked = m->n_threads_asked;
    s->n_threads = c->state.n_workers;
    s->host_threads = m->parallel.for_fn != NULL;
    s->cpu_share = m->cpu_share;
    s->isa_asked = m->isa_asked;
    s->isa = m->kernels.isa;
    s->bits_promise = m->bits_reason == NULL;
    s->bits_reason = m->bits_reason ? m->bits_reason : "";
    s->open_ms = m->gguf.open_ms; s->parse_ms = m->gguf.parse_ms; s->vocab_ms = m->vocab_ms; s->load_ms = m->load_ms;
    s->map_ms = m->gguf.map_ms; s->bind_ms = m->bind_ms;
    s->weight_bytes = m->gguf.weight_bytes;
    s->file_fingerprint = m->gguf.fingerprint;
    s->file_system = m->gguf.file_system;
    s->from_path = m->from_path;
    s->name_type = m->name_type ? m->name_type->name : "";
    s->name_bits = m->name_type ? (double)m->name_type->bits : 0.0;
    s->mapping = m->gguf.mapping;
    s->mapping_reason = m->gguf.mapping_reason;
    s->kv_type = c->state.kv.type;
    s->kv_limit_bytes = llm__kv_bytes_for(&c->state.kv, c->n_ctx, c->state.n_batch);
    if (!LLM__DIAGNOSIS) return;
    llm__facts_build(s);
    s->n_tensors_scalar = m->reads.n_scalar;
    s->scalar_pct = m->reads.bytes > 0.0 ? 100.0 * m->reads.scalar / m->reads.bytes : 0.0;
    s->bits_per_weight = llm__bits_of_reads(&m->reads);
    s->attention = s->kv_type == LLM_KV_F32 ? "blocked, F32 keys and values"
                 : s->kv_type == LLM_KV_Q8_0 ? "blocked, Q8_0 keys and values" : "blocked, F16 keys and values";
}
// Held for the copy of one struct. Whoever waits longer than that may have pushed the other off its CPU, and lets it on again.
static void llm__stats_lock(llm_ctx *c) {
    uint32_t tries = 0;
    while (llm__atomic_exchange(&c->stats_lock, 1))
        if (++tries % 1024) llm__os_pause();
        else llm__os_sleep_us(50);
}
static void llm__publish(llm_ctx *c) {
    llm_stats_info *s = &c->stats;
    const llm_model *m = c->model;
    s->kv_bytes = c->state.kv.bytes;
    s->scratch_bytes = c->state.scratch ? c->state.scratch_bytes : 0;
    s->bytes_per_token = m->net.bytes_per_token + (s->decode_tokens ? c->kv_bytes_read / s->decode_tokens : 0);
    s->for_calls_per_token = s->decode_tokens ? (double)c->runs_in_decode / (double)s->decode_tokens : 0.0;
    s->f16_saturated = llm__atomic_load(&c->state.f16_saturated);
    s->n_allocs = c->n_allocs;
    if (LLM__DIAGNOSIS) {
        llm__publish_waits(c);
        llm__publish_cores(s, m->pool);
        llm__publish_roofline(c);
        llm__watch_facts(&c->watch, LLM__MIN(c->state.n_workers, s->cpus_allowed), s);
        llm__look(c);
    }
    llm__stats_lock(c);
    c->published = *s;
    llm__atomic_store(&c->stats_lock, 0);
}
LLM__PUBLIC void llm_stats(const llm_ctx *ctx, llm_stats_info *out) {
    llm_ctx *c = (llm_ctx *)(uintptr_t)ctx;                        // the lock is not part of what const promises
    llm_stats_info s;
    if (!out) return;
    memset(&s, 0, sizeof s);
    llm__facts_no_text(&s);
    if (c) {
        llm__stats_lock(c);
        s = c->published;
        llm__atomic_store(&c->stats_lock, 0);
    }
    llm__give_struct(out, &s, out->struct_bytes, sizeof s);
}
LLM__PUBLIC size_t llm_findings(const llm_ctx *ctx, llm_finding *out, size_t cap) {
    llm_stats_info f = LLM__ZERO;
    llm__fpenv fp;
    size_t n;
    if (!ctx || (cap && !out)) return 0;
    llm_stats(ctx, &f);
    fp = llm__fp_enter();
    n = llm__findings_of(&f, out, cap);
    llm__fp_leave(fp);
    return n;
}
// By itself, because facts and types together are too much for one stack frame.
static LLM__NOINLINE void llm__report_model(llm__text *t, const llm_stats_info *f, const llm_model *m) {
    llm_type_use types[LLM__TYPE_COUNT];
    const uint32_t n = llm__model_types(m, types, LLM__TYPE_COUNT);
    llm__report_file(t, f, m->arch, m->name, m->gguf.file_bytes, types, n);
}
LLM__PUBLIC size_t llm_report(const llm_ctx *ctx, char *buf, size_t cap) {
    llm_stats_info f = LLM__ZERO;
    llm__fpenv fp;
    llm__text t;
    if (!ctx || (cap && !buf)) return LLM_FAILED;
    if (cap) buf[0] = 0;
    if (!LLM__DIAGNOSIS) return 0;
    llm_stats(ctx, &f);
    t.p = buf; t.n = 0; t.cap = cap;
    fp = llm__fp_enter();
    llm__report_build(&t, &f);
    llm__report_model(&t, &f, ctx->model);
    llm__report_run(&t, &f);
    llm__fp_leave(fp);
    if (t.n < cap) buf[t.n] = 0;
    return t.n;
}

// ---- context: calls ----

// One caller at a time; the host's floating-point environment is put aside for the length of the call (N0).
typedef struct llm__call { llm__fpenv fp; } llm__call;

static bool llm__enter(llm_ctx *c, llm__call *call) {
    if (llm__atomic_exchange(&c->busy, 1)) return false;
    call->fp = llm__fp_enter();
    c->call_us = llm__now(c->model);
    return true;
}
static llm_result llm__leave(llm_ctx *c, const llm__call *call, llm_result r) {
    if (r == LLM_OK) { llm__ok(&c->error); c->refused = false; }
    if (r == LLM_CANCELLED) llm__atomic_store(&c->cancel, 0);
    llm__publish(c);
    llm__fp_leave(call->fp);
    llm__atomic_store(&c->busy, 0);
    return r;
}

// ---- context: life ----

static void llm__notes_cut(llm_ctx *c, size_t keep) {
    if (keep >= c->n_notes) return;
    c->said.n = c->notes[keep].role;
    c->n_notes = keep;
}
// Room for n messages in all, and for so many bytes of text in those that come.
static bool llm__notes_room(llm_ctx *c, size_t n, size_t bytes) {
    void *p = c->notes;
    if (!llm__grow(&c->heap, &p, &c->cap_notes, n, sizeof *c->notes)) return false;
    c->notes = (llm__note *)p;
    return llm__string_room(&c->heap, &c->said, bytes);
}
static size_t llm__said_add(llm_ctx *c, llm__str s) {
    const size_t at = c->said.n;
    llm__string_add(&c->heap, &c->said, s.p, s.n);
    llm__string_add(&c->heap, &c->said, "", 1);
    return at;
}
static size_t llm__note_bytes(llm__str role, llm__str content) { return role.n + content.n + 2; }
// There is room.
static void llm__note_add(llm_ctx *c, llm__str role, llm__str content) {
    llm__note *note = &c->notes[c->n_notes++];
    note->role = llm__said_add(c, role);
    note->content = llm__said_add(c, content);
}

// Last in, first out: so an arena has its room back.
static void llm__ctx_free(llm_ctx *c) {
    llm_model *model = c->model;
    const llm__heap *h = &model->heap;
    if (!c->reserved) {
        llm__free(h, c->notes);
        llm__free(h, c->said.p);
        llm__free(h, c->past.v);
        llm__free(h, c->base.v);
        llm__free(h, c->raw.p);
        llm__free(h, c->answer.p);
        llm__free(h, c->held.p);
        llm__free(h, c->piece.p);
    }
    llm__free(h, c->reserve);
    llm__free(h, c->chat_reason);
    llm__free(h, c->template_text);
    llm__stops_free(&c->stops, h);
    llm__sampler_free(&c->sampler, h);
    c->state.heap = h;
    llm__state_free(&c->state);
    llm__free(h, c);
    llm__model_release(model);
}
LLM__PUBLIC void llm_close(llm_ctx *ctx) {
    llm__fpenv fp;
    if (!ctx) return;
    fp = llm__fp_enter();
    llm__ctx_free(ctx);
    llm__fp_leave(fp);
}

// Picks the rendering. A template that was asked for must be understood; without one of its own, a model still opens for tokens and
// raw text.
static llm_result llm__open_chat(llm_ctx *c, const char *asked, llm_error *e) {
#ifndef LLM_NO_CHAT
    llm_error reason;
    if (asked) {
        c->template_text = llm__copy_text(&c->heap, llm__str_of(asked));
        if (!c->template_text) return llm__fail(e, LLM_NO_MEMORY, "no memory for the chat template");
    }
    c->chat_result = llm__chat_pick(&c->chat, c->template_text, &c->model->gguf, &reason);
    if (c->chat_result == LLM_OK) return LLM_OK;
    if (asked) return llm__fail(e, c->chat_result, "%s", reason.text);
    c->chat_reason = llm__copy_text(&c->heap, llm__str_of(reason.text));
    return c->chat_reason ? LLM_OK : llm__fail(e, LLM_NO_MEMORY, "no memory for a message");
#else
    c->chat_result = LLM_UNSUPPORTED;
    c->chat_reason = llm__copy_text(&c->heap, llm__str_of(LLM__CHAT_LEFT_OUT));
    if (asked) return llm__fail(e, LLM_UNSUPPORTED, LLM__CHAT_LEFT_OUT);
    return c->chat_reason ? LLM_OK : llm__fail(e, LLM_NO_MEMORY, "no memory for a message");
#endif
}

// ---- context: everything at once, for an arena ----

// Text that an arena keeps for each position of n_ctx: for the messages, for what was fed, and for an answer. English takes 3 to 5.
#define LLM__TEXT_PER_TOKEN 8u

static void llm__carve_text(llm__layout *a, llm__string *s, uint64_t cap) {
    s->p = LLM__CARVE(a, char, cap);
    s->cap = (size_t)cap;
}
static void llm__carve_tokens(llm__layout *a, llm__tokens *t, size_t cap) {
    t->v = LLM__CARVE(a, llm_token, cap);
    t->cap = cap;
}
// What making tokens of text takes while it lasts: the text as the template writes it, its tokens, the symbols and pairs of a word. It lies
// where the scratch does, which is larger as a rule. Where words cannot be told apart, the symbols are those of the whole text.
static uint64_t llm__work_bytes(const llm_ctx *c) {
    const llm__vocab *v = &c->model->vocab;
    uint64_t each = 20;
    uint32_t i;
    for (i = 0; i < sizeof v->joints && !v->pre; i++)
        if (v->joints[i] & ~(i == 0x81 / 8 ? 1 << 0x81 % 8 : 0)) each = 60;
    return (each * c->text_room + 16 * (uint64_t)c->n_ctx + 4096 + 63) & ~(uint64_t)63;
}
// What begins an answer keeps until the first piece is there: the tokens that are to be, and those that were.
static uint64_t llm__aside_bytes(const llm_ctx *c) {
    return 2 * llm__lines((uint64_t)c->n_ctx * sizeof(llm_token) + LLM__HEAD);
}
// The list of all that a context may come to need: measures with a base of NULL, then lays out.
static void llm__ctx_layout(llm_ctx *c, llm__layout *a) {
    llm__state *s = &c->state;
    const llm__vocab *v = &c->model->vocab;
    const size_t n = LLM__MAX((size_t)c->n_ctx, (size_t)LLM__PAGE);
    const uint64_t held = c->stops.block_bytes / 3 + v->longest + 8;       // a stop string that may come, a token, half a character
    uint8_t *p;
    s->least = v->status == LLM_OK ? llm__work_bytes(c) : 0;
    if (!llm__state_layout(s, NULL)) a->overflow = true;
    p = LLM__CARVE(a, uint8_t, s->scratch_bytes);
    if (p) {
        s->scratch = p;
        llm__state_layout(s, p);
        c->work.a = llm__arena_on(&c->work_buffer, p, (uint64_t)((uint8_t *)s->logits[0] - p));
    }
    llm__kv_layout(&s->kv, a, c->n_ctx, s->n_batch);
    llm__carve_tokens(a, &c->past, n);
    llm__carve_tokens(a, &c->base, n);
    if (v->status != LLM_OK) return;
    llm__carve_text(a, &c->raw, c->text_room);
    llm__carve_text(a, &c->answer, c->text_room);
    llm__carve_text(a, &c->held, held);
    llm__carve_text(a, &c->piece, 3 * held);
    if (c->chat_result == LLM_OK) {
        llm__carve_text(a, &c->said, c->text_room);
        c->cap_notes = n / 4 + 4;
        c->notes = LLM__CARVE(a, llm__note, c->cap_notes);
    }
    p = LLM__CARVE(a, uint8_t, llm__aside_bytes(c));
    if (p) c->aside.a = llm__arena_on(&c->aside_buffer, p, llm__aside_bytes(c));
}
static llm_result llm__ctx_reserve(llm_ctx *c, llm_error *e) {
    llm__layout a = LLM__ZERO;
    c->reserved = true;
    c->text_room = (uint64_t)LLM__TEXT_PER_TOKEN * c->n_ctx + 256 + 1;
    c->work.n_allocs = NULL;
    c->work.a = llm__arena_none();
    c->aside = c->work;
    llm__ctx_layout(c, &a);
    if (a.overflow && c->heap.plan) { c->heap.plan->most = LLM__NOWHERE; return LLM_OK; }
    if (a.overflow) return llm__fail(e, LLM_NO_MEMORY, "n_ctx %u and n_batch %u pass the address space", c->n_ctx, c->state.n_batch);
    if (c->heap.plan) { llm__plan_block(&c->heap, a.used); return LLM_OK; }
    c->reserve = llm__alloc_bytes(&c->heap, a.used);
    if (!c->reserve)
        return llm__fail(e, LLM_NO_MEMORY, "the arena has no room for the %U bytes of keys, values, scratch and text of n_ctx %u; "
                         "llm_plan_info.arena_bytes tells how long it must be", a.used, c->n_ctx);
    a.base = (uint8_t *)c->reserve;
    a.used = 0;
    llm__ctx_layout(c, &a);
    c->heap.a = llm__arena_none();
    return LLM_OK;
}

// A context with all that it takes from the allocator when it opens. NULL on failure.
static llm_ctx *llm__ctx_make(llm_model *m, const llm_ctx_desc *d, llm_error *e) {
    llm_ctx *c = (llm_ctx *)llm__alloc_zero(&m->heap, 1, sizeof *c);
    llm_result r;
    if (!c) { llm__fail(e, LLM_NO_MEMORY, "no memory for the context (%U bytes)", (uint64_t)sizeof *c); return NULL; }
    llm__atomic_add(&m->refs, 1);
    c->model = m;
    c->heap = m->heap;                                              // with what a plan counts
    c->heap.n_allocs = &c->n_allocs;
    c->work = c->aside = c->heap;
    c->n_allocs = 1;                                                // the context itself
    llm__ctx_sizes(&m->net, d, &c->n_ctx, &c->state.n_batch);
    r = llm__state_init(&c->state, &m->net, &m->kernels, &c->heap, c->n_ctx, c->state.n_batch, m->pool->n_workers, d->kv_type, e);
    if (r == LLM_OK) r = llm__sampler_set(&c->sampler, &c->heap, &d->sampling, m->net.n_vocab, e);
    if (r == LLM_OK) r = llm__stops_set(&c->stops, &c->heap, d->stop, d->n_stop, e);
    if (r == LLM_OK) r = llm__open_chat(c, d->chat_template, e);
    if (r == LLM_OK && llm__heap_reserves(&c->heap)) r = llm__ctx_reserve(c, e);
    if (r == LLM_OK) return c;
    llm__ctx_free(c);
    return NULL;
}
LLM__PUBLIC llm_ctx *llm_open(llm_model *m, const llm_ctx_desc *desc, llm_error *err) {
    llm_ctx_desc d = LLM__ZERO;
    llm_ctx *c;
    llm__fpenv fp;
    if (!m) {
        if (err && err->code >= 0) llm__fail(err, LLM_BAD_ARG, "the model is NULL");
        return NULL;
    }
    if (desc) d = *desc;
    llm__ok(err);
    if (llm__check_ctx_desc(&d, err) != LLM_OK) return NULL;
    fp = llm__fp_enter();                                           // sizes depend on comparisons with 0, which a host may flush to
    c = llm__ctx_make(m, &d, err);
    if (!c) { llm__fp_leave(fp); return NULL; }
    llm__pool_waits(m->pool, &c->spins_seen, &c->sleeps_seen);
    c->max_tokens = d.max_tokens;
    c->trust_content = d.trust_content != 0;
    c->share.percent = m->cpu_share;
    llm__cores_throttled(&c->periods, &c->throttled);
    llm__os_usage_now(&c->watch.begin);
    c->major_seen = c->watch.begin.major_faults;
    llm__facts_of_ctx(c);
    llm__publish(c);
    if (c->n_ctx > m->net.n_ctx_train)
        llm__log(&m->log, LLM__LOG_WARNING, "n_ctx is %u and the model was trained for %u positions: beyond them it answers nonsense",
                 c->n_ctx, m->net.n_ctx_train);
    llm__fp_leave(fp);
    return c;
}

// ---- a plan ----

// Goes through a load and an opening as they would be with an arena, but starts no thread, and reads, maps and reserves nothing that is
// large. What an arena would hold is added up block by block.
static llm_result llm__plan_build(llm_model *m, const llm__source *src, const llm_model_desc *d, llm_ctx **c, const llm_ctx_desc *wish,
                                  uint64_t *bytes, llm_error *e) {
    llm__gguf_options o = LLM__ZERO;
    llm__heap aside = m->heap;
    uint64_t now;
    uint32_t i;
    llm_result r;
    aside.plan = NULL;
    o.heap = &m->heap;
    o.directory_only = true;
    r = llm__source_open(src, d, &m->gguf, &o, e);
    if (r == LLM_OK) r = llm__model_build(m, d, e);
    if (r == LLM_OK && wish->kv_type == LLM_KV_Q8_0) r = llm__plan_read_key_biases(&m->net, &m->gguf, &aside, e);
    if (r != LLM_OK) return r;
    now = *bytes;
    for (i = 0; i < m->gguf.n_shards; i++)                          // what is mapped has no copy of its directory
        if (!m->gguf.shards[i].copied) now -= LLM__MIN(now, m->gguf.shards[i].head_bytes);
    *bytes = now;
    *c = llm__ctx_make(m, wish, e);
    return *c ? LLM_OK : e->code;
}
static llm_result llm__plan_fill(llm_plan_info *p, llm_model *m, llm_ctx *c, const llm__source *src, const llm_model_desc *d,
                                 uint32_t n_batch, llm_error *e) {
    llm__heap aside = m->heap;
    aside.plan = NULL;
    p->isa = m->kernels.isa;
    p->n_threads = m->pool->n_workers;
    p->mapping = m->gguf.mapping;
    p->file_bytes = m->gguf.file_bytes;
    p->weight_bytes = m->gguf.weight_bytes;
    p->weights_read = llm__gguf_bytes_read(&m->gguf);
    p->weights_mapped = src->data ? 0 : m->gguf.weight_bytes - p->weights_read;
    p->file_fingerprint = m->gguf.fingerprint;
    p->file_system = m->gguf.file_system;
    p->n_ctx = c->n_ctx;
    p->n_batch = c->state.n_batch;
    p->bytes_per_token = m->net.bytes_per_token;
    p->bits_per_weight = llm__bits_of_reads(&m->reads);
    p->n_ctx_train = m->net.n_ctx_train;
    if (d->host_gb_s < 0.0) p->gb_s = llm__plan_probe(&m->kernels, &aside, p->n_threads,
                                                          p->mem_available ? p->mem_available : UINT64_MAX, &d->parallel, &d->clock);
    return llm__plan_sizes(p, n_batch, &c->state, e);
}
static llm_result llm__plan_open(llm_plan_info *p, const llm__source *src, const llm_model_desc *d, const llm_ctx_desc *wish,
                                 llm_error *e) {
    llm__bump sums = LLM__ZERO;
    llm__heap heap = LLM__ZERO;
    uint64_t mark;
    llm_error reason;
    llm_model *m;
    llm_ctx *c = NULL;
    llm_result r;
    if (!e) e = &reason;
    sums.room = UINT64_MAX / 2;
    heap.a = d->allocator;
    heap.n_bytes = &p->model_bytes;
    heap.plan = &sums;
    mark = llm__heap_mark(&heap);
    m = llm__model_make(&heap, d, e);
    if (!m) return e->code;
    r = llm__plan_build(m, src, d, &c, wish, &p->model_bytes, e);
    p->arena_bytes = sums.most > SIZE_MAX - LLM__ARENA_OWN ? 0 : sums.most + LLM__ARENA_OWN;
    m->heap.n_bytes = NULL;
    if (r == LLM_OK) r = llm__plan_fill(p, m, c, src, d, llm__wished_batch(wish), e);
    if (c) llm__ctx_free(c);
    llm__model_release(m);
    llm__heap_back_to(&heap, mark);
    return r;
}
static llm_result llm__plan(const llm__source *src, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc, llm_plan_info *out,
                            llm_error *err) {
    llm_model_desc d = LLM__ZERO;
    llm_ctx_desc c = LLM__ZERO;
    llm_plan_info p = LLM__ZERO;
    const struct llm__name_type *named;
    llm__memory memory;
    llm__fpenv fp;
    llm_result r;
    if (desc) d = *desc;
    if (ctx_desc) c = *ctx_desc;
    llm__ok(err);
    if (!out) return llm__fail(err, LLM_BAD_ARG, "the plan has nowhere to go: out is NULL");
    if ((r = llm__check_desc(&d, err)) != LLM_OK || (r = llm__check_ctx_desc(&c, err)) != LLM_OK) return r;
    fp = llm__fp_enter();
    llm__memory_look(&memory);
    p.mem_available = memory.available;
    p.mem_limit = memory.limit;
    p.mem_limit_by = memory.limit_by;
    p.kv_type = c.kv_type;
    p.gb_s = LLM__MAX(d.host_gb_s, 0.0);
    named = LLM__FILES && src->path ? llm__name_type_of(src->path) : NULL;
    p.name_type = named ? named->name : "";
    p.name_bits = named ? (double)named->bits : 0.0;
    r = llm__plan_open(&p, src, &d, &c, err);
    llm__fp_leave(fp);
    if (r == LLM_OK) llm__give_struct(out, &p, out->struct_bytes, sizeof p);
    return r == LLM_OK ? llm__ok(err) : r;
}
LLM__PUBLIC llm_result llm_plan(const char *path_utf8, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc, llm_plan_info *out,
                                llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!path_utf8) return llm__fail(err, LLM_BAD_ARG, "the path is NULL");
    src.path = path_utf8;
    return llm__plan(&src, desc, ctx_desc, out, err);
}
LLM__PUBLIC llm_result llm_plan_memory(const void *data, size_t bytes, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc,
                                       llm_plan_info *out, llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!data) return llm__fail(err, LLM_BAD_ARG, "the data is NULL");
    src.data = data;
    src.bytes = bytes;
    return llm__plan(&src, desc, ctx_desc, out, err);
}
LLM__PUBLIC llm_result llm_plan_reader(const llm_reader *reader, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc,
                                       llm_plan_info *out, llm_error *err) {
    llm__source src = LLM__ZERO;
    if (!reader || !reader->read_at) return llm__fail(err, LLM_BAD_ARG, "the reader is NULL or has no read_at");
    src.reader = reader;
    return llm__plan(&src, desc, ctx_desc, out, err);
}
LLM__PUBLIC size_t llm_findings_plan(const llm_plan_info *plan, llm_finding *out, size_t cap) {
    llm_plan_info p = LLM__ZERO;
    llm_stats_info f;
    llm__fpenv fp;
    size_t n;
    if (!plan || (cap && !out)) return 0;
    memcpy(&p, plan, plan->struct_bytes ? LLM__MIN(plan->struct_bytes, sizeof p) : sizeof p);      // of a caller that knows less of it
    fp = llm__fp_enter();
    llm__facts_of_plan(&p, &f);
    n = llm__findings_of(&f, out, cap);
    llm__fp_leave(fp);
    return n;
}

// ---- tokens in, logits out ----

static llm_result llm__fail_full(llm_ctx *c, uint64_t needed) {
    return llm__fail(&c->error, LLM_CONTEXT_FULL,
                     "the context needs %U positions, and n_ctx is %u; rewind, shorten the input or raise n_ctx", needed, c->n_ctx);
}

// The first evaluation of a mapped model finds no page of it in this process. Bringing them in beforehand takes the time that it would
// take anyway, and tells it apart. Not where the weights do not fit: there the last pages would push out the first.
static void llm__first_touch(llm_ctx *c, llm__team *team) {
    llm_model *m = c->model;
    llm__ranges all = LLM__ZERO;
    uint64_t began;
    if (llm__atomic_exchange(&m->touched, 1) || !llm__pages_come_in(m) || llm__outgrows_memory(m)) return;
    began = llm__now(m);
    all.heap = &c->work;
    llm__weights_of_token(&m->net, &all);
    llm__ranges_sort(&all);
    llm__touch(&all, team, &c->cancel);
    llm__free(&c->work, all.v);
    c->stats.first_touch_ms = llm__ms_since(m, began);
    c->watch.next_look = 0;
    c->pages_due = true;
}

// Since `start`, without rests. A clock of the host's may know nothing of them.
static uint64_t llm__worked_us(const llm_ctx *c, uint64_t start) {
    const uint64_t us = llm__now(c->model) - start;
    return us - LLM__MIN(us, c->share.rested_us);
}

static llm_result llm__check_file(llm_ctx *c) {
    if (!llm__gguf_changed(&c->model->gguf)) return LLM_OK;
    return llm__fail(&c->error, LLM_IO, "the model file changed on disk while it was mapped; load it again");
}
// Evaluates what is not in the cache yet, then tokens[n], and makes them the past. logits: [n_want, n_vocab] of the last tokens; NULL with
// n_want 1 means the context's own. whole: these tokens are all of an input, not a part of one whose caller tells the progress callback and
// whose last token, alone, is still prefill. All or nothing.
static llm_result llm__advance(llm_ctx *c, const llm_token *tokens, size_t n, size_t n_want, float *logits, bool whole) {
    llm_model *m = c->model;
    llm__state *s = &c->state;
    const size_t begin = c->n_cached, lag = c->past.n - begin;      // lag: the token just sampled, or what a window has lost
    const size_t again = c->n_seen > begin ? c->n_seen - begin : 0; // the part of it that had been evaluated before
    const bool decode = lag + n == 1 && (whole || !n);
    uint64_t start = 0;
    llm__team team;
    llm__eval ev = LLM__ZERO;
    llm_result r;
    if (n > c->n_ctx - c->past.n) return llm__fail_full(c, (uint64_t)c->past.n + n);
    r = llm__check_file(c);
    if (r != LLM_OK) return r;
    if (!llm__tokens_add(&c->heap, &c->past, tokens, n)) return llm__fail(&c->error, LLM_NO_MEMORY, "no memory for %U tokens", (uint64_t)n);
    r = llm__state_scratch(s, &c->error);
    if (r == LLM_OK) {
        team = llm__team_take(m->pool);
        ev.team = &team; ev.cancel = &c->cancel; ev.progress = whole ? &m->progress : NULL;
        ev.tokens = c->past.v + begin; ev.n = lag + n; ev.position = begin;
        ev.n_want = n_want; ev.logits = logits ? logits : s->logits[1 - s->good];
        llm__first_touch(c, &team);
        ev.share = &c->share;
        c->share.rested_us = 0;
        start = llm__now(m);
        if (LLM__DIAGNOSIS && decode) llm__watch_begin(&c->watch);
        r = llm__fwd_eval(s, &ev, &c->error);
        llm__team_give(&team);
    }
    if (r != LLM_OK) {
        c->past.n -= n;
        c->n_cached = llm__kv_resume_at(&s->kv, begin);
        return r;
    }
    if (n_want && logits) memcpy(s->logits[1 - s->good], logits + (n_want - 1) * m->net.n_vocab, m->net.n_vocab * sizeof(float));
    if (n_want) s->good = 1 - s->good;
    c->has_logits = n_want > 0;
    c->n_cached = c->n_seen = c->past.n;
    c->stats.reevaluated_tokens += again;
    if (decode) {
        const uint64_t kv_bytes = llm__kv_bytes_at(s, begin), us = llm__worked_us(c, start);
        const double ms = (double)us * 0.001;
        if (LLM__DIAGNOSIS) llm__watch_end(&c->watch, us, m->net.bytes_per_token + kv_bytes);
        c->stats.decode_tokens++;
        c->stats.decode_ms += ms;
        c->kv_bytes_read += kv_bytes;
        c->runs_in_decode += team.n_runs;
        c->stats.rows_most += team.rows_most;
        c->stats.rows_least += team.rows_least;
        if (ms > 0.0) c->fastest_decode = LLM__MAX(c->fastest_decode, (double)(m->net.bytes_per_token + kv_bytes) * 1e-6 / ms);
    } else {
        c->stats.prefill_tokens += ev.n;
        c->stats.prefill_ms += (double)llm__worked_us(c, start) * 0.001;
    }
    return LLM_OK;
}

static void llm__stats_reset(llm_ctx *c) {
    llm_stats_info *s = &c->stats;
    s->prefill_ms = s->first_token_ms = s->decode_ms = 0.0;
    s->prefill_tokens = s->decode_tokens = s->reused_tokens = s->reevaluated_tokens = 0;
    s->rows_most = s->rows_least = 0;
    c->kv_bytes_read = c->runs_in_decode = 0;
    if (LLM__DIAGNOSIS) llm__watch_answer(&c->watch);
}

static llm_result llm__no_memory_for_text(llm_ctx *c) {
    if (!c->reserved) return llm__fail(&c->error, LLM_NO_MEMORY, "no memory for text");
    return llm__fail(&c->error, LLM_CONTEXT_FULL, "the text passes what the arena keeps for n_ctx %u, which is %U bytes of messages and as "
                     "many of fed text; rewind, shorten it or raise n_ctx", c->n_ctx, c->text_room - 1);
}

static void llm__forget_answer(llm_ctx *c) {
    c->answering = false;
    c->ended = LLM_STOP_NONE;
    c->answer.n = c->held.n = c->n_hold = 0;
    c->overlong = false;
}
// The past ends after n of its tokens; what a window has lost of them is evaluated again.
static void llm__past_cut(llm_ctx *c, size_t n) {
    if (n < c->past.n) c->has_logits = false;
    c->past.n = n;
    c->n_seen = LLM__MIN(c->n_seen, n);
    c->n_cached = llm__kv_resume_at(&c->state.kv, LLM__MIN(c->n_cached, n));
}
// base = past. The caller has reserved room.
static void llm__base_from_past(llm_ctx *c) {
    if (c->past.n) memcpy(c->base.v, c->past.v, c->past.n * sizeof *c->base.v);
    c->base.n = c->base_settled = c->past.n;
}
// The past becomes raw tokens; there is nothing left to render. The caller has reserved room in base.
static void llm__all_raw(llm_ctx *c) {
    llm__base_from_past(c);
    llm__notes_cut(c, 0);
    c->notes_settled = 0;
    c->raw.n = 0;
    c->fresh = false;
    c->why = LLM_STOP_NONE;
    llm__forget_answer(c);
}

// Logits of the last token, evaluating it again where a rewind took them away.
static llm_result llm__ensure_logits(llm_ctx *c) {
    if (c->has_logits) return LLM_OK;
    if (c->n_cached == c->past.n) c->n_cached = llm__kv_resume_at(&c->state.kv, c->past.n - 1);
    return llm__advance(c, NULL, 0, 1, NULL, false);
}

static llm_result llm__check_tokens(llm_ctx *c, const llm_token *tokens, size_t n) {
    size_t i;
    if (n && !tokens) return llm__fail(&c->error, LLM_BAD_ARG, "the tokens are NULL");
    for (i = 0; i < n; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= c->model->net.n_vocab)
            return llm__fail(&c->error, LLM_BAD_ARG, "token %d is not in the vocabulary of %u", (int)tokens[i], c->model->net.n_vocab);
    return LLM_OK;
}
static llm_result llm__eval_tokens(llm_ctx *c, const llm_token *tokens, size_t n, float *all) {
    llm_result r;
    if (n > c->n_ctx - c->past.n)                                   // before anything of the tokens is read
        return llm__fail_full(c, LLM__MAX((uint64_t)c->past.n + n, (uint64_t)n));                   // the sum may wrap
    r = llm__check_tokens(c, tokens, n);
    if (r != LLM_OK || n == 0) return r;
    if (c->fresh)
        return llm__fail(&c->error, LLM_BAD_STATE, "input of llm_say or llm_feed is waiting: call llm_next, or llm_rewind to drop it");
    if (!llm__tokens_reserve(&c->heap, &c->base, c->past.n + n)) return llm__no_memory_for_text(c);
    if (n > 1) llm__stats_reset(c);
    r = llm__advance(c, tokens, n, all ? n : 1, all, true);
    if (r == LLM_OK) llm__all_raw(c);
    return r;
}
LLM__PUBLIC llm_result llm_eval(llm_ctx *c, const llm_token *tokens, size_t n) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__leave(c, &call, llm__eval_tokens(c, tokens, n, NULL));
}
LLM__PUBLIC llm_result llm_eval_all(llm_ctx *c, const llm_token *tokens, size_t n, float *logits) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    if (n && !logits) return llm__leave(c, &call, llm__fail(&c->error, LLM_BAD_ARG, "llm_eval_all: logits is NULL"));
    return llm__leave(c, &call, llm__eval_tokens(c, tokens, n, logits));
}
LLM__PUBLIC const float *llm_logits(const llm_ctx *c) { return c && c->has_logits ? c->state.logits[c->state.good] : NULL; }
LLM__PUBLIC size_t llm_past(const llm_ctx *c) { return c ? c->past.n : 0; }
LLM__PUBLIC const llm_error *llm_last_error(const llm_ctx *c) {
    static const llm_error none = { LLM_BAD_ARG, "the context is NULL" };
    return c ? &c->error : &none;
}
LLM__PUBLIC void llm_cancel(llm_ctx *c) {
    if (c) llm__atomic_store(&c->cancel, 1);
}

// The next token by the context's sampling, from logits that are there.
static llm_result llm__pick(llm_ctx *c, llm_token *token) {
    return llm__sampler_pick(&c->sampler, &c->model->kernels.v, c->state.logits[c->state.good], c->model->net.n_vocab, c->past.v,
                             c->past.n, token, &c->error);
}
LLM__PUBLIC llm_token llm_sample(llm_ctx *c) {
    llm__call call;
    llm_token token = LLM_NO_TOKEN;
    llm_result r = LLM_OK;
    if (!c || !llm__enter(c, &call)) return LLM_NO_TOKEN;
    if (c->past.n == 0) r = llm__fail(&c->error, LLM_BAD_STATE, "nothing has been evaluated yet, so there is nothing to sample from");
    else r = llm__ensure_logits(c);
    if (r == LLM_OK) r = llm__pick(c, &token);
    llm__leave(c, &call, r);
    return r == LLM_OK ? token : LLM_NO_TOKEN;
}

// ---- what the conversation should be ----

// Appends text to t as tokens. At the very start of a context stands exactly one BOS if the vocabulary wants one, whether the text
// (a template's, say) brings it or not. special: LLM_PARSE_SPECIAL, or 0 where control tokens that the text spells are just text.
static llm_result llm__append_text(llm_ctx *c, llm__tokens *t, llm__str text, unsigned special, const llm__span *plain, size_t n_plain) {
    const llm__vocab *v = &c->model->vocab;
    const llm__heap *h = &c->work;
    const llm_token bos = v->special[LLM_BOS];
    const bool wants_bos = t->n == 0 && v->add_bos && bos != LLM_NO_TOKEN;
    const unsigned flags = special | (t->n ? LLM__TOK_GOES_ON : 0u);
    size_t n = 0, room = t->n + 1 + text.n / 3 + 16;
    llm_result r;
    void *p;
    for (;;) {                                                      // usually once: a token is three bytes or more
        p = t->v;
        if (!llm__grow(h, &p, &t->cap, room, sizeof *t->v)) return llm__no_memory_for_text(c);
        t->v = (llm_token *)p;
        r = llm__tok_encode(v, h, text, flags, plain, n_plain, t->v + t->n + 1, t->cap - t->n - 1, &n);
        if (r == LLM_BAD_ARG) return llm__fail(&c->error, r, "the text is too long to tokenize");
        if (r == LLM_UNSUPPORTED) return llm__fail(&c->error, r, "this build cannot cut text beyond ASCII (LLM_NO_UNICODE)");
        if (r != LLM_OK) return llm__no_memory_for_text(c);
        if (n <= t->cap - t->n - 1) break;
        room = t->n + 1 + n;
    }
    if (wants_bos && !(n && t->v[1] == bos)) { t->v[t->n] = bos; t->n += n + 1; return LLM_OK; }
    memmove(t->v + t->n, t->v + t->n + 1, n * sizeof *t->v);
    t->n += n;
    return LLM_OK;
}

#ifndef LLM_NO_CHAT
// Appends the first n_notes messages as the template writes them. content_end: tokens up to the end of the last message's content.
static llm_result llm__append_notes(llm_ctx *c, llm__tokens *t, size_t n_notes, bool ask, size_t *content_end) {
    const llm__heap *h = &c->work;
    llm__prompt p;
    llm_message *m = LLM__NEW(h, llm_message, n_notes + 1);
    llm__tokens content = LLM__ZERO;
    llm_result r;
    size_t i, n_plain;
    memset(&p, 0, sizeof p);
    if (!m) return llm__no_memory_for_text(c);
    for (i = 0; i < n_notes; i++) { m[i].role = c->said.p + c->notes[i].role; m[i].content = c->said.p + c->notes[i].content; }
    r = llm__chat_render(c->chat, &c->model->vocab, m, n_notes, ask ? (unsigned)LLM_GENERATION_PROMPT : 0u, h, &p, &c->error);
    if (r == LLM_NO_MEMORY) r = llm__no_memory_for_text(c);
    n_plain = c->trust_content ? 0 : p.n_plain;
    if (r == LLM_OK && content_end) {
        const size_t end = p.n_plain ? p.plain[p.n_plain - 1].end : 0;
        if (!llm__tokens_add(h, &content, t->v, t->n)) r = llm__no_memory_for_text(c);
        else r = llm__append_text(c, &content, llm__str_n(p.text.p, end), LLM_PARSE_SPECIAL, p.plain, n_plain);
        *content_end = content.n;
        llm__free(h, content.v);
    }
    if (r == LLM_OK) r = llm__append_text(c, t, llm__str_n(p.text.p, p.text.n), LLM_PARSE_SPECIAL, p.plain, n_plain);
    llm__free(h, m);
    llm__prompt_free(&p, h);
    return r;
}
#else
static llm_result llm__append_notes(llm_ctx *c, llm__tokens *t, size_t n_notes, bool ask, size_t *content_end) {
    (void)t; (void)n_notes; (void)ask; (void)content_end;
    return llm__fail(&c->error, LLM_UNSUPPORTED, LLM__CHAT_LEFT_OUT);
}
#endif

// The whole conversation as tokens: base, messages, text fed since. The prompt for an answer ends it if the last word was a message.
static llm_result llm__target(llm_ctx *c, llm__tokens *t) {
    llm_result r = LLM_OK;
    if (!llm__tokens_add(&c->work, t, c->base.v, c->base.n)) return llm__no_memory_for_text(c);
    if (c->n_notes) r = llm__append_notes(c, t, c->n_notes, c->raw.n == 0, NULL);
    if (r == LLM_OK && c->raw.n) r = llm__append_text(c, t, llm__str_n(c->raw.p, c->raw.n), LLM_PARSE_SPECIAL, NULL, 0);
    return r;
}

static llm_result llm__base_take(llm_ctx *c, const llm__tokens *t) {
    if (c->reserved && t->n > c->n_ctx) return llm__fail_full(c, t->n);
    if (!llm__tokens_reserve(&c->heap, &c->base, t->n)) return llm__no_memory_for_text(c);
    if (t->n) memcpy(c->base.v, t->v, t->n * sizeof *t->v);
    c->base.n = t->n;
    return LLM_OK;
}
// Messages and fed text so far become base tokens, so that what comes now stands after them. What of it had been answered stays
// marked as such: up to where it agrees with the answered messages alone.
static llm_result llm__bake(llm_ctx *c) {
    const llm__heap *h = &c->work;
    llm__tokens all = LLM__ZERO, settled = LLM__ZERO;
    llm_result r = LLM_OK;
    if (!llm__tokens_add(h, &all, c->base.v, c->base.n) || !llm__tokens_add(h, &settled, c->base.v, c->base_settled))
        r = llm__no_memory_for_text(c);
    if (r == LLM_OK && c->n_notes) r = llm__append_notes(c, &all, c->n_notes, false, NULL);
    if (r == LLM_OK && c->notes_settled) r = llm__append_notes(c, &settled, c->notes_settled, false, NULL);
    if (r == LLM_OK && c->raw.n) r = llm__append_text(c, &all, llm__str_n(c->raw.p, c->raw.n), LLM_PARSE_SPECIAL, NULL, 0);
    if (r == LLM_OK) r = llm__base_take(c, &all);
    if (r == LLM_OK) {
        c->base_settled = llm__common_prefix(&all, &settled);
        llm__notes_cut(c, 0);
        c->notes_settled = 0;
        c->raw.n = 0;
    }
    llm__free(h, settled.v);
    llm__free(h, all.v);
    return r;
}

// base = past up to the answer, then its text: the stop string that ended it is not part of it. A control token has no text in an answer:
// where one is spelled there, the model wrote its letters, and letters they stay.
static llm_result llm__base_from_answer(llm_ctx *c) {
    llm__tokens t = LLM__ZERO;
    llm_result r = LLM_OK;
    if (!llm__tokens_add(&c->work, &t, c->past.v, c->answer_begin)) r = llm__no_memory_for_text(c);
    if (r == LLM_OK) r = llm__append_text(c, &t, llm__str_n(c->answer.p ? c->answer.p : "", c->answer.n), 0, NULL, 0);
    if (r == LLM_OK) r = llm__base_take(c, &t);
    llm__free(&c->work, t.v);
    return r;
}
// The answer so far becomes part of the conversation: a message, or raw tokens where there are no messages. A message is a C string: what
// has a NUL in it can be none, and where an arena has no room for its text, there is none either. Then it and all before it are raw tokens
// from now on: that always succeeds.
static llm_result llm__settle_answer(llm_ctx *c) {
    const llm__str role = llm__str_of("assistant"), text = llm__str_n(c->answer.n ? c->answer.p : "", c->answer.n);
    const bool cut = c->why == LLM_STOP_STRING || c->ended == LLM_STOP_STRING, noted = c->n_notes && strlen(text.p) == text.n;
    llm_result r = LLM_OK;
    if (!c->answering) return LLM_OK;
    if (noted && !c->overlong && llm__notes_room(c, c->n_notes + 1, llm__note_bytes(role, text))) {
        llm__note_add(c, role, text);
        c->notes_settled = c->n_notes;
    } else if (noted && !c->reserved) {
        return llm__no_memory_for_text(c);
    } else {
        const bool retold = cut && !c->overlong;
        if (!llm__tokens_reserve(&c->heap, &c->base, c->past.n)) return llm__no_memory_for_text(c);
        if (retold) r = llm__base_from_answer(c);
        if (r != LLM_OK && !c->reserved) return r;
        if (!retold || r != LLM_OK) llm__base_from_past(c);
        llm__notes_cut(c, 0);
        c->notes_settled = 0;
    }
    c->base_settled = c->base.n;
    llm__forget_answer(c);
    return LLM_OK;
}

// What saying or feeding something changes, so that it can be undone.
typedef struct llm__mark {
    size_t n_notes, said, notes_settled, base, base_settled, raw, answer, held, n_hold;
    bool answering, overlong;
    llm_stop ended;
} llm__mark;

static llm__mark llm__mark_of(const llm_ctx *c) {
    llm__mark k;
    k.n_notes = c->n_notes; k.said = c->said.n; k.notes_settled = c->notes_settled;
    k.base = c->base.n; k.base_settled = c->base_settled; k.raw = c->raw.n;
    k.answer = c->answer.n; k.held = c->held.n; k.n_hold = c->n_hold;
    k.answering = c->answering; k.overlong = c->overlong; k.ended = c->ended;
    return k;
}
// Texts and tokens stand where they stood: only their ends move. While an answer is in progress, base is what the past begins with.
static void llm__back_to(llm_ctx *c, const llm__mark *k) {
    c->n_notes = k->n_notes; c->said.n = k->said; c->notes_settled = k->notes_settled;
    c->base.n = k->base; c->base_settled = k->base_settled; c->raw.n = k->raw;
    c->answer.n = k->answer; c->held.n = k->held; c->n_hold = k->n_hold;
    c->answering = k->answering; c->overlong = k->overlong; c->ended = k->ended;
}
// What must stand before new input: the answer so far, settled. Where messages become raw tokens there is no way back, and none is needed.
static llm_result llm__before_input(llm_ctx *c, bool message, llm__mark *k) {
    llm_result r;
    *k = llm__mark_of(c);
    r = llm__settle_answer(c);
    if (r == LLM_OK && message && c->raw.n) r = llm__bake(c);
    if (c->n_notes < k->n_notes || c->raw.n < k->raw) *k = llm__mark_of(c);
    return r;
}
// An arena has no more to give later: so the input is made into tokens as soon as it is there, in the memory that llm_next will have for
// it, and refused here if that is too little. What else is wrong with it is for llm_next to say.
static llm_result llm__try_input(llm_ctx *c) {
    llm__tokens target = LLM__ZERO;
    llm_result r;
    if (!c->reserved) return LLM_OK;
    r = llm__target(c, &target);
    if (r == LLM_OK && target.n > c->n_ctx) r = llm__fail_full(c, target.n);
    llm__free(&c->work, target.v);
    return r == LLM_CONTEXT_FULL ? r : LLM_OK;
}

static llm_result llm__text_ready(llm_ctx *c) {
    if (c->model->vocab.status != LLM_OK) return llm__fail(&c->error, c->model->vocab.status, "%s", c->model->vocab.reason);
    return LLM_OK;
}
static llm_result llm__queue_message(llm_ctx *c, const char *role, const char *text) {
    const llm__str r_text = llm__str_of(role), content = llm__str_of(text);
    llm__mark before;
    llm_result r = llm__text_ready(c);
    if (r != LLM_OK) return r;
    if (!role || !text || !*role) return llm__fail(&c->error, LLM_BAD_ARG, "llm_say: the role or the text is missing");
    if (c->chat_result != LLM_OK) return llm__fail(&c->error, c->chat_result, "%s", c->chat_reason);
    r = llm__before_input(c, true, &before);
    if (r == LLM_OK && !llm__notes_room(c, c->n_notes + 2, llm__note_bytes(r_text, content))) r = llm__no_memory_for_text(c);
    if (r == LLM_OK) {
        llm__note_add(c, r_text, content);
        r = llm__try_input(c);
    }
    if (r == LLM_OK) c->fresh = true;
    else llm__back_to(c, &before);
    return r;
}
static llm_result llm__queued(llm_ctx *c, const llm__call *call, llm_result r) {
    c->refused = r != LLM_OK;
    return llm__leave(c, call, r);
}
LLM__PUBLIC llm_result llm_say(llm_ctx *c, const char *role, const char *text) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__queued(c, &call, llm__queue_message(c, role, text));
}
static llm_result llm__queue_text(llm_ctx *c, const char *text, size_t n) {
    llm__mark before;
    llm_result r = llm__text_ready(c);
    if (r != LLM_OK) return r;
    if (n && !text) return llm__fail(&c->error, LLM_BAD_ARG, "llm_feed: the text is NULL");
    if (!llm__string_room(&c->heap, &c->raw, n)) return llm__no_memory_for_text(c);
    r = llm__before_input(c, false, &before);
    if (r == LLM_OK) {
        llm__string_add(&c->heap, &c->raw, text, n);
        r = llm__try_input(c);
    }
    if (r == LLM_OK) c->fresh = true;
    else llm__back_to(c, &before);
    return r;
}
LLM__PUBLIC llm_result llm_feed(llm_ctx *c, const char *text, size_t n) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__queued(c, &call, llm__queue_text(c, text, n));
}

// ---- rewind ----

// The first `keep` answered messages as tokens, with the prompt for an answer; where the content of the last of them ends.
static llm_result llm__notes_as_tokens(llm_ctx *c, size_t keep, llm__tokens *t, size_t *end) {
    memset(t, 0, sizeof *t);
    if (!llm__tokens_add(&c->work, t, c->base.v, c->base_settled)) return llm__no_memory_for_text(c);
    return llm__append_notes(c, t, keep, true, end);
}
// How many answered messages end within the first n tokens, and whether these tokens are what the template makes of them, or the
// beginning of it: if not, they are raw from now on. Changes nothing.
static llm_result llm__messages_until(llm_ctx *c, size_t n, size_t *keep, bool *fits) {
    llm__tokens t = LLM__ZERO;
    llm_result r = LLM_OK;
    size_t low = 0, high = n < c->base_settled ? 0 : c->notes_settled, end = 0;
    while (low < high && r != LLM_NO_MEMORY) {
        const size_t middle = (low + high + 1) / 2;
        r = llm__notes_as_tokens(c, middle, &t, &end);              // a template may refuse half a conversation: then less of it
        llm__free(&c->work, t.v);                                   // each time, so that an arena has all its room again
        if (r == LLM_OK && end <= n) low = middle;
        else high = middle - 1;
    }
    *keep = low;
    // A stop string left tokens of the answer's text in base, as many perhaps as n, and not those that were sampled.
    *fits = n == c->base_settled && memcmp(c->base.v, c->past.v, n * sizeof *c->past.v) == 0;
    if (low && r != LLM_NO_MEMORY) {
        r = llm__notes_as_tokens(c, low, &t, &end);
        *fits = r == LLM_OK && n <= t.n && memcmp(t.v, c->past.v, n * sizeof *t.v) == 0;
        llm__free(&c->work, t.v);
    }
    return r == LLM_NO_MEMORY ? r : LLM_OK;
}
static llm_result llm__rewind(llm_ctx *c, size_t n) {
    llm__mark before;
    size_t keep = 0;
    bool fits = false;
    llm_result r;
    if (n > c->past.n)
        return llm__fail(&c->error, LLM_BAD_ARG, "cannot rewind to %U: the context holds %U tokens", (uint64_t)n, (uint64_t)c->past.n);
    if (n == 0) {                                                   // the way back from anything: needs no memory
        llm__past_cut(c, 0);
        llm__all_raw(c);
        return LLM_OK;
    }
    if (!llm__tokens_reserve(&c->heap, &c->base, c->past.n)) return llm__no_memory_for_text(c);
    r = llm__before_input(c, false, &before);
    if (r == LLM_OK) r = llm__messages_until(c, n, &keep, &fits);
    if (r != LLM_OK) { llm__back_to(c, &before); return r; }
    llm__past_cut(c, n);
    llm__notes_cut(c, keep);                                        // with what was waiting
    c->base.n = c->base_settled;
    c->notes_settled = keep;
    c->raw.n = 0;
    c->fresh = false;
    c->why = c->ended = LLM_STOP_NONE;
    if (!fits) llm__all_raw(c);
    return LLM_OK;
}
LLM__PUBLIC llm_result llm_rewind(llm_ctx *c, size_t n_past) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__leave(c, &call, llm__rewind(c, n_past));
}

// Cannot fail and computes nothing: neither the last error nor a cancel that waits is touched.
LLM__PUBLIC void llm_trim(llm_ctx *c) {
    llm__call call;
    if (!c || !llm__enter(c, &call)) return;
    llm__state_trim(&c->state, c->n_cached);
    c->has_logits = false;
    llm__leave(c, &call, LLM_DONE);
}

static llm_result llm__probe_ctx(llm_ctx *c, uint32_t max_ms, double *gb_s) {
    llm_model *m = c->model;
    llm__team team;
    llm__probe p = LLM__ZERO;
    llm_result r = llm__check_file(c);
    if (r != LLM_OK) return r;
    team = llm__team_take(m->pool);
    p.run.team = &team; p.run.k = &m->kernels; p.run.cancel = &c->cancel;
    p.clock = &m->clock;
    p.turn = c->probe_turn;
    r = llm__probe_run(&p, &c->state, c->n_cached, (uint64_t)(max_ms ? max_ms : 200) * 1000, &c->error);
    llm__team_give(&team);
    if (r != LLM_OK) return r;
    c->probe_turn = p.turn % 3;
    c->stats.probe_gb_s = LLM__MAX(c->stats.probe_gb_s, p.best);
    if (gb_s) *gb_s = p.best;
    return LLM_OK;
}
LLM__PUBLIC llm_result llm_probe(llm_ctx *c, uint32_t max_ms, double *gb_s) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    if (LLM__DIAGNOSIS) return llm__leave(c, &call, llm__probe_ctx(c, max_ms, gb_s));
    return llm__leave(c, &call, llm__fail(&c->error, LLM_UNSUPPORTED, "this build cannot probe (LLM_NO_DIAGNOSIS)"));
}

// ---- settings ----

LLM__PUBLIC llm_result llm_set_sampling(llm_ctx *c, const llm_sampling *sampling) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__leave(c, &call, llm__sampler_set(&c->sampler, &c->heap, sampling, c->model->net.n_vocab, &c->error));
}
LLM__PUBLIC llm_result llm_set_stop(llm_ctx *c, const char *const *stop, uint32_t n) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    return llm__leave(c, &call, llm__stops_set(&c->stops, &c->heap, stop, n, &c->error));
}
LLM__PUBLIC llm_result llm_set_max_tokens(llm_ctx *c, uint32_t n) {
    llm__call call;
    if (!c) return LLM_BAD_ARG;
    if (!llm__enter(c, &call)) return LLM_BUSY;
    c->max_tokens = n;
    return llm__leave(c, &call, LLM_OK);
}

// ---- the answer ----

// Makes the cache hold target, keeping what it shares with the past: chunk by chunk, so that a cancel keeps what is done.
static llm_result llm__become(llm_ctx *c, const llm__tokens *target) {
    size_t common = llm__common_prefix(target, &c->past), at;
    llm_result r = LLM_OK;
    if (common < c->past.n || !c->has_logits) {
        if (common == target->n && common) common--;                // at least one token, for its logits
        c->has_logits = false;
    }
    c->n_seen = LLM__MIN(c->n_seen, common);
    if (c->n_cached > common || c->n_cached + 1 < common) common = llm__kv_resume_at(&c->state.kv, LLM__MIN(c->n_cached, common));
    c->past.n = common;
    c->n_cached = LLM__MIN(c->n_cached, common);
    c->stats.reused_tokens = c->n_cached;
    for (at = common; r == LLM_OK && at < target->n; ) {
        const size_t n = LLM__MIN(target->n - at, (size_t)c->state.n_batch);
        r = llm__advance(c, target->v + at, n, at + n == target->n, NULL, false);
        at += n;
        if (r == LLM_OK && target->n - common > 1) r = llm__passed(&c->model->progress, at, target->n, &c->error);
    }
    return r;
}

// A failure undoes what a call has done; a cancel keeps it.
static bool llm__undoes(llm_result r) { return r < 0 && r != LLM_CANCELLED; }
// The past is `before` again: it held that once, so there is room.
static void llm__past_back(llm_ctx *c, const llm__tokens *before) {
    llm__past_cut(c, llm__common_prefix(before, &c->past));
    if (before->n) memcpy(c->past.v, before->v, before->n * sizeof *before->v);
    c->past.n = c->n_seen = before->n;
    c->has_logits = false;
}
// Evaluates the waiting input. On failure the past is what it was; a cancel keeps what is done.
static llm_result llm__evaluate_input(llm_ctx *c, llm__tokens *before) {
    llm__tokens made = LLM__ZERO, target = LLM__ZERO;
    llm_result r = llm__target(c, &made);
    llm__stats_reset(c);
    if (r == LLM_OK && made.n == 0) r = llm__fail(&c->error, LLM_BAD_STATE, "there is nothing to answer: the text is empty");
    if (r == LLM_OK && made.n > c->n_ctx) r = llm__fail_full(c, made.n);
    if (r == LLM_OK && (!llm__tokens_copy(&c->aside, before, &c->past) || !llm__tokens_copy(&c->aside, &target, &made)
                        || !llm__tokens_reserve(&c->heap, &c->base, made.n)))
        r = llm__no_memory_for_text(c);
    llm__free(&c->work, made.v);
    if (r == LLM_OK) {
        r = llm__become(c, &target);
        if (llm__undoes(r)) llm__past_back(c, before);
    }
    llm__free(&c->aside, target.v);
    return r;
}
static void llm__drop_input(llm_ctx *c) {
    llm__notes_cut(c, c->notes_settled);
    c->base.n = c->base_settled;
    c->raw.n = 0;
    c->fresh = false;
    llm__forget_answer(c);
}
// The input is part of the conversation. Fed text is not rendered again: what was evaluated stands for it.
static void llm__settle_input(llm_ctx *c) {
    if (c->raw.n) {
        memcpy(c->base.v, c->past.v, c->answer_begin * sizeof *c->base.v);
        c->base.n = c->answer_begin;
        llm__notes_cut(c, 0);
        c->raw.n = 0;
    }
    c->base_settled = c->base.n;
    c->notes_settled = c->n_notes;
}

static void llm__open_answer(llm_ctx *c) {
    c->answering = true;
    c->why = c->ended = LLM_STOP_NONE;
    c->n_answer = 0;
    c->answer.n = c->held.n = c->n_hold = 0;
    c->overlong = false;
    c->answer_begin = c->past.n;
    llm__stops_reset(&c->stops);
}

// Samples one token and appends its text to what is held.
static llm_result llm__one_token(llm_ctx *c) {
    const llm__vocab *v = &c->model->vocab;
    const llm__heap *h = &c->heap;
    llm_token token;
    size_t n, used, stop;
    llm_result r = llm__ensure_logits(c);
    if (r == LLM_OK) r = llm__pick(c, &token);
    if (r != LLM_OK) return r;
    if (llm__tok_is_eog(v, token)) { c->ended = LLM_STOP_EOG; return LLM_OK; }
    n = llm__tok_piece(v, token, 0, NULL, 0);
    if (!llm__string_room(h, &c->held, n) || !llm__tokens_add(h, &c->past, &token, 1)) return llm__no_memory_for_text(c);
    c->has_logits = false;
    c->n_answer++;
    llm__tok_piece(v, token, 0, c->held.p + c->held.n, n);
    if (llm__stops_feed(&c->stops, c->held.p + c->held.n, n, &used, &stop)) {
        c->held.n = c->held.n + used > stop ? c->held.n + used - stop : 0;
        c->ended = LLM_STOP_STRING;
        return LLM_OK;
    }
    c->held.n += n;
    c->n_hold = LLM__MIN(stop, c->held.n);
    return LLM_OK;
}

// Moves what may be shown of the held text into c->piece: whole characters, nothing that may become a stop string. Once the answer is over
// the rest goes out too, a broken character as U+FFFD; at a limit, where it may go on, a broken character waits.
static llm_result llm__cut_piece(llm_ctx *c) {
    const llm__heap *h = &c->heap;
    const bool over = c->ended != LLM_STOP_NONE && c->ended != LLM_STOP_LIMIT;
    size_t n = c->ended ? c->held.n : c->held.n - c->n_hold, clean;
    bool room;
    if (!over) n = llm__utf8_whole(c->held.p, n);
    c->piece.n = 0;
    if (n == 0) return LLM_OK;
    clean = llm__utf8_clean(c->held.p, n, NULL, 0);
    if (!llm__string_room(h, &c->piece, clean)) return llm__no_memory_for_text(c);
    room = !c->overlong && llm__string_room(h, &c->answer, clean);
    if (!room && !c->reserved) return llm__no_memory_for_text(c);
    c->overlong = !room;
    llm__utf8_clean(c->held.p, n, c->piece.p, clean);
    c->piece.n = clean;
    c->piece.p[clean] = 0;
    if (room) llm__string_add(h, &c->answer, c->piece.p, clean);
    memmove(c->held.p, c->held.p + n, c->held.n - n);
    c->held.n -= n;
    c->n_hold = LLM__MIN(c->n_hold, c->held.n);
    return LLM_OK;
}

// Token after token until there is a piece.
static llm_result llm__answer_on(llm_ctx *c) {
    llm_result r = LLM_OK;
    while (r == LLM_OK) {
        r = llm__cut_piece(c);
        if (r != LLM_OK || c->piece.n) return r;
        if (c->ended) { c->why = c->ended; return LLM_DONE; }
        if (c->max_tokens && c->n_answer >= c->max_tokens) c->ended = LLM_STOP_LIMIT;
        else if (c->past.n >= c->n_ctx) c->ended = LLM_STOP_CONTEXT;
        else r = llm__one_token(c);
    }
    return r;
}
// The first piece of an answer to the input that waits. If it fails, wherever, the input is dropped and all is as it was.
static llm_result llm__answer_input(llm_ctx *c) {
    llm__tokens before = LLM__ZERO;
    llm_result r = llm__evaluate_input(c, &before);
    if (r == LLM_OK) {
        c->fresh = false;
        llm__open_answer(c);
        r = llm__answer_on(c);
        if (llm__undoes(r)) llm__past_back(c, &before);
        else llm__settle_input(c);
    }
    if (llm__undoes(r)) llm__drop_input(c);
    llm__free(&c->aside, before.v);
    return r;
}
static llm_result llm__next_piece(llm_ctx *c) {
    const size_t past = c->past.n;
    llm_result r;
    c->piece.n = 0;
    if (c->fresh) return llm__answer_input(c);
    if (!c->answering && c->why == LLM_STOP_NONE) {                 // going on from tokens that were evaluated
        if (c->past.n == 0)
            return c->refused ? c->error.code
                              : llm__fail(&c->error, LLM_BAD_STATE, "there is nothing to answer: call llm_say or llm_feed first");
        r = llm__text_ready(c);
        if (r != LLM_OK) return r;
        llm__open_answer(c);
    } else if (c->why == LLM_STOP_LIMIT || c->why == LLM_STOP_CANCEL) {
        c->n_answer = 0;
        c->why = c->ended = LLM_STOP_NONE;
    } else if (c->why != LLM_STOP_NONE) {
        return c->refused ? c->error.code : LLM_DONE;
    }
    r = llm__answer_on(c);
    if (llm__undoes(r)) llm__past_cut(c, past);                     // nobody has seen the text of what came in this call
    return r;
}
LLM__PUBLIC const char *llm_next(llm_ctx *c, size_t *n) {
    llm__call call;
    llm_result r;
    bool first;
    if (n) *n = 0;
    if (!c || !llm__enter(c, &call)) return NULL;
    first = c->fresh || !c->answering;
    r = llm__next_piece(c);
    if (r == LLM_CANCELLED) c->why = LLM_STOP_CANCEL;
    else if (r < 0) { c->why = LLM_STOP_ERROR; c->fresh = false; }
    if (first && c->piece.n) c->stats.first_token_ms = llm__ms_since(c->model, c->call_us);
    // Asked again after an error, the error is still the answer.
    llm__leave(c, &call, r != LLM_DONE ? r : c->why == LLM_STOP_ERROR ? c->error.code : LLM_OK);
    if (r != LLM_OK || !c->piece.n) return NULL;
    if (n) *n = c->piece.n;
    return c->piece.p;
}
LLM__PUBLIC llm_stop llm_why(const llm_ctx *c) { return c ? c->why : LLM_STOP_ERROR; }

#if defined(LLM_NO_STDLIB)
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#endif
#if defined(__clang__)
#pragma float_control(pop)
#pragma clang diagnostic pop
#elif defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif
#endif // whole
#if !defined(LLM__PASS)
#undef LLM__WHOLE
#endif
