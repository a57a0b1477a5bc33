"""Commands in bubblewrap with network access, under the attacks of every provider."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxProvider
from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.options import Surroundings
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_egress import EgressAttacks, EgressSite, ask
from tests.sandbox.sandbox_fixtures import folders, local, one

pytestmark = pytest.mark.bubblewrap


class TestEgressOfLocal(EgressAttacks):
    @pytest.fixture
    def provider(self, home: Path, site: EgressSite) -> SandboxProvider:
        return local(home, egress=site.rules, limits=LIMITS)


async def test_the_configuration_decides(tmp_path: Path) -> None:
    around = Surroundings(folders(tmp_path), tmp_path)
    make = LocalSandboxProvider.from_config
    listed = await one(await asyncio.to_thread(make, around, network=["a.example"]))
    assert await ask(listed, 443, ["b.example"]) == {"b.example": {"403"}}
    closed = await one(await asyncio.to_thread(make, around))
    assert (await closed.execute_command("env | grep -i proxy; cat /proc/net/tcp | wc -l")).output == "1\n"
