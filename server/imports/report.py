"""The report of an import: what was imported, and what could not be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_EXAMPLES: Final = 10
MAX_EXAMPLE: Final = 200
"""Characters."""

STATUSES: Final = (
    "statuses were left out, since they are those of deactivated people or bots, or empty"
)
STATUSES_THAT_END: Final = "statuses that end by themselves were left out"


@dataclass(slots=True)
class Remark:
    """Records that were left out or changed, for one reason."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


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
        """Count records that were left out or changed; the first examples are kept."""
        remark = self.remarks.setdefault(reason, Remark())
        remark.count += count
        if example and len(remark.examples) < MAX_EXAMPLES:
            remark.examples.append(example[:MAX_EXAMPLE].replace("\0", ""))

    def add(self, other: "ImportReport") -> None:
        """Add the counts and remarks of a batch."""
        for what, count in other.imported.items():
            self.count(what, count)
        for reason, remark in other.remarks.items():
            mine = self.remarks.setdefault(reason, Remark())
            mine.count += remark.count
            mine.examples += remark.examples[: MAX_EXAMPLES - len(mine.examples)]

    def as_json(self) -> dict[str, Any]:
        return {
            "imported": self.imported,
            "remarks": [
                {"reason": reason, "count": remark.count, "examples": remark.examples}
                for reason, remark in self.remarks.items()
            ],
        }

    def without_examples(self) -> "ImportReport":
        """Return the report without what it quotes of the file, such as names of people."""
        remarks = {reason: Remark(remark.count) for reason, remark in self.remarks.items()}
        return ImportReport(dict(self.imported), remarks)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "ImportReport":
        """Return the report of its JSON."""
        remarks = {
            each["reason"]: Remark(each["count"], list(each["examples"]))
            for each in stored["remarks"]
        }
        return cls(dict(stored["imported"]), remarks)

    def lines(self, heading: str = "Imported") -> list[str]:
        """Return the report for people, a line for each count and each reason."""
        imported = ", ".join(f"{count:,} {what}" for what, count in self.imported.items())
        lines = [f"{heading}: {imported or 'nothing'}."]
        for reason, remark in self.remarks.items():
            shown = f" ({', '.join(remark.examples[:3])})" if remark.examples else ""
            lines.append(f"{remark.count:,} {reason}{shown}")
        return lines
