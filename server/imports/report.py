"""The report of an import: what was imported, and what could not be."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from server.i18n import Text, _, from_json, marked, to_json

MAX_EXAMPLES: Final = 10
MAX_EXAMPLE: Final = 200
"""Characters."""

STATUSES: Final = marked(
    "statuses were left out, since they are those of deactivated people or bots, or empty"
)
STATUSES_THAT_END: Final = marked("statuses that end by themselves were left out")


@dataclass(slots=True)
class Remark:
    """Records that were left out or changed, for one reason."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    """Texts that can be translated, or names from the file."""
    template: str = ""
    """The marked text with placeholders that the reason is made from; empty if it has none."""
    values: dict[str, Any] = field(default_factory=dict)
    """Values of its placeholders."""

    @classmethod
    def of(cls, reason: str) -> "Remark":
        """Return a remark for the reason, of which there is no record yet."""
        if isinstance(reason, Text) and reason.values:
            return cls(template=reason.message, values=reason.values)
        return cls()

    def text(self, reason: str) -> Text:
        """Return the reason as a text that can be translated."""
        message = self.template or reason
        return _(message, **self.values)

    def as_json(self, reason: str) -> dict[str, Any]:
        examples = [str(each) for each in self.examples]
        known = {"reason": str(reason), "count": self.count, "examples": examples}
        texts = {
            str(place): to_json(each)
            for place, each in enumerate(self.examples)
            if isinstance(each, Text)
        }
        if texts:
            known["texts"] = texts
        if self.template:
            known |= {"template": self.template, "values": self.values}
        return known

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Remark":
        """Return the remark of its JSON."""
        texts = stored.get("texts", {})
        examples = [
            from_json(texts[str(place)]) if str(place) in texts else each
            for place, each in enumerate(stored["examples"])
        ]
        template, values = stored.get("template", ""), stored.get("values", {})
        return cls(stored["count"], examples, template, values)


@dataclass(slots=True)
class ImportReport:
    """Counts of imported records, and remarks by their reason."""

    imported: dict[str, int] = field(default_factory=dict)
    remarks: dict[str, Remark] = field(default_factory=dict)

    def count(self, what: str, count: int = 1) -> None:
        """Count imported records."""
        if count:
            self.imported[what] = self.imported.get(what, 0) + count

    def remark(self, reason: str, example: str = "", count: int = 1) -> None:
        """Count records that were left out or changed; the first examples are kept.

        The reason is a marked text, or one with values that JSON has.
        """
        remark = self.remarks.setdefault(reason, Remark.of(reason))
        remark.count += count
        if example and len(remark.examples) < MAX_EXAMPLES:
            remark.examples.append(_kept(example))

    def add(self, other: "ImportReport") -> None:
        """Add the counts and remarks of a batch."""
        for what, count in other.imported.items():
            self.count(what, count)
        for reason, remark in other.remarks.items():
            mine = self.remarks.setdefault(
                reason, Remark(template=remark.template, values=remark.values)
            )
            mine.count += remark.count
            mine.examples += remark.examples[: MAX_EXAMPLES - len(mine.examples)]

    def as_json(self) -> dict[str, Any]:
        return {
            "imported": self.imported,
            "remarks": [remark.as_json(reason) for reason, remark in self.remarks.items()],
        }

    def without_examples(self) -> "ImportReport":
        """Return the report without what it quotes of the file, such as names of people."""
        remarks = {reason: replace(remark, examples=[]) for reason, remark in self.remarks.items()}
        return ImportReport(dict(self.imported), remarks)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "ImportReport":
        """Return the report of its JSON."""
        remarks = {each["reason"]: Remark.from_json(each) for each in stored["remarks"]}
        return cls(dict(stored["imported"]), remarks)

    def lines(self, heading: str = "Imported") -> list[str]:
        """Return the report for people, a line for each count and each reason."""
        imported = ", ".join(f"{count:,} {what}" for what, count in self.imported.items())
        lines = [f"{heading}: {imported or 'nothing'}."]
        for reason, remark in self.remarks.items():
            shown = f" ({', '.join(remark.examples[:3])})" if remark.examples else ""
            lines.append(f"{remark.count:,} {reason}{shown}")
        return lines


def example(name: str, why: str) -> Text:
    """Return an example for a remark: a record of this name, and what is wrong with it."""
    return _("{name}: {why}", name=name[:MAX_EXAMPLE], why=why)


def _kept(example: str) -> str:
    """Return an example that can be stored."""
    if isinstance(example, Text):
        return example.with_texts(lambda each: each[:MAX_EXAMPLE].replace("\0", ""))
    return example[:MAX_EXAMPLE].replace("\0", "")
