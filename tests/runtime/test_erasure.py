"""Erasing one person's messages from a thread that others use."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph

from agent.core.state import ThreadState
from agent.runtime.saver import compressing_serde
from agent.shared.envelope import mark_tags
from agent.shared.text_masking import MASK
from tests.runtime import graphs
from tests.runtime.serving import SOURCES, Served, serve

ANN, BEN = "telegram:1", "telegram:2"
SECRET = "plumtree9931"
ANN_SAID = f"Ann: my harbour code is {SECRET} and nobody knows it"
BEN_SAID = "Ben: the regatta starts on sunday"
GROUP = "0b1f9c3e-0000-4000-8000-000000000001"


def echoing() -> StateGraph[Any, Any, Any, Any]:
    """Repeats all messages of people, titles the thread, and calls a tool on the way."""

    async def call_tool(state: ThreadState) -> dict[str, Any]:
        said = _said(state["messages"])
        calls: Any = [{"name": "note", "args": {"text": said[-1]}, "id": f"c{len(said)}"}]
        return {"messages": [AIMessage("", tool_calls=calls)], "title": said[0]}

    async def answer(state: ThreadState) -> dict[str, Any]:
        said = _said(state["messages"])
        if "slowly" in said[-1]:
            graphs.arrived("answer").set()
            await graphs.gate("answer").wait()
        return {"messages": [AIMessage("You all said: " + " | ".join(said))]}

    graph = StateGraph(ThreadState)
    graph.add_node("call_tool", call_tool)
    graph.add_node("answer", answer)
    graph.add_edge(START, "call_tool")
    graph.add_edge("call_tool", "answer")
    graph.add_edge("answer", END)
    return graph


def _said(messages: Sequence[AnyMessage]) -> list[str]:
    return [str(message.content) for message in messages if isinstance(message, HumanMessage)]


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with the echoing graph."""
    async with serve(tmp_path, sources={**SOURCES, "echo": echoing}) as server:
        yield server


def message(identity: str, sender: str, text: str) -> dict[str, Any]:
    """A person's message in a group, as the bot sends it."""
    return {"type": "human", "id": identity, "content": text, "additional_kwargs": {"sender": sender}}


async def say(served: Served, *messages: dict[str, Any], checkpoint: Any = None) -> list[str]:
    """The contents of the thread's messages after a run."""
    run = await served.client.runs.create(
        GROUP,
        "echo",
        input={"messages": list(messages)},
        if_not_exists="create",
        checkpoint=checkpoint,
        stream_mode=["messages-tuple", "values"],
        stream_resumable=True,
    )
    await served.client.runs.join(GROUP, run["run_id"])
    values: Any = (await served.client.threads.get_state(GROUP))["values"]
    return [str(one["content"]) for one in values["messages"]]


def stored_values(home: Path) -> str:
    """Everything that the databases hold, decompressed, as one text."""
    serde = compressing_serde(JsonPlusSerializer())
    found = []
    for path in (home / "checkpoints.db", home / "agent.db"):
        with closing(sqlite3.connect(path)) as database:
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            for table in tables:
                rows = database.execute(f"SELECT * FROM {table}")
                names = [column[0] for column in rows.description]
                for row in rows:
                    entry = dict(zip(names, row, strict=True))
                    value = entry.get("checkpoint") or entry.get("value")
                    if isinstance(value, bytes) and entry.get("type"):
                        found.append(repr(serde.loads_typed((entry["type"], value))))
                    found += [
                        one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in row
                    ]
    return "\n".join(found)


