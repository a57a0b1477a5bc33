"""Commands for programs of ours that another process starts, and that are forked here nevertheless."""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from uuid import uuid4

from tests.harness.forks import Program, load, start

LAUNCHER = Path(__file__).with_name("launcher.py")
MAX_MESSAGE = 1 << 17


def forked_command(module: str, *arguments: str) -> list[str]:
    """Return a command that runs a module without importing what the fork server has. Blocking.

    If the module is "-c", the first argument is the source of a program.
    """
    return [sys.executable, "-IS", str(LAUNCHER), _listen(), module, *arguments]


@cache
def _listen() -> str:
    """Start the broker. Return its address, an abstract one."""
    load()
    address = f"roebot-broker-{uuid4().hex}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0{address}")
    listener.listen()
    Thread(target=_accept, args=(listener,), daemon=True).start()
    return address


def _accept(listener: socket.socket) -> None:
    while True:
        launcher, _ = listener.accept()
        Thread(target=_follow, args=(launcher,), daemon=True).start()


def _follow(launcher: socket.socket) -> None:
    """Run the launcher's program. Signals go to it, and it is killed when the launcher ends."""
    with launcher:
        message, numbers, *_ = socket.recv_fds(launcher, MAX_MESSAGE, 3, socket.MSG_CMSG_CLOEXEC)
        with ExitStack() as stack:
            files = [stack.enter_context(os.fdopen(number, "rb")) for number in numbers]
            if not message:
                return
            (module, *arguments), folder, env = marshal.loads(message)
            source = arguments.pop(0) if module == "-c" else ""
            module = "" if source else module
            process = start(Program(module, arguments, Path(folder), env, source), *files)
        assert process.pid is not None
        while process.sentinel not in wait([process.sentinel, launcher]):
            [number] = launcher.recv(1) or [signal.SIGKILL]
            os.kill(process.pid, number)
            if number == signal.SIGKILL:
                break
        process.join()
        with suppress(OSError):
            launcher.send((process.exitcode or 0).to_bytes(1, signed=True))
        process.close()
