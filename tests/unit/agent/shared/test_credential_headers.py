"""Headers with credentials: each may appear only once, and no value breaks its check."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message

from agent.shared.http_guard import HttpGuard
from agent.shared.request_signature import is_signed, sign_request

HOST = (b"host", b"bot.example.org")


async def status(*headers: tuple[bytes, bytes]) -> int:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    await HttpGuard(PlainTextResponse("ok"), [])(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("host", 400),
        ("authorization", 400),
        ("x-api-key", 400),
        ("origin", 400),
        ("content-type", 400),
        ("content-length", 400),
        ("x-slack-signature", 400),
        ("x-slack-request-timestamp", 400),
        ("x-telegram-bot-api-secret-token", 400),
        ("x-lark-request-nonce", 400),
        ("x-roebot-signature", 400),
        ("idempotency-key", 400),
        ("accept", 200),
        ("x-forwarded-for", 200),
        ("cookie", 200),
    ],
)
async def test_a_repeated_header(name: str, expected: int) -> None:
    for second in (b"a", b"b"):
        twice = (name.encode(), b"a"), (name.encode(), second)
        assert await status(*twice) == expected
    assert await status(HOST) == 200


@pytest.mark.parametrize(
    "time", ["9" * 400, "9" * 5000, "-1", "", "1e3", "١٢٣", " 1700000000", "1_000", "0x10", "nan", "²"]
)
def test_a_signature_without_a_valid_time_is_wrong(time: str) -> None:
    good = sign_request("key", "POST", "/threads/1/runs", b"{}", idempotency_key="", at=1_700_000_000.0)
    signature = f"{time}.{good.partition('.')[2]}"
    arguments = ("key", "POST", "/threads/1/runs", b"{}")
    assert is_signed(*arguments, idempotency_key="", signature=good, now=1_700_000_000.0)
    assert not is_signed(*arguments, idempotency_key="", signature=signature, now=1_700_000_000.0)
