"""An app posts an alert, a colleague replies, then somebody asks: what the agent reads of all that."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shared.envelope import parse_envelopes
from bot.access import Role
from bot.config import AccessEntry, AppRule
from bot.content import Card, CardField, CardLink, PollOption, card, location, poll, sticker, unsupported
from bot.domain import ChatKind, HistoryMessage, Quotation, QuotationKind, Sender
from bot.features.record.record_store import list_recorded
from bot.texts import texts_for
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_apps import APP, app_says
from tests.component.dispatch.test_chat_record import asked, overhears, says
from tests.component.dispatch.test_digest_command import later
from tests.component.dispatch.test_service_calls import calling
from tests.component.dispatch.test_thread_history import Reading, mentions

ALERT = card(
    Card(
        "Disk of db1 is full",
        "https://grafana.example/a/1",
        lines=["97 % used", CardField("Severity", "critical"), CardLink("Runbook", "https://wiki.example/r")],
        footer="Grafana v12",
    )
)
REPLY = Quotation(QuotationKind.REPLY, "Disk of db1 is full", "Grafana", "B7")
FACTS = (
    "Disk of db1 is full",
    "https://grafana.example/a/1",
    "97 % used",
    "Severity: critical",
    "https://wiki.example/r",
    "I am looking into it",
    '"P8"',
)


async def alert(at: Bench, **more: Any) -> None:
    """The app posts its alert, to which a colleague replies."""
    await app_says(at, "", quotations=(ALERT,), addressed=False, **more)
    await overhears(at, "I am looking into it", person="8", quotations=(REPLY,))


def missing(text: str) -> list[str]:
    return [fact for fact in (*FACTS, '"Grafana" [app] (recording:app:B7)') if fact not in text]


async def test_who_asks_about_an_alert_in_a_recorded_chat(at: Bench) -> None:
    at.runtime.script = answer_with("The disk of db1.")
    async with at.running():
        await says(at, "/record on")
        await alert(at)
        await says(at, "what is this?")
    assert missing(asked(at)) == []


async def test_who_asks_about_an_alert_in_a_thread(at: Bench) -> None:
    at.adapter = Reading(
        said=(
            HistoryMessage("m1", APP, "", 1_000_000.0, quotations=(ALERT,)),
            HistoryMessage("m2", Sender("8", "P8"), "I am looking into it", 1_000_001.0),
        )
    )
    at.runtime.script = answer_with("The disk of db1.")
    async with at.running():
        assert missing(await mentions(at, "what is this?")) == []


async def test_a_digest_tells_of_alerts(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, answer_with("the digest")
    async with at.running():
        await says(at, "/record on")
        await says(at, "/digest daily 18:00 digest")
        await says(at, "/digest ok 1")
        await alert(at)
        await later(at, 6 * 3600.0, step=60.0)
    assert missing(asked(at)) == []


async def test_the_agent_reads_alerts_of_earlier(at: Bench) -> None:
    async with at.running():
        await says(at, "/record on")
        await alert(at)
        at.runtime.script = calling({})
        await says(at, "what happened?")
        [run] = [one for one in at.runtime.runs.values() if one.request.answers]
        assert missing(str(run.request.decision).replace('\\\\"', '"').replace('\\"', '"')) == []


async def test_of_a_blocked_app_nothing_is_read(at: Bench) -> None:
    at.runtime.script = answer_with("nothing")
    async with at.running():
        await says(at, "/record on")
        await alert(at)
        at.role = None
        await says(at, "/role recording:B7 blocked", person="9")
        await app_says(at, "secret of the app", addressed=False)
        await says(at, "what is this?")
        recorded = await at.db.transact(list_recorded, "rec", "group", 0.0, 1e12)
    assert "97 %" not in asked(at)
    assert '(reply "[message from a blocked person]")' in asked(at)
    assert "secret of the app" not in [one.text for one in recorded]


CONTENTS = {
    "sticker": sticker("👍"),
    "poll": poll("Lunch?", [PollOption("Pizza", 2)]),
    "location": location(52.5, 13.4, "Berlin"),
    "card": ALERT,
}


@pytest.mark.parametrize("kind", CONTENTS)
async def test_content_alone_is_answered_in_a_private_chat(at: Bench, kind: str) -> None:
    at.runtime.script = answer_with("seen")
    async with at.running():
        await at.adapter.hears("", quotations=(CONTENTS[kind],))
        await at.until(lambda: at.adapter.texts() == ["seen"])
    [run] = at.runtime.runs.values()
    [envelope] = parse_envelopes(run.request.messages[0]["content"])
    [quotation] = envelope.quotations
    assert (quotation.kind, quotation.text) == (kind, CONTENTS[kind].text)


async def test_content_that_nobody_reads_gets_a_notice_alone(at: Bench) -> None:
    at.runtime.script = answer_with("seen")
    texts = texts_for("en")
    async with at.running():
        await at.adapter.hears("", quotations=(unsupported("dice"),))
        await at.until(lambda: at.adapter.texts() == [texts("unsupported", kind="dice")])
        assert not at.runtime.runs
        await at.adapter.hears("look", quotations=(unsupported("dice"),))
        await at.until(lambda: len(at.adapter.texts()) == 2)
    assert [one.request.messages[0]["content"].count("dice") for one in at.runtime.runs.values()] == [1]


async def test_two_instances_that_answer_each_other_stop(at: Bench) -> None:
    """The other bot is as talkative as this one: it answers every message that this one posts."""
    at.apps = (AppRule(id=AccessEntry("recording", "B7"), chats=(), mention=True),)
    at.role, at.runtime.script = Role.OWNER, answer_with("and you?")
    answered = 0
    async with at.running():
        await at.adapter.hears("start", chat="group", kind=ChatKind.GROUP)
        for _ in range(40):
            await at.rest(5.0)
            posted = [one for one in at.adapter.shown.values() if one.address.chat == "group"]
            for one in posted[answered:]:
                await app_says(at, "and you?", to=one.id)
            if len(posted) == answered:
                break
            answered = len(posted)
    assert answered == len(at.runtime.runs) == 1 + 3
