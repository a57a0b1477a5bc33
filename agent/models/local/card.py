"""Description of the bundled small model, without loading anything."""

from __future__ import annotations

from agent.models.spec import ModelSpec

NAME = "local"
CLASS = "agent.models.local.model:LocalChatModel"
SLOTS = 4
SLOT_TOKENS = 2048
ANSWER_TOKENS = 384
NOTE = (
    "A very small model on this machine: enough to see Roebot work, not to work with. "
    "Set a provider key (such as OPENAI_API_KEY) or run Ollama for real answers."
)


def local_spec() -> ModelSpec:
    """Return the bundled model; whether it can run shows on first use."""
    return ModelSpec(
        name=NAME,
        use=CLASS,
        model="SmolLM2-135M-Instruct",
        display_name="SmolLM2 135M (local, for trying out)",
        source="local",
        supports_tools=False,
        context_tokens=SLOT_TOKENS - ANSWER_TOKENS,
        note=NOTE,
    )
