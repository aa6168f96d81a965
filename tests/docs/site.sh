#!/usr/bin/env bash
# The site is built with warnings as errors, every page is reached and no link is broken; and a broken one would be seen.
#
#   site.sh SOURCE WORK
set -euo pipefail
source=$1 work=$2
command -v mkdocs >/dev/null || { echo "skipped: there is no mkdocs"; exit 77; }
"$source/docs/site/build.sh" "$source" "$work"
check=$(dirname "$0")/site.py
python3 "$check" "$work/site" "$source/docs"
cp -r "$work/site" "$work/broken"
rm "$work/broken/zoo.html"
! python3 "$check" "$work/broken" "$source/docs" >"$work/complaints" || { echo "a page is gone, and the check has not noticed"; exit 1; }
grep -q 'links to zoo.html, which is not there' "$work/complaints"
