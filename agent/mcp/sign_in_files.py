"""Token files of people who signed in to MCP servers, private to the service.

    mcp-sign-ins/<server>/client.json        the registration of this service with the server's provider
    mcp-sign-ins/<server>/<person>.json      a person's tokens; the name is a hash of their id

A file belongs to the server's address: under another address it counts as missing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.core.paths import make_private_folder
from agent.shared.atomic_file import replace_file

FOLDER = "mcp-sign-ins"
SHARED = ""
"""The person of a sign-in that everybody uses."""
CLIENT = "client"
Json = dict[str, Any]


class SignInFiles:
    """The files of one server, whose name is a valid server name."""

    def __init__(self, home: Path, server: str, url: str) -> None:
        self._folder = home / FOLDER / server
        self._url = url

    async def load_tokens(self, person: str) -> Json | None:
        """Return a person's stored data, or None if there is none for this address."""
        return await asyncio.to_thread(self._read, _file_name(person))

    async def store_tokens(self, person: str, content: Mapping[str, Any]) -> None:
        """Store a person's tokens. Raises OSError."""
        await asyncio.to_thread(self._write, _file_name(person), {**content, "person": person})

    async def delete_tokens(self, person: str) -> bool:
        """Delete a person's tokens; return whether there were any."""
        return await asyncio.to_thread(self._delete, _file_name(person))

    async def load_client(self) -> Json | None:
        return await asyncio.to_thread(self._read, CLIENT)

    async def store_client(self, content: Mapping[str, Any]) -> None:
        """Store the registration of this service. Raises OSError."""
        await asyncio.to_thread(self._write, CLIENT, content)

    async def find_people(self) -> list[str]:
        """Return the people with tokens, the most recent sign-ins first."""
        return await asyncio.to_thread(self._list_people)

    def _read(self, name: str) -> Json | None:
        try:
            found = json.loads((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("url") == self._url else None

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        make_private_folder(self._folder)
        replace_file(self._folder / f"{name}.json", json.dumps({**content, "url": self._url}))

    def _delete(self, name: str) -> bool:
        path = self._folder / f"{name}.json"
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed

    def _list_people(self) -> list[str]:
        with suppress(OSError):
            files = [path for path in self._folder.glob("*.json") if path.stem != CLIENT]
            files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
            found = [self._read(path.stem) for path in files]
            return [str(one.get("person", "")) for one in found if one is not None]
        return []


def erase_person(home: Path, person: str) -> int:
    """Delete a person's tokens of all servers and return their number. Blocking."""
    files = list((home / FOLDER).glob(f"*/{_file_name(person)}.json")) if person else []
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _file_name(person: str) -> str:
    return hashlib.sha256(person.encode()).hexdigest()[:32]
