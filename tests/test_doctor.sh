# plan, report, doctor: what they say is held against what is known to be wrong. Rates depend on who else computes here, so bounds are wide,
# and what a busy machine can spoil is tried again.
. tests/test.sh
program doctor
small=tests/data/llama-dense.gguf
has python3 || { skip "no python3: results cannot be read"; finish; }

refuses() { check "$1: code" run_as "$2" $3; check "$1: one sentence" one_sentence; }
# json FILE 'expression over o': in o, path, tries (those of the first step, by factor: the best of each), first, healthy
json() { python3 - "$1" "$2" <<'END'
import json, sys
o = json.loads(open(sys.argv[1], 'rb').read().decode('utf-8'))
path, tries = o.get('path'), {}
for t in (o['steps'][0]['tries'] if 'steps' in o else []):
    if t['factor'] not in tries or t['gain'] > tries[t['factor']]['gain']: tries[t['factor']] = t
first, healthy = o.get('first'), o.get('healthy')
if not eval('(' + sys.argv[2] + ')'):
    print('not true:', sys.argv[2], '\n', path, {k: (t['gain'], t['rounds'], t['error']) for k, t in tries.items()})
    sys.exit(1)
END
}
busy() { [ -r /proc/loadavg ] && [ "$(sed 's/\..*//' /proc/loadavg)" -ge "$(getconf _NPROCESSORS_ONLN)" ]; }

# -- the command line
for command in plan report doctor; do
    check "$command --help" run_as 0 $command --help
    check "$command --help: on stdout" grep -q "^usage: llm $command" "$out"
    refuses "$command without a model" 2 "$command"
    refuses "$command with an unknown option" 2 "$command $tiny --no-such-option"
    refuses "$command of no file" 1 "$command /nonexistent/model.gguf"
    refuses "$command of a text" 1 "$command tests/test_doctor.sh"
    refuses "$command --cores" 2 "$command $tiny --cores fast"
    refuses "$command --read --map" 2 "$command $tiny --read --map"
done
refuses "doctor --quick --full" 2 "doctor $tiny --quick --full"
refuses "doctor, a page that cannot be written" 1 "doctor $tiny --html /nonexistent/page.html"
refuses "doctor, JSON that cannot be written" 1 "doctor $tiny --json /nonexistent/doctor.json"
refuses "doctor, nothing better" 1 "doctor $tiny --better /nonexistent/model.gguf"
check "usage" run_as 0 --help
check "usage: doctor" grep -q '^  doctor ' "$out"
check "usage: no inner command" [ "$(grep -c probe-run "$out")" -eq 0 ]

# -- the table of rules, and its copy in README.md
check "doctor --table" run_as 0 doctor --table
check "doctor --table: a cause a line" [ "$(grep -c '^| .* | .* | .* | .* |$' "$out")" -ge 10 ]
sed -n '/^<!-- llm doctor --table -->$/,/^<!-- end of the table -->$/p' README.md | sed '1d;$d' > "$dir/readme"
check "doctor --table: as README.md has it" cmp "$out" "$dir/readme"

# -- plan
check "plan" run_as 0 plan $tiny
check "plan: a verdict" grep -q '^fits ' "$out"
check "plan --ctx 100000" run_as 0 plan $tiny --ctx 100000
check "plan --ctx 100000: more than it has learned" grep -q '^context .* 100000 where the model was trained for 512 tokens' "$out"
check "plan again" run_as 0 plan $tiny
check "plan: speed" grep -q '^speed .* tok/s' "$out"
check "plan --json" run_as 0 plan $tiny --json --ctx 256
cp "$out" "$dir/256"
check "plan --json: sums" json "$out" "o['verdict'] == 'fits' and o['n_ctx'] == 256 and o['file_bytes'] == $(wc -c < $tiny) and
    o['total_bytes'] == o['weight_bytes'] + o['model_bytes'] + o['kv_bytes'] + o['scratch_bytes']"
