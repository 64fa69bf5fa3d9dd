#!/bin/sh
# The record of fuzzing. Usage:
#   tests/fuzz/table.sh add       takes the sittings in build/fuzz/logs into tests/fuzz/sittings.tsv, each once
#   tests/fuzz/table.sh           prints the sums as the table of README.md
# A line of the record: target, seed, exit code (not 0: an input failed and ended the sitting), executions, CPU seconds (user), and edges
# and features at its end, as libFuzzer counts them. The CPU time of a sitting that an input ended is not summed: it holds the symbolizer's.
cd "$(dirname "$0")/../.." || exit 1
record=tests/fuzz/sittings.tsv
if [ "$1" = add ]; then
    [ -e $record ] || printf 'target\tseed\tcode\texecutions\tcpu_s\tedges\tfeatures\n' > $record
    for log in build/fuzz/logs/*-*.log; do
        grep -q '^exit code' "$log" || continue                    # still running, or killed
        name=$(basename "$log" .log)
        target=${name%-*} seed=${name##*-}
        grep -q "^$target	$seed	" $record && continue
        awk -v target="$target" -v seed="$seed" '
            function seconds(s) { split(s, p, "m"); sub("s", "", p[2]); return p[1] * 60 + p[2] }
            / cov: [0-9]+ ft: [0-9]+/ { for (i = 1; i < NF; i++) { if ($i == "cov:") cov = $(i + 1); if ($i == "ft:") ft = $(i + 1) } }
            /^stat::number_of_executed_units:/ { runs = $2 }
            /^exit code/ { code = $3; at = NR }
            at && NR == at + 2 { cpu = seconds($1) }
            END { if (runs) printf "%s\t%s\t%s\t%d\t%.1f\t%d\t%d\n", target, seed, code, runs, cpu, cov, ft }' "$log" >> $record
    done
    exit
fi
awk -F '\t' '
    NR == 1 { next }
    { n[$1]++; runs[$1] += $4; cpu[$1] += $3 == 0 ? $5 : 0; seed[$1] = seed[$1] ? seed[$1] : $2; failed[$1] += $3 != 0
      if ($6 > cov[$1]) cov[$1] = $6; if ($7 > ft[$1]) ft[$1] = $7 }
    END {
        print "| target | sittings | ended by a failure | executions | CPU s | first seed | edges | features |\n|---|---|---|---|---|---|---|---|"
        m = split("gguf tokenizer sampler chat cli api", t, " ")
        for (i = 1; i <= m; i++) if (n[t[i]]) {
            printf "| %s | %d | %d | %d | %.0f | %s | %d | %d |\n", t[i], n[t[i]], failed[t[i]], runs[t[i]], cpu[t[i]], seed[t[i]], cov[t[i]], ft[t[i]]
            all_n += n[t[i]]; all_f += failed[t[i]]; all_runs += runs[t[i]]; all_cpu += cpu[t[i]]
        }
        printf "| all | %d | %d | %d | %.0f (%.2f h) | | | |\n", all_n, all_f, all_runs, all_cpu, all_cpu / 3600
    }' $record
