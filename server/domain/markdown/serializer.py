"""The only writer of HTML: nothing outside of its list of elements can be produced.

Every start tag comes from `_template`, which refuses an element or attribute that is not listed,
and every text from `_escape`. The list is what the clients' parsers know.
"""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from typing import Any, get_args

from pygments.token import STANDARD_TYPES

from server.domain.markdown import nodes
from server.domain.markdown.formulas import formula
from server.domain.markdown.languages import language_name
from server.domain.markdown.links import is_upload, narrow_href
from server.domain.markdown.nodes import Inline, Node
from server.domain.markdown.tags import start, template
from storage.ids import GroupId

EMPTY_TOPIC_NAME = "general chat"
"""Displayed name of a topic without a name."""


# Start tags

_BREAK = start("br") + "\n"
_RULE = start("hr")
_PARAGRAPH = start("p")
_CODE = start("code")
_PRE = start("pre")
_SPAN = start("span")
_QUOTE = start("blockquote")
_BULLETS = start("ul")
_NUMBERS = start("ol")
_NUMBERS_FROM = template("ol", "start")
_ITEM = start("li")
_TABLE = start("table")
_HEAD = start("thead")
_BODY = start("tbody")
_ROW = start("tr")
_DIV = template("div", "class")
_HIDDEN = template("div", "class", "aria-hidden")
_HIGHLIGHTED = template("div", "class", "data-code-language")
_LINK = template("a", "href")
_TITLED_LINK = template("a", "href", "title")
_MESSAGE_LINK = template("a", "class", "href")
_PREVIEW_IMAGE = template("a", "class", "href", "style")
_CHANNEL_LINK = template("a", "class", "data-stream-id", "href")
_USER_MENTION = template("span", "class", "data-user-id")
_GROUP_MENTION = template("span", "class", "data-user-group-id")
_MENTIONED_GROUPS = re.compile(_GROUP_MENTION("user-group-mention", r"(\d+)"))
_TOPIC_MENTION = template("span", "class")
_TIME = template("time", "datetime")
_PIECE = template("span", "class")
_PIECES = {name: _PIECE(name) for name in STANDARD_TYPES.values() if name}
_KATEX_DISPLAY = _PIECE("katex-display")
_EMOJI = template("span", "aria-label", "class", "role", "title")
_EMOJI_IMAGE = template("img", "alt", "class", "src", "title")
_IMAGE = template("img", "src")
_VIDEO = template("video", "preload", "src")
_INLINE_IMAGE = template("img", "alt", "class", "data-original-src", "src")
_AUDIO = template("audio", "controls", "preload", "src", "title")
_STYLES = {style: (start(style), f"</{style}>") for style in ("em", "strong", "del")}
_HEADINGS = {level: (start(f"h{level}"), f"</h{level}>") for level in range(1, 7)}
_CELLS = {
    (tag, alignment): template(tag, "style")(f"text-align: {alignment.lower()};")
    if alignment != "None"
    else start(tag)
    for tag in ("th", "td")
    for alignment in get_args(nodes.Alignment)
}


def to_html(blocks: Iterable[Node]) -> str:
    """Return the HTML of a message."""
    return "\n".join(_block_texts(blocks))


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _render(node: Node) -> str:
    return _RENDERERS[type(node)](node)


def _inside(kids: Iterable[Node]) -> str:
    return "".join([_RENDERERS[type(kid)](kid) for kid in kids])


def _block_texts(kids: Iterable[Node]) -> Iterable[str]:
    """Yield the HTML of a container's kids; a run of inline ones becomes a paragraph."""
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
    return formula(node.mathml, node.formula) or f"{_CODE}{_escape(node.formula)}</code>"


def _time(node: nodes.Time) -> str:
    moment = node.moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{_TIME(moment.rjust(20, '0'))}{_escape(node.text)}</time>"


def _unicode_emoji(node: nodes.UnicodeEmoji) -> str:
    title = node.name.replace("_", " ")
    start = _EMOJI(title, f"emoji emoji-{node.code}", "img", title)
    return f"{start}:{_escape(node.name)}:</span>"


