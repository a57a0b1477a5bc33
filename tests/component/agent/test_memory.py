"""The memory that a model keeps, through a compiled agent: what is learned, when, once, and who sees it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier
from agent.memory.files import ProcessLock
from agent.memory.scopes import format_scope
from agent.memory.service import MemoryManagement
from agent.memory.store import FileMemoryStore
from agent.memory.worker import LOCK_POLL_SECONDS, MAX_ATTEMPTS, UPDATES_AT_ONCE
from agent.middleware.memory import MAX_WAIT_SECONDS, MemoryMiddleware
from agent.models.calls import internal_config
from agent.shared.run_identity import SENDER
from roebot_testing.agent.remembering import RememberingModel, parse_memory_request
from roebot_testing.clock import ManualClock
from tests.harness.agents import calls, chain, says, scripted

ADA = MemoryScope("person", "bot", "telegram:1")
BOB = MemoryScope("person", "bot", "telegram:2")
GROUP = MemoryScope("group", "bot", "-100")
Made = Callable[..., FileMemoryStore]
NAPS: WeakKeyDictionary[FileMemoryStore, Naps] = WeakKeyDictionary()


@tool
async def look() -> str:
    """Look."""
    return "a secret of the tool"


class Keeper:
    """The model that updates; `answers` come before it keeps things word by word."""

    def __init__(self, *answers: str | Exception) -> None:
        self.model = RememberingModel(environ={})
        self.answers = list(answers)
        self.heard: list[list[BaseMessage]] = []
        self.before: Callable[[], Awaitable[object]] | None = None

    async def __call__(self, messages: Sequence[BaseMessage]) -> BaseMessage:
        self.heard.append(list(messages))
        if self.before is not None:
            await self.before()
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return AIMessage(answer)
        return await self.model.ainvoke(list(messages), internal_config("memory"))

    @property
    def conversations(self) -> list[list[str]]:
        """What was said, of each time that it was asked."""
        found = [parse_memory_request(messages[:2]) for messages in self.heard]
        return [[one["text"] for one in each["conversation"]] for each in found if each is not None]


@pytest.fixture
async def made(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Made]:
    memories: list[FileMemoryStore] = []

    def make(keeper: Keeper, **config: Any) -> FileMemoryStore:
        async def settings() -> MemoryConfig:
            return MemoryConfig(**config)

        naps = Naps(clock)
        memories.append(FileMemoryStore(tmp_path, settings, keeper, clock=clock.now, sleep=naps.sleep))
        NAPS[memories[-1]] = naps
        return memories[-1]

    yield make
    for memory in memories:
        await memory.close()


class Naps:
    """The clock's sleep, and how many sleep now."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.asleep = 0

    async def sleep(self, seconds: float) -> None:
        self.asleep += 1
        try:
            await self._clock.sleep(seconds)
        finally:
            self.asleep -= 1


async def quiet(clock: ManualClock, memory: FileMemoryStore) -> None:
    """Wait until nothing happens any more unless time passes; threads take their own time."""
    await clock.run_ready()
    idle = asyncio.create_task(memory.wait_until_idle())
    async with asyncio.timeout(20):
        while not idle.done() and not NAPS[memory].asleep:
            await asyncio.to_thread(lambda: None)
            await clock.run_ready()
    idle.cancel()


async def seconds(clock: ManualClock, memory: FileMemoryStore, passed: float) -> None:
    """Let time pass, with all that happens in it."""
    await quiet(clock, memory)
    await clock.advance(passed)
    await quiet(clock, memory)


def run(thread: str = "t-1", **context: Any) -> Any:
    known = {"user_id": "telegram:1", "account": "bot", "chat": "1", "chat_kind": "private", **context}
    return {"configurable": {"thread_id": thread, **known}}


def in_group(thread: str, user: str = "telegram:1") -> Any:
    return run(thread, user_id=user, chat="-100", chat_kind="group")


async def say(graph: Any, config: Any, text: str, sender: str | None = None) -> None:
    kwargs = {SENDER: sender} if sender else {}
    await graph.ainvoke({"messages": [HumanMessage(text, additional_kwargs=kwargs)]}, config)


