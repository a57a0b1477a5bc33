"""Limits of request bodies: declared and not, shared by strangers, and what the application sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.shared.body_limits import FREE_BYTES, BodyLimits, BodyRule

GONE: Message = {"type": "http.disconnect"}


async def _unused(_message: Message) -> None:
    raise AssertionError("nothing is answered")


class Reader:
    """An application that reads the body; `read` is what it got."""

    def __init__(self) -> None:
        self.read = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.read = len(await Request(scope, receive).body())
        await PlainTextResponse("ok")(scope, receive, send)


async def call(
    app: ASGIApp, parts: Sequence[bytes], headers: Iterable[tuple[bytes, bytes]] = ()
) -> tuple[int, bytes, list[bytes]]:
    """Status, body and the parts that nobody asked for."""
    left, sent = list(parts), list[Message]()

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": list(headers)}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]), left


async def test_a_body_within_the_limit_passes() -> None:
    app = Reader()
    status, body, _ = await call(BodyLimits(app, lambda _scope: BodyRule(10)), [b"12345", b"67890"])
    assert (status, body, app.read) == (200, b"ok", 10)


@pytest.mark.guard(
    "a declared size over the limit is refused unread",
    "agent/shared/body_limits.py",
    "        if _declared_size(scope) > rule.limit:",
    "        if False:",
    against="large requests",
)
async def test_a_declared_size_over_the_limit_is_refused_unread() -> None:
    app = Reader()
    limits = BodyLimits(app, lambda _scope: BodyRule(10))
    status, body, left = await call(limits, [b"1"], [(b"content-length", b"629145600")])
    assert (status, left, app.read) == (413, [b"1"], -1)
    assert orjson.loads(body) == {"detail": "The body is too large. The limit is 10 bytes."}
    assert limits.refused == {413: 1}


@pytest.mark.guard(
    "an undeclared size is refused once it exceeds the limit",
    "agent/shared/body_limits.py",
    "        if self._size > self._rule.limit:",
    "        if False:",
    against="large requests",
)
async def test_an_undeclared_size_is_refused_once_it_exceeds_the_limit() -> None:
    app = Reader()
    status, _, left = await call(BodyLimits(app, lambda _scope: BodyRule(10)), [b"123456"] * 5)
    assert (status, len(left), app.read) == (413, 3, -1)


async def test_an_application_that_answers_a_refused_body_is_not_heard() -> None:
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        assert (await receive())["type"] == "http.disconnect"
        await PlainTextResponse("read it all")(scope, receive, send)

    status, body, _ = await call(BodyLimits(stubborn, lambda _scope: BodyRule(3)), [b"1234", b"5"])
    assert status == 413
    assert b"read it all" not in body


@pytest.mark.guard(
    "bodies without a credential share a budget",
    "agent/shared/body_limits.py",
    "        if charge > self._limits.budget:",
    "        if False:",
    against="large requests",
)
@pytest.mark.parametrize("anonymous", [True, False])
async def test_strangers_share_a_budget_that_others_do_not_need(anonymous: bool) -> None:
    app = Reader()
    limits = BodyLimits(app, lambda _scope: BodyRule(1_000_000, is_anonymous=anonymous), budget=1_000)
    parts = [bytes(FREE_BYTES), bytes(2_000)]
    assert (await call(limits, parts))[0] == (503 if anonymous else 200)
    assert limits.budget == 1_000
    assert (app.read == -1) is anonymous


async def test_a_small_anonymous_body_passes_when_the_budget_is_used_up() -> None:
    app = Reader()
    limits = BodyLimits(app, lambda _scope: BodyRule(1_000_000, is_anonymous=True), budget=0)
    assert (await call(limits, [bytes(FREE_BYTES)]))[0] == 200


@pytest.mark.parametrize("anonymous", [True, False])
async def test_only_a_stranger_s_body_is_complete_before_the_application_sees_it(anonymous: bool) -> None:
    left = [b"12", b"3", None]
    seen = list[Message]()

    async def receive() -> Message:
        part = left.pop(0)
        return GONE if part is None else {"type": "http.request", "body": part, "more_body": True}

    async def first_part(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(await receive())

    limits = BodyLimits(first_part, lambda _scope: BodyRule(10, is_anonymous=anonymous))
    await limits({"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send=_unused)
    assert [one["body"] for one in seen] == ([] if anonymous else [b"12"])


async def test_a_stranger_s_body_arrives_as_one_part_and_once() -> None:
    seen = list[Message]()
    parts = [b"12", b"3"]

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)} if parts else GONE

    async def reads_on(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend([await receive(), await receive()])

    limits = BodyLimits(reads_on, lambda _scope: BodyRule(10, is_anonymous=True))
    await limits({"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send=_unused)
    assert seen == [{"type": "http.request", "body": b"123", "more_body": False}, GONE]


async def test_the_budget_is_returned_after_each_request() -> None:
    limits = BodyLimits(Reader(), lambda _scope: BodyRule(1_000_000, is_anonymous=True), budget=100_000)
    for _ in range(5):
        assert (await call(limits, [bytes(FREE_BYTES + 60_000)]))[0] == 200
    assert limits.budget == 100_000
