package machines

import (
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// Each kind of result about machines comes in every format.
func TestMachinesInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(report.Options) document.Document{
		"doctor": func(report.Options) document.Document {
			return Diagnosis(heldBack(), DiagnosisOptions{})
		},
		"doctor-all": func(report.Options) document.Document {
			return Diagnosis(heldBack(), DiagnosisOptions{Full: true, All: true})
		},
		"doctor-clear": func(report.Options) document.Document { return Diagnosis(clearMachine(), DiagnosisOptions{}) },
		"doctor-build": func(report.Options) document.Document { return Diagnosis(onlyBuild(), DiagnosisOptions{}) },
		"doctor-several": func(report.Options) document.Document {
			return Diagnoses(manyMachines(), DiagnosisOptions{})
		},
		"factsdiff": func(report.Options) document.Document {
			return Differences(fewDifferences(), DifferenceOptions{All: true})
		},
		"factsdiff-many": func(report.Options) document.Document {
			return Differences(manyDifferences(), DifferenceOptions{Top: 12})
		},
		"factsdiff-none": func(report.Options) document.Document {
			return Differences(diff.Document{A: "one.sysctl", B: "two.sysctl"}, DifferenceOptions{Top: 20})
		},
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(report.Options{Options: o})
		})
	}
}
