// Package schemas has the JSON schemas of the published documents, as headroom serve hands them out.
package schemas

import "embed"

// Files are the schemas, by names like "run-v1.json".
//
//go:embed *.json
var Files embed.FS
