"""Model discovery reference, from the table of providers."""

from __future__ import annotations

from agent.models.discovery import CHOICE_VARIABLE, OLLAMA_PORT
from agent.models.guide_spec import NAME as GUIDE
from agent.models.local.bundled import ANSWER_TOKENS, NAME, SLOT_TOKENS, local_spec
from agent.models.providers import PROVIDERS
from scripts.reference.markdown import code, page, table

INTRO = """
Models in `config.yaml` take precedence: if `models` is set, no other source is searched, and the first
entry is the default. Otherwise, the sources below are searched in order. The first model found becomes the
default; any of the models found can be selected with `/model`.
"""

GUIDE_TEXT = """
## The guide

The guide answers while no model is connected. It is not a language model and never makes anything up: it
quotes sections of this documentation, does arithmetic and uses real tools. It proposes schedules for requests
such as "Remind me every weekday at 9:00 to check the alerts", and draws a chart of a CSV file after you
approve the command. It understands requests in English and Chinese. As soon as Roebot finds a provider's key,
a running Ollama server or a configured model, that model answers instead.
"""


def render_models() -> str:
    """Return the page as Markdown."""
    rows = [
        [str(number), " or ".join(map(code, provider.variables)), code(provider.name), code(provider.model)]
        for number, provider in enumerate(PROVIDERS, 1)
    ]
    last = len(rows)
    local = local_spec()
    rows.append(
        [
            str(last + 1),
            f"Ollama at `OLLAMA_HOST` (default: 127.0.0.1:{OLLAMA_PORT})",
            "`ollama`",
            "the most recent one",
        ]
    )
    rows.append([str(last + 2), "none of the above: the guide", code(GUIDE), ""])
    rows.append(["", "only if chosen: the toy model", code(NAME), code(local.model)])
    return page(
        "Models",
        INTRO,
        table(["order", "source", "name", "model"], rows),
        _choice(),
        GUIDE_TEXT,
        "## The toy model",
        f"{local.display_name}. {local.note} It runs in a separate process that starts on first use. It "
        f"reads at most {SLOT_TOKENS - ANSWER_TOKENS} tokens and writes at most {ANSWER_TOKENS}.",
    )


def _choice() -> str:
    with_url = [provider.name for provider in PROVIDERS if provider.base_url]
    named = ", ".join(code(f"{name.upper()}_BASE_URL") for name in with_url)
    return f"""
## Choose a model with environment variables

Set `{CHOICE_VARIABLE}` to a provider name from the table (`{CHOICE_VARIABLE}=anthropic`), to a provider and
one of its models (`openai:gpt-5.4`), or to just a model from the first provider found.

To use a different API address, set {named}. The OpenAI and Anthropic clients read `OPENAI_BASE_URL` and
`ANTHROPIC_BASE_URL`.
"""
