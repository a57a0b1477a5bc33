"""Commands in containers with network access, under the attacks of every provider."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.core.interfaces import SandboxProvider
from agent.sandbox.container import ContainerSandboxProvider
from agent.sandbox.options import Surroundings
from agent.sandbox.warm_container import GATES
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_egress import EgressAttacks, EgressSite, ask
from tests.sandbox.engines import container, engine
from tests.sandbox.sandbox_fixtures import folders, one

pytestmark = [pytest.mark.container, pytest.mark.timeout(300)]


@pytest.mark.guard(
    "egress: the container's namespace stays separate",
    "agent/sandbox/warm_container.py",
    'words += ["--network", "none"]',
    'words += ["--network", "host" if setup.egress else "none"]',
    against="network",
    test="test_ways_around_the_proxy",
)
class TestEgressOfContainers(EgressAttacks):
    @pytest_asyncio.fixture
    async def provider(self, home: Path, site: EgressSite) -> AsyncIterator[SandboxProvider]:
        made = container(home, LIMITS, egress=site.rules)
        yield made
        await made.close()


@pytest.mark.guard(
    "egress: each container has its own gate",
    "agent/sandbox/warm_container.py",
    "return self._setup.home_folder.absolute() / GATES / self.name",
    "return self._setup.home_folder.absolute() / GATES",
    against="network",
)
async def test_each_container_has_a_gate_of_its_own(tmp_path: Path) -> None:
    around = Surroundings(folders(tmp_path), tmp_path)
    made = ContainerSandboxProvider.from_config(around, command=shlex.join(engine()), network=["a.example"])
    for thread in ("one", "two"):
        assert await ask(await one(made, thread), 443, ["b.example"]) == {"b.example": {"403"}}
    gates = list((tmp_path / GATES).glob("*/gate"))
    assert len(gates) == 2
    await made.close()
