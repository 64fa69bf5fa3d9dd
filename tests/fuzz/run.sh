#!/bin/sh
# One sitting of one fuzz target. Usage: tests/fuzz/run.sh TARGET SECONDS [SEED]
# The program is build/fuzz/TARGET (make fuzz-build); inputs that reach something new are kept in build/fuzz/work/TARGET, those that fail in
# build/fuzz/found. The log, with executions and CPU time, is build/fuzz/logs/TARGET-SEED.log: tests/fuzz/table.sh adds them up.
# A sitting that is killed leaves no count behind, so long runs are made of many (tests/fuzz/loop.sh).
cd "$(dirname "$0")/../.." || exit 1
target=$1 seconds=$2 seed=${3:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
fuzz=build/fuzz
mkdir -p $fuzz/work/$target $fuzz/found $fuzz/logs
sh tests/fuzz/corpus.sh unpack $target $fuzz/work/$target || exit 1
case $target in
gguf) length=60000 ;;
api | cli) length=2000 ;;
*) length=4000 ;;
esac
log=$fuzz/logs/$target-$seed.log
{
    UBSAN_OPTIONS=print_stacktrace=1 $fuzz/$target $fuzz/work/$target -seed="$seed" -max_total_time="$seconds" -max_len=$length \
        -rss_limit_mb=2048 -malloc_limit_mb=1200 -len_control=0 -timeout=25 -artifact_prefix=$fuzz/found/$target- -print_final_stats=1 -verbosity=1
    echo "exit code $?"
    times
} > $log 2>&1
code=$(sed -n 's/^exit code //p' $log)
[ "$code" = 0 ] || { echo "$target: code $code, see $log"; exit 1; }
