"""Selection of texts next to presenting calls that belong to a run's answer.

Models write the answer, call `present_files` beside it, and close with "Done.". What stands beside such a
call is a remark like any other if a whole answer follows, and part of the answer if only a phrase does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

PRESENTING = frozenset({"present_files", "write_todos"})
"""Tools that show people something, and find out nothing for the answer."""
MAX_CLOSING = 80
"""Characters of a text that is no more than a closing phrase."""


def is_presenting(calls: Collection[str]) -> bool:
    """Return whether a message's tool calls, at least one, all only present content."""
    return bool(calls) and PRESENTING.issuperset(calls)


def find_presented(presented: Sequence[str], texts: Mapping[str, str], closing: str) -> list[str]:
    """Return the presenting messages that are part of the answer.

    `presented` are their ids since the last other tool call, `texts` their texts by id, and `closing` is the
    text that follows them. As long as the answer is no more than a closing phrase, it takes in the text
    before it.
    """
    kept: list[str] = []
    for identity in reversed(presented):
        if len(closing.strip()) > MAX_CLOSING:
            break
        if texts.get(identity, "").strip():
            kept.append(identity)
            closing = texts[identity]
    return kept[::-1]
