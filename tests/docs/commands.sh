#!/usr/bin/env bash
# What pages say to type, against what runs it.
#
#   commands.sh blocks SOURCE                                  no block of commands stands on a page that nothing runs
#   commands.sh options commands.md HEDDLE HARDWARE_PROGRAM    the page of commands names the options that the programs know, and no others
set -euo pipefail

# Blocks "```console" are run by console.sh; other blocks of commands must be named, and the name is that of the test that runs them, or
# stand in the list below.
blocks() {
  cd -- "$1"
  # Begins of blocks that are run by what runs the tests (.ci/run, bench and hw included in ./run), by tests/ptx/nvcc.sh,
  # tests/compat/compilers.sh and tests/compat/prebuilt.sh, or cannot be run here.
  local elsewhere='./run fuzz|./run build|./run hw|./run bench|heddle nvcc |make NVCC=|heddle build make|heddle c\+\+ -g queue_test|heddle build cmake|#!/bin/bash'
  local failures=0 page line tag first name
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
}

named() { grep -oE '(^|[^-a-z])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u; }
options() {
  local page=$1 heddle=$2 hardware=$3 known command
  known=$({
    "$heddle" help
    for command in list fuzz run replay shrink report mend slack verify zoo import litmus progress completion help; do "$heddle" help $command; done
    "$hardware" --help
  } | named)
  # The help does not name itself.
  diff <(printf '%s\n' "$known" --help | sort -u) <(named <"$page") ||
    { echo "< the programs know, > $page names"; exit 1; }
}

"$@"
