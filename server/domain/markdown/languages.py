"""The names of programming languages as clients show and look them up."""

from functools import cache


def language_name(word: str) -> str:
    """The usual name of the language that the word is an alias of, else the word itself."""
    return _names().get(word.lower(), word)


@cache
def _names() -> dict[str, str]:
    from pygments.lexers import get_all_lexers

    return {
        alias.lower(): name
        for name, aliases, _, _ in get_all_lexers(plugins=False)
        for alias in aliases
    }
