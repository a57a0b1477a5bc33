"""The simulated week at work: the bot's whole composition over recorded platforms and a scripted agent,
killed and built anew on the same home, on one clock that jumps from one thing to the next.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from agent.shared.live_token import LiveToken
from bot.app.accounts import load_manifest
from bot.app.home import prepare_home
from bot.app.service import StartOptions
from bot.config import load_config
from bot.platforms.discord.renderer import DISCORD
from bot.platforms.feishu.renderer import FEISHU
from bot.platforms.manifest import Operation
from bot.platforms.slack.renderer import SLACK
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.render.renderer import Renderer
from bot.store.database import SqliteDatabase
from roebot_testing.clock import ManualClock
from tests.harness.credentials import SERVICE_TOKEN
from tests.week.agent import Agent
from tests.week.complaints import listening
from tests.week.digests import BEGIN
from tests.week.people import Action, Crowd
from tests.week.plan import DAY, HOUR, Week
from tests.week.platforms import Platform
from tests.week.service_life import AtOnce, Life
from tests.week.team import PLATFORMS, access
from tests.week.trouble import Event, Trouble, troubles

RENDERERS: dict[str, Renderer] = {
    "telegram": TELEGRAM_ENTITIES,
    "slack": SLACK,
    "feishu": FEISHU,
    "discord": DISCORD,
}
CONFIG = f"""
config_version: 1
runtime: {{url: "http://127.0.0.1:9"}}
server: {{port: 0}}
channels:
  web: {{enabled: false}}
  terminal: {{enabled: false}}
  telegram: {{bot_token: "123:abc"}}
  slack: {{bot_token: "xoxb-1", app_token: "xapp-1"}}
  feishu: {{app_id: cli_1, app_secret: secret, locale: zh, access: {{default: closed}}}}
  discord: {{bot_token: abc, busy: interrupt, access: {{default: closed}}}}
{access()}
"""
DRAIN = DAY + 2.1 * HOUR
"""Nobody writes any more for so long: an approval is open for a day."""
ATTENTIVE, CALM = 2.0, 20.0
"""The longest steps of the clock while a death is on its way or something waits, and otherwise."""
SEVERAL = 3
"""Chats that a platform penalizes at once."""


class Stage:
    """One week. `run` plays it; what it leaves behind is judged by `tests.week.report`."""

    def __init__(self, home: Path, week: Week) -> None:
        self.home = home
        self.week = week
        self.clock = ManualClock(BEGIN)
        self.end = BEGIN + week.days * DAY
        self.agent = Agent(self.clock, random.Random(week.seed + 2))
        self.crowd = Crowd(self, random.Random(week.seed + 3))
        self.platforms = {name: self._platform(name, number) for number, name in enumerate(PLATFORMS)}
        self.complaints: list[dict[str, Any]] = []
        self.troubles: Counter[str] = Counter()
        self.absences: list[tuple[float, float]] = []
        """From when to when there was no bot."""
        self.outages: list[tuple[float, float]] = []
        """From when to when there was no agent."""
        self.in_trouble: list[tuple[str, float, float]] = []
        """The accounts that were limited or cut off alone, from when to when."""
        self._chance = random.Random(week.seed + 4)
        self._agenda: list[tuple[float, int, Action]] = []
        self._numbers = itertools.count()
        self._life: Life | None = None
        self._armed: Event | None = None
        self._died = 0.0

    def _platform(self, name: str, number: int) -> Platform:
        return Platform(
            name,
            load_manifest(name),
            RENDERERS[name],
            self.clock,
            random.Random(self.week.seed + 10 + number),
            self.crowd.asked,
            repeats_safely=name != "telegram",
        )

    def plan(self, at: float, action: Action) -> None:
        """Have something happen at that time."""
        heapq.heappush(self._agenda, (at, next(self._numbers), action))

    async def run(self) -> None:
        """Play the week, and what it takes until all of it has come to an end."""
        asyncio.get_running_loop().set_default_executor(AtOnce(1))
        with listening() as self.complaints:
            await self._play()

    async def _play(self) -> None:
        await self._prepare()
        await self._begin()
        for act in self.week.acts:
            self.plan(BEGIN + act.at, partial(self.crowd.does, act))
        for event in troubles(self.week.seed, self.week.days):
            self.plan(BEGIN + event.at, partial(self._strikes, event))
        self.plan(self.end, self._calm)
        last = self.end + DRAIN
        while self._agenda or self.clock.now() < last:
            at = self._agenda[0][0] if self._agenda else last
            while (left := at - self.clock.now()) > 0:
                await self.clock.advance(min(left, self._step()))
                await self._look()
                at = min(at, self._agenda[0][0]) if self._agenda else at
            if self._agenda and self._agenda[0][0] <= self.clock.now():
                await heapq.heappop(self._agenda)[2]()
                await self._look()
        await self._finish()

    async def _prepare(self) -> None:
        prepare_home(self.home)
        path = self.home / "config.yaml"
        path.write_text(CONFIG)
        self._settings = StartOptions(
            self.home, load_config(path, {}, self.home), path, {}, self.home, LiveToken(SERVICE_TOKEN)
        )
        database = SqliteDatabase(self.home / "bot.db")
        await database.open()
        await database.close()

    async def _finish(self) -> None:
        assert self._life is not None
        await self._life.stops()
        await self.agent.ends()

    def _step(self) -> float:
        waits = any(platform.waiting for platform in self.platforms.values())
        return ATTENTIVE if self._armed or (waits and self._life is not None) else CALM

    async def _look(self) -> None:
        """Bury a bot that has died, and hand over what waits for one that lives."""
        life = self._life
        if life is not None and life.dead:
            assert self._armed is not None, "nobody killed it"
            self.troubles[self._armed.trouble] += 1
            await self._gone(life, self._armed.seconds)
            return
        for platform in self.platforms.values():
            await platform.deliver()

    # Lives

    async def _begin(self) -> None:
        if self._died:
            self.absences.append((self._died, self.clock.now()))
        self._life = Life(self._settings, self.clock, self.agent, self.platforms)
        await self.clock.run_ready()

    async def _gone(self, life: Life, seconds: float, *, killed: bool = True) -> None:
        await life.buried()
        if killed:
            self._unrecorded(life)
        self._life = self._armed = None
        self._died = self.clock.now()
        for platform in self.platforms.values():
            platform.line = None
        self.plan(self._died + seconds, self._begin)

    def _unrecorded(self, life: Life) -> None:
        """What the platforms answered to posts, and the bot died before it could write it down."""
        with closing(sqlite3.connect(self.home / "bot.db")) as database:
            found = {
                (str(turn), post) for turn, post in database.execute("SELECT turn_id, platform_id FROM parts")
            }
        for recorder in life.recorders.values():
            recorder.forgets(found)

    # Trouble

    async def _strikes(self, event: Event) -> None:
        life, trouble = self._life, event.trouble
        if life is None:
            return
        if trouble is Trouble.KILL_AT_STEP and event.step is not None:
            life.dies_at(event.step)
            self._armed = event
            return
        if trouble is Trouble.KILL_AT_WRITE:
            life.database.dies_in, life.database.commits = event.count, self._chance.random() < 0.5
            self._armed = event
            return
        self.troubles[trouble] += 1
        if trouble in (Trouble.KILL, Trouble.SHUTDOWN):
            if trouble is Trouble.SHUTDOWN:
                await life.stops()
            await self._gone(life, event.seconds, killed=trouble is Trouble.KILL)
        elif trouble is Trouble.AGENT:
            await self._agent_away(event.seconds)
        elif trouble is Trouble.ACCOUNT:
            self._in_trouble(event.where, event.seconds)
            life.recorders[event.where].breaks()
        elif trouble is Trouble.LIMITED:
            self._in_trouble(event.where, event.seconds)
            self.platforms[event.where].limited_until = self.clock.now() + event.seconds
        else:
            self._penalize(self.platforms[event.where], event.seconds)

    def _in_trouble(self, account: str, seconds: float) -> None:
        self.in_trouble.append((account, self.clock.now(), self.clock.now() + seconds))

    async def _agent_away(self, seconds: float) -> None:
        async def back() -> None:
            self.agent.returns()

        if not self.agent.down:
            now = self.clock.now()
            self.agent.dies()
            self.outages.append((now, now + seconds))
            self.plan(now + seconds, back)

    def _penalize(self, platform: Platform, seconds: float) -> None:
        recent = dict.fromkeys(call.chat for call in platform.calls[-50:] if call.operation is Operation.POST)
        for chat in [*recent][-SEVERAL:]:
            platform.penalties[chat] = self.clock.now() + seconds

    async def _calm(self) -> None:
        """The week is over, and with it what goes wrong."""
        for platform in self.platforms.values():
            platform.calm = True
        if self._armed is not None and self._life is not None:
            self._armed = None
            self._life.spared()
