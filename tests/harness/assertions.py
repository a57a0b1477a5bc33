"""Whether what stands in a chat is right, whatever the platform."""

from __future__ import annotations

from collections.abc import Sequence

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.wires.base import Standing


def plain(seen: Standing) -> str:
    """A text without the mark of a possible repeat."""
    return " ".join(seen.text.removeprefix(REPEATED_MARK).split())


def whole(standing: Sequence[Standing], answer: str) -> list[Standing]:
    """The messages that hold exactly this answer and do not grow any more, marked ones included."""
    wanted = " ".join(answer.split())
    return [seen for seen in standing if plain(seen) == wanted and not seen.open]


def check_answered(standing: Sequence[Standing], answers: Sequence[str], *, repeated: int = 0) -> int:
    """Each answer stands once and complete, and nothing beside them; how many repeats are marked.

    `repeated` is how many posts may stand twice, the second marked and complete.
    """
    left = list(standing)
    marked = 0
    for answer in answers:
        found = whole(left, answer)
        assert found, f"no complete answer {answer[:60]!r}: {standing}"
        last = found[-1]
        if last.text.startswith(REPEATED_MARK):
            marked += 1
            left.remove(last)
            # Beside the marked one stands what was posted before the outcome was lost: all of it or a part.
            before = [seen for seen in left if not seen.open and answer_begins(answer, plain(seen))]
            for seen in before[:1]:
                left.remove(seen)
        else:
            left.remove(found[0])
    assert marked <= repeated, f"{marked} repeats where {repeated} may be: {standing}"
    assert not left, f"beside the answers stands {left}: {standing}"
    return marked


def answer_begins(answer: str, text: str) -> bool:
    """Whether a text is the beginning of an answer."""
    return bool(text) and " ".join(answer.split()).startswith(text)
