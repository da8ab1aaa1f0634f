package cli

import "testing"

// A level that the disk's own list does not have is refused before anything is done; one whose module would be loaded
// for it is not.
func TestScriptedDryRunRefusesAnUnknownLevel(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--dry-run=full",
			"--factor"}
		l.run(append(args, "queue:scheduler=none,noop")...).ends(2).
			says(`queue:scheduler has no level "noop" on scripted://db1`, "here it takes none, mq-deadline, kyber",
				"since Linux 5.0 it is called none")
		l.run(append(args, "queue:scheduler=none,mq-deadlin")...).ends(2).says("did you mean mq-deadline?")
		l.run(append(args, "queue:scheduler=found,none,bfq")...).ends(0).says("set queue:scheduler=bfq")
	})
}