check "plan --json: an arena" json "$out" "o['model_bytes'] + o['kv_bytes'] + o['scratch_bytes'] <= o['arena_bytes'] < o['total_bytes']"
# K and V of 4 layers or however many: heads of keys times their width times two bytes times two
check "info --json" run_as 0 info $tiny --json
check "plan --json: keys and values" json "$out" "(lambda p: p['kv_bytes_per_token'] == 4 * o['n_layer'] * o['n_head_kv'] *
    (o['n_embd'] // o['n_head']) and p['kv_bytes'] >= 256 * p['kv_bytes_per_token'])(json.load(open('$dir/256')))"
check "plan --kv q8_0" run_as 0 plan $tiny --json --ctx 256 --kv q8_0
check "plan --kv q8_0: fewer bytes" json "$out" "0.5 < o['kv_bytes_per_token'] / json.load(open('$dir/256'))['kv_bytes_per_token'] < 0.6"
check "plan --read" run_as 0 plan $tiny --json --read
check "plan --read: read" json "$out" "o['mapping'] == 'read' and o['weights_read'] > 0 and o['weights_mapped'] == 0"
check "plan: too big" run_as 1 plan $tiny --json --ctx 2000000000
check "plan: too big, said" json "$out" "o['verdict'] == 'does not fit' and o['total_bytes'] > o['mem_limit'] > 0"

# -- report
check "report" run_as 0 report $tiny --threads 1
check "report: no path" [ "$(grep -c "$tiny\|$(pwd)" "$out")" -eq 0 ]
check "report: the roof" grep -q '^roofline ' "$out"
check "report --json --isa scalar" run_as 0 report $tiny --json --isa scalar
check "report --json: findings" json "$out" "len(o['report']) > 300 and isinstance(o['findings'], list) and
    o['facts']['run']['prompt'] == 64 and all(f['factor'] >= 1 and f['kind'] in ('measured', 'probed', 'bound') and f['text'] and f['advice'] for f in o['findings'])"
best=$("$llm" plan $tiny --json | sed 's/.*"isa": "\([^"]*\)".*/\1/')
[ "$best" = scalar ] || check "report: scalar kernels are found" json "$out" "'scalar_kernels' in [f['code'] for f in o['findings']]"

# -- one experiment
check "probe-run" run_as 0 probe-run $tiny --ms 50 --threads 1
check "probe-run: one line" [ "$(wc -l < "$out")" -eq 1 ]
check "probe-run: measured" json "$out" "o['decode_tok_s'] > 0 and o['tokens'] >= 2 and o['threads'] == 1 and o['error'] == '' and
    o['mapping'] == 'mapped' and o['load_ms'] > 0 and o['first_ms'] >= o['load_ms'] and 0 < o['roofline_pct'] <= 100.001"
check "probe-run: refused" run_as 1 probe-run $tiny --ms 50 --cores big --isa neon
check "probe-run: refused with the library's sentence" json "$out" "len(o['error']) > 10 and o['decode_tok_s'] == 0"

# -- nothing wrong. Whether a model of 1.5 MB gains by a second thread, or by staying on its CPU, hangs on the machine: a factor of two there is no fault
seems_healthy() {
    run_as 0 doctor $tiny --quick --json "$dir/healthy.json" --html "$dir/healthy.html" && cp "$out" "$dir/healthy.txt" &&
        json "$dir/healthy.json" "(healthy and first == '' and len(path) == 1) or
            (first in ('threads', 'cores') and len(path) == 2 and path[1]['gain'] < 2)"
}
unharmed() { json "$dir/healthy.json" "first in ('', 'threads', 'cores', 'kv', 'context') and path[-1]['tok_s'] < 20 * path[0]['tok_s']"; }
if patiently seems_healthy; then check "doctor: nothing else is named" true
elif busy; then
    lacks "a machine with idle CPUs: with others computing, fewer threads can be far faster, and the doctor says so"
    check "doctor: nothing but threads and what a token reads is named" unharmed
else check "doctor: nothing else is named" false
fi
check "doctor: text" grep -q ' as it is ' "$dir/healthy.txt"
check "doctor: how many experiments" grep -q '^took .* experiments' "$dir/healthy.txt"
check "doctor --json: rounds" json "$dir/healthy.json" "o['steps'][0]['rounds'] >= 3 and o['complete'] is True and o['experiments'] > 9 and
    abs(o['steps'][0]['gain'] - 1) < 1e-9 and o['seconds'] < 200"
check "doctor --json: tried" json "$dir/healthy.json" "{'mapping', 'kv', 'cores'} <= set(tries) and path[0]['tok_s'] > 0"

# -- what cannot run: the only repair is the one that lets it run
foreign=neon
case $(uname -m) in aarch64 | arm64) foreign=avx2 ;; esac
check "doctor --isa $foreign" run_as 0 doctor $tiny --quick --isa $foreign --json "$dir/foreign.json"
check "doctor --isa $foreign: named" json "$dir/foreign.json" "first == 'kernels' and path[0]['tok_s'] == 0 and path[1]['tok_s'] > 0"
check "doctor --isa $foreign: the library's sentence" grep -qi "as it is: .*$foreign" "$out"

