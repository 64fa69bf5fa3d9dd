# The program: exit codes, errors, streams, JSON, conversations. Its answers are other suites' business; here they need only agree.
. tests/test.sh
program cli

same_text() { cmp -s "$1" "$2"; }
nonempty() { [ -s "$1" ]; }
empty() { [ ! -s "$1" ]; }
refuses() { check "$1: code" run_as "$2" $3; check "$1: one sentence" one_sentence; }
json() { if [ -n "$python" ]; then "$python" -c "
import json, sys
o = json.loads(open('$out', 'rb').read().decode('utf-8'))
assert $1, o"; else grep -q '^{.*}$' "$out"; fi; }
python=
has python3 && python=python3
[ -n "$python" ] || skip "no python3: JSON is checked for its braces only, and no conversation is held at a terminal"

# -- the command line
check "no command" run_as 2
check "no command: usage on stderr" said '^usage: llm'
for word in --help -h help; do
    check "$word" run_as 0 $word
    check "$word: usage on stdout" grep -q '^usage: llm' "$out"
done
check "--version" run_as 0 --version
check "--version: the header's" grep -qx "llm $(sed -n 's/^#define LLM_VERSION_[A-Z]* //p' llm.h | paste -sd. -)" "$out"
for command in run chat info bench; do
    check "$command --help" run_as 0 $command --help
    check "$command --help: on stdout" grep -q "^usage: llm $command" "$out"
    check "$command --help: nothing on stderr" empty "$err"
    check "$command -h" run_as 0 $command -h
    refuses "$command without a model" 2 "$command"
    refuses "$command with an unknown option" 2 "$command $tiny --no-such-option"
    refuses "$command with two models" 2 "$command $tiny $tiny"
    refuses "$command without its value" 2 "$command $tiny $([ $command = info ] && echo --key || echo --threads)"
done
refuses "unknown command" 2 "explain $tiny"
for bad in "--temp warm" "--temp nan" "--temp 0x1" "--temp -1" "--temp=" "-n -1" "-n 1e3" "-n 5x" "-n 99999999999" "--seed -1" \
           "--seed 18446744073709551616" "--top-p 1.5" "--min-p -0.1" "--top-k 1.5" "--ctx 0" "--threads two" "--batch 0" "--isa mmx" \
           "--kv f8" "--json=1" "--raw --system x" "--raw --template chatml" "--repeat-penalty -1" "-f x"; do
    refuses "run -p x $bad" 2 "run $tiny -p x $bad"
done
check "run --isa mmx" run_as 2 run $tiny -p x --isa mmx
check "run --isa mmx: which there are" said "'mmx'; here there are auto, scalar"
refuses "bench --rounds 0" 2 "bench $tiny --rounds 0"
refuses "bench --reps 0" 2 "bench $tiny --reps 0"
refuses "run without a prompt" 2 "run $tiny"

# -- files that are none
: > "$dir/empty.gguf"
printf 'This is a text, and a longer one than a header.\n' > "$dir/text.gguf"
head -c 1000 "$tiny" > "$dir/short.gguf"
size=$(wc -c < "$tiny")
head -c $((size - 1)) "$tiny" > "$dir/cut.gguf"
for bad in /nonexistent/model.gguf "$dir" "$dir/empty.gguf" "$dir/text.gguf" "$dir/short.gguf" "$dir/cut.gguf"; do
    refuses "run $bad" 1 "run $bad -p hello"
    refuses "chat $bad" 1 "chat $bad"
    refuses "info $bad" 1 "info $bad"
    refuses "info --json $bad" 1 "info $bad --json"
    refuses "bench $bad" 1 "bench $bad"
done
if ln -s loop "$dir/loop" 2> /dev/null; then
    refuses "a link to itself" 1 "info $dir/loop"
    check "a link to itself: said" said 'links lead in a circle'
fi
refuses "run -f of a missing file" 1 "run $tiny -f /nonexistent/prompt.txt"
"$llm" run $tiny -f "/nonexistent/
prompt.txt" > "$out" 2> "$err"
check "a name of two lines: one sentence" one_sentence
# what a terminal of 8 bits, or of UTF-8, would obey; letters stay
check "a name of controls" run_as 2 run "$(printf 'caf\303\251\2332J\302\2332J')" "$(printf '\2332J\302\2332Jcaf\303\251')"
check "a name of controls: what it says" said "$(printf "'?2J??2Jcaf\303\251'")"
printf 'a\0b' > "$dir/nul.txt"
refuses "a NUL in a message" 1 "run $tiny -f $dir/nul.txt"

# -- one prompt, one answer
ask="Tell me a story about a fox."
check "run" run_as 0 run $tiny -p "$ask" --temp 0 -n 40
cp "$out" "$dir/answer"
check "run: text" nonempty "$out"
check "run: closing line of timing" said 'load .* ms, first token .* ms, prefill [0-9]* tokens .*tok/s), decode [0-9]* tokens .*tok/s)'
check "run: ends with a newline" [ -z "$(tail -c 1 "$out")" ]
check "run --quiet" run_as 0 run $tiny -p "$ask" --temp 0 -n 40 --quiet
check "run --quiet: the same text" same_text "$out" "$dir/answer"
check "run --quiet: silent" empty "$err"
printf '%s\n' "$ask" > "$dir/ask.txt"
check "run -f" run_as 0 run $tiny -f "$dir/ask.txt" --temp 0 -n 40
check "run -f: the same text" same_text "$out" "$dir/answer"
in=$dir/ask.txt
check "run < stdin" run_as 0 run $tiny --temp 0 -n 40
check "run < stdin: the same text" same_text "$out" "$dir/answer"
check "run -f -" run_as 0 run $tiny -f - --temp=0 -n 40
check "run -f -: the same text" same_text "$out" "$dir/answer"
in=/dev/null
for variant in "--threads 1" "--threads 3" "--isa scalar" "--kv f16" "--batch 1" "--batch 7" "--read" "--ctx 300"; do
    check "run $variant" run_as 0 run $tiny -p "$ask" --temp 0 -n 40 $variant
    check "run $variant: the same text" same_text "$out" "$dir/answer"
done
check "run --seed 7" run_as 0 run $tiny -p "$ask" -n 60 --temp 1.5 --seed 7
cp "$out" "$dir/seven"
check "run --seed 7 again" run_as 0 run $tiny -p "$ask" -n 60 --temp 1.5 --seed 7 --threads 1
check "the same seed, the same text" same_text "$out" "$dir/seven"
check "run --seed 8" run_as 0 run $tiny -p "$ask" -n 60 --temp 1.5 --seed 8
check "another seed, another text" [ "$(cat "$out")" != "$(cat "$dir/seven")" ]
check "run --top-k 1" run_as 0 run $tiny -p "$ask" -n 40 --temp 1.5 --top-k 1
check "--top-k 1 is greedy" same_text "$out" "$dir/answer"
check "run --raw" run_as 0 run $tiny --raw -p "Once upon a time" --temp 0 -n 10
check "run --raw: text" nonempty "$out"
check "--raw differs from a message" [ "$(cat "$out")" != "$(head -c "$(wc -c < "$out")" "$dir/answer")" ]
check "run --system" run_as 0 run $tiny -p "$ask" --system "You tell stories." --temp 0 -n 10
check "run --template plain" run_as 0 run $tiny -p "$ask" --template plain --temp 0 -n 10
refuses "an unknown template" 1 "run $tiny -p x --template nonsense"
refuses "a context too small" 1 "run $tiny -p Tell_me_a_story_about_a_fox_and_a_bear. --ctx 4"
if [ -w /dev/full ]; then
    "$llm" run $tiny -p "$ask" -n 10 > /dev/full 2> "$err"
    check "a full disk: code 1" [ $? -eq 1 ]
    check "a full disk: said" said '^llm: cannot write'
    for words in --help --version "info --help" "info $tiny" "doctor --table"; do
        "$llm" $words > /dev/full 2> "$err"
        check "a full disk: llm $words: code 1, and said" [ $? -eq 1 -a "$(grep -c '^llm: cannot write' "$err")" -eq 1 ]
    done
    printf '%s\n' "$ask" "$ask" | "$llm" chat $tiny -n 10 > /dev/full 2> "$err"
    check "a full disk: llm chat: code 1, and said once" [ $? -eq 1 -a "$(grep -c '^llm: cannot write' "$err")" -eq 1 ]
fi

# Streams that are closed from the start: no file that is opened afterwards stands in for them.
"$llm" info $tiny >&- 2> "$err"
check "stdout closed: code 1, and said" [ $? -eq 1 -a "$(grep -c '^llm: cannot write' "$err")" -eq 1 ]
"$llm" info /nonexistent/model.gguf > "$out" 2>&- < /dev/null
check "stderr closed: code 1" [ $? -eq 1 ]
"$llm" doctor $tiny --quick --threads 1 --json "$dir/closed.json" >&- 2> "$err" < /dev/null
check "stdout closed: no text in a file" [ "$(head -c 1 "$dir/closed.json")" = '{' ]
check "stdout closed: experiments are heard" grep -q '"tok_s": [1-9]' "$dir/closed.json"

# -- JSON
check "run --json" run_as 0 run $tiny -p "$ask" --temp 0 -n 5 --json
check "run --json: nothing on stderr" empty "$err"
check "run --json: one line" [ "$(wc -l < "$out")" -eq 1 ]
check "run --json: shape" json "o['stop'] == 'limit' and o['tokens'] == 5 and isinstance(o['text'], str) and len(o['text']) > 0"
check "run --json: times" \
    json "all(o[k] >= 0 for k in ('load_ms', 'first_token_ms', 'prefill_ms', 'decode_ms', 'prefill_tok_s', 'decode_tok_s'))"
check "run --json: what ran" \
    json "o['threads'] >= 1 and len(o['isa']) > 1 and o['mapping'] in ('map', 'read') and isinstance(o['bits_promise'], bool)"
check "run --json --threads 1 --read" run_as 0 run $tiny -p "$ask" --temp 0 -n 5 --json --threads 1 --read
check "run --json: as asked" json "o['threads'] == 1 and o['mapping'] == 'read'"
# Beyond the positions that the question takes there is room for one token of an answer, and for one more with each further position.
room=$("$llm" run $tiny -p "$ask" --temp 0 -n 1 --json 2> /dev/null | sed 's/.*"prefill_tokens": \([0-9]*\).*/\1/')
for more in 0 1 3; do
    check "run, room for $more tokens" run_as 0 run $tiny -p "$ask" --temp 0 --json --ctx $((room + more))
    check "run, room for $more tokens: counted" json "o['stop'] == 'context' and o['tokens'] == $more and (o['text'] != '') == ($more > 0)"
done
check "run to the end" run_as 0 run $tiny -p "$ask" --temp 0 --json
check "the answer ends by itself" json "o['stop'] == 'eog' and o['tokens'] > 20"
if [ -n "$python" ]; then
    word=$(tr -cs 'A-Za-z' '\n' < "$dir/answer" | sed -n 4p)
    check "run --stop" run_as 0 run $tiny -p "$ask" --temp 0 --json --stop "$word" --stop '@@@'
    check "run --stop: ends before it" \
        json "o['stop'] == 'string' and '$word' not in o['text'] and open('$dir/answer').read().startswith(o['text'])"
fi
check "info" run_as 0 info $tiny
check "info: types" grep -q '^[A-Z0-9_]* *[0-9]* *[0-9]* *[0-9.]* %' "$out"
check "info: metadata" grep -q '^general.architecture = llama' "$out"
check "info: size" grep -q "($size bytes)" "$out"
check "info --json" run_as 0 info $tiny --json
check "info --json: shape" \
    json "o['arch'] == 'llama' and o['file_bytes'] == $size and o['text'] is True and o['metadata']['general.architecture'] == 'llama'"
check "info --json: sums" \
    json "sum(t['n_bytes'] for t in o['types']) == o['weight_bytes'] and sum(t['n_weights'] for t in o['types']) == o['n_params']"
check "info --json: bits" json "abs(o['bits_per_weight'] - 8.0 * o['weight_bytes'] / o['n_params']) < 0.01"
check "info --key" run_as 0 info $tiny --key general.architecture
check "info --key: the value" [ "$(cat "$out")" = llama ]
# Names that look like those of several files: what the file says counts.
for name in m-00001-of-00000 m-00001-of-00003 a-part-of-00002; do
    cp $tiny "$dir/$name.gguf"
    check "info $name --sha256" run_as 0 info "$dir/$name.gguf" --sha256 --json
    check "info $name --sha256: one sum" json "len(o['sha256']) == 1 and len(o['sha256'][0]) == 64"
    rm -f "$dir/$name.gguf"
done
check "report --batch" run_as 0 report $tiny --ctx 1024 --batch 2048 --json
check "report --batch: no more than there are positions" json "o['facts']['run']['n_batch'] == 1024"
refuses "info --key of no key" 1 "info $tiny --key no.such.key"
for kv in f32 q8_0; do
    check "run --kv $kv" run_as 0 run $tiny -p "$ask" --temp 0 -n 40 --kv $kv --json
    check "run --kv $kv: text" json "len(o['text']) > 40"
done
check "bench --json" run_as 0 bench $tiny --prompt 16 --gen 8 --rounds 2 --threads 2 --json
check "bench --json: one line, nothing on stderr" [ "$(wc -l < "$out")" -eq 1 -a ! -s "$err" ]
check "bench --json: shape" \
    json "o['prompt'] == 16 and o['gen'] == 8 and o['rounds'] == 2 and o['depth'] == 0 and o['threads'] >= 1 and o['kv'] == 'f16'"
check "bench --json: measured" json "all(o[k] > 0 for k in ('load_ms', 'first_token_ms', 'prefill_tok_s', 'decode_tok_s', 'read_gb_s',
    'decode_gb_s', 'bytes_per_token', 'file_bytes')) and o['prefill_spread_pct'] >= 0 and o['decode_spread_pct'] >= 0"
