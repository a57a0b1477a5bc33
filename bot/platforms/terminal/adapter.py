"""The adapter of the terminal; `roebot chat` talks to it through the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.platforms.local.adapter import LocalAdapter
from bot.render.renderer import TERMINAL, Splitter


@dataclass(frozen=True, slots=True)
class AsWritten:
    """Markdown as it is written: what was printed cannot be taken back, so a frame closes nothing."""

    name: str = TERMINAL.name

    def split(self, markdown: str) -> list[str]:
        """See Renderer."""
        return TERMINAL.split(markdown)

    def growing(self) -> Splitter:
        """See Renderer."""
        return TERMINAL.growing()

    def frame(self, markdown: str) -> str:
        """See Renderer."""
        return markdown.rstrip()

    def framing(self) -> Callable[[str], str]:
        """See Renderer."""
        return self.frame


def create(name: str, _config: Any) -> LocalAdapter:
    """The adapter of one account."""
    return LocalAdapter(name, "terminal", AsWritten())
