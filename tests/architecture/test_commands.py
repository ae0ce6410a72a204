"""Every command in the documentation exists, with its options and files.

Those that need neither root nor a real host are also run, by
tests/acceptance/test_documented_commands.py.
"""

import re
from typing import Final

import click
import pytest

from benchmarks.measures import MEASURES
from scripts.cli.main import cli
from testkit.documented_commands import (
    DOCUMENTS,
    LANGUAGES,
    ROOT,
    blocks,
    check_arguments,
    shell_blocks,
    simple_commands,
)

PAGES: Final = [path for path in DOCUMENTS if path.parent.name != "adr"]
SYSTEM_PROGRAMS: Final = frozenset(
    [
        *("apt-get", "useradd", "python3", "cp", "ln", "chmod", "install", "sed", "openssl"),
        *("systemctl", "journalctl", "nginx", "promtool", "fail2ban-client", "docker"),
        *("createuser", "createdb", "psql", "rabbitmqctl", "curl", "echo", "set", ".", "export"),
        *("kubectl", "id", "[", "pip", "pipx", "zulip-term", "python"),
    ]
)
"""What the documentation uses beside Parley's own programs."""
OTHER_UNITS: Final = frozenset({"caddy", "nginx", "prometheus", "postgresql", "rabbitmq-server"})


def programs(script: str) -> list[list[str]]:
    """The commands of a script, with those that others run."""
    found = []
    for words in simple_commands(script):
        found.append(words)
        if words[0] == "runuser":
            found.append(words[words.index("--") + 1 :])
        elif words[:2] == ["docker", "compose"] and "exec" in words:
            found.append(words[words.index("exec") + 2 :])
    return [words for words in found if words[0] != "runuser"]


def scripts_of(page: str) -> list[list[str]]:
    return [words for text in shell_blocks(page) for words in programs(text)]


@pytest.fixture(params=PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def page(request: pytest.FixtureRequest) -> str:
    return str(request.param.relative_to(ROOT))


def test_code_blocks_name_their_language():
    assert [b for b in blocks() if b.language not in LANGUAGES] == []


def test_programs_are_ours_or_those_of_a_system(page: str):
    for words in scripts_of(page):
        name = words[0].rpartition("/")[2]
        if words[0].startswith("./scripts/"):
            assert (ROOT / words[0]).stat().st_mode & 0o100, words
        else:
            assert name == "parley" or name in SYSTEM_PROGRAMS, words


def test_parley_has_the_sub_commands_and_options(page: str):
    for words in scripts_of(page):
        if words[0].rpartition("/")[2] == "parley":
            check_arguments(cli, words[1:])
        elif words[0] == "./scripts/run":
            check_arguments(cli, ["run", *words[1:]])


def test_parley_has_the_sub_commands_and_options_named_in_the_text(page: str):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`([^`]+)`", text.replace("\n", " ")):
        for words in programs(span) if re.search(r"\bparley [a-z]", span) else ():
            if words[0].rpartition("/")[2] == "parley":
                check_named(words[1:])


def check_named(words: list[str]) -> None:
    """Without its required options; `realm create` or `--json` may be left out."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        found = command.commands.get(words[0])
        assert found is not None, words
        command, words = found, words[1:]
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    options = [word for word in words if word.startswith("--")]
    assert set(options) <= known | {"--help"}, (command.name, words)


def test_files_and_units_exist(page: str):
    for words in scripts_of(page):
        files = [w for w in words if w.startswith("docs/deploy/") and not w.endswith(".env")]
        files += [w for w in words if w == "docs/deploy/parley.env"]
        assert [name for name in files if not list(ROOT.glob(name))] == []
        if words[0] == "systemctl":
            units = [w for w in words[2:] if not w.startswith("-")]
            assert [unit for unit in units if not is_unit(unit)] == []


def is_unit(name: str) -> bool:
    template = re.sub(r"@.*", "@", re.sub(r"\.(service|timer|socket)$", "", name))
    files = {path.name for path in (ROOT / "docs" / "deploy").iterdir()}
    units = {f"{template}.{kind}" for kind in ("service", "timer", "socket")}
    return template in OTHER_UNITS or bool(units & files)


def test_benchmarks_have_the_names_and_options(page: str):
    for words in scripts_of(page):
        if words[0].rpartition("/")[2] != "python" or words[1:2] != ["-m"]:
            continue
        module, arguments = words[2], words[3:]
        path = ROOT / module.replace(".", "/")
        file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        source = file.read_text()
        options = [word for word in arguments if word.startswith("--")]
        assert [option for option in options if f'"{option}"' not in source] == [], words
        if module == "benchmarks":
            names = [w for w in arguments if not w.startswith("-") and not w.isdigit()]
            assert set(names) <= set(MEASURES)


def test_the_readme_names_every_benchmark():
    text = (ROOT / "README.md").read_text()
    assert [name for name in MEASURES if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "arguments",
    [["unknown"], ["user", "unknown"], ["run", "--unknown"], ["realm", "create"], ["status", "x"]],
)
def test_what_parley_does_not_have_is_found(arguments: list[str]):
    with pytest.raises(click.UsageError):
        check_arguments(cli, arguments)


def test_commands_are_found_wherever_they_stand():
    script = "A=b x -y \\\n  z && q > file | r $(s t) <<'E'\nu v\nE\n"
    assert list(simple_commands(script)) == [
        ["s", "t"],
        ["x", "-y", "z"],
        ["q"],
        ["r", "VALUE"],
    ]
