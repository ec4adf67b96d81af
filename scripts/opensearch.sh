#!/usr/bin/env bash
# Starts or stops an OpenSearch server with its k-NN and neural-search plugins, without Docker.
# Usage: scripts/opensearch.sh up|down [VERSION]
# Needs Java 17 to 23, and Maven for the first `up`, which downloads what scripts/opensearch/VERSION
# lists (67 MB) and checks its digests. `up` waits until the server answers, and prints what to
# export; `down` stops it and removes what it stored. It listens on 127.0.0.1 alone, at
# $OPENSEARCH_PORT (else 9200), and lies in $OPENSEARCH_HOME (else ~/.cache/assay-opensearch; for
# root, who may not run it, /var/cache/assay-opensearch, with a user of its own).
set -euo pipefail

server=OpenSearch
name=opensearch
variable=OPENSEARCH
newest=2.19.1
least_java=17 most_java=23
heap=2g size="67 MB"
# shellcheck source=scripts/java_server.sh
. "$(dirname "$0")/java_server.sh"

write_settings() { :; }

finish() {
    local artifact number type folder plugins=()
    while IFS=' :' read -r _ _ artifact number type folder; do
        case $folder in
            .) ;;
            plugins) plugins+=("file://$1/$artifact-$number.$type") ;;
            *) mkdir -p "$2/$folder" && mv "$1/$artifact-$number.$type" "$2/$folder/" ;;
        esac
    done < <(list_artifacts)
    for folder in "$2"/modules/*; do
        if [ ! -e "$folder/plugin-descriptor.properties" ]; then describe_module "$folder"; fi
    done
    chmod +x "$2"/bin/*
    "$2/bin/opensearch-plugin" install --batch "${plugins[@]}" >"$1/log" 2>&1 ||
        fail "OpenSearch $version: its plugins could not be installed: $(tail -n 1 "$1/log")"
}

# A module that the server's zip lacks comes as bare jars, without what is said of it.
describe_module() {
    local class
    case $1 in
        */analysis-common) class=org.opensearch.analysis.common.CommonAnalysisPlugin ;;
        */mapper-extras) class=org.opensearch.index.mapper.MapperExtrasPlugin ;;
        */lang-painless)
            class=org.opensearch.painless.PainlessPlugin
            # It compiles scripts to classes, and loads them.
            cat >"$1/plugin-security.policy" <<'POLICY'
grant {
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "getClassLoader";
};
POLICY
            ;;
        *) fail "$1: no such module" ;;
    esac
    cat >"$1/plugin-descriptor.properties" <<DESCRIPTOR
name=${1##*/}
description=${1##*/}
version=$version
opensearch.version=$version
java.version=11
classname=$class
extended.plugins=
has.native.controller=false
DESCRIPTOR
}

main "$@"
