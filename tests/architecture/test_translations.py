"""Every text has its translations, with the same placeholders."""

import ast

import pytest

from server.i18n import LANGUAGES, SOURCE, catalogue_language
from server.i18n.catalogues import FOLDER, catalogue, compiled
from testkit.sources import modules
from testkit.translations import (
    COMPLETE,
    extracted,
    languages,
    load,
    obsolete,
    placeholders,
    unlike,
    untranslated,
)

HINT = "Run ./scripts/translations, and translate what it prints in server/i18n/locales/."


@pytest.fixture(scope="module")
def texts():
    found = extracted()
    assert len(found) > 200
    return found


@pytest.mark.parametrize("language", COMPLETE)
def test_every_text_is_translated(texts, language):
    assert list(untranslated(language, texts)) == [], HINT


@pytest.mark.parametrize("language", languages())
def test_translations_have_the_placeholders_of_their_texts(language):
    assert list(unlike(language)) == []


@pytest.mark.parametrize("language", languages())
def test_no_translation_is_of_a_text_that_is_gone(texts, language):
    assert list(obsolete(language, texts)) == [], HINT


@pytest.mark.parametrize("language", languages())
def test_catalogues_compile(language):
    assert compiled(FOLDER / f"{language}.po")
    assert len(load(language)) > 0


def test_complete_languages_have_a_catalogue():
    assert {*COMPLETE} <= {*languages()}
    assert {catalogue_language(code) for code in LANGUAGES} == {*LANGUAGES}
    assert catalogue(SOURCE).gettext("Sign in") == "Sign in"
    assert catalogue("de").gettext("Sign in") == "Anmelden"


def test_placeholders_are_found():
    assert placeholders("%(one)s and 100 %") == {"one"}
    assert placeholders("{one} and {two!r} and {three:,}") == {"one", "two", "three"}


def test_texts_are_marked_as_constants():
    """What is put together at run time is in no catalogue; names and tables hold marked texts."""
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"_", "ngettext", "marked"}
        and not isinstance(node.args[0], ast.Constant | ast.Name | ast.Subscript)
    ]
    assert wrong == []
