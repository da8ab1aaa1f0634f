package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/prose"
)

// hostileText is a name as somebody gives it who wants to trick the reader: a title, a line that is painted over, a
// sequence in 8 bits, text the other way round, markup, a footnote, a formula.
const hostileText = "=1+1|`x`\x1b]0;owned\a\x1b[2K\r\u009b31m\u202e\u2066<script>alert(1)</script>![x](//e.test)\n| " +
	"a | b |\x7f"

// hostileLabel is a label that can't be a path.
func hostileLabel() string { return strings.ReplaceAll(hostileText, "/", "") }

// Whoever sends a run, or facts, decides over names and texts in it. Nothing that headroom then prints or writes has a
// character that a terminal obeys.
func TestNothingOfOthersReachesTheTerminal(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	command := func(args []string) *exec.Cmd {
		cmd := exec.Command("headroom", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HEADROOM_STORE="+at("store"), "TERM=xterm", "NO_COLOR=")
		return cmd
	}
	headroom := func(args ...string) (out, printed string, err error) {
		cmd := command(args)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, printed, err := headroom(args...)
		if err != nil {
			t.Fatalf("headroom %q: %v\n%s%s", args, err, out, printed)
		}
		return out
	}
	for _, side := range []string{"disk", "tmpfs"} {
		args := []string{"import", "--store", at("sender"), "--label", side}
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			file := at(side + n + ".json")
			rewriteJSON(t, filepath.Join("testdata/compare", side, n+".json"), file, func(d map[string]any) {
				for _, j := range d["jobs"].([]any) {
					job := j.(map[string]any)
					job["jobname"] = hostileText + job["jobname"].(string)
					job["job options"].(map[string]any)["description"] = hostileText
				}
			})
			args = append(args, file)
		}
		must(args...)
		var runs struct{ Runs []struct{ ID string } }
		if err := json.Unmarshal([]byte(must("list", "--json", "--store", at("sender"))), &runs); err != nil ||
			len(runs.Runs) == 0 {
			t.Fatal(err, runs)
		}
		header := at("sender/runs/" + runs.Runs[0].ID + "/run.json")
		rewriteJSON(t, header, header, func(d map[string]any) { spoil(d["run"].(map[string]any)) })
		must("export", runs.Runs[0].ID, "--store", at("sender"), "--format", "run", "--serials", "-o",
			at(side+".headroom"))
		must("import", at(side+".headroom"))
		// Names that an import refuses were accepted by older versions.
		header = at("store/runs/" + runs.Runs[0].ID + "/run.json")
		rewriteJSON(t, header, header, func(d map[string]any) { spoilNames(d["run"].(map[string]any)) })
	}
	for _, name := range []string{"a", "b"} {
		facts := []map[string]string{
			{"fact": "kernel.release", "value": "6.12.0"}, {"fact": "kernel.major", "value": "6"},
			{"fact": "kernel.minor", "value": "12"},
			{"fact": "kernel.cmdline", "value": "ro iommu.strict=1 " + hostileText + name, "source": hostileText},
			{"fact": "kvm.loaded", "value": "on"},
			{"fact": "iommu.vfio_groups", "value": "0"}, {"fact": "host.name", "value": hostileText},
			{"fact": "cpu.model", "unknown": hostileText},
			{"fact": "pci.class", "about": "0000" + hostileText, "value": "nvme"},
			{"fact": "pci.iommu.group_type", "about": "0000" + hostileText, "value": "DMA", "source": hostileText},
			{"fact": "sysctl.vm.swappiness", "value": name + hostileText},
		}
		data, err := json.Marshal(map[string]any{"schema": "headroom/facts/v1", "target": hostileText, "facts": facts})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name+".json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	disk, tmpfs := "disk"+hostileLabel(), "tmpfs"+hostileLabel()
	commands := [][]string{
		{"list"}, {"list", "--json"}, {"show", disk}, {"show", disk, tmpfs, "--cells"}, {"show", disk, "--json"},
		{"history", disk}, {"stages", disk},
		{"report", disk}, {"report", disk, "--serials", "-o", "report.html"}, {"compare", disk, tmpfs},
		{"compare", disk, tmpfs, "--anyway", "--all"},
		{"compare", disk, tmpfs, "--json"}, {"doctor", disk}, {"doctor", "a.json"}, {"doctor", "a.json", "b.json"},
		{"doctor", "a.json", "--json"},
		{"facts", disk}, {"facts", "a.json"}, {"facts", "a.json", "--json"}, {"facts", "a.json", "--sources"},
		{"facts", "diff", "a.json", "b.json"},
		{"facts", "diff", "a.json", "b.json", "--all"}, {"facts", "diff", disk, tmpfs}, {"__complete", "show", ""},
		{"show", hostileText}, {"doctor", hostileText},
		{"export", disk, "--format", hostileText}, {hostileText}, {"show", "--" + hostileText},
		{"run", hostileText, dir},
		{"run", "--resume", disk},
		{"import", at(hostileText)}, {"restore"},
	}
	must("label", disk, "again"+hostileLabel())
	must("label", "again"+hostileLabel(), disk)
	for _, format := range []string{"table", "html", "csv", "sheet", "json", "markdown", "openmetrics"} {
		commands = append(commands, []string{"export", disk, "--format", format, "--serials"},
			[]string{"export", disk, "--format", format, "-o", "export." + format})
	}
	for _, extension := range []string{"html", "md", "csv", "json"} {
		commands = append(commands, []string{"compare", disk, tmpfs, "--anyway", "-o", "compare." + extension},
			[]string{"doctor", "a.json", "-o", "doctor." + extension},
			[]string{"doctor", "a.json", "b.json", "-o", "doctors." + extension},
			[]string{"facts", "diff", "a.json", "b.json", "-o", "diff." + extension})
	}
	// On a terminal headroom's own colours are sent, and nothing else; what a load generator printed is shown there.
	own := regexp.MustCompile("\x1b\\[[0-9;]*m")
	colours := 0
	for _, args := range [][]string{{"show", disk}, {"compare", disk, tmpfs}, {"doctor", "a.json"}, {"list"},
		{"show", disk, "--raw"}} {
		sent := strings.ReplaceAll(onTerminal(t, command(args)), "\r\n", "\n")
		colours += len(own.FindAllString(sent, -1))
		checkHarmless(t, args, "the terminal", own.ReplaceAllString(sent, ""))
	}
	if colours == 0 {
		t.Error("no colour on a terminal")
	}
	for line := range strings.Lines(must("show", disk, "--json")) { // a line of it has a warning's text
		if len(line) > 20_000 {
			t.Errorf("a line of %d bytes: %.300s", len(line), line)
		}
	}
	if raw := must("show", disk, "--raw"); !strings.Contains(raw, `\u009b`) && !strings.Contains(raw, "\u009b") {
		t.Error("the raw output lacks the name")
	}
	if plain, raw := must("export", disk, "--format", "csv"),
		must("export", disk, "--format", "csv", "--raw-cells"); !strings.Contains(plain, "'=1+1") ||
		strings.Contains(raw, "'=1+1") {
		t.Error("the formula is one, or stays none when cells are asked for as they are")
	}
	commands = append(commands, []string{"export", disk, "--format", "csv", "--raw-cells"}, []string{"rm", disk})
	shown := 0
	for _, args := range commands {
		out, printed, _ := headroom(args...)
		if out+printed == "" {
			t.Errorf("headroom %q says nothing", args)
		}
		checkHarmless(t, args, "standard output", out)
		checkHarmless(t, args, "standard error", printed)
		shown += strings.Count(out+printed, `\u001b`)
	}
	if shown == 0 {
		t.Error("no output has the name at all")
	}
	files, err := filepath.Glob(at("*.*"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		kind, _, _ := strings.Cut(filepath.Base(file), ".")
		if name := filepath.Base(file); name == "report.html" ||
			slices.Contains([]string{"export", "compare", "doctor", "doctors", "diff"}, kind) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkHarmless(t, []string{name}, "the file", string(data))
			switch ext := filepath.Ext(name); {
			case kind == "doctor" || kind == "doctors" || kind == "diff":
				text := strings.ReplaceAll(string(data), `\<script`, "")
				if ext != ".json" && ext != ".csv" && strings.Contains(text, "<script") {
					t.Errorf("%s: a name is markup", name) // where it is not hidden, because it is the host's
				}
			case ext == ".html":
				checkMarkup(t, name, string(data))
			case ext == ".markdown" || ext == ".md":
				checkTables(t, name, string(data))
			}
			checked++
		}
	}
	if checked != 7+4*4+1 {
		t.Errorf("%d files were written", checked)
	}
}

// onTerminal is what a command sends to a terminal that is its standard output.
func onTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(master) // ends with EIO when nobody has the terminal open
		sent <- all
	}()
	cmd.Stdout = terminal
	err = errors.Join(cmd.Run(), terminal.Close())
	out := string(<-sent)
	if err != nil || out == "" {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return out
}

