package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// listed describes a command in the list of commands, before it is built.
type listed struct {
	name, short string
	// group is the heading of the command in help; empty for none.
	group string
	alias string
	// new builds the command with its flags. The fields here are added to it.
	new   func(*app.App) *cobra.Command
	below []listed
	// hidden commands are left out of help.
	hidden bool
	// readOnly commands measure nothing and change nothing, and so do those below them.
	readOnly bool
	// readsAll is true if the command reads all others.
	readsAll bool
}

// The headings of help.
const (
	groupMeasure = "Measure:"
	groupCompare = "Compare:"
	groupFind    = "Find:"
	groupLook    = "Look at:"
	groupKeep    = "Keep:"
)

// commandGroups returns the headings in the order of help.
func commandGroups() []string {
	return []string{groupMeasure, groupCompare, groupFind, groupLook, groupKeep}
}

// commands lists all commands except the root command and commands that cobra adds.
func commands() []listed {
	return []listed{
		{name: "run", group: groupMeasure, short: "Measure a directory or an empty device", new: newRunCommand},
		{name: "net", group: groupMeasure, short: "Measure a network between clients and servers", new: newNetCommand,
			below: []listed{
				{name: "interference", new: newInterferenceCommand,
					short: "Measure what loads take from each other: each alone, in pairs, and all together"},
			}},
		{name: "nfs", group: groupMeasure, new: newNFSCommand,
			short: "Measure an NFS server from a client: over TCP and RDMA, over one path and several"},
		{name: "ladder", group: groupMeasure, new: newLadderCommand,
			short: "Measure from one drive up to the whole storage, or from one flow up to all ports: which step falls " +
				"short first"},
		{name: "soak", short: "Measure one load for hours: does its rate hold?", new: newSoakCommand},

		{name: "compare", group: groupCompare, new: newCompareCommand,
			short: "Compare runs: do they differ, by how much, how sure is that, and what else differs"},
		{name: "sweep", group: groupCompare, new: newSweepCommand,
			short: "Vary one setting: which level is best, and which is good enough"},
		{name: "ablate", group: groupCompare, new: newAblateCommand,
			short: "Measure what each setting costs or gains, alone and within the whole set"},
		{name: "stages", group: groupCompare, readOnly: true, new: newStagesCommand,
			short: "Compare the stages of a run side by side, load by load, and check the table for mistakes"},
		{name: "history", group: groupCompare, readOnly: true, new: newHistoryCommand,
			short: "Follow a suite over time: when did its numbers change, and what changed on the machine"},

		{name: "doctor", group: groupFind, new: newDoctorCommand,
			short: "Report what limits the I/O of a machine, without any load"},
		{name: "profile", group: groupFind, new: newProfileCommand,
			short: "Say what each I/O costs in the kernel, by function and by layer", below: profileCommands()},
		{name: "bisect", group: groupFind, new: newBisectCommand,
			short: "Find the culprit: which of the differences between a fast and a slow state make it slow",
			below: bisectCommands()},
		{name: "facts", group: groupFind, short: "Show the facts of a machine or of a saved run", new: newFactsCommand,
			below: []listed{
				{name: "diff", new: newFactsDiffCommand,
					short: "Compare two machines; differences most likely to matter for I/O come first"},
			}},
		{name: "rules", group: groupFind, readOnly: true, short: "List the diagnosis rules, or show one",
			new: newRulesCommand, below: []listed{
				{name: "show", new: newRulesShowCommand,
					short: "Show a rule: its condition, effect, sources and remedies"},
			}},
		{name: "references", group: groupFind, readOnly: true, new: newReferencesCommand,
			short: "List published results, or compare a run with them", below: []listed{
				{name: "show", new: newReferencesShowCommand,
					short: "Show published results with their conditions, and what the source leaves out"},
				{name: "for", new: newReferencesForCommand,
					short: "Compare a run with published results, each graded by how comparable it is"},
			}},

		{name: "list", alias: "ls", group: groupLook, readOnly: true, short: "List saved runs, the newest first",
			new: newListCommand},
		{name: "show", group: groupLook, readOnly: true, short: "Show runs as a table", new: newShowCommand},
		{name: "report", group: groupLook, readOnly: true, new: newReportCommand,
			short: "Write a run as a self-contained HTML page, or print its table"},
		{name: "explain", group: groupLook, readOnly: true, new: newExplainCommand,
			short: "Explain a warning, a doctor rule or a metric: what it means and what to do"},
		{name: "suites", group: groupLook, readOnly: true, short: "List the suites, or show one", new: newSuitesCommand,
			below: []listed{
				{name: "show", short: "Print the plain command lines of a suite", new: newSuitesShowCommand},
			}},
		{name: "factors", group: groupLook, readOnly: true, new: newFactorsCommand,
			short: "List what can be varied, or show the current level of one factor"},
		{name: "config", group: groupLook, readOnly: true, new: newConfigCommand,
			short: "Show the settings of configuration files and the environment", below: []listed{
				{name: "show", short: "Show each setting, and where its value comes from", new: newConfigShowCommand},
			}},

		{name: "label", group: groupKeep, short: "Change the label of a run", new: newLabelCommand},
		{name: "export", group: groupKeep, readOnly: true, new: newExportCommand,
			short: "Write runs for other programs: csv, sheet, json, markdown, openmetrics, or the whole run"},
		{name: "import", group: groupKeep, new: newImportCommand,
			short: "Import other tools' results, or an exported run"},
		{name: "rm", group: groupKeep, short: "Delete runs", new: newRmCommand},
		{name: "restore", group: groupKeep, new: newRestoreCommand,
			short: "Undo what a killed or crashed run left: settings, loads, scratch files, here and on targets"},

		{name: "serve", short: "Show the saved runs in a browser, and to programs over HTTP", new: newServeCommand},
		{name: "version", short: "Print the version, the commit and the Go version", new: newVersionCommand},
		// Users of a package have its manual pages.
		{name: "man", short: "Write the manual pages of all commands into a folder", hidden: true, readsAll: true,
			new: newManCommand},
	}
}

