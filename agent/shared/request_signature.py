"""Request signatures, by which the agent runtime recognizes the bot's requests.

A signature covers the method, the path with its query, the idempotency key and the body, so that nothing of a
signed request can be replaced. Its time (UTC, whole seconds) bounds how long it can be repeated.

The runtime's token only says that a client may call it, not that it is the bot. A signature inside
`configurable` would not cover the messages sent in that identity's name, and other servers would store it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

SIGNATURE_HEADER: Final = "x-roebot-signature"
IDEMPOTENCY_HEADER: Final = "idempotency-key"
KEY_VARIABLE: Final = "ROEBOT_RUNTIME_SIGNING_KEY"
"""Environment variable with the key of a runtime's process."""
LIFETIME = 300.0
"""Time (s) during which a signature is valid, before and after its own; clocks may differ."""
LONGEST_TIMESTAMP = 12
# A server may be reached below a prefix that its proxy removes.
_ROUTE = re.compile(r"/(?:threads|runs|assistants|store)(?:[/?].*)?$")


def is_signable(path: str) -> bool:
    """Return whether a path belongs to the LangGraph API, whose bodies are small JSON documents."""
    return _ROUTE.search(path) is not None


def sign_request(key: str, method: str, target: str, body: bytes, *, idempotency_key: str, at: float) -> str:
    """Return the signature header's value; `target` is the raw path with its query."""
    time = str(int(at))
    return f"{time}.{_digest(key, time, method, target, body, idempotency_key)}"


def is_signed(
    key: str, method: str, target: str, body: bytes, *, idempotency_key: str, signature: str, now: float
) -> bool:
    """Return whether a request's signature is valid at time `now`."""
    time, _, digest = signature.partition(".")
    if not is_timestamp(time) or abs(now - int(time)) > LIFETIME:
        return False
    expected = _digest(key, time, method, target, body, idempotency_key)
    return hmac.compare_digest(digest.encode(), expected.encode())


def is_timestamp(text: str) -> bool:
    """Return whether a text is a time in whole seconds, short enough to be compared without overflow."""
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_TIMESTAMP


def _digest(key: str, time: str, method: str, target: str, body: bytes, idempotency_key: str) -> str:
    # The recipient can't distinguish an empty query from a missing one.
    target = target.removesuffix("?")
    found = _ROUTE.search(target)
    route = found.group() if found else target
    lines = (time, method.upper(), route, idempotency_key, hashlib.sha256(body).hexdigest())
    return hmac.new(key.encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
