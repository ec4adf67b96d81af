#!/usr/bin/env bash
# Starts or stops an OpenSearch server with its k-NN and neural-search plugins, without Docker.
# Usage: scripts/opensearch.sh up|down [VERSION]
# Needs Java 17 to 23, and Maven for the first `up`, which downloads what scripts/opensearch/VERSION
# lists (67 MB) and checks its digests. `up` waits until the server answers, and prints what to
# export; `down` stops it and removes what it stored. It listens on 127.0.0.1 alone, at
# $OPENSEARCH_PORT (else 9200), and lies in $OPENSEARCH_HOME (else ~/.cache/assay-opensearch; for
# root, who may not run it, /var/cache/assay-opensearch, with a user of its own).
set -euo pipefail

tables=$(cd "$(dirname "$0")" && pwd)/opensearch
port=${OPENSEARCH_PORT:-9200}
user=assay-opensearch
if [ "$(id -u)" = 0 ]; then
    home=${OPENSEARCH_HOME:-/var/cache/assay-opensearch}
else
    home=${OPENSEARCH_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/assay-opensearch}
fi
run=$home/run-$port
seconds_to_start=120
seconds_to_stop=30

fail() {
    echo "$*" >&2
    exit 2
}

check_tools() {
    command -v python3 >/dev/null || fail "python3 is not installed: it unpacks what is downloaded"
    local java=${OPENSEARCH_JAVA_HOME:+$OPENSEARCH_JAVA_HOME/bin/}java told major
    command -v "$java" >/dev/null || fail "java is not installed: OpenSearch $version needs Java 17"
    told=$("$java" -XshowSettings:properties -version 2>&1)
    major=$(sed -n 's/^ *java.specification.version = //p' <<<"$told")
    if ! [ "${major%.*}" -ge 17 ] || [ "$major" -gt 23 ]; then
        fail "java: version $major; OpenSearch $version needs 17 to 23 (see OPENSEARCH_JAVA_HOME)"
    fi
    OPENSEARCH_JAVA_HOME=$(sed -n 's/^ *java.home = //p' <<<"$told")
    export OPENSEARCH_JAVA_HOME
}

list_artifacts() {
    grep -v '^#' "$tables/$version"
}

write_pom() {
    cat <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assay</groupId><artifactId>opensearch</artifactId><version>1</version>
  <packaging>pom</packaging>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-dependency-plugin</artifactId>
    <version>3.6.1</version>
    <configuration>
      <outputDirectory>${project.basedir}</outputDirectory>
      <artifactItems>
POM
    local group name number type
    list_artifacts | while IFS=' :' read -r _ group name number type _; do
        echo "        <artifactItem><groupId>$group</groupId><artifactId>$name</artifactId>" \
            "<version>$number</version><type>$type</type></artifactItem>"
    done
    printf '      </artifactItems>\n    </configuration>\n  </plugin></plugins></build>\n</project>\n'
}

