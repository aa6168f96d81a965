#!/usr/bin/env bash
# Makes a bundle of host programs and runs it: every part's result is there, and a part that hangs, crashes or is killed costs itself alone.
#
#   bundle.sh FOLDER_OF_THE_SCRIPTS BUILD
set -uo pipefail
scripts=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
wrong() {
  echo "wrong: $1"
  failed=1
}
# state RUN PART: what the summary of that run says of a part, "STATE WHY"
state() {
  python3 -c '
import json, sys
for part in json.load(open(sys.argv[1]))["parts"]:
    if part["part"] == sys.argv[2]:
        print(part["state"], part["why"])' "$folder/$1/results/summary.json" "$2"
}
is() {
  local said
  said=$(state "$1" "$2")
  [[ $said =~ $3 ]] || { wrong "$1: $2 is \"$said\", and not \"$3\""; tail -5 "$folder/$1/results/$2.txt"; }
}
whole() { python3 -m json.tool "$folder/$1/results/$2" >/dev/null || wrong "$1: $2 is no JSON"; }
# runs RUN STATUS OPTIONS...
runs() {
  local run=$1 wanted=$2 status
  shift 2
  # What a bare machine has.
  env -i PATH="$folder/tools" "$folder/$run/run.sh" "$@" >"$folder/$run.txt" 2>&1
  status=$?
  [ $status = "$wanted" ] || { wrong "$run: exit status $status, and not $wanted"; cat "$folder/$run.txt"; }
}
# A copy of the bundle in which one program is replaced by the script on standard input; the real one is PROGRAM.real.
replaced() {
  cp -r "$folder/bundle" "$folder/$1"
  rm -rf "$folder/$1/results"
  mv "$folder/$1/bin/$2" "$folder/$1/bin/$2.real"
  cat >"$folder/$1/bin/$2"
  chmod +x "$folder/$1/bin/$2"
}

mkdir "$folder/tools"
for tool in bash cat cut date dirname head mkdir mv rm sleep sort tail timeout tr uname uniq; do ln -s "$(command -v $tool)" "$folder/tools/$tool"; done
"$scripts/make.sh" "$build" "$folder/bundle" host || exit 1
"$scripts/make.sh" "$build" "$folder/bundle" host 2>/dev/null && wrong "a folder that is not empty is taken"
ldd "$folder/bundle/bin/scenarios" "$folder/bundle/bin/litmus" | grep -q 'libstdc++' && wrong "a program needs the C++ library"
[ "$(du -sm "$folder/bundle" | cut -f1)" -lt 60 ] || wrong "the bundle is too large"

runs bundle 0 --quick
for part in machine suite litmus baselines ports slots hostcalls offload mailbox fifo hang-crossed hang-waves; do is bundle $part '^ok'; done
for result in summary suite litmus baselines ports slots hostcalls offload mailbox fifo zoo.crossed-calls.heddle-dump; do whole bundle $result.json; done
python3 - "$folder/bundle" <<'PY' || failed=1
import json, sys
def read(name): return json.load(open(f"{sys.argv[1]}/results/{name}.json"))
suite = read("suite")["scenarios"]
names = open(f"{sys.argv[1]}/expected/quick.txt").read().split()
assert [each["name"] for each in suite] == names and all(each["verdict"] == "ok" for each in suite), suite
rows = read("litmus")
assert rows["whole"] and len(rows["rows"]) == len(open(f"{sys.argv[1]}/expected/litmus.txt").readlines())
assert any(each["name"].startswith("exchange/") for each in read("baselines")["benchmarks"])
for protocol in ("ports", "slots", "hostcalls", "offload", "mailbox", "fifo"):
    points = read(protocol)["benchmarks"]
    roads = {protocol, "ports-shortest"} if protocol == "ports" else {protocol}
    assert {each["name"].split("/")[0] for each in points} == roads and all("p50" in each for each in points), protocol
assert read("summary")["whole"] and read("summary")["machine"] == "host"
assert read("zoo.crossed-calls.heddle-dump")["scenario"] == "zoo.crossed-calls"
assert len(open(f"{sys.argv[1]}/expected/suite.txt").readlines()) > 50
PY

# One that hangs, and does not end when it is asked to; beside it a child of its own.
replaced hangs litmus <<'SH'
#!/bin/bash
trap '' TERM
sleep 1000 &
echo $! >child
while :; do sleep 1; done
SH
runs hangs 1 --quick --limit 6 --only litmus,baselines,suite
is hangs litmus '^lost its time limit of 6 s$'
is hangs baselines '^ok'
is hangs suite '^ok'
# One that has ended may be left as a zombie, where nothing takes its status.
grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$folder/hangs/child")/status" && wrong "a child of a part that hung lives on"

# One that crashes.
replaced crashes latency <<'SH'
#!/bin/bash
echo "something" >"${1#--benchmark_out=}"
kill -SEGV $$
SH
runs crashes 1 --quick --only suite,baselines,litmus
is crashes suite '^ok'
is crashes baselines '^lost killed by signal 11$'
is crashes litmus '^ok'
[ ! -e "$folder/crashes/results/baselines.json" ] || wrong "what is not whole is given as a result"

# One that is killed half way: what it had written is whole.
replaced killed litmus <<'SH'
#!/bin/bash
"$0.real" --row '^host/(MP|LB)$' --instances 2000 --json results/litmus.json
/bin/sed -i 's/"whole": true/"whole": false/' results/litmus.json
kill -KILL $$
SH
runs killed 1 --quick --only litmus,baselines
is killed litmus '^lost killed by signal 9$'
is killed baselines '^ok'
whole killed litmus.json
grep -q 'host/LB' "$folder/killed/results/litmus.json" || wrong "the rows before the end are lost"

# Scenarios of which one fails, and a program for a machine that is not there.
replaced fails scenarios <<'SH'
#!/bin/bash
[ "$1" != port.echo ] || { echo scenario; echo "port.echo 1 0.1 FAILED"; exit 1; }
exec "$0.real" "$@"
SH
runs fails 1 --quick --only suite
is fails suite '^failed exit status 1'
whole fails suite.json
replaced absent scenarios <<'SH'
#!/bin/bash
echo "heddle: no device answers"
exit 3
SH
runs absent 1 --quick --only suite,baselines
is absent suite '^failed exit status 3: heddle: no device answers'
is absent baselines '^ok'

runs bundle 2 --only nothing
runs bundle 2 --limit 0
runs bundle 2 --cheese
[ $failed = 0 ] && echo "the bundle is as it should be"
exit $failed
