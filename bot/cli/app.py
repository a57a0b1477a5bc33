"""The commands and their options. What they do is imported when they are called, so that each starts fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="roebot",
    help="A chat-ops bot that brings an AI agent into the chats where people work.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
agent = typer.Typer(help="The agent runtime alone.", no_args_is_help=True)
emulate = typer.Typer(help="Platforms to play with, on this machine.", no_args_is_help=True)
config = typer.Typer(help="The configuration file.", no_args_is_help=True)
app.add_typer(agent, name="agent")
app.add_typer(emulate, name="emulate")
app.add_typer(config, name="config")

Home = Annotated[
    Path | None, typer.Option(readable=False, help="The folder for everything that is kept (.roebot).")
]
File = Annotated[Path | None, typer.Option("--config", help="The configuration file (config.yaml).")]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"roebot {version('roebot')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """A chat-ops bot that brings an AI agent into the chats where people work."""


@app.command()
def run(
    home: Home = None,
    file: File = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")
    ] = None,
) -> None:
    """Start the service: page, terminal and every configured account."""
    from bot.cli.run import run_command

    run_command(home, file, host, port)


@app.command()
def chat(home: Home = None, file: File = None) -> None:
    """Talk to the agent in this terminal; `echo hi | roebot chat` prints one reply.

    Where no service of this home runs, one is started for as long as the chat lasts. At a terminal there is
    one conversation, which goes on the next time; `/new` begins afresh. What comes through a pipe is a
    conversation of its own each time.
    """
    from bot.cli.run import chat_command

    raise SystemExit(chat_command(home, file))


@app.command()
def doctor(
    home: Home = None,
    file: File = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for monitoring.")] = False,
) -> None:
    """Look at machine, configuration, accounts, models and the running service, and say what is wrong.

    Ends with 0 where nothing is bad, with 1 where anything is; notes don't count.
    """
    from bot.cli.doctor.command import doctor_command

    raise SystemExit(doctor_command(home, file, as_json=as_json))


@app.command()
def stop(home: Home = None) -> None:
    """End the service that uses this home."""
    from bot.cli.run import stop_command

    raise SystemExit(stop_command(home))


@app.command()
def backup(
    archive: Annotated[
        Path | None, typer.Argument(help="The archive to write; a name with the date where absent.")
    ] = None,
    home: Home = None,
) -> None:
    """Write an archive of everything that is kept, also while the service runs."""
    from bot.cli.backup import backup_command

    raise SystemExit(backup_command(archive, home))


@app.command()
def restore(
    archive: Annotated[Path, typer.Argument(help="An archive that `roebot backup` made.")],
    home: Home = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put a home that is there aside.")] = False,
) -> None:
    """Make the home what an archive holds. The service must not run."""
    from bot.cli.backup import restore_command

    raise SystemExit(restore_command(archive, home, replace=replace))


@app.command()
def init(
    platform: Annotated[str, typer.Argument(help="slack, feishu, telegram or discord.")] = "",
    name: Annotated[str, typer.Option(help="Name of the account; the platform's own where absent.")] = "",
    file: File = None,
    base_url: Annotated[str, typer.Option(help="Root of the platform's API, for an emulator.")] = "",
    home: Home = None,
) -> None:
    """Set up an account: ask for its tokens, try them, find its owner, write the configuration, start.

    Everything is tried before anything is written.

    A token in the environment (`NAME_BOT_TOKEN` and so on) is not asked for.
    """
    from bot.cli.init.command import init_command

    init_command(platform, name, file, base_url, home)


@app.command()
def manifest(platform: Annotated[str, typer.Argument(help="slack, feishu, telegram or discord.")]) -> None:
    """Say how to set up a bot on a platform."""
    from bot.cli.manifest import manifest_command

    manifest_command(platform)


@agent.command("serve")
def agent_serve(
    home: Home = None,
    file: File = None,
    graphs: Annotated[
        Path | None, typer.Option(help="A langgraph.json whose graphs to serve (default: ours).")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 2024,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="A further name by which the server may be asked for.")
    ] = None,
) -> None:
    """Serve graphs by the LangGraph API, without the bot."""
    from bot.cli.agent import agent_serve_command

    agent_serve_command(home, file, graphs, host, port, allowed_host or [])


@agent.command("acp")
def agent_acp(home: Home = None, file: File = None) -> None:
    """Be an agent of the Agent Client Protocol on standard input and output, for editors and other agents."""
    from bot.cli.agent import agent_acp_command

    agent_acp_command(home, file)


@emulate.command("telegram")
def emulate_telegram(
    host: Annotated[str, typer.Option(help="Loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 8081,
    scale: Annotated[float, typer.Option(help="Multiplies the periods of the rate limits.")] = 1.0,
    rich: Annotated[
        bool, typer.Option(help="Know sendRichMessage, as servers from Bot API 10.1 do.")
    ] = False,
) -> None:
    """Run a Telegram on this machine: a Bot API server with people, chats and true rate limits."""
    from bot.testing.emulators.telegram.cli import run as run_emulator

    raise SystemExit(run_emulator(host=host, port=port, scale=scale, rich=rich))


@emulate.command("discord")
def emulate_discord(
    host: Annotated[str, typer.Option(help="Loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 8084,
    scale: Annotated[float, typer.Option(help="Multiplies the periods of limits and life times.")] = 1.0,
) -> None:
    """Run a Discord on this machine: its API and gateway, with people, servers and true rate limits."""
    from bot.testing.emulators.discord.cli import run as run_emulator

    raise SystemExit(run_emulator(host=host, port=port, scale=scale))


@emulate.command("feishu")
def emulate_feishu(
    host: Annotated[str, typer.Option(help="Loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 8083,
    scale: Annotated[float, typer.Option(help="Multiplies the periods of limits and life times.")] = 1.0,
) -> None:
    """Run a Feishu on this machine: its API and long connection, with people, chats and true rate limits."""
    from bot.testing.emulators.feishu.cli import run as run_emulator

    raise SystemExit(run_emulator(host=host, port=port, scale=scale))


@emulate.command("slack")
def emulate_slack(
    host: Annotated[str, typer.Option(help="Loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 8082,
    scale: Annotated[float, typer.Option(help="Multiplies the periods of limits and streams.")] = 1.0,
) -> None:
    """Run a Slack on this machine: Web API, Socket Mode, people, channels and true rate limits."""
    from bot.testing.emulators.slack.cli import run as run_emulator

    raise SystemExit(run_emulator(host=host, port=port, scale=scale))


@config.command("check")
def config_check(home: Home = None, file: File = None) -> None:
    """Check the configuration, try what it names, and say what is wrong, with file, line and key."""
    from bot.cli.config import check_command

    raise SystemExit(check_command(home, file))


@config.command("schema")
def config_schema() -> None:
    """Print the JSON schema of config.yaml, for editors."""
    from bot.cli.config import schema_command

    schema_command()


@config.command("upgrade")
def config_upgrade(file: File = None) -> None:
    """Bring the configuration up to date: new names of keys, and every section that it lacks.

    Comments and order stay; the file as it was is kept beside it as `.bak`, `.bak.1` and so on.
    """
    from bot.cli.config import upgrade_command

    upgrade_command(file)
