"""Callbacks over HTTP: who sent it is proved, what is stored is answered with 200, all else comes again."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from bot.account_state import Live
from bot.errors import AccountRefused
from bot.platforms.base import ReceivesWebhooks, WebhookAnswer, WebhookRequest
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.platforms.feishu.callback import decrypt
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.crypto import encrypt, signature
from tests.harness.platforms import Port

from .conftest import Running, account, eventually
from .test_malformed import GOOD

KEY = "an-encrypt-key"
TOKEN = "a-verification-token"
PATH = "/webhooks/fs"


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    async with Port.open() as opened:
        yield opened


def hooked(emulator: FeishuEmulator, **secrets: str) -> Running:
    """An adapter in mode webhook."""
    return Running(FeishuAdapter("fs", account(emulator, mode="webhook", **secrets)), emulator)


@pytest.fixture
async def running(emulator: FeishuEmulator, port: Port) -> AsyncIterator[Running]:
    emulator.envelopes.token = TOKEN
    started = hooked(emulator, encrypt_key=KEY, verification_token=TOKEN)
    port.adapter = started.adapter
    await started.start()
    yield started
    await started.stop()


async def test_it_is_live_without_a_long_connection(running: Running, emulator: FeishuEmulator) -> None:
    assert isinstance(running.adapter, ReceivesWebhooks)
    assert running.state.live is Live.LIVE
    assert emulator.counters()["connections"] == 0


async def test_the_address_proves_itself(running: Running, emulator: FeishuEmulator, port: Port) -> None:
    hooks = emulator.callbacks(port.url + PATH, encrypt_key=KEY)
    assert await hooks.verify()


async def test_an_event_is_stored_and_answered(
    running: Running, emulator: FeishuEmulator, port: Port
) -> None:
    hooks = emulator.callbacks(port.url + PATH, encrypt_key=KEY)
    emulator.people.says("hi")
    [message] = await running.shelf.until(1)
    assert message.text == "hi"
    await eventually(lambda: hooks.statuses == [200])


async def test_a_click_is_answered_with_json(running: Running, emulator: FeishuEmulator, port: Port) -> None:
    emulator.callbacks(port.url + PATH, encrypt_key=KEY)
    from .conftest import says

    message_id = await running.adapter.send(says("x", running.private(), final=False))
    value = running.shown()[0]["buttons"][0]["behaviors"][0]["value"]
    push = emulator.people.clicks(message_id, value)
    await running.shelf.until(1)
    await eventually(lambda: push.done)
    assert running.shelf.texts == ["/stop"]


async def test_what_could_not_be_stored_comes_again(
    running: Running, emulator: FeishuEmulator, port: Port
) -> None:
    emulator.world.scale = 0.01
    hooks = emulator.callbacks(port.url + PATH, encrypt_key=KEY)
    running.shelf.refuse = 1
    emulator.world.scale = 0.1
    emulator.people.says("hi")
    await running.shelf.until(1)
    await eventually(lambda: hooks.statuses == [503, 200])


async def test_without_a_key_the_token_proves_the_sender(emulator: FeishuEmulator, port: Port) -> None:
    emulator.envelopes.token = TOKEN
    running = hooked(emulator, verification_token=TOKEN)
    port.adapter = running.adapter
    await running.start()
    hooks = emulator.callbacks(port.url + PATH)
    assert await hooks.verify()
    emulator.people.says("hi")
    await running.shelf.until(1)
    answer = await running.adapter.webhook(plain({**GOOD, "header": {**GOOD["header"], "token": "wrong"}}))
    assert answer.status == 401
    await running.stop()


async def test_without_any_secret_it_does_not_start(emulator: FeishuEmulator) -> None:
    running = hooked(emulator)
    with pytest.raises(AccountRefused, match="encrypt_key"):
        await running.adapter.start(running.context)


async def test_in_mode_socket_there_is_no_address(emulator: FeishuEmulator) -> None:
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    assert (await running.adapter.webhook(plain(GOOD))).status == 404
    await running.stop()


async def test_a_stopped_account_asks_for_another_try(running: Running) -> None:
    await running.stop()
    assert (await running.adapter.webhook(request(GOOD))).status == 503


def plain(content: Any) -> WebhookRequest:
    return WebhookRequest({}, orjson.dumps(content))


def request(
    content: Any, *, key: str = KEY, stamp: str = "", case: str = "lower", **changes: str
) -> WebhookRequest:
    """A request as Feishu sends it, with changes to its headers."""
    if isinstance(content, dict) and isinstance(content.get("header"), dict):
        content = {**content, "header": {**content["header"], "token": TOKEN}}
    body = orjson.dumps({"encrypt": encrypt(orjson.dumps(content), key, os.urandom(16))})
    stamp = stamp or str(int(time.time()))
    headers = {
        "X-Lark-Request-Timestamp": stamp,
        "X-Lark-Request-Nonce": "nonce",
        "X-Lark-Signature": signature(stamp, "nonce", key, body),
        **changes,
    }
    cased = {getattr(name, case)(): value for name, value in headers.items()}
    return WebhookRequest(cased, body)


@pytest.mark.parametrize("case", ["lower", "upper", "title"])
async def test_headers_in_any_case(running: Running, case: str) -> None:
    answer = await running.adapter.webhook(request(GOOD, case=case))
    assert answer == WebhookAnswer(200, b"{}")
    assert running.shelf.texts == ["hi"]


def unsigned(content: Any, *, key: str = KEY) -> WebhookRequest:
    """An encrypted request without the signature's headers."""
    return WebhookRequest({}, request(content, key=key).body)


