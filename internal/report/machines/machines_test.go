package machines

import (
	"testing"

	"headroom/internal/diff"
	"headroom/internal/document"
	"headroom/internal/render"
	"headroom/internal/render/rendertest"
	"headroom/internal/report"
)

// Each kind of result about machines comes in every format.
func TestMachinesInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(report.Options) document.Document{
		"doctor": func(report.Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{})
		},
		"doctor-all": func(report.Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{Full: true, All: true})
		},
		"doctor-clear": func(report.Options) document.Document { return DoctorDocument(clearMachine(), DoctorOptions{}) },
		"doctor-build": func(report.Options) document.Document { return DoctorDocument(onlyBuild(), DoctorOptions{}) },
		"doctor-several": func(report.Options) document.Document {
			return SeveralDoctorDocument(manyMachines(), DoctorOptions{})
		},
		"factsdiff": func(report.Options) document.Document {
			return FactsDiffDocument(fewDifferences(), FactsDiffOptions{All: true})
		},
		"factsdiff-many": func(report.Options) document.Document {
			return FactsDiffDocument(manyDifferences(), FactsDiffOptions{Top: 12})
		},
		"factsdiff-none": func(report.Options) document.Document {
			return FactsDiffDocument(diff.Document{A: "one.sysctl", B: "two.sysctl"}, FactsDiffOptions{Top: 20})
		},
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(report.Options{Options: o})
		})
	}
}
