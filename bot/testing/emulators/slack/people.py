"""Actions of people: messages, mentions, files, edits, deletions, commands, buttons, stops."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from bot.testing.emulators.slack.envelopes import Envelope
from bot.testing.emulators.slack.state import (
    CHANNEL,
    GROUP,
    IM,
    MPIM,
    SlackChannel,
    SlackChatMessage,
    SlackUser,
)
from bot.testing.emulators.slack.wire import message_wire
from bot.testing.emulators.slack.workspace import APP_ID, SlackWorkspace
from bot.testing.emulators.transcript import FrameKind

Put = Callable[[str, dict[str, Any]], Envelope]
Record = Callable[..., object]
PERSON = "U0000001"


class SlackPeople:
    """Performs actions and delivers the events that the app would get."""

    def __init__(self, world: SlackWorkspace, put: Put, record: Record, origin: Callable[[], str]) -> None:
        self._world = world
        self._put = put
        self._record = record
        self._origin = origin
        self.first_mention = True

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
    ) -> SlackChatMessage:
        """Send a message as a person; `channel` "" is the direct message with the bot, `thread` the root's
        ts.

        "@roebot" becomes a mention; in a channel that gives `message` and `app_mention`. A file is `data`
        with a name, or several are `files` with `data`, `filename` and `mime`.
        """
        sender = self._world.user(user, name, team)
        place = self._world.channels[channel] if channel else self._world.private(sender)
        place.members.add(sender.id)
        mention = f"<@{self._world.bot.id}>"
        written = re.sub(r"@roebot\b", mention, text)
        given = [*files, {"data": data, "filename": filename, "mime": mime}] if filename else [*files]
        stored = [self._world.store(f["filename"], f.get("mime", mime), f["data"]) for f in given]
        kind = subtype or ("file_share" if stored else "")
        more = {"thread_ts": thread, "files": stored, "subtype": kind, "attachments": [*attachments]}
        message = self._world.add(place, sender, written, **more)
        self._record(FrameKind.PERSON, "says", chat=place.id, message_id=message.ts, text=message.text)
        if place.bot_in:
            self._deliver_message(place, message, mentioned=mention in written and place.kind != IM)
        return message

    def shares(
        self,
        text: str,
        comment: str = "",
        *,
        author: str = "U0000666",
        author_name: str = "Mallory",
        **message: Any,
    ) -> SlackChatMessage:
        """Share a message of somebody else with a comment ("Forward message"); `message` are further
        arguments of `says`.
        """
        ts = self._world.ts()
        shared = {
            "id": 1,
            "ts": ts,
            "channel_id": "C0000SRC",
            "channel_team": self._world.team,
            "is_msg_unfurl": True,
            "is_share": True,
            "author_id": author,
            "author_name": author_name,
            "author_subname": author_name,
            "author_link": f"https://emulated.slack.com/team/{author}",
            "from_url": f"https://emulated.slack.com/archives/C0000SRC/p{ts.replace('.', '')}",
            "fallback": f"[November 25th, 2026 9:00 AM] {author_name}: {text}",
            "text": text,
            "mrkdwn_in": ["text"],
            "footer": "Posted in #elsewhere",
        }
        return self.says(comment, attachments=[shared], **message)

    def says_many(self, messages: Sequence[dict[str, Any]]) -> list[SlackChatMessage]:
        """Send several messages without a pause; each is a dict of arguments of `says`."""
        return [self.says(**message) for message in messages]

    def edits(self, channel: str, ts: str, text: str) -> SlackChatMessage:
        """Change the text of a message as its author."""
        place = self._world.channels[channel]
        message = place.messages[ts]
        before = message_wire(message, place, self._origin())
        text = re.sub(r"@roebot\b", f"<@{self._world.bot.id}>", text)
        message.text, message.edits, message.edited_by = text, message.edits + 1, message.user.id
        after = message_wire(message, place, self._origin())
        self._changed(place, "message_changed", message=after, previous_message=before)
        return message

    def previews(self, channel: str, ts: str) -> None:
        """Add the preview of a link, which Slack sends as an edit although nobody edited."""
        place = self._world.channels[channel]
        before = message_wire(place.messages[ts], place, self._origin())
        after = {**before, "attachments": [{"id": 1, "title": "Example", "from_url": "https://example.org/"}]}
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
            "response_url": f"{self._origin()}/respond/{place.id}/{sender.id}/{serial}",
            "trigger_id": f"{serial}.{self._world.team}.trigger",
        }
        self._put("slash_commands", payload)
        return payload

    def clicks(self, channel: str, ts: str, value: str, *, user: str = PERSON, action_id: str = "x") -> str:
        """Press a button of a message; return the id of the trigger."""
        place = self._world.channels[channel]
        message = place.messages[ts]
        serial = self._world.serial()
        trigger = f"{serial}.{self._world.team}.trigger"
        payload = {
            "type": "block_actions",
            "team": {"id": self._world.team},
            "user": {"id": user, "name": self._world.user(user).name, "team_id": self._world.team},
            "api_app_id": APP_ID,
            "container": {"type": "message", "message_ts": ts, "channel_id": channel},
            "trigger_id": trigger,
            "channel": {"id": channel, "name": place.name},
            "message": message_wire(message, place, self._origin()),
            "response_url": f"{self._origin()}/respond/{channel}/{user}/{serial}",
            "actions": [
                {
                    "type": "button",
                    "action_id": action_id,
                    "block_id": "b",
                    "value": value,
                    "action_ts": self._world.ts(),
                }
            ],
        }
        self._put("interactive", payload)
        return trigger

    def stops(self, channel: str, thread: str, *, user: str = PERSON) -> None:
        """Press Slack's own stop button below a growing answer."""
        place = self._world.channels[channel]
        streaming = [
            message.ts
            for message in place.messages.values()
            if message.thread_ts == thread and message.stream and not message.stream.ended
        ]
        self.event(
            {
                "type": "agent_session_stopped",
                "channel": channel,
                "thread_ts": thread,
                "user": user,
                "streaming_message_ts": streaming,
                "event_ts": self._world.ts(),
            }
        )

    def announce(self, place: SlackChannel, message: SlackChatMessage) -> None:
        """Deliver the event of a message by the app itself."""
        if message.user is self._world.bot:
            self._deliver_message(place, message, mentioned=False)

    def other_bot_says(self, text: str, *, channel: str) -> SlackChatMessage:
        """Send a message as another app."""
        place = self._world.channels[channel]
        other = SlackUser("U0OTHERBOT", "other", self._world.team, is_bot=True)
        message = self._world.add(place, other, re.sub(r"@roebot\b", f"<@{self._world.bot.id}>", text))
        self._deliver_message(place, message, mentioned="<@" in message.text, bot_id="B0OTHER")
        return message

    def event(self, event: dict[str, Any], **more: Any) -> Envelope:
        """Deliver an event, wrapped as the Events API does."""
        serial = self._world.serial()
        team = self._world.team
        payload = {
            "token": "emulated",
            "team_id": team,
            "context_team_id": team,
            "api_app_id": APP_ID,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev0{serial:08d}",
            "event_time": int(time.time()),
            "authorizations": [
                {"enterprise_id": None, "team_id": team, "user_id": self._world.bot.id, "is_bot": True}
            ],
            "is_ext_shared_channel": False,
            **more,
        }
        return self._put("events_api", payload)

    def _changed(self, place: SlackChannel, subtype: str, **content: Any) -> None:
        ts = self._world.ts()
        self.event(
            {
                "type": "message",
                "subtype": subtype,
                "channel": place.id,
                "channel_type": place.kind,
                "ts": ts,
                "event_ts": ts,
                **content,
            }
        )

    def _deliver_message(
        self, place: SlackChannel, message: SlackChatMessage, *, mentioned: bool, bot_id: str = ""
    ) -> None:
        wire = message_wire(message, place, self._origin())
        wire |= {"channel": place.id, "event_ts": message.ts}
        if place.shared and message.user.team != self._world.team:
            wire |= {"user_team": message.user.team, "source_team": message.user.team}
        if bot_id:
            wire["bot_id"] = bot_id
        events = [{**wire, "channel_type": place.kind}]
        if mentioned:
            events.insert(0 if self.first_mention else 1, {**wire, "type": "app_mention"})
        for event in events:
            self.event(event, is_ext_shared_channel=place.shared)
