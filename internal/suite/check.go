package suite

import (
	"strconv"

	"github.com/headroom/headroom/internal/unit"
)

// checkCells checks the expanded cells for parameters that contradict each other once defaults, the job's own
// parameters and the matrix are combined. Each job is reported once for each kind of fault; faults of one kind share
// their hint.
func (r *reporter) checkCells(s Suite) {
	total := 0
	for _, j := range s.Jobs {
		if j.faulty {
			continue
		}
		reported := map[string]bool{}
		combinations := s.combinations(j)
		for _, params := range combinations {
			if j.Exec != nil {
				break // the meaning of a command's parameters is unknown
			}
			fault := func() (string, string) { return cellFault(s, j, params) }
			if j.Network != nil {
				fault = func() (string, string) { return j.Network.generator().Fault(params) }
			}
			if message, hint := fault(); message != "" && !reported[hint] {
				reported[hint] = true
				r.Add(j.Line, j.column, hint, "job %s: %s", j.Name, message)
			}
		}
		total += len(combinations)
	}
	if total > maxCells {
		r.Add(0, 0, "measure fewer values", "the suite has %d cells, more than %d", total, maxCells)
	}
}

// cellFault describes a fault of the parameters of one cell; empty if there is none.
func cellFault(s Suite, j Job, params map[string]string) (message, hint string) {
	n := processes(params)
	end := extentEnd(params)
	switch {
	case params["time_based"] == "1" && runtime(params) == 0:
		return "time_based needs a runtime", "add a runtime, such as 60s"
	case params["direct"] == "1" && params["buffered"] == "1":
		return "direct and buffered contradict each other", "delete buffered"
	case j.Divide && j.Fio["size"]+j.Fio["offset_increment"] != "":
		return "divide sets size and offset_increment, and so does the job", "delete divide, or the two"
	case j.Divide && n > 100:
		return "divide has parts for 100 processes, not for " + strconv.Itoa(n),
			"set size and offset_increment yourself"
	case s.Size > 0 && end > float64(s.Size):
		return "it works on " + unit.Bytes(end) + ", more than the scratch file's " + unit.Bytes(float64(s.Size)),
			"raise the suite's size, or lower the job's size, offset, offset_increment or numjobs"
	}
	return "", ""
}

// extentEnd returns the end of the part of the file that the load works on, in bytes; 0 if it is given in shares or not
// at all. Source: fio's HOWTO, offset_increment: process i begins at offset + i * offset_increment.
func extentEnd(params map[string]string) float64 {
	size, err := unit.ParseBytes(params["size"])
	if err != nil {
		return 0
	}
	offset, _ := unit.ParseBytes(params["offset"])
	step, _ := unit.ParseBytes(params["offset_increment"])
	return float64(offset) + float64(processes(params)-1)*float64(step) + float64(size)
}
