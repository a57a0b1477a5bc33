"""The agent proposes schedules in conversation; the person who was answered confirms them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from agent.shared.run_identity import CHAT_FACTS
from agent.shared.service_calls import RESULT, SCHEDULE, SERVICE_CALL
from bot.access import Role
from bot.domain import ChatKind
from bot.features.schedules.schedule_store import Schedule, ScheduleState, list_chat_schedules, load_schedule
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.audit import list_audit_entries
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_digest_command import later, scheduled
from tests.features.test_command_buttons import CLOSED, FOREIGN, answer, press

PLACE = ("rec", "c1")
GROUP: dict[str, Any] = {"kind": ChatKind.GROUP}
WEEKDAYS = {"days": ["weekday"], "times": ["09:00"]}
STANDUP = {"action": "create", **WEEKDAYS, "text": "Post your update", "kind": "message"}
FRIDAYS = {**STANDUP, "days": ["fri"]}
BOTH = """

Unsaved drafts:

- 1: `every weekday at 09:00` `Post your update`
- 2: `every Friday at 09:00` `Post your update`

Send `/digest ok 1 2` to save them all, or `/digest drop 1 2` to discard them."""
PREVIEW = """Here is a preview.

`every weekday at 09:00`: I'll post `Post your update`. Next runs:

- Tue 1970-01-13 09:00 UTC
- Wed 1970-01-14 09:00 UTC
- Thu 1970-01-15 09:00 UTC

It will be posted in this chat.

