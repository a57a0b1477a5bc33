"""Text of Office files that their readers drop: formulas, headers and footers, links, raised characters."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from agent.shared.formula_text import render_office_formula
from agent.shared.raised_text import lower_text, raise_text
from agent.uploads.documents.tables import cell

UNNUMBERED = "Automatic numbers of headings are not included."
_DOCUMENT, _STYLES = "word/document.xml", "word/styles.xml"
_AROUND = re.compile(r"word/(header|footer)\d*\.xml")


def prepare_word(content: bytes, notes: list[str]) -> tuple[bytes, Sequence[str]]:
    """Return a Word file whose formulas are text, and a line for each header and footer."""
    source = zipfile.ZipFile(io.BytesIO(content))
    around: dict[str, None] = {}
    for name in source.namelist():
        if found := _AROUND.fullmatch(name):
            text = " ".join(_parse(source.read(name)).itertext("{*}t"))
            around |= {f"{found[1].capitalize()}: {cell(text)}\n\n": None} if text.strip() else {}
    if _STYLES in source.NameToInfo and any(
        style.find(".//{*}numPr") is not None and style.find(".//{*}outlineLvl") is not None
        for style in _parse(source.read(_STYLES)).iter("{*}style")
    ):
        notes.append(UNNUMBERED)
    document = source.read(_DOCUMENT) if _DOCUMENT in source.NameToInfo else b""
    if b"oMath" not in document:
        return content, list(around)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as changed:
        for info in source.infolist():
            is_document = info.filename == _DOCUMENT
            changed.writestr(info, _write_formulas(document) if is_document else source.read(info))
    return target.getvalue(), list(around)


def _write_formulas(document: bytes) -> bytes:
    root = _parse(document)
    names = root.nsmap.get("w") or etree.QName(root).namespace
    for formula in list(root.iter("{*}oMath")):
        parent = formula.getparent()
        run = etree.Element(f"{{{names}}}r")
        text = etree.SubElement(run, f"{{{names}}}t")
        text.text = render_office_formula(formula).strip()
        if parent is None:
            continue
        if etree.QName(parent).localname == "oMathPara" and parent.getparent() is not None:
            parent.addprevious(run)
            parent.remove(formula)
        else:
            parent.replace(formula, run)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


def read_paragraph(paragraph: Any) -> str:
    """Return a slide's paragraph, with its links, formulas, and raised and lowered characters."""
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
    target = _find_target(link, paragraph) if link is not None else ""
    return f"[{text}]({target})" if target and text.strip() else text


def _find_target(link: Any, paragraph: Any) -> str:
    key = next((value for name, value in link.attrib.items() if name.endswith("}id")), "")
    try:
        relation = paragraph.part.rels[key]
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


def _parse(part: bytes) -> Any:
    return etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
