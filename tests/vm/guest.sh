#!/bin/sh
# Runs in the machine that `make vm-test` boots, as a service: the tests, and then the machine goes off.
# What is left in $results is written to the second disk as an archive, which the host reads.
set -u
results=/var/lib/polarlab-tests
mkdir -p "$results"
cd /opt/polarlab || exit 1

exec > /dev/ttyS0 2>&1

finish() {
    tar -cf /dev/vdb -C "$results" .
    sync
    systemctl poweroff --force
}
trap finish EXIT

dmesg -n 1 # the console is the tests' from here on
read -r boot_s _ < /proc/uptime
version=$(ovs-vswitchd --version | head -n 1)
printf '{"kernel": "%s", "open_vswitch": "%s", "boot_s": %s}\n' \
    "$(uname -r)" "${version##* }" "$boot_s" > "$results/guest.json"
echo "vm-test guest: up after $boot_s s"

# In a running machine it also looks for the kernel's module.
vagrant/provision.sh guest || exit 1

eval "set -- $(cat /etc/polarlab-tests)"
.venv/bin/python -m pytest -v --color=no --durations=0 --durations-min=1 -p no:cacheprovider \
    --junitxml="$results/tests.xml" "$@"
echo "vm-test guest: pytest ended with status $?"
