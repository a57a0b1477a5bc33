"""The manifest that Slack makes the app of (docs.slack.dev/reference/app-manifest)."""

from __future__ import annotations

from typing import Any

import yaml

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
    "users:read",
)
"""What the app may do; each is used by a call or an event of this adapter."""
OPTIONAL_SCOPES = frozenset({"channels:read", "groups:read"})
"""Scopes that earlier versions did not ask for: without them the agent does not know what channels are
called.
"""
BOT_EVENTS = (
    "agent_session_stopped",
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)
COMMAND = "/roebot"


def app_manifest(name: str = "Roebot", request_url: str = "") -> dict[str, Any]:
    """Build the manifest of an app called `name`; `request_url` "" means Socket Mode."""
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": name, "description": "An AI agent in the chats where people work"},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "assistant_view": {"assistant_description": "Ask, and follow the work as it is done"},
            "bot_user": {"display_name": name.lower(), "always_online": True},
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
