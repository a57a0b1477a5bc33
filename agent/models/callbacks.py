"""Observe model calls inside a graph step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config


@contextmanager
def attach_callback(handler: BaseCallbackHandler, tags: Sequence[str] = ()) -> Iterator[None]:
    """Attach a handler to every model call in this context and add the tags to the call."""
    added = RunnableConfig(callbacks=[handler], tags=list(tags))
    token = var_child_runnable_config.set(merge_configs(ensure_config(), added))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
