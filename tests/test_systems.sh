# Systems that are not here: macOS, musl, FreeBSD, WASI by Zig, which brings their headers and libraries (pip install ziglang), every warning of
# the strict set an error. musl runs natively, WASI under node; the others are compiled and linked, and nothing more is claimed of them.
# Android: clang makes code for its triple over musl's headers, with the calls that Android 5.0 lacks poisoned; what the object asks for must
# stand in tests/bionic.txt at a level of 21 or below; a library out of it exports what LLM_API says, on pages of 16 KB; and that
# object, linked with musl, tells its story under qemu. It proves calls, names, visibility and alignment; not Android's own headers, nor its linker.
# LONG=1: llm.c for every system, optimised; Zig's aarch64-linux-musl, aarch64-freebsd and aarch64-windows; Android on x86. Zig builds a system's libraries
# at their first use, a minute of CPU for each, and keeps them (~/.cache/zig).
. tests/test.sh
dir=$TEST_SCRATCH/systems
rm -rf "$dir" && mkdir -p "$dir"
tiny=examples/tiny/tiny.gguf
strict="-Wall -Wextra -pedantic -Werror -DLLM_QUIET -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wcast-qual"
python3 -c 'import ziglang' 2> /dev/null || { lacks "Zig (pip install ziglang)"; check "there is nothing to check" true; finish; }

story=$dir/story.txt
check "here: hello.c" sh -c "${CC:-cc} -std=c99 -O0 -DLLM_QUIET -I. examples/hello.c -o '$dir/hello' -pthread && '$dir/hello' $tiny > '$story'"
check "it tells a story" grep -q 'Once upon a time' "$story"

# makes WHAT COMMAND...: holds if the command succeeds without a word.
makes() {
    what=$1
    shift
    begin=$(date +%s)
    if "$@" > "$dir/log" 2>&1 && [ ! -s "$dir/log" ]; then
        echo "$what: $(($(date +%s) - begin)) s"
        passed=$((passed + 1))
        return 0
    fi
    failed=$((failed + 1))
    echo "failed: $what: $*"
    head -n 6 "$dir/log"
    return 1
}
# zig TARGET PROGRAM FLAGS... SOURCE: $dir/PROGRAM. Without Zig's own sanitizer, which takes longer than the rest.
zig() {
    target=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    makes "$target $program" python3 -m ziglang cc -target "$target" -std=c99 $strict -fno-sanitize=undefined -I. "$@" -o "$dir/$program"
}
# same WHAT COMMAND...: holds if the command tells the story that is told here.
same() {
    what=$1
    shift
    "$@" > "$dir/told.txt" 2> "$dir/err"
    code=$?
    check "$what tells the same story: $(head -n 1 "$dir/err")" sh -c "[ $code -eq 0 ] && cmp -s '$dir/told.txt' '$story'"
}
mach_o() { check "$1 is Mach-O for CPU $2" sh -c "od -An -tx1 -N8 '$dir/$1' | tr -d ' \n' | grep -qx 'cffaedfe$2'"; }

# -- Zig. Short: hello.c where one run tells all, llm.c for two of those that cannot run.
zig x86_64-linux-musl musl -O0 examples/hello.c && same musl "$dir/musl" $tiny
zig aarch64-macos mac-arm64 -O0 examples/llm.c && mach_o mac-arm64 0c000001
zig x86_64-macos mac-x64 -O0 examples/hello.c && mach_o mac-x64 07000001
zig x86_64-freebsd freebsd -O0 examples/llm.c && check "and wants FreeBSD's loader" grep -q /libexec/ld-elf.so.1 "$dir/freebsd"
if zig wasm32-wasi wasi.wasm -O0 examples/hello.c; then
    if has node; then
        cat > "$dir/wasi.mjs" <<'END'