check "bench --json: the roof" json "(0 < o['roofline_pct'] <= 100 and o['decode_gb_s'] <= o['read_gb_s'] * 100 / o['roofline_pct'] * 1.01 and
    abs(o['decode_gb_s'] - o['decode_tok_s'] * o['bytes_per_token'] * 1e-9) < 0.01)"
check "bench --json: what ran" json "len(o['cpu']) > 0 and len(o['isa']) > 1 and o['peak_rss_bytes'] >= 0"
[ -r /proc/self/status ] && check "bench --json: memory" json "$size < o['peak_rss_bytes'] < 40 * $size"
check "bench --json: checked" json "o['check'] is True and o['check_tokens'] == 16 and o['check_distance'] == 0"
# Weights and keys and values: the mean over the decoded tokens. 2 * 8 bytes less of the one would show in the other.
[ -n "$python" ] && "$llm" info $tiny --json > "$dir/info.json" && "$llm" info $tiny --key llama.attention.head_count_kv > "$dir/heads"
check "bench: bytes of a token" json "(lambda i: (lambda row: abs(o['bytes_per_token'] - i['bytes_per_token'] - 20.5 * row) <= 0.5 * row)(
    i['n_layer'] * i['n_head_kv'] * 2 * i['n_embd'] // i['n_head'] * 2))(json.load(open('$dir/info.json')))"
