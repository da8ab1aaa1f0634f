package importer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/saved"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// ImportHelp returns the list of formats that can be imported, for the help.
func ImportHelp() string {
	var b strings.Builder
	for _, i := range ingest.Importers() {
		fmt.Fprintf(&b, "  %s\n", i.Title)
	}
	return b.String()
}

// MemoryFor returns the number of bytes up to which garbage may accumulate while sources are imported. Nearly all that
// an import allocates is garbage by the next file, and less than ten megabytes are in use: collecting at the usual
// rate takes a twelfth of the time. Collecting less often than every 40 MiB saves nothing, since fresh memory is not in
// the processor's cache. A large file takes a few times its size; without more room for it all time would be spent in
// collections that free nothing.
func MemoryFor(sources []ingest.Source) int64 {
	var largest int64
	for _, s := range sources {
		if info, err := os.Stat(s.Name); err == nil && info.Mode().IsRegular() {
			largest = max(largest, info.Size())
		}
	}
	return 40<<20 + 8*largest
}

// ImportFiles makes one run of the given files, or imports a run that was exported.
func ImportFiles(ctx context.Context, p *app.App, s *store.Store, sources []ingest.Source, order []string,
	label string, known *facts.Document) (*store.Bundle, error) {
	if label != "" {
		s.Imports.Relabel()
	}
	open := func(name string) (fs.File, error) { return app.OpenInput(name) }
	if len(sources) == 1 && sources[0].Name == app.StandardInput {
		in := bufio.NewReaderSize(p.Stdin, 64<<10)
		if head, _ := in.Peek(2048); store.IsExport(head) { // anything shorter is not an export
			if known != nil {
				return nil, hasFacts(app.StandardInput)
			}
			defer p.DiscardOnInterrupt(ctx, s.Imports.Drop)()
			b, err := s.Imports.Read(in)
			return withLabel(p, s, b, label, err)
		}
		open = func(string) (fs.File, error) { return pipedFile{in}, nil }
	} else if len(sources) == 1 {
		name := sources[0].Name
		ours, err := isRun(name)
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't import " + name, Err: err}
		}
		if ours && (order != nil || sources[0].Stage != "") {
			return nil, app.Usage(name+" is a run of headroom's own, which has its stages or has none",
				"import it without --stage and --stages")
		}
		if ours && known != nil {
			return nil, hasFacts(name)
		}
		if ours {
			return importRun(ctx, p, s, name, label)
		}
	}
	return importResults(ctx, p, s, sources, order, open, label, known)
}

// ImportFacts reads the snapshot of the machine on which results were measured; nil if name is empty.
func ImportFacts(ctx context.Context, p *app.App, name string) (*facts.Document, error) {
	if name == "" {
		return nil, nil
	}
	if p.AllKinds().Has(name) && !strings.HasPrefix(name, saved.Scheme) {
		return nil, app.Usage("--facts "+name+" is a machine as it is now, and results that are imported are of "+
			"another time", "headroom facts --json --on "+name+" > facts.json, if it is still the same")
	}
	d, err := p.Subjects().Facts(ctx, name, facts.SnapshotLimit)
	return &d, err
}

// hasFacts refuses other facts for a run that includes its own.
func hasFacts(name string) error {
	return app.Usage(name+" is a run of headroom's own, which has the facts of its machines",
		"import it without --facts")
}

// saveFacts saves the facts of the machine on which results were measured. If there are several machines it is unknown
// which one the facts describe, so it refuses them.
func saveFacts(w *store.Writer, run *lab.Run, known facts.Document) error {
	if len(run.Targets) != 1 {
		return app.Usage(fmt.Sprintf("the results are of %s, and --facts tells of one",
			prose.Count(len(run.Targets), "machine or place")), "import those of each by themselves")
	}
	t := &run.Targets[0]
	t.Facts = append(t.Facts, facts.Brief(known.Facts)...)
	return w.Facts(t.Role, store.Before, known)
}

// pipedFile is another program's output as a file.
type pipedFile struct{ io.Reader }

func (pipedFile) Stat() (fs.FileInfo, error) { return pipedInfo{}, nil }

func (pipedFile) Close() error { return nil }

// pipedInfo is the file information of a pipedFile.
type pipedInfo struct{ fs.FileInfo }

func (pipedInfo) IsDir() bool { return false }

func (pipedInfo) Mode() fs.FileMode { return 0 }

// isRun reports whether name is a run of headroom: a run's folder, or an export.
func isRun(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		_, err := store.OpenBundle(name)
		return err == nil, nil
	}
	f, err := app.OpenInput(name)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, f.Close() // data that was read from a pipe is lost
	}
	defer f.Close()
	head := make([]byte, 2048)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return store.IsExport(head[:n]), nil
}

func importRun(ctx context.Context, p *app.App, s *store.Store, name, label string) (*store.Bundle, error) {
	defer p.DiscardOnInterrupt(ctx, s.Imports.Drop)()
	b, err := s.Imports.Adopt(name)
	return withLabel(p, s, b, label, err)
}

func withLabel(p *app.App, s *store.Store, b *store.Bundle, label string, err error) (*store.Bundle, error) {
	if err != nil || label == "" {
		return b, err
	}
	return b, s.SetLabel(b, label)
}

