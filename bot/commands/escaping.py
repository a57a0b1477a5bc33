"""Anybody's text within an answer: as code it makes no link and calls nobody."""

from __future__ import annotations

LONGEST = 80
LONGEST_NAME = 40


def quoted(text: str, most: int = LONGEST) -> str:
    """One line of code with at most so many characters of the text."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:most]}`"


def quoted_person(entry: str, name: str) -> str:
    """Somebody (`platform:id`) with the name that is known to go with it, if one is."""
    known = " ".join(name.split())[:LONGEST_NAME]
    return quoted(f"{entry} ({known})" if known else entry, LONGEST + LONGEST_NAME)
