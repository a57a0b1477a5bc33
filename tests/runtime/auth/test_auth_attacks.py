"""Attacks of one user of a project with `auth` on another: on threads, runs, items, crons and identity."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from agent.runtime.domain import assistant_uuid
from agent.runtime.loader import load_object
from roebot_testing.clock import ManualClock
from tests.runtime.auth.project import ALICE_RUN, AUTH, browser, serve_project, signed_in, status_of
from tests.runtime.serving import Served
from tests.runtime.test_graph_tools import connected

pytestmark = pytest.mark.may_block


# What is whose


async def test_a_row_belongs_to_who_made_it(served: Served, people: Any) -> None:
    for person, name in zip(people, ("alice", "bob"), strict=True):
        for _ in range(2 + (name == "bob")):
            await person.threads.create(metadata={"owner": "mallory"})
    alice, bob = people
    found = await alice.threads.search(limit=1)
    assert [thread["metadata"]["owner"] for thread in found] == ["alice"]
    assert [await person.threads.count() for person in (alice, bob, served.client)] == [2, 3, 5]
    assert await alice.threads.search(metadata={"owner": "bob"}) == await alice.threads.search()
    assert await alice.threads.search(ids=[one["thread_id"] for one in await bob.threads.search()]) == []


@pytest.mark.guard(
    "runtime: a search finds only what a filter allows",
    "agent/runtime/store/json_conditions.py",
    "return [*json_contains(connection, column, texts), decision]",
    "return []",
    against="other users of a project",
)
async def test_a_thread_can_be_shared(tmp_path: Path) -> None:
    code = (
        AUTH.split("@auth.on.assistants")[0]
        + """
@auth.on.threads
async def shared(ctx, value):
    return {"$or": [{"owner": ctx.user.identity}, {"with": {"$contains": [ctx.user.identity]}}]}
"""
    )
    async with serve_project(tmp_path, {"auth.py": code}) as served, signed_in(served, "bob") as (bob,):
        for place in ({"owner": "bob"}, {"with": ["alice", "bob"]}, {"with": "bob"}, {"with": ["alice"]}, {}):
            await served.client.threads.create(metadata=place)
        found = await bob.threads.search(limit=1, sort_by="created_at", sort_order="asc")
        found += await bob.threads.search(limit=5, offset=1, sort_by="created_at", sort_order="asc")
        assert [thread["metadata"] for thread in found] == [{"owner": "bob"}, {"with": ["alice", "bob"]}]
        assert await bob.threads.count() == 2
        assert await bob.threads.count(metadata={"owner": "bob"}) == 1
        for thread in await served.client.threads.search():
            status = 200 if thread in found else 404
            assert await status_of(bob.threads.get_state(thread["thread_id"])) == status


def attacks(thread: str, run: str, other: str) -> Iterator[tuple[str, str, Any]]:
    """Requests about somebody else's thread: method, path and body."""
    at = f"/threads/{thread}"
    yield from (("GET", f"{at}{path}", None) for path in ("", "/state", "/history", "/runs", "/stream"))
    yield from (("GET", f"{at}/runs/{run}{path}", None) for path in ("", "/join", "/stream"))
    yield "GET", f"{at}/state/{other}", None
    yield "POST", f"{at}/state/checkpoint", {"checkpoint": {}}
    yield "POST", f"{at}/history", {}
    yield "POST", f"{at}/state", {"values": {"ask": "mine"}}
    yield "POST", f"{at}/copy", {}
    yield "POST", f"{at}/stream/events", {"channels": ["values"]}
    yield "PATCH", at, {"metadata": {"owner": "bob"}, "ttl": 1}
    for path in ("", "/wait", "/stream", "/crons"):
        body = {"assistant_id": "g", "input": {}, "if_not_exists": "create", "schedule": "0 9 * * *"}
        yield "POST", f"{at}/runs{path}", body
    yield "POST", "/runs/wait", {"assistant_id": "g", "input": {}, "thread_id": thread}
    yield "POST", f"{at}/runs/{run}/cancel", {}
    yield "POST", "/runs/cancel", {"thread_id": thread, "run_ids": [run]}
    yield "POST", "/runs/cancel", {"status": "all"}
    yield "POST", "/threads/prune", {"thread_ids": [thread]}
    yield "DELETE", f"{at}/runs/{run}", None
    yield "DELETE", at, None


