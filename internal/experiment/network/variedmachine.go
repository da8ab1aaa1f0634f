package network

import (
	"context"
	"strings"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
)

// VariedMachine is one whose settings an experiment varies: the one under test, or an end of a network.
type VariedMachine struct {
	// Role is that of an end of a network, of which there may be several of a kind: client-2, a client. Both are empty
	// for the machine of a storage.
	Role, Kind string
	// Where its settings are found: once for each adapter under test.
	Where []scheme.Scope
	// Settings are its live factors, by name: one that is about the adapter under test is found on each of them.
	Settings map[string][]scheme.Setting
	Journal  *journal.Journal
}

// Find the settings of a machine that a choice is about; none where it is about another.
func (m *VariedMachine) Find(ctx context.Context, c factor.Choice) ([]scheme.Setting, error) {
	if c.Role != "" && c.Role != m.Kind {
		return nil, nil
	}
	places := m.Where
	if !strings.Contains(c.Factor(), scheme.UnderTest) {
		places = places[:1]
	}
	var settings []scheme.Setting
	for _, w := range places {
		s, err := factor.Bind(ctx, w, c.Factor())
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	return settings, nil
}
