"""Trains the tiny storyteller and writes tiny.gguf.

    pip install torch tokenizers gguf numpy
    python3 examples/tiny/train.py

A llama of 1.3 million weights: vocabulary 1024, width 128, 6 layers, 4 heads. Everything is seeded.
"""
import argparse
import json
import os
import random
import time

import gguf
import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus import Stories

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB, WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT = 1024, 128, 6, 4, 352, 512
HEAD = WIDTH // HEADS
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


# -- vocabulary

def train_tokenizer(seed):
    """Byte-level BPE with the GPT-2 split; all 256 bytes are tokens, so any text encodes."""
    stories = Stories(seed)
    texts = (text for _ in range(6000) for _, text in stories.conversation())
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    return tok


def pieces_of(tok):
    """The vocabulary's lower-case pieces: words made of them teach the copying of any sequence of tokens."""
    plain = [t.lstrip("\u0120") for t in tok.get_vocab()]
    return sorted({p for p in plain if p.isascii() and p.isalpha() and p.islower() and 1 < len(p) < 8})


def encode(tok, turns):
    """Token ids of a conversation in ChatML, and for each of them whether the model is to learn to say it."""
    im_start, im_end = tok.token_to_id("<|im_start|>"), tok.token_to_id("<|im_end|>")
    ids, said = [], []
    for role, text in turns:
        head = [im_start] + tok.encode(role + "\n").ids
        body, tail = tok.encode(text).ids + [im_end], tok.encode("\n").ids
        ids += head + body + tail
        said += [False] * len(head) + [role == "assistant"] * len(body) + [False] * len(tail)
    return ids[:CONTEXT], said[:CONTEXT]


# -- model

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda rows, cols: torch.nn.Linear(cols, rows, bias=False)
        self.attn_norm, self.ffn_norm = torch.nn.RMSNorm(WIDTH, eps=1e-5), torch.nn.RMSNorm(WIDTH, eps=1e-5)
        self.attn_q, self.attn_k, self.attn_v, self.attn_output = (linear(WIDTH, WIDTH) for _ in range(4))
        self.ffn_gate, self.ffn_up, self.ffn_down = linear(HIDDEN, WIDTH), linear(HIDDEN, WIDTH), linear(WIDTH, HIDDEN)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        y = self.attn_norm(x)
        q, k, v = (w(y).view(b, t, HEADS, HEAD).transpose(1, 2) for w in (self.attn_q, self.attn_k, self.attn_v))
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        x = x + self.attn_output(y.transpose(1, 2).reshape(b, t, WIDTH))
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


