"""Everybody in a chat: people with content beyond plain words, apps, and senders in the name of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.testing.emulators.telegram import contents
from bot.testing.emulators.telegram.people import TelegramPeople
from bot.testing.emulators.telegram.state import TelegramMessage
from bot.testing.emulators.telegram.wire import message_wire

APP = 7001
"""Id of the app that posts unless a test names another one."""

_OF_THE_PLACE = frozenset(
    {
        "message_id",
        "from",
        "chat",
        "date",
        "edit_date",
        "message_thread_id",
        "is_topic_message",
        "sender_chat",
    }
)
"""Fields of a message that do not go with it when it is forwarded."""


class TelegramMembers(TelegramPeople):
    """Performs the actions of people and of apps. Further arguments are those of `says`."""

    def posts(
        self,
        text: str = "",
        *,
        app: int = APP,
        name: str = "",
        buttons: Mapping[str, str] | None = None,
        title: str = "",
        fields: Mapping[str, str] | None = None,
        caller: int = 0,
        **message: Any,
    ) -> TelegramMessage:
        """Post a message as an app.

        With a `title` it is a rich message with `fields`, else a text. `buttons` are labels with the URL that
        they open ("" for none). `caller` is the person who called the app into a chat of which it is no
        member.
        """
        self._world.user(app, name).is_bot = True
        extra = dict(message.pop("extra", {}))
        if title:
            extra["rich_message"] = contents.alert(title, fields or {})
        if buttons:
            extra["reply_markup"] = contents.keyboard(buttons)
        if caller:
            extra["guest_bot_caller_user"] = self._world.user(caller).wire()
        return self.says(text, user=app, extra=extra, **message)

    def forwards_message(self, chat: int, message_id: int, **message: Any) -> TelegramMessage:
        """Forward a message of a chat as a person, to where `message` says."""
        original = self._world.chats[chat].messages[message_id]
        whole = message_wire(original, nested=True)
        whole = {key: value for key, value in whole.items() if key not in _OF_THE_PLACE}
        return self.says(extra={**whole, "forward_origin": contents.origin_of(original)}, **message)

    def records_voice(self, *, seconds: int = 3, **message: Any) -> TelegramMessage:
        """Send a voice message as a person."""
        return self.says(media="voice", media_fields={"duration": seconds}, mime="audio/ogg", **message)

    def sends_sticker(self, emoji: str, **message: Any) -> TelegramMessage:
        """Send a sticker as a person."""
        return self.says(media="sticker", media_fields={"emoji": emoji}, **message)

    def asks_in_poll(self, question: str, options: Sequence[str], **message: Any) -> TelegramMessage:
        """Send a poll as a person."""
        poll = contents.poll(question, options, number=self._world.serial())
        return self.says(extra={"poll": poll}, **message)

    def says_anonymously(
        self, text: str, *, chat: int, signature: str = "", **message: Any
    ) -> TelegramMessage:
        """Write in the name of a group, as an admin who stays anonymous."""
        return self.says(
            text, chat=chat, extra=contents.as_chat(self._world.chats[chat], signature), **message
        )

    def says_as_channel(
        self, text: str, *, channel: str, number: int = -1001234567890, **message: Any
    ) -> TelegramMessage:
        """Write in a group in the name of a channel."""
        return self.says(text, extra=contents.as_channel(channel, number), **message)

    def pins(self, chat: int, message_id: int, *, user: int = 1001) -> TelegramMessage:
        """Pin a message as a person, with a service message."""
        place = self._world.chats[chat]
        pinned = message_wire(place.messages[message_id], nested=True)
        notice = self._world.add(place, self._world.user(user), service={"pinned_message": pinned})
        self._deliver("message", message_wire(notice))
        return notice

    def renames_person(self, user: int, name: str) -> None:
        """Change the name of a person; the Bot API tells it with their next message."""
        self._world.user(user, name)
