package factor

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
)

// Choice is a factor with the levels to try.
type Choice struct {
	// Role is the end of a network that it is about; empty for all machines under test.
	Role   string
	Scheme scheme.Scheme
	// Name without the scheme.
	Name   string
	Levels []string
}

// Factor is the whole name.
func (c Choice) Factor() string {
	if c.Role != "" {
		return c.Role + ":" + c.Scheme.Name + ":" + c.Name
	}
	return c.Scheme.Name + ":" + c.Name
}

// Parse reads a factor with its levels, as typed after --factor. Levels are the fields of a line of CSV (RFC 4180): one
// that holds a comma stands in double quotes, and a double quote in it is doubled.
//
//	sysctl:vm.dirty_ratio=10,20,40
//	sysctl:net.ipv4.tcp_rmem=4096 131072 6291456,4096 131072 67108864
//	cpu:online="0-3,8",0-15
//	client:nic:eth0/mtu=1500,9000
//
// A kernel argument without a value is typed without one: cmdline:quiet.
func Parse(text string) (Choice, error) {
	factorName, list, ok := strings.Cut(text, "=")
	if !ok && strings.HasPrefix(text, "cmdline:") {
		list, ok = `""`, true
	}
	if !ok {
		return Choice{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q has no levels", text),
			Hints: []string{"write SCHEME:NAME=LEVEL,LEVEL"}}
	}
	kind, name, err := Find(factorName)
	if err != nil {
		return Choice{}, unknown(factorName, "="+list)
	}
	levels, err := splitLevels(list)
	if err != nil {
		return Choice{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("can't read the levels of %q", text), Err: err,
			Hints: []string{`commas separate levels; one that holds a comma stands in double quotes: 'cpu:online="0-3,8",0-15'`}}
	}
	if err := kind.Refuse(name, ""); err != nil {
		return Choice{}, err
	}
	role, _ := SplitRole(text)
	if role != "" && kind.Class != scheme.Live {
		return Choice{}, &lab.Error{Kind: lab.Usage, What: kind.Name + ": is of the test, and not of one end of it",
			Hints: []string{"leave out " + role + ":"}}
	}
	for i, l := range levels {
		if err := kind.Refuse(name, l); err != nil {
			return Choice{}, err
		}
		if slices.ContainsFunc(levels[:i], func(other string) bool { return Equal(kind.Name, l, other) }) {
			return Choice{}, scheme.Wrong(fmt.Sprintf("%s has the level %q twice", factorName, l))
		}
	}
	return Choice{Role: role, Scheme: kind, Name: name, Levels: levels}, nil
}

// splitLevels reads one line of CSV.
func splitLevels(list string) ([]string, error) {
	if list == "" || strings.ContainsAny(list, "\r\n") {
		return nil, fmt.Errorf("one line with at least one level is needed")
	}
	r := csv.NewReader(strings.NewReader(list))
	levels, err := r.Read()
	if err != nil {
		return nil, err
	}
	for i := range levels {
		levels[i] = strings.TrimSpace(levels[i])
	}
	return levels, nil
}
