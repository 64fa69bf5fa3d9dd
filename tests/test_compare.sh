# llm compare, the facts in llm bench --json, and llm info --sha256. The reports here are written by hand, and what they are to come to is
# computed by hand beside them.
. tests/test.sh
program compare

shows() { grep -q -e "$1" "$out" || { echo "'$1' is not in:"; cat "$out"; return 1; }; }
hides() { ! grep -q -e "$1" "$out" || { echo "'$1' is in:"; cat "$out"; return 1; }; }
# refuses "what" FILE "words": as MINE and as THEIRS, one sentence with these words.
refuses() {
    check "$1: as mine" run_as 1 compare "$2" "$dir/mine.json"
    check "$1: one sentence" one_sentence
    check "$1: what is wrong" said "$3"
    check "$1: as theirs" run_as 1 compare "$dir/mine.json" "$2"
    check "$1: the same sentence" said "$3"
    check "$1: shared" run_as 1 compare --share "$2"
}
python=
has python3 && python=python3
[ -n "$python" ] || skip "no python3: the JSON of a comparison is not checked"
json() { [ -z "$python" ] || "$python" -c "
import json
o = json.loads(open('$out', 'rb').read().decode('utf-8'))
d, p = (o.get('decode'), o.get('prefill')) if type(o) is dict else (0, 0)
near = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
def factor(stage, name): return [f for f in stage['factors'] if f['name'] == name][0]
def names(stage): return [f['name'] for f in stage['factors']]
def said_of(name): return [(r['mine'], r['theirs']) for r in o['not_stated'] + o['differs'] if r['what'] == name]
def what(rows): return [r['what'] for r in rows]
assert ($1), json.dumps(o)[:3000]"; }

# own FILE NAME=VALUE...: a report of llm bench. The defaults: 7B in F16, 14 GB a token, 20 GB/s, decode at 0.91 of that.
own() {
    file=$1
    shift
    (
        arch=llama n_params=6738415616 types='{"name": "F16", "n_weights": 6738415616, "n_bytes": 13476831232}' print=00000000000000aa
        prompt=128 gen=64 depth=0 prefill=30 decode=1.3 bytes=14000000000 read=20 threads=4 isa='AVX2' kv=f16 n_batch=512 cpu='Ryzen 5'
        mhz=0 burst=0 busy=0 faults=0 preempted=0 scalar=0 optimized=true power= mapping=map timing='evaluation, greedy sampling' extra=
        for word in "$@"; do eval "${word%%=*}=\${word#*=}"; done
        cat > "$dir/$file.json" <<END
{"model": "/home/ann/m.gguf", "name": "M", "arch": "$arch", "cpu": "$cpu", "isa": "$isa", "threads": $threads, "kv": "$kv",
 "prompt": $prompt, "gen": $gen, "depth": $depth, "prefill_tok_s": $prefill, "decode_tok_s": $decode, "read_gb_s": $read,
 "bytes_per_token": $bytes, "facts": {"run": {"program": "llm.h 0.1.0", "cpu": "$cpu", "prefill_timing": "evaluation",
 "decode_timing": "$timing", "n_ctx": 4096, "n_batch": $n_batch}, "file": {"arch": "$arch", "n_params": $n_params, "types": [$types]},
 "stats": {"n_threads": $threads, "isa": "$isa", "mapping": "$mapping", "kv_type": "$kv", "file_fingerprint": "$print", "cpu_mhz": $mhz,
 "burst_mhz": $burst, "cpu_busy_pct": $busy, "major_faults_per_token": $faults, "preempted_per_token": $preempted, "scalar_pct": $scalar,
 "optimized": $optimized, "power_mode": "$power", "backend": "CPU", "compiler": "gcc 12"}}$extra}
END
    )
}
compared() { check "$1" run_as 0 compare "$dir/mine.json" "$dir/theirs.json" --json; }
in_words() { check "$1" run_as 0 compare "$dir/mine.json" "$dir/theirs.json"; }

# -- the command line
for bad in "" "$dir/mine.json" "--share" "--threads 2" "a b c" "--share a b" "a b --share" "a b --no-such"; do
    check "compare $bad: code" run_as 2 compare $bad
    check "compare $bad: one sentence" one_sentence
done
check "compare --help" run_as 0 compare --help
check "compare --help: on stdout" shows '^usage: llm compare MINE.json THEIRS.json'

# -- the same report twice: 1, and nothing to name
own mine
own theirs
in_words "equal"
check "equal: decode" shows '^decode: mine 1.3 tok/s, theirs 1.3 tok/s, theirs / mine = 1.00$'
check "equal: unexplained" shows '^  unexplained  *1.00 '
check "equal: nothing differs" hides '^what differs'
check "equal: no factor" [ "$(grep -c '^  ' "$out")" -eq 2 ]
compared "equal"
check "equal: numbers" json "o['comparable'] and not o['because'] and not o['differs'] and
    all(s['ratio'] == 1 and s['unexplained'] == 1 and not s['factors'] for s in (d, p))"

# -- F16 against Q4_0 on equal memory: 14 GB / 3.94 GB = 3.5533 is all of it
own theirs types='{"name": "Q4_0", "n_bytes": 3800000000}, {"name": "Q6_K", "n_bytes": 107000000}, {"name": "F32", "n_bytes": 1000}' \
    print=00000000000000bb bytes=3940000000 decode=4.619289340101523
in_words "types"
check "types: bytes" shows '^  bytes per token  *3.55  measured  *14000 MB / 3940 MB'
check "types: nothing is left" shows '^  unexplained  *1.00 '
check "types: what differs" shows '^  stored types  *F16 100 %  *Q4_0 97 %, Q6_K 3 %$'
check "types: another file" shows '^  file (fingerprint)  *00000000000000aa  *00000000000000bb$'
check "types: before the speeds" [ "$(grep -n 'stored types' "$out" | cut -d: -f1)" -lt "$(grep -n '^decode' "$out" | cut -d: -f1)" ]
compared "types"
check "types: numbers" json "o['comparable'] and names(d) == ['bytes per token'] and near(d['factors'][0]['least'], 14 / 3.94) and
    d['factors'][0]['kind'] == 'measured' and near(d['ratio'], 14 / 3.94) and near(d['unexplained'], 1) and near(d['unexplained_least'], 1)"

# -- twice the bandwidth with twice the threads and half more clock: 2, which is not counted again; 2.6 of 1.3 is all of it
own mine mhz=2000 burst=2000
own theirs read=40 threads=8 mhz=3000 burst=3000 decode=2.6
compared "bandwidth"
check "bandwidth: once" json "names(d) == ['memory bandwidth'] and near(factor(d, 'memory bandwidth')['least'], 2) and
    near(d['unexplained'], 1)"
check "bandwidth: the rest differs" json "what(o['differs']) == ['threads']"
# prefill computes: at most 8 / 4 threads and 3000 / 2000 MHz, 2 x 1.5; of 4 times 4 / 3 are left
own theirs read=40 threads=8 mhz=3000 burst=3000 decode=2.6 prefill=120
compared "prefill"
check "prefill: bounds" json "names(p) == ['threads', 'clock'] and factor(p, 'threads')['most'] == 2 and
    factor(p, 'clock')['most'] == 1.5 and
    factor(p, 'clock')['kind'] == 'bound' and near(p['unexplained'], 4) and near(p['unexplained_least'], 4 / 3) and
    near(p['unexplained_most'], 4)"
in_words "prefill"
check "prefill: in words" shows '^  threads  *<= 2.00  bound  *8 / 4$'
check "prefill: what is sure" shows '^  unexplained  *4.00  or 1.33, if the bounds'

# more threads, and slower: the bound is on the other side of 1 and takes nothing away
own theirs threads=8 decode=1.3 prefill=20
in_words "slower with more threads"
check "slower with more threads: all of it" shows '^  unexplained  *0.67  no less, for the bounds point the other way'

# -- bytes and bandwidth together, upside down: theirs reads 2 x the bytes at 3 x the rate; 0.5 x 3 of 1.5
own mine
own theirs bytes=28000000000 read=60 decode=1.95
compared "both"
check "both: numbers" json "near(factor(d, 'bytes per token')['least'], 0.5) and near(factor(d, 'memory bandwidth')['most'], 3) and
    near(d['unexplained'], 1)"

# -- the probe was slower than decode, which reads 14 GB/s: that is the roof then. Of 1.3 bandwidth is 20 / 14, and 0.91 are left: mine
# is at its roof and theirs at 18.2 of 20
own mine read=10 decode=1
own theirs read=20
compared "a slow probe"
check "a slow probe: measured" json "near(factor(d, 'memory bandwidth')['least'], 20 / 14) and near(d['unexplained'], 0.91)"

# -- kernels: mine at 0.6 of 20 GB/s, theirs at 0.9 of 40: 3 = 2 by bandwidth and 1.5 for kernels, of which either may have up to its roof
own mine decode=0.8571428571428571
own theirs read=40 decode=2.5714285714285716 isa='AVX-512 VNNI'
compared "kernels"
check "kernels: a bound" json "names(d) == ['memory bandwidth', 'kernels'] and near(factor(d, 'kernels')['least'], 0.9) and
    near(factor(d, 'kernels')['most'], 1 / 0.6) and near(d['ratio'], 3) and near(d['unexplained'], 1.5) and
    near(d['unexplained_least'], 0.9) and near(d['unexplained_most'], 1.5 / 0.9)"
check "kernels: prefill has no roof" json "factor(p, 'kernels')['most'] is None and p['unexplained_least'] is None"
# scalar ones at 0.2 of the roof: far from it, and at most 5; theirs are no worse, so not below 1. 0.9 / 0.2 = 4.5
own mine decode=0.2857142857142857 isa=scalar scalar=100
own theirs decode=1.2857142857142858
in_words "scalar"
check "scalar: in words" shows '^  kernels  *<= 5.00  bound  *AVX2 / scalar, scalar for 0 % / 100 % of the bytes; at most what is left'
check "scalar: it can be all" shows '^  unexplained  *4.50  or nothing'
compared "scalar"
check "scalar: numbers" json "names(d) == ['kernels'] and near(factor(d, 'kernels')['most'], 5) and factor(d, 'kernels')['least'] == 1 and
    near(d['unexplained_least'], 0.9) and near(d['unexplained_most'], 4.5)"
check "the other way round" run_as 0 compare "$dir/theirs.json" "$dir/mine.json" --json
check "the other way round: numbers" json "near(d['ratio'], 1 / 4.5) and near(factor(d, 'kernels')['least'], 0.2) and
    factor(d, 'kernels')['most'] == 1"
own mine decode=0.2857142857142857 optimized=false
compared "a debug build"
check "a debug build: said" json "'mine built without optimisation' in factor(d, 'kernels')['formula'] and
    factor(d, 'kernels')['least'] == 1"

# -- threads that waited: 55 of 100 against 99, at equal memory and kernels
own mine decode=0.7857142857142857 busy=55 faults=12.5 preempted=3
own theirs decode=1.4142857142857144 busy=99
compared "waits"
check "waits: a bound" json "names(d) == ['threads that waited'] and near(factor(d, 'threads that waited')['most'], 1.8) and
    near(d['ratio'], 1.8) and
    near(d['unexplained_least'], 1)"
check "waits: with what speaks for it" json "'0 / 12.5 faults' in d['factors'][0]['formula'] and
    '0 / 3 times' in d['factors'][0]['formula']"

# -- heat: half the clock since the probe's best pass would be 2, but below the roof there is room for 1 / 0.6 only
own mine decode=0.8571428571428571 mhz=1200 burst=2400
own theirs decode=1.2857142857142858 mhz=2400 burst=2400
compared "heat"
check "heat: bounded by the roof" json "names(d) == ['clock lost since'] and near(d['factors'][0]['most'], 2) and
    near(d['unexplained'], 1.5) and
    near(d['unexplained_least'], 0.9)"

# -- no probe: bounds only. 8 / 2 threads and 3000 / 2000 MHz are 6 of 8
own mine read=0 threads=2 mhz=2000 decode=1
own theirs read=0 threads=8 mhz=3000 decode=8
compared "no probe"
check "no probe: bounds" json "names(d) == ['threads', 'clock'] and near(d['unexplained_least'], 8 / 6) and d['unexplained'] == 8"
check "no probe: not stated" json "'memory bandwidth' in what(o['not_stated'])"
# far from the roof: bandwidth 5 x is less than threads and clock, 6 x; 9 x is more. Never both
own mine read=100 threads=2 mhz=2000 decode=1
own theirs read=500 threads=8 mhz=3000 decode=8
compared "far from the roof"
check "far: the larger counts" json "names(d) == ['memory bandwidth', 'threads', 'clock'] and near(d['unexplained_least'], 8 / 6)"
own theirs read=900 threads=8 mhz=3000 decode=8
compared "farther"
check "farther: the larger counts" json "all(f['kind'] == 'bound' for f in d['factors']) and near(d['unexplained_least'], 8 / 9)"

# -- comparisons without sense are told first
own mine
own theirs arch=qwen2 n_params=494032768
in_words "models"
starts() { sed -n "$1p" "$out" | grep -q "^$2"; }
check "models: first" starts 1 'These are different models (mine llama of 6738415616 weights, theirs qwen2 of 494032768)'
compared "models"
check "models: not comparable" json "o['comparable'] is False and len(o['because']) == 1"
own theirs prompt=512 gen=128
in_words "lengths"
check "lengths: prefill" starts 1 'Prefill is not the same work (mine 128 tokens from position 0, theirs 512 from 0)'
check "lengths: decode" starts 2 'Decode is not the same work (mine 64 tokens from position 128, theirs 128 from 512)'
own theirs kv=q8_0 power=low-power mapping=read timing='evaluation' cpu='Cortex-A76' n_batch=64 isa=neon
compared "conditions"
check "conditions: all that differ" json "o['comparable'] and
    what(o['differs']) == ['tokens per prefill pass', 'decode time includes', 'instruction set',
    'file is', 'keys and values', 'CPU'] and 'power mode' in what(o['not_stated'])"
printf '{"decode_tok_s": 2, "threads": 4}' > "$dir/theirs.json"
compared "little is stated"
check "little: the rest is not stated" json "said_of('CPU') == [('Ryzen 5', None)] and
    not o['differs'] and d['unexplained'] == d['ratio'] and p['ratio'] is None"
in_words "little"
check "little: prefill" shows '^prefill: theirs states no speed$'

# -- llama-bench -o json
test_of() {      # N_PROMPT N_GEN N_DEPTH TOK_S MAPPING
    cat <<END
  {
    "build_commit": "abc1234", "build_number": 7000, "cpu_info": "Ryzen 5", "gpu_info": "", "backends": "CPU",
    "model_filename": "/home/bob/secret/m.gguf", "model_type": "llama 7B F16", "model_size": 13476831232, "model_n_params": 6738415616,
    "n_batch": 2048, "n_ubatch": 512, "n_threads": 8, "cpu_mask": "0x0", "cpu_strict": false, "poll": 50, "type_k": "f16", "type_v": "f16",
    "n_gpu_layers": -1, "n_cpu_moe": 0, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": false, "flash_attn": -1,
    "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none", $5, "embeddings": false, "no_op_offload": 0,
    "no_host": false, "n_prompt": $1, "n_gen": $2, "n_depth": $3, "test_time": "2026-01-02T03:04:05Z", "avg_ns": 5, "stddev_ns": 1,
    "avg_ts": $4, "stddev_ts": 0.1, "samples_ns": [ 4, 5, 6 ], "samples_ts": [ $4, $4, $4 ]
  }
END
}
own mine
{ echo '['; test_of 512 0 0 99 '"load_mode": "mmap"'; echo ','; test_of 128 0 0 60 '"load_mode": "mmap"'; echo ','
  test_of 0 64 0 3 '"load_mode": "mmap"'; echo ','; test_of 0 64 128 2.6 '"load_mode": "mmap"'; echo ']'; } > "$dir/theirs.json"
compared "llama-bench"
check "llama-bench: the tests that mine made" json "o['comparable'] and d['theirs_tok_s'] == 2.6 and p['theirs_tok_s'] == 60"
check "llama-bench: conditions" json "what(o['differs']) == ['program', 'decode time includes', 'threads']"
check "llama-bench: not stated, not assumed" json "all(w in what(o['not_stated']) for w in ('file (fingerprint)',
    'instruction set', 'context (n_ctx)',
    'compiler', 'stored types', 'power mode', 'bytes per token', 'memory bandwidth'))"
