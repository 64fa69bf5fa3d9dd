# test.sh - what the suites in shell use. Each is started by tests/run from the repository's root, with BUILD, LLM_FIXTURES and
# TEST_SCRATCH set; each ends with `finish`.
: "${BUILD:=build}" "${TEST_SCRATCH:=build/tests}"
if [ -z "$LLM_FIXTURES" ] && [ -d ../shared/fixtures ]; then LLM_FIXTURES=../shared/fixtures; fi
passed=0 failed=0

# check "what must hold" COMMAND...: holds if the command succeeds.
check() {
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $what"; fi
}
# Up to three times, until the machine lets it: for what other programs on this machine can spoil.
patiently() { for attempt in 1 2 3; do "$@" && return 0; done; return 1; }
skip() { echo "skipped: $*"; }         # could be supplied; a failure in CI
lacks() { echo "not here: $*"; }       # this machine cannot
has() { command -v "$1" > /dev/null 2>&1; }
# program NAME: the program under test, the smallest model, and a folder of the suite's own for what it says.
program() {
    llm=$BUILD/llm
    tiny=examples/tiny/tiny.gguf
    dir=$TEST_SCRATCH/$1
    [ -x "$llm" ] || { echo "no program at $llm: run make first"; check "the program is built" false; finish; }
    rm -rf "$dir" && mkdir -p "$dir"
    out=$dir/out err=$dir/err in=/dev/null
}
# run_as CODE ARGS...: runs the program; holds if it ends with that code. Input is empty unless $in names a file.
run_as() {
    want=$1
    shift
    "$llm" "$@" < "$in" > "$out" 2> "$err"
    code=$?
    [ $code -eq "$want" ] || { echo "llm $*: code $code, expected $want; stderr: $(head -c 300 "$err")"; return 1; }
}
# One sentence on stderr, nothing on stdout.
one_sentence() { [ ! -s "$out" ] && [ "$(wc -l < "$err")" -eq 1 ] && grep -q '^llm: ..' "$err"; }
said() { grep -q -e "$1" "$err"; }
finish() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
