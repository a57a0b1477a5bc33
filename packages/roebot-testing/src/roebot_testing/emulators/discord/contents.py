"""Actions of people and apps that are more than text: cards, polls, voice, stickers, threads, notices.

The payloads have the shapes that docs.discord.com/developers/resources/message shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from roebot_testing.emulators.discord.people import FORWARD, PERSON, DiscordPeople
from roebot_testing.emulators.discord.state import (
    PINNED,
    PUBLIC_THREAD,
    THREAD_STARTER,
    DiscordMessage,
)
from roebot_testing.emulators.discord.wire import channel_wire, message_wire, role_wire
from roebot_testing.emulators.discord.workspace import FIRST_PERSON

APP = FIRST_PERSON + 5001
JOINED = 7
IS_VOICE, IS_FORWARD, HAS_COMPONENTS, HAS_THREAD = 1 << 13, 1 << 14, 1 << 15, 1 << 5
"""Flags of messages (…/resources/message#message-object-message-flags)."""
_COPIED = ("content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "components", "type")
_COPIED_IF_ANY = ("mentions", "mention_roles", "sticker_items")


class DiscordTeam(DiscordPeople):
    """People and apps of a server, with everything that they can post."""

    def posts(
        self,
        text: str = "",
        *,
        chat: int,
        app: int = APP,
        name: str = "Slipway",
        embeds: Sequence[dict[str, Any]] = (),
        components: Sequence[dict[str, Any]] = (),
        webhook: bool = False,
        **message: Any,
    ) -> DiscordMessage:
        """Post a message as another app, or as a `webhook` of that name; `message` are further arguments of
        `says`. Components other than buttons take the place of text and embeds.
        """
        rich = any(one.get("type") != 1 for one in components)
        extra = {
            "embeds": [{"type": "rich", **embed} for embed in embeds],
            "components": list(components),
            **({"flags": HAS_COMPONENTS} if rich else {}),
            **({"webhook_id": str(app)} if webhook else {"application_id": str(app)}),
        }
        return self.says(text, user=app, name=name, chat=chat, is_bot=True, extra=extra, **message)

    def updates(self, chat: int, message_id: int, **changes: Any) -> DiscordMessage:
        """Change fields of an app's message, such as its `embeds`."""
        message = self._world.channels[chat].messages[message_id]
        message.extra |= changes
        message.edited_at = self._world.wall()
        self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return message

    def records_voice(
        self,
        data: bytes = b"OggS",
        *,
        seconds: float = 7.3,
        filename: str = "voice-message.ogg",
        **message: Any,
    ) -> DiscordMessage:
        """Send a voice message; `message` are further arguments of `says`."""
        about = {"duration_secs": seconds, "waveform": "AAECAwQFBgcICQoL"}
        sound = {"filename": filename, "data": data, "mime": "audio/ogg", "about": about}
        return self.says(files=[sound], extra={"flags": IS_VOICE}, **message)

    def sends_sticker(self, name: str, text: str = "", **message: Any) -> DiscordMessage:
        """Send a sticker."""
        sticker = {"id": str(self._world.snowflake()), "name": name, "format_type": 1}
        return self.says(text, extra={"sticker_items": [sticker]}, **message)

    def asks_poll(self, question: str, answers: Sequence[str], **message: Any) -> DiscordMessage:
        """Start a poll that is open for a day."""
        until = datetime.fromtimestamp(self._world.wall() + 24 * 3600, UTC).isoformat()
        poll = {
            "question": {"text": question},
            "answers": [
                {"answer_id": number, "poll_media": {"text": answer}}
                for number, answer in enumerate(answers, start=1)
            ],
            "expiry": until,
            "allow_multiselect": False,
            "layout_type": 1,
            "results": {"answer_counts": [], "is_finalized": False},
        }
        return self.says(extra={"poll": poll}, **message)

    def ends_poll(self, chat: int, message_id: int, votes: Sequence[int]) -> DiscordMessage:
        """Close a poll with the number of votes for each answer."""
        message = self._world.channels[chat].messages[message_id]
        counts = [
            {"id": number, "count": count, "me_voted": False} for number, count in enumerate(votes, start=1)
        ]
        results = {"answer_counts": counts, "is_finalized": True}
        message.extra["poll"] = {**message.extra["poll"], "results": results}
        self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return message

    def passes_on(self, chat: int, message_id: int, *, to: int = 0, user: int = PERSON) -> DiscordMessage:
        """Forward a message of a channel with everything in it; `to` 0 is the DM of the person."""
        original = message_wire(self._world.channels[chat].messages[message_id])
        snapshot = {key: original[key] for key in _COPIED}
        snapshot |= {key: original[key] for key in _COPIED_IF_ANY if key in original}
        reference = {"type": FORWARD, "channel_id": str(chat), "message_id": str(message_id)}
        extra = {
            "message_reference": reference,
            "message_snapshots": [{"message": snapshot}],
            "flags": IS_FORWARD,
        }
        return self.says(user=user, chat=to, extra=extra)

    def pins(self, chat: int, message_id: int, *, user: int = PERSON) -> DiscordMessage:
        """Pin a message: the notice refers to it and does not contain it."""
        reference = {"type": 0, "channel_id": str(chat), "message_id": str(message_id)}
        return self.says(user=user, chat=chat, kind=PINNED, extra={"message_reference": reference})

    def joins(self, chat: int, *, user: int = PERSON, name: str = "") -> DiscordMessage:
        """Join the server of a channel, which shows the notice."""
        return self.says(user=user, name=name, chat=chat, kind=JOINED)

    def starts_thread(self, chat: int, message_id: int, title: str, *, user: int = PERSON) -> int:
        """Start a thread below a message as a person; return its id. Its first entry refers to that one."""
        parent = self._world.channels[chat]
        first = parent.messages[message_id]
        thread = self._world.make_thread(parent, title, user, PUBLIC_THREAD, id_=message_id)
        first.flags |= HAS_THREAD
        self._emit("THREAD_CREATE", {**channel_wire(thread), "newly_created": True})
        self._emit("MESSAGE_UPDATE", message_wire(first, event=True))
        shown = message_wire(first, nested=True)
        reference = {"type": 0, "channel_id": str(chat), "message_id": str(message_id)}
        self.says(
            user=user,
            chat=thread.id,
            kind=THREAD_STARTER,
            extra={"message_reference": reference, "referenced_message": shown},
        )
        return thread.id

    def opens_post(
        self, forum: int, title: str, text: str = "", *, tags: Sequence[str] = (), **message: Any
    ) -> DiscordMessage:
        """Open a post in a forum; its first message has the post's id. New tags are added to the forum."""
        parent = self._world.channels[forum]
        known = {name: number for number, name in parent.tags.items()}
        added = {self._world.snowflake(): tag for tag in tags if tag not in known}
        if added:
            parent.tags |= added
            self._emit("CHANNEL_UPDATE", channel_wire(parent))
        post = self._world.make_thread(parent, title, message.get("user", PERSON), PUBLIC_THREAD)
        post.applied = [number for number, name in parent.tags.items() if name in tags]
        self._emit("THREAD_CREATE", {**channel_wire(post), "newly_created": True})
        return self.says(text, chat=post.id, id_=post.id, **message)

    def make_role(self, guild: int, name: str) -> int:
        """Create a role of a server; return its id."""
        role = role_wire(self._world.snowflake(), name)
        self._world.guilds[guild].roles.append(role)
        self._emit("GUILD_ROLE_CREATE", {"guild_id": str(guild), "role": role})
        return int(role["id"])

    def takes_nickname(self, nick: str, *, user: int = PERSON) -> None:
        """Change a person's nickname in all servers. Bots without the privileged intent get no event."""
        self._world.user(user).nick = nick

    def comes_as_guest(self, *, user: int = PERSON, name: str = "") -> None:
        """Make a person a guest of all servers, invited to a voice channel only."""
        self._world.user(user, name).is_guest = True

    def uses_on(self, command: str, chat: int, message_id: int, *, user: int = PERSON) -> int:
        """Use a command of the bot on a message; return the id of the interaction."""
        target = message_wire(self._world.channels[chat].messages[message_id])
        data = {
            "name": command,
            "type": 3,
            "target_id": str(message_id),
            "resolved": {"messages": {str(message_id): target}},
        }
        return self._interact(chat, user, data)
