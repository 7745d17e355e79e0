#!/bin/sh
# Brings .venv to what one lock file says, plus this checkout itself, editable. Usage: tools/venv.sh LOCK
#
# LOCK is the stem of a file in requirements/. The stamp's name is a checksum of what decides what the environment
# holds, so a second run does nothing, and a new lock or a changed pyproject.toml installs again. PYTHON names the
# interpreter; without it the newest supported one is taken.
set -eu

lock=${1:?usage: tools/venv.sh LOCK}
cd "$(dirname "$0")/.."
venv=.venv

missing() { # what, Debian packages
    echo "rooflight: $1 is missing." >&2
    echo "  On Debian or Ubuntu: apt-get install $2" >&2
    exit 1
}

recent_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

interpreter() {
    if [ -n "${PYTHON:-}" ]; then
        recent_enough "$PYTHON" || missing "PYTHON=$PYTHON does not run as Python 3.11 or newer; a Python that does" python3
        echo "$PYTHON"
        return
    fi
    for name in python3.13 python3.12 python3.11 python3; do
        if recent_enough "$name"; then
            echo "$name"
            return
        fi
    done
    missing "Python 3.11 or newer" "python3 python3-venv"
}

command -v git >/dev/null 2>&1 || missing git git
[ -f "requirements/$lock.txt" ] || { echo "rooflight: there is no requirements/$lock.txt" >&2; exit 1; }

# Nothing here may depend on what the caller exported for another environment.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV

usable() {
    recent_enough $venv/bin/python || return 1
    [ -x $venv/bin/pip ] || return 1
    # The scripts in an environment hold its path, so one that was moved along with its checkout is of no use.
    [ "$(cat $venv/made-in 2>/dev/null)" = "$(pwd)" ] || return 1
    [ -z "${PYTHON:-}" ] || [ "$(version "$PYTHON")" = "$(version $venv/bin/python)" ]
}

version() {
    "$1" -c 'import sys; print(sys.version)' 2>/dev/null
}

if ! usable; then
    python=$(interpreter)
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || missing "Python's venv module" python3-venv
    echo "rooflight: making $venv with $("$python" --version 2>&1)"
    rm -rf $venv
    "$python" -m venv $venv
    pwd >$venv/made-in
fi

stamp=$venv/stamp-$lock-$(cat "requirements/$lock.txt" pyproject.toml tools/package_data.py | cksum | cut -d ' ' -f 1)
if [ -e "$stamp" ]; then
    exit 0
fi

echo "rooflight: installing requirements/$lock.txt"
rm -f $venv/stamp-"$lock"-*
$venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --only-binary :all: \
    -r "requirements/$lock.txt"
# The lock already holds the build backend, so nothing is fetched without a hash.
$venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
: >"$stamp"
