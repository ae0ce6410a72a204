"""Case folding of names: two names are the same if their foldings are equal."""

import unicodedata
from typing import NewType

FoldedName = NewType("FoldedName", str)
"""The type of columns named `folded_name`, and of cache keys that are looked up by name."""


def fold_name(name: str) -> FoldedName:
    """Decompose, fold case in full, compose: canonical equivalents and cases become one.

    Compatibility forms stay apart: `x²` is not `x2`. Idempotent. The folding may be longer than the
    name (`ß` becomes `ss`). SQL never folds, it compares stored foldings; the one exception is the
    trigger that fills what was written without one (`name_folding` in the schema), which does the
    same. server.domain.names offers this to all layers above.
    """
    if name.isascii():
        return FoldedName(name.lower())
    folded = unicodedata.normalize("NFD", name).casefold()
    return FoldedName(unicodedata.normalize("NFC", folded))
