"""HTTP callbacks: verified, decrypted, stored, and only then answered with 200."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac

import orjson
import structlog

from agent.shared.request_signature import is_timestamp
from bot.clock import Clock
from bot.errors import RoebotError
from bot.platforms.base import WebhookAnswer, WebhookRequest
from bot.platforms.connection import AccountHealth
from bot.platforms.feishu.content import parse_object
from bot.platforms.feishu.event_handler import FeishuEventHandler
from bot.platforms.feishu.sdk import AESCipher
from bot.platforms.payload import Json, Malformed, get_object, get_string

log = structlog.get_logger(__name__)

FRESH_SECONDS = 300.0
"""A request whose time stamp is further away is a replay."""
SIGNATURE_HEADERS = ("x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature")
UNSIGNED_BYTES = 4096
"""Maximum size of an unsigned request: Feishu does not sign the check of a new URL, which is a few hundred
bytes (github.com/larksuite/oapi-sdk-python/issues/79).
"""
_REFUSED = {"detail": "The request is not from Feishu. Check encrypt_key and verification_token."}
"""The same answer for every refusal: different ones would tell a stranger how close a forgery came."""


class BadCipher(ValueError):
    """A text that is not encrypted with this key."""


def signature(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """Return `X-Lark-Signature`: the SHA-256 of timestamp, nonce, key and raw body, in hex."""
    return hashlib.sha256((timestamp + nonce + encrypt_key).encode() + body).hexdigest()


def is_signed(received: str, timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> bool:
    """Check a signature, in constant time for invalid ones."""
    wanted = signature(timestamp, nonce, encrypt_key, body)
    return hmac.compare_digest(received.encode(), wanted.encode())


def decrypt(encrypted: str, encrypt_key: str) -> bytes:
    """Decrypt `{"encrypt": …}` (AES-256-CBC, with the first block as the IV). Raises BadCipher."""
    try:
        data = base64.b64decode(encrypted, validate=True)
    except (binascii.Error, ValueError):
        raise BadCipher("not base64") from None
    try:
        return bytes(AESCipher(encrypt_key).decrypt(data))
    except ValueError as error:
        raise BadCipher(str(error)) from None


class _Refused(Exception):
    """A request that is not from Feishu; the message is for the log only."""


class FeishuCallback:
    """Receives events over HTTP. With an encrypt key every event must be signed and encrypted; otherwise it
    must contain the verification token. The signature is checked before the body is decrypted or parsed.
    """

    def __init__(
        self,
        account: str,
        events: FeishuEventHandler,
        clock: Clock,
        health: AccountHealth,
        *,
        encrypt_key: str,
        verification_token: str,
    ) -> None:
        self._account = account
        self._events = events
        self._clock = clock
        self._health = health
        self._key = encrypt_key
        self._token = verification_token

    async def run(self) -> None:
        """Wait until cancelled: Feishu connects to the service's HTTP port."""
        self._health.mark_live()
        await asyncio.Event().wait()

    async def receive(self, request: WebhookRequest) -> WebhookAnswer:
        """Answer a request. 401: refused for any reason; 503: not stored, to be resent."""
        try:
            answer = await self._handle(request)
        except _Refused as refused:
            self._events.counts.refused += 1
            log.warning("feishu.callback_refused", account=self._account, reason=str(refused))
            return _json_answer(401, _REFUSED)
        except RoebotError as error:
            log.warning("feishu.event_not_stored", account=self._account, reason=str(error))
            return _json_answer(503, {"detail": "not stored"})
        self._events.mark_acknowledged()
        return _json_answer(200, answer)

    async def _handle(self, request: WebhookRequest) -> Json:
        signed = self._check_signature(request)
        payload = self._decode_body(request.body)
        try:
            kind = get_string(payload, "type")
            token = get_string(payload, "token") or get_string(get_object(payload, "header"), "token")
        except Malformed as error:
            raise _Refused(str(error)) from None
        if not signed and kind != "url_verification":
            raise _Refused("an event without a signature")
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            raise _Refused("the verification token is wrong")
        if kind == "url_verification":
            return {"challenge": payload.get("challenge")}
        return await self._events.store_event(payload)

    def _decode_body(self, body: bytes) -> Json:
        """Return a body's content; a plain body is refused if there is an encrypt key."""
        try:
            payload = parse_object(body)
            if not self._key:
                return payload
            return parse_object(decrypt(get_string(payload, "encrypt"), self._key))
        except (Malformed, BadCipher) as error:
            raise _Refused(f"not readable: {error}") from None

    def _check_signature(self, request: WebhookRequest) -> bool:
        """Return True if the request may contain an event, or False if it has no signature and may only
        verify the URL. Raises _Refused for an invalid or outdated signature.
        """
        if not self._key:
            return True
        # Feishu writes X-Lark-…; servers and proxies hand names over in any case.
        headers = {name.lower(): value for name, value in request.headers.items()}
        if headers.keys().isdisjoint(SIGNATURE_HEADERS) and len(request.body) <= UNSIGNED_BYTES:
            return False
        stamp, nonce, received = (headers.get(name, "") for name in SIGNATURE_HEADERS)
        if not is_signed(received, stamp, nonce, self._key, request.body):
            raise _Refused("the signature is wrong")
        fresh = is_timestamp(stamp)
        if not fresh or abs(self._clock.now() - int(stamp)) > FRESH_SECONDS:
            raise _Refused("the timestamp is too old or too new")
        return True


def _json_answer(status: int, content: Json) -> WebhookAnswer:
    return WebhookAnswer(status, orjson.dumps(content))
