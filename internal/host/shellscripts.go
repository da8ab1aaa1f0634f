package host

// The scripts for jobs on another host. They are POSIX, and need on the host: setsid, env, cat, ls, mkdir, mv, rm,
// sleep. Each is passed to sh as an argument, followed by its own arguments; no value is ever written into a script.

// makeScript creates the folder of a job: USER-NUMBER ID TOKEN BASE..., in the first base that is writable. Every user
// can create names in the parent of a base, so an existing base must be a real folder that this user owns. Otherwise
// another user could read and control the jobs. The token is in the folder's name, so that the name is unpredictable;
// it also identifies a folder created by an earlier attempt of this call. The script prints a word and a path.
const makeScript = `uid=$1; id=$2; token=$3; shift 3
mine() { case $1 in drwx------*) [ "$3" = "$uid" ];; *) false;; esac; }
for base; do
	mkdir -m 700 "$base" 2>/dev/null
	said=$(ls -ldn "$base" 2>/dev/null) || continue
	if ! mine $said; then echo "foreign $base"; exit; fi
	dir=$base/$id.$token
	if [ -d "$dir" ]; then echo "made $dir"; exit; fi
	for other in "$base/$id" "$base/$id".*; do if [ -d "$other" ]; then echo "exists $other"; exit; fi; done
	if mkdir -m 700 "$dir" 2>/dev/null; then echo "made $dir"; exit; fi
	rmdir "$base" 2>/dev/null
done
echo "nowhere -"`

// launchScript starts the wrapper of a job: FOLDER WRAPPER COMMAND BEGIN, then the arguments of env. If it runs twice,
// only one run starts the wrapper. It prints the start record of the wrapper.
const launchScript = `cd "$1" || exit; wrapper=$2; command=$3; shift 3
case $command in
*/*) [ -x "$command" ] && [ ! -d "$command" ] ;;
*) command -v "$command" >/dev/null ;;
esac || { echo missing; exit 0; }
if mkdir headroom.launched 2>/dev/null; then
command -v setsid >/dev/null || { echo "setsid is missing (package util-linux)" >&2; exit 1; }
setsid sh -c "$wrapper" sh "$@" </dev/null >/dev/null 2>&1 &
fi
n=1000; while [ ! -e headroom.start ] && [ $n -gt 0 ]; do sleep 0.01; n=$((n-1)); done
cat headroom.start`

// wrapperScript runs a job in its folder and writes its records. The start record is the machine's uptime and the
// wrapper's own line of /proc/PID/stat, which distinguishes it from a later process with the same ID. The end record is
// the exit status and uptime, and the output of the shell's times. A record is created by rename, so that it is never
// read half-written. Signals that end a job are meant for the command; the wrapper survives them to record the result.
// Its first argument is the uptime, in hundredths of a second, at which the command begins; a signal before that ends
// the job without running the command.
const wrapperScript = `trap : HUP INT TERM
begin=$1; shift; code=0
read -r up rest </proc/uptime
read -r stat </proc/self/stat
if [ -e headroom.stdin ]; then exec <headroom.stdin; fi
: >>stdout; : >>stderr
printf '%s\n%s\n' "$up" "$stat" >headroom.starting && mv headroom.starting headroom.start
n=0; [ "$begin" = 0 ] || n=$((begin-${up%.*}${up#*.}))
if [ $n -gt 0 ]; then sleep "$((n/100)).$((n%100/10))$((n%10))"; code=$?; fi
if [ $code = 0 ]; then env -- "$@" >>stdout 2>>stderr; code=$?; fi
trap '' HUP INT TERM
read -r up rest </proc/uptime
{ printf '%s %s\n' "$code" "$up"; times; } >headroom.ending && mv headroom.ending headroom.end`

// worksScript defines two functions: works reports whether the working directory of process $1 is $dir or below it, and
// listed prints the candidates. Processes are found by their folder because a record of a process ID can't be written
// before the process exists, and because IDs are reused. The combined list only suggests candidates: a folder whose
// name contains a newline makes lines that look like the lines of other processes. So each candidate is examined alone.
// In its line, everything after the first "/proc/PID/cwd -> " is the path, to the last byte: the x keeps newlines at
// its end.
//
// Seen from another mount namespace, the path can differ: in a chroot whose sessions have private mounts, it begins
// outside of the chroot. So the caller defines same, which can report by device and inode that a process works in the
// folder.
const worksScript = `works() {
	if same "$1"; then return; fi
	at=$(ls -ld "/proc/$1/cwd" 2>/dev/null; echo x); at=${at%??}
	case ${at#*"/proc/$1/cwd -> "} in "$dir"|"$dir/"*|"$dir (deleted)") ;; *) false ;; esac
}
listed() {
	ls -ln /proc/[0-9]*/cwd 2>/dev/null | while IFS= read -r line; do
		p=${line#*/proc/}; p=${p%%/*}
		case ${line#* -> } in "$dir"|"$dir/"*|"$dir (deleted)") ;; *) same "$p" || continue ;; esac
		case $p in ''|*[!0-9]*) ;; *) echo "$p" ;; esac
	done
}
`

// belowScript defines found, which prints the processes whose working directory is $dir or below it.
const belowScript = worksScript + `dir=$1; cd "$dir" 2>/dev/null && dir=$(pwd -P); cd /
same() { [ "/proc/$1/cwd" -ef "$dir" ]; }
found() { for f in $(listed); do if works "$f"; then echo "$f"; fi; done; }
`

