# The two headers as a user's compiler sees them: every compiler here, C and C++, warnings as errors, two files of one program,
# LLM_STATIC twice, the single file, the macros that leave parts out; what the object exports and what it needs. The strict set of warnings,
# all dialects and the compilers of other CPUs and systems: tests/test_compilers.sh.
. tests/test.sh
dir=$TEST_SCRATCH/headers
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf
# Optimised once per compiler, because some warnings need that; -O0 elsewhere, because it takes a tenth of the time.
warnings="-Wall -Wextra -pedantic -Werror -DLLM_DEBUG"

# builds WHAT COMMAND...: holds if the command succeeds; shows the first lines of what it said otherwise.
builds() {
    what=$1
    shift
    if "$@" > "$dir/log" 2>&1; then passed=$((passed + 1)); return 0; fi
    failed=$((failed + 1))
    echo "failed: $what: $*"
    head -n 6 "$dir/log"
    return 1
}

cat > "$dir/with.c" <<'END'
#define LLM_IMPLEMENTATION
#include "llm.h"
END
cat > "$dir/without.c" <<'END'
#include "llm.h"
#include "llm.h"
int main(void) { return llm_version() == (LLM_VERSION_MAJOR << 16 | LLM_VERSION_MINOR << 8 | LLM_VERSION_PATCH) ? 0 : 1; }
END
# The library comes last, after headers that have already decided what they show.
cat > "$dir/late.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include "llm.h"
#define LLM_IMPLEMENTATION
#include "llm.h"
#include "llm.h"
int main(int argc, char **argv) {
    llm_error e;
    llm_stats_info s;
    llm_model_desc d;
    llm_model *m;
    llm_ctx *c;
    memset(&d, 0, sizeof d);
    d.n_threads = 2;
    m = llm_load(argc > 1 ? argv[1] : "", &d, &e);
    c = llm_open(m, NULL, &e);
    if (!c) { fprintf(stderr, "%s\n", e.text); return 1; }
    llm_say(c, "user", "hi");
    while (llm_next(c, NULL)) { }
    memset(&s, 0, sizeof s);
    llm_stats(c, &s);
    printf("mapping=%d threads=%u clock=%d bits=%u %s\n", (int)s.mapping, s.n_threads, s.load_ms > 0 && s.decode_ms > 0,
           s.bits_promise, s.bits_reason);
    llm_close(c);
    llm_unload(m);
    return 0;
}
END
cat > "$dir/static_a.c" <<'END'
#define LLM_STATIC
#define LLM_IMPLEMENTATION
#include "llm.h"
extern "C" unsigned other_version(void);
int main() { return llm_version() == other_version() && llm_type_bytes(8, 32) == 34 ? 0 : 1; }
END
cat > "$dir/static_b.c" <<'END'
#define LLM_STATIC
#define LLM_IMPLEMENTATION
#include "llm.h"
extern "C" unsigned other_version(void);
unsigned other_version(void) { return llm_version(); }
END
# Our own <string.h> against the C library's, in a file that knows both: all lengths up to 40, aligned and not, overlapping both ways.
cat > "$dir/own.c" <<'END'
#include <string.h>
#define LLM_IMPLEMENTATION
#include "llm.h"
#ifdef __cplusplus
extern "C" {
#endif
void *their_memmove(void *to, const void *from, size_t n);
int their_memcmp(const void *a, const void *b, size_t n);
#ifdef __cplusplus
}
#endif
static unsigned char ours[128], theirs[128];
static int sign(int v) { return (v > 0) - (v < 0); }
static void begin(void) {
    int i;
    for (i = 0; i < 128; i++) ours[i] = theirs[i] = (unsigned char)(i * 37 + 11);
}
static int same(void) { return their_memcmp(ours, theirs, sizeof ours) == 0; }
int main(void) {
    size_t n, from, to, i;
    int bad = 0;
    for (n = 0; n <= 40; n++)
        for (from = 0; from < 20; from++)
            for (to = 0; to < 20; to++) {
                begin();
                bad += llm__memmove(ours + 40 + to, ours + 40 + from, n) != ours + 40 + to;
                their_memmove(theirs + 40 + to, theirs + 40 + from, n);
                bad += !same();
                bad += llm__memcpy(ours + 80 + to % 8, ours + from, n) != ours + 80 + to % 8;
                their_memmove(theirs + 80 + to % 8, theirs + from, n);
                bad += !same();
                bad += llm__memset(ours + to, (int)(from * 13 + 250), n) != ours + to;
                for (i = 0; i < n; i++) theirs[to + i] = (unsigned char)(from * 13 + 250);
                bad += !same();
                for (i = 0; i < 3; i++)
                    bad += sign(llm__memcmp(ours + from, ours + to + i, n)) != sign(their_memcmp(ours + from, ours + to + i, n));
                ours[to + n] = 0;
                bad += llm__strlen((const char *)ours + to) > n;
            }
    return bad != 0 || llm__strlen("four") != 4 || llm__strlen("") != 0;
}
END
cat > "$dir/theirs.c" <<'END'
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
void *their_memmove(void *to, const void *from, size_t n);
int their_memcmp(const void *a, const void *b, size_t n);
#ifdef __cplusplus
}
#endif
void *their_memmove(void *to, const void *from, size_t n) { return memmove(to, from, n); }
int their_memcmp(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
END

# -- compilers
c_compilers= cxx_compilers=
for cc in gcc clang; do if has $cc; then c_compilers="$c_compilers $cc"; else skip "$cc is not installed"; fi; done
for cxx in g++ clang++; do if has $cxx; then cxx_compilers="$cxx_compilers $cxx"; else skip "$cxx is not installed"; fi; done
real() { readlink -f "$(command -v "$1")" 2> /dev/null; }
cc=${CC:-cc}
for known in $c_compilers; do [ "$(real "$known")" = "$(real "$cc")" ] && cc=; done
[ -n "$cc" ] && has "$cc" && c_compilers="$cc $c_compilers"

for cc in $c_compilers; do
    for std in c99 c11; do
        builds "$cc -std=$std, declarations" $cc -std=$std $warnings -O2 $CPPFLAGS -I. -c "$dir/without.c" -o "$dir/without.o"
    done
    builds "$cc -std=c99, implementation" $cc -std=c99 $warnings -O2 $CPPFLAGS -I. -c "$dir/with.c" -o "$dir/with-$cc.o"
    builds "$cc -std=c99, two files" $cc -std=c99 "$dir/without.o" "$dir/with-$cc.o" -o "$dir/two" -pthread
    check "$cc: the program of two files" "$dir/two"
    builds "$cc -std=c11, late" $cc -std=c11 $warnings -O0 $CPPFLAGS -I. "$dir/late.c" -o "$dir/late" -pthread
    builds "$cc -std=c99, late, _LARGEFILE64_SOURCE" $cc -std=c99 $warnings -fsyntax-only $CPPFLAGS -D_LARGEFILE64_SOURCE \
        -include unistd.h -I. "$dir/late.c"
    builds "$cc -std=c99, late" $cc -std=c99 $warnings -O0 $CPPFLAGS -I. "$dir/late.c" -o "$dir/late" -pthread
    # Strict C99 without any -D still maps, threads and reads the clock.
    check "$cc: late runs" sh -c "'$dir/late' $tiny > '$dir/late.out'"
    check "$cc: mapping, threads, clock ($(cat "$dir/late.out"))" grep -q '^mapping=1 threads=2 clock=1 bits=1' "$dir/late.out"
done
for cxx in $cxx_compilers; do
    for std in c++11 c++17; do
        builds "$cxx -std=$std, declarations" $cxx -x c++ -std=$std $warnings -O2 $CPPFLAGS -I. -c "$dir/without.c" -o "$dir/without.o"
    done
    builds "$cxx -std=c++11, implementation" $cxx -x c++ -std=c++11 $warnings -O2 $CPPFLAGS -I. -c "$dir/with.c" -o "$dir/with-$cxx.o"
    builds "$cxx, two files" $cxx "$dir/without.o" "$dir/with-$cxx.o" -o "$dir/two" -pthread
    check "$cxx: the program of two files" "$dir/two"
    builds "$cxx -std=c++11, late" $cxx -x c++ -std=c++11 $warnings -fsyntax-only $CPPFLAGS -I. "$dir/late.c"
    # FR-081: two copies in one program.
    builds "$cxx, LLM_STATIC twice" \
        $cxx -x c++ -std=c++11 $warnings -O0 $CPPFLAGS -I. "$dir/static_a.c" "$dir/static_b.c" -o "$dir/static" -pthread
    check "$cxx: LLM_STATIC twice" "$dir/static"
done
# A C program whose implementation is C++, and the other way round.
if [ -e "$dir/with-g++.o" ] && has gcc; then
    gcc -std=c99 $CPPFLAGS -I. -c "$dir/without.c" -o "$dir/without.o"
    builds "C calls C++" g++ "$dir/without.o" "$dir/with-g++.o" -o "$dir/two" -pthread
    check "C calls C++" "$dir/two"
    g++ -x c++ $CPPFLAGS -I. -c "$dir/without.c" -o "$dir/without.o"
    builds "C++ calls C" g++ "$dir/without.o" "$dir/with-gcc.o" -o "$dir/two" -pthread
    check "C++ calls C" "$dir/two"
fi
if has tcc; then
    builds "tcc" tcc -std=c99 -w $CPPFLAGS -I. "$dir/late.c" -o "$dir/late-tcc" && {
        "$dir/late-tcc" $tiny > "$dir/late.out"
        check "tcc: one thread, and the same bits ($(cat "$dir/late.out"))" grep -q '^mapping=1 threads=1 clock=1 bits=1' "$dir/late.out"
    }
else
    skip "tcc is not installed"
fi
# -- macros that leave parts out
echo 'static void *host_malloc(unsigned long n) { (void)n; return 0; }
static void host_free(void *p) { (void)p; }' > "$dir/host.h"
cc=$(echo $c_compilers | cut -d' ' -f1)
for macros in "-DLLM_NO_STDIO" "-DLLM_NO_MMAP" "-DLLM_NO_THREADS" "-DLLM_NO_SIMD" "-DLLM_NO_STDLIB" \
              "-DLLM_NO_CHAT" "-DLLM_QUIET" "-DLLM_STATIC" \
              "-DLLM_NO_STDIO -DLLM_NO_MMAP -DLLM_NO_THREADS -DLLM_NO_SIMD -DLLM_NO_STDLIB -DLLM_NO_CHAT" \
              "-include $dir/host.h -DLLM_MALLOC=host_malloc -DLLM_FREE=host_free"; do
    builds "$macros" $cc -std=c99 $warnings -O0 $CPPFLAGS $macros -I. -c "$dir/with.c" -o "$dir/macros.o"
    builds "$macros, C++" g++ -x c++ -std=c++11 $warnings -fsyntax-only $CPPFLAGS $macros -I. "$dir/with.c"
done
check "LLM_MALLOC without LLM_FREE is refused" \
    sh -c "! $cc -std=c99 $CPPFLAGS -DLLM_MALLOC=malloc -I. -c '$dir/with.c' -o '$dir/macros.o' 2> '$dir/log'"
check "and the compiler says why" grep -q 'both LLM_MALLOC and LLM_FREE' "$dir/log"
printf '#define free broken(\n#define read broken(\n#define open broken(\n#define write broken(\n' > "$dir/hostile.h"
printf '#define min broken(\n#define max broken(\n' >> "$dir/hostile.h"
cat > "$dir/hostile.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include "hostile.h"
#include "llm.h"
int main(void) { return llm_version() ? 0 : 1; }
END
builds "declarations under hostile macros" $cc -std=c99 $warnings $CPPFLAGS -I. -c "$dir/hostile.c" -o "$dir/hostile.o"

# -- what the object exports and needs (FR-081, FR-082)
if has nm; then
    for o in "$dir"/with-*.o; do
        name=$(basename "$o" .o)
        nm -g --defined-only "$o" | awk '{ print $NF }' > "$dir/exports"
        check "$name exports something" [ -s "$dir/exports" ]
        check "$name exports only llm_*: $(grep -v '^llm_[^_]' "$dir/exports" | tr '\n' ' ')" \
            sh -c "! grep -qv '^llm_[^_]' '$dir/exports'"
        sed -n 's/^LLM_API.*[ *]\(llm_[a-z_0-9]*\) *(.*/\1/p' llm.h | sort -u > "$dir/declared"
        check "$name exports what llm.h declares" sh -c "sort -u '$dir/exports' | cmp -s - '$dir/declared'"
        nm -u "$o" | awk '{ print $NF }' | sed 's/@.*//' > "$dir/needs"
        for symbol in printf puts putchar fprintf vfprintf sprintf snprintf vsnprintf fputs fwrite perror \
                      exit _exit abort __assert_fail getenv secure_getenv \
                      strtod strtof strtol atoi atof qsort bsearch rand srand random time localtime setlocale \
                      exp expf log logf pow powf sin sinf cos cosf tan tanf tanh tanhf sqrt sqrtf fma fmaf \
                      floor floorf ceil ceilf round roundf rint lrint lrintf \
                      fabsf fmod fmodf ldexp frexp __cxa_throw __cxa_begin_catch _Znwm _Znam _ZdlPv; do
            check "$name does not call $symbol" sh -c "! grep -qx '$symbol' '$dir/needs'"
        done
    done
    # Without the C library nothing is needed at all: no malloc, no system, not even the four that compilers call by themselves.
    for bare in $c_compilers $cxx_compilers; do
        std="-std=c99"
        case $bare in *++) std="-x c++ -std=c++11" ;; esac
        # nor any header but the compiler's own
        own=$($bare -print-file-name=include)
        case $bare in *clang*) own=$($bare -print-resource-dir)/include ;; esac
        builds "$bare, without the C library's headers" $bare $std $warnings -fsyntax-only $CPPFLAGS -ffreestanding -nostdinc -isystem "$own" \
            -DLLM_NO_STDLIB -DLLM_NO_SIMD -I. "$dir/with.c"
        builds "$bare, without the C library" $bare $std $warnings -O1 $CPPFLAGS -DLLM_NO_STDLIB -DLLM_NO_SIMD -I. -c "$dir/own.c" \
            -o "$dir/own.o"
        nm -u "$dir/own.o" | awk '{ print $NF }' | grep -vE '^(their_mem(move|cmp)|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$' > "$dir/needs"
        check "$bare, LLM_NO_STDLIB: nothing is needed: $(tr '\n' ' ' < "$dir/needs")" [ ! -s "$dir/needs" ]
        nm -g --defined-only "$dir/own.o" | awk '$NF != "main" { print $NF }' | sort -u > "$dir/exports"
        check "$bare, LLM_NO_STDLIB: exports what llm.h declares" cmp -s "$dir/exports" "$dir/declared"
        builds "$bare, own.c" $bare "$dir/own.o" $std "$dir/theirs.c" -o "$dir/own"
        check "$bare: what stands for <string.h> does the same" "$dir/own"
    done
    if getconf GNU_LIBC_VERSION > "$dir/log" 2>&1; then
        for symbol in $(nm -u "$dir/with-$cc.o" | awk '{ print $NF }' | sed 's/@.*//' |
                        grep -vE '^(mem(cpy|move|set|cmp)|strlen|malloc|free|__errno_location|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__mem.*_chk)$'); do
            check "test_shim.c can make $symbol fail" grep -q "^#define $symbol(" tests/test_shim.c
        done
    fi
    $cc -std=c99 -O0 $CPPFLAGS -DLLM_STATIC -DLLM_DEBUG -I. -c "$dir/with.c" -o "$dir/static.o" 2> /dev/null
    check "LLM_STATIC exports nothing" [ -z "$(nm -g --defined-only "$dir/static.o")" ]
    # Writable data of the file itself would be state outside the objects. Without -fPIC, tables of pointers are read-only as well.
    $cc -std=c99 -O0 -DLLM_DEBUG -fno-pic -fno-pie $CPPFLAGS -I. -c "$dir/with.c" -o "$dir/fixed.o"
    nm "$dir/fixed.o" | awk '$2 ~ /^[bBdDcC]$/ { print $3 }' > "$dir/mutable"
    check "no mutable file-scope state: $(tr '\n' ' ' < "$dir/mutable")" [ ! -s "$dir/mutable" ]
