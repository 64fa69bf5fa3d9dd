// llm.c - the command-line program: run, chat, info, bench, plan, report, doctor, compare. Everything it does, it does through the
// functions of llm.h.
//
// Text goes to stdout, everything else to stderr. Exit codes: 0 all went well, 1 the library or the system said no (one sentence on
// stderr tells why), 2 the command line makes no sense.

#define LLM_IMPLEMENTATION
#include "llm.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <io.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

//------------------------------------------------------------------------------------------------------------------------------
// >>system   The clock, terminals, memory: what C99 does not give.

#if defined(_WIN32)
static int is_terminal(FILE *f) { return _isatty(_fileno(f)); }
static double now_ms(void) {
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return (double)ticks.QuadPart * 1e3 / (double)per_second.QuadPart;
}
static uint64_t peak_rss_bytes(void) { return 0; }
#else
static int is_terminal(FILE *f) { return isatty(fileno(f)); }
static double now_ms(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6 : 0;
}
// Linux remembers in ru_maxrss what the parent was before exec; VmHWM is this program alone.
static uint64_t peak_rss_bytes(void) {
    struct rusage usage;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    unsigned long long kb = 0;
    if (f) {
        while (fgets(line, sizeof line, f))
            if (sscanf(line, "VmHWM: %llu", &kb) == 1) break;
        fclose(f);
        return (uint64_t)kb * 1024;
    }
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}
#endif

static void cpu_name(char *out, size_t cap) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, cap, "unknown CPU");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[1 + strcspn(colon + 1, "\n")] = 0;
        snprintf(out, cap, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(f);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>text   Sentences for people, strings that grow, JSON that is valid whatever the bytes were.

// Length of the valid UTF-8 sequence at s (1..4), 0 if there is none. Surrogates and overlong forms are not valid.
static size_t utf8_length(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    size_t i, len = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > n) return 0;
    for (i = 1; i < len; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f)) return 0;
    if ((u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f)) return 0;
    return len;
}
// Of the character at s, 0 if it is none that may be shown: controls play with the terminal, and so does what is no UTF-8, because a
// terminal of 8 bits takes 0x9b for the beginning of a command.
static size_t visible_length(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    const size_t len = utf8_length(s, n);
    return u[0] < 32 || u[0] == 127 || (len && u[0] == 0xc2 && u[1] < 0xa0) ? 0 : len;
}

// One sentence on one line, whatever a name in it contains.
static void complain(const char *format, ...) {
    char line[2048];
    size_t i, n, len;
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    n = strlen(line);
    for (i = 0; i < n; i += len ? len : 1)
        if ((len = visible_length(line + i, n - i)) == 0) line[i] = '?';
    fprintf(stderr, "llm: %s\n", line);
}

// The exit code of what wrote to stdout and has no more to do.
static int written(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_OK;
    complain("cannot write: %s", strerror(errno));
    return EXIT_FAILED;
}

typedef struct text { char *p; size_t n, cap; } text;      // p is NULL or ends with a NUL

static void text_add(text *t, const char *bytes, size_t n) {
    if (n >= t->cap - t->n) {
        size_t cap = (t->n + n) * 2 + 64;
        char *p = (char *)realloc(t->p, cap);
        if (!p) { complain("out of memory"); exit(EXIT_FAILED); }
        t->p = p;
        t->cap = cap;
    }
    if (n) memcpy(t->p + t->n, bytes, n);
    t->n += n;
    t->p[t->n] = 0;
}
static void text_adds(text *t, const char *s) { text_add(t, s, strlen(s)); }
static void text_clear(text *t) { t->n = 0; text_add(t, "", 0); }
static void text_free(text *t) { free(t->p); t->p = NULL; t->n = t->cap = 0; }
static const char *text_of(const text *t) { return t->p ? t->p : ""; }

static void json_text(FILE *f, const char *s, size_t n) {
    size_t i, len;
    fputc('"', f);
    for (i = 0; i < n; i += len ? len : 1) {
        unsigned char c = (unsigned char)s[i];
        len = utf8_length(s + i, n - i);
        if (len == 0) fputs("\\ufffd", f);
        else if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c == '\n') fputs("\\n", f);
        else if (c < 32 || c == 127) fprintf(f, "\\u%04x", c);
        else fwrite(s + i, 1, len, f);
    }
    fputc('"', f);
}
// Keys are ours and plain. `first` is the brace or comma that goes before.
static void json_string(FILE *f, const char *first, const char *key, const char *value) {
    fprintf(f, "%s\"%s\": ", first, key);
    json_text(f, value, strlen(value));
}
static void json_real(FILE *f, const char *key, double value) { fprintf(f, ", \"%s\": %.3f", key, value); }
static void json_count(FILE *f, const char *key, uint64_t value) { fprintf(f, ", \"%s\": %llu", key, (unsigned long long)value); }

// What comes out of a model file: newlines and tabs are all that it may move the cursor by.
static void show(FILE *f, const char *s, size_t n) {
    size_t i, len;
    if (!is_terminal(f)) { fwrite(s, 1, n, f); return; }
    for (i = 0; i < n; i += len ? len : 1) {
        len = s[i] == '\n' || s[i] == '\t' ? 1 : visible_length(s + i, n - i);
        if (len) fwrite(s + i, 1, len, f);
        else fputc('?', f);
    }
}
static void shows(FILE *f, const char *s) { show(f, s, strlen(s)); }

static void bytes_text(char *out, size_t cap, uint64_t bytes) {
    if (bytes < 10000) snprintf(out, cap, "%u bytes", (unsigned)bytes);
    else if (bytes < 1000000) snprintf(out, cap, "%.1f kB", (double)bytes / 1e3);
    else if (bytes < 1000000000) snprintf(out, cap, "%.1f MB", (double)bytes / 1e6);
    else snprintf(out, cap, "%.2f GB", (double)bytes / 1e9);
}

static void *room_for(size_t n, size_t each) {
    void *p = n <= (size_t)-1 / each ? malloc(n * each) : NULL;
    if (!p) { complain("out of memory"); exit(EXIT_FAILED); }
    return p;
}

// The whole of a stream. Returns 0 when it cannot be read.
static int read_all(FILE *f, text *out) {
    char chunk[4096];
    size_t n;
    text_clear(out);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) text_add(out, chunk, n);
    return !ferror(f);
}

//------------------------------------------------------------------------------------------------------------------------------
// >>options   One table: the parser, the help and the defaults come from it.

enum { RUN = 1, CHAT = 2, INFO = 4, BENCH = 8, PLAN = 16, REPORT = 32, DOCTOR = 64, PROBE = 128, COMPARE = 256, TALK = RUN | CHAT,
       MEASURE = DOCTOR | PROBE, COMPUTE = TALK | BENCH | PLAN | REPORT | MEASURE, ALL = COMPUTE | INFO, SILENT = ALL & ~CHAT & ~MEASURE };

enum { MAX_STOPS = 16 };

typedef struct options {
    const char *model, *theirs, *prompt, *file, *system, *chat_template, *isa, *kv, *key, *cores, *better, *html, *json_file;
    const char *stops[MAX_STOPS];
    uint32_t n_stops, max_tokens, threads, ctx, batch, top_k, n_prompt, n_gen, depth, rounds, ms;
    uint64_t seed;
    double temp, top_p, min_p, repeat_penalty;
    int raw, json, read, map, force, quiet, verbose, help, brief, full, table, sha256, share;
} options;

typedef enum takes { NOTHING, A_TEXT, TEXTS, A_COUNT, A_SEED, A_REAL } takes;

typedef struct rule {
    int commands;
    const char *name, *argument;
    takes kind;
    size_t offset;
    double least, most;
    const char *help;
} rule;

