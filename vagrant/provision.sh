#!/bin/sh
# Installs everything that PolarLab needs on Debian 12, into the system and into .venv/ beside it.
# `make setup` runs it, and so does the VM. It can be run again at any time and is quick when all is done.
#
#   vagrant/provision.sh            as root; with sudo where there is one
#   vagrant/provision.sh tests      the same, and what only tests need: a browser
#   vagrant/provision.sh vm-test    the same, and what `make vm-test` needs: an emulator, debootstrap, Vagrant
#   vagrant/provision.sh guest      in a machine that is there for PolarLab alone: `polarlab` is on everybody's
#                                   path, and the kernel must have Open vSwitch
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
# Mininet belongs to Debian's own interpreter; another python3 may come first on PATH.
python=/usr/bin/python3

packages="openvswitch-switch mininet iproute2 ethtool iputils-ping openssl iperf3 tcpdump procps kmod
    net-tools util-linux python3-venv make git"

# Debian's plain `su` keeps a user's path, with which packages cannot be installed.
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

kind=${1:-}
[ $# -le 1 ] || { say "one word at most, got '$*'; there are: tests, vm-test, guest"; exit 2; }
case $kind in
    '' | guest) ;;
    tests) packages="$packages chromium" ;;
    vm-test) packages="$packages debootstrap qemu-system-x86 e2fsprogs vagrant vagrant-libvirt" ;;
    *) say "there is no '$kind'; there are: tests, vm-test, guest"; exit 2 ;;
esac

# A machine that has just booted may be updating itself: that is waited for, five minutes at most.
update_lists() {
    for _ in $(seq 30); do
        said=$(LC_ALL=C apt-get -q update 2>&1) && return 0
        case $said in *"get lock"*) sleep 10 ;; *) break ;; esac
    done
    printf '%s\n' "$said" >&2
    return 1
}

install_packages() {
    missing=
    for package in $packages; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || die "root is needed to install$missing; run it with sudo"
    command -v apt-get >/dev/null || die "this is no Debian: please install$missing by other means"
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    update_lists || die "apt-get update failed; is a package mirror reachable?"
    # shellcheck disable=SC2086  # a list of words
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >&2 || die "apt-get could not install$missing"
}

# Open vSwitch's own service is only needed by Mininet's stock switches (`mn --custom`); PolarLab starts
# its own switches. Where an init system runs, the package has started it already; a guest may still be
# an image without a kernel of its own, which will have an init system when it is booted.
start_open_vswitch() {
    [ "$(id -u)" = 0 ] || return 0
    [ "$kind" = guest ] && return 0
    [ -d /run/systemd/system ] && return 0
    [ -e /run/openvswitch/ovs-vswitchd.pid ] && kill -0 "$(cat /run/openvswitch/ovs-vswitchd.pid)" 2>/dev/null && return 0
    say "starting Open vSwitch (no init system does)"
    /usr/share/openvswitch/scripts/ovs-ctl start --system-id=random >/dev/null 2>&1 ||
        say "Open vSwitch's own service did not start; only mn --custom needs it"
}

# What the environment is made from; it is made anew when this changes, or its interpreter does.
fingerprint() {
    cat "$root/setup.cfg" "$root/pyproject.toml" "$root/vagrant/provision.sh" | cksum
    "$python" --version
    printf '%s\n' "$root"
}

install_python_packages() {
    stamp=$venv/.provisioned
    [ -x "$venv/bin/polarlab" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ] && return 0
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$python is older than 3.11; Debian 12 or newer is needed"
    say "building $venv"
    rm -f "$stamp"
    "$python" -m venv --clear --system-site-packages "$venv"
    # Ryu 4.34 builds only with a setuptools from before 67; PIP_CONSTRAINT reaches its isolated build.
    constraints=$venv/build-constraints.txt
    echo 'setuptools < 67' > "$constraints"
    PIP_CONSTRAINT=$constraints "$venv/bin/pip" install -qq --disable-pip-version-check 'ryu == 4.34' 'eventlet == 0.41.0' >&2 ||
        die "pip could not install Ryu; is a package index reachable?"
    "$venv/bin/pip" install -qq --disable-pip-version-check --editable "$root[test]" >&2 ||
        die "pip could not install PolarLab's Python packages; is a package index reachable?"
    (cd "$root" && "$venv/bin/python" -m topology.finite_fields.tables)
    fingerprint > "$stamp"
}

finish_guest() {
    [ "$kind" = guest ] || return 0
    # sudo's path has this directory, but not .venv/bin.
    ln -sf "$venv/bin/polarlab" /usr/local/bin/polarlab
    [ -d /run/systemd/system ] || return 0
    modprobe -q openvswitch ||
        die "the kernel $(uname -r) has no openvswitch module; 'apt-get install linux-image-cloud-$(dpkg --print-architecture)' has one"
}

install_packages
start_open_vswitch
install_python_packages
finish_guest
say "ready: $venv/bin/polarlab"
