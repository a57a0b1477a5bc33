"""Skills come from git repositories without anything of a repository being executed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import SkillRefused, SkillUnknown
from agent.skills import install as installation
from agent.skills.git_source import GitSource
from agent.skills.history import SkillHistory
from agent.skills.install import check_skill, install_skill, restore_skill, update_skill
from tests.unit.agent.skills.git_server import commit, git, serving
from tests.unit.agent.skills.skill_archives import everything, roots, text

HTTP = ("http",)
FILES = {
    "skills/good/SKILL.md": text("good"),
    "skills/good/scripts/run": "#!/bin/sh\necho one\n",
    "skills/other/SKILL.md": text("other"),
    "README.md": "# Skills\n",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A repository with two skills and its address."""
    root = tmp_path_factory.mktemp("repositories")
    commit(root / "skills", FILES)
    with serving(root) as server:
        yield root / "skills", f"{server}/skills"


def source(address: tuple[Path, str], **given: str) -> GitSource:
    return GitSource(address[1], protocols=HTTP, **given)


def test_a_skill_is_installed_from_its_folder(tmp_path: Path, address: tuple[Path, str]) -> None:
    done = install_skill(source(address, path="skills/good"), roots(tmp_path))
    head = git(address[0], "rev-parse", "main")
    assert (done.name, done.origin.commit, done.origin.path) == ("good", head, "skills/good")
    assert everything(tmp_path / "custom") == {"good", "good/SKILL.md", "good/scripts", "good/scripts/run"}
    assert stat.S_IMODE((tmp_path / "custom" / "good" / "scripts" / "run").stat().st_mode) == 0o755
    [version] = SkillHistory(roots(tmp_path), "good").versions
    assert (version.kind, version.location, version.commit, version.current) == (
        "git",
        address[1],
        head,
        True,
    )


