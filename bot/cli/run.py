"""`roebot run`, `roebot chat`, `roebot stop` and `roebot agent`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from agent.config.reader import find_config
from agent.shared.gc_tuning import pause_gc
from agent.shared.install_hints import INIT, STOP
from agent.shared.replica_folder import replica_folder
from bot.account_state import AccountState, Live
from bot.app.home import RunningService, check_replica, find_service, is_locked, prepare_home
from bot.app.service_token import GENERATED_NOTICE, lacks_token, load_service_token
from bot.cli.common import configuration, home_folder, run_loop, service_token
from bot.cli.init.prompts import find_locale
from bot.cli.open_console import can_ask, open_on_enter
from bot.domain import LOCAL_PLATFORMS
from bot.errors import RuntimeProblem, RuntimeRefused, StartError
from bot.runtime.spawn import TOKEN_VARIABLE, RuntimeProcess
from bot.texts import Texts, texts_for

if TYPE_CHECKING:
    from bot.app.service import BotService, StartOptions

START_TIMEOUT = 60.0
STOP_TIMEOUT = 10.0
ACCOUNTS_TIMEOUT = 5.0
"""Maximum time (s) that the startup message waits for accounts that are still connecting."""
SWITCH_INTERVAL = 0.0002
GUIDE = "guide"
"""Source of the model that answers while no other is available."""
NOT_FOUND = 404
DENIED = (401, 403)


def run_command(
    home: Path | None, file: Path | None, host: str | None, port: int | None, replica: str
) -> None:
    """Run the service until SIGINT or SIGTERM. Raises ConfigErrors, StartError, HomeUnusable."""
    pause_gc()
    folder = home_folder(home)
    loaded = configuration(file, folder)
    server = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    if server:
        changed = loaded.config.model_copy(update={"server": loaded.config.server.model_copy(update=server)})
        loaded = type(loaded)(changed, loaded.path, loaded.warnings, loaded.fingerprint)
    for warning in loaded.warnings:
        print(f"roebot: {warning}", file=sys.stderr)
    # Databases, logs and sockets are private to the owner.
    os.umask(0o077)
    if replica:
        check_replica(replica, has_database=loaded.config.database.url is not None)
    prepare_home(folder, replica)
    if lacks_token(loaded.config.server, os.environ, folder):
        print(f"roebot: {GENERATED_NOTICE}", file=sys.stderr)
    token = load_service_token(loaded.config.server, os.environ, folder)
    # The runtime takes as long to load as this process, so it starts first.
    runtime = None
    if loaded.config.runtime.url is None and not is_locked(replica_folder(folder, replica)):
        config = loaded.config
        runtime = RuntimeProcess(
            folder,
            loaded.path,
            max_runs=config.limits.max_runs,
            replica=replica,
            address=config.server.browser_url,
        )
        runtime.start()
    try:
        from bot.app.logs import configure_logging
        from bot.app.service import StartOptions

        configure_logging(loaded.config)
        # The store's thread must release the GIL soon enough for an event loop that answers within
        # milliseconds.
        sys.setswitchinterval(SWITCH_INTERVAL)
        settings = StartOptions(folder, loaded, file, dict(os.environ), Path.cwd(), token, runtime, replica)
        run_loop(_until_signalled(settings))
    finally:
        if runtime is not None:
            runtime.kill()


async def _until_signalled(settings: StartOptions) -> None:
    from bot.app.service import run_service

    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, task.cancel)
    try:
        await run_service(settings, _banner)
    except asyncio.CancelledError:
        print(texts_for(find_locale(settings.env))("run_stopped"), flush=True)


async def _banner(address: str, service: BotService) -> None:
    """Print the address, a sign-in link and the accounts in one write, so that log lines can't split them."""
    texts = texts_for(find_locale(service.settings.env))
    model = await _model_line(service, texts)
    accounts = await _wait_for_accounts(service)
    problems = sorted(await service.list_config_problems(), key=lambda problem: not problem.serious)
    link = await service.create_sign_in_link() if service.has_console else ""
    offers = bool(link) and can_ask(service.settings.env)
    has_platform = any(platform not in LOCAL_PLATFORMS for _, (platform, _) in accounts)
    lines = [
        texts("run_ready", address=address),
        "",
        *([texts("run_sign_in", link=link)] if link else []),
        *([texts("run_enter")] if offers else []),
        *(
            texts("run_account", name=name, platform=platform) + _trouble(state, texts)
            for name, (platform, state) in accounts
            if not _off(state)
        ),
        texts("run_home", folder=service.settings.home),
        texts("run_model", model=model),
        *(texts("run_problem" if one.serious else "run_note", line=one.line) for one in problems),
        *([texts("run_next_guide")] if model == texts("run_guide") else []),
        *([] if has_platform else [texts("run_next_platform", command=INIT)]),
        texts("run_stop", command=STOP),
    ]
    print("\n" + "".join(f"  {line}\n" if line else "\n" for line in lines), flush=True)
    if offers:
        await open_on_enter(service.settings.home, link, texts)


async def _wait_for_accounts(service: BotService) -> list[tuple[str, tuple[str, AccountState]]]:
    """Return the accounts by name, once each has connected or failed, or after a short timeout."""
    deadline = service.clock.now() + ACCOUNTS_TIMEOUT
    while True:
        found = service.accounts.states()
        waiting = any(state.live is Live.CONNECTING for _, state in found.values())
        if not waiting or service.clock.now() >= deadline:
            return sorted(found.items())
        await service.clock.sleep(0.1)


