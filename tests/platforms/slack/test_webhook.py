"""HTTP mode: signed requests to the service's port, stored before the answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import httpx
import orjson
import pytest

from bot.account_state import Live
from bot.platforms.base import ReceivesWebhooks, WebhookRequest
from bot.platforms.slack.adapter import SlackAdapter
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.envelopes import signature
from tests.harness.platforms import Port

from .conftest import PERSON, Running, answer_to, eventually, final


@pytest.fixture
async def http(emulator: SlackEmulator) -> AsyncIterator[Running]:
    running = Running(emulator, mode="http", app_token=None, signing_secret=emulator.signing_secret)
    async with Port.open() as port:
        port.adapter = running.adapter
        await running.start()
        emulator.subscribe(f"{port.url}/webhooks/sl")
        yield running
        await running.stop()


def event(text: str = "hi", ts: str = "") -> bytes:
    message = {
        "type": "message",
        "user": PERSON,
        "text": text,
        "channel": "D0000001",
        "channel_type": "im",
        "ts": ts or f"{time.time():.6f}",
    }
    return orjson.dumps({"type": "event_callback", "event_id": "Ev1", "team_id": "T0", "event": message})


async def test_signed_events_are_stored_then_answered(http: Running) -> None:
    http.emulator.people.says("over http")
    [message] = await http.shelf.until(1)
    assert message.text == "over http"
    await eventually(lambda: http.emulator.requests.statuses == [200])
    assert http.emulator.outbox.acked == 1
    assert http.state.live is Live.LIVE
    await http.adapter.send(final("answered", answer_to(message)))
    assert [seen["text"] for seen in http.shown()] == ["answered"]


async def test_commands_and_clicks_come_as_forms(http: Running) -> None:
    http.emulator.people.commands("status", user=PERSON)
    [message] = await http.shelf.until(1)
    assert message.text == "/status"
    said = http.emulator.people.says("x")
    http.emulator.people.clicks(said.channel, said.ts, "yes")
    await http.shelf.until(3)
    assert sorted(http.shelf.texts) == ["/status", "x", "yes"]


async def test_what_could_not_be_stored_is_not_answered_with_200(http: Running) -> None:
    http.shelf.refuse = 1
    http.emulator.limits(False, scale=0.01)
    http.emulator.people.says("precious")
    await http.shelf.until(1)
    await eventually(lambda: http.emulator.requests.statuses == [500, 200])


@pytest.mark.parametrize(
    "forged",
    [
        {"x-slack-signature": "v0=" + "0" * 64},
        {"x-slack-signature": ""},
        {"x-slack-request-timestamp": "nonsense"},
        {"x-slack-request-timestamp": str(int(time.time()) + 60)},
        {"x-slack-request-timestamp": "9" * 400},
        {"x-slack-request-timestamp": "9" * 5000},
        {"x-slack-request-timestamp": "-1"},
        {"x-slack-signature": "v0="},
    ],
)
async def test_forged_requests_are_refused(http: Running, forged: dict[str, str]) -> None:
    response = await http.emulator.requests.post(event(), "application/json", forged)
    assert response.status_code == 401
    assert http.shelf.messages == []


async def test_a_replayed_request_is_refused(http: Running) -> None:
    old = str(int(time.time()) - 301)
    headers = {
        "x-slack-request-timestamp": old,
        "x-slack-signature": signature(http.emulator.signing_secret, old, event(ts="1.000001")),
    }
    response = await http.emulator.requests.post(event(ts="1.000001"), "application/json", headers)
    assert response.status_code == 401
    assert http.shelf.messages == []


async def test_header_names_in_any_case(http: Running) -> None:
    body = event("cased")
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-SLACK-Request-Timestamp": stamp,
        "X-Slack-SIGNATURE": signature(http.emulator.signing_secret, stamp, body),
    }
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(http.emulator.requests.url, content=body, headers=headers)
    assert response.status_code == 200
    await http.shelf.until(1)


async def test_the_handshake_is_answered(http: Running) -> None:
    body = orjson.dumps({"type": "url_verification", "challenge": "c-1", "token": "x"})
    response = await http.emulator.requests.post(body, "application/json", {})
    assert (response.status_code, response.json()) == (200, {"challenge": "c-1"})


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"null"])
async def test_bodies_that_make_no_sense(http: Running, body: bytes) -> None:
    response = await http.emulator.requests.post(body, "application/json", {})
    assert response.status_code in (200, 400, 401, 500)
    assert http.shelf.messages == []
    assert (await http.emulator.requests.post(event("next"), "application/json", {})).status_code == 200


async def test_an_account_on_a_socket_takes_no_requests(running: Running) -> None:
    assert (await running.adapter.webhook(WebhookRequest({}, event()))).status == 404
    assert running.shelf.messages == []


async def test_while_the_account_is_down_slack_shall_try_again(http: Running) -> None:
    await http.stop()
    response = await http.emulator.requests.post(event(), "application/json", {})
    assert response.status_code == 503
    await http.start()
    response = await http.emulator.requests.post(event(), "application/json", {})
    assert response.status_code == 200
    await http.shelf.until(1)


def test_the_port_knows_it_by_its_protocol() -> None:
    assert isinstance(SlackAdapter.__new__(SlackAdapter), ReceivesWebhooks)


async def test_a_retry_is_one_message(http: Running) -> None:
    http.emulator.people.says("once")
    await http.shelf.until(1)
    http.emulator.redeliver()
    await eventually(lambda: http.shelf.duplicates == 1)
    assert http.shelf.texts == ["once"]
