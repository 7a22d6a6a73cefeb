#!/bin/bash
# Slurm in one cluster's world: munge, MariaDB, slurmdbd, slurmctld and a slurmd for each node.
#
# Run by slurm.py in the world as `slurm.sh CLUSTER NODE…`, when slurm.conf, gres.conf and slurmdbd.conf lie in
# /etc/slurm. Everything is kept in memory below /run/slurm, and ends with the world. It returns when the nodes are idle.
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
cluster=$1
shift
base=/run/slurm
umask 022

within() { # SECONDS COMMAND…: until it succeeds
    local tries=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { echo "gave up waiting for: $*" >&2; exit 1; }
        sleep 0.05
    done
}
as() { # USER COMMAND…
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

echo "127.0.0.1 $(hostname)" >> /etc/hosts
mountpoint -q /sys || mount -t sysfs sysfs /sys
mkdir -p /run/munge /run/mysqld "$base/munge" "$base/gpu"
install -d -o mysql -g mysql "$base/db"
install -d -o slurm -g slurm "$base/state" "$base/log"
for node in "$@"; do mkdir -p "$base/spool/$node"; done
head -c 128 /dev/urandom > /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
chown munge: /etc/munge /etc/munge/munge.key /run/munge "$base/munge"
chown mysql: /run/mysqld
for number in 0 1 2 3 4 5 6 7; do mknod -m 0666 "$base/gpu/nvidia$number" c 195 "$number"; done

as munge munged --key-file=/etc/munge/munge.key --seed-file="$base/munge/seed" --pid-file="$base/munge/pid" \
    --log-file="$base/munge/log" --num-threads=2
small=(--no-defaults --user=mysql --datadir="$base/db" --innodb-log-file-size=4M --skip-name-resolve
    --innodb-data-file-path=ibdata1:4M:autoextend)
mariadb-install-db "${small[@]}" --auth-root-authentication-method=socket --skip-test-db >/dev/null
mariadbd "${small[@]}" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/pid --skip-networking \
    --innodb-buffer-pool-size=16M --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 \
    --performance-schema=OFF --skip-log-bin >"$base/log/mariadb.log" 2>&1 &
within 30 mariadb -e "select 1"
mariadb -e "create database slurm_acct_db; create user slurm@localhost identified by 'testbed';
    grant all on slurm_acct_db.* to slurm@localhost"
slurmdbd
within 30 sacctmgr -n list cluster
sacctmgr -i -Q add cluster "$cluster" >/dev/null
slurmctld
for node in "$@"; do
    unshare --uts sh -c 'hostname "$1" && exec slurmd -N "$1"' sh "$node"
done
within 30 sh -c 'test -z "$(sinfo -h -N -o %T | grep -v idle)" && test -n "$(sinfo -h)"'
