"""Parts of Office files that their readers ignore: charts, diagrams, comments, embedded files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from agent.uploads.documents.number_format import show_value
from agent.uploads.documents.tables import Row, cell, table

EMBEDDED = "Embedded files are not included."
MEDIA = "Video and audio are not included."
_POINTS = 500
"""Maximum number of points of a chart that are included."""
_MEDIA_ENDINGS = frozenset({".avi", ".m4a", ".m4v", ".mov", ".mp3", ".mp4", ".mpg", ".wav", ".wma", ".wmv"})


def parse_part(content: bytes) -> Any:
    """Parse a part of an Office file. Raises etree.XMLSyntaxError."""
    return etree.fromstring(
        content, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    )


def list_omissions(names: Iterable[str]) -> list[str]:
    """Return notes about embedded files and media, by the names of an Office file's parts.

    The sheets of charts are embedded too, but their values are included.
    """
    names = list(names)
    charts = sum("/charts/_rels/" in name for name in names)
    embedded = sum("/embeddings/" in name for name in names)
    has_media = any(posixpath.splitext(name)[1].lower() in _MEDIA_ENDINGS for name in names)
    return [EMBEDDED] * (embedded > charts) + [MEDIA] * has_media


def list_texts(part: bytes, label: str) -> Iterator[str]:
    """Yield a line with the label for each paragraph and each slide comment of a part."""
    try:
        root = parse_part(part)
    except etree.XMLSyntaxError:
        yield f"{label}: (can't be read)\n"
        return
    for paragraph in root.iter("{*}p", "{*}cm"):
        kind = "{*}t" if str(paragraph.tag).endswith("}p") else "{*}text"
        if text := cell("".join(paragraph.itertext(kind))):
            yield f"{label}: {text}\n"


def render_chart(part: bytes) -> str:
    """Return the titles of a chart, and a table of its stored values."""
    try:
        return _render_chart(parse_part(part))
    except (etree.XMLSyntaxError, ValueError):
        return "Chart: (can't be read)\n"


def _render_chart(root: Any) -> str:
    titles = "; ".join(text for one in root.iter("{*}title") if (text := cell("".join(one.itertext("{*}t")))))
    head, columns = [""], []
    categories: Mapping[int, Any] = {}
    for series in root.iter("{*}ser"):
        head.append(" ".join(_read_points(series, "tx").values()))
        columns.append(_read_points(series, "val", "yVal"))
        categories = categories or _read_points(series, "cat", "xVal")
    numbers = sorted({*categories, *(number for column in columns for number in column)})[:_POINTS]
    rows: list[Row] = [
        [categories.get(number, number + 1), *(column.get(number) for column in columns)]
        for number in numbers
    ]
    return f"Chart{f': {titles}' if titles else ''}\n\n{table([head, *rows])}"


def _read_points(series: Any, *names: str) -> Mapping[int, Any]:
    """Return the stored values of a series in their display format, by index."""
    points: dict[int, Any] = {}
    for element in (one for name in names for one in series.iterfind(f"{{*}}{name}")):
        code = element.findtext(".//{*}formatCode")
        for number, value in enumerate(element.iter("{*}v")):
            text = value.text or ""
            at = int(value.getparent().get("idx", number))
            shown = _read_number(text, code) if code else text
            points[at] = f"{shown} {points[at]}" if at in points else shown
    return points


def _read_number(text: str, code: str) -> object:
    try:
        return show_value(float(text), code)
    except ValueError:
        return text
