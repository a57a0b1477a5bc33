"""Which messages the agent reads, so that an adapter knows what the agent was told."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import ChatKind, InboundMessage, Origin, Sender
from tests.component.dispatch.bench import Bench

from .test_apps import APP

ANN = Sender("n1", "Ann")


@pytest.mark.parametrize(
    ("text", "sender", "default", "addressed", "is_read"),
    [
        ("what is this?", ANN, "allow", True, True),
        ("what is this?", ANN, "allow", False, False),
        ("what is this?", ANN, "closed", True, False),
        ("what is this?", APP, "closed", True, False),
        ("/help", ANN, "allow", True, False),
        ("x" * 1_000_000, ANN, "allow", True, False),
    ],
    ids=["asked", "overheard", "stranger", "app", "command", "too long"],
)
async def test_who_reaches_the_agent(
    at: Bench, text: str, sender: Sender, default: Any, addressed: bool, is_read: bool
) -> None:
    at.role, at.default = None, default
    origin = Origin("rec", "recording", "group", ChatKind.GROUP, "m1", sender)
    async with at.running():
        assert at.adapter.context is not None
        inbox = at.adapter.context.inbox
        assert inbox.reaches_agent(InboundMessage("e1", origin, text, 5.0, addressed)) is is_read
