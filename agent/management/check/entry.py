"""Checks a model that is not configured yet and exits: `python -m agent.management.check.entry`.

Standard input is one JSON object: `entry`, the item for `models` with its plain key, `probe`, whether the
model gets a test prompt instead of being listed, and `locale`, the language of what `answer` says. Standard
output gets one: `models`, the provider's list (null if there is none), `problem`, why there is none, and
`answer`, an `agent.core.schemas.ModelProbe` or null.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import orjson
from pydantic import ValidationError

from agent.config.models import ModelEntry
from agent.models.listing import ModelsUnlisted, list_provider_models
from agent.models.spec import ModelSpec, spec_from_entry


async def check_entry(spec: ModelSpec, *, probe: bool, locale: str = "en") -> dict[str, Any]:
    """Return the result of the check, as described above."""
    if probe:
        # It imports the providers' packages, which takes seconds.
        from agent.management.check.models import probe_model

        answer = await probe_model(spec, locale=locale)
        return {"models": None, "problem": "", "answer": answer.model_dump()}
    try:
        return {"models": await list_provider_models(spec), "problem": "", "answer": None}
    except ModelsUnlisted as error:
        return {"models": None, "problem": str(error), "answer": None}


def main() -> None:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked = orjson.loads(sys.stdin.buffer.read())
    try:
        spec = spec_from_entry(ModelEntry.model_validate(asked["entry"]))
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        found: dict[str, Any] = {"models": None, "problem": f"{place}: invalid value", "answer": None}
    else:
        found = asyncio.run(check_entry(spec, probe=asked["probe"], locale=asked["locale"]))
    os.write(out, orjson.dumps(found) + b"\n")
    sys.stdout.flush()
    # A provider's package may have started threads that would delay a normal exit.
    os._exit(0)


if __name__ == "__main__":
    main()
