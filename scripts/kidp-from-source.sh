#!/bin/sh
# Runs kidp from a clone of its repository, for CI: installs its dependencies if they are missing.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if [ ! -d "$root/node_modules/commander" ]; then
  (cd "$root" && npm ci --omit=dev --no-audit --no-fund --silent) >&2
fi
exec node "$root/bin/kidp.js" "$@"
