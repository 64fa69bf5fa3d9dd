// fuzz_cli.c - the program: the first lines of the input, up to an empty one, are the words of its command line, and what follows is both
// its standard input and the file "in". It may end with 0, 1 or 2; a command line that makes no sense costs one sentence on stderr and
// nothing on stdout; what --json prints is JSON.
//
// The program is taken in whole, its main under another name, and the system is replaced as far as it would leave this process: streams are
// memory, files lie in one folder or nowhere, no process is started, no thread, and computations are cancelled after a while.
#include "fuzz.h"
#include "small_models.h"

#if !defined(_WIN32)
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#endif

enum { MOST_WORDS = 40, MOST_EVALS = 60 };

static FILE *cli_in, *cli_out, *cli_err;
static void cli_show(const char *sentence, const char *bytes) { fprintf(stderr, "%s: %s\n", sentence, bytes); }
static const char *cli_bytes;                      // behind the empty line
static size_t cli_n;
static uint32_t cli_evals;
static const char cli_folder[] = "build/fuzz/files";

// ---- the system, replaced

// A name in the folder; nothing outside it is touched.
static const char *cli_path(const char *name) {
    static char path[600];
    if (strchr(name, '/') || strstr(name, "..") || strlen(name) > 500) return "build/fuzz/files/none/such";
    sprintf(path, "%s/%s", cli_folder, name);
    return path;
}
static FILE *cli_fopen(const char *name, const char *mode) {
    if (strcmp(name, "/proc/self/status") == 0 || strcmp(name, "/proc/cpuinfo") == 0) return fopen(name, mode);
    if (strcmp(name, "in") == 0 && *mode == 'r') return fmemopen((void *)(size_t)(cli_n ? cli_bytes : " "), cli_n + !cli_n, "rb");
    if (*mode != 'r') return strchr(name, '/') ? (errno = EACCES, (FILE *)NULL) : tmpfile();       // written, and forgotten
    return fopen(cli_path(name), mode);
}
static int cli_puts(const char *s) { return fprintf(cli_out, "%s\n", s); }
static pid_t cli_fork(void) { errno = EAGAIN; return -1; }
static void cli_exit(int code) { fuzz_failed("exit was called", __FILE__, code); }

static void cli_tasks(void *user, uint32_t n, void (*task)(void *arg, uint32_t index), void *arg) {
    uint32_t i;
    (void)user;
    for (i = 0; i < n; i++) task(arg, i);
}
static llm_model *cli_load(const char *path, const llm_model_desc *desc, llm_error *e) {
    llm_model_desc d = *desc;
    d.parallel.for_fn = cli_tasks;
    return llm_load(cli_path(path), &d, e);
}
static llm_result cli_plan(const char *path, const llm_model_desc *d, const llm_ctx_desc *c, llm_plan_info *p, llm_error *e) {
    llm_model_desc no_probe;
    memset(&no_probe, 0, sizeof no_probe);
    if (d) no_probe = *d;
    no_probe.host_gb_s = 0;
    return llm_plan(cli_path(path), &no_probe, c, p, e);
}
static llm_result cli_eval(llm_ctx *c, const llm_token *t, size_t n) {
    if (++cli_evals > MOST_EVALS) llm_cancel(c);
    return llm_eval(c, t, n);
}
static const char *cli_next(llm_ctx *c, size_t *n) {
    if (++cli_evals > MOST_EVALS) llm_cancel(c);
    return llm_next(c, n);
}
static llm_result cli_probe(llm_ctx *c, uint32_t ms, double *gb_s) { (void)ms; return llm_probe(c, 1, gb_s); }

#undef stdin
#undef stdout
#undef stderr
#undef putchar
#undef getchar
#undef puts
#undef printf
#define stdin cli_in
#define stdout cli_out
#define stderr cli_err
#define printf(...) fprintf(cli_out, __VA_ARGS__)
#define puts(s) cli_puts(s)
#define putchar(c) fputc(c, cli_out)
#define getchar() getc(cli_in)
#define fopen(name, mode) cli_fopen(name, mode)
#define exit(code) cli_exit(code)
#define fork() cli_fork()
#define sigaction(number, action, before) ((void)(number), (void)(action))
#define llm_load cli_load
#define llm_plan cli_plan
#define llm_eval cli_eval
#define llm_next cli_next
#define llm_probe cli_probe
#define main llm_main
#include "../../examples/llm.c"
#undef main

