package record

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
)

// session is one recording in progress.
type session struct {
	request   profile.Request
	load      *load
	lines     io.Writer // for profile.Ready and profile.Done
	said      map[string]bool
	recording profile.Recording
}

// Run records the requested data while a load runs. It writes the recording to stdout, and profile.Ready and
// profile.Done to stderr, each on a separate line. Data that the machine refuses are listed as missing in the
// recording; an error means that there is no recording, for example without a load.
func Run(ctx context.Context, request profile.Request, stdout, stderr io.Writer) error {
	s := &session{request: request, load: newLoad(request.Folder), lines: stderr, said: map[string]bool{},
		recording: profile.Recording{Kernel: kernelRelease(), Architecture: architecture()}}
	cpus, _ := OnlineCPUs()
	s.recording.CPUs = len(cpus)
	if request.Folder == "" || !instanceName().MatchString(request.Owner) {
		return &lab.Error{What: fmt.Sprintf("can't record for %q in folder %q", request.Owner, request.Folder)}
	}
	record, ok := map[profile.Part]func(context.Context) error{profile.Calls: s.recordCalls,
		profile.Time: s.recordTime}[request.Part]
	if !ok {
		return &lab.Error{What: fmt.Sprintf("can't record %q: no such part", request.Part)}
	}
	if err := record(ctx); err != nil {
		return &lab.Error{What: fmt.Sprintf("can't record the %s of a load", request.Part), Err: err}
	}
	s.say(profile.Ready)
	s.say(profile.Done)
	return json.NewEncoder(stdout).Encode(s.recording)
}

// say writes a line, once.
func (s *session) say(line string) {
	if !s.said[line] {
		fmt.Fprintln(s.lines, line)
	}
	s.said[line] = true
}

func (s *session) miss(what ...profile.Missing) {
	for _, m := range what {
		if !slices.Contains(s.recording.Missing, m) {
			s.recording.Missing = append(s.recording.Missing, m)
		}
	}
}

// kernelSymbols reads the names of the kernel's functions; nil, with a record of what is missing, if the kernel hides
// them.
func (s *session) kernelSymbols() *KernelSymbols {
	kernel, err := ReadKernelSymbols("/proc")
	if err != nil {
		s.miss(missingSymbols(err))
		return nil
	}
	return kernel
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// architecture returns this program's architecture in the notation of uname.
func architecture() string {
	if name, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}
