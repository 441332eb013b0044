#!/bin/sh
# guard.sh COMMAND...: runs a command until it ends or standard input does, whichever comes first.
# Standard input is a pipe held by the process that wants the command: it ends with that process, even
# after SIGKILL. The caller made a process group for this script; the end of input kills all of it.
exec 3<&0
"$@" 3<&- </dev/null &
command=$!
{
  read -r _ <&3
  kill -KILL 0
} &
watcher=$!
wait "$command"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
