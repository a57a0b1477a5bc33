"""Model discovery reference, from the table of providers."""

from __future__ import annotations

from agent.models.discovery import CHOICE_VARIABLE, OLLAMA_PORT
from agent.models.local.bundled import ANSWER_TOKENS, NAME, SLOT_TOKENS, local_spec
from agent.models.providers import PROVIDERS
from scripts.reference.markdown import code, page, table

INTRO = """
Models in `config.yaml` take precedence: with `models`, no other source is searched and the first entry is
the default. Otherwise the sources are searched in this order. The first model found is the default; all of
them can be selected with `/model`.
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
            f"Ollama at `OLLAMA_HOST`, default 127.0.0.1:{OLLAMA_PORT}",
            "`ollama`",
            "the newest",
        ]
    )
    rows.append([str(last + 2), "nothing: the bundled model", code(NAME), code(local.model)])
    return page(
        "Models",
        INTRO,
        table(["order", "source", "name", "model"], rows),
        _choice(),
        "## The bundled model",
        f"{local.display_name}. {local.note} It runs in a separate process, started on first use. It reads "
        f"at most {SLOT_TOKENS - ANSWER_TOKENS} tokens and writes at most {ANSWER_TOKENS}.",
    )


def _choice() -> str:
    with_url = [provider.name for provider in PROVIDERS if provider.base_url]
    named = ", ".join(code(f"{name.upper()}_BASE_URL") for name in with_url)
    return f"""
## Choose a model by the environment

Set `{CHOICE_VARIABLE}` to a name of the table (`{CHOICE_VARIABLE}=anthropic`), to a name and one of its
models (`openai:gpt-5.4`), or to a model of the first provider found.

For another address, set {named}. The clients of OpenAI and Anthropic read `OPENAI_BASE_URL` and
`ANTHROPIC_BASE_URL`.
"""
