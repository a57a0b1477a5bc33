"""Stable memory text in a conversation's prompt, so that the provider's cache stays valid."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.shared.recent_items import RecentItems

IDLE_SECONDS = 3600.0
"""Seconds without a request after which a conversation gets the current memory: no provider caches longer."""
DAY = 24 * 3600.0
THREADS = 1_000
_FACT = "- ("
_SENTENCES = re.compile(r"(?<=[.;!?。；！？])\s*")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text of a memory. `erasures` counts erasures from it; `cut` changes when the beginning of the
    conversation is summarized, which invalidates the cache anyway. `is_complete` is false if updates from
    other conversations were pending.
    """

    text: str
    erasures: int = 0
    cut: str = ""
    is_complete: bool = True


@dataclass(slots=True)
class _Frozen:
    snapshot: Snapshot
    since: float
    used: float

    def is_current(self, now: Snapshot, time: float) -> bool:
        """Return whether the conversation can keep the text."""
        is_fresh = time - self.used < IDLE_SECONDS and time - self.since < DAY
        is_same = (self.snapshot.erasures, self.snapshot.cut) == (now.erasures, now.cut)
        is_outdated = not self.snapshot.is_complete and now.text != self.snapshot.text
        return is_fresh and is_same and not is_outdated and not lacks_content(now.text, self.snapshot.text)


class FrozenTexts:
    """Remembers the memory that each conversation's prompt contains, in this process.

    A conversation keeps it although the memory has grown: what is new was mostly said in the conversation
    itself. A text that was incomplete is replaced once. A conversation gets the current text after an hour
    without a request, when it is summarized, and after a day. If a fact or a summary was removed from the
    memory, or something was erased, the current text is used at once. What a rewritten summary no longer
    says stays until then.
    """

    def __init__(self, *, threads: int = THREADS, clock: Callable[[], float] = time.monotonic) -> None:
        self._texts, self._clock = RecentItems[tuple[str, str], _Frozen](threads), clock

    def has_text(self, thread: str, scope: str) -> bool:
        """Return whether the conversation already has a text, current or not."""
        return (thread, scope) in self._texts

    def choose_text(self, thread: str, scope: str, current: Snapshot) -> str:
        """Return the text for the prompt: the frozen one, or the current one, which is then frozen."""
        key, now = (thread, scope), self._clock()
        frozen = self._texts.get(key)
        if frozen is None or not frozen.is_current(current, now):
            frozen = self._texts[key] = _Frozen(current, now, now)
        frozen.used = now
        self._texts.move_to_end(key)
        return frozen.snapshot.text


def lacks_content(current: str, earlier: str) -> bool:
    """Return whether content of the earlier text was removed; a rewritten summary does not count.

    Lines are facts (`- (category) …`), summaries (`Label: …`), or others that nobody can remove. A summary
    that only lost sentences, as when a person is erased from it, was not rewritten.
    """
    lines = current.splitlines()
    known = set(lines)
    summaries = {label: text for label, colon, text in (line.partition(": ") for line in lines) if colon}
    for line in earlier.splitlines():
        if line in known or (line.startswith("- ") and not line.startswith(_FACT)):
            continue
        label, colon, text = line.partition(": ")
        if line.startswith(_FACT) or not lines:
            return True
        if colon and _split(summaries.get(label, "")) <= _split(text):
            return True
    return False


def _split(text: str) -> set[str]:
    return set(filter(None, _SENTENCES.split(text)))
