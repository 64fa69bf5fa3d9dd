/* llm.h - v0.1.0 - runs GGUF language models on the CPU - MIT licence (end of file)

   Do this in ONE C or C++ file, before or after any other include:

       #define LLM_IMPLEMENTATION
       #include "llm.h"                  // llm_impl.h stands beside it

   and plain `#include "llm.h"` wherever else the API is wanted. Compile as usual: C99 or C++11, -O2, no -march, no
   -lm; add -pthread where the C library wants it. Then:

       llm_error err;
       llm_model *model = llm_load("model.gguf", NULL, &err);       // maps the file: milliseconds
       llm_ctx   *ctx   = llm_open(model, NULL, &err);              // NULL when either call failed
       if (!ctx) { fprintf(stderr, "%s\n", err.text); ... }
       llm_say(ctx, "user", "Tell me a story about a fox.");
       for (const char *piece; (piece = llm_next(ctx, NULL)); ) fputs(piece, stdout);
       llm_close(ctx); llm_unload(model);

   DOES
     - read GGUF 2 and 3, mapped, read, from memory or through your own reader; split files too
     - run llama (with experts), qwen2, qwen3, qwen3moe, gemma, gemma2, gemma3 and phi3 models whose matrices are F32,
       F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K .. Q6_K, IQ1_S .. IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0 or
       Q2_0, in any mixture
     - tokenize (SentencePiece style and byte-level BPE), apply chat templates, sample, stop, stream whole UTF-8
     - give the same logits and the same sampled tokens, bit for bit, on every CPU, with every thread count and for every
       way of splitting the input (llm_stats says so, or says why not)
     - pick kernels at run time (AVX2, AVX-VNNI, AVX-512 VNNI; NEON, dotprod, i8mm), so one plain -O2 binary is fast where it
       can be and runs everywhere; in WebAssembly SIMD128, if it is compiled for that

   DOES NOT
     - print, exit, abort, read the environment, or keep state outside the objects it hands out
     - use a GPU, train, download, or convert; understand images or sound
     - run a Jinja interpreter yet: a model's chat template is recognised as one of the built-in renderings, and one that
       is not recognised is refused with LLM_BAD_TEMPLATE (llm_feed and the token calls work all the same)

   OBJECTS AND LIFETIMES
     llm_model is weights + vocabulary: immutable, shared by any number of contexts and threads, counted by its contexts
     (llm_unload and llm_close in any order). llm_ctx is one conversation: KV cache, sampler, messages. Every desc struct,
     string and array passed in is copied. Borrowed: the bytes given to llm_load_memory, and whatever `user` pointers point
     to. A piece from llm_next, the logits from llm_logits and the error of llm_last_error live until the next call on that
     context that takes it non-const.

   THREADS
     One thread at a time per context, any thread; functions that take it const belong to that thread too. A second caller of
     the others is turned away at once with LLM_BUSY (or NULL, LLM_FAILED, LLM_NO_TOKEN, or nothing done) and disturbs nothing,
     not even llm_last_error. llm_cancel, llm_stats, llm_findings and llm_report may be called from any thread at any time
     between open and close; llm_cancel also from a signal handler. Several contexts of one model may compute at the same time:
     the model's worker threads serve one of them, the others compute on the thread that called. Callbacks must not call back
     into the same model or context; the log and progress callbacks come on the thread that called the library; the allocator
     and the reader must be thread-safe. Callbacks run in the library's floating-point environment (to nearest, subnormals kept,
     nothing trapped). for_fn, progress, clock and reader may leave another one behind; the allocator and the log may not.
     Library threads block all signals and sleep between calls.

   CORES
     n_threads 0 means one thread for each performance core that the thread which calls llm_load may use: cores that are clearly
     slower than the others (little cores of phones, E cores of PCs) do not count, SMT siblings count once, and a cgroup's quota
     of CPU time caps the number. llm_stats_info.cores_reason says what was found. A number that you give is taken as it is.
     Where the threads may run is looked at again while they compute: at the beginning of an evaluation, at most every 100 ms.
     When there are fewer CPUs than threads, as for an app that goes to the background, the surplus threads rest, and they are
     back within 100 ms and one token after the CPUs are. The bits do not depend on it. A model loaded in the background with
     n_threads 0 gets as many threads as there are cores for it then, and no more later: give a number if that can happen.
     LLM_CORES_BIG pins each thread to a performance core of its own, the fastest first and no two to one core's SMT siblings,
     and the thread that calls to the fastest of all, for as long as the call computes: its own affinity is back before the call
     returns. What the system says is not believed but checked, thread by thread. Where it refuses, or says yes and does nothing
     as Android does for ordinary apps, nothing is pinned, the threads are as many as before, and cores_reason and a warning in
     the log say so. macOS has no such call: its user-interactive class is asked for instead. With a job system of the host's
     nothing is placed. Pinning makes speed steady, on PCs with E cores and on boards above all. On phones it keeps the big cores
     busy until they are hot and slow, where the system might have moved a thread away; and a pinned thread cannot step aside for
     another program, least of all for one that pins too. That is why it is not the default.

   WHY IS IT SLOW?
     llm_plan      before loading: does it fit, what would it take, how fast can it be. Reads the header alone.
     llm_stats     while it runs: what was obtained at each layer, from the binary to the clock frequency; where the time went.
     llm_findings  causes of slowness in those facts, each with a factor, measured or bounded, and one piece of advice.
     llm_report    all of it as one screen of text, to be pasted into an issue.
     Decode reads every weight once per token, so memory bandwidth bounds it: bytes_per_token / (GB/s) is the least time of a token,
     and roofline_pct says how near it is. Facts that a system does not give are 0 or "" and no finding rests on them. They cost
     less than 0.5 % of decode: the machine is looked at four times a second at most, tokens below a millisecond are sampled.
     Causes do not multiply: repair the greatest, measure again. `llm doctor` does that, one change at a time.

   ARENA
     llm_arena makes an allocator inside one buffer of yours, for one model and one context: a board's RAM, a static array. All tables,
     keys and values, scratch and text lie in it. Only there llm_open reserves: n_ctx is then a size, not a limit.
         static char ram[1 << 20];
         machine.allocator = llm_arena(ram, sizeof ram);               // a llm_model_desc; the plan works in the same bytes
         llm_plan_memory(flash, n_flash, &machine, &talk, &plan, &err);         // plan.arena_bytes: how many it must be
         machine.allocator = llm_arena(ram, (size_t)plan.arena_bytes);
         model = llm_load_memory(flash, n_flash, &machine, &err);      // the weights stay where they are
         ctx   = llm_open(model, &talk, &err);
     plan.arena_bytes holds for the same file, loaded the same way with the same descs; for a plan that is made earlier or elsewhere,
     give n_threads, and LLM_MAP or LLM_READ. With so many bytes, at any address, both calls succeed; with one byte less one of them
     says LLM_NO_MEMORY. The allocator goes into the desc as it is: wrapped into another one it is like any other, and nothing is
     reserved. After llm_open the context asks for nothing more and no call on it runs out of memory. Instead there are limits, which
     llm_say and llm_feed observe at once:
       - messages of 8 bytes for each position of n_ctx and 256 more, roles and a NUL for each text included, one message for each
         four positions and two more; as many bytes of fed text; and all of it together no more than n_ctx tokens. What passes that
         is LLM_CONTEXT_FULL, and all is as it was; a word of many hundred letters may be, too. An answer that is longer stays in the
         context as raw tokens.
       - llm_set_sampling takes settings that need no more than llm_open's, llm_set_stop strings that need no more than llm_open's or
         than six of 32 bytes; else LLM_NO_MEMORY. llm_probe needs memory that is not there. llm_trim gives nothing back.
     llm_tokenize and llm_render_chat work in what the buffer has beyond arena_bytes, if it has.
     A block that is given back makes room if it is the last one, and when none is left the buffer is as new: after llm_close another
     context may be opened, after llm_unload or a load that was refused another model loaded. Nothing needs a lock but the calls that
     use the allocator: plan, load, open, close, unload, tokenize and render must not run at the same time.

   ERRORS
     Functions that take an llm_error* write it (LLM_OK and "" on success; the pointer may be NULL; llm_open alone leaves a
     failing one of llm_load as it is when the model is NULL). Functions on a context return an llm_result, or NULL / LLM_FAILED
     / LLM_NO_TOKEN, with the sentence in llm_last_error(ctx). Functions on a vocabulary return LLM_FAILED: the reason is in
     llm_info.text_status and text_reason, and if that says LLM_OK, an argument was wrong, there was no memory, or the text is
     beyond ASCII in a build with LLM_NO_UNICODE. After an error the object is as it was before the call; an llm_next that
     fails (not one that is cancelled) also drops the input that was waiting, and the logits if it had begun to evaluate. A
     model without a usable vocabulary loads all the same: the token functions work.

   LIMITS
     Tensors of up to 4 dimensions; contexts up to 2^31-1 tokens (a larger n_ctx is cut to that); one model up to 4096 layers,
     999 shards, heads of 512 elements, 4096 experts of which 64 are used, one size of sliding window; 256 threads; 64 stop
     strings of 4096 bytes; 512 MB of text in one call. A mapped file must not be truncated or rewritten while it is in use:
     size and time stamp are checked once per evaluation (LLM_IO), but a cut that happens in between raises SIGBUS, which no
     library can prevent; load with LLM_READ where that may happen. For longrope models (Phi-3 128k) the context's n_ctx decides
     which factor set is used, for every position.

   MACROS, to be defined where LLM_IMPLEMENTATION is (LLM_API and LLM_STATIC: everywhere)
     LLM_STATIC          every function static: nothing is exported, several copies may live in one program
     LLM_API             what stands before each public function                     (default: extern, "C" in C++). A library that
                         is compiled with -fvisibility=hidden then exports nothing of it, which is right where the library only uses
                         it; to pass it on: extern __attribute__((visibility("default"))), or extern __declspec(dllexport)
     LLM_MALLOC(bytes), LLM_FREE(p)   instead of malloc and free; both or neither. llm_model_desc.allocator goes before them
     LLM_NO_STDLIB       no C library and no system, for boards: only the headers that every compiler brings (stddef, stdint, stdarg,
                         stdbool), memcpy and its like are our own, llm_model_desc.allocator must be given (llm_arena
                         for one), and llm_model_desc.clock if times are wanted (without one they are 0). Has LLM_NO_STDIO, LLM_NO_MMAP and
                         LLM_NO_THREADS in it. What is left undefined is arithmetic of the compiler's own library (libgcc); compilers
                         other than GCC and Clang may ask for a memcpy all the same, and so does GCC with -flto: compile this file
                         without. On x86-64 the compiler's intrinsics want <stdlib.h>: add LLM_NO_SIMD where there is none
     LLM_NO_STDIO        no file access: only llm_load_memory and llm_load_reader
     LLM_NO_MMAP         files are read, never mapped
     LLM_NO_THREADS      everything on the calling thread (chosen by itself where the compiler has no atomics, such as tcc)
     LLM_NO_SIMD         scalar kernels only
     LLM_SMALL           kernels that compute one number at a time: much less code, for boards; the same bits. Has LLM_NO_SIMD in it
     LLM_NO_K_QUANTS     without Q2_K .. Q6_K: a model that has them is refused (LLM_UNSUPPORTED, and the error names the macro)
     LLM_NO_RARE_QUANTS  likewise without IQ1_S .. IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0. Both for scalar builds: kernels of
                         instruction sets stay in
     LLM_NO_BPE, LLM_NO_SPM   without vocabularies of merges (GPT-2 style, with the categories of Unicode) or of scores (SentencePiece
                         style): a model that has one loads, and llm_info.text_reason names the macro
     LLM_NO_UNICODE      without the categories of characters beyond ASCII, by which vocabularies of merges cut text (5 kB): such text
                         cannot be tokenized then (LLM_UNSUPPORTED), everything else is as ever
     LLM_NO_SPLIT        without models in several files: such a model is refused
     LLM_NO_EXPERTS      without mixtures of experts: such a model is refused
     LLM_NO_DIAGNOSIS    the machine is asked for its cores alone, to choose the threads, and nothing is judged: no findings, an empty
                         report, llm_probe LLM_UNSUPPORTED, no list of tensors, no fingerprint; llm_stats has the counts and times of
                         the library's own work, and bits_promise 0, because nobody looks. How much memory there is counts as unknown:
                         llm_load never refuses with LLM_TOO_BIG, and every plan fits
     LLM_NO_SENTENCES    each code has one sentence, that of llm_result_text, instead of one that names the case; nothing is logged
     LLM_NO_CHAT         without chat templates                        (text that is fed, and tokens, still work)
     LLM_QUIET           no #warning about builds that cannot keep a promise, no message about builds without optimisation
     LLM_DEBUG           GCC without -O: the library is as unoptimised as the rest, to be stepped through
*/
#if defined(LLM_IMPLEMENTATION) && !defined(LLM__FEATURES_SET)
#define LLM__FEATURES_SET
/* Strict C99 hides the calls that map, time and place threads. These have an effect only while no system header has been
   included; llm_impl.h declares what is still missing. */
