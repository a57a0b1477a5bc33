"""A tool waits for a person: what it would do is shown, without the secrets, and their word lets it run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.tools import tool

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails import AllowlistProvider, Decision, ToolRequest
from agent.middleware.guardrail import GuardrailMiddleware
from agent.models.calls import ModelCalls
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.component.agent.test_subagents import both, tasks
from tests.harness.agents import calls, says, scripted
from tests.harness.people import PlatformUser, at_work
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, until
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block

SECRET = "configured-key-0123456789"
deleted: list[str] = []
judged: list[tuple[str, tuple[str, ...]]] = []


class Noting(AllowlistProvider):
    """Notes whose calls it judges, and with which roles."""

    async def evaluate(self, request: ToolRequest, /) -> Decision:
        judged.append((request.context.user_id, request.context.roles))
        return await super().evaluate(request)


@tool
async def delete(path: str, header: str) -> str:
    """Delete."""
    deleted.append(path)
    return f"deleted {path}"


def guarded() -> object:
    """An agent that may delete only when somebody says so."""
    model = scripted(calls("delete", path="/tmp/**all**", header=f"k={SECRET}"), says("That is done."))
    guardrail = GuardrailMiddleware(provider=Noting(ask=["delete"]))
    return create_agent_graph(
        model, [delete], middleware=[guardrail, ModelCalls(model_name="scripted")], name="guarded"
    )


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    deleted.clear()
    judged.clear()
    graph = guarded()
    async with serve(tmp_path / "agent", sources={"guarded": lambda: graph}, token=SECRET) as served:
        yield served


@pytest.mark.parametrize(
    ("answer", "effect"), [("approve", ["/tmp/**all**"]), ("reject", [])], ids=["yes", "no"]
)
async def test_what_waits_is_shown_and_a_word_decides(
    tmp_path: Path, driver: PlatformUser, agent: Served, answer: str, effect: list[str]
) -> None:
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: guarded, api_key: "{SECRET}"}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("clean up")
        await until(lambda: len(driver.texts()) == 1, 20.0, lambda: f"{driver.texts()}")
        [question] = driver.texts()
        assert "delete" in question
        assert "path: /tmp/**all**" in question
        assert "header: k=***" in question
        assert SECRET not in question
        assert "May I use" not in question
        assert deleted == []
        driver.writes(answer)
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts()[1:] == ["That is done."]
    assert deleted == effect


ANN, BEN, EVE = 1001, 1002, 1003


@pytest.mark.parametrize(("decider", "effect"), [(ANN, ["/tmp/**all**"]), (EVE, [])], ids=["asker", "admin"])
async def test_in_a_group_only_who_asked_or_an_admin_decides(
    tmp_path: Path, agent: Served, decider: int, effect: list[str]
) -> None:
    """Ann asks and approves, or Eve, an admin, rejects; Ben presses in vain, and what he asks waits."""
    async with TelegramEmulator.serve() as emulator:
        text = f"""
config_version: 1
runtime: {{url: "{agent.url}", assistant_id: guarded, api_key: "{SECRET}"}}
server: {{port: 0}}
channels:
  telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {{default: allow, admins: ["telegram:{EVE}"]}}
"""
        async with running(tmp_path, text):
            group, at_bot = emulator.people.make_group("team"), f"@{emulator.world.bot.username}"

            def texts() -> list[str]:
                return [seen.text for seen in answers(emulator, group)]

            async def stand(count: int) -> None:
                await until(lambda: len(texts()) == count, 20.0, lambda: f"{texts()}")

            emulator.people.says(f"{at_bot} clean up", user=ANN, chat=group)
            await stand(1)
            question = answers(emulator, group)[0].id
            pressed = emulator.people.presses(group, question, "choice:0", user=BEN)
            await until(lambda: pressed in emulator.world.answered, 20.0, lambda: "not answered")
            assert emulator.world.answered[pressed].startswith("Only the person who asked")
            emulator.people.says("approve", user=BEN, chat=group, reply_to=question)
            await stand(2)
            assert texts()[1].startswith("A tool call is waiting for approval here.")
            assert deleted == []
            choice = "choice:0" if decider == ANN else "choice:3"
            emulator.people.presses(group, question, choice, user=decider)
            await stand(4)
        assert texts()[2:] == ["That is done."] * 2
    assert deleted == effect
    assert judged == [(f"telegram:{ANN}", ("member",))] * 2, "an admin's word lends nobody their roles"


def delegating() -> object:
    """An agent whose subagent may delete only when somebody says so."""
    call = calls("delete", path="/tmp/all", header="h")
    model = both(
        [tasks("clean"), says("The subagent is done.")],
        [call, says("deleted it")],
    )
    guardrail = GuardrailMiddleware(provider=Noting(ask=["delete"]))
    features = RuntimeFeatures(sandbox=False, subagent=True, guardrail=guardrail)
    return create_agent_graph(model, [delete], features=features, name="guarded")


async def test_a_subagent_waits_for_the_word(tmp_path: Path, driver: PlatformUser) -> None:
    deleted.clear()
    graph = delegating()
    runtime = 'runtime: {{url: "{url}", assistant_id: guarded, api_key: "{key}"}}'
    async with (
        serve(tmp_path / "agent", sources={"guarded": lambda: graph}, token=SECRET) as served,
        at_work(tmp_path, driver, runtime.format(url=served.url, key=SECRET)),
    ):
        driver.writes("clean up")
        await until(lambda: len(driver.texts()) == 1, 20.0, lambda: f"{driver.texts()}")
        assert "Requested by a subagent: do clean" in driver.texts()[0].replace("`", "")
        assert deleted == []
        driver.writes("approve")
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.3)
        assert "The subagent is done." in driver.texts()[1]
    assert deleted == ["/tmp/all"]


async def test_each_of_two_subagents_is_answered(tmp_path: Path, driver: PlatformUser) -> None:
    """Both ask at once: one question after the other, and each subagent hears its own answer."""
    deleted.clear()
    model = both(
        [tasks("one", "two"), says("Both are done.")],
        [calls("delete", path="/tmp/all", header="h"), says("I am done.")],
    )
    guardrail = GuardrailMiddleware(provider=Noting(ask=["delete"]))
    features = RuntimeFeatures(sandbox=False, subagent=True, guardrail=guardrail)
    graph = create_agent_graph(model, [delete], features=features, name="guarded")
    runtime = 'runtime: {{url: "{url}", assistant_id: guarded, api_key: "{key}"}}'

    def asked() -> list[str]:
        found = (re.search(r"Requested by a subagent: `?do (one|two)", text) for text in driver.texts())
        return [one[1] for one in found if one]

    async with (
        serve(tmp_path / "agent", sources={"guarded": lambda: graph}, token=SECRET) as served,
        at_work(tmp_path, driver, runtime.format(url=served.url, key=SECRET)),
    ):
        driver.writes("clean up")
        await until(lambda: len(asked()) == 1, 20.0, lambda: f"{driver.texts()}")
        driver.writes("reject")
        await until(lambda: len(asked()) == 2, 20.0, lambda: f"{driver.texts()}")
        assert deleted == [], "an answer counts for one question"
        driver.writes("approve")
        await until(lambda: "Both are done." in driver.texts()[-1], 20.0, lambda: f"{driver.texts()}")
    assert sorted(asked()) == ["one", "two"]
    assert deleted == ["/tmp/all"]
    heard = [call.texts[-1] for call in model.calls if "task" not in call.tools]
    assert len([text for text in heard if text.startswith("A person rejected this call.")]) == 1
    assert len([text for text in heard if text.startswith("deleted /tmp/all")]) == 1