async def test_what_a_person_says_is_remembered_after_the_quiet_seconds(
    made: Made, clock: ManualClock
) -> None:
    keeper = Keeper()
    memory = made(keeper)
    graph = chain(
        scripted(calls("look"), says("Nice."), says("Hm.")), MemoryMiddleware(store=memory), tools=[look]
    )
    await say(graph, run(), "I have a cat.")
    await seconds(clock, memory, 29)
    assert keeper.heard == []
    await say(graph, run(), "And a dog.")
    await seconds(clock, memory, 29)
    assert keeper.heard == [], "the quiet begins anew"
    await seconds(clock, memory, 1)
    assert keeper.conversations == [["I have a cat.", "Nice.", "And a dog.", "Hm."]], "final answers alone"
    assert "I have a cat." in await memory.text(ADA)
    assert (await memory.text(BOB), await memory.text(GROUP)) == ("", "")
    await seconds(clock, memory, 10_000)
    assert len(keeper.heard) == 1


async def test_only_what_is_new_is_asked_about(made: Made, clock: ManualClock) -> None:
    keeper = Keeper()
    memory = made(keeper)
    graph = chain(scripted(says("ok")), MemoryMiddleware(store=memory))
    for text in ("I like tea.", "I like jam."):
        await say(graph, run(), text)
        await seconds(clock, memory, 30)
    assert keeper.conversations == [["I like tea.", "ok"], ["I like jam.", "ok"]]
    assert [fact["content"] for fact in (parse_memory_request(keeper.heard[1]) or {})["memory"]["facts"]] == [
        "I like tea."
    ]
    await say(graph, run("t-2"), "Forget I like tea.")
    await seconds(clock, memory, 30)
    text = await memory.text(ADA)
    assert "jam" in text
    assert "tea" not in text, "what is contradicted goes"


async def test_a_new_conversation_knows_what_was_just_said_in_another(made: Made, clock: ManualClock) -> None:
    keeper, model = Keeper(), scripted(says("ok"))
    memory = made(keeper)
    graph = chain(model, MemoryMiddleware(store=memory))
    await say(graph, run("t-1"), "Answer in German.")
    await say(graph, run("t-1"), "And briefly.")
    assert keeper.heard == [], "a conversation knows itself"
    await say(graph, run("t-2", user_id="telegram:2"), "Hello.")
    assert keeper.heard == [], "nothing of theirs waits"
    await say(graph, run("t-3"), "What is a mutex?")
    assert keeper.conversations == [["Answer in German.", "ok", "And briefly.", "ok"]]
    assert "Answer in German." in model.calls[-1].texts[0]


async def test_a_new_conversation_does_not_wait_long_for_a_slow_update(
    made: Made, clock: ManualClock
) -> None:
    keeper, model, is_free = Keeper(), scripted(says("ok")), asyncio.Event()
    keeper.before = is_free.wait
    memory = made(keeper)
    graph = chain(model, MemoryMiddleware(store=memory))
    await say(graph, run("t-1"), "Answer in German.")
    second = asyncio.create_task(say(graph, run("t-2"), "What is a mutex?"))
    async with asyncio.timeout(20):
        while not keeper.heard or not NAPS[memory].asleep:
            await asyncio.to_thread(lambda: None)
    await clock.advance(MAX_WAIT_SECONDS / 2)
    assert len(model.calls) == 1
    await clock.advance(MAX_WAIT_SECONDS / 2)
    await second
    assert MAX_WAIT_SECONDS <= 0.3
    assert "(nothing yet)" in model.calls[-1].texts[0]
    await say(graph, run("t-2"), "And a semaphore?")
    assert "(nothing yet)" in model.calls[-1].texts[0], "it waits once"
    is_free.set()
    await seconds(clock, memory, 0)
    assert "Answer in German." in await memory.text(ADA), "the update goes on"
    await say(graph, run("t-2"), "And a barrier?")
    assert "Answer in German." in model.calls[-1].texts[0], "the conversation learns it late"


