#!/bin/sh
# A latency program and its picture, on a few points: curves.sh <latency program> <bench_plot>
#
# Exit status 0: as it must be; 1: not so, with a line; 77: no device answers, said in one line and with status 3.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "curves: $*"
  exit 1
}

"$1" --rounds=1 --round-ms=1 --benchmark_filter='/waves:[12]/lanes:1/bytes:(8|512)/servers:1/' \
  --benchmark_out="$folder/result.json" --benchmark_out_format=json >"$folder/said" 2>&1
status=$?
if [ $status -eq 3 ]; then
  [ "$(wc -l <"$folder/said")" -eq 1 ] && grep -q '^no device answers: ' "$folder/said" ||
    fail "a missing device must be one line, but is: $(cat "$folder/said")"
  cat "$folder/said"
  exit 77
fi
[ $status -eq 0 ] || fail "$1 ended with status $status: $(cat "$folder/said")"
for word in '"machine"' '"device"' '"command"' '"p99.9"' '"ratio"' '"name": "exchange/' '"name": "launch/' '"name": "printf/' \
  'ports/waves:2/' '/bytes:512/'; do
  grep -qF -- "$word" "$folder/result.json" || fail "there is no $word in the result"
done

"$2" "$folder/result.json" "$folder/curves.svg" || fail "it cannot be drawn"
for word in 'ports p50' 'bare exchange p50' 'time of a call' 'payload of each lane' 'server threads' '</svg>'; do
  grep -qF -- "$word" "$folder/curves.svg" || fail "there is no \"$word\" in the picture"
done

# One protocol alone.
"$2" "$folder/result.json" "$folder/ports.svg" ports || fail "ports cannot be drawn alone"
grep -qF 'ports p50' "$folder/ports.svg" || fail "ports are not in their own picture"
grep -qF 'slots' "$folder/curves.svg" || fail "there are no slots in the picture of all"
grep -qF 'slots' "$folder/ports.svg" && fail "slots are in the picture of ports"
"$2" "$folder/result.json" "$folder/none.svg" nonesuch 2>"$folder/said"
[ $? -eq 2 ] && grep -qF 'nonesuch: no such protocol' "$folder/said" || fail "an unknown protocol must be refused"

# What is wrong is told in one line.
echo '{"context": {}, "benchmarks": []}' >"$folder/empty.json"
echo 'no JSON' >"$folder/broken.json"
for input in empty broken missing; do
  "$2" "$folder/$input.json" "$folder/none.svg" 2>"$folder/said"
  [ $? -eq 2 ] && [ "$(wc -l <"$folder/said")" -eq 1 ] || fail "$input input must be one line and status 2: $(cat "$folder/said")"
done
"$1" --rounds=0 2>"$folder/said" && fail "--rounds=0 must be refused"
"$1" --no-such-option 2>"$folder/said" && fail "an unknown option must be refused"
exit 0
