"""The adapter of the page; its chats are written to and watched through the API."""

from __future__ import annotations

from typing import Any

from bot.platforms.local.adapter import LocalAdapter
from bot.render.port import WEB


def create(name: str, _config: Any) -> LocalAdapter:
    """The adapter of one account."""
    return LocalAdapter(name, "web", WEB)
