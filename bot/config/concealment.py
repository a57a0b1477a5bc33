"""Find secrets in a configuration's text, to show it without them or to move them to `secrets.env`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import yaml

from agent.config.document import compose_nodes
from agent.config.env import VARIABLE
from bot.config.models import MASK

_KEY = re.compile(
    r"(?:key|token|secrets?|passw(?:or)?d|passphrase|pwd|credentials?|authorization|cookie|bearer"
    r"|connection_string)$",
    re.IGNORECASE,
)
_HOLDERS = frozenset({"headers", "default_headers", "env", "environment"})
"""Keys of mappings of which every value may be a secret."""
_IDS = frozenset(
    {"owners", "admins", "members", "blocked", "groups", "id", "chat", "chats", "topic", "person", "people"}
)
"""Keys of ids, some of which look like tokens."""
_TOKEN = re.compile(
    r"\b(?:xox[a-z]|xapp|sk|gh[opsu]|github_pat|glpat|whsec|AKIA|AIza|eyJ)[-_A-Za-z0-9]{12,}"
    r"|(?=[A-Za-z+/=]*\d)(?=[A-Z0-9+/=]*[a-z])(?=[a-z0-9+/=]*[A-Z])[A-Za-z0-9+/=]{20,}"
)
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_COMMENT_WORD = re.compile(r"[^\s'\"`,;()\[\]{}<>]{8,}")


def replace_secrets(text: str, file: str, replacement: Callable[[str, str], str]) -> str:
    """Replace each secret scalar by the one that `replacement` returns for its key and value, and words of
    comments that look like secrets by `***`. References to variables stay. Raises ConfigErrors.
    """
    root = compose_nodes(text, file)
    scalars = {
        node.start_mark.index: (key, node, found) for key, node, found in _scalars(root, "", secret=False)
    }
    edits: list[tuple[int, int, str]] = []
    covered: list[tuple[int, int]] = []
    for start, (key, node, found) in scalars.items():
        end = node.end_mark.index
        covered.append((start, end))
        if found and node.value and not VARIABLE.fullmatch(node.value):
            anchor = _PROPERTIES.match(text, start, end)
            newline = "\n" if text[start:end].endswith("\n") else ""
            edits.append((anchor.end() if anchor else start, end, replacement(key, node.value) + newline))
    edits += _comment_edits(text, covered)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def mask_text(text: str, file: str) -> str:
    """Return a text with `***` in place of its secrets. Raises ConfigErrors."""
    return replace_secrets(text, file, lambda _key, _value: f'"{MASK}"')


def looks_secret(value: str) -> bool:
    """Return whether a value contains what looks like a token, or a URL's password."""
    try:
        password = urlsplit(value).password if "://" in value else None
    except ValueError:
        password = ""
    return password is not None or _TOKEN.search(value) is not None


def _scalars(
    node: yaml.Node | None, key: str, *, secret: bool
) -> Iterator[tuple[str, yaml.ScalarNode, bool]]:
    """Yield the scalars with their keys, and whether they are secret."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield str(name.value), name, False
            word = str(name.value).replace("-", "_")
            held = secret or word.lower() in _HOLDERS or _KEY.search(word) is not None
            yield from _scalars(value, word, secret=held)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item, key, secret=secret)
    elif isinstance(node, yaml.ScalarNode):
        yield key, node, secret or (key not in _IDS and looks_secret(node.value))


def _comment_edits(text: str, covered: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Yield the words of comments that look like secrets; `covered` are the spans of the scalars."""
    for sign in re.finditer(r"(?:^|(?<=\s))#.*", text, re.MULTILINE):
        if not any(start <= sign.start() < end for start, end in covered):
            for word in _COMMENT_WORD.finditer(sign[0]):
                if re.search(r"\d", word[0]) and re.search(r"[A-Za-z]", word[0]):
                    yield sign.start() + word.start(), sign.start() + word.end(), MASK
