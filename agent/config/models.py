"""The root of the agent's configuration, its models, and limits shared with the bot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator

from agent.config.extensions import check_names
from agent.config.harness import (
    AcpAgent,
    GuardrailsConfig,
    MemoryConfig,
    ModelCallsConfig,
    SandboxConfig,
    SkillsConfig,
    SubagentsConfig,
    SummarizationConfig,
    TitleConfig,
    ToolEntry,
    ToolGroup,
    WebToolsConfig,
)
from agent.config.run_limits import ModelPrice, RunLimitsConfig
from agent.config.transcriber import TranscriberConfig
from agent.config.types import (
    Count,
    ExtraKeys,
    ImportString,
    Int,
    OpenSection,
    Section,
    Switch,
    Text,
    Url,
    unwrap_secrets,
)

CONFIG_VERSION = 1
"""The newest `config_version` that this release knows."""


class ModelEntry(OpenSection):
    """A chat model in `models`. Other keys are stored in `extra` for the class in `use`."""

    name: Text = Field(description="Name used in /model and the API.")
    display_name: Text | None = Field(None, description="Display name; default: the name.")
    use: ImportString = Field(description="The chat model class, as package.module:Class.")
    model: Text | None = Field(None, description="The provider's name for the model.")
    supports_thinking: Switch = Field(False, description="true: the model can think before it answers.")
    when_thinking_enabled: ExtraKeys = Field(
        default_factory=dict, description="Values that override the other keys while thinking is on."
    )
    supports_vision: Switch = Field(False, description="true: the model accepts images.")
    supports_reasoning_effort: Switch = Field(
        False, description="true: the model accepts a reasoning effort setting."
    )
    supports_tools: Switch = Field(True, description="true: the model can call tools.")
    context_window: Count | None = Field(
        None,
        description="Number of tokens that fit into a request; null: as known for the model, else 32000.",
    )
    price: ModelPrice | None = Field(
        None, description="Prices per million tokens: input, output, cached_input, cache_write."
    )
    use_responses_api: Switch | None = Field(
        None, description="OpenAI: use the Responses API; null: the default of the class."
    )
    output_version: Text | None = Field(
        None, description="Format of message content, such as responses/v1; null: the default of the class."
    )

    @property
    def label(self) -> str:
        """Return the display name: `display_name`, or the name."""
        return self.display_name or self.name

    def build_arguments(self, *, thinking: bool = False) -> dict[str, Any]:
        """Return the keyword arguments for the class, with plain secrets; `thinking` adds its overrides.

        `model`, `use_responses_api` and `output_version` are included only if set.
        """
        named = {
            "model": self.model,
            "use_responses_api": self.use_responses_api,
            "output_version": self.output_version,
        }
        arguments = {key: value for key, value in named.items() if value is not None}
        arguments |= self.extra_arguments()
        if thinking:
            arguments |= unwrap_secrets(self.when_thinking_enabled)
        return arguments


class CheckpointerConfig(Section):
    """Storage of thread state."""

    type: Literal["sqlite", "memory"] = Field(
        "sqlite", description="sqlite: in the data directory; memory: lost when the service stops."
    )


class LoggingConfig(Section):
    """Log level and format."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest level to log.")
    format: Literal["text", "json"] = Field(
        "text", description="text: human-readable lines; json: one object per line."
    )


class TracingConfig(Section):
    """Traces by OpenTelemetry, which need the extra `tracing`."""

    endpoint: Url | None = Field(
        None, description="OTLP/HTTP address, such as http://127.0.0.1:4318; null: no traces."
    )
    sample_ratio: float = Field(1.0, ge=0, le=1, description="Fraction of the turns that are recorded.")
    content: Switch = Field(False, description="true: texts of messages and tools are recorded too.")


class PromptCachingConfig(Section):
    """Use of the providers' prompt caches, which reduce the cost of a request's repeated part."""

    enabled: Switch = Field(True, description="false: no cache marks for Anthropic and no keys for OpenAI.")
    lifetime: Literal["5m", "1h"] = Field(
        "5m", description="Lifetime of Anthropic's cache; an hour costs more to write."
    )