#if (defined(__linux__) || defined(__wasi__) || defined(__EMSCRIPTEN__)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif
#endif

#ifndef LLM_H
#define LLM_H

#include <stddef.h>
#include <stdint.h>

#define LLM_VERSION_MAJOR 0
#define LLM_VERSION_MINOR 1
#define LLM_VERSION_PATCH 0

#ifndef LLM_API
#ifdef LLM_STATIC
#if defined(__GNUC__) || defined(__clang__)
#define LLM_API static __attribute__((unused))
#else
#define LLM_API static
#endif
#else
#define LLM_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LLM_NO_TOKEN ((llm_token)-1)
#define LLM_FAILED   ((size_t)-1)            /* what size_t functions return when they fail (llm_past and llm_findings*: 0) */

typedef struct llm_model llm_model;
typedef struct llm_ctx   llm_ctx;
typedef int32_t llm_token;

/* Results: >= 0 is success. llm_result_text gives a sentence for each. */
typedef enum llm_result {
    LLM_OK = 0,
    LLM_DONE = 1,                /* the answer is complete */
    LLM_AGAIN = 2,               /* the budget is used up, call again            (not in use yet) */
    LLM_BAD_ARG = -1,            /* a NULL, a NaN, a number out of range */
    LLM_NO_MEMORY = -2,          /* the allocator said no */
    LLM_IO = -3,                 /* the file or the reader failed, or the file changed while it was mapped */
    LLM_BAD_FILE = -4,           /* damaged, truncated or not GGUF: the text names the field or tensor */
    LLM_UNSUPPORTED = -5,        /* a sound file or a sound wish that this version cannot serve */
    LLM_CONTEXT_FULL = -6,       /* needs more positions than n_ctx */
    LLM_CANCELLED = -7,          /* by llm_cancel or by the progress callback */
    LLM_BAD_LOGITS = -8,         /* NaN, +inf or nothing but -inf: damaged weights */
    LLM_BUSY = -9,               /* the context is in use by another thread */
    LLM_BAD_STATE = -10,         /* a call that makes no sense now, e.g. llm_sample before any llm_eval */
    LLM_BAD_TEMPLATE = -11,      /* no chat template, or one that is not understood */
    LLM_TOO_BIG = -12,           /* does not fit the memory there is; llm_plan tells the figures */
    LLM_BAD_GRAMMAR = -13,       /*                                              (not in use yet) */
    LLM_RESULT_FORCE_INT = 0x7fffffff
} llm_result;

