"""Collection of a skill's files from a git repository.

Nothing of a repository is executed or checked out: git fetches one commit into an empty bare repository,
without hooks, submodules, filters, credentials, the configuration of the machine, or any protocol but HTTPS.
Its files are then read from the object database. Functions block.

`git clone` would run more than a transfer, such as `ext::` remotes, which run commands. Private repositories
and SSH addresses can't be used, and files in Git LFS arrive as pointers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import IO

from agent.errors import SkillRefused
from agent.skills.archive import ArchiveLimits, to_printable
from agent.skills.front_matter import SKILL_FILES
from agent.skills.sources import CollectedSkill, SkillOrigin, SkillWriter

SECONDS = 180.0
LONGEST_REASON = 500
MAX_BYTES = 1_000_000_000
"""Size up to which a repository is fetched, without its history."""
PROTOCOLS = ("https",)
_REF = "refs/skill"
_ADDRESS = re.compile(r"(?P<protocol>https?)://(?P<host>[A-Za-z0-9.-]+(?::[0-9]+)?)/(?P<path>[^\s?#@\\]+?)/?")
_REFERENCE = re.compile(r"(?!.*(?:\.\.|//|\.lock$|/$))[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}")
_TREE = re.compile(r"(?P<repository>[^/]+/[^/]+)/(?:-/)?(?:tree|blob)/(?P<reference>[^/]+)(?:/(?P<path>.+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_KEPT_VARIABLES = (
    *("PATH", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"),
)
_NOT_HTTPS = "The address of a repository must start with https:// and have no credentials."
_OPTIONS: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "http.followRedirects": "initial",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class _TreeEntry:
    mode: str
    sha: str
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class GitSource:
    """A git repository. `reference` is a branch, a tag or a commit ("": the default branch).

    `commit` pins what the reference has to be. `path` is the folder of the skill ("": the repository itself,
    or its only skill).
    """

    address: str
    reference: str = ""
    commit: str = ""
    path: str = ""
    protocols: Sequence[str] = PROTOCOLS

    @classmethod
    def parse(cls, address: str, *, reference: str = "", commit: str = "", path: str = "") -> GitSource:
        """Return the source for an address, which may be a folder's page on GitHub or GitLab.

        Raises SkillRefused.
        """
        match = _ADDRESS.fullmatch(address.strip())
        if match is None or match["protocol"] not in PROTOCOLS:
            raise SkillRefused(_NOT_HTTPS)
        tree = _TREE.fullmatch(match["path"])
        if tree is None:
            return cls(address.strip(), reference, commit, path)
        folder = (tree["path"] or "").removesuffix("/" + SKILL_FILES[0])
        repository = f"{match['protocol']}://{match['host']}/{tree['repository']}"
        return cls(repository, reference or tree["reference"], commit, path or folder)

    def collect(self, folder: Path, limits: ArchiveLimits) -> CollectedSkill:
        """Fetch the commit and write the skill's files. Raises SkillRefused."""
        self._check()
        with tempfile.TemporaryDirectory(prefix="roebot-git-", ignore_cleanup_errors=True) as place:
            git = _Git(Path(place), self.protocols)
            commit = git.fetch(self.address, self.commit or self.reference or "HEAD")
            if self.commit and commit != self.commit:
                raise SkillRefused(f"The repository has no commit {self.commit}.", status=409)
            entries = git.list_files(commit)
            path = _find_skill(entries, self.path.strip("/"))
            chosen = _select_entries(entries, path, limits)
            writer = SkillWriter(folder, limits)
            for entry, chunks in git.read_files(chosen):
                parts = tuple(entry.path.removeprefix(f"{path}/" if path else "").split("/"))
                writer.write_file(parts, chunks, marked=entry.mode == "100755")
        name = (path or self.address.removesuffix(".git")).rstrip("/").rpartition("/")[2]
        return CollectedSkill(name, SkillOrigin("git", self.address, path, self.reference, commit))

    def _check(self) -> None:
        match = _ADDRESS.fullmatch(self.address)
        if match is None or match["protocol"] not in self.protocols:
            raise SkillRefused(_NOT_HTTPS)
        if self.reference and not _REFERENCE.fullmatch(self.reference):
            raise SkillRefused(f"Not the name of a branch or tag: {to_printable(self.reference)}.")
        if self.commit and not _COMMIT.fullmatch(self.commit):
            raise SkillRefused("A commit is given by its 40 hexadecimal digits.")