class LimitsConfig(Section):
    """Limits on concurrent work and message sizes."""

    max_runs: Count = Field(256, description="Maximum number of concurrent agent runs.")
    queue: Count = Field(
        20, description="Maximum number of waiting messages per conversation; further messages are declined."
    )
    waiting: Count = Field(
        4000,
        description="Maximum number of conversations waiting for an answer; messages in further ones are "
        "declined.",
    )
    message_characters: Count = Field(
        100_000,
        description="Maximum number of characters per message. Quoted text does not count toward it; it is "
        "cut to what the message leaves of this limit; a message that it replies to is cut to 2,000 "
        "characters.",
    )
    file_mb: Count = Field(
        20, description="Maximum size of a file, incoming or outgoing, in megabytes (1,000,000 bytes)."
    )


_Entries = TypeVar("_Entries", tuple[ModelEntry, ...], tuple[ToolEntry, ...])
_OwnModel = TypeVar("_OwnModel", TitleConfig, SummarizationConfig, MemoryConfig)
_VERSION_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": CONFIG_VERSION},
            {"type": "string", "pattern": "^[0-9]+$"},
        ]
    }
)


class AgentConfig(Section):
    """The sections of the agent runtime."""

    config_version: Annotated[Int, _VERSION_SCHEMA] = Field(
        CONFIG_VERSION, ge=0, description="Version of the configuration format."
    )
    models: tuple[ModelEntry, ...] = Field((), description="Chat models; the first is the default.")
    checkpointer: CheckpointerConfig = Field(
        default_factory=CheckpointerConfig, description="State of agent threads."
    )
    allow_degradation: Switch = Field(
        True, description="true: skip features that the model does not support; false: report an error."
    )
    model_calls: ModelCallsConfig = Field(
        default_factory=ModelCallsConfig, description="Retries and fallbacks of model calls."
    )
    prompt_caching: PromptCachingConfig = Field(
        default_factory=PromptCachingConfig, description="Use of the providers' caches of prompts."
    )
    run_limits: RunLimitsConfig = Field(
        default_factory=RunLimitsConfig, description="Limits of one run, including its subagents."
    )
    tools: tuple[ToolEntry, ...] = Field((), description="Tools of the agent.")
    tool_groups: tuple[ToolGroup, ...] = Field(
        (), description="Tool groups; if there are any, each tool must belong to one."
    )
    web_tools: WebToolsConfig = Field(
        default_factory=WebToolsConfig, description="Web search and page reading that need no key."
    )
    sandbox: SandboxConfig = Field(
        default_factory=SandboxConfig, description="Sandbox for the agent's commands and files."
    )
    title: TitleConfig = Field(default_factory=TitleConfig, description="Titles of threads.")
    summarization: SummarizationConfig = Field(
        default_factory=SummarizationConfig, description="Summaries of the older part of a long thread."
    )
    guardrails: GuardrailsConfig = Field(
        default_factory=GuardrailsConfig, description="Permission checks before each tool call."
    )
    skills: SkillsConfig = Field(
        default_factory=SkillsConfig,
        description="Skills: folders with instructions for a particular kind of work.",
    )
    memory: MemoryConfig = Field(
        default_factory=MemoryConfig,
        description="Memory of people and group chats, kept across threads.",
    )
    subagents: SubagentsConfig = Field(
        default_factory=SubagentsConfig,
        description="Subagents to which the agent delegates parts of its work.",
    )
    acp_agents: Mapping[str, AcpAgent] = Field(
        default_factory=dict, description="External (ACP) agents, by name."
    )
    transcriber: TranscriberConfig = Field(
        default_factory=TranscriberConfig, description="Transcripts of voice messages."
    )
    limits: LimitsConfig = Field(
        default_factory=LimitsConfig, description="Limits for runs, messages and files."
    )
    logging: LoggingConfig = Field(default_factory=LoggingConfig, description="Log level and format.")
    tracing: TracingConfig = Field(default_factory=TracingConfig, description="Traces by OpenTelemetry.")

    @field_validator("models", "tools")
    @classmethod
    def _names_are_unique(cls, entries: _Entries, info: ValidationInfo) -> _Entries:
        _refuse_duplicates(str(info.field_name), [entry.name for entry in entries])
        return entries

    @field_validator("model_calls")
    @classmethod
    def _fallbacks_exist(cls, calls: ModelCallsConfig, info: ValidationInfo) -> ModelCallsConfig:
        for name in calls.fallback_models:
            _expect_model(name, info)
        return calls

    @property
    def prices(self) -> Mapping[str, ModelPrice]:
        """Return the prices of models with prices, by name."""
        return {model.name: model.price for model in self.models if model.price is not None}

    @field_validator("run_limits")
    @classmethod
    def _models_have_prices(cls, value: RunLimitsConfig, info: ValidationInfo) -> RunLimitsConfig:
        models = info.data.get("models", ())
        lacking = [model.name for model in models if model.price is None]
        if value.cost and (lacking or not models):
            names = ", ".join(lacking) or "a model in models"
            raise ValueError(f"cost needs the price of every model; add price to {names}")
        return value

    @field_validator("title", "summarization", "memory")
    @classmethod
    def _own_model_exists(cls, value: _OwnModel, info: ValidationInfo) -> _OwnModel:
        if value.model_name is not None:
            _expect_model(value.model_name, info)
        return value

    @field_validator("subagents")
    @classmethod
    def _subagent_models_exist(cls, value: SubagentsConfig, info: ValidationInfo) -> SubagentsConfig:
        for kind in value.types.values():
            if kind.enabled and kind.model_name is not None:
                _expect_model(kind.model_name, info)
        return value

    @field_validator("acp_agents")
    @classmethod
    def _agents_are_named(cls, agents: Mapping[str, AcpAgent]) -> Mapping[str, AcpAgent]:
        check_names(agents, "agent name")
        return agents

    @field_validator("tool_groups")
    @classmethod
    def _groups_fit(cls, groups: tuple[ToolGroup, ...], info: ValidationInfo) -> tuple[ToolGroup, ...]:
        names = [group.name for group in groups]
        _refuse_duplicates("groups", names)
        for tool in info.data.get("tools", ()) if groups else ():
            if tool.group not in names:
                raise ValueError(
                    f"the tool {tool.name} belongs to the group {tool.group}, which is not listed; add it"
                )
        return groups


