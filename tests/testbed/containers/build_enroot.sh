#!/bin/bash
# Builds the real enroot of a version from its public source: "build_enroot.sh SOURCE VERSION WORK FOLDER". SOURCE is
# what git clones; FOLDER gets what /usr/local is to hold. musl and the kernel's headers are Debian's in the place of
# enroot's submodules, and "enroot bundle" is left out.
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
source=$1 version=$2 work=$3 folder=$4
export GIT_TERMINAL_PROMPT=0
timeout 60 git -c safe.directory='*' -c advice.detachedHead=false clone -q --depth 1 --branch "$version" "$source" "$work" ||
    exit 75 # there is no source
rm -rf "$work/.git"
cd "$work"
mkdir -p deps/dist/makeself/bin deps/dist/musl/bin deps/dist/linux/include deps/makeself deps/musl deps/linux-headers
printf '#!/bin/sh\nexit 1\n' >deps/dist/makeself/bin/enroot-makeself
ln -s "$(command -v musl-gcc)" deps/dist/musl/bin/musl-gcc
ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(uname -m)-linux-gnu/asm" deps/dist/linux/include/
touch deps/makeself/.stamp deps/musl/.stamp deps/linux-headers/.stamp
sed -i 's/-pie -static-pie/-static/' Makefile # which Debian's musl-gcc does not know
export GIT_DIR=/nonexistent
make all prefix=/usr/local
make install prefix=/usr/local DESTDIR="$folder"
make setcap prefix=/usr/local DESTDIR="$folder" # as the package enroot+caps does
