#!/bin/sh
# What the ARM kernels cost, counted rather than timed, because there is no ARM machine here: QEMU runs one call of each kernel and lists
# every instruction; llvm-mca says how many cycles a model of a core needs for that very sequence. Not in either: caches, memory, branch
# prediction. Prints a Markdown table.
#
#   bench/arm.sh [TYPE...]          all types, or some
#   MCA=llvm-mca-16 bench/arm.sh    another llvm-mca; CPUS="cortex-a55 neoverse-n2" other models, two of them
#
# Needs aarch64-linux-gnu-gcc, qemu-aarch64 (built with plugins, as Debian's is) and llvm-mca.
set -eu
cd "$(dirname "$0")/.."
MCA=${MCA:-llvm-mca} CPUS=${CPUS:-"cortex-a55 cortex-a76"} out=${BUILD:-build}/arm
types=${*:-"Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K"}
mkdir -p "$out"
cc -O2 -shared -fPIC bench/qemu_trace.c -o "$out/qemu_trace.so"
aarch64-linux-gnu-gcc -O2 -std=c99 -Wno-unused-function ${CPPFLAGS:-} -static -I. bench/arm.c -o "$out/arm" -pthread
aarch64-linux-gnu-objdump -d --no-show-raw-insn "$out/arm" > "$out/arm.dis"
begin=0x$(aarch64-linux-gnu-nm "$out/arm" | awk '$3 == "mark_begin" { print $1 }')
end=0x$(aarch64-linux-gnu-nm "$out/arm" | awk '$3 == "mark_end" { print $1 }')

# trace ISA TYPE KERNEL ROWS COLS TOKENS: $out/trace.txt; the bytes of a row in $row_bytes.
trace() {
    row_bytes=$(qemu-aarch64 -cpu max -plugin "$out/qemu_trace.so,begin=$begin,end=$end" -d plugin -D "$out/trace.txt" "$out/arm" "$@")
    count=$(wc -l < "$out/trace.txt")
}
# cycles CPU FUNCTION: of what was traced inside functions of that name, branches left out.
cycles() {
    awk -v wanted="$2" '
        NR == FNR && /^[0-9a-f]+ <.*>:$/ { inside = $2 ~ wanted; next }
        NR == FNR { split($0, f, "\t"); at = f[1]; gsub(/[ :]/, "", at)
                    if (inside && f[2] !~ /^(b|b\..*|bl|blr|br|cbn?z|tbn?z|ret|adrp?)$/) {
                        text = f[2] "\t" f[3]; sub(/ *(\/\/|<).*/, "", text); op[at] = text }
                    next }
        $1 in op { print op[$1] }' "$out/arm.dis" "$out/trace.txt" > "$out/trace.s"
    "$MCA" -mtriple=aarch64 -mcpu="$1" -mattr=+dotprod,+i8mm,+fullfp16 -iterations=1 -resource-pressure=false -instruction-info=false \
        "$out/trace.s" | awk '/^Total Cycles/ { print $3 }'
}

for cpu in $CPUS; do wide=${narrow:+$cpu} narrow=${narrow:-$cpu}; done
echo "GCC $(aarch64-linux-gnu-gcc -dumpfullversion) -O2, $("$MCA" --version | awk '/version/ { print $NF; exit }') (llvm-mca), models $narrow and $wide."
echo
echo "| type | decode, per 32 weights: instr | $narrow | $wide | GB/s per GHz | prefill, per 32 weights x token: instr | micro-kernel: $narrow | $wide | GMAC/s per GHz |"
echo "|---|---|---|---|---|---|---|---|---|"
for type in $types; do
    for isa in "NEON" "NEON dotprod" "NEON i8mm"; do
        d="= | = | = | ="
        if [ "$isa" != "NEON i8mm" ]; then
            trace "$isa" "$type" decode 8 2048 1
            d=$(awk -v n="$count" -v a="$(cycles "$narrow" llm__)" -v b="$(cycles "$wide" llm__)" -v bytes="$row_bytes" \
                'BEGIN { u = 8 * 64; printf "%.1f | %.1f | %.1f | %.1f, %.1f", n / u, a / u, b / u, 8 * bytes / a, 8 * bytes / b }')
        fi
        trace "$isa" "$type" prefill 32 256 128
        all=$count
        trace "$isa" "$type" prefill 8 256 4
        p=$(awk -v n="$all" -v a="$(cycles "$narrow" llm__neon_dot)" -v b="$(cycles "$wide" llm__neon_dot)" \
            'BEGIN { u = 8 * 4 * 8; printf "%.2f | %.2f | %.2f | %.1f, %.1f", n / (32 * 128 * 8), a / u, b / u, 32 * u / a, 32 * u / b }')
        echo "| $type $isa | $d | $p |"
    done
done
