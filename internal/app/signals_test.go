package app

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// A second signal is the first one come again, unless it comes clearly later; a third one is not.
func TestWhatSignalsAskFor(t *testing.T) {
	start := time.Unix(100, 0)
	for name, c := range map[string]struct {
		after []time.Duration
		want  []signalAction
	}{
		"one": {[]time.Duration{0}, []signalAction{stopCleanly}},
		"timeout(1)": {[]time.Duration{0, 20 * time.Millisecond},
			[]signalAction{stopCleanly, alreadyStopping}},
		"at the end of the time": {[]time.Duration{0, RepeatedSignalWindow - 1},
			[]signalAction{stopCleanly, alreadyStopping}},
		"clearly later": {[]time.Duration{0, RepeatedSignalWindow}, []signalAction{stopCleanly, stopNow}},
		"twice, and later": {[]time.Duration{0, 20 * time.Millisecond, time.Minute},
			[]signalAction{stopCleanly, alreadyStopping, stopNow}},
		"three times": {[]time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond},
			[]signalAction{stopCleanly, alreadyStopping, stopNow}},
	} {
		var s stopSignals
		var got []signalAction
		for _, after := range c.after {
			got = append(got, s.action(start.Add(after)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The first signal ends the context and says why; the third ends the process, and says what may be left.
func TestSignalsEndTheContext(t *testing.T) {
	signals, codes := make(chan os.Signal), make(chan int, 1)
	var printed strings.Builder
	p := New(Environment{Signals: signals, Exit: func(code int) { codes <- code }, Stderr: &printed})
	ctx, ended := p.HandleSignals(t.Context())
	signals <- syscall.SIGTERM
	<-ctx.Done()
	err := &lab.Error{What: "stopped", Err: context.Cause(ctx)}
	if !errors.Is(context.Cause(ctx), context.Canceled) || err.Error() != "stopped: terminated signal received" {
		t.Errorf("%v", err)
	}
	signals <- syscall.SIGTERM
	signals <- os.Interrupt
	if code := <-codes; code != 130 {
		t.Errorf("exit code %d", code)
	}
	ended()
	if !strings.Contains(printed.String(), "to put it back: headroom restore\n") {
		t.Errorf("it said %q", printed.String())
	}
}
