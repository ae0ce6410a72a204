"""Helpers that folders of tests share are in `testkit`; that nothing imports `tests` is a layer."""

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser

from testkit.sources import ROOT


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_a_folder_of_tests_imports_no_other():
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / "tests").rglob("*.py")
        for name in imported(ast.parse(path.read_text()))
        if name.split(".")[0] == "tests"
        and name.split(".")[1:2] != [path.relative_to(ROOT / "tests").parts[0]]
    }
    assert wrong == set()


def test_the_contract_of_endpoints_lists_all_of_them():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = config["importlinter:contract:endpoints"]["modules"].split()
    declare = re.compile(r"^ENDPOINTS\b", re.MULTILINE)
    declaring = [
        f"server.api.{path.stem}"
        for path in sorted((ROOT / "server/api").glob("*.py"))
        if declare.search(path.read_text())
    ]
    assert listed == declaring
