"""Our frame and cipher against those of the SDK."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.feishu.callback import BadCipher, decrypt, encrypt, is_signed, signature
from bot.platforms.feishu.ws_frame import CONTROL, DATA, BadFrame, WsFrame, decode
from tests.harness.lark import AESCipher, SdkFrame

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40)
FRAMES = st.builds(
    WsFrame,
    method=st.sampled_from([CONTROL, DATA]),
    headers=st.dictionaries(TEXT, TEXT, max_size=5),
    payload=st.binary(max_size=400),
    service=st.integers(-(2**31), 2**31 - 1),
    seq_id=st.integers(0, 2**64 - 1),
    log_id=st.integers(0, 2**64 - 1),
    payload_encoding=TEXT,
    payload_type=TEXT,
    log_id_new=TEXT,
)


def of_sdk(data: bytes) -> SdkFrame:
    frame = SdkFrame()
    frame.ParseFromString(data)
    return frame


def to_sdk(frame: WsFrame) -> bytes:
    made = SdkFrame()
    made.SeqID, made.LogID = frame.seq_id, frame.log_id
    made.service, made.method = frame.service, frame.method
    for key, value in frame.headers.items():
        header = made.headers.add()
        header.key, header.value = key, value
    made.payload = frame.payload
    made.payload_encoding, made.payload_type = frame.payload_encoding, frame.payload_type
    made.LogIDNew = frame.log_id_new
    return bytes(made.SerializeToString())


@given(FRAMES)
def test_what_we_write_we_read(frame: WsFrame) -> None:
    assert decode(frame.encode()) == frame


@given(FRAMES)
def test_what_the_sdk_writes_we_read(frame: WsFrame) -> None:
    assert decode(to_sdk(frame)) == frame


@given(FRAMES)
def test_what_we_write_the_sdk_reads(frame: WsFrame) -> None:
    found = of_sdk(frame.encode())
    assert (found.SeqID, found.LogID, found.service, found.method) == (
        frame.seq_id,
        frame.log_id,
        frame.service,
        frame.method,
    )
    assert {header.key: header.value for header in found.headers} == frame.headers
    assert found.payload == frame.payload
    assert (found.payload_encoding, found.payload_type) == (frame.payload_encoding, frame.payload_type)
    assert found.LogIDNew == frame.log_id_new


@given(st.binary(max_size=80))
def test_no_bytes_are_a_crash(data: bytes) -> None:
    with contextlib.suppress(BadFrame):
        decode(data)


@given(FRAMES, st.integers(0, 400), st.integers(0, 255))
def test_no_changed_byte_is_a_crash(frame: WsFrame, at: int, byte: int) -> None:
    data = bytearray(frame.encode())
    data[at % len(data)] = byte
    with contextlib.suppress(BadFrame):
        decode(bytes(data))


@given(FRAMES)
def test_unknown_fields_are_passed_over(frame: WsFrame) -> None:
    extra = b"\x50\x07" + b"\x5a\x02ab" + b"\x61" + bytes(8) + b"\x6d" + bytes(4)
    assert decode(frame.encode() + extra) == frame


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "required"),
        (b"\x08", "cut off"),
        (b"\x08" + b"\xff" * 11, "too long"),
        (b"\x00\x01", "no number"),
        (b"\x0b", "unknown kind"),
        (b"\x42\x05ab", "cut off"),
        (b"\x0a\x01a", "written as bytes"),
        (b"\x40\x01", "written as a number"),
        (b"\x32\x01\xff", "UTF-8"),
        (b"\x2a\x03\x0a\x01k", "lacks"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, words: str) -> None:
    with pytest.raises(BadFrame, match=words):
        decode(data)


@given(st.binary(max_size=200), st.text(min_size=1, max_size=20))
def test_the_sdk_opens_what_we_encrypt(content: bytes, key: str) -> None:
    key = key.encode("utf-8", "replace").decode()
    sealed = encrypt(content, key, os.urandom(16))
    assert decrypt(sealed, key) == content
    assert AESCipher(key).decrypt(base64.b64decode(sealed)) == content


@given(st.text(max_size=120))
def test_no_text_is_a_crash(text: str) -> None:
    with contextlib.suppress(BadCipher):
        decrypt(text, "key")


def test_a_wrong_key_opens_nothing() -> None:
    sealed = encrypt(b"x" * 40, "one", bytes(16))
    with pytest.raises(BadCipher):
        decrypt(sealed, "two")


def test_the_signature_is_the_documented_one() -> None:
    wanted = hashlib.sha256(b"1700000000" + b"nonce" + b"key" + b'{"encrypt":"x"}').hexdigest()
    assert signature("1700000000", "nonce", "key", b'{"encrypt":"x"}') == wanted
    assert is_signed(wanted, "1700000000", "nonce", "key", b'{"encrypt":"x"}')
    assert not is_signed(wanted.upper(), "1700000000", "nonce", "key", b'{"encrypt":"x"}')
