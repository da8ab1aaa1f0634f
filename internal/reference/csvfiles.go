package reference

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// csvFiles are the files of one kind that come with headroom, one for each source.
type csvFiles struct {
	files  embed.FS
	folder string
	// what they contain, and which help describes the format for users' own files.
	what, help string
}

// names returns the sources that have such a file.
func (b csvFiles) names() ([]string, error) {
	files, err := fs.Glob(b.files, b.folder+"/*.csv")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".csv"))
	}
	return names, err
}

// read returns the file of a source, which may be named with Prefix or without.
func (b csvFiles) read(source string) ([]byte, error) {
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	source = strings.TrimPrefix(source, Prefix)
	if !slices.Contains(names, source) {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("no published %s of %q come with headroom", b.what,
			source),
			Hints: []string{"headroom has those of " + strings.Join(names, ", "), "or name a file of your own, which " +
				b.help + " describes"}}
	}
	return b.files.ReadFile(b.folder + "/" + source + ".csv")
}
