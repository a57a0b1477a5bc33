"""In-memory store of the emulated Feishu, and creation of ids."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.scopes import GRANTED
from roebot_testing.emulators.feishu.state import (
    GROUP,
    P2P,
    CardEntity,
    FeishuChat,
    FeishuMessage,
    FeishuResource,
    FeishuUser,
)

DEFAULT_APP_ID = "cli_emulated00000001"
DEFAULT_APP_SECRET = "emulated-app-secret"  # noqa: S105  public, for loopback only
BOT_NAME = "Roebot"
CARD_SECONDS = 14 * 86400.0
"""Lifetime of a card entity, and time in which a message's card can be updated (cardkit-v1 card/create, im-v1
message/patch)."""
INTERACTION_SECONDS = 3.0
"""Longest interaction: an app answers a callback within three seconds (card callback communication)."""
STREAM_SECONDS = 600.0
"""Lifetime of a card's streaming mode (CardKit closes it after 10 minutes)."""
CLICK_SECONDS = 1800.0
CLICK_UPDATES = 2
"""Lifetime of the token of a click, and number of updates by it ("Delay updating message card")."""


@dataclass(slots=True)
class ClickToken:
    """What a click lets the app update: `left` more times until a monotonic time."""

    message_id: str
    until: float
    left: int = CLICK_UPDATES


class FeishuWorkspace:
    """One tenant with one app. `scale` shortens lifetimes; `monotonic` is their clock. `edit_seconds` and
    `recall_seconds` are the times that an administrator allows for it.
    """

    def __init__(self, *, scale: float = 1.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.scale = scale
        self.monotonic = monotonic
        self.bot = FeishuUser("ou_bot0000000000000001", BOT_NAME, is_bot=True, app_id=DEFAULT_APP_ID)
        self.people: dict[str, FeishuUser] = {}
        self.apps: dict[str, FeishuUser] = {}
        self.chats: dict[str, FeishuChat] = {}
        self.messages: dict[str, FeishuMessage] = {}
        self.cards: dict[str, CardEntity] = {}
        self.files: dict[str, FeishuResource] = {}
        self.posted: dict[str, tuple[float, str]] = {}
        self.click_tokens: dict[str, ClickToken] = {}
        self.scopes = set(GRANTED)
        self.edit_seconds = self.recall_seconds = math.inf
        self._serial = itertools.count(1)

    def new_id(self, prefix: str) -> str:
        """Return a new id of the platform's form."""
        return f"{prefix}_{next(self._serial):016x}"

    def person(self, open_id: str, name: str = "") -> FeishuUser:
        """Return a person, created on first use."""
        known = self.people.get(open_id)
        if known is None:
            known = self.people[open_id] = FeishuUser(open_id, name or f"Person {open_id[-4:]}")
        elif name:
            known.name = name
        return known

    def app(self, name: str) -> FeishuUser:
        """Return the bot of another app, created on first use."""
        known = self.apps.get(name)
        if known is None:
            number = len(self.apps) + 1
            known = FeishuUser(f"ou_app{number:016}", name, is_bot=True, app_id=f"cli_another{number:09}")
            self.apps[name] = known
        return known

    def private(self, person: FeishuUser) -> FeishuChat:
        """Return the chat of a person with the bot, created on first use."""
        chat_id = f"oc_p2p{person.open_id.removeprefix('ou_')}"
        chat = self.chats.get(chat_id)
        if chat is None:
            chat = self.chats[chat_id] = FeishuChat(chat_id, P2P, person.name)
        return chat

    def group(self, title: str) -> FeishuChat:
        """Create a group with the bot in it."""
        chat = FeishuChat(self.new_id("oc"), GROUP, title)
        self.chats[chat.id] = chat
        return chat

    def receiver(self, kind: str, receive_id: str) -> FeishuChat:
        """Return the chat that a message is sent to. Raises ApiRefusal if the bot may not write there."""
        if kind == "open_id" and receive_id in self.people:
            chat = self.private(self.people[receive_id])
        else:
            found = self.chats.get(receive_id) if kind == "chat_id" else None
            if found is None:
                raise rules.RECEIVER_UNKNOWN.refusal()
            chat = found
        return self.allowed(chat, "message.create")

    def allowed(self, chat: FeishuChat, method: str) -> FeishuChat:
        """Return the chat if the app may call that method in it. Raises ApiRefusal."""
        if chat.barrier is not None and method in chat.barrier.methods:
            raise chat.barrier.refusal()
        return chat

    def message(self, message_id: str) -> FeishuMessage:
        """Return a message that was not deleted. Raises ApiRefusal."""
        found = self.messages.get(message_id)
        if found is None or found.deleted:
            raise rules.RECALLED.refusal()
        return found

    def card(self, card_id: str) -> CardEntity:
        """Return a card entity, good for 14 days (cardkit-v1 card/create). Raises ApiRefusal."""
        found = self.cards.get(card_id)
        if found is None:
            raise rules.ENTITY_UNKNOWN.refusal()
        if found.made_at + CARD_SECONDS * self.scale <= self.monotonic():
            raise rules.ENTITY_EXPIRED.refusal()
        return found

    def add(
        self, chat: FeishuChat, sender: FeishuUser, kind: str, content: dict[str, Any], **more: Any
    ) -> FeishuMessage:
        """Add a message to a chat."""
        message = FeishuMessage(
            self.new_id("om"), chat, sender, kind, content, int(time.time() * 1000), self.monotonic(), **more
        )
        chat.messages[message.id] = self.messages[message.id] = message
        return message

    def answer_place(self, parent: FeishuMessage, *, in_thread: bool) -> dict[str, str]:
        """Return the thread fields of a reply: its parent's topic, a new one, or the reply chain."""
        thread = parent.thread_id
        if in_thread and not thread:
            thread = parent.thread_id = self.new_id("omt")
        root = parent.root_id or parent.id
        return {"root_id": root, "parent_id": root if thread else parent.id, "thread_id": thread}

    def make_card(self, data: dict[str, Any], app_id: str = "") -> CardEntity:
        """Create a card entity of an app ("": the bot's), streaming if configured."""
        owner = app_id or self.bot.app_id
        card = CardEntity(f"75{next(self._serial):017d}", data, self.monotonic(), owner)
        self.cards[card.id] = card
        config = data.get("config")
        self.stream(card, isinstance(config, dict) and config.get("streaming_mode") is True)
        return card

    def issue_click_token(self, token: str, message_id: str) -> None:
        """Let the app update the card of a clicked message by a token."""
        self.click_tokens[token] = ClickToken(message_id, self.monotonic() + CLICK_SECONDS * self.scale)

    def stream(self, card: CardEntity, wanted: bool) -> None:
        """Open or close the streaming mode; reopening it does not extend its life."""
        if not wanted:
            card.streaming_until = 0.0
        elif card.streaming_until <= self.monotonic():
            card.streaming_until = self.monotonic() + STREAM_SECONDS * self.scale
            card.opened += 1

    def store(
        self, prefix: str, name: str, data: bytes, *, is_own: bool = False, file_type: str = ""
    ) -> FeishuResource:
        """Store a file, of a person unless the app uploads it."""
        file = FeishuResource(self.new_id(prefix), name, data, is_own, file_type)
        self.files[file.key] = file
        return file

    def reset(self) -> None:
        """Clear everything but the bot, and grant its scopes again."""
        for held in (self.people, self.apps, self.chats, self.messages, self.cards, self.files, self.posted):
            held.clear()
        self.click_tokens.clear()
        self.scopes = set(GRANTED)
        self.edit_seconds = self.recall_seconds = math.inf
