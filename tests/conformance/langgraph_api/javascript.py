"""The JavaScript SDK with the interface of the Python SDK, so that the same scenarios run with both."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from langgraph_sdk.client import LangGraphClient

from tests.conformance.langgraph_api.recorder import ClientError, NotInThisClient

DRIVER = Path(__file__).with_name("driver.mjs")
INSTALLED = Path(sys.prefix) / "clients"
LARGEST_LINE = 1 << 26
RUN = (
    "input command config context metadata stream_mode stream_subgraphs stream_resumable feedback_keys"
    " interrupt_before interrupt_after checkpoint checkpoint_id webhook strict_resume multitask_strategy"
    " on_completion on_disconnect after_seconds if_not_exists checkpoint_during durability on_run_created"
)
CRON = (
    "schedule input config context metadata interrupt_before interrupt_after webhook checkpoint_during"
    " durability enabled timezone stream_mode stream_subgraphs stream_resumable end_time on_run_completed"
)
SEARCH = "metadata limit offset sort_by sort_order select"
METHODS: Final[Mapping[str, tuple[str, str]]] = {
    "assistants.get": ("assistant_id", ""),
    "assistants.get_graph": ("assistant_id", "xray"),
    "assistants.get_schemas": ("assistant_id", ""),
    "assistants.get_subgraphs": ("assistant_id", "namespace recurse"),
    "assistants.create": ("", "graph_id config context metadata assistant_id if_exists name description"),
    "assistants.update": ("assistant_id", "graph_id config context metadata name description"),
    "assistants.delete": ("assistant_id", "delete_threads"),
    "assistants.search": ("", f"graph_id name {SEARCH} response_format"),
    "assistants.count": ("", "metadata graph_id name"),
    "assistants.get_versions": ("assistant_id", "metadata limit offset"),
    "assistants.set_latest": ("assistant_id version", ""),
    "threads.get": ("thread_id", "include"),
    "threads.create": ("", "metadata thread_id if_exists supersteps graph_id ttl"),
    "threads.update": ("thread_id", "metadata ttl return_minimal"),
    "threads.delete": ("thread_id", ""),
    "threads.search": ("", f"ids status values extract {SEARCH}"),
    "threads.count": ("", "metadata values status"),
    "threads.copy": ("thread_id", ""),
    "threads.prune": ("thread_ids", "strategy"),
    "threads.get_state": ("thread_id checkpoint", "subgraphs select"),
    "threads.update_state": ("thread_id", "values as_node checkpoint checkpoint_id"),
    "threads.get_history": ("thread_id", "limit before metadata checkpoint select"),
    "threads.join_stream": ("thread_id", "last_event_id stream_mode"),
    "runs.stream": ("thread_id assistant_id", RUN),
    "runs.create": ("thread_id assistant_id", RUN),
    "runs.wait": ("thread_id assistant_id", f"{RUN} raise_error"),
    "runs.create_batch": ("payloads", ""),
    "runs.list": ("thread_id", "limit offset status select"),
    "runs.get": ("thread_id run_id", ""),
    "runs.cancel": ("thread_id run_id wait action", ""),
    "runs.cancel_many": ("", "thread_id run_ids status action"),
    "runs.join": ("thread_id run_id", ""),
    "runs.join_stream": ("thread_id run_id", "cancel_on_disconnect stream_mode last_event_id"),
    "runs.delete": ("thread_id run_id", ""),
    "crons.create": ("assistant_id", f"{CRON} multitask_strategy"),
    "crons.create_for_thread": ("thread_id assistant_id", f"{CRON} multitask_strategy"),
    "crons.update": ("cron_id", CRON),
    "crons.delete": ("cron_id", ""),
    "crons.search": ("", f"assistant_id thread_id enabled {SEARCH}"),
    "crons.count": ("", "assistant_id thread_id metadata"),
    "store.put_item": ("namespace key value", "index ttl"),
    "store.get_item": ("namespace key", "refresh_ttl"),
    "store.delete_item": ("namespace key", ""),
    "store.search_items": ("namespace_prefix", "filter limit offset query refresh_ttl"),
    "store.list_namespaces": ("", "prefix suffix max_depth limit offset"),
}
"""Methods of the Python SDK that the JavaScript SDK has: arguments by position, and those in an object."""
DEFAULTS: Final = {"wait": False, "action": "interrupt"}
STREAMS = ("runs.stream", "runs.join_stream", "threads.join_stream")


def find_problem() -> str:
    """Return what the JavaScript SDK lacks to run, or ""."""
    if shutil.which("node") is None:
        return "Node.js is not installed"
    if not (INSTALLED / "node_modules" / "@langchain" / "langgraph-sdk").is_dir():
        return "the JavaScript SDK is not installed (make install-clients, which needs npm)"
    return ""


class Driver:
    """A Node.js process that calls the SDK."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Queue[Any]] = {}

    async def read_answers(self) -> None:
        """Hand each line to the call that waits for it, until the process ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            answer = json.loads(line)
            if (queue := self._answers.get(answer["id"])) is not None:
                queue.put_nowait(answer)

    async def keep(self, *path: str, args: list[Any]) -> int:
        """Call a method, and return the number of its result for later calls."""
        number = next(self._numbers)
        async for _ in self.call(*path, args=args, number=number, keep=True):
            pass
        return number

    async def call(
        self,
        *path: str,
        args: list[Any],
        number: int | None = None,
        on_run: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> AsyncGenerator[Any]:
        """Yield the items of a call, or its one value. Raises `ClientError`."""
        number = number or next(self._numbers)
        queue = self._answers[number] = asyncio.Queue()
        self._write({"id": number, "path": path, "args": args, **options})
        try:
            while "item" in (answer := await queue.get()):
                yield answer["item"]
        except BaseException:
            self._write({"abort": number})
            raise
        finally:
            del self._answers[number]
        for run in answer["runs"] if on_run else ():
            on_run(run)  # type: ignore[misc]
        if "error" in answer:
            raise ClientError(**answer["error"])
        if not options.get("items"):
            yield answer.get("value")

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message, default=_encode).encode() + b"\n")


class JavaScriptClient:
    """Has those methods of `LangGraphClient` that the JavaScript SDK has too."""

    def __init__(self, driver: Driver, model: LangGraphClient) -> None:
        self.driver = driver
        self._model = model

    def __getattr__(self, group: str) -> Any:
        return _Group(self.driver, getattr(self._model, group), group)


class _Group:
    def __init__(self, driver: Driver, model: Any, name: str) -> None:
        self._driver, self._model, self._name = driver, model, name

    def __getattr__(self, method: str) -> Any:
        path = f"{self._name}.{method}"

        def call(*args: Any, **kwargs: Any) -> Any:
            if path not in METHODS:
                return _Refused(path)
            given = dict(
                inspect.signature(getattr(self._model, method)).bind_partial(*args, **kwargs).arguments
            )
            return self._call(path, given | given.pop("kwargs", {}))

        return call

    def _call(self, path: str, given: dict[str, Any]) -> Any:
        on_run = given.get("on_run_created")
        try:
            args = to_javascript(path, given)
        except NotInThisClient as error:
            return _Refused(str(error))
        names = [_to_camel(name) for name in path.split(".")]
        answers = self._driver.call(*names, args=args, on_run=on_run, items=path in STREAMS)
        if path not in STREAMS:
            return anext(answers)
        parts = _to_parts(answers)
        return _later(parts) if path == "threads.join_stream" else parts


class _Refused:
    """Result of a call that the client doesn't have; awaiting or iterating it raises an error."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __await__(self) -> Any:
        raise NotInThisClient(self._what)

    def __aiter__(self) -> Any:
        raise NotInThisClient(self._what)


