package render

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// The head of every page. A page is one file without external resources: its style is embedded, fonts are the reader's
// own.
var (
	//go:embed head.html.tmpl
	headText string
	//go:embed blocks.html.tmpl
	blocksText string
	//go:embed page.css
	pageStyle string
)

type pageHead struct {
	Title, Policy string
	Style         template.CSS
}

// newPageHead returns the head of a page with a script, which may be empty, and with further styles after the common
// ones.
func newPageHead(title, script string, styles ...string) pageHead {
	style := pageStyle + strings.Join(styles, "")
	return pageHead{Title: title, Policy: policy(style, script), Style: template.CSS(style)}
}

// policy returns a content security policy: the browser applies the style and runs the script that headroom embedded,
// nothing else; it fetches nothing, and sends no form. img-src is for the empty icon, which saves the server a request.
func policy(style, script string) string {
	allowed := "default-src 'none'; img-src data:; style-src " + sourceHash(style)
	if script != "" {
		allowed += "; script-src " + sourceHash(script)
	}
	return allowed + "; base-uri 'none'; form-action 'none'"
}

// sourceHash returns the name of an element's text in a policy: https://www.w3.org/TR/CSP3/#grammardef-hash-source
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// heatStyle returns a class for each tint of a map: a policy without inline styles allows no other way to colour cells.
func heatStyle() string {
	var b strings.Builder
	for percent := range 101 {
		fmt.Fprintf(&b, "td.h%d{--heat:%d%%}", percent, percent)
	}
	return b.String()
}

// writeHTML executes the template of a page, which begins with the head.
func writeHTML(w io.Writer, text string, page any) error {
	t, err := template.New("head").Parse(headText)
	if err == nil {
		_, err = t.New("blocks").Parse(blocksText)
	}
	if err == nil {
		t, err = t.New("page").Parse(text)
	}
	if err != nil {
		return err
	}
	return t.Execute(w, page)
}
