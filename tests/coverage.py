"""Judges line counts. Usage: coverage.py llm_impl.h coverage.txt LINES.json... (the source; the reasons; written by gcovr, and added up here)

coverage.txt has a line `function: reason` for each function with lines that no suite reaches. Prints the share of lines reached, and what
was missed, by function. Fails below 95 %, and if a function misses lines without a reason. Kernels of instruction sets that the CPU at hand
lacks are counted apart: a kernel of which not one line was reached, whose name ends in the set's.
"""
import json
import re
import sys

SETS = ("avx2", "avx_vnni", "avx512", "neon", "dotprod", "i8mm", "wasm128")


def functions(path):
    """Line number -> name of the function that it stands in."""
    names, name = {}, "?"
    for number, line in enumerate(open(path), 1):
        found = re.match(r"(?:LLM_\w+|static|typedef|[a-z]\w*) ?.*?\b(llm_\w+|LLM__V\(\w+\))\s*\(", line)
        if found and not line.startswith((" ", "#", "typedef")):
            name = found.group(1)
        names[number] = name
    return names


def main(source, reasons_txt, *lines_json):
    counts = {}
    for path in lines_json:
        for line in [line for entry in json.load(open(path))["files"] for line in entry["lines"]]:
            if not line.get("gcovr/noncode") and not line.get("gcovr/excluded"):
                counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
    name_of = functions(source)
    by_function = {}
    for number, count in counts.items():
        by_function.setdefault(name_of[number], []).append((number, count))
    reasons = dict(line.rstrip("\n").split(": ", 1) for line in open(reasons_txt) if ": " in line and not line.startswith("#"))

    apart, missed, reached, total = {}, {}, 0, 0
    for name, lines in by_function.items():
        lost = sorted(number for number, count in lines if not count)
        if len(lost) == len(lines) and name.split("_", 3)[-1].endswith(SETS):
            apart[name] = len(lost)
            continue
        total += len(lines)
        reached += len(lines) - len(lost)
        if lost:
            missed[name] = lost
    share = 100.0 * reached / total
    print(f"{reached} of {total} lines reached, {share:.1f} %; {total - reached} missed in {len(missed)} functions")
    for name, lost in sorted(missed.items(), key=lambda item: item[1]):
        print(f"  {name}: {len(lost)} ({', '.join(map(str, lost[:12]))}{' ...' if len(lost) > 12 else ''}) {reasons.get(name, 'NO REASON')}")
    if apart:
        print(f"apart: {sum(apart.values())} lines of {len(apart)} kernels for which there is no CPU here: {', '.join(sorted(apart))}")
    stale = sorted(set(reasons) - set(missed) - set(apart))
    if stale:
        print("reasons that are no longer needed: " + ", ".join(stale))
    nameless = [name for name in missed if name not in reasons]
    failed = (share < 95.0) + bool(nameless)
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
