package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestExpressRefuses(t *testing.T) {
	real := factstest.Saved(t, "storage").Files
	config := []byte(nil)
	for name, f := range real {
		if strings.HasSuffix(name, "0000:83:00.0/config") {
			config = f.Data
		}
	}
	if e, err := parseExpress(config); err != nil || e != (express{512, 512, 512, true, catalogue.None}) {
		t.Fatalf("%+v, %v", e, err)
	}
	dead := slices.Repeat([]byte{0xff}, 256)
	ring := slices.Clone(config)
	ring[0x51] = 0x40
	cut := config[:0x80]
	bare := slices.Clone(config)
	bare[6] = 0
	for want, data := range map[string][]byte{"does not answer": dead, "no capability PCI Express": ring,
		"first 64":      config[:64],
		"no capability": cut, "no capabilities": bare} {
		if e, err := parseExpress(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, e, err)
		}
	}
}

// The bits of a virtual function that hold its sizes are reserved and read as zeros.
func TestVirtualFunctionHasNoSizes(t *testing.T) {
	config := make([]byte, 256)
	config[0x06], config[0x34] = 0x10, 0x40
	copy(config[0x40:], []byte{0x10, 0x00, 0x02, 0x00, 0x02})
	dir := "/sys/bus/pci/devices/0000:41:02.0"
	for _, virtual := range []bool{false, true} {
		files := map[string]string{dir + "/config": string(config)}
		if virtual {
			files[dir+"/physfn/vendor"] = "0x15b3\n"
		}
		got := map[string]lab.Fact{}
		for _, f := range pciConfig(factstest.Files(files), dir+"/config", true) {
			got[f.Key] = f
		}
		for _, key := range []string{"pci.payload", "pci.read_request", "pci.aspm"} {
			if f := got[key]; (f.Unknown != "") != virtual {
				t.Errorf("virtual %v: %+v", virtual, f)
			}
		}
		if f := got["pci.payload.max"]; f.Value != "512" {
			t.Errorf("virtual %v: %+v", virtual, f)
		}
	}
}

func FuzzExpress(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for name, file := range m.Files {
			if strings.HasSuffix(name, "/config") {
				f.Add(file.Data)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatal("no saved machine has a configuration space")
	}
	ring := make([]byte, 256)
	ring[6], ring[0x34], ring[0x40], ring[0x41] = 0x10, 0x40, 1, 0x40
	f.Add(ring)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseExpress(data)
		if err != nil {
			return
		}
		for _, size := range []int{e.payload, e.maxPayload, e.readRequest} {
			if size < 128 || size > 16384 || size&(size-1) != 0 {
				t.Errorf("%+v", e)
			}
		}
		if e.aspm == "" {
			t.Error("no word for what is enabled")
		}
	})
}

func FuzzAER(f *testing.F) {
	f.Add("RxErr 12\nBadTLP 3\nTOTAL_ERR_COR 15\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := parseAER(text); ok && n < 0 {
			t.Errorf("%d", n)
		}
	})
}
