#!/bin/sh
# Installs the requirements of PolarLab on Debian 12: Debian packages, and Python packages in .venv/.
# `make setup` and the VM run it. It can be repeated at any time and is quick if everything is installed.
#
#   vagrant/provision.sh            as root, or with sudo
#   vagrant/provision.sh dev        the same, and what checks the code: pytest, ruff, mypy ...
#   vagrant/provision.sh docs       the same, and the generator of the documentation's site
#   vagrant/provision.sh tests      the same, and all that the tests need: `dev`, `docs`, notebooks, a browser,
#                                   Prometheus
#   vagrant/provision.sh vm-test    the same, and the requirements of `make vm-test`: an emulator, debootstrap,
#                                   Vagrant
#   vagrant/provision.sh guest      in a machine for PolarLab alone: `polarlab` is on every user's path, and the
#                                   kernel must have Open vSwitch
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
lock=$root/vagrant/requirements.lock
# Mininet belongs to Debian's own interpreter; another python3 may come first on PATH.
python=/usr/bin/python3

packages="openvswitch-switch mininet iproute2 ethtool iputils-ping openssl iperf3 tcpdump procps kmod
    net-tools util-linux python3-venv make git"

# Debian's plain `su` keeps the user's path, which lacks the programs that install packages.
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

kind=${1:-}
kinds="dev, docs, tests, vm-test, guest"
[ $# -le 1 ] || { say "at most one word must be given, got '$*'; it is one of $kinds"; exit 2; }
extras=ryu # of setup.cfg
case $kind in
    '' | guest) ;;
    dev) extras="ryu test" ;;
    docs) extras="ryu notebooks docs" ;;
    tests) packages="$packages chromium chromium-driver prometheus" extras="ryu notebooks cluster docs test" ;;
    vm-test) packages="$packages debootstrap qemu-system-x86 e2fsprogs vagrant vagrant-libvirt" ;;
    *) say "the word must be one of $kinds, got '$kind'"; exit 2 ;;
esac

# A machine that has just booted may be updating itself: the script waits for it, five minutes at most.
update_lists() {
    for _ in $(seq 30); do
        output=$(LC_ALL=C apt-get -q update 2>&1) && return 0
        case $output in *"get lock"*) sleep 10 ;; *) break ;; esac
    done
    printf '%s\n' "$output" >&2
    return 1
}

install_packages() {
    missing=
    for package in $packages; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || die "root is needed to install$missing; run it with sudo"
    command -v apt-get >/dev/null || die "apt-get is not installed, as this is not Debian; install$missing by other means"
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    update_lists || die "apt-get update failed; is a package mirror reachable?"
    # shellcheck disable=SC2086  # a list of words
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >&2 || die "apt-get could not install$missing"
    # Tests start a Prometheus of their own; of the package they want only the program, no service.
    case "$missing " in
        *" prometheus "*) [ ! -d /run/systemd/system ] || systemctl --quiet disable --now prometheus ||
            say "Prometheus' own service has not been ended; the tests do not need it" ;;
    esac
}

# Only Mininet's stock switches (`mn --custom`) need Open vSwitch's own service; PolarLab starts switches of its
# own. Where an init system runs, the package has started the service already; a guest may still be an image
# that is not booted yet, and will have an init system then.
start_open_vswitch() {
    [ "$(id -u)" = 0 ] || return 0
    [ "$kind" = guest ] && return 0
    [ -d /run/systemd/system ] && return 0
    [ -e /run/openvswitch/ovs-vswitchd.pid ] && kill -0 "$(cat /run/openvswitch/ovs-vswitchd.pid)" 2>/dev/null && return 0
    say "starting Open vSwitch (no init system does)"
    /usr/share/openvswitch/scripts/ovs-ctl start --system-id=random >/dev/null 2>&1 9<&- ||
        say "Open vSwitch's own service has not started; only mn --custom needs it"
}

# The sources of the environment, which is built anew when they or its interpreter change.
fingerprint() {
    printf '%s, %s, %s\n' "$(cat "$root/setup.cfg" "$root/pyproject.toml" "$root/vagrant/provision.sh" "$lock" | cksum)" \
        "$("$python" --version)" "$root"
}

