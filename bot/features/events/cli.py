"""`roebot events`."""

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
events = typer.Typer(help="List and test event sources.", no_args_is_help=True)
commands.add_typer(events, name="events")


@events.command("list")
def list_sources(home: Home = None, file: File = None) -> None:
    """List the event sources with their addresses and the time of their last event."""
    from bot.features.events.source_commands import list_command

    raise SystemExit(list_command(home, file))


@events.command("test")
def test_source(
    source: Annotated[str, typer.Argument(help="Name of the source.")],
    resolve: Annotated[bool, typer.Option("--resolve", help="Resolve the test incident.")] = False,
    home: Home = None,
    file: File = None,
) -> None:
    """Send a test event in the format of a source to the running service."""
    from bot.features.events.source_commands import try_command

    raise SystemExit(try_command(source, home, file, resolve=resolve))


def check_events(folder: Path) -> Iterator[Finding]:
    """Check that every event source has a route."""
    from bot.features.events.source_commands import check_home

    yield from check_home(folder)


ADDITIONS = CliAdditions(commands, checks={"events": check_events})
