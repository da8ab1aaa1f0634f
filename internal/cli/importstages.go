package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/ingest"
	"headroom/internal/lab"
)

// stageArguments are the stages that import is told of.
type stageArguments struct {
	named []string
	order string
}

// sources are the files to import, and the names of the stages of one page in its order.
func (g stageArguments) sources(args []string) ([]ingest.Source, []string, error) {
	switch {
	case len(g.named) > 0 && g.order != "":
		return nil, nil, usage("--stage and --stages are two ways to say the same",
			"name files with --stage, or the stages of one page with --stages")
	case len(g.named) > 0 && len(args) > 0:
		return nil, nil, usage(args[0]+" belongs to no stage, and others do", "--stage 'NAME="+args[0]+"'")
	case len(g.named) == 0 && len(args) == 0:
		return nil, nil, usage("headroom import takes one file or more",
			"for example: headroom import --label before results/*.json")
	}
	var sources []ingest.Source
	for _, text := range g.named {
		s, err := stageSource(text)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, s)
	}
	for _, name := range args {
		sources = append(sources, ingest.Source{Name: name})
	}
	if g.order == "" {
		return sources, nil, nil
	}
	if len(args) != 1 {
		return nil, nil, usage("--stages takes one page apart", "of several files: --stage 'NAME="+args[0]+"' for each")
	}
	var order []string
	for name := range strings.SplitSeq(g.order, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(order, name) {
			return nil, nil, usage(fmt.Sprintf("--stages %s: stages need names that tell them apart", g.order))
		}
		order = append(order, name)
	}
	return sources, order, nil
}

// stageSource reads "NAME=FILE" and "NAME=FILE:FIRST-LAST". A file whose own name ends so is taken as it is.
func stageSource(text string) (ingest.Source, error) {
	name, file, ok := strings.Cut(text, "=")
	s := ingest.Source{Name: strings.TrimSpace(file), Stage: strings.TrimSpace(name)}
	if !ok || s.Name == "" || s.Stage == "" {
		return s, usage(fmt.Sprintf("--stage %s names no stage and file", text),
			"write --stage 'two paths=b.txt' or --stage rdma=page.txt:120-160")
	}
	if _, err := os.Stat(s.Name); err == nil {
		return s, nil
	}
	m := regexp.MustCompile(`^(.+):(\d{1,9})-(\d{1,9})$`).FindStringSubmatch(s.Name)
	if m == nil {
		return s, nil // what opens it says that it is not there
	}
	s.Name = m[1]
	s.First, _ = strconv.Atoi(m[2]) // the pattern admits nothing but short numbers
	s.Last, _ = strconv.Atoi(m[3])
	if s.First < 1 || s.Last < s.First {
		return s, usage(fmt.Sprintf("--stage %s: lines count from 1, the first before the last", text))
	}
	return s, nil
}

// cellsIn is how many loads of a run are in a stage.
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
