#!/usr/bin/env bash
# Installs the extra NAME of pyproject.toml into .venv, in the versions of requirements/.
# Usage: scripts/extra.sh NAME
set -euo pipefail

extras=$(.venv/bin/python -c 'import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"])')
case " $extras " in
    *" ${1:-none} "*) ;;
    *)
        echo "NAME=${1:-}: no extra; there are: $extras" >&2
        exit 2
        ;;
esac
# sentence-transformers has a lock of its own, and torch comes from where there is a CPU build.
if [ "$1" = st ]; then exec "${MAKE:-make}" --no-print-directory .venv/st.installed; fi
pins=$(mktemp)
trap 'rm -f "$pins"' EXIT
grep -E '^[A-Za-z0-9._-]+==' requirements/dev.txt | sed 's/ *\\$//' >"$pins"
.venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation \
    --constraint "$pins" --editable ".[$1]"
