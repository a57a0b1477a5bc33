"""Everyone who posts in a chat: people who send more than text, apps, and senders on behalf of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roebot_testing.emulators.telegram import contents, rules
from roebot_testing.emulators.telegram.people import TelegramPeople
from roebot_testing.emulators.telegram.state import PRIVATE, SUPERGROUP, TelegramMessage
from roebot_testing.emulators.telegram.wire import message_wire

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

    def restricts_bot(self, chat: int, *kinds: str) -> None:
        """Revoke the right of the bot to send kinds of messages in a group: "text messages", "rich messages",
        "documents" or "photos". Without kinds, restore all rights.
        """
        self._world.chats[chat].denied = frozenset(kinds)

    def promotes_bot(self, chat: int) -> None:
        """Make the bot an administrator of a group, with all rights."""
        self._world.chats[chat].is_administered = True

    def loses_bot(self, chat: int) -> None:
        """Let the bot leave a group."""
        self._world.chats[chat].barred = rules.LEFT

    def deletes_chat(self, chat: int) -> None:
        """Delete a group, or the account of the person in a private chat."""
        place = self._world.chats[chat]
        place.barred = rules.DEACTIVATED if place.kind == PRIVATE else rules.GROUP_DELETED

    def closes_topic(self, chat: int, topic: int, *, user: int = 1001) -> None:
        """Close a topic of a forum, with a service message."""
        self._world.chats[chat].closed_topics.add(topic)
        self._tells_of_topic(chat, topic, user, "forum_topic_closed")

    def reopens_topic(self, chat: int, topic: int, *, user: int = 1001) -> None:
        """Open a closed topic again, with a service message."""
        self._world.chats[chat].closed_topics.discard(topic)
        self._tells_of_topic(chat, topic, user, "forum_topic_reopened")

    def deletes_topic(self, chat: int, topic: int) -> None:
        """Delete a topic of a forum; bots get no update."""
        del self._world.chats[chat].topics[topic]

    def ages_message(self, chat: int, message_id: int, seconds: int) -> None:
        """Make a message older by a number of seconds."""
        self._world.chats[chat].messages[message_id].date -= seconds

    def stops_waiting(self, query_id: str) -> None:
        """Let the time pass in which a press of a button can be answered."""
        self._world.answered[query_id] = ""

    def _tells_of_topic(self, chat: int, topic: int, user: int, field: str) -> None:
        place = self._world.chats[chat]
        notice = self._world.add(place, self._world.user(user), service={field: {}}, in_topic=True)
        notice.thread_id = topic
        self._deliver("message", message_wire(notice))

    def pastes_table(self, rows: Sequence[Sequence[str]], **message: Any) -> TelegramMessage:
        """Send a table that a person pasted: clients keep tabs and line breaks, and no entities."""
        return self.says("\n".join("\t".join(row) for row in rows), **message)

    def replies_across(
        self, text: str, *, to_chat: int, to_message: int, quoted: str = "", **message: Any
    ) -> TelegramMessage:
        """Reply to a message of another chat, optionally with a `quoted` part (Bot API: ExternalReplyInfo).

        Chat and number of that message come only where it is one of a supergroup.
        """
        original = self._world.chats[to_chat].messages[to_message]
        reply: dict[str, Any] = {"origin": contents.origin_of(original)}
        if original.chat.kind == SUPERGROUP:
            reply |= {"chat": original.chat.wire(), "message_id": original.id}
        extra: dict[str, Any] = {"external_reply": reply}
        if quoted:
            extra["quote"] = {"text": quoted, "position": original.text.index(quoted), "is_manual": True}
        return self.says(text, extra=extra, **message)

    def leaves(self, chat: int, user: int) -> None:
        """Let a person leave a group, with a service message."""
        place, member = self._world.chats[chat], self._world.user(user)
        notice = self._world.add(place, member, service={"left_chat_member": member.wire()})
        self._deliver("message", message_wire(notice))

    def renames_person(self, user: int, name: str, *, username: str | None = None) -> None:
        """Change the name of a person, and the username ("" removes it, None keeps it); the Bot API tells it
        with their next message.
        """
        person = self._world.user(user, name)
        if username is not None:
            person.username = username
