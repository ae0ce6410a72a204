# Sourced by run, test and check: makes .venv and installs into it what setup.cfg asks for.
# $1 names the extras ("" or "test"). Leaves the checkout in $root.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
uv="uv==0.13.9"

fail() {
    printf '%s\n' "parley: $1" >&2
    exit 1
}

# Prints the name of a Python that is new enough.
find_python() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer is needed, and there is none here."
}

# Says how to get the part of Python that makes virtual environments.
require_venv() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null && return
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    sudo=$([ "$(id -u)" = 0 ] || echo "sudo ")
    if command -v apt-get >/dev/null; then
        fail "Python's venv module is missing. Run: ${sudo}apt-get install -y python$version-venv"
    fi
    fail "Python's modules venv and ensurepip are missing: install them for $1 ($version)."
}

# Installs what is named as pip names it, and shows what was said only if that failed. uv takes a
# tenth of pip's time, but knows nothing of how pip is set up: where pip asks an index of its own,
# and where uv does not get on, pip does it.
install_packages() {
    log=$(mktemp)
    if ! by_uv "$@" && ! by_pip "$@"; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "The installation failed; what pip said is above. Is the network there?"
    fi
    rm -f "$log"
}

by_uv() {
    case "$("$root/.venv/bin/python" -m pip config list 2>/dev/null)" in
        *.index-url=* | *.no-index=*) return 1 ;;
    esac
    by_pip "$uv" && "$root/.venv/bin/python" -m uv pip install --system-certs --compile-bytecode \
        --python "$root/.venv/bin/python" "$@" >>"$log" 2>&1
}

by_pip() {
    "$root/.venv/bin/python" -m pip install --disable-pip-version-check --no-input \
        --progress-bar off "$@" >>"$log" 2>&1
}

prepare() {
    stamp="$root/.venv/installed${1:+-$1}"
    wanted="$root $(cksum <"$root/setup.cfg")"
    if [ -x "$root/.venv/bin/python" ]; then
        # What the tests need holds what the server needs.
        for kept in "$stamp" "$root/.venv/installed-test"; do
            installed=""
            [ -r "$kept" ] && IFS= read -r installed <"$kept"
            [ "$installed" = "$wanted" ] && return
        done
    fi
    [ -w "$root" ] || fail "$root cannot be written: own it, or install Parley elsewhere."
    python=$(find_python) || exit 1
    require_venv "$python"
    echo "Installing into $root/.venv (once, up to a minute) ..." >&2
    if ! [ -x "$root/.venv/bin/python" ] || ! "$root/.venv/bin/python" -m pip --version >/dev/null 2>&1
    then
        rm -rf "$root/.venv"
        "$python" -m venv "$root/.venv" || fail "$python could not make $root/.venv."
    fi
    install_packages -e "$root${1:+[$1]}"
    # As pip does with what it copies: so each start finds it compiled, whoever runs it.
    (cd "$root" && .venv/bin/python -m compileall -qq -j 0 server storage queue_processors scripts) || :
    printf '%s\n' "$wanted" >"$stamp"
}
