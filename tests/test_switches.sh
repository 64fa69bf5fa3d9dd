# The macros that leave parts out, each alone and all together: warning-free, a model that needs what is left out is refused (or loads
# without text) in one sentence that names the macro, and every other model has the same bits as in the whole library.
. tests/test.sh
dir=$TEST_SCRATCH/switches
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf
cc=${CC:-cc}

# What a build says of one model: the error, or whether there is text, and a number for the bits of the logits of eight tokens.
cat > "$dir/say.c" <<'END'
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define LLM_IMPLEMENTATION
#include "llm.h"
static void *get(void *user, size_t bytes, size_t align) {
    void *p = NULL;
    (void)user;
    return posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes) ? NULL : p;
}
static void give(void *user, void *p, size_t bytes) { (void)user; (void)bytes; free(p); }

// A vocabulary without weights is no model: only its text is looked at.
static int say_vocabulary(const void *bytes, size_t n, const llm_allocator *a) {
    llm__gguf_options o = LLM__ZERO;
    llm__heap heap = LLM__ZERO;
    llm__gguf g = LLM__ZERO;
    llm__vocab v = LLM__ZERO;
    llm_token tokens[64];
    size_t count, k;
    int i;
    llm_error e;
    heap.a = *a;
    o.heap = &heap;
    if (llm__gguf_open_memory(&g, bytes, n, &o, &e) != LLM_OK || llm__vocab_load(&v, &heap, &g, &e) != LLM_OK) { puts(e.text); return 1; }
    printf("text %d %s\n", (int)v.status, v.reason);
    for (i = 0; i < 2; i++) {
        llm__str text = llm__str_of(i ? "Stra\303\237e" : "Street 12");
        const llm_result r = llm__tok_encode(&v, &heap, text, 0, NULL, 0, tokens, 64, &count);
        printf("%s %d", i ? "beyond" : "ascii", (int)r);
        for (k = 0; r == LLM_OK && k < count; k++) printf(" %d", (int)tokens[k]);
        puts("");
    }
    return 0;
}
int main(int argc, char **argv) {
    static const llm_token tokens[8] = { 1, 2, 3, 5, 7, 11, 13, 17 };
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    char *bytes = (char *)malloc(1 << 24);
    size_t n = f ? fread(bytes, 1, 1 << 24, f) : 0;
    llm_model_desc desc = LLM__ZERO;
    llm_ctx_desc ctx_desc = LLM__ZERO;
    llm_info info = LLM__ZERO;
    llm_finding found[2];
    llm_stats_info stats = LLM__ZERO;
    llm_plan_info plan = LLM__ZERO;
    llm_error e, bare;
    llm_model *m;
    llm_ctx *c;
    const unsigned char *p;
    unsigned long hash = 2166136261u;
    desc.allocator.alloc_fn = get;
    desc.allocator.free_fn = give;
    if (argc > 2) return say_vocabulary(bytes, n, &desc.allocator);
    llm_unload(llm_load_memory(bytes, n, NULL, &bare));
    m = llm_load_memory(bytes, n, &desc, &e);
    c = llm_open(m, &ctx_desc, &e);
    if (!c) { printf("refused %d %s\n", (int)e.code, e.text); llm_unload(m); return 0; }
    if (llm_plan_memory(bytes, n, &desc, &ctx_desc, &plan, &e) != LLM_OK) { puts(e.text); return 1; }
    printf("plan %d %s\n", (int)plan.verdict, plan.reason);
    llm_model_info(m, &info);
    if (llm_eval(c, tokens, 8) < 0) { puts(llm_last_error(c)->text); return 1; }
    p = (const unsigned char *)llm_logits(c);
    for (n = 0; n < info.n_vocab * sizeof(float); n++) hash = ((hash ^ p[n]) * 16777619u) & 0xffffffffu;
    printf("text %d %s\nlogits %08lx\nfindings %u report %u\n", (int)info.text_status, info.text_reason, hash,
           llm_findings(c, found, 2) > 0 ? 1u : 0u, llm_report(c, NULL, 0) > 0 ? 1u : 0u);
    llm_stats(c, &stats);
    printf("times %u\n", stats.load_ms > 0.0 || stats.prefill_ms > 0.0 || stats.decode_gb_s > 0.0 || stats.roofline_pct > 0.0 ? 1u : 0u);
    printf("without an allocator %d %s\n", (int)bare.code, bare.text);
    llm_close(c);
    llm_unload(m);
    return 0;
}
END

