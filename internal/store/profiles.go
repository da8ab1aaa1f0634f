package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
)

// maxProfile bounds what a profiled load may unpack to. At 999 samples a second on each of a hundred CPUs it has some
// tens of megabytes of stacks.
const maxProfile = 128 << 20

func profileName(dir string, number int) string {
	return filepath.Join(dir, "profiles", fmt.Sprintf("%06d.json.zst", number))
}

// Profile keeps a profiled load. It is safe when Profile has returned, whatever segment is open.
func (w *Writer) Profile(l profile.Load) error {
	plain, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if len(plain) > maxProfile {
		return fmt.Errorf("a profiled load of %d MiB can't be kept: at most %d MiB are", len(plain)>>20, maxProfile>>20)
	}
	data, err := packed(plain)
	if err != nil {
		return err
	}
	// A run that was begun by an older headroom has no such folder yet.
	if err := os.MkdirAll(filepath.Join(w.dir, "profiles"), 0o755); err != nil {
		return err
	}
	numbers, err := profilesOf(w.dir)
	if err != nil {
		return err
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	return w.saver.write(profileName(w.dir, next), data)
}

// Profile keeps a profiled load of the arm.
func (w *PartWriter) Profile(l profile.Load) error {
	l.Cell, l.Arm = lab.CellIn(l.Cell, w.arm), w.arm
	return w.Writer.Profile(l)
}

// profilesOf are the numbers of the profiled loads of the bundle in dir, ascending.
func profilesOf(dir string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "profiles"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var numbers []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%06d.json.zst", &n); err == nil && bundleFile("profiles/"+e.Name()) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// Profiles yields the profiled loads in the order in which they were saved, one at a time; none where the run was not
// profiled. One that is damaged ends the sequence with an error that names the file.
func (b *Bundle) Profiles() iter.Seq2[profile.Load, error] {
	if b.arm != "" {
		return b.profilesOfPart()
	}
	return func(yield func(profile.Load, error) bool) {
		numbers, err := profilesOf(b.dir)
		if err != nil {
			yield(profile.Load{}, err)
			return
		}
		for _, n := range numbers {
			l, err := readProfile(profileName(b.dir, n))
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// Profiled reports whether there are any profiled loads.
func (b *Bundle) Profiled() bool {
	numbers, err := profilesOf(b.dir)
	return err == nil && len(numbers) > 0
}

// ProfileMemory estimates how many bytes all profiled loads of the run take when they are read. It reads them in little
// memory, and stops beyond most bytes.
func (b *Bundle) ProfileMemory(most int64) (int64, error) {
	numbers, err := profilesOf(b.dir)
	var all jsonMemory
	for _, n := range numbers {
		if err := all.add(profileName(b.dir, n), most); err != nil {
			return 0, err
		}
	}
	return int64(all), err
}

// jsonMemory estimates how many bytes the values of JSON take: its text, and what Go adds to an object, an array and an
// element.
type jsonMemory int64

func (m *jsonMemory) Write(p []byte) (int, error) {
	const object, array, element = 128, 24, 16
	count := func(c byte) int { return bytes.Count(p, []byte{c}) }
	*m += jsonMemory(len(p) + object*count('{') + array*count('[') + element*count(','))
	return len(p), nil
}

// add adds a packed file, as far as the whole is not more than most bytes.
func (m *jsonMemory) add(name string, most int64) error {
	f, err := openHead(name)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := unpack(f, maxProfile)
	if err != nil {
		return err
	}
	defer plain.Close()
	for err == nil && int64(*m) <= most {
		_, err = io.CopyN(m, plain, 64<<10)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return &lab.Error{What: "damaged: " + name, Err: err}
	}
	return nil
}

// profilesOfPart yields the profiled loads of an arm. Their cells have names without the arm.
func (b *Bundle) profilesOfPart() iter.Seq2[profile.Load, error] {
	return func(yield func(profile.Load, error) bool) {
		for l, err := range b.whole.Profiles() {
			cell, own := strings.CutSuffix(l.Cell, lab.CellIn("", b.arm))
			if err == nil && !own {
				continue
			}
			l.Cell, l.Arm = cell, lab.OnlyArm
			if !yield(l, err) {
				return
			}
		}
	}
}

func readProfile(name string) (l profile.Load, err error) {
	data, err := readHead(name)
	if err == nil {
		data, err = unpacked(data, maxProfile)
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return profile.Load{}, &lab.Error{What: "damaged: " + name, Err: err}
	}
	return l, nil
}

// redactedProfile hides names of cells, threads and programs. Functions of the kernel are not looked at: a host called
// "read" is not what vfs_read is called after.
func redactedProfile(r facts.Redactor, data []byte) ([]byte, error) {
	plain, err := unpacked(data, maxProfile)
	if err != nil {
		return nil, err
	}
	var l profile.Load
	if err := json.Unmarshal(plain, &l); err != nil {
		return nil, err
	}
	for _, text := range []*string{&l.Cell, &l.Arm, &l.Role, &l.Failed, &l.Kernel} {
		*text = r.Text(*text)
	}
	for i := range l.Missing {
		l.Missing[i].Why, l.Missing[i].Hint = r.Text(l.Missing[i].Why), r.Text(l.Missing[i].Hint)
	}
	if l.Sampled != nil {
		for i := range l.Sampled.Stacks {
			redactStack(r, &l.Sampled.Stacks[i].Task, l.Sampled.Stacks[i].Frames)
		}
	}
	if l.Waits != nil {
		for i := range l.Waits.Stacks {
			redactStack(r, &l.Waits.Stacks[i].Task, l.Waits.Stacks[i].Frames)
		}
	}
	if plain, err = json.Marshal(l); err != nil {
		return nil, err
	}
	return packed(plain)
}

// redactStack hides names of a thread, and of the programs whose functions it was in.
func redactStack(r facts.Redactor, task *string, frames []string) {
	*task = r.Text(*task)
	for i, frame := range frames {
		if program, function, ok := strings.Cut(frame, ":"); ok {
			frames[i] = r.Text(program) + ":" + function
		}
	}
}
