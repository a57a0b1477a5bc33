"""Send a test prompt to every model and exit: `python -m agent.models.check [--config FILE]`.

Standard output gets one JSON line per result: first an `agent.core.schemas.ModelList` or `{"problem": "…"}`,
then an `agent.core.schemas.ModelProbe` for each model, in the order of their answers. Everything else goes to
standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
from pydantic import BaseModel

from agent.config.errors import ConfigErrors
from agent.models.probe import probe_model
from agent.models.source import ModelSource
from agent.models.spec import ModelSpec


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all models at the same time."""
    parser = argparse.ArgumentParser(prog="python -m agent.models.check")
    parser.add_argument("--config", type=Path)
    options = parser.parse_args(arguments)
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asyncio.run(_check_models(ModelSource(options.config), out))
    sys.stdout.flush()
    # A provider's package may hold threads that wait for something; nothing here is worth waiting for.
    os._exit(0)


async def _check_models(source: ModelSource, out: int) -> None:
    try:
        catalog = await source.catalog()
    except ConfigErrors as error:
        os.write(out, orjson.dumps({"problem": str(error)}) + b"\n")
        return
    _write_line(out, catalog.describe_all())
    async with asyncio.TaskGroup() as group:
        for spec in catalog.specs:
            group.create_task(_check_model(spec, out), name=f"probe:{spec.name}")


async def _check_model(spec: ModelSpec, out: int) -> None:
    _write_line(out, await probe_model(spec))


def _write_line(out: int, result: BaseModel) -> None:
    os.write(out, result.model_dump_json().encode() + b"\n")


if __name__ == "__main__":
    main()
