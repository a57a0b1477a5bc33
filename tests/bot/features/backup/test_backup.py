"""An archive of a home, made while it is written to, and a home made of it; archives that are none."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import tarfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from agent.client import AgentClient
from bot.app.home import lock_home, prepare_home
from bot.errors import BackupFailed, StartError
from bot.features.backup import backup
from bot.features.backup.archive import FORMAT, INSIDE, MANIFEST, ArchiveManifest
from bot.features.backup.archive_commands import backup_command, restore_command
from bot.features.backup.backup import back_up
from bot.features.backup.restore import restore
from bot.store import open_database
from bot.store.conversations import list_conversations
from tests.contract.store.inbound_messages import accept, admission, message

pytestmark = pytest.mark.may_block
ECHO = {"models": [{"name": "echo", "use": "roebot_testing.agent:ScriptedChatModel"}]}
SILENT = lambda _line: None  # noqa: E731


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home with a conversation, a file of a thread, a memory, and things that are left out."""
    home = tmp_path / "home"
    prepare_home(home)
    database = await open_database(home)
    await accept(database, admission(message("hello")))
    await database.close()
    with closing(sqlite3.connect(home / "agent.db")) as agent:
        agent.execute("CREATE TABLE runs (id TEXT)")
        agent.commit()
    uploads = home / "threads" / "t1" / "user-data" / "uploads"
    uploads.mkdir(parents=True)
    (uploads / "plan ☂.txt").write_text("a plan")
    (uploads / "link").symlink_to("/etc/passwd")
    os.mkfifo(uploads / "pipe")
    (home / "memory").mkdir()
    (home / "memory" / "person.json").write_text("{}")
    (home / "logs" / "agent.log").write_text("secret of the log")
    (home / "service.json").write_text("{}")
    return home


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return tar.getnames()


async def test_there_and_back(home: Path, tmp_path: Path) -> None:
    made = back_up(home, tmp_path / "a.tar.gz", SILENT)
    assert names(made.path) == [
        MANIFEST,
        "home/bot.db",
        "home/agent.db",
        "home/inbox",
        "home/memory/person.json",
        "home/threads/t1/user-data/uploads/plan ☂.txt",
    ]
    assert made.skipped == 2
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    found = restore(made.path, tmp_path / "new", replace=False, tell=SILENT)
    assert (found.conversations, found.before) == (1, None)
    new = tmp_path / "new"
    assert (new / "threads/t1/user-data/uploads/plan ☂.txt").read_text() == "a plan"
    assert stat.S_IMODE((new / "bot.db").stat().st_mode) == 0o600
    assert not (new / "logs").exists()
    database = await open_database(new)
    assert len(await database.transact(list_conversations, "tg")) == 1
    await database.close()


def test_an_agent_that_has_a_name_alone_is_kept(home: Path, tmp_path: Path) -> None:
    with AgentClient(ECHO, read_file=False, home=home, environ={}) as client:
        client.create_agent("helper")
        client.create_agent("poet", personality="You rhyme.")
    assert list((home / "agents/helper").iterdir()) == []
    made = back_up(home, tmp_path / "a.tar.gz", SILENT)
    assert (made.manifest.files, made.manifest.folders) == (5, 2)
    new = restore(made.path, tmp_path / "new", replace=False, tell=SILENT).home
    assert stat.S_IMODE((new / "agents/helper").stat().st_mode) == 0o700
    with AgentClient(ECHO, read_file=False, home=new, environ={}) as client:
        assert [one["name"] for one in client.list_agents()["agents"]] == ["helper", "poet"]


def test_the_file_of_mcp_servers_is_in_it_where_it_lies_in_the_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"ROEBOT_HOME": str(home)}
    with AgentClient(ECHO, environ=env, home=home) as client:
        client.update_mcp_config({})
    beside = tmp_path / "extensions_config.json"
    assert beside.is_file()
    without = back_up(home, tmp_path / "without.tar.gz", SILENT)
    assert "home/extensions_config.json" not in names(without.path)
    beside.rename(home / "extensions_config.json")
    with AgentClient(ECHO, environ=env, home=home) as client:
        client.update_mcp_config({})
    assert not beside.exists()
    assert "home/extensions_config.json" in names(back_up(home, tmp_path / "with.tar.gz", SILENT).path)


