# The examples that show how the library fits into a host: each is built as its first lines say, warnings as errors, and runs.
. tests/test.sh
dir=$TEST_SCRATCH/examples
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf
story="Tell me a story about a fox."

# -- cpp.cpp: handles that close themselves, which AddressSanitizer sees at the end
found=
for cxx in ${CXX:-g++ clang++}; do
    has "$cxx" || continue
    found=yes
    warnings="-Wall -Wextra -pedantic -Werror -DLLM_DEBUG"
    check "cpp.cpp, $cxx -std=c++20" $cxx -std=c++20 $warnings -fsyntax-only $CPPFLAGS -I. examples/cpp.cpp
    check "cpp.cpp, $cxx" $cxx -std=c++11 $warnings -O0 -fsanitize=address $CPPFLAGS -I. examples/cpp.cpp -o "$dir/cpp" -pthread
    check "cpp.cpp runs" sh -c "'$dir/cpp' $tiny '$story' > '$dir/cpp.out'"
    check "cpp.cpp tells hello.c's story" sh -c "'$BUILD/hello' $tiny | cmp -s - '$dir/cpp.out'"
    "$dir/cpp" /nonexistent.gguf > "$dir/cpp.out" 2> "$dir/cpp.err"
    check "cpp.cpp: an exception is one sentence and code 1" [ "$? $(wc -l < "$dir/cpp.err") $(wc -c < "$dir/cpp.out")" = "1 1 0" ]
done
[ -n "$found" ] || skip "no C++ compiler is installed"
finish
