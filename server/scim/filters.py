"""What a filter requires, by which rows are looked up before it is evaluated."""

from collections.abc import Iterator, Mapping
from typing import Any

from scim2_models import ScimFilter
from scim2_models.path import (
    AttrPath,
    CompareOperator,
    Comparison,
    FilterNode,
    LogicalExpr,
    LogicalOperator,
    ValuePath,
)


def required_values(filter_: ScimFilter[Any] | None) -> Mapping[str, str]:
    """Return the texts that attributes must equal, by lower-case path, such as `emails.value`.

    Only what every match fulfils: without it, nothing can match.
    """
    return {} if filter_ is None else dict(_required(filter_.ast, ""))


def _required(node: FilterNode, prefix: str) -> Iterator[tuple[str, str]]:
    match node:
        case LogicalExpr(op=LogicalOperator.and_):
            for term in node.terms:
                yield from _required(term, prefix)
        case ValuePath():
            yield from _required(node.val_filter, f"{_path(node.attr_path)}.")
        case Comparison(op=CompareOperator.eq) if isinstance(node.value, str):
            path = prefix + _path(node.attr_path)
            yield ("emails.value" if path == "emails" else path), node.value
        case _:
            return


def _path(path: AttrPath) -> str:
    return ".".join(part for part in (path.attr, path.sub_attr) if part).lower()
