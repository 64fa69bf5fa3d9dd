#!/bin/sh
# amalgamate.sh LLM_H LLM_IMPL_H > llm.h
# One self-contained llm.h: the implementation takes the place of the line that includes it. Where the implementation includes itself
# (one template, compiled once per instruction set) the single file includes itself under its new name.
set -e
[ $# -eq 2 ] || { echo "usage: amalgamate.sh llm.h llm_impl.h > single.h" >&2; exit 2; }
[ "$(grep -c '^#include "llm_impl.h"$' "$1")" = 1 ] || { echo "amalgamate: '$1' must include llm_impl.h on exactly one line" >&2; exit 1; }
[ -r "$2" ] || { echo "amalgamate: cannot read '$2'" >&2; exit 1; }
awk -v impl="$2" '
    /^#include "llm_impl.h"$/ {
        while ((getline line < impl) > 0) {
            if (line ~ /^#define LLM__SELF "llm_impl.h"/) sub(/"llm_impl.h"/, "\"llm.h\"", line)
            print line
        }
        close(impl)
        next
    }
    /llm_impl.h stands beside it/ { sub(/ *\/\/ llm_impl.h stands beside it/, "") }
    { print }
' "$1"
