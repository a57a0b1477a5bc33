"""The same call again and again: warned, then stopped."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool, ToolException, tool

from agent.middleware.loop_detection import LAST, NEXT, STOPPED, LoopDetectionMiddleware, find_steps
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.models.calls import ModelCalls
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import calls, chain, kinds, say, says, scripted, texts

STUCK = calls("look", at="x", deep={"b": 1, "a": 2})


@tool
async def look(at: str, deep: dict[str, int] | None = None) -> str:
    """Look."""
    return f"saw {at}"


@tool
async def find(what: str) -> str:
    """Find."""
    return f"found {what}"


class Job:
    """A tool that reports progress, and after `steps` calls the same result for ever."""

    def __init__(self, steps: int) -> None:
        self.steps, self.asked = steps, 0

    def tool(self) -> Any:
        async def status(job: str) -> str:
            """Look how far a job is."""
            self.asked += 1
            return f"{job}: {min(self.asked, self.steps)} of {self.steps}"

        return StructuredTool.from_function(coroutine=status)


@tool
async def fetch(url: str) -> ToolMessage:
    """Fetch."""
    raise ToolException("the network is down")


fetch.handle_tool_error = True


def warned(messages: Any) -> bool:
    return any("same tool call" in message.text for message in messages)


async def test_it_warns_after_three_and_stops_at_five() -> None:
    model = scripted(STUCK)
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[look]), "go")
    assert [warned(heard.messages) for heard in model.calls] == [False] * 3 + [True] * 2 + [False]
    assert [heard.tools for heard in model.calls] == [("look",)] * 5 + [()]
    assert "3 times" in model.calls[3].texts[-1]
    assert kinds(values).count("tool") == 4
    last = values["messages"][-1]
    assert last.tool_calls == []
    assert last.text == f"{STOPPED['en']}\n\n{NEXT['en']}", "a note replaces the calls"
    assert not warned(values["messages"]), "the warning is not stored"


@pytest.mark.parametrize("said", ["", "Let me look."])
async def test_the_last_answer_says_what_was_done(said: str) -> None:
    stuck = Script(reply=said or None, tools=STUCK.tools, usage=(7, 1))
    model = scripted(*[stuck] * 5, Script(reply="I looked at x, but y is missing.", usage=(5, 2)))
    values = await say(chain(model, TokenUsageMiddleware(), LoopDetectionMiddleware(), tools=[look]), "go")
    assert texts(values)[-1] == "I looked at x, but y is missing."
    assert model.calls[-1].texts[-1] == LAST
    assert LAST not in texts(values), "the notice is not stored"
    assert values["usage"]["input_tokens"] == 5 * 7 + 5, "also the answer that was replaced"


@pytest.mark.parametrize(
    "last", [Script(fail="rate_limit"), Script(reply=""), Script(reply=" ", tools=STUCK.tools)]
)
async def test_a_last_answer_that_fails_is_replaced_by_a_note(last: Script) -> None:
    model = scripted(*[STUCK] * 5, last)
    values = await say(
        chain(model, LoopDetectionMiddleware(), ModelCalls(model_name="m"), tools=[look]), "go"
    )
    assert texts(values)[-1] == f"{STOPPED['en']}\n\n{NEXT['en']}"


async def test_a_warning_that_helps_lets_the_run_go_on() -> None:
    model = scripted(*[STUCK] * 3, calls("look", at="y"), says("done"))
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[look]), "go")
    assert texts(values)[-1] == "done"
    assert [warned(heard.messages) for heard in model.calls] == [False] * 3 + [True, False]


async def test_other_arguments_are_other_calls_and_their_order_is_none() -> None:
    different = [calls("look", at=str(number)) for number in range(9)]
    values = await say(
        chain(scripted(*different, says("done")), LoopDetectionMiddleware(), tools=[look]), "go"
    )
    assert texts(values)[-1] == "done"
    first, second = ToolUse("look", {"at": "x"}), ToolUse("look", {"at": "y"})
    swapped = [Script(tools=(first, second)), Script(tools=(second, first))] * 2
    model = scripted(*swapped, says("done"))
    await say(chain(model, LoopDetectionMiddleware(), tools=[look]), "go")
    assert warned(model.calls[3].messages)


async def test_calls_between_do_not_hide_a_loop_but_a_small_window_does() -> None:
    steps = [step for number in range(5) for step in (STUCK, calls("look", at=f"other {number}"))]
    values = await say(chain(scripted(*steps, says("done")), LoopDetectionMiddleware(), tools=[look]), "go")
    assert "again and again" in texts(values)[-1]
    small = LoopDetectionMiddleware(warn_at=2, stop_at=3, window=3)
    values = await say(chain(scripted(*steps, says("done")), small, tools=[look]), "go")
    assert texts(values)[-1] == "done"


async def test_calls_that_others_refuse_do_not_hide_a_loop() -> None:
    many = Script(tools=tuple(ToolUse("look", {"at": str(number)}) for number in range(5)))
    limit = SubagentLimitMiddleware(most=2, tool="look")
    values = await say(chain(scripted(many), limit, LoopDetectionMiddleware(), tools=[look]), "go")
    assert kinds(values).count("tool") == 4 * 5
    assert "again and again" in texts(values)[-1]


async def test_the_same_call_beside_one_of_another_tool_is_another_answer() -> None:
    both = Script(tools=(*STUCK.tools, ToolUse("find", {"what": "x"})))
    model = scripted(*[STUCK] * 4, both, says("done"))
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[look, find]), "go")
    assert kinds(values).count("tool") == 6
    assert texts(values)[-1] == "done"


async def test_each_turn_and_each_thread_counts_for_itself() -> None:
    model = scripted(*[STUCK, STUCK, says("done")] * 3)
    graph = chain(model, LoopDetectionMiddleware(), tools=[look])
    for _ in range(3):
        assert texts(await say(graph, "go"))[-1] == "done"
    assert not any(warned(heard.messages) for heard in model.calls)


async def test_what_was_said_before_it_was_stopped_stays() -> None:
    talking = Script(reply="Let me look.", tools=STUCK.tools)
    values = await say(chain(scripted(talking), LoopDetectionMiddleware(), tools=[look]), "go")
    assert texts(values)[-1].startswith("Let me look.\n\nI stopped because")
    thinking = Script(reply="Let me look.", thinking="hm", tools=STUCK.tools)
    values = await say(chain(scripted(thinking), LoopDetectionMiddleware(), tools=[look]), "go")
    assert "I stopped because" in texts(values)[-1]


async def test_a_call_that_waits_for_something_is_no_loop() -> None:
    job = Job(9)
    asks = calls("status", job="build")
    model = scripted(*[asks] * 9, says("done"))
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[job.tool()]), "go")
    assert texts(values)[-1] == "done"
    assert not any(warned(heard.messages) for heard in model.calls)


async def test_the_same_call_is_a_loop_once_nothing_changes_any_more() -> None:
    job = Job(6)
    model = scripted(calls("status", job="build"))
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[job.tool()]), "go")
    assert "again and again" in texts(values)[-1]
    assert job.asked == 5 + 4
    assert [warned(heard.messages) for heard in model.calls].index(True) == 8


async def test_other_arguments_are_a_loop_if_the_same_error_comes_back() -> None:
    model = scripted(*[calls("fetch", url=str(number)) for number in range(20)])
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[fetch]), "go")
    assert kinds(values).count("tool") == 8
    last = "the same step failed 8 times in a row with the same error: the network is down"
    assert texts(values)[-1] == f"I stopped because {last}\n\n{NEXT['en']}"
    heard = [any("failed 3 times in a row" in text for text in call.texts) for call in model.calls]
    assert heard.index(True) == 3


async def test_another_tool_or_a_success_between_ends_a_row_of_errors() -> None:
    fetches = [calls("fetch", url=str(number)) for number in range(12)]
    steps = [*fetches[:7], calls("find", what="x"), *fetches[7:], says("done")]
    model = scripted(*steps)
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[fetch, find]), "go")
    assert texts(values)[-1] == "done"
    model = scripted(*fetches[:8], calls("find", what="x"), says("done"))
    values = await say(chain(model, LoopDetectionMiddleware(), tools=[fetch, find]), "go")
    assert texts(values)[-1] == "done", "it tried something else"


async def test_the_note_is_in_the_persons_language() -> None:
    context: Any = {"configurable": {"thread_id": "t-1", "locale": "zh"}}
    values = await say(chain(scripted(STUCK), LoopDetectionMiddleware(), tools=[look]), "go", context)
    assert texts(values)[-1].startswith("我反复进行同样的调用，")


def test_names_of_files_with_long_outputs_make_no_difference() -> None:
    messages: list[Any] = []
    for number in ("c1", "c2"):
        call = {"name": "look", "args": {}, "id": number}
        messages += [
            AIMessage("", tool_calls=[call]),
            ToolMessage(f"full output in look-{number}.txt", tool_call_id=number),
        ]
    first, second = find_steps(messages)
    assert first == second


def test_a_number_of_errors_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="warn_at < errors_at"):
        LoopDetectionMiddleware(errors_at=3)


@pytest.mark.parametrize("limits", [(1, 5, 20), (5, 5, 20), (3, 5, 4)])
def test_limits_that_make_no_sense(limits: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="2 <= warn_at < stop_at <= window"):
        LoopDetectionMiddleware(warn_at=limits[0], stop_at=limits[1], window=limits[2])
