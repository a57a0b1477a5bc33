"""Who may use which door, written down by hand: docs/internals/access-table.md shows it, the tests attack it.

A door is a route ("METHOD path") or a command. A new one without a line here fails the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from bot.access import Role


class Access(StrEnum):
    """Whom a door is open to; the value is what the reference says."""

    ANYONE = "anyone"
    MEMBERS = "everyone with access"
    OWN = "whose data it is, admins of its account"
    ADMINS = "admins, for their accounts"
    ACCOUNT = "admins of the account"
    PERSON = "the person, admins of all accounts of their platform"
    ALL = "admins of all accounts"
    OWNERS = "owners"
    TOKEN = "whoever holds the token of the service"
    RAW = "owners, on their own threads"


LEAST = {
    Access.ANYONE: Role.BLOCKED,
    **dict.fromkeys((Access.MEMBERS, Access.OWN, Access.PERSON), Role.MEMBER),
    **dict.fromkeys((Access.ADMINS, Access.ACCOUNT, Access.ALL), Role.ADMIN),
    **dict.fromkeys((Access.OWNERS, Access.TOKEN, Access.RAW), Role.OWNER),
}
"""The role without which a door is closed to everybody, whatever they ask for."""
PREFIX = "/api/langgraph"
"""Where the service has the agent runtime's own API."""


SERVICE = {
    Access.ANYONE: """
    GET /
    GET /favicon.ico
    GET /static
    GET /static/build-{build}
    GET /health
    GET /health/ready
    POST /api/session
    DELETE /api/session
    GET /api/session/oidc
    GET /api/session/oidc/callback
    POST /webhooks/{account}
    POST /events/{source}
    PUT /events/{source}
    OPTIONS /events/{source}
    GET /api/mcp/sign-in/start
    GET /api/mcp/sign-in/callback
""",
    Access.MEMBERS: """
    GET /diagram
    GET /api/session
    PUT /api/session/language
    GET /api/search
    GET /api/openapi.json
    GET /api/commands
    GET /api/names
    GET /api/docs
    GET /api/docs/{page:path}
    GET /api/overview
    GET /api/overview/counts
    GET /api/conversations
    POST /api/conversations
    POST /api/schedules/preview
    GET /api/schedules
    GET /api/schedules/calendar
    GET /api/turns
    GET /api/usage
    GET /api/usage/breakdown
""",
    Access.OWN: """
    GET /api/conversations/{conversation}
    PATCH /api/conversations/{conversation}
    DELETE /api/conversations/{conversation}
    PUT /api/conversations/{conversation}/model
    PUT /api/conversations/{conversation}/agent
    GET /api/conversations/{conversation}/export
    GET /api/conversations/{conversation}/messages
    POST /api/conversations/{conversation}/messages
    GET /api/conversations/{conversation}/usage
    GET /api/turns/{turn}/trace
    GET /api/conversations/{conversation}/events
    POST /api/conversations/{conversation}/stop
    POST /api/schedules
    GET /api/schedules/{schedule}
    PATCH /api/schedules/{schedule}
    DELETE /api/schedules/{schedule}
    POST /api/schedules/{schedule}/pause
    POST /api/schedules/{schedule}/resume
    POST /api/schedules/{schedule}/trigger
    GET /api/schedules/{schedule}/runs
    GET /api/turns/{turn}
    GET /api/turns/{turn}/documents/{part}
    POST /api/turns/{turn}/parts/{part}/choice
    POST /api/turns/{turn}/retry
    POST /api/turns/{turn}/edit
    PUT /api/turns/{turn}/rating
""",
    Access.ADMINS: """
    GET /api/access
    GET /api/audit
    GET /api/channels
""",
    Access.ACCOUNT: """
    PUT /api/access/{entry}
    DELETE /api/access/{entry}
    POST /api/access/pair
    POST /api/access/waiting/{entry}
    DELETE /api/access/waiting/{entry}
    POST /api/channels/{account}/restart
    GET /api/profiles
    PUT /api/profiles/{setting}
    DELETE /api/profiles/{setting}
    POST /api/profiles/undo
""",
    Access.PERSON: """
    GET /api/people/{person}/data
    DELETE /api/people/{person}/data
    GET /api/people/{person}/erasure
""",
    Access.ALL: """
    GET /metrics
    GET /metrics/agent
    GET /api/events/sources
    POST /api/events/sources/{source}/replay
    POST /api/events/sources/{source}/test
    GET /api/settings
    GET /api/settings/options
    GET /api/settings/versions
    POST /api/settings/check
    POST /api/settings/preview
    POST /api/settings/apply
""",
    Access.OWNERS: """
    POST /api/settings/restore
    GET /api/tokens
    POST /api/tokens
    DELETE /api/tokens/{name}
""",
    Access.TOKEN: """
    POST /api/session/links
""",
}
"""The service's own routes."""
MANAGEMENT = {
    Access.MEMBERS: """
    GET /api/models
    GET /api/skills
    GET /api/agents
""",
    Access.OWN: """
    GET /api/memory
    DELETE /api/memory
    POST /api/memory/reload
    GET /api/memory/status
    POST /api/memory/facts
    PATCH /api/memory/facts/{fact}
    DELETE /api/memory/facts/{fact}
    POST /api/threads/{thread_id}/uploads
    GET /api/threads/{thread_id}/uploads/list
    DELETE /api/threads/{thread_id}/uploads/{filename}
    POST /api/threads/{thread_id}/uploads/{filename}/transcript
    GET /api/threads/{thread_id}/artifacts/{path}
    POST /api/threads/{thread_id}/suggestions
""",
    Access.ADMINS: """
    GET /api/models/{name}
    GET /api/skills/{name}
    GET /api/skills/{name}/versions
    GET /api/agents/{name}
    GET /api/mcp/servers
    GET /api/mcp/sign-ins/link
""",
    Access.ACCOUNT: """
    DELETE /api/threads/{thread_id}
""",
    Access.ALL: """
    POST /api/models/{name}/probe
    PUT /api/skills/{name}
    POST /api/agents
    PUT /api/agents/{name}
    DELETE /api/agents/{name}
    GET /api/mcp/config
    PUT /api/mcp/servers/{name}
    POST /api/mcp/sign-ins/complete
    POST /api/mcp/sign-ins/erase
    GET /api/config/problems
    GET /api/memory/config
""",
    Access.OWNERS: """
    PUT /api/mcp/config
    POST /api/mcp/servers
    POST /api/mcp/servers/check
    PATCH /api/mcp/servers/{name}
    DELETE /api/mcp/servers/{name}
    POST /api/skills/install
    POST /api/skills/check
    DELETE /api/skills/{name}
    POST /api/skills/{name}/upgrade
    POST /api/skills/{name}/restore
""",
}
"""Calls that are forwarded to the agent runtime's management routes."""
LANGGRAPH = {
    Access.OWNERS: """
    GET /ok
    GET /metrics
    GET /info
    POST /assistants
    POST /assistants/search
    POST /assistants/count
    GET /assistants/{assistant_id}
    PATCH /assistants/{assistant_id}
    DELETE /assistants/{assistant_id}
    GET /assistants/{assistant_id}/graph
    GET /assistants/{assistant_id}/schemas
    GET /assistants/{assistant_id}/subgraphs
    GET /assistants/{assistant_id}/subgraphs/{namespace}
    POST /assistants/{assistant_id}/versions
    POST /assistants/{assistant_id}/latest
    POST /threads
    POST /threads/search
    POST /threads/count
    POST /runs
    POST /runs/stream
    POST /runs/wait
    POST /runs/batch
    PUT /store/items
    GET /store/items
    DELETE /store/items
    POST /store/items/search
    POST /store/namespaces
    POST /storage/compact
    POST /mcp
    POST /runs/crons
    POST /runs/crons/search
    POST /runs/crons/count
    GET /runs/crons/{cron_id}
    PATCH /runs/crons/{cron_id}
    DELETE /runs/crons/{cron_id}
    POST /threads/{thread_id}/runs/crons
""",
    Access.RAW: """
    POST /threads/prune
    GET /threads/{thread_id}
    PATCH /threads/{thread_id}
    DELETE /threads/{thread_id}
    GET /threads/{thread_id}/state
    POST /threads/{thread_id}/state
    GET /threads/{thread_id}/state/{checkpoint_id}
    POST /threads/{thread_id}/state/checkpoint
    GET /threads/{thread_id}/history
    POST /threads/{thread_id}/history
    POST /threads/{thread_id}/copy
    GET /threads/{thread_id}/runs
    POST /threads/{thread_id}/runs
    POST /threads/{thread_id}/runs/stream
    POST /threads/{thread_id}/runs/wait
    GET /threads/{thread_id}/runs/{run_id}
    DELETE /threads/{thread_id}/runs/{run_id}
    POST /threads/{thread_id}/runs/{run_id}/cancel
    GET /threads/{thread_id}/runs/{run_id}/join
    GET /threads/{thread_id}/runs/{run_id}/stream
    POST /threads/{thread_id}/commands
    POST /threads/{thread_id}/stream/events
    GET /threads/{thread_id}/stream
    POST /runs/cancel
""",
}
"""Calls of the agent runtime's own API, below /api/langgraph."""
COMMANDS = {
    Access.MEMBERS: """
    help ask language new status stop retry compact threads resume title models model agent plan busy memory
    usage digest incident oncall why record data skills approve reject approved whoami page
""",
    Access.ADMINS: "allow revoke role pair budget audit accounts restart announce skill mcp channel",
    Access.ALL: "reload",
}
"""Commands in a chat. What they show and change is limited to the accounts of the caller, like the routes."""


