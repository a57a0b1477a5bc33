"""What all conversations share comes first in a system message, whoever adds to it when."""

from __future__ import annotations

from itertools import permutations

import pytest
from langchain_core.messages import SystemMessage

from agent.core.system_message import add_own, add_shared, split_system


@pytest.mark.parametrize("order", list(permutations(["A1", "A2", "b1", "b2"])))
@pytest.mark.parametrize("first", [None, SystemMessage("You help.")])
def test_the_shared_part_does_not_depend_on_the_own_one(
    first: SystemMessage | None, order: tuple[str, ...]
) -> None:
    system, alone = first, first
    for text in order:
        if text.isupper():
            system, alone = add_shared(system, text), add_shared(alone, text)
        else:
            system = add_own(system, text)
    assert system is not None
    assert alone is not None
    shared, own = split_system(system)
    assert shared == alone.content
    assert shared + own == system.content
    assert [text for text in system.text.split("\n\n") if text in {"b1", "b2"}] == [
        text for text in order if text.islower()
    ]
    assert "\n\n\n" not in system.text
    assert all(text in own for text in ("b1", "b2"))


def test_without_a_conversation_all_is_shared() -> None:
    assert split_system(add_shared(SystemMessage("You help."), "Well.")) == ("You help.\n\nWell.", "")


def test_blocks_of_others_are_kept() -> None:
    block = {"type": "text", "text": "You help."}
    system = add_own(add_shared(SystemMessage([block]), "Well."), "Ann")
    assert system.content == [
        block,
        {"type": "text", "text": "\n\nWell."},
        {"type": "text", "text": "\n\nAnn"},
    ]
    assert split_system(system) == ("", "")
