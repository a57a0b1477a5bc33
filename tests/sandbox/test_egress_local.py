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


@pytest.mark.guard(
    "egress: all addresses are checked",
    "agent/shared/public_address.py",
    "if not all(permitted(address) for address in found):",
    "if False:",
    against="network",
    test="test_names_of_addresses_inside",
)
@pytest.mark.guard(
    "egress: one forbidden address refuses the host",
    "agent/shared/public_address.py",
    "if not all(permitted(address)",
    "if not any(permitted(address)",
    against="network",
    test="test_names_of_addresses_inside",
)
@pytest.mark.guard(
    "egress: the checked address is connected to",
    "agent/sandbox/egress/proxy.py",
    "asyncio.open_connection(address, target.port)",
    "asyncio.open_connection((await self._rules.find_addresses(target))[0], target.port)",
    against="network",
    test="test_a_name_that_changes_its_address",
)
@pytest.mark.guard(
    "egress: targets are names",
    "agent/sandbox/egress/rules.py",
    "not _NAME.fullmatch(host)",
    "not host",
    against="network",
    test="test_every_spelling_of_an_address",
)
@pytest.mark.guard(
    "egress: a name does not end in a number",
    "agent/sandbox/egress/rules.py",
    "(?:{_LABEL}\\.)*[a-z](?:[a-z0-9-]",
    "(?:{_LABEL}\\.)*[a-z0-9](?:[a-z0-9-]",
    against="network",
    test="test_every_spelling_of_an_address",
)
@pytest.mark.guard(
    "egress: a target is a host and a port",
    "agent/sandbox/egress/rules.py",
    "found = _AUTHORITY.fullmatch(authority)",
    'found = re.search(r"([^:/?#@\\[\\]\\s]+)(?::([0-9]{1,5}))?$", authority)',
    against="network",
    test="test_every_spelling_of_an_address",
)
@pytest.mark.guard(
    "egress: only the ports of the web",
    "agent/sandbox/egress/rules.py",
    "if target.port not in ports:",
    "if False:",
    against="network",
    test="test_ports",
)
@pytest.mark.guard(
    "egress: the namespace stays separate",
    "agent/sandbox/bubblewrap.py",
    '    own += ["--unshare-net"]\n',
    '    own += [] if job.gate_fd else ["--unshare-net"]\n',
    against="network",
    test="test_ways_around_the_proxy",
)
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
