"""Serve the local model as an OpenAI-compatible server on a loopback port.

    python -m agent.models.local.server --model FILE --context 8192 --slots 4 --threads 1

The API key is the first line of standard input, so that no process list shows it. When ready it prints one
JSON line `{"url": …}`. It exits when standard input closes, that is with its parent. It imports nothing heavy
of this package.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any


def main(arguments: list[str] | None = None) -> int:
    """Serve until standard input closes."""
    options = _build_parser().parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    key = sys.stdin.readline().strip()
    server = _start_server(options, key)
    sys.stdout.write(json.dumps({"url": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    sys.stdout.flush()
    os._exit(0)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agent.models.local.server")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens of all slots together")
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser


def _start_server(options: argparse.Namespace, key: str) -> Any:
    import xllamacpp  # type: ignore[import-untyped,import-not-found,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.n_ctx = options.context
    params.n_parallel = options.slots
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.model_alias = {options.model.stem}
    params.port = 0
    params.api_keys = [key]
    params.cache_ram_mib = 0
    params.endpoint_slots = False
    params.ui = False
    params.verbosity = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
