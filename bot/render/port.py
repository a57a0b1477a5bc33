"""What the dispatcher knows of a platform's formatting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.render.stream import close_open
from bot.render.telegram import split_for_telegram


class Renderer(Protocol):
    """How one platform cuts and streams Markdown. Pure: no I/O, the same answer to the same text."""

    @property
    def name(self) -> str:
        """A short name, for logs."""

    def split(self, markdown: str) -> list[str]:
        """Parts, as Markdown, each within the platform's limit; none for blank text.

        While `markdown` grows, all parts but the last stay as they are.
        """

    def frame(self, markdown: str) -> str:
        """A presentable form of the last part of a text that is still being written."""


@dataclass(frozen=True, slots=True)
class MarkdownRenderer:
    """A `Renderer` made of a splitter; every platform frames alike."""

    name: str
    splitter: Callable[[str], list[str]]

    def split(self, markdown: str) -> list[str]:
        return self.splitter(markdown)

    def frame(self, markdown: str) -> str:
        return close_open(markdown)


def whole(markdown: str) -> list[str]:
    """One part, for places without a limit."""
    return [markdown] if markdown.strip() else []


TELEGRAM_ENTITIES: Renderer = MarkdownRenderer("telegram-entities", split_for_telegram)
WEB: Renderer = MarkdownRenderer("web", whole)
TERMINAL: Renderer = MarkdownRenderer("terminal", whole)
