#!/usr/bin/env bash
# Markdown with stars in code, addresses and arithmetic, converted to the markup of Slack.
#
# Packages: markdown-to-mrkdwn 0.3.3
# Expected: stars mean emphasis where CommonMark says so; code, addresses and a star between spaces stay as they are.
# Observed: inline code is converted too, so a command to copy is another one, and a star in code pairs with one
#           outside; addresses and products change as well. Fenced code is left alone.
# So: convert from a syntax tree, or take code and addresses out before.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q markdown-to-mrkdwn==0.3.3
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from markdown_to_mrkdwn import SlackMarkdownConverter


def check(name, expected, observed, now):
    print(f"{name}\n  expected: {expected!r}\n  observed: {now!r}")
    if now != observed:
        sys.exit(f"  CHANGED: it was {observed!r}")


print("markdown-to-mrkdwn", version("markdown-to-mrkdwn"))
for markdown, expected, observed in (
    ("write `**x**` for bold", "write `**x**` for bold", "write `*x*` for bold"),
    ("use `*args` and *emphasis*", "use `*args` and _emphasis_", "use `_args` and _emphasis*"),
    ("https://example.com/?q=*a*", "https://example.com/?q=*a*", "https://example.com/?q=_a_"),
    ("2 * 3 * 4 = 24", "2 * 3 * 4 = 24", "2 _ 3 _ 4 = 24"),
    ("# Title with **bold**", "*Title with bold*", "*Title with *bold**"),
    ("```\nls **/*.py\n```", "```\nls **/*.py\n```", "```\nls **/*.py\n```"),
):
    check(markdown, expected, observed, SlackMarkdownConverter().convert(markdown))
PYTHON
