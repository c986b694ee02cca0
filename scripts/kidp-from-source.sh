#!/bin/sh
# Runs kidp from its repository, for CI: a tag has the built bundle; from any other commit the dependencies are installed first.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if [ ! -f "$root/dist/cli.js" ] && [ ! -d "$root/node_modules/commander" ]; then
  (cd "$root" && npm ci --include=dev --no-audit --no-fund --silent) >&2
fi
# A runner of GitHub may have an old Node on its PATH and newer ones in its tool cache.
is_new='const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'
node=node
for each in node "${RUNNER_TOOL_CACHE:-/nonexistent}"/node/*/*/bin/node; do
  if "$each" -e "$is_new" 2>/dev/null; then
    node=$each
    break
  fi
done
exec "$node" "$root/bin/kidp.js" "$@"
