"""A message posted to the API, answered by the real runtime, watched over server-sent events."""

from __future__ import annotations

from pathlib import Path

from tests.platforms.web.serving import world


async def test_a_message_is_answered_in_a_stream(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            name, snapshot = await anext(events)
            assert name == "snapshot"
            assert snapshot["turns"] == []
            posted = await service.say(conversation, "hello")
            texts: list[str] = []
            async for name, data in events:
                if name == "part":
                    texts.append(data["part"]["text"])
                if name == "turn" and data["state"] == "done":
                    break
        assert data["id"] == posted["turn"]
        assert [message["text"] for message in data["messages"]] == ["hello"]
        final = data["parts"][0]["text"].rstrip()
        assert final.endswith("word40")
        assert len(texts) > 3
        assert texts == sorted(texts, key=len)
        assert all(final.startswith(text) for text in texts)
        assert data["parts"][0]["html"] == f"<p>{final}</p>"
