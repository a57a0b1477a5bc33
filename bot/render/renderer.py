"""Interface between the dispatcher and a platform's formatting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bot.domain import ProgressItem
from bot.render.partial_markdown import GrowingFrame, close_open
from bot.render.progress import checklist


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


@runtime_checkable
class StatesLimits(Protocol):
    """A `Renderer` that tells the agent what people see of its Markdown."""

    @property
    def limits(self) -> str:
        """Sentences about it; "" if all of it is shown."""


@runtime_checkable
class FormatsProgress(Protocol):
    """A `Renderer` with its own form of the agent's progress; elsewhere it is a quote."""

    @property
    def progress(self) -> Callable[[Sequence[ProgressItem]], str]:
        """Build the Markdown below a text that grows; titles are plain text that may quote anybody."""


def format_progress(renderer: Renderer, items: Sequence[ProgressItem]) -> str:
    """Return the agent's progress as Markdown for a platform."""
    form = renderer.progress if isinstance(renderer, FormatsProgress) else checklist
    return form(items)


class _Whole:
    """One part, for places without a limit."""

    def split(self, markdown: str) -> list[str]:
        return [markdown] if markdown.strip() else []


@dataclass(frozen=True, slots=True)
class MarkdownRenderer:
    """A `Renderer` made of a splitter; all platforms frame alike."""

    name: str
    growing: Callable[[], Splitter]
    limits: str = ""
    progress: Callable[[Sequence[ProgressItem]], str] = checklist

    def split(self, markdown: str) -> list[str]:
        return self.growing().split(markdown)

    def frame(self, markdown: str) -> str:
        return close_open(markdown)

    def framing(self) -> Callable[[str], str]:
        return GrowingFrame().close


def length_limit(size: str) -> str:
    """Return the sentence about the length of a message, such as `4,096 characters`."""
    return f"A message holds {size}; a longer answer comes as several."


CODE_TABLES = "Tables become code blocks; on a phone, lines of more than about 35 characters wrap in them."

WEB: Renderer = MarkdownRenderer("web", _Whole)
