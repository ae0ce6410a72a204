"""The model stands alone: it knows nothing of the server."""

import ast
from pathlib import Path

from testkit.leaks import model

ITS_OWN = {"collections", "collections.abc", "dataclasses"}


def test_the_model_imports_nothing_of_the_server():
    tree = ast.parse(Path(model.__file__).read_text())
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert imported <= ITS_OWN
