#!/bin/sh
# Installs Debian's Chromium unless a browser that the tests can drive is there already.
set -eu

if [ -n "${ROOFLIGHT_CHROMIUM:-}" ]; then
    exit 0
fi
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if ! command -v apt-get >/dev/null 2>&1; then
    echo "rooflight: no Chromium found. Install one, or name it in ROOFLIGHT_CHROMIUM." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "rooflight: no Chromium found. As root: apt-get install chromium" >&2
    exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null
