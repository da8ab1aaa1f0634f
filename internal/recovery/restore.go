package recovery

// BootLock is added to the ID of a run to name the journal that locks the boots of a host.
const BootLock = "-boot-lock"

// EventJournal is the part of the ID of an events journal between the run's ID and a number.
const EventJournal = "-event-"
