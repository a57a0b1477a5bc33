"""Tool permissions: decisions, and the providers that make them."""

from agent.guardrails.passport import PolicyProvider
from agent.guardrails.providers import (
    Allow,
    AllowlistProvider,
    Ask,
    Decision,
    Deny,
    GuardrailProvider,
    NamesAskedTools,
    SettingsError,
    ToolRequest,
)

__all__ = [
    "Allow",
    "AllowlistProvider",
    "Ask",
    "Decision",
    "Deny",
    "GuardrailProvider",
    "NamesAskedTools",
    "PolicyProvider",
    "SettingsError",
    "ToolRequest",
]
