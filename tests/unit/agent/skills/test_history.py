"""Installed skills are replaced, removed and restored without losing a version."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import SkillRefused, SkillUnknown
from agent.skills.discovery import SkillDiscovery
from agent.skills.history import KEPT, RECORD, SkillHistory
from agent.skills.install import install_skill, remove_skill, restore_skill, update_skill
from agent.skills.skill import Skill
from agent.skills.sources import FolderSource
from tests.unit.agent.skills.skill_archives import archive, everything, roots, skill, text


def put(folder: Path, version: int, *, replace: bool = True) -> None:
    path = archive(folder / f"v{version}.zip", {"SKILL.md": text("good", f"version: {version}\n")})
    install_skill(path, roots(folder), replace=replace)


def found(folder: Path) -> Skill:
    [one] = SkillDiscovery(roots(folder)).find_skills().skills
    return one


def states(folder: Path) -> list[tuple[int, str | None, bool]]:
    return [(one.number, one.version, one.current) for one in SkillHistory(roots(folder), "good").versions]


def test_a_new_version_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    put(tmp_path, 1)
    with pytest.raises(SkillRefused, match="already installed"):
        put(tmp_path, 2, replace=False)
    put(tmp_path, 2)
    assert found(tmp_path).version == "2"
    assert states(tmp_path) == [(1, "1", False), (2, "2", True)]
    [kept] = SkillHistory(roots(tmp_path), "good").list_kept()
    assert (kept.kind, kept.location) == ("archive", "v1.zip")


def test_it_goes_back_and_forth(tmp_path: Path) -> None:
    for version in (1, 2, 3):
        put(tmp_path, version)
    assert restore_skill("good", roots(tmp_path)).version == "2"
    assert restore_skill("good", roots(tmp_path)).version == "1"
    with pytest.raises(SkillRefused, match='The kept versions of the skill "good" are 3, 2'):
        restore_skill("good", roots(tmp_path))
    assert restore_skill("good", roots(tmp_path), 3).version == "3"
    assert found(tmp_path).version == "3"
    assert states(tmp_path) == [(1, "1", False), (2, "2", False), (3, "3", True)]
    put(tmp_path, 4)
    assert states(tmp_path)[-1] == (4, "4", True)


def test_a_removed_one_can_be_restored(tmp_path: Path) -> None:
    put(tmp_path, 1)
    remove_skill("good", roots(tmp_path))
    assert not SkillDiscovery(roots(tmp_path)).find_skills().skills
    assert states(tmp_path) == [(1, "1", False)]
    assert restore_skill("good", roots(tmp_path)).version == "1"
    assert found(tmp_path).version == "1"


def test_one_that_was_put_there_by_hand_is_kept_too(tmp_path: Path) -> None:
    skill(tmp_path / "custom" / "group", "good", "version: by hand\n")
    put(tmp_path, 2)
    assert found(tmp_path).folder == tmp_path / "custom" / "good"
    assert restore_skill("good", roots(tmp_path)).kind == "unknown"
    assert found(tmp_path).version == "by hand"


def test_only_the_last_versions_are_kept(tmp_path: Path) -> None:
    for version in range(KEPT + 3):
        put(tmp_path, version)
    history = SkillHistory(roots(tmp_path), "good")
    assert [one.version for one in history.list_kept()] == [str(number) for number in range(KEPT + 1, 1, -1)]
    assert len(history.versions) == KEPT + 3
    with pytest.raises(SkillRefused, match="The kept versions"):
        restore_skill("good", roots(tmp_path), 1)


def test_what_cannot_be_removed_updated_or_restored(tmp_path: Path) -> None:
    skill(tmp_path / "public", "bundled")
    put(tmp_path, 1)
    with pytest.raises(SkillRefused, match="is bundled; disable it instead"):
        remove_skill("bundled", roots(tmp_path))
    with pytest.raises(SkillUnknown):
        remove_skill("gone", roots(tmp_path))
    with pytest.raises(SkillRefused, match="is bundled"):
        update_skill("bundled", roots(tmp_path))
    with pytest.raises(SkillRefused, match="does not come from a repository"):
        update_skill("good", roots(tmp_path))
    with pytest.raises(SkillRefused, match="No other version"):
        restore_skill("good", roots(tmp_path))


def test_a_bundled_one_is_back_when_its_replacement_is_removed(tmp_path: Path) -> None:
    skill(tmp_path / "public", "good")
    put(tmp_path, 1, replace=False)
    assert found(tmp_path).category == "custom"
    remove_skill("good", roots(tmp_path))
    assert found(tmp_path).category == "public"


def test_a_failed_replacement_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 1)
    rename = Path.rename

    def fail_once(self: Path, target: Path) -> Path:
        if target == tmp_path / "custom" / "good" and ".installing-" in str(self):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(SkillRefused, match="No space left on device"):
        put(tmp_path, 2)
    assert found(tmp_path).version == "1"
    assert not [name for name in everything(tmp_path / "custom") if name.startswith(".installing")]


def test_a_damaged_record_does_not_lose_files(tmp_path: Path) -> None:
    put(tmp_path, 1)
    put(tmp_path, 2)
    (tmp_path / "history" / "good" / RECORD).write_text("{")
    put(tmp_path, 3)
    assert (tmp_path / "history" / "good" / "1" / "SKILL.md").exists()
    assert found(tmp_path).version == "3"
    assert [one.number for one in SkillHistory(roots(tmp_path), "good").list_kept()] == [2]


@pytest.mark.guard(
    "a link in a copied folder is not followed",
    "agent/skills/sources.py",
    "found = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode",
    "found = os.stat(name, dir_fd=descriptor).st_mode",
    against="installation",
)
def test_a_folder_is_copied_without_version_control(tmp_path: Path) -> None:
    folder = skill(tmp_path / "made", "mine")
    for name in (".git/config", "__pycache__/a.pyc", "node_modules/x/index.js", "data/a.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    install_skill(folder, roots(tmp_path))
    files = {name for name in everything(tmp_path / "custom" / "mine") if "." in name}
    assert files == {"SKILL.md", "data/a.csv"}
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(SkillRefused, match="The skill contains a link or a device: link"):
        install_skill(FolderSource(folder), roots(tmp_path), replace=True)