class _Git:
    """Runs git on a bare repository in an empty folder."""

    def __init__(self, place: Path, protocols: Sequence[str]) -> None:
        self._place = place
        self._env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {
            "HOME": str(place),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_ALLOW_PROTOCOL": ":".join(protocols),
        }
        limit = ["prlimit", f"--fsize={MAX_BYTES}", "--"] if shutil.which("prlimit") else []
        self._command = [*limit, "git", f"--git-dir={place / 'repository'}"]
        for name, value in _OPTIONS.items():
            self._command += ["-c", f"{name}={value}"]

    def fetch(self, address: str, reference: str) -> str:
        """Fetch a reference without its history, and return its commit."""
        self._run("init", "--quiet", "--bare", "--template=")
        self._run(
            *(
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
            ),
            *("--", address, f"+{reference}:{_REF}"),
        )
        return self._run("rev-parse", "--verify", f"{_REF}^{{commit}}").decode().strip()

    def list_files(self, commit: str) -> list[_TreeEntry]:
        found = []
        for line in self._run("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                mode, _, sha, size = head.decode().split()
                name = path.decode("utf-8", "surrogateescape")
                found.append(_TreeEntry(mode, sha, 0 if size == "-" else int(size), name))
        return found

    def read_files(self, entries: Sequence[_TreeEntry]) -> Iterator[tuple[_TreeEntry, Iterator[bytes]]]:
        """Yield the content of files, each to be read before the next one."""
        with self._open_reader() as (asked, answers):
            for entry in entries:
                asked.write(f"{entry.sha}\n".encode())
                asked.flush()
                head = answers.readline().split()
                if len(head) != 3 or head[1] != b"blob" or int(head[2]) != entry.size:
                    raise SkillRefused(f"{to_printable(entry.path)} can't be read from the repository.")
                yield entry, _read_exactly(answers, entry.size)
                answers.read(1)

    @contextmanager
    def _open_reader(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        command = [*self._command, "cat-file", "--batch"]
        with subprocess.Popen(  # noqa: S603 - our own command line
            command,
            env=self._env,
            cwd=self._place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            timer = Timer(SECONDS, process.kill)
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                yield process.stdin, process.stdout
            except BrokenPipeError as error:
                raise SkillRefused("The repository can't be read in time.", status=504) from error
            finally:
                timer.cancel()
                process.kill()

    def _run(self, *words: str) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - our own command line
                [*self._command, *words],
                env=self._env,
                cwd=self._place,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise SkillRefused("git is not installed on this machine (Debian: apt install git).") from None
        except subprocess.TimeoutExpired:
            raise SkillRefused(
                f"The repository did not respond within {SECONDS:.0f} s.", status=504
            ) from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            last = lines[-1].removeprefix("fatal: ").rstrip(".") if lines else "git failed"
            reason = to_printable(last, longest=LONGEST_REASON)
            raise SkillRefused(f"The repository can't be read: {reason}.", status=502)
        return done.stdout


def _read_exactly(source: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = source.read(min(size, _CHUNK))
        if not chunk:
            raise SkillRefused("The repository can't be read in time.", status=504)
        size -= len(chunk)
        yield chunk


def _find_skill(entries: Sequence[_TreeEntry], path: str) -> str:
    """Return the skill's folder: the requested one, the repository itself, or its only skill."""
    split = [entry.path.rpartition("/") for entry in entries]
    folders = {folder for folder, _, name in split if name in SKILL_FILES}
    if path in folders:
        return path
    within = sorted(folder for folder in folders if not path or folder.startswith(f"{path}/"))
    if not path and len(within) == 1:
        return within[0]
    where = f"The folder {to_printable(path)}" if path else "The repository"
    if not within:
        raise SkillRefused(f"{where} has no {SKILL_FILES[0]}.", status=404)
    more = f" and {len(within) - 10} more" if len(within) > 10 else ""
    shown = ", ".join(to_printable(folder) for folder in within[:10])
    raise SkillRefused(f"{where} has {len(within)} skills; give the path of one: {shown}{more}.")


def _select_entries(entries: Sequence[_TreeEntry], path: str, limits: ArchiveLimits) -> list[_TreeEntry]:
    chosen = [entry for entry in entries if not path or entry.path.startswith(f"{path}/")]
    for entry in chosen:
        if entry.mode not in {"100644", "100755", "100664"}:
            raise SkillRefused(f"The skill contains a link or a submodule: {to_printable(entry.path)}.")
        if entry.size > limits.file_bytes:
            raise SkillRefused(f"{to_printable(entry.path)} is too large.", status=413)
    if len(chosen) > limits.entries or sum(entry.size for entry in chosen) > limits.total_bytes:
        raise SkillRefused("The skill's files are too large or too many.", status=413)
    return chosen
