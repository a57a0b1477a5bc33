"""Every trouble ends within the limits with a text that a person understands, and the next message works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.client import AgentClient
from agent.errors import ModelCallFailed
from tests.harness.run_trouble import CHEAP, CONFIG, TROUBLES, make_models
from tests.harness.strict_providers.server import Reply, StrictProvider
from tests.harness.strict_providers.threaded import echo_providers

# The classes of OpenAI's package warn of wrong types, before LangChain refuses them.
pytestmark = [pytest.mark.may_block, pytest.mark.filterwarnings("ignore:Pydantic serializer")]
REQUESTS = 40
OFTEN = {
    "the same call for ever",
    "other calls for ever",
    "polling that makes progress",
    "too much money",
    "arguments that are no JSON",
    "a call written as text",
    "one id for two calls",
    "half an emoji",
    "events that are no JSON",
    "cut off in its text",
    "cut off in its arguments",
}
CASES = [
    pytest.param(name, locale, marks=() if name in OFTEN and locale == "en" else pytest.mark.long)
    for name in TROUBLES
    for locale in ("en", "zh")
]


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AgentClient, StrictProvider]]:
    """A client of a provider that each test gives its answers to."""
    home: Path = tmp_path_factory.mktemp("trouble")
    with echo_providers("openai") as providers:
        config = {**CONFIG, "models": make_models(providers.urls["openai"])}
        with AgentClient(config, read_file=False, home=home, environ={}) as client:
            yield client, providers.served["openai"]


@pytest.mark.guard(
    "repeated calls with the same results end a run",
    "agent/middleware/loop_detection.py",
    "        if _count_repeats(answer, steps) + 1 >= self._stop_at:",
    "        if False:",
    against="endless runs",
    case="the same call for ever-en",
)
@pytest.mark.guard(
    "polling with changing results is no loop",
    "agent/middleware/loop_detection.py",
    "            most = max(most, results.count(results[-1]))",
    "            most = max(most, len(results))",
    against="endless runs",
    case="polling that makes progress-en",
)
@pytest.mark.guard(
    "a call written as text is made",
    "agent/middleware/answer_rules.py",
    "    if found is None:\n        return answer",
    "    if True:\n        return answer",
    against="imprecise models",
    case="a call written as text-en",
)
@pytest.mark.guard(
    "each call of an answer has its own id",
    "agent/middleware/answer_calls.py",
    "if not known or known in seen else known)",
    "if not known else known)",
    against="imprecise models",
    case="one id for two calls-en",
)
@pytest.mark.guard(
    "an unpaired surrogate in a tool call does not break the thread",
    "agent/core/valid_text.py",
    '    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")',
    "    return text",
    against="imprecise models",
    case="half an emoji-en",
)
@pytest.mark.guard(
    "arguments that break off are not used",
    "agent/middleware/answer_rules.py",
    "        elif (args := parse_arguments(text)) is not None:",
    '        elif (args := parse_arguments(text) or call["args"]) is not None:',
    against="imprecise models",
    case="cut off in its arguments-en",
)
@pytest.mark.guard(
    "an answer that was cut off says so",
    "agent/models/calls.py",
    "                _mark_cut_off(message, cut_off_note(locale))",
    "                pass",
    against="imprecise models",
    case="cut off in its text-en",
)
@pytest.mark.parametrize(("name", "locale"), CASES)
def test_a_run_ends_with_a_text_and_the_next_message_works(
    talking: tuple[AgentClient, StrictProvider], name: str, locale: str
) -> None:
    client, provider = talking
    trouble, thread = TROUBLES[name], f"{name} {locale}".replace(" ", "-")
    before = len(provider.requests)
    provider.answer_with(trouble.make())
    options = {"model_name": trouble.model, "locale": locale}
    if trouble.fails:
        with pytest.raises(ModelCallFailed) as caught:
            client.chat("What is tea?", thread, **options)
        said = str(caught.value)
    else:
        said = client.chat("What is tea?", thread, **options)
    assert [text for text in trouble.told[locale] if text not in said] == [], said
    assert [text for text in trouble.unsaid if text in said] == []
    assert len(provider.requests) - before <= REQUESTS
    for model in (trouble.model, "costly"):
        provider.answer_with(lambda _: Reply(text="All is well."))
        assert client.chat("And now?", thread, model_name=model, locale=locale) == "All is well."
    assert provider.rejections == []


def test_a_thread_with_repeated_ids_goes_on_with_a_provider_that_rejects_them(tmp_path: Path) -> None:
    with echo_providers("openai", "anthropic") as providers:
        careless, strict = (providers.served[name] for name in ("openai", "anthropic"))
        models = [*make_models(providers.urls["openai"]), providers.entry("anthropic", price=CHEAP)]
        with AgentClient({**CONFIG, "models": models}, read_file=False, home=tmp_path, environ={}) as client:
            careless.answer_with(TROUBLES["the same ids in every answer"].make())
            assert client.chat("What is tea?", "t", model_name="cheap") == "It means 42."
            strict.answer_with(lambda _: Reply(text="All is well."))
            assert client.chat("And now?", "t", model_name="anthropic") == "All is well."
    assert (careless.rejections, strict.rejections) == ([], [])
    assert "call_0_3" in str(strict.requests[-1])