else
    skip "nm is not installed"
fi

# -- the single file
if [ -r llm_impl.h ]; then
    mkdir -p "$dir/single"
    sh tools/amalgamate.sh llm.h llm_impl.h > "$dir/single/llm.h"
    cp "$dir/with.c" "$dir/late.c" "$dir/static_a.c" "$dir/static_b.c" "$dir/without.c" "$dir/single"
    check "the single file includes nothing of ours but itself" \
        sh -c "! grep -E '^ *# *include \"' '$dir/single/llm.h' | grep -v '\"llm.h\"'"
    builds "single file, C99" $cc -std=c99 $warnings -O0 "$dir/single/with.c" "$dir/single/without.c" -o "$dir/single/two" -pthread
    check "single file: the program of two files" "$dir/single/two"
    builds "single file, late" $cc -std=c99 $warnings -O0 "$dir/single/late.c" -o "$dir/single/late" -pthread
    check "single file: runs" sh -c "'$dir/single/late' $tiny | grep -q '^mapping=1 threads=2 clock=1 bits=1'"
    for cxx in $cxx_compilers; do
        builds "single file, $cxx, LLM_STATIC twice" $cxx -x c++ -std=c++11 $warnings -O0 "$dir/single/static_a.c" \
            "$dir/single/static_b.c" -o "$dir/single/static" -pthread
        check "single file, $cxx: LLM_STATIC twice" "$dir/single/static"
    done
    # -- what a reader is promised
    grep -nE '^static [^=(]*\([^{]*\);$' llm_impl.h > "$dir/forward"
    check "no forward declarations: $(head -n 3 "$dir/forward" | tr '\n' ' ')" [ ! -s "$dir/forward" ]
    awk 'length > 140 { print FILENAME ":" FNR }' llm.h llm_impl.h > "$dir/long"
    check "no line over 140 columns: $(head -n 5 "$dir/long" | tr '\n' ' ')($(wc -l < "$dir/long") in all)" [ ! -s "$dir/long" ]
    check "no tabs" sh -c "! grep -n '	' llm.h llm_impl.h"
