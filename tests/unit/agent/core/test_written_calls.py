"""Calls that models write as text are read, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.written_calls import read_written_calls

KNOWN = {"lookup", "wait"}
TEA = ("lookup", {"word": "tea"})
OBJECT = '{"name": "lookup", "arguments": {"word": "tea"}}'
TAGGED = f"<tool_call>\n{OBJECT}\n</tool_call>"
FUNCTION = "<function=lookup>\n<parameter=word>\ntea\n</parameter>\n</function>"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (TAGGED, [TEA]),
        (f"{TAGGED}\n{TAGGED}", [TEA, TEA]),
        (OBJECT, [TEA]),
        (f'{OBJECT}\n{{"name": "wait"}}', [TEA, ("wait", {})]),
        ('{"name": "lookup", "parameters": {"word": "tea"}}', [TEA]),
        ('{"name": "lookup", "arguments": "{\\"word\\": \\"tea\\"}"}', [TEA]),
        (FUNCTION, [TEA]),
        (f"<tool_call>\n{FUNCTION}\n</tool_call>", [TEA]),
        ('<function=lookup>{"word": "tea"}</function>', [TEA]),
    ],
)
def test_calls_are_read(text: str, calls: list[Any]) -> None:
    found = read_written_calls(text, KNOWN)
    assert found is not None
    assert (found.text, list(found.calls)) == ("", calls)


def test_the_text_before_the_calls_stays() -> None:
    found = read_written_calls(f"I look it up.\n{TAGGED}", KNOWN)
    assert found is not None
    assert found.text == "I look it up."


@pytest.mark.guard(
    "an example of a call in a text is not made",
    "agent/core/written_calls.py",
    '    if not text.rstrip().endswith(end) or kind.sub("", text).strip():\n',
    "    if False:\n",
    against="imprecise models",
)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "It means 42.",
        f"Write it like this: {TAGGED} and it is called.",
        f"```json\n{OBJECT}\n```",
        f"For example: {OBJECT}",
        TAGGED.replace("lookup", "unknown"),
        OBJECT.replace("lookup", "unknown"),
        TAGGED[:-20],
        FUNCTION[:-5],
        '{"name": "lookup", "arguments": [1]}',
        '{"name": "lookup", "arguments": {}, "price": 3}',
        '{"word": "tea"}',
        "[1, 2]",
        "{" * 100_000,
        # Searched to the end from each tag, these would take minutes.
        pytest.param("<tool_call>\n" * 50_000, id="openings"),
        pytest.param("<function=lookup>" * 50_000 + "</tool_call>", id="functions"),
        pytest.param(f"<tool_call>{'<function=lookup>' * 50_000}</tool_call>", id="functions in a call"),
        pytest.param(f"<tool_call>{' ' * 100_000}</tool_call>", id="spaces"),
    ],
)
def test_other_texts_stay_texts(text: str) -> None:
    assert read_written_calls(text, KNOWN) is None
