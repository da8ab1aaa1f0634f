package stacks

import (
	"encoding/json"
	"io"
)

// The file of speedscope, https://www.speedscope.app/file-format-schema.json: frames in one list, and sampled profiles
// whose samples are stacks of indices into it.
type speedscopeFile struct {
	Schema string `json:"$schema"`
	Shared struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles           []speedscopeProfile `json:"profiles"`
	Name               string              `json:"name,omitempty"`
	ActiveProfileIndex int                 `json:"activeProfileIndex"`
	Exporter           string              `json:"exporter"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
}

type speedscopeProfile struct {
	Type       string    `json:"type"`
	Name       string    `json:"name"`
	Unit       string    `json:"unit"`
	StartValue float64   `json:"startValue"`
	EndValue   float64   `json:"endValue"`
	Samples    [][]int   `json:"samples"`
	Weights    []float64 `json:"weights"`
}

// Speedscope writes a profile for each set. Weights are nanoseconds of CPU time per I/O.
func Speedscope(w io.Writer, name string, sets []Set) error {
	file := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json", Name: name,
		Profiles: []speedscopeProfile{}, Exporter: "headroom"}
	file.Shared.Frames = []speedscopeFrame{}
	places := map[string]int{}
	place := func(frame string) int {
		i, known := places[frame]
		if !known {
			i = len(places)
			places[frame] = i
			file.Shared.Frames = append(file.Shared.Frames, speedscopeFrame{frame})
		}
		return i
	}
	for _, set := range sets {
		p := speedscopeProfile{Type: "sampled", Name: set.name(), Unit: "nanoseconds", Samples: [][]int{},
			Weights: []float64{}}
		counted := set.Total() == 0
		if counted {
			p.Unit = "none"
		}
		for _, s := range set.Stacks {
			weight := s.Mean()
			if counted {
				weight = float64(s.Samples)
			}
			sample := make([]int, len(s.Frames))
			for i, frame := range s.Frames {
				sample[i] = place(frame)
			}
			p.Samples, p.Weights, p.EndValue = append(p.Samples, sample), append(p.Weights, weight), p.EndValue+weight
		}
		file.Profiles = append(file.Profiles, p)
	}
	return json.NewEncoder(w).Encode(file)
}
