"""The adapter of the terminal; `roebot chat` talks to it through the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.platforms.local.adapter import LocalAdapter
from bot.render.renderer import TERMINAL, Splitter


@dataclass(frozen=True, slots=True)
class AsWritten:
    """Markdown as written: printed text cannot be changed, so a frame closes nothing."""

    name: str = TERMINAL.name

    def split(self, markdown: str) -> list[str]:
        return TERMINAL.split(markdown)

    def growing(self) -> Splitter:
        return TERMINAL.growing()

    def frame(self, markdown: str) -> str:
        return markdown.rstrip()

    def framing(self) -> Callable[[str], str]:
        return self.frame


def create(name: str, _config: Any) -> LocalAdapter:
    """The adapter of one account."""
    return LocalAdapter(name, "terminal", AsWritten())
