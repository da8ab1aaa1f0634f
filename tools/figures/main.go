// Command figures puts what tests and benchmarks recorded into one file, and holds two such files against each other.
// scripts/bench calls it.
//
// It is a module of its own as the other tools are, so that it is no command of headroom.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/document"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run takes "collect OUT COMMIT FOLDER SECTION...", or "compare OLD NEW".
func run(args []string) error {
	switch {
	case len(args) > 3 && args[0] == "collect":
		return collect(args[1], args[2], args[3], args[4:])
	case len(args) == 3 && args[0] == "compare":
		before, err := open(args[1])
		if err != nil {
			return err
		}
		after, err := open(args[2])
		if err != nil {
			return err
		}
		return document.Table(os.Stdout, before, after)
	}
	return errors.New("usage: collect OUT COMMIT FOLDER SECTION... | compare OLD NEW")
}

func open(name string) (*document.Document, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	d, err := document.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// collect reads what sections left in a folder: SECTION.jsonl of tests, SECTION.log with benchmarks. What can be read
// is written, whatever is wrong with the rest.
func collect(out, commit, folder string, sections []string) error {
	d := &document.Document{Schema: document.Schema, Commit: commit, Time: time.Now().UTC().Truncate(time.Second),
		Machine: machine()}
	var faults []error
	for _, s := range sections {
		for _, source := range []struct {
			suffix string
			read   func(io.Reader) ([]figure.Figure, error)
		}{{".jsonl", document.Recorded}, {".log", document.Benchmarks}} {
			f, err := os.Open(filepath.Join(folder, s+source.suffix))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has none of these
			}
			if err != nil {
				faults = append(faults, err)
				continue
			}
			figures, err := source.read(f)
			_ = f.Close() // it was only read
			if err != nil {
				err = fmt.Errorf("%s: %w", f.Name(), err)
			}
			faults = append(faults, err, d.Add(s, figures))
		}
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := d.Write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(append(faults, f.Close())...)
}

// machine reads what tells one machine's figures from another's. What can't be read is empty.
func machine() document.Machine {
	m := document.Machine{CPUs: runtime.NumCPU()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	// model name	: Intel(R) Xeon(R) Processor @ 2.60GHz
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.Model = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}