def _off(state: AccountState) -> bool:
    return state.live is Live.STOPPED


def _trouble(state: AccountState, texts: Texts) -> str:
    return texts("run_failed", state=state.live, reason=state.reason) if state.live is Live.FAILED else ""


async def _model_line(service: BotService, texts: Texts) -> str:
    deadline = service.clock.now() + START_TIMEOUT
    while service.clock.now() < deadline:
        try:
            found = (await service.runtime.management.list_models()).default_first
        except RuntimeRefused as refusal:
            if refusal.status == NOT_FOUND:
                return "chosen by the agent runtime, which does not list its models"
            if refusal.status in DENIED:
                return "unknown: the agent runtime rejected runtime.api_key"
            await service.clock.sleep(0.2)
            continue
        except RuntimeProblem:
            await service.clock.sleep(0.2)
            continue
        if not found:
            return "none: set a provider's API key"
        if found[0].source == GUIDE:
            return texts("run_guide")
        return f"{found[0].display_name}" + (f": {found[0].note}" if found[0].note else "")
    return "unknown: the agent runtime is not responding yet (see logs/agent.log)"


def chat_command(home: Path | None, file: Path | None) -> int:
    """Chat with the service of this data directory; if none is running, start one for that time."""
    from bot.cli.chat.command import chat

    folder = home_folder(home)
    found = find_answering_service(folder)
    if found is not None:
        return run_loop(chat(found.url, service_token(file, folder), folder))
    configuration(file, folder)
    service, found = _start(folder, file)
    try:
        return run_loop(chat(found.url, service_token(file, folder), folder))
    finally:
        service.terminate()
        service.wait(STOP_TIMEOUT)


def find_answering_service(folder: Path) -> RunningService | None:
    """Return this data directory's service once it is listening, or None if none is running."""
    import httpx

    _wait_for_start(folder)
    deadline = time.monotonic() + STOP_TIMEOUT
    while (found := find_service(folder)) is not None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{found.url}/health", timeout=5.0, trust_env=False).is_success:
                return found
        if time.monotonic() > deadline:
            return found
        time.sleep(0.1)
    return None


def _wait_for_start(folder: Path) -> None:
    """Wait while a service has this data directory, but no address yet."""
    deadline, is_announced = time.monotonic() + START_TIMEOUT, False
    while find_service(folder) is None and is_locked(folder) and time.monotonic() < deadline:
        if not is_announced:
            print("roebot: waiting for the service to start…", file=sys.stderr, flush=True)
        is_announced = True
        time.sleep(0.1)


def _start(folder: Path, file: Path | None) -> tuple[subprocess.Popen[bytes], RunningService]:
    """Start a service in the background. Raises StartError with its output."""
    print("roebot: starting the service…", file=sys.stderr, flush=True)
    command = [sys.executable, "-P", "-m", "bot.cli", "run", "--port", "0", "--home", str(folder)]
    command += ["--config", str(file)] if file else []
    prepare_home(folder)
    log = folder / "chat-service.log"
    with private_log(log) as output:
        service = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)  # noqa: S603
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline and service.poll() is None:
        found = find_service(folder)
        if found is not None and found.pid == service.pid:
            return service, found
        time.sleep(0.05)
    service.terminate()
    lines = log.read_text(errors="replace").strip().splitlines()
    reason = lines[-1].removeprefix("roebot: ") if lines else "no output"
    raise StartError(f"the service did not start: {reason}")


def private_log(path: Path) -> BinaryIO:
    """Create an empty log file accessible only by its owner, replacing any existing one."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    return path.open("wb")


def stop_command(home: Path | None) -> int:
    """Stop the service that uses this data directory, and report the result."""
    found = find_service(home_folder(home))
    if found is None:
        print(f"roebot: no service is running with the data directory {home_folder(home)}")
        return 0
    os.kill(found.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT
    while time.monotonic() < deadline:
        try:
            os.kill(found.pid, 0)
        except ProcessLookupError:
            print("roebot: stopped")
            return 0
        time.sleep(0.05)
    print(f"roebot: process {found.pid} is still running", file=sys.stderr)
    return 1


def agent_serve_command(
    home: Path | None,
    file: Path | None,
    graphs: Path | None,
    host: str,
    port: int,
    names: Mapping[str, Sequence[str]],
    limits: Mapping[str, int],
) -> NoReturn:
    """Replace this process with the agent runtime, since the bot never imports the agent's code."""
    command = [sys.executable, "-P", "-m", "agent.serve", "--home", str(home_folder(home))]
    command += ["--host", host, "--port", str(port)]
    command += _config_option(file, home)
    command += ["--graphs", str(graphs)] if graphs else []
    for option, values in names.items():
        for value in values:
            command += [option, value]
    for option, limit in limits.items():
        command += [option, str(limit)]
    if not os.environ.get(TOKEN_VARIABLE):
        folder = home_folder(home)
        print(f"roebot: clients need the token that `roebot agent token --home {folder}` prints", flush=True)
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


def agent_acp_command(home: Path | None, file: Path | None) -> NoReturn:
    """Replace this process with the ACP agent."""
    command = [sys.executable, "-P", "-m", "agent.acp_server.serve", "--home", str(home_folder(home))]
    command += _config_option(file, home)
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


def _config_option(file: Path | None, home: Path | None) -> list[str]:
    """Return the option that names the configuration file for the agent, if there is one."""
    found = file or find_config(None, os.environ, Path.cwd(), home_folder(home))
    return ["--config", str(found)] if found else []
