# llm.h: plain `make` and a C compiler suffice.
#
#   make                 build/llm, the command-line program
#   make run             talk to the small built-in model; MODEL=file.gguf talks to a real one
#   make test            every suite, one line each; `make test T=test_gguf` one of them
#   make asan            the same under AddressSanitizer and UndefinedBehaviorSanitizer
#   make tsan            suites that start threads under ThreadSanitizer
#   make bench           speed of MODEL on this machine; BENCH="--threads 2 --json" passes options
#   make check-bits      the same-bits promise over compilers, flags and machines (takes minutes)
#   make check-all       the long form of everything, with one table at the end (takes hours)
#   make coverage        which lines of llm_impl.h the suites reach (takes half an hour)
#   make web             the page of examples/web, with emscripten
#   make board-m4f       a story on a board without a system, played by QEMU; also m4, m33, m55, rv32, rv64
#   make amalgamate      build/single/llm.h, the library as one file
#   make clean
#
# CC, CFLAGS, CPPFLAGS and LDLIBS may be set as usual. No -march and no -lm: kernels are picked at run time, mathematics is inside.

CC      = cc
CFLAGS  = -O2
STD     = -std=c99
WARN    = -Wall -Wextra -pedantic
LDLIBS  = -pthread
BUILD   = build
MODEL   = examples/tiny/tiny.gguf
BENCH   =
PROMPT  = Tell me a story about a fox.

COMPILE = $(CC) $(STD) $(WARN) $(CFLAGS) $(CPPFLAGS) -I. $(LDFLAGS)
LIBRARY = $(wildcard llm.h llm_impl.h)
SUITES  = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))

all: $(BUILD)/llm

$(BUILD)/llm: $(wildcard examples/llm.c examples/*.h) $(LIBRARY)
	@mkdir -p $(BUILD)
	$(COMPILE) examples/llm.c -o $@ $(LDLIBS)

$(BUILD)/hello: examples/hello.c $(LIBRARY)
	@mkdir -p $(BUILD)
	$(COMPILE) examples/hello.c -o $@ $(LDLIBS)

# A suite holds the whole implementation and uses a part of it.
$(BUILD)/tests/%: tests/%.c $(wildcard tests/*.h) $(LIBRARY)
	@mkdir -p $(BUILD)/tests
	$(COMPILE) -Wno-unused-function $< -o $@ $(LDLIBS)

# Without a terminal there is no conversation to hold: it still answers.
run: $(BUILD)/llm
	@if [ -t 0 ]; then $(BUILD)/llm chat "$(MODEL)"; else $(BUILD)/llm run "$(MODEL)" -p "$(PROMPT)"; fi

ifdef T
test: $(BUILD)/llm $(BUILD)/hello $(filter $(addprefix $(BUILD)/tests/,$(notdir $(basename $(T)))),$(SUITES))
	@CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" sh tests/run $(BUILD) $(notdir $(basename $(T)))
else
test: $(BUILD)/llm $(BUILD)/hello $(SUITES)
	@CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" sh tests/run $(BUILD)
endif

# The suites in C and the program. Without the real models: sanitized they take long and reach no line that the fixtures do not.
# -O0, because GCC takes a minute for each suite at -O1 and five seconds here, and the suites run only four times slower.
asan:
	@ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(MAKE) test T="$(or $(T),$(filter-out test_real,$(notdir $(SUITES))) test_cli test_compare)" BUILD=$(BUILD)/asan \
	    CFLAGS="-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all"

# Suites that start threads, under ThreadSanitizer.
TSAN_SUITES = $(or $(T),test_threads test_pool)
tsan:
	@$(MAKE) BUILD=$(BUILD)/tsan CFLAGS="-O1 -g -fsanitize=thread" $(addprefix $(BUILD)/tsan/tests/,$(TSAN_SUITES))
	@TSAN_OPTIONS=halt_on_error=1 sh tests/run $(BUILD)/tsan $(TSAN_SUITES)
.PHONY: tsan

check-bits: $(BUILD)/llm
	CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" sh tests/bits.sh $(SET)

check-all:
	LONG=1 sh .ci/run

coverage:
	sh tests/coverage.sh

bench: $(BUILD)/llm
	$(BUILD)/llm bench "$(MODEL)" $(BENCH)

# make fuzz: SECONDS of fuzzing for each target of FUZZ, by clang's libFuzzer. make fuzz-short: the committed inputs, and a bug planted for
# each target, with any compiler. tests/fuzz/README.md tells what is fuzzed and what was found.
FUZZ       = gguf tokenizer sampler chat cli api
SECONDS    = 600
FUZZ_FLAGS = -std=c99 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wno-unused-function -DLLM_QUIET

fuzz: fuzz-build
	@for t in $(FUZZ); do sh tests/fuzz/run.sh $$t $(SECONDS) || exit 1; done
	@sh tests/fuzz/table.sh add && sh tests/fuzz/table.sh

fuzz-build: $(addprefix build/fuzz/,$(FUZZ))

build/fuzz/%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h tests/*.h examples/*.[ch]) $(LIBRARY)
	@mkdir -p build/fuzz
	clang $(FUZZ_FLAGS) -I. -Itests $< -o $@.part -pthread
	@mv $@.part $@

fuzz-short:
	@CC="$(CC)" sh tests/fuzz/short.sh

.PHONY: fuzz fuzz-build fuzz-short

amalgamate: $(BUILD)/single/llm.h

$(BUILD)/single/llm.h: tools/amalgamate.sh $(LIBRARY)
	@mkdir -p $(BUILD)/single
	sh tools/amalgamate.sh llm.h llm_impl.h > $@.part
	@mv $@.part $@
	@echo "wrote $@"

# The page of examples/web, from a module and plain files: `make web && python3 -m http.server -d build/web`. Debian's emscripten has its
# parser where only Debian's node looks.
EMCC    = NODE_PATH=$${NODE_PATH:-/usr/share/nodejs} emcc
WASM    = -msimd128 -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=1MB \
          -sERROR_ON_UNDEFINED_SYMBOLS=0 -sWARN_ON_UNDEFINED_SYMBOLS=0        # the page has them
PAGE    = $(addprefix $(BUILD)/web/,index.html icon.svg page.css page.js worker.js tiny.gguf llm.wasm)
web: $(PAGE)
	@echo "python3 -m http.server -d $(BUILD)/web"
$(BUILD)/web/%: examples/web/%
	@mkdir -p $(BUILD)/web
	cp $< $@
$(BUILD)/web/%: examples/tiny/%
	@mkdir -p $(BUILD)/web
	cp $< $@
$(BUILD)/web/llm.wasm: examples/web/web.c $(LIBRARY)
	@mkdir -p $(BUILD)/web
	$(EMCC) $(STD) $(WARN) $(CFLAGS) $(WASM) -I. $< -o $@
.PHONY: web

# Without an operating system: board-m4f, board-m4, board-m33, board-m55, board-rv32, board-rv64 on QEMU, board-desktop here.
board-%:
	@$(MAKE) --no-print-directory -C examples/board run-$* OUT="$(abspath $(BUILD))/board"

clean:
	rm -rf $(BUILD)

.PHONY: all run test asan check-bits check-all coverage bench amalgamate clean
