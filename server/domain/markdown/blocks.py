"""Split a message at its fences: quotes and spoilers nest in a way no Markdown parser supports."""

import re
from dataclasses import dataclass, field

SECTIONS = frozenset({"quote", "spoiler"})
"""Info words of fences that hold Markdown."""

MAX_NESTING = 8
"""Quotes and spoilers nested deeper lose their frame, never their text."""

_LANGUAGE = re.compile(r"\{?\.?([\w+\-./#]{0,50})")


@dataclass(slots=True)
class Source:
    """Lines for the Markdown parser."""

    text: str


@dataclass(slots=True)
class Fenced:
    """The raw lines of a fence: code, or what its info word says."""

    language: str
    text: str


@dataclass(slots=True)
class Section:
    """A fence that holds Markdown; `kind` is quote or spoiler, or empty for the message itself."""

    kind: str
    header: str = ""
    parts: "list[Part]" = field(default_factory=list)


Part = Source | Fenced | Section


class _Splitter:
    """The open fences, innermost last; the outermost is the message itself."""

    def __init__(self) -> None:
        self._sections = [(Section(""), "")]
        self._lines: list[str] = []
        self._code: tuple[str, str] | None = None

    def split(self, text: str) -> list[Part]:
        for line in text.split("\n"):
            self._add(line)
        self._flush()
        return self._sections[0][0].parts

    def _add(self, line: str) -> None:
        fence = self._code[0] if self._code else self._sections[-1][1]
        if fence and line.rstrip() == fence:
            self._close()
        elif self._code is None and (opening := _opening(line)):
            self._flush()
            self._open(*opening)
        else:
            self._lines.append(line)

    def _open(self, fence: str, language: str, header: str) -> None:
        outer = self._sections[-1][0]
        if language not in SECTIONS:
            self._code = (fence, language)
        elif len(self._sections) > MAX_NESTING:
            outer.parts.append(Source(header))
            self._sections.append((outer, fence))
        else:
            section = Section(language, header)
            outer.parts.append(section)
            self._sections.append((section, fence))

    def _close(self) -> None:
        self._flush()
        if self._code is None:
            self._sections.pop()
        self._code = None

    def _flush(self) -> None:
        """Append the collected lines to the innermost fence."""
        parts = self._sections[-1][0].parts
        if self._code is not None:
            parts.append(Fenced(self._code[1], "".join(line + "\n" for line in self._lines)))
        elif any(line and not line.isspace() for line in self._lines):
            parts.append(Source("\n".join(self._lines)))
        self._lines.clear()


def _opening(line: str) -> tuple[str, str, str] | None:
    """Return the fence, the word and the rest of a line that opens a fence."""
    if not line.startswith(("```", "~~~")):
        return None
    info = line.lstrip(line[0])
    if "`" in info or "~" in info:
        return None

    return line[: len(line) - len(info)], *fence_info(info)


def fence_info(info: str) -> tuple[str, str]:
    """Return the info word of a fence, which names a language or a section, and the rest."""
    word, _, header = info.strip().partition(" ")
    named = _LANGUAGE.match(word)
    language = named[1] if named else ""
    return language.lower() if language.lower() in SECTIONS else language, header.strip()


def split_fences(text: str) -> list[Part]:
    """Return the message as Markdown between fences, in the order of its lines."""
    return _Splitter().split(text)
