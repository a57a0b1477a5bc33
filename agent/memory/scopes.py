"""Conversion of a scope to and from text (`person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`), and to a file
name.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier

KINDS = ("person", "group")
OWNER = MemoryScope("person", "", "local:owner")
"""The scope if the caller names no person, as the embedded client and the runtime itself don't."""
MAX_SCOPE_CHARACTERS = 512
MAX_NAME_CHARACTERS = 180


def format_scope(scope: MemoryScope) -> str:
    """Return the scope as text, the format used in routes and methods."""
    return f"{scope.kind}:{quote(scope.account, safe='')}:{scope.key}"


def parse_scope(text: str | None) -> MemoryScope:
    """Parse a scope, or return `OWNER` for an empty text. Raises BadIdentifier."""
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
        raise BadIdentifier("Invalid scope: expected person:ACCOUNT:PERSON or group:ACCOUNT:CHAT.")
    return MemoryScope(kind, unquote(account), key)


def file_name(scope: MemoryScope) -> str:
    """Return a file name unique to this scope on every file system. Long names are replaced by a hash.

    Capitals are escaped, since some file systems ignore case.
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
    """Convert the hexadecimal digits of percent escapes to lower case, so that all remaining capitals are the
    text's own.
    """
    found = quoted.split("%")
    return "%".join([found[0], *(f"{rest[:2].lower()}{rest[2:]}" for rest in found[1:])])
