"""Messages of apps: read and recorded like people's, but never an order, an answer or a person."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bot.content import Card, notice, preview
from bot.domain import ChatKind, InboundChange, Origin, Quotation, QuotationKind, Sender, person_of
from bot.store.connection import sql
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_chat_record import asked, kept, says

APP = Sender("B7", "Grafana", is_bot=True)
NUMBERS = itertools.count(1)


async def app_says(at: Bench, text: str, app: Sender = APP, **more: Any) -> None:
    """Receive a message of an app in a group, which mentions the bot unless told otherwise."""
    place = {"chat": "group", "kind": ChatKind.GROUP, "topic": "", "to": ""}
    place = {key: more.pop(key, value) for key, value in place.items()}
    message_id = more.pop("message_id", f"a{next(NUMBERS)}")
    where = place["chat"], ChatKind(place["kind"]), message_id
    origin = Origin("rec", "recording", *where, app, place["topic"], place["to"])
    await at.adapter.hears(text, origin=origin, **more)


async def count_rows(at: Bench, table: str) -> int:
    return int(
        await at.db.transact(lambda store: store.execute(sql(f"SELECT COUNT(*) FROM {table}")).scalar_one())
    )


async def is_ignored(at: Bench) -> bool:
    """Return whether nothing was answered, run, stored or offered so far."""
    await at.rest(3.0)
    stored = [await count_rows(at, table) for table in ("inbound", "turns", "pairings", "notices")]
    return not (any(stored) or at.runtime.runs or at.adapter.shown or at.adapter.told)


@pytest.mark.parametrize("kind", [ChatKind.GROUP, ChatKind.PRIVATE])
@pytest.mark.parametrize("text", ["what is this?", "/role recording:B7 owner", "/help", "/whoami", "yes"])
@pytest.mark.parametrize("default", ["pair", "closed", "allow"])
async def test_an_app_gets_no_answer(at: Bench, default: Any, text: str, kind: ChatKind) -> None:
    at.role, at.default = None, default
    async with at.running():
        await app_says(at, text, kind=kind)
        assert await is_ignored(at)


@pytest.mark.parametrize(
    "app",
    [
        Sender("9", "Ada", "ada", is_bot=True),  # the id and the name of an admin
        Sender("B7", "P9", "P9", is_bot=True),
        Sender("B7", "Ada", belongs=("team:T1",), is_bot=True),
    ],
)
async def test_no_id_and_no_name_makes_an_app_a_person(at: Bench, app: Sender) -> None:
    at.role = None
    async with at.running():
        await app_says(at, "/role recording:B7 admin", app)
        await app_says(at, "delete everything", app, kind=ChatKind.PRIVATE, chat="dm")
        assert await is_ignored(at)


async def test_an_app_presses_no_button(at: Bench) -> None:
    at.role = None
    async with at.running():
        await app_says(at, "approve", Sender("9", "P9", is_bot=True), to="b1", clicked=True)
        assert await is_ignored(at)


async def test_what_an_app_says_is_recorded_and_changed(at: Bench) -> None:
    async with at.running():
        await says(at, "/record on")
        before = len(at.adapter.shown)
        await app_says(at, "disk is full", message_id="m1")
        await app_says(at, "build is green", addressed=False)
        await at.rest(1.0)
        assert await kept(at) == ["Grafana: disk is full", "Grafana: build is green"]
        assert len(at.adapter.shown) == before
        assert at.adapter.context is not None
        origin = Origin("rec", "recording", "group", ChatKind.GROUP, "m1", APP)
        edit = InboundChange("c1", origin, "disk was full", at.clock.now())
        await at.adapter.context.inbox.accept([edit])
        assert (await kept(at))[0] == "Grafana: disk was full"


async def test_who_asks_reads_what_an_app_said(at: Bench) -> None:
    at.runtime.script = answer_with("The disk is full.")
    async with at.running():
        await says(at, "/record on")
        await app_says(at, "disk is full", addressed=False)
        await says(at, "what is this?")
    assert '"Grafana" [app] (recording:app:B7) "disk is full"' in asked(at)


@pytest.mark.guard(
    "an app is stored under an id of its own",
    "bot/domain.py",
    'return f"{APP_PREFIX}{self.id}" if self.is_bot else self.id',
    "return self.id",
    against="orders of apps",
)
def test_an_app_is_known_by_an_id_that_no_person_has() -> None:
    assert person_of("slack", Sender("U1", is_bot=True)) != person_of("slack", Sender("U1"))


@pytest.mark.guard(
    "notices of the platform start nothing",
    "bot/bus/admission.py",
    "        if _is_notice(message):\n            return None\n",
    "",
    against="orders of apps",
)
async def test_notices_of_the_platform_start_nothing(at: Bench) -> None:
    joined = notice("Lena joined the group")
    reply = Quotation(QuotationKind.REPLY, "hi", "Ann", "7")
    contents: list[tuple[Quotation, ...]] = [(joined,), (joined, reply), (preview(Card("a title")),)]
    async with at.running():
        for quotations in contents:
            await at.adapter.hears("", quotations=quotations)
        assert await is_ignored(at)
        await at.adapter.hears("who is this?", quotations=(joined,))
        await at.until(lambda: at.runtime.runs)
