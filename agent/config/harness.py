"""The sections about how the agent works: titles, summaries, permission, calls of the model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from agent.config.extra_keys import ImportString, OpenSection
from agent.config.types import Count, Int, ManyIds, Number, Section, Switch, Text

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
    """An amount of conversation."""

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
        """As langchain writes it."""
        return (self.type, self.value if self.type == "fraction" else int(self.value))


class SummarizationConfig(Section):
    """Summaries that stand for the older part of a long thread."""

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
    """Where commands run and files are; further keys belong to the provider."""

    enabled: Switch = Field(True, description="Whether the agent has a sandbox, and the tools that use it.")
    use: ImportString = Field(LOCAL_SANDBOX, description="The provider, as package.module:Class.")


class GuardrailProviderConfig(OpenSection):
    """Who decides about tool calls; further keys belong to the class."""

    use: ImportString = Field(
        ALLOWLIST,
        description="The class that decides, as package.module:Class. That of the default takes the lists "
        "allowed, denied and ask, of which it needs one.",
    )


class GuardrailsConfig(Section):
    """Permission before each tool call."""

    enabled: Switch = Field(False, description="Whether each tool call is decided about first.")
    provider: GuardrailProviderConfig = Field(
        default_factory=GuardrailProviderConfig, description="Who decides: use, and the keys of its class."
    )


class ModelCallsConfig(Section):
    """What happens when a model does not answer."""

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
