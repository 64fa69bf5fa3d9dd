#!/bin/sh
# Sitting after sitting over those targets that are built, until it is ended. Usage: tests/fuzz/loop.sh SECONDS TARGET...
cd "$(dirname "$0")/../.." || exit 1
seconds=$1
shift
while :; do
    for target in "$@"; do [ -x build/fuzz/$target ] && sh tests/fuzz/run.sh $target "$seconds"; done
    sleep 1
done
