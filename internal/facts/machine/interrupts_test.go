package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/factstest"
)

// manyInterrupts are those of a machine of 1,024 threads with 2,000 interrupts of a line each, and the sum of each
// thread.
func manyInterrupts() (b bytes.Buffer, owners map[int][]int, want []uint64) {
	b.WriteString("    ")
	for cpu := range 1024 {
		fmt.Fprintf(&b, "%11s", "CPU"+strconv.Itoa(cpu))
	}
	b.WriteByte('\n')
	want = make([]uint64, 1024)
	for irq := range 2000 {
		fmt.Fprintf(&b, "%4d:", irq+100)
		for cpu := range 1024 {
			n := rand.Uint64N(1 << 30)
			want[cpu] += n
			fmt.Fprintf(&b, "%11d", n)
		}
		b.WriteString("  IR-PCI-MSIX-0000:17:00.0    1-edge      ice-eth0-TxRx-1\n")
	}
	owners = map[int][]int{}
	for irq := range 2000 {
		owners[irq+100] = []int{0}
	}
	return b, owners, want
}

func TestManyInterrupts(t *testing.T) {
	b, owners, want := manyInterrupts()
	got := parseInterrupts(&b, owners, 1)
	if got.Failed != nil || !slices.Equal(got.Taken[0], want) || len(got.Names) != 2000 {
		t.Fatalf("the sums are wrong, %v", got.Failed)
	}
}

func BenchmarkManyInterrupts(b *testing.B) {
	text, owners, _ := manyInterrupts()
	for b.Loop() {
		parseInterrupts(bytes.NewReader(text.Bytes()), owners, 1)
	}
}

// A file that ends with an error gives the error, and one long line does not spoil the next.
func TestBrokenInterrupts(t *testing.T) {
	owners := map[int][]int{7: {0}}
	long := " CPU0 CPU1\n" + strings.Repeat("x", 1<<19) + "\n  7: 1 2 x\n"
	if got := parseInterrupts(strings.NewReader(long), owners, 1); got.Failed != nil ||
		!slices.Equal(got.Taken[0], []uint64{1, 2}) {
		t.Errorf("%+v", got)
	}
	broken := io.MultiReader(strings.NewReader(" CPU0\n"), failing{})
	if got := parseInterrupts(broken, owners, 1); !errors.Is(got.Failed, os.ErrClosed) {
		t.Errorf("%+v", got)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrClosed }

func FuzzInterrupts(f *testing.F) {
	factstest.Seed(f, InterruptsPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		owners := map[int][]int{27: {0}, 60: {0, 1}, 200: {1}}
		got := parseInterrupts(bytes.NewReader(data), owners, 2)
		if got.Failed != nil || len(got.Taken) != 2 {
			t.Errorf("%+v", got)
		}
		for n, name := range got.Names {
			if n < 0 || strings.Contains(name, "\n") || !strings.Contains(string(data), name) {
				t.Errorf("%d: %q", n, name)
			}
		}
	})
}
