"""What the homeserver refuses, and what comes of it."""

from __future__ import annotations

import pytest
from synapse import Synapse, User

from bot.domain import ChatKind, InboundMessage, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from roebot_matrix.account import MatrixAccount
from roebot_matrix.adapter import MatrixAdapter, create
from roebot_matrix.homeserver import _FILTER, Homeserver
from roebot_matrix.rendering import MATRIX, MAX_BYTES, text_content
from roebot_testing.inbox import RecordingInbox
from roebot_testing.running import RunningAdapter, eventually


def adapter_of(server: Synapse, bot: User) -> MatrixAdapter:
    entry = {"name": "mx", "base_url": server.url, "access_token": bot.token}
    return create("mx", MatrixAccount.model_validate(entry))


async def test_a_real_rate_limit_says_how_long_to_wait(homeserver: Synapse) -> None:
    bot, ann, admin = (homeserver.register(name) for name in ("roebot", "ann", "admin"))
    homeserver.make_admin(admin)
    path = f"/_synapse/admin/v1/users/{bot.id}/override_ratelimit"
    homeserver.call("POST", path, admin, json={"messages_per_second": 1, "burst_count": 2})
    room = homeserver.create_room(ann, bot, is_direct=True)
    homeserver.join(bot, room)
    running = await RunningAdapter(adapter_of(homeserver, bot)).start()
    address = ReplyAddress("mx", room, ChatKind.PRIVATE)
    with pytest.raises(RateLimited) as caught:
        for number in range(20):
            await running.adapter.send(OutboundMessage(f"{number}:0", address, f"number {number}"))
    assert 0 < caught.value.retry_after <= 2
    assert caught.value.account_wide
    await running.stop()


