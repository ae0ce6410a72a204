"""Build the image without an engine, in roots that debootstrap makes, and run it.

As root: `python -m testkit.image --work DIRECTORY [--bind FILE ...]`. Each instruction is done in a
root of its stage: RUN by chroot, COPY from the files that git knows less those that are ignored.
The result is measured; with `--database` its entry point runs as the image's user, with a
read-only root. Of this machine a root has its devices and what is bound, and cannot write to them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from testkit.image.dockerfile import Instruction, Stage, is_ignored, read_stages
from testkit.sources import ROOT

DOCKERFILE: Final = ROOT / "docs" / "deploy" / "Dockerfile"
MIRROR: Final = "http://deb.debian.org/debian"
ENTER: Final = """
set -e
root=$1; readonly=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
share() {
    mount --bind "$1" "$root$1"
    mount -o remount,ro,bind "$root$1"
}
share /dev
for path in $BINDS; do
    mkdir -p "$root$(dirname "$path")"
    [ -d "$path" ] && mkdir -p "$root$path" || touch "$root$path"
    share "$path"
done
if [ "$readonly" = yes ]; then
    mount -t tmpfs tmpfs "$root/tmp"
    mount --bind "$root/var/lib/parley" "$root/var/lib/parley"
    mount -o remount,ro,bind "$root"
fi
exec "$@"
"""
LEFT_OUT: Final = (
    *("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"),
    *("var/cache/apt/archives", "var/lib/apt/lists"),
)
SLIM: Final = "".join(f"path-exclude /{name}/*\n" for name in LEFT_OUT[:4])
CLEAN: Final = (
    'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin"; };\n'
    'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\n'
)
"""As the official images of Debian do."""
MACHINE_VARIABLES: Final = ("http_proxy", "https_proxy", "no_proxy")
MACHINE_PREFIXES: Final = ("PIP_", "UV_", "NPM_", "npm_", "SSL_", "REQUESTS_", "NODE_EXTRA")


class Roots:
    """The root of each stage below a directory."""

    def __init__(self, work: Path, binds: Sequence[str]) -> None:
        self._work = work
        self._binds = ["/etc/resolv.conf", *binds]

    def of(self, stage: str) -> Path:
        return self._work / f"stage-{stage or 'final'}"

    def debian(self) -> Path:
        """Return the root that stands for debian:bookworm-slim, less what that leaves out."""
        base = self._work / "base"
        if not base.exists():
            run("debootstrap", "--variant=minbase", "bookworm", base, MIRROR)
            (base / "etc/dpkg/dpkg.cfg.d/slim").write_text(SLIM)
            (base / "etc/apt/apt.conf.d/clean").write_text(CLEAN)
            for name in LEFT_OUT:
                run("rm", "-rf", base / name)
        return base

    def enter(
        self,
        root: Path,
        command: Sequence[str],
        *,
        variables: Mapping[str, str],
        directory: str = "/",
        user: str = "0:0",
        readonly: bool = False,
    ) -> "subprocess.Popen[bytes]":
        """Start a command in the root, in a mount namespace of its own."""
        inside = [
            "/usr/sbin/chroot",
            f"--userspec={user}",
            root,
            "sh",
            "-c",
            'cd "$0" && exec "$@"',
        ]
        outside = ["unshare", "--mount", "--propagation=private", "sh", "-c", ENTER, "enter"]
        words = [*outside, root, "yes" if readonly else "no", *inside, directory, *command]
        environ = {"PATH": os.defpath + ":/usr/sbin:/sbin", **variables}
        return subprocess.Popen(
            list(map(str, words)), env={**environ, "BINDS": " ".join(self._binds)}
        )


def run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True)


def of_machine() -> dict[str, str]:
    """Variables by which the clients of registries work on this machine."""
    return {
        name: value
        for name, value in os.environ.items()  # noqa: TID251 - of this machine
        if name.lower() in MACHINE_VARIABLES or name.startswith(MACHINE_PREFIXES)
    }


def sources(names: Sequence[str]) -> list[str]:
    """The files that COPY takes from the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *names],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    patterns = DOCKERFILE.with_suffix(".dockerignore").read_text().split()
    found = [name for name in listed if (ROOT / name).is_file() and not is_ignored(name, patterns)]
    for name in names:
        assert any(each == name or each.startswith(f"{name}/") for each in found), name
    return found


