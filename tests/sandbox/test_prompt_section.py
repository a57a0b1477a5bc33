"""What the model is told about its sandbox is what the configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.core.interfaces import DescribesSandboxes, SandboxFacts
from agent.middleware.sandbox import SandboxMiddleware
from agent.sandbox.bubblewrap import PYTHON_FOLDER
from agent.sandbox.container import ContainerSandboxProvider
from agent.sandbox.local import LocalSandboxProvider
from agent.sandbox.options import Surroundings
from agent.sandbox.prompt_section import render_sandbox_section
from agent.sandbox.remote import RemoteSandboxProvider
from agent.tools.sandbox import GROUPS
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore

ALL = ["bash", "read_file", "write_file", "present_files"]


def around(home: Path) -> Surroundings:
    return Surroundings(UploadStore(ThreadFolders(home)).folders, home)


def local(home: Path, **keys: Any) -> SandboxFacts:
    provider = LocalSandboxProvider.from_config(around(home), **keys)
    assert isinstance(provider, DescribesSandboxes)
    return provider.facts


@pytest.mark.parametrize(
    ("keys", "told", "untold"),
    [
        ({}, "Commands have no network, so pip and other installers don't work.", "Commands reach"),
        ({"network": "public"}, "Commands reach hosts on the public internet, only by", "no network"),
        ({"network": ["a.org", "*.b.org"]}, "Commands reach a.org, *.b.org, only by HTTP and", "no network"),
        ({"network": ["a.org", "10.0.0.0/8"]}, "Commands reach a.org, only by", "10.0"),
        ({"network": [f"h{n}.org" for n in range(12)]}, "h9.org and 2 more, only", "h10.org"),
        ({"isolation": "none"}, "A command may use 120 seconds", "network"),
        ({"seconds": 30, "memory_mb": 512}, "may use 30 seconds and 512 MB of memory.", "120"),
    ],
)
def test_network_and_limits_are_those_of_the_configuration(
    tmp_path: Path, keys: dict[str, Any], told: str, untold: str
) -> None:
    section = render_sandbox_section(ALL, local(tmp_path, **keys))
    assert told in section
    assert untold not in section


def test_python_is_the_one_that_was_set_up(tmp_path: Path) -> None:
    assert "Python 3" not in render_sandbox_section(ALL, local(tmp_path))
    packages = tmp_path / PYTHON_FOLDER / "lib" / "python3.12" / "site-packages"
    for name in ("pandas", "docx", "unheard_of"):
        (packages / name).mkdir(parents=True)
    section = render_sandbox_section(ALL, local(tmp_path))
    assert "Python 3.12 is there with pandas, python-docx.\n" in section
    assert "Python 3" not in render_sandbox_section(ALL, local(tmp_path, isolation="none"))


def test_an_own_image_can_have_any_python(tmp_path: Path) -> None:
    place, engine = around(tmp_path), {"command": "podman"}
    known = ContainerSandboxProvider.from_config(place, **engine).facts
    assert "Python 3.11 is there with pandas, numpy, matplotlib" in render_sandbox_section(ALL, known)
    own = ContainerSandboxProvider.from_config(place, **engine, image="example.org/own", network="public")
    section = render_sandbox_section(ALL, own.facts)
    assert "Python 3" not in section
    assert "Commands reach hosts on the public internet" in section


def test_of_a_service_only_the_time_limit_is_known(tmp_path: Path) -> None:
    provider = RemoteSandboxProvider.from_config(around(tmp_path), url="https://example.org", seconds=40)
    section = render_sandbox_section(ALL, provider.facts)
    assert "A command may use 40 seconds.\n" in f"{section}\n"
    assert "network" not in section


def test_without_commands_only_the_folders_are_told() -> None:
    section = render_sandbox_section(["read_file"], SandboxFacts(network="", seconds=1, python="3.11"))
    assert section.endswith("/mnt/user-data/outputs: files for people.")


def test_a_subagent_names_files_and_does_not_present_them(tmp_path: Path) -> None:
    provider = LocalSandboxProvider.from_config(around(tmp_path))
    lead = SandboxMiddleware(provider=provider, tools=[one for group in GROUPS.values() for one in group])
    subagent = lead.for_subagents()
    assert "Show them with present_files." in lead._prompt
    assert "present_files" not in subagent._prompt
    assert "Name their paths in your result" in subagent._prompt
    assert "Commands have no network" in subagent._prompt
