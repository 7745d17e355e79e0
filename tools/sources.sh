#!/bin/sh
# Fetches the wheels that specs quote from into .sources/, as requirements/sources.txt pins them. Usage: tools/sources.sh
#
# Nothing in them is installed, imported or run: the source guard reads their files as text. One file serves every
# interpreter and processor, so one platform is named for those that come in several. Without a network the quotes are
# reported as not checked, which blocks nothing, so a failed download is no failure here.
set -eu
cd "$(dirname "$0")/.."

lock=requirements/sources.txt
folder=.sources
python=${PYTHON:-.venv/bin/python}
stamp=$folder/stamp-$(cksum <$lock | cut -d ' ' -f 1)
if [ -e "$stamp" ]; then
    exit 0
fi

echo "rooflight: fetching the texts that specs quote from ($lock)"
mkdir -p $folder/new
if "$python" -m pip download -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi none --platform manylinux_2_34_x86_64 --platform any \
    --dest $folder/new -r $lock; then
    rm -f $folder/*.whl $folder/stamp-*
    mv $folder/new/*.whl $folder/
    : >"$stamp"
else
    echo "rooflight: the texts could not be fetched; quotes that need them are reported as not checked" >&2
fi
rm -rf $folder/new
