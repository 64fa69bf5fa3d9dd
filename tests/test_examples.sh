# The examples that show how the library fits into a host: each is built as its first lines say, warnings as errors, and runs.
. tests/test.sh
dir=$TEST_SCRATCH/examples
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf
story="Tell me a story about a fox."

# -- cpp.cpp: handles that close themselves, which AddressSanitizer sees at the end
found=
for cxx in ${CXX:-g++ clang++}; do
    has "$cxx" || continue
    found=yes
    warnings="-Wall -Wextra -pedantic -Werror -DLLM_DEBUG"
    check "cpp.cpp, $cxx -std=c++20" $cxx -std=c++20 $warnings -fsyntax-only $CPPFLAGS -I. examples/cpp.cpp
    check "cpp.cpp, $cxx" $cxx -std=c++11 $warnings -O0 -fsanitize=address $CPPFLAGS -I. examples/cpp.cpp -o "$dir/cpp" -pthread
    check "cpp.cpp runs" sh -c "'$dir/cpp' $tiny '$story' > '$dir/cpp.out'"
    check "cpp.cpp tells hello.c's story" sh -c "'$BUILD/hello' $tiny | cmp -s - '$dir/cpp.out'"
    "$dir/cpp" /nonexistent.gguf > "$dir/cpp.out" 2> "$dir/cpp.err"
    check "cpp.cpp: an exception is one sentence and code 1" [ "$? $(wc -l < "$dir/cpp.err") $(wc -c < "$dir/cpp.out")" = "1 1 0" ]
done
[ -n "$found" ] || skip "no C++ compiler is installed"

# -- arena.c: a model in one static buffer, in exactly the bytes that it says it needs
check "arena.c compiles without a warning" \
    ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror -O2 $CPPFLAGS -I. examples/arena.c -o "$dir/arena" -pthread
check "arena.c answers" sh -c "'$dir/arena' $tiny > '$dir/out' 2> '$dir/err' && [ \$(wc -c < '$dir/out') -gt 40 ]"
need=$(sed -n 's/^\([0-9]*\) bytes: .*/\1/p' "$dir/err")
check "arena.c says what it needs, and that is less than the buffer has" [ "${need:-0}" -gt 100000 -a "${need:-0}" -lt 1048576 ]
check "arena.c: in so many bytes it says the same" sh -c "'$dir/arena' $tiny ${need:-0} 2> '$dir/err' | cmp -s - '$dir/out'"
refuses_less() {
    "$dir/arena" $tiny $((need - 1)) > "$dir/out1" 2> "$dir/err1" && return 1
    [ ! -s "$dir/out1" ] && [ "$(wc -l < "$dir/err1")" -eq 2 ] && grep -q 'arena_bytes' "$dir/err1"
}
check "arena.c: one byte less is refused, with a sentence" refuses_less
check "arena.c: so is next to nothing" sh -c "! '$dir/arena' $tiny 100 > '$dir/out1' 2> '$dir/err1' && [ \$(wc -l < '$dir/err1') -eq 2 ]"
if has nm; then
    check "arena.c has no malloc" sh -c "! nm '$dir/arena' | grep -qE ' U (malloc|calloc|realloc|free)(@|\$)'"
else
    lacks "nm: whether the example has a malloc was not looked at"
fi
finish