async def test_fifty_people_do_not_wait_longer_than_one(made: Made, clock: ManualClock) -> None:
    keeper, model, is_free = Keeper(), scripted(says("ok")), asyncio.Event()
    keeper.before = is_free.wait
    memory = made(keeper)
    graph = chain(model, MemoryMiddleware(store=memory))
    people = [f"telegram:{number}" for number in range(50)]
    for person in people:
        await say(graph, run(f"first of {person}", user_id=person), "Answer in German.")
    asked = [
        asyncio.create_task(say(graph, run(f"second of {person}", user_id=person), "What is a mutex?"))
        for person in people
    ]
    async with asyncio.timeout(20):
        while NAPS[memory].asleep < len(people) or len(keeper.heard) < UPDATES_AT_ONCE:
            await asyncio.to_thread(lambda: None)
    await clock.advance(MAX_WAIT_SECONDS)
    async with asyncio.timeout(20):
        await asyncio.gather(*asked)
    is_free.set()


async def test_updates_of_one_memory_run_one_by_one_and_others_beside_them(made: Made) -> None:
    keeper, is_free = Keeper(), asyncio.Event()
    keeper.before = is_free.wait
    memory = made(keeper, debounce_seconds=0)
    for scope, thread in ((ADA, "t-1"), (ADA, "t-2"), (BOB, "t-3"), (GROUP, "t-4")):
        await memory.queue(scope, thread, [HumanMessage(f"I like tea: {thread}.", id="1")])
    async with asyncio.timeout(20):
        while len(keeper.heard) < 3:
            await asyncio.to_thread(lambda: None)
    for _ in range(20):
        await asyncio.to_thread(lambda: None)
    assert {text for [text] in keeper.conversations} == {f"I like tea: t-{number}." for number in (1, 3, 4)}
    is_free.set()
    await memory.wait_until_idle()
    assert keeper.conversations[3] == ["I like tea: t-2."]


