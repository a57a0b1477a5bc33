"""Authorization of owners' calls to the agent runtime's own API.

An allowlist of calls, each on threads that the caller owns: those of their own conversations, and those that
they created here. Whatever a body says about whom a run works for is replaced by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx
import orjson
from fastapi import HTTPException, Request

from agent.shared.body_limits import REFUSALS
from agent.shared.run_identity import STEERING, without_authors, without_identity
from bot.access import Permission, Target
from bot.domain import ChatKind
from bot.server.api.auth import WEB, Principal, audit_actor, may
from bot.server.api.dependencies import ApiServices
from bot.server.api.errors import UNREACHABLE, not_found
from bot.store.audit import AuditEvent, record_event
from bot.store.web_sessions import find_owned_conversations, find_thread_conversations

Json = dict[str, Any]
OWNER_KEY: Final = "roebot_owner"
"""Key in the metadata of a thread that names who created it here."""
LARGEST_BODY = 16 * 1024 * 1024
RAW_RUN = "agent runtime run"
_ID = r"(?P<thread>[0-9a-fA-F-]{32,36})"
NO_THREAD = "thread_id: must be one of your own threads"
NO_COPY = "Threads of conversations can't be copied, because an erasure would not find the copy."
NO_CRONS = "The agent runtime's schedules are not available here; use /digest or /api/schedules."
NO_THREADS = "delete_threads: conversations may use this assistant; delete your own threads one by one."
NO_PREFIX = "namespace_prefix: must have at least one label"
STEERING_REFUSED = "namespace: messages that join a run are written by the service only"


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call to the runtime's own API: method, path without the prefix, store namespaces in the query, and
    the parsed body.
    """

    method: str
    path: str
    namespaces: Sequence[str]
    body: Any

    @property
    def is_run(self) -> bool:
        """Return whether the call starts a run."""
        return self.method == "POST" and _RUNS.fullmatch(self.path) is not None

    @property
    def is_command(self) -> bool:
        """Return whether the call is a command to a thread, which may start a run."""
        return self.method == "POST" and _COMMANDS.fullmatch(self.path) is not None


_RUNS = re.compile(rf"/threads/{_ID}/runs(?:/stream|/wait)?|/runs(?:/stream|/wait|/batch)?")
_COMMANDS = re.compile(rf"/threads/{_ID}/commands")
_PLAIN = re.compile(
    r"GET /(?:ok|info|openapi\.json)|POST /assistants/(?:search|count)"
    r"|(?:GET|DELETE) /assistants/[^/]+(?:/graph|/schemas|/subgraphs(?:/[^/]+)?)?"
    r"|POST /assistants/[^/]+/(?:versions|latest)"
)
_ASSISTANT = re.compile(r"POST /assistants|PATCH /assistants/[^/]+")
_THREAD = re.compile(rf"[A-Z]+ /threads/{_ID}(?:/.*)?")
_SEARCH = re.compile(r"POST /threads/(?:search|count)")
_STORE = re.compile(r"(?:PUT|GET|DELETE) /store/items|POST /store/items/search|POST /store/namespaces")
_CRONS = re.compile(r"[A-Z]+ (?:/threads/[^/]+)?/runs/crons(?:/.*)?")


async def read_call(request: Request, path: str) -> RawCall:
    """Read a call with its body. Raises 400, 413, 404 for an escaped path, and 422 for a deletion of all
    threads of an assistant.
    """
    if "delete_threads" in request.query_params:
        raise HTTPException(422, NO_THREADS)
    raw = request.scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1")
    if raw and not raw.endswith(path):
        raise HTTPException(404, "Route not found.")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise HTTPException(413, REFUSALS[413].format(limit=LARGEST_BODY))
    try:
        body = orjson.loads(content) if content else None
    except ValueError as error:
        raise HTTPException(400, "The body is not valid JSON.") from error
    return RawCall(request.method, path, request.query_params.getlist("namespace"), body)