#define AT(field) offsetof(options, field)
#define LOTS 16777216
#define MANY 2147483647
static const rule rules[] = {
    { RUN,     "-p",         "TEXT", A_TEXT,  AT(prompt),        0, 0,    "the prompt (else -f, else what comes on stdin)" },
    { RUN,     "-f",         "FILE", A_TEXT,  AT(file),          0, 0,    "the prompt from a file" },
    { RUN,     "--raw",      NULL,   NOTHING, AT(raw),           0, 0,    "the text as it is: no chat template, special tokens count" },
    { TALK,    "--system",   "TEXT", A_TEXT,  AT(system),        0, 0,    "a system message before the conversation" },
    { TALK,    "-n",         "N",    A_COUNT, AT(max_tokens),    0, MANY, "tokens per answer at most (0 = until the context is full)" },
    { TALK,    "--temp",     "X",    A_REAL,  AT(temp),          0, 1000, "temperature (0.7; 0 = always the likeliest token)" },
    { TALK,    "--top-k",    "N",    A_COUNT, AT(top_k),         0, MANY, "only the N likeliest tokens (0 = off)" },
    { TALK,    "--top-p",    "X",    A_REAL,  AT(top_p),         0, 1,    "the likeliest tokens that make up X (0.95; 0 = off)" },
    { TALK,    "--min-p",    "X",    A_REAL,  AT(min_p),         0, 1,    "tokens at least X times as likely as the best (0.05; 0 = off)" },
    { TALK,    "--repeat-penalty", "X", A_REAL, AT(repeat_penalty), 0, 1000, "divides the logits of the last 64 tokens, as by 1.1 (0 = off)" },
    { TALK,    "--seed",     "N",    A_SEED,  AT(seed),          0, 0,    "the same seed repeats the same answer (0)" },
    { TALK,    "--stop",     "TEXT", TEXTS,   AT(stops),         0, 0,    "end the answer before TEXT; may be given up to 16 times" },
    { TALK,    "--template", "NAME", A_TEXT,  AT(chat_template), 0, 0,    "chatml, llama2, llama3, gemma, mistral, phi3, zephyr, plain" },
    { COMPUTE & ~BENCH, "--ctx", "N", A_COUNT, AT(ctx),          1, MANY, "positions at most (4096, or what the model was trained for)" },
    { BENCH,   "--prompt",   "N",    A_COUNT, AT(n_prompt),      1, LOTS, "tokens to prefill (128)" },
    { BENCH,   "--gen",      "N",    A_COUNT, AT(n_gen),         1, LOTS, "tokens to decode (64)" },
    { BENCH | MEASURE, "--depth", "N", A_COUNT, AT(depth),       0, LOTS, "tokens that are in the context before (0)" },
    { BENCH,   "--rounds",   "N",    A_COUNT, AT(rounds),        1, 1000, "prefills and decodes; medians count (5)" },
    { BENCH,   "--reps",     "N",    A_COUNT, AT(rounds),        1, 1000, "another name for --rounds" },
    { COMPUTE, "--batch",    "N",    A_COUNT, AT(batch),         1, LOTS, "tokens per prefill pass (512)" },
    { COMPUTE, "--threads",  "N",    A_COUNT, AT(threads),       0, 256,  "workers, this thread included (0 = one per core)" },
    { COMPUTE, "--isa",      "NAME", A_TEXT,  AT(isa),           0, 0,    "force an instruction set: scalar, avx2, ... (the best)" },
    { COMPUTE, "--kv",       "TYPE", A_TEXT,  AT(kv),            0, 0,    "f16, f32 or q8_0: how keys and values are kept (f16)" },
    { COMPUTE, "--cores",    "WHICH", A_TEXT, AT(cores),         0, 0,    "any, or big: the fast cores only, where some are slow" },
    { COMPUTE, "--force",    NULL,   NOTHING, AT(force),         0, 0,    "load although it cannot fit the memory" },
    { ALL,     "--read",     NULL,   NOTHING, AT(read),          0, 0,    "read the file into memory instead of mapping it" },
    { ALL,     "--map",      NULL,   NOTHING, AT(map),           0, 0,    "map the file, on any file system" },
    { DOCTOR,  "--better",   "FILE", A_TEXT,  AT(better),        0, 0,    "another file of the same model to try instead, as 4 bits for F16" },
    { DOCTOR,  "--quick",    NULL,   NOTHING, AT(brief),         0, 0,    "half a minute for a small model: what usually matters" },
    { DOCTOR,  "--full",     NULL,   NOTHING, AT(full),          0, 0,    "longer, with a cold start and a minute of decoding" },
    { DOCTOR,  "--html",     "FILE", A_TEXT,  AT(html),          0, 0,    "the result as a page with charts" },
    { DOCTOR,  "--json",     "FILE", A_TEXT,  AT(json_file),     0, 0,    "all that was measured, as one JSON object (- is stdout)" },
    { DOCTOR,  "--table",    NULL,   NOTHING, AT(table),         0, 0,    "print the table of symptoms and causes, measure nothing" },
    { PROBE,   "--ms",       "N",    A_COUNT, AT(ms),            1, MANY, "how long to decode" },
    { INFO,    "--key",      "KEY",  A_TEXT,  AT(key),           0, 0,    "print the value of one metadata key and nothing else" },
    { INFO,    "--sha256",   NULL,   NOTHING, AT(sha256),        0, 0,    "the SHA-256 of the whole file too" },
    { COMPARE, "--share",    NULL,   NOTHING, AT(share),         0, 0,    "print MINE without what tells who or where: to be posted" },
    { SILENT | COMPARE, "--json", NULL, NOTHING, AT(json),       0, 0,    "one JSON object on stdout" },
    { TALK,    "--quiet",    NULL,   NOTHING, AT(quiet),         0, 0,    "no line of timing" },
    { ALL,     "--verbose",  NULL,   NOTHING, AT(verbose),       0, 0,    "what the library logs, on stderr" },
    { ALL | COMPARE, "--help", NULL, NOTHING, AT(help),          0, 0,    "this text" },
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static void options_default(options *o) {
    const llm_sampling s = LLM_SAMPLING_DEFAULT;
    memset(o, 0, sizeof *o);
    o->temp = (double)s.temperature;
    o->top_k = s.top_k;
    o->top_p = (double)s.top_p;
    o->min_p = (double)s.min_p;
    o->seed = s.seed;
    o->n_prompt = 128;
    o->n_gen = 64;
    o->rounds = 5;
}

// Digits only: no sign, no space, no "1e3".
static int parse_u64(const char *s, uint64_t *out) {
    uint64_t v = 0;
    if (!*s) return 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || v > (UINT64_MAX - (uint64_t)(*s - '0')) / 10) return 0;
        v = v * 10 + (uint64_t)(*s - '0');
    }
    *out = v;
    return 1;
}
// A decimal number and nothing behind it. strtod alone would also take " 1", "0x1", "inf" and "nan".
static int parse_real(const char *s, double *out) {
    char *end;
    if (!*s || strspn(s, "0123456789.eE+-") != strlen(s)) return 0;
    *out = strtod(s, &end);
    return *end == 0;
}

// Puts one value where the table says. Returns 0 after a complaint.
static int option_set(options *o, const rule *r, const char *value) {
    char *at = (char *)o + r->offset;
    uint64_t u;
    double x;
    switch (r->kind) {
    case NOTHING:
        *(int *)(void *)at = 1;
        return 1;
    case A_TEXT:
        *(const char **)(void *)at = value;
        return 1;
    case TEXTS:
        if (!*value) { complain("%s wants a text", r->name); return 0; }
        if (o->n_stops == MAX_STOPS) { complain("more than %d stop strings", (int)MAX_STOPS); return 0; }
        o->stops[o->n_stops++] = value;
        return 1;
    case A_SEED:
        if (parse_u64(value, (uint64_t *)(void *)at)) return 1;
        complain("%s wants a whole number from 0 to 18446744073709551615, not '%s'", r->name, value);
        return 0;
    case A_COUNT:
        if (!parse_u64(value, &u) || (double)u < r->least || (double)u > r->most) {
            complain("%s wants a whole number from %.0f to %.0f, not '%s'", r->name, r->least, r->most, value);
            return 0;
        }
        *(uint32_t *)(void *)at = (uint32_t)u;
        return 1;
    case A_REAL:
        if (!parse_real(value, &x) || !(x >= r->least && x <= r->most)) {
            complain("%s wants a number from %g to %g, not '%s'", r->name, r->least, r->most, value);
            return 0;
        }
        *(double *)(void *)at = x;
        return 1;
    }
    return 0;
}

// "--name" or "--name=value"; the short ones only whole.
static const rule *option_find(const char *word, int command, const char **value) {
    size_t i, n;
    for (i = 0; i < N_RULES; i++) {
        n = strlen(rules[i].name);
        if (!(rules[i].commands & command) || strncmp(word, rules[i].name, n) != 0) continue;
        if (word[n] == 0) { *value = NULL; return &rules[i]; }
        if (word[n] == '=' && word[1] == '-') { *value = word + n + 1; return &rules[i]; }
    }
    return NULL;
}

static int options_parse(options *o, int command, const char *command_name, int n, char **words) {
    int i, only_model = 0;
    for (i = 0; i < n; i++) {
        const char *word = words[i], *value = NULL;
        const rule *r;
        if (!only_model && strcmp(word, "--") == 0) { only_model = 1; continue; }
        if (only_model || word[0] != '-' || word[1] == 0) {
            if (!o->model) o->model = word;
            else if (command == COMPARE && !o->theirs) o->theirs = word;
            else { complain("%s is enough: '%s' is too much", command == COMPARE ? "that" : "one model", word); return 0; }
            continue;
        }
        r = strcmp(word, "-h") == 0 ? &rules[N_RULES - 1] : option_find(word, command, &value);
        if (!r) { complain("unknown option '%s'; llm %s --help lists them", word, command_name); return 0; }
        if (r->kind == NOTHING && value) { complain("%s takes no value", r->name); return 0; }
        if (r->kind != NOTHING && !value) {
            if (i + 1 == n) { complain("%s wants a value", r->name); return 0; }
            value = words[++i];
        }
        if (!option_set(o, r, value)) return 0;
    }
    return 1;
}

static void options_help(FILE *f, int command) {
    size_t i;
    for (i = 0; i < N_RULES; i++) {
        char left[32];
        if (!(rules[i].commands & command)) continue;
        snprintf(left, sizeof left, "%s %s", rules[i].name, rules[i].argument ? rules[i].argument : "");
        fprintf(f, "  %-18s %s\n", left, rules[i].help);
    }
}

// Names are compared without case and punctuation: "avx512-vnni" is "AVX-512 VNNI".
static int same_name(const char *a, const char *b) {
    for (;;) {
        while (*a && !isalnum((unsigned char)*a)) a++;
        while (*b && !isalnum((unsigned char)*b)) b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return 0;
        if (!*a) return 1;
        a++;
        b++;
    }
}
// llm_isa_name knows them all: "?" is the name of a number that is none.
static int isa_named(const char *name, llm_isa *out) {
    char usable[200] = "auto";
    int id;
    *out = LLM_ISA_AUTO;
    if (!name || same_name(name, "auto")) return 1;
    for (id = LLM_ISA_SCALAR; id < 256; id++) {
        const char *known = llm_isa_name((llm_isa)id);
        const size_t n = strlen(usable);
        if (*known != '?' && same_name(name, known)) { *out = (llm_isa)id; return 1; }
        if (llm_isa_usable((llm_isa)id)) snprintf(usable + n, sizeof usable - n, ", %s", known);
    }
    complain("--isa: no instruction set is called '%s'; here there are %s", name, usable);
    return 0;
}
static int kv_named(const char *name, llm_kv_type *out) {
    *out = LLM_KV_F16;
    if (!name || same_name(name, "f16")) return 1;
    if (same_name(name, "f32")) { *out = LLM_KV_F32; return 1; }
    if (same_name(name, "q8_0") || same_name(name, "q8")) { *out = LLM_KV_Q8_0; return 1; }
    complain("--kv wants f16, f32 or q8_0, not '%s'", name);
    return 0;
}
static int cores_named(const char *name, llm_cores *out) {
    *out = LLM_CORES_ANY;
    if (!name || same_name(name, "any")) return 1;
    if (same_name(name, "big")) { *out = LLM_CORES_BIG; return 1; }
    complain("--cores wants any or big, not '%s'", name);
    return 0;
}
static const char *kv_name(llm_kv_type type) { return type == LLM_KV_F32 ? "f32" : type == LLM_KV_Q8_0 ? "q8_0" : "f16"; }

