"""The desk of whoever plays the model: requests in a folder and over HTTP, until each is answered."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.harness.strict_providers import Reply
from tests.played.answers import UnreadableAnswer, parse_answer
from tests.played.model import NoAnswer
from tests.played.requests import ModelRequest

PATIENCE = 3600.0
"""Seconds for which a request waits."""
LOOK_EVERY = 0.2


@dataclass
class Desk:
    """Unanswered requests by number, and the folder that shows them."""

    folder: Path
    patience: float = PATIENCE
    waiting: dict[int, ModelRequest] = field(default_factory=dict)
    _answers: dict[int, asyncio.Future[Reply]] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def ask(self, request: ModelRequest) -> Reply:
        """Show a request and wait for its answer. Raises NoAnswer when nobody gives one in time."""
        await asyncio.to_thread(self._show, request)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._answers[request.number] = answer
        async with self._changed:
            self.waiting[request.number] = request
            self._changed.notify_all()
        looking = asyncio.create_task(self._watch_file(request.number))
        try:
            async with asyncio.timeout(self.patience):
                return await answer
        except asyncio.CancelledError:
            self._name(request).with_suffix(".cancelled").write_text("The agent does not wait any longer.\n")
            raise
        except TimeoutError as error:
            raise NoAnswer(f"Nobody answered request {request.number} in {self.patience:g} s.") from error
        finally:
            del self.waiting[request.number], self._answers[request.number]
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    def put(self, number: int, text: str) -> None:
        """Answer a request. Raises UnreadableAnswer, and KeyError if it does not wait."""
        reply, answer = parse_answer(text), self._answers[number]
        if answer.done():
            raise KeyError(number)
        answer.set_result(reply)

    async def next(self) -> ModelRequest:
        """Wait for the oldest unanswered request."""
        async with self._changed:
            await self._changed.wait_for(self._unanswered)
            return self.waiting[self._unanswered()[0]]

    def _unanswered(self) -> list[int]:
        return sorted(number for number in self.waiting if not self._answers[number].done())

    def _show(self, request: ModelRequest) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = self._name(request)
        name.with_suffix(".json").write_text(json.dumps(request.body, indent=1, ensure_ascii=False))
        name.with_suffix(".md").write_text(request.render())

    def _name(self, request: ModelRequest) -> Path:
        return self.folder / f"{request.number:04d}-{request.purpose}"

    async def _watch_file(self, number: int) -> None:
        """Take the answer from its file once that is unchanged between two looks."""
        path, before, refused = self.folder / f"{number:04d}.answer", "", ""
        while True:
            text = await asyncio.to_thread(lambda: path.read_text() if path.exists() else "")
            if text and text == before != refused:
                try:
                    self.put(number, text)
                except UnreadableAnswer as error:
                    refused = text
                    await asyncio.to_thread(path.with_suffix(".problem").write_text, f"{error}\n")
                else:
                    return
            before = text
            await asyncio.sleep(LOOK_EVERY)

    def add_routes(self, app: web.Application) -> None:
        """Add the routes for programs."""
        app.router.add_get("/played/requests", self._list)
        app.router.add_get("/played/next", self._show_next)
        app.router.add_post("/played/requests/{number:\\d+}", self._take)

    async def _list(self, _: web.Request) -> web.Response:
        found = [self.waiting[number] for number in self._unanswered()]
        return web.json_response([{"number": one.number, "purpose": one.purpose} for one in found])

    async def _show_next(self, _: web.Request) -> web.Response:
        found = await self.next()
        headers = {"X-Number": str(found.number), "X-Purpose": found.purpose}
        return web.Response(text=found.render(), headers=headers)

    async def _take(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        try:
            self.put(number, await request.text())
        except UnreadableAnswer as error:
            return web.Response(status=400, text=f"{error}\n")
        except KeyError:
            return web.Response(status=404, text=f"Request {number} does not wait for an answer.\n")
        return web.Response(status=204)
