"""Where a model is looked for, from the table of providers."""

from __future__ import annotations

from agent.models.discovery import CHOICE_VARIABLE, OLLAMA_PORT
from agent.models.local.bundled import ANSWER_TOKENS, NAME, SLOT_TOKENS, local_spec
from agent.models.providers import PROVIDERS
from scripts.reference.markdown import code, page, table

INTRO = """
Models of `config.yaml` come first: with `models:` in it, nothing else is looked for, and the first one is the
default. Without, this order holds. The first that is found is the default; all that are found can be chosen
by `/model`.
"""


def models() -> str:
    """The page."""
    rows = [
        [str(number), " or ".join(map(code, provider.variables)), code(provider.name), code(provider.model)]
        for number, provider in enumerate(PROVIDERS, 1)
    ]
    last = len(rows)
    local = local_spec()
    rows.append(
        [
            str(last + 1),
            f"an Ollama at `OLLAMA_HOST`, else 127.0.0.1:{OLLAMA_PORT}",
            "`ollama`",
            "its newest",
        ]
    )
    rows.append([str(last + 2), "nothing: the bundled small model", code(NAME), code(local.model)])
    return page(
        "Models",
        INTRO,
        table(["", "looked for", "name", "model"], rows),
        _choice(),
        "## The bundled model",
        f"{local.display_name}. {local.note} It runs in a process of its own, started on first use. It reads "
        f"at most {SLOT_TOKENS - ANSWER_TOKENS} tokens and writes at most {ANSWER_TOKENS}.",
    )


def _choice() -> str:
    with_url = [provider.name for provider in PROVIDERS if provider.base_url]
    named = ", ".join(code(f"{name.upper()}_BASE_URL") for name in with_url)
    return f"""
## Choosing by the environment

`{CHOICE_VARIABLE}` chooses: a name of the table (`{CHOICE_VARIABLE}=anthropic`), a name and one of its models
(`openai:gpt-5.4`), or only a model of the first provider that is found.

Another address: {named}. The clients of OpenAI and Anthropic read `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`.
"""