@pytest.mark.guard(
    "runtime: a user can't reach the thread of another",
    "agent/runtime/http/base.py",
    "return not wanted or (if_missing if metadata is None else allows(wanted, metadata))",
    "return True",
    against="other users of a project",
)
async def test_somebody_elses_thread_does_not_exist(served: Served, people: Any) -> None:
    alice = people[0]
    thread = (await alice.threads.create())["thread_id"]
    await alice.runs.wait(thread, "asking", input={"ask": "secret"})
    run = (await alice.runs.list(thread))[0]["run_id"]
    before, state = await alice.threads.get(thread), await alice.threads.get_state(thread)
    async with browser(served, "bob") as http:
        for method, path, body in attacks(thread, run, str(uuid4())):
            answer = await http.request(method, path, json=body)
            assert answer.status_code == 404, (method, path, answer.text)
            assert "secret" not in answer.text
        for if_exists in ("raise", "do_nothing"):
            body = {"thread_id": thread, "if_exists": if_exists, "ttl": 1}
            assert (await http.post("/threads", json=body)).status_code == 409
    assert await alice.threads.get(thread) == before
    assert await alice.threads.get_state(thread) == state
    assert len(await alice.runs.list(thread)) == 1


@pytest.mark.guard(
    "runtime: a user can't start a run on the thread of another",
    "agent/runtime/store/runs.py",
    "if metadata is not None and not allows(new.wanted, metadata):",
    "if False:",
    against="other users of a project",
)
async def test_commands_to_somebody_elses_thread_fail(served: Served, people: Any) -> None:
    alice = people[0]
    thread = (await alice.threads.create())["thread_id"]
    await alice.runs.wait(thread, "asking", input={"ask": "secret"})
    [interrupt] = (await alice.threads.get_state(thread))["interrupts"]
    answer = {"interrupt_id": interrupt["id"], "response": "mine"}
    async with browser(served, "bob") as http:
        for method, params, error in (
            ("run.start", {"assistant_id": "asking", "input": {"ask": "x"}}, "unknown_error"),
            ("input.respond", answer, "no_such_run"),
        ):
            command = {"id": 1, "method": method, "params": params}
            got = (await http.post(f"/threads/{thread}/commands", json=command)).json()
            assert (got["type"], got["error"]) == ("error", error)
            assert "secret" not in json.dumps(got)
    assert (await alice.threads.get(thread))["status"] == "interrupted"
    assert len(await alice.runs.list(thread)) == 1


@pytest.mark.guard(
    "runtime: who follows a thread before it exists needs access to it afterwards",
    "agent/runtime/protocol/thread_events.py",
    "if not await self.may_read():",
    "if False:",
    against="other users of a project",
)
async def test_events_of_a_thread_that_did_not_exist_yet_are_for_its_owner(
    served: Served, people: Any
) -> None:
    thread, body = str(uuid4()), {"channels": ["values"]}

    async def follow(http: httpx.AsyncClient, ready: asyncio.Event) -> str:
        text = ""
        async with http.stream("POST", f"/threads/{thread}/stream/events", json=body) as answer:
            ready.set()
            async for chunk in answer.aiter_text():
                text += chunk
                if "completed" in text or "red" in text:
                    break
        return text

    async with browser(served, "alice") as alice, browser(served, "bob") as bob:
        waits = [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.create_task(follow(*pair)) for pair in zip((alice, bob), waits, strict=True)]
        await asyncio.gather(*(ready.wait() for ready in waits))
        command = {"id": 1, "method": "run.start", "params": {"assistant_id": "g", "input": {}}}
        assert (await alice.post(f"/threads/{thread}/commands", json=command)).json()["type"] == "success"
        mine, others = await asyncio.wait_for(asyncio.gather(*tasks), 30)
    assert "red" in mine
    assert "data:" not in others
    assert (await people[0].threads.get(thread))["metadata"]["owner"] == "alice"


async def test_a_copy_belongs_to_its_maker(people: Any) -> None:
    alice = people[0]
    thread = (await alice.threads.create())["thread_id"]
    copy: Any = await alice.threads.copy(thread)
    assert (await alice.threads.get(copy["thread_id"]))["metadata"]["owner"] == "alice"


# Who a run works for


@pytest.mark.guard(
    "runtime: a client can't name the user of its run",
    "agent/runtime/executor.py",
    "**({} if spec.user is None else User(spec.user).configurable),",
    "**({} if spec.user is None else spec.user),",
    against="other users of a project",
)
async def test_a_run_knows_its_user(people: Any) -> None:
    alice, bob = people
    ended: Any = await alice.runs.wait(None, "g", input={})
    assert ended["seen"] == ALICE_RUN
    run: Any = await alice.runs.create(None, "g", input={}, on_completion="keep")
    await alice.runs.join(run["thread_id"], run["run_id"])
    assert (await alice.threads.get(run["thread_id"]))["metadata"]["owner"] == "alice"
    assert await status_of(bob.threads.get(run["thread_id"])) == 404
    assert "red" not in json.dumps(await alice.runs.get(run["thread_id"], run["run_id"]))
    [state] = await alice.threads.get_history(run["thread_id"], limit=1)
    assert not [key for key in state["metadata"] or {} if key.startswith("langgraph_auth")]


