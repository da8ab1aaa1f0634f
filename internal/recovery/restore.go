package recovery

// BootLock is added to the ID of a run to name the journal that locks the boots of a host.
const BootLock = "-boot-lock"

// EventJournal stands in the ID of a journal of events between that of the run and a number.
const EventJournal = "-event-"
