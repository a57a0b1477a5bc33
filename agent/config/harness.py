"""Configuration sections of the agent's features, such as titles, sandbox, tools, memory and subagents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from agent.config.extensions import SERVER_NAME, SecretLine
from agent.config.types import Count, ImportString, Int, ManyIds, Number, OpenSection, Section, Switch, Text

LOCAL_SANDBOX = "agent.sandbox.local:LocalSandboxProvider"
ALLOWLIST = "agent.middleware.guardrail:AllowlistProvider"


class TitleConfig(Section):
    """Titles of threads."""

    enabled: Switch = Field(True, description="Whether a thread gets a title after its first exchange.")
    max_words: Count = Field(6, description="Words that the model is asked for at most.")
    max_chars: Count = Field(60, description="Characters that are kept at most.")
    prompt_template: Text | None = Field(
        None, description="What the model is asked; {max_words}, {user} and {assistant} are filled in."
    )

    @field_validator("prompt_template")
    @classmethod
    def _can_be_filled_in(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                value.format(max_words=1, user="", assistant="")
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                raise ValueError(
                    "expected {max_words}, {user} and {assistant} alone in braces; write other braces twice"
                ) from error
        return value


class ContextSize(Section):
    """A size of conversation."""

    type: Literal["tokens", "messages", "fraction"] = Field(
        description="tokens, messages, or a fraction of the model's context window."
    )
    value: Number = Field(gt=0, description="How many; a fraction is at most 1.")

    @model_validator(mode="after")
    def _fits_its_type(self) -> ContextSize:
        if self.type == "fraction":
            if self.value > 1:
                raise ValueError(f"expected a fraction of at most 1, got {self.value:g}")
        elif self.value != int(self.value):
            raise ValueError(f"expected a whole number of {self.type}, got {self.value:g}")
        return self

    def as_tuple(self) -> tuple[Any, Any]:
        """Return the size as langchain expects it."""
        return (self.type, self.value if self.type == "fraction" else int(self.value))


class SummarizationConfig(Section):
    """Summaries that replace the older part of a long thread."""

    enabled: Switch = Field(False, description="Whether long threads are summarized.")
    trigger: tuple[ContextSize, ...] = Field(
        (ContextSize(type="tokens", value=16_000),),
        description="From which size on a thread is summarized; the first that is reached counts.",
    )
    keep: ContextSize = Field(
        ContextSize(type="messages", value=20), description="What stays as it is, at the end."
    )
    model_name: Text | None = Field(None, description="The model that summarizes; null: the run's own.")

    @field_validator("trigger")
    @classmethod
    def _not_empty(cls, value: tuple[ContextSize, ...]) -> tuple[ContextSize, ...]:
        if not value:
            raise ValueError("expected at least one size; enabled: false switches summaries off")
        return value


class SandboxConfig(OpenSection):
    """The sandbox for commands and files. Further keys belong to the provider."""

    enabled: Switch = Field(True, description="Whether the agent has a sandbox, and the tools that use it.")
    use: ImportString = Field(LOCAL_SANDBOX, description="The provider, as package.module:Class.")


class GuardrailProviderConfig(OpenSection):
    """The provider that decides about tool calls. Further keys belong to its class."""

    use: ImportString = Field(
        ALLOWLIST,
        description="The class that decides, as package.module:Class. That of the default takes the lists "
        "allowed, denied and ask, of which it needs one.",
    )


class GuardrailsConfig(Section):
    """A decision before each tool call."""

    enabled: Switch = Field(False, description="Whether each tool call is decided about first.")
    provider: GuardrailProviderConfig = Field(
        default_factory=GuardrailProviderConfig, description="Who decides: use, and the keys of its class."
    )


class ModelCallsConfig(Section):
    """Retries and fallbacks for failed model calls."""

    retries: Int = Field(
        2,
        ge=0,
        le=10,
        description="How often a failed call is made again; a model with max_retries does that by itself.",
    )
    retry_delay_seconds: Number = Field(
        1.0, ge=0, le=300, description="Seconds before the first of them; doubled each time."
    )
    fallback_models: Annotated[tuple[Text, ...], ManyIds] = Field(
        (),
        description="Models, by name, that are asked in turn when one keeps failing or can't be made.",
    )


class MemoryConfig(Section):
    """Memory of people and group chats across threads."""

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


CONTAINER_PATH = "/mnt/skills"


class SkillsConfig(Section):
    """Skills: folders with instructions for a kind of work."""

    path: Text | None = Field(
        None,
        description="The folder that has public/ and custom/; null: the bundled ones, and skills/custom "
        "below the home.",
    )
    container_path: Text = Field(CONTAINER_PATH, description="Where the agent sees that folder.")

    @field_validator("container_path")
    @classmethod
    def _is_a_plain_folder(cls, value: str) -> str:
        if not re.fullmatch(r"(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+", value):
            raise ValueError("expected an absolute path such as /mnt/skills")
        return value


class SubagentsConfig(Section):
    """Subagents that the agent delegates work to."""

    enabled: Switch = Field(True, description="Whether the agent may hand work to subagents.")
    max_concurrent: Count = Field(3, le=16, description="Subagents of one conversation at the same time.")
    timeout_seconds: Number = Field(
        900.0, gt=0, le=86_400, description="Seconds after which a subagent is stopped."
    )


DEFERRED_TOOLS_THRESHOLD = 20
"""With more tools than this, those of MCP servers are found by search instead of listed for the model."""


class ToolEntry(OpenSection):
    """An entry of `tools`. Unnamed keys are kept in `extra` for the target of `use`."""

    name: Text = Field(description="The name by which the model calls it.")
    group: Text = Field(description="The group that agents take it by.")
    use: ImportString = Field(
        description="A tool, a class of tools or a function, as package.module:name; further keys go to it."
    )


class ToolGroup(Section):
    """An entry of `tool_groups`."""

    name: Text = Field(description="The name of the group.")


class AcpAgent(Section):
    """An external agent that speaks ACP over standard input and output. It is started for each task."""

    enabled: Switch = Field(True, description="Whether tasks may be handed to it.")
    command: Text = Field(description="The program; it has to speak ACP.")
    args: tuple[str, ...] = Field((), description="Its arguments.")
    env: Mapping[str, SecretLine] = Field(default_factory=dict, description="Its environment variables.")
    description: Text | None = Field(None, description="What it is good for, in a line; the agent reads it.")
    auto_approve_permissions: Switch = Field(
        False, description="Whether it may do what it asks permission for; else that is denied."
    )
    timeout_seconds: Number = Field(
        900.0, gt=0, le=86_400, description="Seconds after which a task is stopped."
    )
    start_seconds: Number = Field(60.0, gt=0, le=600, description="Seconds to start and open a session.")


def check_agent_names(agents: Mapping[str, AcpAgent]) -> Mapping[str, AcpAgent]:
    """Return the agents. Raises ValueError for an invalid name."""
    for name in agents:
        if not SERVER_NAME.fullmatch(name):
            raise ValueError(
                f"{name[:40]!r} is no name for an agent: letters, digits, - and _, 32 at most; rename it"
            )
    return agents
