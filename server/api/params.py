"""Parameters: declared as a model, parsed from form and query, with errors by name."""

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from types import NoneType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema
from typing_extensions import override

from server.api.docstrings import field_docstrings
from server.domain.errors import (
    ConfusingParametersError,
    DomainError,
    InvalidJsonError,
    InvalidParameterError,
    MissingParameterError,
)

__all__ = [
    "Field",
    "JsonOrBareStr",
    "OptionalTopicName",
    "Params",
    "Part",
    "StrictPart",
    "TopicName",
    "alias",
    "declare",
    "parse",
]

BARE: Final = "json-or-bare"
"""Metadata of a text field that may also come as JSON, in quotes."""

JsonOrBareStr = Annotated[str, BARE]

ALWAYS_KNOWN: Final = frozenset({"client"})
"""Parameters of every endpoint: read by the handler."""

MAX_DEPTH: Final = 64
"""Maximum nesting of lists and objects."""
MAX_CONTAINERS: Final = 10_000
"""Maximum number of lists and objects in one parameter, which are all checked."""
MAX_JSON_LENGTH: Final = 1024 * 1024
"""Maximum characters of one parameter in JSON."""
MAX_JSON_MARKS: Final = 50_000
"""Maximum number of commas and colons outside strings: parsing as many values takes
milliseconds."""
MAX_JSON_QUOTES: Final = 20_000
"""Above this number of quotes, marks within strings count as well: separating them is expensive."""
MAX_INTEGER: Final = 2**63 - 1
"""Limit of the database, and of clients."""

_STRINGS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NEEDS_A_LOOK: Final = re.compile(r"[0-9]{19}|\\u0000|\x00")


def _has_many_items(text: str) -> bool:
    return (
        text.count(",") + text.count(":") > MAX_JSON_MARKS
        or text.count("[") + text.count("{") > MAX_CONTAINERS
    )


def _stop_at_first_problem(schema: Any) -> None:
    """Stop at the first error of each list: reporting a million takes a second."""
    if isinstance(schema, list | tuple):
        for part in schema:
            _stop_at_first_problem(part)
    elif isinstance(schema, dict):
        kind = schema.get("type")  # a schema, for a model with a field of that name
        if isinstance(kind, str) and kind in {"list", "tuple", "set"}:
            schema["fail_fast"] = True
        for part in schema.values():
            _stop_at_first_problem(part)


class Params(BaseModel):
    """Base of an endpoint's parameters: a subclass declares them, with their limits.

    The docstring below a field is the parameter's description in the API's documentation. Text
    fields are taken as they come; all others are JSON inside their field. An `alias` lists other
    names under which the protocol's older clients send the same thing.
    """

    # Building all of them before any is used is a tenth of the time to start.
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", defer_build=True)

    @classmethod
    @override
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        _stop_at_first_problem(schema)
        return schema


