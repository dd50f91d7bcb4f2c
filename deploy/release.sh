#!/usr/bin/env bash
# release.sh [same]: builds dist/bot-VERSION-linux-ARCH for amd64 and arm64, and SHA256SUMS.
# With "same" each is built a second time, from a copy of the sources in another folder and
# with an empty cache, and has to come out equal, byte for byte.
#
# What makes it so: no cgo, no paths (-trimpath), no build id, no time, and of the
# repository only what is passed in. Whoever builds the same commit with the same Go
# (go.mod says which) has the same file.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
commit=${COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
archs=${ARCHS:-amd64 arm64}
out=$PWD/dist

build() { # build ARCH FILE, in the current folder
  CGO_ENABLED=0 GOOS=linux GOARCH=$1 GOFLAGS= go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$version -X main.commit=$commit" -o "$2" ./cmd/bot
}

rm -rf "$out"
mkdir -p "$out"
for arch in $archs; do
  build "$arch" "$out/bot-$version-linux-$arch"
done
(cd "$out" && sha256sum bot-* >SHA256SUMS && ls -l bot-*)

test "${1:-}" = same || exit 0
again=$(mktemp -d)
trap 'chmod -R u+w "$again"; rm -rf "$again"' EXIT
mkdir "$again/elsewhere"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$again/elsewhere"
cd "$again/elsewhere"
export GOCACHE=$again/cache
for arch in $archs; do
  build "$arch" "$again/bot"
  cmp "$again/bot" "$out/bot-$version-linux-$arch"
  echo "linux-$arch: equal, byte for byte"
done
