"""The facts about a chat that a run's configuration tells, as `agent.core.chat_facts` reads them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

from bot.dispatch.pacing import AccountChannel
from bot.dispatch.run.service_calls import list_services
from bot.domain import ChatKind, Turn
from bot.render.renderer import StatesLimits
from bot.wiring import AccountView


def build_chat_facts(
    turn: Turn, channel: AccountChannel, view: AccountView, zone: tzinfo, now: float
) -> dict[str, Any]:
    """Return what the agent is told about the chat of a turn; `now` is in seconds since the epoch.

    A private chat has no title: it would be the person's name, which comes with their messages.
    """
    address, texts = turn.address, view.texts.in_thread(turn.address.topic)
    renderer = channel.adapter.renderer
    return {
        "app": channel.manifest.title,
        "kind": address.chat_kind.value,
        "zone": str(zone),
        "today": datetime.fromtimestamp(now, zone).date().isoformat(),
        "thread": bool(address.topic),
        "recorded": address.chat_kind is ChatKind.GROUP and view.is_recorded(address.chat),
        "formatting": renderer.limits if isinstance(renderer, StatesLimits) else "",
        "command": texts.command("help"),
        "services": list_services(turn),
    }
