"""Content of an Excel workbook outside its cells: pictures, charts, text boxes, comments, links, headers.

The relations between the parts of the archive are those of ECMA-376 (part 1, section 20.5, "DrawingML -
SpreadsheetML Drawing"). Pictures inside cells are only in `xl/media`, related to the values of the sheet by a
Microsoft extension (MS-XLSX, "richValueRel"), so they are not assigned to a cell.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from lxml import etree  # type: ignore[import-untyped]

from agent.uploads.documents.office_parts import list_texts, parse_part, render_chart
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.tables import cell

_MEDIA = "xl/media/"
_CHART = re.compile(r"xl/charts/chart\d*\.xml")
_ROWS = re.compile(rb"(?=<(?:\w+:)?sheetData[\s/>])")
_ROWS_END = re.compile(rb"</(?:\w+:)?sheetData>|<(?:\w+:)?sheetData\s*/>")
_CODES = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|\d+|[A-Za-z])')
"""Codes for position, font and fields in a header or footer (ECMA-376 part 1, section 18.3.1.39)."""
_CHUNK = 1 << 20
_OVERLAP = 64
"""Bytes of the previous chunk in which the end of the rows may begin."""
UNREADABLE = "(Some comments, links, charts or text boxes can't be read.)\n"
_PROBLEMS = (LookupError, ValueError, etree.LxmlError, zipfile.BadZipFile, NotImplementedError)


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A picture on a sheet: its part in the archive, and the cell at its upper left corner ("": none)."""

    part: str
    cell: str


