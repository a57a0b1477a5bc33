"""Conversations are renamed and exported by those who may."""

from __future__ import annotations

import json
from pathlib import Path

from tests.component.server.test_retry import answered
from tests.contract.store.inbound_messages import BEN
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import world


async def test_a_conversation_is_renamed(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "hello")
        path = f"/api/conversations/{turn['conversation']}"
        renamed = await ann.patch(path, json={"title": " Green \n tea "})
        assert renamed.json()["title"] == "Green tea"
        assert (await service.http.patch(path, json={"title": "Tea"})).json()["title"] == "Tea"
        assert (await ben.patch(path, json={"title": "evil"})).status_code == 404
        assert (await ann.patch(path, json={"title": "x" * 121})).status_code == 422
        assert (await ann.get(path)).json()["title"] == "Tea"
        told = [one["person"] for one in await service.audited() if one["subject"] == "/title"]
        assert told == ["web:owner", "telegram:7"]


async def test_a_conversation_is_exported(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "one **bold**")
        said = {"text": "two"}
        path = f"/api/conversations/{turn['conversation']}"
        last = (await ann.post(f"{path}/messages", json=said)).json()["turn"]
        await service.turn(last)
        answer = await ann.get(f"{path}/export")
        assert answer.headers["content-type"].startswith("text/markdown")
        name = f"conversation-{turn['conversation']}.md"
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        lines = [line for line in answer.text.splitlines() if line]
        assert lines[0] == "# one **bold**"
        assert [line for line in lines if not line.startswith("#")] == ["one **bold**"] * 2 + ["two"] * 2
        whole = await ann.get(f"{path}/export", params={"format": "json"})
        told = json.loads(whole.content)
        assert [one["id"] for one in told["turns"]] == [turn["id"], last]
        assert "html" not in told["turns"][0]["parts"][0]
        assert (await ben.get(f"{path}/export")).status_code == 404
        assert (await ann.get(f"{path}/export", params={"format": "pdf"})).status_code == 422
        await service.http.get(f"{path}/export")
        read = [one for one in await service.audited() if one["action"] == "read"]
        assert f"conversation {turn['conversation']}" in {one["subject"] for one in read}
