"""Find a running Ollama at `OLLAMA_HOST`, or on the loopback interface; no other host is contacted."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from agent.models.providers import OPENAI_CLASS, with_model
from agent.models.spec import ModelSpec

OLLAMA = "ollama"
OLLAMA_PORT = 11434
PROBE_SECONDS = 0.5
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, never bound to


def ollama_address(environ: Mapping[str, str]) -> str:
    """Return the base URL without trailing slash, reading `OLLAMA_HOST` as Ollama does."""
    given = environ.get("OLLAMA_HOST", "").strip() or "127.0.0.1"
    url = urlsplit(given if "://" in given else f"http://{given}")
    host = _ANY.get(url.hostname or "", url.hostname or "127.0.0.1")
    shown = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}.get(url.scheme, OLLAMA_PORT) if "://" in given else OLLAMA_PORT
    return f"{url.scheme}://{shown}:{url.port or default}{url.path.rstrip('/')}"


async def find_ollama(environ: Mapping[str, str], *, seconds: float = PROBE_SECONDS) -> ModelSpec | None:
    """Return the newest model of a running Ollama, None without one."""
    try:
        base = ollama_address(environ)
        async with httpx.AsyncClient(timeout=seconds, trust_env=False) as client:
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
        use=OPENAI_CLASS,
        model=newest["name"],
        display_name="",
        source="ollama",
        settings={"base_url": f"{base}/v1", "api_key": "ollama", "stream_usage": True},
    )
    return with_model(spec, newest["name"])
