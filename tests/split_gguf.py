"""Splits a GGUF file into two shards as llama-gguf-split names them: split_gguf.py MODEL STEM."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
at = 24
n_tensors, n_keys = struct.unpack_from("<QQ", data, 8)


def take(form):
    global at
    v = struct.unpack_from("<" + form, data, at)[0]
    at += struct.calcsize(form)
    return v


def skip(n):
    global at
    at += n


def skip_value(kind):
    if kind == 8:
        skip(take("Q"))
    elif kind == 9:
        kind, n = take("I"), take("Q")
        for _ in range(n):
            skip_value(kind)
    else:
        skip({0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}[kind])


def key(name, kind, form, value):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I" + form, kind, value)


def padded(b):
    return b + bytes(-len(b) % 32)


keys_at = at
for _ in range(n_keys):
    skip(take("Q"))
    skip_value(take("I"))
keys = data[keys_at:at]
tensors = []
for _ in range(n_tensors):
    start = at
    skip(take("Q"))
    skip(8 * take("I"))
    skip(4)
    tensors.append((data[start:at], take("Q")))
base = at + -at % 32
ends = sorted(o for _, o in tensors)[1:] + [len(data) - base]
size = {o: e - o for o, e in zip(sorted(o for _, o in tensors), ends)}
for number, part in enumerate((tensors[:n_tensors // 2], tensors[n_tensors // 2:])):
    split = key(b"split.no", 2, "H", number) + key(b"split.count", 2, "H", 2) + key(b"split.tensors.count", 5, "i", n_tensors)
    info, body = b"", b""
    for name, offset in part:
        info += name + struct.pack("<Q", len(body))
        body += padded(data[base + offset:base + offset + size[offset]])
    head = data[:8] + struct.pack("<QQ", len(part), (0 if number else n_keys) + 3) + (b"" if number else keys) + split + info
    open("%s-%05d-of-00002.gguf" % (sys.argv[2], number + 1), "wb").write(padded(head) + body)
