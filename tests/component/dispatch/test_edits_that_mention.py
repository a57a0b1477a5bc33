"""A mention that an edit adds starts one turn, and content that an edit changes is what the agent reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.shared.envelope import parse_envelopes
from bot.content import Card, preview
from bot.domain import ChatKind, InboundChange, InboundMessage, Origin, Quotation, QuotationKind, Sender
from bot.features.record.record_store import list_recorded
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_apps import APP
from tests.component.dispatch.test_chat_record import kept, says

ANN, EVE = Sender("7", "P7"), Sender("666", "Eve")
PREVIEW = (preview(Card("Release notes", "https://example.org/notes")),)


def origin_of(message_id: str = "m1", sender: Sender = ANN) -> Origin:
    return Origin("rec", "recording", "group", ChatKind.GROUP, message_id, sender)


def edit(
    text: str = "what is this?",
    *,
    event: str = "c1",
    message_id: str = "m1",
    sender: Sender = ANN,
    at: float = 1e9,
    sent_at: float = 1e9 - 60,
    **more: Any,
) -> InboundChange:
    """An edit after which a message addresses the bot."""
    origin = origin_of(message_id, sender)
    message = InboundMessage(f"of-{event}", origin, text, sent_at, **more)
    return InboundChange(event, origin, text, at, message=message, quotations=more.get("quotations"))


async def receives(at: Bench, *events: InboundChange | InboundMessage) -> None:
    assert at.adapter.context is not None
    await at.adapter.context.inbox.accept(events)


def said(addressed: bool = False, text: str = "what is this?", **more: Any) -> InboundMessage:
    return InboundMessage("e-m1", origin_of(), text, 1e9 - 60, addressed=addressed, **more)


def read(at: Bench) -> list[list[str]]:
    """What each run was told in envelopes."""
    return [
        [one.text for message in run.request.messages for one in parse_envelopes(message["content"])]
        for run in at.runtime.runs.values()
    ]


async def test_a_mention_added_by_an_edit_is_answered_once(at: Bench) -> None:
    at.runtime.script = answer_with("an alert")
    async with at.running():
        await receives(at, said())
        await at.rest(1.0)
        assert read(at) == []
        await receives(at, edit())
        await at.until(lambda: at.adapter.texts("group") == ["an alert"])
        await receives(at, edit())  # the platform delivers it again
        await receives(at, edit("what is this? please", event="c2", at=1e9 + 1))
        await at.rest(2.0)
    async with at.running():
        await receives(at, edit(), edit("well?", event="c3", at=1e9 + 2), said(addressed=True))
        await at.rest(2.0)
    assert read(at) == [["what is this?"]]
    [shown] = at.adapter.shown.values()
    assert shown.address.reply_to == "m1"


@pytest.mark.guard(
    "an edited message is answered once",
    "bot/store/inbox.py",
    "if was_accepted(connection, edit.change):",
    "if False:",
    against="answers to edits",
)
async def test_an_edit_of_an_answered_message_starts_nothing(at: Bench) -> None:
    at.runtime.script = answer_with("an alert")
    async with at.running():
        await receives(at, said(addressed=True))
        await at.until(lambda: at.adapter.texts("group"))
        await receives(at, edit("what was this?"))
        await at.rest(2.0)
        assert len(at.runtime.runs) == 1
        await says(at, "and now?", to=[*at.adapter.shown][-1])
    run = [*at.runtime.runs.values()][-1]
    assert 'Now: "what was this?"' in run.request.messages[0]["content"]


@pytest.mark.guard(
    "a message that comes after its edit is not answered again",
    "bot/store/inbox.py",
    "if not admission.message.clicked and connection.execute(FIND_EVENT, overtaken).first():",
    "if False:",
    against="answers to edits",
)
@pytest.mark.parametrize("deleted", [False, True])
async def test_the_message_that_comes_after_its_edit_is_not_answered_again(at: Bench, deleted: bool) -> None:
    at.runtime.script = answer_with("an alert")
    async with at.running():
        await receives(at, edit("what is this, please?"))
        await at.until(lambda: at.adapter.texts("group"))
        if deleted:
            await receives(at, InboundChange("d1", origin_of(), None, 1e9 + 5))
        await receives(at, said(addressed=True))
        await receives(at, edit("again", event="c9", at=1e9 + 9))
        await at.rest(2.0)
    assert read(at) == [["what is this, please?"]]


@pytest.mark.parametrize("sender", [EVE, APP, replace(APP, id="7"), Sender("")])
async def test_only_people_with_access_ask_by_an_edit(at: Bench, sender: Sender) -> None:
    async with at.running():
        await says(at, "/record on")
        await receives(at, replace(said(), origin=origin_of(sender=sender)))
        await receives(at, edit("/help @bot", sender=sender))
        await at.rest(2.0)
        assert len(at.adapter.shown) == 1
        assert not at.runtime.runs
        assert (await kept(at))[-1].endswith("/help @bot")


@pytest.mark.guard(
    "nobody unknown asks by an edit",
    "bot/bus/admission.py",
    "or not message.origin.sender.id:",
    "or False:",
    against="answers to edits",
)
async def test_an_edit_by_nobody_known_starts_nothing(at: Bench) -> None:
    at.default = "allow"
    async with at.running():
        await receives(at, edit(sender=Sender("")))
        await at.rest(2.0)
        assert not at.runtime.runs
        await receives(at, edit(sender=EVE))
        await at.until(lambda: at.runtime.runs)


@pytest.mark.guard(
    "a message that may be forgotten is not answered again",
    "bot/bus/admission.py",
    "(kept and now - message.sent_at > kept)",
    "False",
    against="answers to edits",
)
@pytest.mark.parametrize("late", [0.0, 30 * 86_400.0])
async def test_a_message_that_may_be_forgotten_is_not_answered_again(at: Bench, late: float) -> None:
    """The time of receipt counts: a platform may deliver an edit late, when its message is deleted here."""
    at.kept_days = 30
    now = at.clock.now()
    async with at.running():
        await receives(at, edit(sent_at=now - 31 * 86_400.0, at=now - late))
        await at.rest(2.0)
        assert not at.runtime.runs
        await receives(at, edit(sent_at=now - 29 * 86_400.0, at=now))
        await at.until(lambda: at.runtime.runs)


async def test_new_content_is_read_by_who_waits_and_recorded(at: Bench) -> None:
    async with at.running():
        await says(at, "/record on")
        await at.adapter.hears("first", chat="group", kind=ChatKind.GROUP, to="x")
        await at.until(lambda: at.runtime.runs)
        await at.adapter.hears("read https://example.org/notes", chat="group", kind=ChatKind.GROUP, to="x")
        waiting = origin_of(f"u{at.adapter._number}")
        await receives(at, InboundChange("c1", waiting, "read https://example.org/notes", 1e9, None, PREVIEW))
        [run] = at.runtime.runs.values()
        run.say("one")
        run.end()
        await at.until(lambda: len(at.runtime.runs) == 2)
        content = [*at.runtime.runs.values()][-1].request.messages[0]["content"]
        recorded = await at.db.transact(list_recorded, "rec", "group", 0.0, 1e12)
    [envelope] = parse_envelopes(content)
    assert [one.kind for one in envelope.quotations] == ["preview"]
    assert "Release notes" in envelope.quotations[0].text
    assert [one.quotations for one in recorded if one.message_id == waiting.message_id] == [PREVIEW]
    assert "edited" not in content


async def test_a_preview_of_a_read_message_is_no_news(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await receives(at, said(addressed=True, text="see https://example.org/notes"))
        await at.until(lambda: at.adapter.texts("group"))
        change = InboundChange("c1", origin_of(), "see https://example.org/notes", 1e9, None, PREVIEW)
        await receives(at, change)
        await says(at, "and now?", to=[*at.adapter.shown][-1])
    assert "edited" not in [*at.runtime.runs.values()][-1].request.messages[0]["content"]


async def test_content_of_an_edit_is_bounded(at: Bench) -> None:
    huge = (
        Quotation(QuotationKind.CARD, "c" * 300_000),
        Quotation(QuotationKind.PREVIEW, "p" * 300_000),
    )
    async with at.running():
        await receives(at, edit("t" * 300_000, quotations=huge))
        await receives(at, said(), edit("t", event="c2", message_id="m2", quotations=huge))
        await at.until(lambda: at.runtime.runs)
    sizes = [len(one["content"]) for run in at.runtime.runs.values() for one in run.request.messages]
    assert max(sizes) < 110_000
