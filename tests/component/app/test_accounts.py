"""Each account alone: states from real signals, back-off, restart, a changed configuration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from bot.account_state import AccountState, Live
from bot.app.accounts import BACKOFF, AccountDirectory, load_factory, load_manifest
from bot.bus.message_bus import AccountInbox
from bot.config import AccountConfig
from bot.config.platforms import find_schema
from bot.errors import AccountLost, AccountRefused, StartError
from bot.platforms.base import AdapterContext, CommandHint
from bot.platforms.local.account import WebAccount
from bot.platforms.manifest import Manifest
from bot.store.ownership import Ownership
from bot.store.person_data import PersonKey
from roebot_testing.adapter import MANIFEST, RecordingAdapter
from roebot_testing.clock import ManualClock
from tests.harness.plugins import PIGEON, Install, plugin_packages


class Moody(RecordingAdapter):
    """Fails as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.moods: list[Exception] = []
        self.starts = 0
        self.hangs = False
        self.forgotten: list[str] = []
        self._begun: asyncio.Task[None] | None = None

    async def start(self, context: AdapterContext) -> None:
        self.starts += 1
        if self.hangs:
            self.hangs, self._begun = False, asyncio.current_task()
            await asyncio.get_running_loop().create_future()
        if self.moods:
            raise self.moods.pop(0)
        await super().start(context)

    def forget_person(self, person: str) -> None:
        self.forgotten.append(person)

    async def stop(self) -> None:
        if self._begun is not None:
            self._begun.cancel()
        await super().stop()


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Moody:
    """The adapter that every account gets."""
    moody = Moody()
    monkeypatch.setattr("bot.app.accounts.load_manifest", lambda _platform: MANIFEST)
    monkeypatch.setattr("bot.app.accounts.load_factory", lambda _manifest: lambda _name, _config: moody)
    return moody


@asynccontextmanager
async def running(directory: AccountDirectory) -> AsyncIterator[None]:
    work = asyncio.create_task(directory.run(lambda _account: [CommandHint("help", "h")]))
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def sole_owner(clock: ManualClock) -> Ownership:
    """The ownership of a service without replicas, which needs no database."""
    nothing: Any = None
    return Ownership(nothing, clock)


def directory(clock: ManualClock) -> AccountDirectory:
    made = AccountDirectory(clock, sole_owner(clock))
    made.add_account(WebAccount(), inbox())
    return made


def inbox() -> AccountInbox:
    nothing: Any = None
    return AccountInbox("web", nothing, nothing, nothing)


async def test_a_restart_while_an_account_begins_starts_it_anew(adapter: Moody, clock: ManualClock) -> None:
    """What is cut off while it connects ends cancelled; its supervisor goes on."""
    adapter.hangs = True
    accounts = directory(clock)
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("web").live is Live.CONNECTING
        assert accounts.restart("web")
        await clock.run_ready()
        assert accounts.state("web").live is Live.LIVE
        assert adapter.starts == 2


async def test_a_live_account_is_ready_and_has_its_menu(adapter: Moody, clock: ManualClock) -> None:
    accounts = directory(clock)
    seen: list[Live] = []
    accounts.watch_states(lambda _name, state: seen.append(state.live))
    assert accounts.state("web").live is Live.CONNECTING
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("web").live is Live.LIVE
        assert accounts.state("web").identity == "@recorder"
        channel = accounts.get("web")
        assert channel is not None
        assert channel.ready.is_set()
        assert [hint.name for hint in adapter.commands] == ["help"]
    assert seen[0] is Live.LIVE


async def test_a_lost_account_backs_off_and_comes_back(adapter: Moody, clock: ManualClock) -> None:
    adapter.moods = [AccountLost("no network"), AccountLost("no network")]
    accounts = directory(clock)
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("web") == AccountState(Live.FAILED, "no network", since=clock.now())
        await clock.advance(BACKOFF[0] + 0.1)
        assert adapter.starts == 2
        await clock.advance(BACKOFF[1] + 0.1)
        assert adapter.starts == 3
        assert accounts.state("web").live is Live.LIVE


async def test_a_refused_account_waits_for_a_person(adapter: Moody, clock: ManualClock) -> None:
    adapter.moods = [AccountRefused("bad token")]
    accounts = directory(clock)
    async with running(accounts):
        await clock.advance(10_000.0)
        assert adapter.starts == 1
        assert accounts.state("web").reason == "bad token"
        assert accounts.restart("web")
        await clock.run_ready()
        assert accounts.state("web").live is Live.LIVE
        assert not accounts.restart("nobody")


async def test_a_crash_inside_an_adapter_stays_its_own(adapter: Moody, clock: ManualClock) -> None:
    adapter.moods = [KeyError("bug")]
    accounts = directory(clock)
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("web").reason == "internal error (KeyError)"
        await clock.advance(BACKOFF[0] + 0.1)
        assert accounts.state("web").live is Live.LIVE


