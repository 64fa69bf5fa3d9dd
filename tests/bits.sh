#!/bin/sh
# The same bits from every compiler, flag and CPU: builds tests/test_bits.c in many ways and compares what `test_bits --hashes` prints,
# line by line, with the first build's scalar answer and with tests/bits.sha256.
#
#   tests/bits.sh           the committed subjects with every build; all fixtures with the first build   (four minutes of CPU time)
#   tests/bits.sh --all     all fixtures with every build, and one more for aarch64
#   tests/bits.sh --write   the same, then writes tests/bits.sha256 if all builds agree with each other
#
# A compiler or emulator that is not installed is named and skipped. CPPFLAGS is handed to every compiler. Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 1
set_of_models=committed write=
case ${1:-} in
    "") ;;
    --all) set_of_models=all ;;
    --write) write=1 ;;
    *) echo "usage: $0 [--all | --write]" >&2; exit 2 ;;
esac
out=${BUILD:-build}/bits
mkdir -p "$out"
golden=tests/bits.sha256
passed=0 failed=0

verdict() {                 # verdict CODE TEXT: one check
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); printf 'ok    %s\n' "$2"
    else failed=$((failed + 1)); printf 'FAIL  %s\n' "$2"; fi
}
only_hashes() { grep -E '^[0-9a-f]{64}  ' "$1"; }

# build NAME COMPILER FLAGS...: $program is the result; false when the compiler is missing or fails.
build() {
    name=$1 compiler=$2
    shift 2
    program=$out/$name
    if ! command -v "$compiler" > /dev/null 2>&1; then echo "skipped: $name: no $compiler"; return 1; fi
    # shellcheck disable=SC2086
    "$compiler" "$@" ${CPPFLAGS:-} -I. -Itests -o "$program" "${source:-tests/test_bits.c}" -pthread > "$out/$name.build.log" 2>&1
    code=$?
    if [ $code -ne 0 ]; then verdict 1 "$name: does not build, see $out/$name.build.log"; fi
    return $code
}

# hashes LABEL EMULATOR SET OPTIONS...: runs $program and compares with $reference, which the first run sets.
reference=
hashes() {
    label=$1 emulator=$2 which=$3
    shift 3
    log=$out/$(echo "$label" | tr ' /' '__').txt
    start=$(date +%s)
    # shellcheck disable=SC2086
    $emulator "$program" --hashes --set "$which" "$@" > "$log" 2>&1
    code=$?
    seconds=$(($(date +%s) - start))
    if [ $code -ne 0 ]; then verdict 1 "$label: ended with code $code, see $log"; return; fi
    if ! grep -q '^bits_promise 1' "$log"; then verdict 1 "$label: $(grep '^bits_promise' "$log")"; return; fi
    only_hashes "$log" > "$log.hashes"
    if [ -z "$reference" ]; then reference=$log.hashes; fi
    # The committed subjects come first in every list, so a shorter list is a prefix of a longer one.
    n=$(wc -l < "$log.hashes")
    m=$(wc -l < "$reference")
    if [ "$n" -gt "$m" ]; then n=$m; fi
    head -n "$n" "$reference" > "$log.want"
    head -n "$n" "$log.hashes" > "$log.got"
    if [ "$n" -gt 0 ] && cmp -s "$log.want" "$log.got"; then
        verdict 0 "$label: $n models alike (${seconds} s)"
    else
        verdict 1 "$label: other bits:"
        diff "$log.want" "$log.got" | sed 's/^/        /' | head -n 12
    fi
}

# refused LABEL EMULATOR ISA SENTENCE: $program does not start on an instruction set that the CPU lacks, and says so.
refused() {
    if said=$($2 "$program" --hashes --isa "$3" 2>&1); then code=1
    else case $said in *"$4"*) code=0 ;; *) code=1 ;; esac; fi
    verdict $code "$1: $4"
}

# picks LABEL ISA: what the run of that label had, left to itself.
picks() {
    code=0
    grep -qx "isa $2" "$out/$(echo "$1" | tr ' /' '__').txt" || code=1
    verdict $code "$1 picks $2"
}

