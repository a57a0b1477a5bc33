"""The adapter of the page; its chats are written to and watched through the API."""

from __future__ import annotations

from typing import Any

from bot.platforms.local.adapter import LocalAdapter
from bot.render.renderer import WEB

MOST_CHOICES = 20
"""Buttons of one question; nobody reads so many below each other."""


class PageAdapter(LocalAdapter):
    """The page: beside what the terminal has there are buttons."""

    @property
    def most_choices(self) -> int:
        """See AsksChoice."""
        return MOST_CHOICES


def create(name: str, _config: Any) -> PageAdapter:
    """The adapter of one account."""
    return PageAdapter(name, "web", WEB)
