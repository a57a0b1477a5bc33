"""Form fields, links and comments of a PDF page, which its text lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent.uploads.documents.pdf_layout import Word
from agent.uploads.documents.tables import cell

_RADIO, _PUSH = 1 << 15, 1 << 16
"""Flags of buttons (ISO 32000-1, table 226)."""
_PARENTS = 20
"""Maximum depth of nested fields."""
_NO_COMMENTS = frozenset({"/Link", "/Widget", "/Popup"})


def list_annotations(page: Any, words: Sequence[Word]) -> str:
    """Return a Markdown list of a page's form fields with values, links with text, and comments.

    `words` are the horizontal words of the page, which include the text of links.
    """
    lines: dict[str, None] = {}
    for one in page.get("/Annots") or ():
        annotation = one.get_object()
        lines |= dict.fromkeys(_describe(annotation, words))
    return "".join(f"- {line}\n" for line in lines) + ("\n" if lines else "")


def _describe(annotation: Any, words: Sequence[Word]) -> Iterator[str]:
    kind = annotation.get("/Subtype")
    if kind == "/Widget":
        yield from _describe_field(annotation)
    elif kind == "/Link":
        target = _get(annotation.get("/A") or {}, "/URI")
        text = cell(" ".join(one.text for one in words if _is_inside(one, annotation["/Rect"])))
        if target and cell(target) != text:
            yield f"Link: [{text}]({cell(target)})" if text else f"Link: {cell(target)}"
    if kind not in _NO_COMMENTS and (text := cell(_get(annotation, "/Contents"))):
        author = cell(_get(annotation, "/T"))
        yield f"Comment by {author}: {text}" if author else f"Comment: {text}"


def _describe_field(widget: Any) -> Iterator[str]:
    """Yield the name and the value of a field; nothing for a push button."""
    names: list[str] = []
    chain: list[Any] = []
    field = widget
    while field is not None and len(chain) < _PARENTS:
        chain.append(field)
        names += [str(field["/T"])] if "/T" in field else []
        parent = field.get("/Parent")
        field = parent.get_object() if parent is not None else None

    def find(key: str) -> Any:
        return next((value for one in chain if (value := one.get(key)) is not None), None)

    value, flags = find("/V"), int(find("/Ff") or 0)
    if find("/FT") == "/Btn":
        if flags & _PUSH:
            return
        state = value if flags & _RADIO else widget.get("/AS", value)
        text = "not checked" if state in {None, "/Off"} else "checked"
        if flags & _RADIO and text == "checked":
            text = str(state).removeprefix("/")
    elif find("/FT") == "/Sig":
        text = "not signed" if value is None else "signed"
    else:
        values = value if isinstance(value, list) else [value]
        text = ", ".join(_text(one) for one in values) or "(empty)"
    label = find("/TU")
    name = cell(".".join(reversed(names)))
    yield f"Field {name}{f' ({cell(label)})' if label and label != name else ''}: {cell(text)}"


def _get(dictionary: Any, key: str) -> str:
    return _text(dictionary.get_object().get(key)) if dictionary else ""


def _text(value: Any) -> str:
    value = value.get_object() if hasattr(value, "get_object") else value
    content = value.get_data() if hasattr(value, "get_data") else value
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else str(content or "")


def _is_inside(word: Word, rectangle: Any) -> bool:
    left, bottom, right, top = map(float, rectangle)
    middle = word.base + word.size / 4
    return left <= (word.left + word.right) / 2 <= right and bottom <= middle <= top
