"""An agent of the protocol to test with: a program that does what a prompt's JSON says, step by step.

It needs the standard library alone, so that it starts in no time. Steps: `["say", text]`, `["tool", title]`,
`["ask", [kind, …]]` (permission; says what it got), `["write", name, text]`, `["env", name]`, `["cwd"]`,
`["print", text]` (no message of the protocol), `["complain", text]` (stderr), `["mark", file]`, `["child"]`
(starts a program that stays, and says its pid), `["hang"]`, `["exit", code]`, `["kill"]`, `["refuse", text]`,
`["nonsense"]` (an answer that is none), `["stop", reason]`.

As an argument: `dies` or `mute` at its start, `future` (another version), `signed-out`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SESSION = "s-1"


class Refused(Exception):
    """An error for an answer."""


class Stopped(Exception):
    """The turn ends for this reason."""


def send(**message: Any) -> None:
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind: str, **fields: Any) -> None:
    """Tell the client something."""
    told = {"sessionUpdate": kind, **fields}
    send(method="session/update", params={"sessionId": SESSION, "update": told})


def received() -> dict[str, Any]:
    """The next message; the program ends where there is none."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def tool(title: str) -> None:
    update("tool_call", toolCallId=title, title=title, status="in_progress")


def ask(kinds: list[str]) -> None:
    options = [{"optionId": f"id-{kind}", "name": kind, "kind": kind} for kind in kinds]
    params = {"sessionId": SESSION, "toolCall": {"toolCallId": "c", "title": "Delete"}, "options": options}
    send(id="ask", method="session/request_permission", params=params)
    while (message := received()).get("id") != "ask":
        pass
    say(json.dumps(message["result"]["outcome"]))


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def env(name: str) -> None:
    say(os.environ.get(name, "unset"))


def complain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def raw(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def mark(file: str) -> None:
    Path(file).write_text(str(os.getpid()))


def child() -> None:
    code = "import time; time.sleep(600)"
    say(str(subprocess.Popen([sys.executable, "-S", "-E", "-c", code]).pid))


def hang() -> None:
    while received().get("method") != "session/cancel":
        pass
    say("was told to stop")
    raise Stopped("cancelled")


def refuse(text: str) -> None:
    raise Refused(text)


def stop(reason: str) -> None:
    raise Stopped(reason)


STEPS: dict[str, Callable[..., None]] = {
    "say": say,
    "tool": tool,
    "ask": ask,
    "write": write,
    "env": env,
    "cwd": lambda: say(str(Path.cwd())),
    "print": raw,
    "complain": complain,
    "mark": mark,
    "child": child,
    "hang": hang,
    "exit": os._exit,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "refuse": refuse,
    "stop": stop,
}


def prompted(number: Any, text: str) -> None:
    """Do the steps, and answer."""
    try:
        for name, *arguments in json.loads(text):
            if name == "nonsense":
                return send(id=number, result={"stopReason": 5})
            STEPS[name](*arguments)
    except Refused as error:
        return send(
            id=number, error={"code": -32603, "message": "Internal error", "data": {"details": str(error)}}
        )
    except Stopped as error:
        return send(id=number, result={"stopReason": str(error)})
    return send(id=number, result={"stopReason": "end_turn"})


def main(mode: str) -> None:
    """Serve until the client goes."""
    if mode == "dies":
        complain("usage: it has no such thing")
        raise SystemExit(2)
    while True:
        message = received()
        number, method, params = message.get("id"), message.get("method"), message.get("params")
        if mode == "mute":
            continue
        if method == "initialize":
            send(
                id=number, result={"protocolVersion": 99 if mode == "future" else 1, "agentCapabilities": {}}
            )
        elif method == "session/new" and mode == "signed-out":
            send(id=number, error={"code": -32000, "message": "Authentication required"})
        elif method == "session/new":
            assert params["cwd"] == str(Path.cwd()), params
            assert params["mcpServers"] == [], params
            send(id=number, result={"sessionId": SESSION})
        elif method == "session/prompt":
            prompted(number, params["prompt"][0]["text"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
