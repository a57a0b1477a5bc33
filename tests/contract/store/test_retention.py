"""Forgetting on SQLite and on PostgreSQL: what is too old, and what is kept about a person."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    Part,
    PartKind,
    PartState,
    ProgressState,
    ToolStep,
    TurnState,
)
from bot.store import BotStore, retention
from bot.store.admission_types import Accepted, Heard
from bot.store.audit import Actor
from bot.store.retention import Person, Written
from bot.store.turns import PartChange
from bot.store.usage import Spent
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, changed, message

DAY = 86_400.0
NOW = 100 * DAY
ANN_HERE = Person("telegram", ANN.id)
fresh = itertools.count(1)


def new_id() -> str:
    return f"fresh-{next(fresh)}"


async def answered(
    store: BotStore, accepted: Accepted, text: str = "fine", *, at: float = 101.0, person: str = ""
) -> None:
    """The turn of an accepted message is answered."""
    await store.claim(accepted.conversation, at)
    part = Part(0, PartKind.TEXT, text, PartState.FINAL, platform_id="m")
    spent = Spent(person, 1, 1, 2) if person else None
    await store.save(accepted.turn, [PartChange(part)], at, state=TurnState.DONE, spent=spent)


async def asks(store: BotStore, text: str = "hello", *, now: float = 100.0, **more: object) -> Accepted:
    [accepted] = await accept(store, admission(message(text, **more)), now=now)  # type: ignore[arg-type]
    return accepted


async def texts(store: BotStore, conversation: int) -> list[tuple[list[str], list[str]]]:
    """What stands of a conversation's turns, oldest first: messages and answers."""
    found = await store.turns(conversation)
    return [
        ([one.text for one in view.messages], [part.content for part in view.parts])
        for view in reversed(found)
    ]


async def forget(store: BotStore, before: float) -> None:
    while (await store.forgetting.forget_before("tg", before, NOW, new_id)).more:
        pass


async def thread(store: BotStore, conversation: int) -> str:
    view = await store.conversation(conversation)
    assert view is not None
    return view.thread_id


async def written(store: BotStore, person: Person = ANN_HERE) -> list[Written]:
    return [one async for found in store.forgetting.written(person) for one in found]


async def test_old_texts_go_and_a_thread_that_is_used_stays(store: BotStore) -> None:
    old = await asks(store, "old", now=1 * DAY)
    await answered(store, old, at=1 * DAY, person="telegram:7")
    young = await asks(store, "young", now=9 * DAY)
    await answered(store, young, at=9 * DAY)
    before = await thread(store, old.conversation)
    await forget(store, 5 * DAY)
    assert await texts(store, old.conversation) == [([], []), (["young"], ["fine"])]
    assert await thread(store, old.conversation) == before
    assert await store.forgetting.leaving() == []
    assert (await store.spending(0.0)).total_tokens == 2


async def test_a_thread_that_nobody_used_since_leaves(store: BotStore) -> None:
    old = await asks(store, "old", now=1 * DAY)
    await answered(store, old, at=1 * DAY)
    before = await thread(store, old.conversation)
    await forget(store, 5 * DAY)
    assert await store.forgetting.leaving() == [before]
    assert await thread(store, old.conversation) != before
    view = await store.conversation(old.conversation)
    assert view is not None and view.title == ""
    assert await store.threads(old.conversation) == []
    await store.forgetting.left(before)
    assert not await store.forgetting.any_leaving()


async def test_what_is_worked_on_stays_and_goes_later(store: BotStore) -> None:
    first = await asks(store, "one", now=1 * DAY)
    await store.claim(first.conversation, 1 * DAY)
    await forget(store, 5 * DAY)
    assert await texts(store, first.conversation) == [(["one"], [])]
    await answered(store, first, at=6 * DAY)
    await forget(store, 5 * DAY)
    assert await texts(store, first.conversation) == [([], [])]


