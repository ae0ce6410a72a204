"""Rate limits as settings write them."""

from collections.abc import Iterator

from typing_extensions import override


class Rate:
    """A rate limit, written like 200/60."""

    def __init__(self, text: str) -> None:
        limit, _, seconds = text.partition("/")
        self.limit, self.seconds = int(limit), int(seconds)
        if min(self.limit, self.seconds) < 1:
            raise ValueError(text)

    @override
    def __repr__(self) -> str:
        return f"{self.limit}/{self.seconds}"


class Rates:
    """Rate limits that apply together, written like 2/3600, 5/86400."""

    def __init__(self, text: str) -> None:
        self._rates = tuple(map(Rate, text.split(",")))

    def __iter__(self) -> Iterator[Rate]:
        return iter(self._rates)

    @override
    def __repr__(self) -> str:
        return ", ".join(map(repr, self._rates))
