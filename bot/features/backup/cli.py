"""`roebot backup` and `roebot restore`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.additions import CliAdditions
from bot.cli.options import File, Home

if TYPE_CHECKING:
    from bot.cli.doctor import Finding

commands = typer.Typer()


@commands.command()
def backup(
    archive: Annotated[
        Path | None, typer.Argument(help="Archive to create (default: roebot-backup-DATE-TIME.tar.gz).")
    ] = None,
    home: Home = None,
    file: File = None,
) -> None:
    """Back up the data directory to an archive. The service can keep running.

    A PostgreSQL database is not included; use `pg_dump`.
    """
    from bot.features.backup.archive_commands import backup_command

    raise SystemExit(backup_command(archive, home, file))


@commands.command()
def restore(
    archive: Annotated[Path, typer.Argument(help="Archive created by `roebot backup`.")],
    home: Home = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move an existing data directory aside first.")
    ] = False,
) -> None:
    """Restore the data directory from an archive. The service must not be running."""
    from bot.features.backup.archive_commands import restore_command

    raise SystemExit(restore_command(archive, home, replace=replace))


def check_backup(folder: Path) -> Iterator[Finding]:
    """Check the age of the newest backup."""
    from bot.features.backup.archive_commands import find_missing_backup

    yield from find_missing_backup(folder)


ADDITIONS = CliAdditions(commands, checks={"backup": check_backup})
