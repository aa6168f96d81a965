#!/usr/bin/env bash
# The Debian packages: what is in each, what each depends on, and that the project of README.md is built from what is unpacked.
#
#   debian.sh SOURCE BUILD WORK COMPILER GENERATOR WITH_MPI(ON|OFF)
set -euo pipefail
source=$1 build=$2 work=$3 compiler=$4 generator=$5 with_mpi=$6
for tool in dpkg-deb dpkg-shlibdeps; do
  if ! command -v $tool >/dev/null; then
    echo "skipped: there is no $tool"
    exit 77
  fi
done
rm -rf "$work"
mkdir -p "$work"
(cd "$build" && cpack -G DEB -B "$work" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
rm -rf "$work/_CPack_Packages"

failures=0
complain() {
  echo "$1"
  failures=$((failures + 1))
}
package() { find "$work" -name "$1_*.deb"; }
depends() { dpkg-deb --field "$(package "$1")" Depends; }
# has PACKAGE PATH...; a path may have "*".
has() {
  local name=$1 path
  shift
  dpkg-deb --contents "$(package "$name")" | awk '{ print $6 }' >"$work/$name.list"
  for path in "$@"; do
    grep -qE "^\./usr/${path//\*/[^ ]*}$" "$work/$name.list" || complain "$name lacks $path"
  done
}
# needs PACKAGE NAME...: no more and no less, versions aside, but for what dpkg-shlibdeps finds of the compiler's own libraries.
needs() {
  local name=$1
  shift
  diff <(printf '%s\n' "$@" | sort) \
    <(depends "$name" | tr ',' '\n' | sed -E 's/^ +//; s/ .*//' | grep -vE '^(libc6|libgcc-s1|libstdc\+\+6)?$' | sort) ||
    complain "< $name should depend on, > it depends on"
}

wanted="heddle libheddle-dev libheddle-rpc-dev"
[ "$with_mpi" = OFF ] || wanted="heddle heddle-mpi libheddle-dev libheddle-rpc-dev"
found=$(find "$work" -name '*.deb' -printf '%f\n' | sed 's/_.*//' | sort | xargs)
[ "$found" = "$wanted" ] || complain "the packages are $found, not $wanted"
for name in $wanted; do
  dpkg-deb --info "$(package "$name")" >"$work/info"
  grep -qE '^ Version: 0\.1\.0-1$' "$work/info" || complain "$name: another version"
  grep -qE '^ Description: .{10,80}$' "$work/info" || complain "$name: no description, or a long one"
done

has libheddle-rpc-dev include/heddle/rpc/rpc.h include/heddle/hw/cuda/target.h 'lib/*cmake/heddle/heddleConfig.cmake' \
  'lib/*cmake/heddle/heddle_rpc_targets.cmake' 'lib/*pkgconfig/heddle-rpc.pc'
has libheddle-dev include/heddle/sim/target.h include/heddle/tools/scenario.h 'lib/*libheddle_main.a' 'lib/*libheddle_sim.a' \
  'lib/*cmake/heddle/heddle_main_targets.cmake' 'lib/*pkgconfig/heddle.pc' libexec/heddle/heddle-rewrite
has heddle bin/heddle share/man/man1/heddle.1 share/bash-completion/completions/heddle share/zsh/vendor-completions/_heddle \
  share/fish/vendor_completions.d/heddle.fish
# No file is in two of them, and nothing lies elsewhere.
for name in $wanted; do
  dpkg-deb --contents "$(package "$name")" | awk '$1 !~ /^d/ { print $6 }'
done | sort >"$work/all"
[ -z "$(uniq -d "$work/all")" ] || complain "in two packages: $(uniq -d "$work/all" | xargs)"
! grep -vE '^\./usr/(bin|include/heddle|lib|libexec/heddle|share)/' "$work/all" || complain "these lie elsewhere"
! grep -E '/build/|\.cpp$|_test' "$work/all" || complain "these belong to the build alone"

[ "$(dpkg-deb --field "$(package libheddle-rpc-dev)" Architecture)" = all ] || complain "headers have no architecture"
[ -z "$(depends libheddle-rpc-dev)" ] || complain "the headers depend on $(depends libheddle-rpc-dev)"
needs heddle libboost-context1.81.0 libcapstone4 libdw1 libtbb12 zlib1g
needs libheddle-dev libheddle-rpc-dev libboost-context1.81-dev libdw-dev libcapstone-dev libtbb-dev zlib1g-dev
# Those are where the libraries come from that this build was linked against.
for entry in LIBDW_LIBRARY CAPSTONE_LIBRARY; do
  file=$(sed -n "s/^$entry:FILEPATH=//p" "$build/CMakeCache.txt")
  owner=$(dpkg -S "$file" | sed 's/:.*//')
  depends libheddle-dev | grep -qw -- "$owner" || complain "libheddle-dev does not depend on $owner, which has $file"
done

for name in libheddle-rpc-dev libheddle-dev heddle; do dpkg-deb --extract "$(package $name)" "$work/root"; done
"$work/root/usr/bin/heddle" --version || complain "the command does not run"
"$(dirname "$0")/readme.sh" cmake "$source" "$work/root/usr" "$work/mine" "$compiler" "$generator" >"$work/log" ||
  { cat "$work/log"; complain "the project of README.md is not built from the packages"; }
du -h "$work"/*.deb
rm -rf "$work/root" "$work"/*.deb
[ $failures = 0 ]