check "bench --reps, --depth, --isa, --kv" run_as 0 bench $tiny --prompt 8 --gen 4 --reps 1 --depth 32 --isa scalar --kv f32
check "bench: text" grep -q '^decode .* tok/s' "$out"
check "bench: text, the roof" grep -q '^read .* GB/s' "$out"
check "bench: text, the check" grep -q '^check .* tokens' "$out"
check "bench --kv q8_0" run_as 0 bench $tiny --prompt 8 --gen 4 --rounds 1 --depth 100 --kv q8_0 --json
check "bench --kv q8_0: checked" json "o['kv'] == 'q8_0' and o['check'] is True and 0 < o['check_distance'] < 0.05"

# -- a model without a vocabulary
wordless=
for f in tests/data/llama*.gguf ${LLM_FIXTURES:+"$LLM_FIXTURES/archs/llama-dense.gguf"}; do
    [ -z "$wordless" ] && [ -r "$f" ] && "$llm" info "$f" --json 2> /dev/null | grep -q '"text": false' && wordless=$f
done
if [ -n "$wordless" ]; then
    refuses "run without a vocabulary" 1 "run $wordless -p hello"
    refuses "chat without a vocabulary" 1 "chat $wordless"
    check "info without a vocabulary" run_as 0 info "$wordless"
    check "info says why there is no text" grep -q 'no text: .' "$out"
    check "bench without a vocabulary" run_as 0 bench "$wordless" --prompt 4 --gen 2 --rounds 1 --json
    check "bench without a vocabulary: measured" json "o['decode_tok_s'] > 0"
