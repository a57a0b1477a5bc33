"""Size of a model's context window."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel, ModelProfile

UNKNOWN_WINDOW = 32_000
"""Tokens assumed for a model whose window is not known: all current models that call tools have as much.

Ollama gives a model 4,000 to 256,000 tokens, depending on the machine, and drops the beginning of what is
longer (https://docs.ollama.com/context-length).
"""
_KNOWN: tuple[tuple[str, int], ...] = (
    ("gemini-", 1_048_576),
    ("deepseek-v4", 616_000),
    ("mistral-", 128_000),
    ("openai/gpt-oss-", 131_072),
    ("openrouter/auto", 128_000),
)
"""Tokens by the beginning of a model's name, for providers without LangChain profiles.

Sources: ai.google.dev/gemini-api/docs/models (input limit), api-docs.deepseek.com/quick_start/pricing
(1,000,000 with an answer of 384,000), docs.mistral.ai/getting-started/models (128,000 or more),
console.groq.com/docs/models. OpenRouter's automatic choice depends on the prompt.
"""


def find_context_window(model: BaseChatModel) -> int:
    """Return the number of tokens that fit into a request: from the model's profile, its name, or
    UNKNOWN_WINDOW.
    """
    profile = getattr(model, "profile", None)
    if isinstance(profile, Mapping) and (most := _positive(profile.get("max_input_tokens"))):
        # The answer needs its share: GPT-5 refuses an input of 400,000 - 128,000 tokens or more.
        return most - min(_positive(profile.get("max_output_tokens")), most // 3)
    name = str(getattr(model, "model_name", None) or getattr(model, "model", None) or "")
    return next((window for start, window in _KNOWN if name.startswith(start)), UNKNOWN_WINDOW)


def set_context_window(model: BaseChatModel, tokens: int) -> None:
    """Set the window in the model's profile, like for a configured model."""
    model.profile = ModelProfile(max_input_tokens=tokens)


def _positive(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