async def _later(value: Any) -> Any:
    return value


async def _to_parts(answers: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
    try:
        async for item in answers:
            yield SimpleNamespace(**{"id": None, "data": None, **item})
    finally:
        await answers.aclose()


def to_javascript(path: str, given: dict[str, Any]) -> list[Any]:
    """Return the arguments of the JavaScript method. Raises `NotInThisClient` if it lacks one of them."""
    positions, options = (names.split() for names in METHODS[path])
    if path == "threads.get_state" and "checkpoint_id" in given:
        given["checkpoint"] = given.pop("checkpoint_id")
    if unknown := given.keys() - {*positions, *options}:
        raise NotInThisClient(f"{path}: {min(unknown)}")
    if given.pop("response_format", None) == "object":
        given["include_pagination"] = True
    if "supersteps" in given:
        given["supersteps"] = _rename(given["supersteps"])
    if "payloads" in given:
        given["payloads"] = [_rename(payload, deep=False) for payload in given["payloads"]]
    if "on_run_created" in given:
        given["on_run_created"] = True
    values = [given.pop(name, DEFAULTS.get(name)) for name in positions]
    return [*values, _rename(given, deep=False)]


def _rename(value: Any, *, deep: bool = True) -> Any:
    """Return a value with the keys of its objects in camel case."""
    if isinstance(value, Mapping):
        return {_to_camel(key): _rename(item) if deep else item for key, item in value.items()}
    return [_rename(item) for item in value] if isinstance(value, list) else value


def _to_camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def _encode(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


@asynccontextmanager
async def connect_javascript(url: str, token: str, model: LangGraphClient) -> AsyncIterator[JavaScriptClient]:
    """Start a driver for this server, and yield its client, which resembles the Python client `model`."""
    process = await asyncio.create_subprocess_exec(
        *("node", str(DRIVER), str(INSTALLED), url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LARGEST_LINE,
        env={**os.environ, "LANGGRAPH_API_KEY": token},
    )
    driver = Driver(process)
    reading = asyncio.create_task(driver.read_answers())
    try:
        yield JavaScriptClient(driver, model)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
        await reading