else
    skip "no model without a vocabulary in tests/data or LLM_FIXTURES"
fi

# -- a conversation through a pipe
printf '%s\n' "/temp 0" "$ask" "/save $dir/talk.md" "/save $dir/ask.txt" "/nonsense" "/temp hot" "/more" "/help" \
    "/quit" "never read" > "$dir/talk.txt"
in=$dir/talk.txt
check "chat" run_as 0 chat $tiny -n 40 --seed 1
check "chat: /save" grep -qx '## assistant' "$dir/talk.md"
check "chat: /save has the question" grep -qxF "$ask" "$dir/talk.md"
check "chat: /save keeps other files" grep -qxF "$ask" "$dir/ask.txt"
check "chat: an existing file is refused" said "ask.txt' exists"
check "chat: unknown commands are said" said "no command is called '/nonsense'"
check "chat: a bad temperature is said" said '/temp wants a number'
check "chat: help" said '^/reset'
check "chat: stops at /quit" [ "$(grep -c 'tok/s' "$err")" -ge 1 ]
printf '%s\n' '/temp 0' '/system You tell stories.' "first \\" "second" '"""' "third" "/quit" '"""' \
    "/save $dir/lines.md" '/reset' "/save $dir/none.md" > "$dir/talk.txt"
check "chat: lines" run_as 0 chat $tiny -n 8 --quiet
check "chat: a backslash joins lines" grep -qx 'second' "$dir/lines.md"
check "chat: a block may hold a command's name" grep -qx '/quit' "$dir/lines.md"
check "chat: /system is in the transcript" grep -qxF 'You tell stories.' "$dir/lines.md"
check "chat: /reset forgets" [ "$(grep -c '^## user' "$dir/none.md")" -eq 0 ]
check "chat: --quiet has no timing" [ "$(grep -c 'tok/s' "$err")" -eq 0 ]
printf '%s\n' '"""' '/* a comment' '/quit */' '"""' "/save $dir/slash.md" > "$dir/talk.txt"
check "chat: a block" run_as 0 chat $tiny -n 4
check "chat: a block is never a command" grep -qxF '/* a comment' "$dir/slash.md"
# A question that is refused takes all with it that waited, but not what the conversation begins with.
printf '%s\n' "$(printf 'fox %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)" hi > "$dir/talk.txt"
check "chat: a question too long" run_as 1 chat $tiny --system "You tell stories." -n 2 --ctx 60
check "chat: a question too long: said" said 'the context needs'
kept=$(sed -n 's/.*prefill \([0-9]*\) tokens.*/\1/p' "$err")
printf '%s\n' hi > "$dir/talk.txt"
check "chat: a system message" run_as 0 chat $tiny --system "You tell stories." -n 2 --ctx 60
check "chat: a system message outlives a question that is refused" said "prefill ${kept:-none} tokens"
in=/dev/null
check "chat: an empty input" run_as 0 chat $tiny

# -- a conversation at a terminal
if [ -n "$python" ] && "$python" -c 'import pty' 2> /dev/null; then
    "$python" tests/cli_terminal.py "$llm" $tiny "$dir" > "$dir/terminal.log" 2>&1
    code=$?
    cat "$dir/terminal.log" | grep -v '^ok' || true
    passed=$((passed + $(grep -c '^ok' "$dir/terminal.log"))) failed=$((failed + $(grep -c '^failed' "$dir/terminal.log")))
    check "the terminal script ran through" [ $code -eq 0 ]
elif [ -n "$python" ]; then
    lacks "pseudo terminals: no conversation is held at one"
fi
finish
