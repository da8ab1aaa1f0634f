package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// maxGroups keeps the combinations few enough for a coffee: eight groups have 37.
const maxGroups = 8

// readGroups reads --group.
func (s *interferenceRun) readGroups() error {
	for _, typed := range s.options.Groups {
		name, over := app.RoleOf(typed)
		fault := func(why string) error {
			return app.Usage("--group "+typed+" "+why, "--group application=10.0.1.1,10.0.2.1",
				"--group data=/dev/mapper/mpatha")
		}
		switch {
		case name == "":
			return fault("has no name of small letters, digits and hyphens")
		case over == "":
			return fault("says nothing of what it goes through")
		case name == runner.AllTargets || name == experiment.ClientRole || name == experiment.ServerRole:
			return fault("has a name that stands for something else")
		case len(name) > experiment.MaxRoleLength-4:
			return fault("has a name that is too long")
		case slices.ContainsFunc(s.Design.Groups, func(g lab.DesignGroup) bool { return g.Name == name }):
			return fault("has the name of another group")
		}
		g := lab.DesignGroup{Name: name, Over: strings.Split(over, ",")}
		for _, what := range g.Over {
			_, err := netip.ParseAddr(what)
			switch isPath := strings.HasPrefix(what, "/"); {
			case isPath && len(g.Over) > 1:
				return fault("names more than one device or directory")
			case !isPath && err != nil:
				return fault("goes through " + strconv.Quote(what) + ", which is neither an address nor a whole path")
			}
		}
		s.Design.Groups = append(s.Design.Groups, g)
	}
	if n := len(s.Design.Groups); n < 2 || n > maxGroups {
		return app.Usage(fmt.Sprintf("interference is between 2 to %d groups, and --group names %d", maxGroups, n),
			"--group application=10.0.1.1,10.0.2.1 --group data=/dev/mapper/mpatha")
	}
	return nil
}

// ofStorage reports whether fio reads a group.
func ofStorage(g lab.DesignGroup) bool { return strings.HasPrefix(g.Over[0], "/") }

// pairUp makes the pairs of all groups of a network: the clients take turns.
func (s *interferenceRun) pairUp() error {
	if s.options.Pairs < 1 || s.options.Pairs > suite.MaxPairs {
		return app.Usage(fmt.Sprintf("--pairs %d is not from 1 to %d", s.options.Pairs, suite.MaxPairs))
	}
	for _, g := range s.Design.Groups {
		if ofStorage(g) {
			continue
		}
		for _, address := range g.Over {
			server, err := s.ListenerOf(address)
			if err != nil {
				return err
			}
			for range s.options.Pairs {
				s.Join(server, address)
				s.groupOf = append(s.groupOf, g.Name)
			}
		}
	}
	if n := len(s.Pairs); n > suite.MaxPairs || s.options.Port+n > 65536 {
		return app.Usage(fmt.Sprintf("%s are too many", prose.Count(n, "pair")),
			"take fewer with --pairs, or fewer addresses")
	}
	return nil
}

