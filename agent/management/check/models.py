"""Sends a test prompt to every model and exits: `python -m agent.management.check.models [--config FILE]`.

Standard output gets one JSON line per result: first an `agent.core.schemas.ModelList` or `{"problem": "…"}`,
then an `agent.core.schemas.ModelProbe` for each model, in the order of their answers. Everything else goes to
standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from agent.catalog.source import ModelSource
from agent.config.errors import ConfigErrors
from agent.core.schemas import ModelProbe
from agent.models.calls import find_answer_problem
from agent.models.errors import ProviderFailure, describe_error, make_failure, note_outcome
from agent.models.failure_texts import Category
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from agent.shared.schemas import Failing
from agent.shared.text import choose_text

SECONDS = 30.0
QUESTION = "Reply with the word OK."
_ON_THE_WAY = frozenset({Category.CONNECTION, Category.OVERLOADED, Category.TIMEOUT})
_BASES = ("base_url", "openai_api_base", "anthropic_api_url")


async def probe_model(
    spec: ModelSpec,
    *,
    seconds: float = SECONDS,
    locale: str = "en",
    failing: dict[str, Failing] | None = None,
) -> ModelProbe:
    """Build the model and send it a test prompt, which costs a few tokens. Errors are part of the result.

    A failure is noted in `failing`, if given.
    """
    began = time.monotonic()
    found = await find_failure(spec, seconds, locale)
    if failing is not None:
        note_outcome(failing, spec.name, found.category if found else None)
    took = round(time.monotonic() - began, 3)
    return ModelProbe(name=spec.name, ok=found is None, detail=found.message if found else None, seconds=took)


async def find_failure(
    spec: ModelSpec, seconds: float = SECONDS, locale: str = "en"
) -> ProviderFailure | None:
    """Send the model a test prompt, and return why it failed, or None."""
    try:
        model = await asyncio.to_thread(build_model, spec)
        async with asyncio.timeout(seconds):
            answer = await model.ainvoke([HumanMessage(QUESTION)])
    except Exception as error:  # noqa: BLE001 - supervisor: a provider's package may raise anything
        found = describe_error(error, model=spec.name, locale=locale)
        return _with_address(found, error, spec, locale)
    problem = find_answer_problem(answer)
    return make_failure(problem, model=spec.name, locale=locale) if problem else None


def _with_address(
    found: ProviderFailure, error: BaseException, spec: ModelSpec, locale: str
) -> ProviderFailure:
    """Add the host and port to a connection failure, without other parts of the address."""
    address = next(_request_hosts(error, spec), "") if found.category in _ON_THE_WAY else ""
    if not address:
        return found
    about = choose_text({"en": f" (address: {address}).", "zh": f"（地址：{address}）。"}, locale)
    return replace(found, message=f"{found.message.rstrip('.。')}{about}")


def _request_hosts(error: BaseException, spec: ModelSpec) -> Iterator[str]:
    """Yield the host of the failed request, then the hosts from the settings."""
    cause: BaseException | None = error
    while cause is not None:
        # `httpx.RequestError.request` raises if there is none; other clients have it as a plain attribute.
        request = vars(cause).get("request") or vars(cause).get("_request")
        if (url := getattr(request, "url", None)) and (host := _host_and_port(str(url))):
            yield host
        cause = cause.__cause__ or cause.__context__
    for key in _BASES:
        if isinstance(url := spec.settings.get(key), str) and (host := _host_and_port(url)):
            yield host


def _host_and_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    name = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{name}:{port}" if name and port else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all models concurrently."""
    parser = argparse.ArgumentParser(prog="python -m agent.management.check.models")
    parser.add_argument("--config", type=Path)
    options = parser.parse_args(arguments)
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asyncio.run(_check_models(ModelSource(options.config), out))
    sys.stdout.flush()
    # A provider's package may have started threads that would delay a normal exit.
    os._exit(0)


async def _check_models(source: ModelSource, out: int) -> None:
    try:
        catalog = await source.catalog()
    except ConfigErrors as error:
        os.write(out, orjson.dumps({"problem": str(error)}) + b"\n")
        return
    _write_line(out, catalog.describe_all())
    async with asyncio.TaskGroup() as group:
        for spec in catalog.specs:
            group.create_task(_check_model(spec, out), name=f"probe:{spec.name}")


async def _check_model(spec: ModelSpec, out: int) -> None:
    _write_line(out, await probe_model(spec))


def _write_line(out: int, result: BaseModel) -> None:
    os.write(out, result.model_dump_json().encode() + b"\n")


if __name__ == "__main__":
    main()
