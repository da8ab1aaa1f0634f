//go:build system

package cli

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow carries out the steps of action/action.yml as GitHub's runner does, as far as they use what it offers:
// expressions that name a value, files for outputs and paths, and steps with a condition. The cache is a folder.
type workflow struct {
	t      *testing.T
	dir    string // RUNNER_TEMP
	place  string // the checkout
	path   string
	cache  string
	values map[string]string // of expressions
}

type actionStep struct {
	Name, ID, If, Uses, Run, Shell string
	With, Env                      map[string]string
}

type actionFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Using string
		Steps []actionStep
	}
}

func readAction(t *testing.T) actionFile {
	t.Helper()
	text, err := os.ReadFile("../../action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a actionFile
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("%+v", a)
	}
	return a
}

// expand puts in values. One that the runner would not know is a mistake, and an output that no step made is empty.
func (w *workflow) expand(text string) string {
	return regexp.MustCompile(`\$\{\{ *(\S+) *\}\}`).ReplaceAllStringFunc(text, func(found string) string {
		name := strings.TrimSpace(strings.Trim(found, "${} "))
		value, ok := w.values[name]
		if !ok && !strings.HasPrefix(name, "steps.") {
			w.t.Fatalf("no value for %s", found)
		}
		return value
	})
}

// applies evaluates the conditions that action.yml has: comparisons of a value with a text, joined by &&.
func (w *workflow) applies(condition string) bool {
	if condition == "" {
		return true
	}
	for part := range strings.SplitSeq(condition, "&&") {
		m := regexp.MustCompile(`^(\S+) (==|!=) '([^']*)'$`).FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			w.t.Fatalf("condition %q", part)
		}
		if (w.expand("${{ "+m[1]+" }}") == m[3]) != (m[2] == "==") {
			return false
		}
	}
	return true
}

// run carries out all steps with these inputs, and returns what they print; it ends at the first that fails.
func (w *workflow) run(inputs map[string]string) (string, error) {
	a := readAction(w.t)
	for name, in := range a.Inputs {
		w.values["inputs."+name] = w.expand(in.Default)
	}
	for name, value := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			w.t.Fatalf("no input %s", name)
		}
		w.values["inputs."+name] = value
	}
	var printed strings.Builder
	for _, s := range a.Runs.Steps {
		if !w.applies(s.If) {
			continue
		}
		if s.Uses != "" {
			w.useCache(s)
			continue
		}
		out, err := w.step(s)
		fmt.Fprintf(&printed, "== %s\n%s", s.Name, out)
		if err != nil {
			return printed.String(), fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return printed.String(), nil
}

// useCache is what actions/cache does: an entry is a folder; of several keys that begin alike the newest one is taken.
func (w *workflow) useCache(s actionStep) {
	folder, key := w.expand(s.With["path"]), w.expand(s.With["key"])
	from, to := folder, filepath.Join(w.cache, key)
	name, _, _ := strings.Cut(s.Uses, "@")
	switch name {
	case "actions/cache/save":
	case "actions/cache/restore":
		kept, _ := filepath.Glob(filepath.Join(w.cache, w.expand(s.With["restore-keys"])+"*"))
		if len(kept) == 0 {
			return
		}
		from, to = kept[len(kept)-1], folder
	default:
		w.t.Fatalf("an action that the test does not know: %s", s.Uses)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workflow) step(s actionStep) (string, error) {
	outputs, paths := filepath.Join(w.dir, "outputs"), filepath.Join(w.dir, "paths")
	for _, file := range []string{outputs, paths} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	action, err := filepath.Abs("../../action")
	if err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", w.expand(s.Run))
	c.Dir = w.place
	c.Env = []string{"PATH=" + w.path + os.Getenv("PATH"), "HOME=" + w.dir, "RUNNER_TEMP=" + w.dir, "RUNNER_OS=Linux",
		"GITHUB_OUTPUT=" + outputs, "GITHUB_PATH=" + paths, "GITHUB_STEP_SUMMARY=" + filepath.Join(w.dir, "summary"),
		"GITHUB_ACTION_PATH=" + action, "GITHUB_API_URL=" + w.values["api"], "GITHUB_REPOSITORY=o/r",
		"GITHUB_REF_NAME=main"}
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+w.expand(value))
	}
	out, failed := c.CombinedOutput()
	for line := range w.lines(outputs) {
		name, value, _ := strings.Cut(line, "=")
		w.values["steps."+s.ID+".outputs."+name] = value
	}
	for line := range w.lines(paths) {
		w.path = line + ":" + w.path
	}
	return string(out), failed
}