//------------------------------------------------------------------------------------------------------------------------------
// >>session   A model and a conversation as the options want them; progress on a terminal; staged timing.

typedef struct session {
    options o;
    llm_model *model;
    llm_ctx *ctx;
    llm_sampling sampling;
    llm_kv_type kv_type;
    double stage_start;          // when the present stage began to be reported
    int stage, line_shown;
    const char *program;         // as it was called
} session;

// Shown once a stage has lasted a second; the line is taken away when the stage is complete.
static void progress_erase(session *s) {
    if (s->line_shown) fprintf(stderr, "\r%32s\r", "");
    s->line_shown = 0;
}
static int on_progress(void *user, int stage, float fraction) {
    session *s = (session *)user;
    if (stage != s->stage) { s->stage = stage; s->stage_start = now_ms(); }
    if (fraction >= 1) { progress_erase(s); s->stage = -1; }
    else if (now_ms() - s->stage_start > 1000) {
        fprintf(stderr, "\r%s %3d %%", stage == 0 ? "loading" : "reading the prompt", (int)(fraction * 100));
        fflush(stderr);
        s->line_shown = 1;
    }
    return 1;
}
static void on_log(void *user, int level, const char *line) {
    static const char *const names[] = { "error", "warning", "info", "debug" };
    (void)user;
    fprintf(stderr, "%s: %s\n", level >= 0 && level < 4 ? names[level] : "log", line);
}

// The part of the options that is about loading. Returns 0 after a complaint.
static int session_desc(session *s, llm_model_desc *desc) {
    memset(desc, 0, sizeof *desc);
    desc->n_threads = s->o.threads;
    desc->force = s->o.force ? 1 : 0;
    if (!isa_named(s->o.isa, &desc->isa) || !kv_named(s->o.kv, &s->kv_type) || !cores_named(s->o.cores, &desc->cores)) return 0;
    if (s->o.read && s->o.map) { complain("--read and --map exclude each other"); return 0; }
    desc->mapping = s->o.read ? LLM_READ : s->o.map ? LLM_MAP : LLM_MAP_AUTO;
    return 1;
}
static int session_load(session *s, uint32_t n_threads) {
    llm_model_desc desc;
    llm_error e;
    if (!session_desc(s, &desc)) return EXIT_USAGE;
    desc.n_threads = n_threads;
    if (s->o.verbose) desc.logger.log_fn = on_log;
    if (is_terminal(stderr)) {
        desc.progress.user = s;
        desc.progress.progress_fn = on_progress;
    }
    s->stage = -1;
    s->model = llm_load(s->o.model, &desc, &e);
    progress_erase(s);
    if (!s->model) { complain("%s", e.text); return EXIT_FAILED; }
    return EXIT_OK;
}

static int session_open(session *s, uint32_t n_ctx) {
    llm_ctx_desc desc;
    llm_error e;
    memset(&desc, 0, sizeof desc);
    desc.n_ctx = n_ctx;
    desc.n_batch = s->o.batch;
    desc.max_tokens = s->o.max_tokens;
    desc.kv_type = s->kv_type;
    desc.sampling = s->sampling;
    desc.stop = s->o.n_stops ? s->o.stops : NULL;
    desc.n_stop = s->o.n_stops;
    desc.chat_template = s->o.chat_template;
    s->ctx = llm_open(s->model, &desc, &e);
    if (!s->ctx) { complain("%s", e.text); return EXIT_FAILED; }
    return EXIT_OK;
}
static void session_close(session *s) {
    llm_close(s->ctx);
    llm_unload(s->model);
}
static void session_sampling(session *s) {
    memset(&s->sampling, 0, sizeof s->sampling);
    s->sampling.temperature = (float)s->o.temp;
    s->sampling.top_k = s->o.top_k;
    s->sampling.top_p = (float)s->o.top_p;
    s->sampling.min_p = (float)s->o.min_p;
    s->sampling.repeat_penalty = (float)s->o.repeat_penalty;
    s->sampling.seed = s->o.seed;
}

static llm_stats_info stats_of(const llm_ctx *ctx) {
    llm_stats_info i;
    memset(&i, 0, sizeof i);
    llm_stats(ctx, &i);
    return i;
}
static double per_second(uint64_t n, double ms) { return ms > 0 ? (double)n * 1e3 / ms : 0; }

static void timing_line(const llm_ctx *ctx) {
    llm_stats_info i = stats_of(ctx);
    fprintf(stderr, "load %.1f ms, first token %.1f ms, prefill %llu tokens in %.1f ms (%.1f tok/s), decode %llu tokens in %.1f ms "
            "(%.1f tok/s); %s, %u thread%s\n",
            i.load_ms, i.first_token_ms, (unsigned long long)i.prefill_tokens, i.prefill_ms, per_second(i.prefill_tokens, i.prefill_ms),
            (unsigned long long)i.decode_tokens, i.decode_ms, per_second(i.decode_tokens, i.decode_ms),
            llm_isa_name(i.isa), (unsigned)i.n_threads, i.n_threads == 1 ? "" : "s");
}

static const char *stop_name(llm_stop stop) {
    switch (stop) {
    case LLM_STOP_EOG:     return "eog";
    case LLM_STOP_STRING:  return "string";
    case LLM_STOP_LIMIT:   return "limit";
    case LLM_STOP_CONTEXT: return "context";
    case LLM_STOP_CANCEL:  return "cancel";
    case LLM_STOP_ERROR:   return "error";
    default:               return "none";
    }
}

//------------------------------------------------------------------------------------------------------------------------------
// >>run   One prompt, one answer.

static int run_read_prompt(const options *o, text *prompt) {
    FILE *f = stdin;
    int good;
    if (o->prompt) { text_adds(prompt, o->prompt); return EXIT_OK; }
    if (o->file && strcmp(o->file, "-") != 0) {
        f = fopen(o->file, "rb");
        if (!f) { complain("cannot open '%s': %s", o->file, strerror(errno)); return EXIT_FAILED; }
    } else if (is_terminal(stdin)) {
        fputs("Type the prompt; Ctrl-D on a line of its own ends it.\n", stderr);
    }
    good = read_all(f, prompt);
    if (f != stdin) fclose(f);
    if (!good) { complain("cannot read %s: %s", f == stdin ? "stdin" : o->file, strerror(errno)); return EXIT_FAILED; }
    // The newline that ends a text file is not part of a message. Raw text is taken to the byte.
    if (!o->raw && prompt->n && prompt->p[prompt->n - 1] == '\n') prompt->p[--prompt->n] = 0;
    if (!o->raw && prompt->n && prompt->p[prompt->n - 1] == '\r') prompt->p[--prompt->n] = 0;
    if (prompt->n == 0) { complain("the prompt is empty: give -p TEXT, -f FILE or text on stdin"); return EXIT_USAGE; }
    return EXIT_OK;
}

static llm_result run_queue(session *s, const text *prompt) {
    llm_result r = LLM_OK;
    if (s->o.raw) return llm_feed(s->ctx, text_of(prompt), prompt->n);
    if (s->o.system) r = llm_say(s->ctx, "system", s->o.system);
    return r < 0 ? r : llm_say(s->ctx, "user", text_of(prompt));
}

static void run_json(session *s, const text *answer, llm_stop stop) {
    llm_stats_info i = stats_of(s->ctx);
    const uint64_t prompt = i.prefill_tokens + i.reused_tokens, past = llm_past(s->ctx);
    fputs("{\"text\": ", stdout);
    json_text(stdout, text_of(answer), answer->n);
    // What the context holds beyond the prompt. The end token counts, which stands in no context.
    json_count(stdout, "tokens", (past > prompt ? past - prompt : 0) + (stop == LLM_STOP_EOG));
    json_string(stdout, ", ", "stop", stop_name(stop));
    if (stop == LLM_STOP_ERROR) json_string(stdout, ", ", "error", llm_last_error(s->ctx)->text);
    json_real(stdout, "load_ms", i.load_ms);
    json_real(stdout, "first_token_ms", i.first_token_ms);
    json_count(stdout, "prefill_tokens", i.prefill_tokens);
    json_real(stdout, "prefill_ms", i.prefill_ms);
    json_real(stdout, "prefill_tok_s", per_second(i.prefill_tokens, i.prefill_ms));
    json_count(stdout, "decode_tokens", i.decode_tokens);
    json_real(stdout, "decode_ms", i.decode_ms);
    json_real(stdout, "decode_tok_s", per_second(i.decode_tokens, i.decode_ms));
    json_count(stdout, "weight_bytes", i.weight_bytes);
    json_count(stdout, "kv_bytes", i.kv_bytes);
    json_count(stdout, "scratch_bytes", i.scratch_bytes);
    json_string(stdout, ", ", "isa", llm_isa_name(i.isa));
    json_count(stdout, "threads", i.n_threads);
    json_string(stdout, ", ", "mapping", i.mapping == LLM_READ ? "read" : "map");
    fprintf(stdout, ", \"bits_promise\": %s", i.bits_promise ? "true" : "false");
    fputs("}\n", stdout);
}