check "llama-bench: no roof, so bounds" json "names(d) == ['threads'] and d['factors'][0]['most'] == 2 and
    near(d['unexplained'], 2) and near(d['unexplained_least'], 1)"
check "llama-bench as mine" run_as 0 compare "$dir/theirs.json" "$dir/mine.json" --json
check "llama-bench as mine: the tests that theirs made" json "d['mine_tok_s'] == 2.6 and p['mine_tok_s'] == 60 and near(d['ratio'], 0.5)"
check "llama-bench twice" run_as 0 compare "$dir/theirs.json" "$dir/theirs.json" --json
check "llama-bench twice: equal" json "d['ratio'] == 1 and p['ratio'] == 1 and not d['factors'] and not o['differs']"
for mode in '"use_mmap": true=map' '"use_mmap": false=read' '"load_mode": "none"=read' '"load_mode": "mmap+mlock"=map' \
            '"load_mode": "auto"=None'; do
    { echo '['; test_of 0 64 0 3 "${mode%=*}"; echo ']'; } > "$dir/theirs.json"
    own mine mapping=other
    compared "llama-bench, ${mode%=*}"
    check "llama-bench, ${mode%=*}: file is" json "str(said_of('file is')[0][1]) == '${mode##*=}'"
done
in_words "llama-bench from another position"
check "llama-bench from another position: said" shows '^Decode is not the same work (mine 64 tokens from position 128, theirs 64 from 0)'
check "llama-bench without a prompt: said" shows '^prefill: theirs states no speed'
{ echo '['; test_of 128 64 0 3 '"use_mmap": true'; echo ']'; } > "$dir/pg.json"
refuses "llama-bench, prompt and generation in one" "$dir/pg.json" 'no report of speed'

