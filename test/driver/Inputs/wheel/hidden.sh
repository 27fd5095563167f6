#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# hidden.sh FOLDERS COMMAND...: runs a command, with few variables in its
# environment, where LLVM, the development files of OpenBLAS, OpenSSL and libsodium,
# and the folders FOLDERS, separated by colons, seem empty. In a mount namespace of
# its own, as `unshare --mount` makes.
set -eu
libraries=/usr/lib/$(uname -m)-linux-gnu
for folder in /usr/lib/llvm-22 "$libraries"/openblas-* /usr/include/*/openblas-* /usr/include/openssl \
  /usr/include/sodium $(echo "$1" | tr : ' '); do
  if [ -d "$folder" ]; then
    mount -t tmpfs none "$folder"
  fi
done
for file in "$libraries"/libsodium.* "$libraries"/libcrypto.so "$libraries"/libcrypto.a /usr/include/sodium.h; do
  if [ -f "$file" ]; then
    mount --bind /dev/null "$file"
  fi
done
shift
exec env -i PATH=/usr/bin:/bin HOME=/nonexistent LC_ALL=C "$@"
