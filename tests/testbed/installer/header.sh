#!/bin/sh
# A stand-in for conda's installers: their options, their answers and their traps, and a payload of our own.
# Options and behaviour: https://github.com/conda/constructor (the shell installer's header).
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
if ! echo "$0" | grep '\.sh$' > /dev/null; then
    printf 'Please run using "bash"/"dash"/"sh"/"zsh", but not "." or "source".\n' >&2
    exit 1
fi
THIS="$(cd "$(dirname "$0")" && pwd)/$(basename "$0")"
PREFIX="${HOME:-/opt}/standin3"
BATCH=0
FORCE=0
while getopts "bfhp:kstmuc" option; do
    case "$option" in
        b) BATCH=1 ;;
        f | u) FORCE=1 ;;
        p) PREFIX="$OPTARG" ;;
        h) echo "usage: $0 [options]"; exit 2 ;;
        k | s | t | m | c) ;;
        *) exit 1 ;;
    esac
done
if [ "$BATCH" = 0 ]; then
    printf 'Do you accept the license terms? [yes|no] '
    read -r answer
    [ "$answer" = yes ] || exit 2
fi
case "$PREFIX" in *\ *) echo "ERROR: Cannot install into directories with spaces" >&2; exit 1 ;; esac
if [ "$FORCE" = 0 ] && [ -e "$PREFIX" ]; then
    printf 'ERROR: File or directory already exists: %s\n' "'$PREFIX'" >&2
    printf 'If you want to update an existing installation, use the -u option.\n' >&2
    exit 1
fi
if [ "$(tail -n +@LINES@ "$THIS" | md5sum | cut -c1-32)" != "@MD5@" ]; then
    printf 'WARNING: md5sum mismatch of tar archive\n' >&2
fi
mkdir -p "$PREFIX/install_tmp" "$PREFIX/conda-meta" "$HOME/.conda"
RUN="$$-$(date +%s%N)"
echo "$PREFIX" >> "$HOME/.conda/environments.txt"
echo "begin $RUN" >> "$(dirname "$PREFIX")/@JOURNAL@"
tail -n +@LINES@ "$THIS" | tar -xzf - -C "$PREFIX"
number=0
while [ "$number" -lt @FILES@ ]; do
    echo "$RUN" > "$PREFIX/lib/part-$number"
    number=$((number + 1))
    sleep @PAUSE@
done
rmdir "$PREFIX/install_tmp"
echo "$RUN" > "$PREFIX/conda-meta/history"
echo "end $RUN" >> "$(dirname "$PREFIX")/@JOURNAL@"
echo "installation finished."
exit 0