# -- as PowerShell's > writes them, and some editors
if [ -n "$python" ]; then
    own mine cpu='Ryzen é 😀'
    for code in utf-8-sig utf-16; do
        "$python" -c "import sys; open(sys.argv[2], 'wb').write(open(sys.argv[1], encoding='utf-8').read().encode(sys.argv[3]))" \
            "$dir/mine.json" "$dir/theirs.json" $code
        compared "$code"
        check "$code: nothing differs" json "d['ratio'] == 1 and not o['differs']"
    done
fi

# -- files that are none
own mine
bad() { printf "$2" > "$dir/bad.json"; refuses "$1" "$dir/bad.json" "$3"; }
refuses "no file" /nonexistent/report.json "cannot open"
refuses "a directory" "$dir" "cannot read"
refuses "a model" $tiny "no text"
bad "nothing" '' 'line 1: the file ends too early'
bad "spaces" '  \n \n ' 'line 3: the file ends too early'
bad "cut in an object" '{"decode_tok_s": 1,\n' 'line 2: the file ends too early'
bad "cut in a string" '{\n"decode_tok' 'line 2: the file ends too early'
bad "cut in a word" '{"a": tru' 'line 1: a value is missing'
bad "cut in a number" '{"a": 1.' 'line 1: the file ends too early'
bad "cut in an escape" '{"a": "\\u00' 'line 1: the file ends too early'
bad "two values" '{} {}' 'line 1: there is more behind the end'
bad "a comma too many" '{"a": 1,}' 'line 1: a key in quotes is missing'
bad "a comma too many in an array" '[1,]' 'line 1: a value is missing'
bad "a comma too few" '{"a": 1\n "b": 2}' "line 2: ',' or '}' is missing"
bad "the wrong bracket" '{"a": [1}}' "line 1: ',' or '\]' is missing"
bad "no colon" '{"a" 1}' "':' is missing"
bad "a key twice" '{"a": 1,\n"\\u0061": 2}' 'line 2: the same key twice'
bad "NaN" '{"decode_tok_s": NaN}' 'line 1: a value is missing, or is none'
bad "nan" '{"decode_tok_s": nan}' 'line 1: a value is missing, or is none'
bad "infinity" '{"decode_tok_s": -Infinity}' 'line 1: a value is missing, or is none'
bad "a plus" '[+1]' 'a value is missing, or is none'
bad "hexadecimal" '[0x10]' "',' or '\]' is missing"
bad "a leading zero" '[01]' "',' or '\]' is missing"
bad "no digits behind the point" '[1.e5]' 'without digits behind its point'
bad "no digits in the exponent" '[1e]' 'without digits in its exponent'
bad "too large" '[1e999]' 'a number that is too large'
bad "too long" "[1$(printf '%0200d' 0)]" 'a number of more than 64 digits'
bad "a comment" '// hello\n{}' 'a value is missing, or is none'
bad "single quotes" "{'a': 1}" 'a key in quotes is missing'
bad "a newline in a string" '["a\nb"]' 'a control character in a string'
bad "half a pair" '["\\ud800x"]' 'u that is no character'
bad "the wrong half" '["\\udc00"]' 'u that is no character'
bad "an escaped NUL" '["\\u0000"]' 'u that is no character'
bad "an unknown escape" '["\\x41"]' 'an escape that JSON does not have'
bad "no UTF-8" '["\377"]' 'not UTF-8'
bad "overlong UTF-8" '["\300\200"]' 'not UTF-8'
bad "a byte order mark, and no more" '\357\273\277' 'the file ends too early'
bad "a byte order mark of UTF-16, and no more" '\377\376' 'the file ends too early'
bad "half a character of UTF-16" '\377\376[' 'the file ends too early'
bad "UTF-16, half a pair" '\377\376[\000"\000\000\330"\000]\000' 'not UTF-8'
bad "UTF-16, a NUL" '\377\376[\000\000\000]\000' 'bytes that are zero'
bad "two byte order marks" '\357\273\277\357\273\277{}' 'a value is missing, or is none'
bad "a NUL" '{"decode_tok_s": 1}\000' 'bytes that are zero'
bad "17 deep" "$(printf '[%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17)" 'nested more than 16 deep'
bad "no speed" '{"decode_tok_s": "fast", "facts": [1, {}], "depth": {}}' 'no report of speed'
bad "a negative speed" '{"decode_tok_s": -3}' 'no report of speed'
bad "a number alone" '17' 'no report of speed'
bad "an empty array" '[]' 'no report of speed'
bad "an array of other things" '[1, "x", [], {"n_gen": 5}]' 'no report of speed'
awk 'BEGIN { for (i = 0; i < 2000000; i++) printf "[" }' > "$dir/bad.json"
refuses "two million deep" "$dir/bad.json" 'nested more than 16 deep'
awk 'BEGIN { printf "[0"; for (i = 0; i < 70000; i++) printf ",0"; print "]" }' > "$dir/bad.json"
refuses "70000 values" "$dir/bad.json" 'more than 65536 values'
awk 'BEGIN { printf "{\"a\": 0"; for (i = 0; i < 600; i++) printf ",\"k%d\": 0", i; print "}" }' > "$dir/bad.json"
refuses "600 members" "$dir/bad.json" 'more than 512 members'
{ printf '{"a": "'; head -c 100000000 /dev/zero | tr '\0' x; printf '"}'; } > "$dir/large.json"
refuses "a string of 100 MB" "$dir/large.json" 'larger than 4 MB'
rm -f "$dir/large.json"
if [ -c /dev/zero ]; then refuses "a file without an end" /dev/zero 'larger than 4 MB'; fi
# sound, if odd: the deepest, every escape, a pair, white space, the longest string of the terminal's poison
printf '\r\n\t{"decode_tok_s": 1.5e0, "x": [[[[[[[[[[[[[[[]]]]]]]]]]]]]]],
    "arch": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\u001b[2J"}\n' > "$dir/theirs.json"
compared "odd but sound"
check "odd but sound: read" json "d['theirs_tok_s'] == 1.5 and [r['theirs'] for r in o['differs'] if r['what'] == 'architecture'] ==
    ['\"\\\\/?????\u00e9\U0001f600?[2J']"
in_words "odd but sound"

# -- to be shared: nothing but what is on the list, and it is a report still
own mine types='{"name": "F16", "n_bytes": 5,
    "note": "/home/ann/secret"}' cpu='AMD A10 w/ Radeon' mapping=/home/ann/secret isa='C:\\Users\\secret' \
    print=secret/print extra=', "host": "secret-host", "user": "ann-secret", "time": "2026-secret", "threads_": 3, "rounds": "secret",
    "load_ms": {"secret": "secret"}, "check": ["secret", {"secret": 1}, 2], "gen_": [1]'
