"""Archives are installed whole or not at all, and none of them gets out of its folder."""

from __future__ import annotations

import os
import stat
import struct
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.core.paths import STALE_SECONDS
from agent.errors import SkillRefused
from agent.skills.archive import ArchiveLimits, split_safe_path
from agent.skills.discovery import SkillDiscovery
from agent.skills.install import InstalledSkill, install_skill
from agent.skills.sources import ArchiveSource, FolderSource
from tests.harness.profile import examples
from tests.unit.agent.skills.skill_archives import archive, entry, everything, roots, skill, text

GOOD = {"SKILL.md": text("good"), "scripts/run.py": "print(1)\n", "data/table.csv": "a,b\n"}


def installed(folder: Path, files: object, limits: ArchiveLimits | None = None) -> InstalledSkill:
    path = archive(folder / "x.skill", files)  # type: ignore[arg-type]
    return install_skill(path, roots(folder / "skills"), limits)


def refusal(folder: Path, files: object, limits: ArchiveLimits | None = None) -> SkillRefused:
    with pytest.raises(SkillRefused) as caught:
        installed(folder, files, limits)
    assert everything(folder) - {"x.skill"} <= {"skills", "skills/custom"}, "nothing is left behind"
    return caught.value


def with_skill(*more: tuple[zipfile.ZipInfo | str, str | bytes]) -> list[tuple[object, str | bytes]]:
    return [("SKILL.md", text("good")), *more]


@pytest.mark.parametrize("prefix", ["", "good/", "good-1.0/"])
def test_a_skill_is_installed(tmp_path: Path, prefix: str) -> None:
    done = installed(tmp_path, {prefix + name: content for name, content in GOOD.items()})
    assert (done.name, done.description) == ("good", "Does things. Use it for things.")
    assert (done.executables, done.notes, done.replaces) == (("scripts/run.py",), (), "")
    custom = tmp_path / "skills" / "custom"
    assert {path for path in everything(custom) if (custom / path).is_file()} == {f"good/{n}" for n in GOOD}
    for path in (custom, *custom.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    assert list(SkillDiscovery(roots(tmp_path / "skills")).find_skills().by_name) == ["good"]


def test_what_systems_add_is_left_out(tmp_path: Path) -> None:
    more = {"__MACOSX/good/._SKILL.md": "x", "good/.DS_Store": "x", "good/data/Thumbs.db": "x"}
    installed(tmp_path, {**{f"good/{name}": content for name, content in GOOD.items()}, **more})
    assert not [path for path in everything(tmp_path / "skills") if "DS_Store" in path or "MACOSX" in path]


ESCAPES = [
    *("../x", "a/../../x", "a/..", "..", "a/../b", "..\\x", "a\\..\\..\\x"),
    *("/etc/x", "//host/x", "\\\\host\\x", "\\x", "C:/x", "c:x", "C:\\x"),
    *("./x", "a//b", "a/./b", "a/ /b", " a", "a ", "a.", "a/b. /c", "a\\b"),
    *("a\x00b", "a\nb", "a\x1bb", "a\u202eb", "a\u200bb", "a:b", "a*b", "a?b", 'a"b', "a<b", "a|b"),
    *("CON", "con.txt", "a/NUL", "aux.tar.gz", "COM1", "lpt9.md", "COM¹.x", "CONIN$", "prn/x"),
    *("x" * 121, "/".join("d" * 2 for _ in range(11)), "/".join(["d" * 100] * 5)),
]


@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_that_could_do_harm(tmp_path: Path, name: str) -> None:
    refusal(tmp_path, with_skill((entry(name), "x")))


@pytest.mark.guard(
    "no path leads outside a skill's folder",
    "agent/skills/archive.py",
    'if ".." in parts or ".." in re.split(r"[/\\\\]", path):',
    "if False:",
    against="installation",
)
@pytest.mark.guard(
    "no absolute path in an archive",
    "agent/skills/archive.py",
    'if path.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:", path):',
    "if False:",
    against="installation",
)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../x", "a path outside the skill's folder"),
        ("a/../../x", "a path outside the skill's folder"),
        ("a\\..\\x", "a path outside the skill's folder"),
        ("/etc/x", "an absolute path"),
        ("C:/x", "an absolute path"),
    ],
)
def test_a_path_that_leads_elsewhere(tmp_path: Path, name: str, message: str) -> None:
    assert f"The skill contains {message}" in str(refusal(tmp_path, with_skill((entry(name), "x"))))


