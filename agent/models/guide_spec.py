"""Description of the guide, which answers while no model is connected. Loads none of it."""

from __future__ import annotations

from agent.models.spec import ModelSpec

NAME = "guide"
CLASS = "agent.guide.model:GuideChatModel"
CONTEXT_TOKENS = 100_000
"""Limits the history like that of a small model: without memory, summaries and titles, which need a model."""
NOTE = (
    "Not a language model: it quotes the documentation and shows what Roebot can do. For real answers, "
    "connect a model: on the Models page of the web console, with a provider key (such as OPENAI_API_KEY), "
    "or with Ollama."
)


def guide_spec() -> ModelSpec:
    """Return the guide, which always works."""
    return ModelSpec(
        name=NAME,
        use=CLASS,
        model="",
        display_name="Guide (quotes the documentation)",
        source=NAME,
        context_tokens=CONTEXT_TOKENS,
        note=NOTE,
    )
