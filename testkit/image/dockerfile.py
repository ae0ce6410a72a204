"""Reads a Dockerfile: as much of its language as ours uses."""

import json
import re
import shlex
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

KNOWN: Final = frozenset(
    [
        *("FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"),
        *("ENTRYPOINT", "CMD"),
    ]
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: its name, options like `--from=build`, and the rest of its line."""

    name: str
    options: dict[str, str]
    rest: str

    @property
    def words(self) -> list[str]:
        """The arguments: of the JSON form, or separated by blanks."""
        if self.rest.startswith("["):
            return [str(each) for each in json.loads(self.rest)]
        return shlex.split(self.rest)


@dataclass(slots=True)
class Stage:
    """What begins with FROM: the image or stage below it, and the instructions after it."""

    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, name: str) -> Instruction:
        """Return the last instruction of the name, which is the one that counts."""
        return [each for each in self.instructions if each.name == name][-1]

    def environment(self) -> dict[str, str]:
        """Return all variables that it sets."""
        words = [word for each in self.instructions if each.name == "ENV" for word in each.words]
        return dict(word.split("=", 1) for word in words)


def read_stages(path: Path) -> list[Stage]:
    """Return the stages of a Dockerfile. Raises ValueError for what is not understood."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.partition(" ")
        if name not in KNOWN:
            raise ValueError(line)
        options = {}
        while found := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            options[found[1]] = found[2]
            rest = rest[found.end() :]
        if name == "FROM":
            words = rest.split()
            stages.append(Stage(words[-1] if "AS" in words else "", words[0]))
        else:
            stages[-1].instructions.append(Instruction(name, options, rest))
    return stages


def is_ignored(name: str, patterns: list[str]) -> bool:
    """Return whether a .dockerignore leaves out a file of the checkout, or a folder above it."""
    paths = [Path(name), *Path(name).parents]
    return any(
        fnmatch(str(path), pattern) or fnmatch(str(path), pattern.removeprefix("**/"))
        or (pattern.startswith("**/") and fnmatch(path.name, pattern.removeprefix("**/")))
        for path in paths
        for pattern in patterns
    )  # fmt: skip
