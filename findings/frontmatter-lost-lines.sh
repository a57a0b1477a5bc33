#!/usr/bin/env bash
# Markdown pages with a rule or a code block at the top, loaded as front matter and body.
#
# Packages: python-frontmatter 1.3.0
# Expected: what isn't a mapping of keys isn't front matter, so a page that begins with a horizontal rule is all body; the
#           body is the text after the front matter; a key of YAML may have any name.
# Observed: a paragraph or a list between the first two rules is taken away. There is no error and no metadata, and saving
#           the page makes it final. The body loses its leading spaces, so the first line of an indented code block
#           leaves the block. Keys called `content` or `handler`, or that YAML reads as a number or as true (`on`),
#           raise TypeError.
# So: split pages yourself, and take the front matter only if it is a mapping.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q python-frontmatter==1.3.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import frontmatter

print("python-frontmatter", version("python-frontmatter"))


def load(page):
    try:
        post = frontmatter.loads(page)
    except TypeError:
        return "TypeError"
    return post.metadata, post.content


META = "---\ntitle: Restart\n---\n"
RESTART = {"title": "Restart"}
changed = 0
for name, page, expected, observed in (
    ("plain", META + "Drain.\n", (RESTART, "Drain."), (RESTART, "Drain.")),
    ("paragraph", "---\n\nStop the traffic first.\n\n---\n\nRestart.", "all of it", ({}, "Restart.")),
    ("list", "---\n- Stop the traffic.\n- Drain.\n---\nRestart.", "all of it", ({}, "Restart.")),
    ("code", META + "\n    drain web\n    restart web\n", "    drain web\n    restart web",
     (RESTART, "drain web\n    restart web")),
    ("content", "---\ncontent: runbook\n---\nDrain.", {"content": "runbook"}, "TypeError"),
    ("on", "---\non: deploy\n---\nDrain.", {True: "deploy"}, "TypeError"),
    ("number", "---\n404: not found\n---\nDrain.", {404: "not found"}, "TypeError"),
):
    seen = load(page)
    print(f"{name}: {page!r}\n  expected: {expected!r}\n  observed: {seen!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed!r}")
        changed = 1
sys.exit(changed)
PYTHON
