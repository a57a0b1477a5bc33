"""Commands and options of `roebot`. Implementations are imported when they are called, which keeps startup
fast.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.shared.replica_folder import REPLICA_VARIABLE
from bot.cli.additions import load_additions
from bot.cli.options import File, Home

if TYPE_CHECKING:
    from bot.texts import Texts

app = typer.Typer(
    name="roebot",
    help="A chat-ops bot that brings an AI agent into your team's chats.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
agent = typer.Typer(help="Run the agent runtime without the bot.", no_args_is_help=True)
config = typer.Typer(
    help="Check or upgrade the configuration file, or print its schema.", no_args_is_help=True
)
token = typer.Typer(
    short_help="Print or replace the token of the service; manage API tokens.", invoke_without_command=True
)
agent_token = typer.Typer(
    short_help="Print or replace the token of `roebot agent serve`.", invoke_without_command=True
)
app.add_typer(token, name="token")
app.add_typer(agent, name="agent")
agent.add_typer(agent_token, name="token")
app.add_typer(config, name="config")
security = typer.Typer(help="Review who can reach the service and what they can do.", no_args_is_help=True)
app.add_typer(security, name="security")

Port = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on (0: any free port).")]


class Locale(StrEnum):
    """Languages of the guided setup."""

    EN = "en"
    ZH = "zh"


class TokenScope(StrEnum):
    """Scopes of API tokens."""

    READ = "read"
    TURNS = "turns"
    ADMIN = "admin"


Target = Annotated[
    str, typer.Option("--to", help="`postgres`, `sqlite`, or the schema of an earlier version of Roebot.")
]
Language = Annotated[
    Locale | None, typer.Option(help="Language of the prompts (default: the language of the terminal).")
]


def _texts(language: Locale | None) -> Texts:
    from bot.cli.init.prompts import find_locale
    from bot.texts import texts_for

    return texts_for(language or find_locale(os.environ))


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"roebot {version('roebot')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A chat-ops bot that brings an AI agent into your team's chats."""


@app.command()
def run(
    home: Home = None,
    file: File = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port to listen on (0: any free port).")
    ] = None,
    replica: Annotated[
        str,
        typer.Option(
            envvar=REPLICA_VARIABLE,
            help="Name of this replica. Replicas share the data directory and a PostgreSQL database.",
        ),
    ] = "",
) -> None:
    """Start the service with the web console, terminal chat and all configured accounts."""
    from bot.cli.run import run_command

    run_command(home, file, host, port, replica)


@app.command()
def chat(home: Home = None, file: File = None) -> None:
    """Chat with the agent in this terminal, or pipe in one message: `echo hi | roebot chat`.

    If no service is running, one is started for the duration of the chat. In a terminal, the chat resumes
    the previous conversation; `/new` starts over. Piped input always starts a new conversation.
    """
    from bot.cli.run import chat_command

    raise SystemExit(chat_command(home, file))


@app.command()
def doctor(
    home: Home = None,
    file: File = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, for monitoring.")
    ] = False,
) -> None:
    """Check the machine, configuration, accounts, models and running service.

    The exit code is 1 if any check fails. Notes don't count as failures.
    """
    from bot.cli.doctor.command import doctor_command

    raise SystemExit(doctor_command(home, file, as_json=as_json))


@app.command()
def link(
    home: Home = None,
    file: File = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
) -> None:
    """Print a single-use link that signs you in to the web console as the owner.

    The service must be running. The link expires after ten minutes and replaces any earlier one.
    """
    from bot.cli.token_commands import link_command

    raise SystemExit(link_command(home, file, open_browser=open_browser))


@token.callback()
def token_root(context: typer.Context, home: Home = None, file: File = None) -> None:
    """Print the token that the web console and the API require.

    It is generated at the first start. `server.token` and the environment variable ROEBOT_TOKEN override it.
    """
    if context.invoked_subcommand is None:
        from bot.cli.token_commands import print_service_token

        print_service_token(home, file)


@token.command("rotate")
def token_rotate(home: Home = None, file: File = None) -> None:
    """Replace the token. A running service accepts the new one at once, and all sessions of the owner end."""
    from bot.cli.token_commands import rotate_service_token

    raise SystemExit(rotate_service_token(home, file))


@token.command("create")
def token_create(
    name: Annotated[str, typer.Option(help="Name, such as ci; the audit log shows it.")],
    scope: Annotated[TokenScope, typer.Option(help="What the token allows.")],
    expires: Annotated[str, typer.Option(help="Lifetime in days, such as 90d; at most 366d.")],
    home: Home = None,
    file: File = None,
) -> None:
    """Create an API token for a program and print it. The service must be running.

    read: GET requests, as an admin; turns: like a member, with its own conversations; admin: like an admin.
    """
    from bot.cli.token_commands import create_api_token

    create_api_token(home, file, name, scope.value, expires)


@token.command("list")
def token_list(home: Home = None, file: File = None) -> None:
    """List the API tokens. The service must be running."""
    from bot.cli.token_commands import list_api_tokens

    list_api_tokens(home, file)


@token.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(help="Name of the API token.")], home: Home = None, file: File = None
) -> None:
    """Revoke an API token. It stops working at once. The service must be running."""
    from bot.cli.token_commands import revoke_api_token

    revoke_api_token(home, file, name)


@agent_token.callback()
def agent_token_root(context: typer.Context, home: Home = None) -> None:
    """Print the token that `roebot agent serve` requires.

    It is generated at the first start. The environment variable ROEBOT_RUNTIME_TOKEN overrides it.
    """
    if context.invoked_subcommand is None:
        from bot.cli.token_commands import print_agent_token

        print_agent_token(home)


