"""A newcomer who uses no `roebot init`: what each platform's page says under "by hand", from the file to the
first answer, through the code that a stranger gets.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from llmock.pytest_plugin import LLMock

from tests.harness.people import PlatformUser
from tests.harness.terminal import terminal
from tests.harness.waiters import until
from tests.harness.wires import WIRES

pytestmark = [pytest.mark.may_block, pytest.mark.long]
PAGES = Path(__file__).parents[2] / "docs" / "howto"


def by_hand(platform: str) -> str:
    """The configuration that a page has under the heading that says "by hand"."""
    page = (PAGES / f"connect-{platform}.md").read_text()
    [section] = re.findall(r"^## [^\n]*by hand.*?(?=^## )", page, re.I | re.M | re.S)
    found: str = re.findall(r"```yaml config\n(.*?)```", section, re.S)[0]
    return found


def secrets(config: str, emulator: Any) -> dict[str, str]:
    """What the variables of a configuration stand for."""
    names = re.findall(r"(\w+): \$(\w+)", config)
    return {
        variable: getattr(emulator, key, "") or getattr(emulator, key.removeprefix("bot_"))
        for key, variable in names
    }


def placed(config: str, platform: str, url: str) -> str:
    """The same beside an emulator, on a free port."""
    data = yaml.safe_load(config)
    data["channels"][platform]["base_url"] = url
    return yaml.safe_dump({**data, "server": {"port": 0}})


@pytest.mark.parametrize("platform", WIRES)
async def test_from_the_page_to_the_first_answer(platform: str, tmp_path: Path, llmock: LLMock) -> None:
    llmock.tool_mode("off")
    for _ in range(9):
        llmock.reply("A roe deer.")
    config = by_hand(platform)
    async with WIRES[platform].serve() as wire:
        emulator = wire.emulator
        person, given = PlatformUser(wire), secrets(config, emulator)
        (tmp_path / "config.yaml").write_text(placed(config, platform, emulator.url))
        env = {"OPENAI_API_KEY": "sk-emulated", "OPENAI_BASE_URL": llmock.base_url(), **given}
        async with terminal(tmp_path, "run", env=env) as service:
            await service.expects("Roebot is ready")
            person.writes("hello")
            await until(lambda: "/pair " in "".join(person.texts()), 30.0, lambda: service.text)
            code = re.findall(r"/pair ([A-Z0-9-]+)", "".join(person.texts()))[0]
            async with terminal(tmp_path, "chat", env=env) as chat:
                assert chat.process.stdin is not None
                chat.process.stdin.write(f"/pair {code} owner\n".encode())
                chat.process.stdin.write_eof()
                assert await chat.ends() == 0, chat.text
            await until(
                lambda: "you now have access" in "".join(person.texts()).lower(), 30.0, lambda: chat.text
            )
            async with terminal(tmp_path, "doctor", env=env) as doctor:
                await doctor.ends()
            assert re.search(rf"{platform}.*live", doctor.text), doctor.text
            person.writes("What is a roe deer?")
            await until(lambda: "A roe deer." in person.texts(), 30.0, lambda: service.text)
    for value in (value for variable, value in given.items() if "ID" not in variable):
        assert value not in service.text + chat.text + doctor.text
