"""Apps that an admin listed: their messages start turns, as a member's would, but decide nothing."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shared.envelope import parse_envelopes
from bot.access import AccessPolicy, Role
from bot.config import AccessConfig, AccessEntry, AppRule
from bot.config.models import BudgetLimits, BudgetsConfig
from bot.dispatch.questions import EXPIRY_EVERY
from bot.domain import ChatKind, InboundChange, InboundMessage, Isolation, IsolationPolicy, Origin, Sender
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.audit import list_audit_entries
from bot.store.turns import QUESTION_PATIENCE
from bot.turn import Busy
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_apps import APP, app_says
from tests.component.dispatch.test_chat_record import kept, says

ME = AccessEntry("recording", "B7")
GROUP = ChatKind.GROUP
MOST = 3


def listed(*chats: str, mention: bool = True, **more: Any) -> tuple[AppRule, ...]:
    entries = tuple(AccessEntry("recording", chat) for chat in chats)
    return (AppRule(id=ME, chats=entries, mention=mention, **more),)


@pytest.fixture
def open_(at: Bench) -> Bench:
    """A bench on which the app is listed, and everybody has the role that the rules say."""
    at.apps, at.role, at.runtime.script = listed(), None, answer_with("noted")
    at.policy = IsolationPolicy(Isolation.CHAT)
    return at


@pytest.mark.guard(
    "a listed app is known to the agent as an app",
    "bot/dispatch/run/agent_message.py",
    "role=APP if message.sender.is_bot else self",
    "role=self",
    against="orders of apps",
)
async def test_a_listed_app_starts_a_turn_as_a_member(open_: Bench) -> None:
    async with open_.running():
        await app_says(open_, "disk is full, what now?")
        await open_.until(lambda: open_.adapter.texts("group") == ["noted"])
    [run] = open_.runtime.runs.values()
    assert run.request.configurable["roles"] == ["member"]
    assert run.request.configurable["user_id"] == "recording:app:B7"
    [envelope] = parse_envelopes(run.request.messages[0]["content"])
    assert (envelope.person, envelope.name, envelope.role) == ("recording:app:B7", "Grafana", "app")
    assert envelope.text == "disk is full, what now?"


@pytest.mark.guard(
    "an app is admitted by its own rules",
    "bot/bus/admission.py",
    "        if message.origin.sender.is_bot:\n            return self._admit_app(message)\n",
    "",
    against="orders of apps",
)
@pytest.mark.guard(
    "a listed app starts turns in its chats",
    "bot/access/policy.py",
    "(not rule.chats or chats.intersection(rule.chats))",
    "True",
    against="orders of apps",
)
@pytest.mark.guard(
    "a listed app mentions the bot",
    "bot/bus/admission.py",
    "(rule.mention and not message.addressed)",
    "False",
    against="orders of apps",
)
@pytest.mark.parametrize(
    ("rules", "addressed", "starts"),
    [
        (listed(), True, True),
        (listed(), False, False),
        (listed("group"), True, True),
        (listed("other"), True, False),
        (listed(mention=False), False, True),
        (listed("other", mention=False), False, False),
    ],
)
async def test_a_rule_names_chats_and_messages(
    open_: Bench, rules: tuple[AppRule, ...], addressed: bool, starts: bool
) -> None:
    open_.apps = rules
    async with open_.running():
        await app_says(open_, "disk is full", addressed=addressed)
        await open_.rest(2.0)
    assert bool(open_.runtime.runs) is starts


@pytest.mark.guard(
    "only the app itself is listed",
    "bot/access/policy.py",
    "if rule.id in ids and (",
    "if (",
    against="orders of apps",
)
@pytest.mark.parametrize(
    "sender",
    [
        Sender("B8", "Grafana", is_bot=True),  # the name of the listed app
        Sender("B7", "Mallory"),  # a person with the id of the app
    ],
)
async def test_only_the_app_itself_is_listed(open_: Bench, sender: Sender) -> None:
    async with open_.running():
        await app_says(open_, "disk is full", sender)
        await open_.rest(2.0)
    assert not open_.runtime.runs


@pytest.mark.parametrize("text", ["/role recording:B7 owner", "/help", "/new"])
async def test_a_listed_app_gives_no_commands(open_: Bench, text: str) -> None:
    open_.apps = listed(mention=False)
    async with open_.running():
        await app_says(open_, text)
        await open_.until(lambda: open_.runtime.runs)
        await open_.rest(1.0)
    [run] = open_.runtime.runs.values()
    content = run.request.messages[0]["content"]
    [envelope] = parse_envelopes(content)
    assert content.startswith("<message")
    assert (envelope.role, envelope.text) == ("app", text)
    assert not [one for one in await open_.db.transact(list_audit_entries) if one.deed.action == "give"]


@pytest.mark.guard(
    "an edit by a listed app is recorded alone",
    "bot/bus/admission.py",
    "        if happened.origin.sender.is_bot:\n            return None\n",
    "",
    against="orders of apps",
)
async def test_an_edit_by_a_listed_app_is_recorded_alone(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await says(open_, "/record on", person="9")
        await open_.adapter.hears("a long task", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        await app_says(open_, "disk is full", message_id="m1")
        origin = Origin("rec", "recording", "group", GROUP, "m1", APP)
        message = InboundMessage("x", origin, "all disks are full", 1e9)
        assert open_.adapter.context is not None
        await open_.adapter.context.inbox.accept([InboundChange("c1", origin, message.text, 1e9, message)])
        assert (await kept(open_))[-1] == "Grafana: all disks are full"
        [*open_.runtime.runs.values()][-1].end()
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        [envelope] = parse_envelopes([*open_.runtime.runs.values()][-1].request.messages[0]["content"])
        assert envelope.text == "disk is full"


@pytest.mark.guard(
    "two bots that answer each other stop",
    "bot/store/inbox.py",
    "if not is_app_budget_left(connection, budget, message, now):",
    "if False:",
    against="orders of apps",
)
async def test_two_bots_stop_and_a_restart_changes_nothing(open_: Bench) -> None:
    async with open_.running():
        await says(open_, "/record on", person="9")
        while len(open_.runtime.runs) < MOST - 1:
            before = len(open_.runtime.runs)
            await app_says(open_, f"ping {before}", to=[*open_.adapter.shown][-1])
            await open_.until(lambda count=before: len(open_.runtime.runs) > count)  # type: ignore[misc]
            await open_.rest(1.0)
    async with open_.running():
        for number in range(6):
            await app_says(open_, f"pong {number}", to=[*open_.adapter.shown][-1])
            await open_.rest(5.0)
        assert len(open_.runtime.runs) == MOST
        assert open_.adapter.texts("group")[-MOST:] == ["noted"] * MOST
        assert (await kept(open_))[-1] == "Grafana: pong 5"
        limited = [
            one for one in await open_.db.transact(list_audit_entries) if one.deed.action == "app limit"
        ]
        assert [(one.person, one.deed.detail) for one in limited] == [
            ("recording:app:B7", "3 turns in 10 min")
        ]
        await open_.clock.advance(600.0)
        await app_says(open_, "again")
        await open_.until(lambda: len(open_.runtime.runs) == MOST + 1)


async def test_the_limit_is_that_of_a_chat_and_restarts_with_a_person(open_: Bench) -> None:
    async with open_.running():
        for _ in range(MOST + 1):
            await app_says(open_, "ping")
            await open_.rest(2.0)
        assert len(open_.runtime.runs) == MOST
        await app_says(open_, "ping", chat="other")
        await open_.until(lambda: len(open_.runtime.runs) == MOST + 1)
        await open_.adapter.hears("go on", chat="group", kind=GROUP, addressed=False)
        await app_says(open_, "ping")
        await open_.rest(2.0)
        assert len(open_.runtime.runs) == MOST + 1
        await open_.adapter.hears("go on", chat="group", kind=GROUP)
        await open_.rest(2.0)
        await app_says(open_, "ping")
        await open_.until(lambda: len(open_.runtime.runs) == MOST + 3)


@pytest.mark.guard(
    "an app interrupts and steers no run",
    "bot/store/inbox.py",
    "elif one.is_by_app:",
    "elif False:",
    against="orders of apps",
)
@pytest.mark.parametrize("busy", [Busy.INTERRUPT, Busy.STEER, Busy.REJECT])
async def test_an_app_waits_for_a_run_of_somebody_else(open_: Bench, busy: Busy) -> None:
    open_.busy = busy
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("a long task", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        await app_says(open_, "disk is full")
        await open_.rest(2.0)
        [first] = open_.runtime.runs.values()
        first.say("finished")
        first.end()
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        assert open_.adapter.texts("group") == ["finished"]
        assert len(first.request.messages) == 1


@pytest.mark.guard(
    "people and apps share no turn",
    "bot/store/inbox.py",
    "AND (i.sender LIKE '[\"app:%' OR",
    "AND (1 = 0 OR",
    against="orders of apps",
)
async def test_people_and_apps_share_no_turn(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("a long task", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        for person in (None, "9", None):
            if person is None:
                await app_says(open_, "disk is full")
            else:
                await open_.adapter.hears("list the admins", chat="group", kind=GROUP, person=person)
        roles = []
        for count in range(1, 5):
            await open_.until(lambda: len(open_.runtime.runs) == count)  # noqa: B023
            run = [*open_.runtime.runs.values()][-1]
            roles.append(run.request.configurable["roles"])
            run.end()
    assert roles == [["member"], ["member"], ["admin", "member"], ["member"]]


@pytest.mark.guard(
    "an app answers no question",
    "bot/store/turns.py",
    "return sender.is_bot or is_from_nobody_asked(",
    "return is_from_nobody_asked(",
    against="orders of apps",
)
async def test_an_app_answers_no_question(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("paint it", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        [run] = open_.runtime.runs.values()
        run.emit(RunInterrupted("i1", "Which color?"), RunEnded("interrupted"))
        await open_.until(lambda: open_.adapter.texts("group"))
        await app_says(open_, "red")
        await open_.rest(2.0)
        assert len(open_.runtime.runs) == 1
        await open_.adapter.hears("blue", chat="group", kind=GROUP)
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        answer = [*open_.runtime.runs.values()][-1]
        assert answer.request.answers == "i1"
        [envelope] = parse_envelopes(answer.request.messages[0]["content"])
        assert envelope.text == "blue"
        answer.end()
        await open_.until(lambda: len(open_.runtime.runs) == 3)
        last = [*open_.runtime.runs.values()][-1]
        assert (last.request.answers, parse_envelopes(last.request.messages[0]["content"])[0].text) == (
            "",
            "red",
        )


async def test_an_alert_waits_for_an_answer_for_a_while(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("paint it", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        [run] = open_.runtime.runs.values()
        run.emit(RunInterrupted("i1", "Which color?"), RunEnded("interrupted"))
        await open_.until(lambda: open_.adapter.texts("group"))
        await app_says(open_, "disk is full")
        await open_.rest(QUESTION_PATIENCE - EXPIRY_EVERY, step=20.0)
        assert len(open_.runtime.runs) == 1
        await open_.rest(2 * EXPIRY_EVERY, step=20.0)
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        last = [*open_.runtime.runs.values()][-1]
        assert last.request.answers == ""
        assert parse_envelopes(last.request.messages[0]["content"])[0].text == "disk is full"
        last.end()
        await open_.adapter.hears("blue", chat="group", kind=GROUP)
        await open_.until(lambda: len(open_.runtime.runs) == 3)
        late = [*open_.runtime.runs.values()][-1]
        assert late.request.answers == "", "a late answer is a message like any other"


async def test_an_alert_waits_for_an_answer_that_came_while_the_service_was_down(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("paint it", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        [run] = open_.runtime.runs.values()
        run.emit(RunInterrupted("i1", "Which color?"), RunEnded("interrupted"))
        await open_.until(lambda: open_.adapter.texts("group"))
        await app_says(open_, "disk is full")
        await open_.rest(2.0)
    await open_.clock.advance(QUESTION_PATIENCE)
    async with open_.running(connected=False):
        await open_.rest(2 * EXPIRY_EVERY, step=20.0)
        open_.connect()
        await open_.rest(QUESTION_PATIENCE - EXPIRY_EVERY, step=20.0)
        await open_.adapter.hears("blue", chat="group", kind=GROUP)
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        answer = [*open_.runtime.runs.values()][-1]
        assert answer.request.answers == "i1"
        assert parse_envelopes(answer.request.messages[0]["content"])[0].text == "blue"


async def test_a_limit_of_messages_is_not_told_to_an_app(open_: Bench) -> None:
    open_.budgets = BudgetsConfig(chat=BudgetLimits(messages_per_hour=1))
    async with open_.running():
        for _ in range(3):
            await app_says(open_, "ping")
            await open_.rest(2.0)
        assert open_.adapter.texts("group") == ["noted"]


async def test_an_app_that_is_no_longer_listed_has_no_role(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await open_.adapter.hears("a long task", chat="group", kind=GROUP)
        await open_.until(lambda: open_.runtime.runs)
        await app_says(open_, "disk is full")
        open_.apps = ()
        [*open_.runtime.runs.values()][-1].end()
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        assert [*open_.runtime.runs.values()][-1].request.configurable["roles"] == []


@pytest.mark.guard(
    "an app has no role, whoever has its id",
    "bot/access/policy.py",
    "        if origin.sender.is_bot:\n            return self._role_of_app(origin)\n",
    "",
    against="orders of apps",
)
def test_the_role_of_a_listed_app_is_a_members() -> None:
    config = AccessConfig(owners=(ME,), admins=(ME,))
    origin = Origin("rec", "recording", "group", GROUP, "1", APP)
    assert AccessPolicy(config, apps=listed()).role_of(origin) is Role.MEMBER
    assert AccessPolicy(AccessConfig(blocked=(ME,)), apps=listed()).role_of(origin) is Role.BLOCKED
    assert AccessPolicy(AccessConfig(), {ME: Role.BLOCKED}, apps=listed()).role_of(origin) is Role.BLOCKED
    assert AccessPolicy(AccessConfig(), {ME: Role.OWNER}).role_of(origin) is Role.STRANGER


async def test_a_question_to_an_app_holds_up_no_alert(open_: Bench) -> None:
    open_.runtime.script = None
    async with open_.running():
        await app_says(open_, "paint it")
        await open_.until(lambda: open_.runtime.runs)
        [run] = open_.runtime.runs.values()
        run.emit(RunInterrupted("i1", "Which color?"), RunEnded("interrupted"))
        await open_.until(lambda: open_.adapter.texts("group"))
        await app_says(open_, "disk is full")
        await open_.until(lambda: len(open_.runtime.runs) == 2)
        last = [*open_.runtime.runs.values()][-1]
        assert last.request.answers == ""
        assert parse_envelopes(last.request.messages[0]["content"])[0].text == "disk is full"
