# One source, every family of CPUs: test_bits and a few suites for x86-64, i386, AArch64, ARM, RISC-V and s390x, each a single program that
# runs on old and new CPUs of its family (under qemu-user) without an illegal instruction (FR-091, FR-092), with the sums of tests/bits.sha256.
. tests/test.sh
dir=$TEST_SCRATCH/cpus
rm -rf "$dir" && mkdir -p "$dir"
# Subjects that meet every stored type and expert, window and cache; what the slow emulators take; what asks for instructions only.
few=qwen3moe-moe,gemma3-dense-kv-q8_0,made-every-type-kv-q8_0,made-later-types
some=gemma3-dense-kv-q8_0,made-later-types
one=gemma3-dense-kv-q8_0
[ -n "$LONG" ] && one=$some few=committed some=committed

# build SUITE FAMILY COMPILER FLAGS...: $program is tests/SUITE.c for that family, static, so that no emulator needs its libraries.
build() {
    suite=$1 program=$dir/$2-$1 compiler=$3
    shift 3
    if ! has "$compiler"; then skip "$compiler is not installed"; return 1; fi
    # shellcheck disable=SC2086
    check "$program builds: $(head -n 3 "$dir/log" 2> /dev/null)" "$compiler" -std=c99 -Wall -Wextra -pedantic -Wno-unused-function -Werror -O1 \
        $CPPFLAGS "$@" -I. -Itests -static "tests/$suite.c" -o "$program" -pthread > "$dir/log" 2>&1
    [ -x "$program" ] || { head -n 5 "$dir/log"; failed=$((failed + 1)); return 1; }
}
# emulator NAME: is it there?
emulator() { has "$1" || { skip "$1 is not installed"; return 1; }; }

# same LABEL COMMAND SET OPTIONS...: $program, started by COMMAND, prints the committed sums and promises them.
same() {
    log=$dir/$(echo "$1" | tr ' ,=/' '____').txt
    label=$1 run=$2 which=$3
    shift 3
    begin=$(date +%s)
    $run "$program" --hashes --set "$which" "$@" > "$log" 2>&1
    code=$?
    n=$(grep -cE '^[0-9a-f]{64}  ' "$log")
    check "$label ends with 0, not $code: $(tail -n 1 "$log")" [ $code -eq 0 ]
    check "$label: the committed sums" sh -c "[ $n -gt 0 ] && ! grep -E '^[0-9a-f]{64}  ' '$log' | grep -qvxFf tests/bits.sha256"
    check "$label: $(grep '^bits_promise' "$log")" grep -qx 'bits_promise 1' "$log"
    echo "$label: $n models, $(sed -n 's/^isa //p' "$log") kernels, $(($(date +%s) - begin)) s"
}
picks() { check "$1 picks $2" grep -qx "isa $2" "$log"; }
# suite LABEL COMMAND: $program is a suite that passes.
suite() {
    log=$dir/$(echo "$1" | tr ' ,=/' '____').txt
    begin=$(date +%s)
    # shellcheck disable=SC2086
    env TEST_SCRATCH="$dir" ${2:+LLM_EMULATED=1} $2 "$program" > "$log" 2>&1
    code=$?
    check "$1: $(grep -m 3 failed "$log" | tr '\n' ';')" [ $code -eq 0 ]
    echo "$1: $(tail -n 1 "$log"), $(($(date +%s) - begin)) s"
}
# suites FAMILY COMMAND COMPILER "FLAGS" NAME...
suites() {
    family=$1 run=$2 compiler=$3 flags=$4
    shift 4
    for name in "$@"; do
        # shellcheck disable=SC2086
        build "$name" "$family" "$compiler" $flags && suite "$family $name" "$run"
    done
}
# What is left out there: test_process and test_explain look at the kernel of this machine, test_pool and test_cores count its CPUs,
# test_real wants hours, and so does test_api where an emulator evaluates its ten thousand tokens.
long="test_platform test_formats test_vectors test_kernels test_gguf test_tokenizer test_template test_sampler test_forward test_large"
# of NAME...: these, or all of them.
of() { if [ -n "$LONG" ]; then echo "$long"; else echo "$*"; fi; }

# -- x86-64 and AArch64: every instruction set; tests/bits.sh has more of both
if build test_bits x86-64 gcc && emulator qemu-x86_64; then
    same "x86-64 Nehalem" "qemu-x86_64 -cpu Nehalem" $some && picks "Nehalem" scalar
    same "x86-64 Haswell" "qemu-x86_64 -cpu Haswell" $few && picks "Haswell" AVX2
    same "x86-64 max" "qemu-x86_64 -cpu max" $few
fi
if emulator qemu-aarch64 && build test_bits aarch64 aarch64-linux-gnu-gcc; then
    same "aarch64 cortex-a53" "qemu-aarch64 -cpu cortex-a53" $few && picks "cortex-a53" NEON
    same "aarch64 cortex-a72" "qemu-aarch64 -cpu cortex-a72" $one && picks "cortex-a72" NEON
    same "aarch64 cortex-a76" "qemu-aarch64 -cpu cortex-a76" $few && picks "cortex-a76" "NEON dotprod"
    same "aarch64 max" "qemu-aarch64 -cpu max" $few && picks "max" "NEON i8mm"
