"""The security audit finds a changed audit log."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.config.loader import load_config
from tests.unit.bot.cli.test_security_audit import found, installation

pytestmark = pytest.mark.may_block


def test_a_changed_audit_log(tmp_path: Path) -> None:
    made = installation(tmp_path, load_config(None, {}, tmp_path))
    with closing(sqlite3.connect(tmp_path / "home" / "bot.db")) as connection:
        connection.execute("CREATE TABLE unrelated (id)")
    assert "audit-log" not in found(made)
    (tmp_path / "home" / "bot.db").unlink()
    with closing(sqlite3.connect(tmp_path / "home" / "bot.db")) as connection:
        connection.execute("CREATE TABLE audit_anchor (id, position, seal, mac)")
        connection.execute(
            "CREATE TABLE audit (id, key, at, person, name, account, chat, action, subject, detail, position,"
            " seal, commitments)"
        )
        connection.execute("INSERT INTO audit_anchor VALUES (1, 3, 'x', 'forged')")
        connection.commit()
    (tmp_path / "home" / "audit.key").write_text("00" * 32)
    (tmp_path / "home" / "bot.db").chmod(0o600)
    assert found(made)["audit-log"] == "critical"