# by_name LABEL: every instruction set that this CPU has. Scalar takes 6 s of CPU time, each of the others half a second.
by_name() {
    "$program" --isas > "$out/isas"
    while read -r isa; do
        hashes "$1, $isa" "" committed --isa "$isa" --threads 2
    done < "$out/isas"
}

# encodings LABEL: AVX-VNNI kernels hold the VEX form of VPDPBUSD and no register that takes AVX-512; the EVEX form is in kernels for CPUs that
# have AVX-512, and no other function has either. No CPU at hand runs the VEX form: it is the same source, and this is what differs.
encodings() {
    if ! command -v objdump > /dev/null 2>&1; then echo "skipped: $1: no objdump"; return; fi
    objdump -d --no-show-raw-insn "$program" | awk '
        /^[0-9a-f]+ <.*>:$/ { avx_vnni = /_avx_vnni/; evex = /_(evex|avx512)/ }
        /vpdpbusd/ { vex = /\{vex\}/; if (vex && avx_vnni) n_vex++; else if (!vex && evex) n_evex++; else wrong++ }
        avx_vnni && /%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])/ { wrong++ }
        END { printf "%d in VEX, %d in EVEX, %d where they must not be\n", n_vex, n_evex, wrong; exit !(n_vex && n_evex && !wrong) }' \
        > "$out/encodings.txt"
    verdict $? "$1: VPDPBUSD $(cat "$out/encodings.txt")"
}

# A build that cannot keep the promise must say so, and must still answer.
no_promise() {
    log=$out/$1.txt
    "$program" --hashes --set committed > "$log" 2>&1
    code=$?
    if [ $code -eq 0 ] && grep -q '^bits_promise 0: .' "$log"; then verdict 0 "$1: $(grep '^bits_promise' "$log")"
    else verdict 1 "$1: code $code, $(grep '^bits_promise' "$log")"; fi
}

std="-std=c99"
if build gcc-O2 gcc $std -O2; then
    hashes "gcc -O2 scalar" "" all --isa scalar --threads 1
    hashes "gcc -O2" "" all
    hashes "gcc -O2 split 7 rewind" "" all --split 7 --rewind
    hashes "gcc -O2 hostile fp" "" all --hostile-fp --threads 2
    hashes "gcc -O2 for_fn hostile fp" "" all --hostile-fp --for-fn-reverse --threads 2
    by_name "gcc -O2"
    case $(uname -m) in x86_64)
        encodings "gcc -O2"
        # Three CPUs: one without AVX (107 s of CPU time, software FMA under an emulator), one with AVX2 (16 s), and whatever the emulator can
        # (16 s).
        if command -v qemu-x86_64 > /dev/null 2>&1; then
            hashes "Nehalem" "qemu-x86_64 -cpu Nehalem" committed
            picks "Nehalem" scalar
            hashes "Haswell" "qemu-x86_64 -cpu Haswell" committed
            picks "Haswell" AVX2
            hashes "qemu max" "qemu-x86_64 -cpu max" committed
            refused "Nehalem" "qemu-x86_64 -cpu Nehalem" AVX2 "AVX2 is not available"
            refused "Haswell" "qemu-x86_64 -cpu Haswell" AVX-VNNI "AVX-VNNI is not available"
        else
            echo "skipped: other x86 CPUs: no qemu-x86_64"
        fi ;;
    esac
