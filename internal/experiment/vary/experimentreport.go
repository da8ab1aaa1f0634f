package vary

import (
	"headroom/internal/reference"
	"headroom/internal/results"
)

// PublishedScores are the published figures of merit that were asked for; nil for none.
func (o *Options) PublishedScores() (*reference.Scores, error) {
	if o.Published == "" {
		return nil, nil
	}
	m, err := results.ReadPublished(o.Published, reference.BuiltInScores, reference.ParseScores)
	return &m, err
}
