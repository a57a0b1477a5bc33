"""What `roebot audit verify` says."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import StartError
from bot.features.privacy.audit_seals import AuditSealer
from bot.features.privacy.verify_command import LATE, verify_command, verify_log
from bot.store import open_database
from bot.store.audit import Actor, AuditEvent, record_event
from roebot_testing.clock import ManualClock

pytestmark = pytest.mark.may_block


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with three sealed events."""
    monkeypatch.chdir(tmp_path)
    db = await open_database(tmp_path)
    await add_events(tmp_path, 1, 2, 3)
    await AuditSealer(db, ManualClock(), tmp_path).seal()
    await db.close()
    return tmp_path


async def add_events(home: Path, *numbers: int, at: float = 100.0) -> None:
    db = await open_database(home)
    for number in numbers:
        actor = Actor(f"k{number}", "telegram:7", "Ann", "tg", "c")
        await db.transact(record_event, actor, AuditEvent("give", "telegram:8", "member"), at)
    await db.close()


def write(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        connection.execute(statement)
        connection.commit()


async def test_an_intact_log(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_command(home, None) == 0
    assert capsys.readouterr().out == "ok   audit events: 3 verified\n"


async def test_a_changed_and_shortened_log(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home, "UPDATE audit SET detail = 'owner' WHERE position = 1")
    write(home, "DELETE FROM audit WHERE position = 3")
    assert verify_command(home, None) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL event 1: changed: detail",
        "FAIL event 3: deleted at the end of the log",
        "note audit events: 1 verified",
    ]
    assert verify_command(home, None, as_json=True) == 1
    shown = json.loads(capsys.readouterr().out)
    assert not shown["ok"]
    assert shown["breaks"][0] == {"first": 1, "last": 1, "problem": "changed: detail"}
    assert (shown["sealed"], shown["last"]) == (1, 2)


async def test_events_that_wait_for_their_seal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await add_events(home, 4, at=1000.0)
    report, problems = verify_log(home, "", now=1000.0 + LATE)
    assert (report.unsealed, problems) == (1, [])
    _, problems = verify_log(home, "", now=1001.0 + LATE)
    assert problems == ["1 not sealed since 1970-01-01T00:16:40+00:00; is the service running?"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("audit.key", "is missing, so the log can't be verified"),
        ("audit.head", "is missing, so deletions at the end can't be detected"),
    ],
)
async def test_a_missing_file(home: Path, name: str, problem: str) -> None:
    (home / name).unlink()
    [found] = verify_log(home, "")[1]
    assert found.startswith(f"{home / name} {problem}")


async def test_what_cannot_be_read(home: Path) -> None:
    (home / "audit.head").write_text("?")
    with pytest.raises(StartError, match=r"audit.head is damaged"):
        verify_log(home, "")
    (home / "audit.head").unlink()
    (home / "bot.db").write_text("no database at all, but text of some length")
    with pytest.raises(StartError, match=r"can't be read"):
        verify_log(home, "")


def test_a_data_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"no data directory .*gone\. Choose another one with --home"):
        verify_command(tmp_path / "gone", None)
