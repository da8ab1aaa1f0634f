package summary

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outage"
)

// EventSchema names the part of the published document that is about events. Fields are added to it, never renamed and
// never removed.
const EventSchema = "headroom/event/v1"

// Events are the events caused on purpose during the loads, and their effects on each load.
type Events struct {
	Schema string      `json:"schema"`
	Events []lab.Event `json:"events"`
	Loads  []EventLoad `json:"loads"`
}

// EventLoad is one load with its events.
type EventLoad struct {
	Cell       string `json:"cell"`
	Job        string `json:"job"`
	Repetition int    `json:"repetition"`
	// Rate of all directions together, Unit is its unit.
	Rate lab.Series `json:"rate"`
	Unit lab.Unit   `json:"unit"`
	// Happened and Findings have an entry for each event, in their order.
	Happened []lab.Occurrence `json:"happened"`
	Findings []outage.Finding `json:"findings"`
	// Retransmits of the whole test, where its sender tells.
	Retransmits *float64 `json:"retransmits,omitempty"`
	// Slowest is how many seconds the slowest operation of the load took, where it tells. Others may have gone on
	// meanwhile, so that the rate does not show it.
	Slowest *float64 `json:"slowest,omitempty"`
	// Errors that the load itself told of.
	Errors []string `json:"errors,omitempty"`
}

// eventLoad is what events did to a repetition.
func eventLoad(rep lab.Repetition) EventLoad {
	e := EventLoad{Cell: rep.Cell, Repetition: rep.Number, Rate: rep.Events.Rate, Happened: rep.Events.Each,
		Findings: outage.Of(*rep.Events)}
	e.Unit = lab.Metric("all." + e.Rate.Metric).Unit
	for _, direction := range []string{lab.Send, lab.Receive} {
		if n, reported := rep.Values[lab.Retransmits(direction)]; reported {
			if e.Retransmits == nil {
				e.Retransmits = new(float64)
			}
			*e.Retransmits += n
		}
	}
	for _, direction := range []string{lab.Read, lab.Write, lab.Trim} {
		if took, reported := rep.Values[lab.Latency(direction, "max")]; reported &&
			(e.Slowest == nil || took > *e.Slowest) {
			e.Slowest = &took
		}
	}
	for _, w := range rep.Warnings {
		if w.Code == "errors" || w.Code == "no-result" {
			e.Errors = append(e.Errors, w.Text)
		}
	}
	return e
}
