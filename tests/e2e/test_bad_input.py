"""What goes wrong at the start is told in one clear line, with a non-zero exit and without secrets."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.harness.forks import Program, Result, run

pytestmark = pytest.mark.may_block

MODEL = 'models: [{name: m, use: "roebot_testing.agent:ScriptedChatModel"}]\n'
ELSEWHERE = "runtime: {url: 'http://127.0.0.1:9'}\n"
"""A runtime that no command has to start."""
TOKEN = "123456:a-secret-token-that-must-not-show"


def roebot(*arguments: str, cwd: Path, timeout: float = 40.0) -> Result:
    """Run the command line to its end."""
    clean = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    return run(Program("bot.cli", arguments, cwd, clean), seconds=timeout)


def one_clear_line(done: Result, *words: str) -> None:
    """Non-zero, no traceback, no secret, and the words that help."""
    said = done.stdout + done.stderr
    assert done.returncode not in (0, None), said
    assert "Traceback" not in said, said
    assert TOKEN not in said
    for word in words:
        assert word in said, said


def test_a_corrupt_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "config.yaml").write_text(ELSEWHERE)
    (home / "bot.db").write_bytes(b"this is not a database at all" * 100)
    words = ("bot.db", "not a database", "backup")
    one_clear_line(roebot("run", "--home", str(home), "--port", "0", cwd=tmp_path), *words)
    one_clear_line(roebot("doctor", "--home", str(home), cwd=tmp_path), *words)


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(ELSEWHERE)
    (tmp_path / "home").write_text("x")
    for path in (tmp_path / "home", tmp_path / "home" / "below"):
        one_clear_line(roebot("run", "--home", str(path), "--port", "0", cwd=tmp_path), "a file", "--home")
        one_clear_line(roebot("doctor", "--home", str(path), cwd=tmp_path), str(path), "--home")


def test_a_port_that_another_roebot_has(tmp_path: Path) -> None:
    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"status": "ok"}')

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Healthy) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        (tmp_path / "config.yaml").write_text(f"{ELSEWHERE}server: {{port: {server.server_port}}}\n")
        done = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path)
        server.shutdown()
    one_clear_line(done, "a Roebot with a different data directory uses this port")


def test_the_version(tmp_path: Path) -> None:
    """Of the module as a program, which no other test here starts."""
    command = [sys.executable, "-m", "bot.cli", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=40)
    assert (done.returncode, done.stdout) == (0, f"roebot {version('roebot')}\n")


def test_a_database_of_a_later_version(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "config.yaml").write_text(ELSEWHERE)
    with closing(sqlite3.connect(home / "bot.db")) as database, database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('9999')")
    one_clear_line(roebot("run", "--home", str(home), "--port", "0", cwd=tmp_path), "bot.db", "newer")


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    one_clear_line(
        roebot("run", "--home", "/proc/roebot", "--port", "0", cwd=tmp_path), "/proc/roebot", "--home"
    )


def test_chat_with_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    one_clear_line(roebot("chat", "--home", "/proc/roebot", cwd=tmp_path), "/proc/roebot", "--home")


@pytest.mark.parametrize("platform", ["telegram", "slack", "feishu", "discord"])
def test_an_emulator_whose_port_is_taken(tmp_path: Path, platform: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = roebot("emulate", platform, "--port", port, cwd=tmp_path)
    one_clear_line(done, port, "--port")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(ELSEWHERE)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = roebot("run", "--home", str(tmp_path / "home"), "--port", port, cwd=tmp_path)
    one_clear_line(done, port, "--port")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("channels: {telegram: {bot_token: $NOT_SET_ANYWHERE}}", ("config.yaml:1", "NOT_SET_ANYWHERE")),
        ("config_version: 1\nserver: {prot: 1}", ("config.yaml:2", "prot")),
        ("server: [", ("config.yaml:1",)),
        ("checkpointer: {type: postgres}", ("not supported in this version",)),
        ('access: {owners: ["ann"]}', ("access.owners", "platform:id")),
        ("server: {host: 0.0.0.0, token: short}", ("server.token", "shorter than 24")),
        ("channels: {slack: {bot_token: xapp-1, app_token: xapp-1}}", ("bot_token", "xoxb-…")),
        ("channels: {slack: {bot_token: xoxb-1, app_token: xoxb-1}}", ("app_token", "xapp-…")),
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    (tmp_path / "config.yaml").write_text(text)
    one_clear_line(roebot("run", "--home", str(tmp_path / "home"), "--port", "0", cwd=tmp_path), *words)
    one_clear_line(roebot("config", "check", cwd=tmp_path), *words)


def test_a_secret_in_a_wrong_place_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"channels: {{telegram: {{bot_token: [{TOKEN}, x]}}}}")
    one_clear_line(roebot("config", "check", cwd=tmp_path), "bot_token")


def test_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"{MODEL}server: {{port: 0}}\n")
    good = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path)
    assert good.returncode == 0, good.stdout
    assert "Python 3." in good.stdout
    assert "no service is running here" in good.stdout
    (tmp_path / "config.yaml").write_text("server: {prot: 1}")
    bad = roebot("doctor", "--home", str(tmp_path / "home"), cwd=tmp_path)
    assert bad.returncode == 1
    assert "prot" in bad.stdout


def test_manifest_and_schema_print(tmp_path: Path) -> None:
    assert "BotFather" in roebot("manifest", "telegram", cwd=tmp_path).stdout
    assert '"$schema"' in roebot("config", "schema", cwd=tmp_path).stdout
    one_clear_line(roebot("manifest", "pigeon", cwd=tmp_path), "no platform pigeon", "discord, feishu")


def test_upgrade_without_a_file(tmp_path: Path) -> None:
    one_clear_line(roebot("config", "upgrade", cwd=tmp_path), "no config.yaml")


def test_upgrade_of_an_old_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# mine\nchannels:\n  telegram: {token: $T, enabled: false}\n")
    done = roebot("config", "upgrade", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "config.yaml").read_text()
    assert text.startswith("# mine")
    assert "bot_token: $T" in text


def test_stop_without_a_service(tmp_path: Path) -> None:
    done = roebot("stop", "--home", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (
        0,
        f"roebot: no service is running with the data directory {tmp_path}",
    )


def test_a_configuration_whose_names_lead_nowhere(tmp_path: Path) -> None:
    """`config check` and `doctor` name the tool, the guardrail and the agent, with their places."""
    agent = tmp_path / "home" / "agents" / "lame"
    agent.mkdir(parents=True)
    (agent / "config.yaml").write_text("model: gone\n")
    (tmp_path / "config.yaml").write_text(
        f"{MODEL}tools: [{{name: lookup, group: company, use: 'my_package.tools:lookup'}}]\n"
        "guardrails:\n  enabled: true\n"
        f"  provider: {{use: 'agent.guardrails:AllowlistProvider', no: '{TOKEN}'}}\n"
        "server: {port: 0}\n"
    )
    told = (
        'config.yaml:2: tools[0]: The tool "lookup" can\'t be loaded: There is no module my_package',
        "config.yaml:5: guardrails.provider: The settings of the guardrail",
        'agents/lame: The agent "lame" can\'t be used: agents/lame/config.yaml: model: there is no model',
    )
    home = str(tmp_path / "home")
    one_clear_line(roebot("config", "check", "--home", home, cwd=tmp_path), *told)
    one_clear_line(roebot("doctor", "--home", home, cwd=tmp_path), *(f"FAIL {line}" for line in told))
    (tmp_path / "config.yaml").write_text(f"{MODEL}channels: {{web: {{agent: nosuch}}}}\n")
    words = ("config.yaml:2: channels.web.agent: unknown agent; expected lame",)
    one_clear_line(roebot("config", "check", "--home", home, cwd=tmp_path), *words)
    one_clear_line(roebot("run", "--home", home, cwd=tmp_path), *words)
