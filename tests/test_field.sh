# Field reports that need a build, a mount or a whole program: FR-022, 041, 044, 045, 046. At the end: every case of the parts on loading,
# memory and cores (FR-001 to 050), hosts (081 to 090) and boards (091 to 095) has a test that carries its number, or stands below with the
# reason why none can run.
. tests/test.sh
program field
decode_rate() { sed 's/.*"decode_tok_s": \([0-9]*\).*/\1/'; }        # of what llm bench --json says

# FR-041: a build without optimisation says so when it is compiled and when it runs; with GCC the library is fast all the same.
flags="-std=c99 -O0 ${CPPFLAGS:-} -I."
for cc in gcc clang; do
    has $cc || { skip "FR-041: no $cc"; continue; }
    check "$cc -O0 builds, -Werror or not" sh -c "$cc $flags -Werror examples/llm.c -o '$dir/$cc' -pthread 2> '$dir/$cc.log'"
    [ $cc = gcc ] || check "$cc -O0 gives a message" grep -q 'compiled without optimisation' "$dir/$cc.log"
    check "$cc -O0: llm report runs" sh -c "'$dir/$cc' report $tiny > '$dir/$cc.txt' 2> '$err'"
    check "$cc -O0: the report says so" grep -q 'NOT optimised' "$dir/$cc.txt"
    check "$cc -O0: so do its findings" grep -q 'without optimisation' "$dir/$cc.txt"
done
if has gcc; then
    check "gcc -O0 -DLLM_DEBUG is silent" sh -c "gcc $flags -DLLM_DEBUG examples/llm.c -o '$dir/debug' -pthread 2> '$dir/debug.log' &&
        [ ! -s '$dir/debug.log' ]"
    rate() { "$1" bench "$tiny" --prompt 32 --gen 32 --rounds 5 --threads 1 --json 2> "$err" | decode_rate; }
    slow=$(rate "$dir/debug") fast=$(rate "$dir/gcc")
    echo "gcc -O0: $fast tok/s, as compiled $slow"
    check "gcc -O0 is raised" [ "${fast:-0}" -ge $((${slow:-0} * 3)) ]                       # five to seventeen times on an idle machine
fi

# FR-044: a model on a FUSE mount is read, not mapped, and the report says why; mapped by force, the mount is named as a cause.
mount=$dir/mount
mkdir -p "$mount" "$dir/source" && cp "$tiny" "$dir/source/model.gguf"
if [ -e /dev/fuse ] && has bindfs && bindfs "$dir/source" "$mount" 2> "$dir/bindfs.log"; then
    check "FR-044: a report from FUSE" run_as 0 report "$mount/model.gguf"
    check "FR-044: read from FUSE" grep -q 'read: each page of this file system costs a message' "$out"
    umount "$mount" || fusermount -u "$mount"
else
    lacks "FR-044: a FUSE mount (bindfs)"
fi

# FR-045: first, second and third start run alike: medians within a factor of two.
starts_run_alike() {
    rates=$(for i in 1 2 3; do "$llm" bench "$tiny" --prompt 16 --gen 64 --rounds 5 --json 2> "$err" | decode_rate; done | sort -n)
    echo "three starts:" $rates
    least=$(echo "$rates" | head -n 1) most=$(echo "$rates" | tail -n 1)
    [ "${least:-0}" -gt 0 ] && [ "$most" -le $((least * 2)) ]
}
check "FR-045: three starts run alike" patiently starts_run_alike

cat > "$dir/reasons" <<'REASONS'
FR-018 compares with a build that keeps packed weights; there is none here, and FR-017's test shows that none are kept
FR-022 needs memory.high and other programs that wake up on time; the first touch goes in blocks that hear a cancel
FR-024 wants the default to time both ways of loading; here it follows the file system, and LLM_READ and LLM_MAP are the program's to choose
FR-029 no advisory call is made at all, so none can be missing
FR-046 is test_paging.sh (lost page cache: faults) and test_explain.c under CLOCK (heat: the clock frequency): each gets its own verdict
FR-083 wants llm_step, which is not there yet; FR-050's cap of the CPU's time and FR-084's cancels are
REASONS
for n in $(seq 1 50) $(seq 81 95); do
    number=$(printf '%03d' $n)
    if reason=$(grep "^FR-$number " "$dir/reasons"); then echo "reason: $reason"
    else
        check "FR-$number has a test" grep -q -E "FR-$number|FR-0[0-9]+(, [0-9]+)*, $number" tests/*.c tests/*.sh
    fi
done
finish
