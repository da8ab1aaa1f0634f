package serve

import (
	"net/http"
	"testing"
)

// A probe gets the same two letters whatever it asks by, and nothing else of the server is to be had that way.
func TestHealth(t *testing.T) {
	a, _ := saved(t, 1, nil)
	at := served(t, Options{App: a, Token: "SECRET", Hosts: []string{"localhost:8765"}})
	for _, headers := range [][]string{nil, {"Host: 10.0.0.7:8765"}, {"Host: evil.example"},
		{"Authorization: Bearer SECRET"}} {
		got, body := answer(t, at, http.MethodGet, "/healthz?token=SECRET", headers...)
		if got.StatusCode != http.StatusOK || body != "ok\n" || got.Header.Get("Set-Cookie") != "" || !got.Close {
			t.Errorf("%v: %s, %q, %v", headers, got.Status, body, got.Header)
		}
	}
	for path, status := range map[string]int{"/healthz/": 421, "//healthz": 421, "/healthz/../metrics": 421,
		"/healthz%2f..%2fmetrics": 421, "/metrics": 421, "/": 421} {
		if got, body := answer(t, at, http.MethodGet, path, "Host: 10.0.0.7:8765"); got.StatusCode != status {
			t.Errorf("%s: %s\n%s", path, got.Status, body)
		}
	}
	if got, _ := answer(t, at, http.MethodPost, "/healthz"); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", got.Status)
	}
}
