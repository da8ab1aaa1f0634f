package scripted

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
)

// A machine with kexec is rebooted by the package for real hosts, and comes up with its own arguments after a power
// cycle.
func TestKexecs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New("db1")
		m.Kexecs()
		hangs := false
		m.OnBoot = func(string) error {
			if hangs {
				return errors.New("it hangs")
			}
			return nil
		}
		own := m.Get("/proc/cmdline")
		on, err := m.Open("scripted://db1")
		if err != nil {
			t.Fatal(err)
		}
		h, err := bootloader.New(t.Context(), on, bootloader.Options{Limit: 3 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := h.Boot(t.Context(),
				host.BootSpec{Arguments: []string{"a=1"}, Without: []string{"quiet"}}); err != nil {
				t.Fatal(err)
			}
			if now := m.Get("/proc/cmdline"); now != "root=/dev/vda1 ro a=1" {
				t.Errorf("it runs with %s", now)
			}
		}
		hangs = true
		if err := h.Boot(t.Context(), host.BootSpec{}); err == nil ||
			!strings.Contains(err.Error(), "did not come back in 3m") {
			t.Errorf("it hangs: %v", err)
		}
		m.PowerCycle()
		if now := m.Get("/proc/cmdline"); now != own {
			t.Errorf("it runs with %s", now)
		}
	})
}
