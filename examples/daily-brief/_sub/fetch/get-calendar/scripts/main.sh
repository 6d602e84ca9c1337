#!/bin/sh
# Answers with the events of one day (calendar.csv) and the latest commits up to it.
set -eu
LC_ALL=C
export LC_ALL

# The arguments are JSON: {"args": "scope=2026-02-15", ...}. Only a date is taken from them.
day=$(sed -n 's/^{[[:space:]]*"args"[[:space:]]*:[[:space:]]*"[^"]*scope=\([0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\).*/\1/p' | sed -n 1p)
[ -n "$day" ] || day=$(date +%Y-%m-%d)

# Control characters do not survive; what JSON quotes is quoted.
quoted() { tr -d '\000-\011\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }

events=
if [ -f calendar.csv ]; then
    events=$(sed -n "s/^$day,\([^,]*\),\(.*\)\$/\1|\2/p" calendar.csv | quoted |
        sed 's/^\([^|]*\)|\(.*\)$/{"time": "\1", "title": "\2"}/' | paste -s -d , -)
fi

commits=$(git log -n 5 --before="$day 23:59:59" --format=%s 2> /dev/null | quoted | sed 's/.*/"&"/' | paste -s -d , -)

printf '{"success": true, "CALENDAR": {"date": "%s", "events": [%s], "commits": [%s]}}\n' "$day" "$events" "$commits"
