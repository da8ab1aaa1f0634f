package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Override is what the user typed to give up the data on a device: its serial number, or its size in bytes. Blank if
// nothing was typed.
type Override string

// Consent is what the user typed to allow more than was proved. Both values must identify the drive.
type Consent struct {
	Destroy Override // gives up the data on the drive
	Sampled Override // accepts a sample of the content
	// Later is set if the rest of the device is read before the first write, which the verdict does not allow yet.
	Later bool
}

// Verdict is what may be done to a device.
type Verdict struct {
	Identity Identity `json:"identity"`
	// MayWrite allows destructive steps.
	MayWrite bool `json:"may_write"`
	// Empty is set if the device was proved to be empty and unused.
	Empty bool `json:"empty"`
	// Sampled is set if it may be written to although most of it was not read: the part that was read has no data.
	Sampled bool `json:"sampled,omitempty"`
	// Unread is set if it was not read whole yet.
	Unread bool `json:"unread,omitempty"`
	// Overridden are the reasons to refuse that the user set aside by naming the drive.
	Overridden []string `json:"overridden,omitempty"`
	// Checks are the completed checks.
	Checks []Check `json:"checks,omitempty"`
	// Sample describes how much of the contents was read.
	Sample Sample `json:"sample,omitzero"`
}

// String completes the sentence "Samsung PM9A3 7.68 TB (S6CKNN0T700123), …".
func (v Verdict) String() string {
	switch {
	case v.Empty && v.MayWrite:
		return fmt.Sprintf("empty: checked %d ways, read %s", len(v.Checks), v.Sample)
	case v.Sampled:
		return fmt.Sprintf("%s (%s), checked %d ways", nothingFound(v.Sample, v.Identity.Size), v.Sample, len(v.Checks))
	case v.MayWrite:
		return "given up by name: " + strings.Join(v.Overridden, "; ")
	case v.Unread:
		return nothingFound(v.Sample, v.Identity.Size) + "; all of it is read before anything is written"
	}
	return "only read from"
}

// SeemsBlank reports whether no data were found in the part of the device that was read, proof or not.
func (v Verdict) SeemsBlank() bool { return v.Empty || v.Sampled }

// nothingFound describes how much of a device was read. It avoids the word empty, which a sample can't prove.
func nothingFound(s Sample, size int64) string {
	return "no data found in " + unit.Percent(float64(s.Bytes)/float64(max(1, size))) + " of it"
}

// reasons are reasons against writing to a device.
type reasons struct {
	// use can't be overridden; content can, by naming the drive.
	use, content []string
}

// destroys reports whether any step could change a device. Only a load that is known to only read is harmless. There is
// no list of harmful loads, because such a list is never complete (bench-fio's lacked randrw, trim and randtrim).
func destroys(steps []lab.Step, onlyReads bool) bool {
	return !onlyReads || slices.ContainsFunc(steps, func(s lab.Step) bool { return s != lab.Load })
}

// MustRead reports whether Judge's decision depends on the rest of the content: there is no other reason against
// writing to the device, and the user has not named it to be written to anyway.
func MustRead(e Evidence, steps []lab.Step, onlyReads bool, consent Consent) bool {
	return destroys(steps, onlyReads) && e.NotADevice == "" && !e.Sample.Whole && consent.Destroy == "" &&
		consent.Sampled == "" && !reasonsAgainst(e).any()
}

// Judge decides whether steps may be run on a device. steps are the steps of every job; onlyReads is true if every load
// among them was proved to only read. Judge uses nothing but its arguments.
//
// It refuses with a lab.Error of kind Refused that names every reason and, if there is one, the override.
func Judge(e Evidence, steps []lab.Step, onlyReads bool, consent Consent) (Verdict, error) {
	v := Verdict{Identity: e.Identity, Checks: e.Checks, Sample: e.Sample}
	if e.NotADevice != "" {
		return v, &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s can't be measured as a device: it is %s",
			e.Path, e.NotADevice),
			Hints: notADeviceHints(e.NotADevice)}
	}
	r := reasonsAgainst(e)
	v.Empty = !r.any() && e.Sample.Whole
	if !destroys(steps, onlyReads) {
		return v, nil
	}
	for _, o := range []struct {
		typed Override
		right func(Identity) string
	}{{consent.Destroy, howToName}, {consent.Sampled, howToSample}} {
		if o.typed != "" && string(o.typed) != e.Identity.Token() {
			return v, refuse(e, []string{fmt.Sprintf("%q does not name it", string(o.typed))},
				[]string{o.right(e.Identity)})
		}
	}
	if len(r.use) > 0 {
		hints := []string{"nothing overrides that: take it out of use first (umount, swapoff, vgchange -an, mdadm " +
			"--stop, …)"}
		if len(r.content) > 0 {
			hints = append(hints, "then, "+howToName(e.Identity))
		}
		return v, refuse(e, append(r.use, r.content...), hints)
	}
	if len(r.content) > 0 && consent.Destroy == "" {
		return v, refuse(e, r.content, []string{howToName(e.Identity), "jobs that only read may run on it as it is"})
	}
	switch {
	case e.Sample.Whole || len(r.content) > 0:
	case consent.Destroy != "":
		r.content = []string{nothingFound(e.Sample, e.Identity.Size) + ", and the rest was not read"}
	case consent.Sampled != "":
		v.Sampled = true
	case consent.Later:
		v.Unread = true
		return v, nil
	default:
		return v, refuse(e, []string{nothingFound(e.Sample, e.Identity.Size) + ", and the rest was not read"},
			[]string{howToSample(e.Identity)})
	}
	v.MayWrite = true
	v.Overridden = r.content
	return v, nil
}

