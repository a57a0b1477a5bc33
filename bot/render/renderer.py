"""Interface between the dispatcher and a platform's formatting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.render.partial_markdown import GrowingFrame, close_open
from bot.render.rich import growing_for_rich
from bot.render.telegram import growing_for_telegram


class Splitter(Protocol):
    """Incremental splitter of a growing text; each call costs as much as the added text."""

    def split(self, markdown: str) -> list[str]: ...


class Renderer(Protocol):
    """Cuts and streams Markdown for one platform. Pure: no I/O, the same result for the same text."""

    @property
    def name(self) -> str:
        """A short name, for logs."""

    def split(self, markdown: str) -> list[str]:
        """Parts, as Markdown, each within the platform's limit; none for blank text.

        While `markdown` grows, all parts but the last stay as they are.
        """

    def growing(self) -> Splitter:
        """A splitter for one reply that streams: the same parts as `split`, found faster."""

    def frame(self, markdown: str) -> str:
        """A presentable form of the last part of a text that is still being written."""

    def framing(self) -> Callable[[str], str]:
        """`frame` for one reply that streams: the same forms, found faster."""


class _Whole:
    """One part, for places without a limit."""

    def split(self, markdown: str) -> list[str]:
        return [markdown] if markdown.strip() else []


@dataclass(frozen=True, slots=True)
class MarkdownRenderer:
    """A `Renderer` made of a splitter; all platforms frame alike."""

    name: str
    growing: Callable[[], Splitter]

    def split(self, markdown: str) -> list[str]:
        return self.growing().split(markdown)

    def frame(self, markdown: str) -> str:
        return close_open(markdown)

    def framing(self) -> Callable[[str], str]:
        return GrowingFrame().close


TELEGRAM_ENTITIES: Renderer = MarkdownRenderer("telegram-entities", growing_for_telegram)
TELEGRAM_RICH: Renderer = MarkdownRenderer("telegram-rich", growing_for_rich)
WEB: Renderer = MarkdownRenderer("web", _Whole)
TERMINAL: Renderer = MarkdownRenderer("terminal", _Whole)
