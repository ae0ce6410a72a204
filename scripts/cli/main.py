"""The `parley` command and its sub-commands."""

import errno
import os
import sys
from pathlib import Path

import click
from typing_extensions import override

from scripts.cli.activity import activity
from scripts.cli.audit import audit
from scripts.cli.backup import backup
from scripts.cli.check import check
from scripts.cli.completions import completions
from scripts.cli.config import print_config
from scripts.cli.directory import directory
from scripts.cli.failures import Failure
from scripts.cli.ldap import ldap
from scripts.cli.licences import licences, sbom
from scripts.cli.mail_in import mail_in
from scripts.cli.migrate import migrate
from scripts.cli.options import OwnProcess
from scripts.cli.push import push
from scripts.cli.queues import queues
from scripts.cli.realm import realm
from scripts.cli.restore import restore
from scripts.cli.run import run
from scripts.cli.scim import scim
from scripts.cli.serve import serve
from scripts.cli.status import status
from scripts.cli.top import top
from scripts.cli.transfer import export_realm, import_realm
from scripts.cli.user import user
from scripts.cli.worker import worker
from storage.connection_names import name_process

INTERRUPTED = 130
FULL = {errno.ENOSPC, errno.EDQUOT}


class _InOrder(click.Group):
    """A group that lists commands in the order of their definition."""

    @override
    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="parley", message="Parley %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Parley, a team-chat server.

    `parley run` is all that a small team needs: it brings its own database. A larger
    installation has Postgres (DATABASE_URL) and RabbitMQ (AMQP_URL), runs `parley migrate` at
    each upgrade, and any number of `parley serve` and `parley worker`.

    Settings come from the command line, from variables PARLEY_..., or from one TOML file;
    `parley check` says what is wrong with them.
    """
    name_process(context.invoked_subcommand or "")


for command in (
    run,
    serve,
    worker,
    mail_in,
    migrate,
    check,
    print_config,
    status,
    top,
    queues,
    backup,
    restore,
    export_realm,
    import_realm,
    push,
    realm,
    user,
    ldap,
    directory,
    scim,
    audit,
    activity,
    licences,
    sbom,
    completions,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line. A Failure becomes a sentence on stderr and exit status 1."""
    _open_standard_streams()
    try:
        sys.exit(cli(standalone_mode=False, obj=OwnProcess()))
    except click.ClickException as failure:
        if _was_interrupted(failure):
            sys.exit(INTERRUPTED)
        failure.show()
        sys.exit(failure.exit_code)
    except OSError as error:
        if error.errno not in FULL:
            raise
        Failure(f"Not everything could be written: {error.strerror}.").show()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left is not tried again at the end
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)


def _was_interrupted(error: BaseException | None) -> bool:
    """Return whether the error follows from an interrupt.

    A query that was cut off makes the next one on its connection fail.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _open_standard_streams() -> None:
    """Open closed standard streams on /dev/null.

    Otherwise the next file or socket gets their number, and receives their output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - until the process ends


if __name__ == "__main__":
    main()
