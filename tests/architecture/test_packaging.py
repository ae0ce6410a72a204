"""What is not Python and what an installed server reads is in the wheel."""

import configparser
import subprocess
from fnmatch import fnmatch

from testkit.sources import ROOT

PACKAGES = ("server", "queue_processors", "storage", "scripts")
FOR_CHECKOUTS = frozenset({"scripts"})
"""Beside its Python files it holds what a checkout needs: tests, checks, a first start."""


def test_every_data_file_of_a_package_is_package_data():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    declared = {
        package: [pattern.strip() for pattern in patterns.split(",")]
        for package, patterns in config["options.package_data"].items()
    }
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    data = [path for path in tracked if not path.endswith(".py")]
    missing = [
        path
        for path in data
        if path.partition("/")[0] not in FOR_CHECKOUTS and not _is_declared(path, declared)
    ]
    assert missing == []
    assert "server/api/examples.json" in data


def _is_declared(path: str, declared: dict[str, list[str]]) -> bool:
    return any(
        fnmatch(path, f"{package.replace('.', '/')}/{pattern}")
        for package, patterns in declared.items()
        for pattern in patterns
    )
