"""Samples of what services send, with the messages that are made of them.

`python -m testkit.integration_samples FOLDER SERVICE` takes bodies from `FOLDER/SERVICE/*.json`,
keeps of each what the integration reads, and writes it with its outcome to `tests/integrations`.
Review the outcomes: the tests hold the integration to them.

A sample is `{"headers": {...}, "options": {...}, "body": ...}`. `headers.json` among the samples of
a service has, by the name of a sample or the part of it before the first dot, the headers that it
comes with and, under "options", the options of its address.
"""

import json
import sys
from pathlib import Path
from typing import Any

from server.integrations.base import Ignored, Malformed, Message, Outcome, Unknown
from server.integrations.payload import Payload
from server.integrations.registry import integrations, read_delivery
from testkit.sources import ROOT

SAMPLES = ROOT / "tests/integrations/samples"
SECTION = "\n---\n"


def outcome_of(service: str, sample: dict[str, Any]) -> Outcome:
    """Return what the integration makes of a sample."""
    headers = {name.lower(): value for name, value in sample.get("headers", {}).items()}
    body = json.dumps(sample["body"]).encode()
    return read_delivery(service, body, headers, sample.get("options", {}))


def shown(outcome: Outcome) -> str:
    """Return an outcome as the expectations have it."""
    match outcome:
        case Message(topic, content, event, _, about, stage):
            of = f"\n{stage.value}: {about}" if stage and about else ""
            return f"message {event}{of}\n{topic}{SECTION}{content}\n"
        case Ignored(event, reason):
            return f"ignored {event}\n{reason}\n"
        case Unknown(event):
            return f"unknown {event}\n"
        case Malformed(reason):
            return f"malformed\n{reason}\n"
    raise AssertionError(outcome)


def reduced(service: str, sample: dict[str, Any]) -> dict[str, Any]:
    """Return the sample with those fields alone that the integration looks at."""
    seen: set[str] = set()
    getitem = Payload.__getitem__

    def recording(self: Payload, key: str | int) -> Payload:
        found = getitem(self, key)
        seen.add(found._path)
        return found

    whole: list[str] = []

    def all_of(method: Any) -> Any:
        def called(self: Payload, *arguments: Any) -> Any:
            whole.append(self._path)
            return method(self, *arguments)

        return called

    saved = {name: getattr(Payload, name) for name in ("fields", "raw")}
    Payload.__getitem__ = recording  # type: ignore[method-assign]
    for name, method in saved.items():
        setattr(Payload, name, all_of(method))
    try:
        outcome = outcome_of(service, sample)
    finally:
        Payload.__getitem__ = getitem  # type: ignore[method-assign]
        for name, method in saved.items():
            setattr(Payload, name, method)
    small = {**sample, "body": _kept(sample["body"], "", seen, whole)}
    return small if outcome_of(service, small) == outcome else sample


def _kept(value: Any, path: str, seen: set[str], whole: list[str]) -> Any:
    if any(path == each or path.startswith(f"{each}.") for each in whole if each):
        return value
    if isinstance(value, dict):
        found = {key: f"{path}.{key}" if path else key for key in value}
        return {
            key: _kept(value[key], below, seen, whole)
            for key, below in found.items()
            if below in seen or "" in whole
        }
    if isinstance(value, list):
        return [
            _kept(each, f"{path}.{index}" if path else str(index), seen, whole)
            for index, each in enumerate(value)
        ]
    return value


def main() -> None:
    folder, services = Path(sys.argv[1]), sys.argv[2:]
    for service in services:
        given, kept = folder / service, SAMPLES / service
        kept.mkdir(parents=True, exist_ok=True)
        found = kept / "headers.json"
        headers = json.loads(found.read_text()) if found.exists() else {}
        for path in sorted(given.glob("*.json")):
            extra = headers.get(path.stem, headers.get(path.stem.split(".")[0], {}))
            options = extra.get("options", {})
            sample = {
                "headers": {name: value for name, value in extra.items() if name != "options"},
                "options": options,
                "body": json.loads(path.read_text()),
            }
            small = reduced(service, {name: value for name, value in sample.items() if value})
            (kept / path.name).write_text(json.dumps(small, indent=1, ensure_ascii=False) + "\n")
            outcome = shown(outcome_of(service, small))
            (kept / f"{path.stem}.txt").write_text(outcome)
            print(f"== {service}/{path.stem}\n{outcome}")
        print(f"{service}: {integrations()[service].display_name}", file=sys.stderr)


if __name__ == "__main__":
    main()