sed -i 's/"n_ctx": 4096/"n_ctx": "secret", "path": "secret"/; s/"n_batch": [0-9]*/"n_batch": 77/' "$dir/mine.json"
check "share" run_as 0 compare --share "$dir/mine.json"
check "share: no secret" hides 'secret'
check "share: no name" hides 'ann\|home\|"name": "M"'
check "share: the CPU stays" shows '"cpu": "AMD A10 w/ Radeon"'
check "share: facts stay" json "o['facts']['run']['n_batch'] == 77 and o['decode_tok_s'] == 1.3 and
    o['facts']['stats']['backend'] == 'CPU' and
    o['facts']['file']['types'] == [{'name': 'F16', 'n_bytes': 5}] and 'model' not in o and 'host' not in o and o['check'] == [2]"
cp "$out" "$dir/shared.json"
check "share again" run_as 0 compare --share "$dir/shared.json"
check "share again: the same" cmp -s "$out" "$dir/shared.json"
check "shared against shared" run_as 0 compare "$dir/shared.json" "$dir/shared.json"
check "shared against its source" run_as 0 compare "$dir/mine.json" "$dir/shared.json" --json
check "shared against its source: the same speeds" json "d['ratio'] == 1 and p['ratio'] == 1 and not d['factors']"
{ echo '['; test_of 0 64 0 3 '"use_mmap": true,
    "host": "secret"'; echo ',7,'; test_of 128 0 0 60 '"use_mmap": true'; echo ']'; } > "$dir/theirs.json"
