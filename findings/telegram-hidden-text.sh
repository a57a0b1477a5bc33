#!/usr/bin/env bash
# Commands and placeholders of a model's answer, written as Markdown outside of code, for Telegram.
#
# Package: telegramify-markdown 1.4.1
# Expected: two bars, a dollar sign and a name in angle brackets are text, as CommonMark says of the first two; a line
#           break written as <br> separates its lines. The words of an answer all arrive.
# Observed: what stands between two pairs of bars is hidden as a spoiler, and the bars are gone: `a || b, c || d` looks
#           like "a", and shows another command when opened. `<pod>` is gone, which leaves another command; two lines
#           around <br> are one word. In `$HOME/bin:$PATH` the dollar signs are gone, since the first part is taken
#           for a formula. Inline code keeps all of them.
# So: put commands into code before the conversion, or compare the words of the text before and after it.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q telegramify-markdown==1.4.1
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from telegramify_markdown import convert

print("telegramify-markdown", version("telegramify-markdown"))
changed = 0
for markdown, expected, observed in (
    ("`kubectl logs <pod>`", ("kubectl logs <pod>", ["code"]), ("kubectl logs <pod>", ["code"])),
    ("kubectl delete pods <pod>", ("kubectl delete pods <pod>", []), ("kubectl delete pods", [])),
    ("make || exit 1, lint || exit 2", ("make || exit 1, lint || exit 2", []),
     ("make  exit 1, lint  exit 2", ["spoiler"])),
    ("old name<br>new name", ("old name\nnew name", []), ("old namenew name", [])),
    ("PATH=$HOME/bin:$PATH", ("PATH=$HOME/bin:$PATH", []), ("PATH=HOME/bin:PATH", ["code"])),
    ("echo $HOME $PATH", ("echo $HOME $PATH", []), ("echo $HOME $PATH", [])),
):
    text, entities = convert(markdown)
    seen = text.rstrip(), [entity.type for entity in entities]
    print(f"{markdown!r}\n  expected: {expected}\n  observed: {seen}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