static int run_answer(session *s, const text *prompt) {
    text answer = { NULL, 0, 0 };
    const char *piece;
    size_t n;
    llm_stop stop;
    char last = '\n';
    if (run_queue(s, prompt) < 0) { complain("%s", llm_last_error(s->ctx)->text); return EXIT_FAILED; }
    while ((piece = llm_next(s->ctx, &n)) != NULL) {
        progress_erase(s);
        if (s->o.json) { text_add(&answer, piece, n); continue; }
        show(stdout, piece, n);
        if (n) last = piece[n - 1];
        if (fflush(stdout) != 0) break;
    }
    progress_erase(s);
    stop = llm_why(s->ctx);
    if (s->o.json) run_json(s, &answer, stop);
    else if (last != '\n') fputc('\n', stdout);
    text_free(&answer);
    if (stop == LLM_STOP_ERROR) { complain("%s", llm_last_error(s->ctx)->text); return EXIT_FAILED; }
    if (fflush(stdout) != 0 || ferror(stdout)) { complain("cannot write the answer: %s", strerror(errno)); return EXIT_FAILED; }
    if (stop == LLM_STOP_CONTEXT) complain("the context is full: the answer is cut (--ctx raises the limit)");
    if (!s->o.quiet && !s->o.json) timing_line(s->ctx);
    return EXIT_OK;
}

static int command_run(session *s) {
    text prompt = { NULL, 0, 0 };
    int code;
    if (s->o.prompt && s->o.file) { complain("-p and -f are two prompts; one is enough"); return EXIT_USAGE; }
    if (s->o.raw && s->o.system) { complain("--raw knows no messages: put the system text into the prompt"); return EXIT_USAGE; }
    if (s->o.raw && s->o.chat_template) { complain("--raw is the text without a template, and --template asks for one"); return EXIT_USAGE; }
    code = run_read_prompt(&s->o, &prompt);
    if (code == EXIT_OK && !s->o.raw && strlen(text_of(&prompt)) != prompt.n) {
        complain("the prompt has a NUL byte at offset %lu; a message is text (--raw takes any byte)",
                 (unsigned long)strlen(text_of(&prompt)));
        code = EXIT_FAILED;
    }
    if (code == EXIT_OK) code = session_load(s, s->o.threads);
    if (code == EXIT_OK) code = session_open(s, s->o.ctx);
    if (code == EXIT_OK) code = run_answer(s, &prompt);
    text_free(&prompt);
    return code;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>chat   A conversation. Ctrl-C ends the answer that is being given, never the program.

typedef struct turn { char *role; text said; } turn;
typedef struct chat {
    session *s;
    turn *turns;                 // the transcript, for /save
    size_t n_turns, cap_turns;
    text line, saved_as;
    int failed, stale_cancel, at_terminal;
    int is_block;                // what was read stood between two lines of """
} chat;

// A handler has no argument: these two are the only state outside main. `answering` is set only while llm_next may be running,
// because a cancel that finds no call waits for the next one.
static llm_ctx *volatile answering;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    llm_ctx *ctx = answering;
    interrupted = 1;
    if (ctx) llm_cancel(ctx);
#if defined(_WIN32)
    signal(number, on_interrupt);
#else
    (void)number;
#endif
}
static void catch_interrupts(void) {
#if defined(_WIN32)
    signal(SIGINT, on_interrupt);
#else
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;        // without SA_RESTART: Ctrl-C at the prompt gives the line up
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
#endif
}

static void chat_remember(chat *c, const char *role, const char *said, size_t n) {
    turn *t;
    if (c->n_turns == c->cap_turns) {
        size_t cap = c->cap_turns * 2 + 16;
        turn *more = (turn *)realloc(c->turns, cap * sizeof *more);
        if (!more) { complain("out of memory"); exit(EXIT_FAILED); }
        c->turns = more;
        c->cap_turns = cap;
    }
    t = &c->turns[c->n_turns++];
    memset(t, 0, sizeof *t);
    t->role = (char *)room_for(strlen(role) + 1, 1);
    strcpy(t->role, role);
    text_add(&t->said, said, n);
}
static void chat_forget(chat *c, size_t keep) {
    while (c->n_turns > keep) {
        turn *t = &c->turns[--c->n_turns];
        free(t->role);
        text_free(&t->said);
    }
}

typedef enum input { INPUT_LINE, INPUT_END, INPUT_GIVEN_UP } input;

// Sleeps until a terminal has a line; 0: Ctrl-C came instead, be it before the sleep has begun.
static int wait_for_line(void) {
#if !defined(_WIN32)
    sigset_t interrupt, before;
    fd_set in;
    int given_up;
    if (!is_terminal(stdin)) return 1;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    FD_ZERO(&in);
    FD_SET(STDIN_FILENO, &in);
    if (!interrupted) pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &before);
    given_up = interrupted != 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return !given_up;
#else
    return 1;
#endif
}
// One line without its end, appended to c->line. NUL bytes are dropped: a message is text.
static input chat_read_line(chat *c) {
    int ch, any = 0;
    if (!wait_for_line()) return INPUT_GIVEN_UP;
    for (;;) {
        ch = getchar();
        if (ch == EOF) {
            if (ferror(stdin) && interrupted) { clearerr(stdin); return INPUT_GIVEN_UP; }
            return any ? INPUT_LINE : INPUT_END;
        }
        any = 1;
        if (ch == '\n') break;
        if (ch) { char byte = (char)ch; text_add(&c->line, &byte, 1); }
    }
    if (c->line.n && c->line.p[c->line.n - 1] == '\r') c->line.p[--c->line.n] = 0;
    return INPUT_LINE;
}
static void chat_prompt(const chat *c, const char *prompt) {
    if (!c->at_terminal) return;
    fputs(prompt, stdout);
    fflush(stdout);
}
// What the user says: a line; lines that end in a backslash and the one after them; or everything between two lines of """.
static input chat_read(chat *c) {
    input in;
    size_t from = 0;
    int block;
    interrupted = 0;
    text_clear(&c->line);
    chat_prompt(c, "> ");
    in = chat_read_line(c);
    if (in != INPUT_LINE) return in;
    block = c->is_block = strcmp(c->line.p, "\"\"\"") == 0;
    if (block) text_clear(&c->line);
    while (block || (c->line.n > from && c->line.p[c->line.n - 1] == '\\')) {
        if (!block) c->line.p[c->line.n - 1] = '\n';
        from = c->line.n;
        chat_prompt(c, ". ");
        in = chat_read_line(c);
        if (in == INPUT_GIVEN_UP) return in;
        if (block && (in == INPUT_END || strcmp(c->line.p + from, "\"\"\"") == 0)) {
            c->line.n = from ? from - 1 : 0;           // the newline before the closing mark is not content
            c->line.p[c->line.n] = 0;
            break;
        }
        if (in == INPUT_END) break;
        if (block) text_adds(&c->line, "\n");
    }
    return INPUT_LINE;
}

static void chat_note(const chat *c, llm_stop stop) {
    switch (stop) {
    case LLM_STOP_CANCEL:  fputs("[stopped; /more goes on]\n", stderr); break;
    case LLM_STOP_LIMIT:   fprintf(stderr, "[%u tokens; /more goes on]\n", (unsigned)c->s->o.max_tokens); break;
    case LLM_STOP_CONTEXT: fputs("[the context is full; /reset starts anew, --ctx raises the limit]\n", stderr); break;
    default: break;
    }
}

// Generates until the answer stops. The transcript gets what was shown; a turn that failed leaves it.
static void chat_answer(chat *c, size_t turns_before) {
    text answer = { NULL, 0, 0 };
    const char *piece;
    size_t n;
    llm_stop stop;
    interrupted = 0;
    answering = c->s->ctx;
    for (;;) {
        piece = llm_next(c->s->ctx, &n);
        // An interrupt that came just after the last answer had ended belongs to that answer.
        if (!piece && c->stale_cancel && llm_why(c->s->ctx) == LLM_STOP_CANCEL && !interrupted) { c->stale_cancel = 0; continue; }
        c->stale_cancel = 0;
        if (!piece) break;
        progress_erase(c->s);
        show(stdout, piece, n);
        text_add(&answer, piece, n);
        if (fflush(stdout) == 0) continue;
        complain("cannot write the answer: %s", strerror(errno));
        c->failed = 1;
        break;
    }
    answering = NULL;
    progress_erase(c->s);
    stop = llm_why(c->s->ctx);
    c->stale_cancel = interrupted && stop != LLM_STOP_CANCEL;
    if (answer.n && answer.p[answer.n - 1] != '\n') { fputc('\n', stdout); fflush(stdout); }
    if (stop == LLM_STOP_ERROR) {
        complain("%s", llm_last_error(c->s->ctx)->text);
        chat_forget(c, turns_before);
        c->failed = 1;
        // All input that waited is gone: before the first answer the system message too.
        if (c->s->o.system && llm_past(c->s->ctx) == 0) llm_say(c->s->ctx, "system", c->s->o.system);
    } else {
        turn *last = c->n_turns ? &c->turns[c->n_turns - 1] : NULL;
        if (last && strcmp(last->role, "assistant") == 0) text_add(&last->said, text_of(&answer), answer.n);
        else chat_remember(c, "assistant", text_of(&answer), answer.n);
        chat_note(c, stop);
        if (!c->s->o.quiet) timing_line(c->s->ctx);
    }
    text_free(&answer);
}

static void chat_say(chat *c) {
    size_t turns_before = c->n_turns;
    if (llm_say(c->s->ctx, "user", text_of(&c->line)) < 0) {
        complain("%s", llm_last_error(c->s->ctx)->text);
        c->failed = 1;
        return;
    }
    chat_remember(c, "user", text_of(&c->line), c->line.n);
    chat_answer(c, turns_before);
}

// A new conversation with the same settings. Keeps the old one when there is no memory for a new one.
static int chat_reset(chat *c) {
    llm_ctx *old = c->s->ctx;
    if (session_open(c->s, c->s->o.ctx) != EXIT_OK) { c->s->ctx = old; return 0; }
    llm_close(old);
    chat_forget(c, 0);
    c->stale_cancel = 0;
    if (!c->s->o.system) return 1;
    if (llm_say(c->s->ctx, "system", c->s->o.system) < 0) { complain("%s", llm_last_error(c->s->ctx)->text); return 0; }
    chat_remember(c, "system", c->s->o.system, strlen(c->s->o.system));
    return 1;
}