check "share llama-bench" run_as 0 compare --share "$dir/theirs.json"
check "share llama-bench: no secret" hides 'secret\|bob\|2026'
check "share llama-bench: a report still" json "len(o) == 3 and o[0]['n_gen'] == 64 and o[0]['samples_ts'] == [3, 3, 3] and
    o[2]['cpu_info'] == 'Ryzen 5'"
cp "$out" "$dir/shared.json"
check "share llama-bench: against its source" run_as 0 compare "$dir/theirs.json" "$dir/shared.json" --json
check "share llama-bench: the same" json "d['ratio'] == 1 and p['ratio'] == 1 and not o['differs']"

# -- real reports
bench() { "$llm" bench $tiny --prompt 16 --gen 8 --rounds 2 --json $2 > "$dir/$1.json" 2> "$err" || { cat "$err"; return 1; }; }
check "bench" bench real
cp "$dir/real.json" "$out"
check "facts: the run" json "(lambda r: r['prompt'] == 16 and r['gen'] == 8 and r['depth'] == 0 and r['rounds'] == 2 and
    r['n_batch'] == 512 and
    r['n_ctx'] >= 24 and r['cpu'] == o['cpu'] and r['program'].startswith('llm.h ') and
    'sampling' in r['decode_timing'])(o['facts']['run'])"
