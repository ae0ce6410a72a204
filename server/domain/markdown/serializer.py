"""The one place that writes HTML: nothing outside of its list of elements can come out.

Every start tag comes from `_template`, which refuses an element or attribute that is not listed,
and every text from `_escape`. What stands in the list is what the clients' parsers know.
"""

import html
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from typing import Any, get_args

from server.domain.markdown import nodes
from server.domain.markdown.languages import language_name
from server.domain.markdown.links import narrow_href
from server.domain.markdown.nodes import Inline, Node

ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "li",
         "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr"),
        frozenset[str](),
    ),
    "ol": frozenset({"start"}),
    "th": frozenset({"style"}),
    "td": frozenset({"style"}),
    "a": frozenset({"class", "data-stream-id", "href", "title"}),
    "time": frozenset({"datetime"}),
    "span": frozenset({"class", "data-user-group-id", "data-user-id"}),
    "div": frozenset({"aria-hidden", "class", "data-code-language"}),
}  # fmt: skip
"""Every element that a message may hold, with its attributes."""

EMPTY_TOPIC_NAME = "general chat"
"""What a topic without a name is shown as."""


# Start tags


def _template(tag: str, *attributes: str) -> Callable[..., str]:
    """Makes start tags of an element with these attributes, from their values in this order."""
    unknown = set(attributes) - ALLOWED[tag]
    if unknown:
        raise ValueError(f"{unknown} on {tag}")
    pattern = "<" + " ".join([tag, *[f'{name}="{{}}"' for name in attributes]]) + ">"
    return lambda *values: pattern.format(*[html.escape(str(value)) for value in values])


def _start(tag: str) -> str:
    """The start tag of an element without attributes."""
    return _template(tag)()


_BREAK = _start("br") + "\n"
_RULE = _start("hr")
_PARAGRAPH = _start("p")
_CODE = _start("code")
_PRE = _start("pre")
_SPAN = _start("span")
_QUOTE = _start("blockquote")
_BULLETS = _start("ul")
_NUMBERS = _start("ol")
_NUMBERS_FROM = _template("ol", "start")
_ITEM = _start("li")
_TABLE = _start("table")
_HEAD = _start("thead")
_BODY = _start("tbody")
_ROW = _start("tr")
_DIV = _template("div", "class")
_HIDDEN = _template("div", "class", "aria-hidden")
_HIGHLIGHTED = _template("div", "class", "data-code-language")
_LINK = _template("a", "href")
_TITLED_LINK = _template("a", "href", "title")
_MESSAGE_LINK = _template("a", "class", "href")
_CHANNEL_LINK = _template("a", "class", "data-stream-id", "href")
_USER_MENTION = _template("span", "class", "data-user-id")
_GROUP_MENTION = _template("span", "class", "data-user-group-id")
_TOPIC_MENTION = _template("span", "class")
_TIME = _template("time", "datetime")
_STYLES = {style: (_start(style), f"</{style}>") for style in ("em", "strong", "del")}
_HEADINGS = {level: (_start(f"h{level}"), f"</h{level}>") for level in range(1, 7)}
_CELLS = {
    (tag, alignment): _template(tag, "style")(f"text-align: {alignment.lower()};")
    if alignment != "None"
    else _start(tag)
    for tag in ("th", "td")
    for alignment in get_args(nodes.Alignment)
}


def to_html(blocks: Iterable[Node]) -> str:
    """The HTML of a message."""
    return "\n".join(_block_texts(blocks))


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _render(node: Node) -> str:
    return _RENDERERS[type(node)](node)


def _inside(kids: Iterable[Node]) -> str:
    return "".join([_RENDERERS[type(kid)](kid) for kid in kids])


def _block_texts(kids: Iterable[Node]) -> Iterable[str]:
    """The kids of a block that holds blocks; a run of inline ones becomes a paragraph."""
    run: list[Node] = []
    for kid in kids:
        if isinstance(kid, Inline):
            run.append(kid)
            continue
        if run:
            yield _paragraph(nodes.Paragraph(run))
            run = []
        yield _render(kid)
    if run:
        yield _paragraph(nodes.Paragraph(run))


def _lines(kids: Iterable[Node]) -> str:
    return "".join([text + "\n" for text in _block_texts(kids)])


# Inline


def _text(node: nodes.Text) -> str:
    return html.escape(node.text, False)


def _line_break(_: nodes.LineBreak) -> str:
    return _BREAK


def _code(node: nodes.Code) -> str:
    return f"{_CODE}{_escape(node.text)}</code>"


def _math(node: nodes.Math) -> str:
    return f"{_CODE}{_escape(node.formula)}</code>"


def _time(node: nodes.Time) -> str:
    moment = node.moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{_TIME(moment.rjust(20, '0'))}{_escape(node.text)}</time>"


def _styled(node: nodes.Styled) -> str:
    start, end = _STYLES[node.style]
    return f"{start}{_inside(node.kids)}{end}"


def _link(node: nodes.Link) -> str:
    start = _TITLED_LINK(node.href, node.title) if node.title else _LINK(node.href)
    return f"{start}{_inside(node.kids)}</a>"


def _mention(start: str, name: str, *, silent: bool) -> str:
    return f"{start}{'' if silent else '@'}{_escape(name)}</span>"


def _user_mention(node: nodes.UserMention) -> str:
    start = _USER_MENTION(_classes("user-mention", node), node.user_id)
    return _mention(start, node.name, silent=node.silent)


