#!/usr/bin/env bash
# Starts or stops a Neo4j server (community edition), without Docker.
# Usage: scripts/neo4j.sh up|down [VERSION]
# Needs a JDK 17 or 21, and Maven for the first `up`, which downloads the files that
# scripts/neo4j/VERSION lists (128 MB) and checks their digests. `up` waits until the server
# answers, and prints what to export; `down` stops it and removes what it stored. It listens on
# 127.0.0.1 alone, at $NEO4J_PORT (else 7687), asks for no password, and lies in $NEO4J_HOME (else
# ~/.cache/assay-neo4j; for root /var/cache/assay-neo4j).
set -euo pipefail

server=Neo4j
name=neo4j
variable=NEO4J
newest=5.26.0
least_java=17 most_java=21
heap=1g size="128 MB"
default_port=7687 scheme=bolt
# shellcheck source=scripts/java_server.sh
. "$(dirname "$0")/java_server.sh"

write_pom() {
    cat <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assay</groupId><artifactId>$name</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>$version</version>
  </dependency></dependencies>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-dependency-plugin</artifactId>
    <version>3.6.1</version>
    <configuration>
      <outputDirectory>\${project.basedir}/$version</outputDirectory>
      <includeScope>runtime</includeScope>
    </configuration>
  </plugin></plugins></build>
</project>
POM
}

install_server() {
    local made
    mkdir -p "$home"
    made=$(mktemp -d "$home/partial.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$made'" EXIT
    echo "downloading $server $version ($size) to $home" >&2
    command -v mvn >/dev/null || fail "mvn is not installed: Maven downloads $server $version"
    write_pom >"$made/pom.xml"
    mvn --batch-mode --quiet --file "$made/pom.xml" dependency:copy-dependencies \
        >"$made/log" 2>&1 ||
        fail "maven could not download $server $version:" \
            "$(sed -n 's/.*\[ERROR\] //p' "$made/log" | head -n 1)"
    list_artifacts >"$made/digests"
    (cd "$made/$version" && sha256sum --check --quiet --strict ../digests >../log 2>&1) ||
        fail "$server $version: what was downloaded has another digest:" \
            "$(head -n 1 "$made/log")"
    mv "$made/$version" "$home/$version"
    rm -rf "$made"
    trap - EXIT
}

# The server speaks first when it is greeted in its protocol.
answers() {
    python3 - "$port" 2>/dev/null <<'PYTHON'
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as asked:
    asked.sendall(bytes.fromhex("6060b017" "00000005" + "00000000" * 3))
    sys.exit(len(asked.recv(4)) != 4)
PYTHON
}

start() {
    local pid said
    if answers; then fail "port $port is taken: set $port_variable to another"; fi
    rm -rf "$run"
    mkdir -p "$run/tmp"
    cat >"$run/neo4j.conf" <<CONF
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:$port
dbms.usage_report.enabled=false
CONF
    cat >"$run/Start.java" <<'JAVA'
import java.nio.file.Path;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

class Start {
    public static void main(String[] given) {
        var run = Path.of(given[0]);
        var server = new DatabaseManagementServiceBuilder(run)
            .loadPropertiesFromFile(run.resolve("neo4j.conf")).build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
    }
}
JAVA
    nohup "${!java_variable}/bin/java" "-Xmx$heap" "-Djava.io.tmpdir=$run/tmp" \
        -cp "$home/$version/*" "$run/Start.java" "$run" </dev/null >"$run/out" 2>&1 &
    pid=$!
    echo "$pid" >"$run/pid"
    for _ in $(seq "$seconds_to_start"); do
        if answers; then return; fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 1
    done
    said=$(grep -E 'ERROR|Exception|error' "$run/out" | head -n 1)
    stop_running
    fail "$server $version did not start: ${said:-no answer within $seconds_to_start s};" \
        "see $run/out"
}

main "$@"
