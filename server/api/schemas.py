"""JSON schemas of what the server sends, from the types that declare it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from server.api.docstrings import field_docstrings

REF: Final = "#/components/schemas/{name}"
Schema = dict[str, Any]


def schemas_of(kinds: Sequence[type]) -> tuple[dict[type, Schema], dict[str, Schema]]:
    """Return the schemas of these structs and typed dictionaries, and those of what is inside.

    The latter by name, for references. An object has its declared fields and no others. A field is
    required if it is always sent: a default does not matter, unless the struct leaves out defaults.
    """
    references, schemas = msgspec.json.schema_components(
        kinds, schema_hook=lambda _: {"description": "Any JSON."}, ref_template=REF
    )
    names = dict(zip(kinds, map(name_in, references), strict=True))
    for kind in _objects(types.multi_type_info(kinds)):
        _complete(schemas[names.get(kind.cls, kind.cls.__name__)], kind)
    for schema in schemas.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
        _drop_raw(schema)
    return {kind: schemas.pop(name) for kind, name in names.items()}, schemas


def name_in(reference: Schema) -> str:
    """Return the name of the component that is referred to."""
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def reference_to(name: str) -> Schema:
    return {"$ref": REF.format(name=name)}


_Object = types.StructType | types.TypedDictType


def _objects(found: Iterable[types.Type]) -> Iterator[_Object]:
    """Yield each struct and typed dictionary in these types once."""
    seen: set[type] = set()
    waiting = [*found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, types.StructType | types.TypedDictType):
            if each.cls in seen:
                continue
            seen.add(each.cls)
            yield each
            waiting += [field.type for field in each.fields]
        else:
            inside = [getattr(each, name) for name in each.__struct_fields__]
            waiting += [t for part in inside for t in _types_in(part)]


def _types_in(part: Any) -> Iterator[types.Type]:
    if isinstance(part, types.Type):
        yield part
    elif isinstance(part, tuple):
        yield from (each for each in part if isinstance(each, types.Type))


def _complete(schema: Schema, kind: _Object) -> None:
    """Say which fields are always sent, and describe the fields by their docstrings."""
    properties = schema.get("properties", {})
    if "description" in schema:
        schema["description"] = _in_json(schema["description"])
    if isinstance(kind, types.StructType) and not kind.cls.__struct_config__.omit_defaults:
        # The only default that `inspect` does not report is UNSET.
        unset = {
            field.encode_name
            for field in kind.fields
            if not field.required
            and field.default is msgspec.NODEFAULT
            and field.default_factory is msgspec.NODEFAULT
        }
        schema["required"] = [name for name in properties if name not in unset]
    if isinstance(kind, types.TypedDictType):
        # `inspect` sorts them; a reader expects them as they are declared.
        schema["properties"] = {name: properties[name] for name in kind.cls.__annotations__}
        schema["required"] = [n for n in schema["properties"] if n in schema["required"]]
    for field in kind.fields:
        properties[field.encode_name].pop("default", None)
    for name, text in _docstrings(kind.cls).items():
        if name in properties:
            properties[name].setdefault("description", _in_json(text))


def _in_json(text: str) -> str:
    """Return a docstring for readers of JSON, on one line."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def _docstrings(kind: type) -> dict[str, str]:
    # A typed dictionary is a plain dict at run time: only `__orig_bases__` names its bases.
    texts: dict[str, str] = {}
    for base in getattr(kind, "__orig_bases__", ()):
        if isinstance(base, type):
            texts |= _docstrings(base)
    return texts | field_docstrings(kind)


def _drop_raw(schema: Any) -> None:
    """Leave encoded JSON out of unions: it is as the others say."""
    if isinstance(schema, list):
        for each in schema:
            _drop_raw(each)
    elif isinstance(schema, dict):
        for each in schema.values():
            _drop_raw(each)
        if {} in schema.get("anyOf", ()):
            left = [each for each in schema["anyOf"] if each != {}]
            del schema["anyOf"]
            schema |= left[0] if len(left) == 1 else {"anyOf": left}