def _refuse_duplicates(kind: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two {kind} have the name {', '.join(twice)}; rename one")


def _expect_model(name: str, info: ValidationInfo) -> None:
    """Check the model name. Without configured models, the check is deferred until models are resolved."""
    known = [model.name for model in info.data.get("models", ())]
    if known and name not in known:
        raise ValueError(f"there is no model named {name}; known: {', '.join(known)}")


ACP_GROUP = "acp"
"""The group of the tool that runs tasks on external agents."""
MCP_GROUP = "mcp"
"""The group of all MCP tools; those of one server are in `mcp:<server>`."""
WEB_GROUP = "web"
"""The group of the default web tools."""
SANDBOX_GROUPS = BASH, READ, WRITE = ("bash", "file:read", "file:write")
"""The groups of the sandbox's tools."""


def known_groups(config: AgentConfig) -> list[str]:
    """Return the configured groups, sorted. Groups of single MCP servers are not included."""
    known = {tool.group for tool in config.tools} | {group.name for group in config.tool_groups}
    known |= set(SANDBOX_GROUPS) if config.sandbox.enabled else set()
    known |= {ACP_GROUP} if config.acp_agents else set()
    known |= {WEB_GROUP} if config.web_tools.enabled else set()
    return sorted(known)


def unknown_groups(groups: Iterable[str], config: AgentConfig) -> list[str]:
    known = known_groups(config)
    return [group for group in groups if group not in known and group.partition(":")[0] != MCP_GROUP]


WEB_TOOLS: Mapping[str, str] = {"web_search": "web_search_tool", "web_fetch": "web_fetch_tool"}
"""The default web tools, with the name of the functions that make tools of the same kind."""


def default_web_tools(config: AgentConfig) -> list[str]:
    """Return the names of default web tools that no entry of `tools` replaces."""
    taken = {entry.name for entry in config.tools} | {entry.use.rpartition(":")[2] for entry in config.tools}
    free = [name for name, function in WEB_TOOLS.items() if taken.isdisjoint((name, function))]
    return free if config.web_tools.enabled else []
