"""Fakes for tests of the agent: a scripted chat model and ready graphs (`roebot_testing.agent.graphs`)."""

from roebot_testing.agent.model import RecordedCall, ScriptedChatModel
from roebot_testing.agent.script import Script, ToolUse

Heard = RecordedCall
"""The former name of RecordedCall, kept for existing imports."""

__all__ = ["Heard", "RecordedCall", "Script", "ScriptedChatModel", "ToolUse"]
