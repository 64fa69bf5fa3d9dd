# WebAssembly: suites compiled by emscripten and run by node, in 32 bits and with SIMD128 kernels; and the page of examples/web, built by
# `make web` and used in a headless Chromium, which must tell the story that the desktop tells. A picture of it is BUILD/web/screenshot.png.
. tests/test.sh
program web
has emcc || { lacks "no emscripten (emcc)"; finish; }
has node || { lacks "no node"; finish; }

# compile NAME SOURCE FLAGS...: a program for node, which reads files where they are. Node 18 and later have a fetch that emscripten 3
# takes for a browser's.
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
compile() {
    name=$1 source=$2
    shift 2
    emcc -std=c99 -Wall -Wextra -pedantic -Werror -Wno-unused-function -Itests -I. "$@" "$source" -o "$dir/$name.js" \
        -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH=1 -sTOTAL_STACK=2MB -sEXIT_RUNTIME=1 > "$dir/$name.build.log" 2>&1 ||
        { head -n 20 "$dir/$name.build.log"; return 1; }
}
node_runs() { program=$1; shift; node --no-experimental-fetch "$dir/$program.js" "$@" > "$dir/$program.log" 2>&1; }
suite() { compile "$1" "tests/$1.c" -O1 -msimd128 && node_runs "$1" || { tail -n 5 "$dir/$1.log"; return 1; }; }
same_hashes() {
    node_runs test_bits --hashes --isa "$1" && grep -qx "isa $1" "$dir/test_bits.log" && grep -qx 'bits_promise 1' "$dir/test_bits.log" &&
        grep -E '^[0-9a-f]{64}  ' "$dir/test_bits.log" | cmp -s - tests/bits.sha256
}

check "kernels: SIMD128 has the bits of the cards, for every stored type" suite test_kernels
check "vectors: SIMD128 has the bits of one lane at a time, with one rounding in a fused multiply-add" suite test_vectors
check "files: whole or broken, in 32 bits, read beyond 4 GB too" suite test_gguf
check "test_bits builds" compile test_bits tests/test_bits.c -O1 -msimd128
check "whole models: the hashes of tests/bits.sha256, with SIMD128" same_hashes "WASM SIMD128"
check "and with scalar kernels" same_hashes scalar

# The page.
QUESTION='Tell me a story about a lighthouse.' SEED=7
export QUESTION SEED
web=$BUILD/web
rm -f "$web/screenshot.png" "$web/screenshot-phone.png"
check "make web" make -s web BUILD="$BUILD" > "$dir/web.build.log" 2>&1
check "a file that is gone while it is read: a sentence, and the next one opens" node --no-experimental-fetch tests/web_reader.js "$web"
for chromium in ${CHROMIUM:-} chromium chromium-browser google-chrome; do has "$chromium" && break; chromium=; done
[ -n "$chromium" ] || { lacks "no Chromium"; finish; }
CHROMIUM=$chromium
export CHROMIUM
check "the desktop tells the story" run_as 0 run "$tiny" -p "$QUESTION" --seed $SEED --quiet
cp "$out" "$dir/story.txt"
cp "$tiny" "$dir/mine.gguf"
head -c 1000000 "$tiny" > "$dir/broken.gguf"
node tests/web_page.js "$web" "$web/screenshot.png" "$dir/story.txt" "$dir/mine.gguf" "$dir/broken.gguf" > "$dir/page.log" 2>&1
check "the page is used to the end" [ $? -eq 0 ]
grep -v '^ok' "$dir/page.log"
while read -r word rest; do
    case $word in ok) check "$rest" true ;; failed:) check "$rest" false ;; esac
done < "$dir/page.log"
check "twelve things and more were tried on it" [ "$(grep -c '^ok' "$dir/page.log")" -ge 12 ]
check "the pictures are there" [ -s "$web/screenshot.png" -a -s "$web/screenshot-phone.png" ]
finish
