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
  mkdir "$work/build"
  # shellcheck disable=SC2046
  "$compiler" -O2 $(pkg-config --cflags heddle) -c "$work/mine.cpp" -o "$work/mine.o"
  # shellcheck disable=SC2046
  "$compiler" "$work/mine.o" $(pkg-config --libs heddle) -o "$work/build/mine"
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
