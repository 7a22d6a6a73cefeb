#!/bin/bash
# The first process of one cluster's world: makes its file tree, then its sshd, and ends with the testbed.
#
# Started by world.py as `unshare --mount --net --pid … world.sh BASE PYTHON CHECKOUT FOLDER…`: BASE is an empty
# folder of the host, PYTHON a Python to lay at /opt/python (or empty), CHECKOUT the folder of these tests, each FOLDER a
# file system of the site.
# It speaks over its pipes: "ready" when the tree stands, then waits for a line, then "serving"; the end of
# its standard input is the end of the world, and the kernel takes every process and mount with it.
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
base=$1
python=$2
checkout=$3
shift 3
root=$base/root

mount --make-rprivate /
mount -t tmpfs -o mode=0755 testbed "$base"
mkdir "$base/upper" "$base/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" testbed "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
for folder in /dev/shm /tmp /var/tmp; do
    mount -t tmpfs -o mode=1777,size=256m testbed "$root$folder"
done
if [ ! -d "$root$checkout/tests" ]; then  # a file system of its own, which the overlay does not show, or below /tmp
    mkdir -p "$root$checkout"
    mount --rbind "$checkout" "$root$checkout"
fi
mount -t tmpfs -o mode=0755 testbed "$root/run"
mount -t tmpfs -o mode=0700 testbed "$root/root"
if [ -n "$python" ]; then
    mkdir -p "$root/opt/python"
    mount --bind "$python" "$root/opt/python"
    mount -o remount,bind,ro "$root/opt/python"
fi
for folder in "$@"; do
    mkdir -p "$root$folder"
    mount -t tmpfs -o mode=0755,size=512m testbed "$root$folder"
done
mkdir -p "$root/run/sshd"

cd "$root"
pivot_root . .
umount -l .
cd /
ip link set lo up
hostname "${base##*/}"

echo ready
read -r _
/usr/sbin/sshd -f /etc/ssh/testbed_config -E /var/log/sshd.log
echo serving
while read -r _; do :; done
