"""`/agent`, from the command to what a run is asked with."""

from __future__ import annotations

import pytest

from agent.shared.schemas import AgentInfo
from bot.access import Role
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run

OWN = (
    AgentInfo(name="coder", description="Writes code.", model="big"),
    AgentInfo(name="lame", problem='The agent "lame" can\'t be used: it limps.'),
    AgentInfo(name="poet"),
)


async def said(at: Bench, *lines: str) -> str:
    """What the bot answers to the last of them."""
    for line in lines:
        before = len(at.adapter.texts())
        await at.adapter.hears(line)
        await at.until(lambda before=before: len(at.adapter.texts()) > before)  # type: ignore[misc]
        await at.quiet()
    return at.adapter.texts()[-1]


def agent_of(at: Bench) -> object:
    """The agent of the newest run."""
    return list(at.runtime.runs.values())[-1].request.configurable.get("agent_name")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["/agent"],
            [
                "**Agents**",
                "Current agent: the default agent.",
                "• `coder` Writes code.",
                "• `poet`",
            ],
        ),
        (["/agent"], ["• `lame` The agent", "it limps", "`/agent default`"]),
        (["/agent CODER"], ["This conversation will use `coder`, starting with the next answer."]),
        (["/agent `poet`"], ["This conversation will use `poet`"]),
        (["/agent coder", "/agent"], ["Current agent: `coder`.", "✓ `coder`", "• `poet`"]),
        (
            ["/agent codre"],
            [
                "There is no agent named `codre`. Did you mean `coder`, `poet`?",
                "`/agent` lists the available agents.",
            ],
        ),
        (["/agent xyzzy"], ["There is no agent named `xyzzy`. `/agent`"]),
        (["/agent lame"], ["it limps"]),
        (["/agent lame", "/status"], ["Agent: the default agent"]),
        (["/agent coder", "/status"], ["Agent: `coder`"]),
        (
            ["/agent coder", "/agent Default"],
            ["This conversation will use the default agent, starting with the next answer."],
        ),
        (["/agent coder", "/agent default", "/status"], ["Agent: the default agent"]),
        (["/agent coder", "/new", "/status"], ["Agent: `coder`"]),
        (["/help agent"], ["`/agent [NAME]`", "goes back to the default"]),
    ],
)
async def test_what_it_says(at: Bench, lines: list[str], expected: list[str]) -> None:
    at.runtime.own = OWN
    async with at.running():
        text = await said(at, *lines)
    for part in expected:
        assert part in text
    assert at.runtime.runs == {}


async def test_a_choice_goes_with_the_next_run_only(at: Bench) -> None:
    at.runtime.own = OWN
    async with at.running():
        run = await first_run(at)
        assert "agent_name" not in run.request.configurable
        assert (
            await said(at, "/agent coder")
            == "This conversation will use `coder` once the current answer is finished."
        )
        run.end("error")
        await closed(at, 2)
        at.runtime.script = answer_with("ok")
        await at.adapter.hears("and now?")
        await closed(at, 3)
        assert agent_of(at) == "coder"
        await said(at, "/agent default")
        await at.adapter.hears("and then?")
        await closed(at, 5)
        assert agent_of(at) is None


async def test_a_retry_is_answered_by_the_agent_chosen_now(at: Bench) -> None:
    at.runtime.own, at.runtime.script = OWN, answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
        await said(at, "/agent poet")
        await at.adapter.hears("/retry")
        await closed(at, 4)
        assert agent_of(at) == "poet"


async def test_a_choice_outlives_a_restart(at: Bench) -> None:
    at.runtime.own, at.runtime.script = OWN, answer_with("ok")
    async with at.running():
        await said(at, "/agent coder")
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at, 2)
    assert agent_of(at) == "coder"


async def test_one_that_is_gone_is_named(at: Bench) -> None:
    at.runtime.own = OWN
    async with at.running():
        await said(at, "/agent coder")
        at.runtime.own = ()
        text = await said(at, "/agent")
        assert "⚠️ The agent `coder` no longer exists." in text
        assert "no custom agents yet" in text
        at.runtime.own = OWN[1:]
        text = await said(at, "/agent")
        assert "⚠️ The agent `coder` no longer exists." in text
        assert "• `poet`" in text


async def test_without_any_it_says_how_to_make_one(at: Bench) -> None:
    async with at.running():
        text = await said(at, "/agent")
    assert "Current agent: the default agent." in text
    assert "create an `agents/NAME` folder" in text


async def test_a_runtime_that_lists_none_or_is_away(at: Bench) -> None:
    at.runtime.own, at.runtime.script = None, answer_with("ok")
    async with at.running():
        assert "does not list custom agents" in await said(at, "/agent")
        assert "will use `mine`" in await said(at, "/agent mine")
        at.runtime.down = True
        assert "is not responding" in await said(at, "/agent")
        assert "is not responding" in await said(at, "/agent other")
        assert "will use the default agent" in await said(at, "/agent default")
        at.runtime.down = False
        await said(at, "/agent mine")
        await at.adapter.hears("hi")
        await closed(at, 7)
        assert agent_of(at) == "mine"


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.MEMBER, "The agent `poet` answers here. Only admins can choose a different one."),
        (Role.ADMIN, "This conversation will use `coder`, starting with the next answer."),
    ],
)
async def test_the_agent_of_an_account_is_left_by_admins_only(at: Bench, role: Role, expected: str) -> None:
    at.runtime.own, at.runtime.script, at.role = OWN, answer_with("ok"), role
    at.agent = "poet"
    async with at.running():
        text = await said(at, "/agent")
        assert "Current agent: `poet`." in text
        assert "✓ `poet`" in text
        assert await said(at, "/agent coder") == expected
        await at.adapter.hears("hi")
        await closed(at, 3)
        assert agent_of(at) == ("coder" if role is Role.ADMIN else "poet")
        assert (
            await said(at, "/agent default")
            == "This conversation will use `poet`, starting with the next answer."
        )