def _image_emoji(node: nodes.ImageEmoji) -> str:
    return _EMOJI_IMAGE(f":{node.name}:", "emoji", node.image, node.name.replace("_", " "))


def _styled(node: nodes.Styled) -> str:
    start, end = _STYLES[node.style]
    return f"{start}{_inside(node.kids)}{end}"


def _link(node: nodes.Link) -> str:
    start = _TITLED_LINK(node.href, node.title) if node.title else _LINK(node.href)
    # The syntax of images is for uploads alone: before another address stands a sign and a link.
    sign = "!" if node.is_image and not is_upload(node.href) else ""
    return f"{sign}{start}{_inside(node.kids)}</a>"


def _inline_image(node: nodes.InlineImage) -> str:
    return _INLINE_IMAGE(node.alt, "inline-image", node.href, node.href)


def _audio(node: nodes.Audio) -> str:
    return f"{_AUDIO('metadata', node.href, node.title)}</audio>"


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


def mentioned_groups_in(rendered: str) -> frozenset[GroupId]:
    """Return the groups that a message's HTML mentions, silent mentions excluded."""
    return frozenset(GroupId(int(found)) for found in _MENTIONED_GROUPS.findall(rendered))


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
    language = language_name(node.language) or node.language
    code = html.escape(node.text) if node.spans is None else _pieces(node.spans)
    return _preformatted(code, language)


def _pieces(spans: nodes.Spans) -> str:
    """Return highlighted code; a class that is not one of Pygments' own is dropped."""
    return "".join(
        [
            f"{_PIECES[name]}{html.escape(text)}</span>" if name in _PIECES else html.escape(text)
            for name, text in spans
        ]
    )


def _math_block(node: nodes.MathBlock) -> str:
    written = formula(node.mathml, node.formula)
    if written is None:
        return _preformatted(html.escape(node.formula), "")
    return f"{_PARAGRAPH}{_KATEX_DISPLAY}{written}</span></p>"


def _preformatted(code: str, language: str) -> str:
    # Clients drop an empty span and look for the one code element after it.
    start = _HIGHLIGHTED("codehilite", language) if language else _DIV("codehilite")
    return f"{start}{_PRE}{_SPAN}</span>{_CODE}{code}</code></pre></div>"


def _media(node: nodes.Media) -> str:
    link = _TITLED_LINK(node.href, node.title) if node.title else _LINK(node.href)
    if node.is_video:
        film = _VIDEO("metadata", node.source)
        return f"{_DIV('message_inline_image message_inline_video')}{link}{film}</video></a></div>"
    return f"{_DIV('message_inline_image')}{link}{_IMAGE(node.source)}</a></div>"


def _preview(node: nodes.Preview) -> str:
    # Clients expect no white space in it, and nothing in the link but the image behind it.
    picture = f'background-image: url("{node.image}")'
    parts = [_PREVIEW_IMAGE("message_embed_image", node.href, picture), "</a>"]
    parts.append(_DIV("data-container"))
    if node.title:
        link = _TITLED_LINK(node.href, node.title)
        parts.append(f"{_DIV('message_embed_title')}{link}{_escape(node.title)}</a></div>")
    if node.description:
        parts.append(f"{_DIV('message_embed_description')}{_escape(node.description)}</div>")
    return f"{_DIV('message_embed')}{''.join(parts)}</div></div>"


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
    """Inline kids stay in the item as they are, so that lists are as tight as they were typed."""
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
    nodes.UnicodeEmoji: _unicode_emoji,
    nodes.ImageEmoji: _image_emoji,
    nodes.Styled: _styled,
    nodes.Link: _link,
    nodes.InlineImage: _inline_image,
    nodes.Audio: _audio,
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
    nodes.Media: _media,
    nodes.Preview: _preview,
    nodes.Quote: _quote,
    nodes.Spoiler: _spoiler,
    nodes.ItemList: _item_list,
    nodes.Item: _item,
    nodes.Table: _table,
}
