"""Tool permissions: decisions and the providers that make them."""

from agent.guardrails.allowlist import AllowlistProvider
from agent.guardrails.decisions import (
    Allow,
    Ask,
    Decision,
    Deny,
    GuardrailProvider,
    SettingsError,
    ToolRequest,
)
from agent.guardrails.policy import PolicyProvider

__all__ = [
    "Allow",
    "AllowlistProvider",
    "Ask",
    "Decision",
    "Deny",
    "GuardrailProvider",
    "PolicyProvider",
    "SettingsError",
    "ToolRequest",
]
