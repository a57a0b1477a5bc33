"""The agent's home is made for its owner alone, whichever part of it is written first."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.client import AgentClient
from agent.core.paths import make_private_folder

ECHO: dict[str, Any] = {"models": [{"name": "echo", "use": "roebot_testing.agent:ScriptedChatModel"}]}
pytestmark = pytest.mark.may_block


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def chats(client: AgentClient, _: Path) -> None:
    assert client.chat("hello") == "hello"


def makes_an_agent(client: AgentClient, _: Path) -> None:
    client.create_agent("helper")


def uploads(client: AgentClient, folder: Path) -> None:
    (folder / "a.txt").write_text("a")
    client.upload_files("t", [folder / "a.txt"])


def installs_a_skill(client: AgentClient, folder: Path) -> None:
    archive = folder / "standup.skill"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("standup/SKILL.md", "---\nname: standup\ndescription: Standups.\n---\nAsk.\n")
    client.install_skill(archive)


WAYS = [chats, makes_an_agent, uploads, installs_a_skill]


@pytest.mark.parametrize("use", WAYS)
def test_a_home_that_a_program_makes_is_private(
    tmp_path: Path, use: Callable[[AgentClient, Path], None]
) -> None:
    home = tmp_path / "team" / "home"
    with AgentClient(ECHO, read_file=False, home=home, environ={}) as client:
        use(client, tmp_path)
    assert mode(home) == 0o700
    assert [path.name for path in home.iterdir()]


@pytest.mark.parametrize("use", WAYS)
def test_the_mode_of_a_home_that_is_there_stays(
    tmp_path: Path, use: Callable[[AgentClient, Path], None]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o750)
    with AgentClient(ECHO, read_file=False, home=home, environ={}) as client:
        use(client, tmp_path)
    assert mode(home) == 0o750


def test_a_folder_with_those_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_private_folder(Path("a/b/c"))
    make_private_folder(Path("a/b/c"))
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")
