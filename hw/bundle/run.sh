#!/usr/bin/env bash
# Runs all that heddle has for a machine on this one, from the folder in which this file lies: programs, and what is expected of them.
# Needs bash, coreutils and, for a GPU, its driver. Each part has a time limit of its own, and a part that dies costs only itself.
set -uo pipefail
unset CDPATH
here=$(dirname -- "${BASH_SOURCE[0]}") && cd -- "$here" || exit 2

usage() {
  cat <<'TXT'
usage: ./run.sh [--quick] [--only PART[,PART...]] [--limit S] [--out DIR]

  --quick      a few seconds for each part: whether the programs run here at all
  --only ...   these parts only
  --limit S    at most S seconds for each part
  --out DIR    where results go (results)

Parts, in this order, and their limits in seconds (25 minutes in all with what ends a part that does not end):
  machine 20, suite 300, litmus 400, baselines 90, ports 150, slots 100, hostcalls 60, offload 60, mailbox 60, fifo 60,
  hang-crossed 45, hang-waves 45

DIR/summary.json is whole after each part. Each part has DIR/PART.txt, what it printed, and suite, litmus and what is measured have
DIR/PART.json; a hang leaves its dump. Exit status: 0 all parts went as expected, 1 one did not, 2 the options were wrong.
TXT
}

parts=(machine suite litmus baselines ports slots hostcalls offload mailbox fifo hang-crossed hang-waves)
quick=no only='' most=0 out=results
wrong() {
  echo "run.sh: $1" >&2
  exit 2
}
# "--part PART LIMIT QUICK OUT": this script as the process that becomes the part.
performs=''
[ "${1:-}" != --part ] || { performs=$2 limit=$3 quick=$4 out=$5; shift 5; }
while [ $# != 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --only | --limit | --out)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --only) only=$2 ;;
        --limit) [[ $2 =~ ^[1-9][0-9]*$ ]] || wrong "--limit cannot be \"$2\"; it must be a number of seconds" && most=$2 ;;
        --out) out=$2 ;;
      esac
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) wrong "there is no option \"$1\"; --help lists them" ;;
  esac
  shift
done
if [ -n "$only" ]; then
  IFS=, read -ra asked <<<"$only"
  for part in "${asked[@]}"; do
    [[ " ${parts[*]} " == *" $part "* ]] || wrong "there is no part \"$part\"; there are ${parts[*]}"
  done
  parts=("${asked[@]}")
fi
mkdir -p "$out" || exit 2
machine=$(<machine)

# -- what a part is to do, and whether it has done so --------------------------------------------------------------------------

limit_of() {
  local limit
  case $1 in
    machine) limit=20 ;;
    suite) limit=300 ;;
    litmus) limit=400 ;;
    baselines) limit=90 ;;
    ports) limit=150 ;;
    slots) limit=100 ;;
    hang-*) limit=45 ;;
    *) limit=60 ;;
  esac
  [ $quick = no ] || limit=20
  [ "$most" = 0 ] || [ "$limit" -le "$most" ] || limit=$most
  echo "$limit"
}

