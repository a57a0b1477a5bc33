"""A scope as text: `person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`, and as the name of a file."""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier

KINDS = ("person", "group")
OWNER = MemoryScope("person", "", "local:owner")
"""Whose memory it is where nobody says who they are: the embedded client's and the runtime's own."""
MAX_SCOPE_CHARACTERS = 512
MAX_NAME_CHARACTERS = 180


def format_scope(scope: MemoryScope) -> str:
    """The scope as routes and methods take it."""
    return f"{scope.kind}:{quote(scope.account, safe='')}:{scope.key}"


def parse_scope(text: str | None) -> MemoryScope:
    """The scope that a text names, `OWNER` for none. Raises BadIdentifier."""
    if not text:
        return OWNER
    kind, _, rest = text.partition(":")
    account, colon, key = rest.partition(":")
    if (
        kind not in KINDS
        or not colon
        or not key
        or len(text) > MAX_SCOPE_CHARACTERS
        or not text.isprintable()
    ):
        raise BadIdentifier("This is no scope: expected person:ACCOUNT:PERSON or group:ACCOUNT:CHAT.")
    return MemoryScope(kind, unquote(account), key)


def file_name(scope: MemoryScope) -> str:
    """A name that only this scope has, on every file system: parts escaped, those too long by their hash.

    Capitals are escaped too, since some file systems take them for small letters.
    """
    parts = [_escape_part(part) for part in (scope.kind, scope.account, scope.key)]
    name = ".".join(parts)
    if len(name) > MAX_NAME_CHARACTERS:
        name = f"{scope.kind}.{hashlib.sha256(format_scope(scope).encode()).hexdigest()}"
    return f"{name}.json"


def _escape_part(part: str) -> str:
    quoted = quote(part, safe="").replace(".", "%2E").replace("~", "%7E")
    return "".join(f"^{sign.lower()}" if sign.isupper() else sign for sign in _lower_percent_escapes(quoted))


def _lower_percent_escapes(quoted: str) -> str:
    """The text with the capitals of its percent escapes small, so that only the text's own are left."""
    found = quoted.split("%")
    return "%".join([found[0], *(f"{rest[:2].lower()}{rest[2:]}" for rest in found[1:])])
