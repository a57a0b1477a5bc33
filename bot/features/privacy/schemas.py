"""What the API returns about the erasure of a person, and about audit events."""

from __future__ import annotations

from pydantic import AliasPath, Field

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


class AuditEntryInfo(ApiModel):
    """An audit event: the person, their action, its subject and details; `text` is a sentence about it."""

    id: int
    at: float
    person: str
    name: str
    account: str
    chat: str
    action: str = Field(validation_alias=AliasPath("deed", "action"))
    subject: str = Field(validation_alias=AliasPath("deed", "subject"))
    detail: str = Field(validation_alias=AliasPath("deed", "detail"))
    text: str = ""


class Audit(ApiModel):
    """A page of audit events, newest first; `next` is the cursor of the next page."""

    entries: list[AuditEntryInfo]
    next: str | None
