#!/usr/bin/env bash
# Puts the programs of a build into a folder that runs on a machine with nothing but bash, coreutils and a GPU's driver.
#
#   make.sh BUILD DIR host|cuda
#
# The programs must have been built: the target hw_bundle_host or hw_bundle_cuda.
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
build=$1 folder=$2 machine=$3
most_mib=60
fail() {
  echo "bundle: $1" >&2
  exit 2
}
if [ -e "$folder" ] && [ -n "$(ls -A "$folder")" ]; then fail "$folder is not empty; name a new folder"; fi
mkdir -p "$folder/bin" "$folder/lib" "$folder/expected"
scenarios=$build/scenarios_$machine litmus=$build/litmus_$machine latency=$build/bench/latency_$machine
# For the GPU's own instructions, and not only what its driver translates.
[ "$machine" != cuda ] || scenarios=${scenarios}_sm_90 litmus=${litmus}_sm_90 latency=$build/bench/latency/latency_cuda_sm_90
for program in "scenarios $scenarios" "litmus $litmus" "latency $latency"; do
  read -r name file <<<"$program"
  [ -x "$file" ] || fail "there is no $file; build the target hw_bundle_$machine"
  cp "$file" "$folder/bin/$name"
  strip "$folder/bin/$name"
  # What belongs to every Linux may be missing in the bundle; what else a program needs goes with it.
  while read -r library _ path _; do
    case $library in
      linux-vdso* | */ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.*) ;;
      libbenchmark.so.* | libstdc++.so.* | libgcc_s.so.*) cp "$path" "$folder/lib/$library" ;;
      *) fail "$name needs $library, which the other machine may not have" ;;
    esac
  done < <(ldd "$folder/bin/$name")
done
cp "$here/run.sh" "$folder/run.sh"
echo "$machine" >"$folder/machine"
(cd "$here" && git describe --always --dirty 2>/dev/null || echo unknown) >"$folder/version"
# Each of these must say ok on a machine.
"$folder/bin/scenarios" --names >"$folder/expected/suite.txt"
"$folder/bin/scenarios" --names 'port.echo*' 'slot.*' >"$folder/expected/quick.txt"
"$folder/bin/litmus" --list >"$folder/expected/litmus.txt"
strings_of() { grep -aohE 'GLIBC_2\.[0-9]+' "$folder"/bin/* "$folder"/lib/* | sort -uV | tail -1; }
echo "needs the C library $(strings_of) or later" >"$folder/needs"
size=$(du -sm "$folder" | cut -f1)
[ "$size" -lt $most_mib ] || fail "$folder has $size MiB, and may have less than $most_mib"
echo "$folder: $size MiB, $(<"$folder/needs"). There: ./run.sh"
