package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/saved"
	"github.com/headroom/headroom/internal/unpack"
)

// Import reads the named files, and all files of results below the named directories, as one run. If a cell occurs
// again, in the same file or another, it is the next repetition.
//
// The returned run has the information in the files: format, times, targets, arms, cells, warnings. The caller sets its
// ID, label and version, and Created if no file states its time.
//
// A file that can't be read, of no known format, or damaged makes the import fail with one lab.Usage error that names
// all bad files. Below a directory, files of no known format are left out with a warning.
//
// Stages are a level of the run's arms, so that a load in one stage is not a repetition of the same load in another.
// Sources name their stages, or order names those of one source, which then begin where a load is repeated or at
// another host's prompt. Both together are not supported.
func Import(ctx context.Context, sources []Source, order []string, open Opener, sink Sink) (lab.Run, error) {
	i := &importing{importers: Importers(), builder: newRunBuilder(sink), seen: map[uint64]struct{}{},
		seed: maphash.MakeSeed()}
	i.builder.staging.order = order
	w := files{open: open, skip: i.skip, read: func(f fs.File, name, path string, given bool) error {
		if err := ctx.Err(); err != nil {
			return &lab.Error{Kind: lab.Cancelled, What: "the import was stopped; nothing was imported", Err: err}
		}
		return i.read(f, name, path, given)
	}}
	for _, source := range sources {
		i.builder.staging.source = source
		if err := w.walk(source.Name); err != nil {
			return lab.Run{}, err
		}
	}
	run, err := i.finish()
	if err != nil {
		return lab.Run{}, err
	}
	if err := i.builder.staging.check(sources); err != nil {
		return lab.Run{}, err
	}
	return run, nil
}

// importing is an import under way.
type importing struct {
	importers []Importer
	builder   *runBuilder
	reader    reader

	// seen has a hash of every file: a copy of a file is not a repetition.
	seen map[uint64]struct{}
	seed maphash.Seed

	bad          []string // one line each, up to maxListed
	badCount     int
	skipped      []string // up to three
	skippedBytes int
	unknown      bool
	repeated     int
}

// maxListed bounds how many bad files an error names.
const maxListed = 20

// read imports one file. Only an error of the sink ends the import; a bad file is recorded.
func (i *importing) read(f fs.File, name, path string, given bool) error {
	err := i.readFile(f, name, path, given)
	if s, ok := errors.AsType[*sinkError](err); ok {
		return s.error
	}
	if err == nil {
		return nil
	}
	i.badCount++
	if len(i.bad) < maxListed {
		i.bad = append(i.bad, name+": "+strings.TrimPrefix(reason(err), name+": "))
	}
	i.builder.sink = discardSink{}
	return nil
}

// reason strips the operation and the path from an error of the file system: the message already has the name.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func (i *importing) readFile(f fs.File, name, path string, given bool) error {
	b, rest, err := i.reader.begin(f)
	if err != nil {
		return err
	}
	source := i.builder.staging.source
	if source.First > 0 {
		if err := b.finish(rest); err != nil {
			return err
		}
		if b.data, err = source.cut(unpack.Text(b.data)); err != nil {
			return err
		}
		rest = strings.NewReader("") // all of it has been read
	}
	head := unpack.Text(b.data)
	several := given && pasted.ByName(head) != nil
	ways := i.ways(path, head, given)
	if len(ways) == 0 && given && (several || isJSON(head)) { // both are read to their end
		if err := b.finish(rest); err != nil {
			return err
		}
		rest, head = strings.NewReader(""), unpack.Text(b.data)
		ways = i.ways(path, head, given)
	}
	switch {
	case len(ways) == 0 && !given:
		i.skip(name)
		return nil
	case len(ways) == 0 && !several:
		return i.unrecognised(head)
	}
	if err := b.finish(rest); err != nil {
		return err
	}
	hash := maphash.Bytes(i.seed, b.data)
	if _, ok := i.seen[hash]; ok {
		i.repeated++
		return nil
	}
	i.seen[hash] = struct{}{}
	one := file{name: name, path: unpack.Name(path), data: unpack.Text(b.data), before: max(0, source.First-1)}
	if several {
		if read, err := i.readHosts(one, b.data); read || err != nil {
			return err
		}
	}
	w := i.best(ways, one)
	if w == nil {
		return i.unrecognised(head)
	}
	i.builder.begin(w.Name, one.path, b.data)
	return i.readAs(*w, one)
}

