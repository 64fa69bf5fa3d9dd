#!/usr/bin/env python3
"""Speed next to llama.cpp, in one run: the same model file, the same token ids, the same number of threads, taking turns.

    python3 bench/compare.py [MODEL.gguf ...]       (default: the three models that tests/get_models.sh fetches)

Ours is llm.h compiled with plain -O2 into a shared object (no -march; kernels are picked at run time) and called through ctypes. The
peer is the llama-cpp-python package; how it was built is printed. Per round each side evaluates a prompt and then a number of tokens one
by one, both after --depth tokens that are evaluated once; a round of ours is followed by one of the peer with flash attention off and
one with it on, and the order turns with every round. Medians over rounds, ratios from medians; the better of the peer's two settings
counts. The peer gets a long prompt 512 tokens at a time, the most that it computes at once.

With build/llm present it also measures, per model, process start to the first byte of text (median of 10, warm file) and the
program's peak resident memory.
"""
import argparse
import ctypes as C
import json
import os
import platform
import random
import select
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MODELS = ("smollm2", "gemma3-270m", "qwen25-coder")


# ---- ours -------------------------------------------------------------------------------------------------------------------

class Allocator(C.Structure):
    _fields_ = [("user", C.c_void_p), ("alloc_fn", C.c_void_p), ("free_fn", C.c_void_p)]


class Hook(C.Structure):
    _fields_ = [("user", C.c_void_p), ("fn", C.c_void_p)]


class ModelDesc(C.Structure):
    _fields_ = [("allocator", Allocator), ("logger", Hook), ("progress", Hook), ("parallel", Hook), ("clock", Hook),
                ("n_threads", C.c_uint32), ("isa", C.c_int), ("cores", C.c_int), ("mapping", C.c_int),
                ("parts", C.c_void_p), ("n_parts", C.c_uint32), ("force", C.c_uint32), ("cpu_share", C.c_uint32),
                ("host_gb_s", C.c_double)]


class Error(C.Structure):
    _fields_ = [("code", C.c_int), ("text", C.c_char * 252)]


class Sampling(C.Structure):
    _fields_ = [("temperature", C.c_float), ("top_k", C.c_uint32), ("top_p", C.c_float), ("min_p", C.c_float),
                ("typical_p", C.c_float), ("repeat_penalty", C.c_float), ("frequency_penalty", C.c_float),
                ("presence_penalty", C.c_float), ("penalty_window", C.c_uint32), ("seed", C.c_uint64), ("bias", C.c_void_p),
                ("n_bias", C.c_uint32)]


class CtxDesc(C.Structure):
    _fields_ = [("n_ctx", C.c_uint32), ("n_batch", C.c_uint32), ("max_tokens", C.c_uint32), ("kv_type", C.c_int),
                ("sampling", Sampling), ("stop", C.c_void_p), ("n_stop", C.c_uint32), ("chat_template", C.c_char_p),
                ("template_json", C.c_char_p), ("grammar", C.c_char_p), ("json_schema", C.c_char_p), ("trust_content", C.c_uint32)]


class Stats(C.Structure):
    _fields_ = [("struct_bytes", C.c_uint32), ("n_threads_asked", C.c_uint32), ("n_threads", C.c_uint32), ("isa", C.c_int),
                ("mapping", C.c_int), ("kv_type", C.c_int), ("bits_promise", C.c_uint32), ("bits_reason", C.c_char_p),
                ("open_ms", C.c_double), ("parse_ms", C.c_double), ("vocab_ms", C.c_double), ("load_ms", C.c_double),
                ("prefill_ms", C.c_double), ("first_token_ms", C.c_double), ("decode_ms", C.c_double),
                ("prefill_tokens", C.c_uint64), ("decode_tokens", C.c_uint64), ("reused_tokens", C.c_uint64),
                ("reevaluated_tokens", C.c_uint64), ("weight_bytes", C.c_uint64), ("kv_bytes", C.c_uint64),
                ("scratch_bytes", C.c_uint64), ("bytes_per_token", C.c_uint64), ("f16_saturated", C.c_uint64),
                ("for_calls_per_token", C.c_double), ("n_tensors_scalar", C.c_uint32), ("reserved", C.c_uint32),
                ("probe_gb_s", C.c_double), ("decode_gb_s", C.c_double), ("roofline_pct", C.c_double),
                ("pool_spins", C.c_uint64), ("pool_sleeps", C.c_uint64), ("n_allocs", C.c_uint64)]


