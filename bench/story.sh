#!/bin/sh
# The phone story, played on this machine: one model that is 100 times too slow for two reasons, and the doctor that has to find both.
#
#   bench/story.sh [F16.gguf Q4_0.gguf]       (default: $LLM_STORY/1.1b-F16.gguf and 1.1b-Q4_0.gguf; made if LLM_MKMODEL names mkmodel.py)
#
#   A   16-bit weights, memory for half of them, slow workers: scalar kernels (more threads than CPUs do not slow this library: they rest)
#   B   4-bit weights, otherwise as A: they fit
#   C   4-bit weights, all the memory, the kernels that the library chooses
#
# The memory limit is a control group (v2 memory.max, else v1 memory.limit_in_bytes); both files leave the page cache first, because pages
# that another group has brought in are not charged to ours. Without the right to make a group, a neighbour locks the memory. A maps the
# file: read into memory it would be killed where there is no swap, and --read is among what the doctor tries.
# Then the doctor starts from A, knowing only that the 4-bit file exists.
#   - the first cause that it names is the one whose lone repair gains most
#   - its path ends within 15 % of C, measured in turn with C, which has a process of its own; and in its own words, if the machine is as fast
#     afterwards as it was before
# Exit code 0: both hold. 1: not. 77: skipped, with the reason.
cd "$(dirname "$0")/.." || exit 1
llm=${LLM:-build/llm}
folder=${LLM_STORY:-build/story}
f16=${1:-$folder/1.1b-F16.gguf}
q4=${2:-$folder/1.1b-Q4_0.gguf}
slow="--isa scalar"
skipped() { echo "skipped: $*"; exit 77; }
command -v python3 > /dev/null || skipped "no python3"
[ -x "$llm" ] || skipped "no program at $llm: run make first"
for type in F16 Q4_0; do
    [ $type = F16 ] && file=$f16 || file=$q4
    [ -r "$file" ] && continue
    [ -r "${LLM_MKMODEL:-}" ] || skipped "no $file, and LLM_MKMODEL names no mkmodel.py to make it"
    mkdir -p "$(dirname "$file")" && python3 "$LLM_MKMODEL" "$file" 1.1b $type || skipped "$file cannot be made"
done
size() { wc -c < "$1" | tr -d ' '; }
limit=$(($(size "$f16") / 2))
[ "$(size "$q4")" -lt $((limit * 7 / 10)) ] || skipped "the 4-bit file is not small enough to fit into half of the 16-bit file"

