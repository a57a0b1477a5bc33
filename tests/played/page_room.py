"""A conversation at the page, through the service's API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from agent.shared.tls import tls_context
from tests.harness.credentials import SIGNED
from tests.played.rooms import ANN, BOT, File, Shown

SECONDS = 30.0


class PageRoom:
    """One conversation of the service's owner; nobody else is there."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._conversation = 0
        self._versions: list[str] = []
        self.account = "web: {enabled: true}"
        self.owners = ["web:owner"]
        self.is_group = False

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[PageRoom]:
        """Open a client that will learn the address of the service."""
        settings: Any = {"headers": SIGNED, "timeout": SECONDS, "trust_env": False}
        async with httpx.AsyncClient(verify=tls_context(), **settings) as http:
            yield cls(http)

    async def connect(self, url: str) -> None:
        """Open a conversation of the service at this address."""
        self._http.base_url = httpx.URL(url)
        made = await self._http.post("/api/conversations", json={})
        self._conversation = int(made.raise_for_status().json()["id"])

    async def enter(self, number: int, *, group: bool = False) -> PageRoom:
        """Open another conversation of the same person."""
        room = PageRoom(self._http)
        await room.connect(str(self._http.base_url))
        return room

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message."""
        text = text.removeprefix(f"{BOT} ")
        path = f"/api/conversations/{self._conversation}/messages"
        if files:
            given = [("files", (file.name, file.data, file.mime)) for file in files]
            sent = await self._http.post(path, data={"text": text}, files=given)
        else:
            sent = await self._http.post(path, json={"text": text})
        return sent.raise_for_status().json()["event_id"]

    async def forward(self, text: str, *, author: str, comment: str = "") -> Any:
        """Raise NotImplementedError: nothing can be forwarded to the page."""
        raise NotImplementedError

    async def press(self, label: str) -> None:
        """Press it."""
        for turn in reversed(await self._turns()):
            for part in reversed(turn["parts"]):
                if label in part["choices"]:
                    path = f"/api/turns/{turn['id']}/parts/{part['index']}/choice"
                    (await self._http.post(path, json={"choice": label})).raise_for_status()
                    return
        raise LookupError(label)

    async def read(self) -> list[Shown]:
        """Return the parts of the answers."""
        found = []
        for turn in await self._turns():
            for part in turn["parts"]:
                name = (part["filename"],) if part["filename"] else ()
                is_open = part["state"] != "final"
                key = f"{turn['id']}:{part['index']}"
                found.append(Shown(key, part["text"], name, tuple(part["choices"]), is_open))
        self._versions += [one.text for one in found if one.text not in self._versions]
        return found

    def versions(self) -> list[str]:
        """Return every text that was there at a look."""
        return self._versions

    async def _turns(self) -> list[dict[str, Any]]:
        answer = await self._http.get(f"/api/conversations/{self._conversation}/messages")
        turns: list[dict[str, Any]] = answer.raise_for_status().json()["turns"]
        return sorted(turns, key=lambda turn: turn["id"])