check "facts: last" json "list(o)[-1] == 'facts' and list(o['facts']) == ['run', 'file', 'stats']"
check "facts: the file" json "(lambda f: f['file_bytes'] == $(wc -c < $tiny) and f['arch'] == 'llama' and f['name'] == o['name'] and
    sum(t['n_bytes'] for t in f['types']) == f['weight_bytes'] and sum(t['n_weights'] for t in f['types']) == f['n_params'] and
    near(round(8 * f['weight_bytes'] / f['n_params'], 6), round(f['bits_per_weight'], 6)))(o['facts']['file'])"
check "facts: of the run as it was" json "(lambda s: s['n_threads'] == o['threads'] and s['isa'] == o['isa'] and s['kv_type'] == o['kv'] and
    s['decode_tokens'] >= 8 and s['bytes_per_token'] == o['bytes_per_token'] and abs(s['probe_gb_s'] - o['read_gb_s']) < 0.001 and
    s['load_ms'] > 0 and len(s['file_fingerprint']) == 16 and int(s['file_fingerprint'], 16) > 0)(o['facts']['stats'])"
# Every member of llm_stats_info in llm.h, the sizes and the padding aside.
members=$(sed -n '/^typedef struct llm_stats_info {/,/^} llm_stats_info;/p' llm.h | sed 's|/\*.*||; s|.*\*/||' | grep ';' | tr ',' '\n' |
    sed 's/;.*//; s/^.*[ *]\([a-z_0-9]*\)$/\1/' | grep -v '^struct_bytes$\|^reserved2*$\|^llm_stats_info$')
