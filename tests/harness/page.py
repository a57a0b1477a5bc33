"""A person at the page: the API of the service is the platform, and its client sends again what failed."""

from __future__ import annotations

import httpx

from agent.shared.tls import tls_context
from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.credentials import SIGNED
from tests.harness.wires.base import Standing

PATIENCE = 30.0


class PageUser:
    """Asks one thing in a conversation of its own."""

    def __init__(self) -> None:
        self._url = ""
        self._conversation = 0
        self._message: dict[str, str] = {}
        self._accepted = False
        self._seen: list[Standing] = []

    async def meets(self, url: str) -> None:
        """The service is at this address now. What was not acknowledged before is sent again."""
        self._url = url
        if self._message and not self._accepted:
            await self._post()

    async def asks(self, text: str) -> None:
        """Write; the service may die of it."""
        async with self._client() as client:
            made = await client.post("/api/conversations", json={})
            self._conversation = int(made.raise_for_status().json()["id"])
        self._message = {"text": text, "event_id": f"question-{self._conversation}"}
        await self._post()

    async def standing(self) -> list[Standing]:
        """What the page shows as answers; what it showed last where the service has ended."""
        if self._message and not self._accepted:
            await self._post()
        try:
            async with self._client() as client:
                answer = await client.get(f"/api/conversations/{self._conversation}/messages")
        except httpx.ConnectError:
            return self._seen
        shown: list[Standing] = []
        for turn in answer.raise_for_status().json()["turns"]:
            for part in turn["parts"]:
                mark = f"{REPEATED_MARK} " if part["repeated"] else ""
                number = f"{turn['id']}:{len(shown)}"
                shown.append(Standing(number, mark + part["text"], open=part["state"] != "final"))
        self._seen = shown
        return shown

    async def _post(self) -> None:
        try:
            async with self._client() as client:
                path = f"/api/conversations/{self._conversation}/messages"
                self._accepted = (await client.post(path, json=self._message)).is_success
        except httpx.HTTPError:
            self._accepted = False

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self._url, headers=SIGNED, timeout=PATIENCE, trust_env=False, verify=tls_context()
        )
