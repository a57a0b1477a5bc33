"""What the remote provider does when the service is away, wrong or slow."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.core.interfaces import SandboxError, SandboxUnavailable
from agent.sandbox import remote_station
from agent.sandbox.options import Surroundings, load_provider
from agent.sandbox.remote import RemoteSandboxProvider
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_base import wait_until_gone
from tests.sandbox.provisioning import (
    TOKEN,
    Provisioner,
    bubblewrapped,
    listening,
    provisioner,
    remote,
    serving,
)
from tests.sandbox.sandbox_fixtures import folders, one

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Provisioner]:
    with provisioner(tmp_path / "service") as running:
        yield running


@pytest_asyncio.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    async with serving(bubblewrapped(tmp_path / "service", LIMITS)) as (address, _):
        yield address


async def test_an_unreachable_service_is_reported(tmp_path: Path, service: Provisioner) -> None:
    """The file tools work all the same."""
    service.kill()
    sandbox = await one(remote(tmp_path, service.url))
    with pytest.raises(SandboxUnavailable, match=r"can't be reached"):
        await sandbox.execute_command("true")
    await sandbox.write_file("a.txt", b"x")
    assert await sandbox.read_file("a.txt") == b"x"


async def test_a_wrong_token_is_reported(tmp_path: Path, service: Provisioner) -> None:
    for token in ("", "another-token-than-it-is"):
        with pytest.raises(SandboxUnavailable, match=r"rejected the token.*sandbox\.token"):
            await (await one(remote(tmp_path, service.url, token=token))).execute_command("true")


async def test_a_service_that_dies_in_mid_command(tmp_path: Path, service: Provisioner) -> None:
    """The run hears it, the command ends with it, and the next service goes on with the home's files."""
    home = tmp_path / "home"
    sandbox = await one(remote(home, service.url))
    await sandbox.write_file("kept", b"kept")
    mark = "sleep 5417.25"
    running = asyncio.create_task(sandbox.execute_command(f"echo lost > lost; {mark}"))
    while not await asyncio.to_thread(lambda: list(service.copies.rglob("lost"))):
        await asyncio.sleep(0.02)
    await asyncio.to_thread(service.kill)
    with pytest.raises(SandboxError, match="was lost"):
        await running
    assert await wait_until_gone(mark)
    assert [entry.name for entry in await sandbox.list_dir(".")] == ["kept"]
    async with serving(bubblewrapped(service.home / "sandbox" / "provisioner")) as (url, stations):
        assert len(stations.names) == 1, "it takes over what the first one left"
        assert (await (await one(remote(home, url))).execute_command("ls")).output == "kept\n"
    assert await asyncio.to_thread(lambda: list(service.copies.iterdir())) == []


async def test_a_cancelled_command_ends_there(tmp_path: Path, url: str) -> None:
    sandbox = await one(remote(tmp_path, url))
    mark = "sleep 5417.75"
    running = asyncio.create_task(sandbox.execute_command(f"echo lost > lost; (setsid {mark} &); {mark}"))
    copies = tmp_path / "service" / "threads"
    while not await asyncio.to_thread(lambda: list(copies.rglob("lost"))):
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await wait_until_gone(mark)
    assert (await sandbox.execute_command("ls")).output == "", "what it made is thrown away"


async def test_a_service_that_falls_silent(tmp_path: Path) -> None:
    """It takes the connection and says nothing."""

    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        sandbox = await one(remote(tmp_path, f"http://127.0.0.1:{port}", seconds=0.2))
        # Opening may take long by itself: a pod starts.
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(remote_station, "OPEN_SECONDS", 0.2)
            with pytest.raises(SandboxUnavailable, match="is not responding"):
                await sandbox.execute_command("true")
        await ended.wait()


async def test_another_server_is_reported(tmp_path: Path) -> None:
    async def other(_: Request) -> Response:
        return Response("<html>", 404, media_type="text/html")

    async with listening(Starlette(routes=[Route("/{path:path}", other, methods=["PUT"])])) as url:
        with pytest.raises(SandboxUnavailable, match="no Roebot sandbox service"):
            await (await one(remote(tmp_path, url))).execute_command("true")


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({}, r"sandbox\.url"),
        ({"url": "ftp://x"}, r"sandbox\.url"),
        ({"url": "http://x", "token": ""}, r"sandbox\.token"),
        ({"url": "http://x", "timeout_seconds": 0}, r"sandbox\.timeout_seconds"),
        ({"url": "https://x", "ca_file": "/nowhere.pem"}, r"sandbox\.ca_file"),
        ({"url": "http://x", "image": "y"}, r"sandbox\.image"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, keys: dict[str, Any], why: str) -> None:
    around = Surroundings(folders(tmp_path), tmp_path)
    with pytest.raises(SandboxUnavailable, match=why):
        load_provider("agent.sandbox.remote:RemoteSandboxProvider", around, keys)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "roebot-sandbox-test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return files


async def test_a_certificate_is_checked(tmp_path: Path) -> None:
    """Against the authorities, or the one that is named, or not at all where that is written down."""
    known, key = await asyncio.to_thread(certificate, tmp_path)
    words = ("--certificate", str(known), "--key", str(key))

    async def hello(url: str, **keys: Any) -> str:
        around = Surroundings(folders(tmp_path), tmp_path)
        given = {"url": url, "token": TOKEN, **keys}
        provider = await asyncio.to_thread(RemoteSandboxProvider.from_config, around, **given)
        return (await (await one(provider)).execute_command("echo hello")).output

    with provisioner(tmp_path / "service", *words) as running:
        url = running.url.replace("http:", "https:")
        with pytest.raises(SandboxUnavailable, match=r"can't be reached: .*certificate"):
            await hello(url)
        assert await hello(url, ca_file=str(known)) == "hello\n"
        assert await hello(url, verify=False) == "hello\n"
        with pytest.raises(SandboxUnavailable, match="can't be reached"):
            await hello(running.url)


async def test_a_provider_is_created_from_settings(tmp_path: Path, url: str) -> None:
    around = Surroundings(folders(tmp_path), tmp_path)
    use = "agent.sandbox.remote:RemoteSandboxProvider"
    provider = await asyncio.to_thread(
        load_provider, use, around, {"url": url, "token": TOKEN, "seconds": 1.0, "verify": False}
    )
    sandbox: Any = provider.get(await provider.acquire("thread-1"))
    assert (await sandbox.execute_command("echo hello")).output == "hello\n"
    assert (await sandbox.execute_command("sleep 30")).timed_out
    assert TOKEN not in repr(vars(sandbox))