work=$(mktemp -d)
group= neighbour= kind=
leave() {
    [ -n "$neighbour" ] && kill "$neighbour" 2> /dev/null
    [ -n "$group" ] && rmdir "$group" 2> /dev/null
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM

# -- C before, to know later whether the machine stayed what it was
for i in 1 2 3; do "$llm" probe-run "$q4" --ms 1000 >> "$work/before"; done

# -- pages out of the cache, and a look whether they are
python3 - "$f16" "$q4" <<'END' || skipped "the files stay in the page cache: another program maps them, or the file system keeps them"
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for path in sys.argv[1:]:
    f = os.open(path, os.O_RDONLY)
    n = os.fstat(f).st_size
    os.fsync(f)
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    at = libc.mmap(None, ctypes.c_size_t(n), mmap.PROT_READ, mmap.MAP_SHARED, f, ctypes.c_long(0))
    pages = (ctypes.c_ubyte * ((n + 4095) // 4096))()
    if libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(n), pages) or sum(p & 1 for p in pages) > len(pages) // 50:
        sys.exit(1)
END

# -- little memory
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -n "$group" ] || ! grep -qs memory "$root/cgroup.controllers" && continue
    echo +memory > "$root/cgroup.subtree_control" 2> /dev/null
    mkdir "$root/llm_story.$$" 2> /dev/null || continue
    group=$root/llm_story.$$ kind="control group v2"
    echo $limit > "$group/memory.max" 2> /dev/null || { rmdir "$group"; group=; }
done
if [ -z "$group" ] && mkdir /sys/fs/cgroup/memory/llm_story.$$ 2> /dev/null; then
    group=/sys/fs/cgroup/memory/llm_story.$$ kind="control group v1"
    echo $limit > "$group/memory.limit_in_bytes" 2> /dev/null || { rmdir "$group"; group=; }
fi
if [ -z "$group" ]; then
    echo "skipped: no control group can be made here; a neighbour locks memory instead"
    kind="a neighbour's locked memory"
    python3 - $limit <<'END' &
import ctypes, mmap, signal, sys
free = [int(l.split()[1]) * 1024 for l in open("/proc/meminfo") if l.startswith("MemAvailable:")][0]
n = free - int(sys.argv[1])
area = mmap.mmap(-1, max(n, 4096))
if ctypes.CDLL(None).mlock(ctypes.byref(ctypes.c_char.from_buffer(area)), ctypes.c_size_t(len(area))):
    sys.exit("mlock is refused")
signal.pause()
END
    neighbour=$!
    sleep 20
    kill -0 $neighbour 2> /dev/null || skipped "no control group, and no right to lock memory (ulimit -l)"
fi
# Runs a command with little memory.
short() { if [ -n "$group" ]; then sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' - "$group" "$@"; else "$@"; fi; }
echo "memory       $((limit / 1000000)) MB by $kind; the files have $(($(size "$f16") / 1000000)) and $(($(size "$q4") / 1000000)) MB"

# -- A, B, the doctor, and then the end of its path in turn with C
short "$llm" probe-run "$f16" --force $slow --ms 400 > "$work/a"
for i in 1 2 3; do short "$llm" probe-run "$q4" --force $slow --ms 400 >> "$work/b"; done
short "$llm" doctor "$f16" --better "$q4" --force $slow --json "$work/doctor" ${HTML:+--html "$HTML"} || exit 1
end=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["steps"][-1]["setup"].split(" ", 1)[1])' "$work/doctor")
for i in 1 2 3 4 5; do
    short "$llm" probe-run "$q4" $end --ms 1000 >> "$work/end"
    [ -n "$neighbour" ] && kill "$neighbour" && neighbour= && sleep 2
    "$llm" probe-run "$q4" --ms 1000 >> "$work/c"
done
python3 - "$work" <<'END'
import json, statistics, sys
work = sys.argv[1]
rates = {k: [json.loads(line)["decode_tok_s"] for line in open("%s/%s" % (work, k))] for k in ("before", "a", "b", "end", "c")}
before, a, b, end, c = (statistics.median(rates[k]) for k in ("before", "a", "b", "end", "c"))
d = json.load(open(work + "/doctor"))
alone = {}
for t in d["steps"][0]["tries"]:
    alone[t["factor"]] = max(alone.get(t["factor"], 0), t["gain"])
most = max(alone, key=alone.get)
said = d["path"][-1]["tok_s"]
print("\n  A %6.2f tok/s   16 bits, too little memory, slow workers" % a)
print("  B %6.2f tok/s   4 bits" % b)
print("  C %6.2f tok/s   4 bits, all right, in a process of its own (%.2f to %.2f)" % (c, min(rates["c"]), max(rates["c"])))
print("the doctor   %s tok/s" % " -> ".join("%.2f" % p["tok_s"] for p in d["path"]))
print("             of it the last is %.0f %% of C, which was %.2f before" % (100 * said / c, before))
steady = abs(before / c - 1) <= 0.15
good = True
for what, holds in (("first cause: %s; alone, %s gains most (%.1f)" % (d["first"], most, alone[most]), d["first"] == most),
                    ("the end of the path is as fast as C: %.2f measured in turn with it, %.0f %%" % (end, 100 * end / c),
                     abs(end / c - 1) <= 0.15),
                    ("the doctor said so" if steady else "the machine changed meanwhile: what the doctor said is not judged",
                     abs(said / c - 1) <= 0.15 or not steady)):
    print("%s  %s" % ("holds" if holds else "FAILS", what))
    good = good and holds
sys.exit(0 if good else 1)
END
