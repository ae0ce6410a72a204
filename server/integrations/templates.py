"""Templates that make a topic or a text of any JSON: fields, a few filters, and no loops.

`Build {build.number|default "?"} of {repository.name}: {jobs.*.name|first 3|join ", "}`. A path has
names and indices with dots; `*` stands for all items of a list. `{{` and `}}` stand for braces.
What comes from the JSON is escaped; the template itself is Markdown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

import orjson

from server.integrations.markdown import bold, code, code_block, cut, link, quote, text
from server.integrations.payload import MAX_ITEMS, Payload

MAX_LENGTH: Final = 4_000
MAX_PLACEHOLDERS: Final = 50
MAX_DEPTH: Final = 20
"""Maximum number of names in a path."""
SEPARATOR: Final = ", "

_PART: Final = re.compile(r"\{\{|\}\}|\{(?P<inner>[^{}]*)\}|(?P<alone>[{}])|[^{}]+")
_INNER: Final = re.compile(r"\s*(?P<path>[^|\s]+)\s*(?P<filters>(?:\|.*)?)", re.DOTALL)
_FILTER: Final = re.compile(
    r'\|\s*(?P<name>\w+)(?:\s+(?P<argument>"(?:[^"\\]|\\.)*"|[^|"]*[^|"\s]))?\s*', re.DOTALL
)


class TemplateError(Exception):
    """The template is not valid; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    path: tuple[str, ...]
    filters: tuple[tuple[str, str], ...]
    """Names with arguments."""

    def render(self, payload: Payload, *, plain: bool) -> str:
        texts = [_text_of(each) for each in _values(payload, self.path)]
        separator, style = SEPARATOR, "" if plain else "text"
        for name, argument in self.filters:
            if name == "join":
                separator = argument
            elif name in _STYLES:
                style = "" if plain else name
            elif name == "link":
                style = "" if plain else f"link {argument}"
            else:
                texts = _FILTERS[name](texts, argument)
        return separator.join(_styled(each, style, payload) for each in texts if each)


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    parts: tuple[str | Placeholder, ...]

    def render(self, payload: Payload, *, plain: bool = False) -> str:
        """Return the text of the JSON: Markdown, or with `plain` text as it is, for a topic."""
        return "".join(
            part if isinstance(part, str) else part.render(payload, plain=plain)
            for part in self.parts
        )


def parse(source: str) -> Template:
    """Parse a template. Raises TemplateError."""
    if len(source) > MAX_LENGTH:
        raise TemplateError(f"A template has at most {MAX_LENGTH} characters.")
    parts: list[str | Placeholder] = []
    for found in _PART.finditer(source):
        if found["alone"]:
            raise TemplateError(
                f"The brace at {found.start() + 1} has no partner; as text it is written twice."
            )
        if found["inner"] is None:
            parts.append(found[0][0] if found[0] in ("{{", "}}") else found[0])
        else:
            parts.append(_placeholder(found["inner"], found[0]))
    if sum(isinstance(part, Placeholder) for part in parts) > MAX_PLACEHOLDERS:
        raise TemplateError(f"A template has at most {MAX_PLACEHOLDERS} fields.")
    return Template(tuple(parts))


def _placeholder(inner: str, shown: str) -> Placeholder:
    found = _INNER.fullmatch(inner)
    if found is None:
        raise TemplateError(f"{cut(shown, 60)} has no path of a field.")
    path = tuple(found["path"].split("."))
    if not all(path) or len(path) > MAX_DEPTH:
        raise TemplateError(f"{cut(found['path'], 60)} is no path of a field.")
    filters, rest = [], found["filters"]
    while rest:
        match = _FILTER.match(rest)
        if match is None:
            raise TemplateError(f"{cut(rest, 60)} is no filter.")
        filters.append((match["name"], _argument(match["name"], match["argument"] or "")))
        rest = rest[match.end() :]
    return Placeholder(path, tuple(filters))


def _argument(name: str, argument: str) -> str:
    """Return a filter's argument without quotation marks. Raises TemplateError."""
    if argument.startswith('"'):
        try:
            argument = orjson.loads(argument)
        except orjson.JSONDecodeError:
            raise TemplateError(f"{cut(argument, 60)} is no text in quotation marks.") from None
    if name in _NUMBERED and not re.fullmatch(r"[1-9][0-9]{0,4}", argument, re.ASCII):
        raise TemplateError(f"{name} needs a number, as in |{name} 3.")
    if name in ("default", "link") and not argument:
        raise TemplateError(f"{name} needs what stands for it.")
    if name not in (*_FILTERS, *_STYLES, "join", "link"):
        known = ", ".join(sorted((*_FILTERS, *_STYLES, "join", "link")))
        raise TemplateError(f"There is no filter {cut(name, 60)}; there are {known}.")
    return argument


def _values(payload: Payload, path: Sequence[str]) -> list[Payload]:
    """Return the values at the path: the items of a list, or the one that it leads to."""
    found = [payload]
    for name in path:
        if name == "*":
            found = list(islice(chain.from_iterable(found), MAX_ITEMS))
        else:
            found = [_step(each, name) for each in found]
    if len(found) == 1 and isinstance(found[0].raw(), list):
        return list(found[0])
    return found


def _step(value: Payload, name: str) -> Payload:
    is_index = isinstance(value.raw(), list) and re.fullmatch(r"-?[0-9]{1,6}", name, re.ASCII)
    return value[int(name)] if is_index else value[name]


def _text_of(value: Payload) -> str:
    raw = value.raw()
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, dict | list):
        return cut(orjson.dumps(raw).decode()) if raw else ""
    return value.text()


def _styled(value: str, style: str, payload: Payload) -> str:
    if style.startswith("link "):
        [target, *_] = _values(payload, style.removeprefix("link ").split(".")) or [payload["url"]]
        return link(value, target.text())
    return _STYLES[style](value) if style else value


_FILTERS: Final[Mapping[str, Callable[[list[str], str], list[str]]]] = {
    "default": lambda texts, argument: texts if any(texts) else [argument],
    "first": lambda texts, argument: texts[: int(argument)],
    "cut": lambda texts, argument: [cut(each, int(argument)) for each in texts],
}
_NUMBERED: Final = ("first", "cut")
_STYLES: Final[Mapping[str, Callable[[str], str]]] = {
    "text": text,
    "bold": bold,
    "code": code,
    "block": code_block,
    "quote": quote,
}
