"""The command line that isolates a command with bubblewrap, and whether that works on this machine.

Namespaces hide the host's processes, network, names and files; rlimits bound processes, open files and file
sizes; a filter takes away dangerous system calls. An ordinary user gets a user namespace; for root, the
command runs as a user of the thread's own (see `agent.sandbox.run_as`).
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
from agent.sandbox.limits import MEGABYTE, SandboxLimits
from agent.sandbox.paths import WORKSPACE, Mount
from agent.sandbox.python import PYTHON_ROOT, SandboxPython

NEEDED = (0, 8)
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
_NETWORK_SETTINGS = ("resolv.conf", "hosts", "nsswitch.conf", "services", "protocols", "gai.conf")
_INSTEAD = (
    "Until then no command runs. Other ways are the container provider (sandbox.use), or sandbox.isolation: "
    "none, which protects from nothing."
)


@dataclass(frozen=True, slots=True)
class Job:
    """What one command needs: `user` is the host's number of its user, `file_bytes` the most that a file may
    have; `filter_fd` and `passwd_fd` are descriptors to read a system call filter and /etc/passwd from.
    """

    mounts: Sequence[Mount]
    user: int
    limits: SandboxLimits
    file_bytes: int
    network: bool = False
    filter_fd: int | None = None
    passwd_fd: int | None = None
    python: SandboxPython | None = None


def environment(python: SandboxPython | None) -> dict[str, str]:
    """All that a command finds in its environment."""
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
    # One thread for each of many cores would be more than the processes that are allowed.
    threads = str(min(os.cpu_count() or 1, 8))
    return known | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}


def arguments(job: Job, command: Sequence[str]) -> list[str]:
    """The whole command line."""
    line = ["bwrap", *_namespaces(job), *_system(job), *_devices(job), *_folders(job)]
    line += ["--remount-ro", "/", "--chdir", WORKSPACE]
    for name, value in environment(job.python).items():
        line += ["--setenv", name, value]
    if job.filter_fd is not None:
        line += ["--seccomp", str(job.filter_fd)]
    return [*line, "--", *_dropped(job.user), *_limited(job), *command]


def _namespaces(job: Job) -> list[str]:
    own = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    own += [] if job.network else ["--unshare-net"]
    # The namespace of processes ends with us, and everything in it with the namespace.
    own += ["--die-with-parent"]
    if os.geteuid():
        own += ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
        own += ["--uid", str(INSIDE_USER), "--gid", str(INSIDE_USER)]
    return own


def _system(job: Job) -> list[str]:
    """The host's programs, and of its settings only what they need."""
    line = ["--ro-bind", "/usr", "/usr"]
    for name in _MERGED:
        path = Path("/", name)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            line += ["--ro-bind", str(path), str(path)]
    line += _made("/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls")
    for name in (*_SETTINGS, *(_NETWORK_SETTINGS if job.network else ())):
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    if job.passwd_fd is not None:
        line += ["--perms", "0644", "--ro-bind-data", str(job.passwd_fd), "/etc/passwd"]
    return line


def _devices(job: Job) -> list[str]:
    """`/proc` of the own namespace, `/dev` with what is harmless, and room for scratch files."""
    size = str(job.limits.scratch_mb * MEGABYTE)
    line = ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/dev/shm", "/tmp", "/run"):  # noqa: S108 - the sandbox's own
        line += ["--perms", "1777", "--size", size, "--tmpfs", path]
    return [*line, "--remount-ro", "/dev"]


def _folders(job: Job) -> list[str]:
    line = _made(*(str(parent) for mount in job.mounts for parent in _above(mount.virtual)))
    for mount in job.mounts:
        line += ["--bind" if mount.writable else "--ro-bind-try", str(mount.host), mount.virtual]
    if job.python is not None:
        line += _made("/opt")
        for host, inside in job.python.binds():
            line += [*_made(*(str(parent) for parent in _above(inside))), "--ro-bind", str(host), inside]
    return line


def _above(path: str) -> list[PurePosixPath]:
    """The folders above a path, without the root, outermost first."""
    return list(PurePosixPath(path).parents)[-2::-1]


def _made(*folders: str) -> list[str]:
    """Folders that everybody may enter; those that come about by themselves are root's alone."""
    return [word for path in dict.fromkeys(folders) for word in ("--perms", "0755", "--dir", path)]


def _dropped(user: int) -> list[str]:
    """Root becomes somebody else, for good."""
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


def _limited(job: Job) -> list[str]:
    limits = job.limits
    return [
        # Who writes beyond the size of a file hears of it, rather than being killed.
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


def missing() -> str:
    """What this machine lacks, as a sentence with what to do; "" where isolation works. Blocking."""
    if not sys.platform.startswith("linux"):
        return "Commands can't be isolated here: bubblewrap needs Linux."
    if shutil.which("bwrap") is None:
        return "Commands can't be isolated here: bubblewrap is missing (Debian: apt install bubblewrap)."
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"Commands can't be isolated here: {lacking[0]} is missing (Debian: apt install util-linux)."
    if (version := _version()) < NEEDED:
        found, needed = ".".join(map(str, version)) or "unknown", ".".join(map(str, NEEDED))
        return f"Commands can't be isolated here: bubblewrap is too old ({found}; {needed} is needed)."
    return ""


def check(job: Job, env: Mapping[str, str]) -> None:
    """Try it. Raises SandboxUnavailable, which says what is missing. Blocking."""
    if why := missing():
        raise SandboxUnavailable(f"{why} {_INSTEAD}")
    try:
        tried = subprocess.run(  # noqa: S603 - our own words
            arguments(job, ["true"]),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            pass_fds=[fd for fd in (job.filter_fd, job.passwd_fd) if fd is not None],
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SandboxUnavailable(f"Commands can't be isolated here: bubblewrap hangs. {_INSTEAD}") from None
    if tried.returncode:
        said = _first_line(tried.stderr, job.mounts)
        raise SandboxUnavailable(f"Commands can't be isolated here: {said}. {_hint(said)}{_INSTEAD}")


def _first_line(said: bytes, mounts: Iterable[Mount]) -> str:
    text = said.decode(errors="replace").strip().partition("\n")[0].rstrip(".") or "bubblewrap failed"
    for mount in mounts:
        text = text.replace(str(mount.host), mount.virtual)
    return text


def _hint(said: str) -> str:
    if "namespace" in said or "uid map" in said or "Operation not permitted" in said:
        return (
            "The kernel, or the container that the service runs in, allows no new namespaces: enable them "
            "(sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap). "
        )
    return ""


def _version() -> tuple[int, ...]:
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            ["bwrap", "--version"],  # noqa: S607 - found by the service's own search path
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        ).stdout
        if found := re.search(r"(\d+)\.(\d+)", said):
            return tuple(map(int, found.groups()))
    return ()