async def test_a_new_conversation_does_not_wait_for_a_locked_queue(
    made: Made, clock: ManualClock, tmp_path: Path
) -> None:
    memory, model = made(Keeper()), scripted(says("ok"))
    graph = chain(model, MemoryMiddleware(store=memory))
    await say(graph, run("t-1"), "Answer in German.")
    (queue,) = tmp_path.rglob("queue.db")
    with closing(sqlite3.connect(queue, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        second = asyncio.create_task(say(graph, run("t-2"), "What is a mutex?"))
        async with asyncio.timeout(20):
            while not NAPS[memory].asleep:
                await asyncio.to_thread(lambda: None)
        await clock.advance(MAX_WAIT_SECONDS)
        async with asyncio.timeout(5):
            while len(model.calls) < 2:
                await asyncio.to_thread(lambda: None)
        other.execute("ROLLBACK")
    await second


async def test_a_new_conversation_does_not_wait_for_an_update_that_failed(
    made: Made, clock: ManualClock
) -> None:
    keeper, model = Keeper(RuntimeError("overloaded"), RuntimeError("overloaded")), scripted(says("ok"))
    memory = made(keeper)
    graph = chain(model, MemoryMiddleware(store=memory))
    await say(graph, run("t-1"), "Answer in German.")
    for thread in ("t-2", "t-3"):
        await say(graph, run(thread), "What is a mutex?")
    heard = [texts[0] for texts in keeper.conversations]
    assert heard == ["Answer in German.", "What is a mutex?"], "the first one waits for its retry"
    assert len(model.calls) == 3


async def test_two_people_in_a_group_and_each_alone(made: Made, clock: ManualClock) -> None:
    memory = made(Keeper())
    model = scripted(says("ok"))
    graph = chain(model, MemoryMiddleware(store=memory))
    await say(graph, run("ada"), "Ada-secret.", "telegram:1")
    await say(graph, run("bob", user_id="telegram:2", chat="2"), "Bob-secret.", "telegram:2")
    await say(graph, in_group("both"), "Ada: Ada-public.", "telegram:1")
    await say(graph, in_group("both", "telegram:2"), "Bob: Bob-public.", "telegram:2")
    await say(graph, run("other", chat="-200", chat_kind="group"), "Ada: Other-group.", "telegram:1")
    await seconds(clock, memory, 60)

    async def seen(config: Any) -> set[str]:
        await say(graph, config, "?")
        words = ("Ada-secret", "Bob-secret", "Ada-public", "Bob-public", "Other-group")
        return {word for word in words if word in model.calls[-1].texts[0]}

    assert await seen(run("new-1")) == {"Ada-secret"}
    assert await seen(run("new-2", user_id="telegram:2", chat="2")) == {"Bob-secret"}
    assert await seen(in_group("new-3")) == {"Ada-public", "Bob-public"}
    assert await seen(in_group("new-4", "telegram:2")) == {"Ada-public", "Bob-public"}
    assert await seen(run("new-5", chat="-200", chat_kind="group")) == {"Other-group"}
    assert await seen(run("new-6", account="other-bot")) == set(), "another account is another assistant"


async def test_what_others_wrote_is_never_a_persons_own_fact(made: Made, clock: ManualClock) -> None:
    """A thread of a group that is gone on with in private holds the words of many."""
    keeper = Keeper()
    memory = made(keeper)
    graph = chain(scripted(says("To Bob."), says("To Ada.")), MemoryMiddleware(store=memory))
    await say(graph, in_group("t", "telegram:2"), "Bob: I am a spy.", "telegram:2")
    await say(graph, run("t"), "I am a cook.", "telegram:1")
    await seconds(clock, memory, 60)
    mine = await memory.text(ADA)
    assert "cook" in mine
    assert "spy" not in mine
    assert ["I am a cook.", "To Ada."] in keeper.conversations


async def test_what_waits_when_the_process_ends_is_done_by_the_next_once(
    made: Made, clock: ManualClock
) -> None:
    first = made(keeper := Keeper())
    await say(chain(scripted(says("ok")), MemoryMiddleware(store=first)), run(), "I like tea.")
    await first.close()
    await clock.advance(1_000)
    assert keeper.heard == []
    second = made(keeper)
    await second.resume()
    await seconds(clock, second, 0)
    assert len(keeper.heard) == 1
    assert "tea" in await second.text(ADA)
    third = made(keeper)
    await third.resume()
    await seconds(clock, third, 1_000)
    assert len(keeper.heard) == 1


async def test_a_process_that_ends_between_file_and_queue_does_not_ask_again(
    made: Made, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent.memory import queue

    memory = made(keeper := Keeper())
    done = queue.MemoryUpdateQueue.complete

    def killed(*_: object) -> None:
        raise OSError("the process ends here")

    monkeypatch.setattr(queue.MemoryUpdateQueue, "complete", killed)
    await memory.queue(ADA, "t", [HumanMessage("I like tea.", id="1")])
    await seconds(clock, memory, 30)
    assert "tea" in await memory.text(ADA)
    monkeypatch.setattr(queue.MemoryUpdateQueue, "complete", done)
    await seconds(clock, memory, 10_000)
    assert len(keeper.heard) == 1
    assert (await memory.text(ADA)).count("tea") == 1
    await memory.wait_until_idle()


async def test_an_answer_that_cannot_be_used_is_asked_for_once_more(made: Made, clock: ManualClock) -> None:
    keeper = Keeper('{"add": [7]}')
    memory = made(keeper)
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    await seconds(clock, memory, 30)
    assert len(keeper.heard) == 2
    assert keeper.heard[1][-1].text.startswith("Invalid answer: add.0: ")
    assert keeper.heard[1][-2].text == '{"add": [7]}'


async def test_a_model_that_fails_is_asked_later_and_at_last_given_up(made: Made, clock: ManualClock) -> None:
    keeper = Keeper(*[RuntimeError("down")] * (MAX_ATTEMPTS - 1))
    memory = made(keeper)
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    for passed, asked in ((30, 1), (29, 1), (1, 2), (120, 3), (480, 4), (1920, 5)):
        await seconds(clock, memory, passed)
        assert len(keeper.heard) == asked
    assert "tea" in await memory.text(ADA)
    keeper.answers = ["no JSON"] * 100
    await memory.queue(ADA, "t-2", [HumanMessage("I like jam.")])
    for passed in (30, 30, 120, 480, 1920, 10_000, 100_000):
        await seconds(clock, memory, passed)
    assert len(keeper.heard) == 5 + 2 * MAX_ATTEMPTS
    await memory.wait_until_idle()


async def test_one_bad_fact_of_an_answer_costs_no_other(made: Made, clock: ManualClock) -> None:
    good = {"content": "Likes tea.", "category": "preference", "confidence": 0.9}
    memory = made(keeper := Keeper(json.dumps({"add": [{**good, "content": 7}, good, {"confidence": 1}]})))
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    await seconds(clock, memory, 30)
    assert await memory.text(ADA) == "About the person you are talking to:\n- (preference) Likes tea."
    assert len(keeper.heard) == 1


async def test_forgetting_voids_an_update_under_way(made: Made, clock: ManualClock, tmp_path: Path) -> None:
    keeper = Keeper()
    memory = made(keeper)

    async def settings() -> MemoryConfig:
        return MemoryConfig()

    managed = MemoryManagement(tmp_path, settings, clock=clock.now)
    keeper.before = lambda: managed.delete_memory(format_scope(ADA))
    graph = chain(scripted(says("ok")), MemoryMiddleware(store=memory))
    await say(graph, run(), "I like tea.")
    await seconds(clock, memory, 30)
    assert len(keeper.heard) == 1
    assert await memory.text(ADA) == ""
    keeper.before = None
    await say(graph, run(), "I like jam.")
    await seconds(clock, memory, 30)
    assert keeper.conversations[-1] == ["I like jam.", "ok"], "the thread's past does not come back"
    assert "tea" not in await memory.text(ADA)
    managed.close()


async def test_a_memory_erased_elsewhere_leaves_the_prompt_although_there_is_a_new_summary(
    made: Made, clock: ManualClock, tmp_path: Path
) -> None:
    keeper = Keeper('{"user": {"workContext": "Sells boats."}}', '{"user": {"workContext": "Bakes bread."}}')
    memory = made(keeper)

    async def settings() -> MemoryConfig:
        return MemoryConfig()

    managed = MemoryManagement(tmp_path, settings, clock=clock.now)
    model = scripted(says("ok"))
    graph = chain(model, MemoryMiddleware(store=memory))
    await memory.queue(ADA, "t-2", [HumanMessage("I sell boats.")])
    await seconds(clock, memory, 30)
    await say(graph, run(), "Hello.")
    assert "boats" in model.calls[-1].texts[0]
    await managed.delete_memory(format_scope(ADA))
    await memory.queue(ADA, "t-3", [HumanMessage("I bake bread.")])
    await seconds(clock, memory, 30)
    await say(graph, run(), "Hello again.")
    assert "boats" not in model.calls[-1].texts[0]
    managed.close()


async def test_a_fact_that_a_person_writes_meanwhile_stays(
    made: Made, clock: ManualClock, tmp_path: Path
) -> None:
    keeper = Keeper()
    memory = made(keeper)

    async def settings() -> MemoryConfig:
        return MemoryConfig()

    managed = MemoryManagement(tmp_path, settings, clock=clock.now)
    keeper.before = lambda: managed.add_fact("By hand.", scope=format_scope(ADA))
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    await seconds(clock, memory, 30)
    assert [fact.content for fact in (await managed.get_memory(format_scope(ADA))).facts] == [
        "By hand.",
        "I like tea.",
    ]
    managed.close()


async def test_one_process_at_a_time_works_the_queue_off(
    made: Made, clock: ManualClock, tmp_path: Path
) -> None:
    keeper = Keeper()
    memory = made(keeper, debounce_seconds=0)
    (tmp_path / "memory").mkdir()
    another = ProcessLock(tmp_path / "memory" / ".worker.lock")
    assert another.try_acquire()
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    await seconds(clock, memory, LOCK_POLL_SECONDS * 3)
    assert keeper.heard == []
    another.release()
    await seconds(clock, memory, LOCK_POLL_SECONDS)
    assert len(keeper.heard) == 1
    await memory.wait_until_idle()


async def test_no_token_of_an_update_reaches_the_run_that_queued_it(tmp_path: Path) -> None:
    """In real time and without quiet seconds, so that the update is over while the run still streams."""
    updated = asyncio.Event()
    keeper = Keeper()

    async def ask(messages: Sequence[BaseMessage]) -> BaseMessage:
        answer = await keeper(messages)
        updated.set()
        return answer

    async def settings() -> MemoryConfig:
        return MemoryConfig(debounce_seconds=0)

    memory = FileMemoryStore(tmp_path, settings, ask)

    @tool
    async def wait() -> str:
        """Queue, and wait until it is remembered."""
        await memory.queue(ADA, "t-1", [HumanMessage("I like tea.")])
        await updated.wait()
        return "done"

    graph = chain(scripted(calls("wait"), says("The answer.")), MemoryMiddleware(store=memory), tools=[wait])
    modes = ["messages", "updates", "custom", "values", "debug"]
    streamed = [
        str(part)
        async for part in graph.astream({"messages": [HumanMessage("go")]}, run("a"), stream_mode=modes)
    ]
    updated.clear()
    streamed += [
        str(event)
        async for event in graph.astream_events({"messages": [HumanMessage("go")]}, run("b"), version="v2")
    ]
    await memory.wait_until_idle()
    assert "I like tea." in await memory.text(ADA)
    assert "The answer." in "".join(streamed)
    for leaked in ("confidence", "long-term memory"):
        assert leaked not in "".join(streamed)
    await memory.close()


async def test_the_section_decides_whether_it_is_shown_and_where_it_is(
    made: Made, clock: ManualClock, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    config = {"injection_enabled": False, "storage_path": str(elsewhere), "debounce_seconds": 5}
    memory = made(Keeper(), **config)
    await memory.queue(ADA, "t", [HumanMessage("I like tea.")])
    await seconds(clock, memory, 5)
    assert await memory.text(ADA) is None
    assert "tea" in str(await made(Keeper(), storage_path=str(elsewhere)).text(ADA))
    assert not (tmp_path / "memory").exists()


async def test_a_scope_that_is_none_is_refused(made: Made) -> None:
    with pytest.raises(BadIdentifier):
        await made(Keeper()).queue(MemoryScope("person", "a", "b\n"), "t", [HumanMessage("x")])


async def test_a_queue_that_breaks_is_logged_and_taken_up_again(
    made: Made, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent.memory import queue

    memory = made(keeper := Keeper(), debounce_seconds=0)
    due = queue.MemoryUpdateQueue.next_update

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(queue.MemoryUpdateQueue, "next_update", full)
    await memory.queue(ADA, "t", [HumanMessage("I like tea.", id="1")])
    await memory.wait_until_idle()
    assert "memory_queue_failed" in capsys.readouterr().out
    monkeypatch.setattr(queue.MemoryUpdateQueue, "next_update", due)
    await memory.queue(ADA, "t-2", [HumanMessage("I like jam.", id="1")])
    await memory.wait_until_idle()
    assert len(keeper.heard) == 2


def test_it_works_on_whatever_loop_it_is_used(tmp_path: Path) -> None:
    async def settings() -> MemoryConfig:
        return MemoryConfig(debounce_seconds=0)

    memory = FileMemoryStore(tmp_path, settings, keeper := Keeper())

    async def once(text: str, *, wait: bool) -> str:
        await memory.queue(ADA, text, [HumanMessage(text)])
        if wait:
            await memory.wait_until_idle()
        return await memory.text(ADA)

    asyncio.run(once("I like tea.", wait=False))
    shown = asyncio.run(once("I like jam.", wait=True))
    assert "jam" in shown
    assert len(keeper.heard) >= 1
    asyncio.run(memory.close())
