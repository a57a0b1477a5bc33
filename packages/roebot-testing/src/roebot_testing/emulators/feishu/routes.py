"""Routes of the API: method, kind of frame and rate limits of each path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import cards, contacts, files, messages, reactions
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace
from roebot_testing.emulators.limits import CallLimit
from roebot_testing.emulators.transcript import FrameKind

PER_CHAT = CallLimit("chat", 5, 1.0)
"""Messages of all bots to one chat or person (im-v1 message/create)."""
PER_SECOND = CallLimit("second", 50, 1.0)
PER_MINUTE = CallLimit("minute", 1000, 60.0)
"""Calls of one API by one app (im-v1 message/create, cardkit-v1 content)."""
PER_CARD = CallLimit("card", 10, 1.0)
"""Operations on one card entity (cardkit-v1 overview)."""
PER_MESSAGE = CallLimit("message", 5, 1.0)
"""Patches of one message (im-v1 message/patch)."""


@dataclass(frozen=True, slots=True)
class FeishuRoute:
    """One method; `name` is used by faults and the transcript, `own` are limits of a chat, message or
    card."""

    verb: str
    name: str
    path: re.Pattern[str]
    kind: FrameKind
    call: Callable[[FeishuWorkspace, FeishuCall], CallResult]
    own: tuple[CallLimit, ...] = ()


def _route(
    verb: str,
    name: str,
    path: str,
    kind: FrameKind,
    call: Callable[[FeishuWorkspace, FeishuCall], CallResult],
    *own: CallLimit,
) -> FeishuRoute:
    pattern = re.sub(r":\w+", r"([^/]+)", path)
    return FeishuRoute(verb, name, re.compile(f"/open-apis/{pattern}"), kind, call, own)


_POST, _EDIT, _OTHER = FrameKind.POST, FrameKind.EDIT, FrameKind.OTHER
_CARD = "cardkit/v1/cards"
_REACTIONS = "im/v1/messages/:id/reactions"
ROUTES = (
    _route("GET", "bot.info", "bot/v3/info", _OTHER, contacts.bot_info),
    _route("GET", "chat.get", "im/v1/chats/:id", _OTHER, contacts.chat),
    _route("GET", "user.find_by_department", "contact/v3/users/find_by_department", _OTHER, contacts.members),
    _route("GET", "user.get", "contact/v3/users/:id", _OTHER, contacts.user),
    _route("POST", "message.create", "im/v1/messages", _POST, messages.create, PER_CHAT),
    _route("POST", "message.reply", "im/v1/messages/:id/reply", _POST, messages.reply, PER_CHAT),
    _route("PATCH", "message.patch", "im/v1/messages/:id", _EDIT, messages.patch, PER_MESSAGE),
    _route("PUT", "message.update", "im/v1/messages/:id", _EDIT, messages.update, PER_MESSAGE),
    _route("DELETE", "message.delete", "im/v1/messages/:id", FrameKind.DELETE, messages.delete),
    _route("POST", "reaction.create", _REACTIONS, FrameKind.REACTION, reactions.create),
    _route("DELETE", "reaction.delete", f"{_REACTIONS}/:reaction", FrameKind.REACTION, reactions.delete),
    _route("GET", "message.list", "im/v1/messages", _OTHER, messages.history),
    _route("GET", "message.get", "im/v1/messages/:id", _OTHER, messages.get),
    _route("GET", "resource.get", "im/v1/messages/:id/resources/:key", _OTHER, files.resource),
    _route("POST", "image.create", "im/v1/images", _OTHER, files.upload_image),
    _route("POST", "file.create", "im/v1/files", _OTHER, files.upload_file),
    _route("POST", "card.create", _CARD, _OTHER, cards.create),
    _route("POST", "card.id_convert", f"{_CARD}/id_convert", _OTHER, cards.id_convert),
    _route("PUT", "card.update", f"{_CARD}/:id", _EDIT, cards.update, PER_CARD),
    _route("PATCH", "card.settings", f"{_CARD}/:id/settings", _OTHER, cards.settings, PER_CARD),
    _route("PUT", "element.update", f"{_CARD}/:id/elements/:el", _EDIT, cards.element, PER_CARD),
    _route("PUT", "element.content", f"{_CARD}/:id/elements/:el/content", _EDIT, cards.content, PER_CARD),
    _route("POST", "card.delayed_update", "interactive/v1/card/update", _EDIT, cards.delayed_update),
)


def find(verb: str, path: str) -> tuple[FeishuRoute, tuple[str, ...]] | None:
    """Return the method of a request and the parts of its path."""
    for route in ROUTES:
        matched = route.path.fullmatch(path) if route.verb == verb else None
        if matched is not None:
            return route, matched.groups()
    return None


def app_limits(route: FeishuRoute) -> list[tuple[CallLimit, str]]:
    """Return the limits of one API for the whole app."""
    return [(PER_SECOND, route.name), (PER_MINUTE, route.name)]


def own_limits(route: FeishuRoute, world: FeishuWorkspace, call: FeishuCall) -> list[tuple[CallLimit, str]]:
    """Return the limits of a chat, message or card, each with its key."""
    return [
        (limit, chat_of(world, route, call) if limit is PER_CHAT else call.args[0]) for limit in route.own
    ]


def chat_of(world: FeishuWorkspace, route: FeishuRoute, call: FeishuCall) -> str:
    """Return the chat of a call, or "" if it has none."""
    if route.name == "message.create":
        receiver = str(call.body.get("receive_id") or "")
        person = world.people.get(receiver)
        return world.private(person).id if person is not None else receiver
    if not call.args:
        return ""
    card = world.cards.get(call.args[0])
    message = world.messages.get(card.message_id if card is not None else call.args[0])
    return message.chat.id if message is not None else ""
