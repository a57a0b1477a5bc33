"""The comparison of what should be seen with what is: which call comes next."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.dispatch.reply.diff import EditPart, PostPart, RemovePart, Reply, place_parts
from bot.domain import Part, PartKind, PartState


def standing(*shown: str) -> Reply:
    """A reply whose parts show these texts."""
    reply = Reply()
    for index, text in enumerate(shown):
        reply.update_part(
            Part(index, PartKind.TEXT, text, PartState.POSTED, platform_id=f"m{index}"), shown=text
        )
    return reply


def carry_out(reply: Reply, want: list[str]) -> list[list[str]]:
    """What can be read after each call that `next_frame` asks for."""
    seen: dict[int, str] = {part.index: part.content for part in reply.parts}
    views = []
    while (action := reply.next_frame(want)) is not None:
        assert isinstance(action, PostPart | EditPart)
        part = replace(action.part, state=PartState.POSTED, platform_id=f"m{action.part.index}")
        reply.update_part(part, shown=part.content)
        seen[part.index] = part.content
        views.append([seen[index] for index in sorted(seen)])
    return views


def test_a_part_that_goes_on_is_completed_before_the_next_is_posted() -> None:
    assert carry_out(standing("one two"), ["one two three", "four"]) == [
        ["one two three"],
        ["one two three", "four"],
    ]


def test_what_moves_to_the_next_part_stays_until_that_one_stands() -> None:
    assert carry_out(standing("one two three"), ["one two", "three four"]) == [
        ["one two three", "three four"],
        ["one two", "three four"],
    ]


def test_a_post_of_unknown_outcome_does_not_hold_the_part_before_it_back() -> None:
    reply = standing("one two three")
    reply.update_part(Part(1, PartKind.TEXT, "three", PartState.INTENDED))
    action = reply.next_frame(["one two", "three four"])
    assert isinstance(action, EditPart)
    assert action.part.content == "one two"


@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 20))
def test_no_word_vanishes_while_a_border_moves(count: int, back: int, new: int) -> None:
    words = [f"w{number}" for number in range(count + new)]
    border = max(1, count - back)
    want = [" ".join(words[:border]), *([" ".join(words[border:])] if words[border:] else [])]
    for view in carry_out(standing(" ".join(words[:count])), want):
        assert set(words[:count]) <= set(" ".join(view).split())


TEXT, FILE = PartKind.TEXT, PartKind.FILE


@pytest.mark.parametrize(
    ("known", "want", "places"),
    [
        ([], [TEXT, FILE], [0, 1]),
        ([(TEXT, PartState.POSTED)], [TEXT, FILE], [0, 1]),
        ([(TEXT, PartState.POSTED)], [FILE], [1]),
        ([(TEXT, PartState.INTENDED)], [FILE, FILE], [1, 2]),
        ([(TEXT, PartState.PLANNED)], [FILE], [0]),
        ([(TEXT, PartState.POSTED)] * 3, [TEXT, FILE], [0, 3]),
        ([(TEXT, PartState.POSTED), (FILE, PartState.POSTED)], [TEXT, FILE], [0, 1]),
    ],
)
def test_a_message_with_text_never_becomes_a_file(
    known: list[tuple[PartKind, PartState]], want: list[PartKind], places: list[int]
) -> None:
    stand = [Part(index, kind, "x", state) for index, (kind, state) in enumerate(known)]
    wanted = [Part(index, kind, "y") for index, kind in enumerate(want)]
    found = place_parts(wanted, stand)
    assert [part.index for part in found] == places
    assert [part.kind for part in found] == want


def test_what_the_final_has_no_use_for_is_taken_back_wherever_it_stands() -> None:
    reply = standing("one", "two")
    file = Part(2, FILE, "/mnt/x.png")
    action = reply.next_final([file])
    assert isinstance(action, PostPart)
    reply.update_part(replace(file, state=PartState.FINAL, platform_id="m2"))
    for index in (0, 1):
        action = reply.next_final([file])
        assert isinstance(action, RemovePart)
        assert action.part.index == index
        reply.update_part(replace(action.part, state=PartState.UNDELIVERED))
    assert reply.next_final([file]) is None
