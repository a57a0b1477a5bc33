"""System call filter for commands, as classic BPF.

It refuses calls that were used to escape from sandboxes: new namespaces, mounts, other processes' memory, key
rings (which no namespace separates), BPF, kernel modules, io_uring. It allows only sockets of the families
in `FAMILIES`, because others reach kernel drivers or the host (vsock) even without a network. The numbers are
from the kernel's tables `asm/unistd_64.h` and `asm-generic/unistd.h`, and `linux/socket.h`.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32
_X32 = 0x40000000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

NETLINK, NETLINK_ROUTE = 16, 0
FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6. For AF_NETLINK, only NETLINK_ROUTE is allowed, which lists interfaces."""

# name: (x86_64, aarch64)
SOCKETS = {"socket": (41, 198), "socketpair": (53, 199)}
DENIED: dict[str, tuple[int, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "vhangup": (153, 58),
    # This memory belongs to no process, so no limit counts it.
    "shmget": (29, 194),
}


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    column: int
    clone: int
    clone3: int = 435


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, 56),
    "aarch64": _Machine(0xC00000B7, 1, 220),
    "arm64": _Machine(0xC00000B7, 1, 220),
}


def program(machine: str = "") -> bytes | None:
    """Return the filter for a machine type (default: this one), or None for an unknown type."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    refused = _ERRNO | errno.EPERM
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        # System calls of another architecture have other numbers.
        (_JUMP_EQUAL, 1, 0, known.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_GREATER_EQUAL, 0, 1, _X32),
        (_RETURN, 0, 0, refused),
    ]
    for numbers in DENIED.values():
        steps += [(_JUMP_EQUAL, 0, 1, numbers[known.column]), (_RETURN, 0, 0, refused)]
    steps += _socket_steps([numbers[known.column] for numbers in SOCKETS.values()])
    # The flags of clone3 are in memory, which a filter can't read; programs fall back to clone.
    steps += [(_JUMP_EQUAL, 0, 1, known.clone3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    steps += [
        (_JUMP_EQUAL, 0, 3, known.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_ANY_BIT, 0, 1, NAMESPACES),
        (_RETURN, 0, 0, refused),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _socket_steps(calls: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return the steps that allow or refuse calls that create sockets; other calls skip them."""
    families: list[tuple[int, int, int, int]] = [(_LOAD, 0, 0, _FIRST_ARGUMENT)]
    for family in FAMILIES:
        families += [(_JUMP_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    families += [
        (_JUMP_EQUAL, 0, 3, NETLINK),
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_JUMP_EQUAL, 0, 1, NETLINK_ROUTE),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT),
    ]
    matches = [(_JUMP_EQUAL, len(calls) - at, 0, call) for at, call in enumerate(calls, 1)]
    return [*matches[:-1], (_JUMP_EQUAL, 0, len(families), calls[-1]), *families]


def profile() -> dict[str, Any]:
    """Return the filter in the container engines' format (`--security-opt seccomp=FILE`)."""
    refused = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    bits = [1 << bit for bit in range(NAMESPACES.bit_length()) if NAMESPACES >> bit & 1]
    with_flag = [
        {"names": ["clone"], **refused}
        | {"args": [{"index": 0, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}]}
        for bit in bits
    ]
    absent = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS}
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": [*DENIED], **refused}, absent, *with_flag, *_socket_rules()],
    }


def _socket_rules() -> list[dict[str, Any]]:
    """Return the rules that refuse other sockets.

    The engines compare 64 bits, although the kernel ignores the upper half, and accept one condition per
    argument, so every refused family needs its own rule.
    """
    allowed = (*FAMILIES, NETLINK)
    refused = {
        "names": [*SOCKETS],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": errno.EAFNOSUPPORT,
    }
    conditions = [
        *([{"index": 0, "value": one, "op": "SCMP_CMP_EQ"}] for one in range(NETLINK) if one not in allowed),
        [{"index": 0, "value": NETLINK + 1, "op": "SCMP_CMP_GE"}],
        [
            {"index": 0, "value": NETLINK, "op": "SCMP_CMP_EQ"},
            {"index": 2, "value": NETLINK_ROUTE, "op": "SCMP_CMP_NE"},
        ],
    ]
    return [{**refused, "args": one} for one in conditions]
