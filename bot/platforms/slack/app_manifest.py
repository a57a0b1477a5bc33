"""The manifest from which Slack creates the app, and a link that contains it.

Fields and limits are those of docs.slack.dev/reference/app-manifest. A new app has `agent_view`; apps with
`assistant_view` are older (docs.slack.dev/ai/migrating-to-agent-messaging).
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import yaml

REACTIONS_SCOPE = "reactions:write"
BOT_SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    REACTIONS_SCOPE,
    "users:read",
)
"""What the app may do; each is used by a call or an event of this adapter."""
OPTIONAL_SCOPES = frozenset({"channels:read", "groups:read", REACTIONS_SCOPE})
"""Scopes that earlier versions did not ask for: without them the agent does not know what channels are
called, and messages get no reactions.
"""
BOT_EVENTS = (
    "agent_session_stopped",
    "agent_session_title_changed",
    "app_context_changed",
    "app_home_opened",
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)
COMMAND = "/roebot"
NEW_APP = "https://api.slack.com/apps?new_app=1&manifest_json="
"""Opens the creation of an app from the manifest that follows, as JSON."""
SUGGESTED_PROMPTS = (
    {"title": "What can you do?", "message": "What can you help me with?"},
    {"title": "Look something up", "message": "Look something up for me. First ask me what."},
    {"title": "Draft a message", "message": "Help me draft a message. First ask me what it's about."},
)
"""Prompts of a new app, until the service sets those of its account (at most 4)."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")


def app_manifest(name: str = "Roebot", request_url: str = "") -> dict[str, Any]:
    """Build the manifest of an app called `name`; `request_url` "" means Socket Mode."""
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": name, "description": "An AI agent in the chats where people work"},
        "features": {
            "agent_view": {
                "agent_description": "Ask, and follow the work as it is done",
                "suggested_prompts": [dict(prompt) for prompt in SUGGESTED_PROMPTS],
            },
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": _display_name(name), "always_online": True},
            "slash_commands": [_slash_command(request_url)],
        },
        "oauth_config": {"scopes": {"bot": list(BOT_SCOPES)}},
        "settings": {
            "event_subscriptions": {
                "bot_events": list(BOT_EVENTS),
                **_request_url(request_url, "request_url"),
            },
            "interactivity": {"is_enabled": True, **_request_url(request_url, "request_url")},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not request_url,
            "token_rotation_enabled": False,
        },
    }


def _display_name(name: str) -> str:
    """Return a name reduced to the characters allowed for bot users."""
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-") or "roebot"


def _slash_command(request_url: str) -> dict[str, Any]:
    return {
        "command": COMMAND,
        "description": "Commands of the bot",
        "usage_hint": "help",
        "should_escape": True,
        **_request_url(request_url, "url"),
    }


def _request_url(request_url: str, key: str) -> dict[str, str]:
    return {key: request_url} if request_url else {}


def document(name: str = "Roebot", request_url: str = "") -> str:
    """Return the manifest as YAML, to be pasted."""
    text: str = yaml.safe_dump(app_manifest(name, request_url), sort_keys=False, allow_unicode=True)
    return text


def creation_link(name: str = "Roebot", request_url: str = "") -> str:
    """Return the address that creates the app: Slack asks for the workspace and displays the manifest."""
    text = json.dumps(app_manifest(name, request_url), ensure_ascii=False, separators=(",", ":"))
    return NEW_APP + quote(text, safe="")
