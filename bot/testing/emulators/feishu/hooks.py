"""Callbacks over HTTP, signed and encrypted if there is a key, pushed to the app's URL."""

from __future__ import annotations

import os
import secrets
import time
from typing import Any

import httpx
import orjson

from agent.shared.tls import tls_context
from bot.platforms.feishu.callback import encrypt, signature
from bot.testing.emulators.feishu.pushes import Push


class Hooks:
    """Pushes events to `url`; in plain and unsigned without an `encrypt_key`, as Feishu does."""

    def __init__(self, url: str, encrypt_key: str, token: str) -> None:
        self.url = url
        self.encrypt_key = encrypt_key
        self.token = token
        self.statuses: list[int] = []
        self._http = httpx.AsyncClient(trust_env=False, verify=tls_context())

    async def deliver(self, push: Push, seconds: float) -> dict[str, Any] | None:
        try:
            response = await self._post(push.event, seconds)
        except httpx.HTTPError:
            return None
        return _json(response) if response.status_code == 200 else None

    async def verify(self) -> bool:
        """Ask the URL to echo a challenge, as Feishu's console does when it is saved."""
        challenge = secrets.token_hex(8)
        body = {"challenge": challenge, "token": self.token, "type": "url_verification"}
        response = await self._post(body, 3.0)
        return response.status_code == 200 and _json(response).get("challenge") == challenge

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _post(self, content: dict[str, Any], seconds: float) -> httpx.Response:
        body = orjson.dumps(content)
        headers = {"content-type": "application/json; charset=utf-8"}
        if self.encrypt_key:
            body = orjson.dumps({"encrypt": encrypt(body, self.encrypt_key, os.urandom(16))})
            stamp, nonce = str(int(time.time())), secrets.token_hex(8)
            headers["X-Lark-Request-Timestamp"], headers["X-Lark-Request-Nonce"] = stamp, nonce
            headers["X-Lark-Signature"] = signature(stamp, nonce, self.encrypt_key, body)
        response = await self._http.post(self.url, content=body, headers=headers, timeout=seconds)
        self.statuses.append(response.status_code)
        return response


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        loaded = response.json()
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
