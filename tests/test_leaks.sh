# Memory: nothing is leaked and nothing is read before it is written, by the program of eleven lines and by one that fails.
. tests/test.sh
dir=$TEST_SCRATCH/leaks
mkdir -p "$dir"
if ! has valgrind; then
    skip "valgrind is not installed"
    finish
fi
watch() {
    valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all "$@" > "$dir/out" 2> "$dir/log"
}
# Runs that must end with code 1 without an error of valgrind's.
watch_failing() { watch "$@"; [ $? -eq 1 ] || { head -n 20 "$dir/log"; return 1; }; }
watch_well() { watch "$@" || { head -n 20 "$dir/log"; return 1; }; }

check "hello" watch_well "$BUILD/hello"
check "hello answers" [ "$(wc -c < "$dir/out")" -gt 40 ]
check "hello without a file" watch_failing "$BUILD/hello" /nonexistent.gguf
check "hello with a file that is none" watch_failing "$BUILD/hello" Makefile
head -c 200000 examples/tiny/tiny.gguf > "$dir/cut.gguf"
check "hello with half a file" watch_failing "$BUILD/hello" "$dir/cut.gguf"
printf '/temp 0\nTell me a story.\n/reset\nAnother.\n/more\n/save %s/talk.md\n' "$dir" > "$dir/talk.txt"
rm -f "$dir/talk.md"
check "a conversation" watch_well "$BUILD/llm" chat examples/tiny/tiny.gguf -n 12 < "$dir/talk.txt"
check "info" watch_well "$BUILD/llm" info examples/tiny/tiny.gguf --json
check "bench" watch_well "$BUILD/llm" bench examples/tiny/tiny.gguf --prompt 8 --gen 4 --reps 1
finish
