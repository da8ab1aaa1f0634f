package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"headroom/internal/diff"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
)

// here is the name of this machine as a target.
const here = "local"

// standardInput is the name of what another program hands on.
const standardInput = "-"

// subject finds the facts that an argument stands for: a target ("local", "ssh://db1"), a saved run, a file (a snapshot, a kernel
// configuration, the output of sysctl -a), or such a file from standard input ("-"). Reading a machine may take limit.
func (p *program) subject(ctx context.Context, name string, limit time.Duration) (facts.Document, error) {
	if isTarget(name) {
		t, err := p.openTarget(ctx, name)
		if err != nil {
			return facts.Document{}, err
		}
		defer p.closeTarget(t)
		return p.factsOfTarget(ctx, t, limit)
	}
	if name == "" {
		return facts.Document{}, usage("an empty name names nothing to read facts from", subjectHint)
	}
	if name == standardInput {
		return readSubject("standard input", p.Stdin)
	}
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		if !isFolder(name) {
			return readSubject(name, f)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "can't read facts from " + name, Err: err}
	} else if filepath.Base(name) != name {
		return facts.Document{}, usage("there is no "+name, subjectHint) // a run is not called so either
	}
	if _, err := os.Stat(filepath.Join(name, "run.json")); isFolder(name) && filepath.Base(name) != name && errors.Is(err, fs.ErrNotExist) {
		return facts.Document{}, usage(name+" is a folder without a run.json, so it is no run", subjectHint)
	}
	s, serr := p.openStore()
	if serr != nil {
		return facts.Document{}, serr
	}
	b, err := s.Find(name)
	if err != nil {
		return facts.Document{}, notASubject(name, err)
	}
	return factsOfRun(b)
}

// factsOfTarget are those of a target and of the place that was made with it.
func (p *program) factsOfTarget(ctx context.Context, t target.Target, limit time.Duration) (facts.Document, error) {
	place := lab.Place{Kind: lab.NoPlace}
	if h, ok := t.(target.Holder); ok && h.Place() != "" {
		var err error
		if place, err = facts.ResolvePlace(ctx, t, h.Place()); err != nil {
			return facts.Document{}, err
		}
	}
	return p.snapshotWithin(ctx, limit, t, place)
}

// subjectOn is what an argument or --on names; this machine without both.
func subjectOn(args, on []string) (string, error) {
	if len(args) == 0 {
		return onlyTarget(on)
	}
	if len(on) > 0 {
		return "", usage(args[0]+" and --on name two things", "leave out one of them")
	}
	return args[0], nil
}

const subjectHint = `facts come from "local", ssh://host, a run, - (standard input), or a file: a snapshot, a kernel configuration, what sysctl -a printed`

// maxSubject is the largest file that is read: a snapshot of 4,000 disks is some 60 MiB.
const maxSubject = 256 << 20

func readSubject(name string, from io.Reader) (facts.Document, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxSubject+1))
	if err == nil && len(data) > maxSubject {
		err = fmt.Errorf("it is larger than %d MiB", maxSubject>>20)
	}
	if err != nil {
		return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "can't read facts from " + name, Err: err}
	}
	s, err := diff.Decode(name, data)
	return facts.Document{Schema: facts.DocumentSchema, Target: s.Name, Facts: s.Facts}, err
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func notASubject(name string, err error) error {
	var known *lab.Error
	if filepath.Base(name) == name && errors.As(err, &known) {
		known.Hints = append(known.Hints, subjectHint)
	}
	return err
}

// factsOfRun are the facts of a run's target; of several, the first has them for now.
func factsOfRun(b *store.Bundle) (facts.Document, error) {
	for _, t := range b.Run.Targets {
		d, ok, err := b.Facts(t.Role, store.Before)
		if err != nil {
			return d, err
		}
		if ok {
			d.Target = fmt.Sprintf("run %s", b.Run.ID)
			if b.Run.Label != "" {
				d.Target += " (" + b.Run.Label + ")"
			}
			return d, nil
		}
	}
	return facts.Document{}, &lab.Error{Kind: lab.Usage, What: "nothing is known of the machine of run " + b.Run.ID,
		Hints: []string{"imported runs have no facts; compare the machine itself, or a snapshot: headroom facts --json > machine.json"}}
}