class RawCalls:
    """Checks a caller's calls, and returns the request bodies to send."""

    def __init__(self, services: ApiServices, by: Principal, runtime: httpx.AsyncClient) -> None:
        self._services = services
        self._by = by
        self._runtime = runtime

    async def authorize(self, call: RawCall) -> bytes | None:
        """Check a call and return the body to send, or None for no body.

        Raises 403 for what nobody may send or copy, 404 for a thread that is not the caller's and for an
        unknown route, 422 for a body without a thread and for schedules, 503 if the runtime is unavailable.
        """
        body = await self._checked_body(call, f"{call.method} {call.path}")
        if call.is_run or call.is_command:
            actor, now = audit_actor(self._services, self._by), self._services.clock.now()
            await self._services.db.transact(record_event, actor, AuditEvent(RAW_RUN, call.path), now)
        return None if body is None else orjson.dumps(body)

    async def _checked_body(self, call: RawCall, line: str) -> Any:
        if _CRONS.fullmatch(line):
            raise HTTPException(422, NO_CRONS)
        if found := _THREAD.fullmatch(line):
            await self._check_thread(found["thread"])
            if call.method == "POST" and call.path.endswith("/copy"):
                await self._check_copy(found["thread"])
            if call.is_command:
                return self._command_body(_object(call.body))
            return self._run_body(call.body) if call.is_run else self._thread_body(call)
        if call.is_run or line in {"POST /threads/prune", "POST /runs/cancel"}:
            return await self._checked_many(call, line)
        if line == "POST /threads":
            return await self._new_thread(_object(call.body))
        if _SEARCH.fullmatch(line):
            return self._owned_metadata(_object(call.body))
        return _checked_settings(call, line)

    async def _checked_many(self, call: RawCall, line: str) -> Any:
        """Return the body of a call that either lists its threads in the body or needs none."""
        if not call.is_run:
            body = _object(call.body)
            several = line == "POST /threads/prune"
            for thread in _list(body.get("thread_ids")) if several else [body.get("thread_id")]:
                await self._check_thread(thread)
            return body
        several = line == "POST /runs/batch"
        bodies = [_object(one) for one in (_list(call.body) if several else [call.body])]
        for one in bodies:
            if (thread := one.get("thread_id")) is not None:
                await self._check_thread(thread)
        runs = [self._run_body(one) for one in bodies]
        return runs if several else runs[0]

    async def _check_thread(self, thread: object) -> None:
        """Check that a thread belongs to the caller. Raises 404, or 422 if no thread is given."""
        if not isinstance(thread, str) or not re.fullmatch(_ID, thread):
            raise HTTPException(422, NO_THREAD)
        db, by = self._services.db, self._by
        found = await db.transact(find_owned_conversations, thread, by.owner_ids)
        own = any(by.can_reach(account, platform) for account, platform in found)
        if not own and not await db.transact(find_thread_conversations, thread):
            own = await self._read_owner(thread) == by.person
        if not may(self._services, by, Permission.RAW_RUNS, Target(own=own)):
            raise not_found("thread")

    async def _check_copy(self, thread: str) -> None:
        """Check that a thread was created through this API, since copies of conversations would survive an
        erasure. Raises 403.
        """
        if await self._services.db.transact(find_thread_conversations, thread):
            raise HTTPException(403, NO_COPY)

    async def _read_owner(self, thread: str) -> str | None:
        """Return the owner of a thread created through this API, "" if it has none, or None if the thread
        does not exist. Raises 503.
        """
        try:
            answer = await self._runtime.get(f"/threads/{thread}")
        except httpx.HTTPError as error:
            raise HTTPException(503, UNREACHABLE) from error
        if answer.is_error:
            return None
        return str((answer.json().get("metadata") or {}).get(OWNER_KEY, ""))

    async def _new_thread(self, body: Json) -> Json:
        """Return the body of a new thread. It may contain the id of an existing thread of the caller."""
        thread = body.get("thread_id")
        if isinstance(thread, str):
            known = bool(await self._services.db.transact(find_thread_conversations, thread))
            if known or await self._read_owner(quote(thread, safe="")) is not None:
                await self._check_thread(thread)
        return self._owned_metadata(body)

    def _owned_metadata(self, body: Json) -> Json:
        """Return a body whose metadata sets the caller as the thread's owner."""
        metadata = body.get("metadata")
        kept = metadata if isinstance(metadata, Mapping) else {}
        owned: Json = without_authors({**body, "metadata": {**kept, OWNER_KEY: self._by.person}})
        return owned

    def _thread_body(self, call: RawCall) -> Any:
        if call.method == "PATCH":
            return self._owned_metadata(_object(call.body))
        return without_authors(call.body)

    def _command_body(self, body: Json) -> Json:
        """Return a command whose run acts for the caller. The runtime reads no context in it."""
        params: Json = without_authors(_object(body.get("params")))
        params.pop("context", None)
        return {**body, "params": self._run_body(params)}

    def _run_body(self, body: object) -> Json:
        """Return a run's body that acts for the caller, whatever identity it contained."""
        run = _without_settings(_object(body))
        by = self._by
        identity = {
            "user_id": by.person,
            "roles": list(by.role.role_names),
            "account": by.account,
            "platform": WEB,
            "chat_kind": ChatKind.PRIVATE.value,
        }
        if run.get("context") is not None:
            run["context"] = {**run["context"], **identity}
        else:
            config = run.get("config") or {}
            run["config"] = {**config, "configurable": {**config.get("configurable", {}), **identity}}
        command = {"command": without_authors(run["command"])} if "command" in run else {}
        return {**run, **command, "input": without_authors(run.get("input"))}


def _without_settings(body: Json) -> Json:
    """Return a body without identities in its config and context."""
    body = _changed(body, "context", without_identity)
    return _changed(body, "config", lambda config: _changed(dict(config), "configurable", without_identity))


def _changed(body: Json, name: str, change: Callable[[Mapping[str, Any]], Json]) -> Json:
    """Return a body with one of its objects changed; an entry of another type is omitted."""
    found = body.get(name)
    if isinstance(found, Mapping):
        return {**body, name: change(found)}
    return {key: value for key, value in body.items() if key != name}


def _checked_settings(call: RawCall, line: str) -> Any:
    """Return the body of a call that involves no thread. Raises 403, or 404 for an unknown route."""
    if _ASSISTANT.fullmatch(line):
        return _without_settings(_object(call.body))
    if _STORE.fullmatch(line):
        return _checked_store(call)
    if _PLAIN.fullmatch(line):
        return call.body
    raise HTTPException(404, "Route not found.")


def _checked_store(call: RawCall) -> Any:
    """Check that a call does not read or write messages that join runs. Raises 403, or 422 for a search in
    all namespaces.
    """
    body = {} if call.body is None else _object(call.body)
    prefix = _list(body.get("namespace_prefix"))
    if call.path == "/store/items/search" and not prefix:
        raise HTTPException(422, NO_PREFIX)
    first = [*_list(body.get("namespace"))[:1], *prefix[:1], *(one.split(".")[0] for one in call.namespaces)]
    if STEERING in first:
        raise HTTPException(403, STEERING_REFUSED)
    return call.body


def _object(value: object) -> Json:
    """Return a body that must be an object; {} if missing. Raises 422."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise HTTPException(422, "The body must be a JSON object.")
    return value


def _list(value: object) -> list[Any]:
    """Return a value that must be a list; [] if missing. Raises 422."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise HTTPException(422, "The body must contain a list here.")
    return value
