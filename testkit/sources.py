"""Our own source code, as syntax trees."""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("server", "queue_processors", "storage", "scripts")
TOOLS = ("testkit", "benchmarks")
"""Packages beside those of the product, for tests and measurements."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=1)
def modules() -> dict[str, ast.Module]:
    """Every module of the product by its path from the root."""
    return _parsed(PACKAGES)


@lru_cache(maxsize=1)
def modules_of_tools() -> dict[str, ast.Module]:
    """Every module of the packages for tests and measurements, by its path from the root."""
    return _parsed(TOOLS)


def _parsed(packages: Iterable[str]) -> dict[str, ast.Module]:
    paths = sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


def modules_in(package: str) -> dict[str, ast.Module]:
    """The modules of one package, of the product or of the tools."""
    found = modules_of_tools() if package in TOOLS else modules()
    return {path: tree for path, tree in found.items() if path.startswith(f"{package}/")}


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """The constants that are only there to be read."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


class Texts:
    """The values of a module's string expressions, with its own constants filled in."""

    def __init__(self, tree: ast.Module) -> None:
        self._constants: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                text = self.of(node.value)
                if isinstance(target, ast.Name) and text is not None:
                    self._constants[target.id] = text

    def of(self, node: ast.AST, unknown: str = " ") -> str | None:
        """The text of a string expression, with `unknown` for what only running tells."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._constants.get(name)
            case ast.FormattedValue(value=value):
                return self.of(value) or unknown
            case ast.JoinedStr(values=values):
                return "".join(self.of(value, unknown) or unknown for value in values)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = self.of(left, unknown), self.of(right, unknown)
                return None if parts == (None, None) else "".join(part or "" for part in parts)
        return None

    def within(self, tree: ast.AST) -> Iterator[str]:
        """The texts of the largest string expressions of a piece of code, without docstrings."""
        seen = docstrings(tree)
        for node in ast.walk(tree):
            if node in seen:
                continue
            text = self.of(node)
            if text is not None:
                seen.update(ast.walk(node))
                yield text
