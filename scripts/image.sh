#!/usr/bin/env bash
# Builds the image of docker/Dockerfile without Docker and without a registry, and runs `assay demo`
# in it, without a network. The base is made of Debian's packages, in place of the one that the
# Dockerfile names. Needs root, buildah and mmdebstrap. Nothing is kept.
# Ends with 2 and one line where it cannot be built here, else with 1 where something fails.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

for program in buildah mmdebstrap unshare; do
    if ! command -v "$program" >/dev/null || [ "$(id -u)" != 0 ]; then
        echo "The image is not built: that takes root, buildah, mmdebstrap and unshare." >&2
        exit 2
    fi
done
folder=$(mktemp -d)
build() { buildah --root "$folder/images" --runroot "$folder/run" "$@"; }
finish() {
    build rm --all >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap finish EXIT

# How this machine has pip reach its index, and what it trusts. No bytecode is made beforehand.
settings=(--env PIP_NO_COMPILE=1)
for name in $(compgen -e PIP_); do settings+=(--env "$name"); done
if [ -n "${PIP_CERT:-}" ]; then settings+=(--volume "$PIP_CERT:$PIP_CERT:ro"); fi

packages=ca-certificates,python-is-python3,python3-venv
reach="python -m venv /tmp/new && /tmp/new/bin/pip download -q --no-deps -d /tmp/new pip"
if ! unshare --net true || ! base=$(build from scratch) || ! root=$(build mount "$base") ||
    ! mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$root" ||
    ! build run --isolation chroot "${settings[@]}" "$base" -- sh -c "$reach && rm -r /tmp/new"; then
    echo "The image is not built: no base could be made in which pip reaches its index." >&2
    exit 2
fi
# Buildah and a command in the image end with codes of their own, 2 among them.
trap 'exit 1' ERR
build umount "$base" >/dev/null
build commit --quiet --rm "$base" base >/dev/null

build bud --quiet --isolation chroot --network host --layers=false --build-arg BASE=localhost/base \
    "${settings[@]}" --file docker/Dockerfile --tag assay . >/dev/null

image=$(build from assay)
call() {
    unshare --net buildah --root "$folder/images" --runroot "$folder/run" \
        run --isolation chroot "$image" -- "$@"
}
if [ "$(call id -u)" = 0 ]; then
    echo "The image runs as root." >&2
    exit 1
fi
call assay demo | tee "$folder/demo"
if ! grep -q "^hybrid is better than bm25" "$folder/demo"; then
    echo "assay demo has no verdict in the image." >&2
    exit 1
fi
echo "The image is built, and assay demo runs in it."
