#!/usr/bin/env bash
# Starts or stops the servers of docker/compose.yaml.
# Usage: scripts/engines.sh up|down [SERVICE...]
# `up` waits until they answer, and prints what to export. `down` keeps what they stored.
set -euo pipefail
cd "$(dirname "$0")/.."

services=(weaviate opensearch qdrant postgres mlflow)
compose=(docker compose --file docker/compose.yaml)

fail() {
    echo "$*" >&2
    exit 2
}

has() {
    local each
    for each in "${chosen[@]}"; do
        if [ "$each" = "$1" ]; then return 0; fi
    done
    return 1
}

print_exports() {
    if has weaviate; then echo "export WEAVIATE_URL=http://127.0.0.1:8080"; fi
    if has opensearch; then echo "export OPENSEARCH_URL=http://127.0.0.1:9200"; fi
    if has qdrant; then echo "export QDRANT_URL=http://127.0.0.1:6333"; fi
    if has postgres; then
        echo "export POSTGRES_URL=postgresql://postgres@127.0.0.1:5432/assay"
        # shellcheck disable=SC2016
        echo 'export PGPASSWORD="$POSTGRES_PASSWORD"'
    fi
    if has mlflow; then echo "export MLFLOW_TRACKING_URI=http://127.0.0.1:5000"; fi
}

action=${1:-}
chosen=("${@:2}")
if [ ${#chosen[@]} = 0 ]; then chosen=("${services[@]}"); fi
for each in "${chosen[@]}"; do
    case " ${services[*]} " in
        *" $each "*) ;;
        *) fail "$each: no such server; there are: ${services[*]}" ;;
    esac
done
if ! command -v docker >/dev/null; then
    fail "docker is not installed: the servers run in containers (docs.docker.com/engine/install)"
elif ! docker compose version >/dev/null 2>&1; then
    fail "docker lacks its plugin compose, version 2 or later (docs.docker.com/compose/install)"
elif ! docker info >/dev/null 2>&1; then
    fail "docker does not answer: start its service, or ask for the right to use it"
fi
case $action in
    up)
        if has postgres && [ -z "${POSTGRES_PASSWORD:-}" ]; then
            fail "postgres: set POSTGRES_PASSWORD to a password of your choice," \
                'or leave it out: make engines-up ENGINES="weaviate opensearch qdrant mlflow"'
        fi
        "${compose[@]}" up --detach --wait "${chosen[@]}"
        print_exports
        ;;
    down) "${compose[@]}" down ;;
    *) fail "usage: scripts/engines.sh up|down [SERVICE...]" ;;
esac
