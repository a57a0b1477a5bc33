"""Changes of a growing text: everything from an offset on is replaced.

Offsets are in UTF-16 code units, the unit of strings in JavaScript.
"""

from __future__ import annotations

_UTF16, _LONE = "utf-16-le", "surrogatepass"


def make_delta(before: str, after: str) -> tuple[int, str]:
    """Return the offset from which `before` differs from `after`, and the text that `after` has there.

    The offset never splits a character.
    """
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return len(after[:low].encode(_UTF16, _LONE)) // 2, after[low:]


def apply_delta(before: str, offset: int, text: str) -> str | None:
    """Return `before` with `text` in place of everything from `offset` on, or None if it is shorter."""
    raw = before.encode(_UTF16, _LONE)
    return None if 2 * offset > len(raw) else raw[: 2 * offset].decode(_UTF16, _LONE) + text