def file_bytes(home: Path) -> bytes:
    """The bytes of all files."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


async def erase(served: Served, **more: Any) -> Any:
    """The answer to an erasure of Ann's messages."""
    body = {"authors": [ANN], "texts": [ANN_SAID.removeprefix("Ann: ")], "names": ["Ann"], **more}
    answer = await served.http.post(f"/threads/{GROUP}/erase", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_labels_in_what_others_were_shown_lose_the_person(group: Served, tmp_path: Path) -> None:
    shown = f'[- 10:00 "Annelore" ({ANN}) "ok" (forward "Ann": "hm")] Ann is late'
    await say(group, message("m1", BEN, shown))
    await erase(group, names=["Ann"])
    stored = stored_values(tmp_path)
    assert "Annelore" not in stored
    assert f"({ANN})" not in stored
    assert f'"{MASK}" ({MASK}) "{MASK}" (forward "{MASK}": "hm")] Ann is late' in stored


async def test_a_persons_words_leave_a_shared_thread_that_goes_on(group: Served, tmp_path: Path) -> None:
    await say(group, message("m1", ANN, ANN_SAID))
    await say(group, message("m2", BEN, BEN_SAID))
    assert SECRET in stored_values(tmp_path)
    done = await erase(group)
    assert done["messages"] == 3
    assert done["runs"] == 1
    assert min(done["checkpoints"], done["writes"], done["log_chunks"], done["quotations"]) > 0
    stored = stored_values(tmp_path)
    assert SECRET not in stored
    assert "harbour" not in stored
    assert BEN_SAID in stored
    said = await say(group, message("m3", BEN, "Ben: and now"))
    assert said[0] == MASK
    assert said[-1] == f"You all said: {MASK} | {BEN_SAID} | Ben: and now"
    assert said[5] == f"You all said: Ann: {MASK} | {BEN_SAID}"


async def test_no_file_holds_the_words_after_compaction(group: Served, tmp_path: Path) -> None:
    for number in range(12):
        await say(group, message(f"a{number}", ANN, f"{ANN_SAID} {number}"))
        await say(group, message(f"b{number}", BEN, BEN_SAID))
    await erase(group)
    done = await group.http.post("/storage/compact")
    assert done.json() == {
        name: {"rewritten": True, "log_emptied": True} for name in ("agent.db", "checkpoints.db")
    }
    assert SECRET.encode() not in file_bytes(tmp_path)
    assert SECRET not in stored_values(tmp_path)
    assert stored_values(tmp_path).count(BEN_SAID) > 12


async def test_every_fork_and_earlier_state_is_erased(group: Served, tmp_path: Path) -> None:
    await say(group, message("m1", BEN, BEN_SAID))
    before = (await group.client.threads.get_state(GROUP))["checkpoint"]
    await say(group, message("m2", ANN, ANN_SAID))
    await say(group, message("m3", ANN, ANN_SAID), checkpoint=before)
    await erase(group)
    assert SECRET not in stored_values(tmp_path)
    history: Any = await group.client.threads.get_history(GROUP, limit=100)
    contents = {str(one["content"]) for state in history for one in state["values"].get("messages", ())}
    assert BEN_SAID in contents
    assert MASK in contents


async def test_it_is_repeated_without_harm_and_spares_newer_messages(group: Served, tmp_path: Path) -> None:
    await say(group, message("m1", ANN, ANN_SAID))
    await say(group, message("m2", ANN, "Ann: a new start"))
    await erase(group, spared_ids=["m2"])
    again = await erase(group, spared_ids=["m2"])
    assert (again["checkpoints"], again["writes"], again["runs"]) == (0, 0, 0)
    said = await say(group, message("m3", BEN, BEN_SAID))
    assert said[0] == MASK
    assert "Ann: a new start" in said


async def test_an_answer_to_several_people_keeps_what_others_said(group: Served) -> None:
    await say(group, message("m1", ANN, ANN_SAID), message("m2", BEN, BEN_SAID))
    await erase(group)
    said = await say(group, message("m3", BEN, "Ben: and now"))
    assert said[3] == f"You all said: Ann: {MASK} | {BEN_SAID}"


async def test_what_others_quote_of_them_is_masked(group: Served, tmp_path: Path) -> None:
    quoting = (
        '<message from="telegram:2">\nlook\n<quotation kind="quote" from="telegram:1" name="Ann">\nI agree\n'
        '</quotation>\n<quotation kind="quote" from="telegram:3">\nMe too\n</quotation>\n</message>'
    )
    await say(group, message("m1", BEN, quoting))
    await erase(group)
    stored = stored_values(tmp_path)
    assert "I agree" not in stored
    assert "Me too" in stored
    assert "look" in stored


@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_texts_of_several_lines_are_erased_from_json(group: Served, tmp_path: Path, depth: int) -> None:
    """Results of tools, what a run was resumed with, and the arguments of calls are JSON in JSON."""
    line = json.dumps('Bring me\nsome milk\n"beetroot"')
    shown = f'- 2026-01-01 10:00 "Ann" ({ANN}) {line}\n- 2026-01-01 10:01 "Ben" ({BEN}) "so be it"'
    quoting = (
        f'<quotation kind="quote" from="{ANN}">\nI agree\n</quotation>\n- Tue "Ann" ({ANN}): "a" -> "tapir"'
    )
    text = f"{shown}\n{quoting}\n{mark_tags(quoting)}"
    for _ in range(depth):
        text = json.dumps({"result": text})
    await say(group, message("m1", BEN, text))
    await erase(group, texts=['Bring me\nsome milk\n"beetroot"'])
    stored = stored_values(tmp_path)
    assert [word for word in ("Bring", "milk", "beetroot", "I agree", "tapir", ANN) if word in stored] == []
    assert "so be it" in stored


async def test_what_a_run_was_resumed_with_is_erased(group: Served, tmp_path: Path) -> None:
    """As the result of `read_chat`: lines in a list, as JSON."""
    said = "Bring me\nsome milk\nbeetroot"
    lines = [f'- 10:00 "Ann" ({ANN}) {json.dumps(said)}', f'- 10:01 "Ben" ({BEN}) "so be it"']
    run = await group.client.runs.create(GROUP, "asking", input={"log": []}, if_not_exists="create")
    await group.client.runs.join(GROUP, run["run_id"])
    resumed = {"result": json.dumps({"lines": lines})}
    await group.client.runs.wait(GROUP, "asking", command={"resume": resumed})
    assert "beetroot" in stored_values(tmp_path)
    await erase(group, texts=[said])
    stored = stored_values(tmp_path)
    assert [word for word in ("Bring", "milk", "beetroot", ANN) if word in stored] == []
    assert "so be it" in stored


async def test_why_they_rejected_a_call_of_somebody_elses_run_is_erased(
    group: Served, tmp_path: Path
) -> None:
    """Few words, which no quotation would be found by; what they write after the request stays."""
    opening = f'<message from="{ANN}" name="Ann Smith" role="admin">'
    reason, newer = f"{opening}\nno, plums\n</message>", f"{opening}\nsince then\n</message>"
    other = f'<message from="{BEN}">\nno, pears\n</message>'
    await say(group, message("m1", BEN, "Ben: look"), message("m2", ANN, newer))
    run = await group.client.runs.create(GROUP, "asking", input={"log": []}, if_not_exists="create")
    await group.client.runs.join(GROUP, run["run_id"])
    resumed = {"answer": f"{reason}\n{other}", "covers": "c1"}
    await group.client.runs.wait(GROUP, "asking", command={"resume": resumed})
    assert "no, plums" in stored_values(tmp_path)
    await erase(group, spared_ids=["m2"])
    stored = stored_values(tmp_path)
    assert "no, plums" not in stored
    assert "no, pears" in stored
    state: Any = await group.client.threads.get_state(GROUP)
    assert "Ann Smith" not in str(state["values"]["log"])
    assert "since then" in stored


async def test_what_they_asked_in_another_conversation_goes_with_its_answer(
    group: Served, tmp_path: Path
) -> None:
    told = (
        '[Your last exchanges:\n- Tue 24 Nov 05:16 "Ann \\"Q\\"" (telegram:1): "read" -> "it says tapir"\n'
        '- Tue 24 Nov 2026 05:17 "Ben" (telegram:2): "and this" -> "it says lemur"\n'
        '- Tue 24 Nov 2026 05:18 "Ben" (telegram:2) [with telegram:3, telegram:1]: "so" -> "it says okapi"\n'
        '- Tue 24 Nov 2026 05:19 "Ben" (telegram:2) [with telegram:11]: "or" -> "it says quagga"]\n\n'
        '<message from="telegram:2">\nlook\n</message>'
    )
    await say(group, message("m1", BEN, told))
    await erase(group)
    stored = stored_values(tmp_path)
    assert "tapir" not in stored
    assert 'Ann \\"Q' not in stored
    assert "it says lemur" in stored
    assert "okapi" not in stored, "an answer that Ann's words led to"
    assert "it says quagga" in stored
    assert "look" in stored


async def test_what_a_summary_was_to_keep_is_erased_with_who_asked_for_it(
    group: Served, tmp_path: Path
) -> None:
    for person, focus in ((ANN, "keep my plums"), (BEN, "keep my pears")):
        order = {"key": f"{person}:compact", "focus": focus}
        run = await group.client.runs.create(
            GROUP,
            "echo",
            input={"messages": [message(f"m-{person}", person, "Hi")]},
            if_not_exists="create",
            config={"configurable": {"user_id": person, "compaction": order}},
        )
        await group.client.runs.join(GROUP, run["run_id"])
    assert "keep my plums" in stored_values(tmp_path)
    await erase(group)
    stored = stored_values(tmp_path)
    assert "plums" not in stored
    assert "keep my pears" in stored


async def test_what_was_seen_of_a_stopped_answer_is_erased_with_who_asked(
    group: Served, tmp_path: Path
) -> None:
    """The thread ends with Ann's words, as after a stop; then Ben writes."""
    note = {
        **message("roebot-1-stopped", "", "[People saw:]\n> Plums are ripe\n[stopped here]"),
        "additional_kwargs": {"lc_source": "stopped_answer"},
    }
    config = {"configurable": {"user_id": ANN}}
    await group.client.threads.create(thread_id=GROUP, if_exists="do_nothing")
    run = await group.client.runs.create(
        GROUP, "echo", input={"messages": [message("m1", ANN, "Hi"), note]}, config=config
    )
    await group.client.runs.join(GROUP, run["run_id"])
    assert "Plums are ripe" in stored_values(tmp_path)
    await erase(group)
    assert "Plums are ripe" not in stored_values(tmp_path)


async def test_a_waiting_message_is_taken_from_the_inbox(group: Served, tmp_path: Path) -> None:
    await say(group, message("m1", BEN, BEN_SAID))
    for identity, sender, text in (("w1", ANN, ANN_SAID), ("w2", BEN, "Ben: wait for me")):
        value = {"turn": "9", "number": 1, "message": message(identity, sender, text)}
        await group.client.store.put_item(("steer", GROUP), key=identity, value=value, index=False)
    assert (await erase(group))["waiting"] == 1
    assert SECRET not in stored_values(tmp_path)
    assert "wait for me" in stored_values(tmp_path)


async def test_it_waits_for_a_run_and_holds_back_the_next(group: Served) -> None:
    await say(group, message("m1", ANN, ANN_SAID))
    running = asyncio.create_task(say(group, message("m2", BEN, "Ben: slowly")))
    await graphs.arrived("answer").wait()
    erasing = asyncio.create_task(erase(group))
    await asyncio.sleep(0.1)
    following = asyncio.create_task(say(group, message("m3", BEN, "Ben: next")))
    await asyncio.sleep(0.1)
    assert not erasing.done()
    graphs.gate("answer").set()
    assert (await erasing)["messages"] == 3
    await running
    assert (await following)[-1] == f"You all said: {MASK} | Ben: slowly | Ben: next"


async def test_an_unknown_thread_is_not_found(group: Served) -> None:
    assert (await group.http.post(f"/threads/{GROUP}/erase", json={})).status_code == 404
