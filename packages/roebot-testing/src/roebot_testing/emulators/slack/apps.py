"""Actions of other apps, and delivery of people's and apps' actions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from roebot_testing.emulators.slack.envelopes import Envelope
from roebot_testing.emulators.slack.scopes import event_scope, has_scope
from roebot_testing.emulators.slack.state import SlackChannel, SlackChatMessage
from roebot_testing.emulators.slack.wire import message_wire
from roebot_testing.emulators.slack.workspace import APP_ID, SlackWorkspace
from roebot_testing.emulators.transcript import FrameKind

Put = Callable[[str, dict[str, Any]], Envelope]
Record = Callable[..., object]


class SlackApps:
    """Performs actions of apps and delivers the events that the bot would get."""

    def __init__(self, world: SlackWorkspace, put: Put, record: Record, origin: Callable[[], str]) -> None:
        self._world = world
        self._put = put
        self._record = record
        self._origin = origin
        self.first_mention = True

    def other_bot_says(self, text: str, *, channel: str) -> SlackChatMessage:
        """Send a message as another app."""
        return self.app_posts(text, channel=channel, name="other")

    def app_posts(
        self,
        text: str = "",
        *,
        channel: str,
        name: str = "Monitoring",
        thread: str = "",
        username: str = "",
        subtype: str = "",
        blocks: Sequence[dict[str, Any]] = (),
        attachments: Sequence[dict[str, Any]] = (),
    ) -> SlackChatMessage:
        """Send a message as another app, with blocks or attachments (see `cards`)."""
        place = self._world.channels[channel]
        content = {"blocks": [*blocks], "attachments": [*attachments], "subtype": subtype}
        message = self._world.add(
            place, self._world.app(name), self._mention(text), thread_ts=thread, username=username, **content
        )
        self._record(FrameKind.PERSON, "app_posts", chat=place.id, message_id=message.ts, text=message.text)
        self._deliver_message(place, message, mentioned=self._is_mentioned(message))
        return message

    def app_edits(
        self, channel: str, ts: str, text: str = "", attachments: Sequence[dict[str, Any]] = ()
    ) -> SlackChatMessage:
        """Change a message as the app that wrote it."""
        place = self._world.channels[channel]
        message = place.messages[ts]
        before = message_wire(message, place, self._origin())
        message.text, message.attachments = self._mention(text), [*attachments]
        message.edits, message.edited_by = message.edits + 1, message.user.id
        after = message_wire(message, place, self._origin())
        self._changed(place, "message_changed", message=after, previous_message=before)
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

    def _mention(self, text: str) -> str:
        return re.sub(r"@roebot\b", f"<@{self._world.bot.id}>", text)

    def _is_mentioned(self, message: SlackChatMessage) -> bool:
        return f"<@{self._world.bot.id}>" in message.text

    def _changed(self, place: SlackChannel, subtype: str, **content: Any) -> None:
        if not has_scope(self._world, event_scope(place.kind, mentioned=False)):
            return
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
        self, place: SlackChannel, message: SlackChatMessage, *, mentioned: bool, **more: Any
    ) -> None:
        """Deliver the events of a message; `more` are further keys of them."""
        wire = message_wire(message, place, self._origin())
        wire |= {"channel": place.id, "event_ts": message.ts, **more}
        if place.shared and message.user.team != self._world.team:
            wire |= {"user_team": message.user.team, "source_team": message.user.team}
        events = [{**wire, "channel_type": place.kind}]
        if mentioned:
            events.insert(0 if self.first_mention else 1, {**wire, "type": "app_mention"})
        for event in events:
            if has_scope(self._world, event_scope(place.kind, mentioned=event["type"] == "app_mention")):
                self.event(event, is_ext_shared_channel=place.shared)
