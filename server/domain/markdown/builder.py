"""Build nodes from the parser's events, and replace marks in text by their tokens."""

import html
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from server.domain.markdown import nodes
from server.domain.markdown.links import safe_href
from server.domain.markdown.nodes import Node, Text
from server.domain.markdown.source import HEADING_MARK, MARK, is_plain, take_number, unprotect
from server.domain.markdown.tokens import Token, restore, split

MAX_DEPTH = 24
"""Elements nested deeper lose their frame, never their text, so that recursion is bounded."""

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_LINE_BREAK = nodes.LineBreak()
_CONTAINERS: dict[str, Callable[[], Node]] = {
    "Paragraph": nodes.Paragraph,
    "HtmlBlock": nodes.Paragraph,
    "Emphasis": lambda: nodes.Styled("em"),
    "Strong": lambda: nodes.Styled("strong"),
    "Strikethrough": lambda: nodes.Styled("del"),
}
_MEMBERS: dict[str, Callable[[], Node]] = {
    "Item": nodes.Item,
    "TableHead": nodes.Row,
    "TableRow": nodes.Row,
    "TableCell": nodes.Cell,
}

Found: TypeAlias = nodes.Link | nodes.Mention
"""Nodes that are reported apart from the HTML; silent mentions are not."""


class FenceReader(Protocol):
    """Callback that makes nodes of code inside of other Markdown; without info, it is indented."""

    def __call__(self, info: str | None, code: str, *, quoted: bool, depth: int) -> list[Node]: ...


class _Frame(NamedTuple):
    """An open element: where to continue after it, and whether it has a node of its own."""

    kids: list[Node]
    framed: bool
    on_close: Callable[[], None] | None = None


