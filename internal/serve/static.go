package serve

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/headroom/headroom/internal/render"
)

var (
	//go:embed static/serve.css
	serveStyle string
	//go:embed static/serve.js
	serveScript string
	//go:embed static/charts.css
	chartsStyle string
	//go:embed static/axes.js
	axesScript string
	//go:embed static/history.js
	historyScript string
	//go:embed static/overtime.js
	overTimeScript string
	//go:embed static/uplot/uPlot.min.css
	uplotStyle string
	//go:embed static/uplot/uPlot.iife.min.js
	uplotScript string
)

// static are the files that pages link, by their names.
func static() map[string]string {
	return map[string]string{"headroom.css": render.PartStyle() + serveStyle, "serve.js": serveScript,
		"flame.js": render.PartScript(), "charts.css": uplotStyle + "\n" + chartsStyle, "axes.js": axesScript,
		"history.js": historyScript, "overtime.js": overTimeScript, "uplot.js": uplotScript}
}

// staticFiles serves them. A browser asks each time whether a file is still the same, as after an update of headroom.
func staticFiles() http.Handler {
	files := static()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		text, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256([]byte(text))
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader([]byte(text)))
	})
}