async def test_a_restart_of_a_live_account(adapter: Moody, clock: ManualClock) -> None:
    accounts = directory(clock)
    async with running(accounts):
        await clock.run_ready()
        accounts.restart("web")
        await clock.run_ready()
        assert adapter.starts == 2
        assert accounts.state("web").live is Live.LIVE


async def test_a_penalty_shows_as_limited(adapter: Moody, clock: ManualClock) -> None:
    from bot.domain import ChatKind, ReplyAddress

    accounts = directory(clock)
    async with running(accounts):
        await clock.settle()
        channel = accounts.get("web")
        assert channel is not None
        channel.governor.add_penalty(ReplyAddress("web", "c", ChatKind.PRIVATE), 30.0)
        assert accounts.state("web").live is Live.LIMITED
        assert "30 s" in accounts.state("web").reason


async def test_the_time_of_the_connection_outlasts_a_limit(adapter: Moody, clock: ManualClock) -> None:
    adapter.moods = [AccountLost("no network")]
    accounts = directory(clock)
    channel = accounts.get("web")
    assert channel is not None
    async with running(accounts):
        await clock.run_ready()
        assert [channel.connected_at] == [None]
        await clock.advance(BACKOFF[0] + 0.1)
        connected = channel.connected_at
        assert connected is not None and adapter.context is not None
        for live in (Live.LIMITED, Live.LIVE):
            await clock.advance(60.0)
            adapter.context.report(AccountState(live))
            assert channel.connected_at == connected
        for live in (Live.DEAF, Live.LIMITED):
            adapter.context.report(AccountState(live))
            assert [channel.connected_at] == [None], "nothing is received"
        adapter.context.report(AccountState(Live.LIVE))
        assert channel.connected_at == clock.now()


async def test_accounts_come_and_go_with_the_configuration(adapter: Moody, clock: ManualClock) -> None:
    class Bus:
        def open_inbox(self, _name: str, _admissions: object) -> AccountInbox:
            return inbox()

    def other() -> AccountConfig:
        return AccountConfig(name="second", platform="web")

    accounts = directory(clock)
    rules: Any = lambda _config: None  # noqa: E731
    bus: Any = Bus()
    async with running(accounts):
        await clock.run_ready()
        accounts.apply_config([WebAccount(), other()], rules, bus)
        await clock.run_ready()
        assert accounts.state("second").live is Live.LIVE
        accounts.apply_config([WebAccount(model="m")], rules, bus)
        await clock.run_ready()
        assert accounts.get("second") is None
        assert accounts.state("second").reason == "not in the configuration"
        assert adapter.starts == 3


async def test_what_is_not_enabled_shows_as_stopped(adapter: Moody, clock: ManualClock) -> None:
    accounts = directory(clock)
    off = WebAccount(enabled=False)
    nothing: Any = None
    async with running(accounts):
        await clock.run_ready()
        accounts.apply_config([off], nothing, nothing)
        await clock.run_ready()
        assert accounts.get("web") is None
        assert accounts.states()["web"] == ("web", accounts.state("web"))
        assert accounts.state("web").live is Live.STOPPED
        assert "not enabled" in accounts.state("web").reason
        assert not accounts.restart("web")


