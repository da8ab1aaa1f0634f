package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Override is what the user typed to give up what a device holds: its serial number, or its size in bytes. Blank when
// nothing was typed.
type Override string

// Consent is what the user typed to allow more than what was proved. Both must name the drive.
type Consent struct {
	Destroy Override // gives up what the drive holds
	Sampled Override // takes a sample of the content for enough
	// Later says that the rest of the device is read before the first write, which the verdict does not allow yet.
	Later bool
}

// Verdict says what may be done to a device.
type Verdict struct {
	Identity Identity `json:"identity"`
	// MayWrite says that steps that destroy are allowed.
	MayWrite bool `json:"may_write"`
	// Empty says that the device was proved to hold nothing and to be used by nobody.
	Empty bool `json:"empty"`
	// Sampled says that it may be written to although most of it was not read: no data were found in what was.
	Sampled bool `json:"sampled,omitempty"`
	// Unread says that it was not read whole yet.
	Unread bool `json:"unread,omitempty"`
	// Overridden are the reasons to refuse that the user set aside by naming the drive.
	Overridden []string `json:"overridden,omitempty"`
	// Checks are what was looked at.
	Checks []Check `json:"checks,omitempty"`
	// Sample tells how much of the contents was seen.
	Sample Sample `json:"sample,omitzero"`
}

// String finishes the sentence "Samsung PM9A3 7.68 TB (S6CKNN0T700123), …".
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

// SeemsBlank says that no data were found in what was read of the device, proof or not.
func (v Verdict) SeemsBlank() bool { return v.Empty || v.Sampled }

// nothingFound says how much of a device was seen: there is no word like empty for a sample.
func nothingFound(s Sample, size int64) string {
	return "no data found in " + unit.Percent(float64(s.Bytes)/float64(max(1, size))) + " of it"
}

// reasons speak against writing to a device.
type reasons struct {
	// use can't be set aside by anyone; content can, by naming the drive.
	use, content []string
}

// destroys says whether any step could change a device. Only a load that is known to read is harmless; there is no list
// of harmful ones, because such a list forgets some (bench-fio's lacked randrw, trim and randtrim).
func destroys(steps []lab.Step, onlyReads bool) bool {
	return !onlyReads || slices.ContainsFunc(steps, func(s lab.Step) bool { return s != lab.Load })
}

// MustRead says whether it depends on the rest of the content what Judge will say: nothing else speaks against writing
// to the device, and the user has not named it to be written to all the same.
func MustRead(e Evidence, steps []lab.Step, onlyReads bool, consent Consent) bool {
	return destroys(steps, onlyReads) && e.NotADevice == "" && !e.Sample.Whole && consent.Destroy == "" &&
		consent.Sampled == "" && !reasonsAgainst(e).any()
}

// Judge decides whether steps may be carried out on a device. steps are those of every job, onlyReads says that every
// load among them was proved to read and do nothing else. It looks at nothing but its arguments.
//
// It refuses with a lab.Error of kind Refused that names all that was found and, where there is one, the override.
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

// any says whether there is a reason at all.
func (r reasons) any() bool { return len(r.use)+len(r.content) > 0 }

// reasonsAgainst turns evidence into reasons.
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
	if e.Sample.Data && len(e.Signatures) == 0 { // a signature is data too, and says more
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

// shorten keeps a refusal readable: a system disk is mounted in twenty places.
func shorten(why []string) string {
	const most = 8
	if len(why) > most {
		why = append(slices.Clone(why[:most]), fmt.Sprintf("and %d reasons more", len(why)-most))
	}
	return strings.Join(why, "; ")
}

// howToName gives the override.
func howToName(i Identity) string {
	return fmt.Sprintf("to destroy what it holds, give its %s: --destroy %s", nameOf(i),
		lab.ShellQuote([]string{i.Token()}))
}

// howToSample gives the consent to a sample.
func howToSample(i Identity) string {
	return fmt.Sprintf("to be content with a sample of it, give its %s: --sampled %s", nameOf(i),
		lab.ShellQuote([]string{i.Token()}))
}

// nameOf says what a drive is named by.
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
