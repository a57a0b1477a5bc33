"""List the models that a provider offers for a key, to choose one before it is configured."""

from __future__ import annotations

import asyncio
import os
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import SecretStr

from agent.models.providers import ANTHROPIC_CLASS
from agent.models.spec import ModelSpec
from agent.shared.tls import tls_context

SECONDS = 10.0
LARGEST_LIST = 4_000_000
MOST_MODELS = 1000
_REFUSING = frozenset({401, 403})
_ANTHROPIC_VERSION = "2023-06-01"
"""docs.claude.com/en/api/versioning"""


class ModelsUnlisted(Exception):
    """The provider gives no list; the message says why and what to do, without the key."""


class KeyRefused(ModelsUnlisted):
    """The provider refused the key."""


async def list_provider_models(spec: ModelSpec, *, seconds: float = SECONDS) -> list[str]:
    """Return the names of the provider's models, sorted. Raises ModelsUnlisted."""
    url, headers = _request(spec)
    place = urlsplit(url).netloc.rpartition("@")[2]
    try:
        async with asyncio.timeout(seconds):
            return _read_names(await _fetch(url, headers, place), place)
    except TimeoutError:
        problem = f"{place} did not answer within {seconds:.0f} s; check the address, or try again later"
    except httpx.ConnectError:
        problem = f"{place} can't be reached; check the address and the network"
    except httpx.InvalidURL:
        problem = "the address is invalid; expected one such as https://host/v1"
    except httpx.HTTPError:
        problem = f"{place} closed the connection before its answer was complete; try again later"
    raise ModelsUnlisted(problem)


def _request(spec: ModelSpec) -> tuple[str, dict[str, str]]:
    """Return the address of the list and the headers that authenticate."""
    given = spec.settings.get("api_key")
    key = given.get_secret_value() if isinstance(given, SecretStr) else str(given or "")
    if spec.use == ANTHROPIC_CLASS:
        base = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        base = str(spec.settings.get("base_url") or base).rstrip("/")
        headers = {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}
        return f"{base.removesuffix('/v1')}/v1/models?limit={MOST_MODELS}", headers
    base = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    base = str(spec.settings.get("base_url") or base).rstrip("/")
    return f"{base}/models", {"authorization": f"Bearer {key}"}


async def _fetch(url: str, headers: dict[str, str], place: str) -> bytes:
    content = bytearray()
    async with (
        httpx.AsyncClient(verify=tls_context(), timeout=SECONDS, follow_redirects=False) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        if problem := _status_problem(answer.status_code, place):
            raise (KeyRefused if answer.status_code in _REFUSING else ModelsUnlisted)(problem)
        async for chunk in answer.aiter_bytes():
            content += chunk
            if len(content) > LARGEST_LIST:
                raise ModelsUnlisted(f"the list of {place} is too long; enter the model's name")
    return bytes(content)


def _status_problem(status: int, place: str) -> str:
    if status in _REFUSING:
        return f"{place} refused the key; copy it again, or create another one"
    if status == httpx.codes.NOT_FOUND:
        return f"{place} has no list of models at this address; most addresses end in /v1"
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return f"{place} limits how often it may be called; try again later"
    return "" if status == httpx.codes.OK else f"{place} returned status {status}; check the address"


def _read_names(content: bytes, place: str) -> list[str]:
    try:
        listed = orjson.loads(content)
    except ValueError:
        listed = None
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        raise ModelsUnlisted(
            f"{place} returned no list of models; check the address, which often ends in /v1"
        )
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return sorted({name.removeprefix("models/")[:200] for name in ids if isinstance(name, str)})[:MOST_MODELS]