fi
version=$(sed -n 's/^#define LLM_VERSION_[A-Z]* //p' llm.h | paste -sd. -)
check "the header's first line has its version" sh -c "head -n 1 llm.h | grep -qF 'v$version'"
check "the newest entry of CHANGELOG.md is the header's version" sh -c "grep -m 1 '^## ' CHANGELOG.md | grep -qF '$version'"
check "hello.c is the README's program" \
    sh -c "sed -n '/^\`\`\`c$/,/^\`\`\`$/p' README.md | sed '1d;/^\`\`\`$/,\$d' | cmp -s - examples/hello.c"

# -- hello: eleven lines that link without -lm
builds "hello" ${CC:-cc} -std=c99 $warnings -O2 $CPPFLAGS -I. examples/hello.c -o "$dir/hello" -pthread
check "hello answers" sh -c "'$dir/hello' $tiny > '$dir/hello.out' && [ \$(wc -c < '$dir/hello.out') -gt 40 ]"
check "hello says why it cannot" sh -c "! '$dir/hello' /nonexistent.gguf 2> '$dir/hello.err' && [ \$(wc -l < '$dir/hello.err') -eq 1 ]"
# -- talk: FR-090, what more a program needs than hello has: stop strings, rewind, another answer, cancel
builds "talk" ${CC:-cc} -std=c99 $warnings -O2 $CPPFLAGS -I. examples/talk.c -o "$dir/talk" -pthread
check "talk has thirty lines at most" [ "$(wc -l < examples/talk.c)" -le 30 ]
printf 'Tell me a story about a fox.\nagain\nagain\n' | "$dir/talk" $tiny > "$dir/talk.out"
check "talk answers three times, each time otherwise" [ "$(grep '^> .' "$dir/talk.out" | sort -u | wc -l)" -eq 3 ]
# A cancel while nothing is computed ends the next answer before it begins; the one after that is whole.
cancelled() {
    rm -f "$dir/talk.in" "$dir/talk.out" && mkfifo "$dir/talk.in"
    "$dir/talk" $tiny < "$dir/talk.in" > "$dir/talk.out" &
    talk=$!
    exec 3> "$dir/talk.in"
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$dir/talk.out" ] && break; sleep 0.3; done
    kill -INT $talk
    sleep 0.3
    printf 'Tell me a story about a fox.\nagain\n' >&3
    exec 3>&-
    wait $talk && [ "$(head -n 1 "$dir/talk.out")" = ">  ..." ] && [ "$(sed -n 2p "$dir/talk.out" | wc -c)" -gt 40 ]
}
check "talk hears Ctrl-C and goes on" patiently cancelled
finish
