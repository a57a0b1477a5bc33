"""Web tools without configuration: where the internet can be reached, and nothing else is configured."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import structlog

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from agent.tools import default_web
from agent.tools.default_web import CHECK_SECONDS, DEFAULT_ENTRIES, FETCH, SEARCH, WebReach
from roebot_testing.agent import Script
from tests.component.agent.test_lead_tools import ONE, Models, profile, said

KEYED = "tools: [{name: find, group: web, use: 'agent.tools.community.tavily:web_search_tool', api_key: k}]\n"


class Internet:
    """A network that can be taken away, and the time."""

    def __init__(self, *, reachable: bool = True, **environ: str) -> None:
        self.reachable, self.attempts, self.now = reachable, 0, 0.0
        self.reach = WebReach(environ, connect=self._connect, clock=lambda: self.now)

    async def _connect(self) -> bool:
        self.attempts += 1
        return self.reachable


def lead(folder: Path, text: str, models: Models, internet: Internet) -> LeadAgent:
    (folder / "config.yaml").write_text(f"config_version: 1\n{ONE}sandbox: {{enabled: false}}\n{text}")
    source = ModelSource(folder / "config.yaml", environ={}, cwd=folder, clock=lambda: 0.0)
    return LeadAgent(source, folder / "home", make_model=models, web=internet.reach)


async def offered(folder: Path, text: str, internet: Internet, **options: Any) -> set[str]:
    models = Models(m=(Script(reply="ok"),))
    await said(lead(folder, text, models, internet), switches=RunOptions(**options))
    return set(models.made["m"].calls[0].tools) - {"ask_clarification", "task"}


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", {"web_search", "web_fetch"}),
        ("web_tools: {enabled: false}\n", set()),
        (KEYED, {"find", "web_fetch"}),
        (KEYED.replace("find", "web_search"), {"web_search", "web_fetch"}),
    ],
)
async def test_they_are_there_unless_others_are_configured(
    tmp_path: Path, text: str, tools: set[str]
) -> None:
    assert await offered(tmp_path, text, Internet()) == tools
    configured = {name for name in tools if f"name: {name}," in text}
    assert await offered(tmp_path, text, Internet(reachable=False)) == configured


async def test_a_custom_agent_has_them_if_it_has_their_group(tmp_path: Path) -> None:
    profile(tmp_path, "reader", "tool_groups: [web]\n")
    profile(tmp_path, "typist", "tool_groups: [mcp]\n")
    assert await offered(tmp_path, "", Internet(), agent_name="reader") == {"web_search", "web_fetch"}
    assert await offered(tmp_path, "", Internet(), agent_name="typist") == set()


async def test_a_network_that_comes_and_goes(tmp_path: Path) -> None:
    internet, models = Internet(reachable=False), Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, "", models, internet)
    for reachable, now, tools in (
        (True, 1.0, False),
        (True, CHECK_SECONDS, True),
        (False, CHECK_SECONDS + 1, True),
        (False, 2 * CHECK_SECONDS, False),
    ):
        await agent.get_graph(RunOptions())
        internet.reachable, internet.now = reachable, now
        with structlog.testing.capture_logs() as logs:
            await said(agent)
        assert ("web_search" in models.made["m"].calls[-1].tools) is tools
        assert [one["event"] for one in logs if one["event"] == "web_tools_changed"] == (
            ["web_tools_changed"] if now in {CHECK_SECONDS, 2 * CHECK_SECONDS} else []
        )
    assert internet.attempts == 3


@pytest.mark.parametrize(
    ("reachable", "environ", "tools"),
    [
        (True, {"ROEBOT_OFFLINE": "1"}, ()),
        (True, {"ROEBOT_OFFLINE": "0"}, (SEARCH, FETCH)),
        (False, {"HTTPS_PROXY": "http://proxy.test:3128"}, (SEARCH,)),
        (False, {}, ()),
    ],
)
async def test_the_environment_decides_too(
    reachable: bool, environ: dict[str, str], tools: tuple[Any, ...]
) -> None:
    internet = Internet(reachable=reachable, **environ)
    assert await internet.reach.find_tools() == tools
    assert await internet.reach.find_tools() == tools
    assert internet.attempts <= 1


async def test_a_default_tool_without_its_package_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = DEFAULT_ENTRIES[SEARCH].model_copy(update={"use": "no_such_package.web:web_search_tool"})
    monkeypatch.setitem(DEFAULT_ENTRIES, SEARCH, broken)  # type: ignore[arg-type]
    with structlog.testing.capture_logs() as logs:
        assert await offered(tmp_path, "", Internet()) == {"web_fetch"}
    [entry] = [one for one in logs if one["event"] == "default_tool_left_out"]
    assert entry["tool"] == "web_search"
    assert "no_such_package" in entry["detail"]


async def test_a_slow_attempt_holds_no_run_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_web, "WAIT_SECONDS", 0.01)
    answered = asyncio.Event()

    async def connect() -> bool:
        return await answered.wait()

    reach = WebReach({}, connect=connect, clock=lambda: 0.0)
    assert await reach.find_tools() == ()
    answered.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert await reach.find_tools() == (SEARCH, FETCH)
