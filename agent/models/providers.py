"""Providers to search when no models are configured, in this order.

| looked for | used through |
|---|---|
| 1. `OPENAI_API_KEY` | langchain_openai |
| 2. `ANTHROPIC_API_KEY` | langchain_anthropic |
| 3. `GEMINI_API_KEY`, then `GOOGLE_API_KEY` | agent.models.compatible_chat |
| 4. `DEEPSEEK_API_KEY` | agent.models.compatible_chat |
| 5. `MISTRAL_API_KEY` | agent.models.compatible_chat |
| 6. `GROQ_API_KEY` | agent.models.compatible_chat |
| 7. `OPENROUTER_API_KEY` | agent.models.compatible_chat |
| 8. a running Ollama at `OLLAMA_HOST`, else 127.0.0.1:11434 | agent.models.compatible_chat |
| 9. the guide, which quotes the documentation | agent.guide |
| 10. a small model, if chosen (`agent.models.local`) | its own process |

`ROEBOT_MODEL` chooses: a name from the list (`anthropic`, `local`), `NAME:MODEL` (`anthropic:claude-…`), or
a model of the first provider found. `<NAME>_BASE_URL` replaces the address of 3 to 7; the clients of 1 and 2
read `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.models.spec import ModelSpec

OPENAI_CLASS = "langchain_openai:ChatOpenAI"
ANTHROPIC_CLASS = "langchain_anthropic:ChatAnthropic"
COMPATIBLE = "agent.models.compatible_chat"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that is usable with a key from the environment.

    `base_url` is as in its documentation; None uses the client's own. `usage` requests token counts while
    streaming (`stream_options`, which not every provider supports).
    """

    name: str
    label: str
    variables: tuple[str, ...]
    model: str
    use: str = OPENAI_CLASS
    base_url: str | None = None
    usage: bool = False
    vision: bool = True

    def find_model(self, environ: Mapping[str, str]) -> ModelSpec | None:
        """Return the model made usable by the environment, if any."""
        for variable in self.variables:
            key = environ.get(variable, "").strip()
            if key:
                return self._make_spec(variable, key, environ)
        return None

    def _make_spec(self, variable: str, key: str, environ: Mapping[str, str]) -> ModelSpec:
        settings: dict[str, object] = {"api_key": SecretStr(key)}
        if self.base_url:
            settings["base_url"] = environ.get(f"{self.name.upper()}_BASE_URL") or self.base_url
        if self.usage:
            settings["stream_usage"] = True
        spec = ModelSpec(
            name=self.name,
            use=self.use,
            model=self.model,
            display_name="",
            source=f"env:{variable}",
            settings=settings,
            supports_vision=self.vision,
        )
        return with_model(spec, self.model)


PROVIDERS: tuple[Provider, ...] = (
    Provider("openai", "OpenAI", ("OPENAI_API_KEY",), "gpt-5.4-mini", usage=True),
    Provider("anthropic", "Anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-5-5", use=ANTHROPIC_CLASS),
    Provider(
        "gemini",
        "Google",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-3.5-flash",
        use=f"{COMPATIBLE}:GeminiChat",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        usage=True,
    ),
    Provider(
        "deepseek",
        "DeepSeek",
        ("DEEPSEEK_API_KEY",),
        "deepseek-v4-flash",
        use=f"{COMPATIBLE}:DeepSeekChat",
        base_url="https://api.deepseek.com",
        usage=True,
        vision=False,
    ),
    Provider(
        "mistral",
        "Mistral",
        ("MISTRAL_API_KEY",),
        "mistral-medium-latest",
        use=f"{COMPATIBLE}:MistralChat",
        base_url="https://api.mistral.ai/v1",
    ),
    Provider(
        "groq",
        "Groq",
        ("GROQ_API_KEY",),
        "openai/gpt-oss-120b",
        use=f"{COMPATIBLE}:GroqChat",
        base_url="https://api.groq.com/openai/v1",
        vision=False,
    ),
    Provider(
        "openrouter",
        "OpenRouter",
        ("OPENROUTER_API_KEY",),
        "openrouter/auto",
        use=f"{COMPATIBLE}:OpenRouterChat",
        base_url="https://openrouter.ai/api/v1",
        usage=True,
        vision=False,
    ),
)
LABELS: Mapping[str, str] = {
    **{provider.name: provider.label for provider in PROVIDERS},
    "ollama": "Ollama",
}
_OPENAI_ADDRESS = "https://api.openai.com/v1"
_OPENAI_CHAT = f"{COMPATIBLE}:OpenAIChat"
_GATEWAY_CHAT = f"{COMPATIBLE}:GatewayChat"
_OWN_CLASSES: Mapping[str, str] = {"api.openai.com": _OPENAI_CHAT} | {
    host: provider.use
    for provider in PROVIDERS
    if provider.use.startswith(COMPATIBLE) and (host := urlsplit(provider.base_url or "").hostname)
}


def find_class(spec: ModelSpec) -> str:
    """Return the class to build: the class for the provider at the address instead of LangChain's for OpenAI.

    Configurations from before the provider had its own class name LangChain's, with which no conversation
    lasts. At any other address (vLLM, a gateway) it is a class that sends fields of OpenAI's API which such
    servers accept, and does not lose a stop.
    """
    if spec.use != OPENAI_CLASS:
        return spec.use
    address = spec.settings.get("base_url") or _client_address()
    if not isinstance(address, str):
        return _GATEWAY_CHAT
    return _OWN_CLASSES.get(urlsplit(address).hostname or "", _GATEWAY_CHAT)


def _client_address() -> str:
    """Return the default address of OpenAI's client without configuration."""
    chosen = os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")
    return chosen or _OPENAI_ADDRESS


def with_model(spec: ModelSpec, model: str) -> ModelSpec:
    """Return the spec with another model of the same provider."""
    label = LABELS.get(spec.name)
    return replace(spec, model=model, display_name=f"{model} ({label})" if label else model)
