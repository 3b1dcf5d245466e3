#!/bin/sh
# Runs a program as root in a root file system, in namespaces of its own: when the program ends, so do all of its
# processes and mounts.
#
#   tests/vm/enter.sh ROOT PROGRAM [ARGUMENT ...]    the only network is loopback
#   tests/vm/enter.sh --network ROOT PROGRAM ...     with this machine's network
#
# The environment is that of a new user, with this machine's settings of pip and proxies.
set -euf
own="--mount --pid --uts --ipc --net" names=
[ "$1" != --network ] || { own="--mount --pid --uts --ipc" names=/etc/resolv.conf; shift; }
settings=$(env | grep -E '^(PIP_[A-Z_]+|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY)=' || :)
IFS='
'
# shellcheck disable=SC2086  # a line a setting
set -- $settings HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euc '
	names=$1 root=$2
	shift 2
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mkdir -m 1777 "$root/run/lock"
	[ ! -e "$names" ] || cp -L "$names" "$root/etc/resolv.conf"
	echo polarlab > /proc/sys/kernel/hostname
	ip link set lo up
	cd "$root"
	pivot_root . mnt
	umount -l mnt
	cd /
	"$@" || exit $? # as a child: this shell waits for orphans, as init does' enter "$names" "$@"
unset IFS
# shellcheck disable=SC2086  # a list of words
exec unshare $own --fork --kill-child env -i "$@"
