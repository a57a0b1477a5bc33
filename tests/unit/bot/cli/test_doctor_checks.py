"""Each thing that can be wrong here, and what `roebot doctor` says of it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import socket
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.cli.config import check_command
from bot.cli.doctor import Finding, agent, command, network, sharing
from bot.cli.doctor import home as doctor_home
from bot.cli.doctor.command import run_checks
from bot.cli.doctor.service import service
from bot.clock import SystemClock
from bot.config import Config
from bot.config.loader import load_file
from bot.features.backup.archive_commands import find_missing_backup
from bot.features.backup.backup import back_up
from bot.store import open_database
from bot.store.ownership import Ownership
from bot.store.replica_leases import Replica
from bot.store.schema_version import HEAD
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.credentials import SIGNED
from tests.harness.openid_provider import openid_provider
from tests.platforms.web.serving import serving, world

pytestmark = pytest.mark.may_block
PAGE = Path(__file__).parents[4] / "docs" / "howto" / "diagnose-problems.md"
DAY = 86_400.0


def config(folder: Path, text: str) -> Config:
    path = folder / "config.yaml"
    path.write_text(f"config_version: 1\n{text}\n")
    return load_file(path, {}, folder).config


def bad(findings: Iterator[Finding] | list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.good is False]


async def told(work: Callable[[], Iterator[Finding]]) -> list[Finding]:
    return await asyncio.to_thread(lambda: list(work()))


def test_a_home_that_cannot_be_written_to(tmp_path: Path) -> None:
    # Root writes everywhere but among the kernel's own files.
    home = tmp_path if os.geteuid() else Path("/proc/self")
    tmp_path.chmod(0o500)
    assert "Choose another folder with --home" in bad(doctor_home.usable(home))[0]
    tmp_path.chmod(0o700)


def test_a_home_that_somebody_holds_without_a_word(tmp_path: Path) -> None:
    assert list(doctor_home.held(tmp_path)) == []
    with (tmp_path / "service.lock").open("a+") as lock:
        assert list(doctor_home.held(tmp_path)) == []
        fcntl.flock(lock, fcntl.LOCK_EX)
        [text] = bad(doctor_home.held(tmp_path))
        assert f"holds {tmp_path}/service.lock" in text
        assert "another directory with --home" in text


def test_the_age_of_the_backup(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    now = time.time()
    assert list(find_missing_backup(home, now)) == []
    (home / "service.lock").touch()
    assert list(find_missing_backup(home, now)) == []
    [never] = find_missing_backup(home, now + 8 * DAY)
    assert (never.good, "`roebot backup` creates one" in never.text) == (None, True)
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    back_up(home, tmp_path / "a.tar.gz", lambda _: None)
    [fresh] = find_missing_backup(home, now)
    assert fresh.good is True
    [old] = find_missing_backup(home, now + 9 * DAY)
    assert old.good is None
    assert "9 days old; create a new one with `roebot backup`" in old.text


@pytest.mark.parametrize(("token", "is_short"), [("s3cret", True), ("0J9qv-Yk2sXw7_TnB4cD8eF1", False)])
def test_a_short_token_where_others_reach_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, is_short: bool
) -> None:
    monkeypatch.setattr(agent, "find_problems", lambda *_: [])
    monkeypatch.setattr(agent, "check_local_models", lambda *_: iter(()))
    config(tmp_path, f"server: {{port: 0, allowed_hosts: [a.example], token: {token}}}")
    found = [
        one for one in run_checks(tmp_path / "home", tmp_path / "config.yaml") if "[token-weak]" in one.text
    ]
    assert bool(found) is is_short
    assert all(one.good is False and "openssl rand" in one.text and token not in one.text for one in found)


def test_a_database_of_a_newer_version(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "bot.db")) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    [text] = bad(network.database(Config(), tmp_path))
    assert f"newer version of Roebot (schema 9999; this one supports {HEAD})" in text
    with closing(sqlite3.connect(tmp_path / "bot.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0003'")
    [found] = network.database(Config(), tmp_path)
    assert found.good is True
    assert f"the next start upgrades it from schema 0003 to {HEAD}" in found.text


def test_a_database_elsewhere_that_does_not_answer(tmp_path: Path) -> None:
    made = config(tmp_path, "database: {url: 'postgresql://roe:s3cret-word@127.0.0.1:9/roe'}")
    [text] = bad(network.database(made, tmp_path))
    assert text.startswith("database at 127.0.0.1 ")
    assert "s3cret-word" not in text
    assert "check that it is running and that database.url is correct" in text or "install it" in text


@pytest.mark.postgres
def test_data_that_is_not_in_the_database_yet(tmp_path: Path, postgres_url: str) -> None:
    made = config(tmp_path, f"database: {{url: '{postgres_url}'}}")
    assert bad(network.database(made, tmp_path)) == []
    for name, table, words in (("agent", "threads", "agent migrate"), ("bot", "turns", "migrate")):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
            connection.execute(f"CREATE TABLE {table} (id TEXT)")
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
            connection.execute(f"INSERT INTO {table} VALUES ('x')")
        [text] = bad(network.database(made, tmp_path))
        assert f"{name}.db in the data directory has {table}" in text
        assert f"`roebot {words} --to postgres`" in text
    elsewhere = config(
        tmp_path, f"database: {{url: '{postgres_url}'}}\nruntime: {{url: 'http://127.0.0.1:9'}}"
    )
    (tmp_path / "bot.db").unlink()
    assert bad(network.database(elsewhere, tmp_path)) == []


def test_a_replica_needs_a_name_and_a_database(tmp_path: Path) -> None:
    [text] = bad(sharing.replicas(Config(), tmp_path, "a"))
    assert "Set database.url" in text
    [text] = bad(sharing.replicas(Config(), tmp_path, "Host.Name"))
    assert "is not a name" in text
    assert list(sharing.replicas(Config(), tmp_path, "")) == []


@pytest.mark.postgres
async def test_the_replicas_on_the_database_are_listed(tmp_path: Path, postgres_url: str) -> None:
    made = config(tmp_path, f"database: {{url: '{postgres_url}'}}")
    assert await told(lambda: sharing.replicas(made, tmp_path, "")) == [], "nothing is in the database yet"
    database = await open_database(tmp_path, postgres_url)
    replicas = [Ownership(database, SystemClock(), Replica(name, name, "folder")) for name in ("b", "a")]
    for replica in replicas:
        await replica.start()
    running, note = await told(lambda: sharing.replicas(made, tmp_path, "a"))
    assert (running.good, running.text) == (True, "replicas that are running: a, b")
    assert note.good is None
    assert "server.public_url is not set" in note.text
    for replica in replicas:
        await replica.stop()
    assert await told(lambda: sharing.replicas(made, tmp_path, "")) == []
    await database.close()


async def test_an_identity_provider(tmp_path: Path) -> None:
    async with openid_provider() as provider:
        entry = f"oidc: {{issuer: '{provider.issuer}', client_id: roebot, client_secret: x}}"
        made = config(tmp_path, f"server: {{public_url: 'https://bot.example.org', {entry}}}")
        [found] = await told(lambda: sharing.sign_on(made))
        assert (found.good, found.text) == (True, f"sign-on: {provider.issuer} responds")
        provider.metadata["issuer"] = "https://other.example.org"
        private = config(tmp_path, f"server: {{{entry}}}")
        texts = bad(await told(lambda: sharing.sign_on(private)))
    assert "server.public_url is not set" in texts[0]
    assert "calls itself 'https://other.example.org'" in texts[1]
    [text] = bad(await told(lambda: sharing.sign_on(made)))
    assert text.startswith("sign-on: ")
    assert list(sharing.sign_on(Config())) == []


def test_a_runtime_elsewhere(tmp_path: Path) -> None:
    [text] = bad(network.runtime(config(tmp_path, "runtime: {url: 'http://127.0.0.1:9'}")))
    assert "start it, or correct runtime.url" in text
    assert list(network.runtime(Config())) == []


async def test_a_token_that_its_platform_refuses(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        entry = f"base_url: '{emulator.url}', bot_token"
        made = config(tmp_path, f"channels: {{telegram: {{{entry}: '1234:AAforged'}}}}")
        [text] = bad(await told(lambda: network.accounts(made)))
        assert "refuses the token" in text
        assert "AAforged" not in text
        made = config(tmp_path, f"channels: {{telegram: {{{entry}: '{emulator.token}'}}}}")
        found = await told(lambda: network.accounts(made))
        assert Finding(True, "account telegram (telegram) connects as @roebot_bot") in found


async def test_an_account_that_is_called_is_not_tried(tmp_path: Path) -> None:
    made = config(
        tmp_path,
        "channels: {telegram: {bot_token: '1:a', mode: webhook, webhook_url: 'https://a.example',"
        " webhook_secret: abc}}",
    )
    found = await told(lambda: network.accounts(made))
    assert Finding(True, "account telegram (telegram) can be loaded") in found


async def test_scopes_that_an_app_lacks(tmp_path: Path) -> None:
    async with SlackEmulator.serve() as emulator:
        emulator.world.scopes = emulator.world.scopes.replace("files:read,", "")
        made = config(
            tmp_path,
            f"channels: {{slack: {{base_url: '{emulator.url}', bot_token: '{emulator.bot_token}',"
            f" app_token: '{emulator.app_token}'}}}}",
        )
        [note] = [one for one in await told(lambda: network.accounts(made)) if one.good is None]
        assert note.text.startswith(
            "account slack (slack) connects as @roebot: the app lacks the scopes files:read"
        )
        assert "OAuth & Permissions" in note.text


@pytest.mark.parametrize(("ahead", "good"), [(0.0, True), (60.0, None), (-600.0, False)])
async def test_a_clock_that_is_off(tmp_path: Path, ahead: float, good: bool | None) -> None:
    async def answer(_: object) -> Response:
        return Response()

    async with serving(Starlette(routes=[Route("/", answer)])) as (url, _):
        made = config(tmp_path, f"channels: {{telegram: {{bot_token: '1:a', base_url: '{url}'}}}}")
        [found] = await told(lambda: network.clock(made, lambda: time.time() + ahead))
    assert found.good is good
    if good is not True:
        assert "timedatectl set-ntp true" in found.text
        assert ("behind" in found.text) is (ahead < 0)


@pytest.mark.parametrize(("failures", "good"), [(0, "none"), (1, None), (3, False)])
async def test_schedules_and_servers_of_tools_that_fail(failures: int, good: object) -> None:
    schedule = {"id": 4, "state": "active", "when": "daily 9:00", "account": "slack", "failures": failures}

    server = {"name": "board", "state": "unavailable", "detail": "no such program"}
    partial = {"name": "docs", "state": "idle", "detail": "get: bad schema"}

    def says(body: object) -> Callable[[object], Awaitable[Response]]:
        async def answer(_: object) -> Response:
            return JSONResponse(body)

        return answer

    app = Starlette(
        routes=[
            Route("/health/ready", says({})),
            Route("/api/channels", says({"channels": []})),
            Route("/api/models", says({"models": []})),
            Route("/api/config/problems", says({"problems": []})),
            Route("/api/mcp/servers", says({"servers": [server, partial]})),
            Route("/api/schedules", says({"schedules": [schedule], "next": None})),
        ]
    )
    async with serving(app) as (url, _):
        everything = await told(lambda: service(url, None))
    found = [one for one in everything if one.check == "schedule"]
    failed, left_out = [one for one in everything if one.check == "mcp"]
    assert failed.good is False
    assert failed.text.startswith("MCP server board: no such program; ")
    assert left_out.good is None
    assert left_out.text == "MCP server docs: tools that can't be used: get: bad schema"
    assert [one.good for one in found] == ([] if good == "none" else [good])
    assert all("schedule 4 (daily 9:00, slack)" in one.text for one in found)


async def test_the_schedules_of_a_real_service_are_asked_for(tmp_path: Path) -> None:
    async with world(tmp_path) as running, httpx.AsyncClient(base_url=running.url, headers=SIGNED) as http:
        answer = await http.get("/api/schedules", params={"limit": 200})
        assert answer.status_code == 200
        assert answer.json()["schedules"] == []


@pytest.mark.parametrize("in_a_file", [False, True], ids=["in the configuration", "in a file"])
def test_a_passport_that_is_too_old_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], in_a_file: bool
) -> None:
    passport = tmp_path / "passport.yaml"
    passport.write_text("{expires_at: 2020-01-01T00:00:00Z, capabilities: [{id: all, tools: ['*']}]}\n")
    policy = str(passport) if in_a_file else passport.read_text()
    provider = f"{{use: 'agent.guardrails:PolicyProvider', policy: {policy}}}"
    config(tmp_path, f"guardrails:\n  enabled: true\n  provider: {provider}")
    place = f"config.yaml:4: guardrails.provider.policy{'' if in_a_file else '.expires_at'}: "
    line = f"{place}the agent's passport has expired, so every call is denied; give it a later expires_at."
    found = list(agent.to_findings(agent.find_problems(tmp_path / "config.yaml", tmp_path / "home")))
    assert [(one.good, line in one.text) for one in found if "expired" in one.text] == [(None, True)]
    assert check_command(tmp_path / "home", tmp_path / "config.yaml") == 0
    [told] = [text for text in capsys.readouterr().out.splitlines() if "expired" in text]
    assert told.startswith("warning: ")
    assert told.endswith(line)


def test_what_one_model_lacks_is_said_when_it_is_asked() -> None:
    problem = {"where": "config.yaml:3: models[0]", "what": "its package is missing.", "serious": False}
    assert list(agent.to_findings([problem])) == []
    assert [one.good for one in agent.to_findings([problem | {"where": "sandbox"}])] == [None]


def test_a_skill_that_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "custom" / "lame"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("no front matter")
    found = [one for one in agent.to_findings(agent.find_problems(None, tmp_path)) if "lame" in one.text]
    assert [one.good for one in found] == [False]
    assert "Correct it, or remove its folder" in found[0].text


def test_a_file_of_mcp_servers_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "extensions_config.json").write_text("{")
    found = bad(agent.to_findings(agent.find_problems(None, tmp_path)))
    assert [text for text in found if "extensions_config.json" in text]


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        made = config(tmp_path, f"server: {{port: {taken.getsockname()[1]}}}")
        finding = command._port(made)
    assert finding.good is False
    assert "choose another port: set server.port" in finding.text


def test_every_check_has_a_name_that_the_page_explains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "find_problems", lambda *_: [])
    monkeypatch.setattr(agent, "check_local_models", lambda *_: iter([Finding(True, "model")]))
    config(tmp_path, "server: {port: 0}")
    names = {one.check for one in run_checks(tmp_path / "home", tmp_path / "config.yaml")}
    explained = set(re.findall(r"^\| `(\w+)` \| (?!what)", PAGE.read_text(), re.M))
    assert names <= explained
    assert explained == {
        *("machine", "home", "room", "backup", "configuration", "security", "database", "account", "port"),
        *("service", "runtime", "model", "mcp", "schedule", "clock", "platform", "replica", "sign_on"),
    }
