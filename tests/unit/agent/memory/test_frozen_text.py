"""A conversation keeps the memory in its prompt until something is removed from it."""

from __future__ import annotations

import pytest

from agent.memory.frozen_text import DAY, IDLE_SECONDS, FrozenTexts, Snapshot, lacks_content

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


MORE = f"{EARLIER}\n- (context) Ann plays the tuba."


def test_a_conversation_keeps_its_memory_until_its_cache_is_cold() -> None:
    clock = Clock()
    frozen = FrozenTexts(clock=clock)
    assert frozen.choose_text("t", "person:a", Snapshot(EARLIER)) == EARLIER
    for _ in range(5):
        clock.now += IDLE_SECONDS - 1
        assert frozen.choose_text("t", "person:a", Snapshot(MORE)) == EARLIER
    assert frozen.choose_text("other", "person:a", Snapshot(MORE)) == MORE
    clock.now += IDLE_SECONDS
    assert frozen.choose_text("t", "person:a", Snapshot(MORE)) == MORE


def test_an_incomplete_text_is_replaced_once() -> None:
    frozen = FrozenTexts(clock=Clock())
    assert frozen.choose_text("t", "person:a", Snapshot(EARLIER, is_complete=False)) == EARLIER
    assert frozen.choose_text("t", "person:a", Snapshot(EARLIER)) == EARLIER
    assert frozen.choose_text("t", "person:a", Snapshot(MORE)) == MORE
    assert frozen.choose_text("t", "person:a", Snapshot(f"{MORE}\n- (context) Ann has a cat.")) == MORE


def test_a_conversation_without_a_pause_gets_the_current_memory_after_a_day() -> None:
    clock = Clock()
    frozen = FrozenTexts(clock=clock)
    frozen.choose_text("t", "person:a", Snapshot(EARLIER))
    found = []
    while clock.now < DAY:
        clock.now += IDLE_SECONDS / 2
        found.append(frozen.choose_text("t", "person:a", Snapshot(MORE)))
    assert set(found[:-1]) == {EARLIER}
    assert found[-1] == MORE


def test_a_summary_of_the_conversation_brings_the_current_memory() -> None:
    frozen = FrozenTexts(clock=Clock())
    frozen.choose_text("t", "person:a", Snapshot(EARLIER, cut="a1"))
    assert frozen.choose_text("t", "person:a", Snapshot(MORE, cut="a1")) == EARLIER
    assert frozen.choose_text("t", "person:a", Snapshot(MORE, cut="a9")) == MORE


def test_an_erasure_changes_the_text_at_once_whatever_was_rewritten() -> None:
    frozen = FrozenTexts(clock=Clock())
    rewritten = EARLIER.replace("Lives from it.", "Likes tea.")
    assert frozen.choose_text("t", "group:g", Snapshot(EARLIER, 0)) == EARLIER
    assert frozen.choose_text("t", "group:g", Snapshot(rewritten, 0)) == EARLIER
    assert frozen.choose_text("t", "group:g", Snapshot(rewritten, 1)) == rewritten
    assert frozen.choose_text("t", "group:g", Snapshot(EARLIER, 1)) == rewritten


def test_a_first_memory_waits_too() -> None:
    frozen = FrozenTexts(clock=Clock())
    assert frozen.choose_text("t", "person:a", Snapshot("")) == ""
    assert frozen.choose_text("t", "person:a", Snapshot(EARLIER)) == ""


def test_conversations_that_are_too_many_get_the_current_memory() -> None:
    frozen = FrozenTexts(clock=Clock(), threads=1)
    assert frozen.choose_text("t", "person:a", Snapshot(EARLIER)) == EARLIER
    frozen.choose_text("other", "person:a", Snapshot(MORE))
    assert frozen.choose_text("t", "person:a", Snapshot(MORE)) == MORE
