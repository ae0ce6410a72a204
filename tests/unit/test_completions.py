"""Shells complete commands and options by the scripts of `parley completions`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.cli.main import cli

COMPLETE = """
source /dev/stdin
COMP_WORDS=(parley user si)
COMP_CWORD=2
_parley_completion "$PARLEY" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_which_asks_the_program(shell: str):
    done = CliRunner().invoke(cli, ["completions", shell])
    assert done.exit_code == 0, done.output
    assert f"_PARLEY_COMPLETE={shell}_complete" in done.stdout


def test_bash_completes_a_command():
    script = CliRunner().invoke(cli, ["completions", "bash"]).stdout
    done = subprocess.run(
        ["bash", "-c", COMPLETE],
        input=script,
        env={"PATH": os.defpath, "PARLEY": str(Path(sys.executable).with_name("parley"))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["sign-in-link"]
