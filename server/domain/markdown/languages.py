"""Display names of programming languages."""

from functools import cache


def language_name(word: str) -> str | None:
    """Return the usual name of the language with this alias, if there is one."""
    return _names().get(word.lower())


@cache
def _names() -> dict[str, str]:
    from pygments.lexers import get_all_lexers

    return {
        alias.lower(): name
        for name, aliases, _, _ in get_all_lexers(plugins=False)
        for alias in aliases
    }
