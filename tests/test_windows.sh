# The library on Windows, as far as MinGW and Wine are Windows: suites and the program, built for x86-64 and run under Wine; the same for
# i686 compiled and linked. Tests alone of a POSIX system stay out: test_explain feeds /proc, test_process forks, test_leaks and the
# suites in shell look at this machine. LONG=1: every suite that can run there.
. tests/test.sh
dir=$TEST_SCRATCH/windows
rm -rf "$dir" && mkdir -p "$dir"
cc=x86_64-w64-mingw32-gcc
has $cc || { skip "$cc is not installed"; finish; }
wine=
for w in wine64 /usr/lib/wine/wine64 wine; do has $w && wine=$w && break; done
WINEDEBUG=-all WINEPREFIX=$(cd "$dir" && pwd)/wine
TEST_SCRATCH=$dir
export WINEDEBUG WINEPREFIX TEST_SCRATCH
few=gemma3-dense-kv-q8_0,qwen3moe-moe,made-every-type-kv-q8_0,made-later-types
[ -n "$LONG" ] && few=committed

# built NAME FLAGS... SOURCE: $program
built() {
    program=$dir/$1.exe
    shift
    "$cc" -std=c99 -Wall -Wextra -Wno-unused-function -Wno-unused-variable -Wno-unused-const-variable -Werror -O1 -static $CPPFLAGS -I. -Itests "$@" \
        -o "$program" -pthread > "$dir/log" 2>&1 && return
    head -n 5 "$dir/log"
    return 1
}
suite() {
    case $1 in test_platform|test_pool|test_gguf) flags="-O0 -DLLM_DEBUG" ;; *) flags= ;; esac         # built in a tenth of the time
    # shellcheck disable=SC2086
    check "$cc $1" built "$1" $flags "tests/$1.c"
    [ -x "$program" ] || return
    begin=$(date +%s)
    "$wine" "$program" > "$dir/$1.txt" 2>&1
    code=$?
    check "$1 under Wine: $(grep -m 3 failed "$dir/$1.txt" | tr -d '\r' | tr '\n' ';')" [ $code -eq 0 ]
    check "$1 under Wine checked something" sh -c "tail -n 1 '$dir/$1.txt' | tr -d '\r' | grep -qE '^[1-9][0-9]* passed, 0 failed$'"
    echo "$1: $(tail -n 1 "$dir/$1.txt" | tr -d '\r'), $(($(date +%s) - begin)) s"
}

if [ -n "$wine" ]; then
    for name in test_platform test_pool test_gguf \
        ${LONG:+test_forward test_formats test_vectors test_kernels test_sampler test_template test_tokenizer test_api test_cores test_sha256}; do suite $name; done
    # The committed sums: the same bits from another system's compiler and calling convention.
    check "$cc test_bits" built test_bits tests/test_bits.c
    if [ -x "$program" ]; then
        "$wine" "$program" --hashes --set "$few" 2>&1 |
            tr -d '\r' > "$dir/bits.txt"
        check "the committed sums under Wine" sh -c "grep -qE '^[0-9a-f]{64}  ' '$dir/bits.txt' && ! grep -E '^[0-9a-f]{64}  ' '$dir/bits.txt' | grep -qvxFf tests/bits.sha256"
        check "and the promise: $(tail -n 1 "$dir/bits.txt")" grep -qx 'bits_promise 1' "$dir/bits.txt"
    fi
    check "$cc examples/llm.c" built llm -O2 examples/llm.c
    if [ -x "$program" ]; then
        "$wine" "$program" run examples/tiny/tiny.gguf -p "Tell me a story about a fox." > "$dir/run.txt" 2> "$dir/run.err"
        check "llm run answers" sh -c "[ $? -eq 0 ] && [ \$(wc -c < '$dir/run.txt') -gt 40 ]"
        [ -x "$BUILD/llm" ] && "$BUILD/llm" run examples/tiny/tiny.gguf -p "Tell me a story about a fox." > "$dir/here.txt" 2> /dev/null &&
            check "and tells the story that is told here" sh -c "tr -d '\r' < '$dir/run.txt' | cmp -s - '$dir/here.txt'"
        "$wine" "$program" plan examples/tiny/tiny.gguf > "$dir/plan.txt" 2>&1
        check "llm plan" [ $? -eq 0 ]
        "$wine" "$program" run C:/not/there.gguf -p hi > "$dir/not.txt" 2>&1
        check "llm says that there is no such file" grep -q 'no such file' "$dir/not.txt"
    fi
else
    skip "Wine is not installed"
fi
# 32 bits: there is no Wine for them here.
cc=i686-w64-mingw32-gcc
if has $cc; then
    check "$cc examples/llm.c" built llm32 -msse2 -mfpmath=sse examples/llm.c
    check "$cc examples/hello.c" built hello32 examples/hello.c
else
    skip "$cc is not installed"
fi
finish
