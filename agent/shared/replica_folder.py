"""Folders of replicas: processes that share a data directory, each with some files of its own."""

from __future__ import annotations

from pathlib import Path

REPLICA_VARIABLE = "ROEBOT_REPLICA"


def replica_folder(home: Path, replica: str) -> Path:
    """Return the folder for lock, address and log of a process ("": the data directory, which is its own)."""
    return home / "replicas" / replica if replica else home
