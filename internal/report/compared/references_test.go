package compared

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
)

// againstPublished has standings of every grade, one doubtful, and a load without published results.
func againstPublished() reference.RunStandings {
	standing := func(name string, ratio float64, grade reference.Grade, doubts ...string) reference.Standing {
		s := reference.Standing{Reference: name, Job: "randread", Metric: "read.iops", Published: 97831,
			Measured: 97831 * ratio, Ratio: ratio, Doubts: doubts, Where: "table 1"}
		s.Grade = grade
		if grade != reference.SameConditions {
			s.Differences = []reference.Difference{{Condition: "iodepth", Published: "64", Measured: "32"},
				{Condition: "disk model", Measured: "INTEL SSDSC2KB960G8"}}
		}
		return s
	}
	params := map[string]string{"bs": "4k", "iodepth": "32", "numjobs": "4"}
	return reference.RunStandings{Schema: reference.StandingsSchema, Run: "7KQ4M2X9TD",
		Cells: []reference.LoadStandings{
			{Job: "randread", Params: params, Standings: []reference.Standing{
				standing("some-report/raw-disk", 1.02, reference.SameConditions),
				standing("some-report/ext4", 0.87, reference.Close, "the drive was warm"),
				standing("other-report/"+longName, 0.0021, reference.OrderOfMagnitude)}},
			{Job: longName, Params: params, Standings: []reference.Standing{
				standing("some-report/raw-disk", 51, reference.OrderOfMagnitude)}},
			{Job: "logwrite", Params: map[string]string{"bs": "4k"}},
		}}
}

// publishedResults returns results as a source states them.
func publishedResults() []reference.Reference {
	return []reference.Reference{
		{Name: "some-report/raw-disk", Title: "The disk without a file system", Hardware: "Samsung PM9A3 7.68 TB",
			Source: reference.Source{Title: "What it is called", Author: "Who", URL: "https://example.org/report"},
			Place:  lab.Place{Kind: lab.Device}, Facts: []lab.Fact{{Key: "kernel.release", Value: "6.6.54"}},
			Unstated: []string{"repetitions and their spread"},
			Warnings: []lab.Warning{{Code: "source-doubtful", Text: "writes exceed the link",
				Taints: []string{"write.*"}}},
			Results: []reference.Result{{Job: "randread", Engine: "fio", Where: "table 1",
				Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32"},
				Values: map[string]float64{"read.iops": 97831, "read.bandwidth": 97831 * 4096}}}},
		{Name: "other-report/" + longName, Title: "Something that takes many words to say, because it was " +
			"measured in a way that has to be told", Hardware: "4 x Kioxia CM6 MU 1.6 TB, RAID0"},
	}
}
