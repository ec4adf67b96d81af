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
# pip says which packages are missing, and the lock, by hash, which files they may be.
pip=(.venv/bin/python -m pip --disable-pip-version-check)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The driver of SQL Server brings a part that is not free software: its lock is apart, too.
lock=requirements/dev.txt
if [ "$1" = sql-server ]; then lock=requirements/sql-server.txt; fi
grep -E '^[A-Za-z0-9._-]+==' "$lock" | sed 's/ *\\$//' >"$folder/pins"
"${pip[@]}" install --quiet --dry-run --report "$folder/report" --no-build-isolation \
    --constraint "$folder/pins" --editable ".[$1]"
.venv/bin/python - "$folder" "$lock" <<'END'
import json, pathlib, re, sys

folder = pathlib.Path(sys.argv[1])
missing = [item["metadata"]["name"] for item in json.loads((folder / "report").read_bytes())["install"]]
names = {re.sub(r"[-_.]+", "-", name).lower() for name in missing} - {"retrieval-assay"}
locked = re.split(r"^(?=[A-Za-z0-9])", pathlib.Path(sys.argv[2]).read_text(), flags=re.M)
blocks = {part.partition("==")[0]: part for part in locked}
if unknown := names - blocks.keys():
    sys.exit(f"{sys.argv[2]} lacks {', '.join(sorted(unknown))}: run make lock")
(folder / "lock").write_text("".join(blocks[name] for name in names))
END
if [ -s "$folder/lock" ]; then
    "${pip[@]}" install --no-deps --require-hashes --requirement "$folder/lock"
fi
"${pip[@]}" install --no-deps --no-build-isolation --editable .
