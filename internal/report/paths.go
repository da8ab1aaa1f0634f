package report

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/paths"
	"github.com/headroom/headroom/internal/prose"
)

// maxPaths is how many sentences about paths a report has; all are in its JSON.
const maxPaths = 8

// PathSentences are sentences about loads; loads with equal sentences share one.
type PathSentences struct {
	said  []string
	about [][]string
}

func (p *PathSentences) Add(load string, shares []paths.Share) {
	text := paths.Text(shares)
	if text == "" {
		return
	}
	i := slices.Index(p.said, text)
	if i < 0 {
		i, p.said, p.about = len(p.said), append(p.said, text), append(p.about, nil)
	}
	if !slices.Contains(p.about[i], load) {
		p.about[i] = append(p.about[i], load)
	}
}

func (p *PathSentences) Texts() []string {
	var lines []string
	for i, text := range p.said {
		if i == maxPaths {
			lines = append(lines, fmt.Sprintf("What %s more went over: --json has all.",
				prose.Count(len(p.said)-i, "load")))
			break
		}
		about := p.about[i]
		if len(about) > maxPathLoads {
			about = append(slices.Clone(about[:maxPathLoads]), fmt.Sprintf("%d more", len(about)-maxPathLoads))
		}
		lines = append(lines, "Ways of "+prose.List(about)+": "+text+".")
	}
	return lines
}

// maxPathLoads is how many loads one sentence names.
const maxPathLoads = 4
