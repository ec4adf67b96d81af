#!/usr/bin/env bash
# Builds the image of docker/Dockerfile without Docker and without a registry, and runs `assay demo`
# in it, without a network. The base is made of Debian's packages, in place of the one that the
# Dockerfile names. Needs root, buildah and mmdebstrap. Nothing is kept.
# Ends with 2 and one line where it cannot be built here, else with 1 where something fails.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

if ! command -v buildah mmdebstrap unshare >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "The image is not built: that takes root, buildah and mmdebstrap." >&2
    exit 2
fi
folder=$(mktemp -d)
build() { buildah --root "$folder/images" --runroot "$folder/run" "$@"; }
finish() {
    build rm --all >/dev/null 2>&1 || true
    rm -rf "$folder"
}
trap finish EXIT

packages=ca-certificates,python-is-python3,python3-venv
if ! unshare --net true || ! base=$(build from scratch) || ! root=$(build mount "$base") ||
    ! mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$root" ||
    ! build run --isolation chroot "$base" -- true; then
    echo "The image is not built: its base could not be made, or nothing may be run in it." >&2
    exit 2
fi
# Buildah and a command in the image end with codes of their own, 2 among them.
trap 'exit 1' ERR
build umount "$base" >/dev/null
build commit --quiet --rm "$base" base >/dev/null

# What this machine trusts, if it names that for pip.
trust=()
if [ -n "${PIP_CERT:-}" ]; then trust=(--env PIP_CERT --volume "$PIP_CERT:$PIP_CERT:ro"); fi
build bud --quiet --isolation chroot --network host --layers=false --build-arg BASE=localhost/base \
    "${trust[@]}" --file docker/Dockerfile --tag assay . >/dev/null

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
