"""Actions of people: messages, replies, mentions, pictures, files, clicks and the bot's menu."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.events import Envelopes, ids
from roebot_testing.emulators.feishu.pushes import Push
from roebot_testing.emulators.feishu.scopes import GROUP_MENTIONS, GROUP_MESSAGES, PRIVATE_MESSAGES
from roebot_testing.emulators.feishu.state import MERGED, FeishuChat, FeishuMessage
from roebot_testing.emulators.feishu.workspace import INTERACTION_SECONDS, FeishuWorkspace

ADA = "ou_ada0000000000000001"
MALLORY = "ou_mallory000000000001"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
Deliver = Callable[[dict[str, Any]], Push]
Record = Callable[[FeishuMessage, str], None]


class FeishuPeople:
    """Performs actions and pushes the events that the app would get; `record` writes the transcript.

    `group_messages` False pushes no message of a group that doesn't mention the bot, like those that were
    written before the app was there.
    """

    def __init__(
        self, world: FeishuWorkspace, envelopes: Envelopes, deliver: Deliver, record: Record
    ) -> None:
        self._world = world
        self._envelopes = envelopes
        self._deliver = deliver
        self._record = record
        self.group_messages = True

    def says(
        self,
        text: str = "",
        *,
        user: str = ADA,
        name: str = "",
        chat: str = "",
        reply_to: str = "",
        in_thread: bool = False,
        kind: str = "text",
        data: bytes = b"",
        filename: str = "",
        content: dict[str, Any] | None = None,
    ) -> FeishuMessage:
        """Send a message as a person; `chat` "" is their chat with the bot. `@<name>` of the bot or a person
        and `@all` become mentions.

        `kind` is text, post (each line a paragraph), image, file, media, audio, sticker or location (of that
        name); `content` is the content of any other kind. `in_thread` replies in a topic.
        """
        sender = self._world.person(user, name)
        place = self._world.chats[chat] if chat else self._world.private(sender)
        where = self._where(reply_to, in_thread)
        plain, mentions = self._mentions(text)
        body = content if content is not None else self._content(kind, plain, mentions, data, filename)
        message = self._world.add(place, sender, kind, body, mentions=mentions, **where)
        self._record(message, "says")
        if self._is_delivered(place, mentions):
            self._deliver(self._envelopes.message(message))
        return message

    def forwards(
        self, texts: Sequence[str], *, author: str = MALLORY, author_name: str = "Mallory", **message: Any
    ) -> FeishuMessage:
        """Forward several messages of somebody else together; `message` are further arguments of `says`.

        The event holds none of them: they are returned with the message by `GET im/v1/messages/:id`.
        """
        writer = self._world.person(author, author_name)
        elsewhere = self._world.group("Elsewhere")
        contained = [self._world.add(elsewhere, writer, "text", {"text": text}) for text in texts]
        chosen = [one.id for one in contained]
        return self.forwards_together(chosen, **message)

    def forwards_together(self, message_ids: Sequence[str], **message: Any) -> FeishuMessage:
        """Forward messages together, forwards among them; `message` are further arguments of `says`."""
        return self.says(kind=MERGED, content={"contains": [*message_ids]}, **message)

    def forwards_one(self, message_id: str, **message: Any) -> FeishuMessage:
        """Forward one message: it arrives as if the person had written it."""
        one = self._world.message(message_id)
        return self.says(kind=one.kind, content=one.sent_card, **message)

    def says_many(self, messages: Sequence[dict[str, Any]]) -> list[FeishuMessage]:
        """Send several messages without a pause; each is a dict of arguments of `says`."""
        return [self.says(**message) for message in messages]

    def other_bot_says(self, text: str, *, chat: str) -> FeishuMessage:
        """Send a message that mentions the bot, as another app in a group."""
        return self.app_says(f"@{self._world.bot.name} {text}", app="Other", chat=chat)

    def app_says(
        self,
        text: str = "",
        *,
        app: str,
        chat: str,
        card: dict[str, Any] | None = None,
        reply_to: str = "",
        in_thread: bool = False,
    ) -> FeishuMessage:
        """Send a text or a card as another app in a group. Only one that mentions the bot comes as an
        event; a card does by `mentions` in it (`@<name>` in `text`, which is not shown).
        """
        sender, place = self._world.app(app), self._world.chats[chat]
        plain, mentions = self._mentions(text)
        kind, content = ("text", {"text": plain}) if card is None else ("interactive", card)
        where = self._where(reply_to, in_thread)
        message = self._world.add(place, sender, kind, content, mentions=mentions, **where)
        self._record(message, "app_says")
        if any(one["id"]["open_id"] == self._world.bot.open_id for one in mentions):
            self._deliver(self._envelopes.message(message))
        return message

    def clicks(self, message_id: str, value: Any, *, user: str = ADA) -> Push:
        """Click a button with a value; the returned push has the bot's answer."""
        message = self._world.message(message_id)
        token = f"c-{self._world.new_id('click')}"
        self._world.issue_click_token(token, message_id)
        push = self._deliver(self._envelopes.click(message, self._world.person(user), value, token))
        message.interactions[push.id] = self._world.monotonic() + INTERACTION_SECONDS * self._world.scale
        push.on_answer = lambda: message.interactions.pop(push.id, None)
        return push

    def chooses(self, key: str, *, user: str = ADA, name: str = "") -> Push:
        """Choose an entry of the bot's menu."""
        return self._deliver(self._envelopes.menu(self._world.person(user, name), key))

    def enters(self, *, user: str = ADA) -> str:
        """Open a person's chat with the bot; return its id."""
        person = self._world.person(user)
        chat = self._world.private(person)
        self._deliver(self._envelopes.entered(chat.id, person))
        return chat.id

    def edits(self, message_id: str, text: str) -> FeishuMessage:
        """Change the text of a message."""
        message = self._world.message(message_id)
        plain, message.mentions = self._mentions(text)
        message.content, message.updated = {"text": plain}, int(time.time() * 1000)
        self._record(message, "edits")
        self._deliver(self._envelopes.edited(message))
        return message

    def recalls(self, message_id: str) -> None:
        """Recall a message."""
        message = self._world.message(message_id)
        message.deleted = True
        self._deliver(self._envelopes.recalled(message))

    def make_group(self, title: str = "Group") -> str:
        """Create a group with the bot in it; return its chat id."""
        return self._world.group(title).id

    def private_chat(self, user: str = ADA) -> str:
        """Return the id of a person's chat with the bot."""
        return self._world.private(self._world.person(user)).id

    def joins(self, user: str, name: str, *, chat: str, added_by: str = "") -> Push:
        """Join a group, or be added to it by somebody."""
        person = self._world.person(user, name)
        actor = self._world.person(added_by) if added_by else person
        return self._deliver(self._envelopes.joined(self._world.chats[chat], actor, person))

    def renames(self, chat: str, title: str, *, user: str = ADA) -> Push:
        """Give a group another name."""
        place = self._world.chats[chat]
        before, place.title = place.title, title
        return self._deliver(self._envelopes.renamed(place, self._world.person(user), before))

    def removes_bot(self, chat: str) -> None:
        """Remove the bot from a group."""
        self._world.chats[chat].barrier = rules.NOT_IN_GROUP

    def adds_bot(self, chat: str) -> None:
        """Add the bot to the group again, or lift what keeps it from a chat."""
        self._world.chats[chat].barrier = None

    def mutes_bot(self, chat: str) -> None:
        """Let only chosen people write in a group."""
        self._world.chats[chat].barrier = rules.GROUP_MUTED

    def dissolves(self, chat: str) -> None:
        """Dissolve a group."""
        self._world.chats[chat].barrier = rules.CHAT_DISSOLVED

    def stops_bot(self, *, user: str = ADA) -> None:
        """Stop the bot from sending messages to a person."""
        self._world.private(self._world.person(user)).barrier = rules.BOT_STOPPED

    def loses_bot(self, *, user: str = ADA) -> None:
        """Take the app's availability from a person, as an administrator does."""
        self._world.private(self._world.person(user)).barrier = rules.NO_AVAILABILITY

    def _where(self, reply_to: str, in_thread: bool) -> dict[str, str]:
        if not reply_to:
            return {}
        return self._world.answer_place(self._world.message(reply_to), in_thread=in_thread)

    def _is_delivered(self, place: FeishuChat, mentions: list[dict[str, Any]]) -> bool:
        """Return whether the app gets a message (im-v1, message/events/receive)."""
        scopes = self._world.scopes
        if place.kind == "p2p":
            return PRIVATE_MESSAGES in scopes
        if self.group_messages and GROUP_MESSAGES in scopes:
            return True
        is_mentioned = any(one["id"]["open_id"] == self._world.bot.open_id for one in mentions)
        return is_mentioned and not scopes.isdisjoint((GROUP_MENTIONS, GROUP_MESSAGES))

    def _mentions(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        found: list[dict[str, Any]] = []
        for person in (self._world.bot, *self._world.people.values()):
            if f"@{person.name}" in text:
                key = f"@_user_{len(found) + 1}"
                text = text.replace(f"@{person.name}", key)
                kind = "bot" if person.is_bot else "user"
                mention = {"key": key, "id": ids(person), "mentioned_type": kind, "name": person.name}
                found.append({**mention, "tenant_key": person.tenant})
        return text.replace("@all", "@_all"), found

    def _content(
        self, kind: str, text: str, mentions: list[dict[str, Any]], data: bytes, filename: str
    ) -> dict[str, Any]:
        if kind == "image":
            return {"image_key": self._world.store("img", filename or "image.png", data or PIXEL).key}
        if kind in ("file", "media", "audio"):
            stored = self._world.store("file", filename or f"{kind}.bin", data or b"content")
            if kind == "audio":
                return {"file_key": stored.key, "duration": 7000}
            return {"file_key": stored.key, "file_name": stored.name}
        if kind == "location":
            return {"name": text, "longitude": "13.4050", "latitude": "52.5200"}
        if kind == "post":
            return {"title": "", "content": [_paragraph(line, mentions) for line in text.split("\n")]}
        return {"file_key": "sticker"} if kind == "sticker" else {"text": text}


def _paragraph(line: str, mentions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for mention in mentions:
        before, found, after = line.partition(mention["key"])
        if found:
            at = {"tag": "at", "user_id": mention["key"], "user_name": mention["name"], "style": []}
            return [part for part in (*_paragraph(before, mentions), at, *_paragraph(after, mentions))]
    return [{"tag": "text", "text": line, "style": []}] if line else []
