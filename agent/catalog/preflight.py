"""Load everything that a configuration names by `use:`, so that mistakes are reported before a run."""

from __future__ import annotations

from agent.config.errors import ConfigError, ConfigWarning, Problems
from agent.config.harness import GuardrailProviderConfig
from agent.config.loader import LoadedAgentConfig
from agent.core.import_string import ImportProblem, ImportStringError
from agent.errors import GuardrailUnavailable, ModelUnavailable, ToolUnavailable
from agent.guardrails.passport import PolicyProvider
from agent.guardrails.providers import load_guardrail
from agent.models.resolve import check_settings, load_model_class
from agent.models.spec import spec_from_entry
from agent.tools.assembly import load_tool

TOOL_ADVICE = "Correct this entry of tools, or remove it."
GUARDRAIL_ADVICE = "Correct guardrails.provider, or set guardrails.enabled: false."
MODEL_ADVICE = "Correct this entry of models, or remove it."


def tried(loaded: LoadedAgentConfig) -> tuple[ConfigError, ...]:
    """Return the models, tools and guardrail that can't be created, each with its place and remedy. Blocking.

    A ConfigWarning leaves the configuration usable: the package of a model's provider is not installed, or
    the guardrail's passport is inactive or has expired.
    """
    problems = Problems(loaded.source)
    config = loaded.config
    for index, model in enumerate(config.models):
        try:
            check_settings(spec_from_entry(model), load_model_class(model.use))
        except ModelUnavailable as error:
            kind = ConfigWarning if needs_package(error) else ConfigError
            problems.add(("models", index), _advised(error, MODEL_ADVICE), kind)
    for index, tool in enumerate(config.tools):
        try:
            load_tool(tool)
        except ToolUnavailable as error:
            problems.add(("tools", index), _advised(error, TOOL_ADVICE))
    if config.guardrails.enabled:
        _try_guardrail(config.guardrails.provider, problems)
    return problems.errors


def _try_guardrail(config: GuardrailProviderConfig, problems: Problems) -> None:
    at = ("guardrails", "provider")
    try:
        provider = load_guardrail(config.use, config.extra_arguments())
    except GuardrailUnavailable as error:
        problems.add((*at, *error.at), _advised(error, GUARDRAIL_ADVICE))
        return
    if isinstance(provider, PolicyProvider):
        for path, warning in provider.warnings():
            problems.add((*at, *path), warning, ConfigWarning)


def refused(loaded: LoadedAgentConfig) -> tuple[ConfigError, ...]:
    """Return the problems that refuse a changed configuration while a valid one is in force. Blocking."""
    return tuple(error for error in tried(loaded) if not isinstance(error, ConfigWarning))


def needs_package(error: ModelUnavailable) -> bool:
    """Return whether only a module is missing, which may be installed later."""
    cause = error.__cause__
    return isinstance(cause, ImportStringError) and cause.problem in {
        ImportProblem.PACKAGE,
        ImportProblem.UNKNOWN,
    }


def _advised(error: Exception, advice: str) -> str:
    text = " ".join(str(error).split())
    return f"{text if text.endswith(('.', '?')) else f'{text}.'} {advice}"
