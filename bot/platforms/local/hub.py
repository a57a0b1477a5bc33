"""Growing replies in the chats of one account, and their watchers.

Nothing here is persistent: finished text is in the store. The hub holds the text of replies that still grow,
as a whole, so that a client that joins mid-stream sees exactly what the others see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from agent.shared.recent_items import RecentItems

MOST_CHATS = 4096
"""Maximum number of chats with a growing reply, each of an open turn."""


@dataclass(frozen=True, slots=True)
class ReplyFrame:
    """A part of a growing reply: its turn and index, and its whole text so far (Markdown)."""

    turn: int
    index: int
    text: str


class Watcher(Protocol):
    """A client that watches a chat."""

    def frame(self, frame: ReplyFrame) -> None:
        """Receive a part that has grown."""
        ...

    def type(self) -> None:
        """Receive a typing indicator."""
        ...

    def nudge(self) -> None:
        """Receive a notification that the stored chat has changed."""
        ...

    def close(self) -> None:
        """Receive the end of the watch."""
        ...


class ReplyHub:
    """The growing replies and the watchers of one account, by chat."""

    def __init__(self) -> None:
        self._growing = RecentItems[str, dict[int, ReplyFrame]](MOST_CHATS)
        self._watchers: dict[str, set[Watcher]] = {}

    def publish_frame(self, chat: str, frame: ReplyFrame) -> None:
        """Publish a grown reply; a newer turn replaces the chat's older reply."""
        known = self._growing.pop(chat, {})
        if any(other.turn != frame.turn for other in known.values()):
            known = {}
        known[frame.index] = frame
        self._growing[chat] = known
        for watcher in self._watchers.get(chat, ()):
            watcher.frame(frame)

    def mark_stored(self, chat: str, turn: int) -> None:
        """Drop the frames of a turn whose text is now in the store."""
        if any(frame.turn == turn for frame in self._growing.get(chat, {}).values()):
            del self._growing[chat]
        for watcher in self._watchers.get(chat, ()):
            watcher.nudge()

    def typing(self, chat: str) -> None:
        """Announce that an answer is being written in a chat."""
        for watcher in self._watchers.get(chat, ()):
            watcher.type()

    def list_frames(self, chat: str, turn: int) -> Mapping[int, ReplyFrame]:
        """Return the frames of a growing turn by part, {} for any other."""
        return {index: frame for index, frame in self._growing.get(chat, {}).items() if frame.turn == turn}

    @contextmanager
    def watch(self, chat: str, watcher: Watcher) -> Iterator[None]:
        """Notify `watcher` of the chat while the context is open."""
        watchers = self._watchers.setdefault(chat, set())
        watchers.add(watcher)
        try:
            yield
        finally:
            watchers.discard(watcher)
            if not watchers:
                self._watchers.pop(chat, None)

    def close(self) -> None:
        """Close all watches: the account stops, and its watchers reconnect to the next one."""
        for watchers in list(self._watchers.values()):
            for watcher in watchers:
                watcher.close()
