"""Actions of people on the app as an agent: opening it, its stop button, titles and feedback.

Events as on their pages (docs.slack.dev/reference/events); `context` and `app_context` as
slackapi/node-slack-sdk types them and vercel/chat recorded them (packages/adapter-slack/sample-messages.md).
"""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.slack.apps import SlackApps
from roebot_testing.emulators.slack.sessions import STOPPED_EVENT, is_working
from roebot_testing.emulators.slack.state import IM, AppView, SlackChannel, SlackUser
from roebot_testing.emulators.slack.wire import message_wire
from roebot_testing.emulators.slack.workspace import APP_ID

PERSON = "U0000001"
THREAD_START = "assistant_app_thread"
"""Subtype of the message that begins a thread with an older assistant (docs.slack.dev, migrating)."""
CONTEXT_CHANGED, HOME_OPENED = "app_context_changed", "app_home_opened"


class SlackAgentUsers(SlackApps):
    """Performs what people do with an agent, and delivers the events that the app subscribes to."""

    def opens(self, *, user: str = PERSON, name: str = "", viewing: str = "", tab: str = "messages") -> str:
        """Open the app beside the channel `viewing` ("": nothing else); return the id of the direct message.

        An older assistant gets a new thread; its ts is the last message of the chat.
        """
        person = self._world.user(user, name)
        place = self._world.private(person)
        self._world.viewing[person.id] = viewing
        if self._world.view is AppView.ASSISTANT:
            root = self._world.add(place, self._world.bot, "New conversation", subtype=THREAD_START)
            self._deliver_assistant("assistant_thread_started", person, place, root.ts)
        elif self._world.view is AppView.AGENT or tab == "home":
            event = {"type": HOME_OPENED, "user": person.id, "channel": place.id, "tab": tab}
            context = {"context": self._context(person)} if self._shares_context() else {}
            self._deliver({**event, **context, "event_ts": self._world.ts()})
        return place.id

    def looks_at(self, channel: str, *, user: str = PERSON) -> None:
        """Look at another channel while the app is open."""
        person = self._world.user(user)
        place = self._world.private(person)
        self._world.viewing[person.id] = channel
        if self._world.view is AppView.ASSISTANT:
            roots = [one.ts for one in place.messages.values() if one.subtype == THREAD_START]
            self._deliver_assistant("assistant_thread_context_changed", person, place, roots[-1])
        elif self._world.view is AppView.AGENT:
            event = {"type": CONTEXT_CHANGED, "user": person.id, "channel": place.id}
            self._deliver({**event, "context": self._context(person), "event_ts": self._world.ts()})

    def stops(self, channel: str, thread: str, *, user: str = PERSON) -> None:
        """Press Slack's own stop button: Slack appends nothing more to the streams in the thread, and leaves
        the status to the app (docs.slack.dev, agent_session_stopped).

        Raises ValueError if Slack shows no such button.
        """
        place = self._world.channels[channel]
        working = is_working(place.sessions.get(thread), self._world.monotonic())
        if not working or STOPPED_EVENT not in self._world.events:
            raise ValueError("there is no stop button: the session of this thread is not being worked on")
        streaming = []
        for message in place.messages.values():
            if message.thread_ts == thread and message.stream and not message.stream.ended:
                message.stream.stopped = True
                streaming.append(message.ts)
        self._deliver(
            {
                "type": STOPPED_EVENT,
                "channel": channel,
                "thread_ts": thread,
                "user": user,
                "streaming_message_ts": streaming,
                "event_ts": self._world.ts(),
            }
        )

    def retitles(self, channel: str, thread: str, title: str, *, user: str = PERSON) -> None:
        """Change the title of a session. Raises KeyError if the thread has none."""
        session = self._world.channels[channel].sessions[thread]
        before = {"previous_title": session.title} if session.title else {}
        session.title = title
        self._deliver(
            {
                "type": "agent_session_title_changed",
                "channel": channel,
                "thread_ts": thread,
                "team_id": self._world.team,
                "user": user,
                "title": title,
                **before,
                "event_ts": self._world.ts(),
            }
        )

    def rates(self, channel: str, ts: str, good: bool = True, *, user: str = PERSON) -> str:
        """Press a feedback button below a message; return the id of the trigger.

        Raises ValueError if the message has none.
        """
        place = self._world.channels[channel]
        message = place.messages[ts]
        found = [
            (block, one)
            for block in message.blocks
            if block.get("type") == "context_actions"
            for one in block["elements"]
            if one["type"] == "feedback_buttons"
        ]
        if not found:
            raise ValueError("the message has no feedback buttons")
        block, element = found[0]
        button = element["positive_button" if good else "negative_button"]
        action = {
            "type": "feedback_buttons",
            "action_id": element.get("action_id", "f"),
            "block_id": block.get("block_id", "b"),
            "text": button["text"],
            "value": button["value"],
            "action_ts": self._world.ts(),
        }
        trigger = f"{self._world.serial()}.{self._world.team}.trigger"
        payload = {
            "type": "block_actions",
            "team": {"id": self._world.team},
            "user": {"id": user, "name": self._world.user(user).name, "team_id": self._world.team},
            "api_app_id": APP_ID,
            "container": {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": False},
            "trigger_id": trigger,
            "channel": {"id": channel, "name": place.name},
            "message": message_wire(message, place, self._origin()),
            "response_url": f"{self._origin()}{self._world.response_url(channel, user, ts)}",
            "actions": [action],
        }
        self._put("interactive", payload)
        return trigger

    def _app_context(self, person: SlackUser, place: SlackChannel) -> dict[str, Any]:
        """Return the information in a person's message to the agent about the channel they are viewing."""
        is_told = place.kind == IM and self._world.view is AppView.AGENT and self._shares_context()
        return {"app_context": self._context(person)} if is_told and person.id in self._world.viewing else {}

    def _shares_context(self) -> bool:
        return CONTEXT_CHANGED in self._world.events

    def _context(self, person: SlackUser) -> dict[str, Any]:
        channel, team = self._world.viewing.get(person.id, ""), self._world.team
        if not channel:
            return {}
        entity = {"type": "slack#/types/channel_id", "value": channel, "team_id": team}
        return {"entities": [entity]}

    def _deliver_assistant(self, kind: str, person: SlackUser, place: SlackChannel, thread: str) -> None:
        viewing = self._world.viewing.get(person.id, "")
        context = {"channel_id": viewing, "team_id": self._world.team, "enterprise_id": None}
        assistant = {
            "user_id": person.id,
            "context": context if viewing else {},
            "channel_id": place.id,
            "thread_ts": thread,
        }
        self._deliver({"type": kind, "assistant_thread": assistant, "event_ts": self._world.ts()})

    def _deliver(self, event: dict[str, Any]) -> None:
        if event["type"] in self._world.events:
            self.event(event)
