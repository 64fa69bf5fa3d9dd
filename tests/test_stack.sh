# Stack: no function has a frame above 2 kB, none calls itself, by whatever way round, and none takes stack by amounts that are known only
# when it runs. GCC says all three: -fstack-usage and -fcallgraph-info. Calls through pointers are no edges there; the library has four
# kinds of them (hooks of the host, jobs of the pool, kernels, tables of a vocabulary), and what is called so is listed below as the roots
# that no direct call reaches: the deepest chain from llm_next is the sum of its own and of the deepest root's.
. tests/test.sh
dir=$TEST_SCRATCH/stack
rm -rf "$dir" && mkdir -p "$dir"
printf '#define LLM_IMPLEMENTATION\n#include "llm.h"\n' > "$dir/with.c"
most=2048

# frames FILE: "bytes function kind" of each frame, the largest first.
frames() { awk -F'\t' '{ n = split($1, at, ":"); print $2, at[n], $3 }' "$1" | sort -rn; }
# The deepest chain of direct calls from each function, and cycles: -fcallgraph-info lists nodes with their bytes, and edges.
cat > "$dir/chains.awk" <<'END'
/^node:/ {
    match($0, /title: "[^"]*"/); name = substr($0, RSTART + 8, RLENGTH - 9)
    bytes[name] = 0
    if (match($0, /[0-9]+ bytes \(/)) { split(substr($0, RSTART), b, " "); bytes[name] = b[1] }
}
/^edge:/ {
    match($0, /sourcename: "[^"]*"/); from = substr($0, RSTART + 13, RLENGTH - 14)
    match($0, /targetname: "[^"]*"/); to = substr($0, RSTART + 13, RLENGTH - 14)
    if (to == "__indirect_call") next
    if (!((from, to) in edge)) { edge[from, to] = 1; callee[from, ++n_callees[from]] = to; called[to] = 1 }
}
function plain(name) { sub(/^.*:/, "", name); return name }
function depth(name, path,    i, d, best, to) {
    if (state[name] == 1) { print "cycle: " path " -> " plain(name); return 0 }
    if (state[name] == 2) return deep[name]
    state[name] = 1
    best = 0
    for (i = 1; i <= n_callees[name]; i++) {
        to = callee[name, i]
        d = depth(to, path " -> " plain(to))
        if (d > best) { best = d; next_of[name] = to }
    }
    state[name] = 2
    deep[name] = bytes[name] + best
    return deep[name]
}
END {
    for (name in bytes) depth(name, plain(name))
    for (name in bytes) {
        if (plain(name) == "llm_next") {
            chain = ""
            for (at = name; at != ""; at = next_of[at]) chain = chain " " plain(at) "(" bytes[at] ")"
            print "llm_next: " deep[name] " bytes, directly:" chain }
        if (!(name in called) && plain(name) !~ /^llm_[^_]/ && deep[name] > worst) { worst = deep[name]; root = name }
    }
    print "deepest that is called through a pointer: " plain(root) ", " worst " bytes"
}
END

# inspect NAME COMPILER FLAGS...: compiles and judges.
inspect() {
    name=$1 compiler=$2
    shift 2
    if ! has "$compiler"; then lacks "$compiler is not installed: $name is not looked at"; return; fi
    (cd "$dir" && "$compiler" -std=c99 -DLLM_QUIET "$@" -fstack-usage -fcallgraph-info=su -I"$root" -c with.c -o "$name.o") 2> "$dir/log"
    if [ $? -ne 0 ]; then
        if grep -q 'callgraph-info' "$dir/log"; then lacks "$compiler has no -fcallgraph-info: $name is not looked at"; return; fi
        head -n 5 "$dir/log"
        check "$name: compiles" false
        return
    fi
    frames "$dir/$name.su" > "$dir/$name.frames"
    echo "$name: $(wc -l < "$dir/$name.frames") functions; the largest frames:" \
        "$(head -n 4 "$dir/$name.frames" | awk '{ printf "%s%s %s", s, $2, $1; s = ", " }')"
    awk -v most=$most '$1 > most' "$dir/$name.frames" > "$dir/over"
    check "$name: no frame above $most bytes: $(tr '\n' ';' < "$dir/over")" [ ! -s "$dir/over" -a -s "$dir/$name.frames" ]
    check "$name: none of unknown size: $(grep 'dynamic$' "$dir/$name.frames" | tr '\n' ';')" \
        sh -c "! grep -q 'dynamic\$' '$dir/$name.frames'"
    awk -f "$dir/chains.awk" "$dir/$name.ci" > "$dir/$name.chains"
    sed "/^cycle/d; s/^/$name: /" "$dir/$name.chains"
    # The least stack that a host may give a job (llm_parallel) has 16 KB.
    deepest=$(sed -n 's/^deepest .*, \([0-9]*\) bytes$/\1/p' "$dir/$name.chains")
    check "$name: what is called through a pointer needs less than 12 KB in all" [ "${deepest:-99999}" -lt 12288 ]
    check "$name: no function calls itself: $(grep '^cycle' "$dir/$name.chains" | head -n 2 | tr '\n' ';')" \
        sh -c "! grep -q '^cycle' '$dir/$name.chains' && grep -q '^llm_next: ' '$dir/$name.chains'"
}
root=$(pwd)
inspect x86-64-O2 gcc -O2
inspect x86-64-Os gcc -Os
inspect aarch64-O2 aarch64-linux-gnu-gcc -O2
thumb="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -ffreestanding -DLLM_NO_STDLIB"
inspect thumb-O2 arm-none-eabi-gcc -O2 $thumb
inspect thumb-Os arm-none-eabi-gcc -Os $thumb
inspect thumb-small arm-none-eabi-gcc -Os $thumb -DLLM_SMALL

# The judge itself: a large frame, a cycle and a frame of unknown size are seen.
cat > "$dir/bad.c" <<'END'
int odd(int n, char *p);
int even(int n, char *p);
int odd(int n, char *p) { char a[3000]; a[n] = p[0]; return n ? even(n - 1, a) + a[1] : 0; }
int even(int n, char *p) { return n ? odd(n - 1, p) + 1 : p[1]; }
int any(int n) { char a[n]; return odd(n, a) + a[0]; }
END
if (cd "$dir" && gcc -O1 -fno-inline -fstack-usage -fcallgraph-info=su -c bad.c -o bad.o) 2> /dev/null; then
    check "the judge sees a large frame" sh -c "awk -F'\t' '\$2 > $most' '$dir/bad.su' | grep -q odd"
    check "the judge sees a cycle" sh -c "awk -f '$dir/chains.awk' '$dir/bad.ci' | grep -q '^cycle'"
    check "the judge sees a frame of unknown size" grep -q 'dynamic$' "$dir/bad.su"
fi
finish