import { WASI } from 'wasi';
import { readFileSync } from 'fs';
const [program, model] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['hello', '/' + model], preopens: { '/': '.' }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(readFileSync(program), { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
END
        same "WASI under node" node --no-warnings "$dir/wasi.mjs" "$dir/wasi.wasm" $tiny
    else
        skip "node is not installed: the module for WASI was not run"
    fi
fi
if [ -n "$LONG" ]; then
    for target in x86_64-linux-musl aarch64-linux-musl x86_64-macos aarch64-macos x86_64-freebsd aarch64-freebsd aarch64-windows-gnu; do
        zig $target llm-$target -O2 examples/llm.c
    done
    zig wasm32-wasi simd.wasm -O2 -msimd128 examples/hello.c && has node && same "WASI with SIMD" node --no-warnings "$dir/wasi.mjs" "$dir/simd.wasm" $tiny
    ask="run $tiny -p"
    "$BUILD/llm" $ask "Tell me a story about a fox." > "$story.llm" 2> "$dir/err"
    "$dir/llm-x86_64-linux-musl" $ask "Tell me a story about a fox." > "$dir/told.txt" 2> "$dir/err"
    check "llm.c on musl tells it" cmp -s "$dir/told.txt" "$story.llm"
    if has qemu-aarch64; then
        qemu-aarch64 "$dir/llm-aarch64-linux-musl" $ask "Tell me a story about a fox." > "$dir/told.txt" 2> "$dir/err"
        check "llm.c on musl, ARM64, tells it" cmp -s "$dir/told.txt" "$story.llm"
    fi
fi

# -- Android
has clang || { skip "clang is not installed: nothing about Android"; finish; }
headers=$(python3 -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "lib", "libc", "include"))')
awk -v from=tests/bionic.h 'BEGIN { while ((getline line < from) > 0) print line }
    /^[0-9]/ && $1 > 21 { print "#undef " $2; print "#pragma GCC poison " $2 }' tests/bionic.txt > "$dir/android.h"
echo '#pragma GCC poison POSIX_MADV_WILLNEED POSIX_MADV_RANDOM POSIX_MADV_SEQUENTIAL POSIX_MADV_DONTNEED' >> "$dir/android.h"
printf '#define LLM_IMPLEMENTATION\n#include "llm.h"\n' > "$dir/with.c"
printf 'int main(void) { return posix_madvise(0, 0, 0); }\n' > "$dir/late.c"
printf 'extern int shmget(int, int, int); int llm_late(void); int llm_late(void) { return shmget(0, 0, 0); }\n' > "$dir/unlisted.c"

# android TRIPLE MUSL LINUX FLAGS... SOURCE -o OBJECT: as the NDK compiles for API 21.
android() {
    triple=$1 include="-isystem $headers/$2 -isystem $headers/generic-musl -isystem $headers/$3 -isystem $headers/any-linux-any"
    shift 3
    # shellcheck disable=SC2086
    clang --target=$triple -std=c99 $strict -fPIC -fvisibility=hidden -nostdlibinc $include -include "$dir/android.h" -I. -c "$@"
}
arm64() { android aarch64-linux-android21 aarch64-linux-musl aarch64-linux-any "$@"; }
x64() { android x86_64-linux-android21 x86_64-linux-musl x86-linux-any "$@"; }
x86() { android i686-linux-android21 x86-linux-musl x86-linux-any "$@"; }
arm() { android armv7a-linux-androideabi21 arm-linux-musl arm-linux-any "$@"; }
# What OBJECT asks for and Android 5.0 lacks. Musl's headers have their own name of errno and, with 32 bits, of calls that tell a time;
# __aeabi_, __udivdi3 and the like are the compiler's.
lacking() {
    nm -u "$1" | awk 'NR == FNR { if (/^[0-9]/ && $1 <= 21) has[$2] = 1; next }
        { name = $2 }
        name ~ /^__.*64$/ { sub(/_time64$|64$/, "", name); sub(/^__/, "", name) }
        name !~ /^__errno_location$|^__aeabi_|^__u?(div|mod)di3$|^_GLOBAL_OFFSET_TABLE_$/ && !(name in has) { printf "%s ", $2 }' tests/bionic.txt -
}
for o in -O0 ${LONG:+-O2}; do
    makes "Android, ARM64, $o" arm64 $o '-DLLM_API=extern __attribute__((visibility("default")))' "$dir/with.c" -o "$dir/arm64.o"
    makes "Android, 32-bit ARM, $o" arm $o "$dir/with.c" -o "$dir/arm.o"
    for object in arm64 arm; do
        check "$object.o asks for something" sh -c "nm -u '$dir/$object.o' | grep -q ' pread64$'"
        check "$object.o asks for nothing that Android 5.0 lacks: $(lacking "$dir/$object.o")" [ -z "$(lacking "$dir/$object.o")" ]
    done
done
for object in ${LONG:+x64 x86}; do
    makes "Android, $object, -O2" $object -O2 "$dir/with.c" -o "$dir/$object.o"
    check "$object.o asks for nothing that Android 5.0 lacks: $(lacking "$dir/$object.o")" [ -z "$(lacking "$dir/$object.o")" ]
done
# Both nets hold what they are for.
check "a call of a later Android does not compile" sh -c '! "$@" 2> "$0" && grep -q "poisoned identifier" "$0" && grep -q posix_madvise "$0"' "$dir/err" \
    clang --target=aarch64-linux-android21 -nostdlibinc -isystem "$headers/aarch64-linux-musl" -isystem "$headers/generic-musl" \
    -isystem "$headers/aarch64-linux-any" -isystem "$headers/any-linux-any" -include "$dir/android.h" -fsyntax-only "$dir/late.c"
check "a call that is not in the table compiles" arm64 "$dir/unlisted.c" -o "$dir/unlisted.o"
check "and is found in the object" [ "$(lacking "$dir/unlisted.o")" = "shmget " ]

# A library for pages of 16 KB, linked as the NDK links. Only LLM_API decides what it shows.
library() { python3 -m ziglang ld.lld -shared -z max-page-size=16384 "$dir/$1.o" -o "$dir/lib$1.so"; }
shows() { nm -D --defined-only "$dir/lib$1.so" | awk '{ print $3 }' | sort; }
makes "libarm64.so" library arm64
makes "libarm.so" library arm
grep -oE '^LLM_API .*' llm.h | grep -oE 'llm_[a-z_]+ *\(' | tr -d ' (' | sort > "$dir/api.txt"
shows arm64 > "$dir/shown.txt"
check "with LLM_API it exports the functions of llm.h and nothing else" cmp "$dir/api.txt" "$dir/shown.txt"
check "which are more than forty" [ "$(wc -l < "$dir/api.txt")" -gt 40 ]
check "without, nothing: $(shows arm | head -n 3 | tr '\n' ' ')" [ -z "$(shows arm)" ]
for lib in arm64 arm; do
    readelf -lW "$dir/lib$lib.so" | awk '$1 == "LOAD" { n++; if ($NF != "0x4000") bad++ } END { exit !(n > 1 && !bad) }'
    check "lib$lib.so is laid out for pages of 16 KB" [ $? -eq 0 ]
done
if has x86_64-w64-mingw32-gcc; then
    makes "a DLL" x86_64-w64-mingw32-gcc -std=c99 $strict -O0 -DLLM_DEBUG -I. '-DLLM_API=extern __declspec(dllexport)' -shared "$dir/with.c" -o "$dir/llm.dll"
    x86_64-w64-mingw32-objdump -p "$dir/llm.dll" |
        awk '/Ordinal\/Name Pointer/ { on = 1; next } on && NF == 0 { exit } on { print $NF }' | sort > "$dir/shown.txt"
    check "a DLL with LLM_API likewise" cmp "$dir/api.txt" "$dir/shown.txt"
fi

# The same object in a program, over musl, which has one name for files of any size.
cat > "$dir/names.c" <<'END'
#include <sys/mman.h>
#include <unistd.h>
ssize_t pread64(int fd, void *dst, size_t n, off_t at);
off_t lseek64(int fd, off_t at, int whence);
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from);
ssize_t pread64(int fd, void *dst, size_t n, off_t at) { return pread(fd, dst, n, at); }
off_t lseek64(int fd, off_t at, int whence) { return lseek(fd, at, whence); }
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from) { return mmap(at, n, prot, flags, fd, from); }
END
sed '/LLM_IMPLEMENTATION/d' examples/hello.c > "$dir/main.c"
if has qemu-aarch64; then
    zig aarch64-linux-musl android -D_GNU_SOURCE -Wl,-z,max-page-size=16384 "$dir/main.c" "$dir/names.c" "$dir/arm64.o" &&
        same "Android's object under qemu-aarch64" qemu-aarch64 "$dir/android" $tiny
else
    lacks "qemu-aarch64: Android's object was not run"
fi
finish