def test_an_update_takes_the_newest_commit_and_can_be_taken_back(
    tmp_path: Path, address: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class LocalSource(GitSource):
        def __init__(self, address: str, **given: str) -> None:
            super().__init__(address, protocols=HTTP, **given)

    monkeypatch.setattr(installation, "GitSource", LocalSource)
    first = install_skill(source(address, path="skills/good"), roots(tmp_path)).origin.commit
    assert not update_skill("good", roots(tmp_path)).is_new
    script = tmp_path / "custom" / "good" / "scripts" / "run"
    second = commit(address[0], {"skills/good/scripts/run": "#!/bin/sh\necho two\n"})
    assert update_skill("good", roots(tmp_path)).origin.commit == second
    assert "two" in script.read_text()
    assert restore_skill("good", roots(tmp_path)).commit == first
    assert "one" in script.read_text()
    assert restore_skill("good", roots(tmp_path), 2).commit == second
    assert "two" in script.read_text()
    third = commit(address[0], {"skills/good/scripts/run": "#!/bin/sh\necho three\n"})
    assert update_skill("good", roots(tmp_path), commit=first).origin.commit == first
    assert "one" in script.read_text()
    assert update_skill("good", roots(tmp_path)).origin.commit == third
    with pytest.raises(SkillUnknown):
        update_skill("other", roots(tmp_path))


@pytest.mark.guard(
    "the commit that was shown is installed",
    "agent/skills/git_source.py",
    'commit = git.fetch(self.address, self.commit or self.reference or "HEAD")',
    'commit = git.fetch(self.address, self.reference or "HEAD")',
    against="installation",
)
def test_a_commit_can_be_pinned(tmp_path: Path, address: tuple[Path, str]) -> None:
    first = git(address[0], "rev-list", "--max-parents=0", "main")
    commit(address[0], {"skills/other/new.md": "new\n"})
    done = install_skill(source(address, path="skills/other", commit=first), roots(tmp_path))
    assert done.origin.commit == first
    assert not (tmp_path / "custom" / "other" / "new.md").exists()
    with pytest.raises(SkillRefused, match="can't be read"):
        check_skill(source(address, path="skills/other", commit="0" * 40), roots(tmp_path))


ABSENT: list[tuple[dict[str, str], str]] = [
    ({}, "The repository has 2 skills; give the path of one: skills/good, skills/other."),
    ({"path": "skills"}, "The folder skills has 2 skills"),
    ({"path": "gone"}, "The folder gone has no SKILL.md."),
    ({"reference": "gone"}, "The repository can't be read: couldn't find remote ref gone."),
    ({"reference": "--upload-pack=x"}, "Not the name of a branch or tag"),
    ({"commit": "main"}, "A commit is given by its 40 hexadecimal digits."),
]


def test_what_is_not_there_is_named(tmp_path: Path, address: tuple[Path, str]) -> None:
    for given, message in ABSENT:
        with pytest.raises(SkillRefused) as refused:
            install_skill(source(address, **given), roots(tmp_path))
        assert message in str(refused.value)
    assert everything(tmp_path) == {"custom"}


def test_a_long_reason_of_git_is_shown_in_full(tmp_path: Path) -> None:
    # No server uses the discard port.
    address = f"https://127.0.0.1:9/{'a' * 100}"
    with pytest.raises(SkillRefused, match=rf"'{address}/': .*connect.*[^.]\.$"):
        check_skill(GitSource(address), roots(tmp_path))


@pytest.mark.guard(
    "only https is fetched",
    "agent/skills/git_source.py",
    'if match is None or match["protocol"] not in PROTOCOLS:',
    "if match is None:",
    against="installation",
)
@pytest.mark.parametrize(
    "address",
    [
        *(
            "file:///etc",
            "/etc",
            "http://example.org/a/b",
            "ssh://git@example.org/a",
            "git@example.org:a/b.git",
        ),
        *(
            "https://user:secret@example.org/a",
            "ext::sh -c id",
            "https://example.org/a?x",
            "--upload-pack=id",
        ),
    ],
)
def test_only_https_without_credentials_is_fetched(tmp_path: Path, address: str) -> None:
    with pytest.raises(SkillRefused, match="must start with https://"):
        GitSource.parse(address)
    with pytest.raises(SkillRefused, match="must start with https://"):
        install_skill(GitSource(address), roots(tmp_path))


@pytest.mark.guard(
    "no links in a repository",
    "agent/skills/git_source.py",
    'if entry.mode not in {"100644", "100755", "100664"}:',
    "if False:",
    against="installation",
)
def test_links_and_submodules_are_refused(tmp_path: Path) -> None:
    repository = tmp_path / "repositories" / "bad"
    commit(repository, {"SKILL.md": text("bad"), "a/b.md": "b\n"})
    (repository / "link").symlink_to("/etc/passwd")
    commit(repository, {})
    with serving(tmp_path / "repositories") as server:
        bad = GitSource(f"{server}/bad", protocols=HTTP)
        with pytest.raises(SkillRefused, match="a link or a submodule: link"):
            install_skill(bad, roots(tmp_path))
        (repository / "link").unlink()
        head = git(repository, "rev-parse", "HEAD")
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
        git(repository, "rm", "--quiet", "--cached", "link")
        git(repository, "commit", "--quiet", "--message=x")
        with pytest.raises(SkillRefused, match="a link or a submodule: module"):
            install_skill(bad, roots(tmp_path))


def test_nothing_of_a_repository_or_this_machine_is_executed(
    tmp_path: Path, address: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    home = tmp_path / "home"
    hooks = home / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[init]\n templateDir = {home}/template\n[core]\n hooksPath = {hooks}\n fsmonitor = touch {trap}\n"
        f"[credential]\n helper = '!touch {trap}'\n[url \"file:///\"]\n insteadOf = http://\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {trap}")
    commit(address[0], {".gitattributes": "* filter=x\n", "skills/good/.gitattributes": "* filter=x\n"})
    install_skill(source(address, path="skills/good"), roots(tmp_path / "skills"))
    assert not trap.exists()


def test_addresses_of_folders_in_pages_are_understood() -> None:
    for address, repository, reference, path in (
        ("https://github.com/a/b", "https://github.com/a/b", "", ""),
        ("https://github.com/a/b.git", "https://github.com/a/b.git", "", ""),
        ("https://github.com/a/b/tree/main/skills/x/", "https://github.com/a/b", "main", "skills/x"),
        ("https://github.com/a/b/blob/v1/x/SKILL.md", "https://github.com/a/b", "v1", "x"),
        ("https://gitlab.com/a/b/-/tree/main/x", "https://gitlab.com/a/b", "main", "x"),
    ):
        found = GitSource.parse(address)
        assert (found.address, found.reference, found.path) == (repository, reference, path)