func checkHarmless(t *testing.T, args []string, what, text string) {
	t.Helper()
	for i, r := range text {
		bad := unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		if bad || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			t.Errorf("headroom %q: %s has %U: %q", args, what, r, text[max(0, i-80):min(len(text), i+40)])
			return
		}
	}
}

// checkMarkup looks for what came with a name among the elements of a page.
func checkMarkup(t *testing.T, name, page string) {
	t.Helper()
	if strings.Contains(page, "<script>alert") || strings.Count(page, "<script") > 1 ||
		!strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Errorf("%s: a name is markup, or is not there", name)
	}
}

// checkTables looks for rows of a Markdown table that are no longer whole, and for markup.
func checkTables(t *testing.T, name, text string) {
	t.Helper()
	escaped := regexp.MustCompile(`\\.`)
	cells, rows := 0, 0
	for line := range strings.Lines(text) {
		line = escaped.ReplaceAllString(line, "")
		switch {
		case !strings.HasPrefix(line, "|"):
			cells = 0
		case cells == 0:
			cells = strings.Count(line, "|")
		default:
			if rows++; strings.Count(line, "|") != cells {
				t.Errorf("%s: a row of %d cells is %q", name, cells-1, line)
			}
		}
		if strings.ContainsAny(line, "`") || strings.Contains(line, "<script") || strings.Contains(line, "![") {
			t.Errorf("%s: a name is markup: %q", name, line)
		}
	}
	if rows == 0 || !strings.Contains(text, "alert(1)") {
		t.Errorf("%s: no table, or no name:\n%s", name, text)
	}
}

