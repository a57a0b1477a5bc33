"""Remove paths of the agent's folders from an answer: people see names, and linked outputs are attached.

A link or an image into these folders becomes its text, an image alone on its line disappears, any other path
becomes the file's name. Code blocks, and folders in code spans, stay as they are.

Models link to files instead of presenting them, and in a chat such a link leads nowhere. A path in prose
attaches nothing, as it often names a file that the answer merely talks about. The text is cleaned before it
is stored, so all platforms, the record and exports have the same one; the agent's thread keeps the original.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from urllib.parse import unquote

from agent.shared.output_links import (
    CODE,
    LABEL,
    LINK,
    MAX_FILES,
    OTHER_ROOT,
    OWN,
    ROOT,
    SCHEME,
    TARGET,
    is_relative,
    read_address,
    resolve_output,
    without_scheme,
)
from bot.render.block_scanner import BlockKind, Leaf, ScannerState, scan

# A path ends before a space, markup, a quotation mark or the punctuation of Chinese.
_PATH = r"""[^\s<>()\[\]"'`*|，。；：！？、（）「」《》“”]*"""
_BEFORE = r"(?<![A-Za-z0-9_/.~-])"
_FOUND = re.compile(
    rf"{CODE}|{LINK}"
    rf"|<(?P<auto>{SCHEME}{ROOT}/[^<>\n]*)>"
    rf"|{_BEFORE}(?P<bare>{SCHEME}{ROOT}/{_PATH})"
)
_LONE_IMAGES = re.compile(rf"[ \t]*(?:!{LABEL}{TARGET}[ \t]*)+")
# The folders themselves are what a text is about; only files in them have a shorter name.
_CODE_PATH = re.compile(rf" ?(?!{ROOT}/\w+/?(?![^`\n]))({OWN}[^`\n]+?) ?")
# The end of a growing text that may become a path.
_HALF = re.compile(rf"{_BEFORE}(?:(?:sandbox|file):/{{0,2}}|{SCHEME}/(?:m|mn|mnt|mnt/{_PATH})?)$")
_UNTOUCHED = frozenset(
    {BlockKind.FENCE_OPEN, BlockKind.FENCE_LINE, BlockKind.FENCE_CLOSE, BlockKind.INDENTED}
)


def file_name(path: str) -> str:
    """Return the last segment of a path."""
    return posixpath.basename(unquote(without_scheme(path)).rstrip("/"))


class ThreadPaths:
    """Cleans a growing text; a call's cost is proportional to the added text and the last line.

    `files` are the linked files in outputs, as virtual paths in their order. An image of a `missing` file
    keeps its text also where it is alone on its line, and a link to one by its mere name stays as it is,
    since it may mean something else.
    """

    def __init__(self, missing: Collection[str] = ()) -> None:
        self._missing = missing
        self._known = ""
        self._lines: list[str | None] = []
        self._state = ScannerState()
        self._linked: dict[str, None] = {}
        self.files: tuple[str, ...] = ()

    def clean(self, text: str, *, growing: bool = False) -> str:
        """Return the text without paths. The end of a `growing` text is held back if it may become a path."""
        if not text.startswith(self._known):
            self._known, self._lines, self._state, self._linked = "", [], ScannerState(), {}
        at = len(self._known)
        while (end := text.find("\n", at)) >= 0:
            line, self._state = self._clean_line(text[at:end], self._state, self._linked)
            _append(self._lines, line)
            at = end + 1
        self._known = text[:at]
        rest, linked = text[at:], dict(self._linked)
        if growing and self._state.leaf is not Leaf.FENCE and (half := _HALF.search(rest)):
            rest = rest[: half.start()]
        # What kind of line the last one is matters only if there is a path in it.
        last = self._clean_line(rest, self._state, linked)[0] if _may_have_path(rest) else rest
        self.files = tuple(linked)[:MAX_FILES]
        lines = list(self._lines)
        _append(lines, last)
        return "\n".join(line for line in lines if line is not None)

    def _clean_line(
        self, line: str, state: ScannerState, linked: dict[str, None]
    ) -> tuple[str | None, ScannerState]:
        """Return the line without paths (None if nothing remains) and the state after it."""
        found = scan(line, state)
        if found.kind in _UNTOUCHED or not _may_have_path(line):
            return line, found.state
        own: dict[str, None] = {}
        clean = _FOUND.sub(lambda match: _replacement(match, own, self._missing), line)
        linked.update(own)
        is_gone = _LONE_IMAGES.fullmatch(line) and own and not any(path in self._missing for path in own)
        return None if is_gone else clean, found.state


def _may_have_path(line: str) -> bool:
    return f"{ROOT}/" in line or OTHER_ROOT in line or "outputs/" in line or "](" in line


def _append(lines: list[str | None], line: str | None) -> None:
    """Add a line. If a line that disappeared (None) was between two blank lines, drop the second blank
    line.
    """
    if line is not None and not line.strip() and lines and lines[-1] is None:
        before = lines[-2] if len(lines) > 1 else ""
        if before is not None and not before.strip():
            return
    lines.append(line)


def _replacement(found: re.Match[str], linked: dict[str, None], missing: Collection[str] = ()) -> str:
    """Return the replacement for a path or a link, and collect a linked file."""
    if found["code"]:
        path = _CODE_PATH.fullmatch(found["inner"])
        return f"{found['ticks']}{file_name(path[1])}{found['ticks']}" if path else found["code"]
    if target := found["target"] or found["source"]:
        if _is_kept(target, missing):
            return found[0]
        shown = _linked_text((found["label"] or found["image"])[1:-1], target, linked)
        if found["around"]:
            _linked_text("", found["around"], linked)
        return shown
    if found["auto"]:
        return file_name(found["auto"])
    path_end = found["bare"].rstrip(".,;:!?")
    return file_name(path_end) + found["bare"][len(path_end) :]


def _is_kept(target: str, missing: Collection[str]) -> bool:
    """Return whether a target is a mere name and no file of outputs."""
    address = read_address(target)
    output = resolve_output(address)
    return is_relative(address) and (not output or output in missing)


def _linked_text(label: str, target: str, linked: dict[str, None]) -> str:
    path = read_address(target)
    if output := resolve_output(path):
        linked.setdefault(output)
    return _FOUND.sub(lambda found: _replacement(found, {}), label).strip() or file_name(path)