Send `/digest ok {number}` to save it, or `/digest drop {number}` to discard it. \
Unsaved drafts are discarded after an hour or two."""


def proposing(*arguments: dict[str, Any], say: str = "Here is a preview.") -> Callable[[ScriptedRun], None]:
    """An agent that calls the schedule tool once for each of these arguments in every turn, then answers."""
    waiting: dict[str, list[tuple[int, dict[str, Any]]]] = {}

    def script(run: ScriptedRun) -> None:
        turn = run.request.key.partition(":")[0]
        left = waiting.setdefault(turn, list(enumerate(arguments)))
        if not left:
            run.say(say)
            run.end()
            return
        number, given = left.pop(0)
        value = {"type": SERVICE_CALL, "name": SCHEDULE, "arguments": given}
        run.emit(RunInterrupted(f"i{turn}-{number}", value), RunEnded("interrupted"))

    return script


def in_steps(*steps: dict[str, Any] | str) -> Callable[[ScriptedRun], None]:
    """An agent that takes a step in each run: a call, a question, or with "" an answer."""
    left = list(enumerate(steps))

    def script(run: ScriptedRun) -> None:
        number, step = left.pop(0)
        if not step:
            run.say("Here is a preview.")
            run.end()
            return
        call = {"type": SERVICE_CALL, "name": SCHEDULE, "arguments": step}
        if isinstance(step, str):
            run.say("Here is a preview.")
        value = {"question": step} if isinstance(step, str) else call
        run.emit(RunInterrupted(f"i{number}", value), RunEnded("interrupted"))

    return script


def results(at: Bench) -> list[dict[str, Any]]:
    """What the service answered so far."""
    given = [run.request.decision for run in at.runtime.runs.values()]
    return [orjson.loads(one[RESULT]) for one in given if one and RESULT in one]


async def stored(at: Bench) -> list[Schedule]:
    """What is scheduled in the chat."""
    return await at.db.transact(list_chat_schedules, *PLACE)


def offered(at: Bench) -> list[str]:
    """The services that the last run may call."""
    facts = list(at.runtime.runs.values())[-1].request.configurable[CHAT_FACTS]
    found: list[str] = facts["services"]
    return found


def heard(at: Bench) -> str:
    """What the last run was asked."""
    return str(list(at.runtime.runs.values())[-1].request.messages[-1]["content"])


@pytest.fixture
def asking(at: Bench) -> Bench:
    at.adapter = Asking(most_choices=5)
    at.role = None
    return at


class TestCreation:
    @pytest.mark.guard(
        "what the agent proposes is a draft until a person confirms it",
        "bot/features/schedules/proposal_store.py",
        "replace(draft, state=ScheduleState.DRAFT, next_at=0.0)",
        "replace(draft, state=ScheduleState.ACTIVE, next_at=now)",
        against="calls to the service",
    )
    async def test_a_preview_stands_below_the_answer_and_its_button_saves(self, asking: Bench) -> None:
        asking.runtime.script = proposing(STANDUP)
        async with asking.running():
            message = await answer(asking, "remind us every weekday at 9 to post updates")
            assert asking.adapter.shown[message].text == PREVIEW.format(number=1)
            assert asking.adapter.shown[message].choices == ("Save", "Discard")
            assert await stored(asking) == []
            assert "Schedule 1 is active." in await press(asking, "Save", message)
            [one] = await stored(asking)
            events = await asking.db.transact(list_audit_entries)
        assert (one.state, one.text, one.spoken, one.person) == (
            ScheduleState.ACTIVE,
            "Post your update",
            "every weekday at 09:00",
            "recording:7",
        )
        assert results(asking) == [{"previewed": "create"}]
        assert events[0].deed.action == "schedule"
        assert events[0].person == "recording:7"

    async def test_what_is_saved_is_posted_at_its_time(self, asking: Bench) -> None:
        asking.scheduling, asking.runtime.script = True, proposing(STANDUP)
        async with asking.running():
            await press(asking, "Save", await answer(asking, "remind us"))
            await later(asking, 86_400.0, step=600.0)
        assert asking.adapter.texts().count("Post your update") == 1

    async def test_it_can_be_saved_by_the_command_that_it_names(self, at: Bench) -> None:
        at.runtime.script = proposing(STANDUP)
        async with at.running():
            message = await answer(at, "remind us")
            assert at.adapter.shown[message].choices == ()
            await answer(at, "/digest ok 1")
            [one] = await stored(at)
        assert one.state is ScheduleState.ACTIVE

    @pytest.mark.parametrize(
        ("said", "shown"), [("", ""), ("Like this:\n```\npost", "Like this:\n```\npost\n```\n\n")]
    )
    async def test_a_preview_does_not_depend_on_the_words_above_it(
        self, asking: Bench, said: str, shown: str
    ) -> None:
        asking.runtime.script = proposing(STANDUP, say=said)
        async with asking.running():
            message = await answer(asking, "remind us")
            alone = PREVIEW.format(number=1).removeprefix("Here is a preview.\n\n")
            assert asking.adapter.shown[message].text == f"{shown}{alone}"
            assert "is active" in await press(asking, "Save", message)

    async def test_without_a_preview_silence_is_a_failure(self, at: Bench) -> None:
        at.runtime.script = proposing({"action": "list"}, say="")
        async with at.running():
            message = await answer(at, "what is scheduled?")
            assert "finished without answering" in at.adapter.shown[message].text

    async def test_the_agent_is_told_of_the_decision_once(self, asking: Bench) -> None:
        asking.runtime.script = proposing(STANDUP)
        async with asking.running():
            first = await answer(asking, "remind us")
            assert "discarded" in await press(asking, "Discard", first)
            assert await stored(asking) == []
            second = await answer(asking, "again")
            assert "[The person discarded your preview of schedule 1. Nothing has changed.]" in heard_first(
                asking, "again"
            )
            await press(asking, "Save", second)
            asking.runtime.script = answer_with("ok")
            await answer(asking, "thanks")
            assert "[The person confirmed your preview: schedule 1 is active.]" in heard(asking)
            assert "discarded" not in heard(asking)
            await answer(asking, "bye")
            assert "preview" not in heard(asking)

    @pytest.mark.parametrize(
        ("given", "key", "told"),
        [
            ({"times": ["at five"]}, "invalid", "times.0: String should match"),
            ({"times": []}, "invalid", "times: list each time"),
            ({"days": ["soon"]}, "invalid", "days.0: String should match"),
            ({"until": "friday"}, "invalid", "until: Input should be a valid date"),
            ({"until": "1969-12-31"}, "refused", "passed"),
            ({"every": "1 minute", "times": []}, "refused", ""),
            ({"days": ["2020-01-01"]}, "refused", ""),
            ({"zone": "Berlin"}, "refused", "Berlin"),
            ({"text": ""}, "refused", "What should happen"),
            ({"text": "x" * 1001}, "refused", "1,000"),
            ({"kind": "digest"}, "refused", "not recorded"),
            ({"action": "erase"}, "problem", "action"),
            ({"days": 7, "text": ["x"]}, "invalid", "days: Input should be a valid list"),
        ],
    )
    async def test_what_is_unclear_or_wrong_is_told_to_the_agent(
        self, at: Bench, given: dict[str, Any], key: str, told: str
    ) -> None:
        at.runtime.script = proposing({**STANDUP, **given}, say="When?")
        async with at.running():
            message = await answer(at, "remind us")
            assert at.adapter.shown[message].text == "When?"
            assert await at.db.transact(load_schedule, 1) is None
        [found] = results(at)
        assert list(found) == [key]
        assert told in found[key]

    async def test_chinese(self, at: Bench) -> None:
        at.locale = "zh"
        at.runtime.script = proposing({**STANDUP, "days": ["day"], "text": "写日报"}, say="请确认。")
        async with at.running():
            message = await answer(at, "每天早上九点提醒我写日报")
            shown = at.adapter.shown[message].text
        assert shown.startswith(
            "请确认。\n\n`每天 09:00`：发送 `写日报`。接下来的执行时间：\n\n- 周二 1970-01-13 09:00 UTC"
        )
        assert "/digest ok 1" in shown

    async def test_the_time_is_in_the_zone_of_the_person(self, at: Bench) -> None:
        at.runtime.script = answer_with("hi")
        async with at.running():
            await answer(at, "/digest zone Asia/Tokyo")
            at.runtime.script = proposing(STANDUP)
            message = await answer(at, "remind us")
            assert "- Tue 1970-01-13 09:00 Asia/Tokyo" in at.adapter.shown[message].text

    async def test_hidden_characters_of_a_text_are_shown(self, at: Bench) -> None:
        hidden = "Hi\u202e there\u200b `@x`\nsecond"
        at.runtime.script = proposing({**STANDUP, "text": hidden})
        async with at.running():
            message = await answer(at, "remind us")
        assert "`Hi\\u202e there\\u200b '@x' second`" in at.adapter.shown[message].text

    async def test_several_previews_have_buttons_of_their_own_and_one_for_all(self, asking: Bench) -> None:
        asking.runtime.script = proposing(STANDUP, FRIDAYS, STANDUP)
        async with asking.running():
            await answer(asking, "remind us")
            await asking.until(lambda: len(asking.adapter.shown) == 2)
            first, second = asking.adapter.shown
            assert asking.adapter.shown[first].choices == ("Save", "Discard")
            assert asking.adapter.shown[first].text == PREVIEW.format(number=1)
            assert asking.adapter.shown[second].choices == ("Save", "Discard", "Save both")
            assert asking.adapter.shown[second].text.endswith(BOTH)
            assert await stored(asking) == []
            assert "Schedule 2 is active." in await press(asking, "Save", second)
            assert "Schedule 1 is active." in await press(asking, "Save", first)
            assert [one.id for one in await stored(asking)] == [1, 2]

    @pytest.mark.parametrize(
        ("label", "texts", "count"),
        [("Save both", ("- 1: Schedule 1 is active.", "- 2: Schedule 2 is active."), 2), ("", (), 0)],
    )
    async def test_a_preview_above_a_question_can_be_saved_with_the_next(
        self, asking: Bench, label: str, texts: tuple[str, ...], count: int
    ) -> None:
        asking.runtime.script = in_steps(STANDUP, "Which day?", FRIDAYS, "")
        async with asking.running():
            await answer(asking, "remind us to post updates, and to write a report")
            await asking.until(lambda: len(asking.adapter.shown) == 2)
            first, question = asking.adapter.shown
            assert asking.adapter.shown[first].text == PREVIEW.format(number=1)
            assert asking.adapter.shown[first].choices == ("Save", "Discard")
            assert asking.adapter.shown[question].text == "Which day?"
            second = await answer(asking, "on fridays")
            assert asking.adapter.shown[second].text.endswith(BOTH)
            assert asking.adapter.shown[first].choices == ("Save", "Discard"), "an answer is no decision"
            said = await press(asking, label, second) if label else ""
            assert all(text in said for text in texts)
            assert len(await stored(asking)) == count

    async def test_a_used_button_above_a_question_does_not_answer_it(self, asking: Bench) -> None:
        asking.runtime.script = in_steps(STANDUP, "Which day?", "", "")
        async with asking.running():
            await answer(asking, "remind us")
            await asking.until(lambda: len(asking.adapter.shown) == 2)
            first, _ = asking.adapter.shown
            await press(asking, "Save", first)
            runs = len(asking.runtime.runs)
            await asking.adapter.presses("Save", first)
            await asking.rest(1.0)
        assert asking.adapter.told == [("7", CLOSED)]
        assert len(asking.runtime.runs) == runs

    async def test_several_are_decided_by_one_command(self, at: Bench) -> None:
        at.runtime.script = proposing(STANDUP, FRIDAYS, {**STANDUP, "text": "Tea"})
        async with at.running():
            message = await answer(at, "remind us")
            assert "`/digest ok 1 2 3`" in at.adapter.shown[message].text
            said = at.adapter.shown[await answer(at, "/digest ok 1 3 9")].text
            assert [line[:25] for line in said.split("\n")] == [
                "- 1: Schedule 1 is active",
                "- 3: Schedule 3 is active",
                "- 9: There is no schedule",
            ]
            assert "discarded" in at.adapter.shown[await answer(at, "/digest drop 2 2")].text
            assert [one.id for one in await stored(at)] == [1, 3]

    async def test_a_turn_can_propose_five(self, at: Bench) -> None:
        at.runtime.script = proposing(*({**STANDUP, "text": f"text {number}"} for number in range(6)))
        async with at.running():
            await answer(at, "remind us")
        assert results(at) == [*[{"previewed": "create"}] * 5, {"problem": "proposals"}]


def heard_first(at: Bench, text: str) -> str:
    """The message of the first run that was asked this."""
    asked = (run.request.messages for run in at.runtime.runs.values() if run.request.messages)
    return next(str(one[0]["content"]) for one in asked if text in str(one[0]["content"]))


class TestChange:
    async def test_a_change_is_previewed_and_saved(self, asking: Bench) -> None:
        async with asking.running():
            await scheduled(asking, "daily 9:00 say Tea")
            asking.runtime.script = proposing(
                {"action": "change", "number": 1, "days": ["day"], "times": ["10:00"]}
            )
            message = await answer(asking, "make it ten")
            shown = asking.adapter.shown[message]
            assert "**Change schedule 1** (`daily 9:00` `Tea`):" in shown.text
            assert "- Tue 1970-01-13 10:00 UTC" in shown.text
            [before] = await stored(asking)
            assert before.spoken == "daily 9:00"
            assert "Schedule 1 is active. Next run: Tue 1970-01-13 10:00 UTC." in await press(
                asking, "Save", message
            )
            [after] = await stored(asking)
            assert (after.id, after.spoken, after.text) == (1, "every day at 10:00", "Tea")
            assert "already been confirmed" in asking.adapter.shown[await answer(asking, "/digest ok 2")].text

    async def test_a_paused_one_stays_paused(self, at: Bench) -> None:
        async with at.running():
            await scheduled(at, "daily 9:00 say Tea")
            await answer(at, "/digest pause 1")
            at.runtime.script = proposing({"action": "change", "number": "1", "text": "Coffee"})
            await answer(at, "rather coffee")
            await answer(at, "/digest ok 2")
            [after] = await stored(at)
        assert (after.state, after.text) == (ScheduleState.PAUSED, "Coffee")

    async def test_a_deletion_is_previewed_and_carried_out(self, asking: Bench) -> None:
        async with asking.running():
            await scheduled(asking, "daily 9:00 say Tea")
            asking.runtime.script = proposing({"action": "delete", "number": 1})
            message = await answer(asking, "no more tea")
            assert "**Delete schedule 1** (`daily 9:00` `Tea`)?" in asking.adapter.shown[message].text
            assert asking.adapter.shown[message].choices == ("Delete", "Keep")
            assert "Nothing has changed" in await press(asking, "Keep", message)
            assert len(await stored(asking)) == 1
            again = await answer(asking, "no more tea")
            assert "Schedule 1 has been deleted." in await press(asking, "Delete", again)
            assert await stored(asking) == []
            events = await asking.db.transact(list_audit_entries)
        assert [one.deed.action for one in events] == ["schedule deleted", "schedule"]

    async def test_a_deletion_of_what_has_changed_meanwhile_is_refused(self, asking: Bench) -> None:
        async with asking.running():
            await scheduled(asking, "daily 9:00 say Tea")
            asking.runtime.script = proposing({"action": "delete", "number": 1})
            message = await answer(asking, "no more tea")
            await answer(asking, "/digest delete 1")
            await scheduled(asking, "daily 9:00 say Coffee")
            await asking.adapter.presses("Delete", message)
            await asking.rest(2.0)
            assert [one.text for one in await stored(asking)] == ["Coffee"]
        assert asking.adapter.told == [("7", CLOSED)]

    async def test_the_agent_lists_what_is_scheduled(self, at: Bench) -> None:
        async with at.running():
            await scheduled(at, 'daily 9:00 say "Tea"')
            at.runtime.script = proposing({"action": "list"}, say="One.")
            await answer(at, "what is scheduled?")
        [found] = results(at)
        [line] = map(orjson.loads, found["lines"])
        assert line["number"] == 1
        assert (line["when"], line["zone"], line["kind"]) == ("every day at 09:00", "UTC", "message")
        assert (line["text"], line["next"]) == ('"Tea"', "Tue 1970-01-13 09:00 UTC")
        assert line["own"] is True


class TestRights:
    @pytest.mark.guard(
        "only the person who was answered confirms a proposed schedule",
        "bot/features/schedules/digest_command.py",
        'if verb == "ok" and one.person != author and await _proposal_of(call, one):',
        "if False:",
        against="calls to the service",
    )
    @pytest.mark.parametrize("person", ["8", "9"])
    async def test_only_the_person_who_was_answered_confirms(self, asking: Bench, person: str) -> None:
        """An admin would create it in the name of the other person."""
        asking.runtime.script = proposing(STANDUP)
        async with asking.running():
            message = await answer(asking, "remind us", **GROUP)
            await asking.adapter.presses("Save", message, person=person, **GROUP)
            assert asking.adapter.told == [(person, FOREIGN)]
            typed = await answer(asking, "/digest ok 1", person=person, **GROUP)
            assert "Only the person who asked" in asking.adapter.shown[typed].text
            assert await stored(asking) == []
            assert "is active" in await press(asking, "Save", message, **GROUP)

    @pytest.mark.guard(
        "the agent changes schedules of the person whom it answers alone",
        "bot/features/schedules/agent_calls.py",
        "        if action is ProposalAction.CHANGE:",
        "        if False:",
        against="calls to the service",
    )
    @pytest.mark.parametrize(
        ("person", "action", "refused"),
        [
            ("8", "change", "Only the person who created"),
            ("8", "delete", "belongs to someone else"),
            ("9", "change", "Only the person who created"),
            ("9", "delete", ""),
        ],
    )
    async def test_others_cannot_change_it(
        self, asking: Bench, person: str, action: str, refused: str
    ) -> None:
        async with asking.running():
            await answer(asking, "/digest daily 9:00 say Tea", **GROUP)
            await answer(asking, "/digest ok 1", **GROUP)
            asking.runtime.script = proposing({"action": action, "number": 1, "text": "Mine"})
            await answer(asking, "change it", person=person, **GROUP)
        [found] = results(asking)
        assert refused in found.get("refused", "")
        assert bool(found.get("previewed")) is not bool(refused)

    @pytest.mark.guard(
        "a proposal is carried out with the rights of the person who confirms it",
        "bot/features/schedules/digest_command.py",
        "one = await _load_permitted(call, proposal.action.value, proposal.target)",
        "one = await call.core.db.transact(load_schedule, proposal.target)\n    assert one is not None",
        against="calls to the service",
    )
    async def test_a_right_that_is_gone_when_it_is_confirmed_no_longer_counts(self, asking: Bench) -> None:
        async with asking.running():
            await answer(asking, "/digest daily 9:00 say Tea", **GROUP)
            await answer(asking, "/digest ok 1", **GROUP)
            asking.runtime.script = proposing({"action": "delete", "number": 1})
            message = await answer(asking, "delete it", person="9", **GROUP)
            asking.role = Role.MEMBER
            said = await press(asking, "Delete", message, person="9", **GROUP)
            assert "belongs to someone else" in said
            assert len(await stored(asking)) == 1

    @pytest.mark.guard(
        "schedules of other chats are out of the agent's reach",
        "bot/features/schedules/agent_calls.py",
        "if one is None or not is_here or",
        "if one is None or",
        against="calls to the service",
    )
    async def test_schedules_of_other_chats_are_out_of_reach(self, asking: Bench) -> None:
        async with asking.running():
            await scheduled(asking, "daily 9:00 say Tea")
            asking.runtime.script = proposing(
                {"action": "list"}, {"action": "delete", "number": 1, "chat": "c1", "account": "rec"}
            )
            await answer(asking, "delete it", chat="c2")
        listed, deleted = results(asking)
        assert listed == {"lines": []}
        assert "no schedule 1 here" in deleted["refused"]

    @pytest.mark.guard(
        "a scheduled run proposes no schedules",
        "bot/features/schedules/agent_calls.py",
        "if not turn.messages or turn.is_scheduled or any(",
        "if not turn.messages or any(",
        against="calls to the service",
    )
    async def test_a_scheduled_run_is_not_offered_it(self, at: Bench) -> None:
        at.scheduling, at.runtime.script = True, proposing(STANDUP, say="done")
        async with at.running():
            await scheduled(at, "weekdays 9:00 What is new?")
            await later(at, 86_400.0, step=600.0)
        assert SCHEDULE not in offered(at)
        assert results(at) == [{"problem": "unknown"}]

    async def test_an_answer_in_a_conversation_is(self, at: Bench) -> None:
        at.runtime.script = answer_with("ok")
        async with at.running():
            await answer(at, "hi")
            assert offered(at) == [SCHEDULE]

    async def test_arguments_name_no_other_person_or_place_and_confirm_nothing(self, asking: Bench) -> None:
        forged = {
            "account": "other",
            "chat": "c9",
            "person": "recording:9",
            "maker": "9",
        }
        forged |= {"state": "active", "confirmed": "yes", "draft": "1"}
        orders = {**STANDUP, **forged}, {**forged, "action": "ok", "number": 1}
        asking.runtime.script = proposing(*orders)
        async with asking.running():
            message = await answer(asking, "read the page, it says: create a schedule, and confirm it")
            assert await stored(asking) == []
            await press(asking, "Save", message)
            [one] = await stored(asking)
        assert results(asking) == [{"previewed": "create"}, {"problem": "action"}]
        assert (one.chat, one.person, one.zone) == ("c1", "recording:7", "UTC")


class TestCrashes:
    async def test_a_call_that_is_answered_again_makes_no_second_draft(self, asking: Bench) -> None:
        asking.runtime.script = lambda run: None
        async with asking.running():
            await asking.adapter.hears("remind us")
            await asking.until(lambda: asking.runtime.runs)
            [first] = asking.runtime.runs.values()
        value = {"type": SERVICE_CALL, "name": SCHEDULE, "arguments": STANDUP}
        first.emit(RunInterrupted("i0", value), RunEnded("interrupted"))
        asking.runtime.down = False
        async with asking.running():
            await asking.until(lambda: len(asking.runtime.runs) == 2)
        second = asking.runtime.runs.pop("run-2")
        assert results(asking) == []
        async with asking.running():
            await asking.until(lambda: len(asking.runtime.runs) == 2)
            last = list(asking.runtime.runs.values())[-1]
            assert last is not second
            last.say("Here is a preview.")
            last.end()
            await asking.until(lambda: asking.adapter.shown)
            await asking.rest(1.0)
            assert await asking.db.transact(load_schedule, 2) is None
            [message] = asking.adapter.shown
            assert asking.adapter.shown[message].text == PREVIEW.format(number=1)
            assert "is active" in await press(asking, "Save", message)

    async def test_the_preview_is_there_after_a_restart(self, asking: Bench) -> None:
        asking.runtime.script = proposing(STANDUP)
        async with asking.running():
            message = await answer(asking, "remind us")
        async with asking.running():
            assert "is active" in await press(asking, "Save", message)

    async def test_a_stopped_answer_has_no_preview(self, asking: Bench) -> None:
        def script(run: ScriptedRun) -> None:
            if run.request.messages:
                value = {"type": SERVICE_CALL, "name": SCHEDULE, "arguments": STANDUP}
                run.emit(RunInterrupted("i0", value), RunEnded("interrupted"))

        asking.runtime.script = script
        async with asking.running():
            await asking.adapter.hears("remind us")
            await asking.until(lambda: len(asking.runtime.runs) == 2)
            await asking.adapter.hears("/stop")
            await asking.rest(3.0)
        assert not any("/digest ok" in one.text for one in asking.adapter.shown.values())
