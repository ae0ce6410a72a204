"""The server's texts and their translations: extracted, merged into the catalogues, compared.

Run as a program, it renews `server/i18n/locales/*.po` and prints what is not translated;
`--check` only compares.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from string import Formatter

from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from server.i18n import LANGUAGES, SOURCE
from server.i18n.catalogues import FOLDER, babel_name
from testkit.sources import ROOT

PACKAGES = ("server", "queue_processors")
METHODS = [("**/web/templates/api*.html", "ignore"), ("**/operator/**", "ignore")]
METHODS += [
    ("**.py", "python"),
    ("**/templates/**.html", "jinja2"),
    ("**/templates/**.txt", "jinja2"),
]
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None}
OPTIONS = {"**/templates/**": {"trimmed": "true", "newstyle_gettext": "true"}}
OPTIONS["**/templates/**"] |= {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
NAMED = re.compile(r"%\((\w+)\)s")
HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plurals}\\n"

"""
COMPLETE = tuple(language for language in LANGUAGES if language != SOURCE)


def extracted() -> Catalog:
    """The texts that the code and the templates mark, with the files that hold them."""
    texts = Catalog(project="Parley", charset="utf-8", fuzzy=False)
    for package in PACKAGES:
        for name, _line, message, _comments, context in extract_from_dir(
            ROOT / package, METHODS, OPTIONS, KEYWORDS
        ):
            place = f"{package}/{name}"
            texts.add(message, locations=[(place, 0)], context=context)
    return texts


def languages() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.po"))


def load(language: str) -> Catalog:
    with (FOLDER / f"{language}.po").open(encoding="utf-8") as file:
        return read_po(file, locale=babel_name(language))


def save(catalogue: Catalog, language: str) -> None:
    content = BytesIO()
    write_po(
        content,
        catalogue,
        width=100,
        omit_header=True,
        sort_output=True,
        ignore_obsolete=True,
        include_lineno=False,
    )
    header = HEADER.format(language=language, plurals=catalogue.plural_forms)
    (FOLDER / f"{language}.po").write_text(header + content.getvalue().decode(), encoding="utf-8")


def merged(language: str, texts: Catalog) -> Catalog:
    """The catalogue with the texts of the code and no others."""
    path = FOLDER / f"{language}.po"
    known = load(language) if path.exists() else Catalog(locale=babel_name(language))
    renewed = Catalog(locale=babel_name(language), project="Parley", fuzzy=False)
    for message in texts:
        if message.id:
            old = known.get(message.id, message.context)
            string = old.string if old is not None and not old.fuzzy else None
            if string or language in COMPLETE:
                renewed.add(message.id, string, locations=message.locations, flags=message.flags)
    return renewed


def forms(message: str | Sequence[str] | None) -> tuple[str, ...]:
    """All forms of a text or of its translation."""
    return (message,) if isinstance(message, str) else tuple(message or ())


def placeholders(text: str) -> set[str]:
    """The placeholders of a text, in braces or in the way of templates."""
    named = set(NAMED.findall(text))
    return named or {name for _, name, _, _ in Formatter().parse(text.replace("%", "")) if name}


def untranslated(language: str, texts: Catalog) -> Iterator[str]:
    """Texts without a translation, in all forms that the language has."""
    catalogue = load(language)
    for message in texts:
        if not message.id:
            continue
        found = catalogue.get(message.id, message.context)
        strings = forms(found.string) if found is not None else ()
        if not strings or not all(strings) or (found is not None and found.fuzzy):
            yield forms(message.id)[0]


def unlike(language: str) -> Iterator[str]:
    """Translations with other placeholders than their text; forms may leave out the number."""
    for message in load(language):
        if not message.id:
            continue
        wanted = set().union(*(placeholders(form) for form in forms(message.id)))
        may_miss = {"count", "num"} if message.pluralizable else set()
        for form in forms(message.string):
            found = placeholders(form)
            if form and (found - wanted or wanted - found - may_miss):
                yield f"{forms(message.id)[0]}: {form}"


def obsolete(language: str, texts: Catalog) -> Iterator[str]:
    """Translations of texts that are no longer there."""
    for message in load(language):
        if message.id and message.id not in texts:
            yield forms(message.id)[0]


def main(arguments: list[str]) -> int:
    texts = extracted()
    missing = 0
    for language in sorted({*languages(), *COMPLETE}):
        if "--check" not in arguments:
            save(merged(language, texts), language)
        problems = [*unlike(language), *obsolete(language, texts)]
        if language in COMPLETE:
            problems += untranslated(language, texts)
        missing += len(problems)
        for problem in problems:
            print(f"{language}: {problem}")
    print(f"{len(texts)} texts, {missing} problems")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
