"""Web pages as Markdown."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes

from agent.shared.html_charset import decode_html, guess_charset
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.tables import cell

LINKED = "Pictures that the page only links to are not loaded."
_INSIDE = "data:image/"
_TYPED = frozenset(
    {"date", "datetime-local", "email", "month", "number", "search", "tel", "text", "time", "url"}
)
"""Types of `input` elements with a visible text value."""


def read_web_page(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown, with labels of the pictures inside the page.

    A page without a first-level heading starts with its title. Pictures elsewhere are not loaded.
    """
    data = file.read()
    numbers = count(1)

    def name_picture(source: str, about: str) -> str:
        if not source.lower().startswith(_INSIDE):
            if source.strip() and LINKED not in notes:
                notes.append(LINKED)
            return about
        content = _read_data(source)
        label = pictures.add(content, f"picture-{next(numbers)}") if content else ""
        return f"(picture {label}{f': {about}' if about else ''})" if label else about

    yield from _render(decode_html(data, guess_charset(data)), name_picture)


def render_fragment(fragment: str) -> str:
    """Render a piece of HTML as Markdown that ends with a newline; "" if it has no text."""
    return "".join(_render(fragment, lambda _source, about: about))


def _render(page: str, name_picture: Callable[[str, str], str]) -> Iterator[str]:
    """Yield a page's Markdown; `name_picture` receives each picture's source and description."""
    from agent.shared.html import parse_html, render_markdown

    root = parse_html(page, refuse_deep=True)
    if root is None:
        return
    title = cell(root.findtext(".//title") or "")
    if title and root.find(".//h1") is None:
        yield f"# {title}\n\n"
    for picture in root.iter("img"):
        picture.tag, picture.text = "span", name_picture(picture.get("src") or "", picture.get("alt") or "")
    for field in root.iter("input", "textarea", "select"):
        _show_value(field)
    if text := render_markdown(root):
        yield f"{text}\n"


def _show_value(field: Any) -> None:
    """Replace a form field with its value, or its selected options."""
    if field.tag == "select":
        text = ", ".join(one.text or "" for one in field.iter("option") if one.get("selected") is not None)
    elif field.tag == "textarea":
        text = field.text or ""
    else:
        text = (field.get("value") or "") if field.get("type", "text").lower() in _TYPED else ""
    for child in list(field):
        field.remove(child)
    field.tag, field.text = "span", text


def _read_data(source: str) -> bytes:
    """Return the content of a data URL (RFC 2397), b"" if it is invalid."""
    head, _, data = source.partition(",")
    content = unquote_to_bytes(data)
    if not head.lower().rstrip().endswith(";base64"):
        return content
    try:
        return b64decode(content)
    except binascii.Error:
        return b""
