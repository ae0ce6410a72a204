"""Reads a message's HTML as the strictest of its clients do, and refuses what they do not know.

The rules are written here once more, from what the clients accept; nothing of the serialiser is
used. The mobile client shows «unsupported» for any node outside of these shapes, the terminal one
fails on some, and a browser would run what it is given: so all three are satisfied by one reader.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from typing_extensions import override

VOID = {"br", "hr", "img"}
BOOLEAN = {"controls"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
BLOCKS = {"p", "hr", "ul", "ol", "blockquote", "table", "div", *HEADINGS}
HREF = re.compile(
    r"(?:(?:https?|mailto|tel|sms|xmpp|sips?|geo|ftp):|[/#])[^\s<>\\]*", re.IGNORECASE
)
STYLES = {f"text-align: {side};" for side in ("left", "center", "right")}
NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
LINK_CLASSES = {"stream", "stream-topic", "message-link"}
MENTION_CLASSES = {
    ("user-mention",),
    ("channel-wildcard-mention", "user-mention"),
    ("topic-mention",),
    ("user-group-mention",),
}


UPLOAD = re.compile(r"/user_uploads/[^/\s]")
EMOJI = re.compile(r"emoji emoji(?:-[0-9a-f]{4,5})+")
EXTERNAL = re.compile(r"/external_content/[0-9a-f]{64}/((?:[0-9a-f]{2})+)")
PICTURE = re.compile(rf'background-image: url\("(?:https://[^\s"\\<>]+|{EXTERNAL.pattern})"\)')
PREVIEW_TEXTS = ["message_embed_title", "message_embed_description"]
MEDIA_CLASSES = {"message_inline_image", "message_inline_image message_inline_video"}
CODE_CLASS = re.compile(
    "err|esc|x|k[cdnprt]?|n|n[abcdefilntovx]|bp|fm|py|v[cgim]|l|ld|s|s[abcdehirsx12]|dl|"
    "m|m[bfhio]|il|o|ow|p|pm|c|c[hmps1]|cpf|g|g[dehioprstu]|ges"
)
MATHML_TEXTS = {"annotation", "mi", "mn", "mo", "ms", "mtext"}
MATHML = re.compile(
    "annotation|m[ions]|mtext|math|semantics|mrow|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|"
    "munderover|mmultiscripts|mprescripts|mtable|mtr|mtd|mspace|mpadded|mphantom|mstyle"
)
MATHML_NAMESPACE = "http://www.w3.org/1998/Math/MathML"


class UnreadableError(AssertionError):
    """The HTML has something that a client does not know."""


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    kids: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(kid if isinstance(kid, str) else kid.text for kid in self.kids)

    @property
    def class_name(self) -> str:
        return self.attributes.get("class", "")


class _Reader(HTMLParser):
    """Builds the tree, and refuses tags that do not match and anything that is no element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root")
        self.open = [self.root]

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        odd = [name for name, value in attrs if value is None and name not in BOOLEAN]
        _require(len(attributes) == len(attrs) and not odd, f"odd attributes {attrs}")
        element = Element(tag, attributes)
        self.open[-1].kids.append(element)
        if tag not in VOID:
            self.open.append(element)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise UnreadableError(f"<{tag}/> {attrs}")

    @override
    def handle_endtag(self, tag: str) -> None:
        _require(self.open.pop().tag == tag, f"</{tag}> closes something else")

    @override
    def handle_data(self, data: str) -> None:
        self.open[-1].kids.append(data)

    @override
    def handle_comment(self, data: str) -> None:
        raise UnreadableError(f"comment {data!r}")

    @override
    def handle_decl(self, decl: str) -> None:
        raise UnreadableError(f"declaration {decl!r}")

    @override
    def handle_pi(self, data: str) -> None:
        raise UnreadableError(f"instruction {data!r}")

    @override
    def unknown_decl(self, data: str) -> None:
        raise UnreadableError(f"section {data!r}")


