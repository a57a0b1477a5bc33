"""Automatic numbers of headings and lists in a Word document, as text (ECMA-376 part 1, section 17.9).

mammoth drops the numbers of headings, and restarts at 1 when a list continues after a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from agent.shared.html_meaning import POINT, to_letters, to_roman

_LEVEL = re.compile(r"%([1-9])")
_FORMATS: Mapping[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerLetter": to_letters,
    "upperLetter": lambda number: to_letters(number).upper(),
    "lowerRoman": to_roman,
    "upperRoman": lambda number: to_roman(number).upper(),
}


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a list: first number, format (`w:numFmt`), text (`w:lvlText`) and linked paragraph style."""

    start: int
    form: str
    text: str
    style: str


@dataclass(frozen=True, slots=True)
class _Numbering:
    """Levels by list and level number; the list of each instance, and its start values by level number."""

    levels: Mapping[str, Mapping[int, _Level]]
    by_instance: Mapping[str, str]
    starts: Mapping[str, Mapping[int, int]]

    def find_levels(self, instance: str) -> Mapping[int, _Level]:
        return self.levels.get(self.by_instance.get(instance, ""), {})


def write_numbers(document: Any, numbering: Any, styles: Any) -> None:
    """Write the number of each paragraph into its text, and remove its reference to a list.

    The arguments are the roots of the parts `document`, `numbering` and `styles`. `document` is changed.
    """
    lists = _read_numbering(numbering)
    of_styles = {_get(one, "styleId"): one for one in styles.iter("{*}style")}
    counters: dict[str, dict[int, int]] = {}
    begun: set[str] = set()
    for paragraph in document.iter("{*}p"):
        if paragraph.find("{*}pPr") is None:
            continue
        instance, at = _find_place(paragraph, of_styles, lists)
        levels = lists.find_levels(instance)
        if at not in levels or levels[at].form in {"bullet", "none"}:
            continue
        counts = counters.setdefault(lists.by_instance[instance], {})
        if instance not in begun:
            begun.add(instance)
            for level, start in lists.starts.get(instance, {}).items():
                counts[level] = start - 1
        for level in [one for one in counts if one > at]:
            del counts[level]
        for level in range(at):
            counts.setdefault(level, levels[level].start if level in levels else 1)
        counts[at] = counts.get(at, levels[at].start - 1) + 1
        _write_number(paragraph, _format_number(levels, counts, at))


def _format_number(levels: Mapping[int, _Level], counts: Mapping[int, int], at: int) -> str:
    def format_level(found: re.Match[str]) -> str:
        level = int(found[1]) - 1
        form = levels[level].form if level in levels else ""
        return _FORMATS.get(form, str)(counts.get(level, 1))

    return _LEVEL.sub(format_level, levels[at].text).replace(".", POINT)


def _write_number(paragraph: Any, number: str) -> None:
    properties = paragraph.find("{*}pPr")
    namespace = etree.QName(properties).namespace
    reference = properties.find("{*}numPr")
    if reference is None:
        reference = etree.SubElement(properties, f"{{{namespace}}}numPr")
    for child in list(reference):
        reference.remove(child)
    for name in ("ilvl", "numId"):
        etree.SubElement(reference, f"{{{namespace}}}{name}").set(f"{{{namespace}}}val", "0")
    run = etree.Element(f"{{{namespace}}}r")
    text = etree.SubElement(run, f"{{{namespace}}}t")
    text.text = f"{number} " if number else ""
    text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    properties.addnext(run)


def _find_place(paragraph: Any, styles: Mapping[str, Any], lists: _Numbering) -> tuple[str, int]:
    """Return the list instance and the level of a paragraph, from its own properties or its styles."""
    style = _value(paragraph, "pPr/pStyle")
    owner: Any = paragraph
    seen: set[str] = set()
    instance, level = "", ""
    while owner is not None:
        instance = instance or _value(owner, "pPr/numPr/numId")
        level = level or _value(owner, "pPr/numPr/ilvl")
        if instance or style in seen:
            break
        seen.add(style)
        owner, style = styles.get(style), _value(styles.get(style), "basedOn") or style
    if level.isdigit():
        return instance, int(level)
    levels = lists.find_levels(instance)
    return instance, next((at for at, one in levels.items() if one.style and one.style in seen), 0)


def _read_numbering(numbering: Any) -> _Numbering:
    levels: dict[str, dict[int, _Level]] = {}
    for one in numbering.iter("{*}abstractNum"):
        levels[_get(one, "abstractNumId")] = {
            int(_get(level, "ilvl") or 0): _Level(
                int(_value(level, "start") or 0),
                _value(level, "numFmt") or "decimal",
                _value(level, "lvlText"),
                _value(level, "pStyle"),
            )
            for level in one.iterfind("{*}lvl")
        }
    lists, starts = {}, {}
    for one in numbering.iterfind("{*}num"):
        lists[_get(one, "numId")] = _value(one, "abstractNumId")
        starts[_get(one, "numId")] = {
            int(_get(level, "ilvl") or 0): int(start)
            for level in one.iterfind("{*}lvlOverride")
            if (start := _value(level, "startOverride"))
        }
    return _Numbering(levels, lists, starts)


def _value(element: Any, path: str) -> str:
    names = "/".join(f"{{*}}{name}" for name in path.split("/"))
    found = None if element is None else element.find(names)
    return "" if found is None else _get(found, "val")


def _get(element: Any, name: str) -> str:
    return next((str(value) for key, value in element.items() if etree.QName(key).localname == name), "")
