"""Escaping of untrusted text in answers: formatted as code, it creates no links or mentions."""

from __future__ import annotations

LONGEST = 80
LONGEST_NAME = 40


def quoted(text: str, most: int = LONGEST) -> str:
    """Format at most `most` characters of the text as one line of inline code."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:most]}`"


def quoted_person(entry: str, name: str) -> str:
    """Format a person (`platform:id`), with their name if it is known."""
    known = " ".join(name.split())[:LONGEST_NAME]
    return quoted(f"{entry} ({known})" if known else entry, LONGEST + LONGEST_NAME)
