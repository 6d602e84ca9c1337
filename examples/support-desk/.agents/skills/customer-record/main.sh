#!/bin/sh
# The record of the customer whose name the prompt contains.
set -eu
request=$(cat)
while IFS=, read -r name since mail; do
    case $request in
        *"$name"*) echo "$name, customer since $since, $mail"; exit 0 ;;
    esac
done < customers.csv
echo "no customer of that name" >&2
exit 1