def test_an_archive_of_the_format_before_can_be_restored(home: Path, tmp_path: Path) -> None:
    with (
        tarfile.open(back_up(home, tmp_path / "a.tar.gz", SILENT).path) as new,
        tarfile.open(tmp_path / "old.tar.gz", "w:gz") as old,
    ):
        for one in new:
            opened = new.extractfile(one)
            content = opened.read() if opened else b""
            if one.name == MANIFEST:
                said = json.loads(content)
                del said["folders"]
                content = json.dumps(said | {"format": 1}).encode()
                one.size = len(content)
            if not one.isdir():
                old.addfile(one, io.BytesIO(content))
    assert restore(tmp_path / "old.tar.gz", tmp_path / "new", replace=False, tell=SILENT).conversations == 1


def test_while_it_is_written_to_each_database_is_of_one_moment(home: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(home / "agent.db")) as agent:
        agent.execute("PRAGMA journal_mode=WAL")
        agent.execute("CREATE TABLE pairs (a INTEGER, b INTEGER)")
        agent.executemany("INSERT INTO pairs VALUES (?, ?)", [(number, 0) for number in range(20_000)])
        agent.commit()
    stop = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(home / "agent.db")) as writer:
            number = 0
            while not stop.is_set():
                number += 1
                writer.execute("UPDATE pairs SET b = ?", (number,))
                writer.commit()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        made = back_up(home, tmp_path / "a.tar.gz", SILENT)
    finally:
        stop.set()
        writing.join()
    found = restore(made.path, tmp_path / "new", replace=False, tell=SILENT)
    with closing(sqlite3.connect(found.home / "agent.db")) as copy:
        assert copy.execute("SELECT COUNT(DISTINCT b), COUNT(*) FROM pairs").fetchone() == (1, 20_000)


def test_a_home_that_is_there_is_put_aside_when_that_is_wanted(home: Path, tmp_path: Path) -> None:
    made = back_up(home, tmp_path / "a.tar.gz", SILENT)
    with pytest.raises(BackupFailed, match="--replace"):
        restore(made.path, home, replace=False, tell=SILENT)
    (home / "memory" / "person.json").write_text('{"new": true}')
    found = restore(made.path, home, replace=True, tell=SILENT)
    assert found.before is not None
    assert (found.before / "memory" / "person.json").read_text() == '{"new": true}'
    assert (home / "memory" / "person.json").read_text() == "{}"


def test_not_while_the_service_runs(home: Path, tmp_path: Path) -> None:
    made = back_up(home, tmp_path / "a.tar.gz", SILENT)
    with lock_home(home), pytest.raises(StartError, match="uses"):
        restore(made.path, home, replace=True, tell=SILENT)
    assert (home / "bot.db").exists()


def test_what_can_not_be_backed_up_says_why(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="not a data directory"):
        back_up(tmp_path / "nowhere", tmp_path / "a.tar.gz", SILENT)
    (tmp_path / "there").write_text("mine")
    with pytest.raises(BackupFailed, match="already exists"):
        back_up(home, tmp_path / "there", SILENT)
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(BackupFailed, match="could not be written"):
        back_up(home, tmp_path / "no" / "folder.tar.gz", SILENT)


def forged(path: Path, *members: tuple[tarfile.TarInfo, bytes], files: int = 9, size: int = 10**6) -> Path:
    """An archive that says it is one of a home."""
    manifest = ArchiveManifest(FORMAT, "0.1.0", 0.0, files, size, ("bot.db",), folders=1).to_text()
    with tarfile.open(path, "w:gz") as tar:
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(manifest)
        tar.addfile(first, io.BytesIO(manifest))
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


