"""Typesetting in a separate process, because it may take long: code highlighting and formulas."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from typing_extensions import override

from server.domain.markdown import nodes
from server.domain.markdown.languages import language_name
from server.domain.markdown.nodes import Element, Node, Spans

MAX_FORMULA: Final = 1_000
"""Characters; a longer formula stays as it was typed."""
MAX_JOBS: Final = 200
"""Maximum per message."""

Typeset: TypeAlias = Spans | Element


@dataclass(frozen=True, slots=True)
class TypesetJob:
    """Code in a known language, or an inline or block formula."""

    kind: Literal["code", "inline", "display"]
    text: str
    language: str = ""


class Typesetter(Protocol):
    """Highlights code and sets formulas, within a time limit of its own.

    In two steps, so that no transaction waits for it: the work is done before, and its result is
    looked up while rendering.
    """

    async def set(self, jobs: Sequence[TypesetJob], *, share: Hashable) -> None:
        """Run these jobs, as far as time allows, and cache the results.

        `share` names the user that it is done for: users have equal shares of the time.
        """
        ...

    def known(self, job: TypesetJob) -> Typeset | None:
        """Return the cached result of the job; None: its text stays plain."""
        ...

    async def compare(
        self, pairs: Sequence[tuple[str, str]], *, share: Hashable
    ) -> list[str | None]:
        """Return the difference of each pair of HTML, older and newer; None after a timeout."""
        ...


class PlainTypesetter(Typesetter):
    """Typesetter that leaves everything plain."""

    @override
    async def set(self, jobs: Sequence[TypesetJob], *, share: Hashable) -> None:
        del jobs, share

    @override
    def known(self, job: TypesetJob) -> Typeset | None:
        del job
        return None

    @override
    async def compare(
        self, pairs: Sequence[tuple[str, str]], *, share: Hashable
    ) -> list[str | None]:
        del share
        return [None for _ in pairs]


SetNode: TypeAlias = nodes.CodeBlock | nodes.Math | nodes.MathBlock


def nodes_to_set(blocks: Iterable[Node]) -> list[SetNode]:
    """Return the nodes in these blocks that need a typesetter."""
    found: list[SetNode] = []
    waiting: list[Node] = list(blocks)
    while waiting and len(found) < MAX_JOBS:
        node = waiting.pop()
        if isinstance(node, nodes.CodeBlock | nodes.Math | nodes.MathBlock):
            if job_of(node) is not None:
                found.append(node)
        else:
            waiting += getattr(node, "kids", ())
            waiting += getattr(node, "header", ())
    return found


def job_of(node: SetNode) -> TypesetJob | None:
    """Return the typesetting job of the node; None if there is none."""
    if isinstance(node, nodes.CodeBlock):
        is_known = node.language and language_name(node.language) is not None
        return TypesetJob("code", node.text, node.language.lower()) if is_known else None
    if len(node.formula) > MAX_FORMULA or not node.formula.strip():
        return None
    kind: Literal["inline", "display"] = "inline" if isinstance(node, nodes.Math) else "display"
    return TypesetJob(kind, node.formula)


def take(node: SetNode, typeset: Typeset | None) -> None:
    """Update the node with the result of its job."""
    if isinstance(node, nodes.CodeBlock):
        is_whole = isinstance(typeset, tuple) and "".join(t for _, t in typeset) == node.text
        node.spans = typeset if is_whole and isinstance(typeset, tuple) else None
    else:
        node.mathml = typeset if isinstance(typeset, Element) else None
