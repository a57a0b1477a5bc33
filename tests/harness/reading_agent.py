"""A scripted agent that shows a file, holds until a test lets it go on, and reads its chat before it answers.

What it does next rests on the results of its tools so far, so it goes on after it was killed.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage

from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

REPORT = "/mnt/user-data/outputs/report.md"
WORDS, EVERY = 16, 0.1
ANSWER = " ".join(f"word{number}" for number in range(1, WORDS + 1))
AGENT = """models: [{name: reading, use: "tests.harness.reading_agent:ReadingModel"}]
tools: [{name: gate, group: test, use: "tests.harness.steering_agent:gate"}]
title: {enabled: false}
memory: {enabled: false}"""
STEPS = ("write_file", "present_files", "gate", "read_chat")
"""The tools that it calls, in order."""
_PLAN = (
    Script(tool=ToolUse("write_file", {"path": REPORT, "content": "Sales went up."}), usage=(10, 1)),
    Script(tool=ToolUse("present_files", {"paths": [REPORT]}), usage=(10, 1)),
    Script(tool=ToolUse("gate", {"name": "a"}), usage=(10, 1)),
    Script(tool=ToolUse("read_chat", {"since": ""}), usage=(10, 1)),
    Script(reply=ANSWER, every=EVERY, usage=(10, 1)),
)
TOKENS = 11 * len(_PLAN)
"""What one answer takes."""


class ReadingModel(ScriptedChatModel):
    """See the module."""

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        done = sum(isinstance(one, ToolMessage) for one in messages)
        self.steps = (_PLAN[min(done, len(_PLAN) - 1)],)
        unmarked = [one for one in messages if not isinstance(one, HumanMessage)]
        return super()._prepare_answer([*unmarked, HumanMessage("go")], kwargs, manager)
