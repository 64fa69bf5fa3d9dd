#!/bin/sh
# FR-016, with real memory shortage: a model in a memory control group smaller than its file. The load refuses, by force it runs, the cause is
# named with what it costs, and decode is no faster than storage can bring what does not fit. Needs root, a writable control group and a
# real model on a disk; says so where it lacks one of them.
build=${1:-build}
passed=0 failed=0
check() { if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $1"; fi; }
done_() { echo "$passed passed, $failed failed"; [ "$failed" -eq 0 ]; exit; }

model=${LLM_MODELS:-tests/models}/smollm2.gguf
[ -f "$model" ] || { echo "skipped: no $model"; done_; }
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -f "$root/memory.limit_in_bytes" ] || [ -f "$root/cgroup.controllers" ] || continue
    mkdir "$root/llm-test-$$" 2> /dev/null || continue
    if [ -f "$root/llm-test-$$/memory.limit_in_bytes" ]; then limit=memory.limit_in_bytes; group=$root/llm-test-$$; break; fi
    if [ -f "$root/llm-test-$$/memory.max" ]; then limit=memory.max; group=$root/llm-test-$$; break; fi
    rmdir "$root/llm-test-$$"
done
[ -n "$group" ] || { echo "not here: a memory control group that may be written"; done_; }
copy=$build/paging.gguf
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
echo $((60 * 1000 * 1000)) > "$group/$limit" || { echo "not here: a memory limit"; done_; }
inside() { sh -c 'echo $$ > "$0"; exec "$@"' "$group/cgroup.procs" "$@"; }

inside "$build/llm" run "$copy" -p x > "$build/paging.out" 2>&1
check "the load refuses" $(($? == 1 ? 0 : 1))
grep -q '96.6 MB.*60.0 MB (cgroup)' "$build/paging.out"
check "it names the figures" $?
inside "$build/llm" report "$copy" --force --ctx 256 --batch 32 > "$build/paging.out" 2>&1
check "by force it runs" $?
grep -q 'x   decode: weights come from storage again and again' "$build/paging.out"
check "the cause is named" $?
python3 - "$build/paging.out" "$storage" <<'PY'
import re, sys
text, storage = open(sys.argv[1]).read(), float(sys.argv[2])
rate = float(re.search(r"decode ([0-9.]+) tok/s", text).group(1))
missing = 96.6e6 - 60e6
most = storage * 1e9 / missing
print(f"storage {storage:.2f} GB/s, so at most {most:.1f} tok/s; measured {rate:.1f}")
sys.exit(not (0 < rate < most * 1.5))
PY
check "decode is no faster than storage allows" $?
done_
