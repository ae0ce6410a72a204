"""The shell commands of the documentation: code blocks marked `sh`, and `parley` in the text."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[1]
DOCUMENTS: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
LANGUAGES: Final = frozenset({"sh", "text", "ini", "toml", "sql"})

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEREDOC: Final = re.compile(r"(<<'(\w+)'[^\n]*\n).*?^\2$", re.MULTILINE | re.DOTALL)
_SUBSTITUTION: Final = re.compile(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SEPARATORS: Final = frozenset({";", "&&", "||", "|", "&", "\n"})
_WORDS: Final = frozenset({"do", "done", "if", "then", "fi"})


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block of a document."""

    document: str
    language: str
    text: str


def blocks() -> list[Block]:
    """Return the code blocks of all documents, in order."""
    return [
        Block(str(path.relative_to(ROOT)), language, text)
        for path in DOCUMENTS
        for language, text in _BLOCK.findall(path.read_text())
    ]


def shell_blocks(document: str) -> list[str]:
    """Return the texts of a document's `sh` blocks, in order."""
    return [b.text for b in blocks() if b.document == document and b.language == "sh"]


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield the commands of a script as words: no assignments, redirections and heredocs."""
    script = _HEREDOC.sub(r"\1", script).replace("\\\n", " ")
    for inner in _SUBSTITUTION.findall(script):
        yield from simple_commands(inner)
    for line in _SUBSTITUTION.sub("VALUE", script).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split = True
        command: list[str] = []
        words = iter(lexer)
        for word in words:
            if set(word) <= set("<>"):
                next(words)
            elif word in _SEPARATORS:
                yield from [command] if command else []
                command = []
            elif word == "for" and not command:
                for skipped in words:  # the loop's variable and values
                    if skipped == ";":
                        break
            elif command or not (_ASSIGNMENT.match(word) or word in _WORDS):
                command.append(word)
        yield from [command] if command else []


def check_arguments(group: click.Group, arguments: Sequence[str]) -> None:
    """Parse arguments as the command does. Raises click.UsageError for what it does not have."""
    command: click.Command = group
    context = click.Context(group, info_name="parley")
    rest = list(arguments)
    while isinstance(command, click.Group):
        options = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        if rest and rest[0] in options:
            rest.pop(0)
            if not rest:
                return
            continue
        if not rest:
            raise click.UsageError(f"{context.command_path}: a command is missing")
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"{context.command_path}: no command {rest[0]}")
        context = click.Context(found, info_name=rest.pop(0), parent=context)
        command = found
    given, left, _ = command.make_parser(context).parse_args(rest)
    if left:
        raise click.UsageError(f"{context.command_path}: unexpected {left}")
    missing = [p.name for p in command.params if p.required and given.get(str(p.name)) is None]
    if missing:
        raise click.UsageError(f"{context.command_path}: missing {missing}")
