r"""Read text as it was before it was put into JSON strings, and edit it where it is.

In a JSON string a line break is the two characters `\n`, which seem to belong to the word behind them, and a
text can be in a string within a string. Each view of a text decodes it once more.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_VIEWS = 9
"""Maximum number of views: the text itself, and one for each string around a part of it."""
_ESCAPE = re.compile(
    r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|(.))", re.DOTALL | re.IGNORECASE
)
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_SURROGATES, _FIRST_PAIR = 0x400, 0x10000
Edit = tuple[int, int, str]
"""Start and end of a passage, and the text to put in its place."""


@dataclass(frozen=True, slots=True)
class TextView:
    """A text after `level` decodings. `offsets` are those in the original text, of each character and of the
    end.
    """

    text: str
    offsets: Sequence[int]
    level: int = 0

    def decode(self) -> TextView:
        """Return the view in which each escape of this one is the character that it stands for."""
        pieces: list[str] = []
        offsets = array("Q")
        at = 0
        for found in _ESCAPE.finditer(self.text):
            pieces += [self.text[at : found.start()], _decode(found)]
            offsets.extend(self.offsets[at : found.start() + 1])
            at = found.end()
        offsets.extend(self.offsets[at:])
        return TextView("".join([*pieces, self.text[at:]]), offsets, self.level + 1)


def _decode(found: re.Match[str]) -> str:
    if found[1]:
        high, low = int(found[1], 16) % _SURROGATES, int(found[2], 16) % _SURROGATES
        return chr(_FIRST_PAIR + high * _SURROGATES + low)
    return chr(int(found[3], 16)) if found[3] else _SHORT.get(found[4], found[4])


def iterate_views(text: str) -> Iterator[TextView]:
    """Yield the text as it is, and a view for each JSON string that may be around a part of it."""
    view: TextView | None = _view_text(text)
    while view is not None:
        yield view
        view = _decode_further(view)


def edit_views(text: str, find: Callable[[str], Iterable[Edit]]) -> str:
    """Return the text with the edits that `find` returns for each view of it, escaped as the view was."""
    view: TextView | None = _view_text(text)
    while view is not None:
        level, offsets = view.level, view.offsets
        edits = [(offsets[start], offsets[end], _encode(new, level)) for start, end, new in find(view.text)]
        if edits:
            text = apply_edits(text, edits)
            view = next((one for one in iterate_views(text) if one.level == level), None)
        view = _decode_further(view) if view is not None else None
    return text


def _view_text(text: str) -> TextView:
    return TextView(text, range(len(text) + 1))


def _decode_further(view: TextView) -> TextView | None:
    """Return the next view, None if this one has no escapes or is the last."""
    return view.decode() if "\\" in view.text and view.level + 1 < MAX_VIEWS else None


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made; they are in order and don't overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, new in edits:
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _encode(text: str, level: int) -> str:
    for _ in range(level):
        text = json.dumps(text, ensure_ascii=False)[1:-1]
    return text