// hostileName is a name without what an import refuses in one.
func hostileName() string {
	return strings.Map(func(r rune) rune {
		if prose.HasControl(string(r)) {
			return -1
		}
		return r
	}, hostileText)
}

// spoilNames puts the name where an import takes no control characters.
func spoilNames(run map[string]any) {
	for _, w := range run["warnings"].([]any) {
		w.(map[string]any)["code"], w.(map[string]any)["taints"] = hostileText, []string{hostileText, "*"}
	}
	for _, t := range run["targets"].([]any) {
		facts := t.(map[string]any)["facts"].([]any)
		facts[len(facts)-1].(map[string]any)["fact"] = hostileText
	}
	for _, c := range run["cells"].([]any) {
		cell := c.(map[string]any)
		cell["params"].(map[string]any)[hostileText] = hostileText
		cell["metrics"] = map[string]any{hostileText: map[string]any{"unit": hostileText, "better": hostileText}}
	}
}

// spoil puts the name into all that the header of a run says.
func spoil(run map[string]any) {
	warning := map[string]any{"code": hostileName(), "text": strings.Repeat(hostileText, 100_000/len(hostileText)),
		"taints": []string{"*"}}
	known := map[string]any{"code": "kernel-log", "text": hostileText, "taints": []string{}}
	run["label"] = run["label"].(string) + hostileLabel()
	run["version"], run["suite"], run["suite_text"], run["command"] = hostileText, hostileText, hostileText,
		[]string{"headroom", hostileText}
	run["warnings"] = []any{warning, known}
	run["targets"] = []any{map[string]any{"role": "storage", "target": hostileText,
		"place": map[string]any{"kind": "directory", "path": "/" + hostileText,
			"filesystem": hostileText, "disks": []string{hostileText}}, "facts": []any{
			map[string]any{"fact": "host.name", "value": "host" + hostileText, "source": hostileText},
			map[string]any{"fact": "kernel.release", "value": "6.1" + hostileText},
			map[string]any{"fact": "disk.model", "about": hostileText, "value": hostileText},
			map[string]any{"fact": hostileName(), "unknown": hostileText},
		}}}
	for _, c := range run["cells"].([]any) {
		cell := c.(map[string]any)
		cell["warnings"] = []any{warning}
		cell["params"].(map[string]any)["ioengine"] = hostileText
	}
}

// rewriteJSON writes a changed copy of a file.
func rewriteJSON(t *testing.T, from, to string, change func(map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	change(document)
	if data, err = json.Marshal(document); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
