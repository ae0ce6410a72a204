"""Figures by name, made of what was measured."""

import statistics

Figures = dict[str, float]


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def milliseconds(name: str, seconds: list[float]) -> Figures:
    return {
        f"{name} p50 ms": percentile(seconds, 0.5) * 1000,
        f"{name} p99 ms": percentile(seconds, 0.99) * 1000,
    }


def median_and_range(values: list[float]) -> tuple[float, float, float]:
    return statistics.median(values), min(values), max(values)