typedef struct llm_error {
    llm_result code;
    char text[252];              /* one sentence: what, and what to do about it; "" on success */
} llm_error;

/* ---- hooks. Zeroed = the default. `user` is handed back as it came ------------------------------------------------------ */

typedef struct llm_allocator {   /* both functions or neither                                     (default: malloc and free) */
    void *user;
    void *(*alloc_fn)(void *user, size_t bytes, size_t align);      /* align: a power of two, at most 64; NULL = no memory */
    void  (*free_fn)(void *user, void *p, size_t bytes);            /* bytes as it was asked for */
} llm_allocator;

/* An allocator inside buf, for one model and one context: everything they take lies in these bytes, and no other memory is used.
   llm_open then reserves all that n_ctx positions and their text can need, so that no later call finds too little: see ARENA above. */
LLM_API llm_allocator llm_arena(void *buf, size_t bytes);

typedef struct llm_reader {      /* the host's own file access */
    void *user;
    uint64_t size;               /* of the whole file, bytes */
    size_t (*read_at)(void *user, uint64_t offset, void *dst, size_t n);      /* bytes read, 1..n; 0 = failure */
} llm_reader;

typedef struct llm_logger {      /* level: 0 error, 1 warning, 2 info                                          (default: silence) */
    void *user;
    void (*log_fn)(void *user, int level, const char *text);
} llm_logger;

typedef struct llm_progress {    /* stage: 0 load, 1 prefill; fraction 0..1; return 0 to cancel (too late at 1 of a prefill) */
    void *user;
    int (*progress_fn)(void *user, int stage, float fraction);
} llm_progress;

typedef struct llm_parallel {    /* the host's job system instead of the library's threads. Runs task(arg, 0 .. n_tasks-1), in any
                                    order, any number at a time, on any threads (16 KB of stack each), and returns when all are
                                    done and their writes visible. n_tasks <= n_threads. A plain loop is a correct one. */
    void *user;
    void (*for_fn)(void *user, uint32_t n_tasks, void (*task)(void *arg, uint32_t index), void *arg);
} llm_parallel;

typedef struct llm_clock {       /* microseconds since any fixed moment                                (default: the platform's) */
    void *user;
    uint64_t (*now_us)(void *user);
} llm_clock;

/* ---- model --------------------------------------------------------------------------------------------------------------- */

