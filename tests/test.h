// test.h - what every suite uses: checks that count, paths to fixtures, one summary line that tests/run reads.
//
//     #define LLM_IMPLEMENTATION
//     #include "llm.h"
//     #include "test.h"
//     int main(void) {
//         SECTION("addition");
//         CHECK(1 + 1 == 2);
//         return test_done();
//     }
//
// A suite prints its failures and its skips as they come and, last, `N passed, N failed`. Programs run from the repository's root.
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define TEST_UNUSED __attribute__((unused))
#else
#define TEST_UNUSED
#endif

// 1: under AddressSanitizer, where long runs may be shorter.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { TEST_PATH = 1024, TEST_MAX_PRINTED = 40 };

// One suite is one program with one thread that checks: this is the only state.
typedef struct test_state { const char *section; unsigned long passed, failed, skipped; } test_state;
static test_state test_now = { "", 0, 0, 0 };

#define SECTION(name) test_section(name)

// All three return whether the check held, so that a test can stop where going on makes no sense.
#define CHECK(cond)          test_check((cond) ? 1 : 0, #cond, __FILE__, __LINE__)
#define CHECK_EQ(got, want)  test_check_eq((long long)(got), (long long)(want), #got, #want, __FILE__, __LINE__)      // integers
#define CHECK_TEXT(got, want) test_check_text((got), (want), #got, __FILE__, __LINE__)                                // NUL-terminated

static TEST_UNUSED void test_section(const char *name) { test_now.section = name; }

static TEST_UNUSED int test_report(int ok, const char *file, int line) {
    if (ok) { test_now.passed++; return 1; }
    if (++test_now.failed == TEST_MAX_PRINTED + 1) printf("... more failures are counted, not printed\n");
    if (test_now.failed > TEST_MAX_PRINTED) return 0;
    printf("%s:%d: failed", file, line);
    if (*test_now.section) printf(" in %s", test_now.section);
    return 0;
}
static TEST_UNUSED int test_check(int ok, const char *text, const char *file, int line) {
    test_report(ok, file, line);
    if (!ok && test_now.failed <= TEST_MAX_PRINTED) { printf(": %s\n", text); fflush(stdout); }
    return ok;
}
static TEST_UNUSED int test_check_eq(long long got, long long want, const char *got_text, const char *want_text, const char *file,
                                     int line) {
    int ok = got == want;
    test_report(ok, file, line);
    if (!ok && test_now.failed <= TEST_MAX_PRINTED) {
        printf(": %s is %lld, expected %s = %lld\n", got_text, got, want_text, want);
        fflush(stdout);
    }
    return ok;
}
static TEST_UNUSED int test_check_text(const char *got, const char *want, const char *got_text, const char *file, int line) {
    int ok = got && want ? strcmp(got, want) == 0 : got == want;
    test_report(ok, file, line);
    if (!ok && test_now.failed <= TEST_MAX_PRINTED) {
        printf(": %s is \"%s\", expected \"%s\"\n", got_text, got ? got : "(null)", want ? want : "(null)");
        fflush(stdout);
    }
    return ok;
}

// Something that could be supplied is missing (fixtures, a model, a compiler): said in so many words; a failure in CI.
static TEST_UNUSED void test_skip(const char *why) {
    printf("skipped: %s\n", why);
    fflush(stdout);
    test_now.skipped++;
}
// Something that this machine cannot do (an instruction set, a file system): said, never a failure.
static TEST_UNUSED void test_lacks(const char *why) {
    printf("not here: %s\n", why);
    fflush(stdout);
}

// Under an emulator a second says nothing of what the code costs: tests/test_cpus.sh tells.
static TEST_UNUSED int test_is_emulated(void) { return getenv("LLM_EMULATED") != NULL; }

static TEST_UNUSED int test_done(void) {
    printf("%lu passed, %lu failed\n", test_now.passed, test_now.failed);
    fflush(stdout);
    return test_now.failed ? 1 : 0;
}

// Paths: eight are alive at a time, enough for a case with its model, its golden and its text.
static TEST_UNUSED const char *test_path(const char *directory, const char *name) {
    static char buffers[8][TEST_PATH];
    static unsigned next;
    char *buffer = buffers[next++ % 8];
    if (strlen(directory) + strlen(name) + 2 > TEST_PATH) return "";
    sprintf(buffer, "%s/%s", directory, name);
    return buffer;
}
static TEST_UNUSED int test_exists(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    fclose(f);
    return 1;
}
static TEST_UNUSED const char *test_path_from(const char *variable, const char *otherwise, const char *name) {
    const char *directory = getenv(variable), *path;
    path = test_path(directory && *directory ? directory : otherwise, name);
    return test_exists(path) ? path : NULL;
}
// "vocab/gpt-2.gguf" under $LLM_FIXTURES; NULL when it is not there: call test_skip and go on.
static TEST_UNUSED const char *test_fixture(const char *name) { return test_path_from("LLM_FIXTURES", "../shared/fixtures", name); }
// "smollm2.gguf" among the real models, which tests/get_models.sh fetches; NULL when it is not there.
static TEST_UNUSED const char *test_model(const char *name) { return test_path_from("LLM_MODELS", "tests/models", name); }
// A file of tests/data: part of the checkout, so its absence is a failure of the test that reads it.
static TEST_UNUSED const char *test_data(const char *name) { return test_path("tests/data", name); }
// A file that the test may write. The name must be the suite's own.
static TEST_UNUSED const char *test_scratch(const char *name) {
    const char *directory = getenv("TEST_SCRATCH");
    return test_path(directory && *directory ? directory : "build/tests", name);
}

// A whole file, to be freed by the caller, with a NUL behind it; NULL when it cannot be read.
static TEST_UNUSED unsigned char *test_read(const char *path, size_t *n) {
    FILE *f = path ? fopen(path, "rb") : NULL;
    unsigned char *bytes = NULL;
    size_t used = 0, cap = 1 << 16;
    *n = 0;
    if (!f) return NULL;
    for (;;) {
        unsigned char *more = (unsigned char *)realloc(bytes, cap);
        size_t got;
        if (!more) { free(bytes); fclose(f); return NULL; }
        bytes = more;
        got = fread(bytes + used, 1, cap - used - 1, f);
        used += got;
        if (used < cap - 1) break;
        cap *= 2;
    }
    fclose(f);
    bytes[used] = 0;
    *n = used;
    return bytes;
}
static TEST_UNUSED int test_write(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    size_t wrote;
    if (!f) return 0;
    wrote = n ? fwrite(bytes, 1, n, f) : 0;
    return fclose(f) == 0 && wrote == n;
}

#endif
