package guard

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/testing/golden"

	"github.com/rogpeppe/go-internal/txtar"
)

// fixture is a machine as text: a txtar archive whose files are those of /proc, /sys and /dev. A name "a -> b" is a
// link; a file that contains "block device 8:0" is a node. The file "ask" lists the paths to inspect, "want" the
// expected results.
type fixture struct {
	name    string
	archive *txtar.Archive
	around  environment
	files   fstest.MapFS
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var all []fixture
	for _, p := range paths {
		archive, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{name: p, archive: archive, files: fstest.MapFS{}}
		for _, file := range archive.Files {
			if link, to, ok := strings.Cut(file.Name, " -> "); ok {
				f.files[link] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(to)}
				continue
			}
			data := file.Data
			if text, err := strconv.Unquote(strings.TrimSpace(string(data))); err == nil {
				data = []byte(text) // binary data is written as a Go string
			}
			f.files[file.Name] = &fstest.MapFile{Mode: 0o444, Data: data}
		}
		f.around = environment{files: f.files, stat: f.stat, loopTarget: f.loopTarget, self: 4711}
		all = append(all, f)
	}
	return all
}

// number of the node that a path leads to.
func (f fixture) number(name string) (Number, bool) {
	o, ok := f.stat(name)
	return o.number, ok && o.isDevice
}

// stat follows the links of the fixture. A file's inode is derived from its path.
func (f fixture) stat(name string) (object, bool) {
	name = strings.TrimPrefix(name, "/")
	if pid, rest, ok := strings.Cut(strings.TrimPrefix(name, "proc/"), "/root/"); ok && pid != "" {
		name = rest // every process of the fixtures has the same /dev
	}
	if m := f.files[name]; m != nil && m.Mode&fs.ModeSymlink != 0 && strings.HasPrefix(string(m.Data), "/") {
		name = strings.TrimPrefix(string(m.Data), "/") // an open file's link is absolute
	}
	text, err := fs.ReadFile(f.files, name)
	if err != nil {
		return object{}, false
	}
	number, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "block device ")
	if !ok {
		return object{file: fileNamed(name)}, true
	}
	n, err := parseNumber(number)
	return object{isDevice: true, number: n}, err == nil
}

func fileNamed(name string) fileID {
	h := fnv.New64a()
	h.Write([]byte(strings.TrimPrefix(name, "/")))
	return fileID{device: 1, inode: h.Sum64()}
}

func (f fixture) loopTarget(node string) (backing, error) {
	data, err := fs.ReadFile(f.files, classDir(filepath.Base(node))+"/loop/backing_file")
	file := strings.TrimSpace(string(data))
	if n, ok := f.number(file); ok {
		return backing{device: n}, err
	}
	return backing{isFile: true, file: fileNamed(file)}, err
}

// section returns the file with this name.
func (f fixture) section(name string) string {
	for _, file := range f.archive.Files {
		if file.Name == name {
			return string(file.Data)
		}
	}
	return ""
}

// inspect inspects a path of the fixture like Inspect, except for the parts that need a device.
func (f fixture) inspect(t *testing.T, path string) Evidence {
	t.Helper()
	n, ok := f.number(path)
	if !ok {
		t.Fatalf("%s: no node %s", f.name, path)
	}
	name, err := f.around.named(n)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.around.device(name)
	if err != nil {
		t.Fatal(err)
	}
	e := Evidence{Path: path, Identity: f.around.identify(path, d)}
	f.around.familyOf(d).describeUse(&e)
	return e
}

// TestFixtures determines how the devices of whole machines are used.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		var got strings.Builder
		asked := strings.Fields(f.section("ask"))
		if len(asked) == 0 {
			t.Fatalf("%s asks nothing", f.name)
		}
		for _, path := range asked {
			got.WriteString(found(f.inspect(t, path)))
		}
		if golden.Update() {
			f.write(t, got.String())
			continue
		}
		if want := f.section("want"); got.String() != want {
			t.Errorf("%s: found\n%s\nwant\n%s", f.name, got.String(), want)
		}
	}
}

