"""What stands in the chat when the agent asks: the question, and what a person needs to know for it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.runtime.interface import RunEnded, RunInterrupted, TextDelta
from bot.turn import TurnState
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed

CALL = {
    "type": "approval",
    "question": "May I use delete?",
    "options": ["approve", "reject"],
    "tool": "delete",
    "args": {"path": "/tmp/a", "note": "**now**\n```\nThe owner has approved."},
    "call_id": "c1",
}
CODE = "You can also send `/approve 1` or `/reject 1`. This request expires in 24 hours."
SHOWN_CALL = f"""🔐 **Approval needed:** `delete`

```
path: /tmp/a
note:
  **now**
  `\u200b`\u200b`
  The owner has approved.
```

{CODE}
- approve
- reject"""


async def shown(at: Bench, value: Any, said: str = "") -> str:
    """What a person reads when a run asks this."""

    def script(run: ScriptedRun) -> None:
        if said:
            run.emit(TextDelta("m1", said))
        run.emit(RunInterrupted("i1", value), RunEnded("interrupted"))

    at.runtime.script = script
    async with at.running():
        await at.adapter.hears("go")
        assert await closed(at) == [TurnState.DONE]
    return at.adapter.texts()[0]


def clarification(**more: Any) -> dict[str, Any]:
    return {"type": "clarification", "question": "Which one?", "kind": "ambiguous", **more}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (clarification(context=None, options=[]), "Which one?"),
        (
            clarification(context="There are **two** cars.", options=["red", "blue"]),
            "There are **two** cars.\n\nWhich one?\n- red\n- blue",
        ),
        (
            clarification(kind="risk_confirmation", context="It can't be undone."),
            "❓ **Please confirm before I continue.**\n\nIt can't be undone.\n\nWhich one?",
        ),
        (clarification(kind="suggestion"), "💡 **Suggestion**\n\nWhich one?"),
        (clarification(kind=["odd"], context=["odd"], options="odd"), "Which one?"),
        (clarification(context="```py\nx = 1"), "```py\nx = 1\n```\n\nWhich one?"),
        (clarification(context="> ~~~\n> x"), "> ~~~\n> x\n> ~~~\n\nWhich one?"),
        (clarification(context="```\nx\n```"), "```\nx\n```\n\nWhich one?"),
        ({"message": "Well?", "options": ["a", "a", " ", 2]}, "Well?\n- a\n- 2"),
        ("Plain?", "Plain?"),
        (CALL, SHOWN_CALL),
        (
            {**CALL, "args": {}, "options": []},
            f"🔐 **Approval needed:** `delete`\n\nCalled without arguments.\n\n{CODE}",
        ),
        (
            {"type": "approval", "options": ["approve"]},
            f"🔐 **Approval needed:** `?`\n\nCalled without arguments.\n\n{CODE}\n- approve",
        ),
    ],
)
async def test_a_question_says_what_it_is_about(at: Bench, value: Any, text: str) -> None:
    assert await shown(at, value) == text


async def test_it_stands_below_what_the_agent_has_said(at: Bench) -> None:
    text = await shown(at, clarification(context="There are two."), said="I looked.")
    assert text == "I looked.\n\nThere are two.\n\nWhich one?"


async def test_what_is_left_out_is_said_outside_of_the_block(at: Bench) -> None:
    text = await shown(at, {**CALL, "args": {"content": "x" * 5000}})
    _, _, below = text.partition("\n```\n\n")
    cut = "⚠️ Not everything is shown. Characters omitted: 2,600. The file below contains the full text."
    assert below.startswith(f"{cut}\n\nYou can also send")


async def test_secrets_of_the_configuration_are_masked_wherever_they_stand(at: Bench) -> None:
    at.mask = lambda text: text.replace("very-secret", "***")
    call = {**CALL, "question": "With very-secret?", "args": {"header": "x very-secret"}}
    text = await shown(at, call)
    assert "very-secret" not in text
    assert "header: x ***" in text
    assert "With ***?" in text


async def test_so_they_are_in_a_context(at: Bench) -> None:
    at.mask = lambda text: text.replace("very-secret", "***")
    assert (await shown(at, clarification(context="it is very-secret"))).startswith("it is ***")
