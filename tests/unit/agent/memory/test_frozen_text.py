"""A conversation keeps the memory in its prompt until something is removed from it."""

from __future__ import annotations

import pytest

from agent.memory.frozen_text import SECONDS, FrozenTexts, lacks_content

HEAD = "About the person you are talking to:"
EARLIER = f"{HEAD}\nWork: Writes novels. Lives from it.\n- (context) Ann lives in Bergen."


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("current", "removed"),
    [
        (EARLIER, False),
        (f"{EARLIER}\n- (context) Ann plays the tuba.", False),
        (EARLIER.replace("Writes novels.", "Writes plays now."), False),
        (EARLIER.replace("- (context) Ann lives in Bergen.", "- (context) Ann lives in Oslo."), True),
        (EARLIER.replace(" Lives from it.", ""), True),
        (f"{HEAD}\n- (context) Ann lives in Bergen.", True),
        (HEAD, True),
        ("", True),
    ],
)
def test_what_counts_as_removed(current: str, removed: bool) -> None:
    assert lacks_content(current, EARLIER) is removed


def test_an_added_fact_waits_an_hour() -> None:
    clock = Clock()
    frozen = FrozenTexts(clock=clock)
    more = f"{EARLIER}\n- (context) Ann plays the tuba."
    assert frozen.choose_text("t", "person:a", EARLIER) == EARLIER
    clock.now = SECONDS - 1
    assert frozen.choose_text("t", "person:a", more) == EARLIER
    assert frozen.choose_text("other", "person:a", more) == more
    clock.now = SECONDS
    assert frozen.choose_text("t", "person:a", more) == more


def test_an_erasure_changes_the_text_at_once_whatever_was_rewritten() -> None:
    frozen = FrozenTexts(clock=Clock())
    rewritten = EARLIER.replace("Lives from it.", "Likes tea.")
    assert frozen.choose_text("t", "group:g", EARLIER, 0) == EARLIER
    assert frozen.choose_text("t", "group:g", rewritten, 0) == EARLIER
    assert frozen.choose_text("t", "group:g", rewritten, 1) == rewritten
    assert frozen.choose_text("t", "group:g", EARLIER, 1) == rewritten


def test_a_first_memory_is_used_at_once() -> None:
    frozen = FrozenTexts(clock=Clock())
    assert frozen.choose_text("t", "person:a", "") == ""
    assert frozen.choose_text("t", "person:a", EARLIER) == EARLIER


def test_conversations_that_are_too_many_get_the_current_memory() -> None:
    frozen = FrozenTexts(clock=Clock(), threads=1)
    more = f"{EARLIER}\n- (context) Ann plays the tuba."
    assert frozen.choose_text("t", "person:a", EARLIER) == EARLIER
    frozen.choose_text("other", "person:a", more)
    assert frozen.choose_text("t", "person:a", more) == more
