package report

import (
	"testing"

	"headroom/internal/diff"
	"headroom/internal/document"
	"headroom/internal/render"
	"headroom/internal/render/rendertest"
)

// Each kind of result about machines comes in every format.
func TestMachinesInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(Options) document.Document{
		"doctor": func(Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{})
		},
		"doctor-all": func(Options) document.Document {
			return DoctorDocument(heldBack(), DoctorOptions{Full: true, All: true})
		},
		"doctor-clear": func(Options) document.Document { return DoctorDocument(clearMachine(), DoctorOptions{}) },
		"doctor-build": func(Options) document.Document { return DoctorDocument(onlyBuild(), DoctorOptions{}) },
		"doctor-several": func(Options) document.Document {
			return SeveralDoctorDocument(manyMachines(), DoctorOptions{})
		},
		"factsdiff": func(Options) document.Document {
			return FactsDiffDocument(fewDifferences(), FactsDiffOptions{All: true})
		},
		"factsdiff-many": func(Options) document.Document {
			return FactsDiffDocument(manyDifferences(), FactsDiffOptions{Top: 12})
		},
		"factsdiff-none": func(Options) document.Document {
			return FactsDiffDocument(diff.Document{A: "one.sysctl", B: "two.sysctl"}, FactsDiffOptions{Top: 20})
		},
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(Options{Options: o})
		})
	}
}
