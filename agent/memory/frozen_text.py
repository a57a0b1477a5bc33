"""Keep the text of a memory in a conversation's prompt, so that the provider's cache stays valid."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 3600.0
"""Seconds after which a conversation gets the current memory."""
THREADS = 1_000
_FACT = "- ("
_SENTENCES = re.compile(r"(?<=[.;!?。；！？])\s*")


@dataclass(frozen=True, slots=True)
class _Frozen:
    text: str
    since: float
    erasures: int


class FrozenTexts:
    """Remembers the memory that each conversation's prompt contains, in this process.

    A conversation keeps it for `seconds` although the memory has grown: what is new was mostly said in the
    conversation itself. If a fact or a summary was removed from the memory, or something was erased, the
    current text is used at once. What a rewritten summary no longer says stays for that time.
    """

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        threads: int = THREADS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._threads, self._clock = seconds, threads, clock
        self._texts: OrderedDict[tuple[str, str], _Frozen] = OrderedDict()

    def choose_text(self, thread: str, scope: str, current: str, erasures: int = 0) -> str:
        """Return the text for the prompt: the frozen one, or `current`, which is then frozen.

        `erasures` is a number that grows when something is erased from the memory.
        """
        key = (thread, scope)
        frozen, now = self._texts.get(key), self._clock()
        if (
            frozen is None
            or frozen.erasures != erasures
            or now - frozen.since >= self._seconds
            or lacks_content(current, frozen.text)
        ):
            frozen = _Frozen(current, now, erasures)
        elif not frozen.text:
            frozen = _Frozen(current, frozen.since, erasures)
        self._texts[key] = frozen
        self._texts.move_to_end(key)
        while len(self._texts) > self._threads:
            self._texts.popitem(last=False)
        return frozen.text


def lacks_content(current: str, earlier: str) -> bool:
    """Return whether something of the earlier text was removed; a summary that was rewritten was not.

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
