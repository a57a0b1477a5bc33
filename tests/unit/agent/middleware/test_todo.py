"""The list in plan mode: one item in progress, one list in an answer."""

from typing import Any

import pytest

from agent.middleware.todo import REPLACED, TodoListMiddleware
from roebot_testing.agent import Script, ToolUse
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


@pytest.mark.guard(
    "a to-do list has one item in progress while work remains",
    "agent/middleware/todo_items.py",
    "    if doing or not waiting:",
    "    if True:",
    against="imprecise models",
)
@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        (
            todo(read="in_progress", write="in_progress", send="pending"),
            todo(read="in_progress", write="pending", send="pending"),
            "Only one item can be in_progress",
        ),
        (
            todo(read="completed", write="pending", send="pending"),
            todo(read="completed", write="in_progress", send="pending"),
            '"write" was set to in_progress',
        ),
    ],
)
async def test_exactly_one_item_is_in_progress_and_the_model_is_told(
    wrong: Any, right: Any, told: str
) -> None:
    values = await planned(calls("write_todos", todos=wrong))
    assert values["todos"] == right
    assert values["messages"][2].status == "success"
    assert told in values["messages"][2].text


STARTED = todo(read="in_progress", write="pending")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        # The whole list as text: NousResearch/hermes-agent#14185, shareAI-lab/learn-claude-code#340.
        (
            '[{"content": "read", "status": "in_progress"}, {"content": "write", "status": "pending"}]',
            STARTED,
        ),
        ("[{'content': 'read', 'status': 'in_progress'}, {'content': 'write'}]", STARTED),
        ("- [~] read\n- [ ] write", STARTED),
        ("1. read\n2. write", STARTED),
        (["read", "write"], STARTED),
        ({"todos": [{"content": "read", "status": "doing"}, "write"]}, STARTED),
        ({"read": "in progress", "write": "todo"}, STARTED),
        ({"content": "read", "status": "in_progress"}, todo(read="in_progress")),
        # Other names and words: anomalyco/opencode#1354.
        ([{"task": "read", "state": "In Progress"}, {"title": "write", "status": "failed"}], STARTED),
        (
            [{"description": "read", "done": True}, {"text": "write", "done": False}],
            todo(read="completed", write="in_progress"),
        ),
        (
            [{"content": "read", "status": "done"}, {"content": "old", "status": "cancelled"}],
            todo(read="completed"),
        ),
        ([{"content": "read", "status": "进行中"}, {"content": "write", "status": "待办"}], STARTED),
        # One bad entry among good ones.
        (
            [{"content": "read", "status": "in_progress"}, {"status": "pending"}, 3, {"content": "write"}],
            STARTED,
        ),
        ([{"content": "read", "status": "later"}, {"content": "write", "status": None}], STARTED),
        ([], []),
    ],
)
async def test_an_imprecise_list_is_read(written: Any, read: Any) -> None:
    values = await planned(calls("write_todos", todos=written))
    assert values["messages"][2].status == "success", values["messages"][2].text
    assert values["todos"] == read


@pytest.mark.parametrize("wrong", [[{"status": "pending"}], 3, None])
async def test_a_list_of_which_nothing_can_be_read_is_refused(wrong: Any) -> None:
    values = await planned(calls("write_todos", todos=PLAN), calls("write_todos", todos=wrong))
    assert values["messages"][4].status == "error"
    assert values["todos"] == PLAN, "the last good one stays"


async def test_of_several_lists_in_one_answer_the_last_counts() -> None:
    later = todo(read="completed", write="in_progress")
    uses = tuple(ToolUse("write_todos", {"todos": todos}) for todos in (PLAN, later))
    values = await planned(Script(tools=uses))
    assert values["todos"] == later
    assert kinds(values) == ["human", "ai", "tool", "tool", "ai"]
    assert texts(values)[2:4] == [REPLACED, "Items in the list: 2, completed: 1."]


async def test_it_costs_no_step_of_its_own() -> None:
    with_list, bare = chain(scripted(says("a")), TodoListMiddleware()), chain(scripted(says("a")))
    for graph in (with_list, bare):
        await say(graph, "go")
    assert await steps_of(with_list) == await steps_of(bare)
