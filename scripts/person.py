"""Speaks as a person in the emulated Telegram, and shows what the bot writes there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

from roebot_testing.emulators.telegram import TelegramEmulator

FIRST_PERSON = 1001
HELP = """\
  Anything else is a message, /commands too. In a group, mention @{bot} or use :reply.
  :as NAME         speak as somebody else (only the first person is in the configuration)
  :private         go to the private chat
  :group           go to a group
  :topic TITLE     go to a topic of a forum
  :reply TEXT      answer the bot's latest message here
  :press BUTTON    press a button of the bot here, such as :press Resolve
  :photo CAPTION   send a picture
  :help            this list
  :quit            end everything (so does Ctrl-D)
"""


@dataclass
class Person:
    """Who speaks, and where. `chat` 0 is the private chat."""

    emulator: TelegramEmulator
    id: int = FIRST_PERSON
    name: str = "Ann"
    chat: int = 0
    topic: int = 0
    known: dict[str, int] = field(default_factory=lambda: {"Ann": FIRST_PERSON})
    group: int = 0
    forum: int = 0

    @property
    def place(self) -> int:
        """The id of the chat where the person is."""
        return self.chat or self.id

    @property
    def prompt(self) -> str:
        """Who speaks where."""
        where = "topic" if self.topic else ("group" if self.chat else "private")
        return f"{self.name} ({where})> "

    def say(self, line: str) -> str | None:
        """Take one line; what to print about it, None for the end."""
        word, _, rest = line.partition(" ")
        if not word.startswith(":"):
            self._write(line)
            return ""
        action = _ACTIONS.get(word)
        if action is None:
            return f"  no {word}; :help lists what there is\n"
        return action(self, rest.strip())

    def _write(self, text: str, **more: Any) -> None:
        place: dict[str, Any] = {"chat": self.chat, "topic": self.topic}
        self.emulator.people.says(text, user=self.id, name=self.name, **place, **more)

    def _as(self, name: str) -> str:
        if not name:
            return "  :as NAME\n"
        self.name = name
        self.id = self.known.setdefault(name, FIRST_PERSON + len(self.known))
        return ""

    def _private(self, _: str) -> str:
        self.chat = self.topic = 0
        return ""

    def _to_group(self, _: str) -> str:
        self.group = self.group or self.emulator.people.make_group("Playground")
        self.chat, self.topic = self.group, 0
        return ""

    def _to_topic(self, title: str) -> str:
        self.forum = self.forum or self.emulator.people.make_group("Forum", forum=True)
        self.chat = self.forum
        self.topic = self.emulator.people.make_topic(self.forum, title or "Topic", user=self.id)
        return ""

    def _reply(self, text: str) -> str:
        found = [seen["message_id"] for seen in said_by_bot(self.emulator, self.place)]
        if not found:
            return "  the bot has written nothing here yet\n"
        self._write(text, reply_to=found[-1])
        return ""

    def _press(self, label: str) -> str:
        for seen in reversed(said_by_bot(self.emulator, self.place)):
            data = _buttons(seen).get(label)
            if data is not None:
                self.emulator.people.presses(self.place, seen["message_id"], data, user=self.id)
                return ""
        return f"  the bot shows no button {label} here\n"

    def _photo(self, caption: str) -> str:
        self._write(caption, media="photo")
        return ""

    def _help(self, _: str) -> str:
        return HELP.format(bot=self.emulator.world.bot.username)

    def _quit(self, _: str) -> None:
        return None


_ACTIONS: dict[str, Callable[[Person, str], str | None]] = {
    ":as": Person._as,
    ":private": Person._private,
    ":group": Person._to_group,
    ":topic": Person._to_topic,
    ":reply": Person._reply,
    ":press": Person._press,
    ":photo": Person._photo,
    ":help": Person._help,
    ":quit": Person._quit,
}


def said_by_bot(emulator: TelegramEmulator, chat: int) -> list[dict[str, Any]]:
    """The bot's messages that stand in a chat, in order."""
    if chat not in emulator.world.chats:
        return []
    return [seen for seen in emulator.view(chat)["messages"] if seen["from_bot"]]


class Transcript:
    """Prints what the bot writes, as it grows."""

    def __init__(self, emulator: TelegramEmulator, out: TextIO = sys.stdout) -> None:
        self._emulator = emulator
        self._out = out
        self._shown: dict[tuple[int, int], str] = {}
        self._last: tuple[int, int] = (0, 0)

    def show_new(self) -> bool:
        """Print what changed since the last call; whether anything did."""
        changed = False
        for chat in list(self._emulator.world.chats):
            title = "" if chat > 0 else f" ({self._emulator.view(chat)['title']})"
            for seen in said_by_bot(self._emulator, chat):
                changed = self._one((chat, seen["message_id"]), _text(seen), title) or changed
        return changed

    def _one(self, key: tuple[int, int], text: str, title: str) -> bool:
        shown = self._shown.get(key)
        if shown == text:
            return False
        edited = "" if shown is None else " (edited)"
        grows = shown is not None and self._last == key and text.startswith(shown)
        self._out.write(text[len(shown or "") :] if grows else f"\nbot{title}{edited}> {text}")
        self._out.flush()
        self._shown[key], self._last = text, key
        return True


def _text(seen: dict[str, Any]) -> str:
    file = f"[{seen['kind']} {seen['filename']}] " if seen["filename"] else ""
    buttons = " ".join(f"[{label}]" for label in _buttons(seen))
    return f"{file}{seen['text']}" + (f"\n{buttons}" if buttons else "")


def _buttons(seen: dict[str, Any]) -> dict[str, str]:
    """The data of the buttons below a message, by label."""
    rows = (seen.get("markup") or {}).get("inline_keyboard", [])
    return {
        button["text"]: button["callback_data"] for row in rows for button in row if "callback_data" in button
    }
