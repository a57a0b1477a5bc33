"""JSON schema of a Slack app's manifest, as far as new apps of this kind have it.

Fields, types and limits: schemas/manifest.schema.2.0.0.json of slackapi/manifest-schema and the types of
packages/web-api/src/types/request/manifest.ts in slackapi/node-slack-sdk, which document the same reference
(docs.slack.dev/reference/app-manifest). `assistant_view` is left out: new apps can only use `agent_view`
(docs.slack.dev/ai/migrating-to-agent-messaging). The events are those of docs.slack.dev/reference/events.
"""

from __future__ import annotations

from typing import Any

EVENTS = (
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


def _text(most: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, **more}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    closed = {"type": "object", "additionalProperties": False}
    return {**closed, "properties": properties, "required": list(required)}


def _list(items: dict[str, Any], most: int, *, unique: bool = False, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most, "minItems": least, "uniqueItems": unique}


_FLAG = {"type": "boolean"}
_WORDS = {"type": "string"}
_PROMPT = _object(("title", "message"), title=_WORDS, message=_WORDS)
_URL = _text(3500, pattern="^https?://")

NEW_APP_SCHEMA: dict[str, Any] = _object(
    ("display_information",),
    _metadata=_object(major_version={"enum": [1, 2]}, minor_version={"type": "integer"}),
    display_information=_object(
        ("name",),
        name=_text(35),
        description=_text(140),
        long_description=_text(4000, minLength=175),
        background_color=_text(7, minLength=4, pattern="^#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?$"),
    ),
    features=_object(
        agent_view=_object(
            agent_description=_text(300),
            suggested_prompts=_list(_PROMPT, 4),
            actions={
                "type": "array",
                "items": _object(("name", "description"), name=_WORDS, description=_WORDS),
            },
        ),
        app_home=_object(
            home_tab_enabled=_FLAG, messages_tab_enabled=_FLAG, messages_tab_read_only_enabled=_FLAG
        ),
        bot_user=_object(
            ("display_name",), display_name=_text(80, pattern="^[a-z0-9._-]+$"), always_online=_FLAG
        ),
        slash_commands=_list(
            _object(
                ("command", "description"),
                command=_text(32, minLength=2, pattern="^/"),
                url=_text(3000, pattern="^https?://"),
                description=_text(2000),
                usage_hint=_text(1000),
                should_escape=_FLAG,
            ),
            50,
            least=1,
        ),
    ),
    oauth_config=_object(scopes=_object(bot=_list(_text(50), 255, unique=True))),
    settings=_object(
        event_subscriptions=_object(
            request_url=_URL, bot_events=_list({"enum": list(EVENTS)}, 100, unique=True)
        ),
        interactivity=_object(("is_enabled",), is_enabled=_FLAG, request_url=_URL),
        org_deploy_enabled=_FLAG,
        socket_mode_enabled=_FLAG,
        token_rotation_enabled=_FLAG,
    ),
)
