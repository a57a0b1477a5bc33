"""Long replies: within the platform's limit, nothing lost, code blocks whole."""

from __future__ import annotations

from itertools import pairwise

import pytest

from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import Ability, Seen
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

MOST = 120_000
UNITS = {
    "words": "and so on, for ever, ",
    "one word": "x" * 50,
    "chinese": "没有空格的长句子",
    "emoji": "👩‍👩‍👧‍👦",
    "quotes": '"\\" ',
    "lines": "- a point of a list\n",
    "tables": "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "bold": "**bold words** ",
    "escapes": "a\\*b & <c> ",
}


class Splitting(Suite):
    @needs(Ability.ENDS)
    @pytest.mark.parametrize("name", UNITS)
    async def test_every_part_of_a_long_text_is_taken(self, stage: Stage, name: str) -> None:
        parts = _parts(stage, UNITS[name])
        address = await stage.reply_address()
        for part in parts:
            await stage.says(part, address)
        assert len(stage.seen()) == len(parts)

    @needs(Ability.ENDS)
    @pytest.mark.parametrize("name", ["words", "chinese", "emoji", "one word", "bold"])
    async def test_no_sign_is_lost_or_said_twice(self, stage: Stage, name: str) -> None:
        unit = UNITS[name]
        parts = _parts(stage, unit)
        address = await stage.reply_address()
        for part in parts:
            await stage.says(part, address)
        count = _squeezed(parts).count(_bare(unit))
        assert count > 10
        assert _squeezed([seen.text for seen in stage.seen()]) == _bare(unit) * count

    @needs(Ability.FORMATS, Ability.ENDS)
    async def test_code_stays_code_across_messages(self, stage: Stage) -> None:
        lines = [f"value_{number} = '**{number}** <{number}>'" for number in range(2000)]
        size = _limit(stage)
        code = "\n".join(lines)[: min(MOST, 2 * size)].rpartition("\n")[0]
        parts = stage.adapter.renderer.split(f"Before it.\n\n```python\n{code}\n```\n\nAfter it.")
        assert len(parts) >= 2, "it is longer than a message may be"
        address = await stage.reply_address()
        for part in parts:
            await stage.says(part, address)
        blocks = [block for seen in stage.seen() for block in seen.code]
        assert "\n".join(block.strip("\n") for block in blocks) == code
        text = _joined(stage.seen())
        assert text.startswith("Before it.")
        assert text.rstrip().endswith("After it.")
        assert "```" not in text

    async def test_what_stands_stays_while_the_text_grows(self, idle: Stage) -> None:
        renderer = idle.adapter.renderer
        size = min(MOST, 3 * _limit(idle))
        block = "A paragraph with **bold** words.\n\n```py\n" + "x = 1\n" * 40 + "```\n\n- a\n- b\n\n"
        text = block * (size // len(block))
        splitter = renderer.growing()
        growing = [list(splitter.split(text[: len(text) * number // 40])) for number in range(1, 41)]
        for before, after in pairwise(growing):
            assert after[: max(0, len(before) - 1)] == before[:-1]
        assert growing[-1] == renderer.split(text)

    async def test_every_frame_of_a_part_is_taken(self, stage: Stage) -> None:
        """Leave room for the text that closes an unfinished part."""
        address = await stage.reply_address()
        for opened in ("**", "```py\n", "`", "> **"):
            text = opened + "word " * (min(MOST, 2 * _limit(stage)) // 5)
            part = stage.adapter.renderer.split(text)[0]
            frame = stage.adapter.renderer.frame(part)
            if frame.strip():
                await stage.post(stage.message(frame, address, final=False))


def _limit(stage: Stage) -> int:
    """Return about the maximum length of a message; that of the whole text if there is no limit."""
    return len(stage.adapter.renderer.split("word " * (MOST // 5))[0])


def _parts(stage: Stage, unit: str) -> list[str]:
    """Build a text of at least two messages out of one unit."""
    parts = stage.adapter.renderer.split(unit * (min(MOST, 2 * _limit(stage) + 500) // len(unit)))
    assert len(parts) >= 2, "it is longer than a message may be"
    return parts


def _bare(text: str) -> str:
    return _squeezed([text.replace("**", "")])


def _squeezed(texts: list[str]) -> str:
    return "".join("".join(texts).replace("**", "").split())


def _joined(seen: list[Seen]) -> str:
    return "\n".join(one.text for one in seen)