typedef enum llm_isa {           /* names, not an order */
    LLM_ISA_AUTO = 0,
    LLM_ISA_SCALAR = 1,
    LLM_ISA_AVX2 = 16,           /* with FMA and F16C */
    LLM_ISA_AVX_VNNI = 17,
    LLM_ISA_AVX512_VNNI = 18,
    LLM_ISA_NEON = 32,
    LLM_ISA_NEON_DOTPROD = 33,
    LLM_ISA_NEON_I8MM = 34,
    LLM_ISA_WASM128 = 48,
    LLM_ISA_RVV = 64,
    LLM_ISA_FORCE_INT = 0x7fffffff
} llm_isa;

typedef enum llm_mapping {
    LLM_MAP_AUTO = 0,            /* map, unless the file system is FUSE or a network */
    LLM_MAP = 1,
    LLM_READ = 2,                /* into memory of the allocator: immune to changes of the file */
    LLM_MAPPING_FORCE_INT = 0x7fffffff
} llm_mapping;

typedef enum llm_cores {
    LLM_CORES_ANY = 0,           /* the system places the threads */
    LLM_CORES_BIG = 1,           /* each thread pinned to a performance core of its own, where the system allows it: see CORES above */
    LLM_CORES_FORCE_INT = 0x7fffffff
} llm_cores;

typedef struct llm_model_desc {  /* zeroed = defaults */
    llm_allocator allocator;
    llm_logger    logger;
    llm_progress  progress;
    llm_parallel  parallel;
    llm_clock     clock;
    uint32_t      n_threads;     /* workers, the caller's thread included; more than 256 are cut to that
                                    (0 = one for each performance core that this thread may use: see CORES above) */
    llm_isa       isa;           /* forced; LLM_UNSUPPORTED if this CPU or build lacks it              (0 = the best there is) */
    llm_cores     cores;
    llm_mapping   mapping;
    const llm_reader *parts;     /* shards 2..n of a split model, in order, when shard 1 comes from memory or a reader; a path
                                    finds its shards by name */
    uint32_t      n_parts;
    uint32_t      force;         /* 1 = load although it cannot fit                                           (0 = LLM_TOO_BIG then) */
    uint32_t      cpu_share;     /* percent of the time that is spent computing; the rest is slept, after each pass of n_batch tokens,
                                    with the same bits: to stay cool                                          (0 = 100) */
    double        host_gb_s;     /* 1e9 bytes per second that this machine reads, for llm_plan; |host_gb_s| < 2^30
                                                                                                       (0 = unknown, < 0 = probe) */
} llm_model_desc;

/* Loads a model. Nothing of the weights is copied or touched when the file is mapped. NULL on failure, with the reason in *err.
   Thread-safe. */
LLM_API llm_model *llm_load       (const char *path_utf8, const llm_model_desc *desc, llm_error *err);
LLM_API llm_model *llm_load_memory(const void *data, size_t bytes, const llm_model_desc *desc, llm_error *err);   /* zero-copy: the bytes
                                                                                          must outlive the model */
LLM_API llm_model *llm_load_reader(const llm_reader *reader, const llm_model_desc *desc, llm_error *err);
LLM_API void       llm_unload     (llm_model *model);     /* gives up the caller's reference; the last llm_close frees. NULL is fine */

typedef struct llm_type_use {    /* how much of the file one stored type takes */
    uint32_t gguf_type;
    const char *name;
    uint64_t n_weights, n_bytes;
    uint32_t accelerated;        /* 1: the kernels of the instruction set in use; 0: scalar ones */
    uint32_t reserved;
} llm_type_use;

typedef struct llm_info {
    uint32_t struct_bytes;       /* in: 0 = sizeof(llm_info), else at most so many bytes are written (for bindings) */
    const char *arch, *name, *size_label, *vocab_type, *pre_tokenizer;      /* owned by the model; "" if absent */
    llm_result  text_status;     /* LLM_OK if the text functions work */
    const char *text_reason;     /* else why not */
    uint32_t n_vocab, n_ctx_train, n_embd, n_layer, n_head, n_head_kv, n_expert, n_expert_used;     /* heads: the largest of all layers */
    uint64_t n_params;           /* weights in all tensors */
    uint64_t file_bytes;         /* of all shards */
    uint64_t weight_bytes;       /* of all tensors */
    uint64_t bytes_per_token;    /* weights read to decode one token at depth 0 */
    double   bits_per_weight;
    llm_type_use types[48];      /* by bytes, descending */
    uint32_t n_types;
    uint32_t has_template, can_embed, recurrent;      /* 0 or 1; the last two always 0 in this version */
} llm_info;
LLM_API void llm_model_info(const llm_model *model, llm_info *out);

/* Any metadata value as text ("llama.block_count" -> "30"; arrays as [a, b, ...], shortened after 16 elements). Returns the length
   without the NUL; writes at most cap - 1 bytes and a NUL if cap > 0. LLM_FAILED: no such key. */
LLM_API size_t llm_meta(const llm_model *model, const char *key, char *buf, size_t cap);

typedef struct llm_tensor_info {
    uint32_t struct_bytes;
    const char *name;            /* owned by the model */
    const char *kernel;          /* the instruction set whose kernels read this type: "AVX2" ..., or "scalar" */
    uint32_t gguf_type, n_dims;
    uint64_t dims[4];            /* dims[0] is the length of a row; unused ones are 1 */
    uint64_t offset, n_bytes;    /* bytes; offset in the tensor's file, from its beginning */
} llm_tensor_info;

/* The tensors, in the order of the file's directory. Returns how many there are and writes at most cap of them.
   out[0].struct_bytes, in: 0 = sizeof(llm_tensor_info), else the elements lie so many bytes apart (for bindings).
   LLM_FAILED: a NULL, or a build with LLM_NO_DIAGNOSIS. Thread-safe. */
LLM_API size_t llm_tensors(const llm_model *model, llm_tensor_info *out, size_t cap);

