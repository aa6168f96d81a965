#!/usr/bin/env bash
# The page of commands names the options that the programs know, and no others.
#
#   options.sh commands.md HEDDLE HARDWARE_PROGRAM
set -euo pipefail
page=$1 heddle=$2 hardware=$3
options() { grep -oE '(^|[^-a-z])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u; }
known=$({
  "$heddle" help
  for command in list fuzz replay shrink report verify zoo import litmus progress completion help; do "$heddle" help $command; done
  "$hardware" --help
} | options)
# The help does not name itself.
diff <(printf '%s\n' "$known" --help | sort -u) <(options <"$page") ||
  { echo "< the programs know, > $page names"; exit 1; }