def rotate(x, cos, sin):
    """Rotary positions on neighbouring pairs (2i, 2i+1), as GGUF's llama has them."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embd = torch.nn.Embedding(VOCAB, WIDTH)
        self.blk = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.output_norm = torch.nn.RMSNorm(WIDTH, eps=1e-5)
        angle = torch.outer(torch.arange(CONTEXT).float(), 10000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                scale = 0.02 if "embd" in name else 0.5 * p.shape[1] ** -0.5
                torch.nn.init.normal_(p, std=scale / (2 * LAYERS) ** 0.5 if name.endswith(("output.weight", "down.weight")) else scale)

    def forward(self, ids):
        x = self.token_embd(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin)
        return self.output_norm(x)


# -- training

def batches(tok, seed, steps, tokens_per_step):
    """Batches of conversations of like length, made as they are needed."""
    stories, rng = Stories(seed, pieces_of(tok)), random.Random(seed)
    done = 0
    while done < steps:
        pool = sorted((encode(tok, stories.conversation()) for _ in range(2000)), key=lambda c: len(c[0]))
        groups, group = [], []
        for c in pool:
            if group and len(c[0]) * (len(group) + 1) > tokens_per_step:
                groups.append(group)
                group = []
            group.append(c)
        rng.shuffle(groups)
        for g in groups[: steps - done]:
            longest = max(len(c[0]) for c in g)
            ids, said = torch.zeros(len(g), longest, dtype=torch.long), torch.zeros(len(g), longest, dtype=torch.bool)
            for i, (a, b) in enumerate(g):
                ids[i, : len(a)], said[i, : len(b)] = torch.tensor(a), torch.tensor(b)
            yield ids, said
        done += len(groups)


def loss_of(model, ids, said):
    """Cross entropy over what the assistant says; the rest of the text is only read."""
    keep = said[:, 1:]
    x = model(ids[:, :-1])[keep]
    return F.cross_entropy(x @ model.token_embd.weight.T, ids[:, 1:][keep])


def train(tok, args):
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    model = Llama()
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embd" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() != 2 or "embd" in n]
    optimizers = [torch.optim.Muon(matrices, lr=0.015, momentum=0.95, weight_decay=0.01),
                  torch.optim.AdamW(others, lr=2.5e-3, betas=(0.9, 0.98), weight_decay=0.0)]
    peak = [o.param_groups[0]["lr"] for o in optimizers]
    first, mean = 0, None
    if args.resume:
        saved = torch.load(args.out + ".pt")
        model.load_state_dict(saved["model"])
        for o, state in zip(optimizers, saved["optimizers"]):
            o.load_state_dict(state)
        first = saved["step"]
    start, seen = time.time(), 0
    for step, (ids, said) in enumerate(batches(tok, args.seed + 1, args.steps, args.batch)):
        if step < first:
            continue
        # warm up, stay, and go down to zero over the last 40 %
        rate = min(1.0, (step + 1) / 100, (args.steps - step) / (args.steps * 0.4))
        for o, top in zip(optimizers, peak):
            o.param_groups[0]["lr"] = top * rate
        loss = loss_of(model, ids, said)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for o in optimizers:
            o.step()
            o.zero_grad(set_to_none=True)
        seen += ids.numel()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 49 or step == args.steps - 1:
            print(f"step {step + 1}/{args.steps}  loss {mean:.4f}  {seen / 1e6:.2f} M tokens  {seen / (time.time() - start):.0f} tokens/s  "
                  f"{time.time() - start:.0f} s", flush=True)
        if step % 100 == 99:
            torch.save({"model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers],
                "step": step + 1}, args.out + ".pt")
    return model


# -- GGUF

def write_gguf(path, model, tok):
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("Tiny Storyteller")
    w.add_license("MIT")
    w.add_description("A very small model that tells short stories about whatever it is asked for")
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(HEAD)
    w.add_rope_freq_base(10000.0)
    w.add_vocab_size(VOCAB)
    w.add_quantization_version(2)
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    bpe = json.loads(tok.to_str())["model"]
    tokens = [t for t, _ in sorted(bpe["vocab"].items(), key=lambda item: item[1])]
    assert len(tokens) == VOCAB and tokens[: len(SPECIALS)] == SPECIALS
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types([gguf.TokenType.CONTROL if t in SPECIALS else gguf.TokenType.NORMAL for t in tokens])
    w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in bpe["merges"]])
    w.add_bos_token_id(tokens.index("<|endoftext|>"))
    w.add_eos_token_id(tokens.index("<|im_end|>"))
    w.add_pad_token_id(tokens.index("<|endoftext|>"))
    w.add_add_bos_token(False)
    w.add_chat_template(TEMPLATE)
    for name, p in model.state_dict().items():
        data = p.detach().float().numpy()
        if data.ndim == 2:
            w.add_tensor(name, gguf.quants.quantize(data, gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            w.add_tensor(name, data.astype(np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    size = os.path.getsize(path)
    assert size <= 1_500_000, size
    print(f"{path}: {size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(HERE, "tiny.gguf"))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=2048, help="tokens per step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint that a stopped run left beside --out")
    args = parser.parse_args()
    tok = train_tokenizer(args.seed)
    model = train(tok, args)
    write_gguf(args.out, model, tok)
    if os.path.exists(args.out + ".pt"):
        os.remove(args.out + ".pt")


if __name__ == "__main__":
    main()