static void chat_save(chat *c, const char *path) {
    FILE *f;
    size_t i;
    int good;
    // A slip of the finger must not cost a file; the transcript that this session wrote may be written again.
    if (strcmp(path, text_of(&c->saved_as)) != 0 && (f = fopen(path, "rb")) != NULL) {
        fclose(f);
        complain("'%s' exists; choose another name", path);
        return;
    }
    f = fopen(path, "wb");
    if (!f) { complain("cannot write '%s': %s", path, strerror(errno)); return; }
    for (i = 0; i < c->n_turns; i++) {
        fprintf(f, "%s## %s\n\n", i ? "\n" : "", c->turns[i].role);
        fwrite(text_of(&c->turns[i].said), 1, c->turns[i].said.n, f);
        fputc('\n', f);
    }
    good = !ferror(f);
    if (fclose(f) != 0 || !good) { complain("cannot write '%s': %s", path, strerror(errno)); return; }
    text_clear(&c->saved_as);
    text_adds(&c->saved_as, path);
    fprintf(stderr, "[%lu messages saved in %s]\n", (unsigned long)c->n_turns, path);
}

static void chat_temp(chat *c, const char *value) {
    llm_sampling s = c->s->sampling;
    double x;
    if (!parse_real(value, &x) || !(x >= 0 && x <= 1000)) { complain("/temp wants a number from 0 to 1000, not '%s'", value); return; }
    s.temperature = (float)x;
    if (llm_set_sampling(c->s->ctx, &s) < 0) { complain("%s", llm_last_error(c->s->ctx)->text); return; }
    c->s->sampling = s;
    fprintf(stderr, "[temperature %g]\n", x);
}

static void chat_help(void) {
    fputs("/reset         a new conversation\n"
          "/system TEXT   a new conversation with this system message (without TEXT: with none)\n"
          "/temp X        temperature from now on; 0 = always the likeliest token\n"
          "/more          goes on with an answer that was stopped or reached its limit\n"
          "/save FILE     the transcript so far\n"
          "/quit          leaves, as Ctrl-D does\n"
          "Ctrl-C stops an answer. A line that ends in \\ goes on in the next one; \"\"\" alone on a line begins and ends a text\n"
          "of several lines. Such a text, and a line that begins with a space, is never a command.\n", stderr);
}

// Returns 0 to leave.
static int chat_command(chat *c, text *system_text) {
    char *line = c->line.p, *argument = line + strcspn(line, " \t\n");
    size_t n = (size_t)(argument - line);
    argument += strspn(argument, " \t");
    if (n == 5 && strncmp(line, "/quit", n) == 0) return 0;
    if (n == 5 && strncmp(line, "/exit", n) == 0) return 0;
    if (n == 5 && strncmp(line, "/help", n) == 0) chat_help();
    else if (n == 5 && strncmp(line, "/more", n) == 0) {
        llm_stop stop = llm_why(c->s->ctx);
        if (stop == LLM_STOP_LIMIT || stop == LLM_STOP_CANCEL) chat_answer(c, c->n_turns);
        else complain("there is no answer to go on with");
    }
    else if (n == 5 && strncmp(line, "/temp", n) == 0) chat_temp(c, argument);
    else if (n == 5 && strncmp(line, "/save", n) == 0) {
        if (*argument) chat_save(c, argument);
        else complain("/save wants a file name");
    }
    else if (n == 6 && strncmp(line, "/reset", n) == 0) {
        if (chat_reset(c)) fputs("[a new conversation]\n", stderr);
    }
    else if (n == 7 && strncmp(line, "/system", n) == 0) {
        text_clear(system_text);
        text_adds(system_text, argument);
        c->s->o.system = system_text->n ? system_text->p : NULL;
        if (chat_reset(c)) fprintf(stderr, "[a new conversation, %s system message]\n", system_text->n ? "with this" : "without a");
    }
    else complain("no command is called '%.*s'; /help lists them, a space before it sends it as text", (int)n, line);
    return 1;
}

static void chat_loop(chat *c) {
    text system_text = { NULL, 0, 0 };
    for (;;) {
        input in = chat_read(c);
        if (in == INPUT_END) break;
        if (in == INPUT_GIVEN_UP) { fputs("\n[/quit or Ctrl-D leaves]\n", stderr); continue; }
        if (c->line.n == 0) continue;
        if (c->line.p[0] == '/' && !c->is_block) {
            if (!chat_command(c, &system_text)) break;
        } else chat_say(c);
        if (ferror(stdout)) break;                                       // nobody hears what comes
    }
    if (c->at_terminal) fputc('\n', stdout);
    text_free(&system_text);
}

static int command_chat(session *s) {
    chat c;
    llm_info info;
    int code;
    memset(&c, 0, sizeof c);
    c.s = s;
    c.at_terminal = is_terminal(stdin) && is_terminal(stdout);
    code = session_load(s, s->o.threads);
    if (code != EXIT_OK) return code;
    memset(&info, 0, sizeof info);
    llm_model_info(s->model, &info);
    if (info.text_status < 0) { complain("this model cannot talk: %s", info.text_reason); return EXIT_FAILED; }
    if (c.at_terminal) {
        shows(stderr, *info.name ? info.name : s->o.model);
        fputs(". /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.\n", stderr);
    }
    catch_interrupts();
    if (chat_reset(&c)) chat_loop(&c);
    else c.failed = 1;
    chat_forget(&c, 0);
    free(c.turns);
    text_free(&c.line);
    text_free(&c.saved_as);
    return c.failed && !c.at_terminal ? EXIT_FAILED : EXIT_OK;
}

//------------------------------------------------------------------------------------------------------------------------------
// >>info   What a file contains.

// '*' stands for the architecture.
static const char *const info_keys[] = {
    "general.architecture", "general.name", "general.basename", "general.finetune", "general.version", "general.size_label",
    "general.author", "general.organization", "general.quantized_by", "general.license", "general.license.name", "general.url",
    "general.repo_url", "general.source.url", "general.description", "general.languages", "general.tags", "general.file_type",
    "general.quantization_version", "general.alignment", "split.no", "split.count", "split.tensors.count",
    "*.context_length", "*.embedding_length", "*.block_count", "*.feed_forward_length", "*.vocab_size",
    "*.attention.head_count", "*.attention.head_count_kv", "*.attention.key_length", "*.attention.value_length",
    "*.attention.layer_norm_rms_epsilon", "*.attention.layer_norm_epsilon", "*.attention.sliding_window", "*.attention.scale",
    "*.attn_logit_softcapping", "*.final_logit_softcapping", "*.rope.dimension_count", "*.rope.freq_base",
    "*.rope.scaling.type", "*.rope.scaling.factor", "*.rope.scaling.original_context_length", "*.rope.scaling.attn_factor",
    "*.expert_count", "*.expert_used_count", "*.expert_feed_forward_length",
    "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id", "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.padding_token_id",
    "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token", "tokenizer.ggml.add_space_prefix", "tokenizer.chat_template",
};

// The whole value of a key; 0 if the file has no such key.
static int info_value(const llm_model *model, const char *key, text *out) {
    size_t n = llm_meta(model, key, NULL, 0);
    char *value;
    if (n == LLM_FAILED) return 0;
    value = (char *)room_for(n + 1, 1);
    llm_meta(model, key, value, n + 1);
    text_clear(out);
    text_add(out, value, n);
    free(value);
    return 1;
}
static int info_key(const char *pattern, const char *arch, char *out, size_t cap) {
    int n = pattern[0] == '*' ? snprintf(out, cap, "%s%s", arch, pattern + 1) : snprintf(out, cap, "%s", pattern);
    return n > 0 && (size_t)n < cap;
}

// The sum of one file, as llm_fingerprint computes it of all shards together. Returns 0 after a complaint.
static int sha256_file(const char *path, char *hex) {
    enum { PIECE = 1 << 18 };
    FILE *f = fopen(path, "rb");
    char *piece = (char *)malloc(PIECE);
    llm__sha256 s;
    size_t n;
    int good = f && piece;
    llm__sha256_begin(&s);
    if (!piece) complain("out of memory");
    else if (!f) complain("cannot open '%s': %s", path, strerror(errno));
    while (good && (n = fread(piece, 1, PIECE, f)) > 0) llm__sha256_add(&s, piece, n);
    if (good && ferror(f)) { complain("cannot read '%s': %s", path, strerror(errno)); good = 0; }
    llm__sha256_end(&s, hex);
    if (f) fclose(f);
    free(piece);
    return good;
}
// Files that the model lies in: what a name looks like does not count.
static uint32_t info_shards(const llm_model *model) {
    text value = { NULL, 0, 0 };
    uint64_t n = 1;
    if (!info_value(model, "split.count", &value) || !parse_u64(value.p, &n) || n < 1 || n > 999) n = 1;
    text_free(&value);
    return (uint32_t)n;
}
// A line for the file, or for each of its shards, whose names end in "-00001-of-00003.gguf"; for JSON an array. Returns 0 after a complaint.
static int info_sums(const session *s, text *out) {
    const uint32_t shards = info_shards(s->model);
    const size_t n = strlen(s->o.model);
    char *path = (char *)room_for(n + 1, 1), hex[65];
    uint32_t k;
    memcpy(path, s->o.model, n + 1);
    for (k = 1; k <= shards; k++) {
        if (shards > 1 && n >= 20) snprintf(path + n - 20, 21, "-%05u-of-%05u.gguf", (unsigned)(k % 100000), (unsigned)(shards % 100000));
        if (!sha256_file(path, hex)) break;
        text_adds(out, s->o.json ? k == 1 ? "[\"" : "\", \"" : "");
        text_adds(out, hex);
        if (s->o.json) continue;
        text_adds(out, "  ");
        text_adds(out, path);
        text_adds(out, "\n");
    }
    if (s->o.json) text_adds(out, "\"]");
    free(path);
    return k > shards;
}

