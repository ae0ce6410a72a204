"""Build the tree of a message: fences, and the Markdown between them by `builder`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyromark

from server.domain.markdown import nodes
from server.domain.markdown.blocks import (
    SECTIONS,
    Fenced,
    Part,
    Section,
    Source,
    fence_info,
    split_fences,
)
from server.domain.markdown.builder import Builder, Found
from server.domain.markdown.emphasis import free_flanks, may_have_unused, unused_freed
from server.domain.markdown.lists import indent_lists
from server.domain.markdown.nodes import Node
from server.domain.markdown.resolver import MentionResolver
from server.domain.markdown.source import is_prose, protect
from server.domain.markdown.tokens import Scanner

_EVENTS, _EVENTS_PER_CHARACTER = 1_000, 0.6
"""Limit of parser events: honest text makes fewer; a table cell of five characters takes three. A
source that exceeds it (a table grows quadratically) is rendered plain, so that work stays bounded.
"""

_EVENTS_PER_PIECE = 10
"""Cost of a fence, or of the text between two, besides its events."""

MAX_NESTED_FENCES = 3
"""A fence in a list in a fence in a list ... is parsed again each time, so there are few."""

_OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
_LINE_BREAK = nodes.LineBreak()


class _UnparsedError(Exception):
    """The parser makes more events than an honest message needs, or fails."""


@dataclass(frozen=True, slots=True)
class Document:
    """The tree of a message, with its links and notifying mentions."""

    blocks: list[Node]
    found: list[Found]


def parse(
    content: str,
    resolver: MentionResolver,
    *,
    translate_emoticons: bool = False,
    code_language: str = "",
) -> Document:
    """Return the tree of a normalized message; `code_language` is the default of fences."""
    scanner = Scanner(resolver, content, translate_emoticons=translate_emoticons)
    message = _Message(scanner, int(_EVENTS + _EVENTS_PER_CHARACTER * len(content)), code_language)
    try:
        return Document(message.markdown(content, _Place()), message.found)
    except _UnparsedError:
        return Document(_plain(content), [])


def _plain(content: str) -> list[Node]:
    """Return the message without any formatting, in one paragraph."""
    kids: list[Node] = []
    for line in content.strip("\n").split("\n"):
        kids += (nodes.Text(line), _LINE_BREAK)
    return [nodes.Paragraph(kids[:-1])]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree a piece of source stands."""

    quoted: bool = False
    depth: int = 0
    fences: int = 0


class _Message:
    """State shared by all pieces of one message: tokens, and the remaining work budget."""

    def __init__(self, scanner: Scanner, max_events: int, code_language: str) -> None:
        self.found: list[Found] = []
        self._scanner = scanner
        self._events_left = max_events
        self._code_language = code_language

    def markdown(self, text: str, place: _Place) -> list[Node]:
        return self._parts(split_fences(text), place)

    def _parts(self, parts: list[Part], place: _Place) -> list[Node]:
        kids: list[Node] = []
        for part in parts:
            if isinstance(part, Source):
                kids += self._source(part.text, place)
            elif isinstance(part, Fenced):
                kids.append(self._code(part))
            else:
                kids.append(self._section(part, place))
        return kids

    def _section(self, section: Section, place: _Place) -> Node:
        quoted = place.quoted or section.kind == "quote"
        inside = replace(place, quoted=quoted, depth=place.depth + 1)
        header = self._source(section.header, inside) if section.header else []
        kids = self._parts(section.parts, inside)
        if section.kind == "quote":
            return nodes.Quote(header + kids)
        return nodes.Spoiler(header, kids)

    def _source(self, text: str, place: _Place) -> list[Node]:
        marked = self._scanner.extract(text)
        if is_prose(marked):
            self._spend(_EVENTS_PER_PIECE)
            return [nodes.Paragraph([nodes.Text(marked)])]
        source = free_flanks(protect(indent_lists(marked)))
        if may_have_unused(source):
            source = unused_freed(source, self._parsed(source, pyromark.events_with_range))
        events = self._parsed(source, pyromark.events)
        self._spend(len(events))

        def fence(info: str | None, code: str, *, quoted: bool, depth: int) -> list[Node]:
            return self._inner_fence(info, code, _Place(quoted, depth, place.fences + 1))

        builder = Builder(
            self._scanner.tokens, self.found, fence, quoted=place.quoted, depth=place.depth
        )
        return builder.build(events)

    def _parsed(self, source: str, parser: Callable[..., Iterator[Any]]) -> list[Any]:
        """Return the parser's events, at most one more than the message's budget."""
        self._spend(_EVENTS_PER_PIECE)
        try:
            return list(islice(parser(source, options=_OPTIONS), self._events_left + 1))
        except BaseException as error:
            # A panic of the parser is no Exception; it must not end the server.
            if type(error).__name__ == "PanicException":
                raise _UnparsedError from error
            raise

    def _spend(self, events: int) -> None:
        self._events_left -= events
        if self._events_left < 0:
            raise _UnparsedError

    def _inner_fence(self, info: str | None, code: str, place: _Place) -> list[Node]:
        """Code that the parser found in a list or a quote."""
        self._spend(_EVENTS_PER_PIECE)
        if info is None:
            return [nodes.CodeBlock("", code)]
        word, header = fence_info(info)
        if word not in SECTIONS:
            return [self._code(Fenced(word, code))]
        if place.fences > MAX_NESTED_FENCES:
            return _plain(f"{header}\n{code}")
        return [self._section(Section(word, header, split_fences(code)), place)]

    def _code(self, fence: Fenced) -> Node:
        if fence.language.lower() == "math":
            return nodes.MathBlock(fence.text)
        return nodes.CodeBlock(fence.language or self._code_language, fence.text)
