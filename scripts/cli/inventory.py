"""The packages of this installation: Python's, and those inside the browser client."""

import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from scripts.cli.failures import Failure

LICENSES: Final = Path(".vite/licenses.json")
"""In the build of the browser client."""
PYTHON: Final = "pypi"
BROWSER: Final = "npm"


class Component(NamedTuple):
    """A package, with its licence as it declares it; None if it does not."""

    ecosystem: str
    name: str
    version: str
    licence: str | None
    is_expression: bool
    """Whether the licence is an SPDX expression, rather than a name."""

    @property
    def purl(self) -> str:
        """The package's URL, as the specification of package URLs has it."""
        name = self.name
        if self.ecosystem == PYTHON:
            name = re.sub(r"[-_.]+", "-", name).lower()
        return f"pkg:{self.ecosystem}/{quote(name, safe='/')}@{quote(self.version)}"


class _Bundled(msgspec.Struct, frozen=True):
    """A package as Vite lists it."""

    name: str
    version: str
    identifier: str | None = None


def components(client: Path) -> list[Component]:
    """Return all packages of this environment and of the browser client in the directory.

    Parley itself is not among them. Raises Failure if the client has been built without its list.
    """
    found = {each.purl: each for each in (*_of_python(), *_of_client(client))}
    return [found[purl] for purl in sorted(found)]


def _of_python() -> list[Component]:
    return [
        Component(PYTHON, each.name, each.version, *_licence_of(each))
        for each in metadata.distributions()
        if each.name != "parley"
    ]


def _licence_of(distribution: metadata.Distribution) -> tuple[str | None, bool]:
    """Return the licence, and whether it is an SPDX expression.

    Older packages have no expression: a field that may be its name or its whole text, classifiers,
    or nothing but a file, which begins with its title.
    """
    about: Mapping[str, Any] = distribution.metadata.json
    if expression := about.get("license_expression"):
        return expression, True
    field = about.get("license", "").strip()
    if field and "\n" not in field:
        return field, False
    classifiers = [
        name
        for each in about.get("classifier", ())
        if each.startswith("License :: OSI Approved :: ")
        if (name := each.rpartition(" :: ")[2])
    ]
    return " or ".join(classifiers) or _title(distribution), False


def _title(distribution: metadata.Distribution) -> str | None:
    for path in distribution.files or ():
        if re.match(r"(licen[cs]e|copying)\b", path.name, re.IGNORECASE):
            lines = path.read_text().splitlines()
            return next((line.strip() for line in lines if line.strip()), None)
    return None


def _of_client(folder: Path) -> list[Component]:
    try:
        content = (folder / LICENSES).read_bytes()
    except FileNotFoundError:
        if not folder.exists():
            return []  # the installation has no browser client
        raise Failure(
            f"The browser client in {folder} has no list of its packages: build it again."
        ) from None
    bundled = msgspec.json.decode(content, type=list[_Bundled])
    return [
        Component(BROWSER, each.name, each.version, each.identifier, each.identifier is not None)
        for each in bundled
    ]