async def test_more_than_one_sync_holds_is_read(homeserver: Synapse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roebot_matrix.homeserver.PAGE", 10)
    monkeypatch.setitem(_FILTER["room"]["timeline"], "limit", 10)
    bot, ann = homeserver.register("roebot"), homeserver.register("ann")
    room = homeserver.create_room(ann, bot, is_direct=True)
    homeserver.join(bot, room)
    inbox = RecordingInbox()
    first = await RunningAdapter(adapter_of(homeserver, bot), inbox).start()
    homeserver.says(ann, room, "first")
    await inbox.until(1)
    await first.crash()
    for number in range(25):
        homeserver.says(ann, room, f"number {number}")
    second = await RunningAdapter(adapter_of(homeserver, bot), inbox).start()
    await inbox.until(26)
    assert inbox.texts == ["first", *(f"number {number}" for number in range(25))]
    await second.stop()


async def test_an_invitation_says_who_invites_and_whether_it_is_private(homeserver: Synapse) -> None:
    bot, ann = homeserver.register("roebot"), homeserver.register("ann")
    private, room = homeserver.create_room(ann, bot, is_direct=True), homeserver.create_room(ann, bot)
    server = Homeserver(homeserver.url, bot.token)
    await server.sign_in()
    found = (await server.sync("", full=True, wait=False)).invitations
    await server.close()
    assert {(one.room, one.inviter, one.direct) for one in found} == {
        (private, ann.id, True),
        (room, ann.id, False),
    }


async def test_edits_deletions_replies_and_names(homeserver: Synapse) -> None:
    bot, ann, ben = (homeserver.register(name) for name in ("roebot", "ann", "ben"))
    room = homeserver.create_room(ann, ben, bot, name="The team")
    homeserver.join(ben, room)
    running = await RunningAdapter(adapter_of(homeserver, bot)).start()
    inbox = running.shelf
    said = homeserver.says(ben, room, "the disk is full")
    call = {"m.mentions": {"user_ids": [bot.id]}}
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": said}}, **call}
    asked = homeserver.says(ann, room, f"@{bot.name} why?", **reply)
    await inbox.until(2)
    message = inbox.messages[1]
    assert (message.text, message.origin.sender.name, message.addressed) == ("why?", ann.name, True)
    [quotation] = message.quotations
    assert (quotation.text, quotation.author_id, quotation.message_id) == ("the disk is full", ben.id, said)
    new = {"msgtype": "m.text", "body": f"@{bot.name} and why now?", **call}
    relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": asked}}
    homeserver.send(ann, room, {"msgtype": "m.text", "body": "* …", "m.new_content": new, **relation})
    homeserver.redact(ben, room, said)
    await eventually(lambda: len(inbox.changes) == 2)
    edit, deletion = inbox.changes
    assert (edit.text, edit.origin.message_id, edit.origin.sender.id) == ("and why now?", asked, ann.id)
    assert isinstance(edit.message, InboundMessage) and edit.message.origin.reply_to == said
    assert (deletion.text, deletion.origin.message_id) == (None, said)
    homeserver.send(ben, room, {"msgtype": "m.notice", "body": "I am a robot"})
    await inbox.until(3)
    assert inbox.messages[2].origin.sender.is_bot
    await running.stop()


async def test_nothing_is_sent_to_an_encrypted_room(homeserver: Synapse) -> None:
    bot, ann = homeserver.register("roebot"), homeserver.register("ann")
    room = homeserver.create_room(ann, bot)
    homeserver.join(bot, room)
    homeserver.set_state(ann, room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    running = await RunningAdapter(adapter_of(homeserver, bot)).start()
    with pytest.raises(DeliveryError, match="encrypted") as caught:
        await running.adapter.send(OutboundMessage("1:0", ReplyAddress("mx", room, ChatKind.PRIVATE), "hi"))
    assert caught.value.category is DeliveryCategory.PERMISSION
    await running.stop()


async def test_an_event_that_only_looks_encrypted_drives_nobody_out(homeserver: Synapse) -> None:
    bot, ann = homeserver.register("roebot"), homeserver.register("ann")
    room = homeserver.create_room(ann, bot, is_direct=True)
    homeserver.join(bot, room)
    running = await RunningAdapter(adapter_of(homeserver, bot)).start()
    for kind in ("m.room.encrypted", "m.room.encryption"):
        homeserver.send(ann, room, {"algorithm": "m.megolm.v1.aes-sha2"}, kind)
    homeserver.says(ann, room, "are you there?")
    await running.shelf.until(1)
    assert running.shelf.texts == ["are you there?"]
    path = f"/_matrix/client/v3/rooms/{room}/state/m.room.member/{bot.id}"
    assert homeserver.call("GET", path, ann)["membership"] == "join"
    await running.stop()


async def test_an_encrypted_room_where_the_bot_may_not_write_is_left(homeserver: Synapse) -> None:
    bot, ann = homeserver.register("roebot"), homeserver.register("ann")
    mute = {"power_level_content_override": {"events_default": 50}}
    silent, room = homeserver.create_room(ann, bot, **mute), homeserver.create_room(ann, bot, is_direct=True)
    for one in (silent, room):
        homeserver.join(bot, one)
    running = await RunningAdapter(adapter_of(homeserver, bot)).start()
    homeserver.set_state(ann, silent, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    homeserver.says(ann, room, "are you there?")
    await running.shelf.until(1)
    assert running.shelf.texts == ["are you there?"]
    path = f"/_matrix/client/v3/rooms/{silent}/state/m.room.member/{bot.id}"
    assert homeserver.call("GET", path, ann)["membership"] == "leave"
    await running.stop()


@pytest.mark.parametrize(
    "unit", ['"\\" ', "<&> ", "[a](https://example.org/b?c&d) ", "| a |\n", "- x\n", "界"]
)
def test_a_part_fits_into_an_event(unit: str) -> None:
    import json

    for part in MATRIX.split(unit * (2 * MAX_BYTES // len(unit)))[:2]:
        content = json.dumps(text_content(part), ensure_ascii=False)
        assert len(content.encode()) < 65_000
