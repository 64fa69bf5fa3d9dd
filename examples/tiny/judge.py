"""Asks the tiny model for 50 stories about words it has never seen and 50 about words it has, and checks each.

    python3 examples/tiny/judge.py                         build/llm, greedy and sampled
    python3 examples/tiny/judge.py --engine numpy          no build needed: this file computes the model itself
    python3 examples/tiny/judge.py --engine llama-cpp      with PyPI's llama-cpp-python, if it is installed

A story passes when it names the thing twice or more, has 40 words or more, starts with a capital letter, stops by the
end token within 200 tokens, ends like a sentence, uses no word that is neither in the corpus nor in the request,
and says no sentence three times.
"""
import argparse
import json
import os
import re
import subprocess
import sys

import numpy as np

from corpus import ANIMALS, HELD_OUT_NAMES, HELD_OUT_NOUNS, NAMES, PEOPLE, THINGS, Stories, a, plural_of

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 200
FRAMES = ["Tell me a story about {}.", "Tell me a story about {}", "a story about {} please", "Write a story about {}.",
    "Can you tell me a story about {}?"]
VARIED = ["Write a story about a robot and a girl named Mira", "Once there was a teapot",
    "Tell me a story about a lighthouse by the sea", "a story about Zorblat please",
          "Tell me a story about a brave little walrus who wants to fly", "story about two penguins",
              "Tell me a story about a knight named Thaddeus and a mermaid",
          "Write a short story about a grumpy toaster", "my cat Oskar", "Tell me a story about friendship"]


class Numpy:
    """The model in 60 lines, from the file's own weights: slow, and independent of every other engine."""

    def __init__(self, path):
        import gguf
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        reader = gguf.GGUFReader(path)
        field = lambda key: reader.fields[key].contents()
        self.w = {t.name: np.asarray(gguf.quants.dequantize(t.data, t.tensor_type), np.float32) for t in reader.tensors}
        self.layers, self.heads = field("llama.block_count"), field("llama.attention.head_count")
        self.eps, self.base = field("llama.attention.layer_norm_rms_epsilon"), field("llama.rope.freq_base")
        tokens = field("tokenizer.ggml.tokens")
        self.eos = field("tokenizer.ggml.eos_token_id")
        merges = [tuple(m.split(" ")) for m in field("tokenizer.ggml.merges")]
        self.tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
        self.tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tok.decoder = decoders.ByteLevel()
        self.tok.add_special_tokens([t for t, kind in zip(tokens, field("tokenizer.ggml.token_type")) if kind == 3])

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name + ".weight"]

    def step(self, ids, past):
        """Logits after ids; past holds (keys, values) per layer and grows."""
        w, n, start = self.w, len(ids), past[0][0].shape[1] if past else 0
        x = w["token_embd.weight"][ids]
        head = x.shape[1] // self.heads
        angle = np.outer(np.arange(start, start + n), self.base ** (-np.arange(0, head, 2) / head)).astype(np.float32)
        cos, sin = np.cos(angle), np.sin(angle)

        def split(y, turn):
            y = y.reshape(n, self.heads, head).transpose(1, 0, 2)
            if turn:
                y = np.stack((y[..., 0::2] * cos - y[..., 1::2] * sin, y[..., 0::2] * sin + y[..., 1::2] * cos), -1).reshape(y.shape)
            return y
        for i in range(self.layers):
            p = f"blk.{i}."
            y = self.norm(x, p + "attn_norm")
            q, k, v = (split(y @ w[f"{p}attn_{m}.weight"].T, m != "v") for m in "qkv")
            if len(past) > i:
                k, v = np.concatenate((past[i][0], k), 1), np.concatenate((past[i][1], v), 1)
                past[i] = (k, v)
            else:
                past.append((k, v))
            s = q @ k.transpose(0, 2, 1) / np.sqrt(head) + np.triu(np.full((n, start + n), -np.inf, np.float32), start + 1)
            s = np.exp(s - s.max(-1, keepdims=True))
            y = (s / s.sum(-1, keepdims=True)) @ v
            x = x + y.transpose(1, 0, 2).reshape(n, -1) @ w[p + "attn_output.weight"].T
            y = self.norm(x, p + "ffn_norm")
            g = y @ w[p + "ffn_gate.weight"].T
            x = x + (g / (1 + np.exp(-g)) * (y @ w[p + "ffn_up.weight"].T)) @ w[p + "ffn_down.weight"].T
        return self.norm(x[-1], "output_norm") @ w["token_embd.weight"].T

    def ask(self, prompt, sampled, seed):
        ids = self.tok.encode(f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n").ids
        rng, past, out = np.random.default_rng(seed), [], []
        logits = self.step(ids, past)
        while len(out) < LIMIT:
            token = pick(logits, rng) if sampled else int(logits.argmax())
            if token == self.eos:
                return self.tok.decode(out), True
            out.append(token)
            logits = self.step([token], past)
        return self.tok.decode(out), False


def pick(logits, rng):
    """Top-p 0.95 and min-p 0.05 on the plain distribution, then temperature 0.7 on what is left."""
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p)
    keep = np.cumsum(p[order]) - p[order] < 0.95
    keep &= p[order] >= 0.05 * p[order[0]]
    order = order[keep]
    w = p[order] ** (1 / 0.7)
    return int(rng.choice(order, p=w / w.sum()))


