"""Reference of who may use which route and command, from the table that the tests attack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scripts.reference.markdown import code, page, table
from tests.features.access_table import COMMANDS, IN_CHATS, LANGGRAPH, MANAGEMENT, SERVICE, Access

INTRO = """
This page lists who may use each route and command. A test attacks a running service with it
(`tests/features/test_access_table.py`): each route of the application, by each caller, with what
belongs to another person on an account where the caller has no power. A caller to whom a route is not open
must be refused, change nothing and see nothing.

The callers are: two without a credential, one of whom forges the headers of a proxy, a member, an admin of
another account, an admin of the account, an admin of all accounts, and an owner.

Another user of the machine and a command in a sandbox try every route as well, and the files, sockets and
processes of the service (`tests/sandbox/test_attacks_on_the_service.py`). Nothing answers a command in a
sandbox, whatever its network.

- **anyone**: no sign-in is needed.
- **everyone with access**: members, admins and owners. Lists contain only what the caller may see.
- **whose data it is, admins of its account**: for everybody else, it does not exist (404). A conversation in
  the console belongs to the platform from which its owner signed in.
- **admins, for their accounts**: any admin; the result is limited to the accounts on which they are one.
- **admins of the account**: the account that the request names, or that the data belongs to.
- **the person, admins of all accounts of their platform**: everyone may export and erase their own data.
- **admins of all accounts**: it affects everyone.
- **owners**: owners are also admins of all accounts.
- **whoever holds the token of the service**: also somebody with a session that came from it.
- **owners, on their own threads**: threads of their own conversations, and threads that they created with
  this API. Whatever the request says, the run works for the caller, without approvals of others.
"""
RUNTIME = "## Routes of the agent runtime\n\nThe service forwards these requests."
RAW = """## LangGraph API

Below `/api/langgraph`. Schedules (`crons`), `/mcp` and `/storage/compact` are refused there."""
CHAT = """## Commands

What a command shows and changes is limited in the same way as the routes: `/restart` to accounts of the
admin, `/announce` to chats on them, `/audit` to events on them. Switching skills and MCP servers on or off
requires an admin of all accounts."""
CHATS = """### Commands in a chat

Another test (`tests/features/test_commands_in_chats.py`) writes each command in chats of every
platform, naming what belongs to a person on another account, or to another person on the same one. Nobody
may change it or be told of it. Whether a command is carried out depends on whom it is open to:"""
HEAD = ["method", "path", "open to"]


def render_access_table() -> str:
    """Return the page as Markdown."""
    return page(
        "Access table",
        INTRO,
        "## Routes of the service",
        table(HEAD, _rows(SERVICE)),
        RUNTIME,
        table(HEAD, _rows(MANAGEMENT)),
        RAW,
        table(HEAD, _rows(LANGGRAPH)),
        CHAT,
        table(["command", "open to"], _commands()),
        CHATS,
        table(["who writes", *COMMANDS], _chats()),
    )


def _rows(doors: Mapping[Access, str]) -> Iterable[list[str]]:
    for access, lines in doors.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            method, path = line.split()
            yield [method, code(path), access.value]


def _commands() -> Iterable[list[str]]:
    for access, names in COMMANDS.items():
        for name in names.split():
            yield [f"`/{name}`", access.value]


def _chats() -> Iterable[list[str]]:
    for caller, carried_out in IN_CHATS.items():
        yield [caller, *("carried out" if access in carried_out else "refused" for access in COMMANDS)]