# -- scalar kernels
scalar_is_named() {
    run_as 0 doctor $tiny --quick --isa scalar --json "$dir/scalar.json" --html "$dir/scalar.html" &&
        json "$dir/scalar.json" "first == 'kernels' and not healthy and path[-1]['tok_s'] > 1.5 * path[0]['tok_s'] and
            path[1]['gain'] == max(t['gain'] for t in tries.values()) and tries['kernels']['named']"
}
if [ "$best" = scalar ]; then lacks "kernels other than scalar ones"
else check "doctor --isa scalar: kernels first" patiently scalar_is_named
fi

# -- far too many threads: the library lets those without a CPU rest, so they may cost little; nothing else is named
many_is_judged() {
    run_as 0 doctor $tiny --quick --threads 64 --json "$dir/many.json" && json "$dir/many.json" "'threads' in tries and
        first in ('', 'threads') and path[-1]['tok_s'] > 0.7 * path[0]['tok_s']"
}
check "doctor --threads 64: fewer" patiently many_is_judged

# -- another file of the same model: one that is a twelfth of the size stands in for the one with fewer bits
better_is_named() {
    run_as 0 doctor $tiny --quick --better $small --json "$dir/better.json" &&
        json "$dir/better.json" "first == 'file' and '$(basename $small)' in path[1]['says'] and tries['file']['named'] and
            tries['file']['bytes_per_token'] < o['steps'][0]['bytes_per_token']"
}
check "doctor --better: the file first" patiently better_is_named
check "doctor --better: why" grep -q 'a token reads .* instead of' "$out"
check "doctor --better: the best set-up names it" grep -q "^best found .*$(basename $small)" "$out"

# -- Ctrl-C
cut_short() {
    "$llm" doctor $tiny --isa scalar --threads 7 --json "$dir/cut.json" < /dev/null > "$out" 2> "$err" &
    pid=$!
    sleep $1
    kill -INT $pid
    start=$(date +%s)
    wait $pid || return 1
    waited=$(($(date +%s) - start))
}
cut_short 3 || cut_short 10 || cut_short 20
check "Ctrl-C: code 0" [ $? -eq 0 ]
check "Ctrl-C: at once" [ ${waited:-99} -le 3 ]
check "Ctrl-C: what is known" grep -q ' as it is ' "$out"
check "Ctrl-C: said" grep -q 'interrupted' "$out"
check "Ctrl-C: JSON" json "$dir/cut.json" "o['complete'] is False and len(path) >= 1"
if [ -d /proc/self ]; then
    left() { for p in /proc/[0-9]*; do tr '\0' ' ' 2> /dev/null < $p/cmdline | grep "probe-run.*--threads 7 "; done 2> /dev/null; }
    sleep 1
    check "Ctrl-C: no experiment is left behind" [ -z "$(left)" ]
fi
"$llm" doctor /dev/zero > "$out" 2> "$err" < /dev/null
check "no file at all: code 1" [ $? -eq 1 ]

