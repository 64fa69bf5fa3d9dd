# llm.h: plain `make` and a C compiler suffice.
#
#   make                 build/llm, the command-line program
#   make run             talk to the small built-in model; MODEL=file.gguf talks to a real one
#   make test            every suite, one line each; `make test T=test_gguf` one of them
#   make asan            the same under AddressSanitizer and UndefinedBehaviorSanitizer
#   make bench           speed of MODEL on this machine; BENCH="--threads 2 --json" passes options
#   make check-bits      the same-bits promise over compilers, flags and machines (takes minutes)
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

$(BUILD)/llm: $(wildcard examples/*.[ch]) $(LIBRARY)
	@mkdir -p $(BUILD)
	$(COMPILE) examples/llm.c -o $@ $(LDLIBS)

$(BUILD)/hello: examples/hello.c $(LIBRARY)
	@mkdir -p $(BUILD)
	$(COMPILE) examples/hello.c -o $@ $(LDLIBS)

# A suite holds the whole implementation and uses a part of it.
$(BUILD)/tests/%: tests/%.c $(wildcard tests/*.h) $(LIBRARY)
	@mkdir -p $(BUILD)/tests
	$(COMPILE) -Wno-unused-function $< -o $@ $(LDLIBS)
$(BUILD)/tests/test_sha256: examples/sha256.h

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

check-bits: $(BUILD)/llm
	CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" sh tests/bits.sh

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

clean:
	rm -rf $(BUILD)

.PHONY: all run test asan check-bits bench amalgamate clean
