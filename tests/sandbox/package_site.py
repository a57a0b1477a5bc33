"""A site with packages of several kinds over HTTPS, on the address that is public in the egress tests."""

from __future__ import annotations

import json
import ssl
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from roebot_testing.agent.conformance.attacks_egress import OPEN

WHEEL = "tiny-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
TAG = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True)
class PackageSite:
    """The address of the site by its name, and the certificate that a client has to trust."""

    port: int
    certificate: str

    @property
    def url(self) -> str:
        return f"https://open.test:{self.port}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def package_site(folder: Path) -> Iterator[PackageSite]:
    """Serve a wheel, a git repository, an npm package and a text."""
    root, key, certificate = folder / "site", folder / "key.pem", folder / "certificate.pem"
    root.mkdir()
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=open.test",
    ]
    words += ["-addext", "subjectAltName=DNS:open.test", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer((OPEN, 0), partial(_Quiet, directory=str(root))) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        site = PackageSite(server.server_address[1], certificate.read_text())
        (root / "text").write_text("over https\n")
        _add_wheel(root)
        _add_repository(root, folder / "work")
        _add_npm(root, site.url)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield site
        server.shutdown()
        thread.join()


def _add_wheel(root: Path) -> None:
    index = root / "simple" / "tiny"
    index.mkdir(parents=True)
    (index / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>')
    with zipfile.ZipFile(index / WHEEL, "w") as wheel:
        wheel.writestr("tiny.py", "SIZE = 1\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("tiny-1.0.dist-info/WHEEL", TAG)
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")


def _add_repository(root: Path, work: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    work.mkdir()
    (work / "README").write_text("cloned\n")
    for words in (["init", "-q"], ["add", "README"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=work, check=True, capture_output=True)
    bare = root / "repository.git"
    subprocess.run([*git, "clone", "-q", "--bare", str(work), str(bare)], check=True, capture_output=True)
    subprocess.run([*git, "update-server-info"], cwd=bare, check=True, capture_output=True)


def _add_npm(root: Path, url: str) -> None:
    package = {"name": "tiny", "version": "1.0.0", "main": "index.js"}
    (root / "package.json").write_text(json.dumps(package))
    (root / "index.js").write_text("module.exports = 1\n")
    with tarfile.open(root / "tiny-1.0.0.tgz", "w:gz") as archive:
        for name in ("package.json", "index.js"):
            archive.add(root / name, f"package/{name}")
    versions = {"1.0.0": {**package, "dist": {"tarball": f"{url}/tiny-1.0.0.tgz"}}}
    described = {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    (root / "tiny").write_text(json.dumps(described))
