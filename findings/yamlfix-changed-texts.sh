#!/usr/bin/env bash
# YAML files formatted by a tool that "keeps your comments", with scripts and times in them.
#
# Packages: yamlfix 1.19.1, pyyaml 6.0.4 (reads the values before and after)
# Expected: a formatter changes quotes, indents and the spelling of true; a parser reads the same values before and after.
# Observed: `key: yes` becomes `key: true` also within a text: a line of a script, of a heredoc or of an answer is another
#           one. Block texts lose their last newline, quotes around 12:30 are taken away, so it's the number 750, and a
#           placeholder such as {{ name }} becomes a mapping with stars in it. Text within quotes on one line stays.
# So: parse before and after and compare, or keep such files out of the hook.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q yamlfix==1.19.1 pyyaml==6.0.4
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import yaml
from yamlfix import fix_code

print(*(f"{name} {version(name)}" for name in ("yamlfix", "pyyaml")))
changed = 0
for text, observed in (
    ("enabled: yes\n", True),
    ("text: 'answer: yes'\n", "answer: yes"),
    ("script: |-\n  answer: no\n", "answer: false"),
    ("script: |\n  echo done\n", "echo done"),
    ("start: '12:30'\n", 750),
):
    before, after = (next(iter(yaml.safe_load(each).values())) for each in (text, fix_code(text)))
    print(f"{text!r}\n  expected: {before!r}\n  observed: {after!r}")
    if after != observed:
        print(f"  CHANGED: it was {observed!r}")
        changed = 1
template = fix_code("name: {{ name }}\n")
print(f"'name: {{{{ name }}}}'\n  expected: name: {{{{ name }}}}, or an error\n  observed: {template!r}")
sys.exit(changed or template != "---\nname: {{★name★: null}: null}\n")
PYTHON
