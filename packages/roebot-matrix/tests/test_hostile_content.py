"""What other people and homeservers may send costs at most what they sent, never the account."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from scripted import ANN, BOT, ROOM, SENT_AT, ScriptedHomeserver, said, scripted

from bot.domain import ChatKind, InboundChange, InboundMessage
from bot.errors import DeliveryCategory, DeliveryError
from roebot_matrix.account import MatrixAccount
from roebot_matrix.adapter import MatrixAdapter, create
from roebot_matrix.homeserver import Homeserver
from roebot_matrix.inbound import EventReader, Place
from roebot_matrix.session import INVITATION_WAITS, SILENCE
from roebot_testing.clock import ManualClock, QuickClock
from roebot_testing.inbox import RecordingInbox
from roebot_testing.running import RunningAdapter, eventually

PLACE = Place(ROOM, ChatKind.GROUP)
NOW = 1_800_000_000.0
NO_IDS = ["$" + "a" * 60_000, "$" + "界" * 85, "$a\0b", "words", ""]
INVITED = "!invited:example.com"
ALONE = {"m.joined_member_count": 2}


def adapter_of(scene: ScriptedHomeserver) -> MatrixAdapter:
    entry = {"name": "mx", "base_url": scene.url, "access_token": "token"}
    return create("mx", MatrixAccount.model_validate(entry))


def patient_clock() -> QuickClock:
    """Return a clock on which a sync may take as long as it needs."""
    return QuickClock(lambda seconds: seconds if seconds == SILENCE else 0.0)


def invitation() -> dict[str, Any]:
    """Return what a sync says of a room to which Ann invites the bot."""
    content = {"membership": "invite", "is_direct": True}
    own = {"type": "m.room.member", "state_key": BOT, "sender": ANN, "content": content}
    return {"invite_state": {"events": [own]}}


async def further_syncs(scene: ScriptedHomeserver, number: int) -> None:
    """Wait for that many more syncs. Before each of them, the adapter has dealt with the one before."""
    done = len(scene.tokens)
    await eventually(lambda: len(scene.tokens) >= done + number)


@asynccontextmanager
async def reading() -> AsyncIterator[tuple[ScriptedHomeserver, EventReader]]:
    async with scripted() as scene:
        server = Homeserver(scene.url, "token")
        await server.sign_in()
        try:
            yield scene, EventReader("mx", server, ManualClock(NOW))
        finally:
            await server.close()


@pytest.mark.parametrize("event_id", NO_IDS)
@pytest.mark.parametrize("kind", ["m.in_reply_to", "m.thread", "m.replace"])
async def test_a_relation_to_what_is_no_event_id_is_ignored(kind: str, event_id: str) -> None:
    named: dict[str, Any] = {"event_id": event_id}
    relation = {kind: named} if kind == "m.in_reply_to" else {"rel_type": kind, **named}
    async with reading() as (scene, reader):
        found = await reader.read(PLACE, [said("$1", {"m.relates_to": relation}), said("$2", {})])
        assert set(scene.calls) == {"/account/whoami"}
    origins = [one.origin for one in found]
    assert [one.message_id for one in origins] == (["$2"] if kind == "m.replace" else ["$1", "$2"])
    assert {(one.topic, one.reply_to) for one in origins} == {("", "")}


@pytest.mark.parametrize("event_id", NO_IDS)
async def test_a_redaction_of_what_is_no_event_id_is_ignored(event_id: str) -> None:
    redaction = {**said("$1", {"redacts": event_id}), "type": "m.room.redaction"}
    async with reading() as (_, reader):
        assert await reader.read(PLACE, [redaction, {**redaction, "redacts": event_id}]) == []


@pytest.mark.parametrize("status", [400, 403, 404, 413, 414])
@pytest.mark.parametrize("code", ["M_UNKNOWN", "M_BAD_PARAM", "M_CUSTOM"])
async def test_a_refused_lookup_costs_the_quotation_alone(status: int, code: str) -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}
    edit = {"m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}}
    async with reading() as (scene, reader):
        answer = f'{{"errcode": "{code}", "error": "no"}}'
        scene.answers[f"/rooms/{ROOM}/event/$0"] = status, answer
        [message] = await reader.read(PLACE, [said("$1", reply), said("$2", edit)])
    assert isinstance(message, InboundMessage)
    assert (message.text, message.quotations, message.origin.reply_to) == ("hello", (), "$0")


async def test_a_lookup_that_fails_for_now_is_repeated() -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}
    async with reading() as (scene, reader):
        scene.answers[f"/rooms/{ROOM}/event/$0"] = 502, "{}"
        with pytest.raises(DeliveryError) as caught:
            await reader.read(PLACE, [said("$1", reply)])
    assert caught.value.category is DeliveryCategory.TRANSIENT


@pytest.mark.parametrize("at", [2**53 - 1, -(2**53), 10**400, 1_800_000_000_001])
async def test_a_time_that_cannot_be_right_is_replaced_by_now(at: int) -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}}
    edit = {"m.new_content": {"body": "new"}, "m.relates_to": {"rel_type": "m.replace", "event_id": "$1"}}
    redaction = {**said("$4", {"redacts": "$1"}, at), "type": "m.room.redaction"}
    async with reading() as (_, reader):
        events = [said("$1", {}, at), said("$2", reply), said("$3", edit, at), redaction]
        [first, second, changed, deleted] = await reader.read(PLACE, events)
    assert isinstance(first, InboundMessage) and first.sent_at == NOW
    assert isinstance(second, InboundMessage) and second.quotations[0].sent_at == NOW
    assert second.sent_at == SENT_AT / 1000
    assert isinstance(changed, InboundChange) and changed.at == NOW
    assert isinstance(deleted, InboundChange) and deleted.at == NOW


@pytest.mark.parametrize("stranger", [False, True])
@pytest.mark.parametrize(
    ("status", "code"), [(502, "M_UNKNOWN"), (429, "M_LIMIT_EXCEEDED"), (401, "M_UNKNOWN_TOKEN")]
)
async def test_an_invitation_that_fails_stops_nothing_and_is_tried_again(
    status: int, code: str, stranger: bool
) -> None:
    async with scripted() as scene:
        call = f"/rooms/{INVITED}/leave" if stranger else f"/join/{INVITED}"
        scene.answers[call] = status, f'{{"errcode": "{code}", "error": "no", "retry_after_ms": 9999999}}'
        scene.syncs = [
            {"invite": {INVITED: invitation()}},
            {"join": {ROOM: {"timeline": {"events": [said("$1", {})]}, "summary": ALONE}}},
        ]
        inbox = RecordingInbox()
        inbox.strangers = {ANN} if stranger else set()
        running = await RunningAdapter(adapter_of(scene), inbox, patient_clock()).start()
        await inbox.until(1)
        assert scene.calls[call] == 1
        for tries, wait in enumerate(INVITATION_WAITS, start=2):
            running.clock.ahead += wait
            await eventually(lambda tries=tries: scene.calls[call] == tries)
            await further_syncs(scene, 1)
        running.clock.ahead += 1e6
        await further_syncs(scene, 3)
        assert scene.calls[call] == 1 + len(INVITATION_WAITS)
        assert scene.tokens[:3] == ["", "1", "2"]
        await running.stop()


async def test_a_postponed_invitation_is_accepted_later() -> None:
    async with scripted() as scene:
        call, encryption = f"/join/{INVITED}", f"/rooms/{INVITED}/state/m.room.encryption"
        scene.answers[call] = 502, "{}"
        scene.syncs = [{"invite": {INVITED: invitation()}}]
        running = await RunningAdapter(adapter_of(scene), clock=patient_clock()).start()
        await eventually(lambda: scene.calls[call] == 1)
        await further_syncs(scene, 1)
        scene.answers[call] = 200, f'{{"room_id": "{INVITED}"}}'
        running.clock.ahead += INVITATION_WAITS[0]
        await eventually(lambda: scene.calls[encryption] == 1)
        await running.stop()
        assert scene.calls[call] == 2


async def test_a_response_that_is_nested_too_deeply_is_unreadable() -> None:
    async with reading() as (scene, reader):
        deep = '{"a": ' * 100_000 + "1" + "}" * 100_000
        for path in ("/sync", f"/rooms/{ROOM}/event/$0"):
            scene.answers[path] = 200, deep
        scene.answers[f"/_matrix/client/v1/rooms/{ROOM}/relations/$0/m.thread"] = 200, deep
        server = reader._server
        for call in (
            server.sync("1", full=False, wait=False),
            server.event(ROOM, "$0"),
            server.thread(ROOM, "$0", 1),
        ):
            with pytest.raises(DeliveryError) as caught:
                await call
            assert caught.value.category is DeliveryCategory.TRANSIENT