# -- the page
for page in healthy scalar; do
    [ -e "$dir/$page.html" ] || continue
    check "$page page: well-formed, whole, nothing from outside" python3 - "$dir/$page.html" <<'END'
import re, sys, xml.etree.ElementTree as T
s = open(sys.argv[1], encoding='utf-8').read()
root = T.fromstring(s.replace('<!DOCTYPE html>', '', 1))
assert root.tag == 'html' and len(s) > 8000, len(s)
assert not re.search(r'https?:|//[a-z]|src=|href=|url\(|@import|<script|<link|<iframe', s), 'a reference'
svgs = list(root.iter('svg'))
assert len(svgs) >= 3, len(svgs)
for svg in svgs:
    x, y, w, h = map(float, svg.get('viewBox').split())
    for e in svg.iter():
        for k, most in (('x', w), ('x1', w), ('x2', w), ('cx', w), ('y', h), ('y1', h), ('y2', h), ('cy', h)):
            if e.get(k) is not None: assert -1 <= float(e.get(k)) <= most + 1, (e.tag, e.attrib, (w, h))
    assert svg.get('aria-label')
assert not re.search(r'\b(nan|inf)\b', re.sub(r'<style>.*?</style>', '', s)), 'nan'
END
done
browser=
for name in chromium chromium-browser google-chrome; do [ -z "$browser" ] && has $name && browser=$name; done
if [ -z "$browser" ]; then skip "no chromium: the page is not looked at"
else
    for width in 390 1200; do
        page=$dir/scalar.html
        [ -e "$page" ] || page=$dir/healthy.html
        # a frame of that width reports how wide its content is: a page that must be scrolled sideways is broken
        cat > "$dir/frame.html" <<END
<body style="margin:0"><iframe id="f" src="$(basename "$page")" style="border:0;width:${width}px;height:2000px"></iframe><script>
onload=function(){var e=document.getElementById('f').contentDocument.documentElement;document.title='wide '+e.scrollWidth}</script>
END
        flags="--headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --user-data-dir=$dir/browser"
        timeout 60 $browser $flags --dump-dom "file://$(cd "$dir" && pwd)/frame.html" > "$dir/dom" 2> /dev/null
        check "page at $width: not wider" grep -q "<title>wide $width</title>" "$dir/dom"
        timeout 60 $browser $flags --window-size=$width,2400 --screenshot="$(cd "$dir" && pwd)/page-$width.png" \
            "file://$(cd "$dir" && pwd)/$(basename "$page")" > /dev/null 2>&1
        check "page at $width: a picture" [ "$(wc -c < "$dir/page-$width.png" 2> /dev/null || echo 0)" -gt 20000 ]
    done
fi

# -- a real model
real=
for f in "${LLM_MODELS:-tests/models}/smollm2.gguf" ../models/smollm2.gguf; do [ -z "$real" ] && [ -r "$f" ] && real=$f; done
if [ -z "$real" ]; then skip "no real model (tests/get_models.sh)"
else
    real_scalar() {
        run_as 0 doctor "$real" --quick --isa scalar --json "$dir/real.json" &&
            json "$dir/real.json" "first == 'kernels' and path[-1]['tok_s'] > 2 * path[0]['tok_s'] and tries['kernels']['named']"
    }
    if [ "$best" = scalar ]; then lacks "kernels other than scalar ones"
    else check "doctor, a real model, --isa scalar: kernels first" patiently real_scalar
    fi
    real_healthy() {
        run_as 0 doctor "$real" --quick --json "$dir/real.json" && json "$dir/real.json" "healthy or (o['path'][-1]['tok_s'] <
            1.6 * path[0]['tok_s'] and first not in ('kernels', 'file', 'mapping'))"
    }
    if patiently real_healthy; then check "doctor, a real model: healthy" true
    elif busy; then lacks "a machine with idle CPUs for a real model"
    else check "doctor, a real model: healthy" false
    fi
fi
finish