check "llm.h has its members" [ "$(echo "$members" | wc -l)" -gt 70 ]
for member in $members; do check "facts: $member" grep -q "\"$member\": " "$dir/real.json"; done
n=0
for variant in "--threads 1" "--kv q8_0" "--isa scalar" "--read" "--prompt 8" "--kv f32 --threads 1 --isa scalar"; do
    n=$((n + 1))
    check "bench $variant" bench "other$n" "$variant"
    check "real against $variant" run_as 0 compare "$dir/real.json" "$dir/other$n.json" --json
    check "real against $variant: the product" json "near(d['ratio'], d['theirs_tok_s'] / d['mine_tok_s']) and
    near(d['unexplained'] * __import__('math').prod(
        f['least'] for f in d['factors'] if f['kind'] == 'measured'), d['ratio']) and d['unexplained_least'] <= d['unexplained'] * 1.000001"
    check "real against $variant: in words" run_as 0 compare "$dir/real.json" "$dir/other$n.json"
done
check "real against --kv q8_0" run_as 0 compare "$dir/real.json" "$dir/other2.json" --json
check "real against --kv q8_0: said, and fewer bytes" json "'keys and values' in what(o['differs']) and
    'bytes per token' in names(d) and factor(d, 'bytes per token')['most'] > 1.005"