/* Which file is this? 64 hexadecimal digits and a NUL, the same however it was loaded and whatever its name.
   full 0: SHA-256 of the file's directory and of samples of its weights, in milliseconds. It tells models apart, but not one from a copy
   that differs in a few weights. full 1: SHA-256 of the file, as `sha256sum` says it; of all shards, one after the other, as if in one
   file. It reads everything, about 4 s per GB, and needs a model that is mapped as a whole or lies in the program's memory.
   LLM_UNSUPPORTED: full, of a model that was read, or mapped tensor by tensor; or a build with LLM_NO_DIAGNOSIS.
   LLM_IO: the file changed. LLM_BAD_ARG: a NULL. Thread-safe. */
LLM_API llm_result llm_fingerprint(const llm_model *model, int full, char hex[65]);

/* ---- context --------------------------------------------------------------------------------------------------------------- */

typedef enum llm_kv_type {
    LLM_KV_F16 = 0,
    LLM_KV_F32 = 1,
    LLM_KV_Q8_0 = 2,             /* 8.5 bits each in blocks of 32, a head's last block filled up; layers whose keys have biases above 16,
                                    as Qwen2's do, keep their keys in F16 */
    LLM_KV_FORCE_INT = 0x7fffffff
} llm_kv_type;

typedef struct llm_bias { llm_token token; float bias; } llm_bias;      /* added to the token's logit; -INFINITY bans it */

typedef struct llm_sampling {    /* all zero = greedy. LLM_BAD_ARG: NaN, +inf, or a negative temperature, top_p, min_p, typical_p,
                                    repeat_penalty. Order: bias, penalties, top_k, typical_p, top_p, min_p, temperature */
    float    temperature;        /* (0 = greedy; bias and penalties still apply) */
    uint32_t top_k;              /* (0 = off) */
    float    top_p;              /* (0 = off, also >= 1) */
    float    min_p;              /* (0 = off) */
    float    typical_p;          /* (0 = off, also >= 1) */
    float    repeat_penalty;     /* divides positive, multiplies negative logits of recent tokens       (0 = off) */
    float    frequency_penalty;  /* times the token's count in the window                               (0 = off) */
    float    presence_penalty;   /* once for each token in the window                                   (0 = off) */
    uint32_t penalty_window;     /* recent tokens that count, prompt included      (0 = 64; UINT32_MAX = whole context) */
    uint64_t seed;               /* token k is a pure function of (seed, its position, logits): the same seed repeats
                                    (the random numbers are those of Philox4x32-10) */
    const llm_bias *bias;
    uint32_t n_bias;
} llm_sampling;
#define LLM_SAMPLING_DEFAULT { 0.7f, 0, 0.95f, 0.05f, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct llm_ctx_desc {    /* zeroed = defaults */
    uint32_t n_ctx;              /* a limit, never a reservation but in an arena  (0 = 4096, at most what the model was trained for) */
    uint32_t n_batch;            /* tokens per prefill pass                                                      (0 = 512) */
    uint32_t max_tokens;         /* per answer                                            (0 = until the context is full) */
    llm_kv_type  kv_type;        /* how keys and values are kept: each has the same bits everywhere, and no two have the same */
    llm_sampling sampling;
    const char *const *stop;     /* the answer ends before any of these strings */
    uint32_t    n_stop;
    const char *chat_template;   /* Jinja text that is recognised, or the name of a built-in rendering: chatml, llama2, llama3, gemma,
                                    mistral, phi3, zephyr, plain           (NULL = the model's own, else by its special tokens) */
    const char *template_json;   /* not available yet: LLM_UNSUPPORTED unless NULL */
    const char *grammar, *json_schema;      /* not available yet: LLM_UNSUPPORTED unless NULL */
    uint32_t    trust_content;   /* 1 = special tokens inside message text count    (0 = plain text: no turn is forged where special tokens
                                    mark turns. Where letters do, as in "plain" and with Llama 2's [INST], whoever types them begins one) */
} llm_ctx_desc;

/* Opens a conversation. llm_open(NULL, ...) returns NULL and keeps a failing *err, so that llm_load and llm_open need one check. */
LLM_API llm_ctx   *llm_open (llm_model *model, const llm_ctx_desc *desc, llm_error *err);
LLM_API void       llm_close(llm_ctx *ctx);                                            /* NULL is fine */
LLM_API llm_result llm_set_sampling(llm_ctx *ctx, const llm_sampling *sampling);       /* from the next token on; NULL = greedy */
LLM_API llm_result llm_set_stop(llm_ctx *ctx, const char *const *stop, uint32_t n);
LLM_API llm_result llm_set_max_tokens(llm_ctx *ctx, uint32_t n);

/* ---- text in, text out ------------------------------------------------------------------------------------------------------

   llm_say queues a message, llm_feed raw text; nothing is computed until llm_next. It renders all messages through the chat
   template with the prompt for an answer, keeps the longest prefix that the cache already holds, evaluates the rest, and returns
   the answer piece by piece. After NULL, llm_why tells the reason: LLM_STOP_LIMIT and LLM_STOP_CANCEL go on when called again
   (max_tokens then counts anew), the others return NULL until there is new input; until the next llm_next it keeps the old
   reason. llm_say(ctx, "assistant", text) adds an answer to the history; llm_next then begins another one. llm_say in the middle
   of an answer ends it there: what was returned so far is the assistant's message, or raw tokens if there is a NUL in it.
   llm_eval turns all that was said into raw tokens, and is refused with LLM_BAD_STATE while input waits. The error of a failed
   llm_next stays in llm_last_error until another call succeeds. After an llm_say or llm_feed that was refused, an llm_next that
   has nothing else to do fails with that same error, or with that of a call which was refused since. */

