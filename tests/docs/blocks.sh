#!/usr/bin/env bash
# No command stands on a page that nothing runs: blocks "```console" are run by console.sh; other blocks of commands must be named, and
# the name is that of the test that runs them, or stand in the list below.
#
#   blocks.sh SOURCE
set -euo pipefail
cd -- "$1"
# Begins of blocks that are run by what runs the tests (.ci/run, bench and hw included in ./run), or cannot be run here.
elsewhere='./run fuzz|./run build|./run hw|./run bench|#!/bin/bash'
failures=0
while IFS=$'\t' read -r page line tag first; do
  name=${tag#* }
  if [ "$name" != "$tag" ]; then
    grep -rqE "(block|awk).*\b$name\b" tests/package tests/docs || {
      echo "$page:$line: the block \"$name\" is run by no test"
      failures=$((failures + 1))
    }
  elif ! [[ $first =~ ^($elsewhere) ]]; then
    echo "$page:$line: no test runs this block: $first"
    failures=$((failures + 1))
  fi
done < <(awk '/^```/ { if (inside) { inside = 0 } else { inside = 1; tag = substr($0, 4); at = FNR; wait = tag ~ /^(sh|bash|yaml)/ } next }
              inside && wait { print FILENAME "\t" at "\t" tag "\t" $0; wait = 0 }' README.md docs/*.md)
[ $failures = 0 ]
