"""The filter of system calls: what it refuses, and what each of its instructions decides."""

from __future__ import annotations

import platform
import struct
from pathlib import Path

import pytest

from agent.core.interfaces import Sandbox
from agent.sandbox import seccomp
from roebot_testing.agent.conformance.attacks_base import run_python
from tests.sandbox.sandbox_fixtures import local, one

pytestmark = pytest.mark.bubblewrap

CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {numbers}:
    ctypes.set_errno(0)
    libc.syscall(number, 0, 0, 0, 0, 0)
    print(name, ctypes.get_errno())
ctypes.set_errno(0); libc.syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0); print("clone", ctypes.get_errno())
ctypes.set_errno(0); libc.syscall(435, 0, 0); print("clone3", ctypes.get_errno())
"""


@pytest.mark.guard(
    "dangerous system calls are rejected",
    "agent/sandbox/bubblewrap.py",
    "if job.filter_fd is not None:",
    "if False:",
    against="/proc and devices",
)
@pytest.mark.guard(
    "no namespaces by clone",
    "agent/sandbox/seccomp.py",
    "(_JUMP_ANY_BIT, 0, 1, NAMESPACES)",
    "(_JUMP_ANY_BIT, 1, 1, NAMESPACES)",
    against="/proc and devices",
)
@pytest.mark.guard(
    "no namespaces by clone3",
    "agent/sandbox/seccomp.py",
    "_ERRNO | errno.ENOSYS)]",
    "_ALLOW)]",
    against="/proc and devices",
)
async def test_calls_of_the_kernel_are_refused(tmp_path: Path) -> None:
    column = 0 if platform.machine() == "x86_64" else 1
    numbers = [(name, both[column]) for name, both in seccomp.DENIED.items()]
    script = CALLS.format(numbers=numbers, clone=(56, 220)[column])
    result = await run_python(await one(local(tmp_path)), script)
    answers = dict(line.split() for line in result.output.splitlines())
    assert answers.pop("clone3") == "38", "not there, so that programs fall back"
    assert set(answers.values()) == {"1"}
    assert set(answers) == {*seccomp.DENIED, "clone"}


SOCKETS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in {calls}:
    for family in range(50):
        for kind, protocol in ((1, 0), (2, 0), (3, 0), (3, 4), (3, 9), (5, 0)):
            for high in (0, 1 << 32):
                ctypes.set_errno(0)
                pair = ctypes.byref((ctypes.c_int * 2)())
                args = [ctypes.c_ulong(one) for one in (call, family + high, kind, protocol)]
                if libc.syscall(*args, pair) >= 0 or ctypes.get_errno() not in (1, 22, 93, 94, 95, 97):
                    print("opened", family, protocol, ctypes.get_errno())
"""


@pytest.mark.guard(
    "only sockets of the listed families",
    "agent/sandbox/seccomp.py",
    "(_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT),",
    "(_RETURN, 0, 0, _ALLOW),",
    against="/proc and devices",
)
async def test_only_listed_families_can_be_opened(tmp_path: Path) -> None:
    await check_sockets(await one(local(tmp_path)))


async def check_sockets(box: Sandbox) -> None:
    """Try each family, with protocols and with bits that the kernel ignores."""
    column = 0 if platform.machine() == "x86_64" else 1
    calls = [numbers[column] for numbers in seccomp.SOCKETS.values()]
    result = await run_python(box, SOCKETS.format(calls=calls))
    opened = {tuple(line.split()[1:3]) for line in result.output.splitlines()}
    assert {family for family, _ in opened} == {"1", "2", "10", "16"}
    assert {protocol for family, protocol in opened if family == "16"} == {"0"}


@pytest.mark.parametrize("high", [0, 1 << 32])
def test_containers_have_the_same_list(high: int) -> None:
    def is_refused(call: str, family: int, protocol: int) -> bool:
        compare = {"SCMP_CMP_EQ": int.__eq__, "SCMP_CMP_GE": int.__ge__, "SCMP_CMP_NE": int.__ne__}
        rules = [one for one in seccomp.profile()["syscalls"] if call in one["names"]]
        values = {0: family + high, 2: protocol}
        return any(
            all(compare[one["op"]](values[one["index"]], one["value"]) for one in rule["args"])
            for rule in rules
        )

    allowed = {(1, 0), (2, 0), (2, 17), (10, 0), (10, 6), (16, 0)}
    for call in seccomp.SOCKETS:
        for family in range(50):
            for protocol in (0, 4, 6, 9, 17):
                listed = family in (1, 2, 10) or (family, protocol) in allowed
                assert is_refused(call, family, protocol) is (not listed or bool(high)), (
                    call,
                    family,
                    protocol,
                )


@pytest.mark.guard(
    "system calls with alternative numbers are rejected",
    "agent/sandbox/seccomp.py",
    "(_JUMP_GREATER_EQUAL, 0, 1, _X32)",
    "(_JUMP_GREATER_EQUAL, 1, 1, _X32)",
    against="/proc and devices",
)
@pytest.mark.guard(
    "system calls of another architecture end the program",
    "agent/sandbox/seccomp.py",
    "(_JUMP_EQUAL, 1, 0, known.audit)",
    "(_JUMP_EQUAL, 1, 1, known.audit)",
    against="/proc and devices",
)
@pytest.mark.parametrize(
    ("machine", "audit", "call", "argument", "answer"),
    [
        ("x86_64", 0xC000003E, 165, 0, 0x00050001),
        ("x86_64", 0xC000003E, 0, 0, 0x7FFF0000),
        ("x86_64", 0xC000003E, 0x40000000, 0, 0x00050001),
        ("x86_64", 0x40000003, 0, 0, 0x80000000),
        ("x86_64", 0xC000003E, 56, 0x00010F00, 0x7FFF0000),
        ("x86_64", 0xC000003E, 56, 0x10000011, 0x00050001),
        ("x86_64", 0xC000003E, 41, 1, 0x7FFF0000),
        ("x86_64", 0xC000003E, 41, 16, 0x7FFF0000),
        ("x86_64", 0xC000003E, 41, 40, 0x00050061),
        ("x86_64", 0xC000003E, 53, 30, 0x00050061),
        ("x86_64", 0xC000003E, 53, 1, 0x7FFF0000),
        ("x86_64", 0xC000003E, 42, 40, 0x7FFF0000),
        ("aarch64", 0xC00000B7, 198, 38, 0x00050061),
        ("aarch64", 0xC00000B7, 199, 10, 0x7FFF0000),
        ("aarch64", 0xC00000B7, 40, 0, 0x00050001),
        ("aarch64", 0xC00000B7, 165, 0, 0x7FFF0000),
        ("aarch64", 0xC00000B7, 220, 0x20000000, 0x00050001),
    ],
)
def test_the_filter_decides(machine: str, audit: int, call: int, argument: int, answer: int) -> None:
    made = seccomp.program(machine)
    assert made is not None
    assert decision(made, {0: call, 4: audit, 16: argument, 32: 0}) == answer


def test_a_machine_without_a_table_has_no_filter() -> None:
    assert seccomp.program("riscv64") is None


def decision(program: bytes, data: dict[int, int]) -> int:
    """What the kernel would answer: an interpreter of the five instructions that are used."""
    steps, at, value = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            value = data[operand]
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += yes if holds else no
