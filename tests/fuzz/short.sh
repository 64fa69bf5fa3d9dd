#!/bin/sh
# The fuzz targets in three minutes: every committed input under AddressSanitizer and UndefinedBehaviorSanitizer, and a proof that each
# target finds what it is made for: in a copy of the library (of the program, for cli) one check is taken out, and the target, set on its
# committed inputs, must fail. Usage: tests/fuzz/short.sh [TARGET...], from make fuzz-short. Last line: `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 1
. tests/test.sh
[ $# -gt 0 ] || set -- gguf tokenizer sampler chat cli api
dir=build/fuzz/short
mkdir -p $dir
export UBSAN_OPTIONS=print_stacktrace=1

# With libFuzzer where there is clang, else as plain programs that replay files.
printf 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p && n == 12345 ? 1 : 0; }\n' > $dir/probe.c
if clang -fsanitize=fuzzer,address $dir/probe.c -o $dir/probe 2> /dev/null; then
    compile="clang -fsanitize=fuzzer,address"
else
    skip "no clang with libFuzzer: the committed inputs are replayed, and nothing new is tried"
    compile="${CC:-cc} -fsanitize=address -DFUZZ_REPLAY"
fi
compile="$compile -std=c99 -O0 -DLLM_QUIET -Wno-unused-function"

# build TREE TARGET FLAGS...: TREE/TARGET from the sources in TREE
build() {
    tree=$1 name=$2
    shift 2
    $compile "$@" -I$tree -I$tree/tests $tree/tests/fuzz/fuzz_$name.c -o $dir/$name -pthread 2> $dir/$name.build || { cat $dir/$name.build; return 1; }
}
# replay TARGET SECONDS: all its inputs, and then new ones for so long
replay() {
    case $compile in
    *FUZZ_REPLAY*) $dir/$1 $dir/inputs/$1/* > $dir/$1.log 2>&1 ;;
    *) $dir/$1 $dir/inputs/$1 -seed=1 -max_total_time=$2 $([ $2 -gt 0 ] || echo -runs=0) -max_len=60000 -timeout=25 -rss_limit_mb=2048 \
           -artifact_prefix=$dir/ > $dir/$1.log 2>&1 ;;
    esac
}
sound() {
    build . "$1" -fsanitize=undefined -fno-sanitize-recover=all && replay "$1" 0 && return 0
    tail -n 30 $dir/$1.log
    return 1
}

# What is taken out for each target: FILE, what a line of it says, what it says then. The line must be there, once.
plant() {
    case $1 in
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
    rm -rf $dir/tree
    mkdir -p $dir/tree/examples $dir/tree/tests/fuzz
    cp llm.h llm_impl.h $dir/tree
    cp examples/*.[ch] $dir/tree/examples
    cp tests/*.h $dir/tree/tests
    cp tests/fuzz/*.[ch] $dir/tree/tests/fuzz
}
planted() {
    plant "$1"
    copy
    pattern=$(printf '%s' "$from" | sed 's/\\&/\&/g; s/[*]/\\*/g')
    [ "$(grep -c -- "$pattern" $file)" -eq 1 ] || { echo "$1: '$from' is not one line of $file"; return 1; }
    sed "s~$pattern~$to~" $file > $dir/tree/$file
    build $dir/tree "$1" || return 1
    replay "$1" 20 && { echo "$1: not found"; return 1; }
    grep -a -q -e 'does not hold' -e 'ERROR: AddressSanitizer' $dir/$1.log || { tail -n 20 $dir/$1.log; return 1; }
    echo "$1: $(grep -a -m 1 -o -e 'does not hold.*' -e 'AddressSanitizer: [a-z-]*' $dir/$1.log)"
}

for target in "$@"; do
    rm -rf $dir/inputs/$target
    sh tests/fuzz/corpus.sh unpack $target $dir/inputs/$target
    check "$target: inputs are committed" [ -n "$(ls $dir/inputs/$target 2> /dev/null)" ] || continue
    check "$target: no committed input fails" sound $target
    check "$target: finds what was planted" planted $target
done
finish