class Part(BaseModel):
    """An object inside a parameter. Unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", defer_build=True)


class StrictPart(Part):
    """An object inside a parameter that may have no other keys: ignoring one would do harm."""

    model_config = ConfigDict(extra="forbid")


ParamsT = TypeVar("ParamsT", bound=Params)


def declare(
    name: str, base: type[Params], descriptions: Mapping[str, str], **types: Any
) -> type[Params]:
    """Return a subclass with optional parameters from a list of names and types.

    `model_fields_set` has those that were given; null is no value unless the type allows it.
    """
    fields: dict[str, Any] = {
        parameter: (kind, Field(None, description=descriptions.get(parameter)))
        for parameter, kind in types.items()
    }
    return create_model(name, __base__=base, **fields)


def alias(*names: str) -> dict[str, Any]:
    """Return `json_schema_extra` for `Field`: other names of the parameter."""
    return {"aliases": list(names)}


TopicName = Annotated[str, Field(json_schema_extra=alias("subject"))]
OptionalTopicName = Annotated[str | None, Field(json_schema_extra=alias("subject"))]


class ParamReader:
    """Parser of one parameter's text."""

    def __init__(self, name: str, field: FieldInfo) -> None:
        self.name = name
        self.names = (name, *_aliases(field))
        members = set(_members(field.annotation, field.metadata))
        self.is_text = members - {NoneType} == {"text"}
        """Whether the text is the value: it may hold anything, quotes too."""
        self.may_be_bare = not self.is_text and ("text" in members or BARE in members)
        """Whether it is JSON only if that is of an allowed kind, and else the bare text."""
        self.is_json = bool(members - {"text", BARE, NoneType})
        """Whether clients should send it as JSON."""
        self._kinds = _kinds_of(members)
        self._scalars = [_SCALARS[member] for member in members if member in _SCALARS]
        self._is_scalar = len(self._scalars) == len(members - {NoneType})

    def read(self, text: str) -> Any:
        """Return the parsed value. Raises a DomainError if it is invalid for all types."""
        if self.is_text:
            if "\0" in text:
                raise self._refusal("must not contain null characters")
            return text
        self._check_size(text)
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = self._without_json(text)
        else:
            if self.may_be_bare and type(value) not in self._kinds:
                value = text
        if _NEEDS_A_LOOK.search(text) or text.count("[") + text.count("{") > MAX_DEPTH:
            self._look_through(value)
        return value

    def _check_size(self, text: str) -> None:
        """Refuse, before parsing, what would block the event loop."""
        if len(text) > MAX_JSON_LENGTH:
            raise self._refusal("is too large")
        if _has_many_items(text) and (
            text.count('"') > MAX_JSON_QUOTES or _has_many_items(_STRINGS.sub("", text))
        ):
            raise self._refusal("has too many items")

    def _without_json(self, text: str) -> str:
        if self.may_be_bare:
            return text
        if self._is_scalar:
            raise self._refusal(f"is not {' or '.join(self._scalars)}")
        raise InvalidJsonError(f'Argument "{self.name}" is not valid JSON.')

    def _look_through(self, value: Any) -> None:
        """Refuse what neither the database nor a recursive function can take."""
        rest = [(value, 1)]
        containers = 0
        while rest:
            value, depth = rest.pop()
            containers += isinstance(value, list | dict)
            if containers > MAX_CONTAINERS:
                raise self._refusal("has too many items")
            if depth > MAX_DEPTH:
                raise self._refusal("is nested too deeply")
            if isinstance(value, str):
                if "\0" in value:
                    raise self._refusal("must not contain null characters")
            elif isinstance(value, int | float):
                if abs(value) > MAX_INTEGER:
                    raise self._refusal("is too large")
            elif isinstance(value, list):
                rest.extend((item, depth + 1) for item in value)
            elif isinstance(value, dict):
                rest.extend((item, depth + 1) for item in (*value, *value.values()))

    def _refusal(self, what: str) -> InvalidParameterError:
        return InvalidParameterError(self.name, f"{self.name} {what}")


_SCALARS: Final = {bool: "a boolean", int: "an integer", float: "a number"}


def _kinds_of(members: set[Any]) -> set[type]:
    """Return the JSON types of a parameter that may also come bare: other text is bare."""
    if not members - {"text", BARE, NoneType}:
        return {str}
    return {str, int, list, dict} | ({NoneType} & members)


def _aliases(field: FieldInfo) -> Sequence[str]:
    extra = field.json_schema_extra
    names: Any = extra.get("aliases", ()) if isinstance(extra, dict) else ()
    return tuple(names)


