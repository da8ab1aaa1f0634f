package reference

// StandingsSchema names the published JSON document of a run compared with references.
const StandingsSchema = "headroom/standings/v1"

// RunStandings compares a run with published results.
type RunStandings struct {
	Schema string          `json:"schema"`
	Run    string          `json:"run"`
	Cells  []LoadStandings `json:"cells"`
}

// LoadStandings are the standings of one load.
type LoadStandings struct {
	Job       string            `json:"job"`
	Params    map[string]string `json:"params"`
	Standings []Standing        `json:"standings"`
}