// importResults reads other tools' files into a new run. It is all or nothing.
func importResults(ctx context.Context, p *app.App, s *store.Store, sources []ingest.Source, order []string,
	open ingest.Opener, label string, known *facts.Document) (*store.Bundle, error) {
	header := lab.Run{ID: store.NewID(), Label: label, Status: lab.Running, Source: lab.Imported, Created: time.Now(),
		Version: p.Version, Command: p.Args}
	w, err := s.Create(header)
	if err != nil {
		return nil, err
	}
	defer p.DiscardOnInterrupt(ctx, func() error { return s.Remove(header.ID) })()
	sink := &importSink{writer: w, latency: map[string]map[string]lab.Histogram{}}
	read, err := ingest.Import(ctx, sources, order, open, sink)
	if err == nil {
		err = w.Commit()
	}
	if err == nil && known != nil {
		err = saveFacts(w, &read, *known)
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	err = w.Close(func(r *lab.Run) {
		id, version, command, created := r.ID, r.Version, r.Command, r.Created
		*r = read
		r.ID, r.Label, r.Version, r.Command, r.Status, r.Source = id, label, version, command,
			lab.Complete, lab.Imported
		r.Added = created
		if r.Created.IsZero() {
			r.Created = created
		}
		for i, c := range r.Cells {
			r.Cells[i].Latency = sink.latency[c.ID]
		}
		r.AddRunWarnings(validity.Run(*r, slices.Values(sink.light)))
	})
	if err != nil {
		return nil, err
	}
	return s.Find(header.ID)
}

// importSink writes an import into the store as it is read, a segment every few megabytes.
type importSink struct {
	writer  *store.Writer
	light   []lab.Repetition
	latency map[string]map[string]lab.Histogram // by cell and direction
}

// segmentBytes is how much data is held before it is committed.
const segmentBytes = 32 << 20

// maxChecked is how many repetitions the checks of a whole run use; it bounds the memory of an import.
const maxChecked = 500

func (i *importSink) Raw(name string, data []byte) error { return i.writer.Raw(name, data) }

// Repetition saves a repetition without its latency bins, which are added up for the cell: they are most of a record,
// and the raw file has them too.
func (i *importSink) Repetition(rep lab.Repetition) error {
	i.addLatency(rep)
	rep.Latency = nil
	if err := i.writer.Repetition(rep); err != nil {
		return err
	}
	if len(i.light) < maxChecked {
		rep.Series = nil
		i.light = append(i.light, rep)
	}
	if i.writer.Pending() > segmentBytes {
		return i.writer.Commit()
	}
	return nil
}

func (i *importSink) addLatency(rep lab.Repetition) {
	if i.latency[rep.Cell] == nil {
		i.latency[rep.Cell] = map[string]lab.Histogram{}
	}
	sums := i.latency[rep.Cell]
	for direction, h := range rep.Latency {
		sum := sums[direction]
		sum.Nanoseconds, sum.Counts = stat.MergeBins(sum.Nanoseconds, sum.Counts, h.Nanoseconds, h.Counts)
		sums[direction] = sum
	}
}

// comeAgain reports whether a load is repeated in one file. For pasted text, which often has several configurations, it
// is always true.
func comeAgain(b *store.Bundle) bool {
	if b.Run.Format == "fio-text" {
		return true
	}
	const enough = 1000 // repetitions; a longer file repeats its loads before
	seen, n := map[[2]string]bool{}, 0
	for r, err := range b.Repetitions() {
		if n++; err != nil || n > enough {
			return false
		}
		for _, file := range r.Raw {
			key := [2]string{r.Cell, file}
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// PrintImported prints which run was made, and which commands show it.
func PrintImported(p *app.App, s *store.Store, b *store.Bundle) error {
	rows, err := s.List()
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.ID != b.Run.ID {
			continue
		}
		if p.JSON {
			return p.PrintJSON(app.RunsDocument{Schema: app.RunsSchema, Runs: []store.Row{r}})
		}
		id := s.ShortID(r.ID)
		fmt.Fprintf(p.Stdout, "imported as %s: %s, %s (headroom show %s)\n", id, prose.Count(r.Cells, "cell"),
			prose.Count(r.Repetitions, "repetition"), id)
		for _, stage := range b.Run.Stages {
			fmt.Fprintf(p.Stdout, "  stage %s: %s from %s\n", stage.Name,
				prose.Count(cellsIn(b.Run, stage.Name), "load"), stage.From)
		}
		if len(b.Run.Stages) > 0 {
			fmt.Fprintf(p.Stdout, "  side by side: headroom stages %s\n", id)
		}
		if len(b.Run.Stages) == 0 && r.Repetitions > r.Cells && comeAgain(b) {
			fmt.Fprintln(p.Stdout, "  loads that come again are repetitions here; where they are stages of a report, "+
				"name them: --stage or --stages")
		}
		if hint := results.LevelsHint(b.Run, id); hint != "" {
			fmt.Fprintf(p.Stdout, "  which level is best, and which is enough: %s\n", hint)
		}
		for _, w := range b.Run.Warnings {
			fmt.Fprintf(p.Stdout, "  %s: %s\n", w.Code, w.Text)
		}
	}
	return nil
}
