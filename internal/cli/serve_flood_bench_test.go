//go:build bench && system

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/facts"
)

// flood is an attack on headroom serve: so many clients that do something over and over.
type flood struct {
	name    string
	clients int
	// client does it once for a client, and returns what came of it: the status of an answer.
	client func(ctx context.Context, f *floods, n int) string
}

// floods are what the clients share: the server, and the runs of its store.
type floods struct {
	address string
	runs    []string
	// blank has facts that unpack to blanks, and full are as many runs as a page compares, with all facts that a
	// snapshot can have.
	blank string
	full  []string
}

// allFloods returns the floods of an attack, each with as many connections as one local user can open.
func allFloods() []flood {
	const connections, clients = 2100, 64
	return []flood{
		{"no flood", 0, nil},
		{"connections that say nothing", connections, stay("")},
		{"connections that ask /healthz and stay", connections, stay("/healthz")},
		{"connections that ask / and stay", connections, stay("/")},
		{"connections that do not read /static/uplot.js", connections, stay("/static/uplot.js")},
		{"clients that ask for comparisons of 16 runs", clients, func(ctx context.Context, f *floods, n int) string {
			return asked(ctx, f.address+"compare?"+f.query(f.runs[n:n+16])+"&margin="+share())
		}},
		{"clients that ask for histories", clients, func(ctx context.Context, f *floods, _ int) string {
			return asked(ctx, f.address+"history/quick?margin="+share())
		}},
		{"clients that ask for facts and findings of blanks", 8, func(ctx context.Context, f *floods, n int) string {
			return asked(ctx, f.address+"api/v1/runs/"+f.blank+"/"+[]string{"facts", "doctor"}[n%2])
		}},
		{"clients that ask for findings of 300,000 facts", 8, func(ctx context.Context, f *floods, n int) string {
			return asked(ctx, f.address+"machines/"+f.full[n])
		}},
		{"clients that compare two times 300,000 facts", 8, func(ctx context.Context, f *floods, n int) string {
			return asked(ctx, f.address+"compare?"+f.query(f.full[n:n+2])+"&margin="+share())
		}},
		{"clients that compare 16 times 300,000 facts", 8, func(ctx context.Context, f *floods, _ int) string {
			return asked(ctx, f.address+"compare?"+f.query(f.full)+"&margin="+share())
		}},
	}
}

func (f *floods) query(runs []string) string { return url.Values{"run": runs}.Encode() }

// share returns a share that no earlier request used, so that no answer is cached.
func share() string {
	return strconv.FormatFloat(0.01+float64(time.Now().UnixNano()%1e9)/1e11, 'f', -1, 64)
}

// stay is a client that asks for a path, or for nothing, and reads no more until the server closes the connection.
func stay(path string) func(context.Context, *floods, int) string {
	return func(ctx context.Context, f *floods, _ int) string {
		at := strings.Trim(strings.TrimPrefix(f.address, "http:"), "/")
		c, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil {
			pause(ctx, time.Second)
			return "not connected"
		}
		defer c.Close()
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		defer stop()
		if path != "" {
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, at)
		}
		begin := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(c, begin); err != nil {
			pause(ctx, time.Second)
			return "closed"
		}
		if path == "/static/uplot.js" {
			pause(ctx, time.Minute)
		} else {
			_, _ = io.Copy(io.Discard, c)
			pause(ctx, time.Second)
		}
		return string(begin[len(begin)-3:])
	}
}

// pause waits, so that clients do not spend the time of the machine on connecting.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// asked is what comes of a request over a connection of its own.
func asked(ctx context.Context, address string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err.Error()
	}
	r.Close = true
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return "not answered"
	}
	defer got.Body.Close()
	if _, err := io.Copy(io.Discard, got.Body); err != nil {
		return "not answered"
	}
	return strconv.Itoa(got.StatusCode)
}

// outcomes counts what came of requests, and how long those of a reader took.
type outcomes struct {
	mu    sync.Mutex
	by    map[string]int
	times []time.Duration
}

func (a *outcomes) add(status string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]int{}
	}
	a.by[status]++
	a.times = append(a.times, took)
}

func (a *outcomes) String() string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(a.by)) {
		parts = append(parts, fmt.Sprintf("%d x %s", a.by[status], status))
	}
	return strings.Join(parts, ", ")
}

