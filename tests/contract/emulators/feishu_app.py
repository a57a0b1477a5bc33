"""Plain HTTP as a client of the emulator of Feishu."""

from __future__ import annotations

from typing import Any

import httpx
import orjson

from roebot_testing.emulators.feishu import FeishuEmulator

MARKDOWN = {"tag": "markdown", "element_id": "text", "content": "one"}


def card(content: str = "one", *, streaming: bool = True) -> dict[str, Any]:
    """A card 2.0 with one text."""
    return {
        "schema": "2.0",
        "config": {"streaming_mode": streaming},
        "body": {"elements": [{**MARKDOWN, "content": content}]},
    }


class Rest:
    """The API by plain HTTP, with a token."""

    def __init__(self, emulator: FeishuEmulator) -> None:
        self._emulator = emulator
        self._http = httpx.AsyncClient(base_url=emulator.url, trust_env=False)
        self.token = ""

    async def authorize(self) -> None:
        body = {"app_id": self._emulator.app_id, "app_secret": self._emulator.app_secret}
        answer = await self._http.post("/open-apis/auth/v3/tenant_access_token/internal", json=body)
        self.token = answer.json()["tenant_access_token"]

    async def call(self, verb: str, path: str, body: Any = None, **query: str) -> httpx.Response:
        """One call below /open-apis/."""
        return await self._http.request(
            verb,
            f"/open-apis/{path}",
            json=body,
            params=query,
            headers={"Authorization": f"Bearer {self.token}"},
        )

    async def upload(
        self, path: str, fields: dict[str, str], files: dict[str, tuple[str, bytes]]
    ) -> httpx.Response:
        """One call with a form."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self._http.post(f"/open-apis/{path}", data=fields, files=files, headers=headers)

    async def ok(self, verb: str, path: str, body: Any = None, **query: str) -> Any:
        """The data of a call that succeeds."""
        answer = await self.call(verb, path, body, **query)
        assert answer.json()["code"] == 0, answer.text
        return answer.json().get("data")

    async def code(self, verb: str, path: str, body: Any = None, **query: str) -> int:
        """The code of a call."""
        return int((await self.call(verb, path, body, **query)).json()["code"])

    async def say(self, chat: str, text: str = "hi", **more: Any) -> str:
        """Post a text; its message id."""
        body = {
            "receive_id": chat,
            "msg_type": "text",
            "content": orjson.dumps({"text": text}).decode(),
            **more,
        }
        data = await self.ok("POST", "im/v1/messages", body, receive_id_type="chat_id")
        return str(data["message_id"])

    async def card(self, chat: str, content: str = "one", *, streaming: bool = True) -> tuple[str, str]:
        """Make and send a card entity; its id and the message's."""
        data = orjson.dumps(card(content, streaming=streaming)).decode()
        made = await self.ok("POST", "cardkit/v1/cards", {"type": "card_json", "data": data})
        reference = {"type": "card", "data": {"card_id": made["card_id"]}}
        body = {
            "receive_id": chat,
            "msg_type": "interactive",
            "content": orjson.dumps(reference).decode(),
        }
        sent = await self.ok("POST", "im/v1/messages", body, receive_id_type="chat_id")
        return str(made["card_id"]), str(sent["message_id"])

    async def close(self) -> None:
        await self._http.aclose()
