package record_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile/record"
)

// recorded is a buffer of a kernel: its raw pages, its formats and the kernel's own text output of it.
type recorded struct {
	fs.FS
	formats record.EventFormats
	names   map[uint16]string
	// functions are the names of addresses in earlier lines.
	functions map[uint64]string
	pages     map[int][]byte
	lines     []textLine
}

// textLine is a line of a file trace.
type textLine struct {
	pid    int32
	cpu    int32
	flags  string
	micros uint64
	event  string
	rest   string
}

// lineOfTrace begins with the task, whose name can contain spaces and other characters.
var lineOfTrace = regexp.MustCompile(`^ *.*-(\d+) +\[(\d+)\] (\S{5}) +(\d+)\.(\d{6}): (.*)$`)

func open(t *testing.T, file string) recorded {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = archive.Close() })
	r := recorded{FS: archive, names: map[uint16]string{}, functions: map[uint64]string{}, pages: map[int][]byte{}}
	var events []string
	formats, err := fs.Glob(archive, "events/*/*/format")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range formats {
		parts := strings.Split(format, "/")
		events = append(events, parts[1]+":"+parts[2])
	}
	if r.formats, err = record.ReadEventFormats(archive, events...); err != nil {
		t.Fatal(err)
	}
	if r.formats, err = r.formats.OfInstance(archive); err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		format, ok := r.formats.Event(event)
		if !ok {
			t.Fatalf("%s has no format of %s", file, event)
		}
		r.names[format.ID] = format.Name
	}
	raws, err := fs.Glob(archive, "cpu*.raw")
	if err != nil || len(raws) == 0 {
		t.Fatalf("%s has no pages: %v", file, err)
	}
	for _, raw := range raws {
		cpu, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(raw, "cpu"), ".raw"))
		if err != nil {
			t.Fatal(err)
		}
		if r.pages[cpu], err = fs.ReadFile(archive, raw); err != nil {
			t.Fatal(err)
		}
	}
	r.lines = textLines(t, archive)
	return r
}

func textLines(t *testing.T, archive fs.FS) []textLine {
	t.Helper()
	text, err := fs.ReadFile(archive, "trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []textLine
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "CPU:") || line == "" {
			continue
		}
		m := lineOfTrace.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("a line of the trace that this test doesn't know: %q", line)
		}
		var n [4]uint64
		for i, digits := range []string{m[1], m[2], m[4], m[5]} {
			if n[i], err = strconv.ParseUint(digits, 10, 63); err != nil {
				t.Fatal(err)
			}
		}
		event, rest, ok := strings.Cut(m[6], ": ")
		if !ok {
			event, rest = "function", m[6]
		}
		lines = append(lines, textLine{pid: int32(n[0]), cpu: int32(n[1]), flags: m[3], micros: n[2]*1e6 + n[3],
			event: event, rest: rest})
	}
	return lines
}

// Every event that the kernel printed is decoded, in its order, with its time, CPU, process, context and fields.
func TestDecodedPagesAreWhatTheKernelPrints(t *testing.T) {
	files, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded pages: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".zip"), func(t *testing.T) {
			r := open(t, file)
			merger := r.formats.Layout.Merge(r.pages)
			var got []record.TracedEvent
			for event := range merger.Events {
				got = append(got, event)
			}
			if merger.Damaged != 0 {
				t.Errorf("%d pages are damaged", merger.Damaged)
			}
			if len(got) != len(r.lines) {
				t.Fatalf("decoded %d events, the kernel printed %d", len(got), len(r.lines))
			}
			for i, event := range got {
				if problem := r.compare(event, r.lines[i]); problem != "" {
					t.Fatalf("event %d: %s\nthe kernel printed %+v\ndecoded %+v", i, problem, r.lines[i], event)
				}
			}
		})
	}
}

func (r recorded) compare(event record.TracedEvent, line textLine) string {
	switch name := r.names[event.Type]; {
	case name != line.event:
		return "its name is " + name
	case event.PID != line.pid || event.CPU != line.cpu:
		return fmt.Sprintf("it is of process %d on CPU %d", event.PID, event.CPU)
	case (event.Time+500)/1000 != line.micros:
		return fmt.Sprintf("its time is %d", event.Time)
	case event.Flags.Hardirq() != strings.ContainsAny(line.flags[2:3], "hHzZ"):
		return "the interrupt is not"
	case event.Flags.Softirq() != (line.flags[2] == 's'):
		return "the softirq is not"
	}
	format, _ := r.formats.Event(r.system(event.Type) + ":" + line.event)
	if line.event == "function" && !r.knows(format, event.Data, line.rest) {
		return "another function had its address"
	}
	if text := printed(format, event.Data); text != "" && text != line.rest {
		return "it says " + text
	}
	return ""
}

// knows reports whether a function and its caller have the same addresses as in other lines.
func (r recorded) knows(format record.EventFormat, data []byte, line string) bool {
	function, caller, ok := strings.Cut(line, " <-")
	ip, hasIP := format.Field("ip")
	parent, hasParent := format.Field("parent_ip")
	// An address has one name, although a function has many addresses. Addresses of the kernel are negative.
	if !ok || !hasIP || !hasParent || ip.Int(data) >= 0 || parent.Int(data) >= 0 {
		return false
	}
	for address, name := range map[uint64]string{ip.Uint(data): function, parent.Uint(data): caller} {
		if known, ok := r.functions[address]; ok && known != name {
			return false
		}
		r.functions[address] = name
	}
	return true
}

func (r recorded) system(id uint16) string {
	name := r.names[id]
	switch {
	case name == "function":
		return "ftrace"
	case strings.HasPrefix(name, "block_"):
		return "block"
	case strings.HasPrefix(name, "sched_"):
		return "sched"
	case strings.HasPrefix(name, "nvme_"):
		return "nvme"
	}
	return "irq"
}

// printed returns the kernel's text for some events' fields; empty for the others.
func printed(format record.EventFormat, data []byte) string {
	number := func(name string) uint64 { field, _ := format.Field(name); return field.Uint(data) }
	text := func(name string) string { field, _ := format.Field(name); return string(field.Text(data)) }
	device := fmt.Sprintf("%d,%d %s", number("dev")>>20, number("dev")&(1<<20-1), text("rwbs"))
	switch format.Name {
	case "block_bio_queue", "block_getrq", "block_bio_backmerge", "block_bio_frontmerge":
		return fmt.Sprintf("%s %d + %d [%s]", device, number("sector"), number("nr_sector"), text("comm"))
	case "block_bio_complete":
		return fmt.Sprintf("%s %d + %d [%d]", device, number("sector"), number("nr_sector"), int64(number("error")))
	case "block_split":
		return fmt.Sprintf("%s %d / %d [%s]", device, number("sector"), number("new_sector"), text("comm"))
	case "irq_handler_entry":
		return fmt.Sprintf("irq=%d name=%s", number("irq"), text("name"))
	}
	return ""
}
