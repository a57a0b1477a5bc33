"""The section about what the agent remembers of people and chats."""

from __future__ import annotations

from pydantic import Field

from agent.config.types import Count, Number, Section, Switch, Text


class MemoryConfig(Section):
    """What is remembered of people and group chats beyond a thread."""

    enabled: Switch = Field(True, description="Whether the agent remembers people and group chats.")
    injection_enabled: Switch = Field(True, description="Whether what is remembered is put before the model.")
    storage_path: Text | None = Field(
        None, description="The folder that it is kept in; null: memory below the home."
    )
    debounce_seconds: Number = Field(
        30.0, ge=0, le=3600, description="Seconds of quiet in a thread before the memory is updated."
    )
    model_name: Text | None = Field(None, description="The model that updates it; null: the default one.")
    max_facts: Count = Field(100, le=1000, description="Facts that are kept at most; the best ones stay.")
    fact_confidence_threshold: Number = Field(
        0.7, ge=0, le=1, description="How sure the model has to be of a fact, from 0 to 1."
    )
    max_injection_tokens: Count = Field(
        2000, le=100_000, description="Tokens of it that are put before the model at most."
    )
