"""Sources that make parsers slow: repeated openings, runs, nesting, and work that multiplies.

Each is a function of about how many characters it should make.
"""

from collections.abc import Callable

Source = Callable[[int], str]


def repeated(piece: str, before: str = "", after: str = "") -> Source:
    """The piece again and again, between two others."""
    return lambda size: before + piece * (size // len(piece)) + after


def halves(opening: str, closing: str, middle: str = "a") -> Source:
    """Openings, then as many closings."""

    def make(size: int) -> str:
        count = size // (len(opening) + len(closing))
        return opening * count + middle + closing * count

    return make


def growing(piece: str, separator: str) -> Source:
    """Runs of one piece, each longer than the one before: no two match."""

    def make(size: int) -> str:
        count = int((2 * size / len(piece)) ** 0.5)
        return separator.join(piece * length for length in range(1, count))

    return make


def table(columns_share: float, row: str) -> Source:
    """A head of many columns, and rows that are short to write and long to fill."""

    def make(size: int) -> str:
        columns = int(size * columns_share) // 4
        head = "|a" * columns + "\n" + "|-" * columns + "\n"
        return head + row * ((size - len(head)) // len(row))

    return make


def stairs(line: str, indent: str = "  ") -> Source:
    """Lines of which each is indented more than the one before."""

    def make(size: int) -> str:
        count = int((2 * size / len(indent)) ** 0.5) - len(line)
        return "\n".join(indent * depth + line for depth in range(count))

    return make


def fences_in_lists(size: int) -> str:
    """A quote in an item in a quote in an item, each of which is read anew, around long text."""
    depth = 12
    opening = [f"{'  ' * level}- ~~~{'~' * (depth - level)}quote" for level in range(depth)]
    return "\n".join([*opening, *["  " * depth + "x *y*"] * (size // 32)])


_PIECES = (
    "[ ![ ]( [a]( [a][b] [] []("
    " [a](http://x.org) [[a](b)] ![a](b) [a](<b> [a]: [^a] "
    "* ** *a **a_ *a* **a** *a_b *_ a**b *** a* **a**b* _a __a_ ~ ~~ ~~a ~a~ * * "
    "` ``` `a `` ` `a` ~~~ ``a` "
    "< <a <a> </a> <!-- <? <![CDATA[ <!A <a: <http:// <a@ <time: <time:2024-01-01> <a"
    " & && &a &amp; &lt &# &#x &#35; &#xFDD0;0&#xFDD0; "
    "\\ \\* \\\\ \\@ \" ' | || a|b # ## = - + > - > * - 1. 1) > "
    "@ @** @_** @**a @**|7** @**Ada Byron** @*a* @* @*support* a@ a@b a@b.co a.b@c.d @a. "
    "#** #**general> #**general** #**general>x** #**a>b@ #**general>@1** @**a|1 "
    "http:// http://x http://) http://( www. www.a www.a.b http://x.org/((( .com a.com .co.uk "
    ".com- a.co. .in/ https://x.org/[ $ $$ $$a $$a$$ $a$$ $$\\ "
    ": :: :a :a: :smile: :smile:: :a :) <3 (: 🙂 👍🏽 👩‍👩‍👧 🇩 🇩🇪 "
    "\u200d ⌚\u200d ⌚\ufe0f\u200d 🏴\U000e0061 "
    "#1 #12 #12# AB-1 A-A-1 x!! 12# (#12 [p](/user_uploads/a.png) https://pics.example/a.png "
    "$$\\frac$$ $$^$$ "
    "http://字 http://e.org/字 日http://字が 字#12 字@**|7**字 a.com字 字a@b.co字 字。 １http://１ "
    "**。a **「 **a.**b **a)**b *a.*b **。~~ ~~**a.**~~b 「**」 **“ "
    "\ufdd0 \ufdd01\ufdd0 \ufdd7 \u202e \x00 é 😀 ﬀ \t"
)
_LINES = (
    "a", "-", "- a", "*", "* a", "1.", "1. a", "2. a", ">", "> a", ">> a", "#", "# a", "## a #",
    "a\n-", "a\n---", "a\n=", "---", "***", "* * *", "___", "```", "```\n```", "```quote",
    "~~~spoiler a", "```quote\n```", "```spoiler\n```", "```a\n```", "    a", "  - a",
    "\ta", "a  ", "a\\",
    "|a|\n|-|", "|a|\n|-|\n|b|\n", "a|b\n-|-\nc|d\n", "- ```\n  ```", "- ```quote\n  a\n  ```",
    "> ```\n> a\n> ```",
    "- a\n  - b", "1. a\n  2. b", "- a\n\n", "- > - > a", "[a]: b", "[a]:\nb", "<div>", "<a>\n",
    "<!--", "$$a$$", "@**|7**", "", " ", "é", "> - 1. a", "- - - - a", "+ a\n+ b\n* c",
    "# a.com", "# a@b.co\n- ", "```quote\n\n1. a", "```quote\n\n2. [a](b.co 'c')\t",
)  # fmt: skip

PATHOLOGICAL: dict[str, Source] = {
    **{f"piece {piece!r}": repeated(piece) for piece in dict.fromkeys(_PIECES.split(" ")) if piece},
    **{f"word {piece!r}": repeated(piece + " ") for piece in dict.fromkeys(_PIECES.split(" "))},
    **{f"line {line!r}": repeated(line + "\n") for line in _LINES},
    "brackets": halves("[", "]"),
    "links in links": halves("[", "](http://x.org)"),
    "images in images": halves("![", "](http://x.org)"),
    "emphasis": halves("*a ", " a*"),
    "strong emphasis": halves("**a ", " a**"),
    "mixed emphasis": halves("*a **b ", "** a*"),
    "stars": halves("*", "*"),
    "struck": halves("~~a ", " a~~"),
    "angle brackets": halves("<", ">"),
    "parentheses in an address": halves("(", ")", "http://x.org"),
    "address of parentheses": lambda size: "http://x.org/" + halves("(", ")")(size),
    "destination of parentheses": lambda size: "[a](" + halves("(", ")")(size) + ")",
    "backtick runs": growing("`", " "),
    "backtick runs around text": growing("`", " a "),
    "star runs": growing("*", "a"),
    "star runs beside punctuation": growing("*", "。a"),
    "late closers": repeated(".**b", "**a"),
    "late closers behind brackets": repeated(")**b", "**a"),
    "openers for late closers": halves("**a ", ".**b"),
    "tilde runs": growing("~", "a"),
    "number sign runs": growing("#", "\n"),
    "wide table": table(0.99, "|b"),
    "square table": table(0.5, "a\n"),
    "long table": table(0.01, "|a|b|\n"),
    "narrow head, short rows": table(0.1, "|\n"),
    "quotes on one line": repeated(">", after="a"),
    "lists on one line": repeated("- ", after="a"),
    "lists and quotes on one line": repeated("> - 1. ", after="a"),
    "stairs of bullets": stairs("- a"),
    "stairs of numbers": stairs("1. a", "   "),
    "stairs of numbers, two spaces": stairs("2. a"),
    "stairs of quotes": stairs("a", ">"),
    "stairs of fences": stairs("- ```quote"),
    "fences in lists": fences_in_lists,
    "open fence": repeated("a ", "```"),
    "fence with a long word": repeated("a", "```", "`"),
    "fence of spaces": repeated(" ", "```", "`"),
    "line of spaces": repeated(" ", "a", "a"),
    "lines of spaces": repeated(" " * 50 + "\n"),
    "spaces before a bullet": repeated(" ", "", "- a"),
    "underscores and spaces": repeated("_ ", "", "x"),
    "equals signs": repeated("=", "a\n", "x"),
    "hyphens": repeated("-", "a\n", "x"),
    "digits": repeated("1", "", "."),
    "long word": repeated("a"),
    "long address beyond ASCII": repeated("字", "http://"),
    "long address of wide digits": repeated("１字", "http://"),
    "long address of marks": repeated("\u0301", "http://e"),
    "long domain": repeated("a.", "", "com"),
    "long mail name": repeated("a.b", "", "@x.org"),
    "long top-level": repeated(".com", "a", "-"),
    "long topic": repeated("a", "#**general>", "**"),
    "long formula": repeated("a\\b", "$$", "$$"),
    "long emoji name": repeated("a", ":", ":"),
    "colons and names": repeated(":a" * 60 + " "),
    "joined characters": repeated("⌚\u200d", "", "⌚"),
    "flags of tags": repeated("\U000e0061", "🏴", ""),
    "capitals": repeated("A", "", "-1"),
    "number after number sign": repeated("1", "#"),
    "matches beyond ASCII": repeated("é #12 "),
    "pictures in a list": repeated("- [a](/user_uploads/2/a.png)\n"),
    "references": lambda size: f"[a]: http://x.org/{'b' * (size // 2)}\n\n" + "[a]" * (size // 6),
    "chat": repeated("Hi @**Ada Byron**, *this* is `it`: http://x.org/y #**general>x** :)\n\n"),
}
