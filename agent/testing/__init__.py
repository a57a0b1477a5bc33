"""Public test kit of the agent half: a scripted chat model and ready graphs (`agent.testing.graphs`)."""

from agent.testing.model import RecordedCall, ScriptedChatModel
from agent.testing.script import Script, ToolUse

Heard = RecordedCall
"""The former name of RecordedCall, kept for existing imports."""

__all__ = ["Heard", "RecordedCall", "Script", "ScriptedChatModel", "ToolUse"]
