package qemu

import (
	"slices"
	"strings"
	"testing"
)

func TestModuleArguments(t *testing.T) {
	for _, c := range []struct {
		line, module string
		want         []string
	}{
		{"quiet nvme.io_queue_depth=2 audit=0", "nvme", []string{"io_queue_depth=2"}},
		{"virtio-blk.queue_depth=8 virtio_blk.num_request_queues=1", "virtio-blk",
			[]string{"queue_depth=8", "num_request_queues=1"}},
		{"nvme.a=1 nvme_core.b=2 nvme.a=3", "nvme", []string{"a=1", "a=3"}},
		{"nvme.a=1 nvme_core.b=2 nvme.a=3", "nvme_core", []string{"b=2"}},
		{"nvme_core.multipath nvme.empty= ", "nvme_core", []string{"multipath"}},
		{"nvme_core.multipath nvme.empty= ", "nvme", []string{"empty="}},
		{"x.text=a=b.c,d", "x", []string{"text=a=b.c,d"}},
		// Spaces within quotes belong to the value, and quotes around the argument to its value.
		{`x.dyndbg="file a.c +p" y.z=1`, "x", []string{`dyndbg="file a.c +p"`}},
		{`x.dyndbg="file a.c +p" y.z=1`, "y", []string{"z=1"}},
		{`"x.dyndbg=file a.c +p" y.z=1`, "x", []string{`dyndbg="file a.c +p"`}},
		{`x.text=a"b c"d`, "x", []string{`text=a"b c"d`}},
		// Quoted text is not a separate argument, and malformed arguments are ignored.
		{`note="see nvme.a=1 too"`, "nvme", nil},
		{`"nvme".a=1 nvme."b"=1 "nvme.c" nvme.d="1`, "nvme", nil},
		{"nvme.a.b=1 nvme. .c=1 nvme=1 root=/dev/nvme0n1.x=1", "nvme", nil},
		{"nvme.unknown=1\n", "nvme", []string{"unknown=1"}}, // the kernel warns about it, and loads the module
		{"", "nvme", nil},
	} {
		if got := ParseModuleArguments(c.line).Options(c.module); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %q, want %q", c.module, c.line, got, c.want)
		}
	}
	a := ParseModuleArguments("modprobe.blacklist=ahci,rdma-rxe quiet module_blacklist=nvme")
	for module, want := range map[string]bool{"ahci": true, "rdma_rxe": true, "nvme": false, "": false} {
		if got := a.Blacklisted(module); got != want {
			t.Errorf("%q is blacklisted: %v, want %v", module, got, want)
		}
	}
}

// FuzzModuleArguments checks that no command line yields an option that the kernel parses as more than one word.
func FuzzModuleArguments(f *testing.F) {
	f.Add(`nvme.io_queue_depth=2 x.dyndbg="file a.c +p" "y.z=1 2" modprobe.blacklist=a,b`)
	f.Add(`a.b="c`)
	f.Fuzz(func(t *testing.T, line string) {
		for module, options := range ParseModuleArguments(line).options {
			for _, o := range options {
				if strings.Count(o, `"`)%2 != 0 {
					t.Errorf("the module %q is given %q, in which a quote is open", module, o)
				}
			}
		}
	})
}