def build_ours(cc, folder, cppflags):
    source = os.path.join(folder, "llm.c")
    library = os.path.join(folder, "libllm.so")
    with open(source, "w") as f:
        f.write('#define LLM_IMPLEMENTATION\n#include "llm.h"\n')
    command = [cc, "-std=c99", "-O2", "-fPIC", "-shared"] + cppflags + ["-I" + ROOT, source, "-o", library, "-pthread"]
    subprocess.run(command, check=True)
    return library, " ".join(command[:5])


class Ours:
    name = "llm.h"

    def __init__(self, library, path, threads, n_ctx, isa):
        self.lib = lib = C.CDLL(library)
        for name, result, arguments in (
                ("llm_load", C.c_void_p, [C.c_char_p, C.POINTER(ModelDesc), C.POINTER(Error)]),
                ("llm_open", C.c_void_p, [C.c_void_p, C.POINTER(CtxDesc), C.POINTER(Error)]),
                ("llm_close", None, [C.c_void_p]), ("llm_unload", None, [C.c_void_p]),
                ("llm_eval", C.c_int, [C.c_void_p, C.c_void_p, C.c_size_t]),
                ("llm_rewind", C.c_int, [C.c_void_p, C.c_size_t]),
                ("llm_stats", None, [C.c_void_p, C.POINTER(Stats)]),
                ("llm_isa_name", C.c_char_p, [C.c_int]), ("llm_version", C.c_uint32, [])):
            f = getattr(lib, name)
            f.restype, f.argtypes = result, arguments
        error, model, ctx = Error(), ModelDesc(), CtxDesc()
        model.n_threads = threads
        if isa:
            named = [i for i in range(80) if lib.llm_isa_name(i).decode().lower() == isa.lower()]
            if not named:
                raise RuntimeError("no instruction set is called " + isa)
            model.isa = named[0]
        ctx.n_ctx = n_ctx
        self.model = lib.llm_load(path.encode(), C.byref(model), C.byref(error))
        self.ctx = lib.llm_open(self.model, C.byref(ctx), C.byref(error))
        if not self.ctx:
            raise RuntimeError(error.text.decode())

    def describe(self):
        s = self.stats()
        v = self.lib.llm_version()
        return "llm.h %d.%d.%d, %s, %d threads, bits_promise %d" % (
            v >> 16, v >> 8 & 255, v & 255, self.lib.llm_isa_name(s.isa).decode(), s.n_threads, s.bits_promise)

    def stats(self):
        s = Stats()
        self.lib.llm_stats(self.ctx, C.byref(s))
        return s

    def deepen(self, tokens):
        self.depth = len(tokens)
        if tokens and self.lib.llm_eval(self.ctx, (C.c_int32 * len(tokens))(*tokens), len(tokens)):
            raise RuntimeError("llm_eval fails at depth")

    def round(self, prompt, rest):
        """Seconds for the prompt in one call, and for the others one by one."""
        first = (C.c_int32 * len(prompt))(*prompt)
        others = [(C.c_int32 * 1)(t) for t in rest]
        evaluate, ctx = self.lib.llm_eval, self.ctx
        self.lib.llm_rewind(ctx, self.depth)
        t0 = time.perf_counter()
        r = evaluate(ctx, first, len(prompt))
        t1 = time.perf_counter()
        for t in others:
            r = r or evaluate(ctx, t, 1)
        t2 = time.perf_counter()
        if r:
            raise RuntimeError("llm_eval gave %d" % r)
        return t1 - t0, t2 - t1

    def close(self):
        self.lib.llm_close(self.ctx)
        self.lib.llm_unload(self.model)


# ---- the peer ---------------------------------------------------------------------------------------------------------------

class Peer:
    def __init__(self, llama, model, flash, threads, n_ctx):
        self.llama = llama
        self.name = "llama.cpp fa %d" % flash
        p = llama.llama_context_default_params()
        p.n_ctx, p.n_batch, p.n_ubatch = n_ctx, 512, 512
        p.n_threads = p.n_threads_batch = threads
        if hasattr(p, "flash_attn_type"):
            p.flash_attn_type = flash
        else:
            p.flash_attn = bool(flash)
        p.no_perf = True
        self.ctx = llama.llama_init_from_model(model, p)
        if not self.ctx:
            raise RuntimeError("llama.cpp opens no context")

    def clear(self):
        """Forgets what lies behind the depth."""
        llama, ctx = self.llama, self.ctx
        llama.llama_memory_seq_rm(llama.llama_get_memory(ctx), 0, self.depth, -1)

    def batches(self, tokens):
        pieces = [tokens[i:i + 512] for i in range(0, len(tokens), 512)]
        return [((self.llama.llama_token * len(p))(*p), len(p)) for p in pieces]

    def evaluate(self, batches):
        r = 0
        for tokens, n in batches:
            r = r or self.llama.llama_decode(self.ctx, self.llama.llama_batch_get_one(tokens, n))
        self.llama.llama_get_logits(self.ctx)                # waits for the result, as a caller would
        return r

    def deepen(self, tokens):
        self.depth = len(tokens)
        if tokens and self.evaluate(self.batches(tokens)):
            raise RuntimeError("llama_decode fails at depth")

    def round(self, prompt, rest):
        llama, ctx = self.llama, self.ctx
        first = self.batches(prompt)
        others = [(llama.llama_token * 1)(t) for t in rest]
        self.clear()
        t0 = time.perf_counter()
        r = self.evaluate(first)
        t1 = time.perf_counter()
        for t in others:
            r = r or llama.llama_decode(ctx, llama.llama_batch_get_one(t, 1))
            llama.llama_get_logits(ctx)
        t2 = time.perf_counter()
        if r:
            raise RuntimeError("llama_decode gave %d" % r)
        return t1 - t0, t2 - t1

    def close(self):
        self.llama.llama_free(self.ctx)


