"""The list in plan mode: one item in progress, one list in an answer."""

from typing import Any

import pytest

from agent.middleware.todo import TodoListMiddleware
from agent.testing import Script, ToolUse
from tests.harness.agents import calls, chain, kinds, say, says, scripted, steps_of, texts


def todo(**statuses: str) -> list[dict[str, str]]:
    return [{"content": content, "status": status} for content, status in statuses.items()]


PLAN = todo(read="in_progress", write="pending")


async def planned(*steps: Script) -> dict[str, Any]:
    return await say(chain(scripted(*steps, says("done")), TodoListMiddleware()), "go")


async def test_the_list_goes_into_the_state_and_the_rules_into_the_prompt() -> None:
    model = scripted(calls("write_todos", todos=PLAN), says("done"))
    graph = chain(model, TodoListMiddleware(), system_prompt="You plan.")
    values = await say(graph, "go")
    assert values["todos"] == PLAN
    assert texts(values)[2] == "Items in the list: 2, completed: 0."
    assert model.calls[0].texts[0].startswith("You plan.")
    assert "write_todos" in model.calls[0].texts[0]
    assert model.calls[0].tools == ("write_todos",)


async def test_a_list_replaces_the_one_before() -> None:
    done = todo(read="completed", write="completed")
    values = await planned(calls("write_todos", todos=PLAN), calls("write_todos", todos=done))
    assert values["todos"] == done


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (todo(read="in_progress", write="in_progress"), "2 items are in_progress"),
        (todo(read="completed", write="pending"), "one must be in_progress"),
    ],
)
async def test_a_list_without_exactly_one_in_progress_is_refused(wrong: Any, why: str) -> None:
    values = await planned(calls("write_todos", todos=PLAN), calls("write_todos", todos=wrong))
    refused = values["messages"][4]
    assert refused.status == "error"
    assert why in refused.text
    assert values["todos"] == PLAN, "the last good one stays"


async def test_a_status_that_there_is_not_is_refused() -> None:
    values = await planned(calls("write_todos", todos=todo(read="later")))
    assert values["messages"][2].status == "error"
    assert not values.get("todos")


async def test_of_several_lists_in_one_answer_the_last_counts() -> None:
    later = todo(read="completed", write="in_progress")
    uses = tuple(ToolUse("write_todos", {"todos": todos}) for todos in (PLAN, later))
    values = await planned(Script(tools=uses))
    assert values["todos"] == later
    assert kinds(values) == ["human", "ai", "tool", "ai"]


async def test_it_costs_no_step_of_its_own() -> None:
    with_list, bare = chain(scripted(says("a")), TodoListMiddleware()), chain(scripted(says("a")))
    for graph in (with_list, bare):
        await say(graph, "go")
    assert await steps_of(with_list) == await steps_of(bare)