# build NAME MACROS...: every warning that the library is kept free of.
build() {
    name=$1
    shift
    "$cc" -std=c99 -Wall -Wextra -pedantic -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wcast-qual -Werror -O1 $CPPFLAGS -DLLM_QUIET \
        -DLLM_NO_SIMD "$@" -I. "$dir/say.c" -o "$dir/$name" -pthread > "$dir/log" 2>&1 || { head -n 8 "$dir/log"; return 1; }
}
models="$tiny tests/data/llama-dense.gguf tests/data/gemma2-dense.gguf tests/data/qwen3moe-moe.gguf"
if [ -n "$LLM_FIXTURES" ]; then
    models="$models $LLM_FIXTURES/quants/llama-Q4_0.gguf $LLM_FIXTURES/quants/llama-Q4_K_S.gguf $LLM_FIXTURES/quants/llama-IQ4_NL.gguf"
else
    skip "no fixtures: no model of K quants or rarer ones is at hand"
fi
of() { echo "$dir/$1.$(basename "$2" .gguf)"; }
run() { for m in $models; do "$dir/$1" "$m" > "$(of $1 $m)" 2>&1; done; }
bits() { sed -n 's/^logits //p' "$(of $1 $2)"; }

check "whole: builds" build whole
run whole
for m in $models; do check "whole: $m runs" [ -n "$(bits whole $m)" ]; done

# switch MACRO WHERE WHAT...: WHERE is `refuses` or `no text`; WHAT are the models that need it. All others: the same bits, and text as
# before.
switch() {
    macro=$1 where=$2
    shift 2
    check "$macro builds without a warning" build $macro -D$macro || return
    run $macro
    for m in $models; do
        case " $* " in
        *" $(basename $m .gguf) "*)
            case $where in
            refuses) check "$macro refuses $m: $(head -n 1 "$(of $macro $m)")" grep -q "^refused -5 .*$macro" "$(of $macro $m)" ;;
            *) check "$macro: $m has no text: $(head -n 1 "$(of $macro $m)")" \
                   sh -c "grep -q '^text -5 .*$macro' '$(of $macro $m)' && [ '$(bits $macro $m)' = '$(bits whole $m)' ]" ;;
            esac ;;
        *) check "$macro: $m has the same bits" [ "$(bits $macro $m)" = "$(bits whole $m)" ]
           check "$macro: $m has the same text" [ "$(grep '^text' "$(of $macro $m)")" = "$(grep '^text' "$(of whole $m)")" ] ;;
        esac
    done
}
switch LLM_NO_K_QUANTS refuses llama-Q4_K_S
switch LLM_NO_RARE_QUANTS refuses llama-IQ4_NL
switch LLM_NO_EXPERTS refuses qwen3moe-moe
switch LLM_NO_BPE "no text" tiny
switch LLM_NO_SPM "no text"
switch LLM_NO_UNICODE refuses
switch LLM_NO_SPLIT refuses
if has python3; then
    check "a model in two files is made" python3 tests/split_gguf.py $tiny "$dir/split"
    check "LLM_NO_SPLIT refuses it" sh -c "'$dir/LLM_NO_SPLIT' '$dir/split-00001-of-00002.gguf' | grep -q '^refused -5 .*LLM_NO_SPLIT'"
    check "the whole library asks for its second file" sh -c "'$dir/whole' '$dir/split-00001-of-00002.gguf' | grep -q '^refused -1 .*2 shards'"
else
    skip "python3 is not installed: no model in two files"
fi
switch LLM_SMALL refuses
switch LLM_NO_STDLIB refuses
check "LLM_NO_STDLIB: without a clock there are no times" grep -q '^times 0$' "$(of LLM_NO_STDLIB $tiny)"
check "LLM_NO_STDLIB: an allocator is asked for" grep -q '^without an allocator -1 allocator: .*LLM_NO_STDLIB' "$(of LLM_NO_STDLIB $tiny)"
check "the whole library has its own" grep -q '^without an allocator 0 $' "$(of whole $tiny)"
check "the whole library has times" grep -q '^times 1$' "$(of whole $tiny)"
switch LLM_NO_CHAT refuses
switch LLM_NO_DIAGNOSIS refuses
check "LLM_NO_DIAGNOSIS finds and reports nothing" grep -q '^findings 0 report 0$' "$(of LLM_NO_DIAGNOSIS $tiny)"
check "the whole library reports" grep -q ' report 1$' "$(of whole $tiny)"
# Without sentences the code has one; it cannot name the macro.
check "LLM_NO_SENTENCES builds without a warning" build LLM_NO_SENTENCES -DLLM_NO_SENTENCES -DLLM_NO_EXPERTS
run LLM_NO_SENTENCES
check "LLM_NO_SENTENCES: the code's own sentence" \
    sh -c "grep -q '^refused -5 this version of llm.h cannot do that$' '$(of LLM_NO_SENTENCES tests/data/qwen3moe-moe.gguf)'"
