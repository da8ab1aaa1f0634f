package staged

import (
	"fmt"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stages"
)

// FastestMount is the stage on one of headroom's own mounts that was the fastest in most of the loads that several
// stages share, and the files that make the mount permanent.
type FastestMount struct {
	// Stage is empty if no stage is ahead.
	Stage string
	// Won is the number of Loads in which it was the fastest of Mounts.
	Won, Loads, Mounts int
	Files              []mount.ConfigFile
}

// NFS builds the document about the stages of an NFS server, with the files that make the fastest mount permanent.
// Without serial numbers these are left out, because they contain the server's addresses.
func NFS(d stages.Document, best FastestMount, o report.Options) document.Document {
	out := Stages(d, o)
	if best.Stage == "" || !o.Serials {
		return out
	}
	text := "To have " + best.Stage + " for good"
	if best.Mounts > 1 {
		text += fmt.Sprintf(", the fastest of %s in %d of %s by the medians; a difference of a few per cent may be "+
			"noise", prose.Count(best.Mounts, "mount"), best.Won, prose.Count(best.Loads, "load"))
	}
	files := document.Entries{Name: "for good"}
	for _, f := range best.Files {
		lines := []document.Line{{Label: "cost", Text: f.Cost}}
		for _, line := range f.Lines {
			lines = append(lines, document.Line{Text: line, Typed: true})
		}
		files.List = append(files.List, document.Entry{Title: "on " + f.Where + ", in " + f.Name, Name: f.Name,
			Parts: []document.Part{{Name: "change", Obvious: true, Lines: lines}}})
	}
	out.Blocks = append(out.Blocks, document.Heading{Text: text + ":"}, files)
	return out
}