def _channel_wildcard(node: nodes.ChannelWildcard) -> str:
    classes = _classes("user-mention channel-wildcard-mention", node)
    return _mention(_USER_MENTION(classes, "*"), node.name, silent=node.silent)


def _topic_wildcard(node: nodes.TopicWildcard) -> str:
    start = _TOPIC_MENTION(_classes("topic-mention", node))
    return _mention(start, node.name, silent=node.silent)


def _group_mention(node: nodes.GroupMention) -> str:
    start = _GROUP_MENTION(_classes("user-group-mention", node), node.group_id)
    return _mention(start, node.name, silent=node.silent)


def _classes(name: str, mention: nodes.Mention) -> str:
    return f"{name} silent" if mention.silent else name


def _channel_link(node: nodes.ChannelLink) -> str:
    href = narrow_href(node.channel_id, node.channel, node.topic, node.message_id)
    shown = f"#{_escape(node.channel)}"
    if node.topic is None:
        return f"{_CHANNEL_LINK('stream', node.channel_id, href)}{shown}</a>"

    topic = _escape(node.topic) or EMPTY_TOPIC_NAME.join(_STYLES["em"])
    shown += f" &gt; {topic}"
    if node.message_id is not None:
        return f"{_MESSAGE_LINK('message-link', href)}{shown} @ 💬</a>"
    return f"{_CHANNEL_LINK('stream-topic', node.channel_id, href)}{shown}</a>"


# Blocks


def _paragraph(node: nodes.Paragraph) -> str:
    return f"{_PARAGRAPH}{_inside(node.kids)}</p>"


def _heading(node: nodes.Heading) -> str:
    start, end = _HEADINGS[node.level]
    return f"{start}{_inside(node.kids)}{end}"


def _rule(_: nodes.Rule) -> str:
    return _RULE


def _code_block(node: nodes.CodeBlock) -> str:
    language = language_name(node.language) if node.language else None
    return _preformatted(node.text, language)


def _math_block(node: nodes.MathBlock) -> str:
    return _preformatted(node.formula, None)


def _preformatted(text: str, language: str | None) -> str:
    # Clients drop an empty span and look for the one code element after it.
    start = _HIGHLIGHTED("codehilite", language) if language else _DIV("codehilite")
    return f"{start}{_PRE}{_SPAN}</span>{_CODE}{html.escape(text)}</code></pre></div>"


def _quote(node: nodes.Quote) -> str:
    return f"{_QUOTE}\n{_lines(node.kids)}</blockquote>"


def _spoiler(node: nodes.Spoiler) -> str:
    # Clients expect no white space between these three elements.
    header = f"{_DIV('spoiler-header')}\n{_lines(node.header)}</div>"
    content = f"{_HIDDEN('spoiler-content', 'true')}\n{_lines(node.kids)}</div>"
    return f"{_DIV('spoiler-block')}{header}{content}</div>"


def _item_list(node: nodes.ItemList) -> str:
    if node.start is None:
        return f"{_BULLETS}\n{_lines(node.kids)}</ul>"
    start = _NUMBERS if node.start == 1 else _NUMBERS_FROM(node.start)
    return f"{start}\n{_lines(node.kids)}</ol>"


def _item(node: nodes.Item) -> str:
    """Inline kids stand in the item as they are, so that lists are as tight as they were typed."""
    written = [_ITEM]
    after_text = False
    for kid in node.kids:
        if isinstance(kid, Inline):
            written.append(_render(kid))
            after_text = True
        else:
            written += (_render(kid) if after_text else "\n" + _render(kid),)
            after_text = False
    if node.kids and not after_text:
        written.append("\n")
    return "".join(written) + "</li>"


def _table(node: nodes.Table) -> str:
    head, *body = node.kids or [nodes.Row()]
    rows = body or [nodes.Row([nodes.Cell() for _ in node.alignments])]
    written = [
        f"{_TABLE}\n{_HEAD}\n{_row('th', head, node.alignments)}</thead>\n",
        f"{_BODY}\n",
        *[_row("td", row, node.alignments) for row in rows],
        "</tbody>\n</table>",
    ]
    return "".join(written)


def _row(tag: str, row: Any, alignments: Sequence[nodes.Alignment]) -> str:
    starts = [_CELLS[tag, alignment] for alignment in alignments]
    cells = [
        f"{start}{_inside(cell.kids)}</{tag}>\n"
        for start, cell in zip(starts, row.kids, strict=False)
    ]
    return f"{_ROW}\n{''.join(cells)}</tr>\n"


_RENDERERS: dict[type[Node], Callable[[Any], str]] = {
    nodes.Text: _text,
    nodes.LineBreak: _line_break,
    nodes.Code: _code,
    nodes.Math: _math,
    nodes.Time: _time,
    nodes.Styled: _styled,
    nodes.Link: _link,
    nodes.UserMention: _user_mention,
    nodes.GroupMention: _group_mention,
    nodes.ChannelWildcard: _channel_wildcard,
    nodes.TopicWildcard: _topic_wildcard,
    nodes.ChannelLink: _channel_link,
    nodes.Paragraph: _paragraph,
    nodes.Heading: _heading,
    nodes.Rule: _rule,
    nodes.CodeBlock: _code_block,
    nodes.MathBlock: _math_block,
    nodes.Quote: _quote,
    nodes.Spoiler: _spoiler,
    nodes.ItemList: _item_list,
    nodes.Item: _item,
    nodes.Table: _table,
}
