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
skip() { echo "skipped: $*"; }         # could be supplied; a failure in CI
lacks() { echo "not here: $*"; }       # this machine cannot
has() { command -v "$1" > /dev/null 2>&1; }
finish() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
