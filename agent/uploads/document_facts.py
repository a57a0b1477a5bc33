"""Description of a converted document for the model: its Markdown, tables and outline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.core.schemas import MarkdownInfo, OutlineEntry, TableInfo
from agent.shared.envelope import escape_text
from agent.uploads.documents.report import COLUMNS

OUTLINE = 100
OUTLINE_CHARS = 6_000
TABLES = 20
ESCAPED = "  (The service added the backslash to tags in it; leave that out when you quote or search.)"
UTF_8 = "encoding UTF-8"
"""End of the layout of a text file that can be read as it is."""


def quote_file(name: str, text: str) -> str:
    """Quote a text, escaping tags of files, messages and quotations, which a note mentions."""
    body = escape_text(text, "file")
    note = "" if body == text else f"\n{ESCAPED}"
    ending = "" if body.endswith("\n") else "\n"
    return f'<file name="{name}">\n{body}{ending}</file>{note}'


def describe_document(name: str, made: MarkdownInfo, text: str | None) -> list[str]:
    """Return the lines about the document `name`; `text` is its Markdown if shown completely."""
    if made.path is None:
        return [f"  It can't be read: {made.note} Tell the person who sent it."]
    # Only the layout of a text file is free of user content, which has to be quoted.
    layouts = [f"  Table: {_describe_table(one)}" for one in made.tables if one.layout]
    is_readable = bool(layouts) and made.tables[0].layout.endswith(UTF_8)
    # Markdown has no advantage over a text file that `read_file` shows, and lacks rows of longer tables.
    lines = [] if is_readable else [f"  As Markdown: {made.path} ({_count(made.lines, 'line')})"]
    lines += layouts
    lines += [f"  {made.note}"] if made.note and not (is_readable and text is None) else []
    markdown = f"{name}, as Markdown" if is_readable else PurePosixPath(made.path).name
    if text is not None:
        return [*lines, quote_file(markdown, text)]
    if made.outline:
        lines.append(quote_file(f"{markdown}, headings", "\n".join(_outline(made.outline))))
    if made.tables:
        lines.append(quote_file(f"{name}, first rows", "\n".join(_samples(made.tables))))
    return lines


def count_lines(text: str) -> str:
    """Return the number of lines in words: `1 line`, `40 lines`."""
    return _count(len(text.splitlines()), "line")


def _outline(entries: Sequence[OutlineEntry]) -> list[str]:
    lines: list[str] = []
    room = OUTLINE_CHARS
    for entry in entries[:OUTLINE]:
        line = f"line {entry.line}: {entry.title}"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    if len(lines) < len(entries):
        lines.append(f"and more headings from line {entries[len(lines)].line} on")
    return lines


def _samples(tables: Sequence[TableInfo]) -> list[str]:
    lines: list[str] = []
    for one in tables[:TABLES]:
        lines += [] if one.layout else [f"{one.title}: {_describe_table(one)}"]
        lines += one.sample
    if len(tables) > TABLES:
        lines.append(f"and {_count(len(tables) - TABLES, 'more table')}")
    return lines


def _describe_table(table: TableInfo) -> str:
    if not table.rows:
        return "empty"
    about = "about " if table.is_estimate else ""
    columns = (
        f"more than {COLUMNS} columns" if table.columns == COLUMNS + 1 else _count(table.columns, "column")
    )
    size = f"{about}{_count(table.rows - 1, 'row')} below the first, {columns}"
    return f"{size}, {table.layout}" if table.layout else size


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
