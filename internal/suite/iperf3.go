package suite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
	"headroom/internal/unit"
	"headroom/internal/yamlfile"
)

// iperf3 reads what a job measures of a network: options of iperf3's client by their long names. Keys of other jobs are reported.
func (r *reporter) iperf3(entries []yamlfile.Entry) (map[string]string, []Axis) {
	params := map[string]string{}
	where := map[string]*yaml.Node{}
	var axes []Axis
	for _, e := range entries {
		switch {
		case e.Key == "iperf3":
			for _, option := range r.Mapping(e.Value, e.Key, nil) {
				where[option.Key] = option.Where
				if v, ok := r.Scalar(option.Value, option.Key); ok {
					if v, ok = r.iperf3Option(option.Where, option.Key, v); ok {
						params[option.Key] = v
					}
				}
			}
		case e.Key == "matrix":
			axes = r.iperf3Matrix(e.Value)
		case slices.Contains(fioKeys(), e.Key), e.Key == "exec", slices.Contains(execKeys(), e.Key):
			r.At(e.Where, "delete one of the two, or make two jobs of it", "a job with iperf3 has no %s", e.Key)
		}
	}
	for _, a := range axes {
		if first, double := where[a.Param]; double {
			r.At(first, "delete one of the two", "%s stands under matrix too", a.Param)
		}
	}
	return params, axes
}

func (r *reporter) iperf3Option(where *yaml.Node, name, value string) (string, bool) {
	canonical, complaint, hint := iperf3Value(name, value)
	if complaint != "" {
		r.At(where, hint, "%s", complaint)
	}
	return canonical, complaint == ""
}

// iperf3Matrix reads the axes of a job; their values tell whether there is such an option.
func (r *reporter) iperf3Matrix(n *yaml.Node) []Axis {
	whatever := func(yamlfile.Entry) bool { return true }
	return r.axes(n, whatever, func(element *yaml.Node, name string) (string, bool) {
		v, ok := r.Scalar(element, name)
		if !ok {
			return "", false
		}
		return r.iperf3Option(element, name, v)
	})
}

// iperf3Value checks an option and its value; complaint is empty when there is nothing to say against it.
func iperf3Value(name, value string) (canonical, complaint, hint string) {
	kind, known := iperf3.Options()[name]
	if !known {
		names := slices.Sorted(maps.Keys(iperf3.Options()))
		if hint = yamlfile.DidYouMean(name, names); hint == "" {
			hint = "there are " + strings.Join(names, ", ")
		}
		return "", "a network test has no option " + yamlfile.Quoted(name), hint
	}
	canonical, ok := value, true
	switch kind {
	case iperf3.Toggle:
		canonical, ok = map[string]string{"0": "0", "1": "1", "false": "0", "true": "1"}[strings.ToLower(value)]
		hint = "write 0 or 1"
	case iperf3.Number:
		n, err := strconv.Atoi(value)
		ok, hint = err == nil && n > 0, "write a whole number above 0"
	case iperf3.Size:
		_, err := unit.ParseBytes(value)
		ok, hint = err == nil, "write 128k, or 1g for a bitrate of a gigabit a second"
	case iperf3.Duration:
		d, err := unit.ParseDuration(value)
		ok, hint = err == nil && d%1e9 == 0 && (d > 0 || name == "omit"), "write whole seconds: 10s"
	case iperf3.Text:
		ok, hint = value != "" && !strings.ContainsAny(value, " \t\n\x00") && value[0] != '-', "write one word"
		if name == "protocol" {
			ok, hint = value == "tcp" || value == "udp", "write tcp or udp"
		}
	}
	if !ok {
		return "", name + " can't be " + yamlfile.Quoted(value), hint
	}
	return canonical, "", ""
}

// iperf3Fault says what is wrong with the options of one test; empty when nothing is.
func iperf3Fault(params map[string]string) (message, hint string) {
	switch {
	case params["reverse"] == "1" && params["bidir"] == "1":
		return "reverse and bidir contradict each other", "delete one of the two"
	case params["protocol"] == "udp" && params["bitrate"] == "":
		return "iperf3 sends 1 Mbit/s of UDP where no bitrate is given", "add bitrate: 1g, or bitrate: 0 for as much as it can"
	}
	return "", ""
}

func iperf3Cell(j Job, params map[string]string) Cell {
	return Cell{Job: j.Name, JobTitle: j.Title, Engine: lab.EngineIperf3, Params: params, Steps: []lab.Step{lab.Load}, Runtime: iperf3.Takes(params)}
}

// setIperf3 sets an option of all jobs that measure a network. An axis of that name is gone then.
func (s *Suite) setIperf3(name, value string) {
	for i, j := range s.Jobs {
		if j.Iperf3 == nil {
			continue
		}
		j.Iperf3 = maps.Clone(j.Iperf3)
		j.Iperf3[name] = value
		j.Matrix = slices.DeleteFunc(slices.Clone(j.Matrix), func(a Axis) bool { return a.Param == name })
		s.Jobs[i] = j
	}
}