@agent_token.command("rotate")
def agent_token_rotate(home: Home = None) -> None:
    """Replace the token. A running server accepts the new one within a second."""
    from bot.cli.token_commands import rotate_agent_token

    rotate_agent_token(home)


@app.command()
def stop(home: Home = None) -> None:
    """Stop the service that uses this data directory."""
    from bot.cli.run import stop_command

    raise SystemExit(stop_command(home))


@app.command()
def migrate(to: Target, home: Home = None, file: File = None) -> None:
    """Copy all data from SQLite to the PostgreSQL database of `database.url`, or back.

    The service must not be running. The target must be empty. If the command is interrupted, run it again:
    it continues. The source stays unchanged.

    If `--to` is a schema, such as 0030, return the bot's tables to it instead: drop what later versions
    added.
    """
    from bot.cli.migrate import migrate_command

    raise SystemExit(migrate_command(home, file, to))


@app.command()
def init(
    platform: Annotated[str, typer.Argument(help="Platform (default: choose from a list).")] = "",
    name: Annotated[str, typer.Option(help="Account name (default: the platform's name).")] = "",
    file: File = None,
    base_url: Annotated[str, typer.Option(help="Base URL of the platform's API, to use an emulator.")] = "",
    home: Home = None,
    language: Language = None,
) -> None:
    """Set up an account: ask for its tokens and owner, test it, write the configuration, start the service.

    Nothing is written until all tests have passed.

    You are not asked for tokens that are set in the environment (such as `NAME_BOT_TOKEN`).
    """
    from bot.cli.init.command import init_command

    init_command(platform, name, file, base_url, home, _texts(language))


@app.command()
def manifest(
    platform: Annotated[str, typer.Argument(help="Platform; `roebot init` lists them.")],
    language: Language = None,
) -> None:
    """Print the setup steps for a platform."""
    from bot.cli.manifest import manifest_command

    manifest_command(platform, _texts(language))


@agent.command("serve")
def agent_serve(
    home: Home = None,
    file: File = None,
    graphs: Annotated[
        Path | None, typer.Option(help="langgraph.json with the graphs to serve (default: Roebot's own).")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on (0: any free port).")
    ] = 2024,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="Additional host name to accept in requests.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(help="Origin whose pages may call the server, such as https://*.example.com (*: any)."),
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Maximum number of open connections.")] = 1024,
    header_seconds: Annotated[
        int, typer.Option(min=1, help="Seconds within which a request's headers must arrive.")
    ] = 10,
    body_seconds: Annotated[
        int, typer.Option(min=1, help="Seconds within which a body must arrive; each kB adds one.")
    ] = 20,
    max_body_mb: Annotated[
        int, typer.Option(min=1, help="Maximum request size in MB, without uploaded files.")
    ] = 64,
) -> None:
    """Serve graphs through the LangGraph API, without the bot."""
    from bot.cli.run import agent_serve_command

    limits = {
        "--max-connections": max_connections,
        "--header-seconds": header_seconds,
        "--body-seconds": body_seconds,
        "--max-body-mb": max_body_mb,
    }
    names = {"--allowed-host": allowed_host or [], "--cors-origin": cors_origin or []}
    agent_serve_command(home, file, graphs, host, port, names, limits)


@agent.command("migrate")
def agent_migrate(to: Target, home: Home = None, file: File = None) -> None:
    """Copy the agent's data alone, as for an installation that runs only `roebot agent serve`.

    It works like `roebot migrate`.
    """
    from bot.cli.migrate import agent_migrate_command

    raise SystemExit(agent_migrate_command(home, file, to))


@agent.command("acp")
def agent_acp(home: Home = None, file: File = None) -> None:
    """Run as an Agent Client Protocol (ACP) agent over stdin and stdout, for editors and other agents."""
    from bot.cli.run import agent_acp_command

    agent_acp_command(home, file)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def emulate(
    context: typer.Context,
    platform: Annotated[str, typer.Argument(help="Platform that the package roebot-testing emulates.")],
) -> None:
    """Run a local platform emulator, with people, chats and real rate limits.

    Its options follow the platform: `--port` (0: any free port), `--scale` (a factor for the periods of all
    rate limits) and those that `roebot emulate PLATFORM -- --help` lists.
    """
    from bot.cli.emulate import run_emulator

    raise SystemExit(run_emulator(platform, context.args))


@config.command("check")
def config_check(home: Home = None, file: File = None) -> None:
    """Check the configuration and everything it refers to. Errors are listed with file, line and key."""
    from bot.cli.config import check_command

    raise SystemExit(check_command(home, file))


@config.command("schema")
def config_schema() -> None:
    """Print the JSON schema for config.yaml, for use in an editor."""
    from bot.cli.config import schema_command

    schema_command()


@config.command("upgrade")
def config_upgrade(file: File = None) -> None:
    """Upgrade the configuration file: rename old keys and update its version.

    Comments and the order of keys are preserved. The old file is saved as `.bak`, `.bak.1` and so on.
    """
    from bot.cli.config import upgrade_command

    upgrade_command(file)


@security.command("audit")
def security_audit(
    home: Home = None,
    file: File = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, for monitoring.")
    ] = False,
) -> None:
    """List entry points, what members and admins can do, and weaknesses in the configuration and its files.

    The exit code is 2 if a finding is critical, 1 if there is a warning, else 0. Nothing is changed.
    """
    from bot.cli.security.command import audit_command

    raise SystemExit(audit_command(home, file, as_json=as_json))


for additions in load_additions():
    app.add_typer(additions.commands)
