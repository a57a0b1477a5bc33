"""Recording adapters and renderers for what single tests of the dispatcher need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.testing.adapter import RecordingAdapter


@dataclass(slots=True)
class Asking(RecordingAdapter):
    """A platform with buttons."""

    most_choices: int = 3


class Lines:
    """A renderer for which each line is a part."""

    name = "lines"

    def split(self, markdown: str) -> list[str]:
        return [line for line in markdown.split("\n") if line.strip()]

    def frame(self, markdown: str) -> str:
        return markdown

    def framing(self) -> Callable[[str], str]:
        return self.frame

    def growing(self) -> Lines:
        return self
