"""Erasing a person whose work a subagent did, or waits to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.shared.text_masking import MASK
from roebot_testing.agent import Script, ToolUse
from tests.component.agent.test_subagent_approvals import agent, done
from tests.component.agent.test_subagents import Both, both
from tests.harness.agents import calls, says
from tests.runtime.serving import SOURCES, Served, serve
from tests.runtime.test_erasure import ANN, BEN, BEN_SAID, GROUP, erase, file_bytes, message, stored_values

# What the agent makes of Ann's words and what it finds; the answers to her repeat none of her words.
PROMPT, FOUND, RESULT, ANSWER = "wash the marmot", "otter", "the marmot is clean", "your pet is clean"
DERIVED = ("marmot", "otter", "pet is")
ANN_ASKED = "Ann: please see to my animal"


def model() -> Both:
    """The lead agent delegates to a subagent, which looks something up and asks for an approval."""
    delegates = Script(tools=(ToolUse("task", {"description": "do it", "prompt": PROMPT}, "call-1"),))
    lead = [delegates, says(ANSWER), says("all done")]
    scripted = both(lead, [calls("look", word=FOUND), calls("delete", path=FOUND), says(RESULT)])
    # The script of a subagent is found by its prompt, also by an erased one.
    scripted.taken[f"sub:{MASK}"] = 2
    return scripted


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with an agent that has subagents."""
    done.clear()
    scripted = model()
    async with serve(
        tmp_path, sources={**SOURCES, "echo": lambda: agent(scripted, InMemorySaver())}
    ) as server:
        yield server


async def say(served: Served, **given: Any) -> dict[str, Any]:
    """The thread's state after a run."""
    run = await served.client.runs.create(GROUP, "echo", if_not_exists="create", **given)
    await served.client.runs.join(GROUP, run["run_id"])
    state: Any = await served.client.threads.get_state(GROUP)
    return dict(state)


def sent(identity: str, sender: str, text: str) -> dict[str, Any]:
    """The input of a run."""
    return {"messages": [message(identity, sender, text)]}


def contents(state: dict[str, Any]) -> list[str]:
    """The texts of a thread."""
    return [str(one["content"]) for one in state["values"]["messages"]]


def left(home: Path) -> list[str]:
    """Which words are still stored, decoded or in a file."""
    stored, files = stored_values(home), file_bytes(home)
    return [word for word in (*DERIVED, "animal") if word in stored or word.encode() in files]


async def test_a_waiting_subagent_is_erased_and_ends_without_its_words(group: Served, tmp_path: Path) -> None:
    asked = await say(group, input=sent("m1", ANN, ANN_ASKED))
    assert [one["value"]["tool"] for one in asked["interrupts"]] == ["delete"]
    assert "marmot" in stored_values(tmp_path)
    await erase(group)
    await group.http.post("/storage/compact")
    assert left(tmp_path) == []
    answered = await say(group, command={"resume": "approve"})
    assert answered["interrupts"] == []
    assert contents(answered) == [MASK, MASK, RESULT, ANSWER]
    assert done == [f"look {FOUND}"], "a call without its arguments is not executed"


async def test_the_group_goes_on_instead_of_the_waiting_subagent(group: Served, tmp_path: Path) -> None:
    await say(group, input=sent("m1", ANN, ANN_ASKED))
    await erase(group)
    following = await say(group, input=sent("m2", BEN, BEN_SAID))
    assert contents(following)[0] == MASK
    assert contents(following)[-2:] == [BEN_SAID, ANSWER]


async def test_what_a_subagent_did_is_erased_with_the_answer(group: Served, tmp_path: Path) -> None:
    await say(group, input=sent("m1", ANN, ANN_ASKED))
    answered = await say(group, command={"resume": "approve"})
    assert contents(answered)[-2:] == [RESULT, ANSWER]
    await erase(group)
    await group.http.post("/storage/compact")
    assert left(tmp_path) == []


async def test_somebody_elses_subagent_waits_on(group: Served) -> None:
    await say(group, input=sent("m1", BEN, BEN_SAID))
    await erase(group)
    answered = await say(group, command={"resume": "approve"})
    assert contents(answered) == [BEN_SAID, "", RESULT, ANSWER]
    assert done == [f"look {FOUND}", FOUND]


async def test_a_quotation_in_a_question_is_masked_and_the_question_stays_one(
    group: Served, tmp_path: Path
) -> None:
    await say(group, input=sent("m1", BEN, BEN_SAID))
    await erase(group, texts=[f"{FOUND} and {FOUND}", "the otter", "otter77", "do wash the marmot now"])
    answered = await say(group, command={"resume": "approve"})
    assert answered["interrupts"] == []
    assert contents(answered)[-2:] == [RESULT, ANSWER]
