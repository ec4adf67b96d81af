#!/usr/bin/env bash
# Installs requirements/NAME.txt, and any PACKAGE given besides, into .venv.
# Usage: scripts/install.sh NAME [PACKAGE...]
# A new .venv is made with $PYTHON, or with the first fit python on the path.
set -euo pipefail

fail() {
    echo "$*" >&2
    exit 2
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    candidate=${PYTHON:-python3}
    fail "Python 3.11 or later is needed; $candidate is" \
        "$("$candidate" --version 2>/dev/null || echo missing). Name another: make ... PYTHON=PATH"
}

make_venv() {
    local python
    python=$(find_python)
    echo "Making .venv with $("$python" --version)"
    if "$python" -c 'from ensurepip import version' 2>/dev/null; then
        "$python" -m venv --clear .venv
    elif "$python" -m pip --version >/dev/null 2>&1; then
        # Debian without python3-venv: its own pip puts one into the environment.
        "$python" -m venv --clear --without-pip .venv
        "$python" -m pip --python .venv/bin/python install --quiet pip
    else
        fail "$python has neither ensurepip nor pip: install one of them" \
            "(Debian, Ubuntu: apt-get install python3-venv)"
    fi
}

# Brings pip and setuptools, of which Python's own are old, to those of the lock, and uv: before all
# else, since these install the rest.
upgrade_tools() {
    awk '/^(pip|setuptools|uv)==/ { inside = 1 } inside { print } !/\\$/ { inside = 0 }' "$lock" >.venv/tools.txt
    "${pip[@]}" install --quiet --no-deps --require-hashes --requirement .venv/tools.txt
}

# uv takes a fifth of pip's time, and knows of pip's settings only the folders it is given: who told
# pip of another index or a proxy has pip.
install_by_uv() {
    [ -x .venv/bin/uv ] || return
    if "${pip[@]}" config list | grep -v "^:env:.find-links" | grep -Eq 'index|proxy|find-links'; then
        return 1
    fi
    # shellcheck disable=SC2086
    .venv/bin/uv --no-config --system-certs pip install --python .venv/bin/python \
        ${PIP_FIND_LINKS:+--find-links ${PIP_FIND_LINKS// / --find-links }} "$@"
}

# A lock is complete, so there is nothing to resolve.
unpack() {
    local locked=(--no-deps --require-hashes --requirement "$lock")
    install_by_uv "${locked[@]}" || "${pip[@]}" install --progress-bar off "${locked[@]}"
}

install() {
    upgrade_tools &&
        unpack &&
        "${pip[@]}" install --no-deps --no-build-isolation --editable . &&
        if [ $# -gt 0 ]; then install_by_uv "$@" || "${pip[@]}" install "$@"; fi
}

# Shows pip's many lines as one count; uv tells the same in three.
count() {
    local total=$1 seen=0 line
    while read -r line; do
        case $line in
            Resolved* | Prepared* | Installed*)
                echo "$lock: ${line,}"
                continue
                ;;
            Collecting* | Ignoring* | "Requirement already"*" (from -r "*) seen=$((seen + 1)) ;;
            *) continue ;;
        esac
        if [ "$seen" -gt "$total" ]; then
            continue
        elif [ -t 1 ]; then
            printf '\r%s: %s of %s packages' "$lock" "$seen" "$total"
        elif [ $((seen % 40)) = 0 ] || [ "$seen" = "$total" ]; then
            echo "$lock: $seen of $total packages"
        fi
    done
    if [ -t 1 ]; then echo; fi
}

lock=requirements/$1.txt
log=.venv/install.log
whole=.venv/whole
pip=(.venv/bin/python -m pip --disable-pip-version-check)

# An installation killed half-way leaves packages that look installed: begin anew.
if [ ! -e "$whole" ] || ! "${pip[@]}" --version >/dev/null 2>&1; then make_venv; fi
rm -f "$whole"
echo "Installing" "$lock" "${@:2}" "into .venv (once)"
if ! install "${@:2}" 2>&1 | tee "$log" | count "$(grep -c == "$lock")"; then
    grep -i -A 4 error "$log" | tail -n 15 >&2 || true
    fail "Installing $lock failed (is the package index reachable?); pip's output: $log"
fi
touch "$whole"
