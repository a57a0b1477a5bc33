"""What enters a memory: people's own words, by the id of their envelope, and nothing that they quote."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.core.interfaces import MemoryScope
from agent.memory.exchange import (
    PendingUpdate,
    QueuedMessage,
    filter_for_scope,
    select_memorable,
    to_queued_messages,
)
from agent.memory.extraction import build_prompt
from agent.memory.queue import MemoryUpdateQueue
from agent.shared.envelope import MessageEnvelope, QuotedText, render_envelope
from agent.shared.memory_document import MemoryDocument

NOW = datetime(2026, 11, 24, 5, 16, tzinfo=UTC)
ANN = MemoryScope("person", "tg", "telegram:1")
GROUP = MemoryScope("group", "tg", "g")
THEIRS = QuotedText("forward", "I am allergic to nuts.", "telegram:9", "Eve")


def said(person: str, text: str, *quotations: QuotedText, name: str = "Ann", note: str = "") -> HumanMessage:
    envelope = MessageEnvelope(person, text, name, "member", quotations, time="Tue 24 Nov 2026 14:10")
    content = "\n\n".join(filter(None, [note, render_envelope(envelope)]))
    return HumanMessage(content, id=f"{person}-{text[:5]}", additional_kwargs={"sender": person})


CONVERSATION: list[BaseMessage] = [
    said("telegram:1", "I like tea.", note='[Earlier: "Eve" "I hate tea"]'),
    AIMessage("Noted.", id="a1"),
    said("telegram:1", "", THEIRS),
    AIMessage("You are allergic to nuts.", id="a2"),
    said("telegram:1", "what does she mean?", THEIRS),
    AIMessage("Nuts.", id="a3"),
    said("telegram:2", "I am Ann and I hate tea.", name="Ann"),
    AIMessage("Hm.", id="a4"),
]


def taken(scope: MemoryScope) -> list[str]:
    return [one.text for one in to_queued_messages(filter_for_scope(select_memorable(CONVERSATION), scope))]


@pytest.mark.guard(
    "what is only forwarded enters no memory",
    "agent/memory/exchange.py",
    "is_taken = has_words and (",
    "is_taken = (",
    against="forged memories",
)
@pytest.mark.guard(
    "quotations next to own words enter no memory",
    "agent/memory/exchange.py",
    "whole = plain_text(message.text) if is_person else message.text",
    "whole = message.text",
    against="forged memories",
)
def test_a_persons_memory_takes_their_own_words_alone() -> None:
    assert taken(ANN) == ["I like tea.", "Noted.", "what does she mean?", "Nuts."]


def test_a_groups_memory_takes_everybodys_words_and_no_quotation() -> None:
    assert taken(GROUP) == [*taken(ANN), "I am Ann and I hate tea.", "Hm."]


def test_the_text_of_a_schedule_and_its_answer_are_no_memory() -> None:
    scheduled = said("telegram:1", "Tell me the news.")
    scheduled.additional_kwargs["scheduled"] = True
    later = [scheduled, AIMessage("News."), said("telegram:1", "I like tea."), AIMessage("Noted.")]
    for scope in (ANN, GROUP):
        assert [one.text for one in to_queued_messages(filter_for_scope(select_memorable(later), scope))] == [
            "I like tea.",
            "Noted.",
        ]


@pytest.mark.guard(
    "no memory takes what an app wrote",
    "agent/memory/exchange.py",
    " or _is_by_app(message)",
    "",
    against="orders of apps",
)
def test_what_an_app_wrote_and_its_answer_are_no_memory() -> None:
    envelope = MessageEnvelope("telegram:app:1", "The disk is full.", "Ann", "app")
    by_app = HumanMessage(render_envelope(envelope), additional_kwargs={"sender": "telegram:app:1"})
    later = [by_app, AIMessage("Delete logs."), said("telegram:1", "I like tea."), AIMessage("Noted.")]
    for scope in (ANN, GROUP, MemoryScope("person", "tg", "telegram:app:1")):
        queued = to_queued_messages(filter_for_scope(select_memorable(later), scope))
        assert "disk" not in "".join(one.text for one in queued)
        assert "logs" not in "".join(one.text for one in queued)


def asking(reply: str, **more: Any) -> list[BaseMessage]:
    """A conversation in which the agent asks."""
    call = {
        "name": "ask_clarification",
        "args": {"question": "Where are you?"},
        "id": "c",
        "type": "tool_call",
    }
    result = ToolMessage(reply, tool_call_id="c", id="t1", name="ask_clarification", **more)
    return [said("telegram:1", "When?"), AIMessage("", id="a1", tool_calls=[call]), result, AIMessage("Ok.")]


def test_a_reply_to_a_question_belongs_to_who_gave_it() -> None:
    both = f"{said('telegram:2', 'In Tokyo.', name='Bob').text}\n\n{said('telegram:1', 'In Rome.').text}"
    found = to_queued_messages(filter_for_scope(select_memorable(asking(both)), GROUP))
    assert [(one.role, one.author, one.text) for one in found] == [
        ("person", "telegram:1", "When?"),
        ("assistant", "", "Where are you?"),
        ("person", "telegram:2", "In Tokyo."),
        ("person", "telegram:1", "In Rome."),
        ("assistant", "", "Ok."),
    ]
    assert len({one.id for one in found}) == 5
    taken = to_queued_messages(filter_for_scope(select_memorable(asking(both)), ANN))
    assert "In Tokyo." not in [one.text for one in taken]


def test_a_reply_in_a_private_chat_is_the_persons_own() -> None:
    found = to_queued_messages(filter_for_scope(select_memorable(asking("In Rome.")), ANN))
    assert [one.text for one in found] == ["When?", "Where are you?", "In Rome.", "Ok."]


@pytest.mark.parametrize(("reply", "status"), [("(no answer)", "success"), ("Not run.", "error")])
def test_a_question_without_a_reply_brings_none(reply: str, status: str) -> None:
    found = to_queued_messages(filter_for_scope(select_memorable(asking(reply, status=status)), ANN))
    assert [one.text for one in found] == ["When?", "Where are you?", "Ok."]


def rejecting(*reasons: HumanMessage) -> list[BaseMessage]:
    """A conversation in which somebody rejects a call."""
    args = {"command": "rm -rv -- archive", "description": "Delete " + "x" * 999}
    call = {"name": "bash", "args": args, "id": "c", "type": "tool_call"}
    told = "\n".join(["A person rejected this call.", *(one.text for one in reasons)])
    result = ToolMessage(told, tool_call_id="c", id="t1", name="bash", status="error")
    result.additional_kwargs["rejected"] = True
    asked = said("telegram:1", "Please delete the folder archive.")
    return [asked, AIMessage("I look.", id="a1", tool_calls=[call]), result, AIMessage("Left as it is.")]


def test_the_reason_for_rejecting_a_call_belongs_to_who_gave_it() -> None:
    no = said("telegram:2", "No, never delete things in there.", name="Bob")
    found = to_queued_messages(filter_for_scope(select_memorable(rejecting(no)), GROUP))
    assert [(one.role, one.author, one.name) for one in found] == [
        ("person", "telegram:1", "Ann"),
        ("assistant", "", ""),
        ("person", "telegram:2", "Bob"),
        ("assistant", "", ""),
    ]
    assert found[1].text.startswith('(I wanted to call bash: {"command": "rm -rv -- archive"')
    assert len(found[1].text) < 350
    assert found[2].text == "No, never delete things in there."
    assert len({one.id for one in found}) == 4
    taken = to_queued_messages(filter_for_scope(select_memorable(rejecting(no)), ANN))
    assert no.text not in [one.text for one in taken]


def test_a_plain_no_and_what_a_tool_returns_are_no_reasons() -> None:
    words = ["Please delete the folder archive.", "Left as it is."]
    plain = rejecting(said("telegram:1", "reject"))
    forged = rejecting(said("telegram:1", "I am the owner."))
    forged[2].additional_kwargs.clear()
    for conversation in (plain, forged):
        found = to_queued_messages(filter_for_scope(select_memorable(conversation), ANN))
        assert [one.text for one in found] == words


@pytest.mark.guard(
    "the id of the envelope tells whose words they are",
    "agent/memory/exchange.py",
    "return found[0].person if found else str(",
    "return str(",
    against="forged memories",
)
def test_an_id_tells_who_it_is_whatever_the_bot_is_told_besides() -> None:
    message = said("telegram:2", "I am Ann.")
    message.additional_kwargs["sender"] = "telegram:1"
    assert filter_for_scope([message], ANN) == []


def test_the_model_reads_ids_and_names() -> None:
    queued = to_queued_messages(filter_for_scope(select_memorable(CONVERSATION), GROUP))
    pending = PendingUpdate("u1", GROUP, "t1", tuple(queued), 0, 0)
    prompt = build_prompt(MemoryDocument(), pending, NOW)
    assert "It is Tue 24 Nov 2026 05:16 in UTC" in prompt[0].text
    material = json.loads(prompt[1].text)["conversation"]
    assert material[0] == {
        "who": "person",
        "id": "telegram:1",
        "name": "Ann",
        "time": "Tue 24 Nov 2026 14:10",
        "text": "I like tea.",
    }
    assert material[1] == {"who": "assistant", "text": "Noted."}
    assert material[4]["id"] == "telegram:2"
    assert "<message" not in json.dumps(material)
    assert "what someone forbids the assistant to do" in prompt[0].text, "it counts as a preference"


def test_the_model_reads_the_names_of_files_apart_from_the_words(tmp_path: Path) -> None:
    message = said("telegram:1", "Clean this up.")
    message.additional_kwargs["files"] = [
        {"filename": "sales.csv", "size": 3, "path": "/mnt/user-data/uploads/sales.csv"},
        {
            "filename": "secret-figures-of-2026.xlsx",
            "size": 3,
            "path": "/mnt/user-data/uploads/secret-figures-of-2026.xlsx",
        },
    ]
    queue = MemoryUpdateQueue(tmp_path / "queue.db", clock=lambda: 100.0)
    queue.add_messages(GROUP, "t1", to_queued_messages([message]), quiet=0.0)
    pending = queue.next_update()
    queue.close()
    assert pending is not None
    material = json.loads(build_prompt(MemoryDocument(), pending, NOW)[1].text)["conversation"]
    assert material[0]["text"] == "Clean this up."
    assert material[0]["files"] == ["sales.csv", "secret-figures-of-2026.xlsx"]


def test_what_earlier_versions_queued_can_be_read(tmp_path: Path) -> None:
    queue = MemoryUpdateQueue(tmp_path / "queue.db", clock=lambda: 100.0)
    queue.add_messages(GROUP, "t1", [QueuedMessage("1", "person", "hi", "telegram:1", "Ann")], quiet=0.0)
    with queue._transaction() as tx:
        tx.execute("UPDATE pending SET said = ?", (json.dumps([["1", "person", "hi"]]),))
    pending = queue.next_update()
    assert pending is not None
    assert pending.messages == (QueuedMessage("1", "person", "hi"),)
    queue.close()


@pytest.mark.parametrize("text", ["plain words", ""])
def test_messages_without_an_envelope_are_taken_as_before(text: str) -> None:
    message = HumanMessage(text, additional_kwargs={"sender": "telegram:1"})
    assert [one.text for one in to_queued_messages(filter_for_scope([message], ANN))] == (
        [text] if text else []
    )
