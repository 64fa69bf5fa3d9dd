# examples/board: the same program on this machine and on boards that QEMU plays. Every one must say the same text and tokens, and the same
# number for the bits of all logits; with exactly the memory of the plan it runs, with one byte less it refuses (FR-094, FR-095).
. tests/test.sh
here=$(pwd)
case $TEST_SCRATCH in /*) dir=$TEST_SCRATCH/board ;; *) dir=$here/$TEST_SCRATCH/board ;; esac
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf

board() { make -s --no-print-directory -C examples/board CC="${CC:-cc}" OUT="$dir" "$@" < /dev/null 2>> "$dir/log"; }
emulator() { case $1 in rv*) echo "qemu-system-riscv${1#rv}" ;; *) echo qemu-system-arm ;; esac; }
compiler() { case $1 in rv*) echo riscv64-unknown-elf-gcc ;; *) echo arm-none-eabi-gcc ;; esac; }
# Text, tokens and bits, without what may differ: planned, stack.
said() { grep -vE '^(planned|stack) ' "$1"; }

# What this machine says, with the widest kernels it has: the program of the board, and the command-line program where it is built.
board run-desktop > "$dir/desktop"
check "desktop: builds and ends well" [ $? -eq 0 ]
said "$dir/desktop" > "$dir/want"
check "desktop: forty tokens, and the bits of the logits" \
    sh -c "grep -q '^logits [0-9a-f]\{8\}$' '$dir/want' && [ \$(sed -n 's/^tokens //p' '$dir/want' | wc -w) -eq 40 ]"
sed '/^tokens /,$d' "$dir/want" > "$dir/text"
check "llm: the command-line program says the same text" sh -c "'$BUILD/llm' run $tiny -p 'Tell me a story about a fox.' --temp 0.7 \
    --top-p 0.95 --min-p 0 --seed 5 -n 40 --quiet < /dev/null 2>> '$dir/log' | cmp -s - '$dir/text'"
for target in m4f m4 m33 m55 rv32 rv64; do
    if ! has "$(compiler $target)"; then lacks "$(compiler $target) is not installed: $target"; continue; fi
    make -s --no-print-directory -C examples/board OUT="$dir" "$dir/$target.elf" > "$dir/warn" 2>&1
    code=$?
    check "$target: builds without a warning: $(head -n 1 "$dir/warn")" [ $code -eq 0 -a ! -s "$dir/warn" ]
    if ! has "$(emulator $target)"; then lacks "$(emulator $target) is not installed: $target does not run"; continue; fi
    board run-$target > "$dir/$target"
    check "$target: ends well" [ $? -eq 0 ]
    said "$dir/$target" | cmp -s - "$dir/want"
    check "$target: text and bits of the desktop" [ $? -eq 0 ]
    stack=$(sed -n 's/^stack //p' "$dir/$target")
    echo "$target: $stack bytes of stack"
    check "$target: less than 8 kB of stack, and measured" [ "${stack:-99999}" -lt 8192 -a "${stack:-0}" -gt 1000 ]
done
# The goal for a Cortex-M4F, all that is linked but the model: GCC 12 makes 65 480 bytes, others a little more or less.
if has arm-none-eabi-gcc && has arm-none-eabi-size; then
    text=$(arm-none-eabi-size -A "$dir/m4f.elf" | awk '$1 == ".text" { print $2 }')
    case $(arm-none-eabi-gcc -dumpversion) in 12.*) most=65536 ;; *) most=68000 ;; esac
    check "m4f: $text bytes of text, at most $most" [ "$text" -le $most ]
fi
# One board with the memory that the plan names, and with a byte less.
if has arm-none-eabi-gcc && has qemu-system-arm; then
    board plan-m4f > "$dir/planned"
    said "$dir/planned" | cmp -s - "$dir/want"
    code=$?
    check "m4f: runs with what the plan says ($(sed -n 's/^planned //p' "$dir/planned") bytes)" [ $code -eq 0 ]
    board less-m4f > "$dir/refused"
    check "m4f: with one byte less it refuses" \
        sh -c "! grep -q '^tokens' '$dir/refused' && grep -q '^failed: the allocation failed' '$dir/refused'"
else
    lacks "arm-none-eabi-gcc and qemu-system-arm: the plan is not tried on a board"
fi
finish
