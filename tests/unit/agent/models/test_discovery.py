"""What is found when no models are configured, and in which order."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.catalog.source import ModelSource
from agent.config.models import ModelEntry
from agent.models.discovery import discover_models, find_ollama, list_offers, ollama_address
from agent.models.providers import PROVIDERS
from agent.models.spec import Catalog, ModelSpec

KEYS = {variable: "key-0123456789" for provider in PROVIDERS for variable in provider.variables}


async def no_ollama(_: Mapping[str, str]) -> None:
    return None


async def names(environ: Mapping[str, str]) -> list[str]:
    return list((await discover_models(environ, probe=no_ollama)).names)


async def test_the_documented_order() -> None:
    found = await names(KEYS)
    providers = ["openai", "anthropic", "gemini", "deepseek", "mistral", "groq", "openrouter"]
    assert found == [*providers, "guide", "local"]


async def test_every_provider_is_documented_in_order() -> None:
    table = PROVIDERS_DOC = __import__("agent.models.providers", fromlist=["x"]).__doc__ or ""
    places = [table.index(f"`{variable}`") for provider in PROVIDERS for variable in provider.variables]
    assert places == sorted(places)
    assert PROVIDERS_DOC.index("Ollama at") > places[-1]


@pytest.mark.parametrize(
    ("environ", "first", "reason"),
    [
        ({}, "guide", "no provider key is set and Ollama is not running"),
        ({"OPENAI_API_KEY": "  "}, "guide", "no provider key is set"),
        ({"OPENAI_API_KEY": "k"}, "openai", "OPENAI_API_KEY is set"),
        ({"GOOGLE_API_KEY": "k"}, "gemini", "GOOGLE_API_KEY is set"),
        ({"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": "k"}, "gemini", "GEMINI_API_KEY is set"),
        ({"OPENAI_API_KEY": "k", "ROEBOT_MODEL": "local"}, "local", "ROEBOT_MODEL selects local"),
        ({"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k", "ROEBOT_MODEL": "groq"}, "groq", "ROEBOT_MODEL"),
    ],
)
async def test_the_first_and_why(environ: dict[str, str], first: str, reason: str) -> None:
    catalog = await discover_models(environ, probe=no_ollama)
    assert catalog.pick(None).name == first
    assert reason in catalog.reason
    assert catalog.names[-1] == ("guide" if first == "local" else "local")


@pytest.mark.parametrize(
    ("environ", "first", "lacking"),
    [
        ({"ROEBOT_MODEL": "anthropic"}, "guide", "ANTHROPIC_API_KEY is not set"),
        ({"ROEBOT_MODEL": "anthropic:x", "OPENAI_API_KEY": "k"}, "openai", "ANTHROPIC_API_KEY is not set"),
        ({"ROEBOT_MODEL": "gemini"}, "guide", "GEMINI_API_KEY or GOOGLE_API_KEY is not set"),
        ({"ROEBOT_MODEL": "ollama"}, "guide", "Ollama is not running"),
        ({"ROEBOT_MODEL": "gpt-of-tomorrow"}, "guide", "no provider key is set"),
    ],
)
async def test_a_wish_that_can_not_be_met_is_told(environ: dict[str, str], first: str, lacking: str) -> None:
    catalog = await discover_models(environ, probe=no_ollama)
    assert catalog.pick(None).name == first
    wish = environ["ROEBOT_MODEL"]
    assert catalog.unmet_choice == f"ROEBOT_MODEL selects {wish}, but {lacking}, so {first} is used instead."
    assert catalog.reason == catalog.unmet_choice


@pytest.mark.parametrize(
    ("choice", "name", "model"),
    [
        ("gpt-of-tomorrow", "openai", "gpt-of-tomorrow"),
        ("groq:vendor/model:tag", "groq", "vendor/model:tag"),
        ("groq", "groq", "openai/gpt-oss-120b"),
    ],
)
async def test_the_model_can_be_named(choice: str, name: str, model: str) -> None:
    catalog = await discover_models({**KEYS, "ROEBOT_MODEL": choice}, probe=no_ollama)
    picked = catalog.pick(None)
    assert (picked.name, picked.model) == (name, model)
    assert model in picked.display_name
    assert len(set(catalog.names)) == len(catalog.names) == 9


async def test_a_model_name_without_any_provider_changes_nothing() -> None:
    catalog = await discover_models({"ROEBOT_MODEL": "gpt-x"}, probe=no_ollama)
    assert (catalog.pick(None).name, catalog.pick(None).model) == ("guide", "")


async def test_no_key_is_in_any_text() -> None:
    catalog = await discover_models({**KEYS, "OPENAI_API_KEY": "sk-secret-1"}, probe=no_ollama)
    shown = (
        repr(catalog)
        + catalog.describe_all().model_dump_json()
        + str([spec.settings for spec in catalog.specs])
    )
    assert "sk-secret" not in shown
    assert "key-0123456789" not in shown


async def test_addresses_can_be_replaced() -> None:
    environ = {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": "http://127.0.0.1:1/v1"}
    catalog = await discover_models(environ, probe=no_ollama)
    assert catalog.pick("deepseek").settings["base_url"] == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("", "http://127.0.0.1:11434"),
        ("example.test", "http://example.test:11434"),
        ("example.test:99", "http://example.test:99"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("[::1]:99", "http://[::1]:99"),
        ("https://example.test", "https://example.test:443"),
        ("http://example.test/ollama/", "http://example.test:80/ollama"),
    ],
)
def test_the_address_of_ollama(host: str, base: str) -> None:
    assert ollama_address({"OLLAMA_HOST": host}) == base


@asynccontextmanager
async def answering(body: bytes, *, status: str = "200 OK", wait: bool = False) -> AsyncIterator[str]:
    """A server that gives one answer to everything, or none."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if wait:
            await reader.read()
        head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_running_ollama_gives_its_newest_chat_model() -> None:
    listed = {
        "models": [
            {"name": "old:1b", "modified_at": "2025-01-01"},
            {"name": "new:8b", "modified_at": "2026-01-01"},
            {"name": "nomic-embed-text", "modified_at": "2026-06-01"},
        ]
    }
    async with answering(json.dumps(listed).encode()) as host:
        catalog = await discover_models({"OLLAMA_HOST": host, "MISTRAL_API_KEY": "k"})
    assert catalog.names == ("mistral", "ollama", "guide", "local")
    spec = catalog.pick("ollama")
    assert (spec.model, spec.display_name) == ("new:8b", "new:8b (Ollama)")
    assert spec.settings["base_url"] == f"http://{host}/v1"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", "200 OK"),
        (b"[]", "200 OK"),
        (b"hello", "200 OK"),
        (b'{"models": [{"name": 3}, 4]}', "200 OK"),
        (b"", "500 No"),
    ],
)
async def test_something_else_at_that_port_is_no_ollama(body: bytes, status: str) -> None:
    async with answering(body, status=status) as host:
        assert await find_ollama({"OLLAMA_HOST": host}) is None


