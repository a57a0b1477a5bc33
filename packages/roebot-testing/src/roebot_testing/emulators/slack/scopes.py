"""OAuth scopes of the bot token: requirements of each method and message event.

From the pages of the methods, events and scopes (docs.slack.dev/reference).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import CHANNEL, GROUP, IM, MPIM
from roebot_testing.emulators.slack.workspace import SlackWorkspace

HISTORY: Mapping[str, str] = {
    CHANNEL: "channels:history",
    GROUP: "groups:history",
    MPIM: "mpim:history",
    IM: "im:history",
}
"""Scopes that let an app read, and get events of, messages in each kind of conversation."""
READ: Mapping[str, str] = {
    CHANNEL: "channels:read",
    GROUP: "groups:read",
    MPIM: "mpim:read",
    IM: "im:read",
}
MENTIONS = "app_mentions:read"
CUSTOMIZE = "chat:write.customize"
CONNECTIONS_OPEN, CONNECTIONS_WRITE = "apps.connections.open", "connections:write"
"""The method of Socket Mode, and the scope that an app-level token needs for it (docs.slack.dev, scopes)."""
_FACE = ("username", "icon_emoji", "icon_url")


@dataclass(frozen=True, slots=True)
class MethodScope:
    """Scopes of one method: `always`, one of `by_kind` for the conversation that it names, and `customize`
    for a name or icon other than the app's.
    """

    always: str = ""
    by_kind: Mapping[str, str] | None = None
    customize: bool = False


METHOD_SCOPES: Mapping[str, MethodScope] = {
    "chat.postMessage": MethodScope("chat:write", customize=True),
    "chat.postEphemeral": MethodScope("chat:write"),
    "chat.update": MethodScope("chat:write"),
    "chat.delete": MethodScope("chat:write"),
    "chat.startStream": MethodScope("chat:write"),
    "chat.appendStream": MethodScope("chat:write"),
    "chat.stopStream": MethodScope("chat:write"),
    "assistant.threads.setStatus": MethodScope("chat:write"),
    "assistant.threads.setSuggestedPrompts": MethodScope("assistant:write"),
    "agents.sessions.setStatus": MethodScope("chat:write", customize=True),
    "agents.sessions.rename": MethodScope("chat:write"),
    "conversations.history": MethodScope(by_kind=HISTORY),
    "conversations.replies": MethodScope(by_kind=HISTORY),
    "conversations.info": MethodScope(by_kind=READ),
    "conversations.open": MethodScope("im:write"),
    "reactions.add": MethodScope("reactions:write"),
    "reactions.remove": MethodScope("reactions:write"),
    "users.info": MethodScope("users:read"),
    "bots.info": MethodScope("users:read"),
    "usergroups.list": MethodScope("usergroups:read"),
    "usergroups.users.list": MethodScope("usergroups:read"),
    "files.getUploadURLExternal": MethodScope("files:write"),
    "files.completeUploadExternal": MethodScope("files:write", customize=True),
    "files.info": MethodScope("files:read"),
}
"""Methods that are not listed need no scope of the bot token (auth.test, apps.connections.open)."""


def check_scopes(method: str, values: Mapping[str, Any], world: SlackWorkspace) -> None:
    """Raise missing_scope like Slack, with the required and the granted scopes."""
    if method == CONNECTIONS_OPEN and CONNECTIONS_WRITE not in world.app_scopes.split(","):
        raise SlackApiError("missing_scope", needed=CONNECTIONS_WRITE, provided=world.app_scopes)
    scope = METHOD_SCOPES.get(method, MethodScope())
    granted = frozenset(world.scopes.split(","))
    needed = [scope.always] if scope.always else []
    if scope.by_kind is not None:
        needed += _needed_in(world, values.get("channel"), scope.by_kind, granted)
    if scope.customize and any(values.get(name) for name in _FACE):
        needed.append(CUSTOMIZE)
    for one in needed:
        if not granted.issuperset(one.split(",")):
            raise SlackApiError("missing_scope", needed=one, provided=world.scopes)


def event_scope(kind: str, *, mentioned: bool) -> str:
    """Return the scope without which Slack sends no event of a message in a conversation of `kind`."""
    return MENTIONS if mentioned else HISTORY[kind]


def has_scope(world: SlackWorkspace, scope: str) -> bool:
    """Return True if the bot token has a scope."""
    return scope in world.scopes.split(",")


def _needed_in(
    world: SlackWorkspace, channel: Any, by_kind: Mapping[str, str], granted: frozenset[str]
) -> Sequence[str]:
    """Return the scope for a channel's kind; for an unknown channel all scopes, if none is granted."""
    found = world.channels.get(str(channel))
    if found is not None:
        return [by_kind[found.kind]]
    return [] if granted & set(by_kind.values()) else [",".join(by_kind.values())]
