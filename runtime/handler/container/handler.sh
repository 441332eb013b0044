# The handler's side of the pair; pipeTransport.ts is the runner's:
#
#   [/argosy/handler-shell/busybox] sh /argosy/engine/handler.sh
#     [--patience=SECONDS] [--function] [--hidden=VARIABLE]... PROGRAM ARGUMENT...
#
# It runs in the author's image, which may have no shell and no tools. In that case busybox is mounted, and this script uses
# only its tools. Otherwise it uses the image's tools. The shell starts the author's program when the runner asks, each time
# on new named pipes, and reports how the program ended. The script must run in any POSIX shell.
#
# A session is one runner and this shell. Its folder in the shared volume holds two pipes, "control" (lines of the
# runner) and "reports" (lines of ours), and the pipes of each process, "1.in", "1.out", "1.err". The file "session"
# names the folder until the runner has greeted. The file "hidden" has the values that the runner must not report, a line of
# base64 for each, since the runner has no right to read them elsewhere: the volume is in memory. Each side knows that the
# other has gone by the end of its pipe; after that every process is killed and a new session begins.
#
#   runner:  hello resident|run    start ID    kill GROUP    forget SUPERVISOR    close
#   shell:   made ID SUPERVISOR    running ID GROUP    exit ID STATUS    failed ID WHY
#
# Variables begin with argosy_: the handler's own environment must reach it unchanged.

argosy_root=${0%/engine/*}
argosy_pipes=$argosy_root/pipes
# Stands before each tool. Empty if the image has the tools.
argosy_shell=$argosy_root/handler-shell/busybox
[ -x "$argosy_shell" ] || argosy_shell=
# A runner that has not come by then has probably failed for good. If not, this container is restarted, and waits again.
argosy_patience_seconds=600
# Whether the program is the loop around a function. It reads requests from descriptor 4 and writes answers to descriptor 3. Its
# standard output is log, and its standard input is empty.
argosy_is_function=
argosy_hidden=
while :; do
  case $1 in
    --patience=*) argosy_patience_seconds=${1#*=} ;;
    --function) argosy_is_function=yes ;;
    --hidden=*) argosy_hidden="$argosy_hidden ${1#*=}" ;;
    *) break ;;
  esac
  shift
done

report() {
  echo "$*" >"$argosy_session/reports"
}

# Publishes a new session and waits for a runner. SIGTERM ends this shell only until a runner has come. From then on, the runner
# closes the session, after the object that it may have to finish.
open_session() {
  $argosy_shell rm -rf "$argosy_pipes/session" "$argosy_pipes"/session.*
  argosy_session=$($argosy_shell mktemp -d "$argosy_pipes/session.XXXXXX") || exit 1
  $argosy_shell mkfifo -m 600 "$argosy_session/control" "$argosy_session/reports" || exit 1
  hide
  # Open for reading and writing: so the shell does not wait for the other end, and reads no end while there is no runner yet.
  exec 4<>"$argosy_session/control" 5<>"$argosy_session/reports"
  # Until the watchdog is known, a signal is only remembered: ending now would leave the watchdog running.
  argosy_watchdog=
  argosy_leaving=
  trap 'argosy_leaving=yes' TERM INT
  echo "${argosy_session##*/}" >"$argosy_session/name"
  $argosy_shell mv "$argosy_session/name" "$argosy_pipes/session"
  # A runner that had no work may have gone before we began. After it has written "closed", it looks for our session once more.
  [ ! -e "$argosy_pipes/closed" ] || leave
  give_up_later &
  argosy_watchdog=$!
  trap leave TERM INT
  [ -z "$argosy_leaving" ] || leave
  read -r argosy_command argosy_form <&4
  trap '' TERM INT
  kill -USR1 "$argosy_watchdog"
  wait "$argosy_watchdog" 2>/dev/null
  $argosy_shell rm -f "$argosy_pipes/session"
  # From here on the runner alone holds the other end.
  exec 3<"$argosy_session/control" 4<&-
}

# Its own variables are in no environment. Only this user can open a folder that mktemp has made.
hide() {
  for argosy_name in $argosy_hidden; do
    $argosy_shell printenv "$argosy_name" | $argosy_shell base64 | $argosy_shell tr -d '\n'
    echo
  done >"$argosy_session/hidden"
}

leave() {
  [ -z "$argosy_watchdog" ] || kill -USR1 "$argosy_watchdog" 2>/dev/null
  $argosy_shell rm -rf "$argosy_pipes/closed" "$argosy_pipes/session" "$argosy_session"
  exit 0
}

