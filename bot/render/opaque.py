"""Find what Markdown must not touch: formulas, addresses, e-mail addresses and paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class OpaqueKind(Enum):
    """Kind of text that is shown as written."""

    FORMULA = "formula"
    ADDRESS = "address"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Opaque:
    """`text[start:end]`, shown as written."""

    start: int
    end: int
    kind: OpaqueKind


_CJK_LETTER = "\u3005\u3041-\u30fa\u30fc-\u318e\u3400-\u9fff\uac00-\ud7a3"
_URL = (
    r"(?<![A-Za-z0-9+.-])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:|www\.(?=[\w-]+\.))"
    r"(?:[!#$%&'()*+,./0-9:;=?@A-Z_a-z~-]"
    r"|[\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u10ff]"
    rf"|(?<=[/=&#?])[{_CJK_LETTER}]|(?<=[{_CJK_LETTER}])[{_CJK_LETTER}]|(?<=[{_CJK_LETTER}]_)[{_CJK_LETTER}])+"
)
_MAIL = r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_PATH = (
    r"(?<![A-Za-z0-9/.:~\\$%@<-])(?:(?:[A-Za-z]:\\|\\\\(?=[\w.-]+\\\w))[A-Za-z0-9_.@%+=:,~#*?{}$\\/-]*"
    r"|(?:(?:~|\.{1,2})?/(?=[\w.*])|(?<!_)[A-Za-z0-9_.@-]+/(?=[\w.*]))[A-Za-z0-9_.@%+=:,~#*?{}$/-]*)"
)
_MODULE = r"(?<![\w*.])__?[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__?\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w*])"
_FORMULA = (
    r"(?<![\\$])\$\$(?:\\.|[^\\$`]){1,3000}\$\$(?!\$)"
    r"|(?<![\\$A-Za-z0-9_])\$(?![\s$])(?:\\.|[^\\$`\n]){0,500}(?<![\s\\])\$(?![A-Za-z0-9_$])"
    r"|(?<!\\)\\\((?:\\[^()\[\]]|[^\\`]){1,1000}\\\)"
    r"|(?<!\\)\\\[(?:\\[^()\[\]]|[^\\`]){1,3000}\\\](?!\()"
    r"|(?<!\\)\\begin\{(?P<environment>[a-z]{1,20}\*?)\}[^`]{1,3000}?\\end\{(?P=environment)\}"
)
LONGEST_FORMULA = 2000
"""Characters of an unfinished formula."""
_HALF_FORMULA = re.compile(
    r"(?:(?<![\\$A-Za-z0-9_])\$(?![\s\d$])|(?<!\\)\\\()(?P<short>(?:\\[^)]|[^\\$`\n])*\\?)$"
    r"|(?:(?<![\\$])\$\$(?!\$)|(?<!\\)\\\[)(?:\\[^\]]|[^\\$`\n]|\n(?!\s*\n))*[\\$]?$"
    r"|(?<!\\)\\begin\{(?:(?!\\end\{)(?:[^`\n]|\n(?!\s*\n)))*(?:\\end\{[a-z]*\*?)?$",
    re.DOTALL,
)
_HALF_NAME = re.compile(
    r"(?<![\w*/.:@~\\-])(?:__?[A-Za-z0-9][A-Za-z0-9_.+@-]{0,60}|[\w.:~-]{0,60}[/\\][\w.~/\\-]{0,100}[*_][^\s`]{0,60})$"
)
_FOUND = re.compile(
    rf"(?P<formula>{_FORMULA})|(?P<url>{_URL})|(?P<mail>{_MAIL})|(?P<path>{_PATH})|(?P<module>{_MODULE})",
    re.DOTALL,
)
_HINT = re.compile(r"[$\\/@]|www\.|mailto:|_\.")
_PUNCTUATION = frozenset("?!.,:;'")
_HOST = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|mailto:|www\.|[A-Za-z0-9_.+-]+@)[\w\[/]")
_MATHEMATICAL = re.compile(r"\\[A-Za-z,;:! {}|]|[\^_{}=<>+]|\\\\")
_WORDS = re.compile(rf"[A-Za-z]{{3,}}\s|\s[A-Za-z]{{3,}}|[{_CJK_LETTER}]")
_GLOB = re.compile(r"(?:^|/)\*{1,2}(?:/|\.\w|$)|/[\w.-]*\*[\w.-]*\.\w+$")
_STRONG_SEGMENT = re.compile(r"\*\*?[^/*]+\*")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")


def find_opaque(text: str) -> list[Opaque]:
    """Return what must not be touched in a paragraph's source, in order.

    Whatever starts within a code span or a link's target is no construct of its own; the caller skips it.
    """
    return list(_find(text)) if _HINT.search(text) else []


def find_half(text: str) -> int:
    """Return where a formula or a name begins that the end of a growing text may be inside of, or -1."""
    name = _HALF_NAME.search(text, max(0, len(text) - 250))
    formula = _find_half_formula(text)
    if name is None or 0 <= formula < name.start():
        return formula
    return name.start()


def _find_half_formula(text: str) -> int:
    shift = max(0, len(text) - LONGEST_FORMULA)
    found = _HALF_FORMULA.search(text, shift) if _HINT.search(text, shift) else None
    if found is None or (found["short"] and _WORDS.search(found["short"])):
        return -1
    return found.start()


def _find(text: str) -> Iterator[Opaque]:
    at = 0
    marks = _OpenMarks(text)
    while found := _FOUND.search(text, at):
        start, end = found.span()
        if found["formula"]:
            kind = OpaqueKind.FORMULA
            end = end if _is_formula(found[0]) else start
        elif found["path"]:
            kind = OpaqueKind.NAME
            path = _trim_end(found[0], marks.at(start))
            end = start + len(path) if _is_path(path) else start
        elif found["module"]:
            kind = OpaqueKind.NAME
        else:
            kind = OpaqueKind.ADDRESS if found["url"] else OpaqueKind.NAME
            address = _trim_end(found[0], marks.at(start))
            end = start + len(address) if _HOST.match(address) else start
        if end > start:
            yield Opaque(start, end, kind)
        at = end if end > start else _next(found)


def _next(found: re.Match[str]) -> int:
    """Return where to search on after something that was rejected."""
    return found.start() + 1 if found["formula"] else found.end()


class _OpenMarks:
    """Tells which emphasis is open at ascending positions, by counting its delimiters."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._counts = text, 0, {"**": 0, "~~": 0}

    def at(self, position: int) -> list[str]:
        for mark in self._counts:
            self._counts[mark] += self._text.count(mark, self._at, position)
        self._at = position
        before = self._text[position - 1 : position]
        single = [before] if before in ("*", "_") else []
        return [*(mark for mark, count in self._counts.items() if count % 2), *single]


