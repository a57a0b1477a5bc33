"""Buttons below the answers of commands; each does what its command does, and can be typed as well."""

from __future__ import annotations

import pytest

from agent.shared.schemas import AgentInfo, ModelInfo
from bot.access import Role
from bot.domain import ChatKind
from bot.features.schedules.schedule_store import ScheduleState, list_chat_schedules
from bot.store.audit import list_audit_entries
from bot.store.connection import sql
from bot.store.conversations import load_conversation
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import answer_with
from tests.component.dispatch.adapters import Asking, AskingSlowly
from tests.component.dispatch.bench import Bench

PLACE = ("rec", "c1")
FOREIGN = "Only the person who sent the command can use these buttons."
GIVE_UP = sql("UPDATE parts SET platform_id = '', state = 'undelivered' WHERE platform_id = :id")
FORGET = sql("UPDATE parts SET platform_id = '', state = 'intended' WHERE choices LIKE :draft")
CLOSED = (
    "This question has already been answered or canceled, so the button had no effect. "
    "If you still need something, just ask."
)


def model(name: str, *, default: bool = False) -> ModelInfo:
    """A model of the runtime."""
    return ModelInfo(name=name, display_name=name, model=name, source="config", default=default)


@pytest.fixture
def choosing(at: Bench) -> Bench:
    at.adapter = Asking(most_choices=5)
    at.runtime.script = answer_with("An answer.")
    at.runtime.offered = [model("big", default=True), model("small")]
    at.runtime.own = [AgentInfo(name="coder"), AgentInfo(name="broken", problem="no such model")]
    return at


async def answer(at: Bench, text: str, **place: object) -> str:
    """Send a command; return the id of the message that answers it."""
    known = set(at.adapter.shown)
    await at.adapter.hears(text, **place)
    await at.until(lambda: set(at.adapter.shown) - known)
    await at.rest(0.5)
    return next(one for one in at.adapter.shown if one not in known)


async def press(at: Bench, label: str, message: str, **place: object) -> str:
    """Press a button; return the text that comes of it."""
    known = set(at.adapter.shown)
    await at.adapter.presses(label, message, **place)
    await at.until(lambda: set(at.adapter.shown) - known)
    await at.rest(0.5)
    return at.adapter.shown[next(one for one in at.adapter.shown if one not in known)].text


@pytest.mark.parametrize(
    ("text", "buttons"),
    [
        ("/models", ("Default", "small")),
        ("/model", ("Default", "big", "small")),
        ("/agent", ("coder",)),
        ("/busy", ("queue", "interrupt", "steer", "reject")),
        ("/plan", ("Switch on",)),
        ("/data erase", ("Erase my data",)),
        ("/digest daily 9:00 say Good morning", ("Save", "Discard")),
        ("/model small", ()),
        ("/status", ()),
    ],
)
async def test_choices_are_buttons(choosing: Bench, text: str, buttons: tuple[str, ...]) -> None:
    async with choosing.running():
        message = await answer(choosing, text)
    assert choosing.adapter.shown[message].choices == buttons


async def test_a_platform_without_buttons_shows_the_answer_alone(at: Bench) -> None:
    at.runtime.offered = [model("big", default=True)]
    async with at.running():
        message = await answer(at, "/models")
    assert at.adapter.shown[message].choices == ()
    assert "`/model NAME`" in at.adapter.shown[message].text


async def test_a_platform_with_few_buttons_shows_the_first(choosing: Bench) -> None:
    choosing.adapter = Asking(most_choices=2)
    async with choosing.running():
        assert choosing.adapter.shown[await answer(choosing, "/busy")].choices == ("queue", "interrupt")


