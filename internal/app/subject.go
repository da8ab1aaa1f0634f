package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/saved"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unpack"
)

// LocalTarget is the name of this machine as a target.
const LocalTarget = host.LocalName

// StandardInput is the name of what another program hands on.
const StandardInput = "-"

// Subjects finds the runs and the facts that arguments stand for.
type Subjects struct {
	targets interface {
		AllKinds() TargetKinds
		OpenTarget(ctx context.Context, name string) (host.Target, error)
		CloseTarget(t host.Target)
		SnapshotWithin(ctx context.Context, limit time.Duration, t host.Target, place lab.Place,
			without ...string) (facts.Document, error)
	}
	store func() (*store.Store, error)
	stdin io.Reader
	say   func(text string)
}

// Subjects finds runs in the store of the command line, and opens targets as the configuration says.
func (p *App) Subjects() Subjects {
	return Subjects{p, p.OpenStore, p.Stdin, func(text string) { p.Print("", text) }}
}

// Facts finds the facts that an argument stands for: a target ("local", "ssh://db1"), a saved run, one target of a
// run of several ("4J0P:server"), a file (a snapshot, a kernel configuration, what commands printed), files of a
// machine ("dir:sosreport.tar.xz"), or such a file from standard input ("-"). Reading a machine may take limit.
func (s Subjects) Facts(ctx context.Context, name string, limit time.Duration) (facts.Document, error) {
	if name = spelling(name); strings.HasPrefix(name, saved.Scheme) {
		return s.factsOfFiles(ctx, name, limit)
	}
	if s.targets.AllKinds().Has(name) {
		t, err := s.targets.OpenTarget(ctx, name)
		if err != nil {
			return facts.Document{}, err
		}
		defer s.targets.CloseTarget(t)
		return s.FactsOfTarget(ctx, t, limit)
	}
	if name == "" {
		return facts.Document{}, Usage("an empty name names nothing to read facts from", subjectHint)
	}
	if name == StandardInput {
		return s.read(ctx, "standard input", s.stdin, limit)
	}
	f, err := OpenInput(name)
	if err == nil {
		defer f.Close()
		switch {
		case IsFolder(name):
		case saved.IsArchive(f):
			return s.factsOfFiles(ctx, name, limit)
		default:
			return s.read(ctx, name, f, limit)
		}
	} else if errors.Is(err, syscall.ENOTDIR) { // a folder in an archive
		return s.factsOfFiles(ctx, name, limit)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "can't read facts from " + name, Err: err}
	} else if folder, _ := lab.CutArm(name); filepath.Base(name) != name && !IsFolder(folder) {
		return facts.Document{}, Usage("there is no "+name, subjectHint) // a run is not called so either
	}
	if IsFolder(name) && isSaved(name) {
		if _, _, err := s.RunOf(name); filepath.Base(name) != name || err != nil {
			return s.factsOfFiles(ctx, name, limit)
		}
	}
	b, role, err := s.RunOf(name)
	if err != nil {
		return facts.Document{}, notASubject(name, err)
	}
	return FactsOfRun(b, role)
}

// RunOf finds the run that an argument stands for, and the role that it may name behind a colon. A label may have
// colons, too.
func (s Subjects) RunOf(name string) (b *store.Bundle, role string, err error) {
	in, err := s.store()
	if err != nil {
		return nil, "", err
	}
	if b, err = in.Find(name); err == nil {
		return b, "", nil
	}
	if run, role := lab.CutArm(name); role != "" {
		if b, err := in.Find(run); err == nil {
			return b, role, nil
		}
	}
	return nil, "", err
}

// ProfilesOf are the profiled loads of a subject whose facts were read; none where it is no run, or one that was not
// profiled.
func (s Subjects) ProfilesOf(name string) ([]profile.Load, error) {
	b, role, err := s.run(name)
	if err != nil || b == nil {
		return nil, err
	}
	return LoadsOfRun(b, role)
}

// MeasuredOf are the figures of the loads of a subject whose facts were read, as facts; none where it is no run.
func (s Subjects) MeasuredOf(name string) ([]lab.Fact, error) {
	b, role, err := s.run(name)
	if err != nil || b == nil {
		return nil, err
	}
	return diagnosis.FactsOfLoads(b.Run, role, b.Repetitions())
}

