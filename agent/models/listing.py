"""List the models to choose from and exit: `python -m agent.models.listing`.

Standard output gets one JSON line: a list of offers in the order of discovery. `entry` is the item for
`models` in a configuration; a key appears as the variable that holds it. An offer that is not `here` still
needs its key.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import SecretStr

from agent.models.discovery import discover_models
from agent.models.providers import PROVIDERS
from agent.models.spec import ModelSpec

_GIVEN = "given"


def main() -> None:
    """Print the list."""
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.write(out, orjson.dumps(asyncio.run(list_offers(os.environ))) + b"\n")


async def list_offers(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the available models, the default first, then the providers without a key."""
    here = (await discover_models(environ)).specs
    found = [
        _describe_offer(spec, spec.source.removeprefix("env:") if ":" in spec.source else "") for spec in here
    ]
    known = {spec.name for spec in here}
    for provider in PROVIDERS:
        if provider.name not in known:
            variable = provider.variables[0]
            spec = provider.find_model({**environ, variable: _GIVEN})
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
