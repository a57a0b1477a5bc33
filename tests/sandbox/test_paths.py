"""The agent's paths and the host's, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.interfaces import SandboxError
from agent.core.state import ThreadData
from agent.sandbox.paths import Mount, VirtualPaths, hidden_of, mounts_of

HOME = Path("/srv/bot/home")
USER = HOME / "threads" / "t1" / "user-data"
FOLDERS = ThreadData(
    workspace_path=str(USER / "workspace"),
    uploads_path=str(USER / "uploads"),
    outputs_path=str(USER / "outputs"),
)
PATHS = VirtualPaths(mounts_of(FOLDERS, {"/mnt/skills": Path("/opt/skills")}), hidden_of(FOLDERS))
W = "/mnt/user-data/workspace"


@pytest.mark.parametrize(
    ("path", "virtual", "below"),
    [
        ("a.txt", W, ("a.txt",)),
        ("./a//b", W, ("a", "b")),
        (".", W, ()),
        ("", W, ()),
        (W, W, ()),
        (f"{W}/a", W, ("a",)),
        (f"/{W}/a", W, ("a",)),
        ("/mnt/user-data/outputs/x/y", "/mnt/user-data/outputs", ("x", "y")),
        ("/mnt/skills/public/SKILL.md", "/mnt/skills", ("public", "SKILL.md")),
        ("/mnt/acp-workspace/r.md", "/mnt/acp-workspace", ("r.md",)),
    ],
)
def test_where_a_path_leads(path: str, virtual: str, below: tuple[str, ...]) -> None:
    place = PATHS.locate(path)
    assert (place.mount.virtual, place.below) == (virtual, below)


@pytest.mark.guard(
    "no parent directory in paths",
    "agent/sandbox/paths.py",
    'if ".." in parts:',
    "if False:",
    against="paths",
)
@pytest.mark.parametrize("path", ["../x", f"{W}/../x", "a/../x", "..", f"{W}/a/.."])
def test_no_step_upwards(path: str) -> None:
    with pytest.raises(SandboxError, match="outside"):
        PATHS.locate(path)


@pytest.mark.guard(
    "no NUL or backslash in paths",
    "agent/sandbox/paths.py",
    'if "\\x00" in path or "\\\\" in path:',
    "if False:",
    against="paths",
)
@pytest.mark.parametrize("path", ["a\x00b", "a\\b", "..\\x", f"{W}\\..\\x"])
def test_no_strange_characters(path: str) -> None:
    with pytest.raises(SandboxError, match="not allowed"):
        PATHS.locate(path)


@pytest.mark.guard(
    "only whole path segments match (resolving)",
    "agent/sandbox/paths.py",
    "self._by_root.get(tuple(parts[:length]))",
    'next((m for m in self.mounts if "/".join(parts)[1:].startswith(m.virtual)), None)',
    against="paths",
)
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mnt",
        "/mnt/user-data",
        f"{W}x/a",
        f"{W}-evil",
        "/mnt/skillsx/a",
        "/etc/passwd",
        str(USER),
        "//etc",
    ],
)
def test_whole_segments_count(path: str) -> None:
    with pytest.raises(SandboxError, match="outside the sandbox"):
        PATHS.locate(path)


@pytest.mark.guard(
    "only whole path segments match (masking)",
    "agent/sandbox/paths.py",
    '_ENDS = r"(?![\\w+@~%=-]|\\.[\\w-])"',
    '_ENDS = ""',
    against="paths",
)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{USER}/workspace/a.txt", f"{W}/a.txt"),
        (f"in '{USER}/outputs': no", "in '/mnt/user-data/outputs': no"),
        (f"{USER}/workspace.", f"{W}."),
        (f"{USER}/workspace.bak/x", "/mnt/user-data/workspace.bak/x"),
        (f"{USER}/workspace2/x", "/mnt/user-data/workspace2/x"),
        (f"{USER}/other", "/mnt/user-data/other"),
        (f"{HOME}/threads/t2/user-data/x", "[…]/t2/user-data/x"),
        (f"{HOME}/bot.db", "[…]/bot.db"),
        (f"{HOME}2/x", f"{HOME}2/x"),
        ("/opt/skills/a:/opt/skills2", "/mnt/skills/a:/opt/skills2"),
    ],
)
def test_paths_of_the_host_are_masked(text: str, shown: str) -> None:
    assert PATHS.mask(text) == shown


@pytest.mark.parametrize(
    ("command", "translated"),
    [
        (f"cat {W}/a > /mnt/user-data/outputs/b", f"cat {USER}/workspace/a > {USER}/outputs/b"),
        (f"ls {W}", f"ls {USER}/workspace"),
        (f"ls {W}2", f"ls {W}2"),
        (f"ls /x{W}", f"ls /x{W}"),
        (f'"{W}/a b"', f'"{USER}/workspace/a b"'),
    ],
)
def test_paths_of_the_agent_are_translated(command: str, translated: str) -> None:
    assert PATHS.to_host(command) == translated
    assert PATHS.mask(translated) == command


@given(st.text(st.sampled_from("ab./-_ x\\\x00é"), max_size=30))
def test_whatever_is_named_is_below_a_mount_or_refused(path: str) -> None:
    try:
        place = PATHS.locate(path)
    except SandboxError:
        return
    assert ".." not in place.below
    assert all(part and "/" not in part and "\x00" not in part for part in place.below)


def test_a_home_behind_a_link_is_masked_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    paths = VirtualPaths([Mount(W, tmp_path / "link" / "w")])
    assert paths.mask(f"{tmp_path}/link/w/a {tmp_path}/real/w/a") == f"{W}/a {W}/a"
