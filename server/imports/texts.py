"""Texts of imported messages: converted to Markdown, and rendered."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from server.domain.markdown import Rendered, Style, Typesetter, jobs_in, render
from server.domain.messages import MAX_MESSAGE_LENGTH
from server.i18n import marked
from server.imports.records import PostedMessage, Reader
from server.imports.report import ImportReport
from server.imports.resolving import ImportedNames

CUT: Final = "\n\n[…]"
"""End of a text that was cut."""


@dataclass(slots=True)
class ImportedText:
    """A message with its text."""

    number: int
    """Its place among the messages of the file, from 0."""
    message: PostedMessage
    content: str
    rendered: Rendered | None = None


@dataclass(frozen=True, slots=True)
class TextConverter:
    """Converts and renders texts, without I/O but for reading the file."""

    reader: Reader
    names: ImportedNames
    style: Style
    typesetter: Typesetter

    def converted(self, number: int, message: PostedMessage, report: ImportReport) -> ImportedText:
        """Return the message's text as Markdown; rendered, unless it still lacks its files."""
        content = self.reader.markdown(message.body, self.names).replace("\0", "").rstrip()
        content = content if content.strip() else ""
        text = ImportedText(number, message, self.fitting(content, message, report))
        if not message.files and not jobs_in(text.content):
            text.rendered = self.rendered(text.content)
        return text

    def fitting(self, content: str, message: PostedMessage, report: ImportReport) -> str:
        """Return the text, cut to the length of a message."""
        if len(content) <= MAX_MESSAGE_LENGTH:
            return content
        report.remark(marked("messages were cut, since they are too long"), message.key)
        return content[: MAX_MESSAGE_LENGTH - len(CUT)] + CUT

    def rendered(self, content: str) -> Rendered:
        return render(content, self.names, self.style, self.typesetter)

    async def render_rest(self, texts: Iterable[ImportedText], *, share: Hashable) -> None:
        """Render texts that need typesetting, or got their files now."""
        for text in texts:
            if text.rendered is None:
                text.rendered = await self.typeset(text.content, share=share)

    async def typeset(self, content: str, *, share: Hashable) -> Rendered:
        """Render a text after its code and formulas were typeset, as far as time allows."""
        if jobs := jobs_in(content):
            await self.typesetter.set(jobs, share=share)
        return self.rendered(content)