def copy(roots: Roots, root: Path, at: str, instruction: Instruction) -> None:
    *names, target = instruction.words
    place = root / str(Path(at, target)).lstrip("/")
    if stage := instruction.options.get("from"):
        for name in names:
            run("cp", "-a", roots.of(stage) / name.lstrip("/"), place)
        return
    for file in sources(names):
        inside = file if target.endswith("/") else str(Path(file).relative_to(names[0]))
        destination = place / (Path(inside).name if target.endswith("/") else inside)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, destination)


def build(roots: Roots, stage: Stage, known: Mapping[str, Path]) -> None:
    root, at = roots.of(stage.name), "/"
    variables = {**of_machine(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    run("rm", "-rf", root)
    run("cp", "-a", "--reflink=auto", known[stage.base], root)
    for instruction in stage.instructions:
        print("==", stage.name or "final", instruction.name, instruction.rest[:70], flush=True)
        if instruction.name == "COPY":
            copy(roots, root, at, instruction)
        elif instruction.name == "WORKDIR":
            at = instruction.rest
            (root / at.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif instruction.name == "RUN":
            command = ["sh", "-c", instruction.rest]
            entered = roots.enter(root, command, variables=variables, directory=at)
            assert entered.wait() == 0, instruction.rest


def start(
    roots: Roots, stage: Stage, command: Sequence[str], settings: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a command as an engine would: with the image's variables, user and directory."""
    return roots.enter(
        roots.of(stage.name),
        command,
        variables={**stage.environment(), **settings},
        directory=stage.last("WORKDIR").rest,
        user=stage.last("USER").rest,
        readonly=True,
    )


def measure(root: Path) -> None:
    """Print the size of all layers together, compressed."""
    for program in ("gzip -6", "zstd -q -9 -T0"):
        tar = f"tar -C {root} --one-file-system -cf - . | {program} | wc -c"
        size = int(subprocess.run(["sh", "-c", tar], capture_output=True, check=True).stdout)
        print(f"compressed by {program.split()[0]}: {size / 2**20:.0f} MiB", flush=True)


def try_out(roots: Roots, final: Stage, url: str) -> None:
    """Migrate a database and serve; end with an error unless the health check succeeds."""
    settings = {"DATABASE_URL": url, "PARLEY_PORT": "9971", "PARLEY_METRICS_PORT": "9980"}
    entry = final.last("ENTRYPOINT").words
    assert start(roots, final, [*entry, "migrate"], settings).wait() == 0
    serving = start(roots, final, [*entry, *final.last("CMD").words], settings)
    check = Instruction("CMD", {}, final.last("HEALTHCHECK").rest.removeprefix("CMD ")).words
    try:
        for _ in range(30):
            time.sleep(1)
            if start(roots, final, check, settings).wait() == 0:
                print("the health check succeeds", flush=True)
                break
        else:
            sys.exit("the health check does not succeed")
        fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9971/').read(300))"
        start(roots, final, ["python3", "-c", fetch], settings).wait()
        probe = 'for p in / /opt/parley /etc; do touch "$p/x" && exit 1; done; touch /tmp/x; id'
        assert start(roots, final, ["sh", "-c", probe], settings).wait() == 0
    finally:
        serving.terminate()
    print("it ends with", serving.wait(), flush=True)


def main() -> None:
    """Build, measure, and with a database try out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="where the roots are made")
    parser.add_argument(
        "--bind", action="append", default=[], help="a path of this machine, to read"
    )
    parser.add_argument("--database", help="the URL of an empty database, to serve from")
    given = parser.parse_args()
    roots, stages = Roots(given.work, given.bind), read_stages(DOCKERFILE)
    known = {"debian:bookworm-slim": roots.debian()}
    for stage in stages:
        build(roots, stage, known)
        known[stage.name] = roots.of(stage.name)
    measure(roots.of(stages[-1].name))
    if given.database:
        try_out(roots, stages[-1], given.database)


if __name__ == "__main__":
    main()
