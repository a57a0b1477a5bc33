"""`roebot run` and `roebot doctor` in the language of the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.texts import texts_for
from tests.harness.service import ServiceProcess
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block


@pytest.mark.parametrize(
    ("variable", "language"), [("zh_CN.UTF-8", "zh"), ("en_US.UTF-8", "en"), ("de_DE", "en")]
)
async def test_the_start_tells_the_link_and_the_next_steps(
    tmp_path: Path, variable: str, language: str
) -> None:
    environment = {"LC_ALL": variable, "OLLAMA_HOST": "127.0.0.1:9", "ROEBOT_MODEL": ""}
    service = ServiceProcess(tmp_path / "home", "server: {port: 0}", env=environment, is_forked=True)
    service.start()
    texts = texts_for(language)
    try:
        await until(lambda: "Ctrl-C" in service.log(), 60, service.log)
        shown = service.log()
    finally:
        assert service.stop() == 0
    for key in ("run_next_guide", "run_guide"):
        assert texts(key) in shown
    assert f"{texts('run_sign_in', link='http://')}" in shown
    assert "roebot init" in shown
    assert texts("run_stopped") in service.log()
