"""Service calls by the agent: interrupts that the service answers itself.

The interrupt's value has `type` SERVICE_CALL, the `name` of a service and its `arguments`; it is resumed with
a mapping whose RESULT is a JSON object. The service decides about people and chat by the run, never by the
arguments (docs/decisions/call-the-service-by-interrupt.md).
"""

from __future__ import annotations

from typing import Final

SERVICE_CALL: Final = "service_call"
RESULT: Final = "service_result"
READ_CHAT: Final = "read_chat"
"""Service that returns messages of the run's chat. Arguments `since` and `until` are times as
`2026-11-24 05:16` in the chat's time zone, "" for the default. The result has `place` (chat or thread),
`zone`, the period as `since` and `until`, and `lines`; `older` is the end of the period's older messages ("":
all are there), `begins` the time before which nothing can be read ("": before the period). Or it has
`problem`: unrecorded, unread, since, until, or limit after too many calls in one answer.
"""
SCHEDULE: Final = "schedule"
"""Service that lists the chat's schedules, and proposes to create, change or delete one. Argument `action` is
list, create, change or delete; `days`, `times`, `every`, `start`, `until` and `zone` are the time as the tool
describes them, `text` what is posted or asked, `kind` task, message or digest, `number` that of a schedule.
To create one, `words` may be a request that says when and what, instead of the fields and the text.
The result has one of: `lines`, the schedules as JSON (`own`: the person who is answered created it);
`previewed`, the action that this person is asked to confirm; `invalid`, the arguments that the model has to
correct; `refused`, the reason in the person's language; `problem`: action, or proposals or limit after too
many calls in one answer.
"""
