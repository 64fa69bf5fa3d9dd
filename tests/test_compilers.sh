# Many compilers and all their dialects, with every warning of the strict set an error: the library as it is, with parts left out, and the
# examples; the compilers of other CPUs and systems, whose kernels no native compiler sees; clang as clang-cl, and clang as a stand-in for
# MSVC, which cannot run here (FR-087). LONG=1: every combination (some minutes more), and code is made, not only checked.
. tests/test.sh
dir=$TEST_SCRATCH/compilers
rm -rf "$dir" && mkdir -p "$dir"
strict="-Wall -Wextra -pedantic -Werror -DLLM_QUIET -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wcast-qual"
printf '#define LLM_IMPLEMENTATION\n#include "llm.h"\n' > "$dir/with.c"

# clean WHAT COMMAND...: holds if it says nothing and succeeds.
clean() {
    what=$1
    shift
    "$@" > "$dir/log" 2>&1 && [ ! -s "$dir/log" ] && { passed=$((passed + 1)); return 0; }
    failed=$((failed + 1))
    echo "failed: $what: $*"
    head -n 6 "$dir/log"
    return 1
}
# in_c COMPILER STD FLAGS... FILE, in_cxx: syntax and types alone unless LONG, because the strict set needs no more; flow warnings: below.
in_c() {
    compiler=$1 std=$2
    shift 2
    # shellcheck disable=SC2086
    has "$compiler" || { skip "$compiler is not installed"; return; }
    clean "$compiler -std=$std $*" "$compiler" -std=$std $strict -Wstrict-prototypes -fsyntax-only $CPPFLAGS -I. "$@"
}
in_cxx() {
    compiler=$1 std=$2
    shift 2
    has "$compiler" || { skip "$compiler is not installed"; return; }
    # shellcheck disable=SC2086
    clean "$compiler -std=$std $*" "$compiler" -x c++ -std=$std $strict -fsyntax-only $CPPFLAGS -I. "$@"
}
any() { [ -n "$LONG" ]; }

# -- dialects. Short: each compiler in its oldest and newest.
for std in c99 c17 ${LONG:+c11}; do in_c gcc $std "$dir/with.c"; in_c clang $std "$dir/with.c"; done
any || in_c clang c11 "$dir/with.c"
for cc in gcc clang; do in_c $cc c99 -funsigned-char "$dir/with.c"; done
has aarch64-linux-gnu-gcc && in_c aarch64-linux-gnu-gcc c99 -fsigned-char "$dir/with.c"                 # as Apple and Windows have it
for std in c++11 c++20 ${LONG:+c++14 c++17}; do in_cxx g++ $std "$dir/with.c"; in_cxx clang++ $std "$dir/with.c"; done
any || in_cxx clang++ c++17 "$dir/with.c"
if has tcc; then
    for std in c99 c11; do clean "tcc -std=$std" tcc -std=$std -Wall -Werror $CPPFLAGS -I. -c "$dir/with.c" -o "$dir/tcc.o"; done
else
    skip "tcc is not installed"
fi

# -- other CPUs and systems; optimised where flow may matter
others="aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc riscv64-linux-gnu-gcc s390x-linux-gnu-gcc i686-linux-gnu-gcc x86_64-w64-mingw32-gcc i686-w64-mingw32-gcc"
for cc in $others; do
    in_c "$cc" c99 "$dir/with.c"
    any && has "$cc" && clean "$cc -O2" "$cc" -std=c99 $strict -O2 $CPPFLAGS -I. -c "$dir/with.c" -o "$dir/with.o"
done
any && for cxx in aarch64-linux-gnu-g++ x86_64-w64-mingw32-g++; do has $cxx && in_cxx $cxx c++11 "$dir/with.c"; done

# -- parts left out
all_out="-DLLM_NO_STDIO -DLLM_NO_MMAP -DLLM_NO_THREADS -DLLM_NO_SIMD -DLLM_NO_STDLIB -DLLM_NO_CHAT"
for macros in $all_out "-DLLM_STATIC" "$all_out"; do
    # shellcheck disable=SC2086
    in_c gcc c99 $macros "$dir/with.c"
    if any || [ "$macros" = "$all_out" ]; then
        in_c clang c11 $macros "$dir/with.c"
        in_cxx g++ c++11 $macros "$dir/with.c"
        for cc in arm-linux-gnueabihf-gcc aarch64-linux-gnu-gcc x86_64-w64-mingw32-gcc; do in_c $cc c99 $macros "$dir/with.c"; done
    fi
done

