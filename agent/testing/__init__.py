"""Public test kit of the agent half: a scripted chat model and ready graphs (`agent.testing.graphs`)."""

from agent.testing.model import RecordedCall, ScriptedChatModel
from agent.testing.script import Script, ToolUse

__all__ = ["RecordedCall", "Script", "ScriptedChatModel", "ToolUse"]
