"""The model is asked once about new files that its answer does not show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent.core.run_meter import RunLimits
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails import AllowlistProvider
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.run_limits import RunLimitsMiddleware
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.unseen_files import MAX_FILES
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider

OUTPUTS = "/mnt/user-data/outputs"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
DONE = Script(reply="done")
LIST = Script(tools=(ToolUse("ls", {}),))


def write(*names: str, content: str = "x") -> Script:
    paths = [f"{OUTPUTS}/{name}" for name in names]
    return Script(tools=tuple(ToolUse("write_file", {"path": path, "content": content}) for path in paths))


def present(*names: str) -> Script:
    return Script(tools=(ToolUse("present_files", {"paths": list(names)}, "p"),))


class Agent:
    """The whole chain, with these answers of the model."""

    def __init__(self, *steps: Script, **features: Any) -> None:
        self.model = ScriptedChatModel(steps=steps, environ={})
        self.provider = MemorySandboxProvider()
        self.graph = create_agent_graph(
            self.model,
            features=RuntimeFeatures(sandbox=SandboxMiddleware(provider=self.provider), **features),
            checkpointer=InMemorySaver(),
        )
        self.streamed: dict[str, str] = {}

    async def say(self, given: Any = None) -> dict[str, Any]:
        source = given or {"messages": [HumanMessage("go")]}
        values: dict[str, Any] = {}
        async for mode, part in self.graph.astream(source, CONFIG, stream_mode=["values", "messages"]):
            if mode == "values":
                values = part
            elif isinstance(part[0], AIMessage) and part[0].text:
                shown = self.streamed.get(str(part[0].id), "")
                self.streamed[str(part[0].id)] = shown + part[0].text
        return values

    async def put(self, *names: str) -> None:
        """Write files as an earlier turn did."""
        sandbox = self.provider.get(await self.provider.acquire("t"))
        assert sandbox is not None
        for name in names:
            await sandbox.write_file(f"{OUTPUTS}/{name}", b"x")

    @property
    def notes(self) -> list[str]:
        """The questions about files."""
        last = (call.messages[-1] for call in self.model.calls)
        return [one.text for one in last if one.additional_kwargs.get("lc_source") == "unseen_files"]


@pytest.mark.guard(
    "a new file is called to the model's attention",
    "agent/middleware/unseen_files.py",
    "if not names or not _is_affordable(asking):",
    "if True:",
    against="no lost files",
)
@pytest.mark.guard(
    "the answer that waits for its files is not written again",
    "agent/middleware/unseen_files.py",
    "        if held is not None and isinstance(request.messages[-1], ToolMessage):",
    "        if False:",
    against="no lost files",
)
async def test_a_forgotten_file_is_presented_before_the_answer_which_is_not_repeated() -> None:
    agent = Agent(write("a.csv", "b.csv"), Script(reply="Attached."), present("a.csv"), DONE)
    values = await agent.say()
    [note] = agent.notes
    assert "a.csv, b.csv" in note
    assert values["artifacts"] == [f"{OUTPUTS}/a.csv"]
    kinds = [message.type for message in values["messages"]]
    assert kinds == ["human", "ai", "tool", "tool", "ai", "tool", "ai"]
    assert values["messages"][-1].text == "Attached."
    assert values["messages"][-3].text == ""
    assert list(agent.streamed.values()) == ["Attached."], "it is shown once, and the note's answer never"
    assert next(iter(agent.streamed)) == values["messages"][-1].id
    assert len(agent.model.calls) == 3, "the answer is not asked for again"
    assert values["held_answer"] is None


@pytest.mark.guard(
    "people don't see the question about files",
    "agent/middleware/unseen_files.py",
    "        with shown.watch_attempt():\n            asked",
    "        with VisibleOutput().watch_attempt():\n            asked",
    against="no lost files",
)
@pytest.mark.parametrize("reply", [DONE, Script(reply=" "), Script(tools=(ToolUse("ls", {}),))])
async def test_the_model_may_leave_it_at_that(reply: Script) -> None:
    agent = Agent(write("a.csv"), Script(reply="Here."), reply, Script(reply="Next."))
    values = await agent.say()
    assert len(agent.notes) == 1
    assert [message.type for message in values["messages"]] == ["human", "ai", "tool", "ai"]
    assert values["messages"][-1].text == "Here."
    assert list(agent.streamed.values()) == ["Here."]
    assert (await agent.say())["messages"][-1].text == "Next."
    assert len(agent.notes) == 1, "the file is known now"


@pytest.mark.parametrize(
    "answer",
    [
        "See [the table](sandbox:/mnt/user-data/outputs/a%20b.csv).",
        "![table](a b.csv)",
        "![table](./a%20b.csv)",
        "[table](sandbox:/mnt/data/a b.csv)",
    ],
)
async def test_a_linked_file_is_no_question(answer: str) -> None:
    agent = Agent(write("a b.csv"), Script(reply=answer))
    await agent.say()
    assert agent.notes == []


@pytest.mark.parametrize(
    "answer",
    [
        f"See {OUTPUTS}/a.csv.",
        "It is in `outputs/a.csv`, as a.csv.",
        "```\n[table](a.csv)\n```",
        "[table](https://example.com/outputs/a.csv)",
    ],
)
async def test_a_file_that_no_link_attaches_is_a_question(answer: str) -> None:
    agent = Agent(write("a.csv"), Script(reply=answer), DONE)
    await agent.say()
    assert len(agent.notes) == 1


async def test_a_presented_file_is_no_question_until_it_changes() -> None:
    agent = Agent(
        write("a.csv"),
        present("a.csv"),
        Script(reply="Here."),
        write("a.csv", content="more"),
        Script(reply="Changed."),
        present("a.csv"),
    )
    await agent.say()
    assert agent.notes == []
    values = await agent.say()
    assert len(agent.notes) == 1
    assert values["messages"][-1].text == "Changed."


async def test_hidden_files_folders_and_the_workspace_are_no_question() -> None:
    own = Script(tools=(ToolUse("write_file", {"path": "own.csv", "content": "x"}),))
    agent = Agent(write(".cache", "parts/one.csv"), own, Script(reply="Here."))
    await agent.say()
    assert agent.notes == []


async def test_a_turn_without_tools_does_not_look() -> None:
    agent = Agent(Script(reply="Hello."))
    await agent.put("a.csv")
    values = await agent.say()
    assert agent.notes == []
    assert "outputs" not in values


async def test_files_of_a_thread_of_an_earlier_version_are_no_question() -> None:
    agent = Agent(write("new.csv"), Script(reply="Here."))
    call = {"name": "bash", "args": {"command": "x"}, "id": "c"}
    earlier = [
        HumanMessage("before"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("x", tool_call_id="c"),
        AIMessage("Well."),
    ]
    await agent.say({"messages": [*earlier, HumanMessage("go")]})
    assert agent.notes == []


async def test_presenting_is_subject_to_approval_and_the_answer_survives_the_wait() -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["present_files"]))
    agent = Agent(write("a.csv"), Script(reply="Attached."), present("a.csv"), guardrail=guard)
    values = await agent.say()
    assert values["__interrupt__"][0].value["tool"] == "present_files"
    values = await agent.say(Command(resume="approve"))
    assert values["artifacts"] == [f"{OUTPUTS}/a.csv"]
    assert values["messages"][-1].text == "Attached."
    assert len(agent.model.calls) == 3


@pytest.mark.parametrize("denied", [[], ["present_*"]], ids=["by a person", "by a rule"])
async def test_what_was_refused_is_not_asked_for_another_way(denied: list[str]) -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["present_files"], denied=denied))
    steps = write("a.csv"), Script(reply="Attached."), present("a.csv"), Script(reply="Not attached.")
    agent = Agent(*steps, guardrail=guard)
    values = await agent.say()
    if not denied:
        values = await agent.say(Command(resume="no"))
    assert values["messages"][-1].text == "Not attached."
    assert "another way" not in agent.notes[-1]
    assert "so that it is true" in agent.notes[-1]


async def test_what_somebody_writes_meanwhile_is_answered() -> None:
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["present_files"]))
    agent = Agent(
        write("a.csv"),
        Script(reply="Attached."),
        present("a.csv"),
        Script(reply="All of it."),
        guardrail=guard,
    )
    await agent.say()
    values = await agent.say({"messages": [HumanMessage("wait")]})
    assert values["messages"][-1].text == "All of it."
    assert values["held_answer"] is None


@pytest.mark.parametrize("names", [["gone.csv"], ["a.csv", "gone.csv"]])
async def test_an_answer_whose_files_could_not_be_presented_is_replaced(names: list[str]) -> None:
    corrected = Script(reply="gone.csv could not be attached.")
    agent = Agent(write("a.csv"), Script(reply="Attached."), present(*names), corrected)
    values = await agent.say()
    last = values["messages"][-1]
    assert last.text == "gone.csv could not be attached."
    assert agent.streamed == {last.id: "Attached."}, "it takes the place of what was shown"
    assert next(one.text for one in agent.model.calls[-1].messages[-2:]) == "Attached."
    assert values["held_answer"] is None
    assert "Attached." not in [one.text for one in values["messages"]]
    assert "another way" in agent.notes[-1]


async def test_the_model_may_present_another_way_instead() -> None:
    agent = Agent(
        write("a.csv"),
        Script(reply="Attached."),
        present("b.csv"),
        present("a.csv"),
        Script(reply="Here it is."),
    )
    values = await agent.say()
    assert values["artifacts"] == [f"{OUTPUTS}/a.csv"]
    assert values["messages"][-1].text == "Here it is."


async def test_without_a_better_one_the_answer_stays() -> None:
    agent = Agent(write("a.csv"), Script(reply="Attached."), present("b.csv"), Script(reply=" "))
    assert (await agent.say())["messages"][-1].text == "Attached."


@pytest.mark.parametrize("last", ["Not attached.", " "], ids=["replaced", "kept"])
async def test_the_tokens_of_every_answer_count(last: str) -> None:
    steps = write("a.csv"), Script(reply="Attached."), present("b.csv"), Script(reply=last)
    counted = (replace(step, usage=(10**at, 0)) for at, step in enumerate(steps))
    values = await Agent(*counted).say()
    assert values["usage"]["input_tokens"] == 1111


async def test_nothing_is_asked_at_the_limits_of_a_run() -> None:
    limits = RunLimitsMiddleware(limits=RunLimits(tool_calls=1))
    agent = Agent(write("a.csv"), Script(reply="Here."), present("a.csv"), run_limits=limits)
    await agent.say()
    assert agent.notes == []
    assert len(agent.model.calls) == 2


async def test_what_was_shown_before_a_message_that_joined_is_known() -> None:
    agent = Agent(LIST, Script(reply="Here."))
    await agent.put("a.csv")
    call = {"name": "present_files", "args": {"paths": ["a.csv"]}, "id": "p"}
    turn = [
        HumanMessage("go", id="h1"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(f"Presented: {OUTPUTS}/a.csv.", tool_call_id="p"),
        HumanMessage("also this", id="h2"),
    ]
    await agent.say({"messages": turn, "steered": {"turn": "7", "ids": ["h2"]}, "outputs": {}})
    assert agent.notes == []


async def test_the_state_keeps_no_names() -> None:
    agent = Agent(write("a.csv"), Script(reply="Here."), DONE)
    values = await agent.say()
    assert len(values["outputs"]) == 1
    assert "a.csv" not in values["outputs"]


async def test_files_that_an_earlier_version_recorded_by_name_are_no_question() -> None:
    agent = Agent(LIST, Script(reply="Here."))
    await agent.put("a.csv", "deadbeef")
    await agent.say({"messages": [HumanMessage("go")], "outputs": {"a.csv": 1, "deadbeef": 1}})
    assert agent.notes == []


async def test_a_folder_that_a_script_filled_is_no_question() -> None:
    agent = Agent(LIST, Script(reply="Here."))
    await agent.put(*(f"{number}.csv" for number in range(MAX_FILES + 1)))
    values = await agent.say()
    assert agent.notes == []
    assert "outputs" not in values
