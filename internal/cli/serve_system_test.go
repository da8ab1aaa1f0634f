//go:build system

package cli

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving starts headroom serve and returns the address that it prints. When the test ends it is interrupted, and must
// end well.
func serving(t *testing.T, v fixture, args ...string) *url.URL {
	t.Helper()
	cmd := v.command(append([]string{"serve"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("interrupted it ends with %v\n%s", err, said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// headroom serve answers on this machine without a token, elsewhere with one, and encrypted where it is told to.
func TestServe(t *testing.T) {
	v := newFixture(t)
	if out, err := v.command("run", v.suite, v.place).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	get := func(client *http.Client, at *url.URL) int {
		t.Helper()
		got, err := client.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		return got.StatusCode
	}
	at := serving(t, v, "--listen", "127.0.0.1:0")
	if status := get(http.DefaultClient, at); at.Scheme != "http" || at.RawQuery != "" || status != http.StatusOK {
		t.Errorf("%s: %d", at, status)
	}
	at = serving(t, v, "--listen", "0.0.0.0:0")
	token := at.Query().Get("token")
	at.Host = "127.0.0.1:" + at.Port() // the name of this machine may lead nowhere
	if status := get(http.DefaultClient, at.ResolveReference(&url.URL{Path: "/"})); len(token) < 20 ||
		status != http.StatusUnauthorized {
		t.Errorf("without its token %q: %d", token, status)
	}
	certificate, key, trusting := selfSigned(t)
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("of this test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at = serving(t, v, "--listen", "127.0.0.1:0", "--cert", certificate, "--key", key, "--token-file", secret)
	if status := get(trusting, at); at.Scheme != "https" || at.RawQuery != "" || status != http.StatusUnauthorized {
		t.Errorf("%s without a token: %d", at, status)
	}
	at.RawQuery = url.Values{"token": {"of this test"}}.Encode()
	trusting.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if status := get(trusting, at); status != http.StatusSeeOther {
		t.Errorf("with the token: %d", status)
	}
	for _, args := range [][]string{{"--listen", "127.0.0.1:99999"}, {"--cert", certificate},
		{"--token", "a", "--token-file", secret}, {"--token-file", os.DevNull}, {"more"}} {
		out, err := v.command(append([]string{"serve"}, args...)...).CombinedOutput()
		if _, failed := err.(*exec.ExitError); !failed || !bytes.HasPrefix(out, []byte("headroom: ")) &&
			!bytes.Contains(out, []byte("error")) {
			t.Errorf("serve %v: %v\n%s", args, err, out)
		}
	}
}

// selfSigned makes a certificate for this machine, its key, and a client that trusts it.
func selfSigned(t *testing.T) (certificate, key string, trusting *http.Client) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now(),
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	for file, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, key, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted,
		ServerName: "localhost"}}}
}
