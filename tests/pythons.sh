#!/bin/sh
# Runs the unit tests that need no Mininet on other versions of Python than the system's:
#
#   tests/pythons.sh python3.12 python3.13
#
# Each interpreter gets an environment with the package's requirements in build/pythons/. A system
# has one version of Python among its packages; uv and pyenv have others.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
[ $# -gt 0 ] || { echo "at least one interpreter must be given, as python3.13" >&2; exit 2; }
for python; do
    command -v "$python" >/dev/null || { echo "$python is not installed" >&2; exit 3; }
    version=$("$python" -c 'import platform; print(platform.python_version())')
    environment=build/pythons/$version
    [ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
    "$environment/bin/pip" install -qq --disable-pip-version-check --editable ".[test,notebooks]" >&2
    echo "Python $version"
    "$environment/bin/python" -m pytest -q -n auto -m "not slow" -p no:cacheprovider tests/unit
done