// run is the run that a subject is, with the role that it names; nil where it is something else.
func (s Subjects) run(name string) (b *store.Bundle, role string, err error) {
	if name = spelling(name); name == StandardInput || s.targets.AllKinds().Has(name) {
		return nil, "", nil
	}
	f, err := OpenInput(name)
	if err == nil {
		f.Close()
		if !IsFolder(name) {
			return nil, "", nil
		}
	}
	b, role, err = s.RunOf(name)
	if err != nil && (errors.Is(err, syscall.ENOTDIR) || isSaved(name)) {
		return nil, "", nil
	}
	return b, role, err
}

// LoadsOfRun are the profiled loads of a run; with a role, those of that target.
func LoadsOfRun(b *store.Bundle, role string) (all []profile.Load, err error) {
	for l, err := range b.Profiles() {
		if err != nil {
			return nil, err
		}
		if role == "" || l.Role == "" || l.Role == role {
			all = append(all, l)
		}
	}
	return all, nil
}

// FactsOfTarget returns the facts of a target and of the place that was made with it.
func (s Subjects) FactsOfTarget(ctx context.Context, t host.Target, limit time.Duration) (facts.Document, error) {
	place := lab.Place{Kind: lab.NoPlace}
	if h, ok := t.(host.HasTestPath); ok && h.TestPath() != "" {
		var err error
		if place, err = storage.ResolvePlace(ctx, t, h.TestPath()); err != nil {
			return facts.Document{}, err
		}
	}
	return s.targets.SnapshotWithin(ctx, limit, t, place)
}

const subjectHint = `facts come from "local", ssh://host, a run, one target of it (RUN:ROLE), - (standard input), or a file: a snapshot, a kernel configuration, what sysctl -a and other commands printed, an archive or a folder with /proc and /sys of a machine`

// maxSubject is the largest file that is read: a snapshot of 4,000 disks is some 60 MiB.
const maxSubject = 256 << 20

// readBounded reads all, and refuses more than maxSubject.
func readBounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxSubject+1))
	if err == nil && len(data) > maxSubject {
		err = fmt.Errorf("it is larger than %d MiB", maxSubject>>20)
	}
	return data, err
}

func (s Subjects) read(ctx context.Context, name string, from io.Reader, limit time.Duration) (facts.Document,
	error) {
	data, err := readBounded(from)
	if err != nil {
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "can't read facts from " + name, Err: err}
	}
	if saved.IsArchive(bytes.NewReader(data)) {
		m, err := saved.Bytes(name, data)
		if err != nil {
			return facts.Document{}, err
		}
		return s.factsOfSaved(ctx, m, limit)
	}
	text, err := unpack.Reader(bytes.NewReader(data))
	if err == nil {
		data, err = readBounded(text)
	}
	if err != nil {
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "can't unpack " + name, Err: err,
			Hints: []string{"if it is cut off or damaged, fetch it again"}}
	}
	return s.factsOfText(ctx, name, unpack.Text(data), limit)
}

// IsFolder reports whether a name is the name of a folder.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func notASubject(name string, err error) error {
	var known *lab.Error
	if filepath.Base(name) == name && errors.As(err, &known) {
		known.Hints = append(known.Hints, append(hostHint(name), subjectHint)...)
	}
	return err
}

// Machines are the roles of the targets of a run of which facts are known. Of several arms on one machine the last one
// stands for it: of a stack it is on all of the others.
func Machines(b *store.Bundle) []string {
	known := b.Known(store.Before)
	if !b.Run.MadeBy().HasParts() {
		return known
	}
	name := func(role string) string {
		i := slices.IndexFunc(b.Run.Targets, func(t lab.RunTarget) bool { return t.Role == role })
		return b.Run.Targets[i].Target
	}
	var roles []string
	for i, role := range known {
		if !slices.ContainsFunc(known[i+1:], func(later string) bool { return name(later) == name(role) }) {
			roles = append(roles, role)
		}
	}
	return roles
}

