"""The token files of the servers: created once, private, refused where others could know them."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.shared import live_token
from agent.shared.live_token import LiveToken
from agent.shared.tokens import (
    LEAST_CHARACTERS,
    SERVICE_TOKEN_FILE,
    TokenFileError,
    ensure_token,
    find_weakness,
    read_token,
    rotate_token,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / SERVICE_TOKEN_FILE


def test_a_token_is_generated_once_and_private(path: Path) -> None:
    umask = os.umask(0)
    try:
        token = ensure_token(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) == 43
    assert find_weakness(token) is None
    assert ensure_token(path) == token == read_token(path)
    assert [file.name for file in path.parent.iterdir()] == [SERVICE_TOKEN_FILE]


def test_processes_that_start_together_agree(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: ensure_token(path), range(8)))) == 1


def test_a_missing_file_is_no_token(path: Path) -> None:
    assert read_token(path) is None


def test_rotation_replaces_the_token(path: Path) -> None:
    former = ensure_token(path)
    token = rotate_token(path)
    assert token != former
    assert read_token(path) == token
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.guard(
    "a token file that they can read is refused",
    "agent/shared/tokens.py",
    "    if about.st_mode & 0o077:",
    "    if False:",
    against="other users of the machine",
)
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_use_is_refused(path: Path, mode: int) -> None:
    ensure_token(path)
    path.chmod(mode)
    with pytest.raises(TokenFileError, match=rf"others can read it \(mode {mode:04o}\).*delete the file"):
        ensure_token(path)


@pytest.mark.guard(
    "a link in the place of the token file is not followed",
    "agent/shared/tokens.py",
    "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC",
    "os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC",
    against="other users of the machine",
)
def test_a_link_is_refused_and_not_followed(path: Path) -> None:
    target = path.parent / "elsewhere"
    ensure_token(target)
    path.symlink_to(target)
    with pytest.raises(TokenFileError, match="symbolic link"):
        ensure_token(path)
    path.unlink()
    path.symlink_to(path.parent / "missing")
    with pytest.raises(TokenFileError, match="symbolic link"):
        ensure_token(path)
    assert not (path.parent / "missing").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_anything_but_a_file_is_refused(path: Path, kind: str) -> None:
    path.mkdir(mode=0o700) if kind == "folder" else os.mkfifo(path, 0o600)
    with pytest.raises(TokenFileError, match="not a regular file"):
        read_token(path)


@pytest.mark.guard(
    "a token file of theirs is refused",
    "agent/shared/tokens.py",
    "    if about.st_uid not in {os.geteuid(), path.parent.stat().st_uid}:",
    "    if False:",
    against="other users of the machine",
)
def test_the_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_token(path)
    described = os.fstat

    def foreign(descriptor: int) -> os.stat_result:
        values = list(described(descriptor))
        values[4] += 1
        return os.stat_result(values)

    monkeypatch.setattr(os, "fstat", foreign)
    with pytest.raises(TokenFileError, match="belongs to another user"):
        read_token(path)


@pytest.mark.parametrize("content", [b"", b"short\n", b"x" * 5000, b"with a blank " * 4, b"\xff" * 40])
def test_a_file_without_a_token_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(TokenFileError, match=f"at least {LEAST_CHARACTERS} characters"):
        read_token(path)


def test_a_folder_that_is_missing_is_one_clear_line(path: Path) -> None:
    with pytest.raises(TokenFileError, match="No such file"):
        ensure_token(path.parent / "none" / path.name)


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "shorter"),
        ("k7Jw9-shorter-than-24ch", "shorter"),
        ("change-me-to-something-long", "example"),
        ("please-CHANGEME-3vJ9rQ0kXw7", "example"),
        ("your-token-here-3vJ9rQ0kXw7", "example"),
        ("a-long-secret-token-3vJ9rQ0kX", "example"),
        ("0123456789abcdef0123456789abcdef", "example"),
        ("<a token of 24 characters>", "example"),
        ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "example"),
        ("abababababababababababababababab", "repeats"),
        ("3f9c1e7a5b2d8064c7e19a3f5d2b8e60", None),
        ("Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6", None),
    ],
)
def test_a_weak_token_is_known(token: str, why: str | None) -> None:
    found = find_weakness(token)
    assert (found is None) if why is None else (why in (found or ""))


def test_a_server_always_has_a_token() -> None:
    with pytest.raises(ValueError, match="must have a token"):
        LiveToken("")
    token = LiveToken("Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6")
    assert token.matches(b"Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6")
    for wrong in (b"", b"Zq3", b"Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6 ", "é".encode()):
        assert not token.matches(wrong)


async def test_a_running_server_takes_over_a_new_token(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_token, "CHECK_EVERY", 0.01)
    former = await asyncio.to_thread(ensure_token, path)
    token = LiveToken(former, path)
    following = asyncio.create_task(token.follow_file())

    async def until(value: str) -> None:
        async with asyncio.timeout(10):
            while token.value != value:
                await asyncio.sleep(0.01)

    await until(await asyncio.to_thread(rotate_token, path))
    kept = token.value
    path.chmod(0o644)
    await asyncio.sleep(0.05)
    path.unlink()
    await asyncio.sleep(0.05)
    assert token.value == kept, "an unusable or missing file changes nothing"
    await until(await asyncio.to_thread(rotate_token, path))
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


async def test_a_configured_token_follows_no_file() -> None:
    token = LiveToken("Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6")
    await asyncio.wait_for(token.follow_file(), 1)
