"""Interface between the dispatcher and a platform's formatting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bot.domain import ProgressItem
from bot.render.partial_markdown import GrowingFrame, close_open
from bot.render.progress import checklist


class Splitter(Protocol):
    """Incremental splitter of a growing text; each call's cost is proportional to the added text."""

    def split(self, markdown: str) -> list[str]: ...


class Renderer(Protocol):
    """Splits and streams Markdown for a platform. Pure: no I/O, the same result for the same text."""

    @property
    def name(self) -> str:
        """Return a short name, for logs."""

    def split(self, markdown: str) -> list[str]:
        """Return the parts as Markdown, each within the platform's limit; none for blank text.

        While `markdown` grows, all parts but the last stay as they are.
        """

    def growing(self) -> Splitter:
        """Return a splitter for one streamed reply, with the same results as `split`, but faster."""

    def frame(self, markdown: str) -> str:
        """Return a presentable form of the last part of an unfinished text."""

    def framing(self) -> Callable[[str], str]:
        """Return `frame` for one streamed reply, with the same results, but faster."""


@runtime_checkable
class StatesLimits(Protocol):
    """A `Renderer` that informs the agent about limits of its displayed Markdown."""

    @property
    def limits(self) -> str:
        """Return sentences about the limits, or "" if everything is displayed."""


@runtime_checkable
class FormatsProgress(Protocol):
    """A `Renderer` with its own progress format; other platforms use a quote."""

    @property
    def progress(self) -> Callable[[Sequence[ProgressItem]], str]:
        """Return a builder of the Markdown below a growing text; titles are plain text that may quote
        anyone.
        """


def format_progress(renderer: Renderer, items: Sequence[ProgressItem]) -> str:
    """Return the agent's progress as Markdown for a platform."""
    form = renderer.progress if isinstance(renderer, FormatsProgress) else checklist
    return form(items)


class _Whole:
    """A single part, for places without a limit."""

    def split(self, markdown: str) -> list[str]:
        return [markdown] if markdown.strip() else []


@dataclass(frozen=True, slots=True)
class MarkdownRenderer:
    """A `Renderer` based on a splitter; all platforms share the frame format."""

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