check "LLM_NO_SENTENCES: the same bits" [ "$(bits LLM_NO_SENTENCES $tiny)" = "$(bits whole $tiny)" ]
if [ -n "$LLM_FIXTURES" ]; then
    spm=$LLM_FIXTURES/vocab/llama-spm.gguf bpe=$LLM_FIXTURES/vocab/gpt-2.gguf
    check "LLM_NO_SPM names itself" sh -c "'$dir/LLM_NO_SPM' '$spm' vocabulary | grep -q '^text -5 .*LLM_NO_SPM'"
    check "LLM_NO_SPM leaves the other kind alone" sh -c "'$dir/LLM_NO_SPM' '$bpe' vocabulary | grep -q '^text 0 $'"
    check "LLM_NO_BPE names itself" sh -c "'$dir/LLM_NO_BPE' '$bpe' vocabulary | grep -q '^text -5 .*LLM_NO_BPE'"
    check "LLM_NO_BPE leaves the other kind alone" sh -c "'$dir/LLM_NO_BPE' '$spm' vocabulary | grep -q '^text 0 $'"
fi
# Without categories ASCII has the same tokens in every vocabulary, and other text is refused where they would have been needed.
if [ -n "$LLM_FIXTURES" ]; then
    for kind in gpt-2 llama-bpe qwen2 deepseek-llm llama-spm gemma-4; do
        for b in whole LLM_NO_UNICODE; do "$dir/$b" "$LLM_FIXTURES/vocab/$kind.gguf" vocabulary > "$dir/$b.$kind" 2>&1; done
        check "LLM_NO_UNICODE, $kind: the same tokens of ASCII" \
            sh -c "grep -q '^ascii 0 [0-9]' '$dir/whole.$kind' && [ \"\$(grep ^ascii '$dir/whole.$kind')\" = \"\$(grep ^ascii '$dir/LLM_NO_UNICODE.$kind')\" ]"
        case $kind in
        llama-spm | gemma-4) check "LLM_NO_UNICODE, $kind: which has no use for categories" cmp -s "$dir/whole.$kind" "$dir/LLM_NO_UNICODE.$kind" ;;
        *) check "LLM_NO_UNICODE, $kind: other text is refused" grep -q '^beyond -5$' "$dir/LLM_NO_UNICODE.$kind" ;;
        esac
    done
fi
all="-DLLM_SMALL -DLLM_NO_STDLIB -DLLM_NO_K_QUANTS -DLLM_NO_RARE_QUANTS -DLLM_NO_EXPERTS -DLLM_NO_BPE -DLLM_NO_SPM -DLLM_NO_UNICODE -DLLM_NO_SPLIT \
-DLLM_NO_CHAT \
-DLLM_NO_DIAGNOSIS -DLLM_NO_SENTENCES"
check "all of them build without a warning" build all $all
run all
check "all of them: a plan's verdict in words" grep -q '^plan 0 how much is free is not known$' "$(of all $tiny)"
check "the whole library has figures" grep -q '^plan 0 fits: [0-9.]* [kMG]*B in all, [0-9.]* [kMG]*B is free$' "$(of whole $tiny)"
check "all of them: the same bits" [ "$(bits all tests/data/llama-dense.gguf)" = "$(bits whole tests/data/llama-dense.gguf)" ]
for other in clang g++ clang++; do
    has $other || { skip "$other is not installed"; continue; }
    case $other in *++) std="-x c++ -std=c++11" ;; *) std=-std=c99 ;; esac
    check "all of them, $other" \
        $other $std -Wall -Wextra -pedantic -Werror -O1 $CPPFLAGS -DLLM_QUIET $all -I. -c "$dir/say.c" -o "$dir/other.o"
done
# Small kernels against the rules, as the others are.
check "LLM_SMALL: tests/test_vectors.c builds" \
    $cc -std=c99 -Wall -Wextra -pedantic -Wno-unused-function -O1 $CPPFLAGS -DLLM_QUIET -DLLM_SMALL -I. \
    tests/test_vectors.c -o "$dir/vectors" -pthread
check "LLM_SMALL: tests/test_vectors.c: $("$dir/vectors" 2>&1 | tail -n 1)" sh -c "'$dir/vectors' > '$dir/vectors.log' 2>&1"
finish