func isJSON(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) }

// way is an importer and the part of a text that it reads.
type way struct {
	*Importer

	of func(text []byte) []byte
	// bare is set if of removes the common prefix of the lines, after which a text may look like results by chance.
	bare bool
}

// ways returns the ways in which a file can be read, judged by its head: unchanged, or without prefixes of its lines or
// JSON around it; and, for a text, without the common beginning of its lines.
func (i *importing) ways(path string, head []byte, given bool) (all []way) {
	imp, of := i.importerOf(path, head)
	if imp != nil {
		all = append(all, way{imp, of, false})
	}
	if imp == nil && !given || imp != nil && !imp.text || isJSON(head) {
		return all
	}
	bare := func(text []byte) []byte { return pasted.WithoutCommonStart(withoutCarriers(text)) }
	if start := bare(head); start != nil {
		if imp, of := i.importerOf(path, start); imp != nil {
			all = append(all, way{imp, func(text []byte) []byte { return of(bare(text)) }, true})
		}
	}
	return all
}

// best returns the way that finds most values in a file, the later one of two that find as many. It returns nil if
// there is none, or if none finds values and the file looks like results by chance.
func (i *importing) best(ways []way, one file) *way {
	if len(ways) == 1 && !ways[0].bare {
		return &ways[0]
	}
	var found *way
	most := 0
	for k, w := range ways {
		var counted countingSink
		trial := importing{importers: i.importers, builder: newRunBuilder(&counted)}
		trial.builder.begin(w.Name, one.path, one.data)
		if trial.readAs(w, one) == nil && counted.values > 0 && counted.values >= most {
			found, most = &ways[k], counted.values
		}
	}
	if found == nil && len(ways) > 0 && !ways[0].bare {
		return &ways[0]
	}
	return found
}

// readAs reads a file in one of the ways.
func (i *importing) readAs(w way, one file) error {
	one.data = w.of(one.data)
	if !w.text || w.Name == "fio" && !besideJSON(one.data) && !iperf3.Is(one.data) {
		return w.read(one, i.builder)
	}
	return i.builder.together(func() error { return i.readText(one, *w.Importer) })
}

// readHosts reads a text with the results of several machines whose names precede their lines, and reports whether it
// is such a text. Machines without results are left out.
func (i *importing) readHosts(one file, raw []byte) (read bool, err error) {
	defer func() { i.builder.host = "" }()
	var without []string
	for _, host := range pasted.ByName(one.data) {
		part := file{name: one.name + ", lines of " + host.Name, path: one.path, data: host.Text}
		w := i.best(i.ways(one.path, host.Text, true), part)
		if w == nil {
			without = append(without, host.Name)
			continue
		}
		if !read {
			i.builder.begin(w.Name, one.path, raw)
		}
		read, i.builder.host = true, host.Name
		i.builder.alsoOf(w.Name)
		if err := i.readAs(*w, part); err != nil {
			return read, fmt.Errorf("lines of %s: %w", host.Name, err)
		}
	}
	if read && len(without) > 0 {
		i.builder.warn(lab.Warning{Code: "import-left-out", Text: fmt.Sprintf(
			"%s has lines of %s, in which nothing looks like results", one.name, strings.Join(without, ", "))})
	}
	return read, nil
}

// unrecognised returns why a file without an importer is refused.
func (i *importing) unrecognised(head []byte) error {
	if len(head) == 0 {
		return errors.New("this file is empty")
	}
	if what, instead := recogniseUnread(withoutCarriers(head)); what != "" {
		return fmt.Errorf("this looks like %s, which headroom does not read: %s", what, instead)
	}
	if ofMachine(head) {
		return errors.New("this describes a machine and has no results; headroom doctor reads it")
	}
	i.unknown = true
	return errors.New("nothing in it looks like the results of a tool that headroom knows")
}

