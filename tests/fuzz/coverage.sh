#!/bin/sh
# Which lines of llm_impl.h the committed inputs of a target reach, by section. Usage: tests/fuzz/coverage.sh TARGET...
# Prints `target section reached lines per cent` for sections of which something is reached. Needs clang, llvm-profdata and llvm-cov.
cd "$(dirname "$0")/../.." || exit 1
dir=build/fuzz/coverage
mkdir -p $dir
for target in "$@"; do
    rm -rf $dir/$target
    sh tests/fuzz/corpus.sh unpack $target $dir/$target || exit 1
    clang -std=c99 -O0 -DLLM_QUIET -DFUZZ_REPLAY -fprofile-instr-generate -fcoverage-mapping -Wno-unused-function -I. -Itests \
        tests/fuzz/fuzz_$target.c -o $dir/$target.program -pthread || exit 1
    LLVM_PROFILE_FILE=$dir/$target.raw $dir/$target.program $dir/$target/* > /dev/null || exit 1
    llvm-profdata merge $dir/$target.raw -o $dir/$target.data || exit 1
    llvm-cov export -format=lcov $dir/$target.program -instr-profile=$dir/$target.data > $dir/$target.lcov || exit 1
    awk -v target=$target '
        FNR == NR { if (/^\/\/ >>/) { name = substr($2, 3); from[++n] = FNR; section[n] = name } next }
        /^SF:/ { ours = /llm_impl\.h$/ }
        ours && /^DA:/ { split(substr($0, 4), a, ","); seen[a[1]] = 1; if (a[2] > 0) hit[a[1]] = 1 }
        END {
            for (line in seen) {
                for (i = n; i > 1 && from[i] > line + 0; i--) { }
                lines[i]++; if (line in hit) { reached[i]++; any++ }
                all++
            }
            for (i = 1; i <= n; i++) if (reached[i]) printf "%-10s %-10s %5d %5d %5.1f %%\n", target, section[i], reached[i], lines[i], 100 * reached[i] / lines[i]
            printf "%-10s %-10s %5d %5d %5.1f %%\n", target, "all", any, all, 100 * any / all
        }' llm_impl.h $dir/$target.lcov
done