class Builder:
    """Builds one piece of source; `_open` is the path from its root to where `_kids` go."""

    def __init__(
        self,
        tokens: list[Token],
        found: list[Found],
        read_fence: FenceReader,
        *,
        quoted: bool,
        depth: int,
    ) -> None:
        self._tokens = tokens
        self._found = found
        self._read_fence = read_fence
        self._depth = depth
        self._root: list[Node] = []
        self._kids = self._root
        self._open: list[_Frame] = []
        self._quotes = int(quoted)
        self._links = 0
        self._lists: list[nodes.ItemList] = []
        self._code: list[str] | None = None
        self._heading: nodes.Heading | None = None
        self._openers: dict[str, Callable[[Any], None]] = {
            "Heading": self._open_heading,
            "BlockQuote": self._open_quote,
            "CodeBlock": self._open_code,
            "List": self._open_list,
            "Table": self._open_table,
            "Link": self._open_link,
            "Image": self._open_image,
        }

    def build(self, events: Iterable[Any]) -> list[Node]:
        """Return the blocks that the events describe."""
        for event in events:
            if event.__class__ is str:
                self._kids.append(nodes.Rule() if event == "Rule" else _LINE_BREAK)
                continue
            ((kind, value),) = event.items()
            if kind == "Text":
                self._text(value)
            elif kind == "End":
                self._close()
            elif kind == "Start":
                self._start(value)
            elif kind == "Code":
                self._kids.append(nodes.Code(self._original(value)))
            else:  # HTML, where it slipped through, is text like any other.
                self._text(value)
        return self._root

    # Text and tokens

    def _original(self, text: str) -> str:
        return unprotect(restore(text, self._tokens))

    def _text(self, text: str) -> None:
        if self._code is not None:
            self._code.append(self._original(text))
        elif is_plain(text):
            self._kids.append(Text(text))
        else:
            self._marked_text(text)

    def _marked_text(self, text: str) -> None:
        if self._heading is not None and text.startswith(HEADING_MARK):
            self._heading = None
            text = text[1:]
        if self._lists:
            text = self._take_number(text)
        if MARK not in text:
            if text:
                self._kids.append(Text(unprotect(text)))
            return
        for part in split(text, self._tokens):
            self._kids.append(Text(unprotect(part)) if isinstance(part, str) else self._token(part))

    def _take_number(self, text: str) -> str:
        number, rest = take_number(text)
        if number is not None:
            self._lists[-1].start = number
        return rest

    def _token(self, token: Token) -> Node:
        """Return the token's node as allowed here: no link in a link, only silence in a quote."""
        node = token.node
        if self._links and isinstance(node, nodes.Link | nodes.ChannelLink):
            return Text(token.source)
        if self._quotes and isinstance(node, nodes.Mention):
            return _silenced(node)
        if isinstance(node, nodes.Link) or (isinstance(node, nodes.Mention) and not node.silent):
            self._found.append(node)
        return node

    # Elements

    def _start(self, tag: Any) -> None:
        if tag.__class__ is not str:
            ((name, data),) = tag.items()
            self._openers[name](data)
        elif tag in _CONTAINERS:
            self._container(_CONTAINERS[tag]())
        else:
            # Rows, cells and items have a node if their parent has one.
            self._enter(_MEMBERS[tag](), None, framed=self._open[-1].framed)

    def _container(self, node: Any, on_close: Callable[[], None] | None = None) -> None:
        """Continue inside the node, or in its parent if that is deep already."""
        framed = self._depth + len(self._open) < MAX_DEPTH
        self._enter(node, on_close, framed=framed)

    def _enter(self, node: Any, on_close: Callable[[], None] | None, *, framed: bool) -> None:
        self._open.append(_Frame(self._kids, framed, on_close))
        if framed:
            self._kids.append(node)
            self._kids = node.kids
        elif self._kids and isinstance(node, nodes.Block):
            self._kids.append(_LINE_BREAK)

    def _close(self) -> None:
        self._kids, _, on_close = self._open.pop()
        if on_close is not None:
            on_close()

    def _open_quote(self, _: None) -> None:
        self._quotes += 1
        self._container(nodes.Quote(), self._close_quote)

    def _close_quote(self) -> None:
        self._quotes -= 1

    def _open_heading(self, data: dict[str, Any]) -> None:
        heading = nodes.Heading(int(data["level"][1:]))
        self._container(heading, self._close_heading)
        self._heading = heading

    def _close_heading(self) -> None:
        """A heading without a number sign is a paragraph above a line of hyphens."""
        underlined, self._heading = self._heading, None
        if underlined is not None and self._kids and self._kids[-1] is underlined:
            self._kids[-1:] = [nodes.Paragraph(underlined.kids), nodes.Rule()]

    def _open_list(self, start: int | None) -> None:
        before = self._kids[-1] if self._kids else None
        if start is None and isinstance(before, nodes.ItemList) and before.start is None:
            # Another bullet begins another list for the parser, but not for the reader.
            self._open.append(_Frame(self._kids, True, self._close_list))
            self._kids = before.kids
            self._lists.append(before)
            return
        node = nodes.ItemList(start)
        self._container(node, self._close_list)
        self._lists.append(node)

    def _close_list(self) -> None:
        self._lists.pop()

    def _open_table(self, alignments: tuple[nodes.Alignment, ...]) -> None:
        self._container(nodes.Table(alignments))

    def _open_code(self, kind: str | dict[str, str]) -> None:
        info = self._original(kind["Fenced"]) if isinstance(kind, dict) else None
        self._open.append(_Frame(self._kids, False, lambda: self._close_code(info)))
        self._code = []

    def _close_code(self, info: str | None) -> None:
        code, self._code = "".join(self._code or ()), None
        if not code.endswith("\n"):
            code += "\n"
        depth = self._depth + len(self._open)
        self._kids += self._read_fence(info, code, quoted=self._quotes > 0, depth=depth)

    def _open_link(self, data: dict[str, Any], *, is_image: bool = False) -> None:
        if self._links:
            # The alternative text of an image in a link, and the text of a link in an image's.
            self._open.append(_Frame(self._kids, False))
            return
        destination = self._destination(data["dest_url"])
        href = safe_href(destination)
        if href is None:
            self._kids.append(Text("![" if is_image else "["))
            tail = Text(f"]({destination})")
            kids = self._kids
            self._open.append(_Frame(kids, False, lambda: kids.append(tail)))
            return

        self._links += 1
        link = nodes.Link(href, self._original(data["title"]), is_image=is_image)
        self._found.append(link)
        self._container(link, lambda: self._close_link(link))

    def _open_image(self, data: dict[str, Any]) -> None:
        self._open_link(data, is_image=True)

    def _close_link(self, link: nodes.Link) -> None:
        self._links -= 1
        if not any(not isinstance(kid, Text) or kid.text.strip() for kid in link.kids):
            link.kids[:] = [Text(link.href)]

    def _destination(self, url: str) -> str:
        """Return the address with entities decoded that the parser could not see inside a token."""
        if MARK in url:
            restored = restore(url, self._tokens)
            url = _ENTITY.sub(lambda match: html.unescape(match[0]), restored)
        return unprotect(url)


def _silenced(mention: nodes.Mention) -> Node:
    if isinstance(mention, nodes.UserMention):
        return nodes.UserMention(mention.user_id, mention.name, silent=True)
    if isinstance(mention, nodes.GroupMention):
        return nodes.GroupMention(mention.group_id, mention.name, silent=True)
    return type(mention)(mention.name, silent=True)