# Into the folder $1, by Maven with the settings of whoever calls.
download() {
    local digest coordinate name number type
    command -v mvn >/dev/null || fail "mvn is not installed: Maven downloads OpenSearch $version"
    write_pom >"$1/pom.xml"
    mvn --batch-mode --quiet --file "$1/pom.xml" dependency:copy >"$1/log" 2>&1 ||
        fail "maven could not download OpenSearch $version:" \
            "$(sed -n 's/.*\[ERROR\] //p' "$1/log" | head -n 1)"
    list_artifacts | while IFS=' :' read -r digest _ name number type _; do
        echo "$digest  $name-$number.$type"
    done >"$1/digests"
    (cd "$1" && sha256sum --check --quiet --strict digests >log 2>&1) ||
        fail "OpenSearch $version: what was downloaded has another digest:" \
            "$(head -n 1 "$1/log")"
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

# Made beside its place and moved there, so that what is there is whole.
install_server() {
    local made server name number type folder plugins=()
    mkdir -p "$home"
    made=$(mktemp -d "$home/partial.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$made'" EXIT
    echo "downloading OpenSearch $version (67 MB) to $home" >&2
    download "$made"
    server=$made/opensearch-$version
    while IFS=' :' read -r _ _ name number type folder; do
        case $folder in
            .) python3 -m zipfile -e "$made/$name-$number.$type" "$made" ;;
            plugins) plugins+=("file://$made/$name-$number.$type") ;;
            *) mkdir -p "$server/$folder" && mv "$made/$name-$number.$type" "$server/$folder/" ;;
        esac
    done < <(list_artifacts)
    for folder in "$server"/modules/*; do
        if [ ! -e "$folder/plugin-descriptor.properties" ]; then describe_module "$folder"; fi
    done
    chmod +x "$server"/bin/*
    "$server/bin/opensearch-plugin" install --batch "${plugins[@]}" >"$made/log" 2>&1 ||
        fail "OpenSearch $version: its plugins could not be installed: $(tail -n 1 "$made/log")"
    chmod -R go+rX "$server"
    mv "$server" "$home/$version"
    rm -rf "$made"
    trap - EXIT
}

# Only what was started here: a number may have passed to another process.
is_running() {
    local pid
    pid=$(cat "$run/pid" 2>/dev/null) || return 1
    kill -0 "$pid" 2>/dev/null || return 1
    { tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } 2>/dev/null | grep -F "$run" >/dev/null
}

answers() {
    python3 - "http://127.0.0.1:$port/_cluster/health" 2>/dev/null <<'PYTHON'
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(sys.argv[1], timeout=5).read()
PYTHON
}

start() {
    local as=() pid
    if answers; then fail "port $port is taken: set OPENSEARCH_PORT to another"; fi
    rm -rf "$run"
    mkdir -p "$run/config" "$run/data" "$run/logs" "$run/tmp"
    cp -R "$home/$version/config/." "$run/config"
    # Without its files in the server's own folder, which is not written to.
    sed '/logs\/\|=data$/d' "$home/$version/config/jvm.options" >"$run/config/jvm.options"
    cat >"$run/config/opensearch.yml" <<YAML
cluster.name: assay
node.name: assay
network.host: 127.0.0.1
http.port: $port
discovery.type: single-node
path.data: $run/data
path.logs: $run/logs
# A disk that is nearly full would make every index read-only.
cluster.routing.allocation.disk.threshold_enabled: false
YAML
    if [ "$(id -u)" = 0 ]; then
        id "$user" >/dev/null 2>&1 ||
            useradd --system --no-create-home --shell /usr/sbin/nologin "$user" ||
            fail "OpenSearch may not run as root, and no user $user could be made"
        chown -R "$user" "$run"
        as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
    fi
    (
        export HOME=$run OPENSEARCH_PATH_CONF=$run/config OPENSEARCH_JAVA_OPTS="-Xms2g -Xmx2g"
        export OPENSEARCH_TMPDIR=$run/tmp
        nohup ${as[@]+"${as[@]}"} "$home/$version/bin/opensearch" \
            </dev/null >"$run/logs/out" 2>&1 &
        echo $! >"$run/pid"
    )
    pid=$(cat "$run/pid")
    for _ in $(seq "$seconds_to_start"); do
        if answers; then return; fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 1
    done
    local said
    said=$(grep -E 'ERROR|Exception|error' "$run/logs/out" | head -n 1)
    stop_running
    fail "OpenSearch $version did not start: ${said:-no answer within $seconds_to_start s};" \
        "see $run/logs"
}

stop_running() {
    local pid
    if ! is_running; then return; fi
    pid=$(cat "$run/pid")
    kill "$pid"
    for _ in $(seq $((seconds_to_stop * 5))); do
        if ! kill -0 "$pid" 2>/dev/null; then return; fi
        sleep 0.2
    done
    kill -KILL "$pid"
}

action=${1:-}
version=${2:-2.19.1}
case $action in
    up)
        [ -f "$tables/$version" ] ||
            fail "$version: no such version; there are: $(cd "$tables" && echo *)"
        if ! is_running; then
            check_tools
            if [ ! -d "$home/$version" ]; then install_server; fi
            start
        fi
        echo "export OPENSEARCH_URL=http://127.0.0.1:$port"
        ;;
    down)
        stop_running
        rm -rf "$run"
        ;;
    *) fail "usage: scripts/opensearch.sh up|down [VERSION]" ;;
esac
