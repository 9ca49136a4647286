#!/usr/bin/env bash
# Puts Fashion-MNIST (Zalando SE, MIT), 60,000 and 10,000 pictures of clothes in MNIST's format, into a folder: from Debian's package
# `dataset-fashion-mnist`, which apt downloads (31 MB) unless it is installed.
#
#     ./fashion_mnist.sh FOLDER
set -euo pipefail
folder="${1%/}"
package=usr/share/datasets/fashion-mnist
rm -rf "$folder.new"
mkdir -p "$folder.new"
cd "$folder.new"
folder="${PWD%.new}"
trap 'rm -rf "$folder.new"' EXIT
if [ -d "/$package" ]; then
    mkdir -p "$package" && cp "/$package"/*-ubyte.gz "$package"
elif ! { apt-get download --quiet dataset-fashion-mnist && dpkg-deb --extract ./*.deb .; }; then
    echo "dataset-fashion-mnist was not downloaded. On Debian or Ubuntu, with a network: apt-get update, and again. Without: carry the four" \
        "files of https://github.com/zalandoresearch/fashion-mnist, {train,t10k}-*-ubyte.gz, into a folder." >&2
    exit 1
fi
cd "$package"
sha256sum --quiet --check - <<'SUMS'
cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa  t10k-images-idx3-ubyte.gz
8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05  t10k-labels-idx1-ubyte.gz
b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7  train-images-idx3-ubyte.gz
0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056  train-labels-idx1-ubyte.gz
SUMS
mv "$PWD" "$folder"
