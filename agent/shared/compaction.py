"""Names shared by the bot and the agent for summaries on request."""

from __future__ import annotations

from typing import Final

LEAD_GRAPH: Final = "lead_agent"
COMPACTION_GRAPH: Final = "compaction"
"""The graph that summarizes threads of the lead agent; another server has none of this name."""
COMPACTION: Final = "compaction"
"""The request in a run's `configurable` (`key`, `focus`), and the channel of the thread with its result."""
UNLESS_INTERRUPTED_HEADER: Final = "x-roebot-unless-interrupted"
"""Header of a request for a run that must not start on a thread with an open interrupt, since the run
would discard the interrupt. Other servers ignore it.
"""
