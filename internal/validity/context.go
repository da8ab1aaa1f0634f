package validity

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// StoreOnDevice is the warning that the run's folder lies on the disk that is measured; only who saves can know. It
// taints no metric by itself: saving waits until the load has ended.
func StoreOnDevice(store, disk string) lab.Warning {
	return lab.Warning{Code: "store-on-device", Taints: []string{},
		Text: "the results are saved to " + store + ", which lies on " + disk + ", the disk under test: between " +
			"loads only, but that is what the next load finds; use --store on another disk"}
}

// ProgramsHidden is the warning that it can't be seen whether a program outside of this container has the device under
// test open.
func ProgramsHidden(device string) lab.Warning {
	return lab.Warning{Code: "programs-hidden", Taints: []string{},
		Text: "programs outside of this container can't be seen, so nobody knows whether one of them has " + device +
			" open; start the container with --pid host"}
}

// ProgramsUnread is the same warning where it is some programs whose open files could not be read: they are other
// users', or wait for a device.
func ProgramsUnread(device string, programs int) lab.Warning {
	return lab.Warning{Code: "programs-hidden", Taints: []string{},
		Text: fmt.Sprintf("what %d of the other programs have open can't be seen, so nobody knows whether one of "+
			"them has %s open; run as root", programs, device)}
}

// DeviceSampled is the warning that a device was written to after a look at a sample of it. seen says how much that
// was, and missed how likely one stretch of data of a length was to go unseen: "84% for 64.0 KiB".
func DeviceSampled(device, seen string, missed []string) lab.Warning {
	return lab.Warning{Code: "device-sampled", Taints: []string{},
		Text: device + " was sampled, not read: " + seen +
			"; the chance that it missed one stretch of data, at a random place, is " + strings.Join(missed, ", ")}
}

// BusyBefore is the warning that the disks under test were busy before the run began; activity says with what. It
// taints nothing by itself: a moment before the run says little of the minutes that follow, of which other-load tells.
func BusyBefore(activity string) lab.Warning {
	return lab.Warning{Code: "busy-before", Taints: []string{},
		Text: "before the run began, the disks under test were busy already: " + activity +
			"; stop that (iotop -o names it), or see by other-load what it cost each load"}
}

// maxListedChanges is how many changed settings a warning names.
const maxListedChanges = 6

// SettingsChanged is the warning that the machine was not the same from the first load to the last; each change is
// written as "cpu.governor: powersave, then performance".
func SettingsChanged(changes []string) lab.Warning {
	more := ""
	if n := len(changes) - maxListedChanges; n > 0 {
		changes, more = changes[:maxListedChanges], fmt.Sprintf(" and %d more", n)
	}
	return lab.Warning{Code: "settings-changed", Taints: allMetrics(),
		Text: "the machine was changed while the run went on: " + strings.Join(changes, "; ") + more +
			"; repetitions before and after are of two machines, so repeat the run"}
}

// NotSettable is the warning that a search between two machines leaves differences out; each is written with the
// reason. The culprit may be among them.
func NotSettable(settings []string) lab.Warning {
	return lab.Warning{Code: "not-settable", Taints: []string{},
		Text: "not searched, since the target does not let them be set: " + strings.Join(settings, "; ")}
}

// BundleIncomplete is the warning that a set of settings was made without some of them; of which, and where, what says:
// "bundle:esnet without sysctl:net.core.rmem_max at the client".
func BundleIncomplete(what string) lab.Warning {
	return lab.Warning{Code: "bundle-incomplete", Taints: []string{}, Text: what + ", which can't be set there: the " +
		"kernel does not have them, or has them to be read only; what was measured is the rest of the set"}
}

// PathUnused is the warning that a way to a server carried nothing, or that several ways are one; what says which.
func PathUnused(what string) lab.Warning {
	return lab.Warning{Code: "path-unused", Taints: allMetrics(), Text: what +
		"; look at addresses, routes and links: the numbers are those of the ways that were used"}
}
