"""Events as Feishu pushes them (schema 2.0)."""

from __future__ import annotations

import time
from typing import Any

from roebot_testing.emulators.feishu.state import TENANT, FeishuChat, FeishuMessage, FeishuUser
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace


class Envelopes:
    """Builds the events of one app. `token` is the verification token of its callbacks."""

    def __init__(self, world: FeishuWorkspace, app_id: str, token: str) -> None:
        self._world = world
        self._app_id = app_id
        self.token = token

    def wrap(self, kind: str, event: dict[str, Any]) -> dict[str, Any]:
        """Build an event with its header."""
        header = {
            "event_id": self._world.new_id("evt"),
            "event_type": kind,
            "create_time": str(int(time.time() * 1000)),
            "token": self.token,
            "app_id": self._app_id,
            "tenant_key": TENANT,
        }
        return {"schema": "2.0", "header": header, "event": event}

    def message(self, message: FeishuMessage) -> dict[str, Any]:
        """`im.message.receive_v1`."""
        return self.wrap("im.message.receive_v1", _content(message))

    def edited(self, message: FeishuMessage) -> dict[str, Any]:
        """`im.message.updated_v1`."""
        return self.wrap("im.message.updated_v1", _content(message))

    def click(self, message: FeishuMessage, person: FeishuUser, value: Any, token: str) -> dict[str, Any]:
        """`card.action.trigger`."""
        operator = {
            "open_id": person.open_id,
            "union_id": f"on_{person.open_id}",
            "tenant_key": person.tenant,
        }
        context = {"open_message_id": message.id, "open_chat_id": message.chat.id}
        event = {
            "operator": operator,
            "token": token,
            "action": {"value": value, "tag": "button"},
            "host": "im_message",
            "context": context,
        }
        return self.wrap("card.action.trigger", event)

    def menu(self, person: FeishuUser, key: str) -> dict[str, Any]:
        """`application.bot.menu_v6`."""
        operator = {"operator_name": person.name, "operator_id": ids(person)}
        return self.wrap(
            "application.bot.menu_v6",
            {"operator": operator, "event_key": key, "timestamp": int(time.time())},
        )

    def entered(self, chat_id: str, person: FeishuUser) -> dict[str, Any]:
        """`im.chat.access_event.bot_p2p_chat_entered_v1`."""
        return self.wrap(
            "im.chat.access_event.bot_p2p_chat_entered_v1",
            {"chat_id": chat_id, "operator_id": ids(person), "last_message_id": ""},
        )

    def joined(self, chat: FeishuChat, actor: FeishuUser, person: FeishuUser) -> dict[str, Any]:
        """`im.chat.member.user.added_v1`."""
        user = {"name": person.name, "tenant_key": person.tenant, "user_id": ids(person)}
        event = {**_group(chat, actor), "name": chat.title, "users": [user]}
        return self.wrap("im.chat.member.user.added_v1", event)

    def renamed(self, chat: FeishuChat, actor: FeishuUser, before: str) -> dict[str, Any]:
        """`im.chat.updated_v1`."""
        changes = {"before_change": {"name": before}, "after_change": {"name": chat.title}}
        return self.wrap("im.chat.updated_v1", {**_group(chat, actor), **changes})

    def recalled(self, message: FeishuMessage) -> dict[str, Any]:
        """`im.message.recalled_v1`."""
        event = {
            "message_id": message.id,
            "chat_id": message.chat.id,
            "recall_time": str(int(time.time() * 1000)),
            "recall_type": "message_owner",
        }
        return self.wrap("im.message.recalled_v1", event)


def _group(chat: FeishuChat, actor: FeishuUser) -> dict[str, Any]:
    return {
        "chat_id": chat.id,
        "operator_id": ids(actor),
        "external": False,
        "operator_tenant_key": actor.tenant,
    }


def ids(person: FeishuUser) -> dict[str, str]:
    """Return the ids of a person as events have them."""
    return {"open_id": person.open_id, "union_id": f"on_{person.open_id}", "user_id": ""}


def _content(message: FeishuMessage) -> dict[str, Any]:
    """Build the sender and message of an event, as they are now."""
    sender = {
        "sender_id": ids(message.sender),
        "sender_type": "bot" if message.sender.is_bot else "user",
        "tenant_key": message.sender.tenant,
    }
    wire: dict[str, Any] = {
        "message_id": message.id,
        "create_time": str(message.created),
        "update_time": str(message.updated or message.created),
        "chat_id": message.chat.id,
        "chat_type": message.chat.kind,
        "message_type": message.kind,
        "content": message.wire_content,
    }
    for key in ("root_id", "parent_id", "thread_id", "mentions"):
        if getattr(message, key):
            wire[key] = getattr(message, key)
    return {"sender": sender, "message": wire}