class LlamaCpp:
    def __init__(self, path):
        import llama_cpp
        self.llama = llama_cpp.Llama(path, n_ctx=512, n_threads=1, verbose=False)

    def ask(self, prompt, sampled, seed):
        choice = self.llama.create_chat_completion(
            [{"role": "user", "content": prompt}], max_tokens=LIMIT, temperature=0.7 if sampled else 0.0, top_p=0.95, min_p=0.05, top_k=0,
            repeat_penalty=1.0, seed=seed)["choices"][0]
        return choice["message"]["content"], choice["finish_reason"] == "stop"


class Command:
    """build/llm run MODEL -p PROMPT --json: the text is in "text", the number of tokens in "tokens"."""

    def __init__(self, path, program):
        self.path, self.program = path, program

    def ask(self, prompt, sampled, seed):
        args = [self.program, "run", self.path, "-p", prompt, "-n", str(LIMIT), "--seed", str(seed), "--json", "--temp",
            "0.7" if sampled else "0"]
        done = subprocess.run(args + ["--top-p", "0.95", "--min-p", "0.05"], capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        return answer["text"], answer["stop"] not in ("limit", "length", "context")


def corpus_words():
    """Every lower-case word that stands in many stories: what a sound sentence may use."""
    stories, count = Stories(99), {}
    for _ in range(10000):
        for role, text in stories.conversation():
            if role == "assistant":
                for word in set(re.findall(r"[a-z]+", text.lower())):
                    count[word] = count.get(word, 0) + 1
    return {word for word, n in count.items() if n >= 5}


def faults(story, ended, thing, prompt, words):
    found = []
    if len(re.findall(r"\b" + re.escape(thing) + r"\b", story, re.I)) < 2:
        found.append("does not name it twice")
    if len(story.split()) < 40:
        found.append("is short")
    if not story[:1].isupper() and story[:1] != '"':
        found.append("starts small")
    if not ended:
        found.append("does not end")
    if not re.search(r'[.!?]"?$', story):
        found.append("ends open")
    sentences = [s.strip() for s in re.split(r'(?<=[.!?])"? ', story)]
    if max(sentences.count(s) for s in sentences) >= 3:
        found.append("repeats itself")
    odd = set(re.findall(r"[a-z]+", story.lower())) - words - set(re.findall(r"[a-z]+", prompt.lower()))
    if odd:
        found.append("odd words: " + " ".join(sorted(odd)))
    return found


def wanted(names):
    """(what to ask about, what has to appear) for one list of nouns and names."""
    return [(w if w[0].isupper() else a(w), w) for w in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=os.path.join(HERE, "tiny.gguf"))
    parser.add_argument("--engine", choices=("command", "numpy", "llama-cpp"), default="command")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "..", "build", "llm"))
    parser.add_argument("--verbose", action="store_true", help="print every story")
    parser.add_argument("--at-least", type=int, default=0, help="exit 1 when fewer of the held-out words pass (of 70)")
    parser.add_argument("--seed", type=int, default=1, help="of the first sampled story; the others count on from it")
    args = parser.parse_args()
    engine = {"numpy": Numpy, "llama-cpp": LlamaCpp, "command": lambda path: Command(path, args.program)}[args.engine](args.model)
    words = corpus_words()
    leaked = [w for w in HELD_OUT_NOUNS + HELD_OUT_NAMES if w.lower() in words or plural_of(w.lower()) in words]
    assert not leaked, leaked
    held = wanted(HELD_OUT_NOUNS + HELD_OUT_NAMES)
    known = wanted(ANIMALS[:20] + THINGS[:10] + PEOPLE["he"][:3] + PEOPLE["she"][:3] + NAMES["he"][:7] + NAMES["she"][:7])
    worst = None
    for sampled in (False, True):
        for label, asked in (("held out", held), ("known", known)):
            passed = 0
            for i, (said, thing) in enumerate(asked):
                prompt = FRAMES[i % len(FRAMES)].format(said)
                story, ended = engine.ask(prompt, sampled, args.seed + i)
                bad = faults(story.strip(), ended, thing, prompt, words)
                passed += not bad
                if bad or args.verbose:
                    print(f"[{prompt}] {'; '.join(bad) or 'ok'}\n    {story}")
            print(f"{label:9} {'sampled' if sampled else 'greedy':8} {passed} of {len(asked)} passed", flush=True)
            if label == "held out":
                worst = passed if worst is None else min(worst, passed)
    for prompt in VARIED if args.verbose else ():
        print(f"[{prompt}]\n    {engine.ask(prompt, False, 1)[0]}")
    return 1 if worst < args.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
