"""State of the emulated workspace: people, channels, messages, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

IM, MPIM, CHANNEL, GROUP = "im", "mpim", "channel", "group"


class AppView(StrEnum):
    """How an app is declared as an agent in its manifest: as new ones are, as older ones are, or not."""

    AGENT = "agent_view"
    ASSISTANT = "assistant_view"
    NONE = ""


@dataclass(slots=True)
class SlackUser:
    """A person or a bot; `bot_id` and `app_id` are set for an app."""

    id: str
    name: str
    team: str
    is_bot: bool = False
    is_guest: bool = False
    is_stranger: bool = False
    is_deactivated: bool = False
    locale: str = "en-US"
    bot_id: str = ""
    app_id: str = ""

    def wire(self) -> dict[str, Any]:
        """The `user` object."""
        return {
            "id": self.id,
            "team_id": self.team,
            "name": self.name.lower().replace(" ", "."),
            "real_name": self.name,
            "is_bot": self.is_bot,
            "is_restricted": self.is_guest,
            "is_stranger": self.is_stranger,
            "deleted": self.is_deactivated,
            "profile": {"display_name": self.name, "real_name": self.name},
        }


@dataclass(slots=True)
class SlackFile:
    """An uploaded file; `path` is its private address, which needs a token, `details` are further keys of the
    file object.
    """

    id: str
    name: str
    mime: str
    data: bytes
    title: str = ""
    complete: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Path of the download."""
        return f"/files-pri/{self.id}/{self.name}"


@dataclass(slots=True)
class ResponseUrl:
    """A response URL of a command or click by `user`: when it was made (monotonic) and how often it was used.
    `message` is the ts of the message that was clicked.
    """

    channel: str
    user: str
    made: float
    message: str = ""
    uses: int = 0


@dataclass(slots=True)
class Stream:
    """Streaming state of a message; `started` is monotonic, `mode` the argument with its content.

    `stopped`: a person has pressed Slack's stop button, so that nothing more is appended.
    """

    started: float
    user: str = ""
    ended: bool = False
    stopped: bool = False
    mode: str = ""


@dataclass(slots=True)
class SlackChatMessage:
    """One message; `text` is Markdown if `markdown` is set, else mrkdwn. `tasks` are by id, with `plan` as
    the title above them. `reactions` are the app's own. `username` is the name under which an app posts it.
    """

    ts: str
    channel: str
    user: SlackUser
    text: str
    thread_ts: str = ""
    markdown: bool = False
    subtype: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    files: list[SlackFile] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    stream: Stream | None = None
    edits: int = 0
    edited_by: str = ""
    visible_to: str = ""
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    plan: str = ""
    reactions: list[str] = field(default_factory=list)
    unfurls: bool = True
    username: str = ""


@dataclass(slots=True)
class AgentSession:
    """Session of an agent in a thread; `since` is when its status was set (monotonic)."""

    status: str = "active"
    title: str = ""
    initiator: str = ""
    since: float = 0.0


@dataclass(slots=True)
class SlackChannel:
    """A channel, a direct message or a group direct message. By thread: `statuses` are status lines,
    `sessions` the agent's sessions, `prompts` the suggestions ("" for the messages tab).
    """

    id: str
    kind: str
    name: str = ""
    members: set[str] = field(default_factory=set)
    bot_in: bool = True
    archived: bool = False
    shared: bool = False
    messages: dict[str, SlackChatMessage] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, AgentSession] = field(default_factory=dict)
    prompts: dict[str, dict[str, Any]] = field(default_factory=dict)