// ofMachine reports whether a text describes a machine: a snapshot, a kernel's configuration, or the output of
// commands.
func ofMachine(text []byte) bool {
	if bytes.Contains(text[:min(len(text), 4<<10)], []byte(`"headroom/facts/`)) {
		return true
	}
	if _, err := kconfig.Parse(bytes.NewReader(text)); err == nil {
		return true
	}
	_, err := saved.Paste("", string(text))
	return err == nil
}

// readText reads a tool's results in a text, and those of other tools, as in a forum post. If one tool's results can't
// be read they are left out, provided that there are results of another.
func (i *importing) readText(f file, first Importer) error {
	err := first.read(f, i.builder)
	faults := []error{err}
	for _, imp := range i.importers {
		if !imp.text || imp.Name == first.Name || !imp.isAlso(f) {
			continue
		}
		i.builder.alsoOf(imp.Name)
		faults = append(faults, imp.read(f, i.builder))
	}
	if len(*i.builder.held) == 0 {
		return err
	}
	for _, fault := range faults {
		if fault != nil {
			i.builder.warn(lab.Warning{Code: "import-left-out",
				Text: fmt.Sprintf("a part of %s is left out. %v", f.name, fault)})
		}
	}
	return nil
}

// importerOf returns the importer of a file, judged by its head, and a function that returns the part of the file to
// read: all, or the text without prefixes of its lines or JSON around it.
func (i *importing) importerOf(path string, head []byte) (imp *Importer, of func([]byte) []byte) {
	all := func(text []byte) []byte { return text }
	imp = importerFor(i.importers, path, head)
	if imp != nil && !imp.text {
		return imp, all
	}
	if text := withoutCarriers(head); !bytes.Equal(text, head) {
		if inside := importerFor(i.importers, path, text); inside != nil && (imp == nil || inside.Name != "table") {
			return inside, withoutCarriers
		}
	}
	return imp, all
}

func (i *importing) skip(name string) {
	i.skippedBytes++
	if len(i.skipped) < 3 {
		i.skipped = append(i.skipped, name)
	}
}

func (i *importing) finish() (lab.Run, error) {
	if i.badCount > 0 {
		return lab.Run{}, i.badFiles()
	}
	if i.skippedBytes > 0 {
		more := ""
		if i.skippedBytes > len(i.skipped) {
			more = ", …"
		}
		i.builder.warn(lab.Warning{
			Code: "import-left-out",
			Text: fmt.Sprintf("%s left out, because nothing in them looks like results, "+
				"or because they are hidden, links or marked as failed: %s%s",
				counted(i.skippedBytes, "file or directory was", "files or directories were"),
				strings.Join(i.skipped, ", "),
				more),
		})
	}
	if i.repeated > 0 {
		i.builder.warn(lab.Warning{
			Code: "import-duplicate",
			Text: counted(i.repeated, "file was", "files were") +
				" given twice, byte for byte, and counted once: the same result again is no second repetition",
		})
	}
	run := i.builder.finish()
	if len(run.Cells) == 0 {
		return lab.Run{}, &lab.Error{
			Kind: lab.Usage, What: "the given files hold no results", Hints: []string{formatsHint},
		}
	}
	return run, nil
}

// formatsHint summarises the readable formats without listing them all.
const formatsHint = "headroom import --help lists what is read: results of fio, iperf3, iperf 2, perftest, sockperf, netperf, " +
	"pgbench, sysbench, dd, CrystalDiskMark and others, also from a terminal's text"

func (i *importing) badFiles() error {
	e := &lab.Error{Kind: lab.Usage, Hints: []string{"nothing was imported: correct what is named, or leave it out"}}
	if i.badCount == 1 {
		e.What = i.bad[0]
	} else {
		if more := i.badCount - len(i.bad); more > 0 {
			i.bad = append(i.bad, fmt.Sprintf("and %d more", more))
		}
		e.What = fmt.Sprintf("%d files can't be imported:\n  %s", i.badCount, strings.Join(i.bad, "\n  "))
	}
	if i.unknown {
		e.Hints = append(e.Hints, formatsHint)
	}
	return e
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// excerpt quotes a line for an error, shortened.
func excerpt(line string) string {
	line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
	if r := []rune(line); len(r) > 80 {
		line = string(r[:80]) + "…"
	}
	return strconv.Quote(line)
}
