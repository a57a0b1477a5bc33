"""The system prompt's section about the sandbox."""

from __future__ import annotations

from collections.abc import Collection

from agent.core.interfaces import SandboxFacts
from agent.core.paths import VIRTUAL_ROOT
from agent.sandbox.paths import WORKSPACE

_FOLDERS = f"""# Sandbox
You have a sandbox that belongs to this conversation, with these folders:
- {WORKSPACE}: your own files. Relative paths start here.
- {VIRTUAL_ROOT}/uploads: files that people sent.
- {VIRTUAL_ROOT}/outputs: files for people.{{presenting}}"""
_PRESENTING = " Show them with present_files."
_NAMING = " Name their paths in your result: the agent that gave you the task shows them."
_COMMANDS = """Calls of one response run in the order given, so a later one can use what an earlier one wrote.
Commands start in the workspace. Only these folders last from one command to the next;
processes, variables and other folders, such as /tmp, don't. To work with data, write a Python script and run
it."""
_NO_NETWORK = "Commands have no network, so pip and other installers don't work."
_NETWORK = "Commands reach {hosts}, only by HTTP and HTTPS, through the proxy in their environment."


def render_sandbox_section(tools: Collection[str], facts: SandboxFacts, *, for_subagent: bool = False) -> str:
    """Return the section for an agent with these sandbox tools."""
    presenting = _PRESENTING if "present_files" in tools else ""
    text = _FOLDERS.format(presenting=_NAMING if for_subagent else presenting)
    if "bash" not in tools:
        return text
    told = filter(None, (_render_python(facts), _render_network(facts), _render_limits(facts)))
    return "\n".join([text, _COMMANDS, *told])


def _render_python(facts: SandboxFacts) -> str:
    if not facts.python:
        return ""
    packages = f" with {', '.join(facts.packages)}" if facts.packages else ""
    return f"Python {facts.python} is there{packages}."


def _render_network(facts: SandboxFacts) -> str:
    if facts.network is None:
        return ""
    return _NETWORK.format(hosts=facts.network) if facts.network else _NO_NETWORK


def _render_limits(facts: SandboxFacts) -> str:
    limits = [f"{facts.seconds:g} seconds"] if facts.seconds else []
    limits += [f"{facts.memory_mb:,} MB of memory"] if facts.memory_mb else []
    return f"A command may use {' and '.join(limits)}." if limits else ""
