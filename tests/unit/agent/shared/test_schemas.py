"""Results of the management routes: required fields, and plain data."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agent.shared.schemas import McpServerState, ModelInfo, ResultModel, ServerState, SkillInfo, SkillList

MODEL = {"name": "m", "display_name": "M", "model": "m-1", "source": "config", "default": True}
SKILL = {"name": "s", "description": "", "category": "public", "path": "/s", "enabled": True}


@pytest.mark.parametrize(
    ("kind", "given"), [(ModelInfo, MODEL), (SkillInfo, SKILL), (SkillList, {"skills": [], "problems": []})]
)
def test_no_field_of_a_result_may_be_forgotten(kind: type[ResultModel], given: dict[str, Any]) -> None:
    assert kind(**given)
    for name in given:
        with pytest.raises(ValidationError, match=name):
            kind(**{key: value for key, value in given.items() if key != name})


def test_the_state_of_a_server_is_dumped_as_plain_text() -> None:
    server = McpServerState(name="web", state=ServerState.IDLE)
    assert server.state is ServerState.IDLE
    dumped = server.model_dump()
    assert (type(dumped["state"]), dumped["state"]) == (str, "idle")
    assert McpServerState.read(dumped) == server
    assert '"state":"idle"' in server.model_dump_json()