static void info_text(const session *s, const llm_info *i, const text *sums) {
    char a[32];
    size_t k;
    uint32_t t;
    text value = { NULL, 0, 0 };
    char key[256];
    printf("%-12s ", "model");
    shows(stdout, s->o.model);
    printf("\n%-12s ", "name");
    shows(stdout, *i->name ? i->name : "(none)");
    printf("\n%-12s %s ", "kind", i->arch);
    shows(stdout, i->size_label);
    putchar('\n');
    bytes_text(a, sizeof a, i->file_bytes);
    printf("%-12s %s (%llu bytes)\n", "file", a, (unsigned long long)i->file_bytes);
    bytes_text(a, sizeof a, i->weight_bytes);
    printf("%-12s %llu in %s, %.2f bits each\n", "weights", (unsigned long long)i->n_params, a, i->bits_per_weight);
    bytes_text(a, sizeof a, i->bytes_per_token);
    printf("%-12s %s of weights are read to decode one token\n", "per token", a);
    printf("%-12s %u layers, width %u, %u heads (%u of keys), context %u", "shape", (unsigned)i->n_layer, (unsigned)i->n_embd,
           (unsigned)i->n_head, (unsigned)i->n_head_kv, (unsigned)i->n_ctx_train);
    if (i->n_expert) printf(", %u experts of which %u are used", (unsigned)i->n_expert, (unsigned)i->n_expert_used);
    printf("\n%-12s %u tokens", "vocabulary", (unsigned)i->n_vocab);
    if (*i->vocab_type) {
        printf(", ");
        shows(stdout, i->vocab_type);
        printf("%s", *i->pre_tokenizer ? ", split as " : "");
        shows(stdout, i->pre_tokenizer);
    }
    printf(", %s chat template\n", i->has_template ? "with a" : "no");
    if (i->text_status < 0) printf("%-12s no text: %s\n", "", i->text_reason);
    puts("\ntype               weights           bytes   share");
    for (t = 0; t < i->n_types; t++)
        printf("%-8s %17llu %15llu  %5.1f %%\n", i->types[t].name, (unsigned long long)i->types[t].n_weights,
               (unsigned long long)i->types[t].n_bytes,
               100.0 * (double)i->types[t].n_bytes / (double)(i->weight_bytes ? i->weight_bytes : 1));
    puts("");
    for (k = 0; k < sizeof info_keys / sizeof info_keys[0]; k++) {
        size_t cut;
        if (!info_key(info_keys[k], i->arch, key, sizeof key) || !info_value(s->model, key, &value)) continue;
        for (cut = 0; cut < value.n && cut < 90 && value.p[cut] != '\n'; cut++) { }
        while (cut < value.n && cut > 0 && ((unsigned char)value.p[cut] & 0xc0) == 0x80) cut--;
        printf("%s = ", key);
        show(stdout, value.p, cut);
        puts(cut < value.n ? " ..." : "");
    }
    if (sums->n) putchar('\n');
    show(stdout, text_of(sums), sums->n);
    text_free(&value);
}

static void info_json(const session *s, const llm_info *i, const text *sums) {
    text value = { NULL, 0, 0 };
    char key[256];
    const char *comma = "";
    size_t k;
    uint32_t t;
    json_string(stdout, "{", "model", s->o.model);
    json_string(stdout, ", ", "arch", i->arch);
    json_string(stdout, ", ", "name", i->name);
    json_string(stdout, ", ", "size_label", i->size_label);
    json_count(stdout, "file_bytes", i->file_bytes);
    json_count(stdout, "weight_bytes", i->weight_bytes);
    json_count(stdout, "n_params", i->n_params);
    json_real(stdout, "bits_per_weight", i->bits_per_weight);
    json_count(stdout, "bytes_per_token", i->bytes_per_token);
    json_count(stdout, "n_vocab", i->n_vocab);
    json_count(stdout, "n_ctx_train", i->n_ctx_train);
    json_count(stdout, "n_embd", i->n_embd);
    json_count(stdout, "n_layer", i->n_layer);
    json_count(stdout, "n_head", i->n_head);
    json_count(stdout, "n_head_kv", i->n_head_kv);
    json_count(stdout, "n_expert", i->n_expert);
    json_count(stdout, "n_expert_used", i->n_expert_used);
    json_string(stdout, ", ", "vocab_type", i->vocab_type);
    json_string(stdout, ", ", "pre_tokenizer", i->pre_tokenizer);
    printf(", \"has_template\": %s, \"text\": %s", i->has_template ? "true" : "false", i->text_status >= 0 ? "true" : "false");
    if (i->text_status < 0) json_string(stdout, ", ", "text_reason", i->text_reason);
    printf(", \"types\": [");
    for (t = 0; t < i->n_types; t++) {
        json_string(stdout, t ? ", {" : "{", "name", i->types[t].name);
        json_count(stdout, "gguf_type", i->types[t].gguf_type);
        json_count(stdout, "n_weights", i->types[t].n_weights);
        json_count(stdout, "n_bytes", i->types[t].n_bytes);
        fputs("}", stdout);
    }
    printf("], \"metadata\": {");
    for (k = 0; k < sizeof info_keys / sizeof info_keys[0]; k++) {
        if (!info_key(info_keys[k], i->arch, key, sizeof key) || !info_value(s->model, key, &value)) continue;
        fputs(comma, stdout);
        comma = ", ";
        json_text(stdout, key, strlen(key));
        fputs(": ", stdout);
        json_text(stdout, value.p, value.n);
    }
    putchar('}');
    if (sums->n) printf(", \"sha256\": %s", text_of(sums));
    puts("}");
    text_free(&value);
}

static int command_info(session *s) {
    llm_info info;
    text value = { NULL, 0, 0 };
    int code = session_load(s, 1);
    if (code != EXIT_OK) return code;
    memset(&info, 0, sizeof info);
    llm_model_info(s->model, &info);
    if (s->o.key) {
        if (!info_value(s->model, s->o.key, &value)) { complain("the file has no key '%s'", s->o.key); return EXIT_FAILED; }
        if (s->o.json) json_text(stdout, value.p, value.n);
        else show(stdout, value.p, value.n);
        fputc('\n', stdout);
        text_free(&value);
    } else {
        if (s->o.sha256 && !info_sums(s, &value)) { text_free(&value); return EXIT_FAILED; }
        if (s->o.json) info_json(s, &info, &value);
        else info_text(s, &info, &value);
        text_free(&value);
    }
    return written();
}

#include "facts.h"

//------------------------------------------------------------------------------------------------------------------------------
// >>bench   Speed on this machine, next to what the machine can read. Tokens, not text: a file without a vocabulary can be measured too.
//           Kernels that are wrong must not look fast: a continuation is checked, and when it fails no speed is claimed.

enum { MIN_PAIRS = 5, PROBE_MS = 60, CHECK_PROMPT = 10 };

typedef struct bench {
    double prefill_tok_s, decode_tok_s, first_token_ms, prefill_spread_pct, decode_spread_pct;
    double fastest_decode_tok_s, read_gb_s, decode_gb_s, roofline_pct, check_distance;
    char cpu[128];
    llm_info info;
    llm_stats_info stats;
    uint64_t bytes_per_token, peak_rss_bytes;
    uint32_t n_checked;
} bench;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
// Sorts. The spread is that between the extremes, in percent of the median.
static double median(double *v, uint32_t n, double *spread_pct) {
    double m;
    qsort(v, n, sizeof *v, by_value);
    m = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    if (spread_pct) *spread_pct = m > 0 ? 100 * (v[n - 1] - v[0]) / m : 0;
    return m;
}

static uint32_t bench_ctx(const options *o) { return o->depth + o->n_prompt + o->n_gen + 1; }

// The same ids in every run and on every machine.
static void bench_tokens(llm_token *out, uint32_t n, uint32_t n_vocab) {
    uint64_t state = 20260901;
    uint32_t i;
    for (i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[i] = (llm_token)((state >> 33) % n_vocab);
    }
}
// The library's word for what went wrong. Returns 0, as those who fail do.
static int bench_failed(session *s, const llm_ctx *ctx) {
    progress_erase(s);
    complain("%s", llm_last_error(ctx)->text);
    return 0;
}

static int bench_prefill(session *s, const llm_token *prompt, double *tok_s, double *first_token_ms) {
    double start;
    if (llm_rewind(s->ctx, s->o.depth) < 0) return bench_failed(s, s->ctx);
    start = now_ms();
    if (llm_eval(s->ctx, prompt, s->o.n_prompt) < 0) return bench_failed(s, s->ctx);
    *tok_s = per_second(s->o.n_prompt, now_ms() - start);
    if (llm_sample(s->ctx) == LLM_NO_TOKEN) return bench_failed(s, s->ctx);
    *first_token_ms = now_ms() - start;
    return 1;
}
// From the end of the prompt on.
static int bench_decode(session *s, double *tok_s) {
    double start;
    llm_token token;
    uint32_t i;
    if (llm_rewind(s->ctx, (size_t)s->o.depth + s->o.n_prompt) < 0) return bench_failed(s, s->ctx);
    token = llm_sample(s->ctx);
    start = now_ms();
    for (i = 0; i < s->o.n_gen && token != LLM_NO_TOKEN; i++) {
        if (llm_eval(s->ctx, &token, 1) < 0) return bench_failed(s, s->ctx);
        token = llm_sample(s->ctx);
    }
    if (token == LLM_NO_TOKEN) return bench_failed(s, s->ctx);
    *tok_s = per_second(s->o.n_gen, now_ms() - start);
    return 1;
}