typedef enum llm_stop {
    LLM_STOP_NONE = 0,           /* not stopped */
    LLM_STOP_EOG,                /* the model ended its answer */
    LLM_STOP_STRING,             /* a stop string came; it and what follows are not returned, but for what a limit let out */
    LLM_STOP_LIMIT,              /* max_tokens. Text that was held back, because a stop string may begin with it, is returned first */
    LLM_STOP_CONTEXT,            /* n_ctx is full */
    LLM_STOP_CANCEL,
    LLM_STOP_ERROR,              /* see llm_last_error */
    LLM_STOP_FORCE_INT = 0x7fffffff
} llm_stop;
LLM_API llm_result  llm_say (llm_ctx *ctx, const char *role, const char *text);        /* role: "system", "user", "assistant", ... */
LLM_API llm_result  llm_feed(llm_ctx *ctx, const char *text, size_t n);                /* special tokens in it count; BOS is added if the
                                                                                          context is empty and the vocabulary wants it */
LLM_API const char *llm_next(llm_ctx *ctx, size_t *n);                 /* whole UTF-8, never empty, NUL-terminated; NULL = stopped */
LLM_API llm_stop    llm_why (const llm_ctx *ctx);
LLM_API void        llm_cancel(llm_ctx *ctx);                          /* ends the call in progress, or else the next that computes */
LLM_API const llm_error *llm_last_error(const llm_ctx *ctx);

/* ---- tokens in, logits out --------------------------------------------------------------------------------------------------- */

LLM_API llm_result   llm_eval    (llm_ctx *ctx, const llm_token *tokens, size_t n);    /* all or nothing; splits into n_batch inside */
LLM_API llm_result   llm_eval_all(llm_ctx *ctx, const llm_token *tokens, size_t n, float *logits);      /* logits: [n][n_vocab] */
LLM_API const float *llm_logits  (const llm_ctx *ctx);                                 /* [n_vocab] after the last token; NULL if none */
LLM_API llm_token    llm_sample  (llm_ctx *ctx);                         /* the next token, not evaluated yet; LLM_NO_TOKEN on failure */
LLM_API size_t       llm_past    (const llm_ctx *ctx);                                 /* tokens in the context */
/* Forgets all but the first n_past tokens, the messages that end after them, and input that waits. What a sliding window has given back
   is evaluated again when it is needed. n_past 0 needs no memory. */
LLM_API llm_result   llm_rewind  (llm_ctx *ctx, size_t n_past);
/* Gives back the scratch and every page of keys and values that holds nothing of the past; the next call that computes asks for them anew
   and gives the same bits. The past stays, with what a window keeps for rewinding. The logits go: llm_logits returns NULL until the next
   evaluation, and llm_sample and llm_next evaluate the last token again if they need them. Does nothing while another thread is in. */
LLM_API void         llm_trim    (llm_ctx *ctx);

/* ---- vocabulary and templates: the return value is the length needed, so truncation is visible; NULL with cap 0 measures ------ */

enum {
    LLM_ADD_SPECIAL = 1,         /* BOS/EOS as the vocabulary wants them */
    LLM_PARSE_SPECIAL = 2,       /* "<|im_end|>" in the text is that token */
    LLM_NO_SPACE_PREFIX = 4,     /* no implicit spaces, as if the file said add_space_prefix = false */
    LLM_SHOW_SPECIAL = 8         /* detokenize: special tokens as their text, else as nothing */
};
typedef enum llm_special {
    LLM_BOS = 0, LLM_EOS, LLM_EOT, LLM_PAD, LLM_UNK, LLM_FIM_PREFIX, LLM_FIM_SUFFIX, LLM_FIM_MIDDLE, LLM_SPECIAL_FORCE_INT = 0x7fffffff
} llm_special;
LLM_API size_t    llm_tokenize  (const llm_model *model, const char *text, size_t n, unsigned flags, llm_token *out, size_t cap);
LLM_API size_t    llm_detokenize(const llm_model *model, const llm_token *tokens, size_t n, unsigned flags, char *buf, size_t cap);   /* no
                                                                                          NUL is written */
LLM_API llm_token llm_special_token(const llm_model *model, llm_special which);        /* LLM_NO_TOKEN if the vocabulary has none */
LLM_API int       llm_is_eog    (const llm_model *model, llm_token token);             /* ends an answer */

typedef struct llm_message { const char *role, *content; } llm_message;
enum { LLM_GENERATION_PROMPT = 1 };
/* The prompt text for messages[n]. jinja: as llm_ctx_desc.chat_template. At most cap bytes are written, with a NUL if there is room. */
LLM_API size_t llm_render_chat(const llm_model *model, const char *jinja, const llm_message *messages, size_t n, unsigned flags,
                               char *buf, size_t cap, llm_error *err);

/* ---- stored types: ids and layouts as in GGUF ------------------------------------------------------------------------------- */

LLM_API size_t     llm_type_bytes(uint32_t gguf_type, size_t n_weights);               /* LLM_FAILED: unknown type, or not whole blocks */
LLM_API llm_result llm_dequantize(uint32_t gguf_type, const void *src, float *dst, size_t n);     /* src: any alignment */

/* ---- explains itself ----------------------------------------------------------------------------------------------------------- */

