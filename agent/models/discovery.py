"""Find usable models if none are configured; `agent.models.providers` documents the order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from agent.models import ollama
from agent.models.local.card import local_spec
from agent.models.providers import PROVIDERS, with_model
from agent.models.spec import Catalog, ModelSpec

CHOICE_VARIABLE = "ROEBOT_MODEL"
OllamaProbe = Callable[[Mapping[str, str]], Awaitable[ModelSpec | None]]


async def discover_models(environ: Mapping[str, str], *, probe: OllamaProbe = ollama.find_ollama) -> Catalog:
    """Return the available models, the default first."""
    found = [spec for provider in PROVIDERS if (spec := provider.find_model(environ))]
    if running := await probe(environ):
        found.append(running)
    found.append(local_spec())
    choice = environ.get(CHOICE_VARIABLE, "").strip()
    if not choice:
        return Catalog(tuple(found), _default_reason(found[0]))
    asked = f"{CHOICE_VARIABLE} asks for {choice}"
    if lacking := _unmet_choice(found, choice.partition(":")[0]):
        unmet = f"{asked}, and {lacking}: {found[0].name} answers instead."
        return Catalog(tuple(found), unmet, unmet_choice=unmet)
    return Catalog(tuple(_choose_first(found, choice)), f"{asked}.")


def _unmet_choice(found: list[ModelSpec], name: str) -> str:
    """Explain why the selected model is not available, "" if it is."""
    if any(spec.name == name for spec in found):
        return ""
    for provider in PROVIDERS:
        if provider.name == name:
            return f"{' or '.join(provider.variables)} is not set"
    if name == ollama.OLLAMA:
        return "no Ollama is running"
    return "no provider key is set" if found[0].source == "local" else ""


def _choose_first(found: list[ModelSpec], choice: str) -> list[ModelSpec]:
    """Return `found` with the selected one first: a name, `name:model`, or a model of the first."""
    name, _, model = choice.partition(":")
    for spec in found:
        if spec.name == name:
            picked = with_model(spec, model) if model and spec.source != "local" else spec
            return [picked, *(other for other in found if other is not spec)]
    first, *others = found
    return [with_model(first, choice), *others]


def _default_reason(spec: ModelSpec) -> str:
    if spec.source.startswith("env:"):
        return f"No models are configured; {spec.source.removeprefix('env:')} is set."
    if spec.source == "ollama":
        return "No models are configured and no provider key is set; an Ollama is running."
    return "No models are configured, no provider key is set and no Ollama is running."
