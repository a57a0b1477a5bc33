"""File modes: access by other users of this machine to data, secrets and configuration."""

from __future__ import annotations

import grp
import pwd
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.cli.security import Installation, SecurityFinding, Severity
from bot.cli.security.agent_powers import enabled_servers
from bot.config.models import secrets_of

READ_BY_OTHERS, WRITTEN_BY_OTHERS = 0o044, 0o022
SECRETS = (
    *("bot.db", "agent.db", "checkpoints.db", "service.token", "agent.token"),
    *("audit.key", "audit.head", "extensions_config.json"),
)
"""Files of the data directory that nobody else may read, if they can enter it."""
ENVIRONMENT = (".env", "environment")
BACKUPS = "roebot-backup-*.tar.gz"


def check_files(found: Installation) -> Iterator[SecurityFinding]:
    """Check the modes of the data directory, configuration, environment files and backups."""
    yield from _check_home(found.home)
    yield from _check_config(found)
    if found.extensions_path is not None:
        yield from _check_writable(found.extensions_path, "MCP servers that run programs")
        if any(_has_literal_secret(server) for server in enabled_servers(found).values()):
            yield from _check_secret_file(found.extensions_path, "extensions", "credentials of MCP servers")
    folders = {found.folder, *([found.path.parent] if found.path else [])}
    for folder in sorted(folders):
        for name in ENVIRONMENT:
            yield from _check_secret_file(folder / name, "environment", "tokens and keys")
    for folder in sorted({found.folder, found.home.parent}):
        for archive in sorted(folder.glob(BACKUPS)):
            yield from _check_secret_file(archive, "backup", "all messages, files and keys")
    for name, text in (
        ("skills.path", found.config.skills.path),
        ("memory.storage_path", found.config.memory.storage_path),
    ):
        if text is not None:
            yield from _check_writable(found.folder / text, f"what the agent reads as its own ({name})")


def _has_literal_secret(server: Mapping[str, Any]) -> bool:
    """Return whether the environment or headers of an MCP server contain literal values in addition to
    references ($NAME).
    """
    values = [*dict(server.get("env") or {}).values(), *dict(server.get("headers") or {}).values()]
    return any("$" not in str(value) for value in values) or bool(server.get("oauth"))


def _mode(path: Path) -> int:
    """Return the permission bits, without those of a private group, or 0 if the file does not exist."""
    with suppress(OSError):
        status = path.stat()
        mode = stat.S_IMODE(status.st_mode)
        return mode & ~0o070 if _is_private_group(status.st_uid, status.st_gid) else mode
    return 0


def _is_private_group(user: int, group: int) -> bool:
    """Return whether a group has the user's name and no other members, as most systems create it."""
    with suppress(KeyError):
        found = grp.getgrgid(group)
        name = pwd.getpwuid(user).pw_name
        return found.gr_name == name and set(found.gr_mem) <= {name}
    return False


def _check_home(home: Path) -> Iterator[SecurityFinding]:
    mode = _mode(home)
    if mode & 0o022:
        yield SecurityFinding(
            "home-writable",
            Severity.CRITICAL,
            f"other users can write to the data directory {home} (mode {mode:o})",
            "They can replace the service's databases, its key and its skills.",
            f"Run chmod 700 {home}",
        )
    elif mode & 0o055:
        bare = [name for name in SECRETS if _mode(home / name) & READ_BY_OTHERS]
        what = f"read {', '.join(bare)} in" if bare else "list"
        yield SecurityFinding(
            "home-readable",
            Severity.CRITICAL if bare else Severity.WARNING,
            f"other users can {what} the data directory {home} (mode {mode:o})",
            "It holds all messages, files, memory and keys.",
            f"Run chmod -R go= {home}",
        )


def _check_config(found: Installation) -> Iterator[SecurityFinding]:
    path = found.path
    if path is None:
        return
    yield from _check_writable(path, "owners, tools and programs of the service")
    text = ""
    with suppress(OSError, UnicodeError):
        text = path.read_text(encoding="utf-8")
    if not any(secret in text for secret in secrets_of(found.config)):
        return
    if (mode := _mode(path)) & READ_BY_OTHERS:
        yield SecurityFinding(
            "config-readable",
            Severity.CRITICAL,
            f"other users can read the secrets in {path} (mode {mode:o})",
            "With a bot's token or the service's token, they act as the bot or as its owner.",
            f"Run chmod 600 {path}, and replace these secrets.",
        )
    else:
        yield SecurityFinding(
            "config-secrets",
            Severity.NOTE,
            f"{path} contains secrets",
            "They end up in copies, backups and version control.",
            "Move them to environment variables, and write $NAME instead.",
        )


def _check_writable(path: Path, what: str) -> Iterator[SecurityFinding]:
    """Check that nobody else can replace a file, by writing to it or to its folder (unless sticky)."""
    for one, sticky in ((path, False), (path.parent, True)):
        mode = _mode(one)
        if mode & WRITTEN_BY_OTHERS and not (sticky and mode & stat.S_ISVTX):
            yield SecurityFinding(
                "config-writable",
                Severity.CRITICAL,
                f"other users can change {one} (mode {mode:o})",
                f"It determines {what}.",
                f"Run chmod go-w {one}",
            )


def _check_secret_file(path: Path, kind: str, holds: str) -> Iterator[SecurityFinding]:
    mode = _mode(path)
    if mode & READ_BY_OTHERS and path.is_file():
        yield SecurityFinding(
            f"{kind}-readable",
            Severity.CRITICAL,
            f"other users can read {path} (mode {mode:o})",
            f"It holds {holds}.",
            f"Run chmod 600 {path}",
        )