typedef struct llm_stats_info {  /* grows only at its end */
    uint32_t struct_bytes;       /* in: 0 = sizeof(llm_stats_info), else at most so many bytes are written */
    uint32_t n_threads_asked, n_threads;
    llm_isa  isa;                /* what was obtained, never AUTO */
    llm_mapping mapping;
    llm_kv_type kv_type;
    uint32_t bits_promise;       /* 1: the same bits as everywhere else; 0: not with this build */
    const char *bits_reason;     /* "" or why not */
    double   open_ms, parse_ms, vocab_ms, load_ms;                  /* parts of the load, and its total */
    double   prefill_ms, first_token_ms, decode_ms;                 /* this answer; first_token: from the call to the first piece */
    uint64_t prefill_tokens, decode_tokens, reused_tokens, reevaluated_tokens;
    uint64_t weight_bytes, kv_bytes, scratch_bytes;                 /* in the model; in the context now */
    uint64_t bytes_per_token;    /* weights + KV read, mean over this answer's decode */
    uint64_t f16_saturated;      /* K or V values beyond the range of F16, and scales of Q8_0 (counted modulo 2^32) */
    double   for_calls_per_token;          /* fork-joins, mean over this answer's decode */
    uint32_t n_tensors_scalar, reserved;   /* matrices without an accelerated kernel */
    double   probe_gb_s;         /* the fastest pass of llm_probe so far                        (0 = it has not been called) */
    double   decode_gb_s;        /* bytes_per_token by the time of this answer's decode */
    double   roofline_pct;       /* decode_gb_s against the fastest pass so far of llm_probe or of a single token, so never above 100
                                    (0 = llm_probe has not been called) */
    uint64_t pool_spins, pool_sleeps;      /* how the waits of the model's threads ended since llm_open: while spinning, after sleeping */
    uint64_t n_allocs;           /* memory requests of this context since llm_open */

    /* 0: the binary */
    const char *compiler;        /* "gcc 12.2.0" */
    const char *isas_compiled;   /* "scalar, AVX2, ..." */
    llm_isa  isa_asked;          /* llm_model_desc.isa; what was obtained stands above */
    llm_isa  isa_best;           /* the best that this CPU and system have, compiled in or not */
    uint32_t optimized;          /* 0: compiled without optimisation */
    uint32_t reserved2;
    /* 1: the file */
    uint64_t file_fingerprint;   /* of its directory and size: the same file has the same number, whatever its name */
    const char *file_system;     /* "FUSE", "NFS", ... where touching a page costs a message; "" where it does not, or there is no file */
    const char *name_type;       /* the stored type that the file's name promises, as Q4_K_M; "" if none */
    double   name_bits;          /* bits per weight of that type */
    double   bits_per_weight;    /* of the weights that a token reads */
    /* 2: kernels */
    const char *backend;         /* what computes: "CPU" */
    const char *attention;       /* how: "blocked, F16 keys and values" */
    double   scalar_pct;         /* of the bytes of weights that a token reads, those that scalar kernels compute */
    /* 3: memory, of this process, and of the machine as far as this process may use it */
    const char *mapping_reason;  /* why mapped or read */
    uint64_t kv_limit_bytes;     /* of keys and values when the context is full */
    uint64_t file_resident_bytes, anonymous_bytes, swapped_bytes, peak_rss_bytes;
    uint64_t weights_resident_bytes;                                /* of the file's mapping, in the page cache */
    uint64_t mem_total, mem_available, swap_total, swap_used;
    uint64_t mem_limit;          /* what the process may have at most: RAM, or less by a limit      (0 = unknown) */
    const char *mem_limit_by;    /* "RAM", "cgroup", "ulimit -v", "address space" */
    double   mem_pressure_pct;   /* of the last ten seconds, in which some task waited for memory (Linux PSI) */
    uint32_t swap_is_zram;       /* 1: some of the swap is compressed RAM */
    uint32_t from_path;          /* 1: llm_load opened the file itself */
    double   major_faults_per_token, minor_faults_per_token;        /* of the whole process during this answer's decode */
    double   cpu_busy_pct;       /* of the time of this answer's decode, that its threads (or CPUs, if fewer) computed */
    double   cpu_user_pct;       /* likewise, without what the system did for them, such as bringing in pages */
    double   preempted_per_token;          /* times that another program took a thread's CPU away */
    /* 4: cores */
    uint32_t cpus_online;        /* CPUs of this machine, SMT siblings included */
    uint32_t cpus_allowed_at_load, cpus_allowed;      /* those that the threads might use in llm_load, and at the last look */
    uint32_t n_performance_cores;          /* of those allowed at load */
    uint32_t cpu_quota;          /* CPUs that the cgroup's quota of time is worth, rounded up                  (0 = no quota) */
    uint32_t n_threads_resting;  /* of n_threads, because there are fewer CPUs now */
    llm_cores cores_asked, cores;          /* cores: what was obtained */
    const char *cores_reason;    /* why the default of n_threads is what it is, and what became of cores_asked; owned by the model */
    uint64_t pinned_cpus;        /* bit n: a thread is pinned to CPU n; only CPUs below 64 are shown */
    uint64_t rows_most, rows_least;        /* of this answer's decode: for each token what the thread with most and the one with least
                                    took, summed up; a slow core takes fewer (rows of matrices, and what else is shared out) */
    /* stages, besides open, parse, vocab, prefill and first token */
    double   map_ms;             /* mapping, or reading, the weights: part of open_ms */
    double   bind_ms;            /* network, kernels, threads: what load_ms has besides open, parse and vocab */
    double   first_touch_ms;     /* bringing a mapped model's pages in before the first evaluation */
    double   decode_p50_ms, decode_p90_ms, decode_p99_ms;           /* of all single tokens since llm_open, within 5 % */
    /* 5: heat and power */
    double   burst_gb_s, recent_gb_s;      /* decode_gb_s of the fastest 16 tokens in a row since llm_open, and of the last 16 */
    uint32_t burst_mhz, cpu_mhz, cpu_mhz_max;      /* clock of the fastest core during those, now, and at most */
    double   temperature_c;      /* of the hottest zone */
    const char *power_mode;      /* "low-power", "balanced", "performance", ...; "" unknown */
    uint32_t on_battery;         /* 1: no mains */
    uint32_t host_threads;       /* 1: llm_parallel computes, not threads of the library */
    double   quota_throttled_pct;          /* of the periods of the CPU quota since llm_open, those in which the time ran out */
    uint32_t cpu_share;          /* percent, as asked for; of the times above only first_token_ms has rests in it */
} llm_stats_info;
LLM_API void llm_stats(const llm_ctx *ctx, llm_stats_info *out);

/* How fast this machine reads what one decoded token reads: the weights of a token in the order of the file and the keys and values of the
   past, with the model's threads and the widest loads, 1, 2 and 4 streams in turn, and nothing else. Passes go on until max_ms are over
   (0 = 200), one at least; a file that is not in memory yet is read from disk by the first. The fastest counts: 1e9 bytes per second in
   *gb_s (may be NULL) and in llm_stats. Decode cannot be faster; roofline_pct says how near it comes. Changes nothing of the context. */