// found formats evidence like the fixtures.
func found(e Evidence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s\n", e.Path, e.Identity.Device, e.Identity)
	for _, u := range e.Uses {
		fmt.Fprintf(&b, "\tuse: %s %s\n", u.Who, u.How)
	}
	for _, p := range e.Partitions {
		fmt.Fprintf(&b, "\tpartition: %s\n", p)
	}
	for _, p := range e.BuiltOn {
		fmt.Fprintf(&b, "\tbuilt on: %s\n", p)
	}
	for _, p := range e.UseUnknown {
		fmt.Fprintf(&b, "\tunknown: %s\n", p)
	}
	return b.String()
}

func (f fixture) write(t *testing.T, want string) {
	t.Helper()
	kept := []txtar.File{{Name: "ask", Data: []byte(f.section("ask"))}, {Name: "want", Data: []byte(want)}}
	for _, file := range f.archive.Files {
		if file.Name != "ask" && file.Name != "want" {
			kept = append(kept, file)
		}
	}
	f.archive.Files = kept
	if err := os.WriteFile(f.name, txtar.Format(f.archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEvidenceSurvivesJSON checks that evidence, which is kept with a run, can be judged again.
func TestEvidenceSurvivesJSON(t *testing.T) {
	for _, f := range fixtures(t) {
		for _, path := range strings.Fields(f.section("ask")) {
			e := f.inspect(t, path)
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var back Evidence
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			if found(back) != found(e) {
				t.Errorf("%s: %s came back as %s", path, found(e), found(back))
			}
		}
	}
}

// TestProgramsOfAContainer checks that the initial PID namespace sees all programs, and any other only its own.
func TestProgramsOfAContainer(t *testing.T) {
	for namespace, hidden := range map[string]bool{"pid:[4026531836]": false, "pid:[4026532217]": true} {
		f := fixtureNamed(t, "laptop")
		f.files["proc/self/ns/pid"] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(namespace)}
		if e := f.inspect(t, "/dev/nvme1n1"); e.ProgramsHidden != hidden {
			t.Errorf("%s: %+v", namespace, e)
		}
	}
}

// TestUnreadableIsNotFree checks that unreadable files are a reason to refuse.
func TestUnreadableIsNotFree(t *testing.T) {
	for _, gone := range []string{"proc/self/mountinfo", "sys/class/block/nvme1n1/ro"} {
		f := fixtureNamed(t, "laptop")
		// A file under a folder that is a link is stored under its real name.
		real := strings.Replace(gone, "sys/class/block/nvme1n1",
			"sys/devices/pci0000:00/0000:00:1d.4/0000:55:00.0/nvme/nvme1/nvme1n1", 1)
		if f.files[real] == nil {
			t.Fatalf("the fixture has no %s", real)
		}
		delete(f.files, real)
		if e := f.inspect(t, "/dev/nvme1n1"); len(e.UseUnknown) == 0 {
			t.Errorf("without %s nothing is unknown", gone)
		}
	}
	for name, text := range map[string]string{
		"proc/self/mountinfo": "28 1 8:x / / rw - ext4 /dev/sda rw\n",
		"proc/swaps":          "Filename Type\n/dev/sdb partition\n",
	} {
		f := fixtureNamed(t, "laptop")
		f.files[name].Data = []byte(text)
		if e := f.inspect(t, "/dev/nvme1n1"); len(e.UseUnknown) == 0 {
			t.Errorf("with a spoilt %s nothing is unknown", name)
		}
	}
}

func fixtureNamed(t *testing.T, name string) fixture {
	t.Helper()
	for _, f := range fixtures(t) {
		if f.name == "testdata/"+name+".txtar" {
			return f
		}
	}
	t.Fatalf("no fixture %s", name)
	return fixture{}
}
