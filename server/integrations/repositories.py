"""The words in which all hosts of repositories speak: pushes, branches, pull requests, issues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.integrations.base import PULL_REQUEST_TOPICS, Delivery
from server.integrations.markdown import (
    bold,
    bullets,
    code,
    counted,
    link,
    one_line,
    paragraphs,
    quote,
    text,
)

MAX_COMMITS: Final = 10
"""Commits that are listed; the others are counted."""
SHORT_ID: Final = 10
HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"


def is_no_commit(sha: str) -> bool:
    """Return whether an id of a commit stands for none: before the first or after the last."""
    return bool(sha) and not sha.strip("0")


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    message: str
    url: str = ""
    author: str = ""


def repository_topic(repository: str, *, branch: str = "") -> str:
    """Return the topic of a repository, or of one of its branches."""
    return f"{repository} / {branch}" if branch else repository


def thing_topic(repository: str, kind: str, number: str, title: str, *, sign: str = "#") -> str:
    """Return the topic of an issue or the like: its whole story reads in one place."""
    return f"{repository} / {kind} {sign}{number} {one_line(title)}"


def pull_request_topic(
    delivery: Delivery,
    repository: str,
    number: str,
    title: str,
    *,
    kind: str = "PR",
    sign: str = "#",
    together: str = "pull requests",
) -> str:
    """Return the topic of a pull request, or that of all of them if the address asks for it."""
    if delivery.flag(PULL_REQUEST_TOPICS):
        return thing_topic(repository, kind, number, title, sign=sign)
    return repository_topic(repository, branch=together)


def pushed(
    who: str,
    branch: str,
    commits: Sequence[Commit],
    *,
    compare_url: str = "",
    total: int | None = None,
    is_forced: bool = False,
    is_truncated: bool = False,
) -> str:
    """Return the message of a push; `total` counts commits that the payload does not list.

    It is truncated if there are more commits, and the payload does not say how many.
    """
    number = max(total or 0, len(commits))
    verb = "force pushed" if is_forced else "pushed"
    verb = link(verb, compare_url) if compare_url else verb
    where = f"to branch {code(branch)}" if branch else ""
    if not number:
        return f"{bold(who)} {verb} {where}, without new commits."
    authors = {each.author for each in commits if each.author}
    shows_authors = len(authors) > 1 or (bool(authors) and authors != {who})
    lines = [
        f"{text(each.message.split(chr(10), 1)[0])}"
        f"{f' — {text(each.author)}' if shows_authors and each.author else ''}"
        f" ({link(each.id[:SHORT_ID], each.url)})"
        for each in commits[:MAX_COMMITS]
    ]
    rest = number - len(lines)
    more = f"and {counted(rest, 'more commit')}" if rest > 0 else ""
    more = more or ("and more" if is_truncated else "")
    count = f"{'more than ' if is_truncated else ''}{counted(number, 'commit')}"
    intro = f"{bold(who)} {verb} {count} {where}.".replace(" .", ".")
    return paragraphs(intro, bullets([*lines, more]))


def branch_made(who: str, branch: str, *, url: str = "", kind: str = "branch") -> str:
    """Return the message of a new branch or tag."""
    shown = link(branch, url) if url else code(branch)
    return f"{bold(who)} created {text(kind)} {shown}."


def branch_deleted(who: str, branch: str, *, kind: str = "branch") -> str:
    """Return the message of a branch or tag that was deleted."""
    return f"{bold(who)} deleted {text(kind)} {code(branch)}."


def acted(who: str, verb: str, what: str, *, body: str = "", extra: str = "") -> str:
    """Return "**who** verb what", with a sentence's end, and the body quoted.

    `verb`, `what` and `extra` are Markdown.
    """
    quoted = quote(body)
    sentence = " ".join(part for part in (bold(who), verb, what, extra) if part)
    return paragraphs(sentence + (":" if quoted else "."), quoted)
