#!/bin/sh
# The sum of one month of sales.csv. Every call is noted in calls.log, so that one can see what was called.
set -eu
month=$(sed -n 's/.*"prompt"[[:space:]]*:[[:space:]]*"[^"]*\([0-9]\{4\}-[0-9][0-9]\).*/\1/p')
[ -n "$month" ] || { echo "which month?" >&2; exit 1; }
echo "month-total $month" >> calls.log
awk -F, -v month="$month" '$1 == month { sum += $3 } END { print sum + 0 }' sales.csv
