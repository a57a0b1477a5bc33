"""API client for the terminal chat. It opens chats, sends messages, follows replies and stops runs."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import httpx

from bot.cli.common import error_detail
from bot.core.text_deltas import apply_delta

ACCOUNT = "terminal"
CLOSED = frozenset({"done", "failed", "cancelled", "expired"})
# Delay between reconnects (s), and maximum number of reconnects in a row.
RECONNECT_SECONDS = 0.5
TRIES = 60


class ChatFailed(Exception):
    """The service can't be reached or rejected a request. The message is one line for display."""


@dataclass(frozen=True, slots=True)
class Update:
    """State of a turn, with its full text (Markdown) and the paths of its files."""

    turn: int
    state: str
    text: str
    files: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Return whether the turn is closed."""
        return self.state in CLOSED


class ChatClient:
    """Client for one chat of the terminal account."""

    def __init__(self, http: httpx.AsyncClient, home: Path) -> None:
        self._http = http
        self._home = home
        self._conversation = 0
        self._turns: dict[int, dict[str, Any]] = {}
        self._sent: set[int] = set()
        self._old: set[int] | None = None

    async def open(self, chat: str = "") -> None:
        """Open the named chat, or a new one if the name is empty. Raises ChatFailed."""
        found = await self._post("/api/conversations", {"account": ACCOUNT, "chat": chat})
        self._conversation = int(found["id"])

    async def say(self, text: str) -> int:
        """Send a message and return its turn."""
        body = {"text": text, "event_id": uuid.uuid4().hex}
        turn = int((await self._post(f"{self._path}/messages", body))["turn"] or 0)
        self._sent.add(turn)
        return turn

    async def stop(self) -> None:
        """Stop the run."""
        await self._post(f"{self._path}/stop", None)

    async def updates(self) -> AsyncIterator[Update]:
        """Yield turns as they change, starting with the open ones; reconnect after a lost connection."""
        tries = 0
        while True:
            try:
                async with self._http.stream("GET", f"{self._path}/events") as answer:
                    if answer.is_error:
                        await answer.aread()
                        raise ChatFailed(error_detail(answer))
                    async for name, data in _events(answer):
                        tries = 0
                        for update in await self._take(name, data):
                            yield update
            except httpx.HTTPError as error:
                tries += 1
                if tries > TRIES:
                    raise ChatFailed("can't reach the service") from error
            await asyncio.sleep(RECONNECT_SECONDS)

    @property
    def _path(self) -> str:
        return f"/api/conversations/{self._conversation}"

    async def _take(self, name: str, data: Mapping[str, Any]) -> list[Update]:
        if name == "snapshot":
            turns = data["turns"]
            if self._old is None:
                # A command is often answered before the stream opens, so its turn still counts as new.
                self._old = {turn["id"] for turn in turns if turn["state"] in CLOSED} - self._sent
            return [await self._whole(turn) for turn in turns if turn["id"] not in self._old]
        if name == "turn":
            return [await self._whole(data)]
        if name == "delta" and (turn := self._turns.get(data["turn"])) is not None:
            parts = {part["index"]: part for part in turn["parts"]}
            known = parts.get(data["index"], {"kind": "text", "index": data["index"], "text": ""})
            text = apply_delta(known["text"], data["offset"], data["text"])
            if text is None:
                raise httpx.RemoteProtocolError("an event is missing")
            parts[data["index"]] = {**known, "text": text}
            return [await self._whole({**turn, "parts": [parts[index] for index in sorted(parts)]})]
        return []

    async def _whole(self, turn: Mapping[str, Any]) -> Update:
        self._turns[turn["id"]] = dict(turn)
        closed = turn["state"] in CLOSED
        if closed:
            del self._turns[turn["id"]]
        text = "\n\n".join(part["text"] for part in turn["parts"] if part["kind"] == "text")
        files = [part for part in turn["parts"] if part["kind"] == "file"]
        paths = [await self._path_of(turn["thread_id"], part) for part in files] if closed else []
        return Update(turn["id"], turn["state"], self._link_console(text.rstrip()), tuple(paths))

    def _link_console(self, text: str) -> str:
        """Return an answer whose links to pages of the web console have its whole address."""
        whole = re.sub(r"(?<=\]\()#(?=/)", f"{str(self._http.base_url).rstrip('/')}/#", text)
        # The next piece of a growing answer tells whether this is such a link.
        return whole.removesuffix("#") if whole.endswith("](#") else whole

    async def _path_of(self, thread_id: str, part: Mapping[str, Any]) -> str:
        """Return the local path of a file in a reply, after downloading a remote agent's file."""
        name = PurePosixPath(part["filename"]).name
        near = self._home / "threads" / thread_id / "user-data" / "outputs" / name
        if await asyncio.to_thread(near.is_file):
            return str(near)
        with _problems():
            answer = await self._http.get(part["url"], params={"download": "true"})
        if answer.is_error:
            return f"{name}: {error_detail(answer)}"
        return str(await asyncio.to_thread(_save_file, self._home / "downloads", name, answer.content))

    async def _post(self, path: str, body: object) -> dict[str, Any]:
        with _problems():
            answer = await self._http.post(path, json=body) if body else await self._http.post(path)
        if answer.is_error:
            raise ChatFailed(error_detail(answer))
        found: dict[str, Any] = answer.json()
        return found


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    name = ""
    async for line in answer.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def _save_file(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex[:8]}-{name}"
    path.write_bytes(content)
    return path


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise ChatFailed("can't reach the service") from error
