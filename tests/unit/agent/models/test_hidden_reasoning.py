"""Answers without the reasoning that servers leave in the content."""

from __future__ import annotations

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.constants import TAG_NOSTREAM

from agent.models.hidden_reasoning import hide_reasoning, strip_content
from agent.shared.reasoning_text import AnswerText, strip_reasoning
from roebot_testing.agent import ScriptedChatModel

HARMONY = "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>answer"
REASONING = [
    ("<think>plan</think>answer", "answer"),
    ("\n<think>\nplan\n</think>\n\nanswer", "answer"),
    ("<think>\n\n</think>\n\nanswer", "answer"),
    ("<think>plan", ""),
    ("<think>plan</think><think>more</think>answer", "answer"),
    ("<THINK>plan</THINK>answer", "answer"),
    ("<thinking>plan</thinking>answer", "answer"),
    ("<thought>plan</thought><final>answer</final>", "answer"),
    ("<reasoning>plan</reasoning>answer", "answer"),
    ("<seed:think>plan</seed:think>answer", "answer"),
    ("[THINK]plan[/THINK]answer", "answer"),
    ("◁think▷plan◁/think▷answer", "answer"),
    ("<final>answer</final>", "answer"),
    ("First.\n<think>plan</think>\nSecond.", "First.\n\nSecond."),
    ("<think>I write `</think>` now</think>answer", "answer"),
    ("<|begin_of_thought|>plan<|end_of_thought|><|begin_of_solution|>answer<|end_of_solution|>", "answer"),
    (HARMONY, "answer"),
    (HARMONY + "<|return|>", "answer"),
    ("<|channel|>final<|message|>answer", "answer"),
    ("<|start|>assistant<|channel|>commentary<|message|>plan<|end|>answer", "answer"),
    ("<|channel|>analysis<|message|>plan", ""),
    ("<|channel>thought\nplan<channel|>answer", "answer"),
]
TEXTS = [
    "Use the `<think>` tag and `</think>`.",
    "The <think> tag ends with </think> here.",
    'It ends with "</think>".',
    "```xml\n<think>a</think>\n```",
    "~~~\n<|channel|>analysis<|message|>a\n~~~",
    "`<think>a</think>` at the start",
    "a <|channel|> token",
    "text\n<think>that never ends",
    "1 < 2 and [x] and ◁",
    "ends with <thi",
    "<thinker> and <b>bold</b>",
]
ENDS = [
    ("plan</think>answer", "answer"),
    ("plan\n</think>\n\nanswer", "answer"),
    ("plan</think>Use `</think>`.", "Use `</think>`."),
]


@pytest.mark.parametrize(("text", "answer"), [*REASONING, *ENDS, *((text, text) for text in TEXTS)])
def test_reasoning_is_removed_and_other_text_stays(text: str, answer: str) -> None:
    assert strip_reasoning(text) == answer
    assert strip_content([{"type": "text", "text": text}]) == [{"type": "text", "text": answer}]


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize(("text", "answer"), [*REASONING, *((text, text) for text in TEXTS)])
def test_a_growing_answer_never_shows_reasoning(text: str, answer: str, size: int) -> None:
    reader = AnswerText()
    pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert all(answer.startswith("".join(pieces[:end])) for end in range(len(pieces) + 1))
    assert "".join(pieces) + reader.feed("", last=True) == answer


def build(*answers: str) -> GenericFakeChatModel:
    made = hide_reasoning(GenericFakeChatModel)
    assert issubclass(made, GenericFakeChatModel)
    return made(messages=iter([AIMessage(answer) for answer in answers]))


async def test_models_hide_reasoning_streamed_and_whole() -> None:
    text = "<think>I plan this</think>The answer."
    assert (await build(text).ainvoke("q")).content == "The answer."
    assert [one.text async for one in build(text).astream("q") if one.text] == ["The", " ", "answer."]


async def test_a_model_whose_prompt_opens_reasoning_is_known_from_its_second_answer() -> None:
    model = build("a plan</think>One.", "a plan</think>Two.", "Three four.", "Five six.")
    model.metadata = {"roebot_model": "opens"}
    streams = [[one.text async for one in model.astream("q") if one.text] for _ in range(4)]
    assert strip_reasoning("".join(streams[0])) == "One."
    assert "".join(streams[1]) == "Two."
    assert "".join(streams[2]) == "Three four."
    assert streams[3] == ["Five", " ", "six."]


async def test_tags_and_callbacks_reach_the_model() -> None:
    model = hide_reasoning(ScriptedChatModel)()
    assert (await model.ainvoke("[reply=yes]")).content == "yes"
    assert (await model.ainvoke("[reply=yes]", {"tags": [TAG_NOSTREAM]})).content == ""
