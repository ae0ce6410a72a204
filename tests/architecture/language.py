"""Figures on the language of the code. Run as a program, it prints what is to be rewritten.

`python -m tests.architecture.language [PATH...]` prints the figures of each package or path.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from testkit.sources import PACKAGES, TOOLS, docstrings, modules, modules_of_tools

WORD = re.compile(r"[A-Za-z][\w'-]*")

WHO_WORDS = frozenset(["whoever", "whom", "whose", "somebody", "nobody", "anybody", "everybody"])

_FIELD_TERMS = (
    "cach(?:e|es|ed|ing)|retr(?:y|ies|ied|ying)|dispatch(?:es|ed|ing)?|broadcast(?:s|ed|ing)?"
    "|enqueu(?:e|es|ed|ing)|invalidat(?:e|es|ed|ing)|batch(?:es|ed|ing)?|callbacks?"
    "|deliver(?:s|ed|ing)?|subscrib(?:e|es|ed|ing)|publish(?:es|ed|ing)?|lock(?:s|ed|ing)?"
    "|timeouts?|schedul(?:e|es|ed|ing)|notif(?:y|ies|ied|ying)|consumers?|payloads?"
    "|buffer(?:s|ed|ing)?|tokens?|sessions?|request(?:s|ed|ing)?|responses?|handlers?"
    "|return(?:s|ed|ing)?|rais(?:e|es|ed|ing)|connections?|queu(?:e|es|ed|ing|eing)|events?"
    "|errors?|threads?|tasks?|configs?"
)
FIELD_TERM = re.compile(_FIELD_TERMS, re.IGNORECASE)
"""The terms with their inflections, without derived nouns such as *subscription*."""


@dataclass(frozen=True, slots=True)
class Figures:
    words: int
    who_words: int
    field_terms: int

    @property
    def who_words_per_thousand(self) -> float:
        return 1000 * self.who_words / max(self.words, 1)

    @property
    def field_terms_per_thousand(self) -> float:
        return 1000 * self.field_terms / max(self.words, 1)


def words_of_docstrings(trees: Iterable[ast.Module]) -> list[str]:
    """The words of all docstrings, those of attributes and constants included."""
    return [
        word
        for tree in trees
        for node in docstrings(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in WORD.findall(node.value)
    ]


def is_field_term(word: str) -> bool:
    """Whether a word, or a part of a hyphenated one, is a standard term of the field."""
    return any(FIELD_TERM.fullmatch(part) for part in re.split(r"[-']", word))


def figures(trees: Iterable[ast.Module]) -> Figures:
    words = words_of_docstrings(trees)
    return Figures(
        words=len(words),
        who_words=sum(word.lower() in WHO_WORDS for word in words),
        field_terms=sum(map(is_field_term, words)),
    )


def duplicate_classes(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Class names with more than one definition, with their modules; no Params or Results."""
    places: dict[str, list[str]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.endswith(("Params", "Result")):
                places.setdefault(node.name, []).append(path)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def _main(prefixes: list[str]) -> None:
    for prefix in prefixes or [*PACKAGES, *TOOLS]:
        found = {
            path: tree
            for path, tree in (modules() | modules_of_tools()).items()
            if path == prefix or path.startswith(f"{prefix.rstrip('/')}/")
        }
        total = figures(found.values())
        print(
            f"{prefix}: {total.words} words, who-words {total.who_words_per_thousand:.1f},"
            f" field terms {total.field_terms_per_thousand:.1f} per 1,000"
        )
        if prefixes:
            worst = Counter({path: figures([tree]).who_words for path, tree in found.items()})
            for path, count in worst.most_common():
                if count:
                    print(f"  {count:3} who-words in {path}")
    for name, paths in duplicate_classes(modules()).items():
        print(f"class {name} in {', '.join(paths)}")


if __name__ == "__main__":
    _main(sys.argv[1:])