// startedScript sends a signal to the processes that a run's commands have started, and prints their IDs: SIGNAL MARK
// FOLDER USERS ASKED, see Started; the processes in ASKED get no signal. It also needs grep and tr. In the environment
// of a process, NUL ends each variable. tr turns NUL into newline, and newlines within values into another byte, so
// that each variable is a whole line.
const startedScript = worksScript + `signal=$1; mark=$2; dir=$3; users=$4; asked=$5
same() { false; } # another user may have replaced the folder by a link
owner() { while read -r key real rest; do [ "$key" = Uid: ] && return; done <"/proc/$1/status"; real=none; }
marked() { tr '\000\012' '\012\001' <"/proc/$1/environ" | grep -qxF -e "$mark"; }
inside() { [ -n "$dir" ] && works "$1" && owner "$1" && case " $users " in *" $real "*) ;; *) false ;; esac; }
owner $$; users="$users $real"
for p in $([ -z "$dir" ] || listed; grep -lsF -e "$mark" /proc/[0-9]*/environ | tr -cd '0123456789\n'); do
	[ "$p" != $$ ] && [ "$p" != "$PPID" ] && { marked "$p" || inside "$p"; } || continue
	case " $asked " in *" $p "*) ;; *) kill "-$signal" "$p" ;; esac
	case " $seen " in *" $p "*) ;; *) echo "$p" ;; esac
	seen="$seen $p"; asked="$asked $p"
done 2>/dev/null
exit 0`

// killScript ends a job: FOLDER WRAPPER-PID GRACE, the grace in tenths of a second. It repeats the search until two in
// a row find no process: one search misses a process that another one starts meanwhile. The wrapper is ended last,
// after it had time to record the end, for which it starts mv. A process that waits for a device ends when the device
// has answered, which gets some ten seconds. A process that only waits for a processor, on a busy host, gets a minute.
// The script prints the remaining processes, each with its state and the kernel function that it waits in.
const killScript = belowScript + `wrapper=$2; n=$3
others() {
	for p in $(found); do
		stat=; read -r stat <"/proc/$p/stat"
		case "$p $stat" in "$wrapper "*|*" (mv) "?" $wrapper "*) ;; *) echo "$p" ;; esac
	done 2>/dev/null
}
case " $(echo $(found)) " in *" $wrapper "*) kill -TERM "-$wrapper" ;; esac 2>/dev/null
for p in $(others); do kill -TERM "$p"; done 2>/dev/null
while [ "$n" -gt 0 ] && [ -n "$(others)" ]; do sleep 0.1; n=$((n-1)); done
n=50
while left=$(others); [ -n "$left" ] && [ $n -gt 0 ]; do
	for p in $left; do kill -KILL "$p"; done 2>/dev/null
	sleep 0.05; n=$((n-1))
done
n=40; while [ -n "$(found)" ] && [ $n -gt 0 ]; do sleep 0.05; n=$((n-1)); done
wait_for_device() {
	for p in $left; do
		stat=; read -r stat <"/proc/$p/stat" || continue
		case ${stat##*) } in D*) ;; *) return 1 ;; esac
	done 2>/dev/null
}
any_left() { left=$(found); [ -n "$left" ] || left=$(found); [ -n "$left" ]; }
n=1200
while any_left && [ $n -gt 0 ]; do
	for p in $left; do kill -KILL "$p"; done 2>/dev/null
	if [ $n -lt 1000 ] && wait_for_device; then break; fi
	sleep 0.05; n=$((n-1))
done
if [ -d "$dir" ] && [ ! -e "$dir/headroom.end" ]; then read -r up rest </proc/uptime; echo "137 $up" >"$dir/headroom.end"; fi
for p in $left; do
	stat=; at=; read -r stat <"/proc/$p/stat" || continue
	read -r at <"/proc/$p/wchan"; stat=${stat##*) }; echo "$p ${stat%% *} ${at:-0}"
done 2>/dev/null`

// foundScript prints the processes of a job: FOLDER.
const foundScript = belowScript + `found`

// removeScript deletes folders, and their parent folder if it is then empty: FOLDER...
const removeScript = `for dir; do rm -rf -- "$dir" || exit; rmdir -- "${dir%/*}" 2>/dev/null; done; :`

// uploadScript creates a folder whose files can be executed: USER-NUMBER ID TOKEN BASE..., the token is not used. It
// prints a word and a path, like makeScript.
const uploadScript = `uid=$1; id=$2; shift 3
mine() { case $1 in drwx------*) [ "$3" = "$uid" ];; *) false;; esac; }
for base; do
	mkdir -m 700 "$base" 2>/dev/null
	said=$(ls -ldn "$base" 2>/dev/null) || continue
	mine $said || continue
	new=; [ -d "$base/$id" ] || { mkdir -m 700 "$base/$id" 2>/dev/null || continue; new=1; }
	if echo 'exit 0' >"$base/$id/.probe" && chmod 700 "$base/$id/.probe" && "$base/$id/.probe"; then
		rm -f "$base/$id/.probe"; echo "made $base/$id"; exit
	fi 2>/dev/null
	rm -f "$base/$id/.probe"
	if [ -n "$new" ]; then rmdir "$base/$id"; fi
	rmdir "$base" 2>/dev/null
done
echo "nowhere -"`
