"""Check that each model answers, through the running service or a subprocess."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from bot.cli.doctor.finding import Finding

PROBE_SECONDS = 60.0
MODULE = "agent.management.check.models"
NOT_FOUND = httpx.codes.NOT_FOUND


def served(url: str, headers: Mapping[str, str], listed: httpx.Response) -> Iterator[Finding]:
    """Test the models of a running service; `listed` is the response of `/api/models`."""
    if listed.status_code == NOT_FOUND:
        yield Finding(None, "models: this agent runtime lists none; it chooses for itself")
    elif not listed.is_success:
        yield Finding(False, f"models: {_detail(listed)}")
    else:
        with httpx.Client(
            base_url=url, headers=dict(headers), timeout=PROBE_SECONDS, trust_env=False
        ) as client:
            for model in listed.json()["models"]:
                yield _asked(client, model)


def here(config: Path | None, *, seconds: float = PROBE_SECONDS) -> Iterator[Finding]:
    """Test the models of a service started here, within `seconds` in total."""
    command = [sys.executable, "-m", MODULE, *(["--config", str(config)] if config else [])]
    # Provider packages may print secrets, so none of their output is shown.
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        finally:
            process.kill()
    yield from _reported(said, process.returncode, seconds)


def _reported(said: bytes, code: int, seconds: float) -> Iterator[Finding]:
    """Parse the subprocess's output, which may be incomplete."""
    lines = [found for line in said.splitlines() if (found := _object(line)) is not None]
    late = f"it did not answer within {seconds:.0f} s"
    why = late if code == -9 else f"the process that asks them ended with {code}"
    listed: dict[str, Any] = lines[0] if lines else {"problem": f"not probed: {why}"}
    if "problem" in listed:
        yield Finding(False, f"models: {listed['problem']}")
        return
    answers = {found["name"]: found for found in lines[1:]}
    for model in listed["models"]:
        found = answers.get(model["name"])
        yield _finding(model, found) if found else Finding(False, f"{_named(model)}, not probed: {why}")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(line)
    except ValueError:  # cut off
        return None
    return found if isinstance(found, dict) else None


def _asked(client: httpx.Client, model: dict[str, Any]) -> Finding:
    """Send the model a test prompt of a few tokens."""
    named = _named(model)
    try:
        asked = client.post(f"/api/models/{quote(model['name'])}/probe", json={})
        found = asked.json() if asked.is_success else None
    except (httpx.HTTPError, ValueError) as error:
        return Finding(False, f"{named}, not probed: {type(error).__name__}")
    if not isinstance(found, dict):
        return Finding(None, f"{named}, not probed: the agent runtime answered {asked.status_code}")
    return _finding(model, found)


def _named(model: Mapping[str, Any]) -> str:
    name, shown = model["name"], model.get("display_name", "")
    note = f" ({model['note']})" if model.get("note") else ""
    return f"model {name}{f': {shown}' if shown not in ('', name) else ''}{note}"


def _finding(model: Mapping[str, Any], found: Mapping[str, Any]) -> Finding:
    if found.get("ok"):
        return Finding(True, f"{_named(model)}, answered in {float(found.get('seconds', 0.0)):.1f} s")
    # The small local model is always listed; it is optional if another model is configured.
    spare = model.get("source") == "local" and not model.get("default")
    # The line already starts with the name.
    detail = str(found.get("detail")).removeprefix(f'The model "{model["name"]}" failed: ')
    return Finding(None if spare else False, f"{_named(model)}: {detail}")


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text
