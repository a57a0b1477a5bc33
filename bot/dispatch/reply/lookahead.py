"""A guess at how a text goes on, to see where the part that is being filled will end."""

from __future__ import annotations

BLOCK = "\n\n"


def extrapolate(text: str, count: int) -> str:
    """About `count` characters that go on like `text`: its paragraph becomes as long as the one before."""
    last = text.rfind(BLOCK) + len(BLOCK)
    before = text.rfind(BLOCK, 0, max(0, last - len(BLOCK)))
    start = before + len(BLOCK) if before >= 0 else 0
    if last < len(BLOCK) or last <= start:
        return "x" * count
    rest = text[start + len(text) - last : last] or BLOCK
    paragraph = text[start:last]
    return (rest + paragraph * (1 + count // len(paragraph)))[:count]
