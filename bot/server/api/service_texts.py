"""What the service itself says in a reply, which is stored together with the agent's words above it."""

from __future__ import annotations

import re
from typing import NamedTuple

from bot.texts import in_all_languages

# Fields of a template, and commands, which may have any form.
VARIABLE = re.compile(r"\\\{[^}]*\}|`/[^`]*`")


class SplitText(NamedTuple):
    """The agent's `own` words in a text, and what the service `said` below them without its heading and the
    commands at its end. `tool` is that of a request ("" if the request began in an earlier text).
    """

    own: str
    said: str
    tool: str = ""


def split_failure(content: str) -> SplitText | None:
    """Split the answer of a failed turn; None if it does not say what failed."""
    return _split(content, "failed", [one.rpartition("}")[2] for one in in_all_languages("failed")])


def split_request(content: str) -> SplitText:
    """Split a text at whose end the service asks for an approval."""
    ends = [f"\n\n{one}" for one in in_all_languages("approval_code")]
    own, said, _ = _split(content, "approval_title", ends) or SplitText("", content)
    tool = re.match(r"`([^`\n]+)`\n\n", said)
    return SplitText(own, said[tool.end() :], tool[1]) if tool else SplitText(own, said)


def _split(content: str, heading: str, ends: list[str]) -> SplitText | None:
    """Split at the last heading: the agent may have imitated it further up."""
    fixed = "|".join(VARIABLE.sub("[^\n]*", re.escape(one)) for one in ends)
    end = re.search(rf"(?:{fixed})\Z", content)
    heads = "|".join(re.escape(one.partition("{")[0]) for one in in_all_languages(heading))
    text = content[: end.start()] if end else ""
    found = re.fullmatch(rf"(?s)(?:(?:(.*)\n\n)?(?:{heads}))?(.*)", text)
    return SplitText(found[1] or "", found[2]) if end and found else None