check "real against --isa scalar" run_as 0 compare "$dir/real.json" "$dir/other3.json" --json
check "real against --isa scalar: kernels" json "'instruction set' in what(o['differs']) and 'kernels' in names(p)"
check "real against --read" run_as 0 compare "$dir/real.json" "$dir/other4.json" --json
check "real against --read: said" json "'file is' in what(o['differs']) and o['comparable']"
check "real against a shorter prompt" run_as 0 compare "$dir/real.json" "$dir/other5.json" --json
check "real against a shorter prompt: no sense" json "not o['comparable'] and len(o['because']) == 2"
check "share a real one" run_as 0 compare --share "$dir/real.json"
check "share a real one: no path" hides 'tiny\|Tiny\|examples'
check "share a real one: everything of llm_stats" json "len(o['facts']['stats']) == $(echo "$members" | wc -l)"

# -- sums of files
sum=
has sha256sum && sum=$(sha256sum < $tiny | cut -c1-64)
[ -z "$sum" ] && has shasum && sum=$(shasum -a 256 $tiny | cut -c1-64)
if [ -n "$sum" ]; then
    check "info --sha256" run_as 0 info $tiny --sha256
    check "info --sha256: the file's" [ "$(tail -n 1 "$out")" = "$sum  $tiny" ]
    check "info --sha256 --json" run_as 0 info $tiny --sha256 --json
    check "info --sha256 --json: the file's" json "o['sha256'] == ['$sum'] and o['arch'] == 'llama'"
    check "info --json" run_as 0 info $tiny --json
    check "info --json: none unless asked" json "'sha256' not in o"
    if [ -n "$python" ] && has sha256sum; then
        check "splitting" "$python" tests/split_gguf.py $tiny "$dir/split"
        check "info --sha256 of shards" run_as 0 info "$dir/split-00001-of-00002.gguf" --sha256
        check "info --sha256 of shards: a line each" [ "$(tail -n 2 "$out")" = "$(sha256sum "$dir"/split-0000*)" ]
        check "info --sha256 --json of shards" run_as 0 info "$dir/split-00001-of-00002.gguf" --sha256 --json
        sums=$(sha256sum "$dir"/split-0000* | cut -c1-64 | paste -sd' ')
        check "info --sha256 --json of shards: both" json "o['sha256'] == '$sums'.split()"
    fi
else
    skip "neither sha256sum nor shasum: the sum of a file is not checked"
fi
finish
