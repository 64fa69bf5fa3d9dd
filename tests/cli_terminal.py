"""Holds a conversation with build/llm at a pseudo terminal: prompts, Ctrl-C, /more, Ctrl-D. Prints `ok what` or `failed what`."""
import os, pty, select, signal, sys, time

llm, model, scratch = sys.argv[1:4]


class Terminal:
    def __init__(self, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(llm, (llm,) + args)
        self.seen, self.at, self.status = b"", 0, None

    def wait_for(self, mark, seconds=60):
        """Reads until mark comes after the last one that was waited for."""
        end = time.time() + seconds
        while mark not in self.seen[self.at:]:
            if time.time() > end or not self.read(0.2):
                return False
        self.at = self.seen.index(mark, self.at) + len(mark)
        return True

    def wait_for_bytes(self, n, seconds=60):
        end = time.time() + seconds
        while len(self.seen) < self.at + n and time.time() < end and self.read(0.2):
            pass
        return len(self.seen) >= self.at + n

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 4096)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def send(self, data):
        os.write(self.fd, data)

    def end(self, seconds=20):
        """The exit code, or None if it had to be killed."""
        end = time.time() + seconds
        while time.time() < end and self.read(0.1):
            pass
        for _ in range(50):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
            time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


failures = 0


def check(what, held):
    global failures
    failures += not held
    print(("ok " if held else "failed: terminal: ") + what, flush=True)


t = Terminal("chat", model, "--temp", "1.9", "--seed", "3")
check("greets and asks", t.wait_for(b"/help lists") and t.wait_for(b"> "))
t.send(b"/temp 0\r")
check("a command is answered", t.wait_for(b"[temperature 0]") and t.wait_for(b"> "))
t.send(b"Tell me a story about a fox.\r")
check("an answer ends with its timing", t.wait_for(b"tok/s") and t.wait_for(b"> "))
t.send(b"half a line\x03")
check("Ctrl-C at the prompt gives the line up", t.wait_for(b"leaves]") and t.wait_for(b"> "))
t.send(b"another \\\r")
check("a continued line asks on", t.wait_for(b". "))
t.send(b"story\r")
check("and is answered", t.wait_for(b"tok/s") and t.wait_for(b"> "))
t.send(b"\x04")
check("Ctrl-D leaves with code 0", t.end() == 0)

# A slow answer: one scalar thread, hot enough not to end soon, is interrupted while it is being given.
t = Terminal("chat", model, "--temp", "30", "--seed", "3", "--threads", "1", "--isa", "scalar", "--stop", "@@@")
check("asks", t.wait_for(b"> "))
t.send(b"Tell me a story.\r")
t.wait_for(b"story.\r\n")
t.wait_for_bytes(4)
t.send(b"\x03")
check("Ctrl-C stops the answer", t.wait_for(b"[stopped"))
check("and not the program", t.wait_for(b"> "))
t.send(b"/more\r")
t.wait_for(b"/more\r\n")
check("/more goes on", t.wait_for_bytes(4))
t.send(b"\x03")
check("and can be stopped again", t.wait_for(b"tok/s") and t.wait_for(b"> "))
t.send(b"/quit\r")
check("/quit leaves with code 0", t.end() == 0)

# A file whose texts are escape sequences: nothing of them reaches the terminal, nor do those in a name that is complained about.
data = open(model, "rb").read()


def text(b):
    return len(b).to_bytes(8, "little") + b


at = data.index(b"general.description") - 8
n = int.from_bytes(data[at + 31:at + 39], "little")
data = data[:at] + text(b"general.size_label") + b"\x08\0\0\0" + text(b"\x1b[31m\x9b2J".ljust(n + 1, b"x")) + data[at + 39 + n:]
for key, value, evil in ((b"model", b"gpt2", b"\x1b[2J"), (b"pre", b"gpt-2", b"\x1b[32m")):
    key = text(b"tokenizer.ggml." + key) + b"\x08\0\0\0"
    assert key + text(value) in data
    data = data.replace(key + text(value), key + text(evil))
hostile = os.path.join(scratch, "hostile.gguf")
open(hostile, "wb").write(data)


def plain(*args):
    t = Terminal(*args)
    t.end()
    return t.seen and not [c for c in t.seen if c == 127 or c < 32 and c not in b"\r\n\t" or 127 < c < 160]


check("info shows a hostile file's texts without their escapes", plain("info", hostile))
check("report and plan too", plain("report", hostile) and plain("plan", hostile))
check("complaints too", plain("info", hostile, "--key", "x\x1b[31m") and plain("run", model, "-f", "no\x1b[31m\nfile"))

sys.exit(1 if failures else 0)
