//go:build system

package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// TestFioTakesTheCommands lets fio itself parse every command line of every built-in suite.
func TestFioTakesTheCommands(t *testing.T) {
	t.Parallel()
	local := host.NewLocal(t.TempDir())
	if out, err := local.Run(t.Context(), "fio", "--version"); err != nil || out.ExitCode != 0 {
		t.Skipf("fio is not installed: %v %s", err, out.Stderr)
	}
	for _, name := range Builtin() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(s.Jobs, Job.byFio) {
			continue // the suite has no job for fio
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, place := range []lab.PlaceKind{lab.Device, lab.Directory} {
				if s.Place != Any && s.Place != Place(place) {
					continue
				}
				lines, err := s.Commands(place, false)
				if err != nil {
					t.Fatal(err)
				}
				if s.Published != nil {
					published, err := s.Commands(place, true)
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, published...)
				}
				// One fio reads all of a suite's jobs: starting one for each would take a minute.
				argv := []string{"fio", "--parse-only"}
				for _, line := range lines {
					if job, ok := strings.CutPrefix(line, "fio "); ok {
						argv = append(argv, strings.Fields(job)...) // none of these lines needs a shell's quotes
					}
				}
				if len(argv) == 2 {
					t.Fatalf("no command for a %s", place)
				}
				out, err := local.Run(t.Context(), argv...)
				if err != nil || out.ExitCode != 0 || len(out.Stderr) > 0 {
					t.Errorf("%s\n%v %s%s", strings.Join(argv, " "), err, out.Stdout, out.Stderr)
				}
			}
		})
	}
}

// TestFioRunsTheCommands runs the small built-in suites for a moment on a small file: fio may refuse to run what it
// parses, such as a part of a file that is not a multiple of a block.
func TestFioRunsTheCommands(t *testing.T) {
	t.Parallel()
	local := host.NewLocal(t.TempDir())
	if out, err := local.Run(t.Context(), "fio", "--version"); err != nil || out.ExitCode != 0 {
		t.Skipf("fio is not installed: %v %s", err, out.Stderr)
	}
	dir := t.TempDir()
	if out, err := local.Run(t.Context(), "dd", "if=/dev/zero", "of="+dir+"/probe", "bs=4k", "count=1",
		"oflag=direct"); err != nil || out.ExitCode != 0 {
		t.Skipf("the file system of %s does not take O_DIRECT: %v %s", dir, err, out.Stderr)
	}
	for name, settings := range map[string][]string{
		"quick":    {"runtime=200ms"},
		"cdm":      {"runtime=200ms"},
		"nfs":      {"runtime=200ms", "size=16m", "offset_increment=16m"},
		"database": {"runtime=200ms", "ramp_time=0"},
		"object":   {"runtime=200ms", "ramp_time=0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			s.Size = 256 << 20
			if s, err = s.With(settings); err != nil {
				t.Fatal(err)
			}
			lines, err := s.Commands(lab.Directory, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if !strings.HasPrefix(line, "fio ") {
					continue
				}
				argv := strings.Fields(strings.ReplaceAll(line, "DIRECTORY", dir))
				did := false
				for tries := 0; !did && tries < 20; tries++ { // a busy machine may not start it within its time
					out, err := local.Run(t.Context(), argv...)
					if err != nil || out.ExitCode != 0 {
						t.Fatalf("%s\n%v %s%s", line, err, out.Stdout[:min(len(out.Stdout), 500)], out.Stderr)
					}
					did = strings.Count(string(out.Stdout), `"total_ios" : 0,`) < strings.Count(string(out.Stdout),
						`"total_ios" :`)
				}
				if !did {
					t.Errorf("%s\ndid nothing", line)
				}
			}
		})
	}
}
