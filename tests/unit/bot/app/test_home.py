"""The home folder: found, usable, owned by one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread, Timer

import pytest

from bot.app.home import (
    RunningService,
    find_home,
    find_service,
    is_locked,
    lock_home,
    prepare_home,
    write_service_file,
)
from bot.cli.run import find_answering_service
from bot.errors import HomeUnusable, StartError

pytestmark = pytest.mark.may_block


def test_the_command_line_beats_the_environment_beats_the_folder(tmp_path: Path) -> None:
    env = {"ROEBOT_HOME": str(tmp_path / "env")}
    assert find_home(tmp_path / "cli", env, tmp_path) == tmp_path / "cli"
    assert find_home(None, env, tmp_path) == tmp_path / "env"
    assert find_home(None, {}, tmp_path) == tmp_path / ".roebot"


def test_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    prepare_home(home)
    for folder in (home, home / "logs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    with pytest.raises(HomeUnusable, match="--home"):
        prepare_home(tmp_path / "home")


def test_a_home_has_one_owner(tmp_path: Path) -> None:
    prepare_home(tmp_path)
    with lock_home(tmp_path):
        write_service_file(tmp_path, "http://127.0.0.1:1", None)
        program = (
            "from pathlib import Path; from bot.app.home import lock_home\n"
            "from bot.errors import StartError\n"
            f"try:\n    with lock_home(Path({str(tmp_path)!r})): print('mine')\n"
            "except StartError as error: print(error)\n"
        )
        said = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        assert "another service uses" in said
        assert f"process {os.getpid()}" in said
    with lock_home(tmp_path):
        assert find_service(tmp_path) is None


def test_a_locked_data_directory_is_detected(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    with lock_home(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_a_chat_waits_for_a_service_that_is_starting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Healthy) as server, lock_home(tmp_path):
        url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.handle_request, daemon=True).start()
        starts = Timer(0.5, write_service_file, (tmp_path, url, None))
        starts.start()
        found = find_answering_service(tmp_path)
        starts.join()
    assert found is not None
    assert found.url == url
    assert capsys.readouterr().err.count("waiting for the service to start") == 1
    assert find_answering_service(tmp_path) is None, "it has ended"


def test_where_the_service_is_has_no_secret_and_is_private(tmp_path: Path) -> None:
    write_service_file(tmp_path, "http://127.0.0.1:2026", tmp_path / "config.yaml")
    found = find_service(tmp_path)
    assert found is not None
    assert (found.pid, found.url) == (os.getpid(), "http://127.0.0.1:2026")
    assert found.config == str(tmp_path / "config.yaml")
    assert stat.S_IMODE((tmp_path / "service.json").stat().st_mode) == 0o600
    assert set(json.loads((tmp_path / "service.json").read_text())) == {"config", "host", "pid", "url"}


def test_the_service_is_found_while_its_file_is_replaced(tmp_path: Path) -> None:
    write_service_file(tmp_path, "http://127.0.0.1:2026", None)
    found: list[bool] = []

    def look() -> None:
        while len(found) < 20_000 and not ended.is_set():
            found.append(find_service(tmp_path) is not None)

    ended = Event()
    thread = Thread(target=look)
    thread.start()
    for number in range(50):
        write_service_file(tmp_path, f"http://127.0.0.1:{number}", None)
    ended.set()
    thread.join()
    assert found
    assert all(found)


def test_a_service_without_a_file_and_one_that_does_not_say(tmp_path: Path) -> None:
    write_service_file(tmp_path, "http://127.0.0.1:2026", None)
    found = find_service(tmp_path)
    assert found is not None
    assert found.config == ""
    (tmp_path / "service.json").write_text(json.dumps({"pid": os.getpid(), "url": "x"}))
    assert find_service(tmp_path) == RunningService(os.getpid(), "x", None)


def test_a_service_that_died_is_not_running(tmp_path: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    (tmp_path / "service.json").write_text(json.dumps({"pid": int(dead.stdout), "url": "x"}))
    assert find_service(tmp_path) is None
    (tmp_path / "service.json").write_text("not json")
    assert find_service(tmp_path) is None


def test_the_error_names_the_other_service(tmp_path: Path) -> None:
    with lock_home(tmp_path), pytest.raises(StartError, match="make stop"), lock_home(tmp_path):
        pass
