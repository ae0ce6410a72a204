"""The exit status of the command line."""

import pytest

from scripts.cli import main
from scripts.cli.failures import Failure


def fail_after_an_interrupt(**_: object) -> None:
    try:
        try:
            raise KeyboardInterrupt
        finally:
            raise OSError("another command is already in progress")
    except OSError as error:
        raise Failure("The database went away.") from error


def fail(**_: object) -> None:
    raise Failure("The database went away.")


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [(fail_after_an_interrupt, main.INTERRUPTED, ""), (fail, 1, "parley: The database went away.")],
)
def test_what_fails_because_of_an_interrupt_is_the_interrupt(
    command, status, said, monkeypatch, capsys
):
    monkeypatch.setattr(main, "cli", command)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == status
    assert capsys.readouterr().err.strip() == said