def load_peer(llama, path):
    p = llama.llama_model_default_params()
    p.n_gpu_layers = 0
    load = getattr(llama, "llama_model_load_from_file", None) or llama.llama_load_model_from_file
    model = load(path.encode(), p)
    if not model:
        raise RuntimeError("llama.cpp does not load " + path)
    return model


# ---- measuring --------------------------------------------------------------------------------------------------------------

def compare(path, options, library, llama):
    n_ctx = options.depth + options.prompt + options.gen
    ours = Ours(library, path, options.threads, n_ctx, options.isa)
    sides = [ours]
    model = None
    if llama:
        model = load_peer(llama, path)
        sides += [Peer(llama, model, flash, options.threads, max(512, n_ctx)) for flash in (0, 1)]
    rng = random.Random(1)
    before = [rng.randrange(100, 20000) for _ in range(options.depth)]
    for side in sides:
        side.deepen(before)
    prompt = [rng.randrange(100, 20000) for _ in range(options.prompt)]
    rest = [rng.randrange(100, 20000) for _ in range(options.gen)]
    times = {side.name: [] for side in sides}
    for k in range(options.rounds + 1):                      # round 0 warms caches, pages and scratch, and is not counted
        order = sides[k % len(sides):] + sides[:k % len(sides)]
        for side in order:
            time.sleep(0.05)                                 # OpenMP workers of the peer spin for a while after their last task
            t = side.round(prompt, rest)
            if k:
                times[side.name].append(t)
    result = {"model": os.path.basename(path), "described": ours.describe()}
    s = ours.stats()
    result["kv_bytes"], result["scratch_bytes"] = s.kv_bytes, s.scratch_bytes
    for name, values in times.items():
        pick = min if options.best else statistics.median
        result[name] = {"prefill_tok_s": options.prompt / pick([v[0] for v in values]),
                        "decode_tok_s": options.gen / pick([v[1] for v in values]),
                        "prefill_s": [round(v[0], 4) for v in values], "decode_s": [round(v[1], 4) for v in values]}
    for side in sides:
        side.close()
    if llama:
        llama.llama_model_free(model) if hasattr(llama, "llama_model_free") else llama.llama_free_model(model)
        for what in ("prefill_tok_s", "decode_tok_s"):
            best = max(result[n][what] for n in times if n != "llm.h")
            result["peer_" + what] = best
            result["ratio_" + what] = result["llm.h"][what] / best
    return result


