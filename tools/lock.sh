#!/bin/sh
# Resolves pyproject.toml into requirements/{site,test,dev}.txt: exact versions, hashes, no address of any index.
#
# The three files agree: each is resolved under the one before it. Hashes of every file of a release are kept, so one
# lock serves each supported Python and processor. The oldest supported Python resolves, since it needs the most
# backports.
#
# pip's own configuration is set aside: a lock made from local wheels would hold hashes that nobody else can match. An
# index other than the ordinary one can be named by PIP_INDEX_URL.
set -eu
cd "$(dirname "$0")/.."

lock=build/lock
if [ ! -x $lock/bin/pip-compile ]; then
    python=${PYTHON:-python3.11}
    "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
        echo "rooflight: the locks are resolved with Python 3.11; name one: make lock PYTHON=/path/to/python3.11" >&2
        exit 1
    }
    mkdir -p build
    "$python" -m venv $lock
    if [ -f requirements/dev.txt ]; then
        $lock/bin/python -m pip install -qq --require-hashes --only-binary :all: -r requirements/dev.txt
    else
        $lock/bin/python -m pip install -qq pip-tools
    fi
fi

export PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock"
unset PIP_FIND_LINKS PIP_EXTRA_INDEX_URL PIP_CONSTRAINT

compile() { # lock, then the options that say what goes in
    name=$1
    shift
    $lock/bin/python -m piptools compile --quiet ${UPGRADE:+--upgrade} \
        --generate-hashes --strip-extras --allow-unsafe \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
        --build-deps-for editable "$@" --output-file "requirements/$name.txt" pyproject.toml
    echo "requirements/$name.txt: $(grep -c '==' "requirements/$name.txt") packages"
}

mkdir -p requirements
compile site --extra site
compile test --extra site --extra algebra --extra sweep --extra test --constraint requirements/site.txt
compile dev --extra site --extra algebra --extra sweep --extra test --extra dev --constraint requirements/test.txt
