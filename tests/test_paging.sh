# FR-016, with real memory shortage: a model in a memory control group smaller than its file. The load refuses, by force it runs, the cause is
# named with what it costs, and decode is no faster than storage can bring what does not fit. Needs root, a writable control group and a
# real model on a disk; says so where it lacks one of them.
. tests/test.sh
program paging
model=${LLM_MODELS:-tests/models}/smollm2.gguf
[ -f "$model" ] || { skip "no $model"; finish; }
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -f "$root/memory.limit_in_bytes" ] || [ -f "$root/cgroup.controllers" ] || continue
    mkdir "$root/llm-test-$$" 2> /dev/null || continue
    if [ -f "$root/llm-test-$$/memory.limit_in_bytes" ]; then limit=memory.limit_in_bytes; group=$root/llm-test-$$; break; fi
    if [ -f "$root/llm-test-$$/memory.max" ]; then limit=memory.max; group=$root/llm-test-$$; break; fi
    rmdir "$root/llm-test-$$"
done
[ -n "$group" ] || { lacks "a memory control group that may be written"; finish; }
copy=$dir/paging.gguf
trap 'rm -f "$copy"; rmdir "$group" 2> /dev/null' EXIT
cp "$model" "$copy" && sync "$copy"
cold() {               # the file's pages leave the cache: those that another group has read would not count
    python3 -c "
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)" "$copy"
}
cold
storage=$(python3 -c "
import sys, time
began = time.time()
f = open(sys.argv[1], 'rb', buffering=0)
n = 0
while (got := len(f.read(1 << 20))): n += got
print(n / 1e9 / (time.time() - began))" "$copy")
cold
echo $((60 * 1000 * 1000)) > "$group/$limit" || { lacks "a memory limit"; finish; }
# The program, inside the group.
printf '#!/bin/sh\necho $$ > "%s/cgroup.procs"\nexec "%s" "$@"\n' "$group" "$llm" > "$dir/inside" && chmod +x "$dir/inside"
llm=$dir/inside

check "the load refuses" run_as 1 run "$copy" -p x
check "it names the figures" said '96.6 MB.*60.0 MB (cgroup)'
check "by force it runs" run_as 0 report "$copy" --force --ctx 256 --batch 32
check "the cause is named" grep -q 'x   decode: weights come from storage again and again' "$out"
cat > "$dir/judge.py" <<'PY'
import re, sys
text, storage = open(sys.argv[1]).read(), float(sys.argv[2])
rate = float(re.search(r"decode ([0-9.]+) tok/s", text).group(1))
missing = 96.6e6 - 60e6
most = storage * 1e9 / missing
print(f"storage {storage:.2f} GB/s, so at most {most:.1f} tok/s; measured {rate:.1f}")
sys.exit(not (0 < rate < most * 1.5))
PY
check "decode is no faster than storage allows" python3 "$dir/judge.py" "$out" "$storage"
finish
