"""What helps where a command is no ACP agent: many command lines need an adapter for that."""

from __future__ import annotations

from pathlib import Path

ADAPTERS = {
    "codex": "codex-acp",
    "claude": "claude-agent-acp",
    "gemini": "gemini with the argument --acp",
    "pi": "pi-acp",
}
_KNOWN = "{program} by itself does not speak ACP; what does is {adapter}."
_ANY = (
    "The command has to be a program that speaks ACP over its standard input and output. Many agents need an "
    "adapter for that: codex-acp for Codex, claude-agent-acp for Claude Code."
)


def suggest_adapter(command: str) -> str:
    """What to do about a command that can't be used, as a sentence."""
    program = Path(command).name.removesuffix(".exe").removesuffix(".cmd")
    adapter = ADAPTERS.get(program)
    return _KNOWN.format(program=program, adapter=adapter) if adapter else _ANY
