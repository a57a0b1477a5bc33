"""The tool `invoke_acp_agent`, with which the lead agent runs a task on an external agent.

Clients see its progress as subagent events (`agent.subagents.tool`): `subagent_type` is `acp:<agent>`, and
`task_running` names the agent's current tool call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from agent.acp.incoming_updates import MAX_LINE_CHARACTERS, to_short_line
from agent.acp.runner import AcpRunner
from agent.config.harness import AcpAgent
from agent.core.interfaces import SubagentResult, SubagentStatus, SubagentTask
from agent.core.run_context import RunContext
from agent.sandbox.paths import ACP_WORKSPACE
from agent.subagents.tool import TaskReport
from agent.uploads.folders import OUTPUTS

NAME = "invoke_acp_agent"
READER_TOOLS = ("read_file", "bash")
DESCRIPTION = """Delegate a task to an external agent and get its answer.

It sees neither this conversation nor your files. Agents:
{agents}"""
_SECTION = """<acp>
`{name}` delegates tasks to external agents ({agents}). Give a self-contained task: such an agent sees neither
this conversation nor your files, and can't ask questions; paths in /mnt mean nothing to it.{files}
</acp>"""
_FILES = """ It works in its own folder, which you can read at {folder} but not
write to. Copy results from there to where you need them; to present files, copy them to {outputs} first."""


class InvokeArgs(BaseModel):
    """Arguments passed by the model."""

    agent: str = Field(description="Name of the agent.")
    prompt: str = Field(description="The complete task, with everything that the agent needs to know.")
    description: str = Field("", description="What the agent does, in three to five words; shown to people.")


def enabled_agents(agents: Mapping[str, AcpAgent]) -> Mapping[str, AcpAgent]:
    return {name: agent for name, agent in agents.items() if agent.enabled}


def make_invoke_tool(runner: AcpRunner, agents: Mapping[str, AcpAgent]) -> BaseTool:
    """Build the tool for at least one agent."""

    async def invoke_acp_agent(
        agent: str, prompt: str, runtime: ToolRuntime[Any, Any], description: str = ""
    ) -> ToolMessage:
        call = runtime.tool_call_id or ""
        known = agents.get(agent)
        if known is None:
            text = f"There is no agent {to_short_line(agent)!r}. Available: {', '.join(agents)}."
            return ToolMessage(text, tool_call_id=call, name=NAME, status="error")
        about = description.strip() or f"{agent}: {to_short_line(prompt)}"
        task = SubagentTask(call, about, prompt, f"acp:{agent}")
        report = TaskReport(runtime.stream_writer, task, error_characters=MAX_LINE_CHARACTERS)
        report.start()
        thread_id = RunContext.of(runtime).thread_id  # type: ignore[arg-type]
        result = await runner.run_task(agent, known, prompt, thread_id, report.add_step)
        report.end(result)
        return _to_message(call, result)

    listed = "\n".join(f"- {name}{_format_description(agent)}" for name, agent in agents.items())
    return StructuredTool.from_function(
        coroutine=invoke_acp_agent,
        name=NAME,
        description=DESCRIPTION.format(agents=listed),
        args_schema=InvokeArgs,
        infer_schema=False,
    )


def render_acp_section(agents: Mapping[str, AcpAgent], tools: Collection[str]) -> str:
    """Return the system prompt's section about external agents, or "" if the agent can't call them."""
    if NAME not in tools or not agents:
        return ""
    files = (
        _FILES.format(folder=ACP_WORKSPACE, outputs=OUTPUTS)
        if any(name in tools for name in READER_TOOLS)
        else ""
    )
    return _SECTION.format(name=NAME, agents=", ".join(agents), files=files)


def _format_description(agent: AcpAgent) -> str:
    return f": {agent.description}" if agent.description else ""


def _to_message(call: str, result: SubagentResult) -> ToolMessage:
    status: Literal["success", "error"] = "success" if result.status is SubagentStatus.COMPLETED else "error"
    return ToolMessage(result.text, tool_call_id=call, name=NAME, status=status)
