#!/bin/sh
# System packages that tests use. Installed only where nobody's workstation changes: as root in a container or
# a CI machine (no init system), or with DTRAIN_LAB_TEST_INSTALL=1. Elsewhere their tests are skipped, loudly.
set -eu
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
   { [ ! -d /run/systemd/system ] || [ "${DTRAIN_LAB_TEST_INSTALL:-}" = 1 ]; }; then
  echo "Installing Chromium for the browser tests …"
  if [ ! -e /usr/sbin/policy-rc.d ]; then # no package may start a service
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  echo "*** No Chromium here: the browser tests will be SKIPPED."
  echo "*** Install it, or run as root with: make test DTRAIN_LAB_TEST_INSTALL=1"
fi
