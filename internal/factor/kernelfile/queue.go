package kernelfile

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/factor/scheme"
	"headroom/internal/factor/spot"
	"headroom/internal/facts/collect"
	"headroom/internal/facts/storage"
	"headroom/internal/lab"
	"headroom/internal/target"
)

var (
	queueAttribute = regexp.MustCompile(`^(iosched/)?[a-z0-9_]+$`)
	queueDevice    = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9_./+!-]*$`)
)

// allDisks stands for the whole disks at the bottom of a stack: queue@disks:scheduler.
const allDisks = "disks"

// Queue is queue:, a setting of the queue of the device under test. It is the device that loads address: of a
// directory the one that its file system lies on, of a partition its disk. queue@DEVICE: is another device of its
// stack, queue@disks: the disks at its bottom.
func Queue() scheme.Scheme {
	s := queueOf("")
	s.OfDevice = func(device string) (scheme.Scheme, error) {
		if !queueDevice.MatchString(device) {
			return scheme.Scheme{}, scheme.Wrong("queue@ takes the name of a block device, not " +
				strconv.Quote(device))
		}
		return queueOf(device), nil
	}
	return s
}

// queueOf is queue: where the device is empty, and queue@DEVICE: elsewhere.
func queueOf(device string) scheme.Scheme {
	name := "queue"
	if device != "" {
		name += "@" + device
	}
	return scheme.Scheme{Name: name, Title: "a setting of the queue of the device under test, or of one under it",
		Class: scheme.Live, Needs: "nothing",
		Syntax: "queue:ATTRIBUTE, queue@DEVICE:ATTRIBUTE or queue@disks:ATTRIBUTE",
		Examples: []string{"queue:scheduler=none,mq-deadline", "queue:read_ahead_kb=128,4096",
			"queue@disks:nr_requests=64,256", "queue@md0:read_ahead_kb=128,4096"},
		Levels: "what the kernel takes", Verified: "/sys/block/DEVICE/queue/ATTRIBUTE",
		Check: checkQueue, Bind: func(ctx context.Context, w scheme.Scope, attribute string) (scheme.Setting, error) {
			return bindQueue(ctx, w, device, attribute)
		}, Holds: func(_ context.Context, t target.Target, attribute string) scheme.Holds {
			return scheme.InFiles("/sys/*" + heldDevice(t, device) + "/queue/" + attribute)
		}}
}

// heldDevice is the part of a pattern that stands for a device; empty for any, which holds more than it must where
// the disks of a stack are meant.
func heldDevice(t target.Target, device string) string {
	if device == "" || device == allDisks {
		return ""
	}
	if name, ok := storage.NewStack(collect.Reader{FS: t.FS()}).Named(device); ok {
		device = name
	}
	return "/" + device
}

func checkQueue(name, _ string) error {
	if !queueAttribute.MatchString(name) {
		return errors.New("queue: takes the name of a file in /sys/block/DEVICE/queue, not " + strconv.Quote(name))
	}
	return nil
}

// bindQueue is an attribute of the queue of the device under test, or of a named device of its stack.
func bindQueue(ctx context.Context, w scheme.Scope, device, attribute string) (scheme.Setting, error) {
	stack := storage.NewStack(collect.Reader{FS: w.Target.FS()})
	queues := stack.Queues(w.Place)
	if len(queues) == 0 {
		return scheme.Setting{}, refused(w, "queue:"+attribute+" is about the device under test, and there is none",
			"name a place on a block device: tmpfs and file systems over the network have no queue here")
	}
	chosen, err := chooseQueues(w, stack, queues, device)
	if err != nil {
		return scheme.Setting{}, err
	}
	s := scheme.Setting{Listed: true}
	for _, q := range chosen {
		s.Spots = append(s.Spots, spot.Spot{Kind: spot.InFile, Path: queueFile(q.Device, attribute)})
	}
	read, err := w.Target.ReadFiles(ctx, spot.Paths(s.Spots)...)
	if err != nil {
		return scheme.Setting{}, err
	}
	for i, place := range s.Spots {
		file := read[place.Path]
		if errors.Is(file.Err, fs.ErrNotExist) || attribute == "scheduler" && noScheduler(file.Data) {
			return scheme.Setting{}, lacking(w, stack, queues, chosen[i], attribute)
		}
		_, choices := spot.Chosen(string(file.Data))
		if i == 0 {
			s.Possible = choices
		}
		s.Possible = slices.DeleteFunc(s.Possible, func(c string) bool { return !slices.Contains(choices, c) })
	}
	resolved, err := spot.RealPaths(ctx, w.Target, spot.Paths(s.Spots))
	if err != nil {
		return scheme.Setting{}, err
	}
	for _, file := range resolved {
		s.Companions = append(s.Companions, scheme.CompanionsOf(ctx, w.Target, file)...)
	}
	return s.Readable(ctx, w.Target)
}

// chooseQueues are the queues of a stack that a factor is about.
func chooseQueues(w scheme.Scope, stack storage.Stack, queues []storage.Queue, device string) ([]storage.Queue, error) {
	name, _ := stack.Named(device)
	chosen := slices.DeleteFunc(slices.Clone(queues), func(q storage.Queue) bool {
		switch device {
		case "":
			return !q.UnderTest
		case allDisks:
			return !q.Disk
		}
		return q.Device != name
	})
	if len(chosen) > 0 {
		return chosen, nil
	}
	var names []string
	for _, q := range queues {
		names = append(names, "queue@"+q.Device+":")
	}
	return nil, refused(w, "no device called "+device+" is under "+w.Place.Path, "there are "+strings.Join(names, ", "))
}

func queueFile(device, attribute string) string {
	return "/sys/block/" + device + "/queue/" + attribute
}

// noScheduler reports whether a file says that a queue can have no scheduler. Where it can, the one in use stands in
// brackets. Source: block/elevator.c, elv_iosched_show.
//
//	none
//	[none] mq-deadline
func noScheduler(file []byte) bool { return strings.TrimSpace(string(file)) == "none" }

// lacking is the error of a device whose queue lacks an attribute, with the devices of its stack that have it.
func lacking(w scheme.Scope, stack storage.Stack, queues []storage.Queue, of storage.Queue, attribute string) error {
	e := &lab.Error{Kind: lab.Refused, What: "the queue of " + of.Device + " has no " + attribute,
		Target: target.RemoteName(w.Target)}
	var others []string
	disks := true
	for _, q := range queues {
		data, err := stack.Bytes(queueFile(q.Device, attribute))
		has := err == nil && (attribute != "scheduler" || !noScheduler(data))
		if has {
			others = append(others, "queue@"+q.Device+":"+attribute)
		}
		disks = disks && (has || !q.Disk)
	}
	switch {
	case len(others) == 0:
		e.Hints = []string{"ls /sys/block/" + of.Device + "/queue lists what it has"}
	case disks && !of.Disk:
		e.Hints = []string{"of the disks under it: queue@" + allDisks + ":" + attribute}
		fallthrough
	default:
		e.Hints = append(e.Hints, "there are "+strings.Join(others, ", "))
	}
	return e
}

func refused(w scheme.Scope, what string, hints ...string) error {
	return &lab.Error{Kind: lab.Refused, What: what, Target: target.RemoteName(w.Target), Hints: hints}
}
