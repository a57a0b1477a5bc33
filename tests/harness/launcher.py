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
    """Return the exit code of the program."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broker:
        broker.connect(f"\0{address}")
        # The broker kills the program then, and answers when it is gone.
        signal.signal(signal.SIGTERM, lambda *_: broker.shutdown(socket.SHUT_WR))
        message = marshal.dumps((program, os.getcwd(), dict(os.environ)))  # noqa: PTH109 - pathlib is slow to import
        socket.send_fds(broker, [message], [0, 1, 2])
        for number in range(3):
            os.close(number)
        return int.from_bytes(broker.recv(1))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