def _trim_end(source: str, open_marks: list[str]) -> str:
    """Cut what belongs to the text around an address: punctuation, brackets, and the end of emphasis."""
    for mark in open_marks:
        cut = source.find(mark)
        source = source[:cut] if cut > 0 else source
    counts = {sign: source.count(sign) for sign in "*_~"}
    counts[")"] = source.count(")") - source.count("(")
    end = len(source)
    while end:
        last = source[end - 1]
        if last not in _PUNCTUATION and not (counts.get(last, 0) % 2 if last != ")" else counts[last] > 0):
            break
        counts[last] = counts.get(last, 0) - 1
        end -= 1
    return source[:end]


def _is_path(path: str) -> bool:
    if not any(sign in path for sign in "_*\\~"):
        return False
    if re.match(r"[A-Za-z]:\\|\\\\", path):
        return True
    if "*" in path and (_STRONG_SEGMENT.search(path) or not _GLOB.search(path)):
        return False
    is_rooted = path.startswith(("/", "./", "../", "~/"))
    return is_rooted or path.count("/") > 1 or _EXTENSION.search(path) is not None


def _is_formula(source: str) -> bool:
    """Return whether text between delimiters is a formula rather than prose between prices or brackets."""
    if source.startswith((r"\begin", "$$")):
        return True
    inner = source[1:-1] if source[0] == "$" else source[2:-2]
    if any(inner.count(left) != inner.count(right) for left, right in ("()", "{}")):
        return False
    if re.search(r"\\[A-Za-z]", inner):
        return True
    if _WORDS.search(inner):
        return False
    is_mathematical = _MATHEMATICAL.search(inner) is not None
    if source.startswith(r"\["):
        return is_mathematical or "\n" in source
    return is_mathematical or not (inner[:1].isdigit() and re.search(r"\s", inner))
