"""E-mail messages and Jupyter notebooks as Markdown."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any, BinaryIO

from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import DAMAGED, Unreadable
from agent.uploads.documents.tables import cell
from agent.uploads.documents.text_encoding import detect_encoding
from agent.uploads.documents.web import render_fragment

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_PARTS = 200


def read_message(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown of an e-mail message (RFC 5322), with labels of its pictures. Raises Unreadable."""
    message: Any = message_from_bytes(file.read(), policy=policy.default)
    if not any(message.get(name) for name in _HEADERS):
        raise Unreadable(DAMAGED)
    attached: list[str] = []
    skipped = {id(part) for one in message.walk() for part in _list_duplicates(one)}
    for number, part in enumerate(list(message.walk())[:_PARTS]):
        # `walk` also yields attached messages, which have headers of their own.
        if headers := [(name, cell(value)) for name in _HEADERS if (value := part.get(name))]:
            yield "".join(f"{name}: {value}  \n" for name, value in headers) + "\n"
        if part.is_multipart() or id(part) in skipped:
            continue
        if part.get_content_maintype() == "image":
            if label := pictures.add(part.get_payload(decode=True) or b"", f"picture-{number}"):
                yield f"(picture {label})\n\n"
        elif part.get_filename():
            attached.append(cell(part.get_filename()))
        elif part.get_content_maintype() == "text":
            text = _read_text(part)
            yield f"{render_fragment(text) if part.get_content_subtype() == 'html' else text.strip()}\n\n"
    if attached:
        notes.append(
            f"Its attachments are not included: {', '.join(attached)}. Save and send them separately."
        )


def _list_duplicates(part: Any) -> list[Any]:
    """Return the texts of a `multipart/alternative` except the first plain text, or else the first text."""
    if part.get_content_type() != "multipart/alternative":
        return []
    texts = [
        one
        for one in part.walk()
        if one.get_content_type() in {"text/plain", "text/html"} and not one.get_filename()
    ]
    return sorted(texts, key=lambda one: str(one.get_content_type()) != "text/plain")[1:]


def _read_text(part: Any) -> str:
    try:
        return str(part.get_content())
    except LookupError:
        # Python doesn't know the declared charset.
        content = part.get_payload(decode=True)
        encoding = detect_encoding(content)
        return "" if encoding is None else encoding.decode(content)


def read_notebook(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown of a Jupyter notebook, with the outputs of its cells. Raises Unreadable."""
    document = json.loads(file.read())
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise Unreadable(DAMAGED)
    language = document.get("metadata", {}).get("language_info", {}).get("name", "python")
    left_out = False
    for number, one in enumerate(cells, 1):
        source = _join(one.get("source"))
        if one.get("cell_type") != "code":
            yield f"{source.strip()}\n\n"
            continue
        yield f"{_fence(source, cell(language))}\n"
        for position, output in enumerate(one.get("outputs", []), 1):
            data = output.get("data", {})
            image = _join(data.get("image/png") or data.get("image/jpeg"))
            label = pictures.add(b64decode(image), f"cell-{number}-{position}") if image else ""
            error = f"{output.get('ename')}: {output.get('evalue')}" if "ename" in output else ""
            text = _join(output.get("text") or data.get("text/plain") or output.get("traceback") or error)
            if label:
                yield f"(picture {label})\n\n"
            elif text:
                yield f"{_fence(text, 'output')}\n"
            else:
                left_out = True
    if left_out:
        notes.append("Outputs of cells that are neither text nor pictures are not included.")


def read_picture(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the label of a picture in a format that models can't see, converted. Raises Unreadable."""
    label = pictures.add(file.read(), "picture-1")
    if not label:
        raise Unreadable("It can't be converted to an image that can be seen; save it as PNG or JPEG.")
    yield f"(picture {label})\n\n"


def _join(text: Any) -> str:
    """Return a multi-line string, which nbformat stores as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _fence(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}\n"
