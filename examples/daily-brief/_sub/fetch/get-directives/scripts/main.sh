#!/bin/sh
# Answers with the facts and rules of directives.md; fails when there is none.
set -eu
LC_ALL=C
export LC_ALL
cat > /dev/null

if [ ! -f directives.md ]; then
    echo "no directives.md in $(pwd)" >&2
    exit 1
fi

# Control characters do not survive; what JSON quotes is quoted.
lines() { tr -d '\000-\011\013-\037' < directives.md | sed 's/\\/\\\\/g; s/"/\\"/g'; }

user=$(lines | sed -n 's/^\([a-z_][a-z0-9_]*\):[ ]*\(.*\)$/"\1": "\2"/p' | paste -s -d , -)
rules=$(lines | sed -n 's/^[-*] \(.*\)$/"\1"/p' | paste -s -d , -)
printf '{"success": true, "DIRECTIVES": {"user": {%s}, "rules": [%s]}}\n' "$user" "$rules"
