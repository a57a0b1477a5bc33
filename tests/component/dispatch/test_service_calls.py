"""The agent calls the service in the middle of a run; the bot answers, and the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from agent.shared.service_calls import READ_CHAT, RESULT, SERVICE_CALL
from bot.domain import (
    ChatKind,
    HistoryMessage,
    InboundMessage,
    Origin,
    PartialHistory,
    Quotation,
    QuotationKind,
    ReplyAddress,
    Sender,
)
from bot.errors import DeliveryCategory, DeliveryError
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.read_models import list_turns
from bot.turn import TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench

ANN, BEN = Sender("7", "Ann"), Sender("8", "Ben")
NUMBERS = iter(range(1, 10_000))


def calling(*arguments: dict[str, Any], name: str = READ_CHAT) -> Callable[[ScriptedRun], None]:
    """An agent that calls the service once for each of these arguments, then answers."""
    waiting = list(enumerate(arguments))

    def script(run: ScriptedRun) -> None:
        if not waiting:
            run.say("done")
            run.end()
            return
        number, given = waiting.pop(0)
        value = {"type": SERVICE_CALL, "name": name, "arguments": given}
        run.emit(RunInterrupted(f"i{number}", value), RunEnded("interrupted"))

    return script


async def hears(
    at: Bench,
    text: str,
    *,
    sender: Sender = ANN,
    chat: str = "group",
    topic: str = "",
    kind: ChatKind = ChatKind.GROUP,
    addressed: bool = False,
    quotations: tuple[Quotation, ...] = (),
    private: bool = False,
) -> None:
    context, number = at.adapter.context, next(NUMBERS)
    assert context is not None
    origin = Origin("rec", "recording", chat, kind, f"n{number}", sender, topic, private_topic=private)
    message = InboundMessage(
        f"ev{number}", origin, text, at.clock.now(), addressed, link=f"l{number}", quotations=quotations
    )
    await context.inbox.accept([message])


async def answered(at: Bench, count: int) -> list[dict[str, Any]]:
    """What the service answered, after so many runs."""
    await at.until(lambda: len(at.runtime.runs) == count)
    await at.rest(3.0)
    resumed = list(at.runtime.runs.values())[-count + 1 :]
    found = [run.request.decision for run in resumed if run.request.decision]
    return [orjson.loads(one[RESULT]) for one in found]


async def record(at: Bench) -> None:
    await hears(at, "/record on", addressed=True)
    await at.rest(3.0)


async def test_the_record_of_the_chat_is_read_and_the_run_goes_on(at: Bench) -> None:
    at.runtime.script = calling({})
    async with at.running():
        await record(at)
        await hears(at, 'lunch? "now"', sender=BEN)
        await hears(at, "elsewhere", chat="other")
        await hears(at, "what did they say?", addressed=True)
        [found] = await answered(at, 2)
    assert len(found["lines"]) == 1
    assert '"Ben" (recording:8) "lunch? \\"now\\""' in found["lines"][0]
    assert (found["zone"], found["place"], found["older"]) == ("UTC", "chat", "")
    first, second = at.runtime.runs.values()
    assert (second.request.answers, second.request.messages) == ("i0", ())
    assert (first.request.key, second.request.key) == ("2:1", "2:2")
    assert second.request.configurable["turn_id"] == first.request.configurable["turn_id"]
    assert at.adapter.texts("group")[-1] == "done"
    [view] = [one for one in await at.db.transact(list_turns, None) if one.id == 2]
    assert (view.state, view.asks) == (TurnState.DONE, False)


async def test_a_period_is_read_in_the_time_zone_of_the_chat(at: Bench) -> None:
    periods = (
        {"since": "1970-01-12 13:46"},
        {"since": "1970-01-13", "until": ""},
        {"since": "soon"},
        {"since": "0001-01-01", "until": "9999-12-31"},
    )
    at.runtime.script = calling(*periods)
    async with at.running():
        await record(at)
        await hears(at, "lunch?", sender=BEN)
        await hears(at, "what?", addressed=True)
        found = await answered(at, 5)
    assert [len(one.get("lines", "")) for one in found] == [1, 0, 0, 1]
    assert found[2] == {"problem": "since"}
    assert at.adapter.texts("group")[-1] == "done"


async def test_what_does_not_fit_is_read_by_another_call(at: Bench) -> None:
    """The messages of a minute may be on two pages."""
    seen: list[dict[str, Any]] = []

    def script(run: ScriptedRun) -> None:
        decision = run.request.decision
        seen.extend([orjson.loads(decision[RESULT])] if decision else [])
        if seen and not seen[-1]["older"]:
            run.say("done")
            run.end()
            return
        arguments = {"until": seen[-1]["older"]} if seen else {}
        value = {"type": SERVICE_CALL, "name": READ_CHAT, "arguments": arguments}
        run.emit(RunInterrupted(f"i{len(seen)}", value), RunEnded("interrupted"))

    at.runtime.script = script
    async with at.running():
        await record(at)
        for number in range(30):
            await hears(at, f"number {number} " + "x" * 900, sender=BEN)
            await at.rest(1.5)
        await hears(at, "what?", addressed=True)
        await at.until(lambda: "done" in at.adapter.texts("group"))
    assert len(seen) > 2
    assert all(0 < len(found["lines"]) < 30 for found in seen)
    told = {line.split('"')[3].split(" x")[0] for found in seen for line in found["lines"]}
    assert told == {f"number {number}" for number in range(30)}


async def test_a_message_that_quotes_very_much_is_read(at: Bench) -> None:
    quoted = tuple(Quotation(QuotationKind.FORWARD, f"{number} " + "x" * 900) for number in range(20))
    at.runtime.script = calling({})
    async with at.running():
        await record(at)
        await hears(at, "", sender=BEN, quotations=quoted)
        await hears(at, "what?", addressed=True)
        [found] = await answered(at, 2)
    [line] = found["lines"]
    assert '(forward "4 xxx' in line
    assert '(forward "5 xxx' not in line
    assert "(more: 15)" in line
    assert found["older"] == ""


async def test_a_record_that_began_later_is_said_to_have_begun_then(at: Bench) -> None:
    at.runtime.script = calling({}, {"since": "1970-01-12 13:50"})
    async with at.running():
        await record(at)
        await hears(at, "lunch?", sender=BEN)
        await at.rest(600.0, step=60.0)
        await hears(at, "what?", addressed=True)
        found = await answered(at, 3)
    assert [one["begins"] for one in found] == ["1970-01-12 13:46:40", ""]


async def test_what_is_older_than_the_record_keeps_is_not_known(at: Bench) -> None:
    at.runtime.script = calling({"since": "1970-01-01"})
    async with at.running():
        await hears(at, "/record on 2", addressed=True)
        await at.rest(3 * 86_400.0, step=86_400.0)
        await hears(at, "what?", addressed=True)
        [found] = await answered(at, 2)
    assert found["begins"].startswith("1970-01-13 13:46")


@pytest.mark.guard(
    "blocked people are not read",
    "bot/dispatch/run/blocked_people.py",
    " for one in messages if not self.is_blocked(one.sender)]",
    " for one in messages]",
    against="calls to the service",
)
@pytest.mark.guard(
    "what others quote of blocked people is not read",
    "bot/dispatch/run/blocked_people.py",
    "return bool(author) and self.is_blocked(Sender(author, quotation.author))",
    "return False",
    against="calls to the service",
)
async def test_blocked_people_are_not_read(at: Bench) -> None:
    at.runtime.script = calling({})
    reply = Quotation(QuotationKind.REPLY, "secret", BEN.name, BEN.id)
    async with at.running():
        await record(at)
        await hears(at, "secret", sender=BEN)
        await hears(at, "really?", quotations=(reply,))
        at.role = None
        await at.adapter.hears("/role recording:8 blocked", person="9")
        await at.rest(3.0)
        await hears(at, "what?", addressed=True)
        [found] = await answered(at, 2)
    [line] = found["lines"]
    assert '"really?" (reply "[message from a blocked person]")' in line
    first, *_ = at.runtime.runs.values()
    assert "secret" not in str(first.request.messages)
    assert "really?" in str(first.request.messages)


async def test_without_a_record_nothing_can_be_read(at: Bench) -> None:
    at.runtime.script = calling({})
    async with at.running():
        await hears(at, "what?", addressed=True)
        assert await answered(at, 2) == [{"problem": "unrecorded"}]


@dataclass(slots=True)
class Reading(RecordingAdapter):
    """A platform whose threads can be read."""

    said: int = 1
    problem: DeliveryError | None = None
    is_partial: bool = False

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        if self.problem is not None:
            raise self.problem
        found = [HistoryMessage(f"m{at}", BEN, f"said {at}", 999_000.0 + at) for at in range(self.said)]
        return PartialHistory(found) if self.is_partial else found[-limit:]


async def test_without_a_record_the_thread_is_read_where_the_platform_can(at: Bench) -> None:
    at.adapter, at.runtime.script = Reading(), calling({})
    async with at.running():
        await hears(at, "what?", topic="t1", addressed=True)
        [found] = await answered(at, 2)
    assert '"said 0"' in found["lines"][0]
    assert (found["place"], found["begins"]) == ("thread", "")


async def test_a_thread_that_is_too_long_is_not_read_from_its_beginning(at: Bench) -> None:
    at.adapter, at.runtime.script = Reading(said=150), calling({})
    async with at.running():
        await hears(at, "what?", topic="t1", addressed=True)
        [found] = await answered(at, 2)
    assert '"said 50"' in found["lines"][0]
    assert found["begins"] == "1970-01-12 13:30:50"


@pytest.mark.parametrize(("said", "begins"), [(2, "1970-01-12 13:30"), (0, "1970-01-12 13:46:40")])
async def test_a_thread_of_which_a_platform_leaves_messages_out_has_older_ones(
    at: Bench, said: int, begins: str
) -> None:
    at.adapter, at.runtime.script = Reading(said=said, is_partial=True), calling({})
    async with at.running():
        await hears(at, "what?", topic="t1", addressed=True)
        [found] = await answered(at, 2)
    assert (len(found["lines"]), found["begins"]) == (said, begins)


async def test_where_all_that_was_read_is_by_blocked_people_the_beginning_is_told(at: Bench) -> None:
    at.adapter, at.runtime.script, at.role = Reading(said=150), calling({}), None
    async with at.running():
        await at.adapter.hears("/role recording:8 blocked", person="9")
        await at.rest(3.0)
        await hears(at, "what?", topic="t1", addressed=True)
        [found] = await answered(at, 2)
    assert (found["lines"], found["begins"]) == ([], "1970-01-12 13:30:50")


async def test_a_thread_that_could_not_be_read_is_not_said_to_be_silent(at: Bench) -> None:
    at.adapter = Reading(problem=DeliveryError(DeliveryCategory.TRANSIENT, "no answer"))
    at.runtime.script = calling({})
    async with at.running():
        await hears(at, "what?", topic="t1", addressed=True)
        assert await answered(at, 2) == [{"problem": "unread"}]


@pytest.mark.guard(
    "threads that some people can't read stay among those who can",
    "bot/features/record/record_store.py",
    "AND id > :after AND (private_topic = 0 OR topic = :reader)",
    "AND id > :after",
    against="calls to the service",
)
@pytest.mark.parametrize(("topic", "private"), [("t9", False), ("t9", True), ("t1", True)])
async def test_threads_are_read_by_those_who_can_read_them(at: Bench, topic: str, private: bool) -> None:
    at.runtime.script = calling({})
    async with at.running():
        await record(at)
        await hears(at, "said in a thread", sender=BEN, topic=topic, private=private)
        await hears(at, "what?", topic="t1", private=topic == "t1", addressed=True)
        [found] = await answered(at, 2)
    assert bool(found["lines"]) is (topic == "t1" or not private)
    assert found["place"] == "chat"


@pytest.mark.guard(
    "the bot refuses a service that it does not offer to the turn",
    "bot/features/record/chat_reader.py",
    "is_group = self.scope.turn.address.chat_kind is ChatKind.GROUP",
    "is_group = True",
    against="calls to the service",
)
@pytest.mark.parametrize(("name", "kind"), [(READ_CHAT, ChatKind.PRIVATE), ("pay", ChatKind.GROUP)])
async def test_a_service_that_is_not_offered_is_refused(at: Bench, name: str, kind: ChatKind) -> None:
    at.runtime.script = calling({"chat": "group", "account": "rec"}, name=name)
    async with at.running():
        await hears(at, "what?", chat="7", kind=kind, addressed=True)
        assert await answered(at, 2) == [{"problem": "unknown"}]


async def test_a_restart_repeats_the_call_and_starts_no_second_run(at: Bench) -> None:
    at.runtime.script = calling({})
    async with at.running():
        await record(at)
        await hears(at, "lunch?", sender=BEN)
        at.runtime.script = lambda run: None
        await hears(at, "what?", addressed=True)
        await at.until(lambda: at.runtime.runs)
    [first] = at.runtime.runs.values()
    value = {"type": SERVICE_CALL, "name": READ_CHAT, "arguments": {}}
    first.emit(RunInterrupted("i0", value), RunEnded("interrupted"))
    async with at.running():
        await at.until(lambda: len(at.runtime.runs) == 2)
        second = at.runtime.runs["run-2"]
        assert (second.request.key, second.request.answers, second.request.repeated) == ("2:2", "i0", True)
        await at.rest(3.0)
    async with at.running():
        second.say("done")
        second.end()
        await at.until(lambda: "done" in at.adapter.texts("group"))
    assert len(at.runtime.runs) == 2


async def test_the_answer_after_as_many_calls_as_are_allowed_counts(at: Bench) -> None:
    at.runtime.script = calling(*[{}] * 20)
    async with at.running():
        await hears(at, "what?", addressed=True)
        await at.until(lambda: len(at.runtime.runs) == 21)
        await at.rest(5.0)
    assert at.adapter.texts("group")[-1] == "done"


async def test_a_call_over_the_limit_is_answered_so_that_the_run_can_end(at: Bench) -> None:
    at.runtime.script = calling(*[{}] * 21)
    async with at.running():
        await hears(at, "what?", addressed=True)
        found = await answered(at, 22)
    assert found == [*[{"problem": "unrecorded"}] * 20, {"problem": "limit"}]
    assert at.adapter.texts("group")[-1] == "done"
    [view] = await at.db.transact(list_turns, 1)
    assert (view.state, view.asks) == (TurnState.DONE, False)


@pytest.mark.parametrize("private", [True, False])
async def test_a_private_thread_stays_out_of_the_notes_of_its_channel(at: Bench, private: bool) -> None:
    async with at.running():
        await record(at)
        await hears(at, "said in the thread", sender=BEN, topic="t9", private=private)
        await hears(at, "said in the channel", sender=BEN)
        await hears(at, "what is new?", addressed=True)
        await at.until(lambda: at.runtime.runs)
    [run] = at.runtime.runs.values()
    told = str(run.request.messages)
    assert "said in the channel" in told
    assert ("said in the thread" in told) is not private


async def test_an_agent_that_never_stops_calling_ends(at: Bench) -> None:
    at.runtime.script = calling(*[{}] * 100)
    async with at.running():
        await hears(at, "what?", addressed=True)
        await at.until(lambda: len(at.runtime.runs) == 31)
        await at.until(lambda: at.adapter.texts("group"))
    assert len(at.runtime.runs) == 31
