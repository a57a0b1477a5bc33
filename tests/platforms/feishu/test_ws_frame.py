"""The SDK's frame and cipher, which the adapter uses, against those of the emulator."""

from __future__ import annotations

import contextlib
import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.feishu.callback import BadCipher, decrypt, is_signed, signature
from bot.platforms.feishu.sdk import Frame
from bot.platforms.feishu.ws_frame import (
    UnreadableFrame,
    build_acknowledgement,
    build_ping,
    decode_frame,
    read_headers,
)
from roebot_testing.emulators.feishu import crypto, ws_frame
from roebot_testing.emulators.feishu.ws_frame import CONTROL, DATA, WsFrame, decode

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


def to_sdk(frame: WsFrame) -> bytes:
    made = Frame(SeqID=frame.seq_id, LogID=frame.log_id, service=frame.service, method=frame.method)
    for key, value in frame.headers.items():
        made.headers.add(key=key, value=value)
    made.payload = frame.payload
    made.payload_encoding, made.payload_type = frame.payload_encoding, frame.payload_type
    made.LogIDNew = frame.log_id_new
    return bytes(made.SerializeToString())


@given(FRAMES)
def test_the_emulator_reads_its_own_frames(frame: WsFrame) -> None:
    assert decode(frame.encode()) == frame


@given(FRAMES)
def test_the_emulator_reads_frames_of_the_sdk(frame: WsFrame) -> None:
    assert decode(to_sdk(frame)) == frame


@given(FRAMES)
def test_the_adapter_reads_frames_of_the_emulator(frame: WsFrame) -> None:
    found = decode_frame(frame.encode())
    assert (found.SeqID, found.LogID, found.service, found.method) == (
        frame.seq_id,
        frame.log_id,
        frame.service,
        frame.method,
    )
    assert read_headers(found) == frame.headers
    assert found.payload == frame.payload
    assert (found.payload_encoding, found.payload_type) == (frame.payload_encoding, frame.payload_type)
    assert found.LogIDNew == frame.log_id_new


@given(FRAMES, st.binary(min_size=1, max_size=80))
def test_an_acknowledgement_is_the_frame_with_another_payload(frame: WsFrame, answer: bytes) -> None:
    acknowledged = decode(build_acknowledgement(decode_frame(frame.encode()), answer))
    frame.payload = answer
    assert acknowledged == frame


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_ping_names_its_service(service: int) -> None:
    assert decode(build_ping(service)) == WsFrame(CONTROL, {"type": "ping"}, b"", service)


@given(st.binary(max_size=80))
def test_the_adapter_refuses_what_is_no_frame(data: bytes) -> None:
    with contextlib.suppress(UnreadableFrame):
        assert decode_frame(data).IsInitialized()


@given(FRAMES, st.integers(0, 400), st.integers(0, 255))
def test_a_changed_byte_is_a_frame_or_refused(frame: WsFrame, at: int, byte: int) -> None:
    data = bytearray(frame.encode())
    data[at % len(data)] = byte
    with contextlib.suppress(UnreadableFrame):
        assert decode_frame(bytes(data)).IsInitialized()


@given(FRAMES, st.integers(0, 400))
def test_a_frame_that_is_cut_off_is_a_frame_or_refused(frame: WsFrame, at: int) -> None:
    data = frame.encode()
    with contextlib.suppress(UnreadableFrame):
        assert decode_frame(data[: at % len(data)]).IsInitialized()


GROUPS = b"\x53" * 100_000
"""Groups within groups; the SDK's decoder recurses into each."""


@pytest.mark.parametrize("data", [b"", b"\x08", b"\x08\x01", b"\x0b", b"\x42\x05ab", b"\x32\x01\xff", GROUPS])
def test_a_broken_frame_is_refused_without_its_content(data: bytes) -> None:
    with pytest.raises(UnreadableFrame, match=r"required|not readable"):
        decode_frame(data)


@given(st.binary(max_size=80))
def test_no_bytes_crash_the_emulator(data: bytes) -> None:
    with contextlib.suppress(ws_frame.BadFrame):
        decode(data)


@given(FRAMES)
def test_unknown_fields_are_passed_over(frame: WsFrame) -> None:
    extra = b"\x50\x07" + b"\x5a\x02ab" + b"\x61" + bytes(8) + b"\x6d" + bytes(4)
    assert decode(frame.encode() + extra) == frame
    assert read_headers(decode_frame(frame.encode() + extra)) == frame.headers


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
def test_the_emulator_names_what_is_wrong(data: bytes, words: str) -> None:
    with pytest.raises(ws_frame.BadFrame, match=words):
        decode(data)


@given(st.binary(max_size=200), st.text(min_size=1, max_size=20))
def test_the_adapter_decrypts_what_feishu_encrypts(content: bytes, key: str) -> None:
    key = key.encode("utf-8", "replace").decode()
    assert decrypt(crypto.encrypt(content, key, os.urandom(16)), key) == content


@given(st.text(max_size=120))
def test_no_text_is_a_crash(text: str) -> None:
    with contextlib.suppress(BadCipher):
        decrypt(text, "key")


def test_a_wrong_key_opens_nothing() -> None:
    sealed = crypto.encrypt(b"x" * 40, "one", bytes(16))
    with pytest.raises(BadCipher):
        decrypt(sealed, "two")


def test_the_signature_is_the_documented_one() -> None:
    wanted = hashlib.sha256(b"1700000000" + b"nonce" + b"key" + b'{"encrypt":"x"}').hexdigest()
    for made in (signature, crypto.signature):
        assert made("1700000000", "nonce", "key", b'{"encrypt":"x"}') == wanted
    assert is_signed(wanted, "1700000000", "nonce", "key", b'{"encrypt":"x"}')
    assert not is_signed(wanted.upper(), "1700000000", "nonce", "key", b'{"encrypt":"x"}')
