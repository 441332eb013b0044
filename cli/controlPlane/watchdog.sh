#!/bin/sh
# watchdog.sh DIRECTORY: waits for the end of standard input, then ends every process whose program was
# started by a path below DIRECTORY and removes DIRECTORY. Standard input is a pipe held by the process that
# started the control plane: it ends with that process, however it went, so no process id can be mistaken.
directory=$1
trap '' HUP INT TERM
while read -r _; do :; done

pattern="^$(printf %s "$directory" | sed 's/[][\.*^$]/\\&/g')/"
processes() {
  if [ -r /proc/self/cmdline ]; then
    grep -al "$pattern" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3
  else
    ps -A -o pid=,command= | sed 's/^ *//' |
      while read -r id line; do printf '%s\n' "$line" | grep -q "$pattern" && echo "$id"; done
  fi
}

# More than once: a process may start another between the look and the kill.
rounds=0
while ids=$(processes) && [ -n "$ids" ] && [ $rounds -lt 100 ]; do
  # shellcheck disable=SC2086 # one word per process
  kill -KILL $ids 2>/dev/null
  rounds=$((rounds + 1))
  sleep 0.05
done
rm -rf -- "$directory"
