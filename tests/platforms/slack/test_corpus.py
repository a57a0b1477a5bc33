"""Every content type of the corpus is read by the real adapter with its real SDK."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson
import pytest
from starlette.requests import Request

from bot.domain import InboundChange, InboundMessage, Quotation
from bot.errors import DeliveryError
from bot.platforms.base import WebhookRequest
from bot.platforms.slack.account import SlackAccount
from bot.platforms.slack.adapter import SlackAdapter
from roebot_testing.conformance.bench import address_of
from roebot_testing.emulators.http import answer
from roebot_testing.emulators.server import LoopbackServer, Receive, Scope, Send
from roebot_testing.emulators.slack.envelopes import signature
from roebot_testing.running import RunningAdapter
from tests.corpus import Sample, load_samples

SECRET = "signing-secret-of-the-corpus"
BOT, BOT_ID, TEAM = "U0ROEBOT0", "B0ROEBOT0", "T0EXAMPLE"
SCOPES = b"chat:write,users:read,usergroups:read"
ME = {
    "ok": True,
    "user_id": BOT,
    "bot_id": BOT_ID,
    "team_id": TEAM,
    "user": "roebot",
    "url": "https://x.invalid/",
}
SAMPLES = [pytest.param(one, id=one.name) for one in load_samples("slack")]


class Workspace:
    """Answers calls from the lookups of a sample; the keys are a method and its arguments."""

    def __init__(self, lookups: Mapping[str, Any]) -> None:
        self._lookups = lookups

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        values = dict(request.query_params) | dict(parse_qsl((await request.body()).decode()))
        method = request.url.path.rpartition("/")[2]
        keys = ("user", "bot", "file", "channel", "ts")
        key = " ".join([method, *(values[name] for name in keys if name in values)])
        body = ME if method == "auth.test" else self._lookups.get(key, {"ok": False, "error": "not_found"})
        await answer(send, 200, body, ((b"x-oauth-scopes", SCOPES),))


def signed(event: Mapping[str, Any]) -> WebhookRequest:
    """The request that delivers an event, or a command as a form."""
    is_form = "command" in event
    body = urlencode(event).encode() if is_form else orjson.dumps(event)
    stamp = str(int(time.time()))
    kind = "application/x-www-form-urlencoded" if is_form else "application/json"
    headers = {
        "content-type": kind,
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature(SECRET, stamp, body),
    }
    return WebhookRequest(headers, body)


@asynccontextmanager
async def running(sample: Sample) -> AsyncIterator[RunningAdapter[SlackAdapter]]:
    """The adapter of an account, which keeps a record of the chat."""
    server = LoopbackServer(Workspace(sample.lookups))
    async with server.running():
        settings = {"bot_token": "xoxb-corpus", "signing_secret": SECRET, "base_url": f"{server.url}/api/"}
        config = {"name": "sl", "platform": "slack", "mode": "http", **settings}
        started = RunningAdapter(SlackAdapter("sl", SlackAccount.model_validate(config)))
        started.shelf.recorded.add(sample.event.get("event", {}).get("channel", ""))
        await started.start()
        yield started
        await started.stop()


async def read(sample: Sample) -> str:
    """Return what the agent reads: the message or change, and the thread before it where the bot is asked."""
    async with running(sample) as started:
        answered = await started.adapter.webhook(signed(sample.event))
        assert answered.status == 200
        assert started.adapter.counts.malformed == started.adapter.counts.failed == 0
        seen = [line for change in started.shelf.changes for line in lines_of_change(change)]
        for message in started.shelf.messages:
            seen += lines_of_message(message)
            if message.addressed:
                seen += await read_earlier(started, message)
    return "\n".join(seen)


async def read_earlier(started: RunningAdapter[SlackAdapter], message: InboundMessage) -> list[str]:
    """What the agent reads of the thread before a message."""
    try:
        found = await started.adapter.earlier(address_of(message), message.origin.message_id, 50)
    except DeliveryError:
        return []
    return [line for one in found for line in [one.sender.name, one.text, *lines_of(one.quotations)]]


def lines_of_message(message: InboundMessage) -> list[str]:
    """What the agent reads of a message."""
    names = [one.filename for one in message.attachments]
    return [message.origin.sender.name, message.text, *names, *lines_of(message.quotations)]


def lines_of_change(change: InboundChange) -> list[str]:
    """What the agent reads of a change."""
    message = lines_of_message(change.message) if change.message else []
    return [change.text or "", *lines_of(change.quotations or ()), *message]


def lines_of(quotations: Iterable[Quotation]) -> list[str]:
    return [text for one in quotations for text in (one.author, one.text, *one.files)]


@pytest.mark.parametrize("sample", SAMPLES)
async def test_a_content_type_is_read(sample: Sample) -> None:
    seen = await read(sample)
    assert [text for text in sample.reads if text not in seen] == [], seen
    assert [text for text in sample.omits if text in seen] == [], seen
    if not sample.reads:
        assert seen.strip() == ""
