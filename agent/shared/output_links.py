"""Links to files in an answer: which link means which file of the thread's outputs folder.

The agent asks the model about files that no link names, and the bot attaches the files that links name, so
both use this module. Models write the whole path, `sandbox:` before it, the folder `/mnt/data` of another
product, or only the name. In a chat a relative address leads nowhere, so it can only mean a file.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt

ROOT = "/mnt/user-data"
OUTPUTS = f"{ROOT}/outputs/"
OTHER_ROOT = "/mnt/data/"
MAX_FILES = 10
"""Maximum number of linked files of one answer that become attachments."""
SCHEME = r"(?:(?:sandbox|file|attachment):(?://)?)?"
OWN = rf"{SCHEME}(?:{ROOT}/|{OTHER_ROOT}|(?:\.{{0,2}}/)?outputs/)"
_CHARACTER = r"(?:\\.|[^\s()\\]|\([^\s()]*\))"
# Models also write spaces, which Markdown allows in angle brackets only.
_RELATIVE_CHARACTER = r"(?:\\.|[^\s()<>\\:?#]|[ \t]|\([^\s()]*\))"
_EXTENSION = r"\.[A-Za-z0-9]{1,8}"
# A relative path ends with an extension; behind a scheme it may begin with a slash.
_START = r"(?:(?:sandbox|file|attachment):/{0,3}|(?:\./)?)(?!www\.)(?=[^/\s])"
_ADDRESS = (
    rf"(?:<(?:{OWN}[^<>\n]*|{_START}[^<>\n:?#]+{_EXTENSION})>"
    rf"|(?:{OWN}|{_START}){_RELATIVE_CHARACTER}+{_EXTENSION}|{OWN}{_CHARACTER}*)"
)
_TITLE = r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?"""
TARGET = rf"\([ \t]*{_ADDRESS}{_TITLE}[ \t]*\)"
_TARGET = re.compile(rf"\([ \t]*(?P<address>{_ADDRESS}){_TITLE}[ \t]*\)")
LABEL = r"\[(?:\\.|[^\[\]\\\n])*\]"
CODE = r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?P<inner>.+?)(?<!`)(?P=ticks)(?!`))"
LINK = (
    rf"!?(?P<label>{LABEL})(?P<target>{TARGET})"
    rf"|\[!(?P<image>{LABEL})(?P<source>{TARGET})\](?P<around>{TARGET})"
)
_LINKS = re.compile(f"{CODE}|{LINK}")


def resolve_output(target: str) -> str:
    """Return the virtual path of a linked file in outputs, or "" for any other target."""
    bare = without_scheme(target)
    has_scheme = bare != target.strip()
    path = unquote(bare).partition("#")[0]
    path = re.sub(rf"^(?:(?:\.{{0,2}}/)?outputs/|{OTHER_ROOT})", OUTPUTS, path)
    if has_scheme and not path.startswith(ROOT):
        path = path.lstrip("/")
    if not path.startswith("/"):
        path = OUTPUTS + path
    path = posixpath.normpath(path)
    return path if path.startswith(OUTPUTS) and path.isprintable() else ""


def is_relative(target: str) -> bool:
    """Return whether a target is a mere name, which may also mean something else than a file in outputs."""
    return not re.match(rf"{OWN}|(?:sandbox|file|attachment):", target.strip())


def without_scheme(target: str) -> str:
    """Return a target without `sandbox:`, `file:` or `attachment:`."""
    return re.sub(rf"^{SCHEME}", "", target.strip())


def read_address(target: str) -> str:
    """Return the address of a match of `TARGET`, without brackets, title and escapes."""
    found = _TARGET.fullmatch(target)
    address = found["address"] if found else ""
    return re.sub(r"\\(.)", r"\1", address[1:-1] if address.startswith("<") else address)


def list_linked_outputs(text: str) -> list[str]:
    """Return the virtual paths of the files in outputs that links and images of an answer name, in order.

    Returns at most MAX_FILES. Code is left out.
    """
    linked: dict[str, None] = {}
    for token in _block_parser().parse(text):
        for link in _LINKS.finditer(token.content) if token.type == "inline" else ():
            targets = filter(None, link.group("target", "source", "around"))
            linked |= dict.fromkeys(filter(None, map(resolve_output, map(read_address, targets))))
    return list(linked)[:MAX_FILES]


@cache
def _block_parser() -> MarkdownIt:
    """Return a parser that only separates paragraphs from code."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
