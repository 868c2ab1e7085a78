#!/bin/sh
# System packages that tests use. Installed only where nobody's workstation changes: as root in a container or
# a CI machine (no init system), or with DTRAIN_LAB_TEST_INSTALL=1. Elsewhere their tests are skipped, loudly.
set -eu
missing=""
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="chromium"
has() { PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null 2>&1; }
has sshd || missing="$missing openssh-server openssh-client"
has ip || missing="$missing iproute2"
has slurmctld || missing="$missing slurmctld slurmd slurm-client munge"
has slurmdbd || missing="$missing slurmdbd mariadb-server"
has quota || missing="$missing quota"
[ -e /etc/profile.d/modules.sh ] || missing="$missing environment-modules"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
   { [ ! -d /run/systemd/system ] || [ "${DTRAIN_LAB_TEST_INSTALL:-}" = 1 ]; }; then
  echo "Installing for the tests:" $missing
  if [ ! -e /usr/sbin/policy-rc.d ]; then # no package may start a service
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
  echo "*** Missing here:" $missing
  echo "*** The browser tests (chromium) and those over several hosts (sshd, Slurm, modules) that need them will be SKIPPED."
  echo "*** Install them, or run as root with: make test DTRAIN_LAB_TEST_INSTALL=1"
fi