@pytest.mark.parametrize(
    "pair",
    [
        ("a.txt", "a.txt"),
        ("a.txt", "A.TXT"),
        ("d/a", "D/b"),
        ("straße", "STRASSE"),
        ("\u00e9", "e\u0301"),
        ("ﬁle", "file"),
        ("a", "a/b"),
        ("a/b", "A"),
        ("x/SKILL.md", "X"),
        ("skill.md", "z"),
    ],
)
def test_two_names_that_are_one_somewhere(tmp_path: Path, pair: tuple[str, str]) -> None:
    with pytest.warns() if pair[0] == pair[1] else _quiet():
        refusal(tmp_path, with_skill(*((entry(name), "x") for name in pair)))


class _quiet:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@pytest.mark.guard(
    "no links or devices in an archive",
    "agent/skills/archive.py",
    "if kind not in {0, stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFDIR) > is_folder:",
    "if False:",
    against="installation",
)
@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices(tmp_path: Path, kind: int) -> None:
    error = refusal(tmp_path, with_skill((entry("link", kind | 0o777), "/etc/passwd")))
    assert str(error) == "The skill contains a link or a device: link."


def test_a_folder_that_is_said_to_be_a_file(tmp_path: Path) -> None:
    refusal(tmp_path, with_skill((entry("a", stat.S_IFDIR | 0o755), "x")))


@pytest.mark.guard(
    "no zip bombs",
    "agent/skills/archive.py",
    "if info.file_size > limits.ratio_from and info.file_size / packed > limits.ratio:",
    "if False:",
    against="installation",
)
def test_a_bomb_by_ratio(tmp_path: Path) -> None:
    error = refusal(tmp_path, with_skill(("zeros", b"\0" * 5_000_000)))
    assert (error.status, "compression ratio" in str(error)) == (413, True)


def test_many_small_bombs(tmp_path: Path) -> None:
    limits = ArchiveLimits(ratio=20, ratio_from=60_000)
    error = refusal(tmp_path, with_skill(*((f"z{i}", b"\0" * 50_000) for i in range(40))), limits)
    assert (error.status, str(error)) == (413, "The archive's contents are too large.")


def test_small_files_of_spaces_are_no_bomb(tmp_path: Path) -> None:
    assert installed(tmp_path, with_skill(("blank.txt", " " * 50_000))).name == "good"


def test_a_bomb_by_size(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 20
    limits = ArchiveLimits(file_bytes=6_000, total_bytes=12_000)
    assert refusal(tmp_path, with_skill(("big", noise * 2)), limits).status == 413
    error = refusal(tmp_path, with_skill(*((f"n{i}", noise) for i in range(3))), limits)
    assert str(error) == "The archive's contents are too large."


def test_a_bomb_by_count(tmp_path: Path) -> None:
    limits = ArchiveLimits(entries=100)
    error = refusal(tmp_path, with_skill(*((f"f{i}", "") for i in range(100))), limits)
    assert (error.status, str(error)) == (413, "The archive contains more than 100 entries.")


def test_an_archive_that_is_too_large_itself(tmp_path: Path) -> None:
    assert refusal(tmp_path, GOOD, ArchiveLimits(archive_bytes=10)).status == 413


def test_a_file_that_is_larger_than_it_says(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.skill", with_skill(("big.bin", b"ab" * 40_000)))  # type: ignore[arg-type]
    raw = bytearray(path.read_bytes())
    # the size after unpacking, in the file's own head and in the table at the end
    for place, offset in ((raw.find(b"PK\x03\x04", 30), 22), (raw.rfind(b"PK\x01\x02"), 24)):
        struct.pack_into("<I", raw, place + offset, 100)
    path.write_bytes(raw)
    with pytest.raises(SkillRefused):
        install_skill(path, roots(tmp_path / "skills"))
    assert not list((tmp_path / "skills" / "custom").iterdir())


def test_a_head_that_says_other_than_the_table(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.skill", with_skill(("aaaa.txt", "x")))  # type: ignore[arg-type]
    raw = path.read_bytes()
    first = raw.find(b"aaaa.txt")
    path.write_bytes(raw[:first] + b"../../yy" + raw[first + 8 :])
    with pytest.raises(SkillRefused, match="Not a valid archive"):
        install_skill(path, roots(tmp_path / "skills"))
    assert not list((tmp_path / "skills" / "custom").iterdir())


def test_other_ways_to_pack_and_secrets(tmp_path: Path) -> None:
    squeezed = entry("a.txt")
    squeezed.compress_type = zipfile.ZIP_BZIP2
    assert "plain zip" in str(refusal(tmp_path, with_skill((squeezed, "x"))))
    path = archive(tmp_path / "x.skill", GOOD)
    raw = bytearray(path.read_bytes())
    place = raw.find(b"PK\x01\x02")
    struct.pack_into("<H", raw, place + 8, 1)
    path.write_bytes(raw)
    with pytest.raises(SkillRefused, match="encrypted"):
        install_skill(path, roots(tmp_path / "skills"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "The skill has no SKILL.md"),
        ({"README.md": "x"}, "The skill has no SKILL.md at its top"),
        ({"a/b/SKILL.md": text("good"), "a/x": ""}, "The skill has no SKILL.md at its top"),
        ({"a/SKILL.md": text("good"), "b/x": ""}, "The skill has no SKILL.md at its top"),
        ({"SKILL.md": "x"}, "SKILL.md:1: does not start with front matter"),
        ({"SKILL.md": b"---\n\xff"}, "is not UTF-8"),
        ({"SKILL.md": text("good") + str(list(range(160_000)))}, "SKILL.md is larger than"),
    ],
)
def test_what_is_no_skill(tmp_path: Path, files: dict[str, str], message: str) -> None:
    assert message in str(refusal(tmp_path, files))


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 50, b"PK\x05\x06" + b"\0" * 10, b"\x1f\x8b" * 40])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.skill"
    path.write_bytes(content)
    with pytest.raises(SkillRefused, match="Not a valid archive"):
        install_skill(path, roots(tmp_path / "skills"))
    assert everything(tmp_path / "skills") == {"custom"}


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SkillRefused, match=r"File not found: gone\.skill"):
        install_skill(tmp_path / "gone.skill", roots(tmp_path))
    with pytest.raises(SkillRefused, match="Not a regular file"):
        install_skill(ArchiveSource(tmp_path), roots(tmp_path))
    with pytest.raises(SkillRefused, match="Not a folder"):
        install_skill(FolderSource(Path(__file__)), roots(tmp_path))


