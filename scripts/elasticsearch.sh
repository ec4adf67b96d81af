#!/usr/bin/env bash
# Starts or stops an Elasticsearch server, without Docker. Maven Central has its kernel: BM25 and
# k-NN, no analyzer but `standard`, and no retriever that fuses.
# Usage: scripts/elasticsearch.sh up|down [VERSION]
# Needs Java 17 to 23, and Maven for the first `up`, which downloads what
# scripts/elasticsearch/VERSION lists (107 MB) and checks its digest. `up` waits until the server
# answers, and prints what to export; `down` stops it and removes what it stored. It listens on
# 127.0.0.1 alone, at $ELASTICSEARCH_PORT (else 9200), and lies in $ELASTICSEARCH_HOME (else
# ~/.cache/assay-elasticsearch; for root, who may not run it, /var/cache/assay-elasticsearch, with a
# user of its own).
set -euo pipefail

server=Elasticsearch
name=elasticsearch
variable=ES
newest=8.19.21
least_java=17 most_java=23
heap=1g size="107 MB"
# shellcheck source=scripts/java_server.sh
. "$(dirname "$0")/java_server.sh"

write_settings() {
    echo "xpack.security.enabled: false"
}

finish() { :; }

main "$@"
