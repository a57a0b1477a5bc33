"""`make dev`, as somebody at a terminal or behind a pipe has it."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from roebot_testing.emulators.telegram import TelegramEmulator
from scripts.person import Person, Transcript
from tests.docs.blocks import ROOT

COMMAND = [sys.executable, "-m", "scripts.dev"]
ENV = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}


def _mail(emulator: TelegramEmulator, chat: int, text: str) -> None:
    """The bot writes, as it would by the Bot API."""
    world = emulator.world
    world.add(world.chats[chat], world.bot, text=text)


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as served:
        yield served


def test_a_person_moves_between_chats(emulator: TelegramEmulator) -> None:
    person = Person(emulator)
    assert person.say("hello") == ""
    assert person.prompt == "Ann (private)> "
    person.say(":group")
    person.say("hi all")
    assert person.prompt == "Ann (group)> "
    person.say(":topic Plans")
    person.say("about plans")
    assert person.prompt == "Ann (topic)> "
    person.say(":as Bob")
    person.say(":private")
    person.say("me too")
    person.say(":as Ann")
    assert person.id == 1001
    views = {view["title"]: view for view in emulator.views()}
    assert [seen["text"] for seen in views["Ann"]["messages"]] == ["hello"]
    assert [seen["text"] for seen in views["Bob"]["messages"]] == ["me too"]
    assert [seen["text"] for seen in views["Playground"]["messages"]] == ["hi all"]
    assert views["Forum"]["messages"][0]["topic"] == person.topic or views["Forum"]["messages"][0]["topic"]


def test_what_is_no_message_is_explained(emulator: TelegramEmulator) -> None:
    person = Person(emulator)
    assert ":group" in (person.say(":help") or "")
    assert "roebot_bot" in (person.say(":help") or "")
    assert "no :nonsense" in (person.say(":nonsense") or "")
    assert ":as NAME" in (person.say(":as") or "")
    assert "nothing here yet" in (person.say(":reply x") or "")
    assert person.say(":quit") is None
    assert emulator.views() == []


def test_replies_and_pictures(emulator: TelegramEmulator) -> None:
    person = Person(emulator)
    person.say("hello")
    _mail(emulator, 1001, "yes?")
    person.say(":reply never mind")
    person.say(":photo look")
    answer, picture = emulator.view(1001)["messages"][-2:]
    assert answer["reply_to"] == 2
    assert (picture["kind"], picture["text"]) == ("photo", "look")


async def test_buttons_are_shown_and_pressed(emulator: TelegramEmulator) -> None:
    person, out = Person(emulator), io.StringIO()
    person.say(":group")
    assert person.say(":press Resolve") == "  the bot shows no button Resolve here\n"
    person.say("hello")
    world = emulator.world
    button = {"text": "Resolve", "callback_data": "choice:0"}
    world.add(world.chats[person.chat], world.bot, text="stuck", markup={"inline_keyboard": [[button]]})
    Transcript(emulator, out).show_new()
    assert out.getvalue() == "\nbot (Playground)> stuck\n[Resolve]"
    assert person.say(":press Resolve") == ""


def test_the_transcript_grows_with_the_message(emulator: TelegramEmulator) -> None:
    out = io.StringIO()
    transcript = Transcript(emulator, out)
    Person(emulator).say("hello")
    assert not transcript.show_new()
    _mail(emulator, 1001, "one")
    assert transcript.show_new()
    message = emulator.world.chats[1001].messages[2]
    message.text = "one two"
    assert transcript.show_new()
    message.text = "other"
    transcript.show_new()
    assert not transcript.show_new()
    assert out.getvalue() == "\nbot> one two\nbot (edited)> other"


def test_lines_of_a_pipe_are_answered_and_everything_ends() -> None:
    said = "hello there\n:group\n@roebot_bot hi\n:as Bob\n:private\nlet me in\n:quit\nnever said\n"
    done = subprocess.run(
        COMMAND, input=said, text=True, capture_output=True, timeout=90, cwd=ROOT, env=ENV, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "bot> hello there" in done.stdout
    assert "bot (Playground)> hi" in done.stdout
    assert "give this code to one of its admins" in done.stdout
    assert "never said" not in done.stdout
    assert done.stdout.endswith("service and emulator have ended\n")


@pytest.mark.long
def test_a_terminal_has_a_prompt_and_ctrl_c_leaves_nothing_behind() -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        COMMAND, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=ENV
    )
    assert process.stdout is not None
    seen = b""
    try:
        while b"(private)> " not in seen:
            seen += os.read(process.stdout.fileno(), 65536)
        os.write(master, b"hello there\n")
        while b"bot> hello there" not in seen:
            seen += os.read(process.stdout.fileno(), 65536)
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(signal.SIGINT)
        seen += process.stdout.read()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(master)
        os.close(slave)
    assert b"have ended" in seen
    assert not [child for child in children if child.is_running()]
    home = next(line for line in seen.decode().splitlines() if line.startswith("  home"))
    assert not Path(home.split()[1]).exists()
