"""Isolation of a command with bubblewrap, and a check that it works on this machine.

Namespaces hide the host's processes, network, names and files; rlimits bound processes, open files and file
sizes; a filter refuses dangerous system calls. An ordinary user gets a user namespace. If the service runs as
root, the command runs as a user that belongs to the thread (see `agent.sandbox.run_as`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.egress.gate import opening_words, proxy_environment
from agent.sandbox.options import MEGABYTE, SandboxLimits
from agent.sandbox.paths import WORKSPACE, Mount
from agent.shared.install_hints import SETUP_SANDBOX

PYTHON_ROOT = "/opt/python"
PYTHON_FOLDER = Path("sandbox", "python")
"""Folder of the sandbox's Python in the data directory."""
MIN_VERSION = (0, 8)
TOOLS = ("prlimit", "setpriv")
PROBE_SECONDS = 20.0
PATHS = f"{PYTHON_ROOT}/bin:/usr/local/bin:/usr/bin:/bin"
INSIDE_USER = 1_000
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "fonts",
    "magic",
    "ssl/certs",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust",
)
_INSTEAD = (
    "Until this is fixed, no command runs. Alternatively, use the container provider (sandbox.use), or set "
    "sandbox.isolation: none, which gives no protection."
)


@dataclass(frozen=True, slots=True)
class SandboxPython:
    """A virtual environment made by `make setup-sandbox`, and the prefix of its base interpreter."""

    folder: Path
    base: Path

    def binds(self) -> Sequence[tuple[Path, str]]:
        """Return pairs of host folder and sandbox path; the system's interpreter is always available in the
        sandbox.
        """
        own = (self.folder, PYTHON_ROOT)
        system = self.base.is_relative_to("/usr")
        return [own] if system else [own, (self.base, str(self.base))]


def find_python(folder: Path) -> SandboxPython | None:
    """Return the environment in a folder, or None if there is none or its interpreter is missing. Blocks."""
    try:
        lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        real = (folder / "bin" / "python").resolve(strict=True)
    except OSError:
        return None
    if not any(line.partition("=")[0].strip() == "home" for line in lines):
        return None
    return SandboxPython(folder.absolute(), real.parent.parent)


@dataclass(frozen=True, slots=True)
class Job:
    """A command's mounts and limits. `user` is its user id on the host, `file_bytes` the largest file.

    The system call filter and /etc/passwd are read from the descriptors `filter_fd` and `passwd_fd`. With
    `gate_fd`, the command reaches the egress proxy (see `agent.sandbox.egress.gate`), otherwise no network.
    """

    mounts: Sequence[Mount]
    user: int
    limits: SandboxLimits
    file_bytes: int
    gate_fd: int | None = None
    filter_fd: int | None = None
    passwd_fd: int | None = None
    python: SandboxPython | None = None


def environment(python: SandboxPython | None) -> dict[str, str]:
    """Return all environment variables of a command."""
    known = {
        "PATH": PATHS if python else PATHS.partition(":")[2],
        "HOME": WORKSPACE,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{WORKSPACE}/.cache/matplotlib",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # A thread for each core would exceed the process limit on large machines.
    threads = str(min(os.cpu_count() or 1, 8))
    return known | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}


def arguments(job: Job, command: Sequence[str]) -> list[str]:
    """Return the command line that runs `command` in a sandbox."""
    line = ["bwrap", *_namespaces(job), *_system(job), *_devices(job), *_folders(job)]
    line += ["--remount-ro", "/", "--chdir", WORKSPACE]
    proxy = {} if job.gate_fd is None else proxy_environment()
    for name, value in {**environment(job.python), **proxy}.items():
        line += ["--setenv", name, value]
    if job.filter_fd is not None:
        line += ["--seccomp", str(job.filter_fd)]
    return [*line, "--", *_drop_root(job.user), *_set_limits(job), *_open_gate(job), *command]


def _namespaces(job: Job) -> list[str]:
    own = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    own += ["--unshare-net"]
    # The PID namespace ends with this process, and every process in it with the namespace.
    own += ["--die-with-parent"]
    if os.geteuid():
        own += ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
        own += ["--uid", str(INSIDE_USER), "--gid", str(INSIDE_USER)]
    return own


def _system(job: Job) -> list[str]:
    """Mount the host's programs, and the settings in /etc that they need."""
    line = ["--ro-bind", "/usr", "/usr"]
    for name in _MERGED:
        path = Path("/", name)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            line += ["--ro-bind", str(path), str(path)]
    line += _create_folders("/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls")
    for name in _SETTINGS:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    if job.passwd_fd is not None:
        line += ["--perms", "0644", "--ro-bind-data", str(job.passwd_fd), "/etc/passwd"]
    return line


