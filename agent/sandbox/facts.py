"""Facts about a sandbox for the model: network, limits, Python and its packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agent.core.interfaces import SandboxFacts
from agent.sandbox.options import PUBLIC, NetworkSetting, SandboxLimits

SHOWN_HOSTS = 10
PACKAGES: Mapping[str, str] = {
    **{name: name for name in ("pandas", "numpy", "matplotlib", "openpyxl")},
    "docx": "python-docx",
    "pptx": "python-pptx",
    **{name: name for name in ("pdfplumber", "pypdf", "reportlab")},
}
"""The packages worth naming among those of `requirements-sandbox.lock`, by the folder of each."""
IMAGE_PYTHON = "3.11"
"""Python of Debian 12, in the image that `make setup-sandbox` builds."""


def describe_sandbox(limits: SandboxLimits, network: NetworkSetting) -> SandboxFacts:
    """Return the facts for a sandbox with these limits and this value of `sandbox.network`."""
    return SandboxFacts(_describe_network(network), limits.seconds, limits.memory_mb)


def with_image_python(facts: SandboxFacts) -> SandboxFacts:
    return replace(facts, python=IMAGE_PYTHON, packages=tuple(PACKAGES.values()))


def with_python(facts: SandboxFacts, folder: Path) -> SandboxFacts:
    """Return the facts with the Python environment in a folder, unchanged if there is none. Blocks."""
    for found in sorted(folder.glob("lib/python3.*/site-packages")):
        names = [name for package, name in PACKAGES.items() if (found / package).is_dir()]
        return replace(facts, python=found.parent.name.removeprefix("python"), packages=tuple(names))
    return facts


def _describe_network(network: NetworkSetting) -> str:
    if network is False:
        return ""
    if network == PUBLIC:
        return "hosts on the public internet"
    hosts = [host for host in network if "/" not in host]
    more = f" and {len(hosts) - SHOWN_HOSTS} more" if len(hosts) > SHOWN_HOSTS else ""
    return ", ".join(hosts[:SHOWN_HOSTS]) + more
