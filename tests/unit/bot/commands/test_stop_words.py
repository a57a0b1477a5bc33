"""A plain "stop" in the usual languages is the command; in a sentence it is only a word."""

from __future__ import annotations

import pytest

from bot.app.features import installed_commands
from bot.commands.registry import Parsed


@pytest.mark.parametrize("mentioned", [True, False])
@pytest.mark.parametrize(
    "text",
    ["stop", "STOP!", " Stopp. ", "Arrête!", "стоп", "停", "停止。", "停下！", "ストップ", "그만", "Basta…"],
)
def test_it_stops(text: str, mentioned: bool) -> None:
    assert installed_commands().parse(text, mentioned=mentioned) == Parsed("stop", ())


@pytest.mark.parametrize(
    "text", ["stop the deployment", "don't stop", "stopwatch", "停车场在哪里", "para", "", "!", "unstoppable"]
)
def test_it_does_not(text: str) -> None:
    assert installed_commands().parse(text, mentioned=False) is None
