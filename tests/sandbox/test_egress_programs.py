"""pip, curl, git and npm through the egress proxy, as people use them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pip
import pytest
import structlog

from agent.core.interfaces import Sandbox
from agent.sandbox.egress.rules import EgressRules
from agent.sandbox.warm_container import GATES
from roebot_testing.agent.conformance.attacks_egress import OPEN
from tests.sandbox.engines import container
from tests.sandbox.package_site import WHEEL, PackageSite, package_site
from tests.sandbox.sandbox_fixtures import local, one

PIP = "/mnt/tools/pip"
TOOLS = {PIP: Path(pip.__file__).parent}
DOWNLOAD = f"python3 {PIP} --isolated download --no-deps --cert ca.pem --index-url URL/simple tiny && ls"
PROGRAMS = {
    "pip": (DOWNLOAD, WHEEL),
    "curl": ("curl -sS --cacert ca.pem URL/text", "over https"),
    "git": ("git -c http.sslCAInfo=ca.pem clone URL/repository.git && cat repository/README", "cloned"),
    "npm": (
        "npm install tiny --registry URL/ --cafile ca.pem && cat node_modules/tiny/index.js",
        "exports = 1",
    ),
}
INSTALLED = [name for name in PROGRAMS if name == "pip" or shutil.which(name)]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PackageSite]:
    with package_site(tmp_path_factory.mktemp("packages")) as site:
        yield site


@pytest.fixture
def rules(packages: PackageSite) -> EgressRules:
    """The site is on the public internet, and nothing else."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return [OPEN] if host == "open.test" else ["127.0.0.1"]

    return EgressRules(
        ports=frozenset({packages.port}), resolve=resolve, permitted=lambda address: address == OPEN
    )


async def run(sandbox: Sandbox, packages: PackageSite, command: str) -> str:
    await sandbox.write_file("ca.pem", packages.certificate.encode())
    return (await sandbox.execute_command(command.replace("URL", packages.url))).output


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", INSTALLED)
async def test_a_program_in_bubblewrap(
    tmp_path: Path, packages: PackageSite, rules: EgressRules, name: str
) -> None:
    command, expected = PROGRAMS[name]
    sandbox = await one(local(tmp_path, egress=rules, read_only=TOOLS))
    with structlog.testing.capture_logs() as logs:
        assert expected in await run(sandbox, packages, command)
    [line] = [line for line in logs if line["event"] == "sandbox_egress"]
    assert (line["sandbox"], line["refused"]) == ("thread-1", [])
    assert line["connections"] > 0 < line["sent"] < line["received"]


@pytest.mark.bubblewrap
async def test_a_download_from_another_port_is_refused(tmp_path: Path, packages: PackageSite) -> None:
    """By the rules of `network: public`."""
    sandbox = await one(local(tmp_path, egress=EgressRules(), read_only=TOOLS))
    with structlog.testing.capture_logs() as logs:
        output = await run(sandbox, packages, DOWNLOAD.replace("download", "download --retries 0"))
    assert WHEEL not in output
    [line] = [line for line in logs if line["event"] == "sandbox_egress"]
    assert line["refused"] == [f"port {packages.port} is not allowed"]


@pytest.fixture
async def in_container(tmp_path: Path, rules: EgressRules) -> AsyncIterator[Any]:
    made = container(tmp_path, egress=rules, read_only=TOOLS)
    yield made
    await made.close()


@pytest.mark.container
@pytest.mark.timeout(300)
async def test_pip_in_a_container(tmp_path: Path, in_container: Any, packages: PackageSite) -> None:
    """In a warm container, the gate is opened anew for each command. Nothing of it is left at the end."""
    sandbox = await one(in_container)
    for _ in range(2):
        assert WHEEL in await run(sandbox, packages, f"rm -f *.whl; {DOWNLOAD}")
    gates = tmp_path / GATES
    assert len(list(gates.iterdir())) == 1
    await in_container.close()
    assert list(gates.iterdir()) == []
