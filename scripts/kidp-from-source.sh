#!/bin/sh
# Runs kidp from its repository, for CI: a tag has the built bundle; from any other commit the dependencies are installed first.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if [ ! -f "$root/dist/cli.js" ] && [ ! -d "$root/node_modules/commander" ]; then
  (cd "$root" && npm ci --no-audit --no-fund --silent) >&2
fi
exec node "$root/bin/kidp.js" "$@"
