"""PowerPoint presentations: a section for each slide, with its tables, charts and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from agent.uploads.documents.archive import check_office
from agent.uploads.documents.tables import cell, table


def read(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """The Markdown, a block for each slide; pictures are counted in a note."""
    check_office(file, notes)
    from pptx import Presentation

    deck: Any = Presentation(file)
    pictures = 0
    for number, slide in enumerate(deck.slides, 1):
        shapes = list(_flat(slide.shapes))
        title = slide.shapes.title
        name = f": {cell(title.text_frame.text)}" if title is not None and title.has_text_frame else ""
        blocks = [f"## Slide {number}{name}\n"]
        blocks += [text for shape in shapes if shape != title and (text := _text_of(shape))]
        if slide.has_notes_slide and (spoken := slide.notes_slide.notes_text_frame):
            blocks += [f"Notes: {spoken.text.strip()}\n"] if spoken.text.strip() else []
        pictures += sum(str(shape.element.tag).endswith("}pic") for shape in shapes)
        yield "".join(f"{block}\n" for block in blocks)
    if pictures:
        notes.append(f"Its pictures ({pictures}) are not in it.")


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    """The shapes, those in groups too."""
    from pptx.shapes.group import GroupShape

    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _text_of(shape: Any) -> str:
    if shape.has_table:
        return table([[one.text for one in row.cells] for row in shape.table.rows])
    if shape.has_chart:
        return _chart(shape.chart)
    if not shape.has_text_frame:
        return ""
    lines = [(each.level, cell(each.text)) for each in shape.text_frame.paragraphs]
    return "".join(f"{'  ' * level}- {text}\n" for level, text in lines if text)


def _chart(chart: Any) -> str:
    """The numbers that it draws; of a kind that is not known, a word that it is there."""
    try:
        title = cell(chart.chart_title.text_frame.text) if chart.has_title else ""
        plot = chart.plots[0]
        series = list(plot.series)
        columns = [list(one.values) for one in series]
        rows = [
            [str(category), *(column[index] if index < len(column) else None for column in columns)]
            for index, category in enumerate(plot.categories)
        ]
    except (ValueError, NotImplementedError, LookupError, AttributeError):
        return "(a chart)\n"
    return f"Chart{f': {title}' if title else ''}\n\n" + table([["", *(one.name for one in series)], *rows])
