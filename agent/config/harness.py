"""Configuration sections of the agent's features, such as titles, sandbox, tools, memory and subagents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from agent.config.extensions import SecretLine, check_names
from agent.config.forbidden_commands import DEFAULT_RULES, check_rules
from agent.config.types import Count, ImportString, Int, ManyIds, Number, OpenSection, Section, Switch, Text

LOCAL_SANDBOX = "agent.sandbox.local:LocalSandboxProvider"
ALLOWLIST = "agent.middleware.guardrail:AllowlistProvider"


class TitleConfig(Section):
    """Titles of threads."""

    enabled: Switch = Field(True, description="false: threads have no titles.")
    max_words: Count = Field(6, description="Maximum number of words.")
    max_chars: Count = Field(60, description="Maximum number of characters.")
    model_name: Text | None = Field(
        None,
        description="Name of the model that writes titles; null: the first words of a thread are its title.",
    )
    prompt_template: Text | None = Field(
        None, description="Prompt with {max_words} and {user}; null: the built-in prompt."
    )

    @field_validator("prompt_template")
    @classmethod
    def _can_be_filled_in(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                value.format(max_words=1, user="", assistant="")
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                raise ValueError(
                    "expected only {max_words} and {user} in braces; write other braces twice"
                ) from error
        return value


class ContextSize(Section):
    """A conversation size."""

    type: Literal["tokens", "messages", "fraction"] = Field(
        description="tokens, messages, or a fraction of the model's context window."
    )
    value: Number = Field(gt=0, description="Amount; at most 1 for a fraction.")

    @model_validator(mode="after")
    def _fits_its_type(self) -> ContextSize:
        if self.type == "fraction":
            if self.value > 1:
                raise ValueError(f"expected a fraction of at most 1, got {self.value:g}")
        elif self.value != int(self.value):
            raise ValueError(f"expected a whole number of {self.type}, got {self.value:g}")
        return self

    def as_tuple(self) -> tuple[Any, Any]:
        """Return the size in langchain's format."""
        return (self.type, self.value if self.type == "fraction" else int(self.value))


class SummarizationConfig(Section):
    """Summaries that replace the older part of a long thread."""

    enabled: Switch = Field(True, description="false: summarize only on request, with /compact.")
    trigger: tuple[ContextSize, ...] = Field(
        (ContextSize(type="fraction", value=0.75),),
        description="Sizes at which a thread is summarized; reaching any one of them is enough.",
    )
    keep: ContextSize = Field(
        ContextSize(type="fraction", value=0.25),
        description="Most recent part of the thread, which is not summarized; less of it is kept if that "
        "would save less than a quarter of the size in trigger.",
    )
    model_name: Text | None = Field(
        None, description="Name of the model, which can be a cheaper one; null: the model of the run."
    )

    @field_validator("trigger")
    @classmethod
    def _not_empty(cls, value: tuple[ContextSize, ...]) -> tuple[ContextSize, ...]:
        if not value:
            raise ValueError("expected at least one size; enabled: false switches summaries off")
        return value


class SandboxConfig(OpenSection):
    """The sandbox for commands and files. Further keys belong to the provider."""

    enabled: Switch = Field(True, description="false: no sandbox and no tools that need it.")
    use: ImportString = Field(LOCAL_SANDBOX, description="Provider, as package.module:Class.")


class GuardrailProviderConfig(OpenSection):
    """The provider that decides on tool calls. Further keys belong to its class."""

    use: ImportString = Field(
        ALLOWLIST,
        description="Class of the provider, as package.module:Class. The default takes the lists allowed, "
        "denied and ask and needs at least one of them.",
    )


