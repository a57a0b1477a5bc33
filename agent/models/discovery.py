"""Discovery and listing of usable models: `python -m agent.models.discovery`.

`agent.models.providers` documents the order. Ollama is looked for at `OLLAMA_HOST`, or on the loopback
interface; no other host is contacted. As a program it prints one JSON line: a list of offers in the order of
discovery. `entry` is the item for `models` in a configuration; a key appears as the variable that holds it.
An offer that is not `here` still needs its key.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import SecretStr

from agent.models.guide_spec import NAME as GUIDE
from agent.models.guide_spec import guide_spec
from agent.models.local.bundled import local_spec
from agent.models.providers import COMPATIBLE, PROVIDERS, with_model
from agent.models.spec import Catalog, ModelSpec
from agent.shared.tls import tls_context

OLLAMA = "ollama"
OLLAMA_PORT = 11434
PROBE_SECONDS = 0.5
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, never bound to


def ollama_address(environ: Mapping[str, str]) -> str:
    """Return the base URL without trailing slash, reading `OLLAMA_HOST` like Ollama."""
    given = environ.get("OLLAMA_HOST", "").strip() or "127.0.0.1"
    url = urlsplit(given if "://" in given else f"http://{given}")
    host = _WILDCARD_HOSTS.get(url.hostname or "", url.hostname or "127.0.0.1")
    shown = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}.get(url.scheme, OLLAMA_PORT) if "://" in given else OLLAMA_PORT
    return f"{url.scheme}://{shown}:{url.port or default}{url.path.rstrip('/')}"


async def find_ollama(environ: Mapping[str, str], *, seconds: float = PROBE_SECONDS) -> ModelSpec | None:
    """Return the newest model of a running Ollama, or None if there is none."""
    try:
        base = ollama_address(environ)
        async with httpx.AsyncClient(timeout=seconds, trust_env=False, verify=tls_context()) as client:
            answer = await client.get(f"{base}/api/tags")
            listed = answer.raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return _ollama_spec(base, listed)


def _ollama_spec(base: str, listed: object) -> ModelSpec | None:
    models = listed.get("models") if isinstance(listed, dict) else None
    known = [
        entry for entry in models or () if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    ]
    chats = [entry for entry in known if "embed" not in entry["name"]]
    if not chats:
        return None
    newest = max(chats, key=lambda entry: str(entry.get("modified_at", "")))
    spec = ModelSpec(
        name=OLLAMA,
        use=f"{COMPATIBLE}:OllamaChat",
        model=newest["name"],
        display_name="",
        source="ollama",
        settings={"base_url": f"{base}/v1", "api_key": "ollama", "stream_usage": True},
    )
    return with_model(spec, newest["name"])


CHOICE_VARIABLE = "ROEBOT_MODEL"
OllamaProbe = Callable[[Mapping[str, str]], Awaitable[ModelSpec | None]]


async def discover_models(environ: Mapping[str, str], *, probe: OllamaProbe = find_ollama) -> Catalog:
    """Return the available models, the default first."""
    found = [spec for provider in PROVIDERS if (spec := provider.find_model(environ))]
    if running := await probe(environ):
        found.append(running)
    found += [guide_spec(), local_spec()]
    choice = environ.get(CHOICE_VARIABLE, "").strip()
    if not choice:
        return Catalog(tuple(found), _default_reason(found[0]))
    asked = f"{CHOICE_VARIABLE} selects {choice}"
    if lacking := _unmet_choice(found, choice.partition(":")[0]):
        unmet = f"{asked}, but {lacking}, so {found[0].name} is used instead."
        return Catalog(tuple(found), unmet, unmet_choice=unmet)
    return Catalog(tuple(_choose_first(found, choice)), f"{asked}.")


def _unmet_choice(found: list[ModelSpec], name: str) -> str:
    """Return why the selected model is not available, or "" if it is."""
    if any(spec.name == name for spec in found):
        return ""
    for provider in PROVIDERS:
        if provider.name == name:
            return f"{' or '.join(provider.variables)} is not set"
    if name == OLLAMA:
        return "Ollama is not running"
    return "no provider key is set" if found[0].source == GUIDE else ""


def _choose_first(found: list[ModelSpec], choice: str) -> list[ModelSpec]:
    """Return `found` with the selected model first: by name, `name:model`, or a model of the first."""
    name, _, model = choice.partition(":")
    for spec in found:
        if spec.name == name:
            picked = with_model(spec, model) if model and spec.source not in {GUIDE, "local"} else spec
            return [picked, *(other for other in found if other is not spec)]
    first, *others = found
    return [with_model(first, choice), *others]


def _default_reason(spec: ModelSpec) -> str:
    if spec.source.startswith("env:"):
        return f"No models are configured; {spec.source.removeprefix('env:')} is set."
    if spec.source == "ollama":
        return "No models are configured and no provider key is set; Ollama is running."
    return "No models are configured, no provider key is set and Ollama is not running."


_PLACEHOLDER_KEY = "given"


def main() -> None:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.write(out, orjson.dumps(asyncio.run(list_offers(os.environ))) + b"\n")


async def list_offers(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the available models, the default first, then the providers without a key.

    The guide is an offer if no model is available; then the toy is not.
    """
    specs = (await discover_models(environ)).specs
    left_out = "local" if specs[0].source == GUIDE else GUIDE
    here = [spec for spec in specs if spec.source != left_out]
    found = [
        _describe_offer(spec, spec.source.removeprefix("env:") if ":" in spec.source else "") for spec in here
    ]
    known = {spec.name for spec in here}
    for provider in PROVIDERS:
        if provider.name not in known:
            variable = provider.variables[0]
            spec = provider.find_model({**environ, variable: _PLACEHOLDER_KEY})
            assert spec is not None
            found.append({**_describe_offer(spec, variable), "here": False})
    return found


def _describe_offer(spec: ModelSpec, variable: str) -> dict[str, Any]:
    return {
        "name": spec.name,
        "label": spec.display_name,
        "note": spec.note or "",
        "variable": variable,
        "here": True,
        "entry": _config_entry(spec, variable),
    }


def _config_entry(spec: ModelSpec, variable: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": spec.name, "use": spec.use, "model": spec.model}
    for key, value in spec.settings.items():
        entry[key] = f"${variable}" if isinstance(value, SecretStr) else value
    if spec.supports_vision:
        entry["supports_vision"] = True
    return entry


if __name__ == "__main__":
    main()