// Rounds of prefill, decode and a probe of what a token reads, so that all three meet the same neighbours and the same heat. Where rounds
// are few, decode and probe go on in pairs.
static int bench_rounds(session *s, bench *b, const llm_token *prompt, double *prefill, double *decode, double *first) {
    const uint32_t rounds = s->o.rounds, pairs = rounds > (uint32_t)MIN_PAIRS ? rounds : (uint32_t)MIN_PAIRS;
    double gb_s, tok_s, ms;
    uint32_t i;
    if (!bench_prefill(s, prompt, &tok_s, &ms) || !bench_decode(s, &tok_s)) return 0;      // not counted: pages of the file come in
    for (i = 0; i < pairs; i++) {
        if (i < rounds && !bench_prefill(s, prompt, &prefill[i], &first[i])) return 0;
        if (!bench_decode(s, &tok_s)) return 0;
        if (i < rounds) decode[i] = tok_s;
        if (tok_s > b->fastest_decode_tok_s) b->fastest_decode_tok_s = tok_s;
        if (llm_probe(s->ctx, PROBE_MS, &gb_s) < 0) return bench_failed(s, s->ctx);
        if (gb_s > b->read_gb_s) b->read_gb_s = gb_s;
    }
    return 1;
}
static int bench_measure(session *s, bench *b) {
    const uint32_t rounds = s->o.rounds, n = s->o.depth + s->o.n_prompt;
    double *prefill = (double *)room_for(rounds, sizeof(double)), *decode = (double *)room_for(rounds, sizeof(double));
    double *first = (double *)room_for(rounds, sizeof(double)), fastest;
    llm_token *tokens = (llm_token *)room_for(n, sizeof *tokens);
    int good;
    bench_tokens(tokens, n, b->info.n_vocab);
    good = s->o.depth == 0 || llm_eval(s->ctx, tokens, s->o.depth) >= 0 || bench_failed(s, s->ctx);
    good = good && bench_rounds(s, b, tokens + s->o.depth, prefill, decode, first);
    if (good) {
        b->prefill_tok_s = median(prefill, rounds, &b->prefill_spread_pct);
        b->decode_tok_s = median(decode, rounds, &b->decode_spread_pct);
        b->first_token_ms = median(first, rounds, NULL);
        b->stats = stats_of(s->ctx);
        b->bytes_per_token = b->stats.bytes_per_token;
        b->peak_rss_bytes = peak_rss_bytes();
        b->decode_gb_s = (double)b->bytes_per_token * b->decode_tok_s * 1e-9;
        fastest = (double)b->bytes_per_token * b->fastest_decode_tok_s * 1e-9;
        if (b->read_gb_s > fastest) fastest = b->read_gb_s;      // whichever was faster is the roof: nothing is above 100 %
        b->roofline_pct = fastest > 0 ? 100 * b->decode_gb_s / fastest : 0;
    }
    progress_erase(s);
    free(prefill);
    free(decode);
    free(first);
    free(tokens);
    return good;
}

// ---- the check ----
//
// A prompt and its greedy continuation by scalar kernels with floats for keys and values is what is right. The kernels in use, fed with the
// same tokens, must give the same logits: bit for bit, or in a build that cannot promise that, the same best token each time. Keys and
// values in 8 bits give others; their squared distance, in units of the variance of the logits, must stay below a bound: the models tried have
// 1e-7 to 9e-3 at any position, and what is gibberish has 1 and more.

#define CHECK_BOUND 0.05

// Scalar kernels are slow, so there are fewer tokens where each takes longer.
static uint32_t check_length(const bench *b) {
    return b->info.bytes_per_token < 20000000 ? 16 : b->info.bytes_per_token < 200000000 ? 8 : 4;
}

// Text where there is a vocabulary: what a model is sure of does not hang on the last digits. Else the ids of the measurement.
static void check_prompt(const llm_model *model, llm_token *out, uint32_t n_vocab) {
    static const char story[] = "Once upon a time there was a little girl. Once upon a time there was a little";
    llm_token ids[sizeof story + 8];
    size_t n = llm_tokenize(model, story, sizeof story - 1, LLM_ADD_SPECIAL, ids, sizeof ids / sizeof ids[0]);
    bench_tokens(out, CHECK_PROMPT, n_vocab);
    if (n >= CHECK_PROMPT && n <= sizeof ids / sizeof ids[0]) memcpy(out, ids, CHECK_PROMPT * sizeof *out);
}

static double check_distance(const float *want, const float *got, uint32_t n) {
    double mean = 0, variance = 0, distance = 0;
    uint32_t i;
    for (i = 0; i < n; i++) mean += (double)want[i];
    mean /= n;
    for (i = 0; i < n; i++) {
        variance += ((double)want[i] - mean) * ((double)want[i] - mean);
        distance += ((double)want[i] - (double)got[i]) * ((double)want[i] - (double)got[i]);
    }
    return variance > 0 ? distance / variance : distance > 0 ? 1 : 0;
}

// tokens[CHECK_PROMPT + n] and the logits [n + 1][n_vocab] after the prompt and after each of the n. follow: the tokens are there already.
static int check_run(session *s, llm_model *model, llm_kv_type kv, uint32_t n, int follow, llm_token *tokens, float *logits,
                     uint32_t n_vocab) {
    llm_ctx_desc desc;
    llm_error e;
    llm_ctx *ctx;
    uint32_t i;
    int good;
    memset(&desc, 0, sizeof desc);
    desc.n_ctx = CHECK_PROMPT + n;
    desc.kv_type = kv;
    ctx = llm_open(model, &desc, &e);
    if (!ctx) { progress_erase(s); complain("%s", e.text); return 0; }
    good = llm_eval(ctx, tokens, CHECK_PROMPT) >= 0;
    for (i = 0; good; i++) {
        llm_token *next = &tokens[CHECK_PROMPT + i];
        memcpy(logits + (size_t)i * n_vocab, llm_logits(ctx), n_vocab * sizeof *logits);
        if (i == n) break;
        if (!follow) *next = llm_sample(ctx);
        good = *next != LLM_NO_TOKEN && llm_eval(ctx, next, 1) >= 0;
    }
    if (!good) bench_failed(s, ctx);
    llm_close(ctx);
    return good;
}
static uint32_t best_of(const float *logits, uint32_t n) {
    uint32_t i, best = 0;
    for (i = 1; i < n; i++) if (logits[i] > logits[best]) best = i;
    return best;
}
// Compares row after row. Returns 0 after a complaint.
static int check_rows(session *s, bench *b, const float *want, const float *got, uint32_t n_rows) {
    const uint32_t n = b->info.n_vocab;
    uint32_t i;
    for (i = 0; i < n_rows; i++, want += n, got += n) {
        b->check_distance += check_distance(want, got, n) / n_rows;
        if (s->kv_type == LLM_KV_Q8_0) continue;
        if (b->stats.bits_promise ? memcmp(want, got, n * sizeof *want) == 0 : best_of(want, n) == best_of(got, n)) continue;
        complain("the check failed: after %u tokens the logits of %s kernels are not those of scalar kernels (best token %u, expected %u); "
                 "no speed is claimed for kernels that are wrong", (unsigned)(CHECK_PROMPT + i), llm_isa_name(b->stats.isa),
                 (unsigned)best_of(got, n), (unsigned)best_of(want, n));
        return 0;
    }
    if (b->check_distance <= CHECK_BOUND) return 1;                // a NaN is not
    complain("the check failed: logits with %s keys and values are %.3g of their variance from the right ones, and %.3g is the bound; "
             "no speed is claimed for kernels that are wrong", kv_name(s->kv_type), b->check_distance, CHECK_BOUND);
    return 0;
}
static int bench_check(session *s, bench *b) {
    const uint32_t n = check_length(b), n_vocab = b->info.n_vocab;
    llm_token *tokens = (llm_token *)room_for(CHECK_PROMPT + n, sizeof *tokens);
    float *want = (float *)room_for((size_t)n_vocab * (n + 1), sizeof *want);
    float *got = (float *)room_for((size_t)n_vocab * (n + 1), sizeof *got);
    llm_model_desc desc;
    llm_error e;
    llm_model *scalar = NULL;
    int good = session_desc(s, &desc);                             // the file comes in the same way, by force if need be
    desc.n_threads = b->stats.n_threads;
    desc.isa = LLM_ISA_SCALAR;
    desc.cores = LLM_CORES_ANY;
    check_prompt(s->model, tokens, n_vocab);
    if (good && !(scalar = llm_load(s->o.model, &desc, &e))) complain("%s", e.text);
    good = scalar && check_run(s, scalar, s->kv_type == LLM_KV_F32 ? LLM_KV_F32 : LLM_KV_F16, n, 0, tokens, want, n_vocab);
    good = good && check_run(s, s->model, s->kv_type, n, 1, tokens, got, n_vocab) && check_rows(s, b, want, got, n + 1);
    b->n_checked = n;
    progress_erase(s);
    llm_unload(scalar);
    free(tokens);
    free(want);
    free(got);
    return good;
}

