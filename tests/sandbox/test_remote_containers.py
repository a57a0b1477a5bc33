"""The remote provider, with a service whose sandboxes are containers, under the suite of every sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxProvider
from agent.sandbox import engine as engines
from roebot_testing.agent.conformance import SandboxSuite
from tests.sandbox.engines import engine
from tests.sandbox.provisioning import Provisioner, provisioner, remote
from tests.sandbox.sandbox_fixtures import one

pytestmark = [pytest.mark.container, pytest.mark.timeout(300)]
SETTINGS = {
    "use": "agent.sandbox.container:ContainerSandboxProvider",
    "command": " ".join(engine()),
    "processes": 60,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provisioner]:
    with provisioner(tmp_path_factory.mktemp("provisioner"), settings=SETTINGS) as running:
        yield running


def kept(service: Provisioner) -> list[str]:
    """The containers of the service."""
    return asyncio.run(engines.list_containers(engine(), engines.home_of(service.home)))


class TestRemoteContainers(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path: Path, service: Provisioner) -> SandboxProvider:
        return remote(tmp_path, service.url)


async def test_it_is_a_container(tmp_path: Path, service: Provisioner) -> None:
    """Its own root, and no more processes than were configured."""
    sandbox = await one(remote(tmp_path, service.url))
    shown = (
        await sandbox.execute_command("hostname; ulimit -u; awk '$2 == \"/\" { print $4 }' /proc/mounts")
    ).output
    name, processes, options = shown.split()
    assert (name, processes) == ("sandbox", "60")
    assert "ro" in options.split(",")


def test_a_service_that_ends_leaves_no_container(tmp_path: Path) -> None:
    async def used() -> None:
        await (await one(remote(tmp_path, running.url))).execute_command("true")

    with provisioner(tmp_path / "service", settings=SETTINGS) as running:
        asyncio.run(used())
        assert len(kept(running)) == 1
    assert kept(running) == []