class WorkbookParts:
    """Parts of a workbook that `agent.uploads.documents.office.check_office` has accepted."""

    def __init__(self, file: BinaryIO, pictures: PictureWriter) -> None:
        self._archive = zipfile.ZipFile(file)
        self._pictures = pictures
        self._shown: set[str] = set()

    def show_sheet(self, part: str, number: int) -> str:
        """Store a sheet's pictures, and return their label lines and the sheet's text outside cells."""
        lines: dict[str, None] = {}
        labels: set[str] = set()
        for one in self._find_placed(part):
            suffix = f"-{len(labels) + 1}" if labels else ""
            if label := self._keep(one.part, f"sheet-{number}{suffix}"):
                labels.add(label)
                lines[f"(picture {label}{f' at {one.cell}' if one.cell else ''})\n"] = None
        for read in (self._list_drawn, self._list_comments, self._list_around):
            try:
                lines |= dict.fromkeys(read(part))
            except _PROBLEMS:
                lines[UNREADABLE] = None
        return "".join(f"{line}\n" for line in lines)

    def show_others(self) -> str:
        """Store the pictures that are on no sheet, and return their label lines and the remaining charts."""
        labels: dict[str, None] = {}
        charts = ""
        for part in self._archive.namelist():
            if part.startswith(_MEDIA) and part not in self._shown:
                label = self._keep(part, f"picture-{len(labels) + 1}")
                labels |= {label: None} if label else {}
            elif _CHART.fullmatch(part) and part not in self._shown:
                try:
                    charts += f"{render_chart(self._archive.read(part))}\n"
                except _PROBLEMS:
                    charts += f"{UNREADABLE}\n"
        lines = "".join(f"(picture {label})\n\n" for label in labels)
        return charts + (f"## Pictures in cells and elsewhere\n\n{lines}" if lines else "")

    def _list_drawn(self, sheet: str) -> Iterator[str]:
        for drawing in self._related(sheet, "/drawing").values():
            yield from list_texts(self._archive.read(drawing), "Text box")
            for chart in self._related(drawing, "/chart").values():
                self._shown.add(chart)
                yield render_chart(self._archive.read(chart))

    def _list_comments(self, sheet: str) -> Iterator[str]:
        for part in self._related(sheet, "/comments").values():
            root = self._parse(part)
            authors = [one.text or "" for one in _find_all(root, "}author")]
            for one in _find_all(root, "}comment"):
                number = int(one.get("authorId", 0))
                author = authors[number] if number < len(authors) else ""
                text = cell("".join(one.itertext("{*}t")))
                yield f"Comment at {one.get('ref')}{f' by {cell(author)}' if author else ''}: {text}\n"

    def _list_around(self, sheet: str) -> Iterator[str]:
        """Yield a sheet's links, headers and footers, which its part stores around the rows."""
        root = self._parse_around_rows(sheet)
        targets = {one["Id"]: one["Target"] for one in self._relations(sheet)}
        for one in _find_all(root, "}hyperlink"):
            keys = [value for name, value in one.attrib.items() if name.endswith("}id")]
            places = [*(targets.get(key, "") for key in keys), one.get("location") or ""]
            yield f"Link at {one.get('ref')}: {cell('#'.join(filter(None, places)))}\n"
        for one in _find_all(root, "Header"):
            yield from show_header(one.text or "", "Header")
        for one in _find_all(root, "Footer"):
            yield from show_header(one.text or "", "Footer")

    def _parse_around_rows(self, sheet: str) -> Any:
        """Parse a sheet without its rows, which can take most of its size. Raises ValueError."""
        with self._archive.open(sheet.lstrip("/")) as content:
            begin = content.read(_CHUNK)
            head = _ROWS.split(begin, maxsplit=1)[0]
            rest = begin[len(head) :]
            while not (end := _ROWS_END.search(rest)):
                chunk = content.read(_CHUNK)
                if not chunk:
                    raise ValueError(sheet)
                rest = rest[-_OVERLAP:] + chunk
            return parse_part(head + rest[end.end() :] + content.read())

    def _keep(self, part: str, label: str) -> str:
        self._shown.add(part)
        if not self._pictures.has_room:
            self._pictures.skip()
            return ""
        try:
            return self._pictures.add(self._archive.read(part), label)
        except _PROBLEMS:
            self._pictures.skip()
            return ""

    def _find_placed(self, sheet: str) -> list[PlacedPicture]:
        """Return a sheet's pictures; empty if its relations can't be read."""
        try:
            return [
                picture
                for drawing in self._related(sheet, "/drawing").values()
                for picture in self._read_drawing(drawing)
            ]
        except _PROBLEMS:
            return []

    def _read_drawing(self, drawing: str) -> Iterator[PlacedPicture]:
        images = self._related(drawing, "/image")
        for anchor in _find_all(self._parse(drawing), "Anchor"):
            place = _cell_of(anchor)
            for picture in _find_all(anchor, "}pic"):
                for image in _find_all(picture, "}blip"):
                    keys = [value for name, value in image.attrib.items() if name.endswith("}embed")]
                    yield from (PlacedPicture(images[key], place) for key in keys if key in images)

    def _related(self, part: str, kind: str) -> Mapping[str, str]:
        """Return the archive parts to which a part has this kind of relation, by id."""
        folder = posixpath.dirname(part)
        return {
            one["Id"]: _resolve(folder, one["Target"])
            for one in self._relations(part)
            if one.get("Type", "").endswith(kind) and one.get("TargetMode") != "External"
        }

    def _relations(self, part: str) -> Sequence[Mapping[str, str]]:
        folder, name = posixpath.split(part.lstrip("/"))
        relations = f"{folder}/_rels/{name}.rels"
        if relations not in self._archive.NameToInfo:
            return []
        return [one.attrib for one in _find_all(self._parse(relations), "}Relationship")]

    def _parse(self, part: str) -> Any:
        # Parts that do not end like this were not checked for entities.
        if not part.endswith((".xml", ".rels")):
            raise ValueError(part)
        return parse_part(self._archive.read(part))


def _find_all(element: Any, ending: str) -> Iterator[Any]:
    """Yield elements by the end of their tag, since the two editions of the standard use different
    namespaces.
    """
    return (one for one in element.iter() if str(one.tag).endswith(ending))


def _resolve(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def show_header(content: str, label: str) -> Iterator[str]:
    """Yield a line with a header's or footer's text without its codes, unless it has none."""
    if text := cell(_CODES.sub(" ", content)):
        yield f"{label}: {text}\n"


def _cell_of(anchor: Any) -> str:
    """Return the name of the cell where a picture starts, such as B3."""
    from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]

    column, row = (anchor.findtext(f"{{*}}from/{{*}}{name}") for name in ("col", "row"))
    return f"{get_column_letter(int(column) + 1)}{int(row) + 1}" if column and row else ""
