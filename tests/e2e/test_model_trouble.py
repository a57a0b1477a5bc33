"""What a person in a chat sees when the model's provider fails, through the provider's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock

from tests.harness.people import Driver, at_work, on_platform
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

CLASSES = {"openai": "langchain_openai:ChatOpenAI", "anthropic": "langchain_anthropic:ChatAnthropic"}
KEY = "sk-proj-0123456789abcdefghij"
Arm = Callable[[LLMock], LLMock]
TROUBLE: dict[str, tuple[Arm, str]] = {
    "truncated": (lambda mock: mock.truncate(after_chunks=3), "the answer was cut off."),
    "malformed": (lambda mock: mock.corrupt(after_chunks=3), "its provider sent an unreadable response."),
    "time-out": (lambda mock: mock.stall(after_chunks=2, seconds=4), "its provider did not respond in time."),
    "cut off": (
        lambda mock: mock.disconnect(after_chunks=2),
        "its provider can't be reached, or the connection was lost.",
    ),
    "a limit beyond all patience": (
        lambda mock: mock.rate_limit(retry_after=900, times=2),
        "its provider's rate limit has been reached; try again later (retry after 900 s).",
    ),
    "a wrong key": (
        lambda mock: mock.fail(401, message=f"Incorrect API key provided: {KEY}"),
        "its provider rejected the API key. Check the key in the configuration.",
    ),
}


@asynccontextmanager
async def chat(tmp_path: Path, llmock: LLMock, provider: str, tries: str = "") -> AsyncIterator[Driver]:
    """A person on Telegram, whose bot's agent uses this provider; its class tries again unless `tries` says
    how we do.
    """
    own = "" if tries else ", max_retries: 1"
    model = (
        f'models: [{{name: m, use: "{CLASSES[provider]}", model: some-model, api_key: {KEY}, timeout: 1.0,'
        f' base_url: "{llmock.base_url(provider)}"{own}}}]\ntitle: {{enabled: false}}{tries}'
    )
    llmock.tool_mode("off")
    async with on_platform("telegram") as person, at_work(tmp_path, person, model):
        yield person


async def told(person: Driver, text: str) -> str:
    """What the bot says to this, once it stands; the answer before stays as it is."""
    before = person.texts()
    person.writes(text)

    def stands() -> bool:
        now = person.texts()
        return len(now) > len(before) and (now[-1].startswith("⚠️") or now[-1].endswith("."))

    await until(stands, 40.0, lambda: f"{text}: {person.texts()}")
    assert person.texts()[: len(before)] == before
    assert len(person.texts()) == len(before) + 1
    return person.texts()[-1]


@pytest.mark.parametrize("provider", CLASSES)
async def test_each_failure_is_one_useful_line_and_the_next_message_is_answered(
    tmp_path: Path, llmock: LLMock, provider: str
) -> None:
    async with chat(tmp_path, llmock, provider) as person:
        for name, (arm, line) in TROUBLE.items():
            arm(llmock)
            said = await told(person, f"what about {name}?")
            assert f'⚠️ The model "m" failed: {line}' in said, name
            assert "/retry" in said
            assert KEY not in said
            llmock.reset().tool_mode("off")
        llmock.reply("All is well again.")
        assert await told(person, "and now?") == "All is well again."


@pytest.mark.parametrize("provider", CLASSES)
async def test_a_limit_is_waited_out_as_long_as_the_provider_asks(
    tmp_path: Path, llmock: LLMock, provider: str
) -> None:
    async with chat(tmp_path, llmock, provider) as person:
        llmock.rate_limit(times=1, retry_after=0.5).reply("Here I am.")
        assert await told(person, "hello?") == "Here I am."
        llmock.assert_resilient()


@pytest.mark.parametrize("provider", CLASSES)
async def test_an_answer_that_breaks_off_is_asked_for_again_and_stands_once(
    tmp_path: Path, llmock: LLMock, provider: str
) -> None:
    tries = "\nmodel_calls: {retries: 1, retry_delay_seconds: 4}"
    answer = " ".join(f"word{number}" for number in range(60)) + "."
    async with chat(tmp_path, llmock, provider, tries) as person:
        llmock.reply(answer, times=None).truncate(after_chunks=40)
        assert await told(person, "hello?") == answer
        assert len(llmock.requests) == 2
        versions = [text for text in person.versions() if text.startswith("word0")]
        assert len(versions) > 1
        assert all(answer.startswith(text.rstrip(" …▌")) for text in versions), versions


@pytest.mark.parametrize("provider", CLASSES)
async def test_a_question_streamed_in_pieces_becomes_buttons_and_the_click_goes_back(
    tmp_path: Path, llmock: LLMock, provider: str
) -> None:
    """The lead agent's own tool, called by the provider's stream; the result reaches the provider."""
    async with chat(tmp_path, llmock, provider) as person:
        llmock.call_tool(
            "ask_clarification", {"question": "Which car do you mean?", "options": ["red", "blue"]}
        )
        llmock.reply("The blue one it is.")
        person.writes("wash the car")
        await until(lambda: person.texts() == ["Which car do you mean?"], 40.0, lambda: f"{person.texts()}")
        assert person.buttons() == ["red", "blue"]
        person.presses("blue")
        await until(lambda: len(person.texts()) == 2, 40.0, lambda: f"{person.texts()}")
        assert person.texts()[1] == "The blue one it is."
        assert '"blue"' in str(llmock.last_request.body).replace("'", '"')