def _members(annotation: Any, metadata: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the types of a union: "text", BARE, or what is parsed as JSON."""
    if get_origin(annotation) is Annotated:
        yield from _members(annotation.__origin__, annotation.__metadata__)
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member, metadata)
    elif annotation is str or _is_literal_text(annotation):
        yield BARE if BARE in metadata else "text"
    elif get_origin(annotation) is Literal:
        yield int
    else:
        yield getattr(annotation, "__supertype__", annotation)


def _is_literal_text(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and all(
        isinstance(value, str) for value in get_args(annotation)
    )


@cache
def readers(model: type[Params]) -> tuple[ParamReader, ...]:
    """Return the parsers of the model's parameters."""
    return tuple(ParamReader(name, field) for name, field in model.model_fields.items())


def parse(model: type[ParamsT], raw: Mapping[str, str]) -> tuple[ParamsT, list[str]]:
    """Return the parameters, and the names among `raw` that the endpoint does not have.

    Raises a DomainError that names the first invalid parameter.
    """
    values: dict[str, Any] = {}
    known = set(ALWAYS_KNOWN)
    for reader in readers(model):
        given = [name for name in reader.names if name in raw]
        known.update(given)
        if len(given) > 1:
            raise ConfusingParametersError(given[0], given[1])
        if given:
            values[reader.name] = reader.read(raw[given[0]])
    try:
        params = model.model_validate(values)
    except ValidationError as error:
        raise _as_domain_error(error) from None
    return params, [name for name in raw if name not in known]


_SENTENCES: Final = {
    "int_type": "is not an integer",
    "int_from_float": "is not an integer",
    "float_type": "is not a number",
    "bool_type": "is not a boolean",
    "string_type": "is not a string",
    "list_type": "is not a list",
    "tuple_type": "is not a list",
    "dict_type": "is not a dict",
    "model_type": "is not a dict",
    "string_too_short": "cannot be blank",
    "string_too_long": "is too long (limit: {max_length} characters)",
    "too_short": "does not have enough items",
    "too_long": "is too long (limit: {max_length} items)",
    "greater_than_equal": "is too small",
    "greater_than": "is too small",
    "less_than_equal": "is too large",
    "less_than": "is too large",
    "literal_error": "must be one of {expected}",
    "missing": "is missing",
    "extra_forbidden": "is not known",
}


def _as_domain_error(error: ValidationError) -> DomainError:
    """Return the most specific of the errors, in the words of the protocol."""
    problems = error.errors(include_url=False, include_input=False)
    problem = next((p for p in problems if p["type"] == "missing" and len(p["loc"]) == 1), None)
    if problem is not None:
        return MissingParameterError(str(problem["loc"][0]))
    name = str(problems[0]["loc"][0]) if problems[0]["loc"] else "__all__"
    ours = [p for p in problems if p["loc"][:1] == (name,)] or problems
    # Of the alternatives, the one that was meant is the one that got furthest.
    depth = max(len(_place(p["loc"])) for p in ours)
    ours = [p for p in ours if len(_place(p["loc"])) == depth]
    if len({_tags(p["loc"]) for p in ours}) > 1:
        places = [_place(p["loc"]) for p in ours]
        shared = [parts[0] for parts in takewhile(_are_equal, zip(*places, strict=True))]
        return InvalidParameterError(name, f"{_shown(shared)} is not of an allowed type")
    problem = ours[0]
    shown = _shown(_place(problem["loc"]) or (name,))
    sentence = _SENTENCES.get(problem["type"])
    if sentence is None:
        return InvalidParameterError(name, f"{shown}: {problem['msg']}")
    return InvalidParameterError(name, f"{shown} {sentence.format(**problem.get('ctx', {}))}")


Place = tuple[int | str, ...]


def _place(loc: Place) -> Place:
    """Return where in the request an error is."""
    return tuple(part for part in loc if not _is_tag(part))


def _shown(place: Sequence[int | str]) -> str:
    return str(place[0]) + "".join(
        f'["{part}"]' if isinstance(part, str) else f"[{part}]" for part in place[1:]
    )


def _are_equal(parts: Place) -> bool:
    return len(set(parts)) == 1


def _tags(loc: Place) -> Place:
    """Return the alternatives of the union that the error belongs to."""
    return tuple(part for part in loc if _is_tag(part))


def _is_tag(part: int | str) -> bool:
    """Return whether it names one of the types that were tried; keys are in lower case."""
    return isinstance(part, str) and (part in _TYPES_TRIED or not _IS_KEY(part))


_TYPES_TRIED: Final = frozenset({"int", "str", "float", "bool", "none"})
_IS_KEY: Final = re.compile(r"[a-z0-9_]*").fullmatch


@dataclass(frozen=True, slots=True)
class Described:
    """A parameter's documentation."""

    name: str
    aliases: Sequence[str]
    is_required: bool
    is_json: bool
    """Whether it is sent as JSON; else as text."""
    schema: dict[str, Any]

    @property
    def description(self) -> str:
        return str(self.schema.get("description", ""))


def describe(model: type[Params], ref_template: str) -> tuple[list[Described], dict[str, Any]]:
    """Return the model's parameters with their JSON schemas, and referenced schemas."""
    schema = model.model_json_schema(ref_template=ref_template)
    _add_docstrings(schema, model)
    definitions = schema.get("$defs", {})
    for part in _parts_of(model):
        if part.__name__ in definitions:
            _add_docstrings(definitions[part.__name__], part)
    required = schema.get("required", ())
    described = [
        Described(
            name=reader.name,
            aliases=reader.names[1:],
            is_required=reader.name in required,
            is_json=reader.is_json,
            schema=_schema_of(reader, schema["properties"][reader.name]),
        )
        for reader in readers(model)
    ]
    return described, definitions


def _add_docstrings(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Describe the properties by the docstrings of the model's fields."""
    properties = schema.get("properties", {})
    for name, text in field_docstrings(model).items():
        if name in properties:
            properties[name].setdefault("description", " ".join(text.split()))


def _parts_of(annotation: Any) -> Iterator[type[Part]]:
    """Yield the objects in a type, recursively."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if issubclass(annotation, Part):
            yield annotation
        for field in annotation.model_fields.values():
            yield from _parts_of(field.annotation)
    for argument in get_args(annotation):
        yield from _parts_of(argument)


def _schema_of(reader: ParamReader, schema: dict[str, Any]) -> dict[str, Any]:
    described = {key: value for key, value in schema.items() if key not in {"title", "aliases"}}
    if not reader.is_json:
        # Text has no null: clients leave it out.
        options = [option for option in described.pop("anyOf", []) if option != {"type": "null"}]
        described |= options[0] if options else {}
        if described.get("default", "") is None:
            del described["default"]
    return described