fi
# -ffast-math means that there is no NaN, and clang believes it there: a file has one all the same, and it ends as a word, not in a loop.
cat > "$dir/nan.c" <<'END'
#define LLM_STATIC
#define LLM_IMPLEMENTATION
#include "llm.h"
int main(void) {
    static const struct { uint64_t bits; const char *text; } of[] = {
        { 0x7ff8000000000000u, "nan" }, { 0xfff0000000000001u, "nan" }, { 0x7ff0000000000000u, "inf" }, { 0xfff0000000000000u, "-inf" },
        { 0x7fefffffffffffffu, "1.79769313486232e+308" }, { 0x8000000000000000u, "0" }, { 0xbff8000000000000u, "-1.5" }
    };
    size_t i;
    int bad = 0;
    for (i = 0; i < LLM__COUNT(of); i++) {
        char text[64];
        llm__text t;
        t.p = text; t.n = 0; t.cap = sizeof text;
        llm__gguf_text_float(&t, llm__bits_f64(of[i].bits), false);
        llm__text_end(&t);
        bad += strcmp(text, of[i].text) != 0;
    }
    return bad;
}
END
if has clang && has aarch64-linux-gnu-gcc && emulator qemu-aarch64; then
    # shellcheck disable=SC2086
    check "aarch64 by clang -ffast-math builds" clang --target=aarch64-linux-gnu -std=c99 -O1 -ffast-math -Wno-everything -DLLM_DEBUG $CPPFLAGS -I. \
        -static "$dir/nan.c" -o "$dir/nan"
    check "aarch64 by clang -ffast-math writes NaN and infinity of a file" timeout 60 qemu-aarch64 "$dir/nan"
fi

# -- i386: with SSE2 as good as any CPU; the x87 computes, and says what is the matter. Most kernels of x86-64 run it as it is.
sse="-msse2 -mfpmath=sse"
# shellcheck disable=SC2086
if build test_bits i386 i686-linux-gnu-gcc $sse; then
    native=
    "$program" --isas > /dev/null 2>&1 || { native=qemu-i386; emulator qemu-i386; }
    same "i386" "$native" $few
    if has qemu-i386; then same "i386 n270" "qemu-i386 -cpu n270" $one; fi
    suites i386 "$native" i686-linux-gnu-gcc "$sse" ${LONG:+test_api} $(of test_platform test_gguf test_large)
    if build test_bits x87 i686-linux-gnu-gcc; then
        $native "$program" --hashes --set $one > "$dir/x87.txt" 2>&1
        check "x87 answers" [ $? -eq 0 ]
        check "x87: no promise, and why: $(tail -n 1 "$dir/x87.txt")" grep -q '^bits_promise 0: .*x87.*-mfpmath=sse' "$dir/x87.txt"
        [ -n "$LONG" ] && suites x87 "$native" i686-linux-gnu-gcc "" test_forward
    fi
fi

# -- ARM: the float unit is asked for scalars alone, because NEON of 32 bits flushes subnormals
if emulator qemu-arm && build test_bits armhf arm-linux-gnueabihf-gcc; then
    same "armhf cortex-a7" "qemu-arm -cpu cortex-a7" $some
    same "armhf max hostile fp" "qemu-arm -cpu max" $one --hostile-fp
    suites armhf qemu-arm arm-linux-gnueabihf-gcc "" $(of test_large)
fi
# Times of 64 bits, as Debian 13 and Ubuntu 24.04 compile for 32, in strict C99 behind a header that hides the calls which
# tell them; -pthread would show them.
cat > "$dir/time64.c" <<'END'
#include <stdio.h>
#define LLM_STATIC
#define LLM_IMPLEMENTATION
#include "llm.h"
int main(void) {
    const uint64_t began = llm__os_now_us();
    uint64_t us;
    llm__os_sleep_us(200000);
    us = llm__os_now_us() - began;
    printf("%u bytes of time, %.0f ms of 200\n", (unsigned)sizeof(time_t), (double)us * 1e-3);
    return sizeof(time_t) == 8 && us >= 200000 && us < 60000000 ? 0 : 1;
}
END
if has qemu-arm && has arm-linux-gnueabihf-gcc; then
    # shellcheck disable=SC2086
    check "armhf with times of 64 bits builds" arm-linux-gnueabihf-gcc -std=c99 -Wall -Wextra -pedantic -Wno-unused-function -Werror -O0 -DLLM_DEBUG \
        $CPPFLAGS -D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64 -I. -static "$dir/time64.c" -o "$dir/time64"
    check "armhf with times of 64 bits sleeps as long as it says" qemu-arm "$dir/time64"
fi

# -- RISC-V: one program with and without vectors; there are no kernels that use them
if emulator qemu-riscv64 && build test_bits riscv64 riscv64-linux-gnu-gcc; then
    same "riscv64 rv64" "qemu-riscv64 -cpu rv64" $some
    same "riscv64 v=true,vlen=128" "qemu-riscv64 -cpu rv64,v=true,vlen=128" $one
    same "riscv64 v=true,vlen=256 hostile fp" "qemu-riscv64 -cpu rv64,v=true,vlen=256" $one --hostile-fp
    [ -n "$LONG" ] && suites riscv64 qemu-riscv64 riscv64-linux-gnu-gcc "" $long
fi

# -- s390x: the other byte order. The files are the usual ones.
if emulator qemu-s390x && build test_bits s390x s390x-linux-gnu-gcc; then
    same "s390x" qemu-s390x $few
    same "s390x hostile fp" qemu-s390x $one --hostile-fp
    suites s390x qemu-s390x s390x-linux-gnu-gcc "" $(of test_formats test_large)
fi
finish
