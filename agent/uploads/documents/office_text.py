"""Text that the readers of Office files drop: formulas, headers and footers, links, raised characters."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from agent.shared.formula_text import render_office_formula
from agent.shared.raised_text import lower_text, raise_text
from agent.uploads.documents.office_parts import list_texts, parse_part, render_chart
from agent.uploads.documents.tables import cell
from agent.uploads.documents.word_numbers import write_numbers

_DOCUMENT, _NUMBERING, _STYLES = (f"word/{name}.xml" for name in ("document", "numbering", "styles"))
_AROUND = re.compile(r"word/(header|footer)\d*\.xml")
_CHART = re.compile(r"word/charts/chart\d*\.xml")
_DIAGRAM = re.compile(r"word/diagrams/data\d*\.xml")
_CHANGED = frozenset(f"word/{name}.xml" for name in ("document", "footnotes", "endnotes", "comments"))


def prepare_word(content: bytes) -> tuple[bytes, Sequence[str]]:
    """Prepare a Word file for mammoth.

    Return the file with its formulas, fields and automatic numbers as text, and the text of headers, footers,
    charts and diagrams.
    """
    source = zipfile.ZipFile(io.BytesIO(content))
    around: dict[str, None] = {}
    for name in source.namelist():
        if found := _AROUND.fullmatch(name):
            around |= dict.fromkeys(list_texts(source.read(name), found[1].capitalize()))
        elif _CHART.fullmatch(name):
            around[render_chart(source.read(name))] = None
        elif _DIAGRAM.fullmatch(name):
            around |= dict.fromkeys(list_texts(source.read(name), "Diagram"))
    lists = [source.read(one) for one in (_NUMBERING, _STYLES) if one in source.NameToInfo]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as changed:
        for name in source.namelist():
            part = source.read(name)
            if name in _CHANGED:
                root = parse_part(part)
                if name == _DOCUMENT and len(lists) > 1:
                    with suppress(ValueError, etree.XMLSyntaxError):
                        write_numbers(root, *map(parse_part, lists))
                part = _write_text(root)
            changed.writestr(name, part)
    return target.getvalue(), [f"{text}\n" for text in around]


def _write_text(root: Any) -> bytes:
    """Serialize a part; elements that mammoth ignores become text or are unwrapped.

    These are formulas, simple fields, ruby text, text directions and line breaks of the kind `cr`. Comments
    get their author as initials.
    """
    names = root.nsmap.get("w") or etree.QName(root).namespace
    for formula in list(root.iter("{*}oMath")):
        parent = formula.getparent()
        run = _make_run(names, render_office_formula(formula).strip())
        if etree.QName(parent).localname == "oMathPara" and parent.getparent() is not None:
            parent.addprevious(run)
            parent.remove(formula)
        else:
            parent.replace(formula, run)
    for line_break in list(root.iter(f"{{{names}}}cr")):
        line_break.tag = f"{{{names}}}br"
    for reading in list(root.iter("{*}rt")):
        reading.getnext().append(_make_run(names, f"({''.join(reading.itertext('{*}t'))})"))
        reading.getparent().remove(reading)
    for wrapper in list(root.iter("{*}fldSimple", "{*}bdo", "{*}dir", "{*}ruby", "{*}rubyBase")):
        for child in wrapper:
            wrapper.addprevious(child)
        wrapper.getparent().remove(wrapper)
    _unpack_boxes(root, names)
    for comment in root.iter("{*}comment"):
        author = next((value for key, value in comment.attrib.items() if key.endswith("}author")), "")
        comment.set(f"{{{names}}}initials", author)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


def _unpack_boxes(root: Any, names: str) -> None:
    """Move text boxes to where mammoth reads them: into the fallback content, or after the drawing."""
    ready = {one for one in root.iter("{*}Fallback") if one.find(".//{*}txbxContent") is not None}
    for box in list(root.iter("{*}txbxContent")):
        holder = None
        for one in box.iterancestors():
            name = etree.QName(one).localname
            if name in {"p", "pict", "Fallback"}:
                break
            holder = one if name in {"drawing", "AlternateContent"} else holder
        if holder is None or name != "p":
            continue
        target = etree.Element(f"{{{names}}}pict")
        if etree.QName(holder).localname == "drawing":
            holder.addnext(target)
        else:
            fallback = holder.find("{*}Fallback")
            if fallback is None:
                fallback = etree.SubElement(holder, f"{{{etree.QName(holder).namespace}}}Fallback")
            if fallback in ready:
                continue
            fallback.append(target)
        target.append(box)


def _make_run(names: str, text: str) -> Any:
    run = etree.Element(f"{{{names}}}r")
    etree.SubElement(run, f"{{{names}}}t").text = text
    return run


def read_paragraph(paragraph: Any) -> str:
    """Return a slide's paragraph as Markdown, with links, formulas, and raised and lowered characters."""
    return "".join(_read_part(part, paragraph) for part in paragraph._p)


def _read_part(part: Any, paragraph: Any) -> str:
    name = etree.QName(part).localname
    if name == "br":
        return " "
    if name not in {"r", "fld"}:
        formula = next(part.iter("{*}oMath"), None)
        return "" if formula is None else render_office_formula(formula)
    text = part.findtext("{*}t") or ""
    properties = part.find("{*}rPr")
    if properties is None:
        return text
    baseline = properties.get("baseline", "0").lstrip("+")
    if re.fullmatch(r"-?[1-9]\d*%?", baseline):
        text = lower_text(text) if baseline.startswith("-") else raise_text(text)
    link = properties.find("{*}hlinkClick")
    target = find_target(link, paragraph) if link is not None else ""
    return f"[{text}]({target})" if target and text.strip() else text


def find_target(link: Any, owner: Any) -> str:
    """Return the external target of a link; "" for a link within the file."""
    key = next((value for name, value in link.attrib.items() if name.endswith("}id")), "")
    try:
        relation = owner.part.rels[key]
    except KeyError:
        return ""
    return str(relation.target_ref) if relation.is_external else ""


def list_formulas(shapes: Any) -> list[str]:
    """Return the paragraphs of shapes with formulas, which python-pptx skips as alternative content."""
    found = []
    for choice in shapes.iterfind("{*}AlternateContent/{*}Choice"):
        for paragraph in choice.iter("{http://schemas.openxmlformats.org/drawingml/2006/main}p"):
            formulas = {part: render_office_formula(part) for part in paragraph.iter("{*}oMath")}
            texts = [
                one.text or ""
                for one in paragraph.iter("{http://schemas.openxmlformats.org/drawingml/2006/main}t")
            ]
            if text := cell(" ".join([*texts, *formulas.values()])):
                found.append(f"- {text}\n")
    return found