static void bench_facts(const session *s, const bench *b) {
    facts_run run;
    char program[32];
    memset(&run, 0, sizeof run);
    snprintf(program, sizeof program, "llm.h %d.%d.%d", LLM_VERSION_MAJOR, LLM_VERSION_MINOR, LLM_VERSION_PATCH);
    run.program = program;
    run.cpu = b->cpu;
    run.prefill_timing = "evaluation";
    run.decode_timing = "evaluation, greedy sampling";
    run.n_ctx = bench_ctx(&s->o);
    run.n_batch = s->o.batch ? s->o.batch : 512;
    run.prompt = s->o.n_prompt;
    run.gen = s->o.n_gen;
    run.depth = s->o.depth;
    run.rounds = s->o.rounds;
    facts_json(stdout, &b->stats, &b->info, &run);
}
static void bench_json(const session *s, const bench *b) {
    json_string(stdout, "{", "model", s->o.model);
    json_string(stdout, ", ", "name", b->info.name);
    json_string(stdout, ", ", "arch", b->info.arch);
    json_string(stdout, ", ", "cpu", b->cpu);
    json_string(stdout, ", ", "isa", llm_isa_name(b->stats.isa));
    json_count(stdout, "threads", b->stats.n_threads);
    json_string(stdout, ", ", "kv", kv_name(b->stats.kv_type));
    json_count(stdout, "prompt", s->o.n_prompt);
    json_count(stdout, "gen", s->o.n_gen);
    json_count(stdout, "depth", s->o.depth);
    json_count(stdout, "rounds", s->o.rounds);
    json_real(stdout, "load_ms", b->stats.load_ms);
    json_real(stdout, "first_token_ms", b->first_token_ms);
    json_real(stdout, "prefill_tok_s", b->prefill_tok_s);
    json_real(stdout, "prefill_spread_pct", b->prefill_spread_pct);
    json_real(stdout, "decode_tok_s", b->decode_tok_s);
    json_real(stdout, "decode_spread_pct", b->decode_spread_pct);
    json_real(stdout, "decode_gb_s", b->decode_gb_s);
    json_real(stdout, "read_gb_s", b->read_gb_s);
    json_real(stdout, "roofline_pct", b->roofline_pct);
    json_count(stdout, "bytes_per_token", b->bytes_per_token);
    json_count(stdout, "file_bytes", b->info.file_bytes);
    json_count(stdout, "peak_rss_bytes", b->peak_rss_bytes);
    printf(", \"check\": true, \"check_tokens\": %u, \"check_distance\": %.3g", (unsigned)b->n_checked, b->check_distance);
    printf(", \"bits_promise\": %s, \"facts\": ", b->stats.bits_promise ? "true" : "false");
    bench_facts(s, b);
    puts("}");
}
static void bench_text(const session *s, const bench *b) {
    char size[32];
    const char *name = *b->info.name ? b->info.name : s->o.model;
    bytes_text(size, sizeof size, b->info.file_bytes);
    printf("%-12s ", "model");
    shows(stdout, name);
    printf(" (%s, %s)\n", b->info.arch, size);
    printf("%-12s %s, %s, %u thread%s\n", "machine", b->cpu, llm_isa_name(b->stats.isa), (unsigned)b->stats.n_threads,
           b->stats.n_threads == 1 ? "" : "s");
    printf("%-12s %8.1f ms\n", "load", b->stats.load_ms);
    printf("%-12s %8.1f ms     after a prompt of %u tokens at depth %u, %s keys and values\n", "first token", b->first_token_ms,
           (unsigned)s->o.n_prompt, (unsigned)s->o.depth, kv_name(b->stats.kv_type));
    printf("%-12s %8.1f tok/s  spread %.1f %%\n", "prefill", b->prefill_tok_s, b->prefill_spread_pct);
    printf("%-12s %8.1f tok/s  spread %.1f %%, %u tokens\n", "decode", b->decode_tok_s, b->decode_spread_pct, (unsigned)s->o.n_gen);
    bytes_text(size, sizeof size, b->bytes_per_token);
    printf("%-12s %8.2f GB/s   %s per token, %.1f %% of what this machine reads\n", "", b->decode_gb_s, size, b->roofline_pct);
    printf("%-12s %8.2f GB/s   the same bytes without the arithmetic, the fastest pass\n", "read", b->read_gb_s);
    if (b->peak_rss_bytes) printf("%-12s %8.1f MB     at most, file pages included\n", "memory", (double)b->peak_rss_bytes * 1e-6);
    if (s->kv_type == LLM_KV_Q8_0)
        printf("%-12s %8u tokens  %.1e of the variance from scalar kernels with f16\n", "check", (unsigned)b->n_checked, b->check_distance);
    else
        printf("%-12s %8u tokens  as scalar kernels give them\n", "check", (unsigned)b->n_checked);
    if (!b->stats.bits_promise) printf("%-12s not promised: %s\n", "same bits", b->stats.bits_reason);
}

static int command_bench(session *s) {
    bench *b = (bench *)calloc(1, sizeof *b);
    int code;
    if (!b) { complain("out of memory"); return EXIT_FAILED; }
    memset(&s->sampling, 0, sizeof s->sampling);           // greedy: the cheapest choice, so that the model is measured
    code = session_load(s, s->o.threads);
    if (code == EXIT_OK) {
        llm_model_info(s->model, &b->info);
        cpu_name(b->cpu, sizeof b->cpu);
        code = session_open(s, bench_ctx(&s->o));
    }
    if (code == EXIT_OK && (!bench_measure(s, b) || !bench_check(s, b))) code = EXIT_FAILED;
    if (code == EXIT_OK) {
        if (s->o.json) bench_json(s, b);
        else bench_text(s, b);
        code = written();
    }
    free(b);
    return code;
}

#include "json.h"
#include "doctor.h"
#include "compare.h"

//------------------------------------------------------------------------------------------------------------------------------
// >>main

typedef struct command { int id; const char *name, *summary, *usage; int (*run)(session *s); } command;

static const command commands[] = {
    { RUN, "run", "answers one prompt",
      "llm run MODEL [-p TEXT | -f FILE | < FILE] [options]\n\n"
      "Answers one prompt. The text goes through the model's chat template unless --raw is given.\n", command_run },
    { CHAT, "chat", "holds a conversation",
      "llm chat MODEL [options]\n\n"
      "Holds a conversation. Inside it, /help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves.\n", command_chat },
    { INFO, "info", "shows what a file contains",
      "llm info MODEL [options]\n\n"
      "Shows what a file contains: metadata, weights and bytes per stored type, sizes.\n", command_info },
    { BENCH, "bench", "measures speed on this machine",
      "llm bench MODEL [options]\n\n"
      "Measures prefill and decode with fixed token ids, greedily, next to how fast this machine reads what a token reads. Needs no\n"
      "vocabulary. A continuation by scalar kernels is compared with that of the kernels in use; if they differ, nothing is claimed.\n",
      command_bench },
    { PLAN, "plan", "says what a file would take, without loading it",
      "llm plan MODEL [options]\n\n"
      "Says from the header alone what loading and a conversation would take, and how fast it can be. Ends with 1 if it does not fit.\n",
      command_plan },
    { REPORT, "report", "a short run, and what is to be said about it",
      "llm report MODEL [options]\n\n"
      "Runs 64 tokens of prompt and 32 of answer and prints facts and findings, fit to be pasted into an issue: no path, no text.\n",
      command_report },
    { DOCTOR, "doctor", "finds out why it is slow, by trying",
      "llm doctor MODEL [options]\n\n"
      "Describe the set-up that is slow by the options that it uses. The doctor changes one thing at a time, each in a process of its\n"
      "own, repairs what gains most, goes on from there, and says what to change first. Ctrl-C ends it with what is known so far.\n",
      command_doctor },
    { PROBE, "probe-run", NULL,
      "llm probe-run MODEL [options]\n\n"
      "One experiment of the doctor, in a process of its own: one JSON object on stdout.\n", command_probe_run },
    { COMPARE, "compare", "explains two speeds",
      "llm compare MINE.json THEIRS.json [--json]\n       llm compare --share MINE.json\n\n"
      "Compares two reports of llm bench --json, or of llama-bench -o json: which conditions differ, then how much of the ratio of their\n"
      "speeds is explained by causes that both reports state. What no cause explains is said to be unexplained.\n", command_compare },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *f) {
    size_t i;
    fprintf(f, "llm %d.%d.%d - runs GGUF language models on the CPU\n\nusage: llm COMMAND MODEL.gguf [options]\n\n", LLM_VERSION_MAJOR,
            LLM_VERSION_MINOR, LLM_VERSION_PATCH);
    for (i = 0; i < N_COMMANDS; i++)
        if (commands[i].summary) fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\nllm COMMAND --help lists the options. Exit codes: 0 success, 1 failure, 2 a command line that makes no sense.\n", f);
}

static int run_command(const command *c, const char *program, int n, char **rest) {
    session s;
    int code;
    memset(&s, 0, sizeof s);
    s.program = program;
    options_default(&s.o);
    if (!options_parse(&s.o, c->id, c->name, n, rest)) return EXIT_USAGE;
    if (s.o.help) {
        printf("usage: %s\n", c->usage);
        options_help(stdout, c->id);
        return written();
    }
    if (c->id == COMPARE && (!s.o.model || (!s.o.theirs && !s.o.share))) {
        complain("which reports? llm compare MINE.json THEIRS.json");
        return EXIT_USAGE;
    }
    if (s.o.share && s.o.theirs) { complain("--share prints one report: '%s' is too much", s.o.theirs); return EXIT_USAGE; }
    if (!s.o.model && !s.o.table) { complain("which model? llm %s MODEL.gguf", c->name); return EXIT_USAGE; }
    session_sampling(&s);
    code = c->run(&s);
    session_close(&s);
    return code;
}

// A stream that is closed when the program starts would lend its number to the next file that is opened, and what is meant for the stream
// would go into that: a page, a report. One that can be opened but not used takes the place, and using it fails as it should.
static void keep_streams(void) {
#if !defined(_WIN32)
    int f;
    for (f = 0; f < 3; f++)
        if (fcntl(f, F_GETFD) < 0) (void)open("/dev/null", f == 0 ? O_WRONLY : O_RDONLY);
#endif
}

int main(int argc, char **argv) {
    size_t i;
#if defined(_WIN32)
    SetConsoleOutputCP(CP_UTF8);
#endif
    keep_streams();
    if (argc < 2) { usage(stderr); return EXIT_USAGE; }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return written();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("llm %d.%d.%d\n", LLM_VERSION_MAJOR, LLM_VERSION_MINOR, LLM_VERSION_PATCH);
        return written();
    }
    for (i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return run_command(&commands[i], argv[0], argc - 2, argv + 2);
    complain("no command is called '%s'; llm --help lists them", argv[1]);
    return EXIT_USAGE;
}
