"""Formulas of MathML and of Office (OMML) as one line of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.shared.raised_text import lower_text, raise_text

_MAX_DEPTH = 60
_ANNOTATIONS = frozenset({"annotation", "annotation-xml"})


def render_mathml(math: Any) -> str:
    """Return a formula: its TeX source if it has one, else its text with ^, _, / and √."""
    for source in math.iter("annotation", "{*}annotation"):
        text = " ".join("".join(source.itertext()).split())
        if text and "tex" in str(source.get("encoding", "")).lower():
            return f"${text}$"
    if text := " ".join(str(math.get("alttext") or "").split()):
        return f"${text}$" if "\\" in text else text
    return _mathml(math, 0)


def _mathml(element: Any, depth: int) -> str:
    name = _local(element)
    if name in _ANNOTATIONS:
        return ""
    if depth > _MAX_DEPTH:
        return " ".join("".join(element.itertext()).split())
    parts = [_mathml(one, depth + 1) for one in element if isinstance(one.tag, str)]
    if name in _BY_POSITION and len(parts) >= 2:
        return _BY_POSITION[name](parts)
    begin, separator, end = _AROUND.get(name, ("", "", ""))
    if name == "mfenced":
        begin, end = element.get("open", begin), element.get("close", end)
    own = " ".join((element.text or "").split())
    return f"{begin}{f' {own} ' if name == 'mo' and own in _SPACED else own}{separator.join(parts)}{end}"


def render_office_formula(element: Any, depth: int = 0) -> str:
    """Return the text of an OMML element (ECMA-376 part 1, section 22.1)."""
    name = _local(element)
    if depth > _MAX_DEPTH or name == "t":
        return "".join(element.itertext())
    children = [one for one in element if isinstance(one.tag, str) and not _local(one).endswith("Pr")]
    texts = [render_office_formula(one, depth + 1) for one in children]
    parts = {_local(one): text for one, text in zip(children, texts, strict=True)}
    if name not in _OFFICE:
        return _SEPARATORS.get(name, "").join(texts)
    # A delimiter has several elements.
    parts["all"] = ", ".join(text for one, text in zip(children, texts, strict=True) if _local(one) == "e")
    for key in ("begChr", "endChr", "chr"):
        if (value := _property(element, key)) is not None:
            parts[key] = value
    return _OFFICE[name](parts)


def _property(element: Any, name: str) -> str | None:
    for one in element.iter(f"{{*}}{name}"):
        return next((str(value) for key, value in one.attrib.items() if key.endswith("}val")), "")
    return None


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]


def _group(text: str) -> str:
    text = text.strip()
    return text if len(text) == 1 or text.isalnum() else f"({text})"


def _fraction(parts: Sequence[str]) -> str:
    return f"{_group(parts[0])}/{_group(parts[1])}"


_BY_POSITION: Mapping[str, Callable[[Sequence[str]], str]] = {
    "mfrac": _fraction,
    "msup": lambda parts: parts[0] + raise_text(parts[1]),
    "mover": lambda parts: parts[0] + raise_text(parts[1]),
    "msub": lambda parts: parts[0] + lower_text(parts[1]),
    "munder": lambda parts: parts[0] + lower_text(parts[1]),
    "msubsup": lambda parts: parts[0] + lower_text(parts[1]) + raise_text("".join(parts[2:])),
    "munderover": lambda parts: parts[0] + lower_text(parts[1]) + raise_text("".join(parts[2:])),
    "mroot": lambda parts: f"{raise_text(parts[1])}√{_group(parts[0])}",
}

_AROUND = {
    "msqrt": ("√(", "", ")"),
    "mtable": ("[", "; ", "]"),
    "mtr": ("", ", ", ""),
    "mfenced": ("(", ", ", ")"),
}
_SPACED = frozenset("=+−<>≤≥≠≈→∈±")
Parts = Mapping[str, str]
_SEPARATORS = {"m": "; ", "mr": ", "}
_OFFICE: Mapping[str, Callable[[Parts], str]] = {
    "f": lambda parts: _fraction([parts.get("num", ""), parts.get("den", "")]),
    "sSup": lambda parts: parts.get("e", "") + raise_text(parts.get("sup", "")),
    "sSub": lambda parts: parts.get("e", "") + lower_text(parts.get("sub", "")),
    "sSubSup": lambda parts: (
        parts.get("e", "") + lower_text(parts.get("sub", "")) + raise_text(parts.get("sup", ""))
    ),
    "rad": lambda parts: f"{raise_text(parts.get('deg', ''))}√{_group(parts.get('e', ''))}",
    "d": lambda parts: f"{parts.get('begChr', '(')}{parts['all']}{parts.get('endChr', ')')}",
    "nary": lambda parts: (
        f"{parts.get('chr', '∫')}{lower_text(parts.get('sub', ''))}{raise_text(parts.get('sup', ''))} "
        f"{parts.get('e', '')}"
    ),
    "func": lambda parts: f"{parts.get('fName', '')} {parts.get('e', '')}",
    "acc": lambda parts: parts.get("e", "") + parts.get("chr", "\u0302"),
}