// newParts makes the measurements of all loads, with a cell for each combination that they are in.
func (s *interferenceRun) newParts(ctx context.Context) error {
	if s.Network.Options.Seed == 0 {
		s.Network.Options.Seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range s.Design.Groups {
		g := &s.Design.Groups[i]
		var parts []*experiment.Measurement
		if ofStorage(*g) {
			m, err := s.storagePart(*g)
			if err != nil {
				return err
			}
			if m.Run.Targets[0].Place, err = storage.ResolvePlace(ctx, m.Target, g.Over[0]); err != nil {
				return err
			}
			parts = []*experiment.Measurement{m}
		} else {
			for n := range s.Pairs {
				if s.groupOf[n] == g.Name {
					parts = append(parts, s.Part(n))
				}
			}
		}
		for n, m := range parts {
			m.Role = fmt.Sprintf("%s-%d", g.Name, n+1)
			g.Arms = append(g.Arms, m.Role)
			if err := s.newPartHeader(m); err != nil {
				return err
			}
			m.Run.ID = id
			s.Parts = append(s.Parts, m)
		}
	}
	for _, c := range interference.Combinations(len(s.Design.Groups)) {
		o := lab.Combination{}
		for _, g := range c {
			o.Groups = append(o.Groups, s.Design.Groups[g].Name)
		}
		o.ID, o.Title = strings.Join(o.Groups, "+"), strings.Join(o.Groups, ", ")
		s.Design.Combinations = append(s.Design.Combinations, o)
	}
	s.takeParts()
	for _, m := range s.Parts {
		s.addCombinations(m)
		if m.Server == nil {
			if err := m.SecureAndSnapshot(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// storagePart is the measurement of a device or directory of the server.
func (s *interferenceRun) storagePart(g lab.DesignGroup) (*experiment.Measurement, error) {
	servers := s.Of(experiment.ServerRole)
	if len(servers) > 1 {
		return nil, app.Usage("there are several servers, and it is not known which of them has "+g.Over[0],
			"name one server")
	}
	options := s.Network.Options.RunOptions
	options.Set, options.Size = append(s.fioTimes(), s.options.SetFio...), s.options.Size
	m := &experiment.Measurement{App: s.App, Options: options, Store: s.Store, Target: servers[0].Target}
	m.Run.Targets = make([]lab.RunTarget, 1)
	return m, nil
}

// fioTimes have fio run for as long as iperf3 does.
func (s *interferenceRun) fioTimes() []string {
	su, err := s.OneLoad()
	if err != nil || len(su.Jobs) == 0 {
		return nil // it is said where the suite is used
	}
	params := su.Jobs[0].Network.Options
	omit, _ := unit.ParseDuration(params["omit"])
	run := iperf3.TestTime(params) - omit
	return []string{"time_based=1", "runtime=" + strconv.Itoa(int(run.Seconds())) + "s", "ramp_time=" +
		strconv.Itoa(int(omit.Seconds())) + "s"}
}

// newPartHeader makes the header of the run of one load.
func (s *interferenceRun) newPartHeader(m *experiment.Measurement) error {
	if m.Server == nil {
		place := m.Run.Targets[0].Place
		su, err := experiment.LoadSuite("ladder")
		if err != nil {
			return err
		}
		if err := m.NewHeaderOn(su, place); err != nil {
			return err
		}
		m.Run.Cells = slices.DeleteFunc(m.Run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
		if len(m.Run.Cells) == 0 {
			return app.Usage("what fio would do writes, and groups only read", "leave rw out of --set-fio")
		}
	} else {
		su, err := s.OneLoad()
		if err != nil {
			return err
		}
		m.Options.Set = nil // they are in the suite
		if err := m.NewHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
	}
	m.Run.Cells = m.Run.Cells[:1]
	m.Run.Cells[0].Repetitions = s.options.Passes
	s.SetDesign(m, interferenceKind, s.options.Passes)
	if m.Server != nil {
		return nil
	}
	if place := &m.Run.Targets[0].Place; place.Kind == lab.Device {
		m.Run.Cells[0].Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
	}
	return nil
}

// addCombinations gives a part a cell for each combination that its group is in.
func (s *interferenceRun) addCombinations(m *experiment.Measurement) {
	like := m.Run.Cells[0]
	m.Run.Cells = nil
	for _, o := range s.Design.Combinations {
		if slices.ContainsFunc(s.Design.Groups, func(g lab.DesignGroup) bool {
			return slices.Contains(g.Arms, m.Role) && slices.Contains(o.Groups, g.Name)
		}) {
			c := like
			c.ID, c.Job = lab.CellIn(o.ID, m.Role), o.ID
			m.Run.Cells = append(m.Run.Cells, c)
		}
	}
}
