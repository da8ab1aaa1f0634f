package recovery

// EventJournal stands in the ID of a journal of events between that of the run and a number.
const EventJournal = "-event-"