// ---- what must hold

// Put there in one step: another process may have the file of that name mapped.
static void put_file(const char *name, const void *bytes, size_t n) {
    char part[64];
    sprintf(part, "%s/%ld.part", cli_folder, (long)getpid());
    MUST(test_write(part, bytes, n) && rename(part, cli_path(name)) == 0);
}
// Models of three families and none, and what is no model.
static void make_files(void) {
    static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 20 };
    char name[32];
    size_t i, n;
    mkdir("build", 0777);
    mkdir("build/fuzz", 0777);
    mkdir(cli_folder, 0777);
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned char *bytes = small_model(numbers[i], &n);
        sprintf(name, "m%u", (unsigned)i);
        put_file(name, bytes, n);
        if (i == 0) put_file("cut", bytes, n - 100);
        free(bytes);
    }
}
static size_t lines_of(const char *s, size_t n) {
    size_t i, lines = 0;
    for (i = 0; i < n; i++) lines += s[i] == '\n';
    return lines;
}
static int has_word(char *const *words, int n, const char *word) {
    int i;
    for (i = 1; i < n; i++) if (strcmp(words[i], word) == 0) return 1;
    return 0;
}
// plan, doctor and probe-run may say it on stdout.
static int is_one_of(const char *word, const char *list) {
    const char *at = word && *word ? strstr(list, word) : NULL;
    return at && (at == list || at[-1] == ' ') && (at[strlen(word)] == ' ' || !at[strlen(word)]);
}
static void must_be_json(const char *s, size_t n) {
    static json j;
    memset(&j, 0, sizeof j);
    text_add(&j.bytes, s, n);
    if (!json_parse(&j)) { cli_show(j.error, s); MUST(!"JSON"); }
    json_free(&j);
}
static void must_be_sane(int code, char *const *words, int n, const char *out, size_t n_out, const char *err, size_t n_err) {
    const int sentence = n_err > 5 && memcmp(err, "llm: ", 5) == 0 && lines_of(err, n_err) == 1 && err[n_err - 1] == '\n';
    MUST(code == EXIT_OK || code == EXIT_FAILED || code == EXIT_USAGE);
    if (code == EXIT_USAGE) MUST(n_out == 0 && (n < 2 || sentence || has_word(words, n, "--verbose")));
    if (code == EXIT_FAILED && is_one_of(words[1], "chat bench report")) MUST(n_err > 5);
    if (code == EXIT_FAILED && is_one_of(words[1], "run info compare")) MUST(sentence || has_word(words, n, "--verbose"));
    if (code == EXIT_OK && has_word(words, n, "--json") && n > 1 && n_out && (*out == '{' || *out == '[')) must_be_json(out, n_out);
}
// Words, one a line, up to an empty line.
static int split(char *text, size_t n, char **words) {
    int count = 1;
    char *end = text + n, *next;
    static char program[] = "llm";
    words[0] = program;
    while (text < end && *text != '\n' && count < MOST_WORDS) {
        next = (char *)memchr(text, '\n', (size_t)(end - text));
        if (!next) next = end;
        *next = 0;
        words[count++] = text;
        text = next + (next < end);
    }
    if (text < end && *text == '\n') text++;
    cli_bytes = text;
    cli_n = (size_t)(end - text);
    words[count] = NULL;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int ready;
    char *text = (char *)malloc(size + 1), *words[MOST_WORDS + 1], *out = NULL, *err = NULL;
    size_t n_out = 0, n_err = 0;
    int n, code;
    if (!text) abort();
    if (!ready) { make_files(); ready = 1; }
    memcpy(text, data, size);
    text[size] = 0;
    n = split(text, size, words);
    cli_evals = 0;
    interrupted = 0;
    cli_in = cli_n ? fmemopen((void *)(size_t)cli_bytes, cli_n, "rb") : tmpfile();
    cli_out = open_memstream(&out, &n_out);
    cli_err = open_memstream(&err, &n_err);
    MUST(cli_in && cli_out && cli_err);
    code = llm_main(n, words);
    fclose(cli_in);
    fclose(cli_out);
    fclose(cli_err);
    must_be_sane(code, words, n, out, n_out, err, n_err);
    free(out);
    free(err);
    free(text);
    return 0;
}
