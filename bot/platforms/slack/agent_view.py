"""Suggested prompts when a person opens the app, and tracking of what they are viewing.

Under `agent_view`, opening the app is `app_home_opened` with the messages tab, and a message carries what
its author is looking at (`app_context`). Older apps, with `assistant_view`, get `assistant_thread_started`
with a separate thread, and only events show what people are looking at
(docs.slack.dev/ai/migrating-to-agent-messaging).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from bot.clock import Clock
from bot.core.rate_limits import SlidingWindow
from bot.core.recent_values import RecentValues
from bot.domain import UNKNOWN_SENDER, Quotation, QuotationKind, Sender
from bot.errors import DeliveryError
from bot.platforms.base import Inbox
from bot.platforms.connection import AccountHealth
from bot.platforms.payload import Json, get_object, get_objects, get_string, require_string
from bot.platforms.slack.client import SlackWebApi
from bot.platforms.slack.method_limits import MINUTE, PROMPT_CALLS
from bot.platforms.slack.names import SlackNames
from bot.platforms.slack.sessions import AGENT_NOTE

log = structlog.get_logger(__name__)

DEFAULT_PROMPTS = ("prompt_help", "prompt_find", "prompt_draft")
"""Texts of the prompts that are suggested unless the account has its own: `…_title` and `…_message`."""
OLD_NOTE = (
    "the Slack app has the older assistant view, which Slack will retire: use agent_view in its manifest, "
    "as in the one that `roebot manifest slack` prints"
)
_CHANNEL, _MESSAGE = "slack#/types/channel_id", "slack#/types/message_context"
_OTHERS = {"slack#/types/canvas_id": "a canvas", "slack#/types/list_id": "a list"}
_MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SlackViewing:
    """What a person is viewing while the app is open (`context`, as in `app_context`); `opened`: `user` has
    just opened it. `thread` belongs to an older assistant, "" for an agent.
    """

    chat: str
    context: Json
    thread: str = ""
    opened: bool = False
    user: str = ""


def read_viewing(event: Json) -> SlackViewing | None:
    """Convert an event of the app's view; None for other events, and for views without a chat. Raises
    Malformed.
    """
    kind = get_string(event, "type")
    if kind == "app_home_opened" and get_string(event, "tab") == "messages":
        chat, user = require_string(event, "channel"), get_string(event, "user")
        return SlackViewing(chat, get_object(event, "context"), opened=True, user=user)
    if kind == "app_context_changed" and event.get("channel"):
        return SlackViewing(require_string(event, "channel"), get_object(event, "context"))
    if kind in ("assistant_thread_started", "assistant_thread_context_changed"):
        thread = get_object(event, "assistant_thread")
        channel = get_string(get_object(thread, "context"), "channel_id")
        context: Json = {"entities": [{"type": _CHANNEL, "value": channel}]} if channel else {}
        opened = kind == "assistant_thread_started"
        where = require_string(thread, "channel_id"), context, require_string(thread, "thread_ts")
        return SlackViewing(*where, opened=opened, user=get_string(thread, "user_id"))
    return None


def describe_view(
    context: Json, names: SlackNames, link: Callable[[str, str, str], str]
) -> tuple[Quotation, ...]:
    """Return what a message's author is viewing, the most relevant first. `link` builds a message's address
    from its channel, its ts and its thread.
    """
    shown = (_describe_entity(one, names, link) for one in get_objects(context, "entities"))
    places = [*dict.fromkeys(filter(None, shown))][:_MAX_SHOWN]
    if not places:
        return ()
    return (Quotation(QuotationKind.NOTICE, f"The author is looking at {', '.join(places)}."),)


def _describe_entity(entity: Json, names: SlackNames, link: Callable[[str, str, str], str]) -> str:
    kind, value = get_string(entity, "type"), entity.get("value")
    if kind == _CHANNEL and isinstance(value, str):
        return names.show_channel(value)
    if kind == _MESSAGE and isinstance(value, dict):
        channel, ts = get_string(value, "channel_id"), get_string(value, "message_ts")
        address = link(channel, ts, "") if ts else ""
        return f"a message in {names.show_channel(channel)} {address}".strip() if channel else ""
    return _OTHERS.get(kind, "")


class SlackAgentView:
    """Suggests prompts in one account, and remembers what people are viewing. `prompts`: pairs of title and
    message, None for the default ones.
    """

    def __init__(
        self,
        calls: SlackWebApi,
        inbox: Inbox,
        find_sender: Callable[[str], Awaitable[Sender]],
        health: AccountHealth,
        clock: Clock,
        group: asyncio.TaskGroup,
        prompts: Sequence[Mapping[str, str]] | None,
    ) -> None:
        self._web_api = calls
        self._inbox = inbox
        self._find_sender = find_sender
        self._health = health
        self._clock = clock
        self._group = group
        self._prompts = prompts
        self._window = SlidingWindow(PROMPT_CALLS, MINUTE)
        self._contexts: RecentValues[Json] = RecentValues(1024)
        self._under_way: set[str] = set()

    def handle(self, event: SlackViewing) -> None:
        """Remember what a person is viewing; if they have just opened the app, suggest prompts."""
        self._contexts.put(f"{event.chat}:{event.thread}", event.context)
        if event.thread:
            self._health.add_note(OLD_NOTE)
        now = self._clock.now()
        if not event.opened or event.chat in self._under_way or self._window.ready_at(now) > now:
            return
        self._window.count_start(now)
        self._under_way.add(event.chat)
        self._group.create_task(self._suggest(event), name=f"slack-prompts:{event.chat}")

    def complete(self, event: Json) -> Json:
        """Return a message event, adding what its author was viewing if the event lacks it."""
        if get_string(event, "channel_type") != "im" or "app_context" in event:
            return event
        chat, thread = get_string(event, "channel"), get_string(event, "thread_ts")
        known = self._contexts.get(f"{chat}:{thread}") or self._contexts.get(f"{chat}:")
        return {**event, "app_context": known} if known else event

    async def _suggest(self, event: SlackViewing) -> None:
        sender = await self._find_sender(event.user) if event.user else UNKNOWN_SENDER
        prompts = self._prompts if self._prompts is not None else self._usual_prompts(event.chat, sender)
        try:
            if prompts:
                title = self._inbox.text("prompts_title", event.chat, sender)
                await self._web_api.suggest_prompts(event.chat, event.thread, title, prompts)
        except DeliveryError as error:
            log.info("slack.no_prompts", reason=error.detail)
            if error.detail == "not_agent_app":
                self._health.add_note(AGENT_NOTE)
        finally:
            self._under_way.discard(event.chat)

    def _usual_prompts(self, chat: str, sender: Sender) -> Sequence[Mapping[str, str]]:
        return [
            {part: self._inbox.text(f"{name}_{part}", chat, sender) for part in ("title", "message")}
            for name in DEFAULT_PROMPTS
        ]
