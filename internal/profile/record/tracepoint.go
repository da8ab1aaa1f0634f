package record

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
)

// stageKind is the kind of an event.
type stageKind uint8

const (
	otherStage stageKind = iota
	bioQueue
	bioComplete
	backMerge
	frontMerge
	requestMerge
	split
	remap
	insert
	issue
	requeue
	complete
)

func tracepoints() map[string]stageKind {
	return map[string]stageKind{
		"block:block_bio_queue": bioQueue, "block:block_bio_complete": bioComplete,
		"block:block_bio_backmerge": backMerge, "block:block_bio_frontmerge": frontMerge,
		"block:block_rq_merge": requestMerge, "block:block_split": split, "block:block_bio_remap": remap,
		"block:block_rq_insert": insert, "block:block_rq_issue": issue, "block:block_rq_requeue": requeue,
		"block:block_rq_complete": complete,
	}
}

// format has the fields of an event.
type format struct {
	kind                              stageKind
	device, sector, sectors, flags    EventField
	oldDevice, oldSector, splitSector EventField
}

// learn stores the format of an event.
func (a *StageAccumulator) learn(f EventFormat, k stageKind) error {
	learnt := format{kind: k}
	need := map[string]*EventField{"dev": &learnt.device, "sector": &learnt.sector, "rwbs": &learnt.flags,
		"nr_sector": &learnt.sectors}
	switch k {
	case split:
		delete(need, "nr_sector")
		need["new_sector"] = &learnt.splitSector
	case remap:
		need["old_dev"], need["old_sector"] = &learnt.oldDevice, &learnt.oldSector
	}
	for name, field := range need {
		var ok bool
		if *field, ok = f.Field(name); !ok {
			return fmt.Errorf("the tracepoint %s has no field %s", f.Name, name)
		}
	}
	for len(a.formats) <= int(f.ID) {
		a.formats = append(a.formats, format{})
	}
	a.formats[f.ID] = learnt
	return nil
}

// operation is what a request does.
type operation uint8

const (
	none operation = iota // not a request of file systems or of a load: zone management, a SCSI or NVMe command
	read
	write
	trim
	flush
)

func (o operation) direction() string {
	return [...]string{none: "", read: lab.Read, write: lab.Write, trim: lab.Trim, flush: "flush"}[o]
}

// operationOf parses the field rwbs: a letter for the operation, preceded by F if the cache must be flushed before it,
// and followed by more letters. A write without sectors, preceded by an F, is a flush.
func operationOf(flags []byte, sectors uint64) operation {
	if len(flags) == 0 {
		return none
	}
	letter := flags[0]
	if letter == 'F' {
		if len(flags) == 1 || flags[1] == 'F' || sectors == 0 {
			return flush
		}
		letter = flags[1]
	}
	switch {
	case sectors == 0:
		return none
	case letter == 'R':
		return read
	case letter == 'W':
		return write
	case letter == 'D':
		return trim
	}
	return none
}
