"""One service with a chat for each scenario on every platform, and real Alertmanagers that report to it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from starlette.requests import Request

from bot.dispatch.reply.diff import REPEATED_MARK
from roebot_testing.emulators.http import answer_bytes
from roebot_testing.emulators.server import LoopbackServer, Receive, Scope, Send
from tests.alertmanager.programs import SECRET, Monitoring, monitoring
from tests.faults.chats import SCALE, connection
from tests.harness.machine import Deadline
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.wires import WIRES, Standing, Wire

SECONDS = 45.0
ACTIVE, SILENT, RESOLVED = "🔴", "⚪", "🟢"
_HEAD = re.compile(r"(\S+) Incident (\d+) [^:.]+([:.])")


@dataclass
class Line:
    """What lies between the Alertmanagers and the service: it passes requests on byte for byte.

    `url` is the service ("" while there is none), `answers` has the path, body and status of each request.
    """

    url: str = ""
    answers: list[tuple[str, str, int]] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    """Words; a request whose body contains one is passed on, but its sender waits in vain for the answer."""
    kills_after: int = 0
    """The service is killed when it has accepted so many more requests (0: never), before the last sender is
    answered."""
    kill: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._server = LoopbackServer(self)

    def address(self, platform: str) -> str:
        """The address of a source."""
        return f"{self._server.url}/events/{platform}"

    def list_bodies(self, scenario: str, platform: str) -> list[str]:
        """The bodies about a scenario that arrived for a platform, in order."""
        path = f"/events/{platform}"
        return [body for at, body, _ in self.answers if at == path and f'"{scenario}"' in body]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen while the block runs."""
        async with self._server.running(), httpx.AsyncClient(trust_env=False, timeout=SECONDS) as self._http:
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; cut the connection if there is no service, as its machine would."""
        request = Request(scope, receive)
        body = await request.body()
        headers = {name: request.headers[name] for name in ("content-type", "authorization")}
        try:
            answer = await self._http.post(f"{self.url}{scope['path']}", content=body, headers=headers)
        except (httpx.TransportError, httpx.UnsupportedProtocol):
            await self._server.abort(scope, receive)
            return
        text = body.decode()
        self.answers.append((scope["path"], text, answer.status_code))
        if self.kills_after == 1:
            self.url, self.kills_after = "", 0
            self.kill()
            await self._server.abort(scope, receive)
            return
        self.kills_after = max(0, self.kills_after - 1)
        if any(word in text for word in self.held):
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await answer_bytes(send, answer.status_code, answer.content, b"application/json")


@dataclass(frozen=True)
class Chat:
    """What a chat shows: the marks and texts of the cards, and the marks of the news below them.

    `repeats` are messages marked as possible repetitions, which are in neither.
    """

    cards: Sequence[tuple[str, str]]
    news: Sequence[str]
    repeats: Sequence[str]

    @classmethod
    def read(cls, standing: Sequence[Standing]) -> Chat:
        """Read the messages of a chat."""
        cards: list[tuple[str, str]] = []
        news: list[str] = []
        repeats: list[str] = []
        for one in standing:
            text = one.text.removeprefix(REPEATED_MARK).strip().replace("*", "").replace("`", "")
            found = _HEAD.match(text)
            assert found, f"an unexpected message: {one}"
            is_card = found[3] == ":"
            if one.text.startswith(REPEATED_MARK) and (cards if is_card else news):
                repeats.append(text)
            elif is_card:
                cards.append((found[1], text))
            else:
                news.append(found[1])
        return cls(cards, news, repeats)

    def shows(self, state: str, lines: Sequence[str]) -> bool:
        """Return whether the newest card has a state and lines, and the news end with the state."""
        if not self.cards or self.cards[-1][0] != state:
            return False
        return all(line in self.cards[-1][1] for line in lines) and self.news[-1:] in ([], [state])

    @property
    def is_right(self) -> bool:
        """Return whether there is one card, and no state in the news twice in a row."""
        return len(self.cards) == 1 and all(one != other for one, other in pairwise(self.news))


@dataclass
class Stage:
    """The platforms, the service and what reports to it."""

    wires: Mapping[str, Wire]
    chats: Mapping[tuple[str, str], str]
    line: Line
    service: ServiceProcess
    monitoring: Monitoring

    async def start(self) -> None:
        """Start the service."""
        self.line.url = ""
        self.service.start()
        self.line.url = (await self.service.ready(60.0)).url
        for wire in self.wires.values():
            await connection(wire, 60.0)

    def read(self, scenario: str) -> dict[str, Chat]:
        """What the chats of a scenario show, by platform."""
        chats = {name: self.chats[scenario, name] for name in self.wires}
        return {name: Chat.read(self.wires[name].standing(chat)) for name, chat in chats.items()}

    async def until(self, scenario: str, condition: Callable[[], object]) -> None:
        """Wait until a condition of a scenario holds."""
        deadline = Deadline(SECONDS)
        while not condition():
            assert not deadline.passed, self.explain(scenario)
            await asyncio.sleep(0.05)

    def explain(self, scenario: str) -> str:
        """What the chats of a scenario show, what arrived about it, and what the programs printed last."""
        chats = "\n".join(f"{name}: {chat}" for name, chat in self.read(scenario).items())
        [platform, *_] = self.wires
        bodies = [json.loads(one) for one in self.line.list_bodies(scenario, platform)]
        arrived = "\n".join(" | ".join(map(_summarize, one["alerts"])) for one in bodies)
        return "\n\n".join((chats, arrived, self.monitoring.logs(), self.service.log()))

    async def shows(
        self, scenario: str, state: str, *lines: str, news: int | None = None, repeats: int = 0
    ) -> None:
        """Wait until every platform shows the incident of a scenario in a state, with `news` messages about
        its changes below the card, and check that nothing is there twice.
        """

        def is_shown() -> bool:
            found = self.read(scenario).values()
            return all(one.shows(state, lines) and news in (None, len(one.news)) for one in found)

        await self.until(scenario, is_shown)
        self.check(scenario, repeats)

    def check(self, scenario: str, repeats: int = 0) -> None:
        """Check that nothing is in the chats of a scenario twice. `repeats`: how many marked repetitions may
        be where the platform can't tell.
        """
        for name, chat in self.read(scenario).items():
            assert chat.is_right, f"{name}: {chat}"
            assert len(chat.repeats) <= (repeats if self.wires[name].repeats else 0), f"{name}: {chat}"


def _summarize(alert: Mapping[str, Any]) -> str:
    return f"{alert['labels']['host']} {alert['status']} {alert['startsAt']} to {alert['endsAt']}"


def _configure(wires: Mapping[str, Wire], chats: Mapping[tuple[str, str], str]) -> str:
    accounts = "".join(f"  {name}: {{{wire.entry}}}\n" for name, wire in wires.items())
    sources = "".join(f"    {name}: {{type: alertmanager, secrets: {SECRET}}}\n" for name in wires)
    routes = "".join(
        f"    - {{source: {name}, match: {{scenario: {scenario}}}, account: {name}, chat: '{chat}'}}\n"
        for (scenario, name), chat in chats.items()
    )
    return (
        f"config_version: 1\n{MODEL}\nserver: {{port: 0}}\nchannels:\n{accounts}access: {{default: allow}}\n"
        f"events:\n  sources:\n{sources}  routes:\n{routes}"
    )


@asynccontextmanager
async def open_stage(folder: Path, scenarios: Sequence[str]) -> AsyncIterator[Stage]:
    """Start everything."""
    line = Line()
    async with AsyncExitStack() as stack:
        wires = {name: await stack.enter_async_context(kind.serve(SCALE)) for name, kind in WIRES.items()}
        chats = {(one, name): wire.group() for one in scenarios for name, wire in wires.items()}
        await stack.enter_async_context(line.running())
        receivers = [line.address(name) for name in wires]
        reporting = await stack.enter_async_context(monitoring(folder / "monitoring", receivers))
        program = "tests.harness.service_with_quick_incidents"
        service = ServiceProcess(folder / "home", _configure(wires, chats), program=program)
        line.kill = service.kill
        stage = Stage(wires, chats, line, service, reporting)
        await stage.start()
        yield stage
        assert service.stop() == 0, service.log()
