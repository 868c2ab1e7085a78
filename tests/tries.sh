#!/bin/sh
# Run tests; those that failed run once more, in a process of their own with hosts, servers and ranks of their own.
# What passes the second time is a race, in the test or in the product: its names are kept in CACHE/races.
#
#   sh tests/tries.sh CACHE PYTHON [ARGUMENT OF PYTEST]…
cache=$1 python=$2
shift 2
rm -rf "$cache"  # what failed some earlier day says nothing about today
"$python" -m pytest -o cache_dir="$cache" "$@"
code=$?
# pytest writes its cache at its end: without it a test has ended the process, with whatever status
[ -e "$cache/v/cache/nodeids" ] || { echo "The tests broke off."; exit 70; }
# 1: some failed. Anything else is no verdict on the tests: all passed, or they broke off, perhaps without a cache.
[ "$code" -eq 1 ] || exit "$code"
failed=$("$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$cache/v/cache/lastfailed") || exit 1
echo
echo "Once more what failed:"
"$python" -m pytest -o cache_dir="$cache" --last-failed --last-failed-no-failures=none "$@" || exit
echo "$failed" >"$cache/races"