// any reports whether there is a reason.
func (r reasons) any() bool { return len(r.use)+len(r.content) > 0 }

// reasonsAgainst converts evidence to reasons.
func reasonsAgainst(e Evidence) reasons {
	var r reasons
	if e.Identity.Size == 0 {
		r.use = append(r.use, "it has no medium")
	}
	if e.ReadOnly {
		r.use = append(r.use, "it is read-only")
	}
	for _, u := range e.Uses {
		r.use = append(r.use, u.Who+" "+u.How)
	}
	if e.Busy != "" {
		r.use = append(r.use, "it can't be opened exclusively: "+e.Busy)
	}
	r.use = append(r.use, e.UseUnknown...)
	for _, c := range Checks() {
		if !slices.Contains(e.Checks, c) && e.Identity.Size > 0 {
			r.use = append(r.use, "not checked: "+string(c))
		}
	}
	if len(e.BuiltOn) > 0 {
		r.content = append(r.content, "it is built on "+strings.Join(e.BuiltOn, ", "))
	}
	r.content = append(r.content, signatureKinds(e.Signatures)...)
	if len(e.Partitions) > 0 {
		r.content = append(r.content, "it has partitions: "+strings.Join(e.Partitions, ", "))
	}
	r.content = append(r.content, e.ContentUnknown...)
	if e.Sample.Data && len(e.Signatures) == 0 { // a signature is data too, and more informative
		at := unit.Bytes(float64(e.Sample.DataAt))
		what := fmt.Sprintf("there are data at %#x (%s from the start)", e.Sample.DataAt, at)
		if e.Sample.Ones {
			what += ": bytes of FF, and the device does not say that its erased blocks read so"
		}
		r.content = append(r.content, what)
	}
	return r
}

// signatureKinds names each kind of signature once: a GPT has two headers, a ZFS member hundreds of uberblocks.
func signatureKinds(signatures []Signature) []string {
	var words []string
	for i, s := range signatures {
		alike := func(o Signature) bool { return o.Who == s.Who && o.What == s.What }
		if !slices.ContainsFunc(signatures[:i], alike) {
			words = append(words, s.Who+" holds "+s.String())
		}
	}
	return words
}

func refuse(e Evidence, why, hints []string) error {
	return &lab.Error{Kind: lab.Refused, Hints: hints,
		What: fmt.Sprintf("%s (%s) must not be written to: %s", e.Path, e.Identity, shorten(why))}
}

// shorten keeps a refusal readable: a system disk has twenty mount points.
func shorten(why []string) string {
	const most = 8
	if len(why) > most {
		why = append(slices.Clone(why[:most]), fmt.Sprintf("and %d reasons more", len(why)-most))
	}
	return strings.Join(why, "; ")
}

// howToName is the hint with the override.
func howToName(i Identity) string {
	return fmt.Sprintf("to destroy what it holds, give its %s: --destroy %s", nameOf(i),
		lab.ShellQuote([]string{i.Token()}))
}

// howToSample is the hint for accepting a sample.
func howToSample(i Identity) string {
	return fmt.Sprintf("to be content with a sample of it, give its %s: --sampled %s", nameOf(i),
		lab.ShellQuote([]string{i.Token()}))
}

// nameOf returns the kind of token that identifies a drive.
func nameOf(i Identity) string {
	if i.Serial != "" {
		return "serial number"
	}
	return "size in bytes"
}

func notADeviceHints(what string) []string {
	switch what {
	case "a regular file":
		return []string{"name its folder to measure a file system: a scratch file is made there and removed"}
	case "a block device that can't be opened: permission denied":
		return []string{"run as root"}
	}
	return []string{"lsblk lists the block devices"}
}
