"""`parley config`: every setting, its value and its source."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scripts.cli.failures import sentences
from scripts.cli.options import place_options
from scripts.cli.tables import Cell, show

if TYPE_CHECKING:
    from server.settings import Settings
    from server.settings.sources import SettingSource

WIDEST: Final = 60
"""Characters of a value in columns: some are certificates or patterns."""


@click.command("config")
@click.option("--changed", is_flag=True, help="Only settings that are not left at their default.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def print_config(*, changed: bool, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Print every setting with its value and where it comes from.

    From the command line, the environment, the settings file, a file that one of these names, or
    the default. Secrets are not printed.
    """
    with sentences():
        from server.settings import load_with_sources, variable_of

        settings, sources = load_with_sources(config=config, overrides={"data": data})
        rows: list[dict[str, Cell]] = [
            {
                "setting": variable_of(name),
                "value": _value(settings, name, source, as_json=as_json),
                "source": source.kind,
                "place": source.place or None,
            }
            for name, source in sources.items()
            if source.kind != "default" or not changed
        ]
    show(rows, as_json=as_json, nothing="All settings have their defaults.")


def _value(settings: "Settings", name: str, source: "SettingSource", *, as_json: bool) -> Cell:
    """Return the value as a settings file would have it; None if there is none."""
    from server.settings.secret_names import SECRET_SETTINGS, passwords_in

    value = getattr(settings, "data_directory" if name == "data" else name)
    if name in SECRET_SETTINGS:
        return None if source.kind == "default" else "[secret]"
    if value is None or (as_json and isinstance(value, bool | int | float)):
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str) and passwords_in(value):
        return "[secret]"
    text = ", ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)
    return text or None if as_json else _line(text) or None


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..."
