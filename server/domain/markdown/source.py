"""Prepare a message's source for the parser, reversibly.

The dialect is CommonMark minus some syntax (raw HTML, underscores, reference links, underlined
headings, a single tilde, fences of tildes before a word with one, list items without a text) plus
tokens of its own. What the parser must not see is replaced by Unicode noncharacters, which no
message contains after `normalize`; `unprotect` restores it, wherever the parser left it.
"""

import re

MARK = "\ufdd0"
"""Surrounds the number of a token."""

HEADING_MARK = "\ufdd1"
"""Follows the number signs of a heading, to distinguish it from an underlined line."""

_NUMBER_MARK = "\ufdd7"
"""Surrounds the number of a list item that has a 1 in front instead."""

_NOT_AN_ITEM = "\ufdd8"
"""Precedes what would be a list item if it had a text."""

FLANK = "\ufdd9"
"""Beside asterisks or tildes: a letter to the parser, so that they may open and close."""

_UNDERSCORE, _TILDE, _LESS, _COLON, _EQUALS = "\ufdd2", "\ufdd3", "\ufdd4", "\ufdd5", "\ufdd6"
HIDDEN = {_UNDERSCORE: "_", _TILDE: "~", _LESS: "<", _COLON: ":", _EQUALS: "="}
"""Characters hidden by `protect`, by their replacements."""

LINE_MARKS = (HEADING_MARK, _NUMBER_MARK, _NOT_AN_ITEM)
"""Marks that `protect` and `numbered_item` put at the beginning of a text."""

_ORIGINALS = str.maketrans({**HIDDEN, **dict.fromkeys((*LINE_MARKS, FLANK))})
_SPECIAL = re.compile("[\ufdd0-\ufdd9]")
_NUMBERED = re.compile(f"1\\. {_NUMBER_MARK}([0-9]{{1,9}}\\.){_NUMBER_MARK}")
_NUMBER = re.compile(f"{_NUMBER_MARK}([0-9]{{1,9}})\\.{_NUMBER_MARK}")

_PROSE = re.compile(
    r"[^\W\d_]"  # nothing that begins a list, a heading, a quote, a rule or a table
    r"[^\x00-\x1f\\`*_\[\]<>&~|#$\ufdd0-\ufdef]*(?<! )"
)

# Noncharacters, surrogates and controls except tab and newline.
_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

_PLAIN_UNDERSCORE = re.compile(r"(?<!\\)_")
_UNDERSCORE_RULE = re.compile(rf"^[ \t>]*(?:{_UNDERSCORE}[ \t]*){{3,}}$", re.MULTILINE)
_SINGLE_TILDE = re.compile(r"(?<![~\\])~(?!~)")
_HTML_START = re.compile(r"(?<!\]\()<")
_UNDERLINE = re.compile(r"^[ \t>]*=(?==*[ \t]*$)", re.MULTILINE)
_CONTAINER_PREFIX = r"(?:[ \t>*+-]|\d{1,9}[.)])*"
_HEADING = re.compile(rf"^{_CONTAINER_PREFIX}#{{1,6}}[ \t]+(?=\S)", re.MULTILINE)
_EMPTY_HEADING = re.compile(rf"^{_CONTAINER_PREFIX}(?=#{{1,6}}[ \t]*$)", re.MULTILINE)
_NO_FENCE = re.compile(rf"^({_CONTAINER_PREFIX})(~{{3,}})(?=[^~\n]+~)", re.MULTILINE)
"""Tildes on a line with text and more of them: they would all be a fence's info word."""
_EMPTY_ITEM = re.compile(r"^[ \t>]*(?=(?:[*+-]|[0-9]{1,9}[.)])[ \t]*$)", re.MULTILINE)


def normalize(content: str) -> str:
    """Return the content with plain newlines, and U+FFFD for forbidden characters."""
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    return _UNWANTED.sub("\ufffd", content)


def protect(text: str) -> str:
    """Hide from the parser the syntax that this dialect does not have."""
    if "_" in text:
        text = _PLAIN_UNDERSCORE.sub(_UNDERSCORE, text)
        text = _UNDERSCORE_RULE.sub(lambda match: match[0].replace(_UNDERSCORE, "_"), text)
    if "~~~" in text:
        text = _NO_FENCE.sub(lambda match: match[1] + _TILDE * len(match[2]), text)
    if "~" in text:
        text = _SINGLE_TILDE.sub(_TILDE, text)
    if "<" in text:
        text = _HTML_START.sub(_LESS, text)
    if "=" in text:
        text = _UNDERLINE.sub(lambda match: match[0][:-1] + _EQUALS, text)
    if "#" in text:
        text = _HEADING.sub(lambda match: match[0] + HEADING_MARK, text)
        text = _EMPTY_HEADING.sub(lambda match: match[0] + HEADING_MARK, text)
    text = _EMPTY_ITEM.sub(lambda match: match[0] + _NOT_AN_ITEM, text)
    return text.replace("]:", "]" + _COLON)


def is_prose(text: str) -> bool:
    """Return whether the text is one paragraph on one line without syntax, as most messages are.

    False also if it only may hold some. For such text the parser has nothing to find.
    """
    return _PROSE.fullmatch(text) is not None


def is_plain(text: str) -> bool:
    """Return whether the text has no special meaning."""
    return _SPECIAL.search(text) is None


def unprotect(text: str) -> str:
    """Undo `protect` and `numbered_item` in a piece of text."""
    if is_plain(text):
        return text
    if _NUMBER_MARK in text:
        text = _NUMBERED.sub(r"\1 ", text)
    return text.translate(_ORIGINALS)


def numbered_item(marker: str, text: str) -> str:
    """Return a list item that the parser takes for the first of a list, whatever its number."""
    return f"1. {_NUMBER_MARK}{marker}{_NUMBER_MARK}{text}"


def take_number(text: str) -> tuple[int | None, str]:
    """Return the number that `numbered_item` has put before a text, and the text."""
    match = _NUMBER.match(text)
    return (int(match[1]), text[match.end() :]) if match else (None, text)
