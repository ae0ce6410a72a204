"""Read the docstrings below the fields of a class."""

import ast
import inspect
import sys
from functools import lru_cache
from types import ModuleType


def field_docstrings(kind: type) -> dict[str, str]:
    """Return the docstring below each field that the class or its bases declare, by field name.

    Read from the source on demand: pydantic's own `use_attribute_docstrings` reads the source of
    every model at import, which made each start a tenth of a second longer.
    """
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        texts |= _of_module(base.__module__).get(base.__qualname__, {})
    return texts


@lru_cache(maxsize=256)
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Return the field docstrings of the top-level classes of a module, by class name."""
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType) or not name.startswith("server."):
        return {}
    tree = ast.parse(inspect.getsource(module))
    return {node.name: _of_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> dict[str, str]:
    texts: dict[str, str] = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            texts[statement.target.id] = inspect.cleandoc(str(following.value.value))
    return texts
