#!/usr/bin/env bash
# The new text of an e-mail that answers a question, by two libraries that drop what is quoted.
#
# Packages: email-reply-parser 0.5.12, mail-parser-reply 1.36 (with English and Chinese)
# Expected: what the person wrote, and none of the message that it answers; a text that quotes nothing stays whole.
# Observed: email-reply-parser returns nothing at all for a message that begins "On Monday, the service wrote:" or "From:
#           web-1", drops what follows a rule of dashes, and lines of a log that begin with >. mail-parser-reply keeps the
#           quoted question as the person's text if the answer stands below it or between its lines, or if the line
#           above the quote is Chinese. Answers above an English quote are right in both.
# So: an approval by e-mail is a button or a code, not a word in the text; show people the whole message.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q email-reply-parser==0.5.12 mail-parser-reply==1.36
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from email_reply_parser import EmailReplyParser
from mailparser_reply import EmailReplyParser as OtherParser

print(*(f"{name} {version(name)}" for name in ("email-reply-parser", "mail-parser-reply")))
HEAD = "On Mon, Nov 30, 2026 at 9:00 AM Roe <roe@example.com> wrote:"
CHINESE = "Roe <roe@example.com> 于2026年11月30日周一 09:00写道："
BELOW = f"{HEAD}\n> Restart web-1?\n\nNo."
BETWEEN = "> Restart web-1?\nYes.\n> And web-2?\nNo."
WROTE = "On Monday, the service wrote:\ndisk full\nPlease check."
FIELDS = "From: web-1\nTo: web-2\nPlease move the data."
RULE = "web-1 is full.\n\n-----\n\nRestart web-2 only."
LOG = "It fails with\n> exit 1\nWhat now?"
changed = 0
for mail, expected, *observed in (
    (f"No.\n\n{HEAD}\n> Restart web-1?", "No.", "No.", "No."),
    (BELOW, "No.", "No.", BELOW),
    (BETWEEN, "Yes.\nNo.", "Yes.\nNo.", BETWEEN),
    (f"同意\n\n{CHINESE}\n> 重启 web-1？", "同意", f"同意\n\n{CHINESE}", f"同意\n\n{CHINESE}\n> 重启 web-1？"),
    (WROTE, WROTE, "", WROTE),
    (FIELDS, FIELDS, "", FIELDS),
    (RULE, RULE, "web-1 is full.", RULE),
    (LOG, LOG, "It fails with\nWhat now?", LOG),
):
    seen = [EmailReplyParser.parse_reply(mail), OtherParser(languages=["en", "zh"]).parse_reply(text=mail)]
    print(f"{mail!r}\n  expected: {expected!r}\n  observed: {seen[0]!r}\n            {seen[1]!r}")
    if seen != observed:
        print(f"  CHANGED: it was {observed}")
        changed = 1
sys.exit(changed)
PYTHON
