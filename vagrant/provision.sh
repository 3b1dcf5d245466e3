#!/bin/sh
# Installs the requirements of PolarLab on Debian and Ubuntu: system packages, and Python packages in .venv/.
# `make setup` and the VM run it. It can be repeated at any time and is quick if everything is installed.
#
#   vagrant/provision.sh            as root, or with sudo
#   vagrant/provision.sh dev        the same, and the tools that check the code: pytest, ruff, mypy ...
#   vagrant/provision.sh docs       the first, and the generator of the documentation's site
#   vagrant/provision.sh tests      the first, and the requirements of the tests: `dev`, `docs`, notebooks, a
#                                   browser, Prometheus
#   vagrant/provision.sh vm-test    the first, and the requirements of `make vm-test`: an emulator, debootstrap,
#                                   Vagrant
#   vagrant/provision.sh systems    the first, and debootstrap, which `make test-systems` and `make release` need
#   vagrant/provision.sh guest      on a machine that only runs PolarLab: puts `polarlab` on every user's path;
#                                   the kernel must have Open vSwitch
#   vagrant/provision.sh packages   only the Debian packages that PolarLab runs (both stages of Containerfile)
#   vagrant/provision.sh image      the first, but .venv/ gets a copy of PolarLab and needs no sources (Containerfile)
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# Python looks for modules in the working folder first, which may be another user's; hence also -I below.
cd -- "$root"
venv=$root/.venv
stamp=$venv/.provisioned # first line: the fingerprint of the sources; each further line: an extra
lock=$root/vagrant/requirements.lock
# Mininet belongs to Debian's own interpreter; another python3 may come first on PATH.
python=/usr/bin/python3

packages="openvswitch-switch mininet iproute2 iputils-ping openssl iperf3 tcpdump procps kmod net-tools
    util-linux"
tools="python3-venv make git"

# Debian's plain `su` keeps the user's path, which lacks the programs that install packages.
PATH=$PATH:/usr/sbin:/sbin

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

kind=${1:-}
kinds="dev, docs, tests, vm-test, systems, guest, packages, image"
[ $# -le 1 ] || { say "takes at most one argument, got '$*'; use one of $kinds"; exit 2; }
extras=ryu # of setup.cfg
editable=--editable
case $kind in
    '' | guest) ;;
    packages) tools= ;;
    image) editable= ;;
    dev) packages="$packages ethtool" extras="ryu test" ;;
    docs) extras="ryu notebooks docs" ;;
    tests)
        packages="$packages ethtool prometheus" extras="ryu notebooks cluster docs test"
        if grep -qx 'ID=ubuntu' /etc/os-release; then
            say "Ubuntu has Chromium as a snap only; tests in a browser are skipped"
        else
            packages="$packages chromium chromium-driver"
        fi ;;
    systems) packages="$packages debootstrap debian-archive-keyring" ;;
    vm-test) packages="$packages debootstrap debian-archive-keyring qemu-system-x86 e2fsprogs vagrant vagrant-libvirt" ;;
    *) say "the argument must be one of $kinds, got '$kind'"; exit 2 ;;
esac

# A machine that has just booted may be updating itself and lock the lists: wait for it, at most five minutes.
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
    for package in $packages $tools; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || die "installing$missing needs root; run this script with sudo"
    command -v apt-get >/dev/null || die "apt-get is missing, so this is neither Debian nor Ubuntu; install$missing by other means"
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    update_lists || die "apt-get update failed; is a package mirror reachable?"
    # shellcheck disable=SC2086  # a list of words
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >&2 || die "apt-get could not install$missing"
    # Tests start their own Prometheus: they need the program of the package, not its service.
    case "$missing " in
        *" prometheus "*) [ ! -d /run/systemd/system ] || systemctl --quiet disable --now prometheus ||
            say "could not stop the Prometheus service; the tests do not need it" ;;
    esac
}

# Only Mininet's stock switches (`mn --custom`) need the Open vSwitch service; PolarLab starts its own switches.
# Where an init system runs, the package has already started the service. A guest may still be an image that is
# not booted; it will have an init system later.
start_open_vswitch() {
    [ "$(id -u)" = 0 ] || return 0
    case $kind in guest | packages | image) return 0 ;; esac
    [ -d /run/systemd/system ] && return 0
    [ -e /run/openvswitch/ovs-vswitchd.pid ] && kill -0 "$(cat /run/openvswitch/ovs-vswitchd.pid)" 2>/dev/null && return 0
    say "starting Open vSwitch, as there is no init system"
    /usr/share/openvswitch/scripts/ovs-ctl start --system-id=random >/dev/null 2>&1 9<&- ||
        say "the Open vSwitch service did not start; only mn --custom needs it"
}

# Identifies the sources of the environment, which is rebuilt when they or its interpreter change.
fingerprint() {
    printf '%s, %s, %s\n' "$(cat "$root/setup.cfg" "$root/pyproject.toml" "$root/vagrant/provision.sh" "$lock" | cksum)" \
        "$("$python" --version)" "$root"
}