# -- compilers between two instruction sets: GCC 9 and 10 know AVX-512 VNNI but not AVX-VNNI. What a build says of itself must be what it has.
cat > "$dir/isas.c" << 'END'
#include <stdio.h>
#define LLM_IMPLEMENTATION
#include "llm.h"
int main(void) {
    const char *list = llm__isas_compiled();
#define LLM__X(id, name) if (id != LLM_ISA_AUTO && llm__has(list, name) != llm__isa_compiled(id)) printf("%s: ", name);
    LLM__ISAS(LLM__X)
    puts(list);
    return 0;
}
END
if has gcc && [ "$(uname -m)" = x86_64 ]; then
    for version in 8 9 11; do
        case $version in 8) list=AVX2 ;; 9) list="AVX2, AVX-512 VNNI" ;; *) list="AVX2, AVX-VNNI, AVX-512 VNNI" ;; esac
        # shellcheck disable=SC2086
        said=$(gcc -std=c99 -O0 -w -DLLM_QUIET $CPPFLAGS -U__GNUC__ -D__GNUC__=$version -I. "$dir/isas.c" -o "$dir/isas" -pthread && "$dir/isas")
        check "as GCC $version: $said" [ "$said" = "scalar, $list" ]
    done
else
    lacks "GCC for x86-64, which could pass for an older one"
fi

# -- the examples
for file in examples/*.c; do
    in_c gcc c99 "$file"
    in_cxx g++ c++11 "$file"
    any && { in_c clang c11 "$file"; in_cxx clang++ c++17 "$file"; in_c x86_64-w64-mingw32-gcc c99 "$file"; }
done

# -- Windows without MinGW. clang-cl is clang for the target of MSVC: its own intrinsics, here over Wine's headers, which were written for
# MSVC as well. And the branches that only MSVC takes: the same clang, told to deny that it is one, and to find every extension of C that
# MSVC has not (statement expressions, case ranges, empty initialisers, variable arrays ...). It proves that those branches are C, have
# their types right, and name no GNU word; not that cl.exe has the same intrinsics and the same bits.
wine=
for d in /usr/include/wine/wine /usr/include/wine-development/wine /usr/include/wine; do [ -d "$d/msvcrt" ] && [ -d "$d/windows" ] && wine=$d && break; done
if ! has clang; then skip "clang is not installed"
elif [ -z "$wine" ]; then skip "Wine's headers are not installed (libwine-dev): no clang-cl, no MSVC"
else
    own=$(clang -print-resource-dir)/include
    windows="-fms-compatibility -fms-extensions -fms-compatibility-version=19.30 -D_CRT_SECURE_NO_WARNINGS -isystem $own -isystem $wine/msvcrt -isystem $wine/windows"
    warn="-Wall -Wextra -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wcast-qual -Werror -Wno-unused-function -DLLM_QUIET"
    deny="-U__clang__ -Wno-builtin-macro-redefined -pedantic -Wgnu -Wvla -Wno-microsoft -Wno-language-extension-token"
    isa="-mfma -mf16c -mavxvnni -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni"
    cl() { what=$1 cpu=$2; shift 2; clean "$what $cpu" clang --target=$cpu-pc-windows-msvc -std=c11 $windows $warn -fsyntax-only -I. "$@"; }
    cl "clang-cl," x86_64 "$dir/with.c"
    cl "clang-cl," i686 "$dir/with.c"
    cl "MSVC's branches," x86_64 $deny $isa "$dir/with.c"
    cl "MSVC's branches," i686 $deny "$dir/with.c"
    cl "MSVC's branches," aarch64 $deny -DARM64_FPCR=0x5a20 "$dir/with.c"          # Wine's winnt.h lacks the register's name
    cl "clang-cl," x86_64 -Dsig_atomic_t=int examples/llm.c
    # Code, too: clang refuses an intrinsic in a function that lacks its instruction set only there.
    clean "clang-cl makes code" clang --target=x86_64-pc-windows-msvc -std=c11 $windows $warn -O1 -I. -c "$dir/with.c" -o "$dir/cl.obj"
fi
# The list for MSVC that needs no compiler. GNU words stand in the macros of config, behind an #if of the compiler's, or nowhere.
awk '/^\/\/ >>/ { section = $2 } section != ">>config" && /__attribute__|__extension__|typeof|__int128|__thread/ { print FILENAME ":" FNR ": " $0 }' \
    llm_impl.h > "$dir/gnu"
check "no GNU word outside config: $(head -n 1 "$dir/gnu")" [ ! -s "$dir/gnu" ]
grep -nE '0[bB][01]+[^0-9a-fx]|\[0\]( LLM__UNUSED)?;$.*struct|\? *:|= *\{ *\};|case [^:]* \.\.\. |##__VA_ARGS__|^ *(\.[a-z_]+ = |\[[A-Z0-9_]+\] = )' llm.h llm_impl.h |
    grep -v ': *//' > "$dir/gnu"
check "no binary literal, short conditional, empty initialiser, range, designator: $(head -n 1 "$dir/gnu")" [ ! -s "$dir/gnu" ]
check "C++ alone has empty braces" sh -c "grep -c 'LLM__ZERO {}' llm_impl.h | grep -qx 1"
finish
