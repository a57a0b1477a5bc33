"""Tool call arguments rendered for people: readable, bounded, and with every omission reported.

Arguments may quote anybody, so nothing in them can pass for markup, for another argument or for the bot's
words: invisible characters and those that change the text direction are escaped.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

# Limits: characters of all values together, lines of one value, characters of a name, number of arguments,
# nesting levels.
MAX_CHARACTERS, MAX_LINES, MAX_NAME, MAX_ARGUMENTS, MAX_DEPTH = 2400, 30, 80, 20, 20
# Characters of arguments rendered on one line: of all together, and of each value.
MAX_LINE, MAX_LINE_VALUE = 200, 80
HIDDEN = "***"
DEEPER = "[… nested values …]"
_FINGERPRINT_KEY = secrets.token_bytes(32)
_SECRET = re.compile(
    r"(?:^|[_\-\s])(?:pass(?:word|wd|phrase)?|secret|token|cookie|credentials?|authorization"
    r"|(?:api|private|access)[_-]?key)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Unicode categories of invisible characters: control and format characters (which include text direction),
# and line separators that Markdown does not treat as line ends.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_UNNAMED = re.compile(r"[^\w.:/@-]")
_FENCE = "```"
_IN_A_RUN = re.compile(r"`(?=`)")
Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class RenderedArguments:
    """Arguments as Markdown: `block` is a fenced code block ("" without arguments); `omitted` is the number
    of characters left out, `hidden` the number of characters hidden as secrets.
    """

    block: str
    omitted: int
    hidden: int = 0


def render_tool_name(name: Any) -> str:
    """Return a tool's name as inline code."""
    return f"`{plain_tool_name(name)}`"


def plain_tool_name(name: Any) -> str:
    """Return a tool's name without characters that could be markup."""
    plain = _UNNAMED.sub("?", name)[:MAX_NAME] if isinstance(name, str) else ""
    return plain or "?"


def render_argument_line(args: Any, mask: Mask) -> str:
    """Return the arguments on one line, each shortened. Secrets are hidden."""
    if not args:
        return ""
    given: Iterable[tuple[Any, Any]] = args.items() if isinstance(args, Mapping) else [("", args)]
    said = [_render_argument(str(name), value, mask) for name, value in islice(given, MAX_ARGUMENTS)]
    return one_line(", ".join(said), MAX_LINE)


