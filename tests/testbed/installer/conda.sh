#!/bin/sh
# A stand-in for the program conda: environments as folders that name the file they were made from.
# SPDX-License-Identifier: GPL-3.0-or-later
prefix=$(cd "$(dirname "$0")/.." && pwd)
words=
place=
file=
while [ $# -gt 0 ]; do
    case "$1" in
        -n) place=${CONDA_ENVS_PATH:-$prefix/envs}/$2; shift ;;
        -p) place=$2; shift ;;
        --file) file=$2; shift ;;
        --yes | --prune) ;;
        *) words="$words $1" ;;
    esac
    shift
done
env | grep -E '^(https?_proxy|CONDA|PIP|PYTHONPATH|CI)' | sort > "$prefix/environment-of-conda"
case "$words" in
    " --version") echo "conda 26.1.1" ;;
    " env create" | " create")
        [ ! -e "$place" ] || { echo "CondaValueError: prefix already exists: $place" >&2; exit 1; }
        grep -q impossible "$file" && { echo "LibMambaUnsatisfiableError: nothing provides impossible" >&2; exit 1; }
        grep -q anaconda "$file" && { echo "CondaToSNonInteractiveError: Terms of Service have not been accepted" >&2; exit 1; }
        mkdir -p "$place/conda-meta"
        sleep @PAUSE@
        cp "$file" "$place/conda-meta/made-from"
        ;;
    " env update" | " install")
        cp "$file" "$place/conda-meta/made-from"
        ;;
    *) echo "conda stand-in:$words" ;;
esac
