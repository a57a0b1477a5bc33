"""Audit events as sentences."""

from __future__ import annotations

import re

from bot.store.audit import AuditEvent
from bot.texts import Texts

_NUMBERED = re.compile(r"(?:conversation|memory|thread) \S+")


def describe_event(texts: Texts, deed: AuditEvent, who: str, subject: str = "") -> str:
    """Return a sentence about an event of `who`; `subject` is the name of its subject, if that is known."""
    if not subject and (deed.action == "read" or _NUMBERED.fullmatch(deed.subject)):
        kind = deed.subject.partition(" ")[0]
        subject = texts.label("audited", kind) if texts.has(f"audited_{kind}") else ""
    subject, key = subject or deed.subject, f"sentence_{deed.action.replace(' ', '_')}"
    if not texts.has(key):
        rest = " ".join(filter(None, (subject, deed.detail)))
        return texts("sentence_other", who=who, action=deed.action, rest=rest).strip(" ：:")
    detail = texts.label("role_name" if deed.action == "give" else "audited", deed.detail)
    number = re.search(r"\d+", deed.detail or deed.subject)
    return texts(key, who=who, subject=subject, detail=detail, number=number[0] if number else detail).strip(
        " ：:"
    )
