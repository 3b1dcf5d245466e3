#!/bin/sh
# Runs Podman for the tests of the container: its images are in build/container/, and it needs neither an init system
# nor control groups nor limits that it could raise. Containers have no network unless an option gives them one.
set -eu
work=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)/build/container
mkdir -p "$work"
hard() { prlimit --noheadings --raw --output HARD "$1"; }
files=$(hard --nofile) processes=$(hard --nproc) most=$(cat /proc/sys/kernel/pid_max)
# Podman lowers its own limit of processes to this.
[ "$processes" != unlimited ] && [ "$processes" -le "$most" ] || processes=$most
driver=overlay
[ "$(stat --file-system --format %T "$work")" != overlayfs ] || driver=vfs # an overlay cannot lie on another
cat > "$work/storage.conf" <<END
[storage]
driver = "$driver"
graphroot = "$work/storage"
runroot = "$work/run"
END
cat > "$work/containers.conf" <<END
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
log_driver = "k8s-file"
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "$work/tmp"
END
export CONTAINERS_STORAGE_CONF="$work/storage.conf" CONTAINERS_CONF="$work/containers.conf" BUILDAH_ISOLATION=chroot
# crun does not start where both versions of control groups are mounted.
exec unshare --mount sh -ec '
    ! mountpoint -q /sys/fs/cgroup || umount --recursive /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    exec podman "$@"' podman "$@"