def _devices(job: Job) -> list[str]:
    """Mount the namespace's `/proc`, a `/dev` with harmless devices, and scratch folders."""
    size = str(job.limits.scratch_mb * MEGABYTE)
    line = ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/dev/shm", "/tmp", "/run"):  # noqa: S108 - the sandbox's own
        line += ["--perms", "1777", "--size", size, "--tmpfs", path]
    return [*line, "--remount-ro", "/dev"]


def _folders(job: Job) -> list[str]:
    line = _create_folders(*(str(parent) for mount in job.mounts for parent in _parents(mount.virtual)))
    for mount in job.mounts:
        line += ["--bind" if mount.writable else "--ro-bind-try", str(mount.host), mount.virtual]
    if job.python is not None:
        line += _create_folders("/opt")
        for host, inside in job.python.binds():
            line += [
                *_create_folders(*(str(parent) for parent in _parents(inside))),
                "--ro-bind",
                str(host),
                inside,
            ]
    return line


def _parents(path: str) -> list[PurePosixPath]:
    """Return the parent folders of a path without the root, outermost first."""
    return list(PurePosixPath(path).parents)[-2::-1]


def _create_folders(*folders: str) -> list[str]:
    """Create folders that every user may enter; those created by bubblewrap would be accessible only to
    root.
    """
    return [word for path in dict.fromkeys(folders) for word in ("--perms", "0755", "--dir", path)]


def _drop_root(user: int) -> list[str]:
    if os.geteuid():
        return []
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--no-new-privs",
        "--",
    ]


def _set_limits(job: Job) -> list[str]:
    limits = job.limits
    return [
        # A write beyond the file size limit fails with an error instead of killing the program.
        "env",
        "--ignore-signal=XFSZ",
        "prlimit",
        f"--nproc={limits.processes}",
        f"--nofile={limits.open_files}",
        f"--data={limits.memory_mb * MEGABYTE}",
        f"--fsize={job.file_bytes}",
        "--core=0",
        "--",
    ]


def _open_gate(job: Job) -> list[str]:
    if job.gate_fd is None:
        return []
    python = f"{PYTHON_ROOT}/bin/python" if job.python else _system_python()
    if python is None:
        raise SandboxUnavailable(
            f"The sandbox has no network: its Python is missing. Install it with `{SETUP_SANDBOX}`."
        )
    return opening_words(python, str(job.gate_fd))


def _system_python() -> str | None:
    """Return a host interpreter that is also available in the sandbox."""
    for folder in PATHS.split(":")[1:]:
        found = shutil.which("python3", path=folder)
        if found and Path(found).resolve().is_relative_to("/usr"):
            return found
    return None


def missing() -> str:
    """Return a sentence about missing requirements of this machine and the remedy, or "" if there are none.
    Blocks.
    """
    if not sys.platform.startswith("linux"):
        return "Commands can't be isolated here: bubblewrap requires Linux."
    if shutil.which("bwrap") is None:
        return "Commands can't be isolated here: bubblewrap is missing (Debian: apt install bubblewrap)."
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"Commands can't be isolated here: {lacking[0]} is missing (Debian: apt install util-linux)."
    if (version := _version()) < MIN_VERSION:
        found, needed = ".".join(map(str, version)) or "unknown", ".".join(map(str, MIN_VERSION))
        return f"Commands can't be isolated here: bubblewrap is too old ({found}; {needed} is required)."
    return ""


def check(job: Job, env: Mapping[str, str]) -> None:
    """Run a command in a sandbox. Raises SandboxUnavailable with the missing requirements. Blocks."""
    if why := missing():
        raise SandboxUnavailable(f"{why} {_INSTEAD}")
    try:
        tried = subprocess.run(  # noqa: S603 - our own command line
            arguments(job, ["true"]),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            pass_fds=[fd for fd in (job.filter_fd, job.passwd_fd) if fd is not None],
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SandboxUnavailable(
            f"Commands can't be isolated here: bubblewrap does not respond. {_INSTEAD}"
        ) from None
    if tried.returncode:
        reason = _first_line(tried.stderr, job.mounts)
        raise SandboxUnavailable(f"Commands can't be isolated here: {reason}. {_hint(reason)}{_INSTEAD}")


def _first_line(output: bytes, mounts: Iterable[Mount]) -> str:
    text = output.decode(errors="replace").strip().partition("\n")[0].rstrip(".") or "bubblewrap failed"
    for mount in mounts:
        text = text.replace(str(mount.host), mount.virtual)
    return text


def _hint(reason: str) -> str:
    if any(cause in reason for cause in ("namespace", "uid map", "Operation not permitted")):
        return (
            "The kernel, or the container that the service runs in, does not allow new namespaces. Enable "
            "them (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap). "
        )
    return ""


def _version() -> tuple[int, ...]:
    with suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run(
            ["bwrap", "--version"],  # noqa: S607 - found by the service's own search path
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        ).stdout
        if found := re.search(r"(\d+)\.(\d+)", output):
            return tuple(map(int, found.groups()))
    return ()
