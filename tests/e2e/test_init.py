"""`roebot init` against an emulated platform: asked, tried, written; what is refused writes nothing."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from llmock.pytest_plugin import LLMock

from agent.catalog.source import configured_catalog
from agent.config.models import AgentConfig
from agent.config.secrets_file import read_secrets
from bot.app.home import write_service_file
from bot.cli.connect_probe import probe
from bot.config.loader import load_file
from bot.errors import StartError
from bot.platforms.telegram.account import TelegramAccount
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness import forks
from tests.harness.forks import Program, Result
from tests.harness.terminal import hear_interrupts, terminal

pytestmark = pytest.mark.may_block


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as running:
        yield running


def init(folder: Path, *arguments: str, said: str = "", **env: str) -> Result:
    own = ("_TOKEN", "_API_KEY", "ROEBOT_HOME")
    clean = {key: value for key, value in os.environ.items() if not key.endswith(own)}
    env = {**clean, "NO_PROXY": "127.0.0.1", **env}
    return forks.run(Program("bot.cli", ("init", *arguments), folder, env), said)


async def run(folder: Path, *arguments: str, said: str = "", **env: str) -> Result:
    return await asyncio.to_thread(lambda: init(folder, *arguments, said=said, **env))


async def test_from_nothing_to_a_configuration(tmp_path: Path, emulator: TelegramEmulator) -> None:
    emulator.people.says("I wrote early", user=7)
    done = await run(
        tmp_path,
        "telegram",
        "--base-url",
        emulator.url,
        said="987654321\n",
        TELEGRAM_BOT_TOKEN=emulator.token,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "@roebot_bot" in done.stdout
    assert "@BotFather" in done.stdout
    assert emulator.token not in done.stdout + done.stderr
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["channels"]["telegram"] == {"base_url": emulator.url, "bot_token": "$TELEGRAM_BOT_TOKEN"}
    assert data["access"]["owners"] == ["telegram:987654321"]
    assert emulator.queue.pending == 1, "what came in meanwhile is still to be received"
    assert "1. Start the service: " in done.stdout
    assert "/pair" not in done.stdout, "the owner is known"


async def test_a_typed_token_is_written_and_not_shown(tmp_path: Path, emulator: TelegramEmulator) -> None:
    (tmp_path / "config.yaml").write_text("config_version: 1\n# mine\nserver: {port: 0}\n")
    done = await run(
        tmp_path, "telegram", "--name", "team", "--base-url", emulator.url, said=f"{emulator.token}\nlater\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert emulator.token not in done.stdout + done.stderr
    text = (tmp_path / "config.yaml").read_text()
    assert "# mine" in text
    data = yaml.safe_load(text)
    assert data["channels"]["team"]["bot_token"] == "$TEAM_BOT_TOKEN"
    assert read_secrets(tmp_path / "config.yaml") == {"TEAM_BOT_TOKEN": emulator.token}
    assert data["channels"]["team"]["platform"] == "telegram"
    assert "access" not in data
    assert "`/pair CODE owner` in the web console" in done.stdout
    assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600
    assert "secrets.env, which only you can read." in done.stdout


async def test_a_file_without_a_secret_keeps_its_mode(tmp_path: Path, emulator: TelegramEmulator) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("config_version: 1\n")
    path.chmod(0o644)
    done = await run(
        tmp_path, "telegram", "--base-url", emulator.url, said="later\n", TELEGRAM_BOT_TOKEN=emulator.token
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.stat().st_mode & 0o777 == 0o644


async def test_every_other_byte_of_the_file_stays(tmp_path: Path, emulator: TelegramEmulator) -> None:
    path, before = tmp_path / "config.yaml", b"config_version: 1\r\n# mine\r\nserver:\r\n  port: 0\r\n"
    path.write_bytes(before)
    done = await run(
        tmp_path, "telegram", "--base-url", emulator.url, said="9\n", TELEGRAM_BOT_TOKEN=emulator.token
    )
    assert done.returncode == 0, done.stdout + done.stderr
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n")
    assert yaml.safe_load(after)["access"]["owners"] == ["telegram:9"]


async def test_a_file_in_another_encoding_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes("config_version: 1\n# f\xfcr uns\n".encode("latin-1"))
    done = await run(tmp_path)
    assert done.returncode == 2
    assert "config.yaml:2: is not UTF-8 text" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_second_account_while_the_first_ones_token_is_elsewhere(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    text = "config_version: 1\nchannels:\n  discord: {bot_token: $DISCORD_BOT_TOKEN}\n"
    (tmp_path / "config.yaml").write_text(text)
    done = await run(tmp_path, "telegram", "--base-url", emulator.url, said=f"{emulator.token}\nlater\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(yaml.safe_load((tmp_path / "config.yaml").read_text())["channels"]) == {"discord", "telegram"}


async def test_the_owner_of_a_second_account_is_saved_beside_the_first(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    (tmp_path / "config.yaml").write_text(
        "config_version: 1\nchannels:\n  slack: {bot_token: xoxb-a, app_token: xapp-a}\n"
        "access:\n  owners:\n    - slack:U0000001 # Ada\n"
    )
    done = await run(
        tmp_path, "telegram", "--name", "team", "--base-url", emulator.url, said=f"{emulator.token}\n9\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "config.yaml").read_text()
    assert "    - slack:U0000001 # Ada\n" in text
    assert yaml.safe_load(text)["access"]["owners"] == ["slack:U0000001", "team:9"]
    assert "/pair" not in done.stdout


async def test_the_same_bot_twice_is_refused_before_it_is_asked(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    (tmp_path / "config.yaml").write_text(
        f'config_version: 1\nchannels:\n  telegram: {{bot_token: "{emulator.token}"}}\n'
    )
    before = (tmp_path / "config.yaml").read_text()
    done = await run(
        tmp_path, "telegram", "--name", "team", "--base-url", emulator.url, said=f"{emulator.token}\nlater\n"
    )
    assert done.returncode == 2
    assert "channels.team" in done.stderr
    assert emulator.token not in done.stdout + done.stderr
    assert "Connecting to the platform" not in done.stdout
    assert (tmp_path / "config.yaml").read_text() == before


async def test_a_configuration_that_is_broken_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("server: {port: eighty}\n")
    done = await run(tmp_path)
    assert done.returncode == 2
    assert "config.yaml:1: server.port" in done.stderr
    assert "Platform (" not in done.stdout


async def test_ctrl_c_while_it_waits_writes_nothing(tmp_path: Path, emulator: TelegramEmulator) -> None:
    async with terminal(tmp_path, "init", "telegram", "--base-url", emulator.url) as shell:
        await shell.types(emulator.token, "token from @BotFather: ")
        await shell.types("", "Press Enter, or type your id or later: ")
        await shell.expects("Waiting for a message")
        assert await shell.interrupts() == 1
        assert "roebot: stopped; nothing was written" in shell.text
        assert "Traceback" not in shell.text
    assert list(tmp_path.iterdir()) == []


async def test_the_end_of_what_is_typed_writes_nothing(tmp_path: Path) -> None:
    done = await run(tmp_path, "slack", said="xoxb-a\n")
    assert done.returncode == 1
    assert (
        done.stderr.strip() == "roebot: input ended before all questions were answered; nothing was written"
    )
    assert list(tmp_path.iterdir()) == []


async def test_a_stranger_who_writes_first_is_not_the_owner(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    async with terminal(tmp_path, "init", "telegram", "--base-url", emulator.url) as shell:
        await shell.types(emulator.token, "token from @BotFather: ")
        await shell.types("", "Press Enter, or type your id or later: ")
        await shell.expects("Waiting for a message")
        emulator.people.says("I am\x1b[2J the owner", user=7)
        await shell.expects("(7) wrote: I am [2J the owner")
        await shell.types("", "Is that you? [y/N]: ")
        await shell.types("", "Wait for another message? [Y/n]: ")
        emulator.people.says("hello?", user=8)
        await shell.expects("(8) wrote: hello?")
        await shell.types("maybe", "Is that you? [y/N]: ")
        await shell.types("n", "Enter y or n [y/N]: ")
        await shell.types("", "Wait for another message? [Y/n]: ")
        emulator.people.says("me", user=8)
        await shell.expects("(8) wrote: me")
        await shell.types("y", "Is that you? [y/N]: ")
        await shell.types("", "Number (Enter for 1): ")
        await shell.types("n", "Start the service now? [Y/n]: ")
        assert await shell.ends() == 0
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["access"]["owners"] == ["telegram:8"]
    assert emulator.queue.pending == 3, "all are the service's to answer"


async def test_a_model_with_a_key_of_ones_own(
    tmp_path: Path, emulator: TelegramEmulator, llmock: LLMock
) -> None:
    llmock.fail(401, message="Incorrect API key")
    env = {"OPENAI_BASE_URL": llmock.base_url()}
    key = "sk-typed-0123456789"
    async with terminal(tmp_path, "init", "telegram", "--base-url", emulator.url, env=env) as shell:
        await shell.types(emulator.token, "token from @BotFather: ")
        await shell.types("later", "Press Enter, or type your id or later: ")
        await shell.types("99", "Number (Enter for 1): ")
        await shell.types("2", "Number (Enter for 1): ")
        await shell.types(key, "API key (OPENAI_API_KEY): ")
        await shell.expects("rejected the API key")
        await shell.types("n", "Use it anyway? [y/N]: ")
        llmock.reset()
        await shell.types("2", "Number (Enter for 1): ")
        await shell.types(key, "API key (OPENAI_API_KEY): ")
        await shell.types("n", "Start the service now? [Y/n]: ")
        assert await shell.ends() == 0
        assert key not in shell.text
    [model] = yaml.safe_load((tmp_path / "config.yaml").read_text())["models"]
    assert model["name"] == "openai"
    assert model["api_key"] == "$OPENAI_API_KEY"
    assert read_secrets(tmp_path / "config.yaml")["OPENAI_API_KEY"] == key
    assert load_file(tmp_path / "config.yaml", {}, tmp_path).config.models[0].name == "openai"


async def test_the_local_model_beside_a_providers_key(tmp_path: Path, emulator: TelegramEmulator) -> None:
    done = await run(
        tmp_path,
        "telegram",
        "--base-url",
        emulator.url,
        said=f"{emulator.token}\nlater\n2\n",
        OPENAI_API_KEY="sk-there-0123456789",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(OpenAI), from $OPENAI_API_KEY" in done.stdout
    [entry] = load_file(tmp_path / "config.yaml", {}, tmp_path).config.models
    [spec] = configured_catalog(AgentConfig(models=[entry])).specs
    assert (spec.name, spec.supports_tools) == ("local", False)
    assert spec.context_tokens


async def test_a_platform_that_never_answers(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        account = TelegramAccount(
            name="telegram", bot_token="1:a", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        with pytest.raises(StartError, match="did not respond within 0 s; check the network"):
            await probe(account, seconds=0.3)


async def test_a_refused_token_writes_nothing(tmp_path: Path, emulator: TelegramEmulator) -> None:
    done = await run(tmp_path, "telegram", "--base-url", emulator.url, said="1234567890:AAwrongwrongwrong\n")
    assert done.returncode == 1
    assert "refuses the token" in done.stderr
    assert "nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "AAwrong" not in done.stdout + done.stderr
    assert not (tmp_path / "config.yaml").exists()


@pytest.mark.parametrize("platform", ["irc", "web"])
async def test_a_platform_that_there_is_not(tmp_path: Path, platform: str) -> None:
    done = await run(tmp_path, platform)
    assert done.returncode == 1
    assert "choose one of discord, feishu, slack, telegram" in done.stderr


async def test_an_account_that_is_there_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    text = "config_version: 1\nchannels: {telegram: {enabled: false}}\n"
    (tmp_path / "config.yaml").write_text(text)
    done = await run(tmp_path, "telegram")
    assert done.returncode == 2
    assert "channels.telegram already exists; choose another name with --name" in done.stderr
    assert "bot_token" not in done.stdout
    assert (tmp_path / "config.yaml").read_text() == text


async def test_a_name_that_cannot_be_one(tmp_path: Path) -> None:
    done = await run(tmp_path, "telegram", "--name", "My Bot")
    assert done.returncode == 1
    assert "My Bot is not a valid name" in done.stderr


async def test_an_id_that_is_none_is_asked_again(tmp_path: Path, emulator: TelegramEmulator) -> None:
    done = await run(
        tmp_path, "telegram", "--base-url", emulator.url, said=f"{emulator.token}\n@ann\n987654321\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "This is not a person's numeric id" in done.stdout
    assert "Warning" not in done.stderr
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["access"]["owners"] == ["telegram:987654321"]


async def test_a_platform_out_of_reach_is_named(tmp_path: Path) -> None:
    done = await run(tmp_path, "telegram", "--base-url", "http://127.0.0.1:9", said="1234567890:AAsecret\n")
    assert done.returncode == 1
    assert "http://127.0.0.1:9" in done.stderr
    assert "check the network" in done.stderr
    assert "AAsecret" not in done.stdout + done.stderr


async def test_after_a_refused_token_it_is_asked_once_more(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    async with terminal(tmp_path, "init", "telegram", "--base-url", emulator.url) as shell:
        await shell.types("1234567890:AAwrongwrongwrong", "token from @BotFather: ")
        await shell.expects("refuses the token")
        await shell.types("", "Try again? [Y/n]: ")
        await shell.types(emulator.token, "token from @BotFather: ")
        await shell.types("later", "Press Enter, or type your id or later: ")
        await shell.types("", "Number (Enter for 1): ")
        await shell.types("n", "Start the service now? [Y/n]: ")
        assert await shell.ends() == 0
        assert "AAwrong" not in shell.text
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["channels"]["telegram"]["bot_token"] == "$TELEGRAM_BOT_TOKEN"
    assert read_secrets(tmp_path / "config.yaml") == {"TELEGRAM_BOT_TOKEN": emulator.token}


async def test_a_value_of_the_wrong_form_is_said_plainly(tmp_path: Path) -> None:
    done = await run(tmp_path, "slack", said="xapp-1-A\nxapp-1-A\n")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "roebot: bot_token: expected the bot token (xoxb-…); this is the app-level token (xapp-…)"
    )


def at_a_terminal(folder: Path, url: str, token: str) -> str:
    """What stands on a terminal where a token was typed, and then Ctrl-C."""
    hear_interrupts()
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.cli", "init", "telegram", "--base-url", url],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "NO_PROXY": "127.0.0.1"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    text = ""

    def until(words: str) -> None:
        nonlocal text
        while words not in text:
            ready, _, _ = select.select([master], [], [], 30.0)
            assert ready, text
            text += os.read(master, 4096).decode(errors="replace")

    try:
        until("token from @BotFather: ")
        os.write(master, f"{token}\n".encode())
        until("Press Enter, or type your id or later: ")
        process.send_signal(signal.SIGINT)
        os.write(master, b"\n")  # a signal between prompt and reading is seen with the next key alone
        until("nothing was written")
        assert process.wait(30) == 1
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return text


async def test_a_token_typed_at_a_terminal_is_not_shown(tmp_path: Path, emulator: TelegramEmulator) -> None:
    text = await asyncio.wait_for(
        asyncio.to_thread(at_a_terminal, tmp_path, emulator.url, emulator.token), 60.0
    )
    assert emulator.token not in text
    assert "Traceback" not in text
    assert list(tmp_path.iterdir()) == []


async def test_a_service_that_runs_is_said_to_take_it_up(tmp_path: Path, emulator: TelegramEmulator) -> None:
    home = tmp_path / ".roebot"
    home.mkdir()
    for file, words in (
        (tmp_path / "config.yaml", "applies the change within seconds"),
        (tmp_path / "other.yaml", "Stop it"),
    ):
        write_service_file(home, "http://127.0.0.1:2026", file)
        (tmp_path / "config.yaml").unlink(missing_ok=True)
        done = await run(tmp_path, "telegram", "--base-url", emulator.url, said=f"{emulator.token}\nlater\n")
        assert done.returncode == 0, done.stdout + done.stderr
        assert words in done.stdout
        assert "Start the service" not in done.stdout
