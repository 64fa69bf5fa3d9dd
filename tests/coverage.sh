#!/bin/sh
# Which lines of llm_impl.h the suites reach: builds everything anew for gcov, runs it on x86-64 and, under qemu, on aarch64, merges, and
# prints the share and each function with lines that nothing reached. Fails below 95 %, or if a line is missed that tests/coverage.txt, which
# gives the reasons, does not know.
#
#   tests/coverage.sh              (half an hour on two cores; LLM_FIXTURES as for tests/run)
#   tests/coverage.sh --again      judges what the last run left in build/coverage
#
# Nothing is left out by markers. What no build here compiles (Windows, macOS, WebAssembly) has no lines and counts in neither number.
# test_bits would walk the kernels of test_kernels and test_vectors for another half an hour, and the public models of test_real what small ones
# reach, at -O0 for longer; shell suites that build for themselves leave no counts.
cd "$(dirname "$0")/.." || exit 1
out=build/coverage
arm=$out/aarch64
flags="-O0 --coverage -fkeep-static-functions -DLLM_DEBUG"    # LLM_DEBUG: gcc would optimise the library all the same
suites="$(cd tests && ls test_*.c | sed 's/\.c$//' | grep -vxE 'test_(bits|real)') test_cli test_compare"
arm_suites="test_vectors test_kernels test_formats test_forward test_platform"
gcovr="${GCOVR:-gcovr}"                                        # 6 or later (pip install gcovr): before, one name on two lines was an error
for tool in "$gcovr" gcc aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $tool > /dev/null || { echo "$tool is not installed"; echo "0 passed, 1 failed"; exit 1; }
done

if [ "${1:-}" != --again ]; then
    rm -rf $out && mkdir -p $out $arm
    echo "== the suites, x86-64"
    make -j"${JOBS:-2}" test T="$(echo $suites)" BUILD=$out CC=gcc CFLAGS="$flags" > $out/x86-64.log 2>&1
    grep -E '^(ok|skip|FAIL|[0-9]+ passed)' $out/x86-64.log
    echo "== kernels and arithmetic, aarch64"
    for suite in $arm_suites; do
        make $arm/tests/$suite BUILD=$arm CC=aarch64-linux-gnu-gcc CFLAGS="$flags" LDFLAGS=-static > $arm/$suite.build.log 2>&1
        cpus="cortex-a53 max"                                          # without dot products, and with everything
        [ $suite = test_formats ] && cpus="cortex-a53 cortex-a76 max"  # in between nothing is computed otherwise, but asked for
        for cpu in $cpus; do
            mkdir -p $arm/$cpu
            TEST_SCRATCH=$arm/$cpu qemu-aarch64 -cpu $cpu $arm/tests/$suite > $arm/$suite.$cpu.log 2>&1 &
        done
        wait                                                           # gcov locks the file of counts that they add to
        for cpu in $cpus; do echo "$suite, $cpu: $(tail -n 1 $arm/$suite.$cpu.log)"; done
    done
fi

count() { "$gcovr" -r . --filter '.*llm_impl\.h' --merge-mode-functions=separate \
    --gcov-suspicious-hits-threshold=0 "$@"; }                     # billions are no mistake of gcov's: SHA-256 of half a gigabyte
count --exclude-directories '.*/aarch64' --json $out/x86-64.json $out &&        # they are another gcov's
count --gcov-executable aarch64-linux-gnu-gcov --json $out/aarch64.json $arm &&
python3 tests/coverage.py llm_impl.h tests/coverage.txt $out/x86-64.json $out/aarch64.json