LLM_API llm_result llm_probe(llm_ctx *ctx, uint32_t max_ms, double *gb_s);

typedef enum llm_verdict {
    LLM_FITS = 0,                /* weights, keys and values of n_ctx and scratch fit the memory that is free now */
    LLM_FITS_TIGHTLY = 1,        /* into what the process may have, not into what is free: weights may be read again and again */
    LLM_DOES_NOT_FIT = 2,        /* not even into that. If the weights alone are more than RAM or a cgroup allows, llm_load refuses with
                                    LLM_TOO_BIG unless forced */
    LLM_VERDICT_FORCE_INT = 0x7fffffff
} llm_verdict;

typedef struct llm_plan_info {   /* grows only at its end */
    uint32_t struct_bytes;       /* in: 0 = sizeof(llm_plan_info), else at most so many bytes are written */
    llm_verdict verdict;
    char     reason[252];        /* the verdict as one sentence with figures; without, where LLM_NO_SENTENCES and LLM_NO_DIAGNOSIS are */
    uint64_t file_bytes;
    uint64_t weight_bytes;       /* of all tensors */
    llm_mapping mapping;         /* what llm_load will do */
    llm_kv_type kv_type;
    uint64_t weights_mapped;     /* file-backed: the system may drop and read them again; 0 for llm_plan_memory, whose bytes are there */
    uint64_t weights_read;       /* in memory of the allocator: LLM_READ, readers, file systems that are not mapped */
    uint64_t model_bytes;        /* tables: vocabulary, norms, threads, the context itself */
    uint64_t kv_bytes_per_token; /* keys and values of one more position, before any window is full */
    uint64_t kv_bytes;           /* of n_ctx positions */
    uint64_t scratch_bytes;
    uint64_t total_bytes;        /* weights + model + kv + scratch */
    uint64_t mem_available, mem_limit;     /* free now; at most (0 = unknown) */
    const char *mem_limit_by;    /* as in llm_stats_info */
    uint32_t n_ctx, n_batch;     /* as llm_open resolves the wish */
    uint32_t n_ctx_fits;         /* the largest n_ctx, up to n_ctx_train, with which it all fits what is free, with the same wish for
                                    n_batch; 0: none does */
    uint32_t n_ctx_train;
    uint32_t n_threads;
    llm_isa  isa;
    uint64_t bytes_per_token;    /* weights read to decode one token at depth 0 */
    double   bits_per_weight;    /* of those */
    double   gb_s;               /* host_gb_s, or as probed                                               (0 = unknown) */
    double   tok_s_low, tok_s_high;        /* decode: full context at half that rate, empty context at all of it    (0 = unknown) */
    uint64_t file_fingerprint;
    const char *file_system, *name_type;
    double   name_bits;
    uint64_t arena_bytes;        /* what llm_arena must be given for this model, loaded the way it was planned, and one such context: exact
                                                                                            (0 = more than this machine can address) */
} llm_plan_info;
/* What loading this file and opening one context would take, from the header alone: no weight is read, whatever the size, but for some kB
   of biases if keys are to be Q8_0, and nothing stays allocated. NULL descs mean defaults. desc->host_gb_s < 0 probes reading, for less
   than 0.2 s, on 64 MB of its own. The strings in *out are constants. Thread-safe. */
LLM_API llm_result llm_plan       (const char *path_utf8, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc, llm_plan_info *out,
                                   llm_error *err);
LLM_API llm_result llm_plan_memory(const void *data, size_t bytes, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc,
                                   llm_plan_info *out, llm_error *err);
LLM_API llm_result llm_plan_reader(const llm_reader *reader, const llm_model_desc *desc, const llm_ctx_desc *ctx_desc,
                                   llm_plan_info *out, llm_error *err);

typedef enum llm_factor {
    LLM_MEASURED = 0,            /* from counters of this run */
    LLM_PROBED = 1,              /* from an experiment: llm doctor */
    LLM_BOUND = 2,               /* at most so much, by a formula: print it with "<=" */
    LLM_FACTOR_FORCE_INT = 0x7fffffff
} llm_factor;

typedef struct llm_finding {     /* one cause of slowness */
    const char *code;            /* short and fixed: "unoptimized_build" */
    uint32_t    layer;           /* 0 the binary, 1 the file, 2 kernels, 3 memory, 4 cores, 5 heat and power */
    llm_factor  kind;
    double      factor;          /* how much slower than without it, >= 1; 1 = unknown or nothing yet */
    const char *what;            /* which time: "decode", "prefill", "load" or "first token" */
    char        text[252];       /* the fact, with its figures */
    char        advice[252];     /* the one thing to do about it */
} llm_finding;
/* Causes of slowness in what llm_stats knows, by factor, the greatest first. At most cap are written; the number there are is returned. A
   healthy set-up has none. Any thread, at any time: they come from the snapshot that llm_stats copies. */
LLM_API size_t llm_findings     (const llm_ctx *ctx, llm_finding *out, size_t cap);
LLM_API size_t llm_findings_plan(const llm_plan_info *plan, llm_finding *out, size_t cap);
/* One screen of facts and findings to paste into an issue: the name that the file gives itself, but no path and no text of the
   conversation. Returns the length without the NUL; at
   most cap bytes are written, with a NUL if there is room. */
LLM_API size_t llm_report       (const llm_ctx *ctx, char *buf, size_t cap);

/* ---- about the library ----------------------------------------------------------------------------------------------------------- */

LLM_API uint32_t    llm_version(void);                    /* major << 16 | minor << 8 | patch */
LLM_API const char *llm_result_text(llm_result result);
LLM_API const char *llm_isa_name(llm_isa isa);            /* "AVX2"; "?" for a value that is none */
LLM_API int         llm_isa_usable(llm_isa isa);          /* compiled in, and this CPU and system have it */

#ifdef __cplusplus
}
#endif

#endif /* LLM_H */

#ifdef LLM_IMPLEMENTATION
#include "llm_impl.h"
#endif

/* MIT licence. Copyright (c) 2026 the llm.h authors. See LICENSE for the full text. */
