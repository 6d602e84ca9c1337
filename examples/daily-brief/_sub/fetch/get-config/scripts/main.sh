#!/bin/sh
# Answers with the directory the person works in.
set -eu
LC_ALL=C
export LC_ALL
cat > /dev/null

root=$(git rev-parse --show-toplevel 2> /dev/null || pwd)
path=$(printf '%s' "$root" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g')
printf '{"success": true, "VAULT": "%s"}\n' "$path"
