"""Pictures of an Excel workbook: those on its sheets, each with its cell, and all others.

The relations between the parts of the archive are those of ECMA-376 (part 1, section 20.5, "DrawingML -
SpreadsheetML Drawing"). Pictures inside cells are only in `xl/media`, related to the values of the sheet by a
Microsoft extension (MS-XLSX, "richValueRel"), so they are not assigned to a cell.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from lxml import etree  # type: ignore[import-untyped]

from agent.uploads.documents.pictures import PictureWriter

_MEDIA = "xl/media/"
_PROBLEMS = (KeyError, ValueError, etree.LxmlError, zipfile.BadZipFile, NotImplementedError)


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A picture on a sheet: its part in the archive, and the cell at its upper left corner ("": none)."""

    part: str
    cell: str


class WorkbookPictures:
    """Pictures of a workbook that `agent.uploads.documents.office.check_office` has accepted."""

    def __init__(self, file: BinaryIO, pictures: PictureWriter) -> None:
        self._archive = zipfile.ZipFile(file)
        self._pictures = pictures
        self._shown: set[str] = set()

    def show_sheet(self, part: str, number: int) -> str:
        """Store a sheet's pictures, and return their label lines."""
        lines: dict[str, None] = {}
        labels: set[str] = set()
        for one in self._find_placed(part):
            suffix = f"-{len(labels) + 1}" if labels else ""
            if label := self._keep(one.part, f"sheet-{number}{suffix}"):
                labels.add(label)
                lines[f"(picture {label}{f' at {one.cell}' if one.cell else ''})\n\n"] = None
        return "".join(lines)

    def show_others(self) -> str:
        """Store the pictures that are on no sheet shown so far, and return their label lines."""
        labels: dict[str, None] = {}
        for part in self._archive.namelist():
            if part.startswith(_MEDIA) and part not in self._shown:
                label = self._keep(part, f"picture-{len(labels) + 1}")
                labels |= {label: None} if label else {}
        lines = "".join(f"(picture {label})\n\n" for label in labels)
        return f"## Pictures in cells and elsewhere\n\n{lines}" if lines else ""

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
            cell = _cell_of(anchor)
            for picture in _find_all(anchor, "}pic"):
                for image in _find_all(picture, "}blip"):
                    keys = [value for name, value in image.attrib.items() if name.endswith("}embed")]
                    yield from (PlacedPicture(images[key], cell) for key in keys if key in images)

    def _related(self, part: str, kind: str) -> Mapping[str, str]:
        """Return the archive parts to which a part has this kind of relation, by id."""
        folder, name = posixpath.split(part)
        relations = f"{folder}/_rels/{name}.rels"
        if relations not in self._archive.NameToInfo:
            return {}
        found = [
            one.attrib
            for one in _find_all(self._parse(relations), "}Relationship")
            if one.get("Type", "").endswith(kind) and one.get("TargetMode") != "External"
        ]
        return {one["Id"]: _resolve(folder, one["Target"]) for one in found}

    def _parse(self, part: str) -> Any:
        # Parts that do not end like this were not checked for entities.
        if not part.endswith((".xml", ".rels")):
            raise ValueError(part)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        return etree.fromstring(self._archive.read(part), parser)


def _find_all(element: Any, ending: str) -> Iterator[Any]:
    """Yield elements by the end of their tag, since the two editions of the standard use different
    namespaces.
    """
    return (one for one in element.iter() if str(one.tag).endswith(ending))


def _resolve(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _cell_of(anchor: Any) -> str:
    """Return the name of the cell where a picture starts, such as B3."""
    from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]

    column, row = (anchor.findtext(f"{{*}}from/{{*}}{name}") for name in ("col", "row"))
    return f"{get_column_letter(int(column) + 1)}{int(row) + 1}" if column and row else ""
