"""Actions of people: messages, replies, mentions, files, albums, edits, buttons, group changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from roebot_testing.emulators.telegram import entities as text_entities
from roebot_testing.emulators.telegram import rules
from roebot_testing.emulators.telegram.state import (
    GROUP,
    PRIVATE,
    SUPERGROUP,
    Edit,
    Media,
    TelegramChat,
    TelegramMessage,
    TelegramUser,
)
from roebot_testing.emulators.telegram.wire import message_wire
from roebot_testing.emulators.telegram.workspace import TelegramWorkspace, migrate

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
_MIME = {"photo": "image/jpeg", "voice": "audio/ogg", "video": "video/mp4", "sticker": "image/webp"}
_EXTRA: dict[str, dict[str, Any]] = {
    "voice": {"duration": 3},
    "audio": {"duration": 60},
    "video": {"width": 640, "height": 360, "duration": 5},
    "video_note": {"length": 240, "duration": 5},
    "sticker": {
        "type": "regular",
        "width": 512,
        "height": 512,
        "is_animated": False,
        "is_video": False,
        "emoji": "👍",
    },
    "location": {"latitude": 52.5, "longitude": 13.4},
    "contact": {"phone_number": "+10000000", "first_name": "Someone"},
    "dice": {"emoji": "🎲", "value": 4},
}
_WITHOUT_FILE = frozenset({"location", "contact", "dice"})

Deliver = Callable[[str, Any], int]
Record = Callable[[TelegramMessage, str], None]


class TelegramPeople:
    """Performs actions and queues the updates that a bot would get; `record` writes the transcript."""

    def __init__(self, world: TelegramWorkspace, deliver: Deliver, record: Record) -> None:
        self._world = world
        self._deliver = deliver
        self._record = record

    def says(
        self,
        text: str = "",
        *,
        user: int = 1001,
        name: str = "",
        chat: int = 0,
        topic: int = 0,
        reply_to: int = 0,
        entities: list[dict[str, Any]] | None = None,
        media: str = "",
        data: bytes = b"",
        filename: str = "",
        mime: str = "",
        album: str = "",
        media_fields: dict[str, Any] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> TelegramMessage:
        """Send a message as a person; `chat` 0 is their private chat. Commands and mentions get entities.

        `media` names a kind of the Bot API (photo, document, voice, sticker, location …), `data` its bytes
        and `media_fields` its other fields; `extra` is merged into the message (forwards and the like).
        """
        sender = self._world.user(user, name)
        place = self._place(sender, chat)
        answered = place.messages.get(reply_to)
        found = text_entities.detect(text) if entities is None else entities
        message = self._world.add(
            place,
            sender,
            text=text,
            entities=found,
            media=self._media(media, data, filename, mime, media_fields or {}) if media else None,
            reply_to=answered or self._topic_root(place, topic),
            album=album,
            extra=extra or {},
            **self._world.thread_of(place, topic, answered),
        )
        self._record(message, "says")
        self._deliver("message", message_wire(message))
        return message

    def says_many(self, messages: Sequence[dict[str, Any]]) -> list[TelegramMessage]:
        """Send several messages without a pause; each is a dict of arguments of `says`."""
        return [self.says(**message) for message in messages]

    def forwards(
        self,
        text: str = "",
        *,
        author: str = "Mallory",
        author_id: int = 0,
        channel: str = "",
        **message: Any,
    ) -> TelegramMessage:
        """Forward a message of somebody else as a person; `message` are further arguments of `says`.

        An author without an id hides their account; with `channel` the message is a post of that channel.
        Telegram keeps the entities of the text, so that a forwarded command looks like a typed one.
        """
        date = int(time.time()) - 60
        origin: dict[str, Any] = {"type": "hidden_user", "sender_user_name": author, "date": date}
        if channel:
            chat = {"id": -1001234567890, "title": channel, "type": "channel"}
            origin = {"type": "channel", "chat": chat, "message_id": 5, "date": date}
        elif author_id:
            origin = {"type": "user", "sender_user": TelegramUser(author_id, author).wire(), "date": date}
        return self.says(text, extra={"forward_origin": origin}, **message)

    def quotes(self, text: str, quoted: str, *, reply_to: int, **message: Any) -> TelegramMessage:
        """Reply to a message and quote a part of it; `message` are further arguments of `says`."""
        quote = {"text": quoted, "position": 0, "is_manual": True}
        return self.says(text, reply_to=reply_to, extra={"quote": quote}, **message)

    def sends_album(
        self,
        captions: Sequence[str],
        *,
        media: str = "photo",
        user: int = 1001,
        chat: int = 0,
        topic: int = 0,
    ) -> list[TelegramMessage]:
        """Send an album: one message for each caption, joined by a media group id."""
        group = f"album{self._world.serial()}"
        return [
            self.says(caption, media=media, data=PIXEL, user=user, chat=chat, topic=topic, album=group)
            for caption in captions
        ]

    def edits(self, chat: int, message_id: int, text: str) -> TelegramMessage:
        """Change the text of a message as its author."""
        message = self._world.chats[chat].messages[message_id]
        now = time.time()
        message.edits.append(Edit(message.text, now))
        message.text, message.entities, message.edit_date = text, text_entities.detect(text), int(now)
        self._record(message, "edits")
        self._deliver("edited_message", message_wire(message))
        return message

    def presses(self, chat: int, message_id: int, data: str, *, user: int = 1001) -> str:
        """Press an inline button; return the id of the callback query."""
        message = self._world.chats[chat].messages[message_id]
        query_id = f"cq{self._world.serial()}"
        self._deliver(
            "callback_query",
            {
                "id": query_id,
                "from": self._world.user(user).wire(),
                "message": message_wire(message),
                "chat_instance": str(chat),
                "data": data,
            },
        )
        return query_id

    def stops(self, chat: int) -> None:
        """Press the stop button of the visible draft. Raises ValueError if there is none."""
        place = self._world.chats[chat]
        if not place.can_stop or place.draft_until <= time.time():
            raise ValueError("there is no draft with a stop button")
        place.draft_until = 0.0
        self._deliver("stopped_message_generation", {"chat": place.wire(), "draft_id": place.draft_id})

    def make_group(self, title: str = "Group", *, supergroup: bool = False, forum: bool = False) -> int:
        """Create a group with the bot in it; return its chat id."""
        kind = SUPERGROUP if supergroup or forum else GROUP
        return self._world.make_group(title, kind, forum=forum).id

    def make_topic(self, chat: int, title: str, *, user: int = 1001, by_bot: bool = False) -> int:
        """Create a topic of a forum; return its thread id, the id of the service message."""
        place = self._world.chats[chat]
        creator = self._world.bot if by_bot else self._world.user(user)
        created = {"forum_topic_created": {"name": title, "icon_color": 7322096}}
        message = self._world.add(place, creator, service=created, in_topic=True)
        message.thread_id = message.id
        place.topics[message.id] = title
        self._deliver("message", message_wire(message))
        return message.id

    def migrates(self, chat: int) -> int:
        """Turn a basic group into a supergroup; return the new chat id."""
        old = self._world.chats[chat]
        new = migrate(self._world, old)
        someone = self._world.user(1001)
        left = self._world.add(old, someone, service={"migrate_to_chat_id": new.id})
        arrived = self._world.add(new, someone, service={"migrate_from_chat_id": old.id})
        self._deliver("message", message_wire(left))
        self._deliver("message", message_wire(arrived))
        return new.id

    def joins(self, chat: int, user: int) -> None:
        """Let a person join a group, with a service message."""
        place, member = self._world.chats[chat], self._world.user(user)
        service = {"new_chat_members": [member.wire()], "new_chat_member": member.wire()}
        self._deliver("message", message_wire(self._world.add(place, member, service=service)))

    def blocks(self, chat: int) -> None:
        """Block the bot as a person, or remove it from a group."""
        place = self._world.chats[chat]
        place.barred = rules.BLOCKED if place.kind == PRIVATE else rules.KICKED

    def unblocks(self, chat: int) -> None:
        """Let the bot write to the chat again."""
        self._world.chats[chat].barred = None

    def _place(self, sender: TelegramUser, chat: int) -> TelegramChat:
        return self._world.chats[chat] if chat and chat != sender.id else self._world.private(sender)

    def _topic_root(self, place: TelegramChat, topic: int) -> TelegramMessage | None:
        return place.messages.get(topic) if topic and place.is_forum else None

    def _media(self, kind: str, data: bytes, filename: str, mime: str, fields: dict[str, Any]) -> Media:
        extra = {**_EXTRA.get(kind, {}), **fields}
        if kind in _WITHOUT_FILE:
            return Media(kind, None, extra)
        name = filename or f"{kind}.{'jpg' if kind == 'photo' else 'bin'}"
        return self._world.media(
            kind, name, mime or _MIME.get(kind, "application/octet-stream"), data or PIXEL, **extra
        )
