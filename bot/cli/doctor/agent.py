"""Check the agent's configuration and test its models, in the running service or a subprocess."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from bot.cli.doctor import Finding

TRY_SECONDS = 60.0
PROBE_SECONDS = 60.0
MODULE = "agent.management.check"
MODELS_MODULE = "agent.management.check.models"
ROUTE = "/api/config/problems"
MODELS = "models["
"""Key prefix of problems that concern a single model."""
SAID_ELSEWHERE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.SERVICE_UNAVAILABLE})
"""Status codes if the runtime lacks the route or is unreachable, which another check reports."""


def check_served_config(url: str, headers: Mapping[str, str]) -> Iterator[Finding]:
    """Return the problems that the running service reports. Models are checked separately."""
    try:
        answer = httpx.get(f"{url}{ROUTE}", headers=dict(headers), timeout=TRY_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        yield Finding(False, f"could not check the configuration: {type(error).__name__}")
        return
    if answer.is_success:
        yield from to_findings(answer.json()["problems"])
        if answer.json().get("kept"):
            yield Finding(None, "the running service still uses the configuration from before this change")
    elif answer.status_code not in SAID_ELSEWHERE:
        code = answer.status_code
        yield Finding(False, f"could not check the configuration: the agent runtime returned status {code}")


def find_problems(config: Path | None, home: Path, *, seconds: float = TRY_SECONDS) -> list[dict[str, Any]]:
    """Return the problems of a service started here, each with `where`, `what` and `serious`."""
    command = [sys.executable, "-P", "-m", MODULE, "--home", str(home)]
    command += ["--config", str(config)] if config else []
    try:
        # Third-party packages may print secrets, so none of their output is shown.
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [_untried(f"it did not finish within {seconds:.0f} s")]
    try:
        found: list[dict[str, Any]] = orjson.loads(done.stdout)["problems"]
    except (ValueError, KeyError, TypeError):
        return [_untried(f"the check exited with code {done.returncode}")]
    return found


def to_findings(problems: list[dict[str, Any]]) -> Iterator[Finding]:
    """Convert problems to findings. Minor problems of a single model are left to that model's check."""
    for problem in problems:
        if problem["serious"]:
            yield Finding(False, format_problem(problem))
        elif not problem["where"].rpartition(": ")[2].startswith(MODELS):
            yield Finding(None, format_problem(problem))


def format_problem(problem: Mapping[str, Any]) -> str:
    """Format a problem as one line."""
    return ": ".join(filter(None, (problem["where"], problem["what"])))


def _untried(why: str) -> dict[str, Any]:
    return {"where": "", "what": f"could not check the configuration: {why}", "serious": True}


def check_served_models(url: str, headers: Mapping[str, str], listed: httpx.Response) -> Iterator[Finding]:
    """Test a running service's models; `listed` is the response of `/api/models`."""
    if listed.status_code == httpx.codes.NOT_FOUND:
        yield Finding(None, "models: this agent runtime does not list its models")
    elif not listed.is_success:
        yield Finding(False, f"models: {_error_detail(listed)}")
    else:
        with httpx.Client(
            base_url=url, headers=dict(headers), timeout=PROBE_SECONDS, trust_env=False
        ) as client:
            for model in listed.json()["models"]:
                yield _probe_model(client, model)


def check_local_models(config: Path | None, *, seconds: float = PROBE_SECONDS) -> Iterator[Finding]:
    """Test the models of a service started here, within `seconds` in total."""
    command = [sys.executable, "-P", "-m", MODELS_MODULE, *(["--config", str(config)] if config else [])]
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
    yield from _parse_output(said, process.returncode, seconds)


def _parse_output(said: bytes, code: int, seconds: float) -> Iterator[Finding]:
    """Parse the subprocess's output, which may be incomplete."""
    lines = [found for line in said.splitlines() if (found := _parse_line(line)) is not None]
    late = f"it did not answer within {seconds:.0f} s"
    why = late if code == -9 else f"the check exited with code {code}"
    listed: dict[str, Any] = lines[0] if lines else {"problem": f"not tested: {why}"}
    if "problem" in listed:
        yield Finding(False, f"models: {listed['problem']}")
        return
    answers = {found["name"]: found for found in lines[1:]}
    for model in listed["models"]:
        found = answers.get(model["name"])
        yield (
            _model_finding(model, found)
            if found
            else Finding(False, f"{_model_label(model)}, not tested: {why}")
        )


def _parse_line(line: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(line)
    except ValueError:  # cut off
        return None
    return found if isinstance(found, dict) else None


def _probe_model(client: httpx.Client, model: dict[str, Any]) -> Finding:
    """Send the model a test prompt of a few tokens."""
    named = _model_label(model)
    try:
        asked = client.post(f"/api/models/{quote(model['name'])}/probe", json={})
        found = asked.json() if asked.is_success else None
    except (httpx.HTTPError, ValueError) as error:
        return Finding(False, f"{named}, not tested: {type(error).__name__}")
    if not isinstance(found, dict):
        return Finding(None, f"{named}, not tested: the agent runtime returned status {asked.status_code}")
    return _model_finding(model, found)


def _model_label(model: Mapping[str, Any]) -> str:
    name, shown = model["name"], model.get("display_name", "")
    note = f" ({model['note']})" if model.get("note") else ""
    return f"model {name}{f': {shown}' if shown not in ('', name) else ''}{note}"


def _model_finding(model: Mapping[str, Any], found: Mapping[str, Any]) -> Finding:
    if found.get("ok"):
        return Finding(True, f"{_model_label(model)}, answered in {float(found.get('seconds', 0.0)):.1f} s")
    # The small local model is always listed; it is optional if another model is configured.
    spare = model.get("source") == "local" and not model.get("default")
    # The line already starts with the name.
    detail = str(found.get("detail")).removeprefix(f'The model "{model["name"]}" failed: ')
    return Finding(None if spare else False, f"{_model_label(model)}: {detail}")


def _error_detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text
