"""Chat facts in a run's configuration, as `agent.core.chat_facts` reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog

from bot.dispatch.pacing import AccountChannel
from bot.dispatch.run.hooks import RunScope
from bot.domain import ChatDescription, ChatKind, MentionKind
from bot.errors import DeliveryError
from bot.render.renderer import StatesLimits
from bot.turn import Turn

log = structlog.get_logger(__name__)

DESCRIBE_SECONDS = 2.0


async def build_chat_facts(scope: RunScope, now: float, services: Sequence[str]) -> dict[str, Any]:
    """Return the facts for the agent about a turn's chat; `now` is in seconds since the epoch, `services` are
    the services it may call.

    A private chat has no title: it would be the person's name, which comes with their messages.
    """
    turn, channel, zone = scope.turn, scope.channel, scope.zone
    described = await describe_chat(turn, channel)
    await scope.core.chat_titles.note_title(turn.address.account, turn.address.chat, described.title)
    named = {"title": described.title, "people": described.people, "visibility": described.visibility}
    address, texts = turn.address, scope.texts
    renderer = channel.adapter.renderer
    return {
        "app": channel.manifest.title,
        "kind": address.chat_kind.value,
        **{key: value for key, value in named.items() if value},
        "zone": str(zone),
        "today": datetime.fromtimestamp(now, zone).date().isoformat(),
        "thread": bool(address.topic),
        "recorded": address.chat_kind is ChatKind.GROUP and scope.view.is_recorded(address.chat),
        "formatting": renderer.limits if isinstance(renderer, StatesLimits) else "",
        **_describe_mentions(turn, channel),
        "command": texts.command("help"),
        "services": list(services),
    }


def _describe_mentions(turn: Turn, channel: AccountChannel) -> dict[str, str]:
    """Return the possible mentions in a group, as `agent.core.chat_facts` reads them; {} if there are
    none.
    """
    adapter = channel.capabilities.mentions
    if turn.address.chat_kind is not ChatKind.GROUP or adapter is None:
        return {}
    named = {MentionKind.PERSON: "people", MentionKind.CHANNEL: "channels"}
    return {
        "mentions": ", ".join(word for kind, word in named.items() if kind in adapter.mention_kinds),
        "roles": ", ".join(f"@{name}" for name in adapter.mentionable_groups),
    }


async def describe_chat(turn: Turn, channel: AccountChannel) -> ChatDescription:
    """Return the platform's description of a group, without delaying or failing the run."""
    adapter = channel.capabilities.describes_chats
    if turn.address.chat_kind is not ChatKind.GROUP or adapter is None:
        return ChatDescription()
    try:
        async with asyncio.timeout(DESCRIBE_SECONDS):
            return await adapter.describe_chat(turn.address)
    except (DeliveryError, TimeoutError) as problem:
        log.info("chat_not_described", turn=turn.id, problem=str(problem) or "no answer in time")
        return ChatDescription()
