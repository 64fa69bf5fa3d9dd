// SHA-256: the examples of FIPS 180-4 and of its predecessors, and every way of cutting a message into pieces.
#include "test.h"

#define LLM_IMPLEMENTATION
#include "../llm.h"

static const char *sum_of(const char *message, size_t n, size_t piece) {
    static char hex[65];
    llm__sha256 s;
    size_t at, take;
    llm__sha256_begin(&s);
    for (at = 0; at < n; at += take) {
        take = n - at < piece ? n - at : piece;
        llm__sha256_add(&s, message + at, take);
    }
    llm__sha256_end(&s, hex);
    return hex;
}

static void test_vectors(void) {
    static const struct { const char *message, *sum; } known[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    static char million[1000000];
    size_t k, piece;
    SECTION("the standard's examples");
    for (k = 0; k < sizeof known / sizeof known[0]; k++)
        for (piece = 1; piece <= 130; piece++) CHECK_TEXT(sum_of(known[k].message, strlen(known[k].message), piece), known[k].sum);
    memset(million, 'a', sizeof million);
    CHECK_TEXT(sum_of(million, sizeof million, 64), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK_TEXT(sum_of(million, sizeof million, 997), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Above 2^32 bits the length takes its upper word: 512 MiB and a byte of zeros, whose sum `head -c 536870913 /dev/zero | sha256sum` gave.
static void test_length(void) {
    static const char zeros[1 << 20];
    char hex[65];
    llm__sha256 s;
    int i;
    SECTION("more than 2^32 bits");
    llm__sha256_begin(&s);
    for (i = 0; i < 512; i++) llm__sha256_add(&s, zeros, sizeof zeros);
    llm__sha256_add(&s, zeros, 1);
    llm__sha256_end(&s, hex);
    CHECK_TEXT(hex, "7c40fe5ce847740d0f0d0cdde3949d6585804cdec3ae61a15b923165699c8137");
}

int main(void) {
    test_vectors();
    if (!SANITIZED) test_length();
    return test_done();
}
