"""`roebot erase` and `roebot audit verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.additions import CliAdditions
from bot.cli.options import File, Home

if TYPE_CHECKING:
    from bot.cli.security import Installation, SecurityFinding

commands = typer.Typer()
audit = typer.Typer(help="Verify the audit log.", no_args_is_help=True)
commands.add_typer(audit, name="audit")


@commands.command()
def erase(
    person: Annotated[str, typer.Argument(help="`platform:id`; the command whoami shows it.")],
    home: Home = None,
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Erase a person's data, and print what was erased.

    The service must be running. The exit code is 1 if something could not be erased yet; the service then
    continues by itself.
    """
    from bot.features.privacy.erase_command import erase_command

    raise SystemExit(erase_command(person, home, file, yes=yes, as_json=as_json))


@audit.command("verify")
def audit_verify(
    home: Home = None,
    file: File = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, for monitoring.")
    ] = False,
) -> None:
    """Verify that no audit event was changed, inserted or deleted in the database.

    The exit code is 1 if one was. The service can keep running.
    """
    from bot.features.privacy.verify_command import verify_command

    raise SystemExit(verify_command(home, file, as_json=as_json))


def check_audit_log(installation: Installation) -> Iterator[SecurityFinding]:
    """Check that nobody changed the audit log."""
    from bot.features.privacy.verify_command import find_tampering

    yield from find_tampering(installation)


ADDITIONS = CliAdditions(commands, security_checks=(check_audit_log,))
