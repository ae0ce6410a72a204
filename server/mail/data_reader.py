"""Read the content of a mail after DATA (RFC 5321), with limits.

A mail may have millions of lines, so chunks are searched as they arrive, by functions in C.
"""

from typing import Final

END: Final = b"\r\n.\r\n"


class IncomingMailRefusedError(Exception):
    """The mail was received and is refused; the message is the SMTP response."""


class DataReader:
    """Buffers the content up to its end.

    A mail that exceeds a limit is dropped at once, and refused at its end.
    """

    def __init__(self, *, max_bytes: int, max_lines: int, max_line_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_lines
        self._max_line_bytes = max_line_bytes
        # As if a line had ended before it: a mail without content ends at its first line.
        self._content = bytearray(b"\r\n")
        self._bytes = -len(b".\r\n")
        self._lines = 0
        self._line_bytes = 0
        """The length of the unfinished line."""
        self._refusal = ""

    def feed(self, data: bytes) -> bytes | None:
        """Add a chunk; return what follows the end of the mail, None before it."""
        start = max(0, len(self._content) - len(END) + 1)
        self._content += data
        end = self._content.find(END, start)
        if end < 0:
            self._count(data)
            if self._refusal:
                # The end may come in two pieces, so the beginning of one stays.
                del self._content[: 1 - len(END)]
            return None
        rest = bytes(self._content[end + len(END) :])
        del self._content[end + len(b"\r\n") :]
        self._count(data[: len(data) - len(rest)])
        return rest

    def content(self) -> bytes:
        """Return the mail without SMTP's dot-stuffing. Raises IncomingMailRefusedError."""
        if self._refusal:
            raise IncomingMailRefusedError(self._refusal)
        # Megabytes, of which each copy takes milliseconds.
        content, self._content = self._content, bytearray()
        if b"\r\n." in content:
            content = content.replace(b"\r\n.", b"\r\n")
        return bytes(memoryview(content)[len(b"\r\n") :])

    def _count(self, data: bytes) -> None:
        if self._refusal:
            return
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        if self._bytes > self._max_bytes:
            self._refusal = "552 Error: Too much mail data"
        elif self._lines > self._max_lines:
            self._refusal = "552 5.3.4 Too many lines"
        elif self._has_long_line(data):
            self._refusal = "500 Line too long (see RFC5321 4.5.3.1.6)"

    def _has_long_line(self, data: bytes) -> bool:
        """Return whether a line that ends in the data, or continues beyond it, is too long."""
        at = 0
        while self._line_bytes + len(data) - at > self._max_line_bytes:
            # The last end of a line within the length that the line at hand may have.
            end = data.rfind(b"\n", at, at + self._max_line_bytes - self._line_bytes + 1)
            if end < 0:
                return True
            at, self._line_bytes = end + 1, 0
        last = data.rfind(b"\n", at)
        if last < 0:
            self._line_bytes += len(data) - at
        else:
            self._line_bytes = len(data) - last - 1
        return False
