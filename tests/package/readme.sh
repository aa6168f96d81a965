#!/usr/bin/env bash
# The project that README.md prints, against an installed heddle: by CMake, or by pkg-config and a compiler. It has at most 30 lines, gets
# the command, and finds its planted bug.
#
#   readme.sh cmake|pkg-config SOURCE PREFIX WORK COMPILER GENERATOR
set -euo pipefail
way=$1 source=$2 prefix=$3 work=$4 compiler=$5 generator=$6
rm -rf "$work"
mkdir -p "$work"
block() { awk -v name="$1" -f "$source/tests/docs/block.awk" "$source/README.md" >"$work/$1"; }
block mine.cpp
block CMakeLists.txt
# "sh install" of docs/installing.md is what the tests package.install and package.debian do.
awk -v name=install -f "$source/tests/docs/block.awk" "$source/docs/installing.md" >/dev/null
lines=$(cat "$work/mine.cpp" "$work/CMakeLists.txt" | wc -l)
if [ "$lines" -gt 30 ]; then
  echo "the project of README.md has $lines lines, more than 30"
  exit 1
fi

if [ "$way" = cmake ]; then
  # Nothing but find_package(): what comes from where is the package's business.
  cmake -S "$work" -B "$work/build" -G "$generator" -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_BUILD_TYPE=RelWithDebInfo \
    -D CMAKE_PREFIX_PATH="$prefix"
  cmake --build "$work/build"
else
  if ! command -v pkg-config >/dev/null; then
    echo "skipped: there is no pkg-config"
    exit 77
  fi
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name heddle.pc)")
  export PKG_CONFIG_PATH
  pkg-config --validate heddle heddle-rpc
  # What docs/installing.md tells its reader to type.
  awk -v name=pkg-config -f "$source/tests/docs/block.awk" "$source/docs/installing.md" >"$work/commands"
  sed -i -e "s|DIR/|$prefix/|" -e "s|^g++|$compiler|" "$work/commands"
  (cd "$work" && bash -e commands && mkdir build && mv mine build/mine)
fi

cd "$work"
status=0
build/mine fuzz --out findings >found || status=$?
cat found
[ $status = 1 ]
grep -q 'lost-update: assertion at .*mine.cpp:15: ' found
status=0
build/mine replay findings/*.heddle.json >again || status=$?
[ $status = 1 ]
grep -q 'an update was lost' again
