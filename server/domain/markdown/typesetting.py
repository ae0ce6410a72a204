"""What is set by another user, because it may take long: code in colours, and formulas."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from typing_extensions import override

from server.domain.markdown import nodes
from server.domain.markdown.languages import language_name
from server.domain.markdown.nodes import Element, Node, Spans

MAX_FORMULA: Final = 1_000
"""Characters; a longer formula is shown as it was typed."""
MAX_JOBS: Final = 200
"""Of one message."""

Typeset: TypeAlias = Spans | Element


@dataclass(frozen=True, slots=True)
class TypesetJob:
    """Code in a language that is known, or a formula within a line or on lines of its own."""

    kind: Literal["code", "inline", "display"]
    text: str
    language: str = ""


class Typesetter(Protocol):
    """Colours code and sets formulas, within a time that it keeps to itself.

    In two steps, so that no transaction waits for it: the work is done before, and what has
    become of it is asked for while rendering.
    """

    async def set(self, jobs: Sequence[TypesetJob], *, share: Hashable) -> None:
        """Do these jobs, as far as possible, and remember what has become of them.

        `share` names the person that it is done for: people have equal shares of the time.
        """
        ...

    def known(self, job: TypesetJob) -> Typeset | None:
        """Return what has become of the job; None: its text is shown plain."""
        ...

    async def compare(
        self, pairs: Sequence[tuple[str, str]], *, share: Hashable
    ) -> list[str | None]:
        """The difference of each pair of messages' HTML, older and newer; None if out of time."""
        ...


class PlainTypesetter(Typesetter):
    """Leaves everything plain."""

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
    """Return the nodes in these blocks for which a typesetter can do something."""
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
    """Return what a typesetter is asked to do for the node; None if there is nothing to do."""
    if isinstance(node, nodes.CodeBlock):
        is_known = node.language and language_name(node.language) is not None
        return TypesetJob("code", node.text, node.language.lower()) if is_known else None
    if len(node.formula) > MAX_FORMULA or not node.formula.strip():
        return None
    kind: Literal["inline", "display"] = "inline" if isinstance(node, nodes.Math) else "display"
    return TypesetJob(kind, node.formula)


def take(node: SetNode, typeset: Typeset | None) -> None:
    """Give the node what has become of its job."""
    if isinstance(node, nodes.CodeBlock):
        is_whole = isinstance(typeset, tuple) and "".join(t for _, t in typeset) == node.text
        node.spans = typeset if is_whole and isinstance(typeset, tuple) else None
    else:
        node.mathml = typeset if isinstance(typeset, Element) else None
