"""Description of a model before it is built, independent of its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.config.models import ModelEntry
from agent.errors import ModelUnknown
from agent.shared.schemas import Failing, ModelInfo, ModelList


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model that can be built: `use` is `package.module:Class`, `settings` its arguments.

    `source` is `config`, `env:NAME`, `ollama`, `guide` or `local`. `context_tokens` is set if the history
    must be cut to fit; `context_window` is the configured number of tokens of a request. `note` is for
    people.
    """

    name: str
    use: str
    model: str
    display_name: str
    source: str = "config"
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    supports_thinking: bool = False
    supports_vision: bool = False
    supports_reasoning_effort: bool = False
    supports_tools: bool = True
    when_thinking_enabled: Mapping[str, Any] = field(default_factory=dict, repr=False)
    context_tokens: int | None = None
    context_window: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """The models in order; the first is the default, explained by `reason`.

    `unmet_choice` explains a selection that is not available. `allow_degradation` drops unsupported features
    instead of raising an error. `failing` says why the last call of a model failed, if that concerns
    all of its calls; a change of the configuration makes a new catalogue, in which none is.
    """

    specs: tuple[ModelSpec, ...]
    reason: str
    allow_degradation: bool = True
    unmet_choice: str = ""
    failing: dict[str, Failing] = field(default_factory=dict, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.specs)

    def pick(self, name: str | None) -> ModelSpec:
        """Return a model by name, or the default for None. Raises ModelUnknown."""
        if not name and self.specs:
            return self.specs[0]
        for spec in self.specs:
            if spec.name == name:
                return spec
        raise ModelUnknown(name or "", self.names)

    def describe(self, spec: ModelSpec) -> ModelInfo:
        return ModelInfo(
            name=spec.name,
            display_name=spec.display_name,
            model=spec.model,
            source=spec.source,
            default=spec is self.specs[0],
            note=spec.note,
            failing=self.failing.get(spec.name, ""),
            supports_thinking=spec.supports_thinking,
            supports_vision=spec.supports_vision,
            supports_reasoning_effort=spec.supports_reasoning_effort,
            supports_tools=spec.supports_tools,
        )

    def describe_all(self) -> ModelList:
        default = self.specs[0].name if self.specs else None
        return ModelList(
            models=[self.describe(spec) for spec in self.specs], default=default, reason=self.reason
        )


def spec_from_entry(entry: ModelEntry) -> ModelSpec:
    return ModelSpec(
        name=entry.name,
        use=entry.use,
        model=entry.model or "",
        display_name=entry.label,
        settings=entry.build_arguments(),
        supports_thinking=entry.supports_thinking,
        supports_vision=entry.supports_vision,
        supports_reasoning_effort=entry.supports_reasoning_effort,
        supports_tools=entry.supports_tools,
        context_window=entry.context_window,
        when_thinking_enabled=entry.build_arguments(thinking=True) if entry.when_thinking_enabled else {},
    )