class ChatCaller(StrEnum):
    """Somebody who writes commands in a chat of an account; the value is what the reference says."""

    STRANGER = "somebody without access to the account"
    MEMBER = "a member"
    VISITOR = "a member who is an admin of another account"
    ADMIN = "an admin of this account, but not of all"


IN_CHATS: Mapping[ChatCaller, frozenset[Access]] = {
    ChatCaller.STRANGER: frozenset(),
    ChatCaller.MEMBER: frozenset({Access.MEMBERS}),
    ChatCaller.VISITOR: frozenset({Access.MEMBERS}),
    ChatCaller.ADMIN: frozenset({Access.MEMBERS, Access.ADMINS}),
}
"""The commands that are carried out for whoever writes them in a chat, by whom they are open to."""


def doors(table: Mapping[Access, str]) -> dict[str, Access]:
    """Return whom each route of a table is open to."""
    return {
        line.strip(): access for access, lines in table.items() for line in lines.splitlines() if line.strip()
    }


def commands() -> dict[str, Access]:
    """Return whom each command is open to."""
    return {name: access for access, names in COMMANDS.items() for name in names.split()}


def every_route() -> dict[str, Access]:
    """Return whom each route is open to, with the prefix that the service gives it."""
    langgraph = {line.replace(" /", f" {PREFIX}/", 1): access for line, access in doors(LANGGRAPH).items()}
    return {**doors(SERVICE), **doors(MANAGEMENT), **langgraph}


def least_roles(table: Mapping[str, Access]) -> dict[str, Role]:
    """Return the role that each door requires at least."""
    return {door: LEAST[access] for door, access in table.items()}
