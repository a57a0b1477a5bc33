"""In-memory store of the emulated workspace, and creation of ids."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from roebot_testing.emulators.link_previews import LinkPreviews
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import (
    CHANNEL,
    GROUP,
    IM,
    MPIM,
    AppView,
    ResponseUrl,
    SlackChannel,
    SlackChatMessage,
    SlackFile,
    SlackUser,
)

TEAM, BOT_USER, BOT_ID, APP_ID = "T0EMULATOR", "U0ROEBOT", "B0ROEBOT", "A0ROEBOT"
BOT_TOKEN = "xoxb-emulated-token-for-loopback-only"  # noqa: S105 - no secret
APP_TOKEN = "xapp-emulated-token-for-loopback-only"  # noqa: S105 - no secret
SIGNING_SECRET = "emulated-signing-secret"  # noqa: S105 - no secret
STREAM_SECONDS = 300.0
"""Seconds that Slack keeps a stream open (slackapi/python-slack-sdk#1859)."""
SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,files:read,files:write,"
    "groups:history,groups:read,im:history,im:write,mpim:history,reactions:write,users:read"
)
EVENTS = (
    "agent_session_stopped",
    "agent_session_title_changed",
    "app_context_changed",
    "app_home_opened",
    "assistant_thread_context_changed",
    "assistant_thread_started",
)
_LETTERS = {IM: "D", CHANNEL: "C", GROUP: "C", MPIM: "G"}


@dataclass(slots=True)
class SlackWorkspace:
    """One workspace with one app in it."""

    team: str = TEAM
    bot: SlackUser = field(default_factory=lambda: SlackUser(BOT_USER, "roebot", TEAM, is_bot=True))
    users: dict[str, SlackUser] = field(default_factory=dict)
    channels: dict[str, SlackChannel] = field(default_factory=dict)
    files: dict[str, SlackFile] = field(default_factory=dict)
    scopes: str = SCOPES
    app_scopes: str = "connections:write"
    """Scopes of the app-level token."""
    view: AppView = AppView.AGENT
    events: frozenset[str] = frozenset(EVENTS)
    """Events of agents that the app subscribes to; those of messages depend on scopes alone here."""
    takes_markdown: bool = True
    """Whether this server knows Markdown and streams, as some compatible ones don't."""
    viewing: dict[str, str] = field(default_factory=dict)
    """The channel that each person looks at beside the app."""
    previews: LinkPreviews = field(default_factory=LinkPreviews)
    usergroups: dict[str, list[str]] = field(default_factory=dict)
    """Members of each user group."""
    handles: dict[str, str] = field(default_factory=dict)
    """Names by which user groups are mentioned; without one it is the id in lower case."""
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict)
    """Response URLs by serial number."""
    monotonic: Callable[[], float] = time.monotonic
    _serial: int = 0
    _last: int = 0

    def user(self, user_id: str, name: str = "", team: str = "") -> SlackUser:
        """Return the person with an id, created on first use."""
        if user_id == self.bot.id:
            return self.bot
        user = self.users.get(user_id)
        if user is None:
            user = self.users[user_id] = SlackUser(user_id, name or f"Person {user_id}", team or self.team)
            user.is_stranger = user.team != self.team
        elif name:
            user.name = name
        return user

    def app(self, name: str) -> SlackUser:
        """Return the bot of another app, created on first use."""
        for user in self.users.values():
            if user.is_bot and user.name == name:
                return user
        number = f"{self.serial():07d}"
        bot = SlackUser(f"U9{number}", name, self.team, is_bot=True)
        bot.bot_id, bot.app_id = f"B{number}", f"A{number}"
        self.users[bot.id] = bot
        return bot

    def private(self, user: SlackUser) -> SlackChannel:
        """Return the direct message with a person, created on first use."""
        for channel in self.channels.values():
            if channel.kind == IM and user.id in channel.members:
                return channel
        return self.make(IM, members={user.id})

    def make(self, kind: str, name: str = "", **more: Any) -> SlackChannel:
        """Create a channel."""
        channel = SlackChannel(f"{_LETTERS[kind]}0{self.serial():07d}", kind, name, **more)
        self.channels[channel.id] = channel
        return channel

    def response_url(self, channel: str, user: str, message: str = "") -> str:
        """Create the path of a response URL."""
        serial = str(self.serial())
        self.response_urls[serial] = ResponseUrl(channel, user, self.monotonic(), message)
        return f"/respond/{channel}/{user}/{serial}"

    def serial(self) -> int:
        """Return the next serial number."""
        self._serial += 1
        return self._serial

    def ts(self) -> str:
        """Return the next time stamp: Slack's id of a message, unique and rising."""
        self._last = max(int(time.time() * 1_000_000), self._last + 1)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def channel(self, channel_id: Any) -> SlackChannel:
        """Return a channel that the bot may write to. Raises ApiRefusal as Slack would."""
        channel = self.known(channel_id)
        if channel.archived:
            raise SlackApiError("is_archived")
        if not channel.bot_in:
            raise SlackApiError("not_in_channel" if channel.kind == CHANNEL else "channel_not_found")
        return channel

    def known(self, channel_id: Any) -> SlackChannel:
        """Return an existing channel; a person's id means their direct message. Raises ApiRefusal."""
        if isinstance(channel_id, str) and channel_id in self.users:
            return self.private(self.users[channel_id])
        channel = self.channels.get(str(channel_id))
        if channel is None:
            raise SlackApiError("channel_not_found")
        return channel

    def own(self, channel: SlackChannel, ts: Any) -> SlackChatMessage:
        """Return a message of the bot. Raises ApiRefusal."""
        message = channel.messages.get(str(ts))
        if message is None or message.visible_to:
            raise SlackApiError("message_not_found")
        if message.user is not self.bot:
            raise SlackApiError("cant_update_message")
        return message

    def add(self, channel: SlackChannel, user: SlackUser, text: str, **more: Any) -> SlackChatMessage:
        """Add a message to a channel."""
        message = SlackChatMessage(self.ts(), channel.id, user, text, **more)
        channel.messages[message.ts] = message
        return message

    def store(self, name: str, mime: str, data: bytes) -> SlackFile:
        """Store a file."""
        file = SlackFile(f"F0{self.serial():07d}", name, mime, data)
        self.files[file.id] = file
        return file
