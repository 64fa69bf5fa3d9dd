# report.sh OUT TARGET...: builds and runs what the compilers and emulators here allow, and writes README.md's table.
out=$1
shift
echo "| target | text | data | bss without the arena | arena planned | stack used |"
echo "|---|---:|---:|---:|---:|---:|"
for t in "$@"; do
    case $t in m*) size=arm-none-eabi-size qemu=qemu-system-arm ;; *) size=riscv64-unknown-elf-size qemu=qemu-system-riscv${t#rv} ;; esac
    command -v $size > /dev/null 2>&1 || { echo "| $t | no compiler here | | | | |"; continue; }
    make -s --no-print-directory OUT="$out" "$out/$t.elf" || exit 1
    part() { $size -A "$out/$t.elf" | awk -v s=".$1" '$1 == s { n = $2 } END { print n + 0 }'; }
    planned=- stack=-
    if command -v $qemu > /dev/null 2>&1; then
        stack=$(make -s --no-print-directory OUT="$out" run-$t | sed -n 's/^stack //p')
        planned=$(make -s --no-print-directory OUT="$out" plan-$t | sed -n 's/^planned //p')
    fi
    echo "| $t | $(part text) | $(part data) | $(($(part bss) - 448 * 1024)) | $planned | $stack |"
done
