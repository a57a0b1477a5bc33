"""The addresses that an emulated platform fetches to show previews of links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_IMAGE = re.compile(r"!\[[^\]]*\]\(<?(https?://[^\s<>)]+)")


@dataclass(slots=True)
class LinkPreviews:
    """Records the platform's fetches: each entry in `fetched` reveals an address to the linked server
    although nobody has clicked.
    """

    fetched: list[str] = field(default_factory=list)

    def show(self, text: str) -> None:
        """Fetch every address of a text that is not suppressed."""
        self.fetched += _ADDRESS.findall(text)

    def show_images(self, markdown: str) -> None:
        """Fetch the images that Markdown embeds, which no option of a message prevents."""
        self.fetched += _IMAGE.findall(markdown)
