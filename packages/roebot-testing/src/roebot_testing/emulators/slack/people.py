"""Actions of people: messages, mentions, files, edits, deletions, commands, buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roebot_testing.emulators.slack.agent_users import PERSON, SlackAgentUsers
from roebot_testing.emulators.slack.cards import rich_text, shared_message, subtitles, table
from roebot_testing.emulators.slack.state import (
    CHANNEL,
    GROUP,
    IM,
    MPIM,
    SlackChannel,
    SlackChatMessage,
)
from roebot_testing.emulators.slack.wire import message_wire
from roebot_testing.emulators.slack.workspace import APP_ID
from roebot_testing.emulators.transcript import FrameKind

EXCERPT = 200
"""Characters of a transcript in the event of its message; the size is not published."""


class SlackPeople(SlackAgentUsers):
    """Performs actions of people and apps, and delivers the events that the bot would get."""

    def make_channel(
        self, name: str = "general", *, private: bool = False, group: bool = False, shared: bool = False
    ) -> str:
        """Create a channel with the bot in it (`group`: a message to several people); return its id."""
        kind = MPIM if group else GROUP if private else CHANNEL
        return self._world.make(kind, name, shared=shared).id

    def removes_bot(self, channel: str) -> None:
        """Remove the bot from a channel."""
        self._world.channels[channel].bot_in = False

    def invites_bot(self, channel: str) -> None:
        """Add the bot to a channel again."""
        self._world.channels[channel].bot_in = True

    def archives(self, channel: str) -> None:
        """Archive a channel."""
        self._world.channels[channel].archived = True

    def says(
        self,
        text: str = "",
        *,
        user: str = PERSON,
        name: str = "",
        team: str = "",
        channel: str = "",
        thread: str = "",
        files: Sequence[dict[str, Any]] = (),
        data: bytes = b"",
        filename: str = "",
        mime: str = "text/plain",
        subtype: str = "",
        attachments: Sequence[dict[str, Any]] = (),
        blocks: Sequence[dict[str, Any]] = (),
    ) -> SlackChatMessage:
        """Send a message as a person; `channel` "" is the direct message with the bot, `thread` the root's
        ts.

        "@roebot" becomes a mention; in a channel that gives `message` and `app_mention`. A file is `data`
        with a name, or several are `files` with `data`, `filename`, `mime` and `details` of the file object.
        The words come as rich text too, as Slack's own clients write them, unless there are `blocks`.
        """
        sender = self._world.user(user, name, team)
        place = self._world.channels[channel] if channel else self._world.private(sender)
        place.members.add(sender.id)
        written = self._mention(text)
        given = [*files, {"data": data, "filename": filename, "mime": mime}] if filename else [*files]
        stored = [self._world.store(f["filename"], f.get("mime", mime), f["data"]) for f in given]
        for file, one in zip(stored, given, strict=True):
            file.details = one.get("details", {})
        kind = subtype or ("file_share" if stored else "")
        more = {"thread_ts": thread, "files": stored, "subtype": kind, "attachments": [*attachments]}
        more["blocks"] = [*blocks] or rich_text(written)
        message = self._world.add(place, sender, written, **more)
        self._record(FrameKind.PERSON, "says", chat=place.id, message_id=message.ts, text=message.text)
        if place.bot_in:
            mentioned = place.kind != IM and self._is_mentioned(message)
            self._deliver_message(place, message, mentioned=mentioned, **self._app_context(sender, place))
        return message

    def broadcasts(self, text: str, *, thread: str, **message: Any) -> SlackChatMessage:
        """Answer in a thread and show that in the channel as well (docs.slack.dev, thread_broadcast).

        `message` are further arguments of `says`.
        """
        return self.says(text, thread=thread, subtype="thread_broadcast", **message)

    def pastes(self, rows: Sequence[Sequence[str]], text: str = "", **message: Any) -> SlackChatMessage:
        """Paste a table, which Slack attaches to the words. `message` are further arguments of `says`."""
        return self.says(text, attachments=[table(rows)], **message)

    def shares(
        self,
        text: str,
        comment: str = "",
        *,
        author: str = "U0000666",
        author_name: str = "Mallory",
        place: str = "",
        copied: Sequence[dict[str, Any]] = (),
        **message: Any,
    ) -> SlackChatMessage:
        """Share a message of somebody else with a comment ("Forward message"). `place` is the channel that it
        is from ("": a private conversation), `copied` are its blocks; `message` are further arguments of
        `says`.
        """
        ts = self._world.ts()
        shared = shared_message(
            self._mention(text), ts, author, author_name, place, copied, team=self._world.team
        )
        return self.says(comment, attachments=[shared], **message)

    def speaks(self, transcript: str = "", **message: Any) -> SlackChatMessage:
        """Record a voice message; Slack's transcript is still in progress where it is "". `message` are
        further arguments of `says`.
        """
        details: dict[str, Any] = {"subtype": "slack_audio", "duration_ms": 4000}
        details["transcription"] = {"status": "processing"}
        if transcript:
            vtt = self._world.store("audio_message.vtt", "text/vtt", subtitles(transcript).encode())
            preview = {"content": transcript[:EXCERPT], "has_more": len(transcript) > EXCERPT}
            details["transcription"] = {"status": "complete", "preview": preview}
            details["vtt"] = f"{self._origin()}{vtt.path}"
        clip = {"data": b"speech", "filename": "audio_message.m4a", "mime": "audio/mp4", "details": details}
        return self.says(files=[clip], **message)

    def says_many(self, messages: Sequence[dict[str, Any]]) -> list[SlackChatMessage]:
        """Send several messages without a pause; each is a dict of arguments of `says`."""
        return [self.says(**message) for message in messages]

    def edits(self, channel: str, ts: str, text: str) -> SlackChatMessage:
        """Change the text of a message as its author."""
        place = self._world.channels[channel]
        message = place.messages[ts]
        before = message_wire(message, place, self._origin())
        text = self._mention(text)
        message.blocks = rich_text(text)
        message.text, message.edits, message.edited_by = text, message.edits + 1, message.user.id
        after = message_wire(message, place, self._origin())
        self._changed(place, "message_changed", message=after, previous_message=before)
        return message

    def previews(self, channel: str, ts: str, title: str = "Example", text: str = "") -> None:
        """Add the preview of a link, which Slack sends as an edit although nobody edited."""
        place = self._world.channels[channel]
        message = place.messages[ts]
        before = message_wire(message, place, self._origin())
        shown = {"id": 1, "title": title, "text": text, "from_url": "https://example.org/"}
        message.attachments = [*message.attachments, shown]
        after = message_wire(message, place, self._origin())
        self._changed(place, "message_changed", message=after, previous_message=before)

    def deletes(self, channel: str, ts: str) -> None:
        """Delete a message; the root of a thread leaves a tombstone."""
        place = self._world.channels[channel]
        message = place.messages.pop(ts)
        before = message_wire(message, place, self._origin())
        if any(other.thread_ts == ts for other in place.messages.values()):
            text = "This message was deleted."
            stone = {**before, "user": "USLACKBOT", "subtype": "tombstone", "text": text, "hidden": True}
            self._changed(place, "message_changed", message=stone, previous_message=before)
            return
        self._changed(place, "message_deleted", deleted_ts=ts, previous_message=before)

    def commands(
        self, text: str = "", *, user: str = PERSON, channel: str = "", command: str = "/roebot"
    ) -> dict[str, Any]:
        """Use the slash command; return the payload."""
        sender = self._world.user(user)
        place = self._world.channels[channel] if channel else self._world.private(sender)
        place.members.add(sender.id)
        serial = self._world.serial()
        payload = {
            "token": "emulated",
            "team_id": self._world.team,
            "channel_id": place.id,
            "channel_name": "directmessage" if place.kind == IM else place.name,
            "user_id": sender.id,
            "user_name": sender.name,
            "command": command,
            "text": text,
            "api_app_id": APP_ID,
            "response_url": f"{self._origin()}{self._world.response_url(place.id, sender.id)}",
            "trigger_id": f"{serial}.{self._world.team}.trigger",
        }
        self._put("slash_commands", payload)
        return payload

    def clicks(self, channel: str, ts: str, value: str, *, user: str = PERSON, action_id: str = "x") -> str:
        """Press a button of a message; return the id of the trigger. A message that one person sees does not
        come with it.
        """
        place = self._world.channels[channel]
        place.members.add(user)
        message = place.messages[ts]
        serial = self._world.serial()
        alone = bool(message.visible_to)
        shown = {} if alone else {"message": message_wire(message, place, self._origin())}
        container = {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": alone}
        blocks = (one for one in message.blocks if _has_action(one, action_id))
        block_id = next((one["block_id"] for one in blocks if "block_id" in one), "b")
        trigger = f"{serial}.{self._world.team}.trigger"
        payload = {
            "type": "block_actions",
            "team": {"id": self._world.team},
            "user": {"id": user, "name": self._world.user(user).name, "team_id": self._world.team},
            "api_app_id": APP_ID,
            "container": container,
            "trigger_id": trigger,
            "channel": {"id": channel, "name": place.name},
            **shown,
            "response_url": f"{self._origin()}{self._world.response_url(channel, user, ts)}",
            "actions": [
                {
                    "type": "button",
                    "action_id": action_id,
                    "block_id": block_id,
                    "value": value,
                    "action_ts": self._world.ts(),
                }
            ],
        }
        self._put("interactive", payload)
        return trigger

    def announce(self, place: SlackChannel, message: SlackChatMessage) -> None:
        """Deliver the event of a message by the app itself."""
        if message.user is self._world.bot:
            self._deliver_message(place, message, mentioned=False)

    def joins(self, channel: str, *, user: str = PERSON, name: str = "") -> SlackChatMessage:
        """Add a person to a channel, of which Slack writes a message."""
        person, place = self._world.user(user, name), self._world.channels[channel]
        place.members.add(person.id)
        text = f"<@{person.id}> has joined the channel"
        message = self._world.add(place, person, text, subtype="channel_join")
        self._deliver_message(place, message, mentioned=False)
        return message

    def leaves(self, channel: str, *, user: str = PERSON) -> SlackChatMessage:
        """Let a person leave a channel, of which Slack writes a message."""
        person, place = self._world.user(user), self._world.channels[channel]
        place.members.discard(person.id)
        text = f"<@{person.id}> has left the channel"
        message = self._world.add(place, person, text, subtype="channel_leave")
        self._deliver_message(place, message, mentioned=False)
        return message

    def deactivates(self, user: str) -> None:
        """Deactivate the account of a person, who leaves every conversation and is `deleted` from then on."""
        self._world.user(user).is_deactivated = True
        for place in self._world.channels.values():
            place.members.discard(user)

    def renames(self, user: str, name: str) -> None:
        """Change the name of a person."""
        self._world.user(user).name = name

    def makes_guest(self, user: str) -> None:
        """Make a person a guest of the workspace."""
        self._world.user(user).is_guest = True


def _has_action(block: dict[str, Any], action_id: str) -> bool:
    return any(one.get("action_id") == action_id for one in block.get("elements", ()))