async def test_an_account_that_comes_back_waits_for_its_former_life(
    adapter: Moody, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply that is under way keeps its channel, and meets the new adapter there."""
    let_go = asyncio.Event()

    class Slow(Moody):
        async def stop(self) -> None:
            await let_go.wait()
            await super().stop()

    class Bus:
        def open_inbox(self, _name: str, _admissions: object) -> AccountInbox:
            return inbox()

    bus: Any = Bus()
    rules: Any = lambda _config: None  # noqa: E731
    made: list[Moody] = []

    def make(_name: str, _config: AccountConfig) -> Moody:
        made.append(Moody() if made else Slow())
        return made[-1]

    monkeypatch.setattr("bot.app.accounts.load_factory", lambda _manifest: make)
    accounts = directory(clock)
    async with running(accounts):
        await clock.run_ready()
        before = accounts.get("web")
        accounts.apply_config([], rules, bus)
        assert before is not None and not before.ready.is_set()
        assert accounts.apply_config([WebAccount()], rules, bus)
        await clock.run_ready()
        assert made[1].starts == 0
        let_go.set()
        await clock.run_ready()
        assert made[1].starts == 1
        assert accounts.get("web") is before
        assert before.adapter is made[1]
        assert not accounts.apply_config([WebAccount()], rules, bus)


def test_an_erased_person_is_forgotten_on_their_platform(adapter: Moody, clock: ManualClock) -> None:
    accounts = directory(clock)
    accounts.forget_person(PersonKey("web", "7"))
    accounts.forget_person(PersonKey("slack", "8"))
    assert adapter.forgotten == ["7"]


@pytest.mark.may_block
async def test_an_account_that_cannot_be_loaded_leaves_the_others(clock: ManualClock) -> None:
    accounts = AccountDirectory(clock, sole_owner(clock))
    assert accounts.add_account(AccountConfig(name="x", platform="carrier-pigeon"), inbox()) is None
    assert accounts.state("x").live is Live.FAILED
    assert "no platform carrier-pigeon" in accounts.states()["x"][1].reason


def test_a_missing_sdk_names_what_to_install(tmp_path: Path) -> None:
    manifest = Manifest("p", "Pigeon", "bot.no_such_module:create", "pigeon", ())
    with pytest.raises(
        StartError, match=r"then restart the service: .*python\S* -m pip install 'roebot\[pigeon\]'"
    ):
        load_factory(manifest)


@pytest.mark.parametrize("platform", ["telegram", "web", "terminal"])
def test_every_platform_has_manifest_and_factory(platform: str) -> None:
    manifest = load_manifest(platform)
    assert manifest.platform == platform
    assert all(budget.count > 0 and budget.period > 0 and budget.source for budget in manifest.budgets)
    assert callable(load_factory(manifest))


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    with plugin_packages(tmp_path) as installs:
        yield installs


def _pigeon(name: str = "pigeon") -> AccountConfig:
    schema = find_schema("pigeon")
    assert schema is not None
    return schema.model_validate({"name": name, "platform": "pigeon", "ring": "DE-1"})


@pytest.mark.may_block
async def test_an_account_of_a_plugin_runs(clock: ManualClock, install: Install) -> None:
    install("pigeons", pigeon="pigeons:PLATFORM")
    accounts = AccountDirectory(clock, sole_owner(clock))
    assert accounts.add_account(_pigeon(), inbox()) is not None
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("pigeon").live is Live.LIVE
    [offer] = [offer for offer in accounts.offers() if offer.name == "pigeon"]
    assert (offer.manifest.title, offer.keys) == ("Carrier pigeon", {"ring": "PIGEON_RING"})


@pytest.mark.may_block
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"pigeon"', '"dove"', 'must have the default "pigeon"'),
        ("return {", "return 1 / 0, {", "can't be used: ZeroDivisionError"),
        ('platform="pigeon"', 'platform="dove"', 'its manifest names the platform "dove"'),
        ("Manifest(\n", "dict(\n", "with a Manifest"),
        ("pigeons:create", "pigeons:missing", "Carrier pigeon cannot be loaded"),
        ("pigeons:create", "no_such:create", "needs the package no_such. Reinstall pigeons 1.0"),
        ("return RecordingAdapter(name)", "return None", "its factory returned no adapter"),
        ("return RecordingAdapter(name)", "raise KeyError('x')", "internal error (KeyError)"),
    ],
)
async def test_a_broken_plugin_stops_no_other_account(
    clock: ManualClock, install: Install, old: str, new: str, reason: str
) -> None:
    assert old in dedent(PIGEON)
    install("pigeons", dedent(PIGEON).replace(old, new), pigeon="pigeons:PLATFORM")
    accounts = AccountDirectory(clock, sole_owner(clock))
    assert accounts.add_account(_pigeon(), inbox()) is None
    accounts.add_account(WebAccount(), inbox())
    async with running(accounts):
        await clock.run_ready()
        assert accounts.state("web").live is Live.LIVE
        assert accounts.state("pigeon").live is Live.FAILED
        assert reason in accounts.state("pigeon").reason


async def test_an_account_that_cannot_be_made_again_fails_alone(
    adapter: Moody, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_name: str, _config: AccountConfig) -> Moody:
        raise KeyError("bug")

    accounts = directory(clock)
    nothing: Any = lambda _config: None  # noqa: E731
    async with running(accounts):
        await clock.run_ready()
        monkeypatch.setattr("bot.app.accounts.load_factory", lambda _manifest: fails)
        accounts.apply_config([WebAccount(model="m")], nothing, nothing)
        await clock.run_ready()
        assert accounts.state("web").live is Live.FAILED
        assert accounts.state("web").reason == "internal error (KeyError)"
        assert accounts.get("web") is None
        monkeypatch.setattr("bot.app.accounts.load_factory", lambda _manifest: lambda _name, _config: adapter)

        class Bus:
            def open_inbox(self, _name: str, _admissions: object) -> AccountInbox:
                return inbox()

        bus: Any = Bus()
        assert accounts.apply_config([WebAccount()], nothing, bus)
        await clock.run_ready()
        assert accounts.state("web").live is Live.LIVE
