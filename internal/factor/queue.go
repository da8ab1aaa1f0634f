package factor

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var (
	queueAttribute = prose.Pattern(`^(iosched/)?[a-z0-9_]+$`)
	queueDevice    = prose.Pattern(`^[A-Za-z0-9/][A-Za-z0-9_./+!-]*$`)
)

// allDisks means the whole disks at the bottom of a stack: queue@disks:scheduler.
const allDisks = "disks"

// queueScheme is queue:, a setting of the queue of the device under test: the block device of the directory's file
// system, or the disk of a partition. queue@DEVICE: sets another device of its stack, and queue@disks: the disks at its
// bottom.
func queueScheme() scheme.Scheme {
	s := queueOf("")
	s.OfDevice = func(device string) (scheme.Scheme, error) {
		if !queueDevice().MatchString(device) {
			return scheme.Scheme{}, scheme.Wrong("queue@ takes the name of a block device, not " +
				strconv.Quote(device))
		}
		return queueOf(device), nil
	}
	return s
}

// queueOf returns the scheme queue@DEVICE:, or queue: if the device is empty.
func queueOf(device string) scheme.Scheme {
	name := "queue"
	if device != "" {
		name += "@" + device
	}
	return scheme.Scheme{Name: name, Title: "a queue setting of the device under test, or of a device under it",
		Class: scheme.Live, Needs: "nothing",
		Syntax: "queue:ATTRIBUTE, queue@DEVICE:ATTRIBUTE or queue@disks:ATTRIBUTE",
		Examples: []string{"queue:scheduler=none,mq-deadline", "queue:read_ahead_kb=128,4096",
			"queue@disks:nr_requests=64,256", "queue@md0:read_ahead_kb=128,4096"},
		Levels: "what the kernel takes", Verified: "/sys/block/DEVICE/queue/ATTRIBUTE",
		Check: checkQueue, Bind: func(ctx context.Context, w scheme.Scope, attribute string) (scheme.Setting, error) {
			return bindQueue(ctx, w, device, attribute)
		}, Holds: func(_ context.Context, t host.Target, attribute string) scheme.Holds {
			return scheme.InFiles("/sys/*" + heldDevice(t, device) + "/queue/" + attribute)
		}}
}

// heldDevice returns the device's part of a pattern. It is empty, and so matches all devices, for queue: and
// queue@disks:, since the place is unknown here.
func heldDevice(t host.Target, device string) string {
	if device == "" || device == allDisks {
		return ""
	}
	if name, ok := storage.NewStack(collect.Reader{FS: t.FS()}).Named(device); ok {
		device = name
	}
	return "/" + device
}

func checkQueue(name, _ string) error {
	if !queueAttribute().MatchString(name) {
		return errors.New("queue: takes the name of a file in /sys/block/DEVICE/queue, not " + strconv.Quote(name))
	}
	return nil
}

// bindQueue binds an attribute of the queue of the device under test, or of a named device of its stack.
func bindQueue(ctx context.Context, w scheme.Scope, device, attribute string) (scheme.Setting, error) {
	stack := storage.NewStack(collect.Reader{FS: w.Target.FS()})
	queues := stack.Queues(w.Place)
	if len(queues) == 0 {
		return scheme.Setting{}, refused(w, "queue:"+attribute+" needs a place on a block device",
			"tmpfs, network file systems and tests of networks have no queue on this machine")
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
		if !hasAttribute(attribute, file.Data, file.Err) {
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

// chooseQueues returns the queues of a stack that a factor sets.
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

// hasAttribute reports whether a queue has an attribute, given its file or the error of reading it. A queue that can't
// have a scheduler prints "none" without brackets. Source: block/elevator.c, elv_iosched_show.
//
//	none
//	[none] mq-deadline
func hasAttribute(attribute string, file []byte, err error) bool {
	return !errors.Is(err, fs.ErrNotExist) && (attribute != "scheduler" || strings.TrimSpace(string(file)) != "none")
}

// lacking returns the error for a device whose queue lacks an attribute. Its hints name the devices of the stack that
// have it.
func lacking(w scheme.Scope, stack storage.Stack, queues []storage.Queue, of storage.Queue, attribute string) error {
	var others []string
	disks := !of.Disk
	for _, q := range queues {
		data, err := stack.Bytes(queueFile(q.Device, attribute))
		has := hasAttribute(attribute, data, err)
		if has {
			others = append(others, "queue@"+q.Device+":"+attribute)
		}
		disks = disks && (has || !q.Disk)
	}
	what := "the queue of " + of.Device + " has no " + attribute
	if len(others) == 0 {
		return refused(w, what, "ls /sys/block/"+of.Device+"/queue lists its attributes")
	}
	hints := []string{"there are " + strings.Join(others, ", ")}
	if disks {
		hints = append([]string{"for the disks under it: queue@" + allDisks + ":" + attribute}, hints...)
	}
	return refused(w, what, hints...)
}

func refused(w scheme.Scope, what string, hints ...string) error {
	return &lab.Error{Kind: lab.Refused, What: what, Target: host.RemoteName(w.Target), Hints: hints}
}
