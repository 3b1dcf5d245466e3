#!/bin/sh
# Runs a program as if on a machine of its own: it sees no other processes, networks or fabrics than its own.
# So tests that launch fabrics, of which a machine carries one at a time, run side by side.
exec unshare --mount --pid --net --ipc --fork --kill-child --mount-proc sh -ec '
	mkdir -p /run/polarlab
	mount -t tmpfs polarlab /run/polarlab
	ip link set lo up
	exec "$@"' machine "$@"
