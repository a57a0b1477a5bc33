"""The routes about memory over real HTTP, and the client's methods beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.client import AgentClient
from agent.core.schemas import ErrorBody, MemoryChange, MemorySettings, MemoryStatus
from agent.management.routes import management_routes
from agent.memory.exchange import QueuedMessage
from agent.memory.files import MemoryFolder
from agent.memory.scopes import OWNER, parse_scope
from agent.shared.memory_document import MemoryDocument
from agent.shared.schemas import OperationResult
from tests.harness.local_server import served

ADA = "person:telegram:telegram:1001"
CONFIG = """
models: [{name: m, use: "roebot_testing.agent:ScriptedChatModel"}]
memory: {max_facts: 3, storage_path: kept}
"""


@pytest.fixture
async def client(home: Path, config: Path) -> AsyncIterator[httpx.AsyncClient]:
    routes = await asyncio.to_thread(management_routes, home, config)
    async with served(routes) as http:
        yield http


async def add(client: httpx.AsyncClient, content: str, scope: str = ADA, **parts: Any) -> httpx.Response:
    return await client.post("/api/memory/facts", params={"scope": scope}, json={"content": content, **parts})


async def document(client: httpx.AsyncClient, scope: str = ADA) -> MemoryDocument:
    response = await client.get("/api/memory", params={"scope": scope})
    assert response.status_code == 200
    return MemoryDocument.model_validate_json(response.content)


def detail(response: httpx.Response) -> str:
    return ErrorBody.model_validate_json(response.content).detail


async def test_facts_are_added_changed_and_removed(client: httpx.AsyncClient, home: Path) -> None:
    response = await add(client, "  Likes tea. ", category="preference", confidence=0.9)
    assert response.status_code == 201
    fact = MemoryChange.model_validate_json(response.content).fact
    assert (fact.content, fact.category, fact.confidence, fact.source) == (
        "Likes tea.",
        "preference",
        0.9,
        "manual",
    )
    changed = await client.patch(
        f"/api/memory/facts/{fact.id}", params={"scope": ADA}, json={"content": "Likes coffee."}
    )
    assert MemoryChange.model_validate_json(changed.content).fact.content == "Likes coffee."
    found = await document(client)
    assert [(one.content, one.category) for one in found.facts] == [("Likes coffee.", "preference")]
    assert found.last_updated
    assert (home / "kept" / "person.telegram.telegram%3a1001.json").exists()
    gone = await client.delete(f"/api/memory/facts/{fact.id}", params={"scope": ADA})
    assert OperationResult.model_validate_json(gone.content).success
    assert (await document(client)).facts == ()


async def test_each_scope_is_its_own_and_without_one_it_is_the_owners(client: httpx.AsyncClient) -> None:
    await add(client, "Ada's.")
    await add(client, "The group's.", scope="group:telegram:-100")
    await client.post("/api/memory/facts", json={"content": "The owner's."})
    assert [one.content for one in (await document(client)).facts] == ["Ada's."]
    assert [one.content for one in (await document(client, "group:telegram:-100")).facts] == ["The group's."]
    own = MemoryDocument.model_validate_json((await client.get("/api/memory")).content)
    assert [one.content for one in own.facts] == ["The owner's."]
    assert (await document(client, "person:other:telegram:1001")).is_empty


async def test_a_file_that_a_person_mended_is_read_anew(client: httpx.AsyncClient, home: Path) -> None:
    await add(client, "Likes tea.")
    path = home / "kept" / "person.telegram.telegram%3a1001.json"
    path.write_text(path.read_text().replace("tea", "jam"))
    response = await client.post("/api/memory/reload", params={"scope": ADA})
    assert MemoryDocument.model_validate_json(response.content).facts[0].content == "Likes jam."


async def test_forgetting_erases_file_and_queue_of_this_scope_alone(
    client: httpx.AsyncClient, home: Path
) -> None:
    await add(client, "Ada's.")
    await add(client, "The group's.", scope="group:telegram:-100")
    folder = MemoryFolder(home / "kept")
    said = [QueuedMessage("1", "person", "I like jam.")]
    await asyncio.to_thread(folder.queue.add_messages, parse_scope(ADA), "t", said, quiet=30)
    status = await client.get("/api/memory/status", params={"scope": ADA})
    found = MemoryStatus.model_validate_json(status.content)
    assert (found.enabled, found.scope, found.facts, found.updates_waiting) == (True, ADA, 1, 1)
    response = await client.delete("/api/memory", params={"scope": ADA})
    assert OperationResult.model_validate_json(response.content).success
    assert (await document(client)).is_empty
    assert await asyncio.to_thread(folder.queue.next_due_time) is None
    left = await asyncio.to_thread(lambda: [path.name for path in (home / "kept").glob("*.json")])
    assert left == ["group.telegram.-100.json"]
    assert not (await document(client, "group:telegram:-100")).is_empty
    folder.queue.close()


async def test_the_configuration_is_told_without_the_folder(client: httpx.AsyncClient, home: Path) -> None:
    response = await client.get("/api/memory/config")
    assert MemorySettings.model_validate_json(response.content).max_facts == 3
    assert "kept" not in response.text


async def test_a_fact_by_hand_stays_whatever_else_has_to_go(client: httpx.AsyncClient) -> None:
    for number in range(4):
        await add(client, f"fact {number}", confidence=1.0 - number / 10)
    assert [one.content for one in (await document(client)).facts] == ["fact 0", "fact 1", "fact 3"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "The body is not valid JSON."),
        (b"{", "The body is not valid JSON."),
        (b"[]", "body: "),
        (b"{}", "content: Field required"),
        (b'{"content": "  "}', "A fact must not be empty."),
        (b'{"content": 3}', "content: "),
        (b'{"content": "x", "category": "secret"}', "category: "),
        (b'{"content": "x", "confidence": 1.5}', "confidence: "),
        (b'{"content": "x", "id": "mine"}', "id: Extra inputs"),
        (b'{"content": "' + b"x" * 70_000 + b'"}', "The body is too large."),
    ],
)
async def test_bodies_that_are_no_facts(client: httpx.AsyncClient, body: bytes, told: str) -> None:
    response = await client.post("/api/memory/facts", content=body, params={"scope": ADA})
    assert response.status_code == 422
    assert detail(response).startswith(told)
    assert (await document(client)).is_empty


async def test_what_is_there_already_or_not_at_all(client: httpx.AsyncClient) -> None:
    first = MemoryChange.model_validate_json((await add(client, "Likes tea.")).content).fact
    await add(client, "Likes jam.")
    assert (await add(client, "likes  TEA.")).status_code == 409
    there = await client.patch(
        f"/api/memory/facts/{first.id}", params={"scope": ADA}, json={"content": "Likes jam."}
    )
    assert (there.status_code, detail(there)) == (409, "This fact is already stored.")
    same = await client.patch(
        f"/api/memory/facts/{first.id}", params={"scope": ADA}, json={"content": "LIKES tea."}
    )
    assert same.status_code == 200
    for answer in (
        await client.delete("/api/memory/facts/fact_none", params={"scope": ADA}),
        await client.patch("/api/memory/facts/fact_none", params={"scope": ADA}, json={}),
        await client.delete(f"/api/memory/facts/{first.id}"),
    ):
        assert (answer.status_code, detail(answer)) == (404, "Fact not found.")


@pytest.mark.parametrize("scope", ["ada", "person:", "../../etc:a:b", "person:a:b\n", "group::"])
async def test_a_scope_outside_the_grammar_is_refused(client: httpx.AsyncClient, scope: str) -> None:
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/reload"),
        ("GET", "/config"),
        ("GET", "/status"),
        ("DELETE", "/facts/x"),
    ):
        response = await client.request(method, f"/api/memory{path}", params={"scope": scope})
        assert (response.status_code, detail(response)[:13]) == (400, "Invalid scope")


@pytest.mark.may_block
async def test_the_clients_methods_answer_the_same(
    client: httpx.AsyncClient, home: Path, config: Path
) -> None:
    await add(client, "Likes tea.")
    with AgentClient(config_path=config, home=home, environ={}) as embedded:
        own = await asyncio.to_thread(embedded.get_memory, ADA)
        assert MemoryDocument.model_validate(own) == await document(client)
        for path, method in (("/config", "get_memory_config"), ("/status", "get_memory_status")):
            answered = (await client.get(f"/api/memory{path}", params={"scope": ADA})).json()
            assert await asyncio.to_thread(getattr(embedded, method), ADA) == answered
        embedded.add_memory_fact("Owner's.")
        assert [one.content for one in (await document(client, f"person::{OWNER.key}")).facts] == ["Owner's."]
