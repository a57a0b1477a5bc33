"""Changes that came before the message that they change, as they may where a platform sends things again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from bot.domain import InboundChange, InboundEvent, Origin

MAX_REMEMBERED = 128


class OutOfOrderEdits:
    """Remembers the latest changes of one account, for the life of the process."""

    def __init__(self) -> None:
        self._latest: OrderedDict[tuple[str, str], InboundChange] = OrderedDict()

    def add_overtaking(self, events: Iterable[InboundEvent]) -> Iterator[InboundEvent]:
        """The events, each message followed by the change that overtook it.

        One that did not overtake is stored already, and the store drops it by its event id.
        """
        for event in events:
            yield event
            if isinstance(event, InboundChange):
                self._remember(event)
            elif (known := self._latest.get(_key(event.origin))) is not None and not event.clicked:
                yield known

    def _remember(self, change: InboundChange) -> None:
        key = _key(change.origin)
        known = self._latest.get(key)
        if known is None or known.at <= change.at:
            self._latest[key] = change
            self._latest.move_to_end(key)
        while len(self._latest) > MAX_REMEMBERED:
            self._latest.popitem(last=False)


def _key(origin: Origin) -> tuple[str, str]:
    return origin.chat, origin.message_id