def test_a_bundled_one_is_replaced_and_an_installed_one_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    skill(folder / "public", "good")
    path = archive(tmp_path / "x.skill", GOOD)
    done = install_skill(path, roots(folder))
    assert done.replaces == "public"
    [found] = SkillDiscovery(roots(folder)).find_skills().skills
    assert (found.name, found.category) == ("good", "custom")
    before = everything(folder)
    with pytest.raises(SkillRefused, match="is already installed") as caught:
        install_skill(path, roots(folder))
    assert caught.value.status == 409
    assert everything(folder) == before


@pytest.mark.guard(
    "a link in place of a skill's folder is not followed",
    "agent/skills/install.py",
    "if target.is_symlink() or (",
    "if (",
    against="installation",
)
def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "skills", tmp_path / "outside"
    outside.mkdir()
    (folder / "custom").mkdir(parents=True)
    (folder / "custom" / "good").symlink_to(outside)
    with pytest.raises(SkillRefused, match="is already there"):
        install_skill(archive(tmp_path / "x.skill", GOOD), roots(folder))
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "mode", "flagged", "runs"),
    [
        ("tool", b"\x7fELF\x02", 0o100644, True, True),
        ("tool", b"#!/bin/sh\n", 0o100644, True, True),
        ("tool", b"MZ\x90", 0o100644, True, True),
        ("tool", b"plain", 0o100700, True, True),
        ("a/B.PY", b"", 0o100644, True, False),
        ("run.ps1", b"", 0o100644, True, False),
        ("notes.md", b"# x", 0o100600, False, False),
        ("py", b"# x", 0o100644, False, False),
    ],
)
def test_programs_are_listed_and_can_be_run_by_everybody(
    tmp_path: Path, name: str, content: bytes, mode: int, flagged: bool, runs: bool
) -> None:
    before = os.umask(0o077)
    try:
        done = installed(tmp_path, with_skill((entry(name, mode), content)))
    finally:
        os.umask(before)
    assert done.executables == ((name,) if flagged else ())
    custom = tmp_path / "skills" / "custom"
    target = custom / "good" / name
    assert stat.S_IMODE(target.stat().st_mode) == (0o755 if runs else 0o644)
    folders = [custom, *(path for path in custom.rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o755}
    assert stat.S_IMODE((tmp_path / "skills").stat().st_mode) == 0o700


def test_what_was_put_there_is_opened_to_everybody(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    folder = skill(tmp_path / "custom", "group/mine")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "link").symlink_to(outside)
    private = {outside: 0o600, folder / "run": 0o700, folder / "SKILL.md": 0o600, tmp_path: 0o700}
    for path, mode in {**private, tmp_path / "custom" / "group": 0o700, folder: 0o700}.items():
        path.chmod(mode)
    [found] = SkillDiscovery(roots(tmp_path), open_to_all=True).find_skills().skills
    assert found.name == "mine"
    for path, mode in {
        **{tmp_path / "custom": 0o755, tmp_path / "custom" / "group": 0o755, folder: 0o755},
        **{folder / "run": 0o755, folder / "SKILL.md": 0o644, outside: 0o600, tmp_path: 0o700},
    }.items():
        assert stat.S_IMODE(path.stat().st_mode) == mode, path


def test_a_damaged_file_rolls_everything_back(tmp_path: Path) -> None:
    stored = entry("last.txt")
    stored.compress_type = zipfile.ZIP_STORED
    path = archive(tmp_path / "x.skill", [*GOOD.items(), (stored, b"0123456789")])  # type: ignore[list-item]
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"0123456789", b"0123456780"))
    with pytest.raises(SkillRefused, match="Not a valid archive"):
        install_skill(path, roots(tmp_path / "skills"))
    assert everything(tmp_path / "skills") == {"custom"}