func profileCommands() []listed {
	return []listed{
		{name: "show", new: newProfileShowCommand,
			short: "Show what each I/O of a run costs: CPU time and calls by layer and function, stages, waits"},
		{name: "diff", new: newProfileDiffCommand,
			short: "Compare two profiles: which layers and kernel functions cost more, and which appeared"},
		// The recorder's protocol is not for users.
		{name: "record", hidden: true, new: newProfileRecordCommand,
			short: "Record what the kernel does for a load: a request on standard input, a recording on standard output"},
	}
}

func bisectCommands() []listed {
	return []listed{
		{name: "args", new: newBisectArgsCommand,
			short: "Which kernel argument makes it slow: every measurement is a boot"},
		{name: "sysctl", short: "Which sysctl makes it slow, without rebooting", new: newBisectSysctlCommand},
		{name: "settings", new: newBisectSettingsCommand,
			short: "Which setting makes it slow, of any kind that headroom can change"},
		{name: "facts", new: newBisectFactsCommand,
			short: "Which difference between two machines makes one slow, of those that can be set here"},
		{name: "kernels", new: newBisectKernelsCommand,
			short: "Between which kernels it became slow: every measurement is a boot"},
		{name: "steps", short: "Between which levels of one factor it became slow", new: newBisectStepsCommand},
		{name: "commits", new: newBisectCommitsCommand,
			short: "Which commit made it slow: builds and measures commits of a git tree"},
		{name: "check", new: newBisectCheckCommand,
			short: "For git bisect run: is the checkout as fast as a good run, or as slow as a bad one?"},
		{name: "kconfig", short: "Which build option of two kernels makes it slow", new: newBisectKconfigCommand},
	}
}
