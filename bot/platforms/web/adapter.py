"""The adapter of the web console; its chats are written and watched through the API."""

from __future__ import annotations

from typing import Any

from bot.platforms.local.adapter import LocalAdapter
from bot.render.renderer import WEB

MOST_CHOICES = 20
"""Buttons of one question; nobody reads more in a column."""


class PageAdapter(LocalAdapter):
    """The web console: in addition to the terminal it has buttons."""

    @property
    def most_choices(self) -> int:
        return MOST_CHOICES


def create(name: str, _config: Any) -> PageAdapter:
    """The adapter of one account."""
    return PageAdapter(name, "web", WEB)
