"""Distinction of the bot's requests from others, and rejection of content that only the bot may send.

With a signing key, a run's identity, answers to interrupts, changes of a thread's state and messages that
join a run are accepted in signed requests only. Without a key everybody with the token is trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from agent.errors import Forbidden
from agent.runtime.http.base import Runtime
from agent.shared.request_signature import IDEMPOTENCY_HEADER, SIGNATURE_HEADER, is_signed
from agent.shared.run_identity import STEERING, has_identity, names_author, without_identity

NOT_SIGNED = "This server accepts {what} only in requests that the bot has signed"


async def is_trusted(request: Request, runtime: Runtime) -> bool:
    """Return whether a request may state whom a run works for: it is signed, or no key is set."""
    key = runtime.settings.signing_key
    if key is None:
        return True
    query = request.scope["query_string"].decode("latin-1")
    path = request.scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1") or request.url.path
    return is_signed(
        key,
        request.method,
        f"{path}?{query}" if query else path,
        await request.body(),
        idempotency_key=request.headers.get(IDEMPOTENCY_HEADER, ""),
        signature=request.headers.get(SIGNATURE_HEADER, ""),
        now=time.time(),
    )


Trusted = Annotated[bool, Depends(is_trusted)]


def require_trust(trusted: bool, what: str) -> None:
    """Refuse content that only the bot may send. Raises `Forbidden`."""
    if not trusted:
        raise Forbidden(NOT_SIGNED.format(what=what))


def check_identity(trusted: bool, sources: Iterable[object]) -> None:
    """Refuse a run identity in an unsigned request. Raises `Forbidden`."""
    if not trusted and has_identity(sources):
        raise Forbidden(NOT_SIGNED.format(what="a run's identity"))


def check_authors(trusted: bool, value: object) -> None:
    """Refuse messages that state their author in an unsigned request. Raises `Forbidden`."""
    if not trusted and names_author(value):
        raise Forbidden(NOT_SIGNED.format(what="the author of a message"))


def check_namespace(trusted: bool, namespace: list[str]) -> None:
    """Refuse messages that join a run in an unsigned request. Raises `Forbidden`."""
    if not trusted and namespace[:1] == [STEERING]:
        raise Forbidden(NOT_SIGNED.format(what="messages that join a run"))


def stored_settings(runtime: Runtime, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `configurable` or context of a stored assistant, without an identity if a key is set."""
    return found if runtime.settings.signing_key is None else without_identity(found)
