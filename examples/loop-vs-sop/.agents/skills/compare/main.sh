#!/bin/sh
# The change from the first to the second number of the prompt.
set -eu
prompt=$(sed -n 's/.*"prompt"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p')
echo "compare $prompt" >> calls.log
echo "$prompt" | awk '$1 > 0 { printf "from %d to %d: %+.1f %%\n", $1, $2, ($2 - $1) * 100 / $1; done = 1 }
    END { exit !done }' || { echo "two numbers are expected, the first above 0" >&2; exit 1; }