async def test_a_schedule_is_saved_by_its_button(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/digest daily 9:00 say Good morning")
        assert "Schedule 1 is active." in await press(choosing, "Save", message)
        [schedule] = await choosing.db.transact(list_chat_schedules, *PLACE)
        assert schedule.state is ScheduleState.ACTIVE
        await choosing.adapter.presses("Discard", message)
    assert choosing.adapter.told == [("7", CLOSED)]
    assert choosing.runtime.runs == {}


@pytest.mark.guard(
    "a button that was used stays used while its message is delivered",
    "bot/store/new_turn.py",
    "CASE parts.choices WHEN '[]' THEN '[]' ELSE excluded.choices END",
    "excluded.choices",
    against="a repeated press",
)
async def test_a_press_before_the_id_is_stored_counts_once(choosing: Bench) -> None:
    choosing.adapter = slow = AskingSlowly()
    async with choosing.running():
        await slow.hears("/models")
        await choosing.until(slow.posted.is_set)
        [message] = slow.shown
        await slow.presses("small", message)
        await slow.presses("small", message)
        slow.free.set()
        await choosing.until(lambda: len(slow.shown) == 2)
        await choosing.rest(0.5)
        await slow.presses("small", message)
        await choosing.rest(0.5)
    assert slow.told == [("7", CLOSED)] * 2
    assert len(slow.shown) == 2


async def test_a_used_button_is_none_of_an_answer_on_its_way(choosing: Bench) -> None:
    """Somebody presses twice, and a second preview with the same buttons is not known yet."""
    async with choosing.running():
        first = await answer(choosing, "/digest daily 9:00 say Good morning")
        await answer(choosing, "/digest daily 10:00 say Tea")
        await press(choosing, "Save", first)
        await choosing.db.transact(lambda connection: connection.execute(FORGET, {"draft": "%ok 2%"}))
        await choosing.adapter.presses("Save", first)
        await choosing.rest(1.0)
        assert [one.text for one in await choosing.db.transact(list_chat_schedules, *PLACE)] == [
            "Good morning"
        ]
    assert choosing.adapter.told == [("7", CLOSED)]


async def test_and_discarded_by_the_other(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/digest daily 9:00 say Good morning")
        assert "deleted" in await press(choosing, "Discard", message)


async def test_an_unclear_time_is_chosen_by_a_button(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/digest weekdays at 5 Europe/Berlin say Tea")
        assert choosing.adapter.shown[message].choices == ("every weekday at 05:00", "every weekday at 17:00")
        drafted = await press(choosing, "every weekday at 17:00", message)
        assert drafted.startswith("`every weekday at 17:00`: I'll post `Tea`.")
        assert "17:00 Europe/Berlin" in drafted


async def test_a_choice_by_a_button_is_the_command(choosing: Bench) -> None:
    async with choosing.running():
        said = await press(choosing, "small", await answer(choosing, "/models"))
        assert said == "This conversation will use `small`, starting with the next answer."
        view = await choosing.db.transact(load_conversation, 1)
        assert view is not None
        assert view.model == "small"
        events = await choosing.db.transact(list_audit_entries)
    assert [(one.deed.action, one.deed.subject, one.deed.detail) for one in events][:1] == [
        ("command", "/model", "small")
    ]


async def test_going_back_to_a_thread(choosing: Bench) -> None:
    async with choosing.running():
        await answer(choosing, "hello")
        await answer(choosing, "/new")
        await answer(choosing, "again")
        message = await answer(choosing, "/threads")
        assert choosing.adapter.shown[message].choices == ("1",)
        assert "Back in agent thread 1" in await press(choosing, "1", message)
        view = await choosing.db.transact(load_conversation, 1)
    first = next(iter(choosing.runtime.runs.values()))
    assert view is not None
    assert view.thread_id == first.request.thread_id


async def test_buttons_work_after_a_restart(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/plan")
    async with choosing.running():
        assert "Plan mode is on" in await press(choosing, "Switch on", message)


async def test_the_typed_command_works_beside_its_button(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/digest daily 9:00 say Good morning")
        await answer(choosing, "/digest ok 1")
        assert "already" in await press(choosing, "Save", message)


async def test_an_unknown_label_is_no_command(choosing: Bench) -> None:
    async with choosing.running():
        message = await answer(choosing, "/models")
        await choosing.adapter.presses("erase everything", message)
        assert "`small`" in await press(choosing, "small", message)
    assert choosing.adapter.told == [("7", CLOSED)]


async def test_buttons_that_would_look_the_same_are_left_out(choosing: Bench) -> None:
    long = "a-model-with-a-name-that-is-longer-than-a-button-shows-on-any-platform"
    choosing.runtime.offered = [model(f"{long}-1"), model(f"{long}-2")]
    async with choosing.running():
        message = await answer(choosing, "/model")
    assert choosing.adapter.shown[message].choices == ()


async def test_an_answer_that_was_never_posted_takes_no_press(choosing: Bench) -> None:
    async with choosing.running():
        stale = await answer(choosing, "/models")
        message = await answer(choosing, "/busy")
        await choosing.db.transact(lambda connection: connection.execute(GIVE_UP, {"id": stale}))
        await choosing.adapter.presses("small", message)
    assert choosing.adapter.told == [("7", CLOSED)]


@pytest.mark.parametrize("person", ["8", "77"])
async def test_buttons_in_a_group_belong_to_who_asked(choosing: Bench, person: str) -> None:
    choosing.role = None
    group: dict[str, object] = {"kind": ChatKind.GROUP}
    async with choosing.running():
        message = await answer(choosing, "/models", **group)
        await choosing.adapter.presses("small", message, person=person, kind=ChatKind.GROUP)
        assert choosing.adapter.told == [(person, FOREIGN if person == "8" else "")]
        assert "`small`" in await press(choosing, "small", message, kind=ChatKind.GROUP)


async def test_an_admin_may_not_press_them_either(choosing: Bench) -> None:
    """The command would run as the admin: "Erase" would erase their own data."""
    choosing.role = None
    async with choosing.running():
        message = await answer(choosing, "/models", kind=ChatKind.GROUP)
        await choosing.adapter.presses("small", message, person="9", kind=ChatKind.GROUP)
        assert choosing.adapter.told == [("9", FOREIGN)]


async def test_without_access_a_button_does_nothing(choosing: Bench) -> None:
    choosing.role = None
    async with choosing.running():
        message = await answer(choosing, "/models")
        await choosing.adapter.presses("small", message, person="77")
        await choosing.rest(2.0)
        assert choosing.adapter.told == [("77", "")]
        assert "`small`" in await press(choosing, "small", message)


async def test_a_button_grants_no_more_than_its_command(choosing: Bench) -> None:
    choosing.role = Role.MEMBER
    async with choosing.running():
        message = await answer(choosing, "/digest daily 9:00 say Good morning")
        await answer(choosing, "/digest drop 1")
        assert "There is no schedule 1 here" in await press(choosing, "Save", message)


def test_the_bench_has_a_platform_without_buttons() -> None:
    assert not hasattr(RecordingAdapter(), "most_choices")
