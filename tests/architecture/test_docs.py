"""The documents name everything that there is."""

import ast
import configparser
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from scripts.cli.main import cli
from server.settings import Settings, variable_of
from testkit.screenshots import CHAT, FIRST_DAY, MAX_BYTES, file_names
from tests.architecture.language import WHO_WORDS

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTS = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
MIN_ALTERNATIVE = 20
"""Characters of a text that says what is to be seen."""
PACKAGES = "server|storage|queue_processors|scripts|testkit|benchmarks|tests"


def read(name: str) -> str:
    return (ROOT / name).read_text()


def commands(group: click.Group, prefix: str = "parley") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}"


def test_every_setting_is_explained():
    table = read("docs/settings.md")
    missing = [
        variable_of(name)
        for name in Settings.__struct_encode_fields__
        if f"`{variable_of(name)}` | " not in table
    ]
    assert missing == []


def test_no_setting_is_explained_that_is_none():
    known = {variable_of(name) for name in Settings.__struct_encode_fields__}
    explained = re.findall(r"^\| `([A-Z_]+)` \|", read("docs/settings.md"), re.MULTILINE)
    assert set(explained) <= known


def test_every_command_is_explained():
    text = read("README.md") + read("docs/operations.md")
    missing = [command for command in commands(cli) if command not in text]
    assert missing == []


def test_every_dependency_is_explained_with_its_version():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    wanted = (setup["options"]["install_requires"] + setup["options.extras_require"]["test"]).split(
        "\n"
    )
    pins = {line.partition(";")[0].strip() for line in wanted} - {""}
    explained = set(
        re.findall(r"^\| `([^`]+==[^`]+)` \|", read("docs/dependencies.md"), re.MULTILINE)
    )
    assert explained == pins
    [uv] = re.findall(r'^uv="(uv==.+)"$', read("scripts/prepare.sh"), re.MULTILINE)
    assert f"`{uv}`" in read("docs/dependencies.md")


def test_every_threat_names_tests_that_there_are():
    page = read("docs/security.md")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 50
    rows = [
        line for line in page.splitlines() if line.startswith("| ") and "| threat |" not in line
    ]
    assert [row for row in rows if "::test_" not in row and not row.startswith("| threat ")] == []
    missing = [f"{path}::{name}" for path, name in named if name not in functions_of(ROOT / path)]
    assert missing == []


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, FUNCTIONS))


DECISIONS = tuple(sorted((ROOT / "docs" / "adr").glob("*.md")))


def test_decisions_are_numbered_without_holes():
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.name)
def test_decisions_have_one_format(decision):
    text = decision.read_text()
    assert text.startswith(f"# {int(decision.name[:4])}. ")
    table = [line.split("|")[1].strip() for line in text.splitlines()[2:6]]
    assert table == ["", "---", "Status", "Decides"]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["Context", "Decision", "Figures", "Consequences"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    files = [target for target in targets if "://" not in target and not target.startswith("/")]
    assert [target for target in files if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_lead_to_headings(document):
    missing = []
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        page = document.parent / target if target else document
        if anchor not in anchors_of(page.resolve()):
            missing.append(f"{target}#{anchor}")
    assert missing == []


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return frozenset(heading.replace(" ", "-") for heading in kept)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_documents_name_exist(document):
    named = re.findall(rf"`((?:{PACKAGES}|docs)/[\w./-]*)`", document.read_text())
    real = [name for name in named if "NAME" not in name and "AREA" not in name]
    assert [name for name in real if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_roles_and_avoid_who_words(document):
    text = re.sub(r"^```.*?^```|`[^`]*`", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    words = re.findall(r"[a-z]+", text.lower())
    assert [word for word in words if word in WHO_WORDS] == []


PICTURES = ROOT / "docs" / "images"


def shown_pictures() -> Iterator[tuple[str, str]]:
    """The alternative text and the file name of each screenshot in the documents."""
    for document in DOCUMENTS:
        for text, target in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", document.read_text()):
            path = (document.parent / target).resolve()
            if path.parent == PICTURES:
                yield text, path.name


def test_each_picture_is_made_by_the_command_and_shown():
    made = set(file_names())
    assert {path.name for path in PICTURES.iterdir()} == made
    assert {name for _, name in shown_pictures()} == made
    assert [name for text, name in shown_pictures() if len(text) < MIN_ALTERNATIVE] == []
    command = read("scripts/make-screenshots")
    tests = re.findall(r"tests/\S+\.py", command)
    taken = re.findall(r"shots\.\w+\(.*?\"([\w-]+)\"", "".join(map(read, tests)))
    assert sorted(taken) == sorted((*FIRST_DAY, *CHAT))


def test_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert {name: size for name, size in sizes.items() if size > MAX_BYTES} == {}
