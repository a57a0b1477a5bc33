"""Environment variables of the configuration reach the commands that they are for, and nothing else."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.container import ContainerSandboxProvider
from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.options import SandboxLimits, Surroundings
from agent.sandbox.remote import RemoteSandboxProvider
from agent.sandbox.remote_station import ServiceAddress
from roebot_provisioner.pod_sandbox import PodBackend
from roebot_provisioner.service import CommandRequest
from tests.sandbox.engines import engine
from tests.sandbox.provisioning import TOKEN, bubblewrapped, serving
from tests.sandbox.sandbox_fixtures import folders, one
from tests.sandbox.stations import Backend

SECRET = "s3cret-value-of-the-erp"
VARIABLES = {"ERP_TOKEN": SECRET, "TZ": "Asia/Tokyo"}
COMMAND = 'echo "$ERP_TOKEN in $TZ"; printf %s "$ERP_TOKEN" | wc -c; echo $PATH $HOME | grep -c erp'


SKILL = {"erp": {"ERP_KEY": "only-for-the-erp-skill", "TZ": "UTC"}}
SETTINGS: dict[str, Any] = {"environment": VARIABLES, "skill_environment": SKILL}
FOLDER = "/mnt/skills/custom"
SKILL_COMMANDS = (
    # Command, and whether it uses the skill.
    (f"cat {FOLDER}/erp/SKILL.md", True),
    (f"cd '{FOLDER}/group/erp' 2> /dev/null", True),
    (f"cat {FOLDER}/erp-projects/SKILL.md", False),
    (f"ls {FOLDER}", False),
    ("ls erp /mnt/user-data/erp 2> /dev/null", False),
)


def around(home: Path) -> Surroundings:
    skills = home / "skills"
    for name in ("erp", "erp-projects"):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text("x")
    return Surroundings(folders(home), home, {FOLDER: skills})


async def check_environment(provider: Any) -> None:
    sandbox = await one(provider)
    for command, used in SKILL_COMMANDS:
        done = await sandbox.execute_command(f"{command} > /dev/null; echo ${{#ERP_KEY}} $TZ $ERP_KEY")
        assert done.output == ("22 UTC ***\n" if used else "0 Asia/Tokyo\n"), command
    done = await sandbox.execute_command(COMMAND)
    assert done.output.split("\n")[:2] == ["*** in Asia/Tokyo", str(len(SECRET))]
    shown = await sandbox.execute_command("tr '\\0' ' ' < /proc/1/cmdline; ps -ef 2>/dev/null; true")
    assert "***" not in shown.output, "the value is in no command line"


@pytest.mark.bubblewrap
async def test_commands_under_bubblewrap_get_them(tmp_path: Path) -> None:
    make = partial(LocalSandboxProvider.from_config, around(tmp_path), **SETTINGS)
    await check_environment(await asyncio.to_thread(make))


@pytest.mark.bubblewrap
async def test_commands_of_a_service_get_them(tmp_path: Path) -> None:
    async with serving(bubblewrapped(tmp_path / "service")) as (url, _):
        keys = {"url": url, "token": TOKEN, **SETTINGS}
        await check_environment(RemoteSandboxProvider.from_config(around(tmp_path), **keys))


@pytest.mark.guard(
    "a skill's variables are only for its own commands",
    "agent/sandbox/variables.py",
    "if places and re.search(path, command):",
    "if places:",
    against="secrets",
)
async def test_commands_in_a_pod_get_them(tmp_path: Path) -> None:
    async with serving(PodBackend(SandboxLimits(), root=tmp_path / "pod")) as (url, _):
        keys = {"url": url, "token": TOKEN, **SETTINGS}
        await check_environment(RemoteSandboxProvider.from_config(around(tmp_path), **keys))


async def test_a_service_refuses_variables_that_cannot_be_set() -> None:
    backend = Backend()
    async with serving(backend) as (url, _), ServiceAddress(url, TOKEN).client() as client:
        await client.put("/v1/sandboxes/a", json={})
        call = {"command": "ls", "variables": {"LD_PRELOAD": "/x"}}
        refused = await client.post("/v1/sandboxes/a/commands", json=call)
        assert (refused.status_code, "LD_PRELOAD cannot be set" in refused.json()["detail"]) == (422, True)
        call["variables"] = {"ERP_TOKEN": SECRET}
        assert (await client.post("/v1/sandboxes/a/commands", json=call)).is_success
    assert backend.stations["a"].variables == {"ERP_TOKEN": SECRET}
    assert SECRET not in repr(CommandRequest.model_validate(call))


async def test_commands_without_isolation_get_them(tmp_path: Path) -> None:
    provider = LocalSandboxProvider.from_config(around(tmp_path), isolation="none", **SETTINGS)
    sandbox = await one(provider)
    assert (await sandbox.execute_command("echo $ERP_TOKEN $TZ")).output == "*** Asia/Tokyo\n"
    done = await sandbox.execute_command(f": {FOLDER}/erp; echo $ERP_KEY $TZ")
    assert done.output == "*** UTC\n"


@pytest.mark.container
@pytest.mark.timeout(300)
async def test_commands_in_a_container_get_them(tmp_path: Path) -> None:
    provider = ContainerSandboxProvider.from_config(around(tmp_path), command=" ".join(engine()), **SETTINGS)
    try:
        await check_environment(provider)
    finally:
        await provider.close()


@pytest.mark.guard(
    "variables cannot change which programs run",
    "agent/sandbox/variables.py",
    'if name in RESERVED_VARIABLES or name.startswith(("LD_", "ROEBOT_")):',
    "if False:",
    against="secrets",
)
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"PATH": "/x"}, "PATH cannot be set"),
        ({"LD_PRELOAD": "/x"}, "LD_PRELOAD cannot be set"),
        ({"A B": "x"}, "expected names of letters, digits and _, got 'A B'"),
        ({"A": "x\0y"}, "the value of A contains a null character"),
        ({"A": 1}, "environment.A"),
    ],
)
def test_variables_that_cannot_be_set(tmp_path: Path, variables: object, message: str) -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        LocalSandboxProvider.from_config(around(tmp_path), environment=variables)
    assert message in str(refused.value)
    with pytest.raises(SandboxUnavailable) as refused:
        RemoteSandboxProvider.from_config(
            around(tmp_path / "x"), url="http://x", skill_environment={"y": variables}
        )
    assert message.removeprefix("environment.") in str(refused.value)
