"""The doctor reports what the agent runtime can't use."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.shared.schemas import ConfigProblem
from bot.app.home import write_service_file
from bot.cli.doctor import Finding
from tests.platforms.web.serving import world
from tests.unit.bot.cli.test_doctor import MODEL, _told

pytestmark = pytest.mark.may_block


async def test_the_doctor_names_what_the_runtime_cannot_use(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "lame"
    agent.mkdir(parents=True)
    (agent / "config.yaml").write_text("model: gone")
    async with world(tmp_path, extra=MODEL) as service:
        write_service_file(tmp_path, service.url, tmp_path / "config.yaml")
        found = await asyncio.to_thread(_told, tmp_path, None)
        (line,) = [one for one in found if "agents/lame" in one.text]
        assert line.good is False
        assert 'there is no model named "gone"' in line.text
        assert [one.line for one in await service.service.list_config_problems() if one.serious] == [
            line.text
        ]


async def test_the_doctor_says_where_no_command_can_run(tmp_path: Path) -> None:
    """A note: the agent answers without them."""
    containers = (
        "sandbox: {use: 'agent.sandbox.container:ContainerSandboxProvider', command: no-such-engine}\n"
    )
    async with world(tmp_path, extra=f"{MODEL}\n{containers}") as service:
        write_service_file(tmp_path, service.url, tmp_path / "config.yaml")
        found = await asyncio.to_thread(_told, tmp_path, None)
        where, what = "sandbox", "Containers can't be started here: no-such-engine is not installed."
        assert Finding(None, f"{where}: {what}") in found
        assert await service.service.list_config_problems() == [
            ConfigProblem(where=where, what=what, serious=False)
        ]