fi
rest() {                    # what every further build is asked: as dispatched, and scalar with a split
    label=$1 emulator=${2:-}
    hashes "$label" "$emulator" "$set_of_models"
    hashes "$label scalar" "$emulator" "$set_of_models" --isa scalar --split 64 --threads 2
}
build gcc-O0 gcc $std -O0 && rest "gcc -O0, raised to -O2 inside"
build gcc-O0-debug gcc $std -O0 -DLLM_DEBUG && rest "gcc -O0"
build gcc-Os gcc $std -Os && rest "gcc -Os" && by_name "gcc -Os"
build gcc-O3-native gcc $std -O3 -march=native && rest "gcc -O3 -march=native"
build gcc-O2-fast-math gcc $std -O2 -ffast-math && rest "gcc -O2 -ffast-math"
build gcc-O3-native-fast-math gcc $std -O3 -march=native -ffast-math && rest "gcc -O3 -march=native -ffast-math"
build gcc-single gcc $std -O1 -fsingle-precision-constant -fshort-enums -funsigned-char -fwrapv &&
    rest "gcc -O1 -fsingle-precision-constant -fshort-enums -funsigned-char"
build gxx-O2 g++ -x c++ -std=c++11 -O2 && rest "g++ -O2" && by_name "g++ -O2"
build clang-O0 clang $std -O0 && rest "clang -O0"
if build clang-O2 clang $std -O2; then
    rest "clang -O2"
    by_name "clang -O2"
    [ "$(uname -m)" = x86_64 ] && encodings "clang -O2"
fi
build clang-Os clang $std -Os && rest "clang -Os"
build clang-O3-native clang $std -O3 -march=native && rest "clang -O3 -march=native"
build clang-O2-fast-math clang $std -O2 -ffast-math -Wno-everything && no_promise clang-O2-fast-math
# ... and its answers are still as near to the references as everyone's.
if source=tests/test_forward.c build forward-clang-fast-math clang $std -O2 -ffast-math -Wno-everything; then
    "$program" > "$out/forward-clang-fast-math.txt" 2>&1
    verdict $? "clang -O2 -ffast-math against the references: $(tail -n 1 "$out/forward-clang-fast-math.txt")"
fi
if command -v qemu-aarch64 > /dev/null 2>&1; then
    # Three CPUs, each with one instruction set more; what a CPU lacks is refused.
    if build aarch64-O2 aarch64-linux-gnu-gcc $std -O2 -static; then
        hashes "aarch64 cortex-a53 NEON" "qemu-aarch64 -cpu cortex-a53" "$set_of_models" --isa NEON
        hashes "aarch64 cortex-a76 dotprod" "qemu-aarch64 -cpu cortex-a76" "$set_of_models" --isa "NEON dotprod"
        hashes "aarch64 max i8mm hostile fp" "qemu-aarch64 -cpu max" "$set_of_models" --isa "NEON i8mm" --hostile-fp --threads 2
        refused "aarch64 cortex-a53" "qemu-aarch64 -cpu cortex-a53" "NEON dotprod" "NEON dotprod is not available"
        refused "aarch64 cortex-a76" "qemu-aarch64 -cpu cortex-a76" "NEON i8mm" "NEON i8mm is not available"
    fi
    [ $set_of_models = all ] && build aarch64-O3 aarch64-linux-gnu-gcc $std -O3 -static -ffast-math &&
        hashes "aarch64 -O3 -ffast-math" "qemu-aarch64 -cpu max" "$set_of_models" --hostile-fp
    [ $set_of_models = all ] && build aarch64-scalar aarch64-linux-gnu-gcc $std -O2 -static -DLLM_NO_SIMD &&
        hashes "aarch64 LLM_NO_SIMD" qemu-aarch64 committed
else
    echo "skipped: aarch64: no qemu-aarch64"
fi

if [ -n "$reference" ]; then
    # The committed subjects are the lines that every checkout has.
    build_lines=$("$out/gcc-O2" --hashes --set committed 2> /dev/null | grep -cE '^[0-9a-f]{64}  ')
    if [ -n "$write" ] && [ "$failed" -eq 0 ]; then
        head -n "$build_lines" "$reference" > "$golden"
        echo "wrote $golden: $build_lines hashes"
    elif [ -n "$write" ]; then
        echo "$golden is left as it is: not all builds agree"
    fi
    if [ -f "$golden" ]; then
        head -n "$build_lines" "$reference" | cmp -s - "$golden"
        verdict $? "the hashes are those of $golden"
    else
        echo "skipped: $golden is not there yet"
    fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
