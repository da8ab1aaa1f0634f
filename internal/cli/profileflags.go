package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/experiment"
)

// profileFlag adds the flag that has loads profiled beside the repetitions, and those that go with it.
func profileFlag(o *experiment.ProfileOptions, c *cobra.Command, with string) {
	f := c.Flags()
	countVar(f, &o.Loads, "profile", fmt.Sprintf("%salso profile this many loads of each cell, beside its first "+
		"repetitions: where CPU time goes, and which kernel functions are called (without a number %d)", with,
		experiment.DefaultProfiles))
	f.Lookup("profile").NoOptDefVal = fmt.Sprint(experiment.DefaultProfiles)
	recorderFlags(o, c, "with --profile: ")
}

// recorderFlags add those that say how loads are profiled.
func recorderFlags(o *experiment.ProfileOptions, c *cobra.Command, with string) {
	f := c.Flags()
	f.IntVar(&o.Hz, "profile-hz", experiment.DefaultHz, with+"samples a second of each CPU")
	f.StringVar(&o.Recorder, "recorder", "", with+"copy this headroom to the target to record there, where its "+
		"processor is another than this machine's (default: this program)")
}

// profileFlagNames are the flags that a run settles.
func profileFlagNames() []string { return []string{"profile", "profile-hz"} }
