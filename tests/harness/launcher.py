"""Run a module in a process that the broker forks: `python -IS launcher.py ADDRESS MODULE [ARGUMENT…]`.

That process has the files, the folder and the environment of this one, and ends with it. There are few
imports here, since they are what a start takes.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys


def main(address: str, *program: str) -> int:
    """Return the exit code of the program, negative for a signal that ended it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broker:
        broker.connect(f"\0{address}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: broker.send(bytes([number])))
        message = marshal.dumps((program, os.getcwd(), dict(os.environ)))  # noqa: PTH109 - imports less
        socket.send_fds(broker, [message], [0, 1, 2])
        for number in range(3):
            os.close(number)
        return int.from_bytes(broker.recv(1), signed=True)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