func (w *workflow) lines(file string) map[string]bool {
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		lines[strings.TrimSpace(line)] = true
	}
	return lines
}

// comments is the part of GitHub's API that the action uses.
type comments struct {
	mu     sync.Mutex
	bodies []string
	posts  int
	// forged is another user's comment that begins with the action's mark.
	forged string
}

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sent struct{ Body string }
	switch r.Method + " " + r.URL.Path {
	case "GET /repos/o/r/issues/7/comments":
		by := func(login string) map[string]any { return map[string]any{"login": login} }
		found := []map[string]any{{"id": 1, "body": "looks good", "user": by("ann")},
			{"id": 2, "body": c.forged, "user": by("mallory")}}
		for i, b := range c.bodies {
			found = append(found, map[string]any{"id": 100 + i, "body": b, "user": by("github-actions[bot]")})
		}
		_ = json.NewEncoder(w).Encode(found)
		return
	case "POST /graphql":
		_, _ = io.WriteString(w, `{"data": {"viewer": {"login": "github-actions[bot]"}}}`)
		return
	case "POST /repos/o/r/issues/7/comments":
		c.posts++
		c.bodies = append(c.bodies, "")
	case "PATCH /repos/o/r/issues/comments/100":
	default:
		http.NotFound(w, r)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	c.bodies[len(c.bodies)-1] = sent.Body
}

// releaseKey is a key that signs releases, and its public half as a file has it.
func releaseKey(t *testing.T) (key *ecdsa.PrivateKey, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signed is a signature as cosign sign-blob writes it.
func signed(t *testing.T, key *ecdsa.PrivateKey, text string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// release packs a binary as a release has it, with its checksum and a signature, and returns where releases are
// downloaded from.
func release(t *testing.T, binary string, key *ecdsa.PrivateKey) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "v1.2.3")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := "headroom_1.2.3_linux_" + runtime.GOARCH
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var packed strings.Builder
	zip, _ := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	archive := tar.NewWriter(zip)
	_ = archive.WriteHeader(&tar.Header{Name: name + "/headroom", Mode: 0o755, Size: int64(len(data))})
	_, _ = archive.Write(data)
	_, _ = archive.Close(), zip.Close()
	sums := fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256([]byte(packed.String())), name)
	for file, text := range map[string]string{name + ".tar.gz": packed.String(), "checksums.txt": sums,
		"checksums.txt.sig": signed(t, key, sums)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + filepath.Dir(dir)
}

