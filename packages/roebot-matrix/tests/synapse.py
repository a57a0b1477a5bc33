"""A real homeserver: Synapse from PyPI in an environment of its own, on loopback with SQLite."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import yaml

ROOT = Path(__file__).parents[3]
PYTHON = Path(os.environ.get("ROEBOT_SYNAPSE_PYTHON") or ROOT / ".venv-synapse" / "bin" / "python")
"""The Python that has the package matrix-synapse."""
START_SECONDS = 120.0
"""Longest start; on a quiet machine it takes four seconds."""
END_WITH_PARENT = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, {signal.SIGTERM.value})
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Let the kernel end the homeserver if the tests are killed."""
PASSWORD = "correct horse"
_FREE = {"per_second": 100_000, "burst_count": 100_000}
_NUMBERS = count(1)


@dataclass(frozen=True)
class User:
    """A user of the homeserver, signed in."""

    id: str
    token: str

    @property
    def name(self) -> str:
        """The local part of the id, which is also the name that others see."""
        return self.id[1:].partition(":")[0]


class Synapse:
    """A running homeserver, and what people do there."""

    def __init__(self, url: str, secret: str, database: Path) -> None:
        self.url = url
        self._database = database
        self._secret = secret
        self._http = httpx.Client(base_url=url, timeout=120.0, trust_env=False)
        self._transactions = count(1)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def is_up(self) -> bool:
        """Return whether it answers yet."""
        try:
            return self._http.get("/health").is_success
        except httpx.HTTPError:
            return False

    def call(self, method: str, path: str, by: User | None = None, **arguments: Any) -> Any:
        """Call the homeserver as somebody and return its answer."""
        headers = {**arguments.pop("headers", {}), **({"Authorization": f"Bearer {by.token}"} if by else {})}
        answer = self._http.request(method, path, headers=headers, **arguments)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def register(self, name: str) -> User:
        """Register a user, by the shared secret. The name gets a number that makes it new."""
        path = "/_synapse/admin/v1/register"
        nonce, local = self.call("GET", path)["nonce"], f"{name}{next(_NUMBERS)}"
        mac = hmac.new(self._secret.encode(), digestmod=hashlib.sha1)
        mac.update(b"\x00".join((nonce.encode(), local.encode(), PASSWORD.encode(), b"notadmin")))
        body = {"nonce": nonce, "username": local, "password": PASSWORD, "mac": mac.hexdigest()}
        found = self.call("POST", path, json={**body, "admin": False, "displayname": local})
        return User(found["user_id"], found["access_token"])

    def make_admin(self, user: User) -> None:
        """Make somebody a server admin, by the database, before they call anything as one."""
        with closing(sqlite3.connect(self._database, timeout=30.0)) as database, database:
            database.execute("UPDATE users SET admin = 1 WHERE name = ?", (user.id,))

    def create_room(self, by: User, *invited: User, **more: Any) -> str:
        """Create a room without encryption, in which nobody but its author has joined."""
        body = {"preset": "private_chat", "invite": [user.id for user in invited], **more}
        room: str = self.call("POST", "/_matrix/client/v3/createRoom", by, json=body)["room_id"]
        return room

    def join(self, by: User, room: str) -> None:
        """Join a room after an invitation."""
        self.call("POST", f"/_matrix/client/v3/join/{room}", by, json={})

    def act(self, by: User, room: str, what: str, **body: Any) -> None:
        """Do one of invite, kick, leave."""
        self.call("POST", f"/_matrix/client/v3/rooms/{room}/{what}", by, json=body)

    def send(self, by: User, room: str, content: dict[str, Any], kind: str = "m.room.message") -> str:
        """Send an event and return its id."""
        path = f"/_matrix/client/v3/rooms/{room}/send/{kind}/people-{next(self._transactions)}"
        event_id: str = self.call("PUT", path, by, json=content)["event_id"]
        return event_id

    def says(self, by: User, room: str, text: str, **more: Any) -> str:
        """Write a message."""
        return self.send(by, room, {"msgtype": "m.text", "body": text, "m.mentions": {}, **more})

    def set_state(self, by: User, room: str, kind: str, content: dict[str, Any]) -> None:
        """Set a room's state."""
        self.call("PUT", f"/_matrix/client/v3/rooms/{room}/state/{kind}", by, json=content)

    def redact(self, by: User, room: str, event_id: str) -> None:
        """Delete a message."""
        path = f"/_matrix/client/v3/rooms/{room}/redact/{event_id}/people-{next(self._transactions)}"
        self.call("PUT", path, by, json={})

    def events(self, by: User, room: str) -> list[dict[str, Any]]:
        """Return a room's events, oldest first, as somebody sees them."""
        found: list[dict[str, Any]] = []
        at = ""
        while True:
            params = {"dir": "f", "limit": 1000, **({"from": at} if at else {})}
            page = self.call("GET", f"/_matrix/client/v3/rooms/{room}/messages", by, params=params)
            found += page["chunk"]
            at = page.get("end", "")
            if not at or not page["chunk"]:
                return found

    def upload(self, by: User, data: bytes, mime: str) -> str:
        """Upload a file and return its address."""
        found = self.call(
            "POST", "/_matrix/media/v3/upload", by, content=data, headers={"Content-Type": mime}
        )
        address: str = found["content_uri"]
        return address

    def download(self, by: User, address: str) -> bytes:
        """Return the content of a file."""
        path = f"/_matrix/client/v1/media/download/{address.removeprefix('mxc://')}"
        answer = self._http.get(path, headers={"Authorization": f"Bearer {by.token}"})
        return answer.raise_for_status().content

    def logout(self, user: User) -> None:
        """Revoke a user's token."""
        self.call("POST", "/_matrix/client/v3/logout", user, json={})


