#!/bin/sh
# The fuzz targets in three minutes: every committed input under AddressSanitizer and UndefinedBehaviorSanitizer, and a proof that each
# target finds what it is made for: in a copy of the library (of the program, for cli) one check is taken out, and the target, set on its
# committed inputs, must fail. Usage: tests/fuzz/short.sh [TARGET...], from make fuzz-short; JOBS targets at a time (one for each CPU).
# Last line: `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 1
. tests/test.sh
dir=build/fuzz/short
export UBSAN_OPTIONS=print_stacktrace=1

# Without --one: this script for each target, and the sum. The longest come first.
if [ "$1" != --one ]; then
    [ $# -gt 0 ] || set -- api cli gguf tokenizer chat sampler
    mkdir -p $dir
    for target in "$@"; do rm -f $dir/$target.said; echo $target; done |
        xargs -n 1 -P "${JOBS:-$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}" sh tests/fuzz/short.sh --one
    for target in "$@"; do
        sed '$d' $dir/$target.said
        p=$(sed -n '$s/ passed.*//p' $dir/$target.said) f=$(sed -n '$s/.*, \([0-9]*\) failed$/\1/p' $dir/$target.said)
        [ -n "$p" ] && [ -n "$f" ] || { echo "failed: $target ended without a summary"; p=0 f=1; }
        passed=$((passed + p)) failed=$((failed + f))
    done
    finish
fi
target=$2 tree=$dir/$2.tree
exec > $dir/$target.said 2>&1

# With libFuzzer where there is clang, else as plain programs that replay files.
printf 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p && n == 12345 ? 1 : 0; }\n' > $dir/$target.probe.c
if clang -fsanitize=fuzzer,address $dir/$target.probe.c -o $dir/$target.probe 2> /dev/null; then
    compile="clang -fsanitize=fuzzer,address"
else
    skip "no clang with libFuzzer: the committed inputs are replayed, and nothing new is tried"
    compile="${CC:-cc} -fsanitize=address -DFUZZ_REPLAY"
fi
compile="$compile -std=c99 -O0 -DLLM_QUIET -Wno-unused-function"

# build ROOT FLAGS...: the target from the sources in ROOT
build() {
    root=$1
    shift
    $compile "$@" -I$root -I$root/tests $root/tests/fuzz/fuzz_$target.c -o $dir/$target -pthread
}
# play OPTION: all inputs, and with -max_total_time=N new ones for so long
play() {
    case $compile in
    *FUZZ_REPLAY*) $dir/$target $dir/inputs/$target/* ;;
    *) $dir/$target $dir/inputs/$target "$1" -seed=1 -len_control=0 -max_len=60000 -timeout=300 -rss_limit_mb=2048 -artifact_prefix=$dir/$target- ;;
    esac > $dir/$target.log 2>&1
}
sound() {
    build . -fsanitize=undefined -fno-sanitize-recover=all || return 1
    play -runs=0 && return 0
    tail -n 30 $dir/$target.log
    return 1
}

# What is taken out for each target: FILE, what a line of it says, what it says then. The line must be there, once.
plant() {
    case $target in
    gguf)      file=llm_impl.h from='if (c->failed || n > (uint64_t)(c->end - c->at)) {' to='if (c->failed) {' ;;
    tokenizer) file=llm_impl.h from='if (w->n < w->cap) w->out\[w->n\] = t;' to='if (w->n <= w->cap) w->out[w->n] = t;' ;;
    sampler)   file=llm_impl.h from='while (m > 1 \&\& s->weights\[m - 1\] < least) m--;' to='while (m > 1 \&\& s->weights[m - 1] <= least) m--;' ;;
    chat)      file=llm_impl.h from='else llm__chat_add(o, llm__chat_content(f, \&m\[i\]), true);'
               to='else llm__chat_add(o, llm__chat_content(f, \&m[i]), false);' ;;
    cli)       file=examples/llm.c from='if (i + 1 == n) {' to='if (i == n) {' ;;
    api)       file=llm_impl.h from='c->past.n -= n;' to=';' ;;
    esac
}
copy() {
    rm -rf $tree
    mkdir -p $tree/examples $tree/tests/fuzz
    cp llm.h llm_impl.h $tree
    cp examples/*.[ch] $tree/examples
    cp tests/*.h $tree/tests
    cp tests/fuzz/*.[ch] $tree/tests/fuzz
}
planted() {
    plant
    copy
    pattern=$(printf '%s' "$from" | sed 's/\\&/\&/g; s/[*]/\\*/g')
    [ "$(grep -c -- "$pattern" $file)" -eq 1 ] || { echo "$target: '$from' is not one line of $file"; return 1; }
    sed "s~$pattern~$to~" $file > $tree/$file
    build $tree || return 1
    play -max_total_time=20 && { echo "$target: not found"; return 1; }
    grep -a -q -e 'does not hold' -e 'ERROR: AddressSanitizer' $dir/$target.log || { tail -n 20 $dir/$target.log; return 1; }
    echo "$target: $(grep -a -m 1 -o -e 'does not hold.*' -e 'AddressSanitizer: [A-Za-z-]*' $dir/$target.log)"
}

rm -rf $dir/inputs/$target
check "$target: inputs are committed" sh tests/fuzz/corpus.sh unpack $target $dir/inputs/$target
check "$target: no committed input fails" sound
check "$target: finds what was planted" planted
finish
