"""Model calls that middleware makes for itself: nothing of them reaches a stream of the user."""

from __future__ import annotations

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM


def internal_config(source: str) -> RunnableConfig:
    """The config of such a call; `source` names who makes it, for traces."""
    return {"tags": [TAG_NOSTREAM], "metadata": {"lc_source": source, **internal_call_metadata()}}