def challenge(**changes: Any) -> dict[str, Any]:
    """The check of an address, as Feishu sends it."""
    return {"type": "url_verification", "challenge": "c", "token": TOKEN, **changes}


FORGED = (
    request(GOOD, key="another-key"),
    request(GOOD, **{"X-Lark-Signature": "0" * 64}),
    request(GOOD, **{"X-Lark-Signature": "é"}),
    request(GOOD, **{"X-Lark-Signature": ""}),
    request(GOOD, **{"X-Lark-Request-Nonce": "other"}),
    request(GOOD, **{"X-Lark-Request-Timestamp": "1"}),
    request(challenge(), **{"X-Lark-Signature": "0" * 64}),
    request(challenge(token="wrong")),
    request({"type": 5}),
    request({"header": 5}),
    request({"token": []}),
    request([]),
    request({**GOOD, "token": "wrong"}),
    unsigned(GOOD),
    unsigned(GOOD, key="another-key"),
    unsigned(challenge(token="wrong")),
    unsigned(challenge(token="")),
    unsigned(challenge(), key="another-key"),
    unsigned(challenge(challenge="c" * 4096)),
    plain(GOOD),
    plain(challenge()),
    plain({"encrypt": "AAAA"}),
    plain({"encrypt": "no base64 at all"}),
    plain({"encrypt": 5}),
    plain([]),
    WebhookRequest({}, b"\xff\x00"),
    WebhookRequest({}, b""),
)


@pytest.mark.guard(
    "an unsigned callback carries no event",
    "bot/platforms/feishu/callback.py",
    '        if not signed and kind != "url_verification":',
    "        if False:",
    against="forged callbacks",
)
@pytest.mark.guard(
    "every refused callback gets the same answer",
    "bot/platforms/feishu/callback.py",
    "            return _json_answer(401, _REFUSED)",
    '            return _json_answer(401, {"detail": str(refused)})',
    against="forged callbacks",
)
@pytest.mark.parametrize("forged", FORGED)
async def test_every_refusal_is_the_same_answer(running: Running, forged: WebhookRequest) -> None:
    answer = await running.adapter.webhook(forged)
    nothing = await running.adapter.webhook(WebhookRequest({}, b""))
    assert answer.status == 401
    assert answer == nothing
    assert running.shelf.messages == []
    assert running.adapter.counts.refused == 2
    assert KEY.encode() not in answer.body
    assert TOKEN.encode() not in answer.body


@pytest.mark.guard(
    "the signature of a callback is checked before its body is decrypted",
    "bot/platforms/feishu/callback.py",
    "        signed = self._check_signature(request)\n        payload = self._decode_body(request.body)",
    "        payload = self._decode_body(request.body)\n        signed = self._check_signature(request)",
    against="forged callbacks",
)
async def test_nothing_is_decrypted_before_its_signature_holds(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def spy(encrypted: str, key: str) -> bytes:
        opened.append(encrypted)
        return decrypt(encrypted, key)

    monkeypatch.setattr("bot.platforms.feishu.callback.decrypt", spy)
    stale = str(int(time.time()) - 3600)
    for forged in (request(GOOD, **{"X-Lark-Signature": "0" * 64}), request(GOOD, stamp=stale)):
        assert (await running.adapter.webhook(forged)).status == 401
    assert opened == []
    assert (await running.adapter.webhook(request(GOOD))).status == 200
    assert len(opened) == 1


@pytest.mark.guard(
    "an old callback is refused",
    "bot/platforms/feishu/callback.py",
    "        if not fresh or abs(self._clock.now() - int(stamp)) > FRESH_SECONDS:",
    "        if not fresh:",
    against="forged callbacks",
)
@pytest.mark.parametrize("age", [-3600, -301, 301, 30 * 86400])
async def test_replayed_requests_are_refused(running: Running, age: int) -> None:
    stamp = str(int(time.time()) - age)
    answer = await running.adapter.webhook(request(GOOD, stamp=stamp))
    assert answer.status == 401
    assert running.shelf.messages == []


@pytest.mark.parametrize("stamp", ["9" * 40, "-5", "now", "１７００"])
async def test_time_stamps_that_are_none(running: Running, stamp: str) -> None:
    assert (await running.adapter.webhook(request(GOOD, stamp=stamp))).status == 401


@pytest.mark.parametrize("ask", [request, unsigned])
async def test_the_check_of_an_address_is_answered(running: Running, ask: Any) -> None:
    answer = await running.adapter.webhook(ask(challenge()))
    assert orjson.loads(answer.body) == {"challenge": "c"}


async def test_a_signed_event_that_is_malformed_is_not_sent_again(running: Running) -> None:
    broken = {"header": {"event_type": "im.message.receive_v1"}, "event": 5}
    assert (await running.adapter.webhook(request(broken))).status == 200
    assert running.adapter.counts.malformed == 1