# Python packages run code during installation: root therefore installs them as the owner of the checkout, who
# also owns the files.
install_python_packages_as_owner() {
    owner=$(stat -c %u "$root") group=$(stat -c %g "$root")
    if [ "$(id -u)" != 0 ] || [ "$owner" = 0 ]; then
        install_python_packages
        return
    fi
    groups=--clear-groups home=$(getent passwd "$owner" | cut -d: -f6)
    [ -z "$home" ] || groups=--init-groups
    if ! as_owner test -w "$root"; then
        say "the owner of $root cannot write to it; installing its Python packages as root"
        install_python_packages
        return
    fi
    # Only root can remove what its programs left in an environment.
    is_current || rm -rf -- "$venv"
    # An earlier version of this script left these to root.
    for made in "$venv" "$root/polarlab.egg-info"; do
        [ ! -e "$made" ] || [ "$(stat -c %u "$made")" = "$owner" ] || rm -rf -- "$made"
    done
    as_owner POLARLAB_SETUP=python sh "$root/vagrant/provision.sh" ${kind:+"$kind"} || exit $?
}

as_owner() {
    setpriv --reuid="$owner" --regid="$group" "$groups" env HOME="${home:-/nonexistent}" "$@"
}

# Whether the environment is that of the present sources.
is_current() {
    [ -x "$venv/bin/polarlab" ] && [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$(fingerprint)" ]
}

# Keeps an environment of the present sources and adds missing extras.
install_python_packages() {
    if ! is_current; then
        "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
            die "$python is older than 3.11; Debian 12, Ubuntu 24.04 or newer is needed"
        say "building $venv"
        "$python" -I -m venv --clear "$venv"
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
    say "installing PolarLab's Python packages (extras: $missing)"
    pip_install "$missing" >&2 || die "pip could not install PolarLab's Python packages; is a package index reachable?"
    [ -x "$venv/bin/polarlab" ] ||
        die "pip installed PolarLab elsewhere than in $venv; look for 'target' or 'prefix' in '$venv/bin/pip config list'"
    printf '%s\n' "$missing" | tr , '\n' >> "$stamp.new"
    mv "$stamp.new" "$stamp"
}

# Mininet is a system package. --system-site-packages would also add packages from the user's home, so that root
# would run another user's code where `sudo -E` keeps HOME.
add_system_packages() {
    own=$("$venv/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$python" -I -c '
import os, site
for folder in filter(os.path.isdir, site.getsitepackages()):
    print(f"import site; site.addsitedir({folder!r})")' > "$own/system-packages.pth"
}

# Versions and hashes come from the lock file, which `make lock` generates for one version of Python. `set -e` has no
# effect in here, because the caller handles failures.
pip_install() {
    if ! grep -q "with Python $("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')$" "$lock"; then
        say "$lock is for another version of Python; installing the newest packages that setup.cfg allows"
        run_pip $editable "$root[$1]"
        return
    fi
    "$python" -I "$root/vagrant/locked.py" > "$venv/base.lock" || return
    # shellcheck disable=SC2046  # a list of words
    "$python" -I "$root/vagrant/locked.py" $(printf %s "$1" | tr , ' ') > "$venv/packages.lock" || return
    run_pip --no-deps --require-hashes --requirement "$venv/base.lock" &&
        run_pip --no-deps --require-hashes --no-build-isolation --requirement "$venv/packages.lock" &&
        run_pip --no-deps --no-build-isolation $editable "$root"
}

# Other settings of the environment, such as PIP_TARGET and PIP_DRY_RUN, would leave the packages elsewhere. pip reads
# their names in lower case, too.
forget_pip_settings() {
    for setting in $(env | sed -n 's/^\(PIP_[A-Za-z0-9_]*\)=.*/\1/p'); do
        case $setting in
            PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_NO_INDEX | PIP_FIND_LINKS | PIP_TRUSTED_HOST) ;;
            PIP_PROXY | PIP_CERT | PIP_CLIENT_CERT | PIP_CONFIG_FILE | PIP_CACHE_DIR) ;;
            PIP_TIMEOUT | PIP_DEFAULT_TIMEOUT | PIP_RETRIES) ;;
            *) unset "$setting" ;;
        esac
    done
}

run_pip() { "$venv/bin/pip" install -qq --disable-pip-version-check "$@"; }

finish_guest() {
    [ "$kind" = guest ] || return 0
    # sudo's path includes this directory, but not .venv/bin.
    ln -sf "$venv/bin/polarlab" /usr/local/bin/polarlab
    [ -d /run/systemd/system ] || return 0
    modprobe -q openvswitch && return 0
    package=linux-image-cloud-$(dpkg --print-architecture)
    ! grep -qx 'ID=ubuntu' /etc/os-release || package=linux-modules-extra-$(uname -r)
    die "kernel $(uname -r) has no openvswitch module; run 'apt-get install $package'"
}

# They have built packages, and nothing that runs imports them.
remove_build_tools() {
    [ "$kind" = image ] || return 0
    "$venv/bin/pip" uninstall -qq --yes setuptools wheel
}

# Two set-ups at once would clear each other's environment. The lock ends with the script. Whoever can open a file
# can lock it: only root and the owner of the checkout can open this one. `set -C` follows no link.
take_lock() {
    command -v flock >/dev/null || return 0
    guard=$venv.lock
    (umask 077 && set -C && : > "$guard" && chown --reference="$root" "$guard") 2>/dev/null || :
    if [ -f "$guard" ] && [ ! -L "$guard" ] && [ -r "$guard" ]; then
        exec 9< "$guard"
        flock -n 9 && return 0
        say "another set-up runs; waiting"
        flock 9 && return 0
    fi
    say "cannot lock $guard; do not start another set-up until this one ends"
}

forget_pip_settings
if [ "${POLARLAB_SETUP:-}" = python ]; then # started by install_python_packages_as_owner
    install_python_packages
    exit
fi
take_lock
install_packages
[ "$kind" != packages ] || exit 0
start_open_vswitch
install_python_packages_as_owner
finish_guest
remove_build_tools
say "ready: $venv/bin/polarlab"