FORGED: Any = {"langgraph_auth_user": {"identity": "bob"}, "langgraph_auth_user_id": "bob"}


async def test_a_user_cannot_be_forged(tmp_path: Path) -> None:
    rules = {"configurable_headers": {"includes": ["*"]}}
    async with serve_project(tmp_path, http=rules) as served, signed_in(served, "alice") as (alice,):
        ended: Any = await alice.runs.wait(None, "g", input={}, config={"configurable": FORGED})
        assert ended["seen"] == ALICE_RUN
        ended = await alice.runs.wait(None, "g", input={}, context=FORGED)
        assert ended["seen"] == ALICE_RUN
        headers = {"langgraph_auth_user_id": "bob", "langgraph_auth_permissions": "root"}
        ended = await alice.runs.wait(None, "g", input={}, headers=headers)
        assert ended["seen"] == ALICE_RUN
        forged: Any = await served.client.runs.wait(None, "g", input={}, context=FORGED, headers=headers)
        assert forged["seen"]["user"] is forged["seen"]["id"] is forged["seen"]["permissions"] is None
        made: Any = await alice.assistants.create("g", context=FORGED)
        ended = await alice.runs.wait(None, made["assistant_id"], input={})
        assert ended["seen"] == ALICE_RUN


async def test_a_factory_has_the_user_of_each_call(tmp_path: Path) -> None:
    async with serve_project(tmp_path) as served, signed_in(served, "alice") as (alice,):
        thread = (await alice.threads.create())["thread_id"]
        await alice.runs.wait(thread, "made", input={})
        await alice.threads.get_state(thread)
        await alice.threads.update_state(thread, {"ask": "x"})
        await alice.assistants.get_schemas(assistant_uuid("made"))
    calls = load_object("./graph.py:made", tmp_path)
    reasons = {"threads.create_run", "threads.read", "threads.update", "assistants.read"}
    assert {call[0] for call in calls} == reasons
    assert {call[1:] for call in calls} == {("alice", "alice")}


@pytest.mark.guard(
    "runtime: a user can't get the run of another by its idempotency key",
    "agent/runtime/http/runs.py",
    'scope = "stateless" if runtime.access.user is None else',
    'scope = "stateless" if True else',
    against="other users of a project",
)
async def test_idempotency_keys_of_users_are_apart(people: Any) -> None:
    alice, bob = people

    async def start(person: LangGraphClient) -> str:
        headers = {"idempotency-key": "same"}
        run = await person.runs.create(None, "g", input={}, on_completion="keep", headers=headers)
        return run["run_id"]

    assert await start(alice) == await start(alice)
    assert await start(bob) != await start(alice)


# Other resources


@pytest.mark.guard(
    "runtime: a user can not reach the assistant of another",
    "agent/runtime/http/base.py",
    "if not allows(wanted, assistant.metadata):",
    "if False:",
    against="other users of a project",
)
async def test_assistants_are_shared_as_the_handlers_say(served: Served, people: Any) -> None:
    alice, bob = people
    made: Any = await alice.assistants.create("g", name="Mine")
    at = made["assistant_id"]
    assert made["metadata"]["owner"] == "alice"
    assert len(await alice.assistants.search()) == await alice.assistants.count() == 4
    assert {one["metadata"].get("created_by") for one in await bob.assistants.search()} == {"system"}
    for call in (
        bob.assistants.get(at),
        bob.assistants.get_schemas(at),
        bob.assistants.get_graph(at),
        bob.assistants.get_subgraphs(at),
        bob.assistants.get_versions(at),
        bob.assistants.update(at, name="His"),
        bob.assistants.set_latest(at, 1),
        bob.assistants.delete(at, delete_threads=True),
        bob.runs.wait(None, at, input={}),
        bob.crons.create(at, schedule="0 9 * * *"),
    ):
        assert await status_of(call) == 404
    assert await status_of(bob.assistants.create("g", assistant_id=at, if_exists="do_nothing")) == 409
    assert (await alice.assistants.update(at, name="Ours"))["name"] == "Ours"
    thread = (await served.client.threads.create())["thread_id"]
    await served.client.runs.wait(thread, at, input={})
    await alice.assistants.delete(at, delete_threads=True)
    assert (await served.client.threads.get(thread))["thread_id"] == thread


