"""`parley config` names every setting, its value and its source, and shows no secret."""

import json
import os
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from scripts.cli.main import cli
from server.settings import Settings, variable_of


def printed(*arguments: str, **settings: str) -> str:
    unset = {name: None for name in os.environ if "PARLEY" in name or name.endswith("_URL")}  # noqa: TID251
    done = CliRunner().invoke(cli, ["config", *arguments], env={**unset, **settings})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_setting_has_its_source_and_secrets_are_masked(tmp_path: Path):
    secret = tmp_path / "password"
    secret.write_text("opensesame\n")
    file = tmp_path / "parley.toml"
    file.write_text(f'port = 8000\nsession_days = 3\nsmtp_password_file = "{secret}"\n')
    given = {
        "PARLEY_PORT": "0",
        "PARLEY_EGRESS_PORTS": "443,80",
        "PARLEY_RATE_LIMITS": "off",
        "DATABASE_URL": "postgresql://parley:opensesame@127.0.0.1/parley",
    }
    options = ("--config", str(file), "--data", str(tmp_path))

    text = printed("--json", *options, **given)
    rows: dict[str, dict[str, Any]] = {row["setting"]: row for row in json.loads(text)}

    assert list(rows) == [variable_of(name) for name in Settings.__struct_encode_fields__]
    assert {
        name: (row["value"], row["source"], row["place"])
        for name, row in rows.items()
        if row["source"] != "default"
    } == {
        "PARLEY_PORT": (0, "environment", "PARLEY_PORT"),
        "PARLEY_EGRESS_PORTS": ("443, 80", "environment", "PARLEY_EGRESS_PORTS"),
        "PARLEY_RATE_LIMITS": (False, "environment", "PARLEY_RATE_LIMITS"),
        "PARLEY_SESSION_DAYS": (3, "file", f"`session_days` in {file}"),
        "PARLEY_DATA": (str(tmp_path), "command line", "--data"),
        "DATABASE_URL": ("[secret]", "environment", "DATABASE_URL"),
        "PARLEY_SMTP_PASSWORD": (
            "[secret]",
            "secret file",
            f"`smtp_password_file` in {file} ({secret})",
        ),
    }
    assert rows["PARLEY_HOST"]["value"] == "127.0.0.1"
    assert rows["PARLEY_JWT_KEYS"]["value"] is None
    columns = printed("--changed", *options, **given)
    assert len(columns.splitlines()) == 1 + 7
    assert "PARLEY_RATE_LIMITS    off" in columns
    assert "opensesame" not in text + columns