# Packages of Python bring programs that run while they are installed: root leaves that to the checkout's owner,
# whose files they become.
install_python_packages_as_owner() {
    owner=$(stat -c %u "$root") group=$(stat -c %g "$root")
    if [ "$(id -u)" != 0 ] || [ "$owner" = 0 ]; then
        install_python_packages
        return
    fi
    groups=--clear-groups home=$(getent passwd "$owner" | cut -d: -f6)
    [ -z "$home" ] || groups=--init-groups
    if ! as_owner test -w "$root"; then
        say "the owner of $root cannot write into it; its Python packages become root's"
        install_python_packages
        return
    fi
    # Of an earlier set-up, which left them to root.
    for made in "$venv" "$root/polarlab.egg-info"; do
        [ ! -e "$made" ] || [ "$(stat -c %u "$made")" = "$owner" ] || rm -rf -- "$made"
    done
    as_owner POLARLAB_SETUP=python sh "$root/vagrant/provision.sh" ${kind:+"$kind"} || exit $?
}

as_owner() {
    setpriv --reuid="$owner" --regid="$group" "$groups" env HOME="${home:-/nonexistent}" "$@"
}

# An environment of the present sources stays; what it lacks is added.
install_python_packages() {
    stamp=$venv/.provisioned # its first line tells the sources, each further one an extra
    if [ ! -x "$venv/bin/polarlab" ] || [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" != "$(fingerprint)" ]; then
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
            die "$python is older than 3.11; Debian 12 or newer is needed"
        say "building $venv"
        "$python" -m venv --clear "$venv"
        add_system_packages
        fingerprint > "$stamp.new"
    else
        cp "$stamp" "$stamp.new"
    fi
    missing=
    for extra in $extras; do
        grep -qx "$extra" "$stamp.new" || missing="${missing:+$missing,}$extra"
    done
    [ -n "$missing" ] || return 0
    say "installing Python packages: $missing"
    pip_install "$missing" >&2 || die "pip could not install PolarLab's Python packages; is a package index reachable?"
    printf '%s\n' "$missing" | tr , '\n' >> "$stamp.new"
    mv "$stamp.new" "$stamp"
}

# Mininet is among the system's packages. With --system-site-packages, those in the user's home would be added,
# too: root would run another user's where `sudo -E` keeps the home.
add_system_packages() {
    own=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$python" -c '
import os, site
for folder in filter(os.path.isdir, site.getsitepackages()):
    print(f"import site; site.addsitedir({folder!r})")' > "$own/system-packages.pth"
}

# The versions, and the hashes of the files, are those of the lock file; `make lock` makes it, for one Python.
pip_install() {
    if ! grep -q "with Python $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')$" "$lock"; then
        say "$lock is for another Python; the newest packages are installed that setup.cfg admits"
        run_pip --editable "$root[$1]"
        return
    fi
    "$python" "$root/vagrant/locked.py" > "$venv/base.lock"
    # shellcheck disable=SC2046  # a list of words
    "$python" "$root/vagrant/locked.py" $(printf %s "$1" | tr , ' ') > "$venv/packages.lock"
    run_pip --no-deps --require-hashes --requirement "$venv/base.lock" &&
        run_pip --no-deps --require-hashes --no-build-isolation --requirement "$venv/packages.lock" &&
        run_pip --no-deps --no-build-isolation --editable "$root"
}

run_pip() { "$venv/bin/pip" install -qq --disable-pip-version-check "$@"; }

finish_guest() {
    [ "$kind" = guest ] || return 0
    # sudo's path has this directory, but not .venv/bin.
    ln -sf "$venv/bin/polarlab" /usr/local/bin/polarlab
    [ -d /run/systemd/system ] || return 0
    modprobe -q openvswitch ||
        die "the kernel $(uname -r) has no openvswitch module; 'apt-get install linux-image-cloud-$(dpkg --print-architecture)' has one"
}

# Two set-ups at once would empty each other's environment. The lock is the checkout's and ends with the script.
take_lock() {
    command -v flock >/dev/null || return 0
    exec 9< "$root"
    flock -n 9 && return 0
    say "another set-up runs; waiting"
    flock 9 || say "$root cannot be locked; do not start another set-up meanwhile"
}

if [ "${POLARLAB_SETUP:-}" = python ]; then # this script as the checkout's owner; see above
    install_python_packages
    exit
fi
take_lock
install_packages
start_open_vswitch
install_python_packages_as_owner
finish_guest
say "ready: $venv/bin/polarlab"
