"""Callbacks over HTTP, as an ASGI application: checked, decrypted, stored, and then answered with 200."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
import structlog

from bot.clock import Clock
from bot.errors import RoebotError
from bot.platforms.feishu.crypto import BadCipher, decrypt, signed
from bot.platforms.feishu.events import Events
from bot.platforms.feishu.payload import Json, Malformed, mapping, parsed, string

log = structlog.get_logger(__name__)

BODY_LIMIT = 1024 * 1024
FRESH_SECONDS = 300.0
"""A request whose time stamp is further away is a replay."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Callback:
    """The address that Feishu pushes events to. With an encrypt key every request must be encrypted and
    signed; without one, it must carry the verification token."""

    def __init__(
        self, account: str, events: Events, clock: Clock, *, encrypt_key: str, verification_token: str
    ) -> None:
        self._account = account
        self._events = events
        self._clock = clock
        self._key = encrypt_key
        self._token = verification_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            if scope["method"] != "POST":
                raise _Refused(405, "not a POST")
            status, answer = 200, await self._handle(scope, await _body(receive))
        except _Refused as refused:
            self._events.counts.refused += 1
            log.warning("feishu.callback_refused", account=self._account, reason=str(refused))
            status, answer = refused.status, {"detail": str(refused)}
        except RoebotError as error:
            log.warning("feishu.event_not_stored", account=self._account, reason=str(error))
            status, answer = 503, {"detail": "not stored"}
        await _answer(send, status, answer)
        if status == 200:
            self._events.acknowledged()

    async def _handle(self, scope: Scope, body: bytes) -> Json:
        payload = self._opened(body)
        try:
            kind = string(payload, "type")
            token = string(payload, "token") or string(mapping(payload, "header"), "token")
        except Malformed as error:
            raise _Refused(400, str(error)) from None
        if kind != "url_verification":
            self._check_signature(scope, body)
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            raise _Refused(401, "the verification token is wrong")
        if kind == "url_verification":
            return {"challenge": payload.get("challenge")}
        return await self._events.take(payload)

    def _opened(self, body: bytes) -> Json:
        """The content of a body; a plain one is refused where there is a key."""
        try:
            payload = parsed(body)
            if not self._key:
                return payload
            return parsed(decrypt(string(payload, "encrypt"), self._key))
        except (Malformed, BadCipher) as error:
            raise _Refused(401 if self._key else 400, f"not readable: {error}") from None

    def _check_signature(self, scope: Scope, body: bytes) -> None:
        if not self._key:
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        stamp = headers.get(b"x-lark-request-timestamp", "")
        nonce = headers.get(b"x-lark-request-nonce", "")
        given = headers.get(b"x-lark-signature", "")
        if not signed(given, stamp, nonce, self._key, body):
            raise _Refused(401, "the signature is wrong")
        if not stamp.isdecimal() or abs(self._clock.now() - int(stamp[:12])) > FRESH_SECONDS:
            raise _Refused(401, "the time stamp is too old or too new")


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = bool(message.get("more_body"))
        if len(body) > BODY_LIMIT:
            raise _Refused(413, "the body is too large")
    return body


async def _answer(send: Send, status: int, content: Json) -> None:
    body = orjson.dumps(content)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
