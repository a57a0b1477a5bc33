"""What the API returns about the erasure of a person."""

from __future__ import annotations

from bot.server.api.schemas import ApiModel


class ErasureResult(ApiModel):
    """Result of erasing a person's data. In `shared_threads`, which others use, their messages were masked.
    `open_messages` are in progress; `remembers` is true if the agent runtime could not be reached. Unless
    `done`, the service tries again. `erased` holds numbers by place, `unsupported` what the agent runtime
    can't erase; `backups` are existing copies, which are not changed.
    """

    messages: int
    threads: int
    shared_threads: int
    open_messages: int
    remembers: bool
    done: bool
    erased: dict[str, int]
    unsupported: list[str]
    backups: list[str]


class ErasureState(ApiModel):
    """State of an erasure; `erased` holds numbers by place. `requested_at` is 0 if there was none;
    `finished_at` is null while it is in progress. `backups` are existing copies, which are not changed.
    """

    requested_at: float
    finished_at: float | None
    erased: dict[str, int]
    backups: list[str]
