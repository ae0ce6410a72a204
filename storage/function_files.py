"""Read the SQL functions of each area from their files, with constants and variants filled in.

`functions/AREA.sql` holds the only current text of its functions. `functions/versions` lists every
version of every area: its number, and the digest of the text that was rendered for it. The
migration runner installs an area if its number is higher than the database's.

A file is SQL but for two things:

- `{NAME}` and `{NAME | OTHER}` stand for the bits of message flags and traits.
- Lines between `-- @each way = before | after` and `-- @end` are rendered once for each value of
  `@way`. Further lines `-- @name = one | other` at the top define names with one value for each
  rendering. After `-- @only before` come lines of that rendering alone, up to the next `-- @only`
  or `-- @all`.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.message_bits import with_bits

DIRECTORY: Final = Path(__file__).parent / "functions"

VERSIONS_FILE: Final = "versions"

_BLOCK: Final = re.compile(r"^-- @each .*?^-- @end\n", re.DOTALL | re.MULTILINE)
_DEFINITION: Final = re.compile(r"-- @(?:each )?(\w+) = (.*)")


@dataclass(frozen=True, slots=True)
class Version:
    """One line of the versions file."""

    area: str
    number: int
    digest: str

    @property
    def line(self) -> str:
        return f"{self.area} {self.number} {self.digest}"


@dataclass(frozen=True, slots=True)
class FunctionFile:
    """The functions of one area, as this release installs them."""

    area: str
    number: int
    """Number of the newest version; 0 if the versions file does not have the area."""
    text: str
    """Rendered SQL."""

    @property
    def name(self) -> str:
        return f"functions/{self.area}.{self.number}"

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self.text.encode(), digest_size=16).hexdigest()


def known_functions(directory: Path = DIRECTORY) -> list[FunctionFile]:
    """Return the files by area; none if there is no such directory."""
    newest = {version.area: version.number for version in versions(directory)}
    return [
        FunctionFile(path.stem, newest.get(path.stem, 0), render(path.read_text()))
        for path in sorted(directory.glob("*.sql"))
    ]


def versions(directory: Path = DIRECTORY) -> list[Version]:
    """Return the recorded versions, oldest first."""
    path = directory / VERSIONS_FILE
    lines = path.read_text().splitlines() if path.exists() else []
    fields = (line.split() for line in lines)
    return [Version(area, int(number), digest) for area, number, digest in fields]


def record_versions(directory: Path = DIRECTORY) -> list[Version]:
    """Append a version for each area with a text that its newest version does not have."""
    recorded = versions(directory)
    newest = {version.area: version.digest for version in recorded}
    added = [
        Version(file.area, file.number + 1, file.digest)
        for file in known_functions(directory)
        if newest.get(file.area) != file.digest
    ]
    text = "".join(f"{version.line}\n" for version in [*recorded, *added])
    (directory / VERSIONS_FILE).write_text(text)
    return added


def outdated(known: Sequence[FunctionFile], installed: Mapping[str, int]) -> list[FunctionFile]:
    """Return the areas of which the database has no version, or an older one."""
    return [file for file in known if file.number > installed.get(file.area, -1)]


def render(text: str) -> str:
    """Return the SQL of a file. Raises KeyError for a name that is not a bit."""
    text = _BLOCK.sub(lambda block: _render_block(block[0]), text)
    return with_bits(text)


def _render_block(block: str) -> str:
    lines = block.splitlines()[:-1]
    defined: dict[str, list[str]] = {}
    while match := _DEFINITION.fullmatch(lines[0]):
        defined[match[1]] = match[2].split(" | ")
        del lines[0]
    variants = next(iter(defined.values()))
    return "\n".join(
        _variant(lines, variant, {name: values[n] for name, values in defined.items()})
        for n, variant in enumerate(variants)
    )


def _variant(lines: Sequence[str], variant: str, values: Mapping[str, str]) -> str:
    kept = []
    only = variant
    for line in lines:
        if line.startswith("-- @only "):
            only = line.removeprefix("-- @only ")
        elif line == "-- @all":
            only = variant
        elif only == variant:
            kept.append(line)
    names = re.compile(rf"@({'|'.join(values)})\b")
    return names.sub(lambda name: values[name[1]], "\n".join(kept)) + "\n"