@pytest.mark.parametrize(
    "bad",
    [
        member("home/../../evil"),
        member("/home/evil"),
        member("elsewhere/evil"),
        member("home"),
        member("home/../evil", tarfile.DIRTYPE),
        member("/home/folder", tarfile.DIRTYPE),
        member("home/a\\b"),
        member("home/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("home/hard", tarfile.LNKTYPE, "home/bot.db"),
        member("home/device", tarfile.CHRTYPE),
        member("home/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda one: one.name,
)
def test_what_no_archive_of_a_home_holds(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    content = b"x" if bad.isreg() else b""
    archive = forged(tmp_path / "a.tar.gz", (bad, content))
    with pytest.raises(BackupFailed, match="not part of a backup"):
        restore(archive, tmp_path / "new", replace=False, tell=SILENT)
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda archive: archive.write_bytes(b"no archive"), "damaged, or not a backup archive"),
        (lambda archive: archive.write_bytes(b""), "damaged, or not a backup archive"),
        (lambda archive: archive.write_bytes(archive.read_bytes()[:-200]), "damaged|less than it says"),
        (lambda archive: forged(archive), "less than its manifest"),
        (lambda archive: forged(archive, (member("home/bot.db"), b"no database")), "damaged"),
        (
            lambda archive: forged(archive, (member("home/a"), b"xx"), (member("home/b"), b""), files=1),
            "more than",
        ),
        (
            lambda archive: forged(archive, *[(member(f"home/{n}", tarfile.DIRTYPE), b"") for n in range(9)]),
            "more than",
        ),
        (lambda archive: forged(archive, (member("home/a"), b"x" * 3_000_000), size=10), "more than"),
        (lambda archive: archive.unlink(), "No such file"),
    ],
    ids=[
        "text",
        "empty",
        "cut",
        "nothing in it",
        "no database",
        "more files",
        "more folders",
        "larger",
        "gone",
    ],
)
def test_an_archive_that_can_not_be_used_changes_nothing(
    home: Path, tmp_path: Path, change: object, told: str
) -> None:
    archive = back_up(home, tmp_path / "a.tar.gz", SILENT).path
    assert callable(change)
    change(archive)
    before = sorted(path.name for path in home.rglob("*"))
    with pytest.raises(BackupFailed, match=told):
        restore(archive, home, replace=True, tell=SILENT)
    assert sorted(path.name for path in home.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir() if path.name not in {"home", "a.tar.gz"}] == []


def test_one_of_a_newer_version_is_left_alone(home: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(home / "bot.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    archive = back_up(home, tmp_path / "a.tar.gz", SILENT).path
    with pytest.raises(BackupFailed, match="which is newer"):
        restore(archive, tmp_path / "new", replace=False, tell=SILENT)
    assert INSIDE not in [path.name for path in tmp_path.iterdir() if path != home]


def test_the_recorded_end_of_the_audit_log_is_copied_before_the_log(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "audit.head").write_text("before")
    copy = backup._copy_database

    def later(database: Path, target: Path) -> None:
        (home / "audit.head").write_text("after")
        copy(database, target)

    monkeypatch.setattr(backup, "_copy_database", later)
    back_up(home, tmp_path / "a.tar.gz", SILENT)
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        members = [member.name for member in tar if member.name.endswith("audit.head")]
        assert len(members) == 1
        content = tar.extractfile(members[0])
        assert content is not None
        assert content.read() == b"before"


def test_on_postgres_the_archive_has_no_database(home: Path, tmp_path: Path) -> None:
    """SQLite files that are left from before would be restored as if they were current."""
    with pytest.raises(BackupFailed, match="no service has used"):
        back_up(home, tmp_path / "a.tar.gz", SILENT, on_postgres=True)
    (home / "service.lock").touch()
    made = back_up(home, tmp_path / "a.tar.gz", SILENT, on_postgres=True)
    assert made.manifest.databases == ()
    assert [name for name in names(made.path) if name.endswith(".db")] == []
    found = restore(made.path, tmp_path / "new", replace=False, tell=SILENT)
    assert found.conversations is None
    assert (tmp_path / "new/memory/person.json").exists()


@pytest.mark.parametrize(
    ("database", "has_databases"),
    [
        ("", True),
        ("database: {url: null}", True),
        ("database: {url: postgresql://roe@127.0.0.1:9/roe}", False),
        ("database: {url: $UNSET_ADDRESS}", False),
    ],
)
def test_the_command_reads_where_the_data_is(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str, has_databases: bool
) -> None:
    (home / "service.lock").touch()
    config = tmp_path / "config.yaml"
    config.write_text(f"config_version: 1\n{database}\nunknown_key: 1\n")
    archive = tmp_path / "a.tar.gz"
    assert backup_command(archive, home, config) == 0
    assert ("home/bot.db" in names(archive)) is has_databases
    assert ("pg_dump" in capsys.readouterr().out) is not has_databases
    assert restore_command(archive, tmp_path / "new", replace=False) == 0
    assert ("pg_restore" in capsys.readouterr().out) is not has_databases
