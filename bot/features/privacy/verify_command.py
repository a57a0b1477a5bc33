"""`roebot audit verify`: verify the hash chain of the audit log, without changing anything."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from bot.cli.common import configuration, home_folder
from bot.cli.doctor.network import open_engine
from bot.cli.security import Installation, SecurityFinding, Severity
from bot.errors import StartError, StoreError
from bot.features.privacy.audit_chain import ChainLink, ChainReport, verify_chain
from bot.features.privacy.audit_seals import HEAD_FILE, KEY_FILE, SEAL_EVERY, load_head, load_key
from bot.store.connection import SqlAlchemyConnection

LATE = 60.0
"""Seconds after which an event should have been sealed."""
EMPTY_KEY = b""
HEAD_SECONDS = 1.0
"""Seconds in which a running service writes the head of the log after its first seal."""


def verify_command(home: Path | None, file: Path | None, *, as_json: bool = False) -> int:
    """Print what the verification found, and return exit code 1 if the log was changed.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    if not folder.is_dir():
        raise StartError(f"there is no data directory {folder}. Choose another one with --home.")
    loaded = configuration(file, folder)
    url = loaded.config.database.url
    report, problems = verify_log(folder, url.get_secret_value() if url else "")
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems, **_as_json(report)}, indent=2))
        return int(bool(problems))
    for problem in problems:
        print(f"FAIL {problem}")
    print(f"{'note' if problems else 'ok  '} {_summary(report)}")
    if report.unsealed:
        print(f"note {report.unsealed} not sealed yet; the running service seals every {SEAL_EVERY:.0f} s")
    return int(bool(problems))


def verify_log(home: Path, url: str, now: float | None = None) -> tuple[ChainReport, list[str]]:
    """Return the report of a verification, and its problems in words. Blocking. Raises StartError."""
    key, head = _load_seal(home)
    try:
        with open_engine(url, home).connect() as connection:
            report = verify_chain(SqlAlchemyConnection(connection), key or EMPTY_KEY, head)
    except SQLAlchemyError as error:
        where = "the database" if url else str(home / "bot.db")
        raise StartError(
            f"the audit log in {where} can't be read. Start this version of the service once, "
            "then run `roebot doctor` if the problem remains."
        ) from error
    if report.last.position and not head.position:
        time.sleep(HEAD_SECONDS)
        key, head = _load_seal(home)
    return report, _problems(report, home, key, head, time.time() if now is None else now)


def _load_seal(home: Path) -> tuple[bytes | None, ChainLink]:
    """Return the key and the recorded end of the log. Blocking. Raises StartError."""
    try:
        return load_key(home), load_head(home)
    except (OSError, StoreError) as error:
        raise StartError(f"the audit log can't be verified: {error}") from error


def find_tampering(installation: Installation) -> Iterator[SecurityFinding]:
    """Report changes of the audit log."""
    url = installation.config.database.url
    if url is None and not (installation.home / "bot.db").exists():
        return
    try:
        _, problems = verify_log(installation.home, url.get_secret_value() if url else "")
    except StartError:
        return  # `roebot doctor` reports a database that can't be read.
    if problems:
        yield SecurityFinding(
            "audit-log",
            Severity.CRITICAL,
            f"the audit log was changed: {problems[0]}",
            "Somebody with access to the database may have hidden what they did.",
            "Run roebot audit verify for all places, and find out who can write to the database.",
        )


def _problems(report: ChainReport, home: Path, key: bytes | None, head: ChainLink, now: float) -> list[str]:
    if key is None and (report.last.position or head.position):
        return [f"{home / KEY_FILE} is missing, so the log can't be verified; restore it from a backup"]
    found = [f"{_positions(one.first, one.last)}: {one.problem}" for one in report.breaks]
    if report.last.position and not head.position:
        found.append(f"{home / HEAD_FILE} is missing, so deletions at the end can't be detected")
    if report.unsealed and now - report.oldest_unsealed > LATE:
        since = datetime.fromtimestamp(report.oldest_unsealed, UTC).isoformat(timespec="seconds")
        found.append(f"{report.unsealed} not sealed since {since}; is the service running?")
    return found


def _positions(first: int, last: int) -> str:
    return f"event {first}" if first == last else f"events {first} to {last}"


def _summary(report: ChainReport) -> str:
    start = report.anchor.position
    parts = [f"{report.sealed} verified"]
    parts += [f"{start} deleted after their retention"] if start else []
    parts += [f"{report.masked} with erased personal data"] if report.masked else []
    return f"audit events: {', '.join(parts)}"


def _as_json(report: ChainReport) -> dict[str, Any]:
    found = asdict(report)
    return {**found, "anchor": report.anchor.position, "last": report.last.position}
