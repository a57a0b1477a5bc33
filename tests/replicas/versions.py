"""Versions of Roebot for tests of upgrades: this one, a newer one, and those of earlier commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bot.store.schema_version import HEAD
from tests.harness.service import ServiceProcess

ROOT = Path(__file__).parents[2]
NEXT = f"{int(HEAD) + 1:04}"
"""Revision of the newer version's schema."""
MIGRATION = f'''"""A column and a table more."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"
requires = None


def upgrade() -> None:
    """Add them."""
    op.add_column("turns", sa.Column("next_note", sa.String(), server_default="", nullable=False))
    op.create_table("next_notes", sa.Column("id", sa.Integer(), primary_key=True))
'''
BOT_TABLES = """
turns.append_column(Column("next_note", String, server_default="", nullable=False))
Table("next_notes", metadata, Column("id", Integer, primary_key=True))
"""
AGENT_TABLES = """
runs.append_column(Column("next_note", Text))
"""


@dataclass(frozen=True)
class Version:
    """A version that can be started: its name, interpreter and import path ("": the installed one)."""

    name: str
    python: str = sys.executable
    path: str = ""
    model: str = "roebot_testing.agent.model"

    @property
    def env(self) -> dict[str, str]:
        """The environment in which its interpreter finds its code, not that of the working directory."""
        return {"PYTHONSAFEPATH": "1", "PYTHONPATH": self.path}

    def service(self, home: Path, config: str, replica: str = "") -> ServiceProcess:
        """A service of this version, which is not started."""
        text = config.replace(Version.model, self.model)
        return ServiceProcess(home, text, self.env, python=self.python, replica=replica)

    def schemas(self) -> tuple[str, str]:
        """The schemas of its bot and its agent."""
        code = (
            "import bot.store.schema_version as bot, agent.runtime.store.schema as agent;"
            "print(bot.HEAD, len(agent.MIGRATIONS))"
        )
        env = {**os.environ, **self.env}
        found = subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True, env=env)
        bot, agent = found.stdout.split()
        return bot, agent

    def roebot(self, home: Path, *words: str) -> str:
        """Run a command and return what it printed. Raises AssertionError if it fails."""
        command = [self.python, "-m", "bot.cli", *words, "--home", str(home)]
        command += ["--config", str(home / "config.yaml")]
        env = {**os.environ, **self.env}
        found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=env)
        assert found.returncode == 0, f"{words}: {found.stdout}{found.stderr}"
        return found.stdout


def copied_version(folder: Path) -> Version:
    """Copy this version, so that a change of the working directory doesn't reach it."""
    for name in ("bot", "agent"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Version("old", path=str(folder))


def newer_version(folder: Path) -> Version:
    """Copy this version with one more migration of each store."""
    copied_version(folder)
    migrations = folder / "bot" / "store" / "migrations" / "versions"
    (migrations / f"{NEXT}_next.py").write_text(MIGRATION)
    _append(folder / "bot" / "store" / "schema.py", BOT_TABLES)
    _append(folder / "agent" / "runtime" / "store" / "schema.py", AGENT_TABLES)
    versions = folder / "bot" / "store" / "schema_version.py"
    _replace(versions, f"range(1, {int(NEXT)})", f"range(1, {int(NEXT) + 1})")
    steps = folder / "agent" / "runtime" / "store" / "schema_version.py"
    _replace(steps, ')\n"""Step n', '    Migration((runs.c.next_note,)),\n)\n"""Step n')
    return Version("new", path=str(folder))


def committed_version(commit: str, folder: Path) -> Version:
    """Check a commit out and install it with its own Makefile, unless `folder` has it already."""
    if not (folder / "Makefile").exists():
        with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["tar", "-x"], cwd=folder, stdin=archive.stdout, check=True)
    subprocess.run(["make", "-s", "install-dev"], cwd=folder, check=True)
    has_package = (folder / "packages" / "roebot-testing").exists()
    model = Version.model if has_package else "agent.testing.model"
    return Version(commit, str(folder / ".venv" / "bin" / "python"), model=model)


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} in {path}"
    path.write_text(text.replace(old, new))
