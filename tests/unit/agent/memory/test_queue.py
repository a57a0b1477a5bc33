"""The queue of updates: one entry a thread, after some quiet, nothing twice, on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.core.interfaces import MemoryScope
from agent.memory.exchange import PendingUpdate, QueuedMessage
from agent.memory.queue import MemoryUpdateQueue

ADA = MemoryScope("person", "telegram", "telegram:1")
BOB = MemoryScope("person", "telegram", "telegram:2")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:  # type: ignore[override]
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[MemoryUpdateQueue]:
    found = MemoryUpdateQueue(tmp_path / "memory" / "queue.db", clock=clock)
    yield found
    found.close()


def said(*texts: str) -> list[QueuedMessage]:
    return [QueuedMessage(text, "person", text) for text in texts]


def put(
    queue: MemoryUpdateQueue, *texts: str, scope: MemoryScope = ADA, thread: str = "t", quiet: float = 30
) -> bool:
    return queue.add_messages(scope, thread, said(*texts), quiet=quiet)


def take(queue: MemoryUpdateQueue) -> PendingUpdate:
    found = queue.next_update()
    assert found is not None
    return found


def waits(pending: PendingUpdate) -> list[str]:
    return [one.text for one in pending.messages]


def test_an_entry_is_due_after_the_quiet_seconds(queue: MemoryUpdateQueue, clock: Clock) -> None:
    assert put(queue, "a", "b")
    assert queue.next_due_time() == 1030
    clock.now = 1029.9
    assert queue.next_update() is None
    clock.now = 1030
    found = take(queue)
    assert (found.scope, found.thread_id, waits(found), found.attempts) == (ADA, "t", ["a", "b"], 0)


def test_whoever_says_more_starts_the_quiet_anew_but_not_for_ever(
    queue: MemoryUpdateQueue, clock: Clock
) -> None:
    texts = ["a"]
    put(queue, *texts)
    for number in range(20):
        clock.now += 20
        texts.append(f"b{number}")
        put(queue, *texts)
    assert queue.next_due_time() == 1000 + 10 * 30


def test_a_thread_has_one_entry_and_the_later_replaces_the_earlier(
    queue: MemoryUpdateQueue, clock: Clock
) -> None:
    put(queue, "a")
    put(queue, "a", "b")
    put(queue, "x", thread="other")
    put(queue, "x", scope=BOB)
    assert (queue.count_pending(ADA), queue.count_pending(BOB)) == (2, 1)
    clock.now = 2000
    assert waits(take(queue)) in (["a", "b"], ["x"])


def test_what_is_done_does_not_come_again(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a", "b")
    clock.now = 2000
    queue.complete(take(queue))
    assert queue.next_due_time() is None
    assert not put(queue, "a", "b"), "a thread that says nothing new has nothing to wait for"
    assert put(queue, "a", "b", "c")
    clock.now = 3000
    assert waits(take(queue)) == ["c"]


def test_what_was_queued_during_an_update_waits_for_the_next(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a")
    clock.now = 2000
    first = take(queue)
    put(queue, "a", "b")
    queue.complete(first)
    clock.now = 3000
    second = take(queue)
    assert waits(second) == ["b"]
    assert second.id != first.id


def test_what_a_summary_took_out_of_the_thread_still_waits(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a", "b", "c")
    put(queue, "c", "d")
    clock.now = 2000
    assert waits(take(queue)) == ["a", "b", "c", "d"]


def test_a_thread_that_forks_brings_what_is_new_on_it(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a", "answer 1", "b", "answer 2")
    clock.now = 2000
    queue.complete(take(queue))
    put(queue, "a", "answer 1", "b", "another answer")
    clock.now = 3000
    assert waits(take(queue)) == ["another answer"]


def test_only_the_newest_messages_wait(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, *(str(n) for n in range(100)))
    clock.now = 2000
    assert waits(take(queue)) == [str(n) for n in range(40, 100)]


def test_a_failure_is_tried_again_later(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a")
    clock.now = 2000
    queue.postpone(take(queue), 60)
    assert queue.next_update() is None
    clock.now = 2060
    assert take(queue).attempts == 1
    put(queue, "a", "b")
    clock.now = 3000
    assert take(queue).attempts == 0, "there is more to say now"


def test_a_failure_of_what_has_grown_since_changes_nothing(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a")
    clock.now = 2000
    first = take(queue)
    put(queue, "a", "b")
    queue.postpone(first, 600)
    clock.now = 2030
    assert waits(take(queue)) == ["a", "b"]


def test_it_outlives_its_process(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "queue.db"
    first = MemoryUpdateQueue(path, clock=clock)
    assert not first.exists
    put(first, "a")
    second = MemoryUpdateQueue(path, clock=clock)
    assert second.exists
    clock.now = 2000
    found = take(second)
    second.complete(found)
    assert first.next_update() is None
    first.close()
    second.close()


def test_forgetting_drops_what_waits_and_what_was_said_does_not_come_back(
    queue: MemoryUpdateQueue, clock: Clock
) -> None:
    put(queue, "a", "b")
    put(queue, "x", scope=BOB)
    clock.now = 2000
    before = queue.count_erasures(ADA)
    queue.erase(ADA)
    assert (queue.count_pending(ADA), queue.count_pending(BOB)) == (0, 1)
    assert queue.count_erasures(ADA) == before + 1
    assert not put(queue, "a", "b")
    assert put(queue, "a", "b", "c")
    clock.now = 3000
    found = [take(queue)]
    queue.complete(found[0])
    found.append(take(queue))
    mine = next(one for one in found if one.scope == ADA)
    assert (waits(mine), mine.erasures) == (["c"], before + 1)


def test_a_transaction_that_fails_changes_nothing(queue: MemoryUpdateQueue, clock: Clock) -> None:
    put(queue, "a")
    bad = PendingUpdate("x", ADA, "t", (QueuedMessage(object(), "person", "b"),), 0, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        queue.complete(bad)
    assert queue.count_pending(ADA) == 1
    assert put(queue, "a", "c"), "and the database is usable"


def test_answers_alone_are_nothing_to_learn_from(queue: MemoryUpdateQueue) -> None:
    put(queue, "a")
    queue.erase(ADA)
    assert not queue.add_messages(
        ADA, "t", [*said("a"), QueuedMessage("b", "assistant", "another answer")], quiet=30
    )
    assert queue.add_messages(
        ADA, "t", [*said("a"), QueuedMessage("b", "assistant", "answer"), *said("c")], quiet=30
    )


def test_messages_that_are_about_to_be_summarized_keep_their_place(
    queue: MemoryUpdateQueue, clock: Clock
) -> None:
    put(queue, "a", "b", "c")
    clock.now += 10
    assert not put(queue, "a", "b"), "they were queued before, so the update is not put off"
    assert queue.next_due_time() == 1030
    assert put(queue, "b", "c", "d")
    clock.now += 30
    assert waits(take(queue)) == ["a", "b", "c", "d"]


def test_a_new_thread_brings_forward_what_its_author_wrote_in_others(
    queue: MemoryUpdateQueue, clock: Clock
) -> None:
    group = MemoryScope("group", "telegram", "-100")
    for thread, author in (("t1", "telegram:1"), ("t2", "telegram:2")):
        queue.add_messages(group, thread, [QueuedMessage(thread, "person", "hi", author)], quiet=30)
    put(queue, "a", scope=BOB, quiet=5)
    clock.now += 10
    assert not queue.hasten(group, "t1", "telegram:1"), "its own messages wait for quiet"
    assert not queue.hasten(ADA, "t3", "telegram:1")
    assert queue.hasten(group, "t3", "telegram:2")
    update = take(queue)
    assert (update.scope, update.thread_id) == (group, "t2"), "before another that is due"
    queue.postpone(update, 30)
    assert not queue.hasten(group, "t3", "telegram:2"), "a failed one waits for its retry"
    assert take(queue).scope == BOB
