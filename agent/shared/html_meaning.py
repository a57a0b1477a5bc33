"""Parts of a page whose meaning Markdown renderers drop, rewritten as elements and text that they keep.

Superscripts, formulas, checkboxes, numbers of lists, callouts, commands in cells, and Confluence's macros.
"""

from __future__ import annotations

import html
import re
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from agent.shared.formula_text import render_mathml
from agent.shared.raised_text import lower_text, raise_text

POINT = "\u2024"
"""Stands for the point after a number, which a renderer would escape; `restore_points` replaces it."""
NUMBERED = "numbered"
"""Class of lists whose numbers are text."""
CALLOUT = "callout"
"""Class of the quotations that were callouts."""
_KINDS = (
    *("note", "tip", "info", "important", "warning", "caution", "danger", "error", "hint", "attention"),
    "success",
)
_CONTAINERS = frozenset({"div", "aside", "section", "details", "p", "article"})
_CALLOUT_CLASS = re.compile(r"(?:admonition|alert|callout|notice|information-macro)(?![a-z])")
_KIND = re.compile(rf"(?<![a-z])(?P<kind>{'|'.join(_KINDS)})(?![a-z])")
_MACRO, _PARAMETER, _BODY = "ac:structured-macro", "ac:parameter", "ac:plain-text-body"
_ROMAN = {
    **{1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"},
    **{10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"},
}


def unwrap_cdata(page: str) -> str:
    """Return the page with its CDATA sections as text, which HTML parsers would drop as comments."""
    parts = page.split("<![CDATA[")
    found = [parts[0]]
    for part in parts[1:]:
        content, end, rest = part.partition("]]>")
        found += [html.escape(content, quote=False), rest] if end else ["<![CDATA[", part]
    return "".join(found)


def keep_meaning(root: Any) -> None:
    """Rewrite the tree. Works on elements from the end, so that inner ones come first."""
    for element in reversed(list(root.iter(etree.Element))):
        if (text := _find_text(element)) is not None:
            _replace_by_text(element, text)
        elif element.tag == "ol":
            _number_items(element)
        elif element.tag in {"td", "th"}:
            _split_lines(element)
        elif ":" in element.tag:
            _rewrite_confluence(element)
        elif element.tag in _CONTAINERS and (kind := _find_callout(element)):
            _quote(element, kind)


def _find_text(element: Any) -> str | None:
    """Return the text that replaces an element, None for an element that stays."""
    if element.tag in {"sup", "sub"} and element.find(".//a") is None:
        return (raise_text if element.tag == "sup" else lower_text)(_text_of(element))
    if element.tag == "math":
        return render_mathml(element)
    if element.tag == "script" and str(element.get("type", "")).startswith("math/tex"):
        return f"${_text_of(element)}$"
    if _is_box(element):
        return "[x] " if _is_checked(element) else "[ ] "
    # The visible twin of a formula, for screens only.
    return "" if "katex-html" in str(element.get("class", "")).split() else None


def restore_points(markdown: str) -> str:
    """Put the points of list numbers into the Markdown."""
    return markdown.replace(POINT, ".")


def _text_of(element: Any) -> str:
    return "".join(element.itertext())


def _replace_by_text(element: Any, text: str) -> None:
    parent = element.getparent()
    if parent is None:
        return
    tail = f"{text}{element.tail or ''}"
    before = element.getprevious()
    parent.remove(element)
    if before is not None:
        before.tail = f"{before.tail or ''}{tail}"
    else:
        parent.text = f"{parent.text or ''}{tail}"


def _is_box(element: Any) -> bool:
    return (element.tag == "input" and str(element.get("type", "")).lower() in {"checkbox", "radio"}) or (
        element.get("role") in {"checkbox", "radio"}
    )


def _is_checked(element: Any) -> bool:
    return element.get("checked") is not None or element.get("aria-checked") == "true"


def _number_items(items: Any) -> None:
    """Write the numbers of a list before its items, unless they are 1, 2, 3 or follow from `start`."""
    own = [one for one in items if one.tag == "li"]
    is_reversed, style = items.get("reversed") is not None, str(items.get("type", "1"))
    if not is_reversed and style not in {"a", "A", "i", "I"} and all(one.get("value") is None for one in own):
        return
    number = _integer(items.get("start"), len(own) if is_reversed else 1)
    for item in own:
        number = _integer(item.get("value"), number)
        item.text = f"{_format_number(number, style)}{POINT} {(item.text or '').lstrip()}"
        item.tag = "div"
        number += -1 if is_reversed else 1
    items.tag = "div"
    items.set("class", NUMBERED)


def _integer(text: Any, default: int) -> int:
    found = re.fullmatch(r"\s*(-?\d{1,9})\s*", str(text))
    return int(found[1]) if found else default


def _format_number(number: int, style: str) -> str:
    text = ""
    if style in {"a", "A"} and 1 <= number <= 26:
        text = to_letters(number)
    elif style in {"i", "I"} and 1 <= number <= 39:
        text = to_roman(number)
    return (text.upper() if style.isupper() else text) or str(number)


def to_letters(number: int) -> str:
    """Return a, b … z, aa, bb …; at most 20 letters."""
    return chr(ord("a") + (number - 1) % 26) * min((number + 25) // 26, 20)


def to_roman(number: int) -> str:
    """Return a lowercase Roman numeral, modulo 10,000."""
    text = ""
    for value, letters in _ROMAN.items():
        count, number = divmod(number % 10_000, value)
        text += letters * count
    return text


def _split_lines(cell: Any) -> None:
    """Give each line of code in a cell an element of its own, since cells have one line."""
    for code in [
        one for one in cell.iter("pre", "code") if one.tag == "pre" or one.find(".//br") is not None
    ]:
        if code.getparent() is None or any(one.tag == "pre" for one in code.iterancestors()):
            continue
        for line_break in code.findall(".//br"):
            line_break.tail = f"\n{line_break.tail or ''}"
        lines = [line for line in _text_of(code).split("\n") if line.strip()]
        tail = code.tail
        code.clear()
        code.tag, code.tail = "span", tail
        for number, line in enumerate(lines):
            if number:
                etree.SubElement(code, "br")
            etree.SubElement(code, "code").text = line.strip()


def _find_callout(element: Any) -> str:
    """Return the kind of callout that an element is, "" for none."""
    classes = str(element.get("class", "")).lower()
    if element.tag == "aside" and (found := _KIND.search(classes)):
        return found["kind"]
    if _CALLOUT_CLASS.search(classes) and "title" not in classes and "icon" not in classes:
        found = _KIND.search(classes)
        return found["kind"] if found else "note"
    return "warning" if element.get("role") == "alert" else ""


def _quote(element: Any, kind: str) -> None:
    """Make a callout a quotation that begins with its kind."""
    if any(CALLOUT in str(one.get("class", "")).split() for one in element.iterdescendants("blockquote")):
        return
    if not _text_of(element).strip():
        return
    begins = " ".join(_text_of(element).split())[: len(kind)].lower()
    element.tag = "blockquote"
    element.set("class", CALLOUT)
    if begins != kind:
        label = etree.Element("p")
        etree.SubElement(label, "strong").text = f"{kind.capitalize()}:"
        label.tail, element.text = element.text, None
        element.insert(0, label)


def _rewrite_confluence(element: Any) -> None:
    """Rewrite an element of Confluence's storage format."""
    match element.tag:
        case "ac:structured-macro" | "ac:macro":
            _rewrite_macro(element)
        case "ac:task-status":
            _replace_by_text(element, "[x] " if _text_of(element).strip() == "complete" else "[ ] ")
        case "ac:task-id" | "ac:task-uuid":
            _replace_by_text(element, "")
        case "ac:task":
            element.tag = "div"
        case "ri:page" | "ri:attachment":
            title = element.get("ri:content-title") or element.get("ri:filename") or ""
            linked = element.getparent()
            has_text = linked is not None and _text_of(linked).strip()
            _replace_by_text(element, "" if has_text else title)


def _rewrite_macro(macro: Any) -> None:
    name = str(macro.get("ac:name", "")).lower()
    parameters = {
        str(one.get("ac:name", "")): _text_of(one).strip() for one in macro if one.tag == _PARAMETER
    }
    for parameter in [one for one in macro if one.tag == _PARAMETER]:
        _replace_by_text(parameter, "")
    body = next((one for one in macro.iter(_BODY)), None)
    if body is not None:
        text = _text_of(body)
        body.clear(keep_tail=True)
        body.tag = "pre"
        code = etree.SubElement(body, "code")
        code.text = text.strip("\n")
        if language := parameters.get("language", ""):
            code.set("class", f"language-{language}")
    title = parameters.get("title", "")
    if title:
        label = etree.Element("p")
        etree.SubElement(label, "strong").text = title
        label.tail, macro.text = macro.text, None
        macro.insert(0, label)
    macro.tag = "div"
    if name in _KINDS:
        _quote(macro, name)
    elif name == "status":
        _replace_by_text(macro, title)
