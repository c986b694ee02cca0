#!/bin/sh
# Installs the system packages that tests with real nodes and images need, on Debian and Ubuntu, as root. CI calls it; `npm test` only
# prints this command.
set -eu
packages='containerd runc containernetworking-plugins iptables nftables iproute2 mmdebstrap'
missing=''
for package in $packages; do
  dpkg-query --show --showformat '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then
  echo "kidp: run this as root; missing:$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The services that some of these packages bring are not started: the project starts its own.
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d.kidp
chmod +x /usr/sbin/policy-rc.d.kidp
if [ ! -e /usr/sbin/policy-rc.d ]; then ln -s policy-rc.d.kidp /usr/sbin/policy-rc.d; fi
trap 'if [ "$(readlink /usr/sbin/policy-rc.d)" = policy-rc.d.kidp ]; then rm -f /usr/sbin/policy-rc.d; fi; rm -f /usr/sbin/policy-rc.d.kidp' EXIT
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing
