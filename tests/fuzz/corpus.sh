#!/bin/sh
# Corpora are kept as one archive per target. Usage:
#   tests/fuzz/corpus.sh unpack TARGET FOLDER
#   tests/fuzz/corpus.sh pack TARGET FOLDER          the same files give the same archive
cd "$(dirname "$0")/../.." || exit 1
archive=tests/fuzz/corpus/$2.tar.xz
case $1 in
unpack)
    mkdir -p "$3" || exit 1
    tar -xJf $archive -C "$3"
    ;;
pack)
    mkdir -p tests/fuzz/corpus
    tar -C "$3" --sort=name --owner=0 --group=0 --numeric-owner --mode=a=r,u+w --mtime=@0 -cf - . | xz -9e > $archive
    ;;
*) exit 2 ;;
esac