// waits are the median and the longest wait, of which those that were not answered lasted until they gave up.
func (a *outcomes) waits() string {
	if len(a.times) == 0 {
		return "\t"
	}
	slices.Sort(a.times)
	return fmt.Sprintf("%.3f\t%.3f", a.times[len(a.times)/2].Seconds(), a.times[len(a.times)-1].Seconds())
}

// TestFloodsOfServe attacks a server and prints who is served meanwhile. It says nothing of what is quick enough: a
// server that has ended, or that answers nobody afterwards, is its only failure. The program is that of the tree, or
// the one that HEADROOM_ATTACKED names; each flood lasts HEADROOM_ATTACK_SECONDS.
func TestFloodsOfServe(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("HEADROOM_ATTACK_SECONDS"))
	if err != nil {
		t.Fatal("HEADROOM_ATTACK_SECONDS: ", err)
	}
	program := os.Getenv("HEADROOM_ATTACKED")
	if program == "" {
		program = binary(t)
	}
	f := &floods{}
	dir := f.store(t)
	if out, err := exec.Command(program, "list", "--limit", "1", "--store", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("GOMEMLIMIT", "1800MiB") // as in deploy/serve.yaml
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "clients\t\tthey got\t/ got\tmedian s\tmost s\t/healthz got\tmedian s\tmost s\tmemory MB")
	for _, attack := range allFloods() {
		t.Run(attack.name, func(t *testing.T) {
			server, address := startServing(t, program, dir) // a new one each, so that memory is that of one flood
			f.address = address
			got, list, health := f.run(t, attack, time.Duration(seconds)*time.Second)
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\n", attack.clients, attack.name, got, list, list.waits(),
				health, health.waits(), peakMemory(t, server.Process.Pid)/1e6)
			t.Logf("/ got %s, /healthz got %s", list, health)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if status := asked(ctx, address); status != "200" {
				t.Errorf("afterwards: %s", status)
			}
		})
	}
	w.Flush()
	t.Logf("who was served:\n%s", table.String())
}

// run floods the server for a while, beside a reader of the list and a probe, and returns what they got.
func (f *floods) run(t *testing.T, attack flood, lasts time.Duration) (got, list, health *outcomes) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	got, list, health = &outcomes{}, &outcomes{}, &outcomes{}
	var all sync.WaitGroup
	for n := range attack.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				status := attack.client(ctx, f, n)
				if ctx.Err() == nil || status == "200" {
					got.add(status, time.Since(begun))
				}
			}
		})
	}
	for path, a := range map[string]*outcomes{"": list, "healthz": health} {
		all.Go(func() {
			const patience = 20 * time.Second
			for ctx.Err() == nil {
				reading, leave := context.WithTimeout(t.Context(), patience)
				begun := time.Now()
				a.add(asked(reading, f.address+path), time.Since(begun))
				leave()
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	all.Wait()
	return got, list, health
}

// store makes one of many runs, with some whose facts are hostile: they came into it without an import.
func (f *floods) store(t *testing.T) (dir string) {
	t.Helper()
	const runs, repetitions = 400, 24
	dir, _ = manyRuns(t, runs, repetitions)
	for i := range runs {
		f.runs = append(f.runs, idOf(i))
	}
	f.full, f.blank, f.runs = f.runs[:16], f.runs[16], f.runs[17:]
	head := `{"schema":"` + facts.DocumentSchema + `","target":"local","facts":[`
	blanks := packedFacts(t, head, func(w io.Writer) {
		for range 6 << 10 {
			_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
		}
	})
	t.Logf("facts of blanks have %d kB", len(blanks)>>10)
	keep := func(run string, data []byte) {
		name := filepath.Join(dir, "runs", run, "facts", "storage.before.json.zst")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	keep(f.blank, blanks)
	for i, run := range f.full {
		value := strings.Repeat(string(rune('a'+i)), 60) // so that each fact differs from those of the others
		keep(run, packedFacts(t, head, func(w io.Writer) {
			for n := range 300_000 {
				if n > 0 {
					_, _ = io.WriteString(w, ",")
				}
				fmt.Fprintf(w, `{"fact":"sysctl.fact%d","value":"%s"}`, n, value)
			}
		}))
	}
	return dir
}

// packedFacts is a snapshot as bundles keep it.
func packedFacts(t *testing.T, head string, write func(io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(encoder, head)
	write(encoder)
	_, _ = io.WriteString(encoder, "]}")
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
