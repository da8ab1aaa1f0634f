package serve

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// policy lets a page have what this server sends, and nothing that came with a name: no script or style in the page
// itself, no frame around it, no form to elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// gate lets requests in.
type gate struct {
	// token and hosts are as in Options. tls is set if connections are encrypted.
	token string
	hosts []string
	tls   bool
	open  *connections
}

// guard refuses what no reader's browser asks for, before anything else is done.
func (g gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // labels and machines are private
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.URL.Path == healthPath || g.open.crowded(r.RemoteAddr) {
			h.Set("Connection", "close")
		}
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, r, http.StatusMethodNotAllowed, "headroom serve only reads")
		case r.URL.Path == healthPath:
			send(w, r, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
		case g.hosts != nil && !slices.Contains(g.hosts, strings.ToLower(r.Host)):
			refuse(w, r, http.StatusMisdirectedRequest, "this server is asked for as "+strings.Join(g.hosts, " or "))
		case !g.sameOrigin(r):
			refuse(w, r, http.StatusForbidden, "a page of another site asks for this")
		case g.token == "" || g.authorized(r):
			next.ServeHTTP(w, r)
		case g.matches(r.URL.Query().Get(tokenName)):
			g.remember(w, r)
		default:
			h.Set("WWW-Authenticate", `Bearer realm="headroom"`)
			refuse(w, r, http.StatusUnauthorized,
				"a token is needed: open the address that headroom serve printed, or send Authorization: Bearer TOKEN")
		}
	})
}

// healthPath is for probes: whether the server still answers. A kubelet asks by the address of the pod and knows no
// token, so this comes before either is looked at. That gives nothing away. The answer is the same words for everybody,
// made here and not where pages are: of the store nothing is read, no cookie is set and no token compared. Whoever
// gets it, be it a page under a name that was made to lead here, learns that a port answers, which a connection that is
// accepted says as well. Nor can probes, however many, take the turn of a reader, or keep a connection.
const healthPath = "/healthz"

// refuse says why nothing else is answered, to programs as their other errors, and closes the connection.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	w.Header().Set("Connection", "close")
	if strings.HasPrefix(r.URL.Path, "/api/") {
		send(w, r, status, "application/json", problem(&lab.Error{What: why}))
		return
	}
	http.Error(w, why, status)
}

// sameOrigin reports whether a request comes from a page of this server, from a program, or from a reader who follows a
// link. Browsers say which: https://www.w3.org/TR/fetch-metadata/
func (g gate) sameOrigin(r *http.Request) bool {
	scheme := "http"
	if g.tls {
		scheme = "https"
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != scheme+"://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// tokenName is the name of the parameter and of the cookie which have the token.
const tokenName = "token"

func (g gate) authorized(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return g.matches(token)
	}
	c, err := r.Cookie(g.cookieName())
	return err == nil && g.matches(c.Value)
}

func (g gate) matches(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// cookieName has a prefix by which a browser takes the cookie from an encrypted connection to this host alone.
func (g gate) cookieName() string {
	if g.tls {
		return "__Host-headroom-" + tokenName
	}
	return "headroom-" + tokenName
}

// remember keeps the token of an address in a cookie, and leads to the address without it, which can be sent around.
func (g gate) remember(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: g.token, Path: "/", HttpOnly: true, Secure: g.tls,
		SameSite: http.SameSiteLaxMode})
	query := r.URL.Query()
	query.Del(tokenName)
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()} // never //elsewhere
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}
