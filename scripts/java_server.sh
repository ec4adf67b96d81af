# Starts and stops a search server that Maven Central has, without Docker: opensearch.sh,
# elasticsearch.sh and neo4j.sh say which, and source this. They set
#   server             what people call it
#   name               its program; the folder of its tables, one a version; its user
#   variable           what its own environment variables begin with
#   newest             the default version
#   least_java most_java
#   heap size          of memory, and of what is downloaded
#   default_port scheme  of its address, where these are not 9200 and http
# and define write_settings, which prints its own lines of its configuration, and finish, which is
# given the folder of what was downloaded and that of the server, and completes this. A server that
# comes as jars alone has an install_server, an answers and a start of its own.

tables=$(cd "$(dirname "$0")" && pwd)/$name
upper=${name^^}
port_variable=${upper}_PORT home_variable=${upper}_HOME java_variable=${variable}_JAVA_HOME
port=${!port_variable:-${default_port:-9200}}
user=assay-$name
if [ "$(id -u)" = 0 ]; then
    home=${!home_variable:-/var/cache/assay-$name}
else
    home=${!home_variable:-${XDG_CACHE_HOME:-$HOME/.cache}/assay-$name}
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
    local java=${!java_variable:+${!java_variable}/bin/}java told major
    command -v "$java" >/dev/null ||
        fail "java is not installed: $server $version needs Java $least_java"
    told=$("$java" -XshowSettings:properties -version 2>&1)
    major=$(sed -n 's/^ *java.specification.version = //p' <<<"$told")
    if ! [ "${major%.*}" -ge "$least_java" ] || [ "$major" -gt "$most_java" ]; then
        fail "java: version $major; $server $version needs $least_java to $most_java" \
            "(see $java_variable)"
    fi
    export "$java_variable=$(sed -n 's/^ *java.home = //p' <<<"$told")"
}

list_artifacts() {
    grep -v '^#' "$tables/$version"
}

write_pom() {
    cat <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assay</groupId><artifactId>$name</artifactId><version>1</version>
  <packaging>pom</packaging>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-dependency-plugin</artifactId>
    <version>3.6.1</version>
    <configuration>
      <outputDirectory>\${project.basedir}</outputDirectory>
      <artifactItems>
POM
    local group artifact number type
    list_artifacts | while IFS=' :' read -r _ group artifact number type _; do
        echo "        <artifactItem><groupId>$group</groupId><artifactId>$artifact</artifactId>" \
            "<version>$number</version><type>$type</type></artifactItem>"
    done
    printf '      </artifactItems>\n    </configuration>\n  </plugin></plugins></build>\n</project>\n'
}

# Into the folder $1, by Maven with the settings of whoever calls.
download() {
    local digest artifact number type
    command -v mvn >/dev/null || fail "mvn is not installed: Maven downloads $server $version"
    write_pom >"$1/pom.xml"
    mvn --batch-mode --quiet --file "$1/pom.xml" dependency:copy >"$1/log" 2>&1 ||
        fail "maven could not download $server $version:" \
            "$(sed -n 's/.*\[ERROR\] //p' "$1/log" | head -n 1)"
    list_artifacts | while IFS=' :' read -r digest _ artifact number type _; do
        echo "$digest  $artifact-$number.$type"
    done >"$1/digests"
    (cd "$1" && sha256sum --check --quiet --strict digests >log 2>&1) ||
        fail "$server $version: what was downloaded has another digest:" \
            "$(head -n 1 "$1/log")"
}

# Made beside its place and moved there, so that what is there is whole.
install_server() {
    local made artifact number type folder
    mkdir -p "$home"
    made=$(mktemp -d "$home/partial.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$made'" EXIT
    echo "downloading $server $version ($size) to $home" >&2
    download "$made"
    while IFS=' :' read -r _ _ artifact number type folder; do
        if [ "$folder" = . ]; then
            python3 -m zipfile -e "$made/$artifact-$number.$type" "$made"
        fi
    done < <(list_artifacts)
    finish "$made" "$made/$name-$version"
    chmod +x "$made/$name-$version"/bin/*
    chmod -R go+rX "$made/$name-$version"
    mv "$made/$name-$version" "$home/$version"
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
    if answers; then fail "port $port is taken: set $port_variable to another"; fi
    rm -rf "$run"
    mkdir -p "$run/config" "$run/data" "$run/logs" "$run/tmp"
    cp -R "$home/$version/config/." "$run/config"
    # Without its files in the server's own folder, which is not written to.
    sed '/logs\/\|=data$/d' "$home/$version/config/jvm.options" >"$run/config/jvm.options"
    cat >"$run/config/$name.yml" <<YAML
cluster.name: assay
node.name: assay
network.host: 127.0.0.1
http.port: $port
discovery.type: single-node
path.data: $run/data
path.logs: $run/logs
# A disk that is nearly full would make every index read-only.
cluster.routing.allocation.disk.threshold_enabled: false
$(write_settings)
YAML
    if [ "$(id -u)" = 0 ]; then
        id "$user" >/dev/null 2>&1 ||
            useradd --system --no-create-home --shell /usr/sbin/nologin "$user" ||
            fail "$server may not run as root, and no user $user could be made"
        chown -R "$user" "$run"
        as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
    fi
    (
        export HOME=$run
        export "${variable}_PATH_CONF=$run/config" "${variable}_TMPDIR=$run/tmp"
        export "${variable}_JAVA_OPTS=-Xms$heap -Xmx$heap"
        nohup ${as[@]+"${as[@]}"} "$home/$version/bin/$name" \
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
    fail "$server $version did not start: ${said:-no answer within $seconds_to_start s};" \
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

main() {
    version=${2:-$newest}
    case ${1:-} in
        up)
            [ -f "$tables/$version" ] ||
                fail "$version: no such version; there are: $(cd "$tables" && echo *)"
            if ! is_running; then
                check_tools
                if [ ! -d "$home/$version" ]; then install_server; fi
                start
            fi
            echo "export ${upper}_URL=${scheme:-http}://127.0.0.1:$port"
            ;;
        down)
            stop_running
            rm -rf "$run"
            ;;
        *) fail "usage: scripts/$name.sh up|down [VERSION]" ;;
    esac
}