async def test_one_that_does_not_answer_is_given_up() -> None:
    async with answering(b"", wait=True) as host:
        assert await find_ollama({"OLLAMA_HOST": host}, seconds=0.05) is None
    assert await find_ollama({"OLLAMA_HOST": host}) is None, "nothing listens there any more"
    assert await find_ollama({"OLLAMA_HOST": "http://[bad"}) is None
    assert await find_ollama({"OLLAMA_HOST": "host:port"}) is None


async def test_an_ollama_that_starts_later_is_seen_and_nothing_else_changes(tmp_path: Path) -> None:
    running: list[ModelSpec] = []
    now = [0.0]

    async def probe(_: Mapping[str, str]) -> ModelSpec | None:
        return running[0] if running else None

    source = ModelSource(environ={}, cwd=tmp_path, probe=probe, clock=lambda: now[0])
    first: Catalog = await source.catalog()
    now[0] = 3.0
    assert await source.catalog() is first, "the same object while nothing changes"
    running.append(ModelSpec(name="ollama", use="x:Y", model="m", display_name="M", source="ollama"))
    now[0] = 4.0
    assert await source.catalog() is first
    now[0] = 5.0
    second = await source.catalog()
    assert second.names == ("ollama", "guide", "local")
    assert "Ollama is running" in second.reason


async def test_a_file_that_appears_replaces_what_was_found(tmp_path: Path) -> None:
    now = [0.0]
    arguments: Any = {"environ": {}, "cwd": tmp_path, "probe": no_ollama, "clock": lambda: now[0]}
    source = ModelSource(**arguments)
    assert (await source.catalog()).names == ("guide", "local")
    (tmp_path / "config.yaml").write_text(
        "models: [{name: mine, use: 'roebot_testing.agent:ScriptedChatModel'}]"
    )
    now[0] = 2.0
    assert (await source.catalog()).names == ("mine",)
    (tmp_path / "config.yaml").unlink()
    now[0] = 4.0
    assert (await source.catalog()).names == ("guide", "local")


async def test_what_is_offered_holds_no_key() -> None:
    found = await list_offers({"GOOGLE_API_KEY": "key-0123456789", "OLLAMA_HOST": "127.0.0.1:9"})
    assert "key-0123456789" not in str(found)
    assert [one["name"] for one in found if one["here"]] == ["gemini", "local"]
    assert found[0]["entry"]["api_key"] == "$GOOGLE_API_KEY"
    assert {one["name"] for one in found} == {*(provider.name for provider in PROVIDERS), "local"}
    others = [one for one in found if not one["here"]]
    assert all(one["entry"]["api_key"] == f"${one['variable']}" for one in others)
    entries = [ModelEntry.model_validate(one["entry"]) for one in found]
    assert [entry.name for entry in entries] == [one["name"] for one in found]
