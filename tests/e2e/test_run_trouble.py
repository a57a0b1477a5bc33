"""What a person in a chat sees of models that cause trouble, through emulator, bot and runtime."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.harness.people import PlatformUser, at_work, on_platform
from tests.harness.run_trouble import CONFIG, TROUBLES, make_models
from tests.harness.strict_providers import STRICT, Reply, StrictProvider
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.timeout(300)]
SECONDS = 60.0
WELL = "All is well."
IN_CHINESE = (
    "the same call for ever",
    "parallel calls for ever",
    "too much money",
    "arguments that are no JSON",
    "a call written as text",
    "a closed connection",
    "a limit that lasts",
    "cut off in its text",
)


async def hear(person: PlatformUser, text: str, expected: tuple[str, ...]) -> str:
    """Return what the bot says to a text as soon as all that is expected stands there."""
    before = len(person.texts())
    person.writes(text)

    def said() -> str:
        return "\n".join(person.texts()[before:])

    await until(lambda: all(one in said() for one in expected), SECONDS, lambda: f"{text}: {said()[-2_000:]}")
    return said()


async def go_through(
    person: PlatformUser, provider: StrictProvider, locale: str, names: Iterable[str]
) -> None:
    """Meet these troubles, each in a thread of its own, write once more, and go on with another model."""
    provider.answer_with(lambda _: Reply(text=WELL))
    await hear(person, "Hello", (WELL,))
    for name in names:
        trouble = TROUBLES[name]
        await hear(person, "/new", ("thread" if locale == "en" else "对话",))
        if trouble.model != "cheap":
            await hear(person, f"/model {trouble.model}", (trouble.model,))
        provider.answer_with(trouble.make())
        advice = ("/retry",) if trouble.fails else ()
        said = await hear(person, f"What is tea? ({name})", (*trouble.told[locale], *advice))
        assert [text for text in trouble.unsaid if text in said] == [], name
        provider.answer_with(lambda _: Reply(text=WELL))
        await hear(person, "And now?", (WELL,))
        if trouble.fails:
            await hear(person, "/model costly", ("costly",))
            await hear(person, "And with another model?", (WELL,))
        if trouble.fails or trouble.model != "cheap":
            await hear(person, "/model cheap", ("cheap",))
        assert provider.rejections == [], name


@pytest.mark.parametrize(
    ("platform", "locale", "names"), [("feishu", "en", TROUBLES), ("telegram", "zh", IN_CHINESE)]
)
async def test_every_trouble_ends_with_a_text_and_the_next_message_works(
    tmp_path: Path, platform: str, locale: str, names: Iterable[str]
) -> None:
    provider = STRICT["openai"]()
    async with provider.serve() as url, on_platform(platform) as person:
        person.entry = person.entry.replace("rate_scale: 1.0", f"rate_scale: 0.05, locale: {locale}")
        parts = {**CONFIG, "models": make_models(url)}
        config = "\n".join(f"{key}: {json.dumps(value)}" for key, value in parts.items())
        async with at_work(tmp_path, person, config):
            await go_through(person, provider, locale, names)
