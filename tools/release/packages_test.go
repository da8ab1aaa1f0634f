//go:build release

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built is where TestReproducible leaves a release.
const built = "../../build/reproducible/release"

// script runs a script of the tree and shows what it says.
func script(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	out, err := exec.Command("../../scripts/"+name, arguments...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// file is the one of the release whose name fits.
func file(t *testing.T, pattern string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(built, pattern))
	if len(found) != 1 {
		t.Fatalf("%s: %q", pattern, found)
	}
	return found[0]
}

// The tests below need its release, and are run after it.
func TestReproducible(t *testing.T) { script(t, "reproducible", "0.1.0") }

func TestDebianPackage(t *testing.T) { script(t, "try-deb", file(t, "headroom_*_amd64.deb")) }

func TestRPM(t *testing.T) { script(t, "try-rpm", file(t, "headroom-*.x86_64.rpm")) }

// Alpine's package manager is not to be had on Debian. It reads a package as this does: streams of gzip one after the
// other, of which the first has the fields, with the hash of the second.
func TestAlpinePackage(t *testing.T) {
	for _, architecture := range []string{"x86_64", "aarch64"} {
		data, err := os.ReadFile(file(t, "headroom_*_"+architecture+".apk"))
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(data)
		zip, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		zip.Multistream(false)
		control, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		rest := data[len(data)-r.Len():]
		sum := sha256.Sum256(rest)
		for _, field := range []string{"pkgname = headroom\n", "arch = " + architecture + "\n", "depend = fio\n",
			"license = Apache-2.0\n", "datahash = " + hex.EncodeToString(sum[:]) + "\n"} {
			if !strings.Contains(string(control), field) {
				t.Errorf("%s has no %q", architecture, field)
			}
		}
		if strings.Contains(string(control), ".post-install") || strings.Contains(string(control), ".pre-install") {
			t.Error("it has scripts")
		}
		if zip, err = gzip.NewReader(bytes.NewReader(rest)); err != nil {
			t.Fatal(err)
		}
		contents, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		// No end of an archive between the streams, which together are one.
		files := entries(t, contents)
		for _, name := range []string{"usr/bin/headroom", "usr/share/man/man1/headroom-run.1.gz",
			"usr/share/zsh/site-functions/_headroom", "usr/share/licenses/headroom/LICENSE"} {
			if len(files[name]) == 0 {
				t.Errorf("%s has no %s", architecture, name)
			}
		}
	}
}

// The image is one that other programs read, and its layer one that they unpack.
func TestReleasedImage(t *testing.T) {
	if out, err := exec.Command("../../scripts/install", "skopeo").CombinedOutput(); err != nil {
		t.Skipf("no skopeo: %s", out)
	}
	image := file(t, "headroom_*_image.tar")
	for _, architecture := range []string{"amd64", "arm64"} {
		out, err := exec.Command("skopeo", "copy", "--quiet", "--override-arch", architecture, "oci-archive:"+image,
			"docker-archive:"+filepath.Join(t.TempDir(), "image.tar")+":headroom:test").CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", architecture, err, out)
		}
	}
}

// The completions are ones that their shells read.
func TestReleasedManualsAndCompletions(t *testing.T) {
	if out, err := exec.Command("../../scripts/install", "mandoc", "fish", "zsh").CombinedOutput(); err != nil {
		t.Skipf("no mandoc, fish or zsh: %s", out)
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "--strip-components", "1", "-xzf",
		file(t, "headroom_*_linux_amd64.tar.gz")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages, _ := filepath.Glob(dir + "/man/man1/*.1")
	if len(pages) < 40 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, command := range [][]string{
		append([]string{"mandoc", "-T", "lint", "-W", "error"}, pages...),
		{"bash", "-n", dir + "/completions/headroom.bash"},
		{"fish", "--no-execute", dir + "/completions/headroom.fish"},
		{"zsh", "-n", dir + "/completions/_headroom"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command[0], err, out)
		}
	}
}
