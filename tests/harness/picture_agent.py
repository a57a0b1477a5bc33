"""A scripted agent for the picture of the web console in the README."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage

from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

QUESTIONS = (
    ("/plan on", "Plan mode"),
    ("Which invoices are overdue?", "Havn Logistics has"),
    ("Draft a reminder for each of them.", "To-dos: 2 of 4"),
)
"""What is asked, and what the page shows then."""
ANSWER = """Three invoices are overdue, **12,480 EUR** in total:

| Invoice | Customer | Due | Amount |
|---|---|---|---|
| 2026-0412 | Nordlys AS | 3 Nov | 7,900 EUR |
| 2026-0398 | Fjell & Co | 28 Oct | 3,150 EUR |
| 2026-0377 | Havn Logistics | 14 Oct | 1,430 EUR |

Havn Logistics has promised to pay this week."""
TODOS = (
    ("Read the invoices and the contacts", "completed"),
    ("Look up what was agreed with Havn Logistics", "completed"),
    ("Write the three reminders", "in_progress"),
    ("Save them as drafts", "pending"),
)
LONG_ENOUGH = 600.0
"""Seconds for which the last step works; the picture is taken meanwhile."""


PLAN = ToolUse("write_todos", {"todos": [{"content": text, "status": state} for text, state in TODOS]})


class PictureModel(ScriptedChatModel):
    """Answers the first question; plans the second one and goes on working."""

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        if isinstance(messages[-1], ToolMessage):
            script = Script(reply="Done.", delay=LONG_ENOUGH)
        elif QUESTIONS[-1][0] in messages[-1].text:
            script = Script(tools=(PLAN,))
        else:
            script = Script(reply=ANSWER)
        self.steps = (script,)
        return super()._prepare_answer(messages, kwargs, manager)
