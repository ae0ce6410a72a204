"""`parley completions`: what a shell needs to complete commands and options."""

from typing import Final, Literal

import click
from click.shell_completion import get_completion_class

from scripts.cli.failures import Failure

PROGRAM: Final = "parley"
VARIABLE: Final = "_PARLEY_COMPLETE"
"""By which the shell's function asks the program, as Click names it."""

Shell = Literal["bash", "zsh", "fish"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completions(context: click.Context, *, shell: Shell) -> None:
    r"""Print a script with which SHELL completes commands and options.

    \b
    bash: parley completions bash > ~/.local/share/bash-completion/completions/parley
    zsh: parley completions zsh > a file _parley in a directory of fpath
    fish: parley completions fish > ~/.config/fish/completions/parley.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise Failure(f"Completions for {shell} are not available.")
    click.echo(found(context.find_root().command, {}, PROGRAM, VARIABLE).source())