def one_line(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, without invisible characters."""
    begins = text[: 4 * limit]
    line = " ".join(begins.split())
    cut = line[:limit]
    return _escape_invisible(cut, allowed="") + ("…" if cut != line or begins != text else "")


def _render_argument(name: str, value: Any, mask: Mask) -> str:
    opened = _hide_secrets(name, value, lambda _: HIDDEN)
    text = mask(opened if isinstance(opened, str) else json.dumps(opened, ensure_ascii=False, default=str))
    short = one_line(text, MAX_LINE_VALUE)
    return f"{one_line(name, MAX_NAME)}: {short}" if name else short


def render_arguments(args: Any, mask: Mask) -> RenderedArguments:
    """Render one argument per line. Long values are shortened in the middle; `mask` hides secrets, and
    arguments with secret-like names are hidden too.
    """
    if not args:
        return RenderedArguments("", 0)
    given: Iterable[tuple[Any, Any]] = args.items() if isinstance(args, Mapping) else [("", args)]
    hiding = _Hiding(mask)
    values = [(str(name), hiding.render(str(name), value)) for name, value in given]
    room = MAX_CHARACTERS // min(len(values), MAX_ARGUMENTS)
    left_out = sum(len(name) + len(value) for name, value in values[MAX_ARGUMENTS:])
    lines: list[str] = []
    for name, value in values[:MAX_ARGUMENTS]:
        cut, gone = _shorten(value, room)
        left_out += gone
        named = _escape_invisible(name, allowed="").strip()[:MAX_NAME] or '""'
        lines += _argument_lines(named if isinstance(args, Mapping) else "", cut)
    return RenderedArguments(_fence_lines(lines), left_out, hiding.count)


def render_complete(tool: Any, args: Any, mask: Mask) -> str:
    """Return the whole call as plain text, with secrets hidden and invisible characters escaped. For a value
    that is hidden because of its name, the text contains its number of characters.
    """
    given = args if isinstance(args, Mapping) else {"": args}
    lines, hiding = [plain_tool_name(tool)], _Hiding(mask, shows_sizes=True)
    for name, value in given.items():
        rendered = hiding.render(str(name), value)
        lines += ["", *_argument_lines(_escape_invisible(str(name), allowed=""), rendered)]
    return "\n".join(lines) + "\n"


class _Hiding:
    """Renders values with secrets hidden; `count` is the number of characters hidden so far."""

    def __init__(self, mask: Mask, *, shows_sizes: bool = False) -> None:
        self._mask = mask
        self._shows_sizes = shows_sizes
        self.count = 0

    def render(self, name: str, value: Any) -> str:
        """Return an argument's value as text."""
        return _render_value(_hide_secrets(name, value, self._hide), self._hide_known)

    def _hide(self, value: Any) -> str:
        size = len(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
        self.count += size
        return f"{HIDDEN} [… {size:,} …]" if self._shows_sizes else HIDDEN

    def _hide_known(self, text: str) -> str:
        masked = self._mask(text)
        marks = masked.count(HIDDEN) - text.count(HIDDEN)
        self.count += len(text) - len(masked) + marks * len(HIDDEN)
        return masked


def fingerprint_call(tool: Any, args: Any, key: bytes = _FINGERPRINT_KEY) -> str:
    """Return a short hash of a call, including hidden values, which can't be guessed from it. The same call
    has the same one until the service restarts.
    """
    call = json.dumps([tool, args], sort_keys=True, default=str).encode()
    return hmac.digest(key, call, "sha256").hex()[:16]


def _hide_secrets(name: str, value: Any, hide: Callable[[Any], str], depth: int = 0) -> Any:
    """Return a value with all secret-like entries replaced."""
    if value not in (None, "") and _SECRET.search(_CAMEL.sub("_", name)):
        return hide(value)
    if not isinstance(value, Mapping | list):
        return value
    if depth == MAX_DEPTH:
        return DEEPER
    if isinstance(value, list):
        return [_hide_secrets("", one, hide, depth + 1) for one in value]
    return {str(inner): _hide_secrets(str(inner), one, hide, depth + 1) for inner, one in value.items()}


def _render_value(value: Any, mask: Mask) -> str:
    """Return the value as text without invisible characters; text with surrounding blanks is quoted."""
    if isinstance(value, str) and value and value == value.strip():
        return _escape_invisible(mask(value))
    return _escape_invisible(mask(json.dumps(value, ensure_ascii=False, default=str)))


def _escape_invisible(text: str, allowed: str = "\n\t") -> str:
    signs = text.replace("\r\n", "\n")
    return "".join(
        sign if sign in allowed or not _is_invisible(sign) else _unicode_escape(sign) for sign in signs
    )


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) in _INVISIBLE


def _unicode_escape(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shorten(text: str, room: int) -> tuple[str, int]:
    """Shorten a long text in the middle. Return it with the number of omitted characters."""
    text, gone = _cut_middle(text, room)
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text, gone
    half = MAX_LINES // 2
    lacking = sum(len(line) + 1 for line in lines[half:-half])
    return "\n".join([*lines[:half], f"[… {lacking:,} …]", *lines[-half:]]), gone + lacking


def _cut_middle(text: str, room: int) -> tuple[str, int]:
    if len(text) <= room:
        return text, 0
    gone, end = len(text) - room, room // 3
    return f"{text[: room - end]} [… {gone:,} …] {text[-end:]}", gone


def _argument_lines(name: str, value: str) -> list[str]:
    """Return an argument's lines; the lines of a multi-line value are indented."""
    if not name:
        return value.split("\n")
    if "\n" not in value:
        return [f"{name}: {value}"]
    return [f"{name}:", *(f"  {line}" for line in value.split("\n"))]


def _fence_lines(lines: list[str]) -> str:
    """Return a code block that its content can't close, even in parsers without support for longer fences."""
    text = _IN_A_RUN.sub("`\u200b", "\n".join(lines))
    return f"{_FENCE}\n{text}\n{_FENCE}"
