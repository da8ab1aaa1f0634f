package reference

// StandingsSchema names the published JSON document of a run beside references.
const StandingsSchema = "headroom/standings/v1"

// RunStandings is a run beside published results.
type RunStandings struct {
	Schema string          `json:"schema"`
	Run    string          `json:"run"`
	Cells  []LoadStandings `json:"cells"`
}

// LoadStandings are those of a load.
type LoadStandings struct {
	Job       string            `json:"job"`
	Params    map[string]string `json:"params"`
	Standings []Standing        `json:"standings"`
}
