"""Route that purges deleted content from the databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from starlette.responses import Response

from agent.errors import Refused
from agent.runtime.http.base import Runtime, json_response
from agent.runtime.store.engines import vacuum_database
from agent.shared.json_routes import make_router
from agent.shared.sqlite_compaction import Compaction, compact_database

router = make_router("storage")


@router.post("/storage/compact")
async def compact_storage(runtime: Runtime) -> Response:
    """Remove deleted content from the database files and their write-ahead logs.

    On PostgreSQL, free the space of deleted rows; no files are listed.
    """
    if runtime.access.user is not None:
        raise Refused("Forbidden", 403)
    settings = runtime.settings
    if settings.database_url is not None:
        await asyncio.to_thread(vacuum_database, settings.database_url)
        return json_response({})
    paths = (settings.database, settings.items, settings.checkpoints)
    done = await asyncio.to_thread(_compact_files, paths)
    return json_response({name: asdict(result) for name, result in done.items()})


def _compact_files(paths: Iterable[Path]) -> dict[str, Compaction]:
    """Compact these database files, by name; skip missing ones. Blocking."""
    return {path.name: compact_database(path) for path in dict.fromkeys(paths) if path.is_file()}
