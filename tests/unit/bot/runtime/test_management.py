"""What the bot reads from the management routes of a runtime of another version."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bot.runtime.management import open_management

ANSWERS: dict[str, Any] = {
    "/api/models": {"models": [{"name": "a", "display_name": "A"}], "more": 1},
    "/api/skills": {"skills": [{"name": "s", "more": 1}]},
}


@pytest.mark.asyncio
async def test_fields_that_are_left_out_have_defaults() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=ANSWERS[request.url.path]))
    async with httpx.AsyncClient(transport=transport, base_url="http://runtime") as http:
        runtime = open_management(http)
        [model] = (await runtime.list_models()).models
        assert (model.name, model.default, model.source) == ("a", False, "")
        found = await runtime.list_skills()
    assert [(one.name, one.enabled, one.path) for one in found.skills] == [("s", True, "")]
    assert found.problems == []


@pytest.mark.asyncio
async def test_parameters_go_where_the_operation_says() -> None:
    calls: list[tuple[str, str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append((request.method, str(request.url), request.content))
        return httpx.Response(200, json={"success": True, "message": "", "versions": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://runtime") as http:
        runtime = open_management(http)
        await runtime.restore_skill("a/b")
        await runtime.restore_skill("s", 2)
        await runtime.delete_fact("f", "person:a:b")
        await runtime.delete_memory()
    assert calls == [
        ("POST", "http://runtime/api/skills/a%2Fb/restore", b"{}"),
        ("POST", "http://runtime/api/skills/s/restore", b'{"version":2}'),
        ("DELETE", "http://runtime/api/memory/facts/f?scope=person%3Aa%3Ab", b""),
        ("DELETE", "http://runtime/api/memory", b""),
    ]