// FactsOfRun are the facts of a run's target; of several, of the one in that role.
func FactsOfRun(b *store.Bundle, role string) (facts.Document, error) {
	known := Machines(b)
	among := func(what string) error {
		hints := make([]string, 0, len(known)+1)
		for _, r := range known {
			hints = append(hints, b.Run.ID+":"+r)
		}
		return Usage(what, "name one of them: "+prose.Names(hints, ", "),
			"headroom doctor "+b.Run.ID+" diagnoses them all")
	}
	switch {
	case len(known) == 0:
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "nothing is known of the machine of run " + b.Run.ID,
			Hints: []string{"imported runs have no facts; compare the machine itself, or a snapshot: headroom facts " +
				"--json > machine.json"}}
	case role == "" && len(known) > 1:
		return facts.Document{}, among(fmt.Sprintf("run %s is of %d targets", b.Run.ID, len(known)))
	case role == "":
		role = known[0]
	case !slices.Contains(b.Known(store.Before), role):
		return facts.Document{}, among(fmt.Sprintf("run %s knows nothing of a target %q", b.Run.ID, role))
	}
	d, _, err := b.Facts(role, store.Before)
	if err != nil {
		return d, err
	}
	d.Target = "run " + b.Run.ID
	if len(known) > 1 {
		d.Target += ":" + role
	}
	if b.Run.Label != "" {
		d.Target += " (" + b.Run.Label + ")"
	}
	return d, nil
}

// factsOfFiles reads a folder or an archive with the files of a machine, and prints which of them could not be read.
func (s Subjects) factsOfFiles(ctx context.Context, name string, limit time.Duration) (facts.Document, error) {
	m, err := saved.Open(name)
	if err != nil {
		return facts.Document{}, err
	}
	return s.factsOfSaved(ctx, m, limit)
}

func (s Subjects) factsOfSaved(ctx context.Context, m *saved.Machine, limit time.Duration) (facts.Document, error) {
	for _, u := range m.Unread {
		s.say(m.Name() + ": not read: " + u)
	}
	return m.Facts(ctx, limit)
}

// factsOfText reads a file or a paste: a snapshot, a kernel's configuration, an archive, or what commands printed.
func (s Subjects) factsOfText(ctx context.Context, name string, data []byte, limit time.Duration) (facts.Document,
	error) {
	read, err := diff.Decode(name, data)
	d := facts.Document{Schema: facts.DocumentSchema, Target: read.Name, Facts: read.Facts}
	if err == nil && !sysctlsOnly(read.Facts) {
		return d, nil
	}
	m, merr := saved.Paste(name, string(data))
	if merr != nil {
		if title := ingest.Recognise(name, data); title != "" && err != nil {
			return d, Usage(name+" holds results and no facts of a machine ("+title+")",
				"headroom import "+lab.ShellQuote([]string{name})+" reads them")
		}
		if err == nil || strings.HasPrefix(strings.TrimSpace(string(data)), "{") && errors.Unwrap(merr) == nil {
			return d, err
		}
		return d, merr
	}
	more, err := s.factsOfSaved(ctx, m, limit)
	more.Facts = append(more.Facts, notIn(d.Facts, more.Facts)...)
	return more, err
}

// sysctlsOnly reports whether facts are sysctls, which may be a part of what a text says.
func sysctlsOnly(all []lab.Fact) bool {
	for _, f := range all {
		if !strings.HasPrefix(f.Key, "sysctl.") {
			return false
		}
	}
	return true
}

// notIn are the facts whose keys others do not have.
func notIn(all, others []lab.Fact) (rest []lab.Fact) {
	known := map[string]bool{}
	for _, f := range others {
		known[f.Key] = true
	}
	for _, f := range all {
		if !known[f.Key] {
			rest = append(rest, f)
		}
	}
	return rest
}

// isSaved reports whether an argument is files of a machine: a folder that is no run, or an archive.
func isSaved(name string) bool {
	if strings.HasPrefix(name, saved.Scheme) {
		return true
	}
	if IsFolder(name) {
		_, err := os.Stat(filepath.Join(name, "run.json"))
		return errors.Is(err, fs.ErrNotExist)
	}
	f, err := OpenInput(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return saved.IsArchive(f)
}