// The action measures on a push, and on a pull request compares with that, comments the table, and fails when something
// is slower. What is measured prints the same number each time, so that the verdict is sure. Tests that make devices
// beside it would change the machine while a run goes on, which rightly makes it incomparable: it runs by itself.
func TestTheActionFindsARegression(t *testing.T) {
	for _, program := range []string{"bash", "jq", "curl", "fio", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program, "is not installed")
		}
	}
	api := &comments{forged: "<!-- headroom: work.yaml --> mine"}
	server := httptest.NewServer(api)
	defer server.Close()
	w := &workflow{t: t, place: t.TempDir(), cache: t.TempDir(), values: map[string]string{"api": server.URL,
		"github.token": "secret", "github.base_ref": "main", "github.event.pull_request.number": "7"}}
	key, public := releaseKey(t)
	inputs := map[string]string{"suite": "work.yaml", "version": "1.2.3", "releases": release(t, binary(t), key),
		"key": public, "arguments": "--repeat\n6\n"}
	commits := 0
	run := func(event, took, failOn string) (string, error) {
		suite := "version: 1\nname: work\njobs:\n  - name: work\n    exec: [cat, " +
			filepath.Join(w.place, "took") + "]\n    metrics: {took: {match: " +
			"'took ([0-9]+)', unit: s, better: lower, decides: true}}\n"
		for name, text := range map[string]string{"work.yaml": suite, "took": "took " + took + "\n"} {
			if err := os.WriteFile(filepath.Join(w.place, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		commits++
		w.values["github.event_name"], w.values["github.sha"], w.dir = event, fmt.Sprintf("%040d", commits), t.TempDir()
		inputs["fail-on"] = failOn
		return w.run(inputs)
	}
	push := func(times int) {
		for range times {
			if out, err := run("push", "50", "slower"); err != nil {
				t.Fatal(err, out)
			}
		}
	}
	// pull expects of a pull request a verdict, a comment with this text, and whether it fails.
	pull := func(took, failOn, verdict, comment string, fails bool) {
		t.Helper()
		out, err := run("pull_request", took, failOn)
		if (err != nil) != fails || w.values["steps.compare.outputs.verdict"] != verdict {
			t.Errorf("want %s, got %s: %v\n%s", verdict, w.values["steps.compare.outputs.verdict"], err, out)
		}
		if api.posts != 1 || !strings.Contains(api.bodies[0], comment) {
			t.Errorf("want one comment with %q, got %d: %s", comment, api.posts, api.bodies)
		}
	}
	pull("50", "slower", "no-base", "no run of `main` yet", false)
	push(1)
	pull("150", "probably", "undecided", "differs", false)
	push(4)
	pull("150", "slower", "probably", "probably worse", false)
	pull("150", "probably", "probably", "probably worse", true)
	push(10)
	pull("50", "undecided", "same", "same", false)
	pull("150", "slower", "slower", "worse", true)

	// Whatever event a pull request's code comes with, it is compared, or ignored, and never becomes a base.
	bases := func() int {
		kept, err := filepath.Glob(filepath.Join(w.cache, "*"))
		if err != nil || len(kept) == 0 {
			t.Fatal("no run is kept:", err)
		}
		return len(kept)
	}
	before := bases()
	for _, event := range []string{"pull_request_target", "workflow_run", "issue_comment"} {
		if out, err := run(event, "150", "slower"); (err != nil) != (event == "pull_request_target") {
			t.Errorf("%s: %v\n%s", event, err, out)
		}
	}
	if now := bases(); now != before {
		t.Errorf("%d runs are kept, and were %d", now, before)
	}
	if api.posts != 1 {
		t.Errorf("%d comments: %s", api.posts, api.bodies)
	}
}

// A release is installed if its checksums are signed with the key, and its archive is what they say: whoever can put
// another archive where releases are can put other checksums there, too.
func TestTheActionInstallsWhatIsSigned(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "fio", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program, "is not installed")
		}
	}
	key, public := releaseKey(t)
	other, _ := releaseKey(t)
	replace := func(file string, with func(string) string) func(dir string) {
		return func(dir string) {
			name := filepath.Join(dir, "v1.2.3", file)
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, []byte(with(string(text))), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	script := filepath.Join(t.TempDir(), "headroom")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho headroom was run\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key    string
		change func(dir string)
		want   string
	}{
		"as it is": {public, func(string) {}, "headroom was run"},
		"another archive": {public, replace("headroom_1.2.3_linux_"+runtime.GOARCH+".tar.gz",
			func(text string) string { return text + "x" }), "FAILED"},
		"other checksums": {public, replace("checksums.txt", func(text string) string { return "00" + text[2:] }),
			"are not signed with the key"},
		"another key's signature": {public, func(dir string) {
			replace("checksums.txt", func(text string) string {
				replace("checksums.txt.sig", func(string) string { return signed(t, other, text) })(dir)
				return text
			})(dir)
		}, "are not signed with the key"},
		"an empty signature": {public, replace("checksums.txt.sig", func(string) string { return "" }),
			"are not signed with the key"},
		"no signature": {public, func(dir string) { _ = os.Remove(filepath.Join(dir, "v1.2.3/checksums.txt.sig")) },
			"curl"},
		"a key that is none": {"key", func(string) {}, "are not signed with the key"},
		"no key":             {"", func(string) {}, "no public key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := release(t, script, key)
			c.change(strings.TrimPrefix(from, "file://"))
			w := &workflow{t: t, dir: t.TempDir(), place: t.TempDir(), values: map[string]string{
				"inputs.version": "1.2.3", "inputs.releases": from, "inputs.key": c.key}}
			out, err := w.step(readAction(t).Runs.Steps[0])
			if !strings.Contains(out, c.want) || (err == nil) != (name == "as it is") ||
				err != nil && strings.Contains(out, "headroom was run") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
