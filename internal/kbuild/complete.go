package kbuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
)

// completedConfig is a configuration as the tree completed it.
type completedConfig struct {
	text   []byte
	config kconfig.Config
}

// maxConcurrentConfigs limits how many configurations are completed at the same time.
const maxConcurrentConfigs = 8

// prepared in a folder marks that the tree's program for configurations was built there completely.
const prepared = "prepared"

// complete completes a configuration: options that it does not mention get the tree's default, and impossible values
// are changed (make olddefconfig). Nearly all of its time is spent on testing the compiler, so running the tree's
// program without make would save next to nothing. Several can run at the same time, each in a separate folder.
func (t *Tree) complete(ctx context.Context, text []byte) (completedConfig, error) {
	var n int
	select {
	case n = <-t.configSlots:
	case <-ctx.Done():
		return completedConfig{}, stopped(ctx)
	}
	defer func() { t.configSlots <- n }()
	folder := filepath.Join(t.folder, "settle-"+strconv.Itoa(n))
	if !exists(filepath.Join(folder, prepared)) {
		if err := os.RemoveAll(folder); err != nil {
			return completedConfig{}, err
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return completedConfig{}, err
	}
	file := filepath.Join(folder, ".config")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return completedConfig{}, err
	}
	argv := t.argv("-s", "O="+folder, "olddefconfig")
	if t.Mark != "" {
		argv = append([]string{"env", t.Mark}, argv...)
	}
	out, err := t.Target.Run(ctx, argv...)
	if err != nil {
		if ctx.Err() != nil {
			err = stopped(ctx)
		}
		return completedConfig{}, err
	}
	if out.ExitCode != 0 {
		return completedConfig{}, &lab.Error{What: "the kernel's make can't complete a configuration", Command: argv,
			Output: string(out.Stderr),
			Hints:  []string{"on Debian: apt install make gcc libc6-dev flex bison bc libelf-dev libssl-dev"}}
	}
	s := completedConfig{}
	if s.text, err = os.ReadFile(file); err != nil {
		return s, err
	}
	if s.config, err = kconfig.Parse(bytes.NewReader(s.text)); err != nil {
		return s, err
	}
	t.learnStrings(s.text)
	return s, os.WriteFile(filepath.Join(folder, prepared), nil, 0o644)
}

func stopped(ctx context.Context) error {
	return &lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)}
}

// learnStrings records which options are strings: only the tree knows, and a configuration in memory has no quotes.
func (t *Tree) learnStrings(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(line, "CONFIG_"), "="); ok &&
			strings.HasPrefix(value, `"`) {
			t.strings[name] = true
		}
	}
}

// line returns a line of a configuration.
func (t *Tree) line(option, value string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return kconfig.Line(option, value, t.strings[option]) + "\n"
}

// locked runs do while no other process works in the tree's folder.
func (t *Tree) locked(ctx context.Context, do func() error) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	err = do()
	return errors.Join(err, unlock())
}