@pytest.mark.guard(
    "runtime: a namespace is the one that a handler has set",
    "agent/runtime/http/store.py",
    'place = _check_namespace(value["namespace"], ',
    "place = _check_namespace(namespace, ",
    against="other users of a project",
)
async def test_store_namespaces_begin_with_the_user(served: Served, people: Any) -> None:
    alice, bob = people
    await alice.store.put_item(("notes",), "k", {"text": "secret"})
    assert (await served.client.store.get_item(("alice", "notes"), "k"))["value"] == {"text": "secret"}
    assert (await alice.store.search_items(()))["items"][0]["namespace"] == ["alice", "notes"]
    assert (await alice.store.list_namespaces())["namespaces"] == [["alice", "notes"]]
    for names in (("notes",), ("alice", "notes")):
        assert await bob.store.get_item(names, "k") is None
        assert (await bob.store.search_items(names))["items"] == []
        await bob.store.delete_item(names, "k")
    assert (await bob.store.list_namespaces())["namespaces"] == []
    assert (await alice.store.get_item(("notes",), "k"))["value"] == {"text": "secret"}


@pytest.mark.parametrize(
    ("result", "status", "found"),
    [
        ("return {'team': 'red'}", 403, 1),
        ("value['namespace'] = 'alice'", 500, None),
        ("value['namespace'] = ('al.ice',)", 422, None),
    ],
)
async def test_a_store_handler_that_can_not_be_followed_refuses(
    tmp_path: Path, result: str, status: int, found: int | None
) -> None:
    code = AUTH.split("@auth.on.store")[0] + f"@auth.on.store\nasync def items(ctx, value):\n    {result}\n"
    async with serve_project(tmp_path, {"auth.py": code}) as served, signed_in(served, "alice") as (alice,):
        for team in ("red", "blue"):
            await served.client.store.put_item(("notes",), team, {"team": team})
        assert await status_of(alice.store.put_item(("notes",), "k", {})) == status
        assert await status_of(alice.store.get_item(("notes",), "red")) == status
        if found is None:
            assert await status_of(alice.store.search_items(("notes",))) in (status, 400)
        else:
            assert len((await alice.store.search_items(("notes",)))["items"]) == found
            assert await status_of(alice.store.search_items(("notes",), filter={"team": "blue"})) == 422


@pytest.mark.guard(
    "runtime: a user can not reach the cron of another",
    "agent/runtime/http/crons.py",
    "if not allows(wanted, cron.metadata):",
    "if False:",
    against="other users of a project",
)
async def test_a_cron_works_for_its_user(tmp_path: Path) -> None:
    clock = ManualClock(1_780_000_000.0)
    options = {"clock": clock.now, "sleep": clock.sleep}
    async with (
        serve_project(tmp_path, options=options) as served,
        signed_in(served, "alice", "bob") as (alice, bob),
    ):
        thread = (await alice.threads.create())["thread_id"]
        made: Any = await alice.crons.create_for_thread(thread, "g", schedule="* * * * *", input={})
        loose: Any = await alice.crons.create("g", schedule="0 0 1 1 *", input={})
        assert (made["user_id"], made["metadata"]["owner"]) == ("alice", "alice")
        assert "red" not in json.dumps(made)
        for one in (made, loose):
            at = one["cron_id"]
            assert await status_of(bob.crons.update(at, enabled=False)) == 404
            assert await status_of(bob.crons.delete(at)) == 404
        assert (await bob.crons.search(), await bob.crons.count()) == ([], 0)
        assert (len(await alice.crons.search()), await alice.crons.count(thread_id=thread)) == (2, 1)
        await clock.advance(60)
        async with asyncio.timeout(20):
            while not await alice.runs.list(thread, status="success"):
                await asyncio.sleep(0.02)
        values: Any = (await alice.threads.get_state(thread))["values"]
        assert values["seen"] == ALICE_RUN


async def test_tools_run_as_the_user(served: Served) -> None:
    headers = {"x-api-key": "none", "authorization": "Bearer alice-key"}
    async with connected(served, **headers) as session:
        assert {tool.name for tool in (await session.list_tools()).tools} == {"g", "asking", "made"}
        result = await session.call_tool("g", {})
    assert json.loads(result.content[0].text)["seen"] == ALICE_RUN  # type: ignore[union-attr]
