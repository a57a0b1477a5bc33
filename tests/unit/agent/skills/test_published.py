"""Skills as they are published load, or say why not: likenesses, put in a folder and installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from agent.config.errors import ConfigErrors
from agent.errors import SkillRefused
from agent.skills.discovery import SkillDiscovery
from agent.skills.front_matter import normalize_name, parse_skill
from agent.skills.install import check_skill, install_skill, source_of
from agent.skills.tool_names import read_tools
from tests.unit.agent.skills.published_skills import NODE, PUBLISHED, SHELL, PublishedSkill
from tests.unit.agent.skills.skill_archives import archive, roots

GOOD = [one for one in PUBLISHED if one.name is not None]
BAD = [one for one in PUBLISHED if one.name is None]


def test_there_are_forty_of_them() -> None:
    assert len(PUBLISHED) >= 40
    assert len({one.name for one in GOOD}) == len(GOOD)


@pytest.mark.parametrize("one", GOOD, ids=lambda one: one.name)
def test_one_in_a_folder_loads(tmp_path: Path, one: PublishedSkill) -> None:
    folder = tmp_path / "custom" / one.place
    for name, content in {**one.files, one.file: one.content()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = SkillDiscovery(roots(tmp_path)).find_skills()
    assert not found.broken
    [skill] = found.skills
    assert (skill.name, skill.allowed_tools) == (one.name, one.tools)
    assert skill.path == f"/mnt/skills/custom/{one.place}/{one.file}"
    assert 0 < len(skill.description) <= 1_024
    for part in one.notes:
        assert any(part in note for note in skill.notes), (part, skill.notes)
    if not one.notes:
        expected = (
            "Tools of other agents",
            "Keys without a meaning here",
            "The front matter is not valid YAML",
        )
        assert all(note.startswith(expected) for note in skill.notes), skill.notes


@pytest.mark.parametrize("one", GOOD, ids=lambda one: one.name)
def test_one_in_an_archive_is_installed(tmp_path: Path, one: PublishedSkill) -> None:
    files = {**one.files, one.file: one.content()}
    path = archive(tmp_path / "x.zip", {f"{one.place}/{name}": content for name, content in files.items()})
    done = install_skill(path, roots(tmp_path))
    assert done.name == one.name
    folder = tmp_path / "custom" / done.name
    assert {str(found.relative_to(folder)) for found in folder.rglob("*") if found.is_file()} == set(files)
    for name, content in one.files.items():
        assert bool((folder / name).stat().st_mode & 0o001) == str(content).startswith("#!"), name
        assert (name in done.executables) >= (content in {SHELL, NODE})
    [skill] = SkillDiscovery(roots(tmp_path)).find_skills().skills
    assert skill.notes == done.notes
    again = SkillDiscovery(roots(tmp_path)).find_skills()
    assert [found.name for found in again.skills] == [one.name]


@pytest.mark.parametrize("one", BAD, ids=lambda one: one.notes[0])
def test_one_that_cannot_be_used_says_why(tmp_path: Path, one: PublishedSkill) -> None:
    (tmp_path / "custom" / one.place).mkdir(parents=True)
    (tmp_path / "custom" / one.place / one.file).write_bytes(one.content())
    [broken] = SkillDiscovery(roots(tmp_path)).find_skills().broken
    with pytest.raises(SkillRefused) as refused:
        install_skill(
            archive(tmp_path / "x.zip", {f"x/{one.file}": one.content()}), roots(tmp_path / "other")
        )
    for told in (broken.error, str(refused.value)):
        assert one.notes[0] in told


def test_a_skill_without_a_name_has_that_of_its_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "My Notes.zip", {"SKILL.md": "---\ndescription: Notes.\n---\nNote.\n"})
    assert install_skill(path, roots(tmp_path)).name == "my-notes"


def test_one_of_a_collection_is_installed_by_its_folder(tmp_path: Path) -> None:
    """The layout of repositories with plugins, as downloaded from their pages."""
    files: dict[str, str | bytes] = {
        "x-main/README.md": "# Skills\n",
        "x-main/.claude-plugin/marketplace.json": '{"plugins": [{"name": "a", "source": "./plugins/a"}]}\n',
    }
    for number, one in enumerate(GOOD[:7]):
        folder = f"x-main/plugins/p{number % 2}/skills/{one.place}"
        files |= {
            f"{folder}/{name}": content for name, content in {**one.files, one.file: one.content()}.items()
        }
    path = archive(tmp_path / "x.zip", files)
    expected = (
        r"skills in 8 folders: plugins/p0/skills/api-help, plugins/p0/skills/forms, .* and 3 more. Give the"
    )
    with pytest.raises(SkillRefused, match=expected):
        install_skill(path, roots(tmp_path))
    done = install_skill(source_of(path, "plugins/p0/skills/letters"), roots(tmp_path))
    assert (done.name, done.origin.path) == ("letters", "plugins/p0/skills/letters")
    assert (tmp_path / "custom" / "letters" / "scripts" / "office" / "pack.py").is_file()
    assert not (tmp_path / "custom" / "letters" / "README.md").exists()
    for folder in ("plugins/p0/skills", "plugins", "../x", "plugins/p0/skills/letters/SKILL.md"):
        with pytest.raises(SkillRefused, match=r"no folder|has no SKILL.md at its top level"):
            install_skill(source_of(path, folder), roots(tmp_path / "other"))
    with zipfile.ZipFile(path) as zipped:
        zipped.extractall(tmp_path / "folder")
    found = check_skill(
        source_of(tmp_path / "folder" / "x-main", "plugins/p1/skills/slide-decks"), roots(tmp_path)
    )
    assert (found.name, found.replaces) == ("slide-decks", "")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("PDF Processing", "pdf-processing"),
        ("-a--b-", "a-b"),
        ("C++/Rust", "c-rust"),
        ("ＦＵＬＬ", "full"),
        ("a" * 80, "a" * 64),
        ("../../etc", "etc"),
        ("会议 纪要", "会议-纪要"),
        ("???", ""),
    ],
)
def test_names_are_made_valid(written: str, name: str) -> None:
    assert normalize_name(written) == name
    assert normalize_name(name) == name


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("Read, Write Edit", ("read_file", "write_file", "str_replace")),
        ("Bash(git add *), Bash(git add *)", ("bash(git add *)",)),
        (["Bash(python a.py (x))", "Read Grep"], ("bash(python a.py (x))", "read_file", "bash")),
        ('["Read", "LS"]', ("read_file", "ls")),
        ("mcp__a__b_c own_tool", ("a_b_c", "own_tool")),
        ("", ()),
        ([], ()),
    ],
)
def test_tools_get_their_names_here(value: object, tools: tuple[str, ...]) -> None:
    found = read_tools(value)
    assert found is not None
    assert (found.tools, found.unreadable) == (tools, ())


def test_what_is_no_tool_is_named() -> None:
    found = read_tools(["Read|Write", "Bash(git", 1, {"a": 1}, "x" * 300, "Skill", "Edit"])
    assert found is not None
    assert found.tools == ("str_replace",)
    assert found.unavailable == ("Skill",)
    assert found.unreadable == ("Read|Write", "Bash(git", "1", "{'a': 1}", "x" * 40)
    assert read_tools(True) is None


def test_a_repaired_value_keeps_the_lines_of_the_others() -> None:
    text = "---\nname: x\ndescription: a: b\n  c: d\nallowed-tools: true\n---\nDo it.\n"
    found, _ = parse_skill(text, "SKILL.md")
    assert found.description == "a: b c: d"
    assert found.ignored == {"allowed-tools": True}
    with pytest.raises(ConfigErrors, match=r"SKILL\.md:4: name: expected text"):
        parse_skill(text.replace("name: x\n", "").replace("allowed-tools: true", "name: [x]"), "SKILL.md")


def test_keys_without_a_meaning_are_kept() -> None:
    text = "---\nname: x\ndescription: y\nhooks: {a: [1]}\nallowedTools: Read\n---\n"
    found, _ = parse_skill(text, "SKILL.md")
    assert found.ignored == {"hooks": {"a": [1]}}
    assert found.allowed_tools == ("read_file",)
    assert found.notes[-1] == "It has no instructions after its front matter."


def test_required_secrets_are_names() -> None:
    secrets = "[A_KEY, {name: B, optional: true}, {name: C}, 'D E']"
    text = f"---\nname: x\ndescription: y\nrequired-secrets: {secrets}\n---\nz"
    found, _ = parse_skill(text, "SKILL.md")
    assert found.secrets == ("A_KEY", "C")
    assert found.notes == ("Not the name of an environment variable: D E.",)
