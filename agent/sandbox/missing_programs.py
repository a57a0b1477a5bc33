"""Debian packages that provide a command's missing programs or Python modules, and where to install them.

Skills for documents call programs that not every sandbox has. The packages are those of Debian 12, or of the
sandbox's own Python (`requirements-sandbox.lock`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agent.shared.install_hints import SETUP_SANDBOX

_OFFICE = "libreoffice-writer libreoffice-calc libreoffice-impress"
_PROGRAMS: Mapping[str, str] = {
    "soffice": _OFFICE,
    "libreoffice": _OFFICE,
    "pandoc": "pandoc",
    **dict.fromkeys(
        ("pdftoppm", "pdftotext", "pdfimages", "pdfinfo", "pdfunite", "pdfseparate"), "poppler-utils"
    ),
    **dict.fromkeys(("node", "npx", "npm"), "nodejs npm"),
    **dict.fromkeys(("convert", "magick", "montage", "identify"), "imagemagick"),
    **dict.fromkeys(("pdflatex", "xelatex", "lualatex"), "texlive-latex-extra texlive-xetex"),
    **dict.fromkeys(("ffmpeg", "ffprobe"), "ffmpeg"),
    "qpdf": "qpdf",
    "pdftk": "pdftk-java",
    "tesseract": "tesseract-ocr",
    "gs": "ghostscript",
    "dot": "graphviz",
    "jq": "jq",
    "rg": "ripgrep",
    "xmllint": "libxml2-utils",
    **{
        name: name
        for name in ("git", "curl", "wget", "zip", "unzip", "file", "sqlite3", "ruby", "perl", "exiftool")
    },
}
_SET_UP = SETUP_SANDBOX
_MODULES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "docx",
            "pptx",
            "openpyxl",
            "pypdf",
            "pdfplumber",
            "reportlab",
            "defusedxml",
            "lxml",
            "PIL",
            "pandas",
        ),
        _SET_UP,
    ),
    **dict.fromkeys(("matplotlib", "numpy", "tabulate", "xlrd", "xlsxwriter"), _SET_UP),
    "bs4": "python3-bs4",
    "yaml": "python3-yaml",
    "requests": "python3-requests",
    "pytesseract": "python3-pytesseract",
    "pdf2image": "python3-pdf2image",
}
"""Debian packages by module, or the command that installs those of the sandbox's own Python."""
_PATTERNS = (
    r"(?:^|: )(?P<program>[\w.+-]+): (?:command )?not found\b",
    r"env: [‘'](?P<program>[\w.+-]+)[’']: No such file or directory",
    r"No such file or directory: '(?P<program>[\w.+-]+)'",
    r"No module named '(?P<module>\w+)",
)
_MISSING = tuple(re.compile(pattern, re.MULTILINE) for pattern in _PATTERNS)
_SAID = "not installed in the sandbox."
_TAIL = 8_000
"""Number of characters at the end of the output that are searched."""


def describe_missing(output: str, exit_code: int | None) -> str:
    """Return a line about a failed command's missing programs, or ""."""
    if not exit_code or _SAID in output:
        return ""
    found = dict(_find_missing(output[-_TAIL:]))
    if not found:
        return ""
    names = ", ".join(found)
    verb = "is" if len(found) == 1 else "are"
    return f"\n[{names} {verb} {_SAID} An administrator can {_describe_remedy(set(found.values()))}.]\n"


def _describe_remedy(places: set[str]) -> str:
    """Return how to install these packages."""
    debian = " ".join(sorted(places - {_SET_UP}))
    steps = (
        [f"run `{_SET_UP}`, which installs the Python packages for documents"] if _SET_UP in places else []
    )
    if debian:
        steps.append(
            f"add the Debian packages {debian} to this machine or, for containers, to the image "
            f"(`make setup-sandbox OFFICE=1` builds one with LibreOffice, pandoc and qpdf)"
        )
    return ", and ".join(steps) + '; see "Configure the sandbox" in the documentation'


def _find_missing(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _MISSING:
        known = _MODULES if "module" in pattern.groupindex else _PROGRAMS
        for match in pattern.finditer(text):
            if match[1] in known:
                yield match[1], known[match[1]]
