#!/bin/sh
# Writes the refund of the order whose number the prompt contains.
set -eu
request=$(cat)
while IFS=, read -r number what price state; do
    case $request in
        *"$number"*)
            echo "$number,$price" >> refunds.csv
            echo "$price EUR for $number will be given back"
            exit 0
            ;;
    esac
done < orders.csv
echo "no order of that number" >&2
exit 1
