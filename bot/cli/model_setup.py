"""Models that can be set up, and the check of one that is not configured yet, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

DISCOVERY_MODULE = "agent.models.discovery"
CHECK_MODULE = "agent.management.check.entry"
OFFER_SECONDS = 30.0
CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Result of a check: the provider's `models` (None if there is no list), why there is no list (""), and
    whether the model answered (None: it was not asked) with its `detail`. `refused`: the provider refused the
    key.
    """

    models: Sequence[str] | None
    problem: str = ""
    answers: bool | None = None
    detail: str = ""
    refused: bool = False


def list_model_offers() -> Sequence[Mapping[str, Any]]:
    """Return the usable models and the providers without a key, with their `models` entries. Blocking."""
    try:
        found: Sequence[Mapping[str, Any]] = orjson.loads(_run(DISCOVERY_MODULE, b"", OFFER_SECONDS))
    except (subprocess.TimeoutExpired, ValueError):
        return []
    return found


def check_model(entry: Mapping[str, Any], *, probe: bool, locale: str = "en") -> ModelCheck:
    """List the provider's models or, with `probe`, send the entry's model a test prompt. Blocking.

    `detail` is in the language.
    """
    asked = orjson.dumps({"entry": dict(entry), "probe": probe, "locale": locale})
    try:
        found = orjson.loads(_run(CHECK_MODULE, asked, CHECK_SECONDS))
    except subprocess.TimeoutExpired:
        return ModelCheck(None, f"the check did not finish within {CHECK_SECONDS:.0f} s; try again later")
    except ValueError:
        return ModelCheck(None, "the check failed; see `roebot doctor`")
    answer = found["answer"] or {}
    detail = str(answer.get("detail") or "")
    return ModelCheck(found["models"], found["problem"], answer.get("ok"), detail, found["refused"])


def _run(module: str, asked: bytes, seconds: float) -> bytes:
    # Third-party packages may print secrets, so none of their output is shown.
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module],
        input=asked,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=seconds,
        check=False,
    )
    return done.stdout
