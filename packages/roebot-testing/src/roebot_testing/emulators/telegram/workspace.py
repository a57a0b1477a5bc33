"""In-memory store of the emulated Telegram, and creation of ids."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from roebot_testing.emulators.link_previews import LinkPreviews
from roebot_testing.emulators.telegram import rules
from roebot_testing.emulators.telegram.errors import TelegramApiError, bad_request
from roebot_testing.emulators.telegram.state import (
    GROUP,
    PRIVATE,
    SUPERGROUP,
    Media,
    TelegramChat,
    TelegramFile,
    TelegramMessage,
    TelegramUser,
)

DEFAULT_TOKEN = "123456:emulated-token-for-loopback-only"  # noqa: S105 - no secret
BOT_ID = 123456
SUPERGROUP_BASE = -1_000_000_000_000


@dataclass(slots=True)
class TelegramWorkspace:
    """One bot with its users and chats.

    Private chats and basic groups share one counter of message ids, each supergroup has its own.
    """

    bot: TelegramUser = field(
        default_factory=lambda: TelegramUser(BOT_ID, "Roebot", "roebot_bot", is_bot=True)
    )
    users: dict[int, TelegramUser] = field(default_factory=dict)
    chats: dict[int, TelegramChat] = field(default_factory=dict)
    files: dict[str, TelegramFile] = field(default_factory=dict)
    files_by_path: dict[str, TelegramFile] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    profile: dict[str, str] = field(default_factory=dict)
    answered: dict[str, str] = field(default_factory=dict)
    previews: LinkPreviews = field(default_factory=LinkPreviews)
    _message_id: int = 0
    _serial: int = 0

    def user(self, user_id: int, name: str = "") -> TelegramUser:
        """Return the person with an id, created on first use."""
        user = self.users.get(user_id)
        if user is None:
            user = TelegramUser(user_id, name or f"Person {user_id}", f"person_{user_id}")
            self.users[user_id] = user
        elif name:
            user.name = name
        return user

    def private(self, user: TelegramUser) -> TelegramChat:
        """Return the private chat with a person, created on first use."""
        chat = self.chats.get(user.id)
        if chat is None:
            chat = TelegramChat(user.id, PRIVATE, user.name, user.username)
            self.chats[user.id] = chat
        return chat

    def make_group(self, title: str, kind: str = GROUP, *, forum: bool = False) -> TelegramChat:
        """Create a group; `kind` is group or supergroup."""
        serial = self.serial()
        chat_id = SUPERGROUP_BASE - 1000 - serial if kind == SUPERGROUP else -(5000 + serial)
        # Message 1 of a forum started its topic "General".
        chat = TelegramChat(chat_id, kind, title, is_forum=forum, next_id=2 if forum else 1)
        self.chats[chat_id] = chat
        return chat

    def serial(self) -> int:
        """Return the next serial number."""
        self._serial += 1
        return self._serial

    def reachable(self, chat_id: Any) -> TelegramChat:
        """Return a chat for which the bot may call methods. Raises ApiRefusal 400 or 403."""
        return self._open(chat_id, rules.STRANGER_ACTION)

    def writable(self, chat_id: Any) -> TelegramChat:
        """Return a chat that the bot may write to. Raises ApiRefusal 400 or 403."""
        person = self.users.get(chat_id)
        if person is not None and person.is_bot:
            raise rules.BOT_PEER.refusal()
        return self._open(chat_id, rules.STRANGER)

    def _open(self, chat_id: Any, stranger: rules.TelegramRule) -> TelegramChat:
        chat = self.chats.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None and chat_id in self.users:
            raise stranger.refusal()
        if chat is None:
            raise (rules.NO_CHAT_ID if chat_id in (None, "") else rules.UNKNOWN_CHAT).refusal()
        if chat.migrated_to:
            raise bad_request(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to
            )
        if chat.barred is not None:
            raise chat.barred.refusal(chat.kind)
        return chat

    def add(self, chat: TelegramChat, sender: TelegramUser, **content: Any) -> TelegramMessage:
        """Add a message to a chat, with the next id of its counter."""
        if chat.kind == SUPERGROUP:
            number = chat.next_id
            chat.next_id += 1
        else:
            self._message_id += 1
            number = self._message_id
        message = TelegramMessage(number, chat, sender, int(time.time()), **content)
        chat.messages[number] = message
        return message

    def thread_of(
        self, chat: TelegramChat, thread_id: int, reply_to: TelegramMessage | None
    ) -> dict[str, Any]:
        """Return the thread fields of a message: a forum topic, or the reply thread of a supergroup."""
        if thread_id:
            return {"thread_id": thread_id, "in_topic": True} if chat.has_topic(thread_id) else {}
        if reply_to is not None and chat.is_forum and reply_to.in_topic:
            return {"thread_id": reply_to.thread_id, "in_topic": True}
        if reply_to is not None and chat.kind == SUPERGROUP and not chat.is_forum:
            return {"thread_id": reply_to.thread_id or reply_to.id}
        return {}

    def store(self, kind: str, name: str, mime: str, data: bytes) -> TelegramFile:
        """Store a file."""
        serial = self.serial()
        suffix = name.rpartition(".")[2] if "." in name else "bin"
        file = TelegramFile(
            f"AgACAgIAAxk{serial:08d}",
            f"AQAD{serial:08d}",
            f"{kind}s/file_{serial}.{suffix}",
            name,
            mime,
            data,
        )
        self.files[file.file_id] = file
        self.files[f"{file.file_id}-s"] = file
        self.files_by_path[file.path] = file
        return file

    def media(self, kind: str, name: str, mime: str, data: bytes, **extra: Any) -> Media:
        """Store a file as the media of a message."""
        return Media(kind, self.store(kind, name, mime, data), extra)

    def file(self, file_id: str) -> TelegramFile:
        """Return the file with an id. Raises ApiRefusal 400."""
        file = self.files.get(file_id)
        if file is None:
            raise rules.UNKNOWN_MEDIA.refusal()
        return file


def migrate(world: TelegramWorkspace, old: TelegramChat) -> TelegramChat:
    """Turn a basic group into a supergroup of a new id, as Telegram does when a group grows."""
    if old.kind != GROUP:
        raise TelegramApiError(400, "only a basic group can become a supergroup")
    new = world.make_group(old.title, SUPERGROUP)
    old.migrated_to = new.id
    return new
