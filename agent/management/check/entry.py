"""Checks a model that is not configured yet and exits: `python -m agent.management.check.entry`.

Standard input is one JSON object: `entry`, the item for `models` with its plain key, `probe`, whether the
model gets a test prompt instead of being listed, and `locale`, the language of what `answer` says. Standard
output gets one: `models`, the provider's list (null if there is none), `problem`, why there is none,
`answer`, an object with `ok` and `detail` (null without a prompt), and `refused`, whether the provider
refused the key.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import orjson
from pydantic import ValidationError

from agent.config.models import ModelEntry
from agent.models.failure_texts import Category
from agent.models.listing import KeyRefused, ModelsUnlisted, list_provider_models
from agent.models.spec import ModelSpec, spec_from_entry


async def check_entry(spec: ModelSpec, *, probe: bool, locale: str = "en") -> dict[str, Any]:
    """Return the result of the check, as described above."""
    if probe:
        # It imports the providers' packages, which takes seconds.
        from agent.management.check.models import find_failure

        failure = await find_failure(spec, locale=locale)
        answer = {"ok": failure is None, "detail": failure and failure.message}
        refused = failure is not None and failure.category is Category.AUTH
        return {"models": None, "problem": "", "answer": answer, "refused": refused}
    try:
        found = await list_provider_models(spec)
        return {"models": found, "problem": "", "answer": None, "refused": False}
    except ModelsUnlisted as error:
        refused = isinstance(error, KeyRefused)
        return {"models": None, "problem": str(error), "answer": None, "refused": refused}


def main() -> None:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked = orjson.loads(sys.stdin.buffer.read())
    try:
        spec = spec_from_entry(ModelEntry.model_validate(asked["entry"]))
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        problem = f"{place}: invalid value"
        found: dict[str, Any] = {"models": None, "problem": problem, "answer": None, "refused": False}
    else:
        found = asyncio.run(check_entry(spec, probe=asked["probe"], locale=asked["locale"]))
    os.write(out, orjson.dumps(found) + b"\n")
    sys.stdout.flush()
    # A provider's package may have started threads that would delay a normal exit.
    os._exit(0)


if __name__ == "__main__":
    main()