@contextmanager
def synapse(folder: Path, **settings: Any) -> Iterator[Synapse]:
    """Run a homeserver in a folder; `settings` are added to its configuration."""
    secret, port = secrets.token_urlsafe(16), _free_port()
    config = folder / "homeserver.yaml"
    config.write_text(yaml.safe_dump({**_configuration(folder, port, secret), **settings}))
    command = [str(PYTHON), "-m", "synapse.app.homeserver", "--config-path", str(config)]
    subprocess.run([*command, "--generate-keys"], check=True, capture_output=True, timeout=START_SECONDS)
    with (folder / "output.txt").open("wb") as output:
        start = [sys.executable, "-c", END_WITH_PARENT, *command]
        process = subprocess.Popen(start, stdout=output, stderr=output, cwd=folder)
    server = Synapse(f"http://127.0.0.1:{port}", secret, folder / "homeserver.db")
    try:
        _wait(server, process, folder)
        yield server
    finally:
        server.close()
        process.terminate()
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _configuration(folder: Path, port: int, secret: str) -> dict[str, Any]:
    log = folder / "log.yaml"
    log.write_text(yaml.safe_dump({"version": 1, "root": {"level": "WARNING"}}))
    resources = [{"names": ["client"], "compress": False}]
    listener = {"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": resources}
    limits = ("message", "login", "joins", "joins_per_room", "invites", "third_party_invite", "room_creation")
    free: dict[str, Any] = {f"rc_{name}": _FREE for name in limits}
    free["rc_login"] = {"address": _FREE, "account": _FREE, "failed_attempts": _FREE}
    free["rc_joins"] = {"local": _FREE, "remote": _FREE}
    free["rc_invites"] = {"per_room": _FREE, "per_user": _FREE, "per_issuer": _FREE}
    return {
        "server_name": "localhost",
        "listeners": [listener],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "log_config": str(log),
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "pid_file": str(folder / "homeserver.pid"),
        "registration_shared_secret": secret,
        "bcrypt_rounds": 4,
        "report_stats": False,
        "trusted_key_servers": [],
        "suppress_key_server_warning": True,
        # What nobody looks at here costs a third of the time.
        **{name: {"enabled": False} for name in ("presence", "push", "stats", "user_directory")},
        "enable_search": False,
        **free,
    }


def _wait(server: Synapse, process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if server.is_up():
            return
        time.sleep(0.1)
    raise AssertionError(f"Synapse did not start: {(folder / 'output.txt').read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
