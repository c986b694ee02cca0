#!/bin/sh
# Runs kidp with the Node of this machine. A symbolic link to this file works too, as krew makes one.
set -eu
file=$0
while [ -L "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=$(dirname -- "$file")/$link ;;
  esac
done
if ! command -v node >/dev/null; then
  echo "kidp: Node is not installed: install Node 22.19 or newer (https://nodejs.org)." >&2
  exit 2
fi
exec node "$(dirname -- "$file")/bin/kidp.js" "$@"
