package designtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/testing/scripted"
)

// kill is what a process leaves if it is killed at a moment: its store, and the state of the machines.
type kill struct {
	at, store string
	back      func()
}

// aLoad is the moment of a kill during a load.
const aLoad = "a load"

// kills collects what a process would leave at moments while it continues to its end. So one run shows everything that
// can be left, and a bubble need not contain killed processes.
type kills struct {
	*Lab
	mu      sync.Mutex // of everything: some are recorded by the clock
	all     []kill
	seen    map[string]bool
	over    bool
	moments int
}

// watch records what a kill would leave during each load, and before each kind of step of changing a setting: once
// before the first load, once later.
func (k *kills) watch() {
	k.seen = map[string]bool{}
	k.begun = func(_ *scripted.Event, first bool) {
		if first {
			k.moments++
			time.AfterFunc(soon, func() { k.note(aLoad) })
		}
	}
	k.atStep = func(step string) {
		switch of, what, _ := strings.Cut(step, " "); {
		case of == "flush" && what != "the journal": // of saving, which is the same for all designs
		case slices.Contains([]string{"record", "change", "undo", "remove", "flush"}, of):
			if key := fmt.Sprint(step, len(k.loads()) > 0); !k.seen[key] {
				k.seen[key] = true
				k.note(step)
			}
		}
	}
}

// end stops recording.
func (k *kills) end() {
	k.begun, k.atStep = nil, nil
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
}

// note records what a kill at this moment would leave.
func (k *kills) note(at string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	left := filepath.Join(k.dir, fmt.Sprint("left", len(k.all)))
	if err := os.CopyFS(left, os.DirFS(k.store())); err != nil {
		k.Errorf("at %s: %v", at, err)
		return
	}
	var all []func()
	for _, m := range k.Machines {
		all = append(all, m.Snapshot())
	}
	k.all = append(k.all, kill{at, left, func() {
		for _, back := range all {
			back()
		}
	}})
}

// look fails the test if something that was left can't be restored, or a run can't be resumed: --resume restores it as
// well.
func (k *kills) look(w whole) {
	for i, left := range k.all {
		left.back()
		k.Logf("killed at step %d, %s", i, left.at)
		if left.at != aLoad {
			k.ends(k.runIn(left.store, k.design.restore()...), 0)
			k.asFound()
			continue
		}
		k.ends(k.runIn(left.store, k.design.resume()...), 0)
		k.asFound()
		k.same(left.store, w)
	}
}