class GuardrailsConfig(Section):
    """A decision before each tool call."""

    enabled: Switch = Field(
        False, description="true: check each tool call; if the check itself fails, the call is blocked."
    )
    provider: GuardrailProviderConfig = Field(
        default_factory=GuardrailProviderConfig,
        description="Provider: use, and the keys that its class accepts.",
    )
    forbidden_commands: tuple[Text, ...] = Field(
        DEFAULT_RULES,
        description="Commands that are refused whoever approves them, even if enabled is false: a program "
        "and the arguments that it must have, in any order. * is a wildcard.",
    )

    @field_validator("forbidden_commands")
    @classmethod
    def _are_commands(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_rules(value)
        return value


class ModelCallsConfig(Section):
    """Retries and fallbacks for failed model calls."""

    retries: Int = Field(
        2,
        ge=0,
        le=10,
        description="Retries of a failed call; a model that sets max_retries does its own retries instead.",
    )
    retry_delay_seconds: Number = Field(
        1.0, ge=0, le=300, description="Seconds before the first retry; doubles with each retry."
    )
    fallback_models: Annotated[tuple[Text, ...], ManyIds] = Field(
        (),
        description="Names of the models to try, in order, if the selected one fails or can't be created.",
    )


class MemoryConfig(Section):
    """Memory of people and group chats across threads."""

    enabled: Switch = Field(True, description="false: no memory.")
    injection_enabled: Switch = Field(True, description="false: do not show memory to the model.")
    storage_path: Text | None = Field(None, description="Folder; null: memory/ in the data directory.")
    debounce_seconds: Number = Field(
        30.0, ge=0, le=3600, description="Seconds without a new message before memory is updated."
    )
    model_name: Text | None = Field(
        None,
        description="Name of the model that updates memory, which can be a cheaper one; null: the default "
        "model.",
    )
    max_facts: Count = Field(
        100, le=1000, description="Maximum number of facts; those with the highest confidence are kept."
    )
    fact_confidence_threshold: Number = Field(
        0.7, ge=0, le=1, description="Minimum confidence of a fact, from 0 to 1."
    )
    max_injection_tokens: Count = Field(
        2000, le=100_000, description="Maximum number of tokens shown to the model."
    )


CONTAINER_PATH = "/mnt/skills"


class SkillsConfig(Section):
    """Skills: folders with instructions for a kind of work."""

    path: Text | None = Field(
        None,
        description="Folder with public/ and custom/; null: the bundled skills, and skills/custom "
        "in the data directory.",
    )
    container_path: Text = Field(CONTAINER_PATH, description="Path at which the agent sees that folder.")

    @field_validator("container_path")
    @classmethod
    def _is_a_plain_folder(cls, value: str) -> str:
        if not re.fullmatch(r"(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+", value):
            raise ValueError("expected an absolute path such as /mnt/skills")
        return value


BUILT_IN_SUBAGENTS = ("general-purpose", "bash")
"""The names of the built-in types of subagents."""
MAX_TURNS = 200
Names = Annotated[tuple[Text, ...], ManyIds] | None


class SubagentTypeConfig(Section):
    """A type of subagent: a new one, or changes to a built-in one."""

    enabled: Switch = Field(True, description="false: do not offer this type.")
    description: Text | None = Field(
        None, description="When to use it, in one line; shown to the lead agent. A new type requires it."
    )
    prompt: Text | None = Field(
        None,
        description="Its system prompt; the rules for subagents, the date and its skills follow. A new type "
        "requires it.",
    )
    tools: Names = Field(
        None, description="Which of the agent's tools it has; * is a wildcard. []: none; null: all."
    )
    skills: Names = Field(None, description="Which of the agent's skills it has. []: none; null: all.")
    model_name: Text | None = Field(None, description="Name of its model; null: the model of the run.")
    max_turns: Count | None = Field(
        None,
        le=MAX_TURNS,
        description="Maximum number of model calls; null: 50 (bash: 30), or as many as the agent requests.",
    )
    max_tokens: Count | None = Field(
        None, description="Maximum number of tokens, as reported by the provider; null: no limit."
    )
    timeout_seconds: Number | None = Field(
        None, gt=0, le=86_400, description="Time limit in seconds; null: the one for all subagents."
    )


class SubagentsConfig(Section):
    """Subagents that the agent delegates work to."""

    enabled: Switch = Field(True, description="false: no subagents.")
    max_concurrent: Count = Field(3, le=16, description="Concurrent subagents per conversation.")
    timeout_seconds: Number = Field(
        900.0, gt=0, le=86_400, description="Time limit of a subagent in seconds."
    )
    types: Mapping[str, SubagentTypeConfig] = Field(
        default_factory=dict,
        description="Types of subagents, by name, in addition to general-purpose and bash; an entry with one "
        "of these names changes it.",
    )

    @field_validator("types")
    @classmethod
    def _types_are_complete(cls, types: Mapping[str, SubagentTypeConfig]) -> Mapping[str, SubagentTypeConfig]:
        check_names(types, "name of a type")
        for name, kind in types.items():
            missing = [key for key in ("description", "prompt") if getattr(kind, key) is None]
            if kind.enabled and missing and name not in BUILT_IN_SUBAGENTS:
                raise ValueError(f"the new type {name} has no {' and no '.join(missing)}; add it")
        return types


DEFERRED_TOOLS_THRESHOLD = 20
"""With more tools than this, those of MCP servers are found by search instead of listed for the model."""


class ToolEntry(OpenSection):
    """An entry of `tools`. Other keys are stored in `extra` for the target of `use`."""

    name: Text = Field(description="Name by which the model calls the tool.")
    group: Text = Field(description="Group of the tool; custom agents select tools by group.")
    use: ImportString = Field(
        description="A tool, a tool class or a function, as package.module:name; other keys are passed to it."
    )


class WebToolsConfig(Section):
    """Web search and page reading without an API key."""

    enabled: Switch = Field(
        True,
        description="true: offer web_search and web_fetch while the internet can be reached, unless tools "
        "has others; false: only the tools in tools.",
    )


class ToolGroup(Section):
    """An entry of `tool_groups`."""

    name: Text = Field(description="Name of the group.")


class AcpAgent(Section):
    """An external agent that speaks ACP over standard input and output, started for each task."""

    enabled: Switch = Field(True, description="false: do not offer this agent.")
    command: Text = Field(description="Program that uses the Agent Client Protocol.")
    args: tuple[str, ...] = Field((), description="Arguments.")
    env: Mapping[str, SecretLine] = Field(
        default_factory=dict,
        description="Environment variables for the program; no other secrets are passed to it.",
    )
    description: Text | None = Field(
        None, description="One-line description of its purpose, shown to Roebot's agent."
    )
    auto_approve_permissions: Switch = Field(
        False, description="true: grant every permission that it requests; false: deny them."
    )
    timeout_seconds: Number = Field(900.0, gt=0, le=86_400, description="Time limit of a task in seconds.")
    start_seconds: Number = Field(
        60.0,
        gt=0,
        le=600,
        description="Time limit in seconds for starting the program and opening a session.",
    )
