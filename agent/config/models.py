"""The sections of the agent's half of config.yaml, and the limits that both halves keep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from agent.config.fields import Count, Int, Section, Switch, Text

CONFIG_VERSION = 1
"""The newest `config_version` that this release knows."""

_SECRET_KEY = re.compile(
    r"(api_?key|access_?key|token|secret|password|passwd|credentials?|authorization|cookie)$", re.IGNORECASE
)
_IMPORT = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def _conceal(value: Any, *, secret: bool = False) -> Any:
    """The value with every text below a key that names a secret wrapped, so that no repr shows it."""
    if isinstance(value, Mapping):
        return {
            str(key): _conceal(item, secret=secret or bool(_SECRET_KEY.search(str(key).replace("-", "_"))))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_conceal(item, secret=secret) for item in value]
    if isinstance(value, str):
        return SecretStr(str(value)) if secret else str(value)
    return value


def _reveal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_reveal(item) for item in value]
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _conceal_mapping(value: Mapping[str, Any]) -> Mapping[str, Any]:
    concealed: dict[str, Any] = _conceal(value)
    return concealed


PassedOn = Annotated[Mapping[str, Any], AfterValidator(_conceal_mapping)]
"""Keys that belong to somebody else's class; texts below secret-looking keys are wrapped in SecretStr."""


class ModelEntry(Section):
    """One chat model of `models`. Keys that are not named here are kept in `extra` for the class of `use`."""

    name: Text = Field(description="The name by which /model and the API know it.")
    display_name: Text | None = Field(None, description="What people see; the name where it is absent.")
    use: Text = Field(description="The chat model class, as package.module:Class.")
    model: Text | None = Field(None, description="The provider's name of the model.")
    supports_thinking: Switch = Field(False, description="Whether it can think before it answers.")
    when_thinking_enabled: PassedOn = Field(
        default_factory=dict, description="Keys that are laid over the others while thinking is on."
    )
    supports_vision: Switch = Field(False, description="Whether it takes images.")
    supports_reasoning_effort: Switch = Field(False, description="Whether it takes a reasoning effort.")
    supports_tools: Switch = Field(True, description="Whether it can call tools.")
    use_responses_api: Switch | None = Field(None, description="OpenAI: the Responses API; null: its choice.")
    output_version: Text | None = Field(
        None, description="The form of message content, such as responses/v1."
    )
    extra: PassedOn = Field(default_factory=dict, description="Every other key, passed on to the class.")

    @model_validator(mode="before")
    @classmethod
    def _gather_extra(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields}
        others = {key: value for key, value in data.items() if key not in cls.model_fields}
        given = known.get("extra")
        if given is None or isinstance(given, Mapping):
            known["extra"] = {**(given or {}), **others}
        return known

    @field_validator("use")
    @classmethod
    def _names_a_class(cls, value: str) -> str:
        if not _IMPORT.fullmatch(value):
            raise ValueError("expected package.module:Class, such as langchain_openai:ChatOpenAI")
        return value

    @property
    def label(self) -> str:
        """What people see: `display_name`, or the name."""
        return self.display_name or self.name

    def arguments(self, *, thinking: bool = False) -> dict[str, Any]:
        """The keyword arguments for the class, secrets in the clear; with `thinking`, its overrides on top.

        Holds `model`, `use_responses_api` and `output_version` only where they are set.
        """
        named = {
            "model": self.model,
            "use_responses_api": self.use_responses_api,
            "output_version": self.output_version,
        }
        arguments = {key: value for key, value in named.items() if value is not None}
        arguments |= _reveal(self.extra)
        if thinking:
            arguments |= _reveal(self.when_thinking_enabled)
        return arguments


class CheckpointerConfig(Section):
    """Where the state of threads is kept."""

    type: Literal["sqlite", "memory"] = Field(
        "sqlite", description="sqlite: below the home; memory: forgotten at the end."
    )


class LoggingConfig(Section):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least important level that is logged."
    )
    format: Literal["text", "json"] = Field("text", description="text: for people; json: one object a line.")


class LimitsConfig(Section):
    """How much is taken at once."""

    max_runs: Count = Field(256, description="Runs of the agent at the same time.")
    queue: Count = Field(20, description="Messages that wait in one conversation; more are refused.")
    message_characters: Count = Field(100_000, description="Characters in one message.")
    file_mb: Count = Field(20, description="Megabytes (1,000,000 bytes) in one file, in or out.")


class AgentConfig(Section):
    """The sections that the agent runtime reads."""

    config_version: Int = Field(CONFIG_VERSION, ge=0, description="The version of this file's keys.")
    models: tuple[ModelEntry, ...] = Field((), description="The chat models; the first is the default.")
    checkpointer: CheckpointerConfig = Field(
        default_factory=CheckpointerConfig, description="State of threads."
    )
    allow_degradation: Switch = Field(
        True, description="Whether a feature that the model lacks is left out (true) or an error (false)."
    )
    limits: LimitsConfig = Field(default_factory=LimitsConfig, description="How much is taken at once.")
    logging: LoggingConfig = Field(default_factory=LoggingConfig, description="What is logged, and how.")

    @field_validator("models")
    @classmethod
    def _names_are_unique(cls, models: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
        names = [model.name for model in models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two models have the name {', '.join(twice)}; rename one")
        return models
