"""The tool `task`, which delegates work to a subagent, and its progress events.

Custom events of the run, `{type, task_id, description, …}`; `task_id` is the id of the tool call:

| type | further fields |
|---|---|
| `task_started` | `subagent_type`; not before there is a free place |
| `task_running` | `turn` (from 1), `tools`: names of the tools that it calls now |
| `task_completed` | |
| `task_failed`, `task_timed_out` | `error`: the problem in one line |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import BaseModel, Field, create_model

from agent.core.argument_coercion import ALIASES
from agent.core.interfaces import (
    SubagentResult,
    SubagentRunner,
    SubagentStatus,
    SubagentStep,
    SubagentTask,
)
from agent.core.run_context import RunContext
from agent.core.tool_order import ORDER, Order
from agent.shared.envelope import unmark_tags
from agent.shared.run_identity import PRESENTED_FILES
from agent.shared.text import shorten, to_one_line
from agent.subagents.kinds import GENERAL_PURPOSE, TASK
from agent.subagents.pause import SubagentPause

ERROR_CHARS = 200
TYPE = "Type of the subagent."
DESCRIPTION = """Delegate a task to a subagent and get its result.

It sees nothing of this conversation, but works in the same folders. It can't ask people, except for approval
of a tool call. Types:
{kinds}"""
_ENDS = {
    SubagentStatus.COMPLETED: "task_completed",
    SubagentStatus.FAILED: "task_failed",
    SubagentStatus.TIMED_OUT: "task_timed_out",
}


class TaskArgs(BaseModel):
    """Arguments of the tool."""

    description: str = Field(description="What the subagent does, in three to five words; shown to people.")
    prompt: str = Field(
        description="The complete task, with everything that the subagent needs to know, such as paths, and "
        "the language of what people will read."
    )
    subagent_type: str = Field(GENERAL_PURPOSE, description=TYPE)
    max_turns: int | None = Field(None, description="Maximum number of turns; usually not needed.")


def make_task_tool(runner: SubagentRunner) -> BaseTool:
    """Return the tool that runs tasks on `runner`, which has one or more kinds of subagents."""
    names = [kind.name for kind in runner.kinds]
    default = GENERAL_PURPOSE if GENERAL_PURPOSE in names else names[0]

    async def task(
        description: str,
        prompt: str,
        runtime: ToolRuntime[Any, Any],
        subagent_type: str = default,
        max_turns: int | None = None,
    ) -> Command[Any]:
        call = runtime.tool_call_id or ""
        kind = match_type(subagent_type, [kind.name for kind in runner.kinds])
        wanted = SubagentTask(call, description, prompt, kind, max_turns)
        report = TaskReport(runtime.stream_writer, wanted)
        waiting = await SubagentPause.open(runtime, description)
        context = RunContext.of(runtime)  # type: ignore[arg-type]
        result = await runner.run(wanted, context, report.add_step, waiting)
        report.end(result)
        return _to_command(call, result)

    kinds = "\n".join(f"- {kind.name}: {kind.description}" for kind in runner.kinds)
    return StructuredTool.from_function(
        coroutine=task,
        name=TASK,
        description=DESCRIPTION.format(kinds=kinds),
        args_schema=_arguments(default),
        infer_schema=False,
        metadata={
            ORDER: Order.BESIDE,
            ALIASES: {"subagent_type": ["type", "agent", "agent_type", "kind", "subagent"]},
        },
    )


class TaskReport:
    """Writes a task's events; an error has up to `error_characters`."""

    def __init__(
        self, write: Callable[[Any], None], task: SubagentTask, *, error_characters: int = ERROR_CHARS
    ) -> None:
        self._write, self._kind, self._longest = write, task.kind, error_characters
        self._about = {"task_id": task.id, "description": task.description}
        # The writer looks up its run in the current context, but a subagent runs in its own.
        self._context = copy_context()
        self._is_started = False

    def add_step(self, step: SubagentStep) -> None:
        self.start()
        if step.turn:
            self._send("task_running", turn=step.turn, tools=list(step.tools))

    def end(self, result: SubagentResult) -> None:
        self.start()
        failure = shorten(to_one_line(result.text), self._longest)
        problem = {} if result.status is SubagentStatus.COMPLETED else {"error": failure}
        self._send(_ENDS[result.status], **problem)

    def start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._send("task_started", subagent_type=self._kind)

    def _send(self, event: str, **more: Any) -> None:
        self._context.run(self._write, {"type": event, **self._about, **more})


def match_type(written: str, names: Sequence[str]) -> str:
    """Return the intended type's name, ignoring case and separators; otherwise the text itself."""
    plain = {_letters_of(name): name for name in names}
    return written if written in names else plain.get(_letters_of(written), written)


def _letters_of(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _arguments(default: str) -> type[TaskArgs]:
    """Return the arguments with the default type for calls without one."""
    if default == GENERAL_PURPOSE:
        return TaskArgs
    return create_model("TaskArgs", __base__=TaskArgs, subagent_type=(str, Field(default, description=TYPE)))


def _to_command(call: str, result: SubagentResult) -> Command[Any]:
    """Return the tool's result with the subagent's usage and artifacts for the lead agent's state.

    What the subagent quotes of its own results loses their marks: this result gets them anew.
    """
    done = result.status is SubagentStatus.COMPLETED
    status: Literal["success", "error"] = "success" if done else "error"
    text = unmark_tags(result.text)
    presented = {PRESENTED_FILES: list(result.artifacts)} if result.artifacts else None
    message = ToolMessage(text, artifact=presented, tool_call_id=call, name=TASK, status=status)
    update: dict[str, Any] = {"messages": [message]}
    if result.usage is not None:
        update["usage"] = result.usage
    if result.artifacts:
        update["artifacts"] = list(result.artifacts)
    return Command(update=update)
