"""Checks a configuration and exits: `python -m agent.management.check [--config FILE] [--home FOLDER]`.

Standard output gets one line of JSON: an `agent.core.schemas.ConfigReport`. All other output goes to standard
error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.catalog.source import ModelSource
from agent.config.errors import ConfigErrors
from agent.config.extensions_file import ExtensionsSource
from agent.management.check.report import report
from agent.shared.schemas import ConfigProblem, ConfigReport


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m agent.management.check")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    options = parser.parse_args(arguments)
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    found = asyncio.run(_report(ModelSource(options.config), options.home))
    os.write(out, found.model_dump_json().encode() + b"\n")
    sys.stdout.flush()
    # Imported packages may have started threads that would delay a normal exit.
    os._exit(0)


async def _report(source: ModelSource, home: Path) -> ConfigReport:
    try:
        return await report(source, home, os.environ, ExtensionsSource())
    except ConfigErrors as errors:
        return ConfigReport(problems=[ConfigProblem(where="", what=str(error)) for error in errors.errors])


if __name__ == "__main__":
    main()