# In place of this shell, so that a limit ends the program itself.
perform() {
  local part=$1 limit=$2
  # A part is to end by itself, some seconds before it would be ended.
  local time=$((limit > 20 ? limit - limit / 10 : limit / 2))
  local measure=(bin/latency "--benchmark_out=$out/$part.json.part" --benchmark_out_format=json)
  export LD_LIBRARY_PATH=$PWD/lib
  # A point takes its rounds, each with a quarter for bare exchanges, and time to set up; some fifty to a protocol.
  local points='' effort=(--rounds=4 --round-ms=100)
  # More than fit any GPU at once, each in a block of its own.
  local waves=16384
  [ "$machine" != host ] || waves=2
  local repeat=5 suite=suite.txt instances=1000000000
  [ $quick = no ] || { repeat=1 suite=quick.txt instances=200000; }
  [ $quick = no ] || { points='waves:1/lanes:1/bytes:8/servers:1/mailbox:host/iterations'; effort=(--rounds=1 --round-ms=20); }
  case $part in
    machine)
      uname -a
      cat /proc/cpuinfo 2>/dev/null | sort | uniq -c | sort -rn | head -30
      cat /sys/class/drm/card*/device/numa_node /sys/bus/pci/drivers/nvidia/*/numa_node 2>/dev/null
      cat /proc/driver/nvidia/version 2>/dev/null
      command -v nvidia-smi >/dev/null && nvidia-smi -q
      command -v rocm-smi >/dev/null && rocm-smi --showall
      exit 0
      ;;
    suite)
      # One after the other: what has been printed is not lost when a later one takes all the time.
      local name status=0 all=0
      while read -r name; do
        bin/scenarios "$name" --repeat "$repeat" --seed 1 --record --timeout 30 --dump "$out" >"$out/suite.one" 2>&1
        status=$?
        tail -n +2 "$out/suite.one"
        [ $status = 0 ] || { all=$status; head -n 1 "$out/suite.one"; }
        [ $status != 3 ] || break
      done <"expected/$suite"
      rm -f "$out/suite.one"
      exit $all
      ;;
    litmus)
      exec bin/litmus --instances $instances --time "$time" --json "$out/litmus.json"
      ;;
    baselines)
      exec "${measure[@]}" "${effort[@]}" --benchmark_filter="^(nothing|store|exchange|printf|launch|copy)/"
      ;;
    hang-crossed)
      exec bin/scenarios zoo.crossed-calls --record --quiet 2 --timeout $((limit > 10 ? limit - 5 : limit)) --seed 3 --dump "$out"
      ;;
    hang-waves)
      exec bin/scenarios zoo.single-port-wait --set waves="$waves" --record --events 16 --quiet 2 --timeout $((limit > 10 ? limit - 5 : limit)) --seed 3 --dump "$out"
      ;;
    ports) exec "${measure[@]}" "${effort[@]}" --benchmark_filter="^ports(-shortest)?/.*$points" ;;
    *) exec "${measure[@]}" "${effort[@]}" --benchmark_filter="^$part/.*$points" ;;
  esac
}

# "ok", or why not: of a part that has ended by itself with that status.
judge() {
  local part=$1 status=$2 name missing=0 first=''
  case $part in
    machine) ;;
    hang-crossed | hang-waves)
      # The first hangs on every machine. The second does where a wave that waits keeps another from starting; it is a finding either way.
      if [ "$part" = hang-crossed ] || [ "$status" != 0 ]; then
        [ "$status" = 1 ] || { echo "exit status $status, and not 1: no hang was seen"; return; }
        local dump=zoo.crossed-calls
        [ "$part" = hang-crossed ] || dump=zoo.single-port-wait
        [ -s "$out/$dump.heddle-dump.json" ] || { echo "the hang left no dump"; return; }
      fi
      ;;
    *)
      [ "$status" = 0 ] || { echo "exit status $status: $(tail -n 1 "$out/$part.txt" | tr -d '"\\' | cut -c1-160)"; return; }
      ;;
  esac
  if [ "$part" = suite ]; then
    while read -r name; do
      says_ok "$name" || { missing=$((missing + 1)); first=${first:-$name}; }
    done <"expected/$([ $quick = yes ] && echo quick || echo suite).txt"
    [ $missing = 0 ] || { echo "$missing scenarios are missing, the first is $first"; return; }
  fi
  echo ok
}

# Whether the suite's table says "ok" of a scenario.
says_ok() {
  local name rest
  while read -r name rest; do
    [ "$name" != "$1" ] || [[ $rest != *ok ]] || return 0
  done <"$out/suite.txt"
  return 1
}

# The suite's table as JSON, as far as it came.
suite_json() {
  local name runs seconds verdict comma=''
  printf '{"machine": "%s", "scenarios": [' "$machine"
  while read -r name runs seconds verdict; do
    [[ $runs =~ ^[0-9]+$ && $verdict =~ ^[A-Za-z\ ]+$ ]] || continue
    printf '%s\n {"name": "%s", "runs": %s, "seconds": "%s", "verdict": "%s"}' "$comma" "$name" "$runs" "$seconds" "$verdict"
    comma=,
  done <"$out/suite.txt"
  printf '\n]}\n'
}

# -- running them ---------------------------------------------------------------------------------------------------------------

lines=()
summary() {
  {
    printf '{\n "machine": "%s",\n "bundle": "%s",\n "began": "%s",\n "whole": %s,\n "parts": [' "$machine" "$(<version)" "$began" "$1"
    local n
    for n in "${!lines[@]}"; do printf '%s\n  %s' "$([ "$n" = 0 ] || echo ,)" "${lines[n]}"; done
    printf '\n ]\n}\n'
  } >"$out/summary.json.part" && mv "$out/summary.json.part" "$out/summary.json"
}

run_part() {
  local part=$1 limit state why status=0 began_at=$SECONDS took
  limit=$(limit_of "$part")
  rm -f "$out/$part.json" "$out/$part.json.part"
  # timeout makes a group of processes of its own, and ends all of it: children of the program too.
  timeout --kill-after=2 "$limit" "$BASH" run.sh --part "$part" "$limit" "$quick" "$out" >"$out/$part.txt" 2>&1 </dev/null &
  local pid=$!
  # What a driver holds cannot be killed, and is left behind.
  while kill -0 $pid 2>/dev/null && [ $((SECONDS - began_at)) -le $((limit + 8)) ]; do sleep 0.1; done
  took=$((SECONDS - began_at))
  if kill -0 $pid 2>/dev/null; then
    state=lost why="it does not end, even when it is killed"
  else
    wait $pid
    status=$?
    if [ $status = 124 ] || { [ $status = 137 ] && [ $took -ge "$limit" ]; }; then
      state=lost why="its time limit of $limit s"
    elif [ $status -gt 128 ]; then
      state=lost why="killed by signal $((status - 128))"
    else
      why=$(judge "$part" $status)
      state=ok
      [ "$why" = ok ] || state=failed
    fi
  fi
  kill -KILL -- -$pid 2>/dev/null
  if [ "$part" = suite ]; then suite_json >"$out/suite.json"; fi
  # A result of Google Benchmark is whole when its program has ended.
  if [ $state = ok ] && [ -f "$out/$part.json.part" ]; then mv "$out/$part.json.part" "$out/$part.json"; fi
  [ $state = ok ] || all=1
  lines+=("{\"part\": \"$part\", \"state\": \"$state\", \"why\": \"${why//\"/}\", \"exit\": $status, \"seconds\": $took, \"limit\": $limit}")
  printf '%-14s %-7s %5s s of %4s s  %s\n' "$part" "$state" "$took" "$limit" "${why#ok}"
}

if [ -n "$performs" ]; then perform "$performs" "$limit"; fi
all=0
began=$(date -u +%FT%TZ)
for part in "${parts[@]}"; do
  run_part "$part" 2>/dev/null
  summary false
done
summary true
echo "results: $PWD/$out/summary.json"
exit $all
