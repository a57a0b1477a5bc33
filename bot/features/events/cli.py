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
events = typer.Typer(help="Add, list, test and repair event sources.", no_args_is_help=True)
commands.add_typer(events, name="events")


@events.command("list")
def list_sources(home: Home = None, file: File = None) -> None:
    """List the event sources with their addresses and the time of their last event."""
    from bot.features.events.source_commands import list_command

    raise SystemExit(list_command(home, file))


@events.command("add")
def add_source(
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="Type of the source, such as alertmanager.")],
    account: Annotated[str, typer.Option(help="Account that posts the incidents.")],
    chat: Annotated[str, typer.Option(help="Id of the chat, as /status shows it.")],
    topic: Annotated[str, typer.Option(help="Id of the topic in the chat.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Set if the chat is private.")] = False,
    name: Annotated[str, typer.Option(help="Name of the source (default: its type).")] = "",
    home: Home = None,
    file: File = None,
) -> None:
    """Add an event source and its route to the configuration."""
    from bot.features.events.add_command import NewSource, add_command

    new = NewSource(kind, name or kind, account, chat, topic, is_private=private)
    raise SystemExit(add_command(new, home, file))


@events.command("test")
def test_source(
    source: Annotated[str, typer.Argument(help="Name of the source.")],
    home: Home = None,
    file: File = None,
) -> None:
    """Have the running service receive a test event in the format of a source, and its end."""
    from bot.features.events.source_commands import try_command

    raise SystemExit(try_command(source, home, file))


@events.command("replay")
def replay_source(
    source: Annotated[str, typer.Argument(help="Name of the source.")],
    hours: Annotated[float, typer.Option(help="Hours to go back.", min=0.0)] = 24.0,
    home: Home = None,
    file: File = None,
) -> None:
    """Apply the stored events of a source again, for example after a change of its routes or mapping."""
    from bot.features.events.source_commands import replay_command

    raise SystemExit(replay_command(source, home, file, hours=hours))


@events.command("backfill")
def backfill_source(
    source: Annotated[str, typer.Argument(help="Name of the source.")],
    hours: Annotated[float, typer.Option(help="Hours to go back.", min=0.0)] = 24.0,
    home: Home = None,
    file: File = None,
) -> None:
    """Recover events that GitHub or Sentry could not deliver, since neither retries."""
    from bot.features.events.backfill import backfill_command

    raise SystemExit(backfill_command(source, home, file, hours=hours))


def check_events(folder: Path) -> Iterator[Finding]:
    """Check the routes, requests and clocks of the event sources."""
    from bot.features.events.source_commands import check_home

    yield from check_home(folder)


ADDITIONS = CliAdditions(commands, checks={"events": check_events})
