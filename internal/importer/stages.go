package importer

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
)

// StageArguments are the options of import about stages.
type StageArguments struct {
	Named []string
	Order string
}

// Sources returns the files to import, and the names of the stages of one page in its order.
func (g StageArguments) Sources(args []string) ([]ingest.Source, []string, error) {
	switch {
	case len(g.Named) > 0 && g.Order != "":
		return nil, nil, app.Usage("--stage and --stages are two ways to say the same",
			"name files with --stage, or the stages of one page with --stages")
	case len(g.Named) > 0 && len(args) > 0:
		return nil, nil, app.Usage(args[0]+" belongs to no stage, and others do", "--stage 'NAME="+args[0]+"'")
	case len(g.Named) == 0 && len(args) == 0:
		return nil, nil, app.Usage("headroom import takes one file or more",
			"for example: headroom import --label before results/*.json")
	}
	var sources []ingest.Source
	for _, text := range g.Named {
		s, err := stageSource(text)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, s)
	}
	for _, name := range args {
		sources = append(sources, ingest.Source{Name: name})
	}
	if g.Order == "" {
		return sources, nil, nil
	}
	if len(args) != 1 {
		return nil, nil, app.Usage("--stages takes one page apart",
			"of several files: --stage 'NAME="+args[0]+"' for each")
	}
	var order []string
	for name := range strings.SplitSeq(g.Order, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(order, name) {
			return nil, nil, app.Usage(fmt.Sprintf("--stages %s: stages need names that tell them apart", g.Order))
		}
		order = append(order, name)
	}
	return sources, order, nil
}

// stageSource reads "NAME=FILE" and "NAME=FILE:FIRST-LAST". A file whose own name has this form is read completely.
func stageSource(text string) (ingest.Source, error) {
	name, file, ok := strings.Cut(text, "=")
	s := ingest.Source{Name: strings.TrimSpace(file), Stage: strings.TrimSpace(name)}
	if !ok || s.Name == "" || s.Stage == "" {
		return s, app.Usage(fmt.Sprintf("--stage %s names no stage and file", text),
			"write --stage 'two paths=b.txt' or --stage rdma=page.txt:120-160")
	}
	if _, err := os.Stat(s.Name); err == nil {
		return s, nil
	}
	m := regexp.MustCompile(`^(.+):(\d{1,9})-(\d{1,9})$`).FindStringSubmatch(s.Name)
	if m == nil {
		return s, nil // opening it reports that it does not exist
	}
	s.Name = m[1]
	s.First, _ = strconv.Atoi(m[2]) // the pattern matches only short numbers
	s.Last, _ = strconv.Atoi(m[3])
	if s.First < 1 || s.Last < s.First {
		return s, app.Usage(fmt.Sprintf("--stage %s: lines count from 1, the first before the last", text))
	}
	return s, nil
}

// cellsIn returns how many loads of a run are in a stage.
func cellsIn(run lab.Run, stage string) int {
	n := 0
	for _, c := range run.Cells {
		for _, a := range run.Arms {
			if a.ID == c.Arm && a.Levels[lab.StageLevel] == stage {
				n++
			}
		}
	}
	return n
}
