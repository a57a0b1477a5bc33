"""Edits and deletions by people, and what only looks like them."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import ChatKind, InboundChange, Mention, MentionKind, Quotation, QuotationKind
from bot.platforms.slack.inbound import Ignored, SlackIdentity, SlackInbound

from .conftest import PERSON, Running, eventually

US = SlackIdentity("UBOT", "BBOT", "T1")


def changed(subtype: str = "message_changed", **more: Any) -> dict[str, Any]:
    event = {"type": "message", "subtype": subtype, "channel": "C1", "event_ts": "9.000001", **more}
    return {"type": "event_callback", "event_id": "Ev1", "event": event}


def wrote(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "ts": "5.000001", "text": text, **more}


async def test_an_edit_says_what_the_message_says_now(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    said = running.emulator.people.says("@roebot first", channel=team)
    await running.shelf.until(1)
    running.emulator.people.edits(team, said.ts, "@roebot second &amp; last")
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.origin.chat, change.origin.message_id) == ("second & last", team, said.ts)
    assert (change.origin.sender.id, change.origin.chat_kind) == (PERSON, ChatKind.GROUP)
    assert change.at > float(said.ts)
    assert running.shelf.texts == ["first"]


async def test_a_deletion_names_the_message(running: Running) -> None:
    said = running.emulator.people.says("first")
    await running.shelf.until(1)
    running.emulator.people.deletes(said.channel, said.ts)
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.origin.message_id) == (None, said.ts)
    assert change.origin.chat_kind is ChatKind.PRIVATE
    assert running.adapter.counts.edits == 1


async def test_the_root_of_a_thread_leaves_a_tombstone(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    said = running.emulator.people.says("@roebot first", channel=team)
    running.emulator.people.says("more", channel=team, thread=said.ts)
    await running.shelf.until(2)
    running.emulator.people.deletes(team, said.ts)
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.origin.message_id) == (None, said.ts)


async def test_a_redelivered_edit_is_one(running: Running) -> None:
    said = running.emulator.people.says("first")
    await running.shelf.until(1)
    running.emulator.duplicate()
    running.emulator.people.edits(said.channel, said.ts, "second")
    await eventually(lambda: running.shelf.duplicates == 1)
    assert [change.text for change in running.shelf.changes] == ["second"]


async def test_an_edit_that_cannot_be_stored_comes_again(running: Running) -> None:
    said = running.emulator.people.says("first")
    await running.shelf.until(1)
    running.shelf.refuse = 1
    running.emulator.people.edits(said.channel, said.ts, "second")
    await eventually(lambda: running.shelf.refused == 1)
    assert running.emulator.outbox.unacked == 1
    running.emulator.close_sockets()
    await eventually(lambda: running.shelf.changes)


async def test_the_preview_of_a_link_leaves_the_text(running: Running) -> None:
    said = running.emulator.people.says("see https://example.org/")
    await running.shelf.until(1)
    running.emulator.people.previews(said.channel, said.ts, "Example", "/allow")
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.message) == ("see https://example.org/", None)
    assert change.quotations == (Quotation(QuotationKind.PREVIEW, "Example\n/allow"),)


async def test_an_edit_that_adds_a_mention_brings_the_message(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    said = running.emulator.people.says("deploy it", channel=team)
    running.emulator.people.edits(team, said.ts, "@roebot deploy it")
    running.emulator.people.edits(team, said.ts, "@roebot deploy it now")
    await eventually(lambda: len(running.shelf.changes) == 2)
    called, corrected = running.shelf.changes
    assert called.message is not None and called.message.addressed
    assert (called.message.event_id, called.message.text) == (f"{team}:{said.ts}", "deploy it")
    assert called.message.origin.sender.belongs, "the person is known, as for any message"
    assert (corrected.text, corrected.message) == ("deploy it now", None)


async def test_an_edit_tells_who_is_mentioned_now_and_leaves_the_files(running: Running) -> None:
    people = running.emulator.people
    team = people.make_channel("team")
    said = people.says("@roebot for <@U0000001>", channel=team, data=b"x", filename="plan.txt")
    await running.shelf.until(1)
    people.says("hello", channel=team, user="U0000002", name="Ben")
    people.edits(team, said.ts, "@roebot for <@U0000002>")
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert change.text == "for @Ben"
    assert change.mentions == (Mention(MentionKind.PERSON, "Ben", "U0000002"),)
    assert change.attachments is None


def test_an_edit_may_only_change_files() -> None:
    plan, notes = (
        {
            "id": f"F{name}",
            "name": name,
            "mimetype": "text/plain",
            "size": 1,
            "url_private": f"https://x/{name}",
        }
        for name in ("plan.txt", "notes.txt")
    )
    before, after = wrote("see", files=[plan, notes]), wrote("see", files=[notes])
    change = SlackInbound("sl", US).read(changed(message=after, previous_message=before))
    assert isinstance(change, InboundChange) and change.attachments is not None
    assert (change.text, change.quotations) == ("see", None)
    assert [one.filename for one in change.attachments] == ["notes.txt"]


async def test_the_bots_own_messages_are_no_matter(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    web = running.adapter.session.client.web
    posted = await web.chat_postMessage(channel=team, text="mine")
    running.emulator.people.edits(team, str(posted["ts"]), "other")
    running.emulator.people.deletes(team, str(posted["ts"]))
    running.emulator.people.says("@roebot next", channel=team)
    await running.shelf.until(1)
    assert running.shelf.changes == []


def test_what_slack_adds_to_an_edited_message_is_no_edit() -> None:
    before = wrote("same", edited={"user": "U1", "ts": "6.0"})
    assert (
        SlackInbound("sl", US).read(changed(message={**before, "team": "T1"}, previous_message=before))
        == Ignored()
    )


@pytest.mark.parametrize("more", [{"bot_id": "B9"}, {"bot_id": "B9", "subtype": "bot_message"}])
def test_what_other_programs_wrote_changes_too(more: dict[str, Any]) -> None:
    before, after = wrote("a", **more), wrote("b", edited={"user": "U1", "ts": "6.0"}, **more)
    inbound = SlackInbound("sl", US)
    change = inbound.read(changed(message=after, previous_message=before))
    assert isinstance(change, InboundChange)
    assert (change.text, change.origin.sender.is_bot, change.origin.sender.id) == ("b", True, "B9")
    gone = inbound.read(changed("message_deleted", previous_message=before, deleted_ts="5.000001"))
    assert isinstance(gone, InboundChange) and gone.text is None


@pytest.mark.parametrize("more", [{"user": "UBOT"}, {"bot_id": "BBOT"}])
def test_what_the_bot_wrote_is_no_matter(more: dict[str, Any]) -> None:
    before, after = wrote("a", **more), wrote("b", edited={"user": "U1", "ts": "6.0"}, **more)
    inbound = SlackInbound("sl", US)
    assert inbound.read(changed(message=after, previous_message=before)) == Ignored()
    gone = changed("message_deleted", previous_message=before, deleted_ts="5.000001")
    assert inbound.read(gone) == Ignored()


def test_a_deletion_may_come_without_the_message() -> None:
    change = SlackInbound("sl", US).read(changed("message_deleted", deleted_ts="5.000001"))
    assert isinstance(change, InboundChange)
    assert (change.text, change.origin.message_id, change.origin.sender.id) == (None, "5.000001", "")
