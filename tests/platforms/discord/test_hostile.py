"""Whatever the gateway says: counted and logged, never a crash, and what follows still arrives."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.account_state import Live
from bot.domain import InboundEvent
from bot.platforms.discord.channel_cache import CachedChannel, ChannelCache
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.interaction_reader import COMPONENT, DiscordUses
from bot.platforms.discord.names import DiscordIdentity, KnownNames
from bot.platforms.payload import Malformed
from bot.store.connection import encode_quotations
from roebot_testing.emulators.discord import DiscordEmulator
from tests.corpus import Sample, load_samples
from tests.harness.profile import examples

from .conftest import Running, Shelf, eventually

ME = "123456789012345678"
MESSAGE: dict[str, Any] = {
    "id": "1573896427141070850",
    "channel_id": "1573896422934183937",
    "guild_id": "1573896422934183936",
    "type": 19,
    "content": f"<@{ME}> hi <@5>",
    "author": {"id": "200000000000001001", "username": "ada", "global_name": "Ada"},
    "member": {"nick": "A"},
    "mentions": [{"id": ME, "username": "roebot"}, {"id": "5", "username": "ben"}],
    "mention_roles": ["7"],
    "attachments": [{"id": "9", "filename": "a.png", "size": 3, "content_type": "image/png"}],
    "message_reference": {"type": 0, "message_id": "3"},
    "referenced_message": {"author": {"id": ME}},
    "flags": 0,
    "embeds": [
        {
            "type": "rich",
            "title": "Down",
            "author": {"name": "CI"},
            "fields": [{"name": "Due", "value": "<t:1795789800:d>"}],
            "timestamp": "2026-11-27T06:00:00+00:00",
        }
    ],
    "components": [
        {"type": 17, "components": [{"type": 10, "content": "<#7>"}, {"type": 2, "label": "Go"}]},
        {"type": 13, "name": "a.txt", "size": 1, "file": {"attachment_id": "8"}},
    ],
    "poll": {
        "question": {"text": "When?"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "Now", "emoji": {"id": None, "name": "x"}}}],
        "expiry": "2026-11-28T09:00:02+00:00",
        "results": {"answer_counts": [{"id": 1, "count": 2}], "is_finalized": False},
    },
    "sticker_items": [{"id": "4", "name": "Wave"}],
    "interaction": {"name": "deploy", "user": {"id": "5", "username": "ben"}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a payload."""
    found = [so_far] if so_far else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += paths(item, (*so_far, key))
    return found


def changed(path: tuple[Any, ...], value: Any, payload: Mapping[str, Any] = MESSAGE) -> dict[str, Any]:
    """The payload with something else at one place."""
    message = copy.deepcopy(dict(payload))
    place: Any = message
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return message


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(st.sampled_from(paths(MESSAGE)), JSON)
def test_a_message_is_read_or_refused_whatever_is_in_it(path: tuple[Any, ...], value: Any) -> None:
    inbound = DiscordInbound("dc", KnownNames(DiscordIdentity(ME, "Roebot"), ChannelCache(ME)))
    place = CachedChannel("1573896422934183937", 0, "1573896422934183936")
    try:
        message = inbound.convert(changed(path, value), place)
    except Malformed as error:
        assert "hi" not in str(error)
        return
    assert message is None or isinstance(message.text.encode(), bytes)


SAMPLES = [
    (sample, path)
    for sample in load_samples("discord")
    for path in paths(sample.event["d"])
    if sample.event["t"] in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE")
]


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(st.sampled_from(SAMPLES), JSON)
def test_any_content_is_read_or_refused_whatever_is_in_it(
    changed_at: tuple[Sample, tuple[Any, ...]], value: Any
) -> None:
    sample, path = changed_at
    data, kind = changed(path, value, sample.event["d"]), sample.event["t"]
    known = KnownNames(DiscordIdentity(ME, "Roebot"), ChannelCache(ME))
    inbound = DiscordInbound("dc", known)
    place = CachedChannel("1213274574028800003", 0, "1212912186163200001")
    try:
        if kind == "MESSAGE_CREATE":
            read: InboundEvent | None = inbound.convert(data, place)
        elif kind == "MESSAGE_UPDATE":
            read = inbound.convert_edit(data, place, 0.0)
        elif data.get("type") == COMPONENT:
            read = DiscordUses(inbound).convert_click(data, place).message
        else:
            read = DiscordUses(inbound).convert_use(data, place)
    except Malformed:
        return
    if read is not None:
        assert isinstance(encode_quotations(read.quotations or ()), str)
        assert isinstance(f"{read.text}{read.origin.sender.name}".encode(), bytes)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(JSON)
def test_a_server_is_taken_in_or_refused_whatever_is_in_it(value: Any) -> None:
    places = ChannelCache(ME)
    for key in ("id", "roles", "channels", "threads"):
        data = {"id": "5", "roles": [], "channels": [{"id": "6", "type": 0}], "threads": [], key: value}
        try:
            places.put_guild(data)
        except Malformed:
            continue
        assert all(place.id.isdecimal() for place in places.list_channels("5"))


@pytest.mark.parametrize(
    "event", ["MESSAGE_CREATE", "GUILD_CREATE", "GUILD_DELETE", "CHANNEL_CREATE", "THREAD_LIST_SYNC",
              "THREAD_DELETE", "INTERACTION_CREATE", "READY"],
)  # fmt: skip
@pytest.mark.parametrize("data", [None, [], "x", 7, {}, {"id": None}, {"id": {"a": 1}}, {"id": "1" * 50}])
async def test_an_event_that_cannot_be_read_is_counted(
    running: Running, shelf: Shelf, event: str, data: Any
) -> None:
    session = running.emulator.gateway.session
    assert session is not None and session.send is not None
    before = running.adapter.counts.malformed
    sequence = session.sequence + 1
    session.sequence = sequence
    if event == "READY":
        # The SDK itself reads this one first.
        data = {"session_id": session.id, "resume_gateway_url": running.emulator.gateway.url, "guilds": data}
    session.send({"op": 0, "t": event, "s": sequence, "d": data})
    running.emulator.people.says("after")
    await shelf.until(1)
    assert shelf.texts == ["after"]
    assert running.state.live is Live.LIVE
    assert running.adapter.counts.malformed >= before


async def test_unknown_events_are_ignored(running: Running, shelf: Shelf) -> None:
    running.emulator.inject("SOMETHING_NEW", {"a": 1})
    running.emulator.inject("TYPING_START", {"user_id": "5"})
    running.emulator.people.says("after")
    await shelf.until(1)
    assert running.adapter.counts.malformed == 0


async def test_a_frame_that_is_no_object_is_followed_by_a_new_connection(
    running: Running, shelf: Shelf
) -> None:
    running.emulator.gateway.sockets[0].send("not an object")  # type: ignore[arg-type]
    running.emulator.people.says("after")
    await shelf.until(1)
    assert running.emulator.counters()["resumed"] == 1
    await eventually(lambda: running.state.live is Live.LIVE)


async def test_secrets_are_in_no_log(
    running: Running, shelf: Shelf, emulator: DiscordEmulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    used = emulator.people.uses("status")
    await shelf.until(1)
    token = next(iter(emulator.world.interactions))
    emulator.fault("close", method="editAnswer")
    emulator.close_sockets()
    emulator.people.says("after")
    await shelf.until(2)
    assert used
    assert emulator.token not in caplog.text
    assert emulator.token not in "".join(state.reason for state in running.states)
    assert f"/{token}/" not in caplog.text