give_up_later() {
  exec 4<&- 5<&-
  attend $argosy_shell sleep "$argosy_patience_seconds"
  wait "$argosy_attended" 2>/dev/null
  kill -TERM $$
}

# Kills every process, and ends the session: the runner, if there is one, reads the end of "reports".
close_session() {
  exec 3<&-
  for argosy_supervisor in $argosy_supervisors; do kill -USR1 "$argosy_supervisor" 2>/dev/null; done
  wait
  argosy_supervisors=' '
  $argosy_shell rm -rf "$argosy_session"
  exec 5<&-
}

# start ID PROGRAM ARGUMENT...
start() {
  if ! argosy_error=$($argosy_shell mkfifo -m 600 "$argosy_session/$1.in" "$argosy_session/$1.out" "$argosy_session/$1.err" 2>&1); then
    report failed "$1" $argosy_error
    return
  fi
  supervise "$@" &
  argosy_supervisors="$argosy_supervisors$! "
  report made "$1" $!
}

# Runs one process and reports how it ended: only its parent can learn that, and the shell itself has to listen.
supervise() {
  argosy_id=$1
  shift
  # Nothing that outlives the shell or the runner may hold their pipes open.
  exec 3<&- 5<&-
  # Each of these waits until the runner has opened the other end. So no output is lost, and its end is seen.
  exec 4<"$argosy_session/$argosy_id.in" 5>"$argosy_session/$argosy_id.out" 6>"$argosy_session/$argosy_id.err"
  attend run "$@"
  exec 4<&- 5>&- 6>&-
  report running "$argosy_id" "$argosy_attended"
  wait "$argosy_attended" 2>/dev/null
  report exit "$argosy_id" $?
}

# Becomes the program, in a process group of its own, and does not ignore SIGTERM as we do. SIGINT stays ignored, as in
# everything that a shell runs in the background.
run() {
  trap - TERM USR1
  [ -z "$argosy_is_function" ] || exec $argosy_shell setsid "$@" </dev/null >&6 2>&6 3>&5 4<&4 5>&- 6>&-
  exec $argosy_shell setsid "$@" <&4 >&5 2>&6 4<&- 5>&- 6>&-
}

# Runs a command in the background of a subshell. From now on SIGUSR1, which always ends the subshell, ends both.
attend() {
  argosy_over=
  trap 'argosy_over=yes' USR1
  "$@" &
  argosy_attended=$!
  trap end_both USR1
  [ -z "$argosy_over" ] || end_both
}

end_both() {
  kill_group "$argosy_attended"
  wait "$argosy_attended" 2>/dev/null
  exit
}

# Kills the process by its own id too, because it may not have its group yet.
kill_group() {
  kill -KILL "-$1" "$1" 2>/dev/null
}

# Reports to Argo that the runner of a run has ended, unless that was reported already. If a container runs out of memory, all its
# processes are killed, and so is Argo's executor, which would have reported the end. Argo's container "wait" would then wait for
# this report until the deadline of the pod.
tell_of_runner() {
  argosy_word=${argosy_root%/argosy}/var/run/argo/ctr/main
  [ -d "$argosy_word" ] || return
  $argosy_shell sleep 5
  [ -e "$argosy_word/exitcode" ] || echo 137 >"$argosy_word/exitcode"
}

# forget SUPERVISOR: the supervisor has reported everything, or must not begin. Waiting for it keeps the table of processes small.
forget() {
  case $argosy_supervisors in
    *" $1 "*) ;;
    *) return ;;
  esac
  kill -USR1 "$1" 2>/dev/null
  wait "$1" 2>/dev/null
  argosy_supervisors="${argosy_supervisors%% "$1" *} ${argosy_supervisors#* "$1" }"
}

# The author's program, not an applet of busybox that has its name.
argosy_program=$($argosy_shell which "$1") || argosy_program=$1
shift
set -- "$argosy_program" "$@"

argosy_supervisors=' '
while :; do
  open_session
  argosy_command=
  while read -r argosy_command argosy_argument <&3; do
    case $argosy_command in
      start) start "$argosy_argument" "$@" ;;
      kill) kill_group "$argosy_argument" ;;
      forget) forget "$argosy_argument" ;;
      # A new runner found the session before its name was gone: it gets one of its own.
      close | hello) break ;;
    esac
  done
  close_session
  case $argosy_command:$argosy_form in
    close:*) exit 0 ;;
    :run)
      tell_of_runner
      exit 0
      ;;
  esac
done
