"""State of the emulated Feishu (people, chats, messages, cards, files), also as a person sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.feishu.rules import Barrier

P2P = "p2p"
GROUP = "group"


MERGED = "merge_forward"
MERGED_CONTENT = "Merged and Forwarded Message"
"""What Feishu writes in place of the content of messages that were forwarded together."""
UPGRADE = "请升级至最新版本客户端，以查看内容"
"""What Feishu writes in place of a card that it doesn't simplify."""
TENANT = "emulatedtenant"
"""Organization of the app."""


@dataclass(slots=True)
class FeishuUser:
    """A person or a bot; `open_id` is its id for apps, `tenant` its organization. `app_id` is that of the
    app which the bot belongs to.
    """

    open_id: str
    name: str
    is_bot: bool = False
    tenant: str = TENANT
    departments: list[str] = field(default_factory=list)
    app_id: str = ""


@dataclass(slots=True)
class FeishuResource:
    """An uploaded image or file; `key` is img_… or file_…. `is_own`: the app uploaded it, as `file_type`."""

    key: str
    name: str
    data: bytes = field(repr=False)
    is_own: bool = False
    file_type: str = ""


@dataclass(slots=True)
class CardEntity:
    """A card entity. `data` is its card JSON; `streaming_until` is the monotonic end of the streaming mode, 0
    while closed, `made_at` the monotonic time of its creation, `app_id` its app, `uuids` the idempotency ids
    of its operations.
    """

    id: str
    data: dict[str, Any]
    made_at: float
    app_id: str
    sequence: int = 0
    streaming_until: float = 0.0
    message_id: str = ""
    opened: int = 0
    uuids: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """Markdown of the card."""
        return card_text(self.data)


@dataclass(slots=True)
class FeishuMessage:
    """A message; `content` is the decoded JSON string of the wire, `added_at` the monotonic time."""

    id: str
    chat: FeishuChat
    sender: FeishuUser
    kind: str
    content: dict[str, Any]
    created: int
    added_at: float = 0.0
    updated: int = 0
    root_id: str = ""
    parent_id: str = ""
    thread_id: str = ""
    card: CardEntity | None = None
    mentions: list[dict[str, Any]] = field(default_factory=list)
    edits: int = 0
    deleted: bool = False
    interactions: dict[str, float] = field(default_factory=dict)
    reactions: dict[str, str] = field(default_factory=dict)
    """Those of the app: types by id."""

    def is_in_interaction(self, now: float) -> bool:
        """Return whether the app has yet to answer a click; `interactions` are their monotonic deadlines."""
        return any(until > now for until in self.interactions.values())

    @property
    def wire_content(self) -> str:
        """The `content` of events: JSON, except for messages that were forwarded together."""
        if self.kind == MERGED:
            return MERGED_CONTENT
        if self.kind == "interactive":
            return _dump({**simplify(self.sent_card), "user_dsl": _dump(self.sent_card)})
        return _dump(self.content)

    @property
    def sent_card(self) -> dict[str, Any]:
        """The card as its app sent it."""
        return self.card.data if self.card is not None else self.content

    def api_content(self, *, full: bool) -> str:
        """Return the `content` of the API; cards are simplified there unless asked for in `full`."""
        if self.kind != "interactive":
            return self.wire_content
        return _dump(self.sent_card if full else simplify(self.sent_card))

    @property
    def text(self) -> str:
        """Visible text of the message."""
        if self.card is not None:
            return self.card.text
        if self.kind == "interactive":
            return card_text(self.content)
        return str(self.content.get("text", ""))


@dataclass(slots=True)
class FeishuChat:
    """A chat; `barrier` is the reason that keeps the app out."""

    id: str
    kind: str
    title: str
    barrier: Barrier | None = None
    messages: dict[str, FeishuMessage] = field(default_factory=dict)


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def simplify(card: dict[str, Any]) -> dict[str, Any]:
    """Return a card as Feishu shows it to apps: its title, and a request to upgrade in place of the rest."""
    header = card.get("header")
    title = header.get("title") if isinstance(header, dict) else None
    image = {"tag": "img", "image_key": "img_v3_0000_upgradenotice"}
    return {
        "title": title.get("content") if isinstance(title, dict) else None,
        "elements": [[image, {"tag": "text", "text": UPGRADE}, {"tag": "text", "text": ""}]],
    }


def elements(data: dict[str, Any], *, folded: bool = True) -> list[dict[str, Any]]:
    """Return all elements of a card 2.0 in order, including nested ones; those in folded panels only if
    `folded`.
    """
    body = data.get("body")
    found: list[dict[str, Any]] = []
    waiting = list(body.get("elements", [])) if isinstance(body, dict) else []
    while waiting:
        element = waiting.pop(0)
        if isinstance(element, dict):
            found.append(element)
            hides = element.get("tag") == "collapsible_panel" and not (folded or element.get("expanded"))
            inner = [] if hides else [*element.get("elements", []), *element.get("columns", [])]
            waiting[:0] = [child for child in inner if isinstance(child, dict)]
    return found


def card_text(data: dict[str, Any]) -> str:
    """Return the Markdown of a card, one line per element, without folded panels."""
    shown = elements(data, folded=False)
    return "\n".join(_element_text(one) for one in shown if one.get("tag") in ("markdown", "div"))


def list_panels(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the panels of a card: the title of each, and the text in it."""
    panels = [one for one in elements(data) if one.get("tag") == "collapsible_panel"]
    return [
        {
            "title": one["header"]["title"]["content"],
            "text": "\n".join(_element_text(inner) for inner in one.get("elements", [])),
        }
        for one in panels
    ]


def _element_text(element: dict[str, Any]) -> str:
    plain = element.get("text")
    return str(plain.get("content", "") if isinstance(plain, dict) else element.get("content", ""))


def seen(message: FeishuMessage, now: float) -> dict[str, Any]:
    """Return a message as a person sees it at the monotonic time `now`."""
    card = message.card
    data = card.data if card is not None else message.content
    shows_card = message.kind == "interactive"
    buttons = [one for one in elements(data) if one.get("tag") == "button"] if shows_card else []
    panels = list_panels(data) if shows_card else []
    return {
        "message_id": message.id,
        "sender": message.sender.open_id,
        "name": message.sender.name,
        "from_bot": message.sender.is_bot,
        "text": message.text,
        "kind": message.kind,
        "content": message.content,
        "root_id": message.root_id,
        "reply_to": message.parent_id,
        "topic": message.thread_id,
        "streaming": card is not None and card.streaming_until > now,
        "summary": _summary(data) if shows_card else "",
        "buttons": buttons,
        "panels": panels,
        "edits": message.edits,
        "created": message.created,
    }


def view(chat: FeishuChat, now: float) -> dict[str, Any]:
    """Return a chat as a person sees it."""
    standing = [message for message in chat.messages.values() if not message.deleted]
    return {
        "chat": chat.id,
        "kind": chat.kind,
        "title": chat.title,
        "messages": [seen(message, now) for message in standing],
    }


def _summary(data: dict[str, Any]) -> str:
    config = data.get("config")
    summary = config.get("summary") if isinstance(config, dict) else None
    return str(summary.get("content", "")) if isinstance(summary, dict) else ""
