#!/bin/sh
# What the litmus programs say of rows whose answer is known: litmus.sh host|device PROGRAM PLANTED
#
# PLANTED runs rows that claim of what must be seen that it is forbidden, and of what cannot be that it is allowed.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
# expect STATUS NAME COMMAND...: runs it, and keeps what it says in $folder/NAME
expect() {
  status=$1
  name=$2
  shift 2
  "$@" >"$folder/$name" 2>&1
  was=$?
  [ $was = "$status" ] || { echo "$*: exit status $was, not $status"; failed=1; }
}
# says NAME PATTERN: a line of that output matches
says() {
  grep -qE "$2" "$folder/$1" || { echo "\"$2\" does not stand in:"; cat "$folder/$1"; failed=1; }
}

case $1 in
  host)
    expect 1 planted "$3" --instances 4000000 --time 100 --seed 7 --json "$folder/json"
    says planted '^FORBIDDEN +forbidden .*planted_host/SB\+nothing$'
    says planted '^ok +forbidden +[0-9]+ +0 .*planted_host/SB\+mfences$'
    says planted '^not seen +allowed +[0-9]+ +0 .*planted_host/nothing$'
    says planted '^forbidden outcomes seen: 1 of 2; allowed ones: 0 of 1$'
    says json '"whole": true'
    says json '"row": "planted_host/SB.nothing".*"result": "FORBIDDEN", "seen": [1-9]'
    expect 0 rows "$2" --instances 1000000 --time 20 --row '^host/(SB|MP|S|IRIW)$'
    says rows '^ok .*host/IRIW$'
    says rows '^forbidden outcomes seen: 0 of 3; allowed ones: '
    # Without time a row has no instances, which is no finding.
    expect 0 none "$2" --time 0.000001 --row 'host/SB.mfences'
    says none '^ok +forbidden +0 +0 '
    expect 2 wrong "$2" --row '('
    says wrong 'it must be a regular expression'
    expect 2 wrong "$2" --instances -1
    says wrong 'it must be a number, 0 or more'
    expect 2 wrong "$2" --row nothing-like-it
    expect 2 wrong "$2" --instances
    expect 2 wrong "$2" --cheese
    expect 2 wrong "$2" --row 'host/SB$' --instances 1 --json "$folder/no/such/folder"
    says wrong 'cannot write'
    # A pipe and a symbolic link stay what they are.
    mkfifo "$folder/pipe"
    timeout 60 cat "$folder/pipe" >"$folder/piped" &
    expect 0 rows "$2" --row 'host/SB\+(mfences|xchgs)$' --instances 1000 --json "$folder/pipe"
    wait
    says piped '"whole": true'
    [ -p "$folder/pipe" ] && [ "$(grep -c '"context"' "$folder/piped")" = 1 ] || { echo "the pipe"; failed=1; }
    ln -s linked "$folder/link"
    expect 0 rows "$2" --row 'host/SB$' --instances 1000 --json "$folder/link"
    says linked '"whole": true'
    expect 0 rows "$2" --row 'host/SB$' --instances 1000 --json "$folder/link"
    [ -L "$folder/link" ] || { echo "the link"; failed=1; }
    ;;
  device)
    expect 1 planted "$3" --instances 200
    for threads in 'one block' 'two blocks' 'device and host' 'host and device'; do
      says planted "^FORBIDDEN +forbidden +([0-9]+) +\\1 +1000000.000  planted_device/own values of $threads\$"
      says planted "^not seen +allowed .*planted_device/wrong values of $threads\$"
    done
    # Of each instance, once.
    says planted '^FORBIDDEN +forbidden +([0-9]+) +\1 +1000000.000  planted_device/last value$'
    says planted '^not seen +allowed .*planted_device/no value$'
    says planted '^FORBIDDEN +forbidden +([0-9]+) +\1 +1000000.000  planted_device/two of three$'
    says planted '^ok +forbidden .*planted_device/ticket$'
    expect 0 rows "$2" --instances 100 --row '^(ptx/IRIW.fsc.sys.sys|rpc/Delegate.gpu->sys|rpc/TicketUnique.gpu|pcie/MP-gh.rel-sys)'
    says rows '^forbidden outcomes seen: 0 of 4; allowed ones: 0 of 0$'
    ;;
esac
[ $failed = 0 ] && echo "as expected"
exit $failed
