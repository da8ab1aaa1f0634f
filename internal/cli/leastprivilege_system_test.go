//go:build system

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The containers of deploy/job.yaml, cronjob.yaml, reader.yaml and serve.yaml run as a user without capabilities, on a
// root file system that is read-only. Here a process has what they have; the one that serves has its volume read-only,
// too, with runs in it that no index lists.
func TestWithoutPrivilegesOnAReadOnlyRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a root of its own needs root")
	}
	for _, manifest := range []string{"job.yaml", "cronjob.yaml", "reader.yaml", "serve.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../deploy", manifest))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"runAsUser: 65532", "readOnlyRootFilesystem: true", "capabilities: {drop: [ALL]}",
			"allowPrivilegeEscalation: false"} {
			if !strings.Contains(string(text), line) {
				t.Errorf("deploy/%s has no %q, so this test is not about it", manifest, line)
			}
		}
	}
	program := binary(t)
	volumes := filepath.Dir(program)
	// Volumes with a group of the pod's own are root's, and the group may write: that is what fsGroup makes of them.
	const contained = `
program=$1; volumes=$2
for v in data results; do
	mkdir "$volumes/$v"
	mount -t tmpfs -o "mode=2775,gid=65532" tmpfs "$volumes/$v"
done
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -o remount,bind,ro /
if touch "$volumes/probe" 2>/dev/null; then echo "the root file system can be written to"; exit 1; fi
as() { HEADROOM_STORE="$volumes/results" HOME=/ TMPDIR=/tmp setpriv --reuid 65532 --regid 65532 --clear-groups \
	--no-new-privs --bounding-set=-all --inh-caps=-all "$@"; }
as "$program" run quick "$volumes/data" --set runtime=1 --repeat 1 --size 16m
as "$program" list
as "$program" export last --format csv
as "$program" restore
# What a container that was killed has left is put right by the next one, in the same volumes.
as sh -c '"$0" run quick "$1" --set runtime=3600 --repeat 1 --size 16m & echo $! >"$HEADROOM_STORE/pid"; wait' "$program" "$volumes/data" &
# A load of this container is running if a process with its arguments has a working directory in this /dev/shm.
loading() {
	for p in /proc/[0-9]*; do
		folder=$(readlink "$p/cwd" 2>/dev/null) || continue
		case $folder in
		/dev/shm/headroom-65532/*) if [ -e "$folder" ] && grep -qs -e --runtime=3600 "$p/cmdline"; then return 0; fi ;;
		esac
	done
	return 1
}
tries=0
until loading; do
	tries=$((tries + 1)); [ "$tries" -lt 6000 ] || { echo "no load began"; exit 1; }
	sleep 0.1
done
kill -9 "$(cat "$volumes/results/pid")"
wait
as "$program" restore
[ -z "$(ls -A "$volumes/data")" ] || { echo "left: $(ls -A "$volumes/data")"; exit 1; }
[ -z "$(find /dev/shm -mindepth 2)" ] || { echo "left: $(find /dev/shm -mindepth 2)"; exit 1; }
rm -f "$volumes/results/index.jsonl"
served="$volumes/data"
echo SECRET >"$served/token"
chgrp 65532 "$served/token"
chmod 0440 "$served/token"
mount -o remount,ro "$volumes/results"
as sh -c 'echo $$ >"$1/pid"; exec "$0" serve --listen 0.0.0.0:0 --token-file "$1/token" >"$1/address"' "$program" "$served" &
trap 'kill "$(cat "$served/pid")"' EXIT
tries=0
until [ -s "$served/address" ]; do
	tries=$((tries + 1)); [ "$tries" -lt 6000 ] || { echo "nothing is served"; exit 1; }
	sleep 0.1
done
at=http://127.0.0.1:$(sed 's/.*:\([0-9]*\).*/\1/' "$served/address")
[ "$(curl --fail --silent --show-error "$at/healthz")" = ok ]
if curl --fail --silent "$at/metrics"; then echo "no token was needed"; exit 1; fi
for path in / /metrics; do
	curl --fail --silent --show-error --header "Authorization: Bearer SECRET" "$at$path" >"$served/page"
	grep -q quick "$served/page"
done
grep headroom_store "$served/page"
[ ! -e "$volumes/results/index.jsonl" ]
`
	out, err := exec.Command("unshare", "--mount", "sh", "-euc", contained, "sh", program, volumes).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "was cut off: ended its load, removed ") {
		t.Errorf("what the killed container left was not put right:\n%s", out)
	}
	if !strings.Contains(string(out), `headroom_store_runs{status="complete"} 1`) {
		t.Errorf("the run is not served:\n%s", out)
	}
	if !strings.Contains(string(out), "complete") {
		t.Errorf("the list shows no finished run:\n%s", out)
	}
}