def read(html: str) -> Element:
    """The tree of a message's HTML; raises UnreadableError where a client would not show it."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    _require(len(reader.open) == 1, "something is not closed")
    _blocks(reader.root)
    return reader.root


def _require(condition: object, what: str) -> None:
    if not condition:
        raise UnreadableError(what)


def _attributes(element: Element, *names: str) -> None:
    extra = set(element.attributes) - set(names)
    _require(not extra, f"{extra} on {element.tag}")


def _elements(parent: Element, *tags: str) -> list[Element]:
    """The kids, all of them these elements, between nothing but single newlines."""
    elements = [kid for kid in parent.kids if isinstance(kid, Element)]
    _require(
        all(kid == "\n" for kid in parent.kids if isinstance(kid, str)), f"text in {parent.tag}"
    )
    _require(all(kid.tag in tags for kid in elements), f"kids of {parent.tag}")
    return elements


def _blocks(parent: Element) -> None:
    for kid in parent.kids:
        if isinstance(kid, str):
            _require(not kid.strip("\n"), f"text {kid!r} between the blocks of {parent.tag}")
        else:
            _block(kid)


def _block(element: Element) -> None:
    if element.tag == "p" and [*_classes_within(element)] == ["katex-display"]:
        _attributes(element)
        (display,) = _exactly(element, "span")
        _attributes(display, "class")
        (katex,) = _exactly(display, "span")
        _formula(katex, display="block")
    elif element.tag == "p" or element.tag in HEADINGS:
        _attributes(element)
        _inlines(element)
    elif element.tag == "hr":
        _attributes(element)
    elif element.tag == "blockquote":
        _attributes(element)
        _blocks(element)
    elif element.tag in {"ul", "ol"}:
        _list(element)
    elif element.tag == "table":
        _table(element)
    elif element.tag == "div" and element.class_name == "codehilite":
        _code_block(element)
    elif element.tag == "div" and element.class_name == "spoiler-block":
        _spoiler(element)
    elif element.tag == "div" and element.class_name in MEDIA_CLASSES:
        _media(element)
    elif element.tag == "div" and element.class_name == "message_embed":
        _preview(element)
    else:
        raise UnreadableError(f"{element.tag} as a block")


def _list(element: Element) -> None:
    _attributes(element, *(["start"] if element.tag == "ol" else []))
    _require(NUMBER.fullmatch(element.attributes.get("start", "1")), "start")
    for item in _elements(element, "li"):
        _attributes(item)
        shows_media = False
        for kid in item.kids:
            if isinstance(kid, Element) and kid.tag in BLOCKS:
                _block(kid)
                shows_media = kid.class_name in MEDIA_CLASSES
            elif kid != "\n":
                _require(not shows_media, "text after a picture in an item")
                _inline(kid)


def _code_block(element: Element) -> None:
    _attributes(element, "class", "data-code-language")
    (pre,) = _exactly(element, "pre")
    empty, code = _exactly(pre, "span", "code")
    _require(not empty.kids and not empty.attributes, "the empty span")
    _attributes(code)
    for kid in code.kids:
        if isinstance(kid, Element):
            _require(kid.tag == "span", f"{kid.tag} in code")
            _attributes(kid, "class")
            _require(CODE_CLASS.fullmatch(kid.class_name), f"{kid.class_name} in code")
            _require(all(isinstance(text, str) for text in kid.kids), "nested spans in code")


def _media(element: Element) -> None:
    _attributes(element, "class")
    (link,) = _exactly(element, "a")
    _attributes(link, "href", "title")
    _require(HREF.fullmatch(link.attributes["href"]), "href of a picture")
    shows_film = element.class_name.endswith("video")
    (shown,) = _exactly(link, "video" if shows_film else "img")
    _attributes(shown, "preload", "src")
    source = EXTERNAL.fullmatch(shown.attributes["src"])
    address = shown.attributes["src"]
    if source is not None and not shows_film:
        address = bytes.fromhex(source[1]).decode()
    _require(address == link.attributes["href"], "src of a picture")
    _require(not shown.kids, "something in a film")


def _preview(element: Element) -> None:
    _attributes(element, "class")
    picture, container = _exactly(element, "a", "div")
    _require(set(picture.attributes) == {"class", "href", "style"}, "picture of a preview")
    _require(picture.class_name == "message_embed_image", "picture of a preview")
    _require(PICTURE.fullmatch(picture.attributes["style"]), "style of a preview")
    _require(not picture.kids, "something in the picture of a preview")
    _require(container.attributes == {"class": "data-container"}, "data-container")
    names = [kid.class_name for kid in _elements(container, "div")]
    _require(
        names in ([], ["message_embed_title"], ["message_embed_description"], PREVIEW_TEXTS),
        f"{names} in a preview",
    )
    for part in _elements(container, "div"):
        _attributes(part, "class")
        inside = part
        if part.class_name == "message_embed_title":
            (inside,) = _exactly(part, "a")
            _attributes(inside, "href", "title")
            _require(inside.attributes["href"] == picture.attributes["href"], "href of a preview")
        _require(all(isinstance(kid, str) for kid in inside.kids), "elements in a preview's text")
    _require(HREF.fullmatch(picture.attributes["href"]), "href of a preview")


def _spoiler(element: Element) -> None:
    _attributes(element, "class")
    header, content = _exactly(element, "div", "div")
    _require(header.attributes == {"class": "spoiler-header"}, "spoiler header")
    _require(
        content.attributes == {"class": "spoiler-content", "aria-hidden": "true"}, "spoiler content"
    )
    _blocks(header)
    _blocks(content)


def _exactly(parent: Element, *tags: str) -> list[Element]:
    """The kids, which are these elements without anything between them."""
    elements = [kid for kid in parent.kids if isinstance(kid, Element)]
    _require(len(elements) == len(parent.kids), f"text in {parent.tag}")
    _require([kid.tag for kid in elements] == list(tags), f"kids of {parent.tag}")
    return elements


def _table(element: Element) -> None:
    _attributes(element)
    head, body = _elements(element, "thead", "tbody")
    _require(
        [kid for kid in element.kids if isinstance(kid, str)] == ["\n"] * 3, "table's newlines"
    )
    (head_row,) = _elements(head, "tr")
    columns = _row(head_row, "th")
    rows = _elements(body, "tr")
    _require(rows, "a table without rows")
    _require(all(_row(row, "td") == columns for row in rows), "ragged table")


def _row(row: Element, tag: str) -> int:
    cells = _elements(row, tag)
    _attributes(row)
    for cell in cells:
        _attributes(cell, "style")
        _require(cell.attributes.get("style", "text-align: left;") in STYLES, "style")
        _inlines(cell)
    return len(cells)


def _inlines(parent: Element) -> None:
    for kid in parent.kids:
        _inline(kid)


def _inline(node: Element | str) -> None:
    if isinstance(node, str):
        return
    if node.tag in {"br", "strong", "em", "del", "code"}:
        _attributes(node)
        _inlines(node)
        _require(node.tag != "code" or all(isinstance(kid, str) for kid in node.kids), "code")
    elif node.tag == "a":
        _link(node)
    elif node.tag == "span":
        _span(node)
    elif node.tag == "img" and node.class_name == "inline-image":
        _attributes(node, "alt", "class", "data-original-src", "src")
        address = node.attributes["data-original-src"]
        _require(UPLOAD.match(address) and node.attributes["src"] == address, "picture in text")
        _require(node.attributes["alt"], "alt of a picture")
    elif node.tag == "audio":
        _attributes(node, "controls", "preload", "src", "title")
        _require({"controls", "preload", "title"} <= set(node.attributes), "player")
        _require(UPLOAD.match(node.attributes["src"]) and not node.kids, "player")
    elif node.tag == "img":
        _attributes(node, "alt", "class", "src", "title")
        _require(node.class_name == "emoji", "picture in text")
        _require(re.fullmatch(r":[0-9a-zA-Z_+-]+:", node.attributes["alt"]), "alt of an emoji")
        _require(node.attributes["src"].startswith("/"), "src of an emoji")
    elif node.tag == "time":
        _attributes(node, "datetime")
        _require(MOMENT.fullmatch(node.attributes["datetime"]), "datetime")
    else:
        raise UnreadableError(f"{node.tag} in text")


def _classes_within(element: Element) -> list[str]:
    return [kid.class_name for kid in element.kids if isinstance(kid, Element)]


def _span(span: Element) -> None:
    if EMOJI.fullmatch(span.class_name):
        _attributes(span, "aria-label", "class", "role", "title")
        _require(span.attributes["role"] == "img", "role of an emoji")
        _require(re.fullmatch(r":[0-9a-z_+-]+:", span.text), f"emoji {span.text}")
        _require(span.attributes["title"] == span.text[1:-1].replace("_", " "), "title of an emoji")
    elif span.class_name == "katex":
        _formula(span, display=None)
    else:
        _mention(span)


def _formula(katex: Element, display: str | None) -> None:
    _require(katex.attributes == {"class": "katex"}, "formula")
    mathml, shown = _exactly(katex, "span", "span")
    _require(mathml.attributes == {"class": "katex-mathml"}, "katex-mathml")
    _require(shown.attributes == {"class": "katex-html", "aria-hidden": "true"}, "katex-html")
    (math,) = _exactly(mathml, "math")
    _require(math.attributes.get("display") == display, "display of a formula")
    _require(math.attributes["xmlns"] == MATHML_NAMESPACE, "namespace of a formula")
    (semantics,) = _exactly(math, "semantics")
    source = semantics.kids[-1]
    assert isinstance(source, Element)
    _require(source.tag == "annotation", "annotation")
    _require(source.attributes == {"encoding": "application/x-tex"}, "encoding")
    _require(source.text.strip() == shown.text, "the source in both halves")
    _require(all(isinstance(kid, str) for kid in shown.kids), "elements in the source")
    for element in descendants(math):
        _require(MATHML.fullmatch(element.tag), f"{element.tag} in a formula")
        _require("url" not in "".join(element.attributes.values()), "address in a formula")
        kinds = {isinstance(kid, Element) for kid in element.kids}
        _require(kinds <= {element.tag not in MATHML_TEXTS}, f"kids of {element.tag}")


def _link(link: Element) -> None:
    _attributes(link, "class", "data-stream-id", "href", "title")
    href = link.attributes.get("href", "")
    _require(HREF.fullmatch(href), f"href {href!r}")
    _require(not any(kid.tag == "a" for kid in descendants(link)), "link in a link")
    if "class" in link.attributes:
        _require(link.class_name in LINK_CLASSES, link.class_name)
        _require(href.startswith("/#narrow/channel/"), href)
    _inlines(link)


def _mention(mention: Element) -> None:
    _attributes(mention, "class", "data-user-id", "data-user-group-id")
    classes = sorted(mention.class_name.split(" "))
    silent = "silent" in classes
    kind = tuple(name for name in classes if name != "silent")
    _require(kind in MENTION_CLASSES, f"span {classes}")
    _require(silent or mention.text.startswith("@"), f"{mention.text} without @")
    _require(all(isinstance(kid, str) for kid in mention.kids), "elements in a mention")
    for value in list(mention.attributes.values())[1:]:
        _require(value == "*" or NUMBER.fullmatch(value), f"id {value}")


def descendants(element: Element) -> list[Element]:
    """All elements below one, in the order of their start tags."""
    found: list[Element] = []
    for kid in element.kids:
        if isinstance(kid, Element):
            found += [kid, *descendants(kid)]
    return found