async def test_accounts_are_apart_and_many_turns_go_in_steps(
    store: BotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [await asks(store, f"{number}", now=1 * DAY, chat=f"c{number}") for number in range(7)]
    for one in taken:
        await answered(store, one, at=1 * DAY)
    monkeypatch.setattr(retention, "STEP", 3)
    assert (await store.forgetting.forget_before("other", 5 * DAY, NOW, new_id)).upto == 3
    assert await texts(store, taken[0].conversation) == [(["0"], ["fine"])]
    await forget(store, 5 * DAY)
    assert [await texts(store, one.conversation) for one in taken] == [[([], [])]] * 7
    assert len(await store.forgetting.leaving()) == 7


async def test_what_is_kept_about_somebody(store: BotStore) -> None:
    file = Attachment(AttachmentKind.FILE, "plan.pdf", "ref")
    one = await asks(store, "my question", attachments=(file,))
    await answered(store, one, "my answer")
    group = {"chat": "g", "kind": ChatKind.GROUP}
    await asks(store, "bens", sender=BEN, **group)
    await accept(store, Heard(message("heard", chat="g", kind=ChatKind.GROUP)))
    [found] = await written(store)
    assert (found.text, found.files, found.answer) == ("my question", ("plan.pdf",), "my answer")
    assert (found.account, found.chat) == ("tg", "c1")
    assert [row.text for row in await store.forgetting.recorded(ANN_HERE)] == ["heard"]
    assert await written(store, Person("slack", ANN.id)) == []
    assert [one.text for one in await written(store, Person("telegram", BEN.id))] == ["bens"]


async def answered_again(store: BotStore, conversation: int) -> int:
    """The turn in which the last answer is given again."""
    last, view = await store.last_answered(conversation), await store.conversation(conversation)
    assert last is not None
    assert view is not None
    ways = {"checkpoint": "", "thread_id": last.thread_id, "model": "", "limits": ()}
    return await store.repeat(last, view, **ways, actor=Actor("key", "web:owner", "", "web", ""), now=103.0)  # type: ignore[arg-type]


async def test_tool_calls_are_kept_and_go_with_the_answer(store: BotStore) -> None:
    step = ToolStep("read_file", "path: /a", ProgressState.DONE, "my words", 1.5)
    one = await asks(store)
    await answered(store, one)
    await store.save(one.turn, [], 102.0, steps=(step,))
    assert (await store.turns(one.conversation))[0].steps == (step,)
    assert [found.tools for found in await written(store)] == [("read_file path: /a",)]
    again = await answered_again(store, one.conversation)
    await store.save(again, [PartChange(Part(0, PartKind.TEXT, "ann's, again"))], 104.0, steps=(step,))
    await store.save(again, [], 105.0, state=TurnState.DONE)
    await erase(store)
    assert [(view.steps, view.parts) for view in await store.turns(one.conversation)] == [((), ())] * 2
    old = await asks(store, "old", now=1 * DAY, chat="c2")
    await answered(store, old, at=1 * DAY)
    await store.save(old.turn, [], 1 * DAY, steps=(step,))
    await forget(store, 5 * DAY)
    assert (await store.turns(old.conversation))[0].steps == ()


async def erase(store: BotStore, person: Person = ANN_HERE) -> tuple[int, set[str], set[str], int]:
    erased, open_ = await store.forgetting.erase(person, NOW, NOW, new_id)
    return erased.messages, set(erased.gone), set(erased.shared), open_


async def test_a_private_conversation_is_erased_whole(store: BotStore) -> None:
    first = message("secret")
    [one] = await accept(store, admission(first))
    await accept(store, changed(first, "another secret"))
    await answered(store, one, "the secret is safe", person="telegram:7")
    before = await thread(store, one.conversation)
    assert await erase(store) == (1, {before}, set(), 0)
    assert await written(store) == []
    assert await texts(store, one.conversation) == [([""], [])]
    assert await store.forgetting.leaving() == [before]
    assert (await store.spender(0.0, "telegram:7")).spending.turns == 0
    assert (await store.spending(0.0)).turns == 1
    # The same event again is still known.
    assert await accept(store, admission(first)) == []
    assert await erase(store) == (0, set(), set(), 0)


async def test_what_others_wrote_stays(store: BotStore) -> None:
    group: dict[str, object] = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t"}
    mine = await asks(store, "mine", **group)
    await answered(store, mine, "to Ann")
    bens = await asks(store, "bens", sender=BEN, **group)
    assert bens.conversation == mine.conversation
    await answered(store, bens, "to Ben")
    here = await thread(store, mine.conversation)
    await accept(store, Heard(message("a", chat="g", kind=ChatKind.GROUP)))
    await accept(store, Heard(message("b", chat="g", kind=ChatKind.GROUP, sender=BEN)))
    assert await erase(store) == (1, set(), {here}, 0)
    assert await texts(store, mine.conversation) == [([""], []), (["bens"], ["to Ben"])]
    assert [one.text for one in await store.record.said("tg", "g", 0.0, 1e9)] == ["b"]
    assert await store.forgetting.leaving() == []


async def test_an_answer_to_several_stays_for_the_others(store: BotStore) -> None:
    group: dict[str, object] = {"chat": "g", "kind": ChatKind.GROUP, "topic": "t"}
    both: Sequence[Accepted] = [
        await asks(store, "mine", **group),
        await asks(store, "bens", sender=BEN, **group),
    ]
    assert both[0].turn == both[1].turn
    await answered(store, both[0], "to both")
    await erase(store)
    assert await texts(store, both[0].conversation) == [(["", "bens"], ["to both"])]


async def test_what_is_being_worked_on_is_counted_and_stays(store: BotStore) -> None:
    one = await asks(store, "now")
    await store.claim(one.conversation, 101.0)
    assert await erase(store) == (0, set(), set(), 1)
    await answered(store, one)
    messages, gone, _, open_ = await erase(store)
    assert (messages, len(gone), open_) == (1, 1, 0)


async def test_a_thread_waits_for_its_last_run(store: BotStore) -> None:
    old = await asks(store, "old", now=1 * DAY)
    await answered(store, old, at=1 * DAY)
    before = await thread(store, old.conversation)
    await erase(store)
    # A turn that was accepted for the old thread meanwhile, as a crash may leave it.
    await accept(store, replace(admission(message("late")), thread_id=before, rotate=True), now=NOW)
    assert await store.forgetting.leaving() == []