def test_a_full_disk_rolls_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = archive(tmp_path / "x.skill", GOOD)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(SkillRefused, match="can't be written: No space left on device") as caught:
        install_skill(path, roots(tmp_path / "skills"))
    assert caught.value.status == 507
    assert everything(tmp_path / "skills") == {"custom"}


def test_what_a_killed_installation_left_is_removed(tmp_path: Path) -> None:
    custom = tmp_path / "skills" / "custom"
    old, fresh = custom / ".installing-old", custom / ".installing-fresh"
    for folder in (old, fresh):
        skill(folder, "half")
    past = old.stat().st_mtime - STALE_SECONDS - 10
    os.utime(old, (past, past))
    assert not SkillDiscovery(roots(tmp_path / "skills")).find_skills().skills, "half of one is never seen"
    installed(tmp_path, GOOD)
    assert sorted(path.name for path in custom.iterdir()) == [".installing-fresh", "good"]


def test_two_at_the_same_time(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.skill", GOOD)
    results: list[object] = []

    def run() -> None:
        try:
            results.append(install_skill(path, roots(tmp_path / "skills")))
        except SkillRefused as error:
            results.append(error.status)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(str(type(result)) for result in results).count("<class 'int'>") == 3
    assert set(filter(lambda result: isinstance(result, int), results)) == {409}


segments = st.text(
    st.characters(codec="utf-8") | st.sampled_from("./\\: ~$%"), min_size=0, max_size=12
) | st.sampled_from(["..", ".", "C:", "NUL", "~", "$HOME", "a", "b"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(segments, min_size=1, max_size=5).map("/".join))
def test_a_path_that_passes_stays_in_its_folder(path: str) -> None:
    try:
        parts = split_safe_path(path, path)
    except SkillRefused:
        return
    root = Path("/skills/x")
    assert root.joinpath(*parts).parts == (*root.parts, *parts)
    assert not {"", ".", ".."} & set(parts)
    assert not any(sign in part for part in parts for sign in '\\:*?"<>|\0')


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    st.lists(
        st.tuples(
            st.lists(segments, min_size=1, max_size=4).map("/".join),
            st.sampled_from([0o100644, 0o100755, 0o120777, 0o040755, 0]),
            st.binary(max_size=40),
        ),
        max_size=5,
    )
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_whatever_an_archive_holds_it_is_whole_or_nothing(
    tmp_path: Path, more: list[tuple[str, int, bytes]]
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder = Path(name)
        try:
            path = archive(folder / "x.skill", with_skill(*((entry(n, m), c) for n, m, c in more)))  # type: ignore[arg-type]
        except (ValueError, UnicodeError):
            return
        try:
            install_skill(path, roots(folder / "skills"))
        except SkillRefused:
            left = everything(folder)
            assert left <= {"x.skill", "skills", "skills/custom"}
        else:
            left = everything(folder)
            assert "skills/custom/good/SKILL.md" in left
            assert all(one.startswith(("skills", "x.skill")) for one in left)
            assert not any(path.is_symlink() for path in folder.rglob("*"))


@settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(st.data())
def test_damaged_bytes_never_get_through_half(tmp_path: Path, data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder = Path(name)
        path = archive(folder / "x.skill", GOOD)
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
        try:
            done = install_skill(path, roots(folder / "skills"))
        except SkillRefused:
            assert everything(folder) <= {"x.skill", "skills", "skills/custom"}
        else:
            assert (folder / "skills" / "custom" / done.name / "SKILL.md").is_file()
