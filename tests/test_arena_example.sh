# The program in one static buffer: it answers in exactly the bytes that it says it needs, and refuses one byte less.
. tests/test.sh

dir=$TEST_SCRATCH/test_arena_example
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf

check "arena.c compiles without a warning" \
    ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror -O2 $CPPFLAGS -I. examples/arena.c -o "$dir/arena" -pthread
[ -x "$dir/arena" ] || finish

check "it answers" sh -c "'$dir/arena' $tiny > '$dir/out' 2> '$dir/err' && [ \$(wc -c < '$dir/out') -gt 40 ]"
need=$(sed -n 's/^\([0-9]*\) bytes: .*/\1/p' "$dir/err")
check "it says what it needs, and that is less than the buffer has" [ "${need:-0}" -gt 100000 -a "${need:-0}" -lt 1048576 ]
check "in so many bytes it says the same" sh -c "'$dir/arena' $tiny ${need:-0} 2> '$dir/err' | cmp -s - '$dir/out'"
refuses_less() {
    "$dir/arena" $tiny $((need - 1)) > "$dir/out1" 2> "$dir/err1" && return 1
    [ ! -s "$dir/out1" ] && [ "$(wc -l < "$dir/err1")" -eq 2 ] && grep -q 'arena_bytes' "$dir/err1"
}
check "one byte less is refused, with a sentence" refuses_less
check "so is next to nothing" sh -c "! '$dir/arena' $tiny 100 > '$dir/out1' 2> '$dir/err1' && [ \$(wc -l < '$dir/err1') -eq 2 ]"
if has nm; then
    check "there is no malloc in it" sh -c "! nm '$dir/arena' | grep -qE ' U (malloc|calloc|realloc|free)(@|\$)'"
else
    lacks "nm: whether the example has a malloc was not looked at"
fi
finish
