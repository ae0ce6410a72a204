"""How long functions and modules are: a report, not a judgement."""

import statistics

from testkit.sources import ROOT, functions, modules

LONG_FUNCTION = 60
LONG_MODULE = 400


def test_sizes_are_reported(record_testsuite_property, capsys):
    lengths = {
        f"{path}:{function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path, tree in modules().items()
        for function in functions(tree)
    }
    lines = {path: len((ROOT / path).read_text().splitlines()) for path in modules()}
    sizes = sorted(lengths.values())
    report = {
        "functions": len(sizes),
        "median": statistics.median(sizes),
        "p90": sizes[len(sizes) * 9 // 10],
        "long functions": sorted(f"{k} {v}" for k, v in lengths.items() if v > LONG_FUNCTION),
        "long modules": sorted(f"{k} {v}" for k, v in lines.items() if v > LONG_MODULE),
    }
    for name, value in report.items():
        record_testsuite_property(f"size: {name}", str(value))
    with capsys.disabled():
        print(f"\nsizes: {report}")
    assert sizes