def high_water(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def start_up(program, path, prompt, threads, n):
    """One run of the program: seconds from its start to the first byte of text, and the most memory it was ever seen with."""
    t0 = time.perf_counter()
    p = subprocess.Popen([program, "run", path, "--raw", "-p", prompt, "-n", str(n), "--threads", str(threads)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    fd, first, peak = p.stdout.fileno(), None, 0
    while True:
        ready, _, _ = select.select([fd], [], [], 0.001)
        if ready:
            data = os.read(fd, 65536)
            if data and first is None:
                first = time.perf_counter() - t0
            if not data:
                break
        peak = max(peak, high_water(p.pid))
    if p.wait() != 0 or first is None:
        raise RuntimeError("%s run %s: code %d" % (program, path, p.returncode))
    return first, peak


def first_prompt(name):
    fixtures = os.environ.get("LLM_FIXTURES") or os.path.join(ROOT, "..", "shared", "fixtures")
    try:
        with open(os.path.join(fixtures, "real", name + ".exact.json")) as f:
            return json.load(f)[0]["prompt"]
    except (OSError, ValueError):
        return "Name three animals that live in the sea."


def cpu_name():
    name, flags = platform.processor() or platform.machine(), set()
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    name = line.split(":", 1)[1].strip()
                if line.startswith("flags"):
                    flags = set(line.split(":", 1)[1].split())
                    break
    except OSError:
        pass
    seen = [f for f in ("avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni") if f in flags]
    return "%s (%s), %d CPUs for this process" % (name, " ".join(seen) or platform.machine(), len(os.sched_getaffinity(0)))


def first_line(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        return command[0] + ": ?"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("models", nargs="*", help="GGUF files")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--prompt", type=int, default=128, help="tokens evaluated in one call")
    a.add_argument("--gen", type=int, default=64, help="tokens evaluated one by one")
    a.add_argument("--depth", type=int, default=0, help="tokens evaluated before both")
    a.add_argument("--isa", help="ours with this instruction set, as llm_isa_name calls it: AVX2")
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--best", action="store_true", help="the fastest round instead of the median: for a machine that is not quiet")
    a.add_argument("--starts", type=int, default=10, help="runs of the program for the start-up time; 0 leaves it out")
    a.add_argument("--cc", default=os.environ.get("CC", "cc"))
    a.add_argument("--program", default=os.path.join(ROOT, "build", "llm"))
    a.add_argument("--alone", action="store_true", help="without the peer")
    a.add_argument("--out", help="write the table to this file as well")
    a.add_argument("--json", help="write every single time to this file")
    options = a.parse_args()
    folder = os.environ.get("LLM_MODELS") or os.path.join(ROOT, "tests", "models")
    paths = options.models or [p for p in (os.path.join(folder, m + ".gguf") for m in MODELS) if os.path.exists(p)]
    if not paths:
        a.error("no models: tests/get_models.sh fetches three")

    llama = None
    if not options.alone:
        import llama_cpp as llama                            # pip install llama-cpp-python
        silent = llama.llama_log_callback(lambda level, text, user: None)
        llama.llama_log_set(silent, C.c_void_p(0))
        llama.llama_backend_init()
    lines = []

    def say(text=""):
        print(text, flush=True)
        lines.append(text)

    with tempfile.TemporaryDirectory() as scratch:
        cppflags = os.environ.get("CPPFLAGS", "").split()
        library, command = build_ours(options.cc, scratch, cppflags)
        say("CPU: " + cpu_name())
        say("ours: `%s`, %s" % (command, first_line([options.cc, "--version"])))
        if llama:
            say("peer: llama-cpp-python %s, %s" % (llama.__version__, llama.llama_print_system_info().decode().strip().rstrip("|").strip()))
        say("%d threads, after %d tokens a prompt of %d, then %d tokens one by one, %s of %d alternating rounds; load average %.1f"
            % (options.threads, options.depth, options.prompt, options.gen, "fastest" if options.best else "medians", options.rounds, os.getloadavg()[0]))
        say("command: `python3 bench/compare.py %s`" % " ".join(sys.argv[1:]))
        say()
        say("| model | prefill tok/s | llama.cpp | ratio | decode tok/s | llama.cpp | ratio |")
        say("|---|---|---|---|---|---|---|")
        results = []
        for path in paths:
            r = compare(path, options, library, llama)
            results.append(r)
            row = [r["model"]]
            for what in ("prefill_tok_s", "decode_tok_s"):
                row += ["%.1f" % r["llm.h"][what]] + (["%.1f" % r["peer_" + what], "%.2f" % r["ratio_" + what]] if llama else ["-", "-"])
            say("| " + " | ".join(row) + " |")
        say()
        say(results[-1]["described"])
        if llama:
            say("llama.cpp is the better of flash attention off and on, for prefill and for decode separately.")

    if options.starts and os.path.exists(options.program):
        say()
        say("| model | start to first byte of text, s | peak resident, MB | file, MB | KV + scratch, MB | peak - 1.05 file - KV - scratch, MB |")
        say("|---|---|---|---|---|---|")
        for path, r in zip(paths, results):
            name = os.path.basename(path).rsplit(".", 1)[0]
            prompt = first_prompt(name)
            runs = [start_up(options.program, path, prompt, options.threads, 16) for _ in range(options.starts + 1)][1:]
            size = os.path.getsize(path)
            extra = r["kv_bytes"] + r["scratch_bytes"]
            peak = max(p for _, p in runs)
            r["first_byte_s"] = statistics.median(t for t, _ in runs)
            r["peak_bytes"] = peak
            say("| %s | %.3f | %.1f | %.1f | %.1f | %.1f |" % (r["model"], r["first_byte_s"], peak / 1e6, size / 1e6, extra / 1e6,
                                                           (peak - 1.05 * size - extra) / 1e6))
    if options.out:
        with open(options.out, "w") as f:
            f.write("\n".join(lines) + "\n")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
